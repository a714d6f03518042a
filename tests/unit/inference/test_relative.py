"""Relative tests: variances by simulation, symmetry, power."""

import numpy as np
import pytest
from scipy.stats import binom

from mercer.errors import DomainError
from mercer.gram import FastGauss, Nystrom, Tiles
from mercer.gram.algebra import centred
from mercer.inference.dependence_measures import hsic, mmd
from mercer.inference.forms import DenseForm
from mercer.inference.relative import hsic_deviation, mmd_deviation, relative_hsic_test, relative_mmd_test
from mercer.kernels import Gaussian

K = Gaussian(1.0)


def draw(seed, gap=0.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(60, 1)), rng.normal(0.8 + gap, size=(50, 1)), rng.normal(-0.8, size=(70, 1))


def test_discrepancies():
    X, Y, Z = draw(0)
    result = relative_mmd_test(X, Y, Z, K)
    assert result.statistic == pytest.approx(mmd(X, Y, K) - mmd(X, Z, K), rel=1e-9)
    assert relative_mmd_test(X, Z, Y, K).p_value == pytest.approx(1.0 - result.p_value, rel=1e-9)
    assert relative_mmd_test(*draw(0, 1.5), K).p_value < 0.01
    with pytest.raises(DomainError, match="at least 2"):
        relative_mmd_test(X, Y[:1], Z)


def test_level_and_deviation_of_discrepancies():
    results = [relative_mmd_test(*draw([1, seed]), K) for seed in range(200)]
    assert np.std([r.statistic for r in results]) == pytest.approx(np.mean([r.null.std for r in results]), rel=0.2)
    assert binom.ppf(5e-4, 200, 0.05) <= sum(r.p_value <= 0.05 for r in results) <= binom.ppf(1 - 5e-4, 200, 0.05)


def observed(seed, noise=0.6):
    rng = np.random.default_rng(seed)
    x, e, f = rng.normal(size=(3, 80))
    return x, x + 0.6 * e, x + noise * f


def test_dependence():
    x, y, z = observed(0)
    result = relative_hsic_test(x, y, z, (K, K, K))
    assert result.statistic == pytest.approx(hsic(x, y, (K, K)) - hsic(x, z, (K, K)), rel=1e-9)
    assert relative_hsic_test(x, z, y, (K, K, K)).p_value == pytest.approx(1.0 - result.p_value, rel=1e-9)
    assert relative_hsic_test(*observed(0, 3.0)).p_value < 0.01


def test_level_and_deviation_of_dependence():
    results = [relative_hsic_test(*observed([2, seed]), (K, K, K)) for seed in range(200)]
    assert np.std([r.statistic for r in results]) == pytest.approx(np.mean([r.null.std for r in results]), rel=0.2)
    assert binom.ppf(5e-4, 200, 0.05) <= sum(r.p_value <= 0.05 for r in results) <= binom.ppf(1 - 5e-4, 200, 0.05)


def test_deviations():
    values, deviations = [], []
    for seed in range(100):
        X, Y, _ = draw([3, seed])
        value, deviation = mmd_deviation(DenseForm(centred(K(np.concatenate([X, Y])))), 60)
        assert value == pytest.approx(mmd(X, Y, K), rel=1e-8)
        values.append(value)
        deviations.append(deviation)
    assert np.std(values) == pytest.approx(np.mean(deviations), rel=0.2)
    x, y, _ = observed(5)
    A, B = (centred(K(v[:, None])) for v in (x, y))
    assert hsic_deviation((A * B).sum(axis=1))[0] == pytest.approx(hsic(x, y, (K, K)), rel=1e-9)


@pytest.mark.parametrize("gram", [Tiles(), Nystrom(180), 180], ids=repr)
def test_any_gram(gram):
    for test, data, kernels in ((relative_mmd_test, draw(0), K), (relative_hsic_test, observed(0), (K, K, K))):
        whole, found = test(*data, kernels), test(*data, kernels, gram=gram)
        assert found.statistic == pytest.approx(whole.statistic, rel=1e-6)
        assert found.null.std == pytest.approx(whole.null.std, rel=1e-6)


def test_products_are_enough_for_discrepancies():
    found, whole = relative_mmd_test(*draw(0), K, gram=FastGauss()), relative_mmd_test(*draw(0), K)
    assert found.statistic == pytest.approx(whole.statistic, rel=1e-3)
