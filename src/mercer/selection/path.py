r"""Leave-one-out errors of many models at the price of one factorisation.

Symbols: K = U diag(lambda) U^T, G = K + alpha I, g = G^-1 1 for the unpenalised constant.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.errors import ParameterError

__all__ = ["mean_leave_one_out", "ridge_path"]


def ridge_path(K: Floats, y: Floats, alphas: Floats, *, intercept: bool = False) -> Floats:
    r"""Leave-one-out predictions of kernel ridge regression for many ridges, from one eigendecomposition.

    .. math:: f_{-i}(x_i) = y_i - a_i / P_{ii}, \qquad P = G^{-1} - g g^\top / (1^\top g)

    Seed: [KIKS] Section 4.1.1; [SS] Section 5.1 for the form with an intercept, where P has the second
    term. Ledger: V-LOOKRR, V-PATH.

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

    Returns
    -------
    f : (p, n) or (p, n, k) array

    Notes
    -----
    Cost one eigendecomposition, then O(n^2) per ridge.

    Examples
    --------
    >>> K = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> ridge_path(K, np.array([1.0, 3.0]), np.array([1.0]))  # K12 y2 / G22, K21 y1 / G11
    array([[0.75, 0.25]])
    """
    alphas = np.atleast_1d(np.asarray(alphas, dtype=float))
    if not np.all(alphas > 0):
        raise ParameterError(f"alphas={alphas} were given; all must be positive. Start the grid above zero.")
    values, U = np.linalg.eigh(K)
    values = np.maximum(values, 0.0)  # rounding: a Gram matrix has no negative eigenvalue
    y = np.asarray(y, dtype=float)
    targets = y.reshape(len(y), -1)
    Uy, U1, U2 = U.T @ targets, U.sum(axis=0), U**2
    out = np.empty((len(alphas), *targets.shape))
    for place, alpha in enumerate(alphas):
        inverse = 1.0 / (values + alpha)
        a, P = U @ (inverse[:, None] * Uy), U2 @ inverse
        if intercept:
            g = U @ (inverse * U1)
            a -= np.outer(g, g @ targets) / g.sum()
            P = P - g**2 / g.sum()
        out[place] = targets - a / np.maximum(P, np.finfo(float).tiny)[:, None]
    return out.reshape(len(alphas), *y.shape)


def mean_leave_one_out(K: Floats, codes: Indices, count: int) -> Floats:
    r"""Leave-one-out values of the nearest-mean classifier: each sample is taken out of its own class mean.

    .. math:: f_c(x_i) = \langle \Phi(x_i), \mu_c \rangle - \tfrac12 \|\mu_c\|^2

    Seed: [HSS] Eqs. (4)-(6). Ledger: C-MEAN, V-LOO.

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
