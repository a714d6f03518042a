r"""The Lanczos process of a weighted, centred matrix that is held in memory and small enough for a cache.

Symbols: ``K`` symmetric, (n, n); ``r`` root and ``s`` share of the weights; ``G`` = R P K P^T R with R = diag(r) and
P = I - 1 s^T; ``v_j`` the orthonormal vectors of the process, ``T`` = V G V^T with ``alpha`` on and ``beta`` beside its
diagonal, ``theta`` its eigenvalues.

Products with one vector at a time read half of K, from the cache; a whole process is a few calls of compiled code. A
block of vectors, as in `mercer.numerics.block_krylov`, needs three or four times as many products of a column, which
is cheaper only if K comes from memory. But one vector sees one eigenvector of a multiple eigenvalue. So once the wanted
pairs have been found a second process starts from a random vector orthogonal to theirs: its largest eigenvalue is
that of the matrix without them, and above the least that was found if one was missed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.linalg import get_lapack_funcs

from mercer.arrays import Floats
from mercer.numerics.block_krylov import Eigenpairs
from mercer.runtime.compiled import compiled

__all__ = ["stored_eigenpairs"]

(_tridiagonal,) = get_lapack_funcs(("stemr",), dtype=np.float64)

_SPARE = 60  # steps beyond four for each wanted pair, at most
_FIRST = 24  # steps beyond two for each wanted pair before the first look at the residuals, which has a cost of its own
_FEWEST, _MOST, _DECADE = 4, 20, 2.4  # steps between two looks, and how many a residual takes to fall by a decade
_BEGIN = 14  # steps before the first look at the rest
_PROBE = 1e-3  # relative residual at which the largest eigenvalue of the rest is known well enough
_ABOVE = 1e-7  # relative excess from which it is larger than the least that was found
_BY_INDEX = 2  # which eigenvalues LAPACK is to find
_ROUNDING = 8.0 * float(np.finfo(float).eps)  # of a product, relative to its length


def stored_eigenpairs(
    K: Floats,
    root: Floats,
    share: Floats,
    count: int,
    *,
    tol: float = 1e-10,
    seed: int = 0,
    monitor: Callable[[int, float], object] | None = None,
) -> Eigenpairs | None:
    """Find the largest eigenvalues of a weighted, centred matrix by products with single vectors.

    Parameters
    ----------
    K : (n, n) array, float64
        Symmetric; nothing below its diagonal is read.
    root : (n,) array
        Roots of the weights.
    share : (n,) array
        Shares of the weights, which sum to one; zeros for a matrix that is not centred.
    count : int
        How many eigenpairs are wanted.
    tol : float, default 1e-10
        Tolerance of the residuals, relative to the largest eigenvalue.
    seed : int, default 0
        Seed of both starts.
    monitor : callable, optional
        ``monitor(step, residual)`` at every look at the residuals; a true answer ends the process.

    Returns
    -------
    Eigenpairs or None
        None if the process ended before all pairs were found, or has missed one: the matrix has a low rank or multiple
        eigenvalues, its eigenvalues are too close together, or the monitor has ended it.

    Notes
    -----
    Cost n^2 operations of multiplication and addition a step, of which there are some 3 count + 40.

    Examples
    --------
    >>> found = stored_eigenpairs(np.diag(0.5 ** np.arange(100.0)), np.ones(100), np.zeros(100), 3)
    >>> found.values.round(6)
    array([1.  , 0.5 , 0.25])
    >>> stored_eigenpairs(np.eye(100), np.ones(100), np.zeros(100), 3) is None  # one eigenvalue, a hundred times
    True
    """
    n, rng = len(K), np.random.default_rng(seed)
    process = _Process(K, root, share, min(n - 1, 4 * count + _SPARE), np.empty((0, n)), rng)
    until = 2 * count + _FIRST
    while process.advance(until):
        theta, s, residuals = process.ritz(count)
        top, worst = float(theta[0]), float(residuals.max())
        if not (np.isfinite(top) and top > 0.0) or (monitor is not None and monitor(process.steps, worst / top)):
            return None
        if worst <= tol * top:
            break
        until += _stride(worst / (tol * top))
    else:
        return None
    vectors = s.T @ process.vectors
    rest = _Process(K, root, share, process.most, vectors, rng)
    until = _BEGIN
    while rest.advance(until):
        largest, _, left = rest.ritz(1)
        if largest[0] > (1.0 + _ABOVE) * theta[-1]:
            return None
        if left[0] <= _PROBE * theta[-1]:
            return Eigenpairs(theta, np.ascontiguousarray(vectors.T), residuals, process.steps + rest.steps, True)
        until += _stride(float(left[0] / (_PROBE * theta[-1])))
    return None


def _stride(excess: float) -> int:
    """Return after how many steps a residual may have fallen by this factor."""
    return min(max(int(_DECADE * math.log10(excess)) + 1, _FEWEST), _MOST)


class _Process:
    """One Lanczos process, orthogonal to vectors that are known."""

    def __init__(
        self, K: Floats, root: Floats, share: Floats, most: int, known: Floats, rng: np.random.Generator
    ) -> None:
        self.matrix = K, root, share
        self.known, self.most, self.steps = len(known), most, 0
        self.basis = np.empty((self.known + most + 1, len(K)))
        self.basis[: self.known] = known
        self.alpha, self.beta, self.work = np.zeros(most), np.zeros(most), np.empty((2, len(K)))
        v = rng.normal(size=len(K))
        for _ in range(2):
            v -= (known @ v) @ known
            v /= np.linalg.norm(v)
        self.basis[self.known] = v

    def advance(self, until: int) -> bool:
        """Go on up to a number of steps; false if the space is invariant, or there is no memory for so many."""
        if until > self.most:
            return False
        counts = self.known, self.steps, until
        self.steps = _advance(self.matrix, self.basis, counts, (self.alpha, self.beta), self.work)
        return self.steps == until

    @property
    def vectors(self) -> Floats:
        """The vectors of the process so far, one a row."""
        return self.basis[self.known : self.known + self.steps]

    def ritz(self, count: int) -> tuple[Floats, Floats, Floats]:
        """Return the largest eigenvalues of T, descending, their vectors as columns, and the residuals."""
        m = self.steps
        beside = np.append(self.beta[: m - 1], 0.0)  # of m numbers, which are overwritten
        found, theta, s, failed = _tridiagonal(self.alpha[:m], beside, _BY_INDEX, 0.0, 0.0, m - count + 1, m)
        if failed or found != count:
            T = np.diag(self.alpha[:m]) + np.diag(self.beta[: m - 1], -1)  # the lower triangle is read
            theta, s = np.linalg.eigh(T)
            theta, s = theta[-count:], s[:, -count:]
        theta, s = theta[:count][::-1].copy(), s[:, :count][:, ::-1]
        return theta, s, self.beta[m - 1] * np.abs(s[-1])


@compiled(fastmath={"reassoc", "contract"})  # sums in another order: rounding alone
def _advance(matrix, basis, counts, T, work):
    """Make more steps of the process; return how many there are, one less than wanted if the space is invariant."""
    (K, root, share), (known, steps, until), (alpha, beta) = matrix, counts, T
    n, u, w = len(K), work[0], work[1]
    for j in range(steps, until):
        v = basis[known + j]
        total = 0.0
        for i in range(n):
            u[i] = root[i] * v[i]
            total += u[i]
        for i in range(n):
            u[i] -= share[i] * total
        _product(K, u, w)
        mean = 0.0
        for i in range(n):
            mean += share[i] * w[i]
        height = 0.0
        for i in range(n):
            w[i] = root[i] * (w[i] - mean)
            alpha[j] += v[i] * w[i]
            height += w[i] * w[i]
        before = after = 0.0
        last = basis[known + j - 1] if j else v
        size = beta[j - 1] if j else 0.0
        for i in range(n):
            w[i] -= alpha[j] * v[i] + size * last[i]
            before += w[i] * w[i]
        for _ in range(3):  # as a rule once is enough
            for row in range(known + j + 1):
                inner = 0.0
                b = basis[row]
                for i in range(n):
                    inner += b[i] * w[i]
                for i in range(n):
                    w[i] -= inner * b[i]
            after = 0.0
            for i in range(n):
                after += w[i] * w[i]
            if after > 0.5 * before:
                break
            before = after
        beta[j] = np.sqrt(after)
        if not beta[j] > _ROUNDING * np.sqrt(n * height):  # rounding, or not a number
            return j
        for i in range(n):
            basis[known + j + 1, i] = w[i] / beta[j]
    return until


@compiled(fastmath={"reassoc", "contract"})  # as above
def _product(K, u, w):
    """Write K u to w: four rows at a time, from the diagonal on, for themselves and for the columns that they are."""
    n = len(K)
    whole = n - n % 4
    w[:] = 0.0
    for i in range(0, whole, 4):
        for row in range(i, i + 4):
            for k in range(i, i + 4):
                w[row] += K[min(row, k), max(row, k)] * u[k]
        a, b, c, d = K[i, i + 4 :], K[i + 1, i + 4 :], K[i + 2, i + 4 :], K[i + 3, i + 4 :]
        p, q, r, s = u[i], u[i + 1], u[i + 2], u[i + 3]
        v, z = u[i + 4 :], w[i + 4 :]  # loops from zero on are vectorised
        x0 = x1 = x2 = x3 = 0.0
        for k in range(len(v)):
            x0 += a[k] * v[k]
            x1 += b[k] * v[k]
            x2 += c[k] * v[k]
            x3 += d[k] * v[k]
            z[k] += a[k] * p + b[k] * q + c[k] * r + d[k] * s
        w[i] += x0
        w[i + 1] += x1
        w[i + 2] += x2
        w[i + 3] += x3
    for i in range(whole, n):
        for k in range(i, n):
            w[i] += K[i, k] * u[k]
            if k > i:
                w[k] += K[i, k] * u[i]
