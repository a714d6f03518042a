"""Converting files: data, and models of LIBSVM."""

import numpy as np
import pytest

from mercer.io.model_file import load
from mercer.io.readers import read
from tests.unit.cli.commandline import run, run_json, write_table

LIBSVM = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 2
rho 0
label 1 -1
nr_sv 1 1
SV
1 1:1 2:0.5
-1 1:-1
"""


@pytest.mark.parametrize("name", ["b.tsv", "b.jsonl", "b.parquet"])
def test_data(tmp_path, name):
    table = write_table(tmp_path / "a.csv")
    told = run_json("convert", table, "-o", tmp_path / name)
    assert told["samples"] == 90 and told["from"] == "csv"
    np.testing.assert_array_equal(read(tmp_path / name).columns["age"], read(table).columns["age"])
    assert "--force" in run("convert", table, "-o", tmp_path / name, code=2).stderr


def test_a_model_of_libsvm(tmp_path):
    path = tmp_path / "svm.model"
    path.write_text(LIBSVM)
    run("convert", path, "-o", tmp_path / "svm.mercer")
    assert load(tmp_path / "svm.mercer").predict([[1.0, 0.5], [-1.0, 0.0]]).tolist() == [1, -1]
    (tmp_path / "new.svmlight").write_text("1 1:1 2:0.5\n1 1:-1\n")
    assert "1" in run("predict", tmp_path / "svm.mercer", tmp_path / "new.svmlight").stdout
    path.write_text(LIBSVM.replace("rbf", "what"))
    assert "svm.model" in run("convert", path, "-o", tmp_path / "b.mercer", code=3).stderr


def test_what_is_refused(tmp_path):
    table = write_table(tmp_path / "a.csv")
    assert "--to" in run("convert", table, "-o", tmp_path / "a.doc", code=2).stderr
    run("convert", table, "-o", tmp_path / "a.doc", "--to", "csv")
    assert "--target" in run("convert", table, "-o", tmp_path / "a.svmlight", code=2).stderr
    assert not (tmp_path / "a.svmlight").exists()
    assert "none.csv" in run("convert", tmp_path / "none.csv", "-o", tmp_path / "x.csv", code=3).stderr


def test_notes_of_the_reader_are_told(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1,2\n3,4\n")
    assert "no header" in run("convert", path, "-o", tmp_path / "b.csv").stderr
