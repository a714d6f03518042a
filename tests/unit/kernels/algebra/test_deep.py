"""Deep kernels: a user's map with derivatives, learned together with the kernel."""

import numpy as np
import pytest

from mercer import GaussianProcessRegressor, KernelRidge
from mercer.constraints import Interval, Positive
from mercer.errors import DomainError, ParameterError
from mercer.free_parameters import free_names
from mercer.kernels import Composed, Deep, Gaussian, Linear, Match, NegativeDistance, Tanimoto
from mercer.spec import Spec
from mercer.testing import check_kernel

rng = np.random.default_rng(0)
X = rng.normal(size=(8, 2))


class Layer(Spec):
    """tanh(X W) times a size: two parameters, one of them a matrix."""

    constraints = {"weights": Interval(-np.inf, np.inf, vector=True, table=True), "size": Positive()}

    def __init__(self, weights, size=1.0):
        self.weights = weights
        self.size = size

    def __call__(self, X):
        return self.size * np.tanh(X @ np.asarray(self.weights))

    def pullback(self, X, G):
        images = np.tanh(X @ np.asarray(self.weights))
        inner = X.T @ (G * self.size * (1.0 - images**2))
        return np.concatenate([inner.ravel(), [np.sum(G * images)]])


LAYER = Layer(((0.5, -0.3, 0.2), (0.1, 0.8, -0.6)), size=1.5)


class Slopes(Spec):
    """Every column by itself: takes tables of any width."""

    constraints = {"slope": Positive()}

    def __init__(self, slope=0.5):
        self.slope = slope

    def __call__(self, X):
        return np.tanh(self.slope * X)

    def pullback(self, X, G):
        return np.array([np.sum(G * X * (1.0 - np.tanh(self.slope * X) ** 2))])


MEMBERS = {"Deep": [Deep(Gaussian(0.9), Slopes())]}


def test_is_the_kernel_of_the_images():
    k = Gaussian(0.9).of(LAYER)
    assert isinstance(k, Deep) and isinstance(Gaussian(0.9).of(np.tanh), Composed)
    np.testing.assert_allclose(k(X), Gaussian(0.9)(LAYER(X)), rtol=1e-13)
    np.testing.assert_allclose(k(X[:3], X[3:]), Gaussian(0.9)(LAYER(X[:3]), LAYER(X[3:])), rtol=1e-12)
    assert free_names(k)[0] == "kernel__length_scale" and len(free_names(k)) == 1 + 6 + 1


@pytest.mark.parametrize("k", [Gaussian(0.9).of(LAYER), (Gaussian(1.2) + Linear()).of(LAYER)], ids=["one", "sum"])
def test_obeys_the_laws_and_has_the_right_derivatives(k):
    check_kernel(k, X)


def test_sums_with_other_kernels_are_differentiated():
    check_kernel(0.5 * Gaussian(0.9).of(LAYER) + Linear(), X)


def test_a_process_learns_the_map():
    """The target depends on one direction, which the map has to find."""
    draws = np.random.default_rng(1)
    Z = draws.normal(size=(60, 2))
    y = np.sin(3.0 * (Z @ [0.8, -0.6]))
    start = Gaussian(1.0).of(Layer(((0.5,), (0.5,))))
    model = GaussianProcessRegressor(start, noise=1e-2, fixed=("noise",)).fit(Z, y)
    w = np.ravel(model.kernel_.map.weights)
    assert abs(w @ [0.8, -0.6]) / np.linalg.norm(w) > 0.95
    before = GaussianProcessRegressor(start, noise=1e-2, fixed="all").fit(Z, y)
    assert model.log_marginal_likelihood_ > before.log_marginal_likelihood_ + 10.0


def test_median_is_learned_from_the_images():
    model = KernelRidge(Gaussian("median").of(LAYER)).fit(X, X[:, 0])
    assert model.kernel_.kernel == Gaussian("median").learn(LAYER(X))


def test_knows_what_its_parts_are():
    assert Deep(NegativeDistance(), LAYER).order == 1
    assert "pullback" in Gaussian(1.0).of(LAYER).capabilities
    with pytest.raises(ParameterError, match="kernel on vectors"):
        Deep(Match(), LAYER).check()
    with pytest.raises(ParameterError, match="pullback"):
        Deep(Gaussian(1.0), np.tanh).check()
    assert Tanimoto().of(LAYER)(np.abs(X)).shape == (8, 8)


def test_a_wrong_derivative_is_named():
    class Wrong(Layer):
        def pullback(self, X, G):
            return np.zeros(3)

    with pytest.raises(DomainError, match="7 finite numbers"):
        Gaussian(1.0).of(Wrong(LAYER.weights)).pullback(X, X, np.ones((8, 8)))
