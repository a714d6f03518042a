"""Columns that can be replaced, in every kind of table."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mercer import KernelRidge
from mercer.kernels import Gaussian, Match, Precomputed, Spectrum
from mercer.reports.replaced_columns import columns_of, excerpts
from mercer.reports.subject import NotApplicable, Subject

DATA = {"u": [1.0, 2.0, 4.0, 8.0], "city": ["Rome", "Oslo", "Rome", "Lima"]}
KERNEL = Gaussian(1.0).on(["u"]) + Match().on("city")
Y = np.arange(4.0)


@pytest.mark.parametrize("table", [dict, pd.DataFrame, pl.DataFrame])
def test_one_column_is_replaced_and_the_data_are_left_alone(table):
    X = table(DATA)
    model = KernelRidge(KERNEL).fit(X, Y)
    columns = columns_of(Subject.of(model, X, Y), np.array([0, 1, 3]))
    assert columns.names == ("u", "city") and columns.n == 3
    assert columns.numbers(0).tolist() == [1.0, 2.0, 8.0] and columns.numbers(1) is None
    other = columns.take(np.array([2, 2])).replaced(1, np.array(["Oslo", "Oslo"], dtype=object))
    expected = model.predict({"u": [8.0, 8.0], "city": ["Oslo", "Oslo"]})
    np.testing.assert_array_equal(model.predict(other), expected)
    assert columns.values(1).tolist() == ["Rome", "Oslo", "Lima"]


def test_a_matrix_has_numbered_columns():
    X = np.arange(8.0).reshape(4, 2)
    columns = columns_of(Subject.of(KernelRidge(Gaussian(1.0)).fit(X, Y), X, Y), np.arange(4))
    assert columns.names == ("column 0", "column 1")
    assert columns.replaced(1, np.zeros(4)).tolist() == [[0.0, 0.0], [2.0, 0.0], [4.0, 0.0], [6.0, 0.0]]
    assert X[0, 1] == 1.0


@pytest.mark.parametrize(("kernel", "X"), [(Spectrum(1), ["ab", "b", "a", "aa"]), (Precomputed(), np.eye(4))])
def test_texts_and_similarities_have_none(kernel, X):
    subject = Subject.of(KernelRidge(kernel).fit(X, Y), X, Y)
    with pytest.raises(NotApplicable, match="no columns"):
        columns_of(subject, np.arange(4))


def test_what_samples_look_like():
    subject = Subject.of(KernelRidge(KERNEL).fit(DATA, Y), DATA, Y)
    assert excerpts(subject, [3], ["city"]) == {3: "Lima, …"}
    assert excerpts(subject, [0]) == {0: "u 1, city Rome"}
    texts = ["ab", "b", "a", "aa"]
    assert excerpts(Subject.of(KernelRidge(Spectrum(1)).fit(texts, Y), texts, Y), [1, 3]) == {1: "b", 3: "aa"}
