r"""Laplace's approximation of a Gaussian process with two classes, its evidence, and the evidence's derivative.

Symbols: K the prior covariance, f the latent function at the samples, a = K^-1 f, y_i = +-1, w_i weights, W the
second derivatives of minus the log-likelihood, B = I + W^1/2 K W^1/2, R = W^1/2 B^-1 W^1/2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from mercer.arrays import Floats
from mercer.estimators.processes.site_matrix import balanced_cholesky, balanced_inverse, solved, times_inverse, weigh
from mercer.numerics.cholesky import CholeskyFactor
from mercer.runtime.tiling import serial_blas

__all__ = ["LINKS", "Laplace", "excess", "hazard", "is_fast", "laplace", "laplace_weights"]

_CLOSE = 1e-8  # Newton decrement at which the mode is found
_NEAR = 1e-4  # from here on Newton steps need no search, and rounding may hide progress
_WORTH = 80  # a factor costs as much as n / 80 steps: as many as that may still follow without a new one
_LIMIT = 200

Link = Callable[[Floats, Floats], tuple[Floats, Floats, Floats, Floats]]


@dataclass(frozen=True, eq=False)
class Laplace:
    """The Gaussian at the mode of the posterior, with the curvature that the posterior has there.

    Attributes
    ----------
    coef : (n,) array
        a = K^-1 f: the latent mean at x is sum_i a_i k(x, x_i).
    latent : (n,) array
        f, the mode.
    root : (n,) array
        Square roots of W.
    factor : CholeskyFactor
        Factor of B; the latent variance at x is k(x, x) - |L^-1 W^1/2 k|^2.
    bend : (n,) array
        Third derivatives of the log-likelihood over W.
    evidence : float
        Approximate logarithm of the marginal likelihood.
    residual : float
        Newton decrement: how far from the mode, in posterior standard deviations.
    steps, factors : int
        Newton steps, and factorisations that they took.
    """

    coef: Floats
    latent: Floats
    root: Floats
    factor: CholeskyFactor
    bend: Floats
    evidence: float
    residual: float
    steps: int
    factors: int

    @property
    def converged(self) -> bool:
        """Whether the mode was found up to rounding."""
        return self.residual <= _NEAR


def laplace(
    K: Floats,
    y: Floats,
    weight: Floats,
    link: str = "logistic",
    *,
    start: Floats | None = None,
    out: Floats | None = None,
    tol: float = _CLOSE,
) -> Laplace:
    r"""Find the mode of the latent function and the approximate evidence.

    .. math:: \max_f \; \psi(f) = \sum_i w_i \log p(y_i | f_i) - \tfrac12 f^\top K^{-1} f, \qquad
        \log q(y) = \psi(\hat f) - \tfrac12 \log |B|

    Seed: [HSS] Eqs. (113)-(115) for two classes; (115) is here with its one half and minus the log partition.

    Parameters
    ----------
    K : (n, n) array
        Prior covariance; it is only read.
    y : (n,) array
        +1 and -1.
    weight : (n,) array
        Positive; a sample of weight w counts as w copies.
    link : {"logistic", "probit"}
        p(y | f) is 1 / (1 + exp(-y f)), or the normal distribution function at y f.
    start : (n,) array, optional
        Where the mode is expected: f of a similar problem. The first Newton step starts there.
    out : (n, n) array, optional
        Memory for the factor of B.
    tol : float, default 1e-8
        The Newton decrement, that is the distance to the mode in posterior standard deviations, at which it counts as
        found. The error of the evidence is its square, that of the derivatives of the evidence of its size.

    Returns
    -------
    Laplace

    Notes
    -----
    Newton steps (I + W K) da = r, with r the log-likelihood's gradient minus a, by the factor of B; a factor is used
    again, at O(n^2), as long as the steps shrink fast. Cost n^3 / 3 for each factor.

    Examples
    --------
    >>> found = laplace(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([1.0, -1.0]), np.ones(2))
    >>> found.latent.round(4), round(found.evidence, 4)
    (array([ 0.2223, -0.2223]), -1.4909)
    """
    likelihood = LINKS[link]
    a, f = np.zeros(len(y)), np.zeros(len(y))
    value = float(weight @ likelihood(y, f)[0])
    factor, root, fresh, before = None, np.empty(0), True, np.inf
    steps = factors = 0
    if start is not None:
        root, factor = _balanced(K, weight * likelihood(y, start)[2], out)
        trial = _moved(K, y, weight, likelihood, start, root, factor)
        out, factors = factor.array, 1
        if trial[0] > value:
            (value, a, f), fresh = trial, False
        else:
            factor = None
    while True:
        _, slope, curvature, bend = likelihood(y, f)
        if factor is None:
            root, factor = _balanced(K, weight * curvature, out)
            fresh, factors, out = True, factors + 1, factor.array
        with np.errstate(over="ignore", invalid="ignore"):
            r = weight * slope - a
        with serial_blas():  # short calls, which threads that wait for each other only delay
            delta = r - root * solved(factor, root * (K @ r))
            move = K @ delta
        decrement = float(np.sqrt(max(r @ move, 0.0)))
        stuck = decrement < _NEAR and decrement > 0.5 * before
        if decrement <= tol or steps >= _LIMIT or (fresh and stuck):
            break
        if not fresh and not is_fast(before, decrement, len(y), tol):
            factor = None
            continue
        t, value = _search(likelihood, (y, weight), (a, f), (delta, move), value, decrement)
        if t == 0.0:
            if fresh:
                break
            factor = None
            continue
        a, f = a + t * delta, f + t * move
        steps, fresh, before = steps + 1, False, decrement
    if not fresh:
        (root, factor), factors = _balanced(K, weight * curvature, out), factors + 1
    value = float(weight @ likelihood(y, f)[0]) - 0.5 * float(a @ f)
    return Laplace(a, f, root, factor, bend, value - 0.5 * factor.logdet(), decrement, steps, factors)


def laplace_weights(K: Floats, found: Laplace) -> Floats:
    r"""Return the derivative of the evidence in the entries of K, in the memory of the factor, which is then gone.

    .. math:: G = \tfrac12 (a a^\top - R) + \tfrac12 (u a^\top + a u^\top), \qquad
        u = (I - R K) s, \quad s_i = \tfrac12 \Sigma_{ii} \, \partial^3 \log p(y_i | f_i)

    The second part is how the mode moves with K. The derivative in a parameter theta of the kernel is
    sum_ij G_ij dK_ij / dtheta, which `Kernel.pullback` computes.

    Parameters
    ----------
    K : (n, n) array
        That of `laplace`.
    found : Laplace
        What `laplace` returned.

    Returns
    -------
    (n, n) array
        G, symmetric.

    Examples
    --------
    >>> K, y = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([1.0, -1.0])
    >>> G = laplace_weights(K, laplace(K, y, np.ones(2)))
    >>> more = laplace(K * (1 + 1e-6), y, np.ones(2)).evidence - laplace(K, y, np.ones(2)).evidence
    >>> bool(np.isclose(np.sum(G * K), more / 1e-6, rtol=1e-4))
    True
    """
    root = found.root
    A = balanced_inverse(found.factor)
    s = 0.5 * (1.0 - A.diagonal()) * found.bend  # W Sigma has the diagonal of I - B^-1
    u = s - root * times_inverse(A, root * (K @ s))
    return weigh(A, root, found.coef + u, u)


def is_fast(before: float, now: float, n: int, tol: float = _CLOSE) -> bool:
    """Return whether steps that shrink as the last one did reach the mode sooner than a new factor would."""
    if now >= before:
        return False
    return np.log(now / tol) <= max(5, n / _WORTH) * np.log(before / now)


def hazard(z: Floats) -> Floats:
    """Return the normal density over the normal distribution function, of any z without overflow."""
    return np.sqrt(2.0 / np.pi) / special.erfcx(-z / np.sqrt(2.0))


def excess(z: Floats) -> Floats:
    """Return z + hazard(z), which is positive even where the two cancel."""
    far = np.minimum(z, -100.0)
    x = far**-2.0
    return np.where(z < -100.0, -(1.0 - 2.0 * x + 10.0 * x * x) / far, z + hazard(z))


def _logistic(y: Floats, f: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return log p, its derivative, minus its second derivative, and its third over that."""
    other = special.expit(-y * f)
    return special.log_expit(y * f), y * other, other * special.expit(y * f), np.tanh(0.5 * f)


def _probit(y: Floats, f: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return log p, its derivative, minus its second derivative, and its third over that."""
    z = y * f
    r, rest = hazard(z), excess(z)
    return special.log_ndtr(z), y * r, r * rest, y * (z + 2.0 * r - 1.0 / rest)


LINKS: dict[str, Link] = {"logistic": _logistic, "probit": _probit}


def _balanced(K: Floats, precision: Floats, out: Floats | None) -> tuple[Floats, CholeskyFactor]:
    root = np.sqrt(precision)
    return root, balanced_cholesky(K, root, out)


def _moved(
    K: Floats, y: Floats, weight: Floats, likelihood: Link, f: Floats, root: Floats, factor: CholeskyFactor
) -> tuple[float, Floats, Floats]:
    """Return objective, a and f after the Newton step from any f; no a has to be known there."""
    b = root * root * f + weight * likelihood(y, f)[1]
    a = b - root * solved(factor, root * (K @ b))
    f = K @ a
    return float(weight @ likelihood(y, f)[0]) - 0.5 * float(a @ f), a, f


def _search(
    likelihood: Link,
    data: tuple[Floats, Floats],
    at: tuple[Floats, Floats],
    step: tuple[Floats, Floats],
    value: float,
    decrement: float,
) -> tuple[float, float]:
    """Halve a step until the objective rises enough; return its length (0 if it never does) and the objective."""
    (y, weight), (a, f), (delta, move) = data, at, step
    t = 1.0
    while t > 1e-10:
        trial = f + t * move
        reached = float(weight @ likelihood(y, trial)[0]) - 0.5 * float((a + t * delta) @ trial)
        if reached >= value + 1e-4 * t * decrement**2 or decrement < _NEAR:
            return t, reached
        t *= 0.5
    return 0.0, value
