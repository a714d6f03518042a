"""Targets in an order."""

import numpy as np
import pytest

from mercer.errors import TargetError
from mercer.targets import Ordinal


def test_numbers_are_in_their_order():
    target = Ordinal().learn([3, 1, 10, 3])
    np.testing.assert_array_equal(target.classes, [1, 3, 10])
    np.testing.assert_array_equal(target.encode([10, 1, 3]), [2.0, 0.0, 1.0])
    np.testing.assert_array_equal(target.decode(np.eye(3)), [1, 3, 10])


def test_an_order_may_be_given_and_name_more_than_there_is():
    target = Ordinal(["none", "low", "middle", "high"]).learn(["high", "low", "none"])
    assert target.classes.tolist() == ["none", "low", "high"]
    np.testing.assert_array_equal(target.codes(["high", "none", "low", "low"]), [2, 0, 1, 1])


@pytest.mark.parametrize("order", [["low"], ["low", "high", "low"]])
def test_bad_orders(order):
    with pytest.raises(TargetError, match="order"):
        Ordinal(order).learn(["low", "high"])


def test_a_label_that_was_not_learned():
    with pytest.raises(TargetError, match="not among the classes"):
        Ordinal().learn([1, 2]).encode([3])
