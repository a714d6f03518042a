"""The path of costs: at each the weights of a fit of its own, from fewer machines."""

import numpy as np
import pytest

from mercer import MultipleKernelClassifier, MultipleKernelDetector, MultipleKernelRegressor, weight_path
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 3))
Y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] > 0
KERNELS = {name: Gaussian(1.0).on(column) for column, name in enumerate("abc")}


def test_every_point_is_a_fit_of_its_own():
    path = weight_path(MultipleKernelClassifier(KERNELS), X, Y, [10.0, 0.1, 1.0])
    assert path.costs.tolist() == [0.1, 1.0, 10.0] and path.names == ("a", "b", "c")
    for place, C in enumerate(path.costs):
        model = MultipleKernelClassifier(KERNELS, C).fit(X, Y)
        assert np.allclose(path.weights[place], model.weights_, atol=1e-6)
        assert np.isclose(path.objective[place], model.objective_, rtol=1e-6)
        assert np.allclose(path.lengths[place], model.weights_ * np.sqrt(model.squares_), atol=1e-5)
    assert path.gaps.max() <= 1e-3 and set(path.entered) <= set("abc")
    assert all(path.weights[list(path.costs).index(C), "abc".index(name)] > 0 for name, C in path.entered.items())


def test_numbers_have_a_path_too():
    path = weight_path(MultipleKernelRegressor(KERNELS, machine="squared"), X, X[:, 0], [0.1, 1.0])
    assert path.weights.shape == (2, 3) and np.allclose(path.weights.sum(axis=1), 1.0)


def test_the_estimator_is_left_alone():
    model = MultipleKernelClassifier(KERNELS, 3.0)
    weight_path(model, X, Y, [1.0])
    assert model.C == 3.0 and not hasattr(model, "weights_")


def test_what_is_refused():
    with pytest.raises(ParameterError, match="positive finite numbers"):
        weight_path(MultipleKernelClassifier(KERNELS), X, Y, [0.0])
    with pytest.raises(CapabilityError, match="have a path"):
        weight_path(MultipleKernelDetector(KERNELS), X, None, [1.0])


@pytest.mark.parametrize("costs", ["ab", [1.0 + 1j], [np.nan], [], 3.0, [[1.0]]])
def test_costs_are_a_list_of_numbers(costs):
    with pytest.raises(DomainError, match="costs"):
        weight_path(MultipleKernelClassifier(KERNELS), X, Y, costs)
