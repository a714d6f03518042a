"""Pivoted Cholesky factors of low rank, and the preconditioner made of one.

Symbols: ``K`` a symmetric positive semi-definite matrix, (n, n), known by its diagonal and by rows; ``L`` its partial
factor, (n, r), K ~ L L^T; ``s`` a positive diagonal; ``P`` = L L^T + diag(s).

The rows of largest remaining diagonal are taken first, so that the trace of what is left falls as fast as a choice of
rows without looking ahead allows. Where K is smooth a few rows carry nearly all of it, and P is so near to K + diag(s)
that conjugate gradients need a handful of iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from mercer.arrays import Floats, Indices
from mercer.errors import ParameterError
from mercer.numerics.cholesky import CholeskyFactor, safe_cholesky
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import Monitor, Stopped, run_tasks, spans

__all__ = ["PartialFactor", "Preconditioner", "block_pivoted_cholesky", "pivoted_cholesky"]

CANDIDATES = 512  # rows among which pivots are taken before all others are looked at again
_AT_ONCE = 128  # pivots that are taken at most before all rows of L are extended
_NEAR = 0.5  # of the largest remaining diagonal entry: a pivot may be this much smaller
_ROWS = 1024  # rows of L that a thread computes at once


@dataclass(frozen=True, eq=False)
class PartialFactor:
    """A factor of low rank, K ~ L L^T.

    Attributes
    ----------
    array : (n, r) array
        L.
    pivots : (r,) array of int
        The rows that were taken, in their order.
    left : float
        Trace of K - L L^T, which is positive semi-definite: a bound on its largest eigenvalue.
    """

    array: Floats
    pivots: Indices
    left: float


def pivoted_cholesky(
    diagonal: Floats, row: Callable[[int], Floats], rank: int, tol: float = 1e-12, share: float = 0.0
) -> PartialFactor:
    """Cholesky factor of a few rows, those of largest remaining diagonal first.

    Parameters
    ----------
    diagonal : (n,) array
        Diagonal of K.
    row : callable
        ``row(i)`` returns K[i], (n,).
    rank : int
        Rows to take at most.
    tol : float, default 1e-12
        The factor ends when no remaining diagonal entry is larger than tol times the largest of K.
    share : float, default 0.0
        It also ends when tr(K - L L^T) <= share tr K.

    Returns
    -------
    factor : PartialFactor

    Notes
    -----
    Cost r rows of K and O(n r^2); memory O(n r).

    Examples
    --------
    >>> K = np.array([[4.0, 2.0], [2.0, 1.0]])
    >>> factor = pivoted_cholesky(np.diag(K), lambda i: K[i], rank=2)
    >>> factor.array.T, factor.left
    (array([[2., 1.]]), 0.0)
    """
    rest = np.array(diagonal, dtype=np.float64)
    n = len(rest)
    least, goal = tol * float(np.max(rest, initial=0.0)), share * float(rest.sum())
    rows = np.empty((min(rank, n), n))  # of L^T: each step writes one, and the products below read them in order
    pivots: list[int] = []
    while len(pivots) < len(rows):
        i = int(np.argmax(rest))
        if not rest[i] > least or (share and rest.sum() <= goal):
            break
        done = len(pivots)
        new = np.asarray(row(i), dtype=np.float64) - rows[:done, i] @ rows[:done]
        new /= np.sqrt(rest[i])
        new[pivots] = 0.0  # exactly: those rows are reproduced already
        rows[done] = new
        rest -= new * new
        np.maximum(rest, 0.0, out=rest)
        pivots.append(i)
        rest[pivots] = 0.0
    array = np.ascontiguousarray(rows[: len(pivots)].T)
    return PartialFactor(array, np.array(pivots, dtype=np.intp), float(rest.sum()))


def block_pivoted_cholesky(
    diagonal: Floats,
    block: Callable[[Any, Indices], Floats],
    rank: int,
    tol: float = 0.0,
    *,
    rng: np.random.Generator | None = None,
    dtype: Any = np.float64,
    n_threads: int | None = None,
    monitor: Monitor | None = None,
    enough: Callable[[Floats, Floats], bool] | None = None,
) -> PartialFactor:
    r"""Cholesky factor of a few rows, taken many at a time: nearly the largest first, or drawn.

    .. math:: K \approx L L^\top, \qquad d = \mathrm{diag}(K - L L^\top), \qquad
        \Pr(\text{pivot} = i) = d_i / \sum_j d_j

    Parameters
    ----------
    diagonal : (n,) array
        Diagonal of K.
    block : callable
        ``block(rows, index)`` returns K[rows][:, index], for a slice or places of rows; called from several threads.
    rank : int
        Rows to take at most.
    tol : float, default 0.0
        The factor ends when tr(K - L L^T) <= tol tr K, and when what is left is rounding.
    rng : Generator, optional
        Draw pivots, with the remaining diagonal as their probabilities. None takes large remaining entries.
    dtype : dtype, default float64
        Data type of L. In float32 it takes half the memory and time, and entries of L L^T are off by about 1e-6 of the
        largest.
    n_threads : int, optional
        None uses every core.
    monitor : callable, optional
        Called with the fraction done; a true answer raises `Stopped`.
    enough : callable, optional
        Called after each block with L so far and the diagonal of K - L L^T; a true answer ends the factor.

    Returns
    -------
    factor : PartialFactor

    Notes
    -----
    Taken one at a time, each pivot needs a product with all of L, which is bound by memory. Here some hundred
    candidates are looked at together: those of largest remaining diagonal, or drawn. Among them pivots are found one
    after the other on their own small matrix, and then all rows of L get the new columns by matrix products.

    * Large first: a candidate is taken while its remaining entry is at least half of the largest that any other row can
      have. The pivots are not always the very largest, and the trace left is about the same (often smaller).
    * Drawn: a candidate drawn with probability d_i from the entries at the start of the block is accepted with
      probability d_i(now) / d_i(start), so that the law is exactly that of drawing one at a time.

    Cost r columns of K and O(n r^2) in products of matrices; memory O(n r). The result does not depend on the number of
    threads.

    References
    ----------
    ---------- Y. Chen, E. N. Epperly, J. A. Tropp, R. J. Webber, Randomly pivoted Cholesky (2022);
    E. N. Epperly, J. A. Tropp, R. J. Webber, Embrace rejection: accelerated randomly pivoted Cholesky (2024).

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 50)
    >>> K = np.exp(-((x[:, None] - x) ** 2))
    >>> factor = block_pivoted_cholesky(np.diag(K), lambda rows, index: K[rows][:, index], rank=50, tol=1e-9)
    >>> len(factor.pivots) < 10, factor.left <= 50e-9
    (True, True)
    """
    rest = np.array(diagonal, dtype=np.float64)
    n, rank = len(rest), min(rank, len(rest))
    goal = tol * float(rest.sum())
    least = float(np.finfo(dtype).eps) * float(np.max(rest, initial=0.0))  # times the rank: what is below is rounding
    L = np.empty((n, rank), dtype)
    pivots, left = np.zeros(0, dtype=np.intp), float(rest.sum())
    while len(pivots) < rank and left > goal:
        done = len(pivots)
        limit = 4.0 * least * (1 + done)
        if rng is None:
            some, floor = _largest(rest, min(CANDIDATES, n))
            limit, chance = max(limit, _NEAR * floor), np.zeros(0)
        else:
            some = rng.choice(n, min(CANDIDATES, 2 * (rank - done) + 8), p=rest / rest.sum())
            chance = rng.random(len(some)) * rest[some]
        own = L[some, :done].astype(np.float64)
        G = np.asarray(block(some, some), dtype=np.float64) - own @ own.T
        order, T = pick(G, chance, limit, min(rank - done, _AT_ONCE))
        if not len(order):
            if rng is not None and rest.max() > limit:
                continue  # all candidates were rejected, which happens; the largest has a chance of its own
            break
        new = some[order]
        shares = extend(L, rest, block, (pivots, new, T), n_threads)
        falls = left - np.cumsum(shares)
        count = int(np.argmax(falls <= goal)) + 1 if np.any(falls <= goal) else len(new)
        pivots = np.concatenate([pivots, new[:count]])
        left = float(rest.sum()) if count == len(new) else max(float(falls[count - 1]), 0.0)
        if count < len(new) or (enough is not None and enough(L[:, : len(pivots)], rest)):
            break
        if monitor is not None and monitor(len(pivots) / rank):
            raise Stopped
    r = len(pivots)
    # fresh memory is slow to touch: a copy is made only if it saves much
    return PartialFactor(L[:, :r] if 2 * r > rank else np.ascontiguousarray(L[:, :r]), pivots, left)


def _largest(rest: Floats, count: int) -> tuple[Indices, float]:
    """Return the places of the largest entries, and the largest of all others."""
    if count >= len(rest):
        return np.arange(len(rest), dtype=np.intp), 0.0
    order = np.argpartition(-rest, count)
    return np.sort(order[:count]), float(rest[order[count]])


def extend(L: Floats, rest: Floats, block: Any, taken: tuple[Indices, Indices, Floats], n_threads: Any) -> Floats:
    """Write the columns of new pivots into L and lessen the remaining diagonal; return what each takes of the trace."""
    pivots, new, T = taken
    done, last = len(pivots), len(pivots) + len(new)
    own, inverse = np.ascontiguousarray(L[new, :done].T), np.ascontiguousarray(_inverse(T).T, dtype=L.dtype)
    pieces = spans(len(L), _ROWS)
    shares = np.zeros((len(pieces), len(new)))

    def work(place: int) -> None:
        rows = pieces[place]
        C = np.asarray(block(rows, new), dtype=L.dtype)
        if done:
            C = C - L[rows, :done] @ own
        C = C @ inverse
        L[rows, done:last] = C
        C *= C
        rest[rows] -= C.sum(axis=1, dtype=np.float64)
        shares[place] = C.sum(axis=0, dtype=np.float64)

    run_tasks(range(len(pieces)), work, n_threads=n_threads)
    np.maximum(rest, 0.0, out=rest)
    L[pivots, done:last] = 0.0  # exactly: those rows are reproduced already
    L[new, done:last] = T
    rest[pivots], rest[new] = 0.0, 0.0
    return shares.sum(axis=0)


def _inverse(T: Floats) -> Floats:
    """Return the inverse of a lower triangle."""
    return solve_triangular(T, np.eye(len(T)), lower=True, check_finite=False)


@compiled
def pick(G, chance, limit, most):
    """Pivots among candidates whose matrix is G, and the triangular factor of the matrix of these.

    The largest remaining entry is next; or, where chances are given, each candidate in turn whose remaining entry is
    above its chance.
    """
    q = G.shape[0]
    rest = np.empty(q)
    for i in range(q):
        rest[i] = G[i, i]
    columns = np.empty((q, min(q, most)))
    order = np.empty(min(q, most), np.intp)
    count, turn = 0, 0
    while count < order.size:
        if chance.size:
            while turn < q and not (rest[turn] > limit and rest[turn] > chance[turn]):
                turn += 1
            if turn == q:
                break
            i = turn
        else:
            i = np.argmax(rest)
            if not rest[i] > limit:
                break
        scale = 1.0 / np.sqrt(rest[i])
        for j in range(q):
            s = G[j, i]
            for k in range(count):
                s -= columns[j, k] * columns[i, k]
            columns[j, count] = s * scale
            rest[j] -= columns[j, count] ** 2
        rest[i] = 0.0
        order[count] = i
        count += 1
    order = order[:count].copy()
    T = np.zeros((count, count))
    for j in range(count):
        for k in range(j + 1):
            T[j, k] = columns[order[j], k]
    return order, T


@dataclass(frozen=True, eq=False)
class Preconditioner:
    """P = L L^T + diag(s), which is solved by, drawn from and whose determinant is known at the price of O(n r).

    Attributes
    ----------
    array : (n, r) array
        L.
    shift : (n,) array
        s, positive.
    inner : CholeskyFactor
        Factor of I + L^T diag(s)^-1 L, (r, r).

    Examples
    --------
    >>> P = Preconditioner.of(np.array([[1.0], [1.0]]), np.ones(2))
    >>> P.solve(np.array([[3.0], [3.0]])).ravel()
    array([1., 1.])
    """

    array: Floats
    shift: Floats
    inner: CholeskyFactor

    @classmethod
    def of(cls, array: Floats, shift: float | Floats) -> Preconditioner:
        """P of a factor (n, r) and a positive shift, one number or (n,)."""
        full = np.array(np.broadcast_to(np.asarray(shift, dtype=np.float64), (len(array),)))
        if not (np.all(full > 0.0) and np.all(np.isfinite(full))):
            raise ParameterError(
                "The preconditioner of a pivoted factor divides by the shift (alpha, noise), which was given with "
                f"the value {full.min():.3g}; it must be positive and finite. Use preconditioner=None."
            )
        half = array / np.sqrt(full)[:, None]
        return cls(array, full, safe_cholesky(half.T @ half, 1.0))  # of one array: half of the products

    def solve(self, R: Floats) -> Floats:
        """P^-1 R for R (n, k)."""
        Z = R / self.shift[:, None]
        return Z - (self.array @ self.inner.solve(self.array.T @ Z)) / self.shift[:, None]

    def inverse_root(self) -> Floats:
        """E, (n, r), with P^-1 = diag(s)^-1 - E E^T."""
        return self.inner.half_solve(self.array.T).T / self.shift[:, None]

    def logdet(self) -> float:
        """Logarithm of the determinant of P."""
        return float(np.sum(np.log(self.shift))) + self.inner.logdet()

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw `count` vectors from the normal distribution of covariance P, (n, count)."""
        n, r = self.array.shape
        own, shared = rng.normal(size=(n, count)), rng.normal(size=(r, count))
        return np.sqrt(self.shift)[:, None] * own + self.array @ shared
