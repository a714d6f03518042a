r"""The improved fast Gauss transform: clusters of sources and one Taylor series of total degree for each.

Legend: y sources, x targets, both in the unit in which the kernel is exp(-|x - y|^2); c the centre of a cluster, r its
radius, a = |y - c| <= r, b = |x - c|; alpha multi-indices in graded order, p the number of degrees.

.. math:: e^{-|x - y|^2} = e^{-a^2} e^{-b^2} e^{2 (y - c) \cdot (x - c)}, \qquad
    e^{2 (y - c) \cdot (x - c)} \approx \sum_{|\alpha| < p} \frac{2^{|\alpha|}}{\alpha!} (y - c)^\alpha (x - c)^\alpha

The bound. With z = 2 (y - c) . (x - c), abs(z) <= 2 a b, Taylor's theorem leaves at most abs(z)^p / p! exp(max(z, 0)):

.. math:: |\mathrm{error}| \le E_p(a, b) = \frac{(2 a b)^p}{p!} e^{-(a - b)^2} .

In b it rises up to :math:`b_*(a) = (a + \sqrt{a^2 + 2p}) / 2` and falls beyond. There it rises with a, since
:math:`b_* > a`, so :math:`E_p(r, b_*(r))` bounds all sources and targets, and for a target at a known distance b the
largest :math:`E_p(a, b)` over a <= r does (it rises in a while :math:`p > 2 a (a - b)`). A target farther than R from
all points of a cluster leaves it out, with an error below exp(-R^2). Every source is treated in one of the two ways, so
the error over the sum of abs(v) is the larger of the two bounds. Where all sources are within B of a centre, degrees
are those needed for targets within B, and a source at a distance a has those that it needs itself: whichever of a
source and a target needs fewer, they suffice for the pair. For a target farther off than B, clusters are summed
directly.

A series has binomial(p - 1 + d, d) terms, which grow slower with the dimension than p^d: it is the choice for wide
kernels in four to ten dimensions. The degree is chosen for each cluster by its radius, and again for each target by
its distance: in graded order a lower degree is a prefix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from mercer.arrays import Array, Floats, Indices
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import run_tasks, spans

__all__ = [
    "TaylorTransform",
    "covering",
    "degrees_needed",
    "farthest_points",
    "graded_factors",
    "graded_size",
    "largest_radii",
]

_BINS = 64  # distances from a centre for which the number of degrees is tabulated
_POINTS = 4096
_WORK = 2e7  # multiplications in a task: some 20 ms
MOST_DEGREES = 120


def graded_size(p: int, d: int) -> int:
    """Return the number of multi-indices of d entries with a sum below p.

    Examples
    --------
    >>> graded_size(3, 2)
    6
    """
    return math.comb(p - 1 + d, d)


def _worst(r: float, p: Array, low: Any, high: Any) -> Floats:
    """Return the logarithm of the largest E_p(a, b) over a <= r and b between two distances."""
    worst: Any = -np.inf
    for b in (low, high, np.clip(0.5 * (r + np.sqrt(r * r + 2.0 * p)), low, high)):
        a = np.minimum(r, 0.5 * (b + np.sqrt(b * b + 2.0 * p)))  # E rises in a while p > 2 a (a - b)
        with np.errstate(divide="ignore"):
            worst = np.maximum(worst, p * np.log(2.0 * a * b) - special.gammaln(p + 1.0) - (a - b) ** 2)
    return worst


def degrees_needed(r: float, tol: float, farthest: float = math.inf) -> int:
    """Return the smallest number of degrees p with an error of at most tol up to a distance from the centre.

    Parameters
    ----------
    r : float
        Radius of the cluster, in the unit in which the kernel is exp(-d^2).
    tol : float
    farthest : float, default inf
        Largest distance of a target from the centre.

    Examples
    --------
    >>> degrees_needed(0.0, 1e-6), degrees_needed(0.5, 1e-6), degrees_needed(0.5, 1e-6, 0.5)
    (1, 13, 8)
    """
    if r == 0.0 or farthest == 0.0:
        return 1
    p = np.arange(1, MOST_DEGREES + 2)
    good = _worst(r, p, 0.0, np.minimum(farthest, 1e3)) <= math.log(tol)
    return int(p[np.argmax(good)]) if good.any() else MOST_DEGREES + 1


def largest_radii(tol: float, count: int) -> Floats:
    """Return the largest radius for which 1, 2, ..., count degrees are enough at any distance from the centre.

    Examples
    --------
    >>> bool(largest_radii(1e-6, 13)[12] > 0.5)
    True
    """
    p = np.arange(1, count + 1)
    low, high = np.zeros(count), np.full(count, 8.0)
    for _ in range(50):
        r = 0.5 * (low + high)
        b = 0.5 * (r + np.sqrt(r * r + 2.0 * p))
        good = p * np.log(2.0 * r * b) - special.gammaln(p + 1.0) - (r - b) ** 2 <= math.log(tol)
        low, high = np.where(good, r, low), np.where(good, high, r)
    return low


def _degree_table(r: float, tol: float, edges: Floats, top: int) -> Array:
    """Return the degrees needed for targets between consecutive distances from a centre."""
    if r == 0.0:
        return np.ones(len(edges) - 1, np.int64)
    good = _worst(r, np.arange(1, top + 1)[:, None], edges[:-1], edges[1:]) <= math.log(tol)
    return np.where(good.any(axis=0), np.argmax(good, axis=0) + 1, top).astype(np.int64)


def farthest_points(X: Floats, count: int) -> tuple[Indices, Floats]:
    """Choose centres one by one, each the point that is farthest from those chosen before.

    Parameters
    ----------
    X : (n, d) array
    count : int
        Of centres at most; fewer are returned where all points are centres already.

    Returns
    -------
    chosen : (q,) array of int
    radii : (q,) array
        Largest distance of a point to its nearest centre after each choice: at most twice that of the best choice.

    Notes
    -----
    Seed: [KIKS] Section 3.5, [20] (spatial partitioning). Cost O(n q d). The first is the point nearest to the mean.

    Examples
    --------
    >>> chosen, radii = farthest_points(np.array([[0.0], [1.0], [10.0]]), 2)
    >>> chosen, radii
    (array([1, 2]), array([9., 1.]))
    """
    first = int(np.argmin(np.einsum("ij,ij->i", X - X.mean(axis=0), X - X.mean(axis=0))))
    chosen, radii = np.empty(min(count, len(X)), np.int64), np.empty(min(count, len(X)))
    nearest = np.full(len(X), np.inf)
    chosen[0] = first
    done = 0
    while done < len(chosen):
        upto = min(len(chosen), done + max(1, int(_WORK / (len(X) * X.shape[1]))))
        done = _farthest(X, nearest, chosen, radii, done, upto)
        if radii[done - 1] == 0.0:
            break
    return chosen[:done], radii[:done]


def covering(Y: Floats, centres: Floats, radius: float, most: int = 4096) -> Floats:
    """Return the centres, and more of them for points that are farther than a radius from all.

    Parameters
    ----------
    Y : (n, d) array
    centres : (q, d) array
    radius : float
    most : int
        ValueError is raised if more are needed than this.

    Examples
    --------
    >>> covering(np.array([[0.0], [1.0], [9.0]]), np.array([[0.5]]), 1.0).ravel()
    array([0.5, 9. ])
    """
    clusters = _assigned(Y, centres)
    squares = np.einsum("ij,ij->i", clusters.offsets, clusters.offsets)
    outside = Y[clusters.order[squares > radius * radius]]
    if not len(outside):
        return centres
    chosen, radii = farthest_points(outside, most)
    if radii[-1] > radius:
        raise ValueError(f"more than {most} clusters of radius {radius:.3g} are needed")
    return np.concatenate([centres, outside[chosen[: int(np.argmax(radii <= radius)) + 1]]])


@dataclass(frozen=True, eq=False)
class Clusters:
    """Sources by clusters."""

    centres: Floats  # (q, d)
    radii: Floats  # (q,)
    order: Indices  # (n,)
    starts: Indices  # (q + 1,)
    offsets: Floats  # (n, d) from the centre, sorted


@dataclass(frozen=True, eq=False)
class Moments:
    """Coefficients of the series of clusters, (q, k, terms), and the weights they were made of, sorted, (k, n)."""

    series: Floats
    weights: Floats


class TaylorTransform:
    r"""Sums of Gaussians by clusters of sources with a Taylor series each.

    .. math:: G(x) = \sum_j v_j \, e^{-|x - y_j|^2}, \qquad |\tilde G(x) - G(x)| \le \mathrm{bound} \sum_j |v_j|

    Seed: [KIKS] Section 3.5, [20].

    Parameters
    ----------
    Y : (n, d) array
        Sources.
    tol : float
        The bound asked for.
    centres : (q, d) array
        From `farthest_points`, perhaps of some of the sources only: radii are those of all.
    most_terms : int
        ValueError is raised if the longest series has more.

    Attributes
    ----------
    bound : float
        Error over the sum of the absolute weights; at most tol.
    degrees : (q,) array
        Number of degrees of each cluster.

    Notes
    -----
    A value does not depend on the other targets. The approximation of K is symmetric if there is one
    cluster. Memory O(n d) and a series a cluster.

    Examples
    --------
    >>> Y = np.array([[0.0], [1.0]])
    >>> transform = TaylorTransform(Y, 1e-6, np.array([[0.5]]))
    >>> transform.product(np.ones((2, 1)), transform.aim(Y)).round(5).ravel()
    array([1.36788, 1.36788])
    """

    def __init__(self, Y: Floats, tol: float, centres: Floats, most_terms: int = 2**20) -> None:
        inner = 0.9 * tol
        self.width, self.bound = Y.shape[1], tol
        self.cutoff = math.sqrt(-math.log(inner))
        self.clusters = clusters = _assigned(Y, centres)
        reach = clusters.radii + self.cutoff
        farthest = np.minimum(_extents(Y, clusters.centres), reach)
        around = list(zip(clusters.radii.tolist(), farthest.tolist(), strict=True))
        self.degrees = np.array([degrees_needed(r, inner, b) for r, b in around], np.int64)
        top = int(self.degrees.max())
        if top > MOST_DEGREES or graded_size(top, self.width) > most_terms:
            raise ValueError(f"a series of clusters of radius {max(clusters.radii):.3g} has too many terms")
        steps = np.linspace(0.0, 1.0, _BINS + 1)
        ends = list(zip(around, self.degrees.tolist(), strict=True))
        self.where = clusters.centres, farthest, reach
        self.of_targets = np.stack([_degree_table(r, inner, b * steps, p) for (r, b), p in ends])
        self.of_sources = np.stack([_degree_table(b, inner, r * steps, p) for (r, b), p in ends])  # E is symmetric
        self.sizes = np.array([graded_size(p, self.width) if p else 0 for p in range(top + 1)], np.int64)
        self.factors = graded_factors(top, self.width)

    @property
    def size(self) -> int:
        """Numbers of the longest series."""
        return int(self.sizes[-1])

    @property
    def held(self) -> int:
        """Numbers that one right-hand side takes."""
        return self.size * len(self.clusters.centres)

    def terms_per_point(self) -> tuple[float, float, float]:
        """Return how many terms a source and a target have on average, and near how many clusters a target is.

        The sources are the targets.
        """
        clusters = self.clusters
        owner = np.repeat(np.arange(len(clusters.centres)), np.diff(clusters.starts))
        lengths = np.sqrt(np.einsum("ij,ij->i", clusters.offsets, clusters.offsets))
        sources = np.mean(self.sizes[self.of_sources[owner, _bins(lengths, clusters.radii[owner])]])
        centres, farthest, reach = self.where
        points = clusters.offsets + clusters.centres[owner]
        targets = near = 0.0
        for q in range(len(centres)):
            b = np.sqrt(np.sum((points - centres[q]) ** 2, axis=1))
            terms = self.sizes[self.of_targets[q, _bins(b, farthest[q])]]
            targets += float(np.mean(np.where(b < reach[q], terms, 0)))
            near += float(np.mean(b < reach[q]))
        return float(sources), targets, near

    def aim(self, X: Floats | None = None) -> Floats:
        """Return the targets as they are; None are the sources."""
        if X is not None:
            return np.ascontiguousarray(X)
        clusters = self.clusters
        out = np.empty_like(clusters.offsets)
        out[clusters.order] = clusters.offsets + np.repeat(clusters.centres, np.diff(clusters.starts), axis=0)
        return out

    def moments(self, V: Floats, n_threads: int | None = None) -> Moments:
        """Return the coefficients of each cluster's series for V (n, k)."""
        clusters = self.clusters
        weights = np.ascontiguousarray(V[clusters.order].T)
        starts = clusters.starts
        pieces = [
            (at, min(at + _POINTS, int(starts[q + 1])), q)
            for q in range(len(starts) - 1)
            for at in range(int(starts[q]), int(starts[q + 1]), _POINTS)
        ]
        parts = np.zeros((len(pieces), V.shape[1], self.size))

        def work(place: int) -> None:
            first, last, q = pieces[place]
            degrees = self.of_sources[q]
            radius = clusters.radii[q]
            _moments(clusters.offsets[first:last], weights[:, first:last], radius, degrees, self.sizes, parts[place])

        run_tasks(range(len(pieces)), work, n_threads=n_threads)
        first = np.searchsorted([piece[2] for piece in pieces], np.arange(len(starts) - 1))
        out = np.add.reduceat(parts, first, axis=0) if len(pieces) > len(first) else parts
        out *= self.factors
        return Moments(out, weights)

    def product(self, V: Floats, aim: Floats, n_threads: int | None = None) -> Floats:
        """Return the sums at the targets, (m, k), for weights V (n, k)."""
        return self.values(self.moments(V, n_threads), aim, n_threads)

    def values(self, moments: Moments, aim: Floats, n_threads: int | None = None) -> Floats:
        """Return the sums at the targets, (m, k), from the series of the clusters."""
        clusters, k = self.clusters, len(moments.weights)
        out = np.empty((len(aim), k))
        each = self.size * len(clusters.centres) * max(k, 1)
        sources = clusters.offsets, clusters.starts, moments.weights
        step = max(16, int(_WORK / each))

        def work(rows: slice) -> None:
            _evaluate(aim[rows], self.where, (self.of_targets, self.sizes), moments.series, sources, out[rows])

        run_tasks(spans(len(aim), step), work, n_threads=n_threads)
        return out


def _bins(lengths: Floats, whole: Any) -> Array:
    """Return the places of lengths in a table of the whole."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(whole > 0.0, lengths / whole, 0.0)
    return np.minimum((share * _BINS).astype(np.int64), _BINS - 1)


def _assigned(Y: Floats, centres: Floats) -> Clusters:
    """Return the sources by their nearest centres; centres without any are left out."""
    owner = np.empty(len(Y), np.int64)
    for rows in spans(len(Y), max(64, int(_WORK / centres.size))):
        _nearest(Y[rows], centres, owner[rows])
    order = np.argsort(owner, kind="stable")
    used, starts = np.unique(owner[order], return_index=True)
    centres, starts = np.ascontiguousarray(centres[used]), np.append(starts, len(Y))
    offsets = Y[order] - np.repeat(centres, np.diff(starts), axis=0)
    squares = np.einsum("ij,ij->i", offsets, offsets)
    radii = np.sqrt(np.maximum.reduceat(squares, starts[:-1])) * (1.0 + 1e-12)
    return Clusters(centres, radii, order, starts, offsets)


def _extents(Y: Floats, centres: Floats) -> Floats:
    """Return the largest distance of a source from each centre, or slightly more."""
    squares = np.zeros(len(centres))
    for rows in spans(len(Y), max(64, int(_WORK / centres.size))):
        _farthest_from(Y[rows], centres, squares)
    return np.sqrt(squares) * (1.0 + 1e-12)


def graded_factors(p: int, d: int) -> Floats:
    """Return 2^|alpha| / alpha! in the order in which `_monomials` writes the powers."""
    logs = [np.zeros(1)]
    counts = [np.zeros((1, d), np.int64)]
    heads = [0] * d
    for _ in range(1, p):
        before, alpha = logs[-1], counts[-1]
        grown, powers, new = [], [], []
        for j in range(d):
            part = alpha[heads[j] :].copy()
            part[:, j] += 1
            new.append(sum(map(len, powers)))
            powers.append(part)
            grown.append(before[heads[j] :] + math.log(2.0) - np.log(part[:, j]))
        heads = new
        logs.append(np.concatenate(grown))
        counts.append(np.concatenate(powers))
    return np.exp(np.concatenate(logs))


@compiled
def _farthest(X, nearest, chosen, radii, done, upto):
    n, d = X.shape
    for q in range(done, upto):
        centre = X[chosen[q]]
        far, at = -1.0, 0
        for i in range(n):
            square = 0.0
            for j in range(d):
                square += (X[i, j] - centre[j]) ** 2
            if square < nearest[i]:
                nearest[i] = square
            if nearest[i] > far:
                far, at = nearest[i], i
        radii[q] = math.sqrt(far)
        if q + 1 < chosen.size:
            chosen[q + 1] = at
        if far == 0.0:
            return q + 1
    return upto


@compiled
def _farthest_from(Y, centres, squares):
    for i in range(len(Y)):
        for q in range(len(centres)):
            square = 0.0
            for j in range(Y.shape[1]):
                square += (Y[i, j] - centres[q, j]) ** 2
            squares[q] = max(squares[q], square)


@compiled
def _nearest(Y, centres, owner):
    for i in range(len(Y)):
        least, at = np.inf, 0
        for q in range(len(centres)):
            square = 0.0
            for j in range(Y.shape[1]):
                square += (Y[i, j] - centres[q, j]) ** 2
            if square < least:
                least, at = square, q
        owner[i] = at


# "contract" forms fused multiply-adds, which only leave out roundings.
@compiled(fastmath={"contract"})
def _monomials(x, value, p, heads, out):
    """Write all monomials of degree below p, times a value, in graded order."""
    out[0] = value
    heads[:] = 0
    begin, end = 0, 1
    for _ in range(1, p):
        at = end
        for j in range(x.size):
            first = begin + heads[j]
            heads[j] = at - end
            xj = x[j]
            source, target = out[first:end], out[at : at + end - first]
            for t in range(end - first):
                target[t] = xj * source[t]
            at += end - first
        begin, end = end, at


@compiled(fastmath={"contract"})
def _moments(offsets, weights, radius, degrees, sizes, out):
    terms = np.empty(out.shape[1])
    heads = np.zeros(offsets.shape[1], np.int64)
    for i in range(len(offsets)):
        square = 0.0
        for j in range(offsets.shape[1]):
            square += offsets[i, j] * offsets[i, j]
        p = degrees[min(int(math.sqrt(square) / radius * _BINS), _BINS - 1)] if radius > 0.0 else 1
        _monomials(offsets[i], math.exp(-square), p, heads, terms)
        for c in range(len(weights)):
            v, row = weights[c, i], out[c]
            for t in range(sizes[p]):
                row[t] += v * terms[t]


# "reassoc" lets the sum run in lanes: any order of a sum is equally exact.
@compiled(fastmath={"contract", "reassoc"})
def _dot(a, b, count):
    total = 0.0
    for t in range(count):
        total += a[t] * b[t]
    return total


@compiled(fastmath={"contract"})
def _direct(offset, offsets, weights, out):
    """Add the sums over one cluster, source by source."""
    for i in range(len(offsets)):
        square = 0.0
        for j in range(offset.size):
            square += (offset[j] - offsets[i, j]) ** 2
        value = math.exp(-square)
        for c in range(out.size):
            out[c] += value * weights[c, i]


@compiled(fastmath={"contract"})
def _evaluate(X, where, degrees, series, sources, out):
    centres, farthest, reach = where
    tables, sizes = degrees
    offsets, starts, weights = sources
    d = X.shape[1]
    terms = np.empty(sizes[-1])
    offset, heads = np.empty(d), np.zeros(d, np.int64)
    for i in range(len(X)):
        out[i] = 0.0
        for q in range(len(centres)):
            square = 0.0
            for j in range(d):
                offset[j] = X[i, j] - centres[q, j]
                square += offset[j] * offset[j]
            if square >= reach[q] * reach[q]:
                continue
            distance = math.sqrt(square)
            if distance > farthest[q]:
                mine = slice(starts[q], starts[q + 1])
                _direct(offset, offsets[mine], weights[:, mine], out[i])
                continue
            p = tables[q, min(int(distance / farthest[q] * _BINS), _BINS - 1)] if farthest[q] > 0.0 else 1
            _monomials(offset, math.exp(-square), p, heads, terms)
            for c in range(series.shape[1]):
                out[i, c] += _dot(terms, series[q, c], sizes[p])
