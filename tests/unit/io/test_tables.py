import json
from pathlib import Path

import numpy as np
import pytest

from mercer.domains import Frames, Strings, Vectors
from mercer.io.columns import boolean_column, number_column, text_column
from mercer.io.gram_file import GramMatrix
from mercer.io.limits import FileError
from mercer.io.structures.fasta import Sequences
from mercer.io.tables import Table
from mercer.kernels import Gaussian, Spectrum

PARTS = {
    "key": text_column("key", ["p", "q", "r"], "identifier"),
    "age": number_column(np.array([1.0, np.nan, 3.0])),
    "dose": number_column(np.array([1.0, 2.0, 4.0])),
    "city": text_column("city", ["Rome", "", "Rome"], "category"),
    "gene": text_column("gene", ["GAT", "TA", "A"]),
    "sick": boolean_column([True, False, True], ("no", "Yes")),
}


def table(**changes):
    return Table(Path("data.csv"), "csv", PARTS, 3, np.array([2, 5, 6]), **changes)


def test_columns_by_name_and_kind():
    t = table()
    assert t.n == 3 and t.names == t.targets == tuple(PARTS) and t.ids == ("p", "q", "r")
    assert t.kinds["city"] == "category" and t.missing == dict(key=0, age=1, dose=0, city=1, gene=0, sick=0)
    assert t.of_kind("number", "text") == ("age", "dose", "gene") and t.columns.keys() == t.X.keys()
    assert repr(t) == "<Table of data.csv: 3 samples, 1 identifier, 2 numbers, 1 category, 1 text, 1 boolean>"
    assert t.drop("key").ids is None


def test_kernels_take_the_columns():
    t = table()
    S = Frames.pack(t.X, {("dose", "sick"): Vectors.pack, "gene": Strings.pack})
    assert S.part(("dose", "sick")).X.tolist() == [[1, 1], [2, 0], [4, 1]]
    K = (Gaussian(1.0).on(["dose", "sick"]) * Spectrum(1).on("gene"))(t.X)
    assert K.shape == (3, 3) and np.isfinite(K).all()


def test_rows_that_are_complete():
    t = table()
    assert t.complete().tolist() == [True, False, True]
    assert t.complete(["dose", "city"]).tolist() == [True, False, True] and t.complete(["gene"]).all()
    whole = t.take(t.complete())
    assert whole.n == 2 and whole.missing == dict.fromkeys(PARTS, 0) and whole.lines.tolist() == [2, 6]
    assert whole.kinds == t.kinds and whole.X["city"] == ["Rome", "Rome"] and whole.ids == ("p", "r")


def test_target():
    rest, y = table().split_target("dose")
    assert rest.names == ("key", "age", "city", "gene", "sick") and y.tolist() == [1, 2, 4]
    assert table().split_target("sick")[1].tolist() == ["Yes", "no", "Yes"]
    assert table().split_target("gene")[1].tolist() == ["GAT", "TA", "A"]


def test_target_with_a_gap_is_refused_at_its_line():
    with pytest.raises(FileError, match=r"data.csv, line 5, column 2 \('age'\): The value to be predicted is missing;"):
        table().split_target("age")
    gaps = Table(Path("t.parquet"), "parquet", {"a": number_column(np.array([1, np.nan, np.nan]))}, 3)
    with pytest.raises(FileError, match=r"row 2, column 1 \('a'\).*missing \(2 in all\)"):
        gaps.split_target("a")


def test_columns_that_are_not_there():
    with pytest.raises(FileError, match=r"There is no column 'aeg'; the 6 columns are .* Did you mean 'age'"):
        table().split_target("aeg")
    with pytest.raises(FileError, match="Name one of them"):
        table().select(["gene", "zzzzzz"])
    with pytest.raises(FileError, match="No target was named"):
        table().split_target()
    assert table().select(["gene", "age"]).names == ("gene", "age")


def test_description_is_json():
    known = json.loads(json.dumps(table().describe()))
    columns = {column.pop("name"): column for column in known["columns"]}
    assert columns["dose"] == dict(
        kind="number", missing=0, distinct=3, min=1, max=4, mean=7 / 3, std=columns["dose"]["std"]
    )
    assert columns["city"]["most"] == [["Rome", 2]] and columns["gene"]["longest"] == 3
    assert columns["sick"] == dict(kind="boolean", missing=0, distinct=2)
    huge = Table(Path("a"), "csv", {"a": number_column(np.array([1.7e308, 1.7e308, -1.0]))}, 3)
    assert huge.describe()["columns"][0]["mean"] is None
    gaps = Table(Path("a"), "csv", {"a": number_column(np.full(2, np.nan)), "b": text_column("b", [None, None])}, 2)
    assert gaps.describe()["columns"][0] == dict(name="a", kind="constant", missing=2, distinct=0)
    assert gaps.describe()["columns"][1]["longest"] == 0


def test_labels_of_samples_in_another_file():
    named = Sequences(Path("s.fasta"), "fasta", ["A", "C"], ("r", "p"), ("", ""))
    assert table().labels_for(named, "dose").tolist() == [4, 1]
    unnamed = GramMatrix(Path("k.npy"), "gram", np.eye(3))
    assert table().labels_for(unnamed, "dose").tolist() == [1, 2, 4]
    strangers = Sequences(Path("s.fasta"), "fasta", ["A", "C"], ("r", "z"), ("", ""))
    with pytest.raises(FileError, match=r"3 rows for the 2 samples of s\.fasta, and no column"):
        table().labels_for(strangers, "dose")
