"""Samples as the folds see them: packed once where nothing is learned from them, else once for each training part.

Symbols: a *sheet* has the samples of one or several folds, and for each fold which of them are trained on and which are
left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import _safe_split

from mercer.arrays import Array, Floats, Indices
from mercer.domains import Samples
from mercer.kernels import Kernel
from mercer.targets import Multiclass

__all__ = ["Fold", "Sheet", "fresh", "last_of", "learned", "prefix_of", "sheets"]


@dataclass(frozen=True, eq=False)
class Fold:
    """One split, by its number among all splits, with places in the sheet."""

    number: int
    train: Indices
    test: Indices


@dataclass(frozen=True, eq=False)
class Sheet:
    """Data of some folds: raw (or transformed) samples, in one or two pieces, targets and weights."""

    parts: tuple[Any, ...]
    y: Array
    weight: Floats
    folds: tuple[Fold, ...]

    def pack(self, model: Any) -> tuple[Samples, Kernel]:
        """Return the samples and the kernel of a model, with names and the default resolved."""
        S, kernel = model._pack(self.parts[0])
        for part in self.parts[1:]:
            S = S.concat(kernel.pack(part))
        return S, kernel


def fresh(model: Any, params: Mapping[str, Any] | None = None) -> Any:
    """Return an estimator like another one that is not fitted, with some parameters changed."""
    other: Any = clone(model)
    given: Any = clone(dict(params or {}), safe=False)  # parameters may be estimators themselves
    return other.set_params(**given)


def last_of(model: Any) -> Any:
    """Return the estimator that is given the kernel's samples: the model, or the last step of a pipeline."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def prefix_of(model: Any) -> Any:
    """Return the steps before the last one of a pipeline; None if there are none."""
    return model[:-1] if isinstance(model, Pipeline) and len(model.steps) > 1 else None


def sheets(prefix: Any, X: Any, y: Array, weight: Floats, splits: Sequence[tuple[Indices, Indices]]) -> Iterator[Sheet]:
    """Yield one sheet of all folds, or with transformers one for each fold, which they are fitted to."""
    if prefix is None:
        yield Sheet((X,), y, weight, tuple(Fold(j, train, test) for j, (train, test) in enumerate(splits)))
        return
    for j, (train, test) in enumerate(splits):
        steps = fresh(prefix)
        first: Any = _safe_split(steps, X, y, train)
        second: Any = _safe_split(steps, X, y, test, train)
        (inner, y_train), (outer, y_test) = first, second
        parts = steps.fit_transform(inner, y_train), steps.transform(outer)
        places = np.arange(len(y_train)), len(y_train) + np.arange(len(y_test))
        values = np.concatenate([np.asarray(y_train), np.asarray(y_test)])
        yield Sheet(parts, values, np.concatenate([weight[train], weight[test]]), (Fold(j, *places),))


def learned(model: Any, kernel: Kernel, S: Samples, y: Array, weight: Floats, train: Indices) -> Kernel:
    """Return the kernel with what it learns from training samples alone."""
    part = S.take(train)
    if is_classifier(model):
        values = Multiclass().read(y[train])[1]
    else:
        values = y[train]
    if hasattr(model, "_learned_kernel"):
        return model._learned_kernel(kernel, part, values, weight[train])
    return kernel.learn(part, values, weight[train])
