r"""Evidence of a semiparametric latent factor model, and its gradient.

Symbols: g_q the latent processes, A the mixing (J, Q), a_q its columns, d_j the noise variances, w_i sample weights,
C = sum_q (a_q a_q^T) (x) K_q + D (x) W^-1 over the values that were observed, sorted by output.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.domains import Samples
from mercer.estimators.processes.process_evidence import Observations
from mercer.kernels import Kernel
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import fill
from mercer.numerics.cholesky import CholeskyFactor, safe_cholesky

__all__ = ["FactorData", "ManyFactors", "OneFactor", "factor_posterior"]


@dataclass(frozen=True, eq=False)
class FactorData:
    """The data of a latent factor model.

    Parameters
    ----------
    samples : Samples
        n packed samples.
    y : (n, J) array
        NaN where an output was not observed.
    weight : (n,) array
        Positive; a sample of weight w stands for w copies.
    n_threads : int, optional
    """

    samples: Samples
    y: Floats
    weight: Floats
    n_threads: int | None = None

    @property
    def rows(self) -> tuple[Indices, ...]:
        """For each output the samples at which it was observed."""
        return tuple(np.flatnonzero(~np.isnan(column)) for column in self.y.T)

    @property
    def complete(self) -> bool:
        """Whether every output was observed at every sample."""
        return not np.isnan(self.y).any()

    def white(self) -> float:
        """Largest log evidence of noise alone, of a variance for each output."""
        parts = [
            Observations(self.samples, self.y[rows, j, None], self.weight[rows], np.zeros((len(rows), 0)))
            for j, rows in enumerate(self.rows)
        ]
        return sum(part.white() for part in parts)


@dataclass(frozen=True, eq=False)
class ManyFactors:
    """The posterior for any number of latent processes and missing outputs, by one factor of C.

    Attributes
    ----------
    value : float
        Log evidence.
    factor : CholeskyFactor
        Factor of C, (N, N) for N observed values.
    alpha : (N,) array
        C^-1 y.
    coef : (n, Q) array
        The mean of g_q is k_q(x, samples) coef_q.
    """

    value: float
    factor: CholeskyFactor
    alpha: Floats
    coef: Floats
    grams: tuple[Floats, ...]
    data: FactorData
    mixing: Floats
    noise: Floats

    def slope(self) -> tuple[list[Floats], Floats, Floats]:
        """Return the derivatives of the value in each K_q (n, n), in the mixing (J, Q) and in the noise (J,)."""
        data, A = self.data, self.mixing
        rows, w = data.rows, data.weight
        M = 0.5 * (np.outer(self.alpha, self.alpha) - self.factor.solve(np.eye(len(self.alpha))))
        ends = np.cumsum([0, *map(len, rows)])
        spans = [slice(ends[j], ends[j + 1]) for j in range(len(rows))]
        W = [np.zeros_like(K) for K in self.grams]
        mixing, noise = np.zeros_like(A), np.zeros(len(rows))
        for i, first in enumerate(rows):
            noise[i] = np.sum(M.diagonal()[spans[i]] / w[first]) - 0.5 * np.sum(w[first] - 1.0) / self.noise[i]
            for j, second in enumerate(rows):
                part = M[spans[i], spans[j]]
                place = np.ix_(first, second)
                for q, K in enumerate(self.grams):
                    W[q][place] += A[i, q] * A[j, q] * part
                    mixing[i, q] += 2.0 * A[j, q] * float(np.sum(part * K[place]))
        return W, mixing, noise


@dataclass(frozen=True, eq=False)
class OneFactor:
    r"""The posterior for one latent process and complete outputs, by one factor of order n.

    With outputs divided by their noise, :math:`\tilde a = D^{-1/2} a = s u`, all but the combination
    :math:`z = \tilde y u` are noise alone: C has the eigenvectors u and its complement on the side of the outputs, and
    z has the covariance :math:`s^2 K + W^{-1}`.

    Attributes
    ----------
    value : float
        Log evidence.
    factor : CholeskyFactor
        Factor of s^2 K + W^-1, (n, n).
    coef : (n, 1) array
        The mean of g is k(x, samples) coef.
    scale : float
        s.
    """

    value: float
    factor: CholeskyFactor
    solved: Floats
    coef: Floats
    scale: float
    grams: tuple[Floats, ...]
    data: FactorData
    mixing: Floats
    noise: Floats

    def slope(self) -> tuple[list[Floats], Floats, Floats]:
        """Return the derivatives of the value in K (n, n), in the mixing (J, 1) and in the noise (J,)."""
        s, w, K = self.scale, self.data.weight, self.grams[0]
        root = np.sqrt(self.noise)
        u = self.mixing[:, 0] / root / s
        white = self.data.y / root
        alpha = (np.outer(self.solved, u) + w[:, None] * (white - np.outer(white @ u, u))) / root
        inverse = self.factor.solve(np.eye(len(w)))
        W = 0.5 * s**2 * (np.outer(self.solved, self.solved) - inverse)
        mixing = s * (alpha.T @ (K @ self.solved) - u / root * float(np.sum(inverse * K)))
        own = u**2 * np.sum(inverse.diagonal() / w) + (1.0 - u**2) * len(w)
        noise = 0.5 * (np.sum(alpha**2 / w[:, None], axis=0) - own / self.noise - np.sum(w - 1.0) / self.noise)
        return [W], mixing[:, None], noise


def factor_posterior(
    data: FactorData, kernels: Sequence[Kernel], mixing: Floats, noise: Floats
) -> ManyFactors | OneFactor:
    r"""Posterior of the latent processes and the log evidence.

    .. math:: y_j(x) = \sum_q A_{jq} g_q(x) + \epsilon_j, \qquad
        \mathrm{cov}(y) = \sum_q a_q a_q^\top \otimes K_q + D \otimes W^{-1}

    Seed: [HSS] Section 4.1.7, which names semiparametric latent factor models.

    Parameters
    ----------
    data : FactorData
    kernels : sequence of Kernel
        One for each latent process.
    mixing : (J, Q) array
    noise : (J,) array
        Variances.

    Returns
    -------
    OneFactor or ManyFactors
        The first for one latent process and complete outputs: O(n^3) in place of O(n^3 J^3).

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Gaussian
    >>> data = FactorData(Vectors.pack([[0.0], [1.0]]), np.array([[0.0, 1.0], [1.0, np.nan]]), np.ones(2))
    >>> found = factor_posterior(data, [Gaussian(1.0)], np.ones((2, 1)), np.full(2, 0.1))
    >>> type(found).__name__, round(found.value, 6)
    ('ManyFactors', -4.788801)
    """
    grams = []
    for kernel in kernels:
        S = kernel.prepare(data.samples)
        K = np.empty((len(S), len(S)))
        fill(kernel, Comparison(kernel, S, S, np.float64), K, n_threads=data.n_threads)
        grams.append(K)
    if len(grams) == 1 and data.complete and np.any(mixing):
        return _one(data, grams[0], mixing, noise)
    return _many(data, tuple(grams), mixing, noise)


def _one(data: FactorData, K: Floats, mixing: Floats, noise: Floats) -> OneFactor:
    w, root = data.weight, np.sqrt(noise)
    scaled = mixing[:, 0] / root
    s = float(np.linalg.norm(scaled))
    u = scaled / s
    white = data.y / root
    z = white @ u
    factor = safe_cholesky(s**2 * K, 1.0 / w)
    solved = factor.solve(z)
    rest = float(np.sum(w[:, None] * (white - np.outer(z, u)) ** 2))
    constants = np.sum(np.log(w)) + w.sum() * np.sum(np.log(2.0 * math.pi * noise))
    value = -0.5 * (factor.logdet() + float(z @ solved) + rest + float(constants))
    return OneFactor(value, factor, solved, s * solved[:, None], s, (K,), data, mixing, noise)


def _many(data: FactorData, grams: tuple[Floats, ...], mixing: Floats, noise: Floats) -> ManyFactors:
    rows, w = data.rows, data.weight
    ends = np.cumsum([0, *map(len, rows)])
    C = np.zeros((ends[-1], ends[-1]))
    for i, first in enumerate(rows):
        for j, second in enumerate(rows):
            block = C[ends[i] : ends[i + 1], ends[j] : ends[j + 1]]
            for q, K in enumerate(grams):
                block += mixing[i, q] * mixing[j, q] * K[np.ix_(first, second)]
    shift = np.concatenate([noise[j] / w[first] for j, first in enumerate(rows)])
    values = np.concatenate([data.y[first, j] for j, first in enumerate(rows)])
    factor = safe_cholesky(C, shift)
    alpha = factor.solve(values)
    coef = np.zeros((len(w), len(grams)))
    constants = 0.0
    for j, first in enumerate(rows):
        coef[first] += np.outer(alpha[ends[j] : ends[j + 1]], mixing[j])
        constants += np.sum((w[first] - 1.0) * math.log(2.0 * math.pi * noise[j]) + np.log(w[first]))
    constants += len(values) * math.log(2.0 * math.pi)
    value = -0.5 * (factor.logdet() + float(values @ alpha) + float(constants))
    return ManyFactors(value, factor, alpha, coef, grams, data, mixing, noise)
