"""Null distributions that are not permuted: exact moments, spectra, weights."""

import itertools

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.errors import ParameterError
from mercer.inference.entrywise import trace_of
from mercer.inference.forms import represent
from mercer.inference.nulls import (
    WildBootstrap,
    eigenvalues_of,
    hsic_gamma,
    largest_products,
    mmd_gamma,
    moments_of,
    permutation_moments,
    spectral_draws,
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
    W = wild_weights(np.random.default_rng(0), 4000, 30, 4.0)
    assert np.allclose(W.var(axis=0), 1.0, atol=0.12)  # from the first step on
    beside = np.mean(W[:, 5:-3] * W[:, 8:])
    assert beside == pytest.approx(np.exp(-3.0 / 4.0), abs=0.03)
    alone = wild_weights(np.random.default_rng(0), 4000, 30, 1e-3)
    assert abs(np.mean(alone[:, 1:] * alone[:, :-1])) < 0.02
    with pytest.raises(ParameterError, match="block_length"):
        WildBootstrap(0.0).check()


def test_largest_products():
    rng = np.random.default_rng(5)
    first, second = (np.sort(rng.exponential(size=size))[::-1] for size in (80, 90))
    every = np.sort(np.outer(first, second).ravel())[::-1]
    found = largest_products(first, second)
    np.testing.assert_allclose(found[:2000], every[:2000])
    assert len(found) == 2001 and found[-1] == pytest.approx(every[2000:].sum())
