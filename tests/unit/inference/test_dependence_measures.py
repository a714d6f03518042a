"""Measures of distance and dependence against their definitions, closed forms and numbers of another library."""

import itertools

import numpy as np
import pytest

from mercer.domains import Similarities
from mercer.errors import ParameterError
from mercer.gram import Features, Nystrom, Tiles
from mercer.inference.dependence_measures import coco, hsic, kcc, mmd, nocco
from mercer.kernels import Gaussian, Linear, Match, NegativeDistance, Spectrum

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
Y = X[:, :1] ** 2 + 0.5 * RNG.normal(size=(30, 1))
Z = RNG.normal(0.5, 1, size=(30, 2))
K1, K2 = Gaussian(1.0), Gaussian(0.7)


def off(K):
    return (K.sum() - np.trace(K)) / (len(K) * (len(K) - 1))


def test_mmd_is_its_definition():
    x, z = X, Z[:23]
    assert mmd(x, z, K1) == pytest.approx(off(K1(x)) + off(K1(z)) - 2 * K1(x, z).mean(), rel=1e-10)
    biased = K1(x).mean() + K1(z).mean() - 2 * K1(x, z).mean()
    assert mmd(x, z, K1, estimator="biased") == pytest.approx(biased, rel=1e-10)
    assert mmd(x, x, K1, estimator="biased") == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("gram", [Tiles(), Nystrom(60), 60])
@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
def test_any_gram(gram, estimator):
    assert mmd(X, Z, K1, estimator=estimator, gram=gram) == pytest.approx(mmd(X, Z, K1, estimator=estimator), rel=1e-7)
    expected = hsic(X, Y, (K1, K2), estimator=estimator)
    assert hsic(X, Y, (K1, K2), estimator=estimator, gram=gram) == pytest.approx(expected, rel=1e-7)


def test_mmd_of_linear_kernels_is_the_distance_of_means():
    expected = np.sum((X.mean(axis=0) - Z.mean(axis=0)) ** 2)
    assert mmd(X, Z, Linear(), estimator="biased", gram=Features()) == pytest.approx(expected, rel=1e-12)


def test_energy_distance():
    D = lambda a, b: np.linalg.norm(a[:, None] - b[None], axis=2)  # noqa: E731
    expected = 2 * D(X, Z).mean() - D(X, X).mean() - D(Z, Z).mean()
    assert mmd(X, Z, NegativeDistance(1.0), estimator="biased") == pytest.approx(expected, rel=1e-10)


def test_mmd_between_normal_distributions():
    rng = np.random.default_rng(3)
    d, l, shift, s = 2, 1.3, 0.5, 1.6

    def mean(variance, distance):
        return (l**2 / (l**2 + variance)) ** (d / 2) * np.exp(-(distance**2) / (2 * (l**2 + variance)))

    true = mean(2.0, 0.0) + mean(2 * s**2, 0.0) - 2 * mean(1 + s**2, shift)
    draws = [
        mmd(rng.normal(size=(400, d)), np.array([shift, 0.0]) + s * rng.normal(size=(300, d)), Gaussian(l))
        for _ in range(12)
    ]
    error = np.std(draws, ddof=1) / np.sqrt(len(draws))
    assert error < 0.15 * true
    assert abs(np.mean(draws) - true) < 4 * error
    linear = mmd(rng.normal(size=(20_000, d)), np.array([shift, 0.0]) + s * rng.normal(size=(20_000, d)), Gaussian(l),
                 estimator="linear")  # fmt: skip
    assert linear == pytest.approx(true, rel=0.3)


def test_hsic_is_its_definition():
    K, L = K1(X), K2(Y)
    n = len(K)
    P = np.eye(n) - 1.0 / n
    assert hsic(X, Y, (K1, K2)) == pytest.approx(np.trace(P @ K @ P @ L @ P) / n**2, rel=1e-10)


def test_unbiased_hsic_is_the_mean_over_quadruples():
    x, y = X[:7], Y[:7]
    K, L = K1(x), K2(y)
    total = [
        K[i, j] * L[i, j] + K[i, j] * L[q, r] - 2 * K[i, j] * L[i, q]
        for i, j, q, r in itertools.permutations(range(7), 4)
    ]
    assert hsic(x, y, (K1, K2), estimator="unbiased") == pytest.approx(np.mean(total), rel=1e-9)


def test_numbers_of_hyppo():
    # hyppo 0.5.2, Hsic(bias=..., gamma=0.5).statistic on the same data; the biased one is a root there
    kernels = (Gaussian.from_gamma(0.5), Gaussian.from_gamma(0.5))
    assert hsic(X, Y, kernels, normalized=True) == pytest.approx(0.5272188092832572**2, rel=1e-10)
    assert hsic(X, Y, kernels, normalized=True, estimator="unbiased") == pytest.approx(0.16811616953231345, rel=1e-10)


def test_block_estimates():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(600, 1))
    y = x + 0.5 * rng.normal(size=(600, 1))
    kernels = (K1, K1)
    whole = hsic(x, y, kernels, estimator="unbiased")
    assert hsic(x, y, kernels, estimator="block") == pytest.approx(whole, rel=0.2)
    assert hsic(x, y, kernels, estimator="linear") == pytest.approx(whole, rel=0.6)
    correlated = hsic(x, y, kernels, estimator="block", normalized=True)
    assert correlated == pytest.approx(hsic(x, y, kernels, normalized=True, estimator="unbiased"), rel=0.2)


def roots(K):
    P = np.eye(len(K)) - 1.0 / len(K)
    values, U = np.linalg.eigh(P @ K @ P)
    return U, np.maximum(values, 0.0)


def test_singular_measures():
    (U, a), (V, b) = roots(K1(X)), roots(K2(Y))
    n = len(X)
    half = (U * np.sqrt(a)) @ U.T @ (V * np.sqrt(b)) @ V.T
    assert coco(X, Y, (K1, K2)) == pytest.approx(np.linalg.norm(half, 2) / n, rel=1e-9)
    c = 0.5 * n * 0.02
    shrunk = (U * (a / (a + c))) @ U.T @ (V * (b / (b + c))) @ V.T
    assert kcc(X, Y, (K1, K2)) == pytest.approx(np.linalg.norm(shrunk, 2), rel=1e-9)
    e = n * 0.05
    R, S = (U * (a / (a + e))) @ U.T, (V * (b / (b + e))) @ V.T
    assert nocco(X, Y, (K1, K2), epsilon=0.05) == pytest.approx(np.trace(R @ S), rel=1e-9)
    for measure in (coco, kcc, nocco):
        assert measure(X, Y, (K1, K2), gram=30) == pytest.approx(measure(X, Y, (K1, K2)), rel=1e-6)


def test_norms_are_ordered():
    # the largest singular value, the root of the sum of squares
    assert coco(X, Y) <= np.sqrt(hsic(X, Y))
    assert 0.0 < kcc(X, Y) < 1.0


def test_low_rank_is_close():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 1))
    y = x + rng.normal(size=(500, 1))
    assert hsic(x, y, gram=25) == pytest.approx(hsic(x, y), rel=1e-4)


def test_other_domains():
    words, labels = ["ab", "abab", "ccd", "cdc"] * 3, ["u", "u", "v", "v"] * 3
    kernels = (Spectrum(1).normalized(), Match())
    assert hsic(words, labels, kernels, normalized=True) > 0.9
    S = Similarities.pack(np.asarray(kernels[0](words)))
    assert hsic(S, labels, ("precomputed", Match())) == pytest.approx(hsic(words, labels, kernels), rel=1e-12)
    constant = hsic([[1.0]] * 12, labels, (Linear(), Match()), normalized=True)
    assert constant == 0.0


def test_doors():
    with pytest.raises(ParameterError, match="estimator"):
        mmd(X, Z, estimator="best")
    with pytest.raises(ParameterError, match="kappa"):
        kcc(X, Y, kappa=0.0)
    with pytest.raises(ParameterError, match="block_size"):
        hsic(X, Y, estimator="block", block_size=2)
