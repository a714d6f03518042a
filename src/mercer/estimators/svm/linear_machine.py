"""Common to linear machines: rows with a constant column, one problem for each output, and threads to solve them."""

from __future__ import annotations

import contextvars
import dataclasses
import threading
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from mercer.arrays import Floats, Indices
from mercer.budget import Plan
from mercer.constraints import AnyOf, Boolean, InstanceOf, Integer, Interval, Optional, Positive
from mercer.domains import Vectors
from mercer.errors import ParameterError, warn_caller
from mercer.estimators.certificates.certified import Certified
from mercer.estimators.estimator import KernelEstimator, scattered
from mercer.estimators.fits import Run, frozen
from mercer.gram import FeatureExpansion, Features
from mercer.kernels import Linear
from mercer.kernels.kernel import overflow_error
from mercer.problems import Solution, Status
from mercer.runtime.tiling import run_tasks, thread_count
from mercer.solvers.rows.row_data import Rows
from mercer.solvers.solver import Solver

__all__ = ["LinearMachine"]

TOL, MAX_ITER = 1e-4, 1000
_VECTORS = 4  # of as many numbers as there are columns, that a solver holds at a time
_TICK = 0.05  # seconds between two looks at the clock while threads work


class LinearMachine(Certified, KernelEstimator):
    """Base of linear machines: a kernel machine whose kernel is the dot product and whose Gram is the samples."""

    kernel: ClassVar[Linear] = Linear()  # pyright: ignore[reportIncompatibleVariableOverride]
    gram: ClassVar[Features] = Features()  # pyright: ignore[reportIncompatibleVariableOverride]
    C: float
    tol: float
    max_iter: int
    fit_intercept: bool
    intercept_scaling: float
    random_state: Any
    constraints = {
        "C": Positive(),
        "fit_intercept": Boolean(),
        "intercept_scaling": Positive(),
        "tol": Interval(0.0, 1.0, closed="neither"),
        "max_iter": Integer(1),
        "random_state": Optional(AnyOf(Integer(0), InstanceOf(np.random.RandomState))),
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        given = [name for name, usual in (("tol", TOL), ("max_iter", MAX_ITER)) if getattr(self, name) != usual]
        if self.solver is not None and given:
            raise ParameterError(
                f"{', '.join(given)} were given together with solver={self.solver!r}, which has options of its own; "
                f"one place is accepted. Write them into the solver, for example DualDescent(tol=1e-6)."
            )

    def _seed(self) -> int:
        """Number from which the default solver draws its order; the same for None as for 0."""
        if self.random_state is None or isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state or 0)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _rows(self, S: Any) -> Rows:
        """Return the samples as rows with their constant column; squared lengths must be finite."""
        assert isinstance(S, Vectors)
        if S.is_sparse:  # which may have any number of columns
            what = f"{type(self).__name__} on {S.width} columns"
            fewer = ("fewer columns, numbered from 1 without gaps",)
            Plan(what, {"weights": _VECTORS * 8 * S.width}, fewer).require(self.memory)
        rows = Rows.of(S.X, self.intercept_scaling if self.fit_intercept else 0.0)
        if not np.isfinite(rows.squares).all():
            raise overflow_error(self.kernel)
        return rows

    def _solve_each(self, problems: Sequence[Any], solver: Solver, run: Run) -> list[Solution]:
        """Solve independent problems, a few at a time; the answer does not depend on how many."""
        tol = getattr(solver, "tol", TOL)
        if len(problems) == 1 or thread_count(self.n_threads) == 1:
            solutions = []
            for done, problem in enumerate(problems, 1):
                with run.stage("solver", 0.1 + 0.85 * done / len(problems)):
                    monitor = run.solver_monitor(tol) if run.watched else None
                    solutions.append(solver.solve(problem, monitor=monitor))
            return solutions
        return _solve_in_threads(problems, solver.check(), run, self.n_threads)

    def _report(self, solutions: list[Solution], solver: Solver, used: Indices, n: int) -> Solution:
        """Warn if a tolerance was not reached; one Solution, with a column for each problem, is remembered."""
        worst = max(solutions, key=lambda s: (s.status is not Status.CONVERGED, s.residual))
        if worst.status is not Status.CONVERGED:
            warn_caller(
                f"{type(solver).__name__} stopped at residual {worst.residual:.3g}. {worst.status.value}",
                ConvergenceWarning,
            )
        many = len(solutions) > 1
        solution = dataclasses.replace(
            worst,
            coef=np.column_stack([s.coef for s in solutions]) if many else worst.coef,
            weights=np.column_stack([np.asarray(s.weights) for s in solutions]) if many else worst.weights,
            residual=max(s.residual for s in solutions),
            gap=sum(s.gap for s in solutions),
            state=None,
        )
        self.solver_, self.kernel_, self.gram_ = solver, self.kernel, self.gram
        self.solution_ = dataclasses.replace(solution, coef=scattered(solution.coef, used, n))
        self.n_iter_ = max(1, *(int(s.state) for s in solutions))
        return solution

    def _keep_function(self, W: Floats) -> tuple[Floats, Floats]:
        """Remember the function of weights (d + 1,) or (d + 1, k); coefficients (k, d) or (d,) and the bias."""
        bias = W[-1] * (self.intercept_scaling if self.fit_intercept else 0.0)
        self.expansion_ = FeatureExpansion(self.kernel, None, np.ascontiguousarray(W[:-1]), np.asarray(bias))
        # predictions do not read these: what is written into them would be lost
        return frozen(np.ascontiguousarray(W[:-1].T)), frozen(np.atleast_1d(bias))

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated.

        Parameters
        ----------
        n_samples, n_features, n_targets : int
            Size of the training data; for sparse samples the mean number of entries in a row will do as n_features.
        """
        threads = min(thread_count(self.n_threads), max(n_targets, 1))
        side = n_features + 1 if n_features <= 1000 else 0
        buffers = {
            "packed samples": 8 * n_samples * n_features,
            "targets and coefficients": 8 * n_samples * (6 + 3 * n_targets),
            "dual variables and line search": 8 * n_samples * 24 * threads,
            "samples with a curved loss": 8 * n_samples * n_features * threads,
            "normal equations": 16 * side * side * threads,
        }
        options = ("n_threads=1", "solver=DualDescent(polish=False)")
        return Plan(f"{type(self).__name__} on {n_samples} samples", buffers, options)


def _solve_in_threads(problems: Sequence[Any], solver: Solver, run: Run, n_threads: int | None) -> list[Solution]:
    """Solve problems in threads while this one watches the clock, calls callbacks, and answers Ctrl-C."""
    solutions: list[Solution | None] = [None] * len(problems)
    stop: list[Status] = []

    def monitor(iteration: int, residual: float) -> bool | Status:
        return stop[0] if stop else False

    def work(place: int) -> None:
        solutions[place] = solver.solve(problems[place], monitor=monitor)

    def watch() -> None:
        with_result = sum(solution is not None for solution in solutions)
        if run.monitor(with_result / len(problems)) and not stop:
            stop.append(Status.STOPPED if run.asked_to_stop else Status.TIME)

    with run.stage("solver", 0.95):
        try:
            _in_threads(len(problems), work, n_threads, watch)
        except BaseException:
            stop.append(Status.STOPPED)  # the threads end at their next look
            raise
    return [solution for solution in solutions if solution is not None]


def _in_threads(count: int, work: Callable[[int], None], n_threads: int | None, watch: Callable[[], None]) -> None:
    """Call work(0), ..., work(count - 1) in threads; meanwhile call `watch` here, some twenty times a second."""
    done, failures = threading.Event(), []

    def drive() -> None:
        try:
            run_tasks(range(count), work, n_threads=n_threads)
        except BaseException as failure:  # raised again below, in the thread that waits
            failures.append(failure)
        finally:
            done.set()

    known = contextvars.copy_context()  # in which the solver has been checked
    threading.Thread(target=known.run, args=(drive,), daemon=True, name="mercer-linear").start()
    while not done.wait(_TICK):
        watch()
    if failures:
        raise failures[0]
