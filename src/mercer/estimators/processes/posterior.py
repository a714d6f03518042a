"""What is known of the latent functions of classifiers besides their means; and sample paths of any process.

Symbols: k = k(S, t), kappa = k(t, t); L and S such that the variance at t is kappa - |L^-1 S k|^2, or the coordinates
phi(t) of a factor of K.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.utils import check_random_state

from mercer import theory  # whose names are imported when they are used
from mercer.arguments import SEED, Callback, answer_of, checked, real_array
from mercer.arrays import Floats
from mercer.budget import Resources
from mercer.constraints import InstanceOf, Integer, Optional
from mercer.domains import Samples
from mercer.errors import ModelError, ParameterError, TargetError
from mercer.estimators.certificates.measured_errors import Request
from mercer.estimators.processes.process_evidence import TAKES
from mercer.gram import Expansion, FeatureExpansion
from mercer.gram.gram import Cross
from mercer.kernels import Kernel
from mercer.numerics.cholesky import CholeskyFactor
from mercer.runtime.tiling import in_background

__all__ = ["CoordinatePosterior", "LatentPosterior", "SoftmaxPosterior", "draw", "latent_bounds", "sample_prior"]
__public__ = ["sample_prior"]

Function = Expansion | FeatureExpansion


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
    """Latent functions in the r coordinates phi of a factor of K; beyond them, the prior.

    The variance at t is kappa - |phi|^2 + |R phi|^2: the part of a sample that the coordinates miss keeps its prior
    variance. With a factor of full rank it is that of the exact process.

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
        given = answer_of(mean, X, who="mean", takes=TAKES, error=ParameterError)
        center = real_array(given, "mean(X)", (0, 1, 2))
    if center.shape != (len(K),):
        raise TargetError(
            f"mean gave an array of shape {center.shape} for {len(K)} samples; one number per sample is accepted. "
            "Correct the function."
        )
    return draw(center[:, None], K, n_samples, random_state)[:, 0]
