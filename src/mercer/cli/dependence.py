"""``mercer test``: whether two files hold samples of one distribution, or variables that are independent.

``--stat mmd`` compares the rows of two files as two samples; ``--stat hsic`` takes row i of both files as observed
together and asks whether they are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from mercer.budget import Clock
from mercer.cli.failures import UsageFault
from mercer.cli.inputs import Reading, column_kinds, open_data, pose, samples
from mercer.cli.terminal import Terminal, pairs
from mercer.inference import Limits, WildBootstrap, aggregated_test, hsic_test, mmd_test
from mercer.io.datasets import Dataset
from mercer.io.tables import Table
from mercer.kernels import Gaussian, Kernel, PartialTree, Precomputed, Spectrum, WeisfeilerLehman
from mercer.language import parse
from mercer.selection.automatic import FACTORS, table_kernels

__all__ = ["Compared", "Request", "compared", "run"]

_KINDS = {"number": "number", "boolean": "number", "category": "category", "text": "text"}
HYPOTHESES = {"mmd": "both files have the same distribution", "hsic": "the files' rows are independent"}


@dataclass(frozen=True, kw_only=True)
class Request(Reading):
    """The arguments and options of the command."""

    data: Path
    other: Path
    stat: str
    kernel: str | None
    other_kernel: str | None
    null: str
    block_length: float | None
    permutations: int
    seed: int
    level: float
    missing: str
    max_time: float | None
    threads: int | None


class Compared(NamedTuple):
    """Two files and the result of a test of them."""

    result: Any
    first: Dataset
    second: Dataset
    X: Any
    Y: Any
    kernel: Any  # as it was given or chosen, before it learned anything


def compared(terminal: Terminal, request: Request) -> Compared:
    """Read two files and test them."""
    if request.stat == "mmd" and request.other_kernel is not None:
        raise UsageFault(
            "--other-kernel was given with --stat mmd, which compares all rows by one kernel. Leave it out, or use "
            "--stat hsic."
        )
    if request.null == "aggregated" and (request.kernel or request.other_kernel):
        raise UsageFault("--null aggregated tries kernels of several widths; leave out --kernel.")
    if request.block_length is not None and request.null != "wild":
        raise UsageFault(
            f"--block-length {request.block_length:g} was given with --null {request.null}; it is accepted with --null "
            "wild. Leave it out, or use --null wild."
        )
    kernel = _kernel(request.kernel)
    other_kernel = kernel if request.other_kernel is None else _kernel(request.other_kernel)
    paths = (request.data, request.other)
    known = [column_kinds(k) if k is not None else None for k in (kernel, other_kernel)]
    first, second = (_read(path, kinds, request, terminal) for path, kinds in zip(paths, known, strict=True))
    if request.stat == "mmd" and kernel is None:
        first, second = _alike(first, second, request, terminal), _alike(second, first, request, terminal)
    if request.stat == "hsic" and first.n != second.n:
        raise UsageFault(
            f"{request.data} has {first.n} rows and {request.other} has {second.n}; --stat hsic takes rows as observed "
            "together. Give files with the same rows, or use --stat mmd."
        )
    X, Y, choices = _posed(first, second, (kernel, other_kernel), request)
    clock = Clock.start(request.max_time)
    with threadpool_limits(request.threads, user_api="blas"), terminal.progress("testing") as bar:

        def monitor(fraction: float) -> bool:
            bar(fraction)
            return clock.expired

        return Compared(_tested(request, X, Y, choices, monitor), first, second, X, Y, choices)


def run(terminal: Terminal, **options: Any) -> None:
    """Read two files, test, and print the statistic and its p-value."""
    request = Request(**options)
    result, first, second, *_ = compared(terminal, request)
    rejected = result.p_value <= request.level
    facts = {
        "test": request.stat,
        "hypothesis": HYPOTHESES[request.stat],
        "samples": [first.n, second.n],
        "kernels": _texts(result.kernels),
        "statistic": result.statistic,
        "p_value": result.p_value,
        "null": {"method": result.null.method, "mean": result.null.mean, "std": result.null.std},
        "critical": result.null.quantile(1.0 - request.level),
        "level": request.level,
        "rejected": rejected,
    }
    rows = [
        ("hypothesis", HYPOTHESES[request.stat]),
        ("samples", f"{first.n} and {second.n}"),
        ("kernel", "\n".join(dict.fromkeys(_texts(result.kernels)))),
        ("statistic", f"{result.statistic:.6g}"),
        ("null", f"{result.null.method}, mean {result.null.mean:.3g}, std {result.null.std:.3g}"),
        ("p-value", f"{result.p_value:.4g}"),
        ("verdict", f"{'rejected' if rejected else 'not rejected'} at {request.level:g}"),
    ]
    terminal.result(facts, pairs(rows))


def _kernel(text: str | None) -> Kernel | None:
    """Return the kernel that a text means."""
    if text is None:
        return None
    found = parse(text)
    if not isinstance(found, Kernel):
        raise UsageFault(f"{text!r} is not a kernel; give one as repr prints it, for example 'Gaussian(2.0)'.")
    return found


def _texts(kernels: Any) -> list[str]:
    return [repr(k) if isinstance(k, Kernel) else " and ".join(map(repr, k)) for k in kernels]


def _alike(data: Dataset, other: Dataset, request: Request, terminal: Terminal) -> Dataset:
    """Read columns with a single value, whose kind is unclear, as their kind in the other file."""
    if not (isinstance(data, Table) and isinstance(other, Table)):
        return data
    vague = [name for name in data.names if data.kinds[name] == "constant" and other.kinds.get(name) in _KINDS]
    kinds = {name: other.kinds[name] for name in vague}
    return _read(data.path, kinds, request, terminal) if kinds else data


def _read(path: Path, kinds: dict[str, str] | None, request: Request, terminal: Terminal) -> Dataset:
    """Return the data of a file, missing values settled."""
    data = open_data(path, request, kinds)
    for note in data.notes:
        terminal.say(f"{path}: {note}")
    if not isinstance(data, Table):
        return data
    problem = pose(data, None, None, None, request.missing == "drop")
    if problem.dropped:
        if request.stat == "hsic":
            raise UsageFault(
                f"{problem.dropped} rows of {path} miss a value; rows of both files belong together under --stat hsic. "
                "Fill them in, or leave the same rows out of both files."
            )
        terminal.say(f"{path}: {problem.dropped} rows that miss a value are left out.")
    return problem.data


# what is compared -------------------------------------------------------------------------------------------


def _posed(
    first: Dataset, second: Dataset, kernels: tuple[Kernel | None, Kernel | None], request: Request
) -> tuple[Any, Any, Any]:
    """Return both sides as kernels take them, and the kernels: a sequence to choose from for "aggregated"."""
    if request.stat == "mmd":
        if kernels[0] is not None:
            X, used = samples(first, kernels[0])
            return X, samples(second, kernels[0], used or None)[0], kernels[0]
        usual = _usual([first, second])
        return usual.take(first), usual.take(second), usual.choose(request.null)
    sides = []
    for data, kernel in zip((first, second), kernels, strict=True):
        if kernel is not None:
            sides.append((samples(data, kernel)[0], kernel))
        else:
            usual = _usual([data])
            sides.append((usual.take(data), usual.choose(request.null)))
    (X, one), (Y, two) = sides
    if request.null == "aggregated":
        one, two = one or [Gaussian("median")], two or [Gaussian("median")]
        most = max(len(one), len(two))
        one, two = ([side[i * len(side) // most] for i in range(most)] for side in (one, two))
        return X, Y, list(zip(one, two, strict=True))
    return X, Y, (one, two)


@dataclass(frozen=True)
class _Usual:
    """Kernels for samples of a kind, from narrow to wide, and the one to try first.

    Attributes
    ----------
    kernels : tuple of Kernel
        None for Gaussians around the median distance.
    usual : int
        Which one is tried alone.
    columns : tuple of str
        Of tables.
    """

    kernels: tuple[Kernel, ...]
    usual: int = 0
    columns: tuple[str, ...] = ()

    def take(self, data: Dataset) -> Any:
        return {name: data.columns[name] for name in self.columns} if isinstance(data, Table) else data.X

    def choose(self, null: str) -> Any:
        if null == "aggregated":
            return list(self.kernels) or None
        return self.kernels[self.usual] if self.kernels else None


def _usual(parts: Sequence[Dataset]) -> _Usual:
    """Return the kernels for samples of one or two files; they learn from both files together."""
    tables = [data for data in parts if isinstance(data, Table)]
    if tables:
        if len(tables) < len(parts):
            raise _unlike(parts)
        return _for_tables(tables)
    if len({data.kind for data in parts}) > 1:
        raise _unlike(parts)
    kind = parts[0].kind
    if kind == "gram":
        if len(parts) > 1:
            raise UsageFault(
                "Two Gram matrices were given; the rows of both files are compared with each other by --stat mmd, and "
                "neither matrix says how. Use --stat hsic, or give the samples."
            )
        return _Usual((Precomputed(),))
    if kind == "sequences":
        shortest = min(len(text) for data in parts for text in data.X)
        lengths = range(max(1, min(5, shortest)), 0, -1)
        return _Usual(tuple(Spectrum(p).normalized() for p in lengths), max(0, len(lengths) - 3))
    if kind == "trees":
        return _Usual((PartialTree().normalized(),))
    if kind == "graphs":
        return _Usual((WeisfeilerLehman(3).normalized(),))
    return _Usual(())


def _unlike(parts: Sequence[Dataset]) -> UsageFault:
    kinds = " and ".join(f"{data.path} holds {data.kind}" for data in parts)
    return UsageFault(f"{kinds}; --stat mmd compares samples of one kind. Give two files of the same kind.")


def _for_tables(tables: Sequence[Table]) -> _Usual:
    """Return kernels of all columns that vary in some table, jointly; categories and texts among them."""
    kinds: dict[str, str] = {}
    for name in tables[0].names:
        found = {_KINDS.get(table.kinds[name], "") for table in tables if name in table.names} - {""}
        if len(found) > 1:
            raise UsageFault(
                f"The column {name!r} holds {' in one file and '.join(f'a {kind}' for kind in sorted(found))} in the "
                "other. Write it alike in both files, or name the columns to compare with --kernel."
            )
        if found and all(name in table.names for table in tables):
            kinds[name] = found.pop()
    if not kinds:
        raise UsageFault(
            f"{' and '.join(str(table.path) for table in tables)} have no column in common that varies. Give tables "
            "with columns of numbers, categories or texts of the same names."
        )
    columns = {name: [value for table in tables for value in table.columns[name]] for name in kinds}
    found = table_kernels(columns, kinds)
    if len(found) not in (1, len(FACTORS)):  # sums and products in turns: only products see what columns do jointly
        found = found[1::2]
    return _Usual(found, FACTORS.index(1.0) if len(found) > 1 else 0, tuple(kinds))


def _tested(request: Request, X: Any, Y: Any, choices: Any, monitor: Callable[[float], bool]) -> Any:
    limits = Limits(memory=request.memory, n_threads=request.threads, monitor=monitor)
    count, seed = request.permutations, request.seed
    if request.null == "aggregated":
        return aggregated_test(X, Y, choices, count, seed, statistic=request.stat, **limits)
    run = mmd_test if request.stat == "mmd" else hsic_test
    null = request.null if request.block_length is None else WildBootstrap(request.block_length)
    return run(X, Y, choices, count, seed, null=null, **limits)
