"""One search by any criterion: over the candidates of grids, or between bounds.

Candidates with the same kernel share its matrix. Between bounds a criterion with derivatives is minimised by them, and
any other is modelled by a Gaussian process, which says where to look next.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

import mercer.choosing  # packages load their names on first use
import mercer.gram
import mercer.selection
from mercer.arguments import answer_of
from mercer.arrays import Floats
from mercer.budget import Clock
from mercer.choosing.criteria import Case, Criterion, CrossValidation
from mercer.choosing.dispatch import by_kernel, in_order, is_ridge
from mercer.choosing.effort import Effort
from mercer.choosing.seen_values import SeenFile, SeenValues, digest
from mercer.choosing.sheets import fresh
from mercer.constraints import is_real
from mercer.domains.samples import kind_of
from mercer.errors import CapabilityError, MercerError, ParameterError, TargetError, warn_caller
from mercer.estimators.estimator import KernelEstimator
from mercer.kernels import Kernel
from mercer.spec import constraints_of, free_names

__all__ = ["Task", "case_of", "on_kernel"]

_EACH = 4  # initial points per parameter
_COARSE = 36  # candidates of the coarse grid whose best starts the descent
Bounds = dict[str, tuple[float, float]]


@dataclass(frozen=True)
class _Score:
    """A user's scoring function, whose results are checked."""

    function: Callable[..., Any]

    def __call__(self, model: Any, X: Any, y: Any) -> float:
        value = answer_of(
            self.function, model, X, y, who="scoring", takes="a fitted model, X and y", error=ParameterError
        )
        value = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
        if not is_real(value):
            raise ParameterError(
                f"scoring returned {kind_of(value)}; one real number, the larger the better, is accepted. Correct the "
                "function."
            )
        return float(value)


class Task:
    """One search."""

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        criterion: Criterion,
        effort: Effort,
        progress: Callable[[float], Any] | None,
        at: mercer.gram.Distributed | None,
    ) -> None:
        self.estimator, self.X, self.y, self.criterion, self.effort = estimator, X, y, criterion, effort
        self.progress, self.at, self.clock = progress, at, Clock.start(effort.max_time)
        self.complete = True
        if not isinstance(criterion, CrossValidation) and not isinstance(estimator, KernelEstimator):
            kind = "a Pipeline" if isinstance(estimator, Pipeline) else type(estimator).__name__
            raise CapabilityError(
                f"{criterion!r} was given {kind}; it looks at the kernel matrix of one of mercer's estimators. "
                "Transform the data first, or use criterion=CrossValidation()."
            )
        if effort.strategy != "all" and not isinstance(criterion, CrossValidation):
            raise CapabilityError(
                f"{effort!r} was given with {criterion!r}; candidates drop out fold by fold with CrossValidation "
                "alone. Leave strategy out, or use that criterion."
            )
        self.seen = SeenValues(self._file())

    def _file(self) -> SeenFile | None:
        """Return the file that keeps values; scores of folds have a file format of their own."""
        if self.effort.checkpoint is None:
            return None
        stamp = digest(self.estimator, self.criterion, self.X, np.asarray(self.y))
        return SeenFile(self.effort.checkpoint, stamp)

    def tell(self, share: float) -> None:
        """Report the share that is done."""
        if self.progress is not None:
            answer_of(self.progress, min(1.0, share), who="progress", takes="the share that is done")

    def explain(self, params: dict[str, Any]) -> None:
        """Fit a candidate to all samples, and score it: if that fails, its error says what is wrong."""
        model = fresh(self.estimator, params).fit(self.X, self.y)
        if not isinstance(self.criterion, CrossValidation) or not callable(self.criterion.scoring):
            return
        value = _Score(self.criterion.scoring)(model, self.X, self.y)
        if not np.isfinite(value):
            raise ParameterError(
                f"scoring returned {value:g}; a finite number is needed to compare candidates. Correct the function."
            )

    # grids --------------------------------------------------------------------------------------------

    def grid(self, space: Any) -> tuple[list[dict[str, Any]], Floats]:
        """Return the candidates of grids, and their values."""
        params = [dict(p) for p in ParameterGrid(space)]
        if isinstance(self.criterion, CrossValidation):
            return params, self._cross_validated(space, params)
        known = [self.seen.get(one) for one in params]
        values = np.array([np.nan if value is None else value for value in known])
        groups = [group for group in by_kernel(params) if any(known[i] is None for i in group)]
        done = len(params) - sum(map(len, groups))
        try:
            for places, found in self._each_kernel(groups, params):
                values[places] = found
                for i in places:
                    self.seen.keep(params[i], values[i])
                self.seen.flush()
                done += len(places)
                self.tell(done / len(params))
            self.complete = done == len(params)
        except KeyboardInterrupt:
            self._interrupted(values)
        return params, values

    def _each_kernel(self, groups: list[list[int]], params: list[dict[str, Any]]) -> Iterator[tuple[list[int], Floats]]:
        """Yield groups with the values of their criterion, computed here or by workers, until time is up."""
        parts = [[params[i] for i in places] for places in groups]
        if self.at is None:
            for places, part in zip(groups, parts, strict=True):
                if self.clock.expired:
                    return
                yield places, on_kernel(self.criterion, self.estimator, self.X, self.y, part)
            return
        with self.at.open(self.clock.deadline) as crew:
            held = crew.hold((self.criterion, self.estimator, self.X, self.y))
            calls = [(_on_kernel_of, held, part) for part in parts]
            for place, found in in_order(crew, calls, self.clock, lambda: self.clock.expired):
                yield groups[place], found

    def _interrupted(self, values: Any) -> None:
        if not np.isfinite(values).any():
            raise KeyboardInterrupt
        self.complete = False
        warn_caller("The search was interrupted; the best of what was seen until then is kept.", UserWarning)

    def _cross_validated(self, grid: Any, params: list[dict[str, Any]], *, kept: bool = True) -> Floats:
        """Return mean scores; `kept` says whether scores of folds are written to the file."""
        criterion = self.criterion
        assert isinstance(criterion, CrossValidation)
        left = None if self.clock.max_time is None else max(self.clock.max_time - self.clock.seconds, 1e-3)
        effort = Effort(
            self.effort.strategy, max_time=left, memory=self.effort.memory, n_threads=self.effort.n_threads,
            checkpoint=self.effort.checkpoint if kept else None,
        )  # fmt: skip
        scoring = _Score(criterion.scoring) if callable(criterion.scoring) else criterion.scoring
        found = mercer.choosing.KernelSearchCV(
            self.estimator, grid, cv=criterion.splitter(self.estimator), scoring=scoring, refit=False,
            effort=effort, progress=self.progress, at=self.at,
        ).fit(self.X, self.y)  # fmt: skip
        self.complete = self.complete and found.complete_
        values = np.full(len(params), np.nan)
        for p, value in zip(found.cv_results_["params"], found.cv_results_["mean_test_score"], strict=True):
            values[next(i for i, own in enumerate(params) if own is p or _same(own, p))] = value
        return values

    # intervals ----------------------------------------------------------------------------------------

    def between(self, bounds: Bounds) -> tuple[list[dict[str, Any]], Floats]:
        """Return the candidates that were tried between bounds, and their values."""
        if not isinstance(self.criterion, CrossValidation):
            if self.at is not None:
                raise CapabilityError(
                    f"at={self.at!r} was given with bounds and {self.criterion!r}; each candidate then follows from "
                    "the one before, so that workers would wait. Leave at out, or give lists of values."
                )
            found = self._by_slope(bounds)
            if found is not None:
                return found
        return self._by_improvement(bounds)

    def _by_slope(self, bounds: Bounds) -> tuple[list[dict[str, Any]], Floats] | None:
        """Minimise by derivatives, from the best of a coarse grid; None if these parameters have no derivatives."""
        model = fresh(self.estimator, {name: float(np.sqrt(low * high)) for name, (low, high) in bounds.items()})
        if not isinstance(model.kernel, Kernel):
            return None
        S, kernel = model._pack(self.X)
        offered = self.criterion.slope(model, S, np.asarray(self.y))
        if offered is None:
            return None
        slope, beside = offered
        free = {name: f"kernel__{name}" for name in free_names(kernel)}
        inside = {name: bounds[outer] for name, outer in free.items() if outer in bounds}
        others = set(bounds) - {free[name] for name in inside}
        if others - {beside}:
            return None
        model = fresh(self.estimator, self._coarse(bounds))
        kernel = model._pack(self.X)[1]
        limits = {**inside, **({beside: bounds[beside]} if beside in bounds else {})}
        held = [name for name in free if name not in inside]
        start = {} if beside is None else {beside: float(getattr(model, beside))}
        if beside is not None and beside not in bounds:
            held.append(beside)
        tuned = mercer.selection.tune(
            slope, kernel, start, fixed=held, bounds=limits,
            search=mercer.selection.Search(self.effort.restarts, self.effort.random_state),
            monitor=lambda step, size: self.clock.expired,
        )  # fmt: skip
        self.complete = not self.clock.expired
        found = {free[name]: float(tuned.kernel.get_params()[name]) for name in inside}
        if beside in bounds:
            found[beside] = float(tuned.beside[beside])
        values = on_kernel(self.criterion, self.estimator, self.X, self.y, [found])
        self.tell(1.0)
        return [found], values

    def _coarse(self, bounds: Bounds) -> dict[str, Any]:
        """Return the best candidate of a small grid between bounds."""
        each = max(2, int(_COARSE ** (1.0 / len(bounds))))
        edges = {n: np.geomspace(low, high, 2 * each + 1)[1::2].tolist() for n, (low, high) in bounds.items()}
        kept, self.progress = self.progress, None
        params, values = self.grid(edges)
        self.progress = kept
        if not np.isfinite(values).any():
            return {name: float(np.sqrt(low * high)) for name, (low, high) in bounds.items()}
        return params[int(np.nanargmax(values) if self.criterion.greater else np.nanargmin(values))]

    def _by_improvement(self, bounds: Bounds) -> tuple[list[dict[str, Any]], Floats]:
        """Try points on logarithmic scales, the later ones where a Gaussian process expects most improvement."""
        based = importlib.import_module("mercer.choosing.model_based")
        names, calls, random_state = sorted(bounds), self.effort.calls, self.effort.random_state
        low, high = (np.log([bounds[name][end] for name in names]) for end in (0, 1))
        first = min(calls, _EACH * len(names) + 2)
        U = based.first_points(first, len(names), random_state)
        values = np.full(calls, np.nan)
        sign = -1.0 if self.criterion.greater else 1.0
        params: list[dict[str, Any]] = []
        try:
            for call in range(calls):
                if self.clock.expired:
                    self.complete = False
                    break
                if call == first and not np.isfinite(values[:call]).any():
                    break  # all points failed, as on data that are not numbers: nothing can be learned from them
                if call >= first:
                    U = np.vstack([U, based.next_point(U, sign * values[:call], random_state + call)])
                point = np.exp(low + (high - low) * U[call])
                params.append({name: float(value) for name, value in zip(names, point, strict=True)})
                values[call] = self._one(params[-1])
                self.tell((call + 1) / calls)
        except KeyboardInterrupt:
            self._interrupted(values)
        return params, values[: len(params)]

    def _one(self, params: dict[str, Any]) -> float:
        """Return the criterion of one candidate, NaN where it cannot be computed."""
        if (known := self.seen.get(params)) is None:
            known = self._computed(params)
            self.seen.keep(params, known)
            self.seen.flush()
        return known

    def _computed(self, params: dict[str, Any]) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                if isinstance(self.criterion, CrossValidation):
                    kept, self.progress = self.progress, None
                    try:
                        one = {name: [value] for name, value in params.items()}
                        return float(self._cross_validated(one, [params], kept=False)[0])
                    finally:
                        self.progress = kept
                return float(on_kernel(self.criterion, self.estimator, self.X, self.y, [params])[0])
            except (MercerError, np.linalg.LinAlgError):  # a wall: the process learns to stay away
                return np.nan


def on_kernel(criterion: Criterion, estimator: Any, X: Any, y: Any, params: list[dict[str, Any]]) -> Floats:
    """Return the criterion of candidates that share a kernel; NaN where it cannot be computed."""
    first = fresh(estimator, params[0])
    first._check_parameters()
    models, limits = [first], constraints_of(type(first))
    for given in params[1:]:  # cloning and checking each would take longer than a small matrix
        model = object.__new__(type(first))
        ridges = {name: value for name, value in given.items() if is_ridge(name)}
        vars(model).update(vars(first), **ridges)
        for name, value in ridges.items():
            if name in limits:
                limits[name].check(name, value, model)
        models.append(model)
    return criterion.values(case_of(models, X, y))


def case_of(models: list[Any], X: Any, y: Any) -> Case:
    """Return models with the kernel and the data they share, after checking that each sample has a target."""
    S, kernel = models[0]._pack(X)
    y = np.asarray(y)
    if y.ndim not in (1, 2) or len(y) != len(S):
        raise TargetError(
            f"{len(S)} samples with y of shape {y.shape} were given; one target, or one row of them, for each sample "
            "is needed. Give X and y of the same length."
        )
    learned = kernel.learn(S, y)
    return Case(models, learned, S, y, learned != kernel)


def _on_kernel_of(held: tuple[Any, ...], params: list[dict[str, Any]]) -> Floats:
    criterion, estimator, X, y = held
    return on_kernel(criterion, estimator, X, y, params)


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(
        one[name] is other[name] or bool(np.all(one[name] == other[name])) for name in one
    )
