"""Kernels out of infinitely many, against a fine grid of the same family."""

import numpy as np
import pytest

from mercer import MultipleKernelClassifier, MultipleKernelRegressor, infinite_family
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.estimators.mixtures.infinite_family import _climbed, _parts
from mercer.kernels import Gaussian, Polynomial
from mercer.mixtures import LpBall

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 2))
Y = np.sin(3.0 * X[:, 0]) + 0.5 * X[:, 1] > 0


def test_it_is_as_good_as_a_fine_grid():
    found = infinite_family(MultipleKernelClassifier(), X, Y, bounds=(0.2, 5.0), tol=1e-4)
    grid = MultipleKernelClassifier([Gaussian(w) for w in np.geomspace(0.2, 5.0, 60)]).fit(X, Y)
    best = grid.objective_
    assert found.gain <= 1e-4 and len(found.kernels) <= 30
    assert found.model.objective_ <= best * (1.0 + 1e-3)  # the gap of the model's own weights
    assert best >= found.model.objective_ * (1.0 - 1e-3 - found.gain)
    assert found.gains[0] > found.gain


def test_columns_have_their_own_length_scales():
    target = np.sin(2.0 * X[:, 0])
    options = dict(bounds=(0.5, 5.0), tol=1e-2, restarts=2)
    found = infinite_family(MultipleKernelRegressor(C=10.0), X, target, family="ard", **options)
    best = found.kernels[int(np.argmax(found.model.weights_))]
    assert best.length_scale[1] > best.length_scale[0]
    one = infinite_family(MultipleKernelRegressor(C=10.0), X, target, **options)
    assert found.model.objective_ <= one.model.objective_ * (1.0 + 1e-2)


def test_degrees_are_as_good_as_all_of_them():
    target = (X[:, 0] - 0.5) * X[:, 0] * X[:, 1] > 0.0
    found = infinite_family(MultipleKernelClassifier(C=10.0), X, target, bounds=(1, 30), family="polynomial", tol=1e-4)
    every = MultipleKernelClassifier([Polynomial(p).normalized() for p in range(1, 31)], C=10.0).fit(X, target)
    assert found.gain <= 1e-4 and len(found.kernels) < 10
    gaps = found.model.solution_.gap + every.solution_.gap + 1e-4 * found.model.objective_
    assert abs(found.model.objective_ - every.objective_) <= gaps
    assert found.gains[0] > found.gain and all(1 <= k.kernel.degree <= 30 for k in found.kernels)


@pytest.mark.parametrize("bounds", [(0, 3), (1.5, 3), (3, 1), (1, 10_000), (1, np.inf), (1,), "12", (True, 3)])
def test_degrees_are_whole_numbers(bounds):
    with pytest.raises(ParameterError, match="whole degrees"):
        infinite_family(MultipleKernelClassifier(), X, Y, bounds=bounds, family="polynomial")


def test_steps_on_the_difference_only_grow_the_value():
    q = np.array([(X[:, [c]] - X[:, c]) ** 2 for c in range(2)])
    beta = rng.normal(size=50)
    products = np.outer(beta, beta)
    for start in (np.array([0.1, 0.1]), np.array([3.0, 0.2])):
        P, _, N, _ = _parts(start, q, products)
        theta, value = _climbed(start, q, products, (0.01, 10.0))
        assert value >= P - N and np.all((theta >= 0.01) & (theta <= 10.0))
        assert np.isclose(value, beta @ Gaussian(tuple(1.0 / np.sqrt(2.0 * theta)))(X) @ beta)


def test_slopes_are_derivatives():
    q, products = ((X[:, [0]] - X[:, 0]) ** 2)[None], np.outer(*2 * [rng.normal(size=50)])
    up, down = (_parts(np.array([0.7 + h]), q, products) for h in (1e-6, -1e-6))
    _, slope, _, other = _parts(np.array([0.7]), q, products)
    assert np.isclose((up[0] - down[0]) / 2e-6, slope[0], rtol=1e-5)
    assert np.isclose((up[2] - down[2]) / 2e-6, other[0], rtol=1e-5)


def test_what_is_refused():
    with pytest.raises(CapabilityError, match=r"mixture=Simplex\(\)"):
        infinite_family(MultipleKernelClassifier(mixture=LpBall(2.0)), X, Y, bounds=(0.1, 1.0))
    with pytest.raises(ParameterError, match="0 < low < high"):
        infinite_family(MultipleKernelClassifier(), X, Y, bounds=(1.0, 0.1))


@pytest.mark.parametrize(
    "bounds", [(1.0,), 3.0, "ab", (1.0, "2"), (2.0, 1.0), (0.0, 1.0), (1e-200, 1.0), (np.nan, 1.0)]
)
def test_bounds_are_two_length_scales(bounds):
    with pytest.raises(ParameterError, match="bounds="):
        infinite_family(MultipleKernelClassifier(), X, Y, bounds=bounds)


def test_samples_are_checked():
    for wrong in (np.where(X > 1.0, np.nan, X), X + 1j, X.astype(str), 1e200 * X):
        with pytest.raises((DomainError, TypeError)):
            infinite_family(MultipleKernelClassifier(), wrong, Y, bounds=(0.1, 1.0))
