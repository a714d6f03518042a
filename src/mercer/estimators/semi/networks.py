r"""Energies of functions on several graphs, and weights that make graphs that do not fit count less.

Symbols: W_k the (n, n) weights of graph k, D_k its degrees; L_k its Laplacian, 1 - D^-1/2 W D^-1/2 or (D - W) over the
mean degree; F the (n, c) values at the nodes, E_k = tr(F' L_k F) their energy, small where F is smooth; beta_k the
weights of the graphs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats, Indices
from mercer.constraints import Constraint
from mercer.domains.structures.nodes import Network
from mercer.errors import DomainError, ParameterError
from mercer.numerics.laplacians import components

__all__ = ["AnyGraph", "Laplacian", "Mixture", "Networks", "RobustWeights", "as_networks", "energies"]


class AnyGraph(Constraint):
    """A graph, several graphs, or None; they are checked when they are read. Not free."""

    @property
    def accepted(self) -> str:
        return "a graph (networkx, adjacency, edges, Network), several in a dict, tuple or list, or None"

    def accepts(self, value: Any) -> bool:
        return not isinstance(value, (str, bytes, bool, int, float, complex, type))

    def advice(self, name: str, value: Any) -> str:
        return f"Write for example {name}=[(0, 1), (1, 2)]."


class Laplacian(NamedTuple):
    """L = diag(diagonal) - ties, in two parts: that is how it is multiplied, and sums are quick to form.

    Attributes
    ----------
    diagonal : (n,) array
    ties : (n, n) csr_array
    scale : (n,) array, optional
        Of rows and of columns, by which the difference is then multiplied.
    """

    diagonal: Floats
    ties: Any
    scale: Floats | None = None

    @classmethod
    def of(cls, W: Any, plain: bool, alone: bool = False) -> Laplacian:
        """Return (D - W) over the mean degree, or 1 - D^-1/2 W D^-1/2, whose entry is 0 for a node without edges.

        Of a graph that is alone the weights stay as they are, and D^-1/2 is its scale.

        Examples
        --------
        >>> Laplacian.of(sp.csr_array([[0.0, 2.0], [2.0, 0.0]]), plain=False).ties.toarray()
        array([[0., 1.],
               [1., 0.]])
        """
        own = W.diagonal()
        degrees = np.asarray(W @ np.ones(W.shape[0])) - own  # a tie to itself changes no energy
        if own.any():
            W = sp.csr_array(W - sp.diags_array(own))
        if plain:
            mean = float(degrees.mean()) or 1.0
            return cls(degrees / mean, W * (1.0 / mean))
        roots = np.full(len(degrees), 1.0 if alone else 0.0)
        np.divide(1.0, np.sqrt(degrees), out=roots, where=degrees > 0.0)
        if alone:
            return cls(degrees, W, roots)
        data = W.data * np.repeat(roots, np.diff(W.indptr)) * roots[W.indices]
        return cls((degrees > 0.0).astype(float), sp.csr_array((data, W.indices, W.indptr), shape=W.shape))

    def __matmul__(self, F: Floats) -> Floats:
        if self.scale is None:
            return self.diagonal[:, None] * F - self.ties @ F
        G = self.scale[:, None] * F
        return self.scale[:, None] * (self.diagonal[:, None] * G - self.ties @ G)


class Networks(NamedTuple):
    """Several graphs on the same nodes.

    Attributes
    ----------
    names : tuple of str
    graphs : tuple of Network
    """

    names: tuple[str, ...]
    graphs: tuple[Network, ...]

    def laplacians(self, plain: bool) -> list[Laplacian]:
        """Return L_k, normalised, or plain ones over their mean degrees, so that they are of one size."""
        return [Laplacian.of(graph.adjacency, plain, len(self.graphs) == 1) for graph in self.graphs]

    def parts(self) -> Indices:
        """Return the connected part of each node, over all graphs together."""
        total = self.graphs[0].adjacency
        for graph in self.graphs[1:]:
            total = total + graph.adjacency
        return components(total)[1]


def as_networks(graph: Any) -> Networks:
    """Return the graphs that were given: one in any form that Network takes, or several in a dict, tuple or list.

    They share arrays with what was given: nothing of them is kept after a fit.

    Examples
    --------
    >>> as_networks({"a": [(0, 1)], "b": [(0, 1, 2.0)]}).names
    ('a', 'b')
    """
    if isinstance(graph, Mapping):
        given = {str(name): Network.of(one, copy=False) for name, one in graph.items()}
    elif isinstance(graph, Sequence) and not isinstance(graph, str) and any(_is_graph(one) for one in graph):
        given = {str(place): Network.of(one, copy=False) for place, one in enumerate(graph)}
    else:
        given = {"0": Network.of(graph, copy=False)}
    if not given:
        raise ParameterError("graph={} was given; at least one graph is needed. Give one, or several by name.")
    found = Networks(tuple(given), tuple(given.values()))
    first = found.graphs[0]
    for name, one in given.items():
        if one.directed:
            raise DomainError(
                f"graph {name!r} has directions; labels spread along edges without one. Give (A + A.T) / 2 of its "
                "adjacency A."
            )
        if len(one) != len(first) or one.names != first.names:
            raise DomainError(
                f"graph {name!r} has {len(one)} nodes, or other names, and graph {found.names[0]!r} has {len(first)}; "
                "several graphs have the same nodes in the same order. Give each the nodes of all of them."
            )
    return found


def _is_graph(one: Any) -> bool:
    """Return whether this is a graph of its own, not an edge."""
    if isinstance(one, Network) or sp.issparse(one) or hasattr(one, "adjacency"):
        return True
    return isinstance(one, np.ndarray) and one.ndim == 2 and one.shape[0] == one.shape[1]


class Mixture:
    """Sums of Laplacians with changing weights: their ties are laid out on one pattern once."""

    def __init__(self, laplacians: list[Laplacian]) -> None:
        self.laplacians = laplacians
        n = len(laplacians[0].diagonal)
        if len(laplacians) == 1:
            return
        keys = [_places(L.ties, n) for L in laplacians]
        every = np.sort(np.concatenate(keys), kind="stable")  # runs that are sorted already
        every = every[np.append(True, every[1:] != every[:-1])] if len(every) else every
        self.values = np.zeros((len(laplacians), len(every)))
        for row, L, own in zip(self.values, laplacians, keys, strict=True):
            row[np.searchsorted(every, own)] = L.ties.data
        starts = np.append(0, np.cumsum(np.bincount(every // n, minlength=n)))
        self.pattern = (every % n).astype(np.int32), starts.astype(np.int32 if len(every) < 2**31 else np.int64)

    def __call__(self, beta: Floats) -> Laplacian:
        """Return sum_k beta_k L_k."""
        if len(self.laplacians) == 1:
            L = self.laplacians[0]
            return L if beta[0] == 1.0 else Laplacian(beta[0] * L.diagonal, L.ties * float(beta[0]), L.scale)
        diagonal = np.sum([weight * L.diagonal for L, weight in zip(self.laplacians, beta, strict=True)], axis=0)
        n = len(diagonal)
        return Laplacian(diagonal, sp.csr_array((beta @ self.values, *self.pattern), shape=(n, n)))


def _places(ties: Any, n: int) -> Indices:
    """Return the place of each entry in the matrix, row after row; entries that stand twice have been added."""
    ties.sum_duplicates()
    return np.repeat(np.arange(n, dtype=np.int64), np.diff(ties.indptr)) * n + ties.indices


def energies(laplacians: list[Laplacian], F: Floats) -> Floats:
    """Return E_k = tr(F' L_k F)."""
    return np.array([max(float(np.einsum("ij,ij->", F, L @ F)), 0.0) for L in laplacians])


@dataclass(frozen=True)
class RobustWeights:
    r"""Weights of graphs by the energies of F on them: :math:`\beta_k = c / (\delta + E_k)`.

    They belong to the objective :math:`\dots + c \sum_k \log(\delta + E_k)`, the logarithm of a Student-t prior for
    each graph: a graph that F does not fit is an outlier, and matters less.
    """

    c: float
    delta: float

    @classmethod
    def of(cls, first: Floats, spread: float) -> RobustWeights:
        """Choose the constants by the first energies: delta is a share of their mean, the first weights sum to one."""
        delta = spread * float(first.mean()) or 1.0  # F may be constant on every part of every graph
        return cls(1.0 / float(np.sum(1.0 / (delta + first))), delta)

    def __call__(self, E: Floats) -> Floats:
        return self.c / (self.delta + E)

    def value(self, E: Floats) -> float:
        """Return c sum_k log(delta + E_k)."""
        return self.c * float(np.log(self.delta + E).sum())
