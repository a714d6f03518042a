r"""Errors of left-out samples as a function of the kernel and the ridge, with derivatives.

Symbols: s_i = alpha / w_i the shift, B the border, P the block of the inverse of the bordered matrix that maps y to the
coefficients a, e_i the error of sample i when it is left out, C = sum_i w_i e_i^2 over all outputs.

dP = -P dK P holds with and without a border. If C depends on K through a and P only, with derivatives u in a and V
(symmetric) in P, then dC = <D, dK> with the one matrix D = -(P u a^T + a u^T P) / 2 - P V P.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.budget import UNLIMITED, Resources
from mercer.domains import Samples
from mercer.gram import Dense
from mercer.kernels import Kernel
from mercer.kernels.kernel import pullback
from mercer.runtime.tiling import spans
from mercer.solvers.linear.cholesky_solver import Factored
from mercer.spec import free_names

__all__ = ["RidgeCriterion"]

_BLOCK = 256
_FLOOR = 1e-24  # of the mean square of y: below it errors are rounding, and their logarithm would be pursued forever


class _Error(NamedTuple):
    """An error C with its derivatives: in a, in P (as V = -diag(square) - Z E^T - E Z^T), and in s where it is bare."""

    value: float
    coef: Floats  # (n, k)
    square: Floats  # (n,)
    left: Floats  # Z, (n, g)
    right: Floats  # E, (n, g)
    shift: Floats  # (n,)


class RidgeCriterion:
    r"""Logarithm of the mean squared error of left-out samples, for `tune`.

    .. math:: \log \frac1N \sum_i w_i e_i^2, \qquad e_i = \frac{s_i a_i}{1 - \tau_i (1 - s_i P_{ii})},
        \quad \tau_i = \frac1{\max(w_i, 1)}

    One of the w copies of a sample is left out (a sample of weight below one whole), so that weights mean repetitions;
    tau = 1 is the usual a_i / P_ii. Folds are left out whole, e_F = (P_FF)^-1 a_F.

    Seed: [KIKS] Section 4.1.1, [SS] Section 5.1, minimised as the evidence of [SS] Section 5.2 is.

    Parameters
    ----------
    S : Samples
    y : (n, k) array
    weight : (n,) array
        Positive.
    border : (n, s) array, optional
    cv : "loo", "gcv" or sequence of index arrays
        The last are folds.
    resources : Resources
        For the Gram matrix.

    Notes
    -----
    A call costs a Gram matrix, 2 n^3 operations and one pullback of the kernel; memory two n x n arrays.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Gaussian
    >>> X, y = Vectors.pack([[0.0], [1.0], [2.0]]), np.array([[0.0], [1.0], [0.5]])
    >>> criterion = RidgeCriterion(X, y, np.ones(3))
    >>> value, slope, beside = criterion(Gaussian(1.0), {"alpha": np.array(0.1)})
    >>> round(value, 4), slope.round(4)
    (-1.1753, array([1.0309]))
    """

    def __init__(
        self,
        S: Samples,
        y: Floats,
        weight: Floats,
        border: Floats | None = None,
        cv: str | Sequence[Indices] = "loo",
        resources: Resources = UNLIMITED,
    ) -> None:
        self.S, self.y, self.weight, self.border, self.cv, self.resources = S, y, weight, border, cv, resources
        self.total = float(weight.sum())
        self.floor = _FLOOR * float(np.sum(weight * np.square(y).T)) + np.finfo(np.float64).tiny

    def __call__(self, kernel: Kernel, beside: Mapping[str, Floats]) -> tuple[float, Floats, dict[str, Floats]]:
        """Return the value, its derivatives in the free parameters of the kernel, and in alpha."""
        shift = float(beside["alpha"]) / self.weight
        gram = Dense().build(kernel, self.S, self.resources)
        samples, factored = gram.samples, Factored.of(gram.release(), shift, self.border)
        a = factored.solve(self.y)[0]
        P = factored.release_inverse()
        del factored
        error = self._error(P, a, shift)
        scale = 1.0 / (error.value + self.floor)
        D = _weights(P, a, error)
        slope = scale * pullback(kernel, samples, samples, D) if free_names(kernel) else np.zeros(0)
        ridge = scale * np.sum((np.diagonal(D) + error.shift) / self.weight)
        return float(np.log((error.value + self.floor) / self.total)), slope, {"alpha": np.asarray(ridge)}

    def left_out(self, kernel: Kernel, alpha: float) -> Floats:
        """Errors of the left-out samples, (n, k), for one kernel and ridge."""
        shift = alpha / self.weight
        factored = Factored.of(Dense().build(kernel, self.S, self.resources).release(), shift, self.border)
        a = factored.solve(self.y)[0]
        return self.errors(factored.release_inverse(), a, shift)

    def errors(self, P: Floats, a: Floats, shift: Floats) -> Floats:
        """Errors of the left-out samples, (n, k); for generalised cross-validation those of the fit, made larger."""
        if isinstance(self.cv, str):
            return (shift * a.T / self._share(np.diagonal(P), shift)).T
        out = np.empty_like(a)
        for fold in self.cv:
            out[fold] = np.linalg.solve(P[np.ix_(fold, fold)], a[fold])
        return out

    def _share(self, inverse: Floats, shift: Floats) -> Floats:
        """The divisor of each error of the fit."""
        if self.cv == "gcv":
            n = len(shift)
            return np.full(n, (self.total - n + float(np.sum(shift * inverse))) / self.total)
        tau = 1.0 / np.maximum(self.weight, 1.0)
        return 1.0 - tau + tau * shift * inverse

    def _error(self, P: Floats, a: Floats, shift: Floats) -> _Error:
        w, e = self.weight, self.errors(P, a, shift)
        value = float(np.sum(w * np.square(e).T))
        nothing = np.zeros((len(a), 0))
        if not isinstance(self.cv, str):
            Z, E, u = _folded(P, e, w, self.cv)
            return _Error(value, u, np.zeros(len(a)), Z, E, np.zeros(len(a)))
        inverse = np.diagonal(P)
        share = self._share(inverse, shift)
        squares = w * np.sum(np.square(e), axis=1)
        u = 2.0 * ((w * shift / share) * e.T).T
        bare = 2.0 * squares / shift  # where e = s a / share has its s
        if self.cv == "gcv":
            each = 2.0 * value / share[0] / self.total
            square = each * shift
            bare = bare - each * inverse
        else:
            tau = 1.0 / np.maximum(w, 1.0)
            square = 2.0 * squares * tau * shift / share
            bare = bare - 2.0 * squares * tau * inverse / share
        return _Error(value, u, square, nothing, nothing, bare)


def _folded(P: Floats, e: Floats, w: Floats, folds: Sequence[Indices]) -> tuple[Floats, Floats, Floats]:
    """Z and E, (n, g k), with one column per fold and output, and the derivative in a."""
    n, k = e.shape
    Z, E, u = np.zeros((n, len(folds), k)), np.zeros((n, len(folds), k)), np.empty_like(e)
    for place, fold in enumerate(folds):
        z = np.linalg.solve(P[np.ix_(fold, fold)], w[fold, None] * e[fold])
        Z[fold, place], E[fold, place], u[fold] = z, e[fold], 2.0 * z
    return Z.reshape(n, -1), E.reshape(n, -1), u


def _weights(P: Floats, a: Floats, error: _Error) -> Floats:
    """D, (n, n), the derivative of the error in K; the memory of P is used up."""
    Pu, PZ, PE = P @ error.coef, P @ error.left, P @ error.right
    left = np.hstack([-0.5 * Pu, -0.5 * a, PZ, PE])
    right = np.hstack([a, Pu, PE, PZ])
    if np.any(error.square):
        P *= np.sqrt(error.square)
        D = P @ P.T
    else:
        D = P
        D[:] = 0.0
    for rows in spans(len(D), _BLOCK):
        D[rows] += left[rows] @ right.T
    return D
