"""Reduced sets by construction: kernels at points that need not be samples.

Symbols: f = sum_i alpha_i k(x_i, .) the function, g = sum_p beta_p k(z_p, .) the reduced set; alpha (n, L) and
beta (m, L) for L outputs; eps a small ridge.

For given points the best coefficients are known, so only the points are searched for: with
beta = (K_zz + eps I)^-1 f(z) the objective is a function of z alone, and as beta is optimal the derivative in z is that
with beta held (variable projection).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from mercer.arrays import Floats, Indices
from mercer.domains import Samples, Vectors
from mercer.errors import DomainError
from mercer.gram.exact import TileGram
from mercer.gram.gram import Cross
from mercer.hilbert.reduced_points import Moving
from mercer.hilbert.reduced_selection import Selection, Watch
from mercer.kernels.kernel import Kernel, overflow_error
from mercer.kernels.vectors.pointwise import dense
from mercer.numerics.cholesky import CholeskyFactor, safe_cholesky
from mercer.problems import Status
from mercer.runtime.tiling import Stopped, serial_blas

__all__ = ["Constructed", "Function", "Projection", "Search", "construct"]

Objective = Callable[[Samples], tuple[float, Floats]]  # points -> a value of at most about 1, its derivative

_ROUNDING = 4.0 * float(np.finfo(float).eps)  # of sums of products
_RIDGE = 1e-10  # of the mean k(z, z): points may meet, and the objective stays smooth
_GROWTH = 1.4  # of the number of points from stage to stage
_SPAN = 10  # iterations over which the decrease is measured
_ROUGH, _FINE = 0.05, 0.005  # smallest relative decrease over them, while points are still added and afterwards
_LONGEST = 1000  # iterations
_SHORT = 2**25  # products of matrices below which threads of BLAS wait for each other longer than they work


class Function:
    """A function f of the span of kernels: its values at its own samples, and what it is at other points.

    Parameters
    ----------
    gram : TileGram
        Of the x_i.
    coef : (n, L) array
        alpha.
    values : (n, L) array
        f at the x_i.
    """

    def __init__(self, gram: TileGram, coef: Floats, values: Floats) -> None:
        self.gram, self.coef, self.values = gram, coef, values
        self.kernel, self.samples, self.resources = gram.kernel, gram.samples, gram.resources
        self.norm2 = max(0.0, float(np.vdot(coef, values)))
        self.moving = Moving(gram.kernel, gram.samples, gram.resources)

    def distance(self, beta: Floats, values: Floats, K: Floats) -> float:
        """Return ||f - g||^2 by [HSS] Eq. (56), from beta, f(z) and K_zz; not less than its rounding."""
        both, own = float(np.vdot(values, beta)), float(np.vdot(beta, K @ beta))
        return max(self.norm2 - 2.0 * both + own, _ROUNDING * (self.norm2 + 2.0 * abs(both) + own))


class Projection:
    r"""The squared distance of f from the span of kernels at points z, over ||f||^2, and its derivative in z.

    .. math:: E(z) = \min_\beta \|f - g\|^2 + \epsilon \|\beta\|^2
        = \|f\|^2 - f(z)^\top (K_{zz} + \epsilon I)^{-1} f(z)

    .. math:: \frac{\partial E}{\partial z_p} = -2 \sum_l \beta_{pl} \nabla (f_l - g_l)(z_p)

    Seed: [HSS] Eq. (56) with the coefficients in closed form.

    Parameters
    ----------
    function : Function
    """

    def __init__(self, function: Function) -> None:
        self.function = function

    def __call__(self, Z: Samples) -> tuple[float, Floats]:
        """Return E / ||f||^2 and its derivative, (m, d)."""
        f = self.function
        near, own = f.moving.near(Z), f.moving.own(Z)
        values, K = near.product(f.coef), own.values()
        if not np.isfinite(K).all():
            raise overflow_error(f.kernel)
        beta = _factor(K).solve(values)
        energy = f.norm2 - float(np.vdot(values, beta))
        return energy / f.norm2, -2.0 * (near.pull(beta, f.coef) - own.pull(beta, beta)) / f.norm2

    def basis(self, Z: Samples) -> tuple[Floats, Floats]:
        """Return the values at the x_i of an orthonormal basis of the span, (m, n), and the coefficients of f in it."""
        f = self.function
        cross = Cross(f.kernel, Z, f.samples, f.resources).to_dense()
        factor = _factor(np.asarray(f.kernel.block(Z, Z), dtype=float))
        return factor.half_solve(cross), factor.half_solve(cross @ f.coef)

    def best(self, Z: Samples) -> tuple[Floats, float]:
        """Return beta and ||f - g||."""
        f = self.function
        K = np.asarray(f.kernel.block(Z, Z), dtype=float)
        values = Cross(f.kernel, Z, f.samples, f.resources) @ f.coef
        beta = _factor(K).solve(values)
        return beta, float(np.sqrt(f.distance(beta, values, K)))


def _factor(K: Floats) -> CholeskyFactor:
    """Return the factor of K_zz + eps I; K is left alone."""
    return safe_cholesky(K, shift=_RIDGE * float(np.mean(K.diagonal())), overwrite=False)


class _Halt(Exception):
    """The search is over for a reason."""

    def __init__(self, reason: Status) -> None:
        self.reason = reason


class Search:
    """A search for points, from where they are: L-BFGS in units of the spread of the samples.

    Parameters
    ----------
    kernel : Kernel
    samples : Vectors
        Where the kernel is defined on a part of space only, points stay in the box around these.
    watch : Watch
    """

    def __init__(self, kernel: Kernel, samples: Vectors, watch: Watch) -> None:
        self.kernel, self.watch = kernel, watch
        X, self.extent = samples.X, len(samples) * samples.width
        low, high = _row(X.min(axis=0)), _row(X.max(axis=0))
        self.scale = float(np.max(high - low, initial=0.0)) / 4.0 or 1.0
        reach = 1.0 + high - low
        self.low = low if self._refuses(low - reach) else np.full(len(low), -np.inf)
        self.high = high if self._refuses(high + reach) else np.full(len(high), np.inf)

    def _refuses(self, point: Floats) -> bool:
        try:
            one = self.kernel.prepare(Vectors(point[None]))
            return not np.isfinite(self.kernel.block(one, one)).all()
        except DomainError:
            return True

    def run(
        self, objective: Objective, Z: Floats, goal: float = 0.0, least: float = _FINE, share: float = 0.0
    ) -> tuple[Floats, Status]:
        """Return the best points found, and why the search ended.

        Parameters
        ----------
        objective : callable
        Z : (m, d) array
            Where to start.
        goal : float
            Value that is small enough.
        least : float
            Smallest relative decrease over ten iterations.
        share : float
            Fraction of the whole run that is done, for the monitor.
        """
        best, values = (np.inf, Z), [np.inf]

        def call(z: Floats) -> tuple[float, Floats]:
            nonlocal best
            points = z.reshape(Z.shape) * self.scale
            if (reason := self.watch(share)) is not None:
                raise _Halt(reason)
            try:
                value, gradient = objective(self.kernel.prepare(Vectors(points)))
            except Stopped:
                raise _Halt(Status.TIME) from None
            except DomainError:  # beyond the range of numbers: worse than no kernel at all
                return 10.0, np.zeros(z.size)
            if value < best[0]:
                best = value, points
            return value, gradient.ravel() * self.scale

        def look(intermediate_result: Any) -> None:
            values.append(best[0])
            if best[0] <= goal:
                raise _Halt(Status.CONVERGED)
            if len(values) > _SPAN and values[-1 - _SPAN] - best[0] < least * best[0]:
                raise _Halt(Status.CONVERGED)

        bounds = np.tile(np.column_stack([self.low, self.high]) / self.scale, (len(Z), 1))
        options = {"maxiter": _LONGEST, "ftol": 0.0, "gtol": 0.0, "maxcor": 10, "maxfun": 2 * _LONGEST}
        start, how = Z.ravel() / self.scale, "L-BFGS-B"
        try:
            with serial_blas() if len(Z) * self.extent < _SHORT else nullcontext():
                found = minimize(call, start, jac=True, method=how, bounds=bounds, callback=look, options=options)
            status = Status.MAX_ITER if found.status == 1 else Status.CONVERGED
        except _Halt as halt:
            status = halt.reason
        return best[1], status


@dataclass(frozen=True, eq=False)
class Constructed:
    """Points and coefficients of a reduced set.

    Attributes
    ----------
    points : (m, d) array
    coef : (m, L) array
    sizes, errors : (s,) arrays
        ||f - g|| by the number of points, at each stage, from none.
    status : Status
    """

    points: Floats
    coef: Floats
    sizes: Indices
    errors: Floats
    status: Status


def construct(f: Function, first: Selection, tol: float, watch: Watch) -> Constructed:
    """Return a reduced set of points that need not be samples.

    Stage by stage points are added, where samples would help most, and then all are moved. If at the number of points
    that selection needs this is not better than the selection, the points of the selection are moved instead.

    Parameters
    ----------
    f : Function
    first : Selection
        Ended: with as many points as requested, or as a tolerance needs.
    tol : float
        Stops at ||f - g|| <= tol ||f||.
    watch : Watch
    """
    assert isinstance(f.samples, Vectors)
    projection, search = Projection(f), Search(f.kernel, f.samples, watch)
    norm, size = float(np.sqrt(f.norm2)), len(first.pivots)
    Z, coef, status = np.empty((0, f.samples.width)), np.empty((0, f.coef.shape[1])), Status.CONVERGED
    path = {0: norm}
    while len(Z) < size and path[len(Z)] > tol * norm and status is Status.CONVERGED:
        count = min(size, max(len(Z) + 1, int(np.ceil(_GROWTH * len(Z)))))
        more = _helpful(projection, Z, count)
        if not len(more):
            break
        least = _FINE if count == size else _ROUGH
        Z, status = search.run(projection, np.concatenate([Z, more]), tol * tol, least, count / (size + 1))
        coef, path[len(Z)] = projection.best(f.kernel.prepare(Vectors(Z)))
    if path[len(Z)] > max(tol * norm, first.errors()[-1]):
        chosen = dense(f.samples.take(np.array(first.pivots, dtype=np.intp)))
        Z, reason = search.run(projection, chosen, tol * tol, share=size / (size + 1))
        coef, path[size] = projection.best(f.kernel.prepare(Vectors(Z)))
        status = reason if status is Status.CONVERGED else status
    return Constructed(Z, coef, np.array(list(path), dtype=np.intp), np.array(list(path.values())), status)


def _helpful(projection: Projection, Z: Floats, count: int) -> Floats:
    """Return the samples that help most in addition to points Z, for `count` points in all."""
    f = projection.function
    given = projection.basis(f.kernel.prepare(Vectors(Z))) if len(Z) else None
    more = Selection(f.gram, f.coef, f.values, given, f.resources.memory)
    more.reserve(count)
    more.run(count, 0.0, Watch())
    return dense(f.samples.take(np.array(more.pivots, dtype=np.intp)))


def _row(X: Any) -> Floats:
    """Return a row of numbers, dense or sparse, as an array."""
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float).ravel()
