"""Permuted statistics: equal to computing the statistic on permuted data."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.errors import CapabilityError
from mercer.gram import FastGauss, Tiles
from mercer.inference.dependence_measures import hsic, mmd
from mercer.inference.forms import represent
from mercer.inference.permutation_sums import random_labels, random_permutations
from mercer.inference.permutations import permuted_hsic, permuted_mmd
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
