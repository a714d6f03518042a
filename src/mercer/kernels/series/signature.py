"""The signature kernel of time series: inner products of the iterated integrals of two paths.

Symbols: x, y paths of n and m straight pieces; dx_i, dy_j their increments; D_ij = <dx_i, dy_j>; S_p(x) the iterated
integrals of order p, a tensor of d^p numbers.

The kernel u(s, t) of the pieces of both paths up to s and t solves u_st = <x'(s), y'(t)> u with u = 1 on both axes. On
the cell of two straight pieces <x', y'> is the constant D_ij, and power series on two edges of the cell,
u(s, 0) = sum_p a_p s^p / p! and u(0, t) = sum_p b_p t^p / p!, give those on the two others:

    a'_p = sum_{k <= p} a_{p-k} D^k / k! + D^p sum_{q >= 1} b_q / (p + q)!
    b'_p = sum_{k < p} b_{p-k} D^k / k! + D^p sum_{q >= 0} a_q / (p + q)!

so that the only error is that of series that are cut where their terms have become as small as rounding. With a row of
coefficients for each order of integrals the same recursion gives the truncated kernel, whose series are finite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import budget
from mercer.arrays import Floats
from mercer.constraints import Fixed, Integer, OneOf, Optional, Positive
from mercer.domains import Samples, Vectors
from mercer.domains.sequences import Sequences
from mercer.kernels.abilities import Featured
from mercer.kernels.comparison import Comparison, View, side_of_tiles
from mercer.kernels.kernel import Tiled, mirror, overflow_error
from mercer.kernels.monomials import require_few
from mercer.kernels.vectors.pointwise import Gaussian
from mercer.numerics.operands import row_products
from mercer.runtime.compiled import compiled
from mercer.spec import derived

__all__ = ["Signature"]
__public__ = __all__

_CELLS = 2e5  # pairs of pieces that take some 20 milliseconds
_WIDE = 4096  # features up to which products of features are taken for the truncated kernel
_STEEP = 400.0  # the sum of |D| along a row above which pieces are halved
_HALVINGS = 4  # beyond, values are near the end of the range of numbers, and are refused
_ROUNDING = 1e-17


class Signature(Tiled, Featured):
    r"""Signature kernel: the inner product of all iterated integrals of two paths.

    .. math:: k(x, y) = \sum_{p=0}^P \langle S_p(x), S_p(y) \rangle, \qquad
        S_p(x) = \int_{t_1 < \dots < t_p} dx_{t_1} \otimes \dots \otimes dx_{t_p}

    A series is a path: straight lines from point to point. Its iterated integrals describe in which order channels
    move: those of order one are the whole displacement, those of order two areas, and so on.

    Seed: [SS] Section 6.4, kernels for structured data; [KIKS] Section 6.1.2, a convolution kernel whose parts are
    pieces of a path. Kiraly and Oberhauser (2019), Kernels for sequentially ordered data; Salvi et al. (2021), The
    signature kernel is the solution of a Goursat PDE.

    Parameters
    ----------
    depth : int, optional
        P, the highest order of integrals. None takes all of them.
    base : {"linear", "gaussian"}, default "linear"
        Paths of the points themselves, or of their images in the feature space of a Gaussian kernel.
    length_scale : float, default 1.0
        Points are divided by it (linear), or it is that of the Gaussian kernel. Positive.

    Notes
    -----
    Domain Sequences, of any lengths; a series of one point has the value 1 with every other. Positive definite of
    order 0. The value does not change if a path is moved (linear), is run through faster or slower, or goes some way
    and straight back again; therefore not strict. To distinguish such series give the time, or the starting point, as
    channels. Values grow like exp(2 sqrt(l(x) l(y))) with the lengths l of the paths: scale the series, or use
    ``.normalized()``.

    With a depth and base="linear" the features are the iterated integrals, (d^(P+1) - 1) / (d - 1) of them. Its
    parameters have no derivatives. The partial differential equation for all orders is solved by power series on the
    cells of two pieces, to a relative error of a few rounding units times n + m. Cost O(n m) a pair, times 100 to 1 000
    operations; O(T d^P) a series with features.

    Examples
    --------
    >>> there, round_about = [[0, 0], [1, 0], [1, 1]], [[0, 0], [0, 1], [1, 1]]
    >>> Signature(2)([there, round_about])
    array([[4.5, 3.5],
           [3.5, 4.5]])
    >>> Signature()([there, round_about]).round(4)
    array([[5.1965, 3.5592],
           [3.5592, 5.1965]])
    """

    domain = Sequences
    formula = r"\sum_p \langle S_p(x), S_p(y) \rangle"
    cost = "O(n m) a pair of series of n and m points"
    continuous = True
    constraints = {
        "depth": Optional(Integer(1)),
        "base": OneOf("linear", "gaussian"),
        "length_scale": Fixed(Positive()),
    }

    def __init__(self, depth: int | None = None, base: str = "linear", length_scale: float = 1.0) -> None:
        self.depth = depth
        self.base = base
        self.length_scale = length_scale

    @derived
    def nonzero(self) -> bool:
        """True: the integral of order zero is one."""
        return True

    @property
    def capabilities(self) -> frozenset[str]:
        """Features if there are finitely many."""
        found = super().capabilities
        return found if self.base == "linear" and self.depth is not None else found - {"features"}

    @property
    def _key(self) -> str:
        return f"signature:{self.depth}:{self.length_scale!r}"

    def _prepare(self, A: Samples) -> Samples:
        """Integrate, once per collection, where there are few integrals."""
        if not self._is_short(A) or self._key in A.derived:
            return A
        return A.with_derived(self._key, self.features(A)[0])

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for small tiles where series are long."""
        return None if self._is_short(comparison.sides(())[0]) else side_of_tiles(comparison, _CELLS)

    def tile(self, view: View) -> Floats:
        """Multiply features, or go through the cells of all pairs."""
        A, B = view.collections
        assert isinstance(A, Sequences) and isinstance(B, Sequences)
        A.require_like(B)
        out = view.empty()
        if self._is_short(A):
            left, right = (self.prepare(S).derived[self._key] for S in (A, B))
            return row_products(left[view.rows], right[view.columns], same=view.on_diagonal, out=out)
        left, right = view.sides
        self._compare(left, right, right is left, out)
        return mirror(out) if right is left else out

    def _diag(self, A: Samples) -> Floats:
        """Compare every series with itself."""
        if self._is_short(A):
            F = self.prepare(A).derived[self._key]
            return np.einsum("ij,ij->i", F, F)
        values = np.empty(len(A))
        for i in range(len(A)):
            one = A[i : i + 1]
            self._compare(one, one, False, values[i : i + 1].reshape(1, 1))
        return values

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the iterated integrals of all orders up to P, (len A, 1 + d + ... + d^P)."""
        count = self.feature_count(A)
        if count is None:
            raise self._lacks("a finite feature map")
        assert isinstance(A, Sequences)
        require_few(self, count)
        budget.Plan(f"the features of {self!r} on {len(A)} series", {"features": 8 * count * len(A)}).require(None)
        F = np.zeros((len(A), count))
        with np.errstate(over="ignore"):
            _integrate(A.values / float(self.length_scale), A.offsets, int(self.depth or 0), F)
        return F, None

    def _feature_count(self, A: Samples) -> int | None:
        """Return 1 + d + ... + d^P, or None if there is no finite map."""
        if self.depth is None or self.base != "linear" or not isinstance(A, Sequences):
            return None
        return sum(A.width**p for p in range(int(self.depth) + 1))

    def _is_short(self, A: Samples) -> bool:
        count = self.feature_count(A) if self.depth is None or int(self.depth) <= 64 else None
        return count is not None and count <= _WIDE

    def _compare(self, A: Samples, B: Samples, symmetric: bool, out: Floats) -> None:
        """Write the kernel of all pairs; of a symmetric block those on and above the diagonal."""
        assert isinstance(A, Sequences) and isinstance(B, Sequences)
        products, is_points = self._products(A, B), self.base == "gaussian"
        room = np.empty((int(A.lengths.max(initial=0)), int(B.lengths.max(initial=0))))
        _compare_all(products, (A.offsets, B.offsets), is_points, int(self.depth or 0), symmetric, room, out)

    def _products(self, A: Sequences, B: Sequences) -> Floats:
        """Return <dx_i, dy_j> for all pieces, or g(x_i, y_j) for all points; pieces between series are not used."""
        if self.base == "gaussian":
            return np.asarray(Gaussian(float(self.length_scale)).block(Vectors(A.values), Vectors(B.values)))
        with np.errstate(over="ignore", invalid="ignore"):
            left, right = (np.diff(S.values / float(self.length_scale), axis=0, append=0.0) for S in (A, B))
            products = left @ right.T
        if not np.isfinite(products).all():
            raise overflow_error(self)
        return products


# ---------------------------------------------------------------------- cells


@compiled
def _terms(reach, twice):
    """Return how many terms of sum_p reach^p / p!, or of that with p! squared, are larger than rounding."""
    term, count = 1.0, 1
    while term > _ROUNDING:
        term *= reach / (count * count if twice else count)
        count += 1
    return count


# "contract" and "reassoc" only leave out roundings, and reorder sums: any order is equally exact.
@compiled(fastmath={"contract", "reassoc"})
def _cell(D, a, b, inverse, terms, new_a, new_b):
    """Go from the left and lower edge of a cell to the right and upper one."""
    size = a.size
    for p in range(size):
        new_a[p], new_b[p] = a[p], b[p]
    new_b[0] = 0.0
    factor = 1.0
    for k in range(1, terms):
        factor *= D / k
        ahead, behind = new_a[k:], a[: size - k]
        for p in range(size - k):
            ahead[p] += factor * behind[p]
        ahead, behind = new_b[k:], b[: size - k]
        for p in range(1, size - k):
            ahead[p] += factor * behind[p]
    factor = 1.0
    for p in range(terms):
        weights = inverse[p : p + size]
        right, upper = 0.0, a[0] * weights[0]
        for q in range(1, size):
            right += b[q] * weights[q]
            upper += a[q] * weights[q]
        new_a[p] += factor * right
        new_b[p] += factor * upper
        factor *= D


@compiled
def _all_orders(D):
    """Return the kernel of two paths from the inner products of their pieces."""
    n, m = D.shape
    reach, largest = 0.0, 0.0
    down = np.zeros(m)
    for i in range(n):
        across = 0.0
        for j in range(m):
            size = abs(D[i, j])
            across += size
            down[j] += size
            largest = max(largest, size)
        reach = max(reach, across)
    for j in range(m):
        reach = max(reach, down[j])
    halvings = 0
    while reach > _STEEP and halvings < _HALVINGS:
        reach, largest, halvings = 0.5 * reach, 0.25 * largest, halvings + 1
    if not reach <= _STEEP:
        return np.inf
    count = max(_terms(reach, True), 2)
    terms = min(_terms(largest, False), count)
    inverse = np.ones(2 * count)
    for p in range(1, 2 * count):
        inverse[p] = inverse[p - 1] / p
    parts = 1 << halvings
    lower, new_b = np.zeros((m * parts, count)), np.empty(count)
    lower[:, 0] = 1.0
    left, right = np.zeros(count), np.empty(count)
    for i in range(n * parts):
        left[:] = 0.0
        left[0] = 1.0
        for j in range(m * parts):
            _cell(D[i >> halvings, j >> halvings] / (parts * parts), left, lower[j], inverse, terms, right, new_b)
            for p in range(count):
                lower[j, p] = new_b[p]
            left, right = right, left
    total = 0.0
    for p in range(count):
        total += left[p] * inverse[p]
    return total


@compiled
def _some_orders(D, depth):
    """Return the kernel of two paths up to an order; row p of the coefficients belongs to the integrals of order p."""
    n, m = D.shape
    inverse = np.ones(depth + 1)
    for p in range(1, depth + 1):
        inverse[p] = inverse[p - 1] / p
    lower = np.zeros((m, depth + 1, depth + 1))
    lower[:, 0, 0] = 1.0
    side = depth + 1
    left, right, upper = np.empty((side, side)), np.zeros((side, side)), np.zeros((side, side))
    for i in range(n):
        left[:] = 0.0
        left[0, 0] = 1.0
        for j in range(m):
            b = lower[j]
            for order in range(depth + 1):
                power = 1.0
                for p in range(order + 1):
                    beside, above = 0.0, left[order - p, 0] * inverse[p]
                    for q in range(1, order - p + 1):
                        beside += b[order - p, q] * inverse[p + q]
                        above += left[order - p, q] * inverse[p + q]
                    beside, above = power * beside + left[order, p], power * above
                    factor = 1.0
                    for k in range(1, p + 1):
                        factor *= D[i, j] / k
                        beside += left[order - k, p - k] * factor
                        if k < p:
                            above += b[order - k, p - k] * factor
                    right[order, p] = beside
                    upper[order, p] = above + (b[order, p] if p > 0 else 0.0)
                    power *= D[i, j]
            b[:] = upper
            left, right = right, left
    total = 0.0
    for order in range(depth + 1):
        for p in range(order + 1):
            total += left[order, p] * inverse[p]
    return total


@compiled
def _compare_all(products, offsets, is_points, depth, symmetric, room, out):
    rows, columns = offsets
    for i in range(rows.size - 1):
        n = rows[i + 1] - rows[i] - 1
        for j in range(i if symmetric else 0, columns.size - 1):
            m = columns[j + 1] - columns[j] - 1
            if n == 0 or m == 0:
                out[i, j] = 1.0
                continue
            D, P = room[:n, :m], products[rows[i] : rows[i + 1], columns[j] : columns[j + 1]]
            for a in range(n):
                for b in range(m):
                    D[a, b] = (P[a + 1, b + 1] - P[a + 1, b]) - (P[a, b + 1] - P[a, b]) if is_points else P[a, b]
            out[i, j] = _some_orders(D, depth) if depth > 0 else _all_orders(D)


@compiled
def _integrate(values, offsets, depth, out):
    """Write the iterated integrals of all series: a piece dx takes S to S (x) exp(dx), highest orders first."""
    width = values.shape[1]
    starts = np.zeros(depth + 2, np.int64)
    size = 1
    for p in range(depth + 1):
        starts[p + 1] = starts[p] + size
        size *= width
    top = starts[depth + 1] - starts[depth]
    power, grown = np.empty(top), np.empty(top)
    for i in range(offsets.size - 1):
        S = out[i]
        S[0] = 1.0
        for t in range(offsets[i], offsets[i + 1] - 1):
            dx = values[t + 1] - values[t]
            for p in range(depth, 0, -1):  # ((S_0 dx / p + S_1) dx / (p - 1) + ...) dx + S_p
                power[0] = S[0]
                size = 1
                for k in range(p):
                    for a in range(size):
                        for c in range(width):
                            grown[a * width + c] = power[a] * dx[c] / (p - k)
                    size *= width
                    level = S[starts[k + 1] : starts[k + 1] + size]
                    for a in range(size):
                        power[a] = grown[a] + level[a]
                S[starts[p] : starts[p + 1]] = power[:size]
