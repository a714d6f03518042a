r"""Hyper-parameters by a gradient method: those of a kernel, and numbers beside it, such as a noise or a ridge.

A criterion (minus the log evidence, a leave-one-out error) gives its value and its derivatives in raw values; here
they become coordinates without constraints, in which L-BFGS moves within a box. Symbols: theta the coordinates.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy import optimize

from mercer.arrays import Array, Floats
from mercer.errors import CapabilityError, JitterWarning, ParameterError
from mercer.kernels import Kernel
from mercer.problems import Status
from mercer.runtime.tiling import kept_by
from mercer.spec import bounds as declared_bounds
from mercer.spec import chain, constrained, free_names, free_values, unconstrain, with_free

__all__ = ["Criterion", "Search", "Tuned", "require_derivative", "tune"]
__public__ = ["Search", "Tuned", "tune"]

_FAR = np.log(1e5)  # how far from the start a coordinate may go where no bounds are given
_SPREAD = 1.5  # standard deviation of the starts of restarts, in coordinates
_ROUNDING = 1e-10  # relative gain of a step below which there is nothing more to gain
_AWAY = np.log(1e3)  # farther from its start than this a coordinate may have lost its way
_GAIN = 1e-2  # a gain that is worth another look
_LOOKS = 3  # most further looks
_STEEP = 0.1  # a slope at which no search should end
_NEAR = 1e-6  # coordinates this near to an end of their interval are at it

Monitor = Callable[[int, float], Any]


class Criterion(Protocol):
    """The criterion that is minimised over hyper-parameters."""

    def __call__(self, kernel: Kernel, beside: Mapping[str, Floats]) -> tuple[float, Floats, Mapping[str, Floats]]:
        """Return the value, its derivatives in the kernel's free parameters, (p,), and in the numbers beside it."""
        ...


@dataclass(frozen=True, eq=False)
class Tuned:
    """The best hyper-parameters that were found, and the path to them.

    Attributes
    ----------
    kernel : Kernel
        With the best parameters.
    beside : mapping
        Numbers beside the kernel, in the shapes in which they were given.
    value : float
        The criterion there.
    status : Status
        How the best of the runs ended.
    slope : float
        Largest derivative in coordinates that the box does not hold back; about zero at an optimum.
    names : tuple of str
        What was moved, one name per coordinate.
    path : (t, p) array
        Raw values of what was moved after each step of the best run, beginning at its start.
    values : (t,) array
        The criterion along the path.
    seconds : (t,) array
        Time since the start of the first run.
    at_bounds : tuple of str
        What was moved to an end of its interval: the criterion would improve beyond it.
    evaluations : int
        Evaluations of the criterion, over all runs.
    starts : (r,) array
        The criterion at the end of each run, one more than restarts.
    """

    kernel: Kernel
    beside: Mapping[str, Floats]
    value: float
    status: Status
    slope: float
    names: tuple[str, ...]
    path: Floats
    values: Floats
    seconds: Floats
    at_bounds: tuple[str, ...]
    evaluations: int
    starts: Floats

    def shifted(self, by: float) -> Tuned:
        """Return the same search with a number added to all values of its criterion."""
        return replace(self, value=self.value + by, values=self.values + by, starts=self.starts + by)

    def better(self, other: Tuned) -> Tuned:
        """Return the better of two searches, with the evaluations and ends of both."""
        best = other if other.value < self.value else self
        return replace(
            best, evaluations=self.evaluations + other.evaluations, starts=np.append(self.starts, other.starts)
        )  # fmt: skip

    def moved(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return the parameters that were moved to a bound, and all that were moved, by name."""
        last = self.path[-1] if len(self.path) else np.zeros(0)
        moved = {name: float(value) for name, value in zip(self.names, last, strict=True)}
        return {name: moved[name] for name in self.at_bounds}, moved


@dataclass(frozen=True)
class Search:
    """How a search over hyper-parameters is run.

    Attributes
    ----------
    restarts : int, default 0
        Further starts: uniform between bounds in coordinates where both are given, else spread about the start;
        numbers of any sign without bounds start where they are.
    random_state : int, RandomState or None
        Seed of the restarts.
    max_iter : int, default 200
        Steps of each run.
    tol : float, default 1e-5
        A run ends when the largest derivative in coordinates is below tol. Criteria are logarithms: a derivative is
        what is gained when a parameter grows by a factor e, whatever the unit of y and however large the value.
    rough : bool, default False
        Whether the criterion is estimated, so that its derivatives are known to tol times 1 + abs(value) only.

    Examples
    --------
    >>> Search(restarts=3, random_state=0).max_iter
    200
    """

    restarts: int = 0
    random_state: Any = None
    max_iter: int = 200
    tol: float = 1e-5
    rough: bool = False

    def flat(self, slope: float, value: float) -> bool:
        """Whether a largest derivative says that there is nothing more to gain."""
        return slope <= self.tol * (1.0 + abs(value) if self.rough else 1.0)


_USUAL = Search()


def tune(
    criterion: Criterion,
    kernel: Kernel,
    beside: Mapping[str, Any] | None = None,
    *,
    real: Sequence[str] = (),
    fixed: Sequence[str] | str = (),
    bounds: Mapping[str, tuple[float, float]] | None = None,
    limits: Mapping[str, tuple[float, float]] | None = None,
    search: Search = _USUAL,
    monitor: Monitor | None = None,
) -> Tuned:
    r"""Minimise a criterion over the free parameters of a kernel and numbers beside it.

    Seed: [KIKS] Section 4.1.4 and [SS] Section 5.2, where the evidence is maximised by its gradient.

    Parameters
    ----------
    criterion : callable
        ``criterion(kernel, beside)`` returns the value, its derivatives in the raw values of
        ``mercer.free_parameters.free_names(kernel)`` in that order, and a mapping of derivatives in the numbers beside
        it, in their shapes; those of fixed names may be left out. A value that is not finite, or a LinAlgError, is a
        wall: the search turns back.
    kernel : Kernel
        Where the search starts.
    beside : mapping of name to float or array, optional
        Further numbers, positive unless named in `real`.
    real : sequence of str
        Names in `beside` that may have any sign, such as inducing points.
    fixed : sequence of str, or "all"
        Names that are held: of free parameters of the kernel (for a vector all of it, or ``length_scale[2]``) and in
        `beside`.
    bounds : mapping of name to (low, high), optional
        Bounds of raw values. Positive numbers stay within a factor of 1e5 of their start where no bounds are given.
    limits : mapping of name to (low, high), optional
        The same where no bounds are given, instead of that factor. They limit how far a number may go, but do not say
        where it is likely to be, so restarts are spread about the start.
    search : Search
        How long, how exactly, and how often.
    monitor : callable, optional
        ``monitor(step, slope)``; a true answer ends the search with the best so far.

    Returns
    -------
    Tuned

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> def criterion(kernel, beside):
    ...     u, v = np.log(kernel.length_scale), np.log(beside["noise"])
    ...     return (
    ...         u**2 + (v - 1) ** 2,
    ...         np.array([2 * u / kernel.length_scale]),
    ...         {"noise": 2 * (v - 1) / beside["noise"]},
    ...     )
    >>> found = tune(criterion, Gaussian(3.0), {"noise": 0.1})
    >>> round(found.kernel.length_scale, 6), round(float(found.beside["noise"]), 6)
    (1.0, 2.718282)
    """
    layout = _Layout.of(kernel, beside or {}, real, fixed, bounds or {}, limits or {})
    runs = _Search(criterion, layout, monitor, search)
    for start in runs.starts(search):
        runs.run(start, search)
        if runs.stopped is not None:
            break
    return runs.result()


@dataclass(frozen=True, eq=False)
class _Layout:
    """Which coordinates there are, what they mean, and which of them move."""

    kernel: Kernel
    beside: Mapping[str, Floats]
    real: frozenset[str]
    names: tuple[str, ...]
    theta: Floats
    moves: Array
    low: Floats
    high: Floats
    given: Array  # whether both bounds were given

    @classmethod
    def of(
        cls, kernel: Kernel, beside: Mapping[str, Any], real: Sequence[str], fixed: Any, bounds: Mapping[str, Any],
        limits: Mapping[str, Any],
    ) -> _Layout:  # fmt: skip
        arrays = {name: np.asarray(value, dtype=np.float64) for name, value in beside.items()}
        names = free_names(kernel)
        theta = [unconstrain(kernel)]
        positive = [np.array([low == 0.0 for low, _ in declared_bounds(kernel)], dtype=bool)]
        for name, value in arrays.items():
            names += (name,) if value.ndim == 0 else tuple(f"{name}[{i}]" for i in range(value.size))
            theta.append(value.ravel() if name in real else np.log(value.ravel()))
            positive.append(np.full(value.size, name not in real))
        start = np.concatenate(theta)
        layout = cls(
            kernel, arrays, frozenset(real), names, start, np.ones(len(start), bool),
            np.where(np.concatenate(positive), start - _FAR, -np.inf),
            np.where(np.concatenate(positive), start + _FAR, np.inf), np.zeros(len(start), bool),
        )  # fmt: skip
        layout._hold(fixed)
        layout._bound(limits)
        layout.given[:] = False
        layout._bound(bounds)
        return layout

    def _places(self, name: str, argument: str) -> Array:
        places = np.array([known == name or known.startswith(f"{name}[") for known in self.names], dtype=bool)
        if not places.any():
            raise ParameterError(
                f"{argument}=({name!r}, ...) was given; the hyper-parameters are "
                f"{', '.join(self.names) or 'none'}. Use these names."
            )
        return places

    def _hold(self, fixed: Any) -> None:
        if isinstance(fixed, str):
            if fixed != "all":
                raise ParameterError(
                    f"fixed={fixed!r} was given; it must be a tuple of names or 'all'. Write fixed=({fixed!r},)."
                )
            self.moves[:] = False
            return
        if not isinstance(fixed, (tuple, list, set, frozenset)):
            raise ParameterError(
                f"fixed={fixed!r} was given; it must be a tuple of names or 'all'. Write for example fixed=('noise',)."
            )
        for name in fixed:
            self.moves[self._places(name, "fixed")] = False

    def _bound(self, bounds: Mapping[str, Any]) -> None:
        for name, ends in bounds.items():
            places = self._places(name, "bounds")
            try:
                low, high = (float(end) for end in ends)
            except (TypeError, ValueError):
                raise ParameterError(
                    f"bounds of {name!r} are {ends!r}; they must be two numbers. Write for example (1e-3, 1e3)."
                ) from None
            if not low < high:
                raise ParameterError(
                    f"bounds of {name!r} are ({low}, {high}); the first must be smaller. Use `fixed` to hold a value."
                )
            for place in np.flatnonzero(places).tolist():
                self.low[place], self.high[place] = self._coordinate(place, low), self._coordinate(place, high)
            self.given[places] = np.isfinite(self.low[places]) & np.isfinite(self.high[places])
            self.theta[places] = np.clip(self.theta[places], self.low[places], self.high[places])

    def _coordinate(self, place: int, value: float) -> float:
        p = len(free_names(self.kernel))
        if place < p:
            raw = free_values(self.kernel)
            raw[place] = value
            return float(unconstrain(with_free(self.kernel, raw))[place])
        name = self.names[place].partition("[")[0]
        if name in self.real:
            return float(value)
        return float(np.log(value)) if value > 0.0 else -np.inf

    def starts(self, restarts: int, random_state: Any) -> list[Floats]:
        chance = np.random.default_rng(random_state) if not hasattr(random_state, "normal") else random_state
        out = [self.theta]
        for _ in range(restarts):
            spread = np.where(np.isfinite(self.high - self.low), _SPREAD, 0.0)  # the unit of other numbers is not known
            around = self.theta + spread * chance.normal(size=len(self.theta))
            share = chance.uniform(size=len(self.theta))
            low, high = (np.where(self.given, end, 0.0) for end in (self.low, self.high))
            drawn = np.where(self.given, low + share * (high - low), np.clip(around, self.low, self.high))
            out.append(np.where(self.moves, drawn, self.theta))
        return out

    def brought_back(self, theta: Floats, start: Floats) -> Floats:
        """Return coordinates with those at an end of their interval, or far from their start, put back to the start.

        Where a noise is nearly zero, or a length scale beyond all distances, the criterion no longer depends on it:
        an early step that was too long leads there, and no slope leads back.
        """
        ended = (theta <= self.low + _NEAR) | (theta >= self.high - _NEAR) | (np.abs(theta - start) > _AWAY)
        return np.where(self.moves & np.isfinite(self.high - self.low) & ended, start, theta)

    def at(self, theta: Floats) -> tuple[Kernel, dict[str, Floats]]:
        """The kernel and the numbers beside it at coordinates."""
        p = len(free_names(self.kernel))
        kernel = constrained(self.kernel, theta[:p]) if self.moves[:p].any() else self.kernel
        found, place = {}, p
        for name, value in self.beside.items():
            part = theta[place : place + value.size].reshape(value.shape)
            held = not self.moves[place : place + value.size].any()
            found[name] = value if held else part.copy() if name in self.real else np.exp(part)
            place += value.size
        return kernel, found

    def slope(self, kernel: Kernel, beside: Mapping[str, Floats], raw: Any, rest: Mapping[str, Any]) -> Floats:
        """The derivative in coordinates from derivatives in raw values."""
        p = len(free_names(self.kernel))
        held = not self.moves[:p].any()
        parts = [np.zeros(p) if held else chain(kernel, raw)]
        for name, value in beside.items():
            part = np.asarray(rest.get(name, np.zeros(value.shape)), dtype=np.float64)
            parts.append((part if name in self.real else part * value).ravel())
        return np.where(self.moves, np.concatenate(parts), 0.0)

    def raw(self, theta: Floats) -> Floats:
        """Raw values of what moves."""
        kernel, beside = self.at(theta)
        whole = [free_values(kernel), *(value.ravel() for value in beside.values())]
        return np.concatenate(whole)[self.moves]


class _Search:
    """All runs of one search: the best point, and the path to it."""

    def __init__(self, criterion: Criterion, layout: _Layout, monitor: Monitor | None, search: Search) -> None:
        self.criterion, self.layout, self.monitor, self.search = criterion, layout, monitor, search
        self.kept = kept_by(
            monitor,
            "tune",
            names=layout.names,
            start=layout.theta,
            moves=layout.moves,
            low=layout.low,
            high=layout.high,
        )
        self.began = time.perf_counter() - self.kept.seconds
        self.evaluations = 0
        self.stopped: Status | None = None
        self.best: tuple[float, Floats, float, Status] | None = None
        self.rows: list[tuple[float, float, Floats]] = []  # of the best run: value, seconds, raw values
        self.ends: list[float] = []

    def starts(self, search: Search) -> list[Floats]:
        """Where the runs start; a resumed search starts where the former one did, whatever the random state."""
        drawn = self.kept.recall(lambda: {"starts": self.layout.starts(search.restarts, search.random_state)})
        return drawn["starts"]

    def evaluated(self, theta: Floats) -> tuple[float, Floats]:
        """The criterion and its derivative at coordinates; those that an earlier run has computed are reused."""
        found = self.kept.recall(lambda: dict(zip(("value", "slope"), self._value(theta), strict=True)), theta=theta)
        return found["value"], found["slope"]

    def _value(self, theta: Floats) -> tuple[float, Floats]:
        kernel, beside = self.layout.at(theta)
        nothing = np.full(len(theta), np.nan)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", JitterWarning)  # reported once, by the fit at the end
                value, raw, rest = self.criterion(kernel, beside)
        except np.linalg.LinAlgError:
            return np.inf, nothing
        return (float(value), self.layout.slope(kernel, beside, raw, rest)) if np.isfinite(value) else (np.inf, nothing)

    def run(self, start: Floats, search: Search) -> None:
        """Descend from one start; then again from the end with stray coordinates put back, while that helps."""
        value, theta, status = self._descend(start, search.max_iter)
        for _ in range(_LOOKS):
            again = self.layout.brought_back(theta, start)
            if search.rough or status is not Status.CONVERGED or self.stopped or np.array_equal(again, theta):
                break
            then = self._descend(again, search.max_iter)
            gain = value - then[0]
            if gain > 0.0:
                value, theta, status = then
            if gain < _GAIN:
                break
        self.ends.append(value)

    def _descend(self, start: Floats, max_iter: int) -> tuple[float, Floats, Status]:
        layout, moves = self.layout, self.layout.moves
        run = _Run(self, start)
        status = Status.CONVERGED
        try:
            if not moves.any():
                run(start[moves])
            else:
                status = self._descend_with(run, max_iter)
        except _Done as done:
            status = done.status
        if not run.rows and self.best is not None:
            return np.inf, start, Status.STALLED
        if not run.rows:
            raise ParameterError(
                f"The criterion has no finite value at the start, {layout.at(start)[0]!r} with "
                f"{ {name: value.tolist() for name, value in layout.at(start)[1].items()} }. Use other parameters to "
                "start from, scale the data, or use a positive definite kernel."
            )
        value, theta, slope = run.best
        if self.best is None or value < self.best[0]:
            self.best, self.rows = (value, theta, slope, status), run.rows
        return value, theta, status

    def _descend_with(self, run: _Run, max_iter: int) -> Status:
        """Descend by L-BFGS; what it has learned on a plateau misleads it in the valley, where it restarts."""
        layout, moves = self.layout, self.layout.moves
        looks = 0
        while True:
            before = run.best[0]
            found = optimize.minimize(
                run, run.best[1][moves], jac=True, method="L-BFGS-B", callback=run.step,
                bounds=list(zip(layout.low[moves], layout.high[moves], strict=True)),
                options={"maxiter": max(max_iter - run.steps, 1), "ftol": _ROUNDING, "gtol": 0.0, "maxls": 30},
            )  # fmt: skip
            if run.steps >= max_iter:
                return Status.MAX_ITER
            value, _, slope = run.best
            looks += 1
            if looks == _LOOKS or self.search.rough or slope <= _STEEP or before - value < _GAIN:
                break
        stuck = found.status == 2 and slope > np.sqrt(self.search.tol) * (1.0 + abs(value))
        return Status.STALLED if stuck else Status.CONVERGED  # no way down where derivatives say there is one

    def result(self) -> Tuned:
        assert self.best is not None
        value, theta, slope, status = self.best
        layout = self.layout
        kernel, beside = layout.at(theta)
        names = tuple(name for name, moves in zip(layout.names, layout.moves, strict=True) if moves)
        held = (theta <= layout.low + _NEAR) | (theta >= layout.high - _NEAR)
        values, seconds, path = zip(*self.rows, strict=True)
        return Tuned(
            kernel=kernel,
            beside=beside,
            value=value,
            status=self.stopped or status,
            slope=slope,
            names=names,
            path=np.array(path).reshape(len(values), len(names)),
            values=np.array(values),
            seconds=np.array(seconds),
            at_bounds=tuple(layout.names[i] for i in np.flatnonzero(held & layout.moves)),
            evaluations=self.evaluations,
            starts=np.array(self.ends),
        )


class _Done(Exception):
    """Ends a run of L-BFGS from within."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status


class _Run:
    """One descent: the function that L-BFGS sees, and what it saw last."""

    def __init__(self, search: _Search, start: Floats) -> None:
        self.search, self.theta = search, start.copy()
        self.rows: list[tuple[float, float, Floats]] = []
        self.best: tuple[float, Floats, float] = (np.inf, start, np.inf)
        self.highest = 0.0
        self.steps = 0

    def __call__(self, moving: Floats) -> tuple[float, Floats]:
        search, layout = self.search, self.search.layout
        theta = self.theta.copy()
        theta[layout.moves] = moving
        search.evaluations += 1
        value, gradient = search.evaluated(theta)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            if not self.rows:
                raise _Done(Status.STALLED)
            return self.highest + 1.0 + abs(self.highest), np.zeros(len(moving))  # a wall
        self.highest = max(self.highest, value) if self.rows else value
        slope = self._free_slope(theta, gradient)
        if value < self.best[0] or not self.rows:
            self.best = (value, theta, slope)
        if not self.rows:
            self._record()
            if search.search.flat(slope, value):
                raise _Done(Status.CONVERGED)
        self._watch(slope)
        return value, gradient[layout.moves]

    def _free_slope(self, theta: Floats, gradient: Floats) -> float:
        """Largest derivative that the box does not hold back."""
        layout = self.search.layout
        outward = ((theta <= layout.low) & (gradient > 0)) | ((theta >= layout.high) & (gradient < 0))
        return float(np.max(np.abs(np.where(outward, 0.0, gradient)), initial=0.0))

    def _record(self) -> None:
        value, theta, _ = self.best
        self.rows.append((value, time.perf_counter() - self.search.began, self.search.layout.raw(theta)))

    def _watch(self, slope: float) -> None:
        answer = self.search.monitor(self.steps, slope) if self.search.monitor is not None else False
        if answer:
            self.search.stopped = answer if isinstance(answer, Status) else Status.STOPPED
            raise _Done(self.search.stopped)

    def step(self, moving: Floats) -> None:
        """Called after each step of L-BFGS."""
        self.steps += 1
        self._record()
        value, _, slope = self.best
        if self.search.search.flat(slope, value):
            raise _Done(Status.CONVERGED)


def require_derivative(kernel: Kernel, fixed: Any) -> None:
    """Raise CapabilityError if a parameter is to be searched in which the kernel has no derivative."""
    if fixed == "all" or "pullback" in kernel.capabilities:
        return
    names = [name for name in free_names(kernel) if name not in fixed and name.partition("[")[0] not in fixed]
    if names:
        raise CapabilityError(
            f"{kernel!r} has no derivative in its parameters {', '.join(names)}, which the search needs. Hold them by "
            f"fixed={tuple(names)!r}, or choose them by cross-validation."
        )
