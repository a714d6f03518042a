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

The variance at a new sample t is kappa - |L^-1 k|^2 + |R^-T (b - B^T G^-1 k)|^2, with k = k(S, t), kappa = k(t, t), b
mean functions at t and G = L L^T. Every way of computing it gives, for some new samples, arrays (P, Q, E) whose columns
belong to them and with which covariances are prior - P^T Q + E^T E; variances are its diagonal, summed column by
column. The same pieces of the new samples are used for both, so they agree to the bit.

Here all of this comes from one dense matrix; `mercer.estimators.processes.evidence_forms` has the same from features,
and from products alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

import numpy as np
from scipy.linalg import solve_triangular

from mercer.arguments import answer_of
from mercer.arrays import Floats, real_numbers
from mercer.budget import UNLIMITED, Plan, Resources
from mercer.domains import Samples, Vectors
from mercer.errors import ParameterError
from mercer.gram import Dense, Expansion, FeatureExpansion
from mercer.gram.gram import Cross
from mercer.kernels import Kernel
from mercer.kernels.kernel import mirror, pull
from mercer.numerics.cholesky import CholeskyFactor, lapack
from mercer.problems import LinearSystem
from mercer.runtime.tiling import in_background, spans
from mercer.solvers import Cholesky
from mercer.solvers.solver import Monitor
from mercer.spec import free_values

__all__ = [
    "Conditioned",
    "Conditioner",
    "Contracting",
    "DenseEvidence",
    "DensePosterior",
    "Evidence",
    "MeanFunctions",
    "Observations",
    "ProcessPosterior",
    "both",
    "completed",
    "with_residual",
]
__saved__ = ["DensePosterior", "MeanFunctions"]

_PIECE = 256  # new samples at a time

Function = Expansion | FeatureExpansion
Triple = tuple[Floats, Floats, Floats]

TAKES = "all the data at once, and returns a number or a row for each sample"


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

    def posterior(self, found: Conditioned, noise: Floats) -> ProcessPosterior:
        """What gives the variances of a conditioned process."""
        ...


class Contracting:
    """A mixin that contracts weights of K with its derivatives."""

    resources: Resources
    estimated: bool = False

    def _pull(self, kernel: Kernel, S: Samples, weights: Callable[[slice, slice], Floats], slopes: bool) -> Floats:
        if not slopes:
            return np.zeros(len(free_values(kernel)))
        return pull(kernel, S, S, weights, n_threads=self.resources.n_threads)


class DenseEvidence(Contracting):
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
        solution = Cholesky().solve(LinearSystem(gram, observed.shift(noise), both(observed)))
        factor: CholeskyFactor = solution.state.factor
        self._array = factor.array
        return gram.samples, factor, completed(observed, noise, factor.logdet(), solution.coef)

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
        left = both(observed)
        left -= factor.product(np.hstack([found.coef + found.inverse_border @ found.multipliers, found.inverse_border]))
        return with_residual(found, observed, left, factor=factor)

    def inverse_diagonal(self, kernel: Kernel, noise: Floats, found: Conditioned) -> Floats:
        """Diagonal of P, (n,), of a conditioned process."""
        assert found.factor is not None
        return found.factor.inverse_diagonal() - np.einsum("ij,ij->i", found.U, found.U)

    def posterior(self, found: Conditioned, noise: Floats) -> ProcessPosterior:
        """What gives the variances of a conditioned process: the factor."""
        factor, border = found.factor, self.observations.border
        assert factor is not None
        H = factor.half_solve(border) if border.shape[1] else border
        return DensePosterior(found.R, factor.array, factor.diagonal, factor.jitter, H)


def both(observed: Observations) -> Floats:
    """Targets and mean functions side by side, (n, k + q): right-hand sides of one solve."""
    return np.hstack([observed.y, observed.border])


def completed(observed: Observations, noise: Floats, logdet: float, solved: Floats) -> Conditioned:
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


def with_residual(found: Conditioned, observed: Observations, left: Floats, **more: Any) -> Conditioned:
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


# variances, and mean functions ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ProcessPosterior:
    """Variances and covariances of a function that was conditioned on observations."""

    R: Floats

    def _arrays(self, function: Any, T: Samples, b: Floats, resources: Resources) -> Triple:
        """P, Q, E of a piece of new samples, their columns."""
        raise NotImplementedError

    def _prior_variance(self, function: Any, T: Samples) -> Floats | float:
        return function.kernel.diag(function.kernel.prepare(T))

    def _prior_covariance(self, function: Any, T: Samples, resources: Resources) -> Floats:
        kernel, m = function.kernel, len(T)
        Plan(f"the covariance of {m} samples", {"covariance": 16 * m * m}).require(resources.memory)
        return np.asarray(kernel(T, n_threads=resources.n_threads), dtype=np.float64)

    def _excess(self, b: Floats, reached: Floats) -> Floats:
        """R^-T (b - reached), (q, m)."""
        return solve_triangular(self.R, (b - reached).T, trans=1) if len(self.R) else np.zeros((0, len(b)))

    def variance(self, function: Function, T: Samples, b: Floats, resources: Resources = UNLIMITED) -> Floats:
        """Variances of the function at new samples, (m,), never negative."""
        parts = [self._variance(function, T[rows], b[rows], resources)[0] for rows in spans(len(T), _PIECE)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _variance(self, function: Function, T: Samples, b: Floats, resources: Resources) -> tuple[Floats, Triple]:
        P, Q, E = self._arrays(function, T, b, resources)
        variance = self._prior_variance(function, T) - np.einsum("ij,ij->j", P, Q)
        variance += np.einsum("ij,ij->j", E, E)
        return np.maximum(variance, 0.0), (P, Q, E)

    def covariance(self, function: Function, T: Samples, b: Floats, resources: Resources = UNLIMITED) -> Floats:
        """Covariances of the function at new samples, (m, m); their diagonal is `variance`."""
        pieces = [self._variance(function, T[rows], b[rows], resources) for rows in spans(len(T), _PIECE)]
        P, Q, E = (np.hstack([arrays[place] for _, arrays in pieces]) for place in range(3))
        out = self._prior_covariance(function, T, resources)
        out -= P.T @ Q
        out += E.T @ E
        out += out.T.copy()
        out *= 0.5
        np.fill_diagonal(out, np.concatenate([variance for variance, _ in pieces]))
        return out


@dataclass(frozen=True, eq=False)
class DensePosterior(ProcessPosterior):
    """A posterior that keeps the Cholesky factor of G: 8 n^2 bytes.

    Attributes
    ----------
    array, diagonal, jitter
        Of a `mercer.numerics.cholesky.CholeskyFactor`.
    H : (n, q) array
        L^-1 B.
    R : (q, q) array
    """

    array: Floats
    diagonal: Floats
    jitter: float
    H: Floats

    def _arrays(self, function: Any, T: Samples, b: Floats, resources: Resources) -> Triple:
        cross = Cross(function.kernel, T, function.samples, resources).to_dense()
        V = CholeskyFactor(self.array, self.diagonal, self.jitter).half_solve(cross.T)
        return V, V, self._excess(b, V.T @ self.H)


@dataclass(frozen=True, eq=False)
class MeanFunctions:
    """Functions with unknown coefficients: the mean of a process is a sum of them.

    Attributes
    ----------
    mean : None, "constant", "linear", Kernel or callable
        A Kernel stands for its features, a callable for the columns it returns.
    keys : object
        What identifies the features.
    center : (d,) array or None
        Learned: what is subtracted of the columns of "linear".

    Examples
    --------
    >>> S = Vectors.pack([[1.0], [3.0]])
    >>> MeanFunctions("linear").learn(S, S)[1]
    array([[ 1., -1.],
           [ 1.,  1.]])
    """

    mean: Any
    keys: Any = None
    center: Floats | None = None

    def learn(self, X: Any, S: Samples) -> tuple[Self, Floats]:
        """Return the functions with what is learned from training data, and their values there, (n, q)."""
        learned = self
        if isinstance(self.mean, str) and self.mean == "linear":
            learned = replace(self, center=_columns(X, S).mean(axis=0))
        elif isinstance(self.mean, Kernel):
            T = self.mean.prepare(self.mean.pack(X))
            learned = replace(self, keys=self.mean.features(T)[1])
        return learned, learned(X, S)

    def __call__(self, X: Any, S: Samples) -> Floats:
        """Return the values of the functions, (m, q), at data as they were given and as they were packed."""
        if self.mean is None:
            return np.zeros((len(S), 0))
        if isinstance(self.mean, str):
            ones = np.ones((len(S), 1))
            return ones if self.center is None else np.hstack([ones, _columns(X, S) - self.center])
        if isinstance(self.mean, Kernel):
            values: Any = self.mean.features(self.mean.prepare(self.mean.pack(X)), self.keys)[0]
            values = values.toarray() if hasattr(values, "toarray") else values
        else:
            values = answer_of(self.mean, X, who="mean", takes=TAKES, error=ParameterError)
        values = real_numbers(values, "mean(X)")
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or len(values) != len(S) or not np.isfinite(values).all():
            raise ParameterError(
                f"mean={self.mean!r} gave an array of shape {values.shape} for {len(S)} samples; it must give finite "
                "numbers, a column per function and a row per sample. Correct the function."
            )
        return values


def _columns(X: Any, S: Samples) -> Floats:
    T = S if isinstance(S, Vectors) else Vectors.pack(X)
    return np.asarray(T.dense(), dtype=np.float64)
