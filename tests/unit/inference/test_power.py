"""Kernels chosen for power: on held-out samples, and together."""

import numpy as np
import pytest
from scipy.stats import binom

from mercer.errors import DomainError, ParameterError
from mercer.gram import Nystrom, Tiles
from mercer.inference.power import (
    aggregated_test,
    held_out_test,
    hsic_power,
    mmd_power,
)
from mercer.kernels import Gaussian, Match, Spectrum

RNG = np.random.default_rng(0)


def blobs(rng, n=150):
    """A lattice of spots, round in one sample and oval in the other: only a narrow kernel sees it."""
    centres = lambda: 10.0 * rng.integers(0, 3, size=(n, 2))  # noqa: E731
    return centres() + rng.normal(size=(n, 2)), centres() + rng.normal(size=(n, 2)) * np.array([3.0, 0.3])


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
        assert result.p_value >= result.p_values.min() - 1e-12  # adjusted for three looks
        rejected += result.p_value <= 0.05
    assert binom.ppf(5e-4, 200, 0.05) <= rejected <= binom.ppf(1.0 - 5e-4, 200, 0.05)
    X, Y = blobs(np.random.default_rng(1))
    assert aggregated_test(X, Y, [Gaussian(1.0), Gaussian(50.0)], 199, 0).p_value < 0.02


def test_one_kernel_aggregated_is_one_test():
    x, y = RNG.normal(size=(2, 30, 1))
    result = aggregated_test(x, y + 0.4, [Gaussian(1.0)], 199, 0)
    assert result.p_value == pytest.approx(result.p_values[0])


@pytest.mark.parametrize("statistic", ["mmd", "hsic"])
@pytest.mark.parametrize("shift", [0.0, 0.5, 2.0])
def test_statistic_null_and_p_value_agree(statistic, shift):
    x, y = np.random.default_rng(3).normal(size=(2, 30, 1))
    kernels = [(Gaussian(w), Gaussian(w)) if statistic == "hsic" else Gaussian(w) for w in (0.3, 1.0, 3.0)]
    result = aggregated_test(x, y + shift * (x if statistic == "hsic" else 1.0), kernels, 99, 0, statistic=statistic)
    assert result.statistic == -np.log(result.p_values.min())
    assert result.null.p_value(result.statistic) == result.p_value >= result.p_values.min()
    for level in (0.01, 0.05, 0.1, 0.5):
        assert (result.p_value <= level) == (result.statistic >= result.null.quantile(1.0 - level))


GRAMS = [Tiles(), Nystrom(60), 60]


@pytest.mark.parametrize("gram", GRAMS, ids=repr)
def test_any_gram(gram):
    x, y = np.random.default_rng(4).normal(size=(2, 30, 1))
    y = y + 0.5 * x
    pair = (Gaussian(1.0), Gaussian(0.7))
    assert mmd_power(x, y, pair[0], gram=gram) == pytest.approx(mmd_power(x, y, pair[0]), rel=1e-6)
    assert hsic_power(x, y, pair, gram=gram) == pytest.approx(hsic_power(x, y, pair), rel=1e-6)
    for run in (held_out_test, aggregated_test):
        for statistic, kernels in (("mmd", [pair[0], Gaussian(0.2)]), ("hsic", [pair, (Gaussian(0.2), Gaussian(0.2))])):
            whole, found = (run(x, y, kernels, 19, 0, statistic=statistic, gram=g) for g in (None, gram))
            assert found.p_value == whole.p_value and found.kernels == whole.kernels
            assert found.statistic == pytest.approx(whole.statistic, rel=1e-6)


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
