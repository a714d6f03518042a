import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.solvers.rows.simplex import minimize_on_simplex


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("rank", [2, 6, 12])
def test_equals_a_general_solver(seed, rank):
    rng = np.random.default_rng(seed)
    A, c = rng.normal(size=(9, rank)), rng.normal(size=9)
    G = A @ A.T
    alpha, value = minimize_on_simplex(G, c, np.eye(9)[0])
    assert alpha.min() >= 0.0 and alpha.sum() == pytest.approx(1.0)
    assert value == pytest.approx(0.5 * alpha @ G @ alpha - c @ alpha)
    found = minimize(
        lambda a: 0.5 * a @ G @ a - c @ a, np.full(9, 1 / 9), jac=lambda a: G @ a - c, method="SLSQP",
        bounds=[(0, None)] * 9, constraints={"type": "eq", "fun": lambda a: a.sum() - 1}, options={"ftol": 1e-14},
    )  # fmt: skip
    assert value <= found.fun + 1e-7
    slope = G @ alpha - c
    assert slope[alpha > 1e-12].max() - slope.min() <= 1e-7 * (1 + np.abs(slope).max())


def test_from_the_solution_nothing_changes():
    rng = np.random.default_rng(0)
    A, c = rng.normal(size=(7, 7)), rng.normal(size=7)
    alpha, value = minimize_on_simplex(A @ A.T, c, np.full(7, 1 / 7))
    again, same = minimize_on_simplex(A @ A.T, c, alpha)
    np.testing.assert_allclose(again, alpha, atol=1e-9)
    assert same == pytest.approx(value)


def test_equal_planes_and_one_plane():
    alpha, value = minimize_on_simplex(np.ones((3, 3)), np.ones(3), np.array([1.0, 0.0, 0.0]))
    assert value == pytest.approx(-0.5) and alpha.sum() == pytest.approx(1.0)
    alpha, value = minimize_on_simplex(np.array([[4.0]]), np.array([1.0]), np.array([1.0]))
    assert alpha[0] == pytest.approx(1.0) and value == pytest.approx(1.0)
