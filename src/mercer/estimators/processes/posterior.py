"""What a conditioned Gaussian process knows besides its mean: variances, covariances, sample paths, mean functions.

Symbols: S training samples, T new samples, k = k(S, t), kappa = k(t, t), b mean functions at t, G = K + diag(s) = L
L^T, R^T R = B^T G^-1 B. Without mean functions R is empty and so is what it adds.

The variance at t is kappa - |L^-1 k|^2 + |R^-T (b - B^T G^-1 k)|^2. Every way of computing it gives, for some new
samples, arrays (P, Q, E) whose columns belong to them and with which covariances are prior - P^T Q + E^T E; variances
are its diagonal, summed column by column. The same pieces of T are used for both, so they agree to the bit.

For the latent functions of classifiers: L and S such that the variance at t is kappa - |L^-1 S k|^2, or the
coordinates phi(t) of a factor of K.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.linalg import eigh, solve_triangular
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from mercer import theory  # whose names are imported when they are used
from mercer.arguments import SEED, Callback, answer_of, checked, real_array
from mercer.arrays import Floats, real_numbers
from mercer.budget import UNLIMITED, Plan, Resources
from mercer.constraints import InstanceOf, Integer, Optional
from mercer.domains import Samples, Vectors
from mercer.errors import ModelError, ParameterError, TargetError, warn_caller
from mercer.estimators.certificates.measured_errors import Request
from mercer.estimators.processes.process_evidence import Conditioned
from mercer.gram import Expansion, FeatureExpansion, Tiles
from mercer.gram.gram import Cross
from mercer.kernels import Kernel
from mercer.numerics.cholesky import CholeskyFactor
from mercer.numerics.krylov import krylov_solve
from mercer.numerics.pivoting import Preconditioner
from mercer.runtime.tiling import in_background, spans

__all__ = [
    "CoordinatePosterior",
    "DensePosterior",
    "FeaturePosterior",
    "IterativePosterior",
    "LatentPosterior",
    "MeanFunctions",
    "SoftmaxPosterior",
    "draw",
    "posterior_of",
    "sample_prior",
]
__public__ = ["sample_prior"]

_PIECE = 256  # new samples at a time

Function = Expansion | FeatureExpansion
Triple = tuple[Floats, Floats, Floats]

_ALL = "all the data at once, and returns a number or a row for each sample"


@dataclass(frozen=True, eq=False)
class _Posterior:
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
class DensePosterior(_Posterior):
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
class FeaturePosterior(_Posterior):
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
class IterativePosterior(_Posterior):
    r"""A posterior without a factor of G: new samples are solved for by conjugate gradients when they are asked about.

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


@dataclass(frozen=True, eq=False)
class LatentPosterior:
    """Latent functions that do not depend on each other: one for two classes, else one per class against the rest.

    Attributes
    ----------
    root : (k, n) array
        S of each function.
    factor : (k, n, n) array
        L of each function, its transpose in the upper triangle.
    """

    root: Floats
    factor: Floats

    def check(self) -> None:
        """Raise ModelError unless the parts fit together."""
        if self.root.ndim != 2 or self.factor.shape != (*self.root.shape, self.root.shape[-1]):
            raise ModelError("The model has a posterior whose parts do not fit together. Save the model again.")

    def moments(self, function: Any, T: Samples, resources: Resources) -> tuple[Floats, Floats]:
        """Return means and variances at new samples, (m, k) each."""
        cross = Cross(function.kernel, T, function.samples, resources).to_dense()
        prior = function.kernel.diag(function.kernel.prepare(T))
        variance = np.empty((len(T), len(self.root)))
        for k, (root, array) in enumerate(zip(self.root, self.factor, strict=True)):
            V = CholeskyFactor(array, array.diagonal(), 0.0).half_solve(root[:, None] * cross.T)
            variance[:, k] = np.maximum(prior - np.einsum("ij,ij->j", V, V), 0.0)
        return cross @ function.coef.reshape(cross.shape[1], -1), variance

    def divergence(self, function: Any) -> float:
        """Return KL of the posterior of the first function from its prior: (ln|B| + tr B^-1 - n + a' K a) / 2."""
        array = self.factor[0]
        inverse = CholeskyFactor(array, array.diagonal(), 0.0).half_solve(np.eye(len(array)))
        first = function.column(0) if function.outputs else function
        logarithm, squares = 2.0 * float(np.log(array.diagonal()).sum()), float(np.sum(inverse**2))
        return max(0.5 * (logarithm + squares - len(array) + float(first.norm()) ** 2), 0.0)


def latent_bounds(model: Any, X: Any, sign: Floats, asked: Request) -> list[theory.Bound]:
    """Return the PAC-Bayes bound whose prior and posterior are those of a process of two classes, if B is held."""
    posterior = model.posterior_
    if not isinstance(posterior, LatentPosterior):
        return []
    mean, variance = model.predict_latent(X)
    t = sign * np.divide(mean, np.sqrt(variance), out=np.zeros(len(mean)), where=variance > 0.0)
    divergence = posterior.divergence(model.expansion_)
    return [theory.process_pac_bayes(t, divergence, asked.delta, choices=asked.candidates)]


@dataclass(frozen=True, eq=False)
class SoftmaxPosterior:
    """Latent functions of several classes, which depend on each other once classes were seen.

    Attributes
    ----------
    inner : (c, n, n) array
        E_c of `mercer.estimators.processes.softmax_laplace`.
    coupling : (n, n) array
        Factor of their sum, its transpose in the upper triangle.
    """

    inner: Floats
    coupling: Floats

    def check(self) -> None:
        """Raise ModelError unless the parts fit together."""
        if self.inner.ndim != 3 or self.inner.shape[1:] != self.coupling.shape:
            raise ModelError("The model has a posterior whose parts do not fit together. Save the model again.")

    def moments(self, function: Any, T: Samples, resources: Resources) -> tuple[Floats, Floats]:
        """Return means (m, c) and covariances (m, c, c) at new samples."""
        cross = Cross(function.kernel, T, function.samples, resources).to_dense()
        prior = function.kernel.diag(function.kernel.prepare(T))
        factor = CholeskyFactor(self.coupling, self.coupling.diagonal(), 0.0)
        spread = cross @ self.inner  # (c, m, n): E_c k
        own = np.maximum(prior - np.einsum("cij,ij->ci", spread, cross), 0.0)
        V = np.stack([factor.half_solve(part.T) for part in spread])  # (c, n, m)
        covariance = np.einsum("cji,dji->icd", V, V, optimize=True)
        covariance[:, range(len(own)), range(len(own))] += own.T
        return cross @ function.coef, covariance


@dataclass(frozen=True, eq=False)
class CoordinatePosterior:
    """Latent functions in the r coordinates phi of a factor of K, and beyond them as their prior is.

    The variance at t is kappa - |phi|^2 + |R phi|^2: what the coordinates do not say of a sample remains unknown. With
    a factor of full rank it is that of the exact process.

    Attributes
    ----------
    basis : Expansion or FeatureExpansion
        The coordinates of a sample, r functions.
    root : (k, q, r) array
        R of each function. Those of functions that depend on each other are columns of one root of their covariance.
    joint : bool
        Whether they do; if not, a covariance of two is zero.
    """

    basis: Any
    root: Floats
    joint: bool

    def check(self) -> None:
        """Raise ModelError unless the parts fit together."""
        functions = isinstance(self.basis, (Expansion, FeatureExpansion)) and isinstance(self.root, np.ndarray)
        if not functions or self.root.ndim != 3 or self.basis.outputs != self.root.shape[2:]:
            raise ModelError("The model has a posterior whose parts do not fit together. Save the model again.")

    def moments(self, function: Function, T: Samples, resources: Resources) -> tuple[Floats, Floats]:
        """Return means (m, k) and variances (m, k), or covariances (m, k, k), at new samples."""
        phi = np.asarray(self.basis(T, resources)).reshape(len(T), -1)
        kernel = self.basis.kernel
        beyond = np.maximum(kernel.diag(kernel.prepare(T)) - np.einsum("ij,ij->i", phi, phi), 0.0)
        half = phi @ self.root.transpose(0, 2, 1)  # (k, m, q)
        spread = np.einsum("cij,dij->icd" if self.joint else "cij,cij->ic", half, half, optimize=True)
        own = np.einsum("icc->ic", spread) if self.joint else spread  # a view, of the variances alone
        own += beyond[:, None]
        return np.asarray(function(T, resources)).reshape(len(T), -1), spread


def posterior_of(found: Conditioned, border: Floats, shift: Floats, tol: float, max_iter: int) -> Any:
    """Return the posterior of a conditioned process.

    Parameters
    ----------
    found : Conditioned
    border : (n, q) array
        B.
    shift : (n,) array
        s.
    tol, max_iter
        Of solves by conjugate gradients, where there is no factor.
    """
    factor = found.factor
    if factor is None:
        assert found.partial is not None
        return IterativePosterior(found.R, found.partial, np.array(shift), found.inverse_border, tol, max_iter)
    arrays = factor.array, factor.diagonal, factor.jitter
    if found.weights is not None:
        return FeaturePosterior(found.R, *arrays, found.weights[1])
    H = factor.half_solve(border) if border.shape[1] else border
    return DensePosterior(found.R, *arrays, H)


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
            values = answer_of(self.mean, X, who="mean", takes=_ALL, error=ParameterError)
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
    return np.asarray(T.X if isinstance(T.X, np.ndarray) else T.X.toarray(), dtype=np.float64)


def draw(mean: Floats, covariance: Floats, count: int, random_state: Any) -> Floats:
    """Draw vectors from normal distributions with one covariance, (m, k, count) for means (m, k).

    The symmetric square root of the covariance is taken from its eigenvalues, those below zero by rounding counting as
    zero: no jitter is needed however smooth the sample paths are. Being symmetric it does not depend on the signs of
    eigenvectors, nor on their choice where eigenvalues are equal, which are an accident of the processor.
    """
    m, k = mean.shape
    values, vectors = in_background(eigh, covariance, work=9.0 * m**3) if m else (np.zeros(0), np.zeros((0, 0)))
    chance = check_random_state(random_state).normal(size=(m, k * count))
    root = np.sqrt(np.maximum(values, 0.0))[:, None]
    return mean[:, :, None] + (vectors @ (root * (vectors.T @ chance))).reshape(m, k, count)


@checked(kernel=InstanceOf(Kernel), n_samples=Integer(1), mean=Optional(Callback()), random_state=SEED)
def sample_prior(
    kernel: Kernel,
    X: Any,
    n_samples: int = 1,
    *,
    mean: Callable[[Any], Any] | None = None,
    random_state: Any = None,
) -> Floats:
    r"""Draw functions from a Gaussian process before it has seen data.

    .. math:: f \sim \mathcal{GP}(\mu, k): \qquad (f(x_1), \dots, f(x_m)) \sim \mathcal{N}(\mu, K)

    Seed: [STS] Definition 8, Eqs. (85)-(87), Fig. 3; [SS] Eqs. (68)-(72).

    Parameters
    ----------
    kernel : Kernel
        The covariance function.
    X : raw data or packed samples
        Where the functions are evaluated.
    n_samples : int, default 1
        Functions.
    mean : callable, optional
        ``mean(X)`` is the mean function, (m,); None is zero.
    random_state : int, RandomState or None

    Returns
    -------
    (m, n_samples) array
        One function per column.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> paths = sample_prior(Gaussian(1.0), np.linspace(0, 5, 50)[:, None], 3, random_state=0)
    >>> paths.shape
    (50, 3)
    """
    K = np.asarray(kernel(X), dtype=np.float64)
    center = np.zeros(len(K))
    if mean is not None:
        given = answer_of(mean, X, who="mean", takes=_ALL, error=ParameterError)
        center = real_array(given, "mean(X)", (0, 1, 2))
    if center.shape != (len(K),):
        raise TargetError(
            f"mean gave an array of shape {center.shape} for {len(K)} samples; one number per sample is accepted. "
            "Correct the function."
        )
    return draw(center[:, None], K, n_samples, random_state)[:, 0]
