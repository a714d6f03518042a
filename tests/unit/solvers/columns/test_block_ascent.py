"""Multipliers of one block, against a program; forgetting; the bound on the number of constraints."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.gram import Dense
from mercer.kernels import Gaussian
from mercer.problems import Status
from mercer.solvers.columns.block_ascent import Ascent, Block, Values, _solve_block, certified


@pytest.mark.parametrize("cost", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("solve", [_solve_block, _solve_block.py_func], ids=["compiled", "python"])
def test_the_program_of_one_block(cost, solve):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 6))
    H, b = A @ A.T, rng.random(4) + 0.5
    alpha, gradient = np.zeros(4), -b
    assert solve(H, gradient, alpha, cost, 1e-10) == pytest.approx(b.max())
    wanted = minimize(
        lambda a: 0.5 * a @ H @ a - b @ a,
        np.zeros(4),
        jac=lambda a: H @ a - b,
        bounds=[(0.0, None)] * 4,
        constraints={"type": "ineq", "fun": lambda a: cost - a.sum(), "jac": lambda a: -np.ones(4)},
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    assert 0.5 * alpha @ H @ alpha - b @ alpha == pytest.approx(wanted.fun, abs=1e-8)
    np.testing.assert_allclose(gradient, H @ alpha - b, atol=1e-9)
    assert solve(H, gradient, alpha, cost, 1e-8) <= 1e-8


def test_constraints_that_are_idle_are_forgotten():
    class Found:
        def __init__(self, key, psi):
            self.key, self.psi, self.g, self.loss = key, psi, np.empty(0), 1.0

    values = Values(Dense().build(Gaussian(1.0), Gaussian(1.0).pack([[0.0], [1.0]])), 2, 0)
    block = Block(np.array([0]), 0, 1.0)
    block.add(Found("a", np.array([[1.0, -1.0]])), values)
    block.add(Found("b", np.array([[-1.0, 1.0]])), values)
    block.alpha[0] = 0.5
    for _ in range(30):
        block.forget()
    assert block.keys == {"a": 0}
    assert block.H.shape == (1, 1)
    assert block.slack(values, values.at(block.sites)) == 1.0


def test_the_bound_of_the_theorem():
    found = Ascent(None, 0.0, 0.0, np.zeros(3), 0.0, 1, 1, 4.0, 1.0, Status.CONVERGED, [])
    assert certified(found, np.full(3, 0.001), 0.1) == pytest.approx(2 * 3 / 0.1)
    assert certified(found, np.full(3, 2.0), 0.1) == pytest.approx(8 * 6.0 * 4.0 / 0.01)
    assert certified(found, np.full(3, 2.0), 1e-300) == np.inf
    assert certified(found, np.full(3, 2.0), 1e300) == pytest.approx(6e-300)
