import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from mercer.domains import WHOLE, Frames, Similarities, Strings, Vectors, Whole
from mercer.errors import DomainError

COLUMNS = {"gene": ["GAT", "TA", ""], "age": [1.0, 2.0, 3.0], "dose": [4, 5, 6]}
PARTS = {"gene": Strings.pack, ("dose", "age"): Vectors.pack}
ROWS = [("GAT", 1.0, 4), ("TA", 2.0, 5), ("", 3.0, 6)]

TABLES = {
    "dict": COLUMNS,
    "dict of arrays": {name: np.array(column) for name, column in COLUMNS.items()},
    "dict of series": {name: pd.Series(column) for name, column in COLUMNS.items()},
    "pandas": pd.DataFrame(COLUMNS, index=[5, 3, 1]),
    "polars": pl.DataFrame(COLUMNS),
    "pyarrow": pa.table(COLUMNS),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_by_name_and_by_position(name):
    S = Frames.pack(TABLES[name], PARTS)
    assert len(S) == 3 and [S.part("gene").symbols(i) for i in range(3)] == [tuple("GAT"), tuple("TA"), ()]
    assert S.part(("dose", "age")).X.tolist() == [[4.0, 1.0], [5.0, 2.0], [6.0, 3.0]]
    by_number = Frames.pack(TABLES[name], {0: Strings.pack, (2, 1): Vectors.pack})
    assert by_number.part((2, 1)).X.tolist() == S.part(("dose", "age")).X.tolist()


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow"])
def test_data_frames_keep_the_names_of_their_columns(name):
    assert Frames.pack(TABLES[name], PARTS).part(("dose", "age")).names == ("dose", "age")


@pytest.mark.parametrize("rows", [ROWS, np.array(ROWS, dtype=object), tuple(map(list, ROWS))])
def test_rows_and_arrays_have_numbered_columns(rows):
    S = Frames.pack(rows, {0: Strings.pack, (1, 2): Vectors.pack})
    assert S.part((1, 2)).X.tolist() == [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
    assert S.part(0).symbols(1) == ("T", "A")


def test_a_pandas_table_with_numbers_for_names():
    table = pd.DataFrame({7: ["a", "b"], 0: [1.0, 2.0]})
    S = Frames.pack(table, {7: Strings.pack, (0,): Vectors.pack})
    assert S.part((0,)).X.tolist() == [[1.0], [2.0]] and S.part(7).symbols(0) == ("a",)


@pytest.mark.parametrize("form", ["csr", "coo", "dia"])
def test_sparse_matrices_have_numbered_columns(form):
    S = Frames.pack(sp.eye_array(3, format=form), {(2, 0): Vectors.pack, 1: lambda c: Vectors.pack(c[:, None])})
    assert S.part((2, 0)).is_sparse and S.part((2, 0)).X.toarray().tolist() == [[0, 1], [0, 0], [1, 0]]
    assert S.part(1).X.tolist() == [[0.0], [1.0], [0.0]]
    with pytest.raises(DomainError, match="no column 3"):
        Frames.pack(sp.eye_array(3, format=form), {3: Vectors.pack})


def test_all_of_the_data_is_a_part():
    X = np.arange(6.0).reshape(3, 2)
    S = Frames.pack(X, {WHOLE: Vectors.pack, Whole("square"): lambda X: Vectors.pack(X**2), (1,): Vectors.pack})
    assert S.part(WHOLE).X is not None and S.part(Whole("square")).X.tolist() == (X**2).tolist()
    assert S.part((1,)).X.tolist() == X[:, 1:].tolist()
    texts = Frames.pack(["a", "bc"], {WHOLE: Strings.pack})
    assert len(texts) == 2 and texts.part(Whole()).symbols(1) == ("b", "c")


def test_a_part_is_exchanged():
    S = Frames.pack(COLUMNS, PARTS).with_derived("row", np.arange(3))
    gene = S.part("gene").with_derived("length", np.array([3, 2, 0]))
    T = S.with_part("gene", gene)
    assert T.part("gene") is gene and T.with_part("gene", gene) is T and not S.part("gene").derived
    assert T[1:].part("gene").derived["length"].tolist() == [2, 0] and T.derived["row"].tolist() == [0, 1, 2]


def test_columns_of_sequences():
    uneven = Frames.pack({"w": [["to"], ["or", "not"]]}, {("w",): Strings.pack})
    assert uneven.part(("w",)).symbols(1) == ("or", "not")
    words = [["to", "be"], ["or", "not"]]
    S = Frames.pack({"w": words, "x": [1, 2]}, {"w": Strings.pack, ("w",): lambda c: Strings.pack(c)})
    assert S.part("w").symbols(1) == ("or", "not")
    assert S.part(("w",)).symbols(0) == ("to", "be")


def test_packed_frames_are_returned_if_they_have_the_parts():
    S = Frames.pack(COLUMNS, PARTS)
    assert Frames.pack(S) is Frames.pack(S, PARTS) is Frames.pack(S, {"gene": Strings.pack}) is S
    with pytest.raises(DomainError, match=r"'age' were not packed; there are 'gene', \('dose', 'age'\)"):
        Frames.pack(S, {"age": Vectors.pack})


@pytest.mark.parametrize("name", TABLES)
def test_missing_columns_name_what_there_is(name):
    with pytest.raises(
        DomainError, match=r"no column 'gne'; the 3 columns are gene, age, dose\. Did you mean 'gene'\?"
    ):
        Frames.pack(TABLES[name], {"gne": Strings.pack})
    with pytest.raises(DomainError, match="no column 3; the 3 columns are gene, age, dose"):
        Frames.pack(TABLES[name], {(0, 3): Vectors.pack})
    with pytest.raises(DomainError, match="no column -1"):
        Frames.pack(TABLES[name], {-1: Strings.pack})


def test_errors_of_a_part_name_its_columns():
    with pytest.raises(DomainError, match=r"Columns \('gene', 'age'\): .*text"):
        Frames.pack(COLUMNS, {("gene", "age"): Vectors.pack})
    with pytest.raises(DomainError, match=r"Columns 'age': Sample 0 is of type float"):
        Frames.pack(COLUMNS, {"age": Strings.pack})
    with pytest.raises(DomainError, match=r"(?s)Columns 'age': .*Reshape"):
        Frames.pack(pd.DataFrame(COLUMNS), {"age": lambda c: Vectors.pack(np.asarray(c))})


@pytest.mark.parametrize(
    ("given", "parts", "message"),
    [
        (COLUMNS, None, r"No parts were given.*kernel\.on"),
        (COLUMNS, {}, "No parts were given"),
        (
            {"a": ["x"], "b": ["y", "z"]},
            {"a": Strings.pack, "b": Strings.pack},
            r"different lengths.*\[1, 2\]",
        ),
        ({"a": [1], "b": [2, 3]}, {("a", "b"): Vectors.pack}, r"different lengths \[1, 2\]"),
        ([("a", 1), ("b",)], {0: Strings.pack}, "Rows of different lengths"),
        (np.ones(3), {0: Vectors.pack}, "ndarray was given"),
        (["a", "b"], {0: Strings.pack}, "list was given"),
        ([], {0: Strings.pack}, "list was given"),
        (None, {0: Vectors.pack}, "None was given"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), {"a": Vectors.pack}, "same name"),
    ],
)
def test_what_is_refused_and_why(given, parts, message):
    with pytest.raises(DomainError, match=message):
        Frames.pack(given, parts)


def test_parts_move_together():
    S = Frames.pack(COLUMNS, PARTS)
    assert S.nbytes == sum(part.nbytes for part in S.parts.values())
    assert len(S.arrays) == 3
    joined = S[[2]].concat(S[:1])
    assert joined.part("gene").symbols(1) == tuple("GAT") and joined.part(("dose", "age")).X[0].tolist() == [
        6,
        3,
    ]
    with pytest.raises(DomainError, match="parts must be the same"):
        S.concat(Frames.pack(COLUMNS, {"gene": Strings.pack}))


def test_landmarks_of_the_parts():
    S = Frames.pack(COLUMNS, PARTS)
    assert S.landmarks() is S
    T = Frames({"k": Similarities.pack(np.eye(3)), "s": S.part("gene")}).with_derived("row", np.arange(3))
    kept = T.landmarks()
    assert kept.part("k").matrix is None and kept.part("s") is S.part("gene")
    assert kept.derived["row"].tolist() == [0, 1, 2]


def test_repr():
    assert repr(Frames.pack(COLUMNS, PARTS)) == "<Frames: 3 samples, 'gene': Strings, ('dose', 'age'): Vectors>"
