"""How a solver reached its solution, iteration by iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Floats
from mercer.errors import CapabilityError, ParameterError
from mercer.plots.canvas import COLOURS, axes, logarithmic
from mercer.problems import Solution

__all__ = ["ConvergenceDisplay", "convergence"]
__public__ = ["ConvergenceDisplay"]

AGAINST = ("iterations", "seconds")
QUANTITIES = ("residual", "objective")
MOST_MARKERS = 100  # beyond, a line is clearer


@dataclass(eq=False, repr=False)
class ConvergenceDisplay:
    """Residual and objective of a solver against its iterations or its time.

    Parameters
    ----------
    residual, objective, seconds : (t,) arrays
        As in `mercer.problems.Trace`.
    status : str
        How the solver ended: "CONVERGED", "MAX_ITER", ...
    tol : float, optional
        The residual to reach.
    name : str
        What the solver is called.

    Attributes
    ----------
    ax_, figure_, line_ : matplotlib objects
        After `plot`.

    Notes
    -----
    A direct solver has a trace of one entry, shown as a point.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plots import ConvergenceDisplay
    >>> from mercer.solvers import ConjugateGradient
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = KernelRidge(Gaussian(1.0), alpha=0.1, solver=ConjugateGradient()).fit(X, np.sin(X[:, 0]))
    >>> display = ConvergenceDisplay.from_solution(model.solution_, tol=1e-8)
    >>> display.status, bool(display.residual[-1] <= 1e-8)
    ('CONVERGED', True)
    """

    residual: Floats
    objective: Floats
    seconds: Floats
    status: str = "CONVERGED"
    tol: float | None = None
    name: str = ""

    ax_: Any = None
    figure_: Any = None
    line_: Any = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, quantity: str = "residual", against: str = "iterations", ax: Any = None
    ) -> ConvergenceDisplay:
        """Draw how the solver of a fitted estimator converged.

        Parameters
        ----------
        estimator : fitted estimator
            With `solution_`.
        quantity, against : str
            As in `plot`.
        ax : matplotlib axes, optional
        """
        check_is_fitted(estimator)
        solution = getattr(estimator, "solution_", None)
        if solution is None:
            raise CapabilityError(
                f"{type(estimator).__name__} was fitted without a solver (it has no solution_), so nothing converged; "
                "an estimator that optimises is needed. Use for example KernelRidge."
            )
        solver = getattr(estimator, "solver_", None)
        tol = getattr(solver, "tol", None)
        display = cls.from_solution(solution, tol=tol, quantity=quantity, against=against, ax=ax)
        display.name = "" if solver is None else repr(solver)
        return display

    @classmethod
    def from_solution(
        cls,
        solution: Solution,
        *,
        tol: float | None = None,
        quantity: str = "residual",
        against: str = "iterations",
        ax: Any = None,
    ) -> ConvergenceDisplay:
        """Draw the trace of a solution."""
        return convergence(solution, tol).plot(ax, quantity=quantity, against=against)

    @property
    def iterations(self) -> Floats:
        """Numbers of the entries, from 1."""
        return np.arange(1, len(self.residual) + 1, dtype=float)

    def plot(self, ax: Any = None, *, quantity: str = "residual", against: str = "iterations") -> ConvergenceDisplay:
        """Draw one curve on axes given or on new ones.

        Parameters
        ----------
        ax : matplotlib axes, optional
        quantity : {"residual", "objective"}
            The residual is drawn on a logarithmic scale, with the tolerance.
        against : {"iterations", "seconds"}

        Returns
        -------
        self
        """
        for name, value, accepted in (("quantity", quantity, QUANTITIES), ("against", against, AGAINST)):
            if value not in accepted:
                raise ParameterError(
                    f"{name}={value!r} was given; {' and '.join(map(repr, accepted))} are accepted. Use one of them."
                )
        if not len(self.residual):
            raise CapabilityError(
                "The solution has an empty trace; at least one entry is needed. Fit again with a solver of mercer."
            )
        self.ax_, self.figure_ = axes(ax)
        x, y = getattr(self, against), getattr(self, quantity)
        marker = "o" if len(x) <= MOST_MARKERS else ""
        (self.line_,) = self.ax_.plot(x, y, marker=marker, markersize=3, linewidth=1.4, color=COLOURS[0])
        if quantity == "residual":
            if np.any(y > 0):
                logarithmic(self.ax_)
            if self.tol is not None:
                self.ax_.axhline(
                    self.tol, color=COLOURS[1], linewidth=1, linestyle="--", label=f"tolerance {self.tol:.3g}"
                )
                self.ax_.legend()
        self.ax_.set(xlabel=against, ylabel=quantity)
        return self

    def __repr__(self) -> str:
        return f"<ConvergenceDisplay: {self.status} after {len(self.residual)} iterations>"


def convergence(solution: Solution, tol: float | None = None) -> ConvergenceDisplay:
    """Return the display of a solution, not drawn: no matplotlib is needed."""
    trace = solution.trace
    return ConvergenceDisplay(trace.residual, trace.objective, trace.seconds, solution.status.name, tol)
