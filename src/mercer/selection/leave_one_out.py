r"""Leave-one-out predictions in closed form: n fits for the price of one.

Symbols: ``G`` = K + diag(shift) with or without a border, ``P`` the block of the inverse of the bordered
matrix that maps y to the coefficients a (G^-1 without a border), ``H`` the hat matrix, f = H y.
"""

from __future__ import annotations

import warnings

import numpy as np

from mercer.arrays import Floats, real_numbers
from mercer.errors import DegenerateWarning

__all__ = ["leave_one_out", "leave_one_out_from_hat"]
__public__ = __all__


def leave_one_out(y: Floats, coef: Floats, inverse_diagonal: Floats) -> Floats:
    r"""Prediction of each sample by the model fitted to all the others, from a solved linear system.

    .. math:: f_{-i}(x_i) = y_i - a_i / P_{ii}

    Seed: [KIKS] Section 4.1.1 for ridge regression, where the errors are H^-1 (y - K a) with H the diagonal
    of I - K G^-1; [SS] Section 5.1 for the LS-SVM, with a border of ones.

    Parameters
    ----------
    y : (n,) or (n, k) array
        Right-hand side of the system.
    coef : (n,) or (n, k) array
        Its solution a.
    inverse_diagonal : (n,) array
        Diagonal of P, as ``solution.state.inverse_diagonal()`` of Cholesky and of Woodbury.

    Returns
    -------
    f : (n,) or (n, k) array
        NaN, with a DegenerateWarning, for a sample without which the system has no unique solution, as the
        only one at which a function of the border is not zero.

    Notes
    -----
    Exact for sample weights too (shift = alpha / weight), for which the weight of the sample left out does
    not matter, and with a border, whose functions are refitted. Centring, scaling or anything else that
    was learned from y before is not undone.

    Examples
    --------
    >>> G = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> y = np.array([1.0, 3.0])
    >>> leave_one_out(y, np.linalg.solve(G, y), np.diag(np.linalg.inv(G)))  # K12 y2 / G22, K21 y1 / G11
    array([1.5, 0.5])
    """
    y, coef = real_numbers(y, "y"), real_numbers(coef, "coef")
    return y - _quotient(coef, real_numbers(inverse_diagonal, "inverse_diagonal"))


def leave_one_out_from_hat(y: Floats, fitted: Floats, leverage: Floats) -> Floats:
    r"""Prediction of each sample by the model fitted to all the others, from fitted values.

    .. math:: f_{-i}(x_i) = y_i - (y_i - f(x_i)) / (1 - H_{ii})

    Seed: [KIKS] Section 4.1.1.

    Parameters
    ----------
    y : (n,) or (n, k) array
        Targets.
    fitted : (n,) or (n, k) array
        Fitted values f = H y.
    leverage : (n,) array
        Diagonal of H, as ``solution.state.leverage()`` of Woodbury.

    Returns
    -------
    f : (n,) or (n, k) array
        NaN, with a DegenerateWarning, where the leverage is one.

    Notes
    -----
    The same numbers as `leave_one_out`, with fewer correct digits where the leverage is near one.

    Examples
    --------
    >>> leave_one_out_from_hat(np.array([1.0, 3.0]), np.array([2.0, 2.0]), np.array([0.5, 0.5]))  # a mean
    array([3., 1.])
    """
    y, fitted = real_numbers(y, "y"), real_numbers(fitted, "fitted")
    return y - _quotient(y - fitted, 1.0 - real_numbers(leverage, "leverage"))


def _quotient(errors: Floats, share: Floats) -> Floats:
    """Errors (n,) or (n, k) divided by shares (n,); NaN where a share is zero."""
    alone = ~(share > 0.0)
    if np.any(alone):
        warnings.warn(
            f"{int(np.sum(alone))} samples, the first of them number {int(np.flatnonzero(alone)[0])}, are "
            "fitted by functions that no other sample determines; their left-out predictions are not "
            "defined and NaN is returned. Leave these samples out of the score, or use a simpler border.",
            DegenerateWarning,
            stacklevel=3,
        )
    share = np.where(alone, np.nan, share)
    return (errors.T / share).T
