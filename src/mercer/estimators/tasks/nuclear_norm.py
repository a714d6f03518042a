"""Many tasks that share few functions: a penalty of the singular values of all their weights.

Symbols: K = F F^T with F (n, r), B (r, T) the weights of T tasks, f_t(x_i) = (F B)_it + b_t.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from mercer.arguments import require_squares
from mercer.arrays import Array, Floats, Indices
from mercer.constraints import AnyOf, Boolean, InstanceOf, Integer, Optional, Positive
from mercer.domains import Samples
from mercer.errors import ParameterError, TargetError, warn_caller
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.factors import factor_of, function_of
from mercer.estimators.fits import Run, fitting
from mercer.estimators.tasks.task_columns import TaskedData, split_tasks
from mercer.gram import Gram, GramSpec
from mercer.gram.gram import is_streamed, is_transform
from mercer.hilbert.spectral_penalties import Nuclear, SpectralPenalty
from mercer.losses import Logistic, Squared
from mercer.problems import Status
from mercer.solvers.sparse.spectral_proximal import Observations, SpectralSolution, solve_spectral
from mercer.targets import Multiclass, PartialReal

__all__ = ["NuclearNormClassifier", "NuclearNormRegressor"]
__public__ = __all__


class _FewFunctions(KernelEstimator):
    """What the regressor and the classifier share: columns of tasks, the factor of K, and the solver."""

    alpha: float
    penalty: Any
    task: Any
    fit_intercept: bool
    tol: float
    max_iter: int
    gram: GramSpec | None
    tasks_: Any
    constraints = {
        "alpha": Positive(),
        "penalty": Optional(InstanceOf(SpectralPenalty)),
        "task": Optional(AnyOf(InstanceOf(str), Integer(-(10**9)))),
        "fit_intercept": Boolean(),
        "tol": Positive(),
        "max_iter": Integer(1),
    }

    def _data(self, X: Any, tasks: Any) -> Any:
        if tasks is not None and self.task is not None:
            raise ParameterError(
                f"task={self.task!r} and tasks= were given; only one of them is accepted. Leave out the other."
            )
        if tasks is not None:
            return TaskedData(X, list(tasks))
        if self.task is None or isinstance(X, TaskedData):
            return X
        self.constraints["task"].check("task", self.task, self)  # which decides how X is read
        return split_tasks(X, self.task)

    def _packed(self, data: Any) -> tuple[Samples, Any]:
        return self._pack(data.rest if isinstance(data, TaskedData) else data)

    def _learn_tasks(self, data: Any, count: int) -> Indices | None:
        """Keep the tasks, and return that of each sample; None if samples belong to all."""
        if not isinstance(data, TaskedData):
            self.tasks_ = None
            return None
        if len(data.tasks) != count:
            raise TargetError(
                f"{len(data.tasks)} tasks were given with {count} samples; there must be one for each. Give tasks of "
                "the same length as X."
            )
        self.tasks_, codes = np.unique(np.asarray(data.tasks), return_inverse=True)
        return codes.astype(np.intp)

    def _can_use(self, spec: GramSpec) -> bool:
        return not (is_streamed(spec) or is_transform(spec))  # a factor is needed

    def _minimise(self, K: Gram, seen: Observations, loss: Any, run: Run) -> SpectralSolution:
        """Solve, and keep the functions of all columns."""
        F, back = factor_of(self, K)
        penalty = Nuclear() if self.penalty is None else self.penalty
        penalty.check()
        with run.stage("solver", 1.0):
            monitor = run.solver_monitor(self.tol) if run.watched else None
            found = solve_spectral(
                F,
                seen,
                loss,
                penalty,
                self.alpha,
                intercept=self.fit_intercept,
                tol=self.tol,
                max_iter=self.max_iter,
                monitor=monitor,
            )
        if found.status is not Status.CONVERGED:
            reached = found.trace.residual[-1] if len(found.trace) else np.nan
            warn_caller(f"Proximal gradients stopped at {reached:.3g}. {found.status.value}", ConvergenceWarning)
        self.singular_values_, self.gap_ = found.values[found.values > 0.0], found.gap
        self.rank_, self.n_iter_ = len(self.singular_values_), len(found.trace)
        weights, intercept = found.weights, found.intercept
        if self._is_one():
            weights, intercept = weights[:, 0], intercept[0]
        self.intercept_ = intercept
        self.expansion_ = function_of(K, weights, back, intercept, found.status)
        return found

    def _is_one(self) -> bool:
        return False

    def _of_tasks(self, values: Floats, data: Any, width: int = 1) -> Floats:
        """Return the columns of the task of each sample, (m, width); for a task never seen, the mean of all tasks."""
        if self.tasks_ is None:
            return values
        values = values.reshape(len(values), len(self.tasks_), width)
        if not isinstance(data, TaskedData):
            raise TargetError(
                f"{type(self).__name__} was fitted with tasks, and none are given; each sample needs one. Give "
                "predict(X, tasks=tasks)."
            )
        places = np.searchsorted(self.tasks_, np.asarray(data.tasks))
        places = np.minimum(places, len(self.tasks_) - 1)
        known = self.tasks_[places] == np.asarray(data.tasks)
        own = values[np.arange(len(values)), places]
        return np.where(known[:, None], own, values.mean(axis=1))


class NuclearNormRegressor(MultiOutputMixin, RegressorMixin, _FewFunctions):
    r"""Regression for many tasks that share few functions: the singular values of all weights are penalised.

    .. math:: \min_{B, b} \; \tfrac12 \sum_{(i, t) \text{ seen}} w_i (y_{it} - (F B)_{it} - b_t)^2 +
        \alpha \sum_j s_j(B), \qquad F F^\top = K

    Seed: [SS] Eqs. (29)-(30), with any number of samples for each task; Section 2.5.2 for other penalties.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance. `Linear` is the primal form; `Match` on the numbers of rows is
        matrix completion.
    alpha : float, default 1.0
        Weight of the penalty. Positive.
    penalty : SpectralPenalty, optional
        None is `Nuclear`; see `mercer.hilbert` for `Schatten`, `ElasticNuclear` and `Rank`.
    task : str or int, optional
        The column of the task in X, each sample belonging to one. None if tasks are given as ``fit(X, y,
        tasks=tasks)``; without either, columns of y are tasks, and NaN is what was not seen.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    fit_intercept : bool, default True
        Whether each task has a constant that is not penalised.
    tol : float, default 1e-3
        The duality gap, over the objective without weights.
    max_iter : int, default 5000
        The most steps.
    gram : GramSpec, optional
        How K is held; a factor is needed, or K itself.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    expansion_ : Expansion or FeatureExpansion
        The functions of all tasks.
    intercept_ : float or (T,) array
    tasks_ : (T,) array or None
        The tasks, if samples belong to one each.
    singular_values_ : (rank,) array
        Of the weights, those that are not zero.
    rank_ : int
        How many functions the tasks share.
    gap_ : float
        The duality gap reached; NaN where the penalty is not convex.

    Notes
    -----
    A sample of weight w counts as w copies. Samples of a task never seen get the mean of all tasks. Each step takes a
    product with F and a decomposition of (r, T) weights.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NuclearNormRegressor
    >>> from mercer.kernels import Linear
    >>> X = np.random.default_rng(0).normal(size=(50, 5))
    >>> Y = X[:, :1] * [1.0, 2.0, -1.0]  # one function for three tasks
    >>> NuclearNormRegressor(Linear(), alpha=1.0).fit(X, Y).rank_
    1
    """

    def __init__(
        self,
        kernel: Any = None,
        alpha: float = 1.0,
        *,
        penalty: SpectralPenalty | None = None,
        task: Any = None,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int = 5000,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.penalty = penalty
        self.task = task
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, tasks: Any = None) -> NuclearNormRegressor:
        """Fit the functions of all tasks.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) array, or (n, T) with NaN where nothing was seen
            Real targets.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.
        tasks : (n,) array, optional
            The task of each sample, if it belongs to one and that is not a column of X.

        Returns
        -------
        self
        """
        data = self._data(X, tasks)
        target = PartialReal(single=True)
        with fitting(self, data, y, sample_weight, target, pack=self._packed) as (
            run,
            kernel,
            packed,
            S,
            values,
            w,
            used,
        ):
            codes = self._learn_tasks(data, len(packed))
            if codes is not None and values.ndim == 2:
                raise TargetError(
                    f"y has shape {values.shape} and each sample has a task; one number per sample is accepted. Give "
                    "y as a vector, or leave out the tasks."
                )
            self.kernel_ = kernel.learn(S, None, w)
            K = self._represent(self.kernel_, S, run, until=0.3)
            table = values.reshape(len(S), -1)
            rows, columns = np.nonzero(~np.isnan(table))
            require_squares(table[rows, columns], "y")
            places = columns if codes is None else codes[used][rows]
            count = table.shape[1] if codes is None else len(self.tasks_)
            seen = Observations(rows, places, table[rows, columns], w[rows], (len(S), count))
            self._minimise(K, seen, Squared(), run)
        return self

    def _is_one(self) -> bool:
        return self.tasks_ is None and self.target_.columns is None

    def predict(self, X: Any, tasks: Any = None) -> Floats:
        """Return the fitted functions at new data: (m,), or (m, T) where columns of y are tasks.

        Parameters
        ----------
        X : raw data or packed samples
        tasks : (m,) array, optional
            The task of each sample, if it is not a column of X.
        """
        data = self._data(X, tasks)
        values = self._evaluate(data.rest if isinstance(data, TaskedData) else data)
        if self.tasks_ is not None:
            return self._of_tasks(values, data)[:, 0]
        return self.target_.decode(values)

    def score(self, X: Any, y: Any, sample_weight: Any = None, tasks: Any = None) -> float:
        """Return the share of variance that is explained, as scikit-learn's regressors do."""
        return super().score(X if tasks is None else TaskedData(X, list(tasks)), y, sample_weight)


class NuclearNormClassifier(ClassifierMixin, _FewFunctions):
    r"""Classification in which many tasks, or many classes, share few functions.

    .. math:: \min_{B, b} \; \sum_{i, c} w_i \log(1 + e^{-y_{ic} ((F B)_{ic} + b_c)}) + \alpha \sum_j s_j(B),
        \qquad y_{ic} = \pm 1

    A column for each class against the others, one for two classes; with tasks such columns for each task.

    Seed: [SS] Eqs. (29)-(30), Section 2.5.2, with the logistic loss.

    Parameters
    ----------
    kernel, alpha, penalty, task, gamma, degree, coef0, fit_intercept, tol, max_iter : optional
        As in `NuclearNormRegressor`.
    gram, memory, max_time, n_threads : optional
        As in `NuclearNormRegressor`.

    Attributes
    ----------
    classes_ : (c,) array
    expansion_, intercept_, tasks_, singular_values_, rank_, gap_
        As in `NuclearNormRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NuclearNormClassifier
    >>> from mercer.kernels import Linear
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> NuclearNormClassifier(Linear(), alpha=0.1).fit(X, ["a", "a", "b", "b"]).predict([[3.0]])
    array(['b'], dtype='<U1')
    """

    def __init__(
        self,
        kernel: Any = None,
        alpha: float = 1.0,
        *,
        penalty: SpectralPenalty | None = None,
        task: Any = None,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int = 5000,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.penalty = penalty
        self.task = task
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, tasks: Any = None) -> NuclearNormClassifier:
        """Fit the functions of all classes and tasks.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) array
            Class labels.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.
        tasks : (n,) array, optional
            The task of each sample, if it is not a column of X.

        Returns
        -------
        self
        """
        data = self._data(X, tasks)
        target = Multiclass()
        with fitting(self, data, y, sample_weight, target, pack=self._packed) as (
            run,
            kernel,
            packed,
            S,
            codes,
            w,
            used,
        ):
            own = self._learn_tasks(data, len(packed))
            self.kernel_ = kernel.learn(S, None, w)
            K = self._represent(self.kernel_, S, run, until=0.3)
            width = self._width()
            n = len(S)
            sides = np.where(codes[:, None] == (np.arange(width) if width > 1 else np.array([1])), 1.0, -1.0)
            first = np.zeros(n, dtype=np.intp) if own is None else width * own[used]
            rows, columns = np.repeat(np.arange(n), width), np.tile(np.arange(width), n)
            count = width * (1 if own is None else len(self.tasks_))
            seen = Observations(rows, first[rows] + columns, sides.ravel(), w[rows], (n, count))
            self._minimise(K, seen, Logistic(), run)
        return self

    def _width(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _is_one(self) -> bool:
        return self.tasks_ is None and self._width() == 1

    def decision_function(self, X: Any, tasks: Any = None) -> Floats:
        """Return decision values: (m,) for two classes, positive for the second; else (m, c), the largest wins."""
        data = self._data(X, tasks)
        values = self._evaluate(data.rest if isinstance(data, TaskedData) else data)
        if self.tasks_ is None:
            return values
        own = self._of_tasks(values, data, self._width())
        return own[:, 0] if self._width() == 1 else own

    def predict(self, X: Any, tasks: Any = None) -> Array:
        """Return the class of new data, shape (m,).

        Parameters
        ----------
        X : raw data or packed samples
        tasks : (m,) array, optional
            The task of each sample, if it is not a column of X.
        """
        values = self.decision_function(X, tasks)
        codes = (values > 0).astype(np.intp) if values.ndim == 1 else np.argmax(values, axis=1)
        return self.classes_[codes]

    def score(self, X: Any, y: Any, sample_weight: Any = None, tasks: Any = None) -> float:
        """Return the share of samples whose class is right."""
        return super().score(X if tasks is None else TaskedData(X, list(tasks)), y, sample_weight)
