"""Nearest class mean."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.neighbors import NearestCentroid

from mercer import KernelMeanClassifier
from mercer.errors import CapabilityError, TargetError
from mercer.gram import Dense, Features, Tiles
from mercer.kernels import Gaussian, Linear, NegativeDistance, ThinPlate

X, Y = load_iris(return_X_y=True)


def test_the_linear_kernel_is_the_nearest_centroid():
    ours, theirs = KernelMeanClassifier(Linear()).fit(X, Y), NearestCentroid().fit(X, Y)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    squared = ((X[:, None] - theirs.centroids_) ** 2).sum(-1)
    assert np.allclose(-2 * ours.decision_function(X) + (X**2).sum(1)[:, None], squared)


@pytest.mark.parametrize("gram", [Dense(), Tiles(), None], ids=repr)
def test_every_gram_gives_the_same(gram):
    expected = KernelMeanClassifier(Gaussian(1.0), gram=Dense()).fit(X, Y).decision_function(X)
    assert np.allclose(KernelMeanClassifier(Gaussian(1.0), gram=gram).fit(X, Y).decision_function(X), expected)
    linear = KernelMeanClassifier(Linear(), gram=Features()).fit(X, Y).decision_function(X)
    assert np.allclose(linear, KernelMeanClassifier(Linear(), gram=Dense()).fit(X, Y).decision_function(X))


def test_two_classes_have_one_decision_value():
    model = KernelMeanClassifier(Gaussian(1.0)).fit(X[:100], np.where(Y[:100], "b", "a"))
    f = model.decision_function(X[:100])
    assert f.shape == (100,) and np.array_equal(model.predict(X[:100]), np.where(f > 0, "b", "a"))
    assert np.ndim(model.intercept_) == 0 and model.dual_coef_.shape == (100,)
    assert np.isclose(model.dual_coef_.sum(), 0.0)


def test_a_conditional_kernel_of_order_one_compares_distances():
    model = KernelMeanClassifier(NegativeDistance()).fit(X, Y)
    k = NegativeDistance()
    means = []
    for c in range(3):  # |Phi(x) - mu_c|^2 = k(x,x) - 2 mean k(x, .) + mean mean k
        S = X[c == Y]
        means.append(-2 * k(X, S).mean(axis=1) + k(S).mean())
    assert np.array_equal(model.predict(X), np.argmin(np.stack(means, axis=1), axis=1))
    with pytest.raises(CapabilityError, match="order 2"):
        KernelMeanClassifier(ThinPlate()).fit(X, Y)


def test_a_class_without_weight_is_an_error():
    with pytest.raises(TargetError, match="no sample of positive weight"):
        KernelMeanClassifier().fit(X, Y, sample_weight=(Y > 0).astype(float))


def test_one_class_is_an_error():
    with pytest.raises(TargetError, match="one class"):
        KernelMeanClassifier().fit(X, np.zeros(150))
