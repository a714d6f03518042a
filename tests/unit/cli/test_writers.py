"""Data written are the data read."""

from pathlib import Path

import numpy as np
import pytest

from mercer.cli.failures import UsageFault
from mercer.cli.inputs import open_data
from mercer.cli.writers import FORMATS, format_of, guarded, pieces
from mercer.domains import Trees
from tests.unit.cli.commandline import write_fasta, write_svmlight, write_table, write_trees, write_tu


def rewritten(data, path, format, target=None):
    path.write_bytes(b"".join(pieces(data, format, target)))
    return open_data(path)


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize("n", [3, 90])
def test_tables_come_back(tmp_path, format, n):
    data = open_data(write_table(tmp_path / "t.csv", n=n, missing=(1,)))
    again = rewritten(data, tmp_path / f"u.{format}", format)
    assert again.names == data.names and again.n == n
    for name in data.names:
        if isinstance(data.columns[name], np.ndarray):
            np.testing.assert_array_equal(again.columns[name], data.columns[name])
        else:
            assert list(map(str, again.columns[name])) == list(map(str, data.columns[name]))


def test_many_rows_are_written_in_pieces(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n" + "".join(f"{i}.5\n" for i in range(25_000)))
    data = open_data(path)
    again = rewritten(data, tmp_path / "b.csv", "csv")
    np.testing.assert_array_equal(again.columns["x"], data.columns["x"])


@pytest.mark.parametrize("value", [0.1, 1e-300, 123456789.123456789, 5e-324, 2.0**53 + 2, -7.0])
def test_numbers_keep_every_bit(tmp_path, value):
    path = tmp_path / "a.csv"
    path.write_text(f"x\n{value!r}\n1.5\n")
    assert rewritten(open_data(path), tmp_path / "b.csv", "csv").columns["x"][0] == value


def test_sparse_vectors_come_back(tmp_path):
    data = open_data(write_svmlight(tmp_path / "a.svmlight"))
    again = rewritten(data, tmp_path / "b.svmlight", "svmlight")
    np.testing.assert_array_equal(again.matrix.toarray(), data.matrix.toarray())
    np.testing.assert_array_equal(again.label, data.label)
    table = rewritten(data, tmp_path / "c.csv", "csv")
    np.testing.assert_array_equal(table.columns["x2"], data.matrix.toarray()[:, 1])
    zero = tmp_path / "z.svmlight"
    zero.write_text("1 0:1.5 2:2\n-1 1:1\n")
    assert rewritten(open_data(zero), tmp_path / "y.svmlight", "svmlight").zero_based


def test_tables_become_sparse_vectors(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n0,1.5,x\n2,0,z\n3,1,x\n")
    again = rewritten(open_data(path), tmp_path / "a.svmlight", "svmlight", "y")
    np.testing.assert_array_equal(again.matrix.toarray(), [[0, 1.5], [2, 0], [3, 1]])
    np.testing.assert_array_equal(again.label, [0, 1, 0])


def test_sequences_and_matrices_become_tables(tmp_path):
    data = open_data(write_fasta(tmp_path / "p.fasta", n=3))
    table = rewritten(data, tmp_path / "p.jsonl", "jsonl")
    assert list(table.columns["sequence"]) == data.X and "description" in table.names
    np.save(tmp_path / "k.npy", np.array([[2.0, 1.0], [1.0, 2.0]]))
    assert rewritten(open_data(tmp_path / "k.npy"), tmp_path / "k.csv", "csv").names == ("k1", "k2")


def test_trees_become_tables(tmp_path):
    data = open_data(write_trees(tmp_path / "bank", n=6))
    table = rewritten(data, tmp_path / "t.csv", "csv")
    assert table.names == ("id", "tree", "folder") and table.columns["folder"] == list(data.y)
    assert Trees.pack(table.columns["tree"]).nested(3) == data.X.nested(3)
    (tmp_path / "a.mrg").write_text("(S (NP we))\n(S you)\n")
    assert rewritten(open_data(tmp_path / "a.mrg"), tmp_path / "u.jsonl", "jsonl").names == ("id", "tree")


def test_graphs_have_no_place_in_tables(tmp_path):
    with pytest.raises(UsageFault, match=r"holds graphs.*mercer gram"):
        pieces(open_data(write_tu(tmp_path / "TOY")), "csv")


def test_what_svmlight_cannot_hold(tmp_path):
    table = open_data(write_table(tmp_path / "t.csv", missing=(1,)))
    for data, target, message in (
        (table, None, "--target"),
        (table, "y", "not numbers"),
        (table.select(["age", "y"]), "y", "misses values"),
        (open_data(write_fasta(tmp_path / "p.fasta")), None, "holds sequences"),
        (open_data(write_trees(tmp_path / "bank")), None, "holds trees"),
        (open_data(write_tu(tmp_path / "TOY")), None, "holds graphs"),
    ):
        with pytest.raises(UsageFault, match=message):
            list(pieces(data, "svmlight", target))


def test_endings():
    assert {format_of(Path(f"a.{name}")) for name in FORMATS} == set(FORMATS)
    assert format_of(Path("m.mercer")) == "mercer" and format_of(Path("a")) is None


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+2", "'=1+2"),
        ("+sum", "'+sum"),
        ("-", "'-"),
        ("@a", "'@a"),
        ("\t=1", "'\t=1"),
        ("-1.5", "-1.5"),
        ("+2", "+2"),
        ("a=b", "a=b"),
        ("", ""),
        (-1.5, -1.5),
        (None, None),
    ],
)
def test_cells_for_a_spreadsheet(cell, written):
    assert guarded(cell) == written


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_formulas_are_kept_unless_a_spreadsheet_is_meant(tmp_path, format):
    path = tmp_path / "t.csv"
    path.write_text("=name,x\n=1+2,-1.5\n-,2\n")
    table, sign = open_data(path), "," if format == "csv" else "\t"
    as_given = b"".join(pieces(table, format)).decode().splitlines()
    assert as_given == [f"=name{sign}x", f"=1+2{sign}-1.5", f"-{sign}2"]
    safe = b"".join(pieces(table, format, spreadsheet=True)).decode().splitlines()
    assert safe == [f"'=name{sign}x", f"'=1+2{sign}-1.5", f"'-{sign}2"]
