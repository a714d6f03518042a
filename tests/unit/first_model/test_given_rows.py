"""Which rows are held out, and targets from which nothing can be learned."""

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.errors import DomainError, TargetError
from mercer.first_model.given_rows import Given, doubts, folds, given_rows, held_pairs, require_known, require_target

rng = np.random.default_rng(0)
Y = rng.normal(size=60)
X = np.random.default_rng(0).normal(size=(40, 2))
CLASSES = np.array(["a", "b", "c"])[np.arange(60) % 3]


def test_folds_are_a_partition():
    for y, task in ((Y, "regression"), (CLASSES, "classification")):
        pairs = folds(y, task, Given(), 5)
        assert sorted(np.concatenate([out for _, out in pairs])) == list(range(60))
        assert all(not np.intersect1d(kept, out).size and len(kept) + len(out) == 60 for kept, out in pairs)


@pytest.mark.parametrize(("y", "task"), [(Y, "regression"), (CLASSES, "classification")])
def test_no_group_is_split(y, task):
    groups = given_rows(60, "r2", groups=[f"patient {i % 7}" for i in range(60)]).groups
    pairs = folds(y, task, Given(groups=groups), 4)
    assert len(pairs) == 4
    for kept, out in [*pairs, *held_pairs(y, task, Given(groups=groups))]:
        assert not np.intersect1d(groups[kept], groups[out]).size


def test_what_is_predicted_is_later():
    day = np.repeat(np.arange(20), 3)
    time = given_rows(60, "r2", time=rng.permutation(60)).time
    for given in (Given(time=day), Given(time=time), Given(time=day, groups=np.arange(60) // 4)):
        (last,) = held_pairs(Y, "regression", given)
        for kept, out in [*folds(Y, "regression", given, 4), last]:
            assert given.time[kept].max() < given.time[out].min()
            assert given.groups is None or not np.intersect1d(given.groups[kept], given.groups[out]).size
        assert given.time[last[1]].max() == given.time.max()
    dates = given_rows(3, "r2", time=["2024-05-01", "2023-01-01", "2024-05-02"])
    assert dates.time.tolist() == [1, 0, 2]


def test_of_many_rows_one_part_is_held_out():
    y = rng.normal(size=10_000)
    ((kept, out),) = held_pairs(y, "regression", Given())
    assert len(out) == 2000 and len(kept) == 8000
    assert [len(out) for _, out in held_pairs(y[:400], "regression", Given())] == [100]


def test_one_class_is_nothing_to_learn_from():
    assert held_pairs(np.array(["a"] * 30), "classification", Given()) == []


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"groups": [1, 2]}, "groups has shape"),
        ({"groups": [1, 1, 1]}, "the same in all 3 rows"),
        ({"time": [1.0, np.nan, 2.0]}, "time has missing values"),
        ({"time": np.array([1, "a", 2], dtype=object)}, "different types"),
        ({"sample_weight": [1.0, -1.0, 2.0]}, "not negative"),
    ],
)
def test_what_cannot_be_read_is_refused(more, words):
    with pytest.raises(DomainError, match=words):
        given_rows(3, "r2", **more)


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
