"""The kernel that counts the common walks of two graphs.

Symbols: A, A' the weights of two graphs, W the weights of their product graph, whose nodes are pairs of nodes with
equal labels and whose arcs are pairs of arcs with equal labels; lambda the decay.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg

from mercer import budget
from mercer.arrays import Floats, Indices
from mercer.constraints import Boolean, Fixed, OneOf, Positive
from mercer.domains import Samples
from mercer.domains.structures.graphs import Graphs
from mercer.errors import DomainError, ParameterError
from mercer.kernels.comparison import Comparison, View
from mercer.kernels.graphs import common_walks as walks
from mercer.kernels.graphs.common_walks import Steps
from mercer.kernels.kernel import Tiled, mirror
from mercer.numerics.ragged import Ragged
from mercer.runtime.tiling import run_tasks

__all__ = ["CommonWalks", "RandomWalk"]
__public__ = ["RandomWalk"]

_WORK = 2e7  # multiplications in a tile
_PIECE = 32  # graphs that are compared with themselves at a time
_ROUNDS = 15  # of an iteration, usually


class CommonWalks(Tiled):
    r"""The base of kernels that add over the common walks of two graphs.

    .. math:: k(G, G') = l_\times^\top\, f(W)\, r_\times

    Notes
    -----
    A subclass writes `steps`, which gives the graphs with weights and ends of walks, and `tile` with `_walk`.
    """

    domain = Graphs
    labels: bool
    edge_labels: bool

    @abstractmethod
    def steps(self, A: Graphs, codes: tuple[Any, Any]) -> Steps:
        """Return the steps of walks on graphs with these codes of labels of nodes and of arcs."""

    @property
    @abstractmethod
    def _pace(self) -> float:
        """What each step is multiplied with."""

    def _aligned(self, view: View) -> tuple[Steps, Steps, tuple[Floats, Floats]]:
        return view.comparison.keep((view.path, repr(self)), lambda: self._operands(*view.collections))

    def _operands(self, A: Samples, B: Samples) -> tuple[Steps, Steps, tuple[Floats, Floats]]:
        """Return both sides with codes of the same labels, and bounds on their spectral radii."""
        assert isinstance(A, Graphs) and isinstance(B, Graphs)
        left, right = (A, A) if B is A else A.align(B)
        one = self.steps(left, self._codes(left))
        two = one if B is A else self.steps(right, self._codes(right))
        limits = self._limits(one)
        return one, two, (limits, limits if B is A else self._limits(two))

    def _limits(self, S: Steps) -> Floats:
        """Return bounds on the spectral radii of the graphs."""
        return walks.radii(S)

    def _codes(self, A: Graphs) -> tuple[Any, Any]:
        nodes = A.labels if self.labels else np.zeros(len(A.labels), dtype=np.int64)
        return nodes, A.edge_labels if self.edge_labels else np.zeros(len(A.targets), dtype=np.int64)

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for tiles of some 20 milliseconds."""
        work = _ROUNDS
        for S in comparison.sides(()):
            if not isinstance(S, Graphs) or not len(S):
                return None
            work *= np.sqrt(2.0 * (1.0 + len(S.labels) / len(S)) * (1.0 + len(S.targets) / len(S)))
        return max(2, int(np.sqrt(_WORK / work)))

    def _walk(self, view: View, how: int) -> Floats:
        """Return the sums of a tile by an iteration."""
        A, B, limits = self._aligned(view)
        self._plan(A.sizes[view.rows], B.sizes[view.columns], 64)
        out = view.empty()
        symmetric = B is A and view.rows == view.columns
        rows, columns = np.triu_indices(len(out)) if symmetric else np.indices(out.shape).reshape(2, -1)
        pairs = np.ascontiguousarray(rows + view.rows.start), np.ascontiguousarray(columns + view.columns.start)
        values, bad = walks.solve(A, B, pairs, self._pace, how, limits)
        if bad[0] >= 0:
            raise self._diverges((int(pairs[0][bad[0]]), int(pairs[1][bad[0]])), bad[1], limits)
        out[rows, columns] = values
        return mirror(out) if symmetric else out

    def _plan(self, left: Indices, right: Indices, size: int) -> None:
        """Refuse graphs whose pairs of nodes, at this many bytes each, do not fit in memory."""
        most = int(left.max(initial=0)) * int(right.max(initial=0))
        what = f"{type(self).__name__} on graphs of {left.max(initial=0)} and {right.max(initial=0)} nodes"
        budget.Plan(what, {"pairs of nodes": size * most}).require(None)

    def _diverges(self, pair: tuple[int, int], radius: float, limits: tuple[Floats, Floats]) -> DomainError:
        most = float(limits[0].max() * limits[1].max())
        return DomainError(
            f"The walks that graphs {pair[0]} and {pair[1]} have in common are too many for {self!r}: their product "
            f"graph has a spectral radius of {radius:.4g}, and the decay has to be below {1.0 / radius:.4g}, its "
            f"inverse. A decay below {1.0 / most:.4g} will do for all of these graphs; or use kind='exponential', or "
            "adjacency='normalized', for which every decay below 1 will."
        )

    def _diagonal(self, A: Graphs, how: int) -> Floats:
        """Compare every graph with itself by an iteration."""
        S, _, limits = self._operands(A, A)
        self._plan(S.sizes, S.sizes, 64)
        out = np.empty(len(A))

        def work(start: int) -> None:
            some = np.arange(start, min(start + _PIECE, len(A)))
            out[some], bad = walks.solve(S, S, (some, some), self._pace, how, limits)
            if bad[0] >= 0:
                graph = int(some[bad[0]])
                raise self._diverges((graph, graph), bad[1], limits)

        run_tasks(range(0, len(A), _PIECE), work)
        return out


def require_weights(A: Graphs, kernel: Any) -> None:
    """Refuse weights below zero, with which walks cannot be counted."""
    if (A.weights < 0.0).any():
        place = int(np.flatnonzero(A.weights < 0.0)[0])
        graph = int(np.searchsorted(A.arc_offsets, place, side="right")) - 1
        raise DomainError(
            f"Sample {graph} has an edge of weight {A.weights[place]:g}; {type(kernel).__name__} follows edges in "
            "proportion to weights, which must not be negative. Use other weights."
        )


class RandomWalk(CommonWalks):
    r"""Random walk kernel: how many walks two graphs have in common, long ones counting less.

    .. math:: k(G, G') = \sum_{t=0}^\infty \mu_t\, 1^\top W^t 1, \quad \mu_t = \lambda^t \text{ or } \lambda^t / t!

    where W are the weights of the product graph: 1' W^t 1 adds over pairs of walks of t steps with the same labels of
    nodes and edges the product of their weights.

    Seed: [KIKS] Section 6.1.2 (kernels between labelled graphs by walks, as linear equations; accelerated solvers);
    [HSS] Section 2.2.5; [SS] Section 6.4.

    Parameters
    ----------
    decay : float, default 0.1
        lambda > 0. Geometric, it has to be below the inverse of the spectral radius of every product graph: larger
        values are refused, and the largest value allowed is reported.
    kind : {"geometric", "exponential"}, default "geometric"
        Which weights walks of t steps have: k = 1' (1 - lambda W)^-1 1, or k = 1' exp(lambda W) 1.
    method : str, default "auto"
        How the same numbers are found. "direct" forms the product graph and solves; "conjugate_gradient" (for graphs
        without direction) and "fixed_point" iterate without forming it; "sylvester" solves X = lambda A X A'^T + 1
        by triangular matrices, and "spectral" adds over pairs of eigenvalues, both for graphs whose labels are all
        alike, the latter without direction. "auto" takes "spectral" where it can, else "conjugate_gradient", else
        "fixed_point". The exponential kind has "direct", "fixed_point" and "spectral".
    labels, edge_labels : bool, default True
        Whether the labels of nodes and of edges have to be equal. Those without a label are alike.
    adjacency : {"plain", "normalized"}, default "plain"
        Whether weights are as they are, or divided by the roots of the degrees at both ends: then every decay below 1
        will do, and nodes with many edges count no more than others.

    Notes
    -----
    Domain Graphs; walks follow the direction of arcs. The definition is the sum above, from walks of no step on, with
    one for every node at which a walk may begin or end: no division by numbers of nodes, no walk left out. It is that
    of Gaertner, Flach and Wrobel (2003), and of GraKeL but for three things. GraKeL adds one for every pair of nodes
    with different labels; its fast method for the exponential kind takes the eigenvectors of a general solver as
    orthonormal, which those of a repeated eigenvalue are not, and is some percent off for molecules with symmetries;
    its geometric one ends after 20 steps. Features are the weighted sums of walks by their labels, without end; no
    free parameter, since the decay has an end that depends on the graphs. Positive definite of order 0 by its
    features; neither strict nor universal, since different graphs may have the same walks; not bounded
    (``.normalized()`` removes that). An empty graph has k = 0. Cost O(n M' + n' M) for a pair and each of some 15
    steps, for n and n' nodes, M and M' arcs; "spectral" O(n n') for a pair; "direct" O(n^3 n'^3).

    Examples
    --------
    >>> path = {"edges": [(0, 1), (1, 2)], "labels": ["C", "C", "O"]}
    >>> ring = {"edges": [(0, 1), (1, 2), (2, 0)], "labels": ["C", "C", "O"]}
    >>> RandomWalk(0.1)([path, ring]).round(3)
    array([[5.692, 5.969],
           [5.969, 6.628]])
    >>> RandomWalk(0.1, labels=False)([path], [ring]).round(3)
    array([[12.391]])
    """

    synonyms = ("geometric random walk kernel",)
    example = (0.001,)
    formula = r"\sum_t \mu_t 1^\top W^t 1"
    cost = "O(n M' + n' M) a pair and step"
    constraints = {
        "decay": Fixed(Positive()),
        "kind": OneOf("geometric", "exponential"),
        "method": OneOf("auto", "direct", "sylvester", "conjugate_gradient", "fixed_point", "spectral"),
        "labels": Boolean(),
        "edge_labels": Boolean(),
        "adjacency": OneOf("plain", "normalized"),
    }

    def __init__(
        self,
        decay: float = 0.1,
        kind: str = "geometric",
        method: str = "auto",
        labels: bool = True,
        edge_labels: bool = True,
        adjacency: str = "plain",
    ) -> None:
        self.decay = decay
        self.kind = kind
        self.method = method
        self.labels = labels
        self.edge_labels = edge_labels
        self.adjacency = adjacency

    @property
    def _pace(self) -> float:
        return float(self.decay)

    def check(self) -> RandomWalk:
        """Raise ParameterError unless the parameters are acceptable, also together."""
        super().check()
        if self.kind == "exponential" and self.method in ("sylvester", "conjugate_gradient"):
            raise ParameterError(
                f"RandomWalk was given kind='exponential' and method={self.method!r}, which solves linear equations; "
                "the exponential is found by 'direct', 'fixed_point' or 'spectral'. Use method='auto'."
            )
        if self.adjacency == "normalized" and self.kind == "geometric" and self.decay >= 1.0:
            raise ParameterError(
                f"RandomWalk was given decay={float(self.decay):g} for adjacency='normalized'; the sum over all walks "
                "converges for a decay below 1. Lower it, or use kind='exponential'."
            )
        return self

    def steps(self, A: Graphs, codes: tuple[Any, Any]) -> Steps:
        """Return the graphs with their weights; walks begin and end anywhere."""
        require_weights(A, self)
        ones = np.ones(len(A.labels))
        return walks.steps((A.offsets, A.indptr, A.targets), codes, self._weights(A), (ones, ones))

    def _weights(self, A: Graphs) -> Floats:
        if self.adjacency == "plain":
            return A.weights
        shift = np.repeat(A.offsets[:-1], np.diff(A.arc_offsets))
        sources, heads = A.sources + shift, A.targets + shift
        out, back = (np.bincount(end, A.weights, minlength=len(A.labels)) for end in (sources, heads))
        total = np.sqrt(out[sources] * back[heads])
        return np.divide(A.weights, total, out=np.zeros(len(total)), where=total > 0.0)

    def _limits(self, S: Steps) -> Floats:
        # no matrix that is divided by the roots of the sums of its rows and columns is longer than one
        return walks.radii(S) if self.adjacency == "plain" else np.ones(len(S.sizes))

    # how ------------------------------------------------------------------------------------------

    def _prepare(self, A: Samples) -> Samples:
        """Find the eigenvalues of every graph, once per collection, where they may be used."""
        assert isinstance(A, Graphs)
        fits = self.method == "spectral" or (self.method == "auto" and self._is_alike(A) and not A.directed.any())
        if not fits or self._key in A.derived:
            return A
        return A.with_derived(self._key, self._spectra(A))

    @property
    def _key(self) -> str:
        return f"walk spectra:{self.adjacency}"

    def _spectra(self, A: Graphs) -> Ragged:
        """Return eigenvalues and squared sums of eigenvectors."""
        require_weights(A, self)
        found = np.empty((len(A.labels), 2))
        for i, matrix in enumerate(self._matrices(A)):
            values, vectors = np.linalg.eigh(matrix)
            part = slice(A.offsets[i], A.offsets[i + 1])
            found[part, 0], found[part, 1] = values, vectors.sum(axis=0) ** 2
        return Ragged(found, A.offsets)

    def _columns(self, A: Graphs) -> tuple[Indices, Floats, Floats]:
        spectra = A.derived[self._key] if self._key in A.derived else self._spectra(A)
        values = np.ascontiguousarray(spectra.codes.T)
        return spectra.offsets.astype(np.int64), values[0], values[1]

    def _matrices(self, A: Graphs) -> Sequence[Floats]:
        """Return the weights of every graph as a matrix."""
        matrices, weights, arcs = [np.zeros((n, n)) for n in A.sizes], self._weights(A), A.arc_offsets
        sources = A.sources
        for i, matrix in enumerate(matrices):
            part = slice(arcs[i], arcs[i + 1])
            np.add.at(matrix, (sources[part], A.targets[part]), weights[part])
        return matrices

    def _is_alike(self, *sides: Graphs) -> bool:
        """Return whether no label distinguishes any node or edge."""
        for is_used, name, words in (
            (self.labels, "labels", "vocabulary"),
            (self.edge_labels, "edge_labels", "edge_vocabulary"),
        ):
            if is_used:
                found = {
                    None if code < 0 else getattr(S, words)[code] for S in sides for code in np.unique(getattr(S, name))
                }
                if len(found) > 1:
                    return False
        return True

    def _chosen(self, A: Graphs, B: Graphs) -> str:
        is_alike = self._is_alike(A, B)
        is_directed = bool(A.directed.any() or B.directed.any())
        if self.method == "auto":
            if is_alike and not is_directed:
                return "spectral"
            return "fixed_point" if is_directed or self.kind == "exponential" else "conjugate_gradient"
        given = f"RandomWalk was given method={self.method!r} and graphs with"
        if self.method in ("spectral", "sylvester") and not is_alike:
            raise ParameterError(
                f"{given} different labels; it is for graphs whose labels are all alike, whose product is a Kronecker "
                "product. Use method='auto', or labels=False and edge_labels=False."
            )
        if self.method in ("spectral", "conjugate_gradient") and is_directed:
            raise ParameterError(
                f"{given} directions; it is for symmetric weights. Use method='auto', 'fixed_point' or 'direct'."
            )
        return str(self.method)

    def tile(self, view: View) -> Floats:
        """Add over common walks, by the method that was asked for."""
        A, B = view.collections
        assert isinstance(A, Graphs) and isinstance(B, Graphs)
        method = view.comparison.keep((view.path, repr(self), "method"), lambda: self._chosen(A, B))
        if (how := self._iteration(method)) is not None:
            return self._walk(view, how)
        if self.kind == "geometric":
            self._require_decay(view)
        if method == "direct":
            self._plan(A.sizes**2, B.sizes**2, 24)
        if method == "spectral":
            return self._spectral(view, A, B)
        make = self._triangles if method == "sylvester" else self._labelled
        sides = view.comparison.keep((view.path, repr(self), method), lambda: (make(A), make(B)))
        out, pair = view.empty(), self._sylvester if method == "sylvester" else self._direct
        for i in range(view.shape[0]):
            for j in range(view.shape[1]):
                out[i, j] = pair(sides[0][view.rows.start + i], sides[1][view.columns.start + j])
        return out

    def _diag(self, A: Samples) -> Floats:
        """Compare every graph with itself."""
        A = self.prepare(A)
        assert isinstance(A, Graphs)
        method = self._chosen(A, A)
        if (how := self._iteration(method)) is not None:
            return self._diagonal(A, how)
        largest = float(self._limits(self.steps(A, self._codes(A))).max(initial=0.0))
        if method == "spectral" and (self.kind == "exponential" or float(self.decay) * largest**2 < 1.0):
            side, out, every = self._columns(A), np.empty(len(A)), np.arange(len(A))
            walks.spectral(side, side, (every, every), float(self.decay), self.kind == "exponential", out)
            return out
        return np.concatenate([self.block(one, one)[0] for one in A] or [np.empty(0)])

    def _iteration(self, method: str) -> int | None:
        """Return which iteration a method is, or None if it is not one."""
        if method == "conjugate_gradient":
            return walks.CONJUGATE_GRADIENT
        if method == "fixed_point":
            return walks.EXPONENTIAL if self.kind == "exponential" else walks.FIXED_POINT
        return None

    def _require_decay(self, view: View) -> None:
        """Refuse a decay that is too large for a pair; the iterations do so themselves."""
        A, B, limits = self._aligned(view)
        if float(self.decay) * limits[0].max(initial=0.0) * limits[1].max(initial=0.0) < 1.0:
            return
        rows, columns = np.indices(view.shape).reshape(2, -1)
        pairs = rows + view.rows.start, columns + view.columns.start
        _, bad = walks.solve(A, B, pairs, float(self.decay), walks.FIXED_POINT, limits)
        if bad[0] >= 0:
            raise self._diverges((int(pairs[0][bad[0]]), int(pairs[1][bad[0]])), bad[1], limits)

    def _spectral(self, view: View, A: Graphs, B: Graphs) -> Floats:
        left, right = view.comparison.keep(
            (view.path, repr(self), "spectra"), lambda: (self._columns(A), self._columns(B))
        )
        out = view.empty()
        rows, columns = np.indices(out.shape).reshape(2, -1)
        values = np.empty(out.size)
        pairs = rows + view.rows.start, columns + view.columns.start
        with np.errstate(over="ignore"):
            walks.spectral(left, right, pairs, float(self.decay), self.kind == "exponential", values)
        out[...] = values.reshape(out.shape)
        return out

    def _triangles(self, A: Graphs) -> list[Any]:
        """Return the Schur forms of every matrix and of its transpose, with the ends of walks in their bases."""
        found, schur = [], scipy.linalg.schur
        for matrix in self._matrices(A):
            (S, U), (T, V) = schur(matrix, output="complex")[:2], schur(matrix.T, output="complex")[:2]
            found.append((S, T, U.sum(axis=0), V.sum(axis=0)))
        return found

    def _sylvester(self, one: Any, two: Any) -> float:
        """Solve X = lambda A X A'^T + 1 1' in the bases in which both matrices are triangular."""
        S, _, u, _ = one
        _, T, _, v = two
        if not len(S) or not len(T):
            return 0.0
        return walks.stein(*map(np.ascontiguousarray, (S, T)), (u, v.conj()), (u.conj(), v), float(self.decay))

    def _labelled(self, A: Graphs) -> list[Any]:
        """Return for every graph the labels of its nodes, and its matrix for each label of edges."""
        found, weights, arcs, sources = [], self._weights(A), A.arc_offsets, A.sources
        for i, n in enumerate(A.sizes):
            part = slice(arcs[i], arcs[i + 1])
            kinds = A.edge_labels[part] if self.edge_labels else np.zeros(arcs[i + 1] - arcs[i], dtype=int)
            matrices = {}
            for kind in np.unique(kinds):
                name = None if kind < 0 else ("label", A.edge_vocabulary[kind]) if self.edge_labels else "any"
                some = kinds == kind
                matrices[name] = np.zeros((n, n))
                ends = sources[part][some], A.targets[part][some]
                np.add.at(matrices[name], ends, weights[part][some])
            found.append((A.node_labels(i) if self.labels else (None,) * int(n), matrices))
        return found

    def _direct(self, one: Any, two: Any) -> float:
        """Form the product graph, and solve or take the exponential."""
        (names, left), (others, right) = one, two
        pairs = [(i, j) for i, a in enumerate(names) for j, b in enumerate(others) if a == b]
        if not pairs:
            return 0.0
        i, j = np.array(pairs).T
        W = np.zeros((len(pairs), len(pairs)))
        for name in left.keys() & right.keys():
            W += left[name][np.ix_(i, i)] * right[name][np.ix_(j, j)]
        if self.kind == "exponential":
            return float(scipy.linalg.expm(float(self.decay) * W).sum())
        return float(np.linalg.solve(np.eye(len(W)) - float(self.decay) * W, np.ones(len(W))).sum())
