"""Pairs on the smoothed dual reach the optimum of the problem without smoothing."""

import numpy as np
import pytest

from mercer.errors import CapabilityError
from mercer.solvers import MixtureNewton, SmoothedSMO
from mercer.solvers.mixtures import smoothed_smo
from tests.unit.solvers.mixtures.cases import problem, require_solved, several


@pytest.mark.parametrize("loss", ["hinge", "squared hinge", "one class"])
def test_it_reaches_the_same_optimum(loss):
    given = problem(loss, n=30)
    solution, reference = SmoothedSMO(1e-5).solve(given), MixtureNewton(1e-6).solve(given)
    require_solved(solution, 1e-5)
    assert abs(solution.state.objective - reference.state.objective) <= solution.gap + reference.gap
    assert solution.details["support kernels"] < 9


def test_lengths_solve_their_small_problem():
    N, a, c = np.array([1.0, 0.8, 0.1]), 0.05, np.array([0.3, 0.2, 0.0])
    for lengths in (smoothed_smo._lengths, smoothed_smo._lengths.py_func):
        n = lengths(N + a * c, a)
        slope = N - n.sum() - a * (n - c)
        assert np.allclose(slope[n > 0.0], 0.0) and np.all(slope[n == 0.0] <= 1e-12)


def test_the_slope_is_the_derivative():
    s, along, square = np.array([1.0, 0.7]), np.array([0.2, -0.1]), np.array([0.5, 0.4])
    a, c = 0.1, np.array([0.1, 0.2])

    def value(tau):
        N = np.sqrt(s + 2.0 * tau * along + tau**2 * square)
        n = smoothed_smo._lengths.py_func(N + a * c, a)
        return N @ n - 0.5 * n.sum() ** 2 - 0.5 * a * np.sum((n - c) ** 2)

    numeric = (value(0.3 + 1e-6) - value(0.3 - 1e-6)) / 2e-6
    assert np.isclose(smoothed_smo._slope.py_func(0.3, s, along, square, (a, c)), numeric, rtol=1e-6)


def test_the_loop_without_compilation():
    given = problem(n=12, kernels=lambda X, y: [X @ X.T, np.eye(len(X))])
    K = np.array([gram.array for gram in given.grams])
    part = given.programs[0]
    box = part.linear, part.lower, part.upper, np.zeros(12)
    found = []
    for descend in (smoothed_smo._descend, smoothed_smo._descend.py_func):
        z = np.zeros(12)
        descend(K, np.zeros((2, 12)), z, box, (0.5, np.zeros(2)), 1e-6, 200)
        found.append(z)
    assert np.allclose(*found, atol=1e-6)
    assert np.isclose(found[0].sum(), 0.0, atol=1e-12) and found[0].any()


@pytest.mark.parametrize("given", [problem("tube", n=12), several(12)], ids=["tube", "classes"])
def test_what_it_cannot_do_is_said(given):
    with pytest.raises(CapabilityError, match="MixtureNewton"):
        SmoothedSMO().solve(given)
