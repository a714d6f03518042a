"""Linear systems by products alone: conjugate gradients for many right-hand sides at once."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from mercer.arrays import Bools, Floats
from mercer.constraints import Boolean, Integer, Interval, OneOf, Optional
from mercer.errors import CapabilityError, NotPositiveDefinite
from mercer.gram.gram import Capability, HasRows
from mercer.numerics.block_conjugate import block_solve
from mercer.numerics.pivoting import Preconditioner, pivoted_cholesky
from mercer.numerics.sketches import nystrom_sketch
from mercer.problems import LinearSystem, Solution, Status, Trace
from mercer.runtime.tiling import Kept, kept_by
from mercer.solvers.linear.border import Border
from mercer.solvers.linear.preconditioner_rank import paying_factor
from mercer.solvers.solver import Columns, Monitor, Solver, lengths

__all__ = ["ConjugateGradient"]
__public__ = __all__

Inverse = Callable[[Floats], Floats]

_MOST_ITERATIONS = 10_000
_PATIENCE = 1_000  # iterations without a smaller residual: what is left is rounding
_STATE = ("a", "r", "p", "rho", "left", "verified", "stalled", "believed", "curvature")  # of runs, as it is kept
_ROUNDING = 1e-10  # of the largest curvature: below it a negative one may be rounding


@runtime_checkable
class HasProducts(Protocol, metaclass=Capability):
    """Anything that multiplies vectors and knows its diagonal, as every Gram does."""

    def __matmul__(self, V: Floats) -> Floats:
        """K @ V, (n,) or (n, k)."""
        ...

    def diag(self) -> Floats:
        """Diagonal of K, (n,)."""
        ...


class ConjugateGradient(Solver):
    r"""Conjugate gradients: one product with K per iteration, whatever the number of outputs.

    .. math:: p \leftarrow r + \beta p, \qquad a \leftarrow a + \alpha p, \qquad
              r \leftarrow r - \alpha (K + \mathrm{diag}(s))\, p

    Seed: [KIKS] Section 3.3; departs from the printed algorithm, which subtracts :math:`\beta p` and leaves
    the first direction undefined: here it is added, and :math:`p_0 = r_0`.

    Parameters
    ----------
    tol : float, default 1e-8
        Length of the residual over that of the right-hand side, reached for each output.
    max_iter : int, optional
        None allows ten per sample, at most 10 000.
    preconditioner : {"auto", None, "diagonal", "pivoted", "nystrom"}, default "auto"
        ``"auto"`` is "pivoted" with the rank that makes the whole solve cheapest by counted operations, where products
        pass over all pairs of many samples (`Dense`, `Tiles`), and None elsewhere. ``"diagonal"`` divides by the
        diagonal of K + diag(s): of use where sample weights or the self-similarities differ by orders of magnitude.
        ``"pivoted"`` solves with L L^T + diag(s), L the pivoted Cholesky factor of `rank` rows of K: of use where the
        shift is small and K is smooth, so that it has few large eigenvalues. ``"nystrom"`` does the same with a factor
        from one product of K with `rank` random columns, for Grams that offer products alone.
    rank : int, default 100
        Rank of the factor of "pivoted" and "nystrom": n times as many numbers are held. "auto" takes a quarter of the
        memory at most.
    block : bool, default False
        Whether several outputs search in the space of all their directions together (block conjugate gradients): fewer
        products, and O(n k^2) operations besides each. Of use where the products are what costs.

    Notes
    -----
    Solves LinearSystem, with or without a border; K need be positive definite only for coefficients
    orthogonal to the border. Needs products (and for the preconditioners "diagonal" and "pivoted" the diagonal and
    rows). The outputs are independent runs that share their products, unless `block`; each ends on its own. A residual
    that the recurrence says is small is recomputed before it is trusted. The number of iterations grows with the
    square root of the condition number; ``solution_.details`` has the rank of the factor that lowers it. Cost one
    product per iteration, memory 4 n k numbers (7 n k of a block), those of the factor and what the product needs.

    Examples
    --------
    >>> class Matrix:
    ...     K = np.array([[2.0, 1.0], [1.0, 2.0]])
    ...
    ...     def __matmul__(self, V):
    ...         return self.K @ V
    ...
    ...     def diag(self):
    ...         return np.diag(self.K)
    >>> solution = ConjugateGradient().solve(LinearSystem(Matrix(), shift=1.0, rhs=np.array([1.0, 3.0])))
    >>> solution.coef, solution.status.name, len(solution.trace) - 1
    (array([0., 1.]), 'CONVERGED', 2)
    """

    constraints = {
        "tol": Interval(0.0, 1.0, closed="neither"),
        "max_iter": Optional(Integer(1)),
        "preconditioner": OneOf("auto", None, "diagonal", "pivoted", "nystrom"),
        "rank": Integer(1),
        "block": Boolean(),
    }
    solves = LinearSystem
    needs = (HasProducts,)
    remedy = "Use gram=Dense() or gram=Tiles()."

    def __init__(
        self,
        tol: float = 1e-8,
        max_iter: int | None = None,
        preconditioner: str | None = "auto",
        rank: int = 100,
        block: bool = False,
    ) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.preconditioner = preconditioner
        self.rank = rank
        self.block = block

    def _solve(self, problem: LinearSystem, start: Floats | None = None, monitor: Monitor | None = None) -> Solution:
        rhs = Columns.of(problem.rhs)
        n = len(rhs.values)
        inverse, rank = self._preconditioner(problem, n, rhs.values.shape[1])
        system, details = _System(problem, inverse), {"rank of the preconditioner": rank}
        limit = min(10 * n, _MOST_ITERATIONS) if self.max_iter is None else self.max_iter
        kept = kept_by(
            monitor, "ConjugateGradient", options=repr(self), gram=repr(problem.gram), targets=problem.rhs,
            shift=problem.shift, border=problem.border, start=start,
        )  # fmt: skip
        if self.block and rhs.values.shape[1] > 1:
            begin = None if start is None else rhs.like(start)
            found = _solve_block(system, rhs, begin, self.tol, limit, monitor, kept)
            return dataclasses.replace(found, details=details)
        run = _Run(system, rhs, None if start is None else rhs.like(start), kept)
        status = run.iterate(self.tol, limit, monitor)
        kept.close(run.last)
        del run.last  # it holds the run: without this cycle the Gram, and workers that hold it, end with the fit
        left = run.left_now(np.flatnonzero(~run.verified))
        coef, multipliers = run.a, system.multipliers(left)
        return Solution(
            coef=rhs.restore(coef),
            multipliers=rhs.restore(multipliers),
            status=status,
            residual=rhs.residual(system.project(left)),
            trace=Trace.of(run.rows),
            details=details,
        )

    def _preconditioner(self, problem: LinearSystem, n: int, outputs: int) -> tuple[Inverse | None, int]:
        """The function that multiplies by D^-1, (n, k) to (n, k), and the rank of the factor that it is made of."""
        if self.preconditioner is None:
            return None, 0
        shift = np.broadcast_to(np.asarray(problem.shift, dtype=np.float64), (n,))
        if self.preconditioner == "diagonal":
            inverse = _inverse_diagonal(problem.gram.diag(), shift[:, None])
            return lambda R: inverse * R, 0
        factor = self._factor(problem.gram, shift, outputs)
        return (None, 0) if factor is None else (Preconditioner.of(factor, shift).solve, factor.shape[1])

    def _factor(self, gram: Any, shift: Floats, outputs: int) -> Floats | None:
        """L of few columns with K ~ L L^T, or None if it does not pay."""
        if self.preconditioner == "auto":
            return paying_factor(gram, shift, outputs, self.tol)
        if self.preconditioner == "nystrom":
            return nystrom_sketch(lambda V: gram @ V, len(shift), self.rank)
        if not isinstance(gram, HasRows):
            raise CapabilityError(
                f"preconditioner='pivoted' needs Gram.rows; {type(gram).__name__} offers only products. "
                "Use gram=Dense() or gram=Tiles(), or preconditioner='nystrom'."
            )
        diagonal: Floats = cast(Any, gram).diag()
        return pivoted_cholesky(diagonal, lambda i: gram.rows(np.array([i]))[0], self.rank).array


class _System:
    """G = K + diag(shift) for coefficients orthogonal to the border, and its preconditioner D."""

    def __init__(self, problem: LinearSystem, inverse: Callable[[Floats], Floats] | None) -> None:
        n = len(problem.rhs)
        self.gram: Any = problem.gram
        self.shift = np.broadcast_to(np.asarray(problem.shift, dtype=np.float64), (n,))[:, None]
        self.border = Border.of(problem.border) if problem.border is not None and problem.border.shape[1] else None
        self.basis = np.zeros((n, 0)) if self.border is None else self.border.thin()
        self.inverse = inverse
        if inverse is not None:
            self.scaled = inverse(self.basis)  # D^-1 Q1
            self.small = self.basis.T @ self.scaled

    def __matmul__(self, V: Floats) -> Floats:
        return np.asarray(self.gram @ V, dtype=np.float64) + self.shift * V

    def project(self, R: Floats) -> Floats:
        """The part of R that no choice of the multipliers can remove."""
        return R - self.basis @ (self.basis.T @ R) if self.border is not None else R

    def precondition(self, R: Floats) -> Floats:
        """D^-1 R, corrected so that it is orthogonal to the border; R itself must be."""
        if self.inverse is None:
            return R
        Z = self.inverse(R)
        if self.border is None:
            return Z
        return self.project(Z - self.scaled @ np.linalg.solve(self.small, self.basis.T @ Z))

    def multipliers(self, left: Floats) -> Floats:
        """Coefficients of the border, (s, k), where y - G a is left."""
        if self.border is None:
            return np.zeros((0, left.shape[1]))
        return self.border.multipliers(self.basis.T @ left)


def _solve_block(
    system: _System,
    rhs: Columns,
    start: Floats | None,
    tol: float,
    limit: int,
    monitor: Monitor | None,
    kept: Kept,
) -> Solution:
    """Solution by block conjugate gradients; its trace has the objective at the two ends alone."""
    began, answers = time.perf_counter() - kept.seconds, []
    rows = [(0.0 if start is None else np.nan, 1.0 if start is None else np.nan, 0.0)]
    if kept.state is not None:
        rows = [tuple(row) for row in kept.state["beside"]["rows"].tolist()]
    kept = kept.beside(lambda: {"rows": np.array(rows)})

    def watch(iteration: int, residual: float) -> bool:
        rows.append((np.nan, residual, time.perf_counter() - began))
        answers.append(monitor(iteration, residual) if monitor is not None else False)
        return bool(answers[-1])

    found = block_solve(
        lambda V: system.project(system @ V), system.project(rhs.values),
        None if system.inverse is None else system.precondition,
        start=None if start is None else system.project(start), tol=tol, max_iter=limit, monitor=watch,
        kept=kept
    )  # fmt: skip
    left = rhs.values - system @ found.solutions
    residual = rhs.residual(system.project(left))
    rows.append((rhs.objective(found.solutions, left), residual, time.perf_counter() - began))
    stopped = answers[-1] if found.stopped else None
    if stopped is None:
        ended = Status.MAX_ITER if found.iterations >= limit else Status.STALLED
        stopped = Status.CONVERGED if found.converged else ended
    return Solution(
        coef=rhs.restore(found.solutions),
        multipliers=rhs.restore(system.multipliers(left)),
        status=stopped if isinstance(stopped, Status) else Status.STOPPED,
        residual=residual,
        trace=Trace.of(rows),
    )


class _Run:
    """State of the k runs: iterates a, residuals r, directions p, each (n, k)."""

    def __init__(self, system: _System, rhs: Columns, start: Floats | None, kept: Kept) -> None:
        self.system, self.rhs, self.kept = system, rhs, kept
        self.began = time.perf_counter() - kept.seconds
        k = rhs.values.shape[1]
        self.lengths = lengths(rhs.values)
        self.rows: list[tuple[float, float, float]] = []
        self.last = functools.partial(self.state, np.full(k, np.inf), 0, 0)  # what makes the state now
        self.curvature = 0.0  # largest seen
        self.stalled = np.zeros(k, dtype=bool)
        self.verified = np.ones(k, dtype=bool)  # columns of `left` that belong to the present a
        self.left = rhs.values.copy()
        if kept.state is not None:
            self.a = self.left  # both of them, and what follows, are taken up by `iterate`
        elif start is None:
            self.a = np.zeros_like(rhs.values)
        else:
            self.a = system.project(start)
            self.left_now(np.arange(k))
        self.r = system.project(self.left)
        self.p = np.zeros_like(self.r)
        self.rho = np.ones(k)
        self.believed = np.full(k, np.inf)  # residual when last recomputed

    def left_now(self, columns: Any) -> Floats:
        """Y - G a, (n, k), recomputed in some columns."""
        if len(columns):
            self.left[:, columns] = self.rhs.values[:, columns] - self.system @ self.a[:, columns]
        return self.left

    def residuals(self) -> Floats:
        """Relative residuals by the recurrence, (k,)."""
        return np.linalg.norm(self.r, axis=0) / self.lengths

    def record(self) -> float:
        worst = float(np.max(self.residuals(), initial=0.0))
        self.rows.append((self.rhs.objective(self.a, self.r), worst, time.perf_counter() - self.began))
        return worst

    def iterate(self, tol: float, limit: int, monitor: Monitor | None) -> Status:
        """Run until all columns have ended; how."""
        fresh = np.ones(len(self.rho), dtype=bool)  # columns whose next direction is the gradient itself
        since = iteration = 0
        if self.kept.state is None:
            best = self.residuals()
            self.record()
        else:
            best, since, iteration, fresh = self.take_up(self.kept.state)
        residuals = self.residuals()
        while True:
            active = (residuals > tol) & ~self.stalled
            if not active.any():
                active = fresh = self.revive(tol)
                if not active.any():
                    return Status.STALLED if self.stalled.any() else Status.CONVERGED
            if iteration >= limit:
                return Status.MAX_ITER
            self.step(active, fresh)
            fresh = np.zeros_like(fresh)
            iteration += 1
            residuals = self.residuals()
            since = 0 if np.any(residuals < best) else since + 1
            best = np.minimum(best, residuals)
            if since >= _PATIENCE:
                return Status.STALLED
            worst = self.record()
            self.last = functools.partial(self.state, best, since, iteration)
            self.kept.offer(self.last)
            if monitor is not None and (answer := monitor(iteration, worst)):
                return answer if isinstance(answer, Status) else Status.STOPPED

    def state(self, best: Floats, since: int, iteration: int) -> dict[str, Any]:
        """All that the next iterations depend on."""
        runs = {name: getattr(self, name) for name in _STATE}
        return {**runs, "rows": np.array(self.rows), "best": best, "since": since, "iteration": iteration}

    def take_up(self, state: dict[str, Any]) -> tuple[Floats, int, int, Bools]:
        """Go on where another run was: its smallest residuals, iterations since then, and all of them."""
        for name in _STATE:
            setattr(self, name, state[name])
        self.rows = [tuple(row) for row in state["rows"].tolist()]
        return state["best"], state["since"], state["iteration"], np.zeros(len(self.rho), dtype=bool)

    def step(self, active: Bools, fresh: Bools) -> None:
        """One iteration of [KIKS] Section 3.3 in the active columns."""
        j = np.flatnonzero(active)
        z = self.system.precondition(self.r[:, j])
        rho = np.einsum("ij,ij->j", self.r[:, j], z)
        beta = np.where(fresh[j], 0.0, rho / self.rho[j])
        p = z + beta * self.p[:, j]
        Gp = self.system @ p
        bend = np.einsum("ij,ij->j", p, Gp)
        self.judge(j, bend, np.einsum("ij,ij->j", p, p))
        alpha = np.where(bend > 0.0, rho / np.where(bend > 0.0, bend, 1.0), 0.0)
        self.a[:, j] += alpha * p
        self.r[:, j] = self.system.project(self.r[:, j] - alpha * Gp)
        self.p[:, j], self.rho[j] = p, rho
        self.verified[j] = False

    def judge(self, j: Any, bend: Floats, squares: Floats) -> None:
        """Curvature along a direction must be positive; where it is not, end the column or raise."""
        if not np.all(np.isfinite(bend)):
            raise NotPositiveDefinite(
                "A product with the Gram matrix is not finite; finite entries are needed. Rescale the "
                "samples so that the kernel does not overflow."
            )
        ratio = bend / np.where(squares > 0.0, squares, 1.0)
        self.curvature = max(self.curvature, float(np.max(ratio)))
        if np.any(ratio < -_ROUNDING * self.curvature) or self.curvature <= 0.0:
            raise NotPositiveDefinite(
                f"K + shift has the curvature {float(np.min(ratio)):.2g} along a direction; conjugate "
                "gradients need a positive definite matrix. Raise the shift (alpha, noise), or make the "
                "kernel positive definite."
            )
        self.stalled[j[bend <= 0.0]] = True

    def revive(self, tol: float) -> Bools:
        """Recompute the residuals of ended columns; those larger than tol after all start again."""
        doubtful = np.flatnonzero(~self.verified & ~self.stalled)
        again = np.zeros_like(self.stalled)
        if not len(doubtful):
            return again
        self.r[:, doubtful] = self.system.project(self.left_now(doubtful)[:, doubtful])
        self.verified[doubtful] = True
        true = self.residuals()
        failed = doubtful[true[doubtful] > tol]
        hopeless = failed[true[failed] > 0.5 * self.believed[failed]]
        self.stalled[hopeless] = True
        self.believed[failed] = true[failed]
        again[failed] = True
        return again & ~self.stalled


def _inverse_diagonal(diagonal: Floats, shift: Floats) -> Floats:
    full = np.asarray(diagonal, dtype=np.float64)[:, None] + shift
    if not np.all(full > 0.0):
        row = int(np.flatnonzero(~(full[:, 0] > 0.0))[0])
        raise CapabilityError(
            f"preconditioner='diagonal' divides by the diagonal of K + shift, which is {full[row, 0]:.2g} at "
            f"sample {row}; positive numbers are needed. Use preconditioner=None."
        )
    return 1.0 / full
