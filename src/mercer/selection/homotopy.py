r"""The solution of the C-SVM carried along while C changes: from event to event, in closed form between them.

Symbols: alpha_i = y_i beta_i in [0, C w_i]; f = K beta + b; the margin r_i = y_i f_i - 1 (+ e_i, an offset that
fades). Right of the margin alpha = 0 and r >= 0, left of it alpha = C w and r <= 0, on the elbow r = 0. With the
three sets fixed everything is linear in the parameter t, along which C grows at a rate and the offsets fade:

    f'_E = -y_E e'_E   and   1^T beta' = s'   with   beta'_L = C' w_L y_L   give   beta'_E and b'.

An event ends a piece: a coefficient of the elbow reaches an end of its box, or a margin to zero.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.arrays import Array, Floats
from mercer.runtime.compiled import compiled
from mercer.selection.margin_system import Elbow, Rows

__all__ = ["ABSENT", "ELBOW", "LEFT", "RIGHT", "Homotopy", "Indefinite"]

RIGHT, ELBOW, LEFT, ABSENT = 0, 1, 2, 3
_TO_ZERO, _TO_BOUND, _TO_MARGIN = 0, 1, 2

_DEPENDENT = 1e-14  # squared distance from the span of the elbow, over k(x, x) + c, that rounding leaves
_NOISE = 1e-12  # of the sum of absolute terms: a rate below it is rounding
_TIE = 1e-12  # margins, and coefficients over their bounds, that are as good as zero
_PATIENCE = 20  # events without progress before the first of them by number is taken
_CYCLE = 400  # events without progress before this way is given up


class Indefinite(Exception):
    """K is not positive semi-definite for coefficients that sum to zero."""


class Homotopy:
    """A solution for one C, and how to get from it to another.

    Parameters
    ----------
    source : Rows
        K.
    y, weight : (n,) arrays
        Labels -1 and 1, and non-negative weights; samples of weight zero are absent.
    C : float
        Where to start.
    memory : int, str or None
        Budget of the elbow.

    Attributes
    ----------
    side : (n,) array of int8
        RIGHT, ELBOW, LEFT or ABSENT.
    alpha : (n,) array
        Coefficients, up to date on the elbow only.
    margin : (n,) array
        y f - 1, plus the offset while there is one.
    bias : float
    before_change : callable
        Called before C moves and before coefficients move while C rests.
    between : callable
        Called between two events.
    """

    def __init__(self, source: Rows, y: Floats, weight: Floats, C: float, memory: int | float | str | None) -> None:
        self.source, self.y, self.weight, self.C = source, y, weight, C
        self.elbow = Elbow(source, memory)
        self.before_change: Callable[[], None] = _nothing
        self.between: Callable[[], None] = _nothing
        self.rng = np.random.default_rng(0)  # offsets that separate what would happen at once
        self.largest = float(np.max(np.abs(source.diagonal)))
        n = len(y)
        self.alpha, self.margin, self.left = np.zeros(n), np.zeros(n), np.zeros(n)
        self.rate, self.speed = np.zeros(n), np.zeros(n)  # of the margins, of alpha
        self.unit = float(np.mean(weight[weight > 0.0]))
        self.disturbed = False  # by an exchange, which is exact only as far as the samples are dependent
        self.bias = 0.0
        self.side = np.where(weight > 0.0, RIGHT, ABSENT).astype(np.int8)
        self._choose_vertex()

    def _choose_vertex(self) -> None:
        """A corner of the feasible set: the lighter class at its bounds, of the other those nearest to it.

        Whatever is inside its box joins the elbow when this is settled.
        """
        y, weight, present = self.y, self.weight, self.weight > 0.0
        sums = [float(np.sum(weight[present & (y == sign)])) for sign in (-1.0, 1.0)]
        light = 1.0 if sums[1] <= sums[0] else -1.0
        self.side[present & (y == light)] = LEFT
        toward = light * self.source.product((weight * (self.side == LEFT))[:, None])[:, 0]
        heavy = np.flatnonzero(present & (y != light))
        order = heavy[np.argsort(-light * toward[heavy], kind="stable")]
        filled = np.cumsum(weight[order])
        target = min(sums)
        count = int(np.searchsorted(filled, target * (1.0 + 1e-14), side="right"))
        self.side[order[:count]] = LEFT
        rest = target - (filled[count - 1] if count else 0.0)
        self.refresh()
        if count < len(order) and rest > 1e-14 * target:
            i = int(order[count])
            self.side[i], self.alpha[i] = ELBOW, self.C * rest
            self.refresh()
            self.bias = -float(self.y[i] * self.margin[i])
        else:
            low, _, high, _ = self._interval(np.zeros(len(y)), 0.0)
            self.bias = 0.5 * (low + high)
        self.refresh()

    def beta(self) -> Floats:
        """Coefficients with their signs, (n,)."""
        bound = self.C * self.weight
        alpha = np.where(self.side == ELBOW, np.clip(self.alpha, 0.0, bound), np.where(self.side == LEFT, bound, 0.0))
        return self.y * alpha

    def refresh(self) -> float:
        """Recompute margins from the coefficients; return the largest violation of the optimality conditions."""
        pull = np.where(self.side == LEFT, self.weight * self.y, 0.0)
        f, left = self.source.product(np.stack([self.beta(), pull], axis=1)).T
        self.margin = self.y * (f + self.bias) - 1.0
        self.left = np.ascontiguousarray(left)
        self.disturbed = False
        return max(self.violation(), abs(self._total()) / (self.C * self.unit))

    def violation(self) -> float:
        """Largest margin on the wrong side."""
        return float(_violation(self.side, self.margin))

    def _total(self) -> float:
        return float(np.sum(self.beta()))

    def settle(self, scale: float, advance: float = 0.0) -> float:
        """Make the present coefficients optimal, whatever the margins are; return the violation left.

        Offsets turn the margins into those of an optimal solution, apart from each other by about `scale`, and
        fade while C grows by `advance`. As the offsets are random, no two events coincide on the way.
        """
        self.refresh()
        self._refactor()
        r, near = self.margin, 1e-3 * scale
        apart = scale * self.rng.uniform(0.5, 1.0, len(r))
        offset = np.where(self.side == ELBOW, -r, 0.0)
        offset = np.where((self.side == RIGHT) & (r < near), apart - r, offset)
        offset = np.where((self.side == LEFT) & (r > -near), -apart - r, offset)
        self.margin = r + offset
        arrived = self.run(1.0, advance, -offset)
        violation = self.refresh()
        return violation if arrived else np.inf

    def snapshot(self) -> tuple[float, float, Array, Floats]:
        """The state that `restore` needs to come back here."""
        return self.C, self.bias, self.side.copy(), self.alpha.copy()

    def restore(self, snapshot: tuple[float, float, Array, Floats]) -> None:
        """Come back to a solution; the system of the elbow is solved from scratch."""
        self.C, self.bias, side, alpha = snapshot
        self.side[:], self.alpha[:] = side, alpha
        self.refresh()
        self._refactor()

    def _refactor(self) -> None:
        members = np.flatnonzero(self.side == ELBOW)
        self.elbow.clear()
        for i in members:
            self.enter(int(i))

    def run(self, length: float, growth: float = 1.0, fading: Floats | None = None) -> bool:
        """Go along for t from 0 to `length`: C' = growth, e' = fading; whether that succeeded.

        Where offsets fade, what is wrong on the elbow and with the sum of the coefficients does so too.
        """
        repair = fading is not None
        fading = np.zeros(len(self.y)) if fading is None else fading
        ready, idle, goal = length, 0, self.C + growth * length
        while True:
            self.between()
            if self.elbow.size:
                turn = self._direct(growth, fading, max(ready, 1e-6 * length) if repair else np.inf)
                step, i, kind = _first_event(
                    *(self.side, self.margin, self.rate, self.alpha, self.speed, self.weight),
                    np.array([self.C, growth, turn[1], turn[2], idle > _PATIENCE]),
                )
                delta = turn[0]
            else:
                step, i, delta = self._close(growth, fading, ready)
                kind = _TO_MARGIN
            last = step >= ready or i < 0
            step = ready if last else step
            if step > 0.0:
                self._move(step, growth, delta)
            idle = idle + 1 if step <= 1e-14 * (ready if repair else self.C) else 0
            ready -= step
            if last:
                self.C = goal
                return True
            if idle > _CYCLE:
                return False
            if kind == _TO_MARGIN:
                self.enter(i)
            else:
                self.leave(i, RIGHT if kind == _TO_ZERO else LEFT)

    def _move(self, step: float, growth: float, delta: float) -> None:
        self.before_change()
        E = self.elbow.members
        self.C += step * growth
        self.alpha[E] += step * self.speed[E]
        self.margin += step * self.rate
        self.bias += step * delta

    def _direct(self, growth: float, fading: Floats, ready: float) -> tuple[float, float, float]:
        """Rates of all; return that of the bias, and below what the rates of margins and of alpha are noise.

        What is wrong on the elbow, and with the sum, is to be put right while t goes on by `ready`.
        """
        E, y = self.elbow.members, self.y
        wanted = -y[E] * (fading[E] + self.margin[E] / ready)  # of f' on the elbow
        balance = float(np.sum((self.weight * y)[self.side == LEFT]))
        total = -growth * balance - (self._total() / ready if ready < np.inf else 0.0)
        d, delta = self.elbow.solve(wanted - growth * self.left[E], total)
        pull = growth * self.left
        f = pull + delta
        self.elbow.combine(d, f)
        scale = self.largest * float(np.sum(np.abs(d))) + float(np.max(np.abs(pull))) + abs(delta)
        scale += float(np.max(np.abs(fading)))
        missing = wanted - f[E]
        if np.max(np.abs(missing)) > 0.1 * _NOISE * scale:  # iterative refinement
            more, higher = self.elbow.solve(missing, total - float(np.sum(d)))
            d, delta = d + more, delta + higher
            f = pull + delta
            self.elbow.combine(d, f)
        self.rate = y * f + fading
        self.rate[E] = -self.margin[E] / ready
        self.speed[:] = 0.0
        self.speed[E] = y[E] * d
        return delta, _NOISE * scale, _NOISE * float(np.max(np.abs(d)))

    def _close(self, growth: float, fading: Floats, ready: float) -> tuple[float, int, float]:
        """Empty elbow: the bias is free in an interval; return when it closes, by which sample, and b' till then.

        Its lower end is a maximum of linear functions of t and its upper end a minimum, so that a line from a
        bias inside to a bias inside stays inside.
        """
        slope = -(growth * self.left + self.y * fading)
        t = ready
        low, i, high, j = self._interval(slope, t)
        enters = -1
        while high < low:  # Newton's method from the right on a concave function: it ends at its root
            enters = i
            before, fall = t, slope[i] - slope[j]
            t -= (low - high) / fall if fall > 0.0 else t
            t = max(t, 0.0)
            low, i, high, j = self._interval(slope, t)
            if t >= before or t == 0.0 or low - high <= 1e-14 * (1.0 + abs(low)):
                break
        goal = 0.5 * (low + high)
        if t <= 0.0:
            self.margin += self.y * (goal - self.bias)
            self.bias, delta = goal, 0.0
        else:
            delta = (goal - self.bias) / t
        self.rate = self.y * (delta - slope)
        return t, enters, delta

    def _interval(self, slope: Floats, t: float) -> tuple[float, int, float, int]:
        """Ends of the interval of the bias at t, and the samples that make them."""
        return _interval(self.side, self.y, self.bias - self.y * self.margin, slope, t)

    def leave(self, i: int, side: int) -> None:
        """A member of the elbow reaches an end of its box."""
        place = int(np.flatnonzero(self.elbow.members == i)[0])
        self._put(i, side, self.elbow.row(place))
        self.elbow.remove(place)

    def _put(self, i: int, side: int, row: Floats) -> None:
        """Note on which side a sample is; those on the left pull together."""
        pull = (side == LEFT) - int(self.side[i] == LEFT)
        self.side[i] = side
        if pull:
            self.left += (pull * self.weight[i] * self.y[i]) * row
            if not np.any(self.side == LEFT):
                self.left[:] = 0.0  # instead of what rounding left
        self.alpha[i] = self.C * self.weight[i] if side == LEFT else 0.0 if side == RIGHT else self.alpha[i]

    def enter(self, i: int) -> None:
        """A sample joins the elbow; if it depends on those there, one of them makes room for it."""
        if self.side[i] != ELBOW:
            self.alpha[i] = self.C * self.weight[i] if self.side[i] == LEFT else 0.0
        row, reach, pivot = self.elbow.project(i)
        size = float(row[i] + self.elbow.constant)
        while pivot <= _DEPENDENT * size:
            if pivot < -1e-9 * size or size <= 0.0:
                raise Indefinite
            if not self._exchange(i, row, self.elbow.dependence(reach)):
                return
            row, reach, pivot = self.elbow.project(i)
        self._put(i, ELBOW, row)
        self.elbow.append(i, row, reach, pivot)

    def _exchange(self, i: int, row: Floats, dependence: Floats) -> bool:
        """Move along coefficients that give the zero function until one meets its bound; whether i may still enter."""
        self.before_change()
        self.disturbed = True
        E = self.elbow.members.copy()
        inward = -1.0 if self.side[i] == LEFT else 1.0
        change = -inward * self.y[i] * dependence  # of beta on the elbow
        speed, bound = self.y[E] * change, self.C * self.weight[E]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(speed > 0.0, bound - self.alpha[E], self.alpha[E]) / np.abs(speed)
        room = np.where(np.abs(speed) > 1e-9 * np.max(np.abs(speed)), np.maximum(room, 0.0), np.inf)
        place = int(np.argmin(room))
        own = self.C * self.weight[i] - self.alpha[i] if inward > 0 else self.alpha[i]
        step = min(float(room[place]), own)
        f = inward * self.y[i] * row
        self.elbow.combine(change, f)
        self.margin += step * self.y * f
        self.alpha[E] += step * speed
        self.alpha[i] += step * inward
        if own <= room[place]:
            self._put(i, LEFT if inward > 0 else RIGHT, row)
            return False
        self.leave(int(E[place]), LEFT if speed[place] > 0 else RIGHT)
        return True


def _nothing() -> None:
    """Nobody watches."""


@compiled
def _violation(side, margin):
    """Largest margin on the wrong side of zero, or off zero on the elbow."""
    worst = 0.0
    for i in range(len(side)):
        r = margin[i]
        if side[i] == RIGHT:
            worst = max(worst, -r)
        elif side[i] == LEFT:
            worst = max(worst, r)
        elif side[i] == ELBOW:
            worst = max(worst, abs(r))
    return worst


@compiled
def _interval(side, y, level, slope, t):
    """Largest lower and smallest upper end of the bias at t, where sample i allows it up or down to level + t slope."""
    low, high, first, second = -np.inf, np.inf, -1, -1
    for i in range(len(side)):
        if side[i] == RIGHT or side[i] == LEFT:
            end = level[i] + t * slope[i]
            if (side[i] == RIGHT) == (y[i] > 0):
                if end > low:
                    low, first = end, i
            elif end < high:
                high, second = end, i
    return low, first, high, second


@compiled
def _first_event(side, margin, rate, alpha, speed, weight, state):
    """Step to the first event, its sample and its kind; of those that coincide the fastest, or the first by number.

    The state holds C, its growth, below what rates of margins and of coefficients are noise, and whether to take
    the first by number, which cannot go in circles.
    """
    C, growth, still, resting, by_number = state[0], state[1], state[2], state[3], state[4] > 0.0
    soonest = step = np.inf
    best, found, kind = -1.0, -1, -1
    for sweep in range(2):  # first how far one may go with a small tolerance, then the best of those within
        for i in range(len(side)):
            for end in range(2):
                if side[i] == ELBOW:
                    bound = C * weight[i]
                    if end == 0:
                        gap, fall, what = alpha[i] / bound, -speed[i] / bound, _TO_ZERO
                    else:
                        gap, fall = 1.0 - alpha[i] / bound, (speed[i] - growth * weight[i]) / bound
                        what = _TO_BOUND
                    noise = (resting + _NOISE * growth * weight[i]) / bound
                elif end == 0 and side[i] != ABSENT:
                    gap, fall = (margin[i], -rate[i]) if side[i] == RIGHT else (-margin[i], rate[i])
                    what, noise = _TO_MARGIN, still if gap > -1e-9 else 0.0
                else:
                    continue
                if not fall > noise:
                    continue
                gap = max(gap, 0.0)
                if sweep == 0:
                    soonest = min(soonest, (gap + _TIE) / fall)
                elif gap <= soonest * fall:
                    merit = -float(i) if by_number else fall
                    if found < 0 or merit > best:
                        best, step, found, kind = merit, gap / fall, i, what
    return step, found, kind
