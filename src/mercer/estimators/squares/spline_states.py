r"""Smoothing splines on the line in O(n), as a chain of states.

Symbols: x_1 < ... < x_n the places, h their distances, m the order, s_i = (f, f', ..., f^(m-1)) at x_i the state there.

Between two places the least integral of the squared m-th derivative that leads from s_i to s_(i+1) is the squared
length of L^-1 (s_(i+1) - A s_i), with Taylor's matrix A and the covariance L L^T of m-fold integrated noise over h.
So the smoothing spline solves a sparse problem of least squares, two blocks of m columns at a time: it is made
triangular by reflections from left to right, and solved from right to left. Nothing is subtracted, and a small distance
is divided by only to weigh a row, so places may be arbitrarily close to each other.
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.runtime.compiled import compiled

__all__ = ["evaluate_states", "smooth_states"]


def smooth_states(x: Floats, y: Floats, weight: Floats, alpha: float, order: int) -> tuple[Floats, Floats]:
    r"""States of the smoothing spline, and how much each value follows its own observation.

    .. math:: \min_f \; \sum_i w_i (y_i - f(x_i))^2 + \alpha \int (f^{(m)})^2

    Parameters
    ----------
    x : (n,) array
        Increasing, at least `order` of them.
    y : (n, k) array
    weight : (n,) array
        Positive.
    alpha : float
        Positive.
    order : int
        m, from 1; the function is piecewise a polynomial of degree 2m - 1, outside of degree m - 1.

    Returns
    -------
    states : (n, m, k) array
        f and its first m - 1 derivatives at x.
    leverage : (n,) array
        Diagonal of the matrix that maps y to f(x), from 0 to 1.

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 2.0, 3.0])
    >>> states, leverage = smooth_states(x, x[:, None] ** 2, np.ones(4), 1e9, 2)  # nearly the line of least squares
    >>> states[:, 0, 0].round(3), states[:, 1, 0].round(3)
    (array([-1.,  2.,  5.,  8.]), array([3., 3., 3., 3.]))
    """
    n, k = y.shape
    unit = (x[-1] - x[0]) / max(n - 1, 1) if n > 1 else 1.0
    steps = np.diff(x) / unit
    power = np.arange(order)
    lag = 2 * order - 1 - power[:, None] - power
    falls = np.array([float(factorial(order - 1 - j)) for j in power])
    noise = 1.0 / (lag * falls[:, None] * falls)  # over a distance of one
    # L^-1 upper triangular: the rows of high derivatives, of moderate size at small h, hold nothing of the low ones
    root = np.sqrt(alpha) / unit ** (order - 0.5) * np.linalg.cholesky(np.linalg.inv(noise)).T
    taylor = np.array([[1.0 / factorial(b - a) if b >= a else 0.0 for b in power] for a in power])
    diagonal, beside, right = np.zeros((n, order, order)), np.zeros((n, order, order)), np.zeros((n, order, k))
    _triangularise(steps, y, np.sqrt(weight), root, taylor, (diagonal, beside, right))
    leverage = np.zeros(n)
    _solve_back(diagonal, beside, right, leverage)
    states = right / (unit**power)[:, None]
    return states, np.minimum(leverage * weight, 1.0)


def evaluate_states(x: Floats, states: Floats, new: Floats) -> Floats:
    """Values (q, k) at new places (q,) of the piecewise polynomial with given states (n, m, k) at x.

    Between two places it is the polynomial of degree 2m - 1 with these states, outside that of degree m - 1.

    Examples
    --------
    >>> evaluate_states(np.array([0.0, 1.0]), np.array([[[0.0], [0.0]], [[1.0], [3.0]]]), np.array([0.5, 2.0]))[:, 0]
    array([0.125, 4.   ])
    """
    n, m, k = states.shape
    out = np.empty((len(new), k))
    inside = (new >= x[0]) & (new <= x[-1]) if n > 1 else np.zeros(len(new), dtype=bool)
    place = np.clip(np.searchsorted(x, new[inside], side="right") - 1, 0, max(n - 2, 0))
    if inside.any():
        h = x[place + 1] - x[place]
        t = (new[inside] - x[place]) / h
        scale = h[:, None] ** np.arange(m)
        ends = np.concatenate([states[place] * scale[:, :, None], states[place + 1] * scale[:, :, None]], axis=1)
        terms = t[:, None] ** np.arange(2 * m) @ _hermite(m)  # (q, 2m)
        out[inside] = np.einsum("qj,qjk->qk", terms, ends)
    for side, rows in ((0, new < x[0]), (-1, (new > x[-1]) | (np.full(len(new), n == 1) & (new >= x[0])))):
        away = (new[rows] - x[side])[:, None] ** np.arange(m) / np.array([float(factorial(j)) for j in range(m)])
        out[rows] = away @ states[side]
    out[np.isnan(new)] = np.nan
    return out


def _hermite(m: int) -> Floats:
    """Powers' coefficients (2m, 2m) of the polynomials on [0, 1] that have one of the m derivatives at 0, then at 1."""
    ends = np.zeros((2 * m, 2 * m))
    for j in range(m):
        ends[j, j] = factorial(j)
        for power in range(j, 2 * m):
            ends[m + j, power] = factorial(power) / factorial(power - j)
    return np.linalg.inv(ends)


@compiled
def _triangularise(steps: Floats, y: Floats, root_weight: Floats, root: Floats, taylor: Floats, out: Any) -> None:
    """Reflect the rows of each two neighbouring states until those of the left one are triangular."""
    diagonal, beside, right = out
    n, k = y.shape
    m = root.shape[0]
    A = np.zeros((2 * m + 1, 2 * m + k))
    carried = np.zeros((m, m + k))
    for i in range(n):
        last = i == n - 1
        A[:, :] = 0.0
        top = 0
        width = m if last else 2 * m
        if not last:  # the rows of large numbers come first: reflections keep their small neighbours exact
            h = steps[i]
            for a in range(m):
                for b in range(m):
                    weigh = root[a, b] * h ** (b - m + 0.5)
                    A[a, m + b] += weigh
                    for c in range(b, m):
                        A[a, c] -= weigh * taylor[b, c] * h ** (c - b)
            top = m
        A[top, 0] = root_weight[i]
        A[top, width : width + k] = root_weight[i] * y[i]
        A[top + 1 : top + 1 + m, :m] = carried[:, :m]
        A[top + 1 : top + 1 + m, width : width + k] = carried[:, m:]
        rows = top + 1 + m
        _reflect(A, rows, width, width + k)
        diagonal[i] = A[:m, :m]
        right[i] = A[:m, width : width + k]
        if not last:
            beside[i] = A[:m, m : 2 * m]
            carried[:, :m] = A[m : 2 * m, m : 2 * m]
            carried[:, m:] = A[m : 2 * m, width : width + k]


@compiled
def _reflect(A: Floats, rows: int, columns: int, width: int) -> None:
    """Make the first columns of A upper triangular by Householder's reflections of its rows."""
    for j in range(min(columns, rows)):
        largest = 0.0
        for i in range(j, rows):
            largest = max(largest, abs(A[i, j]))
        if largest == 0.0:
            continue
        total = 0.0
        for i in range(j, rows):
            total += (A[i, j] / largest) ** 2
        length = largest * np.sqrt(total)
        if A[j, j] > 0.0:
            length = -length
        head = A[j, j] - length
        for i in range(j + 1, rows):
            A[i, j] /= head
        beta = -head / length
        for c in range(j + 1, width):
            dot = A[j, c]
            for i in range(j + 1, rows):
                dot += A[i, j] * A[i, c]
            dot *= beta
            A[j, c] -= dot
            for i in range(j + 1, rows):
                A[i, c] -= dot * A[i, j]
        A[j, j] = length
        for i in range(j + 1, rows):
            A[i, j] = 0.0


@compiled
def _solve_back(diagonal: Floats, beside: Floats, right: Floats, leverage: Floats) -> None:
    """Replace the right-hand sides by the states, and write the variance of each first entry: a sum of squares."""
    n, m, k = right.shape
    C = np.zeros((m, m))  # a root of the covariance of the state to the right, C C^T
    wide = np.zeros((m, 2 * m))
    work = np.zeros((2 * m, m))
    for i in range(n - 1, -1, -1):
        R = diagonal[i]
        wide[:, :] = 0.0
        for a in range(m):
            wide[a, a] = 1.0
        if i < n - 1:
            for a in range(m):
                for b in range(m):
                    for c in range(k):
                        right[i, a, c] -= beside[i, a, b] * right[i + 1, b, c]
                    for c in range(m):
                        wide[a, m + c] += beside[i, a, b] * C[b, c]
        for a in range(m - 1, -1, -1):  # R^-1 (right, wide)
            for c in range(k):
                for b in range(a + 1, m):
                    right[i, a, c] -= R[a, b] * right[i, b, c]
                right[i, a, c] /= R[a, a]
            for c in range(2 * m):
                for b in range(a + 1, m):
                    wide[a, c] -= R[a, b] * wide[b, c]
                wide[a, c] /= R[a, a]
        for c in range(2 * m):
            leverage[i] += wide[0, c] ** 2
            for a in range(m):
                work[c, a] = wide[a, c]
        _reflect(work, 2 * m, m, m)  # wide^T = Q T: a root of m columns is T^T
        for a in range(m):
            for b in range(m):
                C[a, b] = work[b, a]
