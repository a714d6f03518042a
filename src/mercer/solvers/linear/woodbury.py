"""Linear systems on a Gram of low rank, in the coordinates of its factor."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.errors import ParameterError
from mercer.gram.gram import HasFactor
from mercer.numerics.cholesky import CholeskyFactor, safe_cholesky
from mercer.problems import LinearSystem, Solution, Status, Trace
from mercer.runtime.tiling import spans
from mercer.solvers.linear.border import Border
from mercer.solvers.solver import Columns, Monitor, Solver, largest_ratio

__all__ = ["Woodbury", "NormalFactored"]
__public__ = ["Woodbury"]

_NOTHING = 64 * np.finfo(np.float64).eps  # nearer to one a leverage cannot be distinguished from one
_TILE = 2**20  # numbers: 8 MB of the factor at a time


class Woodbury(Solver):
    r"""Exact solution for K = F F^T by the normal equations in the factor's r coordinates.

    .. math:: (F^\top S^{-1} F + I)\, v = F^\top S^{-1} y, \qquad a = S^{-1} (y - F v), \qquad
              S = \mathrm{diag}(s)

    Seed: [KIKS] Eq. (4), the primal form, for samples that are the rows of F; departs from the print, which
    has :math:`X^\top X` where the samples are columns.

    Notes
    -----
    Solves LinearSystem with a positive shift, with or without a border. Needs ``Gram.factor`` and
    ``Gram.normal``. ``weights`` of the solution is v = F^T a: predictions from it keep digits that those
    from a lose when the shift is small. The residual is that of the equations for v and m. Cost O(n r^2 +
    r^3), memory O(r^2 + n k); the factor is read twice, tile by tile. ``state`` of the solution is a
    `NormalFactored`.

    Examples
    --------
    >>> class LowRank:
    ...     F = np.array([[1.0], [2.0]])
    ...
    ...     def factor(self, rows=slice(None)):
    ...         return self.F[rows]
    ...
    ...     def normal(self, weight, rhs):
    ...         return (self.F.T * weight) @ self.F, (self.F.T * weight) @ rhs
    >>> Woodbury().solve(LinearSystem(LowRank(), shift=1.0, rhs=np.array([3.0, 6.0]))).weights
    array([2.5])
    """

    solves = LinearSystem
    needs = (HasFactor,)
    remedy = "Use a Gram with a factor, as gram=Nystrom(500), or leave out solver=."

    def _solve(self, problem: LinearSystem, start: Floats | None = None, monitor: Monitor | None = None) -> Solution:
        began = time.perf_counter()
        rhs = Columns.of(problem.rhs)
        shift = positive_shift(problem.shift, len(rhs.values))
        state, normal_rhs = NormalFactored.of(problem, shift, rhs.values)
        weights, left = state.factor.refined(normal_rhs)
        residual = largest_ratio(left, normal_rhs)
        coef = state.coefficients(rhs.values, weights)
        border = state.border
        r = len(weights) - (0 if border is None else border.count)
        multipliers = np.zeros((0, len(rhs.scale))) if border is None else border.multipliers(weights[r:])
        # a was made so that nothing of y - F v - S a - B m is left: the objective needs no further product
        objective = rhs.objective(coef, np.zeros_like(coef))
        return Solution(
            coef=rhs.restore(coef),
            weights=rhs.restore(weights[:r]),
            multipliers=rhs.restore(multipliers),
            status=Status.CONVERGED,
            residual=residual,
            jitter=state.factor.jitter,
            trace=Trace.of([(objective, residual, time.perf_counter() - began)]),
            state=state,
        )


@dataclass(frozen=True, eq=False)
class NormalFactored:
    """Normal equations factored; they are multiplied by the smallest shift, so that no weight exceeds one.

    Attributes
    ----------
    factor : CholeskyFactor
        Factor of P^T W P + unit * (I on the factor's columns), for P = (F, Q1), (r + s, r + s).
    gram : object
        Gives the rows of F.
    border : Border or None
        Coordinates of the border, Q1 its orthonormal basis.
    shift : (n,) array
        Diagonal of S.
    unit : float
        The smallest shift; W = unit * S^-1.
    """

    factor: CholeskyFactor
    gram: Any
    border: Border | None
    shift: Floats
    unit: float

    @classmethod
    def of(cls, problem: LinearSystem, shift: Floats, rhs: Floats) -> tuple[NormalFactored, Floats]:
        """Factor the normal equations of a problem; they, and P^T W rhs, (r + s, k)."""
        unit = float(np.min(shift, initial=np.inf))
        weight = unit / shift
        bordered = problem.border is not None and problem.border.shape[1] > 0
        border = Border.of(problem.border) if bordered and problem.border is not None else None
        basis = np.zeros((len(rhs), 0)) if border is None else border.thin()
        k = rhs.shape[1]
        inner, right = problem.gram.normal(weight, np.hstack([rhs, basis]))
        N = np.require(inner, dtype=np.float64, requirements=["C", "W"])
        np.einsum("ii->i", N)[:] += unit
        weighted = (basis.T * weight) @ np.hstack([rhs, basis])
        if border is not None:
            N = np.block([[N, right[:, k:]], [right[:, k:].T, weighted[:, k:]]])
        state = cls(safe_cholesky(N), problem.gram, border, shift, unit)
        return state, np.vstack([right[:, :k], weighted[:, :k]])

    def rows(self, block: slice, basis: Floats | None) -> Floats:
        """Rows of P = (F, Q1)."""
        F = np.asarray(self.gram.factor(block), dtype=np.float64)
        return F if basis is None else np.hstack([F, basis[block]])

    def blocks(self) -> list[slice]:
        """Tiles of rows in which P is read."""
        return spans(len(self.shift), max(_TILE // max(len(self.factor.array), 1), 64))

    def coefficients(self, rhs: Floats, weights: Floats) -> Floats:
        """Coefficients a = S^-1 (y - P weights), (n, k)."""
        basis = None if self.border is None else self.border.thin()
        if hasattr(self.gram, "times"):  # without rows of F, which may cost more than the sums
            r = len(weights) - (0 if basis is None else basis.shape[1])
            fitted = self.gram.times(weights[:r])
            fitted = fitted if basis is None else fitted + basis @ weights[r:]
            return (rhs - fitted) / self.shift[:, None]
        coef = np.empty_like(rhs)
        for block in self.blocks():
            coef[block] = (rhs[block] - self.rows(block, basis) @ weights) / self.shift[block, None]
        return coef

    def leverage(self) -> Floats:
        """Share of each sample in its own fitted value, (n,), from 0 to 1: the diagonal of the hat matrix."""
        basis = None if self.border is None else self.border.thin()
        out = np.empty(len(self.shift))
        for block in self.blocks():
            halves = self.factor.half_solve(self.rows(block, basis).T)
            out[block] = np.einsum("ij,ij->j", halves, halves) * (self.unit / self.shift[block])
        return np.where(out < 1.0 - _NOTHING, out, 1.0)

    def inverse_diagonal(self) -> Floats:
        """Diagonal, (n,), of the block of the inverse of the bordered matrix that maps y to a."""
        return (1.0 - self.leverage()) / self.shift

    def inverse_block(self, index: Indices) -> Floats:
        """Rows and columns (q, q) of the block of the inverse of the bordered matrix that maps y to a."""
        F = np.asarray(self.gram.factor(), dtype=np.float64)[index]
        part = F if self.border is None else np.hstack([F, self.border.thin()[index]])
        halves = self.factor.half_solve(np.ascontiguousarray(part.T)) * np.sqrt(self.unit)
        shift = self.shift[index]
        return np.diag(1.0 / shift) - (halves / shift).T @ (halves / shift)


def positive_shift(shift: float | Floats, n: int) -> Floats:
    """Shift as (n,) positive numbers, or ParameterError."""
    full = np.array(np.broadcast_to(np.asarray(shift, dtype=np.float64), (n,)))
    with np.errstate(over="ignore", divide="ignore"):
        bad = np.flatnonzero(~((full > 0.0) & np.isfinite(full) & np.isfinite(1.0 / full)))
    if len(bad):
        raise ParameterError(
            f"Woodbury was given the shift {full[bad[0]]} for sample {bad[0]}; it divides by the shift, "
            "which must be positive and finite. Give a positive alpha (or noise), or use solver=Cholesky()."
        )
    return full
