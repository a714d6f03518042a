r"""Losses seen from their duals: what dual descent, Newton's method and exact line searches need of them.

Symbols: f_i = <w, x_i> the value at sample i, beta_i its signed dual variable, w = sum_i beta_i x_i; y_i, eps_i, r_i
and the box [lo_i, up_i] with lo_i <= 0 <= up_i describe its loss:

    psi_i(f) = max_{lo <= beta <= up} (y - f) beta - eps |beta| - r beta^2 / 2,    psi_i'(f) = -beta at the maximum

Hinge: r = eps = 0, box [0, c] y. Squared losses: r = 1 / c and an infinite box. Tubes: eps > 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import CapabilityError
from mercer.losses import HasBoxDual
from mercer.runtime.compiled import compiled

__all__ = ["Terms"]

Y, EPS, LOW, UP, RIDGE, SQUARE = range(6)  # columns of the table


@dataclass(frozen=True, eq=False)
class Terms:
    """The losses of n samples, weights included, as a table.

    Attributes
    ----------
    table : (n, 6) array
        Columns y, eps, lo, up, r and the squared length of the row: what one step of descent reads is contiguous.

    Examples
    --------
    >>> from mercer.losses import Hinge
    >>> terms = Terms.of(Hinge(), np.array([1.0, -1.0]), np.array([2.0, 2.0]), np.ones(2))
    >>> terms.risk(np.array([0.5, -3.0]))  # twice the hinge loss of the first
    1.0
    >>> terms.best(np.array([0.5, -3.0]))
    array([2., 0.])
    """

    table: Floats

    @classmethod
    def of(cls, loss: Any, y: Floats, weight: Floats, squares: Floats) -> Terms:
        """Terms of a loss whose dual is a box; CapabilityError for another loss."""
        if not isinstance(loss, HasBoxDual):
            raise CapabilityError(
                f"{loss!r} offers no box_dual; this solver needs a loss with a piecewise quadratic dual. Use a loss "
                "such as Hinge() or EpsilonInsensitive(0.1), or solver=BundleMethod(), which needs values only."
            )
        dual = loss.box_dual(y, weight)
        n = len(y)
        ridge = np.broadcast_to(np.asarray(dual.ridge, dtype=np.float64), dual.linear.shape)
        table = np.zeros((n, 6))
        table[:, SQUARE] = squares
        if dual.index is None:
            table[:, Y], table[:, LOW], table[:, UP], table[:, RIDGE] = -dual.linear, dual.lower, dual.upper, ridge
            return cls(table)
        # two variables of a sample, beta+ >= 0 >= beta-, of which one is zero, are one variable with a kink at zero
        plus, minus = slice(0, n), slice(n, 2 * n)
        table[:, Y] = -0.5 * (dual.linear[plus] + dual.linear[minus])
        table[:, EPS] = 0.5 * (dual.linear[plus] - dual.linear[minus])
        table[:, LOW], table[:, UP], table[:, RIDGE] = dual.lower[minus], dual.upper[plus], ridge[plus]
        return cls(table)

    def __len__(self) -> int:
        return len(self.table)

    @property
    def smooth(self) -> bool:
        """Whether every loss has a continuous derivative."""
        held = self.table[:, LOW] == self.table[:, UP]
        return bool(np.all((self.table[:, RIDGE] > 0.0) | held))

    @property
    def scale(self) -> float:
        """Half the range of the targets, 1 for two classes: the unit of violations."""
        y = self.table[:, Y]
        return 0.5 * float(np.ptp(y)) or float(np.max(np.abs(y))) or 1.0

    def shifted(self, beta: Floats, ridge: float) -> Terms:
        """Terms whose dual has ridge |. - beta|^2 / 2 added: those of a proximal step."""
        table = self.table.copy()
        table[:, Y] += ridge * beta
        table[:, RIDGE] += ridge
        return Terms(table)

    def best(self, f: Floats) -> Floats:
        """Maximising beta at values f, (n,): minus the derivative of the loss; at a kink the smallest in size."""
        out = np.empty(len(f))
        _respond(self.table, f, out)
        return out

    def risk(self, f: Floats) -> float:
        """Sum of the losses at values f."""
        return _risk(self.table, f)

    def dual(self, beta: Floats) -> float:
        """Sum of the conjugates: what the dual objective has besides half the square of w."""
        return _dual(self.table, beta)

    def violation(self, f: Floats, beta: Floats) -> float:
        """Largest slope of the dual objective along a coordinate that is free to follow it, in the unit of f."""
        return _violation(self.table, f, beta)

    def inner(self, f: Floats) -> Floats:
        """Which samples have a curved loss at f, (n,) of bool."""
        table = self.table
        gap = table[:, Y] - f
        pull = np.sign(gap) * np.maximum(np.abs(gap) - table[:, EPS], 0.0)
        with np.errstate(invalid="ignore"):  # 0 times infinity
            inside = (pull > table[:, RIDGE] * table[:, LOW]) & (pull < table[:, RIDGE] * table[:, UP])
        return inside & ((pull != 0.0) | (table[:, EPS] == 0.0)) & (table[:, RIDGE] > 0.0)

    def line(self, f: Floats, step: Floats, slope: float, bend: float) -> float:
        """Minimise risk(f + k step) + slope k + bend k^2 / 2 over k >= 0 exactly, in O(n log n).

        Parameters
        ----------
        f, step : (n,) arrays
            Values, and what they change by.
        slope, bend : float
            Slope and bend of the part of the objective that is quadratic; the bend is not negative.

        Returns
        -------
        k : float
        """
        times, jumps, bends = (np.empty(4 * len(f)) for _ in range(3))
        start = np.empty(2)
        count = _events(self.table, f, step, start, times, jumps, bends)
        order = np.argsort(times[:count], kind="stable")
        return _sweep(times[order], jumps[order], bends[order], slope + start[0], bend + start[1])


@compiled
def _beta_of(y, eps, low, up, ridge, f):
    pull = y - f
    if pull > eps:
        pull -= eps
        return up if ridge * up <= pull else pull / ridge
    if pull < -eps:
        pull += eps
        return low if ridge * low >= pull else pull / ridge
    return 0.0


@compiled
def _respond(table, f, out):
    for i in range(len(f)):
        y, eps, low, up, ridge, _ = table[i]
        if low == up:
            out[i] = 0.0
        else:
            out[i] = _beta_of(y, eps, low, up, ridge, f[i])


@compiled
def _risk(table, f):
    total = 0.0
    for i in range(len(f)):
        y, eps, low, up, ridge, _ = table[i]
        if low == up:
            continue
        beta = _beta_of(y, eps, low, up, ridge, f[i])
        if beta != 0.0:
            total += (y - f[i]) * beta - eps * abs(beta) - 0.5 * ridge * beta * beta
    return total


@compiled
def _dual(table, beta):
    total = 0.0
    for i in range(len(beta)):
        b = beta[i]
        if b != 0.0:
            total += 0.5 * table[i, 4] * b * b + table[i, 1] * abs(b) - table[i, 0] * b
    return total


@compiled
def _violation(table, f, beta):
    worst = 0.0
    for i in range(len(f)):
        y, eps, low, up, ridge, _ = table[i]
        b = beta[i]
        gradient = f[i] + ridge * b - y
        if b < up:
            right = gradient + (eps if b >= 0.0 else -eps)
            worst = max(worst, -right)
        if b > low:
            left = gradient + (eps if b > 0.0 else -eps)
            worst = max(worst, left)
    return worst


@compiled
def _events(table, f, step, start, times, jumps, bends):
    """Fill the moments at which the slope along a line jumps or bends; return how many there are.

    Sample i pulls with beta_i(f): from `up` it falls between the places a = y - eps - r up and y - eps to zero, and
    between y + eps and b = y + eps - r lo to `lo`. Without a ridge it falls at once.
    """
    count = 0
    start[0] = 0.0
    start[1] = 0.0
    for i in range(len(f)):
        y, eps, low, up, ridge, _ = table[i]
        d = step[i]
        if d == 0.0 or low == up:
            continue
        ahead = d > 0.0
        beta = _beta_of(y, eps, low, up, ridge, f[i])
        for side in range(2):
            end = up if side == 0 else -low
            if end == 0.0:
                continue
            near = y - eps if side == 0 else y + eps
            if ridge == 0.0:
                when = (near - f[i]) / d
                if when > 0.0:
                    times[count], jumps[count], bends[count] = when, end * abs(d), 0.0
                    count += 1
                elif when == 0.0 and (side == 0) != ahead:
                    beta = up if side == 0 else low  # the line starts on the kink and leaves it on the steep side
                continue
            far = near - ridge * end if side == 0 else near + ridge * end
            bend = d * d / ridge
            inside = 0.0
            for place, sign in ((near, 1.0), (far, -1.0)):
                if math.isinf(place):
                    continue
                # on a line towards the zero of beta the far place comes first, and there the bend begins
                when = (place - f[i]) / d
                change = sign if (side == 0) != ahead else -sign
                if when > 0.0:
                    times[count], jumps[count], bends[count] = when, 0.0, change * bend
                    count += 1
                else:
                    inside += change
            if math.isinf(far) and (side == 0) == ahead:
                inside += 1.0  # the bend began at minus infinity
            start[1] += inside * bend
        start[0] -= beta * d
    return count


@compiled
def _sweep(times, jumps, bends, slope, bend):
    """Return where a slope that starts at `slope`, grows by `bend` and at moments jumps or bends, becomes zero."""
    now = 0.0
    if slope >= 0.0:
        return 0.0
    for j in range(len(times)):
        ahead = slope + bend * (times[j] - now)
        if ahead >= 0.0:
            break
        now = times[j]
        slope = ahead + jumps[j]
        if slope >= 0.0:
            return now
        bend = max(bend + bends[j], 0.0)
    return now - slope / bend if bend > 0.0 else now
