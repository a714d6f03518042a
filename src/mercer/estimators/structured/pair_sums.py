"""Sums over pairs of a group in which one member is preferred, without a list of the pairs."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.runtime.compiled import compiled

__all__ = ["PairSquares", "PairSums"]


class PairSums:
    r"""Squared slacks of all pairs of a group in which one member is preferred.

    .. math:: R(f) = \sum_g s_g \sum_{i, j \in g:\, y_i > y_j} w_i w_j c_{ij} \bigl(m_{ij} - f_i + f_j\bigr)_+^2

    Parameters
    ----------
    relevance : (n,) array
        y; larger is better.
    groups : (n,) array of integers
        From 0; only members of a group are compared.
    weight : (n,) array
        w.
    share : (groups,) array, optional
        s; None is 1.
    gain : (n,) array, optional
        A pair costs c = gain_i - gain_j; None is 1.
    target : (n,) array, optional
        The margin of a pair is m = target_i - target_j; None is 1.
    """

    def __init__(
        self,
        relevance: Floats,
        groups: Indices,
        weight: Floats,
        share: Floats | None = None,
        gain: Floats | None = None,
        target: Floats | None = None,
    ) -> None:
        self.order = np.lexsort((relevance, groups))
        self.offsets = np.concatenate([[0], np.cumsum(np.bincount(groups))]).astype(np.intp)
        self.owner = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        self.weight = np.ascontiguousarray(weight[self.order], dtype=float)
        self.share = np.ones(len(self.offsets) - 1) if share is None else np.asarray(share, dtype=float)
        self.base, gains = (1.0, np.zeros(len(weight))) if gain is None else (0.0, np.asarray(gain, dtype=float))
        self.gain = gains[self.order]
        # (t_i - t_j) - f_i + f_j is the slack of f - t with the margin 0
        self.margin, self.target = (1.0, 0.0) if target is None else (0.0, np.asarray(target, dtype=float)[self.order])
        y = relevance[self.order]
        rises = np.concatenate([[0], y[1:] > y[:-1]]).astype(np.intp)
        levels = np.cumsum(rises)
        first = levels[np.minimum(self.offsets[:-1], len(y) - 1)]
        self.levels = levels - first[self.owner]  # from 0 in each group

    def counts(self) -> Indices:
        """Return the number of pairs of each group."""
        out = np.zeros(len(self.offsets) - 1, dtype=np.intp)
        for g, (a, b) in enumerate(zip(self.offsets[:-1], self.offsets[1:], strict=True)):
            sizes = np.bincount(self.levels[a:b])
            out[g] = (int(sizes.sum()) ** 2 - int((sizes**2).sum())) // 2
        return out

    def risk(self, f: Floats) -> tuple[float, Floats]:
        """Return R, and its derivatives in f."""
        own, slope = f[self.order] - self.target, np.zeros(len(f))
        ranks = np.lexsort((own, self.owner)) - self.offsets[self.owner]
        costs = self.weight, self.gain, self.base, self.margin
        value = _sum_groups(own, ranks, self.offsets, self.levels, costs, self.share, slope)
        out = np.empty_like(slope)
        out[self.order] = slope
        return value, out


class PairSquares:
    r"""Squared differences of all pairs of a group: what is asked is that scores differ as targets do.

    .. math:: R(f) = \sum_g s_g \sum_{i < j \in g} w_i w_j \bigl((t_i - t_j) - (f_i - f_j)\bigr)^2
        = \sum_g s_g \Bigl( \sum_i w_i \sum_i w_i r_i^2 - \bigl(\sum_i w_i r_i\bigr)^2 \Bigr), \quad r = t - f

    Parameters
    ----------
    target : (n,) array
        t.
    groups, weight, share
        As for `PairSums`.
    """

    def __init__(self, target: Floats, groups: Indices, weight: Floats, share: Floats | None = None) -> None:
        self.target, self.groups, self.weight = target, groups, weight
        self.total = np.bincount(groups, weight)
        self.share = np.ones(len(self.total)) if share is None else share

    def counts(self) -> Indices:
        """Return the number of pairs of each group."""
        sizes = np.bincount(self.groups)
        return sizes * (sizes - 1) // 2

    def risk(self, f: Floats) -> tuple[float, Floats]:
        """Return R, and its derivatives in f."""
        left = self.target - f
        left -= left.mean()  # differences alone count, and lose fewer digits here
        mean = np.bincount(self.groups, self.weight * left) / np.where(self.total > 0.0, self.total, 1.0)
        left -= mean[self.groups]  # within each group, what is left has the mean zero
        cost = (self.share * self.total)[self.groups] * self.weight
        return float(cost @ left**2), -2.0 * cost * left


@compiled
def _sum_groups(f, ranks, offsets, levels, costs, share, slope):
    """Add up the groups; fill the derivatives."""
    weight, gain, base, margin = costs
    value = 0.0
    for g in range(share.size):
        a, b = offsets[g], offsets[g + 1]
        if b > a + 1:
            of_group = weight[a:b], gain[a:b], base, margin
            part = _sum_pairs(f[a:b], ranks[a:b], levels[a:b], of_group, slope[a:b])
            value += share[g] * part
            for i in range(a, b):
                slope[i] *= share[g]
    return value


@compiled
def _sum_pairs(f, ranks, levels, costs, slope):
    """Add up costs times (m - f_i + f_j)^2 over pairs with a higher level of i and f_i < f_j + m; fill the derivatives.

    Samples are visited in the order of f. Those that reach far enough are in trees of partial sums by level (Fenwick),
    which know how many there are, and the sums of their f, at lower levels, or at higher ones; and the same with
    gains, since a pair costs base + gain_i - gain_j.
    """
    weight, gain, base, margin = costs
    n = f.size
    top = 0
    for i in range(n):
        top = max(top, levels[i])
    sums, found = np.zeros((top + 2, 6)), np.zeros(6)
    centre = f[ranks[n // 2]]  # sums of differences from here lose fewer digits
    value = 0.0
    j = n - 1
    for at in range(n - 1, -1, -1):  # as the preferred one: against all of a lower level with f_j > f_i - m
        i = ranks[at]
        while j >= 0 and f[ranks[j]] > f[i] - margin:
            k = ranks[j]
            _add(sums, levels[k] + 1, weight[k], f[k] - centre, gain[k])
            j -= 1
        _look(sums, levels[i], found)
        t, cost = margin - (f[i] - centre), base + gain[i]
        plain = found[0] * t * t + 2.0 * t * found[1] + found[2]
        value += weight[i] * (cost * plain - (found[3] * t * t + 2.0 * t * found[4] + found[5]))
        slope[i] -= 2.0 * weight[i] * (cost * (found[0] * t + found[1]) - (found[3] * t + found[4]))
    sums[:] = 0.0
    j = 0
    for at in range(n):  # as the other one: against all of a higher level with f_j < f_i + m
        i = ranks[at]
        while j < n and f[ranks[j]] < f[i] + margin:
            k = ranks[j]
            _add(sums, top - levels[k] + 1, weight[k], f[k] - centre, gain[k])
            j += 1
        _look(sums, top - levels[i], found)
        t, cost = margin + f[i] - centre, base - gain[i]
        slope[i] += 2.0 * weight[i] * (cost * (found[0] * t - found[1]) + (found[3] * t - found[4]))
    return value


@compiled
def _add(sums, place, weight, x, gain):
    """Add one sample to the partial sums from a place on."""
    while place < sums.shape[0]:
        sums[place, 0] += weight
        sums[place, 1] += weight * x
        sums[place, 2] += weight * x * x
        sums[place, 3] += weight * gain
        sums[place, 4] += weight * gain * x
        sums[place, 5] += weight * gain * x * x
        place += place & -place


@compiled
def _look(sums, place, found):
    """Fill in the sums up to a place."""
    found[:] = 0.0
    while place > 0:
        for q in range(6):
            found[q] += sums[place, q]
        place -= place & -place
