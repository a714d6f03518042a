"""Laplacians of graphs, and functions of them applied to a few nodes without an eigendecomposition.

Symbols: W the (N, N) weights of a graph, D the diagonal matrix of its degrees, L = D - W, and b a bound on the
eigenvalues of L.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft
import scipy.sparse as sp
import scipy.sparse.csgraph as csgraph
import scipy.sparse.linalg as spla

from mercer.arrays import Floats, Indices
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import run_tasks

__all__ = ["apply_polynomial", "bound_of", "chebyshev", "components", "laplacian", "solve_columns", "stationary"]

_STRIP = 32  # columns at a time: three strips of a few thousand nodes stay in cache
_EXACT = 1e-14  # of the largest coefficient: where a series of polynomials is cut off
_DEGREES = tuple(2**k for k in range(4, 15))


def laplacian(W: Any, normalized: bool) -> sp.csr_array:
    r"""Return D - W, or 1 - D^(-1/2) W D^(-1/2), whose entry is 0 for a node without edges.

    Examples
    --------
    >>> laplacian(sp.csr_array([[0.0, 2.0], [2.0, 0.0]]), normalized=False).toarray()
    array([[ 2., -2.],
           [-2.,  2.]])
    >>> laplacian(sp.csr_array([[0.0, 2.0], [2.0, 0.0]]), normalized=True).toarray()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    degrees = np.asarray(W.sum(axis=1), dtype=float).ravel()
    if not normalized:
        return sp.csr_array(sp.diags_array(degrees) - W)
    roots = np.zeros(len(degrees))
    np.divide(1.0, np.sqrt(degrees), out=roots, where=degrees > 0.0)
    scale = sp.diags_array(roots)
    return sp.csr_array(sp.diags_array((degrees > 0.0).astype(float)) - scale @ W @ scale)


def bound_of(L: Any, normalized: bool) -> float:
    """Return a number that no eigenvalue of a Laplacian exceeds, at most twice the largest.

    An eigenvalue of D - W is at most the largest sum of the degrees of two neighbours.
    """
    if normalized:
        return 2.0
    degrees = L.diagonal()
    entries = L.tocoo()
    i, j = entries.coords
    apart = i != j
    return float((degrees[i[apart]] + degrees[j[apart]]).max(initial=0.0))


def components(W: Any) -> tuple[int, Indices]:
    """Return the number of connected parts of an undirected graph, and the part of each node."""
    count, part = csgraph.connected_components(W, directed=False)
    return int(count), part.astype(np.intp)


def stationary(W: Any, teleport: float) -> tuple[Floats, Any]:
    """Return where a random walk is in the long run, (N,), and its transition probabilities, (N, N).

    With teleport it jumps to any node, from a node without an arc always, and the matrix is dense. Without, there has
    to be a way from every node to every other.

    Examples
    --------
    >>> walk = sp.csr_array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0]])
    >>> stationary(walk, 0.0)[0].round(3)
    array([0.4, 0.4, 0.2])
    """
    N = W.shape[0]
    out = np.asarray(W.sum(axis=1), dtype=float).ravel()
    shares = np.divide(1.0, out, out=np.zeros(N), where=out > 0.0)
    P: Any = sp.csr_array(sp.diags_array(shares) @ W)
    if teleport:
        P = (1.0 - teleport) * P.toarray() + teleport / N
        P[out == 0.0] = 1.0 / N
        system = np.eye(N) - P.T
        system[0] = 1.0
        found = np.linalg.solve(system, np.eye(N)[0])
    elif N == 1:
        found = np.ones(1)
    else:
        # pi (1 - P) = 0 has one solution; with the first entry held at 1, the others follow from the other equations
        system = sp.csc_array(sp.eye_array(N) - P.T)
        rest: Any = spla.spsolve(system[1:, 1:].tocsc(), -system[1:, [0]].toarray().ravel())
        found = np.append(1.0, rest)
    found = np.abs(found)
    return found / found.sum(), P


# --------------------------------------------------------------------------------- functions of a Laplacian


def chebyshev(function: Callable[[Floats], Floats], bound: float) -> Floats | None:
    """Return the coefficients of a function on [0, bound] in Chebyshev polynomials, up to rounding.

    None if it takes more than some ten thousand of them: the function has a corner or a pole.

    Examples
    --------
    >>> chebyshev(lambda x: (2.0 - x) ** 2, 2.0).round(12).tolist()
    [1.5, -2.0, 0.5]
    """
    for degree in _DEGREES:
        angles = np.pi * (np.arange(degree) + 0.5) / degree
        values = np.asarray(function(0.5 * bound * (1.0 + np.cos(angles))), dtype=float)
        coefficients = scipy.fft.dct(values, type=2) / degree
        coefficients[0] *= 0.5
        small = _EXACT * np.abs(coefficients).max()
        needed = int(np.flatnonzero(np.abs(coefficients) > small)[-1]) + 1 if small > 0.0 else 1
        if needed <= 0.75 * degree:
            return coefficients[:needed]
    return None


def apply_polynomial(L: Any, bound: float, coefficients: Floats, nodes: Indices, rows: Indices) -> Floats:
    """Return entries (rows, nodes) of a polynomial in L that is given by its Chebyshev coefficients on [0, bound]."""
    out = np.empty((len(rows), len(nodes)))
    csr = (L.data, L.indices.astype(np.int64), L.indptr.astype(np.int64))
    scale = 2.0 / bound if bound > 0.0 else 0.0

    def work(start: int) -> None:
        some = nodes[start : start + _STRIP]
        before, now, total = (np.zeros((L.shape[0], len(some))) for _ in range(3))
        now[some, np.arange(len(some))] = 1.0
        total[some, np.arange(len(some))] = coefficients[0]
        for k, coefficient in enumerate(coefficients[1:], 1):
            _advance(csr, scale, 1.0 if k == 1 else 2.0, coefficient, now, before, total)
            before, now = now, before
        out[:, start : start + _STRIP] = total[rows]

    run_tasks(range(0, len(nodes), _STRIP), work)
    return out


@compiled
def _advance(csr, scale, factor, coefficient, now, before, total):
    """Replace T_(k-1) by T_(k+1) = 2 x T_k - T_(k-1), x = scale L - 1, and add it to the sum, row by row."""
    data, indices, indptr = csr
    width = now.shape[1]
    for i in range(now.shape[0]):
        for c in range(width):
            before[i, c] = -factor * now[i, c] - before[i, c]
        for place in range(indptr[i], indptr[i + 1]):
            weight, j = factor * scale * data[place], indices[place]
            for c in range(width):
                before[i, c] += weight * now[j, c]
        for c in range(width):
            total[i, c] += coefficient * before[i, c]


def solve_columns(solve: Callable[[Floats], Floats], N: int, nodes: Indices, rows: Indices) -> Floats:
    """Return entries (rows, nodes) of the inverse that a function `solve` of columns (N, c) applies."""
    out = np.empty((len(rows), len(nodes)))

    def work(start: int) -> None:
        some = nodes[start : start + _STRIP]
        unit = np.zeros((N, len(some)))
        unit[some, np.arange(len(some))] = 1.0
        out[:, start : start + _STRIP] = solve(unit)[rows]

    run_tasks(range(0, len(nodes), _STRIP), work)
    return out
