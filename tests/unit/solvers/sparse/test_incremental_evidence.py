"""Sparse Bayesian learning one basis function at a time."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.gram import Dense, Tiles
from mercer.kernels import Gaussian
from mercer.problems import Status
from mercer.solvers.sparse.fixed_point_evidence import FixedPointEvidence
from mercer.solvers.sparse.incremental_evidence import IncrementalEvidence, _act, gains
from mercer.solvers.sparse.sparse_bayes import Design, NormalMatrix, SparseClassification, SparseRegression

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(-10.0, 10.0, 100))[:, None]
F = np.sinc(X[:, 0] / np.pi)
Y = F + 0.1 * rng.normal(size=100)
T = (np.sin(X[:, 0]) + 0.4 * rng.normal(size=100) > 0).astype(float)
ONE = np.ones(100)


def regression(spec=None, noise=None):
    D = Design((spec or Dense()).build(Gaussian(2.0), Vectors.pack(X)), True)
    return SparseRegression(NormalMatrix(D, ONE), D.moments(Y), float(Y @ Y), 100.0, noise), D


def naive_factors(Phi, y, posterior):
    """Return s and q of all functions from the covariance of the targets, each function left out of it."""
    n = len(y)
    full = posterior.noise * np.eye(n) + (Phi[:, posterior.index] / posterior.alpha) @ Phi[:, posterior.index].T
    s, q = np.empty(Phi.shape[1]), np.empty(Phi.shape[1])
    for j in range(Phi.shape[1]):
        C = full.copy()
        if j in posterior.index:
            C -= np.outer(Phi[:, j], Phi[:, j]) / posterior.alpha[posterior.index == j]
        solved = np.linalg.solve(C, np.column_stack([Phi[:, j], y]))
        s[j], q[j] = Phi[:, j] @ solved
    return s, q


@pytest.mark.parametrize("noise", [None, 0.01])
def test_the_conditions_of_an_optimum(noise):
    problem, D = regression(noise=noise)
    solution = IncrementalEvidence(tol=1e-9).solve(problem)
    found = solution.state
    s, q = naive_factors(D.columns(np.arange(101)).T, Y, found)
    inside = np.isin(np.arange(101), found.index)
    assert solution.status is Status.CONVERGED
    assert np.allclose(found.alpha, s[inside] ** 2 / (q[inside] ** 2 - s[inside]), rtol=1e-3)
    gain = gains(s[~inside], q[~inside] ** 2 - s[~inside])
    assert gain.max() < 1e-7  # q^2 <= s, but for what rounding leaves of functions within the span of the model


def test_few_functions_and_a_small_error():
    problem, D = regression()
    found = IncrementalEvidence().solve(problem).state
    error = np.sqrt(np.mean((D.columns(found.index).T @ found.mean - F) ** 2))
    assert len(found.index) < 12 and error < 0.05 and 0.006 < found.noise < 0.014


@pytest.mark.parametrize("kind", ["regression", "classification"])
def test_as_good_as_the_plain_updates(kind):
    problem, D = regression()
    if kind == "classification":
        problem = SparseClassification(D, T, ONE)
    fast, plain = IncrementalEvidence().solve(problem), FixedPointEvidence().solve(problem)
    assert fast.state.evidence > plain.state.evidence - 2.0
    assert np.all(np.diff(fast.trace.objective) <= 1e-9) and fast.residual <= 1e-3


def test_the_evidence_has_several_optima():
    """Growing and pruning may end at different ones: at both, no precision of any function can be improved."""
    y = F + 0.2 * np.random.default_rng(3).normal(size=100)
    D = Design(Dense().build(Gaussian(1.0), Vectors.pack(X)), True)
    problem = SparseRegression(NormalMatrix(D, ONE), D.moments(y), float(y @ y), 100.0)
    evidence = []
    for solver in (IncrementalEvidence(), FixedPointEvidence()):
        found = solver.solve(problem).state
        s, q = naive_factors(D.columns(np.arange(101)).T, y, found)
        inside = np.isin(np.arange(101), found.index)
        assert np.allclose(found.alpha, s[inside] ** 2 / (q[inside] ** 2 - s[inside]), rtol=1e-4)
        assert gains(s[~inside], q[~inside] ** 2 - s[~inside]).max() < 1e-3
        evidence.append(found.evidence)
    assert abs(evidence[0] - evidence[1]) > 0.01


def test_the_gain_is_what_the_evidence_grows_by():
    problem, _ = regression(noise=0.01)
    y = Y
    Phi = problem.gram.design.columns(np.array([50])).T
    s, q = float(Phi[:, 0] @ Phi[:, 0]) / 0.01, float(Phi[:, 0] @ y) / 0.01
    alpha = s * s / (q * q - s)
    C = 0.01 * np.eye(100) + Phi @ Phi.T / alpha
    grown = -0.5 * (np.linalg.slogdet(C / 0.01)[1] + y @ np.linalg.solve(C, y) - y @ y / 0.01)
    assert np.isclose(gains(np.array([s]), np.array([q * q - s]))[0], grown, rtol=1e-9)
    assert gains(np.array([1.0, 0.0]), np.array([-0.5, 2.0])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("act", [_act, _act.py_func], ids=["compiled", "python"])
def test_actions_are_updates_of_rank_one(act):
    A = rng.normal(size=(30, 6))
    z = A @ np.array([1.0, 0.0, -1.0, 0.0, 0.0, 0.5]) + 0.1 * rng.normal(size=30)
    G, b = A.T @ A / 0.01, A.T @ z / 0.01
    F, Q, theta = G.copy(), b.copy(), np.zeros(6)
    done = act(F, Q, theta, np.zeros(6), 1e-10, 1000)
    C = 0.01 * np.eye(30) + (A * theta) @ A.T
    assert 3 <= done < 1000 and np.all(theta[[0, 2, 5]] > 0.0)
    assert np.allclose(F, A.T @ np.linalg.solve(C, A), rtol=1e-6)
    assert np.allclose(Q, A.T @ np.linalg.solve(C, z), rtol=1e-6, atol=1e-6)
    rest = 1.0 - theta * np.diag(F)
    s, q = np.diag(F) / rest, Q / rest
    assert np.allclose(theta, np.maximum(0.0, (q**2 - s) / s**2), rtol=1e-3, atol=1e-12)
    assert act(F, Q, theta, np.zeros(6), 1e-10, 1000) == 0
    theta[1] += 0.5  # of no use: it is deleted again
    C = 0.01 * np.eye(30) + (A * theta) @ A.T
    act(A.T @ np.linalg.solve(C, A), A.T @ np.linalg.solve(C, z), theta, np.zeros(6), 1e-10, 1000)
    assert (theta[1] == 0.0) == (q[1] ** 2 <= s[1])


def test_columns_on_demand_give_the_same():
    one, two = (IncrementalEvidence().solve(regression(spec)[0]).state for spec in (Dense(), Tiles()))
    assert np.array_equal(one.index, two.index) and np.allclose(one.mean, two.mean, rtol=1e-6)


def test_it_can_be_stopped_and_limited():
    problem, _ = regression()
    assert IncrementalEvidence(max_iter=1).solve(problem).status is Status.MAX_ITER
    late = IncrementalEvidence().solve(problem, monitor=lambda i, r: i >= 2 and Status.TIME)
    assert late.status is Status.TIME and len(late.state.index) > 0
    first = IncrementalEvidence().solve(problem, monitor=lambda i, r: True)
    assert first.status is Status.STOPPED and len(first.state.index) == 0


def test_copies_of_a_function_are_one():
    problem, D = regression()
    Phi = D.columns(np.arange(101)).T
    twice = np.hstack([Phi, Phi])
    double = SparseRegression(NormalMatrix(twice.T @ twice), twice.T @ Y, float(Y @ Y), 100.0)
    one, two = IncrementalEvidence().solve(problem).state, IncrementalEvidence().solve(double).state
    assert np.isclose(one.evidence, two.evidence, atol=1e-6)
    assert np.allclose(Phi[:, one.index] @ one.mean, twice[:, two.index] @ two.mean, atol=1e-5)


def test_nothing_to_explain():
    Phi = rng.normal(size=(50, 5))
    zero = SparseRegression(NormalMatrix(Phi.T @ Phi), np.zeros(5), 0.0, 50.0)
    solution = IncrementalEvidence().solve(zero)
    assert solution.status is Status.CONVERGED and len(solution.state.index) == 0 and not solution.coef.any()
