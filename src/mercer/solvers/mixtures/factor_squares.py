r"""Least squares over several Grams of low rank: all in the coordinates of the factors.

Symbols: K_t = F_t F_t^T, F = (F_1, ..., F_m) with r columns in all, c_i = 1 / ridge_i, G = F^T diag(c) F, known;
D the weights of the columns, repeated for each kernel, M = I + D^1/2 G D^1/2; g = F^T z.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.arrays import Floats, Indices
from mercer.budget import Plan
from mercer.problems import Status
from mercer.solvers.mixtures.machines import BoxMachine, Point
from mercer.solvers.mixtures.mixture_problem import MixtureQP
from mercer.solvers.mixtures.stack import Stack

__all__ = ["FactorSquares"]

_ROWS = 4096  # of the factors that are multiplied at once


class FactorSquares(BoxMachine):
    """Machines without a box whose Grams are factors: a linear system of the factors' columns, whatever the weights.

    Parameters
    ----------
    problem : MixtureQP
        Its programs have no box, the same ridge, and one sum, which is zero.
    stack : Stack
        With factors.
    """

    @staticmethod
    def suits(problem: Any, stack: Stack) -> bool:
        """Return whether a problem is of this kind."""
        if not (isinstance(problem, MixtureQP) and hasattr(stack, "factors")):
            return False
        machine = BoxMachine(problem, stack)
        first = machine.parts[0].ridge
        return all(
            part.is_linear
            and part.program.group is None
            and part.program.index is None
            and len(part.program.total) == 1
            and np.array_equal(part.ridge, first)
            for part in machine.parts
        )  # fmt: skip

    def __init__(self, problem: MixtureQP, stack: Any) -> None:
        super().__init__(problem, stack)
        self.factors: list[Floats] = stack.factors
        sizes = [F.shape[1] for F in self.factors]
        self.ends = np.cumsum([0, *sizes])
        r = int(self.ends[-1])
        Plan(f"{len(sizes)} factors of {r} columns", {"their products": 24 * r * r}).require(stack.resources.memory)
        self.kernel_of = np.repeat(np.arange(len(sizes)), sizes)
        self.c = 1.0 / self.parts[0].ridge
        self.Y = np.column_stack([-part.program.linear for part in self.parts])
        self.G, self.FY, self.F1 = self._normal()

    def _normal(self) -> tuple[Floats, Floats, Floats]:
        """Return F^T C F, F^T C Y and F^T C 1, in blocks of rows."""
        n, r, k = self.stack.n, int(self.ends[-1]), self.Y.shape[1]
        G, B = np.zeros((r, r)), np.zeros((r, k + 1))
        for begin in range(0, n, _ROWS):
            rows = slice(begin, min(begin + _ROWS, n))
            F = np.hstack([factor[rows] for factor in self.factors])
            weighted = F * self.c[rows, None]
            G += weighted.T @ F
            B += weighted.T @ np.column_stack([self.Y[rows], np.ones(len(F))])
        return G, B[:, :-1], B[:, -1]

    def _system(self, d: Floats) -> tuple[Indices, Floats, Any]:
        """Return the columns of kernels with a weight, the roots of their weights, and a factor of M."""
        used = np.flatnonzero(d[self.kernel_of])
        root = np.sqrt(d[self.kernel_of[used]])
        M = root[:, None] * self.G[np.ix_(used, used)] * root
        M[np.diag_indices_from(M)] += 1.0
        return used, root, cho_factor(M, lower=True)

    def solve(self, d: Floats, start: Floats | None, tol: float, monitor: Any = None) -> Point:
        """Solve the linear system at weights d."""
        used, root, factor = self._system(d)
        both = np.column_stack([self.FY, self.F1])
        inner = cho_solve(factor, root[:, None] * both[used])  # M^-1 D^1/2 F^T C (Y, 1)
        V, v = inner[:, :-1], inner[:, -1]
        # 1^T z = 0 with z = C (Y - 1 b - F D^1/2 (V - v b)) gives the bias of each output
        top = self.c @ self.Y - (root * self.F1[used]) @ V
        bottom = float(self.c.sum()) - float((root * self.F1[used]) @ v)
        b = top / bottom
        W = root[:, None] * (V - np.outer(v, b))
        product = self._times(used, W)
        Z = self.c[:, None] * (self.Y - b - product)
        g = self.FY - np.outer(self.F1, b) - self.G[:, used] @ W  # F^T Z
        s = np.array([float(np.sum(g[a:e] ** 2)) for a, e in zip(self.ends[:-1], self.ends[1:], strict=True)])
        gain = float(np.sum(self.Y * Z)) - 0.5 * float(np.sum(Z**2 / self.c[:, None]))
        one = Z.shape[1] == 1
        beta, own = (Z[:, 0], product[:, 0]) if one else (Z, product)
        return Point(d, Z.T.reshape(-1), beta, s, gain, 0.0, own, -b, Status.CONVERGED)

    def _times(self, used: Indices, W: Floats) -> Floats:
        """Return F W of the columns used."""
        out = np.zeros((self.stack.n, W.shape[1]))
        for t in np.unique(self.kernel_of[used]):
            mine = self.kernel_of[used] == t
            out += self.factors[t][:, used[mine] - self.ends[t]] @ W[mine]
        return out

    def curvature(self, point: Point, which: Indices, most: int) -> Floats | None:
        """Return the second derivative of J in some of the weights: all variables are free, and all is in factors."""
        used, root, factor = self._system(point.d)
        beta = point.beta.reshape(len(point.beta), -1)
        total = np.zeros((len(which), len(which)))
        for k in range(beta.shape[1]):
            g = np.zeros((int(self.ends[-1]), len(which)))  # V_t = F_t g_t, a column for each kernel
            for place, t in enumerate(which):
                mine = slice(self.ends[t], self.ends[t + 1])
                g[mine, place] = self.factors[t].T @ beta[:, k]
            FV = self.G @ g  # F^T C V
            inner = np.column_stack([FV[used], self.F1[used]]) * root[:, None]
            reduced = inner.T @ cho_solve(factor, inner)
            ones = self.F1 @ g  # 1^T C V
            H = g.T @ FV - reduced[:-1, :-1]
            border = ones - reduced[-1, :-1]
            total += H - np.outer(border, border) / (float(self.c.sum()) - reduced[-1, -1])
        return total
