"""Weights and machine at once, as a second-order cone program.

Symbols: z the machine's variables, beta = M z those of the samples, K_t = F_t F_t^T, gamma the largest of the lengths
|F_t^T beta|.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.budget import Plan
from mercer.errors import CapabilityError
from mercer.numerics.cone_solver import solve_cones
from mercer.solvers.box.optimality import project
from mercer.solvers.mixtures.mixture_problem import MixtureQP, Program
from mercer.solvers.mixtures.weight_search import MixtureSolver, Search, require_simplex

__all__ = ["ConeProgram"]
__public__ = __all__

_RANK = 1e-13  # of the largest eigenvalue: smaller ones are rounding


class ConeProgram(MixtureSolver):
    r"""The whole problem as one second-order cone program: slow, exact, and independent of the other solvers.

    .. math:: \min_{z, \gamma} \; \tfrac12 \gamma^2 + p^\top z + \tfrac12 \sum_j r_j z_j^2 \quad \text{s.t.} \quad
              \|F_t^\top \beta\| \le \gamma, \quad \ell \le z \le u, \quad \sum_{j \in g} z_j = t_g

    with :math:`K_t = F_t F_t^\top`. The weights are the multipliers of the cones over gamma.

    Seed: [STS] Section 7, Eq. (89) and the cone program after it; [KIKS] Section 6.2, Problem 2.

    Parameters
    ----------
    tol : float, default 1e-6
        Duality gap of the whole problem, relative to its minimum.

    Notes
    -----
    Solves problems with ``mixture=Simplex()`` and one machine by the interior point method of clarabel (``pip install
    mercer[qp]``). Memory 8 m n^2 bytes several times over; meant for some hundred samples.

    Examples
    --------
    >>> from mercer.solvers import ConeProgram
    >>> ConeProgram().tol
    1e-06
    """

    max_iter = 1

    def __init__(self, tol: float = 1e-6) -> None:
        self.tol = tol

    def _check_set(self, problem: MixtureQP) -> None:
        require_simplex(self, problem, (MixtureQP,))

    def _run(self, search: Search) -> None:
        if search.weights.single:
            search.finish()
            return
        m, n = len(search.stack), search.stack.n
        Plan(f"a cone program of {m} kernels on {n} samples", {"factors, several times": 48 * m * n * n}).require(
            search.stack.resources.memory
        )
        z, d = _solved(search)
        seen = search.machine.look(d, z)  # the bound is that of its own solution: the machine's is as far off as d
        search.lower = max(search.lower, seen.gain - 0.5 * search.weights.bound(seen.s))
        search.inner = 0.01 * self.tol
        search.move(search.evaluate(d, z))
        search.finish()


def _solved(search: Search) -> tuple[Floats, Floats]:
    """Return variables and weights by clarabel."""
    try:
        clarabel: Any = importlib.import_module("clarabel")
    except ImportError:
        raise CapabilityError(
            "ConeProgram was asked for without clarabel, whose interior point method it needs. Install it with "
            "pip install mercer[qp], or use solver=MixtureNewton()."
        ) from None
    programs = search.machine.programs
    rows = _Rows(clarabel, programs, search.stack.n)
    every = np.eye(search.stack.n)
    kernels = range(len(search.stack))
    heads = [rows.add_cone(_root(search.stack.products(every, which=np.array([t]))[0])) for t in kernels]
    v = rows.count
    ridge = np.concatenate([part.ridge for part in search.machine.parts])
    linear = np.concatenate([program.linear for program in programs])
    settings: Any = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    found = solve_cones(
        clarabel, sp.csc_matrix(sp.diags(np.append(ridge, 1.0))), np.append(linear, 0.0),
        sp.csc_matrix(sp.vstack(rows.parts)), np.concatenate(rows.sides), rows.cones, settings,
    )  # fmt: skip
    pressed = np.maximum(np.array(found.z)[heads], 0.0)
    pressed = np.where(pressed < 1e-9 * pressed.max(initial=0.0), 0.0, pressed)
    total = float(pressed.sum())
    x, parts, places = np.array(found.x)[:v], programs, search.machine.places
    z = [project(part.at(None), x[begin:end]) for part, begin, end in zip(parts, places[:-1], places[1:], strict=True)]
    return np.concatenate(z), pressed / total if total > 0.0 else search.weights.start(len(search.stack))


class _Rows:
    """The constraints of the cone program, A x + s = b with s in cones; x has all variables, and gamma last."""

    def __init__(self, clarabel: Any, programs: tuple[Program, ...], n: int) -> None:
        self.clarabel, self.n = clarabel, n
        self.count = sum(len(program.linear) for program in programs)
        self.parts: list[Any] = []
        self.sides: list[Floats] = []
        self.cones: list[Any] = []
        self.maps: list[Any] = []  # from all variables to the coefficients of the samples, one for each program
        first = 0
        for program in programs:
            v = len(program.linear)
            places = first + np.arange(v)
            index = np.arange(v) if program.index is None else program.index
            self.maps.append(self._matrix(np.ones(v), index, places, n))
            group = np.zeros(v, np.intp) if program.group is None else program.group
            if len(program.total):
                sums = self._matrix(np.ones(v), group, places, len(program.total))
                self._add(sums, program.total, clarabel.ZeroConeT)
            for sign, end in ((1.0, program.upper), (-1.0, program.lower)):
                finite = np.flatnonzero(np.isfinite(end))
                if len(finite):
                    rows = self._matrix(np.full(len(finite), sign), np.arange(len(finite)), places[finite], len(finite))
                    self._add(rows, sign * end[finite], clarabel.NonnegativeConeT)
            first += v

    def _matrix(self, values: Floats, rows: Any, columns: Any, height: int) -> Any:
        return sp.csc_matrix((values, (rows, columns)), shape=(height, self.count + 1))

    def _add(self, rows: Any, side: Floats, cone: Any) -> None:
        self.parts.append(rows)
        self.sides.append(np.asarray(side, dtype=float))
        self.cones.append(cone(rows.shape[0]))

    def add_cone(self, F: Floats) -> int:
        """Add that all F^T beta together are at most gamma long; return the place of gamma's row."""
        place = sum(part.shape[0] for part in self.parts)
        head = self._matrix(np.array([-1.0]), [0], [self.count], 1)
        tails = [-(sp.csc_matrix(F.T) @ one) for one in self.maps]
        rows: Any = sp.vstack([head, *tails], format="csc")
        self._add(rows, np.zeros(rows.shape[0]), self.clarabel.SecondOrderConeT)
        return place


def _root(K: Floats) -> Floats:
    """Return F with K = F F^T, of as few columns as K has eigenvalues above rounding."""
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    kept = values > _RANK * max(float(values[-1]), np.finfo(float).tiny)
    return vectors[:, kept] * np.sqrt(values[kept])
