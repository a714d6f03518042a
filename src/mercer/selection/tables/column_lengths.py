r"""Length scales of the columns of a table, by the evidence of least squares with a prior that holds them together.

With :math:`C = K_\ell + \lambda W^{-1}` on n samples of weights w, whose mean is one, targets Y of k columns whose
amplitudes are maximised in closed form, and lengths :math:`\ell_g = e^{t_g}`, one for each group of coordinates,

.. math::
    J(t, \lambda) = \frac{1}{k} \sum_{c=1}^k \Bigl( \frac n2 \log \frac{y_c^\top C^{-1} y_c}{n} \Bigr)
        + \frac12 \log \det C + \frac{\tau}{2} \sum_g (t_g - \bar t)^2

is made small. A large :math:`\tau` keeps all columns alike, which few samples with many columns need; :math:`\tau = 0`
is the evidence alone.

Seed: [SS] section 7.2.1, "Bayesian inference", the evidence of its second level.

Symbols: t_g logarithms of lengths, lambda the noise in units of the amplitude, tau the weight of the prior.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize

import mercer.kernels  # whose names are imported when they are used
from mercer.arrays import Floats, Indices

__all__ = ["PROFILES", "Lengths", "Profile", "Rows", "evidence", "held_together", "left_out", "same_length"]

NOISES = (1e-3, 1e-2, 1e-1)  # at which a search begins
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)  # of lengths in units of the root of the number of coordinates
LENGTHS = (np.log(0.05), np.log(1e3))  # bounds, in standard deviations
NOISE = (np.log(1e-5), np.log(1e2))
_LAPACK: Any = lapack  # whose functions type checkers do not know
FEW = 200  # samples at which a search begins
STEPS = 20  # of a search; the evidence is flat long before it is at its largest


class Profile(NamedTuple):
    """A radial kernel: its values and their derivatives in the squared distance, and the kernel at given lengths."""

    name: str
    values: Callable[[Floats], tuple[Floats, Floats]]
    kernel: Callable[[Any], Any]


class Rows(NamedTuple):
    """Coordinates (n, p), targets (n, k), the group of each coordinate, and weights (n,) of mean one."""

    X: Floats
    Y: Floats
    groups: Indices
    weight: Floats

    def take(self, some: Any) -> Rows:
        """Return some of the rows; their weights are left as they are."""
        return Rows(self.X[some], self.Y[some], self.groups, self.weight[some])


class Lengths(NamedTuple):
    """What was found: logarithms of the lengths of the groups, that of the noise, and the value of the criterion."""

    log_lengths: Floats
    log_noise: float
    value: float


def _gaussian(s: Floats) -> tuple[Floats, Floats]:
    K = np.exp(-0.5 * s)
    return K, -0.5 * K


def _matern(s: Floats) -> tuple[Floats, Floats]:
    r = np.sqrt(3.0 * s)
    e = np.exp(-r)
    return (1.0 + r) * e, -1.5 * e


def _exponential(s: Floats) -> tuple[Floats, Floats]:
    r = np.sqrt(s)
    K = np.exp(-r)
    return K, -0.5 * K / np.maximum(r, 1e-9)


PROFILES = (
    Profile("gaussian", _gaussian, lambda length: mercer.kernels.Gaussian(length)),
    Profile("matern", _matern, lambda length: mercer.kernels.Matern(1.5, length)),
    Profile("exponential", _exponential, lambda length: mercer.kernels.Matern(0.5, length)),
)


def evidence(
    t: Floats, log_noise: float, rows: Rows, profile: Profile, prior: float = 0.0
) -> tuple[float, Floats, float]:
    """Return the criterion J, its derivatives in the logarithms of the lengths, and that in the one of the noise."""
    Y, groups = rows.Y, rows.groups
    n, k = Y.shape
    Z = rows.X * np.exp(-t)[groups]
    K, slope = profile.values(squared_distances(Z, Z))
    noise = np.exp(log_noise) / rows.weight
    C = K
    C[np.diag_indices(n)] += noise
    factor, failed = _LAPACK.dpotrf(C, lower=1, clean=1, overwrite_a=1)
    if failed:
        return np.inf, np.zeros(len(t)), 0.0
    logarithm = 2.0 * float(np.log(np.diag(factor)).sum())
    inverse, _ = _LAPACK.dpotri(factor, lower=1, overwrite_c=1)
    inverse = inverse + np.tril(inverse, -1).T
    A = inverse @ Y
    squares = np.einsum("ij,ij->j", Y, A) / n
    spread = t - t.mean()
    value = 0.5 * n * float(np.log(squares).mean()) + 0.5 * logarithm + 0.5 * prior * float(spread @ spread)
    G = 0.5 * (inverse - (A / (k * squares)) @ A.T)  # dJ / dC
    W = G * slope
    # sum of W_ij (z_i - z_j)^2 over pairs, for each coordinate
    moved = 2.0 * (W.sum(axis=1) @ (Z * Z)) - 2.0 * np.einsum("ij,ij->j", W @ Z, Z)
    gradient = -2.0 * np.bincount(groups, weights=moved, minlength=len(t)) + prior * spread
    return value, gradient, float(noise @ np.diag(G))


def squared_distances(A: Floats, B: Floats) -> Floats:
    """Return |a - b|^2 for all pairs, exactly zero on the diagonal if B is A."""
    s = np.add.outer(np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B)) - 2.0 * (A @ B.T)
    if B is A:
        np.fill_diagonal(s, 0.0)
    return np.maximum(s, 0.0, out=s)


def same_length(rows: Rows, profile: Profile) -> Lengths:
    """Return the best length that all coordinates share, and the noise."""
    count = int(rows.groups.max()) + 1

    def criterion(p: Floats) -> tuple[float, Floats]:
        value, gradient, noise = evidence(np.full(count, p[0]), p[1], rows, profile)
        return value, np.array([gradient.sum(), noise])

    scale, few = 0.5 * np.log(rows.X.shape[1]), rows.take(slice(FEW))
    starts = [np.array([scale + np.log(factor), np.log(noise)]) for factor in FACTORS for noise in NOISES]
    begun = [evidence(np.full(count, p[0]), p[1], few, profile)[0] for p in starts]
    best = np.clip(starts[int(np.argmin(begun))], *np.transpose([LENGTHS, NOISE]))
    found = minimize(
        criterion, best, jac=True, method="L-BFGS-B", bounds=[LENGTHS, NOISE], options={"maxiter": STEPS // 2}
    )
    return Lengths(np.full(count, found.x[0]), float(found.x[1]), float(found.fun))


def held_together(rows: Rows, profile: Profile, prior: float, start: Lengths) -> Lengths:
    """Return the best length of each group and the noise, from a start on."""

    def criterion(p: Floats) -> tuple[float, Floats]:
        value, gradient, noise = evidence(p[:-1], p[-1], rows, profile, prior)
        return value, np.append(gradient, noise)

    found = minimize(
        criterion,
        np.append(start.log_lengths, start.log_noise),
        jac=True,
        method="L-BFGS-B",
        bounds=[LENGTHS] * len(start.log_lengths) + [NOISE],
        options={"maxiter": STEPS},
    )
    return Lengths(found.x[:-1], float(found.x[-1]), float(found.fun))


def left_out(rows: Rows, profile: Profile, at: Lengths, kept: Indices, out: Indices) -> Floats:
    """Return predictions of some rows by least squares on others."""
    scale = np.exp(-at.log_lengths)[rows.groups]
    A, B = rows.X[kept] * scale, rows.X[out] * scale
    K = profile.values(squared_distances(A, A))[0]
    K[np.diag_indices(len(kept))] += np.exp(at.log_noise) / rows.weight[kept]
    factor, _ = _LAPACK.dpotrf(K, lower=1, overwrite_a=1)
    solution, _ = _LAPACK.dpotrs(factor, rows.Y[kept], lower=1)
    return profile.values(squared_distances(B, A))[0] @ solution
