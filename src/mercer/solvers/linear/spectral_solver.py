"""Linear systems through eigenvalues: for Gram matrices that know theirs, as those of all pairs do.

Symbols: K = Q diag(lambda) Q^T, s the shift, G = K + s, B the border.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import CapabilityError, NotPositiveDefinite
from mercer.gram.gram import HasEigen
from mercer.problems import LinearSystem, Solution, Status, Trace
from mercer.solvers.solver import Columns, Monitor, Solver

__all__ = ["Diagonalized", "Spectral"]
__public__ = ["Spectral"]


class Spectral(Solver):
    r"""Exact solution by the eigenvalues of K: every further ridge takes O(n) operations in their coordinates.

    .. math:: a = Q \,\mathrm{diag}(1 / (\lambda + s))\, Q^\top y

    Seed: [KIKS] Section 6.1.1 with Eq. (7), ridge regression on all pairs, whose matrix (Eq. (22)) cannot be stored.

    Notes
    -----
    Solves LinearSystem with one shift for all samples, with or without a border, by the Schur complement of G. Needs
    ``Gram.eigh``, which `Kronecker` offers for all pairs of some objects: there q_1^3 + q_2^3 operations for two
    eigendecompositions, and n (q_1 + q_2) for each right-hand side. Samples of different weight have different shifts:
    then use conjugate gradients. ``state`` of the solution is a `Diagonalized`, which solves for other
    shifts and has the diagonal of the inverse, hence predictions of left-out samples.

    Examples
    --------
    >>> class Matrix:
    ...     def eigh(self):
    ...         return np.linalg.eigh(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> solution = Spectral().solve(LinearSystem(Matrix(), shift=1.0, rhs=np.array([4.0, 4.0])))
    >>> solution.coef.round(12), solution.state.inverse_diagonal().round(3)
    (array([1., 1.]), array([0.375, 0.375]))
    """

    solves = LinearSystem
    needs = (HasEigen,)
    remedy = "Leave out solver=; eigenvalues are available for all pairs of some objects, held by Kronecker()."

    @staticmethod
    def fits(problem: Any) -> bool:
        """Return whether this is a linear system with the same shift for all samples, and a Gram with eigenvalues."""
        if not isinstance(problem, LinearSystem) or not isinstance(problem.gram, HasEigen):
            return False
        shift = np.asarray(problem.shift)
        return shift.ndim == 0 or bool((shift == shift[:1]).all())

    def _solve(self, problem: LinearSystem, start: Floats | None = None, monitor: Monitor | None = None) -> Solution:
        if not self.fits(problem):
            raise CapabilityError(
                "Spectral was given shifts that differ from sample to sample, as sample weights make them; it needs "
                "one for all. Use solver=ConjugateGradient(), or no weights."
            )
        began = time.perf_counter()
        rhs = Columns.of(problem.rhs)
        values, basis = problem.gram.eigh()
        border = problem.border if problem.border is not None and problem.border.shape[1] else None
        state = Diagonalized(values, basis, float(np.asarray(problem.shift).flat[0]), border)
        coef, multipliers = state.columns(rhs.values)
        gram: Any = problem.gram
        left = rhs.values - (gram @ coef + state.shift * coef if hasattr(gram, "__matmul__") else state.times(coef))
        if border is not None:
            left = left - border @ multipliers
        residual = rhs.residual(left)
        return Solution(
            coef=rhs.restore(coef),
            multipliers=rhs.restore(multipliers),
            status=Status.CONVERGED,
            residual=residual,
            trace=Trace.of([(rhs.objective(coef, left), residual, time.perf_counter() - began)]),
            state=state,
            details={"eigenvalues": len(values)},
        )


@dataclass(frozen=True, eq=False)
class Diagonalized:
    """A system G = K + s, B in the coordinates of the eigenvectors of K: what solves it for any shift.

    Attributes
    ----------
    values : (n,) array
        lambda.
    basis : (n, n) array, or what multiplies as one
        Q; an operator has ``squares(w)``, the diagonal of Q diag(w) Q^T.
    shift : float
        s.
    border : (n, b) array or None
        B.
    """

    values: Floats
    basis: Any
    shift: float
    border: Floats | None = None

    def __post_init__(self) -> None:
        least = float(np.min(self.values, initial=np.inf)) + self.shift
        if not least > 0.0:
            raise NotPositiveDefinite(
                f"K + shift has the eigenvalue {least:.2g}; all must be positive. Raise the shift (alpha, noise), or "
                "make the kernel positive definite."
            )

    def inverse(self, Y: Floats) -> Floats:
        """G^-1 Y for Y (n, k)."""
        return self.basis @ ((self.basis.T @ Y) / (self.values + self.shift)[:, None])

    def times(self, A: Floats) -> Floats:
        """G A for A (n, k), by the same eigenvectors."""
        return self.basis @ ((self.basis.T @ A) * (self.values + self.shift)[:, None])

    def columns(self, Y: Floats) -> tuple[Floats, Floats]:
        """Coefficients (n, k) and multipliers (b, k) for right-hand sides (n, k)."""
        if self.border is None:
            return self.inverse(Y), np.zeros((0, Y.shape[1]))
        H = self.inverse(self.border)  # G^-1 B
        multipliers = np.linalg.solve(self.border.T @ H, H.T @ Y)
        return self.inverse(Y) - H @ multipliers, multipliers

    def logdet(self) -> float:
        """Logarithm of the determinant of G."""
        return float(np.sum(np.log(self.values + self.shift)))

    def inverse_diagonal(self) -> Floats:
        """Diagonal, (n,), of the block of the inverse of the bordered matrix that maps y to a."""
        weights = 1.0 / (self.values + self.shift)
        squares = self.basis.squares(weights) if hasattr(self.basis, "squares") else np.square(self.basis) @ weights
        if self.border is None:
            return squares
        H = self.inverse(self.border)
        return np.maximum(squares - np.einsum("ij,ji->i", H, np.linalg.solve(self.border.T @ H, H.T)), 0.0)
