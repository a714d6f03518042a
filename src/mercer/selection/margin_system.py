r"""Samples on the margin: the linear system of their coefficients, kept solved while samples come and go.

Symbols: E the elbow, the samples with y f = 1; m their number; K their Gram matrix; c a positive constant;
L the lower Cholesky factor of K_EE + c 1 1^T. Coefficients that sum to zero do not notice c, and with it the
matrix is positive definite exactly where the bordered matrix of K_EE and the bias is regular.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.budget import Plan
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import spans

__all__ = ["Elbow", "Rows"]

_FIRST = 64  # members for which there is room at first
_BLOCK = 256  # rows of K at a time in a product: a dense Gram copies them
_COLUMNS = 512  # of the rows at a time: the sum stays in the innermost cache


class Rows:
    r"""Rows of a Gram matrix in float64; for a conditionally positive definite kernel seen from one sample.

    .. math:: \tilde K_{ij} = K_{ij} - K_{i0} - K_{0j} + K_{00}

    is positive semi-definite where K is so for coefficients that sum to zero, and gives the same function up
    to its bias.

    Parameters
    ----------
    gram : Gram
        With rows.
    conditional : bool
        Whether to look from the first sample.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import NegativeDistance
    >>> gram = Dense().build(NegativeDistance(), Vectors.pack([[0.0], [1.0], [-2.0]]))
    >>> Rows(gram, conditional=True).row(1)
    array([0., 2., 0.])
    """

    def __init__(self, gram: Any, conditional: bool) -> None:
        self.gram = gram
        self.n = gram.shape[0]
        self.anchor = self._raw(0) if conditional else None
        self.diagonal = np.asarray(gram.diag(), dtype=np.float64)
        if self.anchor is not None:
            self.diagonal = self.diagonal - 2.0 * self.anchor + self.anchor[0]

    def _raw(self, i: int) -> Floats:
        return np.asarray(self.gram.rows(np.array([i], dtype=np.intp))[0], dtype=np.float64)

    def row(self, i: int) -> Floats:
        """Row i, (n,); it may be a view."""
        row = self._raw(i)
        return row if self.anchor is None else row - row[0] - self.anchor + self.anchor[0]

    def product(self, V: Floats) -> Floats:
        """Product with V, (n, k), of which only rows that are not zero are looked at."""
        used = np.flatnonzero(np.any(V != 0.0, axis=1)).astype(np.intp)
        out = np.zeros(V.shape)
        for block in spans(len(used), _BLOCK):
            self.gram.update(used[block], np.ascontiguousarray(V[used[block]]), out)
        if self.anchor is not None:
            total = V.sum(axis=0)
            out += np.outer(self.anchor[0] - self.anchor, total) - self.anchor @ V
        return out

    def shift(self, beta: Floats) -> float:
        """How much smaller the bias of f = K beta + b is than that of the function seen from the first sample."""
        return 0.0 if self.anchor is None else float(self.anchor @ beta)


class Elbow:
    r"""The bordered system of the elbow, by a Cholesky factor to which rows are added and from which they go.

    .. math:: \begin{pmatrix} K_{EE} & 1 \\ 1^\top & 0 \end{pmatrix} \begin{pmatrix} d \\ \delta \end{pmatrix}
              = \begin{pmatrix} R \\ S \end{pmatrix}

    Parameters
    ----------
    source : Rows
    memory : int, str or None
        Budget, compared with the plan whenever more room is made.

    Notes
    -----
    A change and a solution cost O(m^2), a sum of rows O(m n); memory 8 m n + 8 m^2 bytes.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Linear
    >>> elbow = Elbow(Rows(Dense().build(Linear(), Vectors.pack([[1.0], [-1.0]])), conditional=False))
    >>> for i in (0, 1):
    ...     elbow.append(i, *elbow.project(i))
    >>> d, delta = elbow.solve(np.array([1.0, -1.0]), 0.0)  # the hard margin: f(x) = x
    >>> d.round(12), abs(round(delta, 12))
    (array([ 0.5, -0.5]), 0.0)
    """

    def __init__(self, source: Rows, memory: int | float | str | None = None) -> None:
        self.source, self.memory = source, memory
        mean = float(np.mean(np.abs(source.diagonal)))
        self.constant = mean if mean > 0.0 else 1.0
        self.size = 0
        self.peak = 0
        self._members = np.empty(0, dtype=np.intp)
        self._slots = np.empty(0, dtype=np.intp)
        self._rows = np.empty((0, source.n))
        self._factor = np.empty((0, 0))
        self._make_room(min(_FIRST, source.n))

    @property
    def members(self) -> Indices:
        """Samples in the order of the factor, (m,), a view."""
        return self._members[: self.size]

    def plan(self, room: int) -> Plan:
        """The large buffers for this many members."""
        n = self.source.n
        return Plan(
            f"the path of C on {n} samples with {room} on the margin",
            {"rows of the elbow": 8 * room * n, "factor": 8 * room * room},
            ("a smaller C_max", "a kernel with a larger length scale, which has fewer samples on the margin"),
        )

    def _make_room(self, room: int) -> None:
        room = min(room, self.source.n)
        self.plan(room).require(self.memory)
        m, before = self.size, len(self._members)
        rows, factor = np.empty((room, self.source.n)), np.zeros((room, room))
        rows[:before], factor[:m, :m] = self._rows, self._factor[:m, :m]
        members, slots = np.zeros(room, dtype=np.intp), np.arange(room, dtype=np.intp)
        members[:before], slots[:before] = self._members, self._slots
        self._members, self._slots, self._rows, self._factor = members, slots, rows, factor

    def clear(self) -> None:
        """Let all go."""
        self.size = 0

    def row(self, place: int) -> Floats:
        """Row of K of the member at a place, a view."""
        return self._rows[self._slots[place]]

    def project(self, i: int) -> tuple[Floats, Floats, float]:
        """Row of K of a sample, its row of the factor were it the next member, and the square of its pivot.

        The last is the squared distance of the sample from the members' span in feature space with c: zero,
        up to rounding, where it depends on them.
        """
        row = self.source.row(i)
        reach = row[self.members] + self.constant
        _forward(self._factor, reach)
        return row, reach, float(row[i] + self.constant - reach @ reach)

    def append(self, i: int, row: Floats, reach: Floats, pivot: float) -> None:
        """Let a sample in, as `project` found it; the pivot must be positive."""
        m = self.size
        if m == len(self._members):
            self._make_room(2 * m)
        self._members[m] = i
        self._rows[self._slots[m]] = row
        self._factor[m, :m], self._factor[m, m] = reach, math.sqrt(pivot)
        self.size = m + 1
        self.peak = max(self.peak, self.size)

    def remove(self, place: int) -> None:
        """Let the member at a place go; the later ones move up."""
        m = self.size
        _delete(self._factor, m, place)
        slot = self._slots[place]
        self._slots[place : m - 1] = self._slots[place + 1 : m]
        self._members[place : m - 1] = self._members[place + 1 : m]
        self._slots[m - 1] = slot  # its row may be overwritten next
        self.size = m - 1

    def dependence(self, reach: Floats) -> Floats:
        """Coefficients, (m,), of a projected sample in terms of the members."""
        out = reach.copy()
        _backward(self._factor, out)
        return out

    def solve(self, R: Floats, S: float) -> tuple[Floats, float]:
        """Solution (d, delta) of the bordered system; there must be a member."""
        x, u = R.copy(), np.ones(self.size)
        _solve_both(self._factor, x, u)
        delta = (float(np.sum(x)) - S) / float(np.sum(u))
        return x - delta * u, delta + self.constant * S

    def combine(self, d: Floats, out: Floats) -> None:
        """Add the rows of the members times d to `out`, (n,)."""
        _combine(self._rows, self._slots[: self.size], d, out)


# Sums may be reordered: it only says how they are rounded, and always in the same way on a given machine.
@compiled(fastmath={"contract", "reassoc"})
def _forward(factor, x):
    """Overwrite x with L^-1 x."""
    for i in range(len(x)):
        total = x[i]
        for j in range(i):
            total -= factor[i, j] * x[j]
        x[i] = total / factor[i, i]


@compiled(fastmath={"contract"})  # fused multiply-adds round once instead of twice
def _backward(factor, x):
    """Overwrite x with L^-T x."""
    for i in range(len(x) - 1, -1, -1):
        x[i] /= factor[i, i]
        for j in range(i):
            x[j] -= x[i] * factor[i, j]


@compiled(fastmath={"contract", "reassoc"})  # as above
def _solve_both(factor, x, u):
    """Overwrite x and u with (L L^T)^-1 x and (L L^T)^-1 u, reading L twice."""
    m = len(x)
    for i in range(m):
        first, second = x[i], u[i]
        for j in range(i):
            first -= factor[i, j] * x[j]
            second -= factor[i, j] * u[j]
        x[i], u[i] = first / factor[i, i], second / factor[i, i]
    for i in range(m - 1, -1, -1):
        first, second = x[i] / factor[i, i], u[i] / factor[i, i]
        x[i], u[i] = first, second
        for j in range(i):
            x[j] -= first * factor[i, j]
            u[j] -= second * factor[i, j]


@compiled
def _delete(factor, m, place):
    """Take a row and column out of the matrix that L L^T is; rotations make L triangular again."""
    cosine, sine = np.empty(m), np.empty(m)
    for k in range(place, m - 1):
        for j in range(k + 2):
            factor[k, j] = factor[k + 1, j]
        for i in range(place, k):
            a, b = factor[k, i], factor[k, i + 1]
            factor[k, i] = cosine[i] * a + sine[i] * b
            factor[k, i + 1] = cosine[i] * b - sine[i] * a
        a, b = factor[k, k], factor[k, k + 1]
        length = math.sqrt(a * a + b * b)
        cosine[k], sine[k] = a / length, b / length
        factor[k, k], factor[k, k + 1] = length, 0.0


@compiled(fastmath={"contract"})  # fused multiply-adds round once instead of twice
def _combine(rows, slots, d, out):
    """Add sum_e d_e rows[slots_e] to out, a strip of columns at a time."""
    n, m = len(out), len(slots)
    for start in range(0, n, _COLUMNS):
        stop = min(start + _COLUMNS, n)
        e = 0
        while e + 4 <= m:
            d0, d1, d2, d3 = d[e], d[e + 1], d[e + 2], d[e + 3]
            r0, r1, r2, r3 = slots[e], slots[e + 1], slots[e + 2], slots[e + 3]
            for j in range(start, stop):
                out[j] += (d0 * rows[r0, j] + d1 * rows[r1, j]) + (d2 * rows[r2, j] + d3 * rows[r3, j])
            e += 4
        while e < m:
            for j in range(start, stop):
                out[j] += d[e] * rows[slots[e], j]
            e += 1
