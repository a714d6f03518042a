"""Certificates from files."""

import pytest

from mercer import SVC, KernelPCA, OneClassSVM
from mercer.io.model_file import load, save
from mercer.kernels import Gaussian
from tests.unit.cli.commandline import run, run_json, write_svmlight, write_table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificate")
    table = write_table(folder / "t.csv", n=60)
    write_table(folder / "new.csv", n=30, seed=1)
    kernel = "Gaussian(20.0).on(['age', 'dose'])"
    run("fit", table, "-t", "group", "--estimator", f"SVC({kernel})", "--no-report", "-o", folder / "group.mercer")
    return folder


def test_text_has_bounds_estimates_and_assumptions(folder):
    text = run("certificate", folder / "group.mercer", folder / "t.csv", "--held-out", folder / "new.csv").stdout
    for part in ("Bounds", "PAC-Bayes", "Measured", "leave-one-out", "5-fold", "hold-out", "Assumptions"):
        assert part in text


def test_json_has_the_numbers_of_the_library(folder):
    told = run_json("certificate", folder / "group.mercer", folder / "t.csv", "--delta", "0.1", "--folds", "0")
    assert told["delta"] == 0.1
    assert told["n"] == 60
    model = load(folder / "group.mercer")
    assert told["model"] == repr(model)
    assert [one["name"] for one in told["estimates"]] == ["training"]


def test_detectors_and_sparse_files(tmp_path):
    data = write_svmlight(tmp_path / "s.svmlight")
    run("fit", data, "--estimator", "SVC(Gaussian(3.0))", "--no-report", "-o", tmp_path / "m.mercer")
    assert run_json("certificate", tmp_path / "m.mercer", data, "--folds", "0")["quantity"] == "P(error)"


def test_what_cannot_be_certified_is_told(folder, tmp_path):
    table = folder / "t.csv"
    save(KernelPCA(Gaussian(1.0), n_components=1).fit([[0.0], [1.0], [2.0]]), tmp_path / "pca.mercer")
    assert "no bounds for a KernelPCA" in run("certificate", tmp_path / "pca.mercer", table, code=2).stderr
    assert "--target" in run("certificate", folder / "group.mercer", table, "-t", "nothing", code=2).stderr
    assert "--folds" in run("certificate", folder / "group.mercer", table, "--folds", "1", code=2).stderr


def test_a_detector_has_no_target(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n" + "\n".join(f"{i % 7},{i % 5}" for i in range(40)) + "\n")
    model = OneClassSVM(Gaussian(2.0), nu=0.2).fit([[i % 7, i % 5] for i in range(40)])
    save(model, tmp_path / "m.mercer")
    told = run_json("certificate", tmp_path / "m.mercer", tmp_path / "x.csv", "--folds", "0")
    assert told["quantity"] == "P(outside)"
    assert isinstance(model, OneClassSVM) and not isinstance(model, SVC)
