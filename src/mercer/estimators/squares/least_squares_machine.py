r"""Common to least squares support vector machines: one linear system with a bias, for several outputs and all C.

Symbols: Y (n, k) targets, one column per output, w sample weights, a coefficients, b the bias, G = K + diag(1 / (C w)),
P the block of the inverse of (G, 1; 1^T, 0) that maps y to a, s^2 the scale of the prior.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer import free_parameters, selection  # whose names are imported when they are used
from mercer.arrays import Floats, Indices
from mercer.budget import Plan
from mercer.constraints import AnyOf, Boolean, InstanceOf, Integer, Interval, OneOf, Optional, Positive
from mercer.domains import Samples
from mercer.errors import CapabilityError, ParameterError, warn_caller
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.fits import Run, warn_of_search
from mercer.gram import Dense, Gram, HasFactor
from mercer.gram.gram import has_array, is_approximate_factor, is_factored
from mercer.gram.repair import POLICIES
from mercer.kernels import Kernel
from mercer.kernels.kernel import offers
from mercer.kernels.protocols import Differentiable
from mercer.problems import LinearSystem, Solution, Status
from mercer.runtime.tiling import blas_for, in_background
from mercer.selection.least_squares_evidence import LeastSquaresCriterion, log_evidence_of, posterior_of
from mercer.selection.least_squares_path import LeastSquaresPath, best_cost, spectrum
from mercer.selection.leave_one_out import leave_one_out
from mercer.solvers.linear.cholesky_solver import Factored
from mercer.solvers.linear.woodbury import NormalFactored
from mercer.spec import derived

__all__ = ["Fitted", "LeastSquaresMachine", "groups_of"]

_OPTIONAL = (
    "tuned_",
    "path_costs_",
    "path_values_",
    "pruning_sizes_",
    "pruning_errors_",
    "support_",
    "weights_",
    "loo_predictions_",
    "loo_decision_",
    "posterior_",
    "posteriors_",
    "posterior_of_",
    "moderations_",
    "noise_variance_",
    "log_evidence_",
)
_TUNING = 0.8  # share of the time budget after which the search of hyper-parameters ends


@dataclass(frozen=True, eq=False)
class Fitted:
    """Machines that share a Gram matrix and C, after they were solved."""

    coef: Floats  # (n, k)
    intercept: Floats  # (k,)
    left_out: Floats | None  # (n, k)
    variance: Floats | None  # of the left-out values over s^2, (n, k)
    scale: Floats  # s^2 of each, (k,)
    posteriors: list[Any]  # one per group of outputs
    weights: Floats | None = None  # in the coordinates of the Gram's factor, (r, k)

    def about(self, mean: Floats) -> Fitted:
        """The same for targets to which a number is added."""
        left = None if self.left_out is None else self.left_out + mean
        return replace(self, intercept=self.intercept + mean, left_out=left)


class LeastSquaresMachine(KernelEstimator):
    """Base of `LSSVR` and `LSSVC`."""

    highest_order = 1
    products_suffice = True
    C: float | None
    selection: str | None
    fixed: Any
    restarts: int
    guard: bool
    prune: float | None
    leave_one_out: bool
    random_state: int | None
    C_: float
    constraints = {
        "C": Optional(Positive()),
        "selection": Optional(OneOf("loo", "evidence")),
        "fixed": AnyOf(InstanceOf(tuple, list), OneOf("all", "kernel")),
        "restarts": Integer(0),
        "guard": Boolean(),
        "prune": Optional(Interval(0.0, 1.0, closed="neither")),
        "leave_one_out": Boolean(),
        "random_state": Optional(Integer(0)),
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.fixed, str) and not all(isinstance(name, str) for name in self.fixed):
            raise ParameterError(
                f"fixed={self.fixed!r} was given; names of hyper-parameters, 'all' or 'kernel' are accepted. Write for "
                "example fixed=('C',)."
            )
        if self.prune is not None and (self._needs_posterior() or is_factored(self.gram)):
            raise ParameterError(
                f"prune={self.prune} was given together with "
                + (f"gram={self.gram!r}" if not self._needs_posterior() else "a posterior")
                + ", of which a pruned machine has none; it is fitted to some samples of a dense matrix. Leave one of "
                "the two out."
            )

    @derived
    def policies(self) -> tuple[str, ...]:
        """All policies for indefinite kernels, unless variances or a choice of the kernel need K itself."""
        return () if self._needs_posterior() or self.selection is not None else POLICIES

    def _needs_posterior(self) -> bool:
        """Return whether variances are asked for."""
        return False

    # hyper-parameters ---------------------------------------------------------------------------------

    def _moving(self, kernel: Kernel) -> list[str]:
        """Return the names of the kernel's parameters that a selection may move."""
        if self.selection is None or self.fixed in ("all", "kernel"):
            return []
        held = set(self.fixed)
        return [name for name in free_parameters.free_names(kernel) if not {name, name.partition("[")[0]} & held]

    def _tune(
        self, kernel: Kernel, S: Samples, parts: list[tuple[Indices, Floats]], w: Floats, run: Run, unit: float = 1.0
    ) -> Kernel:  # fmt: skip
        """Return the kernel with its best parameters, and remember the best C; the kernel as it is if nothing moves.

        The criterion is that of targets over `unit`, so that the search is the same in all units of y.
        """
        moving = self._moving(kernel)
        for name in _OPTIONAL:  # what an earlier fit has left
            vars(self).pop(name, None)
        if not moving:
            return kernel
        n = len(S)
        if not offers(kernel, Differentiable):
            raise CapabilityError(
                f"selection={self.selection!r} was given with {kernel!r}, which has no derivative in its parameters. "
                "Choose C alone by fixed='kernel', or a kernel that lists 'pullback' in its capabilities."
            )
        if is_approximate_factor(self.gram):
            raise CapabilityError(
                f"selection={self.selection!r} was given with gram={self.gram!r}; parameters of a kernel are chosen on "
                "the dense matrix. Choose C alone by fixed='kernel', or the kernel on fewer samples first."
            )
        what = f"the choice of hyper-parameters of {type(self).__name__} on {n} samples"
        Plan(what, {"Gram matrix": 8 * n * n, "inverse and derivative": 32 * n * n}, ("fewer samples",)).require(
            self.memory
        )
        start = self.C
        parts = [(rows, Y / unit) for rows, Y in parts]
        with run.stage("search of hyper-parameters", 0.4):
            if start is None:
                grams = [(Dense().build(kernel, S.take(rows), run.resources()), Y, w[rows]) for rows, Y in parts]
                with blas_for(n):
                    start = best_cost([spectrum(*each) for each in grams], self._criterion)[0]
            criterion = LeastSquaresCriterion(
                str(self.selection), S, parts, w, start=kernel if self.selection == "loo" and self.guard else None,
                moving=len(moving), resources=self._resources(),
            )  # fmt: skip
            fixed = () if isinstance(self.fixed, str) else tuple(self.fixed)
            found = selection.tune(
                criterion, kernel, {"C": start}, fixed=fixed, search=selection.Search(self.restarts, self.random_state),
                monitor=self._tuning_monitor(run),
            )  # fmt: skip
        if found.status is not Status.CONVERGED:
            warn_caller(
                f"the search of hyper-parameters stopped at slope {found.slope:.3g}. {found.status.value}",
                ConvergenceWarning,
            )
        total = sum(float(w[rows].sum()) for rows, _ in parts)
        if self.selection == "evidence":
            total = sum(Y.shape[1] * (float(w[rows].sum()) - 1.0) for rows, Y in parts)
        self.C_, self.tuned_ = float(found.beside["C"]), found.shifted(total * float(np.log(unit)))
        warn_of_search(*found.moved(), np.inf, found.kernel)
        return found.kernel

    def _tuning_monitor(self, run: Run) -> Any:
        """Return a monitor that leaves time for the fit at the end."""
        if not run.watched:
            return None
        inner, limit = run.solver_monitor(1e-5), run.clock.max_time

        def monitor(step: int, slope: float) -> bool | Status:
            late = limit is not None and run.clock.seconds > _TUNING * limit
            return inner(step, slope) or (Status.TIME if late else False)

        return monitor

    def _criterion(self, path: LeastSquaresPath) -> Floats:
        return -path.log_evidence if self.selection == "evidence" else path.press

    def _choose_cost(self, K: Gram, groups: list[tuple[Indices, Indices]], Y: Floats, w: Floats, run: Run) -> float:
        """Return C: as given or tuned, or the best of the path."""
        searched = self.selection is not None and self.fixed != "all" and "C" not in self.fixed
        if hasattr(self, "tuned_"):
            return self.C_
        if self.C is not None and not searched:
            return float(self.C)
        if not has_array(K) and not isinstance(K, HasFactor):
            raise CapabilityError(
                f"C is to be chosen with {type(self.gram_).__name__}, which stores nothing that can be decomposed; a "
                "dense matrix or a factor is needed. Give C, or use gram=Nystrom(500)."
            )
        n = len(w)
        if has_array(K):
            Plan(f"the path of {n} samples", {"eigenvectors": 32 * n * n}, ("give C",)).require(self.memory)

        def search() -> tuple[float, Floats, Floats]:
            parts = []
            for rows, columns in groups:
                part = K if len(rows) == n else K.take(rows)
                parts.append(spectrum(part, Y[np.ix_(rows, columns)], w[rows]))
            return best_cost(parts, self._criterion)

        with run.stage("path of C", 0.6), blas_for(n):
            found, grid, values = in_background(search, work=9.0 * n**3, deadline=run.deadline)
        self.path_costs_, self.path_values_ = grid, values
        return found

    # the system ---------------------------------------------------------------------------------------

    def _solve_groups(self, K: Gram, groups: list[tuple[Indices, Indices]], Y: Floats, w: Floats, run: Run) -> Fitted:
        """Solve for all outputs, those of one group by one factorisation."""
        n, k = Y.shape
        several = len(groups) > 1
        wanted = self.leave_one_out or self._needs_posterior()
        coef, intercept, scale = np.zeros((n, k)), np.zeros(k), np.zeros(k)
        left_out = np.zeros((n, k)) if wanted else None
        variance = np.zeros((n, k)) if wanted else None
        posteriors, evidence, weights, worst = [], 0.0, None, None
        for place, (rows, columns) in enumerate(groups):
            part = K.take(rows) if several else K
            shift = 1.0 / (self.C_ * w[rows])
            total = float((part @ np.ones(len(rows))).sum() + shift.sum()) if self._needs_posterior() else 0.0
            system = LinearSystem(part, shift, Y[np.ix_(rows, columns)], np.ones((len(rows), 1)))
            solution = self._solve(system, run, until=0.6 + 0.3 * (place + 1) / len(groups))
            coef[np.ix_(rows, columns)], intercept[columns] = solution.coef, solution.multipliers[0]
            quadratic = np.einsum("ik,ik->k", system.rhs, solution.coef)
            free = max(float(w[rows].sum()) - 1.0, np.finfo(np.float64).tiny)
            scale[columns] = np.maximum(quadratic, 0.0) / free
            if isinstance(solution.state, Factored | NormalFactored):
                evidence += float(np.sum(log_evidence_of(solution.state, quadratic, w[rows], self.C_)))
            elif wanted:
                raise self._no_factor()
            else:
                evidence = np.nan
            if left_out is not None and variance is not None:
                inverse = solution.state.inverse_diagonal()
                left_out[np.ix_(rows, columns)] = leave_one_out(system.rhs, solution.coef, inverse)
                with np.errstate(divide="ignore"):
                    variance[np.ix_(rows, columns)] = (1.0 / inverse - shift)[:, None]
            if self._needs_posterior():
                posteriors.append(posterior_of(part, solution.state, total))
            weights = None if several else solution.weights
            worst = self.solution_ if worst is None or self.solution_.residual > worst.residual else worst
        assert worst is not None
        self.solution_, self.log_evidence_ = worst, evidence
        if left_out is not None and several:
            self._fill_others(left_out, K, Y, coef, intercept)
        return Fitted(coef, intercept, left_out, variance, scale, posteriors, weights)

    def _no_factor(self) -> CapabilityError:
        return CapabilityError(
            f"left-out values or variances were asked for with {type(self.solver_).__name__}, which keeps no factor; "
            "the closed forms need one. Use gram=Dense() with solver=Cholesky(), or gram=Nystrom(500)."
        )

    def _fill_others(self, left_out: Floats, K: Gram, Y: Floats, coef: Floats, intercept: Floats) -> None:
        """Fill in the values of samples that a problem leaves out from the start."""
        values = K @ coef + intercept
        left_out[Y == 0.0] = values[Y == 0.0]

    def _prune(self, K: Gram, Y: Floats, w: Floats, loss: str, run: Run) -> Fitted:
        """Fit to fewer and fewer samples while the left-out error does not grow."""
        if not has_array(K):
            raise CapabilityError(
                f"prune={self.prune} was given with a {type(K).__name__}; pruning works on a dense matrix. Use "
                "gram=Dense()."
            )
        n = len(K.samples)
        Plan(f"pruning of {n} samples", {"matrix of those left": 8 * n * n}, ("prune=None",)).require(self.memory)
        assert self.prune is not None
        with run.stage("pruning", 0.95):
            found = selection.prune(K.array, Y, self.C_, w, fraction=self.prune, loss=loss, monitor=run.monitor)
        coef = np.zeros(Y.shape)
        coef[found.support] = found.coef
        self.pruning_sizes_, self.pruning_errors_ = found.sizes, found.errors
        self.solution_ = Solution(coef, Status.CONVERGED, 0.0, multipliers=found.intercept[None])
        kept = found.support
        quadratic = np.einsum("ik,ik->k", Y[kept], found.coef)
        scale = np.maximum(quadratic, 0.0) / max(float(w[kept].sum()) - 1.0, np.finfo(np.float64).tiny)
        return Fitted(coef, found.intercept, found.left_out, None, scale, [])

    def _expand(self, K: Gram, fitted: Fitted, flat: bool) -> None:
        """Keep the fitted function and its support."""
        coef, bias = fitted.coef, fitted.intercept
        weights = fitted.weights
        if flat:
            coef, bias = coef[:, 0], bias[0]
            weights = None if weights is None else weights[:, 0]
        self.expansion_ = K.expand(Solution(coef, Status.CONVERGED, 0.0, weights=weights), bias)
        self.intercept_, self.scale_ = bias, fitted.scale

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        plan = super().memory_plan(n_samples, n_features, n_targets)
        square = 8 * n_samples * n_samples
        if "Gram matrix" not in plan.buffers:
            return plan
        more: dict[str, int] = {}
        if self.C is None or self.selection is not None:
            more["eigenvectors" if self.selection is None else "inverse and derivative"] = 4 * square
        elif self._needs_posterior() or self.prune is not None:
            more["posterior" if self.prune is None else "matrix of those left"] = square
        elif self.leave_one_out:
            more["columns of the inverse"] = 8 * n_samples * 256
        return Plan(plan.what, {**plan.buffers, **more}, plan.options)


def groups_of(Y: Floats) -> list[tuple[Indices, Indices]]:
    """Return (rows, columns) of outputs that have the same samples; a target of zero leaves a sample out.

    Examples
    --------
    >>> groups_of(np.array([[1.0, 1.0], [-1.0, 0.0]]))
    [(array([0, 1]), array([0])), (array([0]), array([1]))]
    """
    found: dict[bytes, list[int]] = {}
    takes_part = Y != 0.0
    for column in range(Y.shape[1]):
        found.setdefault(takes_part[:, column].tobytes(), []).append(column)
    return [(np.flatnonzero(takes_part[:, columns[0]]), np.array(columns)) for columns in found.values()]
