"""Models that are found or as asked, with weights, groups and times of rows."""

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, r2_score

from mercer import KernelRidge
from mercer.cli.inputs import Rows
from mercer.cli.score_lines import said, splits
from mercer.io.model_file import load
from mercer.kernels import Gaussian
from tests.unit.cli.commandline import run, run_json

MODEL = "KernelRidge(Gaussian(1.0).on(['u']), alpha=0.1)"


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["u,weight,patient,day,y"]
    for i in range(60):
        u = rng.normal()
        lines.append(f"{u:.4f},{i % 3},p{i % 6},2024-01-{1 + i // 2:02},{np.sin(u):.5f}")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "t.csv"


def columns(table):
    return np.genfromtxt(table, delimiter=",", names=True, dtype=None, encoding="utf-8")


def test_weights_are_those_of_the_fit_and_no_input(table):
    run_json("fit", table, "-t", "y", "-e", MODEL, "--weights", "weight", "--folds", "2", "--no-report")
    model, data = load(table.with_suffix(".mercer")), columns(table)
    again = KernelRidge(Gaussian(1.0).on(["u"]), alpha=0.1)
    again.fit({"u": data["u"]}, data["y"], sample_weight=data["weight"].astype(float))
    np.testing.assert_allclose(model.dual_coef_, again.dual_coef_, rtol=1e-10)
    assert model.data_["columns"] == ["u"]


@pytest.mark.parametrize("option", [["--groups", "patient"], ["--time", "day"]])
def test_folds_respect_groups_and_time(table, option):
    told = run_json(
        "fit", table, "-t", "y", "-e", MODEL, *option, "--folds", "3", "--metric", "neg_mean_absolute_error"
    )
    data = columns(table)
    rows = Rows(groups=data["patient"]) if option[0] == "--groups" else Rows(time=data["day"])
    pairs = splits(KernelRidge(), data["y"], 60, 3, rows)
    assert told["validation"] == said(3, pairs, rows)
    errors = []
    for train, test in pairs:
        if option[0] == "--groups":
            assert not set(data["patient"][train]) & set(data["patient"][test])
        else:
            assert max(data["day"][train]) < min(data["day"][test])
        model = KernelRidge(Gaussian(1.0), alpha=0.1).fit(data["u"][train, None], data["y"][train])
        errors.append(mean_absolute_error(data["y"][test], model.predict(data["u"][test, None])))
    assert told["scores"]["neg_mean_absolute_error"] == pytest.approx(-np.mean(errors))
    page = table.with_suffix(".html").read_text()
    assert "took no part" in page and f"the column {option[1]}" in page


def test_a_usual_score_that_is_asked_for_is_the_mean_over_folds(table):
    told = run_json("fit", table, "-t", "y", "-e", MODEL, "--folds", "3", "--metric", "r2", "--no-report")
    data, found = columns(table), []
    for train, test in splits(KernelRidge(), data["y"], 60, 3, Rows()):
        model = KernelRidge(Gaussian(1.0), alpha=0.1).fit(data["u"][train, None], data["y"][train])
        found.append(r2_score(data["y"][test], model.predict(data["u"][test, None])))
    assert told["scores"]["r2"] == pytest.approx(np.mean(found)) and "rmse" in told["scores"]


def test_a_found_model_is_told_of_all_of_them(table):
    options = ["--weights", "weight", "--groups", "patient", "--metric", "neg_mean_absolute_error", "--no-report"]
    told = run_json("fit", table, "-t", "y", *options, "--drop", "day")
    model = load(table.with_suffix(".mercer"))
    assert model.data_["columns"] == ["u"] and told["scores"]["neg_mean_absolute_error"] < 0.0
    assert told["verdict"].startswith("neg_mean_absolute_error")
    data = columns(table)
    held = set(model.held_.rows.tolist())
    assert held <= set(np.flatnonzero(data["weight"] > 0).tolist())


@pytest.mark.parametrize(
    ("options", "message", "code"),
    [
        (["--weights", "patient"], "must hold numbers", 2),
        (["--weights", "y"], "which is the target", 2),
        (["--groups", "patent"], "is 'patient' meant", 3),
        (["--weights", "weight", "--search"], "takes all rows alike", 2),
        (["--metric", "acuracy"], "Is accuracy or", 2),
    ],
)
def test_what_is_refused(table, options, message, code):
    assert message in run("fit", table, "-t", "y", *options, "--no-report", code=code).stderr


def test_files_without_columns_are_refused(tmp_path):
    (tmp_path / "a.fasta").write_text(">a family=x\nACGT\n>b family=y\nTTTT\n")
    stderr = run("fit", tmp_path / "a.fasta", "-t", "family", "--groups", "family", code=2).stderr
    assert "names a column" in stderr


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("few", "LabelPropagation({k}, unlabelled=None)"),
        ("few", "LaplacianSVC({k}, unlabelled=None)"),
        ("few", "TransductiveSVC({k}, unlabelled=None)"),
        ("few", "TransductiveLSSVC({k}, unlabelled=None)"),
        ("few", "MultiViewLaplacianSVC({views}, unlabelled=None)"),
        ("amount", "LaplacianRidge({k})"),
        ("amount", "TransductiveRidge({k})"),
        ("amount", "SparseLaplacianRegressor({k})"),
        ("amount", "CoRegularizedRidge({views})"),
        ("side", "MultiTaskSVC({k}, task='school')"),
        ("side", "NuclearNormClassifier({k}, task='school')"),
        ("side", "SVM2K({views})"),
        ("size", "MultiTaskRidge({k}, task='school')"),
        ("size", "MultiTaskSVR({k}, task='school')"),
        ("size", "NuclearNormRegressor({k}, task='school')"),
    ],
)
def test_machines_of_few_labels_tasks_and_views(tmp_path, target, text):
    rng = np.random.default_rng(0)
    rows = []
    for i in range(40):
        right = i % 2 == 1
        a, b = rng.normal(size=2) + 6.0 * right
        known = ("yes" if right else "no", f"{a + b:.3f}") if i < 20 else ("", "")
        rows.append(f"{a:.3f},{b:.3f},s{i % 3},{','.join(known)},{'yes' if right else 'no'},{a + b:.3f}")
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,b,school,few,amount,side,size", *rows]) + "\n")
    text = text.format(k="Gaussian(2.0).on(['a', 'b'])", views="(Gaussian(2.0).on(['a']), Gaussian(2.0).on(['b']))")
    run("fit", path, "-t", target, "-e", text, "--folds", 0, "--no-report")
    found = run_json("predict", path.with_suffix(".mercer"), path)["columns"]["prediction"]
    if target in ("few", "side"):  # the sides are six standard deviations apart
        assert np.mean(np.array(found) == np.array(["no", "yes"] * 20)) > 0.9
    else:
        right = np.arange(40) % 2 == 1
        assert np.mean(np.array(found)[right]) > np.mean(np.array(found)[~right])
