"""The conditional likelihood of structured outputs, as a function of values at sites and of weights."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.estimators.structured.structured_machine import Outputs
from mercer.solvers.smooth.functional_descent import Risk

__all__ = ["conditional_risk", "observed"]


def observed(data: Outputs) -> tuple[Floats, Floats, Indices]:
    """Return psi of the true outputs at all sites, g of each sample, and the sample of each site."""
    space, offsets = data.spaces.space, data.offsets
    psi, g = np.zeros((int(offsets[-1]), space.width)), np.zeros((len(data.codes), space.extras))
    for i, code in enumerate(data.codes):
        rows = slice(offsets[i], offsets[i + 1])
        psi[rows], g[i] = data.spaces[i].features(code, int(offsets[i + 1] - offsets[i]))
    return psi, g, np.repeat(np.arange(len(data.codes)), np.diff(offsets))


def conditional_risk(data: Outputs, C: float, *, exponential: bool = False) -> Risk:
    """Return C times the sum of -log p(y_i | x_i), or of 1 / p(y_i | x_i) - 1, with the weights of the samples."""
    spaces, offsets, cost = data.spaces, data.offsets, C * data.weight
    psi, g, owner = observed(data)

    def risk(F: Floats, weights: Floats) -> tuple[float, Floats, Floats]:
        logs, expected, extra = spaces.sums_of_all(F, offsets, weights, cost)
        own = np.bincount(owner, np.einsum("sd,sd->s", psi, F), len(cost)) + g @ weights
        odds = cost  # dR / d(logs - own)
        value = float(cost @ (logs - own))
        if exponential:
            odds = cost * np.exp(logs - own)
            value = float(np.sum(odds - cost))
            extra = spaces.sums_of_all(F, offsets, weights, odds)[2] if len(extra) else extra
        return value, odds[owner, None] * (expected - psi), extra - odds @ g

    return risk
