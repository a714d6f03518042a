r"""Goodness of fit by Stein's method: whether a sample comes from a density known up to a factor.

Symbols: p the density, s(x) = grad log p(x) its score; k a radial kernel, k = phi(r^2) with r the distance in length
scales; u the Stein kernel, whose mean over p is zero in each argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from mercer.arguments import answer_of
from mercer.arrays import Floats, real_numbers
from mercer.budget import Resources
from mercer.constraints import Boolean, Integer, Optional, Positive
from mercer.domains import Vectors
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.inference.forms import DenseForm, packed
from mercer.inference.nulls import WildBootstrap, waves_of, wild_draws
from mercer.inference.options import FEWER, Limits, part_of, require_matrices, resources_of, tell
from mercer.inference.result import Null, TestResult, concluded, finite
from mercer.inference.tests import generator
from mercer.kernels import Gaussian, Kernel, RationalQuadratic
from mercer.kernels.algebra.sums import Sum
from mercer.kernels.composite import Scaled
from mercer.runtime.tiling import run_tasks, spans

__all__ = ["stein_discrepancy", "stein_test"]
__public__ = __all__

_ENTRIES = 2**18  # of the matrix that are computed at once
_AT_ONCE = 1e-3  # a block length whose weights are independent

_DRAWS = "a generator of random numbers and how many points to draw"


def stein_test(
    X: Any,
    score: Callable[[Floats], Floats],
    kernel: Kernel | None = None,
    n_draws: int = 1000,
    random_state: Any = None,
    *,
    sampler: Callable[[np.random.Generator, int], Floats] | None = None,
    block_length: float | None = None,
    **limits: Unpack[Limits],
) -> TestResult:
    r"""Goodness-of-fit test: whether X was drawn from the density with this score.

    .. math:: t = \frac{1}{n^2} \sum_{ij} u(x_i, x_j), \qquad
        u = s^\top s' k + s^\top \nabla' k + s'^\top \nabla k + \operatorname{tr} \nabla \nabla'^\top k

    Seed: [KIKS] Section 7, tests by kernels.

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
        samples. Not with a sampler.
    memory, n_threads, monitor : optional
        See `Limits`.

    Returns
    -------
    TestResult

    Notes
    -----
    Blocks should be a few times as long as the dependence, and no longer: for processes that keep half of themselves at
    each step, 300 steps in blocks of 10 are rejected in 4.7 % of cases (``benchmarks.real_tests``), in blocks of 20 in
    1.8 %.

    Stein's kernel is not one of `mercer.kernels`, and its matrix is held in memory, 8 n^2 bytes: give a few thousand
    rows of a large sample.

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
    if sampler is not None and not callable(sampler):
        raise ParameterError(
            f"sampler={sampler!r} was given; a function of a Generator and a number of rows is accepted. Write "
            "sampler=lambda rng, n: rng.normal(size=(n, 2)), for example."
        )
    if sampler is not None and block_length is not None:
        raise ParameterError(
            f"block_length={block_length!r} was given with a sampler, whose draws are the null distribution; it is "
            "accepted without one, for the wild bootstrap. Leave out one of the two: draws of a chain come from a "
            "sampler that runs the chain."
        )
    rng, resources = generator(random_state), resources_of(limits, "stein_test")
    kernel, points = _rows(X, kernel)
    require_matrices("stein_test", len(points), 1, resources, FEWER)
    H = _stein_matrix(kernel, points, _scores(score, points), part_of(resources, 0.0, 0.1))
    value = finite(float(H.mean()))
    rest = part_of(resources, 0.1, 1.0)
    if sampler is None:
        form, null = DenseForm(H, resources), WildBootstrap(_AT_ONCE if block_length is None else block_length)
        draws = wild_draws(form, n_draws, rng, waves_of(null, form, (form.n,)), rest)
        return concluded(value, Null.of_draws("wild bootstrap", draws), (kernel,))
    draws = np.empty(n_draws)
    for b in range(n_draws):
        found = answer_of(sampler, rng, len(points), who="sampler", takes=_DRAWS, error=ParameterError)
        drawn = _drawn(found, points.shape)
        draws[b] = _stein_matrix(kernel, drawn, _scores(score, drawn), Resources(n_threads=resources.n_threads)).mean()
        tell(rest, (b + 1) / n_draws)
    return concluded(value, Null.of_draws("simulation", draws), (kernel,))


def _drawn(given: Any, shape: tuple[int, ...]) -> Floats:
    """Return what a sampler has drawn, after checking it."""
    try:
        found = real_numbers(given, "what the sampler has drawn").reshape(shape)
    except (TypeError, ValueError):
        found = np.full(shape, np.nan)
    if not np.all(np.isfinite(found)):
        raise DomainError(
            f"sampler returned {np.shape(given)} where {shape[0]} rows of {shape[1]} finite numbers are needed. Make "
            "it return an array of that shape."
        )
    return found


def stein_discrepancy(
    X: Any,
    score: Callable[[Floats], Floats],
    kernel: Kernel | None = None,
    *,
    unbiased: bool = False,
    **limits: Unpack[Limits],
) -> float:
    r"""Squared Stein discrepancy: how far a sample is from a density that is known by its score.

    Seed: [KIKS] Section 7, tests by kernels.

    Parameters
    ----------
    X, score, kernel
        As in `stein_test`.
    unbiased : bool, default False
        Whether the diagonal is left out of the mean.
    memory, n_threads, monitor : optional
        See `Limits`.

    Examples
    --------
    >>> stein_discrepancy([[0.0], [0.0]], lambda x: -x, Gaussian(1.0))
    1.0
    """
    Boolean().check("unbiased", unbiased, "stein_discrepancy")
    resources = resources_of(limits, "stein_discrepancy")
    kernel, points = _rows(X, kernel)
    require_matrices("stein_discrepancy", len(points), 1, resources, FEWER)
    H = _stein_matrix(kernel, points, _scores(score, points), resources)
    n = len(H)
    return finite(float(H.sum() - np.trace(H)) / (n * (n - 1)) if unbiased else float(H.mean()))


def _rows(X: Any, kernel: Kernel | None) -> tuple[Kernel, Floats]:
    kernel, S = packed(X, RationalQuadratic(0.5, "median") if kernel is None else kernel)
    if not isinstance(S, Vectors) or S.is_sparse or len(S) < 2:
        raise DomainError(
            f"{S!r} was given; a score is the gradient of a density of at least 2 dense rows. Give an array (n, d)."
        )
    return kernel.learn(S), np.asarray(S.X, dtype=float)


def _scores(score: Callable[[Floats], Floats], X: Floats) -> Floats:
    if not callable(score):
        raise ParameterError(
            f"score={score!r} was given; a function that returns the gradient of log p at each row is accepted. Write "
            "score=lambda x: -x, for the standard normal density."
        )
    given = answer_of(score, X, who="score", error=ParameterError, takes="an array of points")
    try:
        found = real_numbers(given, "score")
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != X.shape or not np.all(np.isfinite(found)):
        raise DomainError(
            f"score returned shape {found.shape} for {X.shape[0]} rows of {X.shape[1]} numbers, or numbers that are "
            f"not finite; finite gradients of shape {X.shape} are needed. Make it return one row for each row."
        )
    return found


def _stein_matrix(kernel: Kernel, X: Floats, s: Floats, resources: Resources) -> Floats:
    """Return u(x_i, x_j), (n, n), some rows at a time; it is linear in the kernel."""
    H = np.zeros((len(X), len(X)))
    terms = _terms(kernel, 1.0)

    def work(rows: slice) -> None:
        with np.errstate(all="ignore"):  # the mean shows whether all are finite
            for factor, term in terms:
                H[rows] += factor * _stein_rows(term, X, s, rows)

    parts = spans(len(X), max(1, _ENTRIES // len(X)))
    if len(parts) == 1:
        work(parts[0])
    else:
        run_tasks(parts, work, n_threads=resources.n_threads, monitor=resources.monitor)
    return H


def _terms(kernel: Kernel, factor: float) -> list[tuple[float, Gaussian | RationalQuadratic]]:
    """Return the radial kernels of which a kernel is a sum, and their factors."""
    if isinstance(kernel, Sum):
        return [term for part in kernel.kernels for term in _terms(part, factor)]
    if isinstance(kernel, Scaled):
        return _terms(kernel.kernel, factor * float(kernel.scale))
    if not isinstance(kernel, (Gaussian, RationalQuadratic)):
        raise CapabilityError(
            f"{kernel!r} was given; Stein's kernel needs second derivatives, which Gaussian, RationalQuadratic, their "
            "sums and multiples have here. Use one of these."
        )
    return [(factor, kernel)]


def _stein_rows(kernel: Gaussian | RationalQuadratic, X: Floats, s: Floats, rows: slice) -> Floats:
    inverse = np.broadcast_to(1.0 / np.asarray(kernel.length_scale, dtype=float), (X.shape[1],))
    Z, t = (X - X.mean(axis=0)) * inverse, s * inverse  # in length scales; t is half of the chain rule
    phi, slope, bend = _profile(kernel, _square_distances(Z, rows))
    # s_i . grad_j k = -2 phi' s_i . (z_i - z_j) / l, and s_j . grad_i k = 2 phi' s_j . (z_i - z_j) / l
    own = np.einsum("ic,ic->i", t, Z)
    mixed = own[rows, None] - t[rows] @ Z.T + own - Z[rows] @ t.T
    spread = _square_distances(Z * inverse, rows)
    return (s[rows] @ s.T) * phi - 2.0 * slope * (mixed + float(np.sum(inverse**2))) - 4.0 * bend * spread


def _square_distances(Z: Floats, rows: slice) -> Floats:
    norms = np.einsum("ic,ic->i", Z, Z)
    return np.maximum(norms[rows, None] + norms - 2.0 * Z[rows] @ Z.T, 0.0)


def _profile(kernel: Gaussian | RationalQuadratic, r2: Floats) -> tuple[Floats, Floats, Floats]:
    """Return phi and its first two derivatives in r^2."""
    if isinstance(kernel, Gaussian):
        phi = np.exp(-0.5 * r2)
        return phi, -0.5 * phi, 0.25 * phi
    a = float(kernel.alpha)
    base = 1.0 + r2 / (2.0 * a)
    phi = base**-a
    return phi, -0.5 * phi / base, (a + 1.0) / (4.0 * a) * phi / base**2
