"""What lengths cost."""

import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.hilbert.regularizers import NormPower, Radius, Regularizer


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0, 3.5])
def test_powers_of_the_length(exponent):
    cost = NormPower(exponent).check()
    for r in (0.1, 1.0, 7.0):
        s, h = r * r, 1e-6 * r * r
        assert cost.value(s) == pytest.approx(r**exponent / exponent)
        assert cost.derivative(s) == pytest.approx((cost.value(s + h) - cost.value(s - h)) / (2 * h), rel=1e-6)
    assert cost.convex == (exponent >= 1.0) and cost.value(0.0) == 0.0


def test_the_derivative_at_zero_is_a_number_or_infinite():
    assert NormPower(1.0).derivative(0.0) == np.inf
    assert NormPower(2.0).derivative(0.0) == 0.5 and NormPower(3.0).derivative(0.0) == 0.0


def test_a_ball_costs_nothing_inside():
    ball = Radius(2.0)
    assert ball.value(4.0) == ball.derivative(1.0) == 0.0 and ball.value(4.01) == ball.derivative(9.0) == np.inf
    assert ball.convex and repr(ball) == "Radius(2.0)"


def test_what_is_refused():
    for spec in (NormPower(0.0), NormPower(-1.0), Radius(0.0), Radius("1")):
        with pytest.raises(ParameterError):
            spec.check()
    with pytest.raises(TypeError, match="abstract"):
        Regularizer()
