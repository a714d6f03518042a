"""Learning a kernel as a function: an element of the space of a hyperkernel, fitted to pairs of labelled objects.

Symbols: k_1 the kernel inside a hyperkernel, lambda its decay, s = k_1(u, u') the similarity of a pair, p_i anchors:
pairs at which the function has coefficients c_i >= 0, t = 1 for pairs of one class and 0 for others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

from mercer.arguments import checked
from mercer.arrays import Floats, Indices
from mercer.constraints import Integer, Positive
from mercer.domains import Pairs, Samples
from mercer.errors import ParameterError, TargetError
from mercer.gram.expansion import Expansion
from mercer.kernels.algebra.functions import PolynomialOf
from mercer.kernels.algebra.hyper import Hyperkernel
from mercer.kernels.algebra.sums import Sum
from mercer.kernels.kernel import Kernel
from mercer.targets import Multiclass

__all__ = ["LearnedKernel", "learned_kernel"]
__public__ = __all__

_MOST = 50_000  # pairs that are used, unless there are fewer
_TAIL = 1e-10  # what is left of the power series, relative to its sum


@dataclass(frozen=True)
class LearnedKernel:
    """A kernel that was learned, and the elements of hyper-RKHSs that it is.

    Attributes
    ----------
    kernel : Kernel
        To be used in any learner: a polynomial of each base kernel, no coefficient negative.
    elements : tuple of Expansion
        The same as functions of pairs, one for each hyperkernel; the kernel is their sum.
    norm : float
        The square root of the sum of the elements' squared norms.
    error : float
        Root mean square of t - k(u, u') over the pairs that were used.
    """

    kernel: Kernel
    elements: tuple[Expansion, ...]
    norm: float
    error: float


@checked(alpha=Positive(), anchors=Integer(1), random_state=Integer(0))
def learned_kernel(
    hyperkernel: Hyperkernel | Sequence[Hyperkernel],
    X: Any,
    y: Any,
    *,
    alpha: float = 1e-4,
    anchors: int = 20,
    random_state: int = 0,
) -> LearnedKernel:
    r"""Learn a kernel from labels: the function of pairs that best predicts whether both are of one class.

    .. math:: \min_{c \ge 0} \; \frac{1}{m} \sum_{(u, u')} \big(t(u, u') - k(u, u')\big)^2 + \alpha \|k\|^2, \qquad
        k(u, u') = \sum_i c_i \, \underline{k}\big(p_i, (u, u')\big)

    Seed: [STS] Section 7 names hyperkernels (Ong, Smola and Williamson, 2005): the representer theorem, [HSS] Theorem
    11, one level up.

    Parameters
    ----------
    hyperkernel : Hyperkernel or sequence of them
        Several, for example one for each column or each kind of data, give a sum of learned kernels.
    X : raw data or packed samples
        Of the domain of the kernels inside.
    y : (n,) array
        Classes, two or more.
    alpha : float, default 1e-4
        Weight of the squared norm in the hyper-RKHS, above 0.
    anchors : int, default 20
        Pairs with a coefficient, for each hyperkernel: spread over the similarities that occur and are not negative.
    random_state : int, default 0
        For the choice of pairs if there are more than 50 000.

    Returns
    -------
    LearnedKernel

    Notes
    -----
    Since c_i >= 0 and k_1(p_i) >= 0, the learned function is a power series in k_1 whose coefficients (1 - lambda)
    lambda^n sum_i c_i k_1(p_i)^n are not negative: it is a kernel again, also after the series is cut off. Powers of a
    Gaussian kernel are Gaussian kernels of smaller width, so the width is learned among other things. Cost O(n^2)
    kernel values for n up to 316, O(1) beyond, and a least squares problem with as many unknowns as anchors.

    Examples
    --------
    >>> from mercer.hilbert import learned_kernel
    >>> from mercer.kernels import Hyperkernel, Spectrum
    >>> words, classes = ["abab", "abba", "baaa", "abcc", "cabc", "ccca"], [0, 0, 0, 1, 1, 1]
    >>> base = Spectrum(1).normalized()
    >>> found = learned_kernel(Hyperkernel(base, decay=0.9), words, classes)
    >>> base(words)[0, [1, 3]].round(2), found.kernel(words)[0, [1, 3]].round(2)
    (array([1.  , 0.58]), array([1.21, 0.25]))
    """
    given: list[Any] = list(hyperkernel) if isinstance(hyperkernel, (list, tuple)) else [hyperkernel]
    _check(given)
    target = Multiclass().learn(y)
    labels = target.codes(y)
    packed = [h.kernel.prepare(h.kernel.pack(X).owned()) for h in given]
    if len(labels) != len(packed[0]):
        raise TargetError(
            f"y has {len(labels)} labels for {len(packed[0])} samples; one for each is needed. Give the labels of X."
        )
    index = _pairs(len(labels), random_state)
    t = (labels[index[:, 0]] == labels[index[:, 1]]).astype(float)
    blocks, roots, chosen = [], [], []
    for h, S in zip(given, packed, strict=True):
        all_pairs = h.prepare(Pairs(S, S, index))
        at = h.prepare(Pairs(S, S, index[_spread(h.within(all_pairs), anchors)]))
        blocks.append(h.block(all_pairs, at))
        roots.append(_root(h.block(at, at)))
        chosen.append(at)
    c = _not_negative(np.hstack(blocks), t, roots, alpha)
    residual = t - np.hstack(blocks) @ c
    parts = np.split(c, np.cumsum([len(at) for at in chosen])[:-1])
    elements = tuple(Expansion(h, at, part, np.array(0.0)) for h, at, part in zip(given, chosen, parts, strict=True))
    norm = float(np.sqrt(sum(np.sum((root @ part) ** 2) for root, part in zip(roots, parts, strict=True))))
    return LearnedKernel(_kernel(given, chosen, parts), elements, norm, float(np.sqrt(np.mean(residual**2))))


def _check(given: list[Hyperkernel]) -> None:
    if not given or not all(isinstance(h, Hyperkernel) for h in given):
        raise ParameterError(
            f"learned_kernel was given {given!r}; a Hyperkernel or several are accepted. Write for example "
            "Hyperkernel(Gaussian(1.0), decay=0.9)."
        )
    for h in given:
        h.check()


def _pairs(n: int, random_state: int) -> Indices:
    """Return all pairs (i, j), i < j, or as many of them as are used, drawn at random."""
    if n * (n - 1) // 2 <= _MOST:
        return np.column_stack(np.triu_indices(n, 1)).astype(np.intp)
    rng = np.random.default_rng(random_state)
    first = rng.integers(n, size=_MOST)
    return np.column_stack([first, (first + rng.integers(1, n, size=_MOST)) % n]).astype(np.intp)


def _spread(s: Floats, count: int) -> Indices:
    """Return the places of similarities spread evenly between the least that is not negative and the largest."""
    order = np.argsort(s)
    order = order[s[order] >= 0]
    if not len(order):
        raise TargetError(
            "all similarities within pairs are negative; some must not be, so that what is learned is a kernel. "
            "Use a kernel inside the hyperkernel whose values are not negative, for example Gaussian(1.0)."
        )
    levels = np.linspace(s[order[0]], s[order[-1]], count)
    return np.unique(order[np.minimum(np.searchsorted(s[order], levels), len(order) - 1)])


def _root(K: Floats) -> Floats:
    """Return R with R' R = K, as accurate as rounding allows."""
    values, vectors = np.linalg.eigh(K)
    return np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T


def _not_negative(A: Floats, t: Floats, roots: list[Floats], alpha: float) -> Floats:
    """Minimise |t - A c|^2 / m + alpha |R c|^2 over c >= 0, after a QR decomposition to a small problem."""
    penalty = np.zeros((A.shape[1], A.shape[1]))
    start = 0
    for root in roots:
        penalty[start : start + len(root), start : start + len(root)] = root
        start += len(root)
    rows = np.vstack([A / np.sqrt(len(t)), np.sqrt(alpha) * penalty])
    right = np.concatenate([t / np.sqrt(len(t)), np.zeros(A.shape[1])])
    R: Floats = np.asarray(np.linalg.qr(np.column_stack([rows, right]), mode="r"))
    return nnls(R[:-1, :-1], R[:-1, -1], maxiter=100 * A.shape[1])[0]


def _kernel(given: list[Hyperkernel], chosen: list[Samples], parts: list[Floats]) -> Kernel:
    """Return the learned function as a sum of polynomials of the base kernels."""
    terms: list[Kernel] = []
    for h, at, c in zip(given, chosen, parts, strict=True):
        if not c.any():
            continue
        s = h.within(at)
        count = int(np.ceil(np.log(_TAIL) / np.log(h.decay * max(float(s[c > 0].max()), 1e-3)))) + 1
        powers = (h.decay * s[None, :]) ** np.arange(count)[:, None]
        terms.append(PolynomialOf(h.kernel, tuple(((1.0 - h.decay) * powers @ c).tolist())))
    if not terms:
        raise TargetError(
            "no function with coefficients that are not negative is better than zero; pairs of one class are needed. "
            "Give labels of which some agree, or a smaller alpha."
        )
    return terms[0] if len(terms) == 1 else Sum(tuple(terms))
