r"""Least squares support vector classifier: regression on the classes, one linear system.

Symbols: M (c, L) the code of the classes, entries +1, -1 and 0; w sample weights; a coefficients, b the bias.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from mercer import selection  # whose names are imported when they are used
from mercer.arrays import Array, Floats, Indices
from mercer.constraints import AnyOf, Boolean, InstanceOf, OneOf, Optional
from mercer.domains import Samples
from mercer.errors import ParameterError
from mercer.estimators.certificates.certified import Certified
from mercer.estimators.estimator import scattered
from mercer.estimators.fits import fitting
from mercer.estimators.offered import offered_if, require_fitted_with
from mercer.estimators.squares.least_squares_machine import Fitted, LeastSquaresMachine, groups_of
from mercer.gram import Gram, GramSpec
from mercer.selection.least_squares_evidence import Moderation
from mercer.solvers import Solver
from mercer.targets import Multiclass
from mercer.targets.target import Reduction, class_weights

__all__ = ["LSSVC"]
__public__ = __all__

_SCHEMES = ("ovr", "ovo", "minimal", "dense", "sparse", "exhaustive")


def _gives_probabilities(estimator: Any) -> bool:
    if estimator.probability:
        return True
    raise AttributeError(
        f"{type(estimator).__name__} has no predict_proba with probability={estimator.probability!r}; it exists with "
        f"probability=True. Make the estimator as {type(estimator).__name__}(..., probability=True), and fit it."
    )


class LSSVC(Certified, ClassifierMixin, LeastSquaresMachine):
    r"""Least squares support vector classifier: the classes +1 and -1 are targets, errors cost their squares.

    .. math:: \min_{f, b} \; \tfrac12 \|f\|^2 + \frac{C}{2} \sum_i w_i (1 - y_i (f(x_i) + b))^2

    Seed: [SS] Section 3.4.1, Eqs. (55)-(57), the problem LS-SVC-P and the system KKT-LSSVC, with C for the seed's gamma
    and a_i = y_i alpha_i, so that no matrix of signs appears; Section 5.2 for the evidence and the probabilities.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples. Conditionally positive definite kernels
        of order 1 are accepted.
    C : float or None, default 1.0
        What an error costs, the seed's gamma. Positive. None takes the C of the smallest left-out squared error, all
        of them at the price of one eigendecomposition.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    multi_class : {"ovr", "ovo", "minimal", "dense", "sparse", "exhaustive"} or (c, L) array, default "ovr"
        How more than two classes are coded by problems of two: each against the rest, all pairs, the fewest problems
        (the binary digits of the class), or an output code. Problems in which all classes take part share one
        factorisation.
    class_weight : dict or "balanced", optional
        Factors of the weights of classes.
    selection, fixed, restarts, guard : optional
        As in `LSSVR`.
    prune : float or None, default None
        As in `LSSVR`; the error that may not grow is the share of left-out values with a wrong sign.
    probability : bool, default False
        Whether `fit` also prepares `predict_proba`: the posterior of the function, and the distribution of its
        left-out values in each class.
    leave_one_out : bool, default False
        Whether `fit` also stores ``loo_decision_`` and ``loo_predictions_``.
    random_state : int or None, default None
        Seed of the restarts.
    gram : GramSpec, optional
        None chooses by `Auto`. ``Nystrom(500, sampler="entropy")`` is the fixed-size machine.
    solver : Solver, optional
        As in `LSSVR`.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    classes_, class_weight_ : (c,) arrays
    expansion_ : Expansion or FeatureExpansion
        The decision function, or those of the L problems.
    dual_coef_ : (n,) or (n, L) array
        a.
    intercept_ : float or (L,) array
    C_, kernel_, gram_, solver_, solution_, log_evidence_, scale_, support_, path_costs_, path_values_, tuned_,
    pruning_sizes_, pruning_errors_
        As in `LSSVR`.
    loo_decision_ : (n,) or (n, c) array
        Only with ``leave_one_out=True``: the decision function at each sample of the machine fitted to all others.
    loo_predictions_ : (n,) array
        The classes that these give.

    Notes
    -----
    A sample of weight w counts as w copies, and is left out with its whole weight. Cost O(n^3) in the memory of K
    whatever the number of classes, where all take part in each problem.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVC
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> model = LSSVC(Gaussian(1.0)).fit(X, ["left", "left", "right", "right"])
    >>> model.predict([[-0.8, -1.0]])
    array(['left'], dtype='<U5')
    """

    multi_class: Any
    class_weight: Any
    probability: bool
    constraints = {
        "multi_class": AnyOf(OneOf(*_SCHEMES), InstanceOf(np.ndarray, list, tuple)),
        "class_weight": Optional(AnyOf(OneOf("balanced"), InstanceOf(dict))),
        "probability": Boolean(),
    }

    def __init__(
        self,
        kernel: Any = None,
        C: float | None = 1.0,
        *,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        multi_class: Any = "ovr",
        class_weight: Any = None,
        selection: str | None = None,
        fixed: Any = (),
        restarts: int = 0,
        guard: bool = True,
        prune: float | None = None,
        probability: bool = False,
        leave_one_out: bool = False,
        random_state: int | None = None,
        gram: GramSpec | None = None,
        solver: Solver | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.selection = selection
        self.fixed = fixed
        self.restarts = restarts
        self.guard = guard
        self.prune = prune
        self.probability = probability
        self.leave_one_out = leave_one_out
        self.random_state = random_state
        self.gram = gram
        self.solver = solver
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _needs_posterior(self) -> bool:
        return self.probability

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LSSVC:
        """Fit the classifier.

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
        with fitting(self, X, y, sample_weight, Multiclass()) as (run, kernel, packed, S, codes, counts, used):
            self.class_weight_ = class_weights(self.class_weight, self.classes_, codes, counts)
            self.reduction_ = Reduction.of(_scheme(self.multi_class, len(self.classes_)), len(self.classes_))
            Y = self.reduction_.code[codes]
            groups = groups_of(Y)
            if self.prune is not None and (len(groups) > 1 or len(groups[0][0]) < len(codes)):
                raise ParameterError(
                    f"prune={self.prune} was given with multi_class={self.multi_class!r}, whose problems have "
                    "different samples; pruning needs a code without zeros. Use multi_class='ovr'."
                )
            w = counts * self.class_weight_[codes]
            parts = [(rows, Y[np.ix_(rows, columns)]) for rows, columns in groups]
            self.kernel_ = self._tune(kernel.learn(S, codes, counts), S, parts, w, run)
            K = self._represent(self.kernel_, S, run, until=0.5)
            self.C_ = self._choose_cost(K, groups, Y, w, run)
            if self.prune is None:
                fitted = self._solve_groups(K, groups, Y, w, run)
            else:
                fitted = self._prune(K, Y, w, "zero-one", run)
            self._store(packed, K, fitted, used)
            if self.probability:
                self._store_probabilities(fitted, groups, Y, counts)
        return self

    def _store(self, packed: Samples, K: Gram, fitted: Fitted, used: Indices) -> None:
        flat = len(self.classes_) == 2
        self._expand(K, fitted, flat)
        self.dual_coef_ = scattered(fitted.coef[:, 0] if flat else fitted.coef, used, len(packed))
        self.support_ = used[np.any(fitted.coef != 0.0, axis=1)]
        if not self.leave_one_out or fitted.left_out is None:
            return
        left = scattered(fitted.left_out, used, len(packed))
        if len(used) < len(packed):
            rest = np.setdiff1d(np.arange(len(packed)), used)
            left[rest] = self.expansion_(packed.take(rest)).reshape(len(rest), -1)
        self.loo_decision_ = left[:, 0] if flat else self.reduction_.confidences(left)
        self.loo_predictions_ = self._decided(self.loo_decision_)

    def _store_probabilities(
        self, fitted: Fitted, groups: list[tuple[Indices, Indices]], Y: Floats, counts: Floats
    ) -> None:
        """Learn how decision values are distributed in the classes of each problem."""
        assert fitted.left_out is not None and fitted.variance is not None
        self.posteriors_ = fitted.posteriors
        self.posterior_of_ = np.empty(Y.shape[1], dtype=np.intp)  # which posterior belongs to a problem
        found: list[Any] = [None] * Y.shape[1]
        for place, (rows, columns) in enumerate(groups):
            self.posterior_of_[columns] = place
            for column in columns:
                found[column] = Moderation.of(
                    fitted.left_out[rows, column], Y[rows, column], counts[rows],
                    fitted.variance[rows, column], float(fitted.scale[column]),
                )  # fmt: skip
        self.moderations_ = found

    # use ----------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """Return decision values.

        For two classes shape (m,), positive for the second. For more, one column per class, (m, c), larger where the
        class is more likely; with ``multi_class="ovr"`` these are the values of the problems.
        """
        values = self._evaluate(X)
        return values if values.ndim == 1 else self.reduction_.confidences(values)

    def predict(self, X: Any) -> Array:
        """Return the class of new data, shape (m,); between equal values the first class wins."""
        check_is_fitted(self)
        return self._decided(self.decision_function(X))

    def _decided(self, values: Floats) -> Array:
        if values.ndim == 1:
            return self.classes_[(values > 0.0).astype(np.intp)]
        return self.classes_[np.argmax(values, axis=1)]

    @offered_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, shape (m, c); only after fit with ``probability=True``.

        The posterior variance of the function moderates them: far from all samples they are the shares of the classes.
        They are not made of the sign of the decision function, so that the most likely class may be another one.
        """
        require_fitted_with(self, "probability=True", "posteriors_", "moderations_")
        values = self._evaluate(X)
        T = self._pack_new(X)
        variances = [posterior.variance(T, self._resources()) for posterior in self.posteriors_]
        if values.ndim == 1:
            p = self.moderations_[0](values, variances[0])
            return np.column_stack([1.0 - p, p])
        P = np.column_stack(
            [
                moderation(column, variances[place])
                for moderation, column, place in zip(self.moderations_, values.T, self.posterior_of_, strict=True)
            ]
        )
        if self.reduction_.votes:
            return selection.couple(P)
        return selection.normalize(P if self.reduction_.kind == "ovr" else self.reduction_.likelihoods(P))

    @offered_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


def _scheme(scheme: Any, count: int) -> Any:
    """Return a scheme that `Reduction` knows; the fewest problems are a code of binary digits."""
    if not isinstance(scheme, str) or scheme != "minimal" or count == 2:
        return "ovr" if isinstance(scheme, str) and scheme == "minimal" else scheme
    digits = np.arange(math.ceil(math.log2(count)))[::-1]
    return 2 * ((np.arange(count)[:, None] >> digits) & 1) - 1
