"""Everything that can be the matter with data: what users give, by accident or by necessity.

A fault takes good data and returns what is given instead. It is made anew for every call, since some can be read
only once. Where it is another way to write the same numbers, `plain` gives them the usual way, and the results must
agree.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp

from tests.trust.judge import ACCEPT, EITHER, REFUSE, TOLD

__all__ = [
    "COUPLES",
    "Fault",
    "GRAMS",
    "OBJECTS",
    "PAIRS",
    "SECOND",
    "STRINGS",
    "TABLES",
    "TARGETS",
    "VECTORS",
    "WEIGHTS",
]


@dataclass(frozen=True)
class Fault:
    """One thing that is the matter: its name, what it does to good data, and which outcome is right."""

    name: str
    make: Callable[[Any], Any]
    expect: str = REFUSE
    plain: Callable[[Any], Any] | None = None
    slack: float = 1e-9


def _changed(change: Callable[[Any], Any], dtype: Any = float) -> Callable[[Any], Any]:
    """Return a fault that writes into a copy of the data."""

    def make(X: Any) -> Any:
        X = np.array(X, dtype=dtype)
        change(X)
        return X

    return make


def _put(row: Any, column: Any, value: Any, dtype: Any = float) -> Callable[[Any], Any]:
    def change(X: Any) -> None:
        X[row, column] = value

    return _changed(change, dtype)


def _strided(X: Any) -> Any:
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def _read_only(X: Any) -> Any:
    X = X.copy()
    X.flags.writeable = False
    return X


def _long_indices(X: Any) -> Any:
    M = sp.csr_array(X)
    M.indices, M.indptr = M.indices.astype(np.int64), M.indptr.astype(np.int64)
    return M


def _twice(X: Any) -> Any:
    rows, columns = np.indices(X.shape).reshape(2, -1)
    halves = np.concatenate([X.ravel() / 2, X.ravel() / 2])
    return sp.coo_array((halves, (np.tile(rows, 2), np.tile(columns, 2))), shape=X.shape)


def _damaged(X: Any) -> Any:
    M = sp.csr_array(X)
    M.indices = M.indices.copy()
    M.indices[:1] = 10**6
    return M


def _frame(X: Any) -> pd.DataFrame:
    return pd.DataFrame(np.array(X), columns=[f"c{j}" for j in range(np.shape(X)[1])])


def _frame_with(value: Any) -> Callable[[Any], pd.DataFrame]:
    def make(X: Any) -> pd.DataFrame:
        frame = _frame(X).astype(object)
        frame.iloc[3, 0] = value
        return frame

    return make


def _nullable(X: Any) -> pd.DataFrame:
    frame = _frame(X).convert_dtypes(convert_floating=False).astype("Float64")
    frame.iloc[3, 0] = pd.NA
    return frame


def _masked(X: Any, masked: bool) -> Any:
    mask = np.zeros(X.shape, dtype=bool)
    mask[2, 0] = masked
    return np.ma.masked_array(X, mask)


def _mixed(X: Any) -> Any:
    return X * 10.0 ** np.linspace(-8, 8, X.shape[1])


def _rounded(X: Any) -> Any:
    return np.rint(X)


def _whole(dtype: Any) -> Callable[[Any], Any]:
    return lambda X: np.rint(np.abs(X)).astype(dtype)


def _as_float(dtype: Any) -> Callable[[Any], Any]:
    return lambda X: np.rint(np.abs(X)).astype(dtype).astype(float)


def _itself(X: Any) -> Any:
    return X


# rows of numbers ----------------------------------------------------------------------------------------

_WRITTEN = [  # other ways to write good data
    Fault("read-only", _read_only, ACCEPT, _itself),
    Fault("Fortran order", np.asfortranarray, ACCEPT, _itself),
    Fault("strided", _strided, ACCEPT, _itself),
    Fault("reversed view", lambda X: X[::-1][:, ::-1], ACCEPT, lambda X: np.array(X[::-1, ::-1])),
    Fault("big-endian", lambda X: X.astype(">f8"), ACCEPT, _itself),
    Fault("lists", lambda X: X.tolist(), ACCEPT, _itself),
    Fault("tuples", lambda X: tuple(map(tuple, X.tolist())), ACCEPT, _itself),
    Fault("object numbers", lambda X: X.astype(object), ACCEPT, _itself),
    Fault("long double", lambda X: X.astype(np.longdouble), ACCEPT, _itself),
    Fault("mask without masked", lambda X: _masked(X, False), ACCEPT, _itself),
    Fault("pandas", _frame, ACCEPT, _itself),
    Fault("pandas, odd index", lambda X: _frame(X).set_index(np.zeros(len(X))), ACCEPT, _itself),
    Fault("polars", lambda X: pl.from_pandas(_frame(X)), ACCEPT, _itself),
    Fault("pyarrow", lambda X: pa.Table.from_pandas(_frame(X)), ACCEPT, _itself),
    Fault("csr", sp.csr_array, ACCEPT, _itself),
    Fault("csr_matrix", sp.csr_matrix, ACCEPT, _itself),
    Fault("csc", sp.csc_array, ACCEPT, _itself),
    Fault("coo with duplicates", _twice, ACCEPT, _itself),
    Fault("csr, 64-bit indices", _long_indices, ACCEPT, _itself),
    Fault("int8", _whole(np.int8), ACCEPT, _as_float(np.int8)),
    Fault("uint8", _whole(np.uint8), ACCEPT, _as_float(np.uint8)),
    Fault("bool", lambda X: np.median(X) < X, ACCEPT, lambda X: (np.median(X) < X).astype(float)),
    Fault("float16", lambda X: X.astype(np.float16), ACCEPT, lambda X: X.astype(np.float16).astype(float)),
    Fault("float32", lambda X: X.astype(np.float32), ACCEPT, _itself, 1e-4),
    Fault("fractions", lambda X: [[fractions.Fraction(v) for v in row] for row in X.tolist()], EITHER, _itself),
    Fault("decimals", lambda X: [[decimal.Decimal(v) for v in row] for row in X.tolist()], EITHER, _itself),
]
_SIZES = [  # good data of an unusual kind
    Fault("constant column", _put(slice(None), 0, 1.0), ACCEPT),
    Fault("zero column", _put(slice(None), 0, 0.0), ACCEPT),
    Fault("all rows equal", lambda X: np.tile(X[:1], (len(X), 1)), ACCEPT),
    Fault("all zero", np.zeros_like, ACCEPT),
    Fault("duplicates", lambda X: np.repeat(X[: len(X) // 2], 2, axis=0), ACCEPT),
    Fault(
        "near duplicates",
        lambda X: np.repeat(X[: len(X) // 2], 2, axis=0) * (1 + 1e-15 * np.arange(len(X) // 2 * 2))[:, None],
        ACCEPT,
    ),
    Fault("negative zero", _put(slice(0, 2), 0, -0.0), ACCEPT),
    Fault(
        "float32 with offset",
        lambda X: (X + 1e4).astype(np.float32),
        EITHER,
        lambda X: (X + 1e4).astype(np.float32).astype(float),
        1e-3,
    ),
    *(Fault(f"times {scale:g}", lambda X, s=scale: X * s, EITHER) for scale in (1e8, 1e100, 1e160, 1e300)),
    Fault("at the largest number", lambda X: X * (1.7e308 / np.abs(X).max()), EITHER),
    Fault("times 1e-8", lambda X: X * 1e-8, EITHER),
    Fault("times 1e-160", lambda X: X * 1e-160, EITHER, slack=1e-2),  # squares have two digits
    Fault("times 1e-310", lambda X: X * 1e-310, EITHER, slack=1e-2),
    Fault("columns of very different scales", _mixed, EITHER),
    Fault("one row 1e308", _put(1, slice(None), 1e308), EITHER),
    Fault(
        "rows of 1e308 and tiny ones",
        lambda X: np.where(np.arange(len(X))[:, None] % 2, 1e308, 1e-308) * np.ones_like(X),
        EITHER,
    ),
    Fault("float32, one row 1e38", lambda X: _put(1, slice(None), 1e38)(X).astype(np.float32), EITHER),
    Fault("float32, one row 1e20", lambda X: _put(1, slice(None), 1e20)(X).astype(np.float32), EITHER),
    Fault("one row 1e170", _put(1, slice(None), 1e170), EITHER),
    Fault("float32 near its limit", lambda X: (np.abs(X) * 1e38).astype(np.float32), EITHER),
    Fault("int64 near 2^62", lambda X: 2**62 - np.rint(np.abs(X)).astype(np.int64), EITHER),
    Fault("uint64 near 2^64", lambda X: np.uint64(2**64 - 1) - np.rint(np.abs(X)).astype(np.uint64), EITHER),
    Fault("one sample", lambda X: X[:1], EITHER),
    Fault("two samples", lambda X: X[:2], EITHER),
]
_REFUSED = [
    Fault("one NaN", _put(3, 0, np.nan)),
    Fault("one inf", _put(3, 0, np.inf)),
    Fault("one -inf", _put(3, 0, -np.inf)),
    Fault("all NaN", lambda X: np.full_like(X, np.nan)),
    Fault("float32 NaN", _put(3, 0, np.nan, np.float32)),
    Fault("csr with NaN", lambda X: sp.csr_array(_put(3, 0, np.nan)(X))),
    Fault("csr with inf", lambda X: sp.csr_array(_put(3, 0, np.inf)(X))),
    Fault("damaged csr", _damaged),
    Fault("masked", lambda X: _masked(X, True)),
    Fault("complex", lambda X: X + 1j),
    Fault("complex csr", lambda X: sp.csr_array(X + 1j)),
    Fault("text", lambda X: np.full(X.shape, "a")),
    Fault("numbers as text", lambda X: X.astype(str)),
    Fault("bytes", lambda X: np.full(X.shape, b"1")),
    Fault("dates", lambda X: np.full(X.shape, np.datetime64("2020-01-01"))),
    Fault("durations", lambda X: np.full(X.shape, np.timedelta64(1, "s"))),
    Fault("Python dates", lambda X: [[datetime.date(2020, 1, 1)] * X.shape[1]] * len(X)),
    Fault("records", lambda X: np.zeros(len(X), dtype=[("a", float), ("b", float)])),
    Fault("object with None", _put(3, 0, None, object)),
    Fault("object with a dict", _put(3, 0, {}, object)),
    Fault("object with text", _put(3, 0, "a", object)),
    Fault("object with 10**400", _put(3, 0, 10**400, object)),
    Fault("pandas with NA", _nullable),
    Fault("pandas with None", _frame_with(None)),
    Fault("pandas with text", _frame_with("a")),
    Fault("pandas with dates", lambda X: _frame(X).assign(c0=pd.Timestamp("2020-01-01"))),
    Fault("pandas with categories", lambda X: _frame(X).assign(c0=pd.Categorical(["a"] * len(X)))),
    Fault("pandas, same names", lambda X: _frame(X).set_axis(["a"] * X.shape[1], axis=1) if X.shape[1] > 1 else "a"),
    Fault("polars with null", lambda X: pl.from_pandas(_frame(X)).with_columns(c0=pl.lit(None))),
    Fault("lazy frame", lambda X: pl.from_pandas(_frame(X)).lazy()),
    Fault("no samples", lambda X: X[:0]),
    Fault("no columns", lambda X: X[:, :0]),
    Fault("no samples, csr", lambda X: sp.csr_array(X[:0])),
    Fault("one dimension", lambda X: X[:, 0]),
    Fault("three dimensions", lambda X: X[:, :, None]),
    Fault("no dimensions", lambda X: np.array(1.0)),
    Fault("ragged lists", lambda X: [[1.0], [1.0, 2.0], [1.0, 2.0, 3.0]]),
    Fault("ragged deeper", lambda X: [[[1.0], 2.0]] * len(X)),
]
OBJECTS = [  # no data at all, whatever the domain
    Fault("None", lambda X: None),
    Fault("a number", lambda X: 3.0),
    Fault("a single text", lambda X: "abc"),
    Fault("bytes alone", lambda X: b"abc"),
    Fault("empty list", lambda X: []),
    Fault("list of None", lambda X: [None] * 3),
    Fault("list of dicts", lambda X: [{"a": 1.0}] * 3),
    Fault("empty dict", lambda X: {}),
    Fault("dict", lambda X: {"other": [1.0, 2.0, 3.0]}),
    Fault("dict of scalars", lambda X: {"size": 1.0, "gene": "a"}),
    Fault("set", lambda X: {1.0, 2.0}),
    Fault("generator", lambda X: (row for row in X)),
    Fault("a function", lambda X: len),
    Fault("a class", lambda X: float),
    Fault("an object", lambda X: object()),
    Fault("empty frame", lambda X: pd.DataFrame()),
    Fault("lists in lists in lists", lambda X: [[[[1.0]]]]),
]
VECTORS = [*_WRITTEN, *_SIZES, *_REFUSED, *OBJECTS]

# a second collection, as in k(X, Y) or at the time of prediction -----------------------------------------

SECOND = [
    Fault("fewer columns", lambda X: X[:, :-1]),
    Fault("more columns", lambda X: np.column_stack([X, X[:, 0]])),
    Fault("other names", lambda X: _frame(X).rename(columns={"c0": "z"}), EITHER),
    Fault("names in another order", lambda X: _frame(X)[[f"c{j}" for j in range(X.shape[1])][::-1]], EITHER),
    Fault("sparse, fewer columns", lambda X: sp.csr_array(X[:, :-1])),
    Fault("sparse", sp.csr_array, ACCEPT, _itself),
    Fault("float32", lambda X: X.astype(np.float32), ACCEPT, _itself, 1e-4),
    Fault("one sample", lambda X: X[:1], ACCEPT),
    Fault("far away", lambda X: X + 1e10, EITHER),
    Fault("times 1e160", lambda X: X * 1e160, EITHER),
    Fault("at the largest number", lambda X: X * (1.7e308 / np.abs(X).max()), EITHER),
    Fault("one row 1e308", _put(1, slice(None), 1e308), EITHER),
    Fault("one dimension", lambda X: X[0]),
    Fault("no samples", lambda X: X[:0]),
    Fault("one NaN", _put(3, 0, np.nan)),
    Fault("one inf", _put(3, 0, np.inf)),
    Fault("masked", lambda X: _masked(X, True)),
    Fault("text", lambda X: ["a", "b"]),
    Fault("a number", lambda X: 1.0),
    Fault("dict", lambda X: {"other": [1.0]}),
]

# similarities -------------------------------------------------------------------------------------------


def _indefinite(K: Any) -> Any:
    values, vectors = np.linalg.eigh(K)
    values[: len(K) // 4] = -0.2 * values.max()
    K = (vectors * values) @ vectors.T
    return (K + K.T) / 2


def _one_sided(K: Any) -> Any:
    K = np.array(K)
    K[0, 1] += 0.1 * np.abs(K).max()
    return K


GRAMS = [
    Fault("as lists", lambda K: K.tolist(), ACCEPT, _itself),
    Fault("float32", lambda K: K.astype(np.float32), ACCEPT, _itself, 1e-4),
    Fault("Fortran order", np.asfortranarray, ACCEPT, _itself),
    Fault("read-only", _read_only, ACCEPT, _itself),
    Fault("integers", lambda K: 5 * np.eye(len(K), dtype=np.int8), ACCEPT),
    Fault("rounding asymmetry", lambda K: K + 1e-14 * np.triu(np.ones_like(K), 1), ACCEPT),
    Fault("zero", np.zeros_like, EITHER),
    Fault("rank one", np.ones_like, ACCEPT),
    Fault("identity", lambda K: np.eye(len(K)), ACCEPT),
    *(Fault(f"times {s:g}", lambda K, s=s: K * s, EITHER) for s in (1e8, 1e160, 1e300, 1e-8, 1e-160, 1e-300)),
    Fault("one similarity", lambda K: K[:1, :1], EITHER),
    Fault("indefinite", _indefinite, TOLD),
    Fault("negative", lambda K: -K, TOLD),
    Fault("one negative self-similarity", _put(0, 0, -5.0), TOLD),
    Fault(
        "a distance matrix", lambda K: np.sqrt(np.maximum(np.add.outer(K.diagonal(), K.diagonal()) - 2 * K, 0)), TOLD
    ),
    Fault("asymmetric", _one_sided),
    Fault("upper triangle", np.triu),
    Fault("antisymmetric", lambda K: np.triu(K, 1) - np.triu(K, 1).T + np.eye(len(K))),
    Fault("one NaN", _put(3, 0, np.nan)),
    Fault("one inf", _put(3, 0, np.inf)),
    Fault("masked", lambda K: _masked(K, True)),
    Fault("not square", lambda K: K[:, :-1]),
    Fault("not square, tall", lambda K: K[:-1][:, :-3]),
    Fault("complex", lambda K: K + 0j),
    Fault("text", lambda K: K.astype(str)),
    Fault("sparse", sp.csr_array, EITHER, _itself),
    Fault("three dimensions", lambda K: K[None]),
    Fault("empty", lambda K: K[:0, :0]),
    Fault("a vector", lambda K: K[0]),
    *OBJECTS,
]

# strings, pairs, tables ---------------------------------------------------------------------------------


def with_sample(i: int, value: Any) -> Callable[[Any], list[Any]]:
    """Return a fault that exchanges one sample of a list."""
    return lambda X: [value if j == i else sample for j, sample in enumerate(X)]


STRINGS = [
    Fault("array of text", np.array, ACCEPT, _itself),
    Fault("array of objects", lambda X: np.array(X, dtype=object), ACCEPT, _itself),
    Fault("tuple", tuple, ACCEPT, _itself),
    Fault("pandas column", pd.Series, ACCEPT, _itself),
    Fault("polars column", pl.Series, ACCEPT, _itself),
    Fault("pyarrow column", pa.array, ACCEPT, _itself),
    Fault("pandas categories", lambda X: pd.Series(X, dtype="category"), ACCEPT, _itself),
    Fault("one-column table", lambda X: pd.DataFrame({"a": X}), ACCEPT, _itself),
    Fault("sequences of letters", lambda X: [list(text) for text in X], ACCEPT, _itself),
    Fault("bytes", lambda X: [text.encode() for text in X], ACCEPT, _itself),
    Fault("numpy strings", lambda X: [np.str_(text) for text in X], ACCEPT, _itself),
    Fault("one empty", with_sample(1, ""), ACCEPT),
    Fault("all empty", lambda X: [""] * len(X), EITHER),
    Fault("all equal", lambda X: [X[0]] * len(X), ACCEPT),
    Fault("one sample", lambda X: X[:1], EITHER),
    Fault("surrogates", with_sample(1, "a\ud800b\udfff"), ACCEPT),
    Fault("beyond 16 bits", with_sample(1, "a\U0001f600b\U0010ffff"), ACCEPT),
    Fault("NUL", with_sample(1, "a\0\0b"), ACCEPT),
    Fault("combining marks", with_sample(1, "e\u0301\u200d\ufeff"), ACCEPT),
    Fault("line breaks", with_sample(1, "a\r\nb\u2028"), ACCEPT),
    Fault("long", with_sample(1, "ab" * 1000), EITHER),
    Fault("many symbols", with_sample(1, "".join(map(chr, range(40, 2000)))), EITHER),
    Fault("words of integers", lambda X: [[1, 2, 2**70], [1, 2]], EITHER),
    Fault("nested tuples", lambda X: [[(1, "a"), (2, "b")], [(1, "a")]], EITHER),
    Fault("None inside", with_sample(1, None)),
    Fault("NaN inside", with_sample(1, float("nan"))),
    Fault("NA inside", lambda X: pd.Series(with_sample(1, pd.NA)(X))),
    Fault("null column", lambda X: pl.Series([None] * 3, dtype=pl.String)),
    Fault("number inside", with_sample(1, 3)),
    Fault("numbers", lambda X: [1.0, 2.0, 3.0]),
    Fault("integers", lambda X: [1, 2, 3]),
    Fault("bytes among text", with_sample(1, b"ab")),
    Fault("list among text", with_sample(1, ["a", "b"])),
    Fault("dict inside", with_sample(1, {"a": 1})),
    Fault("set inside", with_sample(1, {"a"})),
    Fault("missing symbols", lambda X: [["a", None], ["b"]]),
    Fault("NaN symbols", lambda X: [["a", float("nan")], ["b"]]),
    Fault("real symbols", lambda X: [[1.5, 2.5], [0.5]]),
    Fault("unhashable symbols", lambda X: [[["a"], ["b"]], [["c"]]]),
    Fault("dates", lambda X: [datetime.date(2020, 1, 1)] * 3),
    Fault("two-column table", lambda X: pd.DataFrame({"a": X, "b": X})),
    Fault("matrix of numbers", lambda X: np.ones((3, 2))),
    Fault("sparse", lambda X: sp.csr_array(np.ones((3, 2)))),
    Fault("masked", lambda X: np.ma.masked_array(np.array(X, dtype=object), [True] + [False] * (len(X) - 1))),
    *OBJECTS,
]


def _members(i: int, change: Callable[[Any, Any], Any]) -> Callable[[Any], list[Any]]:
    """Return a fault that changes the two members of one pair."""
    return lambda X: [change(*pair) if j == i else pair for j, pair in enumerate(X)]


PAIRS = [
    Fault("lists", lambda X: [list(pair) for pair in X], ACCEPT, _itself),
    Fault("object array", lambda X: _objects(X), ACCEPT, _itself),
    Fault("all equal", lambda X: [X[0]] * len(X), ACCEPT),
    Fault("one sample", lambda X: X[:1], EITHER),
    Fault("huge member", _members(1, lambda left, right: (tuple(1e308 for _ in left), right)), EITHER),
    Fault("a triple", _members(1, lambda left, right: (left, right, right))),
    Fault("a single", _members(1, lambda left, right: (left,))),
    Fault("an empty tuple", with_sample(1, ())),
    Fault("a text", with_sample(1, "ab")),
    Fault("None as a pair", with_sample(1, None)),
    Fault("number", with_sample(1, 3.0)),
    Fault("dict as a pair", with_sample(1, {"left": 1, "right": 2})),
    Fault("set as a pair", with_sample(1, {1.0, 2.0})),
    Fault("NaN member", _members(1, lambda left, right: (tuple(float("nan") for _ in left), right))),
    Fault("inf member", _members(1, lambda left, right: (tuple(float("inf") for _ in left), right))),
    Fault("None on the left", _members(1, lambda left, right: (None, right))),
    Fault("None on the right", _members(1, lambda left, right: (left, None))),
    Fault("ragged members", _members(1, lambda left, right: ((*left, 2.0), right))),
    Fault("text on the left", _members(1, lambda left, right: ("a", right))),
    Fault("one column", lambda X: np.array([["a"], ["b"]])),
    Fault("three columns", lambda X: np.ones((4, 3))),
    Fault("vector", lambda X: np.ones(4)),
    Fault("table of three columns", lambda X: pd.DataFrame(np.ones((4, 3)), columns=list("abc"))),
    *OBJECTS,
]
COUPLES = [  # pairs of some numbers and a text
    *PAIRS,
    Fault(
        "table of two columns",
        lambda X: pl.DataFrame({"a": [list(p[0]) for p in X], "b": [p[1] for p in X]}),
        ACCEPT,
        _itself,
    ),
    Fault("empty text", _members(1, lambda left, right: (left, "")), ACCEPT),
    Fault("sides exchanged", _members(1, lambda left, right: (right, left))),
    Fault("all exchanged", lambda X: [(right, left) for left, right in X]),
    Fault("number on the right", _members(1, lambda left, right: (left, 2.0))),
    Fault("bytes on the right", _members(1, lambda left, right: (left, b"a"))),
]


def _objects(X: Any) -> Any:
    out = np.empty(len(X), dtype=object)
    out[:] = X
    return out


def _column(name: str, change: Callable[[list[Any]], Any]) -> Callable[[Any], Any]:
    return lambda X: {**X, name: change(list(X[name]))}


def _without(name: str) -> Callable[[Any], Any]:
    return lambda X: {key: value for key, value in X.items() if key != name}


TABLES = [
    Fault("pandas", pd.DataFrame, ACCEPT, _itself),
    Fault("polars", pl.DataFrame, ACCEPT, _itself),
    Fault("pyarrow", pa.table, ACCEPT, _itself),
    Fault("more columns", lambda X: {**X, "more": X["size"]}, ACCEPT, _itself),
    Fault("other order", lambda X: dict(reversed(X.items())), ACCEPT, _itself),
    Fault("pandas, odd index", lambda X: pd.DataFrame(X).set_index(np.zeros(len(X["size"]))), ACCEPT, _itself),
    Fault("pandas categories", lambda X: pd.DataFrame(X).astype({"gene": "category"}), ACCEPT, _itself),
    Fault("integer sizes", _column("size", lambda c: [int(v) for v in c]), ACCEPT),
    Fault("constant column", _column("size", lambda c: [1.0] * len(c)), ACCEPT),
    Fault("empty texts", _column("gene", lambda c: [""] * len(c)), EITHER),
    Fault("huge sizes", _column("size", lambda c: [v * 1e200 for v in c]), EITHER),
    Fault("tiny sizes", _column("size", lambda c: [v * 1e-310 for v in c]), EITHER),
    Fault("one sample", lambda X: {key: value[:1] for key, value in X.items()}, EITHER),
    Fault("no gene", _without("gene")),
    Fault("no size", _without("size")),
    Fault("pandas without gene", lambda X: pd.DataFrame(X).drop(columns="gene")),
    Fault("polars without size", lambda X: pl.DataFrame(X).drop("size")),
    Fault("misspelt", lambda X: {"Size": X["size"], "gen": X["gene"]}),
    Fault("NaN in numbers", _column("size", lambda c: [float("nan"), *c[1:]])),
    Fault("inf in numbers", _column("size", lambda c: [float("inf"), *c[1:]])),
    Fault("None in numbers", _column("size", lambda c: [None, *c[1:]])),
    Fault("None in texts", _column("gene", lambda c: [None, *c[1:]])),
    Fault("text in numbers", _column("size", lambda c: ["a", *c[1:]])),
    Fault("numbers as text", _column("size", lambda c: [str(v) for v in c])),
    Fault("numbers in texts", _column("gene", lambda c: [1, *c[1:]])),
    Fault("bytes among texts", _column("gene", lambda c: [b"a", *c[1:]])),
    Fault("short column", _column("gene", lambda c: c[:-1])),
    Fault("scalar column", _column("size", lambda c: 1.0)),
    Fault("text as column", _column("gene", lambda c: "abc")),
    Fault("None as column", _column("size", lambda c: None)),
    Fault("complex", _column("size", lambda c: [v + 1j for v in c])),
    Fault("dates", _column("size", lambda c: [datetime.date(2020, 1, 1)] * len(c))),
    Fault("nested numbers", _column("size", lambda c: [[v] for v in c]), EITHER),
    Fault("pandas NA", lambda X: pd.DataFrame(X).astype({"gene": "string"}).assign(gene=pd.NA)),
    Fault("no rows", lambda X: {key: [] for key in X}),
    Fault("pandas, no rows", lambda X: pd.DataFrame(X)[:0]),
    Fault("same names", lambda X: pd.DataFrame(X).set_axis(["size", "size"], axis=1)),
    Fault("matrix", lambda X: np.ones((3, 2))),
    Fault("lazy frame", lambda X: pl.DataFrame(X).lazy()),
    *[fault for fault in OBJECTS if fault.name != "dict of scalars"],
]

# targets and weights: the good ones are numbers (two classes for a classifier) and ones --------------------

WEIGHTS = [
    Fault("zeros and ones", lambda w: np.arange(len(w)) % 3 > 0, ACCEPT),
    Fault("a number for all", lambda w: 2.0, ACCEPT),
    Fault("integers", lambda w: w.astype(int), ACCEPT, _itself),
    Fault("list", lambda w: w.tolist(), ACCEPT, _itself),
    Fault("pandas", lambda w: pd.Series(w), ACCEPT, _itself),
    Fault("float32", lambda w: w.astype(np.float32), ACCEPT, _itself),
    Fault("one very small", _changed(lambda w: w.__setitem__(0, 1e-300)), EITHER),
    Fault("one very large", _changed(lambda w: w.__setitem__(0, 1e300)), EITHER),
    *(Fault(f"all {v:g}", lambda w, v=v: np.full(len(w), v), EITHER) for v in (1e300, 1e-300, 1e-320, 1e150, 1.7e308)),
    Fault("one -1", _changed(lambda w: w.__setitem__(0, -1.0))),
    Fault("all -1", lambda w: -w),
    Fault("one NaN", _changed(lambda w: w.__setitem__(0, np.nan))),
    Fault("one inf", _changed(lambda w: w.__setitem__(0, np.inf))),
    Fault("all zero", np.zeros_like),
    Fault("short", lambda w: w[:-1]),
    Fault("long", lambda w: np.append(w, 1.0)),
    Fault("two columns", lambda w: np.ones((len(w), 2))),
    Fault("text", lambda w: ["a"] * len(w)),
    Fault("numbers as text", lambda w: ["1"] * len(w)),
    Fault("complex", lambda w: w + 1j),
    Fault("dates", lambda w: np.full(len(w), np.datetime64("2020-01-01"))),
    Fault("durations", lambda w: np.arange(1, len(w) + 1).astype("m8[s]")),
    Fault("durations in a list", lambda w: [np.timedelta64(1, "s")] * len(w)),
    Fault("pandas dates", lambda w: pd.Series(pd.date_range("2020-01-01", periods=len(w)))),
    Fault("masked", lambda w: np.ma.masked_array(w, np.arange(len(w)) == 2)),
    Fault("a word", lambda w: "balanced"),
    Fault("dict", lambda w: {0: 1.0, 1: 2.0}),
    Fault("empty", lambda w: []),
    Fault("None inside", lambda w: [None, *w[1:]]),
    Fault("pandas NA", lambda w: pd.Series([pd.NA, *w[1:]])),
    Fault("sparse", lambda w: sp.csr_array(w[None])),
    Fault("generator", lambda w: (v for v in w)),
    Fault("an object", lambda w: object()),
]


def _target(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda y: change(np.array(y))


TARGETS = [
    Fault("list", lambda y: y.tolist(), ACCEPT, _itself),
    Fault("pandas", lambda y: pd.Series(y), ACCEPT, _itself),
    Fault("read-only", _read_only, ACCEPT, _itself),
    Fault("object numbers", lambda y: y.astype(object), ACCEPT, _itself),
    Fault("column", lambda y: y[:, None], EITHER),
    Fault("bool", lambda y: y > np.median(y) if y.dtype.kind == "f" else y.astype(bool), ACCEPT),
    Fault("constant", lambda y: np.full(len(y), y[0]), EITHER),
    Fault("zero", np.zeros_like, EITHER),
    Fault("times 1e200", lambda y: y * 1e200, EITHER),
    Fault("times 1e300", lambda y: y * 1e300, EITHER),
    Fault("times 1e-310", lambda y: y * 1e-310, EITHER),
    Fault("one 1e308", lambda y: np.append(y[:-1] * 1.0, 1e308), EITHER),
    Fault("two columns", lambda y: np.column_stack([y, y]), EITHER),
    Fault("None", lambda y: None),
    Fault("one NaN", lambda y: np.append(y[:-1] * 1.0, np.nan)),
    Fault("one inf", lambda y: np.append(y[:-1] * 1.0, np.inf)),
    Fault("short", lambda y: y[:-1]),
    Fault("long", lambda y: np.append(y, y[0])),
    Fault("empty", lambda y: y[:0]),
    Fault("complex", lambda y: y + 1j),
    Fault("masked", lambda y: np.ma.masked_array(y, np.arange(len(y)) == 2)),
    Fault("three dimensions", lambda y: y[:, None, None]),
    Fault("None inside", lambda y: [None, *y[1:].tolist()]),
    Fault("mixed", lambda y: ["a", *y[1:].tolist()]),
    Fault("pandas NA", lambda y: pd.Series([pd.NA, *y[1:].tolist()])),
    Fault("a number", lambda y: 1.0),
    Fault("a text", lambda y: "target"),
    Fault("dict", lambda y: {"y": y}),
    Fault("generator", lambda y: (v for v in y)),
    Fault("sparse", lambda y: sp.csr_array(y[:, None])),
    Fault("dates", lambda y: np.full(len(y), np.datetime64("2020-01-01")), EITHER),
    Fault("durations", lambda y: np.arange(1, len(y) + 1).astype("m8[s]"), EITHER),
    Fault("ragged", lambda y: [[1.0], [1.0, 2.0]] * (len(y) // 2)),
    Fault("an object", lambda y: object()),
]
