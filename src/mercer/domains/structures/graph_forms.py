"""The forms in which people have graphs, and how they become the arrays of `Graphs`.

This is the only code that looks at raw graphs. All graphs of a collection are written one after another into flat
lists, which become arrays at the end.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Bools, Codes, Floats, Indices
from mercer.domains.missing_values import is_fraction, is_missing
from mercer.domains.samples import is_hashable, kind_of
from mercer.errors import DomainError
from mercer.sparse_checks import sparse_fault

__all__ = ["Parts", "gathered"]

_ACCEPTED = (
    "A graph is a networkx graph, a square adjacency array (NumPy or SciPy), a tuple (adjacency or edges, labels) "
    'or a dict {"edges": [(0, 1), ...], "labels": [...]}.'
)
_KEYS = ("edges", "nodes", "labels", "attributes", "edge_labels", "weights", "directed", "multigraph")


@dataclass(frozen=True, eq=False)
class Parts:
    """Graphs as flat arrays, edges in any order and any number of times.

    Attributes
    ----------
    sizes, edge_counts : (n,) arrays
        Numbers of nodes and of listed edges.
    edges : (E, 2) intp array
        Nodes, counted from the first of their graph.
    labels : (N,) int32 array
    edge_labels : (E,) int32 array
    weights : (E,) float64 array
    attributes : (N, d) float64 array
    directed, multiple : (n,) bool arrays
        Whether a graph has directions, and whether an edge listed twice is two edges.
    vocabulary, edge_vocabulary : tuple
    """

    sizes: Indices
    edge_counts: Indices
    edges: Indices
    labels: Codes
    edge_labels: Codes
    weights: Floats
    attributes: Floats
    directed: Bools
    multiple: Bools
    vocabulary: tuple[Hashable, ...]
    edge_vocabulary: tuple[Hashable, ...]


def gathered(X: Any) -> Parts:
    """Return the parts of raw graphs; DomainError names the first that is not a graph."""
    graphs = _listed(X)
    gathering = _Gathering()
    for i, graph in enumerate(graphs):
        gathering.i = i
        if _is_networkx(graph):
            gathering.networkx(graph)
        elif sp.issparse(graph) or isinstance(graph, np.ndarray):
            gathering.adjacency(graph, None, None)
        elif isinstance(graph, Mapping):
            gathering.mapping(graph)
        elif isinstance(graph, Sequence) and not isinstance(graph, str | bytes) and 2 <= len(graph) <= 3:
            gathering.members(graph)
        else:
            given = "missing" if is_missing(graph) else f"of type {kind_of(graph)}"
            gathering.refuse(f"is {given}", "Convert or drop it.")
    return gathering.parts()


def _listed(X: Any) -> list[Any]:
    if _is_networkx(X) or sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf"):
        raise DomainError(f"A single graph was given (of type {kind_of(X)}); wrap it in a list: [graph]. {_ACCEPTED}")
    if isinstance(X, str | bytes | Mapping | Set) or not (isinstance(X, Iterable) and hasattr(X, "__len__")):
        raise DomainError(f"{kind_of(X)} was given; a list of graphs is needed. {_ACCEPTED} Make a list of them.")
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 1 and X.dtype == object:
        X = X[:, 0]
    graphs = list(X)
    if not graphs:
        raise DomainError(
            f"Found array with 0 sample(s) while a minimum of 1 is required. {_ACCEPTED} Give at least one."
        )
    return graphs


def _is_networkx(thing: Any) -> bool:
    return hasattr(thing, "nodes") and hasattr(thing, "edges") and callable(getattr(thing, "is_directed", None))


class _Gathering:
    """The graphs seen so far, in flat lists; `i` is the graph that is being read."""

    def __init__(self) -> None:
        self.i = 0
        self.sizes: list[int] = []
        self.edge_counts: list[int] = []
        self.tails: list[int] = []
        self.heads: list[int] = []
        self.labels: list[int] = []
        self.edge_labels: list[int] = []
        self.weights: list[float] = []
        self.attributes: list[Floats] = []
        self.directed: list[bool] = []
        self.multiple: list[bool] = []
        self.words: dict[Any, int] = {None: -1}
        self.edge_words: dict[Any, int] = {None: -1}

    def refuse(self, problem: str, remedy: str) -> NoReturn:
        raise DomainError(f"Sample {self.i} {problem}. {_ACCEPTED} {remedy}")

    # ------------------------------------------------------------------ one graph of each form

    def networkx(self, graph: Any) -> None:
        nodes = list(graph.nodes(data=True))
        place = {name: position for position, (name, _) in enumerate(nodes)}
        tails, heads, labels, weights = [], [], [], []
        for u, v, data in graph.edges(data=True):
            tails.append(place[u])
            heads.append(place[v])
            labels.append(data.get("label"))
            weights.append(data.get("weight", 1.0))
        self._require_names(place)
        rows = [data["attributes"] for _, data in nodes if "attributes" in data]
        if rows and len(rows) != len(nodes):
            self.refuse(f"has attributes for {len(rows)} of its {len(nodes)} nodes", "Give all of them, or none.")
        is_multigraph = getattr(graph, "is_multigraph", bool)()
        self._add(len(nodes), tails, heads, bool(graph.is_directed()), bool(is_multigraph))
        self._add_labels([data.get("label") for _, data in nodes], labels)
        self._add_weights(weights)
        self._add_attributes(rows or None, len(nodes))

    def adjacency(self, matrix: Any, labels: Any, edge_labels: Any, extra: Mapping[str, Any] | None = None) -> None:
        extra = extra or {}
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            self.refuse(f"is an array of shape {matrix.shape}; an adjacency is square", "Give shape (nodes, nodes).")
        if matrix.dtype.kind not in "biuf":
            self.refuse(f"is an array of {matrix.dtype}, not of numbers", "Give weights, or 0 and 1.")
        if isinstance(matrix, np.ma.MaskedArray):
            self.refuse("is a masked array", "Fill the masked entries, with 0 where there is no edge.")
        if sp.issparse(matrix) and (fault := sparse_fault(matrix)) is not None:
            self.refuse(f"is a damaged sparse matrix: {fault}", "Build it again.")
        A: Any = sp.csr_array(matrix).astype(float)
        A.sum_duplicates()
        A.eliminate_zeros()
        difference = A - A.T
        is_directed = bool(extra.get("directed", difference.nnz > 0 and bool(np.any(difference.data != 0.0))))
        entries: Any = A.tocoo() if is_directed else sp.coo_array(sp.triu(A))
        tails, heads = entries.coords[0].tolist(), entries.coords[1].tolist()
        size = A.shape[0]
        names = range(size)
        self._add(size, tails, heads, is_directed, False)
        self._add_labels(
            self._by_node(labels, names, "labels"),
            self._by_edge(edge_labels, list(zip(tails, heads, strict=True)), is_directed, "edge_labels", None),
        )
        self._add_weights(entries.data.tolist())
        self._add_attributes(self._by_node(extra.get("attributes"), names, "attributes"), size)

    def members(self, graph: Sequence[Any]) -> None:
        first, labels = graph[0], graph[1]
        edge_labels = graph[2] if len(graph) == 3 else None
        if sp.issparse(first) or (isinstance(first, np.ndarray) and first.ndim == 2 and _is_square(first, labels)):
            self.adjacency(first, labels, edge_labels)
        else:
            self.mapping({"edges": first, "labels": labels, "edge_labels": edge_labels})

    def mapping(self, graph: Mapping[str, Any]) -> None:
        strange = [key for key in graph if key not in _KEYS]
        if "edges" not in graph or strange:
            fault = f"has the key {str(strange[0])[:40]!r}" if strange else "is a dict without 'edges'"
            self.refuse(fault, f"The keys are {', '.join(_KEYS)}.")
        labels, attributes, edges = graph.get("labels"), graph.get("attributes"), graph["edges"]
        if sp.issparse(edges):
            self.adjacency(edges, labels, graph.get("edge_labels"), graph)
            return
        is_directed = bool(graph.get("directed", False))
        pairs, own_weights = self._pairs(edges)
        names, is_closed = self._names(graph.get("nodes"), labels, attributes)
        place = {name: position for position, name in enumerate(names)}
        if len(place) != len(names):
            self.refuse("names a node twice", "Give every node a name of its own.")
        try:
            if not is_closed and not place.keys() >= set(chain.from_iterable(pairs)):
                for u, v in pairs:
                    place.setdefault(u, len(place))
                    place.setdefault(v, len(place))
                names = list(place)
            tails, heads = [place[u] for u, _ in pairs], [place[v] for _, v in pairs]
        except KeyError as error:
            self.refuse(f"has an edge of the node {str(error.args[0])[:40]}, which it does not have", "Correct it.")
        except TypeError:
            self.refuse("has an edge of a node whose name cannot be hashed", "Use numbers or texts for nodes.")
        if not isinstance(names, range):
            self._require_names(names)
        self._add(len(place), tails, heads, is_directed, bool(graph.get("multigraph", False)))
        edge_labels = self._by_edge(graph.get("edge_labels"), pairs, is_directed, "edge_labels", None)
        self._add_labels(self._by_node(labels, names, "labels"), edge_labels)
        given = graph.get("weights", own_weights)
        self._add_weights(self._by_edge(given, pairs, is_directed, "weights", 1.0))
        self._add_attributes(self._by_node(attributes, names, "attributes"), len(place))

    # ------------------------------------------------------------------ their parts

    def _pairs(self, edges: Any) -> tuple[list[Any], Any]:
        """Return pairs of nodes, and weights if the edges come with any."""
        weights = None
        if isinstance(edges, Mapping):
            if all(isinstance(key, tuple) and len(key) == 2 for key in edges):
                values = list(edges.values())
                weights = None if any(value is None for value in values) else values
                pairs = list(edges)
            else:
                pairs = [(u, v) for u, near in edges.items() for v in near]
                if pairs and all(isinstance(near, Mapping) for near in edges.values()):
                    weights = [weight for near in edges.values() for weight in near.values()]
        else:
            pairs = edges.tolist() if isinstance(edges, np.ndarray) else edges
            if isinstance(pairs, str | bytes) or not isinstance(pairs, Iterable):
                self.refuse(f"has edges of type {kind_of(edges)}", "Give a list of pairs.")
            pairs = list(pairs)
        if not {tuple, list}.issuperset(map(type, pairs)) or not {2}.issuperset(map(len, pairs)):
            for pair in pairs:
                if not (isinstance(pair, tuple | list) and len(pair) == 2):
                    self.refuse(f"has the edge {str(pair)[:40]}, which is not a pair of nodes", "Give a list of pairs.")
        return pairs, weights

    def _names(self, nodes: Any, labels: Any, attributes: Any) -> tuple[Any, bool]:
        """Return the names of the nodes that are known before the edges, and whether there are no others."""
        if isinstance(nodes, int | np.integer) and not isinstance(nodes, bool):
            if not 0 <= nodes < 2**31:
                self.refuse(f"has {nodes} nodes", "Give a number of nodes below 2^31, or their names.")
            if labels is None and attributes is None and nodes > 10**8:
                self.refuse(f"has {nodes} nodes without any label", "Give at most 10^8 of them.")
            return range(int(nodes)), True
        if nodes is not None:
            if isinstance(nodes, str | bytes) or not isinstance(nodes, Iterable):
                self.refuse(f"has nodes of type {kind_of(nodes)}", "Give a number of nodes, or a list of their names.")
            names = list(nodes)
            for name in names:
                if not is_hashable(name):
                    self.refuse(f"has a node {str(name)[:40]} whose name cannot be hashed", "Use numbers or texts.")
            return names, True
        for values in (labels, attributes):
            if isinstance(values, Mapping):
                return list(values), False
            if values is not None and hasattr(values, "__len__"):
                return range(len(values)), True
        return [], False

    def _require_names(self, names: Iterable[Any]) -> None:
        missing = next((name for name in names if is_missing(name)), self)
        if missing is not self:
            self.refuse(f"has a node of the name {str(missing)[:40]}, which is missing", "Name it, or remove it.")

    def _by_node(self, values: Any, names: Any, what: str) -> list[Any] | None:
        """Return what is given for each node, in order; None for nodes that a mapping leaves out."""
        if values is None:
            return None
        if isinstance(values, Mapping):
            if not values.keys() <= set(names):
                strange = next(iter(values.keys() - set(names)))
                self.refuse(f"has {what} of the node {str(strange)[:40]}, which it does not have", "Remove them.")
            return list(map(values.get, names))
        if isinstance(values, np.ndarray):
            values = values.tolist() if what == "labels" else list(values)
        if isinstance(values, bytes) or not hasattr(values, "__len__") or isinstance(values, Set):
            self.refuse(f"has {what} of type {kind_of(values)}", "Give one for each node, in a list or a dict.")
        if len(values) != len(names):
            self.refuse(f"has {len(values)} {what} for {len(names)} nodes", "Give one for each node.")
        return list(values)

    def _by_edge(self, values: Any, pairs: list[Any], is_directed: bool, what: str, default: Any) -> list[Any] | None:
        """Return what is given for each listed edge, in order; None if there is nothing."""
        if values is None or (isinstance(values, Mapping) and not values):
            return None
        if isinstance(values, Mapping):
            if is_directed:
                return [values.get((u, v), default) for u, v in pairs]
            return [values.get((u, v), values.get((v, u), default)) for u, v in pairs]
        if isinstance(values, np.ndarray):
            values = values.tolist()
        if isinstance(values, bytes) or not hasattr(values, "__len__") or isinstance(values, Set):
            self.refuse(f"has {what} of type {kind_of(values)}", "Give one for each edge, in a list or a dict.")
        if len(values) != len(pairs):
            self.refuse(f"has {len(values)} {what} for {len(pairs)} edges", "Give one for each edge.")
        return list(values)

    # ------------------------------------------------------------------ into the lists

    def _add(self, size: int, tails: list[int], heads: list[int], directed: bool, multiple: bool) -> None:
        self.sizes.append(size)
        self.edge_counts.append(len(tails))
        self.tails += tails
        self.heads += heads
        self.directed.append(directed)
        self.multiple.append(multiple)

    def _add_labels(self, labels: list[Any] | None, edge_labels: list[Any] | None) -> None:
        for values, words, codes, count, what in (
            (labels, self.words, self.labels, self.sizes[-1], "node"),
            (edge_labels, self.edge_words, self.edge_labels, self.edge_counts[-1], "edge"),
        ):
            codes += [-1] * count if values is None else self._coded(values, words, what)

    def _coded(self, labels: list[Any], words: dict[Any, int], what: str) -> list[int]:
        before = len(words)
        try:
            if words.keys() >= set(labels):  # usually, of all graphs but the first
                return list(map(words.__getitem__, labels))
            codes = [words.setdefault(label, len(words) - 1) for label in labels]
        except TypeError:
            bad = next(label for label in labels if not is_hashable(label))
            self.refuse(f"has the {what} label {str(bad)[:40]}, which cannot be hashed", "Use texts or integers.")
        for label, _ in zip(reversed(words), range(len(words) - before), strict=False):
            if is_missing(label) or is_fraction(label):
                self.refuse(
                    f"has the {what} label {str(label)[:40]}, a real number or missing",
                    "Use texts or integers, None where there is no label, and attributes for numbers.",
                )
        return codes

    def _add_weights(self, weights: list[Any] | None) -> None:
        for weight in weights or ():
            if not isinstance(weight, float | int | np.floating | np.integer) or not abs(weight) < float("inf"):
                self.refuse(f"has the weight {str(weight)[:40]}, which is not a finite number", "Correct or remove it.")
        self.weights += [1.0] * self.edge_counts[-1] if weights is None else weights

    def _add_attributes(self, rows: list[Any] | None, size: int) -> None:
        if rows is None:
            if size:
                self.attributes.append(np.empty((size, 0)))
        elif size:
            if any(row is None for row in rows):
                self.refuse("has a node without attributes, and others with", "Give all of them, or none.")
            try:
                table = np.asarray([np.atleast_1d(np.asarray(row, dtype=float)) for row in rows], dtype=float)
            except (TypeError, ValueError):
                table = np.empty(0)
            if table.ndim != 2 or not np.isfinite(table).all():
                self.refuse("has attributes that are not as many finite numbers for each node", "Correct them.")
            self.attributes.append(table)
        if len(self.attributes) > 1 and self.attributes[-1].shape[1] != self.attributes[0].shape[1]:
            self.refuse(
                f"has {self.attributes[-1].shape[1]} attributes a node, graphs before it have "
                f"{self.attributes[0].shape[1]}",
                "Give all graphs the same.",
            )

    def parts(self) -> Parts:
        edges = np.empty((len(self.tails), 2), dtype=np.intp)
        edges[:, 0], edges[:, 1] = self.tails, self.heads
        return Parts(
            np.array(self.sizes, dtype=np.intp),
            np.array(self.edge_counts, dtype=np.intp),
            edges,
            np.array(self.labels, dtype=np.int32),
            np.array(self.edge_labels, dtype=np.int32),
            np.array(self.weights, dtype=float),
            np.concatenate(self.attributes) if self.attributes else np.empty((0, 0)),
            np.array(self.directed, dtype=bool),
            np.array(self.multiple, dtype=bool),
            _vocabulary(self.words),
            _vocabulary(self.edge_words),
        )


def _vocabulary(words: dict[Any, int]) -> tuple[Hashable, ...]:
    return tuple(word.item() if isinstance(word, np.generic) else word for word in words if word is not None)


def _is_square(matrix: Any, labels: Any) -> bool:
    """Distinguish an adjacency from a list of edges; two by two is an adjacency of the two nodes that have labels."""
    if matrix.shape[0] != matrix.shape[1]:
        return matrix.shape[1] != 2  # (m, 2) is a list of edges, anything else is refused as an adjacency
    return matrix.shape[0] != 2 or (labels is not None and hasattr(labels, "__len__") and len(labels) == 2)
