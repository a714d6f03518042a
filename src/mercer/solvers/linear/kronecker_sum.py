r"""A linear system on a table of pairs: what was seen of it, and the Laplacians of its rows and of its columns.

Symbols: F (n, m) the table; M its places that were seen, 1 or 0; L_A (n, n) and L_B (m, m) Laplacians. The system is

    M * F + r F + s (L_A F + F L_B) = M * Y,

whose matrix, diag(vec M) + r I + s (L_A (x) I + I (x) L_B), is never formed: the Kronecker sum takes two products.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Bools, Floats
from mercer.problems import Solution, Status, Trace
from mercer.runtime.tiling import spans

__all__ = ["solve_kronecker_sum"]

_ROWS = 256  # of the table, for which products are held beside it


def solve_kronecker_sum(
    laplacians: tuple[Any, Any],
    seen: Bools,
    rhs: Floats,
    ridge: float,
    smooth: float,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    monitor: Any = None,
) -> Solution:
    """Solve by conjugate gradients with the diagonal as preconditioner.

    Parameters
    ----------
    laplacians : two sparse arrays
        L_A and L_B.
    seen : (n, m) array of bool
        M.
    rhs : (n, m) array
        M * Y; it is overwritten.
    ridge, smooth : float
        r and s.
    tol : float, default 1e-6
        Length of what is left over that of the right-hand side.
    max_iter : int, default 1000
    monitor : callable, optional
        Called as ``monitor(iteration, residual)``; true ends the run.

    Returns
    -------
    Solution
        With the table as ``coef``.

    Notes
    -----
    Four tables and a part of another are held, 32 bytes for each pair.
    """
    A, B = laplacians
    rows, columns = A.diagonal(), B.diagonal()
    F, R = np.zeros_like(rhs), rhs
    trace, status = [(0.0, 1.0, 0.0)], Status.MAX_ITER
    largest = max(float(np.max(R)), -float(np.min(R)))
    if largest == 0.0:
        return Solution(F, Status.CONVERGED, 0.0, trace=Trace.of(trace))
    unit = np.ldexp(1.0, int(np.frexp(largest)[1]) - 1)  # a power of two: nothing overflows, and nothing is rounded
    R /= unit
    first = float(np.sqrt(np.vdot(R, R)))
    P = _scaled(R, seen, ridge, smooth, rows, columns)
    length = float(np.vdot(R, P))
    residual = 1.0
    for iteration in range(max_iter):
        stop = monitor(iteration, residual) if monitor is not None else False
        if residual <= tol or stop:
            status = Status.CONVERGED if residual <= tol else stop if isinstance(stop, Status) else Status.STOPPED
            break
        Q = A @ P
        for some in spans(len(Q), _ROWS):  # so that no further table is needed
            Q[some] += (B @ P[some].T).T  # L_B is symmetric
            Q[some] *= smooth
            Q[some] += ridge * P[some]
        np.add(Q, P, out=Q, where=seen)
        step = length / float(np.vdot(P, Q))
        Q *= step
        R -= Q
        residual = float(np.sqrt(np.vdot(R, R))) / first
        trace.append((0.0, residual, 0.0))
        for some in spans(len(Q), _ROWS):
            F[some] += step * P[some]
        del Q
        Z = _scaled(R, seen, ridge, smooth, rows, columns)
        after = float(np.vdot(R, Z))
        P *= after / length
        P += Z
        length = after
    F *= unit
    return Solution(F, status, residual, trace=Trace.of(trace))


def _scaled(R: Floats, seen: Bools, ridge: float, smooth: float, rows: Floats, columns: Floats) -> Floats:
    """Return the table divided by the diagonal of the system."""
    Z = np.add.outer(smooth * rows + ridge, smooth * columns)
    np.add(Z, 1.0, out=Z, where=seen)
    np.divide(R, Z, out=Z)
    return Z
