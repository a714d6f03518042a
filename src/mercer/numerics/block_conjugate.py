r"""Block conjugate gradients: several right-hand sides search in one space that they share.

Symbols: ``G`` symmetric positive definite, (n, n), known by its products; ``P`` a preconditioner; ``B`` the right-hand
sides, (n, k); ``X`` iterates, ``R`` residuals, ``D`` directions, orthonormal columns, at most k of them.

Conjugate gradients for one right-hand side search in the powers of G on one vector. Here every column may use the
powers on all of them, so that k columns need fewer products than each would need alone, of k vectors at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer.arrays import Floats
from mercer.errors import NotPositiveDefinite
from mercer.runtime.tiling import Kept

__all__ = ["BlockSolution", "block_solve"]

Product = Callable[[Floats], Floats]

_DEPENDENT = 1e-10  # directions whose share beyond the others is smaller are left out
_SEARCH = ("X", "R", "iterations", "looks", "before")  # where a search begins, as it is kept
_LOOKS = 4  # times that a residual, found larger than the recurrence says, starts the search again


@dataclass(frozen=True, eq=False)
class BlockSolution:
    """Solutions of several systems.

    Attributes
    ----------
    solutions : (n, k) array
    residuals : (k,) array
        Length of B - G X over that of B, recomputed at the end.
    iterations : int
        Products with a block of directions.
    converged, stopped : bool
        Whether all residuals reached the tolerance; whether a monitor ended the search.
    """

    solutions: Floats
    residuals: Floats
    iterations: int
    converged: bool
    stopped: bool = False


def block_solve(
    product: Product,
    rhs: Floats,
    precondition: Product | None = None,
    *,
    start: Floats | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    monitor: Callable[[int, float], object] | None = None,
    kept: Kept | None = None,
) -> BlockSolution:
    r"""Solve G X = B by conjugate gradients in the space that the columns span together.

    .. math:: X \leftarrow X + D a, \quad R \leftarrow R - G D a, \quad a = (D^\top G D)^{-1} D^\top R, \qquad
        D \leftarrow \mathrm{orth}\!\left(P^{-1} R - D (D^\top G D)^{-1} (G D)^\top P^{-1} R\right)

    Seed: [KIKS] Section 3.3, for blocks of vectors.

    Parameters
    ----------
    product : callable
        V -> G V, for V (n, b), b at most k.
    rhs : (n, k) array
        B.
    precondition : callable, optional
        R -> P^-1 R; None is the identity. `Preconditioner` offers one, from a pivoted Cholesky factor or from a
        Nystrom sketch.
    start : (n, k) array, optional
        X at the start; None is zero.
    tol : float, default 1e-8
        Tolerance of residuals relative to the right-hand sides, of each column.
    max_iter : int, default 1000
    monitor : callable, optional
        ``monitor(iteration, residual)``; a true answer ends the search.
    kept : Kept, optional
        The place of the state; what a former run has left there is resumed.

    Returns
    -------
    BlockSolution

    Notes
    -----
    The search is that of an orthonormal basis of the right-hand sides, so that equal or dependent ones do no harm;
    directions are made orthonormal in every iteration, and those that depend on others are left out. A residual that
    the recurrence says is small is recomputed before it is trusted. Cost a product with at most k columns and
    O(n k^2) per iteration, memory 7 n k numbers.

    Examples
    --------
    >>> G = np.diag([1.0, 2.0, 3.0, 4.0])
    >>> found = block_solve(lambda V: G @ V, np.array([[1.0, 1.0], [2.0, 0.0], [3.0, 3.0], [4.0, 0.0]]))
    >>> np.abs(found.solutions.T).round(12), found.iterations
    (array([[1., 1., 1., 1.],
           [1., 0., 1., 0.]]), 2)
    """
    lengths = np.linalg.norm(rhs, axis=0)
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    B = np.array(rhs, dtype=np.float64) / lengths
    kept = Kept() if kept is None else kept
    apply = precondition or np.copy
    iterations, looks, stopped, before = 0, 0, False, np.inf
    if (former := kept.state) is not None:
        X, R, iterations, looks, before = (former["search"][name] for name in _SEARCH)
    else:
        X = np.zeros_like(B) if start is None else np.array(start, dtype=np.float64) / lengths
        R = B.copy() if start is None else B - np.asarray(product(X), dtype=np.float64)
    while True:
        residuals = np.linalg.norm(R, axis=0)
        worst = float(residuals.max(initial=0.0))
        if worst <= tol or stopped or iterations >= max_iter or worst > 0.5 * before or looks == _LOOKS:
            return BlockSolution(X * lengths, residuals, iterations, worst <= tol, stopped)
        state: dict[str, Any] = dict(zip(_SEARCH, (X.copy(), R, iterations, looks, before), strict=True))
        looks, before = looks + 1, worst
        Q = _orthonormal(R)  # right-hand sides that depend on others are combinations of these
        place = _Place(kept, former, state)
        found, steps, stopped = _search(product, apply, Q, Q.T @ R, tol, iterations, max_iter, monitor, place)
        former = None
        iterations += steps
        X += found
        R = B - np.asarray(product(X), dtype=np.float64)


def _search(
    product: Product,
    apply: Product,
    Q: Floats,
    S: Floats,
    tol: float,
    begun: int,
    most: int,
    monitor: Any,
    place: _Place,
) -> tuple[Floats, int, bool]:
    """Return Y S with G Y ~ Q, as good as the columns of Q S need it, the iterations, and whether it was stopped."""
    steps, stopped = 0, False
    if place.former is None:
        Y, R = np.zeros_like(Q), Q.copy()
        D = _orthonormal(apply(R))
    else:
        Y, R, D, steps = (place.former[name] for name in ("Y", "left", "D", "steps"))
    while D.shape[1] and begun + steps < most and not stopped:
        GD = np.asarray(product(D), dtype=np.float64)
        inner = _bend(D, GD)
        a = np.linalg.solve(inner, D.T @ R)
        Y += D @ a
        R -= GD @ a
        steps += 1
        worst = float(np.linalg.norm(R @ S, axis=0).max())
        stopped = bool(monitor is not None and monitor(begun + steps, worst))
        if worst <= tol:
            break
        Z = apply(R)
        D = _orthonormal(Z - D @ np.linalg.solve(inner, GD.T @ Z))
        now = {"search": place.state, "Y": Y, "left": R, "D": D, "steps": steps}
        place.kept.offer(lambda now=now: now)
    return Y @ S, steps, stopped


class _Place(NamedTuple):
    """Where the state of a search is kept, what a former run has left of it, and the state in which it began."""

    kept: Kept
    former: Any
    state: dict[str, Any]


def _bend(D: Floats, GD: Floats) -> Floats:
    """D^T G D, symmetric, if it is positive definite."""
    inner = D.T @ GD
    inner = 0.5 * (inner + inner.T)
    values = np.linalg.eigvalsh(inner) if np.all(np.isfinite(inner)) else np.array([np.nan])
    if not values[0] > 0.0:
        raise NotPositiveDefinite(
            f"A product with the Gram matrix gives the curvature {float(values[0]):.2g}; conjugate gradients need a "
            "positive definite matrix. Raise the shift (alpha, noise), or use a positive definite kernel."
        )
    return inner


def _orthonormal(Z: Floats) -> Floats:
    """Orthonormal columns that span those of Z, without those that depend on the others."""
    sizes = np.linalg.norm(Z, axis=0)
    Z = Z[:, sizes > 0.0] / sizes[sizes > 0.0]
    if not Z.shape[1]:
        return Z
    Q, upper = np.linalg.qr(Z)
    U, singular, _ = np.linalg.svd(upper)
    return Q @ U[:, singular > _DEPENDENT * singular[0]]
