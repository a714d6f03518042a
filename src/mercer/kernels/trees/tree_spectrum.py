"""Tree kernels with explicit features: counts of complete subtrees, and of paths.

Symbols: N nodes of a collection, D distinct features. A complete subtree is a node with all that is below it.

Subtrees and paths are numbered once per collection, equal ones alike and only those: nothing is hashed to a fixed
width. Two collections are compared by looking up the features of one among those of the other.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer import budget
from mercer.arrays import Floats, Indices
from mercer.constraints import Boolean, Integer, OneOf, Positive
from mercer.domains import Samples
from mercer.domains.samples import codes_among
from mercer.domains.structures.trees import Trees
from mercer.errors import ModelError
from mercer.kernels.abilities import DifferentiatedByTiles, Featured
from mercer.kernels.comparison import View
from mercer.kernels.counts import arrays_of, count, overlap, renumbered
from mercer.kernels.interning import find_rows
from mercer.kernels.kernel import Tiled, overflow_error
from mercer.kernels.protocols import Pullback
from mercer.kernels.trees.postorder import node_parents, subtree_sizes
from mercer.runtime.compiled import compiled
from mercer.spec import free_names

__all__ = ["Subtree", "TreeSpectrum"]
__public__ = __all__


@dataclass(frozen=True, eq=False)
class _Counts:
    """How often each feature is in each tree; slices of a collection share the features."""

    matrix: sp.csr_array  # (n, D) float64, indices sorted
    keys: Any

    def __len__(self) -> int:
        return len(self.matrix.indptr) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of the counts."""
        return sum(a.nbytes for a in arrays_of(self.matrix))

    def take(self, index: slice | Indices) -> _Counts:
        """Counts of some of the trees."""
        return _Counts(self.matrix[index], self.keys)


class _Counting(Tiled, Featured):
    """The base of kernels that count features of trees; each feature has a weight."""

    domain = Trees

    @property
    @abstractmethod
    def _key(self) -> str:
        """The name under which a collection carries the counts."""

    @abstractmethod
    def _counted(self, A: Trees) -> _Counts:
        """Return the counts of all trees of a collection."""

    def _weights(self, keys: Any) -> Floats:
        """Return the weight of each feature."""
        return np.ones(len(keys))

    def _prepare(self, A: Samples) -> Samples:
        """Count the features of every tree, once per collection."""
        if self._key in A.derived:
            return A
        assert isinstance(A, Trees)
        return A.with_derived(self._key, self._counted(A))

    def _of(self, A: Samples) -> _Counts:
        return self.prepare(A).derived[self._key]

    def tile(self, view: View) -> Floats:
        """Add the products of counts over common features."""
        return self._tile(view, "value", self._weights)

    def _tile(self, view: View, name: str, weights: Any) -> Floats:
        A, B = view.collections

        def make() -> Any:
            left = self._of(A)
            right = None if B is A else self._of(B)
            if right is not None:
                right = renumbered(right.matrix, left.keys.find(right.keys), len(left.keys))
            return overlap(left.matrix, right, weights(left.keys))

        out = view.empty()
        view.comparison.keep((view.path, self._key, name, repr(self)), make).tile(view.rows, view.columns, out)
        return out

    def _diag(self, A: Samples) -> Floats:
        """Return the weighted sums of squared counts."""
        counts = self._of(A)
        return np.asarray((counts.matrix * counts.matrix) @ self._weights(counts.keys), dtype=float)

    def _features(self, A: Samples, keys: Any = None) -> tuple[sp.csr_array, Any]:
        """Return counts times roots of weights, (len A, D) CSR, and what the columns are; with `keys`, those only."""
        counts = self._of(A)
        keys = counts.keys if keys is None else keys
        matrix = counts.matrix
        if keys is not counts.keys:
            matrix = renumbered(matrix, keys.find(counts.keys), len(keys))
        with np.errstate(over="ignore"):
            roots = np.sqrt(self._weights(keys))
        if not np.isfinite(roots).all():
            raise overflow_error(self)
        weighted = sp.csr_array((matrix.data * roots[matrix.indices], matrix.indices, matrix.indptr), matrix.shape)
        return weighted, keys

    def _feature_count(self, A: Samples) -> int:
        """Return the number of distinct features of the collection."""
        return len(self._of(A).keys)


class Subtree(_Counting, DifferentiatedByTiles):
    r"""Subtree kernel: the complete subtrees, nodes with all that is below them, that two trees have in common.

    .. math:: k(x, x') = \sum_t \lambda^{|t|}\, \#(x, t)\, \#(x', t)

    where #(x, t) counts the nodes of x at which the whole subtree is t, and |t| is the number of nodes of t.

    Seed: [HSS] "Tree Kernels", the sum restricted to proper rooted subtrees, in time O(|x| + |x'|).

    Parameters
    ----------
    decay : float, default 1.0
        The factor lambda > 0 for each node of a common subtree.
    leaves : {"labelled", "alike"}, default "labelled"
        Whether leaves have their labels or are all alike.

    Notes
    -----
    Domain Trees. A leaf is a subtree of one node. Features the counts of the subtrees that occur, times the root of
    their weight. Differentiable in `decay`. Strictly positive definite on trees that are not empty where leaves are
    labelled: the largest tree of a sample is a subtree of no other, and so no combination of features vanishes; not
    bounded (``.normalized()`` removes that). Counts are exact below 2^53. Cost O(N): a tree is read once in post-order,
    as a string is, and each subtree is named by its label and the names of its children, equal ones alike. Then one
    addition for each pair of trees and each subtree that both have.

    Examples
    --------
    >>> Subtree()(["(S (NP we) (VP go))", "(S (NP you) (VP go))"])
    array([[5., 2.],
           [2., 5.]])
    >>> matrix, keys = Subtree().features(Trees.pack([("a", "b", ("c", "b"))]))
    >>> [keys.nested(i) for i in range(len(keys))], matrix.toarray()
    ([('b',), ('c', 'b'), ('a', 'b', ('c', 'b'))], array([[2., 1., 1.]]))
    """

    synonyms = ("subtree kernel",)
    formula = r"\sum_t \lambda^{|t|} \#(x, t) \#(x', t)"
    cost = "O(N) to count, then O(common subtrees) a pair"
    constraints = {"decay": Positive(), "leaves": OneOf("labelled", "alike")}

    def __init__(self, decay: float = 1.0, leaves: str = "labelled") -> None:
        self.decay = decay
        self.leaves = leaves

    @property
    def _key(self) -> str:
        return f"subtrees:{self.leaves}"

    def _counted(self, A: Trees) -> _Counts:
        labels, degrees = _labels(A, self.leaves), np.ascontiguousarray(A.degrees)
        sizes = subtree_sizes(degrees)
        ids, first = np.empty(len(labels), np.int64), np.empty(len(labels), np.intp)
        total = _name_subtrees(labels, sizes, _slots(len(labels)), ids, first)
        first = first[:total]
        children = np.empty(int(degrees[first].sum()), np.int64)
        starts = np.concatenate(([0], np.cumsum(degrees[first]))).astype(np.intp)
        _list_children(first, sizes, ids, starts, children)
        matrix, _ = count(ids, A.offsets, max(total, 1))  # numbers are in the order of the columns
        return _Counts(matrix, Subtrees(labels[first], starts, children, sizes[first].astype(np.int64), A.vocabulary))

    def _weights(self, keys: Subtrees) -> Floats:
        with np.errstate(over="ignore"):  # values that are not finite are refused with advice
            return np.float64(self.decay) ** keys.sizes

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Return the values of a tile and the pullback to the decay."""
        value = self.tile(view)
        slope = self._tile(view, "slope", lambda keys: self._weights(keys) * keys.sizes / self.decay).copy()
        return value, lambda W: np.array([np.vdot(W, slope)] * len(free_names(self)))


class TreeSpectrum(_Counting):
    r"""Tree spectrum kernel: the paths of a given number of nodes that two trees have in common.

    .. math:: k(x, x') = \sum_{a, u} \#(x, a, u)\, \#(x', a, u)

    where #(x, a, u) counts the paths in x that have the labels u, q of them from left to right, and the node that is
    nearest the root at place a.

    Seed: [KIKS] Section 6.1.2, a spectrum kernel for trees in almost linear time (the distribution of q-grams).

    Parameters
    ----------
    length : int
        The number q of nodes of the paths. At least 1.
    bent : bool, default True
        Whether paths may go up and down again; if not, they only go down.
    leaves : {"labelled", "alike"}, default "labelled"
        Whether leaves have their labels or are all alike.

    Notes
    -----
    Domain Trees. A path that goes down only has a = 0; one that bends goes up to its place a and down in a child
    further to the right. Features the counts of the paths that occur; no parameter to differentiate. Positive definite
    of order 0 by its features; not strict, since different trees may have the same short paths, and hence not
    universal; not bounded. A tree without such a path has k(x, x) = 0. Cost O(q N log N) to count those that go down,
    and in addition O(q) for each pair of distinct legs below a node to count those that bend.

    Examples
    --------
    >>> trees = ["(S (NP we) (VP go))", "(S (NP you) (VP go))"]
    >>> TreeSpectrum(2)(trees)
    array([[4., 3.],
           [3., 4.]])
    >>> TreeSpectrum(3)(trees), TreeSpectrum(3, bent=False)(trees)
    (array([[3., 2.],
           [2., 3.]]), array([[2., 1.],
           [1., 2.]]))
    >>> keys = TreeSpectrum(3).features(Trees.pack(trees[:1]))[1]
    >>> [keys.path(i) for i in range(len(keys))]
    [(0, 'S', 'NP', 'we'), (0, 'S', 'VP', 'go'), (1, 'NP', 'S', 'VP')]
    """

    formula = r"\sum_{a, u} \#(x, a, u) \#(x', a, u)"
    cost = "O(q N log N) to count, then O(common paths) a pair"
    constraints = {"length": Integer(1), "bent": Boolean(), "leaves": OneOf("labelled", "alike")}

    def __init__(self, length: int, bent: bool = True, leaves: str = "labelled") -> None:
        self.length = length
        self.bent = bent
        self.leaves = leaves

    @property
    def _key(self) -> str:
        return f"paths:{self.length}:{self.bent}:{self.leaves}"

    def _counted(self, A: Trees) -> _Counts:
        legs = _Legs(A, _labels(A, self.leaves), int(self.length))
        parts = [legs.down()]
        if self.bent:
            parts += [legs.bent(a, int(self.length) - 1 - a) for a in range(1, int(self.length) - 1)]
        owners, columns, numbers, tables = [], [], [], []
        width = 0
        for table, owner, column, number in parts:
            tables.append(table)
            owners.append(owner)
            columns.append(column + width)
            numbers.append(number)
            width += len(table)
        place = np.concatenate(owners), np.concatenate(columns)
        matrix = sp.csr_array(sp.coo_array((np.concatenate(numbers), place), (len(A), width)))  # equal places are added
        matrix.sum_duplicates()
        return _Counts(matrix, Grams(np.concatenate(tables), A.vocabulary))


# ---------------------------------------------------------------------------------------- complete subtrees


@dataclass(frozen=True, eq=False)
class Subtrees:
    """The distinct complete subtrees of a collection, children before parents: the columns of the features of Subtree.

    Attributes
    ----------
    labels : (D,) int64 array
        Codes of the labels of their roots; -1 of any leaf.
    starts, children : (D + 1,) intp and int64 arrays
        The children of subtree i are the subtrees ``children[starts[i]:starts[i + 1]]``, from right to left.
    sizes : (D,) int64 array
        Numbers of nodes.
    vocabulary : tuple
        The labels of the codes.
    """

    labels: NDArray[np.int64]
    starts: Indices
    children: NDArray[np.int64]
    sizes: NDArray[np.int64]
    vocabulary: tuple[Hashable, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def nested(self, i: int) -> Any:
        """Return subtree i as nested tuples, leaves as bare labels (None if they are alike)."""
        order, place = [i], 0
        while place < len(order):  # parents first
            order += self.children[self.starts[order[place]] : self.starts[order[place] + 1]].tolist()
            place += 1
        made: dict[int, Any] = {}
        for key in reversed(order):
            label = None if self.labels[key] < 0 else self.vocabulary[self.labels[key]]
            children = self.children[self.starts[key] : self.starts[key + 1]].tolist()[::-1]
            made[key] = (label, *(made[child] for child in children)) if children else label
        return made[i] if len(self.children[self.starts[i] : self.starts[i + 1]]) else (made[i],)

    def find(self, other: Subtrees) -> Indices:
        """Return for each subtree of `other` its place here, or -1."""
        if other is self:
            return np.arange(len(self), dtype=np.intp)
        places = np.empty(len(other), np.intp)
        ours = self.labels, self.starts, self.children
        theirs = _recoding(self.vocabulary, other.vocabulary)[other.labels], other.starts, other.children
        _find_subtrees(ours, theirs, _slots(len(self)), places)
        return places

    def check(self) -> None:
        """Raise ModelError unless the parts fit together."""
        n, starts, children = len(self.labels), self.starts, self.children
        good = all(a.ndim == 1 and a.dtype == np.int64 for a in (self.labels, children, self.sizes))
        good = good and starts.dtype == np.intp and len(starts) == n + 1 and len(self.sizes) == n
        good = good and starts[0] == 0 and starts[-1] == len(children) and bool((np.diff(starts) >= 0).all())
        good = good and isinstance(self.vocabulary, tuple) and _within(self.labels, len(self.vocabulary))
        if good and len(children):
            good = children.min() >= 0 and bool((children < np.repeat(np.arange(n), np.diff(starts))).all())
        if not good:
            raise ModelError("The model has subtrees that do not fit together. Save the model again.")


def _within(codes: NDArray[np.int64], count: int) -> bool:
    return not codes.size or bool(codes.min() >= -1 and codes.max() < count)


def _labels(A: Trees, leaves: str) -> NDArray[np.int64]:
    labels = A.labels.astype(np.int64)
    if leaves == "alike":
        labels[A.degrees == 0] = -1
    return labels


def _recoding(ours: tuple[Hashable, ...], theirs: tuple[Hashable, ...]) -> NDArray[np.int64]:
    """Return our codes of their labels, -2 for labels that we do not have; the last is for -1, any leaf."""
    return np.append(codes_among(ours, theirs, -2), -1)


def _slots(count: int) -> NDArray[np.int64]:
    return np.full(1 << max(int(2 * count).bit_length(), 4), -1, np.int64)


@compiled
def _mix(value, more):
    value = (value ^ np.uint64(more)) * np.uint64(0x9E3779B97F4A7C15)
    return value ^ (value >> np.uint64(29))


@compiled
def _name_subtrees(labels, sizes, slots, ids, first):
    """Give each node the number of its subtree; equal subtrees have equal labels and children of equal numbers."""
    total = 0
    last = np.uint64(slots.size - 1)
    for v in range(labels.size):
        value = _mix(np.uint64(sizes[v]), labels[v])
        child = v - 1
        while child > v - sizes[v]:
            value = _mix(value, ids[child])
            child -= sizes[child]
        slot = np.int64((value ^ (value >> np.uint64(32))) & last)
        while slots[slot] >= 0:
            u = first[slots[slot]]
            if labels[u] == labels[v] and sizes[u] == sizes[v]:
                child, other = v - 1, u - 1
                while child > v - sizes[v] and other > u - sizes[u] and ids[child] == ids[other]:
                    child -= sizes[child]
                    other -= sizes[other]
                if child == v - sizes[v] and other == u - sizes[u]:
                    break
            slot = (slot + 1) & np.int64(last)
        if slots[slot] < 0:
            slots[slot] = total
            first[total] = v
            total += 1
        ids[v] = slots[slot]
    return total


@compiled
def _list_children(first, sizes, ids, starts, children):
    for key in range(first.size):
        child = first[key] - 1
        for place in range(starts[key], starts[key + 1]):
            children[place] = ids[child]
            child -= sizes[child]


@compiled
def _slot_of(label, start, stop, children, names, slots, ours):
    """Return where a subtree is, or where it would be, in the table of ours; its children have names among ours."""
    value = _mix(np.uint64(stop - start), label)
    for place in range(start, stop):
        value = _mix(value, names[children[place]])
    slot = np.int64((value ^ (value >> np.uint64(32))) & np.uint64(slots.size - 1))
    while slots[slot] >= 0:
        key = slots[slot]
        if ours[0][key] == label and ours[1][key + 1] - ours[1][key] == stop - start:
            same = True
            for t in range(stop - start):
                if ours[2][ours[1][key] + t] != names[children[start + t]]:
                    same = False
                    break
            if same:
                break
        slot = (slot + 1) & (slots.size - 1)
    return slot


@compiled
def _find_subtrees(ours, theirs, slots, places):
    names = np.arange(ours[0].size)
    for key in range(ours[0].size):
        slot = _slot_of(ours[0][key], ours[1][key], ours[1][key + 1], ours[2], names, slots, ours)
        slots[slot] = key
    labels, starts, children = theirs
    for key in range(labels.size):
        places[key] = -1
        known = labels[key] > -2
        for place in range(starts[key], starts[key + 1]):
            known = known and places[children[place]] >= 0
        if known:
            slot = _slot_of(labels[key], starts[key], starts[key + 1], children, places, slots, ours)
            places[key] = slots[slot]


# ---------------------------------------------------------------------------------------- paths


@dataclass(frozen=True, eq=False)
class Grams:
    """The distinct paths of a collection: the columns of the features of TreeSpectrum.

    Attributes
    ----------
    table : (D, q + 1) int64 array
        The place of the node nearest the root, then codes of q labels from left to right; -1 of any leaf.
    vocabulary : tuple
        The labels of the codes.
    """

    table: NDArray[np.int64]
    vocabulary: tuple[Hashable, ...]

    def __len__(self) -> int:
        return len(self.table)

    def path(self, i: int) -> tuple[Any, ...]:
        """Return the place of the highest node of path i, and its labels (None of a leaf if these are alike)."""
        place, *codes = self.table[i].tolist()
        return (place, *(None if code < 0 else self.vocabulary[code] for code in codes))

    def find(self, other: Grams) -> Indices:
        """Return for each path of `other` its place here, or -1."""
        if other is self:
            return np.arange(len(self), dtype=np.intp)
        table = other.table.copy()
        table[:, 1:] = _recoding(self.vocabulary, other.vocabulary)[table[:, 1:]]
        return find_rows(self.table, table)

    def check(self) -> None:
        """Raise ModelError unless the parts fit together."""
        table, words = self.table, self.vocabulary
        good = isinstance(table, np.ndarray) and table.ndim == 2 and table.shape[1] > 1 and table.dtype == np.int64
        if not (good and isinstance(words, tuple) and _within(table[:, 1:], len(words))):
            raise ModelError("The model has paths of trees that are not a table. Save the model again.")


Part = tuple[NDArray[np.int64], Indices, Indices, Floats]  # distinct paths; trees, columns and numbers of the counts


class _Legs:
    """The paths that go down in the trees of a collection: of each node those of 1, 2, ... nodes that end there."""

    def __init__(self, A: Trees, labels: NDArray[np.int64], length: int) -> None:
        degrees = np.ascontiguousarray(A.degrees)
        self.labels, self.length = labels, length
        self.owners = A.ragged.owners
        parents = np.append(node_parents(subtree_sizes(degrees), degrees), -1)
        self.above = [np.arange(len(labels), dtype=np.intp)]  # the ancestors this many steps up, -1 if there are none
        for _ in range(length):
            self.above.append(parents[self.above[-1]])
        base = int(labels.max(initial=-1)) + 2
        self.names = [labels + 1]  # numbers of the paths of 1, 2, ... nodes
        for step in range(1, length):
            known = np.flatnonzero(self.above[step] >= 0)
            pairs = self.names[-1][known] * base + labels[self.above[step][known]] + 1
            names = np.full(len(labels), -1, np.int64)
            names[known] = np.unique(pairs, return_inverse=True)[1]
            self.names.append(names)

    def path(self, nodes: Indices, count: int) -> NDArray[np.int64]:
        """Labels of the paths that end at some nodes, (m, count), from below."""
        return np.column_stack([self.labels[self.above[step][nodes]] for step in range(count)])

    def down(self) -> Part:
        """Paths of full length."""
        nodes = np.flatnonzero(self.above[self.length - 1] >= 0)
        _, first, columns = np.unique(self.names[-1][nodes], return_index=True, return_inverse=True)
        labels = self.path(nodes[first], self.length)[:, ::-1]
        table = np.column_stack((np.zeros(len(first), np.int64), labels))
        return table, self.owners[nodes], columns.astype(np.intp), np.ones(len(nodes))

    def bent(self, left: int, right: int) -> Part:
        """Paths that go up from this many nodes and down to this many in a child further to the right."""
        ours, theirs = self._below(left), self._below(right)
        acc = np.zeros(int(ours[2].max(initial=-1)) + 1), np.empty(len(ours[0]), np.int64)
        total = _join_legs(ours, theirs, acc, (np.empty((0, 3), np.int64), np.empty(0)))
        budget.Plan("bent paths of trees", {"paths": total * 96}).require(None)
        found, numbers = np.empty((total, 3), np.int64), np.empty(total)
        _join_legs(ours, theirs, acc, (found, numbers))
        tops, ends, others = found.T  # the highest node, and one end of each leg
        keys = np.unique(self.labels[tops] + 1, return_inverse=True)[1].astype(np.int64)
        for names in (self.names[left - 1][ends], self.names[right - 1][others]):
            wide = int(names.max(initial=0)) + 1
            keys = np.unique(keys * wide + names, return_inverse=True)[1].astype(np.int64)
        _, first, columns = np.unique(keys, return_index=True, return_inverse=True)
        going_up = self.path(ends[first], left + 1)
        going_down = self.path(others[first], right)[:, ::-1]
        table = np.column_stack((np.full(len(first), left), going_up, going_down)).astype(np.int64)
        return table, self.owners[tops], columns.astype(np.intp), numbers

    def _below(self, count: int) -> tuple[Any, ...]:
        """Legs of this many nodes: the node above, its child, the name, how many there are, and where one of them ends.

        Sorted by the first three, equal ones taken together.
        """
        ends = np.flatnonzero(self.above[count] >= 0)
        tops, children = self.above[count][ends], self.above[count - 1][ends]
        names = self.names[count - 1][ends]
        order = np.lexsort((names, children, tops))
        ends, tops, children, names = (a[order] for a in (ends, tops, children, names))
        new = np.ones(len(ends), dtype=bool)
        new[1:] = (np.diff(children) != 0) | (np.diff(names) != 0)
        first = np.flatnonzero(new)
        numbers = np.diff(np.append(first, len(ends))).astype(float)
        return tops[first], children[first], names[first], numbers, ends[first]


@compiled
def _join_legs(left, right, acc, out):
    """List the pairs of a left leg and a right leg, in a child further right, of the same node; return how many.

    Left legs are taken together by name as children go by: `acc` has how many of each there were, and one end of each.
    """
    tops, children, names, numbers, ends = left
    others, theirs, _, amounts, stops = right
    many, seen = acc
    found, counts = out
    total = 0
    i = 0
    j = 0
    while i < tops.size and j < others.size:
        if tops[i] < others[j]:
            i += 1
            continue
        if tops[i] > others[j]:
            j += 1
            continue
        top = tops[i]
        distinct = 0
        while j < others.size and others[j] == top:
            while i < tops.size and tops[i] == top and children[i] < theirs[j]:
                if many[names[i]] == 0.0:
                    seen[distinct] = i
                    distinct += 1
                many[names[i]] += numbers[i]
                i += 1
            for t in range(distinct):
                if counts.size > 0:
                    leg = seen[t]
                    found[total, 0], found[total, 1], found[total, 2] = top, ends[leg], stops[j]
                    counts[total] = many[names[leg]] * amounts[j]
                total += 1
            j += 1
        for t in range(distinct):
            many[names[seen[t]]] = 0.0
        while i < tops.size and tops[i] == top:
            i += 1
    return total
