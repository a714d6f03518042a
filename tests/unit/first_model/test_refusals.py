"""Targets from which nothing can be learned."""

import numpy as np
import pytest

import mercer
from mercer.errors import TargetError
from mercer.first_model.refusals import doubts, require_target

X = np.random.default_rng(0).normal(size=(40, 2))


def test_one_value_is_refused():
    with pytest.raises(TargetError, match="in all 40 rows"):
        mercer.automatic(X, np.full(40, 3.0))
    with pytest.raises(TargetError, match="one class"):
        mercer.automatic(X, np.full(40, "a"))
    with pytest.raises(TargetError, match="in all 3 rows"):
        require_target(np.full(3, "a"), "classification")


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
