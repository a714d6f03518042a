"""Laws of box duals: the Fenchel-Young inequality, and primal optimum = dual optimum."""

import numpy as np
import pytest

from mercer.problems import BoxQP, Status
from mercer.solvers import InteriorPoint
from tests.unit.solvers.matrices import Matrix


def conjugate(dual, beta):
    """Value r beta^2 / 2 + p beta of each variable."""
    return 0.5 * dual.ridge * beta**2 + dual.linear * beta


def per_sample(dual, values, n):
    return values if dual.index is None else np.bincount(dual.index, weights=values, minlength=n)


def check_fenchel_young(loss, y, weight, random):
    """c psi(y, f) + (c psi)*(-beta) + beta f is never negative, and zero at minus the slope of c psi."""
    n = len(y)
    dual = loss.box_dual(y, weight)
    low, high = np.maximum(dual.lower, -20.0), np.minimum(dual.upper, 20.0)
    assert np.all(dual.lower <= dual.upper)
    for _ in range(20):
        f = 3.0 * random.normal(size=n)
        beta = low + (high - low) * random.choice([0.0, 0.3, random.random(), 1.0], size=len(low))
        cost = weight * loss.value(y, f)
        rest = per_sample(dual, conjugate(dual, beta), n) + per_sample(dual, beta, n) * f
        assert np.all(cost + rest >= -1e-9 * (1.0 + np.abs(cost)))
        touching = -weight * loss.gradient(y, f)
        if dual.index is None:
            beta = touching
        else:
            beta = np.concatenate([np.maximum(touching, 0.0), np.minimum(touching, 0.0)])
        assert np.all((beta >= dual.lower - 1e-12) & (beta <= dual.upper + 1e-12))
        rest = per_sample(dual, conjugate(dual, beta), n) + touching * f
        np.testing.assert_allclose(cost + rest, 0.0, atol=1e-9 * (1.0 + np.abs(cost).max()))


def primal(loss, y, weight, K, rounds=1000):
    """Least of sum c psi(y, f) + |f|^2 / 2 over f = K a + b, by majorisation: each round is a ridge regression."""
    n = len(y)
    a, b, least = np.zeros(n), 0.0, np.inf
    for _ in range(rounds):
        f = K @ a + b
        least = min(least, weight @ loss.value(y, f) + 0.5 * a @ K @ a)
        curve = weight * np.minimum(loss.curvature(y, f), 1e7)
        target = f - weight * loss.gradient(y, f) / curve
        system = np.block([[K + np.diag(1.0 / curve), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
        *a, b = np.linalg.solve(system, np.append(target, 0.0))
        a = np.array(a)
    return least


def check_duality(loss, y, weight, X):
    """The dual, solved, gives a function whose risk is minus its value: both are optimal."""
    n = len(y)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1))
    dual = loss.box_dual(y, weight)
    doubled = K if dual.index is None else K[np.ix_(dual.index, dual.index)]
    problem = BoxQP(Matrix(doubled), dual.linear, dual.lower, dual.upper, ridge=dual.ridge)
    solution = InteriorPoint().solve(problem)
    assert solution.status is Status.CONVERGED
    a = per_sample(dual, solution.coef, n)
    f = K @ a - solution.multipliers[0]
    risk = weight @ loss.value(y, f) + 0.5 * a @ K @ a
    assert risk == pytest.approx(-solution.trace.objective[0], rel=1e-9)
    assert primal(loss, y, weight, K) == pytest.approx(risk, rel=1e-3)
