"""A kernel that sums over the paths of a graph, each the product of the kernels on its edges.

Symbols: u_j -> u_i an edge from node j to node i, k_(u_j -> u_i) the kernel on it, DP(i) the sum over all paths from
the first node to node i.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.constraints import Satisfies
from mercer.domains import Samples
from mercer.domains.samples import is_hashable
from mercer.errors import ParameterError
from mercer.kernels.abilities import DifferentiatedByTiles, Featured
from mercer.kernels.comparison import View
from mercer.kernels.composite import Terms, row_products
from mercer.kernels.kernel import Kernel, derivative, feature_count, narrowed
from mercer.kernels.monomials import require_few
from mercer.kernels.protocols import Pullback
from mercer.spec import derived

__all__ = ["PathSum"]
__public__ = __all__


def _is_edge(edge: Any) -> bool:
    return isinstance(edge, (tuple, list)) and len(edge) in (2, 3) and all(map(is_hashable, edge))


class PathSum(Terms, Featured, DifferentiatedByTiles):
    r"""Path kernel: the sum over all paths of a directed graph of the products of the kernels on their edges.

    .. math:: k(x, x') = \mathrm{DP}(s), \qquad
        \mathrm{DP}(1) = 1, \quad \mathrm{DP}(i) = \sum_{j \to i} k_{u_j \to u_i}(x, x') \, \mathrm{DP}(j)

    Seed: [ST] "Graph kernels".

    Parameters
    ----------
    terms : tuple of Kernel
        The kernels on the edges. One that is on several edges is computed once.
    edges : tuple of (from, to, place) or (from, to)
        Nodes are numbers or words. `place` counts the terms from 0; without one the factor is 1. The graph has no
        cycle, one node that no edge leads to, where paths begin, and one that no edge leaves, where they end.

    Notes
    -----
    Each path is a product of features. Polynomial, ANOVA and all-subsets kernels are instances, made by the class
    methods `as_polynomial`, `as_anova` and `as_all_subsets`; for products of coordinates `Polynomial`, `Anova` and
    `AllSubsets` compute the same in one loop. Domain that of the terms, or Frames; ``Linear().on([j])`` reads
    coordinate j. Features all products of features along paths, if all terms have them; differentiable if all terms
    are. Positive definite of order 0 if all terms are, as a sum of products of kernels. Bounded and stationary if all
    terms are; strictness and universality are not declared. Cost that of the terms, and one product for each edge and
    pair.

    Examples
    --------
    >>> from mercer.kernels import Constant, Linear
    >>> k = PathSum((Linear(), Constant(2.0)), ((0, 1, 0), (0, 1, 1), (1, 2, 0), (1, 2, 1)))  # (x x' + 2)^2
    >>> k([[1.0], [3.0]])
    array([[  9.,  25.],
           [ 25., 121.]])
    >>> coordinates = tuple(Linear().on([j]) for j in range(3))
    >>> PathSum.as_anova(coordinates, 2)([[1.0, 2.0, 3.0]])  # 1 * 4 + 1 * 9 + 4 * 9
    array([[49.]])
    """

    formula = r"\mathrm{DP}(i) = \sum_{j \to i} k_{u_j \to u_i}(x, x') \, \mathrm{DP}(j)"
    cost = "sum of the terms, and a product for each edge"
    constraints = {
        "edges": Satisfies(
            "a tuple of (from, to, place), the place that of a kernel among the terms, or (from, to) for the factor 1",
            lambda value: isinstance(value, (tuple, list)) and bool(value) and all(map(_is_edge, value)),
            "((0, 1, 0), (1, 2, 0))",
        )
    }

    def __init__(self, terms: tuple[Kernel, ...], edges: tuple[Any, ...]) -> None:
        self.terms = terms
        self.edges = edges

    @classmethod
    def as_polynomial(cls, kernels: Iterable[Kernel], degree: int) -> Self:
        """Return (k_1 + k_2 + ...)^degree: a chain of nodes, joined by an edge for each kernel.

        Examples
        --------
        >>> from mercer.kernels import Constant, Linear
        >>> PathSum.as_polynomial((Linear(), Constant(1.0)), 3)([[1.0]])
        array([[8.]])
        """
        terms = tuple(kernels)
        return cls(terms, tuple((m, m + 1, i) for m in range(degree) for i in range(len(terms)))).check()

    @classmethod
    def as_anova(cls, kernels: Iterable[Kernel], degree: int) -> Self:
        """Return the sum over all sets of `degree` kernels of their products.

        Node (s, m) is the sum over sets of s among the first m kernels; it is numbered s (d + 1) + m. Nodes from which
        the end cannot be reached are left out.

        Examples
        --------
        >>> from mercer.kernels import Constant
        >>> PathSum.as_anova((Constant(2.0), Constant(3.0), Constant(5.0)), 2)([[0.0]])  # 6 + 10 + 15
        array([[31.]])
        """
        terms = tuple(kernels)
        d = len(terms)
        if not 1 <= degree <= d:
            raise ParameterError(
                f"PathSum.as_anova was given {d} kernels and degree={degree}; the degree is at least 1 and at most the "
                f"number of kernels. Use degree={min(max(degree, 1), max(d, 1))}."
            )
        edges: list[tuple[int, ...]] = []
        for s in range(degree + 1):
            for m in range(s, d - degree + s):
                edges.append((s * (d + 1) + m, s * (d + 1) + m + 1))
                if s < degree:
                    edges.append((s * (d + 1) + m, (s + 1) * (d + 1) + m + 1, m))
            if s < degree:
                m = d - degree + s
                edges.append((s * (d + 1) + m, (s + 1) * (d + 1) + m + 1, m))
        return cls(terms, tuple(edges)).check()

    @classmethod
    def as_all_subsets(cls, kernels: Iterable[Kernel]) -> Self:
        """Return the product of all 1 + k_i: a chain in which each kernel is taken or left.

        Examples
        --------
        >>> from mercer.kernels import Linear
        >>> PathSum.as_all_subsets(Linear().on([j]) for j in range(2))([[1.0, 2.0]])
        array([[10.]])
        """
        terms = tuple(kernels)
        edges = tuple(edge for i in range(len(terms)) for edge in ((i, i + 1), (i, i + 1, i)))
        return cls(terms, edges).check()

    def rebuild(self, kernels: tuple[Kernel, ...]) -> Kernel:
        """Return the same graph with other kernels."""
        return self.replace(terms=kernels)

    def check(self) -> Self:
        """Raise ParameterError unless the edges make a graph without cycles from one node to one other."""
        super().check()
        for edge in self.edges:
            if len(edge) == 3 and not _is_place(edge[2], len(self.terms)):
                raise ParameterError(
                    f"PathSum was given the edge {edge!r} for {len(self.terms)} terms; an edge names the place of a "
                    "kernel among the terms, or none for the factor 1. Correct this edge."
                )
        self._ordered()
        return self

    def _ordered(self) -> list[tuple[Any, list[tuple[Any, int | None]]]]:
        """Return the nodes from first to last, each with the edges that lead to it: (node, place)."""
        incoming: dict[Any, list[tuple[Any, int | None]]] = {}
        outgoing: dict[Any, list[Any]] = {}
        for start, end, *place in self.edges:
            incoming.setdefault(start, [])
            incoming.setdefault(end, []).append((start, int(place[0]) if place else None))
            outgoing.setdefault(start, []).append(end)
        first = [node for node, edges in incoming.items() if not edges]
        last = [node for node in incoming if node not in outgoing]
        waiting = {node: len(edges) for node, edges in incoming.items()}
        order = list(first)
        for node in order:  # which grows
            for end in outgoing.get(node, ()):
                waiting[end] -= 1
                if not waiting[end]:
                    order.append(end)
        if len(order) < len(incoming):
            cycle = [node for node in incoming if waiting[node]][:5]
            raise ParameterError(
                f"PathSum was given edges with a cycle through some of the nodes {cycle}; paths must end. Leave out an "
                "edge that leads back."
            )
        if len(first) != 1 or len(last) != 1:
            raise ParameterError(
                f"PathSum was given a graph whose paths begin at {first[:5]} and end at {last[:5]}; one first and one "
                "last node are needed. Join them to a common one by edges without a kernel."
            )
        order.remove(last[0])  # others that are ready at the same time come before it
        return [(node, incoming[node]) for node in (*order, last[0])]

    # what is known of the mathematics -------------------------------------------------------------

    @derived
    def order(self) -> int | None:
        """Positive definite if all terms are; nothing is known otherwise."""
        return 0 if all(kernel.order == 0 for kernel in self.kernels) else None

    @derived
    def stationary(self) -> bool:
        """Whether all terms are."""
        return all(kernel.stationary for kernel in self.kernels)

    @derived
    def bounded(self) -> bool:
        """Whether all terms are."""
        return all(kernel.bounded for kernel in self.kernels)

    # numbers ----------------------------------------------------------------------------------------

    def _sums(self, values: list[Floats], *, keep: bool = False) -> tuple[Any, dict[Any, Any]]:
        """Return DP at the last node and, if they are kept, at all nodes; values of the terms may have any shape."""
        ordered = self._ordered()
        needed = Counter(start for _, edges in ordered for start, _ in edges)
        sums: dict[Any, Any] = {ordered[0][0]: 1.0}
        with np.errstate(over="ignore", invalid="ignore"):
            for node, edges in ordered[1:]:
                total: Any = 0.0
                for start, place in edges:
                    total = total + (sums[start] if place is None else values[place] * sums[start])
                    needed[start] -= 1
                    if not needed[start] and not keep:
                        del sums[start]
                sums[node] = total
        return sums[ordered[-1][0]], sums

    def tile(self, view: View) -> Floats:
        """Sum over paths by one pass over the edges."""
        out = view.empty()
        np.copyto(out, self._sums([view.value(term) for term in self.terms])[0])
        return self.guarded(out)

    def _diag(self, A: Samples) -> Floats:
        """Sum over paths of the diagonals."""
        return self._sums(self._diags(A))[0] * np.ones(len(A))

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return for every path all products of one feature of each kernel on it."""
        require_few(self, self.feature_count(A) or 0)
        keys = keys or (None,) * len(self.terms)
        found = [k.features(narrowed(k, A), key) for k, key in zip(self.terms, keys, strict=True)]
        ordered = self._ordered()
        kept: dict[Any, Any] = {ordered[0][0]: np.ones((len(A), 1))}
        for node, edges in ordered[1:]:
            parts = [kept[u] if place is None else row_products(kept[u], found[place][0]) for u, place in edges]
            kept[node] = sp.hstack(parts, format="csr") if any(map(sp.issparse, parts)) else np.hstack(parts)
        return kept[ordered[-1][0]], tuple(key for _, key in found)

    def _feature_count(self, A: Samples) -> int | None:
        """Return the sum over paths of the products of the terms' numbers of features."""
        counts = [feature_count(kernel, narrowed(kernel, A)) for kernel in self.kernels]
        ordered = self._ordered()
        total: dict[Any, int] = {ordered[0][0]: 1}
        for node, edges in ordered[1:]:
            ways = [1 if place is None else counts[place] for _, place in edges]
            if None in ways:
                return None
            total[node] = sum(total[start] * (way or 0) for (start, _), way in zip(edges, ways, strict=True))
        return total[ordered[-1][0]]

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Sum over paths; weights go back along the edges, each kernel getting those of all paths through it."""
        found = [derivative(view, term) for term in self.terms]
        values = [value for value, _ in found]
        total, sums = self._sums(values, keep=True)
        ordered = self._ordered()

        def back(W: Floats) -> Floats:
            through: list[Any] = [np.zeros(view.shape) for _ in self.terms]
            waiting: dict[Any, Any] = {ordered[-1][0]: np.asarray(W, dtype=float)}
            for node, edges in reversed(ordered[1:]):
                weight = waiting.pop(node)
                for start, place in edges:
                    if place is not None:
                        through[place] += sums[start] * weight
                    passed = weight if place is None else values[place] * weight
                    waiting[start] = waiting.get(start, 0.0) + passed
            return np.concatenate([way(V) for (_, way), V in zip(found, through, strict=True)])

        return total * np.ones(view.shape), back


def _is_place(place: Any, count: int) -> bool:
    return isinstance(place, (int, np.integer)) and not isinstance(place, bool) and 0 <= int(place) < count
