"""One function for every choice: a grid or intervals, any criterion, the best model fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

import mercer.gram  # whose names are imported when they are used
from mercer.arguments import Callback, checked
from mercer.arrays import Floats
from mercer.choosing.criteria import Criterion, CrossValidation
from mercer.choosing.effort import Effort, require_workers
from mercer.choosing.sheets import fresh
from mercer.choosing.task import Task
from mercer.constraints import Boolean, InstanceOf, Optional, Satisfies, is_real
from mercer.errors import CapabilityError, ParameterError, TimeBudgetError
from mercer.estimators.certificates.assumptions import count_settings, leave_note

__all__ = ["Found", "search"]
__public__ = __all__


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
    effort=Optional(InstanceOf(Effort)),
    refit=Boolean(),
    progress=Optional(Callback()),
)
def search(
    estimator: Any,
    X: Any,
    y: Any,
    space: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    criterion: Criterion | None = None,
    effort: Effort | None = None,
    refit: bool = True,
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
    effort : Effort, optional
        How thoroughly to look, and what it may cost: ``Effort(max_time=60.0)``.
    refit : bool, default True
        Whether the best candidate is fitted to all samples.
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
    Ctrl-C and the end of the time keep the best so far. The fitted model knows between how many kernels was chosen, and
    its ``certificate`` pays for them.

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
    effort = Effort() if effort is None else effort
    effort.check()
    task = Task(estimator, X, y, criterion, effort, progress, at)
    try:
        if bounds is None:
            params, values = task.grid(space)
        else:
            params, values = task.between(bounds)
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
            "on targets whose squares overflow. Give more time by Effort(max_time=...), or scale y."
        )
    best = int(np.nanargmax(values) if criterion.greater else np.nanargmin(values))
    model = fresh(estimator, params[best]).fit(X, y) if refit else None
    leave_note(model, _candidates(estimator, space, bounds))
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


def _candidates(estimator: Any, space: Any, bounds: dict[str, tuple[float, float]] | None) -> int | None:
    """Return how many kernels are compared; None between bounds, unless they are of costs or ridges alone."""
    if bounds is None:
        return count_settings(ParameterGrid(space), estimator)
    return 1 if count_settings([_some(space, bounds), {}], estimator) == 1 else None


def _some(space: Any, bounds: dict[str, tuple[float, float]] | None) -> dict[str, Any]:
    """Return some candidate."""
    if bounds is None:
        space = space if isinstance(space, Mapping) else space[0]
        return {name: values[0] for name, values in space.items()}
    return {name: float(np.sqrt(low * high)) for name, (low, high) in bounds.items()}
