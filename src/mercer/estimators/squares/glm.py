"""Kernel generalised linear models: counts, shares, positive numbers and grades as functions in a feature space.

Symbols: K the Gram matrix, a the dual coefficients, f the linear predictor, mu = g^-1(f) the mean of the response, B
the values of the functions that are not penalised, m their coefficients, theta the thresholds of an ordinal response.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logit
from sklearn.base import RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.utils import ClassifierTags

from mercer.arrays import Array, Floats, Indices, shape_of
from mercer.constraints import AnyOf, Boolean, InstanceOf, Integer, Interval, OneOf, Optional, Positive
from mercer.domains import Samples
from mercer.errors import CapabilityError, ParameterError, TargetError
from mercer.estimators.estimator import KernelEstimator, sample_weights, scattered, weighted
from mercer.estimators.fits import fitting
from mercer.estimators.offered import offered_if, require_fitted_with
from mercer.estimators.squares.logistic import require_no_twice
from mercer.gram import Expansion, FeatureExpansion, Gram, GramSpec
from mercer.gram.low_rank.feature_maps import Mapped
from mercer.kernels import Kernel, Sum
from mercer.kernels.kernel import narrowed, offers, overflow_error
from mercer.kernels.protocols import HasFeatures
from mercer.losses import Binomial, Gamma, HasMean, Loss, Ordinal, Poisson, Squared
from mercer.problems import SmoothRisk
from mercer.solvers import Newton, Solver
from mercer.spec import derived
from mercer.targets import Ordinal as OrderedClasses
from mercer.targets import Real

__all__ = ["KernelGLM"]
__public__ = __all__

_TOL, _MAX_ITER = 1e-6, 100
_FAMILIES: dict[str, Loss] = {
    "gaussian": Squared(),
    "poisson": Poisson(),
    "gamma": Gamma(),
    "binomial": Binomial(),
    "ordinal": Ordinal(),
}


def _is_ordinal(estimator: Any) -> bool:
    if isinstance(estimator.family, str) and estimator.family == "ordinal":
        return True
    raise AttributeError(
        f"KernelGLM has no predict_proba with family={estimator.family!r}; it exists with family='ordinal'. Make the "
        "estimator as KernelGLM(..., family='ordinal'), and fit it."
    )


class KernelGLM(RegressorMixin, KernelEstimator):
    r"""Generalised linear model in a feature space: a response on any scale, smooth in the samples.

    .. math:: \min_{f, m} \; \sum_i w_i \, \psi\bigl(y_i, f(x_i) + b(x_i)^\top m\bigr) + \tfrac{\alpha}{2} \|f\|^2

    psi is half the deviance of the family: the response has the mean :math:`\mu = g^{-1}(f + b^\top m)`. The functions
    b are not penalised, which makes the model semi-parametric; with a sum of kernels f is a sum of functions, one per
    term, and with kernels of single columns and their products it is smoothing-spline analysis of variance.

    Seed: [HSS] Eq. (104), Section 4.1.3 (other response scales, semi-parametric part, ANOVA kernels).

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples. A scikit-learn name ("rbf",
        "linear", "poly", "precomputed", ...) means what it means there. A sum of kernels is fitted as a sum of
        functions, see `components`.
    family : str or Loss, default "poisson"
        The response: "poisson" counts, logarithmic link; "gamma" positive numbers, logarithmic link; "binomial" shares
        of successes between 0 and 1 with the numbers of trials as sample weights, or two columns of successes and
        failures, logistic link; "gaussian" any numbers; "ordinal" classes in an order, cumulative logits. Or a loss
        of your own that has ``mean``, ``link`` and ``guess``.
    alpha : float, default 1.0
        Weight of the penalty. Positive. scikit-learn's GLMs divide the sum of the losses by the number of samples: n
        times their alpha is the alpha here.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    fit_intercept : bool, default True
        Whether a constant that is not penalised is added; the thresholds of ordinal responses are such constants.
    basis : Kernel, optional
        One with a finite feature map, such as ``Linear().on([0, 2])`` or ``RankOne(function)``: its features are the
        functions b, besides the constant.
    order : sequence of labels, optional
        Order of the classes of ordinal responses, from the lowest to the highest; None is sorted.
    gram : GramSpec, optional
        How K is held. None chooses by `Auto`.
    solver : Solver, optional
        Solver of `SmoothRisk`; None is `Newton` with ``tol`` and ``max_iter``.
    tol : float, default 1e-6
        Tolerance of the gradient, relative; see `Newton`.
    max_iter : int, default 100
        Newton steps.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    expansion_ : Expansion or FeatureExpansion
        The penalised function and the intercept.
    dual_coef_ : (n,) array
        a; samples of weight zero have coefficient zero.
    intercept_ : float
    basis_coef_ : (s,) array
        m, one for each feature of the basis.
    loss_ : Loss
        That of the family, for ordinal responses with the thresholds found.
    thresholds_, classes_ : (c - 1,) and (c,) arrays
        Only of ordinal responses.
    n_iter_ : int
        Newton steps.
    kernel_, gram_, solver_, solution_ : as in every estimator

    Notes
    -----
    A sample of weight w counts as w copies. ``score`` is the share of the deviance that is explained. Conditionally
    positive definite kernels are accepted where the constant and the basis contain their null space, as
    ``ThinPlate()`` with ``basis=Linear()``. Cost as in `KernelLogisticRegression`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelGLM
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 3, size=(200, 2))
    >>> y = rng.poisson(np.exp(np.sin(2 * X[:, 0]) + 0.5 * X[:, 1]))
    >>> model = KernelGLM(Gaussian(1.0).on([0]) + Gaussian(1.0).on([1]), "poisson", alpha=0.1).fit(X, y)
    >>> round(model.score(X, y), 1)
    0.7
    >>> parts = model.components(X)
    >>> parts.shape, bool(np.allclose(np.exp(parts.sum(axis=1)), model.predict(X)))
    ((200, 3), True)
    """

    constraints = {
        "family": AnyOf(OneOf(*_FAMILIES), InstanceOf(Loss)),
        "alpha": Positive(),
        "fit_intercept": Boolean(),
        "basis": Optional(InstanceOf(Kernel)),
        "order": Optional(InstanceOf(list, tuple, np.ndarray)),
        "tol": Interval(0.0, 1.0, closed="neither"),
        "max_iter": Integer(1),
    }
    target_: Any
    loss_: Any

    def __init__(
        self,
        kernel: Any = None,
        family: Any = "poisson",
        alpha: float = 1.0,
        *,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        fit_intercept: bool = True,
        basis: Kernel | None = None,
        order: Any = None,
        gram: GramSpec | None = None,
        solver: Solver | None = None,
        tol: float = _TOL,
        max_iter: int = _MAX_ITER,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.family = family
        self.alpha = alpha
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.basis = basis
        self.order = order
        self.gram = gram
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    # entry points -------------------------------------------------------------------------------------

    @derived
    def highest_order(self) -> int:
        """Kernels need be positive definite only for coefficients orthogonal to the functions that are free."""
        constant = self.fit_intercept and not self._grades
        return 2 if self.basis is not None else 1 if constant else 0

    @property
    def _grades(self) -> bool:
        """Whether the response is classes in an order."""
        return isinstance(self.family, str) and self.family == "ordinal"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_no_twice(self, _TOL, _MAX_ITER)
        if self.basis is not None and not offers(self.basis.check(), HasFeatures):
            raise CapabilityError(
                f"basis={self.basis!r} was given, which has no finite feature map; the functions that are not "
                "penalised must be finitely many. Use for example Linear(), Polynomial(2) or RankOne(function)."
            )
        if isinstance(self.family, Loss) and not isinstance(self.family.check(), (HasMean, Squared)):
            raise CapabilityError(
                f"family={self.family!r} was given, a loss without the mean of a response; mean, link and guess are "
                f"needed. Use one of {', '.join(_FAMILIES)}, or a loss that has them."
            )

    def _default_solver(self, gram: Gram) -> Solver:
        return Newton(self.tol, self.max_iter)

    def _responses(self, y: Any, reset: bool) -> tuple[Floats, Floats]:
        """Return responses, (n,), and how many observations each stands for, (n,)."""
        if self._grades:
            if reset:
                self.target_ = OrderedClasses(self.order).learn(y)
                self.classes_ = self.target_.classes
            values = self.target_.encode(y)
            return values, np.ones(len(values))
        if self.order is not None:
            raise ParameterError(
                f"order={self.order!r} was given with family={self.family!r}; only ordinal responses have an order. "
                "Leave out order, or use family='ordinal'."
            )
        loss = _FAMILIES[self.family] if isinstance(self.family, str) else self.family
        if reset:
            self.loss_ = loss
        pairs = isinstance(loss, Binomial) and loss.trials == 1 and len(shape := shape_of(y)) == 2 and shape[1] == 2
        target = Real(several=pairs).learn(y)
        values = target.encode(y)
        if reset:
            self.target_ = Real(several=False)
        counts = np.ones(len(values))
        if pairs:
            _require(values, values >= 0.0, "binomial responses in two columns are numbers of successes and failures")
            counts = values.sum(axis=1)
            values = values[:, 0] / np.where(counts > 0.0, counts, 1.0)
        require_range(loss, values)
        return values, counts

    def _free(self, X: Any, used: Indices | None = None) -> Floats:
        """Return the features of the basis, shape (m, s)."""
        assert self.basis is not None
        S = self.basis.prepare(self.basis.pack(X))
        matrix, keys = self.basis.features(S, None if used is not None else self.basis_keys_)
        if used is not None:
            self.basis_keys_ = keys
            matrix = matrix[used]
        return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, dtype=float)

    # fit ----------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelGLM:
        """Fit the function to training data.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) array
            Responses of the family; (n, 2) successes and failures are accepted by "binomial".
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y) as (run, kernel, packed, *_):
            values, counts = self._responses(y, reset=True)
            if len(values) == len(packed):
                counts = counts * sample_weights(sample_weight, len(packed))
            S, values, w, used = weighted(packed, values, counts)
            self.kernel_ = kernel.learn(S, values, w)
            K = self._represent(self.kernel_, S, run, until=0.3)
            constant = self.fit_intercept and not self._grades
            columns: list[Floats] = [np.ones((len(S), 1))] if constant else []
            if self.basis is not None:
                columns.append(self._free(X, used))
            if self._grades:
                self.loss_ = _first_thresholds(values, w, len(self.classes_))
            border = np.hstack(columns) if columns else None
            solution = self._solve(SmoothRisk(K, self.loss_, values, w, self.alpha, border), run, until=0.9)
            free = solution.multipliers
            self.intercept_ = float(free[0]) if constant else 0.0
            self.basis_coef_ = np.array(free[int(constant) :])
            self.expansion_ = K.expand(solution, self.intercept_)
            self.dual_coef_ = scattered(solution.coef, used, len(packed))
            self.n_iter_ = max(len(solution.trace) - 1, 1)
            if self._grades:
                self.loss_ = solution.state.loss
                self.thresholds_ = self.loss_.parameters
            with run.stage("components", 1.0):
                self.component_means_ = np.array([np.average(f, weights=w) for f in self._parts(S)])
        return self

    # use ----------------------------------------------------------------------------------------------

    def linear_predictor(self, X: Any) -> Floats:
        """Return the linear predictor, the mean of the response on the scale of the link, shape (m,)."""
        values = self._evaluate(X)
        return values if self.basis is None else values + self._free(X) @ self.basis_coef_

    def predict(self, X: Any) -> Array:
        """Return the mean of the response at new data, shape (m,); of ordinal responses the most probable class."""
        values = self.linear_predictor(X)
        if self._grades:
            return self.target_.decode(self.loss_.probabilities(values))
        with np.errstate(over="ignore"):
            mean = self.loss_.mean(values) if isinstance(self.loss_, HasMean) else values
        if not np.isfinite(mean).all():
            raise overflow_error(self.kernel_)
        return mean

    @offered_if(_is_ordinal)
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class of an ordinal response, shape (m, c)."""
        f = self.linear_predictor(X)
        if not hasattr(self.loss_, "probabilities"):
            require_fitted_with(self, "family='ordinal'", "loss_.probabilities")
        P = self.loss_.probabilities(f)
        return P / P.sum(axis=1, keepdims=True)

    def components(self, X: Any) -> Floats:
        """Return the terms of the linear predictor, shape (m, J + 1): smoothing-spline analysis of variance.

        One column for each term of a sum of kernels, in its order, with mean zero over the training samples, and a
        last one for all else: the intercept, the basis, and those means. Each row sums to the linear predictor.

        Parameters
        ----------
        X : raw data or packed samples
        """
        T = self._pack_new(X)
        parts = np.stack(self._parts(T), axis=1) - self.component_means_
        rest = np.full(len(parts), self.intercept_ + self.component_means_.sum())
        if self.basis is not None:
            rest += self._free(X) @ self.basis_coef_
        return np.column_stack([parts, rest])

    def _parts(self, T: Samples) -> list[Floats]:
        """Return the function of each term of the kernel at packed samples."""
        kernel, f = self.kernel_, self.expansion_
        terms = kernel.kernels if isinstance(kernel, Sum) else (kernel,)
        if isinstance(f, Expansion):
            return [
                Expansion(k, narrowed(k, f.samples), f.coef, np.array(0.0))(narrowed(k, T), self._resources())
                for k in terms
            ]
        if len(terms) == 1:
            return [FeatureExpansion(f.kernel, f.keys, f.weights, np.array(0.0))(T)]
        found, first = [], 0
        drawn: Any = f.kernel.map if isinstance(f.kernel, Mapped) else None
        for k, keys in zip(terms, f.keys if drawn is None else drawn.maps, strict=True):
            part = k.prepare(narrowed(k, T))
            matrix = k.features(part, keys)[0] if drawn is None else keys(part)
            found.append(np.asarray(matrix @ f.weights[first : first + matrix.shape[1]]))
            first += matrix.shape[1]
        return found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of the deviance that is explained, 1 at best; 0 is that of the mean of y alone.

        Parameters
        ----------
        X : raw data or packed samples
        y : (m,) array
        sample_weight : (m,) array, optional
        """
        f = self.linear_predictor(X)
        loss: Any = self.loss_
        values, counts = self._responses(y, reset=False)
        w = counts * sample_weights(sample_weight, len(values))
        if self._grades:
            shares = np.bincount(values.astype(np.intp), weights=w, minlength=len(self.classes_)) / w.sum()
            total = -float(np.sum(w * np.log(shares[values.astype(np.intp)])))
        else:
            centre = np.full_like(values, np.average(values, weights=w))
            level = loss.link(centre) if isinstance(self.loss_, HasMean) else centre
            total = float(np.sum(w * loss.value(values, level)))
        left = float(np.sum(w * loss.value(values, f)))
        return 1.0 - left / total if total > 0.0 else float(left == 0.0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = isinstance(self.family, (Poisson, Gamma)) or (
            isinstance(self.family, str) and self.family in ("poisson", "gamma")
        )
        if self._grades:
            tags.estimator_type, tags.regressor_tags, tags.classifier_tags = "classifier", None, ClassifierTags()
        return tags


def _first_thresholds(codes: Floats, w: Floats, count: int) -> Ordinal:
    """Return the loss with the thresholds of a model that knows the shares of the classes alone."""
    mass = np.bincount(codes.astype(np.intp), weights=w, minlength=count)
    if not mass.all():
        raise TargetError(
            f"class number {int(np.flatnonzero(mass == 0)[0])} of y has no sample of positive weight; each class needs "
            "at least one. Leave its samples out of X and y, or give one of them a weight."
        )
    return Ordinal(tuple(float(theta) for theta in logit(np.cumsum(mass)[:-1] / mass.sum())))


def require_range(loss: Loss, y: Floats) -> None:
    """Raise TargetError unless responses are possible in the family of a loss."""
    if isinstance(loss, Poisson):
        _require(y, y >= 0.0, "Poisson responses are counts, not negative")
    elif isinstance(loss, Gamma):
        _require(y, y > 0.0, "gamma responses are positive numbers")
    elif isinstance(loss, Binomial):
        _require(y, (y >= 0.0) & (y <= loss.trials), f"binomial responses are between 0 and {loss.trials}")


def _require(y: Floats, good: Array, accepted: str) -> None:
    if not good.all():
        raise TargetError(
            f"y has the value {y[~good][0]:.6g}; {accepted}. Correct y, or choose another family, as family='gaussian'."
        )
