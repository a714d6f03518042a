"""One function for every choice: a grid or intervals, any criterion, the best model fitted."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

import mercer.choosing  # names of packages are imported when they are used
import mercer.estimators
import mercer.gram
import mercer.selection
import mercer.solvers
from mercer.arguments import Callback, answer_of, checked
from mercer.arrays import Array, Floats
from mercer.budget import Bytes, Clock
from mercer.choosing.criteria import Case, Criterion, CrossValidation, LeaveOneOut
from mercer.choosing.dispatch import by_kernel, in_order, is_ridge, require_workers
from mercer.choosing.sheets import fresh
from mercer.constraints import Boolean, InstanceOf, Integer, Optional, Positive, Satisfies, is_real
from mercer.errors import CapabilityError, MercerError, ParameterError, TargetError, TimeBudgetError, warn_caller
from mercer.estimators.estimator import KernelEstimator
from mercer.free_parameters import free_names
from mercer.kernels import Kernel
from mercer.spec import constraints_of

__all__ = ["Found", "left_out_predictions", "search"]
__public__ = __all__

_EACH = 4  # first points for every parameter
_COARSE = 36  # candidates of a coarse grid, from the best of which derivatives lead on


@dataclass(frozen=True, eq=False)
class Found:
    """What a search has found.

    Attributes
    ----------
    best_params : dict
    best_value : float
        The criterion there.
    best_estimator : estimator
        With these parameters, fitted to all samples; None if that was not asked for.
    params : tuple of dict
        All candidates, in the order in which they were tried.
    values : (p,) array
        The criterion of each; NaN where it could not be computed.
    criterion : Criterion
    complete : bool
        Whether neither a time limit nor Ctrl-C ended the search.
    """

    best_params: dict[str, Any]
    best_value: float
    best_estimator: Any
    params: tuple[dict[str, Any], ...]
    values: Floats
    criterion: Criterion
    complete: bool = True


def _is_space(space: Any) -> bool:
    if isinstance(space, (list, tuple)):  # several grids
        return bool(space) and all(isinstance(one, Mapping) and _is_space(one) for one in space)
    if not isinstance(space, Mapping) or not space or not all(isinstance(name, str) for name in space):
        return False
    return all(isinstance(values, (list, tuple, np.ndarray)) and len(values) > 0 for values in space.values())


@checked(
    estimator=Satisfies(
        "an estimator with fit and get_params",
        lambda value: hasattr(value, "fit") and hasattr(value, "get_params") and not isinstance(value, type),
        "KernelRidge(Gaussian(1.0))",
    ),
    space=Satisfies(
        "a dict of names of parameters to lists of values, or to pairs (low, high), or a list of such dicts",
        _is_space,
        "{'alpha': [0.1, 1.0, 10.0]}",
    ),
    criterion=Optional(InstanceOf(Criterion)),
    calls=Integer(1),
    restarts=Integer(0),
    random_state=Integer(0, 2**32 - 1),
    refit=Boolean(),
    max_time=Optional(Positive()),
    memory=Optional(Bytes()),
    n_threads=Optional(Integer(1)),
    progress=Optional(Callback()),
)
def search(
    estimator: Any,
    X: Any,
    y: Any,
    space: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    criterion: Criterion | None = None,
    calls: int = 40,
    restarts: int = 2,
    random_state: int = 0,
    refit: bool = True,
    max_time: float | None = None,
    memory: int | str | None = None,
    n_threads: int | None = None,
    progress: Callable[[float], Any] | None = None,
    at: mercer.gram.Distributed | None = None,
) -> Found:
    r"""Choose parameters of an estimator by any criterion, from a grid or between bounds, and fit the best one.

    Parameters
    ----------
    estimator : estimator with a kernel
        For `CrossValidation` also a Pipeline.
    X : raw data or packed samples
    y : (n,) or (n, k) array
    space : mapping, or list of mappings
        Names of parameters, and for each a list of values (a list of mappings is several grids); or for each a tuple
        (low, high) of positive numbers, between which it is searched on a logarithmic scale.
    criterion : Criterion, optional
        One of `mercer.choosing`; None is `CrossValidation`.
    calls : int, default 40
        Candidates to try between bounds, where the criterion has no derivatives.
    restarts : int, default 2
        Further starts where it has.
    random_state : int, default 0
    refit : bool, default True
        Whether the best candidate is fitted to all samples.
    max_time : float, optional
        Seconds for the search; the best until then is kept, and fitted.
    memory, n_threads : optional
        Budgets; see `KernelSearchCV`.
    progress : callable, optional
        Called with the share that is done.
    at : Distributed, optional
        Whose workers compute the candidates of a grid, or the folds of one; None is this process.

    Returns
    -------
    Found

    Notes
    -----
    On a grid, candidates with the same kernel share its matrix and what a criterion needs of it: one decomposition
    serves all ridges, one path all costs. Between bounds, a criterion with derivatives is minimised by them; for any
    other, a Gaussian process is fitted to what was seen and the next candidate has the largest expected improvement.
    Ctrl-C and the end of the time keep the best so far.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> from mercer.choosing import GeneralizedCV
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 6.0, 40)[:, None]
    >>> grid = {"kernel__length_scale": [0.1, 1.0, 10.0], "alpha": [1e-4, 1e-2]}
    >>> found = mercer.search(mercer.KernelRidge(Gaussian(1.0)), X, np.sin(X[:, 0]), grid, criterion=GeneralizedCV())
    >>> found.best_params
    {'alpha': 0.0001, 'kernel__length_scale': 1.0}
    """
    criterion = CrossValidation() if criterion is None else criterion
    criterion.check()
    bounds = _bounds(space)
    require_workers(at)
    task = _Task(estimator, X, y, criterion, Clock.start(max_time), memory, n_threads, progress, at)
    try:
        if bounds is None:
            params, values = task.grid(space)
        else:
            params, values = task.between(bounds, calls, restarts, random_state)
    except (CapabilityError, ParameterError):
        raise
    except (TypeError, ValueError, IndexError):  # which may tell of folds, of matrices, or that all fits failed
        task.explain(_some(space, bounds))
        raise
    if not np.isfinite(values).any():
        if task.complete and params:
            task.explain(params[0])
        raise TimeBudgetError(
            f"No candidate of {len(params)} has a finite value of {criterion!r}; time ran out, or each failed, as "
            "on targets whose squares overflow. Give more time by max_time=, or scale y."
        )
    best = int(np.nanargmax(values) if criterion.greater else np.nanargmin(values))
    model = fresh(estimator, params[best]).fit(X, y) if refit else None
    return Found(params[best], float(values[best]), model, tuple(params), values, criterion, task.complete)


def _bounds(space: Any) -> dict[str, tuple[float, float]] | None:
    """Return intervals, or None for a grid."""
    if not isinstance(space, Mapping):
        return None
    are = {
        name: isinstance(value, tuple) and len(value) == 2 and all(is_real(end) for end in value)
        for name, value in space.items()
    }
    if not any(are.values()):
        return None
    wrong = [name for name, value in space.items() if not are[name] or not 0.0 < value[0] < value[1] < np.inf]
    if wrong:
        raise ParameterError(
            f"space has {wrong[0]}={space[wrong[0]]!r} beside bounds; pairs (low, high) with 0 < low < high for all "
            "parameters, or lists of values for all, are accepted. Write a list for a grid."
        )
    return {name: (float(low), float(high)) for name, (low, high) in space.items()}


def _some(space: Any, bounds: dict[str, tuple[float, float]] | None) -> dict[str, Any]:
    """Return some candidate."""
    if bounds is None:
        space = space if isinstance(space, Mapping) else space[0]
        return {name: values[0] for name, values in space.items()}
    return {name: float(np.sqrt(low * high)) for name, (low, high) in bounds.items()}


class _Task:
    """One search."""

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        criterion: Criterion,
        clock: Clock,
        memory: Any,
        n_threads: Any,
        progress: Any,
        at: mercer.gram.Distributed | None,
    ) -> None:
        self.estimator, self.X, self.y, self.criterion, self.clock = estimator, X, y, criterion, clock
        self.memory, self.n_threads, self.progress, self.at = memory, n_threads, progress, at
        self.complete = True
        if not isinstance(criterion, CrossValidation) and not isinstance(estimator, KernelEstimator):
            kind = "a Pipeline" if isinstance(estimator, Pipeline) else type(estimator).__name__
            raise CapabilityError(
                f"{criterion!r} was given {kind}; it looks at the kernel matrix of one of mercer's estimators. "
                "Transform the data first, or use criterion=CrossValidation()."
            )

    def tell(self, share: float) -> None:
        if self.progress is not None:
            answer_of(self.progress, min(1.0, share), who="progress", takes="the share that is done")

    def explain(self, params: dict[str, Any]) -> None:
        """Fit a candidate to all samples: if that fails, its error says what is wrong."""
        fresh(self.estimator, params).fit(self.X, self.y)

    # grids --------------------------------------------------------------------------------------------

    def grid(self, space: Any) -> tuple[list[dict[str, Any]], Floats]:
        params = [dict(p) for p in ParameterGrid(space)]
        if isinstance(self.criterion, CrossValidation):
            return params, self._cross_validated(space, params)
        values = np.full(len(params), np.nan)
        groups = by_kernel(params)
        try:
            done = 0
            for places, found in self._each_kernel(groups, params):
                values[places] = found
                done += len(places)
                self.tell(done / len(params))
            self.complete = done == len(params)
        except KeyboardInterrupt:
            self._interrupted(values)
        return params, values

    def _each_kernel(self, groups: list[list[int]], params: list[dict[str, Any]]) -> Iterator[tuple[list[int], Floats]]:
        """Yield groups with their criterion, here or by workers, until time is up."""
        parts = [[params[i] for i in places] for places in groups]
        if self.at is None:
            for places, part in zip(groups, parts, strict=True):
                if self.clock.expired:
                    return
                yield places, on_kernel(self.criterion, self.estimator, self.X, self.y, part)
            return
        with self.at.open() as crew:
            held = crew.hold((self.criterion, self.estimator, self.X, self.y))
            calls = [(_on_kernel_of, held, part) for part in parts]
            for place, found in in_order(crew, calls, self.clock, lambda: self.clock.expired):
                yield groups[place], found

    def _interrupted(self, values: Any) -> None:
        if not np.isfinite(values).any():
            raise KeyboardInterrupt
        self.complete = False
        warn_caller("The search was interrupted; the best of what was seen until then is kept.", UserWarning)

    def _cross_validated(self, grid: Any, params: list[dict[str, Any]]) -> Floats:
        criterion = self.criterion
        assert isinstance(criterion, CrossValidation)
        left = None if self.clock.max_time is None else max(self.clock.max_time - self.clock.seconds, 1e-3)
        found = mercer.choosing.KernelSearchCV(
            self.estimator, grid, cv=criterion.splitter(self.estimator), scoring=criterion.scoring, refit=False,
            at=self.at, max_time=left, memory=self.memory, n_threads=self.n_threads, progress=self.progress,
        ).fit(self.X, self.y)  # fmt: skip
        self.complete = self.complete and found.complete_
        values = np.full(len(params), np.nan)
        for p, value in zip(found.cv_results_["params"], found.cv_results_["mean_test_score"], strict=True):
            values[next(i for i, own in enumerate(params) if own is p or _same(own, p))] = value
        return values

    # intervals ----------------------------------------------------------------------------------------

    def between(
        self, bounds: dict[str, tuple[float, float]], calls: int, restarts: int, random_state: int
    ) -> tuple[list[dict[str, Any]], Floats]:
        if not isinstance(self.criterion, CrossValidation):
            if self.at is not None:
                raise CapabilityError(
                    f"at={self.at!r} was given with bounds and {self.criterion!r}; each candidate then follows from "
                    "the one before, so that workers would wait. Leave at out, or give lists of values."
                )
            found = self._by_slope(bounds, restarts, random_state)
            if found is not None:
                return found
        return self._by_improvement(bounds, calls, random_state)

    def _by_slope(
        self, bounds: dict[str, tuple[float, float]], restarts: int, random_state: int
    ) -> tuple[list[dict[str, Any]], Floats] | None:
        """Minimise by derivatives, from the best of a few candidates; None if there are none for these parameters."""
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
            slope, kernel, start, fixed=held, bounds=limits, search=mercer.selection.Search(restarts, random_state),
            monitor=lambda step, size: self.clock.expired,
        )  # fmt: skip
        self.complete = not self.clock.expired
        found = {free[name]: float(tuned.kernel.get_params()[name]) for name in inside}
        if beside in bounds:
            found[beside] = float(tuned.beside[beside])
        values = on_kernel(self.criterion, self.estimator, self.X, self.y, [found])
        self.tell(1.0)
        return [found], values

    def _coarse(self, bounds: dict[str, tuple[float, float]]) -> dict[str, Any]:
        """Return the best candidate of a small grid between bounds."""
        each = max(2, int(_COARSE ** (1.0 / len(bounds))))
        edges = {n: np.geomspace(low, high, 2 * each + 1)[1::2].tolist() for n, (low, high) in bounds.items()}
        kept, self.progress = self.progress, None
        params, values = self.grid(edges)
        self.progress = kept
        if not np.isfinite(values).any():
            return {name: float(np.sqrt(low * high)) for name, (low, high) in bounds.items()}
        return params[int(np.nanargmax(values) if self.criterion.greater else np.nanargmin(values))]

    def _by_improvement(
        self, bounds: dict[str, tuple[float, float]], calls: int, random_state: int
    ) -> tuple[list[dict[str, Any]], Floats]:
        """Try points of the logarithmic cube, the later ones where a Gaussian process expects most."""
        based = importlib.import_module("mercer.choosing.model_based")
        names = sorted(bounds)
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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                if isinstance(self.criterion, CrossValidation):
                    kept, self.progress = self.progress, None
                    try:
                        return float(self._cross_validated({k: [v] for k, v in params.items()}, [params])[0])
                    finally:
                        self.progress = kept
                return float(on_kernel(self.criterion, self.estimator, self.X, self.y, [params])[0])
            except (MercerError, np.linalg.LinAlgError):  # a wall: the process learns that it is bad there
                return np.nan


def on_kernel(criterion: Criterion, estimator: Any, X: Any, y: Any, params: list[dict[str, Any]]) -> Floats:
    """Return the criterion of candidates that share a kernel; NaN where it cannot be computed."""
    first = fresh(estimator, params[0])
    first._check_parameters()
    models, limits = [first], constraints_of(type(first))
    for given in params[1:]:  # a clone and a check of all would take longer than a small matrix
        model = object.__new__(type(first))
        ridges = {name: value for name, value in given.items() if is_ridge(name)}
        vars(model).update(vars(first), **ridges)
        for name, value in ridges.items():
            if name in limits:
                limits[name].check(name, value, model)
        models.append(model)
    return criterion.values(_case(models, X, y))


def _case(models: list[Any], X: Any, y: Any) -> Case:
    """Return models with the matrix of the kernel they share, if there is a target for each sample."""
    S, kernel = models[0]._pack(X)
    y = np.asarray(y)
    if y.ndim not in (1, 2) or len(y) != len(S):
        raise TargetError(
            f"{len(S)} samples with y of shape {y.shape} were given; one target, or one row of them, for each sample "
            "is needed. Give X and y of the same length."
        )
    return Case(models, kernel.learn(S, y), S, y)


def left_out_predictions(estimator: Any, X: Any, y: Any) -> Array:
    r"""Return what an estimator fitted to all samples but one says of that one, for each sample.

    Seed: [SS] Section 5.1; [KIKS] Section 4.1.1.

    Parameters
    ----------
    estimator : estimator with a kernel
    X : raw data or packed samples
    y : (n,) or (n, k) array

    Returns
    -------
    (n,) or (n, k) array
        Classes or numbers.

    Notes
    -----
    Exact and in closed form where `LeaveOneOut` says so; any other estimator is fitted n times.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelMeanClassifier
    >>> from mercer.kernels import Gaussian
    >>> left_out_predictions(KernelMeanClassifier(Gaussian(1.0)), [[0.0], [1.0], [4.0], [5.0]], list("aabb")).tolist()
    ['a', 'a', 'b', 'b']
    """
    if not isinstance(estimator, KernelEstimator):
        raise CapabilityError(
            f"left_out_predictions was given {type(estimator).__name__}; an estimator of mercer's with a kernel is "
            "needed. Use scikit-learn's cross_val_predict with cv=LeaveOneOut()."
        )
    if isinstance(estimator, mercer.estimators.KernelRidge) and estimator.alpha is not None and estimator.gram is None:
        model = fresh(
            estimator, {"leave_one_out": True, "gram": mercer.gram.Dense(), "solver": mercer.solvers.Cholesky()}
        )  # no spectrum is needed
        return model.fit(X, y).loo_predictions_
    estimator._check_parameters()
    return LeaveOneOut().predictions(_case([estimator], X, y))[0]


def _on_kernel_of(held: tuple[Any, ...], params: list[dict[str, Any]]) -> Floats:
    criterion, estimator, X, y = held
    return on_kernel(criterion, estimator, X, y, params)


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(
        one[name] is other[name] or bool(np.all(one[name] == other[name])) for name in one
    )
