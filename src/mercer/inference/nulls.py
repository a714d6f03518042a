r"""Null distributions without permutations: gamma, spectral and wild bootstrap.

Symbols: K~, L~ centred Gram matrices of n samples with eigenvalues lambda_i, mu_j; z independent standard normal
numbers; W a process of weights with mean zero and variance one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.signal import lfilter

from mercer.arrays import Floats
from mercer.budget import Resources
from mercer.constraints import Positive
from mercer.inference.entrywise import Entrywise
from mercer.inference.forms import DenseForm, Form, factor_of, product
from mercer.inference.limits import tell
from mercer.inference.result import Null
from mercer.numerics.background import in_background
from mercer.numerics.tiling import blas_for, spans
from mercer.spec import Spec

__all__ = [
    "WildBootstrap",
    "hsic_gamma",
    "mmd_gamma",
    "contrast_weights",
    "largest_products",
    "permutation_moments",
    "spectral_draws",
    "wild_draws",
    "wild_weights",
]

_PRODUCTS = 2000  # of eigenvalues, the largest, that are drawn; the rest is nearly constant
_NUMBERS = 2**20
_NOTHING = Resources()


class WildBootstrap(Spec):
    r"""Null distribution for samples that follow one another in time: weights that vary as slowly as they depend.

    .. math:: W_t = e^{-1/l} W_{t-1} + \sqrt{1 - e^{-2/l}}\, \epsilon_t, \qquad t^* = W^\top H W

    Seed: [KIKS] Section 7, the computation of tests. Ledger: U-INDEP, U-MMD.

    Parameters
    ----------
    block_length : float, default 20.0
        l, over how many steps weights stay alike: about as many as the samples depend. Small numbers serve samples
        that are independent.

    Notes
    -----
    The level is that of the limit: series must be many times longer than blocks, and blocks several times longer than
    the dependence. Of processes that keep half of themselves at each step, 300 steps in blocks of 20 are rejected in
    6.3 % of cases instead of 5 %, 1000 steps in blocks of 35 in 5.6 % (``benchmarks.real_tests``).

    Examples
    --------
    >>> WildBootstrap(5.0)
    WildBootstrap(5.0)
    """

    constraints = {"block_length": Positive()}

    def __init__(self, block_length: float = 20.0) -> None:
        self.block_length = block_length


def wild_weights(rng: np.random.Generator, count: int, n: int, block_length: float) -> Floats:
    """Draw processes of weights that forget within `block_length` steps, (count, n).

    Examples
    --------
    >>> W = wild_weights(np.random.default_rng(0), 2000, 50, 5.0)
    >>> bool(abs(W.mean()) < 0.05 and abs(W.std() - 1.0) < 0.02)
    True
    """
    keep = math.exp(-1.0 / block_length)
    noise = rng.standard_normal((count, n)) * math.sqrt(1.0 - keep * keep)
    noise[:, 0] /= math.sqrt(1.0 - keep * keep) if keep < 1.0 else 1.0  # stationary from the start
    return np.asarray(lfilter([1.0], [1.0, -keep], noise, axis=1))


def contrast_weights(rng: np.random.Generator, count: int, n: int, block_length: float) -> Floats:
    """Draw processes of weights less their means, at variance one still: the mean of a slow process takes much of it.

    Examples
    --------
    >>> W = contrast_weights(np.random.default_rng(0), 4000, 50, 5.0)
    >>> bool(abs(W.mean(axis=1)).max() < 1e-12 and abs(np.mean(W**2) - 1.0) < 0.03)
    True
    """
    W = wild_weights(rng, count, n, block_length)
    W -= W.mean(axis=1, keepdims=True)
    lags = np.arange(1, n)
    lost = (n + 2.0 * float((n - lags) @ np.exp(-lags / block_length))) / n**2  # the variance of the mean
    return W / math.sqrt(max(1.0 - lost, 1.0 / n))


def wild_draws(
    H: Form | Entrywise,
    count: int,
    rng: np.random.Generator,
    block_length: float,
    resources: Resources = _NOTHING,
    *,
    centre: bool,
) -> Floats:
    """Return W^T H W / n^2 for processes of weights W, (count,)."""
    draws = np.empty(count)
    for part in spans(count, max(1, _NUMBERS // H.n)):
        W = (contrast_weights if centre else wild_weights)(rng, part.stop - part.start, H.n, block_length)
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
    with np.errstate(over="ignore", invalid="ignore"):  # told where the test is concluded
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


def spectral_draws(weights: Floats, count: int, rng: np.random.Generator, resources: Resources = _NOTHING) -> Floats:
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
