"""Common to kernel machines of any convex loss: the functions that are not penalised, the search for the penalty.

Symbols: psi the loss, Omega the regulariser of s = |f|^2, alpha its weight, B the values of the functions that are not
penalised, m their coefficients.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Floats
from mercer.constraints import AnyOf, Each, InstanceOf, Integer, Interval, OneOf, Optional, Positive, Satisfies
from mercer.domains import Samples, Similarities, Vectors
from mercer.errors import CapabilityError, ParameterError, warn_caller
from mercer.estimators.estimator import KernelEstimator, scattered, unwatched
from mercer.estimators.fits import Run, Training
from mercer.estimators.squares.logistic import require_no_twice
from mercer.estimators.squares.smoothing_spline import (
    Polynomials,
    SemiparametricExpansion,
    evaluate_basis,
    independent,
    numbers,
)
from mercer.gram import Dense, Gram, GramSpec, Tiles
from mercer.gram.gram import has_array, is_undecided
from mercer.hilbert.regularization import SPECTRAL, RidgePath, best_on_path, unit_of
from mercer.hilbert.regularizers import NormPower, Regularizer
from mercer.kernels import Kernel
from mercer.losses import HasBoxDual, Loss, Squared
from mercer.problems import BoxQP, ConvexRisk, Status
from mercer.solvers.risk_path import RiskMinimum, RiskPath, choose_solver

__all__ = ["MAX_ITER", "RepresenterMachine", "TOL"]

TOL, MAX_ITER = 1e-7, 100
_STORED = 2048  # samples up to which the matrix is held where rows are enough
_FUNCTION = Satisfies("a function of all the data", callable)
_REGULARIZERS = {"square": NormPower(2.0), "norm": NormPower(1.0)}


class RepresenterMachine(KernelEstimator):
    """Base of kernel machines for regression and classification."""

    highest_order = 2
    loss: Any
    alpha: float
    regularizer: Any
    unpenalized: Any
    tol: float
    max_iter: int
    constraints = {
        "alpha": Positive(),
        "unpenalized": Optional(AnyOf(OneOf("constant", "linear"), Each(Integer()), Each(_FUNCTION))),
        "regularizer": AnyOf(OneOf(*_REGULARIZERS), InstanceOf(Regularizer)),
        "tol": Interval(0.0, 1.0, closed="neither"),
        "max_iter": Integer(1),
    }
    words: ClassVar[Mapping[str, Loss]]

    # entry points -------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for spec in (self.loss, self.regularizer):
            if not isinstance(spec, str):
                spec.check()
        require_no_twice(self, TOL, MAX_ITER)

    def _loss(self) -> Loss:
        return self.words[self.loss] if isinstance(self.loss, str) else self.loss

    def _order_of(self, kernel: Kernel) -> int:
        """Order of the polynomials that are not penalised; 0 for none."""
        given = {"constant": 1, "linear": 2}.get(self.unpenalized, 0) if isinstance(self.unpenalized, str) else 0
        return max(given, kernel.order or 0)

    def _has_constant_only(self, kernel: Kernel) -> bool:
        own = self.unpenalized is not None and not isinstance(self.unpenalized, str)
        return not own and self._order_of(kernel) == 1

    def _gram_spec(self, kernel: Kernel, S: Samples) -> GramSpec:
        """Return how K is held: where rows are enough, in tiles beyond some thousands of samples."""
        loss = self._loss()
        rows = isinstance(loss, HasBoxDual) and not loss.smooth and self._has_constant_only(kernel)
        if rows and (self.gram is None or is_undecided(self.gram)) and getattr(self.solver, "solves", BoxQP) is BoxQP:
            return Dense() if len(S) <= _STORED or isinstance(S, Similarities) else Tiles()
        return super()._gram_spec(kernel, S)

    def _basis(self, kernel: Kernel, S: Samples) -> Any:
        """Return the functions that are not penalised; None for none or a constant alone."""
        given = self.unpenalized
        if given is None or isinstance(given, str):
            order = self._order_of(kernel)
            if order <= 1:
                return None
            self._require_numbers(S, f"polynomials of degree below {order}")
            return Polynomials.below(order, numbers(S))
        parts = given if isinstance(given, (tuple, list, np.ndarray)) else (given,)
        if callable(parts[0]):
            return given
        self._require_numbers(S, f"the columns {tuple(parts)}")
        every = Polynomials.below(2, numbers(S))
        width = len(every.middle)
        if not all(-width <= part < width for part in parts):
            raise ParameterError(
                f"unpenalized={given!r} was given for samples of {width} columns; columns from {-width} to {width - 1} "
                "are accepted. Leave out those that are not there."
            )
        factors = np.array([[-1], *([part % width] for part in parts)], dtype=np.intp)
        return dataclasses.replace(every, factors=factors)

    def _require_numbers(self, S: Samples, what: str) -> None:
        if not isinstance(S, Vectors):
            raise CapabilityError(
                f"{type(self).__name__} was given {type(S).__name__} and {what} that are not penalised; these are "
                "functions of numbers. Use unpenalized='constant', or functions of your own."
            )

    def _border(self, kernel: Kernel, S: Samples, basis: Any) -> tuple[Floats | None, Floats | None]:
        """Return values of the functions that are not penalised, (n, r), and how they mix those given, (s, r)."""
        if basis is None:
            return (np.ones((len(S), 1)) if self._order_of(kernel) else None), None
        border = evaluate_basis(basis, S)
        if border.shape[0] != len(S) or not np.isfinite(border).all():
            raise ParameterError(
                f"unpenalized={self.unpenalized!r} gave values of shape {border.shape} for {len(S)} samples, or some "
                "that are not finite; one finite number per sample and function is accepted. Look at the functions."
            )
        mix = independent(border)
        border = border @ mix
        if (kernel.order or 0) > 0:
            ones = np.ones((len(S), 1))
            needed = Polynomials.below(int(kernel.order or 0), numbers(S))(numbers(S)) if kernel.order != 1 else ones
            left = needed - border @ np.linalg.lstsq(border, needed, rcond=None)[0]
            if np.abs(left).max() > 1e-6:
                raise CapabilityError(
                    f"{type(self).__name__} was given {kernel!r}, which is conditionally positive definite of order "
                    f"{kernel.order}, with unpenalized={self.unpenalized!r}; polynomials of degree below that must be "
                    "among the functions that are not penalised. Add them, or leave unpenalized out."
                )
        return border, mix

    # fit ----------------------------------------------------------------------------------------------

    def _fit_values(self, data: Training, values: Floats) -> None:
        """Fit to targets of the samples that count, as the loss wants them, (m,) or (m, k)."""
        run, kernel, packed, S, _, w, used = data
        self.kernel_ = kernel.learn(S, values, w)
        basis = self._basis(self.kernel_, S)
        border, mix = self._border(self.kernel_, S, basis)
        K = self._represent(self.kernel_, S, run, until=0.3)
        loss = self._loss()
        found, self.penalty_ = self._minimised(K, ConvexRisk(K, loss, values, w, self.alpha, border), run)
        solution, free = found.solution, found.solution.multipliers
        if solution.status is not Status.CONVERGED:
            warn_caller(
                f"{type(self.solver_).__name__} stopped at residual {solution.residual:.3g}, with a duality gap of "
                f"{solution.gap:.3g}. {solution.status.value}",
                ConvergenceWarning,
            )
        zero = np.zeros(values.shape[1:])
        constant = border is not None and basis is None
        self.intercept_ = np.asarray(free[0] if constant else zero, dtype=float)
        self.loss_ = loss
        expansion: Any = K.expand(solution, self.intercept_)
        if basis is not None and mix is not None:
            self.basis_coef_ = np.asarray(mix @ free)
            expansion = SemiparametricExpansion(expansion, basis, self.basis_coef_)
        self.expansion_ = expansion
        self.dual_coef_ = scattered(solution.coef, used, len(packed))
        self.solution_ = dataclasses.replace(solution, state=None)
        self.risk_, self.norm_ = found.risk, float(np.sqrt(found.energy))
        cost = self._regularizer().value(found.energy)
        if not np.isfinite(cost):  # on the edge of a ball, but for the last digits of the search
            cost = self._regularizer().value(found.energy * (1.0 - 1e-6))
        self.objective_ = found.risk + self.alpha * cost
        self.dual_gap_ = solution.gap
        self.n_iter_ = max(len(solution.trace) - 1, 1)

    def _regularizer(self) -> Regularizer:
        return _REGULARIZERS[self.regularizer] if isinstance(self.regularizer, str) else self.regularizer

    def _minimised(self, K: Gram, problem: ConvexRisk, run: Run) -> tuple[RiskMinimum, float]:
        """Return the minimum and the penalty that belongs to it, within the budgets."""
        regularizer, unit = self._regularizer(), unit_of(K)
        solver = self.solver if self.solver is not None else choose_solver(problem, self.tol, self.max_iter)
        self.solver_ = solver
        with run.stage("solver", 0.95):
            unwatched(K)
            monitor = run.solver_monitor(getattr(solver, "tol", TOL)) if run.watched else None
            path: Any
            usual = isinstance(regularizer, NormPower) and regularizer.exponent == 2.0
            small = len(problem.y) <= SPECTRAL and self.solver is None
            if has_array(K) and isinstance(problem.loss, Squared) and small and not usual:
                array = np.asarray(K.array, dtype=np.float64)
                path = RidgePath(array, problem.y, problem.weight, problem.border)
            else:
                path = RiskPath(problem, solver, monitor)
            return best_on_path(path, regularizer, self.alpha, unit)
