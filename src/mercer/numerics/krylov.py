r"""Many linear systems by products alone, and determinants from what conjugate gradients have seen on the way.

Symbols: ``G`` symmetric positive definite, (n, n), known by its products; ``P`` a preconditioner; ``z`` a right-hand
side, ``r`` residuals, ``p`` directions; ``T`` the tridiagonal matrix of the Lanczos process, with eigenvalues lambda
and first components tau of its eigenvectors.

A run of conjugate gradients from z is a Lanczos process of P^(-1/2) G P^(-1/2) from P^(-1/2) z. Its steps alpha and
beta are the entries of T, and Gauss quadrature in T gives z^T P^(-1/2) log(P^(-1/2) G P^(-1/2)) P^(-1/2) z; for z
drawn from N(0, P) the mean of that is log det G - log det P.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh_tridiagonal

from mercer.arrays import Floats, Indices
from mercer.errors import NotPositiveDefinite
from mercer.numerics.block_krylov import times
from mercer.numerics.pivoting import Preconditioner
from mercer.runtime.tiling import Kept

__all__ = ["Krylov", "LogDeterminant", "krylov_solve", "stochastic_logdet"]
__public__ = __all__

_STATE = ("solutions", "left", "directions", "rho", "squares", "residuals", "active")  # of a run, as it is kept


@dataclass(frozen=True, eq=False)
class Krylov:
    """Solutions of several systems, and the Lanczos matrices of the runs that found them.

    Attributes
    ----------
    solutions : (n, k) array
        G^-1 rhs, as far as they were found.
    residuals : (k,) array
        Length of what is left over that of the right-hand side, by the recurrence.
    alpha, beta : (t, k) arrays
        Steps of the runs; NaN after the end of a run.
    squares : (k,) array
        rhs^T P^-1 rhs.
    stopped : bool
        Whether a monitor ended the runs.
    """

    solutions: Floats
    residuals: Floats
    alpha: Floats
    beta: Floats
    squares: Floats
    stopped: bool = False

    @property
    def iterations(self) -> int:
        """Products that were taken."""
        return len(self.alpha)

    def logarithms(self, columns: slice = slice(None)) -> Floats:
        """Gauss quadrature of rhs^T P^(-1/2) log(P^(-1/2) G P^(-1/2)) P^(-1/2) rhs, one number per column."""
        return np.array(
            [
                square * _log_quadrature(alpha, beta)
                for alpha, beta, square in zip(
                    self.alpha.T[columns], self.beta.T[columns], self.squares[columns], strict=True
                )
            ]
        )


def krylov_solve(
    product: Any,
    rhs: Floats,
    precondition: Callable[[Floats], Floats] | None = None,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
    monitor: Callable[[int, float], object] | None = None,
    kept: Kept | None = None,
) -> Krylov:
    """Solve G X = rhs by conjugate gradients whose columns share their products and record their steps.

    Parameters
    ----------
    product : callable or Gram
        V -> G V, for V (n, k), or what has ``@``.
    rhs : (n, k) array
    precondition : callable, optional
        R -> P^-1 R; None is the identity.
    tol : float, default 1e-8
        Tolerance of residuals relative to the right-hand sides; a column that has reached it takes no further steps.
    max_iter : int, default 1000
    monitor : callable, optional
        ``monitor(iteration, residual)``; a true answer ends the runs.
    kept : Kept, optional
        The place of the state; what a former run has left there is resumed.

    Returns
    -------
    Krylov

    Examples
    --------
    >>> found = krylov_solve(np.diag([1.0, 2.0]), np.array([[1.0], [1.0]]))
    >>> found.solutions.ravel(), found.iterations
    (array([1. , 0.5]), 2)
    """
    product, apply = times(product), precondition or np.copy
    R = np.array(rhs, dtype=np.float64)
    k = R.shape[1]
    lengths = np.linalg.norm(R, axis=0)
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    kept = Kept() if kept is None else kept
    if (former := kept.state) is None:
        X, Z = np.zeros_like(R), apply(R)
        D = Z.copy()
        rho = np.einsum("ij,ij->j", R, Z)
        squares = rho.copy()
        alphas: list[Floats] = []
        betas: list[Floats] = []
        residuals = np.linalg.norm(R, axis=0) / lengths
        active = np.flatnonzero((residuals > tol) & (rho > 0.0))
    else:
        X, R, D, rho, squares, residuals, active = (former[name] for name in _STATE)
        alphas, betas = list(former["alphas"]), list(former["betas"])
    # a state is offered before the monitor is called
    stopped = bool(former is not None and monitor is not None and monitor(len(alphas), float(residuals.max())))

    def state() -> dict[str, object]:
        now = (X, R, D, rho, squares, residuals, active)
        return {**dict(zip(_STATE, now, strict=True)), "alphas": alphas, "betas": betas}

    while len(active) and len(alphas) < max_iter and not stopped:
        d = D[:, active]
        Gd = product(d)
        bend = np.einsum("ij,ij->j", d, Gd)
        if not (np.all(np.isfinite(bend)) and np.all(bend > 0.0)):
            raise NotPositiveDefinite(
                f"A product with the Gram matrix gives the curvature {float(np.min(bend)):.2g}; conjugate gradients "
                "need a positive definite matrix. Raise the shift (alpha, noise), or use a positive definite kernel."
            )
        step = rho[active] / bend
        X[:, active] += step * d
        R[:, active] -= step * Gd
        residuals[active] = np.linalg.norm(R[:, active], axis=0) / lengths[active]
        Zj = apply(R[:, active])
        after = np.einsum("ij,ij->j", R[:, active], Zj)
        turn = after / rho[active]
        D[:, active] = Zj + turn * d
        alphas.append(_placed(step, active, k))
        betas.append(_placed(turn, active, k))
        rho[active] = after
        active = active[(residuals[active] > tol) & (after > 0.0)]
        kept.offer(state)
        stopped = bool(monitor is not None and monitor(len(alphas), float(residuals.max())))
    kept.close(state)
    shape = (len(alphas), k)
    return Krylov(X, residuals, np.array(alphas).reshape(shape), np.array(betas).reshape(shape), squares, stopped)


@dataclass(frozen=True, eq=False)
class LogDeterminant:
    """A logarithm of a determinant that was estimated.

    Attributes
    ----------
    value : float
    error : float
        Standard error of the mean over the probes.
    iterations : int
        Products with all probes.
    """

    value: float
    error: float
    iterations: int


def stochastic_logdet(
    product: Any,
    n: int,
    preconditioner: Preconditioner | None = None,
    *,
    probes: int = 16,
    tol: float = 1e-4,
    max_iter: int = 1000,
    random_state: int | None = 0,
) -> LogDeterminant:
    r"""Estimate log det G from products with random vectors, by stochastic Lanczos quadrature.

    .. math:: \log\det G = \log\det P + E \, z^\top P^{-1/2} \log(P^{-1/2} G P^{-1/2}) P^{-1/2} z, \qquad z \sim N(0, P)

    Seed: [KIKS] Section 3.3, for Gaussian processes of many samples.

    Parameters
    ----------
    product : callable or Gram
        V -> G V, for V (n, probes), or what has ``@``.
    n : int
        Order of G.
    preconditioner : Preconditioner, optional
        P, near to G: only what it does not know is left to chance. None is the identity, with probes of signs.
    probes : int, default 16
        Number of random vectors; the error falls with the root of their number.
    tol : float, default 1e-4
        Residual at which the run of a probe ends. The quadrature is far better than the residual.
    max_iter : int, default 1000
    random_state : int or None, default 0

    Returns
    -------
    LogDeterminant

    Examples
    --------
    >>> found = stochastic_logdet(lambda V: 2.0 * V, 10)
    >>> round(found.value, 6), round(found.error, 6)
    (6.931472, 0.0)

    For a Gram matrix with noise on its diagonal, as in the evidence of a Gaussian process:

    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Shifted, Tiles
    >>> from mercer.kernels import Gaussian
    >>> K = Shifted(Tiles().build(Gaussian(1.0), Vectors.pack(np.arange(50.0)[:, None])), 0.1)
    >>> found, exact = stochastic_logdet(K, 50, probes=64), np.linalg.slogdet(K.to_dense())[1]
    >>> bool(abs(found.value - exact) < 3.0 * found.error)
    True
    """
    rng = np.random.default_rng(random_state)
    if preconditioner is None:
        Z = np.where(rng.random((n, probes)) < 0.5, -1.0, 1.0)
        known, solve = 0.0, None
    else:
        Z = preconditioner.draw(rng, probes)
        known, solve = preconditioner.logdet(), preconditioner.solve
    runs = krylov_solve(product, Z, solve, tol=tol, max_iter=max_iter)
    logs = runs.logarithms()
    error = float(logs.std(ddof=1) / np.sqrt(probes)) if probes > 1 else float("inf")
    return LogDeterminant(known + float(logs.mean()), error, runs.iterations)


def _placed(values: Floats, where: Indices, count: int) -> Floats:
    out = np.full(count, np.nan)
    out[where] = values
    return out


def _log_quadrature(alpha: Floats, beta: Floats) -> float:
    """Sum of tau^2 log(lambda) of the Lanczos matrix of one run."""
    t = int(np.sum(np.isfinite(alpha)))
    if t == 0:
        return 0.0
    alpha, beta = alpha[:t], beta[:t]
    diagonal = 1.0 / alpha
    diagonal[1:] += beta[:-1] / alpha[:-1]
    beside = np.sqrt(np.maximum(beta[:-1], 0.0)) / alpha[:-1]
    values, vectors = eigh_tridiagonal(diagonal, beside)
    return float(vectors[0] ** 2 @ np.log(np.maximum(values, np.finfo(float).tiny)))
