r"""Least squares support vector machines for all C at the price of one eigendecomposition.

Symbols: w sample weights, D = diag(sqrt w), n samples, N = sum w; the machine solves
(K + diag(1 / (C w))) a + b 1 = y with 1^T a = 0. Multiplied by D this is (A + I / C) (D^-1 a) + b D 1 = D y with A =
D K D, a shift that is the same for all samples; in coordinates Q2 orthogonal to D 1, A = U diag(lambda) U^T.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats, real_numbers
from mercer.errors import ParameterError, TargetError
from mercer.gram.gram import HasFactor
from mercer.runtime.tiling import blas_for, spans
from mercer.selection.path import bordered_spectrum
from mercer.solvers.linear.border import Border

__all__ = ["LeastSquaresPath", "best_cost", "least_squares_log_evidence", "lssvm_path", "spectrum"]
__public__ = ["LeastSquaresPath", "lssvm_path"]

COSTS = np.logspace(-4.0, 8.0, 49)  # in units of one over the mean squared distance from the mean, in feature space
_FINER = 17  # further costs about the best of these
_ROWS = 4096
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class LeastSquaresPath:
    """Results of least squares machines with the same kernel and different C.

    Attributes
    ----------
    C : (p,) array
    press : (p, k) array
        Weighted sum of the squared left-out errors of each output.
    log_evidence : (p, k) array
        Logarithm of the evidence, at its most likely scale of the prior.
    left_out : (p, n, k) array or None
        For each sample the value of the machine fitted to all others; None where K has low rank.
    coef : (p, n, k) array or None
        a.
    intercept : (p, k) array or None
        b.
    """

    C: Floats
    press: Floats
    log_evidence: Floats
    left_out: Floats | None = None
    coef: Floats | None = None
    intercept: Floats | None = None


def lssvm_path(K: Floats, y: Floats, C: Any, weight: Floats | None = None) -> LeastSquaresPath:
    r"""Least squares support vector machines for many C, each with its left-out values, from one eigendecomposition.

    .. math:: \min_{f, b} \; \frac{C}{2} \sum_i w_i (y_i - f(x_i) - b)^2 + \tfrac12 \|f\|^2, \qquad
              f_{-i}(x_i) + b_{-i} = y_i - a_i / P_{ii}

    Seed: [SS] Section 3.4.1 (solutions for different values of gamma, here C, at the price of one), Section 5.1 (the
    left-out values).

    Parameters
    ----------
    K : (n, n) array
        Gram matrix; it is not changed. Of a positive definite kernel, or of one that is conditionally so of order 1.
    y : (n,) or (n, k) array
        Targets, or classes as -1 and 1.
    C : (p,) array
        Positive.
    weight : (n,) array, optional
        Positive; a sample of weight w counts as w copies and is left out with all of them.

    Returns
    -------
    path : LeastSquaresPath

    Notes
    -----
    Cost one eigendecomposition of order n, then O(n^2) for each C.

    Examples
    --------
    >>> path = lssvm_path(np.eye(3), np.array([1.0, 2.0, 6.0]), [1.0])
    >>> path.left_out[0, :, 0]  # nobody is like another: the mean of the others
    array([4. , 3.5, 1.5])
    >>> path.intercept
    array([[3.]])
    """
    y = real_numbers(y, "y", TargetError)
    w = np.ones(len(y)) if weight is None else real_numbers(weight, "weight")
    with blas_for(len(y)):
        return _DenseSpectrum.of(np.array(K, dtype=float, order="C"), y.reshape(len(y), -1), w).at(C)


def spectrum(gram: Any, Y: Floats, weight: Floats) -> Any:
    """Return what gives the path of a Gram at any C by ``at(C)``, and its unit of C; the Gram is left as it is."""
    if isinstance(gram, HasFactor):
        return _FactorSpectrum.of(gram, Y, weight)
    return _DenseSpectrum.of(gram.to_dense(), Y, weight)


def best_cost(parts: list[Any], criterion: Callable[[LeastSquaresPath], Floats]) -> tuple[float, Floats, Floats]:
    """Return the C that minimises a criterion summed over spectra, the grid that was tried, and its values there.

    Parameters
    ----------
    parts : list
        A list of what `spectrum` returns.
    criterion : callable
        Returns one number for each C and output, (p, k).
    """

    def total(grid: Floats) -> Floats:
        values = sum(criterion(part.at(grid)).sum(axis=1) for part in parts)
        return np.where(np.isfinite(values), values, np.inf)

    coarse = COSTS * max(part.unit for part in parts)
    first = total(coarse)
    place = int(np.argmin(first))
    low, high = coarse[max(place - 1, 0)], coarse[min(place + 1, len(coarse) - 1)]
    fine = np.exp(np.linspace(np.log(low), np.log(high), _FINER))
    second = total(fine)
    grid, values = np.concatenate([coarse, fine]), np.concatenate([first, second])
    order = np.argsort(grid, kind="stable")
    grid, values = grid[order], values[order]
    return float(grid[np.argmin(values)]), grid, values


def least_squares_log_evidence(quadratic: Floats, logdet: float, cost: float, n: int, total: float) -> Floats:
    r"""Logarithm of the evidence of a least squares machine at its most likely scale of the prior.

    .. math:: -2 \log p(y) = (N - 1) (\log 2 \pi s^2 + 1) + \log |G| + \log 1^\top G^{-1} 1 + \sum_i \log w_i
              - (N - n) \log C, \qquad s^2 = \frac{y^\top P y}{N - 1}

    The function has the prior covariance s^2 K, the errors the variance s^2 / C, and the bias a flat prior. The last
    two terms make a weight of w the same as w copies.

    Parameters
    ----------
    quadratic : (k,) array
        y^T P y = y^T a, of each output.
    logdet : float
        The sum of the three terms after the first.
    cost : float
        C.
    n : int
        Samples.
    total : float
        N.
    """
    free = total - 1.0
    if free <= 0.0:
        return np.full(np.shape(quadratic), np.nan)
    scale = np.maximum(np.asarray(quadratic, dtype=float) / free, _TINY)
    return -0.5 * (free * (np.log(2.0 * np.pi * scale) + 1.0) + logdet - (total - n) * np.log(cost))


def _costs(C: Any) -> Floats:
    C = np.atleast_1d(real_numbers(C, "C"))
    if C.ndim != 1 or not np.all((C > 0) & np.isfinite(C)):
        raise ParameterError(f"C={C} was given; all must be positive and finite. Start the grid above zero.")
    return C


@dataclass(frozen=True, eq=False)
class _DenseSpectrum:
    values: Floats  # lambda, (n - 1,)
    basis: Floats  # E = Q2 U, (n, n - 1)
    moments: Floats  # E^T D y, (n - 1, k)
    above: Floats  # Q1^T A E, (n - 1,)
    first: Floats  # Q1^T D y, (k,)
    border: Border
    y: Floats
    weight: Floats

    @classmethod
    def of(cls, K: Floats, Y: Floats, w: Floats) -> _DenseSpectrum:
        """Decompose K, which is overwritten."""
        D = np.sqrt(w)
        K *= D
        K *= D[:, None]
        border = Border.of(D[:, None])
        values, vectors, above = bordered_spectrum(K, border)
        scaled = D[:, None] * Y
        return cls(values, vectors.T, vectors @ scaled, above[0], border.into(scaled)[0], border, Y, w)

    @property
    def unit(self) -> float:
        """One over the mean squared distance from the mean in feature space."""
        mean = float(np.sum(np.abs(self.values))) / float(self.weight.sum())
        return 1.0 / mean if mean > 0.0 else 1.0

    def at(self, C: Any) -> LeastSquaresPath:
        """Return the path at some C."""
        C, Y, w = _costs(C), self.y, self.weight
        n, k = Y.shape
        D, total = np.sqrt(w), float(w.sum())
        inverse = 1.0 / (self.values[:, None] + 1.0 / C)  # (n - 1, p)
        z = inverse[:, :, None] * self.moments[:, None, :]
        scaled = self.basis @ z.reshape(len(z), len(C) * k)  # D^-1 a
        share = np.empty((n, len(C)))  # the diagonal of D^-1 P D^-1
        for rows in spans(n, 256):
            share[rows] = self.basis[rows] ** 2 @ inverse
        scaled = scaled.reshape(n, len(C), k)
        with np.errstate(divide="ignore", invalid="ignore"):
            left_out = Y[:, None, :] - scaled / (D[:, None] * np.where(share > 0.0, share, np.nan))[:, :, None]
        bias = self.first - np.einsum("q,qpk->pk", self.above, z)
        intercept = self.border.multipliers(bias.reshape(1, -1)).reshape(len(C), k)
        logdet = np.log(total) - np.sum(np.log(np.maximum(inverse, _TINY)), axis=0)
        quadratic = np.einsum("qk,qpk->pk", self.moments, z)
        evidence = np.array(
            [
                least_squares_log_evidence(q, float(d), float(c), n, total)
                for q, d, c in zip(quadratic, logdet, C, strict=True)
            ]
        )
        left_out, coef = left_out.transpose(1, 0, 2), (D[:, None, None] * scaled).transpose(1, 0, 2)
        press = np.einsum("i,pik->pk", w, (Y - left_out) ** 2)
        return LeastSquaresPath(C, press, evidence, left_out, coef, intercept)


@dataclass(frozen=True, eq=False)
class _FactorSpectrum:
    gram: Any
    mean: Floats  # of the rows of F, (r,)
    values: Floats  # lambda, (r,)
    vectors: Floats  # of the centred F^T W F, (r, r)
    moments: Floats  # of the centred y in these, (r, k)
    y: Floats  # centred
    weight: Floats

    @classmethod
    def of(cls, gram: Any, Y: Floats, w: Floats) -> _FactorSpectrum:
        """Decompose the weighted covariance of the factor's rows; two passes over the rows."""
        total = float(w.sum())
        Y = Y - w @ Y / total
        blocks = spans(len(w), _ROWS)
        mean = sum((w[rows] @ gram.factor(rows) for rows in blocks), start=np.zeros(1)) / total
        square, moment = 0.0, 0.0
        for rows in blocks:
            F = gram.factor(rows) - mean
            scaled = F * w[rows, None]
            square, moment = square + F.T @ scaled, moment + scaled.T @ Y[rows]
        values, V = np.linalg.eigh(np.asarray(square))
        return cls(gram, mean, np.maximum(values, 0.0), V, V.T @ np.asarray(moment), Y, w)

    @property
    def unit(self) -> float:
        """One over the mean squared distance from the mean in feature space."""
        mean = float(np.sum(self.values)) / float(self.weight.sum())
        return 1.0 / mean if mean > 0.0 else 1.0

    def at(self, C: Any) -> LeastSquaresPath:
        """Return the path at some C, all in one pass over the rows."""
        C, Y, w = _costs(C), self.y, self.weight
        n, k = Y.shape
        total = float(w.sum())
        inverse = 1.0 / (self.values[:, None] + 1.0 / C)  # (r, p)
        weights = self.moments[:, None, :] * inverse[:, :, None]  # (r, p, k)
        press, squared = np.zeros((len(C), k)), np.zeros((len(C), k))
        for rows in spans(n, _ROWS):
            F = (self.gram.factor(rows) - self.mean) @ self.vectors
            error = Y[rows, None, :] - (F @ weights.reshape(len(self.values), len(C) * k)).reshape(len(F), len(C), k)
            leverage = w[rows, None] * ((F**2) @ inverse + 1.0 / total)
            with np.errstate(divide="ignore", invalid="ignore"):
                left = error / np.where(leverage < 1.0, 1.0 - leverage, np.nan)[:, :, None]
            press += np.einsum("i,ipk->pk", w[rows], left**2)
            squared += np.einsum("i,ipk->pk", w[rows], error**2)
        quadratic = C[:, None] * squared + np.einsum("rpk,rpk->pk", weights, weights)
        # directions outside of the factor have the eigenvalue 1 / C
        logdet = -np.sum(np.log(inverse), axis=0) - (n - 1 - len(self.values)) * np.log(C) + np.log(total)
        evidence = [
            least_squares_log_evidence(q, float(d), float(c), n, total)
            for q, d, c in zip(quadratic, logdet, C, strict=True)
        ]
        return LeastSquaresPath(C, press, np.array(evidence))
