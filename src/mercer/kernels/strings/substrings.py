"""All common substrings of two strings, weighted by length, in linear time.

Symbols: c_l the weight of a substring of l symbols, W(m) = c_1 + ... + c_m, N the symbols of a collection.

A pair of places at which the same m symbols occur, and no more, has one common substring of each length up to m, and so
the kernel is the sum of W over all pairs of places. The suffix tree of a collection has that sum by nodes: all
substrings that end on one edge occur at the same places, and the edge has the weight of their lengths together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from mercer import budget
from mercer.arguments import answer_of
from mercer.arrays import Codes, Floats, Indices
from mercer.constraints import Array, Integer, Optional, Positive, Satisfies
from mercer.domains import Samples, Strings
from mercer.domains.samples import codes_among
from mercer.errors import DomainError, ParameterError
from mercer.kernels.abilities import DifferentiatedByTiles, Featured
from mercer.kernels.comparison import View
from mercer.kernels.counts import Overlap, as_csr, overlap
from mercer.kernels.kernel import Tiled, overflow_error
from mercer.kernels.protocols import Pullback
from mercer.kernels.strings.suffix_tree import SuffixTree
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import in_background
from mercer.spec import derived, free_names

__all__ = ["SubstringFunction", "Substrings"]
__public__ = ["Substrings"]

_TREE_BYTES = 96  # for each symbol, while the tree is made
_WORK = 2000.0  # a symbol takes about as long as this many floating-point operations


_EACH = Array(1, low=0.0)


class Substrings(Tiled, Featured, DifferentiatedByTiles):
    r"""All common substrings of two strings, whatever their length, with weights by length.

    .. math:: k(s, t) = \sum_{u} c_{|u|}\, \#(s, u)\, \#(t, u), \qquad
        c_l = \lambda^l w_l \ \text{for}\ l_{\min} \le l \le l_{\max}

    where #(s, u) counts the places at which u occurs in s, without gaps.

    Seed: [HSS] "n-grams and Suffix Trees"; [KIKS] reference [74].

    Parameters
    ----------
    weights : "constant", tuple of float or callable, default "constant"
        The factors w_l >= 0: all one; a tuple (w_1, w_2, ...), zero beyond its end; or a function that takes an array
        of lengths 1, 2, ... and returns an array.
    decay : float, default 1.0
        The factor lambda > 0 for each symbol of a common substring.
    shortest : int, default 1
        The shortest substrings that count.
    longest : int, optional
        The longest substrings that count; None sets no limit.

    Notes
    -----
    Domain Strings. Features: the counts of the nodes of the suffix tree of a collection, times the root of the weight
    of their edges; at most 2 N. Differentiable in `decay`. Positive definite of order 0 by its features. Different
    strings have different images if all weights are positive: the longest of several strings is a substring of no
    other. It fails to be strict only because of the empty string, which has k(s, s) = 0. Not bounded, as it grows with
    the strings (``.normalized()`` removes that). The value does not depend on the tree it is found in. With whole
    weights all sums are of whole numbers: exact below 2^53. Cost O(|s| + |t|) for a pair; for a collection O(N) to
    build the tree, then one addition for each pair of strings and each node that both have. A function
    f(x) = sum_i a_i k(s_i, x) is evaluated in O(|x|) by what `compile` returns.

    With a decay of one or more and no limit, a string has far more in common with itself than with any other:
    k(s, s) grows like |s|^3, or like decay^|s|, and a normalised matrix is close to the identity. Set `longest`, or a
    decay below one, unless long common substrings are what matters.

    ``Substrings(longest=p, decay=d)`` is ``BlendedSpectrum(p, decay=d)``, and with ``shortest=p`` too it is
    ``Spectrum(p)`` (times d^p).

    Examples
    --------
    >>> Substrings()(["ab", "abab"])
    array([[ 3.,  6.],
           [ 6., 16.]])
    >>> Substrings(decay=0.5)(["ab"], ["abab"])  # 4 common letters, 2 common pairs
    array([[2.5]])
    >>> Substrings(lambda l: l**2.0, shortest=2)(["ab"], ["abab"])
    array([[8.]])
    """

    synonyms = ("all-substrings kernel", "exact match string kernel", "suffix tree kernel")
    domain = Strings
    formula = r"\sum_{u} c_{|u|} \#(s, u) \#(t, u)"
    cost = "O(N) for a tree, then O(common nodes) a pair"
    constraints = {
        "weights": Satisfies(
            "'constant', a tuple of finite numbers >= 0 for the lengths 1, 2, ... or a function of an array of lengths",
            lambda value: callable(value) or (isinstance(value, str) and value == "constant") or _EACH.accepts(value),
            "(1.0, 0.5, 0.25)",
        ),
        "decay": Positive(),
        "shortest": Integer(1),
        "longest": Optional(Integer(1)),
    }

    def __init__(
        self,
        weights: str | tuple[float, ...] | Callable[[Floats], Any] = "constant",
        decay: float = 1.0,
        shortest: int = 1,
        longest: int | None = None,
    ) -> None:
        self.weights = weights
        self.decay = decay
        self.shortest = shortest
        self.longest = longest

    def check(self) -> Self:
        """Raise ParameterError unless the parameters are acceptable, and fit together."""
        super().check()
        if self.longest is not None and self.longest < self.shortest:
            raise ParameterError(
                f"Substrings was given shortest={self.shortest} and longest={self.longest}; longest must be at least "
                f"shortest. Try longest={self.shortest}, or longest=None for no limit."
            )
        return self

    @derived
    def injective(self) -> bool:
        """Whether all weights are known to be positive."""
        return isinstance(self.weights, str) and self.shortest == 1 and self.longest is None

    # weights ----------------------------------------------------------------------------------------------

    @property
    def _limit(self) -> int | None:
        """The longest substrings with a weight, if there is a longest."""
        given = [] if callable(self.weights) or isinstance(self.weights, str) else [len(self.weights)]
        given += [] if self.longest is None else [int(self.longest)]
        return min(given) if given else None

    def _by_length(self, deepest: int) -> Floats:
        """Return c_0 = 0, c_1, ..., c_deepest."""
        lengths = np.arange(1.0, deepest + 1.0)
        if callable(self.weights):
            given: Any = lengths
            if deepest:
                given = answer_of(self.weights, lengths.copy(), who=self, takes="an array of lengths")
            factors = _as_numbers(given)
            if factors is None or not _are_weights(factors, lengths.shape):
                raise DomainError(
                    f"The function given as weights of Substrings returned {factors!r:.60} for the lengths 1 to "
                    f"{deepest}; one finite number >= 0 for each length is accepted. Write it with NumPy functions."
                )
        elif isinstance(self.weights, str):
            factors = np.ones(deepest)
        else:
            factors = np.zeros(deepest)
            given = np.asarray(self.weights, dtype=float)[:deepest]
            factors[: len(given)] = given
        factors[: int(self.shortest) - 1] = 0.0
        factors[deepest if self.longest is None else int(self.longest) :] = 0.0
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            powers = np.float64(self.decay) ** lengths
            return np.concatenate([[0.0], np.where(factors > 0.0, factors * powers, 0.0)])

    def _table(self, deepest: int, slope: bool = False) -> Floats:
        """Return W(0), ..., W(deepest), or their derivatives in the decay."""
        by_length = self._by_length(deepest)
        if slope:
            by_length = by_length * np.arange(deepest + 1.0) / float(self.decay)
        with np.errstate(over="ignore"):
            table = np.cumsum(by_length)
        if not np.isfinite(table).all():
            raise overflow_error(self)
        return table

    # numbers ----------------------------------------------------------------------------------------------

    @property
    def _key(self) -> str:
        return f"suffixes:{self._limit}"

    def _prepare(self, A: Samples) -> Samples:
        """Note that slices of the collection share a suffix tree, which is made when it is first needed."""
        if self._key in A.derived:
            return A
        assert isinstance(A, Strings)
        return A.with_derived(self._key, _Rows(_nodes(A, self._limit), np.arange(len(A), dtype=np.intp)))

    def _rows(self, A: Samples) -> _Rows:
        return self.prepare(A).derived[self._key]

    def tile(self, view: View) -> Floats:
        """Add the products of counts over common nodes."""
        return self._tile(view, False)

    def _tile(self, view: View, slope: bool) -> Floats:
        A, B = view.collections
        common = view.comparison.keep((view.path, id(self), slope), lambda: self._compared(A, B, slope))
        out = view.empty()
        common.tile(view.rows, view.columns, out)
        return out

    def _compared(self, A: Samples, B: Samples, slope: bool) -> Overlap:
        """Return what two collections have in common in the tree of the right one."""
        left, right = self._rows(A), self._rows(B)
        table = self._table(right.nodes.deepest, slope)
        if left.nodes is right.nodes:
            edges = right.nodes.edges(table)
            return overlap(left.counts, None if B is A else right.counts, edges)
        assert isinstance(A, Strings)
        return overlap(right.nodes.match(A, table), right.counts)

    def _diag(self, A: Samples) -> Floats:
        """Return the weighted sums of squared counts."""
        rows = self._rows(A)
        squares = rows.counts.copy()
        squares.data **= 2
        return np.asarray(squares @ rows.nodes.edges(self._table(rows.nodes.deepest)), dtype=float)

    def _features(self, A: Samples, keys: SuffixNodes | None = None) -> tuple[sp.csr_array, SuffixNodes]:
        """Return counts of nodes times roots of their weights, (len A, D) CSR, and the nodes of the columns.

        Of strings that are not in the tree of the nodes, what ends on an edge counts in part, so that the product with
        the features of strings that are is the kernel.
        """
        rows = self._rows(A)
        nodes = rows.nodes if keys is None else keys
        table = self._table(nodes.deepest)
        roots = np.sqrt(nodes.edges(table))
        if rows.nodes is nodes:
            return _times(rows.counts, roots), nodes
        assert isinstance(A, Strings)
        inverse = np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0.0)
        return _times(nodes.match(A, table), inverse), nodes

    def _feature_count(self, A: Samples) -> int:
        """Return the number of nodes of the tree."""
        return len(self._rows(A).nodes)

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Return the values of a tile and the pullback to the decay."""
        slope = self._tile(view, True).copy()
        return self.tile(view), lambda W: np.array([np.vdot(W, slope)] * len(free_names(self)))

    def compile(self, samples: Samples, coef: Floats) -> SubstringFunction:
        """Return f(x) = sum_i coef_i k(s_i, x) as a function that takes O(|x|).

        Examples
        --------
        >>> from mercer.domains import Strings
        >>> f = Substrings().compile(Strings.pack(["ab", "abab"]), np.array([1.0, -1.0]))
        >>> f(Strings.pack(["ab", "b", "ccc"]))
        array([-3., -1.,  0.])
        """
        assert isinstance(samples, Strings)
        nodes, coef = _nodes(samples, self._limit), np.asarray(coef, dtype=float)
        tree, table = nodes.tree, self._table(nodes.deepest)
        columns = coef[:, None] if coef.ndim == 1 else coef
        below, above = np.zeros((len(nodes), columns.shape[1])), np.zeros((len(nodes), columns.shape[1]))
        owners = np.repeat(np.arange(len(samples)), samples.lengths)
        _add_below(tree.leaves, columns[owners], tree.parent, tree.inner, below)
        _add_above(tree.parent, tree.inner, nodes.edges(table), below, above)
        return SubstringFunction(nodes, table, above, below, coef.shape[1:])


def _as_numbers(value: Any) -> Floats | None:
    try:
        found = np.asarray(value)
        return None if found.dtype.kind == "c" else found.astype(float)
    except (TypeError, ValueError, OverflowError):
        return None


def _are_weights(values: Floats, shape: tuple[int, ...]) -> bool:
    return values.shape == shape and bool(np.isfinite(values).all() and (values >= 0.0).all())


def _times(matrix: sp.csr_array, factors: Floats) -> sp.csr_array:
    """Return the matrix with its columns multiplied."""
    return sp.csr_array((matrix.data * factors[matrix.indices], matrix.indices, matrix.indptr), shape=matrix.shape)


# ------------------------------------------------------------------------------------ nodes and counts


@dataclass(frozen=True, eq=False)
class SuffixNodes:
    """The nodes of the suffix tree of a collection: the columns of the features of `Substrings`.

    Attributes
    ----------
    vocabulary : tuple
        The symbols of the codes.
    codes : (N,) array
        All strings, one after another.
    offsets : (n + 1,) array
        Where each string begins.
    longest : int or None
        Strings are followed no further than this many symbols.

    Notes
    -----
    The tree is made of the strings when it is first needed, and is always the same.
    """

    vocabulary: tuple[Hashable, ...]
    codes: Codes
    offsets: Indices
    longest: int | None

    def __len__(self) -> int:
        return len(self.tree.depth)

    def symbols(self, i: int) -> tuple[Hashable, ...]:
        """Return the symbols on the way to node i, as they were given."""
        start = self.tree.start[i]
        return tuple(self.vocabulary[code - 1] for code in self.tree.text[start : start + self.tree.depth[i]])

    @cached_property
    def tree(self) -> SuffixTree:
        """The suffix tree."""
        work = _WORK * len(self.codes)
        plan = {"suffix tree": _TREE_BYTES * (len(self.codes) + len(self.offsets))}
        budget.Plan(f"Substrings of {len(self.codes)} symbols", plan, ("a smaller collection",)).require(None)
        return in_background(SuffixTree.of, self.codes, self.offsets, self.longest, work=work)

    @cached_property
    def counts(self) -> sp.csr_array:
        """How often the string of each node occurs in each string, (n, D)."""
        return self._counted(self.tree.leaves, self.offsets)

    @property
    def deepest(self) -> int:
        """The longest string of a node."""
        return int(self.tree.depth.max(initial=0))

    @property
    def nbytes(self) -> int:
        """Bytes of what was made so far."""
        made = vars(self)
        counts = made.get("counts")
        size = 0 if counts is None else counts.data.nbytes + counts.indices.nbytes + counts.indptr.nbytes
        return size + (made["tree"].nbytes if "tree" in made else 0)

    def edges(self, table: Floats) -> Floats:
        """Return the weights of the edges above the nodes, for W of `table`."""
        return table[self.tree.depth] - table[self.tree.depth[self.tree.parent]]

    def locate(self, S: Strings) -> tuple[Any, Any]:
        """Return where the longest matches of the suffixes of new strings end: nodes and lengths."""
        recoded = codes_among(self.vocabulary, S.vocabulary, -1).astype(np.int32)
        codes = recoded[S.codes] if len(recoded) else S.codes
        return in_background(self.tree.match, codes, S.offsets, work=_WORK * len(codes))

    def match(self, S: Strings, table: Floats) -> sp.csr_array:
        """Return what the matches of new strings have at each node, (len S, D), for W of `table`."""
        nodes, lengths = self.locate(S)
        return self._counted(nodes, np.asarray(S.offsets, np.intp), lengths, table)

    def _counted(self, nodes: Any, offsets: Indices, lengths: Any = None, table: Any = None) -> sp.csr_array:
        def allow(size: int) -> None:
            options = ("longest= to leave long substrings out", "fewer strings at once")
            budget.Plan(f"Substrings of {len(nodes)} symbols", {"counts of the nodes": size}, options).require(None)

        work = _WORK * len(nodes)
        lists = in_background(self.tree.counts, nodes, offsets, lengths, table, allow, work=work)
        return as_csr(lists, len(self.tree.depth))


def _nodes(S: Strings, longest: int | None) -> SuffixNodes:
    rows = S.ragged.take(slice(None))  # from the first symbol of the first string
    return SuffixNodes(S.vocabulary, rows.codes, np.asarray(rows.offsets, np.intp), longest)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Some strings of a collection; slices share its tree."""

    nodes: SuffixNodes
    rows: Indices

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        """Bytes of the tree and counts of the whole collection, as far as made."""
        return self.rows.nbytes + self.nodes.nbytes

    def take(self, index: slice | Indices) -> _Rows:
        """Return some of the strings."""
        return _Rows(self.nodes, self.rows[index])

    @property
    def counts(self) -> sp.csr_array:
        """Counts of these strings."""
        whole, n = self.nodes.counts, len(self.nodes.offsets) - 1
        return whole if len(self.rows) == n and np.array_equal(self.rows, np.arange(n)) else whole[self.rows]


# ----------------------------------------------------------------------------------------- prediction


@dataclass(frozen=True, eq=False)
class SubstringFunction:
    r"""A function made of kernels at some strings, which is evaluated in one pass over its argument.

    .. math:: f(x) = \sum_i a_i\, k(s_i, x)
        = \sum_{j=1}^{|x|} \left( v_{p(j)} + (W(m_j) - W(d_{p(j)}))\, b_{n(j)} \right)

    The suffix of x at place j matches m_j symbols in the tree of the strings. It ends on the edge from p(j), at depth
    d, to n(j). b_n is the sum of a_i over all places below n, and v_p that of b times weight over the edges down to p.

    Seed: [HSS] "n-grams and Suffix Trees": O(|x|) after preprocessing linear in the size of the support vectors.

    Attributes
    ----------
    nodes : SuffixNodes
    table : (longest + 1,) array
        W(0), W(1), ...
    above : (D, k) array
        v of the parent of each node.
    below : (D, k) array
        b of each node.
    outputs : tuple
        ``()`` of one function, ``(k,)`` of several.
    """

    nodes: SuffixNodes
    table: Floats
    above: Floats
    below: Floats
    outputs: tuple[int, ...]

    def __call__(self, S: Samples) -> Floats:
        """Return f at packed strings, shape (m,) or (m, k)."""
        assert isinstance(S, Strings)
        places, lengths = self.nodes.locate(S)
        out = np.zeros((len(S), self.above.shape[1]))
        tree = self.nodes.tree
        arrays = tree.depth, tree.parent, self.table, self.above, self.below
        _add_matches((places, lengths, np.asarray(S.offsets, np.intp)), arrays, out)
        return out.reshape(len(S), *self.outputs)


@compiled
def _add_below(leaves, coef, parent, inner, below):
    """Add the coefficients of the places below each node."""
    for i in range(leaves.size):
        below[leaves[i]] += coef[i]
    for node in range(inner, parent.size):
        below[parent[node]] += below[node]
    for node in range(inner - 1):  # children before parents
        below[parent[node]] += below[node]


@compiled
def _add_above(parent, inner, edges, below, above):
    """Add the values of the edges down to the parent of each node; the root has none."""
    for node in range(inner - 2, -1, -1):  # parents before children
        up = parent[node]
        above[node] = above[up] + edges[up] * below[up]
    for node in range(inner, parent.size):
        up = parent[node]
        above[node] = above[up] + edges[up] * below[up]


@compiled
def _add_matches(matches, arrays, out):
    places, lengths, offsets = matches
    depth, parent, table, above, below = arrays
    for s in range(offsets.size - 1):
        for i in range(offsets[s], offsets[s + 1]):
            node = places[i]
            part = table[lengths[i]] - table[depth[parent[node]]]
            for column in range(out.shape[1]):
                out[s, column] += above[node, column] + part * below[node, column]
