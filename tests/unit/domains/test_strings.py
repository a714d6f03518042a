import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

from mercer.domains import Strings
from mercer.errors import DomainError
from tests.clock import allowed
from tests.strategies import strings


def symbols(S):
    return [S.symbols(i) for i in range(len(S))]


@given(X=strings())
def test_what_was_packed_can_be_read_back(X):
    S = Strings.pack(X)
    assert symbols(S) == [tuple(x) for x in X]
    assert S.codes.dtype == np.int32 and S.offsets.dtype == np.intp and S.offsets[0] == 0
    seen = list(dict.fromkeys(symbol for x in X for symbol in x))
    assert list(S.vocabulary) == seen
    assert S.lengths.tolist() == [len(x) for x in X]


@given(X=strings(), Y=strings())
def test_aligned_collections_have_one_vocabulary(X, Y):
    S, T = Strings.pack(X), Strings.pack(Y)
    A, B = S.align(T)
    assert symbols(A) == symbols(S) and symbols(B) == symbols(T)
    assert A.vocabulary == B.vocabulary and len(set(A.vocabulary)) == len(A.vocabulary)
    assert A.codes is S.codes and B.codes.dtype == np.int32
    assert symbols(S.concat(T)) == symbols(S) + symbols(T)


def test_alignment_keeps_what_is_aligned_already():
    S = Strings.pack(["abc", "cab"])
    part = S[1:]
    assert S.align(part) == (S, part) and part.vocabulary is S.vocabulary
    same = Strings.pack(["abc"])
    assert S.align(same) == (S, same)
    A, B = S.align(Strings.pack(["ba"]))
    assert A is S and B.vocabulary is S.vocabulary and B.codes.tolist() == [1, 0]


def test_alignment_keeps_derived_data_only_where_codes_stay():
    S = Strings.pack(["a"]).with_derived("row", np.zeros(1))
    T = Strings.pack(["b"]).with_derived("row", np.ones(1))
    A, B = S.align(T)
    assert A.derived["row"].tolist() == [0.0] and not B.derived
    assert not S.align(Strings.pack(["b"]))[0].align(T)[0].concat(T).derived


def test_nul_and_surrogates_survive():
    X = ["a\0b\0", "\0", "\ud800x", "\U0010ffff\U0001f600", ""]
    assert ["".join(s) for s in symbols(Strings.pack(X))] == X


@pytest.mark.parametrize(
    "given",
    [
        ["ab", "c"],
        ("ab", "c"),
        np.array(["ab", "c"]),
        np.array(["ab", "c"], dtype=object),
        np.array([["ab"], ["c"]]),
        np.array([["ab"], ["c"]], dtype=object),
        np.array(["ab", "c"], dtype=np.dtypes.StringDType()),
        [np.str_("ab"), "c"],
        [["a", "b"], ("c",)],
        [np.array(["a", "b"]), ["c"]],
        pd.Series(["ab", "c"]),
        pd.Series(["ab", "c"], dtype=object, index=[7, 3]),
        pd.Series(pd.Categorical(["ab", "c"])),
        pl.Series(["ab", "c"]),
        pl.Series([["a", "b"], ["c"]]),
        pa.array(["ab", "c"]),
        pa.chunked_array([["ab"], ["c"]]),
        pd.DataFrame({"text": ["ab", "c"]}),
        pl.DataFrame({"text": ["ab", "c"]}),
        pa.table({"text": ["ab", "c"]}),
    ],
)
def test_every_container_gives_the_same(given):
    S = Strings.pack(given)
    assert symbols(S) == [("a", "b"), ("c",)]
    assert all(type(symbol) is str for symbol in S.vocabulary)


def test_integers_bytes_and_other_symbols():
    assert symbols(Strings.pack(np.array([[1, 2], [2, 3]]))) == [(1, 2), (2, 3)]
    assert symbols(Strings.pack([b"ab", b""])) == [(97, 98), ()]
    assert symbols(Strings.pack([[("N", 1), ("V", 2)], range(2)])) == [(("N", 1), ("V", 2)), (0, 1)]
    assert type(Strings.pack([[np.int64(3)]]).vocabulary[0]) is int


def test_empty_strings():
    S = Strings.pack(["", ""])
    assert len(S) == 2 and S.vocabulary == () and symbols(S) == [(), ()]
    A, B = S.align(Strings.pack(["a"]))
    assert A.vocabulary == B.vocabulary == ("a",) and B.codes.tolist() == [0]
    assert symbols(Strings.pack(["a"]).align(S)[1]) == [(), ()]
    assert symbols(Strings.pack([[], ()])) == [(), ()]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("abc", "a single string was given; wrap it in a list"),
        (b"abc", "a single string was given; wrap it in a list"),
        (np.array("abc"), "a single string was given"),
        ([], r"Found array with 0 sample\(s\)"),
        (pd.Series([], dtype=str), r"Found array with 0 sample\(s\)"),
        (["a", None], r"Sample 1 is a missing value \(None\)"),
        (["a", float("nan")], r"Sample 1 is a missing value \(nan\)"),
        ([pd.NA], "Sample 0 is a missing value"),
        (["a", "b", 1.5], "Sample 2 is of type float"),
        ([3], "Sample 0 is of type int"),
        (np.array([1.0, 2.0]), "Sample 0 is of type float"),
        (pd.Series(["a", None]), "Sample 1 is a missing value"),
        (pl.Series(["a", None]), "Sample 1 is a missing value"),
        (pa.array(["a", None]), "Sample 1 is a missing value"),
        (np.ma.masked_array(["a", "b"], [False, True]), "Sample 1 is a missing value"),
        (["a", ["b"]], "Sample 0 is of type str, sample 1 is of type list"),
        (["a", b"b"], "Sample 0 is of type str, sample 1 is of type bytes"),
        ([["a"], "b"], "Sample 0 is of type list, sample 1 is of type str"),
        ([{"a": 1}], "Sample 0 is of type dict"),
        ([np.ones((2, 2), dtype=int)], "Sample 0 is of type ndarray"),
        ([["a", None]], "Symbol 1 of sample 0 is missing"),
        ([["a"], ["b", float("nan")]], "Symbol 1 of sample 1 is missing"),
        ([["a", pd.NA]], "Symbol 1 of sample 0 is missing"),
        (np.ones((2, 2)), "Symbol 0 of sample 0 is a real number.*kernel on vectors"),
        ([["a", {}]], "Symbol 1 of sample 0 cannot be hashed"),
        ([[("a", [])]], "Symbol 0 of sample 0 cannot be hashed"),
        ({"a": 1}, "dict was given"),
        ({"a"}, "set was given"),
        ((c for c in "ab"), "generator was given"),
        (None, "None was given"),
        (3, "int was given"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), r"table of 2 columns was given \(a, b\).*\.on\("),
    ],
)
def test_what_is_refused_and_why(given, message):
    with pytest.raises(DomainError, match=message) as caught:
        Strings.pack(given)
    assert "list of texts" in str(caught.value)


@pytest.mark.timing
def test_packing_is_fast():
    letters = np.random.default_rng(0).choice(list("ACGT"), (1000, 1000))
    X = ["".join(row) for row in letters]
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        S = Strings.pack(X)
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < allowed(0.1) and len(S.codes) == 1_000_000


def test_slices_share_the_codes():
    S = Strings.pack(["abc", "de", "f"])
    assert np.shares_memory(S[1:].codes, S.codes) and S[1:].offsets.tolist() == [0, 2, 3]


def test_repr():
    assert repr(Strings.pack(["a"])) == "<Strings: 1 sample, 1 symbol, lengths 1 to 1>"
    assert repr(Strings.pack(["ab", "b"])[:0]) == "<Strings: 0 samples, 2 symbols>"
