"""Gaussian process regression: a distribution over functions, conditioned on what was observed.

Symbols: K the Gram matrix, sigma^2 the noise, G = K + diag(sigma^2 / w), a = G^-1 (y - B m) with mean functions B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Floats, Indices, real_numbers
from mercer.budget import Plan
from mercer.constraints import AnyOf, Boolean, InstanceOf, Integer, OneOf, Optional, Positive, Satisfies
from mercer.domains import Samples
from mercer.errors import CapabilityError, ParameterError, warn_caller
from mercer.estimators.certificates.certified import Certified
from mercer.estimators.certificates.certified_sums import refused
from mercer.estimators.estimator import KernelEstimator, scattered
from mercer.estimators.fits import Run, Units, fitting
from mercer.estimators.processes.evidence_forms import FeatureEvidence, IterativeEvidence
from mercer.estimators.processes.posterior import draw
from mercer.estimators.processes.process_evidence import (
    Conditioned,
    Conditioner,
    DenseEvidence,
    MeanFunctions,
    Observations,
)
from mercer.estimators.processes.process_search import SOME, EvidenceSearch
from mercer.gram import Dense, Expansion, FeatureExpansion, GramSpec, Tiles
from mercer.gram.gram import has_features, is_stored, is_streamed, is_transform
from mercer.kernels import Gaussian, Kernel, Scaled
from mercer.kernels.foreign import translated
from mercer.kernels.kernel import is_scikit_learn, offers, overflow_error
from mercer.kernels.protocols import HasFeatures
from mercer.problems import Solution, Status
from mercer.runtime.tiling import in_background
from mercer.selection.decision import decide
from mercer.selection.leave_one_out import leave_one_out
from mercer.solvers import Cholesky, ConjugateGradient, Solver, Woodbury
from mercer.solvers.linear.border import Border
from mercer.spec import chain, constrained, unconstrain
from mercer.targets import Real

__all__ = ["GaussianProcessRegressor"]
__public__ = __all__

_RANK = 100  # of the preconditioner where no solver says otherwise
_LEARNED = 1000  # samples from whose distances the length scale of the default kernel is learned
_TILES = 2**20  # bytes of the products of a few tiles with all vectors
_PATIENT = 20_000  # samples beyond which a search by products, which takes hours, must be the user's choice
_NAMES = Satisfies("a tuple of names", lambda given: isinstance(given, (tuple, list)), "('noise',)")


class GaussianProcessRegressor(Certified, MultiOutputMixin, RegressorMixin, EvidenceSearch, KernelEstimator):
    r"""Gaussian process regression: predictions with their uncertainty, and a kernel chosen by the evidence.

    .. math:: f \sim \mathcal{GP}(b(\cdot)^\top m, k), \quad y_i \sim \mathcal{N}(f(x_i), \sigma^2), \qquad
        \max_{k, \sigma^2} \; \log p(y \mid X, k, \sigma^2)

    Seed: [STS] Section 5.5, Eqs. (84)-(87); [KIKS] Eq. (16), Section 4.1.4; [SS] Eqs. (68)-(80), Section 5.2.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        The covariance function. None is ``a * Gaussian(l)``, from where the evidence is large on a coarse grid about
        the variance of y and the median distance between training samples; where the grid has several hills, each is
        climbed. All free parameters of the kernel are optimised unless they are `fixed`.
    noise : float, (n,) array or None, default None
        Variance of the noise in y, in the unit of y squared (scikit-learn's ``alpha``). Positive. One number is where
        its search starts; for an array, one variance per training sample, a common factor is searched. None starts at
        a tenth of the variance of y.
    mean : None, "constant", "linear", Kernel or callable, default None
        Mean functions with unknown coefficients under a flat prior: None is a mean of zero, "constant" a constant,
        "linear" a constant and the columns, a Kernel its features, a callable the columns that it returns for X.
    fixed : sequence of str or "all", default ()
        Hyper-parameters that are held: names of ``mercer.free_parameters.free_names(kernel)``, and "noise". "all"
        optimises none.
    normalize_y : bool or None, default None
        Whether the process is one about the mean of y. Starts and bounds that are not given follow the variance of y
        about that mean, so that a y + b has the predictions a f + b. False takes y as it is, about zero. None is True
        where hyper-parameters are searched, and False for ``fixed="all"`` and for your own mean functions. Numbers
        that are given have the unit of y in any case, and so have all results.
    bounds : mapping of name to (low, high), optional
        Bounds of hyper-parameters, in raw values. Where none are given: the noise from 1e-8 to 10 times the variance of
        y, the size of a kernel within a factor of 1e6 of it, both farther if they start elsewhere; others within a
        factor of 1e5 of their start.
    restarts : int, default 0
        Further starts of the search, at random.
    gram : GramSpec, optional
        None chooses by `Auto`: `Features` (the weight-space view, the same numbers) where the kernel has fewer features
        than there are samples, else `Dense` if it fits, else `Tiles`, with which nothing of the size of K is held and
        the evidence is estimated. Beyond 20 000 samples a search by tiles takes hours: it has to be asked for.
    solver : Solver, optional
        None: Cholesky for a dense K, Woodbury for features, conjugate gradients with a pivoted Cholesky preconditioner
        for tiles; its ``tol``, ``max_iter`` and ``rank`` are obeyed.
    n_probes : int, default 16
        Random vectors by which the determinant is estimated for tiles.
    leave_one_out : bool, default False
        Whether `fit` also stores ``loo_predictions_`` and ``loo_std_``, in closed form.
    max_iter : int, default 200
        Steps of the search.
    tol : float, default 1e-4
        The search ends when the largest derivative of the log evidence in the logarithm of a parameter is below tol;
        with ``gram=Tiles()``, which estimates it, below tol times 1 + abs(log evidence).
    random_state : int, RandomState or None, default 0
        Seed of restarts and probes, and of the quarter of many samples with which a search begins.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`. When time is up, the best hyper-parameters so far are used.

    Attributes
    ----------
    kernel_ : Kernel
        With optimised parameters.
    noise_ : float or (n,) array
        Optimised; an array if one was given.
    log_marginal_likelihood_ : float
        Log evidence of the training data, under ``kernel_`` and ``noise_``.
    log_marginal_likelihood_error_ : float
        Its standard error; 0.0 unless it was estimated (``gram=Tiles()``).
    tuned_ : Tuned or None
        The search: its path, values and status; None if there was none.
    n_iter_ : int
        Steps of the search, at least 1.
    expansion_ : Expansion or FeatureExpansion
        The posterior mean, but for mean functions other than a constant.
    dual_coef_, alpha_ : (n,) or (n, k) array
        a.
    intercept_ : float or (k,) array
        The mean of y, or the constant of ``mean="constant"``; predictions far from all samples.
    mean_coef_ : (q,) or (q, k) array
        m, of the mean functions ("linear": 1, and the columns less their training means).
    posterior_ : object
        What variances are computed from.
    solution_ : Solution
        Residual, jitter, and what was estimated.
    loo_predictions_, loo_std_ : (n,) or (n, k) and (n,) arrays
        For each sample what the others predict of a new observation there: mean and standard deviation. Only with
        ``leave_one_out=True``.

    Notes
    -----
    A sample of weight w counts as w copies, in the evidence too. Several outputs share kernel and noise; their log
    evidences are added. With mean functions the evidence is the restricted one (see
    `mercer.estimators.processes.process_evidence`). From 1000 samples on, where neither bounds nor several noises are
    given, the search begins with a quarter of them (2000 at most), chosen at random; where it ends there, the search on
    all begins, which ``tuned_`` describes. A search that ends where the evidence is that of white noise is begun again:
    with the kernel in the size of y, and at four random places. If that does not help, or if a bound is active at the
    optimum, a warning says so. Cost O(n^3) per step of the search in one n x n array, O(n D^2) plus one pass over
    tiles for D features. The model keeps the n x n factor, from which variances come.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=40)
    >>> model = GaussianProcessRegressor(1.0 * Gaussian(1.0), noise=0.1).fit(X, y)
    >>> mean, std = model.predict([[1.5], [60.0]], return_std=True)
    >>> mean[0].round(1), bool(np.isclose(mean[1], y.mean())), bool(std[0] < 0.1 < std[1])
    (np.float64(0.9), True, True)
    """

    policies = ()
    takes_noise = True
    constraints = {
        "noise": Optional(Positive(vector=True)),
        "mean": Optional(AnyOf(OneOf("constant", "linear"), InstanceOf(Kernel), Satisfies("a function", callable))),
        "fixed": AnyOf(_NAMES, OneOf("all")),
        "normalize_y": Optional(Boolean()),
        "restarts": Integer(0),
        "n_probes": Integer(2),
        "leave_one_out": Boolean(),
        "max_iter": Integer(1),
        "tol": Positive(),
    }

    def __init__(
        self,
        kernel: Any = None,
        noise: Any = None,
        *,
        mean: Any = None,
        fixed: Sequence[str] | str = (),
        normalize_y: bool | None = None,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        restarts: int = 0,
        gram: GramSpec | None = None,
        solver: Solver | None = None,
        n_probes: int = 16,
        leave_one_out: bool = False,
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: Any = 0,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.noise = noise
        self.mean = mean
        self.fixed = fixed
        self.normalize_y = normalize_y
        self.bounds = bounds
        self.restarts = restarts
        self.gram = gram
        self.solver = solver
        self.n_probes = n_probes
        self.leave_one_out = leave_one_out
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    # fit ----------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GaussianProcessRegressor:
        """Choose the hyper-parameters by the evidence, and condition the process on training data.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) or (n, k) array
            Real targets.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, Real()) as (run, kernel, packed, S, values, w, used):
            self.mean_functions_, border = MeanFunctions(self.mean).learn(X, packed)
            Y = values.reshape(len(values), -1)
            units = Units.of(Y, w, self._centred())
            observed = Observations.of(S, Y - units.mean, w, border[used])
            if border.shape[1]:
                Border.of(observed.border)  # refuses functions that the samples cannot distinguish
            starts = self._starts(kernel.learn(S, values, w), observed, self._noises(used, len(packed), units), units)
            way = self._evidence_form(starts[0].kernel, observed, run)
            self.kernel_, self.noise_ = self._search(way, starts, units, run)
            found = self._condition(way, run)
            self._store(way, found, used, len(packed), units.mean)
            if self.leave_one_out:
                self._store_left_out(way, found, observed, used, units.mean)
                self._store_unseen(packed, border, used)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.mean, Kernel) and not offers(self.mean.check(), HasFeatures):
            raise CapabilityError(
                f"mean={self.mean!r} was given, a kernel without a finite feature map; a mean function is a sum of "
                "features. Use one that has them, for example Polynomial(2), or a callable."
            )

    def _default_kernel(self) -> Kernel:
        return Scaled(1.0, Gaussian("median"))

    def _centred(self) -> bool:
        """Whether the mean of y is taken away before anything else."""
        if self.normalize_y is not None:
            return self.normalize_y
        return self.fixed != "all" and (self.mean is None or isinstance(self.mean, str))

    def _given_noise(self) -> Any:
        """Return the noise, that of scikit-learn's WhiteKernel included."""
        white = translated(self.kernel).noise if is_scikit_learn(self.kernel) else 0.0
        if not white:
            return self.noise
        return white if self.noise is None else white + np.asarray(self.noise, dtype=float)

    def _noises(self, used: Indices, n: int, units: Units) -> Floats:
        given = self._given_noise()
        noise = np.asarray(units.noise() if given is None else given, dtype=np.float64)
        if noise.ndim and len(noise) != n:
            raise ParameterError(
                f"noise has {len(noise)} variances for {n} samples; one variance, or one per training sample, is "
                "accepted. Give a number, or an array of that length."
            )
        return noise[used] if noise.ndim else noise

    def _ways(self) -> tuple[Mapping[str, Any], ...]:
        return ({"gram": Tiles()},)

    def _gram_spec(self, kernel: Kernel, S: Samples) -> GramSpec:
        spec = super()._gram_spec(kernel, S)
        if spec is not self.gram and is_streamed(spec) and len(S) > _PATIENT and self.fixed != "all":
            self._require_with(Dense(), S)
        return spec

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        plan = super().memory_plan(n_samples, n_features, n_targets)
        others = (*plan.options, "SparseGaussianProcessRegressor(), of low rank")
        if not (is_streamed(self._planned_gram(n_samples)) or is_transform(self._planned_gram(n_samples))):
            return Plan(plan.what, plan.buffers, others)
        rank = self.solver.rank if isinstance(self.solver, ConjugateGradient) else _RANK
        vectors = self.n_probes + n_targets + 1
        if self.fixed == "all":
            own = {"vectors": 8 * n_samples * (rank + 12 * vectors) + _TILES}
            return Plan(plan.what, {**plan.buffers, **own}, others)
        some = max(min(n_samples // 4, SOME), min(n_samples, _LEARNED) if self.kernel is None else 0)
        later = 8 * n_samples * (5 * rank + 14 * vectors) + _TILES  # when the search on some samples is over
        return Plan(plan.what, {**plan.buffers, "search": max(32 * some**2, later)}, others)

    def _can_use(self, spec: GramSpec) -> bool:
        if self.leave_one_out and (is_streamed(spec) or is_transform(spec)):
            return False
        return (
            is_stored(spec) or has_features(spec) or is_streamed(spec) or is_transform(spec)
        )  # K itself, exactly or to a tolerance

    def _evidence_form(self, kernel: Kernel, observed: Observations, run: Run | None = None) -> Conditioner:
        """Return how the evidence is computed, and remember Gram and solver."""
        spec, resources = self._chosen_spec(kernel, observed.samples, run), self._resources()
        if self.leave_one_out and (is_streamed(spec) or is_transform(spec)):
            raise CapabilityError(
                f"leave_one_out=True was given with gram={spec!r}, which keeps no factor; the closed form needs one. "
                "Use gram=Dense() or gram=Features()."
            )
        if not self._can_use(spec):
            raise CapabilityError(
                f"gram={spec!r} was given, which changes the kernel; an exact process needs K itself. "
                "Use SparseGaussianProcessRegressor, of low rank, or gram=Dense(), Features(), Tiles(), FastGauss()."
            )
        solver = self.solver
        if solver is None:
            solver = Woodbury() if has_features(spec) else Cholesky()
            if is_streamed(spec) or is_transform(spec):
                solver = ConjugateGradient(preconditioner="pivoted", rank=_RANK)
        self.gram_, self.solver_ = spec, solver
        if isinstance(solver, ConjugateGradient):
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            rank = solver.rank if solver.preconditioner in ("auto", "pivoted") else 0
            return IterativeEvidence(
                observed, resources, rank=rank, probes=self.n_probes, tol=max(1e-4, solver.tol), solve_tol=solver.tol,
                max_iter=solver.max_iter or 1000, seed=seed,
                products=spec if is_transform(spec) else None,
            )  # fmt: skip
        if has_features(spec) and isinstance(solver, Woodbury):
            return FeatureEvidence(observed, resources)
        if is_stored(spec) and isinstance(solver, Cholesky):
            return DenseEvidence(observed, resources)
        raise CapabilityError(
            f"solver={solver!r} was given with gram={spec!r}; Cholesky() goes with Dense(), Woodbury() with Features() "
            "and ConjugateGradient() with all. Leave out solver, or choose the Gram for it."
        )

    def _condition(self, way: Conditioner, run: Run) -> Conditioned:
        with run.stage("solver", 1.0):
            if isinstance(self.solver_, ConjugateGradient):
                monitor = run.solver_monitor(self.solver_.tol) if run.watched else None
                found = way.condition(self.kernel_, self.noise_, monitor)
                if found.residual > 2.0 * self.solver_.tol:
                    status = Status.TIME if run.clock.expired else Status.MAX_ITER
                    warn_caller(
                        f"ConjugateGradient stopped at residual {found.residual:.3g}. {status.value}",
                        ConvergenceWarning,
                    )
                return found
            if run.deadline is None:
                return way.condition(self.kernel_, self.noise_)
            return in_background(way.condition, self.kernel_, self.noise_, deadline=run.deadline)

    def _store(self, way: Conditioner, found: Conditioned, used: Indices, n: int, centre: Floats) -> None:
        """Keep what predictions need, in the units of y."""
        observed = way.observations
        flat = self.target_.columns is None
        multipliers = found.multipliers
        if isinstance(self.mean_functions_.mean, str):  # of "constant" and "linear" the first is one
            multipliers = multipliers + np.eye(len(multipliers), 1) * centre
            centre = multipliers[0] if self.mean_functions_.mean == "constant" else np.zeros(len(centre))
        coef, m, centre = (part[..., 0] if flat else part for part in (found.coef, multipliers, centre))
        tol = getattr(self.solver_, "tol", 1e-8)
        iterative = isinstance(self.solver_, ConjugateGradient)
        status = Status.MAX_ITER if iterative and found.residual > 2.0 * tol else Status.CONVERGED
        self.intercept_ = centre
        if is_transform(self.gram_):
            gram = self.gram_.build(self.kernel_, observed.samples, self._resources())
            self.gram_method_, self.gram_error_ = gram.method, float(gram.bound)
            self.expansion_ = gram.expand(Solution(coef, Status.CONVERGED, 0.0), self.intercept_)
        elif found.weights is None:
            kept = self.kernel_.prepare(observed.samples).landmarks()
            self.expansion_ = Expansion(self.kernel_, kept, coef, np.asarray(self.intercept_))
        else:
            weights = found.weights[0][:, 0] if flat else found.weights[0]
            self.expansion_ = FeatureExpansion(self.kernel_, found.keys, weights, np.asarray(self.intercept_))
        jitter = 0.0 if found.factor is None else found.factor.jitter
        self.solution_ = Solution(
            coef, status, found.residual, multipliers=m, jitter=jitter, details=found.details,
        )  # fmt: skip
        self.dual_coef_, self.mean_coef_ = scattered(coef, used, n), m
        self.log_marginal_likelihood_, self.log_marginal_likelihood_error_ = found.value, found.error
        self.posterior_ = way.posterior(found, self.noise_)
        self.y_train_, self.sample_weight_, self.border_ = observed.y, observed.weight, observed.border

    def _store_left_out(
        self, way: Conditioner, found: Conditioned, observed: Observations, used: Indices, centre: Floats
    ) -> None:
        """Keep what the others predict of each sample."""
        n, noise = len(self.dual_coef_), np.broadcast_to(self.noise_, observed.weight.shape)
        diagonal = way.inverse_diagonal(self.kernel_, self.noise_, found)
        y = observed.y + centre
        y, coef = (part[:, 0] if self.target_.columns is None else part for part in (y, found.coef))
        latent = np.maximum(1.0 / diagonal - noise / observed.weight, 0.0)
        self.loo_predictions_ = scattered(leave_one_out(y, coef, diagonal), used, n)
        self.loo_std_ = scattered(np.sqrt(latent + noise), used, n)

    def _store_unseen(self, packed: Samples, border: Floats, used: Indices) -> None:
        """Complete what is predicted of samples of weight zero, which were left out from the start."""
        rest = np.setdiff1d(np.arange(len(packed)), used)
        if not len(rest):
            return
        T, b = packed.take(rest), border[rest]
        given = np.asarray(self._given_noise(), dtype=np.float64)
        noise = given[rest] * (self.noise_[0] / given[used[0]]) if given.ndim else self.noise_
        self.loo_predictions_[rest] = self._mean(T, b)
        self.loo_std_[rest] = np.sqrt(self._posterior("variance", T, b) + noise)

    # predictions --------------------------------------------------------------------------------------

    @property
    def alpha_(self) -> Floats:
        """The dual coefficients, by scikit-learn's name."""
        return self.dual_coef_

    def predict(
        self, X: Any, return_std: bool = False, return_cov: bool = False, include_noise: Any = False
    ) -> Floats | tuple[Floats, Floats]:
        """Return the posterior mean at new data, with its standard deviation or covariance if asked.

        Parameters
        ----------
        X : raw data or packed samples
        return_std, return_cov : bool, default False
            Whether to return standard deviations, (m,) or (m, k), or the joint covariance, (m, m) or (m, m, k), as
            well. Outputs share them.
        include_noise : bool, float or (m,) array, default False
            False: uncertainty of the function. True: that of a new observation, with the fitted noise. Numbers: with
            noise of these variances.

        Returns
        -------
        mean : (m,) or (m, k) array
        std or covariance : array
            Only if asked for.
        """
        if return_std and return_cov:
            raise ParameterError(
                "return_std=True and return_cov=True were both given; one of them is accepted, as the squared standard "
                "deviations are the diagonal of the covariance. Leave one out."
            )
        T = self._pack_new(X)
        b = self.mean_functions_(X, T)
        mean = self._mean(T, b)
        if not (return_std or return_cov):
            return mean
        noise = self._new_noise(include_noise, len(T))
        if return_std:
            return mean, self._shaped(np.sqrt(self._posterior("variance", T, b) + noise))
        covariance = self._posterior("covariance", T, b)
        np.einsum("ii->i", covariance)[:] += noise
        return mean, self._shaped(covariance)

    def _mean(self, T: Samples, b: Floats) -> Floats:
        values = self.expansion_(T, self._resources())
        if b.shape[1] and self.mean_functions_.mean != "constant":
            values = values + b @ self.mean_coef_
        if not np.isfinite(values).all():
            raise overflow_error(self.kernel_)
        return self.target_.decode(values)

    def _require_covered(self) -> None:
        if self.mean_functions_.mean not in (None, "constant"):
            raise refused(self, f"its mean functions, {self.mean_functions_.mean!r:.100}, are in no ball")
        super()._require_covered()

    def _posterior(self, what: str, T: Samples, b: Floats) -> Floats:
        return getattr(self.posterior_, what)(self.expansion_, T, b, self._resources())

    def _shaped(self, values: Floats) -> Floats:
        """The same for every output, as scikit-learn has it."""
        if self.target_.columns is None:
            return values
        return np.repeat(values[..., None], self.target_.columns, axis=-1)

    def _new_noise(self, include: Any, m: int) -> Floats:
        if isinstance(include, (bool, np.bool_)):
            if not include:
                return np.zeros(m)
            if np.ndim(self.noise_):
                raise ParameterError(
                    "include_noise=True was given after a fit with one noise per training sample; the noise of new "
                    "samples is not known. Give their variances, include_noise=array."
                )
            return np.full(m, float(self.noise_))
        Positive(vector=True).check("include_noise", include, self)
        return np.broadcast_to(np.asarray(include, dtype=np.float64), (m,))

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0, include_noise: Any = False) -> Floats:
        """Draw functions from the posterior, at new data.

        Parameters
        ----------
        X : raw data or packed samples
        n_samples : int, default 1
        random_state : int, RandomState or None, default 0
        include_noise : bool, float or (m,) array, default False
            As in `predict`.

        Returns
        -------
        (m, n_samples) or (m, k, n_samples) array
        """
        T = self._pack_new(X)
        b = self.mean_functions_(X, T)
        mean = self._mean(T, b).reshape(len(T), -1)
        covariance = self._posterior("covariance", T, b)
        np.einsum("ii->i", covariance)[:] += self._new_noise(include_noise, len(T))
        paths = draw(mean, covariance, n_samples, random_state)
        return paths[:, 0] if self.target_.columns is None else paths

    def decide(self, X: Any, loss: Any, include_noise: Any = True) -> Floats:
        """Return the predictions of least expected loss at new data, (m,) or (m, k).

        Parameters
        ----------
        X : raw data or packed samples
        loss : Loss or callable
            Cost of a prediction; see `mercer.selection.decide`. ``Pinball(0.9)`` gives the 0.9 quantile.
        include_noise : bool, float or (m,) array, default True
            Whether the loss is that of predicting a new observation (True) or the function (False).
        """
        mean, std = self.predict(X, return_std=True, include_noise=include_noise)
        return decide(mean, std, loss)

    # evidence -----------------------------------------------------------------------------------------

    @property
    def theta_(self) -> Floats:
        """Coordinates of the hyper-parameters: those of the kernel (logarithms of positive ones), then log noise."""
        return np.append(unconstrain(self.kernel_), np.log(self._noise_factor()))

    def _noise_factor(self) -> float:
        return float(self.noise_) if np.ndim(self.noise_) == 0 else 1.0

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """Return the log evidence of the training data, and its gradient if asked.

        Parameters
        ----------
        theta : (p + 1,) array, optional
            Hyper-parameters as in ``theta_``; None is the fitted ones. With one noise per sample the last coordinate is
            the logarithm of a factor on the fitted noise.
        eval_gradient : bool, default False
            Whether to return the gradient in theta as well.
        """
        check_is_fitted(self)
        if theta is None and not eval_gradient:
            return self.log_marginal_likelihood_
        if isinstance(self.expansion_, FeatureExpansion):
            raise CapabilityError(
                "log_marginal_likelihood was asked for after a fit with gram=Features(), which keeps no training "
                "samples. Use gram=Dense(), or log_marginal_likelihood_, which is that of the fitted parameters."
            )
        theta = self.theta_ if theta is None else real_numbers(theta, "theta")
        kernel = constrained(self.kernel_, theta[:-1])
        noise = np.exp(theta[-1]) * (np.asarray(self.noise_) if np.ndim(self.noise_) else 1.0)
        observed = Observations(self.expansion_.samples, self.y_train_, self.sample_weight_, self.border_)
        found = self._evidence_form(kernel, observed)(kernel, np.asarray(noise), slopes=eval_gradient)
        if not eval_gradient:
            return found.value
        return found.value, np.append(
            chain(kernel, found.kernel), found.noise @ np.broadcast_to(noise, self.sample_weight_.shape)
        )
