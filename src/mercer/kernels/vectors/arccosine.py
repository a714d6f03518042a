"""The arc-cosine kernel: a function of lengths and of the angle between two vectors.

Symbols: theta the angle between x and z, phi = pi - theta, n the degree, u = x / |x|.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.constraints import Integer
from mercer.domains import Samples, Vectors
from mercer.kernels.abilities import Differentiated, DifferentiatedInInputs
from mercer.kernels.comparison import View
from mercer.kernels.kernel import Tiled
from mercer.kernels.protocols import Reason, alike
from mercer.kernels.vectors.pointwise import dense
from mercer.sparse_checks import used_columns
from mercer.spec import derived

__all__ = ["ArcCosine", "both_directions", "directions", "supplements"]
__public__ = ["ArcCosine"]


class ArcCosine(Tiled, Differentiated, DifferentiatedInInputs):
    r"""Arc-cosine kernel: an infinitely wide layer of threshold or rectified units with random weights.

    .. math:: k(x, x') = \frac{1}{\pi} \|x\|^n \|x'\|^n J_n(\theta), \quad
        J_0 = \pi - \theta, \quad J_1 = \sin\theta + (\pi - \theta) \cos\theta, \quad
        J_2 = 3 \sin\theta \cos\theta + (\pi - \theta)(1 + 2 \cos^2\theta)

    Seed: none of the five gives it; Cho & Saul, Kernel methods for deep learning (2009). A function of the
    dot product of unit vectors as in [HSS] Proposition 7.

    Parameters
    ----------
    degree : {0, 1, 2}, default 1
        n: units that step, that are linear above zero, or quadratic above zero. Not a free parameter.

    Notes
    -----
    Domain Vectors, dense or sparse. Features no (random ones by definition); differentiable in the inputs
    (for n = 0 not where vectors are parallel: 0 is returned). Positive definite, since it is 2 E[f(w . x) f(w
    . x')] with normal w and f(u) = u^n for u > 0. Not strictly so: x and 2 x have proportional features.
    Bounded for n = 0. A zero vector is at a right angle to every vector, itself included, which is what the
    expectation gives with f(0) = 1/2. Near 0 and pi the angle is computed from the chord between the unit
    vectors, so equal and opposite vectors are exact. Cost O(mnd) by one matrix product.

    Examples
    --------
    >>> ArcCosine(1)([[1.0, 0.0], [0.0, 1.0]]).round(3)
    array([[1.   , 0.318],
           [0.318, 1.   ]])
    """

    synonyms = ("neural network kernel of infinite width",)
    formula = r"\|x\|^n \|x'\|^n J_n(\theta) / \pi"
    cost = "O(mnd), one matrix product"
    domain = Vectors
    constraints = {"degree": Integer(0, 2)}

    def __init__(self, degree: int = 1) -> None:
        self.degree = degree

    @derived
    def bounded(self) -> bool:
        """Whether the degree is 0."""
        return self.degree == 0

    @derived
    def continuous(self) -> bool:
        """Whether the degree is above 0; angles are not continuous at the zero vector."""
        return self.degree > 0

    @derived
    def injective(self) -> bool:
        """Whether lengths count: the units of degree 0 see directions only."""
        return self.degree > 0

    @derived
    def nonzero(self) -> bool:
        """Whether the degree is 0; beyond, the zero vector has no length."""
        return self.degree == 0

    def reasons(self, width: int | None) -> dict[str, Reason]:
        """Return why no arc-cosine kernel is strict."""
        if self.degree == 0:
            return alike(Reason(False, "x and 2 x are at the same angle to everything", points=2))
        return alike(Reason(False, "x and 2 x have proportional images, and the zero vector none", points=1))

    def tile(self, view: View) -> Floats:
        """Compute the angles of the tile, then the formula."""
        A, B = view.collections
        assert isinstance(A, Vectors) and isinstance(B, Vectors)
        (U, a), (V, b) = view.comparison.keep(("directions", view.path), lambda: both_directions(A, B))
        phi = supplements(U[view.rows], V[view.columns])
        tile = view.empty()
        with np.errstate(over="ignore", invalid="ignore"):
            tile[...] = self._value(phi, a[view.rows], b[view.columns])
        return tile

    def _value(self, phi: Floats, a: Floats, b: Floats) -> Floats:
        """Return the kernel from phi = pi - theta; cos(theta) = -cos(phi)."""
        if self.degree == 0:
            return phi / np.pi
        lengths = np.multiply.outer(a, b)
        if self.degree == 1:
            return lengths * np.maximum(np.sin(phi) - phi * np.cos(phi), 0.0) / np.pi
        cosine = np.cos(phi)
        return lengths**2 * np.maximum(phi * (1 + 2 * cosine**2) - 3 * np.sin(phi) * cosine, 0.0) / np.pi

    def _diag(self, A: Samples) -> Floats:
        """Return 1, |x|^2 or 3 |x|^4; 1/2 for a zero vector at degree 0."""
        assert isinstance(A, Vectors)
        _, a = directions(A)
        with np.errstate(over="ignore"):
            if self.degree == 0:
                return np.where(a > 0, 1.0, 0.5)
            return a**2 if self.degree == 1 else 3.0 * a**4

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return nothing: there is no free parameter."""
        return np.empty(0)

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_j W_ij dk(a_i, b_j)/da_i."""
        assert isinstance(A, Vectors) and isinstance(B, Vectors)
        X, Z = dense(A), dense(B)
        (U, a), (V, b) = both_directions(A, B)
        phi = supplements(U, V)
        sine, cosine, lengths = np.sin(phi), -np.cos(phi), np.multiply.outer(a, b)
        inverse = np.divide(1.0, a, out=np.zeros_like(a), where=a > 0)[:, None]
        # dk/dx = (along x + across z) / pi for each pair
        if self.degree == 1:
            along, across = sine * b * inverse, phi
        elif self.degree == 2:
            along = 2 * (lengths * cosine * sine * b * inverse + phi * b**2)
            across = 4 * lengths * (sine + phi * cosine)
        else:
            across = np.divide(1.0, lengths * sine, out=np.zeros_like(sine), where=(lengths > 0) & (sine > 1e-12))
            along = -across * cosine * b * inverse
        return ((W * along).sum(axis=1)[:, None] * X + (W * across) @ Z) / np.pi


def directions(A: Vectors) -> tuple[Any, Floats]:
    """Return the rows scaled to length one (zero rows stay) and their lengths, safe from overflow."""
    X: Any = A.X
    tops = np.asarray(abs(X).max(axis=1).todense() if A.is_sparse else np.abs(X).max(axis=1), dtype=float).ravel()
    inverse = np.divide(1.0, tops, out=np.zeros(len(A)), where=tops > 1e-300)
    Y = _times(X, inverse)
    squares = Y.power(2).sum(axis=1) if A.is_sparse else np.einsum("ij,ij->i", Y, Y)
    lengths = np.sqrt(np.asarray(squares, dtype=float).ravel())
    unit = np.divide(1.0, lengths, out=np.zeros(len(A)), where=lengths > 0)
    U = _times(Y, unit)
    with np.errstate(over="ignore"):  # values that are not finite are refused with advice
        return U.astype(X.dtype, copy=False), lengths * tops


def _times(X: Any, factors: Floats) -> Any:
    """Return the rows times factors; of sparse rows the entries alone, since a product reads every column."""
    if not sp.issparse(X):
        return X * factors[:, None]
    return sp.csr_array((X.data * np.repeat(factors, np.diff(X.indptr)), X.indices, X.indptr), shape=X.shape)


def both_directions(A: Vectors, B: Vectors) -> tuple[tuple[Any, Floats], tuple[Any, Floats]]:
    """Return the same for both sides, once if they are one."""
    left = directions(A)
    return left, left if B is A else directions(B)


def supplements(U: Any, V: Any) -> Floats:
    """Return pi minus the angles between unit (or zero) vectors, in float64.

    Half the chord between two unit vectors is the sine of half their angle: where the cosine is near 1 or -1 and says
    little, the chord to the other vector or to its opposite gives it to the last digits.
    """
    if sp.issparse(U) and sp.issparse(V):
        U, V, _ = used_columns(U, V)
    product = U @ V.T
    cosine = np.asarray(product.toarray() if sp.issparse(product) else product, dtype=float)
    phi = np.arccos(np.clip(-cosine, -1.0, 1.0))
    rows, columns = np.nonzero(np.abs(cosine) > 0.99)
    step = max(1, 2**20 // U.shape[1])
    for start in range(0, len(rows), step):
        i, j = rows[start : start + step], columns[start : start + step]
        sign = np.sign(cosine[i, j])
        left, right = (np.asarray(M.toarray() if sp.issparse(M) else M, dtype=float) for M in (U[i], V[j]))
        chord = np.linalg.norm(left - sign[:, None] * right, axis=1)
        angle = 2.0 * np.arcsin(np.minimum(chord / 2.0, 1.0))
        phi[i, j] = np.where(sign > 0, np.pi - angle, angle)
    return phi
