"""What is told about a saved model."""

import numpy as np
import pytest

from mercer import SVC, KernelPCA, KernelRidge
from mercer.io.model_file import save
from mercer.kernels import Gaussian
from tests.unit.cli.commandline import run, run_json, write_table


def test_a_model_of_the_command_line(tmp_path):
    table = write_table(tmp_path / "t.csv", n=30)
    run("fit", table, "-t", "group", "--no-report", "-e", "SVC(Gaussian(20.0).on('age'), C=3.0)", "--folds", 0)
    told = run_json("show", tmp_path / "t.mercer")
    assert told["estimator"] == "SVC" and told["kernel"] == "Gaussian(20.0).on('age')"
    assert told["parameters"] == {"C": "3.0"} and told["task"] == "classification" and told["target"] == "group"
    assert told["classes"] == ["high", "low"] and told["columns"] == ["age"] and 0 < told["samples"] <= 30
    text = run("show", tmp_path / "t.mercer").stdout
    for word in ("SVC", "C ", "group", "high, low", "tolerance was reached"):
        assert word in text


@pytest.mark.parametrize("model", [KernelRidge(Gaussian(1.0), alpha=0.5), SVC(), KernelPCA(n_components=2)])
def test_models_made_in_python(tmp_path, model):
    rng = np.random.default_rng(0)
    save(model.fit(rng.normal(size=(12, 2)), rng.integers(0, 2, 12)), tmp_path / "m.mercer")
    told = run_json("show", tmp_path / "m.mercer")
    assert told["estimator"] == type(model).__name__ and told["target"] is None and told["bytes"] > 100
    assert type(model).__name__ in run("show", tmp_path / "m.mercer").stdout


def test_what_is_no_model_is_refused(tmp_path):
    (tmp_path / "m.mercer").write_text("nothing")
    assert "m.mercer" in run("show", tmp_path / "m.mercer", code=3).stderr
