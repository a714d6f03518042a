"""The propagation kernel: what nodes know is passed on to their neighbours, and nodes that then know alike are counted.

Symbols: h iterations, N nodes, M arcs in all; T = D^-1 A the matrix of transitions of a random walk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.constraints import Fixed, Integer, OneOf, Positive
from mercer.domains.structures.graphs import Graphs
from mercer.errors import DomainError
from mercer.kernels.graphs.graph_histograms import GraphCounts, GraphPatterns, PatternCount, tabulated
from mercer.runtime.compiled import compiled

__all__ = ["Propagation"]
__public__ = __all__


class Propagation(PatternCount):
    r"""Propagation kernel: pairs of nodes that know the same after information has spread along the edges.

    .. math:: k(G, G') = \sum_{t=0}^h \sum_{v \in V} \sum_{v' \in V'} [b_t(v) = b_t(v')], \quad
        b_t(v) = \Big\lfloor \frac{((T^t P)_v \cdot w_t) + s_t}{r} \Big\rfloor

    where row v of P is the label of node v as a unit vector, or its attributes.

    Seed: [KIKS] Section 6.1.2, kernels between labelled graphs.

    Parameters
    ----------
    iterations : int, default 5
        The number h of steps, 0 or more.
    width : float, default 0.1
        The width r > 0 of the bins: nodes whose vectors differ by less are likely to be in one bin.
    source : {"labels", "attributes"}, default "labels"
        What spreads. Vectors of labels are compared by total variation (directions w_t from a Cauchy distribution),
        attributes by Euclidean distance (from a normal distribution).
    random_state : int, default 0
        The seed of directions w_t and shifts s_t. The component of w_t for a label depends on it and on the label
        alone.

    Notes
    -----
    Domain Graphs; weights must not be negative. A node without neighbours keeps what it knows; one without a label has
    a label of its own. Features the counts of bins; no free parameter. Positive definite of order 0 by its features;
    neither strict nor universal; not bounded. Cost O(h^2 M) for a collection.

    Sums of kernels of different seeds approach the expected share of common bins. Attributes should have a common
    scale.

    Examples
    --------
    >>> path = {"edges": [(0, 1), (1, 2)], "labels": "CCO"}
    >>> ring = {"edges": [(0, 1), (1, 2), (2, 0)], "labels": "CCO"}
    >>> Propagation(0)([path, ring])
    array([[5., 5.],
           [5., 5.]])
    >>> Propagation(2)([path, ring])
    array([[15., 11.],
           [11., 15.]])
    """

    synonyms = ("propagation kernel",)
    formula = r"\sum_{t=0}^h \sum_{v, v'} [b_t(v) = b_t(v')]"
    cost = "O(h^2 M) a collection, then O(common bins) a pair"
    constraints = {
        "iterations": Integer(0),
        "width": Fixed(Positive()),
        "source": OneOf("labels", "attributes"),
        "random_state": Integer(0),
    }

    def __init__(self, iterations: int = 5, width: float = 0.1, source: str = "labels", random_state: int = 0) -> None:
        self.iterations = iterations
        self.width = width
        self.source = source
        self.random_state = random_state

    def counted(self, A: Graphs) -> GraphCounts:
        """Spread what the nodes know, and count bins."""
        if (A.weights < 0.0).any():
            graph = int(np.searchsorted(A.arc_offsets, np.flatnonzero(A.weights < 0.0)[0], side="right")) - 1
            raise DomainError(
                f"Sample {graph} has an edge of negative weight; {self!r} needs shares of what spreads, so weights "
                "must not be negative. Use other weights."
            )
        steps = int(self.iterations) + 1
        values = self._projected(A, steps)
        shift = np.repeat(A.offsets[:-1], A.sizes)
        shifts = np.random.default_rng([int(self.random_state), 1]).random(steps)
        matrices, tables = [], []
        for t in range(steps):
            bins = np.floor(values[:, t] / float(self.width) + shifts[t])
            if not (np.abs(bins) < 2.0**62).all():
                raise DomainError(
                    f"The graphs have values of {values[:, t].max():.3g}, too large for bins of width={self.width!r}. "
                    "Scale the attributes, or use wider bins."
                )
            distinct, rank = np.unique(bins.astype(np.int64), return_inverse=True)
            matrix, table = tabulated([rank], A.offsets)
            matrices.append(matrix)
            tables.append(np.column_stack((np.full(len(table), t), distinct[table[:, 0]])))
            if t + 1 < steps:
                values[:, t + 1 :] = _spread(shift, A.indptr, A.targets, A.weights, values[:, t + 1 :].copy())
        keys = GraphPatterns(("number", "number"), np.concatenate(tables).astype(np.int64), (), ())
        matrix = sp.csr_array(sp.hstack(matrices, format="csr"))
        matrix.sort_indices()
        return GraphCounts(matrix, keys)

    def _projected(self, A: Graphs, steps: int) -> Floats:
        """Return what every node knows at first, along the direction of each step: (N, steps)."""
        if self.source == "labels":
            known = (*A.vocabulary, None)  # the last is for nodes without a label, whose code is -1
            directions = np.array([_direction(label, int(self.random_state), steps) for label in known])
            return directions[A.labels]
        if not A.attributes.shape[1] and len(A.labels):
            raise DomainError(
                f"The graphs have no attributes; {self!r} compares nodes by them. Give attributes, or use "
                "source='labels'."
            )
        rng = np.random.default_rng([int(self.random_state), 0])
        directions = rng.standard_normal((steps, A.attributes.shape[1])).T  # a step more changes no other step
        with np.errstate(over="ignore", invalid="ignore"):
            return np.ascontiguousarray(A.attributes @ directions)


def _direction(label: Hashable, seed: int, steps: int) -> Floats:
    """Return the components for a label; equal labels, as 1 and True, have the same."""
    plain = int(label) if isinstance(label, bool) else label
    digest = hashlib.sha256(repr(plain).encode("utf-8", "surrogatepass")).digest()
    words = np.frombuffer(digest, dtype=np.uint32).tolist()
    return np.random.default_rng([seed, 2, *words]).standard_cauchy(steps)


@compiled
def _spread(shift, indptr, targets, weights, values):
    """Return the weighted means over neighbours."""
    out = np.empty_like(values)
    for u in range(indptr.size - 1):
        total = 0.0
        for arc in range(indptr[u], indptr[u + 1]):
            total += weights[arc]
        for t in range(values.shape[1]):
            out[u, t] = 0.0 if total > 0.0 else values[u, t]
        if total > 0.0:
            for arc in range(indptr[u], indptr[u + 1]):
                share = weights[arc] / total
                for t in range(values.shape[1]):
                    out[u, t] += share * values[shift[u] + targets[arc], t]
    return out
