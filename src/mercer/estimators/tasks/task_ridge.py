"""Ridge regression for many tasks that have something in common.

Symbols: rho the share of what tasks have in common, t_i the task of sample i, K the matrix of the kernel of tasks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.errors import CapabilityError
from mercer.estimators.estimator import scattered
from mercer.estimators.fits import STEPS, Run
from mercer.estimators.squares.ridge import KernelRidge, Weighted
from mercer.estimators.tasks.task_columns import Tasked
from mercer.gram import Gram, GramSpec
from mercer.kernels import Kernel
from mercer.problems import LinearSystem, Solution
from mercer.solvers import Solver
from mercer.spec import derived

__all__ = ["MultiTaskRidge"]
__public__ = __all__


class MultiTaskRidge(Tasked, KernelRidge):
    r"""Ridge regression for many tasks: a function that all tasks share, and a correction for each.

    .. math:: \min_{f_0, f_t} \; \tfrac12 \sum_i w_i (y_i - f_0(x_i) - f_{t_i}(x_i))^2 +
        \tfrac{\alpha}{2} \Bigl( \tfrac1\rho \|f_0\|^2 + \tfrac{1}{1 - \rho} \sum_t \|f_t\|^2 \Bigr)

    which is `KernelRidge` with the kernel :math:`(\rho + (1 - \rho) [t = t']) \, k(x, x')`, see `task_kernel`.

    Seed: [STS] Section 3, regularised multi-task learning, after Evgeniou and Pontil.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        Of the samples without their tasks, as in `KernelRidge`.
    alpha : float, default 1.0
        The ridge. Positive.
    task : str or int, optional
        The column of the task in X. None if tasks are given as ``fit(X, y, tasks=tasks)``; without either the columns
        of y are tasks, NaN where nothing was seen, or there is one.
    rho : float or sequence of floats, default 0.5
        The share of what the tasks have in common, in [0, 1]: 0 gives separate machines, 1 is one machine for all. Of
        several the one with the least squared error of left-out samples is taken.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram, solver : optional
        As in `KernelRidge`.
    fit_intercept : bool, default False
        Whether a constant that is not penalised is added; with ``rho=0`` one for each task.
    leave_one_out : bool, default False
        Whether ``loo_predictions_`` are kept, as in `KernelRidge`.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    rho_ : float
    rho_errors_ : (c,) array
        Mean squared error of left-out samples for each share, if several were given.
    tasks_ : Samples or None
        The tasks, packed.
    columns_ : int or None
        The number of tasks, if they are columns of y.
    task_offsets_ : (t,) or (t, k) array or None
        What the intercept of each task adds to ``intercept_``, with ``rho=0``.
    expansion_, dual_coef_, intercept_, kernel_, gram_, solver_, solution_, loo_predictions_
        As in `KernelRidge`.

    Notes
    -----
    Samples of a task that was never seen are predicted by what the tasks share. Tasks may have any number of samples.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MultiTaskRidge
    >>> from mercer.kernels import Linear
    >>> X = np.array([[1.0, 0], [2.0, 0], [1.0, 1], [2.0, 1]])
    >>> y = [1.0, 2.0, 1.2, 2.4]
    >>> model = MultiTaskRidge(Linear(), alpha=0.01, task=1).fit(X, y)
    >>> model.predict([[3.0, 0], [3.0, 1], [3.0, 2]]).round(1)  # the last is a task never seen
    array([3. , 3.6, 2.2])
    """

    def __init__(
        self,
        kernel: Any = None,
        alpha: float = 1.0,
        *,
        task: Any = None,
        rho: Any = 0.5,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        solver: Solver | None = None,
        fit_intercept: bool = False,
        leave_one_out: bool = False,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.task = task
        self.rho = rho
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.leave_one_out = leave_one_out
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @derived
    def _keeps_factor(self) -> bool:
        return self.leave_one_out or self._compares

    def _fit_at(self, kernel: Kernel, alpha: float, data: Weighted, run: Run) -> tuple[Gram, Solution]:
        """Solve for one kernel and ridge, with an intercept for each task if they share nothing."""
        w = data.weight
        self.tasks_, group = self._groups(data.samples)
        self.task_offsets_ = None
        if self.fit_intercept and self._has_own(self.tasks_):
            K, solution = self._by_task(kernel, alpha, data, group, run)
        else:
            K, solution = super()._fit_at(kernel, alpha, data, run)
        if self._compares:
            if not hasattr(solution.state, "inverse_diagonal"):
                raise CapabilityError(
                    f"Several values of rho were given with {type(self.solver_).__name__}, which keeps no factor; to "
                    "compare them by left-out samples one is needed. Use gram=Dense(), or give one rho."
                )
            errors = solution.coef.T / solution.state.inverse_diagonal()
            self.error_ = float(np.mean(np.square(errors) @ w) / w.sum())
        return K, solution

    def _by_task(self, kernel: Kernel, alpha: float, data: Weighted, group: Any, run: Run) -> tuple[Gram, Solution]:
        S, values, w = data.samples, data.values, data.weight
        self.kernel_ = kernel
        K = self._represent(kernel, S, run, until=0.5 * (1.0 + run.done / STEPS))
        border = np.zeros((len(S), len(self.tasks_)))
        border[np.arange(len(S)), group] = 1.0
        solution = self._solve(LinearSystem(K, alpha / w, values, border), run, until=0.95)
        share = np.bincount(group, weights=w) / w.sum()
        self.intercept_ = share @ solution.multipliers
        self.task_offsets_ = solution.multipliers - self.intercept_
        self.expansion_ = K.expand(solution, self.intercept_)
        self.dual_coef_ = scattered(solution.coef, data.used, data.total)
        return K, solution

    def score(self, X: Any, y: Any, sample_weight: Any = None, tasks: Any = None) -> float:
        """Return the share of variance that is explained, as scikit-learn's regressors do."""
        return super().score(self._data(X, tasks), y, sample_weight)
