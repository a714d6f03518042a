"""Graphs that were read, and the TU Dortmund format: a folder, or an archive, of text files.

What a file says of a graph as a whole (a class, a number) are its targets.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Index, Indices
from mercer.domains.structures.graph_forms import Parts
from mercer.domains.structures.graphs import Graphs
from mercer.errors import DomainError
from mercer.io.columns import parse_numbers
from mercer.io.datasets import Dataset, rows_of
from mercer.io.limits import FileError, Limits, shown
from mercer.io.source import Source

__all__ = ["GraphData", "read_tu", "refused"]

_TU = ("A", "graph_indicator", "graph_labels", "graph_attributes", "node_labels", "node_attributes", "edge_labels")
_REFUSAL = re.compile(r"Sample (\d+) (.*?)\. (?:A graph is .*?\}\. )?(.+)", re.DOTALL)
_HARMLESS = 10**6
_EXPANSION = 40  # bytes of memory for each of a file, measured on long lists of edges


@dataclass(frozen=True, eq=False, repr=False)
class GraphData(Dataset):
    """Graphs read from a file or a folder.

    Parameters
    ----------
    path, format, notes
        As in every Dataset.
    graphs : Graphs
    columns : mapping from names to arrays
        What can be predicted: a value for each graph.
    labels : tuple of str, optional
        Names of the graphs.
    """

    kind: ClassVar[str] = "graphs"
    graphs: Graphs
    columns: Mapping[str, NDArray[Any]]
    labels: tuple[str, ...] | None = None

    @property
    def n(self) -> int:
        """Number of graphs."""
        return len(self.graphs)

    @property
    def X(self) -> Graphs:
        """The graphs."""
        return self.graphs

    @property
    def y(self) -> NDArray[Any] | None:
        """The target, if there is only one."""
        return next(iter(self.columns.values())) if len(self.columns) == 1 else None

    @property
    def ids(self) -> tuple[str, ...] | None:
        """The names."""
        return self.labels

    @property
    def targets(self) -> tuple[str, ...]:
        """What is known of the graphs as a whole."""
        return tuple(self.columns)

    def take(self, index: Index) -> Self:
        """Return some of the graphs."""
        rows = rows_of(index, self.n)
        return replace(
            self,
            graphs=self.graphs.take(rows),
            columns={name: values[rows] for name, values in self.columns.items()},
            labels=None if self.labels is None else tuple(self.labels[row] for row in rows),
        )

    def split_target(self, name: str | None = None) -> tuple[GraphData, NDArray[Any]]:
        """Return the graphs and the target; if it is the only one, it need not be named."""
        if name is None and len(self.columns) == 1:
            name = self.targets[0]
        if name is None or name not in self.columns:
            raise self._no_target(name)
        rest = {other: values for other, values in self.columns.items() if other != name}
        return replace(self, columns=rest), self.columns[name]

    def describe(self) -> dict[str, Any]:
        """Return what is known about the graphs."""
        S, sizes = self.graphs, self.graphs.sizes
        known = {"nodes": int(sizes.sum()), "smallest": int(sizes.min()), "largest": int(sizes.max())}
        known |= {"labels": len(S.vocabulary), "edge labels": len(S.edge_vocabulary)}
        return {**super().describe(), **known, "attributes": S.attributes.shape[1], "fields": list(self.targets)}

    def _summary(self) -> str:
        return self.graphs._summary()


def refused(path: Path, error: DomainError) -> FileError:
    """Return what is wrong with a graph as an error of its file, without the sentence about Python objects."""
    match = _REFUSAL.match(str(error))
    if match is None:
        return FileError(path, str(error), "Correct the file.", row=1)
    row = int(match[1]) + 1
    return FileError(path, f"Graph {row} {match[2]}.", match[3], row=row)


# ---------------------------------------------------------------------------------------- TU Dortmund


def read_tu(path: str | Path, limits: Limits | None = None) -> GraphData:
    r"""Read graphs in the format of the TU Dortmund collection.

    Parameters
    ----------
    path : str or Path
        A folder, or a zip archive, with files ``NAME_A.txt`` (a pair of nodes a line, counted from 1 over all graphs),
        ``NAME_graph_indicator.txt`` (the graph of each node) and, if there are any, ``NAME_graph_labels.txt``,
        ``NAME_graph_attributes.txt``, ``NAME_node_labels.txt``, ``NAME_node_attributes.txt``, ``NAME_edge_labels.txt``.
    limits : Limits, optional

    Returns
    -------
    GraphData
        With the target ``"label"`` and, if the graphs have numbers, ``"attribute"`` (``"attribute 1"``, ...).

    Notes
    -----
    A graph whose edges are all listed in both directions, with one label, is undirected. Edges listed twice are
    one edge. Several labels of a node become a tuple.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "TOY_A.txt").write_text("1, 2\n2, 1\n3, 4\n4, 3\n")
    ...     _ = Path(folder, "TOY_graph_indicator.txt").write_text("1\n1\n2\n2\n")
    ...     _ = Path(folder, "TOY_graph_labels.txt").write_text("-1\n1\n")
    ...     data = read_tu(folder)
    >>> data.X, data.y
    (<Graphs: 2 samples, 2 nodes, 1 edge>, array([-1,  1]))
    """
    path, limits = Path(path), limits or Limits()
    texts = _tu_files(path, limits)
    for part in ("A", "graph_indicator"):
        if part not in texts:
            problem = f"There is no file ending in _{part}.txt; graphs in the TU Dortmund format have one."
            fix = "Check that the folder is complete." if path.is_dir() else "Unpack other archives, and name the file."
            raise FileError(path, problem, fix, byte=None if path.is_dir() else 0)
    limits.require(path, "Reading its graphs", sum(map(len, texts.values())) * _EXPANSION)
    reading = _Tables(path, texts, limits)
    graph = reading.integers("graph_indicator", 1)[:, 0] - 1
    if not len(graph) or graph[0] != 0 or not np.isin(np.diff(graph), (0, 1)).all():
        _refuse_indicator(path, graph, limits)
    n, total = int(graph[-1]) + 1, len(graph)
    sizes = np.bincount(graph, minlength=n)
    pairs, owners = _edges(reading, graph)
    labels, vocabulary = reading.coded("node_labels", total)
    edge_labels, edge_vocabulary = reading.coded("edge_labels", len(pairs))
    attributes = np.empty((total, 0))
    if "node_attributes" in texts:
        attributes = reading.numbers("node_attributes", total)
    order = np.argsort(owners, kind="stable")
    starts = np.cumsum(sizes) - sizes
    directed = np.zeros(n, dtype=bool)
    directed[owners[_one_way(pairs, edge_labels, total)]] = True
    parts = Parts(
        sizes.astype(np.intp),
        np.bincount(owners, minlength=n).astype(np.intp),
        (pairs - starts[owners][:, None])[order].astype(np.intp),
        labels,
        edge_labels[order],
        np.ones(len(pairs)),
        attributes,
        directed,
        np.zeros(n, dtype=bool),
        vocabulary,
        edge_vocabulary,
    )
    try:
        graphs = Graphs.assembled(parts)
    except DomainError as error:
        raise refused(path, error) from error
    return GraphData(path, "tu", graphs, reading.targets(n), None, notes=reading.notes)


def _edges(reading: _Tables, graph: Indices) -> tuple[Indices, Indices]:
    """Return the pairs of nodes, counted from 0, and the graph of each, given that of every node."""
    pairs = reading.integers("A", 2) - 1
    bad = np.flatnonzero(((pairs < 0) | (pairs >= len(graph))).any(axis=1))
    if len(bad):
        reading.refuse("A", int(bad[0]), f"there are {len(graph)} nodes, counted from 1", "Correct the edge")
    owners = graph[pairs[:, 0]]
    bad = np.flatnonzero(owners != graph[pairs[:, 1]])
    if len(bad):
        reading.refuse("A", int(bad[0]), "the two nodes are of different graphs", "Correct the edge")
    return pairs, owners


def _tu_files(path: Path, limits: Limits) -> dict[str, bytes]:
    """Return the contents of the files that are known, by the end of their names."""
    found: dict[str, bytes] = {}
    if path.is_dir():
        for part in _TU:
            files = sorted(path.glob(f"*_{part}.txt"))
            if len(files) > 1:
                problem = f"There are {len(files)} files ending in _{part}.txt."
                raise FileError(path, problem, "Keep one data set in a folder.")
            if files and files[0].stat().st_size:
                found[part] = Source.open(files[0], limits).data
        return found
    try:
        with zipfile.ZipFile(path) as archive:
            total = 0
            for info in archive.infolist():
                part = next((part for part in _TU if info.filename.endswith(f"_{part}.txt")), None)
                if part is None or part in found:
                    continue
                total += info.file_size
                if total > limits.bytes or info.file_size > max(_HARMLESS, limits.ratio * info.compress_size):
                    problem = f"The archive expands to more than is allowed ({info.filename})."
                    fix = "If you trust it, unpack it first, and name the folder."
                    raise FileError(path, problem, fix, byte=info.header_offset)
                limits.require(path, "Unpacking it", total * 8, byte=info.header_offset)
                with archive.open(info) as stream:
                    content = stream.read(info.file_size + 1)
                if content:
                    found[part] = content
    except FileError:
        raise
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        reason = str(error).rstrip(".") or type(error).__name__
        fix = "Copy it again, or unpack it first, and name the folder."
        raise FileError(path, f"The archive cannot be read: {reason}.", fix, byte=0) from error
    return found


class _Tables:
    """The files of a TU folder as tables of numbers."""

    def __init__(self, path: Path, texts: dict[str, bytes], limits: Limits) -> None:
        self.path, self.texts, self.limits = path, texts, limits
        self.notes: tuple[str, ...] = ()

    def refuse(self, part: str, row: int, problem: str, remedy: str) -> NoReturn:
        raise FileError(self.path, f"In the file of {part}, {problem}.", f"{remedy}.", line=row + 1)

    def numbers(self, part: str, rows: int | None = None, columns: int | None = None) -> NDArray[np.float64]:
        """Return a file of numbers, separated by commas, as a table."""
        content = self.texts[part]
        lines = content.strip().splitlines()
        if len(lines) > self.limits.rows:
            self.refuse(part, self.limits.rows, f"there are more than {self.limits.rows:,} lines", "Split the data")
        width = columns or (lines[0].count(b",") + 1 if lines else 1)
        try:
            table = np.array(content.replace(b",", b" ").split(), dtype=np.float64)
        except ValueError:
            table = np.empty(0)
        good = len(table) == width * len(lines) and bool(np.isfinite(table).all())
        if not good or not {width - 1}.issuperset(line.count(b",") for line in lines):
            for row, line in enumerate(lines):
                fields = line.decode("utf-8", "replace").split(",")
                parsed = parse_numbers([field.strip() for field in fields])
                if len(fields) != width or parsed is None or not np.isfinite(parsed).all():
                    problem = f"{shown(line.decode('utf-8', 'replace'))} stands where {width} numbers are expected"
                    self.refuse(part, row, problem, "Correct the line")
            self.refuse(part, 0, "the lines are not numbers separated by commas", "Correct them")
        if rows is not None and len(lines) != rows:
            problem = f"there are {len(lines)} lines for {rows} {'edges' if part.startswith('edge') else 'nodes'}"
            self.refuse(part, min(len(lines), rows), problem, "Give one line for each")
        return table.reshape(len(lines), width)

    def integers(self, part: str, columns: int | None = None, rows: int | None = None) -> NDArray[np.int64]:
        table = self.numbers(part, rows, columns)
        bad = np.flatnonzero((table != np.rint(table)).any(axis=1) | (np.abs(table) > 2.0**53).any(axis=1))
        if len(bad):
            self.refuse(part, int(bad[0]), "there is a number that is not whole", "Correct it")
        return table.astype(np.int64)

    def coded(self, part: str, rows: int) -> tuple[NDArray[np.int32], tuple[Any, ...]]:
        """Return labels as codes and vocabulary; -1 where there is no such file."""
        if part not in self.texts:
            return np.full(rows, -1, np.int32), ()
        table = self.integers(part, None, rows)
        if table.shape[1] == 1:
            words, codes = np.unique(table[:, 0], return_inverse=True)
            return codes.astype(np.int32), tuple(words.tolist())
        rows_found, codes = np.unique(table, axis=0, return_inverse=True)
        return codes.ravel().astype(np.int32), tuple(map(tuple, rows_found.tolist()))

    def targets(self, n: int) -> dict[str, NDArray[Any]]:
        found: dict[str, NDArray[Any]] = {}
        for part, name in (("graph_labels", "label"), ("graph_attributes", "attribute")):
            if part not in self.texts:
                continue
            table = self.numbers(part)
            if len(table) != n:
                self.refuse(part, min(len(table), n), f"there are {len(table)} lines for {n} graphs", "Give one each")
            whole = bool((table == np.rint(table)).all()) and part == "graph_labels"
            table = table.astype(np.int64) if whole else table
            many = table.shape[1] > 1
            found |= {f"{name} {j + 1}" if many else name: table[:, j] for j in range(table.shape[1])}
        return found


def _refuse_indicator(path: Path, graph: NDArray[np.int64], limits: Limits) -> NoReturn:
    steps = np.flatnonzero(~np.isin(np.diff(graph, prepend=-1 if len(graph) and graph[0] == 0 else 0), (0, 1)))
    line = int(steps[0]) + 1 if len(steps) else 1
    problem = "In the file of graph_indicator, graphs are not counted from 1 in order, each with a node at least."
    raise FileError(path, problem, "Sort the nodes by graph, and number the graphs without gaps.", line=line)


def _one_way(pairs: NDArray[np.int64], labels: NDArray[np.int32], total: int) -> NDArray[np.bool_]:
    """Return which arcs have no arc of the same label in the other direction."""
    words = int(labels.max(initial=-1)) + 2
    forth = (pairs[:, 0] * total + pairs[:, 1]) * words + labels + 1
    back = (pairs[:, 1] * total + pairs[:, 0]) * words + labels + 1
    return ~np.isin(forth, back)
