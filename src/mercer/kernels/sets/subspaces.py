"""Kernels between matrices and between the subspaces that sets of vectors span: principal angles, Binet-Cauchy.

Symbols: A, B matrices whose rows are the members of two sets; U, V orthonormal bases (as columns) of what they span;
theta_i the principal angles, cos theta_i the singular values of U^T V; C_q(M) the compound matrix of all minors of
order q of M; e_q(x) = sum of all products of q of the numbers x.

Compound matrices are never formed: tr C_q(M) = e_q(eigenvalues of M), and the sum of squares of C_q(M) is e_q of the
squares of the singular values.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats, Indices
from mercer.constraints import InstanceOf, Integer, OneOf, Optional
from mercer.domains import WHOLE, Samples, Vectors, Whole
from mercer.domains.sets import Sets
from mercer.errors import DomainError
from mercer.kernels.abilities import Featured
from mercer.kernels.comparison import Comparison, View
from mercer.kernels.kernel import Kernel, Tiled, grain_of, term_grain
from mercer.kernels.sets.mean_map import require_vectors
from mercer.numerics.operands import row_products
from mercer.numerics.ragged import Ragged
from mercer.runtime.tiling import spans, tile_side
from mercer.spec import derived

__all__ = ["BinetCauchy", "PrincipalAngles"]
__public__ = __all__

_MILLISECONDS = 20.0  # of a tile
_EPS = float(np.finfo(float).eps)


class PrincipalAngles(Tiled, Featured):
    r"""Principal-angle kernel: sets are similar if the subspaces that they span make small angles.

    .. math:: k(X, X') = \det(U^\top U')^2 = \prod_i \cos^2 \theta_i
        \qquad\text{or}\qquad \|U^\top U'\|_F^2 = \sum_i \cos^2 \theta_i

    with U an orthonormal basis of the span of X.

    Seed: [HSS] Section 2.2.5, "Kernels on Sets and Subspaces", and Section 3.3.3. The seed prints det U^T U', whose
    sign depends on the bases; the square depends on the subspaces alone.

    Parameters
    ----------
    dimension : int, optional
        Take the subspace of this dimension that is closest to the members (their leading singular vectors). By default,
        and where members span less, all that they span.
    kind : {"determinant", "projection"}, default "determinant"
        The product or the sum of the squared cosines.
    kernel : Kernel, optional
        Subspaces are spanned by the images of the members under this kernel. By default members are vectors, and span
        subspaces of their own space.

    Notes
    -----
    Domain Sets of vectors; with a kernel, of whatever it compares. Weights of members do not matter. Subspaces of
    different dimensions have determinant kernel 0, and projection kernel the sum over the cosines there are. The empty
    set spans {0}, of dimension 0: its determinant kernel with itself is 1, its projection kernel 0. Directions whose
    singular value is below rounding (max(m, d) eps of the largest; its root for a kernel) are not counted. Positive
    definite of order 0: by the theorem of Binet and Cauchy, det(U^T U') is the dot product of all minors of U and U',
    and the second form is that of U U^T and U' U'^T. Not strict, as sets with one span are alike, and not invariant to
    where the origin is: subtract a mean if lines through the origin are not meant. The determinant kernel is
    normalised. Features the projection matrices, d (d + 1) / 2 numbers, for "projection" without a kernel. Derivatives
    are not offered. Cost O(m d^2) for the basis of each set, then O(d q^2 + q^3) a pair; with a kernel its values for
    all pairs of members.

    Examples
    --------
    >>> k = PrincipalAngles()
    >>> k([[[1.0, 0.0]], [[3.0, 3.0]], [[0.0, 1.0], [1.0, 0.0]]]).round(12)  # lines at 45 degrees, and the plane
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0. ],
           [0. , 0. , 1. ]])
    >>> PrincipalAngles(kind="projection")([[[1.0, 0.0]]], [[[0.0, 1.0], [1.0, 0.0]]])
    array([[1.]])
    """

    domain = Sets
    formula = r"\det(U^\top U')^2"
    cost = "O(md^2) for the basis of a set, then O(dq^2 + q^3) a pair"
    constraints = {
        "dimension": Optional(Integer(1)),
        "kind": OneOf("determinant", "projection"),
        "kernel": Optional(InstanceOf(Kernel)),
    }

    def __init__(self, dimension: int | None = None, kind: str = "determinant", kernel: Kernel | None = None) -> None:
        self.dimension = dimension
        self.kind = kind
        self.kernel = kernel

    # data -------------------------------------------------------------------------------------------

    @derived
    def part(self) -> Hashable:
        """The sets; where members are not plain vectors, a label distinguishes how other terms of a sum read them."""
        if self.kernel is None or (tuple(self.kernel.parts()) == (WHOLE,) and self.kernel.domain is Vectors):
            return WHOLE
        return Whole(("sets", self.kernel.domain.__name__, tuple(self.kernel.parts())))

    def parts(self) -> Mapping[Hashable, Callable[[Any], Samples]]:
        """Return the sets."""
        return {self.part: self.pack}

    def pack(self, X: Any) -> Samples:
        """Turn collections of members into Sets."""
        S = Sets.pack(X) if self.kernel is None else Sets.pack(X, self.kernel.pack)
        if self.kernel is None:
            require_vectors(self, S)
        elif not isinstance(S.members, self.kernel.domain):
            raise DomainError(
                f"Sets of {type(S.members).__name__} were given to {self!r}, whose kernel compares "
                f"{self.kernel.domain.__name__}; members must be of that domain. Give the raw sets, or another kernel."
            )
        return S

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> PrincipalAngles:
        """Let the kernel of the members learn from them."""
        if self.kernel is None:
            return self
        assert isinstance(S, Sets)
        v = None if weight is None else S.spread(np.asarray(weight, dtype=float))
        learned = self.kernel.learn(S.members, None, v)
        return self if learned is self.kernel else self.replace(kernel=learned)

    @property
    def _key(self) -> str:
        return f"bases:{self.dimension}:{self.kernel!r}"

    def _prepare(self, A: Samples) -> Samples:
        """Find a basis of each span, once per collection."""
        if self._key in A.derived:
            return A
        assert isinstance(A, Sets)
        if self.kernel is not None:
            A = A.with_members(self.kernel.prepare(A.members))
            return A.with_derived(self._key, Ragged(self._coefficients(A), A.offsets))
        return A.with_derived(self._key, self._bases(A))

    def _bases(self, A: Sets) -> Floats:
        """Return bases (n, q, d) as rows, with zeros where a span has fewer dimensions."""
        found = [_leading(rows, self.dimension) for rows in _matrices(A)]
        return _padded(found, _width(A))

    def _coefficients(self, A: Sets) -> Floats:
        """Return (total, q): columns of set i are what its members contribute to a basis of their span."""
        assert self.kernel is not None
        found = []
        for i in range(len(A)):
            members = A.set(i)
            K = self.kernel.block(members, members) if len(members) else np.zeros((0, 0))
            values, vectors = np.linalg.eigh(0.5 * (K + K.T)) if len(K) else (np.zeros(0), K)
            kept = np.flatnonzero(values > np.sqrt(_EPS) * max(values.max(initial=0.0), 0.0))[::-1][: self.dimension]
            found.append(vectors[:, kept] / np.sqrt(values[kept]))
        q = max((C.shape[1] for C in found), default=0)
        return np.concatenate([np.pad(C, ((0, 0), (0, q - C.shape[1]))) for C in found])

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for tiles of some 20 milliseconds."""
        A, B = comparison.A, comparison.B
        if not isinstance(A, Sets) or not isinstance(B, Sets):
            return term_grain(self, comparison)
        q = float(max(A.sizes.max(initial=1), B.sizes.max(initial=1)))
        q = min(q, float(self.dimension or q), np.inf if self.kernel is not None else float(_width(A)))
        members = float(A.sizes.mean()) * float(B.sizes.mean()) if self.kernel is not None else q * q
        return max(1, int(np.sqrt(_MILLISECONDS * 1e6 / (1000.0 + 20.0 * members + q**3))))

    # numbers ----------------------------------------------------------------------------------------

    def tile(self, view: View) -> Floats:
        """Compute U^T U' of all pairs by one product, then determinants or sums of squares."""
        out = view.empty()
        np.copyto(out, self._angles(*self._products(view)))
        return out

    def _products(self, view: View) -> tuple[Floats, Indices, Indices]:
        """Return U^T U', (rows, columns, q, q), and the dimensions on both sides."""
        A, B = view.collections
        if self.kernel is None:
            U, V = (self.prepare(S).derived[self._key][s] for S, s in ((A, view.rows), (B, view.columns)))
            _require_width(U.shape[2], V.shape[2])
            return _blocks(U, V, view.on_diagonal), _dimensions(U), _dimensions(V)
        inner, sides = view.comparison.keep(("spans", id(self), view.path), partial(self._compared, A, B))
        (left, r), (right, c) = (side.piece(s) for side, s in zip(sides, (view.rows, view.columns), strict=True))
        G = np.zeros((left.shape[0], right.shape[0]))
        side = grain_of(self.kernel, inner) or tile_side(8)
        for i in spans(r.stop - r.start, side):
            for j in spans(c.stop - c.start, side):
                rows, columns = (slice(at.start + s.start, at.start + s.stop) for s, at in ((i, r), (j, c)))
                K = inner.at(rows, columns).value(self.kernel)
                G += left[:, i] @ (right[:, j] @ K.T).T
        n, m = view.shape
        p, q = (side.q for side in sides)
        blocks = np.ascontiguousarray(G.reshape(n, p, m, q).transpose(0, 2, 1, 3))
        return blocks, sides[0].dimensions[view.rows], sides[1].dimensions[view.columns]

    def _compared(self, A: Samples, B: Samples) -> tuple[Comparison, tuple[_Spans, _Spans]]:
        A = self.prepare(A)
        B = A if B is A else self.prepare(B)
        assert isinstance(A, Sets) and isinstance(B, Sets) and self.kernel is not None
        left, right = (_Spans(S.derived[self._key]) for S in (A, B))
        compare = Comparison if B is A else Comparison.across
        return compare(self.kernel, A.members, B.members, np.float64), (left, right)

    def _angles(self, G: Floats, left: Indices, right: Indices) -> Floats:
        if self.kind == "projection":
            return np.einsum("ijab,ijab->ij", G, G)
        out = np.zeros(G.shape[:2])
        for q in np.intersect1d(left, right):
            i, j = np.ix_(left == q, right == q)
            out[i, j] = np.linalg.det(G[i, j, :q, :q]) ** 2 if q else 1.0
        return out

    def _diag(self, A: Samples) -> Floats:
        """Return one, or the dimensions."""
        if self.kind == "determinant":
            return np.ones(len(A))
        A = self.prepare(A)
        found = A.derived[self._key]
        if self.kernel is None:
            return _dimensions(found).astype(float)
        return _Spans(found).dimensions.astype(float)

    def _features(self, A: Samples, keys: Any = None) -> tuple[Floats, Any]:
        """Return the projection matrices U U^T, each off-diagonal entry once, times sqrt(2)."""
        U = self.prepare(A).derived[self._key]
        i, j = np.triu_indices(U.shape[2])
        P = np.einsum("nqi,nqj->nij", U, U)[:, i, j]
        return P * np.where(i == j, 1.0, np.sqrt(2.0)), keys

    def _feature_count(self, A: Samples) -> int | None:
        """Return d (d + 1) / 2 for projections of vectors."""
        if "features" not in self.capabilities:
            return None
        assert isinstance(A, Sets)
        return _width(A) * (_width(A) + 1) // 2

    # what is known of the mathematics ---------------------------------------------------------------

    @property
    def capabilities(self) -> frozenset[str]:
        """Features of projections of vectors."""
        return frozenset({"features"} if self.kind == "projection" and self.kernel is None else ())

    @derived
    def order(self) -> int | None:
        """Positive definite if subspaces are those of a feature space."""
        return 0 if self.kernel is None or self.kernel.order == 0 else None

    @derived
    def normalised(self) -> bool:
        """Whether the determinant is taken."""
        return self.kind == "determinant"

    @derived
    def bounded(self) -> bool:
        """Whether the number of cosines is limited."""
        return self.kind == "determinant" or self.dimension is not None


class BinetCauchy(Tiled, Featured):
    r"""Binet-Cauchy kernel: matrices are compared by their minors of one order.

    .. math:: k(A, B) = \operatorname{tr} C_q(A^\top B) = \sum_{I, J} \det A_{IJ} \det B_{IJ}

    where C_q is the compound matrix of all minors of order q, and I, J are all choices of q rows and q columns. By the
    theorem of Binet and Cauchy, C_q(A^T B) = C_q(A)^T C_q(B).

    Seed: [HSS] Section 2.2.5, "Kernels on Sets and Subspaces", tr C_q(AB). For q = 1 it is the dot product of the
    entries, and for square matrices with q = dim A it is det A det B, the determinant kernel.

    Parameters
    ----------
    degree : int
        The order q of the minors. At least 1.
    kind : {"matrices", "moments"}, default "matrices"
        "matrices" compares the members in the order they are given, row by row: all matrices have equally many rows.
        "moments" takes A^T A and B^T B for A and B,

        .. math:: \operatorname{tr} C_q(A^\top A B^\top B) = \sum_{I, J} \det\big((A B^\top)_{IJ}\big)^2,

        which does not depend on the order of the members; sets may have any number of them. If members are orthonormal
        and q is their number, this is the squared determinant of `PrincipalAngles`.

    Notes
    -----
    Domain Sets of vectors, as matrices with a row for each member. Weights of members do not matter. The kernel is 0
    for matrices with fewer than q rows or columns, which have no such minors; by "moments" the empty set is one of
    them. Compound matrices, which have binomial(m, q) rows, are never formed: values are the elementary symmetric
    polynomials of eigenvalues or of squared singular values. Positive definite of order 0 by its features, the minors;
    not strict, as the minors of order q > 1 do not see matrices of lower rank; not bounded (``.normalized()`` removes
    that). Features for q = 1: the entries, or the moments. Derivatives are not offered. Cost
    O(m d p + p^3) a pair, p = min(m, d).

    Examples
    --------
    >>> A, B = [[1.0, 2.0], [3.0, 4.0]], [[0.0, 1.0], [1.0, 1.0]]
    >>> BinetCauchy(1)([A], [B])  # 2 + 3 + 4
    array([[9.]])
    >>> BinetCauchy(2)([A], [B]).round(12)  # (-2) (-1)
    array([[2.]])
    """

    domain = Sets
    formula = r"\operatorname{tr} C_q(A^\top B)"
    cost = "O(mdp + p^3) a pair, p = min(m, d)"
    constraints = {"degree": Integer(1), "kind": OneOf("matrices", "moments")}

    def __init__(self, degree: int, kind: str = "matrices") -> None:
        self.degree = degree
        self.kind = kind

    def pack(self, X: Any) -> Samples:
        """Turn arrays of vectors into Sets; matrices must have equally many rows."""
        S = Sets.pack(X)
        require_vectors(self, S)
        if self.kind == "matrices" and bool((S.sizes != S.sizes[:1]).any()):
            i = int(np.flatnonzero(S.sizes != S.sizes[0])[0])
            _refuse_rows(f"Matrix 0 has {S.sizes[0]} rows, matrix {i} {S.sizes[i]}")
        return S

    @property
    def _key(self) -> str:
        return f"minors:{self.kind}"

    def _prepare(self, A: Samples) -> Samples:
        """Lay the matrices out; of sets of more members than columns, triangular factors are enough."""
        if self._key in A.derived:
            return A
        assert isinstance(A, Sets)
        d, matrices = _width(A), _matrices(A)
        if self.kind == "moments":
            matrices = [np.asarray(np.linalg.qr(M, mode="r")) if len(M) > d else M for M in matrices]
        return A.with_derived(self._key, _padded(matrices, d))

    def _prepared(self, A: Samples) -> Floats:
        return self.prepare(A).derived[self._key]

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for tiles of some 20 milliseconds."""
        A, B = comparison.A, comparison.B
        if not isinstance(A, Sets) or not isinstance(B, Sets):
            return term_grain(self, comparison)
        p = float(min(max(A.sizes.max(initial=1), B.sizes.max(initial=1)), _width(A)))
        each = 20.0 * p * p if self.degree <= 2 else 5000.0 + 20.0 * p**3
        return max(1, int(np.sqrt(_MILLISECONDS * 1e6 / (100.0 + each))))

    def tile(self, view: View) -> Floats:
        """Compute A B^T (or A^T B, if that is smaller) of all pairs by one product, then what its minors add to."""
        A, B = (self._prepared(S)[s] for S, s in zip(view.collections, (view.rows, view.columns), strict=True))
        _require_width(A.shape[2], B.shape[2])
        if self.kind == "matrices":
            if A.shape[1] != B.shape[1] and len(A) and len(B):
                _refuse_rows(f"Matrices with {A.shape[1]} and {B.shape[1]} rows were compared")
            if A.shape[1] > A.shape[2]:
                A, B = (np.ascontiguousarray(M.transpose(0, 2, 1)) for M in (A, B))
        out, q = view.empty(), int(self.degree)
        with np.errstate(over="ignore", invalid="ignore"):
            if q == 1 and self.kind == "matrices":
                row_products(A.reshape(len(A), -1), B.reshape(len(B), -1), same=view.on_diagonal, out=out)
            else:
                np.copyto(out, _minors(A, B, q, self.kind == "moments", view.on_diagonal))
        return out

    def _diag(self, A: Samples) -> Floats:
        """Return e_q of the squared singular values, or of their squares."""
        M = self._prepared(A)
        values = np.linalg.svd(M, compute_uv=False) ** (4 if self.kind == "moments" else 2)
        return elementary_symmetric(values, int(self.degree))

    def _features(self, A: Samples, keys: Any = None) -> tuple[Floats, Any]:
        """Return the entries of the matrices, or of their moments; for q = 1."""
        M = self._prepared(A)
        if self.kind == "matrices":
            return M.reshape(len(M), -1), keys
        i, j = np.triu_indices(M.shape[2])
        moments = (M.transpose(0, 2, 1) @ M)[:, i, j]
        return moments * np.where(i == j, 1.0, np.sqrt(2.0)), keys

    def _feature_count(self, A: Samples) -> int | None:
        """Return the number of entries, or of moments, if q = 1."""
        if "features" not in self.capabilities:
            return None
        assert isinstance(A, Sets)
        d = _width(A)
        return int(A.sizes.max(initial=0)) * d if self.kind == "matrices" else d * (d + 1) // 2

    @property
    def capabilities(self) -> frozenset[str]:
        """Features for q = 1."""
        return frozenset({"features"} if self.degree == 1 else ())


# ---------------------------------------------------------------------- minors


def elementary_symmetric(values: Any, degree: int) -> Any:
    """Return e_q of the last axis: the sum of all products of q of its numbers.

    Examples
    --------
    >>> float(elementary_symmetric(np.array([1.0, 2.0, 3.0]), 2))  # 2 + 3 + 6
    11.0
    """
    E = np.zeros((*values.shape[:-1], degree + 1), dtype=values.dtype)
    E[..., 0] = 1.0
    for x in np.moveaxis(values, -1, 0):
        E[..., 1:] += x[..., None] * E[..., :-1]
    return E[..., degree]


def _minors(A: Floats, B: Floats, q: int, squared: bool, same: bool) -> Floats:
    """Return tr C_q(G), or the sum of squares of the entries of C_q(G), for G = A B^T of all pairs of matrices."""
    rows, columns = A.shape[1], B.shape[1]
    if q > min(rows, columns):
        return np.zeros((len(A), len(B)))
    if q == rows == columns and q <= A.shape[2]:
        # A = R^T Q^T has one minor of all its rows; those of Q^T are as exact as those of a rotation
        (P, ours), (Q, theirs) = map(_volumes, (A, B))
        values = np.linalg.det(_blocks(P, Q, same)) * np.multiply.outer(ours, theirs)
        return values**2 if squared else values
    G = _blocks(A, B, same)
    if squared and q == 1:
        return np.einsum("ijab,ijab->ij", G, G)
    if not np.isfinite(G).all():
        return np.full(G.shape[:2], np.inf)  # refused by the caller
    if squared:
        return elementary_symmetric(np.linalg.svd(G, compute_uv=False) ** 2, q)
    if q == 2:
        i, j = np.triu_indices(rows, 1)
        return np.sum(G[..., i, i] * G[..., j, j] - G[..., i, j] * G[..., j, i], axis=-1)
    return np.real(elementary_symmetric(np.linalg.eigvals(G), q))


def _volumes(A: Floats) -> tuple[Floats, Floats]:
    """Return orthonormal rows (n, p, d) of matrices, and the factors of their largest minors."""
    Q, R = np.linalg.qr(A.transpose(0, 2, 1))
    return np.ascontiguousarray(Q.transpose(0, 2, 1)), np.prod(np.einsum("nii->ni", R), axis=1)


def _blocks(U: Floats, V: Floats, same: bool) -> Floats:
    """Return the products of the rows of all pairs of matrices, (n, m, p, q), by one product."""
    (n, p, d), (m, q, _) = U.shape, V.shape
    G = row_products(U.reshape(n * p, d), V.reshape(m * q, d), same=same)
    return np.ascontiguousarray(G.reshape(n, p, m, q).transpose(0, 2, 1, 3))


# ---------------------------------------------------------------------- matrices and spans


class _Spans:
    """What members contribute to bases of the spans of their sets, as a sparse matrix (n q, total)."""

    def __init__(self, coefficients: Ragged) -> None:
        C, self.offsets = coefficients.codes, coefficients.offsets
        self.q = C.shape[1]
        rows = coefficients.owners[:, None] * self.q + np.arange(self.q)
        places = np.broadcast_to(np.arange(len(C))[:, None], C.shape)
        shape = (len(coefficients) * self.q, len(C))
        self.matrix = sp.csr_array((C.ravel(), (rows.ravel(), places.ravel())), shape=shape)
        self.dimensions = np.array([int(np.any(row, axis=0).sum()) for row in coefficients], dtype=np.intp)

    def piece(self, sets: slice) -> tuple[sp.csr_array, slice]:
        """Return the part of some sets, and the slice of their members."""
        members = slice(int(self.offsets[sets.start]), int(self.offsets[sets.stop]))
        return self.matrix[sets.start * self.q : sets.stop * self.q, members], members


def _matrices(A: Sets) -> list[Floats]:
    """Return the members of each set as a dense matrix."""
    assert isinstance(A.members, Vectors)
    X: Any = A.members.X
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float)
    return [X[a:b] for a, b in zip(A.offsets[:-1], A.offsets[1:], strict=True)]


def _width(A: Sets) -> int:
    assert isinstance(A.members, Vectors)
    return A.members.width


def _leading(rows: Floats, dimension: int | None) -> Floats:
    """Return orthonormal rows that span the leading directions of some rows, at most this many."""
    if not len(rows):
        return rows
    _, singular, basis = np.linalg.svd(rows, full_matrices=False)
    rank = int(np.count_nonzero(singular > max(rows.shape) * _EPS * singular[0]))
    return basis[: rank if dimension is None else min(rank, int(dimension))]


def _padded(matrices: list[Floats], width: int) -> Floats:
    """Return matrices with rows of zeros added, so that all have as many, (n, p, width)."""
    out = np.zeros((len(matrices), max(map(len, matrices), default=0), width))
    for i, M in enumerate(matrices):
        out[i, : len(M)] = M
    return out


def _dimensions(U: Floats) -> Indices:
    """Return the numbers of rows that are not zero."""
    return np.any(U, axis=2).sum(axis=1)


def _require_width(ours: int, theirs: int) -> None:
    if ours != theirs:
        raise DomainError(
            f"Sets of vectors with {ours} and with {theirs} columns were compared; all vectors must have the same "
            "columns. Give new sets the columns of the training sets."
        )


def _refuse_rows(what: str) -> None:
    raise DomainError(
        f"{what}; matrices are compared row by row. Give all the same number of rows, or compare sets in any order by "
        'kind="moments".'
    )
