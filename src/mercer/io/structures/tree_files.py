"""Files of trees: treebanks in brackets, XML, web pages, JSON, Python source, and folders of these.

A treebank holds any number of trees, one after another; a JSON file whose value is a list holds one tree for each of
its members; every other file is one tree. In a folder, the subfolder that a file is in is what can be predicted.

Nesting has no limit of its own: nothing recurses, so that depth costs no more than length, which has one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Index
from mercer.domains.structures.tree_forms import (
    Malformed,
    Planting,
    parse_json,
    plant_ast,
    plant_json,
    plant_penn,
    plant_xml,
)
from mercer.domains.structures.tree_pages import plant_html
from mercer.domains.structures.trees import Trees
from mercer.io.datasets import Dataset, rows_of
from mercer.io.formats import FORMATS, TREES, extension_of
from mercer.io.limits import FileError, Limits, shown
from mercer.io.source import Source

__all__ = ["TreeBank", "read_tree_folder", "read_trees"]

_FORMAT_OF = {extension: name for name in TREES for extension in FORMATS[name]}
_BRACKET = re.compile(r"[()]")
_EVERY = 4096  # brackets between two looks at the clock
# Bytes of memory for each of a file, measured on files of nothing but nodes.
_EXPANSION = {"penn": 50, "xml": 30, "html": 50, "json": 150, "python": 600}


@dataclass(frozen=True, eq=False, repr=False)
class TreeBank(Dataset):
    """Trees with the names of their files.

    Parameters
    ----------
    path, format, notes
        As in every Dataset.
    trees : Trees
    labels : tuple of str
        Where each comes from: the file, with the number of the tree if it holds several. Those of one file are numbers.
    groups : tuple of str
        The folder of each below the one that was read; empty for one file.
    """

    kind: ClassVar[str] = "trees"
    trees: Trees
    labels: tuple[str, ...]
    groups: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Number of trees."""
        return len(self.trees)

    @property
    def X(self) -> Trees:
        """The trees."""
        return self.trees

    @property
    def y(self) -> NDArray[Any] | None:
        """The folder of each tree, if they come from several."""
        return np.array(self.groups, dtype=object) if self.targets else None

    @property
    def ids(self) -> tuple[str, ...]:
        """Where each tree comes from."""
        return self.labels

    @property
    def targets(self) -> tuple[str, ...]:
        """``folder`` if the trees come from several folders."""
        return ("folder",) if len(set(self.groups)) > 1 else ()

    def take(self, index: Index) -> Self:
        """Return some of the trees."""
        rows = rows_of(index, self.n)
        groups = tuple(self.groups[row] for row in rows) if self.groups else ()
        return replace(self, trees=self.trees[rows], labels=tuple(self.labels[row] for row in rows), groups=groups)

    def split_target(self, name: str | None = None) -> tuple[TreeBank, NDArray[Any]]:
        """Return the trees, and the folder that each is in."""
        if not self.targets or name not in (None, "folder"):
            raise self._no_target(name)
        return replace(self, groups=()), np.array(self.groups, dtype=object)

    def describe(self) -> dict[str, Any]:
        """Return what is known about the trees."""
        sizes = self.trees.sizes
        known = {"smallest": int(sizes.min()), "largest": int(sizes.max()), "nodes": int(sizes.sum())}
        return {**super().describe(), **known, "labels": len(self.trees.vocabulary), "fields": list(self.targets)}

    def _summary(self) -> str:
        return f", {self.trees.sizes.min()} to {self.trees.sizes.max()} nodes"


def read_trees(source: Source, format: str | None = None) -> TreeBank:
    r"""Read the trees of a file.

    Parameters
    ----------
    source : Source
    format : str, optional
        ``penn``, ``xml``, ``html``, ``json`` or ``python``; by the extension if not given.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "bank.mrg")
    ...     _ = path.write_text("( (S (NP we) (VP go)) )\n( (S (NP they) (VP stay)) )\n")
    ...     read_trees(Source.open(path, Limits()))
    <TreeBank of bank.mrg: 2 samples, 5 to 5 nodes>
    """
    name = format or _format_of(source.path)
    if name is None:
        listed = ", ".join(f".{extension}" for extension in _FORMAT_OF)
        raise source.error(
            "The extension is that of no file of trees.", f"Use one of {listed}, or name the format.", line=1
        )
    planting = Planting()
    _plant_file(planting, source, name)
    count = len(planting.sizes)
    return TreeBank(source.path, name, Trees.assembled(planting), tuple(str(i + 1) for i in range(count)))


def read_tree_folder(path: str | Path, limits: Limits | None = None) -> TreeBank:
    """Read all files of trees in a folder and its subfolders; other files are skipped, with a note.

    Parameters
    ----------
    path : str or Path
    limits : Limits, optional
        Those of bytes and rows hold for all files together.
    """
    limits, path = limits or Limits(), Path(path)
    if not path.is_dir():
        raise FileError(path, "This is not a folder.", "Name a folder, or read the file itself.")
    planting, labels, groups, total = Planting(), [], [], 0
    files, others = _files(path, limits)
    for file, name in files:
        source = Source.open(file, limits)
        total += source.size
        if total > limits.bytes:
            raise source.too_large(total)
        before = len(planting.sizes)
        _plant_file(planting, source, name)
        count = len(planting.sizes) - before
        inner = file.relative_to(path)
        labels += [str(inner) if count == 1 else f"{inner}:{i + 1}" for i in range(count)]
        groups += [inner.parts[0] if len(inner.parts) > 1 else ""] * count
    notes = (f"{others} files that are not trees were passed over.",) if others else ()
    return TreeBank(path, "trees", Trees.assembled(planting), tuple(labels), tuple(groups), notes=notes)


def _files(path: Path, limits: Limits) -> tuple[list[tuple[Path, str]], int]:
    """Return the files of trees in a folder with their formats, in the order of their names, and how many others."""
    found, others, clock = [], 0, limits.clock()
    for seen, file in enumerate(path.rglob("*"), 1):
        if clock.expired or seen > limits.rows:
            problem = f"The folder holds too much to look through: {seen:,} files and folders so far."
            raise FileError(path, problem, "Name a folder with nothing but the data.")
        if not file.is_symlink() and file.is_file():
            name = _format_of(file)
            others += name is None
            found += [(file, name)] if name is not None else []
    if not found:
        known = ", ".join(f".{extension}" for extension in _FORMAT_OF)
        raise FileError(
            path,
            f"The folder holds neither graphs in the TU Dortmund format (NAME_A.txt, NAME_graph_indicator.txt, ...) "
            f"nor files of trees ({known}).",
            "Name such a folder, or the data file itself.",
        )
    return sorted(found), others


def _format_of(path: Path) -> str | None:
    return _FORMAT_OF.get(extension_of(path))


def _plant_file(planting: Planting, source: Source, name: str) -> None:
    """Add the trees of a file, or raise a FileError that names the place."""
    before = len(planting.sizes)
    source.limits.require(source.path, "Reading its trees", len(source.data) * _EXPANSION[name])
    data: str | bytes = source.data if name == "xml" else "".join(source.lines())  # XML says its own encoding
    try:
        _PLANTERS[name](planting, source, data)
    except Malformed as error:
        row: int | None = len(planting.sizes) - before + 1
        line = None
        if isinstance(data, str) and error.character is not None:
            line, row = data.count("\n", 0, error.character) + 1, None
        raise source.error(error.problem, error.fix, line=line, row=row) from None
    if len(planting.sizes) > source.limits.rows:
        raise source.error(
            f"There are more than {source.limits.rows:,} trees, the limit.",
            "Split the file, or allow more with Limits(rows=...).",
            row=source.limits.rows + 1,
        )


def _plant_bank(planting: Planting, source: Source, text: str) -> None:
    """Add all trees of a treebank: each ends where its first bracket closes."""
    depth, begin = 0, -1
    for seen, bracket in enumerate(_BRACKET.finditer(text), 1):
        place = bracket.start()
        if seen % _EVERY == 0:
            source.check_time(text.count("\n", 0, place) + 1)
        depth += 1 if text[place] == "(" else -1
        if depth < 0:
            raise Malformed("A bracket closes that was not opened.", "Remove it.", place)
        if depth == 1 and text[place] == "(":
            _refuse_between(text, max(begin, 0), place)
            begin = place
        elif depth == 0:
            plant_penn(planting, text[begin : place + 1])
            begin = place + 1
    if depth:
        raise Malformed(f"{depth} brackets are not closed.", "Close every bracket.", begin)
    _refuse_between(text, max(begin, 0), len(text))
    if begin < 0:
        raise Malformed("There is no tree.", "Give at least one, as (S (NP we) (VP go)).", 0)


def _refuse_between(text: str, begin: int, end: int) -> None:
    between = text[begin:end].strip()
    if between:
        at = begin + text[begin:end].index(between[0])
        raise Malformed(f"{shown(between)} stands between trees.", "Write every word within brackets.", at)


def _plant_values(planting: Planting, source: Source, text: str) -> None:
    value = parse_json(text)
    if value == []:
        raise Malformed("The list is empty.", "Give at least one value.")
    for member in value if isinstance(value, list) else [value]:
        if not isinstance(member, (dict, list)):
            raise Malformed("There is a single value; trees are objects or lists.", "Write it as one of these.")
        plant_json(planting, member)
        source.check_time()


_PLANTERS: dict[str, Callable[[Planting, Source, Any], None]] = {
    "penn": _plant_bank,
    "xml": lambda planting, source, text: plant_xml(planting, text),
    "html": lambda planting, source, text: plant_html(planting, text),
    "json": _plant_values,
    "python": lambda planting, source, text: plant_ast(planting, text),
}
