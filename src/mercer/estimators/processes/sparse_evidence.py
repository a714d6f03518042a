r"""Evidence of sparse Gaussian processes, in which a few inducing points stand for all samples, and its gradient.

Symbols: u the m inducing points, f the n samples, K_uu = L L^T, A = K_fu L^-T (n, m) so that Q = A A^T is the Nystrom
approximation of K, Lambda the covariance that is left to each sample (or block of samples) alone, w the weights,
B = I + A^T Lambda^-1 A, beta = B^-1 A^T Lambda^-1 y the whitened coefficients, J the number of outputs.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from mercer.arrays import Floats, Indices
from mercer.budget import Resources
from mercer.domains import Samples, Vectors
from mercer.errors import JitterWarning
from mercer.estimators.processes.process_evidence import Observations
from mercer.kernels import Kernel
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import fill, offers, overflow_error, pullback
from mercer.kernels.protocols import Differentiable
from mercer.numerics.cholesky import CholeskyFactor, safe_cholesky
from mercer.runtime.tiling import run_tasks, spans
from mercer.sparse_checks import without_unused
from mercer.spec import free_names

__all__ = [
    "METHODS",
    "Inducing",
    "SparseData",
    "Whitened",
    "choose_inducing",
    "diagonal_pullback",
    "inducing_posterior",
    "whiten",
]

METHODS = ("sor", "dtc", "fitc", "pitc", "variational", "nystrom")
_ROWS = 2048  # of the n x m matrix at a time
_SMALL = 64  # rows whose block is computed for the sake of its diagonal
_TIE = 1e-9  # relative difference of residual variances that rounding may make


@dataclass(frozen=True, eq=False)
class SparseData:
    """The data of a sparse Gaussian process, and the method.

    Parameters
    ----------
    samples : Samples
        The n packed samples, block after block for "pitc".
    y : (n, J) array
    weight : (n,) array
        Positive; a sample of weight w stands for w copies.
    method : {"sor", "dtc", "fitc", "pitc", "variational", "nystrom"}
    blocks : sequence of slice
        For "pitc": consecutive rows that are treated exactly among themselves.
    resources : Resources
        Threads.
    """

    samples: Samples
    y: Floats
    weight: Floats
    method: str = "variational"
    blocks: Sequence[slice] = ()
    resources: Resources = field(default_factory=Resources)

    def white(self) -> float:
        """Largest log evidence of noise alone."""
        return Observations.of(self.samples, self.y, self.weight).white()


@dataclass(frozen=True, eq=False)
class Inducing:
    """The posterior of the inducing points at given hyper-parameters.

    Attributes
    ----------
    value : float
        Log evidence of the approximate model, or for "variational" the lower bound of the exact one.
    L : CholeskyFactor
        Factor of K_uu, (m, m).
    B : CholeskyFactor
        Factor of I + A^T Lambda^-1 A, (m, m).
    beta : (m, J) array
        Mean of the whitened inducing variables L^-1 f(u); predictions are L^-1 k_u(x) times it.
    A : (n, m) array
        Whitened cross-covariances.
    alpha : (n, J) array
        (Q + Lambda)^-1 y = Lambda^-1 (y - A beta).
    left : float
        Share of the prior variance at the samples that the inducing points do not explain, tr(K - Q) / tr(K).
    """

    value: float
    L: CholeskyFactor
    B: CholeskyFactor
    beta: Floats
    A: Floats
    alpha: Floats
    left: float
    data: SparseData
    kernel: Kernel
    points: Samples
    noise: float
    normal: Floats  # B - I
    own: _Own

    def gradient(self, inputs: bool = False) -> tuple[Floats, float, Floats | None]:
        r"""Return the derivatives of the value in the kernel's free parameters, the noise and the inducing points.

        With :math:`\bar A` the derivative in A, those in the covariances are :math:`\bar A L^{-1}` for K_fu and
        :math:`-\tfrac12 L^{-\top} (A^\top \bar A) L^{-1}` for K_uu; the kernel contracts them by its `pullback`, some
        rows at a time, so that nothing larger than (n, m) exists.

        Parameters
        ----------
        inputs : bool, default False
            Whether the derivative in the inducing points is wanted.

        Returns
        -------
        parameters : (p,) array
            Zeros for a kernel without derivatives, whose parameters have to be held.
        noise : float
        points : (m, d) array or None
        """
        own, kernel, Z = self.own, self.kernel, self.kernel.prepare(self.points)
        S = kernel.prepare(self.data.samples)
        inverse = self.B.solve(np.eye(len(Z)))
        cross = own.cross(self, inverse)  # A^T Abar, symmetric: the value depends on A through A A^T alone
        W_uu = -0.5 * _back(self.L, _back(self.L, cross).T)
        moves = bool(free_names(kernel)) and offers(kernel, Differentiable)
        total = pullback(kernel, Z, Z, W_uu) if moves else np.zeros(len(free_names(kernel)))
        places = 2.0 * kernel.pullback_inputs(Z, Z, W_uu) if inputs else None
        rows = own.rows(len(S))
        found: list[tuple[Floats, Floats | None]] = [(total, None)] * len(rows)

        def work(task: int) -> None:
            part = S.take(rows[task])
            W = np.ascontiguousarray(_back(self.L, own.slope(self, inverse, rows[task]).T).T)
            here = pullback(kernel, part, Z, W) if moves else np.zeros_like(total)
            if moves:
                here = here + own.prior_pullback(self, inverse, part, rows[task])
            found[task] = here, kernel.pullback_inputs(Z, part, W.T) if inputs else None

        if moves or inputs:
            run_tasks(range(len(rows)), work, n_threads=self.data.resources.n_threads)
            for here, there in found:  # in the order of the rows, whichever thread was first
                total = total + here
                places = None if places is None or there is None else places + there
        if moves:
            total = total + own.diagonal_pullback(self, inverse, S)
        return total, own.noise_slope(self, inverse), places


@dataclass(frozen=True, eq=False)
class Whitened:
    """The quantities that depend on the kernel and the inducing points, but not on the noise.

    Attributes
    ----------
    L : CholeskyFactor
        Factor of K_uu.
    A : (n, m) array
        K_fu L^-T.
    rest : (n,) array
        k_ii - q_ii, not negative.
    left : float
        tr(K - Q) / tr(K), copies counted.
    """

    L: CholeskyFactor
    A: Floats
    rest: Floats
    left: float


def whiten(data: SparseData, kernel: Kernel, points: Samples) -> Whitened:
    """Return the factor of K_uu and the whitened cross-covariances A, in O(n m^2).

    Parameters
    ----------
    data : SparseData
    kernel : Kernel
    points : Samples
        The m inducing points.

    Returns
    -------
    Whitened
    """
    Z, S = kernel.prepare(points), kernel.prepare(data.samples)
    n_threads = data.resources.n_threads
    K_uu = np.empty((len(Z), len(Z)))
    fill(kernel, Comparison(kernel, Z, Z, np.float64), K_uu, n_threads=n_threads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JitterWarning)  # of inducing points, reported in the result
        L = safe_cholesky(K_uu)
    A = np.empty((len(S), len(Z)))
    fill(kernel, Comparison(kernel, S, Z, np.float64), A, n_threads=n_threads)

    def solve(rows: slice) -> None:
        A[rows] = L.half_solve(A[rows].T).T

    run_tasks(spans(len(S), _ROWS), solve, n_threads=n_threads)
    diagonal = np.asarray(kernel.diag(S), dtype=float)
    rest = np.maximum(diagonal - np.einsum("ij,ij->i", A, A), 0.0)  # below zero by rounding alone
    share = float(data.weight @ rest / max(data.weight @ diagonal, np.finfo(float).tiny))
    return Whitened(L, A, rest, share)


def inducing_posterior(
    data: SparseData, kernel: Kernel, points: Samples, noise: float, whitened: Whitened | None = None
) -> Inducing:
    r"""Posterior of the inducing points and the evidence, in O(n m^2).

    .. math:: \log N(y; 0, Q + \Lambda) = -\tfrac12 \log|B| - \tfrac12 \sum_i w_i \log 2 \pi \lambda_i
        - \tfrac12 \Big( \sum_i \tfrac{w_i}{\lambda_i} (y_i - a_i^\top \beta)^2 + \|\beta\|^2 \Big)

    where :math:`\lambda_i` is the noise ("sor", "dtc", "nystrom", "variational") or the noise plus k_ii - q_ii
    ("fitc"); for "pitc" Lambda has the blocks of K - Q. "variational" subtracts :math:`\sum_i w_i (k_{ii} - q_{ii})`
    over twice the noise. The sum of squares in brackets is the quadratic form y^T (Q + Lambda)^-1 y without a
    difference.

    Seed: [KIKS] Section 4.1.4, which cites pseudo-input methods, and Section 3.4.

    Parameters
    ----------
    data : SparseData
    kernel : Kernel
    points : Samples
        The m inducing points.
    noise : float
        Variance of the noise.
    whitened : Whitened, optional
        That of this kernel and these points, if it is known.

    Returns
    -------
    Inducing

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Gaussian
    >>> S = Vectors.pack([[0.0], [1.0]])
    >>> data = SparseData(S, np.array([[0.0], [1.0]]), np.ones(2), "dtc")
    >>> round(inducing_posterior(data, Gaussian(1.0), S, 0.5).value, 6)  # inducing points at the data: exact
    -2.552563
    """
    if whitened is None:
        whitened = whiten(data, kernel, points)
    L, A, rest, share = whitened.L, whitened.A, whitened.rest, whitened.left
    S = kernel.prepare(data.samples) if data.method == "pitc" else data.samples
    own = (_Blocks if data.method == "pitc" else _Samples).of(data, kernel, S, A, rest, noise)
    M, b = own.normal(A, data.y)
    B = safe_cholesky(M, 1.0, overwrite=False)
    beta = B.solve(b)
    residual = data.y - A @ beta
    alpha = own.weigh(residual)
    outputs = data.y.shape[1]
    quadratic = float(np.sum(residual * alpha)) + float(np.sum(beta**2))
    value = -0.5 * outputs * (B.logdet() + own.log_scale()) - 0.5 * quadratic
    if data.method == "variational":
        value -= 0.5 * outputs * float(data.weight @ rest) / noise
    return Inducing(value, L, B, beta, A, alpha, share, data, kernel, points, noise, M, own)


class _Own:
    """The covariance left to the samples themselves, Lambda, and its part in the derivative."""

    def rows(self, n: int) -> list[slice]:
        return spans(n, _ROWS)

    def prior_pullback(self, fit: Inducing, inverse: Floats, part: Samples, rows: slice) -> Floats | float:
        return 0.0

    def diagonal_pullback(self, fit: Inducing, inverse: Floats, S: Samples) -> Floats | float:
        return 0.0

    def normal(self, A: Floats, y: Floats) -> tuple[Floats, Floats]:
        """A^T Lambda^-1 A and A^T Lambda^-1 y."""
        raise NotImplementedError

    def weigh(self, V: Floats) -> Floats:
        """Lambda^-1 V."""
        raise NotImplementedError

    def log_scale(self) -> float:
        """log|Lambda| and the constants of the Gaussian, copies counted."""
        raise NotImplementedError

    def cross(self, fit: Inducing, inverse: Floats) -> Floats:
        """A^T times the derivative in A, (m, m)."""
        raise NotImplementedError

    def slope(self, fit: Inducing, inverse: Floats, rows: slice) -> Floats:
        """Some rows of the derivative in A."""
        raise NotImplementedError

    def noise_slope(self, fit: Inducing, inverse: Floats) -> float:
        """The derivative in the noise."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class _Samples(_Own):
    """Lambda is diagonal: lambda_i / w_i."""

    scale: Floats  # lambda, (n,)
    weight: Floats
    rest: Floats  # k_ii - q_ii

    @classmethod
    def of(cls, data: SparseData, kernel: Kernel, S: Samples, A: Floats, rest: Floats, noise: float) -> _Samples:
        return cls(noise + rest if data.method == "fitc" else np.full(len(rest), noise), data.weight, rest)

    def normal(self, A: Floats, y: Floats) -> tuple[Floats, Floats]:
        M, b = np.zeros((A.shape[1], A.shape[1])), np.zeros((A.shape[1], y.shape[1]))
        for rows in spans(len(A), _ROWS):
            scaled = A[rows] * (self.weight[rows] / self.scale[rows])[:, None]
            M += A[rows].T @ scaled
            b += scaled.T @ y[rows]
        return 0.5 * (M + M.T), b

    def weigh(self, V: Floats) -> Floats:
        return V * (self.weight / self.scale)[:, None]

    def log_scale(self) -> float:
        return float(self.weight @ np.log(2.0 * math.pi * self.scale))

    def _scale_slope(self, fit: Inducing, inverse: Floats) -> Floats:
        """Derivative in lambda, (n,)."""
        lever = np.concatenate([np.sum((fit.A[r] @ inverse) * fit.A[r], axis=1) for r in spans(len(fit.A), _ROWS)])
        squares = np.sum(fit.alpha**2, axis=1) / self.weight
        outputs = fit.beta.shape[1]
        return 0.5 * (outputs * self.weight * (lever / self.scale - 1.0) / self.scale + squares)

    def cross(self, fit: Inducing, inverse: Floats) -> Floats:
        outputs, m = fit.beta.shape[1], len(inverse)
        out = fit.beta @ fit.beta.T - outputs * (np.eye(m) - inverse)
        if fit.data.method == "variational":
            out += outputs * fit.normal
        if fit.data.method == "fitc":
            slope = self._scale_slope(fit, inverse)
            for rows in spans(len(fit.A), _ROWS):
                out -= 2.0 * (fit.A[rows] * slope[rows, None]).T @ fit.A[rows]
        return 0.5 * (out + out.T)

    def slope(self, fit: Inducing, inverse: Floats, rows: slice) -> Floats:
        outputs, A = fit.beta.shape[1], fit.A[rows]
        weight = (self.weight / self.scale)[rows, None]
        out = fit.alpha[rows] @ fit.beta.T - (outputs * weight) * (A @ inverse)
        if fit.data.method == "variational":
            out += (outputs * weight) * A
        if fit.data.method == "fitc":
            lever = np.sum((A @ inverse) * A, axis=1)
            squares = np.sum(fit.alpha[rows] ** 2, axis=1) / self.weight[rows]
            scale, w = self.scale[rows], self.weight[rows]
            out -= (outputs * w * (lever / scale - 1.0) / scale + squares)[:, None] * A
        return out

    def diagonal_pullback(self, fit: Inducing, inverse: Floats, S: Samples) -> Floats | float:
        if fit.data.method == "fitc":
            return diagonal_pullback(fit.kernel, S, self._scale_slope(fit, inverse))
        if fit.data.method == "variational":
            return diagonal_pullback(fit.kernel, S, (-0.5 * fit.beta.shape[1] / fit.noise) * self.weight)
        return 0.0

    def noise_slope(self, fit: Inducing, inverse: Floats) -> float:
        if fit.data.method == "fitc":
            return float(np.sum(self._scale_slope(fit, inverse)))
        outputs, freedom = fit.beta.shape[1], len(inverse) - float(np.trace(inverse))  # tr(B^-1 (B - I))
        squares = float(np.sum(np.sum(fit.alpha**2, axis=1) / self.weight))
        slope = 0.5 * (outputs * (freedom - float(self.weight.sum())) / fit.noise + squares)
        if fit.data.method == "variational":
            slope += 0.5 * outputs * float(self.weight @ self.rest) / fit.noise / fit.noise
        return slope


@dataclass(frozen=True, eq=False)
class _Blocks(_Own):
    """Lambda has blocks K_bb - Q_bb + noise / w."""

    slices: Sequence[slice]
    factors: tuple[CholeskyFactor, ...]
    weight: Floats
    noise: float
    known: dict[int, tuple[Floats, Floats]] = field(default_factory=dict)

    @classmethod
    def of(cls, data: SparseData, kernel: Kernel, S: Samples, A: Floats, rest: Floats, noise: float) -> _Blocks:
        factors = []
        for rows in data.blocks:
            part = S.take(rows)
            C = np.empty((len(part), len(part)))
            fill(kernel, Comparison(kernel, part, part, np.float64), C, n_threads=data.resources.n_threads)
            C -= A[rows] @ A[rows].T
            np.fill_diagonal(C, rest[rows])
            factors.append(safe_cholesky(0.5 * (C + C.T), noise / data.weight[rows]))
        return cls(data.blocks, tuple(factors), data.weight, noise)

    def rows(self, n: int) -> list[slice]:
        return list(self.slices)

    def normal(self, A: Floats, y: Floats) -> tuple[Floats, Floats]:
        M, b = np.zeros((A.shape[1], A.shape[1])), np.zeros((A.shape[1], y.shape[1]))
        for rows, factor in zip(self.slices, self.factors, strict=True):
            half = factor.half_solve(A[rows])
            M += half.T @ half
            b += half.T @ factor.half_solve(y[rows])
        return M, b

    def weigh(self, V: Floats) -> Floats:
        out = np.empty_like(V)
        for rows, factor in zip(self.slices, self.factors, strict=True):
            out[rows] = factor.solve(V[rows])
        return out

    def log_scale(self) -> float:
        copies = float(np.sum((self.weight - 1.0) * math.log(self.noise) + np.log(self.weight)))
        whole = float(self.weight.sum()) * math.log(2.0 * math.pi)
        return sum(factor.logdet() for factor in self.factors) + copies + whole

    def _block_slope(self, fit: Inducing, inverse: Floats, rows: slice) -> tuple[Floats, Floats]:
        """Derivative in a block of Lambda, and Lambda^-1 A there."""
        place = self.slices.index(rows)
        if place not in self.known:
            V = self.factors[place].solve(fit.A[rows])
            outputs, e = fit.beta.shape[1], fit.alpha[rows]
            out = 0.5 * (e @ e.T + outputs * (V @ inverse @ V.T - self.factors[place].solve(np.eye(len(V)))))
            self.known[place] = 0.5 * (out + out.T), V
        return self.known[place]

    def cross(self, fit: Inducing, inverse: Floats) -> Floats:
        out = sum(fit.A[rows].T @ self.slope(fit, inverse, rows) for rows in self.slices)
        return 0.5 * (out + np.transpose(out))

    def slope(self, fit: Inducing, inverse: Floats, rows: slice) -> Floats:
        block, V = self._block_slope(fit, inverse, rows)
        return fit.alpha[rows] @ fit.beta.T - fit.beta.shape[1] * (V @ inverse) - 2.0 * block @ fit.A[rows]

    def prior_pullback(self, fit: Inducing, inverse: Floats, part: Samples, rows: slice) -> Floats | float:
        return pullback(fit.kernel, part, part, self._block_slope(fit, inverse, rows)[0])

    def noise_slope(self, fit: Inducing, inverse: Floats) -> float:
        copies = -0.5 * fit.beta.shape[1] * float(np.sum(self.weight - 1.0)) / self.noise
        for rows in self.slices:
            copies += float(np.sum(self._block_slope(fit, inverse, rows)[0].diagonal() / self.weight[rows]))
        return copies


def diagonal_pullback(kernel: Kernel, S: Samples, weight: Floats) -> Floats:
    """Return sum_i weight_i dk(s_i, s_i)/dtheta for the free parameters, (p,).

    Parameters
    ----------
    kernel : Kernel
    S : Samples
        Packed and prepared.
    weight : (n,) array

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Gaussian
    >>> diagonal_pullback(3.0 * Gaussian(1.0), Vectors.pack([[0.0], [2.0]]), np.array([1.0, 4.0]))
    array([5., 0.])
    """
    if kernel.stationary:
        one = S.take(slice(0, 1))
        return pullback(kernel, one, one, np.array([[weight.sum()]]))
    pieces = [(S.take(rows), np.diag(weight[rows])) for rows in spans(len(S), _SMALL)]
    return np.sum([pullback(kernel, part, part, W) for part, W in pieces], axis=0)


def choose_inducing(kernel: Kernel, S: Samples, count: int) -> Indices:
    """Choose samples one after another, each the one whose value the chosen ones leave most uncertain.

    These are the pivots of the pivoted Cholesky factorisation of K. Samples that are equal in feature space are
    chosen once, so that copies change nothing, and there may be fewer than asked for. Among vectors that are equally
    uncertain the place along a fixed direction decides, not the order of the rows.

    Parameters
    ----------
    kernel : Kernel
    S : Samples
        Packed and prepared.
    count : int
        At most this many.

    Returns
    -------
    (m,) array of int
        In the order in which they were chosen.

    Notes
    -----
    Cost O(n m^2), memory 8 n m bytes.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Gaussian
    >>> choose_inducing(Gaussian(1.0), Vectors.pack([[0.0], [0.0], [0.5], [2.0]]), 2).tolist()
    [3, 0]
    """
    rest = np.array(kernel.diag(S), dtype=float)
    first = rest.copy()
    place = _places(S)
    count = min(count, len(S))
    F = np.empty((len(S), count))
    chosen: list[int] = []
    for step in range(count):
        largest = float(rest.max())
        if not math.isfinite(largest):
            raise overflow_error(kernel)
        if largest <= _TIE * float(first.max()):
            break
        ties = np.flatnonzero(rest >= largest * (1.0 - _TIE))
        pivot = int(ties[np.argmax(place[ties])])
        one = S.take(slice(pivot, pivot + 1))
        column = np.empty((len(S), 1))
        fill(kernel, Comparison(kernel, S, one, np.float64), column)
        column = column[:, 0] - F[:, :step] @ F[pivot, :step]
        F[:, step] = column / math.sqrt(rest[pivot])
        rest = np.maximum(rest - F[:, step] ** 2, 0.0)
        rest[pivot] = 0.0
        chosen.append(pivot)
    return np.array(chosen, dtype=np.intp)


def _places(S: Samples) -> Floats:
    """Numbers that distinguish samples, whatever their order; for other samples than vectors the order itself."""
    if not isinstance(S, Vectors):
        return -np.arange(len(S), dtype=float)
    X = without_unused(S.X)
    direction = np.random.default_rng(0).normal(size=X.shape[1])
    return np.asarray(X @ direction, dtype=float)


def _back(L: CholeskyFactor, V: Floats) -> Floats:
    """L^-T V."""
    return linalg.solve_triangular(L.array, V, lower=False, check_finite=False)
