r"""Products with parts of Kronecker products, which are never formed.

Symbols: pairs (r_j, c_j) of the source, j = 1 ... n, and (a_i, b_i) of the target, i = 1 ... m; L (m1, q1) and R (m2,
q2) the factors; V (n, k). Asked for is

    u_i = sum_j L[a_i, r_j] R[b_i, c_j] v_j,

the entries (a_i, b_i) of L M R^T where M[r_j, c_j] = v_j. It takes n m1 + m q2 operations if M is sparse (or n m2 +
m q1, the other way round), and two matrix products if it is not; the matrix of all n m entries would take n m.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats, Indices
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import Monitor, run_tasks, spans

__all__ = ["Factor", "PairIndex", "pair_products"]

Factor = NDArray[Any] | None
"""A matrix; whole numbers (m1,), of an identity: which object of the source is the same, -1 for none; None, of ones."""

_ROWS = 64  # of the target's left objects at a time: their columns of L and of L M stay in cache
_GAIN = 8.0  # how much quicker a matrix product does an operation than the loops over pairs
_WORK = 5e8  # operations of one task: some 50 milliseconds


class PairIndex:
    """Pairs of places in two collections, sorted by either side once.

    Parameters
    ----------
    index : (n, 2) intp array
    sizes : (int, int)
        Sizes of the two collections.

    Examples
    --------
    >>> pairs = PairIndex(np.array([[1, 0], [0, 1], [1, 1]]), (2, 2))
    >>> pairs.left, pairs.swapped.index.tolist(), pairs.is_grid
    ((array([1, 0, 2]), array([0, 1, 3])), [[0, 1], [1, 0], [1, 1]], False)
    """

    def __init__(self, index: Indices, sizes: tuple[int, int]) -> None:
        self.index, self.sizes = index, sizes

    def __len__(self) -> int:
        return len(self.index)

    @cached_property
    def left(self) -> tuple[Indices, Indices]:
        """Pairs in the order of their left places, and where each place begins, (q1 + 1,)."""
        places = self.index[:, 0]
        if self.sizes[0] <= 2**16:
            places = places.astype(np.uint16)  # which are sorted in linear time
        order = np.argsort(places, kind="stable")
        counts = np.bincount(self.index[:, 0], minlength=self.sizes[0])
        return order, np.concatenate([[0], np.cumsum(counts)])

    @cached_property
    def swapped(self) -> PairIndex:
        """The same pairs with their sides exchanged."""
        return PairIndex(np.ascontiguousarray(self.index[:, ::-1]), (self.sizes[1], self.sizes[0]))

    @property
    def right(self) -> tuple[Indices, Indices]:
        """Pairs in the order of their right places, and where each place begins, (q2 + 1,)."""
        return self.swapped.left

    @cached_property
    def is_grid(self) -> bool:
        """Whether every left place is paired with every right place, once."""
        if len(self) != self.sizes[0] * self.sizes[1]:
            return False
        seen = np.zeros(len(self), dtype=bool)
        seen[self.flat] = True
        return bool(seen.all())

    @property
    def flat(self) -> Indices:
        """Places of the pairs in the table of all pairs, read by rows."""
        return self.index[:, 0] * self.sizes[1] + self.index[:, 1]

    def table(self, v: Floats) -> Floats:
        """Return numbers (n,) at their places of the table (q1, q2) of all pairs; those of equal pairs are added."""
        return _sums(self.flat, v, self.sizes[0] * self.sizes[1]).reshape(self.sizes)

    def take(self, rows: Indices) -> PairIndex:
        """Return some of the pairs."""
        return PairIndex(self.index[rows], self.sizes)


def pair_products(
    left: Factor,
    right: Factor,
    source: PairIndex,
    target: PairIndex,
    V: Floats,
    *,
    n_threads: int | None = None,
    monitor: Monitor | None = None,
) -> Floats:
    """Return u_i = sum_j L[a_i, r_j] R[b_i, c_j] v_j, shape (m, k).

    Parameters
    ----------
    left, right : (m1, q1) and (m2, q2) arrays, or identities or ones as `Factor` describes
    source, target : PairIndex
        Places in the columns, and in the rows, of the two factors.
    V : (n, k) array
    n_threads, monitor : optional
        As in `mercer.runtime.tiling.run_tasks`.

    Notes
    -----
    Memory k q1 q2 numbers where matrix products are used, else n k and, for each thread, 128 q2. Every u_i is summed in
    a fixed order: it does not depend on the number of threads.

    Examples
    --------
    >>> L, R = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[1.0, 3.0], [3.0, 1.0]])
    >>> grid = PairIndex(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), (2, 2))
    >>> v = np.array([[1.0], [0.0], [2.0], [-1.0]])
    >>> np.array_equal(pair_products(L, R, grid, grid, v), np.kron(L, R) @ v)
    True
    """
    V = np.asarray(V, dtype=np.float64)
    if left is None or right is None:
        return _beside_ones(left, right, source, target, V)
    if _is_matches(left):
        return pair_products(right, left, source.swapped, target.swapped, V, n_threads=n_threads, monitor=monitor)
    assert left.ndim == 2, "two identities have no Kronecker product here"
    (m1, q1), n, m = left.shape, len(source), len(target)
    if _is_matches(right):
        q2 = source.sizes[1]
        costs = {("sparse", False): n * m1, ("dense", False): m1 * q1 * q2 / _GAIN}
    else:
        m2, q2 = right.shape
        costs = {
            ("sparse", False): n * m1 + m * q2,
            ("sparse", True): n * m2 + m * q1,
            ("dense", False): m1 * q2 * (q1 + m2) / _GAIN,
            ("dense", True): m2 * q1 * (q2 + m1) / _GAIN,
        }
    kind, turned = min(costs, key=costs.__getitem__)
    if turned:
        left, right, source, target = right, left, source.swapped, target.swapped
    work = (_Sparse if kind == "sparse" else _Dense)(left, right, source, target, V)
    work.run(n_threads, monitor)
    return work.out


def _is_matches(factor: Factor) -> bool:
    return factor is not None and factor.ndim == 1


def _beside_ones(left: Factor, right: Factor, source: PairIndex, target: PairIndex, V: Floats) -> Floats:
    """Products where a factor is all ones: sums over the objects of its side."""
    if left is None and right is None:
        return np.broadcast_to(V.sum(axis=0), (len(target), V.shape[1])).copy()
    if left is None:
        return _beside_ones(right, None, source.swapped, target.swapped, V)
    columns = [_sums(source.index[:, 0], v, source.sizes[0]) for v in V.T]
    sums = np.stack(columns, axis=1) if columns else np.zeros((source.sizes[0], 0))
    values = _matched(sums, left) if _is_matches(left) else left @ sums
    return values[target.index[:, 0]]


def _sums(places: Indices, v: Floats, size: int) -> Floats:
    """Sums of the numbers at each place."""
    return np.asarray(np.bincount(places, weights=v, minlength=size), dtype=np.float64)


def _matched(rows: Floats, matches: Indices) -> Floats:
    """Rows at places, zero where the place is -1."""
    return np.where((matches >= 0)[:, None], rows[matches], 0.0)


class _Work:
    """A product in tasks, each of some left objects of the target."""

    def __init__(self, left: Floats, right: Factor, source: PairIndex, target: PairIndex, V: Floats) -> None:
        self.left, self.right, self.source, self.target, self.V = left, right, source, target, V
        self.order, self.bounds = target.left
        self.out = np.zeros((len(target), V.shape[1]))

    def run(self, n_threads: int | None, monitor: Monitor | None) -> None:
        used = np.flatnonzero(np.diff(self.bounds))  # left objects that are in a pair
        tasks = [used[span] for span in spans(len(used), self.step())]
        run_tasks(tasks, self.some, n_threads=n_threads, monitor=monitor)

    def step(self) -> int:
        raise NotImplementedError

    def some(self, rows: Indices) -> None:
        raise NotImplementedError

    def places(self, rows: Indices) -> tuple[Indices, Indices, Indices]:
        """Pairs of the target that have these left objects: which they are, their row of these, their right object."""
        low, high = self.bounds[rows[0]], self.bounds[rows[-1] + 1]
        pairs = self.order[low:high]  # objects between two of the rows are in no pair
        return pairs, np.repeat(np.arange(len(rows)), np.diff(self.bounds)[rows]), self.target.index[pairs, 1]


class _Sparse(_Work):
    """Pair by pair: L M by sums of columns of L, then a dot product for each pair of the target."""

    def __init__(self, left: Floats, right: Factor, source: PairIndex, target: PairIndex, V: Floats) -> None:
        super().__init__(left, right, source, target, V)
        order, self.starts = source.right
        self.members = np.ascontiguousarray(source.index[order, 0])
        self.values = np.ascontiguousarray(V[order].T)

    def step(self) -> int:
        return _ROWS

    def some(self, rows: Indices) -> None:
        pairs, row, column = self.places(rows)
        columns = np.ascontiguousarray(self.left[rows].T)
        for k, values in enumerate(self.values):
            product = np.zeros((len(self.starts) - 1, len(rows)))  # (L M)^T
            _collect(columns, self.members, self.starts, values, product)
            if _is_matches(self.right):
                place = self.right[column]  # pyright: ignore[reportOptionalSubscript]
                self.out[pairs, k] = np.where(place >= 0, product[place, row], 0.0)
            else:
                found = np.empty(len(pairs))
                _dots(np.ascontiguousarray(product.T), self.right, row, column, found)
                self.out[pairs, k] = found


class _Dense(_Work):
    """By two matrix products, of which the entries of the target are kept."""

    right: NDArray[Any]

    def __init__(self, left: Floats, right: Factor, source: PairIndex, target: PairIndex, V: Floats) -> None:
        super().__init__(left, right, source, target, V)
        self.tables = [source.table(v) for v in V.T]

    def step(self) -> int:
        q1, q2 = self.source.sizes
        return int(np.clip(_WORK / (2.0 * q2 * (q1 + len(self.right)) + 1.0), 96, 512))

    def some(self, rows: Indices) -> None:
        pairs, row, column = self.places(rows)
        left, right = self.left[rows], self.right
        for k, table in enumerate(self.tables):
            if right.ndim == 1:
                place = right[column]
                self.out[pairs, k] = np.where(place >= 0, (left @ table)[row, place], 0.0)
            else:
                self.out[pairs, k] = (left @ table @ right.T)[row, column]


@compiled
def _collect(columns, members, starts, values, out):
    """out[c] += sum_j values[j] columns[members[j]] over the pairs j of right object c."""
    for c in range(len(starts) - 1):
        for j in range(starts[c], starts[c + 1]):
            value, member = values[j], members[j]
            for x in range(columns.shape[1]):
                out[c, x] += value * columns[member, x]


# the order of a dot product's sum is the compiler's, and the same every time: any order is as exact as another
@compiled(fastmath=("contract", "reassoc"))
def _dots(A, B, rows, columns, out):
    """out[i] = <A[rows[i]], B[columns[i]]>."""
    for i in range(len(rows)):
        a, b, total = rows[i], columns[i], 0.0
        for x in range(A.shape[1]):
            total += A[a, x] * B[b, x]
        out[i] = total
