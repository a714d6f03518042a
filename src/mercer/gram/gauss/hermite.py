r"""The fast Gauss transform by Hermite and Taylor series on a grid of boxes.

Legend: y sources, x targets, both in the unit in which the kernel is exp(-|x - y|^2); u = y - its box's centre, w = x -
its box's centre, D the difference of the two centres; rho half the side of a box; p terms per axis, h_n the Hermite
functions h_n(t) = (-1)^n (d/dt)^n exp(-t^2).

Along one axis the kernel is a double series, Hermite in the sources and Taylor in the targets:

.. math:: e^{-(D + w - u)^2} \approx \sum_{m, n < p} \left(\frac{w}{\rho}\right)^m B_{mn}(D)
    \left(\frac{u}{\rho}\right)^n, \qquad B_{mn}(D) = \frac{(-1)^m \rho^{m+n}}{m! \, n!} h_{m+n}(D)

The bound. By Fourier transform :math:`|h_n| \le 2^n \Gamma((n+1)/2) / \sqrt\pi`, which is n! / (n/2)! for even n.
Taylor's theorem in u leaves at most :math:`e = \rho^p \sup|h_p| / p! = \rho^p / (p/2)!`. The series in w of the kernel
leaves as much, and that of the first remainder :math:`\rho^{2p} \sup|h_{2p}| / p!^2`. Boxes that are at least R apart
along the axis are left out, with a factor below exp(-R^2). So along an axis no factor is off by more than

.. math:: \epsilon = \max\left(2 e + \rho^{2p} \binom{2p}{p} \frac{1}{p!}, \; e^{-R^2}\right),

and, factors being at most one, their product over d axes by no more than (1 + epsilon)^d - 1.

The cost. Moments take p^d operations a source and values p^d a target. Translations go axis by axis (first from the
source boxes along the first axis, then from what came out along the second, ...), which is the sum over all pairs of
boxes since the kernel is a product: (2 R / side + 1) p^{d+1} operations a box and axis instead of a power of that
number. Boxes are those of a grid of occupied coordinates that can be reached from a source and lead to a target.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import run_tasks

__all__ = ["HermiteTransform", "axis_bound", "grid_size", "half_side"]

_POINTS = 4096  # of one box that are summed as one piece: Ctrl-C, threads, and short sums
_LARGEST_GRID = 2**26
_WORK = 4e7  # multiplications in a task: some 20 ms


def axis_bound(rho: float, p: int) -> float:
    """Return the truncation error along one axis, for even p.

    Examples
    --------
    >>> axis_bound(0.5, 12) < 1e-6
    True
    """
    e = math.exp(p * math.log(rho) - math.lgamma(p / 2 + 1))
    mixed = math.exp(2 * p * math.log(rho) + math.lgamma(2 * p + 1) - 3 * math.lgamma(p + 1))
    return 2.0 * e + mixed


def half_side(p: int, tol: float) -> float:
    """Return the largest rho whose truncation error along one axis is at most tol.

    Examples
    --------
    >>> round(half_side(12, 1e-6), 3)
    0.516
    """
    low, high = 1e-6, 8.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if axis_bound(middle, p) <= tol else (low, middle)
    return low


def grid_size(X: Floats, rho: float) -> int:
    """Return the number of boxes of side 2 rho in the grid of all coordinates that some point has.

    Examples
    --------
    >>> grid_size(np.array([[0.1, 0.1], [9.1, 9.1]]), 0.5)
    4
    """
    coordinates = np.floor(X / (2.0 * rho))
    return math.prod(len(np.unique(column)) for column in coordinates.T)


@dataclass(frozen=True, eq=False)
class Boxed:
    """Points sorted into the boxes of a lattice.

    Attributes
    ----------
    axes : tuple of (g_j,) arrays
        Coordinates of boxes that are occupied along each axis, in ascending order.
    cells : (b, d) array
        Places of the occupied boxes in `axes`.
    order : (n,) array
        The points by boxes.
    starts : (b + 1,) array
        Where each box begins in `order`.
    inside : (n, d) array
        Offsets from the centre in half sides, sorted.
    """

    axes: tuple[Array, ...]
    cells: Array
    order: Indices
    starts: Indices
    inside: Floats

    @classmethod
    def of(cls, X: Floats, rho: float) -> Boxed:
        """Sort points into boxes of side 2 rho."""
        side = 2.0 * rho
        low = [math.floor(X[:, j].min() / side) for j in range(X.shape[1])]
        ranges = [math.floor(X[:, j].max() / side) - first + 1 for j, first in enumerate(low)]
        keys = np.empty(len(X), np.int64)
        if max(ranges) <= 4 * len(X) + 1024:
            starts = np.concatenate([[0], np.cumsum(ranges)])
            seen = np.zeros(starts[-1], np.int64)
            first = np.array(low, dtype=np.int64)
            _mark(X, side, first, starts, seen)
            used = [np.flatnonzero(seen[a:b]) for a, b in pairwise(starts)]
            places = np.concatenate([np.cumsum(seen[a:b]) - 1 for a, b in pairwise(starts)])
            axes = tuple(some + start for some, start in zip(used, low, strict=True))
            _label(X, side, (first, starts, np.array([len(axis) for axis in axes])), places, keys)
        else:  # a few points are very far away
            found = [np.unique(np.floor(column / side).astype(np.int64), return_inverse=True) for column in X.T]
            axes = tuple(axis for axis, _ in found)
            keys[:] = np.ravel_multi_index([place for _, place in found], [len(axis) for axis in axes])
        order, starts, occupied = _sorted_by(keys, math.prod(map(len, axes)))
        cells = np.stack(np.unravel_index(occupied, [len(axis) for axis in axes]), axis=1).astype(np.int64)
        inside = np.empty_like(X)
        _shift(X, side, order, inside)
        return cls(axes, cells, order, starts, inside)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return tuple(len(axis) for axis in self.axes)

    @cached_property
    def pieces(self) -> Array:
        """Ranges of points, none longer than a short sum: (q, 3) start, stop, box."""
        found = []
        for box, (start, stop) in enumerate(zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)):
            found.extend((at, min(at + _POINTS, stop), box) for at in range(start, stop, _POINTS))
        return np.array(found, np.int64).reshape(-1, 3)


@dataclass(frozen=True, eq=False)
class Sweep:
    """Translations along one axis: each box of `rows` gathers from a range of boxes of the stage before."""

    count: int  # boxes that come out
    index: Array  # flat place in the grid before -> box before, or -1
    base: Array  # (count,) flat place in the grid before, at place zero of the axis
    stride: int
    low: Array  # (count,) first and last place along the axis
    high: Array
    coordinate: Array  # (count,) of the target along the axis
    sources: Array  # coordinates along the axis before


class HermiteTransform:
    r"""Sums of Gaussians by Hermite and Taylor series on a grid of boxes.

    .. math:: G(x) = \sum_j v_j \, e^{-|x - y_j|^2}, \qquad |\tilde G(x) - G(x)| \le \mathrm{bound} \sum_j |v_j|

    Seed: [KIKS] Section 3.5 (Hermite expansion, O(p^d n)).

    Parameters
    ----------
    Y : (n, d) array
        Sources.
    tol : float
        The bound asked for.
    p : int
        Terms per axis, a multiple of four; the boxes are as large as the bound allows.

    Attributes
    ----------
    bound : float
        Error over the sum of the absolute weights; at most tol.
    rho : float
        Half the side of a box.

    Notes
    -----
    The lattice does not depend on the targets, so that a value does not depend on the other targets.
    With the sources as targets the approximation is a symmetric matrix. Memory O(n d) and p^d numbers a box.

    Examples
    --------
    >>> Y = np.array([[0.0], [1.0]])
    >>> transform = HermiteTransform(Y, 1e-6, 12)
    >>> transform.product(np.ones((2, 1)), transform.aim(Y)).round(5).ravel()
    array([1.36788, 1.36788])
    """

    def __init__(self, Y: Floats, tol: float, p: int = 12) -> None:
        d = Y.shape[1]
        self.p, self.width = p, d
        share = math.expm1(math.log1p(0.9 * tol) / d)
        self.rho = half_side(p, share)
        self.reach = math.ceil(math.sqrt(-math.log(share)) / (2.0 * self.rho))  # boxes farther off are left out
        left_out = math.exp(-((2.0 * self.rho * self.reach) ** 2))
        self.bound = math.expm1(d * math.log1p(max(axis_bound(self.rho, p), left_out))) + 0.1 * tol
        self.sources = Boxed.of(Y, self.rho)
        self.translations = _translations(p, self.rho, self.reach)

    @property
    def size(self) -> int:
        """Numbers of one series."""
        return self.p**self.width

    @property
    def held(self) -> int:
        """Numbers that one right-hand side takes."""
        return self.size * len(self.sources.cells)

    def aim(self, X: Floats | None = None) -> HermiteAim:
        """Return what is needed for products at some targets; None are the sources.

        ValueError is raised if the targets are spread over too many boxes to list in memory.
        """
        if X is None:
            return HermiteAim(self.sources, *_sweeps(self.sources, self.sources, self.reach))
        coordinates = np.floor(X / (2.0 * self.rho))
        near = np.ones(len(X), bool)
        for j, axis in enumerate(self.sources.axes):
            column = coordinates[:, j]
            near &= np.searchsorted(axis, column + self.reach, "right") > np.searchsorted(axis, column - self.reach)
        kept = np.flatnonzero(near)
        if not len(kept):
            return HermiteAim(None, [], np.zeros(0, np.int64), kept, len(X))
        targets = Boxed.of(X[kept], self.rho)
        for j in range(self.width + 1):
            if math.prod(targets.shape[:j] + self.sources.shape[j:]) > _LARGEST_GRID:
                raise ValueError("the targets are spread over too many boxes")
        return HermiteAim(targets, *_sweeps(self.sources, targets, self.reach), kept, len(X))

    def moments(self, V: Floats, n_threads: int | None = None) -> Floats:
        """Return sums of powers over each source box, (boxes, k, p^d), for V (n, k)."""
        weights = np.ascontiguousarray(V[self.sources.order].T)
        pieces, boxes = self.sources.pieces, len(self.sources.cells)
        parts = np.empty((len(pieces), V.shape[1], self.size))
        tasks = _tasks((pieces[:, 1] - pieces[:, 0]) * (self.size * V.shape[1]))

        def work(task: tuple[int, int]) -> None:
            first, last = task
            _gather(self.sources.inside, weights, pieces[first:last], self.p, parts[first:last])

        run_tasks(tasks, work, n_threads=n_threads)
        if len(pieces) == boxes:
            return parts
        return np.add.reduceat(parts, np.searchsorted(pieces[:, 2], np.arange(boxes)), axis=0)

    def product(self, V: Floats, aim: HermiteAim, n_threads: int | None = None) -> Floats:
        """Return the sums at the targets, (m, k), for weights V (n, k)."""
        return self.values(self.moments(V, n_threads), aim, n_threads)

    def values(self, moments: Floats, aim: HermiteAim, n_threads: int | None = None) -> Floats:
        """Return the sums at the targets, (m, k), from moments of the sources."""
        series, k = moments, moments.shape[1]
        if aim.targets is None:
            return np.zeros((aim.total, k))
        for axis, sweep in enumerate(aim.sweeps):
            series = self._swept(series, sweep, axis, n_threads)
        targets = aim.targets
        out = np.empty((len(targets.order), k))
        pieces = targets.pieces
        tasks = _tasks((pieces[:, 1] - pieces[:, 0]) * (self.size * k))

        def work(task: tuple[int, int]) -> None:
            some = pieces[task[0] : task[1]]
            _evaluate(targets.inside, series, aim.rows, some, self.p, targets.order, out)

        run_tasks(tasks, work, n_threads=n_threads)
        if aim.kept is None or len(aim.kept) == aim.total:
            return out
        whole = np.zeros((aim.total, k))
        whole[aim.kept] = out
        return whole

    def _swept(self, series: Floats, sweep: Sweep, axis: int, n_threads: int | None) -> Floats:
        """Return series with the powers of one axis turned from those of sources to those of targets."""
        k = series.shape[1]
        out = np.zeros((sweep.count, k, self.size))
        before, after = self.p**axis, self.p ** (self.width - 1 - axis)
        where = sweep.index, sweep.base, sweep.stride, sweep.low, sweep.high, sweep.coordinate, sweep.sources
        tasks = _tasks((sweep.high - sweep.low) * (k * self.size * self.p))

        def work(task: tuple[int, int]) -> None:
            _translate(series, out, task, where, self.translations, (self.p, before, after))

        run_tasks(tasks, work, n_threads=n_threads)
        return out


@dataclass(frozen=True, eq=False)
class HermiteAim:
    """Targets in their boxes, how their series are made, and the series of each box (-1: all is far away).

    `kept` are the targets that are near any source at all, of a total of them; None are all.
    """

    targets: Boxed | None
    sweeps: list[Sweep]
    rows: Array
    kept: Indices | None = None
    total: int = 0


def _sorted_by(keys: Array, size: int) -> tuple[Indices, Indices, Array]:
    """Return the order by keys (equal ones in their order), where each key begins, and the keys that occur."""
    if size > max(4 * len(keys), 2**16):
        order = np.argsort(keys, kind="stable")
        used, starts = np.unique(keys[order], return_index=True)
        return order, np.append(starts, len(keys)), used
    counts = np.bincount(keys, minlength=size)
    order = np.empty(len(keys), np.int64)
    _counting_sort(keys, np.concatenate([[0], np.cumsum(counts)]), order)
    used = np.flatnonzero(counts)
    return order, np.concatenate([[0], np.cumsum(counts[used])]), used


def _along(mask: Array, axis: int, low: Array, high: Array) -> Array:
    """Return whether anything is set in ranges along one axis of a grid."""
    sums = np.zeros([size + (j == axis) for j, size in enumerate(mask.shape)], np.int32)
    np.cumsum(mask, axis=axis, out=sums[(slice(None),) * axis + (slice(1, None),)])
    return sums.take(high, axis=axis) > sums.take(low, axis=axis)


def _sweeps(sources: Boxed, targets: Boxed, reach: int) -> tuple[list[Sweep], Array]:
    """Return the translations axis by axis, and the series that each target box ends up with."""
    d = len(sources.axes)
    need = np.zeros(targets.shape, bool)
    need[tuple(targets.cells.T)] = True
    needs = [need]
    for axis in range(d - 1, 0, -1):
        ours, theirs = sources.axes[axis], targets.axes[axis]
        low, high = np.searchsorted(theirs, ours - reach), np.searchsorted(theirs, ours + reach, "right")
        needs.insert(0, _along(needs[0], axis, low, high))
    index = np.full(sources.shape, -1, np.int32)
    index[tuple(sources.cells.T)] = np.arange(len(sources.cells))
    sweeps = []
    for axis, need in enumerate(needs):
        ours, theirs = sources.axes[axis], targets.axes[axis]
        low, high = np.searchsorted(ours, theirs - reach), np.searchsorted(ours, theirs + reach, "right")
        places = np.nonzero(_along(index >= 0, axis, low, high) & need)
        strides = [math.prod(index.shape[j + 1 :]) for j in range(d)]
        base = np.zeros(len(places[0]), np.int64)
        for j in range(d):
            if j != axis:
                base += places[j] * strides[j]
        here = places[axis]
        sweeps.append(Sweep(len(here), index.ravel(), base, strides[axis], low[here], high[here], theirs[here], ours))
        index = np.full(need.shape, -1, np.int32)
        index[places] = np.arange(len(here))
    return sweeps, index[tuple(targets.cells.T)]


def _tasks(work: Array) -> list[tuple[int, int]]:
    """Cut a list of pieces of work into ranges of some 20 ms; the cuts do not depend on the number of threads."""
    done = np.cumsum(work)
    if not len(done):
        return []
    cuts = np.searchsorted(done, np.arange(_WORK, done[-1], _WORK))
    edges = np.unique(np.concatenate([[0], cuts, [len(done)]]))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


def _translations(p: int, rho: float, reach: int) -> Floats:
    """Return B_mn(D) for all offsets D of boxes up to `reach`, (2 reach + 1, p, p)."""
    D = 2.0 * rho * np.arange(-reach, reach + 1)
    h = np.empty((2 * p, len(D)))
    h[0], h[1] = np.exp(-D * D), 2.0 * D * np.exp(-D * D)
    for n in range(1, 2 * p - 1):
        h[n + 1] = 2.0 * D * h[n] - 2.0 * n * h[n - 1]
    n = np.arange(p)
    logs = n * math.log(rho) - np.array([math.lgamma(k + 1) for k in n])
    sign = np.where(n % 2, -1.0, 1.0)
    return np.moveaxis(h[n[:, None] + n], 2, 0) * np.exp(logs[:, None] + logs) * sign[:, None]


@compiled
def _mark(X, side, low, starts, seen):
    for i in range(len(X)):
        for j in range(low.size):
            seen[starts[j] + math.floor(X[i, j] / side) - low[j]] = 1


@compiled
def _label(X, side, axes, places, keys):
    low, starts, sizes = axes
    for i in range(len(X)):
        key = 0
        for j in range(low.size):
            key = key * sizes[j] + places[starts[j] + math.floor(X[i, j] / side) - low[j]]
        keys[i] = key


@compiled
def _shift(X, side, order, inside):
    """Write offsets from the centre of the box in half sides, in another order."""
    for i in range(len(X)):
        for j in range(X.shape[1]):
            x = X[order[i], j]
            offset = 2.0 * ((x - (math.floor(x / side) + 0.5) * side) / side)
            inside[i, j] = min(max(offset, -1.0), 1.0)


@compiled
def _counting_sort(keys, places, order):
    for i in range(keys.size):
        order[places[keys[i]]] = i
        places[keys[i]] += 1


# "contract" forms fused multiply-adds, which only leave out roundings.
@compiled(fastmath={"contract"})
def _tensor(u, p, out):
    """Write the products of powers of all coordinates but the first, p^(d-1) numbers."""
    out[0] = 1.0
    count = 1
    for j in range(1, u.size):
        for a in range(count - 1, -1, -1):
            value = out[a]
            x = 1.0
            for b in range(p):
                out[a * p + b] = value * x
                x *= u[j]
        count *= p


# Four points at a time: moments are read and written once for the four.
@compiled(fastmath={"contract"})
def _gather(inside, weights, pieces, p, out):
    rest = out.shape[2] // p
    right = np.zeros((4, rest))
    x = np.zeros(4)
    for q in range(len(pieces)):
        first, last = pieces[q, 0], pieces[q, 1]
        out[q] = 0.0
        for i in range(first, last, 4):
            count = min(4, last - i)
            for t in range(count):
                _tensor(inside[i + t], p, right[t])
            for c in range(weights.shape[0]):
                for t in range(4):
                    x[t] = weights[c, i + t] if t < count else 0.0
                r0, r1, r2, r3 = right[0], right[1], right[2], right[3]
                for a in range(p):
                    row = out[q, c, a * rest : (a + 1) * rest]
                    x0, x1, x2, x3 = x[0], x[1], x[2], x[3]
                    for b in range(rest):
                        row[b] += (x0 * r0[b] + x1 * r1[b]) + (x2 * r2[b] + x3 * r3[b])
                    for t in range(count):
                        x[t] *= inside[i + t, 0]


# "reassoc" lets the sum run in lanes: any order of a sum is equally exact.
@compiled(fastmath={"contract", "reassoc"})
def _dot4(x, rows, right):
    x0, x1, x2, x3 = x[0], x[1], x[2], x[3]
    r0, r1, r2, r3 = rows[0], rows[1], rows[2], rows[3]
    total = 0.0
    for b in range(right.size):
        total += ((x0 * r0[b] + x1 * r1[b]) + (x2 * r2[b] + x3 * r3[b])) * right[b]
    return total


@compiled(fastmath={"contract"})
def _evaluate(inside, series, rows, pieces, p, order, out):
    rest = series.shape[2] // p
    right, left = np.zeros(rest), np.zeros(p)
    for q in range(len(pieces)):
        row = rows[pieces[q, 2]]
        for i in range(pieces[q, 0], pieces[q, 1]):
            if row < 0:
                out[order[i]] = 0.0
                continue
            _tensor(inside[i], p, right)
            left[0] = 1.0
            for a in range(1, p):
                left[a] = left[a - 1] * inside[i, 0]
            for c in range(series.shape[1]):
                table = series[row, c].reshape((p, rest))
                total = 0.0
                for a in range(0, p, 4):
                    total += _dot4(left[a : a + 4], table[a : a + 4], right)
                out[order[i], c] = total


@compiled(fastmath={"contract"})
def _middle(source, target, B, before, after):
    """Add B times the source along an axis that others follow."""
    p = len(B)
    for a in range(before):
        for m in range(p):
            row = target[(a * p + m) * after : (a * p + m + 1) * after]
            for n in range(0, p, 4):
                at = (a * p + n) * after
                s0, s1 = source[at : at + after], source[at + after : at + 2 * after]
                s2, s3 = source[at + 2 * after : at + 3 * after], source[at + 3 * after : at + 4 * after]
                b0, b1, b2, b3 = B[m, n], B[m, n + 1], B[m, n + 2], B[m, n + 3]
                for q in range(after):
                    row[q] += (b0 * s0[q] + b1 * s1[q]) + (b2 * s2[q] + b3 * s3[q])


@compiled(fastmath={"contract"})
def _end(source, target, Bt, before):
    """Add B times the source along the last axis; Bt is B transposed."""
    p = len(Bt)
    for a in range(before):
        row = target[a * p : (a + 1) * p]
        for n in range(0, p, 4):
            s0, s1, s2, s3 = source[a * p + n], source[a * p + n + 1], source[a * p + n + 2], source[a * p + n + 3]
            b0, b1, b2, b3 = Bt[n], Bt[n + 1], Bt[n + 2], Bt[n + 3]
            for m in range(p):
                row[m] += (s0 * b0[m] + s1 * b1[m]) + (s2 * b2[m] + s3 * b3[m])


@compiled
def _translate(series, out, task, where, translations, sizes):
    index, base, stride, low, high, coordinate, sources = where
    p, before, after = sizes
    reach = len(translations) // 2
    Bt = np.empty((p, p))
    for r in range(task[0], task[1]):
        for s in range(low[r], high[r]):
            source = index[base[r] + s * stride]
            if source < 0:
                continue
            B = translations[coordinate[r] - sources[s] + reach]
            if after == 1:
                Bt[:] = B.T
            for c in range(series.shape[1]):
                if after == 1:
                    _end(series[source, c], out[r, c], Bt, before)
                else:
                    _middle(series[source, c], out[r, c], B, before, after)
