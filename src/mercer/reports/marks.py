"""Samples with their parts marked by what they add to a decision."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import domains  # whose names are imported when they are used
from mercer.arrays import Floats
from mercer.domains import Strings, Texts
from mercer.reports.subject import Subject
from mercer.reports.wording import number, shown

__all__ = ["Marked", "marked"]

LONGEST = 160  # pieces of an example


@dataclass(frozen=True)
class Marked:
    """One sample in pieces.

    Attributes
    ----------
    sample : int
        Its number, from 0.
    title : str
        Its target and the class that the marks speak for.
    pieces : tuple of (text, strength)
        Strengths from -1 to 1, relative to the largest; positive values speak for the class.
    gap : str
        The text between pieces.
    cut : bool
        Whether the sample has more pieces.
    largest : float
        What a piece of strength 1 adds to the function of the class.
    """

    sample: int
    title: str
    pieces: tuple[tuple[str, float], ...]
    gap: str
    cut: bool
    largest: float = 1.0


def marked(subject: Subject, keys: Any, W: Floats, labels: list[str], rows: list[int]) -> list[Marked]:
    """Mark some samples, each for the class whose function is largest there."""
    S, kernel = subject.samples, subject.kernel
    assert S is not None and kernel is not None
    F, _ = kernel.features(S.take(np.array(rows, dtype=np.intp)), keys)
    best = np.argmax(np.asarray(F @ W), axis=1)
    found = []
    for place, (i, k) in enumerate(zip(rows, best, strict=True)):
        texts, values = _pieces(S, i, keys, W[:, k] * _scales(F, place))
        if not texts:
            continue
        largest = float(np.abs(values).max(initial=0.0)) or 1.0
        target = number(np.asarray(subject.y)[i])
        spoken = f"target {target}; marked: for {labels[k]}"
        gap = "" if isinstance(S, Strings) and all(len(text) == 1 for text in texts) else " "
        pieces = tuple((shown(t, 40), float(v) / largest) for t, v in zip(texts, values, strict=True))
        found.append(Marked(i, spoken, pieces[:LONGEST], gap, len(pieces) > LONGEST, largest))
    return found


def _scales(F: Any, place: int) -> Floats:
    """Return a weight of one for parts that the sample has; others cannot be marked."""
    has = np.zeros(F.shape[1])
    has[F.indices[F.indptr[place] : F.indptr[place + 1]]] = 1.0
    return has


def _pieces(S: Any, i: int, keys: Any, weights: Floats) -> tuple[list[str], Floats]:
    """Return the pieces of a sample, words, symbols or nodes, and what each of them weighs."""
    if isinstance(S, domains.Graphs):
        return _nodes(S.take(np.array([i])), keys, weights)
    if not isinstance(S, Strings):
        return [], np.empty(0)
    symbols = S.symbols(i)
    total = np.zeros(len(symbols))
    if isinstance(S, Texts) and isinstance(keys, tuple) and not hasattr(keys[0] if keys else None, "symbols"):
        place = {term: j for j, term in enumerate(keys)}
        lengths = {len(term) if isinstance(term, tuple) else 1 for term in keys[:1]} or {1}
        for length in lengths:
            _spread(symbols, length, lambda run: place.get(run if len(run) > 1 else run[0], -1), weights, total)
    else:
        kmers = keys if isinstance(keys, tuple) else (keys,)
        start = 0
        for part in kmers:
            place = {part.symbols(j): j + start for j in np.flatnonzero(weights[start : start + len(part)])}
            _spread(symbols, part.length, lambda run, place=place: place.get(run, -1), weights, total)
            start += len(part)
    return [str(symbol) for symbol in symbols], total


def _spread(symbols: Any, length: int, find: Any, weights: Floats, total: Floats) -> None:
    """Share the weights of substrings among their symbols."""
    for at in range(len(symbols) - length + 1):
        j = find(tuple(symbols[at : at + length]))
        if j >= 0:
            total[at : at + length] += weights[j] / length


def _nodes(A: Any, keys: Any, weights: Floats) -> tuple[list[str], Floats]:
    """Return the labels of the nodes of one graph, and the sum of the weights of their neighbourhoods."""
    if not hasattr(keys, "levels") or keys.kinds != ("node",):
        return [], np.empty(0)
    refined = importlib.import_module("mercer.kernels.graphs.weisfeiler_lehman").refined  # which only graphs need

    codes = {label: code for code, label in enumerate(keys.vocabulary)}
    names = ["·" if code < 0 else str(A.vocabulary[code]) for code in A.labels]
    colours = np.array([-1 if code < 0 else codes.get(A.vocabulary[code], -2) for code in A.labels], dtype=np.int64)
    total = np.zeros(len(names))
    for level, table in enumerate(keys.tables):
        if level:
            mine, made = refined(A, colours)
            theirs = {tuple(row.tolist()): code for code, row in enumerate(keys.levels[level - 1])}
            renamed = np.array([theirs.get(tuple(row.tolist()), -2) for row in made], dtype=np.int64)
            colours = renamed[mine]
        place = {int(code): int(keys.starts[level]) + j for j, code in enumerate(table[:, 0])}
        total += [weights[place[c]] if c in place else 0.0 for c in colours.tolist()]
    return names, total
