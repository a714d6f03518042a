"""Sequences of labels as an output space: against all sequences."""

import numpy as np
import pytest

from mercer import LabelSequences
from mercer.errors import CapabilityError, TargetError
from mercer.testing import check_output_space

Y = [["N", "V", "N"], ["D"], ["V", "V", "D", "N"], []]
COST = [[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [1.0, 1.0, 0.0]]


@pytest.mark.parametrize("window", [0, 1, 5])
@pytest.mark.parametrize("options", [{}, {"cost": COST, "transition_scale": 4.0}], ids=["plain", "costs"])
def test_against_all_outputs(window, options):
    check_output_space(LabelSequences(window, **options), Y)


def test_a_window_compares_neighbours():
    space = LabelSequences(1).learn([["a", "b"]])
    psi, _ = space.features(np.array([0, 1, 1]), 3)
    # columns: the label of the next position, of this one, of the one before, each for labels a and b
    np.testing.assert_array_equal(psi, [[0, 1, 1, 0, 0, 0], [0, 1, 0, 1, 1, 0], [0, 0, 0, 1, 0, 1]])


def test_bad_labels_are_refused():
    for bad in (None, [], ["ab"], [[[1]]], [[1.5]], [["a"], [1]], [[]]):
        with pytest.raises(TargetError):
            LabelSequences().learn(bad)
    with pytest.raises(TargetError, match="not among those learned"):
        LabelSequences().learn([["a", "b"]]).encode([["c"]])
    with pytest.raises(TargetError, match="for 2 labels"):
        LabelSequences(cost=COST).learn([["a", "b"]])
    with pytest.raises(CapabilityError, match="list"):
        LabelSequences(classes=[0, 1]).outputs(40)
