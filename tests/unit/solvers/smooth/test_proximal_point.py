"""Risks with kinks: against the duals that other solvers solve, to a gap that is true."""

import numpy as np
import pytest

from mercer.errors import CapabilityError, ParameterError
from mercer.losses import Absolute, EpsilonInsensitive, Hinge, Huber, Logistic, Pinball, Squared
from mercer.problems import BoxQP, ConvexRisk, LinearSystem, SmoothRisk, Status
from mercer.solvers import InteriorPoint, Newton, ProximalPoint
from mercer.solvers.smooth.proximal_point import spread_of
from tests.unit.solvers.matrices import Matrix

random = np.random.default_rng(0)
N = 40
X = random.normal(size=(N, 2))
K = np.exp(-0.5 * np.sum((X[:, None] - X) ** 2, axis=2))
Y = np.sin(2 * X[:, 0]) + 0.3 * random.normal(size=N)
SIGN = np.where(Y > 0, 1.0, -1.0)
W = random.uniform(0.5, 2.0, N)
ONES = np.ones((N, 1))


class Products:
    """Products alone."""

    def __matmul__(self, V):
        return K @ V


class Held(Products):
    """A matrix that can be given away."""

    def release(self):
        return K.copy()


def objective(loss, y, solution, penalty=0.5):
    return W @ loss.value(y, solution.state.values) + 0.5 * penalty * solution.coef @ K @ solution.coef


@pytest.mark.parametrize("gram", [Products(), Held()], ids=lambda gram: type(gram).__name__)
@pytest.mark.parametrize(
    ("loss", "y"),
    [(Absolute(), Y), (EpsilonInsensitive(0.2), Y), (Huber(0.2), Y), (Pinball(0.7), Y), (Hinge(), SIGN)],
    ids=lambda value: repr(value) if not isinstance(value, np.ndarray) else "",
)
def test_the_minimum_is_that_of_the_dual(gram, loss, y):
    solution = ProximalPoint(1e-9).solve(ConvexRisk(gram, loss, y, W, 0.5, ONES))
    assert solution.status is Status.CONVERGED and solution.gap <= 1e-9 * objective(loss, y, solution) * 1.001
    assert abs(solution.coef.sum()) < 1e-8
    np.testing.assert_allclose(solution.state.values, K @ solution.coef + solution.multipliers[0], atol=1e-8)
    dual = loss.box_dual(y, W / 0.5)
    big = K if dual.index is None else K[np.ix_(dual.index, dual.index)]
    exact = InteriorPoint().solve(BoxQP(Matrix(big), dual.linear, dual.lower, dual.upper, ridge=dual.ridge))
    least = -0.5 * (0.5 * exact.coef @ (big + np.diag(np.broadcast_to(dual.ridge, len(big)))) @ exact.coef)
    least -= 0.5 * (dual.linear @ exact.coef)
    assert objective(loss, y, solution) == pytest.approx(least, rel=1e-7)
    assert objective(loss, y, solution) >= least - 1e-9


def test_smooth_losses_and_other_borders():
    border = np.column_stack([np.ones(N), X])
    ours = ProximalPoint(1e-12).solve(ConvexRisk(Held(), Logistic(), SIGN, W, 0.5, border))
    theirs = Newton(1e-10).solve(SmoothRisk(Held(), Logistic(), SIGN, W, 0.5, border))
    np.testing.assert_allclose(ours.state.values, theirs.state.values, atol=1e-4)
    np.testing.assert_allclose(ours.multipliers, theirs.multipliers, atol=1e-3)
    ridge = ProximalPoint(1e-12).solve(ConvexRisk(Held(), Squared(), Y, np.ones(N), 0.5))
    np.testing.assert_allclose(ridge.coef, np.linalg.solve(K + 0.5 * np.eye(N), Y), atol=1e-4)


def test_several_outputs_are_each_alone():
    both = np.column_stack([Y, Y**2])
    together = ProximalPoint(1e-11).solve(ConvexRisk(Held(), Absolute(), both, W, 0.5, ONES))
    for column in range(2):
        alone = ProximalPoint(1e-11).solve(ConvexRisk(Held(), Absolute(), both[:, column], W, 0.5, ONES))
        np.testing.assert_allclose(together.state.values[:, column], alone.state.values, atol=1e-4)


def test_the_gap_is_true_also_where_the_iterations_run_out():
    best = ProximalPoint(1e-11).solve(ConvexRisk(Held(), Absolute(), Y, W, 0.5))
    least = objective(Absolute(), Y, best)
    for limit in (1, 2, 4):
        early = ProximalPoint(1e-11, limit).solve(ConvexRisk(Held(), Absolute(), Y, W, 0.5))
        assert early.status is Status.MAX_ITER and len(early.trace) == limit
        assert -1e-9 <= objective(Absolute(), Y, early) - least <= early.gap


def test_a_monitor_stops_it_and_the_best_so_far_is_returned():
    seen = []

    def monitor(iteration, residual):
        seen.append(residual)
        return Status.TIME if len(seen) > 12 else False

    solution = ProximalPoint(1e-11).solve(ConvexRisk(Held(), Absolute(), Y, W, 0.5), monitor=monitor)
    assert solution.status is Status.TIME and np.isfinite(solution.gap) and len(seen) >= 13


def test_targets_that_cost_nothing():
    solution = ProximalPoint().solve(ConvexRisk(Held(), EpsilonInsensitive(9.0), Y, W, 0.5))
    assert solution.status is Status.CONVERGED and solution.gap == 0.0 and not solution.coef.any()


def test_what_is_refused():
    with pytest.raises(ParameterError, match="positive and finite"):
        ProximalPoint().solve(ConvexRisk(Held(), Absolute(), Y, W, 0.0))
    with pytest.raises(CapabilityError, match="ConvexRisk"):
        ProximalPoint().solve(LinearSystem(Held(), 1.0, Y))


def test_the_spread_of_targets_counts_copies():
    counts = random.integers(1, 4, N)
    assert spread_of(Y, counts.astype(float)) == pytest.approx(np.std(np.repeat(Y, counts)))
    assert spread_of(np.full(3, 5.0), np.ones(3)) == 5.0 and spread_of(np.zeros(3), np.ones(3)) == 1.0
