"""A model for data of any kind, without parameters."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_iris

import mercer
from mercer import SVR, KernelRidge
from mercer.cli.inputs import selected_columns
from mercer.errors import DomainError, TargetError, TimeBudgetError
from mercer.first_model import given_rows
from mercer.first_model.any_data import candidates_for, sparse_kernels
from mercer.kernels import Gaussian, Match

rng = np.random.default_rng(0)
IRIS, SPECIES = load_iris(return_X_y=True, as_frame=True)


@pytest.fixture
def once(monkeypatch):
    """The choice is made once, not in four folds."""
    monkeypatch.setattr(given_rows, "FOLDED", 20)


def test_the_score_is_that_of_rows_held_out():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:80], y[:80]
    model = mercer.automatic(X, y)
    assert isinstance(model, (KernelRidge, SVR)) and model.story_[0].startswith("regression")
    assert sorted(model.held_.rows) == list(range(80))
    error = np.sum((y[model.held_.rows] - model.held_.predictions) ** 2)
    assert model.score_ == pytest.approx(1.0 - error / np.sum((y - y.mean()) ** 2), abs=1e-8)
    assert model.leaderboard_[0].score >= model.leaderboard_[-1].score and model.score_error_ > 0.0
    assert model.verdict_.startswith("Explains")


def test_weights_groups_times_and_scores_are_heeded(once):
    n = 60
    X, time = {"x": rng.normal(size=n), "z": rng.normal(size=n)}, rng.permutation(n)
    y = np.where(X["x"] + 0.3 * rng.normal(size=n) > 0.0, "yes", "no")
    late = mercer.automatic(X, y, time=time, scoring="roc_auc")
    assert set(time[late.held_.rows]) == set(range(45, 60))
    assert late.baseline_ == 0.5 and late.score_ > 0.7 and late.verdict_.startswith("roc_auc")
    of = np.repeat(np.arange(12), 5)  # the level of a group says nothing of other groups
    known = {"level": rng.permutation(12)[of] + 0.01 * rng.normal(size=n)}
    value = rng.normal(size=12)[of]
    assert mercer.automatic(known, value).score_ > 0.8 > 0.5 > mercer.automatic(known, value, groups=of).score_
    wrong = np.where(np.arange(n) % 2 == 0, X["x"], -X["x"])
    weighed = mercer.automatic(X, wrong, sample_weight=np.where(np.arange(n) % 2 == 0, 1.0, 0.0))
    assert weighed.score_ > 0.8 and np.all(weighed.held_.rows % 2 == 0)
    assert np.all(weighed.predict(X)[X["x"] > 0.5] > 0.0)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("heavy", [1e16, 1e300])
def test_one_weight_may_be_very_large(heavy):
    X = np.random.default_rng(3).normal(size=(16, 2))
    weight = np.where(np.arange(16) == 5, heavy, 1.0)
    model = mercer.automatic(X, np.sin(X[:, 0]), kernel=Gaussian(1.0), sample_weight=weight)
    assert np.isfinite(model.predict(X)).all() and len(model.verdict_) < 150


def test_missing_values_are_filled_in(tmp_path, once):
    n = 80
    frame = pd.DataFrame({"x": rng.normal(size=n), "flag": rng.random(n) < 0.5, "group": rng.choice(["a", "b"], n)})
    frame["on"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n), unit="D")
    y = frame["x"] + (frame["group"] == "a") + 0.1 * rng.normal(size=n)
    frame.loc[::9, "x"] = np.nan
    frame.loc[::7, "group"] = None
    model = mercer.automatic(frame, y)
    assert any(step.startswith("missing in x, group: ") for step in model.story_)
    assert model.score_ > 0.5
    mercer.save(model, tmp_path / "m.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "m.mercer").predict(frame), model.predict(frame))
    assert np.isfinite(model.predict(frame.assign(x=np.nan, group=None))).all()
    matrix = np.where(np.arange(3 * n).reshape(n, 3) % 17 == 0, np.nan, rng.normal(size=(n, 3)))
    assert np.isfinite(mercer.automatic(matrix, y).predict(matrix)).all()
    noted = frame.assign(note=[None if i % 5 == 0 else f"word {i} and {i % 4} more" for i in range(n)])
    model = mercer.automatic(noted, y)
    mercer.save(model, tmp_path / "noted.mercer")
    again = mercer.load(tmp_path / "noted.mercer")
    np.testing.assert_array_equal(again.predict(noted.assign(note=None)), model.predict(noted.assign(note=None)))


def test_tables_of_all_makers_give_the_same_model(once):
    few = np.r_[0:15, 50:65]
    X, y = IRIS.iloc[few], SPECIES.to_numpy()[few]
    one, other = mercer.automatic(X, y), mercer.automatic(pl.DataFrame(X.to_dict("list")), y)
    third = mercer.automatic({name: X[name].to_numpy() for name in X}, y)
    assert repr(one) == repr(other) == repr(third)
    assert np.array_equal(one.predict(X), other.predict(pl.DataFrame(X.to_dict("list"))))


def test_columns_are_told_apart(once):
    n = 60
    group = rng.choice(["a", "b", "c"], n)
    frame = pd.DataFrame({"id": np.arange(n), "one": np.ones(n), "x": rng.normal(size=n), "group": group})
    y = frame["x"] + (group == "a")
    model = mercer.automatic(frame, y)
    assert "left out" in " ".join(model.story_) and "id, one" in " ".join(model.story_)
    assert selected_columns(model.kernel) == ("x", "group")


@pytest.mark.parametrize(
    ("X", "kernel"),
    [
        (["a cat sat", "a dog ran", "the cat ran", "no dog sat"] * 3, "TfIdf"),
        (["acgt", "ggta", "acca", "ttga"] * 3, "Spectrum"),
        ([list("acgt"), list("ggta"), list("acca"), list("ttga")] * 3, "Spectrum"),
        ([("S", "a", "b"), ("S", "b"), ("T", ("S", "a")), ("S", ("T", "b"))] * 3, "PartialTree"),
        ([{"edges": [(0, 1), (1, 2)]}, {"edges": [(0, 1), (1, 2), (2, 0)]}] * 6, "WeisfeilerLehman"),
        (sp.csr_array(np.tile([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0], [3.0, 0.0]], (3, 1))), "Gaussian"),
    ],
    ids=["texts", "strings", "sequences", "trees", "graphs", "sparse rows"],
)
def test_every_kind_of_data(X, kernel):
    y = np.arange(12) % 2
    model = mercer.automatic(X, y)
    assert kernel in " ".join([repr(model.kernel), *(one.name for one in model.leaderboard_)])
    assert model.predict(X).shape == (12,)


def test_what_cannot_be_chosen_for_is_refused():
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    with pytest.raises(TargetError, match="20 samples and y has 19"):
        mercer.automatic(X, y[:19])
    with pytest.raises(TargetError, match="regress"):
        mercer.automatic(X, ["a", "b"] * 10, task="regression")
    with pytest.raises(TargetError, match="one number"):
        mercer.automatic(X, np.ones((20, 2)))
    with pytest.raises(DomainError, match="missing values: 'x'"):  # of so few rows no model is made that fills them in
        mercer.automatic({"x": np.where(np.arange(19) == 3, np.nan, y[:19])}, y[:19])
    with pytest.raises(DomainError, match="automatic\\(\\) takes tables"):
        mercer.automatic([object()] * 20, y)
    with pytest.raises(TimeBudgetError, match="max_time"):
        mercer.automatic(X, y, max_time=1e-9)


def test_a_kernel_and_a_task_may_be_named(once):
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 3
    model = mercer.automatic(X, y, task="regression", kernel=Gaussian(2.0))
    assert model.kernel == Gaussian(2.0) and model.story_[0] == "regression, as asked"
    colours = np.array(["red", "blue"] * 15, dtype=object)
    assert mercer.automatic(colours, y > 0, kernel=Match()).max_time is None


def test_every_column_is_a_source():
    table = {"age": [20.0, 30.0, 40.0, 70.0], "city": ["Oslo", "Rome", "Oslo", "Rome"], "same": [1.0] * 4}
    assert list(mercer.source_kernels(table)) == ["age", "city"]
    with pytest.raises(DomainError, match="not a table"):
        mercer.source_kernels(["a text", "another text"])


def test_dates_are_not_left_out_without_a_word():
    table = pd.DataFrame({"on": pd.date_range("2024-01-01", periods=10), "x": np.arange(10.0) ** 1.5})
    with pytest.raises(DomainError, match="Columns of dates: 'on'"):
        mercer.source_kernels(table)
    model = mercer.automatic(table, table["x"] + 1.0)  # too few rows for lengths of columns
    assert any("being dates" in step and step.endswith(": on") for step in model.story_)


def test_sources_are_tables_without_gaps():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(DomainError, match="not a table"):
        mercer.source_kernels(sp.csr_array(X))
    X[3, 0] = np.nan
    with pytest.raises(DomainError, match="Columns with missing values: 0"):
        mercer.source_kernels(X)


def test_lists_in_lists_are_no_sequences():
    with pytest.raises(DomainError, match="Name a kernel for other data"):
        mercer.automatic([[[1.0, 2.0], [3.0]], [[1.0]]] * 10, [0, 1] * 10)


def test_trees_and_graphs_as_files_hold_them():
    """What `read` returns is packed; it is compared as the same samples in Python are."""
    trees = mercer.domains.Trees.pack([("S", ("A", "a")), ("S", ("B", "b"))])
    assert repr(candidates_for(trees, [], None)) == repr(candidates_for([("S", ("A", "a"))], [], None))
    graph = {"edges": [(0, 1)], "labels": ["C", "O"]}
    graphs = mercer.domains.Graphs.pack([graph, graph])
    assert repr(candidates_for(graphs, [], None)) == repr(candidates_for([graph], [], None))


def test_the_usual_width_is_compared_first():
    """When time is short the first kernel is the only one: the narrowest, near the identity, would be a poor model."""
    X = sp.csr_array(np.repeat([[0.0, 3.0], [4.0, 3.0]], 5, axis=0))  # of total variance 4
    assert sparse_kernels(X)[0] == Gaussian(2.0)
