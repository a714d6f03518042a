"""Kernels that compare what is below the nodes of two trees: co-rooted, subset and partial trees.

Symbols: x, x' trees of |x|, |x'| nodes, v a node, ch_j(v) its j-th child, d(v) the number of them. A production is the
label of a node with those of its children.

Nodes get the number of their production (or label) once per collection. Two trees are compared by looking only at
pairs of nodes with equal numbers, in post-order, so that the results of children are available when their parents need
them; they are kept no longer.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer import budget
from mercer.arrays import Floats, Indices
from mercer.constraints import OneOf, Positive
from mercer.domains import Samples
from mercer.domains.samples import codes_among
from mercer.domains.structures.trees import Trees
from mercer.kernels.abilities import DifferentiatedByTiles
from mercer.kernels.comparison import Comparison, View
from mercer.kernels.interning import find_sequences, intern_sequences
from mercer.kernels.kernel import Tiled
from mercer.kernels.protocols import Pullback
from mercer.kernels.trees.postorder import subtree_sizes
from mercer.kernels.trees.tree_pairs import DIAGONAL, PLAIN, SYMMETRIC, corooted_tile, partial_tile, subset_tile
from mercer.numerics.ragged import Ragged
from mercer.runtime.compiled import compiled
from mercer.spec import free_names

__all__ = ["CorootedSubtree", "PartialTree", "SubsetTree"]
__public__ = __all__

_NANOSECONDS = 2e7  # for a tile


class _NodePairs(Tiled, DifferentiatedByTiles):
    """The base of kernels that add something over pairs of nodes with equal productions or labels."""

    domain = Trees
    by_label: ClassVar[bool] = False
    pace: ClassVar[float] = 0.1  # nanoseconds for a pair of nodes
    decay: float
    leaves: str

    @property
    def _key(self) -> str:
        return f"{'labels' if self.by_label else 'productions'}:{self.leaves}"

    def _prepare(self, A: Samples) -> Samples:
        """Number the productions, or labels, of all nodes, once per collection."""
        if self._key in A.derived:
            return A
        assert isinstance(A, Trees)
        return A.with_derived(self._key, _numbered(A, self.by_label, self.leaves))

    def grain(self, comparison: Comparison) -> int | None:
        """Return a side of tiles that take some 20 milliseconds."""
        if not isinstance(comparison.A, Trees) or not isinstance(comparison.B, Trees):
            return 64
        n, m = (max(float(S.sizes.mean()), 1.0) if len(S) else 1.0 for S in (comparison.A, comparison.B))
        return int(np.clip(np.sqrt(_NANOSECONDS / (self.pace * n * m + 4.0 * (n + m))), 1, 4096))

    def tile(self, view: View) -> Floats:
        """Add over pairs of nodes."""
        out = view.empty()
        self._fill(view, out, np.empty((0, 0, 0)))
        return out

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Return the values of a tile and the pullback to the parameters."""
        names = free_names(self)
        out, slopes = view.empty(), np.empty((2, *view.shape))
        self._fill(view, out, slopes)
        places = [("decay", "mu").index(name) for name in names]
        return out, lambda W: np.array([np.vdot(W, slopes[place]) for place in places])

    def _diag(self, A: Samples) -> Floats:
        """Return what each tree gives with itself."""
        numbered = self._of(A)
        values = np.empty((len(A), 1))
        side, shape = self.grain(Comparison(self, A, A)) or 1, (DIAGONAL, len(numbered.table))
        for start in range(0, len(A), side * side):
            span = start, min(start + side * side, len(A))
            self._pairs(numbered.arrays, numbered.arrays, (span, span), shape, values[slice(*span)])
        return values[:, 0]

    def _of(self, A: Samples) -> _Numbered:
        return self.prepare(A).derived[self._key]

    def _fill(self, view: View, out: Floats, slopes: Floats) -> None:
        A, B = view.collections
        left, right, count = view.comparison.keep((view.path, self._key), lambda: self._aligned(A, B))
        rows, columns = view.rows, view.columns
        slices = (rows.start, rows.stop), (columns.start, columns.stop)
        mode = SYMMETRIC if B is A and rows == columns else PLAIN
        self._pairs(left, right, slices, (mode, count), out, slopes)

    def _aligned(self, A: Samples, B: Samples) -> tuple[Any, Any, int]:
        left = self._of(A)
        if B is A:
            return left.arrays, left.arrays, len(left.table)
        right = self._of(B)
        return left.arrays, right.renumbered(left.table.find(right.table)), len(left.table)

    def _pairs(self, left: Any, right: Any, slices: Any, shape: Any, out: Floats, slopes: Any = None) -> None:
        """Write the numbers of a tile, and their slopes if there is room for them."""
        slopes = np.empty((0, 0, 0)) if slopes is None else slopes
        room = max(int(budget.budget(None) // (8 * (3 if slopes.size else 1))), 1024)
        needed = self._compute((left, right), slices, shape, room, (out, slopes))
        if needed:
            what = {"pairs of nodes with equal labels": needed * 8}
            budget.Plan(f"{self!r} on two large trees", what).require(None)

    def _compute(self, sides: Any, slices: Any, shape: Any, room: int, out: Any) -> int:
        raise NotImplementedError


class SubsetTree(_NodePairs):
    r"""Subset tree kernel of Collins and Duffy: all subtrees that two trees have in common.

    .. math:: k(x, x') = \sum_{v \in x} \sum_{v' \in x'} C(v, v'), \qquad
        C(v, v') = \lambda \prod_{j=1}^{d(v)} (1 + C(ch_j(v), ch_j(v')))

    for nodes with the same production, and C(v, v') = 0 for others and for leaves. It is the sum over all trees t of
    lambda^m(t) #(x, t) #(x', t), where #(x, t) counts the places at which t occurs in x, with all or none of the
    children of each node, and m(t) is the number of nodes of t that have children; at least one has.

    Seed: [ST] "Tree kernels" (all subtrees, lambda = 1); [HSS] "Tree Kernels"; [KIKS] Section 6.1.2.

    Parameters
    ----------
    decay : float, default 0.4
        The factor lambda > 0 for each production of a common subtree. With 1, large common subtrees, which have very
        many parts, outweigh all else.
    leaves : {"labelled", "alike", "counted"}, default "labelled"
        Whether the labels of leaves, the words of a parse, are part of productions ("labelled") or all leaves are
        alike ("alike"). With "counted", they are part of them, and in addition each pair of leaves with the same label
        adds lambda.

    Notes
    -----
    Domain Trees. Features would be all subtrees, exponentially many; there is no explicit map. Differentiable in
    `decay`. Positive definite of order 0 by these features; not strict, since a tree of one node has k(x, x) = 0
    (unless leaves are counted), and hence not universal; not bounded, ``.normalized()`` is usual. Values that overflow,
    as those of large trees with a large decay, are refused. Cost O(|x| + |x'|) and the pairs of nodes with the same
    production times their children, at most O(|x| |x'|) for a given number of children; memory for pairs along a path.

    Examples
    --------
    >>> trees = ["(S (NP we) (VP go))", "(S (NP you) (VP go))"]
    >>> SubsetTree(decay=1.0)(trees)
    array([[6., 3.],
           [3., 6.]])
    >>> SubsetTree(decay=1.0, leaves="alike")(trees)
    array([[6., 6.],
           [6., 6.]])
    """

    synonyms = ("Collins-Duffy kernel", "subset tree kernel")
    formula = r"\sum_{v, v'} C(v, v'), C = \lambda \prod_j (1 + C(ch_j(v), ch_j(v')))"
    cost = "O(|x| + |x'| + pairs of nodes with equal productions) a pair"
    constraints = {"decay": Positive(), "leaves": OneOf("labelled", "alike", "counted")}

    def __init__(self, decay: float = 0.4, leaves: str = "labelled") -> None:
        self.decay = decay
        self.leaves = leaves

    def _compute(self, sides: Any, slices: Any, shape: Any, room: int, out: Any) -> int:
        return subset_tile(*sides, slices, shape, float(self.decay), room, out)


class CorootedSubtree(_NodePairs):
    r"""Co-rooted subtree kernel: the subtrees at the roots that two trees have in common.

    .. math:: k(x, x') = C(\rho(x), \rho(x')), \qquad
        C(v, v') = \lambda \prod_{j=1}^{d(v)} (1 + C(ch_j(v), ch_j(v')))

    for the roots rho, with C(v, v') = 0 for nodes with different productions and for leaves.

    Seed: [ST] "Tree kernels", phi_S counts the co-rooted subtrees isomorphic to S.

    Parameters
    ----------
    decay : float, default 1.0
        The factor lambda > 0 for each production of a common subtree.
    leaves : {"labelled", "alike"}, default "labelled"
        Whether the labels of leaves are part of productions or all leaves are alike.

    Notes
    -----
    Domain Trees. `SubsetTree` adds this over all pairs of nodes. No explicit features. Differentiable in `decay`.
    Positive definite of order 0: its features are indicators of the subtrees at the root. Not strict, since a tree of
    one node has k(x, x) = 0, and hence not universal; not bounded. Cost O(min(|x|, |x'|)) a pair: only nodes at the
    same place below the roots are compared.

    Examples
    --------
    >>> CorootedSubtree()(["(S (NP we) (VP go))", "(S (NP you) (VP go))", "(T (S (NP we) (VP go)))"])
    array([[4., 2., 0.],
           [2., 4., 0.],
           [0., 0., 5.]])
    """

    formula = r"C(\rho, \rho'), C = \lambda \prod_j (1 + C(ch_j(v), ch_j(v')))"
    cost = "O(min(|x|, |x'|)) a pair"
    constraints = {"decay": Positive(), "leaves": OneOf("labelled", "alike")}
    pace = 0.0

    def __init__(self, decay: float = 1.0, leaves: str = "labelled") -> None:
        self.decay = decay
        self.leaves = leaves

    def _compute(self, sides: Any, slices: Any, shape: Any, room: int, out: Any) -> int:
        return corooted_tile(*sides, slices, shape, float(self.decay), out)


class PartialTree(_NodePairs):
    r"""Partial tree kernel: common parts in which nodes may lack some of their children.

    .. math:: k(x, x') = \sum_{v \in x} \sum_{v' \in x'} C(v, v'), \qquad
        C(v, v') = \mu \Bigl(\lambda^2 + \sum_{i, i'} \lambda^{g(i) + g(i')}
        \prod_{r} C(ch_{i_r}(v), ch_{i'_r}(v'))\Bigr)

    for nodes with the same label, and C(v, v') = 0 for others; the inner sum is over all pairs of equally many
    children, i of v and i' of v', in their order, and g counts the children that are passed over between the first and
    the last.

    Seed: [KIKS] Section 6.1.2, dynamic programming kernels for trees; [SS] Section 6.4 (XML and HTML). With
    decay = mu = 1 this is the kernel of Kashima and Koyanagi for labelled ordered trees, which counts
    all ways to map children in order.

    Parameters
    ----------
    decay : float, default 0.4
        The factor lambda > 0 for each child passed over; its square is what a node contributes alone.
    mu : float, default 0.4
        The factor mu > 0 for each node of a common part.
    leaves : {"labelled", "alike"}, default "labelled"
        Whether leaves have their labels or are all alike.

    Notes
    -----
    Domain Trees. No explicit features. Differentiable in `decay` and `mu`. Positive definite of order 0 by induction
    from the leaves: sums and products of kernels. Not universal, not known to be strict; not bounded, ``.normalized()``
    is usual. Only the empty tree has k(x, x) = 0. Cost O(d(v) d(v')) for a pair of nodes with the same label, for
    children of all numbers at once. It sees more than `SubsetTree` where nodes have many or optional children, as in
    documents and dependency trees.

    Examples
    --------
    >>> PartialTree(decay=1.0, mu=1.0)([("a", "b", "c"), ("a", "c")])
    array([[6., 3.],
           [3., 3.]])
    >>> PartialTree().normalized()([("a", "b", "c"), ("a", "c")]).round(3)
    array([[1.   , 0.792],
           [0.792, 1.   ]])
    """

    synonyms = ("partial tree kernel",)
    formula = (
        r"\sum_{v, v'} C, C = \mu (\lambda^2 + \sum_{i, i'} \lambda^{g(i) + g(i')} \prod_r C(ch_{i_r}, ch_{i'_r}))"
    )
    cost = "O(d(v) d(v')) for pairs of nodes with equal labels"
    constraints = {"decay": Positive(), "mu": Positive(), "leaves": OneOf("labelled", "alike")}
    by_label = True
    pace = 0.5

    def __init__(self, decay: float = 0.4, mu: float = 0.4, leaves: str = "labelled") -> None:
        self.decay = decay
        self.mu = mu
        self.leaves = leaves

    def _compute(self, sides: Any, slices: Any, shape: Any, room: int, out: Any) -> int:
        return partial_tile(*sides, slices, shape, (float(self.decay), float(self.mu)), room, out)


# ---------------------------------------------------------------------------------------- productions


@dataclass(frozen=True, eq=False)
class _Productions:
    """Distinct productions, or labels, of a collection: sequences of codes of labels."""

    codes: NDArray[np.int64]
    offsets: Indices
    vocabulary: tuple[Hashable, ...]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def find(self, other: _Productions) -> Indices:
        """Return for each production of `other` its place here, or -1."""
        if other is self:
            return np.arange(len(self), dtype=np.intp)
        # -1 is any leaf, on both sides; a label that is not here, -2, is in no production
        recoded = np.append(codes_among(self.vocabulary, other.vocabulary, -2), -1)
        return find_sequences(self.codes, self.offsets, recoded[other.codes], other.offsets)


@dataclass(frozen=True, eq=False)
class _Numbered:
    """Of all nodes the number of the production (-1 if it has none) and the size of the subtree."""

    ragged: Ragged
    table: _Productions  # shared by slices

    def __len__(self) -> int:
        return len(self.ragged)

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers."""
        return self.ragged.nbytes

    @property
    def arrays(self) -> tuple[NDArray[np.int32], Indices]:
        """Nodes, (N, 2), and where trees begin."""
        return self.ragged.codes, self.ragged.offsets

    def take(self, index: slice | Indices) -> _Numbered:
        """The numbers of some of the trees."""
        return _Numbered(self.ragged.take(index), self.table)

    def renumbered(self, places: Indices) -> tuple[NDArray[np.int32], Indices]:
        """Return the arrays with other numbers; the last place is for nodes without one."""
        nodes = self.ragged.codes.copy()
        nodes[:, 0] = np.append(places, -1)[nodes[:, 0]]
        return nodes, self.ragged.offsets


def _numbered(A: Trees, by_label: bool, leaves: str) -> _Numbered:
    labels, degrees = A.labels.astype(np.int64), np.ascontiguousarray(A.degrees)
    sizes = subtree_sizes(degrees)
    if leaves == "alike":
        labels[degrees == 0] = -1
    if by_label:
        members, lengths = labels, np.ones(len(labels), np.intp)
    else:
        lengths = np.where((degrees > 0) | (leaves == "counted"), degrees + 1, 0).astype(np.intp)
        members = np.empty(int(lengths.sum()), np.int64)
        _list_productions(labels, sizes, lengths, members)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    has = np.flatnonzero(lengths)
    ids, first = intern_sequences(members, np.append(starts[:-1][has], starts[-1]))
    numbers = np.full(len(labels), -1, np.int32)
    numbers[has] = ids
    distinct = Ragged(members, starts).take(has[first])
    table = _Productions(distinct.codes, distinct.offsets, A.vocabulary)
    return _Numbered(Ragged(np.column_stack((numbers, sizes)), A.offsets), table)


@compiled
def _list_productions(labels, sizes, lengths, members):
    place = 0
    for v in range(labels.size):
        if lengths[v] == 0:
            continue
        members[place] = labels[v]
        place += 1
        child = v - 1
        for _ in range(lengths[v] - 1):
            members[place] = labels[child]
            place += 1
            child -= sizes[child]
