"""Predicting from files: names kept, columns found by name, what is missing named."""

import csv
import io

import numpy as np
import pytest

import mercer
from mercer import SVC, KernelRidge, OneClassSVM
from mercer.io.model_file import load, save
from mercer.kernels import Gaussian
from tests.unit.cli.commandline import run, run_json, write_fasta, write_svmlight, write_table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("predict")
    table = write_table(folder / "t.csv")
    run("fit", table, "-t", "y", "--no-report")
    text = "SVC(Gaussian((20.0, 1.0)).on(['age', 'dose']) + Match().on('city'), C=10.0)"
    run("fit", table, "-t", "group", "-e", text, "--folds", 0, "--no-report", "-o", folder / "group.mercer")
    write_table(folder / "new.csv", n=12, seed=1)
    return folder


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_predictions_carry_names(folder):
    result = run("predict", folder / "t.mercer", folder / "new.csv")
    found = rows(result.stdout)
    assert [row["id"] for row in found] == [f"S{i:03}" for i in range(12)]
    assert "also has 'y' itself: R2" in result.stderr
    model = load(folder / "t.mercer")
    table = mercer.io.readers.read(folder / "new.csv")
    np.testing.assert_array_equal([float(row["prediction"]) for row in found], model.predict(table.columns))


def test_columns_are_found_by_name(folder):
    lines = [line.split(",") for line in (folder / "new.csv").read_text().splitlines()]
    order = [5, 3, 1, 8, 4, 2]
    other = folder / "other.csv"
    other.write_text("\n".join(",".join(line[j] for j in order) for line in lines) + "\n")
    found = rows(run("predict", folder / "t.mercer", other).stdout)
    expected = rows(run("predict", folder / "t.mercer", folder / "new.csv").stdout)
    assert [row["prediction"] for row in found] == [row["prediction"] for row in expected]
    assert [row["row"] for row in found] == [str(i) for i in range(1, 13)]


def test_one_row_is_read_as_the_training_table_was(folder):
    one = folder / "one.csv"
    one.write_text("\n".join((folder / "new.csv").read_text().splitlines()[:2]) + "\n")
    first = rows(run("predict", folder / "t.mercer", folder / "new.csv").stdout)[0]
    only = rows(run("predict", folder / "t.mercer", one).stdout)[0]
    assert float(only["prediction"]) == pytest.approx(float(first["prediction"]), rel=1e-9)


def test_to_a_file(folder):
    output = folder / "out.csv"
    result = run("predict", folder / "group.mercer", folder / "new.csv", "-o", output, "--scores")
    assert result.stdout == "" and "12 predictions" in result.stderr
    found = rows(output.read_text())
    assert set(found[0]) == {"id", "prediction", "score_low"} and {row["prediction"] for row in found} <= {
        "high",
        "low",
    }
    assert all((row["prediction"] == "low") == (float(row["score_low"]) > 0) for row in found)
    assert "--force" in run("predict", folder / "group.mercer", folder / "new.csv", "-o", output, code=2).stderr
    told = run_json("predict", folder / "group.mercer", folder / "new.csv", "-o", output, "--force")
    assert told["samples"] == 12 and told["scores"]["accuracy"] > 0.5


def test_probabilities(folder):
    text = "SVC(Gaussian(20.0).on(['age']) + Match().on('city'), C=10.0, probability=True)"
    model = folder / "proba.mercer"
    run("fit", folder / "t.csv", "-t", "group", "-e", text, "--no-report", "-o", model, "--folds", 0)
    found = rows(run("predict", model, folder / "new.csv", "--proba", "--scores").stdout)
    assert set(found[0]) == {"id", "prediction", "probability_high", "probability_low", "score_low"}
    for row in found:
        high, low = float(row["probability_high"]), float(row["probability_low"])
        assert high + low == pytest.approx(1.0) and 0 < low < 1
    order = sorted(found, key=lambda row: float(row["score_low"]))
    assert order == sorted(found, key=lambda row: float(row["probability_low"]))


def test_models_without_probabilities_say_so(folder):
    stderr = run("predict", folder / "t.mercer", folder / "new.csv", "--proba", code=2).stderr
    assert "--proba" in stderr and "probability=True" in stderr


def test_names_of_scores(folder):
    X = np.random.default_rng(0).normal(size=(30, 2))
    labels = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    new = folder / "uv.csv"
    new.write_text("u,v\n0.5,1.5\n1.5,2.5\n")
    expected = {
        "score_a score_b score_c": SVC(Gaussian(1.0)),
        "score_a_b score_a_c score_b_c": SVC(Gaussian(1.0), decision_function_shape="ovo"),
        "score": OneClassSVM(Gaussian(1.0)),
    }
    for names, model in expected.items():
        save(model.fit(X, labels), folder / "scores.mercer", force=True)
        found = rows(run("predict", folder / "scores.mercer", new, "--scores").stdout)
        assert [name for name in found[0] if name.startswith("score")] == names.split()


def test_json_holds_the_predictions(folder):
    told = run_json("predict", folder / "t.mercer", folder / "new.csv", "-q", "--threads", 1, "--memory", "1GB")
    assert len(told["columns"]["prediction"]) == 12 and told["columns"]["id"][0] == "S000"


def test_what_is_missing_is_named(folder):
    lines = (folder / "new.csv").read_text().splitlines()
    short = folder / "short.csv"
    short.write_text("\n".join([lines[0].replace("city", "town").replace("dose", "d"), *lines[1:]]) + "\n")
    stderr = run("predict", folder / "t.mercer", short, code=3).stderr
    assert "'dose', 'city' are missing" in stderr and "short.csv" in stderr
    gaps = write_table(folder / "gaps.csv", n=9, missing=(2, 5))
    assert len(run("predict", folder / "t.mercer", gaps).stdout.splitlines()) == 10  # a model that was found fills in
    plain = ["-e", "KernelRidge(Gaussian(2.0).on(['age', 'dose']))", "--no-report", "-o", folder / "plain.mercer"]
    run("fit", folder / "t.csv", "-t", "y", *plain)
    stderr = run("predict", folder / "plain.mercer", gaps, code=3).stderr
    assert "2 of 9 rows miss a value (by column: 'age' 2); the lines are 4, 7" in stderr


def test_files_that_are_no_models(folder):
    assert "t.csv" in run("predict", folder / "t.csv", folder / "new.csv", code=3).stderr
    assert "none.mercer" in run("predict", folder / "none.mercer", folder / "new.csv", code=3).stderr
    assert "none.csv" in run("predict", folder / "t.mercer", folder / "none.csv", code=3).stderr


def test_another_kind_of_file_is_refused(folder):
    fasta = write_fasta(folder / "p.fasta")
    stderr = run("predict", folder / "t.mercer", fasta, code=3).stderr
    assert "fitted to a csv file" in stderr


def test_other_formats(folder):
    fasta = write_fasta(folder / "q.fasta")
    run("fit", fasta, "-t", "family", "-e", "SVC(Spectrum(2).normalized())", "--no-report", "--folds", 0)
    found = rows(run("predict", folder / "q.mercer", write_fasta(folder / "r.fasta", n=5, seed=2)).stdout)
    assert [(row["id"], row["prediction"]) for row in found] == [(f"s{i}", "ab"[i % 2]) for i in range(5)]
    sparse = write_svmlight(folder / "a.svmlight")
    run("fit", sparse, "-e", "SVC(Gaussian(2.0))", "--no-report", "--folds", 0)
    narrow = folder / "narrow.svmlight"
    narrow.write_text("1 1:1.5 2:1\n-1 1:-1\n")
    assert len(rows(run("predict", folder / "a.mercer", narrow).stdout)) == 2
    narrow.write_text("1 1:1.5 9:1\n")
    assert "6 columns" in run("predict", folder / "a.mercer", narrow, code=3).stderr
    run("fit", folder / "t.csv", "-e", "ParzenDensity(Gaussian(1.0))", "--no-report", "-o", folder / "density.mercer")
    assert "log_density" in run("predict", folder / "density.mercer", folder / "new.csv").stdout


def test_new_rows_of_a_gram_matrix(folder):
    X = np.random.default_rng(0).normal(size=(20, 2))
    np.save(folder / "k.npy", Gaussian(1.0)(X))
    np.save(folder / "rows.npy", Gaussian(1.0)(X[:3] + 0.1, X))
    (folder / "l.csv").write_text("y\n" + "".join(f"{value:.5f}\n" for value in np.sin(X[:, 0])))
    run("fit", folder / "k.npy", "--labels", folder / "l.csv", "--no-report", "-o", folder / "k.mercer")
    assert len(rows(run("predict", folder / "k.mercer", folder / "rows.npy").stdout)) == 3


def test_models_made_in_python(folder):
    X = np.random.default_rng(0).normal(size=(20, 2))
    save(KernelRidge(Gaussian(1.0)).fit(X, X[:, 0]), folder / "python.mercer")
    new = folder / "xy.csv"
    new.write_text("a,b\n0.5,1.5\n1.5,2.5\n")
    assert len(rows(run("predict", folder / "python.mercer", new).stdout)) == 2
    new.write_text("a,b,c\n0.5,1.5,1\n1.5,2.5,2\n")
    assert "fitted to 2" in run("predict", folder / "python.mercer", new, code=3).stderr
    named = KernelRidge(Gaussian(1.0).on(["u", "v"])).fit({"u": X[:, 0], "v": X[:, 1]}, X[:, 0])
    save(named, folder / "named.mercer")
    assert "'u', 'v' are missing" in run("predict", folder / "named.mercer", new, code=3).stderr


def test_labels_that_look_like_formulas(folder):
    X = np.random.default_rng(0).normal(size=(20, 2))
    save(SVC().fit(X, np.where(X[:, 0] > 0, "=1+2", "-1.5")), folder / "formula.mercer")
    (folder / "plain.csv").write_text("a,b\n2,0.5\n-2,0.25\n")
    plain, safe = (
        run("predict", folder / "formula.mercer", folder / "plain.csv", *options).stdout.splitlines()
        for options in ((), ("--spreadsheet",))
    )
    assert plain[1:] == ["1,=1+2", "2,-1.5"]
    assert safe[1:] == ["1,'=1+2", "2,-1.5"]
