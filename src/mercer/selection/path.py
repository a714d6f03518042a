r"""Leave-one-out errors of many models at the price of one factorisation.

Symbols: W the weights, w_i on its diagonal; B the border, the functions that are not penalised; G = K + alpha W^-1; P
the block of the inverse of the bordered matrix that maps y to the coefficients a. With an orthonormal basis Q of what
is orthogonal to W^(1/2) B, and Q^T W^(1/2) K W^(1/2) Q = V diag(lambda) V^T, all ridges have

    P = W^(1/2) Z diag(1 / (lambda + alpha)) Z^T W^(1/2),    Z = Q V,

a sum of positive terms, even where K is positive definite only for coefficients orthogonal to the border.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Floats, Indices, real_numbers
from mercer.errors import ParameterError, TargetError
from mercer.numerics.eigen import eigh_in_place
from mercer.runtime.tiling import spans
from mercer.solvers.linear.border import Border

__all__ = ["RidgeSpectrum", "mean_leave_one_out", "ridge_path"]
__public__ = __all__

_TINY = np.finfo(np.float64).tiny
_BLOCK = 256  # eigenvectors at a time, where their squares are needed


@dataclass(frozen=True, eq=False)
class RidgeSpectrum:
    r"""Kernel ridge regression for all ridges: one eigendecomposition, then matrix products.

    Attributes
    ----------
    values : (m,) array
        lambda, ascending, not negative; m = n - s with s functions in the border.
    vectors : (m, n) array
        Z^T, in the memory of K.
    weight : (n,) array
        w.

    Examples
    --------
    >>> spectrum = RidgeSpectrum.of(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> spectrum.values
    array([1., 3.])
    >>> spectrum.degrees_of_freedom(np.array([1.0]))
    array([1.25])
    """

    values: Floats
    vectors: Floats
    weight: Floats

    @classmethod
    def of(cls, K: Floats, weight: Floats | None = None, border: Floats | None = None) -> RidgeSpectrum:
        """Decompose a Gram matrix (n, n), in its memory, with weights (n,) and a border (n, s)."""
        n = len(K)
        w = np.ones(n) if weight is None else real_numbers(weight, "weight")
        root = np.sqrt(w)
        if weight is not None:
            K *= root[:, None]
            K *= root
        if border is None or border.shape[1] == 0:
            values, vectors = eigh_in_place(K), K
        else:
            values, vectors, _ = bordered_spectrum(K, Border.of(root[:, None] * border))
        return cls(np.maximum(values, 0.0), vectors, w)  # rounding: a Gram matrix has no negative eigenvalue

    def solve(self, y: Floats, alphas: Floats) -> tuple[Floats, Floats]:
        """W^(-1/2) a, (p, n, k), and alpha times the diagonal of W^-1 P, (p, n), for targets (n, k) and ridges (p,)."""
        p, (n, k) = len(alphas), y.shape
        inverse = 1.0 / (self.values[:, None] + alphas)  # (m, p)
        share = alphas * inverse
        inner = self.vectors @ (np.sqrt(self.weight)[:, None] * y)
        a = self.vectors.T @ (inverse[:, :, None] * inner[:, None, :]).reshape(len(inverse), p * k)
        left = np.zeros((p, n))
        for rows in spans(len(self.vectors), _BLOCK):
            left += share[rows].T @ np.square(self.vectors[rows])
        return np.ascontiguousarray(a.reshape(n, p, k).transpose(1, 0, 2)), left

    def left_out_errors(self, y: Floats, alphas: Floats, *, copies: bool = False) -> Floats:
        r"""Errors of samples that were left out, (p, n, k), for targets (n, k) and ridges (p,).

        .. math:: y_i - f_{-i}(x_i) = \frac{y_i - f(x_i)}{1 - \tau_i (1 - \alpha P_{ii} / w_i)}

        A sample is left out whole, tau = 1; or of its w copies one alone (and a sample of weight below one whole),
        tau = 1 / max(w, 1): then weights mean repetitions here as well.
        """
        a, left = self.solve(y, alphas)
        tau = 1.0 / np.maximum(self.weight, 1.0) if copies else np.ones(len(self.weight))
        share = np.maximum(1.0 - tau + tau * left, _TINY)
        return alphas[:, None, None] * a / (np.sqrt(self.weight) * share)[:, :, None]

    def folded_errors(self, y: Floats, alphas: Floats, folds: Sequence[Indices]) -> Floats:
        """Errors of samples left out fold by fold, (p, n, k): those of a fold are P_FF^-1 a_F."""
        a, _ = self.solve(y, alphas)
        root = np.sqrt(self.weight)[:, None]
        for fold in folds:
            Z = np.ascontiguousarray(self.vectors[:, fold])
            for place, alpha in enumerate(alphas):
                block = (Z / (self.values + alpha)[:, None]).T @ Z
                a[place, fold] = np.linalg.solve(block, a[place, fold]) / root[fold]
        return a

    def degrees_of_freedom(self, alphas: Floats) -> Floats:
        """Trace of the matrix that maps y to fitted values, (p,): the border's functions, and each lambda's share."""
        n = self.vectors.shape[1]
        return n - len(self.values) + np.sum(self.values[:, None] / (self.values[:, None] + alphas), axis=0)

    def generalized(self, y: Floats, alphas: Floats) -> Floats:
        r"""Generalised cross-validation, (p, k): the mean squared error over the square of 1 - dof / N.

        .. math:: \frac{N \sum_i w_i (y_i - f(x_i))^2}{(N - \mathrm{dof})^2}, \qquad N = \sum_i w_i
        """
        inner = self.vectors @ (np.sqrt(self.weight)[:, None] * y)
        share = alphas / (self.values[:, None] + alphas)
        rss = np.square(share).T @ np.square(inner)
        total = self.weight.sum()
        return total * rss / np.square(total - self.degrees_of_freedom(alphas))[:, None]


def bordered_spectrum(K: Floats, border: Border) -> tuple[Floats, Floats, Floats]:
    """Decompose a matrix (n, n), in its memory, on the complement of s columns Q1 R = border.

    Returns
    -------
    values : (n - s,) array
        lambda, ascending.
    vectors : (n - s, n) array
        Z^T, the eigenvectors of what is left of K, as rows.
    above : (s, n - s) array
        Q1^T K Z.
    """
    border.turn(K)
    s = border.count
    values = eigh_in_place(K[s:, s:])
    above = K[:s, s:] @ K[s:, s:].T
    K[s:, :s] = 0.0
    vectors = K[s:]
    for rows in spans(len(K) - s, _BLOCK):  # Z^T = (0, V^T) Q^T
        vectors[rows] -= ((vectors[rows] @ border.V) @ border.T.T) @ border.V.T
    return values, vectors, above


def ridge_path(
    K: Floats, y: Floats, alphas: Floats, *, intercept: bool = False, weight: Floats | None = None
) -> Floats:
    r"""Leave-one-out predictions of kernel ridge regression for many ridges, from one eigendecomposition.

    .. math:: f_{-i}(x_i) = y_i - a_i / P_{ii}, \qquad P = G^{-1} - g g^\top / (1^\top g), \qquad g = G^{-1} 1

    Seed: [KIKS] Section 4.1.1; [SS] Section 5.1 for the form with an intercept, where P has the second
    term.

    Parameters
    ----------
    K : (n, n) array
        Gram matrix; it is not changed.
    y : (n,) or (n, k) array
        Targets.
    alphas : (p,) array
        Ridges, positive.
    intercept : bool, default False
        Whether the model has a constant that is not penalised.
    weight : (n,) array, optional
        Positive; a sample is left out with its whole weight.

    Returns
    -------
    f : (p, n) or (p, n, k) array

    Notes
    -----
    Cost one eigendecomposition, then O(n^2) per ridge in matrix products. Memory: a copy of K, and twice as much
    again for the decomposition.

    Examples
    --------
    >>> K = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> ridge_path(K, np.array([1.0, 3.0]), np.array([1.0])).round(12)  # K12 y2 / G22, K21 y1 / G11
    array([[0.75, 0.25]])
    """
    alphas = positive_ridges(alphas)
    y = real_numbers(y, "y", TargetError)
    targets = y.reshape(len(y), -1)
    border = np.ones((len(y), 1)) if intercept else None
    spectrum = RidgeSpectrum.of(np.array(K, dtype=np.float64, order="C"), weight, border)
    out = targets - spectrum.left_out_errors(targets, alphas)
    return out.reshape(len(alphas), *y.shape)


def positive_ridges(alphas: Floats) -> Floats:
    """Ridges as an array (p,), or ParameterError."""
    alphas = np.atleast_1d(real_numbers(alphas, "alphas"))
    if not np.all(alphas > 0):
        raise ParameterError(f"alphas={alphas} were given; all must be positive. Start the grid above zero.")
    return alphas


def mean_leave_one_out(K: Floats, codes: Indices, count: int) -> Floats:
    r"""Leave-one-out values of the nearest-mean classifier: each sample is taken out of its own class mean.

    .. math:: f_c(x_i) = \langle \Phi(x_i), \mu_c \rangle - \tfrac12 \|\mu_c\|^2

    Seed: [HSS] Eqs. (4)-(6).

    Parameters
    ----------
    K : (n, n) array
        Gram matrix.
    codes : (n,) array of int
        Class of each sample, 0 to count - 1.
    count : int
        Number of classes.

    Returns
    -------
    f : (n, count) array
        The class of a sample that was its only member has the value minus infinity.

    Examples
    --------
    >>> X = np.array([[0.0], [2.0], [5.0], [7.0]])
    >>> mean_leave_one_out(X @ X.T, np.array([0, 0, 1, 1]), 2).argmax(axis=1)
    array([0, 0, 1, 1])
    """
    member = codes[:, None] == np.arange(count)
    size = member.sum(axis=0).astype(float)
    sums = K @ member.astype(float)  # (n, c): sum of k(x_i, .) over class c
    total = np.array([sums[member[:, c], c].sum() for c in range(count)])
    own = np.arange(len(codes)), codes
    with np.errstate(divide="ignore", invalid="ignore"):
        f = sums / size - 0.5 * total / size**2
        left = size[codes] - 1.0
        inner = sums[own] - np.diagonal(K)
        rest = total[codes] - 2.0 * sums[own] + np.diagonal(K)
        f[own] = np.where(left > 0, inner / left - 0.5 * rest / left**2, -np.inf)
    return f
