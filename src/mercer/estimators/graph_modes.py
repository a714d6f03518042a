r"""The smoothest functions on a graph: eigenvectors of its Laplacian for the smallest eigenvalues.

Symbols: W the (n, n) weights, D its degrees, L = D - W; mu and alpha with L alpha = mu D alpha and alpha^T D alpha = 1;
N = D^(-1/2) L D^(-1/2), whose eigenvectors are u = D^(1/2) alpha and whose eigenvalues lie in [0, 2].

Three ways. All eigenvectors by LAPACK, for some hundred nodes. Inverse products by a sparse factorisation of N + s:
where the smallest eigenvalues are tiny, the graph falls into large parts by few cuts, and for the same reason its
factor is sparse. Polynomials of N that suppress all eigenvalues above a bound, where they are not tiny.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.csgraph as csgraph
import scipy.sparse.linalg as spla

from mercer.arrays import Floats
from mercer.numerics.block_krylov import leading_eigenpairs
from mercer.numerics.eigen import eigh_in_place
from mercer.numerics.laplacians import components, laplacian
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import in_background, run_tasks, serial_blas, spans, thread_count

__all__ = ["Modes", "flat_modes", "largest_positive", "smooth_modes"]

_FEW = 500  # nodes up to which all eigenvectors together cost less than some of them
_SHARE = 8  # and beyond, if more than this part of them is wanted
_SHIFT = 1e-10  # s: far below the smallest eigenvalue of interest, far above rounding
_FLAT = 1e-13  # the same of a form of second derivatives, whose eigenvalues are as small as squares, of the largest
_SPARE = 8  # columns beyond those wanted
_POWER = 4.0  # logarithm of how much a round magnifies the smallest eigenvalue over all above the bound
_HIGHEST = 400  # degree of a polynomial; where more is needed a factorisation will be cheaper
_PRICE = 200.0  # of an entry of N in a product, over an operation of a banded factorisation, which bounds a sparse one
_STEPS = 1 << 20  # rows times degrees that a thread goes on for at a time

Monitor = Callable[[int, float], object]


@dataclass(frozen=True, eq=False)
class Modes:
    """Some eigenvalues and eigenvectors of a Laplacian, as far as they were found.

    Attributes
    ----------
    values : (q,) array
        mu, ascending; the constant function with mu = 0 is not among them.
    vectors : (n, q) array
        alpha, with alpha^T D alpha = 1; the first of the largest entries of each column is positive.
    residual : float
        The largest length of N u - mu u.
    iterations : int
        Products that were taken with N or its inverse.
    converged : bool
    parts : int
        Connected parts of the graph.
    solver : str
        "dense", "factor" or "filter".
    """

    values: Floats
    vectors: Floats
    residual: float
    iterations: int
    converged: bool
    parts: int
    solver: str


def smooth_modes(
    W: Any,
    count: int,
    *,
    solver: str = "auto",
    tol: float = 1e-8,
    max_iter: int = 100,
    monitor: Monitor | None = None,
    deadline: float | None = None,
) -> Modes:
    r"""Find the smallest eigenvalues of L alpha = mu D alpha, but for the constant.

    Parameters
    ----------
    W : (n, n) sparse array
        Symmetric weights, not negative; each node has a degree above zero.
    count : int
        Eigenvectors wanted, at most n - 1.
    solver : {"auto", "dense", "factor", "filter"}, default "auto"
        Dense for up to 500 nodes or more than n / 8 vectors; else polynomials, until their degree is so high that a
        factorisation is cheaper: on graphs that a few cuts divide.
    tol : float, default 1e-8
        Tolerance of the residuals; eigenvalues are then exact to about its square.
    max_iter : int, default 100
        Products with the inverse, or rounds of polynomials, at most.
    monitor : callable, optional
        ``monitor(iteration, residual)``; a true answer ends it.
    deadline : float, optional
        Moment of the monotonic clock, for LAPACK and the factorisation.

    Returns
    -------
    Modes

    Notes
    -----
    In a graph of c parts the first c - 1 vectors are constant on each part, with mu = 0; they are known without
    an iteration.

    Examples
    --------
    A circle of n nodes has the eigenvalues 1 - cos(2 pi j / n), twice each.

    >>> n = 12
    >>> W = sp.diags_array(np.ones((4, n)), offsets=[1, -1, n - 1, 1 - n], shape=(n, n)).tocsr()
    >>> smooth_modes(W, 2).values.round(6), float((1 - np.cos(2 * np.pi / n)).round(6))
    (array([0.133975, 0.133975]), 0.133975)
    """
    n = W.shape[0]
    degrees = np.asarray(W.sum(axis=1), dtype=float).ravel()
    root = np.sqrt(degrees)
    N = laplacian(W, normalized=True)
    parts, part = components(W)
    masses = np.bincount(part, weights=degrees, minlength=parts).astype(float)
    null = sp.csr_array((root / np.sqrt(masses[part]), (np.arange(n), part)), shape=(n, parts))
    steps = _steps(masses, min(count, parts - 1))
    rest = count - steps.shape[1]
    values, U, worst, iterations, converged, used = np.zeros(0), np.zeros((n, 0)), 0.0, 0, True, "dense"
    if rest > 0:
        used = _choose(solver, n, rest)
        if used == "dense":
            values, U = _all(N, null, rest, deadline)
        elif used == "factor":
            U, iterations, _ = _by_factor(N, null, rest, tol, max_iter, monitor, deadline)
        else:
            with serial_blas():
                U, iterations, used = _by_filter(N, null, rest, tol, max_iter, monitor, solver == "auto")
            if used == "factor":
                U, iterations, _ = _by_factor(N, null, rest, tol, max_iter, monitor, deadline)
        values, U, worst = _ritz(N, U)
        converged = worst <= max(tol, 1e-10)
    U = np.column_stack([np.asarray(null @ steps), U])
    vectors = U / root[:, None]
    vectors *= largest_positive(vectors)
    return Modes(np.append(np.zeros(steps.shape[1]), values), vectors, worst, iterations, converged, parts, used)


def flat_modes(
    M: Any,
    count: int,
    largest: float,
    *,
    tol: float = 1e-9,
    max_iter: int = 100,
    deadline: float | None = None,
) -> tuple[Floats, Floats, bool]:
    """Find the smallest eigenvalues of a sparse form that is zero on constants, but for the constant.

    Parameters
    ----------
    M : (n, n) sparse array
        Symmetric, positive semidefinite.
    count : int
        Eigenvectors wanted, at most n - 1.
    largest : float
        The largest eigenvalue of M, about.
    tol : float, default 1e-9
        Tolerance of the residuals of the inverse, relative to its largest eigenvalue.
    max_iter : int, default 100
        Products with the inverse, at most.
    deadline : float, optional
        Moment of the monotonic clock, for LAPACK and the factorisation.

    Returns
    -------
    values : (q,) array
        Ascending.
    vectors : (n, q) array
        Orthonormal, each sums to zero; the first of the largest entries of each column is positive.
    converged : bool

    Notes
    -----
    All eigenvectors by LAPACK for up to 500 samples or more than n / 8 vectors, else inverse products by a sparse
    factorisation.

    Examples
    --------
    >>> M = sp.csr_array(np.array([[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]]))
    >>> flat_modes(M, 1, 3.0)[0].round(6)
    array([1.])
    """
    n = M.shape[0]
    null = sp.csr_array(np.full((n, 1), 1.0 / np.sqrt(n)))
    converged = True
    if _choose("auto", n, count) == "dense":
        U = _all(M, null, count, deadline, 2.0 * largest)[1]
    else:
        U, _, converged = _by_factor(M, null, count, tol, max_iter, None, deadline, _FLAT * largest)
        U = np.linalg.qr(_without(U, null))[0]  # the inverse is so large on constants that rounding brings some back
    values, U, _ = _ritz(M, U)
    return values, U * largest_positive(U), converged


def largest_positive(V: Floats) -> Floats:
    """Return the signs of the first of the largest entries of each column."""
    size = np.abs(V)
    place = np.argmax(size > (1.0 - 1e-6) * size.max(axis=0, initial=0.0), axis=0)
    return np.where(V[place, np.arange(V.shape[1])] < 0.0, -1.0, 1.0)


def _choose(solver: str, n: int, count: int) -> str:
    if solver != "auto":
        return solver
    return "dense" if n <= _FEW or _SHARE * count > n else "filter"


def _steps(masses: Floats, count: int) -> Floats:
    """Return coefficients (c, count) of orthonormal functions constant on parts, orthogonal to the constant.

    They are columns of the reflection that takes the first unit vector to the constant.
    """
    v = -np.sqrt(masses / masses.sum())
    v[0] += 1.0
    out = np.zeros((len(masses), count))
    out[1 + np.arange(count), np.arange(count)] = 1.0
    square = float(v @ v)
    return out - (2.0 / square) * np.outer(v, v[1 : count + 1]) if count and square > 0.0 else out


def _ritz(N: Any, U: Floats) -> tuple[Floats, Floats, float]:
    """Return the eigenvalues of N in the space of orthonormal columns, ascending, their vectors, and the residual."""
    image = np.asarray(N @ U)
    T = U.T @ image
    values, s = np.linalg.eigh(0.5 * (T + T.T))
    U, image = U @ s, image @ s
    return np.maximum(values, 0.0), U, float(np.linalg.norm(image - U * values, axis=0).max(initial=0.0))


def _all(N: Any, null: Any, count: int, deadline: float | None, beyond: float = 3.0) -> tuple[Floats, Floats]:
    """Return the smallest eigenvalues by LAPACK; those of the null space are moved beyond the largest."""
    B = np.ascontiguousarray(N.toarray() + beyond * (null @ null.T).toarray())
    values = in_background(eigh_in_place, B, work=5.0 * len(B) ** 3, deadline=deadline)
    return values[:count], B[:count].T.copy()


def _by_factor(
    N: Any,
    null: Any,
    count: int,
    tol: float,
    max_iter: int,
    monitor: Monitor | None,
    deadline: float | None,
    shift: float = _SHIFT,
) -> tuple[Floats, int, bool]:
    """Return vectors by products with the inverse of N + s, how many there were, and whether they have converged."""
    n = N.shape[0]
    shifted = sp.csc_array(N + shift * sp.eye_array(n))

    def factor() -> Any:
        # the matrix is definite: no pivoting is needed, and the ordering may look at its symmetric pattern alone
        options = {"SymmetricMode": True}
        return spla.splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)

    found = in_background(factor, deadline=deadline)

    def product(V: Floats) -> Floats:
        V = found.solve(np.asfortranarray(_without(V, null)))
        return np.ascontiguousarray(_without(V, null))

    # a residual of the inverse, over its largest eigenvalue, is one of N over its smallest
    with serial_blas():  # blocks are narrow: to share them among threads costs more than it saves
        pairs = leading_eigenpairs(product, n, count, tol=min(tol, 1e-9), max_iter=max_iter, monitor=monitor)
    return pairs.vectors, pairs.iterations, pairs.converged


def _by_filter(
    N: Any, null: Any, count: int, tol: float, max_iter: int, monitor: Monitor | None, judged: bool
) -> tuple[Floats, int, str]:
    """Return vectors by rounds of Chebyshev polynomials of N, the products taken, and the solver to continue with."""
    n = N.shape[0]
    order = csgraph.reverse_cuthill_mckee(sp.csr_matrix(N), symmetric_mode=True)  # neighbours near in memory
    N, null, back = sp.csr_array(N[order][:, order]), null[order], np.argsort(order)
    width = min(count + max(_SPARE, count // 2), n - null.shape[1])
    V = np.linalg.qr(_without(np.random.default_rng(0).normal(size=(n, width)), null))[0]
    bound, products, highest = 0.5, 0, min(_HIGHEST, _banded_cost(N) / (_PRICE * N.nnz))
    for turn in range(1, max_iter + 1):
        degree = int(np.ceil(_POWER / np.sqrt(2.0 * bound)))
        if judged and degree > highest:
            return V[back, :count], products, "factor"
        degree = min(max(degree, 4), _HIGHEST)
        V = np.linalg.qr(_without(_filtered(N, V, degree, bound), null))[0]
        products += degree
        image = np.asarray(N @ V)
        T = V.T @ image
        values, s = np.linalg.eigh(0.5 * (T + T.T))
        V, image = V @ s, image @ s
        worst = float(np.linalg.norm(image - V * values, axis=0)[:count].max())
        stopped = monitor is not None and bool(monitor(turn, worst))
        if worst <= tol or stopped:
            break
        bound = float(np.clip(values[-1], 1e-9, 1.0))
    return V[back, :count], products, "filter"


def _banded_cost(N: Any) -> float:
    """Return the operations of a factorisation that fills each row from its first entry on."""
    first = np.minimum.reduceat(N.indices, N.indptr[:-1])  # no row is empty: N has a diagonal
    widths = np.maximum(np.arange(N.shape[0]) - first, 0).astype(float)
    return float(widths @ widths)


def _without(V: Floats, null: Any) -> Floats:
    """Return columns without what they have in the null space, whose vectors do not overlap."""
    if null.shape[1] == 1:  # one part: its entries are those of a vector
        u = null.data
        return V - np.outer(u, u @ V)
    return V - null @ (null.T @ V)


def _filtered(N: Any, V: Floats, degree: int, bound: float) -> Floats:
    """Return T(x) V for the Chebyshev polynomial on [bound, 2], which is at most 1 there and large below it."""
    n, width = V.shape
    csr = (N.data, N.indices.astype(np.int64), N.indptr.astype(np.int64))
    slope, constant = 2.0 / (2.0 - bound), (2.0 + bound) / (2.0 - bound)
    groups = spans(width, -(-width // thread_count(None)))
    # a thread takes some columns through many degrees: none waits for another
    held = [[np.ascontiguousarray(V[:, columns]), np.zeros((n, columns.stop - columns.start))] for columns in groups]
    step = max(1, _STEPS // n)
    for first in range(0, degree, step):
        last = min(first + step, degree)

        def work(which: int, first: int = first, last: int = last) -> None:
            _advance(csr, constant, slope, (first, last), *held[which])
            if (last - first) % 2:
                held[which].reverse()

        run_tasks(range(len(groups)), work)
    return np.hstack([now for now, _ in held])


@compiled
def _advance(csr, constant, slope, degrees, now, before):
    """Go from T_first and the one before it to T_last, T_(k+1) = c (constant T_k - slope N T_k) - T_(k-1) with c = 2.

    c is 1 at first. The arrays take turns: after an odd number of steps the last is in `before`.
    """
    data, indices, indptr = csr
    n, width = now.shape
    for k in range(degrees[0], degrees[1]):
        c = 1.0 if k == 0 else 2.0
        for i in range(n):
            for col in range(width):
                before[i, col] = c * constant * now[i, col] - before[i, col]
            for place in range(indptr[i], indptr[i + 1]):
                weight, j = c * slope * data[place], indices[place]
                for col in range(width):
                    before[i, col] -= weight * now[j, col]
        now, before = before, now
