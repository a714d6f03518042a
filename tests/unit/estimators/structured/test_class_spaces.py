"""Classes with costs, and ordered classes, as output spaces."""

import numpy as np
import pytest

from mercer import ClassLabels, OrderedClasses
from mercer.errors import TargetError
from mercer.testing import check_output_space

COST = [[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [1.0, 1.0, 0.0]]


@pytest.mark.parametrize("space", [ClassLabels(), ClassLabels(COST), OrderedClasses(), OrderedClasses(cost=COST)])
def test_against_all_outputs(space):
    check_output_space(space, ["b", "a", "c", "a"])


def test_an_order_that_is_given():
    space = OrderedClasses(order=("low", "middle", "high")).learn(["high", "low", "middle"])
    np.testing.assert_array_equal(space.encode(["low", "high"]), [0, 2])
    np.testing.assert_array_equal(space.decode([2, 1]), ["high", "middle"])


def test_bad_labels_and_costs_are_refused():
    with pytest.raises(TargetError, match="one class"):
        ClassLabels().learn(["a", "a"])
    with pytest.raises(TargetError, match="not among"):
        ClassLabels().learn(["a", "b"]).encode(["c"])
    for space in (ClassLabels(COST), OrderedClasses(cost=COST)):
        with pytest.raises(TargetError, match="for 2 labels"):
            space.learn(["a", "b"])
