r"""Goodness of fit by Stein's method: whether a sample comes from a density known up to a factor.

Symbols: p the density, s(x) = grad log p(x) its score; k a radial kernel, k = phi(r^2) with r the distance in length
scales; u the Stein kernel, whose mean over p is zero in each argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Integer, Optional, Positive
from mercer.domains import Vectors
from mercer.errors import CapabilityError, DomainError
from mercer.inference.forms import packed
from mercer.inference.result import Null, TestResult, concluded
from mercer.inference.tests import generator, wild_draws
from mercer.kernels import Gaussian, Kernel, RationalQuadratic
from mercer.kernels.algebra import Scaled, Sum

__all__ = ["stein_discrepancy", "stein_test"]

_AT_ONCE = 1e-3  # a block length whose weights are independent


def stein_test(
    X: Any,
    score: Callable[[Floats], Floats],
    kernel: Kernel | None = None,
    n_draws: int = 1000,
    random_state: Any = None,
    *,
    sampler: Callable[[np.random.Generator, int], Floats] | None = None,
    block_length: float | None = None,
) -> TestResult:
    r"""Goodness-of-fit test: whether X was drawn from the density with this score.

    .. math:: t = \frac{1}{n^2} \sum_{ij} u(x_i, x_j), \qquad
        u = s^\top s' k + s^\top \nabla' k + s'^\top \nabla k + \operatorname{tr} \nabla \nabla'^\top k

    Seed: [KIKS] Section 7, tests by kernels. Ledger: U-MMD.

    Parameters
    ----------
    X : (n, d) array
    score : callable
        X -> grad log p at its rows, (n, d). The density's factor is not needed.
    kernel : Kernel, optional
        `Gaussian`, `RationalQuadratic`, their sums and multiples. None is ``RationalQuadratic(0.5, "median")``, the
        inverse multiquadric.
    n_draws : int, default 1000
    random_state : int, Generator or None
    sampler : callable, optional
        ``sampler(rng, n)`` draws n rows from p. With it the null is that of samples drawn, and the level is exact if
        the kernel has fixed parameters; without it, it is that of the wild bootstrap, for large n.
    block_length : float, optional
        Of the wild bootstrap, for samples that follow one another, as those of a Markov chain; None is for independent
        samples.

    Returns
    -------
    TestResult

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> fits = stein_test(X, lambda x: -x, random_state=0)
    >>> shifted = stein_test(X, lambda x: 1.0 - x, random_state=0)
    >>> fits.p_value > 0.05, shifted.p_value < 0.01
    (True, True)
    """
    Integer(1).check("n_draws", n_draws, "stein_test")
    Optional(Positive()).check("block_length", block_length, "stein_test")
    rng = generator(random_state)
    kernel, points = _rows(X, kernel)
    H = _stein_matrix(kernel, points, _scores(score, points))
    value = float(H.mean())
    if sampler is not None:
        draws = np.empty(n_draws)
        for b in range(n_draws):
            drawn = np.asarray(sampler(rng, len(points)), dtype=float).reshape(points.shape)
            draws[b] = _stein_matrix(kernel, drawn, _scores(score, drawn)).mean()
        return concluded(value, Null.of_draws("simulation", draws), (kernel,))
    length = _AT_ONCE if block_length is None else block_length
    draws = wild_draws(H, n_draws, rng, length, centre=False)
    return concluded(value, Null.of_draws("wild bootstrap", draws), (kernel,))


def stein_discrepancy(
    X: Any, score: Callable[[Floats], Floats], kernel: Kernel | None = None, *, unbiased: bool = False
) -> float:
    r"""Squared Stein discrepancy: how far a sample is from a density that is known by its score.

    Seed: [KIKS] Section 7, tests by kernels. Ledger: U-MMD.

    Parameters
    ----------
    X, score, kernel
        As of `stein_test`.
    unbiased : bool, default False
        Whether the diagonal is left out of the mean.

    Examples
    --------
    >>> stein_discrepancy([[0.0], [0.0]], lambda x: -x, Gaussian(1.0))
    1.0
    """
    kernel, points = _rows(X, kernel)
    H = _stein_matrix(kernel, points, _scores(score, points))
    n = len(H)
    return float(H.sum() - np.trace(H)) / (n * (n - 1)) if unbiased else float(H.mean())


def _rows(X: Any, kernel: Kernel | None) -> tuple[Kernel, Floats]:
    kernel, S = packed(X, RationalQuadratic(0.5, "median") if kernel is None else kernel)
    if not isinstance(S, Vectors) or S.is_sparse or len(S) < 2:
        raise DomainError(
            f"{S!r} was given; a score is the gradient of a density of at least 2 dense rows. Give an array (n, d)."
        )
    return kernel.learn(S), np.asarray(S.X, dtype=float)


def _scores(score: Callable[[Floats], Floats], X: Floats) -> Floats:
    found = np.asarray(score(X), dtype=float)
    if found.shape != X.shape or not np.all(np.isfinite(found)):
        raise DomainError(
            f"score returned shape {found.shape} for {X.shape[0]} rows of {X.shape[1]} numbers, or numbers that are "
            f"not finite; finite gradients of shape {X.shape} are needed. Return one row for each row."
        )
    return found


def _stein_matrix(kernel: Kernel, X: Floats, s: Floats) -> Floats:
    """Return u(x_i, x_j), (n, n); it is linear in the kernel."""
    if isinstance(kernel, Sum):
        return sum((_stein_matrix(term, X, s) for term in kernel.kernels), np.zeros((len(X), len(X))))
    if isinstance(kernel, Scaled):
        return float(kernel.scale) * _stein_matrix(kernel.kernel, X, s)
    if not isinstance(kernel, (Gaussian, RationalQuadratic)):
        raise CapabilityError(
            f"{kernel!r} was given; Stein's kernel needs second derivatives, which Gaussian, RationalQuadratic, their "
            "sums and multiples have here. Use one of these."
        )
    inverse = np.broadcast_to(1.0 / np.asarray(kernel.length_scale, dtype=float), (X.shape[1],))
    Z, t = (X - X.mean(axis=0)) * inverse, s * inverse  # in length scales; t is half of the chain rule
    norms = np.einsum("ic,ic->i", Z, Z)
    r2 = np.maximum(norms[:, None] + norms - 2.0 * Z @ Z.T, 0.0)
    phi, slope, bend = _profile(kernel, r2)
    # s_i . grad_j k = -2 phi' s_i . (z_i - z_j) / l, and s_j . grad_i k = 2 phi' s_j . (z_i - z_j) / l
    along = t @ Z.T
    own = np.einsum("ic,ic->i", t, Z)
    mixed = -2.0 * slope * (own[:, None] - along + own - along.T)
    squares = inverse**2
    weighted = Z * inverse
    norms = np.einsum("ic,ic->i", weighted, weighted)
    spread = np.maximum(norms[:, None] + norms - 2.0 * weighted @ weighted.T, 0.0)
    return (s @ s.T) * phi + mixed - 2.0 * slope * squares.sum() - 4.0 * bend * spread


def _profile(kernel: Gaussian | RationalQuadratic, r2: Floats) -> tuple[Floats, Floats, Floats]:
    """Return phi and its first two derivatives in r^2."""
    if isinstance(kernel, Gaussian):
        phi = np.exp(-0.5 * r2)
        return phi, -0.5 * phi, 0.25 * phi
    a = float(kernel.alpha)
    base = 1.0 + r2 / (2.0 * a)
    phi = base**-a
    return phi, -0.5 * phi / base, (a + 1.0) / (4.0 * a) * phi / base**2
