r"""Gaussian process classification: latent functions with a Gaussian prior, and classes that depend on them.

Symbols: n samples with weights w_i, c classes, f latent functions, K their prior covariance at the samples, a the
coefficients of their posterior means. With a Gram of low rank K = F F^T, and all is done in the r coordinates of F.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array, Floats, Indices
from mercer.budget import Plan, Resources
from mercer.constraints import AnyOf, InstanceOf, Integer, OneOf, Optional, Positive
from mercer.domains import Samples
from mercer.errors import CapabilityError, DomainError, ParameterError, warn_caller
from mercer.estimators.certificates.certified import Certified
from mercer.estimators.estimator import KernelEstimator, unwatched
from mercer.estimators.fits import Run, fitting
from mercer.estimators.processes.expectation_propagation import expectation_propagation, propagation_weights
from mercer.estimators.processes.factor_posterior import Factored, FactorWay, Propagated, Softmax, TwoClasses
from mercer.estimators.processes.laplace import laplace, laplace_weights
from mercer.estimators.processes.posterior import LatentPosterior, SoftmaxPosterior, latent_bounds
from mercer.estimators.processes.probability_averages import logistic_average, probit_average, softmax_average
from mercer.estimators.processes.process_search import Coordinates, Remembering, curvature, descend, few_parameters
from mercer.estimators.processes.softmax_laplace import softmax_laplace, softmax_weights
from mercer.gram import (
    Dense,
    Expansion,
    Gram,
    GramSpec,
    IncompleteCholesky,
    Nystrom,
    RandomFeatures,
    SparseGreedy,
)
from mercer.gram.gram import HasFactor, has_features, is_approximate_factor, is_low_rank, is_stored, is_streamed
from mercer.kernels import Gaussian, Kernel, Scaled
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import fill, offers, pull
from mercer.kernels.protocols import Differentiable
from mercer.problems import Status
from mercer.runtime.tiling import spans
from mercer.selection.hyperparameters import Search, Tuned, tune
from mercer.spec import free_names
from mercer.targets import Multiclass
from mercer.targets.target import class_weights

__all__ = ["GaussianProcessClassifier", "LatentPosterior", "SoftmaxPosterior"]
__public__ = ["GaussianProcessClassifier"]

_PIECE = 256  # new samples at a time
_MANY = 500  # samples from which on a search begins with a quarter of them
_FEW = 10  # samples of a class that the quarter must have
_ROUGH = 1e-3  # tolerance of the search on the quarter
_BETWEEN = 1e-5  # tolerance of modes during the search, whose error in the evidence is its square
_LOW = Nystrom, IncompleteCholesky, SparseGreedy, RandomFeatures


class GaussianProcessClassifier(Certified, ClassifierMixin, KernelEstimator):
    r"""Gaussian process classifier: class probabilities averaged over all latent functions that fit the data.

    .. math:: p(y | x) = \int p(y | f(x)) \, p(f | x_1, y_1, \ldots, x_n, y_n) \, df, \qquad f \sim GP(0, k)

    For two classes p(y | f) = 1 / (1 + exp(-y f)) (logistic) or Phi(y f) (probit), for more the softmax of one
    function per class. The posterior is approximated by a Gaussian, and `fit` maximises the approximate evidence over
    the kernel's free parameters.

    Seed: [HSS] Eqs. (113)-(115), with (115) as 1/2 a'Ka - sum(a'Ke - log sum exp).

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        Covariance of each latent function, where the search starts. None is a Gaussian at the median distance between
        training samples times a free scale that starts at 1.
    method : {"laplace", "ep"}, default "laplace"
        Laplace's approximation at the mode, or expectation propagation, which is closer to the exact posterior and
        some times slower.
    link : {"logistic", "probit"}, optional
        None is "logistic" for Laplace and "probit" for expectation propagation, the only one that it has.
    multi_class : {"softmax", "ovr"}, optional
        For more than two classes: one joint model, or each class against the rest with probabilities divided by their
        sum. None is "softmax" where it exists, for Laplace with the logistic link, else "ovr". All functions share
        one kernel.
    fixed : tuple of str, or "all", default ()
        Free parameters of the kernel that are held, by the names of `mercer.free_parameters.free_names`.
    bounds : mapping of name to (low, high), optional
        Bounds of free parameters; others stay within a factor of 1e5 of their start.
    restarts : int, default 0
        Further starts of the search.
    class_weight : dict or "balanced", optional
        Factors of the weights of each class.
    gram : GramSpec, optional
        None is `Dense`: K whole, as for `Tiles`, because an exact posterior is itself an n x n array. Of low rank, as
        `Nystrom`, `IncompleteCholesky`, `SparseGreedy`, `RandomFeatures` and `Features`, K = F F^T is the covariance of
        a model with r weights, and no n x n array is formed; landmarks stay those that were found where the search
        starts.
    max_iter : int, default 200
        Steps of each search.
    tol : float, default 1e-4
        A search ends when the largest derivative in coordinates is below tol.
    random_state : int, RandomState or None, default 0
        Seed of the restarts, and of the quarter of many samples with which a search begins; not of the `gram`.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`. The time is checked between evaluations of the evidence.

    Attributes
    ----------
    classes_ : (c,) array
    kernel_ : Kernel
        With the parameters that were found.
    log_marginal_likelihood_ : float
        Approximate logarithm of the evidence; with "ovr" the sum over the classes.
    expansion_ : Expansion or FeatureExpansion
        Posterior mean of the latent function, or of one per class.
    posterior_ : LatentPosterior, SoftmaxPosterior or CoordinatePosterior
        What variances are computed from, 8 n^2 bytes per function, or 8 r^2; of softmax 8 c^2 r^2.
    gram_ : GramSpec
        What None was resolved to; after a search with landmarks `Nystrom` with their places among the samples of
        positive weight.
    tuned_ : Tuned or None
        The search: path of the parameters, evidence along it. None if nothing was to be chosen.
    n_iter_ : int
        Evaluations of the evidence.

    Notes
    -----
    A sample of weight w counts as w copies, in the evidence too; expectation propagation gives each copy its own site.
    Probabilities: for the logistic link by quadrature exact to 1e-10, for probit in closed form, for softmax by a
    fixed lattice of points, to about 1e-3. Cost O(n^3) for each evaluation of the evidence, c times that for
    softmax, in two n x n arrays, c + 2 for softmax; mode and sites of the evaluation before are where the next starts.
    With a Gram of rank r O(n r^2 + r^3) in O(r^2) numbers and a factor of n r that is held if it fits, c^2 times that
    for softmax, where c r may be 5000; four evaluations for the derivative in each parameter, by differences. New
    samples have the variance k(x, x) before classes are seen, whatever of it the r coordinates express.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GaussianProcessClassifier
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(-3, 3, 30)[:, None]
    >>> model = GaussianProcessClassifier(1.0 * Gaussian(1.0)).fit(X, X[:, 0] > 0)
    >>> model.predict([[-1.0], [1.0]])
    array([False,  True])
    >>> model.predict_proba([[0.0], [100.0]]).round(2)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """

    policies = ()
    own_bounds = 1
    constraints = {
        "method": OneOf("laplace", "ep"),
        "link": Optional(OneOf("logistic", "probit")),
        "multi_class": Optional(OneOf("softmax", "ovr")),
        "restarts": Integer(0),
        "class_weight": Optional(AnyOf(OneOf("balanced"), InstanceOf(dict))),
        "max_iter": Integer(1),
        "tol": Positive(),
    }

    def __init__(
        self,
        kernel: Any = None,
        *,
        method: str = "laplace",
        link: str | None = None,
        multi_class: str | None = None,
        fixed: Sequence[str] | str = (),
        bounds: Mapping[str, tuple[float, float]] | None = None,
        restarts: int = 0,
        class_weight: Any = None,
        gram: GramSpec | None = None,
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: Any = 0,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.method = method
        self.link = link
        self.multi_class = multi_class
        self.fixed = fixed
        self.bounds = bounds
        self.restarts = restarts
        self.class_weight = class_weight
        self.gram = gram
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    # fit ----------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GaussianProcessClassifier:
        """Choose the kernel's parameters by the evidence, and condition the latent functions on training data.

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
        with fitting(self, X, y, sample_weight, Multiclass()) as (run, kernel, _, S, codes, w, _):
            self.class_weight_ = class_weights(self.class_weight, self.classes_, codes, w)
            self._require_plan(kernel, S, len(self.classes_))
            start = kernel.learn(S, codes, w)
            way = self._evidence_form(start, S, codes, w * self.class_weight_[codes], run)
            self.kernel_ = self._search(way, start, run)
            with run.stage("posterior", 1.0):
                self._condition(way)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.method == "ep" and self.link == "logistic":
            raise ParameterError(
                "link='logistic' was given with method='ep'; expectation propagation has link='probit' only. Leave "
                "out link, or use method='laplace'."
            )
        if self.multi_class == "softmax" and (self.method == "ep" or self.link == "probit"):
            raise ParameterError(
                f"multi_class='softmax' was given with method={self.method!r} and link={self.link!r}; softmax goes "
                "with method='laplace' and link='logistic'. Use multi_class='ovr'."
            )
        if not isinstance(self.fixed, (str, tuple, list)) or (isinstance(self.fixed, str) and self.fixed != "all"):
            raise ParameterError(
                f"fixed={self.fixed!r} was given; it must be a tuple of names or 'all'. Write for example "
                "fixed=('scale',)."
            )

    def _default_kernel(self) -> Kernel:
        return Scaled(1.0, Gaussian("median"))

    def _gram_spec(self, kernel: Kernel, S: Samples) -> GramSpec:
        return Dense() if self.gram is None else super()._gram_spec(kernel, S)

    def _planned_gram(self, n_samples: int) -> GramSpec:
        return Dense() if self.gram is None else super()._planned_gram(n_samples)

    def _can_use(self, spec: GramSpec) -> bool:
        return (
            is_stored(spec) or has_features(spec) or is_approximate_factor(spec)
        )  # with `Tiles` the posterior would still be an n x n array

    def _is_logistic(self) -> bool:
        return self.method == "laplace" and self.link != "probit"

    def _is_softmax(self, count: int) -> bool:
        return count > 2 and self._is_logistic() and self.multi_class != "ovr"

    def _evidence_form(self, kernel: Kernel, S: Samples, codes: Indices, w: Floats, run: Run) -> Way:
        """Return how the evidence is computed, and remember the Gram."""
        count, resources = len(self.classes_), self._resources()
        link = None if self.method == "ep" else "logistic" if self._is_logistic() else "probit"
        signs = [np.where(codes == k, 1.0, -1.0) for k in (range(count) if count > 2 else (1,))]
        if not (is_stored(self._gram_spec(kernel, S)) or is_streamed(self._gram_spec(kernel, S))):
            K = self._represent(kernel, S, run, until=0.1)
            unwatched(K)
            if isinstance(K, HasFactor):
                parts = [Propagated(y, w) if link is None else TwoClasses(y, w, link) for y in signs]
                joint = [Softmax(codes, w, count)] if self._is_softmax(count) else parts
                return FactorWay(cast(Factored, K), self.gram_, joint, tuple(self.fixed), resources)
            self._require_exact(K)
            self._plan(self.gram_, kernel, len(S), getattr(S, "width", 1), count).require(self.memory)
        else:
            self.gram_ = self._chosen_spec(kernel, S, run)
        if self._is_softmax(count):
            return _Softmax(S, resources, codes, w, count)
        return _Separate(S, resources, np.array(signs), w, link)

    def _require_exact(self, K: Gram) -> None:
        """Raise CapabilityError unless K has been decided to be held whole."""
        if not (is_stored(self.gram_) or is_streamed(self.gram_)):
            raise CapabilityError(
                f"gram={self.gram!r} was given, which offers {type(K).__name__}; the posterior needs a factor, of K "
                "itself or of low rank. Use gram=None or Dense(), or Nystrom(rank), IncompleteCholesky(), "
                "SparseGreedy(), RandomFeatures(count) or Features()."
            )

    def _search(self, way: Way, kernel: Kernel, run: Run) -> Kernel:
        """Return the kernel of the largest evidence that was found."""
        self.tuned_: Tuned | None = None
        self.n_iter_ = 1
        names = free_names(kernel)
        if isinstance(self.fixed, str) or not names:
            return kernel
        if not offers(kernel, Differentiable) and not isinstance(way, FactorWay):
            raise CapabilityError(
                f"{kernel!r} has the free parameters {', '.join(names)} and no derivatives in them, by which they are "
                "chosen. Hold them with fixed='all'."
            )

        if isinstance(way, FactorWay):
            way.pin()
        with run.stage("evidence", 0.9):
            known = Remembering(_Evidence(way))
            begun, H = self._begun(way, kernel, run)
            descent = None
            if H is not None:
                at = Coordinates.of(begun, 1.0, (*self.fixed, "noise"))
                descent = descend(known, at, H, self.tol, run.solver_monitor(self.tol))
                begun = descent.kernel
            found = self._tune(known, begun, run, self.restarts, self.tol)
            self.tuned_ = found = found if descent is None else descent.followed_by(found)
        self.n_iter_ = found.evaluations
        if found.status is not Status.CONVERGED:
            warn_caller(
                f"The search for the largest evidence stopped after {len(found.values) - 1} steps at a slope of "
                f"{found.slope:.3g}. {found.status.value}",
                ConvergenceWarning,
            )
        return found.kernel

    def _tune(self, evidence: Any, kernel: Kernel, run: Run, restarts: int, tol: float) -> Tuned:
        def criterion(kernel: Kernel, beside: Mapping[str, Floats]) -> tuple[float, Floats, dict[str, Floats]]:
            found = evidence(kernel, np.ones(1))  # as `Coordinates` have it, so that what is known is recognised
            return -found.value, -found.kernel, {}

        return tune(
            criterion, kernel, fixed=tuple(self.fixed), bounds=self.bounds,
            search=Search(restarts, check_random_state(self.random_state), self.max_iter, tol),
            monitor=run.solver_monitor(tol),
        )  # fmt: skip

    def _begun(self, way: Way, kernel: Kernel, run: Run) -> tuple[Kernel, Floats | None]:
        """Return where the search on all samples begins, and second derivatives: of many, at the optimum of some.

        If that lies at an end of an interval, or there is none, or there are many parameters, the search begins where
        the user says; with a factor too, where an evaluation costs n only.
        """
        n = len(way.samples)
        if n < _MANY or self.bounds or isinstance(way, FactorWay) or not few_parameters(kernel, self.fixed):
            return kernel, None
        some = np.sort(check_random_state(self.random_state).permutation(n)[: n // 4])
        if way.fewest(some) < _FEW:
            return kernel, None
        part = way.part(some)
        small = Remembering(_Evidence(part))
        try:
            found = self._tune(small, kernel, run, 0, _ROUGH)
        except (ParameterError, DomainError):  # the evidence of so few has no value at the start
            return kernel, None
        if found.at_bounds or found.status is not Status.CONVERGED or not found.names:
            return kernel, None
        H = curvature(small, Coordinates.of(found.kernel, 1.0, (*self.fixed, "noise")))
        return found.kernel, H * float(way.weight.sum() / part.weight.sum())

    def _condition(self, way: Way) -> None:
        """Keep what predictions need."""
        self.expansion_, self.posterior_, self.log_marginal_likelihood_, residual = way.condition(self.kernel_)
        if isinstance(way, FactorWay) and way.spec != self.gram_:  # it was rebuilt, with the landmarks of the start
            self.gram_, K = way.spec, way.build(self.kernel_)
            if is_low_rank(K):
                self.residual_trace_, self.gram_error_ = float(K.residual.trace), float(K.residual.entries)
        if residual > way.enough:
            warn_caller(
                f"The approximation of the posterior by method={self.method!r} has not settled: its residual is "
                f"{residual:.3g}. Scale the kernel down, use fewer repeated samples of weight above one, or another "
                "method.",
                ConvergenceWarning,
            )

    # use ----------------------------------------------------------------------------------------------

    def _moments(self, X: Any, summary: Callable[[Floats, Floats], Any]) -> list[Any]:
        """Return a summary of the latent moments of each piece of new data."""
        T = self._pack_new(X)
        function, resources = self.expansion_, self._resources()
        return [summary(*self.posterior_.moments(function, T[rows], resources)) for rows in spans(len(T), _PIECE)]

    def predict_latent(self, X: Any) -> tuple[Floats, Floats]:
        """Return mean and variance of the latent function, (m,) each, or of one per class, (m, c) each."""
        check_is_fitted(self)
        count = 1 if len(self.classes_) == 2 else len(self.classes_)

        def summary(mean: Floats, spread: Floats) -> tuple[Floats, Floats]:
            return mean, np.einsum("icc->ic", spread) if spread.ndim == 3 else spread

        parts = self._moments(X, summary)
        mean, variance = (np.concatenate([np.zeros((0, count)), *(part[k] for part in parts)]) for k in (0, 1))
        return (mean[:, 0], variance[:, 0]) if count == 1 else (mean, variance)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, averaged over the latent functions, shape (m, c)."""
        check_is_fitted(self)
        parts = self._moments(X, self._probabilities)
        return np.concatenate([np.zeros((0, len(self.classes_))), *parts])

    def _probabilities(self, mean: Floats, spread: Floats) -> Floats:
        if spread.ndim == 3:
            return softmax_average(mean, spread)
        P = (logistic_average if self._is_logistic() else probit_average)(mean, spread)
        return np.hstack([1.0 - P, P]) if P.shape[1] == 1 else P / P.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> Array:
        """Return the most probable class of new data, shape (m,)."""
        check_is_fitted(self)
        if len(self.classes_) == 2:  # by symmetry of the link the mean alone decides
            return self.classes_[(self._evaluate(X) > 0.0).astype(np.intp)]
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def _own_bounds(self, X: Any, sign: Floats, asked: Any) -> list[Any]:
        return latent_bounds(self, X, sign, asked)

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes; `n_targets` is the number of classes."""
        kernel = self._known_kernel(self._default_kernel)
        return self._plan(self._planned_gram(n_samples), kernel, n_samples, n_features, max(n_targets, 2))

    def _plan(self, spec: GramSpec, kernel: Kernel, n: int, width: int, count: int) -> Plan:
        square, functions = 8 * n * n, count if count > 2 else 1
        what, joint = f"{type(self).__name__} on {n} samples of {count} classes", self._is_softmax(count)
        own = {"packed samples": 8 * n * width, "latent functions": 8 * n * 12 * functions}
        if has_features(spec) or is_approximate_factor(spec):
            rank = getattr(spec, "count", min(getattr(spec, "rank", width), n))
            size = 8 * rank * rank * (4 * functions**2 if joint else functions + 3)
            own["blocks of rows"] = 24 * min(n, 4096) * rank
            # features are known, and their bytes asked for, once there is a kernel that has learned
            held = {} if has_features(spec) else spec.plan(kernel, n, width, self.memory).buffers
            options = ("a smaller rank", *(("multi_class='ovr'",) if joint else ()))
            return Plan(what, {**own, **held, "posterior covariances": size}, options)
        inner = {"E of each class": functions * square, "their sum": square}
        separate = {"factors": functions * square, **({"derivative": square} if functions > 1 else {})}
        return Plan(
            what,
            {**own, "Gram matrix": square, **(inner if joint else separate)},
            ("gram=Nystrom(500), of low rank", "fewer samples", "KernelLogisticRegression(), which needs no variances"),
        )


class _Evidence:
    """The log evidence as the search asks for it: with a noise, which classes do not have."""

    def __init__(self, way: Way) -> None:
        self.way = way

    def __call__(self, kernel: Kernel, noise: Floats, *, slopes: bool = True) -> Any:
        try:
            value, derivatives = self.way.evidence(kernel)
        except DomainError as error:  # values beyond the range of numbers: a wall, unless it is the start
            if not self.way.evaluations:
                raise
            raise np.linalg.LinAlgError(str(error)) from None
        return SimpleNamespace(value=value, kernel=derivatives, noise=np.zeros(1))


class _Way:
    """The evidence of classes under a kernel, computed again and again in the same memory."""

    def __init__(self, samples: Samples, resources: Resources) -> None:
        self.samples, self.resources = samples, resources
        self.K = np.empty((len(samples), len(samples)))
        self.evaluations = 0

    def fill(self, kernel: Kernel) -> Samples:
        """Compute K; return the prepared samples."""
        S = kernel.prepare(self.samples)
        fill(kernel, Comparison(kernel, S, S, np.float64), self.K, n_threads=self.resources.n_threads)
        return S

    def function(self, kernel: Kernel, coef: Floats) -> Expansion:
        """Return the latent functions of given coefficients."""
        return Expansion(kernel, kernel.prepare(self.samples).landmarks(), coef, np.asarray(0.0))

    def pulled(self, kernel: Kernel, S: Samples, G: Floats) -> Floats:
        """Return the derivatives in the kernel's parameters from those in the entries of K."""

        def weights(rows: slice, columns: slice) -> Floats:
            return G[rows, columns] if rows == columns else 2.0 * G[rows, columns]

        self.evaluations += 1
        return pull(kernel, S, S, weights, n_threads=self.resources.n_threads)


class _Separate(_Way):
    """One or several problems of two classes that share a kernel."""

    def __init__(self, samples: Samples, resources: Resources, signs: Floats, weight: Floats, link: str | None) -> None:
        super().__init__(samples, resources)
        self.signs, self.weight, self.link = signs, weight, link
        self.starts: list[Any] = [None] * len(signs)
        self.buffer = np.empty(self.K.shape)
        self.enough = 1e-4

    def _found(self, k: int, out: Floats, **options: float) -> Any:
        y, start = self.signs[k], self.starts[k]
        if self.link is None:
            found = expectation_propagation(self.K, y, self.weight, start=start, out=out)
            self.starts[k] = found.precision, found.shift
        else:
            found = laplace(self.K, y, self.weight, self.link, start=start, out=out, **options)
            self.starts[k] = found.latent
        return found

    def part(self, index: Indices) -> _Separate:
        """Return the same for some of the samples."""
        samples = self.samples.take(index)
        return _Separate(samples, self.resources, self.signs[:, index], self.weight[index], self.link)

    def fewest(self, index: Indices) -> int:
        """Return how many of some samples are in the smallest class of any problem."""
        positive = np.count_nonzero(self.signs[:, index] > 0, axis=1)
        return int(np.minimum(positive, len(index) - positive).min())

    def evidence(self, kernel: Kernel) -> tuple[float, Floats]:
        """Return the log evidence and its derivatives."""
        S, value, G = self.fill(kernel), 0.0, None
        between = {} if self.link is None else {"tol": _BETWEEN}
        for k in range(len(self.signs)):
            found = self._found(k, self.buffer, **between)
            value += found.evidence
            part = propagation_weights(found) if self.link is None else laplace_weights(self.K, found)
            if len(self.signs) == 1:
                G = part
            elif G is None:
                G = part.copy()
            else:
                G += part
        assert G is not None
        return value, self.pulled(kernel, S, G)

    def condition(self, kernel: Kernel) -> tuple[Expansion, LatentPosterior, float, float]:
        """Return the function of the posterior means, posterior, log evidence and residual."""
        self.fill(kernel)
        factor = self.buffer[None] if len(self.signs) == 1 else np.empty((len(self.signs), *self.K.shape))
        found = [self._found(k, out) for k, out in enumerate(factor)]
        coef = np.stack([part.coef for part in found], axis=1)
        posterior = LatentPosterior(np.stack([part.root for part in found]), factor)
        value = float(sum(part.evidence for part in found))
        function = self.function(kernel, coef[:, 0] if len(found) == 1 else coef)
        return function, posterior, value, max(part.residual for part in found)


class _Softmax(_Way):
    """All classes together."""

    def __init__(self, samples: Samples, resources: Resources, codes: Indices, weight: Floats, count: int) -> None:
        super().__init__(samples, resources)
        self.codes, self.weight, self.count = codes, weight, count
        self.start: Floats | None = None
        self.buffers = np.empty((count, *self.K.shape)), np.empty(self.K.shape)
        self.enough = 1e-4

    def _found(self) -> Any:
        found = softmax_laplace(self.K, self.codes, self.weight, self.count, start=self.start, out=self.buffers)
        self.start = found.latent
        return found

    def part(self, index: Indices) -> _Softmax:
        """Return the same for some of the samples."""
        return _Softmax(self.samples.take(index), self.resources, self.codes[index], self.weight[index], self.count)

    def fewest(self, index: Indices) -> int:
        """Return how many of some samples are in the smallest class."""
        return int(np.bincount(self.codes[index], minlength=self.count).min())

    def evidence(self, kernel: Kernel) -> tuple[float, Floats]:
        """Return the log evidence and its derivatives."""
        S, found = self.fill(kernel), self._found()
        return found.evidence, self.pulled(kernel, S, softmax_weights(self.K, found))

    def condition(self, kernel: Kernel) -> tuple[Expansion, SoftmaxPosterior, float, float]:
        """Return the function of the posterior means, posterior, log evidence and residual."""
        self.fill(kernel)
        found = self._found()
        posterior = SoftmaxPosterior(self.buffers[0], found.coupling.array)
        return self.function(kernel, found.coef), posterior, found.evidence, found.residual


Way = _Softmax | _Separate | FactorWay
