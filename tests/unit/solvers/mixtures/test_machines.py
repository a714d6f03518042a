"""A machine at given weights: its value, its slopes and its curvature."""

import numpy as np
import pytest

from mercer.solvers import SMO
from mercer.solvers.mixtures.machines import machine_of
from mercer.solvers.mixtures.stack import Matrix, stack_of
from tests.unit.solvers.mixtures.cases import problem, several, together

D = np.array([0.3, 0.1, 0.2, 0.05, 0.05, 0.1, 0.1, 0.05, 0.05])
LOSSES = ["hinge", "squared hinge", "squared", "tube", "one class"]


def machine(given):
    return machine_of(given, stack_of(given.grams))


@pytest.mark.parametrize("loss", LOSSES)
def test_it_solves_the_program_of_the_weighted_sum(loss):
    given = problem(loss)
    point = machine(given).solve(D, None, 1e-9)
    K = sum(d * gram.array for d, gram in zip(D, given.grams, strict=True))
    reference = SMO(1e-9).solve(given.programs[0].at(Matrix(K)))
    assert np.allclose(point.z, reference.coef, atol=1e-6)
    assert np.allclose(point.s, [point.beta @ gram.array @ point.beta for gram in given.grams])
    assert np.allclose(point.product, K @ point.beta)


@pytest.mark.parametrize("given", [*map(problem, LOSSES), several(), together()], ids=[*LOSSES, "ovr", "together"])
def test_slopes_are_derivatives_of_the_value(given):
    machined = machine(given)
    tol = 1e-6 if given.grams and hasattr(given, "codes") else 1e-10
    point = machined.solve(D, None, tol)
    step = np.linspace(-1.0, 1.0, 9)
    h = 1e-4
    up, down = (machined.solve(D + sign * h * step, point.z, tol).value for sign in (1.0, -1.0))
    # the second difference of the value is what the slope is uncertain by
    assert abs((up - down) / (2.0 * h) + 0.5 * step @ point.s) <= 1e-2 * np.abs(step) @ point.s


@pytest.mark.parametrize("given", [*map(problem, LOSSES), several()], ids=[*LOSSES, "ovr"])
def test_curvature_is_the_derivative_of_the_slopes(given):
    machined = machine(given)
    point = machined.solve(D, None, 1e-11)
    H = machined.curvature(point, np.arange(9), 1000)
    h = 1e-6 * np.ones(9)
    moved = machined.solve(D + h, point.z, 1e-11)
    change = -0.5 * (moved.s - point.s)
    assert np.allclose(change, H @ h, rtol=1e-2, atol=1e-3 * np.abs(change).max())
    assert machined.curvature(point, np.arange(9), 0) is None


def test_looking_is_not_solving():
    given = problem()
    machined = machine(given)
    point = machined.solve(D, None, 1e-9)
    seen = machined.look(D, point.z)
    assert np.isclose(seen.value, point.value) and np.isclose(seen.gain, point.gain)
    assert machined.look(D, 0.5 * point.z).slack > 1e-3
