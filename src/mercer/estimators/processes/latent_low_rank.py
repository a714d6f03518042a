r"""Evidence of a semiparametric latent factor model whose Gram matrices are of low rank, and its gradient.

Symbols: K_q ~ F_q F_q^T; F = (F_1, ..., F_Q), (n, R); A the mixing (J, Q), e_j its row j with A_jq repeated for each
column of F_q; d_j the noise variances; w_i sample weights; Phi the rows e_j o F_i of the observed values (i, j), and
Lambda = diag(d_j / w_i), so that their covariance is Phi Phi^T + Lambda; B = I + Phi^T Lambda^-1 Phi, (R, R);
beta = B^-1 Phi^T Lambda^-1 y the means of the coordinates.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Floats
from mercer.estimators.parameter_gradients import KernelFactor
from mercer.estimators.processes.factor_evidence import FactorData
from mercer.numerics.cholesky import CholeskyFactor, safe_cholesky
from mercer.runtime.tiling import spans

__all__ = ["LowRankFactors", "low_rank_posterior"]

_ROWS = 1024  # samples at a time


@dataclass(frozen=True, eq=False)
class LowRankFactors:
    """The posterior of latent processes in the coordinates of their factors.

    Attributes
    ----------
    value : float
        Log evidence.
    factor : CholeskyFactor
        Factor of B.
    beta : (R,) array
        The mean of g_q is F_q(x) beta_q.
    alpha : (n, J) array
        (Phi Phi^T + Lambda)^-1 y; zero where an output was not observed.
    parts : tuple of KernelFactor
    """

    value: float
    factor: CholeskyFactor
    beta: Floats
    alpha: Floats
    parts: tuple[KernelFactor, ...]
    data: FactorData
    mixing: Floats
    noise: Floats

    @property
    def sections(self) -> list[slice]:
        """The columns of each process in F."""
        return _sections(self.parts)

    def slope(self) -> tuple[list[Floats], Floats, Floats]:
        """Return the derivatives of the value in each F_q (n, r_q), in the mixing (J, Q) and in the noise (J,)."""
        data, sections, scale = self.data, self.sections, _spread(self.mixing, self.parts)
        inverse = self.factor.solve(np.eye(len(self.beta)))
        seen = ~np.isnan(data.y)
        precision = _precision(data, self.noise)
        slopes = [np.empty_like(part.array) for part in self.parts]
        columns, noise = np.zeros_like(scale), np.zeros(len(scale))
        for rows in spans(len(data.y), _ROWS):
            F, total = _joined(self.parts, rows), 0.0
            for j, e in enumerate(scale):
                phi = F * e
                back = phi @ inverse
                own = np.outer(self.alpha[rows, j], self.beta) - precision[rows, j, None] * back
                total = total + own * e
                columns[j] += np.einsum("ij,ij->j", own, F)
                lever = np.einsum("ij,ij->i", back, phi)
                noise[j] += 0.5 * float(precision[rows, j] @ lever) / self.noise[j]
            for slope, section in zip(slopes, sections, strict=True):
                slope[rows] = np.asarray(total)[:, section]
        w = data.weight[:, None]
        noise += 0.5 * (np.sum(self.alpha**2 / w, axis=0) - np.sum(w * seen, axis=0) / self.noise)
        mixing = np.stack([columns[:, section].sum(axis=1) for section in sections], axis=1)
        return slopes, mixing, noise


def low_rank_posterior(
    data: FactorData, parts: Sequence[KernelFactor], mixing: Floats, noise: Floats
) -> LowRankFactors:
    r"""Posterior of the latent processes and the log evidence, by Woodbury's formula and the determinant lemma.

    .. math:: \log |\Phi \Phi^\top + \Lambda| = \log |B| + \log |\Lambda|, \qquad
        y^\top (\Phi \Phi^\top + \Lambda)^{-1} y = \|\Lambda^{-1/2} (y - \Phi \beta)\|^2 + \|\beta\|^2

    Seed: [HSS] Section 4.1.7, which names semiparametric latent factor models; [KIKS] Section 3.2 for factors of low
    rank.

    Parameters
    ----------
    data : FactorData
    parts : sequence of KernelFactor
        One for each latent process.
    mixing : (J, Q) array
    noise : (J,) array
        Variances.

    Notes
    -----
    Cost O(n R^2), for missing outputs or the gradient J times that; memory O(n R) for F and O(R^2).

    Examples
    --------
    >>> from mercer.budget import Resources
    >>> from mercer.domains import Vectors
    >>> from mercer.estimators.parameter_gradients import MovingKernel
    >>> from mercer.gram import Nystrom
    >>> from mercer.kernels import Gaussian
    >>> data = FactorData(Vectors.pack([[0.0], [1.0]]), np.array([[0.0, 1.0], [1.0, np.nan]]), np.ones(2))
    >>> part = MovingKernel(Nystrom(2), Gaussian(1.0), data.samples, Resources()).at(Gaussian(1.0))
    >>> round(low_rank_posterior(data, [part], np.ones((2, 1)), np.full(2, 0.1)).value, 6)
    -4.788801
    """
    parts = tuple(parts)
    scale, seen = _spread(mixing, parts), ~np.isnan(data.y)
    y, precision = np.where(seen, data.y, 0.0), _precision(data, noise)
    order = scale.shape[1]
    B, moment = np.zeros((order, order)), np.zeros(order)
    together = (scale.T / noise) @ scale
    for rows in spans(len(y), _ROWS):
        F = _joined(parts, rows)
        if data.complete:  # one product serves all outputs
            B += together * (F.T @ (data.weight[rows, None] * F))
        else:
            for j, e in enumerate(scale):
                phi = F * e
                B += phi.T @ (precision[rows, j, None] * phi)
        moment += np.sum(scale.T * (F.T @ (precision[rows] * y[rows])), axis=1)
    factor = safe_cholesky(0.5 * (B + B.T), 1.0)
    beta = factor.solve(moment)
    left = np.empty_like(y)
    for rows in spans(len(y), _ROWS):
        left[rows] = np.where(seen[rows], y[rows] - _joined(parts, rows) @ (scale * beta).T, 0.0)
    alpha = precision * left
    quadratic = float(np.vdot(alpha, left)) + float(beta @ beta)
    constants = float(np.sum(data.weight[:, None] * seen * np.log(2.0 * math.pi * noise)))
    value = -0.5 * (factor.logdet() + quadratic + constants)
    return LowRankFactors(value, factor, beta, alpha, parts, data, mixing, noise)


def _sections(parts: Sequence[KernelFactor]) -> list[slice]:
    ends = np.cumsum([0, *(part.array.shape[1] for part in parts)])
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(ends)]


def _spread(mixing: Floats, parts: Sequence[KernelFactor]) -> Floats:
    """The rows e_j, (J, R)."""
    return np.repeat(mixing, [part.array.shape[1] for part in parts], axis=1)


def _joined(parts: Sequence[KernelFactor], rows: slice) -> Floats:
    """Rows of F."""
    return np.hstack([part.array[rows] for part in parts])


def _precision(data: FactorData, noise: Floats) -> Floats:
    """Lambda^-1, (n, J); zero where an output was not observed."""
    return np.where(np.isnan(data.y), 0.0, data.weight[:, None] / noise)
