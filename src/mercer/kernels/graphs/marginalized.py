"""The marginalised kernel between labelled graphs: the chance that two random walks read the same labels.

Symbols: p_s, p_t, p_q the probabilities of starting at a node, of stepping along an arc, and of stopping.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Boolean, Fixed, Interval, OneOf
from mercer.domains import Samples
from mercer.domains.structures.graphs import Graphs
from mercer.errors import ParameterError
from mercer.kernels.comparison import View
from mercer.kernels.graphs import common_walks as walks
from mercer.kernels.graphs.common_walks import Steps
from mercer.kernels.graphs.random_walk import CommonWalks, require_weights

__all__ = ["Marginalized"]
__public__ = __all__


class Marginalized(CommonWalks):
    r"""Marginalised graph kernel: the probability that random walks on two graphs give the same labels.

    .. math:: k(G, G') = \sum_h \sum_{h'} p(h \mid G)\, p(h' \mid G')\, [\ell(h) = \ell'(h')], \quad
        p(h \mid G) = p_s(h_1) \prod_{i > 1} p_t(h_i \mid h_{i-1})\, p_q(h_L)

    over all walks h and h' of equal length, whose labels of nodes and of edges are compared one by one.

    Seed: [KIKS] Section 6.1.2 (marginalised kernels between labelled graphs); [HSS] Section 2.2.5, after Kashima, Tsuda
    and Inokuchi.

    Parameters
    ----------
    stop : float, default 0.1
        Probability, between 0 and 1, with which a walk stops at each node. The lower, the longer the walks.
    labels, edge_labels : bool, default True
        Whether the labels of nodes and of edges have to be equal. Those without a label are alike.
    method : {"auto", "conjugate_gradient", "fixed_point"}, default "auto"
        How the linear equations are solved: the first is for graphs without direction, and "auto" takes it for these.

    Notes
    -----
    Domain Graphs. A walk starts at any node with the same probability, goes on with probability 1 - stop, to neighbours
    in proportion to the weights of the arcs, and always stops where no arc leaves. With T the transition probabilities
    of the product graph, k = s' (1 - T)^-1 q, where s and q are products of the probabilities of starting and stopping:
    walks are never listed, nor the product graph formed. The equations always have a solution, as rows of T sum to less
    than (1 - stop)^2. Features the probabilities of the label sequences, without end; no free parameter. Positive
    definite of order 0 by its features; neither strict nor universal; bounded by 1. An empty graph has k = 0. Cost
    O(n M' + n' M) for a pair and each step of the iteration, for n and n' nodes, M and M' arcs.

    Examples
    --------
    >>> ethanol = {"edges": [(0, 1), (1, 2)], "labels": ["C", "C", "O"]}
    >>> ether = {"edges": [(0, 1), (1, 2)], "labels": ["C", "O", "C"]}
    >>> Marginalized(0.5)([ethanol, ether]).round(4)
    array([[0.1674, 0.1559],
           [0.1559, 0.1852]])
    """

    synonyms = ("marginalised graph kernel",)
    formula = r"\sum_h \sum_{h'} p(h \mid G) p(h' \mid G') [\ell(h) = \ell'(h')]"
    cost = "O(n M' + n' M) a pair and step"
    bounded = True
    constraints = {
        "stop": Fixed(Interval(0.0, 1.0, closed="neither")),
        "labels": Boolean(),
        "edge_labels": Boolean(),
        "method": OneOf("auto", "conjugate_gradient", "fixed_point"),
    }

    def __init__(self, stop: float = 0.1, labels: bool = True, edge_labels: bool = True, method: str = "auto") -> None:
        self.stop = stop
        self.labels = labels
        self.edge_labels = edge_labels
        self.method = method

    @property
    def _pace(self) -> float:
        return (1.0 - float(self.stop)) ** 2

    def steps(self, A: Graphs, codes: tuple[Any, Any]) -> Steps:
        r"""Return the graphs with the steps of their walks.

        For undirected graphs, steps are symmetric: with d the degrees, T = D^-1 A is similar to
        D^(-1/2) A D^(-1/2), walks then begin with q d^(1/2) and end with s d^(-1/2).
        """
        require_weights(A, self)
        sources = np.repeat(np.arange(len(A.labels)), A.degrees)
        heads = A.targets + np.repeat(A.offsets[:-1], np.diff(A.arc_offsets))
        degrees = np.bincount(sources, A.weights, minlength=len(A.labels))
        moving = degrees > 0.0
        start = 1.0 / np.repeat(np.maximum(A.sizes, 1), A.sizes)
        quit_ = np.where(moving, float(self.stop), 1.0)
        scale = np.where(moving, degrees, 1.0)
        root = np.where(np.repeat(A.directed, A.sizes), 1.0, np.sqrt(scale))
        weights = (A.weights / scale[sources]) * (root[sources] / root[heads])  # a product of weights might overflow
        return walks.steps((A.offsets, A.indptr, A.targets), codes, weights, (start / root, quit_ * root))

    def _limits(self, S: Steps) -> Floats:
        return np.ones(len(S.sizes))  # rows of transition probabilities sum to at most one

    def tile(self, view: View) -> Floats:
        """Add over the common walks."""
        A, B = view.collections
        assert isinstance(A, Graphs) and isinstance(B, Graphs)
        return self._walk(view, self._how(A, B))

    def _diag(self, A: Samples) -> Floats:
        """Compare every graph with itself."""
        assert isinstance(A, Graphs)
        return self._diagonal(A, self._how(A, A))

    def _how(self, A: Graphs, B: Graphs) -> int:
        symmetric = not (A.directed.any() or B.directed.any())
        if self.method == "conjugate_gradient" and not symmetric:
            raise ParameterError(
                "Marginalized was given method='conjugate_gradient' and graphs with directions; it is for steps that "
                "go both ways. Use method='auto'."
            )
        return walks.UNEQUAL_ENDS if symmetric and self.method != "fixed_point" else walks.FIXED_POINT
