r"""The evidence of a Gaussian process, and its variances, from features or from products with K alone.

Symbols as in `mercer.estimators.processes.process_evidence`; F (n, D) features, K = F F^T.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Floats
from mercer.budget import UNLIMITED, Plan, Resources
from mercer.domains import Samples
from mercer.errors import CapabilityError, warn_caller
from mercer.estimators.processes.process_evidence import (
    Conditioned,
    Contracting,
    Evidence,
    Observations,
    ProcessPosterior,
    Triple,
    both,
    completed,
    with_residual,
)
from mercer.gram import Features, GramSpec, Tiles
from mercer.gram.gram import Cross
from mercer.kernels import Kernel
from mercer.numerics.cholesky import CholeskyFactor, safe_cholesky
from mercer.numerics.krylov import Krylov, krylov_solve
from mercer.numerics.pivoting import Preconditioner, pivoted_cholesky
from mercer.runtime.tiling import kept_by
from mercer.solvers.solver import Monitor

__all__ = ["FeatureEvidence", "FeaturePosterior", "IterativeEvidence", "IterativePosterior"]
__saved__ = ["FeaturePosterior", "IterativePosterior"]


class FeatureEvidence(Contracting):
    """Evidence in the weight space of a kernel with finitely many features: the same numbers, from a D x D factor.

    Seed: [STS] Section 5.5; [SS] Section 4.2.2.

    Parameters
    ----------
    observations : Observations
    resources : Resources, optional

    Notes
    -----
    Cost O(n D^2) for the value; the derivatives take one pass over the kernel's tiles, O(n^2 D), and no n x n array.
    """

    def __init__(self, observations: Observations, resources: Resources = UNLIMITED) -> None:
        self.observations, self.resources = observations, resources

    def _solve(self, kernel: Kernel, noise: Floats) -> tuple[Any, Conditioned]:
        observed, rhs = self.observations, both(self.observations)
        shift, k = observed.shift(noise), observed.y.shape[1]
        gram = Features().build(kernel, observed.samples, self.resources)
        inner, right = gram.normal(1.0 / shift, rhs)
        factor = safe_cholesky(np.require(inner, dtype=np.float64, requirements=["C", "W"]), 1.0)
        V = factor.solve(right)
        solved = (rhs - np.asarray(gram.matrix @ V)) / shift[:, None]
        logdet = float(np.sum(np.log(shift))) + factor.logdet()
        found = completed(observed, noise, logdet, solved)
        weights = V[:, :k] - V[:, k:] @ found.multipliers, V[:, k:]
        left = rhs - np.asarray(gram @ solved) - shift[:, None] * solved
        return gram, with_residual(found, observed, left, factor=factor, weights=weights, keys=gram.keys)

    def __call__(self, kernel: Kernel, noise: Floats, *, slopes: bool = True) -> Evidence:
        """Log evidence and derivatives at a kernel and a noise, one number or (n,)."""
        observed, k = self.observations, self.observations.y.shape[1]
        gram, found = self._solve(kernel, noise)
        assert found.factor is not None
        shift = observed.shift(noise)
        E = found.factor.half_solve(gram.factor().T).T / shift[:, None]  # G^-1 = diag(s)^-1 - E E^T
        M = np.hstack([found.coef, np.sqrt(k) * found.U, np.sqrt(k) * E])
        own = k / shift

        def weights(rows: slice, columns: slice) -> Floats:
            tile = M[rows] @ M[columns].T
            if rows == columns:
                np.einsum("ii->i", tile)[:] -= own[rows]
                tile *= 0.5
            return tile

        diagonal = 0.5 * (np.einsum("ij,ij->i", M, M) - own)
        pulled = self._pull(kernel, gram.samples, weights, slopes)
        return Evidence(found.value, pulled, observed.noise_slope(diagonal, noise))

    def condition(self, kernel: Kernel, noise: Floats, monitor: Monitor | None = None) -> Conditioned:
        """The process given the observations."""
        return self._solve(kernel, noise)[1]

    def inverse_diagonal(self, kernel: Kernel, noise: Floats, found: Conditioned) -> Floats:
        """Diagonal of P, (n,), of a conditioned process."""
        assert found.factor is not None
        shift = self.observations.shift(noise)
        gram = Features().build(kernel, self.observations.samples, self.resources)
        half = found.factor.half_solve(gram.factor().T)
        leverage = np.einsum("ij,ij->j", half, half) / shift
        return (1.0 - leverage) / shift - np.einsum("ij,ij->i", found.U, found.U)

    def posterior(self, found: Conditioned, noise: Floats) -> ProcessPosterior:
        """What gives the variances of a conditioned process: the factor of its weights."""
        factor = found.factor
        assert factor is not None and found.weights is not None
        return FeaturePosterior(found.R, factor.array, factor.diagonal, factor.jitter, found.weights[1])


class IterativeEvidence(Contracting):
    """Evidence from products with K alone: solves by conjugate gradients, the determinant by Lanczos quadrature.

    Seed: [KIKS] Section 4.1.4.

    Parameters
    ----------
    observations : Observations
    resources : Resources, optional
    rank : int, default 100
        Rank of the pivoted Cholesky factor of K in the preconditioner.
    probes : int, default 16
        Random vectors for the determinant and the traces of its derivatives.
    tol : float, default 1e-4
        Residual of the solves while the evidence is computed.
    solve_tol : float, default 1e-8
        Residual of the solve that conditions the process.
    max_iter : int, default 1000
        Products per solve.
    seed : int, default 0
        Seed of the probes, which are the same in every evaluation: the estimate is a fixed, smooth function.
    products : GramSpec, optional
        What multiplies with K, such as ``FastGauss()``; None is ``Tiles()``, which always gives the rows of the
        preconditioner.

    Notes
    -----
    Memory O(n (rank + probes)). The value is a mean over probes, with its standard error. Derivatives use the same
    probes and are estimates of the exact derivatives, not derivatives of the estimate.
    """

    estimated: bool = True

    def __init__(
        self,
        observations: Observations,
        resources: Resources = UNLIMITED,
        *,
        rank: int = 100,
        probes: int = 16,
        tol: float = 1e-4,
        solve_tol: float = 1e-8,
        max_iter: int = 1000,
        seed: int = 0,
        products: GramSpec | None = None,
    ) -> None:
        self.observations, self.resources, self.products = observations, resources, products
        self.rank, self.probes, self.seed = rank, probes, seed
        self.tol, self.solve_tol, self.max_iter = tol, solve_tol, max_iter

    def _run(self, kernel: Kernel, noise: Floats, monitor: Any = None) -> tuple[Any, Preconditioner, Floats, Krylov]:
        observed = self.observations
        gram: Any = Tiles().build(kernel, observed.samples, self.resources)
        rows = gram.rows
        partial = pivoted_cholesky(gram.diag(), lambda i: rows(np.array([i]))[0], self.rank)
        if self.products is not None:
            gram = self.products.build(kernel, observed.samples, self.resources)
        P = Preconditioner.of(partial.array, observed.shift(noise))
        Z = P.draw(np.random.default_rng(self.seed), self.probes)
        rhs = np.hstack([both(observed), Z])
        runs = krylov_solve(
            _shifted(gram, P.shift), rhs, P.solve, tol=self.tol, max_iter=self.max_iter, monitor=monitor,
            kept=kept_by(monitor, "krylov_solve", targets=rhs, noise=noise),
        )  # fmt: skip
        return gram, P, Z, runs

    def _determinant(self, P: Preconditioner, runs: Krylov) -> tuple[float, float]:
        """Logarithm of the determinant of G, and its standard error."""
        logs = runs.logarithms(slice(-self.probes, None))
        return P.logdet() + float(logs.mean()), float(logs.std(ddof=1) / np.sqrt(len(logs)))

    def __call__(self, kernel: Kernel, noise: Floats, *, slopes: bool = True) -> Evidence:
        """Log evidence and derivatives at a kernel and a noise, one number or (n,)."""
        observed, k = self.observations, self.observations.y.shape[1]
        gram, P, Z, runs = self._run(kernel, noise)
        logdet, error = self._determinant(P, runs)
        found = completed(observed, noise, logdet, runs.solutions[:, : -self.probes])
        # tr(G^-1 dG) = tr(P^-1 dG) + E (G^-1 z - P^-1 z)^T dG P^-1 z: only the difference is estimated at random
        V, share, own = P.solve(Z), -0.5 * k / self.probes, k / P.shift
        rest = runs.solutions[:, -self.probes :] - V
        exact = np.hstack([found.coef, np.sqrt(k) * found.U, np.sqrt(k) * P.inverse_root()])
        M, N = np.hstack([exact, rest, V]), np.hstack([exact, share * V, share * rest])

        def weights(rows: slice, columns: slice) -> Floats:
            tile = M[rows] @ N[columns].T
            if rows == columns:
                np.einsum("ii->i", tile)[:] -= own[rows]
                tile *= 0.5
            return tile

        diagonal = 0.5 * (np.einsum("ij,ij->i", M, N) - own)
        noises = observed.noise_slope(diagonal, noise)
        pulled = self._pull(kernel, gram.samples, weights, slopes)
        return Evidence(found.value, pulled, noises, 0.5 * k * error, runs.iterations)

    def inverse_diagonal(self, kernel: Kernel, noise: Floats, found: Conditioned) -> Floats:
        """Raise CapabilityError: products alone do not give it."""
        raise CapabilityError(
            "leave_one_out=True was given with ConjugateGradient, which keeps no factor; the closed form needs one. "
            "Use gram=Dense() or gram=Features()."
        )

    def posterior(self, found: Conditioned, noise: Floats) -> ProcessPosterior:
        """What gives the variances of a conditioned process: further solves."""
        assert found.partial is not None
        shift = np.array(self.observations.shift(noise))
        return IterativePosterior(found.R, found.partial, shift, found.inverse_border, self.solve_tol, self.max_iter)

    def condition(self, kernel: Kernel, noise: Floats, monitor: Monitor | None = None) -> Conditioned:
        """The process given the observations, solved to `solve_tol`; its evidence is estimated."""
        observed = self.observations
        gram, P, _, runs = self._run(kernel, noise, monitor)
        logdet, error = self._determinant(P, runs)
        rhs, product = both(observed), _shifted(gram, P.shift)
        begun = runs.solutions[:, : rhs.shape[1]]
        left = rhs - product(begun)
        more = krylov_solve(
            product, left, P.solve,
            tol=self.solve_tol / max(self.tol, self.solve_tol), max_iter=self.max_iter, monitor=monitor,
            kept=kept_by(monitor, "krylov_solve", targets=left, noise=noise),
        )  # fmt: skip
        solved = begun + more.solutions
        found = completed(observed, noise, logdet, solved)
        k = observed.y.shape[1]
        details = {
            "log determinant": "estimated", "probes": self.probes, "rank of the preconditioner": P.array.shape[1],
            "iterations": runs.iterations + more.iterations,
        }  # fmt: skip
        return with_residual(
            found, observed, rhs - product(solved), partial=P.array, error=0.5 * k * error, details=details
        )


def _shifted(gram: Any, shift: Floats) -> Callable[[Floats], Floats]:
    return lambda V: np.asarray(gram @ V, dtype=np.float64) + shift[:, None] * V


# variances ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FeaturePosterior(ProcessPosterior):
    """A posterior in the weight space of D features: its variances are sums of squares, and nothing is subtracted.

    Attributes
    ----------
    array, diagonal, jitter
        Factor of I + F^T diag(s)^-1 F.
    border_weights : (D, q) array
        F^T G^-1 B.
    R : (q, q) array
    """

    array: Floats
    diagonal: Floats
    jitter: float
    border_weights: Floats

    def _arrays(self, function: Any, T: Samples, b: Floats, resources: Resources) -> Triple:
        features = function.kernel.features(T, function.keys)[0]
        F = np.asarray(features.toarray() if hasattr(features, "toarray") else features, dtype=np.float64)
        V = CholeskyFactor(self.array, self.diagonal, self.jitter).half_solve(F.T)
        return V, -V, self._excess(b, F @ self.border_weights)

    def _prior_variance(self, function: Any, T: Samples) -> Floats | float:
        return 0.0

    def _prior_covariance(self, function: Any, T: Samples, resources: Resources) -> Floats:
        Plan(f"the covariance of {len(T)} samples", {"covariance": 16 * len(T) ** 2}).require(resources.memory)
        return np.zeros((len(T), len(T)))


@dataclass(frozen=True, eq=False)
class IterativePosterior(ProcessPosterior):
    r"""A posterior without a factor of G: it solves by conjugate gradients for each new sample on request.

    For an approximate solution u of G u = k the variance of the linear predictor u^T y is returned, kappa - 2 u^T k +
    u^T G u. It is never below the exact one, and above it by the square of the error in u.

    Attributes
    ----------
    partial : (n, r) array
        Pivoted factor of K, of the preconditioner, computed once in `fit`.
    shift : (n,) array
        s.
    inverse_border : (n, q) array
        G^-1 B.
    R : (q, q) array
    tol : float
        Relative residual of the solves.
    max_iter : int
    """

    partial: Floats
    shift: Floats
    inverse_border: Floats
    tol: float
    max_iter: int

    def _arrays(self, function: Any, T: Samples, b: Floats, resources: Resources) -> Triple:
        k = np.ascontiguousarray(Cross(function.kernel, T, function.samples, resources).to_dense().T)
        gram = Tiles().build(function.kernel, function.samples, resources)

        def product(V: Floats) -> Floats:
            return np.asarray(gram @ V) + self.shift[:, None] * V

        P = Preconditioner.of(self.partial, self.shift)
        runs = krylov_solve(product, k, P.solve, tol=self.tol, max_iter=self.max_iter)
        if np.max(runs.residuals, initial=0.0) > self.tol:
            warn_caller(
                f"Variances were solved for up to a residual of {runs.residuals.max():.3g}, not {self.tol:.3g}: they "
                "are upper bounds. Raise max_iter of the solver, or use gram=Dense().",
                ConvergenceWarning,
            )
        u = runs.solutions
        left = k - product(u)
        return u, k + left, self._excess(b, k.T @ self.inverse_border)
