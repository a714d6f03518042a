"""Column generation over finitely many weak learners, against the linear program of all of them."""

import numpy as np
import pytest
from scipy.optimize import linprog

from mercer.problems import Status
from mercer.solvers.columns.generation import Candidates, Margin, Penalty, Tube, generate

rng = np.random.default_rng(0)
N = 50
H = np.sign(rng.normal(size=(40, N)) + 0.3 * rng.normal(size=N))
ALL = np.vstack([H, -H])
W = rng.integers(1, 4, size=N).astype(float)
NUMBERS = H[:5].sum(axis=0) + 0.5 * rng.normal(size=N)
Y = np.where(NUMBERS > 0.0, 1.0, -1.0)
FORMS = {
    "margin": lambda: Margin(Y, W, 0.3),
    "penalty": lambda: Penalty(Y, W, 0.05),
    "tube": lambda: Tube(NUMBERS, W, 0.05, 0.2, None),
    "tube found": lambda: Tube(NUMBERS, W, 0.05, None, 0.4),
}


def search(r):
    edges = ALL @ r
    best = np.argsort(-edges, kind="stable")[:3]
    return Candidates(edges[best], ALL[best], best.tolist())


def primal(name):
    """The program as it is written in the docstring, all weak learners at once: its optimum and weights."""
    k, G = len(ALL), ALL.T
    one, none = np.ones((N, 1)), np.zeros((N, 1))
    if name == "margin":  # a, rho, xi
        cost = np.concatenate([np.zeros(k), [-1.0], W / (0.3 * W.sum())])
        A = np.hstack([-Y[:, None] * G, one, -np.eye(N)])
        equal, limits = np.concatenate([np.ones(k), np.zeros(1 + N)])[None], [(0, None)] * k + [(None, None)]
        return linprog(cost, A, np.zeros(N), equal, [1.0], bounds=limits + [(0, None)] * N)
    if name == "penalty":
        cost = np.concatenate([np.ones(k), 0.05 * W])
        return linprog(cost, np.hstack([-Y[:, None] * G, -np.eye(N)]), -np.ones(N))
    found = name == "tube found"  # a, b, eps, xi
    cost = np.concatenate([np.ones(k), [0.0, 0.05 * 0.4 * W.sum() if found else 0.0], 0.05 * W])
    side = -one if found else none
    A = np.vstack([np.hstack([-G, -one, side, -np.eye(N)]), np.hstack([G, one, side, -np.eye(N)])])
    right = np.concatenate([-NUMBERS, NUMBERS]) + (0.0 if found else 0.2)
    limits = [(0, None)] * k + [(None, None), (0, None)] + [(0, None)] * N
    return linprog(cost, A, right, bounds=limits)


@pytest.mark.parametrize("solver", ["interior", "simplex"])
@pytest.mark.parametrize("name", FORMS)
def test_all_forms_reach_the_optimum_of_all_columns(name, solver):
    found = generate(FORMS[name](), search, tol=1e-7, solver=solver)
    best = primal(name)
    assert found.status is Status.CONVERGED
    assert found.objective == pytest.approx(best.fun, rel=3e-7, abs=3e-7)
    assert -1e-9 <= found.objective - best.fun <= found.gap + 1e-9
    assert len(found.marks) < len(ALL) and np.array_equal(found.values, ALL[found.marks])


@pytest.mark.parametrize("name", FORMS)
def test_the_gap_bounds_what_further_columns_can_gain(name):
    """Soft stopping: at every round the objective is at most the gap above the optimum."""
    best = primal(name).fun
    for rounds in (1, 2, 4):
        found = generate(FORMS[name](), search, tol=1e-9, max_iter=rounds)
        assert found.status is Status.MAX_ITER and len(found.stages) == rounds
        assert best - 1e-9 <= found.objective <= best + found.gap + 1e-9


def test_a_bound_of_infinity_at_the_start_would_end_at_once():
    """The seed prints beta = infinity, at which no weak learner is better; 0 (or less) is meant."""
    found = generate(Margin(Y, W, 0.3), search, tol=1e-3)
    assert len(found.stages) > 1 and found.objective < 0.0


def test_a_monitor_ends_it_with_what_there_is():
    found = generate(Margin(Y, W, 0.3), search, tol=1e-9, monitor=lambda turn, gap: Status.TIME if turn == 2 else False)
    assert found.status is Status.TIME and found.weights.sum() == pytest.approx(1.0)


def test_the_small_weights_of_an_interior_point_are_dropped():
    found = generate(Margin(Y, W, 0.3), search, tol=1e-4)
    vertex = generate(Margin(Y, W, 0.3), search, tol=1e-4, solver="simplex")
    assert np.count_nonzero(found.weights) <= 3 * np.count_nonzero(vertex.weights)


def test_contradicting_samples_have_no_margin():
    y = np.array([1.0, -1.0])
    column = np.ones((1, 2))
    found = generate(
        Margin(y, np.ones(2), 1.0),
        lambda r: Candidates(np.array([abs(r.sum())]), np.where(r.sum() >= 0.0, 1.0, -1.0) * column, [0]),
    )
    assert found.status is Status.CONVERGED and found.objective == pytest.approx(0.0, abs=1e-12)
