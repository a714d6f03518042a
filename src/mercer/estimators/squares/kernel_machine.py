"""Kernel machines of any convex loss and any regulariser: the representer theorem as an estimator.

Symbols: psi the loss, Omega the regulariser of s = |f|^2, alpha its weight, lambda = 2 alpha Omega'(s) the penalty that
has the same solution, a the dual coefficients, B the values of the functions that are not penalised, m their
coefficients, w_i sample weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import NotFittedError

from mercer.arrays import Array, Floats
from mercer.constraints import AnyOf, InstanceOf, OneOf
from mercer.errors import ParameterError
from mercer.estimators.certificates.certified import Certified
from mercer.estimators.fits import fitting
from mercer.estimators.offered import offered_if
from mercer.estimators.squares.glm import require_range
from mercer.estimators.squares.representer import MAX_ITER, TOL, RepresenterMachine
from mercer.gram import GramSpec
from mercer.kernels.kernel import overflow_error
from mercer.losses import (
    Absolute,
    Binomial,
    EpsilonInsensitive,
    Gamma,
    HasMean,
    Hinge,
    Huber,
    Linex,
    Logistic,
    Loss,
    Multinomial,
    Ordinal,
    Pinball,
    Poisson,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from mercer.solvers import Solver
from mercer.targets import Multiclass, Real
from mercer.targets.target import class_weights

__all__ = ["KernelMachine", "KernelMachineClassifier"]
__public__ = __all__

_OF_NUMBERS: dict[str, Loss] = {
    "squared": Squared(),
    "absolute": Absolute(),
    "huber": Huber(),
    "epsilon_insensitive": EpsilonInsensitive(),
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive(),
    "pinball": Pinball(),
    "linex": Linex(),
    "poisson": Poisson(),
    "gamma": Gamma(),
    "binomial": Binomial(),
}
_OF_CLASSES: dict[str, Loss] = {
    "logistic": Logistic(),
    "multinomial": Multinomial(),
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "squared": Squared(),
}


class KernelMachine(Certified, MultiOutputMixin, RegressorMixin, RepresenterMachine):
    r"""Kernel machine of any convex loss and any regulariser: what the representer theorem promises, computed.

    .. math:: \min_{f \in \mathcal{H}, m} \; \sum_i w_i \, \psi\bigl(y_i, f(x_i) + b(x_i)^\top m\bigr)
        + \alpha \, \Omega(\|f\|^2), \qquad f = \sum_i a_i k(x_i, \cdot)

    Ridge regression, support vector regression, robust and quantile regression, penalised likelihood and smoothing
    splines are rows of one table: a loss, a regulariser, functions that are not penalised.

    Seed: [HSS] Theorem 11, Eqs. (49)-(53); Sections 2.3.3 and 4.1.3, [SS] Section 2.5 and Eq. (48) for the functions
    that are not penalised; [SS] Eqs. (22)-(25).

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples. A scikit-learn name ("rbf", "linear",
        "poly", "precomputed", ...) means what it means there. Conditionally positive definite kernels are accepted.
    loss : str or Loss, default "squared"
        psi, convex: "squared", "absolute", "huber", "epsilon_insensitive", "squared_epsilon_insensitive", "pinball",
        "linex", "poisson", "gamma", "binomial", or a loss with its parameters, such as ``Huber(0.5)``, or of your own.
    alpha : float, default 1.0
        Weight of the regulariser. Positive; with the square C = 1 / alpha is that of support vector machines.
    regularizer : {"square", "norm"} or Regularizer, default "square"
        Omega: half the squared length, the length, ``NormPower(q)``, a ball ``Radius(a)`` (Ivanov's form, for which
        alpha does not matter), or an increasing function of your own.
    unpenalized : None, "constant", "linear", tuple of int, callable or tuple of callables, default None
        The functions b: none but those that a conditionally positive definite kernel needs; a constant; polynomials of
        degree one; a constant and some columns; or functions that take all data at once, as an array (n, d), and
        return (n,) or (n, s) numbers.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held. None chooses by `Auto`; where SMO is the solver, tiles beyond 2048 samples.
    solver : Solver, optional
        None is `Newton` for smooth losses, `SMO` for losses with kinks and a box dual besides a constant, else
        `ProximalPoint`.
    tol : float, default 1e-7
        Tolerance of the default solver; see `mercer.solvers.risk_path.choose_solver`.
    max_iter : int, default 100
        Iterations of Newton's and the proximal point method.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    expansion_ : Expansion, FeatureExpansion or SemiparametricExpansion
        The fitted function.
    dual_coef_ : (n,) or (n, k) array
        a; samples of weight zero have coefficient zero.
    intercept_ : () or (k,) array
    basis_coef_ : (s,) or (s, k) array
        m, only where there are other functions than a constant.
    penalty_ : float
        lambda: with the square as regulariser and this alpha the solution is the same. 0 where a ball is so large that
        it does not matter, infinite where f = 0 is best.
    norm_, risk_, objective_ : float
        Length of f, sum of the weighted losses, and what is minimised.
    dual_gap_ : float
        Duality gap of the problem with penalty lambda: its objective is above its minimum by no more than this.
    loss_ : Loss
    n_iter_ : int
    kernel_, gram_, solver_, solution_ : as in every estimator

    Notes
    -----
    A sample of weight w counts as w copies. Several outputs share the regulariser, whose s is the sum of their squared
    lengths; with the square they are fitted as if alone. A loss of your own is a subclass of `Loss`: with ``smooth =
    True`` Newton's method is used, else it may have kinks; ``conjugate`` is optional. A regulariser other than the
    square costs some ten fits, each begun at the last, since every minimiser lies on the path of the square. Cost
    O(n^3) and one n x n array; with ``gram=Tiles()`` products alone, with SMO rows.

    Lengths that are no norm of a Hilbert space, as the sum of the sizes of coefficients, need another duality:
    `LinearProgrammingMachine` and `KernelLasso`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelMachine
    >>> from mercer.hilbert import Radius
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Huber
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(X[:, 0]) + np.where(np.arange(40) == 7, 5.0, 0.0)  # one outlier
    >>> model = KernelMachine(Gaussian(1.0), loss=Huber(0.1), alpha=0.1, unpenalized="constant").fit(X, y)
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.1), model.dual_gap_ < 1e-2
    (True, True)
    >>> ball = KernelMachine(Gaussian(1.0), regularizer=Radius(1.0)).fit(X, y)
    >>> round(ball.norm_, 6)
    1.0
    """

    words = _OF_NUMBERS
    constraints = {"loss": AnyOf(OneOf(*words), InstanceOf(Loss))}

    def __init__(
        self,
        kernel: Any = None,
        *,
        loss: Any = "squared",
        alpha: float = 1.0,
        regularizer: Any = "square",
        unpenalized: Any = None,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        solver: Solver | None = None,
        tol: float = TOL,
        max_iter: int = MAX_ITER,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.loss = loss
        self.alpha = alpha
        self.regularizer = regularizer
        self.unpenalized = unpenalized
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.loss, (Hinge, SquaredHinge, Logistic, Multinomial)):
            raise ParameterError(
                f"KernelMachine was given loss={self.loss!r}, a loss of classes; a loss of numbers is accepted. Use "
                f"KernelMachineClassifier(loss={self.loss!r})."
            )
        if isinstance(self.loss, Ordinal):
            raise ParameterError(
                f"KernelMachine was given loss={self.loss!r}, whose thresholds have to be found too; a loss without "
                "parameters of its own is accepted. Use KernelGLM(family='ordinal')."
            )

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelMachine:
        """Fit the function to training data.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) or (n, k) array
            Numbers that the loss accepts.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, Real()) as data:
            require_range(self._loss(), data.values)
            self._fit_values(data, data.values)
        return self

    def linear_predictor(self, X: Any) -> Floats:
        """Return f + b^T m at new data, shape (m,) or (m, k)."""
        values = self._evaluate(X)
        return self.target_.decode(values)

    def predict(self, X: Any) -> Floats:
        """Return the prediction at new data, shape (m,) or (m, k): the mean of the response where the loss has a link.

        Parameters
        ----------
        X : raw data or packed samples
        """
        values = self._evaluate(X)
        if isinstance(self.loss_, HasMean):
            with np.errstate(over="ignore"):
                values = self.loss_.mean(values)
            if not np.isfinite(values).all():
                raise overflow_error(self.kernel_)
        return self.target_.decode(values)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        loss = self.words.get(self.loss) if isinstance(self.loss, str) else self.loss
        tags.target_tags.positive_only = isinstance(loss, (Poisson, Gamma))
        return tags


def _has_probabilities(estimator: Any) -> bool:
    loss = estimator.words.get(estimator.loss) if isinstance(estimator.loss, str) else estimator.loss
    if isinstance(loss, (Logistic, Multinomial)):
        return True
    raise AttributeError(
        f"{type(estimator).__name__} has no predict_proba with loss={estimator.loss!r}; it exists with a loss that "
        "has probabilities. Make the estimator with loss='logistic' or 'multinomial', and fit it."
    )


class KernelMachineClassifier(Certified, ClassifierMixin, RepresenterMachine):
    r"""Classifier of any convex loss and any regulariser: what the representer theorem promises, computed.

    .. math:: \min_{f \in \mathcal{H}, m} \; \sum_i w_i \, \psi\bigl(y_i, f(x_i) + b(x_i)^\top m\bigr)
        + \alpha \, \Omega(\|f\|^2), \qquad y_i \in \{-1, 1\}

    The support vector machine, logistic regression and least squares differ in psi alone. With several classes, each
    has a function against all others; with "multinomial" they are fitted together.

    Seed: [HSS] Theorem 11, Eqs. (49)-(53); [SS] Eqs. (22)-(25), (46), (48).

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        As in `KernelMachine`.
    loss : str or Loss, default "logistic"
        psi, convex, of y = -1 or 1: "logistic", "hinge", "squared_hinge", "squared", a loss with its parameters or of
        your own; or "multinomial", the softmax of all classes.
    alpha : float, default 1.0
        Weight of the regulariser. Positive; C = 1 / alpha is that of support vector machines.
    regularizer, unpenalized : optional
        As in `KernelMachine`; ``unpenalized="constant"`` is the bias of support vector machines.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram, solver, tol, max_iter : optional
        As in `KernelMachine`.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    classes_ : (c,) array
    expansion_, dual_coef_, intercept_, basis_coef_, penalty_, norm_, risk_, objective_, dual_gap_, loss_, n_iter_
        As in `KernelMachine`; one function for two classes, else one per class.
    kernel_, gram_, solver_, solution_ : as in every estimator

    Notes
    -----
    A sample of weight w counts as w copies. As in `KernelMachine`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelMachineClassifier
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> model = KernelMachineClassifier(Gaussian(1.0), loss="hinge", alpha=0.1, unpenalized="constant")
    >>> model.fit(X, list("aabbaa")).predict([[0.5], [2.5]])
    array(['a', 'b'], dtype='<U1')
    """

    words = _OF_CLASSES
    constraints = {"loss": AnyOf(OneOf(*words), InstanceOf(Loss))}

    def __init__(
        self,
        kernel: Any = None,
        *,
        loss: Any = "logistic",
        alpha: float = 1.0,
        regularizer: Any = "square",
        unpenalized: Any = None,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        solver: Solver | None = None,
        tol: float = TOL,
        max_iter: int = MAX_ITER,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.loss = loss
        self.alpha = alpha
        self.regularizer = regularizer
        self.unpenalized = unpenalized
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.loss, (Poisson, Gamma, Binomial, Ordinal)):
            raise ParameterError(
                f"KernelMachineClassifier was given loss={self.loss!r}, a loss of other responses; a loss of classes "
                "-1 and 1 is accepted. Use loss='logistic', or KernelMachine."
            )

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelMachineClassifier:
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
        with fitting(self, X, y, sample_weight, Multiclass()) as data:
            codes, count = data.values, len(self.classes_)
            class_weights(None, self.classes_, codes, data.weight)  # each class needs a sample that counts
            if isinstance(self._loss(), Multinomial):
                values = np.eye(count)[codes]
            else:
                values = 2.0 * (codes if count == 2 else np.eye(count)[codes]) - 1.0
            self._fit_values(data, values)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the function, positive for the second of two classes, shape (m,); of several classes (m, c)."""
        values = self._evaluate(X)
        if values.ndim == 2 and len(self.classes_) == 2:
            return values[:, 1] - values[:, 0]
        return values

    def predict(self, X: Any) -> Array:
        """Return the class of new data, shape (m,)."""
        values = self.decision_function(X)
        codes = (values > 0.0).astype(np.intp) if values.ndim == 1 else np.argmax(values, axis=1)
        return self.classes_[codes]

    @offered_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, shape (m, c); of one class against all others, scaled to sum 1."""
        values = self._evaluate(X)
        if not isinstance(self.loss_, (Logistic, Multinomial)):
            raise NotFittedError(
                f"This {type(self).__name__} was fitted with loss={self.loss_!r} before loss={self.loss!r} was set, so "
                "that it has no probabilities. Call fit again."
            )
        if isinstance(self.loss_, Multinomial):
            return self.loss_.mean(values)
        if values.ndim == 1:
            return np.column_stack([expit(-values), expit(values)])
        P = expit(values)
        total = P.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, P / np.where(total > 0.0, total, 1.0), 1.0 / P.shape[1])
