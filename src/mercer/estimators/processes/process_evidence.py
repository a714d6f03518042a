r"""The evidence of a Gaussian process: how probable the targets are under a kernel and a noise, and its derivatives.

Symbols: ``G`` = K + diag(s), s_i = noise_i / w_i for a sample of weight w_i; ``B`` mean functions at the samples, (n,
q), with a flat prior on their coefficients m; ``a`` = P y with ``P`` = G^-1 - U U^T, U = G^-1 B R^-1, R^T R = B^T G^-1
B; k outputs that share kernel and noise.

log p(y) = -1/2 sum y^T a - k/2 (log det G + log det R^T R - log det B^T W B + (sum w - q) log 2 pi
                                 + sum (w_i - 1) log noise_i + sum log w_i)

The terms in w make a sample of weight w the same as w copies of it, for whole numbers exactly: the copies' mean has the
noise s_i, and the rest of their density is N(0; 0, noise)^(w - 1) / sqrt(w). With mean functions it is the density of
what no mean function can explain (restricted likelihood), which does not depend on the basis chosen for them.

The derivative in K is the matrix 1/2 (a a^T - k P), of which tiles are contracted with those of dK/dtheta: beside K no
array of its size exists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from scipy.linalg import solve_triangular

from mercer.arrays import Floats
from mercer.budget import UNLIMITED, Resources
from mercer.domains import Samples
from mercer.errors import CapabilityError
from mercer.gram import Dense, Features, GramSpec, Tiles
from mercer.kernels import Kernel
from mercer.kernels.kernel import mirror, pull
from mercer.numerics.cholesky import CholeskyFactor, lapack, safe_cholesky
from mercer.numerics.krylov import Krylov, krylov_solve
from mercer.numerics.pivoting import Preconditioner, pivoted_cholesky
from mercer.problems import LinearSystem
from mercer.runtime.tiling import in_background, kept_by
from mercer.solvers import Cholesky
from mercer.solvers.solver import Monitor
from mercer.spec import free_values

__all__ = [
    "Conditioned",
    "Conditioner",
    "DenseEvidence",
    "Evidence",
    "FeatureEvidence",
    "IterativeEvidence",
    "Observations",
]


@dataclass(frozen=True, eq=False)
class Observations:
    """What was observed, and where.

    Attributes
    ----------
    samples : Samples
        Packed, n of them.
    y : (n, k) array
        One column per output.
    weight : (n,) array
        Positive.
    border : (n, q) array
        Mean functions at the samples; none by default.
    """

    samples: Samples
    y: Floats
    weight: Floats
    border: Floats

    @classmethod
    def of(cls, samples: Samples, y: Any, weight: Any = None, border: Any = None) -> Observations:
        """Observations from arrays of any of the usual shapes."""
        y = np.asarray(y, dtype=np.float64).reshape(len(samples), -1)
        w = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
        return cls(samples, y, w, np.zeros((len(y), 0)) if border is None else np.asarray(border, dtype=np.float64))

    def shift(self, noise: Floats) -> Floats:
        """The diagonal s added to K, (n,)."""
        return np.broadcast_to(noise, self.weight.shape) / self.weight

    def constant(self, noise: Floats) -> float:
        """The part of the log evidence that does not depend on the kernel."""
        w, (_, k), q = self.weight, self.y.shape, self.border.shape[1]
        extra = (w - 1.0) @ np.log(np.broadcast_to(noise, w.shape)) + np.sum(np.log(w))
        if q:
            extra -= 2.0 * np.sum(
                np.log(np.abs(np.diagonal(np.linalg.qr(np.sqrt(w)[:, None] * self.border, mode="r"))))
            )
        return -0.5 * k * float((w.sum() - q) * np.log(2.0 * np.pi) + extra)

    def white(self, noise: Floats | float = 1.0) -> float:
        """Largest log evidence of noise alone, c times the noises given; minus infinity where nothing is left of y."""
        w, k, q = self.weight, self.y.shape[1], self.border.shape[1]
        v = np.broadcast_to(noise, w.shape)
        root = np.sqrt(w / v)[:, None]
        left, extra = root * self.y, float(w @ np.log(v))
        if q:
            Q, R = np.linalg.qr(root * self.border)
            plain = np.linalg.qr(np.sqrt(w)[:, None] * self.border, mode="r")
            left = left - Q @ (Q.T @ left)
            extra += 2.0 * float(np.sum(np.log(np.abs(np.diagonal(R) / np.diagonal(plain)))))
        size, freedom = float(np.abs(left).max(initial=0.0)), k * (float(w.sum()) - q)
        if not size > 0.0 or not freedom > 0.0:
            return -np.inf
        c = float(np.log(np.sum((left / size) ** 2) / freedom) + 2.0 * np.log(size))
        return -0.5 * freedom * (np.log(2.0 * np.pi) + c + 1.0) - 0.5 * k * extra

    def noise_slope(self, diagonal: Floats, noise: Floats) -> Floats:
        """Derivative in each sample's noise, (n,), from that in the diagonal of G."""
        w, k = self.weight, self.y.shape[1]
        return diagonal / w - 0.5 * k * (w - 1.0) / noise


@dataclass(frozen=True, eq=False)
class Evidence:
    """Log evidence and its derivatives in raw values.

    Attributes
    ----------
    value : float
    kernel : (p,) array
        Derivatives in the kernel's free parameters.
    noise : (n,) array
        Derivatives in the noise of each sample; for one noise, their sum.
    error : float
        Standard error of the value where it was estimated with random probes; 0.0 where it is exact.
    iterations : int
        Products with K, where they were needed.
    """

    value: float
    kernel: Floats
    noise: Floats
    error: float = 0.0
    iterations: int = 0


@dataclass(frozen=True, eq=False)
class Conditioned:
    """A Gaussian process conditioned on observations.

    Attributes
    ----------
    value : float
        Log evidence.
    coef : (n, k) array
        a.
    multipliers : (q, k) array
        m.
    R : (q, q) array
        Upper triangular.
    residual : float
        Largest over the outputs of the length of y - G a - B m over that of y.
    factor : CholeskyFactor or None
        Factor of G (dense), or of I + F^T diag(s)^-1 F (features).
    partial : (n, r) array or None
        Pivoted factor of K, of the preconditioner.
    inverse_border : (n, q) array
        G^-1 B.
    weights : (D, k) and (D, q) arrays, or None
        F^T a, and F^T G^-1 B, for features.
    keys : object
        What identifies the features.
    error : float
        Standard error of the value.
    details : dict
        What was estimated, and how.
    """

    value: float
    coef: Floats
    multipliers: Floats
    R: Floats
    residual: float
    factor: CholeskyFactor | None = None
    partial: Floats | None = None
    inverse_border: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    weights: tuple[Floats, Floats] | None = None
    keys: Any = None
    error: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def U(self) -> Floats:
        """G^-1 B R^-1, (n, q): G^-1 - U U^T maps y to a."""
        return _right_divided(self.inverse_border, self.R)


class Conditioner(Protocol):
    """How the evidence is computed: from a dense matrix, from features, or from products alone."""

    observations: Observations
    resources: Resources
    estimated: bool  # whether value and derivatives depend on random probes

    def __call__(self, kernel: Kernel, noise: Floats, *, slopes: bool = True) -> Evidence:
        """Log evidence and derivatives; those in the kernel's parameters are zero without `slopes`."""
        ...

    def condition(self, kernel: Kernel, noise: Floats, monitor: Monitor | None = None) -> Conditioned:
        """The process given the observations; what is iterated can be watched."""
        ...

    def inverse_diagonal(self, kernel: Kernel, noise: Floats, found: Conditioned) -> Floats:
        """Diagonal of P, (n,), of a conditioned process."""
        ...


class _Contracting:
    """A mixin that contracts weights of K with its derivatives."""

    resources: Resources
    estimated: bool = False

    def _pull(self, kernel: Kernel, S: Samples, weights: Callable[[slice, slice], Floats], slopes: bool) -> Floats:
        if not slopes:
            return np.zeros(len(free_values(kernel)))
        return pull(kernel, S, S, weights, n_threads=self.resources.n_threads)


class DenseEvidence(_Contracting):
    r"""Evidence from one Cholesky factor, in one n x n array.

    Seed: [KIKS] Section 4.1.4; [SS] Section 5.2; [STS] Eq. (84).

    Parameters
    ----------
    observations : Observations
    resources : Resources, optional

    Notes
    -----
    K is written into an array, factored in it and inverted in it, n^3 operations in all; the derivatives then cost one
    more pass over the kernel's tiles. The array is used again by the next evaluation.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Gaussian
    >>> evidence = DenseEvidence(Observations.of(Vectors.pack([[0.0], [1.0]]), [0.5, -0.5]))
    >>> round(evidence(1.0 * Gaussian(1.0), np.array(0.1)).value, 4)
    -2.2586
    """

    def __init__(self, observations: Observations, resources: Resources = UNLIMITED) -> None:
        self.observations, self.resources = observations, resources
        self._array: Floats | None = None

    def _solved(self, kernel: Kernel, noise: Floats) -> tuple[Samples, CholeskyFactor, Conditioned]:
        observed = self.observations
        gram = Dense().build(kernel, observed.samples, self.resources, self._array)
        # in float64 whatever the user's solver says: the determinant needs all digits
        solution = Cholesky().solve(LinearSystem(gram, observed.shift(noise), _both(observed)))
        factor: CholeskyFactor = solution.state.factor
        self._array = factor.array
        return gram.samples, factor, _completed(observed, noise, factor.logdet(), solution.coef)

    def __call__(self, kernel: Kernel, noise: Floats, *, slopes: bool = True) -> Evidence:
        """Log evidence and derivatives at a kernel and a noise, one number or (n,)."""
        observed = self.observations
        S, factor, found = self._solved(kernel, noise)
        inverse, k = _inverted(factor), observed.y.shape[1]
        M = np.hstack([found.coef, np.sqrt(k) * found.U])
        diagonal = 0.5 * (np.einsum("ij,ij->i", M, M) - k * inverse.diagonal())

        def weights(rows: slice, columns: slice) -> Floats:
            tile = M[rows] @ M[columns].T
            tile -= inverse[rows, columns] if k == 1 else k * inverse[rows, columns]
            return 0.5 * mirror(tile) if rows == columns else tile

        return Evidence(found.value, self._pull(kernel, S, weights, slopes), observed.noise_slope(diagonal, noise))

    def condition(self, kernel: Kernel, noise: Floats, monitor: Monitor | None = None) -> Conditioned:
        """The process given the observations; the factor keeps the array."""
        observed = self.observations
        _, factor, found = self._solved(kernel, noise)
        self._array = None
        left = _both(observed)
        left -= factor.product(np.hstack([found.coef + found.inverse_border @ found.multipliers, found.inverse_border]))
        return _with(found, observed, left, factor=factor)

    def inverse_diagonal(self, kernel: Kernel, noise: Floats, found: Conditioned) -> Floats:
        """Diagonal of P, (n,), of a conditioned process."""
        assert found.factor is not None
        return found.factor.inverse_diagonal() - np.einsum("ij,ij->i", found.U, found.U)


class FeatureEvidence(_Contracting):
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
        observed, rhs = self.observations, _both(self.observations)
        shift, k = observed.shift(noise), observed.y.shape[1]
        gram = Features().build(kernel, observed.samples, self.resources)
        inner, right = gram.normal(1.0 / shift, rhs)
        factor = safe_cholesky(np.require(inner, dtype=np.float64, requirements=["C", "W"]), 1.0)
        V = factor.solve(right)
        solved = (rhs - np.asarray(gram.matrix @ V)) / shift[:, None]
        logdet = float(np.sum(np.log(shift))) + factor.logdet()
        found = _completed(observed, noise, logdet, solved)
        weights = V[:, :k] - V[:, k:] @ found.multipliers, V[:, k:]
        left = rhs - np.asarray(gram @ solved) - shift[:, None] * solved
        return gram, _with(found, observed, left, factor=factor, weights=weights, keys=gram.keys)

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


class IterativeEvidence(_Contracting):
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
        rhs = np.hstack([_both(observed), Z])
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
        found = _completed(observed, noise, logdet, runs.solutions[:, : -self.probes])
        # tr(G^-1 dG) = tr(P^-1 dG) + E (G^-1 z - P^-1 z)^T dG P^-1 z: only what P does not know is left to chance
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

    def condition(self, kernel: Kernel, noise: Floats, monitor: Monitor | None = None) -> Conditioned:
        """The process given the observations, solved to `solve_tol`; its evidence is estimated."""
        observed = self.observations
        gram, P, _, runs = self._run(kernel, noise, monitor)
        logdet, error = self._determinant(P, runs)
        rhs, product = _both(observed), _shifted(gram, P.shift)
        begun = runs.solutions[:, : rhs.shape[1]]
        left = rhs - product(begun)
        more = krylov_solve(
            product, left, P.solve,
            tol=self.solve_tol / max(self.tol, self.solve_tol), max_iter=self.max_iter, monitor=monitor,
            kept=kept_by(monitor, "krylov_solve", targets=left, noise=noise),
        )  # fmt: skip
        solved = begun + more.solutions
        found = _completed(observed, noise, logdet, solved)
        k = observed.y.shape[1]
        details = {
            "log determinant": "estimated", "probes": self.probes, "rank of the preconditioner": P.array.shape[1],
            "iterations": runs.iterations + more.iterations,
        }  # fmt: skip
        return _with(found, observed, rhs - product(solved), partial=P.array, error=0.5 * k * error, details=details)


def _both(observed: Observations) -> Floats:
    """Targets and mean functions side by side, (n, k + q): right-hand sides of one solve."""
    return np.hstack([observed.y, observed.border])


def _shifted(gram: Any, shift: Floats) -> Callable[[Floats], Floats]:
    return lambda V: np.asarray(gram @ V, dtype=np.float64) + shift[:, None] * V


def _completed(observed: Observations, noise: Floats, logdet: float, solved: Floats) -> Conditioned:
    """The conditioned process from log det G and G^-1 (y, B), (n, k + q)."""
    k = observed.y.shape[1]
    Gy, GB = solved[:, :k], solved[:, k:]
    R = np.linalg.cholesky(observed.border.T @ GB, upper=True) if GB.shape[1] else np.zeros((0, 0))
    half = solve_triangular(R, observed.border.T @ Gy, trans=1) if len(R) else np.zeros((0, k))
    m = solve_triangular(R, half) if len(R) else half
    a = Gy - GB @ m
    logs = logdet + 2.0 * float(np.sum(np.log(np.diagonal(R))))
    value = -0.5 * float(np.vdot(observed.y, a)) - 0.5 * k * logs + observed.constant(noise)
    return Conditioned(value, a, m, R, 0.0, inverse_border=GB)


def _with(found: Conditioned, observed: Observations, left: Floats, **more: Any) -> Conditioned:
    """The same with its residual, given what is left of the solves for y and B."""
    k = observed.y.shape[1]
    rest = np.linalg.norm(left[:, :k] - left[:, k:] @ found.multipliers, axis=0)
    size = np.linalg.norm(observed.y, axis=0)
    residual = float(np.max(rest / np.where(size > 0.0, size, 1.0), initial=0.0))
    return Conditioned(
        found.value, found.coef, found.multipliers, found.R, residual, inverse_border=found.inverse_border, **more
    )


def _right_divided(X: Floats, R: Floats) -> Floats:
    """X R^-1 for an upper triangular R."""
    return solve_triangular(R, X.T, trans=1).T if len(R) else X


def _inverted(factor: CholeskyFactor) -> Floats:
    """Inverse of the factored matrix, in the upper triangle of the factor's array; the factor is gone afterwards."""
    A, info = factor.array, np.zeros(1, np.intc)
    n = len(A)
    in_background(lapack("dpotri"), "L", n, A, max(n, 1), info, work=2.0 * n**3 / 3.0)
    return A
