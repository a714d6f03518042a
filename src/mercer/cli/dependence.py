"""``mercer test``: whether two files hold samples of one distribution, or variables that are independent.

``--stat mmd`` compares the rows of two files as two samples; ``--stat hsic`` takes row i of both files as observed
together and asks whether they are independent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from mercer.budget import Clock
from mercer.cli.data import column_kinds, open_data, pose, samples
from mercer.cli.failures import UsageFault
from mercer.cli.terminal import Terminal, pairs
from mercer.inference import Limits, aggregated_test, hsic_test, mmd_test
from mercer.io.tables import Table
from mercer.kernels import Kernel
from mercer.language import parse

__all__ = ["run"]

HYPOTHESES = {"mmd": "both files have the same distribution", "hsic": "the files' rows are independent"}


@dataclass(frozen=True)
class Request:
    """The arguments and options of the command."""

    data: Path
    other: Path
    stat: str
    kernel: str | None
    other_kernel: str | None
    null: str
    permutations: int
    seed: int
    level: float
    missing: str
    format: str | None
    memory: str | None
    max_time: float | None
    threads: int | None


def run(terminal: Terminal, **options: Any) -> None:
    """Read two files, test, and print the statistic and its p-value."""
    request = Request(**options)
    if request.stat == "mmd" and request.other_kernel is not None:
        raise UsageFault(
            "--other-kernel was given with --stat mmd, which compares all rows by one kernel. Leave it out, or use "
            "--stat hsic."
        )
    kernel = _kernel(request.kernel)
    other_kernel = kernel if request.other_kernel is None else _kernel(request.other_kernel)
    if request.null == "aggregated" and (kernel is not None or other_kernel is not None):
        raise UsageFault("--null aggregated tries Gaussian kernels of several widths; leave out --kernel.")
    X, first, columns = _read(request.data, kernel, request, terminal, None)
    Y, second, _ = _read(
        request.other, other_kernel, request, terminal, columns if request.stat == "mmd" and columns else None
    )
    if request.stat == "hsic" and first != second:
        raise UsageFault(
            f"{request.data} has {first} rows and {request.other} has {second}; --stat hsic takes rows as observed "
            "together. Give files with the same rows, or use --stat mmd."
        )
    clock = Clock.start(request.max_time)
    with threadpool_limits(request.threads, user_api="blas"), terminal.progress("testing") as bar:

        def monitor(fraction: float) -> bool:
            bar(fraction)
            return clock.expired

        result = _tested(request, X, Y, (kernel, other_kernel), monitor)
    rejected = result.p_value <= request.level
    told = {
        "test": request.stat,
        "hypothesis": HYPOTHESES[request.stat],
        "samples": [first, second],
        "kernels": [repr(k) for k in result.kernels],
        "statistic": result.statistic,
        "p_value": result.p_value,
        "null": {"method": result.null.method, "mean": result.null.mean, "std": result.null.std},
        "critical": result.null.quantile(1.0 - request.level),
        "level": request.level,
        "rejected": rejected,
    }
    rows = [
        ("hypothesis", HYPOTHESES[request.stat]),
        ("samples", f"{first} and {second}"),
        ("kernel", "\n".join(dict.fromkeys(repr(k) for k in result.kernels))),
        ("statistic", f"{result.statistic:.6g}"),
        ("null", f"{result.null.method}, mean {result.null.mean:.3g}, std {result.null.std:.3g}"),
        ("p-value", f"{result.p_value:.4g}"),
        ("verdict", f"{'rejected' if rejected else 'not rejected'} at {request.level:g}"),
    ]
    terminal.result(told, pairs(rows))


def _kernel(text: str | None) -> Kernel | None:
    """Return the kernel that a text means."""
    if text is None:
        return None
    found = parse(text)
    if not isinstance(found, Kernel):
        raise UsageFault(f"{text!r} is no kernel; give one as repr prints it, for example 'Gaussian(2.0)'.")
    return found


def _read(
    path: Path, kernel: Kernel | None, request: Request, terminal: Terminal, columns: tuple[str, ...] | None
) -> tuple[Any, int, tuple[str, ...]]:
    """Return the samples of a file as a kernel takes them, their number, and the columns that were used."""
    data = open_data(path, request.format, request.memory, column_kinds(kernel) if kernel is not None else None)
    for note in data.notes:
        terminal.say(f"{path}: {note}")
    problem = pose(data, None, None, columns, request.missing == "drop") if isinstance(data, Table) else None
    data = data if problem is None else problem.data
    if problem is not None and problem.dropped:
        if request.stat == "hsic":
            raise UsageFault(
                f"{problem.dropped} rows of {path} miss a value; rows of both files belong together under --stat hsic. "
                "Fill them in, or leave the same rows out of both files."
            )
        terminal.say(f"{path}: {problem.dropped} rows that miss a value are left out.")
    X, used = samples(data, kernel, columns)
    return X, data.n, tuple(used)


def _tested(
    request: Request, X: Any, Y: Any, kernels: tuple[Kernel | None, Kernel | None], monitor: Callable[[float], bool]
) -> Any:
    limits = Limits(memory=request.memory, n_threads=request.threads, monitor=monitor)
    count, seed = request.permutations, request.seed
    if request.null == "aggregated":
        return aggregated_test(X, Y, None, count, seed, statistic=request.stat, **limits)
    if request.stat == "mmd":
        return mmd_test(X, Y, kernels[0], count, seed, null=request.null, **limits)
    return hsic_test(X, Y, kernels, count, seed, null=request.null, **limits)
