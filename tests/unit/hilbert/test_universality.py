"""What is derived of a kernel, and how it reads."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.errors import ParameterError
from mercer.hilbert.universality import Claim, properties
from mercer.kernels import (
    ArcCosine,
    Constant,
    ExponentialDot,
    Gaussian,
    Kernel,
    Linear,
    Multiquadric,
    NegativeDistance,
    Periodic,
    Polynomial,
    PowerSeries,
    Sigmoid,
    Spectrum,
    ThinPlate,
    Wendland,
)

G, L = Gaussian(1.0), Linear()


class Mine(Kernel):
    """A kernel of somebody's own, which says that it is strict."""

    domain = Vectors
    strict = True

    def block(self, A, B):
        return np.exp(-np.abs(A.X[:, None, 0] - B.X[None, :, 0]))


def test_all_is_said_of_a_gaussian_kernel():
    found = properties(G)
    claims = (found.definite, found.strict, found.universal, found.characteristic, found.bounded, found.stationary)
    assert all(claim.holds is True and claim.reason for claim in claims)
    text = str(found)
    assert text.startswith("Gaussian(1.0)\n  definite") and text.count("yes: ") == 6


@pytest.mark.parametrize(
    ("kernel", "width", "points"),
    [
        (L, 3, 4),
        (Polynomial(2), 2, 7),
        (Polynomial(2, offset=0.0), 2, 4),
        (PowerSeries((1.0, 0.0, 1.0)), 3, 8),
        (Constant(2.0), 5, 2),
        (L.on([0, 1]), 9, 3),
        (L, None, None),
    ],
    ids=repr,
)
def test_finite_feature_maps_say_how_many_points_are_too_many(kernel, width, points):
    found = properties(kernel, width)
    assert found.strict.holds is False and found.universal.holds is False and found.characteristic.holds is False
    assert found.strict.points == points
    if points is not None and width == 3:
        X = np.random.default_rng(0).normal(size=(points, width))
        assert np.linalg.matrix_rank(kernel(X)) < points


def test_definite_follows_the_order():
    assert properties(L).definite.holds is True
    assert "sum to zero" in properties(NegativeDistance()).definite.reason
    assert "degree below 2" in properties(ThinPlate()).definite.reason
    assert properties(Sigmoid()).definite.holds is False
    assert properties(G * NegativeDistance()).definite.holds is None
    assert properties(Multiquadric()).strict.holds is True


@pytest.mark.parametrize("kernel", [Sigmoid(), Sigmoid() + G], ids=repr)
def test_indefinite_kernels_are_nothing(kernel):
    found = properties(kernel)
    assert not any(claim.holds for claim in (found.definite, found.strict, found.universal, found.characteristic))


def test_compactly_supported_kernels_are_for_few_columns():
    kernel = Wendland(3)
    assert properties(kernel, 3).strict.holds is True and properties(kernel, 3).definite.holds is True
    assert properties(kernel, 4).strict.holds is None and properties(kernel, 4).definite.holds is None


def test_bounds_and_stationarity_come_with_their_reason():
    assert "Cauchy" in properties(G).bounded.reason
    assert "k(0)" in properties(2.0 * G).bounded.reason
    assert properties(ArcCosine(0)).bounded.holds is True
    assert properties(L).bounded.holds is False
    assert properties(Constant(2.0)).bounded.holds is True
    assert properties(G * L).bounded.holds is None
    assert properties(Spectrum(2)).stationary.holds is None
    assert str(properties(L).stationary) == "no: k goes from 1 to 6.25 where both points move by 1.5"
    assert properties(Periodic(1.0) * G).stationary.holds is True


def test_a_class_is_taken_at_its_word():
    found = properties(Mine())
    assert found.strict == Claim(True, "its class says so: see its documentation")
    assert found.universal.holds is None


def test_the_seeds_are_named():
    assert "Pinkus" in properties(ExponentialDot(1.0)).strict.seed
    assert "Steinwart" in properties(ExponentialDot(1.0)).universal.seed
    assert properties(G).strict.seed == "HSS Prop. 9"


def test_parameters_are_checked():
    with pytest.raises(ParameterError):
        properties(Polynomial(2, offset=-1.0))
