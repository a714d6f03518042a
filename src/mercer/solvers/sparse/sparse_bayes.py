r"""Sparse Bayesian learning: weights whose precisions are found by the evidence, most of them infinite.

Symbols: Phi (n, M) the basis functions at the samples, mu and Sigma mean and covariance of their weights, alpha the
precisions of the weights (theta = 1 / alpha), A = diag(alpha), beta = 1 / sigma^2 the precision of the noise, w the
weights of the samples, gamma_j = 1 - alpha_j Sigma_jj how far the data and not the prior decide about a weight. In C =
Sigma_noise + Phi A^-1 Phi^T, the covariance of the targets, S_j = phi_j^T C^-1 phi_j and Q_j = phi_j^T C^-1 y are the
sparsity and the quality of a basis function, s_j and q_j the same with the function itself left out of C.

Basis functions are scaled to length 1 and targets to mean square 1, so that nothing here depends on units.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from mercer.arrays import Floats, Indices
from mercer.gram.gram import is_low_rank
from mercer.numerics.cholesky import CholeskyFactor, safe_cholesky
from mercer.runtime.tiling import spans

__all__ = [
    "Design",
    "LaplaceModel",
    "NormalMatrix",
    "Point",
    "RegressionModel",
    "SparseClassification",
    "SparseEvidence",
    "SparsePosterior",
    "SparseRegression",
]

_ENTRIES = 2**19  # values of basis functions that are in memory at once
_LEAST = 64  # basis functions at once, however many samples there are
_ROWS = 4096  # rows of a factor at once
_LEAST_NOISE = 1e-8  # of the mean square of the targets: below it sums of squares have no digits left
_FIRST_NOISE = 0.1  # of the mean square of the targets, where the search for the noise begins
_NEWTON = 100  # steps to the mode at most
IN_SPAN = 1e-10  # of the squared length of a function: what is left of it outside the model is rounding
_LOG_2PI = float(np.log(2.0 * np.pi))


# the problems ------------------------------------------------------------------------------------------


class Design:
    """The columns of a Gram matrix as basis functions, and a constant one after them if asked for.

    Parameters
    ----------
    gram : Gram
        With rows; K is symmetric but need not be definite.
    constant : bool
        Whether the last basis function is 1 everywhere.
    """

    def __init__(self, gram: Any, constant: bool = False) -> None:
        self.gram, self.constant = gram, constant
        n = gram.shape[0]
        self.shape = n, n + int(constant)

    def columns(self, index: Indices) -> Floats:
        """Values of some basis functions, one in a row, (q, n)."""
        n = self.shape[0]
        out = np.ones((len(index), n))
        kernels = np.flatnonzero(np.asarray(index) < n)
        if len(kernels):
            out[kernels] = self.gram.rows(np.asarray(index)[kernels])
        return out

    def moments(self, V: Floats) -> Floats:
        """Phi^T V for V (n,) or (n, k)."""
        found = np.asarray(self.gram @ V, dtype=float)
        return np.concatenate([found, V.sum(axis=0)[None]]) if self.constant else found

    def squares(self, weight: Floats) -> Floats:
        """Sums of weighted squares of each basis function, (M,)."""
        n = self.shape[0]
        out = np.full(self.shape[1], weight.sum())
        if is_low_rank(self.gram):  # K W K has the diagonal of F (F^T W F) F^T
            M = self.gram.normal(weight, weight)[0]
            for span in spans(n, _ROWS):
                F = self.gram.factor(span)
                out[span] = np.einsum("ij,ij->i", F @ M, F)
            return out
        for span in spans(n, max(_LEAST, _ENTRIES // n)):
            block = np.arange(span.start, span.stop)
            rows = np.asarray(self.gram.rows(block), dtype=float)
            out[block] = np.einsum("ij,ij,j->i", rows, rows, weight, optimize=["einsum_path", (0, 1), (0, 1)])
        return out


class NormalMatrix:
    """Phi^T W Phi as a Gram matrix that gives rows: of a design, or stored.

    Parameters
    ----------
    design : Design or (M, M) array
    weight : (n,) array, optional
        Weights of the samples of a design.
    """

    def __init__(self, design: Any, weight: Floats | None = None) -> None:
        self.design, self.weight = design, weight
        self.shape = (design.shape[1], design.shape[1])

    def rows(self, index: Indices, columns: Any = slice(None), out: Floats | None = None) -> Floats:
        """Rows (q, M) of the matrix; a whole pass over the Gram matrix for a design, whatever q is."""
        if isinstance(self.design, np.ndarray):
            found = self.design[index]
        else:
            assert self.weight is not None
            found = self.design.moments(np.ascontiguousarray((self.design.columns(index) * self.weight).T)).T
        found = found[:, columns]
        if out is None:
            return found
        out[...] = found
        return out

    def corner(self, index: Indices) -> Floats:
        """Rows and columns of some functions, (q, q), without a pass over all of them."""
        if isinstance(self.design, np.ndarray):
            return self.design[np.ix_(index, index)]
        columns = self.design.columns(index)
        return (columns * self.weight) @ columns.T

    def diag(self) -> Floats:
        """Diagonal, (M,)."""
        if isinstance(self.design, np.ndarray):
            return np.diagonal(self.design).copy()
        return self.design.squares(self.weight)


@dataclass(frozen=True, eq=False)
class SparseEvidence:
    """A linear model whose weights have precisions of their own, to be found by the evidence.

    Parameters
    ----------
    gram : object
        What the solvers ask for numbers.
    """

    gram: Any


@dataclass(frozen=True, eq=False)
class SparseRegression(SparseEvidence):
    r"""Evidence of a linear model with Gaussian noise.

    .. math:: \max_{\alpha, \beta} \; \log \mathcal N(y \mid 0, \; \beta^{-1} W^{-1} + \Phi A^{-1} \Phi^\top)

    up to what the weights of the samples add. Sums over the samples are all that is needed of them.

    Seed: [KIKS] Section 4.1.5.

    Parameters
    ----------
    gram : NormalMatrix
        Phi^T W Phi, rows and diagonal.
    moment : (M,) array
        Phi^T W y.
    square : float
        y^T W y.
    count : float
        Sum of the weights.
    noise : float, optional
        Variance of the noise; None is found by the evidence too.
    """

    moment: Floats
    square: float
    count: float
    noise: float | None = None


@dataclass(frozen=True, eq=False)
class SparseClassification(SparseEvidence):
    r"""Evidence of a logistic linear model, by Laplace's method.

    .. math:: \max_\alpha \; \sum_i w_i \log p(t_i \mid \mu) - \tfrac12 \mu^\top A \mu + \tfrac12 \log |A| -
              \tfrac12 \log |\Phi^\top B \Phi + A|, \qquad B_{ii} = w_i p_i (1 - p_i)

    at the mode mu of the posterior.

    Seed: [KIKS] Section 4.1.5, [25] there (the classification case).

    Parameters
    ----------
    gram : Design
        Phi: columns, moments, squares.
    target : (n,) array
        t, 0 or 1.
    weight : (n,) array
        w.
    """

    target: Floats
    weight: Floats


@dataclass(frozen=True, eq=False)
class SparsePosterior:
    """Posterior of the weights that remain.

    Attributes
    ----------
    index : (k,) array of int
        Which basis functions they belong to, ascending.
    mean, alpha : (k,) arrays
        Posterior mean, and precision of the prior.
    root : (k, k) array
        R with Sigma = R^T R, so that the variance of phi^T w is the squared length of R phi.
    noise : float
        Variance of the noise; NaN for a classifier.
    evidence : float
        Its logarithm.
    """

    index: Indices
    mean: Floats
    alpha: Floats
    root: Floats
    noise: float
    evidence: float


# models: the evidence as a function of logarithms of precisions -----------------------------------------


@dataclass(frozen=True, eq=False)
class Point:
    """The evidence at some precisions, in scaled units; `active` are places in the working set."""

    active: Indices
    x: Floats  # log alpha, and log beta last where it is free
    evidence: float
    mean: Floats
    scale: Floats  # alpha^-1/2
    factor: CholeskyFactor  # of I + scale Phi^T B Phi scale
    gamma: Floats
    gradient: Floats  # by x
    inverse: Floats | None = None  # of the factored matrix
    fit: Any = None  # what the model keeps for itself

    @property
    def theta(self) -> Floats:
        """Variances of the prior."""
        return self.scale**2


class RegressionModel:
    """Evidence of a `SparseRegression` on a working set of basis functions."""

    exact = True  # the second derivatives

    def __init__(self, problem: SparseRegression) -> None:
        self.problem, self.matrix = problem, problem.gram
        diagonal = np.asarray(problem.gram.diag(), dtype=float)
        self.unit = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        self.lengths = np.where(diagonal > 0.0, 1.0, 0.0)  # squared, in scaled units
        self.size = float(np.sqrt(problem.square / problem.count)) or 1.0
        self.moment = problem.moment / (self.unit * self.size)
        self.square = problem.square / self.size**2
        self.learns = problem.noise is None
        first = _FIRST_NOISE if problem.noise is None else problem.noise / self.size**2
        self.start = np.array([-np.log(max(first, np.finfo(float).tiny))])
        self.highest = -np.log(_LEAST_NOISE)
        self.work = np.zeros(0, dtype=np.intp)
        self.rows = np.zeros((0, len(self.unit)))

    def extend(self, index: Indices) -> None:
        """Add basis functions to the working set."""
        rows = np.asarray(self.matrix.rows(index), dtype=float) / (self.unit[index][:, None] * self.unit)
        self.work = np.concatenate([self.work, index])
        self.rows = np.concatenate([self.rows, rows]) if len(self.rows) else rows

    def keep(self, places: Indices) -> None:
        """Keep only these places of the working set."""
        self.work, self.rows = self.work[places], self.rows[places]

    def alignment(self, index: Indices) -> Floats:
        """Cosines between some basis functions, (q, q)."""
        return self.matrix.corner(index) / (self.unit[index][:, None] * self.unit[index])

    @contextmanager
    def with_noise(self, point: Point, share: float) -> Iterator[None]:
        """Hold the noise at a share of what it is at a point."""
        before = self.start
        self.learns, self.start = False, np.minimum(point.x[-1:] - np.log(share), self.highest)
        try:
            yield
        finally:
            self.learns, self.start = True, before

    def tail(self, point: Point | None) -> Floats:
        """The entries of x after the precisions of the weights."""
        if not self.learns:
            return np.zeros(0)
        return self.start if point is None else point.x[-1:]

    def evaluate(self, active: Indices, x: Floats, near: Point | None = None, whole: bool = True) -> Point:
        """Evidence, posterior and gradient at x; `whole` asks for the inverse too."""
        k = len(active)
        log_beta = float(x[k] if self.learns else self.start[0])
        beta, scale = np.exp(log_beta), np.exp(-0.5 * x[:k])
        G = self.rows[np.ix_(active, self.work[active])]
        b = self.moment[self.work[active]]
        factor = safe_cholesky(G * (beta * scale) * scale[:, None], 1.0)
        mean = beta * scale * factor.solve(scale * b)
        left = max(self.square - 2.0 * float(b @ mean) + float(mean @ (G @ mean)), 0.0)
        penalty = float(np.sum((mean / scale) ** 2))
        n = self.problem.count
        evidence = 0.5 * (n * (log_beta - _LOG_2PI) - factor.logdet() - beta * left - penalty)
        inverse = factor.solve(np.eye(k)) if whole else None
        gamma = 1.0 - (np.diagonal(inverse) if inverse is not None else factor.inverse_diagonal())
        gradient = 0.5 * (gamma - (mean / scale) ** 2)
        if self.learns:
            gradient = np.append(gradient, 0.5 * (n - gamma.sum() - beta * left))
        return Point(active, x, evidence, mean, scale, factor, gamma, gradient, inverse, (beta, left))

    def hessian(self, point: Point) -> Floats:
        """Second derivatives of the evidence by x."""
        H = weight_curvature(point)
        if not self.learns:
            return H
        assert point.inverse is not None
        beta, left = point.fit
        z = point.mean / point.scale
        drop = np.diagonal(point.inverse) - np.einsum("ij,ij->i", point.inverse, point.inverse)
        pull = point.inverse @ z
        side = 0.5 * drop - z * pull
        corner = 0.5 * (-drop.sum() - beta * left) + float(z @ pull)
        return np.block([[H, side[:, None]], [side[None, :], np.array([[corner]])]])

    def local(self, point: Point) -> tuple[Floats, Floats]:
        """Phi^T B Phi and Phi^T B z of the working set, B the precision of the targets z."""
        beta = point.fit[0]
        return beta * self.rows[:, self.work], beta * self.moment[self.work]

    def everywhere(self, point: Point) -> tuple[Floats, Floats]:
        """Sparsity s, zero in the span of the model, and slope q^2 - s of all functions outside the model."""
        beta = point.fit[0]
        V = point.factor.half_solve(np.sqrt(beta) * point.scale[:, None] * self.rows[point.active])
        left = self.lengths - np.einsum("ij,ij->j", V, V)
        S = beta * np.where(left > IN_SPAN, left, 0.0)
        Q = beta * (self.moment - self.rows[point.active].T @ point.mean)
        return S, Q * Q - S

    def posterior(self, point: Point) -> SparsePosterior:
        """The posterior in the units of the problem."""
        noise = self.size**2 / point.fit[0] if self.learns else float(self.problem.noise or 0.0)
        evidence = point.evidence - self.problem.count * np.log(self.size)
        return _unscaled(self.work, self.unit, point, self.size, noise, float(evidence))


class LaplaceModel:
    """Laplace's approximation to the evidence of a `SparseClassification` on a working set."""

    exact = False
    learns = False
    highest = 0.0

    def __init__(self, problem: SparseClassification) -> None:
        self.problem, self.design = problem, problem.gram
        diagonal = np.asarray(self.design.squares(problem.weight), dtype=float)
        self.unit = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        self.lengths = np.where(diagonal > 0.0, 1.0, 0.0)
        self.work = np.zeros(0, dtype=np.intp)
        self.columns = np.zeros((0, self.design.shape[0]))

    def extend(self, index: Indices) -> None:
        """Add basis functions to the working set."""
        rows = self.design.columns(index) / self.unit[index][:, None]
        self.work = np.concatenate([self.work, index])
        self.columns = np.concatenate([self.columns, rows])

    def keep(self, places: Indices) -> None:
        """Keep only these places of the working set."""
        self.work, self.columns = self.work[places], self.columns[places]

    def alignment(self, index: Indices) -> Floats:
        """Cosines between some basis functions, (q, q)."""
        columns = self.design.columns(index) / self.unit[index][:, None]
        return (columns * self.problem.weight) @ columns.T

    def tail(self, point: Point | None) -> Floats:
        """There are no entries after the precisions of the weights."""
        return np.zeros(0)

    def evaluate(self, active: Indices, x: Floats, near: Point | None = None, whole: bool = True) -> Point:
        """Evidence, posterior and gradient at x; the mode is looked for from that of a point nearby."""
        scale = np.exp(-0.5 * x)
        Phi = self.columns[active] * scale[:, None]
        start = np.zeros(len(active))
        if near is not None:  # by place: weights that are new begin at zero
            means = np.zeros(len(self.work))
            means[near.active] = near.mean
            start = means[active] / scale
        v, value, f = self._mode(Phi, start)
        p = expit(f)
        B = self.problem.weight * p * (1.0 - p)
        factor = safe_cholesky((Phi * B) @ Phi.T, 1.0)
        half = factor.half_solve(Phi)
        turn = B * (1.0 - 2.0 * p) * np.einsum("ij,ij->j", half, half)
        pull = factor.solve(Phi @ turn)  # how the curvature changes with the mode
        inverse = factor.solve(np.eye(len(active))) if whole else None
        gamma = 1.0 - (np.diagonal(inverse) if inverse is not None else factor.inverse_diagonal())
        evidence = value - 0.5 * factor.logdet()
        gradient = 0.5 * (gamma - v * v + v * pull)
        fit = (B, turn, pull, p)
        return Point(active, x, evidence, scale * v, scale, factor, gamma, gradient, inverse, fit)

    def _mode(self, Phi: Floats, v: Floats) -> tuple[Floats, float, Floats]:
        """Mode of the posterior of weights with prior N(0, I), its log density, and the function there."""
        t, w = self.problem.target, self.problem.weight
        sign = 2.0 * t - 1.0

        def density(v: Floats) -> tuple[float, Floats]:
            f = v @ Phi
            return -float(w @ np.logaddexp(0.0, -sign * f)) - 0.5 * float(v @ v), f

        value, f = density(v)
        if value < (zero := density(np.zeros_like(v)))[0]:
            v, (value, f) = np.zeros_like(v), zero
        for _ in range(_NEWTON):
            p = expit(f)
            slope = Phi @ (w * (t - p)) - v
            step = safe_cholesky((Phi * (w * p * (1.0 - p))) @ Phi.T, 1.0).solve(slope)
            gain = float(slope @ step)
            if gain <= 1e-12 * (1.0 + abs(value)):  # the next step would be beyond rounding
                return v + step, *density(v + step)
            rate = 1.0
            while rate > 1e-10:
                found, f_then = density(v + rate * step)
                if found >= value + 1e-4 * rate * gain:
                    break
                rate *= 0.5
            else:
                break
            v, value, f = v + rate * step, found, f_then
        return v, value, f

    def hessian(self, point: Point) -> Floats:
        """Second derivatives by x, the change of the curvature with the mode neglected."""
        return weight_curvature(point)

    def local(self, point: Point) -> tuple[Floats, Floats]:
        """Phi^T B Phi and Phi^T B z of the working set, for the Gaussian model at the mode."""
        B, _, _, p = point.fit
        weighted = self.columns * B
        f = point.mean @ self.columns[point.active]
        return weighted @ self.columns.T, weighted @ f + self.columns @ (
            self.problem.weight * (self.problem.target - p)
        )

    def everywhere(self, point: Point) -> tuple[Floats, Floats]:
        """Sparsity s, zero in the span of the model, and slope (twice that of the evidence) of all functions."""
        B, turn, pull, p = point.fit
        inside = self.columns[point.active]
        right = np.vstack([inside * B, self.problem.weight * (self.problem.target - p), turn])
        found = self.design.moments(np.ascontiguousarray(right.T)) / self.unit[:, None]
        V = point.factor.half_solve(point.scale[:, None] * found[:, :-2].T)
        lengths = self.design.squares(B) / self.unit**2
        S = lengths - np.einsum("ij,ij->j", V, V)
        S = np.where(IN_SPAN * lengths < S, S, 0.0)
        Q = found[:, -2]
        extra = found[:, -1] - found[:, :-2] @ (point.scale * pull)
        return S, Q * Q - S - Q * extra

    def posterior(self, point: Point) -> SparsePosterior:
        """The posterior in the units of the problem."""
        return _unscaled(self.work, self.unit, point, 1.0, float("nan"), point.evidence)


def weight_curvature(point: Point) -> Floats:
    """Second derivatives of the evidence by log alpha where B does not depend on it."""
    assert point.inverse is not None
    z = point.mean / point.scale
    H = point.inverse * (0.5 * point.inverse + np.outer(z, z))
    H[np.diag_indices_from(H)] -= 0.5 * (np.diagonal(point.inverse) + z * z)
    return H


def _unscaled(work: Indices, unit: Floats, point: Point, size: float, noise: float, evidence: float) -> SparsePosterior:
    index = work[point.active]
    order = np.argsort(index)
    length = unit[index]
    half = point.factor.half_solve(np.diag(size * point.scale / length))  # L^-1 scale, and back to the given units
    return SparsePosterior(
        index[order],
        (size * point.mean / length)[order],
        (np.exp(point.x[: len(index)]) * length**2 / size**2)[order],
        np.ascontiguousarray(half[:, order]),
        noise,
        evidence,
    )
