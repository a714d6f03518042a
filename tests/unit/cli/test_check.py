"""The file doctor and the Gram doctor."""

import numpy as np
import pytest

from mercer.cli.check import findings, gram_figures
from mercer.cli.inputs import open_data
from mercer.kernels import Gaussian
from tests.unit.cli.commandline import run, run_json, write_fasta, write_svmlight, write_table, write_tu


def written(tmp_path, text, name="a.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_table(tmp_path):
    path = write_table(tmp_path / "t.csv", missing=(1,))
    told = run_json("check", path, "--target", "y")
    assert (
        told["samples"] == 90 and {column["name"]: column["kind"] for column in told["columns"]}["city"] == "category"
    )
    assert any("'age' misses 1 of 90" in finding for finding in told["findings"])
    assert any("Constant" in finding and "'same'" in finding for finding in told["findings"])
    text = run("check", path).stdout
    assert "Findings:" in text and "age\tnumber\t1\t" in text


def test_nothing_odd(tmp_path):
    rows = "".join(f"{i},{i * i % 7}.5\n" for i in range(20))
    assert "Nothing odd" in run("check", written(tmp_path, "a,b\n" + rows)).stdout


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("a,b\n1,2\n1,2\n3,4\n", "1 of 3 samples repeat"),
        ("a,b\n1,1\n2,2\n3,3\n", "'a' and 'b' are the same"),
        ("a,b\n1,1e9\n2,3e9\n3,2e9\n", "Scales differ: 'b' varies"),
        ("a,y\n" + "".join(f"{i},{'x' if i else 'z'}\n" for i in range(30)), "Classes are unequal"),
        ("a,y\n1,5\n2,5\n3,5\n", "the same in all rows"),
    ],
)
def test_what_is_odd(tmp_path, text, finding):
    data = open_data(written(tmp_path, text))
    target = "y" if "y" in data.names else None
    assert any(finding in found for found in findings(data, target))


def test_other_kinds_of_samples(tmp_path):
    sparse = open_data(written(tmp_path, "1 1:2\n-1 1:2\n1\n", "a.svmlight"))
    found = findings(sparse)
    assert any("1 of 3 vectors are zero" in finding for finding in found) and any(
        "repeat" in finding for finding in found
    )
    fasta = open_data(written(tmp_path, ">a\nACGT\n>b\nACGT\n", "a.fasta"))
    assert any("repeat" in finding for finding in findings(fasta))
    assert findings(open_data(write_svmlight(tmp_path / "b.svmlight"))) == []


def test_a_gram_matrix(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 2))
    np.save(tmp_path / "k.npy", Gaussian(1.0)(X))
    told = run_json("check", tmp_path / "k.npy")["gram"]
    assert told["samples"] == told["used"] == 30 and told["asymmetry"] == 0.0 and told["smallest_eigenvalue"] > -1e-12
    K = X @ X.T
    np.save(tmp_path / "k.npy", K)
    result = run("check", tmp_path / "k.npy")
    assert "rank 2, condition infinite" in result.stdout and "The rank is 2 of 30" in result.stdout
    np.save(tmp_path / "k.npy", K - 5.0 * np.eye(30))
    assert "not positive semi-definite" in run("check", tmp_path / "k.npy").stdout


def test_the_gram_matrix_of_a_kernel(tmp_path):
    told = run_json("check", write_table(tmp_path / "t.csv"), "-k", "Gaussian(1e-9).on('age')", "-t", "y")
    assert told["gram"]["kernel"] == "Gaussian(1e-09).on('age')"
    assert any("too small" in finding for finding in told["findings"])
    fasta = write_fasta(tmp_path / "p.fasta")
    assert run_json("check", fasta, "-k", "Spectrum(2)", "-t", "family")["gram"]["rank"] > 10
    assert "a kernel is needed" in run("check", fasta, "-k", "KernelRidge()", code=2).stderr
    assert "Did you mean" in run("check", fasta, "-k", "Spectrun(2)", code=2).stderr


def test_figures():
    figures = gram_figures(np.array([[2.0, 1.0], [1.0, 2.0]]), 5)
    assert figures["condition"] == pytest.approx(3.0) and figures["rank"] == 2 and figures["samples"] == 5
    assert any("symmetric" in finding for finding in gram_figures(np.array([[1.0, 0.5], [0.0, 1.0]]), 2)["findings"])
    assert any("alike" in finding for finding in gram_figures(np.ones((3, 3)), 3)["findings"])
    assert gram_figures(np.zeros((2, 2)), 2)["rank"] == 0
    ill = np.diag([1.0, 1e-13])
    ill[0, 1] = ill[1, 0] = 1e-8
    assert any("condition" in finding for finding in gram_figures(ill, 2)["findings"])


def test_structures(tmp_path):
    (tmp_path / "a.mrg").write_text("(S (NP we))\n(S (NP you))\n(S (NP we))\n()\n")
    told = run_json("check", tmp_path / "a.mrg")
    assert told["kind"] == "trees" and told["samples"] == 4 and told["format"] == "penn"
    assert any("1 of 4 trees have no node" in finding for finding in told["findings"])
    assert any("1 of 4 samples repeat" in finding for finding in told["findings"])
    told = run_json("check", write_tu(tmp_path / "TOY", n=40))
    assert told["kind"] == "graphs" and told["fields"] == ["label"] and told["labels"] == 2
    assert any("samples repeat" in finding for finding in told["findings"])
    (tmp_path / "TOY" / "TOY_graph_labels.txt").write_text("1\n" * 38 + "2\n" * 2)
    told = run_json("check", tmp_path / "TOY")
    assert any("Classes are unequal: of 40 rows, '2' 2" in finding for finding in told["findings"])


def test_broken_files_name_the_place(tmp_path):
    told = run_json("check", written(tmp_path, "a,b\n1,2\n3\n"), code=3)["error"]
    assert told["line"] == 3 and told["file"].endswith("a.csv")
