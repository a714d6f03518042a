"""Stein's discrepancy: derivatives, closed forms, level and power."""

import numpy as np
import pytest
from scipy.stats import binom

from mercer.budget import Resources
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.inference.goodness_of_fit import _stein_matrix, stein_discrepancy, stein_test
from mercer.kernels import Gaussian, Laplacian, RationalQuadratic, Spectrum

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 2))


def score(x):
    return -x + 0.3 * np.sin(x[:, ::-1])


KERNELS = [
    Gaussian(0.8),
    Gaussian((0.8, 1.7)),
    RationalQuadratic(0.5, 1.3),
    RationalQuadratic(2.0, (0.7, 1.1)),
    0.5 * Gaussian(1.0) + RationalQuadratic(0.5, 2.0),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_derivatives(kernel):
    step = 1e-4
    unit = step * np.eye(2)
    k = lambda a, b: float(kernel(a[None], b[None])[0, 0])  # noqa: E731
    s = score(X)
    found = _stein_matrix(kernel, X, s, Resources())
    for i in range(3):
        for j in range(3):
            a, b = X[i], X[j]
            value = s[i] @ s[j] * k(a, b)
            for c in range(2):
                e = unit[c]
                value += s[i, c] * (k(a, b + e) - k(a, b - e)) / (2 * step)
                value += s[j, c] * (k(a + e, b) - k(a - e, b)) / (2 * step)
                second = k(a + e, b + e) - k(a + e, b - e) - k(a - e, b + e) + k(a - e, b - e)
                value += second / (4 * step**2)
            assert found[i, j] == pytest.approx(value, abs=2e-6)


def test_mean_is_zero_under_the_density():
    # the unbiased estimate over many samples of the density itself
    rng = np.random.default_rng(1)
    draws = [stein_discrepancy(rng.normal(size=(60, 1)), lambda x: -x, Gaussian(1.0), unbiased=True) for _ in range(80)]
    assert abs(np.mean(draws)) < 4 * np.std(draws) / np.sqrt(80)


def test_level_and_power():
    p = [stein_test(np.random.default_rng([1, s]).normal(size=(40, 1)), lambda x: -x, None, 99, s).p_value
         for s in range(200)]  # fmt: skip
    assert binom.ppf(5e-4, 200, 0.05) <= np.sum(np.array(p) <= 0.05) <= binom.ppf(1 - 5e-4, 200, 0.05)
    wide = 2.0 * np.random.default_rng(0).normal(size=(200, 1))
    assert stein_test(wide, lambda x: -x, random_state=0).p_value < 0.05


def test_simulated_null():
    rng = np.random.default_rng(2)
    sampler = lambda rng, n: rng.normal(size=(n, 1))  # noqa: E731
    x = rng.normal(size=(50, 1))
    fits = stein_test(x, lambda x: -x, Gaussian(1.0), 99, 0, sampler=sampler)
    assert fits.null.method == "simulation" and fits.p_value > 0.01
    assert stein_test(x + 1.0, lambda x: -x, Gaussian(1.0), 99, 0, sampler=sampler).p_value == 0.01


def test_chains_need_slow_weights():
    rng = np.random.default_rng(0)
    fast = slow = 0
    for _ in range(30):
        x = np.zeros(200)
        for t in range(1, 200):
            x[t] = 0.9 * x[t - 1] + np.sqrt(1 - 0.81) * rng.normal()
        fast += stein_test(x[:, None], lambda x: -x, None, 100, rng).p_value <= 0.05
        slow += stein_test(x[:, None], lambda x: -x, None, 100, rng, block_length=20.0).p_value <= 0.05
    assert slow < fast


def test_doors():
    with pytest.raises(CapabilityError, match="second derivatives"):
        stein_test(X, score, Laplacian(1.0))
    with pytest.raises(DomainError, match="score returned"):
        stein_test(X, lambda x: x[:, 0])
    with pytest.raises(ParameterError, match="with a sampler"):
        stein_test(X, score, sampler=lambda rng, n: rng.normal(size=(n, 2)), block_length=5.0)
    with pytest.raises(DomainError, match="dense rows"):
        stein_test(["ab", "ba"], score, Spectrum(1))
