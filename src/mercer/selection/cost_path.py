"""The same machine at many costs, each started from the one before.

Symbols: C the cost of an error, beta the signed coefficients of [HSS] Eq. (79).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import ParameterError
from mercer.losses import Hinge
from mercer.losses.loss import HasBoxDual
from mercer.problems import BoxQP, Solution
from mercer.solvers.box.smo import SMO
from mercer.solvers.solver import Monitor, Solver

__all__ = ["cost_path"]
__public__ = __all__


def cost_path(
    gram: Any,
    y: Floats,
    costs: Sequence[float],
    *,
    weight: Floats | None = None,
    loss: HasBoxDual | None = None,
    solver: Solver | None = None,
    monitor: Monitor | None = None,
) -> list[Solution]:
    r"""Solve a support vector machine for several costs, in ascending order, each from the solution before.

    .. math:: \min_{f, b} \; C \sum_i w_i \psi(y_i, f(x_i) + b) + \tfrac12 \|f\|^2, \qquad C = C_1, C_2, \dots

    Seed: [HSS] Eq. (79). Between two costs most coefficients at the end of their box stay there, so the solution times
    the ratio of the costs, which is feasible, is near the next one. The whole path, exactly, is `svm_path`.

    Parameters
    ----------
    gram : Gram
        With rows.
    y : (n,) array
        Targets of the loss; +1 and -1 for classes.
    costs : sequence of float
        C, positive, in any order.
    weight : (n,) array, optional
        Sample weights, positive.
    loss : Loss with a dual of one variable per sample, optional
        None is `Hinge`.
    solver : Solver, optional
        None is `SMO`.
    monitor : callable, optional
        As for solvers.

    Returns
    -------
    solutions : list of Solution
        In the order of `costs`.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Linear
    >>> K = Dense().build(Linear(), Vectors.pack([[-2.0], [-1.0], [1.0], [2.0]]))
    >>> path = cost_path(K, np.array([-1.0, -1.0, 1.0, 1.0]), [0.1, 1.0])
    >>> [float(np.abs(solution.coef).sum().round(3)) for solution in path]
    [0.35, 1.0]
    """
    y = np.asarray(y, dtype=float)
    C = np.asarray(costs, dtype=float)
    if C.ndim != 1 or not len(C) or not (np.isfinite(C) & (C > 0)).all():
        raise ParameterError(f"costs={costs!r} were given; positive finite numbers are accepted. Give a list of them.")
    w = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    loss, solver = loss or Hinge(), solver or SMO()
    found: dict[int, Solution] = {}
    start, before = None, 1.0
    for place in np.argsort(C, kind="stable"):
        dual = loss.box_dual(y, C[place] * w)
        if dual.index is not None:
            raise ParameterError(
                f"{loss!r} was given, whose dual has two variables per sample; losses with one are accepted. "
                "Use Absolute, Huber, Pinball or a loss of classification."
            )
        problem = BoxQP(gram, dual.linear, dual.lower, dual.upper, ridge=dual.ridge)
        solution = solver.solve(problem, start=None if start is None else start * (C[place] / before), monitor=monitor)
        found[int(place)] = solution
        start, before = solution.coef, C[place]
    return [found[place] for place in range(len(C))]
