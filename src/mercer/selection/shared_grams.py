"""Cross-validation over a grid of parameters as tasks: each kernel matrix is computed once and used by all folds.

Symbols: p combinations of parameters, f folds, K the kernel matrix of all n samples.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv

from mercer.arrays import Array, Floats, Indices
from mercer.budget import Plan
from mercer.domains import Samples
from mercer.errors import CapabilityError, ParameterError
from mercer.gram import Dense, Distributed
from mercer.kernels import Kernel, Precomputed
from mercer.runtime.workers import Crew

__all__ = ["GridScores", "grid_scores"]
__public__ = __all__


@dataclass(frozen=True, eq=False)
class GridScores:
    """The result of a cross-validation.

    Attributes
    ----------
    params : tuple of dict
        The p combinations.
    scores : (p, f) array
        Score of each on each fold, by the model that has not seen it.
    grams : int
        Number of kernel matrices computed; kernels that learn from the samples have none that is shared.
    """

    params: tuple[dict[str, Any], ...]
    scores: Floats
    grams: int

    @property
    def best(self) -> dict[str, Any]:
        """The combination with the highest mean score; of equal ones the first."""
        return self.params[int(np.argmax(self.scores.mean(axis=1)))]


def grid_scores(
    estimator: Any,
    X: Any,
    y: Any,
    grid: Mapping[str, Sequence[Any]],
    *,
    cv: Any = 5,
    scoring: Any = None,
    at: Distributed | None = None,
) -> GridScores:
    """Return the scores of all combinations of parameters on all folds; each fit is a task, each Gram is made once.

    Seed: [KIKS] Section 4.1.1 and [SS] Section 5.1 (cross-validation).

    Parameters
    ----------
    estimator : estimator with a kernel
        Such as `SVC` or `KernelRidge`; its ``kernel`` is a `Kernel`, or is in the grid.
    X : raw data or packed samples
    y : (n,) or (n, k) array
    grid : mapping from names of parameters to values
        As for scikit-learn's ``GridSearchCV``: ``{"C": [1.0, 10.0], "kernel__length_scale": [0.5, 1.0]}``.
    cv : int, splitter or iterable, default 5
    scoring : str or callable, optional
        As in scikit-learn; None is the estimator's own ``score``.
    at : Distributed, optional
        Where to fit; None is ``Distributed("here")``, this process.

    Returns
    -------
    GridScores

    Notes
    -----
    The scores are those of ``GridSearchCV`` and do not depend on the workers. A task has the whole K, of 8 n^2 bytes,
    and fits to its rows and columns; tasks of one kernel follow each other, so that few matrices exist at once. A
    kernel that learns something from the training samples, as ``Gaussian("median")``, is fitted to the samples of each
    fold instead.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 6.0, 60)[:, None]
    >>> grid = {"kernel__length_scale": [0.1, 1.0], "alpha": [1e-3, 1.0]}
    >>> found = grid_scores(KernelRidge(Gaussian(1.0)), X[::-1], np.sin(X[::-1, 0]), grid, cv=3)
    >>> found.scores.shape, found.grams, found.best["kernel__length_scale"]
    ((4, 3), 2, 1.0)
    """
    at = Distributed("here") if at is None else at
    y = np.asarray(y)
    params = _combinations(grid)
    models = [_fresh(estimator).set_params(**chosen) for chosen in params]
    kernels: list[Kernel] = [_kernel_of(model) for model in models]
    S = kernels[0].pack(X)
    splitter: Any = check_cv(cv, y, classifier=is_classifier(estimator))
    folds = list(splitter.split(np.zeros(len(S)), y))
    shared = [kernel.learn(S, y) == kernel for kernel in kernels]
    if any(shared):
        Plan(f"Gram matrices on {len(S)} samples", {"Gram matrix": 8 * len(S) ** 2}).require(
            getattr(estimator, "memory", None)
        )
    with at.open() as crew:
        return _searched(crew, _Task(S, y, folds, scoring), params, models, kernels, shared)


@dataclass(frozen=True, eq=False)
class _Task:
    """What all tasks need."""

    samples: Samples
    y: Array
    folds: list[tuple[Indices, Indices]]
    scoring: Any


def _searched(
    crew: Crew, task: _Task, params: list[dict[str, Any]], models: list[Any], kernels: list[Kernel], shared: list[bool]
) -> GridScores:
    held = crew.hold(task)
    distinct: list[Kernel] = []
    for kernel, is_shared in zip(kernels, shared, strict=True):
        if is_shared and kernel not in distinct:
            distinct.append(kernel)
    handles: dict[tuple[int, int], Any] = {}
    places = range(len(models))
    count = range(len(task.folds))
    for kernel in distinct:
        K = crew.submit(_matrix, held, kernel)
        for i in (i for i in places if shared[i] and kernels[i] == kernel):
            model = _fresh(models[i]).set_params(kernel=Precomputed())
            handles |= {(i, j): crew.submit(_score, held, model, j, K) for j in count}
        if crew.threads != 1:  # this process has done them, and needs the matrix no more
            del K
    for i in (i for i in places if not shared[i]):
        handles |= {(i, j): crew.submit(_score, held, models[i], j, None) for j in count}
    keys = sorted(handles)
    found = crew.gather([handles[key] for key in keys])
    return GridScores(tuple(params), np.array(found, dtype=float).reshape(len(models), -1), len(distinct))


def _matrix(task: _Task, kernel: Kernel) -> Floats:
    return Dense().build(kernel, task.samples).to_dense()


def _score(task: _Task, model: Any, fold: int, K: Floats | None) -> float:
    """Fit without a fold, and return the score on it."""
    train, test = task.folds[fold]
    score = get_scorer(task.scoring) if isinstance(task.scoring, str) else task.scoring
    if K is None:
        first, second = task.samples.take(train), task.samples.take(test)
    else:
        first, second = K[np.ix_(train, train)], K[np.ix_(test, train)]
    model = _fresh(model).fit(first, task.y[train])
    return float(model.score(second, task.y[test]) if score is None else score(model, second, task.y[test]))


def _fresh(model: Any) -> Any:
    return clone(model)


def _combinations(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    names = sorted(grid)
    values = [list(grid[name]) for name in names]
    if not names or not all(values):
        raise ParameterError(
            f"grid={grid!r:.200} was given; names of parameters with at least one value each are accepted. Write for "
            "example grid={'alpha': [0.1, 1.0]}."
        )
    return [dict(zip(names, chosen, strict=True)) for chosen in itertools.product(*values)]


def _kernel_of(model: Any) -> Kernel:
    kernel = getattr(model, "kernel", None)
    if not isinstance(kernel, Kernel):
        raise CapabilityError(
            f"{type(model).__name__} was given kernel={kernel!r}; matrices are shared by kernels that are written out. "
            "Use for example kernel=Gaussian(1.0)."
        )
    return kernel
