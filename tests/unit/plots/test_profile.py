"""Profiles of kernels along a line."""

import numpy as np
import pytest
from matplotlib import pyplot

from mercer import KernelRidge
from mercer.errors import CapabilityError, ParameterError
from mercer.kernels import Gaussian, Laplacian, Linear, Spectrum
from mercer.plots import KernelProfileDisplay


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def test_values_follow_the_formula():
    display = KernelProfileDisplay.from_kernel([Gaussian(2.0), Laplacian(3.0)])
    assert np.allclose(display.values[0], np.exp(-(display.t**2) / 8))
    assert np.allclose(display.values[1], np.exp(-np.abs(display.t) / 3))
    assert np.array_equal(display.lines_[1].get_ydata(), display.values[1])


def test_a_kernel_that_is_not_stationary_depends_on_the_origin():
    display = KernelProfileDisplay.from_kernel(Linear(), origin=[1.0, 2.0], direction=[0.0, 3.0], t=[0.0, 1.0])
    assert display.values[0].tolist() == [5.0, 11.0]


def test_names_may_be_given():
    display = KernelProfileDisplay.from_kernel({"$narrow": Gaussian(0.5), "wide": Gaussian(5.0)})
    assert display.names == ("$narrow", "wide")
    display.figure_.canvas.draw()


def test_from_estimator_walks_along_the_main_direction():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2)) * [10.0, 0.1]
    model = KernelRidge(Gaussian(3.0)).fit(X, X[:, 0])
    display = KernelProfileDisplay.from_estimator(model, X, t=[0.0, 1.0])
    assert np.allclose(display.origin, X.mean(axis=0))
    assert abs(display.direction[0]) == pytest.approx(X[:, 0].std(), rel=1e-3)
    assert display.values[0, 0] == 1.0
    assert "Gaussian(3.0)" in repr(display)


def test_what_is_not_a_kernel_on_vectors_is_refused():
    with pytest.raises(CapabilityError, match="does not compare vectors"):
        KernelProfileDisplay.from_kernel(Spectrum(2))
    with pytest.raises(CapabilityError, match="does not compare vectors"):
        KernelProfileDisplay.from_estimator(KernelRidge(Spectrum(1)).fit(["a", "b"], [0.0, 1.0]), ["a", "b"])
    with pytest.raises(ParameterError, match="No kernel"):
        KernelProfileDisplay.from_kernel([])
    with pytest.raises(ParameterError, match="a kernel, a sequence"):
        KernelProfileDisplay.from_kernel(["rbf"])


@pytest.mark.parametrize(
    "line", [{"origin": [0.0, 1.0], "direction": [1.0]}, {"direction": [0.0]}, {"origin": [np.inf]}]
)
def test_lines_must_be_lines(line):
    with pytest.raises(ParameterError, match="vectors of the same"):
        KernelProfileDisplay.from_kernel(Gaussian(1.0), **line)


def test_places_must_be_numbers():
    with pytest.raises(ParameterError, match="finite places"):
        KernelProfileDisplay.from_kernel(Gaussian(1.0), t=[[0.0]])
