"""A model for data of any kind, without parameters."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import LeaveOneOut, cross_val_predict

import mercer
from mercer import SVC, KernelRidge, first_model
from mercer.errors import DomainError, TargetError, TimeBudgetError
from mercer.kernels import Gaussian, Match

rng = np.random.default_rng(0)
IRIS, SPECIES = load_iris(return_X_y=True, as_frame=True)


def test_the_score_is_that_of_leaving_one_out():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:80], y[:80]
    model = mercer.automatic(X, y)
    assert isinstance(model, KernelRidge) and model.story_[0].startswith("regression")
    again = KernelRidge(model.kernel, alpha=model.alpha, fit_intercept=True)
    left_out = cross_val_predict(again, X, y, cv=LeaveOneOut())
    assert model.score_ == pytest.approx(1.0 - np.sum((y - left_out) ** 2) / np.sum((y - y.mean()) ** 2), abs=1e-8)


def test_tables_of_all_makers_give_the_same_model():
    few = np.r_[0:20, 50:70, 100:120]
    X, y = IRIS.iloc[few], SPECIES.to_numpy()[few]
    one, other = mercer.automatic(X, y), mercer.automatic(pl.DataFrame(X.to_dict("list")), y)
    third = mercer.automatic({name: X[name].to_numpy() for name in X}, y)
    assert isinstance(one, SVC) and repr(one) == repr(other) == repr(third)
    assert np.array_equal(one.predict(X), other.predict(pl.DataFrame(X.to_dict("list"))))


def test_columns_are_told_apart():
    n = 60
    group = rng.choice(["a", "b", "c"], n)
    frame = pd.DataFrame({"id": np.arange(n), "one": np.ones(n), "x": rng.normal(size=n), "group": group})
    y = frame["x"] + (group == "a")
    model = mercer.automatic(frame, y)
    assert "left out" in " ".join(model.story_) and "id, one" in " ".join(model.story_)
    text = repr(model.kernel)
    assert "'x'" in text and "'group'" in text and "'id'" not in text


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
    assert kernel in repr(model.kernel)
    assert model.predict(X).shape == (12,)


def test_what_cannot_be_chosen_for_is_refused():
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    with pytest.raises(TargetError, match="20 samples and y has 19"):
        mercer.automatic(X, y[:19])
    with pytest.raises(TargetError, match="regress"):
        mercer.automatic(X, ["a", "b"] * 10, task="regression")
    with pytest.raises(TargetError, match="one number"):
        mercer.automatic(X, np.ones((20, 2)))
    with pytest.raises(DomainError, match="missing values: 'x'"):
        mercer.automatic({"x": np.where(np.arange(20) == 3, np.nan, y)}, y)
    with pytest.raises(DomainError, match="automatic\\(\\) takes tables"):
        mercer.automatic([object()] * 20, y)
    with pytest.raises(TimeBudgetError, match="max_time"):
        mercer.automatic(X, y, max_time=1e-9)


def test_a_kernel_and_a_task_may_be_named():
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 3
    model = mercer.automatic(X, y, task="regression", kernel=Gaussian(2.0))
    assert (
        isinstance(model, KernelRidge) and model.kernel == Gaussian(2.0) and model.story_[0] == "regression, as asked"
    )
    colours = np.array(["red", "blue"] * 15, dtype=object)
    assert mercer.automatic(colours, y > 0, kernel=Match()).max_time is None


def test_of_many_samples_some_decide(monkeypatch):
    monkeypatch.setattr(first_model, "some_rows", lambda n, limit=40: np.arange(min(n, 40)))
    X = rng.uniform(-3.0, 3.0, size=(100, 1))
    model = mercer.automatic(X, np.sin(X[:, 0]))
    assert any(step.startswith("40 of 100 samples") for step in model.story_)
    assert len(model.dual_coef_) == 100


def test_every_column_is_a_source():
    table = {"age": [20.0, 30.0, 40.0, 70.0], "city": ["Oslo", "Rome", "Oslo", "Rome"], "same": [1.0] * 4}
    assert list(mercer.source_kernels(table)) == ["age", "city"]
    with pytest.raises(DomainError, match="no table"):
        mercer.source_kernels(["a text", "another text"])
