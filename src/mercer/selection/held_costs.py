r"""Decision values of a support vector machine for many costs and any part of a Gram matrix that is held.

Symbols: y_i = +-1 the sides, w_i the weights of samples, zero for those that are left out; beta the coefficients,
f = K beta + b the decision values, C the costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.errors import NotPositiveDefinite
from mercer.solvers.box.masked import follow_cost, gradient, move_free, settle

__all__ = ["Held", "decisions_along", "machines_along"]

_PART = 0.7  # of the samples that must take part: of fewer, their own matrix is copied
_NOISE = 0.1  # of the tolerance, that rounding to float32 may do to decision values
_NEAR = 4.0  # tolerances: decision values nearer to zero are computed exactly, since their signs count
_EXACT = 1e-3  # of the tolerance, for that, or where all values are wanted
_SHARPER = 0.1  # of the tolerance before: signs that are certain by then need no more
_EDGE = 1e-12  # of a box: what is nearer to its end is there, but for rounding
_SINGLE = float(np.finfo(np.float32).eps)


@dataclass(frozen=True, eq=False)
class Held:
    """A Gram matrix, and the same in float32 for what is read often.

    Attributes
    ----------
    double, single : (n, n) arrays
    """

    double: Floats
    single: Floats

    @classmethod
    def of(cls, K: Floats) -> Held:
        """Hold a Gram matrix (n, n)."""
        K = np.ascontiguousarray(K, dtype=np.float64)
        return cls(K, K.astype(np.float32))

    def take(self, index: Indices) -> Held:
        """Return the matrix of some samples, a copy."""
        return Held.of(self.double[np.ix_(index, index)])


def decisions_along(
    held: Held,
    sign: Floats,
    weight: Floats,
    costs: Sequence[float],
    tol: float = 1e-3,
    *,
    wanted: Indices | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Floats:
    r"""Decision values at all samples of machines trained on those of positive weight, for several costs.

    .. math:: \min_{f, b} \; C \sum_i w_i \max(0, 1 - y_i (f(x_i) + b)) + \tfrac12 \|f\|^2

    Seed: [HSS] Eq. (79); [SS] Section 5.1 (cross-validation).

    Parameters
    ----------
    held : Held
    sign : (n,) array
        +1 or -1 of the samples that take part.
    weight : (n,) array
        Not negative; zero leaves a sample out.
    costs : sequence of float
        C, positive and finite, in any order.
    tol : float
        Largest violation of the optimality conditions.
    wanted : (m,) array of int, optional
        Samples whose decision values are needed only as far as their signs; None wants all, exactly.
    stop : callable, optional
        Asked between costs; a true answer ends the run with NaN for the rest.

    Returns
    -------
    f : (p, n) array

    Raises
    ------
    NotPositiveDefinite
        If the solver does not reach the tolerance, as with an indefinite matrix.

    Notes
    -----
    From cost to cost the coefficients at the end of their box follow it, and the free ones the linear system that keeps
    them free, so that few remain to be corrected. K is read in float32 unless the coefficients are so large that its
    rounding would matter. Where a wanted value is within 4 tol of zero, tol is a tenth, and so on, until its sign is
    certain; for a thousandth of tol, or if all are wanted exactly, in float64.

    Examples
    --------
    >>> K = np.multiply.outer([-2.0, -1.0, 1.0, 2.0], [-2.0, -1.0, 1.0, 2.0])
    >>> sign, weight = np.array([-1.0, -1.0, 1.0, 1.0]), np.array([0.0, 1.0, 1.0, 1.0])
    >>> decisions_along(Held.of(K), sign, weight, [10.0]).round(6)  # without the first sample
    array([[-2., -1.,  1.,  2.]])
    """
    members = np.flatnonzero(weight > 0)
    if len(members) < _PART * len(weight):
        wide = np.full(len(weight), -1)
        wide[members] = np.arange(len(members))
        near = None if wanted is None else held.double[np.ix_(wanted, members)]
        path = _Path(held.take(members), sign[members], weight[members], tol, near)
        coef, bias = path.along(costs, stop)
        return coef @ held.double[members] + bias[:, None]
    path = _Path(held, np.where(weight > 0, sign, 0.0), weight, tol, None, wanted)
    coef, bias = path.along(costs, stop)
    return path.values + bias[:, None]


def machines_along(K: Floats, sign: Floats, costs: Sequence[float], tol: float = 1e-3) -> tuple[Floats, Floats, Floats]:
    """Coefficients (p, n), biases (p,) and decision values (p, n) of machines on all samples, for several costs."""
    path = _Path(Held.of(K), np.asarray(sign, dtype=float), np.ones(len(sign)), tol, None)
    coef, bias = path.along(costs, lambda: False)
    return coef, bias, path.values + bias[:, None]


class _Path:
    """One set of training samples, and its machine at one cost after the other."""

    def __init__(
        self,
        held: Held,
        sign: Floats,
        weight: Floats,
        tol: float,
        near: Floats | None,
        wanted: Indices | None = None,
    ) -> None:
        self.held, self.sign, self.weight, self.tol, self.near, self.wanted = held, sign, weight, tol, near, wanted
        self.K = held.single
        self.scale = float(np.abs(np.diagonal(held.double)).max(initial=0.0))
        n = len(sign)
        self.beta, self.g = np.zeros(n), -sign
        self.box: tuple[Floats, Floats] | None = None
        self.values = np.empty((0, n))

    def along(self, costs: Sequence[float], stop: Callable[[], bool]) -> tuple[Floats, Floats]:
        """Return coefficients (p, n) and biases (p,)."""
        C, n = np.asarray(costs, dtype=float), len(self.sign)
        coef, bias = np.full((len(C), n), np.nan), np.full(len(C), np.nan)
        self.values = np.full((len(C), n), np.nan)
        for place in np.argsort(C, kind="stable"):
            if stop():
                break
            bias[place] = self._at(float(C[place]))
            coef[place] = self.beta
            self.values[place] = self.g + self.sign
        return coef, bias

    def _at(self, C: float) -> float:
        end = C * self.weight * self.sign
        box = np.minimum(end, 0.0), np.maximum(end, 0.0)
        if self.box is not None:
            follow_cost(self.K, self.g, self.beta, self.box, box)
        self.box = box
        self._settle(self.K, self.tol)
        if self.K is self.held.single and self._noise() > _NOISE * self.tol:
            self.K = self.held.double
            self._recompute()
            self._settle(self.K, self.tol)
        self._finish(box)
        return self._bias()

    def _finish(self, box: tuple[Floats, Floats]) -> None:
        """Go on to smaller tolerances, as long as all values are wanted or the sign of some is not certain."""
        if self.near is None and self.wanted is None:
            self._recompute()
            move_free(self.held.double, self.g, self.beta, box)
            self._settle(self.held.double, _EXACT * self.tol)
            return
        level, double = self.tol, self.K is self.held.double
        while level > _EXACT * self.tol and self._is_doubtful(level):
            level = max(_SHARPER * level, _EXACT * self.tol)
            if not double and self._noise() > _NOISE * level:
                double = True
                self._recompute()
            if level <= _EXACT * self.tol:
                move_free(self.held.double, self.g, self.beta, box)
            self._settle(self.held.double if double else self.K, level)

    def _settle(self, K: Floats, tol: float) -> None:
        assert self.box is not None
        left = settle(K, self.g, self.beta, self.box, tol)
        if not left <= max(tol, 1e-12 * self.scale * float(np.abs(self.beta).sum())):
            raise NotPositiveDefinite(
                f"A support vector machine stopped at a violation of {left:.3g}, where {tol:.3g} is asked for; the "
                "matrix may be indefinite. Use a positive definite kernel, or a larger tol."
            )

    def _recompute(self) -> None:
        self.g = gradient(self.held.double, self.beta, -self.sign)

    def _noise(self) -> float:
        """What rounding K to float32 is likely to do to decision values."""
        return _SINGLE * self.scale * float(np.linalg.norm(self.beta))

    def _is_doubtful(self, tol: float) -> bool:
        """Return whether the sign of some wanted value is not certain."""
        values = (self.near @ self.beta if self.near is not None else (self.g + self.sign)[self.wanted]) + self._bias()
        return bool(np.abs(values).min(initial=np.inf) <= _NEAR * tol)

    def _bias(self) -> float:
        assert self.box is not None
        lower, upper = self.box
        edge = _EDGE * (upper - lower)
        up, down = self.beta < upper - edge, self.beta > lower + edge
        free = up & down
        if free.any():
            return -float(self.g[free].mean())
        ends = [float(self.g[up].min(initial=np.inf)), float(self.g[down].max(initial=-np.inf))]
        finite = [end for end in ends if np.isfinite(end)]
        return -sum(finite) / len(finite) if finite else 0.0
