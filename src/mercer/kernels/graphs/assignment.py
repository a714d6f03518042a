"""Graphs compared by pairing up their nodes: by the best assignment of refined labels, or by the least transport.

Symbols: h iterations, #_c the number of nodes of colour c, p_c their share, W the Wasserstein distance of the nodes.

Refined labels form a tree, in which a colour is below the one that it refines. For similarities and distances along a
tree the best assignment and the least transport are sums over its edges (Kriege et al. 2016, Togninalli et al. 2019).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.constraints import Boolean, Integer, Positive
from mercer.domains import Samples
from mercer.domains.samples import packed_pair
from mercer.domains.structures.graphs import Graphs
from mercer.errors import DomainError
from mercer.kernels.abilities import Differentiated
from mercer.kernels.comparison import Comparison, View
from mercer.kernels.counts import arrays_of, renumbered
from mercer.kernels.graphs.graph_histograms import GraphCounts
from mercer.kernels.graphs.transport import transport_costs
from mercer.kernels.graphs.weisfeiler_lehman import WeisfeilerLehman
from mercer.kernels.kernel import Kernel, Tiled, mirror
from mercer.numerics.ragged import Ragged
from mercer.runtime.compiled import compiled
from mercer.spec import derived

__all__ = ["WeisfeilerLehmanAssignment", "WeisfeilerLehmanWasserstein"]
__public__ = __all__

_WORK = 1e6  # pairs of nodes in a tile where transport is computed


class WeisfeilerLehmanAssignment(Tiled):
    r"""Weisfeiler-Lehman optimal assignment: nodes of two graphs are paired up so that their neighbourhoods agree best.

    .. math:: k(G, G') = \max_{\pi} \sum_{(v, v') \in \pi} |\{i \le h : \ell_i(v) = \ell_i(v')\}|
        = \sum_{i=0}^h \sum_c \min(\#_c(\ell_i), \#_c(\ell'_i))

    over all ways pi to pair nodes, each at most once; l_i are the labels after i refinements.

    Seed: [KIKS] Section 6.1.2, kernels between labelled graphs. Kriege, Giscard and Wilson, On valid optimal assignment
    kernels (2016).

    Parameters
    ----------
    iterations : int, default 5
        The number h of refinements, 0 or more.

    Notes
    -----
    Domain Graphs; labels as in `WeisfeilerLehman`. No features, nothing to differentiate. Positive definite of order 0
    as a sum of minima of counts; the maximum over pairings of other base kernels need not be. Not strict; not bounded
    (``.normalized()`` removes that). Unlike `WeisfeilerLehman` a colour that is frequent in both graphs counts once for
    each pair of nodes, not for the product of their numbers. Cost O(h M) for a collection, then O(colours) a pair.

    Examples
    --------
    >>> path = {"edges": [(0, 1), (1, 2), (2, 3)], "labels": "CCCO"}
    >>> star = {"edges": [(0, 1), (0, 2), (0, 3)], "labels": "CCCO"}
    >>> WeisfeilerLehmanAssignment(1)([path, star])
    array([[8., 6.],
           [6., 8.]])
    """

    domain = Graphs
    formula = r"\sum_{i=0}^h \sum_c \min(\#_c(\ell_i), \#_c(\ell'_i))"
    cost = "O(h M) a collection, then O(colours) a pair"
    constraints = {"iterations": Integer(0)}

    def __init__(self, iterations: int = 5) -> None:
        self.iterations = iterations

    def _prepare(self, A: Samples) -> Samples:
        """Count the colours of every graph, once per collection."""
        return WeisfeilerLehman(self.iterations).prepare(A)

    def tile(self, view: View) -> Floats:
        """Add the minima of counts."""
        A, B = view.collections
        left, right = view.comparison.keep((view.path, repr(self)), lambda: _colours(A, B, self.iterations))
        out = view.empty()
        out[:] = _common(left[view.rows], right[view.columns])
        return out

    def _diag(self, A: Samples) -> Floats:
        """Return h + 1 times the number of nodes."""
        assert isinstance(A, Graphs)
        return (int(self.iterations) + 1.0) * A.sizes


class WeisfeilerLehmanWasserstein(Kernel, Differentiated):
    r"""Weisfeiler-Lehman Wasserstein kernel: similarity fades with the effort to turn the nodes of a graph into others.

    .. math:: k(G, G') = e^{-W(G, G') / l}, \qquad
        W = \min_{P} \sum_{v, v'} P_{v v'}\, d(v, v'), \quad \sum_{v'} P_{v v'} = \frac{1}{n}, \
        \sum_v P_{v v'} = \frac{1}{n'}

    where d(v, v') is the share of the h + 1 labels of the refinements in which two nodes differ or, with attributes,
    the distance of their attributes after 0, ..., h averages with their neighbours, put side by side.

    Seed: [KIKS] Section 6.1.2, kernels between labelled graphs. Togninalli et al., Wasserstein Weisfeiler-Lehman graph
    kernels (2019).

    Parameters
    ----------
    iterations : int, default 3
        The number h of refinements or averages, 0 or more.
    length_scale : float, default 1.0
        l > 0, in the unit of d: without attributes d is at most 1.
    attributes : bool, default False
        Whether the attributes of the nodes are moved instead of their labels. An average is x <- (x + mean of the
        neighbours, weighted) / 2.

    Notes
    -----
    Domain Graphs. No features; differentiable in the length scale. Without attributes positive definite of order 0: d
    is a distance in a tree, W a sum of absolute differences of shares, and exponentials of those are. With attributes
    nothing is known, transport in several dimensions is not of negative type, and `order` is None. A graph without
    nodes counts as no mass, half as far from each other graph as can be; with attributes it is refused. Normalised and
    bounded. Cost O(h M) for a collection, then O(colours) a pair; with attributes a transport problem a pair, some
    O(n^3).

    Examples
    --------
    >>> path = {"edges": [(0, 1), (1, 2), (2, 3)], "labels": "CCCO"}
    >>> star = {"edges": [(0, 1), (0, 2), (0, 3)], "labels": "CCCO"}
    >>> WeisfeilerLehmanWasserstein(1, length_scale=1.0)([path, star]).round(3)
    array([[1.   , 0.779],
           [0.779, 1.   ]])
    """

    domain = Graphs
    formula = r"\exp(-W(G, G') / l)"
    cost = "O(h M) a collection, then O(colours) a pair; with attributes O(n^3) a pair"
    normalised = True
    bounded = True
    constraints = {"iterations": Integer(0), "length_scale": Positive(), "attributes": Boolean()}

    def __init__(self, iterations: int = 3, length_scale: float = 1.0, attributes: bool = False) -> None:
        self.iterations = iterations
        self.length_scale = length_scale
        self.attributes = attributes

    @derived
    def order(self) -> int | None:
        """0 on labels, None on attributes."""
        return None if self.attributes else 0

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for small tiles where transport is computed."""
        sizes = [float(S.sizes.mean()) for S in comparison.sides(()) if isinstance(S, Graphs) and len(S)]
        return max(1, int(np.sqrt(_WORK) / max([1.0, *sizes]))) if self.attributes else None

    @property
    def _key(self) -> str:
        return f"averaged attributes:{int(self.iterations)}"

    def _prepare(self, A: Samples) -> Samples:
        """Count the colours of every graph, or average the attributes, once per collection."""
        assert isinstance(A, Graphs)
        if not self.attributes:
            return WeisfeilerLehman(self.iterations).prepare(A)
        return A if self._key in A.derived else A.with_derived(self._key, self._averaged(A))

    def _averaged(self, A: Graphs) -> Ragged:
        """Return the attributes of all nodes after each average side by side, the nodes of a graph together."""
        if not A.attributes.shape[1] or not A.sizes.all():
            given = "have no attributes" if not A.attributes.shape[1] else "include one without nodes"
            raise DomainError(f"The graphs {given}; {self!r} compares nodes by them. Give attributes, or labels.")
        shift = np.repeat(A.offsets[:-1], np.diff(A.arc_offsets))
        total = len(A.labels)
        arcs = sp.csr_array((np.abs(A.weights), A.targets + shift, A.indptr), shape=(total, total))
        degrees = np.asarray(arcs.sum(axis=1), dtype=float).ravel()
        levels = [A.attributes]
        for _ in range(int(self.iterations)):
            mean = np.divide(arcs @ levels[-1], degrees[:, None], out=levels[-1].copy(), where=degrees[:, None] > 0.0)
            levels.append(0.5 * (levels[-1] + mean))
        return Ragged(np.ascontiguousarray(np.hstack(levels)), A.offsets)

    def distances(self, X: Any, Y: Any) -> Floats:
        """Return W of all pairs, (len X, len Y)."""
        self.check()
        return self._distances(*packed_pair(X, Y, self._ready))

    def _distances(self, A: Samples, B: Samples) -> Floats:
        assert isinstance(A, Graphs) and isinstance(B, Graphs)
        if self.attributes:
            left, right = (self.prepare(S).derived[self._key] for S in (A, B))
            if left.codes.shape[1] != right.codes.shape[1]:
                raise DomainError(
                    "Graphs whose nodes have different numbers of attributes were compared; all must have as many. "
                    "Give new graphs the attributes of the training graphs."
                )
            return transport_costs((left.codes, left.offsets), (right.codes, right.offsets), symmetric=B is A)
        left, right = (_shares(M, S) for M, S in zip(_colours(A, B, self.iterations), (A, B), strict=True))
        mass = 0.5 * ((A.sizes > 0)[:, None].astype(float) + (B.sizes > 0))
        return np.maximum(mass - _common(left, right) / (int(self.iterations) + 1.0), 0.0)

    def block(self, A: Samples, B: Samples) -> Floats:
        """Return the exponentials of the distances."""
        A, B = packed_pair(A, B, self._ready)
        with np.errstate(over="ignore"):
            K = np.exp(-self._distances(A, B) / float(self.length_scale))
        if B is A:
            np.fill_diagonal(K, 1.0)  # rounding of shares
            return mirror(K)
        return K

    def _diag(self, A: Samples) -> Floats:
        """Return ones."""
        return np.ones(len(A))

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_ij W_ij k_ij d_ij / l^2."""
        D = self._distances(A, B)
        if B is A:
            np.fill_diagonal(D, 0.0)
        with np.errstate(over="ignore"):
            t = np.minimum(D / float(self.length_scale), 1e300)
        return np.array([float(np.vdot(W, t * np.exp(-t))) / float(self.length_scale)])


def _colours(A: Samples, B: Samples, iterations: int) -> tuple[sp.csr_array, sp.csr_array]:
    """Return the counts of the colours of both sides, with the same columns; those that only one side has are left."""
    kernel = WeisfeilerLehman(iterations)
    left: GraphCounts = kernel.prepare(A).derived[kernel.key]
    if B is A:
        return left.matrix, left.matrix
    right: GraphCounts = kernel.prepare(B).derived[kernel.key]
    if right.keys is left.keys:
        return left.matrix, right.matrix
    return left.matrix, renumbered(right.matrix, left.keys.find(right.keys), len(left.keys))


def _shares(matrix: sp.csr_array, A: Graphs) -> sp.csr_array:
    """Return counts of colours divided by the numbers of nodes."""
    data = matrix.data / np.repeat(np.maximum(A.sizes, 1), np.diff(matrix.indptr))
    return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def _common(left: sp.csr_array, right: sp.csr_array) -> Floats:
    """Return the sums of the minima of the entries of all pairs of rows."""
    out = np.zeros((left.shape[0], right.shape[0]))  # pyright: ignore[reportOptionalSubscript]
    _add_minima(arrays_of(left), arrays_of(right), np.zeros(left.shape[1]), out)  # pyright: ignore[reportOptionalSubscript]
    return out


@compiled
def _add_minima(left, right, spread, out):
    columns, values, starts = left
    others, numbers, places = right
    for i in range(starts.size - 1):
        for e in range(starts[i], starts[i + 1]):
            spread[columns[e]] = values[e]
        for j in range(places.size - 1):
            total = 0.0
            for e in range(places[j], places[j + 1]):
                here = spread[others[e]]
                total += here if here < numbers[e] else numbers[e]
            out[i, j] = total
        for e in range(starts[i], starts[i + 1]):
            spread[columns[e]] = 0.0
