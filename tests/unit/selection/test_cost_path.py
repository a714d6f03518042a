"""Tests of the warm-started path of costs."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from mercer.domains import Vectors
from mercer.errors import ParameterError
from mercer.gram import Dense, Tiles
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Hinge, SquaredHinge
from mercer.problems import BoxQP
from mercer.selection.cost_path import cost_path
from mercer.solvers import SMO

COSTS = [10.0, 0.1, 1.0]


@pytest.fixture(scope="module")
def problem():
    X, y = load_breast_cancer(return_X_y=True)
    return Dense().build(Gaussian(5.0), Vectors.pack(scale(X))), 2.0 * y - 1.0


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=repr)
def test_each_is_the_solution_from_nothing(problem, loss):
    K, y = problem
    w = np.linspace(0.5, 2.0, len(y))
    for C, warm in zip(COSTS, cost_path(K, y, COSTS, weight=w, loss=loss), strict=True):
        dual = loss.box_dual(y, C * w)
        cold = SMO().solve(BoxQP(K, dual.linear, dual.lower, dual.upper, ridge=dual.ridge))
        np.testing.assert_allclose(K @ warm.coef, K @ cold.coef, atol=1e-7)
        np.testing.assert_allclose(warm.multipliers, cold.multipliers, atol=1e-7)


def test_starting_from_the_last_saves_work():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    y = np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=3000) > 0, 1.0, -1.0)
    K = Tiles(precision="mixed").build(Gaussian(2.0), Vectors.pack(X))
    costs = np.geomspace(0.5, 1.0, 5)
    warm = sum(s.details["pairs moved"] for s in cost_path(K, y, costs))
    cold = sum(cost_path(K, y, [C])[0].details["pairs moved"] for C in costs)
    assert warm < 0.8 * cold


def test_what_is_refused(problem):
    K, y = problem
    with pytest.raises(ParameterError, match="costs"):
        cost_path(K, y, [0.0])
    with pytest.raises(ParameterError, match="two variables"):
        cost_path(K, y, [1.0], loss=EpsilonInsensitive(0.1))
