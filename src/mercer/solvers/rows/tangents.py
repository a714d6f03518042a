r"""Tangents of a convex risk, and the minimum of the model that is the largest of them plus half a squared norm.

Symbols: R(w) >= b_t - <g_t, w> the t-th tangent; alpha the weights of the tangents in the dual of the master problem.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.solvers.rows.simplex import minimize_on_simplex

__all__ = ["Tangents"]

_IDLE = 60  # iterations after which a tangent without weight is forgotten


class Tangents:
    """The tangents so far, and what is known of the minimum.

    Attributes
    ----------
    lower : float
        The largest minimum of a model so far: no objective is below it.
    """

    def __init__(self, width: int, beside: int = 0) -> None:
        self.planes, self.duals = np.zeros((0, width)), np.zeros((0, beside))
        self.offsets, self.alpha, self.idle, self.products = np.zeros(0), np.zeros(0), np.zeros(0), np.zeros((0, 0))
        self.lower = -np.inf

    def add(self, plane: Floats, offset: float, beside: Floats | tuple[()] = ()) -> None:
        """Add the tangent R(w) >= offset - <plane, w>, with numbers that are combined as the planes are."""
        row = self.planes @ plane
        t = len(row)
        products = np.empty((t + 1, t + 1))
        products[:t, :t] = self.products
        products[t, :t] = products[:t, t] = row
        products[t, t] = plane @ plane
        self.products = products
        self.planes, self.duals = _grown(self.planes, plane), _grown(self.duals, np.asarray(beside))
        self.offsets, self.idle = np.append(self.offsets, offset), np.append(self.idle, 0.0)
        self.alpha = np.append(self.alpha, 0.0 if t else 1.0)

    def minimum(self) -> tuple[Floats, Floats]:
        """Return w at the model's minimum, and the combination of what is beside the planes; forget idle tangents."""
        self.alpha, value = minimize_on_simplex(self.products, self.offsets, self.alpha)
        self.lower = max(self.lower, -value)
        used = self.alpha > 0.0
        self.idle = np.where(used, 0.0, self.idle + 1.0)
        w, beside = self.alpha[used] @ self.planes[used], self.alpha[used] @ self.duals[used]
        keep = self.idle < _IDLE
        if not keep.all():
            self.planes, self.duals = self.planes[keep], self.duals[keep]
            self.offsets, self.idle, self.alpha = self.offsets[keep], self.idle[keep], self.alpha[keep]
            self.products = self.products[np.ix_(keep, keep)]
        return w, beside


def _grown(table: Any, row: Floats) -> Any:
    """A table with one more row, in memory that grows by halves."""
    count = len(table)
    whole = table.base
    if whole is None or whole.ndim != 2 or len(whole) <= count or whole.ctypes.data != table.ctypes.data:
        whole = np.empty((count + count // 2 + 8, table.shape[1]))
        whole[:count] = table
    whole[count] = row
    return whole[: count + 1]
