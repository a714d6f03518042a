"""The kernel that compares the shortest paths of two graphs by their lengths and by what is at their ends.

Symbols: V nodes and M arcs of a graph, d(u, v) the length of a shortest path from u to v.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import budget
from mercer.arrays import Floats, Indices
from mercer.constraints import Boolean, InstanceOf, Optional
from mercer.domains import Frames, Samples, Vectors
from mercer.domains.structures.graphs import Graphs
from mercer.errors import DomainError, ParameterError
from mercer.kernels.abilities import DifferentiatedByTiles
from mercer.kernels.comparison import Comparison, View
from mercer.kernels.composite import offered
from mercer.kernels.graphs.graph_histograms import GraphCounts, GraphPatterns, PatternCount, tabulated, tallied
from mercer.kernels.graphs.path_tables import Ends, Part, Paths, compare, differentiate, measure, search
from mercer.kernels.kernel import Kernel, block_derivative, pullback
from mercer.kernels.protocols import Pullback
from mercer.numerics.ragged import Ragged
from mercer.runtime.tiling import run_tasks
from mercer.spec import derived, free_values

__all__ = ["ShortestPath"]
__public__ = __all__

_PAIRS = 2_000_000  # of nodes in a task, unless one graph has more
_WORK = 2e7  # multiplications in a tile with attributes
_DIGITS = 10  # lengths that agree in this many are the same: sums of weights depend on their order


class ShortestPath(PatternCount, DifferentiatedByTiles):
    r"""Shortest-path kernel: pairs of nodes that are equally far apart and have equal labels, or like attributes.

    .. math:: k(G, G') = \sum_{u \ne v} \sum_{u' \ne v'} [d(u, v) = d(u', v')]\, k_0(u, u')\, k_0(v, v'), \quad
        k_0(u, u') = [\ell(u) = \ell(u')]\, k_a(x_u, x_{u'})

    over ordered pairs of nodes that are connected by a path; k_a = 1 unless a kernel on the attributes x is given.

    Seed: [KIKS] Section 6.1.2, kernels between labelled graphs for chemical compounds.

    Parameters
    ----------
    labels : bool, default True
        Whether the labels of the two nodes have to be equal.
    weights : bool, default False
        Whether the length of a path is the sum of the weights of its edges, which must not be negative, rather than
        their number. Lengths that agree in ten digits are the same.
    attributes : Kernel, optional
        A kernel k_a on vectors, such as ``Gaussian(1.0)``, that compares the attributes of nodes. None leaves them out.

    Notes
    -----
    Domain Graphs; paths follow the direction of arcs. Nodes without a label are alike, and a pair of nodes counts in
    both orders, as each node may be the one where the path begins. Positive definite of order 0, as a convolution, if
    the kernel on attributes is; neither strict nor universal; not bounded. A graph without edges has k(G, G) = 0.

    Without attributes: features the counts of (label, label, length); no free parameter; cost O(V (V + M)) for a graph,
    with weights O(V M log V). With attributes: no features; differentiable in the parameters of the kernel on them if
    that is; cost O(V^2 V' + V V'^2) for a pair, since ends are added up before beginnings are compared.

    Examples
    --------
    >>> path = {"edges": [(0, 1), (1, 2)], "labels": ["C", "C", "O"]}
    >>> ring = {"edges": [(0, 1), (1, 2), (2, 0)], "labels": ["C", "C", "O"]}
    >>> ShortestPath()([path, ring])
    array([[ 8.,  8.],
           [ 8., 12.]])
    >>> ShortestPath(labels=False)([path, ring])
    array([[20., 24.],
           [24., 36.]])
    >>> from mercer.kernels import Gaussian
    >>> near = {"edges": [(0, 1)], "attributes": [[0.0], [1.0]]}
    >>> far = {"edges": [(0, 1)], "attributes": [[0.0], [3.0]]}
    >>> ShortestPath(attributes=Gaussian(1.0))([near, far]).round(3)
    array([[2.736, 0.284],
           [0.284, 2.   ]])
    """

    synonyms = ("shortest-path kernel",)
    formula = r"\sum_{u \ne v} \sum_{u' \ne v'} [d(u, v) = d(u', v')] k_0(u, u') k_0(v, v')"
    cost = "O(V (V + M)) a graph, then O(common patterns) a pair; with attributes O(V^2 V' + V V'^2) a pair"
    constraints = {"labels": Boolean(), "weights": Boolean(), "attributes": Optional(InstanceOf(Kernel))}

    def __init__(self, labels: bool = True, weights: bool = False, attributes: Kernel | None = None) -> None:
        self.labels = labels
        self.weights = weights
        self.attributes = attributes

    def check(self) -> ShortestPath:
        """Raise ParameterError unless the kernel on attributes is one on vectors."""
        super().check()
        if self.attributes is not None and self.attributes.domain not in (Vectors, Frames):
            raise ParameterError(
                f"ShortestPath was given attributes={self.attributes!r}, a kernel on "
                f"{self.attributes.domain.__name__}; the attributes of nodes are vectors. Use for example "
                "Gaussian(1.0)."
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

    # patterns -------------------------------------------------------------------------------------

    @property
    def kinds(self) -> tuple[str, ...]:
        """What the columns of the patterns are."""
        return ("node", "node", "length" if self.weights else "number")

    def counted(self, A: Graphs) -> GraphCounts:
        """Count the pairs of nodes by their labels and distance."""
        largest = int(A.sizes.max(initial=0))
        budget.Plan(f"{self!r} on a graph of {largest} nodes", {"pairs of nodes": 16 * largest**2}).require(None)
        codes = A.labels.astype(np.int64) if self.labels else np.full(len(A.labels), -1)
        matrix, table = (self._weighted if self.weights else self._plain)(A, codes)
        return GraphCounts(matrix, GraphPatterns(self.kinds, table, A.vocabulary, A.edge_vocabulary))

    def _plain(self, A: Graphs, codes: NDArray[np.int64]) -> tuple[Any, NDArray[np.int64]]:
        """Paths are counted by breadth-first search; a pattern is one number while it is counted."""
        words, lengths = int(codes.max(initial=-1)) + 2, int(A.sizes.max(initial=0)) + 1
        if float(words) ** 2 * lengths >= 2.0**62:
            raise DomainError(
                f"The graphs have {words} labels and up to {lengths} nodes; {self!r} accepts fewer kinds of paths than "
                "2^62. Use fewer labels, or labels=False."
            )
        ends = Ends(codes, words, lengths)

        def work(graphs: slice) -> tuple[Any, ...]:
            return _found(A, graphs, lambda part, out: search(part, ends, *out), np.int64, float)

        numbers, counts, per_graph = _in_pieces(A, work)
        matrix, distinct = tallied(numbers, counts, per_graph)
        pairs, far = np.divmod(distinct, lengths)
        return matrix, np.column_stack((*(side - 1 for side in np.divmod(pairs, words)), far))

    def _weighted(self, A: Graphs, codes: NDArray[np.int64]) -> tuple[Any, NDArray[np.int64]]:
        """Paths are measured by Dijkstra's algorithm."""
        far, first, second, bounds = self._measured(A)
        lengths, rank = np.unique(far, return_inverse=True)
        matrix, table = tabulated([codes[first], codes[second], rank], bounds)
        table[:, 2] = lengths[table[:, 2]].view(np.int64)
        return matrix, table

    def _measured(self, A: Graphs) -> tuple[Floats, Indices, Indices, Indices]:
        """Return the lengths of all shortest paths, where they begin and end, and where those of each graph begin."""
        weights = A.weights if self.weights else np.ones(len(A.weights))
        if (weights < 0.0).any():
            graph = int(np.searchsorted(A.arc_offsets, np.flatnonzero(weights < 0.0)[0], side="right")) - 1
            raise DomainError(
                f"Sample {graph} has an edge of negative weight; {self!r} adds weights to lengths, which must not be "
                "negative. Use weights=False, or other weights."
            )
        with np.errstate(over="ignore"):
            longest = weights.max(initial=0.0) * A.sizes.max(initial=0)
        if not np.isfinite(longest):
            raise DomainError(
                f"Paths of the graphs may be longer than any number; {self!r} adds weights, to less than 1.7e308. "
                "Divide them by a common factor."
            )

        def work(graphs: slice) -> tuple[Any, ...]:
            return _found(A, graphs, lambda part, out: measure(part, weights, *out), np.float64, np.int64)

        far, pairs, per_graph = _in_pieces(A, work)
        bounds = np.concatenate(([0], np.cumsum(per_graph))).astype(np.intp)
        first, second = np.divmod(pairs, np.int64(len(A.labels) + 1))
        return _rounded(far), first, second, bounds

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the counts and the patterns of the columns; there are none if attributes are compared."""
        if self.attributes is not None:
            raise self._lacks("a finite feature map")
        return super()._features(A, keys)

    def _feature_count(self, A: Samples) -> int | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the number of distinct patterns; None if attributes are compared."""
        return super()._feature_count(A) if self.attributes is None else None

    # both -----------------------------------------------------------------------------------------

    def _prepare(self, A: Samples) -> Samples:
        """Count the patterns of every graph or, with attributes, list its paths, once per collection."""
        if self.attributes is None:
            return super()._prepare(A)
        assert isinstance(A, Graphs)
        return A if self._paths in A.derived else A.with_derived(self._paths, self._listed(A))

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for tiles of some 20 milliseconds where attributes are compared."""
        sides = comparison.sides(())
        if self.attributes is None or not all(isinstance(S, Graphs) and len(S) for S in sides):
            return None
        n, m = (1.0 + len(S.labels) / len(S) for S in sides)  # pyright: ignore[reportAttributeAccessIssue]
        return max(1, int(np.sqrt(_WORK / (n * m * (n + m)))))

    def tile(self, view: View) -> Floats:
        """Add the products of counts over common patterns, or of similarities over paths of equal length."""
        if self.attributes is None:
            return super().tile(view)
        left, right, K = self._compared(view)
        out = view.empty()
        compare(left.paths, right.paths, K, left is right, out)
        return out

    def _diag(self, A: Samples) -> Floats:
        """Compare every graph with itself."""
        if self.attributes is None:
            return super()._diag(A)
        A = self.prepare(A)
        comparison, out = Comparison(self, A, A), np.empty(len(A))

        def work(i: int) -> None:
            one = slice(i, i + 1)
            out[i] = comparison.at(one, one).value(self)[0, 0]

        run_tasks(range(len(A)), work)
        return out

    # attributes -----------------------------------------------------------------------------------

    @property
    def _paths(self) -> str:
        """The name under which a collection carries its paths, which do not depend on the kernel on attributes."""
        return f"shortest paths:{bool(self.weights)}"

    def _on_nodes(self) -> Kernel:
        assert self.attributes is not None
        return self.attributes

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Let the kernel on attributes learn from the nodes of all graphs."""
        assert isinstance(S, Graphs)
        if self.attributes is None or not len(S.labels):
            return self
        v = None if weight is None else np.repeat(np.asarray(weight, dtype=float), S.sizes)
        learned = self.attributes.learn(self._nodes(S), None, v)
        return self if learned is self.attributes else self.replace(attributes=learned)

    def _listed(self, A: Graphs) -> Ragged:
        """Return rows (length, source, end) of every graph, by length and source; lengths are the bits of floats."""
        pairs = int((A.sizes.astype(np.int64) ** 2).sum())
        budget.Plan(f"{self!r} on {len(A)} graphs", {"pairs of nodes": 72 * pairs}).require(None)
        far, first, second, bounds = self._measured(A)
        owners = np.repeat(np.arange(len(A)), np.diff(bounds))
        order = np.lexsort((first, far, owners))
        begins = A.offsets[:-1][owners]
        # bits of floats that are not negative are in the order of the floats
        return Ragged(np.column_stack((far.view(np.int64), first - begins, second - begins))[order], bounds)

    def _nodes(self, A: Graphs) -> Samples:
        """Return the attributes of all nodes as samples of the kernel on them."""
        if not A.attributes.shape[1]:
            raise DomainError(
                f"The graphs have no attributes; {self!r} compares nodes by them. Give attributes, or use "
                "attributes=None."
            )
        return self._on_nodes().pack(A.attributes)

    def _sides(self, A: Samples, B: Samples) -> tuple[_Side, _Side]:
        """Return both collections with codes of the same labels."""
        assert isinstance(A, Graphs) and isinstance(B, Graphs)
        left, right = (A, A) if B is A else A.align(B)
        one = self._side(A, left.labels)
        return one, one if B is A else self._side(B, right.labels)

    def _side(self, A: Graphs, labels: Any) -> _Side:
        paths = self.prepare(A).derived[self._paths]
        nodes = self._on_nodes().prepare(self._nodes(A)) if len(A.labels) else None
        return _Side(
            Paths(A.offsets, paths.offsets, paths.codes), nodes, labels if self.labels else np.zeros_like(labels)
        )

    def _compared(self, view: View) -> tuple[_Side, _Side, Floats]:
        """Return both sides of a tile, the same twice on the diagonal, and k_0 between their nodes."""
        left, right = view.comparison.keep((view.path, id(self)), lambda: self._sides(*view.collections))
        a = left.piece(view.rows)
        b = a if right is left and view.rows == view.columns else right.piece(view.columns)
        if a.nodes is None or b.nodes is None:
            return a, b, np.zeros((len(a.labels), len(b.labels)))
        K = np.asarray(self._on_nodes().block(a.nodes, b.nodes), dtype=float)
        return a, b, np.where(a.labels[:, None] == b.labels, K, 0.0)

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Return the values of a tile and the pullback to the parameters of the kernel on attributes."""
        if self.attributes is None:
            return block_derivative(view, self)
        a, b, K = self._compared(view)
        out = view.empty()
        compare(a.paths, b.paths, K, a is b, out)

        def back(W: Floats) -> Floats:
            V = np.zeros(K.shape)
            if a.nodes is None or b.nodes is None:
                return np.zeros(len(free_values(self)))
            differentiate(a.paths, b.paths, K, np.ascontiguousarray(W, dtype=float), V)
            return pullback(self._on_nodes(), a.nodes, b.nodes, np.where(a.labels[:, None] == b.labels, V, 0.0))

        return out, back

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the derivatives in the parameters of the kernel on attributes."""
        if self.attributes is None:
            return np.zeros(0)
        A = self.prepare(A)
        return super()._pullback(A, A if B is A else self.prepare(B), W)


@dataclass(frozen=True, eq=False)
class _Side:
    """Graphs whose nodes are compared by attributes: their paths, and what their nodes have."""

    paths: Paths
    nodes: Samples | None  # None if there is no node
    labels: NDArray[Any]

    def piece(self, graphs: slice) -> _Side:
        """Return some of the graphs, with nodes and paths counted from the first of them."""
        offsets, starts = (part[graphs.start : graphs.stop + 1] for part in self.paths[:2])
        nodes = slice(offsets[0], offsets[-1])
        paths = Paths(offsets - offsets[0], starts - starts[0], self.paths.table[starts[0] : starts[-1]])
        some = None if self.nodes is None or nodes.start == nodes.stop else self.nodes[nodes]
        return _Side(paths, some, self.labels[nodes])


def _rounded(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lengths to this many digits; zero is positive zero."""
    with np.errstate(divide="ignore"):
        places = np.floor(np.log10(lengths, where=lengths > 0.0, out=np.zeros_like(lengths)))
    scale = 10.0 ** np.clip(_DIGITS - 1 - places, -300, 300)
    return np.rint(lengths * scale) / scale + 0.0


def _in_pieces(A: Graphs, work: Callable[[slice], tuple[Any, ...]]) -> list[NDArray[Any]]:
    """Process pieces of the collection that are not too large, in threads; return the results joined."""
    pieces = _pieces(A)
    results: list[Any] = [None] * len(pieces)

    def run(place: int) -> None:
        results[place] = work(pieces[place])

    run_tasks(range(len(pieces)), run)
    return [np.concatenate(column) for column in zip(*results, strict=True)]


def _pieces(A: Graphs) -> list[slice]:
    ends = np.cumsum(A.sizes.astype(float) ** 2)
    pieces, start = [], 0
    while start < len(A):
        before = ends[start - 1] if start else 0.0
        stop = max(int(np.searchsorted(ends, before + _PAIRS, side="right")), start + 1)
        pieces.append(slice(start, stop))
        start = stop
    return pieces


def _found(A: Graphs, graphs: slice, search: Callable[..., int], *kinds: Any) -> tuple[Any, ...]:
    """Allocate arrays for the pairs of nodes of some graphs, and return what a search has written there."""
    sizes = A.sizes[graphs]
    room, largest = int((sizes.astype(np.int64) ** 2).sum()), int(sizes.max(initial=0))
    first, second = (np.empty(room, kind) for kind in kinds)
    per_graph = np.zeros(len(sizes), np.intp)
    part = Part(A.offsets, A.indptr, A.targets, graphs.start, graphs.stop, largest)
    filled = search(part, (first, second, per_graph))
    return first[:filled].copy(), second[:filled].copy(), per_graph
