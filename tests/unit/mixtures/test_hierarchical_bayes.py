"""The hierarchical model through the estimators: posterior weights, what it refuses."""

import numpy as np
import pytest

import mercer
from mercer import MultipleKernelClassifier, MultipleKernelDetector, MultipleKernelRegressor
from mercer.errors import CapabilityError, ParameterError
from mercer.kernels import Gaussian
from mercer.mixtures import HierarchicalBayes

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Z = 5.0 + 2.0 * np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=60)
KERNELS = {name: Gaussian(1.0).on(column) for column, name in enumerate("abc")}


def test_the_kernel_that_explains_is_found(tmp_path):
    model = MultipleKernelRegressor(KERNELS, mixture=HierarchicalBayes()).fit(X, Z)
    assert model.weights_[0] > 10.0 * model.weights_[1:].max()
    assert np.all(model.weights_std_ >= 0.0) and 0.0 < model.weights_std_[0] < model.weights_[0]
    assert 0.003 < model.noise_ < 0.03  # 0.01 is the truth, known to some 20 % from 60 samples
    assert model.score(X, Z) > 0.98
    mercer.save(model, tmp_path / "model.mercer")
    assert np.array_equal(mercer.load(tmp_path / "model.mercer").predict(X), model.predict(X))


def test_two_classes():
    model = MultipleKernelClassifier(KERNELS, mixture=HierarchicalBayes(max_iter=2000)).fit(X, Z > 5.0)
    assert model.kernel_names_[int(np.argmax(model.weights_))] == "a" and model.score(X, Z > 5.0) > 0.9


def test_the_function_is_that_of_a_process_with_these_weights():
    model = MultipleKernelRegressor(KERNELS, mixture=HierarchicalBayes()).fit(X, Z)
    K = model.kernel_(X) + 1e3 * np.var(Z)
    coef = np.linalg.solve(K + model.noise_ * np.eye(60), Z)
    assert np.allclose(K @ coef, model.predict(X), atol=1e-2)  # kernels that explain nothing are left out of kernel_


def test_what_is_refused():
    with pytest.raises(ParameterError, match="Leave them at their defaults"):
        MultipleKernelRegressor(KERNELS, 2.0, mixture=HierarchicalBayes()).fit(X, Z)
    with pytest.raises(CapabilityError, match="a model of two"):
        MultipleKernelClassifier(KERNELS, mixture=HierarchicalBayes()).fit(X, np.arange(60) % 3)
    with pytest.raises(CapabilityError, match="a model of targets"):
        MultipleKernelDetector(KERNELS, mixture=HierarchicalBayes()).fit(X)
    with pytest.raises(CapabilityError, match="a model of targets"):
        MultipleKernelRegressor(KERNELS, mixture=HierarchicalBayes()).fit(X, np.column_stack([Z, Z]))
