"""The search for kernel and noise of a Gaussian process: its starts, its samples, and what is reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from mercer.arrays import Floats
from mercer.budget import Clock, Resources
from mercer.errors import DomainError, ParameterError, warn_caller
from mercer.estimators.fits import Run
from mercer.estimators.processes.process_evidence import (
    Conditioner,
    DenseEvidence,
    FeatureEvidence,
    IterativeEvidence,
    Observations,
)
from mercer.estimators.processes.warm_start import Coordinates, curvature, descend, few_parameters
from mercer.kernels import Kernel, Scaled
from mercer.problems import Status
from mercer.selection.hyperparameters import Search, Tuned, tune
from mercer.selection.units import WHITE, Units, better, coarse_starts, moved_parameters, shifted, warn_of_search
from mercer.spec import free_names, free_values, with_free

__all__ = ["SOME", "Begin", "EvidenceSearch", "Remembering"]

_ROUGH = 1e-2  # slope at which a search on some of the samples ends
_GONE = 1e-3  # a noise that has fallen so far on some of the samples
_FACTORS = 2.0 ** np.arange(-4, 9)  # of all length scales, where the evidence is that of white noise
_AGAIN = 4  # further starts where the evidence is that of white noise
_MANY, SOME = 1000, 2000  # samples from which the search begins on a quarter of them, but no more than this many


@dataclass(frozen=True, eq=False)
class Begin:
    """Where a search begins, and second derivatives there if they are known."""

    kernel: Kernel
    noise: Floats
    curvature: Floats | None = None


class EvidenceSearch:
    """The search of a Gaussian process for its kernel and noise: starts, a search on some samples, one on all."""

    kernel: Any
    noise: Any
    fixed: Any
    bounds: Mapping[str, tuple[float, float]] | None
    restarts: int
    max_iter: int
    tol: float
    random_state: Any
    _resources: Callable[[], Resources]

    def _starts(self, kernel: Kernel, observed: Observations, noise: Floats, units: Units) -> list[Begin]:
        """Return where the search starts; with the default kernel, on the hills of a coarse grid."""
        if self.kernel is not None or not isinstance(kernel, Scaled):
            return [Begin(kernel, noise)]
        kernel = kernel.replace(scale=units.variance)
        if self.fixed or self.bounds or noise.ndim:
            return [Begin(kernel, noise)]
        found = coarse_starts(kernel, observed.samples, observed.y, observed.weight, units)
        return [Begin(start, noise if self.noise is not None else np.asarray(own)) for start, own in found]

    def _search(self, way: Conditioner, starts: list[Begin], units: Units, run: Run) -> tuple[Kernel, Any]:
        """Return kernel and noise of the largest evidence that was found."""
        self.tuned_: Tuned | None = None
        self.n_iter_ = 1
        noise = starts[0].noise
        if isinstance(self.fixed, str):
            return starts[0].kernel, noise[()]
        with run.stage("evidence", 0.8):
            starts = self._begun(way, starts, units, run)
            known, descent, begun = Remembering(way), None, starts[0]
            if begun.curvature is not None:
                at = Coordinates.of(begun.kernel, float(begun.noise), tuple(self.fixed))
                descent = descend(known, at, begun.curvature, self.tol, run.solver_monitor(self.tol))
                starts = [Begin(descent.kernel, descent.noise)]
            found = self._climb(known, starts, units, run, restarts=self.restarts, tol=self.tol)
            self.tuned_ = found = found if descent is None else descent.followed_by(found)
        if found.status is not Status.CONVERGED:
            warn_caller(
                f"The search for the largest evidence stopped after {len(found.values) - 1} steps at a slope of "
                f"{found.slope:.3g}. {found.status.value}",
                ConvergenceWarning,
            )
            run.clock, run.asked_to_stop = Clock.start(None), False  # what was found is worth one more factor
        warn_of_search(
            *moved_parameters(found), -found.value - way.observations.white(noise if noise.ndim else 1.0), found.kernel
        )
        self.n_iter_ = max(1, len(found.values) - 1)
        best = found.beside["noise"]
        return found.kernel, best * noise if noise.ndim else float(best)

    def _begun(self, way: Conditioner, starts: list[Begin], units: Units, run: Run) -> list[Begin]:
        """Return where the search on all samples begins: of many, at the optimum of some of them.

        If that lies at an end of an interval, is that of white noise or does not exist, or if there are many
        parameters, the search begins where the user says. Of several starts each is followed on some samples; which
        hill is the highest, all samples say.
        """
        observed = way.observations
        n = len(observed.y)
        if n < _MANY or isinstance(way, FeatureEvidence) or starts[0].noise.ndim or self.bounds:
            return starts
        if not few_parameters(starts[0].kernel, self.fixed):
            return starts
        if len(starts) > 1 and not way.estimated:
            each = [self._begun(way, [start], units, run)[0] for start in starts]
            values = [_evidence_at(way, begin) for begin in (*each, *starts)]
            return [[*each, *starts][int(np.argmax(values))]]
        some = np.sort(check_random_state(self.random_state).permutation(n)[: min(n // 4, SOME)])
        part = Observations(observed.samples.take(some), observed.y[some], observed.weight[some], observed.border[some])
        small = DenseEvidence(part, self._resources())
        try:
            found = self._climb(small, starts, units, run, restarts=0, tol=_ROUGH)
        except ParameterError:  # the evidence of so few has no value at the start
            return starts
        if found.at_bounds or found.status is not Status.CONVERGED or not found.names:
            return starts
        if -found.value - part.white(1.0) <= WHITE:  # so few say nothing; all of them may
            return starts
        best = np.asarray(found.beside["noise"])
        if best < _GONE * starts[0].noise:  # what interpolates some may not interpolate all
            return [Begin(found.kernel, starts[0].noise)]
        if isinstance(way, IterativeEvidence):
            return [Begin(found.kernel, best)]
        H = curvature(small, Coordinates.of(found.kernel, float(best), tuple(self.fixed)))
        return [Begin(found.kernel, best, H * float(observed.weight.sum() / part.weight.sum()))]

    def _climb(self, way: Any, starts: list[Begin], units: Units, run: Run, *, restarts: int, tol: float) -> Tuned:
        """Search for the largest evidence from several starts, and from others if it is that of white noise."""
        white = way.observations.white(starts[0].noise if starts[0].noise.ndim else 1.0)
        found: Tuned | None = None
        for place, start in enumerate(starts):
            new = self._tune(way, start, units, run, restarts=0 if place else restarts, tol=tol, white=white)
            found = new if found is None else better(found, new)
            if found.status in (Status.TIME, Status.STOPPED):
                return found
        assert found is not None
        moves = [name for name in found.names if name != "noise"]
        if not moves or -found.value - white > WHITE or way.estimated:
            return found
        S, first = way.observations.samples, starts[0]
        sized = units.sized(first.kernel, S, self.fixed) or first.kernel
        if not self.bounds:
            wide = Begin(_widened(way, sized, first.noise, self.fixed), first.noise)
            found = better(found, self._tune(way, wide, units, run, restarts=0, tol=tol, white=white))
            if -found.value - white > WHITE or found.status in (Status.TIME, Status.STOPPED):
                return found
        again = Begin(sized, first.noise)
        return better(found, self._tune(way, again, units, run, restarts=_AGAIN, tol=tol, white=white))

    def _tune(
        self, way: Any, start: Begin, units: Units, run: Run, *, restarts: int, tol: float, white: float
    ) -> Tuned:
        """Search for the largest evidence from one start; an array of noises is moved by a common factor."""
        first, noise, held = start.kernel, start.noise, tuple(self.fixed)
        moves = any(name not in held and name.partition("[")[0] not in held for name in free_names(first))
        base = white if np.isfinite(white) else 0.0  # from which the evidence is measured, whatever the unit of y

        def criterion(kernel: Kernel, beside: Mapping[str, Floats]) -> tuple[float, Floats, dict[str, Floats]]:
            noises = beside["noise"] * noise if noise.ndim else beside["noise"]
            try:
                found = way(kernel, noises, slopes=moves)
            except DomainError:  # values beyond the range of numbers: a wall, unless it is the start
                if kernel == first and np.array_equal(noises, noise):
                    raise
                return np.inf, np.zeros(0), {}
            slope = found.noise @ noise if noise.ndim else found.noise.sum()
            return base - found.value, -found.kernel, {"noise": -np.asarray(slope)}

        found = tune(
            criterion, first, {"noise": 1.0 if noise.ndim else float(noise)}, fixed=held, bounds=self.bounds,
            limits=units.limits(first, None if noise.ndim else noise),
            search=Search(
                restarts, check_random_state(self.random_state), self.max_iter, tol, way.estimated
            ),
            monitor=run.solver_monitor(tol),
        )  # fmt: skip
        return shifted(found, -base)


def _evidence_at(way: Any, begin: Begin) -> float:
    """The evidence of a start; minus infinity beyond the range of numbers."""
    try:
        return float(way(begin.kernel, begin.noise, slopes=False).value)
    except DomainError:
        return -np.inf


def _widened(way: Any, kernel: Kernel, noise: Floats, held: Sequence[str]) -> Kernel:
    """The kernel with all length scales times a power of two, that of the largest evidence.

    In many columns all samples are far apart at a length of one each, so that no single length has a slope.
    """
    lengths = np.array([
        name.partition("[")[0].endswith("length_scale") and not {name, name.partition("[")[0]} & set(held)
        for name in free_names(kernel)
    ])  # fmt: skip
    if not lengths.any():
        return kernel
    raw, best, highest = free_values(kernel), kernel, -np.inf
    for factor in _FACTORS:
        trial = with_free(kernel, np.where(lengths, factor * raw, raw))
        value = _evidence_at(way, Begin(trial, noise))
        if value > highest:
            best, highest = trial, value
    return best


class Remembering:
    """Evidence that is not computed again where it was computed last."""

    def __init__(self, evidence: Any) -> None:
        self.evidence = evidence
        self.observations = getattr(evidence, "observations", None)
        self.estimated = getattr(evidence, "estimated", False)
        self.last: tuple[Floats, Any] | None = None

    def __call__(self, kernel: Kernel, noise: Floats, *, slopes: bool = True) -> Any:
        """Log evidence and derivatives."""
        at = np.append(free_values(kernel), noise)
        if self.last is None or not np.allclose(self.last[0], at, rtol=1e-12, atol=0.0):
            self.last = at, self.evidence(kernel, noise, slopes=slopes)
        return self.last[1]
