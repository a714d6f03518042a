"""The Weisfeiler-Lehman kernel: labels of nodes are refined by those of their neighbours, again and again.

Symbols: h iterations, N nodes, M arcs in all. A colour of level 0 is a label; one of level i is a colour of level i - 1
with the sorted colours of level i - 1 of the neighbours. Equal colours are found by comparing what they are made of:
there is no hash that could take different ones for equal.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Indices
from mercer.constraints import InstanceOf, Integer, Optional
from mercer.domains.structures.graphs import Graphs
from mercer.errors import ModelError, ParameterError
from mercer.kernels.graphs.graph_histograms import (
    EdgeHistogram,
    GraphCounts,
    PatternCount,
    VertexHistogram,
    recoded,
    recoding,
)
from mercer.kernels.graphs.shortest_path import ShortestPath
from mercer.kernels.interning import find_rows, find_sequences, intern_sequences
from mercer.numerics.ragged import Ragged
from mercer.runtime.compiled import compiled

__all__ = ["WeisfeilerLehman"]
__public__ = __all__


class WeisfeilerLehman(PatternCount):
    r"""Weisfeiler-Lehman kernel: subtree patterns that two graphs have in common, or another kernel on refined labels.

    .. math:: k(G, G') = \sum_{i=0}^h k_{\mathrm{base}}(G_i, G'_i), \quad
        \ell_i(v) = \big(\ell_{i-1}(v), \{\{\ell_{i-1}(u) : (v, u) \in E\}\}\big)

    where G_i is the graph with the labels of iteration i; those of iteration 0 are its own.

    Seed: [KIKS] Section 6.1.2, kernels between labelled graphs for chemical compounds.

    Parameters
    ----------
    iterations : int, default 5
        The number h of refinements, 0 or more: how far the neighbourhood of a node reaches.
    base : VertexHistogram, EdgeHistogram or ShortestPath, optional
        The kernel on the refined graphs, without attributes. None is ``VertexHistogram()``, which counts subtree
        patterns.

    Notes
    -----
    Domain Graphs. A node without a label has one of its own; labels of edges count only if the base reads them;
    neighbours are those that arcs lead to, parallel ones as often as there are arcs. Features the patterns of the
    base with refined labels; no free parameter. Positive definite of order 0 as a sum of kernels; not strict, since
    some graphs that differ (regular ones, for example) are never distinguished, and hence not universal; not bounded
    (``.normalized()`` removes that). Cost O(h M) for a collection with the usual base.

    Labels are refined for each collection separately and identified afterwards by what they are made of: a value
    depends on the two graphs alone.

    Examples
    --------
    >>> path = {"edges": [(0, 1), (1, 2), (2, 3)], "labels": "CCCO"}
    >>> star = {"edges": [(0, 1), (0, 2), (0, 3)], "labels": "CCCO"}
    >>> WeisfeilerLehman(0)([path, star])
    array([[10., 10.],
           [10., 10.]])
    >>> WeisfeilerLehman(1)([path, star])
    array([[14., 13.],
           [13., 16.]])
    >>> WeisfeilerLehman(1, base=EdgeHistogram())([path, star])
    array([[ 8.,  5.],
           [ 5., 10.]])
    """

    synonyms = ("Weisfeiler-Lehman kernel",)
    formula = r"\sum_{i=0}^h k_{\mathrm{base}}(G_i, G'_i)"
    cost = "O(h M) a collection, then O(common patterns) a pair"
    constraints = {
        "iterations": Integer(0),
        "base": Optional(InstanceOf(VertexHistogram, EdgeHistogram, ShortestPath)),
    }

    def __init__(self, iterations: int = 5, base: PatternCount | None = None) -> None:
        self.iterations = iterations
        self.base = base

    def check(self) -> WeisfeilerLehman:
        """Raise ParameterError unless the base counts patterns of labels."""
        super().check()
        if isinstance(self.base, ShortestPath) and self.base.attributes is not None:
            raise ParameterError(
                f"WeisfeilerLehman was given base={self.base!r}, which compares attributes; a base that counts labels "
                "is needed. Use ShortestPath() as the base, and add the kernel with attributes."
            )
        return self

    def counted(self, A: Graphs) -> GraphCounts:
        """Refine the labels, and count the patterns of every level."""
        base = VertexHistogram() if self.base is None else self.base
        colours = A.labels.astype(np.int64)
        levels, tables, matrices = [], [], []
        kinds: tuple[str, ...] = ()
        for i in range(int(self.iterations) + 1):
            if i:
                colours, definitions = refined(A, colours)
                levels.append(definitions)
            counts = base.counted(replace(A, labels=colours))
            tables.append(counts.keys.table)
            kinds = counts.keys.kinds
            matrices.append(counts.matrix)
        keys = Colours(kinds, A.vocabulary, A.edge_vocabulary, tuple(levels), tuple(tables))
        matrix = sp.csr_array(sp.hstack(matrices, format="csr"))
        matrix.sort_indices()
        return GraphCounts(matrix, keys)


@dataclass(frozen=True, eq=False)
class Colours:
    """Refined labels by level, and the patterns of them that a collection has: the columns of its features.

    Attributes
    ----------
    kinds : tuple of str
        What the columns of the tables are, as in `GraphPatterns`; "node" is a colour of the table's level.
    vocabulary, edge_vocabulary : tuple
        The labels of the codes, the colours of level 0.
    levels : tuple of Ragged
        For level 1 and further: a row per colour, that of the node in the level before and those of its neighbours in
        ascending order.
    tables : tuple of (D, w) int64 arrays
        The patterns of level 0, 1, ...
    """

    kinds: tuple[str, ...]
    vocabulary: tuple[Hashable, ...]
    edge_vocabulary: tuple[Hashable, ...]
    levels: tuple[Ragged, ...]
    tables: tuple[NDArray[np.int64], ...]

    @cached_property
    def starts(self) -> Indices:
        """Where the patterns of each level begin among all."""
        return np.concatenate(([0], np.cumsum([len(table) for table in self.tables]))).astype(np.intp)

    def __len__(self) -> int:
        return int(self.starts[-1])

    def find(self, other: Colours) -> Indices:
        """Return for each pattern of `other` its place here, or -1."""
        if other is self:
            return np.arange(len(self), dtype=np.intp)
        codes = recoding(self.vocabulary, other.vocabulary)  # of their colours of a level here; -2 for unknown ones
        edges = recoding(self.edge_vocabulary, other.edge_vocabulary)
        places = []
        for i, (ours, theirs) in enumerate(zip(self.tables, other.tables, strict=True)):
            if i:
                codes = _translated(self.levels[i - 1], other.levels[i - 1], codes)
            table = recoded(theirs, self.kinds, {"node": codes, "edge": edges})
            found = find_rows(ours, table)
            places.append(np.where(found < 0, -1, found + self.starts[i]))
        return np.concatenate(places)

    def symbols(self, i: int) -> tuple[Hashable, ...]:
        """Return the level of pattern i and its numbers (labels as they were given on level 0)."""
        level = int(np.searchsorted(self.starts, i, side="right")) - 1
        row = self.tables[level][i - self.starts[level]].tolist()
        if level == 0:
            words = {"node": self.vocabulary, "edge": self.edge_vocabulary}
            row = [
                None if kind in words and code < 0 else words[kind][code] if kind in words else code
                for kind, code in zip(self.kinds, row, strict=True)
            ]
        return (level, *row)

    def check(self) -> None:
        """Raise ModelError unless the parts fit together."""
        good = isinstance(self.levels, tuple) and isinstance(self.tables, tuple)
        good = good and len(self.tables) == len(self.levels) + 1 and isinstance(self.kinds, tuple)
        good = good and all(
            isinstance(table, np.ndarray) and table.dtype == np.int64 and table.ndim == 2 for table in self.tables
        )
        good = good and all(table.shape[1] == len(self.kinds) for table in self.tables)
        good = good and all(isinstance(words, tuple) for words in (self.vocabulary, self.edge_vocabulary))
        good = good and all(
            isinstance(rows, Ragged) and rows.codes.dtype == np.int64 and rows.codes.ndim == 1 for rows in self.levels
        )
        if not good:
            raise ModelError("The model has colours of graphs that do not fit together. Save the model again.")
        known = len(self.vocabulary)
        for i, table in enumerate(self.tables):
            if i:
                rows = self.levels[i - 1]
                good = good and _within(rows.codes, known) and bool((rows.lengths > 0).all())
                known = len(rows)
            nodes = table[:, [kind == "node" for kind in self.kinds]]
            edges = table[:, [kind == "edge" for kind in self.kinds]]
            good = good and _within(nodes, known) and _within(edges, len(self.edge_vocabulary))
        if not good:
            raise ModelError("The model has colours of graphs that are not there. Save the model again.")


def _within(codes: NDArray[np.int64], count: int) -> bool:
    return not codes.size or (int(codes.min()) >= -1 and int(codes.max()) < count)


def refined(A: Graphs, colours: NDArray[np.int64]) -> tuple[NDArray[np.int64], Ragged]:
    """Return the next colours of all nodes, numbered as they are first seen, and what each colour is made of.

    Examples
    --------
    >>> A = Graphs.pack([{"edges": [(0, 1), (1, 2)]}])
    >>> colours, made = refined(A, np.zeros(3, dtype=np.int64))
    >>> colours.tolist(), [row.tolist() for row in made]
    ([0, 1, 0], [[0, 0], [0, 0, 0]])
    """
    offsets = A.indptr + np.arange(len(A.indptr), dtype=np.intp)  # one more than the neighbours for every node
    shift = np.repeat(A.offsets[:-1], A.sizes)
    codes = np.empty(int(offsets[-1]), np.int64)
    _describe(shift, A.indptr, A.targets, colours, codes)
    new, first = intern_sequences(codes, offsets)
    return new, Ragged(codes, offsets).take(first)


def _translated(ours: Ragged, theirs: Ragged, codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of their colours of a level among ours, -2 for those that we do not have, and -1 at the end."""
    members = codes[theirs.codes]
    _sort_tails(members, theirs.offsets)
    places = find_sequences(ours.codes, ours.offsets, members, theirs.offsets)
    return np.append(np.where(places < 0, -2, places), -1).astype(np.int64)


@compiled
def _describe(shift, indptr, targets, colours, codes):
    """Write the colour of each node, then those of its neighbours in ascending order."""
    place = 0
    for u in range(indptr.size - 1):
        codes[place] = colours[u]
        place += 1
        begin = place
        for arc in range(indptr[u], indptr[u + 1]):
            codes[place] = colours[shift[u] + targets[arc]]
            place += 1
        _sort(codes, begin, place)


@compiled
def _sort_tails(codes, offsets):
    for i in range(offsets.size - 1):
        _sort(codes, offsets[i] + 1, offsets[i + 1])


@compiled
def _sort(codes, begin, end):
    """Sort a part of an array in place; most nodes have few neighbours."""
    if end - begin > 32:
        codes[begin:end] = np.sort(codes[begin:end])
        return
    for t in range(begin + 1, end):
        value = codes[t]
        s = t
        while s > begin and codes[s - 1] > value:
            codes[s] = codes[s - 1]
            s -= 1
        codes[s] = value
