import subprocess
import sys
import tracemalloc
import warnings

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given

from mercer.domains import Vectors
from mercer.errors import DomainError
from tests.strategies import SPARSE_FORMATS, sparse_vectors, vectors

X = np.array([[1.0, 2.0, 0.0], [0.0, -3.0, 4.0]])


# ---------------------------------------------------------------------- what is accepted


@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        (X, np.float64),
        (X.astype(np.float32), np.float32),
        (X.astype(">f8"), np.float64),
        (X.astype(">f4"), np.float32),
        (X.astype(np.float16), np.float64),
        (X.astype(np.longdouble), np.float64),
        (X.astype(np.int8), np.float64),
        (X.astype(">i8"), np.float64),
        (X.astype(object), np.float64),
        (X.tolist(), np.float64),
        (tuple(map(tuple, X)), np.float64),
        (list(X), np.float64),
        (np.asfortranarray(X), np.float64),
        (np.repeat(X, 2, axis=0)[::2], np.float64),
        (np.repeat(X, 2, axis=1)[:, ::2], np.float64),
        (np.ma.masked_array(X), np.float64),
        (np.ma.masked_array(X, np.zeros_like(X, dtype=bool)), np.float64),
        (pd.DataFrame(X), np.float64),
        (pa.record_batch({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}), np.float64),
    ],
)
def test_array_likes_become_c_contiguous_floats(given, dtype):
    S = Vectors.pack(given)
    assert S.X.dtype == np.dtype(dtype) and S.X.dtype.isnative
    assert S.X.flags.c_contiguous and type(S.X) is np.ndarray
    np.testing.assert_array_equal(S.X, X)
    assert (len(S), S.width, S.is_sparse) == (2, 3, False)


def test_booleans_and_large_integers():
    assert Vectors.pack([[True, False]]).X.tolist() == [[1.0, 0.0]]
    assert Vectors.pack([[2**62, 10**30]]).X.tolist() == [[float(2**62), 1e30]]
    assert Vectors.pack(np.array([[np.iinfo(np.uint64).max]], dtype=np.uint64)).X.item() == 2.0**64


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_valid_arrays_are_not_copied(dtype, tmp_path):
    A = np.ones((4, 3), dtype=dtype)
    assert np.shares_memory(Vectors.pack(A).X, A)
    A.flags.writeable = False
    assert np.shares_memory(Vectors.pack(A).X, A) and not Vectors.pack(A).X.flags.writeable
    M = np.memmap(tmp_path / "rows", dtype=dtype, mode="w+", shape=(4, 3))
    M[:] = 2.0
    assert np.shares_memory(Vectors.pack(M).X, M)
    assert np.shares_memory(Vectors.pack(A)[1:3].X, A)


def test_packing_allocates_next_to_nothing():
    A = np.ones((1000, 1000))
    Vectors.pack(A)
    tracemalloc.start()
    Vectors.pack(A)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


def test_a_valid_array_is_packed_without_importing_scikit_learn():
    code = (
        "import sys, numpy as np; from mercer.domains import Vectors, Strings; "
        "Vectors.pack(np.eye(2)); Vectors.pack([[1, 2]]); Strings.pack(['a']); "
        "assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ---------------------------------------------------------------------- tables


def native(kind, columns):
    return {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[kind](columns)


every_table = pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])


@every_table
def test_tables_keep_their_names(kind):
    S = Vectors.pack(native(kind, {"a": [1.5, 2.0], "b": [3, 4], "c": [True, False]}))
    assert S.names == ("a", "b", "c") and S.X.tolist() == [[1.5, 3.0, 1.0], [2.0, 4.0, 0.0]]
    assert S.X.dtype == np.float64 and S.X.flags.c_contiguous
    assert S[1:].names == S.concat(S).names == ("a", "b", "c")


@every_table
def test_tables_of_float32_stay_float32(kind):
    column = np.array([1.0, 2.0], dtype=np.float32)
    assert Vectors.pack(native(kind, {"a": column, "b": column})).X.dtype == np.float32
    assert Vectors.pack(native(kind, {"a": column, "b": column.astype(float)})).X.dtype == np.float64


@every_table
@pytest.mark.parametrize("values", [[1, None], [1.0, None], [True, None], [1.0, float("nan")]])
def test_missing_values_name_their_columns(kind, values):
    with pytest.raises(DomainError, match=r"(?s)Input X contains NaN\..*column 'gap'.*SimpleImputer"):
        Vectors.pack(native(kind, {"full": [1.0, 2.0], "gap": values}))


@pytest.mark.parametrize("dtype", ["Int64", "Float32", "boolean", "object"])
def test_nullable_pandas_columns(dtype):
    full = pd.DataFrame({"a": pd.array([1, 0], dtype=dtype)})
    assert Vectors.pack(full).X.tolist() == [[1.0], [0.0]]
    with pytest.raises(DomainError, match=r"contains NaN.*column 'a'"):
        Vectors.pack(pd.DataFrame({"a": pd.array([1, pd.NA], dtype=dtype)}))


@every_table
def test_columns_of_text_are_named(kind):
    table = native(kind, {"age": [1.0, 2.0], "city": ["Bern", "Graz"], "street": ["a", "b"]})
    with pytest.raises(DomainError, match=r"'city' \(String\), 'street' \(String\) are not numbers.*\.on\("):
        Vectors.pack(table)


def test_other_columns_that_are_not_numbers():
    table = pd.DataFrame(
        {
            "day": pd.to_datetime(["2020-01-01", "2021-01-01"]),
            "kind": pd.Categorical(["a", "b"]),
            "thing": [{}, {}],
            "mixed": np.array([1, "x"], dtype=object),
        }
    )
    with pytest.raises(DomainError) as caught:
        Vectors.pack(table)
    for part in ("'day' (Datetime)", "'kind' (Categorical)", "'thing' (Object)", "'mixed' (text)", "Encode"):
        assert part in str(caught.value)
    with pytest.raises(DomainError, match="Complex data not supported"):
        Vectors.pack(pd.DataFrame({"z": [1j, 2j]}))


def test_tables_without_names_or_with_doubtful_ones():
    assert Vectors.pack(pd.DataFrame(X, columns=[1, 2, 3])).names is None
    assert Vectors.pack(pd.DataFrame(X, columns=["a", "b", 3])).names is None
    with pytest.raises(DomainError, match="same name"):
        Vectors.pack(pd.DataFrame(X, columns=["a", "a", "b"]))
    with pytest.raises(DomainError, match=r"collect\(\)"):
        Vectors.pack(pl.DataFrame({"a": [1]}).lazy())
    assert Vectors.pack(nw.from_native(pl.DataFrame({"a": [1.0]}))).names == ("a",)


def test_decimal_and_sparse_columns():
    assert Vectors.pack(pa.table({"d": pa.array([1, 2], pa.decimal128(10, 2))})).X.tolist() == [[1.0], [2.0]]
    S = Vectors.pack(pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(X), columns=list("abc")))
    assert S.is_sparse and S.names == ("a", "b", "c") and (S.X.toarray() == X).all()


# ---------------------------------------------------------------------- sparse


@pytest.mark.parametrize("form", SPARSE_FORMATS)
@pytest.mark.parametrize("container", [sp.coo_matrix, sp.coo_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, bool, np.longdouble])
def test_every_sparse_format(form, container, dtype):
    raw = container(X.astype(dtype)).asformat(form)
    S = Vectors.pack(raw)
    assert isinstance(S.X, sp.csr_array) and S.is_sparse and S.X.has_canonical_format
    assert S.X.dtype == (np.float32 if dtype == np.float32 else np.float64)
    np.testing.assert_array_equal(S.X.toarray(), X.astype(dtype).astype(float))
    assert all(isinstance(array, np.ndarray) for array in S.arrays) and len(S.arrays) == 3


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array])
def test_unsorted_duplicates_are_summed_and_the_input_left_alone(index, container):
    data, indices, indptr = np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]), np.array([0, 3, 3])
    raw = container((2, 3))
    raw.data, raw.indices, raw.indptr = data.copy(), indices.astype(index), indptr.astype(index)
    S = Vectors.pack(raw)
    assert S.X.toarray().tolist() == [[2.0, 0.0, 4.0], [0.0, 0.0, 0.0]]
    assert S.X.indices.tolist() == [0, 2] and S.X.indices.dtype == S.X.indptr.dtype == index
    assert raw.data.tolist() == [1.0, 2.0, 3.0] and raw.indices.tolist() == [2, 0, 2]


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_canonical_csr_shares_its_data(index):
    raw = sp.csr_array(X)
    raw.indices, raw.indptr = raw.indices.astype(index), raw.indptr.astype(index)
    S = Vectors.pack(raw)
    assert np.shares_memory(S.X.data, raw.data) and S.X.indices.dtype == index


def test_small_integers_do_not_wrap_when_duplicates_are_summed():
    raw = sp.coo_array((np.array([100, 100], dtype=np.int8), ([0, 0], [1, 1])), shape=(1, 2))
    assert Vectors.pack(raw).X.toarray().tolist() == [[0.0, 200.0]]


def test_duplicates_that_overflow_are_refused():
    huge = np.finfo(float).max
    for form in ("coo", "csr"):
        raw = sp.coo_array((np.array([huge, huge]), ([0, 0], [1, 1])), shape=(1, 2))
        if form == "csr":
            raw = sp.csr_array((raw.data, np.array([1, 1]), np.array([0, 2])), shape=(1, 2))
        with pytest.raises(DomainError, match="infinity"):
            Vectors.pack(raw)


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csc_array])
def test_damaged_sparse_matrices_are_refused(container):
    raw = container(np.ones((3, 3)))
    raw.indices = raw.indices.copy()
    raw.indices[0] = 7
    with pytest.raises(DomainError, match="damaged"):
        Vectors.pack(raw)


def test_sparse_arrays_of_one_dimension_are_refused():
    with pytest.raises(DomainError, match="Reshape your data"):
        Vectors.pack(sp.coo_array(np.ones(3)))


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1.0, 2.0], "Reshape your data"),
        (3.0, "Reshape your data"),
        (pl.Series([1.0, 2.0]), "Reshape your data"),
        (pd.Series([1.0, 2.0]), "2-dimensional container"),
        (np.ones((2, 2, 2)), r"Found array with dim 3, while dim <= 2 is required.*X\.reshape"),
        (np.ones((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required\."),
        (
            np.ones((0, 3)),
            r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required\.",
        ),
        (sp.csr_array((0, 3)), r"Found array with 0 sample\(s\)"),
        (sp.csr_array((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required\."),
        (pd.DataFrame({"a": []}), r"Found array with 0 sample\(s\)"),
        (pd.DataFrame(index=range(3)), r"0 feature\(s\)"),
        ([], "Nothing was given: an empty list.*Give at least one"),
        ([[]], r"0 feature\(s\)"),
        ([[1 + 2j]], "Complex data not supported.*real and imaginary"),
        (sp.csr_array([[1j]]), "Complex data not supported"),
        ([[np.nan, 1.0]], r"Input X contains NaN\..*SimpleImputer"),
        ([[None, 1.0]], r"Input X contains NaN\."),
        (np.array([[np.inf]], dtype=np.float32), "Input X contains infinity or a value too large"),
        (sp.csr_array([[np.nan]]), r"Input X contains NaN\."),
        (np.array([[1e300]], dtype=np.longdouble) ** 2, "infinity"),
        ([[10**400]], "too large"),
        ([["a", "b"]], "array of text.*Encode"),
        ([[1, "2"]], "array of text"),
        (np.array([["1"]], dtype=object), "array of text"),
        (np.array([[b"1"]]), "array of bytes"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), "array of dates"),
        (np.array([[1]], dtype="m8[s]"), "array of durations"),
        (np.zeros((2, 2), dtype=[("a", float)]), "array of records"),
        ([[1.0, 2.0], [3.0]], "inhomogeneous.*same number of values"),
        (np.ma.masked_array(X, X > 1), "3 masked values|2 masked values"),
        ("abc", "could not convert string to float.*kernel on strings"),
    ],
)
def test_what_is_refused_and_why(given, message):
    with warnings.catch_warnings(), pytest.raises(DomainError, match=f"(?s){message}") as caught:
        warnings.simplefilter("error")
        Vectors.pack(given)
    assert "two-dimensional table of finite real numbers" in str(caught.value)


@pytest.mark.parametrize("given", [np.array([[{"foo": "bar"}]], dtype=object), {"a": 1}, [[pd.NA]], {1, 2}])
def test_things_that_are_no_numbers_are_type_errors_too(given):
    with pytest.raises(TypeError, match=r"argument must be .* string.* number"):
        Vectors.pack(given)
    with pytest.raises(DomainError):
        Vectors.pack(given)


def test_numpy_matrix_is_refused():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(DomainError, match=r"np\.matrix is not supported"):
            Vectors.pack(np.matrix([[1.0]]))


# ---------------------------------------------------------------------- arithmetic


@given(A=vectors(width=3), B=sparse_vectors(width=3))
def test_dot_is_dense_whatever_the_storage(A, B):
    dense = B.toarray()
    expected = A @ dense.T
    for left in (Vectors.pack(A), Vectors.pack(sp.csr_array(A))):
        for right in (Vectors.pack(B), Vectors.pack(dense)):
            G = left.dot(right)
            assert type(G) is np.ndarray and G.flags.c_contiguous
            np.testing.assert_allclose(G, expected, rtol=1e-12, atol=1e-9)
            np.testing.assert_allclose(right.dot(left), G.T, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_dot_with_itself_is_symmetric_to_the_bit(container):
    S = Vectors.pack(container(np.random.default_rng(0).standard_normal((50, 7))))
    assert (S.dot(S) == S.dot(S).T).all()


def test_dot_takes_the_wider_type():
    wide, narrow = Vectors.pack(X), Vectors.pack(X.astype(np.float32))
    assert narrow.dot(narrow).dtype == np.float32
    assert wide.dot(narrow).dtype == narrow.dot(wide).dtype == np.float64


def test_dot_needs_the_same_columns():
    with pytest.raises(DomainError, match="X has 3 features, but 2 features are expected"):
        Vectors.pack(X).dot(Vectors.pack(X[:, :2]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", [1, 3, 17, 300, 70_000])
def test_squared_norms_do_not_depend_on_the_rows_around(dtype, width):
    A = np.random.default_rng(1).standard_normal((5, width)).astype(dtype)
    S = Vectors.pack(A)
    np.testing.assert_allclose(S.squared_norms, (A.astype(float) ** 2).sum(axis=1), rtol=1e-6)
    assert S.squared_norms.dtype == dtype
    alone = [Vectors.pack(A[i : i + 1].copy()).squared_norms.item() for i in range(5)]
    assert S.squared_norms.tolist() == alone
    assert S.take([3, 1]).squared_norms.tolist() == [alone[3], alone[1]]
    np.testing.assert_allclose(Vectors.pack(sp.csr_array(A)).squared_norms, S.squared_norms, rtol=1e-6)


def test_squared_norms_in_float32_are_summed_in_float64():
    A = np.full((1, 1 << 16), 0.1, dtype=np.float32)
    exact = np.float32((A.astype(float) ** 2).sum())
    assert Vectors.pack(A).squared_norms.item() == Vectors.pack(sp.csr_array(A)).squared_norms.item() == exact


def test_values_whose_squares_overflow_are_accepted_and_told():
    S = Vectors.pack([[1e200, -1e300], [0.0, 1.0]])
    assert S.largest == 1e300 and S[1:].largest == 1.0
    assert S.squared_norms.tolist() == [np.inf, 1.0]
    narrow = Vectors.pack(np.array([[-3e30]], dtype=np.float32))
    assert narrow.largest == float(np.float32(3e30)) and narrow.squared_norms.item() == np.inf
    assert Vectors.pack(sp.csr_array([[0.0, -2.0]])).largest == 2.0
    assert Vectors.pack(sp.csr_array((1, 2))).largest == S[:0].largest == 0.0
    assert Vectors.pack([[1e308] * 20]).largest == 1e308


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_columns_by_position_and_name(container):
    S = Vectors(Vectors.pack(container(X)).X, ("a", "b", "c"))
    part = S.columns((2, 0))
    assert part.names == ("c", "a") and part.width == 2 and part.is_sparse == S.is_sparse
    values = part.X.toarray() if part.is_sparse else part.X
    assert (values == X[:, [2, 0]]).all()
    assert part.X.has_canonical_format if part.is_sparse else part.X.flags.c_contiguous
    assert S.columns(("b", -1)).names == ("b", "c")
    for wrong, message in [
        ((3,), "no column 3 among 3"),
        (("bb",), "are a, b, c. Did you mean 'b'"),
        ((), "None of the 3 columns"),
    ]:
        with pytest.raises(DomainError, match=message):
            S.columns(wrong)
    with pytest.raises(DomainError, match="have no names"):
        Vectors.pack(X).columns(("a",))


def test_types_change_on_request():
    S = Vectors.pack(pd.DataFrame(X, columns=list("abc")))
    assert S.with_dtype(np.float64) is S
    narrow = S.with_dtype(np.float32)
    assert narrow.X.dtype == np.float32 and narrow.names == S.names
    assert Vectors.pack(sp.csr_array(X)).with_dtype("float32").is_sparse


def test_dense_and_sparse_are_joined():
    S, T = Vectors.pack(X), Vectors.pack(sp.csr_array(X))
    for joined in (S.concat(T), T.concat(S)):
        assert joined.is_sparse and joined.X.has_canonical_format
        assert (joined.X.toarray() == np.vstack((X, X))).all()
    assert S.concat(S.with_dtype(np.float32)).X.dtype == np.float64
    named = Vectors.pack(pd.DataFrame(X, columns=list("abc")))
    assert S.concat(named).names == ("a", "b", "c")
    with pytest.raises(DomainError, match="cannot be joined"):
        named.concat(Vectors.pack(pd.DataFrame(X, columns=list("xyz"))))
    with pytest.raises(DomainError, match="cannot be joined"):
        S.concat(S.columns((0,)))


def test_numpy_takes_dense_vectors_only():
    S = Vectors.pack(X)
    assert np.shares_memory(np.asarray(S), X) and np.asarray(S, dtype=np.float32).dtype == np.float32
    with pytest.raises(TypeError, match="toarray"):
        np.asarray(Vectors.pack(sp.csr_array(X)))


def test_repr():
    assert repr(Vectors.pack([[1.0]])) == "<Vectors: 1 sample, 1 column, float64>"
    assert repr(Vectors.pack(sp.csr_array(X))) == "<Vectors: 2 samples, 3 columns, float64, sparse>"
