r"""Averages of class probabilities over a normal distribution of what they depend on.

Symbols: f normal with mean mu and variance v (or covariance C); z standard normal.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from mercer.arrays import Floats
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import run_tasks, spans

__all__ = ["logistic_average", "probit_average", "softmax_average"]

_WIDE = 4.0  # variance from which the step at zero is split off
_STEP = 0.35  # of the trapezoidal rule; poles of the logistic function are pi / sqrt(v) away in z
_GRID = np.arange(-26, 27) * _STEP
_GRID_WEIGHTS = _STEP * np.exp(-0.5 * _GRID**2) / np.sqrt(2.0 * np.pi)
_NODES, _NODE_WEIGHTS = (part * 20.0 for part in np.polynomial.legendre.leggauss(96))
_NODES = _NODES + 20.0  # on (0, 40), beyond which 1 / (1 + exp(t)) is nothing
_POINTS, _GENERATOR = 2039, 393  # of a lattice of Korobov's form
_PIECE = 4096  # samples at a time


def probit_average(mean: Floats, variance: Floats) -> Floats:
    """Average of the normal distribution function at f, in closed form.

    Examples
    --------
    >>> float(probit_average(np.array(0.0), np.array(3.0)))
    0.5
    """
    return special.ndtr(mean / np.sqrt(1.0 + variance))


def logistic_average(mean: Floats, variance: Floats) -> Floats:
    r"""Average of the logistic function.

    .. math:: \int \frac{1}{1 + e^{-f}} \, N(f | \mu, v) \, df

    Parameters
    ----------
    mean, variance : (m,) array

    Returns
    -------
    (m,) array
        Exact to 1e-10; probabilities down to 1e-15 to some digits also relative to their size.

    Notes
    -----
    For small variances the trapezoidal rule in z, whose error falls exponentially. For large ones the logistic
    function is the step at zero, whose average is known, and a remainder that lives within 40 of zero,
    Phi(mu / sqrt v) + int_0^inf (N(-t) - N(t)) / (1 + e^t) dt, by Gauss and Legendre's rule.

    Examples
    --------
    >>> logistic_average(np.array([0.0, 1.0]), np.array([9.0, 0.0])).round(4)
    array([0.5   , 0.7311])
    """
    mean, variance = np.broadcast_arrays(np.asarray(mean, dtype=float), np.asarray(variance, dtype=float))
    flat, spread, out = -np.abs(mean).ravel(), variance.ravel(), np.empty(mean.size)
    for rows in spans(len(flat), _PIECE):
        m, v = flat[rows], spread[rows]
        wide = v > _WIDE
        part = np.empty(len(m))
        part[~wide] = special.expit(m[~wide, None] + np.sqrt(v[~wide, None]) * _GRID) @ _GRID_WEIGHTS
        s = np.sqrt(v[wide])
        z, t = m[wide] / s, _NODES / s[:, None]
        density = np.exp(-0.5 * (t + z[:, None]) ** 2) - np.exp(-0.5 * (t - z[:, None]) ** 2)
        rest = density @ (_NODE_WEIGHTS * special.expit(-_NODES)) / (s * np.sqrt(2.0 * np.pi))
        part[wide] = special.ndtr(z) + rest
        out[rows] = part
    return np.where(mean > 0.0, 1.0 - out.reshape(mean.shape), out.reshape(mean.shape))


def softmax_average(mean: Floats, covariance: Floats) -> Floats:
    r"""Average of the softmax function.

    .. math:: \int \frac{e^{f_c}}{\sum_d e^{f_d}} \, N(f | \mu, C) \, df

    Parameters
    ----------
    mean : (m, c) array
    covariance : (m, c, c) array

    Returns
    -------
    (m, c) array
        Rows sum to one. The error is about 1e-3 for standard deviations of ten, 1e-4 for those of one.

    Notes
    -----
    What all functions share does not matter and is taken out. In the other c - 1 directions a fixed lattice of some two
    thousand points, each with its mirror image, is mapped by the symmetric root of the covariance, which changes
    little where the covariance does.

    Examples
    --------
    >>> softmax_average(np.zeros((1, 2)), np.eye(2)[None])
    array([[0.5, 0.5]])
    """
    m, c = mean.shape
    H = _contrasts(c)
    values, directions = np.linalg.eigh(H.T @ covariance @ H)
    root = (directions * np.sqrt(np.maximum(values, 0.0))[:, None, :]) @ directions.transpose(0, 2, 1)
    F, steps = mean - mean.mean(axis=1, keepdims=True), np.ascontiguousarray(H @ root)
    Z, out = _lattice(c - 1), np.empty((m, c))
    run_tasks(spans(m, 64), lambda rows: _average(F[rows], steps[rows], Z, out[rows]))
    return out


@compiled
def _share(f):
    """Replace f by its softmax."""
    top, total = f.max(), 0.0
    for k in range(len(f)):
        f[k] = math.exp(f[k] - top)
        total += f[k]
    for k in range(len(f)):
        f[k] /= total


@compiled
def _average(F, steps, Z, out):
    m, c = F.shape
    moved, plus, minus = np.empty(c), np.empty(c), np.empty(c)
    for i in range(m):
        out[i] = 0.0
        for point in range(len(Z)):
            for k in range(c):
                total = 0.0
                for j in range(c - 1):
                    total += steps[i, k, j] * Z[point, j]
                moved[k] = total
            for k in range(c):
                plus[k], minus[k] = F[i, k] + moved[k], F[i, k] - moved[k]
            _share(plus)
            _share(minus)
            for k in range(c):
                out[i, k] += plus[k] + minus[k]
        out[i] /= out[i].sum()


def _contrasts(c: int) -> Floats:
    """Return an orthonormal basis of what is perpendicular to the ones, (c, c - 1)."""
    return np.linalg.qr(np.eye(c)[:, : c - 1] - 1.0 / c)[0]


def _lattice(width: int) -> Floats:
    """Return standard normal points in `width` dimensions from a lattice, folded so that it is periodic."""
    powers = [pow(_GENERATOR, j, _POINTS) for j in range(width)]
    share = (np.outer(np.arange(_POINTS), powers) % _POINTS + 0.5) / _POINTS
    return special.ndtri(np.clip(1.0 - np.abs(2.0 * share - 1.0), 1e-16, 1.0 - 1e-16))
