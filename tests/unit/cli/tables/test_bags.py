"""Bags in a table: what groups them, what is refused, and the same model as in Python."""

from pathlib import Path

import numpy as np
import pytest

from mercer.cli.failures import UsageFault
from mercer.cli.tables.bags import Bags, of_instances, require_machine_of_bags
from mercer.domains import Sets
from mercer.estimators import SVC, MultiInstanceSVC
from mercer.io.limits import FileError
from mercer.io.model_file import load
from mercer.io.readers import read
from mercer.kernels import Gaussian, MeanMap
from mercer.reports import report
from tests.unit.cli.commandline import run, run_json, write_svmlight

MACHINE = "MultiInstanceSVC(Gaussian(1.0), C=10.0, method='instances')"


def made(n=30, seed=0):
    """Molecules with two to four shapes each; an active one has a shape near (4, 4), none of the others has."""
    rng = np.random.default_rng(seed)
    bags = [rng.normal(0.0, 0.5, size=(rng.integers(2, 5), 2)) for _ in range(n)]
    for bag in bags[::2]:
        bag[rng.integers(len(bag))] += 4.0
    return bags, np.array(["yes", "no"] * (n // 2), dtype=object)


def write_bags(path, bags, y, shuffled=True):
    rows = [f"m{i},{a!r},{b!r},{y[i]}" for i, bag in enumerate(bags) for a, b in bag.tolist()]
    first = [next(k for k, row in enumerate(rows) if row.startswith(f"m{i},")) for i in range(len(bags))]
    rest = [k for k in range(len(rows)) if k not in first]
    order = [*first, *np.random.default_rng(1).permutation(rest)] if shuffled else range(len(rows))
    path.write_text("\n".join(["molecule,u,v,active", *(rows[k] for k in order)]) + "\n")
    return path


@pytest.fixture
def table(tmp_path):
    return write_bags(tmp_path / "bags.csv", *made())


@pytest.mark.parametrize("text", [MACHINE, "MultiInstanceSVC()", "SVC(MeanMap(Gaussian(1.0)), C=10.0)"])
def test_the_model_is_that_of_python(table, text):
    told = run_json("fit", table, "-t", "active", "--bags", "molecule", "-e", text, "--no-report")
    assert told["data"]["samples"] == 30 and told["scores"]["accuracy"] > 0.9
    model, (bags, y) = load(table.with_suffix(".mercer")), made()
    twin = type(model)(**model.get_params(deep=False)).fit(bags, y)
    new, truth = made(20, seed=5)
    assert np.allclose(model.decision_function(new), twin.decision_function(new), rtol=0.0, atol=1e-2)  # 10 tol
    path = write_bags(table.with_name("new.csv"), new, truth)
    found = run_json("predict", table.with_suffix(".mercer"), path)
    assert found["columns"]["molecule"] == [f"m{i}" for i in range(20)] and found["scores"]["accuracy"] > 0.9
    assert found["columns"]["prediction"] == model.predict(new).tolist()
    plain = path.with_name("plain.csv")
    plain.write_text("\n".join(line.rpartition(",")[0] for line in path.read_text().splitlines()))  # without the target
    assert run_json("predict", table.with_suffix(".mercer"), plain)["columns"] == found["columns"]


def test_a_report_is_written_and_new_bags_are_scored(table):
    told = run_json("fit", table, "-t", "active", "--bags", "molecule", "-e", MACHINE, "--test", table)
    assert told["test"]["accuracy"] > 0.9 and Path(told["files"]["report"]).exists()


def test_named_columns_and_weights_of_bags(table):
    text = "MultiInstanceSVC(Gaussian(1.0).on(['u', 'v']), C=10.0)"
    lines = table.read_text().splitlines()
    heavy = [lines[0] + ",w", *(f"{line},{2 if line.startswith('m0,') else 1}" for line in lines[1:])]
    table.write_text("\n".join(heavy))
    run("fit", table, "-t", "active", "--bags", "molecule", "-e", text, "--weights", "w", "--no-report")
    model = load(table.with_suffix(".mercer"))
    assert model.data_["columns"] == ["u", "v"] and model.data_["bags"] == "molecule"
    table.write_text("\n".join([*heavy, "m0,0.0,0.0,yes,7"]))
    told = run("fit", table, "-t", "active", "--bags", "molecule", "-e", text, "--weights", "w", "-f", code=3)
    assert "one value for all its rows" in told.stderr


def test_bags_are_checked(table):
    told = run_json("check", table, "-t", "active", "--bags", "molecule", "-k", "Gaussian(1.0)")
    assert told["samples"] == 30 and told["instances"] == len(table.read_text().splitlines()) - 1
    assert told["gram"]["kernel"].startswith("MeanMap(") and told["gram"]["samples"] == 30
    assert "molecule" not in [column["name"] for column in told["columns"]]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("m0,1.0,1.0,no", "bag m0 have yes and no"),
        (",1.0,1.0,no", "The bag of this row is missing; each row has one"),
    ],
)
def test_what_cannot_be_grouped_is_named(table, row, said):
    table.write_text(table.read_text() + row + "\n")
    told = run("fit", table, "-t", "active", "--bags", "molecule", "-e", MACHINE, code=3)
    assert said in told.stderr.replace("'", "").replace('"', "")


@pytest.mark.parametrize(
    ("options", "said", "code"),
    [
        (["--bags", "molecule"], "No --estimator was given with --bags", 2),
        (["--bags", "molecule", "-e", "SVC(Gaussian(1.0))"], "SVC was given with --bags molecule", 2),
        (["--bags", "molecul", "-e", MACHINE], "is 'molecule' meant", 3),
        (["--bags", "active", "-e", MACHINE], "which is the target", 2),
    ],
)
def test_what_the_command_refuses(table, options, said, code):
    assert said in run("fit", table, "-t", "active", *options, code=code).stderr


def test_files_that_are_no_tables(tmp_path):
    path = write_svmlight(tmp_path / "a.svm")
    assert "--bags names a column" in run("fit", path, "--bags", "b", "-e", MACHINE, code=2).stderr
    with pytest.raises(UsageFault, match="svmlight file"):
        Bags.of(read(path), "b")


def test_a_new_file_needs_the_column(table):
    run("fit", table, "-t", "active", "--bags", "molecule", "-e", MACHINE, "--no-report")
    other = table.with_name("other.csv")
    other.write_text("u,v\n1.0,2.0\n2.0,1.0\n")
    assert "molecule" in run("predict", table.with_suffix(".mercer"), other, code=3).stderr


def test_pieces(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("b,u,y\n7,1.5,a\n3,2.5,b\n7,3.5,a\n")
    bags = Bags.of(read(path), "b")
    assert bags.ids == ("7", "3") and bags.sizes.tolist() == [2, 1] and bags.names == ("u", "y")
    rest, y = bags.split_target("y")
    assert y.tolist() == ["a", "b"] and rest.take([1]).X[0]["u"].tolist() == [2.5]
    assert rest.take(slice(0, 1)).sizes.tolist() == [2] and "2 samples, 3 instances, 1 to 2 in a bag" in repr(bags)
    with pytest.raises(FileError, match="one value for all its rows"):
        bags.split_target("u")
    assert of_instances(MeanMap(Gaussian(1.0))) == Gaussian(1.0) == of_instances(Gaussian(1.0))
    require_machine_of_bags(MultiInstanceSVC(), None, "b")
    with pytest.raises(UsageFault):
        require_machine_of_bags(SVC(Gaussian(1.0)), Gaussian(1.0), "b")


def test_reports_on_functions_of_instances():
    bags, y = made()
    model = MultiInstanceSVC(Gaussian(1.0), C=10.0, method="witnesses").fit(bags, y)
    assert "30 (list)" in str(report(model, bags, y)) and "30 (Sets)" in str(report(model, Sets.pack(bags), y))
