"""Ridge regression for many tasks: limits, leaving out, tasks never seen."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from mercer import KernelRidge, MultiTaskRidge, load, save
from mercer.gram import Dense
from mercer.kernels import Gaussian, Linear

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
TASKS = np.repeat(np.arange(4), [1, 9, 5, 15])  # one of a single sample
Y = np.sin(X[:, 0]) + 0.5 * TASKS
T = RNG.normal(size=(7, 2))
K = Gaussian(1.0)


def test_shares_of_zero_and_one():
    pooled = MultiTaskRidge(K, 0.1, rho=1.0, fit_intercept=True).fit(X, Y, tasks=TASKS)
    expected = KernelRidge(K, 0.1, fit_intercept=True).fit(X, Y).predict(T)
    assert np.allclose(pooled.predict(T, tasks=np.zeros(7, int)), expected, atol=1e-9)
    alone = MultiTaskRidge(K, 0.1, rho=0.0, fit_intercept=True).fit(X, Y, tasks=TASKS)
    for t in range(4):
        own = t == TASKS
        expected = KernelRidge(K, 0.1, fit_intercept=True).fit(X[own], Y[own]).predict(T)
        assert np.allclose(alone.predict(T, tasks=np.full(7, t)), expected, atol=1e-9)


def test_one_task_is_the_machine():
    expected = KernelRidge(K, 0.1).fit(X, Y).predict(T)
    assert np.allclose(MultiTaskRidge(K, 0.1, rho=0.3).fit(X, Y).predict(T), expected, atol=1e-12)
    model = MultiTaskRidge(K, 0.1, rho=0.3).fit(X, Y, tasks=np.zeros(30, int))
    assert np.allclose(model.predict(T, tasks=np.zeros(7, int)), expected, atol=1e-9)


def test_two_norms():
    """The machine minimises the penalty of the shared function and of the corrections, written out."""
    rho, alpha = 0.3, 0.2
    model = MultiTaskRidge(Linear(), alpha, rho=rho).fit(X, Y, tasks=TASKS)
    F = np.hstack([np.sqrt(rho) * X, *(np.sqrt(1.0 - rho) * X * (t == TASKS)[:, None] for t in range(4))])
    w = np.linalg.solve(F.T @ F + alpha * np.eye(10), F.T @ Y)
    shared = np.sqrt(rho) * T @ w[:2]
    assert np.allclose(model.predict(T, tasks=np.full(7, 99)), shared, atol=1e-9)  # a task never seen
    own = shared + np.sqrt(1.0 - rho) * T @ w[4:6]
    assert np.allclose(model.predict(T, tasks=np.ones(7, int)), own, atol=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_share_is_chosen_by_left_out_samples(intercept):
    keep = TASKS != 0  # the only sample of a task cannot be left out with its intercept
    data, y, tasks = X[keep], Y[keep], TASKS[keep]
    shares = [0.0, 0.4, 1.0]
    model = MultiTaskRidge(K, 0.1, rho=shares, fit_intercept=intercept).fit(data, y, tasks=tasks)
    for share, error in zip(shares, model.rho_errors_, strict=True):
        squares = []
        for i in range(0, len(y), 4):
            rest = np.arange(len(y)) != i
            one = MultiTaskRidge(K, 0.1, rho=share, fit_intercept=intercept).fit(data[rest], y[rest], tasks=tasks[rest])
            squares.append((one.predict(data[[i]], tasks=tasks[[i]])[0] - y[i]) ** 2)
        whole = MultiTaskRidge(K, 0.1, rho=share, fit_intercept=intercept, leave_one_out=True, gram=Dense())
        left_out = whole.fit(data, y, tasks=tasks).loo_predictions_
        assert np.allclose((left_out[::4] - y[::4]) ** 2, squares, atol=1e-8)
        assert np.isclose(error, np.mean((left_out - y) ** 2), rtol=1e-8)
    assert model.rho_ == shares[int(np.argmin(model.rho_errors_))]


def test_the_model_file_and_cross_validation(tmp_path):
    table = np.column_stack([X, TASKS])
    model = MultiTaskRidge(K, task=-1, rho=0.0, fit_intercept=True).fit(table, Y)
    save(model, tmp_path / "m.mercer")
    assert np.array_equal(load(tmp_path / "m.mercer").predict(table), model.predict(table))
    assert np.isfinite(cross_val_score(MultiTaskRidge(K, task=2), table, Y, cv=3)).all()
