"""The objective of the search for a latent factor model: the log evidence, in units of the outputs.

Symbols as in `mercer.estimators.processes.latent_factor`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.estimators.parameter_gradients import MovingKernel
from mercer.estimators.processes.factor_evidence import FactorData, ManyFactors, OneFactor, factor_posterior
from mercer.estimators.processes.latent_low_rank import LowRankFactors, low_rank_posterior
from mercer.kernels import Kernel, Sum
from mercer.kernels.kernel import offers
from mercer.kernels.protocols import Differentiable
from mercer.selection.hyperparameters import Tuned
from mercer.spec import free_names

__all__ = ["LowRankObjective", "Objective", "ScaledObjective"]


class ScaledObjective:
    """An objective in which mixing and noise have the units of standard deviations of the outputs.

    The mixing has any sign, so that it moves by steps of a unit; that of y may be any.
    """

    def __init__(self, objective: Objective | LowRankObjective, unit: Floats, white: float) -> None:
        self.objective, self.unit = objective, unit
        self.base = white if np.isfinite(white) else 0.0

    def __call__(self, kernel: Kernel, beside: Mapping[str, Floats]) -> tuple[float, Floats, dict[str, Floats]]:
        s = self.unit
        raw = {"mixing": beside["mixing"] * s[:, None], "noise": beside["noise"] * s * s}
        value, parameters, slopes = self.objective(kernel, raw)
        inner: dict[str, Floats] = {"mixing": slopes["mixing"] * s[:, None], "noise": slopes["noise"] * s * s}
        return value + self.base, parameters, inner

    def inward(self, beside: Mapping[str, Floats]) -> dict[str, Floats]:
        """Raw values in these units."""
        return {"mixing": beside["mixing"] / self.unit[:, None], "noise": beside["noise"] / self.unit / self.unit}

    def bounds(self, bounds: Mapping[str, Any], factors: int) -> dict[str, Any]:
        """Bounds of raw values in these units, a name for each output."""
        units = {"noise": self.unit**2, "mixing": np.repeat(self.unit, factors)}
        found = {}
        for name, ends in bounds.items():
            base, _, place = name.partition("[")
            if base not in units or np.ndim(ends) != 1 or len(ends) != 2:
                found[name] = ends  # of a kernel, or not to be understood, as `tune` will say
                continue
            places = range(len(units[base])) if not place else [int(place.rstrip("]"))]
            for i in places:
                found[f"{base}[{i}]"] = tuple(float(end) / units[base][i] for end in ends)
        return found

    def outward(self, tuned: Tuned, start: Mapping[str, Floats]) -> Tuned:
        """The result of a search in raw values; what was held is as it was, to the bit."""
        unit = np.ones(len(tuned.names))
        factors = tuned.beside["mixing"].shape[1]
        for place, name in enumerate(tuned.names):
            base, _, index = name.partition("[")
            if base == "noise":
                unit[place] = self.unit[int(index.rstrip("]"))] ** 2
            elif base == "mixing":
                unit[place] = self.unit[int(index.rstrip("]")) // factors]
        s = self.unit
        beside = {"mixing": tuned.beside["mixing"] * s[:, None], "noise": tuned.beside["noise"] * s * s}
        moved = {name.partition("[")[0] for name in tuned.names}
        beside = {name: value if name in moved else start[name] for name, value in beside.items()}
        return dataclasses.replace(tuned, beside=beside, path=tuned.path * unit).shifted(-self.base)


class Objective:
    """Minus the log evidence and its derivatives, as `tune` asks for them."""

    def __init__(self, data: FactorData) -> None:
        self.data = data

    def __call__(self, kernel: Kernel, beside: Mapping[str, Floats]) -> tuple[float, Floats, dict[str, Floats]]:
        assert isinstance(kernel, Sum)
        found = self.posterior(kernel.kernels, beside["mixing"], beside["noise"])
        W, mixing, noise = found.slope()
        parts: list[Floats] = [np.empty(0)]
        for term, weights in zip(kernel.kernels, W, strict=True):
            if free_names(term) and offers(term, Differentiable):
                S = term.prepare(self.data.samples)
                parts.append(term.pullback(S, S, weights))
            else:
                parts.append(np.zeros(len(free_names(term))))
        return -found.value, -np.concatenate(parts), {"mixing": -mixing, "noise": -noise}

    def posterior(self, kernels: Sequence[Kernel], mixing: Floats, noise: Floats) -> ManyFactors | OneFactor:
        """Return the posterior under given parameters."""
        return factor_posterior(self.data, kernels, mixing, noise)


class LowRankObjective:
    """The same with Gram matrices of low rank."""

    def __init__(self, data: FactorData, moving: Sequence[MovingKernel]) -> None:
        self.data, self.moving = data, moving

    def __call__(self, kernel: Kernel, beside: Mapping[str, Floats]) -> tuple[float, Floats, dict[str, Floats]]:
        assert isinstance(kernel, Sum)
        found = self.posterior(kernel.kernels, beside["mixing"], beside["noise"])
        slopes, mixing, noise = found.slope()
        raw: list[Floats] = [np.empty(0)]
        for part, slope in zip(found.parts, slopes, strict=True):
            known = offers(part.kernel, Differentiable)
            raw.append(part.pullback(slope) if known else np.zeros(len(free_names(part.kernel))))
        return -found.value, -np.concatenate(raw), {"mixing": -mixing, "noise": -noise}

    def posterior(self, kernels: Sequence[Kernel], mixing: Floats, noise: Floats) -> LowRankFactors:
        """Return the posterior under given parameters."""
        parts = [moving.at(kernel) for moving, kernel in zip(self.moving, kernels, strict=True)]
        return low_rank_posterior(self.data, parts, mixing, noise)
