"""Support vector machines for many tasks that have something in common.

Symbols: rho the share of what tasks have in common, beta the signed coefficients, F the free support vectors.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.domains import Samples
from mercer.domains.identity import matches
from mercer.estimators.classifier import Part
from mercer.estimators.svm.svc import SVC
from mercer.estimators.svm.svr import SVR
from mercer.estimators.tasks.task_columns import Tasked
from mercer.gram import Gram, GramSpec
from mercer.kernels import Kernel
from mercer.problems import BoxQP, Solution
from mercer.selection.bounds.span_bound import leave_one_out_decisions
from mercer.solvers import Solver

__all__ = ["MultiTaskSVC", "MultiTaskSVR"]
__public__ = __all__

_BLUR = 1e-9  # of the mean diagonal, as in `leave_one_out_decisions`


class _TaskedMachine(Tasked):
    """What both machines share: a sum of coefficients for each task where tasks share nothing."""

    def _learned_kernel(self, kernel: Kernel, S: Samples, y: Any, w: Floats) -> Kernel:
        base: Any = super()
        self.tasks_, group = self._groups(S)
        self.task_offsets_ = None
        self._seen = (y, w, group)
        self._columns: list[Floats] = []
        return base._learned_kernel(kernel, S, y, w)

    def _with_sums(self, program: Any, K: Gram) -> Any:
        """Return a program with one sum for each task, if each has its own intercept."""
        if not self._has_own(self.tasks_):
            return program
        _, group = self._groups(K.samples)
        total = np.zeros(int(group.max()) + 1)
        repeats = getattr(program.gram, "repeats", None)
        return dataclasses.replace(program, group=group if repeats is None else group[repeats], total=total)

    def _mean_bias(self, solution: Solution, K: Any) -> float:
        """Return the mean of the intercepts of the tasks, and keep how far each is from it."""
        part, group = self._groups(K.samples)
        biases = -np.asarray(solution.multipliers, dtype=float)
        mean = float(np.bincount(group) @ biases / len(group))
        column = np.zeros(len(self.tasks_))
        column[matches(part, self.tasks_)] = biases - mean  # pyright: ignore[reportArgumentType]
        self._columns.append(column)
        return mean

    def _keep_offsets(self, one: bool) -> None:
        if self._columns:
            offsets = np.column_stack(self._columns)
            self.task_offsets_ = offsets[:, 0] if one else offsets
        del self._columns, self._seen


class MultiTaskSVC(_TaskedMachine, SVC):
    r"""Support vector classifier for many tasks: a boundary that all tasks share, and a correction for each.

    .. math:: \min_{f_0, f_t, b} \; C \sum_i w_i \max(0, 1 - y_i (f_0(x_i) + f_{t_i}(x_i) + b)) +
        \tfrac{1}{2 \rho} \|f_0\|^2 + \tfrac{1}{2 (1 - \rho)} \sum_t \|f_t\|^2

    which is `SVC` with the kernel :math:`(\rho + (1 - \rho) [t = t']) \, k(x, x')`, see `task_kernel`.

    Seed: [STS] Sections 3 and 9, multi-task and multi-class support vector machines; after Evgeniou and Pontil.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        Of the samples without their tasks, as in `SVC`.
    C : float, default 1.0
        Cost of an error of size one.
    task : str or int, optional
        The column of the task in X. None if tasks are given as ``fit(X, y, tasks=tasks)``; without either there is one
        task.
    rho : float or sequence of floats, default 0.5
        The share of what the tasks have in common, in [0, 1]: 0 gives separate machines, each with its intercept;
        1 is one machine for all. Of several the one with the least hinge loss of left-out
        samples is taken.
    gamma, degree, coef0 : optional
        As in `SVC`.
    loss, multi_class, class_weight : optional
        As in `SVC`.
    tol, max_iter : optional
        As in `SVC`.
    gram, solver, memory, max_time, n_threads : optional
        As in `SVC`.

    Attributes
    ----------
    rho_ : float
    rho_errors_ : (c,) array
        Mean hinge loss of left-out samples for each share, if several were given.
    tasks_ : Samples or None
        The tasks, packed.
    task_offsets_ : (t,) or (t, problems) array or None
        What the intercept of each task adds to ``intercept_``, with ``rho=0``.
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, expansion_, n_iter_, solution_
        As in `SVC`.

    Notes
    -----
    Samples of a task that was never seen are predicted by what the tasks share.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MultiTaskSVC
    >>> from mercer.kernels import Linear
    >>> X, y = np.array([[-1.0], [1.0], [-1.0], [1.0]]), [0, 1, 0, 1]
    >>> model = MultiTaskSVC(Linear(), rho=0.9).fit(X, y, tasks=["a", "a", "b", "b"])
    >>> model.predict([[2.0]], tasks=["c"])
    array([1])
    """

    probability = False
    decision_function_shape = "ovr"
    break_ties = False
    shrinking = True
    cache_size = 512

    def __init__(
        self,
        kernel: Any = None,
        C: float = 1.0,
        *,
        task: Any = None,
        rho: Any = 0.5,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        loss: str = "hinge",
        multi_class: Any = "ovo",
        class_weight: Any = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        gram: GramSpec | None = None,
        solver: Solver | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.task = task
        self.rho = rho
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.gram = gram
        self.solver = solver
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _is_primal(self, K: Gram) -> bool:
        return not (self._has_own(self.tasks_) or self._compares) and super()._is_primal(K)

    def _program(self, K: Gram, sign: Floats, weight: Floats) -> Any:
        return self._with_sums(super()._program(K, sign, weight), K)

    def _function(self, part: Part) -> tuple[Floats, float]:
        if not self._has_own(self.tasks_):
            return super()._function(part)
        assert part.solution is not None
        return part.solution.coef, self._mean_bias(part.solution, part.problem.gram)

    def _describe(self, parts: list[Part]) -> None:
        if self._compares:
            losses = [part.weight @ np.maximum(0.0, 1.0 - part.sign * self._left_out(part)) for part in parts]
            self.error_ = float(np.sum(losses) / np.sum([part.weight.sum() for part in parts]))
        self._keep_offsets(len(self.classes_) == 2)

    def _left_out(self, part: Part) -> Floats:
        """Return decision values without each sample; where tasks share nothing, task by task."""
        if not self._has_own(self.tasks_):
            return super()._left_out(part)
        assert part.solution is not None
        problem, beta, product = part.problem, part.solution.coef, part.product()
        values = np.empty(len(beta))
        for g, rho in enumerate(part.solution.multipliers):
            own = np.flatnonzero(problem.group == g)
            ridge = np.broadcast_to(np.asarray(problem.ridge, dtype=float), beta.shape)[own]
            box = problem.lower[own], problem.upper[own]
            values[own] = leave_one_out_decisions(problem.gram.take(own), beta[own], *box, product[own] - rho, ridge)
        return values

    def decision_function(self, X: Any, tasks: Any = None) -> Floats:
        """Return decision values, as `SVC` does."""
        return super().decision_function(self._data(X, tasks))

    def score(self, X: Any, y: Any, sample_weight: Any = None, tasks: Any = None) -> float:
        """Return the share of samples whose class is right."""
        return super().score(self._data(X, tasks), y, sample_weight)


class MultiTaskSVR(_TaskedMachine, SVR):
    r"""Support vector regression for many tasks: a function that all tasks share, and a correction for each.

    .. math:: \min_{f_0, f_t, b} \; C \sum_i w_i \max(0, |y_i - f_0(x_i) - f_{t_i}(x_i) - b| - \epsilon) +
        \tfrac{1}{2 \rho} \|f_0\|^2 + \tfrac{1}{2 (1 - \rho)} \sum_t \|f_t\|^2

    Seed: [STS] Section 3, regularised multi-task learning, after Evgeniou and Pontil.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        Of the samples without their tasks, as in `SVR`.
    C, epsilon : float, "spread" or None, default None
        Cost of an error of size one outside the tube, and half-width of the tube, as in `SVR`.
    task : str or int, optional
        The column of the task in X. None if tasks are given as ``fit(X, y, tasks=tasks)``; without either the columns
        of y are tasks, NaN where nothing was seen, or there is one.
    rho : float or sequence of floats, default 0.5
        The share of what the tasks have in common, as in `MultiTaskSVC`. Of several the one with the least loss of
        left-out samples is taken, by the span of the support vectors: those that are free stay so.
    gamma, degree, coef0 : optional
        As in `SVR`.
    tol, max_iter, shrinking, cache_size : optional
        As in `SVR`.
    gram, solver, memory, max_time, n_threads : optional
        As in `SVR`.

    Attributes
    ----------
    rho_, rho_errors_, tasks_, task_offsets_
        As in `MultiTaskSVC`; the loss is the mean of what sticks out of the tube.
    C_, epsilon_ : float or (k,) array
    support_, support_vectors_, n_support_, dual_coef_, intercept_, expansion_, n_iter_, solution_
        As in `SVR`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MultiTaskSVR
    >>> from mercer.kernels import Linear
    >>> X = np.array([[1.0, 0], [2.0, 0], [1.0, 1], [2.0, 1]])
    >>> model = MultiTaskSVR(Linear(), C=100.0, epsilon=0.0, task=1, rho=0.0).fit(X, [1.0, 2.0, 11.0, 12.0])
    >>> model.predict([[3.0, 0], [3.0, 1]]).round(1)
    array([ 3., 13.])
    """

    def __init__(
        self,
        kernel: Any = None,
        C: float | str | None = None,
        *,
        epsilon: float | str | None = None,
        task: Any = None,
        rho: Any = 0.5,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        shrinking: bool = True,
        cache_size: float = 512,
        gram: GramSpec | None = None,
        solver: Solver | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon
        self.task = task
        self.rho = rho
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.gram = gram
        self.solver = solver
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _program(self, K: Gram, y: Floats, weight: Floats, *sizes: float) -> BoxQP:
        return self._with_sums(super()._program(K, y, weight, *sizes), K)

    def _bias(self, solution: Solution) -> float:
        if not self._has_own(self.tasks_):
            return super()._bias(solution)
        return self._mean_bias(solution, self._gram)

    def _store(self, K: Gram, coef: Floats, solutions: list[Solution], used: Indices, S: Any) -> None:
        self._gram = K
        y, w, group = self._seen
        super()._store(K, coef, solutions, used, S)
        self._keep_offsets(self._is_one())
        if self._compares:
            self.error_ = self._left_out_loss(K, coef, y.reshape(len(y), -1), w, group)
        del self._gram

    def _left_out_loss(self, K: Gram, coef: Floats, y: Floats, w: Floats, group: Indices) -> float:
        """Return the mean loss of left-out samples by the span of the free support vectors."""
        own = self._has_own(self.tasks_)
        border = np.eye(int(group.max()) + 1)[group] if own else np.ones((len(y), 1))
        offsets = 0.0 if self.task_offsets_ is None else np.reshape(self.task_offsets_, (len(self.tasks_), -1))[group]
        values = K @ coef + self.intercept_ + offsets
        total = 0.0
        for column, (C, epsilon) in enumerate(zip(np.ravel(self.C_), np.ravel(self.epsilon_), strict=True)):
            left_out = values[:, column] - _span_moves(K, coef[:, column], C * w, border)
            total += float(w @ np.maximum(0.0, np.abs(y[:, column] - left_out) - epsilon))
        return total / (float(w.sum()) * y.shape[1])

    def score(self, X: Any, y: Any, sample_weight: Any = None, tasks: Any = None) -> float:
        """Return the share of variance that is explained, as scikit-learn's regressors do."""
        return super().score(self._data(X, tasks), y, sample_weight)


def _span_moves(K: Any, beta: Floats, limit: Floats, border: Floats) -> Floats:
    """Return beta_i times the squared distance of each support vector from the flat through the free ones.

    This is how far the value at a sample falls when it is left out, as long as the free support vectors stay free.
    """
    size = np.abs(beta)
    free = np.flatnonzero((size > 0.0) & (size < limit * (1.0 - 1e-10)))
    bound = np.flatnonzero(size >= limit * (1.0 - 1e-10))
    diagonal = np.asarray(K.diag(), dtype=float)
    moves = np.zeros(len(beta))
    used = border[free].any(axis=0)
    B = border[:, used]
    top = np.asarray(K.rows(free, free), dtype=float) + _BLUR * diagonal.mean() * np.eye(len(free))
    M = np.block([[top, B[free]], [B[free].T, np.zeros((B.shape[1], B.shape[1]))]])
    inverse = np.linalg.pinv(M, hermitian=True)
    own = np.diagonal(inverse)[: len(free)]
    moves[free] = np.divide(beta[free], own, out=np.zeros(len(free)), where=own > 1e-12)
    if len(bound):
        V = np.vstack([np.asarray(K.rows(free, bound), dtype=float).reshape(len(free), len(bound)), B[bound].T])
        span = diagonal[bound] - np.einsum("ij,ij->j", V, inverse @ V)
        moves[bound] = beta[bound] * np.maximum(span, 0.0)
    return moves
