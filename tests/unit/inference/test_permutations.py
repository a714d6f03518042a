"""Permuted statistics: equal to computing the statistic on permuted data."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.errors import CapabilityError
from mercer.gram import FastGauss, Tiles
from mercer.inference import permutations as module
from mercer.inference.dependence_measures import hsic, mmd
from mercer.inference.forms import represent
from mercer.inference.permutations import (
    joint_sums,
    permuted_hsic,
    permuted_mmd,
    permuted_sums,
    random_labels,
    random_permutations,
)
from mercer.kernels import Gaussian

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(12, 2)), RNG.normal(size=(12, 1))
K = Gaussian(1.0)


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
@pytest.mark.parametrize("gram", [None, Tiles(), 12])
def test_two_samples(estimator, gram):
    form = represent(K, Vectors.pack(X), gram)
    draws = permuted_mmd(form, 5, 6, np.random.default_rng(1), estimator)
    for labels, value in zip(random_labels(np.random.default_rng(1), 6, 5, 12), draws, strict=True):
        expected = mmd(X[labels == 1], X[labels == 0], K, estimator=estimator)
        assert value == pytest.approx(expected, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
@pytest.mark.parametrize("gram", [None, Tiles(), 12])
def test_independence(estimator, gram):
    first, second = represent(K, Vectors.pack(X), gram), represent(K, Vectors.pack(Y), gram)
    draws = permuted_hsic(first, second, 6, np.random.default_rng(1), estimator)
    for p, value in zip(random_permutations(np.random.default_rng(1), 6, 12), draws, strict=True):
        assert value == pytest.approx(hsic(X, Y[p], (K, K), estimator=estimator), rel=1e-7, abs=1e-10)


def test_products_alone_will_not_do():
    form = represent(K, Vectors.pack(X), FastGauss())
    with pytest.raises(CapabilityError, match="Dense"):
        permuted_hsic(form, form, 3, np.random.default_rng(0))


def symmetric(rng, *shape):
    A = rng.normal(size=shape)
    return A + np.swapaxes(A, -1, -2)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_pairs(n):
    rng = np.random.default_rng(n)
    K, L = symmetric(rng, 2, n, n)
    P = random_permutations(rng, 60, n)
    expected = [np.sum(K * L[np.ix_(p, p)]) for p in P]
    np.testing.assert_allclose(permuted_sums(K, L, P), expected, rtol=1e-12, atol=1e-12)
    one, two = permuted_sums(K, L, P, n_threads=1), permuted_sums(K, L, P, n_threads=2)
    np.testing.assert_array_equal(one, two)


def test_products():
    rng = np.random.default_rng(0)
    K = symmetric(rng, 3, 9, 9)
    P = np.stack([random_permutations(rng, 20, 9) for _ in range(3)], axis=1)
    expected = [np.sum(np.prod([K[k][np.ix_(p[k], p[k])] for k in range(3)], axis=0)) for p in P]
    np.testing.assert_allclose(joint_sums(K, P), expected, rtol=1e-12, atol=1e-12)


def test_python_originals():
    rng = np.random.default_rng(1)
    K = symmetric(rng, 2, 6, 6)
    P = random_permutations(rng, 3, 6)
    out = np.empty(3)
    module._pair_sums.py_func(K[0], K[1], P, out)
    np.testing.assert_allclose(out, permuted_sums(K[0], K[1], P))
    both = np.stack([np.broadcast_to(np.arange(6, dtype=P.dtype), P.shape), P], axis=1)
    module._product_sums.py_func(K, both, out)
    np.testing.assert_allclose(out, permuted_sums(K[0], K[1], P))


def test_permutations_are_uniform():
    P = random_permutations(np.random.default_rng(0), 6000, 3)
    assert P.dtype == np.uint16
    counts = np.unique(P @ np.array([9, 3, 1]), return_counts=True)[1]
    assert len(counts) == 6 and np.all(np.abs(counts - 1000) < 120)


def test_long_permutations_need_longer_integers():
    assert random_permutations(np.random.default_rng(0), 1, 2**16).dtype == np.uint16
    assert random_permutations(np.random.default_rng(0), 1, 2**16 + 1).dtype == np.uint32


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_labels_are_uniform(m):
    labels = random_labels(np.random.default_rng(m), 6000, m, 4)
    np.testing.assert_array_equal(labels.sum(axis=1), m)
    ways = {1: 4, 2: 6, 3: 4, 4: 1}[m]
    counts = np.unique(labels @ np.array([8, 4, 2, 1]), return_counts=True)[1]
    assert len(counts) == ways and np.all(np.abs(counts - 6000 / ways) < 4.5 * np.sqrt(6000 / ways))
    again = np.full((6000, 4), float(m > 2))
    module._choose.py_func(np.random.default_rng(m).random((6000, min(m, 4 - m))), again, float(m <= 2))
    np.testing.assert_array_equal(again, labels)
