"""Plain updates of sparse Bayesian learning, and Newton's method on precisions."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from mercer.domains import Vectors
from mercer.errors import CapabilityError, ParameterError
from mercer.gram import Dense
from mercer.kernels import Gaussian
from mercer.problems import LinearSystem, Status
from mercer.solvers.sparse.fixed_point_evidence import FixedPointEvidence, ascend, model_of
from mercer.solvers.sparse.sparse_bayes import Design, NormalMatrix, SparseClassification, SparseRegression

rng = np.random.default_rng(0)
X = np.linspace(-8.0, 8.0, 60)[:, None]
Y = np.sinc(X[:, 0] / np.pi) + 0.1 * rng.normal(size=60)
T = (np.sin(X[:, 0]) + 0.4 * rng.normal(size=60) > 0).astype(float)
D = Design(Dense().build(Gaussian(2.0), Vectors.pack(X)), True)
ONE = np.ones(60)
REGRESSION = SparseRegression(NormalMatrix(D, ONE), D.moments(Y), float(Y @ Y), 60.0)
CLASSES = SparseClassification(D, T, ONE)


def test_a_toy_problem_against_a_general_optimiser():
    Phi = rng.normal(size=(30, 3))
    y = Phi @ np.array([2.0, 0.5, 0.0]) + 0.3 * rng.normal(size=30)

    def loss(x):
        C = np.exp(x[3]) * np.eye(30) + (Phi * np.exp(-x[:3])) @ Phi.T
        return -multivariate_normal(np.zeros(30), C).logpdf(y)

    best = min(
        (minimize(loss, start, bounds=[(-20, 20)] * 4) for start in (np.zeros(4), -np.ones(4))), key=lambda r: r.fun
    )
    problem = SparseRegression(NormalMatrix(Phi.T @ Phi), Phi.T @ y, float(y @ y), 30.0)
    found = FixedPointEvidence(1e-6).solve(problem).state
    assert np.isclose(found.evidence, -best.fun, atol=1e-5)
    assert np.allclose(np.log(found.alpha), best.x[found.index], atol=0.01)
    assert np.isclose(found.noise, np.exp(best.x[3]), rtol=1e-3)


@pytest.mark.parametrize("problem", [REGRESSION, CLASSES], ids=["regression", "classification"])
def test_the_evidence_never_falls_and_ends_at_its_top(problem):
    solution = FixedPointEvidence().solve(problem)
    assert solution.status is Status.CONVERGED and solution.residual < 1e-6
    objective = solution.trace.objective
    assert len(objective) > 5 and np.all(np.diff(objective) <= 1e-9 * np.abs(objective[1:]) + 1e-9)
    assert objective[-1] < objective[0] - 1.0 and np.isclose(-objective[-1], solution.state.evidence)
    assert 2 <= len(solution.state.index) <= 15
    assert np.array_equal(np.flatnonzero(solution.coef), solution.state.index)


def test_the_updates_of_the_seed_hold_at_the_end():
    found = FixedPointEvidence().solve(REGRESSION).state
    Phi = D.columns(found.index).T
    gamma = 1.0 - found.alpha * np.diag(found.root.T @ found.root)
    assert np.allclose(found.alpha, gamma / found.mean**2, rtol=1e-5)
    assert np.isclose(found.noise, np.sum((Y - Phi @ found.mean) ** 2) / (60 - gamma.sum()), rtol=1e-6)


def test_newton_never_falls_and_ends_flat():
    for problem, extra in ((REGRESSION, [2.0]), (CLASSES, [])):
        model = model_of(problem)
        model.extend(np.array([5, 25, 30, 35, 60]))
        start = model.evaluate(np.arange(5), np.concatenate([np.zeros(5), extra]))
        values, point = [start.evidence], start
        for _ in range(40):
            point = ascend(model, point, 1e-10, 1)
            values.append(point.evidence)
        assert np.all(np.diff(values) >= -1e-11) and values[-1] > values[0]
        end = ascend(model, point, 1e-9, 200)
        assert np.max(np.abs(end.gradient)) < 1e-6


def test_the_noise_has_a_floor():
    y = np.sinc(X[:, 0] / np.pi)
    exact = SparseRegression(NormalMatrix(D, ONE), D.moments(y), float(y @ y), 60.0)
    found = FixedPointEvidence().solve(exact).state
    assert 0.99e-8 * np.mean(y**2) <= found.noise < 1e-5


def test_it_can_be_stopped_and_limited():
    assert FixedPointEvidence(max_iter=2).solve(REGRESSION).status is Status.MAX_ITER
    seen = []
    late = FixedPointEvidence().solve(REGRESSION, monitor=lambda i, r: seen.append(r) or (i > 3 and Status.TIME))
    assert late.status is Status.TIME and len(seen) == 4 and np.isfinite(late.coef).all()
    assert FixedPointEvidence().solve(REGRESSION, monitor=lambda i, r: True).status is Status.STOPPED


def test_functions_that_are_zero_take_no_part():
    Phi = np.column_stack([np.zeros(60), np.ones(60)])
    problem = SparseRegression(NormalMatrix(Phi.T @ Phi), Phi.T @ (Y + 1), float((Y + 1) @ (Y + 1)), 60.0)
    assert FixedPointEvidence().solve(problem).state.index.tolist() == [1]


def test_what_it_does_not_solve():
    with pytest.raises(CapabilityError, match="SparseEvidence"):
        FixedPointEvidence().solve(LinearSystem(np.eye(2), 1.0, np.ones(2)))
    with pytest.raises(ParameterError):
        FixedPointEvidence(tol=-1.0).solve(REGRESSION)
