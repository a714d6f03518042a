r"""Cross-validation of linear smoothers in closed form: all folds for the price of one factorisation.

Symbols: ``P`` the block of the inverse of the bordered matrix that maps y to the coefficients a, ``F`` a fold, ``dof``
the trace of the matrix that maps y to the fitted values, ``w`` the weights, N their sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.model_selection import KFold

from mercer.arrays import Floats, Indices
from mercer.errors import NotPositiveDefinite, ParameterError

__all__ = ["fold_predictions", "generalized_cross_validation", "partition"]
__public__ = __all__


def fold_predictions(
    y: Floats, coef: Floats, inverse_block: Callable[[Indices], Floats], folds: Sequence[Indices]
) -> Floats:
    r"""Predictions of each fold by the model fitted to all others, from a solved linear system.

    .. math:: f_{-F}(x_F) = y_F - (P_{FF})^{-1} a_F

    Seed: [KIKS] Section 4.1.1 and [SS] Section 5.1, where a fold is one sample.

    Parameters
    ----------
    y : (n,) or (n, k) array
        Right-hand side of the system.
    coef : (n,) or (n, k) array
        Its solution a.
    inverse_block : callable
        ``inverse_block(F)`` returns the rows and columns F of P, as ``solution.state.inverse_block`` of Cholesky and of
        Woodbury does.
    folds : sequence of index arrays
        Which samples are left out together; samples in none of them get NaN.

    Returns
    -------
    f : (n,) or (n, k) array

    Raises
    ------
    NotPositiveDefinite
        If the samples outside a fold do not determine the functions of the border.

    Notes
    -----
    Exact for sample weights and with a border too, as for `leave_one_out`. Cost n^3 operations for all folds of equal
    size together, and q^3 / 3 for a fold of q samples.

    Examples
    --------
    >>> G = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> y, P = np.array([1.0, 3.0]), np.linalg.inv(G)
    >>> fold_predictions(y, P @ y, lambda F: P[np.ix_(F, F)], [np.array([0]), np.array([1])]).round(12)
    array([1.5, 0.5])
    """
    y, coef = np.asarray(y, dtype=np.float64), np.asarray(coef, dtype=np.float64)
    out = np.full(y.shape, np.nan)
    for place, fold in enumerate(folds):
        try:
            factor = cho_factor(inverse_block(fold))
        except np.linalg.LinAlgError as error:
            raise NotPositiveDefinite(
                f"Without fold {place}, of {len(fold)} samples, the linear system has no unique solution: the other "
                "samples do not determine the functions that are not penalised. Use smaller folds, or a simpler border."
            ) from error
        out[fold] = y[fold] - cho_solve(factor, coef[fold])
    return out


def generalized_cross_validation(residuals: Floats, dof: float, weight: Floats | None = None) -> float:
    r"""Generalised cross-validation: leave-one-out with all leverages at their mean.

    .. math:: \frac{N \sum_i w_i (y_i - f(x_i))^2}{(N - \mathrm{dof})^2}, \qquad N = \sum_i w_i

    Seed: [KIKS] Section 4.1.1 (the hat matrix), [SS] Section 2.5 (smoothing splines).

    Parameters
    ----------
    residuals : (n,) or (n, k) array
        y - f at the samples; several outputs are added up.
    dof : float
        Degrees of freedom; below N.
    weight : (n,) array, optional
        Weights w; a sample of weight w counts as w copies.

    Examples
    --------
    >>> generalized_cross_validation(np.array([1.0, -1.0, 1.0, -1.0]), dof=2.0)
    4.0
    """
    residuals = np.asarray(residuals, dtype=np.float64)
    w = np.ones(len(residuals)) if weight is None else np.asarray(weight, dtype=np.float64)
    total = float(w.sum())
    if not dof < total:
        raise ParameterError(
            f"dof={dof} was given for samples of total weight {total}; it must be smaller. Regularise more strongly."
        )
    return float(total * np.sum(w * np.square(residuals).T) / (total - dof) ** 2)


def partition(cv: Any, n: int) -> list[Indices]:
    """Folds of n samples: each sample is in exactly one.

    Parameters
    ----------
    cv : int, splitter of scikit-learn, or iterable
        A number of folds of neighbouring samples, an object such as ``KFold(5, shuffle=True)``, or pairs (train, test)
        of indices.
    n : int

    Examples
    --------
    >>> partition(2, 5)
    [array([0, 1, 2]), array([3, 4])]
    """
    if isinstance(cv, (int, np.integer)) and not 2 <= cv <= n:
        raise ParameterError(
            f"cv={cv} folds were asked of {n} samples; from 2 folds to one per sample are accepted. Give a number "
            "between them, or cv=None for leaving out one sample at a time."
        )
    if isinstance(cv, (int, np.integer)):
        cv = KFold(int(cv))
    try:
        pairs = list(cv.split(np.zeros((n, 1))) if hasattr(cv, "split") else cv)
        folds = [np.asarray(test, dtype=np.intp) for _, test in pairs]
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"cv={cv!r} was given; a number of folds, a splitter of scikit-learn or pairs (train, test) of indices are "
            "accepted. Use for example cv=5."
        ) from error
    whole = folds and np.array_equal(np.sort(np.concatenate(folds)), np.arange(n))
    if not whole or any(len(train) + len(test) != n for train, test in pairs):
        raise ParameterError(
            f"cv={cv!r} does not leave out each of {n} samples exactly once; the closed form needs a partition. Use "
            "for example KFold(5, shuffle=True)."
        )
    return folds
