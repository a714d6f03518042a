"""Samples that are graphs: molecules, proteins, programs, whatever has nodes and edges.

Symbols: n graphs, N nodes and M arcs in all. An undirected edge is two arcs, a loop is one.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Bools, Codes, Floats, Indices
from mercer.domains.samples import Samples
from mercer.domains.structures.graph_forms import Parts, gathered
from mercer.errors import DomainError, ModelError

__all__ = ["Graphs"]
__public__ = __all__


@dataclass(frozen=True, eq=False, repr=False)
class Graphs(Samples):
    r"""Graphs with or without labels, attributes and weights: the samples of every kernel between graphs.

    .. math:: G = (V, E, \ell), \quad E \subseteq V \times V, \quad \ell : V \cup E \to \Sigma

    Seed: [KIKS] Section 6.1.2 (chemical compounds as labelled graphs); [HSS] "Tree Kernels", on kernels
    between graphs.

    Parameters
    ----------
    offsets : (n + 1,) intp array
        Where the nodes of each graph begin among all nodes.
    indptr : (N + 1,) intp array
        Where the arcs that leave each node begin among all arcs.
    targets : (M,) int32 array
        Where an arc leads, counted from the first node of its graph; ascending for each node.
    labels : (N,) int32 array
        Positions in ``vocabulary``; -1 for a node without a label.
    edge_labels : (M,) int32 array
        Positions in ``edge_vocabulary``; -1 for an arc without a label.
    weights : (M,) float64 array
        Weights of the arcs, 1 unless given.
    attributes : (N, d) float64 array
        Numbers of every node; d is 0 if there are none.
    directed : (n,) bool array
        Whether a graph has directions. One without has each edge as two arcs with the same label and weight.
    vocabulary, edge_vocabulary : tuple
        Distinct labels of nodes and of edges in the order in which they were first seen.

    Notes
    -----
    A graph may be empty, have isolated nodes and loops; a loop is one arc. Nodes without a label are alike. An edge
    that is listed more than once, in either direction, is one edge; only a networkx multigraph, or a dict that says
    so, has parallel edges. Slices share the arrays and the vocabularies.

    Examples
    --------
    >>> path = {"edges": [(0, 1), (1, 2)], "labels": ["C", "C", "O"]}
    >>> triangle = (np.ones((3, 3)) - np.eye(3), ["C", "C", "C"])
    >>> S = Graphs.pack([path, triangle])
    >>> S
    <Graphs: 2 samples, 3 nodes, 2 to 3 edges, 2 labels>
    >>> S.node_labels(0), S.edges(0).tolist()
    (('C', 'C', 'O'), [[0, 1], [1, 2]])
    >>> S.adjacency(1).toarray()
    array([[0., 1., 1.],
           [1., 0., 1.],
           [1., 1., 0.]])
    """

    offsets: Indices
    indptr: Indices
    targets: Codes
    labels: Codes
    edge_labels: Codes
    weights: Floats
    attributes: Floats
    directed: Bools
    vocabulary: tuple[Hashable, ...]
    edge_vocabulary: tuple[Hashable, ...]

    @classmethod
    def pack(cls, X: Any) -> Self:
        """Turn graphs into Graphs.

        Parameters
        ----------
        X : list of graphs
            Each one of the following, in any mixture.

            * A networkx graph (or what looks like one): node attributes ``label`` and ``attributes`` (a vector), edge
              attributes ``label`` and ``weight``.
            * A square array or SciPy sparse array, the weighted adjacency; directed unless it is symmetric.
            * A tuple (edges or adjacency, node labels) or (edges or adjacency, node labels, edge labels).
            * A dict with ``"edges"``: pairs of nodes, or a mapping from pairs to weights or from nodes to neighbours;
              and, where there are any, ``"nodes"`` (a number, or names), ``"labels"``, ``"attributes"`` (by node, in
              order or as a mapping), ``"edge_labels"``, ``"weights"`` (by edge, in order or as a mapping from pairs),
              ``"directed"`` and ``"multigraph"`` (False unless given).

        Raises
        ------
        DomainError
            No graph, or one that is none of these; the message names it.
        """
        if cls._is_packed(X):
            return X
        return cls.assembled(gathered(X))

    @classmethod
    def assembled(cls, parts: Parts) -> Self:
        """Make Graphs of arrays in which every edge is listed at least once, in any order."""
        offsets = _starts(parts.sizes)
        total = int(offsets[-1])
        owners = np.repeat(np.arange(len(parts.sizes), dtype=np.intp), parts.edge_counts)
        u, v = (parts.edges[:, side] + offsets[owners] for side in (0, 1))
        kept = _first_mentions(parts, owners, u, v, total)
        u, v, owners = u[kept], v[kept], owners[kept]
        edge_labels, weights = parts.edge_labels[kept], parts.weights[kept]
        back = np.flatnonzero(~parts.directed[owners] & (u != v))
        sources, heads = np.concatenate((u, v[back])), np.concatenate((v, u[back]))
        order = np.argsort(sources * np.int64(total + 1) + heads, kind="stable")
        sources, owners = sources[order], np.concatenate((owners, owners[back]))[order]
        return cls(
            offsets,
            _starts(np.bincount(sources, minlength=total)),
            (heads[order] - offsets[owners]).astype(np.int32),
            parts.labels,
            np.concatenate((edge_labels, edge_labels[back]))[order],
            np.concatenate((weights, weights[back]))[order],
            parts.attributes,
            parts.directed,
            parts.vocabulary,
            parts.edge_vocabulary,
        )

    # ------------------------------------------------------------------ what is in it

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """``(offsets, indptr, targets, labels, edge_labels, weights, attributes, directed)``."""
        return (
            *(self.offsets, self.indptr, self.targets, self.labels),
            *(self.edge_labels, self.weights, self.attributes, self.directed),
        )

    def bytes_of(self, i: int) -> bytes:
        """Return graph i as bytes, the same for two graphs of a collection that are written alike."""
        a, b = self.offsets[i], self.offsets[i + 1]
        p, q = self.indptr[a], self.indptr[b]
        arcs = (self.targets[p:q], self.edge_labels[p:q], self.weights[p:q])
        parts = (self.indptr[a : b + 1] - p, self.labels[a:b], self.attributes[a:b], self.directed[i : i + 1], *arcs)
        return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)

    @property
    def sizes(self) -> Indices:
        """``(n,)`` numbers of nodes."""
        return np.diff(self.offsets)

    @property
    def degrees(self) -> Indices:
        """``(N,)`` numbers of arcs that leave each node."""
        return np.diff(self.indptr)

    @property
    def arc_offsets(self) -> Indices:
        """``(n + 1,)`` where the arcs of each graph begin among all arcs."""
        return self.indptr[self.offsets]

    @property
    def sources(self) -> Codes:
        """``(M,)`` where each arc begins, counted from the first node of its graph."""
        local = np.arange(len(self.labels), dtype=np.int32)
        local -= np.repeat(self.offsets[:-1], self.sizes).astype(np.int32)
        return np.repeat(local, self.degrees)

    def node_labels(self, i: int) -> tuple[Hashable, ...]:
        """Return the labels of the nodes of graph i, as they were given; None for a node without."""
        codes = self.labels[self.offsets[i] : self.offsets[i + 1]]
        return tuple(None if code < 0 else self.vocabulary[code] for code in codes)

    def edges(self, i: int) -> Codes:
        """Return the edges of graph i, (m, 2): arcs of a directed graph, each edge of an undirected graph once."""
        one = self[i]
        arcs = np.column_stack((one.sources, one.targets))
        return arcs if self.directed[i] else arcs[arcs[:, 0] <= arcs[:, 1]]

    def adjacency(self, i: int) -> sp.csr_array:
        """Return the weighted adjacency of graph i; weights of parallel edges are added."""
        one = self[i]
        m = int(one.offsets[-1])
        matrix = sp.csr_array((one.weights, one.targets, one.indptr), shape=(m, m), copy=True)
        matrix.sum_duplicates()
        return matrix

    # ------------------------------------------------------------------ pieces

    def align(self, other: Graphs) -> tuple[Graphs, Graphs]:
        """Both collections with codes of the same vocabularies; the same objects if they have them already.

        Codes of self never change (its vocabularies may grow). What is recoded loses its derived data: read those
        from the collections given.
        """
        nodes, node_codes = _merged(self.vocabulary, other.vocabulary)
        edges, edge_codes = _merged(self.edge_vocabulary, other.edge_vocabulary)
        if nodes is not self.vocabulary or edges is not self.edge_vocabulary:
            left = replace(self, vocabulary=nodes, edge_vocabulary=edges)._deriving(self)
        else:
            left = self
        if node_codes is None and edge_codes is None:
            return left, other
        recoded = replace(
            other,
            labels=_recoded(other.labels, node_codes),
            edge_labels=_recoded(other.edge_labels, edge_codes),
            vocabulary=nodes,
            edge_vocabulary=edges,
        )
        return left, recoded

    def _rows(self, index: slice | Indices) -> Self:
        nodes, offsets = _selected(self.offsets, index)
        arcs, _ = _selected(self.arc_offsets, index)
        return replace(
            self,
            offsets=offsets,
            indptr=_starts(self.degrees[nodes]),
            targets=self.targets[arcs],
            labels=self.labels[nodes],
            edge_labels=self.edge_labels[arcs],
            weights=self.weights[arcs],
            attributes=self.attributes[nodes],
            directed=self.directed[index],
        )

    def _joined(self, other: Any) -> Self:
        left, right = self.align(other)
        if len(left.labels) and len(right.labels) and left.attributes.shape[1] != right.attributes.shape[1]:
            raise DomainError(
                f"Graphs with {left.attributes.shape[1]} attributes a node cannot be joined with graphs that have "
                f"{right.attributes.shape[1]}; all have the same number. Give both collections the same attributes."
            )
        attributes = [side.attributes for side in (left, right) if len(side.labels)] or [left.attributes]
        joined = {
            name: np.concatenate((getattr(left, name), getattr(right, name)))
            for name in ("targets", "labels", "edge_labels", "weights", "directed")
        }
        return replace(
            left,
            offsets=np.concatenate((left.offsets, right.offsets[1:] + left.offsets[-1])),
            indptr=np.concatenate((left.indptr, right.indptr[1:] + left.indptr[-1])),
            attributes=np.concatenate(attributes),
            **joined,
        )  # pyright: ignore[reportReturnType]

    def _summary(self) -> str:
        if not len(self):
            return ""
        loops = np.add.reduceat(np.append(self.sources == self.targets, False).astype(np.intp), self.arc_offsets[:-1])
        arcs = np.diff(self.arc_offsets)
        loops[arcs == 0] = 0
        edges = np.where(self.directed, arcs, (arcs + loops) // 2)
        parts = [_span(self.sizes, "node"), _span(edges, "edge")]
        for count, what in (
            (len(self.vocabulary), "label"),
            (len(self.edge_vocabulary), "edge label"),
            (self.attributes.shape[1], "attribute"),
        ):
            if count:
                parts.append(f"{count} {what}{'' if count == 1 else 's'}")
        return "".join(f", {part}" for part in parts)

    # ------------------------------------------------------------------ what a file may have broken

    def check(self) -> None:
        """Raise ModelError unless the arrays fit together; those of a model file did not come through `pack`."""
        total, arcs = len(self.labels), len(self.targets)
        _require(_is_starts(self.offsets, total) and _is_starts(self.indptr, arcs), "offsets that are not in order")
        _require(len(self.indptr) == total + 1 and len(self.offsets) == len(self.directed) + 1, "too few nodes")
        kinds = ((self.targets, np.int32), (self.labels, np.int32), (self.edge_labels, np.int32))
        kinds = (*kinds, (self.weights, np.float64), (self.directed, np.bool_))
        _require(all(a.ndim == 1 and a.dtype == kind for a, kind in kinds), "arrays of another kind")
        _require(len(self.edge_labels) == len(self.weights) == arcs, "edges without labels or weights")
        good = self.attributes.ndim == 2 and len(self.attributes) == total and self.attributes.dtype == np.float64
        _require(good, "attributes that are not one row per node")
        sizes = np.repeat(self.sizes, np.diff(self.arc_offsets))
        _require(bool(((self.targets >= 0) & (self.targets < sizes)).all()), "edges to nodes that are not there")
        finite = np.isfinite(self.weights).all() and np.isfinite(self.attributes).all()
        _require(bool(finite), "weights or attributes that are not finite")
        for codes, words in ((self.labels, self.vocabulary), (self.edge_labels, self.edge_vocabulary)):
            _require(isinstance(words, tuple) and len(set(words)) == len(words), "labels that come twice")
            inside = not len(codes) or (codes.min() >= -1 and int(codes.max()) < len(words))
            _require(bool(inside), "labels beyond their vocabulary")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ModelError(f"The model has graphs with {what}, so its parts do not fit together. Save the model again.")


def _is_starts(starts: Indices, total: int) -> bool:
    good = starts.ndim == 1 and starts.dtype == np.intp and len(starts) > 0
    return good and starts[0] == 0 and starts[-1] == total and bool((np.diff(starts) >= 0).all())


def _starts(lengths: Any) -> Indices:
    starts = np.zeros(len(lengths) + 1, dtype=np.intp)
    np.cumsum(lengths, out=starts[1:])
    return starts


def _selected(starts: Indices, index: slice | Indices) -> tuple[slice | Indices, Indices]:
    """Return where the entries of some rows are, as a slice where possible, and where they begin afterwards."""
    if isinstance(index, slice):
        part = starts[index.start : index.stop + 1]
        return slice(part[0], part[-1]), part - part[0]
    offsets = _starts(np.diff(starts)[index])
    shift = np.repeat(starts[:-1][index] - offsets[:-1], np.diff(offsets))
    return np.arange(offsets[-1], dtype=np.intp) + shift, offsets


def _merged(mine: tuple[Hashable, ...], other: tuple[Hashable, ...]) -> tuple[tuple[Hashable, ...], Codes | None]:
    """Return a vocabulary for both that begins with mine, and the codes of the other's labels in it (None: same)."""
    if other is mine or other == mine:
        return mine, None
    position = {label: code for code, label in enumerate(mine)}
    codes = np.array([position.setdefault(label, len(position)) for label in other], dtype=np.int32)
    return (mine if len(position) == len(mine) else tuple(position)), codes


def _recoded(codes: Codes, new: Codes | None) -> Codes:
    return codes if new is None else np.append(new, np.int32(-1))[codes]  # -1, no label, is the last of these


def _span(counts: Indices, what: str) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{low} {what}{'' if low == 1 else 's'}" if low == high else f"{low} to {high} {what}s"


def _first_mentions(parts: Parts, owners: Indices, u: Indices, v: Indices, total: int) -> Indices:
    """Return which edges to keep: of those listed more than once in a graph without parallel edges the first."""
    two_way = ~parts.directed[owners]
    low, high = np.where(two_way, np.minimum(u, v), u), np.where(two_way, np.maximum(u, v), v)
    keys = low * np.int64(total + 1) + high
    order = np.argsort(keys, kind="stable")
    again = np.zeros(len(keys), dtype=bool)
    again[1:] = (np.diff(keys[order]) == 0) & ~parts.multiple[owners[order[1:]]]
    if not again.any():
        return np.arange(len(keys), dtype=np.intp)
    place = np.flatnonzero(again)
    now, before = order[place], order[place - 1]
    differ = (parts.edge_labels[now] != parts.edge_labels[before]) | (parts.weights[now] != parts.weights[before])
    if differ.any():
        edge = int(now[np.flatnonzero(differ)[0]])
        graph = int(owners[edge])
        raise DomainError(
            f"Sample {graph} lists the edge between its nodes {parts.edges[edge, 0]} and {parts.edges[edge, 1]} twice, "
            "with different labels or weights; an edge listed twice must be the same edge. Keep one of them, or give "
            "a networkx MultiGraph or a dict with multigraph=True, whose parallel edges are kept."
        )
    return np.sort(order[~again])
