"""Reduced sets that keep decisions: few kernels that err where many err, and nowhere else.

Symbols: f the function, v its values on a sample of N, b intercepts; g = sum_p beta_p k(z_p, .) + b the reduced set;
mu the margin; t targets; lambda the weight of ||f - g||^2.

A function with a large margin may be moved a good deal before a decision changes. So a value of g is as good as any
other if it is in

    I(v) = {v} for |v| < mu,   [mu, inf) for v >= mu,   (-inf, -mu] for v <= -mu,

and what is minimised is the mean squared distance of g from these sets, with a small part of the distance of f and g in
the space of the kernel. The distance from a set is that from the nearest point of it: given these points, the targets,
the coefficients are a least squares solution. Both are found in turn; neither step can make the objective larger.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mercer.arrays import Floats
from mercer.budget import Plan, Resources
from mercer.domains import Samples, Vectors
from mercer.gram import Expansion
from mercer.gram.gram import Cross
from mercer.hilbert.reduced_construction import Function, Search
from mercer.hilbert.reduced_points import Moving
from mercer.hilbert.reduced_selection import Watch
from mercer.kernels.kernel import overflow_error
from mercer.kernels.vectors.pointwise import dense
from mercer.numerics.cholesky import safe_cholesky
from mercer.problems import Status
from mercer.runtime.tiling import blas_for

__all__ = ["Agreement"]

_SHARE = 1e-3  # weight of ||f - g||^2 mean k(x, x), which bounds the mean of (f - g)^2
_RIDGE = 1e-10  # of the mean diagonal of the normal equations
_TURNS = 200  # of targets and coefficients
_STILL = 1e-4  # relative decrease at which they end
_ROUNDS = 5  # of moving points


class Agreement:
    r"""How well a reduced set agrees with the decisions of a function on a sample.

    .. math:: \frac{1}{N} \sum_j \mathrm{dist}(g(x_j), I(f(x_j)))^2 + \lambda \|f - g\|^2

    Seed: [HSS] Section 3.2.1.

    Parameters
    ----------
    f : Expansion
    function : Function
        Its part in the space of the kernel.
    T : Samples
        The sample, prepared.
    margin : float
        mu.
    resources : Resources
    """

    def __init__(self, f: Expansion, function: Function, T: Samples, margin: float, resources: Resources) -> None:
        self.f, self.function, self.T, self.margin, self.resources = f, function, T, margin, resources
        N, outputs = len(T), function.coef.shape[1]
        self.moving = Moving(function.kernel, T, resources)
        self.wanted = np.asarray(f(T, resources), dtype=float).reshape(N, outputs)
        own = np.asarray(function.kernel.diag(T), dtype=float)
        # what both have beyond kernels and intercept
        self.shared = (f.diagonal * own)[:, None] if f.diagonal else 0.0
        self.penalty = _SHARE * float(np.mean(own))
        self.unit = float(np.mean(np.sum(self.wanted**2, axis=1))) + self.penalty * function.norm2 or 1.0

    # given points ---------------------------------------------------------------------------------------

    def nearest(self, values: Floats) -> Floats:
        """Return the nearest points of the sets I(v), (N, L): v itself, or any value beyond the margin."""
        side = np.sign(self.wanted)
        beyond = side * np.maximum(side * values, self.margin)
        return np.where(np.abs(self.wanted) < self.margin, self.wanted, beyond)

    def settle(self, Z: Samples, targets: Floats, watch: Watch) -> tuple[Floats, Floats, Floats, Status]:
        """Return beta, b and targets that fit each other, for given points."""
        fit = _Fit(self, Z)
        beta, b, now = fit.solve(targets)
        before = np.inf
        for _ in range(_TURNS):
            if (reason := watch(watch.done)) is not None:
                return beta, b, targets, reason
            if before - now <= _STILL * now:
                break
            before = now
            targets = self.nearest(fit.cross.T @ beta + b + self.shared)
            beta, b, now = fit.solve(targets)
        return beta, b, targets, Status.CONVERGED

    # the points too -------------------------------------------------------------------------------------

    def refit(self, g: Expansion, watch: Watch, points: bool) -> tuple[Expansion, Status]:
        """Return g with coefficients and intercept, and points if these may move, that keep the decisions."""
        m, N = len(g.samples), len(self.T)
        Plan(f"{m} kernels at a sample of {N}", {"kernel values": 16 * m * N}, ("a smaller sample",)).require(
            self.resources.memory
        )
        with blas_for(m):
            return self._refit(g, watch, points)

    def _refit(self, g: Expansion, watch: Watch, points: bool) -> tuple[Expansion, Status]:
        m, Z = len(g.samples), g.samples
        beta, b, targets, status = self.settle(Z, self.wanted, watch)
        for _ in range(_ROUNDS if points else 0):
            if status is not Status.CONVERGED:
                break
            assert isinstance(Z, Vectors) and isinstance(self.T, Vectors)
            search = Search(self.function.kernel, self.function.samples, watch)  # pyright: ignore[reportArgumentType]
            moved, status = search.run(lambda points, t=targets: self.value(points, t), dense(Z), share=watch.done)
            Z = self.function.kernel.prepare(Vectors(moved, Z.names))
            beta, b, targets, reason = self.settle(Z, targets, watch)
            status = reason if status is Status.CONVERGED else status
        shape = np.shape(self.f.coef)[1:]
        return dataclasses.replace(g, samples=Z, coef=beta.reshape(m, *shape), intercept=b.reshape(shape)), status

    def value(self, Z: Samples, targets: Floats) -> tuple[float, Floats]:
        """Return the objective over its unit at the best coefficients for fixed targets, and its derivative in z."""
        fit = _Fit(self, Z)
        beta, b, value = fit.solve(targets)
        rest = fit.cross.T @ beta + b - (targets - self.shared)
        own = fit.own.pull(beta, beta) - fit.near.pull(beta, self.function.coef)
        return value, 2.0 * (fit.at.pull(beta, rest / len(rest)) + self.penalty * own) / self.unit

    # what came of it ------------------------------------------------------------------------------------

    def distance(self, g: Expansion) -> float:
        """Return ||f - g||, of the parts in the space of the kernel."""
        f = self.function
        beta = np.asarray(g.coef, dtype=float).reshape(len(g.samples), -1)
        K = np.asarray(f.kernel.block(g.samples, g.samples), dtype=float)
        values = Cross(f.kernel, g.samples, f.samples, f.resources) @ f.coef
        return float(np.sqrt(f.distance(beta, values, K)))

    def disagreement(self, g: Expansion) -> float:
        """Return the share of values on the sample whose sign differs."""
        values = g(self.T, self.resources).reshape(self.wanted.shape)
        return float(np.mean((values > 0.0) != (self.wanted > 0.0)))


class _Fit:
    """The least squares problem of the coefficients, for given points and any targets."""

    def __init__(self, agreement: Agreement, Z: Samples) -> None:
        f, self.agreement = agreement.function, agreement
        self.near, self.own, self.at = f.moving.near(Z), f.moving.own(Z), agreement.moving.near(Z)
        self.K, self.values, self.cross = self.own.values(), self.near.product(f.coef), self.at.values()
        self.mean = self.cross.mean(axis=1, keepdims=True)
        centred = self.cross - self.mean
        with np.errstate(over="ignore", invalid="ignore"):  # which is told below
            H = centred @ centred.T / centred.shape[1] + agreement.penalty * self.K
        if not np.isfinite(H).all():
            raise overflow_error(f.kernel)
        self.factor = safe_cholesky(H, shift=_RIDGE * float(np.mean(H.diagonal())))

    def solve(self, targets: Floats) -> tuple[Floats, Floats, float]:
        """Return beta, b and the objective over its unit."""
        agreement, N = self.agreement, len(targets)
        wanted = targets - agreement.shared
        level = wanted.mean(axis=0)
        rhs = self.cross @ (wanted - level) / N + agreement.penalty * self.values  # the mean of what is centred is 0
        beta = self.factor.solve(rhs)
        b = level - (self.mean * beta).sum(axis=0)
        rest = self.cross.T @ beta + b - wanted
        far = agreement.function.distance(beta, self.values, self.K)
        return beta, b, (float(np.vdot(rest, rest)) / N + agreement.penalty * far) / agreement.unit
