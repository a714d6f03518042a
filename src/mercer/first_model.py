"""The first model: a kernel, a machine and its parameters, chosen automatically for data of any kind.

`automatic` is the function for Python. The command line, which reads files and shows each step, shares its kernels and
`choose`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp

import mercer.estimators  # names are imported on use
import mercer.kernels
from mercer.arguments import checked
from mercer.arrays import Array, real_numbers
from mercer.budget import Clock
from mercer.choosing import Found, LeaveOneOut, left_out_predictions, search
from mercer.constraints import InstanceOf, OneOf, Optional, Positive
from mercer.domains import Samples, Vectors
from mercer.domains.missing_values import is_missing
from mercer.errors import DomainError, TargetError, TimeBudgetError
from mercer.estimators.certificates.assumptions import leave_note
from mercer.io.columns import Column, number_column, numbers_identify, text_column
from mercer.kernels import Gaussian, Kernel, Precomputed
from mercer.runtime.tiling import serial_blas
from mercer.selection.automatic import (
    COARSE,
    RIDGES,
    column_kernels,
    find_task,
    packed_for,
    some_rows,
    table_kernels,
    text_kernel,
)
from mercer.sparse_checks import used_columns
from mercer.targets import Multiclass, Real

__all__ = ["automatic", "source_kernels"]

MOST_ROWS = 50_000  # beyond, a support vector machine takes minutes; the nearest mean does not
MOST_CLASSES = 20  # each pair of them is a problem
MOST_CALIBRATED = 10_000  # rows up to which probabilities add little to the time of the fit
COSTS = (1.0, 10.0, 100.0)
FIRST_COST = 10.0  # at which kernels are compared
KEPT = 3  # kernels that are tried at the other costs
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # of the widths that are tried on sparse rows


@checked(
    task=Optional(OneOf("classification", "regression")),
    kernel=Optional(InstanceOf(Kernel)),
    max_time=Optional(Positive()),
)
def automatic(
    X: Any, y: Any, *, task: str | None = None, kernel: Kernel | None = None, max_time: float | None = None
) -> Any:
    """Choose a kernel and a machine for data of any kind by leave-one-out, and fit the machine.

    Parameters
    ----------
    X : table, (n, d) array, sparse matrix, or a list of texts, sequences, trees or graphs
        A table is a frame of pandas, polars or pyarrow, or a dict of columns: numbers, categories and texts are
        distinguished by their values, constant columns and identifiers are left out. No value may be missing.
    y : (n,) array
        Classes or numbers.
    task : "classification" or "regression", optional
        None is decided from y: texts, truth values and few different whole numbers are classes.
    kernel : Kernel, optional
        The only one to try, for data of another kind.
    max_time : float, optional
        Seconds for the choice and the fit. A `TimeBudgetError` is raised if they end before a model is chosen; the fit
        has what is left of them as the ``max_time`` of the model.

    Returns
    -------
    model : KernelRidge, SVC or KernelMeanClassifier
        Fitted to all samples. ``model.story_`` is a list of sentences that say what was chosen and why, and
        ``model.score_`` the R^2 or the accuracy of the predictions of samples left out.

    Notes
    -----
    At most 2000 samples, drawn once, decide; ridge regression is compared by leave-one-out in closed form,
    support vector machines by exact leave-one-out on at most 600 samples.

    Examples
    --------
    >>> import mercer
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = mercer.automatic(X, y)
    >>> type(model).__name__, bool(model.score_ > 0.9)
    ('SVC', True)
    """
    clock = Clock.start(max_time)
    found, values = _target(y, task)
    story = [f"{found}, {'as asked' if task else 'by the values of y'}"]
    kernels = (kernel,) if kernel is not None else candidates_for(X, story)
    S = kernels[0].pack(X)
    if len(S) != len(values):
        raise TargetError(
            f"X has {len(S)} samples and y has {len(values)} values; there must be one for each. Give the y "
            "of these samples."
        )
    rows, n = some_rows(len(values)), len(values)
    chosen = choose(kernels, S.take(rows), values[rows], n, found, lambda _: _remaining(clock))
    if len(chosen.rows) < n:
        story.append(f"{len(chosen.rows)} of {n} samples, drawn at random once, decided")
    model = chosen.model.set_params(max_time=_remaining(clock))
    model.fit(X, values)
    model.set_params(max_time=None)
    if kernel is None:  # the widths that were tried are those of the samples
        leave_note(model, None)
    model.story_ = [*story, *chosen.steps]
    model.score_ = chosen.score
    return model


def source_kernels(X: Any) -> dict[str, Kernel]:
    """Return one kernel for each column of a table, to be weighed by a learner with several kernels.

    Numbers are compared by a Gaussian kernel at their standard deviation, categories by equality, texts by tf-idf or by
    their substrings; constant columns and identifiers are left out.

    Parameters
    ----------
    X : table
        As in `automatic`. No value may be missing.

    Returns
    -------
    dict of str to Kernel
        By the names of the columns. Add kernels of columns that hold other things, such as graphs:
        ``{**source_kernels(table), "molecule": WeisfeilerLehman(3).normalized().on("molecule")}``.

    Examples
    --------
    >>> import mercer
    >>> table = {"age": [20.0, 30.0, 40.0, 70.0], "city": ["Oslo", "Rome", "Oslo", "Rome"]}
    >>> mercer.source_kernels(table)
    {'age': Gaussian(18.71).on('age'), 'city': Match().on('city')}
    """
    columns = _columns(X)
    if columns is None:
        raise DomainError(
            "source_kernels was given samples that are no table; a data frame, a dict of columns or a matrix is "
            "accepted. Give a table."
        )
    kinds = {name: "number" if column.kind == "boolean" else column.kind for name, column in columns.items()}
    return column_kernels({name: column.values for name, column in columns.items()}, kinds)


def _target(y: Any, task: str | None) -> tuple[str, Array]:
    """Return the task and y as classes or as numbers; problems with y are reported by the target that reads it."""
    if task != "classification":
        try:
            numbers = Real().learn(y).encode(y)
        except (TargetError, TypeError, ValueError):
            if task == "regression":
                raise
        else:
            if numbers.ndim != 1:
                raise TargetError(
                    f"y has shape {numbers.shape}; one number for each sample is needed. Give one column."
                )
            if task == "regression" or find_task(numbers) == "regression":
                return "regression", numbers
    classes = Multiclass().learn(y)
    return "classification", np.asarray(classes.decode(classes.encode(y)))


def _remaining(clock: Clock) -> float | None:
    if clock.max_time is None:
        return None
    if clock.expired:
        raise TimeBudgetError(
            f"max_time={clock.max_time:g} seconds were over before a model was chosen. Allow more, or use fewer "
            "samples."
        )
    return max(clock.max_time - clock.seconds, 1e-3)


# candidates -------------------------------------------------------------------------------------------------


def candidates_for(X: Any, steps: list[str]) -> tuple[Kernel, ...]:
    """Return the kernels to choose from for data as Python has them; what is left out is added to `steps`."""
    if sp.issparse(X):
        return sparse_kernels(Vectors.pack(X).X)
    columns = _columns(X)
    if columns is not None:
        left = [name for name, column in columns.items() if column.kind in ("constant", "identifier")]
        if left:
            steps.append(f"left out, being constant or naming the rows: {', '.join(map(str, left))}")
        absent = [name for name, column in columns.items() if column.missing and name not in left]
        if absent:
            raise DomainError(
                f"Columns with missing values: {', '.join(map(repr, absent[:10]))}. Fill them in, or leave these "
                "columns or rows out."
            )
        kinds = {name: "number" if column.kind == "boolean" else column.kind for name, column in columns.items()}
        rows = some_rows(len(next(iter(columns.values())).values)) if columns else ()
        some = {name: [column.values[i] for i in rows] for name, column in columns.items()}
        return table_kernels(some, kinds)
    listed = [X] if isinstance(X, (str, bytes)) else list(X)
    texts = [str(x) for x in listed if isinstance(x, str)]
    if texts and len(texts) == len(listed):
        return (text_kernel(texts),)
    if listed and all(isinstance(x, Mapping) or hasattr(x, "adjacency") for x in listed):
        return structured_kernels("graphs")
    if listed and all(isinstance(x, tuple) for x in listed):
        return structured_kernels("trees")
    if listed and all(isinstance(x, list) for x in listed):
        return sequence_kernels(listed)
    given = f"samples such as {str(listed[0])[:40]!r}" if listed else "no samples"
    raise DomainError(
        f"X has {given}; automatic() takes tables, arrays, and lists of texts, sequences (lists of "
        "symbols), trees (tuples) or graphs (dicts with edges). Name a kernel for other data: "
        "automatic(X, y, kernel=...)."
    )


def _columns(X: Any) -> dict[Any, Column] | None:
    """Return the columns of a table or of an array with their kinds; None if X is neither."""
    if isinstance(X, Mapping):
        return {name: _column(str(name), np.asarray(values)) for name, values in X.items()}
    frame = nw.from_native(X, pass_through=True, eager_only=True)
    if isinstance(frame, nw.DataFrame):
        return {name: _column(name, frame[name].to_numpy()) for name in frame.columns}
    if isinstance(X, np.ndarray) and X.dtype.kind in "OUS" and X.ndim == 1:  # an array of texts, trees or graphs
        return None
    if isinstance(X, np.ndarray) or _is_matrix(X) or not isinstance(X, Sequence):
        array = np.asarray(Vectors.pack(X).X, dtype=float)  # says what is wrong, if it is no table of numbers
        return {j: number_column(array[:, j]) for j in range(array.shape[1])}
    return None


def _is_matrix(X: Any) -> bool:
    """Return whether X is a list of rows of numbers."""
    rows = X if isinstance(X, (list, tuple)) else ()
    if not rows or not all(isinstance(row, (list, tuple, np.ndarray)) and len(row) for row in rows):
        return False
    return all(isinstance(value, (int, float, np.number)) for value in rows[0]) and len({len(row) for row in rows}) == 1


def _column(name: str, values: Any) -> Column:
    """Return one column; numbers must be finite, texts are texts."""
    values = np.ma.asarray(values) if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    if values.ndim != 1 or isinstance(values, np.ma.MaskedArray) or values.dtype.kind not in "fiubOU":
        raise DomainError(
            f"Column {name!r} is of type {values.dtype} and shape {values.shape}; columns of numbers, truth values or "
            "texts are taken. Turn dates into numbers, such as days since the first; fill in what is masked."
        )
    if values.dtype.kind in "fiub":
        numbers = values.astype(float)
        if np.isinf(numbers).any():
            raise DomainError(f"Column {name!r} holds infinity; numbers must be finite. Replace or drop these rows.")
        column = number_column(numbers)
        return Column(column.values, "identifier", 0) if numbers_identify(name, numbers) else column
    odd = next((v for v in values if not (isinstance(v, (str, bool, int)) or is_missing(v))), None)
    if odd is not None:
        raise DomainError(
            f"Column {name!r} holds {str(odd)[:40]!r} of type {type(odd).__name__}; columns of numbers, truth values "
            "or texts are taken. Turn it into one of them, or leave the column out."
        )
    return text_column(name, [None if is_missing(value) else str(value) for value in values])


def sequence_kernels(sequences: Sequence[Any]) -> tuple[Kernel, ...]:
    """Return spectrum kernels of lengths up to five; the shortest is the last, since it wins a tie."""
    shortest = min(map(len, sequences))
    return tuple(mercer.kernels.Spectrum(p).normalized() for p in range(max(1, min(5, shortest)), 0, -1))


def sparse_kernels(X: Any) -> tuple[Kernel, ...]:
    """Return Gaussians at multiples of the root of the total variance of sparse rows."""
    X = X[some_rows(X.shape[0])]
    X, *_ = used_columns(X, X)
    mean = np.asarray(X.mean(axis=0)).ravel()
    variance = float(np.asarray(X.multiply(X).mean(axis=0)).sum() - np.sum(mean**2))
    size = float(f"{np.sqrt(max(variance, 0.0)) or 1.0:.4g}")
    return tuple(Gaussian(factor * size) for factor in FACTORS)


def structured_kernels(kind: str) -> tuple[Kernel, ...]:
    """Return the kernel for a Gram matrix, for trees or for graphs."""
    if kind == "gram":
        return (Precomputed(),)
    kernel = mercer.kernels.PartialTree() if kind == "trees" else mercer.kernels.WeisfeilerLehman(3)
    return (kernel.normalized(),)


# the choice -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chosen:
    """A model to be fitted, its predictions of rows left out, which rows these were, and how it was found."""

    model: Any
    predictions: Array
    rows: Array
    score: float
    steps: list[str]


def choose(kernels: Sequence[Kernel], X: Any, y: Array, n: int, task: str, watch: Callable[[float], Any]) -> Chosen:
    """Choose by leave-one-out on the rows given, for a model that will have n of them."""
    return (_classifier if task == "classification" else _regressor)(tuple(kernels), X, y, n, watch)


def _regressor(kernels: tuple[Kernel, ...], X: Any, y: Array, n: int, watch: Callable[[float], Any]) -> Chosen:
    """Ridge regression with an intercept: the kernel by some of the rows, then the ridge by all of them."""
    y = real_numbers(y, "y", TargetError)
    S = packed_for(kernels, X, y)
    centre = float(y.mean())
    unit = float(np.abs(y - centre).max()) or 1.0  # so that squares neither overflow nor vanish
    values, few = (y - centre) / unit, some_rows(len(y), COARSE)
    twice = len(few) < len(y)
    first = _ridge(kernels, S.take(few), values[few], lambda share: watch(0.5 * share if twice else share))
    kernel, alpha = first["kernel"], first["alpha"]
    if twice:
        alpha = _ridge((kernel,), S, values, lambda share: watch(0.5 + 0.5 * share))["alpha"]
    model = mercer.estimators.KernelRidge(kernel, alpha=alpha, fit_intercept=True)
    left_out = left_out_predictions(model, S, values, relearn=False)
    total = float(np.sum(values**2)) or 1.0
    score = 1.0 - float(np.sum((left_out - values) ** 2)) / total
    steps = [f"{_compared(len(kernels))} by closed-form leave-one-out"]
    return Chosen(model, centre + unit * left_out, np.arange(len(y)), score, steps)


def _ridge(kernels: Sequence[Kernel], S: Samples, y: Array, watch: Callable[[float], Any]) -> dict[str, Any]:
    """Return the kernel and the ridge of least error of the rows left out, ridges in units of the mean of k(x, x)."""
    grids = []
    for kernel in kernels:
        T = kernel.pack(S)
        size = float(np.mean(kernel.learn(T, y).diag(T))) or 1.0
        grids.append({"kernel": [kernel], "alpha": [float(f"{size * ridge:.4g}") for ridge in RIDGES[::-1]]})
    model = mercer.estimators.KernelRidge(kernels[0], fit_intercept=True)
    found = search(model, S, y, grids, criterion=LeaveOneOut(relearn=False), refit=False, progress=watch)
    # of ridges that are equal up to rounding the largest, which comes first, is the simplest model
    places = np.round(found.values / (float(np.mean(y**2)) or 1.0), 9)
    return found.params[int(np.nanargmin(places))]


def _classifier(kernels: tuple[Kernel, ...], X: Any, y: Array, n: int, watch: Callable[[float], Any]) -> Chosen:
    """The better one of a support vector machine and the nearest mean, by leaving one out of the same rows."""
    S = packed_for(kernels, X, y)
    few = some_rows(len(y), COARSE)
    counts = np.unique(y[few], return_counts=True)[1]
    means = _means(kernels, S.take(few), y[few])
    steps = [f"{_compared(len(kernels))} by leave-one-out"]
    if n <= MOST_ROWS and 2 <= len(counts) <= MOST_CLASSES and counts.max() > 1:
        kernel, C, score = _margin(kernels, S.take(few), y[few], watch)
        rivals = f"accuracy {score:.3f} by SVC, {means[1]:.3f} by KernelMeanClassifier"
        steps = [f"{_compared(len(kernels), f' and {len(COSTS)} costs C')} by leave-one-out: {rivals}"]
        if score >= means[1]:
            left_out = left_out_predictions(mercer.estimators.SVC(kernel, C=C), S.take(few), y[few], relearn=False)
            model = mercer.estimators.SVC(kernel, C=C, probability=n <= MOST_CALIBRATED)
            return Chosen(model, left_out, few, score, steps)
    if len(few) < len(y):
        means = _means(kernels, S, y, watch)
    model = mercer.estimators.KernelMeanClassifier(means[0])
    return Chosen(model, left_out_predictions(model, S, y, relearn=False), np.arange(len(y)), means[1], steps)


def _means(
    kernels: Sequence[Kernel], S: Samples, y: Array, watch: Callable[[float], Any] | None = None
) -> tuple[Kernel, float]:
    """Return the kernel of the best nearest-mean classifier and its share of hits; of equals the last, smoothest."""
    model = mercer.estimators.KernelMeanClassifier(kernels[0])
    grid = {"kernel": list(kernels)[::-1]}
    found = search(model, S, y, grid, criterion=LeaveOneOut(relearn=False), refit=False, progress=watch)
    return found.best_params["kernel"], 1.0 - found.best_value


def _margin(
    kernels: Sequence[Kernel], S: Samples, y: Array, watch: Callable[[float], Any]
) -> tuple[Kernel, float, float]:
    """Return kernel, cost and share of hits of the best support vector machine.

    All kernels are compared at one cost, the best of them at the others; of equals the smallest cost is taken, and then
    the smoothest kernel.
    """
    model, kept = mercer.estimators.SVC(kernels[0]), min(KEPT, len(kernels))
    total = len(kernels) + kept

    def tried(some: Sequence[Kernel], costs: Sequence[float], before: int) -> Found:
        return search(
            model, S, y, {"kernel": list(some), "C": list(costs)}, criterion=LeaveOneOut(relearn=False), refit=False,
            progress=lambda share: watch((before + share * len(some)) / total),
        )  # fmt: skip

    with serial_blas():  # matrices this small are done before a second thread has woken up
        first = tried(kernels[::-1], [FIRST_COST], 0)
        best = [first.params[i]["kernel"] for i in np.argsort(first.values, kind="stable")[:kept]]
        others = tried(best, [C for C in COSTS if C != FIRST_COST], len(kernels))
    order = {id(kernel): place for place, kernel in enumerate(kernels)}
    rows = [*zip(first.params, first.values, strict=True), *zip(others.params, others.values, strict=True)]
    params, error = min(rows, key=lambda row: (row[1], row[0]["C"], -order[id(row[0]["kernel"])]))
    return params["kernel"], float(params["C"]), 1.0 - float(error)


def _compared(kernels: int, more: str = "") -> str:
    if kernels > 1:
        return f"{kernels} kernels{more} were compared"
    return f"one kernel{more} were compared" if more else "one kernel was tried"
