"""Samples that are nodes of one graph, and the graph: people of a network, papers that cite each other.

Symbols: N nodes and M arcs of the graph, n samples. An undirected edge is two arcs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Indices
from mercer.constraints import is_real
from mercer.domains.missing_values import is_missing
from mercer.domains.samples import Samples, is_hashable, kind_of
from mercer.domains.strings import listed
from mercer.domains.structures.graphs import Graphs
from mercer.domains.vectors import require_sound
from mercer.errors import DomainError, ModelError
from mercer.numerics.sparse_symmetry import is_symmetric
from mercer.sparse_checks import sparse_fault

__all__ = ["Network", "Nodes"]
__public__ = __all__

_FORMS = (
    "A graph whose nodes are compared is a networkx graph, a square adjacency array (NumPy or SciPy), or a list of "
    "edges, pairs (u, v) or triples (u, v, weight)."
)
_ACCEPTED = "Nodes are given by their numbers, counted from 0, or by their names where the graph has names."


@dataclass(frozen=True, eq=False, repr=False)
class Network:
    r"""One graph whose nodes are the samples: weights of edges, and names of nodes if they have any.

    .. math:: W \in \mathbb{R}^{N \times N}, \quad W_{ij} > 0 \text{ if there is an edge from } i \text{ to } j

    Seed: [HSS] Section 2.2.5, kernels on the vertices of a graph.

    Parameters
    ----------
    adjacency : (N, N) csr_array
        Weights of the arcs, none below zero.
    names : tuple or None
        The name of each node; None if nodes are known by their numbers.
    directed : bool
        Whether arcs have a direction; if not, the adjacency is symmetric.
    teleport : float
        Probability with which a random walk on a directed graph jumps to any node.

    Notes
    -----
    Kernels on nodes take graphs in all the forms of `Network.of`; a Network is what they make of them. One that is
    given to several kernels keeps for them what is computed once, such as eigenvectors. It never changes. Model files
    hold a Network, or a SciPy CSR array, but no networkx graph: give such a model ``Network.of(graph)``.

    Examples
    --------
    >>> Network.of([("Ann", "Bob"), ("Bob", "Cid")])
    <Network: 3 nodes, 2 edges, names>
    >>> Network.of(np.array([[0.0, 2.0], [0.0, 0.0]]))
    <Network: 2 nodes, 1 arc>
    """

    adjacency: Any
    names: tuple[Hashable, ...] | None = None
    directed: bool = False
    teleport: float = 0.0

    @classmethod
    def of(cls, graph: Any, teleport: float = 0.0, *, copy: bool = True) -> Network:
        """Make a Network of a graph.

        Parameters
        ----------
        graph : networkx graph, square array or sparse array, list of edges, Graphs of one graph, or Network
            Edges of networkx may have ``weight``. An array is the weighted adjacency, directed unless it is symmetric.
            Edges are pairs (u, v) or triples (u, v, weight), without direction; nodes are whole numbers from 0, or
            names. An edge that is listed twice counts once, with its last weight.
        teleport : float, default 0.0
            For a directed graph in which not every node can be reached from every other: the probability, below 1,
            with which a random walk jumps to a node drawn from all.
        copy : bool, default True
            Whether arrays are copied; without it they are shared where possible, and must not change meanwhile.

        Raises
        ------
        DomainError
            It is no graph, it has no node, or a weight is negative or not finite.
        """
        if not (isinstance(teleport, float | int) and 0.0 <= teleport < 1.0):
            raise DomainError(
                f"teleport={teleport!r} was given; it is a probability, from 0 to below 1. Try teleport=0.01."
            )
        if isinstance(graph, Network):
            same = graph.teleport == teleport or teleport == 0.0
            return graph if same else cls(graph.adjacency, graph.names, graph.directed, float(teleport))
        if isinstance(graph, Graphs):
            if len(graph) != 1:
                raise DomainError(f"{len(graph)} graphs were given where one is needed. Give one: graphs[i].")
            found = graph.adjacency(0), None, bool(graph.directed[0])
        elif sp.issparse(graph) or _is_adjacency(graph):
            found = _of_array(graph, copy)
        elif hasattr(graph, "nodes") and hasattr(graph, "edges") and callable(getattr(graph, "is_directed", None)):
            found = _of_networkx(graph)
        else:
            found = _of_edges(graph)
        _require_names(found[1] or ())
        return cls(_checked(found[0], copy), found[1], found[2], float(teleport))

    def __len__(self) -> int:
        return self.adjacency.shape[0]

    @cached_property
    def _place(self) -> dict[Hashable, int]:
        return {name: place for place, name in enumerate(self.names or ())}

    @cached_property
    def _kept(self) -> dict[Hashable, Any]:
        return {}

    @cached_property
    def _lock(self) -> Any:
        return threading.RLock()

    def keep(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what was made for this key before, or make it now; safe from several threads."""
        if key not in self._kept:
            with self._lock:
                if key not in self._kept:
                    self._kept[key] = make()
        return self._kept[key]

    def locate(self, X: Any) -> Nodes:
        """Turn numbers or names of nodes into Nodes of this graph.

        Examples
        --------
        >>> Network.of([("Ann", "Bob"), ("Bob", "Cid")]).locate(["Cid", "Ann"]).index
        array([2, 0])
        """
        if self.names is None or isinstance(X, Samples):
            return self.require(Nodes.pack(X))
        found = np.empty(len(values := _values(X)), dtype=np.intp)
        for i, value in enumerate(values):
            place = self._place.get(value, -1) if is_hashable(value) else -1
            if place < 0:
                raise DomainError(
                    f"Sample {i} is {str(value)[:40]!r}, which is not a node of the graph; its {len(self)} nodes have "
                    f"names such as {str(self.names[0])[:40]!r}. Give names of nodes, as they are in the graph."
                )
            found[i] = place
        return Nodes(found)

    def require(self, nodes: Nodes) -> Nodes:
        """Return the nodes; DomainError if one is not in the graph."""
        if len(nodes) and int(nodes.index.max()) >= len(self):
            i = int(nodes.index.argmax())
            raise DomainError(
                f"Sample {i} is node {nodes.index[i]}; the graph has {len(self)} nodes, counted from 0. "
                "Give numbers of its nodes, or the graph that they are of."
            )
        return nodes

    def check(self) -> None:
        """Raise ModelError unless the parts fit together; those of a model file did not come through `of`."""
        W, is_csr = self.adjacency, isinstance(self.adjacency, sp.csr_array)
        good = is_csr and sparse_fault(W) is None and W.shape[0] == W.shape[1] and W.shape[0] > 0
        good = good and W.dtype == np.float64 and bool(np.isfinite(W.data).all()) and bool((W.data >= 0.0).all())
        good = good and (self.directed is True or (self.directed is False and is_symmetric(W)))
        good = good and isinstance(self.teleport, float) and 0.0 <= self.teleport < 1.0
        names = self.names
        good = good and (names is None or (isinstance(names, tuple) and len(set(names)) == len(names) == len(self)))
        if not good:
            raise ModelError("The model has a graph whose parts do not fit together. Save the model again.")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __sklearn_clone__(self) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:  # what can be computed again is not stored
        return {name: vars(self)[name] for name in ("adjacency", "names", "directed", "teleport")}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Network):
            return NotImplemented
        if self is other:
            return True
        W, V = self.adjacency, other.adjacency
        rest = ("names", "directed", "teleport")
        same = W.shape == V.shape and all(getattr(self, name) == getattr(other, name) for name in rest)
        return same and (W != V).nnz == 0

    __hash__ = None  # pyright: ignore[reportAssignmentType]  (compared by value)

    def __repr__(self) -> str:
        loops = int((self.adjacency.diagonal() != 0.0).sum())
        count = self.adjacency.nnz if self.directed else (self.adjacency.nnz + loops) // 2
        parts = [_plural(len(self), "node"), _plural(count, "arc" if self.directed else "edge")]
        if self.names is not None:
            parts.append("names")
        if self.teleport:
            parts.append(f"teleport {self.teleport:g}")
        return f"<Network: {', '.join(parts)}>"


@dataclass(frozen=True, eq=False, repr=False)
class Nodes(Samples):
    r"""Nodes of a graph that a kernel holds: samples that are known by how they are connected.

    .. math:: i \in V, \quad G = (V, E) \text{ the graph of the kernel}

    Seed: [KIKS] Section 6.1.1, externally structured data.

    Parameters
    ----------
    index : (n,) intp array
        The number of each node in the graph, from 0.

    Notes
    -----
    Names of nodes are looked up by the kernel, which has the graph.

    Examples
    --------
    >>> Nodes.pack([3, 0, 3])
    <Nodes: 3 samples>
    """

    index: Indices

    @classmethod
    def pack(cls, X: Any) -> Self:
        """Turn numbers of nodes into Nodes.

        Parameters
        ----------
        X : list, array or column of whole numbers from 0
            A single column of a table will do.
        """
        if cls._is_packed(X):
            return X
        if np.ma.is_masked(X):
            raise DomainError(f"An array with masked values was given. {_ACCEPTED} Drop them.")
        values = X if isinstance(X, np.ndarray | list | tuple | range) else _values(X)
        try:
            given = np.asarray(values)
        except ValueError:  # samples of several lengths
            _refuse(values)
        if given.ndim == 2 and given.shape[1] == 1:
            given = given[:, 0]
        if given.ndim != 1 or given.dtype.kind not in "iuf":
            _refuse(given if given.ndim == 1 else _values(X))
        if not len(given):
            raise DomainError(
                f"Found array with 0 sample(s) while a minimum of 1 is required. {_ACCEPTED} Give at least one."
            )
        with np.errstate(invalid="ignore"):
            wrong = ~((given >= 0) & (given < 2**62) & (given == np.floor(given)))
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            raise DomainError(
                f"Sample {i} is {given[i]}, which is not the number of a node. {_ACCEPTED} Correct or drop it."
            )
        return cls(given.astype(np.intp))

    def __len__(self) -> int:
        return len(self.index)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """``(index,)``."""
        return (self.index,)

    def _rows(self, index: slice | Indices) -> Self:
        return type(self)(self.index[index])

    def _joined(self, other: Any) -> Self:
        return type(self)(np.concatenate((self.index, other.index)))

    def check(self) -> None:
        """Raise ModelError unless the numbers are numbers of nodes."""
        good = isinstance(self.index, np.ndarray) and self.index.ndim == 1 and self.index.dtype == np.intp
        if not good or bool((self.index < 0).any()):
            raise ModelError("The model has nodes that are not whole numbers from 0. Save the model again.")


def _values(X: Any) -> list[Any]:
    """Return the samples of a list, an array or a column."""
    if isinstance(X, str | bytes | Mapping | Set) or not (isinstance(X, Iterable) and hasattr(X, "__len__")):
        raise DomainError(f"{kind_of(X)} was given; a list of nodes is needed. {_ACCEPTED} Make a list of them.")
    if np.ma.is_masked(X):
        raise DomainError(f"An array with masked values was given. {_ACCEPTED} Drop them.")
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 1:
        X = X[:, 0]
    if isinstance(X, np.ndarray) and X.ndim != 1:
        raise DomainError(f"An array of shape {X.shape} was given; a list of nodes is needed. {_ACCEPTED} Give (n,).")
    values = listed(X) if not isinstance(X, list | tuple) else list(X)
    if not len(values):
        raise DomainError(
            f"Found array with 0 sample(s) while a minimum of 1 is required. {_ACCEPTED} Give at least one."
        )
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _refuse(values: Any) -> NoReturn:
    for i, value in enumerate(values):
        if not is_real(value) or is_missing(value):
            given = "missing" if is_missing(value) else f"{str(value)[:40]!r}, of type {kind_of(value)}"
            raise DomainError(
                f"Sample {i} is {given}; the graph has no such node. {_ACCEPTED} Give numbers, or give the kernel a "
                "graph with names (a networkx graph, or edges between names)."
            )
    raise DomainError(f"The nodes are not a list of whole numbers below 2^62. {_ACCEPTED} Give an array of shape (n,).")


# ------------------------------------------------------------------------------------------ forms of graphs


def _is_adjacency(thing: Any) -> bool:
    """Distinguish an adjacency from an array of edges, which has two or three columns and is not square."""
    if not isinstance(thing, np.ndarray) or thing.ndim != 2:
        return False
    return thing.shape[0] == thing.shape[1] or thing.shape[1] not in (2, 3)


def _of_array(matrix: Any, copy: bool) -> tuple[Any, None, bool]:
    if isinstance(matrix, np.ma.MaskedArray) or matrix.dtype.kind not in "biuf":
        raise DomainError(f"An adjacency of {matrix.dtype} was given (or a masked one). {_FORMS} Give weights.")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise DomainError(f"An adjacency of shape {matrix.shape} was given; it has to be square. {_FORMS} Correct it.")
    if sp.issparse(matrix):
        require_sound(matrix, _FORMS)
    W: Any = sp.csr_array(matrix).astype(np.float64, copy=copy)
    if W.indices.dtype != np.int32 and max(W.shape[0], W.nnz) < 2**31:
        W = sp.csr_array((W.data, W.indices.astype(np.int32), W.indptr.astype(np.int32)), shape=W.shape)
    return W, None, not is_symmetric(W)


def _of_networkx(graph: Any) -> tuple[Any, tuple[Hashable, ...] | None, bool]:
    names = tuple(graph.nodes)
    place = {name: i for i, name in enumerate(names)}
    directed = bool(graph.is_directed())
    entries: dict[tuple[int, int], float] = {}
    parallel = bool(getattr(graph, "is_multigraph", bool)())
    for u, v, data in graph.edges(data=True):
        i, j, weight = place[u], place[v], _weight(data.get("weight", 1.0), u, v)
        for pair in {(i, j)} if directed else {(i, j), (j, i)}:
            entries[pair] = weight + (entries.get(pair, 0.0) if parallel else 0.0)
    numbered = names == tuple(range(len(names)))
    return _assembled(entries, len(names)), None if numbered else names, directed


def _of_edges(edges: Any) -> tuple[Any, tuple[Hashable, ...] | None, bool]:
    if isinstance(edges, str | bytes | Mapping | Set) or not (
        isinstance(edges, Iterable) and hasattr(edges, "__len__")
    ):
        raise DomainError(f"The graph is of type {kind_of(edges)}. {_FORMS} Convert it.")
    rows = edges.tolist() if isinstance(edges, np.ndarray) else list(edges)
    place: dict[Hashable, int] = {}
    entries: dict[tuple[Any, Any], float] = {}
    for row in rows:
        if not isinstance(row, tuple | list) or len(row) not in (2, 3) or not all(map(is_hashable, row)):
            raise DomainError(
                f"The graph has the edge {str(row)[:40]}, which is not a pair of nodes. {_FORMS} Correct it."
            )
        u, v = (end.item() if isinstance(end, np.generic) else end for end in row[:2])
        entries[u, v] = entries[v, u] = _weight(row[2] if len(row) == 3 else 1.0, u, v)
        place.setdefault(u, len(place))
        place.setdefault(v, len(place))
    if all(type(name) is int and name >= 0 for name in place):
        numbers: Any = entries
        names: Any = place
        return _assembled(numbers, max(names, default=-1) + 1), None, False
    coded = {(place[u], place[v]): weight for (u, v), weight in entries.items()}
    return _assembled(coded, len(place)), tuple(place), False


def _weight(weight: Any, u: Any, v: Any) -> float:
    if isinstance(weight, float | int | np.floating | np.integer) and 0.0 <= weight < float("inf"):
        return float(weight)
    raise DomainError(
        f"The edge from {str(u)[:40]} to {str(v)[:40]} has the weight {str(weight)[:40]}; weights are finite and not "
        "negative, since a walk follows an edge in proportion to its weight. Correct or remove it."
    )


def _assembled(entries: Mapping[tuple[int, int], float], size: int) -> sp.csr_array:
    if size > 2**31 - 1:
        raise DomainError(
            f"A node has the number {size - 1}; numbers below 2^31 are accepted. Number the nodes from 0."
        )
    pairs = np.array(list(entries), dtype=np.intp).reshape(-1, 2)
    weights = np.fromiter(entries.values(), dtype=np.float64, count=len(entries))
    return sp.csr_array((weights, (pairs[:, 0], pairs[:, 1])), shape=(size, size))


def _checked(W: Any, own: bool) -> sp.csr_array:
    """Return weights that are sound, each place once and in order; of arrays of its own it changes them in place."""
    if not W.shape[0]:
        raise DomainError(f"A graph without nodes was given. {_FORMS} Give one with at least one node.")
    positive = W.data.min(initial=1.0) > 0.0 and W.data.max(initial=1.0) < np.inf  # False for NaN
    if positive and W.has_canonical_format:
        return W
    W = W if own else W.copy()
    W.sum_duplicates()
    W.eliminate_zeros()
    bad = np.flatnonzero(~((W.data >= 0.0) & np.isfinite(W.data)))
    if len(bad):
        row = int(np.searchsorted(W.indptr, bad[0], side="right")) - 1
        _weight(W.data[bad[0]], row, W.indices[bad[0]])
    return W


def _require_names(names: Iterable[Hashable]) -> None:
    for name in names:
        if is_missing(name):
            raise DomainError(
                f"The graph has a node of the name {str(name)[:40]}, which is missing. {_FORMS} Name it, or remove it."
            )


def _plural(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
