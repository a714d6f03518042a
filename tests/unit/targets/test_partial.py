"""Targets of which only some are known."""

import numpy as np
import pytest

from mercer.errors import TargetError
from mercer.targets import PartialClasses, PartialReal


@pytest.mark.parametrize(
    ("y", "mark", "classes", "codes"),
    [
        ([0, -1, 1], -1, [0, 1], [0, -1, 1]),
        (np.array([2.0, -1.0, 5.0]), -1, [2.0, 5.0], [0, -1, 1]),
        (["a", None, "b"], None, ["a", "b"], [0, -1, 1]),
        (np.array(["a", np.nan, "b"], dtype=object), None, ["a", "b"], [0, -1, 1]),
        ([-1, 1, 7], 7, [-1, 1], [0, 1, -1]),
        (["", "x", "y"], "", ["x", "y"], [-1, 0, 1]),
        ([-1, 1], None, [-1, 1], [0, 1]),
    ],
    ids=str,
)
def test_marks(y, mark, classes, codes):
    target, found = PartialClasses(mark).read(y)
    assert target.classes.tolist() == classes and found.tolist() == codes


def test_minus_one_and_one_name_the_parameter():
    with pytest.raises(TargetError, match=r"unlabelled=-1.*unlabelled=None"):
        PartialClasses().read([-1, 1, 1, -1])


@pytest.mark.parametrize(
    ("y", "text"), [([-1, -1], "All 2 samples are unlabelled"), ([3, 3, -1], "only one class"), (None, "y is None")]
)
def test_bad_classes(y, text):
    with pytest.raises(TargetError, match=text):
        PartialClasses().read(y)


def test_numbers():
    target, values = PartialReal().read([[1.0, 2.0], [np.nan, np.nan]])
    assert target.columns == 2 and np.isnan(values[1]).all() and values[0].tolist() == [1.0, 2.0]
    assert PartialReal().read([1, 2])[1].tolist() == [1.0, 2.0]
    with pytest.raises(TargetError, match="All 2 samples"):
        PartialReal().read([np.nan, np.nan])
    with pytest.raises(TargetError, match="Row 0 of y is known in part"):
        PartialReal().read([[1.0, np.nan], [2.0, 3.0]])
    with pytest.raises(TargetError, match="infinity"):
        PartialReal().read([1.0, np.nan, np.inf])
    assert np.isnan(PartialReal(single=True).read([[1.0, np.nan]])[1][0, 1])


def test_what_is_neither_a_label_nor_the_mark_of_none_is_refused():
    import pandas as pd

    for y in (pd.Series([pd.NA, 1, 0, 1]), [[1.0], [1.0, 2.0]]):
        with pytest.raises(TargetError):
            PartialClasses().read(y)
