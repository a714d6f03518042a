r"""HSIC of sets of columns with targets, from K itself row by row, or from factors of low rank.

Symbols: K the Gram matrix of some columns and L that of the targets, (n, n); w_i weights and N their sum;
Omega_ij = w_i w_j - delta_ij w_i how often a pair counts; M the matrix, made of L alone, with HSIC = <K, M>; F and G
factors, K ~ F F^T and L ~ G G^T, G of weighted mean zero; l_i and k_i the squared lengths of their rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.budget import Resources
from mercer.domains import Samples, Vectors
from mercer.errors import ConvergenceWarning
from mercer.gram import Features, Gram, GramSpec
from mercer.gram.low_rank.factor import block
from mercer.kernels import Kernel
from mercer.kernels.kernel import feature_count
from mercer.kernels.vectors.pointwise import OneBase
from mercer.runtime.tiling import spans

__all__ = ["Centring", "FactorScores", "MatrixScores", "Scores", "dependence_matrix", "target_factor"]

HEIGHT = 256  # rows of K at a time
_EXACT = 512  # features of the targets up to which they are taken instead of an approximation


class Scores(Protocol):
    """HSIC of sets of columns with the targets."""

    X: Floats

    def of(self, columns: Indices) -> float:
        """Return the criterion of one set."""
        ...

    def changed(self, kept: Indices, candidates: Indices, sign: float) -> Floats:
        """Return the criterion of `kept` with each candidate added (sign 1) or taken away (-1), (c,)."""
        ...


class Centring:
    r"""Makes rows of M of rows of L, for the biased or the unbiased estimate, with weights.

    A sample of weight w is w copies; a copy is compared with the other copies, but not with itself, by the unbiased
    estimate: pairs count Omega_ij times.

    Parameters
    ----------
    sums : (n,) array
        L w.
    diagonal : (n,) array
        Diagonal of L.
    w : (n,) array
    estimate : {"biased", "unbiased"}

    Examples
    --------
    >>> L = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> Centring(L @ np.ones(2), np.ones(2), np.ones(2), "biased").rows(L, slice(0, 2))
    array([[ 0.125, -0.125],
           [-0.125,  0.125]])
    """

    def __init__(self, sums: Floats, diagonal: Floats, w: Floats, estimate: str) -> None:
        self.w, self.estimate, self.total = w, estimate, float(w.sum())
        if estimate == "biased":
            self.means = sums / self.total
            self.shift = float(w @ self.means) / self.total
        else:
            rows = sums - diagonal
            self.means = rows / (self.total - 2.0)
            self.shift = float(w @ rows) / ((self.total - 1.0) * (self.total - 2.0))

    def rows(self, L: Floats, rows: slice) -> Floats:
        """Return rows of M; those of L, (m, n), are overwritten."""
        w, total = self.w, self.total
        L -= self.means
        L -= (self.means[rows] - self.shift)[:, None]
        places = np.arange(rows.start, rows.stop)
        inner = L[places - rows.start, places]
        L *= w
        if self.estimate == "biased":
            L *= w[rows, None] / total**2
            return L
        L *= w[rows, None]
        L[places - rows.start, places] = inner * (w[rows] ** 2 - w[rows])
        L /= total * (total - 3.0)
        return L


def dependence_matrix(L: Floats, w: Floats, estimate: str) -> Floats:
    """Return M with HSIC = <K, M>, for the biased or the unbiased estimate, with weights, as a new array."""
    return Centring(L @ w, np.diagonal(L), w, estimate).rows(L.copy(), slice(0, len(L)))


def _sets(kept: Indices, candidates: Indices, sign: float) -> Iterator[Indices]:
    return (np.append(kept, j) if sign > 0 else kept[kept != j] for j in candidates)


class MatrixScores:
    """The criterion from K itself, of which some rows are in memory at a time.

    Parameters
    ----------
    X : (n, d) array
    kernel_for : callable
        The kernel for a number of columns.
    rows_of : callable
        ``rows_of(rows)`` returns rows of M, (m, n).
    height : int
        Rows at a time.
    """

    def __init__(
        self,
        X: Floats,
        kernel_for: Callable[[int], Kernel],
        rows_of: Callable[[slice], Floats],
        height: int = HEIGHT,
    ) -> None:
        self.X, self.kernel_for, self.rows_of, self.height = X, kernel_for, rows_of, height

    @classmethod
    def in_tiles(
        cls, X: Floats, kernel_for: Callable[[int], Kernel], L: Any, w: Floats, estimate: str, memory: int
    ) -> MatrixScores:
        """Return the scores that compute rows of L, a Gram, whenever they are needed."""
        centre = Centring(L @ w, L.diag(), w, estimate)
        n = len(X)

        def rows_of(rows: slice) -> Floats:
            found = np.asarray(L.rows(np.arange(rows.start, rows.stop)), dtype=float)
            return centre.rows(np.array(found), rows)

        return cls(X, kernel_for, rows_of, tile_height(n, memory))

    def of(self, columns: Indices) -> float:
        """Return the criterion of one set."""
        return float(self._each([columns])[0])

    def changed(self, kept: Indices, candidates: Indices, sign: float) -> Floats:
        """Return the criterion of `kept` with each candidate added (sign 1) or taken away (-1), (c,)."""
        size = len(kept) + int(sign)
        if size == 0:
            return np.zeros(len(candidates))
        kernel = self.kernel_for(size)
        base, length = kernel.base() if isinstance(kernel, OneBase) else (None, 1.0)
        if base is None or base.scale is not None or base.period is not None:
            return self._each(list(_sets(kept, candidates, sign)))
        out = np.zeros(len(candidates))
        for rows in spans(len(self.X), self.height):
            M = self.rows_of(rows)
            whole_base = sum((_base(base.kind, self.X[:, j], rows) for j in kept), np.zeros_like(M))
            for place, j in enumerate(candidates):
                tile = whole_base + sign * _base(base.kind, self.X[:, j], rows)
                if base.kind != "dot":  # what is left of rounding after a column is taken away
                    np.minimum(tile, 0.0, out=tile) if base.kind == "distance" else np.maximum(tile, 0.0, out=tile)
                kernel.profile(tile, 1.0 / length)  # pyright: ignore[reportAttributeAccessIssue]
                out[place] += float(np.vdot(tile, M))
        return out

    def _each(self, sets: list[Indices]) -> Floats:
        """Return the criterion of sets of columns; rows of M are made once for all of them."""
        used = []
        for columns in sets:
            kernel = self.kernel_for(len(columns))
            S = Vectors.pack(np.ascontiguousarray(self.X[:, columns])) if len(columns) else None
            used.append((kernel, None if S is None else kernel.prepare(S)))
        out = np.zeros(len(sets))
        for rows in spans(len(self.X), self.height):
            M = self.rows_of(rows)
            for place, (kernel, S) in enumerate(used):
                if S is not None:
                    out[place] += float(np.vdot(block(kernel, S.take(rows), S), M))
        return out


class FactorScores:
    r"""The criterion from factors of low rank: nothing of the size n x n is formed.

    With G of weighted mean zero the sums of rows of G G^T are zero, so that for V = diag(w) G

    .. math:: N^2 \mathrm{HSIC}_b = \|F^\top V\|_F^2, \qquad N (N - 3) \mathrm{HSIC}_u = \|F^\top V\|_F^2
        + c \|F^\top w\|^2 + \tfrac{2}{N - 2} w^\top F F^\top (w \circ l)
        - \sum_i w_i k_i \big(\tfrac{N}{N - 2} l_i + c\big), \qquad c = \frac{- w^\top l}{(N - 1)(N - 2)}

    Parameters
    ----------
    X : (n, d) array
    kernel_for : callable
        The kernel for a number of columns.
    spec : GramSpec
        A Gram of low rank; built for each set of columns.
    targets : (n, s) array
        A factor of L.
    w : (n,) array
    estimate : {"biased", "unbiased"}
    resources : Resources, optional

    Attributes
    ----------
    first_warning : str or None
        What the first factor that fell short of its tolerance said.

    Examples
    --------
    >>> from mercer.gram import Nystrom
    >>> from mercer.kernels import Linear
    >>> X = np.array([[1.0, 1.0], [2.0, 0.0], [3.0, 1.0]])
    >>> scores = FactorScores(X, lambda q: Linear(), Nystrom(2), X[:, :1], np.ones(3), "biased")
    >>> scores.changed(np.arange(0), np.array([0, 1]), 1.0).round(3)  # squared covariances
    array([0.444, 0.   ])
    """

    def __init__(
        self,
        X: Floats,
        kernel_for: Callable[[int], Kernel],
        spec: GramSpec,
        targets: Floats,
        w: Floats,
        estimate: str,
        resources: Resources | None = None,
    ) -> None:
        self.X, self.kernel_for, self.w, self.estimate = X, kernel_for, w, estimate
        self.resources = Resources() if resources is None else resources
        unseeded = getattr(spec, "random_state", 0) is None  # one draw for all sets, or chance would choose among them
        self.spec = spec.replace(random_state=int(np.random.default_rng().integers(2**31))) if unseeded else spec
        G = targets - (w @ targets) / w.sum()
        self.lengths = np.einsum("ij,ij->i", G, G)
        self.moments = np.column_stack([w[:, None] * G, w, w * self.lengths])
        self.first_warning: str | None = None  # the first warning of a factor; one for each set would be a flood

    def of(self, columns: Indices) -> float:
        """Return the criterion of one set."""
        if not len(columns):
            return 0.0
        S = Vectors.pack(np.ascontiguousarray(self.X[:, columns]))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            gram: Any = self.spec.build(self.kernel_for(len(columns)), S, self.resources)
        self.first_warning = self.first_warning or next((str(one.message) for one in caught), None)
        total = float(self.w.sum())
        found = _moment(gram, self.moments)
        square = float(np.sum(found[:, :-2] ** 2))
        if self.estimate == "biased":
            return square / total**2
        sums, lifted, own = found[:, -2], found[:, -1], self.lengths
        c = -float(self.w @ own) / ((total - 1.0) * (total - 2.0))
        square += c * float(sums @ sums) + 2.0 / (total - 2.0) * float(sums @ lifted)
        square -= float((self.w * gram.diag()) @ (total / (total - 2.0) * own + c))
        return square / (total * (total - 3.0))

    def changed(self, kept: Indices, candidates: Indices, sign: float) -> Floats:
        """Return the criterion of `kept` with each candidate added (sign 1) or taken away (-1), (c,)."""
        return np.array([self.of(s) for s in _sets(kept, candidates, sign)])


def target_factor(spec: GramSpec, kernel: Kernel, targets: Samples, resources: Resources) -> Floats:
    """Return a factor of the Gram matrix of targets, (n, s).

    A kernel with few features has them taken as they are: landmarks might leave out a rare label, and random features
    exist of few kernels of labels.
    """
    count = feature_count(kernel, targets)
    exact = count is not None and count <= _EXACT
    gram: Any = (Features() if exact else spec).build(kernel, targets, resources)
    return np.asarray(gram.factor(), dtype=float)


def tile_height(n: int, memory: int) -> int:
    """Return how many rows are in memory at a time: of K, of its base, of one column's part and of M."""
    return int(np.clip(memory // (32 * max(n, 1)), 1, HEIGHT))


def _moment(gram: Gram, V: Floats) -> Floats:
    """Return F^T V."""
    streamed = getattr(gram, "moment", None)
    return streamed(V) if streamed is not None else np.asarray(gram.matrix.T @ V)  # pyright: ignore[reportAttributeAccessIssue]


def _base(kind: str, x: Floats, rows: slice) -> Floats:
    """Return what one column adds to rows of the base of a kernel, (m, n)."""
    if kind == "dot":
        return np.outer(x[rows], x)
    gap = x[rows, None] - x
    if kind != "distance":
        return np.abs(gap, out=gap)
    gap *= gap
    gap *= -0.5
    return gap
