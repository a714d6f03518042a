"""The ways in which ``mercer fit`` comes to a model: found, as asked, mixed of columns, or grown."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector, is_regressor

import mercer.estimators  # whose names are imported when they are used
import mercer.gram
import mercer.io
from mercer.arrays import Array, Floats
from mercer.budget import Clock
from mercer.cli.failures import UsageFault
from mercer.cli.fit_outcome import Outcome
from mercer.cli.inputs import Problem, is_bags, is_known, is_links, kernel_read, samples, usable_columns
from mercer.cli.score_lines import Checked, cross_validated, said, scores, splits, weighted
from mercer.cli.terminal import Terminal
from mercer.domains import Samples
from mercer.errors import TimeBudgetError
from mercer.estimators.certificates.assumptions import leave_note
from mercer.first_model.given_rows import doubts, given_rows
from mercer.first_model.machine_choice import Pace, choose
from mercer.first_model.row_sources import SampleRows, TableRows
from mercer.first_model.verdicts import Held, require_scoring
from mercer.io.limits import FileError, shown
from mercer.io.tables import Table
from mercer.kernels import Kernel
from mercer.selection.automatic import column_kernels, find_task, some_rows, table_kernels
from mercer.selection.tables.first_tables import is_encoded
from mercer.selection.tables.table_encoder import with_dates

__all__ = ["as_asked", "automatic", "distributed", "grown", "linked", "mixed", "tagged"]


def automatic(request: Any, problem: Problem, clock: Clock, terminal: Terminal) -> Outcome:
    """Find kernel, machine and parameters, and judge them by rows that took no part in the choice."""
    assert problem.y is not None
    task = request.task or find_task(problem.y)
    y = problem.y if task == "classification" else _numbers(problem)
    steps = [_why(task, request, problem), *doubts(y, task)]
    table = _varying(problem, steps) if isinstance(problem.data, Table) else None
    if table is not None and is_encoded(table[1], problem.n):
        source: Any = TableRows(*table)
    else:
        kernels = _candidates(problem, steps)
        source = SampleRows.of(kernels, samples(problem.data, kernels[0])[0])
    rows = problem.rows
    given = given_rows(problem.n, require_scoring(request.metric, y, task), rows.weights, rows.groups, rows.time)
    with terminal.progress("choosing") as bar:
        watch = lambda fraction: (bar(fraction), _time_left(clock))  # noqa: E731
        choice = choose(source, y, task, given, watch, Pace.of(clock), terminal.tried)
    X = samples(problem.data, choice.model.kernel)[0]
    _fit(_budgeted(choice.model, request, clock), X, y, request, terminal, rows.weights)
    leave_note(choice.model, None)  # kernels that the rows suggested
    choice.tell(choice.model, steps)
    held = choice.held
    found = scores(task, y[held.rows], held.predictions) if len(held.rows) else {}
    if request.metric is not None:
        found = {request.metric: choice.judgement.score, **found}
    return Outcome(choice.model, X, y, task, found, choice.method, choice.model.story_, choice.held)


def _varying(problem: Problem, steps: list[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the columns that vary and their kinds; what is left out or filled in is added to the steps."""
    data = problem.data
    assert isinstance(data, Table)
    left = data.of_kind("constant", "identifier")
    if left:
        steps.append(f"left out, being constant or naming the rows: {', '.join(left)}")
    if len(left) == len(data.names):
        raise FileError(
            data.path,
            f"No column is left to compare rows by; constant or naming the rows: {', '.join(map(shown, left))}.",
            "Add a column of numbers, categories or texts that vary.",
            line=1,
        )
    kept = {name: values for name, values in data.columns.items() if name not in left}
    kinds = {name: "number" if data.kinds[name] == "boolean" else data.kinds[name] for name in kept}
    absent = [name for name in kept if data.missing[name]]
    if absent:
        steps.append(importlib.import_module("mercer.first_model.table_columns").missing_said(absent))
    return kept, with_dates(kept, kinds)


def as_asked(request: Any, problem: Problem, estimator: Any, clock: Clock, terminal: Terminal) -> Outcome:
    """Fit the estimator that was asked for, and judge it by folds."""
    kernel = kernel_read(estimator)
    X, used = samples(problem.data, kernel)
    steps = []
    table = problem.data.table if is_bags(problem.data) else problem.data
    left = [name for name in usable_columns(table) if used and name not in used]
    if left:
        steps.append(f"columns that the kernel does not read: {', '.join(left)}")
    y, task = problem.y, None
    if is_classifier(estimator) or is_regressor(estimator):
        task = "classification" if is_classifier(estimator) else "regression"
        y = y if task == "classification" else _numbers(problem)
    found, method, held, rows = {}, "not validated", None, problem.rows
    if request.metric is not None and task is None:
        raise UsageFault(f"--metric was given with {type(estimator).__name__}, which predicts no target. Leave it out.")
    unknown = 0 if task is None or y is None else int(np.sum(~is_known(estimator, y)))
    if unknown:
        method = f"not validated, since {unknown} of {problem.n} targets are not known"
    elif request.folds >= 2 and problem.n >= 2 * request.folds:
        S = kernel.pack(X) if isinstance(kernel, Kernel) and not isinstance(X, Samples) else X
        with terminal.progress(f"{request.folds} folds") as bar:
            watch = lambda fraction: (bar(fraction), _time_left(clock))  # noqa: E731
            pairs = splits(estimator, y, problem.n, request.folds, rows)
            budgeted = _budgeted(estimator, request, clock)
            checked = cross_validated(budgeted, S, y, pairs, watch, rows.weights, request.metric)
        method = said(request.folds, pairs, rows)
        found = _found(estimator, task, y, checked, request.metric)
        # the report does not know groups and times, so it takes these predictions
        if y is not None and checked.predictions is not None and (rows.groups is not None or rows.time is not None):
            held = Held(checked.rows, y[checked.rows], checked.predictions, None)
    _fit(_budgeted(estimator, request, clock), X, y, request, terminal, rows.weights)
    return Outcome(estimator, X, y, task, found, method, steps, held)


def tagged(request: Any, problem: Problem, estimator: Any, clock: Clock, terminal: Terminal) -> Outcome:
    """Fit a model of the labels of words."""
    refused = ("search", "mix", "task", "report", "labels", "metric", "test")
    given = [f"--{name}" for name in refused if getattr(request, name)]
    if given:
        raise UsageFault(f"{given[0]} was given with sentences, for which there is no such thing. Leave it out.")
    tagging, steps = importlib.import_module("mercer.cli.tagging"), []
    if estimator is None:
        estimator, said = tagging.default_tagger()
        steps.append(said)
    tagging.require_tagger(estimator)
    found, method = {}, "not validated"
    if request.folds >= 2:
        with terminal.progress("judging") as bar:
            found, method = tagging.held_out_scores(_budgeted(estimator, request, clock), problem, bar)
    X = problem.data.X
    _fit(_budgeted(estimator, request, clock), X, problem.y, request, terminal)
    return Outcome(estimator, X, problem.y, "classification", found, method, steps)


def linked(request: Any, problem: Problem, estimator: Any, clock: Clock, terminal: Terminal) -> Outcome:
    """Fit link propagation to pairs of nodes, and judge it by pairs that are left out."""
    links, y, module = problem.data, problem.y, importlib.import_module("mercer.cli.tables.links")
    assert is_links(links) and y is not None
    seen = np.unique(y[~np.isnan(y)])
    found, method = {}, "not validated"
    if len(seen) < 2:
        method += ", since all pairs have the same number"
    elif request.folds >= 2 and problem.n >= 2 * request.folds:
        with terminal.progress(f"{request.folds} folds") as bar:
            found = module.held_out_scores(_budgeted(estimator, request, clock), links, y, request.folds, bar)
        method = f"pairs left out, {request.folds}-fold"
    with terminal.progress("fitting"):
        module.fitted(_budgeted(estimator, request, clock), links, links.known(y))
    alike = "nodes are alike where a link with a positive number joins them"
    steps = [] if links.attributes is not None else [alike]
    return Outcome(estimator, links.attributes, y, "regression", found, method, steps)


def _found(estimator: Any, task: str | None, y: Any, checked: Checked, metric: str | None) -> dict[str, float]:
    """The scores of a cross-validation: the one that was asked for first, then those of the task."""
    found = {} if metric is None else {metric: float(np.mean(checked.measured))}
    if task is not None and checked.predictions is not None:
        true, guesses = y[checked.rows], checked.predictions
        usual = scores(task, true, guesses) if guesses.ndim == 1 else _shares_below(estimator, true, guesses)
        return found | usual | found  # what was asked for keeps its value if it is a usual one
    if len(checked.scores):
        name = "coverage" if is_outlier_detector(estimator) else "score_per_sample"
        found[name] = float(np.mean(checked.scores))
    return found


def mixed(request: Any, problem: Problem, clock: Clock, terminal: Terminal) -> Outcome:
    """Learn the weights of one kernel for each column."""
    assert problem.y is not None
    if not isinstance(problem.data, Table):
        raise UsageFault(f"--mix was given with {request.data}, which is no table; it weighs columns. Leave it out.")
    task = request.task or find_task(problem.y)
    kinds = {name: "number" if kind == "boolean" else kind for name, kind in problem.data.kinds.items()}
    kernels = column_kernels(problem.data.take(some_rows(problem.n)).columns, kinds)
    if task == "classification":
        estimator: Any = mercer.estimators.MultipleKernelClassifier(kernels, normalization="trace")
    else:  # squares have no unit that the cost would depend on
        model = mercer.estimators.MultipleKernelRegressor
        estimator = model(kernels, 10.0, machine="squared", normalization="trace")
    outcome = as_asked(request, problem, estimator, clock, terminal)
    steps = [_why(task, request, problem), *outcome.steps, *_weighed(outcome.model)]
    return replace(outcome, steps=steps)


def grown(request: Any, problem: Problem, clock: Clock, terminal: Terminal) -> Outcome:
    """Compose a kernel of those of the columns, and fit a Gaussian process with it."""
    assert problem.y is not None
    if problem.rows.weights is not None:
        raise UsageFault("--weights was given with --search, which takes all rows alike. Leave one of them out.")
    task = request.task or find_task(problem.y)
    classes = task == "classification"
    with terminal.progress("growing a kernel") as bar:
        left = None if request.max_time is None else 0.7 * request.max_time  # the rest is for folds and the fit
        search = importlib.import_module("mercer.cli.grown").grown  # which few need
        y = problem.y if classes else _numbers(problem)
        process, steps = search(problem, y, request.tries, left, bar, classes=classes)
    outcome = as_asked(request, problem, process, clock, terminal)
    leave_note(outcome.model, None)  # a kernel that the rows suggested
    return replace(outcome, steps=[_why(task, request, problem), *steps, *outcome.steps])


def _weighed(model: Any) -> list[str]:
    """Sentences about what each source contributes, the largest first."""
    order = np.argsort(-model.contributions_, kind="stable")
    said = [f"{model.kernel_names_[t]} {model.contributions_[t]:.1%}" for t in order if model.weights_[t] > 0.0]
    idle = [name for name in model.kernel_names_ if name not in model.support_kernels_]
    steps = [f"share of the decision: {', '.join(said)}"]
    return steps + ([f"without weight: {', '.join(idle)}"] if idle else [])


def _shares_below(estimator: Any, y: Any, guesses: Array) -> dict[str, float]:
    """The share of targets below each of several quantiles, which is what they promise."""
    below = np.mean(y[:, None] < guesses, axis=0)
    return {f"below_quantile_{q:g}": float(share) for q, share in zip(estimator.quantiles, below, strict=True)}


def _numbers(problem: Problem) -> Array:
    assert problem.y is not None
    if problem.y.dtype.kind not in "fiu":
        raise UsageFault(
            f"The target {problem.target!r} holds texts (as {str(problem.y[0])[:40]!r}), and regression needs numbers. "
            "Leave --task out, or use a classifier."
        )
    return problem.y.astype(float)


def _why(task: str, request: Any, problem: Problem) -> str:
    if request.task is not None:
        return f"{task}, as asked"
    assert problem.y is not None
    distinct = len(np.unique(problem.y))
    if task == "regression":
        return f"regression, since the target is a number with {distinct} different values"
    return f"classification, since the target has {distinct} classes"


def _candidates(problem: Problem, steps: list[str]) -> tuple[Kernel, ...]:
    """The kernels to choose from, by what the samples are."""
    data = problem.data
    if isinstance(data, Table):
        kinds = {name: "number" if kind == "boolean" else kind for name, kind in data.kinds.items()}
        rows = some_rows(data.n)
        return table_kernels(data.take(rows).columns, kinds)
    usual = importlib.import_module("mercer.first_model.any_data")
    if data.kind == "sequences":
        return usual.sequence_kernels(data.X)
    if data.kind == "graphs" and data.X.attributes.shape[1]:
        steps.append("numbers of nodes are not compared; Propagation(source='attributes') would")
    structured = data.kind in ("gram", "trees", "graphs")
    return usual.structured_kernels(data.kind) if structured else usual.sparse_kernels(data.X)


class _Bar:
    """A scikit-learn callback that moves a progress bar."""

    def __init__(self, move: Callable[[float], None]) -> None:
        self.move, self.done = move, 0

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to clean up."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Nothing to show yet."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        """Advance by one step of a hundred; never stop the fit."""
        self.done += 1
        self.move(self.done / 100.0)
        return False


def _fit(model: Any, X: Any, y: Array | None, request: Any, terminal: Terminal, weights: Floats | None = None) -> None:
    callbacks: list[Any] = []
    if request.checkpoint is not None:
        callbacks.append(mercer.io.Checkpoint(request.checkpoint, request.checkpoint_every, keep=True))
        if callbacks[0].found:
            terminal.say(f"{request.checkpoint}: going on from the state that is there.")
    with terminal.progress("fitting") as bar:
        if hasattr(model, "set_callbacks"):
            model.set_callbacks(_Bar(bar), *callbacks)
        try:
            more = weighted(model, weights)
            model.fit(X, **more) if y is None else model.fit(X, y, **more)
        finally:
            if hasattr(model, "set_callbacks"):
                model.set_callbacks()


# budgets ------------------------------------------------------------------------------------------------


def _budgeted(estimator: Any, request: Any, clock: Clock) -> Any:
    """Give an estimator the budgets of the command, where it takes them and has none of its own."""
    known = estimator.get_params(deep=False)
    if request.dask is not None and not getattr(known.get("gram"), "distributed", False):
        if "gram" not in known:
            raise UsageFault(
                f"--dask was given with {type(estimator).__name__}, which has no Gram matrix to distribute. Leave "
                "--dask out, or use an estimator with gram=, such as KernelRidge or SVC."
            )
        estimator.set_params(gram=distributed(request, known["gram"]))
    wanted = {"memory": request.memory, "n_threads": request.threads, "max_time": _time_left(clock)}
    return estimator.set_params(
        **{name: value for name, value in wanted.items() if value is not None and known.get(name, 0) is None}
    )


def distributed(request: Any, gram: Any) -> mercer.gram.Distributed:
    """The workers of --dask, with the user's options."""
    return mercer.gram.Distributed(
        None if request.dask == "local" else request.dask, gram=gram, workers=request.threads
    )


def _time_left(clock: Clock) -> float | None:
    if clock.max_time is None:
        return None
    if clock.expired:
        raise TimeBudgetError(
            f"The {clock.max_time:g} seconds of --max-time ran out before the model was fitted. Allow more, use "
            "fewer rows, or give the estimator with all its parameters by --estimator."
        )
    return max(clock.max_time - clock.seconds, 1e-3)
