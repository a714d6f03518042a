r"""Relevance vector machines: few kernels, each with a weight whose precision the evidence decides.

Symbols: phi(x) the values of the kernel at the relevance vectors (and 1 for the intercept), mu and Sigma mean and
covariance of the weights, R with Sigma = R^T R, alpha the precisions of their prior, sigma^2 the variance of the noise.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Array, Floats, Indices
from mercer.budget import Plan
from mercer.constraints import AnyOf, Boolean, InstanceOf, Integer, Interval, OneOf, Optional, Positive
from mercer.domains import Samples, Similarities, Vectors
from mercer.errors import TargetError, warn_caller
from mercer.estimators.estimator import KernelEstimator, unwatched
from mercer.estimators.fits import Run, Units, fitting
from mercer.gram import Expansion, Gram, GramSpec
from mercer.gram.gram import Cross, is_low_rank
from mercer.kernels import Kernel, Linear
from mercer.kernels.kernel import overflow_error
from mercer.problems import Solution, Status
from mercer.selection.sigmoid import normalize
from mercer.solvers.solver import Columns
from mercer.solvers.sparse.fixed_point_evidence import FixedPointEvidence
from mercer.solvers.sparse.incremental_evidence import IncrementalEvidence
from mercer.solvers.sparse.sparse_bayes import (
    Design,
    NormalMatrix,
    SparseClassification,
    SparseEvidence,
    SparsePosterior,
    SparseRegression,
)
from mercer.targets import Multiclass, Real
from mercer.targets.target import Reduction, class_weights

__all__ = ["RelevanceVectorClassifier", "RelevanceVectorRegressor"]
__public__ = __all__

_SMALLEST, _LARGEST = 1e-140, 1e140  # targets whose squares, times a few thousand, are in range
_ROWS = 4096  # new samples whose values at the relevance vectors are in memory at once


class RelevanceVectorMachine(KernelEstimator):
    """Base of relevance vector machines for regression and for classification."""

    algorithm: str
    fit_intercept: bool
    tol: float
    max_iter: int
    policies = ("reject",)
    constraints = {
        "algorithm": OneOf("fast", "plain"),
        "fit_intercept": Boolean(),
        "tol": Positive(),
        "max_iter": Integer(1),
    }

    # entry points -------------------------------------------------------------------------------------

    def _check_order(self, kernel: Kernel) -> None:
        """Accept every kernel: its values are basis functions, whatever matrix they make."""

    def _check_definite(self, S: Similarities) -> None:
        S.check_symmetric()

    # steps --------------------------------------------------------------------------------------------

    def _design(self, K: Gram) -> Design:
        """Return the columns of K, and the constant if there is an intercept, as basis functions."""
        if self.algorithm == "plain":
            n = K.shape[0]
            Plan(
                f"{type(self).__name__}(algorithm='plain') on {n} samples",
                {"normal matrix, its factor and a copy": 24 * n * n},
                ("algorithm='fast'",),
            ).require(self.memory)
        unwatched(K)  # the solver watches the time and returns its best
        return Design(K, self.fit_intercept)

    def _maximise(self, problem: SparseEvidence, run: Run, until: float) -> Solution:
        """Maximise the evidence; warns if the tolerance was not reached."""
        solver = (IncrementalEvidence if self.algorithm == "fast" else FixedPointEvidence)(self.tol, self.max_iter)
        with run.stage("evidence", until):
            solution = solver.solve(problem, monitor=run.solver_monitor(self.tol))
        if solution.status is not Status.CONVERGED:
            warn_caller(
                f"{type(solver).__name__} stopped at residual {solution.residual:.3g}. {solution.status.value}",
                ConvergenceWarning,
            )
        if not np.isfinite(solution.coef).all():
            raise overflow_error(self.kernel_)
        self.solver_ = solver
        return solution

    def _keep_vectors(self, K: Gram, chosen: Indices, used: Indices, coef: Floats, intercept: Any) -> None:
        """Store the fitted function and the samples it is made of."""
        vectors = K.samples.take(chosen)
        self.relevance_ = used[chosen]
        self.relevance_vectors_ = vectors.X if isinstance(vectors, Vectors) else vectors
        self.basis_ = None
        if is_low_rank(K):  # the basis functions are those of the approximate kernel
            F = K.take(chosen).factor()
            self.basis_ = K.function(F.T)
            self.expansion_ = K.function(F.T @ coef, intercept)
        else:
            self.expansion_ = Expansion(self.kernel_, vectors.landmarks(), coef, np.asarray(intercept, dtype=float))

    def _spread(self, T: Samples, roots: list[Floats]) -> Floats:
        """Return the variances of functions at packed samples, (m, L), each as a squared length."""
        basis = getattr(self, "basis_", None)
        samples: Any = getattr(self.expansion_, "samples", None)
        out = np.empty((len(T), len(roots)))
        start = 0
        for piece in T.tiles(_ROWS):
            if basis is not None:
                phi = basis(piece, self._resources())
            else:
                phi = Cross(self.kernel_, piece, samples, self._resources()).to_dense()
            phi = np.column_stack([phi, np.ones(len(piece))])
            for column, root in enumerate(roots):
                half = phi[:, : root.shape[1]] @ root.T
                out[start : start + len(piece), column] = np.einsum("ij,ij->i", half, half)
            start += len(piece)
        return out

    @property
    def coef_(self) -> Floats:
        """Weights of the columns; only for the linear kernel."""
        if not isinstance(getattr(self, "kernel_", None), Linear):
            raise AttributeError("coef_ exists only after fit with kernel=Linear()")
        function: Any = self.expansion_
        return np.asarray(function.samples.X.T @ function.coef).T

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        plan = super().memory_plan(n_samples, n_features, n_targets)
        fast = self.algorithm == "fast"
        own = {"working set": 8 * n_samples * 512} if fast else {"normal matrix": 24 * n_samples * n_samples}
        return Plan(plan.what, {**plan.buffers, **own}, plan.options)


class RelevanceVectorRegressor(RegressorMixin, RelevanceVectorMachine):
    r"""Relevance vector machine: regression on few kernels, with the noise and error bars from the evidence.

    .. math:: y_i = \sum_j v_j k(x_i, x_j) + v_0 + \varepsilon_i, \qquad v_j \sim \mathcal N(0, \alpha_j^{-1}), \quad
              \varepsilon_i \sim \mathcal N(0, \sigma^2)

    The precisions :math:`\alpha_j` and :math:`\sigma^2` maximise :math:`p(y \mid \alpha, \sigma^2)`; most precisions
    are then infinite, and the samples of the others are the relevance vectors.

    Seed: [KIKS] Section 4.1.5 and [44] there.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples. Any kernel on any domain; it need not be
        positive definite.
    algorithm : {"fast", "plain"}, default "fast"
        Grow the model one basis function at a time (`IncrementalEvidence`), or begin with all of them and update all
        precisions at once (`FixedPointEvidence`), in cubic time. Both end where no precision can be improved; the
        evidence has several such places.
    fit_intercept : bool, default True
        Whether the constant is a basis function too, with a precision of its own.
    normalize_y : bool or None, default None
        Whether the mean of y is taken away first and put back into the intercept, so that a y + b has the predictions
        a f + b. None does so where there is an intercept.
    noise : float, optional
        Variance of the noise, in the unit of y squared. None is found by the evidence.
    tol : float, default 1e-3
        Gain of log evidence below which nothing more is added; for "plain" the change of the logarithms of precisions.
    max_iter : int, default 1000
        Passes over all basis functions, or updates.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held; None chooses by `Auto`. With `Tiles` columns of K are computed when they are needed.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`. When time runs out, the best model so far is kept, with a warning.

    Attributes
    ----------
    relevance_ : (r,) array of int
        The samples that remain.
    relevance_vectors_ : (r, d) array or Samples
    dual_coef_ : (r,) array
        Posterior means of their weights.
    intercept_ : float
        The mean of y, and the weight of the constant where it has not been dropped.
    alpha_ : (r,) or (r + 1,) array
        Precisions of the weights, that of the intercept last if it has one.
    sigma_ : array
        Posterior covariance of the same weights.
    noise_ : float
        Variance of the noise; at least 1e-8 of the variance of y where it is found by the evidence.
    log_marginal_likelihood_ : float
    n_iter_ : int
    basis_ : Expansion, FeatureExpansion or None
        The basis functions of a Gram of low rank, which are not those of the kernel itself.
    expansion_, kernel_, gram_, solver_, solution_ : as in `KernelRidge`

    Notes
    -----
    A sample of weight w counts as w copies. Far from the relevance vectors the functions of a local kernel vanish, and
    the error bars shrink to the noise: this is a property of the model. Cost of "fast" O(n) kernel values for each of
    a few passes per 16 relevance vectors, and O(r^3) within them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import RelevanceVectorRegressor
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(-10, 10, 100)[:, None]
    >>> y = np.sinc(X[:, 0] / np.pi) + np.random.default_rng(0).normal(0, 0.1, 100)
    >>> model = RelevanceVectorRegressor(Gaussian(2.0)).fit(X, y)
    >>> len(model.relevance_) < 10, bool(abs(model.noise_ - 0.01) < 0.003)
    (True, True)
    """

    constraints = {"noise": Optional(Interval(1e-150, 1e150)), "normalize_y": Optional(Boolean())}

    def __init__(
        self,
        kernel: Any = None,
        *,
        algorithm: str = "fast",
        fit_intercept: bool = True,
        normalize_y: bool | None = None,
        noise: float | None = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.algorithm = algorithm
        self.fit_intercept = fit_intercept
        self.normalize_y = normalize_y
        self.noise = noise
        self.tol = tol
        self.max_iter = max_iter
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RelevanceVectorRegressor:
        """Fit the function and find the relevance vectors.

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
        with fitting(self, X, y, sample_weight, Real(several=False)) as (run, kernel, _, S, values, w, used):
            self.kernel_ = kernel.learn(S, values, w)
            K = self._represent(self.kernel_, S, run, until=0.3)
            design = self._design(K)
            centred = self.fit_intercept if self.normalize_y is None else self.normalize_y
            centre = float(Units.of(values[:, None], w, centred).mean[0])
            columns = Columns.of(values - centre)
            z, size = columns.values[:, 0], float(columns.scale[0])
            spread = float(np.sqrt(w @ z**2 / w.sum())) or 1.0  # the same numbers whatever the unit of y
            z, size = z / spread, size * spread
            if not _SMALLEST < size < _LARGEST:
                raise TargetError(
                    f"y has values up to {np.abs(values).max():.3g}, whose squares are beyond the range of "
                    "floating-point numbers; the variance of the noise is one of them. Scale y, for example by "
                    "its largest absolute value."
                )
            problem = SparseRegression(
                NormalMatrix(design, w), _finite(design.moments(w * z), self.kernel_), float(w @ z**2),
                float(w.sum()), None if self.noise is None else self.noise / size / size,
            )  # fmt: skip
            solution = self._maximise(problem, run, until=0.95)
            self._store(K, solution, used, size, centre, problem.count)
        return self

    def _store(
        self, K: Gram, solution: Solution, used: Indices, size: float, centre: float, count: float
    ) -> None:  # fmt: skip
        """Keep the posterior in the units of y."""
        found: SparsePosterior = solution.state
        vectors = found.index < len(used)
        mean = size * found.mean
        self.dual_coef_ = mean[vectors]
        self.intercept_ = centre + float(mean[~vectors].sum())
        self.alpha_ = found.alpha / size / size
        self.root_ = size * found.root
        self.sigma_ = self.root_.T @ self.root_
        self.noise_ = float(found.noise * size * size)
        self.log_marginal_likelihood_ = found.evidence - count * float(np.log(size))
        self.n_iter_ = len(solution.trace)
        self.solution_ = dataclasses.replace(solution, coef=size * solution.coef, state=None)
        self._keep_vectors(K, found.index[vectors], used, self.dual_coef_, self.intercept_)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the mean of the prediction at new data, (m,), and its standard deviation if asked for.

        Parameters
        ----------
        X : raw data or packed samples
        return_std : bool, default False
            Whether to return also the standard deviation of y: of the noise and of the function together.
        """
        T = self._pack_new(X)
        mean = self.target_.decode(self._evaluate(T))
        if not return_std:
            return mean
        return mean, np.sqrt(self.noise_ + self._spread(T, [self.root_])[:, 0])


class RelevanceVectorClassifier(ClassifierMixin, RelevanceVectorMachine):
    r"""Relevance vector machine for classes: few kernels, and probabilities that include the function's uncertainty.

    .. math:: p(t = 1 \mid x, v) = \frac{1}{1 + e^{-f(x)}}, \quad f(x) = \sum_j v_j k(x, x_j) + v_0, \qquad
              p(t = 1 \mid x) \approx \frac{1}{1 + e^{-\kappa f(x)}}, \quad
              \kappa = \bigl(1 + \tfrac{\pi}{8} \phi(x)^\top \Sigma \phi(x)\bigr)^{-1/2}

    with :math:`v_j \sim \mathcal N(0, \alpha_j^{-1})` and precisions that maximise Laplace's approximation to the
    evidence. Several classes: one machine for each against the rest, whose probabilities are scaled to sum to 1.

    Seed: [KIKS] Section 4.1.5, [25] and [44] there.

    Parameters
    ----------
    kernel, algorithm, fit_intercept, tol, max_iter, gamma, degree, coef0, gram, memory, max_time, n_threads
        As in `RelevanceVectorRegressor`.
    class_weight : dict, "balanced" or None, default None
        Multiplies the weights of the samples of a class.

    Attributes
    ----------
    classes_ : (c,) array
    relevance_ : (r,) array of int
        The samples that remain in one of the machines.
    relevance_vectors_ : (r, d) array or Samples
    dual_coef_ : (L, r) array
        Posterior modes of the weights; L = 1 for two classes, else c.
    intercept_ : (L,) array
    alpha_ : (L, r) or (L, r + 1) array
        Precisions, that of the intercept last if there is one; infinite for what is not part of a machine.
    sigma_ : (L, r, r) or (L, r + 1, r + 1) array
        Posterior covariances of the same weights.
    log_marginal_likelihood_ : float or (c,) array
        By Laplace's method.
    n_iter_ : int or (c,) array
    basis_ : Expansion, FeatureExpansion or None
        The basis functions of a Gram of low rank, which are not those of the kernel itself.
    expansion_, kernel_, gram_, solver_, solution_ : as in `KernelRidge`

    Notes
    -----
    A sample of weight w counts as w copies. `decision_function` is the logarithm of the odds, uncertainty included.

    Examples
    --------
    >>> from mercer import RelevanceVectorClassifier
    >>> from mercer.kernels import Gaussian
    >>> X = [[0.0], [0.5], [1.0], [4.0], [4.5], [5.0]]
    >>> model = RelevanceVectorClassifier(Gaussian(1.0)).fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> model.predict([[0.4], [4.4]])
    array(['a', 'b'], dtype='<U1')
    """

    constraints = {"class_weight": Optional(AnyOf(OneOf("balanced"), InstanceOf(dict)))}

    def __init__(
        self,
        kernel: Any = None,
        *,
        algorithm: str = "fast",
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.algorithm = algorithm
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RelevanceVectorClassifier:
        """Fit one machine for two classes, one for each class otherwise.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) array
            Class labels.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, Multiclass()) as (run, kernel, _, S, codes, w, used):
            factors = class_weights(self.class_weight, self.classes_, codes, w)
            self.kernel_ = kernel.learn(S, codes, w)
            K = self._represent(self.kernel_, S, run, until=0.2)
            design, w = self._design(K), w * factors[codes]
            sides = Reduction.of("ovr", len(self.classes_)).problems(codes)
            solutions = []
            for step, (_, sign) in enumerate(sides, 1):
                problem = SparseClassification(design, (sign > 0).astype(float), w)
                solutions.append(self._maximise(problem, run, 0.2 + 0.75 * step / len(sides)))
            self._store(K, solutions, used)
        return self

    def _store(self, K: Gram, solutions: list[Solution], used: Indices) -> None:
        """Keep the posteriors on the union of the relevance vectors."""
        n = len(used)
        found: list[SparsePosterior] = [solution.state for solution in solutions]
        union = np.unique(np.concatenate([one.index for one in found]))
        chosen = union[union < n]
        width = len(chosen) + int(self.fit_intercept)
        weights = np.zeros((len(found), width))
        self.alpha_ = np.full((len(found), width), np.inf)
        self.roots_ = []
        for machine, one in enumerate(found):
            places = np.where(one.index < n, np.searchsorted(chosen, one.index), len(chosen))
            weights[machine, places] = one.mean
            self.alpha_[machine, places] = one.alpha
            root = np.zeros((len(places), width))
            root[:, places] = one.root
            self.roots_.append(root)
        self.sigma_ = np.stack([root.T @ root for root in self.roots_])
        self.dual_coef_ = weights[:, : len(chosen)]
        self.intercept_ = weights[:, len(chosen) :].sum(axis=1)
        single = len(found) == 1
        evidence, passes = [one.evidence for one in found], [len(solution.trace) for solution in solutions]
        self.log_marginal_likelihood_ = evidence[0] if single else np.array(evidence)
        self.n_iter_ = passes[0] if single else np.array(passes)
        worst = max(solutions, key=lambda s: (s.status is not Status.CONVERGED, s.residual))
        self.solution_ = dataclasses.replace(worst, state=None)
        coef = self.dual_coef_[0] if single else np.ascontiguousarray(self.dual_coef_.T)
        self._keep_vectors(K, chosen, used, coef, self.intercept_[0] if single else self.intercept_)

    def decision_function(self, X: Any) -> Floats:
        """Return the log odds of the second class, (m,), or of each class against the rest, (m, c)."""
        T = self._pack_new(X)
        values = self._evaluate(T)
        kappa = 1.0 / np.sqrt(1.0 + np.pi / 8.0 * self._spread(T, self.roots_))
        return values * (kappa[:, 0] if values.ndim == 1 else kappa)

    def predict(self, X: Any) -> Array:
        """Return the most probable class of new data, (m,)."""
        values = self.decision_function(X)
        if values.ndim == 1:
            return self.classes_[(values > 0).astype(np.intp)]
        return self.target_.decode(values)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, (m, c)."""
        values = self.decision_function(X)
        if values.ndim == 1:
            return np.column_stack([expit(-values), expit(values)])
        return normalize(expit(values))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probabilities, (m, c)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


def _finite(values: Floats, kernel: Kernel) -> Floats:
    """Return finite values, or raise: the kernel has overflowed."""
    if not np.isfinite(values).all():
        raise overflow_error(kernel)
    return values
