r"""The machine at given weights of its kernels, and what its solution says of better weights.

Symbols: d the weights, z the variables of the machine's program, beta_i the sum of those of sample i, s_t = beta^T K_t
beta, J(d) the minimum of the machine's risk at d, which is convex in d with slopes -s_t / 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from mercer.arrays import Floats, Indices
from mercer.gram import HasFactor
from mercer.problems import BoxQP, LinearSystem, MulticlassQP, Status
from mercer.solvers.box.multiclass_descent import SequentialDual
from mercer.solvers.box.optimality import duality_gap, feasible, movable, multipliers
from mercer.solvers.box.smo import SMO
from mercer.solvers.linear.cholesky_solver import Cholesky
from mercer.solvers.linear.woodbury import Woodbury
from mercer.solvers.mixtures.factor_newton import FactorNewton
from mercer.solvers.mixtures.mixture_problem import MixtureMulticlass, MixtureQP, Program
from mercer.solvers.mixtures.stack import Factor, Stack

__all__ = ["BoxMachine", "MulticlassMachine", "Point", "machine_of"]


@dataclass(frozen=True, eq=False)
class Point:
    """A machine solved at some weights.

    Attributes
    ----------
    d : (m,) array
        The weights.
    z : array
        The variables of the machine's program.
    beta : (n,) or (n, c) array
        Coefficients of the samples.
    s : (m,) array
        beta^T K_t beta.
    gain : float
        What the dual objective has besides the squares: it is gain - d^T s / 2.
    slack : float
        Duality gap of the machine at these weights: J(d) is at most this above its dual objective.
    product : array
        K_d beta.
    multipliers : (g,) array
        Of the sums.
    status : Status
        How the machine's solver ended.
    """

    d: Floats
    z: Floats
    beta: Floats
    s: Floats
    gain: float
    slack: float
    product: Floats
    multipliers: Floats
    status: Status

    @property
    def value(self) -> float:
        """J(d), or a little more."""
        return self.gain - 0.5 * float(self.d @ self.s) + self.slack


class BoxMachine:
    """A machine of the support vector family, or several, at given weights of their kernels.

    Parameters
    ----------
    problem : MixtureQP
    stack : Stack
        Its Grams.
    """

    def __init__(self, problem: MixtureQP, stack: Stack) -> None:
        self.stack = stack
        self.programs = problem.programs
        self.parts = [_Part(program, stack.n) for program in problem.programs]
        self.places = np.cumsum([0, *(len(part.ridge) for part in self.parts)])

    @property
    def unit(self) -> float:
        """The unit of the functions' values."""
        return max(part.unit for part in self.parts)

    def solve(self, d: Floats, start: Floats | None, tol: float, monitor: Any = None) -> Point:
        """Solve the machine's program at weights d, from variables near its solution.

        Parameters
        ----------
        d : (m,) array
        start : (v,) array, optional
            Variables of all programs, one after the other.
        tol : float
            Violation of the optimality conditions, in the unit of f.
        monitor : callable, optional
        """
        gram = self.stack.combined(d)
        found = []
        for k, part in enumerate(self.parts):
            found.append(part.solve(gram, None if start is None else self._of(start, k), tol, monitor))
        return self._point(d, found)

    def look(self, d: Floats, z: Floats) -> Point:
        """Return what variables that satisfy the constraints are worth at weights d; nothing is solved."""
        gram = self.stack.combined(d)
        return self._point(d, [part.look(gram, self._of(z, k)) for k, part in enumerate(self.parts)])

    def _of(self, z: Floats, k: int) -> Floats:
        return z[self.places[k] : self.places[k + 1]]

    def _point(self, d: Floats, found: list[_Found]) -> Point:
        one = len(found) == 1
        beta = found[0].beta if one else np.column_stack([one.beta for one in found])
        product = found[0].product if one else np.column_stack([one.product for one in found])
        worst = next((one.status for one in found if one.status is not Status.CONVERGED), Status.CONVERGED)
        return Point(
            d, np.concatenate([one.z for one in found]), beta, self.stack.squares(beta),
            sum(one.gain for one in found), sum(one.slack for one in found), product,
            np.concatenate([one.rho for one in found]), worst,
        )  # fmt: skip

    def curvature(self, point: Point, which: Indices, most: int) -> Floats | None:
        """Return the second derivative of J at a point in some of the weights; None if too many variables are free."""
        gram = self.stack.combined(point.d)
        total = np.zeros((len(which), len(which)))
        for k, part in enumerate(self.parts):
            free = part.free(self._of(point.z, k))
            if len(free) > most:
                return None
            if len(free):
                samples = part.samples(free)
                beta = point.beta if point.beta.ndim == 1 else point.beta[:, k]
                total += part.curvature(gram, free, self.stack.products(beta, samples, which).T)
        return total


class _Found(NamedTuple):
    """One program, solved."""

    z: Floats
    beta: Floats
    product: Floats
    rho: Floats
    gain: float
    slack: float
    status: Status


class _Part:
    """One program of a machine."""

    def __init__(self, program: Program, n: int) -> None:
        self.program, self.n = program, n
        v = len(program.linear)
        self.ridge = np.broadcast_to(np.asarray(program.ridge, dtype=np.float64), (v,))
        ends = np.concatenate([program.lower, program.upper])
        self.is_linear = bool(np.isinf(ends).all() and (self.ridge > 0.0).all() and not np.any(program.total))
        self.unit = 0.5 * float(np.ptp(program.linear)) if v else 0.0  # of f; 0 is not known yet

    def solve(self, gram: Any, start: Floats | None, tol: float, monitor: Any) -> _Found:
        """Solve the program over a Gram."""
        program = self.program.at(gram)
        if self.is_linear:
            return self._solve_linear(gram, program)
        if self.unit == 0.0:
            self.unit = float(np.max(np.abs(program.gram @ feasible(program, start)))) or 1.0
        if isinstance(gram, Factor):
            newton = FactorNewton(gram.F, program, self.program.index)
            start, product, status = newton.solve(feasible(program, start), self.unit, tol, monitor)
            if status is not Status.STALLED:
                rho = multipliers(program, start, product + self.ridge * start + program.linear)
                return self._found(program, start, product, rho, status)
        found = SMO(tol * self.unit, shrinking=False).solve(program, start=start, monitor=monitor)
        return self._found(program, found.coef, found.state, found.multipliers, found.status)

    def look(self, gram: Any, z: Floats) -> _Found:
        """Return what variables are worth."""
        program = self.program.at(gram)
        product = program.gram @ z
        rho = multipliers(program, z, product + self.ridge * z + program.linear)
        return self._found(program, z, product, rho, Status.CONVERGED)

    def _solve_linear(self, gram: Any, program: BoxQP) -> _Found:
        """Solve a program without a box: a linear system."""
        groups = len(program.total)
        border = self._sums(np.arange(len(program.linear))) if groups else None
        solver: Any = Woodbury() if isinstance(gram, HasFactor) else Cholesky()
        found = solver.solve(LinearSystem(gram, self.ridge, -program.linear, border))
        product = gram @ found.coef
        rho = multipliers(program, found.coef, product + self.ridge * found.coef + program.linear)
        return self._found(program, found.coef, product, rho, found.status)

    def _found(self, program: BoxQP, z: Floats, product: Floats, rho: Floats, status: Status) -> _Found:
        gain = -float(program.linear @ z) - 0.5 * float(self.ridge @ (z * z))
        slack = duality_gap(program, z, product, rho)
        index = self.program.index
        if index is None:
            return _Found(z, z, product, rho, gain, slack, status)
        own = np.empty(self.n)
        own[index] = product  # of each sample once
        beta = np.bincount(index, weights=z, minlength=self.n).astype(np.float64)
        return _Found(z, beta, own, rho, gain, slack, status)

    def free(self, z: Floats) -> Indices:
        """Return the variables inside their box."""
        down, up = movable(self.program.at(None), z)
        return np.flatnonzero(down & up)

    def samples(self, free: Indices) -> Indices:
        """Return the samples of some variables."""
        return free if self.program.index is None else self.program.index[free]

    def _sums(self, which: Indices) -> Floats:
        """Return which sums variables are in, (len which, g)."""
        group = np.zeros(len(which), np.intp) if self.program.group is None else self.program.group[which]
        return (group[:, None] == np.arange(len(self.program.total))).astype(float)

    def curvature(self, gram: Any, free: Indices, V: Floats) -> Floats:
        r"""Return the second derivative of J in the weights, from V_t = (K_t beta)_F.

        .. math:: H_{st} = V_s^\top P V_t, \qquad P = A^{-1} - A^{-1} E (E^\top A^{-1} E)^{-1} E^\top A^{-1}, \quad
                  A = (K_d + R)_{FF}

        with F the free variables and E the sums they are in: as long as the same variables are free, the solution is
        that of a linear system.
        """
        samples = self.samples(free)
        A = np.array(gram.rows(samples, samples), dtype=np.float64)
        A[np.diag_indices_from(A)] += self.ridge[free]
        size = float(np.mean(np.diagonal(A))) or 1.0
        for share in (1e-13, 1e-10, 1e-7, 1e-4):  # of a singular block: a curvature that is a little too small
            A[np.diag_indices_from(A)] += share * size
            try:
                L = np.linalg.cholesky(A)
                break
            except np.linalg.LinAlgError:
                continue
        else:
            return np.zeros((V.shape[1], V.shape[1]))
        W = solve_triangular(L, np.column_stack([V, self._sums(free)]), lower=True, check_finite=False)
        V, E = W[:, : V.shape[1]], W[:, V.shape[1] :]
        Q = np.linalg.qr(E[:, E.any(axis=0)])[0]
        V = V - Q @ (Q.T @ V)
        return V.T @ V


class MulticlassMachine:
    """The machine of all classes together at given weights of its kernels.

    Parameters
    ----------
    problem : MixtureMulticlass
    stack : Stack
    """

    def __init__(self, problem: MixtureMulticlass, stack: Stack) -> None:
        self.problem, self.stack, self.unit = problem, stack, 1.0

    def solve(self, d: Floats, start: Floats | None, tol: float, monitor: Any = None) -> Point:
        """Solve the machine's program at weights d; see `BoxMachine.solve`."""
        p, gram = self.problem, self.stack.combined(d)
        found = SequentialDual(tol).solve(
            MulticlassQP(gram, p.codes, p.upper, p.n_classes), start=start, monitor=monitor
        )  # fmt: skip
        B = found.coef
        F = gram @ B
        every = np.arange(len(p.codes))
        own = F[every, p.codes]
        losses = F - own[:, None] + 1.0
        losses[every, p.codes] = 0.0
        gain, square = float(B[every, p.codes].sum()), float(np.sum(B * F))
        slack = max(square + float(p.upper @ losses.max(axis=1)) - gain, 0.0)
        return Point(d, B, B, self.stack.squares(B), gain, slack, F, np.zeros(0), found.status)


def machine_of(problem: Any, stack: Stack) -> BoxMachine | MulticlassMachine:
    """Return the machine of a problem over several Grams."""
    return MulticlassMachine(problem, stack) if isinstance(problem, MixtureMulticlass) else BoxMachine(problem, stack)
