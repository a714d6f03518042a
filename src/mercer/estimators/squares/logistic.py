"""Kernel logistic regression: the probabilities of classes by penalised likelihood.

Symbols: K the Gram matrix, a the dual coefficients, p_i the probability of the class of sample i, w_i sample weights,
b the intercept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks

from mercer import solvers  # whose names are imported when they are used
from mercer.arrays import Array, Floats
from mercer.constraints import AnyOf, Boolean, InstanceOf, Integer, Interval, OneOf, Optional, Positive
from mercer.errors import ParameterError
from mercer.estimators.certificates.certified import Certified
from mercer.estimators.estimator import KernelEstimator, scattered
from mercer.estimators.fits import fitting
from mercer.gram import Gram, GramSpec
from mercer.gram.gram import is_low_rank
from mercer.losses import Logistic, Multinomial
from mercer.problems import SmoothRisk
from mercer.solvers import Newton, Solver
from mercer.spec import derived
from mercer.targets import Multiclass
from mercer.targets.target import class_weights

__all__ = ["KernelLogisticRegression"]
__public__ = __all__

_COST = 30.0  # with the default kernel
_TOL, _MAX_ITER = 1e-6, 100


class KernelLogisticRegression(Certified, ClassifierMixin, KernelEstimator):
    r"""Kernel logistic regression: a function for the log-odds of two classes, or one per class for several.

    .. math:: \min_{f, b} \; C \sum_i w_i \log\bigl(1 + e^{-y_i (f(x_i) + b)}\bigr) + \tfrac12 \|f\|^2, \qquad
        P(y = 1 \mid x) = \frac{1}{1 + e^{-f(x) - b}}

    Several classes have one function each and are fitted together, by the softmax
    :math:`P(c \mid x) \propto e^{f_c(x) + b_c}` and the penalty :math:`\tfrac12 \sum_c \|f_c\|^2`. At the solution
    :math:`a_i = C w_i (1 - p_i) y_i`: no coefficient is zero, and each says how wrong the model is on its sample.

    Seed: [HSS] Eq. (104), Section 3.2.3.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is ``Gaussian("columns")``, with a length scale for each column. A scikit-learn name ("rbf",
        "linear", "poly", "precomputed", ...) means what it means there.
    C : float or None, default None
        Cost of errors. None is 1.0 if a kernel is given, as in scikit-learn, and 30 with the default kernel: as the
        variance of a process whose values are log odds, 1 would keep probabilities near one half.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    fit_intercept : bool, default True
        Whether a constant that is not penalised is added, one per function.
    class_weight : None, "balanced" or dict
        Factors of C by class; "balanced" gives all classes the same total weight.
    gram : GramSpec, optional
        How K is held. None chooses by `Auto`.
    solver : Solver, optional
        Solver of `SmoothRisk`; None is `Newton` with ``tol`` and ``max_iter``, or `PrimalNewton` on a Gram of low rank
        whose normal equations would take long.
    tol : float, default 1e-6
        About the error of the probabilities, as a root mean square; see `Newton` and `PrimalNewton`.
    max_iter : int, default 100
        Newton steps.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    classes_ : (c,) array
    expansion_ : Expansion or FeatureExpansion
        The fitted function: one for two classes, else one per class.
    dual_coef_ : (n,) or (n, c) array
        a; samples of weight zero have coefficient zero.
    intercept_ : (1,) or (c,) array
        b.
    n_iter_ : int
        Newton steps.
    kernel_, gram_, solver_, C_ : what None was resolved to
    solution_ : Solution
        Residual, trace and status of the solver.

    Notes
    -----
    A sample of weight w counts as w copies. With a linear kernel it is scikit-learn's LogisticRegression. Cost: one
    Cholesky factorisation of an n x n matrix, O(n^3), used by all steps, and O(n^2 c) for each of some ten to a
    hundred iterations; O(n D^2) with D features. On separable data the penalty keeps the solution finite.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelLogisticRegression
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> model = KernelLogisticRegression(Gaussian(1.0), C=10.0).fit(X, list("aabbaa"))
    >>> model.predict([[0.5], [2.5]])
    array(['a', 'b'], dtype='<U1')
    >>> model.predict_proba([[2.5]]).round(2)
    array([[0.15, 0.85]])
    """

    _default_length = "columns"

    constraints = {
        "C": Optional(Positive()),
        "fit_intercept": Boolean(),
        "class_weight": Optional(AnyOf(OneOf("balanced"), InstanceOf(dict))),
        "tol": Interval(0.0, 1.0, closed="neither"),
        "max_iter": Integer(1),
    }

    def __init__(
        self,
        kernel: Any = None,
        C: float | None = None,
        *,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        gram: GramSpec | None = None,
        solver: Solver | None = None,
        tol: float = _TOL,
        max_iter: int = _MAX_ITER,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.gram = gram
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @derived
    def highest_order(self) -> int:
        """With a constant that is free, kernels need be positive definite only for coefficients that sum to zero."""
        return 1 if self.fit_intercept else 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_no_twice(self, _TOL, _MAX_ITER)

    def _default_solver(self, gram: Gram) -> Solver:
        if is_low_rank(gram) and solvers.PrimalNewton.suits(gram, Logistic()):
            return solvers.PrimalNewton(self.tol, max_iter=self.max_iter)
        return Newton(self.tol, self.max_iter)

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelLogisticRegression:
        """Fit the functions of the classes.

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
        with fitting(self, X, y, sample_weight, Multiclass()) as (run, kernel, packed, S, codes, w, used):
            w_class = w * class_weights(self.class_weight, self.classes_, codes, w)[codes]
            self.kernel_ = kernel.learn(S, codes, w)
            self.C_ = self.C if self.C is not None else _COST if self.kernel is None else 1.0
            K = self._represent(self.kernel_, S, run, until=0.3)
            border = np.ones((len(S), 1)) if self.fit_intercept else None
            if len(self.classes_) == 2:
                loss, values = Logistic(), 2.0 * codes - 1.0
            else:
                loss, values = Multinomial(), np.eye(len(self.classes_))[codes]
            # the sum is divided by the largest weight, so that a large C leaves the size of the numbers alone
            unit = float(w_class.max())
            solution = self._solve(SmoothRisk(K, loss, values, w_class / unit, 1.0 / self.C_ / unit, border), run)
            free = solution.multipliers[0] if self.fit_intercept else np.zeros(values.shape[1:])
            self.expansion_ = K.expand(solution, np.asarray(free))
            self.intercept_ = np.atleast_1d(np.asarray(free, dtype=float))
            self.dual_coef_ = scattered(solution.coef, used, len(packed))
            self.n_iter_ = max(len(solution.trace) - 1, 1)
        return self

    def _settled(self) -> dict[str, Any]:
        return {"C": _COST if self.C is None else self.C}

    def decision_function(self, X: Any) -> Floats:
        """Return the log-odds of the second of two classes, shape (m,); else f_c + b_c, shape (m, c)."""
        return self._evaluate(X)

    def predict(self, X: Any) -> Array:
        """Return the most probable class of new data, shape (m,)."""
        values = self._evaluate(X)
        if values.ndim == 1:
            return self.classes_[(values > 0.0).astype(np.intp)]
        return self.target_.decode(values)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, shape (m, c)."""
        values = self._evaluate(X)
        if values.ndim == 1:
            return np.column_stack([expit(-values), expit(values)])
        return Multinomial().mean(values)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of the probabilities, shape (m, c); finite even where a probability rounds to zero."""
        values = self._evaluate(X)
        if values.ndim == 1:
            return -np.column_stack([np.logaddexp(0.0, values), np.logaddexp(0.0, -values)])
        return Multinomial().log_mean(values)

    @property
    def coef_(self) -> Floats:
        """Weights of the columns, shape (1, d) or (c, d); only for the linear kernel."""
        return np.atleast_2d(self._column_weights("coef_"))


def require_no_twice(estimator: Any, tol: float, max_iter: int) -> None:
    """Raise ParameterError if tol or max_iter were given besides a solver that has its own."""
    if estimator.solver is None:
        return
    given = [name for name, usual in (("tol", tol), ("max_iter", max_iter)) if getattr(estimator, name) != usual]
    if given:
        raise ParameterError(
            f"{' and '.join(given)} were given together with solver={estimator.solver!r}; they belong to the default "
            "solver. Write them into the solver, for example Newton(tol=1e-8)."
        )
