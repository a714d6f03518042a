"""Descent by working sets: how it ends, on a problem that can be solved by hand."""

import numpy as np
import pytest

from mercer.problems import Status
from mercer.solvers.box.working_sets import WorkingSets


class Matrix:
    """A Gram matrix that is an array."""

    resources = None

    def __init__(self, array):
        self.array = array

    def diag(self):
        """Return the diagonal."""
        return np.diagonal(self.array)

    def __matmul__(self, v):
        return self.array @ v


class Parabola(WorkingSets):
    """Minimise 1/2 b' K b - 1' b without bounds, a fixed number of variables at a time."""

    def __init__(self, K, monitor=None, unbounded=False, stuck=False):
        self.b, self.stuck = np.zeros(len(K)), stuck
        gram = Matrix(K)
        gram.resources = type("None", (), {"largest_order": staticmethod(lambda most: 2)})
        super().__init__(gram, monitor, unbounded)
        self.refresh()

    def refresh(self):
        self.g = self.fine @ self.b - 1.0
        self.v, self.free = np.abs(self.g), np.ones(len(self.b), dtype=bool)

    def objective(self):
        return 0.5 * float(self.b @ (self.g - 1.0))

    def steepest(self):
        return float(np.abs(self.g).max())

    def evidence(self):
        return float(self.b.sum()), float(self.b @ (self.g + 1.0))

    def step(self, index, tol):
        if self.stuck:
            return False
        self.b[index] -= np.linalg.solve(self.fine.array[np.ix_(index, index)], self.g[index])
        self.refresh()
        return True

    def newton(self):
        self.b -= np.linalg.solve(self.fine.array, self.g)
        self.refresh()
        return True


K = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 1.5]])


def test_it_ends_at_the_minimum_and_the_objective_falls():
    run = Parabola(K)
    assert run.run(1e-9, 200) is Status.CONVERGED
    run.polish()
    np.testing.assert_allclose(run.b, np.linalg.solve(K, np.ones(3)), rtol=1e-12)
    assert (np.diff([row[0] for row in run.rows]) <= 1e-12).all() and run.violation() <= 1e-12


def test_a_working_set_has_the_most_violating_first_and_keeps_its_order():
    run = Parabola(K)
    run.v = np.array([0.1, 3.0, 0.2])
    np.testing.assert_array_equal(run.choose(), [1, 2])


@pytest.mark.parametrize(("answer", "status"), [(True, Status.STOPPED), (Status.TIME, Status.TIME)])
def test_a_monitor_may_end_it(answer, status):
    assert Parabola(K, monitor=lambda iteration, residual: answer).run(1e-9, 200) is status


def test_what_cannot_move_and_what_has_no_time_says_so():
    assert Parabola(K, stuck=True).run(1e-9, 200) is Status.STALLED
    assert Parabola(K).run(1e-300, 1) is Status.MAX_ITER


def test_without_a_margin_unbounded_coefficients_are_given_up():
    run = Parabola(K, unbounded=True)
    run.evidence = lambda: (1.0, 1e-30)
    assert run.run(1e-9, 200) is Status.STALLED
