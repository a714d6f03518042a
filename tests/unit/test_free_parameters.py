"""The free parameters of Specs as vectors, there and back."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.constraints import (
    Fixed,
    Integer,
    Interval,
    Optional,
    Positive,
)
from mercer.errors import ParameterError
from mercer.free_parameters import bounds, chain, constrained, free_names, free_values, unconstrain, with_free
from mercer.spec import Spec

INF = math.inf


class Leaf(Spec):
    constraints = {"width": Positive(vector=True, words=("median",)), "degree": Integer(1)}

    def __init__(self, width=1.0, degree=2):
        self.width = width
        self.degree = degree


class Mixed(Spec):
    """Own parameters before, between and after children, in every kind of interval."""

    constraints = {
        "low": Interval(-1.0, INF, closed="left"),
        "share": Interval(0.0, 1.0),
        "high": Interval(-INF, 2.0, closed="neither"),
        "any": Optional(Interval(-INF, INF)),
        "held": Fixed(Positive()),
    }

    def __init__(self, low=0.0, terms=(), share=0.5, child=None, high=0.0, any=0.0, held=1.0, free=3.0):
        self.low, self.terms, self.share, self.child = low, terms, share, child
        self.high, self.any, self.held, self.free = high, any, held, free


def tree():
    return Mixed(
        low=1,
        terms=(Leaf(3.0), Leaf((4.0, 5.0)), Leaf("median"), Mixed(any=None)),
        child=Leaf(np.array([6.0, 7.0])),
        any=-8.0,
    )


NAMES = (
    "low",
    "0__width",
    "1__width[0]",
    "1__width[1]",
    "3__low",
    "3__share",
    "3__high",
    "share",
    "child__width[0]",
    "child__width[1]",
    "high",
    "any",
)
VALUES = [1.0, 3.0, 4.0, 5.0, 0.0, 0.5, 0.0, 0.5, 6.0, 7.0, 0.0, -8.0]


def test_names_and_values_in_constructor_order_depth_first():
    assert free_names(tree()) == NAMES
    assert free_values(tree()).tolist() == VALUES
    assert free_values(tree()).dtype == np.float64


def test_with_free_puts_values_back_in_their_containers():
    spec = with_free(tree(), np.arange(1.0, 13.0) / 100)
    assert free_values(spec).tolist() == (np.arange(1.0, 13.0) / 100).tolist()
    assert spec.terms[1].width == (0.03, 0.04)
    assert isinstance(spec.child.width, np.ndarray)
    assert type(spec.low) is float
    assert spec.terms[2] == Leaf("median")
    assert spec.held == 1.0


def test_with_free_leaves_the_original_alone():
    spec = tree()
    with_free(spec, np.full(12, 0.25))
    assert spec == tree()
    assert with_free(spec, free_values(spec)) == spec


def test_bounds_are_those_declared():
    assert bounds(Mixed(child=Leaf((1.0, 2.0)))) == [
        (-1.0, INF),
        (0.0, 1.0),
        (0.0, INF),
        (0.0, INF),
        (-INF, 2.0),
        (-INF, INF),
    ]


def test_a_spec_without_free_parameters():
    spec = Leaf("median")
    assert free_names(spec) == ()
    assert free_values(spec).shape == unconstrain(spec).shape == chain(spec, []).shape == (0,)
    assert with_free(spec, []) == constrained(spec, np.empty(0)) == spec
    assert bounds(spec) == []


@pytest.mark.parametrize("function", [with_free, constrained, chain])
@pytest.mark.parametrize("vector", [[], [1.0, 2.0], [[1.0]], 1.0])
def test_the_vector_must_fit(function, vector):
    with pytest.raises(ParameterError, match="Give one number for each"):
        function(Leaf(), vector)


finite = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(min_value=1e-290, max_value=1e290)


@st.composite
def specs(draw):
    return Mixed(
        low=draw(st.floats(-1.0, 1e290)),
        share=draw(st.floats(0.0, 1.0)),
        high=draw(st.floats(-1e290, 2.0, exclude_max=True)),
        any=draw(st.none() | finite),
        terms=(Leaf(draw(positive)), Leaf(tuple(draw(st.lists(positive, min_size=1, max_size=3))))),
    ).check()


@given(specs())
def test_there_and_back(spec):
    theta = unconstrain(spec)
    assert np.all(np.isfinite(theta))
    again = constrained(spec, theta).check()
    # Next to an end only the distance to it is kept, to the rounding of the end itself.
    np.testing.assert_allclose(free_values(again), free_values(spec), rtol=1e-12, atol=1e-15)


@given(st.lists(finite, min_size=12, max_size=12))
def test_any_step_is_acceptable(theta):
    assert np.all(np.isfinite(free_values(constrained(tree(), theta).check())))


twelve = st.lists(st.floats(-5.0, 5.0), min_size=12, max_size=12)


@given(twelve, twelve)
def test_chain_is_the_derivative_through_the_transform(theta, weights):
    def total(theta):
        return np.dot(weights, free_values(constrained(tree(), theta)))

    step = 1e-6 * np.eye(12)
    by_difference = [(total(theta + row) - total(theta - row)) / 2e-6 for row in step]
    np.testing.assert_allclose(chain(constrained(tree(), theta), weights), by_difference, rtol=1e-5, atol=1e-5)


def test_a_value_on_a_closed_end_stays_there():
    spec = Mixed(low=-1.0, share=1.0)
    again = constrained(spec, unconstrain(spec))
    assert (again.low, again.share) == (-1.0, 1.0)
    assert chain(spec, np.ones(4))[:2].tolist() == [0.0, 0.0]


def test_digits_survive_close_to_either_end():
    for share in (1e-17, 1.0 - 2.0**-53):
        spec = Mixed(share=share)
        assert constrained(spec, unconstrain(spec)).share == pytest.approx(share, rel=1e-13)
    width = 1e-200
    assert constrained(Leaf(width), unconstrain(Leaf(width))).width == pytest.approx(width, rel=1e-12)


def test_theta_of_a_positive_number_is_its_logarithm():
    assert unconstrain(Leaf(math.e)).tolist() == [1.0]
