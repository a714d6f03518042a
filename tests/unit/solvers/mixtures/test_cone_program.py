"""The cone program, whose optimum others are compared with, against a direct search over the weights."""

import sys

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.errors import CapabilityError
from mercer.mixtures import LpBall
from mercer.solvers import ConeProgram
from mercer.solvers.mixtures.machines import machine_of
from mercer.solvers.mixtures.stack import stack_of
from tests.unit.solvers.mixtures.cases import problem, require_solved, several


@pytest.mark.parametrize("loss", ["hinge", "squared", "tube", "one class"])
def test_no_other_weights_are_better(loss):
    pytest.importorskip("clarabel")
    given = problem(loss, n=20)
    solution = ConeProgram().solve(given)
    require_solved(solution, 1e-6)
    machine = machine_of(given, stack_of(given.grams))
    rng = np.random.default_rng(0)
    for _ in range(20):
        d = rng.dirichlet(np.full(len(given.grams), 0.3))
        value = machine.solve(d, None, 1e-9).value
        assert value >= solution.state.objective - 1e-6 * abs(value)


def test_the_optimum_over_two_weights_by_a_scan():
    pytest.importorskip("clarabel")
    given = problem("hinge", n=20, kernels=lambda X, y: [X[:, :1] @ X[:, :1].T, X[:, 1:] @ X[:, 1:].T])
    machine = machine_of(given, stack_of(given.grams))
    scan = minimize(
        lambda a: machine.solve(np.array([a[0], 1.0 - a[0]]), None, 1e-10).value,
        [0.5],
        bounds=[(0.0, 1.0)],
        method="Powell",
    )
    assert np.isclose(ConeProgram().solve(given).state.objective, scan.fun, rtol=1e-6)


def test_several_programs_share_their_weights():
    pytest.importorskip("clarabel")
    require_solved(ConeProgram().solve(several(24)), 1e-6)


def test_what_it_cannot_do_is_said(monkeypatch):
    with pytest.raises(CapabilityError, match=r"mixture=Simplex\(\)"):
        ConeProgram().solve(problem(n=12, weights=LpBall(2.0)))
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(CapabilityError, match=r"pip install mercer\[qp\]"):
        ConeProgram().solve(problem(n=12))
