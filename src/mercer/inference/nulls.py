r"""Null distributions without permutations: gamma, spectral and wild bootstrap.

Symbols: K~, L~ centred Gram matrices of n samples with eigenvalues lambda_i, mu_j; z independent standard normal
numbers; W weights that vary slowly in time, tau the time over which samples depend.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.fft import idct

from mercer.arrays import Floats
from mercer.budget import UNLIMITED, Resources
from mercer.constraints import Optional, Positive
from mercer.errors import ParameterError
from mercer.inference.entrywise import Entrywise
from mercer.inference.forms import DenseForm, FactorForm, Form, factor_of, product
from mercer.inference.options import tell
from mercer.inference.result import Null
from mercer.runtime.tiling import blas_for, in_background, spans
from mercer.spec import Spec

__all__ = [
    "WildBootstrap",
    "hsic_gamma",
    "mmd_gamma",
    "integral_time",
    "largest_products",
    "permutation_moments",
    "spectral_draws",
    "wild_draws",
    "waves_of",
    "wild_weights",
]
__public__ = ["WildBootstrap"]

_PRODUCTS = 2000  # of eigenvalues, the largest, that are drawn; the rest is nearly constant
_NUMBERS = 2**20
_BLOCK = 17.0  # steps of a block, in units of the time over which samples depend
_LEAST = 10.0  # samples of a series, in the same units
_SIDE = 256  # entries beside the diagonal that are computed at once


class WildBootstrap(Spec):
    r"""Null distribution for samples that follow one another in time: weights that vary more slowly than they depend.

    .. math:: W_t = u_0 + \sqrt 2 \sum_{j=1}^{q} u_j \cos\frac{\pi j (t - 1/2)}{n}, \qquad |u|^2 = 1, \qquad
        t^* = W^\top H W / n, \qquad q = \lfloor n / l \rfloor

    Sums over the samples with slow waves as weights are nearly independent, normal and of the same covariance, whatever
    the dependence; the statistic is that of the constant one, u = (1, 0, ..., 0). Under the hypothesis turning them
    among themselves changes nothing, so u is drawn from the sphere.

    Seed: [KIKS] Section 7, the computation of tests.

    Parameters
    ----------
    block_length : float, optional
        l, over how many steps weights stay alike; several times as many as samples depend, and at most n / 2. Small
        numbers serve samples that are independent. None takes 17 times the integral time of the images in feature
        space, 1/2 + the sum of their autocorrelations; 0.5 of independent samples.

    Notes
    -----
    The distribution accounts for covariances being estimated from few waves, so that few of them cost power, but not
    the level; waves that are not slow enough cost the level. Two series of 200 steps that keep 0, 0.5 and 0.8 of
    themselves at each step are rejected in 4.5, 5.2 and 5.6 % of cases at 5 % (``benchmarks.real_tests``). Series that
    are shorter than 10 times their integral time are refused.

    Examples
    --------
    >>> WildBootstrap(5.0)
    WildBootstrap(5.0)
    """

    constraints = {"block_length": Optional(Positive())}

    def __init__(self, block_length: float | None = None) -> None:
        self.block_length = block_length


def waves_of(null: WildBootstrap, form: Form | Entrywise, sizes: Sequence[int]) -> int:
    """Return q, the number of waves for one or several series that follow each other in a form.

    Raises
    ------
    ParameterError
        If the series are too short for their dependence, or for the blocks.
    """
    n, length = min(sizes), null.block_length
    if length is not None:
        if length > 0.5 * n:
            raise ParameterError(
                f"block_length={length:g} was given for a series of {n} samples; at least two blocks are needed. Give "
                "longer series, or shorter blocks if the samples depend over few steps."
            )
        return int(min(n / length, n - 1))
    ends = np.cumsum(sizes)
    times = [integral_time(form, slice(end - size, end)) for end, size in zip(ends, sizes, strict=True)]
    if n < _LEAST * max(times):
        raise ParameterError(
            f"null='wild' was given for a series of {n} samples that depend on one another over a time of "
            f"{max(times):.3g} steps; the level holds from {_LEAST:g} times as many samples on, "
            f"{_LEAST * max(times):.0f}. Give longer series, or name the blocks: null=WildBootstrap(block_length=...)."
        )
    return min(max(int(n / (_BLOCK * max(times))), 2), n - 1)


def integral_time(form: Form | Entrywise, part: slice) -> float:
    r"""Return over how many steps samples depend: 1/2 + the sum of the autocorrelations of their images.

    .. math:: \tau = \tfrac12 + \sum_{h \ge 1} \rho_h, \qquad \rho_h = 1 - \frac{1}{2 v} \operatorname{mean}_t
        \| \phi_t - \phi_{t+h} \|^2

    with v the variance of the images. The sum ends at h = 4 tau (Sokal's window), since only noise follows.

    Examples
    --------
    >>> x = np.repeat(np.random.default_rng(0).normal(size=100), 5)  # each five times
    >>> round(integral_time(DenseForm(np.outer(x, x)), slice(0, 500)), 1)  # 2.5 of many more
    3.3
    """
    own = _lagged(form, 0)[part]
    n = len(own)
    mean = np.zeros((1, form.n))
    mean[0, part] = 1.0 / n
    v = float(own.mean() - form.forms(mean)[0])
    time = 0.5
    if not v > np.finfo(float).eps * float(np.abs(own).mean()):
        return time
    for h in range(1, n // 4 + 1):
        beside = _lagged(form, h)[part.start : part.stop - h]
        time += 1.0 - float(np.mean(0.5 * (own[:-h] + own[h:]) - beside)) / v
        if h >= 4.0 * time:
            break
    return max(time, 0.5)


def _lagged(form: Form | Entrywise, h: int) -> Floats:
    """Return the entries (t, t + h) of a form, (n - h,)."""
    if isinstance(form, Entrywise):
        return _lagged(form.first, h) * _lagged(form.second, h)
    if isinstance(form, DenseForm):
        return np.diagonal(form.array, h)
    if isinstance(form, FactorForm):
        return np.einsum("ir,ir->i", form.factor[: form.n - h], form.factor[h:])
    if h == 0:
        return form.diagonal()
    parts = spans(form.n - h, _SIDE)
    return np.concatenate([np.diagonal(form.rows(p, slice(p.start + h, p.stop + h))) for p in parts])


def wild_weights(rng: np.random.Generator, count: int, sizes: Sequence[int], waves: int) -> list[Floats]:
    """Draw weights of mean square one, the same waves for each of some series: (count, n) arrays.

    Examples
    --------
    >>> (W,) = wild_weights(np.random.default_rng(0), 2000, [50], 5)
    >>> bool(np.allclose(np.mean(W**2, axis=1), 1.0)), bool(abs(np.mean(W[:, :-1] * W[:, 1:]) - 1.0) < 0.05)
    (True, True)
    """
    U = rng.standard_normal((count, waves + 1))
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    return [math.sqrt(n) * np.asarray(idct(U, n=n, axis=1, norm="ortho")) for n in sizes]


def wild_draws(
    H: Form | Entrywise, count: int, rng: np.random.Generator, waves: int, resources: Resources = UNLIMITED
) -> Floats:
    """Return W^T H W / n^2 for weights W, (count,)."""
    draws = np.empty(count)
    for part in spans(count, max(1, _NUMBERS // H.n)):
        (W,) = wild_weights(rng, part.stop - part.start, [H.n], waves)
        draws[part] = H.forms(W) / H.n**2
        tell(resources, part.stop / count)
    return draws


# gamma ------------------------------------------------------------------------------------------------------


def permutation_moments(first: tuple[float, float, float], second: tuple[float, float, float], n: int) -> Any:
    r"""Mean and variance of tr(K~ Pi^T L~ Pi) over all n! permutations, in closed form.

    Parameters
    ----------
    first, second : (trace, sum of squared entries, sum of squared diagonal entries)
        Of K~ and of L~.
    n : int
        At least 4.

    Returns
    -------
    mean, variance : floats

    Notes
    -----
    The moments of the permuted RV coefficient. They are those of the exact null distribution, not of its limit.

    Examples
    --------
    >>> K = np.diag([3.0, 1.0, 0.0, 0.0]) - 1.0 / 4.0
    >>> K -= K.mean(axis=0)
    >>> mean, _ = permutation_moments(moments_of(K), moments_of(K), 4)
    >>> abs(mean - float(np.trace(K)) ** 2 / 3.0) < 1e-12
    True
    """
    (t, t2, s2), (u, u2, v2) = first, second
    mean = t * u / (n - 1)
    smooth = ((n - 1) * t2 - t * t) * ((n - 1) * u2 - u * u)
    rough = (n * (n + 1) * s2 - (n - 1) * (t * t + 2.0 * t2)) * (n * (n + 1) * v2 - (n - 1) * (u * u + 2.0 * u2))
    variance = 2.0 * smooth / ((n - 1) ** 2 * (n + 1) * (n - 2))
    variance += rough / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
    return mean, variance if variance > 0.0 or math.isnan(variance) else 0.0


def moments_of(K: Floats) -> tuple[float, float, float]:
    """Return the trace, the sum of squared entries and the sum of squared diagonal entries."""
    diagonal = np.diagonal(K)
    return float(diagonal.sum()), float(np.vdot(K, K)), float(diagonal @ diagonal)


def _moments(form: Form, squares: float) -> tuple[float, float, float]:
    diagonal = form.diagonal()
    return float(diagonal.sum()), squares, float(diagonal @ diagonal)


def hsic_gamma(first: Form, second: Form, squares: tuple[float, float]) -> Null:
    """Return the gamma distribution with the permutation moments of the biased criterion.

    `squares` are the sums of squared entries of both matrices.
    """
    n = first.n
    with np.errstate(over="ignore", invalid="ignore"):  # reported where the test ends
        mean, variance = permutation_moments(_moments(first, squares[0]), _moments(second, squares[1]), n)
    return Null.gamma(mean / n**2, variance / n**4)


def mmd_gamma(form: Form, m: int, squares: float) -> Null:
    """Return the gamma distribution with the permutation moments of the biased squared discrepancy.

    It is the criterion with the matrix z z^T of the labels z = 1 / m and -1 / n, times (m + n)^2.
    """
    N, n = form.n, form.n - m
    z2 = np.concatenate([np.full(m, 1.0 / m), np.full(n, 1.0 / n)]) ** 2
    labels = (float(z2.sum()), float(z2.sum() ** 2), float(z2 @ z2))
    with np.errstate(over="ignore", invalid="ignore"):
        return Null.gamma(*permutation_moments(_moments(form, squares), labels, N))


# spectral ---------------------------------------------------------------------------------------------------


def eigenvalues_of(form: Form) -> Floats:
    """Return the eigenvalues of K~ / n, descending, without those that rounding has made negative."""
    if isinstance(form, DenseForm):
        M = form.array
    else:
        F = factor_of(form)
        M = product(F.T, F)
    with blas_for(len(M)):
        values = in_background(np.linalg.eigvalsh, M, work=2.0 * len(M) ** 3)
    return np.maximum(values[::-1], 0.0) / form.n


def largest_products(first: Floats, second: Floats) -> Floats:
    """Return products of eigenvalues, the 2000 largest and the sum of all others as one more.

    Both are descending, so that product (i, j) is at most the i j-th largest, and few pairs can be among the largest.

    Examples
    --------
    >>> largest_products(np.array([2.0, 1.0]), np.array([3.0, 1.0]))
    array([6., 3., 2., 1.])
    """
    second = np.asarray(second)
    found = np.concatenate([value * second[: _PRODUCTS // i] for i, value in enumerate(first[:_PRODUCTS], 1)])
    found = np.sort(found)[::-1][:_PRODUCTS]
    rest = float(first.sum() * second.sum() - found.sum())
    return np.append(found, max(rest, 0.0)) if len(first) * len(second) > _PRODUCTS else found


def spectral_draws(weights: Floats, count: int, rng: np.random.Generator, resources: Resources = UNLIMITED) -> Floats:
    """Draw sums of weights times independent chi-squared numbers, (count,).

    Parameters
    ----------
    weights : (r,) array
        Not negative, descending. Those beyond 2000, together nearly constant, count by their sum.
    count : int
    rng : Generator
    resources : Resources

    Examples
    --------
    >>> draws = spectral_draws(np.array([1.0, 0.5]), 20_000, np.random.default_rng(0))
    >>> round(float(draws.mean()), 1)
    1.5
    """
    weights, rest = np.asarray(weights, dtype=float)[:_PRODUCTS], float(np.sum(weights[_PRODUCTS:]))
    draws = np.empty(count)
    for part in spans(count, max(1, _NUMBERS // max(1, len(weights)))):
        draws[part] = rest + rng.chisquare(1.0, (part.stop - part.start, len(weights))) @ weights
        tell(resources, part.stop / count)
    return draws
