"""Fitting from files: automatic choices, estimators as text, budgets, what is written."""

import subprocess
import sys
import warnings

import click
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score

import mercer
from mercer.cli import fit as module
from mercer.cli.commands import COMMANDS
from mercer.estimators import (
    MultipleKernelClassifier,
    MultipleKernelRegressor,
)
from mercer.io.model_file import load
from mercer.kernels import Gaussian, Match, Precomputed
from mercer.runtime.workers import Here
from tests.unit.cli.commandline import run, run_json, write_svmlight, write_table

PLAIN = "KernelRidge(Gaussian(20.0).on(['age']))"


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "t.csv")


def test_regression_by_itself(table):
    told = run_json("fit", table, "--target", "y", "--no-report")
    assert told["task"] == "regression" and told["validation"] == "90 rows in 4 folds, the whole choice made in each"
    assert told["scores"]["r2"] > 0.6 and told["files"]["report"] is None
    assert told["seconds"] > 0 and told["peak_memory"] > 0
    model = load(table.with_suffix(".mercer"))
    assert model.data_["columns"] == ["age", "dose", "smoker", "city", "group", "note"]
    assert model.data_["kinds"]["smoker"] == "boolean" and model.data_["target"] == "y"
    assert any("same" in step and "id" in step for step in told["steps"])
    assert "TableEncoder" in told["kernel"] and "TfIdf().normalized().on('note')" in told["kernel"]


def test_classification_by_itself(table):
    result = run("fit", table, "-t", "group", "--no-report")
    assert "classification, since the target has 2 classes" in result.stdout and "accuracy" in result.stdout
    assert "cache_size" not in result.stdout
    assert load(table.with_suffix(".mercer")).classes_.tolist() == ["high", "low"]


def test_classes_get_a_machine_with_probabilities(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    ring = np.where(np.hypot(*X.T) > 1.2, "far", "near")  # the nearest mean cannot tell them apart
    path = tmp_path / "ring.csv"
    path.write_text("u,v,place\n" + "".join(f"{a:.4f},{b:.4f},{c}\n" for (a, b), c in zip(X, ring, strict=True)))
    told = run_json("fit", path, "-t", "place", "--no-report")
    model = load(path.with_suffix(".mercer"))
    assert model.predict_proba({"u": [0.0, 3.0], "v": [0.0, 0.0]}).shape == (2, 2)
    assert model.leaderboard_[0].score > 0.85 and model.verdict_.startswith("Right on")
    assert told["validation"].startswith("90 rows in 4 folds") and told["scores"]["accuracy"] > 0.85
    assert any("in folds by the probabilities of the right classes" in step for step in told["steps"])


@pytest.mark.parametrize(
    ("target", "text", "score"),
    [
        ("group", "SVC('rbf', C=10)", "accuracy"),
        ("group", "LinearSVC()", "accuracy"),
        ("y", "QuantileSVR(quantiles=(0.1, 0.9))", "below_quantile_0.1"),
        ("y", "LinearSVR()", "r2"),
        (None, "OneClassSVM(nu=0.2)", "coverage"),
        (None, "SVDD(nu=0.2)", "coverage"),
    ],
)
def test_support_vector_machines_as_text(table, target, text, score):
    options = ["-t", target] if target else []
    told = run_json("fit", table, *options, "-e", text, "--no-report", "--folds", 3)
    assert score in told["scores"] and np.isfinite(told["scores"][score])
    shown = run("fit", table, *options, "-e", text, "--no-report", "--force", "--folds", 0).stdout
    assert ("(kernel" in shown) == (not text.startswith("Linear"))


def test_a_report_is_written_beside_the_model(table):
    told = run_json("fit", table, "-t", "y")
    page = table.with_suffix(".html").read_text()
    assert told["files"]["report"] == str(table.with_suffix(".html"))
    assert page.lstrip().lower().startswith("<!doctype html") and "Model of y on t.csv" in page


def test_columns_may_be_chosen_or_left_out(table):
    told = run_json("fit", table, "-t", "y", "--features", "age,dose", "--no-report")
    assert set(load(table.with_suffix(".mercer")).data_["columns"]) == {"age", "dose"}
    told = run_json("fit", table, "-t", "y", "--drop", "age", "--drop", "city", "--no-report", "--force")
    assert told["files"]["model"] and "age" not in load(table.with_suffix(".mercer")).data_["columns"]
    for options, message, code in (
        (["--features", "age", "--drop", "dose"], "both given", 2),
        (["--drop", "y"], "the target", 2),
        (["--drop", "aeg"], "is 'age' meant", 3),
    ):
        assert message in run("fit", table, "-t", "y", *options, "--force", code=code).stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_that_was_given_twice_is_not_lost(name):
    """Of every command: an option with one value, given twice, would lose the first one without a word."""
    single = [o for o in COMMANDS[name].params if isinstance(o, click.Option) and not (o.multiple or o.is_flag)]
    for option in single:
        value = option.type.choices[0] if isinstance(option.type, click.Choice) else "1"
        words = [option.opts[-1], value, option.opts[0], value]
        assert f"{option.opts[-1]} was given 2 times" in run(name, *words, code=2).stderr


def test_several_targets_have_a_model_each(table):
    told = run_json("fit", table, "-t", "y", "-t", "dose", "--features", "age,city", "-e", PLAIN, "--folds", "0")
    assert set(told["targets"]) == {"y", "dose"}
    for name in ("y", "dose"):
        model = load(table.with_name(f"t.{name}.mercer"))
        assert model.data_["target"] == name and model.data_["columns"] == ["age"]
        assert table.with_name(f"t.{name}.html").is_file()
    said = run(
        "fit", table, "-t", "y", "-t", "dose", "-e", "KernelRidge()", "--folds", "0", "-o", table.with_name("m.mercer")
    )
    assert said.stdout.count("estimator  KernelRidge") == 2 and table.with_name("m.dose.mercer").is_file()
    assert "dose" not in load(table.with_name("m.y.mercer")).data_["columns"]
    for options, message in ((["-t", "y"], "twice"), (["-t", "dose", "--checkpoint", "a"], "one fit")):
        assert message in run("fit", table, "-t", "y", *options, code=2).stderr


def test_a_test_file_scores_the_model(table, tmp_path):
    new = write_table(tmp_path / "new.csv", n=40, seed=1)
    text = "KernelRidge(Gaussian(15.0).on(['age']) + Match().on('city'), alpha=0.1, fit_intercept=True)"
    options = ["-t", "y", "-e", text, "--folds", "0", "--test", new, "-f"]
    told = run_json("fit", table, *options, "--metric", "neg_mean_absolute_error")
    model = load(table.with_suffix(".mercer"))
    data = np.genfromtxt(new, delimiter=",", names=True, dtype=None, encoding="utf-8")
    guess = model.predict({"age": data["age"], "city": data["city"]})
    assert told["test"]["r2"] == pytest.approx(r2_score(data["y"], guess))
    assert told["test"]["neg_mean_absolute_error"] == pytest.approx(-np.mean(np.abs(data["y"] - guess)))
    assert "new.csv: neg_mean_absolute_error" in table.with_suffix(".html").read_text()
    assert "test  " in run("fit", table, *options).stdout
    new.write_text("age,city\n30,Rome\n")
    assert "no column 'y'" in run("fit", table, *options, code=3).stderr


def test_an_estimator_as_text(table):
    text = "KernelRidge(Gaussian(30.0).on(['age']) + Match().on('city'), alpha=0.1)"
    told = run_json("fit", table, "-t", "y", "-e", text, "--no-report")
    assert told["validation"] == "5-fold cross-validation" and told["scores"]["r2"] > 0.3
    assert "dose" in told["steps"][0]
    model = load(table.with_suffix(".mercer"))
    assert model.kernel == Gaussian(30.0).on(["age"]) + Match().on("city") and model.alpha == 0.1


def test_every_estimator_is_reachable(table):
    told = run_json("fit", table, "-e", "ParzenDensity(Gaussian(1.0))", "--no-report", "--folds", 3)
    assert told["task"] is None and told["target"] is None and "score_per_sample" in told["scores"]
    told = run_json("fit", table, "-t", "group", "-e", "KernelMeanClassifier(Spectrum(2))", "--no-report", "--force")
    assert told["task"] == "classification"
    told = run_json("fit", table, "-t", "y", "-e", "KernelRidge()", "--no-report", "--force", "--folds", 0)
    assert told["scores"] == {} and told["validation"] == "not validated"


def test_sparse_vectors_and_matrices(tmp_path):
    """Sequences, texts, trees and graphs are fitted in tests/contract/test_cli.py."""
    sparse = write_svmlight(tmp_path / "a.svmlight")
    told = run_json("fit", sparse, "--no-report")
    assert told["target"] == "label" and told["scores"]["accuracy"] > 0.9
    assert load(tmp_path / "a.mercer").data_["width"] == 6
    X = np.random.default_rng(0).normal(size=(30, 2))
    np.save(tmp_path / "k.npy", Gaussian(1.0)(X))
    labels = tmp_path / "labels.csv"
    labels.write_text("y\n" + "".join(f"{value:.5f}\n" for value in np.sin(X[:, 0])))
    told = run_json("fit", tmp_path / "k.npy", "--labels", labels, "--no-report")
    assert told["kernel"] == repr(Precomputed()) and told["scores"]["r2"] > 0.6
    result = run("fit", tmp_path / "k.npy", "--no-report", "--force", code=2)
    assert "--labels" in result.stderr


def test_rows_that_miss_values(tmp_path):
    path = write_table(tmp_path / "t.csv", missing=(3, 7))
    for options in (["--missing", "refuse"], ["-e", "KernelRidge(Gaussian(2.0).on(['age', 'dose']))"]):
        assert "2 of 90 rows miss a value" in run("fit", path, "-t", "y", "--no-report", *options, code=3).stderr
    told = run_json("fit", path, "-t", "y", "--no-report")
    assert any(step.startswith("missing in age: ") for step in told["steps"]) and told["data"]["dropped"] == 0
    path.with_suffix(".mercer").unlink()
    wrong = ["fit", path, "-t", "y", "--no-report", "--missing", "fill", "-e", "KernelRidge()"]
    assert "only a model that is found" in run(*wrong, code=2).stderr
    result = run("fit", path, "-t", "y", "--no-report", "--missing", "drop")
    assert "2 rows that miss a value were left out; 88 remain." in result.stderr


@pytest.mark.parametrize(
    ("options", "message", "code"),
    [
        (["-e", "Gaussian(1.0)"], "an estimator is needed", 2),
        (["-e", "KernelRigde()"], "Did you mean KernelRidge", 2),
        (["-e", "KernelRidge(alpha=-1.0)"], "alpha", 2),
        (["-e", "KernelRidge(Gaussian(1.0).on('agee'))"], "'age' meant", 3),
        (["-t", "group", "--task", "regression"], "regression needs numbers", 2),
        (["-t", "nothing"], "no column 'nothing'", 3),
        (["--memory", "lots"], "not a size", 2),
        (["-t", "y", "--max-time", "1e-9"], "--max-time", 4),
        (["-t", "y", "-o", "/nowhere/at/all.mercer"], "no folder", 2),
        (["-t", "y", "--memory", "1kB"], "memory", 4),
    ],
)
def test_what_is_refused(table, options, message, code):
    options = options if "-t" in options else [*options, "-t", "y"]
    result = run("fit", table, "--no-report", *options, code=code)
    assert message in result.stderr
    assert not table.with_suffix(".mercer").exists()


def test_no_target_no_fit(table):
    stderr = run("fit", table, "--no-report", code=2).stderr
    assert "--target" in stderr and "'age'" in stderr


def test_one_row_is_not_enough(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,2\n")
    text = "KernelRidge(Linear().on(['x']))"
    assert "at least two" in run("fit", path, "-t", "y", "-e", text, "--no-report", code=2).stderr


def test_a_table_with_nothing_to_compare(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,same,y\n" + "".join(f"S{i:03},x,{i}.5\n" for i in range(12)))
    stderr = run("fit", path, "-t", "y", "--no-report", code=3).stderr
    assert "No column is left" in stderr and "'id', 'same'" in stderr


def test_a_long_kernel_is_cut_on_the_screen_only(tmp_path):
    path, names = tmp_path / "a.csv", [f"c{j}" for j in range(150)]
    rows = np.random.default_rng(0).normal(size=(12, 151))
    np.savetxt(path, rows, delimiter=",", header=",".join([*names, "y"]), comments="")
    options = ["-t", "y", "--no-report", "--folds", 0, "--force", "-e", f"KernelRidge(Gaussian(9.0).on({names}))"]
    assert " characters)" in run("fit", path, *options).stdout
    assert run_json("fit", path, *options)["kernel"].endswith("'c149'])")


def test_nothing_is_overwritten_unasked(table):
    options = ["--no-report", "-e", "KernelRidge(Gaussian(20.0).on(['age']))", "--folds", 0]
    run("fit", table, "-t", "y", *options)
    before = table.with_suffix(".mercer").read_bytes()
    assert "--force" in run("fit", table, "-t", "dose", *options, code=2).stderr
    assert table.with_suffix(".mercer").read_bytes() == before
    run("fit", table, "-t", "dose", *options, "--force")
    assert table.with_suffix(".mercer").read_bytes() != before


def test_a_solver_that_stops_early(table):
    text = "KernelRidge(Gaussian(9.0), alpha=1e-9, gram=Tiles(), solver=ConjugateGradient(max_iter=1))"
    options = ["fit", table, "-t", "y", "-e", text, "--no-report", "--folds", 0]
    result = run(*options, code=5)
    assert "--allow-partial" in result.stderr and not table.with_suffix(".mercer").exists()
    told = run_json(*options, "--allow-partial")
    assert told["warnings"] and table.with_suffix(".mercer").exists()


def test_warnings_are_told_once():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(2):
            warnings.warn("careful", UserWarning, stacklevel=1)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        for count in (12, 20):
            warnings.warn(f"{count} of 30 rows are alike", UserWarning, stacklevel=1)
        warnings.warn("early", ConvergenceWarning, stacklevel=1)
    assert module._unconverged(told, allowed=True) == ["careful", "20 of 30 rows are alike", "early"]


def test_a_checkpoint_is_taken_up_and_removed(table, monkeypatch):
    state = table.with_suffix(".checkpoint")
    model = "KernelRidge(Gaussian(2.0).on(['age', 'dose']), alpha=1e-3, gram=Tiles())"
    options = ["-t", "y", "-e", model, "--folds", "0", "--no-report", "--checkpoint", state, "--checkpoint-every", "0s"]

    def interrupted(self, entries):
        written(self, entries)
        raise KeyboardInterrupt

    written = mercer.io.Checkpoint._write
    with monkeypatch.context() as patch:
        patch.setattr(mercer.io.Checkpoint, "_write", interrupted)
        result = run("fit", table, *options, code=130)
    assert f"the state of the fit is in {state}" in result.stderr.replace("\n", " ") and state.exists()
    assert "going on from the state" in run("fit", table, *options).stderr
    assert not state.exists() and table.with_suffix(".mercer").exists()
    assert "--checkpoint-every" in run("fit", table, *options[:-1], "soon", "-f", code=2).stderr


def test_a_report_that_is_interrupted_leaves_the_model(table, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.reports.report", interrupted)
    result = run("fit", table, "-t", "y", "-e", PLAIN, "--folds", "0", code=130)
    assert "Written before:" in " ".join(result.stderr.split()) and "nothing was written" not in result.stderr
    assert load(table.with_suffix(".mercer")).data_["target"] == "y" and not table.with_suffix(".html").exists()


def test_more_columns_than_rows(tmp_path):
    X = np.random.default_rng(0).normal(size=(8, 40))
    path = tmp_path / "wide.csv"
    lines = [",".join(f"{value:.3f}" for value in (*row, row[0])) for row in X]
    path.write_text("\n".join([",".join([*(f"c{i}" for i in range(40)), "t"]), *lines, ""]))
    told = run_json("fit", path, "-t", "t", "--no-report")
    assert "of 8 rows held out" in told["verdict"] and max(map(len, told["steps"])) < 300


def test_the_choice_of_the_gram_is_told(table):
    model = "KernelRidge(Gaussian(200.0).on(['age', 'dose']), gram=Auto(tol=0.1), memory='60KB')"
    told = run_json("fit", table, "-t", "y", "-e", model, "--folds", "0", "--no-report")
    assert "(allowed 0.1)" in told["gram"] and "Dense() (72 KiB" in told["gram"]
    shown = run("fit", table, "-t", "y", "-e", model, "--folds", "0", "--no-report", "-f").stdout
    assert "(allowed 0.1)" in " ".join(shown.split())
    plain = run_json("fit", table, "-t", "y", "-e", "KernelRidge(Gaussian(2.0).on('age'))", "--folds", "0", "-f")
    assert plain["gram"].startswith("Dense(), exact: the matrix fits")


# workers -----------------------------------------------------------------------------------------------------


def test_a_model_may_be_fitted_by_workers(table, tmp_path):
    distributed = pytest.importorskip("distributed")
    model = "KernelRidge(Gaussian(20.0).on(('age',)), alpha=0.1)"
    options = ["-t", "y", "-e", model, "--folds", "2", "--no-report", "-f"]
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, local_directory=tmp_path / "w",
        silence_logs=50,
    ) as cluster:  # fmt: skip
        found = run_json("fit", table, *options, "--dask", cluster.scheduler_address, "-o", tmp_path / "a.mercer")
    plain = run_json("fit", table, *options, "-o", tmp_path / "b.mercer")
    assert "Distributed('inproc://" in found["estimator"]
    assert found["scores"]["r2"] == pytest.approx(plain["scores"]["r2"], abs=1e-6)


@pytest.mark.parametrize("words", [["--dask"], ["--dask", "local"]], ids=" ".join)
def test_without_an_address_workers_are_started_here(table, tmp_path, monkeypatch, words):
    """The workers that would be started are this process."""
    asked = []
    monkeypatch.setattr(
        "mercer.gram.distributed.hire",
        lambda address, workers=None, *rest, **more: asked.append((address, workers)) or Here(),
    )
    options = ["-t", "y", "-e", "KernelRidge(Gaussian(20.0).on(('age',)))", "--folds", "0", "--threads", "2"]
    found = run_json("fit", table, *options, *words, "--no-report", "-o", tmp_path / "a.mercer")
    assert "gram=Distributed(None, workers=2)" in found["estimator"] and set(asked) == {(None, 2)}


@pytest.mark.slow
def test_workers_in_processes_of_their_own(table, tmp_path):
    pytest.importorskip("distributed")
    model = "KernelRidge(Gaussian(20.0).on(('age',)), alpha=0.1)"
    command = [sys.executable, "-m", "mercer", "fit", str(table), "-t", "y", "-e", model, "--folds", "0", "--no-report"]
    for name, words in (("a", ["--dask", "--threads", "2"]), ("b", ["--dask", "here"])):
        subprocess.run([*command, *words, "-o", str(tmp_path / f"{name}.mercer")], check=True, timeout=300)
    coefs = [mercer.load(tmp_path / f"{name}.mercer").dual_coef_ for name in ("a", "b")]
    assert np.array_equal(*coefs)


def test_workers_have_to_be_there_and_of_use(table):
    pytest.importorskip("distributed")
    options = ["-t", "y", "--no-report", "--folds", "0", "-f"]
    told = run("fit", table, *options, "--dask", "tcp://far.example:1", code=2).stderr
    assert "tls" in told
    assert "no scheduler" in run("fit", table, *options, "--dask", "inproc://nobody/1/2", code=2).stderr
    wrong = "KernelRidge(Gaussian(20.0).on(('age',)), gram=Dense())"
    assert "gram=Dense()" in run("fit", table, *options, "-e", wrong, "--dask", "here", code=2).stderr


def test_columns_are_weighed(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "mixed.csv"
    rows = ["colour,size,noise,group"]
    for i in range(60):
        colour, size = ("red", "blue", "green")[i % 3], rng.normal()
        rows.append(f"{colour},{size:.4f},{rng.normal():.4f},{'yes' if size + (colour == 'red') > 0.5 else 'no'}")
    path.write_text("\n".join(rows), encoding="utf-8")
    told = run_json("fit", path, "-t", "group", "--mix", "--no-report", "--folds", 3)
    model = load(told["files"]["model"])
    assert isinstance(model, MultipleKernelClassifier) and "size" in model.support_kernels_
    assert told["scores"]["accuracy"] > 0.7
    shown = run("fit", path, "-t", "size", "--mix", "--no-report", "--force", "--folds", 0).stdout
    assert "share of the decision" in shown
    both = run("fit", path, "-t", "group", "--mix", "-e", "SVC()", "--no-report", "--force", code=2)
    assert "Give one of them" in both.stderr


def test_an_estimator_with_several_kernels_reads_its_columns(table):
    kernels = "[Gaussian(1.0).on('age'), Match().on('city')]"
    text = f"MultipleKernelRegressor({kernels}, machine='squared', normalization='trace')"
    told = run_json("fit", table, "-t", "y", "-e", text, "--no-report", "--folds", 0)
    assert isinstance(load(told["files"]["model"]), MultipleKernelRegressor)
