"""Null distributions that are not permuted: exact moments, spectra, weights."""

import itertools

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binom

from mercer.domains import Vectors
from mercer.errors import ParameterError
from mercer.gram import Tiles
from mercer.inference.entrywise import Entrywise, trace_of
from mercer.inference.forms import DenseForm, FactorForm, represent
from mercer.inference.nulls import (
    WildBootstrap,
    eigenvalues_of,
    hsic_gamma,
    integral_time,
    largest_products,
    mmd_gamma,
    moments_of,
    permutation_moments,
    spectral_draws,
    waves_of,
    wild_draws,
    wild_weights,
)
from mercer.inference.permutations import permuted_hsic, permuted_mmd
from mercer.kernels import Gaussian

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n", [4, 6])
def test_moments_over_all_permutations(n):
    P = np.eye(n) - 1.0 / n
    A, B = (P @ (M + M.T) @ P for M in RNG.normal(size=(2, n, n)))
    values = [np.sum(A * B[np.ix_(p, p)]) for p in itertools.permutations(range(n))]
    mean, variance = permutation_moments(moments_of(A), moments_of(B), n)
    assert mean == pytest.approx(np.mean(values), rel=1e-9, abs=1e-9)
    assert variance == pytest.approx(np.var(values), rel=1e-9)


def test_gamma_has_the_moments_of_permutations():
    X, Y = RNG.normal(size=(40, 1)), RNG.exponential(size=(40, 1))
    first, second = (represent(Gaussian(1.0), Vectors.pack(S)) for S in (X, Y))
    draws = permuted_hsic(first, second, 4000, RNG, "biased")
    null = hsic_gamma(first, second, (trace_of(first, first), trace_of(second, second)))
    assert null.mean == pytest.approx(draws.mean(), rel=0.02)
    assert null.std == pytest.approx(draws.std(), rel=0.08)
    draws = permuted_mmd(first, 15, 4000, RNG, "biased")
    null = mmd_gamma(first, 15, trace_of(first, first))
    assert null.mean == pytest.approx(draws.mean(), rel=0.03)
    assert null.std == pytest.approx(draws.std(), rel=0.08)


def test_spectra():
    X = RNG.normal(size=(30, 2))
    form = represent(Gaussian(1.0), Vectors.pack(X))
    expected = np.linalg.eigvalsh(form.array)[::-1][:5] / 30
    np.testing.assert_allclose(eigenvalues_of(form)[:5], expected, rtol=1e-9)
    low = represent(Gaussian(1.0), Vectors.pack(X), 30)
    np.testing.assert_allclose(eigenvalues_of(low)[:5], expected, rtol=1e-6)
    weights = np.concatenate([[3.0, 1.0], np.full(5000, 1e-4)])
    draws = spectral_draws(weights, 3000, RNG)
    assert draws.mean() == pytest.approx(4.5, rel=0.1)
    assert draws.var() == pytest.approx(20.0, rel=0.25)


def test_weights():
    W, longer = wild_weights(np.random.default_rng(0), 50, [30, 40], 4)
    assert np.allclose(np.mean(W**2, axis=1), 1.0) and np.allclose(np.mean(longer**2, axis=1), 1.0)
    for series, n in ((W, 30), (longer, 40)):  # the same waves in both, and no others
        waves = np.cos(np.pi * np.outer(np.arange(n), np.arange(n) + 0.5) / n)
        found = np.linalg.solve(waves.T, series.T)
        assert np.allclose(found[5:], 0.0)
        assert np.allclose(found[:5].T * [1.0, *[np.sqrt(0.5)] * 4], _turns(50, 5))
    alone = wild_weights(np.random.default_rng(0), 4000, [30], 29)[0]
    assert abs(np.mean(alone[:, 1:] * alone[:, :-1])) < 0.02
    with pytest.raises(ParameterError, match="block_length"):
        WildBootstrap(0.0).check()


def _turns(count, size):
    U = np.random.default_rng(0).standard_normal((count, size))
    return U / np.linalg.norm(U, axis=1, keepdims=True)


def test_draws_are_exact_for_normal_features():
    """Sums with waves as weights may be turned into one another: the statistic is one of the draws."""
    rng = np.random.default_rng(0)
    runs, below = 400, 0
    for _ in range(runs):
        x = rng.normal(size=(12, 2)) * [3.0, 0.3]
        form = DenseForm(x @ x.T)
        own = form.forms(np.ones((1, 12)))[0] / 144
        below += own > np.quantile(wild_draws(form, 99, rng, 2), 0.8)
    assert binom.ppf(5e-7, runs, 0.2) <= below <= binom.ppf(1 - 5e-7, runs, 0.2)


def test_the_time_over_which_samples_depend():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=20_000)
    slow = lfilter([1.0], [1.0, -0.8], noise)[-4000:, None]
    for x, want in ((noise[:4000, None], 0.5), (slow, 4.5)):  # (1 + 0.8) / (1 - 0.8) / 2
        form = FactorForm(x)
        assert integral_time(form, slice(0, 4000)) == pytest.approx(want, rel=0.25)
        both = FactorForm(np.concatenate([noise[:500, None], x]))
        assert integral_time(both, slice(500, 4500)) == pytest.approx(integral_time(form, slice(0, 4000)))
    kernel, S = Gaussian(1.0), Vectors.pack(slow[:600])
    times = [integral_time(represent(kernel, S, gram), slice(0, 600)) for gram in (None, Tiles(), 600)]
    assert times == pytest.approx([times[0]] * 3, rel=1e-6)
    pair = Entrywise(*(represent(kernel, S, None) for _ in range(2)))
    stored = DenseForm(pair.first.array * pair.second.array)
    assert integral_time(pair, slice(0, 600)) == pytest.approx(integral_time(stored, slice(0, 600)))
    assert integral_time(DenseForm(np.ones((50, 50))), slice(0, 50)) == 0.5  # nothing varies


def test_series_that_are_too_short_are_refused():
    form = FactorForm(np.linspace(-1.0, 1.0, 100)[:, None])  # a trend
    with pytest.raises(ParameterError, match="the level holds from 10 times"):
        waves_of(WildBootstrap(), form, (100,))
    with pytest.raises(ParameterError, match="two blocks"):
        waves_of(WildBootstrap(60.0), form, (100,))
    assert waves_of(WildBootstrap(20.0), form, (100,)) == 5
    assert waves_of(WildBootstrap(1e-3), form, (60, 40)) == 39


def test_largest_products():
    rng = np.random.default_rng(5)
    first, second = (np.sort(rng.exponential(size=size))[::-1] for size in (80, 90))
    every = np.sort(np.outer(first, second).ravel())[::-1]
    found = largest_products(first, second)
    np.testing.assert_allclose(found[:2000], every[:2000])
    assert len(found) == 2001 and found[-1] == pytest.approx(every[2000:].sum())
