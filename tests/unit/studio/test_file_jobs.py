"""The user's file: what is said of it, a model that is found, typed samples, and where models are saved."""

import pytest

from mercer.errors import MercerError, ParameterError
from mercer.studio import file_jobs
from mercer.studio.typed_samples import predict
from mercer.studio.user_files import dataset
from tests.unit.studio.copied import command_output, fitted, python_numbers


def test_a_file_is_described(known):
    told = file_jobs.open_file(known)
    assert (told["samples"], told["kind"], told["targets"]) == (60, "table", ["a", "b", "y"])
    assert [column["kind"] for column in told["columns"]] == ["number", "number", "category"]
    assert len(told["first"]) == 5 and dataset(known) is dataset(known)
    with pytest.raises(ParameterError, match="not a target"):
        file_jobs.open_file({**known, "target": "z"})


@pytest.mark.parametrize(
    "name", ["../evil", "a/b", "..", "", "a.mercer", "a\0b", "a b", "C:x", "é", "x" * 61, "~", "-/"]
)
def test_a_model_is_saved_under_plain_names_only(known, tmp_path, name):
    with pytest.raises(ParameterError):
        file_jobs.save_model({**known, "save_as": name})
    assert not list((tmp_path / "models").iterdir())


def test_a_model_is_saved_once(known, tmp_path):
    fitted(known)
    assert file_jobs.save_model({**known, "save_as": "mine"}) == {"saved": "mine.mercer"}
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["mine.mercer"]
    with pytest.raises(MercerError, match="exist"):
        file_jobs.save_model({**known, "save_as": "mine"})


@pytest.fixture
def trees(known, tmp_path):
    """A file without targets, and a table of them."""
    (tmp_path / "a.penn").write_text("(S (A a) (B b))\n(S (B a) (A b))\n(S (A c) (B b))\n(S (B c) (A b))\n" * 10)
    (tmp_path / "y.csv").write_text("y\n" + "u\nv\n" * 20)
    labels = {"labels": str(tmp_path / "y.csv"), "labels_name": "y.csv"}
    return {**known, "path": str(tmp_path / "a.penn"), "name": "a.penn"}, labels


def test_targets_may_be_a_table_of_their_own(trees):
    fields, labels = trees
    told = file_jobs.open_file({**fields, "target": ""})
    assert told["needs_labels"] and told["targets"] == [] and told["labels"] == ""
    told = file_jobs.open_file({**fields, **labels})
    assert told["needs_labels"] and told["targets"] == ["y"] and told["labels"] == "y.csv"


@pytest.mark.slow
def test_a_model_of_trees_and_what_is_copied_give_the_same_score(trees, tmp_path):
    fields, labels = trees
    told = file_jobs.fit({**fields, **labels, "seconds": 900.0}, lambda said: None)
    assert told["target"] == "y" and told["example"] == "(S (A a) (B b))"
    assert predict({**fields, **labels, "typed": told["example"]})["prediction"] == "u"
    assert python_numbers(told["python"], tmp_path) == pytest.approx(told["numbers"], abs=1e-9)
    assert command_output(told["command"], tmp_path)["verdict"] == told["verdict"]


@pytest.mark.slow
def test_a_model_is_found_and_what_is_copied_gives_the_same_score(known, tmp_path):
    said = []
    told = file_jobs.fit({**known, "seconds": 900.0}, said.append)
    tried = [one["tried"]["score"] for one in said if "tried" in one]
    assert tried and told["leaderboard"][0]["score"] <= max(tried) + 1e-12
    assert (tmp_path / "report.html").read_text().count("<h1") == 1
    assert 0 < len(told["worst"]) <= file_jobs.WORST
    losses = [row["loss"] for row in told["worst"]]
    assert losses == sorted(losses, reverse=True)
    sample = {one["name"]: one["usual"] for one in told["inputs"]}
    assert predict({**known, "sample": sample})["prediction"] in ("u", "v")
    assert python_numbers(told["python"], tmp_path) == pytest.approx(told["numbers"], abs=1e-9)
    assert command_output(told["command"], tmp_path)["verdict"] == told["verdict"]
