"""Linear systems by one Cholesky factorisation in the memory of the Gram matrix.

Symbols: G = K + diag(shift), B the border, P the block of the inverse of the bordered matrix that maps y to a.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.constraints import OneOf
from mercer.gram.gram import Capability
from mercer.numerics.cholesky import CholeskyFactor, require_finite, safe_cholesky
from mercer.problems import LinearSystem, Solution, Status, Trace
from mercer.solvers.linear.border import Border
from mercer.solvers.linear.single_precision import Refined, mixed_cholesky
from mercer.solvers.solver import Columns, Monitor, Solver

__all__ = ["Cholesky", "Factored"]
__public__ = ["Cholesky"]

_NOTHING = 64 * np.finfo(np.float64).eps  # what rounding leaves of a difference, relative to its terms


@runtime_checkable
class HasDense(Protocol, metaclass=Capability):
    """A Gram that can be written out as a matrix."""

    def to_dense(self) -> Floats:
        """All of K, (n, n), in memory that the caller owns."""
        ...


class Cholesky(Solver):
    r"""Exact solution by a Cholesky factor, computed in the memory of the matrix.

    .. math:: K + \mathrm{diag}(s) = L L^\top, \qquad a = L^{-\top} L^{-1} y

    Seed: [KIKS] Eq. (9), Section 3.2; departs from the printed recurrence, whose indices are mixed:
    :math:`L_{ji} = (K_{ji} - \sum_{k<i} L_{ik} L_{jk}) / L_{ii}`. With a border, [SS] the system of the
    LS-SVM.

    Parameters
    ----------
    precision : {"double", "mixed"}, default "double"
        "mixed" factors in float32, which takes half the time, and refines the solution by conjugate gradients with
        products in float64 until no more is left than a factor in float64 leaves. If that does not happen in a
        few steps, because the matrix is too badly conditioned, the factor is computed in float64 after all.
        ``details`` of the solution give the precision of the factor and the number of steps.

    Notes
    -----
    Solves LinearSystem, with or without a border; K need be positive definite only for coefficients
    orthogonal to the border. Needs a Gram that can be written out as a matrix; one that holds its matrix is
    asked for it by ``release()`` and cannot be used for products afterwards. Cost n^3 / 3 operations once, 2
    n^2 per output. Memory: the one n x n array, and O(n). If rounding makes the matrix indefinite, jitter is
    added with a JitterWarning. ``state`` of the solution is a `Factored`; it holds the n x n array. After "mixed" it
    is None where the factor stayed in float32: a determinant or an inverse needs all digits.

    Examples
    --------
    >>> class Matrix:
    ...     def to_dense(self):
    ...         return np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> Cholesky().solve(LinearSystem(Matrix(), shift=1.0, rhs=np.array([4.0, 4.0]))).coef
    array([1., 1.])
    """

    solves = LinearSystem
    needs = (HasDense,)
    remedy = "Use gram=Dense(), or leave out solver=."

    constraints = {"precision": OneOf("double", "mixed")}

    def __init__(self, precision: str = "double") -> None:
        self.precision = precision

    def _solve(self, problem: LinearSystem, start: Floats | None = None, monitor: Monitor | None = None) -> Solution:
        began = time.perf_counter()
        rhs = Columns.of(problem.rhs)
        system = _System.of(_matrix(problem.gram), problem.shift, problem.border)
        details: dict[str, Any] = {"factor": "float64"}
        state = found = None
        if self.precision == "mixed":
            found, details = _refine(system, rhs.values)
        if found is None:
            state = system.factored()
            found = state.columns(rhs.values)
        coef, multipliers, left = found
        residual = rhs.residual(left)
        return Solution(
            coef=rhs.restore(coef),
            multipliers=rhs.restore(multipliers),
            status=Status.CONVERGED,
            residual=residual,
            jitter=0.0 if state is None else state.factor.jitter,
            trace=Trace.of([(rhs.objective(coef, left), residual, time.perf_counter() - began)]),
            state=state,
            details=details,
        )


class _System(NamedTuple):
    """A bordered system in the coordinates of its border, not factored yet."""

    block: Floats  # that belongs to coefficients orthogonal to the border, in the memory of K
    shift: float | Floats  # still to be added to its diagonal
    border: Border | None
    above: Floats

    @classmethod
    def of(cls, K: Floats, shift: float | Floats, border: Floats | None) -> _System:
        if border is None or border.shape[1] == 0:
            return cls(K, shift, None, np.zeros((0, len(K))))
        require_finite(K, shift)  # before the entries are mixed
        coordinates = Border.of(border)
        np.einsum("ii->i", K)[:] += shift
        coordinates.turn(K)
        s = coordinates.count
        return cls(K[s:, s:], 0.0, coordinates, K[:s, s:])

    def factored(self) -> Factored:
        return Factored(safe_cholesky(self.block, self.shift), self.border, self.above)


def _refine(system: _System, rhs: Floats) -> tuple[tuple[Floats, Floats, Floats] | None, dict[str, Any]]:
    """Solve by a factor in float32; None, and the matrix as it was, where float64 is needed."""
    factor = mixed_cholesky(system.block, system.shift)
    if factor is None:
        return None, {"factor": "float64", "float32": "not positive definite"}
    seen: list[Refined] = []

    def solve(columns: Floats) -> tuple[Floats, Floats]:
        seen.append(factor.refined(columns))
        return seen[0].solution, seen[0].left

    found = _through(system.border, system.above, rhs, solve)
    if seen[0].safe:
        return found, {"factor": "float32", "refinements": seen[0].steps}
    np.einsum("ii->i", factor.release())[:] -= system.shift
    return None, {"factor": "float64", "float32": f"not accurate after {seen[0].steps} refinements"}


def _through(
    border: Border | None, above: Floats, rhs: Floats, solve: Callable[[Floats], tuple[Floats, Floats]]
) -> tuple[Floats, Floats, Floats]:
    """Coefficients, multipliers and what is left, where `solve` gives two of them for the block without a border."""
    if border is None:
        coef, left = solve(rhs)
        return coef, np.zeros((0, rhs.shape[1])), left
    s, turned = border.count, border.into(rhs)
    free, left = solve(turned[s:])
    multipliers = border.multipliers(turned[:s] - above @ free)
    zeros = np.zeros((s, rhs.shape[1]))
    coef, left = (border.back(np.concatenate([zeros, part])) for part in (free, left))
    return coef, multipliers, left


@dataclass(frozen=True, eq=False)
class Factored:
    """A bordered system G = K + diag(shift), B, factored: what can be used again for other right-hand sides.

    Attributes
    ----------
    factor : CholeskyFactor
        Factor of G, or with a border of the block of Q^T G Q that belongs to coefficients orthogonal to it.
    border : Border or None
        The coordinates Q.
    above : (s, n - s) array
        The block of Q^T G Q that gives the multipliers.
    """

    factor: CholeskyFactor
    border: Border | None
    above: Floats

    @classmethod
    def of(cls, K: Floats, shift: float | Floats, border: Floats | None) -> Factored:
        """Factor a system in the memory of K, (n, n)."""
        return _System.of(K, shift, border).factored()

    def solve(self, rhs: Floats) -> tuple[Floats, Floats]:
        """Coefficients (n,) or (n, k) and multipliers (s,) or (s, k) for a right-hand side (n,) or (n, k)."""
        columns = Columns.of(rhs)
        coef, multipliers, _ = self.columns(columns.values)
        return columns.restore(coef), columns.restore(multipliers)

    def columns(self, rhs: Floats) -> tuple[Floats, Floats, Floats]:
        """Coefficients, multipliers and what is left, y - G a - B m, for right-hand sides (n, k)."""
        return _through(self.border, self.above, rhs, self.factor.refined)

    def logdet(self) -> float:
        """Logarithm of the determinant of G, jitter included; with a border of its block orthogonal to it."""
        return self.factor.logdet()

    def inverse_diagonal(self) -> Floats:
        """Diagonal, (n,), of the block of the inverse of the bordered matrix that maps y to a."""
        inner = self.factor.inverse_diagonal()
        if self.border is None:
            return inner
        # With Q2 = (0; I) - V C and M the inverse of the factored block, the block asked for is Q2 M Q2^T.
        V, s = self.border.V, self.border.count
        C = self.border.T @ V[s:].T
        MC = self.factor.solve(np.ascontiguousarray(C.T))
        first, mixed = np.einsum("ij,jk,ik->i", V, C @ MC, V), np.einsum("ij,ij->i", V[s:], MC)
        out, size = first.copy(), np.abs(first)
        out[s:] += inner - 2.0 * mixed
        size[s:] += inner + 2.0 * np.abs(mixed)
        return np.where(out > _NOTHING * size, out, 0.0)

    def inverse_block(self, index: Indices) -> Floats:
        """Rows and columns (q, q) of P, the block of the inverse of the bordered matrix that maps y to a."""
        n = len(self.factor.array) + (0 if self.border is None else self.border.count)
        chosen = np.zeros((n, len(index)))
        chosen[index, np.arange(len(index))] = 1.0
        if self.border is not None:
            chosen = self.border.into(chosen)[self.border.count :]
        halves = self.factor.half_solve(chosen)
        return halves.T @ halves

    def release_inverse(self) -> Floats:
        """P, (n, n), the block of the inverse of the bordered matrix that maps y to a; the factor is used up."""
        if self.border is None:
            return self.factor.release_inverse()
        s = self.border.count
        inner = self.factor.release_inverse()
        P = np.zeros((s + len(inner),) * 2)
        P[s:, s:] = inner
        replace(self.border, T=self.border.T.T).turn(P)  # Q P Q^T, since Q^T has T^T in place of T
        return P


def _matrix(gram: Any) -> Floats:
    """K in memory that may be overwritten."""
    K = gram.release() if hasattr(gram, "release") else gram.to_dense()
    return np.require(K, dtype=np.float64, requirements=["C", "W"])
