r"""Systems with the Hessian of a smooth risk, and what they are preconditioned by.

Symbols: the risk is sum_i w_i psi(y_i, f_i; theta) + lambda / 2 a^T K a with f = K a + B m. ``W`` its second derivative
in f, of each sample, ``C`` (n, q) the mixed one in f and theta, ``D`` (q, q) that in theta; ``Q1`` an orthonormal basis
of the border B. A Newton step moves a by d, f by v and theta by tau, where B^T d = 0, v is K d plus functions of the
border, and for what is left, r and t,

    lambda d + W v + C tau = r,        C^T v + D tau = t.

The left side is symmetric and positive in the inner product of the space of functions: <r, v> + <t, tau> takes the
place of that of vectors, so that conjugate gradients never divide by W, which vanishes where a class is certain.
With W bar in place of W, that of another point or a bound, the system is one with M = K + lambda / W bar: a factor
of M gives d, and v follows without a product with K, as (r - lambda d) / W bar. That is the preconditioner.
That inner product does not see the part of r in the null space of K, as when samples are repeated, and the
iteration would let it grow. Therefore K is K + E while a step is sought, E a thousandth of lambda / W bar, ``slack``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from mercer.arrays import Floats
from mercer.gram.gram import HasFactor
from mercer.numerics.cholesky import CholeskyFactor, require_finite, safe_cholesky
from mercer.problems import ConvexRisk, LinearSystem
from mercer.runtime.tiling import spans
from mercer.solvers.linear.border import Border
from mercer.solvers.linear.woodbury import NormalFactored

__all__ = ["Curvature", "Move", "System", "system_of"]

_BLOCK = 64  # rows at a time where a triangle is copied
_TILE = 2**15  # numbers in the memory that a projection takes
_SLACK = 1e-3  # E over lambda / W bar
_CERTAIN = 1e-4  # of the slope: a smaller curvature is taken to be this, else rounding is divided by it


class Move(NamedTuple):
    """A point, or a step between points: coefficients, values of f, those of the border or the factor, theta.

    ``extra`` has a row for each function of the border, in its orthonormal basis; where the Gram has a factor the
    weights in its coordinates come before them.
    """

    coef: Floats
    values: Floats
    extra: Floats
    theta: Floats

    def plus(self, size: float, step: Move) -> Move:
        """The point after a step."""
        return Move(*(here + size * there for here, there in zip(self, step, strict=True)))


@dataclass(frozen=True, eq=False)
class Curvature:
    """Second derivatives of the weighted loss at a point.

    Attributes
    ----------
    diagonal : (n, k) array
        Diagonal of W.
    slope : (n, k) array
        First derivatives in f, weighted.
    mixed : (n, q) array
        C.
    second : (q, q) array
        D.
    joined : callable, optional
        V -> W V for a loss that joins the outputs of a sample.
    """

    diagonal: Floats
    slope: Floats
    mixed: Floats
    second: Floats
    joined: Any = None

    def __call__(self, V: Floats, tau: Floats) -> tuple[Floats, Floats]:
        """Derivatives of the slopes along a step: W v + C tau, (n, k), and C^T v + D tau, (q,)."""
        first = self.diagonal * V if self.joined is None else self.joined(V)
        if not len(tau):
            return first, tau
        return first + (self.mixed @ tau)[:, None], self.mixed.T @ V[:, 0] + self.second @ tau

    def single(self) -> Floats:
        """One positive number per sample, (n,), that stands for W; not far below the slope, see `_CERTAIN`."""
        k = self.diagonal.shape[1]
        mean = self.diagonal.sum(axis=1) / (k if self.joined is None or k == 1 else k - 1)
        least = np.maximum(_CERTAIN * np.abs(self.slope).max(axis=1), 1e-8 * np.max(mean))
        found = np.maximum(np.maximum(mean, least), np.finfo(float).tiny)
        return np.where(np.isfinite(found), found, 1.0)

    def small(self, basis: Floats) -> Floats:
        """Second derivatives in the coefficients of the border, output by output, and theta: (s k + q) square."""
        (n, s), k, q = basis.shape, self.diagonal.shape[1], len(self.second)
        out = np.empty((s * k + q, s * k + q))
        for place in range(s * k + q):
            V, tau = np.zeros((n, k)), np.zeros(q)
            if place < s * k:
                V[:, place // s] = basis[:, place % s]
            else:
                tau[place - s * k] = 1.0
            first, second = self(V, tau)
            out[:, place] = np.concatenate([(basis.T @ first).T.ravel(), second])
        return out


def solve_small(A: Floats, rhs: Floats) -> Floats:
    """Least solution of a small system that may be singular: the softmax of several classes has a free constant."""
    if not np.all(np.isfinite(A)) or not np.all(np.isfinite(rhs)):
        return np.zeros_like(rhs)
    return np.linalg.lstsq(A, rhs, rcond=1e-12)[0]


class System(ABC):
    """The Hessian of a risk for one way to hold K; a subclass finds d and v for given r and t.

    Parameters
    ----------
    problem : ConvexRisk
    """

    factorisations = 0  # made so far; none where there are products only
    slack: Floats  # diagonal of E, (n, 1)

    def __init__(self, problem: ConvexRisk) -> None:
        self.gram: Any = problem.gram
        self.penalty = float(problem.penalty)
        bordered = problem.border is not None and problem.border.shape[1] > 0
        self.border = Border.of(problem.border) if bordered and problem.border is not None else None
        self.basis = np.zeros((len(problem.y), 0)) if self.border is None else self.border.thin()
        self.jitter = 0.0

    @property
    def count(self) -> int:
        """Number of functions of the border, s."""
        return self.basis.shape[1]

    def project(self, coef: Floats) -> Floats:
        """Coefficients orthogonal to the border."""
        return coef - self.basis @ (self.basis.T @ coef)

    def with_border(self, point: Move, more: Floats) -> Move:
        """The point with (s, k) added to the coefficients of the border's basis."""
        extra = point.extra.copy()
        extra[len(extra) - self.count :] += more
        return point._replace(values=point.values + self.basis @ more, extra=extra)

    @abstractmethod
    def place(self, coef: Floats, theta: Floats) -> Move:
        """The point with these coefficients, (n, k), and nothing of the border."""

    @abstractmethod
    def refresh(self, point: Move) -> Move:
        """The point with its values recomputed from what they are made of."""

    @abstractmethod
    def adopt(self, curvature: Curvature, solves: int) -> None:
        """Prepare for steps at a point; `solves` is how many preconditioned solves the last step took."""

    def adopt_again(self, curvature: Curvature, count: int) -> None:
        """Restore the preparation of another run, whose last of `count` preparations was for this curvature."""
        self.adopt(curvature, 0)
        self.factorisations = count

    def without_slack(self, step: Move) -> Move:
        """The step with the values that K alone gives it."""
        return step._replace(values=step.values - self.slack * step.coef)

    @abstractmethod
    def open(self, r: Floats, t: Floats) -> Move | None:
        """A first step after which what is left is as `precondition` wants it."""

    @abstractmethod
    def precondition(self, r: Floats, t: Floats) -> Move:
        """Step that removes nearly all of r and t."""

    def energy(self, point: Move) -> float:
        """Squared length of the penalised part; coefficients are orthogonal to the border."""
        return float(np.vdot(point.coef, point.values))

    def multipliers(self, point: Move) -> Floats:
        """Coefficients of the border as it was given, (s, k)."""
        mu = point.extra[len(point.extra) - self.count :]
        return mu if self.border is None else self.border.multipliers(mu)

    def weights(self, point: Move) -> Floats | None:
        """Weights in the factor's coordinates, (r, k), if there is one."""
        return None


class _Factored(System):
    """Systems with a factor of M, made once, and made again where it pays."""

    curvature: Curvature
    patience: float  # solves that cost as much as a factor
    columns: tuple[Floats, Floats, Floats] | None = None  # of C bar: d, v and extra

    @abstractmethod
    def factor(self, shift: Floats) -> None:
        """Factor M = K + E + lambda / W bar, which is K with a shift of its diagonal, (n,)."""

    @abstractmethod
    def solve(self, R: Floats) -> tuple[Floats, Floats, Floats]:
        """Return d, v and extra with lambda d + W bar v = R, (n, k), E being part of v."""

    def adopt(self, curvature: Curvature, solves: int) -> None:
        if self.factorisations and solves <= self.patience:
            return
        self.curvature = curvature
        shift = self.penalty / curvature.single()
        self.factor((1.0 + _SLACK) * shift)
        self.slack = _SLACK * shift[:, None]
        self.factorisations += 1
        if len(curvature.second):
            self.columns = self.solve(curvature.mixed)

    def open(self, r: Floats, t: Floats) -> Move | None:
        return None

    def precondition(self, r: Floats, t: Floats) -> Move:
        d, v, extra = self.solve(r)
        if self.columns is None:
            return Move(d, v, extra, t)
        (D, V, E), C = self.columns, self.curvature.mixed
        tau = solve_small(self.curvature.second - C.T @ V, t - C.T @ v[:, 0])
        return Move(d - (D @ tau)[:, None], v - (V @ tau)[:, None], extra - (E @ tau)[:, None], tau)


@runtime_checkable
class HasArray(Protocol):
    """A Gram that holds its matrix and can release it."""

    def release(self) -> Floats:
        """K, to be overwritten."""
        ...


class DenseSystem(_Factored):
    """K and the factor of M in the two triangles of one array.

    K is projected first, to P K P with P = I - Q1 Q1^T, which changes functions of the border only: then it is positive
    wherever the kernel is so conditionally, and M differs from it in the diagonal alone.
    """

    def __init__(self, problem: ConvexRisk) -> None:
        super().__init__(problem)
        K = np.require(problem.gram.release(), dtype=np.float64, requirements=["C", "W"])
        require_finite(K)
        n = len(K)
        self.patience = max(8.0, n / 150)
        self.across = self.basis.T @ K  # (s, n): how functions of the border are made up for at the end
        if self.count:
            X = self.across.T
            Y = X - 0.5 * self.basis @ (self.basis.T @ X)
            left, right = np.hstack([self.basis, Y]), np.hstack([Y, self.basis])
            for rows in spans(n, max(_TILE // n, 16)):
                K[rows] -= left[rows] @ right.T
        self.array, self.diagonal = K, np.diagonal(K).copy()
        self.factored: CholeskyFactor | None = None

    def factor(self, shift: Floats) -> None:
        if self.factored is not None:
            _restore(self.array, self.diagonal)
        self.shift = shift
        self.factored = factored = safe_cholesky(self.array, shift)
        self.jitter = max(self.jitter, factored.jitter)
        self.inner = factored.solve(self.basis) if self.count else self.basis

    def solve(self, R: Floats) -> tuple[Floats, Floats, Floats]:
        assert self.factored is not None
        inverse = self.shift[:, None] / ((1.0 + _SLACK) * self.penalty)  # of W bar
        d = self.factored.solve(inverse * R)
        mu = np.zeros((0, R.shape[1]))
        if self.count:
            mu = np.linalg.solve(self.basis.T @ self.inner, self.basis.T @ d)
            d = self.project(d - self.inner @ mu)
        return d, inverse * (R - self.penalty * d), mu

    def adopt_again(self, curvature: Curvature, count: int) -> None:
        if count > 1:  # all but the first factorisation see the lower triangle alone
            _restore(self.array, self.diagonal)
        super().adopt_again(curvature, count)

    def product(self, coef: Floats) -> Floats:
        """P K P times coefficients that are orthogonal to the border."""
        if self.factored is None:
            return self.array @ coef
        return self.project(self.factored.product(coef) - self.shift[:, None] * coef)

    def place(self, coef: Floats, theta: Floats) -> Move:
        coef = self.project(coef)
        values = self.product(coef) if coef.any() else np.zeros_like(coef)
        return Move(coef, values, np.zeros((self.count, coef.shape[1])), theta)

    def refresh(self, point: Move) -> Move:
        coef = self.project(point.coef)
        return point._replace(coef=coef, values=self.product(coef) + self.basis @ point.extra)

    def multipliers(self, point: Move) -> Floats:
        mu = point.extra - self.across @ point.coef
        return mu if self.border is None else self.border.multipliers(mu)


class PrimalSystem(_Factored):
    """K = F F^T: the normal equations in the coordinates of F take the place of M."""

    def __init__(self, problem: ConvexRisk) -> None:
        super().__init__(problem)
        self.problem = problem

    def factor(self, shift: Floats) -> None:
        system = LinearSystem(self.gram, shift, np.zeros((len(shift), 1)), self.problem.border)
        self.state, _ = NormalFactored.of(system, shift, system.rhs)
        self.jitter = max(self.jitter, self.state.factor.jitter)
        self.patience = max(4.0, len(self.state.factor.array) / 4)

    def blocks(self) -> list[slice]:
        """Tiles of rows in which (F, Q1) is read."""
        width = self.rows(slice(0, 1)).shape[1]
        return spans(len(self.basis), max(2**20 // max(width, 1), 64))

    def rows(self, block: slice) -> Floats:
        """Rows of (F, Q1)."""
        F = np.asarray(self.gram.factor(block), dtype=np.float64)
        return np.hstack([F, self.basis[block]]) if self.count else F

    def up(self, weights: Floats) -> Floats:
        """(F, Q1) times weights."""
        return np.vstack([self.rows(block) @ weights for block in self.blocks()])

    def down(self, R: Floats) -> Floats:
        """(F, Q1)^T R, summed in a fixed order."""
        return sum((self.rows(block).T @ R[block] for block in self.blocks()), start=np.zeros(()))

    def solve(self, R: Floats) -> tuple[Floats, Floats, Floats]:
        total, shift = (1.0 + _SLACK) * self.penalty, self.state.shift[:, None]
        extra = self.state.factor.solve(self.down(R)) * (self.state.unit / total)
        v = self.up(extra)
        d = R / total - v / shift
        return d, v + shift * (_SLACK / (1.0 + _SLACK)) * d, extra

    def place(self, coef: Floats, theta: Floats) -> Move:
        coef = self.project(coef)
        extra = self.down(coef)
        extra[len(extra) - self.count :] = 0.0
        return Move(coef, self.up(extra) if coef.any() else np.zeros_like(coef), extra, theta)

    def refresh(self, point: Move) -> Move:
        return point._replace(values=self.up(point.extra))

    def energy(self, point: Move) -> float:
        weights = self.weights(point)
        return float(np.vdot(weights, weights))

    def weights(self, point: Move) -> Floats:
        return point.extra[: len(point.extra) - self.count]


class FreeSystem(System):
    """K by products alone: plain conjugate gradients in the space of functions, border and theta eliminated."""

    def adopt(self, curvature: Curvature, solves: int) -> None:
        self.curvature = curvature
        self.matrix = curvature.small(self.basis)
        self.slack = _SLACK * self.penalty / curvature.single()[:, None]

    def place(self, coef: Floats, theta: Floats) -> Move:
        coef = self.project(coef)
        values = np.asarray(self.gram @ coef, dtype=np.float64) if coef.any() else np.zeros_like(coef)
        return Move(coef, values, np.zeros((self.count, coef.shape[1])), theta)

    def refresh(self, point: Move) -> Move:
        coef = self.project(point.coef)
        values = np.asarray(self.gram @ coef, dtype=np.float64) + self.basis @ point.extra
        return point._replace(coef=coef, values=values)

    def eliminated(self, first: Floats, second: Floats) -> tuple[Floats, Floats]:
        """Coefficients of the border and theta that remove slopes (n, k) and (q,) along these."""
        found = solve_small(self.matrix, np.concatenate([(self.basis.T @ first).T.ravel(), second]))
        size = self.count * first.shape[1]
        return found[:size].reshape(first.shape[1], self.count).T, found[size:]

    def open(self, r: Floats, t: Floats) -> Move | None:
        mu, tau = self.eliminated(r, t)
        return Move(np.zeros_like(r), self.basis @ mu, mu, tau) if len(self.matrix) else None

    def precondition(self, r: Floats, t: Floats) -> Move:
        d = self.project(r) / self.penalty
        v = np.asarray(self.gram @ d, dtype=np.float64) + self.slack * d
        if not len(self.matrix):
            return Move(d, v, np.zeros((0, r.shape[1])), t)
        first, second = self.curvature(v, np.zeros_like(t))
        mu, tau = self.eliminated(-first, -second)
        return Move(d, v + self.basis @ mu, mu, tau)


def system_of(problem: ConvexRisk) -> System:
    """The form that suits the Gram of a problem."""
    if isinstance(problem.gram, HasFactor):
        return PrimalSystem(problem)
    return DenseSystem(problem) if isinstance(problem.gram, HasArray) else FreeSystem(problem)


def _restore(A: Floats, diagonal: Floats) -> None:
    """Write the lower triangle, which a factorisation leaves alone, over the upper one, and the diagonal."""
    for rows in spans(len(A), _BLOCK):
        corner = np.tril(A[rows, rows], -1)
        A[rows, rows] = corner + corner.T
        A[: rows.start, rows] = A[rows, : rows.start].T
    np.einsum("ii->i", A)[:] = diagonal
