"""Kernels that sum over subsets of the coordinates: ANOVA and all-subsets.

Symbols: u_i = k_i(x_i, z_i) the kernel on coordinate i (x_i z_i by default), e_s the sum over all subsets of
s coordinates of the products of their u_i (the elementary symmetric polynomial), P the degree.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.constraints import InstanceOf, Integer, Optional
from mercer.domains import Samples, Vectors
from mercer.domains.samples import packed_pair
from mercer.errors import CapabilityError, ParameterError
from mercer.kernels.abilities import Differentiated, DifferentiatedInInputs, Featured
from mercer.kernels.kernel import Kernel, mirror, pullback
from mercer.kernels.monomials import require_few
from mercer.kernels.vectors.pointwise import dense
from mercer.runtime.compiled import compiled
from mercer.spec import derived

__all__ = ["AllSubsets", "Anova"]
__public__ = __all__

_CHUNK = 2**22  # numbers kept at once while derivatives are computed
_WIDEST = 20  # columns whose 2^d subsets are written out as features


class Anova(Kernel, Featured, Differentiated, DifferentiatedInInputs):
    r"""ANOVA kernel: interactions of exactly P different coordinates.

    .. math:: k(x, x') = \sum_{1 \le i_1 < \dots < i_P \le d} \prod_{p=1}^P k_0(x_{i_p}, x'_{i_p})

    Seed: [HSS] Eq. (38); [ST] "Graph kernels", the recursion e_s^m = u_m e_{s-1}^{m-1} + e_s^{m-1}, with
    ``degree`` = P and s, m the degree and the number of coordinates so far.

    Parameters
    ----------
    degree : int
        P >= 1. With P = 1 the sum, with P = d the product of the kernels on coordinates. Beyond d there is no
        subset and the kernel is zero. Not a free parameter.
    base : Kernel, optional
        k_0, a kernel on vectors that is applied to one column at a time, for example Gaussian(1.0); None is
        the product x_i x'_i. Its free parameters are those of this kernel.

    Notes
    -----
    Domain Vectors, dense or sparse. Features for the product: C(d, P) products of different columns.
    Differentiable in base and inputs where the base is. Positive definite if the base is: sums and products
    of kernels are kernels. Not declared strict or universal: for P < d, functions of fewer coordinates than d
    are summed. Bounded and stationary as the base is. Cost O(mnPd), and the base once per coordinate.

    Examples
    --------
    >>> Anova(2)([[1.0, 2.0, 3.0]])
    array([[49.]])
    >>> 1 * 4 + 1 * 9 + 4 * 9
    49
    """

    formula = r"\sum_{i_1 < \dots < i_P} \prod_p k_0(x_{i_p}, x'_{i_p})"
    cost = "O(mnPd) by recursion"
    domain = Vectors
    constraints = {"degree": Integer(1), "base": Optional(InstanceOf(Kernel))}

    def __init__(self, degree: int, base: Kernel | None = None) -> None:
        self.degree = degree
        self.base = base

    def check(self) -> Any:
        """Raise ParameterError unless the base is a kernel on vectors."""
        super().check()
        if self.base is not None and self.base.domain is not Vectors:
            raise ParameterError(
                f"Anova was given base={self.base!r}, a kernel on {self.base.domain.__name__}; a kernel on "
                "vectors is needed, which compares one column at a time. Use for example Gaussian(1.0)."
            )
        return self

    @derived
    def order(self) -> int | None:
        """Positive definite if the base is; of degree 1 as the base."""
        if self.base is None:
            return 0
        return self.base.order if self.base.order == 0 or self.degree == 1 else None

    @derived
    def stationary(self) -> bool:
        """Whether the base is."""
        return self.base is not None and self.base.stationary

    @derived
    def bounded(self) -> bool:
        """Whether the base is."""
        return self.base is not None and self.base.bounded

    @property
    def capabilities(self) -> frozenset[str]:
        """Derivatives as the base has them; features for the product alone."""
        found = super().capabilities
        return found if self.base is None else found & self.base.capabilities - {"features", "frequencies"}

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Refuse a base that learns from data: one base serves columns of different spread."""
        assert isinstance(S, Vectors)
        if self.base is not None and self.base.learn(S[:1].columns((0,))) is not self.base:
            raise ParameterError(
                f"{self!r} has a base that is learned from data; Anova needs one that is given, since it "
                "serves all columns. Scale the columns alike and give the base numbers, for example "
                "Gaussian(1.0)."
            )
        return self

    def _prepare(self, A: Samples) -> Samples:
        """Let the base check the columns, as some accept only certain numbers."""
        if self.base is not None:
            for column in _columns(A):
                self.base.prepare(column)
        return A

    def block(self, A: Samples, B: Samples) -> Floats:
        """Return e_P for all pairs by the recursion over coordinates."""
        A, B = packed_pair(A, B, self._ready)
        assert isinstance(A, Vectors) and isinstance(B, Vectors)
        dtype = np.result_type(A.X.dtype, B.X.dtype)
        if self.base is None:
            out = np.empty((len(A), len(B)), dtype)
            left, right = operands(A, B, dtype)
            if isinstance(left, tuple):
                _anova_sparse(left, right, A.width, int(self.degree), out)
            else:
                _anova_dense(left, right, int(self.degree), out)
            return mirror(out) if B is A else out
        sums = np.zeros((int(self.degree) + 1, len(A), len(B)), dtype)
        sums[0] = 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            for u in self._coordinates(A, B):
                _step(sums, u)
        return mirror(sums[-1]) if B is A else sums[-1]

    def _coordinates(self, A: Samples, B: Samples) -> Iterator[Floats]:
        """Yield u_i for all pairs, coordinate after coordinate."""
        if self.base is None:
            X, Z = dense(A), dense(B)
            for i in range(X.shape[1]):
                yield np.multiply.outer(X[:, i], Z[:, i])
            return
        for a, b in _column_pairs(A, B):
            yield self.base.block(a, b)

    def _diag(self, A: Samples) -> Floats:
        """Return e_P of the self-similarities of the coordinates."""
        sums = np.zeros((int(self.degree) + 1, len(A)))
        sums[0] = 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            for column in _columns(A):
                _step(sums, dense(column)[:, 0] ** 2 if self.base is None else self.base.diag(column))
        return sums[-1]

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the products of P different columns."""
        assert isinstance(A, Vectors)
        if self.base is not None:
            raise self._lacks("a finite feature map")
        count = self.feature_count(A) or 0
        require_few(self, count)
        X = A.dense()
        return _subset_products(X, int(self.degree)), None

    def _feature_count(self, A: Samples) -> int | None:
        """Return C(d, P) for the product; None for another base."""
        assert isinstance(A, Vectors)
        return math.comb(A.width, int(self.degree)) if self.base is None else None

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the derivatives in the base's parameters by the chain rule."""
        if self.base is None:
            return np.empty(0)
        total: Any = 0.0
        for rows, factors in self._weights(A, B, W):
            for (a, b), factor in zip(_column_pairs(A[rows], B), factors, strict=True):
                total = total + pullback(self.base, a, b, factor)
        return np.asarray(total, dtype=float)

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_j W_ij dk(a_i, b_j)/da_i."""
        assert isinstance(A, Vectors)
        out, Z = np.empty((len(A), A.width)), dense(B)
        for rows, factors in self._weights(A, B, W):
            for i, ((a, b), factor) in enumerate(zip(_column_pairs(A[rows], B), factors, strict=True)):
                own = factor @ Z[:, i] if self.base is None else self.base.pullback_inputs(a, b, factor)[:, 0]
                out[rows, i] = own
        return out

    def _weights(self, A: Samples, B: Samples, W: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield, for some rows at a time, W dk/du_i for all coordinates i: the recursion run backwards.

        dk/du_i is the sum over subsets without i. Running back through the kept sums needs no division and no
        subtraction, so nothing cancels.
        """
        assert isinstance(A, Vectors)
        P, d = int(self.degree), A.width
        step = max(1, _CHUNK // max(1, d * (P + 2) * len(B)))
        for start in range(0, len(A), step):
            rows = slice(start, min(start + step, len(A)))
            u = np.array([np.asarray(v, dtype=float) for v in self._coordinates(A[rows], B)])
            kept = np.zeros((d + 1, P + 1, *u.shape[1:]))
            kept[0, 0] = 1.0
            for i in range(d):
                kept[i + 1] = kept[i]
                _step(kept[i + 1], u[i])
            adjoint = np.zeros_like(kept[0])
            adjoint[P] = W[rows]
            factors = np.empty_like(u)
            for i in range(d - 1, -1, -1):
                factors[i] = np.sum(adjoint[1:] * kept[i, :-1], axis=0)
                adjoint[:-1] += u[i] * adjoint[1:]
            yield rows, factors


class AllSubsets(Kernel, Featured, Differentiated, DifferentiatedInInputs):
    r"""All-subsets kernel: interactions of any number of different coordinates.

    .. math:: k(x, x') = \prod_{i=1}^d (1 + x_i x'_i)
        = \sum_{A \subseteq \{1, \dots, d\}} \prod_{i \in A} x_i x'_i

    Seed: [ST] "Subcomponents kernel".

    Notes
    -----
    Domain Vectors, dense or sparse. Features: the 2^d products of columns, for d <= 20. No parameters;
    differentiable in the inputs. Positive definite, since it is the dot product of these features; not
    strictly so and not universal, since they are finitely many; unbounded, and large for many columns: scale
    them. It is the sum of the ANOVA kernels of all degrees and the constant 1. Cost O(mnd) multiplications.

    Examples
    --------
    >>> AllSubsets()([[1.0, 2.0]])
    array([[10.]])
    """

    formula = r"\prod_i (1 + x_i x'_i)"
    cost = "O(mnd) multiplications"
    domain = Vectors
    continuous = True
    injective = True
    nonzero = True

    def block(self, A: Samples, B: Samples) -> Floats:
        """Return the products over coordinates."""
        A, B = packed_pair(A, B, self._ready)
        assert isinstance(A, Vectors) and isinstance(B, Vectors)
        dtype = np.result_type(A.X.dtype, B.X.dtype)
        out = np.ones((len(A), len(B)), dtype)
        left, right = operands(A, B, dtype)
        if isinstance(left, tuple):
            _subsets_sparse(left, right, A.width, out)
        else:
            _subsets_dense(left, right, out)
        return mirror(out) if B is A else out

    def _diag(self, A: Samples) -> Floats:
        """Return the products of 1 + x_i^2."""
        assert isinstance(A, Vectors)
        with np.errstate(over="ignore"):
            if isinstance(A.X, np.ndarray):
                return np.prod(1.0 + np.square(A.X, dtype=float), axis=1)
            factors = 1.0 + np.square(A.X.data, dtype=float)
            return np.array([np.prod(row) for row in np.split(factors, A.X.indptr[1:-1])])

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the products of the columns of every subset; the empty product is 1."""
        assert isinstance(A, Vectors)
        if A.width > _WIDEST:
            raise CapabilityError(
                f"AllSubsets() has 2^{A.width} features on {A.width} columns; they are written out up to "
                f"{_WIDEST} columns. Use the kernel itself (gram=Dense() or Tiles()), or Anova of a low "
                "degree."
            )
        F = np.ones((len(A), 1), A.X.dtype)
        X = A.dense()
        with np.errstate(over="ignore"):
            for i in range(A.width):
                F = np.hstack([F, F * X[:, i : i + 1]])
        return F, None

    def _feature_count(self, A: Samples) -> int | None:
        """Return 2^d."""
        assert isinstance(A, Vectors)
        return 2**A.width

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return nothing: there is no free parameter."""
        return np.empty(0)

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_j W_ij b_jk times the product over all coordinates but k, without division."""
        X, Z = dense(A), dense(B)
        out = np.empty_like(X)
        for i, x in enumerate(X):
            factors = 1.0 + x * Z
            before, after = np.ones_like(factors), np.ones_like(factors)
            np.cumprod(factors[:, :-1], axis=1, out=before[:, 1:])
            np.cumprod(factors[:, :0:-1], axis=1, out=after[:, -2::-1])
            out[i] = W[i] @ (Z * before * after)
        return out


def _step(sums: Floats, u: Floats) -> None:
    """Take one more coordinate into the sums e_0, ..., e_P, in place: e_s += u e_{s-1}, the highest first."""
    for s in range(len(sums) - 1, 0, -1):
        sums[s] += u * sums[s - 1]


def _columns(A: Samples) -> Iterator[Vectors]:
    assert isinstance(A, Vectors)
    return (A.columns((i,)) for i in range(A.width))


def _column_pairs(A: Samples, B: Samples) -> Iterator[tuple[Vectors, Vectors]]:
    """Yield both sides' columns; the same object twice where the sides are the same."""
    if B is A:
        return ((column, column) for column in _columns(A))
    return zip(_columns(A), _columns(B), strict=True)


def _subset_products(X: Floats, degree: int) -> Floats:
    """Return the products of `degree` different columns, in lexicographic order."""
    n, d = X.shape
    if degree > d:
        return np.empty((n, 0), X.dtype)
    level, starts = X, np.arange(d)  # starts: the first product whose smallest column is not before each
    for _ in range(degree - 1):
        # column j times all products of the columns after it
        parts = [X[:, j : j + 1] * level[:, starts[j + 1] :] for j in range(d - 1)]
        level = np.hstack(parts)
        ends = np.cumsum([part.shape[1] for part in parts])
        starts = np.concatenate([[0], ends])
    return level


def operands(A: Vectors, B: Vectors, dtype: Any) -> tuple[Any, Any]:
    """Return both sides for compiled loops: dense arrays, or triples of sparse rows if one side is sparse."""
    if not (A.is_sparse or B.is_sparse):
        return np.ascontiguousarray(A.X, dtype=dtype), np.ascontiguousarray(B.X, dtype=dtype)
    left, right = (sp.csr_array(V.X, dtype=dtype) for V in (A, B))
    return _parts(left), _parts(right)


def _parts(X: Any) -> tuple[Floats, Any, Any]:
    return X.data, X.indices.astype(np.intp, copy=False), X.indptr.astype(np.intp, copy=False)


@compiled
def _anova_dense(X, Z, degree, out):
    """Run the recursion for a row of the tile at once: sums[s, j] is e_s of the pair (i, j)."""
    across = Z.T.copy()
    sums = np.empty((degree + 1, Z.shape[0]), out.dtype)
    for i in range(X.shape[0]):
        sums[:] = 0
        sums[0, :] = 1
        for k in range(X.shape[1]):
            x, z = X[i, k], across[k]
            for s in range(min(degree, k + 1), 0, -1):
                upper, lower = sums[s], sums[s - 1]
                for j in range(z.size):
                    upper[j] += x * z[j] * lower[j]
        out[i] = sums[degree]


@compiled
def _anova_sparse(left, right, width, degree, out):
    """Run the recursion over the stored entries of the right row; where either is zero nothing changes."""
    x_values, x_columns, x_starts = left
    z_values, z_columns, z_starts = right
    spread = np.zeros(width, out.dtype)
    sums = np.empty(degree + 1, out.dtype)
    for i in range(out.shape[0]):
        for e in range(x_starts[i], x_starts[i + 1]):
            spread[x_columns[e]] = x_values[e]
        for j in range(out.shape[1]):
            sums[:] = 0
            sums[0] = 1
            for e in range(z_starts[j], z_starts[j + 1]):
                u = spread[z_columns[e]] * z_values[e]
                if u != 0:
                    for s in range(degree, 0, -1):
                        sums[s] += u * sums[s - 1]
            out[i, j] = sums[degree]
        for e in range(x_starts[i], x_starts[i + 1]):
            spread[x_columns[e]] = 0


@compiled
def _subsets_dense(X, Z, out):
    one = out.dtype.type(1)
    across = Z.T.copy()
    for i in range(X.shape[0]):
        row = out[i]
        for k in range(X.shape[1]):
            x, z = X[i, k], across[k]
            for j in range(row.size):
                row[j] *= one + x * z[j]


@compiled
def _subsets_sparse(left, right, width, out):
    one = out.dtype.type(1)
    x_values, x_columns, x_starts = left
    z_values, z_columns, z_starts = right
    spread = np.zeros(width, out.dtype)
    for i in range(out.shape[0]):
        for e in range(x_starts[i], x_starts[i + 1]):
            spread[x_columns[e]] = x_values[e]
        for j in range(out.shape[1]):
            for e in range(z_starts[j], z_starts[j + 1]):
                out[i, j] *= one + spread[z_columns[e]] * z_values[e]
        for e in range(x_starts[i], x_starts[i + 1]):
            spread[x_columns[e]] = 0
