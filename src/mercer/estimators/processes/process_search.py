r"""The search for kernel and noise of a Gaussian process: its starts, its samples, and what is reported.

Symbols: v the variance of y, w the sample weights, W their sum, k the number of outputs, r the noise as a share of the
size of the kernel, lambda the eigenvalues of W^1/2 K W^1/2; theta coordinates that move, g and H first and second
derivatives of minus the log evidence in them.

An evaluation costs n^3, so a search on a quarter of many samples costs a sixtieth. It ends near the optimum for all
samples, and the second derivatives there, times the ratio of the sample sizes, are nearly those for all: a few
quasi-Newton steps with them replace the many by which L-BFGS would learn them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from mercer.arrays import Bools, Floats
from mercer.budget import Clock, Resources
from mercer.domains import Samples
from mercer.errors import DomainError, JitterWarning, ParameterError, warn_caller
from mercer.estimators.fits import WHITE, Run, Units, hull, sizes, warn_of_search
from mercer.estimators.processes.evidence_forms import FeatureEvidence, IterativeEvidence
from mercer.estimators.processes.process_evidence import Conditioner, DenseEvidence, Observations
from mercer.kernels import Kernel, Scaled
from mercer.problems import Status
from mercer.selection.hyperparameters import Search, Tuned, tune
from mercer.spec import chain, constrained, free_names, free_values, unconstrain, with_free

__all__ = ["SOME", "Begin", "EvidenceSearch", "Remembering"]

_ROUGH = 1e-2  # slope at which a search on some of the samples ends
_GONE = 1e-3  # factor by which a noise on some of the samples has fallen if it has vanished
_FACTORS = 2.0 ** np.arange(-4, 9)  # of all length scales, where the evidence is that of white noise
_AGAIN = 4  # further starts where the evidence is that of white noise
_MANY, SOME = 1000, 2000  # samples from which the search begins on a quarter of them, but no more than this many
_FAR = 1e6  # how far the size of a kernel may be from v
_LENGTHS = 2.0 ** np.arange(-6, 5)  # times the length scale at hand
_SHARES = 10.0 ** np.arange(-4, 2)  # r
_FEW = 300  # samples on which the coarse grid is evaluated
_STEP = 1e-3  # of finite differences of derivatives
_LONGEST = 1.0  # step in any coordinate
_STEPS = 8
_FEW_PARAMETERS = 4  # parameters up to which a search begins on some of the samples


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
            *found.moved(), -found.value - way.observations.white(noise if noise.ndim else 1.0), found.kernel
        )
        self.n_iter_ = max(1, len(found.values) - 1)
        best = found.beside["noise"]
        return found.kernel, best * noise if noise.ndim else float(best)

    def _begun(self, way: Conditioner, starts: list[Begin], units: Units, run: Run) -> list[Begin]:
        """Return where the search on all samples begins: of many, at the optimum of some of them.

        If that lies at an end of an interval, is that of white noise or does not exist, or if there are many
        parameters, the search begins where the user says. Each of several starts is followed on some samples; all
        samples decide which hill is the highest.
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
        except ParameterError:  # the evidence of these few has no value at the start
            return starts
        if found.at_bounds or found.status is not Status.CONVERGED or not found.names:
            return starts
        if -found.value - part.white(1.0) <= WHITE:  # these few explain nothing; all of them may
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
            found = new if found is None else found.better(new)
            if found.status in (Status.TIME, Status.STOPPED):
                return found
        assert found is not None
        moves = [name for name in found.names if name != "noise"]
        if not moves or -found.value - white > WHITE or way.estimated:
            return found
        S, first = way.observations.samples, starts[0]
        large = sized(units, first.kernel, S, self.fixed) or first.kernel
        if not self.bounds:
            wide = Begin(_widened(way, large, first.noise, self.fixed), first.noise)
            found = found.better(self._tune(way, wide, units, run, restarts=0, tol=tol, white=white))
            if -found.value - white > WHITE or found.status in (Status.TIME, Status.STOPPED):
                return found
        again = Begin(large, first.noise)
        return found.better(self._tune(way, again, units, run, restarts=_AGAIN, tol=tol, white=white))

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
            limits=limits_of(units, first, None if noise.ndim else noise),
            search=Search(
                restarts, check_random_state(self.random_state), self.max_iter, tol, way.estimated
            ),
            monitor=run.solver_monitor(tol),
        )  # fmt: skip
        return found.shifted(-base)


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


# where it starts, and how far it may go ------------------------------------------------------------------


def limits_of(units: Units, kernel: Kernel, noise: Any = None) -> dict[str, tuple[float, float]]:
    """Return how far the sizes of a kernel, and one noise beside it, may go from where they start.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> limits_of(Units.of(np.array([[-1e-6], [1e-6]]), np.ones(2)), 1.0 * Gaussian(1.0))["scale"]
    (1e-18, 100000.0)
    """
    v = units.variance
    found = {name: hull(value, v / _FAR, v * _FAR) for name, value in sizes(kernel).items()}
    if noise is not None:
        found["noise"] = units.noise_limits(float(noise))
    return found


def sized(units: Units, kernel: Kernel, S: Samples, held: Sequence[str] = ()) -> Kernel | None:
    """Return the kernel with its sizes set so that its mean variance is that of y; None where no size is free."""
    names = [name for name in sizes(kernel) if name not in held]
    own = float(np.mean(kernel.diag(kernel.prepare(S))))
    if not names or not 0.0 < own < np.inf:
        return None
    ratio = units.variance / own
    raw = [
        ratio * value if name in names else value
        for name, value in zip(free_names(kernel), free_values(kernel), strict=True)
    ]
    changed = with_free(kernel, np.array(raw))
    now = float(np.mean(changed.diag(changed.prepare(S))))
    return changed if 0.1 < now / units.variance < 10.0 else None


def coarse_starts(kernel: Scaled, S: Samples, y: Floats, weight: Floats, units: Units) -> list[tuple[Kernel, float]]:
    r"""Starts of a search, the best first: the hills of the evidence on a coarse grid.

    .. math:: \max_s \log p(y) = -\frac{kW}{2} \log s - \frac k2 \sum_i \log(\lambda_i + r) - \frac k2 (W - n) \log r,
        \qquad s = \frac1{kW} \sum_{ij} \frac{z_{ij}^2}{\lambda_i + r}

    with z the weighted targets in the basis of eigenvectors: one decomposition for each length scale gives the evidence
    for every r, and the best size s. Often there are two hills: short length scales, and long ones with much noise.

    Parameters
    ----------
    kernel : Scaled
        A multiple of a kernel with a ``length_scale``, which is multiplied by powers of two.
    S : Samples
    y : (n, k) array
        With its mean subtracted.
    weight : (n,) array
        Positive.
    units : Units
        Units of y.

    Returns
    -------
    starts : list of (kernel, noise)
        Three at most.

    Notes
    -----
    300 samples are used, chosen at random: the best length scale changes slowly with their number.
    """
    some = np.sort(np.random.default_rng(0).permutation(len(S))[:_FEW])
    S, y, w = S.take(some), y[some], weight[some]
    root, W, k = np.sqrt(w)[:, None], float(w.sum()), y.shape[1]
    inner: Any = kernel.kernel
    value = np.empty((len(_LENGTHS), len(_SHARES)))
    size = np.empty(value.shape)
    for row, length in enumerate(_LENGTHS):
        trial = inner.replace(length_scale=length * inner.length_scale)
        K = np.asarray(trial(S), dtype=np.float64)
        levels, vectors = np.linalg.eigh(root * K * root.T)
        z = np.sum((vectors.T @ (root * y)) ** 2, axis=1) / units.variance
        rest = np.maximum(levels, 0.0)[:, None] + _SHARES
        size[row] = np.maximum(np.sum(z[:, None] / rest, axis=0) / (k * W), 1e-300)
        value[row] = -0.5 * k * (W * np.log(size[row]) + np.log(rest).sum(axis=0) + (W - len(w)) * np.log(_SHARES))
    best = _hills(value)
    limits = limits_of(units, kernel, units.variance)
    return [
        (
            Scaled(
                float(np.clip(size[place] * units.variance, *limits["scale"])),
                inner.replace(length_scale=float(_LENGTHS[place[0]] * inner.length_scale)),
            ),
            float(np.clip(size[place] * _SHARES[place[1]] * units.variance, *limits["noise"])),
        )
        for place in best
    ]


def _hills(value: Floats) -> list[tuple[int, int]]:
    """Places larger than all their neighbours, three at most, the highest first."""
    wide = np.pad(value, 1, constant_values=-np.inf)
    rows, columns = value.shape
    around = [
        wide[i : i + rows, j : j + columns] for i in range(3) for j in range(3) if (i, j) != (1, 1)
    ]  # fmt: skip
    tops = np.argwhere(np.all(value >= np.array(around), axis=0))
    order = sorted(((int(i), int(j)) for i, j in tops), key=lambda place: -value[place])
    return order[:3]


# many samples, begun with few ----------------------------------------------------------------------------


def few_parameters(kernel: Kernel, fixed: Any) -> bool:
    """Return whether a search should begin on some of the samples.

    With many parameters, such as length scales of all columns, a subsample has optima of its own, from which that of
    all samples is not reached; and the search on all takes almost as many steps.
    """
    names = free_names(kernel)
    return sum(name not in fixed and name.partition("[")[0] not in fixed for name in names) <= _FEW_PARAMETERS


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
        """Join these steps with the search that continued from here, whose first evaluation was already known."""
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
        Positive definite; updated by the BFGS formula.
    tol : float
        The steps end when the largest derivative is below tol.
    monitor : callable, optional
        ``monitor(step, slope)``; a true answer ends the steps.

    Returns
    -------
    Descent
    """
    began = time.perf_counter()
    theta: Any = coordinates.theta[coordinates.moves]  # Any: inferring types through the loop takes long
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
    """Second derivatives updated by the BFGS formula; unchanged if the update would make them indefinite."""
    Hs = H @ s
    if s @ y <= 1e-10 * np.linalg.norm(s) * np.linalg.norm(y):
        return H
    return H - np.outer(Hs, Hs) / (s @ Hs) + np.outer(y, y) / (s @ y)
