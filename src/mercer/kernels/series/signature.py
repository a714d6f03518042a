"""The signature kernel of time series: inner products of the iterated integrals of two paths.

Symbols: x, y paths of n and m straight pieces; dx_i, dy_j their increments; D_ij = <dx_i, dy_j>; S_p(x) the iterated
integrals of order p, a tensor of d^p numbers.

The kernel u(s, t) of the pieces of both paths up to s and t solves u_st = <x'(s), y'(t)> u with u = 1 on both axes:
`mercer.numerics.goursat` solves it for all orders. For the orders up to P, the cells of two straight pieces are crossed
by power series: D is constant on a cell, and u(s, 0) = sum_p a_p s^p / p! and u(0, t) = sum_p b_p t^p / p! on two edges
give those on the two others,

    a'_p = sum_{k <= p} a_{p-k} D^k / k! + D^p sum_{q >= 1} b_q / (p + q)!
    b'_p = sum_{k < p} b_{p-k} D^k / k! + D^p sum_{q >= 0} a_q / (p + q)!

with a row of coefficients for each order of integrals, so that all series are finite.
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
from mercer.numerics.goursat import goursat
from mercer.numerics.operands import row_products
from mercer.runtime.compiled import compiled
from mercer.spec import derived

__all__ = ["Signature"]
__public__ = __all__

_CELLS = 1e6  # pairs of pieces that take some 20 milliseconds for all orders; for some orders a fifth of them
_WIDE = 4096  # features up to which products of features are taken for the truncated kernel


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
    parameters have no derivatives. The partial differential equation for all orders is solved by Legendre polynomials
    on the cells of two pieces, to a relative error of a few rounding units times n + m. Cost O(n m) a pair, times some
    200 operations, in vector registers over the cells of many pairs; O(T d^P) a series with features.

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
        cells = _CELLS if self.depth is None else 0.2 * _CELLS
        return None if self._is_short(comparison.sides(())[0]) else side_of_tiles(comparison, cells)

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
        products = self._products(A, B)
        if self.depth is None:
            goursat(products, A.offsets, B.offsets, symmetric, out)
        else:
            _compare_all(products, A.offsets, B.offsets, int(self.depth), symmetric, out)

    def _products(self, A: Sequences, B: Sequences) -> Floats:
        """Return <dx_i, dy_j> for all pieces; the last point of every series begins none, and has zeros."""
        last = [S.offsets[1:] - 1 for S in (A, B)]
        if self.base == "gaussian":
            products = np.asarray(Gaussian(float(self.length_scale)).block(Vectors(A.values), Vectors(B.values)))
            products = np.diff(np.diff(products, axis=0, append=0.0), axis=1, append=0.0)
            products[last[0]], products[:, last[1]] = 0.0, 0.0
            return products
        with np.errstate(over="ignore", invalid="ignore"):
            left, right = (np.diff(S.values / float(self.length_scale), axis=0, append=0.0) for S in (A, B))
            left[last[0]], right[last[1]] = 0.0, 0.0
            products = left @ right.T
        if not np.isfinite(products).all():
            raise overflow_error(self)
        return products


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
def _compare_all(products, rows, columns, depth, symmetric, out):
    for i in range(rows.size - 1):
        for j in range(i if symmetric else 0, columns.size - 1):
            D = products[rows[i] : rows[i + 1] - 1, columns[j] : columns[j + 1] - 1]
            out[i, j] = _some_orders(D, depth) if D.size else 1.0


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
