"""The Weisfeiler-Lehman kernel: labels of nodes are refined by those of their neighbours, again and again.

Symbols: h iterations, N nodes, M arcs in all. A colour of level 0 is a label; one of level i is a colour of level i - 1
with the sorted colours of level i - 1 of the neighbours. Equal colours are found by comparing what they are made of:
there is no hash that could take different ones for equal.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Floats, Indices
from mercer.constraints import InstanceOf, Integer, Optional
from mercer.domains import Frames, Samples, Vectors
from mercer.domains.structures.graphs import Graphs
from mercer.errors import DomainError, ModelError, ParameterError
from mercer.kernels.abilities import DifferentiatedByTiles
from mercer.kernels.comparison import Comparison, View
from mercer.kernels.composite import offered
from mercer.kernels.graphs.coloured_nodes import ColouredNodes, NodeSide
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
from mercer.kernels.kernel import Kernel, block_derivative, pullback
from mercer.kernels.protocols import Pullback
from mercer.numerics.ragged import Ragged
from mercer.runtime.compiled import compiled
from mercer.spec import derived, free_values

__all__ = ["WeisfeilerLehman"]
__public__ = __all__

_PAIRS = 1e6  # of nodes in a tile with attributes


class WeisfeilerLehman(PatternCount, DifferentiatedByTiles):
    r"""Weisfeiler-Lehman kernel: subtree patterns that two graphs have in common, or another kernel on refined labels.

    .. math:: k(G, G') = \sum_{i=0}^h k_{\mathrm{base}}(G_i, G'_i), \quad
        \ell_i(v) = \big(\ell_{i-1}(v), \{\{\ell_{i-1}(u) : (v, u) \in E\}\}\big)

    where G_i is the graph with the labels of iteration i; those of iteration 0 are its own. With attributes x,
    :math:`k(G, G') = \sum_i \sum_{v, v'} [\ell_i(v) = \ell_i(v')]\, k_a(x_v, x_{v'})`.

    Seed: [KIKS] Section 6.1.2, kernels between labelled graphs for chemical compounds.

    Parameters
    ----------
    iterations : int, default 5
        The number h of refinements, 0 or more: how far the neighbourhood of a node reaches.
    base : VertexHistogram, EdgeHistogram or ShortestPath, optional
        The kernel on the refined graphs, without attributes. None is ``VertexHistogram()``, which counts subtree
        patterns.
    attributes : Kernel, optional
        A kernel k_a on vectors, such as ``Gaussian(1.0)``, that compares the attributes of nodes with equal refined
        labels; without a base. None leaves them out.

    Notes
    -----
    Domain Graphs. A node without a label has one of its own; labels of edges count only if the base reads them;
    neighbours are those that arcs lead to, parallel ones as often as there are arcs. Features the patterns of the
    base with refined labels; no free parameter. Positive definite of order 0 as a sum of kernels; not strict, since
    some graphs that differ (regular ones, for example) are never distinguished, and hence not universal; not bounded
    (``.normalized()`` removes that). Cost O(h M) for a collection with the usual base. With attributes: no features;
    differentiable in the parameters of the kernel on them; of the order of that kernel; cost O(h n n') a pair.

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
        "attributes": Optional(InstanceOf(Kernel)),
    }

    def __init__(self, iterations: int = 5, base: PatternCount | None = None, attributes: Kernel | None = None) -> None:
        self.iterations = iterations
        self.base = base
        self.attributes = attributes

    def check(self) -> WeisfeilerLehman:
        """Raise ParameterError unless the base counts patterns of labels."""
        super().check()
        if isinstance(self.base, ShortestPath) and self.base.attributes is not None:
            raise ParameterError(
                f"WeisfeilerLehman was given base={self.base!r}, which compares attributes; a base that counts labels "
                "is needed. Use ShortestPath() as the base, and add the kernel with attributes."
            )
        if self.attributes is None:
            return self
        if self.base is not None or self.attributes.domain not in (Vectors, Frames):
            raise ParameterError(
                f"WeisfeilerLehman was given base={self.base!r} and attributes={self.attributes!r}; attributes are "
                "compared by a kernel on vectors, and without a base. Use for example attributes=Gaussian(1.0)."
            )
        return self

    @derived
    def order(self) -> int | None:
        """Positive definite if the kernel on attributes is; nothing is known otherwise."""
        return 0 if self.attributes is None or self.attributes.order == 0 else None

    @property
    def capabilities(self) -> frozenset[str]:
        """Features without attributes; with them derivatives, if the kernel on them has these."""
        if self.attributes is None:
            return super().capabilities - {"pullback"}
        return offered(self.attributes) & {"pullback"}

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

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the counts and the patterns of the columns; there are none if attributes are compared."""
        if self.attributes is not None:
            raise self._lacks("a finite feature map")
        return super()._features(A, keys)

    def _feature_count(self, A: Samples) -> int | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the number of distinct patterns; None if attributes are compared."""
        return super()._feature_count(A) if self.attributes is None else None

    # attributes -----------------------------------------------------------------------------------

    @property
    def _key(self) -> str:
        """The name under which a collection carries the colours of its nodes."""
        return f"colours of nodes:{int(self.iterations)}"

    def _prepare(self, A: Samples) -> Samples:
        """Count the patterns of every graph or, with attributes, colour its nodes, once per collection."""
        if self.attributes is None:
            return super()._prepare(A)
        assert isinstance(A, Graphs)
        if self._key in A.derived:
            return A
        colours, levels = [A.labels.astype(np.int64)], []
        for _ in range(int(self.iterations)):
            new, definitions = refined(A, colours[-1])
            colours.append(new)
            levels.append(definitions)
        rows = Ragged(np.column_stack(colours), A.offsets)
        return A.with_derived(self._key, ColouredNodes(rows, tuple(levels)))

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Let the kernel on attributes learn from the nodes of all graphs."""
        assert isinstance(S, Graphs)
        if self.attributes is None or not len(S.labels):
            return self
        v = None if weight is None else np.repeat(np.asarray(weight, dtype=float), S.sizes)
        learned = self.attributes.learn(self._nodes(S), None, v)
        return self if learned is self.attributes else self.replace(attributes=learned)

    def _nodes(self, A: Graphs) -> Samples:
        """Return the attributes of all nodes as samples of the kernel on them."""
        assert self.attributes is not None
        if not A.attributes.shape[1]:
            raise DomainError(
                f"The graphs have no attributes; {self!r} compares nodes by them. Give attributes, or use "
                "attributes=None."
            )
        return self.attributes.pack(A.attributes)

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for tiles of some million pairs of nodes where attributes are compared."""
        sides = comparison.sides(())
        if self.attributes is None or not all(isinstance(S, Graphs) and len(S) for S in sides):
            return None
        n, m = (1.0 + len(S.labels) / len(S) for S in sides)  # pyright: ignore[reportAttributeAccessIssue]
        return max(1, int(np.sqrt(_PAIRS / (n * m))))

    def _sides(self, A: Samples, B: Samples) -> tuple[NodeSide, NodeSide]:
        """Return both collections with the same codes of colours, those of the first."""
        assert isinstance(A, Graphs) and isinstance(B, Graphs)
        mine: ColouredNodes = self.prepare(A).derived[self._key]
        one = NodeSide(mine.nodes.codes, self._packed(A), A.offsets)
        if B is A:
            return one, one
        yours: ColouredNodes = self.prepare(B).derived[self._key]
        codes = recoding(A.vocabulary, B.vocabulary)
        columns = [codes[yours.nodes.codes[:, 0]]]
        for i, (ours, theirs) in enumerate(zip(mine.levels, yours.levels, strict=True)):
            codes = _translated(ours, theirs, codes)
            columns.append(codes[yours.nodes.codes[:, i + 1]])
        return one, NodeSide(np.column_stack(columns).reshape(len(B.labels), -1), self._packed(B), B.offsets)

    def _packed(self, A: Graphs) -> Samples | None:
        assert self.attributes is not None
        return self.attributes.prepare(self._nodes(A)) if len(A.labels) else None

    def _compared(self, view: View) -> tuple[NodeSide, NodeSide]:
        left, right = view.comparison.keep((view.path, id(self)), lambda: self._sides(*view.collections))
        a = left.piece(view.rows)
        return a, a if right is left and view.rows == view.columns else right.piece(view.columns)

    def tile(self, view: View) -> Floats:
        """Add the products of counts over common patterns, or the similarities of nodes of the same colours."""
        return super().tile(view) if self.attributes is None else self.value_and_pullback(view)[0]

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Return the values of a tile and the pullback to the parameters of the kernel on attributes."""
        kernel = self.attributes
        if kernel is None:
            return block_derivative(view, self)
        a, b = self._compared(view)
        out = view.full(0.0)
        if a.nodes is None or b.nodes is None:
            return out, lambda W: np.zeros(len(free_values(self)))
        common = a.agreements(b)
        out[:] = a.sums @ (common * np.asarray(kernel.block(a.nodes, b.nodes))) @ b.sums.T
        nodes = a.nodes, b.nodes
        return out, lambda W: pullback(kernel, *nodes, W[a.owners[:, None], b.owners] * common)

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the derivatives in the parameters of the kernel on attributes."""
        if self.attributes is None:
            return np.zeros(0)
        A = self.prepare(A)
        return super()._pullback(A, A if B is A else self.prepare(B), W)

    def _diag(self, A: Samples) -> Floats:
        """Compare every graph with itself."""
        if self.attributes is None:
            return super()._diag(A)
        A = self.prepare(A)
        comparison, out = Comparison(self, A, A), np.empty(len(A))
        for i in range(len(A)):
            one = slice(i, i + 1)
            out[i] = comparison.at(one, one).value(self)[0, 0]
        return out


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


@compiled(inline=True)
def _sink(codes, begin, end, at):
    """Let a value sink in a heap until it is not below those under it."""
    value = codes[begin + at]
    while 2 * at + 1 < end - begin:
        below = begin + 2 * at + 1
        if below + 1 < end and codes[below + 1] > codes[below]:
            below += 1
        if codes[below] <= value:
            break
        codes[begin + at] = codes[below]
        at = below - begin
    codes[begin + at] = value


@compiled
def _sort_by_heap(codes, begin, end):
    for at in range((end - begin) // 2 - 1, -1, -1):
        _sink(codes, begin, end, at)
    for last in range(end - 1, begin, -1):
        largest = codes[begin]
        codes[begin] = codes[last]
        codes[last] = largest
        _sink(codes, begin, last, begin - begin)  # the place 0, whose type is not that of a constant


@compiled
def _sort(codes, begin, end):
    """Sort a part of an array in place; most nodes have few neighbours, and np.sort takes long to compile."""
    if end - begin > 32:
        _sort_by_heap(codes, begin, end)
        return
    for t in range(begin + 1, end):
        value = codes[t]
        s = t
        while s > begin and codes[s - 1] > value:
            codes[s] = codes[s - 1]
            s -= 1
        codes[s] = value
