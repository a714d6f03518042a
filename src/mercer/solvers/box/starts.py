"""Where a descent on a BoxQP starts."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.errors import ParameterError
from mercer.problems import BoxQP

__all__ = ["feasible", "is_cone"]

_MANY = 2048  # variables from which it matters how many of them are free at first


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
    ends = np.concatenate([problem.lower, problem.upper])
    return bool(np.isinf(ends).any() and ((ends == 0) | np.isinf(ends)).all() and not np.any(problem.total))


def feasible(problem: BoxQP, start: Floats | None) -> Floats:
    """A point of the box with the right sums: the start if it is one, else zeros filled up in order."""
    lower, upper, total = problem.lower, problem.upper, np.asarray(problem.total, dtype=np.float64)
    beta = np.zeros(len(problem.linear)) if start is None else np.array(start, dtype=np.float64)
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
