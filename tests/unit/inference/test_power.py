"""Kernels chosen for power: on held-out samples, together, and by gradient."""

import numpy as np
import pytest
from scipy.stats import binom

from mercer.constraints import constrained, unconstrain
from mercer.domains import Vectors
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.inference.power import (
    aggregated_test,
    held_out_test,
    hsic_power,
    mmd_power,
    power_and_gradient,
    tuned_kernel,
)
from mercer.kernels import Gaussian, Linear, Match, Spectrum

RNG = np.random.default_rng(0)


def blobs(rng, n=150):
    """A lattice of spots, round in one sample and oval in the other: only a narrow kernel sees it."""
    centres = lambda: 10.0 * rng.integers(0, 3, size=(n, 2))  # noqa: E731
    return centres() + rng.normal(size=(n, 2)), centres() + rng.normal(size=(n, 2)) * np.array([2.2, 0.5])


def test_narrow_kernels_are_found():
    X, Y = blobs(np.random.default_rng(1), 300)
    assert mmd_power(X, Y, Gaussian(1.0)) > mmd_power(X, Y)
    chosen = held_out_test(X, Y, [Gaussian(0.01), Gaussian(1.0), Gaussian(50.0)], 200, 0)
    assert chosen.kernels == (Gaussian(1.0),)
    assert chosen.p_value < 0.02
    assert held_out_test(X, Y, n_permutations=99, random_state=0).kernels[0].length_scale < 8.0


def test_dependence():
    rng = np.random.default_rng(2)
    x = rng.uniform(0.0, 6.0, 200)
    y = np.sin(4.0 * x) + 0.2 * rng.normal(size=200)
    narrow, wide = (Gaussian(0.3), Gaussian(0.5)), (Gaussian(10.0), Gaussian(10.0))
    assert hsic_power(x, y, narrow) > hsic_power(x, y, wide)
    found = held_out_test(x, y, [wide, narrow], 99, 0, statistic="hsic")
    assert found.kernels == narrow and found.p_value == 0.01
    assert aggregated_test(x, y, [wide, narrow], 99, 0, statistic="hsic").p_value <= 0.02
    assert len(aggregated_test(x, y, None, 19, 0, statistic="hsic").kernels) == 7


def test_aggregated_level_and_power():
    rejected = 0
    for seed in range(200):
        rng = np.random.default_rng([5, seed])
        x, y = rng.normal(size=(2, 12, 1))
        result = aggregated_test(x, y, [Gaussian(0.2), Gaussian(1.0), Gaussian(5.0)], 59, seed)
        assert result.p_value >= result.statistic - 1e-12  # adjusted for three looks
        rejected += result.p_value <= 0.05
    assert binom.ppf(5e-4, 200, 0.05) <= rejected <= binom.ppf(1.0 - 5e-4, 200, 0.05)
    X, Y = blobs(np.random.default_rng(1))
    assert aggregated_test(X, Y, [Gaussian(1.0), Gaussian(50.0)], 199, 0).p_value < 0.02


def test_one_kernel_aggregated_is_one_test():
    x, y = RNG.normal(size=(2, 30, 1))
    result = aggregated_test(x, y + 0.4, [Gaussian(1.0)], 199, 0)
    assert result.p_value == pytest.approx(result.p_values[0])


@pytest.mark.parametrize("kernel", [Gaussian((1.0, 2.0)), 2.0 * Gaussian(0.7) + Linear()], ids=repr)
def test_gradient(kernel):
    S = Vectors.pack(np.concatenate(blobs(RNG, 20)))
    theta = unconstrain(kernel)
    value, gradient = power_and_gradient(kernel, S, 20)
    assert value == pytest.approx(mmd_power(S[:20], S[20:], kernel), rel=1e-8)
    for c in range(len(theta)):
        step = 1e-5 * np.eye(len(theta))[c]
        up, down = (power_and_gradient(constrained(kernel, theta + s), S, 20)[0] for s in (step, -step))
        assert gradient[c] == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-8)


def test_tuned():
    X, Y = blobs(np.random.default_rng(1))
    start = Gaussian(3.0)
    found = tuned_kernel(X, Y, start)
    assert mmd_power(X, Y, found) > mmd_power(X, Y, start)


def test_strings():
    words, other = ["ab", "abab", "ba", "bab"] * 8, ["aabb", "aab", "abb", "bbaa"] * 8
    chosen = held_out_test(words, other, [Spectrum(1), Spectrum(2)], 99, 0)
    assert chosen.kernels == (Spectrum(2),)
    labels = ["u", "v", "u", "v"] * 8
    pairs = [(Spectrum(1), Match()), (Spectrum(2), Match())]
    assert held_out_test(words, labels, pairs, 99, 0, statistic="hsic").p_value == 0.01


def test_doors():
    x = RNG.normal(size=(20, 1))
    with pytest.raises(ParameterError, match="statistic"):
        held_out_test(x, x, statistic="f")
    with pytest.raises(ParameterError, match="share"):
        held_out_test(x, x, share=1.0)
    with pytest.raises(DomainError, match="aggregated_test"):
        held_out_test(x[:6], x)
    with pytest.raises(DomainError, match="20, 19"):
        held_out_test(x, x[1:], statistic="hsic")
    with pytest.raises(ParameterError, match="sequence"):
        aggregated_test(x, x, [])
    with pytest.raises(CapabilityError, match="free parameter"):
        tuned_kernel(x, x, Linear())
