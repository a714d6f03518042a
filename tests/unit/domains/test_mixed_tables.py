"""Tables with columns of several kinds: what is read from frames, arrays and rows, and how two tables are aligned."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mercer.domains import Tables
from mercer.errors import DomainError, ModelError

RAW = {"age": [31, None, 40], "pet": ["cat", "dog", None], "owner": [True, False, True]}
SIZES = ["S", "M", "L"]


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, lambda X: list(zip(*X.values(), strict=True))])
def test_reads_every_form_of_a_table(make):
    S = Tables.pack(make(RAW))
    np.testing.assert_array_equal(S.values, [[31, 0, 0], [np.nan, 1, 1], [40, np.nan, 0]])
    assert S.kinds == ("number", "category", "category")
    assert S.levels == ((), ("cat", "dog"), (True, False))
    assert Tables.pack(S) is S


def test_ordered_types_are_ordered():
    values = ["L", "S", None]
    pandas = pd.DataFrame({"size": pd.Categorical(values, categories=SIZES, ordered=True)})
    polars = pl.DataFrame({"size": pl.Series(values, dtype=pl.Enum(SIZES))})
    for frame in (pandas, polars):
        S = Tables.pack(frame)
        assert S.kinds == ("ordered",) and S.levels == (tuple(SIZES),)
        np.testing.assert_array_equal(S.values[:, 0], [2, 0, np.nan])
    plain = pd.DataFrame({"size": pd.Categorical(values, categories=SIZES)})
    assert Tables.pack(plain).kinds == ("category",)


def test_numbers_may_be_categories():
    assert Tables.pack({"zip": [101, 102, 101]}, ("zip",)).values[:, 0].tolist() == [0, 1, 0]
    assert Tables.pack(np.eye(2), "all").kinds == ("category", "category")
    with pytest.raises(DomainError, match="'plz'"):
        Tables.pack({"zip": [1]}, ("plz",))


def test_aligns_categories_and_columns_by_name():
    a = Tables.pack({"pet": ["cat", "dog"], "age": [1, 2]})
    b = Tables.pack({"age": [3, 4], "pet": ["owl", "dog"]})
    np.testing.assert_array_equal(a.align(b), [[2, 3], [1, 4]])
    joined = a.concat(b)
    assert joined.levels[0] == ("cat", "dog", "owl") and joined.values[:, 0].tolist() == [0, 1, 2, 1]
    np.testing.assert_array_equal(joined[2:].values, a.align(b))
    with pytest.raises(DomainError, match="same kinds"):
        a.align(Tables.pack({"pet": [1.0], "age": [2.0]}))


def test_takes_rows_and_pickles():
    S = Tables.pack(RAW)
    T = pickle.loads(pickle.dumps(S[[2, 0]]))
    np.testing.assert_array_equal(T.values, S.values[[2, 0]])
    assert T.levels == S.levels and repr(S) == "<Tables: 3 samples, 1 number, 2 categories, 2 missing>"


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ({"a": [1.0, np.inf]}, "infinite value in row 1"),
        ({"a": [[1], [2]]}, "type list"),
        ({"a": [1j]}, "complex"),
        ({"a": [1, 2], "b": [1]}, "different lengths"),
        ({"a": []}, "0 sample"),
        ("abc", "str was given"),
    ],
)
def test_bad_tables_are_refused(X, message):
    with pytest.raises(DomainError, match=message):
        Tables.pack(X)


def test_parts_that_do_not_fit_are_found():
    S = Tables.pack(RAW)
    S.check()
    for wrong in ((S.values + 5.0, S.names), (S.values[:, :1], S.names), (S.values, ("a",))):
        with pytest.raises(ModelError):
            Tables(wrong[0], wrong[1], S.kinds, S.levels).check()
