"""Automatic choices: the task, the kernels of a table, the length scale and the ridge."""

import numpy as np
import pytest

from mercer import KernelMeanClassifier, KernelRidge
from mercer.errors import DomainError, ParameterError
from mercer.kernels import Gaussian, Match, PartialTree, Spectrum, TfIdf
from mercer.selection import automatic
from mercer.selection.automatic import (
    best_means,
    best_ridge,
    column_kernels,
    find_task,
    some_rows,
    standard_deviation,
    table_kernels,
)

rng = np.random.default_rng(0)
COLUMNS = {
    "size": rng.normal(size=60) * 7.0 + 3.0,
    "age": rng.uniform(20.0, 70.0, size=60),
    "city": [["Oslo", "Rome", "Lima"][i % 3] for i in range(60)],
    "note": ["abcd"[i % 4 :] + "xyz" for i in range(60)],
    "same": np.full(60, 2.5),
}
KINDS = {"size": "number", "age": "number", "city": "category", "note": "text", "same": "number", "id": "identifier"}


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b", "a"], "classification"),
        ([True, False, True], "classification"),
        ([0, 1, 1], "classification"),
        ([0.0, 1.0, 1.0], "classification"),
        ([1, 2, 3] * 5, "classification"),
        ([1, 2, 3, 3], "regression"),  # too few rows for three classes
        (list(range(11)) * 9, "regression"),  # too many values
        ([0.5, 1.5] * 9, "regression"),
        ([4.0, 4.0, 4.0], "regression"),
    ],
)
def test_the_task_follows_the_rule(y, task):
    assert find_task(y) == task


def test_the_rows_that_decide_are_always_the_same():
    np.testing.assert_array_equal(some_rows(5, 10), np.arange(5))
    rows = some_rows(10_000, 100)
    np.testing.assert_array_equal(rows, some_rows(10_000, 100))
    assert len(np.unique(rows)) == 100 and np.all(np.diff(rows) > 0)


def test_kernels_of_a_table():
    kernels = table_kernels(COLUMNS, KINDS)
    assert len(kernels) == 2 * len(automatic.FACTORS)
    text = repr(kernels[0])
    assert text.endswith(".on(['size', 'age']) + Match().on('city') + Spectrum(3).normalized().on('note')")
    assert " * (0.5 * Match().on('city') + Constant(0.5)) * " in repr(kernels[1])
    scale = np.array(kernels[0].terms[0].kernel.length_scale)
    expected = automatic.FACTORS[0] * np.sqrt(2) * np.array([COLUMNS["size"].std(), COLUMNS["age"].std()])
    np.testing.assert_allclose(scale, expected, rtol=1e-3)
    for kernel in kernels:
        K = kernel(COLUMNS)
        assert np.linalg.eigvalsh(K).min() > -1e-10


def test_kernels_of_one_kind_only():
    assert table_kernels({"city": ["a", "b"]}, {"city": "category"}) == (Match().on("city"),)
    assert table_kernels({"t": ["ab", "b"]}, {"t": "text"}) == (Spectrum(1).normalized().on("t"),)
    assert table_kernels({"t": ["a cat", "the dog", "b"]}, {"t": "text"}) == (TfIdf().normalized().on("t"),)
    assert table_kernels({"t": ["a cat", "dog", "b"]}, {"t": "text"}) == (Spectrum(1).normalized().on("t"),)
    trees = ["(S (NP we))", "(S (NP (N you)) go)"]
    assert table_kernels({"t": trees}, {"t": "text"}) == (PartialTree().normalized().on("t"),)
    assert table_kernels({"t": [*trees, "(well) (so) what"]}, {"t": "text"}) == (TfIdf().normalized().on("t"),)
    assert all(isinstance(k.kernel, Gaussian) for k in table_kernels({"x": [1.0, 2.0]}, {"x": "number"}))
    with pytest.raises(DomainError, match="do not differ"):
        table_kernels({"x": [1.0, 1.0]}, {"x": "number"})


@pytest.mark.parametrize("size", [1.0, 1e-200, 1e200, 1e308])
def test_spreads_of_any_size(size):
    assert standard_deviation(np.array([0.25, 0.75]) * size) == pytest.approx(0.25 * size)
    assert standard_deviation(np.full(7, 0.1 * size)) == 0.0
    assert standard_deviation([]) == 0.0


def test_ridge_is_the_best_by_brute_force():
    X = rng.normal(size=(30, 2))
    y = 100.0 + np.sin(X[:, 0]) + 0.1 * rng.normal(size=30)
    kernels = [Gaussian(0.1), Gaussian(1.0), Gaussian(30.0)]
    told = []
    choice = best_ridge(kernels, X, y, told.append)
    assert told[-1] == 1.0 and len(told) == 3 and len(choice.tried) == 3
    model = KernelRidge(choice.kernel, choice.alpha, fit_intercept=True, leave_one_out=True).fit(X, y)
    np.testing.assert_allclose(choice.predictions, model.loo_predictions_, rtol=1e-6)
    error = np.sum((choice.predictions - y) ** 2)
    assert choice.score == pytest.approx(1.0 - error / np.sum((y - y.mean()) ** 2))
    for kernel in kernels:
        for alpha in (1e-3, 0.1, 1.0, 30.0):
            other = KernelRidge(kernel, alpha, fit_intercept=True, leave_one_out=True).fit(X, y)
            assert np.sum((other.loo_predictions_ - y) ** 2) >= 0.98 * error


def test_many_rows_decide_in_two_steps(monkeypatch):
    monkeypatch.setattr(automatic, "COARSE", 20)
    X = rng.normal(size=(50, 1))
    told = []
    choice = best_ridge([Gaussian(0.01), Gaussian(1.0)], X, np.sin(X[:, 0]), told.append)
    assert choice.kernel == Gaussian(1.0) and len(choice.predictions) == 50 and told[-1] == 1.0


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_targets_of_any_size(size):
    X = rng.normal(size=(30, 1))
    choice = best_ridge([Gaussian(1.0)], X, size * np.sin(X[:, 0]))
    assert choice.score > 0.9 and np.all(np.isfinite(choice.predictions))


def test_a_constant_target_takes_the_largest_ridge():
    choice = best_ridge([Gaussian(1.0)], rng.normal(size=(9, 1)), np.full(9, 3.0))
    np.testing.assert_allclose(choice.predictions, 3.0)
    assert choice.alpha == automatic.RIDGES[-1]


def test_means_are_the_best_by_brute_force():
    X = np.concatenate([rng.normal(size=(12, 2)), rng.normal(size=(9, 2)) + 2.0, rng.normal(size=(9, 2)) - 3.0])
    y = np.array(["a"] * 12 + ["b"] * 9 + ["c"] * 9, dtype=object)
    kernels = [Gaussian(0.05), Gaussian(1.0), Gaussian(4.0)]
    told = []
    choice = best_means(kernels, X, y, told.append)
    assert told[-1] == 1.0
    hits = {}
    for kernel in kernels:
        guesses = [
            KernelMeanClassifier(kernel).fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[[i]])[0] for i in range(30)
        ]
        hits[repr(kernel)] = np.mean(np.array(guesses, dtype=object) == y)
    assert dict(choice.tried) == pytest.approx(hits)
    assert choice.score == max(hits.values()) and choice.alpha is None


def test_a_tie_goes_to_the_smoothest():
    X = [[0.0], [0.1], [9.0], [9.1]]
    assert best_means([Gaussian(1.0), Gaussian(2.0)], X, [0, 0, 1, 1]).kernel == Gaussian(2.0)


def test_what_cannot_be_chosen():
    with pytest.raises(ParameterError, match="No kernel"):
        best_ridge([], [[1.0]], [1.0])
    with pytest.raises(DomainError, match="two samples"):
        best_ridge([Gaussian(1.0)], [[1.0]], [1.0])
    with pytest.raises(DomainError, match="same length"):
        best_means([Gaussian(1.0)], [[1.0], [2.0]], ["a"])


def test_one_kernel_for_each_column():
    columns = {
        "age": [20.0, 30.0, 40.0],
        "city": ["Oslo", "Rome", "Oslo"],
        "flat": [1.0, 1.0, 1.0],
        "id": ["a", "b", "c"],
    }
    kinds = {"age": "number", "city": "category", "flat": "number", "id": "identifier"}
    found = column_kernels(columns, kinds)
    assert list(found) == ["age", "city"] and found["city"] == Match().on("city")
    with pytest.raises(DomainError, match="at least one must"):
        column_kernels({"flat": [1.0, 1.0]}, {"flat": "number"})
