"""The largest evidence of many samples, begun with few: curvature that is learned cheaply and used where it is costly.

An evaluation costs n^3, so that a quarter of the samples is searched for a sixtieth of the price. It ends at a point
near the optimum of all, and the second derivatives there, times the ratio of the numbers of samples, are nearly those
of all: a few quasi-Newton steps with them replace the many by which L-BFGS would learn them. Symbols: theta coordinates
that move, g and H first and second derivatives of minus the log evidence in them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Bools, Floats
from mercer.errors import JitterWarning
from mercer.kernels import Kernel
from mercer.selection.hyperparameters import Tuned
from mercer.spec import chain, constrained, free_names, free_values, unconstrain

__all__ = ["Coordinates", "Descent", "curvature", "descend", "few_parameters"]

_STEP = 1e-3  # of finite differences of derivatives
_LONGEST = 1.0  # step in any coordinate
_STEPS = 8
_FEW = 4  # parameters up to which a search begins on some of the samples


def few_parameters(kernel: Kernel, fixed: Any) -> bool:
    """Return whether a search should begin on some of the samples.

    With many parameters, as length scales of all columns, some of the samples have optima of their own, from which that
    of all is not reached; and the search on all takes almost as many steps.
    """
    names = free_names(kernel)
    return sum(name not in fixed and name.partition("[")[0] not in fixed for name in names) <= _FEW


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Free parameters of a kernel and one noise, as coordinates without constraints, of which some move."""

    kernel: Kernel
    theta: Floats
    moves: Bools

    @classmethod
    def of(cls, kernel: Kernel, noise: float, held: Sequence[str]) -> Coordinates:
        """Coordinates of a kernel and a noise; names in `held` do not move."""
        names = (*free_names(kernel), "noise")
        moves = np.array([name not in held and name.partition("[")[0] not in held for name in names])
        return cls(kernel, np.append(unconstrain(kernel), np.log(noise)), moves)

    def at(self, moving: Floats) -> tuple[Kernel, Floats]:
        """Kernel and noise where the coordinates that move have these values."""
        theta = self.theta.copy()
        theta[self.moves] = moving
        return constrained(self.kernel, theta[:-1]), np.exp(theta[-1])

    def evaluate(self, evidence: Any, moving: Floats) -> tuple[float, Floats]:
        """Minus the log evidence and its gradient; infinite where there is none."""
        kernel, noise = self.at(moving)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", JitterWarning)  # reported once, by the fit at the end
                found = evidence(kernel, np.asarray(noise), slopes=bool(self.moves[:-1].any()))
        except (np.linalg.LinAlgError, ValueError):
            return np.inf, np.zeros(int(self.moves.sum()))
        whole = np.append(chain(kernel, found.kernel), found.noise.sum() * noise)
        return -found.value, -whole[self.moves]

    def raw(self, moving: Floats) -> Floats:
        """Raw values of what moves."""
        kernel, noise = self.at(moving)
        return np.append(free_values(kernel), noise)[self.moves]


@dataclass(frozen=True, eq=False)
class Descent:
    """Where a few quasi-Newton steps have led, and the path."""

    kernel: Kernel
    noise: Floats
    path: Floats
    values: Floats
    seconds: Floats
    evaluations: int

    def followed_by(self, found: Tuned) -> Tuned:
        """The search that went on from here, as one with these steps; its first evaluation was known."""
        return replace(
            found,
            path=np.vstack([self.path, found.path[1:]]),
            values=np.append(self.values, found.values[1:]),
            seconds=np.append(self.seconds, self.seconds[-1] + found.seconds[1:]),
            evaluations=self.evaluations + found.evaluations - 1,
        )


def curvature(evidence: Any, coordinates: Coordinates) -> Floats:
    """Second derivatives of minus the log evidence by differences of first ones, made positive definite, (q, q)."""
    center = coordinates.theta[coordinates.moves]
    _, slope = coordinates.evaluate(evidence, center)
    steps = _STEP * np.eye(len(center))
    H = np.array([coordinates.evaluate(evidence, center + step)[1] - slope for step in steps]) / _STEP
    values, vectors = np.linalg.eigh(0.5 * (H + H.T))
    return (vectors * np.maximum(np.abs(values), 1e-4 * np.abs(values).max(initial=1e-300))) @ vectors.T


def descend(
    evidence: Any,
    coordinates: Coordinates,
    H: Floats,
    tol: float,
    monitor: Callable[[int, float], Any] | None = None,
) -> Descent:
    """Take quasi-Newton steps from given second derivatives while they help.

    Parameters
    ----------
    evidence : callable
        As `mercer.estimators.processes.process_evidence.DenseEvidence`.
    coordinates : Coordinates
        Where to begin.
    H : (q, q) array
        Positive definite; brought up to date by the BFGS formula.
    tol : float
        The steps end when the largest derivative is below tol.
    monitor : callable, optional
        ``monitor(step, slope)``; a true answer ends the steps.

    Returns
    -------
    Descent
    """
    began = time.perf_counter()
    theta: Any = coordinates.theta[coordinates.moves]  # types are not followed through the loop: that takes long
    value, g = coordinates.evaluate(evidence, theta)
    rows, evaluations, failures = [(value, 0.0, coordinates.raw(theta))], 1, 0
    while len(rows) <= _STEPS and failures < 3 and np.max(np.abs(g), initial=0.0) > tol:
        if not np.isfinite(value) or (monitor is not None and monitor(len(rows), float(np.abs(g).max()))):
            break
        step: Any = -np.linalg.solve(H, g)
        step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), 1e-300)) * 0.25**failures
        there, slope = coordinates.evaluate(evidence, theta + step)
        evaluations += 1
        if not there < value:
            failures += 1
            continue
        H, failures = _updated(H, step, slope - g), 0
        theta, value, g = theta + step, there, slope
        rows.append((value, time.perf_counter() - began, coordinates.raw(theta)))
    kernel, noise = coordinates.at(theta)
    values, seconds, path = zip(*rows, strict=True)
    return Descent(kernel, np.asarray(noise), np.array(path), np.array(values), np.array(seconds), evaluations)


def _updated(H: Floats, s: Floats, y: Floats) -> Floats:
    """Second derivatives brought up to date by the BFGS formula; as they were if it would make them indefinite."""
    Hs = H @ s
    if s @ y <= 1e-10 * np.linalg.norm(s) * np.linalg.norm(y):
        return H
    return H - np.outer(Hs, Hs) / (s @ Hs) + np.outer(y, y) / (s @ y)
