"""Ridge regression of several components at once, each with the ridge that is best for samples left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.arrays import Floats
from mercer.budget import budget
from mercer.estimators.directions import factor_rank
from mercer.estimators.squares.factor_ridge import FactorSpectrum, left_out_errors_of
from mercer.gram.gram import has_array
from mercer.gram.low_rank.factor_rows import SHARE
from mercer.runtime.tiling import in_background, spans
from mercer.selection.path import RidgeSpectrum

__all__ = ["ComponentRidges", "ridge_buffers"]

_GRID = np.logspace(
    4.0, -8.0, 25
)  # ridges, in units of the mean of k(x, x); the first of those that are alike is taken
_ROWS = 4096  # of a factor at a time
_ERRORS = 2**16  # of left-out samples at a time
_ALIKE = 1e-24  # of the mean square of a component: smaller errors are alike


@dataclass(frozen=True, eq=False)
class ComponentRidges:
    r"""Functions with a constant that is not penalised, fitted to components whose weighted means are zero.

    .. math:: \alpha_j = \arg\min_\alpha \sum_i w_i \left(z_{ij} - f_{-i, j}(x_i)\right)^2

    Attributes
    ----------
    alphas, errors : (q,) arrays
        The ridge of each component, and its error over the variance of the component.
    coef : (n, q) array
        Dual coefficients.
    intercept : (q,) array
    weights : (r, q) array or None
        The functions in the columns of the factor, if there is one.
    """

    alphas: Floats
    errors: Floats
    coef: Floats
    intercept: Floats
    weights: Floats | None = None

    @classmethod
    def of(cls, K: Any, scores: Floats, w: Floats, memory: Any = None, deadline: float | None = None) -> Self:
        """Fit with a Gram that has a matrix, which is overwritten, or a factor."""
        share = w / w.sum()
        unit = float(share @ K.diag())
        grid = _GRID * (unit if unit > 0.0 else 1.0)
        if (rank := factor_rank(K)) is not None and rank < len(w):
            allowed = SHARE * budget(memory)
            spectrum = in_background(FactorSpectrum.of, K, w, True, allowed, deadline=deadline)
            alphas, errors = _best_ridges(spectrum, scores, grid, w)
            return cls(alphas, errors, *_from_factor(K, spectrum, scores, alphas))
        means, root = np.asarray(K @ share), np.sqrt(w)[:, None]
        array = K.release() if has_array(K) else K.to_dense()
        whole = in_background(RidgeSpectrum.of, array, w, np.ones((len(w), 1)), deadline=deadline)
        alphas, errors = _best_ridges(whole, scores, grid, w)
        inner = whole.vectors @ (root * scores)
        coef = root * (whole.vectors.T @ (inner / (whole.values[:, None] + alphas)))
        return cls(alphas, errors, coef, -(means @ coef))


def _from_factor(K: Any, spectrum: FactorSpectrum, scores: Floats, alphas: Floats) -> tuple[Floats, Floats, Floats]:
    """Return coefficients, intercepts and weights from the factor of a Gram, some rows at a time."""
    n, w = len(scores), spectrum.weight[:, None]
    inner = sum(spectrum.rows(rows).T @ (np.sqrt(w[rows]) * scores[rows]) for rows in spans(n, _ROWS))
    weights = spectrum.turn @ (inner / spectrum.divisors(alphas))[: len(spectrum.turn)]
    intercept = -(spectrum.origin @ weights)
    coef = np.empty_like(scores)
    for rows in spans(n, _ROWS):
        coef[rows] = w[rows] * (scores[rows] - K.factor(rows) @ weights - intercept) / alphas
    return coef, intercept, weights


def _best_ridges(spectrum: Any, scores: Floats, grid: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Return the best ridge of each component, and its error of left-out samples over the variance."""
    n, q = scores.shape
    variance = w @ np.square(scores)
    alphas, errors = np.empty(q), np.empty(q)
    for columns in spans(q, max(1, _ERRORS // (len(grid) * n))):
        found = left_out_errors_of(spectrum, scores[:, columns], grid, "loo")
        total = np.maximum(np.einsum("i,pik->pk", w, np.square(found)), _ALIKE * variance[columns])
        alphas[columns] = grid[np.argmin(total, axis=0)]
        errors[columns] = np.min(total, axis=0)
    return alphas, np.divide(errors, variance, out=np.zeros(q), where=variance > 0.0)


def ridge_buffers(n: int, rank: int) -> dict[str, int]:
    """Return what the choice takes beside the Gram, by name, in bytes."""
    errors = {"errors of left-out samples": 32 * max(_ERRORS, len(_GRID) * n)}
    if rank < n:
        return {"normal equations": 32 * rank**2, "rows of the factor at a time": 32 * _ROWS * rank, **errors}
    return {"Gram matrix": 8 * n * n, "work space": 16 * n * n, **errors}
