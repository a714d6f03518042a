"""The objective of the search of a sparse Gaussian process, over hyper-parameters and inducing points together."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from mercer.arrays import Floats
from mercer.domains import Samples, Vectors
from mercer.estimators.processes.sparse_evidence import SparseData, Whitened, inducing_posterior, whiten
from mercer.kernels import Kernel
from mercer.selection.hyperparameters import Tuned

__all__ = ["InducingObjective", "in_raw_units", "spread_of", "stand_for_all"]


class InducingObjective:
    """Minus the objective and its derivatives, as `tune` asks for them."""

    def __init__(self, data: SparseData, Z: Samples, spread: Floats | None, base: float = 0.0) -> None:
        self.data, self.Z, self.spread, self.base = data, Z, spread, base
        self.last: tuple[Kernel, Whitened] | None = None

    def __call__(self, kernel: Kernel, beside: Mapping[str, Floats]) -> tuple[float, Floats, dict[str, Floats]]:
        Z, whitened = self.Z, None
        if self.spread is not None:
            Z = Vectors(np.ascontiguousarray(beside["inducing"] * self.spread))
        elif self.last is not None and self.last[0] is kernel:  # nothing but the noise moves
            whitened = self.last[1]
        else:
            whitened = whiten(self.data, kernel, Z)
            self.last = kernel, whitened
        fit = inducing_posterior(self.data, kernel, Z, float(beside["noise"]), whitened)
        parameters, noise, points = fit.gradient(self.spread is not None)
        slopes = {"noise": np.asarray(-noise)}
        if points is not None and self.spread is not None:
            slopes["inducing"] = -points * self.spread
        return self.base - fit.value, -parameters, slopes


def stand_for_all(S: Samples, Z: Samples) -> bool:
    """Whether every sample is an inducing point: then Q = K whatever the kernel, and nothing is gained by moving."""
    if not (isinstance(S, Vectors) and isinstance(S.X, np.ndarray) and isinstance(Z, Vectors)):
        return False
    if len(S) > 4 * len(Z):
        return False
    return {row.tobytes() for row in S.X} <= {row.tobytes() for row in np.asarray(Z.X, dtype=S.X.dtype)}


def spread_of(Z: Vectors) -> Floats:
    """The unit in which inducing points move: the standard deviation of each column, or one."""
    spread = np.asarray(Z.X, dtype=np.float64).std(axis=0)
    return np.where(spread > 0.0, spread, 1.0)


def in_raw_units(tuned: Tuned, spread: Floats) -> Tuned:
    """The result of a search whose inducing points were in units of their spread."""
    unit = np.ones(tuned.path.shape[1])
    places = np.array([name.startswith("inducing[") for name in tuned.names], dtype=bool)
    unit[places] = np.resize(spread, int(places.sum()))
    beside = {**tuned.beside, "inducing": tuned.beside["inducing"] * spread}
    return dataclasses.replace(tuned, beside=beside, path=tuned.path * unit)
