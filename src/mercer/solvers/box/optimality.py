r"""Where a descent on a BoxQP starts, how far a point is from the optimum, and the last step to it.

Symbols: ``g`` = K beta + r beta + p the gradient, ``h`` = K beta + p its part without the ridge r, ``rho`` the
multipliers of the sums, one per group. A variable *can go up* if it is below the upper end of its box, *can go
down* if it is above the lower end, and is *free* if it can do both.

The last step goes from a near optimum to the exact one, by active sets in float64. W are the variables looked at, the
free ones and those near to becoming free; F the free among them; B (F, groups) which group each belongs to. With the
others where they are, the optimum over F moves by d with K_FF d + B c = -g_F and B^T d = 0, where c = -rho.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, get_lapack_funcs

from mercer.arrays import Bools, Floats, Indices
from mercer.errors import ParameterError
from mercer.problems import BoxQP
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import in_background
from mercer.solvers.box.face import centred

__all__ = ["duality_gap", "movable", "multipliers", "project", "polish", "violation", "feasible", "is_cone"]

_factorise, _solve = get_lapack_funcs(("potrf", "potrs"), dtype=np.float64)
_MANY = 2048  # variables from which it matters how many of them are free at first

_MARGIN = 1e-12  # of the width of a box: nearer than this to an end is at the end
_BAND = 4.0  # distance of a gradient from the multiplier, in violations, up to which its variable is considered
_WORK = 1e10  # about how many floating-point operations all factorisations together may take
_EXACT = 1e-11  # relative to the largest gradient: less is rounding
_LEFT = 1e-9  # share of the gradient that a direct solution may leave
_JITTER = (0.0, 1e-13, 1e-11, 1e-9)  # tried in turn on a singular block; the direction is judged by what it gains


def movable(problem: BoxQP, beta: Floats) -> tuple[Bools, Bools]:
    """Which variables can go down and which can go up, two boolean arrays (n,).

    Parameters
    ----------
    problem : BoxQP
    beta : (n,) array
        A point of the box. Within a relative 1e-12 of the width of the box (of the largest variable, where an
        end is infinite) an end counts as reached.

    Examples
    --------
    >>> problem = BoxQP(np.eye(3), np.zeros(3), np.zeros(3), np.array([1.0, 1.0, np.inf]))
    >>> movable(problem, np.array([0.0, 1.0, 0.5]))
    (array([False,  True,  True]), array([ True, False,  True]))
    """
    width = problem.upper - problem.lower
    if not width.sum() < np.inf:  # widths are not negative, so that only an infinite one, or overflow, has no sum
        bounded = np.isfinite(width)
        width = np.where(bounded, width, np.abs(beta).max(initial=0.0))
    margin = _MARGIN * width
    return beta > problem.lower + margin, beta < problem.upper - margin


def violation(problem: BoxQP, beta: Floats, gradient: Floats) -> float:
    r"""Largest violation of the optimality conditions, not negative; zero only at an optimum.

    .. math:: \max_g \Bigl( \max_{i \in g \text{ can go down}} g_i - \min_{i \in g \text{ can go up}} g_i \Bigr)

    It is what moving one unit of coefficient between two variables of a group could gain at first. Without a
    sum each variable moves alone, and its gradient counts.

    Parameters
    ----------
    problem : BoxQP
    beta, gradient : (n,) arrays
        A feasible point and the gradient there, K beta + r beta + p.

    Examples
    --------
    >>> problem = BoxQP(np.eye(2), np.array([-1.0, 1.0]), np.array([0.0, -1.0]), np.array([1.0, 0.0]))
    >>> violation(problem, np.zeros(2), problem.linear)
    2.0
    """
    if _is_one(problem):
        largest, smallest, _, _ = _look(gradient, beta, problem.lower, problem.upper)
        return _not_negative(largest - smallest)
    ends = _ends(problem, beta, gradient)
    return float(np.max(ends.largest_down - ends.smallest_up, initial=0.0))


def _not_negative(x: float) -> float:
    """Return max(x, 0), and NaN for NaN."""
    return 0.0 if x <= 0.0 else x


def multipliers(problem: BoxQP, beta: Floats, gradient: Floats) -> Floats:
    r"""Multipliers rho of the sums, (g,): the gradient of the free variables of each group.

    The mean over the free variables of a group; if there are none, the middle of the interval
    :math:`[\max_{\text{can go down}} g_i, \min_{\text{can go up}} g_i]` that the conditions leave, or its finite
    end if the other is infinite. If no variable of a group can move at all any number would do, and the mean
    gradient is taken; a group of no variables has 0.

    Parameters
    ----------
    problem : BoxQP
    beta, gradient : (n,) arrays
        A feasible point and the gradient there, K beta + r beta + p.

    Examples
    --------
    >>> problem = BoxQP(np.eye(2), np.array([-1.0, 1.0]), np.array([0.0, -1.0]), np.array([3.0, 0.0]))
    >>> multipliers(problem, np.array([1.0, -1.0]), np.array([0.5, 0.0]))
    array([0.5])
    """
    count = len(problem.total)
    if count == 0:
        return np.zeros(0)
    if _is_one(problem):
        _, _, mean, free = _look(gradient, beta, problem.lower, problem.upper)
        if free:
            return np.array([mean])
    down, up = movable(problem, beta)
    group = _groups(problem)
    rho, found = _means(gradient, group, down & up, count)
    if not found.all():
        ends = _ends(problem, beta, gradient)
        bounded_below, bounded_above = np.isfinite(ends.largest_down), np.isfinite(ends.smallest_up)
        low = np.where(bounded_below, ends.largest_down, ends.smallest_up)
        high = np.where(bounded_above, ends.smallest_up, ends.largest_down)
        everywhere = np.ones(len(beta), dtype=bool)
        with np.errstate(invalid="ignore"):  # inf - inf, where neither end is finite and the mean is taken
            middle = low + 0.5 * (high - low)
        middle = np.where(bounded_below | bounded_above, middle, _means(gradient, group, everywhere, count)[0])
        rho = np.where(found, rho, middle)
    return rho


def _is_one(problem: BoxQP) -> bool:
    """Return whether all variables have one sum, as those of a machine with one bias."""
    return len(problem.total) == 1 and problem.group is None


@compiled
def _look(g, beta, lower, upper):
    """Return what `_ends` and `_means` say of one group, in one pass, and how many of its variables are free.

    The conditions are those of `movable`; the sum is in the order of the variables.
    """
    size = 0.0
    for k in range(beta.size):
        size = max(size, abs(beta[k]))
    largest, smallest, total, free = -np.inf, np.inf, 0.0, 0
    for k in range(g.size):
        width = upper[k] - lower[k]
        margin = _MARGIN * (width if width < np.inf else size)
        down, up = beta[k] > lower[k] + margin, beta[k] < upper[k] - margin
        if (down or up) and np.isnan(g[k]):
            return np.nan, np.nan, np.nan, 0
        if down:
            largest = max(largest, g[k])
        if up:
            smallest = min(smallest, g[k])
        if down and up:
            total += g[k]
            free += 1
    return largest, smallest, total / max(free, 1), free


def duality_gap(problem: BoxQP, beta: Floats, product: Floats, rho: Floats | None = None) -> float:
    r"""Duality gap: the objective at beta is above its minimum by no more than this.

    .. math:: \sum_i \Bigl( \tfrac12 r_i \beta_i^2 + (h_i - \rho_{g(i)}) \beta_i
              - \min_{\ell_i \le z \le u_i} \bigl[ \tfrac12 r_i z^2 + (h_i - \rho_{g(i)}) z \bigr] \Bigr),
              \qquad h = K \beta + p

    The quadratic form lies above its tangent at beta wherever K is positive semi-definite on differences of
    feasible points, which conditionally positive definite kernels are too where the coefficients sum to a
    constant.

    Parameters
    ----------
    problem : BoxQP
    beta, product : (n,) arrays
        A feasible point and K beta.
    rho : (g,) array, optional
        Multipliers of the sums; None computes them by `multipliers`.

    Notes
    -----
    Where an end of the box is infinite and there is no ridge the minimum may be minus infinity. Twice the largest
    variable in size is then taken as the end, so that the gap is one for the optimum within that distance.

    Examples
    --------
    >>> problem = BoxQP(np.eye(2), np.array([-1.0, 1.0]), np.array([0.0, -1.0]), np.array([1.0, 0.0]))
    >>> duality_gap(problem, np.array([1.0, -1.0]), np.array([1.0, -1.0]))
    0.0
    """
    slope = product + problem.linear
    ridge = np.asarray(problem.ridge, dtype=np.float64)  # one number or one for each
    if rho is None:
        rho = multipliers(problem, beta, slope + ridge * beta)
    if len(problem.total):
        slope = slope - (rho[0] if problem.group is None else rho[problem.group])
    lower, upper = problem.lower, problem.upper
    if not np.isfinite(upper - lower).all():
        reach = 2.0 * np.max(np.abs(beta), initial=0.0)
        lower = np.where(np.isfinite(lower), lower, -reach)
        upper = np.where(np.isfinite(upper), upper, reach)
    bent = ridge > 0.0
    if bent.any():  # of these the minimum is finite whatever the box
        inside = -slope / np.where(bent, ridge, 1.0)
        best = np.where(bent, np.clip(inside, problem.lower, problem.upper), np.where(slope > 0.0, lower, upper))
    else:
        best = np.where(slope > 0.0, lower, upper)
    # (b - z) (r (b + z) / 2 + s) is the difference of two values with few digits lost when z is near b
    terms = (beta - best) * (0.5 * ridge * (beta + best) + slope)
    return max(float(terms.sum()), 0.0)


def project(problem: BoxQP, beta: Floats) -> Floats:
    r"""Nearest feasible point: inside the box, with the sums as they must be, (n,).

    .. math:: \min_z \|z - \beta\|^2 \quad \text{s.t.} \quad \ell \le z \le u, \; \sum_{i \in g} z_i = t_g,
              \qquad z_i = \mathrm{clip}(\beta_i - \mu_{g(i)}, \ell_i, u_i)

    The shift mu of each group is found by halving, all groups at once.

    Parameters
    ----------
    problem : BoxQP
    beta : (n,) array
        Any point, for example the solution of a neighbouring problem.

    Examples
    --------
    >>> problem = BoxQP(np.eye(3), np.zeros(3), np.zeros(3), np.ones(3), total=np.ones(1))
    >>> project(problem, np.array([0.0, 0.5, 1.0])).round(6)
    array([0.  , 0.25, 0.75])
    """
    count, lower, upper = len(problem.total), problem.lower, problem.upper
    z = np.clip(beta, lower, upper)
    if count == 0:
        return z
    group = _groups(problem)
    least, most = (np.bincount(group, weights=end, minlength=count) for end in (lower, upper))
    slack = 1e-9 * np.maximum(np.abs(problem.total), 1.0)
    if np.any(least > problem.total + slack) or np.any(most < problem.total - slack):
        worst = int(np.flatnonzero((least > problem.total + slack) | (most < problem.total - slack))[0])
        raise ParameterError(
            f"the variables of group {worst} must sum to {problem.total[worst]:.6g}, but within their box their sum is "
            f"between {least[worst]:.6g} and {most[worst]:.6g}; a sum must be within reach. Widen the box or change "
            "the total."
        )
    low, high = _brackets(problem, beta, group, z)
    for _ in range(200):
        middle = 0.5 * (low + high)
        above = np.bincount(group, weights=np.clip(beta - middle[group], lower, upper), minlength=count)
        too_large = above > problem.total
        low, high = np.where(too_large, middle, low), np.where(too_large, high, middle)
        if np.all(high - low <= 1e-16 * np.maximum(np.abs(low), np.abs(high))):
            break
    return _spread_rest(problem, np.clip(beta - (0.5 * (low + high))[group], lower, upper), group)


class _Ends(NamedTuple):
    """Per group, the ends of the interval that the optimality conditions leave to rho."""

    largest_down: Floats  # largest gradient that can go down: rho is not below it
    smallest_up: Floats  # smallest gradient that can go up: rho is not above it


def _ends(problem: BoxQP, beta: Floats, gradient: Floats) -> _Ends:
    """Ends per group; without sums two rows that compare the gradients with rho = 0."""
    down, up = movable(problem, beta)
    count = len(problem.total)
    if count <= 1:
        none = np.inf if count else 0.0
        largest = gradient.max(where=down, initial=-none)
        smallest = gradient.min(where=up, initial=none)
        if count:
            return _Ends(np.array([largest]), np.array([smallest]))
        return _Ends(np.array([largest, 0.0]), np.array([0.0, smallest]))
    group = _groups(problem)
    largest, smallest = np.full(count, -np.inf), np.full(count, np.inf)
    np.maximum.at(largest, group[down], gradient[down])
    np.minimum.at(smallest, group[up], gradient[up])
    return _Ends(largest, smallest)


def _groups(problem: BoxQP) -> Indices:
    return np.zeros(len(problem.linear), dtype=np.intp) if problem.group is None else problem.group


def _means(values: Floats, group: Indices, where: Bools, count: int) -> tuple[Floats, Bools]:
    """Means of the selected values per group, and which groups have any."""
    if count == 1:
        chosen = values[where]
        # summed in order, as bincount does, and not by pairs
        return np.bincount(group[: len(chosen)], chosen, 1) / max(len(chosen), 1), np.array([len(chosen) > 0])
    number = np.bincount(group[where], minlength=count)
    total = np.bincount(group[where], weights=values[where], minlength=count)
    return total / np.maximum(number, 1), number > 0


def _brackets(problem: BoxQP, beta: Floats, group: Indices, z: Floats) -> tuple[Floats, Floats]:
    """Shifts per group below and above the one looked for; z is beta clipped to the box."""
    count = len(problem.total)
    off = np.abs(np.bincount(group, weights=z, minlength=count) - problem.total)
    # A shift by this much moves each variable to the end of its box, or one variable by all that the sum is off.
    reach = np.zeros(count)
    for end in (problem.lower, problem.upper):
        np.maximum.at(reach, group, np.where(np.isfinite(end), np.abs(beta - end), 0.0))
    reach += off + np.finfo(np.float64).tiny
    return -reach, reach


def _spread_rest(problem: BoxQP, z: Floats, group: Indices) -> Floats:
    """Give what rounding left of the sums to the variable of each group with the most room."""
    rest = problem.total - np.bincount(group, weights=z, minlength=len(problem.total))
    room = np.where(rest[group] > 0.0, problem.upper - z, z - problem.lower)
    order = np.lexsort((room, group))
    last = np.flatnonzero(np.append(group[order][1:] != group[order][:-1], True)) if len(z) else np.zeros(0, np.intp)
    roomiest = order[last]
    z = z.copy()
    z[roomiest] = np.clip(z[roomiest] + rest[group[roomiest]], problem.lower[roomiest], problem.upper[roomiest])
    return z


def _at_ends(problem: BoxQP) -> Floats:
    """The best point without K: all but one variable of each group at an end of its box.

    From zero in boxes around it all variables would be free at once.
    """
    beta = np.array(problem.lower, dtype=np.float64)
    for s, goal in enumerate(problem.total):
        mine = np.arange(len(beta)) if problem.group is None else np.flatnonzero(problem.group == s)
        order = mine[np.argsort(problem.linear[mine], kind="stable")]
        width = (problem.upper - problem.lower)[order]
        step = np.clip(goal - beta[order].sum() - (np.cumsum(width) - width), 0.0, width)
        beta[order] = np.where(step == width, problem.upper[order], beta[order] + step)
    return beta


def is_cone(problem: BoxQP) -> bool:
    """Return whether every multiple of a feasible point is one: boxes from zero without an end, sums of zero."""
    if np.isfinite(problem.upper - problem.lower).all():
        return False
    ends = np.concatenate([problem.lower, problem.upper])
    return bool(np.isinf(ends).any() and ((ends == 0) | np.isinf(ends)).all() and not np.any(problem.total))


def feasible(problem: BoxQP, start: Floats | None) -> Floats:
    """A point of the box with the right sums: the start if it is one, else zeros filled up in order."""
    lower, upper, total = problem.lower, problem.upper, np.asarray(problem.total, dtype=np.float64)
    beta = np.zeros(len(problem.linear)) if start is None else np.array(start, dtype=np.float64)
    if start is None and not total.any() and (lower <= 0).all() and (upper >= 0).all() and len(beta) <= _MANY:
        return beta  # as it is
    beta = np.clip(beta, lower, upper)
    around = np.count_nonzero((lower < 0) & (upper > 0))
    if start is None and len(beta) > _MANY and around > 0.5 * len(beta) and np.isfinite(upper - lower).all():
        beta = _at_ends(problem)
    group = np.zeros(len(beta), np.intp) if problem.group is None else problem.group
    for s, goal in enumerate(total):
        mine = np.flatnonzero(group == s)
        missing = goal - beta[mine].sum()
        slack = 1e-12 * max(abs(goal), float(np.abs(beta[mine]).sum()))
        if abs(missing) <= slack and start is None:
            continue
        end = (upper if missing > 0 else lower)[mine]
        room = end - beta[mine]
        reached = np.cumsum(np.minimum(np.abs(room), abs(missing)))  # a box may be infinite
        if not reached.size or reached[-1] < abs(missing) - slack:
            raise ParameterError(
                f"the variables of group {s} were to sum to {goal:g}; their boxes allow sums from "
                f"{lower[mine].sum():g} to {upper[mine].sum():g}. Give a smaller nu, or larger bounds."
            )
        step = np.clip(abs(missing) - (reached - np.minimum(np.abs(room), abs(missing))), 0.0, np.abs(room))
        beta[mine] = np.where(step == np.abs(room), end, beta[mine] + np.sign(missing) * step)
    return beta


def polish(problem: BoxQP, beta: Floats, g: Floats, most: int, halted: Callable[[], bool] = lambda: False) -> bool:
    """Move the variables near the margin to the exact optimum, in place; return whether that was an improvement.

    Parameters
    ----------
    problem : BoxQP
    beta, g : (n,) arrays
        A feasible point near the optimum and the gradient there; changed only if that lowers the violation.
    most : int
        Variables near the margin up to which it is tried.
    halted : callable, optional
        Called between factorisations; a true answer ends the work, with what has been reached.
    """
    gram: Any = problem.gram.refined()
    before = violation(problem, beta, g)
    group = np.zeros(len(beta), np.intp) if problem.group is None else problem.group
    rho = multipliers(problem, beta, g)
    distance = np.abs(g - (rho[0] if problem.group is None and len(rho) else rho[group]))
    free = (beta > problem.lower) & (beta < problem.upper)
    W = np.flatnonzero(free | (distance <= _BAND * before))
    if not np.isfinite(before) or before <= _EXACT * np.abs(g).max(initial=0.0):
        return False
    if len(W) > 3 * most // 4:  # two matrices of this order are held
        W = np.flatnonzero(free)
    if not len(W) or len(W) > most:  # of too many none may be free
        return False
    K = np.asarray(gram.rows(W, W), dtype=np.float64)  # rows are always copies
    ridge = np.asarray(problem.ridge, dtype=np.float64)
    ridge = ridge if ridge.ndim else np.full(len(beta), ridge)
    np.einsum("ii->i", K)[:] += ridge[W]
    near = _Near(K, beta[W], g[W], (problem.lower[W], problem.upper[W]), group[W])
    near.solve(halted)
    change = near.beta - beta[W]
    moved = np.flatnonzero(change)
    if not len(moved):
        return False
    trial, gradient = beta.copy(), g.copy()
    trial[W] = near.beta
    # far from the margin rounding to float32 does not matter
    near_rows = np.flatnonzero(distance <= 10.0 * _BAND * before) if gram is not problem.gram else np.zeros(0, np.intp)
    part = np.zeros(len(beta))
    problem.gram.update(W[moved], change[moved], part)
    if len(near_rows):
        exact = np.zeros(len(near_rows))
        gram.update(W[moved], change[moved], exact, rows=near_rows)
        part[near_rows] = exact
    gradient += part
    gradient[W[moved]] += ridge[W[moved]] * change[moved]
    if not violation(problem, trial, gradient) < before:
        return False
    beta[:], g[:] = trial, gradient
    return True


class _Near:
    """The variables near the margin with their block of K, on which the active-set method runs."""

    def __init__(self, K: Floats, beta: Floats, g: Floats, box: tuple[Floats, Floats], group: Indices) -> None:
        self.K, self.beta, self.g = K, beta.copy(), g.copy()
        self.lower, self.upper = box
        one = len(group) and group[0] == group[-1] and (group == group[0]).all()
        if one:  # as for every machine with one bias
            self.member, self.group = np.ones((len(group), 1)), np.zeros(len(group), np.intp)
        else:
            self.member = (group[:, None] == np.unique(group)).astype(np.float64)
            self.group = np.argmax(self.member, axis=1)
        self.free: Bools = (beta > self.lower) & (beta < self.upper)
        self.definite, self.level = True, 0  # what the blocks so far could be factored with

    def solve(self, halted: Callable[[], bool]) -> None:
        """Step until no variable violates its condition, or the work is too much."""
        scale = _EXACT * max(1.0, float(np.abs(self.g).max(initial=0.0)))
        rounds = max(4, min(200, int(_WORK / (len(self.g) ** 3 / 3.0 + 1e5))))
        for _ in range(rounds):
            if halted() or (not self.free.any() and not self._free_a_pair(scale)):
                return
            F = np.flatnonzero(self.free)
            found = self._direction(F)
            if found is None:
                return
            d, rho = found
            if self._advance(F, d):  # some variable reached an end of its box
                continue
            level = rho[self.group]
            low, high = self.beta <= self.lower, self.beta >= self.upper
            enter = (low & ~high & (self.g < level - scale)) | (high & ~low & (self.g > level + scale))
            if not enter.any():
                return
            self.free |= enter

    def _free_a_pair(self, scale: float) -> bool:
        """Free the two variables of a group that gain most by moving against each other; return whether any exist."""
        best, pair = scale, None
        for s in range(self.member.shape[1]):
            up = np.flatnonzero((self.group == s) & (self.beta < self.upper))
            down = np.flatnonzero((self.group == s) & (self.beta > self.lower))
            if len(up) and len(down):
                i, j = up[np.argmin(self.g[up])], down[np.argmax(self.g[down])]
                if self.g[j] - self.g[i] > best:
                    best, pair = float(self.g[j] - self.g[i]), (i, j)
        if pair is not None:
            self.free[list(pair)] = True
        return pair is not None

    def _direction(self, F: Indices) -> tuple[Floats, Floats] | None:
        """Step to the optimum over F and the multipliers there; None if no factorisation works."""
        B = self.member[F]
        used = B.any(axis=0)
        B = B[:, used]
        d = self._bordered(F, B) if self.definite else None
        if d is None:
            self.definite = False
            d = self._by_centring(F, B)
        if d is None:
            return None
        rho = np.zeros(self.member.shape[1])
        rho[used] = (B / B.sum(axis=0)).T @ (self.g + self._product(F, d))[F]
        return d, rho

    def _product(self, F: Indices, d: Floats) -> Floats:
        """K_WF d, without a copy of a part of K."""
        wide = np.zeros(len(self.K))
        wide[F] = d
        return self.K @ wide

    def _bordered(self, F: Indices, B: Floats) -> Floats | None:
        """Solve with K_FF itself, where it is definite; None if it is not."""
        A = self.K.copy() if len(F) == len(self.K) else self.K[np.ix_(F, F)]
        try:
            factor, failed = in_background(_factorise, A.T, 0, 0, 1, work=len(A) ** 3 / 3.0)
            if failed:
                return None
            right = np.empty((len(F), 1 + B.shape[1]), order="F")
            right[:, 0], right[:, 1:] = -self.g[F], B
            solved = _solve(factor, right, 0, 1)[0]
            inner, outer = B.T @ solved[:, 1:], B.T @ solved[:, 0]
            c = outer / inner[0] if len(outer) == 1 and inner[0, 0] else np.linalg.solve(inner, outer)
        except LinAlgError:
            return None
        d = solved[:, 0] - solved[:, 1:] @ c
        d -= B @ ((B / B.sum(axis=0)).T @ d)
        del A, factor
        left = self.g[F] + self._product(F, d)[F]
        left -= B @ ((B / B.sum(axis=0)).T @ left)
        # a block that is singular up to rounding has a factor, but a meaningless one
        return d if np.abs(left).max() <= _LEFT * np.abs(self.g[F]).max() else None

    def _by_centring(self, F: Indices, B: Floats) -> Floats | None:
        """Solve with K_FF centred in each group, and with as little jitter as a factorisation needs."""
        mean = B / B.sum(axis=0)
        right = self.g[F] - B @ (mean.T @ self.g[F])
        for jitter in _JITTER[self.level :]:
            self.level = _JITTER.index(jitter)  # what was too little once will be too little again
            A, size = centred(self.K[np.ix_(F, F)], B, mean)
            A[np.diag_indices_from(A)] += jitter * size
            try:  # the matrix is rebuilt for every attempt, so that there is never a copy of it
                factor = in_background(cho_factor, A.T, False, True, work=len(A) ** 3 / 3.0)
                d = cho_solve(factor, -right)
            except LinAlgError:
                continue
            d -= B @ (mean.T @ d)
            if np.isfinite(d).all():
                return d
        return None

    def _advance(self, F: Indices, d: Floats) -> bool:
        """Go as far along d as the box allows; return whether an end was reached on the way."""
        lower, upper, beta = self.lower[F], self.upper[F], self.beta[F]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(d > 0, (upper - beta) / d, np.where(d < 0, (lower - beta) / d, np.inf))
        share = min(1.0, float(room.min()))
        moved = beta + share * d
        blocked = room <= share if share < 1.0 else np.zeros(len(F), dtype=bool)
        moved = np.where(blocked, np.where(d > 0, upper, lower), np.clip(moved, lower, upper))
        self.g += self._product(F, moved - beta)
        self.beta[F] = moved
        self.free[F] = ~blocked
        return bool(blocked.any())
