"""Targets from which nothing can be learned."""

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.errors import TargetError
from mercer.first_model.refusals import doubts, require_known, require_target

X = np.random.default_rng(0).normal(size=(40, 2))


def test_one_value_is_refused():
    with pytest.raises(TargetError, match="in all 40 rows"):
        mercer.automatic(X, np.full(40, 3.0))
    with pytest.raises(TargetError, match="one class"):
        mercer.automatic(X, np.full(40, "a"))
    for zero in (np.zeros(40, dtype=int), np.zeros(40)):
        with pytest.raises(TargetError, match="y is 0 in all 40 rows"):
            mercer.automatic(X, zero)
    with pytest.raises(TargetError, match="y is 'a' in all 3 rows"):
        require_target(np.full(3, "a"), "classification")


@pytest.mark.parametrize(
    "y",
    [[0.5, np.nan, 2.0], [0.5, None, 2.0], ["a", None, "b"], pd.Series([1, None, 3], dtype="Int64")],
    ids=["numbers", "objects", "texts", "pandas"],
)
@pytest.mark.parametrize("task", [None, "classification", "regression"])
def test_targets_that_are_missing_are_counted(y, task):
    with pytest.raises(TargetError, match=r"missing values in 1 of 3 rows, the first in row 1"):
        mercer.automatic(X[:3], y, task=task)


def test_infinity_among_numbers_is_not_taken_for_a_class():
    with pytest.raises(TargetError, match="Targets of a regression"):
        mercer.automatic(X[:3], [0.5, np.inf, 2.0])
    require_known(np.zeros((3, 2)))  # whose shape is refused by others


def test_names_are_refused():
    with pytest.raises(TargetError, match="36 classes in 40 rows"):
        mercer.automatic(X, np.array([f"name {max(i, 4)}" for i in range(40)]))
    require_target(np.repeat(np.arange(20), 2), "classification")
    require_target(np.arange(8).astype(str), "classification")  # so few rows say nothing


def test_doubts_are_said():
    assert "counts the rows" in doubts(np.random.default_rng(0).permutation(40) + 7.0, "regression")[0]
    assert doubts(X[:, 0], "regression") == []
    assert "3 of 4 classes" in doubts(np.repeat(list("abcd"), [30, 4, 3, 3]), "classification")[0]
    assert doubts(np.repeat(list("ab"), 20), "classification") == []
