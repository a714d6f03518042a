"""Tests of two files."""

import json

import numpy as np
import pytest

from mercer.cli.dependence import run
from mercer.cli.failures import UsageFault
from mercer.cli.terminal import Terminal
from mercer.errors import MemoryBudgetError, TimeBudgetError
from mercer.inference import WildBootstrap, hsic_test, mmd_test
from mercer.kernels import Gaussian
from tests.unit.cli.commandline import brackets, write_fasta, write_svmlight, write_table

GIVEN = dict(
    stat="mmd",
    kernel=None,
    other_kernel=None,
    null="permutation",
    block_length=None,
    permutations=99,
    seed=0,
    level=0.05,
    missing="refuse",
    format=None,
    memory=None,
    max_time=None,
    threads=None,
)


def tell(capsys, data, other, **options):
    run(Terminal(as_json=True), data=data, other=other, **{**GIVEN, **options})
    return json.loads(capsys.readouterr().out)


def write(path, values, names=("a", "b")):
    lines = [",".join(names), *(",".join(f"{v:.12g}" for v in row) for row in values)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def tables(tmp_path):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(50, 2)), rng.normal(1.0, size=(40, 2))
    return write(tmp_path / "x.csv", X), write(tmp_path / "y.csv", Y), X, Y


def test_two_samples(capsys, tables):
    x, y, X, Y = tables
    told = tell(capsys, x, y)
    width = np.sqrt(2.0) * np.concatenate([X, Y]).std(axis=0)  # of both files together
    expected = mmd_test(X, Y, Gaussian(tuple(width)), 99, 0)
    assert told["p_value"] == expected.p_value == 0.01 and told["rejected"]
    assert told["statistic"] == pytest.approx(expected.statistic, rel=1e-3)
    assert told["samples"] == [50, 40]
    assert told["null"]["method"] == "permutation"
    assert not tell(capsys, x, x)["rejected"]
    assert tell(capsys, x, y, null="gamma", kernel="Gaussian(1.0)")["kernels"] == ["Gaussian(1.0)"]
    told = tell(capsys, x, y, null="aggregated")
    assert told["p_value"] <= 0.02 and len(told["kernels"]) == 6


@pytest.mark.parametrize("stat", ["mmd", "hsic"])
@pytest.mark.parametrize("null", ["permutation", "spectral", "wild", "aggregated"])
def test_verdict_and_critical_value_agree(capsys, tables, null, stat):
    x, _, X, _ = tables
    far = write(x.with_name("far.csv"), X[::-1] + 3.0)
    for other in (far, x):
        told = tell(capsys, x, other, stat=stat, null=null)
        assert told["rejected"] == (told["p_value"] <= 0.05) == (told["statistic"] > told["critical"])


def test_nulls_without_permutations(capsys, tables):
    x, y, X, Y = tables
    for null, given, method in (
        ("spectral", {}, "spectral"),
        ("wild", {}, "wild bootstrap"),
        (WildBootstrap(3.0), {"null": "wild", "block_length": 3.0}, "wild bootstrap"),
    ):
        told = tell(capsys, x, y, **{"null": null, "kernel": "Gaussian(1.0)", **given})
        expected = mmd_test(X, Y, Gaussian(1.0), 99, 0, null=null)
        assert told["p_value"] == expected.p_value and told["null"]["method"] == method
        assert told["null"]["mean"] == pytest.approx(expected.null.mean, rel=1e-6)
        told = tell(capsys, x, x, stat="hsic", **{"null": null, "kernel": "Gaussian(1.0)", **given})
        assert told["null"]["mean"] == pytest.approx(
            hsic_test(X, X, (Gaussian(1.0),) * 2, 99, 0, null=null).null.mean, rel=1e-6
        )
    with pytest.raises(UsageFault, match="--null wild"):
        tell(capsys, x, y, block_length=3.0)


def test_categories_and_texts_are_compared(capsys, tmp_path):
    first = write_table(tmp_path / "a.csv")
    lines = first.read_text().splitlines()
    told = tell(capsys, first, write_table(tmp_path / "b.csv", seed=1))
    assert not told["rejected"] and "Match().on('city')" in told["kernels"][0] and "TfIdf(" in told["kernels"][0]
    constant = tmp_path / "c.csv"  # one value in one file is no reason to leave the column out
    constant.write_text("\n".join([lines[0], *(line.replace(",no,", ",yes,") for line in lines[1:])]) + "\n")
    assert "smoker" in tell(capsys, first, constant)["kernels"][0]
    cities = write_column(tmp_path / "city.csv", "city", [line.split(",")[4] for line in lines[1:]])
    rest = write_column(tmp_path / "y.csv", "y", [line.split(",")[7] for line in lines[1:]])
    told = tell(capsys, cities, rest, stat="hsic")
    assert told["rejected"] and told["kernels"][0] == "Match().on('city')"
    moved = [line.split(",")[4].replace("Oslo", "Rome") for line in lines[1:]]
    assert tell(capsys, cities, write_column(tmp_path / "moved.csv", "city", moved))["rejected"]
    assert len(tell(capsys, cities, rest, stat="hsic", null="aggregated")["kernels"]) == 6


def write_column(path, name, values):
    path.write_text("\n".join([name, *values]) + "\n")
    return path


def test_files_of_other_kinds(capsys, tmp_path, tables):
    x, _, X, _ = tables
    fasta, trees = write_fasta(tmp_path / "a.fasta"), tmp_path / "a.mrg"
    assert tell(capsys, fasta, write_fasta(tmp_path / "b.fasta", seed=1))["kernels"] == ["Spectrum(3).normalized()"]
    trees.write_text("\n".join(brackets()) + "\n")
    assert not tell(capsys, trees, trees)["rejected"]
    sparse = write_svmlight(tmp_path / "a.svmlight")
    assert "Gaussian" in tell(capsys, sparse, sparse)["kernels"][0]
    np.save(tmp_path / "gram.npy", X @ X.T)
    told = tell(capsys, tmp_path / "gram.npy", x, stat="hsic")
    assert told["rejected"] and told["kernels"][0] == "Precomputed()"
    with pytest.raises(UsageFault, match="neither matrix"):
        tell(capsys, tmp_path / "gram.npy", tmp_path / "gram.npy")
    with pytest.raises(UsageFault, match="same kind"):
        tell(capsys, x, fasta)


def test_budgets(capsys, tables):
    x, y, _, _ = tables
    with pytest.raises(TimeBudgetError, match="stopped"):
        tell(capsys, x, y, permutations=10_000_000, max_time=0.2)
    with pytest.raises(MemoryBudgetError, match="Gram matrix"):
        tell(capsys, x, y, memory="20kB")
    assert tell(capsys, x, y, threads=1) == tell(capsys, x, y, threads=2)


def test_independence(capsys, tmp_path):
    rng = np.random.default_rng(1)
    u = rng.normal(size=(60, 1))
    v = u**2 + 0.2 * rng.normal(size=(60, 1))
    a, b = write(tmp_path / "u.csv", u, ["u"]), write(tmp_path / "v.csv", v, ["v"])
    told = tell(capsys, a, b, stat="hsic", kernel="Gaussian(1.0)", other_kernel="Gaussian(2.0)")
    expected = hsic_test(u, v, (Gaussian(1.0), Gaussian(2.0)), 99, 0)
    assert told["p_value"] == expected.p_value == 0.01
    assert told["kernels"] == ["Gaussian(1.0)", "Gaussian(2.0)"]
    short = write(tmp_path / "w.csv", v[:50], ["v"])
    with pytest.raises(UsageFault, match="60 rows"):
        tell(capsys, a, short, stat="hsic")


def test_sequences(capsys, tmp_path):
    first, second = write_fasta(tmp_path / "a.fasta", seed=0), write_fasta(tmp_path / "b.fasta", seed=1)
    assert not tell(capsys, first, second, kernel="Spectrum(2)")["rejected"]


def test_text_for_people(capsys, tables):
    x, y, _, _ = tables
    run(Terminal(), data=x, other=y, **GIVEN)
    out = capsys.readouterr().out
    assert "p-value" in out and "rejected at 0.05" in out


def test_missing_values(capsys, tmp_path):
    whole, holes = write_table(tmp_path / "a.csv"), write_table(tmp_path / "b.csv", missing=(3, 5), seed=1)
    told = tell(capsys, whole, holes, missing="drop")
    assert told["samples"] == [90, 88]
    with pytest.raises(UsageFault, match="belong together"):
        tell(capsys, whole, holes, stat="hsic", missing="drop")


def test_doors(capsys, tables):
    x, y, _, _ = tables
    with pytest.raises(UsageFault, match="one kernel"):
        tell(capsys, x, y, other_kernel="Linear()")
    with pytest.raises(UsageFault, match="leave out --kernel"):
        tell(capsys, x, y, null="aggregated", kernel="Linear()")
    with pytest.raises(UsageFault, match="is not a kernel"):
        tell(capsys, x, y, kernel="KernelRidge()")
    other = write(x.with_name("z.csv"), np.ones((5, 2)) * np.arange(5)[:, None], ("c", "d"))
    with pytest.raises(UsageFault, match="in common"):
        tell(capsys, x, other)
    texts = x.with_name("t.csv")
    texts.write_text("a,b\n" + "".join(f"{'uv'[i % 2]},{i}\n" for i in range(30)))
    with pytest.raises(UsageFault, match="'a' holds"):
        tell(capsys, x, texts)
