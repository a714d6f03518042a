"""Tests of two files."""

import json

import numpy as np
import pytest

from mercer.cli.dependence import run
from mercer.cli.failures import UsageFault
from mercer.cli.terminal import Terminal
from mercer.inference import hsic_test, mmd_test
from mercer.kernels import Gaussian
from tests.unit.cli.commandline import write_fasta, write_table

GIVEN = dict(
    stat="mmd",
    kernel=None,
    other_kernel=None,
    null="permutation",
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
    expected = mmd_test(X, Y, n_permutations=99, random_state=0)
    assert told["p_value"] == expected.p_value == 0.01 and told["rejected"]
    assert told["statistic"] == pytest.approx(expected.statistic, rel=1e-6)
    assert told["samples"] == [50, 40]
    assert told["null"]["method"] == "permutation"
    assert not tell(capsys, x, x)["rejected"]
    assert tell(capsys, x, y, null="gamma", kernel="Gaussian(1.0)")["kernels"] == ["Gaussian(1.0)"]
    assert tell(capsys, x, y, null="aggregated")["p_value"] <= 0.02


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
    with pytest.raises(UsageFault, match="no kernel"):
        tell(capsys, x, y, kernel="KernelRidge()")
