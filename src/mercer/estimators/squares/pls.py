r"""Kernel partial least squares: regression on few directions, those of largest covariance with the target.

Symbols: K the Gram matrix, centred; T scores, R their directions with T = K R; w_i sample weights.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, MultiOutputMixin, RegressorMixin, TransformerMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from mercer.arrays import Bools, Floats, Indices
from mercer.budget import Plan
from mercer.constraints import AnyOf, InstanceOf, Integer, Interval, OneOf, Optional, Several
from mercer.domains import Samples
from mercer.errors import CapabilityError, ParameterError, warn_caller
from mercer.estimators.estimator import KernelEstimator, scattered
from mercer.estimators.fits import Run, fitting
from mercer.gram import Expansion, FeatureExpansion, Gram, GramSpec
from mercer.kernels.kernel import overflow_error
from mercer.problems import Solution, Status, Trace
from mercer.runtime.tiling import in_background
from mercer.solvers.linear.krylov_pls import Centring, Components, degrees_of_freedom, lanczos, nipals
from mercer.solvers.sparse.design import power_of_two
from mercer.targets import Real

__all__ = ["KernelPLS"]
__public__ = __all__


class KernelPLS(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, MultiOutputMixin, RegressorMixin, KernelEstimator
):  # fmt: skip
    r"""Kernel partial least squares: least squares on m directions in feature space, each of largest covariance with y.

    .. math:: \min_f \sum_i w_i (y_i - f(x_i))^2, \qquad f - b \in \mathrm{span}\{t_1, \dots, t_m\}

    For one target the span is the Krylov space of :math:`K y, \dots, K^m y`; the components regularise, instead of a
    penalty.

    Seed: [KIKS] Section 4.1.2; [ST] "Subspace methods". The printed span and system of [KIKS] are corrected, see
    `lanczos`.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples.
    n_components : int, "dof" or "cv", default 2
        m. "dof": the number with the best ``criterion``, computed from the degrees of freedom (one target, no sparsity;
        needs the eigenvalues of K). "cv": the number with the smallest squared error in cross-validation.
    algorithm : {"nipals", "krylov"}, default "nipals"
        "nipals" for any number of targets; "krylov" is the Lanczos process, for one. For one target they give the same.
    max_components : int, default 10
        Most components that "dof" and "cv" look at.
    criterion : {"gcv", "bic", "aic"}, default "bic"
        For "dof": generalised cross-validation, or the Bayesian or Akaike's information criterion.
    cv : int, cross-validator or list of (train, test), default 5
        Folds of "cv"; a number shuffles the samples.
    sparsity : {None, "epsilon", "threshold", "landmarks"}, default None
        None: all samples have a coefficient. "epsilon": residuals within ``epsilon`` are ignored when a direction is
        found (the squared epsilon-insensitive loss). "threshold": of the coefficients of a direction those below
        ``threshold`` times the largest are set to zero. "landmarks": directions are combinations of ``n_landmarks``
        samples drawn at random.
    epsilon : float, default 0.1
        In the unit of y. Non-negative; 0 is without sparsity.
    threshold : float, default 0.1
        Between 0, which is without sparsity, and 1.
    n_landmarks : int, default 100
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held; products are all that is needed, so ``Tiles()`` works for any n.
    random_state : int, RandomState or None, default None
        Seed of folds and landmarks; None is 0.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    n_components_ : int
        Components in use: fewer than asked for where no more exist.
    x_scores_ : (n, m) array
        t at the training samples: the weighted sum of squares of each is 1.
    y_loadings_ : (k, m) array
    dual_coef_ : (n,) or (n, k) array
        Coefficients of the training samples; they sum to zero, except for landmarks.
    intercept_ : float or (k,) array
    support_ : (s,) array
        Samples with a coefficient, for any output.
    expansion_ : Expansion or FeatureExpansion
        f.
    projections_ : Expansion or FeatureExpansion
        The scores as functions.
    criterion_values_ : (max,) array
        Criterion of "dof" and "cv", for 1, 2, ... components.
    degrees_of_freedom_ : (max,) array
        For "dof".
    kernel_, gram_ : the objects that None was resolved to
    solution_ : Solution
        Its residual is the share of y, by length, that is not fitted.

    Notes
    -----
    A sample of weight w counts as w copies; in cross-validation it is left out with its whole weight, and landmarks are
    drawn whatever the weights. One product with
    K for each component. When time runs out, the components found so far are used.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPLS
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = KernelPLS(Gaussian(1.0), n_components=6).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.5]]).round(2), model.transform([[1.5]]).shape
    (array([1.]), (1, 6))
    """

    constraints = {
        "n_components": AnyOf(Integer(1), OneOf("dof", "cv")),
        "algorithm": OneOf("nipals", "krylov"),
        "max_components": Integer(1),
        "criterion": OneOf("gcv", "bic", "aic"),
        "cv": AnyOf(Integer(2), InstanceOf(BaseCrossValidator), Several(list, tuple)),
        "sparsity": OneOf(None, "epsilon", "threshold", "landmarks"),
        "epsilon": Interval(0.0, np.inf, closed="left"),
        "threshold": Interval(0.0, 1.0, closed="left"),
        "n_landmarks": Integer(1),
        "random_state": Optional(AnyOf(Integer(0), InstanceOf(np.random.RandomState))),
    }
    highest_order = 1

    def __init__(
        self,
        kernel: Any = None,
        n_components: int | str = 2,
        *,
        algorithm: str = "nipals",
        max_components: int = 10,
        criterion: str = "bic",
        cv: Any = 5,
        sparsity: str | None = None,
        epsilon: float = 0.1,
        threshold: float = 0.1,
        n_landmarks: int = 100,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        random_state: Any = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.algorithm = algorithm
        self.max_components = max_components
        self.criterion = criterion
        self.cv = cv
        self.sparsity = sparsity
        self.epsilon = epsilon
        self.threshold = threshold
        self.n_landmarks = n_landmarks
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.random_state = random_state
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelPLS:
        """Find the components and the regression on them.

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
            table = values.reshape(len(values), -1)
            self._check_combination(table.shape[1])
            self.kernel_ = kernel.learn(S, values, w)
            rng = check_random_state(0 if self.random_state is None else self.random_state)
            K = self._represent(self.kernel_, S, run)
            if self.sparsity == "landmarks":
                K = _Landmarks(K, np.sort(rng.permutation(len(S))[: self.n_landmarks]))
            outs = self._folds(rng, len(packed), used) if self.n_components == "cv" else []
            count = self._count(K, table, w, outs, run)
            self._keep(K, table, w, count, run)
            self._spread(values, used, len(packed))
        return self

    def predict(self, X: Any) -> Floats:
        """Return the fitted function at new data, shape (m,) or (m, k)."""
        values = self._evaluate(X)
        return self.target_.decode(values)

    def transform(self, X: Any) -> Floats:
        """Return the scores of new data, shape (m, n_components_)."""
        T = self._pack_new(X)
        return self._finite(self.projections_(T, self._resources()))

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    # steps --------------------------------------------------------------------------------------------

    def _check_combination(self, targets: int) -> None:
        """Raise for options that do not go together."""
        pairs = isinstance(self.cv, (list, tuple))
        if pairs and not all(isinstance(one, (list, tuple)) and len(one) == 2 for one in self.cv):
            raise ParameterError(
                f"cv={self.cv!r} was given; a number of folds, a cross-validator, or a list of pairs (train, test) is "
                "accepted. Write for example cv=5."
            )
        if self.algorithm == "krylov" and targets > 1:
            raise CapabilityError(
                f"algorithm='krylov' was given with {targets} targets; the Krylov form is of one target. "
                "Use algorithm='nipals', or fit each target by itself."
            )
        if self.algorithm == "krylov" and self.sparsity in ("epsilon", "threshold"):
            raise ParameterError(
                f"sparsity={self.sparsity!r} was given with algorithm='krylov', whose directions follow from the first "
                "one; None and 'landmarks' are accepted. Use algorithm='nipals'."
            )
        if self.n_components == "dof" and (targets > 1 or self.sparsity in ("epsilon", "threshold")):
            raise CapabilityError(
                f"n_components='dof' was given with {targets} targets and sparsity={self.sparsity!r}; degrees of "
                "freedom are known for one target, and sparsity None or 'landmarks'. Use n_components='cv'."
            )

    def _components(self, operator: Centring, Y: Floats, count: int, monitor: Any = None) -> Components:
        """Find components by the algorithm and the sparsity asked for."""
        if self.algorithm == "krylov":
            return lanczos(operator, Y, count, monitor)
        root = operator.root

        def thin(u: Floats) -> Floats:
            return root * self._thinned(np.divide(u, root, out=np.zeros_like(u), where=root > 0.0), operator.weight)

        return nipals(operator, Y, count, thin if self.sparsity in ("epsilon", "threshold") else None, monitor)

    def _thinned(self, e: Floats, w: Floats) -> Floats:
        """Make residuals sparse; what remains sums to zero, so that centring does not fill it again."""
        if self.sparsity == "epsilon":
            kept = np.sign(e) * np.maximum(np.abs(e) - self.epsilon / self._unit, 0.0)
        else:
            kept = np.where(np.abs(e) >= self.threshold * np.max(np.abs(e), initial=0.0), e, 0.0)
        mass = w * (kept != 0.0)
        return np.where(mass > 0.0, kept - (mass @ kept) / mass.sum(), 0.0) if mass.any() else kept

    def _folds(self, rng: Any, n: int, used: Indices) -> list[Bools]:
        """Return for each fold which of the samples in use are left out; folds without any, or with all, are passed."""
        if isinstance(self.cv, (int, np.integer)):
            place = rng.permutation(len(used)) % self.cv
            outs = [place == fold for fold in range(self.cv)]
        else:
            splits = self.cv.split(np.zeros((n, 1))) if isinstance(self.cv, BaseCrossValidator) else self.cv
            outs = [np.isin(used, np.asarray(test)) for _, test in splits]
        return [out for out in outs if 0 < np.count_nonzero(out) < len(used)]

    def _count(self, K: Any, table: Floats, w: Floats, outs: list[Bools], run: Run) -> int:
        """Return how many components to look for."""
        self._unit = power_of_two(table)
        if not isinstance(self.n_components, str):
            return self.n_components
        with run.stage("choice of the number of components", 0.8):
            if self.n_components == "dof":
                values = self._by_degrees(K, table / self._unit, w, run)
            else:
                values = self._by_folds(K, table / self._unit, w, outs, run)
        with np.errstate(over="ignore"):
            self.criterion_values_ = values * self._unit**2
        return 1 + int(np.argmin(values)) if len(values) else 1

    def _by_degrees(self, K: Any, table: Floats, w: Floats, run: Run) -> Floats:
        """Return the criterion for each number of components, from their degrees of freedom."""
        operator = Centring(K, w)
        n, total = len(w), operator.total
        Plan("the eigenvalues of K", {"K and eigenvectors": 24 * n * n}, ("n_components='cv'",)).require(self.memory)
        dense = operator @ np.eye(n)
        eigenvalues, V = in_background(np.linalg.eigh, 0.5 * (dense + dense.T), work=9.0 * n**3, deadline=run.deadline)
        y, _ = operator.centred(table)
        dof, rest = degrees_of_freedom(np.maximum(eigenvalues, 0.0), V.T @ y[:, 0], self.max_components)
        self.degrees_of_freedom_ = dof
        free = np.maximum(total - dof, 0.0)
        with np.errstate(divide="ignore"):
            if self.criterion == "gcv":
                return np.where(free > 0.0, total * rest / free**2, np.inf)
            price = np.log(total) if self.criterion == "bic" else 2.0
            return np.where(free > 0.0, rest / total * (1.0 + price * dof / free), np.inf)

    def _by_folds(self, K: Any, table: Floats, w: Floats, outs: list[Bools], run: Run) -> Floats:
        """Return the squared error in cross-validation for each number of components."""
        errors = np.zeros(self.max_components)
        for fold, out in enumerate(outs, 1):
            operator = Centring(K, np.where(out, 0.0, w))  # a sample of weight zero is left out
            Y, mean = operator.centred(table)
            found = self._components(operator, Y, self.max_components)
            scores = operator.function(found.directions)
            scores = (scores - operator.mean(scores))[out]
            left = table[out] - mean
            for m in range(self.max_components):
                if m < scores.shape[1]:
                    left = left - np.outer(scores[:, m], found.loadings[m])
                errors[m] += float(w[out] @ np.sum(left * left, axis=1))
            if run.monitor(fold / len(outs)):
                raise TimeoutError
        tested = float(sum(w[out].sum() for out in outs)) or 1.0
        return errors / tested / table.shape[1]

    def _keep(self, K: Any, table: Floats, w: Floats, count: int, run: Run) -> None:
        """Find the components and store the functions."""
        operator = Centring(K, w)
        Y, mean = operator.centred(table / self._unit)
        with run.stage("components", 0.95):
            found = self._components(operator, Y, count, self._watch(count, run))
        if not np.isfinite(found.scores).all():
            raise overflow_error(self.kernel_)
        directions = operator.root[:, None] * found.directions
        directions -= w[:, None] * (directions.sum(axis=0) / operator.total)
        if self.sparsity in ("epsilon", "threshold"):
            directions[~found.directions.any(axis=1)] = 0.0  # the sums are zero up to rounding
        values = np.asarray(K @ directions)
        shift = operator.mean(values)
        coef = self._unit * (directions @ found.loadings)
        self.projections_ = _expanded(K, directions, -shift)
        self.intercept_ = self._unit * (mean - shift @ found.loadings)
        self.x_scores_ = values - shift
        self.y_loadings_ = np.ascontiguousarray(self._unit * found.loadings.T)
        self.n_components_ = found.scores.shape[1]
        rest = float(np.linalg.norm(Y - found.scores @ found.loadings)) / (float(np.linalg.norm(Y)) or 1.0)
        self.solution_ = Solution(coef, found.status, rest, trace=Trace.of([(rest, rest, run.clock.seconds)]))
        self.expansion_ = _expanded(K, coef, self.intercept_)
        if isinstance(K, _Landmarks):
            self.solution_ = dataclasses.replace(self.solution_, coef=K.scattered(coef))
        if found.status is not Status.CONVERGED:
            warn_caller(
                f"KernelPLS stopped after {self.n_components_} of {count} components; {rest:.3g} of y is not fitted. "
                f"{found.status.value}",
                ConvergenceWarning,
            )

    def _watch(self, count: int, run: Run) -> Any:
        """Return a monitor that counts components."""
        if not run.watched:
            return None

        def monitor(done: int, rest: float) -> bool | Status:
            stop = run.monitor(done / count)
            return (Status.STOPPED if run.asked_to_stop else Status.TIME) if stop else False

        return monitor

    def _spread(self, values: Floats, used: Indices, n: int) -> None:
        """Bring what is stored into the shape of y and the order of all samples."""
        flat = values.ndim == 1
        coef = self.solution_.coef
        self.dual_coef_ = scattered(coef[:, 0] if flat else coef, used, n)
        self.support_ = used[np.flatnonzero(coef.any(axis=1))]
        self.x_scores_ = self.x_scores_ if len(used) == n else self._all_scores(used, n)
        if flat:
            self.intercept_ = self.intercept_[0]
        del self._unit

    def _all_scores(self, used: Indices, n: int) -> Floats:
        """Return the scores at all places; those of samples of weight zero are NaN, since they were left out."""
        found = np.full((n, self.n_components_), np.nan)
        found[used] = self.x_scores_
        return found


class _Landmarks:
    """K through some of its columns: the Gram matrix of features projected to the span of the landmarks."""

    def __init__(self, K: Gram, index: Indices) -> None:
        self.gram, self.index = K, index
        units = np.zeros((K.shape[0], len(index)))
        units[index, np.arange(len(index))] = 1.0
        cross = np.asarray(K @ units)
        values, V = np.linalg.eigh(cross[index])
        kept = values > 1e-13 * len(index) * max(float(values[-1]), 0.0)
        self.root = V[:, kept] / np.sqrt(values[kept])
        self.factor = cross @ self.root

    @property
    def samples(self) -> Samples:
        return self.gram.samples.take(self.index)

    def __matmul__(self, V: Floats) -> Floats:
        return self.factor @ (self.factor.T @ V)

    def expand(self, coef: Floats, intercept: Any) -> Expansion:
        """Return the function in the landmarks alone."""
        inner = self.scattered(coef)[self.index]
        return Expansion(self.gram.kernel, self.samples.landmarks(), inner, np.asarray(intercept, dtype=float))

    def scattered(self, coef: Floats) -> Floats:
        """Return coefficients of the landmarks at their places among all samples, zero elsewhere."""
        out = np.zeros_like(coef)
        out[self.index] = self.root @ (self.factor.T @ coef)
        return out


def _expanded(K: Any, coef: Floats, intercept: Any) -> Expansion | FeatureExpansion:
    """Return functions with coefficients (n, m)."""
    if isinstance(K, _Landmarks):
        return K.expand(coef, intercept)
    return K.expand(Solution(coef, Status.CONVERGED, 0.0), intercept)
