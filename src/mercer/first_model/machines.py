"""The machines of which a first model is one, with the settings that are tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import mercer.estimators  # names are imported on use
from mercer.arrays import Array
from mercer.domains import Samples
from mercer.kernels import Kernel
from mercer.selection.automatic import RIDGES

__all__ = ["Aim", "Family", "families"]

MOST_ROWS = 50_000  # beyond, a support vector machine takes minutes; the nearest mean does not
MOST_CLASSES = 20  # each pair of them is a problem
COSTS = (1.0, 3.0, 10.0, 30.0, 100.0)
LOGISTIC_COSTS = (3.0, 30.0, 300.0)
SQUARED_COSTS = (1.0, 3.0, 10.0, 30.0, 100.0)
TUBES = (0.02, 0.1, 0.3)  # half-widths, in standard deviations of y
TUBE_COSTS = (1.0, 10.0, 100.0)


@dataclass(frozen=True, eq=False)
class Family:
    """Machines of one kind: how one is made for a kernel, with probabilities or without, and the settings to try."""

    name: str
    make: Callable[[Kernel, bool], Any]
    settings: Callable[[float, Array], dict[str, list[float]]]
    in_units: tuple[str, ...] = ()  # settings in the unit of the targets

    def grid(self, kernel: Kernel, samples: Samples, y: Array) -> dict[str, list[float]]:
        """Return the settings for a kernel on some rows."""
        unit = float(np.mean(kernel.learn(samples, y).diag(samples))) or 1.0
        return self.settings(unit, y)


@dataclass(frozen=True)
class Aim:
    """What the model is for: the task, how many rows it will have, and the size of its targets."""

    task: str
    n: int
    unit: float = 1.0


def families(aim: Aim, y: Array) -> list[Family]:
    """Return the machines for targets y, the one that compares kernels first."""
    if aim.task == "regression":
        return [RIDGE, TUBE] if 1e-50 < aim.unit < 1e50 else [RIDGE]  # whose squares neither overflow nor vanish
    if aim.n > MOST_ROWS or len(np.unique(y)) > MOST_CLASSES:
        return [MEANS]
    return [MARGIN, LOGISTIC, SQUARES, MEANS]


def _ridges(unit: float, y: Array) -> dict[str, list[float]]:
    """Ridges in units of the mean of k(x, x), the largest first: of equals it is the simplest model."""
    return {"alpha": [float(f"{unit * ridge:.4g}") for ridge in RIDGES[::-1]]}


def _tubes(unit: float, y: Array) -> dict[str, list[float]]:
    """Costs and half-widths in units of the spread of y."""
    spread = float(np.std(y)) or 1.0
    costs = [float(f"{spread * cost / unit:.4g}") for cost in TUBE_COSTS]
    return {"C": costs, "epsilon": [float(f"{spread * width:.4g}") for width in TUBES], "tol": [1e-3 * spread]}


RIDGE = Family(
    "KernelRidge",
    lambda kernel, probability: mercer.estimators.KernelRidge(kernel, alpha=1.0, fit_intercept=True),
    _ridges,
)
TUBE = Family("SVR", lambda kernel, probability: mercer.estimators.SVR(kernel), _tubes, ("C", "epsilon", "tol"))
MARGIN = Family(
    "SVC",
    lambda kernel, probability: mercer.estimators.SVC(kernel, probability=probability),
    lambda unit, y: {"C": list(COSTS)},
)
LOGISTIC = Family(
    "KernelLogisticRegression",
    lambda kernel, probability: mercer.estimators.KernelLogisticRegression(kernel),
    lambda unit, y: {"C": list(LOGISTIC_COSTS)},
)
SQUARES = Family(
    "LSSVC",
    lambda kernel, probability: mercer.estimators.LSSVC(kernel, probability=probability),
    lambda unit, y: {"C": list(SQUARED_COSTS)},
)
MEANS = Family(
    "KernelMeanClassifier",
    lambda kernel, probability: mercer.estimators.KernelMeanClassifier(kernel),
    lambda unit, y: {},
)
