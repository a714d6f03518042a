"""Tasks as columns and beside the samples."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.model_selection import cross_val_score

import mercer
from mercer import MultiTaskRidge, MultiTaskSVR
from mercer.errors import DomainError, ParameterError, TargetError
from mercer.estimators.tasks.task_columns import split_tasks
from mercer.kernels import Gaussian, Spectrum, task_kernel

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
TASKS = np.arange(12) % 3
Y = RNG.normal(size=12)
TABLE = pd.DataFrame({"u": X[:, 0], "school": [f"s{t}" for t in TASKS], "v": X[:, 1]})


def test_every_form_is_the_same_machine():
    k = Gaussian(1.0)
    expected = MultiTaskRidge(k).fit(X, Y, tasks=TASKS).predict(X, tasks=TASKS)
    with_column = np.column_stack([X[:, 0], TASKS, X[:, 1]])
    forms = {
        "matrix": (k, 1, with_column),
        "sparse": (k, 1, sp.csr_array(with_column)),
        "rows": (k, 1, with_column.tolist()),
        "table": (k, "school", TABLE),
        "named columns": (k.on(["u", "v"]), "school", TABLE),
        "dict": (k.on(["u", "v"]), "school", dict(TABLE)),
        "packed": (k.on(["u", "v"]), "school", task_kernel(k.on(["u", "v"]), "school").pack(TABLE)),
    }
    for name, (kernel, task, data) in forms.items():
        model = MultiTaskRidge(kernel, task=task).fit(data, Y)
        assert np.allclose(model.predict(data), expected, atol=1e-12), name


def test_strings_with_tasks_beside_them():
    words = ["".join(RNG.choice(list("ab"), 5)) for _ in range(12)]
    model = MultiTaskRidge(Spectrum(2), rho=0.0).fit(words, Y, tasks=TASKS)
    for t in range(3):
        own = np.flatnonzero(t == TASKS)
        alone = MultiTaskRidge(Spectrum(2)).fit([words[i] for i in own], Y[own])
        assert np.allclose(model.predict(words, tasks=np.full(12, t)), alone.predict(words))


def test_refusals():
    with pytest.raises(DomainError, match="Name the column"):
        split_tasks(TABLE, "class")
    with pytest.raises(DomainError, match="no columns"):
        split_tasks(np.arange(3.0), 0)
    with pytest.raises(ParameterError, match="only one of them"):
        MultiTaskRidge(task=0).fit(X, Y, tasks=TASKS)
    with pytest.raises(DomainError, match="11 tasks were given with 12 samples"):
        MultiTaskRidge().fit(X, Y, tasks=TASKS[:11])


@pytest.mark.parametrize("machine", [MultiTaskRidge, MultiTaskSVR])
def test_columns_of_y_are_tasks_and_holes_are_samples_less(machine, tmp_path):
    table = RNG.normal(size=(12, 3))
    table[RNG.random((12, 3)) < 0.4] = np.nan
    table[0] = 1.0  # no column is empty
    rows, columns = np.nonzero(~np.isnan(table))
    weight = RNG.uniform(0.5, 2.0, size=12)
    expected = machine(Gaussian(1.0)).fit(X[rows], table[rows, columns], weight[rows], tasks=columns)
    model = machine(Gaussian(1.0)).fit(X, table, weight)
    assert model.columns_ == 3
    found = model.predict(X)
    for t in range(3):
        assert np.array_equal(found[:, t], expected.predict(X, tasks=np.full(12, t)))
    mercer.save(model, tmp_path / "model")
    assert np.array_equal(mercer.load(tmp_path / "model").predict(X), found)
    again = model.fit(X, Y)  # one column is one task
    assert again.columns_ is None and again.predict(X).shape == (12,)
    table[:, 1] = np.nan
    with pytest.raises(TargetError, match="Column 1 of y has no number"):
        model.fit(X, table)


def test_tables_and_texts_have_columns_of_y_too():
    table = np.column_stack([Y, Y + 1.0])
    frame = TABLE[["u", "v"]]
    kernel = Gaussian(1.0)
    expected = MultiTaskRidge(kernel).fit(X, table).predict(X)
    assert np.allclose(MultiTaskRidge(kernel).fit(frame, table).predict(frame), expected, atol=1e-12)
    named = kernel.on(["u", "v"])
    assert np.allclose(MultiTaskRidge(named).fit(TABLE, table).predict(TABLE), expected, atol=1e-12)
    words = ["ab", "ba", "abb"] * 4
    assert MultiTaskRidge(Spectrum(2)).fit(words, table).predict(words[:3]).shape == (3, 2)


@pytest.mark.parametrize("make", [MultiTaskRidge, mercer.MultiTaskSVC, mercer.NuclearNormRegressor])
@pytest.mark.parametrize("task", [True, np.array([1.0, 0.0])])
def test_a_task_is_the_name_or_the_place_of_a_column(make, task):
    X = np.arange(12.0).reshape(6, 2)
    with pytest.raises(ParameterError, match="task must be a str or an integer"):
        make(task=task).fit(X, [0, 1, 0, 1, 0, 1])


def test_tasks_are_routed():
    """Tasks beside the samples go to fit and score as those in a column do."""
    with config_context(enable_metadata_routing=True):
        model = MultiTaskRidge(Gaussian(1.0), rho=0.5).set_fit_request(tasks=True).set_score_request(tasks=True)
        found = cross_val_score(model, X, Y, params={"tasks": TASKS}, cv=3)
    expected = cross_val_score(MultiTaskRidge(Gaussian(1.0), rho=0.5, task=-1), np.column_stack([X, TASKS]), Y, cv=3)
    assert np.allclose(found, expected)
