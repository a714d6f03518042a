"""Kernel dimension reduction against dense matrices, finite differences and known directions."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF

from mercer.errors import CapabilityError, ParameterError, TargetError
from mercer.estimators.dependence.dimension_reduction import KernelDimensionReduction
from mercer.kernels import Gaussian, NegativeDistance, Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 4))
EVEN = X[:, 1] ** 2 + 0.1 * rng.normal(size=120)  # no linear method sees it


def objective(X, y, w, m=2):
    model = KernelDimensionReduction(m, epsilon=0.01, rank=len(X))
    model.kernel_, model.target_kernel_ = Gaussian(1.0), Gaussian(0.7)
    H = model._target_factor(model.target_kernel_.pack(y[:, None]), w)
    return model._objective(X, H, w)


def test_the_value_is_the_conditional_covariance_from_the_definition():
    Z, y, V = X[:40], EVEN[:40], np.linalg.qr(rng.normal(size=(4, 2)))[0].T
    P = np.eye(40) - 1.0 / 40
    K, L = P @ Gaussian(1.0)(Z @ V.T) @ P, P @ Gaussian(0.7)(y[:, None]) @ P
    by_hand = np.trace(L @ np.linalg.inv(K + 40 * 0.01 * np.eye(40)))
    assert objective(Z, y, np.ones(40))(V)[0] == pytest.approx(by_hand, rel=1e-5)


def test_gradients_are_finite_differences():
    V, w = np.linalg.qr(rng.normal(size=(4, 2)))[0].T, rng.uniform(0.5, 2.0, size=40)
    function = objective(X[:40], EVEN[:40], w)
    slope = function(V)[1]
    for i, j in np.ndindex(2, 4):
        step = np.zeros((2, 4))
        step[i, j] = 1e-5
        change = (function(V + step)[0] - function(V - step)[0]) / 2e-5
        assert slope[i, j] == pytest.approx(change, rel=1e-3, abs=1e-3 * np.abs(slope).max())


def test_directions_that_matter_are_found():
    model = KernelDimensionReduction(1).fit(X * [1.0, 5.0, 1.0, 0.1] + 3.0, EVEN)
    assert abs(model.frame_[0, 1]) > 0.98
    U = model.transform(X * [1.0, 5.0, 1.0, 0.1] + 3.0)
    assert U.shape == (120, 1) and abs(np.corrcoef(U[:, 0], X[:, 1])[0, 1]) > 0.98
    assert model.value_ == min(model.values_) and len(model.values_) == 3
    assert list(model.get_feature_names_out()) == ["kerneldimensionreduction0"]


def test_labels_and_a_plane():
    y = np.where(X[:, 0] * X[:, 3] > 0, "a", "b")
    model = KernelDimensionReduction(2).fit(X, y)
    span = np.linalg.svd(model.frame_[:, [0, 3]])[1]
    assert span.min() > 0.9  # both directions, and nothing else


def test_targets_of_another_domain():
    texts = ["ab" * 5 if x > 0 else "ba" * 5 + "bb" for x in X[:60, 2]]
    model = KernelDimensionReduction(1, target_kernel=Spectrum(2)).fit(X[:60], texts)
    assert abs(model.frame_[0, 2]) > 0.8


def test_weights_are_repetitions():
    w = np.random.default_rng(1).integers(0, 3, size=60)
    options = {"n_init": 1, "target_kernel": Gaussian(1.0), "tol": 1e-6}
    a = KernelDimensionReduction(1, **options).fit(X[:60], EVEN[:60], sample_weight=w)
    b = KernelDimensionReduction(1, **options).fit(np.repeat(X[:60], w, axis=0), np.repeat(EVEN[:60], w))
    np.testing.assert_allclose(np.abs(a.frame_), np.abs(b.frame_), atol=1e-3)
    assert a.value_ == pytest.approx(b.value_, rel=1e-4)


def test_what_cannot_be_done_is_told():
    with pytest.raises(ParameterError, match="at most 4"):
        KernelDimensionReduction(5).fit(X, EVEN)
    with pytest.raises(CapabilityError, match="derivative"):
        KernelDimensionReduction(1, NegativeDistance()).fit(X, EVEN)
    with pytest.raises(TargetError, match="Give y"):
        KernelDimensionReduction(1).fit(X, None)
    with pytest.raises(TargetError, match="same length"):
        KernelDimensionReduction(1).fit(X, EVEN[:-1])
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        KernelDimensionReduction(2, n_init=1, max_iter=1, tol=0.0).fit(X, EVEN)


@pytest.mark.parametrize("given", ["rbf", RBF(1.0)], ids=str)
def test_kernels_are_taken_as_words_and_as_objects_of_scikit_learn(given):
    """scikit-learn's default gamma of two components is 1/2."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(40, 3))
    want = KernelDimensionReduction(2, kernel=Gaussian(1.0), target_kernel=Gaussian(np.sqrt(0.5)))
    found = KernelDimensionReduction(2, kernel=given, target_kernel="rbf")
    np.testing.assert_allclose(
        found.fit(data, data[:, 0]).components_, want.fit(data, data[:, 0]).components_, rtol=1e-6, atol=1e-9
    )
