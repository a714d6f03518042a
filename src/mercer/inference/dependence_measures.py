r"""Distances between samples and dependence between variables, by means of images in feature space.

Symbols: K, L Gram matrices of two variables observed n times; P = I - 1 1^T / n; K~ = P K P, L~ = P L P; F, G factors
with K~ = F F^T, L~ = G G^T. For two samples, m and n are their sizes and K is the matrix of both, joined.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from mercer.arrays import Floats
from mercer.budget import Resources
from mercer.constraints import Boolean, OneOf, Positive
from mercer.gram import GramSpec
from mercer.inference.blocks import BLOCKS, block_size_of, check_blocks, hsic_blocks, mmd_blocks
from mercer.inference.entrywise import trace_of
from mercer.inference.forms import (
    Form,
    eigenpairs,
    factor_of,
    is_dense,
    pair,
    paired,
    pooled,
    product,
    represent,
)
from mercer.inference.options import Limits, part_of, require_matrices, resources_of, tell
from mercer.inference.result import finite
from mercer.kernels.foreign import KernelLike
from mercer.runtime.tiling import in_background

__all__ = ["coco", "hsic", "kcc", "mmd", "nocco"]
__public__ = __all__

ESTIMATORS = ("biased", "unbiased", "block", "linear")


def mmd(
    X: Any,
    Y: Any,
    kernel: KernelLike = None,
    *,
    estimator: str = "unbiased",
    block_size: int | None = None,
    gram: GramSpec | int | None = None,
    **limits: Unpack[Limits],
) -> float:
    r"""Squared mean discrepancy: how far apart the mean images of two samples are.

    .. math:: \| \mu_X - \mu_Y \|^2 = E\,k(x, x') + E\,k(y, y') - 2 E\,k(x, y)

    Seed: [KIKS] Section 7 (the two-sample test).

    Parameters
    ----------
    X, Y : raw data or packed samples
        m and n samples of the same domain. Of a precomputed matrix S over both, give
        ``Similarities.pack(S)[:m]`` and ``[m:]``.
    kernel : Kernel, str, function or None
        None is the Gaussian at the median distance of all samples.
    estimator : {"unbiased", "biased", "block", "linear"}, default "unbiased"
        "biased" has the diagonal in the means, and is the squared distance of the two empirical means; "unbiased"
        leaves it out, and may be negative; "block" is the mean of unbiased estimates over blocks of samples, "linear"
        that over blocks of two, in time that grows with n alone.
    block_size : int, optional
        Of "block"; None is the square root of the smaller sample's size.
    gram : GramSpec or int, optional
        How K is held: None is `Dense`, `Tiles` never stores it, `Nystrom` and `Features` are O(n r), a number is the
        rank of an incomplete Cholesky factor. Not of "block" and "linear", which hold none.
    memory, n_threads, monitor : optional
        See `Limits`.

    Returns
    -------
    value : float
        An estimate of the square, not of the distance.

    Notes
    -----
    Zero in the limit only for equal distributions, if the kernel is characteristic, as universal kernels are.
    Kernels that are conditionally positive definite of order 1 are accepted: of ``NegativeDistance()`` the value is
    the energy distance. Cost O((m + n)^2).

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> mmd([[0.0], [2.0]], [[3.0], [5.0]], Linear(), estimator="biased")
    9.0
    """
    OneOf(*ESTIMATORS).check("estimator", estimator, "mmd")
    check_blocks(estimator, block_size, gram)
    resources = resources_of(limits, "mmd")
    kernel, S, m = pooled(X, Y, kernel)
    if estimator in BLOCKS:
        b = block_size_of(estimator, block_size, min(m, len(S) - m), 2)
        return finite(float(np.mean(mmd_blocks(kernel, S[:m], S[m:], b, resources))))
    form = represent(kernel, S, gram, resources)
    return finite(float(mmd_values(form, _labels(m, form.n)[None], m, estimator)[0]))


def _labels(m: int, n: int) -> Floats:
    """Return the indicator of the first m of n samples."""
    return (np.arange(n) < m).astype(float)


def mmd_values(form: Form, labels: Floats, m: int, estimator: str) -> Floats:
    """Return the squared mean discrepancy for each row of indicators of the first sample, (B,).

    Rows of K~ sum to zero, so that with q = a^T K~ a the sums over (x, x'), (y, y') and (x, y) are q, q and -q.
    """
    n = form.n - m
    q = form.forms(labels)
    if estimator == "biased":
        return q * (1.0 / m + 1.0 / n) ** 2
    diagonal = form.diagonal()
    first = labels @ diagonal
    second = diagonal.sum() - first
    return (q - first) / (m * (m - 1)) + (q - second) / (n * (n - 1)) + 2.0 * q / (m * n)


def hsic(
    X: Any,
    Y: Any,
    kernels: Sequence[KernelLike] | None = None,
    *,
    estimator: str = "biased",
    normalized: bool = False,
    block_size: int | None = None,
    gram: GramSpec | int | None = None,
    **limits: Unpack[Limits],
) -> float:
    r"""Hilbert-Schmidt independence criterion: squared size of the covariance between images of two variables.

    .. math:: \operatorname{tr}(P K_x P K_y P) / n^2 = \| C_{xy} \|_{HS}^2

    Seed: [HSS] Section 3.3.3, with the factor 1 / n^2; others divide by (n - 1)^2.

    Parameters
    ----------
    X, Y : raw data or packed samples
        n values of two variables, observed together; of any two domains.
    kernels : pair of Kernel, str, function or None, optional
        None is the Gaussian at the median distance.
    estimator : {"biased", "unbiased", "block", "linear"}, default "biased"
        "unbiased" has expectation zero for independent variables; "block" is its mean over blocks, "linear" that over
        blocks of four, in time that grows with n alone.
    normalized : bool, default False
        Whether to divide by the geometric mean of the criteria of X with itself and of Y with itself: a correlation,
        1 where both kernels agree (centred alignment).
    block_size : int, optional
        Of "block"; None is the square root of n.
    gram : GramSpec or int, optional
        How both matrices are held: None is `Dense`; `Nystrom`, `Features` and a number, the rank of an incomplete
        Cholesky factor, are O(n r^2); `Tiles` stores neither. Not of "block" and "linear", which hold none.
    memory, n_threads, monitor : optional
        See `Limits`.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> x = [[1.0], [2.0], [3.0], [4.0]]
    >>> hsic(x, x, (Linear(), Linear()))  # the squared variance
    1.5625
    >>> hsic(x, [[0.0], [1.0], [1.0], [0.0]], (Linear(), Linear()))
    0.0
    """
    OneOf(*ESTIMATORS).check("estimator", estimator, "hsic")
    check_blocks(estimator, block_size, gram)
    Boolean().check("normalized", normalized, "hsic")
    resources = resources_of(limits, "hsic")
    learned, (A, B) = paired((X, Y), kernels)
    if estimator in BLOCKS:
        b = block_size_of(estimator, block_size, len(A), 4)
        pairs = ((0, 1), (0, 0), (1, 1)) if normalized else ((0, 1),)
        sides = (A, B)
        values = [
            float(np.mean(hsic_blocks((learned[i], learned[j]), sides[i], sides[j], b, resources))) for i, j in pairs
        ]
        return _correlation(values[0], values[1], values[2]) if normalized else finite(values[0])
    first, second = pair(learned, (A, B), gram, resources, "hsic")
    value = hsic_of(first, second, estimator)
    if not normalized:
        return finite(value)
    return _correlation(value, hsic_of(first, first, estimator), hsic_of(second, second, estimator))


def _correlation(joint: float, first: float, second: float) -> float:
    """Joint over the geometric mean; zero where a variable does not vary."""
    return finite(joint / math.sqrt(first) / math.sqrt(second)) if min(first, second) > 0.0 else 0.0


def hsic_of(first: Form, second: Form, estimator: str = "biased") -> float:
    """Return the criterion of two centred Gram matrices."""
    total = trace_of(first, second)
    return float(hsic_values(total, first.diagonal(), second.diagonal(), estimator))


def hsic_values(total: Any, first: Floats, second: Floats, estimator: str) -> Any:
    """Turn sums of K~ times L~ into the criterion; `second` may be a diagonal for each of them, (B, n).

    Without their diagonals the matrices have row sums -diag(K~) and -diag(L~), so that the terms of the unbiased
    estimate, which leaves the diagonals out, are found from the diagonals alone.
    """
    n = len(first)
    if estimator == "biased":
        return total / n**2
    cross = second @ first
    sums = first.sum() * second.sum(axis=-1)
    return (total - cross + sums / ((n - 1) * (n - 2)) - 2.0 * cross / (n - 2)) / (n * (n - 3))


# measures by singular values ------------------------------------------------------------------------------


def _forms(
    X: Any, Y: Any, kernels: Any, gram: GramSpec | int | None, limits: Limits, name: str
) -> tuple[Form, Form, Resources]:
    resources = resources_of(limits, name)
    learned, parts = paired((X, Y), kernels, 2)
    if is_dense(gram):
        require_matrices(name, len(parts[0]), 5, resources)  # with eigenvectors, and what LAPACK works in
    return *pair(learned, parts, gram, part_of(resources, 0.0, 0.2), name), resources


def coco(
    X: Any,
    Y: Any,
    kernels: Sequence[KernelLike] | None = None,
    *,
    gram: GramSpec | int | None = None,
    **limits: Unpack[Limits],
) -> float:
    r"""Constrained covariance: the largest covariance of a function of x and one of y, both of norm one.

    .. math:: \sup_{\|f\|, \|g\| \le 1} \operatorname{Cov}[f(x), g(y)]
        = \tfrac{1}{n} \sigma_{\max}\big( (P K_x P)^{1/2} (P K_y P)^{1/2} \big)

    Seed: [HSS] Eqs. (98) and (99), with the factor 1 / n of the empirical covariance.

    Parameters
    ----------
    X, Y, kernels, gram, memory, n_threads, monitor
        As in `hsic`; a Gram with products alone does not work. Cost O(n^3), by factors O(n r^2).

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> x = [[1.0], [2.0], [3.0], [4.0]]
    >>> round(coco(x, x, (Linear(), Linear())), 12)  # the variance
    1.25
    """
    first, second, resources = _forms(X, Y, kernels, gram, limits, "coco")
    F = factor_of(first)
    tell(resources, 0.5)
    return _largest(product(F.T, factor_of(second))) / len(F)


def kcc(
    X: Any,
    Y: Any,
    kernels: Sequence[KernelLike] | None = None,
    *,
    kappa: float = 0.02,
    gram: GramSpec | int | None = None,
    **limits: Unpack[Limits],
) -> float:
    r"""Kernel canonical correlation: the largest correlation of functions of x and of y with penalised norms.

    .. math:: \sigma_{\max}\big( (\tilde K + \tfrac{n \kappa}{2} I)^{-1} \tilde K \,
        \tilde L (\tilde L + \tfrac{n \kappa}{2} I)^{-1} \big)

    Seed: [HSS] Section 3.3.3, the sum of the l2 norm on the sample and the norm of the function bounded; Eq. (97) with
    its exponents corrected to -1/2.

    Parameters
    ----------
    X, Y, kernels, gram, memory, n_threads, monitor
        As in `coco`.
    kappa : float, default 0.02
        Weight of the norm of a function, relative to its variance; without it every value would be one.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> x = [[1.0], [2.0], [3.0], [4.0]]
    >>> round(kcc(x, x, (Linear(), Linear())), 3)
    0.984
    """
    Positive().check("kappa", kappa, "kcc")
    first, second, resources = _forms(X, Y, kernels, gram, limits, "kcc")
    c = 0.5 * first.n * kappa
    F = _shrunk(first, c)
    tell(resources, 0.5)
    return _largest(product(F, _shrunk(second, c).T))


def nocco(
    X: Any,
    Y: Any,
    kernels: Sequence[KernelLike] | None = None,
    *,
    epsilon: float = 0.02,
    gram: GramSpec | int | None = None,
    **limits: Unpack[Limits],
) -> float:
    r"""Normalised cross-covariance: the sum of all squared canonical correlations, regularised by a ridge.

    .. math:: \operatorname{tr}(R_x R_y), \qquad R_x = \tilde K (\tilde K + n \epsilon I)^{-1}

    Seed: [HSS] Section 3.3.3, the entire series of maximal correlations.

    Parameters
    ----------
    X, Y, kernels, gram, memory, n_threads, monitor
        As in `coco`.
    epsilon : float, default 0.02
        The ridge, relative to n.

    Notes
    -----
    As epsilon goes to zero with n it depends on the distribution alone, not on the kernels.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> x = [[1.0], [2.0], [3.0], [4.0]]
    >>> round(nocco(x, x, (Linear(), Linear())), 3)
    0.969
    """
    Positive().check("epsilon", epsilon, "nocco")
    first, second, resources = _forms(X, Y, kernels, gram, limits, "nocco")
    # R = U diag(lambda / (lambda + c)) U^T, and tr(R_x R_y) is a sum of squares of its roots' product
    F = _shrunk(first, first.n * epsilon, 0.5)
    tell(resources, 0.5)
    return float(np.sum(product(F, _shrunk(second, first.n * epsilon, 0.5).T) ** 2))


def _shrunk(form: Form, c: float, power: float = 1.0) -> Floats:
    """Return diag(lambda / (lambda + c))^power U^T for K~ = U diag(lambda) U^T."""
    values, vectors = eigenpairs(form)
    return vectors * ((values / (values + c)) ** power)[:, None]


def _largest(M: Floats) -> float:
    """Return the largest singular value; that of an empty matrix is zero."""
    if not M.size:
        return 0.0
    scale = float(np.abs(M).max()) or 1.0  # squares neither overflow nor vanish
    M = (M if len(M) <= M.shape[1] else M.T) / scale
    values = in_background(np.linalg.eigvalsh, product(M, M.T), work=2.0 * len(M) ** 3)
    return scale * math.sqrt(max(float(values[-1]), 0.0))
