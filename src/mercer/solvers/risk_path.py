"""The minima of one regularised risk for many penalties, each found from the one before.

Symbols as in `mercer.problems.ConvexRisk`: lambda the penalty, a the coefficients, f = K a + B m the values, w weights.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import CapabilityError
from mercer.gram.algebra import Repeated
from mercer.gram.gram import HasRows
from mercer.losses import HasBoxDual
from mercer.problems import BoxQP, ConvexRisk, SmoothRisk, Solution, Status
from mercer.solvers.box.smo import SMO
from mercer.solvers.smooth.fenchel import fenchel_gap
from mercer.solvers.smooth.newton import Descent, Minimum, Newton, require_penalty
from mercer.solvers.smooth.primal_newton import PrimalNewton
from mercer.solvers.smooth.proximal_point import ProximalPath, ProximalPoint, slack_of, spread_of
from mercer.solvers.solver import Monitor, Solver

__all__ = ["RiskMinimum", "RiskPath", "choose_solver", "is_boxed"]

_GAP = 1e-2  # a gap, over a gradient
_SMO_TOL = 1e3  # the violation that SMO is given, over the tolerance of the other solvers, in units of the spread of y


@dataclass(frozen=True, eq=False)
class RiskMinimum:
    """The minimum of a regularised risk for one penalty.

    Attributes
    ----------
    penalty : float
        lambda.
    solution : Solution
        ``gap`` is the duality gap, ``multipliers`` the coefficients of the functions that are not penalised, ``state``
        a `Minimum` with the values at the samples.
    risk : float
        Sum of the weighted losses.
    energy : float
        Squared length of the function in the space of the kernel.
    """

    penalty: float
    solution: Solution
    risk: float
    energy: float

    @property
    def objective(self) -> float:
        """Risk + lambda / 2 energy."""
        return self.risk + 0.5 * self.penalty * self.energy


def is_boxed(loss: Any, border: Floats | None) -> bool:
    """Whether the dual of a risk is a BoxQP that SMO solves: a loss with a box dual, and a constant besides."""
    if border is None or border.shape[1] != 1:
        return False
    constant = bool(np.all(border == border[0]) and border[0, 0] != 0.0)
    return isinstance(loss, HasBoxDual) and not getattr(loss, "smooth", False) and constant


def choose_solver(problem: ConvexRisk, tol: float = 1e-6, max_iter: int = 100) -> Solver:
    """The solver that suits a risk: `Newton` for smooth losses, `SMO` for a box dual and a bias, else `ProximalPoint`.

    On a large Gram of low rank `PrimalNewton` for losses without kinks, those once differentiable among them.

    Parameters
    ----------
    problem : ConvexRisk
    tol : float, default 1e-6
        Tolerance of the gradient, relative. The duality gap of `ProximalPoint` is a hundredth of it; SMO is given a
        thousand times as much, in units of the spread of y, and usually ends nearer.
    max_iter : int, default 100
        Newton steps, or smooth risks.

    Examples
    --------
    >>> from mercer.losses import Absolute, Logistic
    >>> y, w = np.array([1.0, -1.0]), np.ones(2)
    >>> choose_solver(ConvexRisk(np.eye(2), Logistic(), y, w, 1.0))
    Newton(1e-06)
    >>> choose_solver(ConvexRisk(np.eye(2), Absolute(), y, w, 1.0))
    ProximalPoint(1e-08)
    """
    if PrimalNewton.suits(problem.gram, problem.loss):
        return PrimalNewton(tol, max_iter=max_iter)
    if problem.loss.smooth:
        return Newton(tol, max_iter)
    if is_boxed(problem.loss, problem.border) and isinstance(problem.gram, HasRows):
        return SMO(min(_SMO_TOL * tol, 0.1) * spread_of(problem.y, problem.weight))
    return ProximalPoint(max(_GAP * tol, 1e-14), max_iter)


class RiskPath:
    """The minima of a risk, by its penalty.

    Parameters
    ----------
    problem : ConvexRisk
        Its penalty is that at which it begins.
    solver : Solver, optional
        `Newton`, `PrimalNewton`, `ProximalPoint`, or one of BoxQP; None is `choose_solver`.
    monitor : callable, optional
        As in `Solver.solve`.

    Notes
    -----
    A Gram that holds its matrix hands it over to the path, unless the solver is one of BoxQP. Coefficients, slopes and
    factors of one penalty serve the next.

    Examples
    --------
    >>> from mercer.losses import Squared
    >>> class Matrix:
    ...     def __matmul__(self, V):
    ...         return 2.0 * V
    >>> path = RiskPath(ConvexRisk(Matrix(), Squared(), np.array([3.0]), np.ones(1), 1.0))
    >>> [round(path.at(penalty).energy, 6) for penalty in (1.0, 4.0)]  # f = 2 y / (2 + lambda)
    [2.0, 0.5]
    """

    def __init__(self, problem: ConvexRisk, solver: Solver | None = None, monitor: Monitor | None = None) -> None:
        kind = SmoothRisk if problem.loss.smooth else ConvexRisk
        self.problem = kind(**{field.name: getattr(problem, field.name) for field in dataclasses.fields(problem)})
        self.monitor = monitor
        self.solver = choose_solver(problem) if solver is None else solver
        self.loss: Any = problem.loss
        self.y = np.asarray(problem.y, dtype=np.float64)
        self.weight = np.asarray(problem.weight, dtype=np.float64)
        self.w = self.weight if self.y.ndim == 1 else self.weight[:, None]
        self.fits = 0
        self._run: Any = None
        self._require()

    def _require(self) -> None:
        """Raise unless the solver solves the problem."""
        if self.solver.solves is not BoxQP:
            if self.solver.solves is SmoothRisk and not self.loss.smooth:
                raise CapabilityError(
                    f"{self.solver!r} was given with loss={self.loss!r}, which has kinks; it needs a second "
                    "derivative. Use solver=ProximalPoint(), or leave solver out."
                )
            self.solver.check_capabilities(self.problem)
        elif not is_boxed(self.loss, self.problem.border):
            raise CapabilityError(
                f"{self.solver!r} was given with loss={self.loss!r}; it solves the dual of losses with kinks and a box "
                "dual, as Hinge(), besides a constant that is not penalised. Use unpenalized='constant', or leave "
                "solver out."
            )

    def at(self, penalty: float) -> RiskMinimum:
        """Return the minimum for a penalty, positive and finite."""
        require_penalty(self.solver, penalty)
        if self.solver.solves is BoxQP:
            found = self._boxed(penalty)
        elif isinstance(self.solver, ProximalPoint):
            found = self._proximal(penalty)
        elif isinstance(self.solver, PrimalNewton):
            found = self._primal(penalty)
        else:
            found = self._smooth(penalty)
        self.fits += 1
        return found

    # smooth losses ------------------------------------------------------------------------------------

    def _smooth(self, penalty: float) -> RiskMinimum:
        solver: Any = self.solver
        if self._run is None:
            self._run = Descent(dataclasses.replace(self.problem, penalty=penalty), self.monitor)
            self._run.begin(None)
        run: Descent = self._run
        if penalty != run.penalty:
            run.turn_to(penalty)
        solution = run.solution(run.iterate(solver.tol, solver.max_iter))
        values = solution.state.values
        slope = solution.state.loss.gradient(self.y, values)
        rest = slack_of(run, self.w * slope)
        risk, gap = fenchel_gap(solution.state.loss, self.y, self.weight, values, slope, rest)
        energy = max(run.system.energy(run.point), 0.0)
        return RiskMinimum(penalty, dataclasses.replace(solution, gap=gap), risk, energy)

    def _primal(self, penalty: float) -> RiskMinimum:
        """Minimise by passes over the samples, from the coefficients of the penalty before."""
        problem = dataclasses.replace(self.problem, penalty=penalty)
        solution = self.solver.solve(problem, start=self._run, monitor=self.monitor)
        self._run, weights = solution.coef, solution.weights
        assert weights is not None
        risk = float(np.sum(self.w * self.loss.value(self.y, solution.state.values)))
        return RiskMinimum(penalty, solution, risk, float(np.vdot(weights, weights)))

    # losses with kinks --------------------------------------------------------------------------------

    def _proximal(self, penalty: float) -> RiskMinimum:
        solver: Any = self.solver
        if self._run is None:
            self._run = ProximalPath(dataclasses.replace(self.problem, penalty=penalty), None, self.monitor)
        run: ProximalPath = self._run
        solution = run.at(penalty, solver.tol, solver.max_iter)
        risk = float(np.sum(self.w * self.loss.value(self.y, solution.state.values)))
        return RiskMinimum(penalty, solution, risk, max(run.descent.system.energy(run.descent.point), 0.0))

    def _boxed(self, penalty: float) -> RiskMinimum:
        """Solve the dual of each output; the bias is minus the multiplier of the sum."""
        columns = self.y.reshape(len(self.y), -1).T
        starts = [None] * len(columns) if self._run is None else self._run
        found = [self._program(penalty, y, start) for y, start in zip(columns, starts, strict=True)]
        self._run = [solution.coef for solution, _ in found]
        coef = np.column_stack([per_sample for _, per_sample in found])
        assert self.problem.border is not None
        unit = float(self.problem.border[0, 0])
        bias = np.array([-float(solution.multipliers[0]) for solution, _ in found])
        product = np.asarray(self.problem.gram @ coef, dtype=np.float64)
        energy = max(float(np.vdot(coef, product)), 0.0)
        values, flat = product + bias, self.y.ndim == 1
        if flat:
            coef, values = coef[:, 0], values[:, 0]
        slope = self._clipped(-penalty * coef / self.w)
        risk, gap = fenchel_gap(self.loss, self.y, self.weight, values, slope)
        worst = max((solution for solution, _ in found), key=lambda s: (s.status is not Status.CONVERGED, s.residual))
        multipliers = bias / unit if flat else bias[None, :] / unit
        solution = dataclasses.replace(
            worst, coef=coef, multipliers=multipliers, gap=gap, state=Minimum(self.loss, values)
        )
        return RiskMinimum(penalty, solution, risk, energy)

    def _program(self, penalty: float, y: Floats, start: Floats | None) -> tuple[Solution, Floats]:
        """Solution of the dual of one output, and the coefficient of each sample."""
        dual = self.loss.box_dual(y, self.weight / penalty)
        gram = self.problem.gram if dual.index is None else Repeated(self.problem.gram, dual.index)
        program = BoxQP(gram, dual.linear, dual.lower, dual.upper, ridge=dual.ridge)
        solution = self.solver.solve(program, start=start, monitor=self.monitor)
        coef = solution.coef
        if dual.index is not None:
            coef = np.bincount(dual.index, weights=coef, minlength=len(y)).astype(np.float64)
        return solution, coef

    def _clipped(self, slope: Floats) -> Floats:
        """Slopes that rounding has not taken out of the domain of the conjugate."""
        dual = self.loss.box_dual(self.y.ravel(), np.ones(self.y.size))
        lower, upper = dual.lower, dual.upper
        if dual.index is not None:
            lower, upper = (np.bincount(dual.index, weights=end, minlength=self.y.size) for end in (lower, upper))
        return np.clip(slope, -np.reshape(upper, slope.shape), -np.reshape(lower, slope.shape))
