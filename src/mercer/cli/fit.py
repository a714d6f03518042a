"""``mercer fit``: from a data file to a model file and a report."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import mercer.estimators  # whose names are imported when they are used
import mercer.gram
from mercer.arrays import Array
from mercer.budget import Clock, parse_seconds
from mercer.cli.failures import NotConverged, UsageFault
from mercer.cli.fit_outcome import Outcome, say_outcome
from mercer.cli.inputs import (
    STDIN,
    Problem,
    Reading,
    column_kinds,
    is_known,
    kernel_read,
    open_data,
    pose,
    samples,
    takes_unknown,
    usable_columns,
)
from mercer.cli.outputs import beside, require_writable
from mercer.cli.score_lines import cross_validated, scores
from mercer.cli.terminal import Terminal
from mercer.errors import TimeBudgetError
from mercer.estimators.certificates.assumptions import leave_note
from mercer.first_model.any_data import sequence_kernels, sparse_kernels, structured_kernels
from mercer.first_model.given_rows import Given
from mercer.first_model.machine_choice import choose
from mercer.first_model.sources import SampleRows, TableRows
from mercer.first_model.table_columns import missing_said
from mercer.first_model.verdicts import require_scoring
from mercer.io.checkpoint import Checkpoint
from mercer.io.datasets import Dataset
from mercer.io.limits import FileError, shown
from mercer.io.model_file import save
from mercer.io.svmlight import Sparse
from mercer.io.tables import Table
from mercer.kernels import Kernel
from mercer.language import parse
from mercer.selection.automatic import column_kernels, find_task, some_rows, table_kernels
from mercer.selection.tables.first_tables import FEWEST, is_encoded
from mercer.selection.tables.table_encoder import with_dates

__all__ = ["run"]


@dataclass(frozen=True, kw_only=True)
class Request(Reading):
    """The arguments and options of the command."""

    data: Path
    target: str | None
    features: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    labels: Path | None
    estimator: str | None
    mix: bool
    search: bool
    tries: int
    task: str | None
    missing: str | None
    folds: int
    output: Path | None
    report: Path | None
    no_report: bool
    allow_partial: bool
    dask: str | None
    checkpoint: Path | None
    checkpoint_every: str
    force: bool
    max_time: float | None
    threads: int | None


def run(terminal: Terminal, **options: Any) -> None:
    """Fit a model to a data file, save it, report on it."""
    request = Request(**options)
    clock = Clock.start(request.max_time)
    if request.output is None and request.data == STDIN:
        raise UsageFault("The data are piped in, so the model has no name yet. Name it with -o model.mercer.")
    output = request.output or beside(request.data, ".mercer")
    page = _page(request, output)
    for path in (output, page):
        if path is not None:
            require_writable(path, request.force)
    parse_seconds(request.checkpoint_every, "--checkpoint-every")
    workers = nullcontext() if request.dask is None else _distributed(request, None).open()
    with (
        threadpool_limits(request.threads, user_api="blas"),
        _kept_warnings() as caught,
        _told_of(request.checkpoint),
        workers,
    ):
        estimator = _parsed(request)
        problem = _problem(request, estimator, terminal)
        if request.search:
            outcome = _grown(request, problem, clock, terminal)
        elif request.mix:
            outcome = _mixed(request, problem, clock, terminal)
        elif estimator is None:
            outcome = _automatic(request, problem, clock, terminal)
        else:
            outcome = _as_asked(request, problem, estimator, clock, terminal)
    notes = _unconverged(caught, request.allow_partial)
    for note in notes:
        terminal.warn(note)
    outcome.model.data_ = _remembered(problem, outcome)
    save(outcome.model, output, force=request.force)
    if request.checkpoint is not None:
        Checkpoint(request.checkpoint).remove()  # it has served its purpose
    if page is not None:
        _report(outcome, page, request, terminal)
    say_outcome(terminal, problem, outcome, {"model": output, "report": page}, clock, notes)


# the pieces -----------------------------------------------------------------------------------------------


def _parsed(request: Request) -> Any:
    """The estimator that the user wrote, with the budgets of the command."""
    given = [f"--{name}" for name in ("search", "mix", "estimator") if getattr(request, name)]
    if request.search and len(given) > 1:
        raise UsageFault(f"{' and '.join(given)} were given; each finds a model in its own way. Give one of them.")
    if request.estimator is None:
        return None
    if request.mix:
        raise UsageFault("--mix and --estimator were given; --mix is an estimator of its own. Give one of them.")
    estimator = parse(request.estimator)
    if not hasattr(estimator, "fit"):
        raise UsageFault(
            f"--estimator {request.estimator!r} is a {type(estimator).__name__}; an estimator is needed. Write for "
            f"example --estimator 'KernelRidge({request.estimator})'."
        )
    return estimator


def _budgeted(estimator: Any, request: Request, clock: Clock) -> Any:
    """Give an estimator the budgets of the command, where it takes them and has none of its own."""
    known = estimator.get_params(deep=False)
    if request.dask is not None and not getattr(known.get("gram"), "distributed", False):
        if "gram" not in known:
            raise UsageFault(
                f"--dask was given with {type(estimator).__name__}, which has no Gram matrix to distribute. Leave "
                "--dask out, or use an estimator with gram=, such as KernelRidge or SVC."
            )
        estimator.set_params(gram=_distributed(request, known["gram"]))
    wanted = {"memory": request.memory, "n_threads": request.threads, "max_time": _time_left(clock)}
    return estimator.set_params(
        **{name: value for name, value in wanted.items() if value is not None and known.get(name, 0) is None}
    )


def _distributed(request: Request, gram: Any) -> mercer.gram.Distributed:
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


def _problem(request: Request, estimator: Any, terminal: Terminal) -> Problem:
    kernel = kernel_read(estimator)
    data = open_data(request.data, request, column_kinds(kernel))
    for note in data.notes:
        terminal.say(f"{request.data}: {note}")
    data = _columns_asked_for(data, request)
    supervised = estimator is None or is_classifier(estimator) or is_regressor(estimator)
    if supervised and request.target is None and request.labels is None and data.y is None:
        choices = f"; {request.data} has {', '.join(map(repr, data.targets[:20]))}" if data.targets else ""
        remedy = "Name it with --target" if data.targets else "Give a table of targets with --labels"
        raise UsageFault(f"No target was given{choices}. {remedy}.")
    columns = None
    if isinstance(data, Table) and estimator is not None:
        rest = data.drop(request.target) if request.target else data
        columns = samples(rest, kernel)[1]
    automatic = estimator is None and not request.mix and not request.search
    fill = automatic and request.missing in (None, "fill") and isinstance(data, Table) and data.n >= FEWEST
    if request.missing == "fill" and not fill:
        raise UsageFault(
            "--missing fill was given, which only a model that is found for a table of at least "
            f"{FEWEST} rows can do. Leave it out, or give --missing drop."
        )
    problem = pose(
        data, request.target, request.labels, columns, request.missing == "drop", takes_unknown(estimator), fill
    )
    if not supervised and request.target is None and request.labels is None and not isinstance(data, Sparse):
        problem = replace(problem, y=None, target=None)  # a target that the file happens to have is not required
    if problem.dropped:
        terminal.say(f"{problem.dropped} rows that miss a value were left out; {problem.n} remain.")
    if problem.n < 2:
        raise UsageFault(f"{request.data} has {problem.n} row to learn from; at least two are needed. Add rows.")
    return problem


def _columns_asked_for(data: Dataset, request: Request) -> Dataset:
    """Return the data with the columns of --features only, or without those of --drop."""
    if not request.features and not request.drop:
        return data
    option = "--features" if request.features else "--drop"
    if not isinstance(data, Table):
        raise UsageFault(f"{option} names columns, and {request.data} is a {data.format} file. Leave it out.")
    if request.features and request.drop:
        raise UsageFault("--features and --drop were both given; one says which columns are left. Use one of them.")
    named = [name for text in (*request.features, *request.drop) for name in _listed(text, data)]
    usable_columns(data, named)  # which names those that the file lacks
    if request.target in named:
        raise UsageFault(f"{option} names {request.target!r}, which is the target. Leave it out there.")
    kept = {*named, request.target} if request.features else {*data.names} - {*named}
    return data.drop(*(name for name in data.names if name not in kept))


def _listed(text: str, data: Table) -> list[str]:
    """Return one name, or several between commas; a name with a comma in it stays whole."""
    return [text] if text in data.names else [name.strip() for name in text.split(",")]


def _automatic(request: Request, problem: Problem, clock: Clock, terminal: Terminal) -> Outcome:
    assert problem.y is not None
    task = request.task or find_task(problem.y)
    y = problem.y if task == "classification" else _numbers(problem)
    steps = [_why(task, request, problem)]
    table = _varying(problem, steps) if isinstance(problem.data, Table) else None
    if table is not None and is_encoded(table[1], problem.n):
        source: Any = TableRows(*table)
    else:
        kernels = _candidates(problem, steps)
        source = SampleRows.of(kernels, samples(problem.data, kernels[0])[0])
    given = Given(scoring=require_scoring(None, y, task))
    with terminal.progress("choosing") as bar:
        choice = choose(source, y, task, given, lambda fraction: (bar(fraction), _time_left(clock)))
    X = samples(problem.data, choice.model.kernel)[0]
    _fit(_budgeted(choice.model, request, clock), X, y, request, terminal)
    leave_note(choice.model, None)  # kernels that the rows suggested
    choice.tell(choice.model, steps)
    rows = choice.held.rows
    found = scores(task, y[rows], choice.held.predictions) if len(rows) else {}
    return Outcome(choice.model, X, y, task, found, choice.method, choice.model.story_)


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
        steps.append(missing_said(absent))
    return kept, with_dates(kept, kinds)


def _as_asked(request: Request, problem: Problem, estimator: Any, clock: Clock, terminal: Terminal) -> Outcome:
    kernel = kernel_read(estimator)
    X, used = samples(problem.data, kernel)
    steps = []
    left = [name for name in usable_columns(problem.data) if used and name not in used]
    if left:
        steps.append(f"columns that the kernel does not read: {', '.join(left)}")
    y, task = problem.y, None
    if is_classifier(estimator) or is_regressor(estimator):
        task = "classification" if is_classifier(estimator) else "regression"
        y = y if task == "classification" else _numbers(problem)
    found, method = {}, "not validated"
    unknown = 0 if task is None or y is None else int(np.sum(~is_known(estimator, y)))
    if unknown:
        method = f"not validated, since {unknown} of {problem.n} targets are not known"
    elif request.folds >= 2 and problem.n >= 2 * request.folds:
        S = kernel.pack(X) if isinstance(kernel, Kernel) else X
        with terminal.progress(f"{request.folds} folds") as bar:
            watch = lambda fraction: (bar(fraction), _time_left(clock))  # noqa: E731
            guesses, logs = cross_validated(_budgeted(estimator, request, clock), S, y, request.folds, watch)
        method = f"{request.folds}-fold cross-validation"
        if task is not None and guesses is not None:
            found = scores(task, y, guesses) if guesses.ndim == 1 else _shares_below(estimator, y, guesses)
        elif len(logs):
            found = {"coverage" if is_outlier_detector(estimator) else "score_per_sample": float(np.mean(logs))}
    _fit(_budgeted(estimator, request, clock), X, y, request, terminal)
    return Outcome(estimator, X, y, task, found, method, steps)


def _mixed(request: Request, problem: Problem, clock: Clock, terminal: Terminal) -> Outcome:
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
    outcome = _as_asked(request, problem, estimator, clock, terminal)
    steps = [_why(task, request, problem), *outcome.steps, *_weighed(outcome.model)]
    return replace(outcome, steps=steps)


def _grown(request: Request, problem: Problem, clock: Clock, terminal: Terminal) -> Outcome:
    """Compose a kernel of those of the columns, and fit a Gaussian process with it."""
    assert problem.y is not None
    task = request.task or find_task(problem.y)
    classes = task == "classification"
    with terminal.progress("growing a kernel") as bar:
        left = None if request.max_time is None else 0.7 * request.max_time  # the rest is for folds and the fit
        grown = importlib.import_module("mercer.cli.grown").grown
        y = problem.y if classes else _numbers(problem)
        process, steps = grown(problem, y, request.tries, left, bar, classes=classes)
    outcome = _as_asked(request, problem, process, clock, terminal)
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


def _why(task: str, request: Request, problem: Problem) -> str:
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
    if data.kind == "sequences":
        return sequence_kernels(data.X)
    if data.kind == "graphs" and data.X.attributes.shape[1]:
        steps.append("numbers of nodes are not compared; Propagation(source='attributes') would")
    return structured_kernels(data.kind) if data.kind in ("gram", "trees", "graphs") else sparse_kernels(data.X)


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


def _fit(model: Any, X: Any, y: Array | None, request: Request, terminal: Terminal) -> None:
    callbacks: list[Any] = []
    if request.checkpoint is not None:
        callbacks.append(Checkpoint(request.checkpoint, request.checkpoint_every, keep=True))
        if callbacks[0].found:
            terminal.say(f"{request.checkpoint}: going on from the state that is there.")
    with terminal.progress("fitting") as bar:
        if hasattr(model, "set_callbacks"):
            model.set_callbacks(_Bar(bar), *callbacks)
        try:
            model.fit(X) if y is None else model.fit(X, y)
        finally:
            if hasattr(model, "set_callbacks"):
                model.set_callbacks()


@contextmanager
def _told_of(checkpoint: Path | None) -> Iterator[None]:
    """Say where the state of an interrupted fit is."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is None or not Checkpoint(checkpoint).found:
            raise
        raise KeyboardInterrupt(
            f"Interrupted; the state of the fit is in {checkpoint}. Give the same command again to resume from there."
        ) from None


@contextmanager
def _kept_warnings() -> Iterator[list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        yield caught


def _unconverged(caught: list[warnings.WarningMessage], allowed: bool) -> list[str]:
    """Return the warnings as sentences, each once; a solver that did not converge is an error unless allowed."""
    for warning in caught:
        if issubclass(warning.category, ConvergenceWarning) and not allowed:
            raise NotConverged(
                f"{warning.message} No model was written. Allow more iterations or time, raise tol, or keep the model "
                "as it is with --allow-partial."
            )
    ours = [warning for warning in caught if issubclass(warning.category, UserWarning)]
    return list(dict.fromkeys(str(warning.message) for warning in ours))


def _remembered(problem: Problem, outcome: Outcome) -> dict[str, Any]:
    """What prediction needs to know about the data file; saved with the model."""
    data = problem.data
    known: dict[str, Any] = {"kind": data.kind, "format": data.format, "target": problem.target, "task": outcome.task}
    if isinstance(data, Table):
        used = samples(data, kernel_read(outcome.model))[1]
        known |= {"columns": list(used), "kinds": {name: data.kinds[name] for name in used}}
    if isinstance(data, Sparse):
        known |= {"width": data.width, "zero_based": data.zero_based}
    return known


def _page(request: Request, output: Path) -> Path | None:
    """Where the report goes; none if it is not wanted."""
    return None if request.no_report else request.report or beside(output, ".html")


def _report(outcome: Outcome, page: Path, request: Request, terminal: Terminal) -> None:
    module = importlib.import_module("mercer.reports")
    with terminal.progress("report"):
        title = f"{type(outcome.model).__name__} on {request.data.name}"
        written = module.report(outcome.model, outcome.X, outcome.y, title=title, notes=outcome.steps)
    written.save(page, force=request.force)
