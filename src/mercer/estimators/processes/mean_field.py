r"""Mean-field inference in a mixture of Gaussian processes: the factors of the posterior and their parts in the bound.

Symbols: omega_n = w_n r_nt the weight of sample n in component t, N_t its total, B = I + H K H with
H = diag(sqrt(omega / noise)), v_t the sticks, J the number of outputs.

Given the responsibilities every factor has its optimum in closed form, and its part of the bound is the logarithm of a
normalising constant; with the entropy of the responsibilities these add up to the whole bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, digamma, gammaln, xlogy

from mercer.arrays import Floats, Indices
from mercer.numerics.cholesky import CholeskyFactor, safe_cholesky

__all__ = ["Expert", "NormalWishart", "entropy", "expert", "stick_bound", "stick_logs", "stick_means"]


@dataclass(frozen=True, eq=False)
class Expert:
    """Posterior of the function of one component, whose samples have weights.

    Attributes
    ----------
    bound : float
        Log of the integral of prod_n N(y_n; f(x_n), noise)^omega_n over the prior of f: the log evidence in which a
        sample of weight omega counts as omega copies.
    rows : (a,) array of int
        The samples of positive weight.
    half : (a,) array
        sqrt(omega / noise).
    factor : CholeskyFactor
        Factor of B, (a, a).
    alpha : (a, J) array
        (K + noise / omega)^-1 y; the mean is k(x, rows) alpha.
    noise : float
    """

    bound: float
    rows: Indices
    half: Floats
    factor: CholeskyFactor
    alpha: Floats
    noise: float

    def moments(self, K: Floats, diagonal: Floats) -> tuple[Floats, Floats]:
        """Return means (t, J) and variances (t,) of f from its prior covariances with the samples, (t, a)."""
        v = self.factor.half_solve(self.half[:, None] * K.T)
        return K @ self.alpha, np.maximum(diagonal - np.einsum("ij,ij->j", v, v), 0.0)

    def slope(self) -> tuple[Floats, float]:
        """Return the derivatives of the bound in K at the rows, (a, a), and in the noise."""
        outputs, total = self.alpha.shape[1], self.noise * float(np.sum(self.half**2))
        inverse = self.factor.solve(np.eye(len(self.rows)))
        W = 0.5 * (self.alpha @ self.alpha.T - outputs * self.half[:, None] * inverse * self.half)
        with np.errstate(divide="ignore", invalid="ignore"):
            plain = np.where(self.half[:, None] > 0.0, self.alpha / self.half[:, None], 0.0)  # B^-1 H y
        missing = len(self.rows) - float(np.trace(inverse))
        return W, 0.5 * (float(np.sum(plain**2)) + outputs * (missing - total)) / self.noise


def expert(K: Floats, y: Floats, omega: Floats, noise: float) -> Expert:
    r"""Posterior of one component given the weights of its samples.

    .. math:: \log \int \prod_n N(y_n; f_n, \sigma^2)^{\omega_n} p(f) \, df = -\tfrac12 \log|B|
        - \tfrac12 y^\top (K + \sigma^2 \Omega^{-1})^{-1} y - \tfrac12 \sum_n \omega_n \log 2 \pi \sigma^2

    Parameters
    ----------
    K : (n, n) array
        Prior covariance of the samples.
    y : (n, J) array
    omega : (n,) array
        Non-negative; samples of weight zero are not looked at.
    noise : float

    Returns
    -------
    Expert

    Examples
    --------
    >>> one = expert(np.eye(1), np.array([[1.0]]), np.array([2.0]), 1.0)  # two copies of one observation
    >>> two = np.ones((2, 2)) + np.eye(2)
    >>> exact = -0.5 * np.log(np.linalg.det(2 * np.pi * two)) - 0.5 * np.linalg.solve(two, np.ones(2)).sum()
    >>> bool(np.isclose(one.bound, exact))
    True
    """
    rows = np.flatnonzero(omega > 0.0)
    half = np.sqrt(omega[rows] / noise)
    B = half[:, None] * K[np.ix_(rows, rows)] * half
    factor = safe_cholesky(B, 1.0)
    part = y[rows]
    alpha = half[:, None] * factor.solve(half[:, None] * part)
    outputs = y.shape[1]
    bound = -0.5 * outputs * (factor.logdet() + float(omega[rows].sum()) * math.log(2.0 * math.pi * noise))
    return Expert(bound - 0.5 * float(np.sum(part * alpha)), rows, half, factor, alpha, noise)


# the sticks ------------------------------------------------------------------------------------------------


def stick_bound(counts: Floats, concentration: float) -> float:
    r"""Part of the sticks in the bound, given how many samples each component has.

    .. math:: \sum_{t < T} \log \frac{B(1 + N_t, a + N_{>t})}{B(1, a)}

    Seed: [STS] Section 7 (truncated stick-breaking representation of the Dirichlet process).

    Parameters
    ----------
    counts : (T,) array
        N_t; the last stick takes what is left.
    concentration : float
        a of the Dirichlet process.

    Examples
    --------
    >>> round(stick_bound(np.array([1.0, 1.0]), 1.0), 6)  # two samples in different components: log 1/6
    -1.791759
    """
    first, second = _stick_parameters(counts, concentration)
    return float(np.sum(betaln(first, second) - betaln(1.0, concentration)))


def stick_logs(counts: Floats, concentration: float) -> Floats:
    """Expected logarithms of the T weights under the posterior of the sticks."""
    first, second = _stick_parameters(counts, concentration)
    both = digamma(first + second)
    taken, rest = digamma(first) - both, digamma(second) - both
    return np.append(taken, 0.0) + np.concatenate([[0.0], np.cumsum(rest)])


def stick_means(counts: Floats, concentration: float) -> Floats:
    """Expected T weights under the posterior of the sticks; they add up to one."""
    first, second = _stick_parameters(counts, concentration)
    share = first / (first + second)
    return np.append(share, 1.0) * np.concatenate([[1.0], np.cumprod(1.0 - share)])


def _stick_parameters(counts: Floats, concentration: float) -> tuple[Floats, Floats]:
    behind = np.append(np.cumsum(counts[::-1])[::-1][1:], 0.0)
    return 1.0 + counts[:-1], concentration + behind[:-1]


def _log_gamma(a: float, d: int) -> float:
    """Logarithm of the gamma function of d dimensions."""
    return 0.25 * d * (d - 1) * math.log(math.pi) + float(np.sum(gammaln(a - 0.5 * np.arange(d))))


def entropy(R: Floats, weight: Floats) -> float:
    """Entropy of the responsibilities, copies counted."""
    return -float(weight @ xlogy(R, R).sum(axis=1))


# where the samples of a component lie ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NormalWishart:
    r"""Belief about the mean and the precision of normal vectors, and what it says of new ones.

    .. math:: p(\mu, P) = N(\mu; m, (\beta P)^{-1}) \, W(P; S^{-1}, \nu)

    Seed: [STS] Section 7, where a component also models where its samples lie.

    Attributes
    ----------
    mean : (d,) array
        m.
    beta : float
        How many samples the mean is worth.
    scatter : (d, d) array
        S; S / nu is about the covariance.
    dof : float
        nu, larger than d - 1.

    Examples
    --------
    >>> prior = NormalWishart(np.zeros(1), 1.0, np.eye(1), 3.0)
    >>> prior.learn(np.array([[2.0]]), np.array([2.0])).mean.round(3)
    array([1.333])
    """

    mean: Floats
    beta: float
    scatter: Floats
    dof: float

    @classmethod
    def prior(cls, X: Floats, weight: Floats, spread: float = 1.0) -> NormalWishart:
        """Return a weak belief about the samples of one component among all, each `spread` times as wide as all."""
        mean = weight @ X / weight.sum()
        C = (X - mean).T @ (weight[:, None] * (X - mean)) / weight.sum()
        width = X.shape[1]
        floor = 1e-6 * float(np.trace(C)) / width or 1.0  # columns that do not vary
        dof = width + 2.0
        return cls(mean, 0.1, (dof - width + 1.0) * spread**2 * (C + floor * np.eye(width)), dof)

    def learn(self, X: Floats, omega: Floats) -> NormalWishart:
        """Return the belief after weighted samples."""
        total = float(omega.sum())
        if total <= 0.0:
            return self
        centre = omega @ X / total
        D = X - centre
        apart = centre - self.mean
        beta = self.beta + total
        scatter = self.scatter + D.T @ (omega[:, None] * D) + (self.beta * total / beta) * np.outer(apart, apart)
        return NormalWishart((self.beta * self.mean + total * centre) / beta, beta, scatter, self.dof + total)

    def log_norm(self) -> float:
        """Logarithm of the integral of the density without its constant, up to powers of 2 pi."""
        d = len(self.mean)
        factor = safe_cholesky(self.scatter, overwrite=False)
        half = 0.5 * self.dof
        return -0.5 * d * math.log(self.beta) + _log_gamma(half, d) - half * factor.logdet() + half * d * math.log(2)

    def bound(self, prior: NormalWishart) -> float:
        """Part in the bound of the samples that turned `prior` into this belief: their log evidence."""
        d, total = len(self.mean), self.beta - prior.beta
        return self.log_norm() - prior.log_norm() - 0.5 * total * d * math.log(2.0 * math.pi)

    def expected_log(self, X: Floats) -> Floats:
        """Expected log density of vectors, (n,)."""
        d = len(self.mean)
        factor = safe_cholesky(self.scatter, overwrite=False)
        logdet = float(np.sum(digamma(0.5 * (self.dof - np.arange(d))))) + d * math.log(2.0) - factor.logdet()
        v = factor.half_solve((X - self.mean).T)
        distance = d / self.beta + self.dof * np.einsum("ij,ij->j", v, v)
        return 0.5 * (logdet - d * math.log(2.0 * math.pi) - distance)

    def log_predictive(self, X: Floats) -> Floats:
        """Log density of new vectors, (n,): Student's t."""
        d = len(self.mean)
        dof = self.dof - d + 1.0
        factor = safe_cholesky(self.scatter * ((self.beta + 1.0) / (self.beta * dof)), overwrite=False)
        v = factor.half_solve((X - self.mean).T)
        tail = 0.5 * (dof + d) * np.log1p(np.einsum("ij,ij->j", v, v) / dof)
        constant = gammaln(0.5 * (dof + d)) - gammaln(0.5 * dof) - 0.5 * d * math.log(dof * math.pi)
        return constant - 0.5 * factor.logdet() - tail
