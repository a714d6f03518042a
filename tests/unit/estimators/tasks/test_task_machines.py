"""Support vector machines for many tasks: limits and leaving out."""

import numpy as np
import pytest

from mercer import SVC, SVR, MultiTaskSVC, MultiTaskSVR
from mercer.domains import Vectors
from mercer.estimators.tasks.task_machines import _span_moves
from mercer.gram import Dense
from mercer.kernels import Gaussian

RNG = np.random.default_rng(0)
X = RNG.normal(size=(36, 2))
TASKS = np.repeat(np.arange(3), [8, 12, 16])
Z = np.sin(2.0 * X[:, 0]) + 0.3 * TASKS * X[:, 1]
LABELS = (Z > 0.1).astype(int)
THREE = np.digitize(Z, [-0.4, 0.4])
T = RNG.normal(size=(6, 2))
K = Gaussian(1.0)
TIGHT = {"tol": 1e-8}


@pytest.mark.parametrize("labels", [LABELS, THREE], ids=["two", "three"])
def test_classes_at_both_ends(labels):
    options = {**TIGHT, "loss": "squared_hinge"}  # whose intercept is always determined
    pooled = MultiTaskSVC(K, 2.0, rho=1.0, **options).fit(X, labels, tasks=TASKS)
    plain = SVC(K, 2.0, **options).fit(X, labels)
    assert np.allclose(pooled.decision_function(T, tasks=np.zeros(6, int)), plain.decision_function(T), atol=1e-6)
    alone = MultiTaskSVC(K, 2.0, rho=0.0, **options).fit(X, labels, tasks=TASKS)
    for t in range(3):
        own = t == TASKS
        expected = SVC(K, 2.0, **options).fit(X[own], labels[own]).decision_function(T)
        assert np.allclose(alone.decision_function(T, tasks=np.full(6, t)), expected, atol=1e-6)


def test_numbers_at_both_ends():
    two = np.column_stack([Z, Z**2])
    for y in (Z, two):
        pooled = MultiTaskSVR(K, 2.0, rho=1.0, **TIGHT).fit(X, y, tasks=TASKS)
        expected = SVR(K, 2.0, **TIGHT).fit(X, y).predict(T)
        assert np.allclose(pooled.predict(T, tasks=np.zeros(6, int)), expected, atol=1e-6)
        alone = MultiTaskSVR(K, 2.0, rho=0.0, **TIGHT).fit(X, y, tasks=TASKS)
        for t in range(3):
            own = t == TASKS
            expected = SVR(K, 2.0, **TIGHT).fit(X[own], y[own]).predict(T)
            assert np.allclose(alone.predict(T, tasks=np.full(6, t)), expected, atol=1e-6)


def test_the_share_of_classes_is_chosen_by_left_out_samples():
    shares = [0.0, 0.5]
    options = {**TIGHT, "loss": "squared_hinge"}
    model = MultiTaskSVC(K, 2.0, rho=shares, **options).fit(X, LABELS, tasks=TASKS)
    for share, error in zip(shares, model.rho_errors_, strict=True):
        total = 0.0
        for i in range(36):
            rest = np.arange(36) != i
            one = MultiTaskSVC(K, 2.0, rho=share, **options).fit(X[rest], LABELS[rest], tasks=TASKS[rest])
            f = one.decision_function(X[[i]], tasks=TASKS[[i]])[0]
            total += max(0.0, 1.0 - (2 * LABELS[i] - 1) * f)
        assert np.isclose(error, total / 36, atol=1e-5)
    assert model.rho_ == shares[int(np.argmin(model.rho_errors_))]


def test_the_span_leaves_out_a_sample_while_free_support_vectors_stay_on_the_wall_of_the_tube():
    model = SVR(K, 1.0, **TIGHT).fit(X, Z)
    beta = np.zeros(36)
    beta[model.support_] = model.dual_coef_[0]
    G, values = K(X), model.predict(X)
    moves = _span_moves(Dense().build(K, Vectors.pack(X)), beta, np.ones(36), np.ones((36, 1)))
    free, bound = (np.abs(beta) > 0) & (np.abs(beta) < 1.0 - 1e-9), np.abs(beta) >= 1.0 - 1e-9
    assert free.sum() >= 3 and bound.sum() >= 3
    for i in range(36):
        if beta[i] == 0.0:
            assert moves[i] == 0.0
            continue
        F, rest = np.flatnonzero(free & (np.arange(36) != i)), np.where(bound & (np.arange(36) != i), beta, 0.0)
        fixed = G @ rest
        system = np.block([[G[np.ix_(F, F)], np.ones((len(F), 1))], [np.ones((1, len(F))), np.zeros((1, 1))]])
        found = np.linalg.solve(system, np.append(values[F] - fixed[F], -rest.sum()))
        assert np.isclose(values[i] - moves[i], G[i, F] @ found[:-1] + found[-1] + fixed[i], atol=1e-5)


def test_the_share_of_numbers_is_chosen():
    model = MultiTaskSVR(K, 1.0, rho=[0.0, 0.5, 1.0]).fit(X, Z, tasks=TASKS)
    assert model.rho_ == (0.0, 0.5, 1.0)[int(np.argmin(model.rho_errors_))] and np.all(model.rho_errors_ > 0.0)


def test_a_task_of_one_class_has_that_class():
    labels = np.where(TASKS == 0, 1, LABELS)
    model = MultiTaskSVC(K, 2.0, rho=0.0).fit(X, labels, tasks=TASKS)
    assert np.all(model.predict(T, tasks=np.zeros(6, int)) == 1)
