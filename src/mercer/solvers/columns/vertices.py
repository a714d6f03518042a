"""Restricted programs by the simplex method of HiGHS: highspy keeps a warm model, SciPy starts anew each time."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
from scipy.optimize import linprog

from mercer.arrays import Floats
from mercer.errors import ParameterError
from mercer.runtime.tiling import in_background
from mercer.solvers.columns.boxed_program import BoxedProgram

__all__ = ["Vertices", "has_highspy"]

_TOLERANCE = 1e-9  # of feasibility


def has_highspy() -> bool:
    """Return whether the package highspy, an extra, is installed."""
    return importlib.util.find_spec("highspy") is not None


class Vertices:
    """A program that grows by rows, solved at a vertex each time.

    Parameters
    ----------
    form : Form
        Whose program is solved.
    """

    def __init__(self, form: Any) -> None:
        self.form, self.model = form, None
        self.kept = 0

    def solve(self, H: Floats, accuracy: float) -> tuple[Floats, Floats, Floats, float]:
        """Return u, a, the multipliers of the sums and of the first rows, and the level; H grows at its end."""
        program, skip = self.form.program(self.form.row(H)), self.form.extra()
        u, v, a, rho = in_background(self._warm if has_highspy() else _anew, program)
        multipliers = np.concatenate([rho, np.maximum(a[:skip], 0.0)])
        return np.maximum(u, 0.0), np.maximum(a[skip:], 0.0), multipliers, self.form.level(v)

    def _warm(self, program: BoxedProgram) -> tuple[Floats, Floats, Floats, Floats]:
        highspy: Any = importlib.import_module("highspy")
        if self.model is None:
            self.model = _empty(highspy, program)
        k = len(program.free_cost)
        A = np.hstack([program.rows, program.free])[self.kept :]
        places = np.arange(A.shape[1], dtype=np.int32)
        for row, right in zip(A, program.right[self.kept :], strict=True):
            self.model.addRow(-highspy.kHighsInf, float(right), len(row), places, row)
        self.kept = len(program.right)
        self.model.run()
        _require(self.model.getModelStatus() == highspy.HighsModelStatus.kOptimal)
        found = self.model.getSolution()
        x, dual = np.array(found.col_value), np.array(found.row_dual)
        e, n = len(program.sums), len(program.upper)
        return x[:n], x[n : n + k], -dual[e:], -dual[:e]


def _empty(highspy: Any, program: BoxedProgram) -> Any:
    """Return a model without rows but the sums."""
    n, k, e = len(program.upper), len(program.free_cost), len(program.sums)
    model, lp = highspy.Highs(), highspy.HighsLp()
    for name, value in (
        ("output_flag", False),
        ("threads", 1),
        ("primal_feasibility_tolerance", _TOLERANCE),
        ("dual_feasibility_tolerance", _TOLERANCE),
    ):
        model.setOptionValue(name, value)
    endless = np.full(k, highspy.kHighsInf)
    lp.num_col_, lp.num_row_ = n + k, e
    lp.col_cost_ = np.append(program.cost, program.free_cost)
    lp.col_lower_, lp.col_upper_ = np.append(np.zeros(n), -endless), np.append(program.upper, endless)
    lp.row_lower_ = lp.row_upper_ = program.sums
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = n * np.arange(e + 1, dtype=np.int32)
    lp.a_matrix_.index_ = np.tile(np.arange(n, dtype=np.int32), e)
    lp.a_matrix_.value_ = program.equal.ravel()
    model.passModel(lp)
    return model


def _anew(program: BoxedProgram) -> tuple[Floats, Floats, Floats, Floats]:
    n, k = len(program.upper), len(program.free_cost)
    limits = np.column_stack(
        [np.append(np.zeros(n), np.full(k, -np.inf)), np.append(program.upper, np.full(k, np.inf))]
    )
    has_sums = len(program.sums) > 0
    found = linprog(
        np.append(program.cost, program.free_cost),
        A_ub=np.hstack([program.rows, program.free]),
        b_ub=program.right,
        A_eq=np.hstack([program.equal, np.zeros((len(program.sums), k))]) if has_sums else None,
        b_eq=program.sums if has_sums else None,
        bounds=limits,
        method="highs",
        options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
    )
    _require(found.status == 0)
    rho = -np.asarray(found.eqlin.marginals) if has_sums else np.zeros(0)
    return found.x[:n], found.x[n:], -np.asarray(found.ineqlin.marginals), rho


def _require(solved: bool) -> None:
    if not solved:
        raise ParameterError(
            "HiGHS could not solve the linear program of the weak learners. Numbers of very different sizes are the "
            "usual reason; values around 1 are accepted best. Scale the targets, or use solver='interior'."
        )
