"""SVM-2K: two support vector machines on two views of the same samples, which must agree.

Symbols: f_A, f_B the functions of both views with their intercepts, y_i = +-1, xi slacks, eta disagreement.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Array, Floats
from mercer.constraints import AnyOf, Each, InstanceOf, Integer, Interval, OneOf, Optional, Positive
from mercer.errors import ParameterError, warn_caller
from mercer.estimators.factors import factor_of, function_of
from mercer.estimators.fits import fitting
from mercer.estimators.views.view_kernels import SeveralViews, seen_by
from mercer.gram import GramSpec
from mercer.gram.gram import is_streamed, is_transform
from mercer.problems import Status
from mercer.solvers.box.two_views import solve_two_views
from mercer.targets import Multiclass
from mercer.targets.target import Reduction, class_weights

__all__ = ["SVM2K"]
__public__ = __all__


class SVM2K(ClassifierMixin, SeveralViews):
    r"""Two support vector classifiers on two views of each sample, which pay for disagreement.

    .. math:: \min \; \tfrac12 \|f_A\|^2 + \tfrac12 \|f_B\|^2 + C_A \sum_i w_i \xi^A_i + C_B \sum_i w_i \xi^B_i +
        D \sum_i w_i \eta_i, \qquad |f_A(x_i) - f_B(x_i)| \le \eta_i + \epsilon, \quad
        y_i f_v(x_i) \ge 1 - \xi^v_i

    A sample is classified by the mean of both functions.

    Seed: [STS] Section 3, SVM-2K; after Farquhar, Hardoon, Meng, Shawe-Taylor and Szedmak.

    Parameters
    ----------
    kernel : Kernel or (Kernel, Kernel), optional
        One for each view, on the columns it names by ``.on``, or one for both. None is `Linear` and `Gaussian` at the
        median distance, both on all columns.
    C : float or pair of floats, default 1.0
        Cost of an error of size one, in either view.
    agreement : float, default 1.0
        D, the cost of disagreement of size one; 0 gives two separate machines.
    epsilon : float, default 0.0
        Disagreement that costs nothing.
    multi_class : {"ovo", "ovr"}, default "ovo"
        How more than two classes are separated.
    class_weight : dict or "balanced", optional
        Factors of the weights of classes.
    tol : float, default 1e-8
        Duality gap over one plus the objective.
    max_iter : int, default 100
        The most steps of the interior point method.
    gram : GramSpec, optional
        How the matrices of both views are held; a factor is needed, or the matrix itself.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    classes_ : (c,) array
    expansions_ : tuple of Expansion or FeatureExpansion
        The functions of both views, with their intercepts; decision values are the mean of both.
    kernels_ : tuple of Kernel
    intercepts_ : (2,) or (2, problems) array
    n_iter_ : int
        The most steps that a problem took.

    Notes
    -----
    X is a table, packed `Frames`, or a list of two arrays (in fit and predict; cross-validation cannot split it). A
    sample of weight w counts as w copies. Cost O(n r^2) a step for Grams of rank r.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVM2K
    >>> from mercer.kernels import Linear
    >>> X = np.array([[-1.0, -2.0], [-2.0, -1.0], [1.0, 2.0], [2.0, 1.0]])
    >>> model = SVM2K((Linear().on([0]), Linear().on([1]))).fit(X, [0, 0, 1, 1])
    >>> model.predict([[1.0, 1.0]])
    array([1])
    """

    constraints = {
        "C": AnyOf(Positive(), Each(Positive())),
        "agreement": Interval(0.0, np.inf, closed="left"),
        "epsilon": Interval(0.0, np.inf, closed="left"),
        "multi_class": OneOf("ovo", "ovr"),
        "class_weight": Optional(AnyOf(OneOf("balanced"), InstanceOf(dict))),
        "tol": Positive(),
        "max_iter": Integer(1),
    }

    def __init__(
        self,
        kernel: Any = None,
        C: Any = 1.0,
        agreement: float = 1.0,
        *,
        epsilon: float = 0.0,
        multi_class: str = "ovo",
        class_weight: Any = None,
        tol: float = 1e-8,
        max_iter: int = 100,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.agreement = agreement
        self.epsilon = epsilon
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if np.ndim(self.C) and len(self.C) != 2:
            raise ParameterError(
                f"C={self.C!r} was given; one cost, or one for each view, is accepted. Give one or two numbers."
            )
        if len(self._given_kernels()) != 2:
            raise ParameterError(
                f"{len(self.kernel)} kernels were given; SVM2K has two views. Use MultiViewLaplacianSVC for more."
            )

    def _can_use(self, spec: GramSpec) -> bool:
        return not (is_streamed(spec) or is_transform(spec))  # a factor is needed

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVM2K:
        """Fit both machines.

        Parameters
        ----------
        X : table, packed samples, or a list of two arrays
        y : (n,) array
            Class labels.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        pack = self._pack_views
        with fitting(self, X, y, sample_weight, Multiclass(), pack=pack) as (run, kernels, _, S, codes, w, _used):
            w = w * class_weights(self.class_weight, self.classes_, codes, w)[codes]
            self.kernels_ = self._learned(kernels, S, w)
            grams = [self._represent(k, seen_by(k, S), run, until=0.2 * (v + 1)) for v, k in enumerate(self.kernels_)]
            factors = [factor_of(self, K) for K in grams]
            self.reduction_ = Reduction.of(self.multi_class, len(self.classes_))
            problems = self.reduction_.problems(codes)
            costs = np.broadcast_to(np.asarray(self.C, dtype=float), (2,))
            found = []
            with run.stage("solver", 1.0):
                for index, sign in problems:
                    part = factors[0][0][index], factors[1][0][index]
                    v = w[index]
                    upper = costs[0] * v, costs[1] * v, self.agreement * v
                    monitor = run.solver_monitor(self.tol) if run.watched else None
                    options = {"tol": self.tol, "max_iter": self.max_iter, "monitor": monitor}
                    found.append(solve_two_views(part, sign, upper, self.epsilon, **options))
            worst = max(found, key=lambda one: one.gap)
            if worst.status is not Status.CONVERGED:
                warn_caller(f"Interior points stopped at {worst.gap:.3g}. {worst.status.value}", ConvergenceWarning)
            self.n_iter_ = max(one.iterations for one in found)
            one = len(found) == 1
            self.intercepts_ = np.stack([s.intercepts for s in found], axis=1)
            self.intercepts_ = self.intercepts_[:, 0] if one else self.intercepts_
            expansions = []
            for v, K in enumerate(grams):
                weights = np.column_stack([s.weights[v] for s in found])
                weights = weights[:, 0] if one else weights
                expansions.append(function_of(K, weights, factors[v][1], self.intercepts_[v], worst.status))
            self.expansions_ = tuple(expansions)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return decision values, the mean of both views.

        For two classes shape (m,), positive for the second; for more one column per class, the largest wins.
        """
        values = self._mean_of_views(X)
        return values if values.ndim == 1 else self.reduction_.confidences(values)

    def predict(self, X: Any) -> Array:
        """Return the class of new data, shape (m,).

        Parameters
        ----------
        X : table, packed samples, or a list of two arrays
        """
        values = self.decision_function(X)
        codes = (values > 0).astype(np.intp) if values.ndim == 1 else np.argmax(values, axis=1)
        return self.classes_[codes]
