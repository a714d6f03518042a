"""Sparse Gaussian processes: regression on many samples through a few inducing points.

Symbols: u the m inducing points, K_uu = L L^T, a(x) = L^-1 k_u(x), B = I + A^T Lambda^-1 A, beta the posterior mean of
the whitened inducing variables, q(x, x') = a(x)^T a(x').
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence, Sized
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Floats, Indices
from mercer.budget import Plan, Resources
from mercer.constraints import AnyOf, Boolean, InstanceOf, Integer, OneOf, Optional, Positive, Satisfies
from mercer.domains import Samples, Vectors
from mercer.errors import DomainError, IndefiniteWarning, ParameterError, warn_caller
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.fits import Run, Units, fitting, warn_of_search
from mercer.estimators.processes.inducing_search import InducingObjective, in_raw_units, spread_of, stand_for_all
from mercer.estimators.processes.process_search import coarse_starts, limits_of
from mercer.estimators.processes.sparse_evidence import (
    METHODS,
    Inducing,
    SparseData,
    choose_inducing,
    inducing_posterior,
    whiten,
)
from mercer.gram import Expansion
from mercer.kernels import Gaussian, Kernel, Scaled
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import fill, offers, overflow_error
from mercer.kernels.protocols import InputDifferentiable
from mercer.problems import Status
from mercer.runtime.tiling import serial_blas, spans
from mercer.selection.hyperparameters import Search, Tuned, require_derivative, tune
from mercer.spec import constraints_of, derived
from mercer.targets import Real

__all__ = ["InducingPosterior", "SparseGaussianProcessRegressor", "TrainingPart"]
__public__ = ["SparseGaussianProcessRegressor"]

_ROWS = 2048  # new samples at a time
_SERIAL = 1000  # samples up to which a second thread of LAPACK costs more than it saves
_POINTS = Satisfies("the inducing points themselves", lambda given: isinstance(given, Sized))
_POOR = 0.01  # share of the prior variance beyond which the Nystrom method is not to be trusted


class SparseGaussianProcessRegressor(MultiOutputMixin, RegressorMixin, KernelEstimator):
    r"""Gaussian process regression in which a few inducing points stand for many samples.

    .. math:: f \sim GP(0, k), \quad y_i = f(x_i) + \epsilon_i, \quad
        p(y) \approx N(0, Q + \Lambda), \quad Q = K_{fu} K_{uu}^{-1} K_{uf}

    ============== ============================== ==================================== =============================
    method         Lambda                         variance of f at a new x             objective
    ============== ============================== ==================================== =============================
    "sor"          noise                          q-part alone: too small far away     log N(y; 0, Q + Lambda)
    "dtc"          noise                          k(x,x) - q(x,x) + q-part             log N(y; 0, Q + Lambda)
    "fitc"         noise + diag(K - Q)            as "dtc"                             log N(y; 0, Q + Lambda)
    "pitc"         noise + blocks of K - Q        as "dtc"                             log N(y; 0, Q + Lambda)
    "variational"  noise                          as "dtc"                             log N - tr(K - Q) / (2 noise)
    "nystrom"      noise                          k(x,x) - k_f(x)' (Q + noise)^-1 k_f  log N(y; 0, Q + Lambda)
    ============== ============================== ==================================== =============================

    Seed: [KIKS] Section 4.1.4 (pseudo-inputs, references [42] and [43]; the Nystrom method and why it was given up)
    and Section 3.4.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        Covariance of f. None is ``a * Gaussian(l)``, starting where the exact evidence of some samples is largest on a
        coarse grid about the variance of y and the median distance.
    noise : float, optional
        Variance of the noise, where the search starts. In the unit of y squared. None is a tenth of the variance of y.
    method : {"variational", "fitc", "pitc", "dtc", "sor", "nystrom"}, default "variational"
        "variational" maximises a lower bound of the exact evidence, so that more inducing points are never worse.
        "nystrom" replaces K but not the covariances with new samples: means may be far off and variances negative
        where the inducing points are too few, which a warning reports.
    inducing : int or samples, default 200
        Their number: samples are chosen one after another, each where the chosen ones leave the largest variance.
        Or the inducing points themselves.
    optimize_inducing : bool, default True
        Whether inducing points move with the hyper-parameters. It concerns dense vectors and kernels with derivatives
        in their inputs; others (strings, sparse rows) stay where they are, as do those that include every sample.
    blocks : int or (n,) array of labels, optional
        For "pitc": how many blocks, made of the samples nearest to as many chosen ones, or the block of each sample.
        None makes blocks of about the size of the inducing points.
    fixed : tuple of str or "all", default ()
        Names of kernel parameters, or "noise", that are held; "all" searches nothing.
    normalize_y : bool or None, default None
        Whether the process is one about the mean of y, with starts and bounds that follow its variance; False is one
        about zero. None is False for ``fixed="all"`` and else True. Numbers that are given have the unit of y in any
        case, and so have all results.
    bounds : mapping of name to (low, high), optional
        Bounds of raw values; where none are given, as in `GaussianProcessRegressor`.
    restarts : int, default 0
        Further starts of the search, in which inducing points stay; they move at the end.
    max_iter : int, default 200
        Steps of each search.
    tol : float, default 1e-5
        The search ends when the largest derivative of the objective in the logarithm of a parameter is below tol.
    random_state : int, RandomState or None
        Seed of the restarts.
    gamma, degree, coef0 : of scikit-learn's named kernels
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    kernel_ : Kernel
    noise_ : float
    intercept_ : (J,) array
        The mean of y, or zeros.
    inducing_ : Samples
        The inducing points; ``inducing_.X`` for vectors.
    posterior_ : InducingPosterior
        All that predictions need.
    expansion_ : Expansion
        The mean as a function of the kernel at the inducing points ("nystrom": at the samples).
    bound_, log_marginal_likelihood_ : float
        "variational": a lower bound of the log evidence of the exact process; others: that of the approximate one.
    left_share_ : float
        Share of the prior variance at the samples that inducing points do not explain, tr(K - Q) / tr(K).
    jitter_ : float
        What was added to the covariance of the inducing points so that it could be factored; 0.0 as a rule.
    tuned_, n_iter_ : Tuned, int
        The path of the search, and its steps.

    Notes
    -----
    A sample of weight w counts as w copies, in the objective too. Cost O(n m^2) per step and O(m^2) per new sample,
    memory O(n m). ``predict`` gives the spread of f, or with ``include_noise=True`` that of y.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SparseGaussianProcessRegressor
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=400)
    >>> model = SparseGaussianProcessRegressor(noise=0.01, inducing=12).fit(X, y)
    >>> mean, std = model.predict([[1.5]], return_std=True)
    >>> mean.round(1), bool(std[0] < 0.05)
    (array([1.]), True)
    """

    constraints = {
        "noise": Optional(Positive()), "normalize_y": Optional(Boolean()),
        "method": OneOf(*METHODS), "optimize_inducing": Boolean(), "restarts": Integer(0),
        "max_iter": Integer(1), "tol": Positive(),
        "inducing": AnyOf(Integer(1), _POINTS),
        "blocks": Optional(AnyOf(Integer(1), InstanceOf(np.ndarray, list, tuple))),
    }  # fmt: skip

    def __init__(
        self,
        kernel: Any = None,
        noise: float | None = None,
        *,
        method: str = "variational",
        inducing: Any = 200,
        optimize_inducing: bool = True,
        blocks: Any = None,
        fixed: Sequence[str] | str = (),
        normalize_y: bool | None = None,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        restarts: int = 0,
        max_iter: int = 200,
        tol: float = 1e-5,
        random_state: Any = None,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.noise = noise
        self.method = method
        self.inducing = inducing
        self.optimize_inducing = optimize_inducing
        self.blocks = blocks
        self.fixed = fixed
        self.normalize_y = normalize_y
        self.bounds = bounds
        self.restarts = restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SparseGaussianProcessRegressor:
        """Find hyper-parameters and inducing points, and the posterior.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) or (n, k) array
            Real targets; several outputs share kernel, noise and inducing points.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, Real()) as (run, kernel, packed, S, values, w, used):
            values = values.reshape(len(S), -1)
            kernel = kernel.learn(S, values, w)
            units = Units.of(values, w, self.fixed != "all" if self.normalize_y is None else self.normalize_y)
            self.intercept_, values = units.mean, values - units.mean
            kernel, noise = self._start(kernel, S, values, w, units)
            require_derivative(kernel, self.fixed)
            Z = self._inducing(kernel, S)
            self._plan(len(S), len(Z), values.shape[1], getattr(S, "width", 1)).require(self.memory)
            data = SparseData(S, values, w, self.method, (), Resources(self.memory, self.n_threads))
            if self.method == "pitc":
                data = self._in_blocks(data, kernel, len(Z), used, len(packed))
            with serial_blas() if len(S) <= _SERIAL else nullcontext():
                with run.stage("hyper-parameters", 0.95):
                    tuned, Z = self._search(data, kernel, noise, Z, units, run)
                self._finish(data, tuned, Z)
        return self

    def _default_kernel(self) -> Kernel:
        return Gaussian("median")

    def _start(self, kernel: Kernel, S: Samples, y: Floats, w: Floats, units: Units) -> tuple[Kernel, float]:
        """Return where the search starts."""
        noise = units.noise(self.noise)
        if self.kernel is None:
            kernel = units.variance * kernel
            if not self.fixed and not self.bounds and isinstance(kernel, Scaled):
                kernel, own = coarse_starts(kernel, S, y, w, units)[0]
                noise = own if self.noise is None else noise
        return kernel, noise

    # before the search ----------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.blocks is not None and self.method != "pitc":
            raise ParameterError(f"blocks={self.blocks!r} was given with {self.method!r}; use them with 'pitc' only.")

    def _number_of_inducing(self, n: int) -> int:
        given = self.inducing
        constraints_of(type(self))["inducing"].check("inducing", given, self)  # a plan may be asked for before a fit
        return min(int(given), n) if isinstance(given, (int, np.integer)) else len(given)

    def _inducing(self, kernel: Kernel, S: Samples) -> Samples:
        """Return where the inducing points start."""
        if isinstance(self.inducing, (int, np.integer)):
            count = self._number_of_inducing(len(S))
            self._plan(len(S), count, 1, getattr(S, "width", 1)).require(self.memory)
            prepared = kernel.prepare(S)
            return S.take(choose_inducing(kernel, prepared, count))
        Z = kernel.pack(self.inducing)
        if isinstance(S, Vectors) and isinstance(Z, Vectors) and Z.width != S.width:
            raise DomainError(
                f"inducing has {Z.width} columns and X has {S.width}; inducing points are of the kind of the samples. "
                "Give as many columns."
            )
        return Z

    def _in_blocks(self, data: SparseData, kernel: Kernel, m: int, used: Indices, n: int) -> SparseData:
        """Return the samples block after block."""
        if self.blocks is None or isinstance(self.blocks, (int, np.integer)):
            count = -(-len(data.y) // max(m, 1)) if self.blocks is None else int(self.blocks)
            if count < 1:
                raise ParameterError(
                    f"blocks={self.blocks!r} was given; there is at least one block. Give a positive number or labels."
                )
            labels = _nearest(kernel, data.samples, count)
        else:
            labels = np.asarray(self.blocks)
            if labels.shape != (n,):
                raise ParameterError(
                    f"blocks has shape {labels.shape} for {n} samples; a number or one label per sample is accepted. "
                    f"Give an array of shape ({n},)."
                )
            labels = np.unique(labels[used], return_inverse=True)[1]
        order = np.argsort(labels, kind="stable")
        sizes = np.bincount(labels)
        ends = np.cumsum(sizes[sizes > 0])
        Plan(
            f"blocks of up to {sizes.max()} samples",
            {"blocks of the covariance": 2 * 8 * int(np.sum(sizes.astype(float) ** 2))},
            ("more blocks", "method='fitc'"),
        ).require(self.memory)
        slices = [slice(int(end - size), int(end)) for end, size in zip(ends, sizes[sizes > 0], strict=True)]
        return dataclasses.replace(
            data, samples=data.samples.take(order), y=data.y[order], weight=data.weight[order], blocks=slices
        )

    # the search -------------------------------------------------------------------------------------

    def _search(
        self, data: SparseData, kernel: Kernel, noise: float, Z: Samples, units: Units, run: Run
    ) -> tuple[Tuned, Samples]:
        """Return what was found, and the inducing points."""
        moving = (
            self.optimize_inducing
            and self.fixed != "all"
            and len(Z) > 0  # none are left where the kernel is zero
            and isinstance(Z, Vectors)
            and isinstance(Z.X, np.ndarray)
            and offers(kernel, InputDifferentiable)
            and not stand_for_all(data.samples, Z)
        )
        options: dict[str, Any] = {
            "bounds": self.bounds,
            "limits": limits_of(units, kernel, noise),
            "monitor": run.solver_monitor(self.tol) if run.watched else None,
        }  # fmt: skip
        beside: dict[str, Any] = {"noise": noise}
        base = data.white() if np.isfinite(data.white()) else 0.0  # from which the objective is measured
        tuned = None
        if not moving or self.restarts:
            tuned = tune(
                InducingObjective(data, Z, None, base), kernel, beside, fixed=self.fixed,
                search=Search(self.restarts, self.random_state, self.max_iter, self.tol), **options,
            )  # fmt: skip
            if not moving or tuned.status in (Status.TIME, Status.STOPPED):
                return tuned.shifted(-base), Z
            kernel, beside = tuned.kernel, dict(tuned.beside)
        assert isinstance(Z, Vectors)
        spread = spread_of(Z)
        start = {**beside, "inducing": np.asarray(Z.X, dtype=np.float64) / spread}
        tuned = tune(
            InducingObjective(data, Z, spread, base), kernel, start, real=("inducing",), fixed=self.fixed,
            search=Search(max_iter=self.max_iter, tol=self.tol), **options,
        )  # fmt: skip
        tuned = in_raw_units(tuned, spread).shifted(-base)
        return tuned, Vectors(np.ascontiguousarray(tuned.beside["inducing"]), Z.names)

    def _finish(self, data: SparseData, tuned: Tuned, Z: Samples) -> None:
        """Keep the posterior at the hyper-parameters found."""
        if tuned.status is not Status.CONVERGED:
            warn_caller(
                f"The search for hyper-parameters stopped at slope {tuned.slope:.3g}. {tuned.status.value}",
                ConvergenceWarning,
            )
        if self.fixed != "all":
            warn_of_search(*tuned.moved(), -tuned.value - data.white(), tuned.kernel)
        self.tuned_, self.kernel_, self.noise_ = tuned, tuned.kernel, float(tuned.beside["noise"])
        self.n_iter_ = max(1, len(tuned.values) - 1)
        whitened = whiten(data, self.kernel_, Z)
        self.jitter_ = whitened.L.jitter
        fit = inducing_posterior(data, self.kernel_, Z, self.noise_, whitened)
        self.inducing_ = self.kernel_.prepare(Z).landmarks()
        self.left_share_ = fit.left
        setattr(self, "bound_" if self.method == "variational" else "log_marginal_likelihood_", fit.value)
        self.posterior_ = InducingPosterior.of(fit, self.inducing_)
        if self.method == "nystrom" and fit.left > _POOR:
            warn_caller(
                f"{fit.left:.2g} of the prior variance is left by {len(Z)} inducing points; the Nystrom method is "
                f"sensitive to them, and with more than {_POOR} left its means may be far off and its variances "
                "negative. Use more inducing points, or method='variational' or 'fitc'.",
                IndefiniteWarning,
            )

    # predictions ------------------------------------------------------------------------------------

    @derived
    def expansion_(self) -> Expansion:
        """The mean as an element of the kernel's space; `predict` uses another formula, safer near singular K_uu."""
        own, single = self.posterior_, self.target_.columns is None
        samples = own.samples if own.training is None else own.training.samples
        coef = linalg.solve_triangular(own.root, own.beta) if own.training is None else own.training.alpha
        centre = self._centre() + np.zeros(coef.shape[1])
        if single:
            return Expansion(own.kernel, samples, coef[:, 0], np.asarray(centre[0]))
        return Expansion(own.kernel, samples, coef, centre)

    def _centre(self) -> Floats:
        return np.asarray(getattr(self, "intercept_", 0.0))  # models that were saved without one have none

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False, include_noise: bool = False) -> Any:
        """Return the posterior mean of f at new data, and its spread if asked for.

        Parameters
        ----------
        X : raw data or packed samples
        return_std, return_cov : bool, default False
            Whether standard deviations, in the shape of the mean, or the joint covariance, (m, m) or (m, m, k), too.
        include_noise : bool, default False
            Whether the spread is that of new observations instead of that of f.

        Returns
        -------
        mean : (m,) or (m, k) array
        std or cov : array
        """
        if return_std and return_cov:
            raise ParameterError(
                "return_std=True and return_cov=True were given; one of them is accepted. The standard deviations are "
                "the roots of the diagonal of the covariance."
            )
        T = self._pack_new(X)
        if return_cov:
            Plan("joint covariance", {"covariance": 3 * 8 * len(T) ** 2}, ("return_std=True",)).require(self.memory)
        mean, spread = self.posterior_.moments(T, self._resources(), "cov" if return_cov else "var" * return_std)
        if not np.isfinite(mean).all():
            raise overflow_error(self.kernel_)
        mean = self.target_.decode(mean + self._centre())
        if spread is None:
            return mean
        if include_noise:
            spread = spread + (self.noise_ if return_std else self.noise_ * np.eye(len(T)))
        if return_std:
            spread = np.sqrt(spread)
        return mean, spread if self.target_.columns is None else np.repeat(spread[..., None], mean.shape[1], axis=-1)

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        return self._plan(n_samples, self._number_of_inducing(n_samples), n_targets, n_features)

    def _plan(self, n: int, m: int, targets: int, width: int) -> Plan:
        buffers = {
            "packed samples": 8 * n * width,
            "cross-covariances": 2 * 8 * n * m,
            "inducing covariances": 6 * 8 * m * m,
            "targets and coefficients": 8 * n * (6 + 4 * targets),
            "blocks of rows": 2 * 8 * 8 * _ROWS * m,
        }
        return Plan(f"{type(self).__name__} on {n} samples", buffers, ("fewer inducing points",))


@dataclass(frozen=True, eq=False)
class TrainingPart:
    """The part of the training samples that the Nystrom method keeps.

    Attributes
    ----------
    samples : Samples
    alpha : (n, J) array
        (Q + noise)^-1 y.
    A : (n, m) array
        Whitened cross-covariances.
    precision : (n,) array
        Weight over noise.
    """

    samples: Samples
    alpha: Floats
    A: Floats
    precision: Floats


@dataclass(frozen=True, eq=False)
class InducingPosterior:
    r"""The posterior of a sparse Gaussian process: means and covariances at new samples.

    .. math:: m(x) = a(x)^\top \beta, \qquad
        c(x, x') = k(x, x') - a(x)^\top a(x') + a(x)^\top B^{-1} a(x'), \qquad a(x) = L^{-1} k_u(x)

    Attributes
    ----------
    kernel : Kernel
    samples : Samples
        The m inducing points, prepared.
    method : str
    root : (m, m) array
        L^T, upper triangular.
    inner : (m, m) array
        L_B^T, upper triangular, with B = L_B L_B^T.
    beta : (m, J) array
    training : TrainingPart or None
        For the Nystrom method.
    """

    kernel: Kernel
    samples: Samples
    method: str
    root: Floats
    inner: Floats
    beta: Floats
    training: TrainingPart | None = None

    @classmethod
    def of(cls, fit: Inducing, Z: Samples) -> InducingPosterior:
        """Return what predictions need of a fit."""
        training, data = None, fit.data
        if data.method == "nystrom":
            S = fit.kernel.prepare(data.samples).landmarks()
            training = TrainingPart(S, fit.alpha, fit.A, data.weight / fit.noise)
        return cls(fit.kernel, Z, data.method, np.triu(fit.L.array), np.triu(fit.B.array), fit.beta, training)

    def moments(self, T: Samples, resources: Resources, spread: str = "") -> tuple[Floats, Floats | None]:
        """Return means (t, J) and, for "var" or "cov", variances (t,) or covariances (t, t) at packed samples."""
        T = self.kernel.prepare(T)
        if self.training is not None:
            return self._nystrom(T, self.training, resources, spread)
        means, left, inner = [], [], []
        for rows in spans(len(T), _ROWS):
            a = linalg.solve_triangular(
                self.root, _block(self.kernel, T.take(rows), self.samples, resources).T, trans=1
            )
            means.append(a.T @ self.beta)
            if spread:
                v = linalg.solve_triangular(self.inner, a, trans=1)
                left.append(a if spread == "cov" else np.einsum("ij,ij->j", a, a))
                inner.append(v if spread == "cov" else np.einsum("ij,ij->j", v, v))
        mean = np.concatenate(means) if means else np.empty((0, self.beta.shape[1]))
        if not spread or not means:
            return mean, None if not spread else np.empty((0,) * (1 + (spread == "cov")))
        a, v = np.concatenate(left, axis=-1), np.concatenate(inner, axis=-1)
        if spread == "var":
            return mean, v if self.method == "sor" else v + np.maximum(self.kernel.diag(T) - a, 0.0)
        out, own = v.T @ v, np.einsum("ij,ij->j", v, v)
        if self.method != "sor":
            out += _block(self.kernel, T, T, resources) - a.T @ a
            own += np.maximum(self.kernel.diag(T) - np.einsum("ij,ij->j", a, a), 0.0)
        np.fill_diagonal(out, own)  # the very numbers that variances alone are made of
        return mean, 0.5 * (out + out.T)

    def _nystrom(
        self, T: Samples, own: TrainingPart, resources: Resources, spread: str
    ) -> tuple[Floats, Floats | None]:
        """The same with the exact covariances between new and training samples, which fit no joint Gaussian."""
        means, explained = [], []
        K_all = np.empty((len(T), len(own.precision))) if spread == "cov" else None
        for rows in spans(len(T), max(1, _ROWS * 200 // max(len(own.precision), 1))):
            K = _block(self.kernel, T.take(rows), own.samples, resources)
            means.append(K @ own.alpha)
            if spread == "var":
                explained.append(np.einsum("ij,ij->i", K, self._precision(own, K)))
            elif K_all is not None:
                K_all[rows] = K
        mean = np.concatenate(means) if means else np.empty((0, self.beta.shape[1]))
        if not spread:
            return mean, None
        if K_all is not None:
            out = _block(self.kernel, T, T, resources) - K_all @ self._precision(own, K_all).T
            out = 0.5 * (out + out.T)
            np.fill_diagonal(out, _not_negative(out.diagonal(), "the covariance is left as it is apart from them"))
            return mean, out
        return mean, _not_negative(
            self.kernel.diag(T) - np.concatenate([*explained, np.empty(0)]), "they are set to zero"
        )

    def _precision(self, own: TrainingPart, K: Floats) -> Floats:
        """K (Q + Lambda)^-1, by the matrix inversion lemma."""
        half = linalg.solve_triangular(self.inner, (K * own.precision @ own.A).T, trans=1)
        back = linalg.solve_triangular(self.inner, half)
        return (K - (own.A @ back).T) * own.precision


def _not_negative(variance: Floats, what: str) -> Floats:
    """Variances with negative ones set to zero, with a warning about them."""
    negative = variance < 0.0
    if negative.any():
        warn_caller(
            f"{int(negative.sum())} of {len(variance)} variances of the Nystrom method are negative, down to "
            f"{variance.min():.3g}; {what}. Use more inducing points, or method='variational' or 'fitc', whose "
            "variances are positive.",
            IndefiniteWarning,
        )
    return np.maximum(variance, 0.0)


def _block(kernel: Kernel, A: Samples, B: Samples, resources: Resources) -> Floats:
    out = np.empty((len(A), len(B)))
    fill(kernel, Comparison(kernel, A, B, np.float64), out, n_threads=resources.n_threads)
    return out


def _nearest(kernel: Kernel, S: Samples, count: int) -> Indices:
    """For each sample which of some chosen ones is nearest in feature space."""
    prepared = kernel.prepare(S)
    centres = prepared.take(choose_inducing(kernel, prepared, count))
    if len(centres) == 0:  # all samples are at the origin
        return np.zeros(len(S), dtype=np.intp)
    own = kernel.diag(centres)
    closeness = [2.0 * kernel.block(part, centres) - own for part in prepared.tiles(_ROWS)]
    return np.concatenate([np.argmax(part, axis=1) for part in closeness])
