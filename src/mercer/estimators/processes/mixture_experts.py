r"""The functions of a mixture of Gaussian processes, from Gram matrices or from factors of them.

Symbols: omega_n = w_n r_nt the weight of sample n in component t, J the number of outputs; K ~ F F^T, F (n, r);
B = I + F^T Omega F / noise, (r, r); beta = B^-1 F^T Omega y / noise the means of the coordinates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mercer.arrays import Floats
from mercer.budget import Resources
from mercer.domains import Samples
from mercer.estimators.parameter_gradients import KernelFactor, MovingKernel
from mercer.estimators.processes.mean_field import Expert, expert
from mercer.gram import GramSpec
from mercer.kernels import Kernel
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import fill, offers, pullback
from mercer.kernels.protocols import Differentiable
from mercer.numerics.cholesky import CholeskyFactor, safe_cholesky
from mercer.runtime.tiling import spans
from mercer.spec import free_names

__all__ = ["Experts", "LowRankExpert", "LowRankExperts", "WholeExperts", "block_of", "low_rank_expert"]

_ROWS = 1024  # samples at a time


class Experts(Protocol):
    """What the ascent asks of the functions of its components."""

    def expert(self, kernel: Kernel, omega: Floats, noise: float) -> Any:
        """Return the posterior of one component given the weights of its samples, (n,)."""
        ...

    def moments(self, kernel: Kernel, one: Any) -> tuple[Floats, Floats]:
        """Return means (n, J) and variances (n,) of a component's function at all samples."""
        ...

    def slope(self, kernel: Kernel, omega: Floats, noise: float) -> tuple[float, Floats, float]:
        """Return the sum of the bounds of components with weights (n, c), its derivatives in theta and the noise."""
        ...


class WholeExperts:
    """Functions from whole Gram matrices.

    Parameters
    ----------
    S : Samples
        n packed samples.
    y : (n, J) array
    keep : int
        Number of latest Gram matrices that are kept.
    n_threads : int, optional
    """

    def __init__(self, S: Samples, y: Floats, keep: int, n_threads: int | None = None) -> None:
        self.S, self.y, self.keep, self.n_threads = S, y, keep, n_threads
        self._grams: list[tuple[Kernel, Floats]] = []

    def gram(self, kernel: Kernel) -> Floats:
        """K of all samples; the latest few are kept."""
        for known, K in self._grams:
            if known is kernel:
                return K
        K = self._block(kernel)
        self._grams = [(kernel, K), *self._grams[: self.keep - 1]]
        return K

    def _block(self, kernel: Kernel) -> Floats:
        prepared = kernel.prepare(self.S)
        return block_of(kernel, prepared, prepared, self.n_threads)

    def expert(self, kernel: Kernel, omega: Floats, noise: float) -> Expert:
        """Return the posterior of one component given the weights of its samples, (n,)."""
        return expert(self.gram(kernel), self.y, omega, noise)

    def moments(self, kernel: Kernel, one: Expert) -> tuple[Floats, Floats]:
        """Return means (n, J) and variances (n,) of a component's function at all samples."""
        K = self.gram(kernel)
        return one.moments(K[:, one.rows], K.diagonal())

    def slope(self, kernel: Kernel, omega: Floats, noise: float) -> tuple[float, Floats, float]:
        """Return the sum of the bounds of components with weights (n, c), its derivatives in theta and the noise."""
        held = _is_held(kernel)
        K = self.gram(kernel) if held else self._block(kernel)
        value, W, slope = 0.0, np.zeros_like(K), 0.0
        for column in omega.T:
            one = expert(K, self.y, column, noise)
            part, own = one.slope()
            W[np.ix_(one.rows, one.rows)] += part
            value, slope = value + one.bound, slope + own
        prepared = kernel.prepare(self.S)
        return value, np.zeros(len(free_names(kernel))) if held else pullback(kernel, prepared, prepared, W), slope


@dataclass(frozen=True, eq=False)
class LowRankExpert:
    """Posterior of the function of one component in the coordinates of a factor.

    Attributes
    ----------
    bound : float
        Log of the integral of prod_n N(y_n; f(x_n), noise)^omega_n over the prior of f, whose covariance is F F^T.
    factor : CholeskyFactor
        Factor of B.
    beta : (r, J) array
        The mean is F(x) beta.
    noise : float
    omega : (n,) array
    part : KernelFactor
    """

    bound: float
    factor: CholeskyFactor
    beta: Floats
    noise: float
    omega: Floats
    part: KernelFactor

    def moments(self) -> tuple[Floats, Floats]:
        """Return means (n, J) and variances (n,) of f at the samples, under the prior F F^T."""
        F = self.part.array
        mean, variance = np.empty((len(F), self.beta.shape[1])), np.empty(len(F))
        for rows in spans(len(F), _ROWS):
            mean[rows] = F[rows] @ self.beta
            v = self.factor.half_solve(F[rows].T)
            variance[rows] = np.einsum("ij,ij->j", v, v)
        return mean, variance

    def slope(self, y: Floats) -> tuple[Floats, float]:
        """Return the derivatives of the bound in F, (n, r), and in the noise."""
        F, precision, outputs = self.part.array, self.omega / self.noise, self.beta.shape[1]
        inverse = self.factor.solve(np.eye(len(self.beta)))
        out, squares = np.empty_like(F), 0.0
        for rows in spans(len(F), _ROWS):
            left = y[rows] - F[rows] @ self.beta
            squares += float(precision[rows] @ np.sum(left**2, axis=1))
            own = left @ self.beta.T - outputs * (F[rows] @ inverse)
            out[rows] = precision[rows, None] * own
        freedom = len(inverse) - float(np.trace(inverse))
        return out, 0.5 * (squares + outputs * (freedom - float(self.omega.sum()))) / self.noise


def low_rank_expert(part: KernelFactor, y: Floats, omega: Floats, noise: float) -> LowRankExpert:
    r"""Posterior of one component given the weights of its samples, by Woodbury's formula and the determinant lemma.

    .. math:: \log|I + H F F^\top H| = \log|B|, \qquad y^\top (F F^\top + \sigma^2 \Omega^{-1})^{-1} y
        = \sum_n \omega_n (y_n - F_n \beta)^2 / \sigma^2 + \|\beta\|^2

    Seed: [STS] Section 7; [KIKS] Section 3.2 for factors of low rank.

    Parameters
    ----------
    part : KernelFactor
    y : (n, J) array
    omega : (n,) array
        Non-negative.
    noise : float

    Notes
    -----
    Cost O(n r^2), memory O(r^2) beside F.
    """
    F, precision = part.array, omega / noise
    rank, outputs = F.shape[1], y.shape[1]
    B, moment, quadratic = np.zeros((rank, rank)), np.zeros((rank, outputs)), 0.0
    for rows in spans(len(F), _ROWS):
        scaled = precision[rows, None] * F[rows]
        B += F[rows].T @ scaled
        moment += scaled.T @ y[rows]
    factor = safe_cholesky(0.5 * (B + B.T), 1.0)
    beta = factor.solve(moment)
    for rows in spans(len(F), _ROWS):
        quadratic += float(precision[rows] @ np.sum((y[rows] - F[rows] @ beta) ** 2, axis=1))
    quadratic += float(np.vdot(beta, beta))
    logs = factor.logdet() + float(omega.sum()) * math.log(2.0 * math.pi * noise)
    return LowRankExpert(-0.5 * (outputs * logs + quadratic), factor, beta, noise, omega, part)


class LowRankExperts:
    """Functions from factors of Gram matrices on landmarks that stay.

    Parameters
    ----------
    S : Samples
        n packed samples.
    y : (n, J) array
    keep : int
        Number of latest factors that are kept.
    spec : GramSpec
        A Gram of low rank.
    kernel : Kernel
        Where the search starts.
    resources : Resources
    """

    def __init__(self, S: Samples, y: Floats, keep: int, spec: GramSpec, kernel: Kernel, resources: Resources) -> None:
        self.y, self.keep = y, keep
        self.moving = MovingKernel(spec, kernel, S, resources)

    def expert(self, kernel: Kernel, omega: Floats, noise: float) -> LowRankExpert:
        """Return the posterior of one component given the weights of its samples, (n,)."""
        return low_rank_expert(self.moving.at(kernel, self.keep), self.y, omega, noise)

    def moments(self, kernel: Kernel, one: LowRankExpert) -> tuple[Floats, Floats]:
        """Return means (n, J) and variances (n,) of a component's function at all samples."""
        return one.moments()

    def slope(self, kernel: Kernel, omega: Floats, noise: float) -> tuple[float, Floats, float]:
        """Return the sum of the bounds of components with weights (n, c), its derivatives in theta and the noise."""
        part = self.moving.at(kernel, self.keep)
        value, total, slope = 0.0, np.zeros_like(part.array), 0.0
        for column in omega.T:
            one = low_rank_expert(part, self.y, column, noise)
            in_factor, own = one.slope(self.y)
            total += in_factor
            value, slope = value + one.bound, slope + own
        return value, np.zeros(len(free_names(kernel))) if _is_held(kernel) else part.pullback(total), slope


def _is_held(kernel: Kernel) -> bool:
    """Whether no parameter of a kernel moves."""
    return not free_names(kernel) or not offers(kernel, Differentiable)


def block_of(kernel: Kernel, A: Samples, B: Samples, n_threads: int | None = None) -> Floats:
    """Return k(a, b) for all pairs of prepared samples in float64."""
    out = np.empty((len(A), len(B)))
    fill(kernel, Comparison(kernel, A, B, np.float64), out, n_threads=n_threads)
    return out
