"""The graph neural tangent kernel: what training an infinitely wide graph network amounts to.

Symbols: G with n nodes and G' with n', Sigma and Theta (n, n') matrices between their nodes, L blocks of R layers,
kappa_0 and kappa_1 as in the neural tangent kernel of vectors, theta the angle that Sigma means.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Boolean, Integer, OneOf
from mercer.domains import Samples
from mercer.domains.samples import packed_pair
from mercer.domains.structures.graphs import Graphs
from mercer.errors import DomainError
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import Kernel, mirror
from mercer.numerics.ragged import Ragged
from mercer.runtime.compiled import compiled

__all__ = ["GraphNeuralTangent"]
__public__ = __all__

_EQUAL = 1e-14  # cosines so near to one are those of equal nodes: their angle would be rounding alone
_WORK = 2e5  # pairs of nodes that take some 20 milliseconds a layer


class GraphNeuralTangent(Kernel):
    r"""Graph neural tangent kernel: an infinitely wide graph network, trained by gradient descent, as a kernel.

    .. math:: \Sigma^{(l, 0)} = C A\, \Sigma^{(l-1, R)} A'^\top C', \quad
        \Sigma^{(l, r)}_{uu'} = \sqrt{\Sigma_{uu} \Sigma_{u'u'}}\, \kappa_1(\theta), \quad
        \Theta^{(l, r)} = \Theta^{(l, r-1)} \kappa_0(\theta) + \Sigma^{(l, r)}, \quad
        k = \sum_{u, u'} \Theta^{(L, R)}_{uu'}

    where A joins every node with itself and its neighbours, C divides by their numbers or by 1, and Theta is summed
    over neighbours as Sigma is. Sigma at the beginning compares labels, or multiplies attributes.

    Seed: [KIKS] Section 6.1.2, kernels between labelled graphs. Du et al., Graph neural tangent kernel (2019).

    Parameters
    ----------
    blocks : int, default 2
        L >= 1: how often nodes take in their neighbours.
    layers : int, default 1
        R >= 1 layers of rectified units after each.
    mean : bool, default True
        Whether neighbourhoods are averaged rather than summed.
    nodes : {"labels", "attributes"}, default "labels"
        What nodes are at the beginning: indicators of their labels, or their attributes.

    Notes
    -----
    Domain Graphs; neighbours are those that arcs lead to, weights and labels of edges are not read. Nodes without a
    label are alike. No features, no free parameter. Positive definite of order 0, since sums over nodes of products of
    features, expectations and products of kernels are; not strict; not bounded, as it grows with the graphs
    (``.normalized()`` removes that). A graph without nodes has k = 0. Cost O(L (n M' + n' M + R n n')) a pair.

    Examples
    --------
    >>> path = {"edges": [(0, 1), (1, 2), (2, 3)], "labels": "CCCO"}
    >>> star = {"edges": [(0, 1), (0, 2), (0, 3)], "labels": "CCCO"}
    >>> GraphNeuralTangent(1).normalized()([path, star]).round(3)
    array([[1.   , 0.998],
           [0.998, 1.   ]])
    """

    domain = Graphs
    formula = r"\sum_{u, u'} \Theta^{(L, R)}_{uu'}"
    cost = "O(L (n M' + n' M + R n n')) a pair"
    constraints = {
        "blocks": Integer(1),
        "layers": Integer(1),
        "mean": Boolean(),
        "nodes": OneOf("labels", "attributes"),
    }

    def __init__(self, blocks: int = 2, layers: int = 1, mean: bool = True, nodes: str = "labels") -> None:
        self.blocks = blocks
        self.layers = layers
        self.mean = mean
        self.nodes = nodes

    @property
    def _key(self) -> str:
        return f"lengths of nodes:{self!r}"

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for tiles of some 20 milliseconds."""
        sizes = [1.0 + float(S.sizes.mean()) for S in comparison.sides(()) if isinstance(S, Graphs) and len(S)]
        pairs = max([1.0, *sizes]) ** 2 * int(self.blocks) * int(self.layers)
        return max(1, int(np.sqrt(_WORK / pairs)))

    def _prepare(self, A: Samples) -> Samples:
        """Find the squared lengths of all nodes in every block, once per collection."""
        assert isinstance(A, Graphs)
        if self._key in A.derived:
            return A
        if self.nodes == "attributes" and not A.attributes.shape[1] and len(A.labels):
            raise DomainError(
                f"The graphs have no attributes; {self!r} compares nodes by them. Give attributes, or use "
                "nodes='labels'."
            )
        lengths = np.zeros((len(A.labels), int(self.blocks)))
        side = self._side(A, A.labels, lengths)
        _measure_nodes(side, (bool(self.mean), int(self.layers)), lengths)
        return A.with_derived(self._key, Ragged(lengths, A.offsets))

    def _side(self, A: Graphs, labels: Any, lengths: Floats) -> tuple[Any, ...]:
        """Return what compiled code reads of a collection: nodes, arcs, and what nodes are at the beginning."""
        width = A.attributes.shape[1] if self.nodes == "attributes" else 0
        values = np.ascontiguousarray(A.attributes) if width else np.zeros((len(A.labels), 0))
        return A.offsets, A.indptr, A.targets, labels.astype(np.int64), values, np.ascontiguousarray(lengths)

    def _sides(self, A: Samples, B: Samples) -> tuple[Any, Any]:
        assert isinstance(A, Graphs) and isinstance(B, Graphs)
        left, right = (A, A) if B is A else A.align(B)
        if self.nodes == "attributes" and A.attributes.shape[1] != B.attributes.shape[1]:
            raise DomainError(
                f"Graphs with {A.attributes.shape[1]} and with {B.attributes.shape[1]} attributes a node were "
                "compared; all must have as many. Give new graphs the attributes of the training graphs."
            )
        return tuple(
            self._side(S, coded.labels, self.prepare(S).derived[self._key].codes)
            for S, coded in ((A, left), (B, right))
        )  # pyright: ignore[reportReturnType]

    def block(self, A: Samples, B: Samples) -> Floats:
        """Run all blocks for all pairs of graphs."""
        A, B = packed_pair(A, B, self._ready)
        out = np.zeros((len(A), len(B)))
        _compare_all(*self._sides(A, B), (bool(self.mean), int(self.layers)), B is A, out)
        return mirror(out) if B is A else out

    def _diag(self, A: Samples) -> Floats:
        """Compare every graph with itself."""
        A = self.prepare(A)
        return np.array([self.block(one, one)[0, 0] for one in (A[i : i + 1] for i in range(len(A)))], dtype=float)


@compiled
def _begin(one, i, other, j):
    """Return Sigma between the nodes of two graphs at the beginning."""
    offsets, _, _, labels, values, _ = one
    places, _, _, codes, numbers, _ = other
    out = np.zeros((offsets[i + 1] - offsets[i], places[j + 1] - places[j]))
    for u in range(out.shape[0]):
        for v in range(out.shape[1]):
            a, b = offsets[i] + u, places[j] + v
            if values.shape[1] == 0:
                out[u, v] = 1.0 if labels[a] == codes[b] else 0.0
            else:
                for c in range(values.shape[1]):
                    out[u, v] += values[a, c] * numbers[b, c]
    return out


@compiled
def _gather_rows(one, i, mean, S):
    """Return the sums or means of a matrix over the neighbourhoods of the nodes of one graph, its rows."""
    offsets, indptr, targets = one[0], one[1], one[2]
    out = S.copy()
    for u in range(S.shape[0]):
        a = offsets[i] + u
        for arc in range(indptr[a], indptr[a + 1]):
            for v in range(S.shape[1]):
                out[u, v] += S[targets[arc], v]
        if mean:
            out[u] /= indptr[a + 1] - indptr[a] + 1.0
    return out


@compiled
def _gather_columns(other, j, mean, S):
    """Return the same over those of the nodes of the other graph, its columns."""
    places, starts, ends = other[0], other[1], other[2]
    out = S.copy()
    for v in range(S.shape[1]):
        b = places[j] + v
        for arc in range(starts[b], starts[b + 1]):
            for u in range(S.shape[0]):
                out[u, v] += S[u, ends[arc]]
        if mean:
            out[:, v] /= starts[b + 1] - starts[b] + 1.0
    return out


@compiled
def _gather(one, i, other, j, mean, S):
    """Return the sums or means over both neighbourhoods of all pairs of nodes.

    Rows first or columns first differ by rounding, which small angles magnify: the mean of both does not depend on
    which graph is called the first.
    """
    rows = _gather_columns(other, j, mean, _gather_rows(one, i, mean, S))
    columns = _gather_rows(one, i, mean, _gather_columns(other, j, mean, S))
    return 0.5 * (rows + columns)


@compiled
def _pass_layer(S, T, left, right):
    """Replace Sigma and Theta by those after a layer of rectified units; left and right are squared lengths."""
    for u in range(S.shape[0]):
        for v in range(S.shape[1]):
            size = np.sqrt(left[u]) * np.sqrt(right[v])
            if size <= 0.0:
                S[u, v] = 0.0
                T[u, v] *= 0.5  # a node of length zero is at a right angle to every other
                continue
            cosine = min(1.0, max(-1.0, S[u, v] / size))
            cosine = 1.0 if cosine > 1.0 - _EQUAL else cosine
            angle = np.arccos(cosine)
            S[u, v] = size * (np.sqrt(max(0.0, 1.0 - cosine * cosine)) + (np.pi - angle) * cosine) / np.pi
            T[u, v] = T[u, v] * (1.0 - angle / np.pi) + S[u, v]


@compiled
def _measure_nodes(side, options, lengths):
    """Write the squared lengths of the nodes of each graph after their neighbourhoods were taken in, block by block.

    A layer keeps the lengths; what it does to angles within a graph is needed for the next block.
    """
    mean, layers = options
    offsets = side[0]
    for i in range(offsets.size - 1):
        S = _begin(side, i, side, i)
        T = np.zeros(S.shape)
        for block in range(lengths.shape[1]):
            S = _gather(side, i, side, i, mean, S)
            own = np.empty(S.shape[0])
            for u in range(S.shape[0]):
                own[u] = max(S[u, u], 0.0)
                lengths[offsets[i] + u, block] = own[u]
            for _ in range(layers):
                _pass_layer(S, T, own, own)


@compiled
def _compare_all(one, other, options, symmetric, out):
    mean, layers = options
    offsets, places = one[0], other[0]
    for i in range(offsets.size - 1):
        for j in range(i if symmetric else 0, places.size - 1):
            S = _begin(one, i, other, j)
            T = S.copy()
            for block in range(one[5].shape[1]):
                S, T = _gather(one, i, other, j, mean, S), _gather(one, i, other, j, mean, T)
                left = one[5][offsets[i] : offsets[i + 1], block]
                right = other[5][places[j] : places[j + 1], block]
                for _ in range(layers):
                    _pass_layer(S, T, left, right)
            out[i, j] = T.sum()
