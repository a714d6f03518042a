"""Transport of points of equal mass: against a linear program, and in one dimension against sorted points."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import wasserstein_distance

from mercer.kernels.graphs import transport as module
from mercer.kernels.graphs.transport import transport_costs

rng = np.random.default_rng(0)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 4), (2, 3), (4, 6), (5, 7), (6, 6), (9, 3)])
def test_agrees_with_a_linear_program(n, m):
    x, z = rng.normal(size=(n, 2)), rng.normal(size=(m, 2))
    costs = np.linalg.norm(x[:, None] - z, axis=2)
    sums = np.vstack([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
    exact = linprog(costs.ravel(), A_eq=sums, b_eq=np.concatenate([np.full(n, 1 / n), np.full(m, 1 / m)])).fun
    found = transport_costs((x, np.array([0, n])), (z, np.array([0, m])))
    assert found[0, 0] == pytest.approx(exact, rel=1e-9)


def test_on_the_line_and_with_equal_points():
    sizes = [3, 8, 20, 20]
    points = [np.round(rng.normal(size=size), 1) for size in sizes]  # rounded: many are equal
    together = np.concatenate(points)[:, None], np.concatenate([[0], np.cumsum(sizes)])
    expected = [[wasserstein_distance(a, b) for b in points] for a in points]
    np.testing.assert_allclose(transport_costs(together, together), expected, atol=1e-12)
    np.testing.assert_allclose(transport_costs(together, together, symmetric=True), expected, atol=1e-12)


def test_loops_run_uncompiled():
    costs = np.array([[1.0, 2.0, 4.0], [2.0, 1.0, 1.0]])
    assert module._transport.py_func(costs) == pytest.approx((2 * 1.0 + 1 * 2.0 + 1 * 1.0 + 2 * 1.0) / 6.0)
