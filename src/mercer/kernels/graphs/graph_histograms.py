"""Kernels that count what is in a graph: labels of nodes and of edges. And what all kernels that count patterns share.

Symbols: n graphs, N nodes, M arcs in all, D distinct patterns. A pattern is a row of whole numbers: codes of labels of
nodes and of edges, and numbers that mean the same in every collection, such as lengths.

Each collection is counted separately, with codes of its own vocabularies; two collections are compared by looking up
the patterns of one among those of the other, after their labels. So no value depends on what else is in a call.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Floats, Indices
from mercer.constraints import Boolean
from mercer.domains import Samples
from mercer.domains.samples import codes_among
from mercer.domains.structures.graphs import Graphs
from mercer.errors import ModelError
from mercer.kernels.abilities import Featured
from mercer.kernels.comparison import View
from mercer.kernels.counts import Overlap, arrays_of, count, overlap, renumbered
from mercer.kernels.interning import find_rows
from mercer.kernels.kernel import Tiled

__all__ = ["EdgeHistogram", "PatternCount", "GraphPatterns", "VertexHistogram"]
__public__ = ["EdgeHistogram", "VertexHistogram"]

_LIMIT = 2**62


@dataclass(frozen=True, eq=False)
class GraphPatterns:
    """The distinct patterns of a collection, in a fixed order: the columns of its features.

    Attributes
    ----------
    kinds : tuple of {"node", "edge", "number", "length"}
        What the columns of the table are: codes of labels of nodes, of edges, whole numbers, or the bits of floats.
    table : (D, w) int64 array
        A pattern a row; -1 is the code of what has no label.
    vocabulary, edge_vocabulary : tuple
        The labels of the codes.
    """

    kinds: tuple[str, ...]
    table: NDArray[np.int64]
    vocabulary: tuple[Hashable, ...]
    edge_vocabulary: tuple[Hashable, ...]

    def __len__(self) -> int:
        return len(self.table)

    def symbols(self, i: int) -> tuple[Hashable, ...]:
        """Return pattern i with its labels as they were given, None where there is none."""
        words = {"node": self.vocabulary, "edge": self.edge_vocabulary}
        plain = {"number": int, "length": lambda bits: float(bits.view(np.float64))}
        return tuple(
            plain[kind](code) if kind in plain else None if code < 0 else words[kind][code]
            for kind, code in zip(self.kinds, self.table[i], strict=True)
        )

    def find(self, other: GraphPatterns) -> Indices:
        """Return for each pattern of `other` its place here, or -1."""
        if other is self:
            return np.arange(len(self), dtype=np.intp)
        codes = {
            "node": recoding(self.vocabulary, other.vocabulary),
            "edge": recoding(self.edge_vocabulary, other.edge_vocabulary),
        }
        return find_rows(self.table, recoded(other.table, self.kinds, codes))

    def check(self) -> None:
        """Raise ModelError unless the parts fit together."""
        table, kinds = self.table, self.kinds
        good = isinstance(table, np.ndarray) and table.dtype == np.int64 and table.ndim == 2
        good = good and isinstance(kinds, tuple) and len(kinds) == table.shape[1]
        good = good and all(isinstance(words, tuple) for words in (self.vocabulary, self.edge_vocabulary))
        if not good:
            raise ModelError("The model has patterns of graphs that are not a table. Save the model again.")


def recoding(ours: tuple[Hashable, ...], theirs: tuple[Hashable, ...]) -> NDArray[np.int64]:
    """Return our codes of their labels, -2 for labels that we do not have; the last entry is for -1, no label."""
    if ours is theirs:
        return np.append(np.arange(len(ours)), -1)
    return np.append(codes_among(ours, theirs, -2), -1)


def recoded(table: NDArray[np.int64], kinds: tuple[str, ...], codes: dict[str, NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return patterns with other codes: those of nodes and edges are replaced, and edges put in order again."""
    new = table.copy()
    for column, kind in enumerate(kinds):
        if kind in codes:
            new[:, column] = codes[kind][table[:, column]]
    return in_order(new) if kinds == EDGE else new


EDGE = ("node", "edge", "node", "number")  # the last is 1 for an arc of a directed graph


def in_order(edges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return edges of which those without direction have the lower code first."""
    back = (edges[:, 3] == 0) & (edges[:, 0] > edges[:, 2])
    edges[back] = edges[back][:, [2, 1, 0, 3]]
    return edges


@dataclass(frozen=True, eq=False)
class GraphCounts:
    """How often each pattern is in each graph; slices of a collection share the patterns."""

    matrix: sp.csr_array  # (n, D) float64, indices sorted
    keys: Any  # GraphPatterns, or what else has `find`

    def __len__(self) -> int:
        return len(self.matrix.indptr) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of the counts."""
        return sum(a.nbytes for a in arrays_of(self.matrix))

    def take(self, index: slice | Indices) -> GraphCounts:
        """Counts of some of the graphs."""
        return GraphCounts(self.matrix[index], self.keys)


class PatternCount(Tiled, Featured):
    r"""The base of kernels between graphs that count patterns.

    .. math:: k(G, G') = \sum_p \#_p(G)\, \#_p(G')

    Notes
    -----
    A subclass writes `counted`, and `key`, which distinguishes the counts of different parameters.
    """

    domain = Graphs
    formula: ClassVar[str] = r"\sum_p \#_p(G) \#_p(G')"

    @property
    def key(self) -> str:
        """The name under which a collection carries the counts."""
        return repr(self)

    @abstractmethod
    def counted(self, A: Graphs) -> GraphCounts:
        """Return the counts of all graphs of a collection."""

    def _prepare(self, A: Samples) -> Samples:
        """Count the patterns of every graph, once per collection."""
        if self.key in A.derived:
            return A
        assert isinstance(A, Graphs)
        return A.with_derived(self.key, self.counted(A))

    def tile(self, view: View) -> Floats:
        """Add the products of counts over common patterns."""
        A, B = view.collections
        common = view.comparison.keep(
            (view.path, self.key), lambda: _compared(self._counts(A), None if B is A else self._counts(B))
        )
        out = view.empty()
        common.tile(view.rows, view.columns, out)
        return out

    def _diag(self, A: Samples) -> Floats:
        """Return the sums of squared counts."""
        matrix = self._counts(A).matrix
        return np.asarray((matrix * matrix).sum(axis=1), dtype=float)

    def _features(self, A: Samples, keys: Any = None) -> tuple[sp.csr_array, Any]:
        """Return the counts, (len A, D) CSR, and the patterns of the columns; with `keys`, of those only."""
        counts = self._counts(A)
        if keys is None or keys is counts.keys:
            return counts.matrix, counts.keys
        return renumbered(counts.matrix, keys.find(counts.keys), len(keys)), keys

    def _feature_count(self, A: Samples) -> int:
        """Return the number of distinct patterns of the collection."""
        return len(self._counts(A).keys)

    def _counts(self, A: Samples) -> GraphCounts:
        return self.prepare(A).derived[self.key]


def _compared(left: GraphCounts, right: GraphCounts | None) -> Overlap:
    if right is None or right.keys is left.keys:
        return overlap(left.matrix, None if right is None else right.matrix)
    return overlap(left.matrix, renumbered(right.matrix, left.keys.find(right.keys), len(left.keys)))


def tabulated(columns: list[Any], bounds: Indices) -> tuple[sp.csr_array, NDArray[np.int64]]:
    """Count rows of whole numbers, none below -1, that are given column by column.

    Parameters
    ----------
    columns : list of (K,) integer arrays
    bounds : (n + 1,) array
        Where the rows of each graph begin.

    Returns
    -------
    counts : (n, D) CSR
    table : (D, w) int64 array
        The distinct rows, in ascending order.

    Examples
    --------
    >>> counts, table = tabulated([np.array([0, 1, 0]), np.array([5, 5, 5])], np.array([0, 2, 3]))
    >>> counts.toarray(), table.tolist()
    (array([[1., 1.],
           [1., 0.]]), [[0, 5], [1, 5]])
    """
    values, span = np.zeros(int(bounds[-1]), np.int64), 1
    for column in columns:
        wide = int(column.max(initial=-1)) + 2
        if span * wide >= _LIMIT:  # the ranks of the values so far are as good as the values
            distinct, values = np.unique(values, return_inverse=True)
            span = len(distinct)
        values = values * wide + (column.astype(np.int64) + 1)
        span *= wide
    if span * 4 > _LIMIT:
        distinct, values = np.unique(values, return_inverse=True)
        span = len(distinct)
    matrix, first = count(values.astype(np.int64, copy=False), bounds, span)
    return matrix, np.column_stack([column[first] for column in columns]).astype(np.int64)


def tallied(numbers: NDArray[np.int64], counts: Floats, per_graph: Indices) -> tuple[sp.csr_array, NDArray[np.int64]]:
    """Return counts of patterns that are numbers, and the distinct numbers, from what each graph has of them.

    Examples
    --------
    >>> counts, distinct = tallied(np.array([3, 7, 7]), np.array([1.0, 2.0, 5.0]), np.array([2, 1]))
    >>> counts.toarray(), distinct.tolist()
    (array([[1., 2.],
           [0., 5.]]), [3, 7])
    """
    distinct, columns = np.unique(numbers, return_inverse=True)
    indptr = np.concatenate(([0], np.cumsum(per_graph)))
    matrix = sp.csr_array((counts, columns, indptr), shape=(len(per_graph), len(distinct)))
    matrix.sum_duplicates()
    return matrix, distinct


# ---------------------------------------------------------------------------------------- nodes and edges


class VertexHistogram(PatternCount):
    r"""Vertex histogram kernel: the products of how often each label is on nodes of two graphs.

    .. math:: k(G, G') = \sum_{a \in \Sigma} |\{v \in V : \ell(v) = a\}|\, |\{v' \in V' : \ell(v') = a\}|

    Seed: [KIKS] Section 6.1.2, kernels between labelled graphs, for walks of no step.

    Notes
    -----
    Domain Graphs. Nodes without a label count as nodes of one label of its own. Edges play no part. Features the
    counts of labels; no parameter. Positive definite of order 0 by its features; neither strict nor universal, since
    many graphs have the same labels; not bounded (``.normalized()`` removes that). Cost O(N) to count.

    It is the baseline of kernels between graphs: what a better kernel gains over it is owed to the edges.

    Examples
    --------
    >>> water = {"edges": [(0, 1), (0, 2)], "labels": ["O", "H", "H"]}
    >>> methane = {"edges": [(0, 1), (0, 2), (0, 3), (0, 4)], "labels": ["C", "H", "H", "H", "H"]}
    >>> VertexHistogram()([water, methane])
    array([[ 5.,  8.],
           [ 8., 17.]])
    """

    formula = r"\sum_a \#_a(V) \#_a(V')"
    cost = "O(N) to count, then O(common labels) a pair"
    kinds: ClassVar[tuple[str, ...]] = ("node",)

    def __init__(self) -> None:
        pass

    def counted(self, A: Graphs) -> GraphCounts:
        """Count the labels of the nodes."""
        matrix, table = tabulated([A.labels], A.offsets)
        return GraphCounts(matrix, GraphPatterns(self.kinds, table, A.vocabulary, A.edge_vocabulary))


class EdgeHistogram(PatternCount):
    r"""Edge histogram kernel: the products of how often each kind of edge is in two graphs.

    .. math:: k(G, G') = \sum_{a, b, c} \#_{abc}(E)\, \#_{abc}(E')

    where #_abc(E) counts the edges with label b between nodes with labels a and c.

    Seed: [KIKS] Section 6.1.2, kernels between labelled graphs, for walks of one step.

    Parameters
    ----------
    ends : bool, default True
        Whether the labels of the nodes at the ends count as well as the edge's own.

    Notes
    -----
    Domain Graphs. An edge without direction counts once, whichever end is named first; an arc of a directed graph is
    like no edge without direction. What has no label has one of its own. Features the counts; no free parameter.
    Positive definite of order 0 by its features; neither strict nor universal; not bounded. A graph without edges has
    k(G, G) = 0. Cost O(M) to count.

    Examples
    --------
    >>> ethanol = {"edges": [(0, 1), (1, 2)], "labels": ["C", "C", "O"]}
    >>> ether = {"edges": [(0, 1), (1, 2)], "labels": ["C", "O", "C"]}
    >>> EdgeHistogram()([ethanol, ether])
    array([[2., 2.],
           [2., 4.]])
    >>> EdgeHistogram(ends=False)([ethanol], [ether])
    array([[4.]])
    """

    formula = r"\sum_{a, b, c} \#_{abc}(E) \#_{abc}(E')"
    cost = "O(M) to count, then O(common kinds of edges) a pair"
    constraints = {"ends": Boolean()}
    kinds: ClassVar[tuple[str, ...]] = EDGE

    def __init__(self, ends: bool = True) -> None:
        self.ends = ends

    def counted(self, A: Graphs) -> GraphCounts:
        """Count the edges."""
        directed = np.repeat(A.directed, np.diff(A.arc_offsets))
        once = directed | (A.sources <= A.targets)
        shift = np.repeat(A.offsets[:-1], np.diff(A.arc_offsets))[once]
        flags = directed[once].astype(np.int64)
        if self.ends:
            ends = [A.labels[side[once] + shift].astype(np.int64) for side in (A.sources, A.targets)]
        else:
            ends = [np.full(len(flags), -1)] * 2
        edges = in_order(np.column_stack([ends[0], A.edge_labels[once], ends[1], flags]).astype(np.int64))
        bounds = np.concatenate(([0], np.cumsum(once)))[A.arc_offsets]
        matrix, table = tabulated(list(edges.T), bounds)
        return GraphCounts(matrix, GraphPatterns(self.kinds, table, A.vocabulary, A.edge_vocabulary))
