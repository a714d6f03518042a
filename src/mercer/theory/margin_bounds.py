r"""Bounds for functions with a margin: support vector machines, boosting, novelty detection, many kernels, regression.

Symbols: m samples, g(x) = <w, phi(x)> + b with |w| <= 1, gamma the margin, xi_i = max(0, gamma - y_i g(x_i)) slacks,
R^ the empirical Rademacher complexity of the class with the factor 2 / m, delta the probability of failure.

The theorems of [ST] hold for a margin and a ball fixed before the data are seen. Learned ones are paid for by a union
bound over gamma_k = 2^-k, k = 0, 1, -1, 2, -2, ..., and in the same way over offsets B_l = 2^l: the j-th of them,
j = 0, 1, ..., may fail with probability delta / ((j + 1)(j + 2)), which sums to delta. Since all hold at once, the best
of them may be taken after looking at the data.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.arguments import checked, real_array
from mercer.arrays import Floats
from mercer.constraints import Optional
from mercer.errors import ParameterError
from mercer.theory.bound import COUNT, DELTA, SIZE, WIDTH, Bound, Term
from mercer.theory.concentration import _sizes
from mercer.theory.rademacher import confidence, kernel_ball_rademacher, offset_rademacher

__all__ = [
    "boosting_bound",
    "margin_bound",
    "mkl_bound",
    "mkl_rademacher",
    "novelty_bound",
    "ramp_loss",
    "regression_bound",
    "svm_bound",
]
__public__ = __all__

_FINEST, _COARSEST = 40, -20  # powers of two among which margins and offsets are searched


@checked(margin=WIDTH)
def ramp_loss(margins: Any, margin: float = 1.0) -> Floats:
    r"""Return the clipped loss of margins y g(x): 1 for errors, 0 beyond the margin, linear between.

    .. math:: A(a) = \min(1, \max(0, 1 + a / \gamma)), \qquad a = -y g(x)

    Seed: [ST] "Applying the Rademacher theorem".

    Parameters
    ----------
    margins : (m,) array
        y_i g(x_i).
    margin : float, default 1.0
        gamma.

    Examples
    --------
    >>> ramp_loss([-1.0, 0.0, 0.5, 2.0])
    array([1. , 1. , 0.5, 0. ])
    """
    values = real_array(margins, "margins", 1)
    with np.errstate(over="ignore"):
        return np.clip(1.0 - values / margin, 0.0, 1.0)


@checked(margin=WIDTH, delta=DELTA)
def svm_bound(slacks: Any, diagonal: Any, margin: float, delta: float = 0.05) -> Bound:
    r"""Bound the error probability of a hyperplane of unit norm in feature space, for a margin fixed in advance.

    .. math:: P(y \ne \operatorname{sgn} g(x)) \le \frac{1}{m\gamma} \sum_i \xi_i +
        \frac{4}{m\gamma} \sqrt{\operatorname{tr} K} + 3 \sqrt{\frac{\ln(2/\delta)}{2m}}

    Seed: [ST] "Final SVM bound". For a Gaussian kernel the second term is 4 / (sqrt(m) gamma).

    Parameters
    ----------
    slacks : (m,) array
        xi_i, of weights of norm one.
    diagonal : (m,) array
        k(x_i, x_i).
    margin : float
        gamma.
    delta : float, default 0.05

    Notes
    -----
    As in [ST], neither a learned margin nor a bias is paid for. `margin_bound` pays for both, and halves the second
    term: contraction without absolute values costs the slope only once.

    Examples
    --------
    >>> bound = svm_bound(np.zeros(10_000), np.ones(10_000), margin=0.5)
    >>> float(round(bound, 4))  # 4 / (100 * 0.5) + 3 sqrt(ln(40) / 20000)
    0.1207
    """
    xi, diag = _sizes(slacks, "slacks"), real_array(diagonal, "diagonal", 1)
    _same(len(xi), len(diag))
    m = len(xi)
    terms = [
        Term("slacks", "sum xi / (m gamma)", float(xi.mean()) / margin),
        Term("complexity", "4 sqrt(tr K) / (m gamma)", 2.0 * kernel_ball_rademacher(diag) / margin),
        confidence(m, delta),
    ]
    unpaid = ("the kernel", "the margin", "the bias, which is taken to be zero")
    return Bound.of_terms("SVM, fixed margin", "P(error)", terms, delta, unpaid=unpaid)


@checked(norm=SIZE, complexity=SIZE, offset=Optional(SIZE), delta=DELTA, choices=COUNT)
def margin_bound(
    margins: Any,
    norm: float,
    complexity: float,
    *,
    offset: float | None = None,
    delta: float = 0.05,
    choices: int = 1,
) -> Bound:
    r"""Bound the error probability of a function with a margin, paying for all that was learned from the data.

    .. math:: P(y g(x) \le 0) \le \min_{k, l} \; \hat E[A_k(-y g(x))] +
        \frac{1}{\gamma_k} \Bigl( \hat R + 2 B_l \sqrt{\tfrac{2 \ln 2}{m}} \Bigr) +
        3 \sqrt{\frac{\ln(2 N / (\delta \, p_k p_l))}{2m}}

    with g = f / |f|, gamma_k = 2^-k, B_l = 2^l at least the offset of g, and p the weights of the union.

    Seed: [ST] "Applying the Rademacher theorem", "Final SVM bound"; the offset is that of [HSS] Section 3.2.2. The
    union over margins is not in the seeds.

    Parameters
    ----------
    margins : (m,) array
        y_i f(x_i), of any scale.
    norm : float
        The size of f without its offset: its norm in feature space, or the sum of the weights in a convex hull.
    complexity : float
        R^ of the functions of size one: `kernel_ball_rademacher` of the diagonal, the complexity of weak learners, or
        `mkl_rademacher`.
    offset : float, optional
        |b|. None says that the functions have no offset.
    delta : float, default 0.05
    choices : int, default 1
        N, the number of classes (kernels) among which one was chosen on the same data.

    Notes
    -----
    It holds for all functions of all balls at once, so it does not matter how f was found: C, sample weights
    and class weights need not be paid for. The kernel must be one of `choices` that were fixed in advance.

    Examples
    --------
    >>> bound = margin_bound(np.full(10_000, 2.0), 4.0, kernel_ball_rademacher(np.ones(10_000)))
    >>> [(term.name, round(term.value, 4)) for term in bound.terms]
    [('ramp loss', 0.0), ('complexity', 0.04), ('confidence', 0.0497)]
    """
    t = real_array(margins, "margins", 1)
    m = len(t)
    scale = norm if norm > 0.0 else 1.0
    with np.errstate(over="ignore"):
        t = t / scale
    level = delta / choices
    best: tuple[float, float, int, int | None, float] | None = None
    for power in _powers(offset, scale):
        cost = 0.0 if power is None else offset_rademacher(2.0**power, m)
        share = level if power is None else level * _weight(power)
        for k in range(_COARSEST, _FINEST + 1):
            gamma = 2.0**-k
            with np.errstate(over="ignore"):
                ramp = float(np.clip(1.0 - t / gamma, 0.0, 1.0).mean())
            rest = confidence(m, share * _weight(k)).value
            value = ramp + (complexity + cost) / gamma + rest
            if best is None or value < best[0]:
                best = (value, ramp, k, power, rest)
    assert best is not None
    _, ramp, k, power, rest = best
    gamma = 2.0**-k
    terms = [
        Term("ramp loss", f"mean of clip(1 - y g / gamma), gamma = 2^{-k:d}", ramp),
        Term("complexity", "R^ / gamma", complexity / gamma),
    ]
    paid = ["the margin (or norm), by a union over 2^-k"]
    if power is not None:
        terms.append(
            Term("offset", f"2 B sqrt(2 ln 2 / m) / gamma, B = 2^{power}", offset_rademacher(2.0**power, m) / gamma)
        )
        paid.append("the offset, by a union over 2^l")
    union = f"3 sqrt(ln(2 / (delta p)) / (2 m)), p = {_union_share(k, power, choices):.3g}"
    terms.append(Term("confidence", union, rest))
    if choices > 1:
        paid.append(f"the choice between {choices} kernels")
    kernel = "the kernel" if choices == 1 else f"the {choices} kernels that were tried"
    return Bound.of_terms("margin, learned", "P(error)", terms, delta, paid=paid, unpaid=(kernel,))


def _weight(power: int) -> float:
    """Return the share of delta of 2^-power, of all integers, in the order 0, 1, -1, 2, -2, ..."""
    place = 2 * abs(power) - (power > 0)
    return 1.0 / ((place + 1.0) * (place + 2.0))


def _union_share(k: int, power: int | None, choices: int) -> float:
    return _weight(k) * (1.0 if power is None else _weight(power)) / choices


def _powers(offset: float | None, scale: float) -> list[int | None]:
    """Return the powers of two that are at least the offset over the scale; [None] where there is no offset."""
    if offset is None:
        return [None]
    size = abs(offset) / scale
    first = _COARSEST if size == 0.0 else max(_COARSEST, math.ceil(math.log2(size)))
    if 2.0**first < size:  # rounding of the logarithm
        first += 1
    return list(range(first, max(first, 2) + 1))


@checked(total=SIZE, complexity=SIZE, delta=DELTA)
def boosting_bound(slacks: Any, total: float, complexity: float, delta: float = 0.05) -> Bound:
    r"""Bound the error probability of a weighted sum of weak learners.

    .. math:: P(y \ne \operatorname{sgn} g(x)) \le \frac1m \sum_i \xi_i + \hat R(H) \sum_h a_h +
        3 \sqrt{\frac{\ln(2/\delta)}{2m}}, \qquad \xi_i = \max(0, 1 - y_i g(x_i))

    Seed: [ST] "Final Boosting bound".

    Parameters
    ----------
    slacks : (m,) array
        xi_i.
    total : float
        Sum of the weights a_h, which are not negative.
    complexity : float
        R^(H) of the weak learners, closed under negation: `rademacher_average` of `stump_correlation`, or
        `finite_rademacher`.
    delta : float, default 0.05

    Notes
    -----
    As in [ST], for a sum of weights fixed in advance. `margin_bound` with ``norm=total`` pays for a learned one.

    Examples
    --------
    >>> float(round(boosting_bound(np.zeros(10_000), 4.0, 0.02), 4))
    0.1207
    """
    xi = _sizes(slacks, "slacks")
    terms = [
        Term("slacks", "sum xi / m", float(xi.mean())),
        Term("complexity", "R^(H) sum a", complexity * total),
        confidence(len(xi), delta),
    ]
    unpaid = ("the weak learners", "the sum of the weights")
    return Bound.of_terms("boosting, fixed sum", "P(error)", terms, delta, unpaid=unpaid)


@checked(radius=SIZE, margin=WIDTH, delta=DELTA)
def novelty_bound(slacks: Any, radius: float, margin: float, delta: float = 0.05) -> Bound:
    r"""Bound how often new samples lie outside a ball in feature space whose squared radius is widened by gamma.

    .. math:: P(\|c - \phi(x)\|^2 > r^2 + \gamma) \le E[g(x)] \le \frac{1}{\gamma m} \|\xi\|_1 +
        \frac{6 R^2}{\gamma \sqrt m} + 3 \sqrt{\frac{\ln(2/\delta)}{2m}}

    Seed: [ST] "Novelty detection".

    Parameters
    ----------
    slacks : (m,) array
        xi_i = max(0, |c - phi(x_i)|^2 - r^2).
    radius : float
        R, of a ball around the origin that contains all samples, future ones included: the root of the largest k(x, x).
    margin : float
        gamma, fixed in advance.
    delta : float, default 0.05

    Examples
    --------
    >>> float(round(novelty_bound(np.zeros(10_000), 1.0, 0.5), 4))  # 6 / (100 * 0.5) + 0.0407
    0.1607
    """
    xi = _sizes(slacks, "slacks")
    m = len(xi)
    terms = [
        Term("slacks", "sum xi / (m gamma)", float(xi.mean()) / margin),
        Term("complexity", "6 R^2 / (gamma sqrt(m))", 6.0 * radius * (radius / margin) / math.sqrt(m)),
        confidence(m, delta),
    ]
    unpaid = ("the kernel", "gamma", "R, which must hold for samples to come")
    return Bound.of_terms("novelty, fixed gamma", "P(outside the widened ball)", terms, delta, unpaid=unpaid)


@checked(n=COUNT, delta=DELTA, radius=SIZE)
def mkl_rademacher(traces: Any, n: int, delta: float = 0.05, *, radius: float = 1.0) -> float:
    r"""Bound the Rademacher complexity of the union of the unit balls of N kernels: logarithmic in their number.

    .. math:: \hat R_m \Bigl( \bigcup_t F_t \Bigr) \le \frac2m \max_t \sqrt{\operatorname{tr} K_t} +
        8 R \sqrt{\frac{\ln(2(N+1)/\delta)}{2m}}

    with probability 1 - delta / 2.

    Seed: [ST] "Bounding MKL", where R = 1 and the first term has lost its root.

    Parameters
    ----------
    traces : (N,) array
        tr K_t.
    n : int
        m.
    delta : float, default 0.05
    radius : float, default 1.0
        R, the root of the largest k_t(x, x).

    Examples
    --------
    >>> round(mkl_rademacher([10_000.0], 10_000), 4)
    0.1384
    """
    sizes = _sizes(traces, "traces")
    rest = 8.0 * radius * math.sqrt(math.log(2.0 * (len(sizes) + 1) / delta) / (2.0 * n))
    return 2.0 / n * math.sqrt(float(sizes.max())) + rest


@checked(margin=WIDTH, delta=DELTA, radius=SIZE)
def mkl_bound(slacks: Any, traces: Any, margin: float, delta: float = 0.05, *, radius: float = 1.0) -> Bound:
    r"""Bound the error probability of a machine whose kernel is learned as a mixture of N kernels.

    .. math:: P(y \ne \operatorname{sgn} g(x)) \le \frac{1}{m\gamma} \sum_i \xi_i +
        \frac{1}{\gamma} \left( \frac2m \max_t \sqrt{\operatorname{tr} K_t} +
        8 R \sqrt{\frac{\ln(2(N+1)/\delta)}{2m}} \right) + 3 \sqrt{\frac{\ln(4/\delta)}{2m}}

    Seed: [ST] "Bounding MKL", whose last slide lacks the root of the trace and the gamma under the third term.

    Parameters
    ----------
    slacks : (m,) array
        xi_i, of weights of norm one.
    traces : (N,) array
        tr K_t.
    margin : float
        gamma, fixed in advance.
    delta : float, default 0.05
    radius : float, default 1.0
        R, the root of the largest k_t(x, x).

    Examples
    --------
    >>> one, many = (mkl_bound(np.zeros(10_000), np.full(N, 1e4), margin=1.0) for N in (1, 1000))
    >>> float(round(one, 3)), float(round(many, 3))
    (0.183, 0.249)
    """
    xi, sizes = _sizes(slacks, "slacks"), _sizes(traces, "traces")
    m = len(xi)
    best = 2.0 / m * math.sqrt(float(sizes.max()))
    terms = [
        Term("slacks", "sum xi / (m gamma)", float(xi.mean()) / margin),
        Term("complexity", "2 max sqrt(tr K_t) / (m gamma)", best / margin),
        Term(
            "number of kernels",
            "8 R sqrt(ln(2 (N + 1) / delta) / (2 m)) / gamma",
            (mkl_rademacher(sizes, m, delta, radius=radius) - best) / margin,
        ),
        confidence(m, 0.5 * delta, formula="3 sqrt(ln(4 / delta) / (2 m))"),
    ]
    paid = (f"the mixture of {len(sizes)} kernels",)
    unpaid = ("the kernels themselves", "the margin", "the bias, which is taken to be zero")
    return Bound.of_terms("many kernels, fixed margin", "P(error)", terms, delta, paid=paid, unpaid=unpaid)


@checked(norm=SIZE, complexity=SIZE, width=WIDTH, lipschitz=SIZE, offset=Optional(SIZE), delta=DELTA, choices=COUNT)
def regression_bound(
    losses: Any,
    norm: float,
    complexity: float,
    *,
    width: float,
    lipschitz: float = 1.0,
    offset: float | None = None,
    delta: float = 0.05,
    choices: int = 1,
) -> Bound:
    r"""Bound the expected loss of a regression function, for losses between 0 and M.

    .. math:: E[\ell] \le \min_{k, l} \; \hat E[\ell] + L \Bigl( 2^k \hat R + 2 B_l \sqrt{\tfrac{2 \ln 2}{m}} \Bigr) +
        3 M \sqrt{\frac{\ln(2 N / (\delta \, p_k p_l))}{2m}}, \qquad 2^k \ge |f|, \; B_l = 2^l \ge |b|

    Seed: [ST] "Empirical Rademacher theorem"; contraction and offset [HSS] Section 3.2.2. The union over norms is not
    in the seeds.

    Parameters
    ----------
    losses : (m,) array
        Losses of the samples, from 0 to `width`: for instance \|y - f(x)\| with f(x) clipped to the range of y.
    norm : float
        \|f\|, without its offset.
    complexity : float
        R^ of functions of norm one, for instance `kernel_ball_rademacher` of the diagonal.
    width : float
        M.
    lipschitz : float, default 1.0
        L, the steepest slope of the loss as a function of f(x).
    offset : float, optional
        \|b\|. None says that the functions have no offset.
    delta : float, default 0.05
    choices : int, default 1
        N, the number of kernels among which one was chosen on the same data.

    Examples
    --------
    >>> bound = regression_bound(np.full(10_000, 0.1), 3.0, 0.02, width=1.0)
    >>> [(term.name, round(term.value, 4)) for term in bound.terms]
    [('mean loss', 0.1), ('complexity', 0.08), ('confidence', 0.0565)]
    """
    found = _sizes(losses, "losses")
    if found.max() > width * (1.0 + 1e-12):
        raise ParameterError(
            f"a loss of {found.max():g} was given with width={width:g}; losses lie between 0 and width. Clip the "
            "predictions to the range of the targets, or give a larger width."
        )
    m, level = len(found), delta / choices
    best: tuple[float, int, int | None] | None = None
    for power in _powers(offset, 1.0):
        cost = 0.0 if power is None else offset_rademacher(2.0**power, m)
        for k in _powers(norm, 1.0):
            assert k is not None
            share = level * _weight(-k) * (1.0 if power is None else _weight(power))
            value = lipschitz * (2.0**k * complexity + cost) + confidence(m, share, width).value
            if best is None or value < best[0]:
                best = (value, k, power)
    assert best is not None
    _, k, power = best
    terms = [
        Term("mean loss", "mean of the losses", float(found.mean())),
        Term("complexity", f"L 2^{k} R^", lipschitz * 2.0**k * complexity),
    ]
    paid = ["the norm, by a union over 2^k"]
    if power is not None:
        cost = lipschitz * offset_rademacher(2.0**power, m)
        terms.append(Term("offset", f"2 L B sqrt(2 ln 2 / m), B = 2^{power}", cost))
        paid.append("the offset, by a union over 2^l")
    share = _union_share(-k, power, choices)
    formula = f"3 M sqrt(ln(2 / (delta p)) / (2 m)), p = {share:.3g}"
    terms.append(confidence(m, delta * share, width, formula))
    if choices > 1:
        paid.append(f"the choice between {choices} kernels")
    unpaid = ("the kernel" if choices == 1 else f"the {choices} kernels that were tried", "the range of the losses")
    return Bound.of_terms("bounded loss", "E loss", terms, delta, paid=paid, unpaid=unpaid, trivial=width)


def _same(first: int, second: int) -> None:
    if first != second:
        raise ParameterError(
            f"{first} slacks and {second} entries of the diagonal were given. Give one of each per sample."
        )
