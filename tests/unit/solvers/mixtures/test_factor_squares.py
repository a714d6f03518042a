"""Least squares in the coordinates of factors: the same numbers as on the matrices themselves."""

import numpy as np
import pytest

from mercer.mixtures import Simplex
from mercer.solvers import MixtureNewton
from mercer.solvers.mixtures.factor_squares import FactorSquares
from mercer.solvers.mixtures.machines import BoxMachine
from mercer.solvers.mixtures.mixture_problem import MixtureQP
from mercer.solvers.mixtures.stack import Factor, Matrix, stack_of
from tests.unit.solvers.mixtures.cases import program

rng = np.random.default_rng(0)
FACTORS = [rng.normal(size=(40, r)) for r in (2, 3, 5)]
Y = rng.normal(size=(40, 2)) + FACTORS[0][:, :1]
D = np.array([0.5, 0.0, 0.5])


def problems(outputs, weight=1.0):
    parts = tuple(program("squared", Y[:, k], 3.0, weight) for k in range(outputs))
    held = [[Factor(F) for F in FACTORS], [Matrix(F @ F.T) for F in FACTORS]]
    return [MixtureQP(grams, Simplex(), parts) for grams in held]


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("weight", [1.0, rng.uniform(0.5, 2.0, size=40)], ids=["equal", "weights"])
def test_points_and_curvature_are_those_of_the_matrices(outputs, weight):
    low, full = problems(outputs, weight)
    assert FactorSquares.suits(low, stack_of(low.grams)) and not FactorSquares.suits(full, stack_of(full.grams))
    fast, slow = FactorSquares(low, stack_of(low.grams)), BoxMachine(full, stack_of(full.grams))
    for d in (D, np.full(3, 1.0 / 3.0)):
        a, b = fast.solve(d, None, 1e-9), slow.solve(d, None, 1e-9)
        for name in ("z", "beta", "s", "product", "multipliers"):
            assert np.allclose(getattr(a, name), getattr(b, name), rtol=1e-8, atol=1e-9), name
        assert np.isclose(a.value, b.value, rtol=1e-9)
        which = np.array([0, 2])
        assert np.allclose(fast.curvature(a, which, 0), slow.curvature(b, which, 1000), rtol=1e-6, atol=1e-9)


def test_the_search_uses_it():
    low, full = problems(1)
    a, b = MixtureNewton(1e-6).solve(low), MixtureNewton(1e-6).solve(full)
    assert np.allclose(a.state.weights, b.state.weights, atol=1e-6) and a.residual <= 1e-6
