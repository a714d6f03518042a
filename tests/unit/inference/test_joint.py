"""Joint dependence: the definition, permutations, and every way of holding the matrices."""

import math

import numpy as np
import pytest

from mercer.budget import Resources
from mercer.errors import CapabilityError
from mercer.gram import FastGauss, Nystrom, Tiles
from mercer.inference.dependence_measures import hsic
from mercer.inference.joint import dhsic, dhsic_test, permuted_dhsic
from mercer.inference.permutations import random_permutations
from mercer.inference.tests import hsic_test
from mercer.kernels import Gaussian, Linear, NegativeDistance

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
Y = X[:, :1] ** 2 + 0.5 * RNG.normal(size=(30, 1))
W = np.sin(3 * X[:, :1]) + 0.1 * Y
K1, K2 = Gaussian(1.0), Gaussian(0.7)
GRAMS = [Tiles(), Nystrom(30), 30]


def brute(K):
    rows = [np.prod([k[i].mean() for k in K]) for i in range(len(K[0]))]
    return np.mean(np.prod(K, axis=0)) + np.prod([k.mean() for k in K]) - 2 * np.mean(rows)


def test_definition():
    assert dhsic((X, Y), (K1, K2)) == pytest.approx(hsic(X, Y, (K1, K2)), rel=1e-8)
    K = np.stack([K1(X), K2(Y), K1(W)])
    assert dhsic((X, Y, W), (K1, K2, K1)) == pytest.approx(brute(K), rel=1e-10)


def test_permutations():
    K = np.stack([K1(part) for part in (X, Y, W)])
    draws = permuted_dhsic(K, 4, np.random.default_rng(2), Resources())
    rng = np.random.default_rng(2)
    second, third = (random_permutations(rng, 4, 30) for _ in range(2))
    for p, q, value in zip(second, third, draws, strict=True):
        assert value == pytest.approx(dhsic((X, Y[p], W[q]), (K1, K1, K1)), rel=1e-8)


@pytest.mark.parametrize("gram", GRAMS, ids=repr)
@pytest.mark.parametrize("count", [2, 3, 4])
def test_any_gram(gram, count):
    parts, kernels = (X, Y, W, X[:, 1:])[:count], (K1, K2, K1, K2)[:count]
    assert dhsic(parts, kernels, gram=gram) == pytest.approx(dhsic(parts, kernels), rel=1e-7)
    whole = dhsic_test(parts, kernels, 9, 0)
    found = dhsic_test(parts, kernels, 9, 0, gram=gram)
    np.testing.assert_allclose(found.null.draws, whole.null.draws, rtol=1e-6, atol=1e-10)
    assert found.statistic == dhsic(parts, kernels, gram=gram)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_few_columns_are_the_linear_kernel(count):
    parts, kernels = (X, Y, W, X[:, 1:])[:count], (Linear(),) * count  # ranks so low that tensors are less work
    assert math.prod(np.shape(part)[1] for part in parts) < 30
    found = dhsic_test(parts, kernels, 9, 0, gram=2)
    np.testing.assert_allclose(found.null.draws, dhsic_test(parts, kernels, 9, 0).null.draws, rtol=1e-8, atol=1e-10)
    assert found.statistic == pytest.approx(dhsic(parts, kernels), rel=1e-8)


def test_dependence_of_three():
    x, y = np.tile([[1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0]], 25)  # x and xy are as independent as can be
    assert hsic_test(x, x * y, random_state=0).p_value > 0.05
    for gram in (None, 10):
        assert dhsic_test((x, y, x * y), n_permutations=99, random_state=0, gram=gram).p_value == 0.01


def test_doors():
    with pytest.raises(CapabilityError, match="positive definite"):
        dhsic_test((X, Y), (NegativeDistance(1.0), Linear()))
    with pytest.raises(CapabilityError, match="Tiles"):
        dhsic((X, Y), (K1, K2), gram=FastGauss())
