"""``mercer check``: what is odd about a data file or a Gram matrix, and what to do about it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from mercer.arrays import Floats
from mercer.cli.failures import UsageFault
from mercer.cli.inputs import Reading, column_kinds, open_data, pose, samples
from mercer.cli.tables.bags import Bags
from mercer.cli.terminal import Terminal, pairs
from mercer.domains import Samples, Sets
from mercer.io.datasets import Dataset
from mercer.io.gram_file import GramMatrix
from mercer.io.limits import shown
from mercer.io.svmlight import Sparse
from mercer.io.tables import Table
from mercer.kernels import Kernel, MeanMap
from mercer.language import parse
from mercer.selection.automatic import ROWS, find_task, some_rows, standard_deviation

__all__ = ["findings", "gram_figures", "run"]

WIDE = 1e3  # ratio of the largest to the smallest standard deviation that is worth mentioning
RARE = 0.1  # share of a class that is worth mentioning


@dataclass(frozen=True, kw_only=True)
class Request(Reading):
    """The arguments and options of the command."""

    data: Path
    target: str | None
    kernel: str | None
    bags: str | None
    threads: int | None


def run(terminal: Terminal, **options: Any) -> None:
    """Check a file and report what was found."""
    request = Request(**options)
    kernel = _kernel(request)
    data = open_data(request.data, request, column_kinds(kernel))
    if request.bags is not None:
        data = Bags.of(data, request.bags)
        kernel = kernel if kernel is None or kernel.domain is Sets else MeanMap(kernel)
    found = [*data.notes, *findings(data, request.target)]
    result: dict[str, Any] = {**data.describe(), "findings": found}
    text = [pairs(_summary(data)), *_columns(terminal, data, result)]
    if kernel is not None or isinstance(data, GramMatrix):
        with threadpool_limits(request.threads, user_api="blas"), terminal.progress("eigenvalues"):
            figures = _gram(data, kernel, request)
        result["gram"] = figures
        found += figures["findings"]
        text.append(pairs([("Gram matrix", _gram_words(figures))]))
    text.append("\n".join(["Findings:", *(f"- {finding}" for finding in found)]) if found else "Nothing odd was found.")
    terminal.result(result, "\n\n".join(text))


def _kernel(request: Request) -> Any:
    if request.kernel is None:
        return None
    kernel = parse(request.kernel)
    if not isinstance(kernel, Kernel):
        raise UsageFault(
            f"--kernel {request.kernel!r} is a {type(kernel).__name__}; a kernel is needed, such as Gaussian()."
        )
    return kernel


# the file ---------------------------------------------------------------------------------------------------


def _summary(data: Dataset) -> list[tuple[str, str]]:
    return [("file", str(data.path)), ("format", data.format), ("holds", repr(data).strip("<>").partition(": ")[2])]


def _columns(terminal: Terminal, data: Dataset, result: dict[str, Any]) -> list[str]:
    if not isinstance(data, Table | Bags):
        return []
    rows = []
    for column in result["columns"]:
        figures = [
            f"{column[name]:.4g}" if column.get(name) is not None else "" for name in ("min", "max", "mean", "std")
        ]
        if column["kind"] in ("category", "text") and column.get("longest"):
            low, high = column["shortest"], column["longest"]
            figures = ["", "", "", f"length {low}" if low == high else f"lengths {low} to {high}"]
        rows.append([column["name"], column["kind"], str(column["missing"]), str(column["distinct"]), *figures])
    return [terminal.table(["column", "kind", "missing", "different", "min", "max", "mean", "std"], rows)]


def findings(data: Dataset, target: str | None = None) -> list[str]:
    """Return what is odd about samples, a sentence each with a remedy."""
    found: list[str] = []
    if isinstance(data, Table):
        found += _table_findings(data)
    elif isinstance(data, Bags):
        found += _table_findings(data.table)
    elif isinstance(data, Sparse):
        empty = int(np.sum(np.diff(data.matrix.indptr) == 0))
        if empty:
            found.append(f"{empty} of {data.n} vectors are zero; check that their values were written.")
        found += _repeated(data.n, _sparse_rows(data))
    elif data.kind == "sentences":
        found += _repeated(data.n, list(map(tuple, data.X)))
    elif data.kind == "sequences":
        found += _repeated(data.n, list(data.X))
    elif data.kind in ("trees", "graphs"):
        empty = int(np.sum(data.X.sizes == 0))
        if empty:
            found.append(f"{empty} of {data.n} {data.kind} have no node; check that they were written.")
        of = data.X.bytes_of if data.kind == "graphs" else lambda i: data.X.ragged.row(i).tobytes()
        found += _repeated(data.n, [of(i) for i in range(data.n)])
    if target is not None or data.y is not None:
        found += _target_findings(data, target)
    return found


def _table_findings(table: Table) -> list[str]:
    found = []
    for name, count in table.missing.items():
        if count:
            share = 100.0 * count / table.n
            found.append(
                f"Column {shown(name)} misses {count} of {table.n} values ({share:.0f} %). The automatic fit fills in "
                "what is not text; for other models fill them in, or fit with --missing drop."
            )
    constant = table.of_kind("constant")
    if constant:
        found.append(f"Constant, so of no use: {', '.join(map(shown, constant))}. The automatic fit leaves them out.")
    values = list(table.columns.values())
    keep = [values[j] for j, name in enumerate(table.names) if table.kinds[name] != "identifier"]
    if keep:
        rows = list(
            zip(*(column.tolist() if isinstance(column, np.ndarray) else column for column in keep), strict=True)
        )
        found += _repeated(table.n, [_no_nan(row) for row in rows])
    found += _twins(table)
    spreads = {
        name: standard_deviation(table.columns[name]) for name in table.of_kind("number") if not table.missing[name]
    }
    spreads = {name: s for name, s in spreads.items() if s > 0}
    if len(spreads) > 1:
        small, large = min(spreads, key=spreads.__getitem__), max(spreads, key=spreads.__getitem__)
        if spreads[large] > WIDE * spreads[small]:
            found.append(
                f"Scales differ: {shown(large)} varies by {spreads[large]:.3g}, {shown(small)} by "
                f"{spreads[small]:.3g}. The automatic fit scales; with --estimator give a length scale per column."
            )
    return found


def _no_nan(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(None if isinstance(value, float) and value != value else value for value in row)


def _repeated(n: int, rows: list[Any]) -> list[str]:
    repeats = n - len(set(rows))
    if not repeats:
        return []
    return [f"{repeats} of {n} samples repeat another one; leave-one-out and cross-validation look too good then."]


def _sparse_rows(data: Sparse) -> list[Any]:
    matrix, ends = data.matrix, data.matrix.indptr
    return [(matrix.indices[a:b].tobytes(), matrix.data[a:b].tobytes()) for a, b in pairwise(ends)]


def _twins(table: Table) -> list[str]:
    """Columns with the same values."""
    seen: dict[Any, str] = {}
    found = []
    for name in table.of_kind("number", "boolean", "category"):
        column = table.columns[name]
        key = column.tobytes() if isinstance(column, np.ndarray) else tuple(column)
        if key in seen:
            found.append(f"Columns {shown(seen[key])} and {shown(name)} are the same; leave one out.")
        seen.setdefault(key, name)
    return found


def _target_findings(data: Dataset, target: str | None) -> list[str]:
    y = pose(data, target, None, [], drop=True).y
    assert y is not None
    if data.kind == "sentences":  # of which every word has a label
        y = np.concatenate(list(y))
    if find_task(y) == "regression":
        return [] if len(np.unique(y)) > 1 else [f"The target {target!r} is the same in all rows."]
    counts = Counter(y.tolist()).most_common()
    rare = [(label, count) for label, count in counts if count < RARE * len(y)]
    found = []
    if rare:
        listed = ", ".join(f"{shown(label)} {count}" for label, count in rare[:10])
        found.append(
            f"Classes are unequal: of {len(y)} rows, {listed}. Look at the balanced accuracy, or add rows of "
            "these classes."
        )
    return found


# the Gram matrix --------------------------------------------------------------------------------------------


def _gram(data: Dataset, kernel: Any, request: Request) -> dict[str, Any]:
    rows = some_rows(data.n, ROWS)
    if kernel is None:
        K = np.asarray(data.take(rows).X, dtype=float)
        return gram_figures(K, data.n)
    rest = data.drop(request.target) if isinstance(data, Table) and request.target else data
    columns = samples(rest, kernel)[1] if isinstance(data, Table) else None
    problem = pose(data, request.target, None, columns, drop=True)
    rows = some_rows(problem.n, ROWS)
    X = samples(problem.take(rows).data, kernel)[0]
    S: Samples = kernel.pack(X)
    K = kernel.learn(S, problem.y[rows] if problem.y is not None else None)(S, n_threads=request.threads)
    return {"kernel": repr(kernel), **gram_figures(np.asarray(K, dtype=float), problem.n)}


def gram_figures(K: Floats, n: int) -> dict[str, Any]:
    """Return figures that show whether a matrix can be a Gram matrix, and how well conditioned it is.

    Examples
    --------
    >>> gram_figures(np.eye(3), 3)["rank"]
    3
    """
    scale = float(np.abs(K).max(initial=0.0)) or 1.0
    gap = float(np.abs(K - K.T).max(initial=0.0)) / scale
    values = np.linalg.eigvalsh((K + K.T) / (2.0 * scale)) * scale
    low, high = float(values[0]), float(values[-1])
    tolerance = len(K) * np.finfo(float).eps * max(high, -low)
    positive = values[values > tolerance]
    figures: dict[str, Any] = {
        "samples": n,
        "used": len(K),
        "asymmetry": gap,
        "smallest_eigenvalue": low,
        "largest_eigenvalue": high,
        "rank": len(positive),
        "condition": high / low if low > tolerance else None,
        "diagonal": [float(np.diagonal(K).min()), float(np.diagonal(K).max())],
    }
    return {**figures, "findings": _gram_findings(K, figures, 64.0 * tolerance)}


def _gram_findings(K: Floats, figures: dict[str, Any], tolerance: float) -> list[str]:
    found = []
    low, rank, n = figures["smallest_eigenvalue"], figures["rank"], figures["used"]
    if figures["asymmetry"] > 1e-8:
        found.append(
            f"The matrix is not symmetric (by {figures['asymmetry']:.2g} of its largest entry): use (K + K.T) / 2."
        )
    if low < -tolerance:
        found.append(
            f"The matrix is not positive semi-definite: its smallest eigenvalue is {low:.3g}. It is not that of a "
            "kernel; clip negative eigenvalues, or use another similarity."
        )
    elif rank < n:
        found.append(f"The rank is {rank} of {n}: solving needs a ridge (alpha > 0), which all estimators have.")
    elif figures["condition"] is not None and figures["condition"] > 1e12:
        found.append(f"The condition is {figures['condition']:.2g}: small ridges lose digits; keep alpha above 1e-10.")
    if n > 1:
        off = np.abs(K[~np.eye(n, dtype=bool)])
        size = float(np.abs(np.diagonal(K)).mean()) or 1.0
        if off.max() < 1e-6 * size:
            found.append("All samples are unlike all others: the length scale is too small to learn from.")
        if float(np.ptp(K)) < 1e-6 * size:
            found.append("All samples are alike: the length scale is too large to learn from.")
    return found


def _gram_words(figures: dict[str, Any]) -> str:
    part = "" if figures["used"] == figures["samples"] else f", of {figures['samples']}"
    condition = "infinite" if figures["condition"] is None else f"{figures['condition']:.3g}"
    return "\n".join(
        [
            *([figures["kernel"]] if "kernel" in figures else []),
            f"on {figures['used']} samples{part}",
            f"asymmetry {figures['asymmetry']:.2g} of the largest entry",
            f"eigenvalues {figures['smallest_eigenvalue']:.3g} to {figures['largest_eigenvalue']:.3g}",
            f"rank {figures['rank']}, condition {condition}",
        ]
    )
