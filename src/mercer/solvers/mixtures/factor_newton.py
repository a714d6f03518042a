r"""Programs with a box over a Gram of low rank: proximal steps, each solved by Newton's method in the factor's columns.

Symbols: K = F F^T, E which sums variables are in, z the variables, w = F^T z, rho minus the multipliers of the sums,
f = F w, sigma the length of a proximal step, A the variables inside their box, c_i = 1 / (r_i + 1 / sigma).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer.arrays import Floats, Indices
from mercer.problems import BoxQP, Status
from mercer.solvers.box.optimality import multipliers, project, violation

__all__ = ["FactorNewton"]

_PROXIMAL = 40  # proximal steps
_STEPS = 60  # of Newton's method in one of them
_LINE = 30  # halvings of a step
_STUCK = 6  # proximal steps without a smaller violation: what is left is rounding
_STRIDE = 4.0  # from the length of one proximal step to that of the next
_STRIP = 0.5  # of the unit of f: where the first proximal step takes the loss as a parabola
_ROUNDING = 1e-15  # of the terms of a sum
_TINY = 1e-12  # of the diagonal, for sums that no variable inside its box is in


class FactorNewton:
    r"""A `BoxQP` over F F^T, many samples and few columns, solved in the coordinates of the columns.

    .. math:: z \leftarrow \arg\min_{\ell \le x \le u, \, E^\top x = t} \; \tfrac12 \|F^\top x\|^2
              + \tfrac12 \sum_i r_i x_i^2 + p^\top x + \frac{1}{2 \sigma} \|x - z\|^2

    Each step is a smooth concave problem in w and the multipliers, of which only the variables inside their box have a
    curvature: their rows of F alone are multiplied with each other. Steps of this kind are those of Li, Sun and Toh
    (2018) for the lasso.

    Parameters
    ----------
    F : (n, r) array
    program : BoxQP
        Over the samples themselves, or over ``index`` of them.
    index : (v,) array of int, optional
        The sample of each variable.
    """

    def __init__(self, F: Floats, program: BoxQP, index: Indices | None) -> None:
        self.F, self.program, self.index = F, program, index
        v, self.sums = len(program.linear), len(program.total)
        self.ridge = np.broadcast_to(np.asarray(program.ridge, dtype=float), (v,))
        self.group = np.zeros(v, np.intp) if program.group is None else program.group
        self.total = np.asarray(program.total, dtype=float)

    def values(self, w: Floats, b: Floats) -> Floats:
        """Return F w + E b of each variable."""
        f = self.F @ w
        f = f if self.index is None else f[self.index]
        return f + b[self.group] if self.sums else f

    def combine(self, z: Floats) -> Floats:
        """Return F^T z."""
        z = z if self.index is None else np.bincount(self.index, weights=z, minlength=len(self.F)).astype(np.float64)
        used = np.flatnonzero(z)
        return self.F[used].T @ z[used] if 3 * len(used) < len(z) else self.F.T @ z

    def added(self, z: Floats) -> Floats:
        """Return E^T z."""
        return np.bincount(self.group, weights=z, minlength=self.sums).astype(np.float64) if self.sums else np.zeros(0)

    def solve(self, start: Floats, unit: float, tol: float, monitor: Any = None) -> tuple[Floats, Floats, Status]:
        """Return z, F F^T z and how it ended.

        Parameters
        ----------
        start : (v,) array
        unit : float
            Of f.
        tol : float
            Violation of the optimality conditions, in the unit of f.
        monitor : callable, optional
        """
        program, target = self.program, tol * unit
        width = program.upper - program.lower
        finite = width[np.isfinite(width) & (width > 0.0)]
        bend = float(np.mean(self.ridge))
        sigma = float(np.median(finite)) / (_STRIP * unit) if len(finite) else 1.0 / max(bend, np.finfo(float).tiny)
        z = project(program, start)
        w, b = self.combine(z), np.zeros(self.sums)
        best, status, stuck = self._judged(z), Status.STALLED, 0
        if self.sums:
            b = -best[2]
        for step in range(_PROXIMAL):
            if best[3] <= target:
                status = Status.CONVERGED
                break
            if monitor is not None and (answer := monitor(step, best[3])):
                status = answer if isinstance(answer, Status) else Status.STOPPED
                break
            w, b, z = self._proximal(z, w, b, sigma, 0.1 * target)
            found = self._judged(project(program, z))
            stuck = 0 if found[3] < 0.5 * best[3] else stuck + 1
            best = found if found[3] < best[3] else best
            if stuck == _STUCK:
                break
            sigma *= _STRIDE
        return best[0], best[1], status

    def _judged(self, z: Floats) -> tuple[Floats, Floats, Floats, float]:
        """Return z, its product, multipliers and violation."""
        product = self.values(self.combine(z), np.zeros(self.sums))
        gradient = product + self.ridge * z + self.program.linear
        return z, product, multipliers(self.program, z, gradient), violation(self.program, z, gradient)

    def _proximal(
        self, center: Floats, w: Floats, b: Floats, sigma: float, target: float
    ) -> tuple[Floats, Floats, Floats]:
        """Return w, b and z of one proximal step from a centre, to a violation of `target`."""
        program, c = self.program, 1.0 / (self.ridge + 1.0 / sigma)
        offset = c * (center / sigma - program.linear)  # the best z is clip(offset - c (F w + E b))
        f = self.values(w, b)
        longest = np.sqrt(np.max(np.einsum("ij,ij->i", self.F, self.F), initial=0.0)) or 1.0
        rounding = _ROUNDING * longest * (float(np.linalg.norm(w)) + longest * float(np.sum(np.abs(center))))
        for _ in range(_STEPS):
            raw = offset - c * f
            z = np.clip(raw, program.lower, program.upper)
            gw, gb = w - self.combine(z), self.total - self.added(z)
            left = longest * float(np.linalg.norm(gw))
            inside = np.flatnonzero((raw > program.lower) & (raw < program.upper))
            scale = float(np.max(np.abs(gb), initial=0.0)) / max(float(np.sum(np.abs(z))), np.finfo(float).tiny)
            if left <= max(target, rounding) and scale <= max(1e-3 * target, _ROUNDING):
                break
            dw, db = self._step(inside, c, gw, gb)
            change = self.values(dw, db)
            k = self._length(w, b, dw, db, f, change, offset, c)
            if k == 0.0:
                break
            w, b, f = w + k * dw, b + k * db, f + k * change
        return w, b, np.clip(offset - c * f, program.lower, program.upper)

    def _step(self, inside: Indices, c: Floats, gw: Floats, gb: Floats) -> tuple[Floats, Floats]:
        """Return the step of Newton's method, from a system of columns or of variables, whichever are fewer."""
        rows = self.F[inside if self.index is None else self.index[inside]]
        E = (self.group[inside, None] == np.arange(self.sums)).astype(float)
        r, own = len(gw), c[inside]
        mean = float(np.mean(c))
        if len(inside) >= r:
            X = np.hstack([rows, E])
            H = (X * own[:, None]).T @ X
            H[np.arange(r), np.arange(r)] += 1.0
            H[np.arange(r, len(H)), np.arange(r, len(H))] += _TINY * mean
            step = -cho_solve(cho_factor(H, lower=True, check_finite=False), np.append(gw, gb), check_finite=False)
            return step[:r], step[r:]
        if not len(inside):
            return -gw, -gb / (_TINY * mean * len(c) + mean)
        M = rows @ rows.T
        M[np.diag_indices_from(M)] += 1.0 / own
        both = cho_solve(
            cho_factor(M, lower=True, check_finite=False), np.column_stack([rows @ gw, E]), check_finite=False
        )
        x, Y = both[:, 0], both[:, 1:]  # u = Y db - x, with E^T u = -gb up to the tiny part
        S = E.T @ Y
        S[np.diag_indices_from(S)] += _TINY * mean
        db = np.linalg.solve(S, E.T @ x - gb) if self.sums else np.zeros(0)
        u = Y @ db - x
        return -gw - rows.T @ u, db

    def _length(
        self, w: Floats, b: Floats, dw: Floats, db: Floats, f: Floats, change: Floats, offset: Floats, c: Floats
    ) -> float:
        """Return how far to go: where the slope along the step, which only grows, vanishes."""
        lower, upper = self.program.lower, self.program.upper
        first, bend, rest = float(w @ dw), float(dw @ dw), float(self.total @ db)

        def slope(k: float) -> float:
            z = np.clip(offset - c * (f + k * change), lower, upper)
            return first + k * bend + rest - float(z @ change)

        begin = slope(0.0)
        if not begin < 0.0:
            return 0.0
        low, high, at, up = 0.0, 1.0, begin, slope(1.0)
        if abs(up) <= 0.1 * abs(begin):
            return 1.0
        while up < 0.0 and high < 1e8:
            low, at, high = high, up, 4.0 * high
            up = slope(high)
        for turn in range(_LINE):
            share = at / (at - up) if turn % 3 < 2 else 0.5
            middle = low + min(max(share, 0.01), 0.99) * (high - low)
            found = slope(middle)
            if abs(found) <= 0.1 * abs(begin):
                return middle
            if found < 0.0:
                low, at = middle, found
            else:
                high, up = middle, found
        return 0.5 * (low + high)
