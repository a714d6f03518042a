"""Two machines that must agree: optimality conditions of the program."""

import numpy as np
import pytest

from mercer.problems import Status
from mercer.solvers.box.two_views import solve_two_views

RNG = np.random.default_rng(0)
N = 25
A, B = RNG.normal(size=(N, 3)), RNG.normal(size=(N, 2))
SIGN = np.where(A[:, 0] + B[:, 0] > 0.0, 1.0, -1.0)


def primal(F, weights, b, costs, epsilon):
    fA, fB = F[0] @ weights[0] + b[0], F[1] @ weights[1] + b[1]
    hinge = [np.maximum(0.0, 1.0 - SIGN * f) for f in (fA, fB)]
    apart = np.maximum(0.0, np.abs(fA - fB) - epsilon)
    return 0.5 * sum(w @ w for w in weights) + costs[0] @ hinge[0] + costs[1] @ hinge[1] + costs[2] @ apart


@pytest.mark.parametrize("agreement", [0.0, 0.5, 20.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_strong_duality(agreement, epsilon):
    costs = tuple(c * RNG.uniform(0.5, 1.5, N) for c in (2.0, 1.0, agreement))
    found = solve_two_views((A, B), SIGN, costs, epsilon, tol=1e-9)
    assert found.status is Status.CONVERGED
    assert np.abs(found.coef.sum(axis=0)).max() < 1e-6
    value = primal((A, B), found.weights, found.intercepts, costs, epsilon)
    # nothing near it is better
    for _ in range(50):
        nearby = tuple(w + 1e-3 * RNG.normal(size=w.shape) for w in found.weights)
        assert primal((A, B), nearby, found.intercepts + 1e-3 * RNG.normal(size=2), costs, epsilon) > value - 1e-8


def test_it_stops_when_asked():
    costs = (np.ones(N),) * 3
    found = solve_two_views((A, B), SIGN, costs, 0.0, monitor=lambda i, _: i >= 2)
    assert found.status is Status.STOPPED and found.iterations == 2
