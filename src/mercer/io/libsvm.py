"""The text of LIBSVM's model files: a header of words and numbers, then one line per support vector."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from mercer.arrays import Floats
from mercer.io.atomic import PathLike
from mercer.io.limits import FileError, Limits, shown

__all__ = ["Machine", "read_machine"]

MACHINES = {"c_svc": "classes", "nu_svc": "classes", "one_class": "one", "epsilon_svr": "real", "nu_svr": "real"}
KERNELS = ("linear", "polynomial", "rbf", "sigmoid", "precomputed")
LARGEST_INDEX = 2**31 - 2
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?")


@dataclass
class Machine:
    """A model as its file describes it; the names are those of the file.

    Attributes
    ----------
    coef : (n, c - 1) array
        Coefficients of the support vectors.
    entries : list of lists of (column, value)
        The support vectors; columns are counted from 0. For a precomputed kernel, the one column of each.
    """

    svm_type: str = ""
    kernel_type: str = ""
    degree: int = 3
    gamma: float = 0.0
    coef0: float = 0.0
    nr_class: int = 0
    total_sv: int = -1
    rho: list[float] = field(default_factory=list)
    label: list[int] = field(default_factory=list)
    probA: list[float] = field(default_factory=list)
    probB: list[float] = field(default_factory=list)
    nr_sv: list[int] = field(default_factory=list)
    prob_density_marks: list[float] = field(default_factory=list)
    coef: Floats = field(default_factory=lambda: np.empty((0, 1)))
    entries: list[list[tuple[int, float]]] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """What is predicted: "classes", "real" or "one"."""
        return MACHINES[self.svm_type]

    @property
    def precomputed(self) -> bool:
        """Whether support vectors are columns of a matrix."""
        return self.kernel_type == "precomputed"


def read_machine(path: PathLike, limits: Limits | None = None) -> Machine:
    """Read a model file.

    Parameters
    ----------
    path : str or path
    limits : Limits, optional
        How much is read at most.

    Raises
    ------
    FileError
        With the line, what is wrong there, and what to do.
    """
    text = _Text(path, limits or Limits())
    machine = _read_header(text)
    _read_vectors(text, machine)
    return machine


class _Text:
    """Lines of a file with their numbers, no longer than allowed."""

    def __init__(self, path: PathLike, limits: Limits) -> None:
        self.path, self.limits, self.number = path, limits, 0
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if size > limits.bytes:
                self.refuse(f"The file has {size} bytes; at most {limits.bytes} are read.", "Give a smaller model.")
            limits.require(path, "The model", 8 * size)
            data = stream.read(limits.bytes)
        if b"\0" in data[:1000] or data[:1] == b"\x80":
            self.refuse("This is not text; a LIBSVM model is.", "Give a file that svm-train has written.")
        self._lines = iter(data.split(b"\n"))

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.number += 1
            if len(line) > self.limits.line:
                self.refuse(f"The line has {len(line)} bytes; at most {self.limits.line} are read.", "Cut it.")
            yield line.decode("latin-1").strip()

    def refuse(self, problem: str, fix: str) -> NoReturn:
        raise FileError(self.path, problem, fix, line=self.number or None)

    def numbers(self, words: list[str], whole: bool = False) -> list[Any]:
        return [self.integer(word) if whole else self.real(word) for word in words]

    def real(self, word: str) -> float:
        value = float(word) if _NUMBER.fullmatch(word) else np.inf
        if not np.isfinite(value):
            self.refuse(f"{shown(word)} is not a finite number.", "Write it as 0.5 or 1e-3.")
        return value

    def integer(self, word: str) -> int:
        if not re.fullmatch(r"[+-]?\d{1,10}", word):
            self.refuse(f"{shown(word)} is not a whole number.", "Write it as 3.")
        return int(word)


_FIELDS: dict[str, Callable[[_Text, list[str]], Any]] = {
    "svm_type": lambda text, words: _one_of(text, words, "svm_type", MACHINES),
    "kernel_type": lambda text, words: _one_of(text, words, "kernel_type", KERNELS),
    "degree": lambda text, words: _one(text, text.numbers(words, whole=True)),
    "gamma": lambda text, words: _one(text, text.numbers(words)),
    "coef0": lambda text, words: _one(text, text.numbers(words)),
    "nr_class": lambda text, words: _one(text, text.numbers(words, whole=True)),
    "total_sv": lambda text, words: _one(text, text.numbers(words, whole=True)),
    "rho": lambda text, words: text.numbers(words),
    "label": lambda text, words: text.numbers(words, whole=True),
    "probA": lambda text, words: text.numbers(words),
    "probB": lambda text, words: text.numbers(words),
    "nr_sv": lambda text, words: text.numbers(words, whole=True),
    "prob_density_marks": lambda text, words: text.numbers(words),
}


def _one_of(text: _Text, words: list[str], name: str, known: Any) -> str:
    if len(words) != 1 or words[0] not in known:
        given = shown(" ".join(words))
        text.refuse(f"{name} is {given}; it is one of {', '.join(known)}.", "Give a model that LIBSVM has written.")
    return words[0]


def _one(text: _Text, values: list[Any]) -> Any:
    if len(values) != 1:
        text.refuse(f"There are {len(values)} values where one is expected.", "Leave the others out.")
    return values[0]


def _read_header(text: _Text) -> Machine:
    machine, seen = Machine(), set()
    for line in filter(None, text):
        name, *words = line.split()
        if name == "SV" and not words:
            _check_header(text, machine, seen)
            return machine
        if name not in _FIELDS:
            text.refuse(
                f"{shown(name)} is not a word of the header of a LIBSVM model ({', '.join(_FIELDS)}, SV).",
                "Give a file that svm-train has written.",
            )
        if name in seen:
            text.refuse(f"{name} appears a second time.", "Leave one of the lines out.")
        seen.add(name)
        setattr(machine, name, _FIELDS[name](text, words))
    text.refuse("The file ends before the line SV, which begins the support vectors.", "Copy the whole file.")


def _check_header(text: _Text, machine: Machine, seen: set[str]) -> None:
    """Check that everything the machine needs is present, in the right numbers."""
    needed = {"svm_type", "kernel_type", "nr_class", "total_sv", "rho"}
    needed |= {"degree", "gamma", "coef0"} if machine.kernel_type == "polynomial" else set()
    needed |= {"gamma", "coef0"} if machine.kernel_type == "sigmoid" else set()
    needed |= {"gamma"} if machine.kernel_type == "rbf" else set()
    needed |= {"label", "nr_sv"} if machine.svm_type in ("c_svc", "nu_svc") else set()
    if needed - seen:
        text.refuse(f"The header lacks {', '.join(sorted(needed - seen))}.", "Copy the whole file.")
    c = machine.nr_class
    if c < 2 or (machine.kind != "classes" and c != 2):
        text.refuse(f"nr_class is {c}; two or more classes, or 2 for other machines, are needed.", "Correct it.")
    counts = {"rho": c * (c - 1) // 2}
    if machine.kind == "one" and "prob_density_marks" in seen:
        counts["prob_density_marks"] = 10
    if machine.kind == "classes":
        counts |= {"label": c, "nr_sv": c}
        counts |= {name: c * (c - 1) // 2 for name in ("probA", "probB") if {"probA", "probB"} & seen}
    for name, count in counts.items():
        if len(getattr(machine, name)) != count:
            found = len(getattr(machine, name))
            text.refuse(f"{name} has {found} values; nr_class {c} needs {count}.", "Copy the whole line.")
    if machine.kind == "classes":
        if len(set(machine.label)) != c:
            text.refuse("label names a class twice.", "Give each class a label of its own.")
        if min(machine.nr_sv) < 0 or sum(machine.nr_sv) != machine.total_sv:
            text.refuse(
                f"nr_sv adds up to {sum(machine.nr_sv)}, total_sv is {machine.total_sv}.", "Copy the whole file."
            )


def _read_vectors(text: _Text, machine: Machine) -> None:
    """Read coefficients and entries of each support vector."""
    coef, rows, width = [], [], machine.nr_class - 1
    for line in filter(None, text):
        words = line.split()
        if len(rows) == machine.total_sv:
            text.refuse(f"There are more than the {machine.total_sv} support vectors of total_sv.", "Leave it out.")
        plain = [word for word in words[:width] if ":" not in word]
        if len(plain) != width:
            text.refuse(f"There are {len(plain)} coefficients; nr_class needs {width}.", "Copy the whole line.")
        coef.append(text.numbers(plain))
        rows.append(_entries(text, words[width:], machine.precomputed))
    if len(rows) != machine.total_sv or not rows:
        text.refuse(f"{len(rows)} support vectors are there, total_sv is {machine.total_sv}.", "Copy the whole file.")
    machine.coef, machine.entries = np.array(coef, dtype=float), rows


def _entries(text: _Text, words: list[str], precomputed: bool) -> list[tuple[int, float]]:
    """Pairs (column from 0, value) of a support vector; a precomputed one is the number of its column."""
    entries, last = [], 0
    for word in words:
        index, colon, value = word.partition(":")
        if not colon:
            text.refuse(f"{shown(word)} is not a pair index:value.", "Write it as 3:0.5.")
        if precomputed:
            if index == "0":
                entries.append((text.integer(value) - 1, 1.0))
            continue
        column = text.integer(index)
        if not last < column <= LARGEST_INDEX:
            text.refuse(
                f"Index {column} follows {last}; indices go up from 1 to {LARGEST_INDEX}.", "Put them in order."
            )
        entries.append((column - 1, text.real(value)))
        last = column
    if precomputed and (len(entries) != 1 or not 0 <= entries[0][0] < LARGEST_INDEX):
        text.refuse("A support vector of a precomputed kernel is 0:number, counted from 1.", "Write it as 0:7.")
    return entries
