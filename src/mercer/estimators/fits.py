"""One run of `fit`: progress through scikit-learn's callbacks, time budget, and an estimator left whole.

A run is cut into stages (the Gram matrix, the solver); each reports its progress, and the whole is reported to
callbacks as a hundred steps. A callback that answers true, or a clock that has run out, stops the stage.

A model keeps what it needs to predict. It refers to its training data only weakly: the references keep nothing alive,
are not copied or saved with the model, and give the data only if these have not changed.

If y becomes a y + b, the process that describes it is a f + b: sizes of kernels and noises are multiplied by a^2, all
other parameters stay. A search finds that if its starts and bounds, which `Units` gives, are multiplied by a^2 too, and
if it measures the evidence relative to that of white noise: log p(y) alone falls by W log a, W the sum of the weights,
and what is negligible beside it would depend on a.
"""

from __future__ import annotations

import functools
import hashlib
import math
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from mercer import kernels  # whose names are imported when they are used
from mercer.arrays import Array, Floats, Indices
from mercer.budget import Clock, Resources, one_reading
from mercer.domains import Samples
from mercer.errors import TargetError, TimeBudgetError, warn_caller
from mercer.kernels import Kernel
from mercer.problems import Status
from mercer.runtime.checkpoints import Store
from mercer.runtime.tiling import Kept, Stopped, raising_interrupts
from mercer.solvers.solver import Monitor
from mercer.spec import checked_once, free_names
from mercer.targets import Target
from mercer.targets.target import sample_weights

__all__ = [
    "Computed",
    "Run",
    "Training",
    "Units",
    "fitting",
    "frozen",
    "protect",
    "scattered",
    "seal_computed",
    "sizes",
    "warn_of_search",
    "weighted",
    "whole",
    "recall",
    "remember",
]

STEPS = 100
WHITE = 1e-2  # log evidence by which a process must exceed white noise to count as more than that
NOISE = 0.1  # where its search starts, as a share of the variance of y
_LEAST, _MOST = 1e-8, 10.0  # the noise, as a share of the variance
_AROUND = 1e5  # how far a given number may move
_CALLBACK_STATE = ("_callback_fit_ctx", "_skl_callbacks_to_teardown")


class Run:
    """Progress and budgets of one fit.

    Parameters
    ----------
    estimator : KernelEstimator
        With callbacks, `max_time`, `memory` and `n_threads`.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.clock = Clock.start(estimator.max_time)
        self.context = estimator._init_callback_context(max_subtasks=STEPS)
        self.listened = bool(getattr(estimator, "_skl_callbacks", ()))
        self.done = 0
        self.asked_to_stop = False
        self._span = (0.0, 1.0)
        self._monitors = 0

    def begin(self, X: Any, y: Any = None) -> None:
        """Notify callbacks that the fit begins."""
        self.context.call_on_fit_task_begin(estimator=self.estimator, X=X, y=y)

    def end(self, X: Any, y: Any = None) -> None:
        """Notify callbacks that the fit has ended."""
        self._advance(1.0)
        self.context.call_on_fit_task_end(estimator=self.estimator, X=X, y=y)

    @contextmanager
    def stage(self, name: str, until: float) -> Iterator[None]:
        """Run a stage that takes the progress up to `until`; out of time or stopped, it has no result."""
        before = self._span
        self._span = (self.done / STEPS, until)
        try:
            yield
        except Stopped:
            raise self._no_result(name) from None
        except TimeoutError as late:
            raise late if isinstance(late, TimeBudgetError) else self._no_result(name) from None
        finally:
            self._span = before
        self._advance(until)

    def _no_result(self, name: str) -> TimeBudgetError:
        if self.asked_to_stop:
            return TimeBudgetError(
                f"{type(self.estimator).__name__}.fit was stopped by a callback during the {name}, which gives no "
                "partial result; an iterative solver does. Let it finish, or use solver=ConjugateGradient()."
            )
        return TimeBudgetError(
            f"{type(self.estimator).__name__}.fit ran out of max_time={self.clock.max_time} s during the {name} (after "
            f"{self.clock.seconds:.2g} s), which gives no partial result. Raise max_time, or use "
            f"{getattr(self.estimator, 'in_parts', 'fewer samples')}, which returns the best solution so far."
        )

    @property
    def deadline(self) -> float | None:
        """The moment of the monotonic clock at which time is up."""
        return self.clock.deadline

    @property
    def left(self) -> float | None:
        """Seconds that are left; None if they are not counted."""
        return None if self.clock.max_time is None else max(self.clock.max_time - self.clock.seconds, 0.0)

    def resources(self) -> Resources:
        """Return what Grams may use; their monitor reports to this run."""
        estimator = self.estimator
        monitor = self.monitor if self.watched else None
        return Resources(estimator.memory, estimator.n_threads, monitor, self.deadline)

    @property
    def store(self) -> Store | None:
        """Where the states of solvers are kept, if a checkpoint is among the callbacks."""
        found = (getattr(callback, "store", None) for callback in getattr(self.estimator, "_skl_callbacks", ()))
        return next((store for store in found if isinstance(store, Store)), None)

    @property
    def watched(self) -> bool:
        """Whether anything listens to the progress of the run."""
        return self.listened or self.clock.max_time is not None

    def monitor(self, fraction: float) -> bool:
        """Report the fraction of the current stage; true stops it."""
        low, high = self._span
        self._advance(low + (high - low) * fraction)
        return self.asked_to_stop or self.clock.expired

    def solver_monitor(self, tol: float, *, reports: bool = True) -> Monitor:
        """Return a monitor for a solver, which reports iterations and the residual they have reached.

        One that gets no progress only ends the solver; solvers in threads have one each, made beforehand.
        """
        self._monitors += 1
        return _Watch(self, tol, self._monitors, reports)

    def answer(self) -> bool | Status:
        """Return whether solvers should end, and why; what they have reached is worth keeping."""
        found = Status.TIME if self.clock.expired else Status.STOPPED if self.asked_to_stop else False
        if found and self.store is not None:
            self.store.unfinished = True
        return found

    def _advance(self, fraction: float) -> None:
        """Notify callbacks of every whole step up to this fraction."""
        target = min(int(STEPS * fraction + 1e-9), STEPS)
        while self.done < target:
            self.done += 1
            if not self.listened:
                continue
            step = self.context.subcontext(task_name="step")
            step.call_on_fit_task_begin(estimator=self.estimator)
            self.asked_to_stop |= bool(step.call_on_fit_task_end(estimator=self.estimator))


class _Watch:
    """The monitor of one solver: progress, the end of time, and the place where states are kept."""

    def __init__(self, run: Run, tol: float, number: int, reports: bool) -> None:
        self.run, self.tol, self.number, self.reports = run, tol, number, reports
        self.span, self.first = run._span, -1.0
        self.opened = 0

    def __call__(self, iteration: int, residual: float) -> bool | Status:
        if self.reports:
            self.first = residual if self.first < 0.0 else self.first
            low, high = self.span
            self.run._advance(low + (high - low) * _share(self.first, residual, self.tol))
        return self.run.answer()

    @property
    def keeping(self) -> Callable[[str, Mapping[str, Any]], Kept] | None:
        """The function that opens the place of a solver's state."""
        store = self.run.store
        return None if store is None else functools.partial(self._open, store)

    def _open(self, store: Store, name: str, fields: Mapping[str, Any]) -> Kept:
        self.opened += 1
        return store.open(f"{self.number}.{self.opened}", name, fields)


def _share(first: float, now: float, tol: float) -> float:
    """Return how far a residual has come from its first value to the tolerance, on a logarithmic scale."""
    if not 0 < now < first or tol >= first:
        return 0.0 if now >= first else 1.0
    return min(1.0, math.log(first / max(now, tol)) / math.log(first / tol))


@contextmanager
def whole(estimator: Any) -> Iterator[None]:
    """Leave an estimator exactly as it was if the fit inside does not finish.

    Where numbers leave their range, estimators say so themselves; NumPy's warnings would only be in the way. Inside,
    parameters are checked once and free memory is read once, however many entry points ask.
    """
    before = dict(vars(estimator))
    try:
        with (
            raising_interrupts(),
            checked_once(),
            one_reading(),
            np.errstate(over="ignore", invalid="ignore", divide="ignore"),
        ):
            yield
    except BaseException:
        state = vars(estimator)
        kept = {name: state[name] for name in _CALLBACK_STATE if name in state}
        state.clear()
        state.update(before, **kept)
        raise
    seal_computed(estimator)


class Training(NamedTuple):
    """The data that a fit begins with.

    Attributes
    ----------
    run : Run
    kernel : Kernel
        With names and the default resolved; not yet learned.
    packed : Samples
        All samples that were given.
    samples : Samples
        Those that count, m of n: their weight is not zero.
    values : (m,) or (m, k) array
        Their targets as numbers, for classes their codes; zeros where there are none.
    weight : (m,) array
    used : (m,) array of int
        Their places among all that were given.
    """

    run: Run
    kernel: Any
    packed: Any
    samples: Any
    values: Any
    weight: Floats
    used: Indices


@contextmanager
def fitting(
    estimator: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    target: Target | None = None,
    *,
    pack: Callable[[Any], tuple[Any, Any]] | None = None,
) -> Iterator[Training]:
    """Begin a fit, and end it: the one way from what users give to what solvers see.

    Parameters are checked, samples packed, targets read and weights looked at, each once and in this order; then
    callbacks are notified that the fit begins. What fails inside leaves the estimator as it was (see `whole`).

    Parameters
    ----------
    estimator : KernelEstimator
        ``target_`` is kept in it, and ``classes_``, where there is a target.
    X, y, sample_weight
        As they were given to ``fit``; y is only passed to callbacks if there is no target.
    target : Target, optional
        What y is.
    pack : callable, optional
        From X to packed samples and kernel; None is the estimator's ``_pack``.

    Yields
    ------
    Training
    """
    with whole(estimator):
        estimator._check_parameters()
        vars(estimator).pop("candidates_", None)  # the note of an earlier search
        run = Run(estimator)
        packed, kernel = (pack or estimator._pack)(X)
        values = np.zeros(len(packed))
        if target is not None:
            estimator.target_, values = target.read(y)
            if (classes := getattr(estimator.target_, "classes", None)) is not None:
                estimator.classes_ = classes
        found = weighted(packed, values, sample_weight)
        run.begin(X, y)
        yield Training(run, kernel, packed, *found)
        run.end(X, y)
    if hasattr(estimator, "certificate"):
        remember(estimator, X, y if target is not None else None)


def weighted(packed: Samples, values: Array, sample_weight: Any) -> tuple[Samples, Any, Floats, Indices]:
    """Return samples, targets and weights without the samples of weight zero, and which ones remain."""
    if len(values) != len(packed):
        raise TargetError(
            f"Found input variables with inconsistent numbers of samples: X has {len(packed)}, y has {len(values)}; "
            "there must be one target per sample. Give X and y of the same length."
        )
    w = sample_weights(sample_weight, len(packed))
    used = np.flatnonzero(w)
    if len(used) == len(packed):
        return packed, values, w, used
    return packed.take(used), values[used], w[used], used


def scattered(values: Floats, used: Indices, n: int) -> Floats:
    """Return values of the samples used at their places among all n, zero elsewhere."""
    if len(used) == n:
        return values
    out = np.zeros((n, *values.shape[1:]), dtype=values.dtype)
    out[used] = values
    return out


_DESCRIPTIONS = ("coef_", "dual_coef_", "intercept_", "support_vectors_")  # what describes a model's function


class Computed(property):
    """A property whose arrays are read-only."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        value = super().__get__(instance, owner)
        return value if instance is None else frozen(value)


def frozen(value: Any) -> Any:
    """Return an array, or the arrays of a tuple, as read-only views; anything else as it is.

    Examples
    --------
    >>> frozen(np.zeros(2)).flags.writeable
    False
    """
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    elif sp.issparse(value):
        value = type(value)(value)  # the same entries
        value.data = frozen(value.data)
    elif type(value) is tuple:
        value = tuple(map(frozen, value))
    return value


def seal_computed(estimator: Any) -> None:
    """Make attributes that describe a fitted function read-only: a model predicts with `expansion_`, not with these."""
    state = vars(estimator)
    if "expansion_" in state or hasattr(type(estimator), "expansion_"):
        state.update({name: frozen(state[name]) for name in _DESCRIPTIONS if name in state})


def protect(cls: type) -> None:
    """Make the fitted attributes that a class of mercer, or a class above it, computes read-only."""
    for home in cls.__mro__:
        if home.__module__.partition(".")[0] in ("sklearn", "builtins", "abc"):
            continue
        for name, value in list(vars(home).items()):
            public = name.endswith("_") and not name.startswith("_")
            if public and isinstance(value, property) and not isinstance(value, Computed):
                setattr(home, name, Computed(value.fget, value.fset, value.fdel, value.__doc__))


# the training data --------------------------------------------------------------------------------------------


class _Seen(NamedTuple):
    X: Any  # weak references
    y: Any
    mark: bytes


_SOME = 4096  # numbers by which data are recognised
_seen: weakref.WeakKeyDictionary[Any, _Seen] = weakref.WeakKeyDictionary()


def remember(estimator: Any, X: Any, y: Any) -> None:
    """Keep weak references to the training data, if they allow them: lists do not.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> model, X, y = KernelRidge(), np.ones((3, 1)), np.ones(3)
    >>> remember(model, X, y)
    >>> recall(model)[0] is X
    True
    >>> X += 1.0
    >>> recall(model) is None
    True
    """
    _seen.pop(estimator, None)
    try:
        found = _Seen(weakref.ref(X), None if y is None else weakref.ref(y), _mark(X) + _mark(y))
    except TypeError:
        return
    _seen[estimator] = found


def recall(estimator: Any) -> tuple[Any, Any] | None:
    """Return the data that an estimator was fitted to; None if they are gone, or are no longer what they were."""
    found = _seen.get(estimator)
    if found is None:
        return None
    X, y = found.X(), None if found.y is None else found.y()
    gone = X is None or (found.y is not None and y is None)
    return None if gone or _mark(X) + _mark(y) != found.mark else (X, y)


def _mark(data: Any) -> bytes:
    """Return a digest of some numbers of an array, which shows if all of them were changed; b"" for other data."""
    array = data if isinstance(data, np.ndarray) else getattr(data, "data", None)  # the entries of a sparse matrix
    if not isinstance(array, np.ndarray) or array.dtype.hasobject:
        return b""
    some = array.flat[:: max(1, array.size // _SOME)]  # a copy of these only, however the array is laid out
    return hashlib.sha256(some.tobytes()).digest()


# what a search for hyper-parameters must know of the units of y -------------------------------------------


@dataclass(frozen=True, eq=False)
class Units:
    """Mean and variance of targets, in the unit of the caller.

    Attributes
    ----------
    mean : (k,) array
        m, or zeros where y is taken as it is.
    variances : (k,) array
        Mean squares about m; one where they are zero.
    """

    mean: Floats
    variances: Floats

    @classmethod
    def of(cls, y: Floats, weight: Floats, centred: bool = True) -> Units:
        """Units of targets (n, k), NaN where they were not observed.

        Where some are missing, the means are those of complete samples, if there are two: what relates the outputs then
        relates their means as well.

        Examples
        --------
        >>> Units.of(np.array([[101.0], [103.0]]), np.ones(2)).mean
        array([102.])
        """
        seen = ~np.isnan(y)
        w = np.where(seen, weight[:, None], 0.0)
        whole = seen.all(axis=1, keepdims=True)
        share = np.where(whole, w, 0.0) if np.count_nonzero(whole) > 1 else w
        total = w.sum(axis=0)
        mean = np.zeros(y.shape[1])
        left = np.where(seen, y, 0.0)
        for _ in range(2 if centred else 0):  # the second pass removes what rounding left of a large mean
            step = np.einsum("ij,ij->j", share, left) / share.sum(axis=0)
            mean, left = mean + step, np.where(seen, y - (mean + step), 0.0)
        largest = np.abs(left).max(axis=0, initial=0.0)  # squares of small numbers vanish
        unit = np.where(largest > 0.0, largest, 1.0)
        square = np.einsum("ij,ij->j", w, (left / unit) ** 2) / total * unit * unit
        # equal targets differ from their mean by rounding alone
        equal = np.sqrt(square) <= 4.0 * np.finfo(np.float64).eps * np.abs(mean)
        return cls(mean, np.where(equal | ~((square > 0.0) & (square < np.inf)), 1.0, square))

    @property
    def variance(self) -> float:
        """Mean over the outputs."""
        return float(np.mean(self.variances))

    def noise(self, given: Any = None) -> float:
        """Where the search for a noise starts: as given, or a tenth of the variance."""
        return NOISE * self.variance if given is None else float(given)

    def noise_limits(self, start: float) -> tuple[float, float]:
        """How far a noise may go that starts here."""
        return hull(start, _LEAST * self.variance, _MOST * self.variance)


def hull(start: float, low: float, high: float) -> tuple[float, float]:
    """From low to high, and beyond where a number far from them was given."""
    return (low, high) if low <= start <= high else (min(low, start / _AROUND), max(high, start * _AROUND))


def sizes(kernel: Kernel) -> dict[str, float]:
    """Free parameters that multiply a kernel, by name: they have the unit of y squared.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> sizes(2.0 * Gaussian(1.0) + 3.0 * Linear())
    {'0__scale': 2.0, '1__scale': 3.0}
    """
    parts = {"": kernel, **{f"{name}__": part for name, part in kernel.get_params().items()}}
    found = {f"{name}scale": float(part.scale) for name, part in parts.items() if isinstance(part, kernels.Scaled)}
    return {name: found[name] for name in free_names(kernel) if name in found}


def warn_of_search(held: Mapping[str, float], moved: Mapping[str, float], gain: float, kernel: Kernel) -> None:
    """Warn of parameters at their bounds, and of an evidence no larger than that of white noise.

    Parameters
    ----------
    held, moved : mapping of name to float
        Parameters at a bound, and all that were moved; see `moved_parameters`.
    gain : float
        Log evidence minus that of white noise of the best variance; infinite where that is not known.
    kernel : Kernel
        What was found.
    """
    if held:
        warn_caller(
            f"The evidence is largest at a bound of {_words(held)}; it would still rise beyond. Give other "
            f"bounds={{...}}, hold the parameter by fixed={tuple(held)!r}, or write another kernel.",
            ConvergenceWarning,
        )
    own = {name: value for name, value in moved.items() if name in free_names(kernel)}
    if own and gain <= WHITE:
        size = "" if sizes(kernel) else f" {kernel!r} has no size of its own: write 1.0 * {kernel!r}."
        warn_caller(
            f"The evidence found is that of white noise: the kernel explains nothing of y at {_words(own)}.{size} "
            "Start elsewhere (kernel, restarts=5), or take it that X says nothing about y.",
            ConvergenceWarning,
        )


def _words(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:.3g}" for name, value in values.items())
