import gzip
import importlib
import os
import subprocess
import sys

import numpy as np
import pytest

import mercer.io
from mercer.errors import MemoryBudgetError, ParameterError, TimeBudgetError
from mercer.io import FORMATS, FileError, Limits, detect, read
from tests.broken_files import CSV, FASTA, FASTQ, JSONL, SVMLIGHT, TSV, npy
from tests.unit.cli.commandline import write_trees, write_tu

CONTENTS = {"csv": CSV, "tsv": TSV, "svmlight": SVMLIGHT, "jsonl": JSONL, "fasta": FASTA, "fastq": FASTQ}


@pytest.mark.parametrize("format", CONTENTS)
def test_formats_by_extension_by_look_and_compressed(format, tmp_path):
    data = CONTENTS[format].encode()
    names = [f"data.{extension}" for extension in FORMATS[format]]
    for name in [*names, names[0].upper(), "data", "data.txt", "data.v2"]:
        (tmp_path / name).write_bytes(data)
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(data))
        expected = format if name in [*names, names[0].upper()] else format.replace("tsv", "csv")
        assert detect(tmp_path / name) == detect(tmp_path / f"{name}.gz") == expected
        assert read(str(tmp_path / name)).format == format


def test_first_bytes_win_over_the_extension(tmp_path):
    (tmp_path / "data.csv").write_bytes(npy(np.eye(2)))
    assert detect(tmp_path / "data.csv") == "gram"


def test_the_format_can_be_named(tmp_path):
    (tmp_path / "data.txt").write_text("a\n1\n2\n")
    with pytest.raises(FileError, match="The format is not known"):
        read(tmp_path / "data.txt")
    assert read(tmp_path / "data.txt", format="csv").names == ("a",)
    np.save(tmp_path / "new.npy", np.ones((1, 3)))
    assert read(tmp_path / "new.npy", format="gram-rows").n == 1


def test_unknown_formats_list_the_known_ones(tmp_path):
    (tmp_path / "data").write_text("hello world\n")
    with pytest.raises(FileError, match=r"extension \(none\).*CSV, TSV, Excel.*one of csv, tsv"):
        read(tmp_path / "data")
    with pytest.raises(ParameterError, match="format='xls' is not known; csv, tsv"):
        read(tmp_path / "data", format="xls")
    with pytest.raises(ParameterError, match="not a kind of column"):
        read(tmp_path / "data", kinds={"a": "float"})


def test_kinds_of_a_training_table_read_new_samples_alike(tmp_path):
    (tmp_path / "train.csv").write_text("zip,x\n12,1\n34,2\nK1A,3\n12,4\n")
    (tmp_path / "new.csv").write_text("zip,x\n12,1\n")
    kinds = read(tmp_path / "train.csv").kinds
    assert kinds == {"zip": "category", "x": "number"}
    assert read(tmp_path / "new.csv", kinds=kinds).X["zip"] == ["12"]


@pytest.mark.parametrize("error", [MemoryError("no"), OSError(5, "Input/output error")])
def test_trouble_of_the_machine_is_told_as_that_of_the_file(error, tmp_path, monkeypatch):
    def fail(source, kinds):
        raise error

    (tmp_path / "data.csv").write_text(CSV)
    monkeypatch.setitem(importlib.import_module("mercer.io.readers")._READERS, "csv", fail)
    with pytest.raises(FileError, match=r"Memory ran out|cannot be read: Input/output error") as caught:
        read(tmp_path / "data.csv")
    assert isinstance(caught.value, MemoryError) == isinstance(error, MemoryError)


def test_budgets_keep_their_kind_of_error(tmp_path):
    (tmp_path / "data.csv").write_text(CSV)
    with pytest.raises(MemoryBudgetError, match="Reading it needs"):
        read(tmp_path / "data.csv", limits=Limits(memory=10))
    with pytest.raises(TimeBudgetError):
        read(tmp_path / "data.csv", limits=Limits(seconds=1e-9))


def test_folders(tmp_path):
    graphs, trees = write_tu(tmp_path / "TOY"), write_trees(tmp_path / "bank")
    assert read(graphs).kind == read(str(graphs), "tu").kind == "graphs" and read(trees).kind == "trees"
    with pytest.raises(FileError, match="nor files of trees"):
        read(graphs, "trees")
    with pytest.raises(FileError, match=r"no file ending in _A\.txt"):
        read(trees, "tu")
    with pytest.raises(FileError, match="This is a directory"):
        read(trees, "csv")
    with pytest.raises(FileError, match="not a folder"):
        read(trees / "sits" / "bank.mrg", "trees")
    with pytest.raises(FileError, match="cannot be read"):
        read(trees / "sits" / "bank.mrg", "tu")
    with pytest.raises(FileError, match="too much to look through"):
        read(trees, limits=Limits(rows=1))


@pytest.mark.parametrize("error", [MemoryError("no"), OSError(5, "Input/output error")])
def test_trouble_of_the_machine_is_told_as_that_of_the_folder(error, tmp_path, monkeypatch):
    def fail(path, limits):
        raise error

    monkeypatch.setattr(importlib.import_module("mercer.io.structures.graph_archives"), "read_tu", fail)
    with pytest.raises(FileError, match=r"Memory ran out|cannot be read: Input/output error") as caught:
        read(write_tu(tmp_path / "TOY"))
    assert isinstance(caught.value, MemoryError) == isinstance(error, MemoryError)


def test_bytes_in_a_path(tmp_path):
    path = tmp_path / os.fsdecode(b"\xff.csv")
    path.write_text("a\n")
    with pytest.raises(FileError) as caught:
        read(path)
    assert str(caught.value).isprintable()


def test_names_are_found_when_asked_for():
    assert set(mercer.io.__all__) <= set(dir(mercer.io))
    assert all(getattr(mercer.io, name) is not None for name in mercer.io.__all__)
    with pytest.raises(AttributeError):
        _ = mercer.io.nothing


def test_reading_a_table_imports_nothing_heavy(tmp_path):
    (tmp_path / "data.csv").write_text(CSV)
    code = (
        "import sys; from mercer.io import read; read(sys.argv[1]);"
        "print({'sklearn', 'numba', 'pandas', 'pyarrow', 'matplotlib'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "data.csv")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.strip() == "set()"
