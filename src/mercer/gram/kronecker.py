r"""Kronecker: the Gram matrix of pairs through the small matrices of their objects.

Symbols: q_1 and q_2 distinct left and right objects in n pairs; K_1, K_2 their matrices; M (q_1, q_2) the table with
v_i at the place of pair i. The product K v consists of entries of K_1 M K_2^T.
"""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any

import numpy as np

from mercer.arrays import Floats, Index, Indices
from mercer.budget import UNLIMITED, Memory, Plan, Resources
from mercer.domains import Pairs, Samples
from mercer.domains.samples import packed
from mercer.errors import CapabilityError, ParameterError
from mercer.gram.gram import Cross, Gram, GramSpec
from mercer.kernels.kernel import Kernel, pair_terms
from mercer.kernels.pair_forms import Members, PairMatrix, member_bytes
from mercer.numerics.eigen import eigh_in_place
from mercer.numerics.kronecker_products import PairIndex
from mercer.runtime.tiling import in_background, run_tasks, spans

__all__ = ["Kronecker", "KroneckerBasis"]
__public__ = ["Kronecker"]

_ENTRIES = 2**20  # of the matrix, that are written at once


class Kronecker(GramSpec):
    r"""The Gram matrix of pairs, held as two small ones: all pairs of q objects take q^2 numbers instead of q^4.

    .. math:: (K_1 \otimes K_2) \,\mathrm{vec}(M) = \mathrm{vec}(K_1 M K_2^\top)

    Seed: [KIKS] Eq. (22) and Section 6.1.1, the matrix that "is not realistic to store".

    Notes
    -----
    It is exact. For kernels on pairs that are sums of products of a function of the left and one of the right objects:
    ``k1.tensor(k2)``, ``k1.direct_sum(k2)``, `PairProduct`, `PairSum`, multiples and sums of these. Objects that occur
    in several pairs are compared once; of vectors, strings, texts, nodes and tables equal ones are found.

    Offers products and rows. A product takes n (q_1 + q_2) operations pair by pair, or two matrix products if a good
    part of all pairs is present; `mercer.numerics.kronecker_products` has the rule. Memory q_1^2 + q_2^2 numbers, and
    q_1 q_2 for each column of a product. If every left object is paired with every right one, in any order, eigenvalues
    and eigenvectors are offered as well, by two eigendecompositions: those of K_1 (x) K_2 are all products, those of
    the Kronecker sum all sums of the eigenvalues of K_1 and K_2. With them the solver `Spectral` finds ridge regression
    on all pairs, and its left-out predictions, in O(q_1^3 + q_2^3 + n (q_1 + q_2)).

    Fitted functions are each an `Expansion`, evaluated in the same way whatever the Gram was.

    Examples
    --------
    >>> from mercer.domains import Pairs, Vectors
    >>> from mercer.kernels import Gaussian, Linear
    >>> kernel = Gaussian(1.0).tensor(Linear())
    >>> left, right = Vectors.pack([[0.0], [1.0]]), Vectors.pack([[1.0], [2.0], [3.0]])
    >>> K = Kronecker().build(kernel, Pairs.grid(left, right))
    >>> K
    <GridGram Gram of Gaussian(1.0).tensor(Linear()) on 6 samples, 2 x 3 objects>
    >>> np.allclose(K.to_dense(), np.kron(Gaussian(1.0)(left), Linear()(right)))
    True
    """

    exact = True
    structured = True

    def plan(self, kernel: Kernel, n: int, width: int = 1, memory: Memory = None) -> Plan:
        """Return the buffers of all pairs of equally many objects, q_1 = q_2; `build` knows how many there are."""
        buffers = {"matrices of the objects": 16 * n, **_tables(n, n)}
        return Plan(f"{kernel!r} on {n} pairs", buffers, _OPTIONS)

    def build(self, kernel: Kernel, samples: Samples, resources: Resources = UNLIMITED) -> KroneckerGram | GridGram:
        """Compute the matrices of the objects."""
        samples = packed(samples, kernel.pack)
        self.check()
        kernel.check()
        if pair_terms(kernel) is None or not isinstance(samples, Pairs):
            raise CapabilityError(
                f"Kronecker() was given {kernel!r}; it holds kernels on pairs that are sums of products of a function "
                "of the left and one of the right objects: PairProduct(k), PairSum(k), k1.tensor(k2), "
                "k1.direct_sum(k2), their sums and multiples. Normalise the kernels inside, as in "
                "PairProduct(k.normalized()), or use gram=Dense() or gram=Tiles()."
            )
        samples = kernel.prepare(samples)
        assert isinstance(samples, Pairs)
        members = Members.of(samples, kernel)
        q1, q2 = members.index.sizes
        plan = Plan(
            f"{kernel!r} on {len(samples)} pairs of {q1} and {q2} objects",
            {**member_bytes(kernel, members, members), **_tables(len(samples), q1 * q2)},
            _OPTIONS,
        )
        plan.require(resources.memory)
        matrix = PairMatrix(kernel, members, members, resources)
        kind = GridGram if members.index.is_grid and _common_factors(matrix) is not None else KroneckerGram
        return kind(kernel, samples, matrix, members.index, resources)


_OPTIONS = ("gram=Tiles()", "gram=Nystrom(1000)", "fewer objects")


def _tables(n: int, cells: int) -> dict[str, int]:
    """Return the buffers of products: n numbers, in tables of left and right objects, and their places."""
    return {"tables": 24 * cells + 24 * n, "places of the pairs": 32 * n}


class KroneckerGram(Gram):
    """A Gram matrix of pairs through the matrices of their objects, as an operator.

    Attributes
    ----------
    matrix : PairMatrix
        The small matrices.
    index : PairIndex
        The pairs, as places in them.
    """

    def __init__(
        self, kernel: Kernel, samples: Samples, matrix: PairMatrix, index: PairIndex, resources: Resources = UNLIMITED
    ) -> None:
        self.kernel, self.samples, self.resources = kernel, samples, resources
        self.matrix, self.index = matrix, index

    def __matmul__(self, V: Floats) -> Floats:
        """Return K @ V."""
        return self.matrix.times(V, self.index, self.index, self.resources)

    def diag(self) -> Floats:
        """Return the diagonal."""
        return self.matrix.diag(self.index.index)

    def rows(self, index: Indices, columns: Index = slice(None), out: Floats | None = None) -> Floats:
        """Return K[index][:, columns]."""
        return self.matrix.entries(self.index.index[index], self.index.index[columns], out)

    def update(self, index: Indices, V: Floats, out: Floats, rows: Indices | None = None) -> None:
        """Add K[:, index] @ V to `out`."""
        target = self.index if rows is None else self.index.take(rows)
        out += self.matrix.times(V, self.index.take(np.asarray(index)), target, self.resources)

    @property
    def entry_cost(self) -> float:
        """Two operations for each product of factors; they are stored."""
        return 2.0 * len(self.matrix.parts)

    def take(self, index: Index) -> KroneckerGram:
        """Return the Gram of some pairs; the matrices are shared."""
        chosen = np.arange(self.shape[0])[index]
        return KroneckerGram(
            self.kernel, self.samples.take(chosen), self.matrix, self.index.take(chosen), self.resources
        )

    def cross(self, T: Samples) -> Cross:
        """Return the operator between new pairs and these."""
        T = packed(T, self.kernel.pack)
        return KroneckerCross(self, T)

    def to_dense(self) -> Floats:
        """Return K as a new (n, n) array, if the memory budget allows it."""
        n = self.shape[0]
        Plan(f"all of {self!r}", {"Gram matrix": 8 * n * n}, ("solver=ConjugateGradient()",)).require(
            self.resources.memory
        )
        return _written(self.matrix, self.index.index, self.index.index, self.resources)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self.index.sizes[0]} x {self.index.sizes[1]} objects>"


class KroneckerCross(Cross):
    """The matrix between new pairs and training pairs, through the matrices of their objects."""

    def __init__(self, gram: KroneckerGram, T: Samples) -> None:
        kernel, resources = gram.kernel, gram.resources
        T = kernel.prepare(T)
        assert isinstance(T, Pairs)
        target, source = Members.of(T, kernel), gram.matrix.source
        self.kernel, self.resources, self.shape = kernel, resources, (len(T), len(gram.index))
        Plan(f"{kernel!r} on {len(T)} new pairs", member_bytes(kernel, target, source)).require(resources.memory)
        self.matrix = PairMatrix(kernel, target, source, resources)
        self.target, self.source = target.index, gram.index

    def __matmul__(self, V: Floats) -> Floats:
        """Return the product with V of shape (n,) or (n, k)."""
        return self.matrix.times(V, self.source, self.target, self.resources)

    def to_dense(self) -> Floats:
        """Return the matrix as a new array, if the memory budget allows it."""
        m, n = self.shape
        Plan(f"{self.kernel!r} on {m} x {n} pairs", {"matrix": 8 * m * n}).require(self.resources.memory)
        return _written(self.matrix, self.target.index, self.source.index, self.resources)


def _written(matrix: PairMatrix, target: Indices, source: Indices, resources: Resources) -> Floats:
    """Return all entries between two sets of pairs."""
    out = np.empty((len(target), len(source)))

    def some(rows: slice) -> None:
        matrix.entries(target[rows], source, out[rows])

    pieces = spans(len(target), max(_ENTRIES // max(len(source), 1), 1))
    run_tasks(pieces, some, n_threads=resources.n_threads, monitor=resources.monitor)
    return out


# all pairs --------------------------------------------------------------------------------------------------


class GridGram(KroneckerGram):
    """A Gram matrix of all pairs of some left and right objects: its eigenvectors are products of small ones."""

    @cached_property
    def _decomposed(self) -> tuple[Floats, KroneckerBasis]:
        factors = _common_factors(self.matrix)
        assert factors is not None
        A, B = factors
        q1, q2 = self.index.sizes
        work = {"eigenvectors": 24 * (q1 * q1 + (0 if B is A else q2 * q2)), "tables": 48 * q1 * q2}
        Plan(f"eigenvectors of {self!r}", work, ("solver=ConjugateGradient()",)).require(self.resources.memory)
        exact = self.kernel.order == 0
        left = _eigh(A, q1, exact)
        right = left if B is A and q1 == q2 else _eigh(B, q2, exact)
        values = np.zeros((q1, q2))
        for part in self.matrix.parts:  # of a symmetric kernel the two halves of a term are one
            values += part.weight * np.multiply.outer(
                left[0] if _is_matrix(part.left) else np.ones(q1), right[0] if _is_matrix(part.right) else np.ones(q2)
            )
        symmetric = any(part.swapped for part in self.matrix.parts)
        if symmetric:  # the part that changes its sign with the order is not in the space
            values = np.triu(0.5 * (values + values.T))
        order = np.argsort(values, axis=None, kind="stable")
        basis = KroneckerBasis(left[1], right[1], self.index.flat, order, symmetric)
        return values.ravel()[order], basis

    def eigh(self) -> tuple[Floats, KroneckerBasis]:
        """Return all eigenvalues, ascending, and the eigenvectors as an operator that is never written out."""
        return self._decomposed

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_decomposed"}


class KroneckerBasis:
    r"""The eigenvectors of a Kronecker product or sum, as an orthogonal matrix that is never written out.

    .. math:: Q = (U \otimes V)\,\Pi, \qquad Q c = \mathrm{vec}(U C V^\top)

    Parameters
    ----------
    left, right : (q1, q1) and (q2, q2) arrays
        U and V, eigenvectors as rows.
    places : (n,) array of int
        The place of every pair in the table of all pairs.
    order : (n,) array of int
        The columns of Q, as places in the table.
    symmetric : bool
        Whether u_i (x) u_j and u_j (x) u_i are exchanged for their sum and their difference.

    Notes
    -----
    ``Q @ c`` and ``Q.T @ v`` take (n,) or (n, k) and cost O(n (q_1 + q_2)).

    Examples
    --------
    >>> Q = KroneckerBasis(np.eye(2)[::-1], np.eye(1), np.arange(2), np.arange(2))
    >>> Q @ np.array([1.0, 2.0]), Q.T @ (Q @ np.array([1.0, 2.0]))
    (array([2., 1.]), array([1., 2.]))
    """

    __array_ufunc__ = None  # arrays leave products with it to it

    def __init__(self, left: Floats, right: Floats, places: Indices, order: Indices, symmetric: bool = False) -> None:
        self.left, self.right, self.places, self.order, self.symmetric = left, right, places, order, symmetric
        self.shape = len(places), len(places)
        self.transposed = False

    @property
    def T(self) -> KroneckerBasis:
        """The transpose, which is the inverse."""
        other = copy.copy(self)
        other.transposed = not self.transposed
        return other

    def __matmul__(self, X: Any) -> Floats:
        """Return Q X, or Q^T X of the transpose."""
        X = np.asarray(X, dtype=float)
        columns = X[:, None] if X.ndim == 1 else X
        out = np.empty_like(columns)
        take, put = (self.places, self.order) if self.transposed else (self.order, self.places)
        for k, column in enumerate(columns.T):
            table = np.empty(len(take))
            table[take] = column
            out[:, k] = self._turned(table.reshape(len(self.left), len(self.right))).ravel()[put]
        return out.reshape(X.shape)

    def _turned(self, table: Floats) -> Floats:
        if self.transposed:
            turned = _product(_product(self.left, table), self.right.T)
            return _reflected(turned) if self.symmetric else turned
        return _product(_product(self.left.T, _reflected(table) if self.symmetric else table), self.right)

    def __rmatmul__(self, X: Any) -> Floats:
        """Return X Q."""
        return (self.T @ np.asarray(X, dtype=float).T).T

    def __mul__(self, weights: Any) -> Floats:
        """Return the columns times weights, written out."""
        return np.asarray(self) * weights

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        n = self.shape[0]
        Plan(f"{n} eigenvectors", {"matrix": 16 * n * n}).require(None)
        return np.asarray(self @ np.eye(n), dtype=dtype)

    def squares(self, weights: Floats) -> Floats:
        """Return sum_j Q_ij^2 w_j, shape (n,): the diagonal of Q diag(w) Q^T."""
        if self.symmetric or self.transposed:
            raise CapabilityError(
                "the diagonal of a function of a symmetric Kronecker product was asked for, as closed forms of leaving "
                "out need it; it has no short form. Use a kernel with symmetric=False: on all pairs, and with "
                "symmetric targets, the fitted function is the same."
            )
        table = np.empty(len(self.order))
        table[self.order] = weights
        table = table.reshape(len(self.left), len(self.right))
        return _product(_product(np.square(self.left).T, table), np.square(self.right)).ravel()[self.places]


def _product(A: Floats, B: Floats) -> Floats:
    """Return a matrix product so that Ctrl-C is answered."""
    return in_background(np.matmul, A, B, work=2.0 * A.shape[0] * A.shape[1] * B.shape[1])


def _reflected(table: Floats) -> Floats:
    """Return sums above the diagonal and differences below it, over sqrt(2): a reflection, its own inverse."""
    upper, lower = np.triu(table, 1), np.tril(table, -1)
    root = np.sqrt(0.5)
    out = np.diag(np.diagonal(table)).astype(float)
    out += root * (upper + lower.T)
    out += root * (upper.T - lower)
    return out


def _is_matrix(factor: Any) -> bool:
    return factor is not None and factor.ndim == 2


def _common_factors(matrix: PairMatrix) -> tuple[Floats | None, Floats | None] | None:
    """Return the one matrix of each side (None of identities alone), or None if there are several, or ones."""
    sides: list[Any] = [None, None]
    swapped = [part.swapped for part in matrix.parts]
    if any(swapped) and (2 * sum(swapped) != len(swapped) or matrix.source.left is not matrix.source.right):
        return None
    for part in matrix.parts:
        for side, factor in enumerate((part.left, part.right)):
            if factor is None:
                return None
            if _is_matrix(factor):
                if sides[side] is not None and sides[side] is not factor:
                    return None
                sides[side] = factor
    return sides[0], sides[1]


def _eigh(A: Floats | None, size: int, exact: bool) -> tuple[Floats, Floats]:
    """Return eigenvalues, and eigenvectors as rows; those of the identity are the unit vectors."""
    if A is None:
        return np.ones(size), np.eye(size)
    if A.shape != (size, size):
        raise ParameterError(f"a matrix of shape {A.shape} was given for {size} objects; give a square one.")
    vectors = A.copy()
    values = eigh_in_place(vectors)
    return np.maximum(values, 0.0) if exact else values, vectors
