"""How a solver came to its solution."""

import numpy as np
import pytest
from matplotlib import pyplot

from mercer import KernelMeanClassifier, KernelRidge
from mercer.errors import CapabilityError, ParameterError
from mercer.kernels import Gaussian
from mercer.plots import ConvergenceDisplay
from mercer.plots.convergence import convergence
from mercer.problems import Solution, Status
from mercer.solvers import ConjugateGradient

X = np.random.default_rng(0).normal(size=(60, 2))
MODEL = KernelRidge(Gaussian(1.0), alpha=0.1, solver=ConjugateGradient()).fit(X, np.sin(X[:, 0]))


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def test_numbers_are_those_of_the_trace():
    display = ConvergenceDisplay.from_estimator(MODEL)
    trace = MODEL.solution_.trace
    assert display.tol == 1e-8
    assert display.status == "CONVERGED"
    assert len(display.iterations) == len(trace) > 1
    assert np.array_equal(display.line_.get_ydata(), trace.residual)
    assert np.array_equal(display.line_.get_xdata(), np.arange(1, len(trace) + 1))
    assert display.ax_.get_yscale() == "log"


def test_objective_against_seconds():
    display = ConvergenceDisplay.from_estimator(MODEL, quantity="objective", against="seconds")
    assert np.array_equal(display.line_.get_ydata(), MODEL.solution_.trace.objective)
    assert np.array_equal(display.line_.get_xdata(), MODEL.solution_.trace.seconds)
    assert display.ax_.get_xlabel() == "seconds"
    assert display.ax_.get_ylabel() == "objective"


def test_a_direct_solver_is_a_point():
    direct = KernelRidge(Gaussian(1.0)).fit(X, X[:, 0])
    display = ConvergenceDisplay.from_estimator(direct)
    assert len(display.residual) == 1
    assert "CONVERGED after 1" in repr(display)


def test_what_did_not_converge_has_nothing_to_show():
    with pytest.raises(CapabilityError, match="without a solver"):
        ConvergenceDisplay.from_estimator(KernelMeanClassifier().fit(X, X[:, 0] > 0))
    with pytest.raises(CapabilityError, match="empty trace"):
        ConvergenceDisplay.from_solution(Solution(np.zeros(1), Status.CONVERGED, 0.0))


def test_axes_have_known_names():
    with pytest.raises(ParameterError, match="against='years'"):
        convergence(MODEL.solution_).plot(against="years")
    with pytest.raises(ParameterError, match="quantity='luck'"):
        convergence(MODEL.solution_).plot(quantity="luck")
