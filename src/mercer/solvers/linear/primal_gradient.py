r"""Linear systems on a Gram of low rank by conjugate gradients in the coordinates of its factor.

Symbols: K = F F^T with F (n, r); S = diag(s) the shift; W = u S^-1 for the smallest shift u; P = (F, Q1) with Q1 a
basis of the border; N = P^T W P + u (I on the columns of F); M the same sums over some samples, scaled.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from mercer.arrays import Floats
from mercer.constraints import Integer, Positive
from mercer.gram.gram import HasFactor
from mercer.numerics.cholesky import safe_cholesky
from mercer.numerics.krylov import Krylov, krylov_solve
from mercer.problems import LinearSystem, Solution, Status, Trace
from mercer.runtime.tiling import Kept, kept_by
from mercer.solvers.linear.border import Border
from mercer.solvers.linear.woodbury import Woodbury, positive_shift
from mercer.solvers.solver import Columns, Monitor, Solver

__all__ = ["PrimalGradient"]
__public__ = __all__


class PrimalGradient(Solver):
    r"""Conjugate gradients on the normal equations of K = F F^T, preconditioned by those of some of the samples.

    .. math:: (F^\top S^{-1} F + I)\, v = F^\top S^{-1} y, \qquad
              M = \frac{n}{m} \sum_{i \in \text{drawn}} f_i f_i^\top / s_i + I, \qquad a = S^{-1} (y - F v)

    The normal equations cost n r^2 operations, and those of m samples m r^2. From the solution of the second, which is
    near already, a few passes over the data of n r kernel values each lead to that of the first.

    Seed: [KIKS] Section 3.3 (conjugate gradients, with the misprinted sign of the printed update corrected) and
    Eq. (4), the primal form.

    Parameters
    ----------
    tol : float, default 1e-4
        Tolerance of the length of what is left of the equations, relative to the right-hand side, both in the norm of
        M^-1; this is about the relative error of the function in the norm of the objective.
    samples : int, default 32
        m / r, how many samples the preconditioner has for each column of F. With n or more it is `Woodbury`.
    max_iter : int, default 100

    Notes
    -----
    Solves LinearSystem with a positive shift, with or without a border. Needs a Gram of low rank, such as `Nystrom`,
    `IncompleteCholesky`, `RandomFeatures`. By the law of large numbers all eigenvalues of M^-1 N are near one, within
    about 1 / sqrt(samples): each pass divides the error by about ten. Cost O(m r^2 + r^3) and n r kernel values per
    iteration, memory O(r^2 + n k). There is no factor of N, so no leave-one-out by closed form. Samples are drawn with
    a fixed seed: the result is repeatable.

    References
    ----------
    H. Avron, P. Maymounkov, S. Toledo, Blendenpik (2010), for preconditioning by a sketch; A. Rudi, L. Carratino,
    L. Rosasco, FALKON (2017), for the same with the landmarks as the sketch.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Nystrom
    >>> from mercer.kernels import Gaussian
    >>> x = np.linspace(0.0, 6.0, 4000)
    >>> K = Nystrom(20).build(Gaussian(1.0), Vectors.pack(x[:, None]))
    >>> found = PrimalGradient().solve(LinearSystem(K, shift=0.1, rhs=np.sin(x)))
    >>> found.status.name, found.residual < 1e-4
    ('CONVERGED', True)
    """

    solves = LinearSystem
    needs = (HasFactor,)
    remedy = "Use a Gram of low rank, as gram=Nystrom(500), or leave out solver=."
    constraints = {"tol": Positive(), "samples": Integer(1), "max_iter": Integer(1)}

    def __init__(self, tol: float = 1e-4, samples: int = 32, max_iter: int = 100) -> None:
        self.tol = tol
        self.samples = samples
        self.max_iter = max_iter

    def _solve(self, problem: LinearSystem, start: Floats | None = None, monitor: Monitor | None = None) -> Solution:
        gram: Any = problem.gram
        n = len(problem.rhs)
        if not hasattr(gram, "sweep") or n <= self.samples * max(gram.rank, 1):
            return Woodbury().solve(problem)
        kept = kept_by(monitor, "PrimalGradient", options=repr(self), rhs=problem.rhs, shift=problem.shift)
        began = time.perf_counter() - kept.seconds
        rhs = Columns.of(problem.rhs)
        equations = _Equations(problem, positive_shift(problem.shift, n), self.samples)
        v = equations.guess(rhs.values)
        fitted, left, right = equations.left(rhs.values, v)
        whole = np.linalg.norm(equations.half(right), axis=0)
        residual = equations.half(left)
        size = np.linalg.norm(residual, axis=0)
        rows = [(np.nan, _largest(size, whole), time.perf_counter() - began)]
        answer: list[Any] = []

        def watch(iteration: int, relative: float) -> bool:
            now = _largest(relative * size, whole)
            if iteration == len(rows):  # a resumed run reports its last iteration once more
                rows.append((np.nan, now, time.perf_counter() - began))
            answer.append(monitor(iteration, now) if monitor is not None else False)
            return bool(answer[-1])

        scaled = residual / np.where(whole > 0.0, whole, 1.0)
        goal = self.tol / max(_largest(size, whole), np.finfo(float).tiny)
        if kept.state is not None:  # what a former run has seen
            rows[:] = [tuple(row) for row in kept.state["beside"]["rows"].tolist()]
            equations.seen = list(kept.state["beside"]["seen"])
        place = kept.beside(lambda: {"seen": equations.seen, "rows": np.array(rows)})
        found = _run(equations, scaled, goal, self.max_iter, watch, place)
        v = v + equations.back(found.solutions * np.where(whole > 0.0, whole, 1.0))
        fitted = equations.fitted(fitted, v, found, whole)
        reached = _largest(found.residuals * size, whole)
        status = Status.CONVERGED if reached <= self.tol else Status.MAX_ITER
        if found.stopped:
            status = answer[-1] if isinstance(answer[-1], Status) else Status.STOPPED
        coef = (rhs.values - fitted) / equations.shift[:, None]
        objective = rhs.objective(coef, np.zeros_like(coef))
        rows.append((objective, reached, time.perf_counter() - began))
        r = gram.rank
        multipliers = np.zeros((0, len(rhs.scale)))
        if equations.border is not None:
            multipliers = equations.border.multipliers(v[r:])
        return Solution(
            coef=rhs.restore(coef),
            weights=rhs.restore(v[:r]),
            multipliers=rhs.restore(multipliers),
            status=status,
            residual=reached,
            jitter=equations.factor.jitter,
            trace=Trace.of(rows),
            details={"passes": found.iterations + 2, "samples of the preconditioner": equations.count},
        )


def _run(equations: _Equations, residual: Floats, goal: float, max_iter: int, watch: Any, kept: Kept) -> Krylov:
    """Conjugate gradients in the coordinates in which M is the identity."""
    if goal >= 1.0:
        nothing = np.zeros((0, residual.shape[1]))
        size = np.ones(residual.shape[1])
        return Krylov(np.zeros_like(residual), size, nothing, nothing, size)
    return krylov_solve(equations.product, residual, tol=goal, max_iter=max_iter, monitor=watch, kept=kept)


def _largest(left: Floats, whole: Floats) -> float:
    """Largest ratio of lengths; 0 where both are zero."""
    return float(np.max(left / np.where(whole > 0.0, whole, 1.0), initial=0.0))


class _Equations:
    """The normal equations N v = P^T W y by passes over the data, and the factor of M = L L^T."""

    def __init__(self, problem: LinearSystem, shift: Floats, samples: int) -> None:
        self.gram: Any = problem.gram
        self.shift, self.unit = shift, float(shift.min())
        self.weight = self.unit / shift
        n, r = len(shift), self.gram.rank
        bordered = problem.border is not None and problem.border.shape[1] > 0
        self.border = Border.of(problem.border) if bordered and problem.border is not None else None
        self.basis = np.zeros((n, 0)) if self.border is None else self.border.thin()
        self.count = samples * r
        self.index = np.sort(np.random.default_rng(0).choice(n, self.count, replace=False))
        self.part = self.gram.take(self.index)
        self.factor: Any = None
        self.seen: list[Floats] = []  # P d for the directions of conjugate gradients

    def guess(self, rhs: Floats) -> Floats:
        """Factor M; return the solution of the equations of the samples drawn."""
        weight, basis = self.weight[self.index], self.basis[self.index]
        k, scale = rhs.shape[1], len(self.shift) / self.count
        both = np.hstack([rhs[self.index], basis])
        inner, right = self.part.normal(weight, both)
        N = scale * inner
        np.einsum("ii->i", N)[:] += self.unit
        corner = scale * ((basis.T * weight) @ both)
        right = scale * right
        if self.border is not None:
            N = np.block([[N, right[:, k:]], [right[:, k:].T, corner[:, k:]]])
        self.factor = safe_cholesky(np.ascontiguousarray(N))
        return self.factor.solve(np.vstack([right[:, :k], corner[:, :k]]))

    def half(self, R: Floats) -> Floats:
        """L^-1 R."""
        return self.factor.half_solve(R)

    def back(self, X: Floats) -> Floats:
        """L^-T X."""
        return solve_triangular(self.factor.array, X, lower=False, check_finite=False)  # its upper half is L^T

    def fitted(self, start: Floats, v: Floats, found: Krylov, unit: Floats) -> Floats:
        """P v, (n, k): of one output the sum of what the passes have seen, and otherwise by another pass."""
        if start.shape[1] == 1:
            for step, seen in zip(found.alpha[:, 0], self.seen, strict=True):
                start += (float(step) * float(unit[0])) * seen
            return start
        r = self.gram.rank
        return self.gram.times(v[:r]) + self.basis @ v[r:]

    def _pass(self, v: Floats, respond: Any) -> tuple[Floats, Floats]:
        """P v and P^T of what answers it."""
        r = self.gram.rank
        basis = self.basis
        width = respond(slice(0, 0), np.empty((0, v.shape[1]))).shape[1]
        answers = np.empty((len(basis), width if basis.shape[1] else 0))

        def answer(rows: slice, values: Floats) -> Floats:
            if not basis.shape[1]:
                return respond(rows, values)
            values += basis[rows] @ v[r:]
            answers[rows] = respond(rows, values)
            return answers[rows]

        values, moment = self.gram.sweep(v[:r], answer)
        if basis.shape[1]:
            moment = np.vstack([moment, basis.T @ answers])
        return values, moment

    def _ridge(self, v: Floats) -> Floats:
        out = self.unit * v
        out[self.gram.rank :] = 0.0
        return out

    def left(self, y: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
        """P v, what is left of the equations at v, and their right-hand side."""
        w, k = self.weight[:, None], y.shape[1]
        values, moment = self._pass(v, lambda rows, f: w[rows] * np.hstack([y[rows] - f, y[rows]]))
        return values, moment[:, :k] - self._ridge(v), moment[:, k:]

    def product(self, X: Floats) -> Floats:
        """L^-1 N L^-T X."""
        v = self.back(X)
        w = self.weight[:, None]
        values, moment = self._pass(v, lambda rows, f: w[rows] * f)
        if values.shape[1] == 1:
            self.seen.append(values)
        return self.half(moment + self._ridge(v))
