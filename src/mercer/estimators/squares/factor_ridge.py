"""Ridge regression for all ridges from a factor of low rank, and the errors of left-out samples on held landmarks.

Symbols: K = F F^T a Gram of low rank, w_i sample weights, N their sum, alpha the ridge; T the columns of W^(1/2) (F -
1 m^T) turned to the eigenvectors U of T^T T, lambda their eigenvalues, m the weighted mean of the rows of F (zero
without intercept), q = W^(1/2) 1 / sqrt(N), B = (T, q), and H = B diag(1 / d) B^T the matrix that maps W^(1/2) y
to fitted values, with d = lambda + alpha and 1 for q; A = I - H.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.budget import Resources
from mercer.estimators.squares.ridge import Weighted
from mercer.gram.low_rank.nystrom import NystromGram, on_landmarks
from mercer.kernels import Kernel
from mercer.kernels.kernel import pullback
from mercer.runtime.tiling import spans
from mercer.selection.path import RidgeSpectrum

__all__ = [
    "Decomposed",
    "FactorSpectrum",
    "Folds",
    "LandmarkCriterion",
    "best_ridge",
    "left_out_errors_of",
    "mean_squares",
    "table_of",
]

_GRID = np.logspace(-8.0, 4.0, 25)  # ridges where the search starts, in units of the mean of k(x, x)
_ROWS = 4096  # of a factor at a time
_NOTHING = 64 * np.finfo(np.float64).eps  # nearer to one a leverage cannot be distinguished from one
_FLOOR = 1e-24  # of the mean square of y: below it errors are rounding

Folds = str | Sequence[Indices]


@dataclass(frozen=True, eq=False)
class FactorSpectrum:
    """Kernel ridge regression for all ridges from the factor of a Gram, as `RidgeSpectrum` from the matrix."""

    gram: Any  # gives rows of F
    weight: Floats
    origin: Floats  # m, (r,)
    turn: Floats  # U, (r, r)
    values: Floats  # d = values + alpha * penalised: lambda of the columns T, 1 of q
    penalised: Floats  # 1 of the columns T, 0 of q
    held: Floats | None = None  # B, (n, c), if it fits

    @classmethod
    def of(cls, gram: Any, weight: Floats, intercept: bool, allowed: float = np.inf) -> FactorSpectrum:
        """Decompose F^T W F, centred if there is an intercept; B is held within this many bytes."""
        n, r = len(weight), gram.factor(slice(0, 1)).shape[1]
        origin, square = np.zeros(r), np.zeros((r, r))
        if intercept:
            origin = sum((weight[rows] @ gram.factor(rows) for rows in spans(n, _ROWS)), origin) / weight.sum()
        for rows in spans(n, _ROWS):  # centred before it is squared, which keeps the digits
            F = (gram.factor(rows) - origin) * np.sqrt(weight[rows])[:, None]
            square += F.T @ F
        values, U = np.linalg.eigh(square)
        values, penalised = np.maximum(values, 0.0), np.ones(r)
        if intercept:
            values, penalised = np.append(values, 1.0), np.append(penalised, 0.0)
        found = cls(gram, weight, origin, U, values, penalised)
        if 8 * n * len(values) > allowed:
            return found
        B = np.empty((n, len(values)))
        for rows in spans(n, _ROWS):
            B[rows] = found.rows(rows)
        return cls(gram, weight, origin, U, values, penalised, B)

    def rows(self, index: slice | Indices) -> Floats:
        """Rows of B, (m, c)."""
        if self.held is not None:
            return self.held[index]
        F = self.gram.factor(index) if isinstance(index, slice) else self.gram.take(index).factor()
        root = np.sqrt(self.weight[index])[:, None]
        T = root * ((F - self.origin) @ self.turn)
        return T if len(self.values) == T.shape[1] else np.hstack([T, root / np.sqrt(self.weight.sum())])

    def divisors(self, alphas: Floats) -> Floats:
        """d, (c, p)."""
        return self.values[:, None] + self.penalised[:, None] * alphas

    def share(self, B: Floats, divisors: Floats, weight: Floats, which: str) -> Floats:
        """The divisors of the errors of the fit, (m, p), at some rows of B: of a copy left out, or by "gcv" of all."""
        if which == "gcv":
            dof = np.sum(self.values[:, None] / divisors, axis=0)
            return np.tile(1.0 - dof / self.weight.sum(), (len(B), 1))
        tau = 1.0 / np.maximum(weight, 1.0)[:, None]
        return 1.0 - tau + tau * np.maximum(1.0 - np.square(B) @ (1.0 / divisors), _NOTHING)

    def errors(self, y: Floats, alphas: Floats, folds: Folds) -> Floats:
        """Errors of left-out samples, (p, n, k), for targets (n, k) and ridges (p,)."""
        (n, k), p, root = y.shape, len(alphas), np.sqrt(self.weight)[:, None]
        divisors, Y = self.divisors(alphas), root * y
        inner = sum((self.rows(rows).T @ Y[rows] for rows in spans(n, _ROWS)), np.zeros((len(divisors), k)))
        coef = inner[:, None, :] / divisors[:, :, None]
        out = np.empty((p, n, k))
        if not isinstance(folds, str):
            for fold in folds:
                B = self.rows(fold)
                for place in range(p):
                    rest = Y[fold] - B @ coef[:, place]
                    out[place, fold] = _without(B, divisors[:, place], rest) / root[fold]
            return out
        for rows in spans(n, _ROWS):
            B = self.rows(rows)
            rest = Y[rows][:, None, :] - (B @ coef.reshape(-1, p * k)).reshape(-1, p, k)
            rest /= (root[rows] * self.share(B, divisors, self.weight[rows], folds))[:, :, None]
            out[:, rows] = rest.transpose(1, 0, 2)
        return out


Decomposed = RidgeSpectrum | FactorSpectrum


class LandmarkCriterion:
    r"""Logarithm of the mean squared error of left-out samples, for `tune`, where K = C R R^T C^T on held landmarks.

    The error e of left-out samples is a function of A, whose derivative is dA = -A dK' A / alpha with K' = W^(1/2) K
    W^(1/2). Its derivative in K times F, which is all that C and the matrix of the landmarks need, has no alpha in a
    denominator, because A F' = alpha T diag(1 / d) U^T.
    """

    def __init__(self, data: Weighted, index: Indices, intercept: bool, folds: Folds, resources: Resources) -> None:
        self.data, self.intercept, self.folds, self.resources = data, intercept, folds, resources
        self.index = index if len(index) else np.zeros(1, dtype=np.intp)
        self.y, self.weight = table_of(data), data.weight
        self.total = float(data.weight.sum())
        self.floor = _FLOOR * float(np.sum(data.weight * np.square(self.y).T)) + np.finfo(np.float64).tiny

    def __call__(self, kernel: Kernel, beside: Mapping[str, Floats]) -> tuple[float, Floats, dict[str, Floats]]:
        """Return the value, its derivatives in the free parameters of the kernel, and in alpha."""
        gram, spectrum = self._at(kernel)
        value, G, ridge = self._derivative(spectrum, float(beside["alpha"]))
        scale = 1.0 / (value + self.floor)
        G, R = scale * (G @ spectrum.turn.T), gram.root
        slope = pullback(kernel, gram.samples, gram.landmarks, 2.0 * G @ R.T)
        slope = slope - pullback(kernel, gram.landmarks, gram.landmarks, R @ (gram.moment(G) @ R.T))
        return float(np.log((value + self.floor) / self.total)), slope, {"alpha": np.asarray(scale * ridge)}

    def start(self, kernel: Kernel) -> float:
        """Return the ridge of least error on a grid; that of K itself would be too small for what landmarks leave."""
        gram, spectrum = self._at(kernel)
        return best_ridge(spectrum, self.y, self.weight, float(np.average(gram.diag(), weights=self.weight)))

    def _at(self, kernel: Kernel) -> tuple[NystromGram, FactorSpectrum]:
        gram = on_landmarks(kernel, kernel.prepare(self.data.samples), self.index, resources=self.resources)
        return gram, FactorSpectrum.of(gram, self.weight, self.intercept)

    def _derivative(self, spectrum: FactorSpectrum, alpha: float) -> tuple[float, Floats, float]:
        """The sum of squares C of W^(1/2) e, its derivative in K times F U, (n, r), and that in alpha."""
        B, root = spectrum.rows(slice(None)), np.sqrt(self.weight)[:, None]
        divisors = spectrum.divisors(np.array([alpha]))
        d, each = divisors[:, 0], (spectrum.penalised / divisors[:, 0])[None]
        inner = B.T @ (root * self.y)
        rest = root * self.y - B @ (inner / divisors)
        if isinstance(self.folds, str):
            share = spectrum.share(B, divisors, self.weight, self.folds)
            e = rest / share
            g = 2.0 * e / share
            levers = np.sum(g * e, axis=1) / np.maximum(self.weight, 1.0)
            M = (float(np.sum(g * e)) / self.total if self.folds == "gcv" else levers[:, None]) * B * each
        else:
            e, g, M = np.empty_like(rest), np.empty_like(rest), np.empty_like(B)
            for fold in self.folds:
                part = B[fold]
                e[fold] = _without(part, d, rest[fold])
                g[fold] = 2.0 * _without(part, d, e[fold])
                M[fold] = 0.5 * (g[fold] @ (e[fold].T @ part) + e[fold] @ (g[fold].T @ part)) * each
        back = B.T @ g
        ridge = float(np.sum((inner * back).T * np.square(each)) - np.sum(M * B * each))
        G = M - B @ ((B.T @ M) / divisors)
        G -= 0.5 * ((g - B @ (back / divisors)) @ (inner.T * each) + rest @ (back.T * each))
        return float(np.sum(np.square(e))), (root * G)[:, : len(spectrum.turn)], ridge


def _without(B: Floats, divisors: Floats, V: Floats) -> Floats:
    """Return (I - B diag(1 / d) B^T)^-1 V for the rows of a fold, on the shorter side of B."""
    if len(B) <= len(divisors):
        return np.linalg.solve(np.eye(len(B)) - (B / divisors) @ B.T, V)
    return V + B @ np.linalg.solve(np.diag(divisors) - B.T @ B, B.T @ V)


def best_ridge(spectrum: Decomposed, y: Floats, w: Floats, unit: float) -> float:
    """Return the ridge of least error on a grid, in units of the mean of k(x, x)."""
    grid = _GRID * (unit if unit > 0.0 else 1.0)
    return float(grid[np.argmin(mean_squares(left_out_errors_of(spectrum, y, grid, "loo"), w))])


def left_out_errors_of(spectrum: Decomposed, y: Floats, alphas: Floats, folds: Folds) -> Floats:
    """Errors of left-out samples for all ridges, (p, n, k)."""
    if isinstance(spectrum, FactorSpectrum):
        return spectrum.errors(y, alphas, folds)
    if folds == "loo":
        return spectrum.left_out_errors(y, alphas, copies=True)
    if not isinstance(folds, str):
        return spectrum.folded_errors(y, alphas, folds)
    share = 1.0 - spectrum.degrees_of_freedom(alphas) / float(spectrum.weight.sum())
    return (alphas / share)[:, None, None] * spectrum.solve(y, alphas)[0] / np.sqrt(spectrum.weight)[:, None]


def table_of(data: Weighted) -> Floats:
    """Return targets as a table, (n, k)."""
    return data.values.reshape(len(data.values), -1)


def mean_squares(errors: Floats, weight: Floats) -> Floats:
    """Weighted mean squares over samples and outputs, (p,)."""
    return np.einsum("i,pik->p", weight / weight.sum(), np.square(errors)) / errors.shape[2]
