r"""Bayesian linear regression: a Gaussian over the weights, before and after the data.

Symbols: phi(x) the features of a kernel, Sigma_p the covariance of the prior of their weights, sigma^2 the variance of
the noise, beta = 1 / sigma^2; with Sigma_p = T T^T / a and T^T G T = U diag(lambda) U^T, G = Phi^T W Phi, everything is
a sum over the eigenvalues. R with R^T R the posterior covariance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Floats, Indices, real_numbers
from mercer.budget import Plan
from mercer.constraints import AnyOf, Boolean, InstanceOf, Integer, Optional, Positive
from mercer.domains import Samples
from mercer.errors import CapabilityError, ParameterError, TargetError, warn_caller
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.fits import Run, fitting
from mercer.gram import FeatureExpansion, Features, GramSpec
from mercer.kernels import Kernel, Linear
from mercer.kernels.kernel import feature_count, offers, overflow_error
from mercer.kernels.protocols import HasFeatures
from mercer.numerics.cholesky import safe_cholesky
from mercer.problems import Status
from mercer.selection import Search, tune
from mercer.solvers.sparse.incremental_evidence import IncrementalEvidence
from mercer.solvers.sparse.sparse_bayes import NormalMatrix, SparsePosterior, SparseRegression
from mercer.targets import Real

__all__ = ["BayesianLinearRegression"]
__public__ = __all__

_ROWS = 4096  # samples whose features are dense in memory at once
_LEAST_NOISE = 1e-8  # of the variance of the targets, where it is found by the evidence
_POLISH = 20  # Newton steps that end the search for two numbers
_WIDE = 1e10  # factor by which the precision of the weights may leave its first guess


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over samples, all that Bayesian linear regression needs of them; two of them add up.

    Attributes
    ----------
    count : float
        Sum of the weights.
    mean, center : (D,) array, float
        Means of features and target; zero where there is no intercept.
    square, moment, energy : (D, D) array, (D,) array, float
        Sums of products of what is left beside the means: features with features, with the target, target squared.
    """

    count: float
    mean: Floats
    center: float
    square: Floats
    moment: Floats
    energy: float

    @classmethod
    def of(cls, matrix: Any, y: Floats, w: Floats, centred: bool) -> Moments:
        """Moments of a feature matrix, dense or sparse, a few rows at a time."""
        D = matrix.shape[1]
        total = cls(0.0, np.zeros(D), 0.0, np.zeros((D, D)), np.zeros(D), 0.0)
        for start in range(0, len(y), _ROWS):
            rows = slice(start, start + _ROWS)
            block = matrix[rows]
            F = np.asarray(block.toarray() if sp.issparse(block) else block, dtype=float)
            z, v = y[rows], w[rows]
            count = float(v.sum())
            mean, center = (v @ F / count, float(v @ z / count)) if centred else (np.zeros(D), 0.0)
            F, z = F - mean, z - center
            weighted_F = F * v[:, None]
            total += cls(count, mean, center, F.T @ weighted_F, weighted_F.T @ z, float(v @ z**2))
        return total

    def __add__(self, other: Moments) -> Moments:
        """Return the moments of both sets of samples together."""
        count = self.count + other.count
        share = other.count / count
        step, rise = other.mean - self.mean, other.center - self.center
        between = self.count * share
        return Moments(
            count,
            self.mean + share * step,
            self.center + share * rise,
            self.square + other.square + between * np.outer(step, step),
            self.moment + other.moment + between * rise * step,
            self.energy + other.energy + between * rise * rise,
        )


class BayesianLinearRegression(RegressorMixin, KernelEstimator):
    r"""Bayesian linear regression: weights of features with error bars.

    .. math:: y_i = \langle w, \phi(x_i) \rangle + b + \varepsilon_i, \quad w \sim \mathcal N(0, \Sigma_p), \quad
              \varepsilon_i \sim \mathcal N(0, \sigma^2) \quad \Rightarrow \quad
              w \mid y \sim \mathcal N(\beta A^{-1} \Phi^\top y, \, A^{-1}), \quad
              A = \beta \Phi^\top \Phi + \Sigma_p^{-1}

    Seed: [STS] Eqs. (77)-(84); [SS] Eqs. (81)-(86); [KIKS] Section 4.1.5 for ``ard``.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        Its features are what the model is linear in. None is `Linear`: the columns themselves.
    prior : float, (D,) array or (D, D) array, optional
        Covariance of the weights: the same variance for all, one for each, or a positive definite matrix. None is one
        variance for all, found by the evidence.
    noise : float, optional
        Variance of the noise. None is found by the evidence.
    ard : bool, default False
        Automatic relevance determination: each weight has a precision of its own, found by the evidence; many weights
        are then exactly zero. Not together with ``prior``.
    fit_intercept : bool, default True
        Whether there is a constant b, with a flat prior.
    tol : float, default 1e-6
        Tolerance of the search for hyper-parameters: slope of the evidence, relative to it, or for ``ard`` its gain.
    max_iter : int, default 1000
        Steps of the search.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    coef_, sigma_ : (D,) and (D, D) arrays
        Mean and covariance of the weights after the data.
    intercept_ : float
    alpha_ : float or (D,) array
        Precision of the weights before the data; infinite for weights that ``ard`` dropped. Not for a matrix
        ``prior``.
    noise_ : float
        Variance of the noise.
    log_marginal_likelihood_ : float
        With an intercept the density of y with b integrated out.
    n_iter_ : int
    moments_ : Moments
        Sums over all samples seen, which `partial_fit` adds to.
    expansion_, kernel_ : the fitted function, and its kernel

    Notes
    -----
    A sample of weight w counts as w copies. The same posterior is that of a Gaussian process with covariance
    phi(x)^T Sigma_p phi(z): prefer that one where there are more features than samples. Variances of predictions are
    those of y: of the noise, the weights and the intercept. Cost O(n D^2 + D^3), memory O(D^2).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import BayesianLinearRegression
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> model = BayesianLinearRegression(prior=1.0, noise=1.0, fit_intercept=False).fit(X, [0.0, 1.0, 2.0])
    >>> model.coef_.round(3), model.sigma_.round(3)
    (array([0.833]), array([[0.167]]))
    """

    constraints = {
        "prior": Optional(AnyOf(Positive(), InstanceOf(np.ndarray, list, tuple))),
        "noise": Optional(Positive()),
        "ard": Boolean(),
        "fit_intercept": Boolean(),
        "tol": Positive(),
        "max_iter": Integer(1),
    }

    def __init__(
        self,
        kernel: Any = None,
        *,
        prior: Any = None,
        noise: float | None = None,
        ard: bool = False,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 1000,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.prior = prior
        self.noise = noise
        self.ard = ard
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    # fit ----------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BayesianLinearRegression:
        """Find the posterior of the weights.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) array
            Real targets.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight, afresh=True)

    @with_callbacks
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> BayesianLinearRegression:
        """Learn from more samples: the posterior so far is the prior of what follows.

        The result is that of `fit` on all samples seen; hyper-parameters that are not given are found again from all
        of them. The kernel is that of the first call.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight, afresh=not hasattr(self, "moments_"))

    def _learn(self, X: Any, y: Any, sample_weight: Any, afresh: bool) -> BayesianLinearRegression:
        pack = None if afresh else lambda X: (self._pack_new(X), self.kernel_)
        with fitting(self, X, y, sample_weight, Real(several=False), pack=pack) as (run, kernel, _, S, values, w, _):
            if afresh:
                self.kernel_ = kernel.learn(S, values, w)
                self.keys_ = None
            with run.stage("features", 0.5):
                S = self.kernel_.prepare(S)
                count = feature_count(self.kernel_, S)
                if count is not None:
                    Features().plan(self.kernel_, len(S), count).require(self.memory)
                with np.errstate(over="ignore", invalid="ignore"):
                    matrix, keys = self.kernel_.features(S, None if afresh else self.keys_)
                    found = Moments.of(matrix, values, w, self.fit_intercept)
            self.keys_ = keys if afresh else self.keys_
            self.moments_ = _finite(found if afresh else self.moments_ + found, self.kernel_)
            with run.stage("posterior", 0.95):
                if self.ard:
                    self._determine_relevance(run)
                else:
                    self._condition(run)
            m = self.moments_
            self.intercept_ = m.center - float(m.mean @ self.coef_) if self.fit_intercept else 0.0
            self.sigma_ = self.root_.T @ self.root_
            self.expansion_ = FeatureExpansion(self.kernel_, self.keys_, self.coef_, np.asarray(self.intercept_))
        return self

    def _degrees(self) -> float:
        """Return the number of samples that the intercept leaves to the weights and the noise."""
        n = self.moments_.count
        return max(n - 1.0, 1e-3 * n) if self.fit_intercept else n

    def _constant(self) -> float:
        """Return what integrating over the intercept adds to the evidence."""
        return -0.5 * float(np.log(self.moments_.count)) if self.fit_intercept else 0.0

    def _least_noise(self) -> float:
        m = self.moments_
        size = m.energy / m.count + m.center * m.center
        return _LEAST_NOISE * (m.energy / m.count if m.energy > 1e-20 * size * m.count else size or 1.0)

    def _determine_relevance(self, run: Run) -> None:
        """Give each weight a precision of its own."""
        m = self.moments_
        problem = SparseRegression(NormalMatrix(m.square), m.moment, m.energy, self._degrees(), self.noise)
        solution = IncrementalEvidence(self.tol, self.max_iter).solve(problem, monitor=run.solver_monitor(self.tol))
        self._warn(solution.status, solution.residual)
        found: SparsePosterior = solution.state
        D = len(m.moment)
        self.coef_, self.alpha_ = solution.coef, np.full(D, np.inf)
        self.alpha_[found.index] = found.alpha
        self.root_ = np.zeros((len(found.index), D))
        self.root_[:, found.index] = found.root
        self.noise_ = float(self.noise or max(found.noise, self._least_noise()))
        self.log_marginal_likelihood_ = found.evidence + self._constant()
        self.n_iter_ = len(solution.trace)

    def _condition(self, run: Run) -> None:
        """Find the posterior for a given prior, or for one precision that the evidence decides."""
        m = self.moments_
        T = _root_of(self.prior, len(m.moment))
        spectrum = _Spectrum.of(m, T, self._degrees())
        precision, noise = 1.0, self.noise
        if self.prior is None or noise is None:
            precision, noise = self._tuned(spectrum, run)
        else:
            self.n_iter_ = 1
        rest = precision + spectrum.values / noise
        self.coef_ = T @ (spectrum.vectors @ (spectrum.moment / (noise * rest)))
        self.root_ = (spectrum.vectors / np.sqrt(rest)).T @ T.T
        self.noise_ = float(noise)
        self.log_marginal_likelihood_ = self._constant() - spectrum.criterion(precision, noise)[0]
        if self.prior is None:
            self.alpha_ = float(precision)
        elif np.ndim(self.prior) < 2:
            self.alpha_ = 1.0 / np.asarray(self.prior, dtype=float)[()]

    def _tuned(self, spectrum: _Spectrum, run: Run) -> tuple[float, float]:
        """Return the precision of the weights and the noise that maximise the evidence."""
        least = self._least_noise()
        size = self.moments_.energy / self.moments_.count
        self.n_iter_ = 1
        if size <= least:  # nothing is left to explain
            return 1.0, self.noise or least
        mean = float(spectrum.values.sum()) / self.moments_.count
        first = 1.0 if self.prior is not None else (mean / size if mean > 0.0 else 1.0)

        def criterion(kernel: Kernel, beside: Any) -> Any:
            value, by_precision, by_noise = spectrum.criterion(float(beside["precision"]), float(beside["noise"]))
            return value, np.zeros(0), {"precision": by_precision, "noise": by_noise}

        found = tune(
            criterion, Linear(), {"precision": first, "noise": self.noise or 0.5 * size},
            fixed=[*["precision"] * (self.prior is not None), *["noise"] * (self.noise is not None)],
            bounds={
                **({"precision": (first / _WIDE, first * _WIDE)} if self.prior is None else {}),
                **({"noise": (least, 2.0 * size)} if self.noise is None else {}),
            },
            search=Search(max_iter=self.max_iter, tol=self.tol), monitor=run.solver_monitor(self.tol),
        )  # fmt: skip
        self._warn(found.status, found.slope)
        self.n_iter_ = max(len(found.values) - 1, 1)
        start = float(found.beside["precision"]), float(found.beside["noise"])
        held = [self.prior is not None, self.noise is not None or start[1] <= 1.01 * least]
        return spectrum.polished(start, np.flatnonzero(np.logical_not(held)))

    def _warn(self, status: Status, residual: float) -> None:
        if status is not Status.CONVERGED:
            warn_caller(f"The evidence was maximised to residual {residual:.3g}. {status.value}", ConvergenceWarning)

    # use ----------------------------------------------------------------------------------------------

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Return the mean of the prediction at new data, (m,), and its uncertainty if asked for.

        Parameters
        ----------
        X : raw data or packed samples
        return_std : bool, default False
            Whether to return also the standard deviation of y, (m,), the noise included.
        return_cov : bool, default False
            Whether to return also the covariance of y, (m, m), the noise included.
        """
        T = self._pack_new(X)
        mean = self.target_.decode(self._evaluate(T))
        if not (return_std or return_cov):
            return mean
        half = self._half(T)
        own = self.noise_ / self.moments_.count if self.fit_intercept else 0.0
        answers = [mean]
        if return_std:
            answers.append(np.sqrt(self.noise_ + own + np.einsum("ij,ij->i", half, half)))
        if return_cov:
            cov = half @ half.T + own
            cov[np.diag_indices_from(cov)] = self.noise_ + own + np.einsum("ij,ij->i", half, half)
            answers.append(cov)
        return tuple(answers)

    def _half(self, T: Samples) -> Floats:
        """Return R (phi(x) - mean), one row for each new sample."""
        parts = [np.zeros((0, len(self.root_)))]
        for piece in T.tiles(_ROWS):
            F, _ = self.kernel_.features(self.kernel_.prepare(piece), self.keys_)
            parts.append(np.asarray(F @ self.root_.T) - self.moments_.mean @ self.root_.T)
        return np.concatenate(parts)

    # entry points ------------------------------------------------------------------------------------

    def _default_kernel(self) -> Kernel:
        return Linear()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.ard and self.prior is not None:
            raise ParameterError(
                f"ard=True was given with prior={self.prior!r}; with ard the evidence decides the prior of each "
                "weight. Leave prior or ard out."
            )

    def _gram_spec(self, kernel: Kernel, S: Samples) -> GramSpec:
        if not offers(kernel, HasFeatures):
            raise CapabilityError(
                f"BayesianLinearRegression needs a kernel with a finite feature map; {kernel!r} has none. Use a kernel "
                "such as Linear(), Polynomial(2) or Spectrum(3), or a GaussianProcessRegressor."
            )
        return Features()

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        buffers = {
            "packed samples": 8 * n_samples * n_features,
            "features": 8 * n_samples * n_features,
            "moments, posterior and their factors": 48 * n_features * n_features,
        }
        return Plan(f"{type(self).__name__} on {n_samples} samples", buffers)


@dataclass(frozen=True, eq=False)
class _Spectrum:
    """The evidence as a sum over eigenvalues."""

    values: Floats
    vectors: Floats
    moment: Floats
    energy: float
    count: float

    @classmethod
    def of(cls, m: Moments, T: Floats, count: float) -> _Spectrum:
        """Eigenvalues and the moments along their vectors.

        Where there are fewer samples than features many eigenvalues are zero, and so are the moments, which lie in the
        span of the features. What rounding makes of both would be divided by a small noise.
        """
        values, vectors = np.linalg.eigh(T.T @ m.square @ T)
        seen = values > len(values) * np.finfo(float).eps * np.max(values, initial=0.0)
        return cls(
            np.where(seen, values, 0.0), vectors, np.where(seen, vectors.T @ (T.T @ m.moment), 0.0), m.energy, count
        )

    def criterion(self, precision: float, noise: float) -> tuple[float, float, float]:
        """Minus the log evidence, and its derivatives by the precision of the weights and by the noise."""
        shares = self.values / noise
        rest = precision + shares
        v = self.moment / (noise * rest)
        left = max(self.energy - 2.0 * float(self.moment @ v) + float(self.values @ v**2), 0.0)
        logs = float(np.sum(np.log1p(shares / precision)))
        fit = left / noise + precision * float(v @ v)
        value = 0.5 * (self.count * np.log(2.0 * np.pi * noise) + logs + fit)
        by_precision = -0.5 * (float(np.sum(shares / rest)) / precision - float(v @ v))
        by_noise = 0.5 * (self.count - float(np.sum(shares / rest)) - left / noise) / noise
        return float(value), by_precision, by_noise

    def polished(self, start: tuple[float, float], moves: Indices) -> tuple[float, float]:
        """Return the optimum near a precision and a noise to all digits, by Newton's method on their logarithms."""
        x = np.log(start)
        for _ in range(_POLISH):
            precision, noise = np.exp(x)
            value, by_precision, by_noise = self.criterion(precision, noise)
            own = precision / (precision + self.values / noise)
            v2 = precision * (self.moment / (noise * precision) * own) ** 2
            both, pull, plain = float(np.sum(own * (1.0 - own))), float(v2 @ own), float(v2.sum())
            g = np.array([precision * by_precision, noise * by_noise])
            left = self.count - float(np.sum(1.0 - own)) - 2.0 * g[1]  # residual over noise
            H = 0.5 * np.array([[both + plain - 2.0 * pull, both - 2.0 * pull], [0.0, both + left - 2.0 * pull]])
            H[1, 0] = H[0, 1]
            H, slope = H[np.ix_(moves, moves)], g[moves]
            if not len(moves) or np.any(np.linalg.eigvalsh(H) <= 0.0):
                break
            trial = x.copy()
            trial[moves] -= np.linalg.solve(H, slope)
            if not self.criterion(*np.exp(trial))[0] <= value + 1e-12 * (1.0 + abs(value)):
                break
            x = trial
        return float(np.exp(x[0])), float(np.exp(x[1]))


def _root_of(prior: Any, D: int) -> Floats:
    """Return T with T T^T the covariance of the prior, the identity where the evidence finds its size."""
    if prior is None:
        return np.eye(D)
    given = np.asarray(prior, dtype=float) if _is_numeric(prior) else np.full((), np.nan)
    if given.shape not in ((), (D,), (D, D)) or not np.isfinite(given).all():
        raise ParameterError(
            f"prior of shape {np.shape(prior)} was given for {D} features; a positive number, ({D},) positive numbers, "
            f"or a ({D}, {D}) covariance matrix is accepted. Give one of them, of finite numbers."
        )
    if given.ndim < 2:
        if not np.all(given > 0.0):
            raise ParameterError(
                f"prior={prior!r} was given; variances must be positive. Leave columns out whose weight is zero."
            )
        return np.diag(np.broadcast_to(np.sqrt(given), (D,)))
    if not np.allclose(given, given.T, rtol=1e-10, atol=0.0):
        raise ParameterError(
            "prior is a matrix that is not symmetric; a covariance matrix is accepted. Give (P + P.T) / 2."
        )
    return np.triu(safe_cholesky(given, overwrite=False).array).T


def _is_numeric(prior: Any) -> bool:
    try:
        real_numbers(prior, "prior")
    except (TypeError, ValueError):
        return False
    return True


def _finite(m: Moments, kernel: Kernel) -> Moments:
    """Return finite moments, or raise."""
    if not np.isfinite(m.square).all():
        raise overflow_error(kernel)
    if not (np.isfinite(m.energy) and np.isfinite(m.moment).all()):
        raise TargetError(
            "y has values whose squares are too large for floating-point numbers; sums of squares must be finite. "
            "Scale y: divide it by its largest absolute value."
        )
    return m
