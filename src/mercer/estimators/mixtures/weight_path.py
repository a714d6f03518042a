"""The weights of several kernels along a path of costs, each solved from the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.arguments import real_array
from mercer.arrays import Floats
from mercer.errors import CapabilityError, ParameterError
from mercer.estimators.fits import fitting
from mercer.estimators.mixtures.multiple_kernel import MultipleKernelMachine
from mercer.solvers.mixtures.weight_search import Mixed

__all__ = ["WeightPath", "weight_path"]
__public__ = __all__


@dataclass(frozen=True, eq=False)
class WeightPath:
    """Weights of kernels along a path of costs.

    Attributes
    ----------
    names : tuple of str
        The m kernels.
    costs : (c,) array
        C, ascending.
    weights : (c, m) array
    lengths : (c, m) array
        |f_t|, the length of the part of each kernel: it grows from zero where a kernel enters.
    objective : (c,) array
    gaps : (c,) array
        Relative duality gap at each cost.
    machines : (c,) array of int
        Machines that were solved for each.
    """

    names: tuple[str, ...]
    costs: Floats
    weights: Floats
    lengths: Floats
    objective: Floats
    gaps: Floats
    machines: Any

    @property
    def entered(self) -> dict[str, float]:
        """The first cost at which each kernel has a weight; kernels that never have one are left out."""
        first = [np.flatnonzero(column) for column in self.weights.T]
        return {n: float(self.costs[f[0]]) for n, f in zip(self.names, first, strict=True) if len(f)}


def weight_path(estimator: Any, X: Any, y: Any, costs: Sequence[float], *, sample_weight: Any = None) -> WeightPath:
    r"""Return the weights of several kernels for several costs: the regularisation path.

    .. math:: d(C) = \arg\min_{d \in D} \min_f \; C \sum_i w_i \, \psi(y_i, f(x_i)) + \tfrac12 \sum_t \|f_t\|^2 / d_t

    Seed: [SS] Section 3 names the path of multiple kernel learning (Bach, Thibaux and Jordan, 2005).

    Parameters
    ----------
    estimator : MultipleKernelClassifier or MultipleKernelRegressor
        It is not fitted; its own C is not read.
    X : raw data or packed samples
    y : array
        Targets.
    costs : sequence of float
        C, positive, in any order.
    sample_weight : (n,) array, optional

    Returns
    -------
    WeightPath

    Notes
    -----
    The Gram matrices are computed once. From one cost to the next larger one the solution times their ratio is
    feasible, and near the next solution.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MultipleKernelClassifier, weight_path
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> model = MultipleKernelClassifier([Gaussian(1.0).on(0), Gaussian(1.0).on(1)])
    >>> weight_path(model, X, X[:, 0] > 0, [0.1, 1.0, 10.0]).weights.shape
    (3, 2)
    """
    C = np.sort(real_array(costs, "costs", 1))
    if not (C > 0.0).all():
        raise ParameterError(f"costs={costs!r} were given; positive finite numbers are accepted. Give a list of them.")
    if not isinstance(estimator, MultipleKernelMachine) or not hasattr(estimator, "C"):
        raise CapabilityError(
            f"weight_path was given {estimator!r}; MultipleKernelClassifier and MultipleKernelRegressor have a path. "
            "Give one of these."
        )
    worker: Any = clone(estimator)
    found = []
    with fitting(worker, X, y, sample_weight, worker.target) as (run, _, _, S, values, w, _):
        built = worker._build(S, values, w, run, 0.3)
        solver = worker.solver if worker.solver is not None else worker._default_solver(None)
        start, before = None, 1.0
        for place, cost in enumerate(C):
            worker.C = float(cost)
            with run.stage("solver", 0.3 + 0.7 * (place + 1) / len(C)):
                monitor = run.solver_monitor(worker.tol) if run.watched else None
                problem = worker._problem(built, values, w)
                solution = solver.solve(problem, start=_scaled(start, float(cost) / before), monitor=monitor)
            found.append(solution)
            start, before = solution.state, float(cost)
    weights = np.array([solution.state.weights for solution in found])
    squares = np.array([solution.state.squares for solution in found])
    return WeightPath(
        built.family.names, C, weights, weights * np.sqrt(squares),
        np.array([solution.state.objective for solution in found]), np.array([s.residual for s in found]),
        np.array([s.details["machines"] for s in found]),
    )  # fmt: skip


def _scaled(start: Mixed | None, ratio: float) -> Mixed | None:
    """Return a start whose variables are multiplied by the ratio of two costs."""
    if start is None:
        return None
    return Mixed(start.weights, start.squares, ratio * start.variables, start.product, start.objective)
