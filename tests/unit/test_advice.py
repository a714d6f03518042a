"""Advice about values that are not accepted."""

import numpy as np
import pytest

from mercer.advice import either, nearest, number_advice, short


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, "write C=1 if that is meant"),
        (" 2.5 ", "Write C=2.5, without quotes"),
        ("medain", "Did you mean 'median'"),
        ((1.0, 2.0), "single number"),
        (np.inf, "Look at how C was computed"),
        (-1.0, ""),
    ],
)
def test_the_usual_ways_in_which_a_number_is_invalid(value, words):
    found = number_advice("C", value, ("median",))
    assert words in found and bool(words) == bool(found)


def test_choices_and_long_values():
    assert either(["a"]) == "a" and either(["a", "b"]) == "a or b"
    assert nearest(3, ["three"]) == "" and nearest("tree", ["three", 3]) == "Did you mean 'three'?"
    assert len(short("x" * 500)) == 80 and short(np.float64(0.5)) == "0.5"
