"""The machines of which a first model is one, with the settings that are tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import mercer.estimators  # names are imported on use
import mercer.gram
from mercer.arrays import Array
from mercer.domains import Samples
from mercer.kernels import Kernel
from mercer.selection.automatic import RIDGES

__all__ = ["Aim", "Family", "families", "usual"]

MOST_PAIRED = 20  # classes; with more, one problem per pair takes too long
MOST_MARGIN = 20_000  # rows of a support vector machine, beyond which it takes minutes
MOST_EXACT = 10_000  # rows of least squares without approximation
WORK = 1e11  # multiplications that a fit of low rank may take
RANKS = (500, 2000)
COSTS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)  # all of them in units of 1 / k(x, x)
LOGISTIC_COSTS = (1.0, 10.0, 100.0, 1000.0)
SQUARED_COSTS = (0.1, 1.0, 10.0, 100.0)
TUBES = (0.1,)  # half-widths, in standard deviations of y
TUBE_COSTS = (1.0, 10.0)


@dataclass(frozen=True)
class Aim:
    """What a model is for: the task, how many rows it will have, the size of its targets, and what it has to give."""

    task: str
    n: int
    unit: float = 1.0
    probability: bool = True

    @property
    def gram(self) -> Any:
        """How least squares hold K: None, or by landmarks for many rows."""
        if self.n <= MOST_EXACT:
            return None
        rank = int(np.clip(np.sqrt(WORK / self.n), *RANKS))
        return mercer.gram.Nystrom(rank)


@dataclass(frozen=True, eq=False)
class Family:
    """Machines of one kind: how one is made for a kernel, and the settings to try."""

    name: str
    make: Callable[[Kernel, Aim], Any]
    settings: Callable[[float, Array], dict[str, list[float]]]
    in_units: tuple[str, ...] = ()  # settings in the unit of the targets

    def grid(self, kernel: Kernel, samples: Samples, y: Array) -> dict[str, list[float]]:
        """Return the settings for a kernel on some rows."""
        unit = float(np.mean(kernel.learn(samples, y).diag(samples))) or 1.0
        return self.settings(unit, y)


def families(aim: Aim, y: Array) -> list[Family]:
    """Return the machines for targets y that a model of this many rows can have, the quickest first."""
    if aim.task == "regression":
        safe = 1e-50 < aim.unit < 1e50 and aim.n <= MOST_MARGIN  # squares neither overflow nor vanish
        return [RIDGE, TUBE] if safe else [RIDGE]
    if aim.n > MOST_MARGIN or len(np.unique(y)) > MOST_PAIRED:
        return [SQUARES]
    return [SQUARES, MARGIN, *([LOGISTIC] if aim.n <= MOST_EXACT else [])]


def usual(aim: Aim) -> Family:
    """Return the machine that is taken unless another is better beyond doubt."""
    return RIDGE if aim.task == "regression" else SQUARES


def _ridges(unit: float, y: Array) -> dict[str, list[float]]:
    """Ridges in units of the mean of k(x, x), the largest first: of equals it is the simplest model."""
    return {"alpha": [float(f"{unit * ridge:.3g}") for ridge in RIDGES[::-2]]}


def _costs(costs: tuple[float, ...], unit: float) -> dict[str, list[float]]:
    return {"C": [float(f"{cost / unit:.3g}") for cost in costs]}


def _tubes(unit: float, y: Array) -> dict[str, list[float]]:
    """Costs and half-widths in units of the spread of y."""
    spread = float(np.std(y)) or 1.0
    costs = [float(f"{spread * cost / unit:.4g}") for cost in TUBE_COSTS]
    return {"C": costs, "epsilon": [float(f"{spread * width:.4g}") for width in TUBES], "tol": [1e-3 * spread]}


RIDGE = Family(
    "KernelRidge",
    lambda kernel, aim: mercer.estimators.KernelRidge(kernel, alpha=1.0, fit_intercept=True, gram=aim.gram),
    _ridges,
)
TUBE = Family("SVR", lambda kernel, aim: mercer.estimators.SVR(kernel), _tubes, ("C", "epsilon", "tol"))
MARGIN = Family(
    "SVC",
    lambda kernel, aim: mercer.estimators.SVC(kernel, probability=aim.probability),
    lambda unit, y: _costs(COSTS, unit),
)
LOGISTIC = Family(
    "KernelLogisticRegression",
    lambda kernel, aim: mercer.estimators.KernelLogisticRegression(kernel),
    lambda unit, y: _costs(LOGISTIC_COSTS, unit),
)
SQUARES = Family(
    "LSSVC",
    lambda kernel, aim: mercer.estimators.LSSVC(kernel, probability=aim.probability, gram=aim.gram),
    lambda unit, y: _costs(SQUARED_COSTS, unit),
)
