"""Problems as mathematics, and what a solver answers.

A problem is a plain record: an estimator writes it, a solver reads it, and neither knows the other. ``gram``
is whatever multiplies vectors as the Gram matrix K does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from mercer.arrays import Floats

__all__ = ["LinearSystem", "Solution", "Status", "Trace"]


@dataclass(frozen=True, eq=False)
class LinearSystem:
    r"""Regularised interpolation: a symmetric linear system in K, with or without a border.

    .. math:: \begin{pmatrix} K + \mathrm{diag}(s) & B \\ B^\top & 0 \end{pmatrix}
              \begin{pmatrix} a \\ m \end{pmatrix} = \begin{pmatrix} y \\ 0 \end{pmatrix}

    Its solution minimises the sum of :math:`(y_i - f(x_i))^2 / s_i` plus :math:`a^\top K a` over functions
    :math:`f = \sum_i a_i k(x_i, \cdot) + b(\cdot)^\top m` whose second part is not penalised.

    Seed: [KIKS] Eq. (7) without a border; [SS] the system of the LS-SVM with a border of ones.

    Parameters
    ----------
    gram : Gram
        Operator K, (n, n).
    shift : float or (n,) array
        s, added to the diagonal: the ridge alpha, alpha over the sample weights, or a noise variance.
    rhs : (n,) or (n, k) array
        y, one column per output.
    border : (n, s) array, optional
        B, the values of the unpenalised functions at the samples: ones for a bias, polynomials for splines
        and for conditionally positive definite kernels, the mean functions of a Gaussian process. K need be
        positive definite only where B^T a = 0. Its columns must be linearly independent.

    Examples
    --------
    >>> system = LinearSystem(gram=np.eye(2), shift=1.0, rhs=np.ones(2))
    >>> system.shift
    1.0
    """

    gram: Any
    shift: float | Floats
    rhs: Floats
    border: Floats | None = None


class Status(Enum):
    """How a solver ended; the value of each is a sentence of advice.

    Examples
    --------
    >>> Status.STALLED.name
    'STALLED'
    """

    CONVERGED = "The tolerance was reached."
    MAX_ITER = (
        "The iterations ran out before the tolerance was reached: raise max_iter, loosen tol, or regularise "
        "more strongly."
    )
    TIME = (
        "The time ran out before the tolerance was reached: raise max_time, loosen tol, or choose an approximate Gram."
    )
    STOPPED = "The run was stopped before the tolerance was reached: start again from this solution."
    STALLED = "Rounding keeps the tolerance out of reach: loosen tol, regularise more strongly, or scale the samples."

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self is Status.CONVERGED


@dataclass(frozen=True, eq=False)
class Trace:
    """What happened, iteration by iteration; a direct solver has a trace of one entry.

    Attributes
    ----------
    objective : (t,) array
        Value of what is minimised, summed over the outputs.
    residual : (t,) array
        Largest residual over the outputs, as in `Solution`.
    seconds : (t,) array
        Time since the start.
    """

    objective: Floats
    residual: Floats
    seconds: Floats

    @classmethod
    def of(cls, rows: list[tuple[float, float, float]]) -> Trace:
        """Trace from rows (objective, residual, seconds)."""
        columns = np.array(rows, dtype=np.float64).reshape(len(rows), 3).T.copy()
        return cls(columns[0], columns[1], columns[2])

    def __len__(self) -> int:
        return len(self.residual)


def _no_multipliers() -> Floats:
    return np.zeros(0)


def _no_trace() -> Trace:
    return Trace.of([])


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found, how well, and what of its work can be used again.

    Attributes
    ----------
    coef : (n,) or (n, k) array
        Signed coefficients: f = K coef, plus what the multipliers or the intercept add.
    status : Status
        How the solver ended, with advice.
    residual : float
        Violation actually reached, computed for the problem as given, jitter not counted as part of it. For a
        linear system the largest over the outputs of the length of what is left over that of the right-hand
        side.
    weights : (r,) or (r, k) array, optional
        The same function in the coordinates of the Gram's factor, F^T coef; it has more correct digits.
    multipliers : (s,) or (s, k) array
        One per equality constraint; for a border the coefficients of its functions.
    jitter : float
        0.0 unless a factorisation needed help.
    trace : Trace
        Iteration by iteration.
    state : object, optional
        What can be used again for other right-hand sides, as a factor.
    """

    coef: Floats
    status: Status
    residual: float
    weights: Floats | None = None
    multipliers: Floats = field(default_factory=_no_multipliers)
    jitter: float = 0.0
    trace: Trace = field(default_factory=_no_trace)
    state: Any = None
