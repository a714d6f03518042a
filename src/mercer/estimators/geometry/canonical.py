r"""Canonical correlations of two or more views, each given by an orthonormal basis of what its functions can be.

Symbols: n samples with weights w_i and their sum N; K the Gram matrix of a view after centring, scaled by the roots of
the weights, K = U diag(lambda) U^T with U (n, r); tau the share of the norm in the constraint and p what the squared
norm is multiplied by; h_j = sqrt(lambda_j / ((1 - tau) lambda_j + tau p)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import CapabilityError
from mercer.gram import Gram, HasFactor
from mercer.gram.gram import has_array
from mercer.numerics.eigen import eigh_in_place
from mercer.problems import Solution, Status
from mercer.runtime.tiling import blas_for, in_background

__all__ = ["Basis", "Canonical", "basis_of", "canonical", "correlations", "shrinkage"]

_EPS = float(np.finfo(np.float64).eps)
_SMALL = 400  # up to this order all singular vectors cost nothing


@dataclass(frozen=True, eq=False)
class Basis:
    """The values that functions of one view can have on the samples.

    Attributes
    ----------
    vectors : (n, r) array
        U, orthonormal columns; the values of a function times the roots of the weights are in their span.
    values : (r,) array
        lambda, the largest first.
    means : (n,) or (D,) array
        Weighted means of the columns of the Gram matrix, or of its factor.
    right : (D, r) array or None
        Where the Gram has a factor F: the directions V with root(w) (F - mean) = U diag(lambda)^(1/2) V^T.
    """

    vectors: Floats
    values: Floats
    means: Floats
    right: Floats | None = None

    def expand(self, gram: Gram, a: Floats, w: Floats) -> tuple[Any, Floats]:
        """Return the functions whose values are U a / root(w), and their coefficients (n, m) in the samples."""
        inner = a / np.sqrt(self.values)[:, None]
        coef = np.sqrt(w)[:, None] * (self.vectors @ (inner / np.sqrt(self.values)[:, None]))
        coef -= np.outer(w / w.sum(), coef.sum(axis=0))  # they sum to zero, but for rounding of small eigenvalues
        if self.right is None:
            return gram.expand(Solution(coef, Status.CONVERGED, 0.0), -(self.means @ coef)), coef
        weights = self.right @ inner
        return gram.expand(Solution(coef, Status.CONVERGED, 0.0, weights=weights), -(self.means @ weights)), coef


def basis_of(gram: Gram, w: Floats, deadline: float | None = None) -> Basis:
    """Decompose the centred, weighted Gram matrix of one view; a dense one is overwritten.

    Parameters
    ----------
    gram : Gram
        With a factor, or in memory.
    w : (n,) array
        Weights, positive.
    deadline : float, optional
        Moment of the monotonic clock at which to give up.

    Returns
    -------
    basis : Basis

    Notes
    -----
    A factor of r columns costs O(n r^2), by orthogonalisation and the singular values of the triangle: directions of
    small variance stay orthonormal. A dense matrix costs O(n^3) and is decomposed in place.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Dense, Features
    >>> from mercer.kernels import Linear
    >>> S = Vectors.pack([[0.0], [1.0], [5.0]])
    >>> [basis_of(spec.build(Linear(), S), np.ones(3)).values.round(6) for spec in (Dense(), Features())]
    [array([14.]), array([14.])]
    """
    if isinstance(gram, HasFactor):
        return _factored(gram, w, deadline)
    if not has_array(gram):
        raise CapabilityError(
            f"canonical correlations were asked of a Gram held as {type(gram).__name__}, which offers products and "
            "rows; eigenvectors need the whole matrix or a factor. Give rank=500 (incomplete Cholesky from rows), or "
            "gram=Nystrom(500), Features() or Dense()."
        )
    K = gram.release()
    share, root = w / w.sum(), np.sqrt(w)
    rounding = 4.0 * _EPS * float(w @ np.abs(np.diagonal(K)))  # of eigenvalues, where the mean is large
    means = K @ share
    K -= means
    K -= (means - float(share @ means))[:, None]
    K *= root
    K *= root[:, None]
    values = in_background(eigh_in_place, K, deadline=deadline)
    count = _count(values[::-1], len(w), rounding)
    return Basis(K[::-1][:count].T, values[::-1][:count].copy(), means)


def _factored(gram: Any, w: Floats, deadline: float | None) -> Basis:
    F = np.array(gram.factor(), dtype=np.float64)
    n, D = F.shape
    means = (w / w.sum()) @ F
    rounding = (4.0 * _EPS) ** 2 * float(w @ np.einsum("ij,ij->i", F, F))
    F -= means
    F *= np.sqrt(w)[:, None]
    work = 4.0 * n * D * min(n, D)
    with blas_for(min(n, D)):
        if n >= D:
            Q, R = in_background(np.linalg.qr, F, work=work, deadline=deadline)
            U, sizes, Vt = in_background(_svd, R, work=25.0 * D**3, deadline=deadline)
        else:
            U, sizes, Vt = in_background(_svd, F, work=5.0 * work, deadline=deadline)
            Q = None
        count = _count(sizes**2, n, rounding)
        U = U[:, :count] if Q is None else Q @ U[:, :count]
    return Basis(U, sizes[:count] ** 2, means, np.ascontiguousarray(Vt[:count].T))


def _svd(A: Floats) -> tuple[Floats, Floats, Floats]:
    return np.linalg.svd(A, full_matrices=False)


def _count(values: Floats, n: int, rounding: float) -> int:
    """How many eigenvalues, the largest first, are above rounding; n centred samples have n - 1 at most."""
    floor = max(max(n, 2) * _EPS * float(np.max(np.abs(values), initial=0.0)), rounding)
    return min(int(np.sum(values > floor)), max(n - 1, 0))


def shrinkage(values: Floats, tau: float, penalty: float) -> Floats:
    r"""Return by how much each direction is shrunk, (r,).

    .. math:: h_j = \sqrt{\lambda_j / ((1 - \tau) \lambda_j + \tau p)}

    Examples
    --------
    >>> shrinkage(np.array([4.0, 1.0]), 0.0, 1.0), shrinkage(np.array([4.0, 1.0]), 1.0, 1.0)
    (array([1., 1.]), array([2., 1.]))
    """
    return np.sqrt(values / ((1.0 - tau) * values + tau * penalty)) if tau else np.ones_like(values)


@dataclass(frozen=True, eq=False)
class Canonical:
    """The largest covariances under the constraints, and where they are reached.

    Attributes
    ----------
    values : (q,) array
        rho, all of them, the largest first; of more than two views the mean over the other views. Correlations where
        tau is 0; above 1 where p is smaller than the largest lambda.
    directions : tuple of (r, m) arrays
        For each view, in its basis: U @ direction are the values, times the roots of the weights, over root(N).
    """

    values: Floats
    directions: tuple[Floats, ...]


def canonical(
    bases: Sequence[Basis],
    taus: Sequence[float] | Floats,
    penalties: Sequence[float],
    count: int,
    deadline: float | None = None,
) -> Canonical:
    r"""Solve the generalised eigenproblem of canonical correlations in coordinates in which its right side is I.

    .. math:: \begin{pmatrix} 0 & K_x K_u \\ K_u K_x & 0 \end{pmatrix} \begin{pmatrix} \alpha \\ \beta \end{pmatrix}
        = \rho \begin{pmatrix} (1 - \tau_x) K_x^2 + \tau_x p_x K_x & 0 \\ 0 & (1 - \tau_u) K_u^2 + \tau_u p_u K_u
        \end{pmatrix} \begin{pmatrix} \alpha \\ \beta \end{pmatrix}

    The eigenvalues come in pairs of rho and -rho, the singular values of diag(h_x) U_x^T U_u diag(h_u). With k views
    all products of two of them are off the diagonal, and rho is the eigenvalue over k - 1.

    Seed: [STS] Eqs. (43), (49); [ST] "Kernel CCA"; [HSS] Section 3.3.2.

    Parameters
    ----------
    bases : sequence of Basis
        One for each view, two or more.
    taus, penalties : sequences of float
        tau and p of each view.
    count : int
        m, how many directions are wanted at most.
    deadline : float, optional
        Moment of the monotonic clock at which to give up.

    Returns
    -------
    found : Canonical
        Either sign of each pair of directions may be returned.

    Examples
    --------
    >>> x = Basis(np.array([[1.0], [-1.0]]) / np.sqrt(2), np.array([3.0]), np.zeros(1))
    >>> canonical([x, x], [0.0, 0.5], [1.0, 1.0], 1).values.round(3)
    array([1.225])
    """
    heights = [shrinkage(b.values, tau, p) for b, tau, p in zip(bases, taus, penalties, strict=True)]
    if len(bases) == 2:
        M = cross_matrix(bases, heights, 0, 1)
        with blas_for(min(M.shape)):
            values, parts = _singular(M, count, deadline)
    else:
        values, parts = _several(bases, heights, count, deadline)
    return Canonical(values, tuple(h[:, None] * part for h, part in zip(heights, parts, strict=True)))


def cross_matrix(bases: Sequence[Basis], heights: Sequence[Floats], a: int, b: int) -> Floats:
    """Return diag(h_a) U_a^T U_b diag(h_b)."""
    return heights[a][:, None] * (bases[a].vectors.T @ bases[b].vectors) * heights[b]


def _singular(M: Floats, count: int, deadline: float | None) -> tuple[Floats, list[Floats]]:
    """Singular values and `count` leading pairs of vectors; of large matrices through the smaller square."""
    p, q = M.shape
    if min(p, q) <= _SMALL:
        left, values, right = in_background(_svd, M, work=25.0 * p * q * min(p, q), deadline=deadline)
        return values, [left[:, :count], right[:count].T]
    turned = p > q
    A = M.T if turned else M
    square = np.ascontiguousarray(A @ A.T)
    squares = in_background(eigh_in_place, square, deadline=deadline)
    near = square[::-1][:count].T
    far = A.T @ near
    values = np.sqrt(np.maximum(squares[::-1], 0.0))
    sizes = np.linalg.norm(far, axis=0)
    far = far / np.where(sizes > 0.0, sizes, 1.0)
    return values, [far, near] if turned else [near, far]


def _several(
    bases: Sequence[Basis], heights: Sequence[Floats], count: int, deadline: float | None
) -> tuple[Floats, list[Floats]]:
    """Eigenvalues over k - 1, and `count` leading vectors cut into views; their mean squared length is one."""
    k, ends = len(bases), np.cumsum([0, *(len(h) for h in heights)])
    spans = [slice(ends[v], ends[v + 1]) for v in range(k)]
    A = np.zeros((ends[-1], ends[-1]))
    for a in range(k):
        for b in range(a):
            A[spans[a], spans[b]] = cross_matrix(bases, heights, a, b)
            A[spans[b], spans[a]] = A[spans[a], spans[b]].T
    values = in_background(eigh_in_place, A, deadline=deadline)[::-1] / (k - 1)
    leading = np.sqrt(k) * A[::-1][:count].T
    return values, [leading[span] for span in spans]


def correlations(scores: Sequence[Floats], weight: Floats | None = None) -> Floats:
    """Return the correlation of each column between views, the mean over pairs of views, (m,); 0 for a constant.

    Parameters
    ----------
    scores : sequence of (n, m) arrays
        One for each view.
    weight : (n,) array, optional

    Examples
    --------
    >>> a = np.array([[0.0], [1.0], [2.0]])
    >>> correlations([a, 3.0 - a])
    array([-1.])
    """
    w = np.ones(len(scores[0])) if weight is None else weight
    units = []
    for one in scores:
        centred = np.sqrt(w)[:, None] * (one - (w / w.sum()) @ one)
        length = np.linalg.norm(centred, axis=0)
        floor = 1e-12 * np.sqrt(w.sum()) * np.max(np.abs(one), axis=0, initial=0.0)
        units.append(np.where(length > floor, centred / np.where(length > floor, length, 1.0), 0.0))
    pairs = [(a, b) for a in range(len(units)) for b in range(a)]
    return np.mean([np.clip(np.sum(units[a] * units[b], axis=0), -1.0, 1.0) for a, b in pairs], axis=0)
