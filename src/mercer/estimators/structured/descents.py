"""The fit of machines whose risk is smooth: a descent that says how far it got."""

from __future__ import annotations

from typing import Any

from sklearn.exceptions import ConvergenceWarning

from mercer.errors import warn_caller
from mercer.estimators.estimator import unwatched
from mercer.problems import Status
from mercer.runtime.tiling import serial_blas
from mercer.solvers.smooth.functional_descent import Descent, Risk, descend

__all__ = ["descended"]


def descended(estimator: Any, K: Any, risk: Risk, width: int, run: Any) -> Descent:
    """Minimise a risk by L-BFGS for an estimator with `tol` and `max_iter`, which keeps what was reached.

    ``objective_``, ``gap_`` and ``n_iter_`` are set; it warns if the tolerance was not reached.
    """
    unwatched(K)
    with run.stage("descent", 1.0), serial_blas():
        monitor = run.solver_monitor(float(estimator.tol)) if run.watched else None
        found = descend(K, risk, width, 0, "lbfgs", estimator.tol, estimator.max_iter, monitor)
    if found.status is not Status.CONVERGED:
        warn_caller(
            f"{type(estimator).__name__} stopped after {len(found.rows)} iterations with an objective that is at most "
            f"{found.gap:.3g} above its minimum. {found.status.value}",
            ConvergenceWarning,
        )
    estimator.objective_, estimator.gap_ = float(found.objective), float(found.gap)
    estimator.n_iter_ = len(found.rows)
    return found
