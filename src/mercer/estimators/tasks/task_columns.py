"""The tasks of samples: a column of a table, or given beside them; and what a fitted machine knows of each task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Floats, Indices, shape_of
from mercer.constraints import AnyOf, Each, InstanceOf, Integer, Interval, Optional
from mercer.domains import Frames, Samples
from mercer.domains.identity import distinct, matches
from mercer.errors import DomainError, ParameterError, TargetError
from mercer.estimators.fits import whole
from mercer.kernels import Kernel, Match
from mercer.kernels.kernel import overflow_error
from mercer.kernels.task_kernels import task_kernel

__all__ = ["Tasked", "TaskedData", "split_tasks"]

_SHARE = Interval(0.0, 1.0)
_PART = "task"  # the part of packed samples that holds tasks which are not a named column


@dataclass(frozen=True, eq=False)
class TaskedData:
    """Samples without their tasks, and the tasks."""

    rest: Any
    tasks: Any

    def __len__(self) -> int:
        return len(self.tasks)


def split_tasks(X: Any, task: Any) -> TaskedData:
    """Return a table without the column of the task, and that column.

    Examples
    --------
    >>> split_tasks(np.array([[1.0, 7.0], [2.0, 8.0]]), 1).tasks
    [7, 8]
    """
    if isinstance(X, Frames):
        part: Any = X.part(task)
        return TaskedData(X, [part.symbols(i)[0] for i in range(len(part))])
    if nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        name = _column(task, frame.columns)
        return TaskedData(frame.drop(name).to_native(), _whole(frame[name].to_list()))
    if isinstance(X, Mapping):
        name = _column(task, list(X))
        return TaskedData({key: value for key, value in X.items() if key != name}, _whole(list(X[name])))
    if isinstance(X, (list, tuple)):
        X = np.asarray(X, dtype=object)
    if not (hasattr(X, "shape") and len(X.shape) == 2):
        raise DomainError(
            f"task={task!r} was given with {type(X).__name__}, which has no columns; a table or a matrix has. Give the "
            "tasks beside the samples, as fit(X, y, tasks=tasks) and predict(X, tasks=tasks)."
        )
    place = _column(task, list(range(X.shape[1])))
    keep = np.setdiff1d(np.arange(X.shape[1]), [place])
    column = X[:, [place]]
    column = column.toarray() if hasattr(column, "toarray") else column
    return TaskedData(X[:, keep], _whole(np.ravel(column).tolist()))


def _column(task: Any, names: list[Any]) -> Any:
    if task in names:
        return task
    if isinstance(task, (int, np.integer)) and -len(names) <= task < len(names):
        return names[task]
    raise DomainError(
        f"task={task!r} was given; the columns are {', '.join(map(str, names[:20]))}. Name the column of the task."
    )


def _whole(values: list[Any]) -> list[Any]:
    """Return values with whole numbers as integers, which a matrix holds as floats."""
    return [int(v) if isinstance(v, float) and v.is_integer() else v for v in values]


class Tasked:
    """What the machines of many tasks add to others: the kernel of tasks, and the packing of tasks.

    Parameters
    ----------
    task : str or int, optional
        The column of the task; None if tasks are given beside the samples, or if there is one task.
    rho : float or sequence of floats
        The share of what the tasks have in common.
    """

    task: Any
    rho: Any
    rho_: float
    kernel_: Kernel
    tasks_: Any
    task_offsets_: Any
    columns_: int | None
    _compares = False  # whether this is a trial of one share among several
    constraints = {
        "task": Optional(AnyOf(InstanceOf(str), Integer(-(10**9)))),
        "rho": AnyOf(_SHARE, Each(_SHARE)),
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None, tasks: Any = None) -> Self:
        """Fit the functions of all tasks.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) array of class labels, or (n,) or (n, T) array of real targets
            Without tasks the columns of a table of numbers are the tasks, and NaN is what was not seen.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.
        tasks : (n,) array, optional
            The task of each sample, if it is not a column of X.

        Returns
        -------
        self
        """
        with whole(self):
            data = self._data(X, tasks)
            data, y, sample_weight = self._by_columns(data, y, sample_weight)
            self._chosen_share(data, y, sample_weight)
            self._fit(data, y, sample_weight)
        return self

    def _fit(self, data: Any, y: Any, sample_weight: Any) -> Any:
        base: Any = super()
        return base.fit(data, y, sample_weight)

    def predict(self, X: Any, tasks: Any = None) -> Any:
        """Return the classes of new data, shape (m,), or the fitted functions there, shape (m,), or (m, T) for columns.

        Parameters
        ----------
        X : raw data or packed samples
        tasks : (m,) array, optional
            The task of each sample, if it is not a column of X.
        """
        check_is_fitted(self)
        base: Any = super()
        if self.columns_ is None or tasks is not None or isinstance(X, TaskedData):
            return base.predict(self._data(X, tasks))
        S = self._pack_rest(X)
        return np.column_stack([base.predict(TaskedData(S, [t] * len(S))) for t in range(self.columns_)])

    # the data -----------------------------------------------------------------------------------------

    def _by_columns(self, data: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
        """Return samples of one task each, where columns of y are the tasks: a sample for each number that was seen."""
        self.columns_ = None
        own = len(shape_of(y)) == 2 and is_regressor(self) and not isinstance(data, (TaskedData, Frames))
        Y: Any = np.asarray(y) if own else np.empty(0)
        if Y.ndim != 2 or Y.shape[1] < 2 or Y.dtype.kind not in "iuf":
            return data, y, weight
        base: Any = super()
        S = base._pack(data)[0]
        if len(S) != len(Y):
            return data, y, weight  # which is refused
        rows, columns = np.nonzero(~np.isnan(Y))
        counts = np.bincount(columns, minlength=Y.shape[1])
        if not counts.all():
            raise TargetError(
                f"Column {int(np.argmin(counts))} of y has no number, all of it is NaN; each column is a task, of "
                "which one sample at least was seen. Leave the column out."
            )
        self.columns_ = Y.shape[1]
        w = None if weight is None else np.asarray(weight, dtype=float)[rows]
        return TaskedData(S.take(rows), columns.tolist()), Y[rows, columns].astype(float), w

    def _data(self, X: Any, tasks: Any) -> Any:
        """Return what is packed: X itself if there is one task, or if it is packed with its tasks."""
        if tasks is not None:
            if self.task is not None:
                raise ParameterError(
                    f"task={self.task!r} and tasks= were given; only one of them is accepted. Leave out the other."
                )
            found = TaskedData(X, _whole(tasks.tolist() if hasattr(tasks, "tolist") else list(tasks)))
        elif self.task is None or isinstance(X, (Frames, TaskedData)):
            return X
        else:
            self.constraints["task"].check("task", self.task, self)  # which decides how X is read
            found = split_tasks(X, self.task)
        count = len(X) if not hasattr(X, "shape") else X.shape[0]
        if not isinstance(X, Mapping) and count != len(found.tasks):
            raise DomainError(
                f"{len(found.tasks)} tasks were given with {count} samples; there must be one for each. Give tasks of "
                "the same length as X."
            )
        return found

    @property
    def _part(self) -> Any:
        return self.task if isinstance(self.task, str) else _PART

    def _pack(self, X: Any) -> tuple[Samples, Kernel]:
        base: Any = super()
        if isinstance(X, TaskedData):
            S, kernel = base._pack(X.rest)
            kernel = task_kernel(kernel, self._part, self._share)
            parts = S.parts if isinstance(S, Frames) else {key: S for key in kernel.parts() if key != self._part}
            return Frames({**parts, self._part: Match().pack(X.tasks)}), kernel
        kernel = base._given_kernel()
        if isinstance(X, Frames) and self._part in X.parts and isinstance(kernel, Kernel):  # packed with its tasks
            kernel = task_kernel(kernel, self._part, self._share)
            return kernel.pack(X), kernel
        return base._pack(X)

    def _pack_new(self, X: Any) -> Samples:
        base: Any = super()
        if not isinstance(X, TaskedData):
            return base._pack_new(X)
        return self._pack_rest(X.rest).with_part(self._part, Match().pack(X.tasks))

    def _pack_rest(self, X: Any) -> Frames:
        """Pack new samples without their tasks."""
        check_is_fitted(self)
        parts = {key: pack for key, pack in self.kernel_.parts().items() if key != self._part}
        return Frames.pack(X, parts)

    def _evaluate(self, X: Any) -> Floats:
        """Return the fitted function at new data."""
        T = self._pack_new(X)
        values = self.expansion_(T, self._resources()) + self._added(T)  # pyright: ignore[reportAttributeAccessIssue]
        if not np.isfinite(values).all():
            raise overflow_error(self.kernel_)
        return values

    def _quick_values(self, X: Any) -> Floats:
        return self._evaluate(X)

    @property
    def _share(self) -> float:
        return float(self.rho) if np.ndim(self.rho) == 0 else float(self.rho_)

    # the share ----------------------------------------------------------------------------------------

    def _chosen_share(self, data: Any, y: Any, sample_weight: Any) -> None:
        """Compare the shares that were given by what left-out samples say, and keep the best as ``rho_``."""
        self._check_parameters()  # pyright: ignore[reportAttributeAccessIssue]
        shares = np.atleast_1d(np.asarray(self.rho, dtype=float))
        self.rho_errors_ = np.full(len(shares), np.nan)
        if len(shares) > 1:
            for place, share in enumerate(shares):
                trial: Any = clone(self)  # pyright: ignore[reportArgumentType]
                trial.rho = float(share)
                trial._compares = True
                self.rho_errors_[place] = trial._fit(data, y, sample_weight).error_
        self.rho_ = float(shares[0] if len(shares) == 1 else shares[int(np.nanargmin(self.rho_errors_))])

    def _has_own(self, tasks: Any) -> bool:
        """Return whether each task has an intercept of its own: tasks that share nothing are machines of their own."""
        return self._share == 0.0 and tasks is not None

    # what is known of the tasks -----------------------------------------------------------------------

    def _groups(self, S: Samples) -> tuple[Samples | None, Indices]:
        """Return the tasks, and the task of each sample; a single task if none are given."""
        if not isinstance(S, Frames) or self._part not in S.parts:
            return None, np.zeros(len(S), dtype=np.intp)
        part = S.part(self._part)
        first, group = distinct(part)
        return part.take(first), group

    def _added(self, T: Samples) -> Floats | float:
        """Return what the intercepts of their tasks add to functions at new samples; nothing for tasks never seen."""
        offsets = getattr(self, "task_offsets_", None)
        if offsets is None or not isinstance(T, Frames):
            return 0.0
        places = matches(T.part(self._part), self.tasks_)
        return np.concatenate([offsets, np.zeros((1, *offsets.shape[1:]))])[places]
