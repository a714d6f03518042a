"""A model for data of any kind, without parameters."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import LeaveOneOut, cross_val_predict

import mercer
from mercer import SVC, KernelMeanClassifier, KernelRidge, first_model
from mercer.errors import DomainError, TargetError, TimeBudgetError
from mercer.kernels import Gaussian, Linear, Match, NegativeDistance, Precomputed
from mercer.selection.automatic import RIDGES

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


# the choice, by the engine --------------------------------------------------------------------------------------

SOME = rng.normal(size=(40, 2))
TWO = np.where(SOME[:, 0] ** 2 + SOME[:, 1] ** 2 + 0.3 * rng.normal(size=40) > 1.2, "out", "in")
THREE = np.array(["a", "b", "c"])[np.digitize(SOME[:, 0] + 0.3 * rng.normal(size=40), [-0.5, 0.5])]
KERNELS = (Gaussian(0.05), Gaussian(0.7), Gaussian(2.0), Gaussian(50.0))


def nothing(share):
    return None


def left_out(model, y):
    said = []
    for i in range(len(y)):
        kept = np.arange(len(y)) != i
        said.append(model.fit(SOME[kept], y[kept]).predict(SOME[i : i + 1])[0])
    return np.array(said)


def test_ridge_is_the_best_by_brute_force():
    X, kernels, told = SOME[:30], (Gaussian(0.1), Gaussian(1.0), Gaussian(30.0)), []
    y = 100.0 + np.sin(X[:, 0]) + 0.1 * rng.normal(size=30)
    chosen = first_model.choose(kernels, X, y, 30, "regression", told.append)
    assert told[-1] == 1.0 and len(told) == 3
    again = KernelRidge(chosen.model.kernel, chosen.model.alpha, fit_intercept=True, leave_one_out=True).fit(X, y)
    np.testing.assert_allclose(chosen.predictions, again.loo_predictions_, rtol=1e-6)
    error = np.sum((chosen.predictions - y) ** 2)
    assert chosen.score == pytest.approx(1.0 - error / np.sum((y - y.mean()) ** 2))
    for kernel in kernels:
        for alpha in (1e-3, 0.1, 1.0, 30.0):
            other = KernelRidge(kernel, alpha, fit_intercept=True, leave_one_out=True).fit(X, y)
            assert np.sum((other.loo_predictions_ - y) ** 2) >= 0.98 * error


def test_many_rows_decide_in_two_steps(monkeypatch):
    monkeypatch.setattr(first_model, "COARSE", 20)
    told = []
    chosen = first_model.choose(
        (Gaussian(0.01), Gaussian(1.0)), SOME, np.sin(SOME[:, 0]), 40, "regression", told.append
    )  # fmt: skip
    assert chosen.model.kernel == Gaussian(1.0) and len(chosen.predictions) == 40
    assert told == sorted(told) and told[-1] == 1.0


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_targets_of_any_size(size):
    chosen = first_model.choose((Gaussian(1.0),), SOME, size * np.sin(SOME[:, 0]), 40, "regression", nothing)
    assert chosen.score > 0.9 and np.all(np.isfinite(chosen.predictions))


def test_a_constant_target_takes_the_largest_ridge():
    chosen = first_model.choose((Gaussian(1.0),), SOME[:9], np.full(9, 3.0), 9, "regression", nothing)
    np.testing.assert_allclose(chosen.predictions, 3.0)
    assert chosen.model.alpha == RIDGES[-1]


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_machines_are_what_as_many_fits_say(y):
    kernel, C, score = first_model._margin(KERNELS, KERNELS[0].pack(SOME), y, nothing)
    assert C in first_model.COSTS
    said = mercer.choosing.left_out_predictions(SVC(kernel, C=C), SOME, y)
    assert score == np.mean(said == y)
    assert np.mean(said == left_out(SVC(kernel, C=C), y)) >= 39 / 40  # a value of zero goes either way


def test_of_equals_the_smallest_cost_and_the_smoothest_kernel_is_taken():
    far = np.vstack([SOME[:20] * 0.1 - 5.0, SOME[20:40] * 0.1 + 5.0])
    kernels = (Gaussian(1.0), Gaussian(2.0), Gaussian(4.0))
    S, y = kernels[0].pack(far), np.repeat([0, 1], 20)
    assert first_model._margin(kernels, S, y, nothing) == (Gaussian(4.0), 1.0, 1.0)
    assert first_model._means(kernels, S, y) == (Gaussian(4.0), 1.0)


def test_only_the_best_kernels_meet_the_other_costs(monkeypatch):
    seen, real, shares = [], first_model.search, []

    def counted(model, S, y, grid, **more):
        seen.append((len(grid["kernel"]), grid["C"]))
        return real(model, S, y, grid, **more)

    monkeypatch.setattr(first_model, "search", counted)
    first_model._margin(KERNELS, KERNELS[0].pack(SOME), TWO, shares.append)
    assert seen == [(4, [10.0]), (3, [1.0, 100.0])]
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(shares) == 7


def test_a_monitor_may_stop_it():
    def stop(share):
        raise TimeoutError

    with pytest.raises(TimeoutError):
        first_model.choose(KERNELS, SOME, TWO, 40, "classification", stop)


def test_other_kernels_and_precomputed_ones():
    y = SOME[:, 0] > 0
    S = Linear().pack(SOME)
    assert first_model._margin((Linear(),), S, y, nothing)[2] > 0.9
    assert first_model._margin((NegativeDistance(),), S, y, nothing)[2] > 0.8  # conditionally positive definite
    K = Precomputed().pack(Gaussian(1.0)(SOME))
    assert (
        first_model._margin((Precomputed(),), K, y, nothing)[1:]
        == first_model._margin((Gaussian(1.0),), S, y, nothing)[1:]
    )


def test_a_class_of_one():
    y = np.where(np.arange(40) == 3, "lonely", TWO)
    assert first_model.choose((Gaussian(1.0),), SOME, y, 40, "classification", nothing).score > 0.6


def test_means_are_the_best_by_brute_force():
    kernels = (Gaussian(0.05), Gaussian(1.0), Gaussian(4.0))
    kernel, score = first_model._means(kernels, kernels[0].pack(SOME), THREE)
    hits = [np.mean(left_out(KernelMeanClassifier(k), THREE) == THREE) for k in kernels]
    assert score == pytest.approx(max(hits)) and hits[kernels.index(kernel)] == max(hits)
