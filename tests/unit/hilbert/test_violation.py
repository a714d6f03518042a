"""The search for points that show that a function is no kernel: what it must find, and what it must not."""

import numpy as np
import pytest

from mercer.domains import Strings, Vectors
from mercer.errors import ParameterError
from mercer.hilbert.violation import find_violation
from mercer.kernels import (
    Epanechnikov,
    Gaussian,
    Intersection,
    Kernel,
    Linear,
    Matern,
    NegativeDistance,
    Polynomial,
    RadialFunction,
    Sigmoid,
    Spectrum,
    ThinPlate,
    Wendland,
)


def geodesic(r):
    angle = np.abs(np.mod(r + np.pi, 2.0 * np.pi) - np.pi)
    return np.exp(-(angle**2))


def truncated(r):
    return np.exp(-0.5 * r * r) * (r < 3.0)


def tent(r):
    return np.maximum(1.0 - r, 0.0)


def super_gaussian(r):
    return np.exp(-(r**2.5))


INDEFINITE = [
    (Sigmoid(1.0), {"width": 1}),
    (Sigmoid(1.0, offset=1.0), {"width": 1}),
    (Sigmoid(0.3, offset=0.1), {}),
    (Sigmoid(0.01, offset=-0.001), {}),
    (NegativeDistance(), {"order": 0}),
    (RadialFunction(np.abs, order=1), {}),  # the wrong sign
    (ThinPlate(), {"order": 1}),
    (RadialFunction(geodesic), {"width": 1}),
    (Epanechnikov(1.0), {"width": 1}),
    (Epanechnikov(3.0), {"width": 3}),
    (RadialFunction(truncated), {"width": 1}),
    (RadialFunction(tent), {"width": 2}),
    (RadialFunction(super_gaussian), {"width": 2}),
]


@pytest.mark.parametrize(("kernel", "options"), INDEFINITE, ids=repr)
def test_violations_are_found(kernel, options):
    found = find_violation(kernel, **options)
    assert found and found.found and found.value < -found.bound
    K, c = kernel(found.points), found.vector
    assert c @ K @ c == pytest.approx(found.value, rel=1e-6, abs=1e-12) and c @ c == pytest.approx(1.0)
    if found.order:
        assert abs(c.sum()) < 1e-10
    assert "c^T K c = -" in str(found)
    again = find_violation(kernel, **options)
    np.testing.assert_array_equal(again.points, found.points)


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        (Gaussian(1.0), {}),
        (Matern(0.5), {"width": 1}),
        (Polynomial(3), {}),
        (RadialFunction(tent), {"width": 1}),
        (Wendland(3), {"width": 3}),
        (NegativeDistance(), {}),
        (ThinPlate(), {}),
        (Linear(), {}),
        (Intersection(), {}),
    ],
    ids=repr,
)
def test_kernels_are_not_accused(kernel, options):
    found = find_violation(kernel, restarts=2, **options)
    assert not found and found.matrices > 10
    assert str(found).startswith("no violation")


def test_few_points_are_told():
    assert len(find_violation(Sigmoid(1.0, offset=-1.0)).points) == 1  # k(0, 0) < 0
    assert len(find_violation(NegativeDistance(), order=0).points) == 2


def test_the_samples_given_come_first_and_bound_the_search():
    X = np.array([[0.0], [1.0], [2.0], [5.0]])
    found = find_violation(Sigmoid(1.0, offset=-1.0), X)
    assert found and set(found.points.ravel()) <= set(X.ravel())

    class Smaller(Kernel):  # a kernel for numbers that are not negative, which it does not say
        domain = Vectors

        def block(self, A, B):
            return np.minimum(A.X[:, 0][:, None], B.X[:, 0][None])

    assert not find_violation(Smaller(), X, restarts=2)
    assert find_violation(Smaller(), X - 3.0)


def test_points_are_moved_where_designs_do_not_tell():
    class Narrow(Kernel):
        """A kernel with a flaw that only points at a certain distance show, and no derivative."""

        domain = Vectors

        def block(self, A, B):
            gap = np.abs(A.X[:, 0][:, None] - B.X[:, 0][None])
            return np.exp(-10.0 * gap) + 8.0 * np.exp(-(((gap - 0.7) / 0.05) ** 2))

    X = np.array([[0.0], [4.0]])
    found = find_violation(Narrow(), X, size=3, restarts=10)
    assert found and np.ptp(found.points) == pytest.approx(0.7, abs=0.2)


def test_strings_are_rewritten():
    class Edits(Kernel):
        """exp(-square of the difference of lengths) where it is small: indefinite, but not on strings like these."""

        domain = Strings

        def block(self, A, B):
            gap = np.abs(A.lengths[:, None] - B.lengths[None])
            return np.where(gap <= 1, 1.0, 0.0)

    given = ["abab", "bbaa"]
    found = find_violation(Edits(), given)
    assert found and all(isinstance(one, str) for one in found.points)
    assert found.vector @ Edits()(found.points) @ found.vector < 0
    assert not find_violation(Spectrum(2), ["abab", "ba", "", "aab"], restarts=1)
    with pytest.raises(ParameterError, match="Give X"):
        find_violation(Spectrum(2))


def test_time_is_kept():
    found = find_violation(Gaussian(1.0), max_time=0.0)
    assert not found and found.matrices == 0 and len(found.vector) == 0
