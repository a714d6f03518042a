"""A kernel, a machine and its parameters, chosen automatically for data of any kind.

`automatic` is the function for Python. The command line, which reads files and shows each step, shares its kernels and
the choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

import mercer.kernels
from mercer.arguments import checked
from mercer.arrays import Array
from mercer.budget import Clock
from mercer.constraints import InstanceOf, OneOf, Optional, Positive
from mercer.domains import Strings, Vectors
from mercer.errors import DomainError, TargetError, TimeBudgetError
from mercer.estimators.certificates.assumptions import leave_note
from mercer.first_model.given_rows import doubts, given_rows, require_known
from mercer.first_model.machine_choice import Pace, choose
from mercer.first_model.row_sources import SampleRows, TableRows
from mercer.first_model.table_columns import columns_by_kind, filled_said, kind_of, left_out_said, varying_columns
from mercer.first_model.verdicts import require_scoring
from mercer.io.columns import Column
from mercer.kernels import Gaussian, Kernel, Precomputed
from mercer.selection.automatic import column_kernels, find_task, some_rows, table_kernels, text_kernel
from mercer.selection.tables.first_tables import FEWEST
from mercer.sparse_checks import used_columns
from mercer.targets import Multiclass, Real

__all__ = ["automatic", "source_kernels"]

ALPHABETS = {"dna": "ACGT", "protein": "ACDEFGHIKLMNPQRSTVWY"}  # whose pieces may differ in a letter
LONGEST = 300.0  # mean length of sequences up to which subsequences with gaps are counted
# Of the widths that are tried on sparse rows; the usual one first, which is what is compared when time is short.
FACTORS = (1.0, 0.5, 2.0, 0.25, 4.0, 8.0)
PACKED = {"Trees": "trees", "Graphs": "graphs"}  # collections as `read` returns them, and what is compared


@checked(
    task=Optional(OneOf("classification", "regression")),
    kernel=Optional(InstanceOf(Kernel)),
    scoring=Optional(InstanceOf(str)),
    max_time=Optional(Positive()),
)
def automatic(
    X: Any,
    y: Any,
    *,
    task: str | None = None,
    kernel: Kernel | None = None,
    sample_weight: Any = None,
    groups: Any = None,
    time: Any = None,
    scoring: str | None = None,
    max_time: float | None = None,
) -> Any:
    """Choose a kernel and a machine for data of any kind by what they predict in folds, and fit the machine.

    Parameters
    ----------
    X : table, (n, d) array, sparse matrix, or a list of texts, sequences, trees or graphs
        A table is a frame of pandas, polars or pyarrow, or a dict of columns: numbers, categories and texts are
        distinguished by their values, constant columns and identifiers are left out. Values may be missing (None,
        NaN), here and at prediction (texts: at prediction only if in training too): numbers become the median of
        the column, a missing category is one more category, a missing text the word "missing", and the model sees that
        they were missing.
    y : (n,) array
        Classes or numbers.
    task : "classification" or "regression", optional
        None is decided from y: texts, truth values and few different whole numbers are classes.
    kernel : Kernel, optional
        The only one to try, for data of another kind.
    sample_weight : (n,) array, optional
        Not negative; a row of weight w counts as w copies in the choice, in the fit and in the score.
    groups : (n,) array, optional
        Rows of one group, such as those of one patient, are never on both sides of a split.
    time : (n,) array of numbers, dates or texts that sort, optional
        Rows predicted in folds are later than those learned from, and the rows held out are the latest.
    scoring : str, optional
        The name of a scikit-learn scorer, by which candidates are compared and the score is reported. None is
        "accuracy" or "r2".
    max_time : float, optional
        Seconds for the choice and the fit. Comparisons end after half of them, and the story says so; None compares as
        if 60 were given, and does not limit the fit. A `TimeBudgetError` is raised if time is up before a model is
        chosen; the fit gets the remaining time as the ``max_time`` of the model.

    Returns
    -------
    model : estimator
        Fitted to all samples: KernelRidge or SVR (see `predict_interval`), SVC,
        KernelLogisticRegression or LSSVC, with probabilities. It keeps, also after `mercer.save` and `mercer.load`:

        ``story_``, a list of sentences that say what was done;
        ``leaderboard_``, a list of what was tried, the best first, each with ``name``, ``score``, ``standard_error``,
        ``seconds`` and ``size`` (rows on which it was compared);
        ``score_``, the score of rows that took no part in the choice, with its standard error ``score_error_``, and
        ``baseline_``, that of the constant guess on the same rows;
        ``learning_curve_``, a list of ``rows``, ``score`` and ``standard_error``: the same machine learned from a half,
        a quarter and an eighth of the rows;
        ``held_``, these ``rows``, their ``targets`` and ``predictions``, and the ``probabilities`` of classes;
        ``verdict_``, what follows, in a sentence.

    Notes
    -----
    Of more than 300 samples a quarter (at most 2000) is held out, the choice is made by the others, and the chosen
    machine is fitted to all; of fewer, each quarter is held out in turn, the whole choice made in each, and made once
    more on all. In tables every column gets a length of its own where that predicts better, by the evidence of least
    squares on at most 600 rows; the kernel is the mean of the best three, of a Laplacian kernel and, for classes, of
    the linear one (`mercer.selection.TableEncoder` says how columns become numbers). Then machines of several families
    are compared in five folds of at most 600 samples, the best four in folds of at most 2000; where accuracy is asked
    for, by the probabilities of the right classes.

    Examples
    --------
    >>> import mercer
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = mercer.automatic(X, y)
    >>> type(model).__name__, bool(model.score_ > 0.9)
    ('LSSVC', True)
    """
    clock = Clock.start(max_time)
    found, values = _target(y, task)
    story = [f"{found}, {'as asked' if task else 'by the values of y'}", *doubts(values, found)]
    plain = kernel is None and not sp.issparse(X) and type(X).__name__ not in PACKED
    columns = columns_by_kind(X) if plain else None
    n = len(values)
    given = given_rows(n, require_scoring(scoring, values, found), sample_weight, groups, time)
    table = None if columns is None else varying_columns(X, columns, n)
    if table is not None:
        _require_length(len(next(iter(table[0].values()))), n)
        story += left_out_said(columns or {}) + filled_said(columns or {})
        source: Any = TableRows(*table)
    else:
        kernels = (kernel,) if kernel is not None else candidates_for(X, story, columns)
        source = SampleRows.of(kernels, X)
        _require_length(len(source), n)
    chosen = choose(source, values, found, given, lambda _: _remaining(clock), Pace.of(clock))
    model = chosen.model.set_params(max_time=_remaining(clock))
    model.fit(X, values, **({} if given.weight is None else {"sample_weight": given.weight}))
    model.set_params(max_time=None)
    if kernel is None:  # the widths that were tried are those of the samples
        leave_note(model, None)
    chosen.tell(model, story)
    return model


def _require_length(samples: int, values: int) -> None:
    if samples != values:
        raise TargetError(
            f"X has {samples} samples and y has {values} values; there must be one for each. Give the y "
            "of these samples."
        )


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
    columns = None if sp.issparse(X) else columns_by_kind(X)
    if columns is None:
        raise DomainError(
            "source_kernels was given samples that are not a table; a data frame, a dict of columns or a matrix is "
            "accepted. Give a table."
        )
    absent = [name for name, column in columns.items() if column.missing]
    if absent:
        raise DomainError(
            f"Columns with missing values: {', '.join(map(repr, absent[:10]))}. Fill them in, or leave out these "
            "columns or rows."
        )
    dates = [name for name, column in columns.items() if column.kind == "date"]
    if dates:
        raise DomainError(
            f"Columns of dates: {', '.join(map(repr, dates[:10]))}; numbers, categories and texts have kernels here. "
            "Turn them into numbers, such as days since the first, or leave them out."
        )
    kinds = {name: kind_of(column) for name, column in columns.items()}
    return column_kernels({name: column.values for name, column in columns.items()}, kinds)


def _target(y: Any, task: str | None) -> tuple[str, Array]:
    """Return the task and y as classes or as numbers; problems with y are reported by the target that reads it."""
    require_known(y)
    if task != "classification":
        try:
            numbers = Real().learn(y).encode(y)
        except (TargetError, TypeError, ValueError):
            if task == "regression" or _are_numbers(y):
                raise  # infinity, or what is masked, among numbers
        else:
            if numbers.ndim != 1:
                raise TargetError(
                    f"y has shape {numbers.shape}; one number for each sample is needed. Give one column."
                )
            if task == "regression" or find_task(numbers) == "regression":
                return "regression", numbers
    classes = Multiclass().learn(y)
    return "classification", np.asarray(classes.decode(classes.encode(y)))


def _are_numbers(y: Any) -> bool:
    try:
        return np.asarray(y).dtype.kind in "fc"
    except ValueError:  # rows of different lengths
        return False


def _remaining(clock: Clock) -> float | None:
    if clock.max_time is None:
        return None
    if clock.expired:
        raise TimeBudgetError(
            f"max_time={clock.max_time:g} seconds ran out before a model was chosen. Allow more, or use fewer samples."
        )
    return max(clock.max_time - clock.seconds, 1e-3)


# candidates -------------------------------------------------------------------------------------------------


def candidates_for(X: Any, steps: list[str], columns: Mapping[Any, Column] | None) -> tuple[Kernel, ...]:
    """Return the kernels to choose from for data as Python has them; what is left out is added to `steps`."""
    if sp.issparse(X):
        return sparse_kernels(Vectors.pack(X).X)
    if type(X).__name__ in PACKED:
        return structured_kernels(PACKED[type(X).__name__])
    if columns is not None:
        steps += left_out_said(columns)
        left = [name for name, column in columns.items() if column.kind in ("constant", "identifier")]
        absent = [name for name, column in columns.items() if column.missing and name not in left]
        if absent:
            raise DomainError(
                f"Columns with missing values: {', '.join(map(repr, absent[:10]))}. Fill them in, or leave these "
                "columns or rows out."
            )
        dates = [str(name) for name, column in columns.items() if column.kind == "date"]
        if dates:
            steps.append(f"left out, being dates, for which {FEWEST} rows are needed: {', '.join(dates)}")
        kinds = {name: kind_of(column) for name, column in columns.items()}
        rows = some_rows(len(next(iter(columns.values())).values)) if columns else ()
        some = {name: [column.values[i] for i in rows] for name, column in columns.items()}
        return table_kernels(some, kinds)
    listed = [X] if isinstance(X, (str, bytes)) else list(X)
    texts = [str(x) for x in listed if isinstance(x, str)]
    if texts and len(texts) == len(listed):
        return text_kernels(texts)
    if listed and all(isinstance(x, Mapping) or hasattr(x, "adjacency") for x in listed):
        return structured_kernels("graphs")
    if listed and all(isinstance(x, tuple) for x in listed):
        return structured_kernels("trees")
    if listed and all(isinstance(x, list) and not any(isinstance(symbol, list) for symbol in x) for x in listed):
        return sequence_kernels(listed)
    given = f"samples such as {str(listed[0])[:40]!r}" if listed else "no samples"
    raise DomainError(
        f"X has {given}; automatic() takes tables, arrays, and lists of texts, sequences (lists of "
        "symbols), trees (tuples) or graphs (dicts with edges). Name a kernel for other data: "
        "automatic(X, y, kernel=...)."
    )


def text_kernels(texts: Sequence[str]) -> tuple[Kernel, ...]:
    """Return kernels for texts: of their words and of their letters, of letters alone, or of trees in brackets."""
    usual = text_kernel(texts)
    words = isinstance(usual, mercer.kernels.Normalized) and isinstance(usual.kernel, mercer.kernels.TfIdf)
    if words:
        enough = min(map(len, texts)) >= 4
        return (usual, *((mercer.kernels.Spectrum(4).normalized(),) if enough else ()))
    return structured_kernels("trees") if usual.domain is not Strings else sequence_kernels(texts)


def sequence_kernels(sequences: Sequence[Any]) -> tuple[Kernel, ...]:
    """Return kernels for sequences: pieces with and without changes, subsequences, and places if lengths agree."""
    lengths = [len(sequence) for sequence in sequences]
    shortest = max(1, min(lengths))
    found: list[Kernel] = [mercer.kernels.Spectrum(p) for p in range(1, min(5, shortest) + 1)]
    symbols = {symbol for sequence in sequences for symbol in sequence}
    alphabet = next((name for name, letters in ALPHABETS.items() if symbols <= {*letters}), None)
    if alphabet is not None and shortest >= 4:
        found.append(mercer.kernels.Mismatch(4, 1, alphabet=alphabet))
    if shortest >= 3 and float(np.mean(lengths)) <= LONGEST:
        found.append(mercer.kernels.Subsequence(min(4, shortest)))
    if shortest == max(lengths) >= 5:
        found += [mercer.kernels.WeightedDegree(5), mercer.kernels.WeightedDegree(min(20, shortest), shift=2)]
    return tuple(kernel.normalized() for kernel in found)


def sparse_kernels(X: Any) -> tuple[Kernel, ...]:
    """Return Gaussians at multiples of the root of the total variance of sparse rows."""
    X = X[some_rows(X.shape[0])]
    X, *_ = used_columns(X, X)
    mean = np.asarray(X.mean(axis=0)).ravel()
    variance = float(np.asarray(X.multiply(X).mean(axis=0)).sum() - np.sum(mean**2))
    size = float(f"{np.sqrt(max(variance, 0.0)) or 1.0:.4g}")
    return tuple(Gaussian(factor * size) for factor in FACTORS)


def structured_kernels(kind: str) -> tuple[Kernel, ...]:
    """Return the kernel for a Gram matrix, or those for trees or for graphs."""
    of = mercer.kernels
    if kind == "gram":
        return (Precomputed(),)
    if kind == "trees":
        return of.PartialTree().normalized(), of.SubsetTree().normalized()
    return (
        *(of.WeisfeilerLehman(depth).normalized() for depth in (3, 5)),
        of.ShortestPath().normalized(),
        of.WeisfeilerLehman(2, of.ShortestPath()).normalized(),
        *(of.WeisfeilerLehmanWasserstein(3, length_scale=length) for length in (0.1, 1.0)),
    )
