"""``mercer fit``: from a data file to a model file and a report."""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer_names
from threadpoolctl import threadpool_limits

import mercer.io  # names are imported on use
from mercer.arrays import Array
from mercer.budget import Clock, parse_seconds
from mercer.cli.failures import NotConverged, UsageFault
from mercer.cli.fit_outcome import Outcome, summary
from mercer.cli.fit_ways import as_asked, automatic, distributed, grown, linked, mixed, tagged
from mercer.cli.inputs import (
    STDIN,
    Problem,
    Reading,
    Rows,
    column_kinds,
    is_bags,
    is_links,
    kernel_read,
    open_data,
    pose,
    samples,
    takes_unknown,
    usable_columns,
)
from mercer.cli.outputs import beside, naming_files, naming_the_state, require_writable
from mercer.cli.score_lines import measured, words
from mercer.cli.terminal import Terminal
from mercer.io.datasets import Dataset
from mercer.io.limits import shown
from mercer.io.model_file import save
from mercer.io.tables import Table
from mercer.selection.tables.first_tables import FEWEST

if TYPE_CHECKING:  # tables need not import them
    from mercer.io.structures.conll import Sentences
    from mercer.io.svmlight import Sparse

__all__ = ["Request", "fitted", "run"]

OPTIONS = ("weights", "groups", "time", "bags")  # that name columns which are about the rows


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
    weights: str | None = None
    groups: str | None = None
    time: str | None = None
    bags: str | None = None
    links: str | None = None
    nodes: Path | None = None
    test: Path | None = None
    metric: str | None = None
    others: tuple[str, ...] = ()

    @property
    def model_path(self) -> Path:
        """Where the model goes."""
        if self.output is None and self.data == STDIN:
            raise UsageFault("The data are piped in, so the model has no name yet. Name it with -o model.mercer.")
        return self.output or beside(self.data, ".mercer")

    @property
    def page(self) -> Path | None:
        """Where the report goes; none if it is not wanted."""
        return None if self.no_report else self.report or beside(self.model_path, ".html")


def run(terminal: Terminal, *, target: tuple[str, ...] = (), **options: Any) -> None:
    """Fit a model to a data file for each target, save it, report on it."""
    requests = _requests(target, options)
    for request in requests:
        for path in (request.model_path, request.page):
            if path is not None:
                require_writable(path, request.force)
        parse_seconds(request.checkpoint_every, "--checkpoint-every")
    files: list[Path] = []
    with naming_files(files):
        done = [fitted(terminal, request, files) for request in requests]
    if len(done) == 1:
        terminal.result(*done[0])
        return
    results = {request.target: result for request, (result, _) in zip(requests, done, strict=True)}
    terminal.result({"targets": results}, "\n\n".join(text for _, text in done))


def _requests(targets: tuple[str, ...], options: dict[str, Any]) -> list[Request]:
    """One request for each target; of several, each has files of its own, and none is an input of another."""
    _require_metric(options.get("metric"))
    if len(targets) < 2:
        return [Request(target=targets[0] if targets else None, **options)]
    if len(set(targets)) < len(targets):
        raise UsageFault(f"--target names one column twice: {', '.join(map(shown, targets))}. Name each once.")
    if options["checkpoint"] is not None:
        raise UsageFault("--checkpoint was given with several targets; it holds the state of one fit. Give one target.")
    requests = []
    for place, target in enumerate(targets):
        whole = Request(target=target, others=targets[:place] + targets[place + 1 :], **options)
        paths = {"output": _for_target(whole.model_path, target)}
        if whole.page is not None:
            paths["report"] = _for_target(whole.page, target)
        share = None if whole.max_time is None else whole.max_time / len(targets)
        requests.append(replace(whole, **paths, max_time=share))
    names = [request.model_path for request in requests]
    if len(set(names)) < len(names):
        raise UsageFault("The targets differ in characters only that file names cannot have. Fit them one by one.")
    return requests


def _require_metric(name: str | None) -> None:
    """Refuse a score that scikit-learn does not know, before anything is read."""
    known = get_scorer_names()
    if name is None or name in known:
        return
    near = get_close_matches(name, known, n=3)
    meant = f" Is {' or '.join(near)} meant?" if near else ""
    raise UsageFault(
        f"--metric {name!r} was given; the scores of scikit-learn are accepted, such as accuracy, roc_auc, r2 or "
        f"neg_mean_absolute_error.{meant} Correct it."
    )


def _for_target(path: Path, target: str) -> Path:
    """Return the name of a file with that of a target before its ending."""
    return path.with_name(f"{path.stem}.{re.sub(r'[^0-9A-Za-z_-]+', '_', target)[:60]}{path.suffix}")


def fitted(terminal: Terminal, request: Request, files: list[Path]) -> tuple[dict[str, Any], str]:
    """Fit, save and report on one model; return what was done, and add what was written to the files."""
    clock = Clock.start(request.max_time)
    workers = nullcontext() if request.dask is None else distributed(request, None).open()
    with (
        threadpool_limits(request.threads, user_api="blas"),
        _kept_warnings() as caught,
        naming_the_state(request.checkpoint),
        workers,
    ):
        estimator = _parsed(request)
        problem = _problem(request, estimator, terminal)
        if is_links(problem.data):
            outcome = linked(request, problem, estimator, clock, terminal)
        elif _is_sentences(problem.data):
            outcome = tagged(request, problem, estimator, clock, terminal)
        elif request.search:
            outcome = grown(request, problem, clock, terminal)
        elif request.mix:
            outcome = mixed(request, problem, clock, terminal)
        elif estimator is None:
            outcome = automatic(request, problem, clock, terminal)
        else:
            outcome = as_asked(request, problem, estimator, clock, terminal)
    notes = _unconverged(caught, request.allow_partial)
    for note in notes:
        terminal.warn(note)
    outcome.model.data_ = _remembered(problem, outcome)
    if request.test is not None:
        outcome.tested = tested(request, outcome)
    save(outcome.model, request.model_path, force=request.force)
    files.append(request.model_path)
    if request.checkpoint is not None:
        mercer.io.Checkpoint(request.checkpoint).remove()  # it has served its purpose
    page = None if _is_sentences(problem.data) or is_links(problem.data) else request.page
    if page is not None:
        _report(outcome, page, request, terminal)
        files.append(page)
    return summary(problem, outcome, {"model": request.model_path, "report": page}, clock, notes)


def tested(request: Request, outcome: Outcome) -> dict[str, float]:
    """Score the model on the samples of --test, which took no part in anything before."""
    predicting = importlib.import_module("mercer.cli.predict")  # which no other fit needs
    known = outcome.model.data_
    if known["task"] is None:
        raise UsageFault("--test was given with an estimator that predicts no target. Leave it out.")
    data = predicting.opened(replace(request, data=request.test), outcome.model, known)
    y = predicting.known_target(data, known)
    return measured(outcome.model, predicting.new_samples(data, outcome.model, known), y, known["task"], request.metric)


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
    estimator = mercer.parse(request.estimator)
    if not hasattr(estimator, "fit"):
        raise UsageFault(
            f"--estimator {request.estimator!r} is a {type(estimator).__name__}; an estimator is needed. Write for "
            f"example --estimator 'KernelRidge({request.estimator})'."
        )
    return estimator


def _problem(request: Request, estimator: Any, terminal: Terminal) -> Problem:
    kernel = kernel_read(estimator)
    if request.bags is not None:
        _bags().require_machine_of_bags(estimator, kernel, request.bags)
    data = open_data(request.data, request, column_kinds(kernel))
    for note in data.notes:
        terminal.say(f"{request.data}: {note}")
    if request.links is not None:
        return _of_links(request, estimator, data)
    if request.nodes is not None:
        raise UsageFault("--nodes was given without --links, whose nodes it describes. Name two columns with --links.")
    data, unread = _columns_asked_for(data, request)
    target = data.named(request.target) if _is_sentences(data) else request.target
    supervised = estimator is None or is_classifier(estimator) or is_regressor(estimator)
    if supervised and request.target is None and request.labels is None and data.y is None:
        choices = f"; {request.data} has {', '.join(map(repr, data.targets[:20]))}" if data.targets else ""
        remedy = "Name it with --target" if data.targets else "Give a table of targets with --labels"
        raise UsageFault(f"No target was given{choices}. {remedy}.")
    columns = None
    if isinstance(data, Table) and estimator is not None:
        rest = data.drop(request.target) if request.target else data
        columns = samples(rest, kernel if request.bags is None else _bags().of_instances(kernel))[1]
    automatic = estimator is None and not request.mix and not request.search
    fill = automatic and request.missing in (None, "fill") and isinstance(data, Table) and data.n >= FEWEST
    if request.missing == "fill" and not fill:
        raise UsageFault(
            "--missing fill was given, which only a model that is found for a table of at least "
            f"{FEWEST} rows can do. Leave it out, or give --missing drop."
        )
    problem = pose(data, target, request.labels, columns, request.missing == "drop", takes_unknown(estimator), fill)
    if not supervised and request.target is None and request.labels is None and not _is_sparse(data):
        problem = replace(problem, y=None, target=None)  # a target that the file happens to have is not required
    if problem.dropped:
        terminal.say(f"{problem.dropped} rows that miss a value were left out; {problem.n} remain.")
    problem = _set_aside(request, problem, unread)
    if problem.n < 2:
        what = "row" if request.bags is None else "bag"
        raise UsageFault(f"{request.data} has {problem.n} {what} to learn from; at least two are needed. Add {what}s.")
    return problem


def _of_links(request: Request, estimator: Any, data: Dataset) -> Problem:
    """Return the pairs of a table with their numbers; a pair without a number in the column of these is not known."""
    refused = ("search", "mix", "task", "report", "labels", "metric", "test", "missing", "features", "drop", *OPTIONS)
    given = [f"--{name}" for name in refused if getattr(request, name)]
    if given:
        raise UsageFault(f"{given[0]} was given with --links, for which there is no such thing. Leave it out.")
    assert request.links is not None
    columns = [name.strip() for name in request.links.split(",")]
    if len(columns) != 2 or columns[0] == columns[1] or request.target in columns:
        raise UsageFault(
            f"--links {request.links!r} was given; two columns that name the nodes of each pair are needed, none of "
            "which is the target. Write for example --links from,to."
        )
    usable_columns(data, columns)  # which names those that the file lacks
    links = importlib.import_module("mercer.cli.tables.links").posed(estimator, data, columns, request.nodes)
    y = np.ones(links.n)
    if request.target is not None:
        y = links.table.split_target(request.target, unknown=True)[1]
        if y.dtype.kind not in "fiu":
            raise UsageFault(
                f"The target {request.target!r} of --links holds texts, and links are numbers. Write 0 and 1."
            )
    return Problem(links, y.astype(float), request.target)


def _bags() -> Any:
    return importlib.import_module("mercer.cli.tables.bags")  # which few need


def _is_sentences(data: Dataset) -> TypeGuard[Sentences]:
    return data.kind == "sentences"


def _is_sparse(data: Dataset) -> TypeGuard[Sparse]:
    return data.kind == "sparse"


def _columns_asked_for(data: Dataset, request: Request) -> tuple[Dataset, set[str]]:
    """Return the data with the columns of --features only, or without those of --drop, and what is set aside later."""
    beside_samples = _named_columns(request, data)
    if not request.features and not request.drop and not (request.others and isinstance(data, Table)):
        return data, {name for name in beside_samples if name != request.time}
    option = "--features" if request.features else "--drop"
    if not isinstance(data, Table):
        raise UsageFault(f"{option} names columns, and {request.data} is a {data.format} file. Leave it out.")
    if request.features and request.drop:
        raise UsageFault("--features and --drop were both given; one says which columns are left. Use one of them.")
    named = [name for text in (*request.features, *request.drop) for name in _listed(text, data)]
    usable_columns(data, [*named, *request.others])  # which names those that the file lacks
    if request.target in named:
        raise UsageFault(f"{option} names {request.target!r}, which is the target. Leave it out there.")
    kept = {*named, request.target} if request.features else {*data.names} - {*named}
    kept -= {*request.others}
    unread = {name for name in beside_samples if name != request.time or name not in kept}
    return data.drop(*(name for name in data.names if name not in kept and name not in beside_samples)), unread


def _named_columns(request: Request, data: Dataset) -> list[str]:
    """Return the columns that --weights, --groups and --time name; they must be there, and not be the target."""
    asked = {f"--{option}": getattr(request, option) for option in OPTIONS if getattr(request, option)}
    if not asked:
        return []
    if not isinstance(data, Table):
        raise UsageFault(
            f"{next(iter(asked))} names a column, and {request.data} is a {data.format} file. Leave it out, or write a "
            "table with a column of what the samples are."
        )
    usable_columns(data, list(asked.values()))  # which names those that the file lacks
    for option, name in asked.items():
        if name == request.target:
            raise UsageFault(f"{option} names {name!r}, which is the target. Name another column.")
    return list(asked.values())


def _set_aside(request: Request, problem: Problem, unread: Collection[str]) -> Problem:
    """Return the problem with weights, groups and times of its rows, without the columns that are not to be read."""
    data = problem.data
    if not _named_columns(request, data):
        return problem
    assert isinstance(data, Table)
    values = {option: getattr(request, option) for option in OPTIONS}
    columns = {option: np.asarray(data.columns[name]) for option, name in values.items() if name is not None}
    if "weights" in columns:
        _require_weights(columns["weights"], values["weights"])
    for option in ("groups", "time"):
        if option in columns and data.missing[values[option]]:
            raise UsageFault(
                f"--{option} names {values[option]!r}, of which {data.missing[values[option]]} values are missing; "
                "each row needs one. Fill them in, or give --missing drop."
            )
    rest = data.drop(*(name for name in data.names if name in unread))
    rows = Rows(**{name: _plain(column) for name, column in columns.items() if name != "bags"})
    problem = replace(problem, data=rest, rows=rows)
    return problem if request.bags is None else _in_bags(request, problem, data)


def _in_bags(request: Request, problem: Problem, named: Table) -> Problem:
    """Return the problem with bags of rows for samples; what is about a row is the same in all rows of its bag."""
    assert isinstance(problem.data, Table) and request.bags is not None
    order, offsets, names = _bags().layout(named, request.bags)
    bags = _bags().Bags.laid_out(problem.data, request.bags, order, offsets, names)

    def one_each(values: Array | None, name: str | None) -> Array | None:
        return None if values is None else bags.one_each(values[order], str(name))

    rows = Rows(**{name: one_each(values, getattr(request, name)) for name, values in vars(problem.rows).items()})
    return replace(problem, data=bags, y=one_each(problem.y, request.target), rows=rows)


def _plain(column: Array) -> Array:
    return column if column.dtype.kind in "fiub" else column.astype(str)


def _require_weights(values: Array, name: str) -> None:
    good = values.dtype.kind in "fiub" and bool(np.all(np.isfinite(values))) and values.min() >= 0 and values.max() > 0
    if not good:
        raise UsageFault(
            f"--weights names {name!r}, which must hold numbers that are not negative, some of them positive, and none "
            "missing. Name another column, or correct it."
        )


def _listed(text: str, data: Table) -> list[str]:
    """Return one name, or several between commas; a name with a comma in it stays whole."""
    return [text] if text in data.names else [name.strip() for name in text.split(",")]


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
    ours = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
    # folds repeat a warning with numbers of their own: the last one is kept, which is about all rows
    return list({re.sub(r"[0-9a-f]{16}|[0-9.]+", "#", message): message for message in ours}.values())


def _remembered(problem: Problem, outcome: Outcome) -> dict[str, Any]:
    """What prediction needs to know about the data file; saved with the model."""
    data = problem.data
    known: dict[str, Any] = {"kind": data.kind, "format": data.format, "target": problem.target, "task": outcome.task}
    table = data.table if is_bags(data) else data
    if isinstance(table, Table):
        used = samples(data, kernel_read(outcome.model))[1]
        known |= {"columns": list(used), "kinds": {name: table.kinds[name] for name in used}}
    if is_bags(data):
        known |= {"bags": data.column}
    if is_links(data):
        known |= {"links": list(data.columns), "rows": list(data.rows), "others": list(data.others)}
    if _is_sentences(data):
        known |= {"columns": list(data.columns)}
    if _is_sparse(data):
        known |= {"width": data.width, "zero_based": data.zero_based}
    return known


def _report(outcome: Outcome, page: Path, request: Request, terminal: Terminal) -> None:
    module = importlib.import_module("mercer.reports")
    with terminal.progress("report"):
        name = "Model" if request.target is None else f"Model of {request.target}"
        title = f"{name} on {request.data.name}"
        about = {"title": title, "notes": [*outcome.steps, *_noted(outcome, request)], "held": outcome.held}
        written = module.report(outcome.model, outcome.X, outcome.y, **about)
    written.save(page, force=request.force)


def _noted(outcome: Outcome, request: Request) -> list[str]:
    """Sentences about what the command adds to a fit."""
    notes = [f"--{name}: the column {getattr(request, name)}" for name in OPTIONS if getattr(request, name)]
    return notes + ([f"{request.test}: {words(outcome.tested)}"] if outcome.tested else [])
