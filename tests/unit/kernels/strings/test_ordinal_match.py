"""Ordered categories."""

import numpy as np
import pytest

from mercer import SVC
from mercer.errors import DomainError, ParameterError
from mercer.kernels import Gaussian, OrdinalMatch
from mercer.language import parse
from mercer.testing import check_kernel

LEVELS = ("low", "middle", "high", "top")


def test_agrees_with_ranks_and_with_the_thermometer_code():
    values = ["top", "low", "high", "middle", "low"]
    ranks = np.array([LEVELS.index(value) for value in values])
    K = OrdinalMatch(LEVELS)(values)
    np.testing.assert_allclose(K, 1.0 - np.abs(ranks[:, None] - ranks) / 3.0, rtol=1e-15)
    steps = (ranks[:, None] > np.arange(3)).astype(float)
    code = np.hstack([steps, 1.0 - steps]) / np.sqrt(3.0)
    np.testing.assert_allclose(K, code @ code.T, rtol=1e-14, atol=1e-15)
    assert parse(repr(OrdinalMatch(LEVELS))) == OrdinalMatch(LEVELS)


def test_obeys_the_laws():
    check_kernel(OrdinalMatch(LEVELS), ["top", "low", "high", "middle", "low"])


def test_reads_a_column_of_a_table():
    table = {"size": ["low", "top", "low", "top"], "age": [1.0, 2.0, 1.0, 2.0]}
    k = OrdinalMatch(LEVELS).on("size") * Gaussian(1.0).on("age")
    assert SVC(k).fit(table, [0, 1, 0, 1]).predict(table).tolist() == [0, 1, 0, 1]


def test_unknown_levels_are_refused():
    with pytest.raises(DomainError, match="'huge'"):
        OrdinalMatch(LEVELS)(["low", "huge"])
    for levels in (("a",), ("a", "a"), "ab", (1.5, 2.5)):
        with pytest.raises(ParameterError, match="levels"):
            OrdinalMatch(levels).check()
