"""Kernels on histograms and other vectors of counts: chi-squared, intersection, Tanimoto.

Symbols: x, z vectors with entries x_i, z_i that are not negative (Tanimoto: any), g = gamma.
Dense tiles are summed coordinate after coordinate with the columns of the tile in lanes; of sparse rows only
the stored entries are visited.
"""

from __future__ import annotations

import warnings
from collections.abc import Set
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.constraints import Positive
from mercer.domains import Samples, Strings, Vectors
from mercer.domains.samples import packed_pair
from mercer.errors import DegenerateWarning, DomainError
from mercer.kernels.abilities import Differentiated, DifferentiatedInInputs
from mercer.kernels.comparison import View, require_one_unit
from mercer.kernels.kernel import Kernel, Tiled, mirror
from mercer.kernels.protocols import Reason
from mercer.kernels.vectors import profiles
from mercer.kernels.vectors.pointwise import dense
from mercer.numerics.operands import row_products
from mercer.runtime.compiled import compiled
from mercer.sparse_checks import used_columns

__all__ = ["AdditiveChiSquared", "ChiSquared", "Intersection", "Tanimoto"]
__public__ = __all__

_CHI, _ADDITIVE, _MINIMUM = range(3)  # which sum over coordinates


class _Histogram(Kernel, Differentiated, DifferentiatedInInputs):
    """A kernel made of one sum over the coordinates of vectors that are not negative."""

    domain = Vectors
    continuous = True
    sum = _MINIMUM

    def _prepare(self, A: Samples) -> Samples:
        """Raise DomainError if an entry is negative."""
        assert isinstance(A, Vectors)
        values = A.X if isinstance(A.X, np.ndarray) else A.X.data
        if values.size and values.min() < 0:
            raise _negative(self, A)
        return A

    def _sums(self, A: Samples, B: Samples) -> Floats:
        assert isinstance(A, Vectors) and isinstance(B, Vectors)
        dtype = np.result_type(A.X.dtype, B.X.dtype)
        out = np.zeros((len(A), len(B)), dtype)
        if A.is_sparse or B.is_sparse:
            left, right = (_parts(V.X, dtype) for V in (A, B))
            _sum_sparse(left, right, A.width, self.sum, out)
        else:
            X, Z = (np.ascontiguousarray(V.X, dtype=dtype) for V in (A, B))
            tiny = dtype.type(np.finfo(dtype).tiny)
            (_sum_chi, _sum_additive, _sum_minimum)[self.sum](X, Z, tiny, out)
        return out

    def block(self, A: Samples, B: Samples) -> Floats:
        """Return the sum over coordinates."""
        A, B = packed_pair(A, B, self._ready)
        return mirror(self._sums(A, B)) if B is A else self._sums(A, B)

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return nothing: there is no free parameter."""
        return np.empty(0)

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_j W_ij times the derivative of the sum in a_i."""
        X, Z = dense(A), dense(B)
        out = np.zeros_like(X)
        for j, z in enumerate(Z):
            out += W[:, j, None] * self._derivative(X, z)
        return out

    def _derivative(self, X: Floats, z: Floats) -> Floats:
        """Return the derivative of each coordinate's term in x."""
        raise NotImplementedError


class ChiSquared(_Histogram):
    r"""Exponential chi-squared kernel: similarity fades with the chi-squared distance of histograms.

    .. math:: k(x, x') = \exp\!\left(-\gamma \sum_i \frac{(x_i - x'_i)^2}{x_i + x'_i}\right), \; x, x' \ge 0

    Seed: none of the five gives it. It is exp(-gamma d^2) with d^2 of negative type, as in [HSS] Section
    2.2.2.

    Parameters
    ----------
    gamma : float, default 1.0
        Positive.

    Notes
    -----
    Domain Vectors without negative entries, dense or sparse; 0 / 0 counts as 0. Features no; differentiable
    in gamma and the inputs. Positive definite: (a - b)^2 / (a + b) = a + b - 4 ab / (a + b), and ab / (a + b)
    is the integral of exp(-s / a) exp(-s / b) over s > 0, so k is the exponential of a kernel, scaled by a
    function of each argument. Strictly so and universal on compact sets, since the kernel inside distinguishes all
    points and is continuous. Normalised and bounded. Cost O(mnd) divisions.

    Examples
    --------
    >>> ChiSquared(1.0)([[1.0, 0.0], [0.5, 0.5]]).round(3)
    array([[1.   , 0.513],
           [0.513, 1.   ]])
    """

    synonyms = ("chi-square kernel",)
    formula = r"\exp(-\gamma \sum_i (x_i - x'_i)^2 / (x_i + x'_i))"
    cost = "O(mnd) divisions"
    strict = True
    universal = True
    normalised = True
    bounded = True
    constraints = {"gamma": Positive()}
    sum = _CHI

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def reasons(self, width: int | None) -> dict[str, Reason]:
        """Return why it is strict and universal."""
        why = "the exponential, by a continuous factor, of a continuous kernel that tells all points apart"
        return {
            "strict": Reason(True, why, "HSS Sec. 2.2.3, Pinkus"),
            "universal": Reason(True, why, "HSS Sec. 2.2.3"),
            "characteristic": Reason(None, "on compact sets it is, since it is universal"),
            "definite": Reason(True, why, "HSS Sec. 2.2.2"),
        }

    def block(self, A: Samples, B: Samples) -> Floats:
        """Return exp(-gamma chi^2)."""
        A, B = packed_pair(A, B, self._ready)
        out = self._sums(A, B)
        profiles.exp_scaled(out, -float(self.gamma))
        return mirror(out) if B is A else out

    def _diag(self, A: Samples) -> Floats:
        """Return ones."""
        return np.ones(len(A))

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the derivative in gamma, -chi^2 k."""
        chi = self._sums(A, B).astype(float)
        return np.array([-float(np.vdot(W, chi * np.exp(-self.gamma * chi)))])

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_j W_ij dk(a_i, b_j)/da_i."""
        return super()._pullback_inputs(A, B, W * (-self.gamma) * self.block(A, B))

    def _derivative(self, X: Floats, z: Floats) -> Floats:
        """Return (x - z)(x + 3 z) / (x + z)^2; 0 where both are 0."""
        share = np.divide(z, X + z, out=np.full_like(X, 0.5), where=X + z > 0)
        return 1.0 - 4.0 * share**2


class AdditiveChiSquared(_Histogram):
    r"""Additive chi-squared kernel: the harmonic means of the coordinates.

    .. math:: k(x, x') = \sum_i \frac{2 x_i x'_i}{x_i + x'_i}, \qquad x, x' \ge 0

    Seed: none of the five gives it; a sum of kernels on coordinates, [STS] Theorem 7.

    Notes
    -----
    Domain Vectors without negative entries, dense or sparse; 0 / 0 counts as 0. scikit-learn's function of
    this name is 2 k(x, x') - sum x - sum x', which is conditionally positive definite only. Features no; no
    parameters; differentiable in the inputs. Positive definite: 2 ab / (a + b) is twice the integral of
    exp(-s / a) exp(-s / b) over s > 0. Not strictly so, as a sum over coordinates cannot distinguish the corners of a
    rectangle. Unbounded. Cost O(mnd) divisions.

    Examples
    --------
    >>> AdditiveChiSquared()([[1.0, 0.0], [0.5, 0.5]]).round(3)
    array([[1.   , 0.667],
           [0.667, 1.   ]])
    """

    formula = r"\sum_i 2 x_i x'_i / (x_i + x'_i)"
    cost = "O(mnd) divisions"
    injective = True
    sum = _ADDITIVE

    def _diag(self, A: Samples) -> Floats:
        """Return the sums of the entries."""
        return _row_sums(A)

    def _derivative(self, X: Floats, z: Floats) -> Floats:
        """Return 2 z^2 / (x + z)^2; one half where both are 0."""
        return 2.0 * np.divide(z, X + z, out=np.full_like(X, 0.5), where=X + z > 0) ** 2


class Intersection(_Histogram):
    r"""Histogram intersection: what two histograms have in common.

    .. math:: k(x, x') = \sum_i \min(x_i, x'_i), \qquad x, x' \ge 0

    Seed: [HSS] Section 2.2.5 gives min(x, x') for one coordinate; sums of kernels are kernels, [STS] Theorem
    7.

    Notes
    -----
    Domain Vectors without negative entries, dense or sparse. Features no; no parameters; differentiable in
    the inputs (one half is taken where both are equal). Positive definite: min(a, b) is the dot product of
    the indicators of [0, a] and [0, b]. Not strictly so, as a sum over coordinates cannot distinguish the corners of a
    rectangle. Unbounded. Cost O(mnd).

    Examples
    --------
    >>> Intersection()([[3.0, 1.0], [2.0, 2.0]])
    array([[4., 3.],
           [3., 4.]])
    """

    synonyms = ("histogram intersection", "min kernel")
    formula = r"\sum_i \min(x_i, x'_i)"
    cost = "O(mnd) comparisons"
    injective = True
    sum = _MINIMUM

    def _diag(self, A: Samples) -> Floats:
        """Return the sums of the entries."""
        return _row_sums(A)

    def _derivative(self, X: Floats, z: Floats) -> Floats:
        """Return 1 where x < z, 1/2 where they are equal."""
        return 0.5 * ((z > X).astype(float) + (z >= X))


class Tanimoto(Tiled, Differentiated, DifferentiatedInInputs):
    r"""Tanimoto kernel: the common part of two sets, or of two fingerprints.

    .. math:: k(x, x') = \frac{\langle x, x' \rangle}{\|x\|^2 + \|x'\|^2 - \langle x, x' \rangle}

    Seed: none of the five gives it; on indicators of sets it is the Jaccard index.

    Notes
    -----
    Domain Vectors, dense or sparse, or sets: a list of Python sets of hashable objects, taken as their indicators. Two
    zero vectors (empty sets) have the value 1, a zero vector and any other 0, with a DegenerateWarning. Features no; no
    parameters; differentiable in the inputs. Positive definite for all real vectors: with t = <x, x'> and a, b the
    squared norms it is sum_{n >= 1} (t / (a + b))^n, since t / (a + b) is at most 1/2, and 1 / (a + b) is the integral
    of exp(-s a) exp(-s b). Strictly so, since these features contain all monomials on each sphere. Not universal: it is
    not continuous at zero. Normalised and bounded (between -1/3 and 1, not negative for vectors that are not). Cost
    O(mnd) by one matrix product.

    Examples
    --------
    >>> Tanimoto()([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]).round(3)
    array([[1.   , 0.333],
           [0.333, 1.   ]])
    >>> Tanimoto()([{"red", "round"}, {"round", "sweet"}]).round(3)
    array([[1.   , 0.333],
           [0.333, 1.   ]])
    """

    synonyms = ("Jaccard index",)
    formula = r"\langle x, x' \rangle / (\|x\|^2 + \|x'\|^2 - \langle x, x' \rangle)"
    cost = "O(mnd), one matrix product"
    domain = Vectors
    other_domains = (Strings,)
    strict = True
    normalised = True
    bounded = True

    def reasons(self, width: int | None) -> dict[str, Reason]:
        """Return why it is strict, and not universal."""
        why = "a sum of all powers of <x, z> / (|x|^2 + |z|^2), with all monomials on every sphere"
        return {
            "strict": Reason(True, why, "HSS Sec. 2.2.3, Pinkus"),
            "universal": Reason(False, "it is not continuous at the zero vector"),
        }

    def pack(self, X: Any) -> Samples:
        """Pack a list of sets as the symbols in them, anything else as vectors."""
        if isinstance(X, Strings):
            return X
        one_axis = isinstance(X, (list, tuple)) or (isinstance(X, np.ndarray) and X.ndim == 1)
        if one_axis and len(X) and all(isinstance(one, Set) for one in X):
            return Strings.pack([sorted(one, key=_by_name) for one in X])
        return Vectors.pack(X)

    def _prepare(self, A: Samples) -> Samples:
        """Warn of zero vectors and empty sets."""
        if isinstance(A, Strings):
            filled, what = A.lengths > 0, "empty sets"
        else:
            assert isinstance(A, Vectors)
            filled = A.X.any(axis=1) if isinstance(A.X, np.ndarray) else abs(A.X).max(axis=1).toarray() > 0
            what = "zero vectors"
        zero = len(A) - int(np.sum(filled))
        if zero:
            warnings.warn(
                f"{zero} of {len(A)} samples are {what}; their Tanimoto similarity is 1 with each "
                "other and 0 with all others.",
                DegenerateWarning,
                stacklevel=2,
            )
        return A

    def tile(self, view: View) -> Floats:
        """Divide the dot products."""
        sides = view.collections
        X, Z, a, b = view.comparison.keep(("squares", view.path), lambda: _scaled_sides(*_indicators(*sides)))
        tile, X, Z = view.empty(), X[view.rows], Z[view.columns]
        if isinstance(X, np.ndarray) and isinstance(Z, np.ndarray):
            row_products(X, Z, same=view.on_diagonal, out=tile)
        else:
            if sp.issparse(X) and sp.issparse(Z):
                X, Z, _ = used_columns(X, Z)
            t = X @ Z.T
            tile[...] = t.toarray() if sp.issparse(t) else t
        return _share(tile, a[view.rows], b[view.columns])

    def _diag(self, A: Samples) -> Floats:
        """Return ones."""
        return np.ones(len(A))

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return nothing: there is no free parameter."""
        return np.empty(0)

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_j W_ij (b_j (a + b) - 2 t a_i) / (a + b - t)^2; 0 between zero vectors, where k jumps."""
        if isinstance(A, Strings):
            raise self._lacks("a derivative in its inputs where they are sets")
        X, Z = dense(A), dense(B)
        a, b, t = (X * X).sum(axis=1), (Z * Z).sum(axis=1), X @ Z.T
        total = np.add.outer(a, b)
        G = np.divide(W, (total - t) ** 2, out=np.zeros_like(t), where=total - t > 0)
        return (G * total) @ Z - 2.0 * (G * t).sum(axis=1)[:, None] * X


def _by_name(member: Any) -> tuple[str, str]:
    """Return what members of sets are sorted by: the order of a set differs from process to process."""
    return type(member).__name__, repr(member)


def _indicators(A: Samples, B: Samples) -> tuple[Vectors, Vectors]:
    """Return both sides as vectors: sets become rows of zeros and ones over all their members together."""
    if isinstance(A, Vectors) and isinstance(B, Vectors):
        return A, B
    if not (isinstance(A, Strings) and isinstance(B, Strings)):
        raise DomainError(
            f"{type(A).__name__} and {type(B).__name__} were given to Tanimoto(); both sides must be "
            "vectors, or both sets. Give data of one kind."
        )
    left, right = A.align(B)
    rows = []
    for side in (left,) if B is A else (left, right):
        ones = np.ones(len(side.codes))
        X = sp.csr_array((ones, side.codes, side.offsets - side.offsets[0]), (len(side), max(len(side.vocabulary), 1)))
        X.sum_duplicates()
        X.data[:] = 1.0  # a member counts once
        rows.append(Vectors(X))
    return rows[0], rows[-1]


def _scaled_sides(A: Vectors, B: Vectors) -> tuple[Any, Any, Floats, Floats]:
    """Return both sides divided by a common power of two, which cancels, and their squared norms."""
    largest = max(A.largest, B.largest)
    unit = float(np.ldexp(1.0, np.frexp(largest)[1] - 1)) if largest > 0 and not 1e-15 < largest < 1e15 else 1.0
    require_one_unit((A.X, B.X), None, unit, None)
    left = (A.X / A.X.dtype.type(unit), _squares(A, unit))
    right = left if B is A else (B.X / B.X.dtype.type(unit), _squares(B, unit))
    return left[0], right[0], left[1], right[1]


def _squares(A: Vectors, unit: float) -> Floats:
    """Return the squared norms in squares of a unit."""
    if unit == 1.0:
        return A.squared_norms
    return Vectors(A.X / A.X.dtype.type(unit)).squared_norms


def _share(t: Floats, a: Floats, b: Floats) -> Floats:
    """Replace t by t / (a + b - t); at zero vectors by 0, or 1 if both are."""
    total = np.add.outer(a, b).astype(t.dtype, copy=False)
    total -= t
    np.divide(t, total, out=t, where=total > 0)
    if not (a.all() and b.all()):
        t[np.ix_(a == 0, b == 0)] = 1.0
    return np.minimum(t, 1.0, out=t)


def _negative(kernel: Kernel, A: Vectors) -> DomainError:
    """Return the error that names the first negative entry."""
    if isinstance(A.X, np.ndarray):
        row, column = (int(place) for place in np.argwhere(A.X < 0)[0])
        value = A.X[row, column]
    else:
        place = int(np.argmax(A.X.data < 0))
        row, column, value = (
            int(np.searchsorted(A.X.indptr, place, "right")) - 1,
            A.X.indices[place],
            A.X.data[place],
        )
    name = f"{A.names[column]!r}" if A.names else f"{column}"
    return DomainError(
        f"Input X has the negative entry {float(value):.6g} in row {row}, column {name}; {kernel!r} is "
        "positive definite only on data that are not negative. Give counts or frequencies, or use a kernel "
        "on all vectors, such as Gaussian."
    )


def _row_sums(A: Samples) -> Floats:
    assert isinstance(A, Vectors)
    with np.errstate(over="ignore"):
        return np.asarray(A.X.sum(axis=1, dtype=float)).ravel()


def _parts(X: Any, dtype: Any) -> tuple[Floats, Any, Any]:
    X = sp.csr_array(X, dtype=dtype)
    return X.data, X.indices.astype(np.intp, copy=False), X.indptr.astype(np.intp, copy=False)


# x + z is held above the smallest normal number instead of testing it for zero: then the loop over j runs in
# lanes. The quotient comes before the product, since (x - z) / (x + z) cannot overflow.
@compiled
def _sum_chi(X, Z, tiny, out):
    across = Z.T.copy()
    for i in range(X.shape[0]):
        row = out[i]
        for k in range(X.shape[1]):
            x, z = X[i, k], across[k]
            for j in range(row.size):
                gap = x - z[j]
                row[j] += gap * (gap / max(x + z[j], tiny))


@compiled
def _sum_additive(X, Z, tiny, out):
    across = Z.T.copy()
    for i in range(X.shape[0]):
        row = out[i]
        for k in range(X.shape[1]):
            x, z = X[i, k], across[k]
            twice = x + x
            for j in range(row.size):
                row[j] += twice * (z[j] / max(x + z[j], tiny))


@compiled
def _sum_minimum(X, Z, tiny, out):
    across = Z.T.copy()
    for i in range(X.shape[0]):
        row = out[i]
        for k in range(X.shape[1]):
            x, z = X[i, k], across[k]
            for j in range(row.size):
                row[j] += min(x, z[j])


@compiled
def _term(x, z, kind):
    if kind == _CHI:
        total = x + z
        return (x - z) * ((x - z) / total) if total > 0 else total
    if kind == _ADDITIVE:
        total = x + z
        return (x + x) * (z / total) if total > 0 else total
    return min(x, z)


@compiled
def _sum_sparse(left, right, width, kind, out):
    """Add up the terms of sparse rows: each row of the left is spread out, and the right read against it."""
    x_values, x_columns, x_starts = left
    z_values, z_columns, z_starts = right
    spread = np.zeros(width, out.dtype)
    seen = np.full(width, -1, np.intp)  # the last pair whose right side had an entry in this column
    for i in range(out.shape[0]):
        for e in range(x_starts[i], x_starts[i + 1]):
            spread[x_columns[e]] = x_values[e]
        for j in range(out.shape[1]):
            total, pair = out.dtype.type(0), i * out.shape[1] + j
            for e in range(z_starts[j], z_starts[j + 1]):
                total += _term(spread[z_columns[e]], z_values[e], kind)
                seen[z_columns[e]] = pair
            if kind == _CHI:  # where z is zero the term is x; the other two sums have none there
                for e in range(x_starts[i], x_starts[i + 1]):
                    if seen[x_columns[e]] != pair:
                        total += x_values[e]
            out[i, j] = total
        for e in range(x_starts[i], x_starts[i + 1]):
            spread[x_columns[e]] = 0
