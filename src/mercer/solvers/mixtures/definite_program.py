r"""Weights of any sign whose sum of kernels is positive definite, as a semidefinite program.

Symbols: N samples, the first n with targets; d_t the weights, of any sign; K_d their sum over all N, A_d its part over
the first n with the ridge; q = -p - lambda 1 - a + b with a, b >= 0 the multipliers of the box.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.errors import CapabilityError, MemoryBudgetError
from mercer.numerics.cone_solver import solve_cones
from mercer.problems import Solution
from mercer.solvers.box.smo import SMO
from mercer.solvers.mixtures.mixture_problem import Program
from mercer.solvers.mixtures.stack import Matrix

__all__ = ["DefiniteSolution", "definite_program"]

MOST = 120  # samples: the cone has as many variables as half their square


@dataclass(frozen=True, eq=False)
class DefiniteSolution:
    """Weights and machine.

    Attributes
    ----------
    weights : (m,) array
        Of any sign.
    machine : Solution
        Of the machine's program at these weights.
    objective : float
        J(d).
    gap : float
        How far it is above the bound of the semidefinite program, relative to it.
    smallest : float
        Least eigenvalue of the sum over all samples.
    """

    weights: Floats
    machine: Solution
    objective: float
    gap: float
    smallest: float


def definite_program(matrices: list[Floats], program: Program, trace: float, tol: float) -> DefiniteSolution:
    r"""Return the weights of any sign with the least risk, so that their sum is positive definite on all samples.

    .. math:: \min_{d, a, b, \lambda, t} \; t + u^\top a - \ell^\top b \quad \text{s.t.} \quad
              \begin{pmatrix} A_d & q \\ q^\top & 2 t \end{pmatrix} \succeq 0, \quad K_d \succeq 0, \quad
              \mathrm{tr} K_d \le N c, \quad a, b \ge 0

    Parameters
    ----------
    matrices : list of (N, N) arrays
    program : Program
        Over the first n samples, with one variable each.
    trace : float
        c, the largest mean of the diagonal of the sum.
    tol : float
        Tolerance of the interior point method.
    """
    try:
        clarabel: Any = importlib.import_module("clarabel")
    except ImportError:
        raise CapabilityError(
            "a definite mixture was asked for without clarabel, whose semidefinite solver it needs. Install it with "
            "pip install mercer[qp], or use MultipleKernelClassifier, whose weights are not negative."
        ) from None
    n, N, m = len(program.linear), len(matrices[0]), len(matrices)
    if N > MOST:
        raise MemoryBudgetError(
            f"a definite mixture of {N} samples was asked for; its semidefinite program has {N * (N + 1) // 2} "
            f"numbers in a cone, and at most {MOST} samples are accepted. Use fewer samples, or "
            "MultipleKernelClassifier, whose weights are not negative."
        )
    parts, sides, cones = _constraints(clarabel, matrices, program, trace)
    cost = np.zeros(m + 2 * n + 2)
    cost[m : m + n], cost[m + n : m + 2 * n] = _finite(program.upper), -_finite(program.lower)
    cost[-2], cost[-1] = float(np.sum(program.total)), 1.0
    settings: Any = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    nothing = sp.csc_matrix((len(cost), len(cost)))
    A, b = sp.csc_matrix(sp.vstack(parts)), np.concatenate(sides)
    found = solve_cones(clarabel, nothing, cost, A, b, cones, settings)
    d = np.array(found.x)[:m]
    K = np.tensordot(d, np.array(matrices), axes=1)
    values, vectors = np.linalg.eigh(K)
    # what the interior point method leaves of negative eigenvalues, so that the machine's program is convex
    safe = (vectors * np.maximum(values, 0.0)) @ vectors.T if values[0] < 0.0 else K
    machine = SMO(1e-6).solve(program.at(Matrix(np.ascontiguousarray(safe[:n, :n]))))
    z = machine.coef
    ridge = np.broadcast_to(np.asarray(program.ridge, dtype=float), (n,))
    value = -float(program.linear @ z) - 0.5 * float(z @ (safe[:n, :n] @ z)) - 0.5 * float(ridge @ z**2) + machine.gap
    bound = float(cost @ np.array(found.x))
    gap = abs(value - bound) / max(abs(value), np.finfo(float).tiny)
    return DefiniteSolution(d, machine, value, gap, float(values[0]))


def _finite(end: Floats) -> Floats:
    return np.where(np.isfinite(end), end, 0.0)


def _constraints(clarabel: Any, matrices: list[Floats], program: Program, trace: float) -> tuple[Any, Any, Any]:
    """Return the rows, right-hand sides and cones; variables are d, a, b, lambda, t."""
    n, N, m = len(program.linear), len(matrices[0]), len(matrices)
    width = m + 2 * n + 2
    ridge = np.broadcast_to(np.asarray(program.ridge, dtype=float), (n,))
    columns: list[Any] = []
    for matrix in matrices:
        columns.append(_packed(np.pad(matrix[:n, :n], (0, 1))))
    for sign in (-1.0, 1.0):  # a and b
        for i in range(n):
            border = np.zeros((n + 1, n + 1))
            border[i, n] = border[n, i] = sign
            columns.append(_packed(border))
    border = np.zeros((n + 1, n + 1))
    border[:n, n] = border[n, :n] = -1.0
    columns.append(_packed(border))
    corner = np.zeros((n + 1, n + 1))
    corner[n, n] = 2.0
    columns.append(_packed(corner))
    constant = np.zeros((n + 1, n + 1))
    constant[:n, :n] = np.diag(ridge)
    constant[:n, n] = constant[n, :n] = -program.linear
    schur = -sp.csc_matrix(np.column_stack(columns))
    whole = np.zeros((N * (N + 1) // 2, width))
    whole[:, :m] = -np.column_stack([_packed(matrix) for matrix in matrices])
    bound = np.zeros((1, width))
    bound[0, :m] = [np.trace(matrix) for matrix in matrices]
    signs = sp.hstack([sp.csc_matrix((2 * n, m)), -sp.identity(2 * n), sp.csc_matrix((2 * n, 2))])
    rows = [sp.csc_matrix(bound), signs]
    sides = [np.array([N * trace]), np.zeros(2 * n)]
    cones = [clarabel.NonnegativeConeT(1 + 2 * n)]
    infinite = np.flatnonzero(np.concatenate([np.isinf(program.upper), np.isinf(program.lower)]))
    if len(infinite):  # an end that is not there has no multiplier
        rows.append(
            sp.csc_matrix((np.ones(len(infinite)), (np.arange(len(infinite)), m + infinite)), (len(infinite), width))
        )
        sides.append(np.zeros(len(infinite)))
        cones.append(clarabel.ZeroConeT(len(infinite)))
    if not len(program.total):
        raise CapabilityError("a program without a sum was given; machines with a bias are accepted. Add a bias.")
    rows += [schur, sp.csc_matrix(whole)]
    sides += [_packed(constant), np.zeros(len(whole))]
    cones += [clarabel.PSDTriangleConeT(n + 1), clarabel.PSDTriangleConeT(N)]
    return rows, sides, cones


def _packed(M: Floats) -> Floats:
    """Return the upper triangle column by column, off the diagonal times the root of two: inner products are kept."""
    i, j = np.tril_indices(len(M))
    return np.where(i == j, 1.0, np.sqrt(2.0)) * M[i, j]
