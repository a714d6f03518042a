"""Tests of two samples and of independence: levels, power, every null and every Gram."""

import itertools

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binom

from mercer.domains import Similarities
from mercer.errors import CapabilityError, ParameterError
from mercer.gram import Dense, Nystrom, Tiles
from mercer.inference.conditional_test import conditional_independence_test
from mercer.inference.dependence_measures import hsic, mmd
from mercer.inference.goodness_of_fit import stein_test
from mercer.inference.joint import dhsic, dhsic_test
from mercer.inference.nulls import WildBootstrap
from mercer.inference.power import aggregated_test, held_out_test
from mercer.inference.tests import generator, hsic_test, mmd_test
from mercer.kernels import Gaussian, Match, NegativeDistance, Spectrum

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = X[:, :1] ** 2 + 0.3 * RNG.normal(size=(60, 1))
Z = RNG.normal(0.9, 1.0, size=(50, 2))


RUNS = 200


def band(runs, level=0.05):
    """Numbers of rejections that are probable."""
    return binom.ppf(5e-4, runs, level), binom.ppf(1.0 - 5e-4, runs, level)


def rejections(test, draw, runs=RUNS, level=0.05):
    return sum(test(*draw(np.random.default_rng([7, seed])), seed).p_value <= level for seed in range(runs))


def samples(rng):
    return rng.normal(size=(12, 1)), rng.normal(size=(9, 1))


def variables(rng):
    return rng.normal(size=(14, 1)), rng.exponential(size=(14, 1))


def many(rng):
    return rng.normal(size=(2, 100, 1))


def slow_series(rng):
    """Two processes that keep 0.8 of themselves at each step."""
    return lfilter([0.6], [1.0, -0.8], rng.normal(size=(2, 250)), axis=1)[:, 50:]


ONE = Gaussian(1.0)
TWO = (ONE, ONE)
LEVELS = {
    "two samples": (lambda x, y, s: mmd_test(x, y, None, 39, s), samples),
    "two samples, gamma": (lambda x, y, s: mmd_test(x, y, null="gamma"), samples),
    "independence": (lambda x, y, s: hsic_test(x, y, None, 39, s), variables),
    "independence, gamma": (lambda x, y, s: hsic_test(x, y, null="gamma"), variables),
    "independence, low rank": (lambda x, y, s: hsic_test(x, y, None, 39, s, gram=6), variables),
    "two samples, spectral": (lambda x, y, s: mmd_test(x, y, None, 19, s, null="spectral"), samples),
    "two samples, wild": (lambda x, y, s: mmd_test(x, y, ONE, 19, s, null=WildBootstrap(0.01)), many),
    "two samples, series": (lambda x, y, s: mmd_test(x, y, ONE, 19, s, null="wild"), slow_series),
    "independence, series": (lambda x, y, s: hsic_test(x, y, TWO, 19, s, null="wild"), slow_series),
    "two samples, blocks": (lambda x, y, s: mmd_test(x, y, ONE, estimator="block"), many),
    "two samples, linear": (lambda x, y, s: mmd_test(x, y, ONE, estimator="linear"), many),
    "two samples, held out": (lambda x, y, s: held_out_test(x, y, [ONE, Gaussian(3.0)], 19, s), samples),
    "independence, spectral": (lambda x, y, s: hsic_test(x, y, None, 19, s, null="spectral"), variables),
    "independence, aggregated": (
        lambda x, y, s: aggregated_test(x, y, [TWO, (Gaussian(3.0), ONE)], 19, s, statistic="hsic"),
        variables,
    ),
    "given a third": (
        lambda x, y, s: conditional_independence_test(x, y, x[::-1].copy(), None, 19, s),
        lambda rng: rng.normal(size=(2, 25, 1)),
    ),
    "fit, by sampler": (
        lambda x, y, s: stein_test(x, lambda x: -x, ONE, 19, s, sampler=lambda rng, n: rng.normal(size=(n, 1))),
        samples,
    ),
    "joint": (lambda *given: dhsic_test(given[:3], None, 39, given[3]), lambda rng: rng.normal(size=(3, 12, 1))),
}


@pytest.mark.parametrize("name", LEVELS)
def test_levels(name):
    test, draw = LEVELS[name]
    low, high = band(RUNS)
    assert low <= rejections(test, draw) <= high


NULLS = ["permutation", "gamma", "spectral", "wild", WildBootstrap(1.0)]


@pytest.mark.parametrize("null", NULLS)
def test_differences_are_seen(null):
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(120, 2)), rng.normal(1.5, 1.0, size=(100, 2))
    y = x[:, :1] + 0.3 * rng.normal(size=(120, 1))
    result = mmd_test(x, z, n_permutations=200, random_state=0, null=null)
    assert result.p_value < 0.01 and result.statistic > result.null.quantile(0.95)
    assert hsic_test(x, y, n_permutations=200, random_state=0, null=null).p_value < 0.01


@pytest.mark.parametrize("test", [mmd_test, hsic_test])
@pytest.mark.parametrize("null", NULLS)
def test_no_differences_are_not_seen(null, test):
    """Twelve uniform numbers have a mean below 0.1 with probability 2e-8."""
    draws = np.random.default_rng(0).normal(size=(12, 2, 30, 2))
    found = [test(x, y, n_permutations=100, random_state=0, null=null).p_value for x, y in draws]
    assert np.mean(found) > 0.1


def test_statistics_are_the_measures():
    assert mmd_test(X, Z, n_permutations=9).statistic == mmd(X, Z)
    assert hsic_test(X, Y, n_permutations=9, estimator="biased").statistic == hsic(X, Y)
    assert dhsic_test((X, Y), n_permutations=9).statistic == dhsic((X, Y))


@pytest.mark.parametrize("estimator", ["block", "linear"])
def test_blocks(estimator):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 2000, 1))
    moved = mmd_test(x, y + 2.0, estimator=estimator)
    assert moved.p_value < 0.01 and moved.null.method == "normal"
    assert moved.statistic == pytest.approx(mmd(x, y + 2.0, estimator=estimator), rel=1e-12)
    assert mmd_test(x, y, estimator=estimator).p_value > 1e-8  # a mean of few blocks has a longer tail than a normal
    assert hsic_test(x, x + 0.5 * y, estimator=estimator).p_value < 0.01


def test_block_sizes():
    x, y = np.random.default_rng(0).normal(size=(2, 6000, 1))  # 200 blocks, whose spread is known within a tenth
    for test, measure in ((mmd_test, mmd), (hsic_test, hsic)):
        options = {"estimator": "block", "block_size": 30}
        assert test(x, x + y, **options).statistic == pytest.approx(measure(x, x + y, **options), rel=1e-12)
        assert test(x, x + y, **options).null.std < test(x, x + y, estimator="block", block_size=5).null.std
        with pytest.raises(ParameterError, match="block_size"):
            test(x, y, estimator="block", block_size=4000)


def test_p_values_are_those_of_all_splits():
    x, y = X[:4, :1], Z[:4, :1]
    both = np.concatenate([x, y])
    own = mmd(x, y, Gaussian(1.0))
    values = [
        mmd(both[list(part)], np.delete(both, list(part), axis=0), Gaussian(1.0))
        for part in itertools.combinations(range(8), 4)
    ]
    exact = np.mean(np.array(values) >= own - 1e-12)
    found = mmd_test(x, y, Gaussian(1.0), 4000, 0).p_value
    assert found == pytest.approx(exact, abs=0.03)


def test_grams_agree():
    for gram in (Dense(), Tiles(), Nystrom(110), 110):
        assert mmd_test(X, Z * 0.5, Gaussian(1.0), 99, 0, gram=gram).p_value == pytest.approx(
            mmd_test(X, Z * 0.5, Gaussian(1.0), 99, 0).p_value, abs=0.011
        )
    kernels = (Gaussian(1.0), Gaussian(1.0))
    whole = hsic_test(X, Y + X, kernels=None, n_permutations=50, random_state=0)
    assert whole.p_value == 1 / 51
    for null in ("permutation", "wild", "gamma"):
        whole = hsic_test(X, Y[::-1], kernels, 50, 0, null=null)
        for gram in (Tiles(), Nystrom(60), 60):
            assert hsic_test(X, Y[::-1], kernels, 50, 0, null=null, gram=gram).null.std == pytest.approx(whole.null.std)


def test_constant_data_are_no_evidence():
    same = np.zeros((10, 1))
    assert mmd_test(same, same, Gaussian(1.0), 50, 0).p_value == 1.0
    assert mmd_test(same, same, Gaussian(1.0), null="gamma").p_value == 1.0
    assert hsic_test(same, X[:10], n_permutations=50, random_state=0).p_value == 1.0


def test_dependent_samples_need_the_wild_bootstrap():
    def series(rng, n=120):
        x = np.zeros((2, n))
        noise = rng.normal(size=(2, n))
        for t in range(1, n):
            x[:, t] = 0.85 * x[:, t - 1] + noise[:, t]
        return x

    runs, wild, permuted = 60, 0, 0
    for seed in range(runs):
        x, y = series(np.random.default_rng(seed))
        wild += hsic_test(x, y, None, 100, seed, null=WildBootstrap(15.0)).p_value <= 0.05
        permuted += hsic_test(x, y, None, 100, seed).p_value <= 0.05
    assert wild <= band(runs)[1] < permuted


def test_any_domain():
    words = ["ab", "abab", "ba", "bab"] * 6
    other = ["aabb", "aab", "abb", "bbaa"] * 6
    assert mmd_test(words, other, Spectrum(2), 99, 0).p_value == 0.01
    labels = ["u", "v"] * 12
    assert hsic_test(words, labels, (Spectrum(2), Match()), 99, 0).p_value == 0.01
    S = Similarities.pack(np.asarray(Spectrum(2)(words + other), dtype=float))
    assert mmd_test(S[:24], S[24:], "precomputed", 99, 0).statistic == pytest.approx(mmd(words, other, Spectrum(2)))
    assert mmd_test(X, Z, NegativeDistance(1.0), 99, 0).p_value == 0.01


def test_seeds():
    first, second = (mmd_test(X, Z, n_permutations=50, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.null.draws, second.null.draws)
    third = mmd_test(X, Z, n_permutations=50, random_state=np.random.RandomState(3))
    assert len(third.null.draws) == 50
    with pytest.raises(ParameterError, match="random_state"):
        generator("seed")


def test_doors():
    with pytest.raises(ParameterError, match="n_permutations"):
        mmd_test(X, Z, n_permutations=0)
    with pytest.raises(ParameterError, match="biased"):
        mmd_test(X, Z, null="gamma", estimator="unbiased")
    with pytest.raises(ParameterError, match="blocks"):
        hsic_test(X, Y, null="gamma", estimator="block")
    with pytest.raises(ParameterError, match="null"):
        hsic_test(X, Y, null="exact")
    with pytest.raises(CapabilityError, match="Dense"):
        hsic_test(X, Y, null="spectral", gram=Tiles())
