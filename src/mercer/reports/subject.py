"""What a report is about: an estimator, its data, and the parts of both that the sections read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Indices
from mercer.domains import Samples, Sets, Similarities
from mercer.errors import DomainError, ParameterError
from mercer.kernels import Kernel
from mercer.plots.sources import samples_of

__all__ = ["NotApplicable", "Subject"]


class NotApplicable(Exception):
    """A section does not apply; the message says why, for the reader of the page."""


@dataclass(frozen=True, eq=False)
class Subject:
    """An estimator and the data it is examined on.

    Attributes
    ----------
    estimator : estimator
        As given; a pipeline stays one.
    model : fitted estimator
        The last step of a pipeline, else the estimator itself.
    X, y : data or None
        As given.
    samples : Samples or None
        X packed for the kernel (after the other steps of a pipeline), or what the model has kept.
    kernel : Kernel or None
        With everything learned filled in.
    task : str
        "classification", "regression", "density" or "other".
    was_fitted : bool
        Whether the estimator came fitted.
    """

    estimator: Any
    model: Any
    X: Any
    y: Any
    samples: Samples | None
    kernel: Kernel | None
    task: str
    was_fitted: bool

    @classmethod
    def of(cls, estimator: Any, X: Any = None, y: Any = None) -> Subject:
        """Return the subject of a report on an estimator; one that is not fitted is copied and fitted to the data."""
        if not hasattr(estimator, "get_params") or isinstance(estimator, type):
            raise ParameterError(
                f"{estimator!r} was given to report; a fitted estimator is accepted, for example "
                "KernelRidge(Gaussian(1.0)).fit(X, y). Fit one first."
            )
        was_fitted = _is_fitted(estimator)
        if not was_fitted:
            if X is None:
                raise NotFittedError(
                    f"This {type(estimator).__name__} instance is not fitted yet, and no data were given to report; a "
                    "fitted estimator or X and y are needed. Call fit first."
                )
            copy: Any = clone(estimator)
            estimator = copy.fit(X) if y is None else copy.fit(X, y)
        _check_lengths(X, y)
        model, seen = estimator, X
        if isinstance(estimator, Pipeline):
            model = estimator[-1]
            seen = None if X is None else estimator[:-1].transform(X)
        kernel = getattr(model, "kernel_", None)
        kernel = kernel if isinstance(kernel, Kernel) and not _of_instances(model, kernel, seen) else None
        return cls(estimator, model, X, y, _samples(model, seen, kernel), kernel, _task(model, y), was_fitted)

    @property
    def n(self) -> int | None:
        """Number of samples given; None without data."""
        return None if self.X is None else _length(self.X)

    @property
    def has_similarities(self) -> bool:
        """Whether the data are similarities computed elsewhere, so that their columns are samples."""
        return isinstance(self.samples, Similarities)

    @property
    def data(self) -> Any:
        """What refits receive: packed samples where the whole estimator takes them, else the data as given."""
        packed = self.samples is not None and self.model is self.estimator
        return self.samples if packed and self.X is not None else self.X

    def take(self, index: Indices) -> Subject:
        """Return the same with some of the samples given."""
        if self.X is None or len(index) == self.n:
            return self
        y = None if self.y is None else np.asarray(self.y)[index]
        samples = None if self.samples is None else self.samples.take(index)
        X = samples if self.data is self.samples else rows_of(self.X, index)
        return replace(self, X=X, y=y, samples=samples)


def rows_of(data: Any, index: Indices) -> Any:
    """Return some rows of packed samples, arrays, tables or lists."""
    if isinstance(data, Samples):
        return data.take(index)
    if isinstance(data, dict):
        return {name: _safe_indexing(column, index) for name, column in data.items()}
    return _safe_indexing(data, index)


def _length(X: Any) -> int:
    if isinstance(X, dict):
        X = next(iter(X.values()), ())
    shape = getattr(X, "shape", None)
    return int(shape[0]) if shape else len(X)


def _check_lengths(X: Any, y: Any) -> None:
    if X is None and y is not None:
        raise ParameterError("y was given to report without X; both or X alone are accepted. Give X as well.")
    if X is not None and y is not None and _length(X) != len(y):
        raise DomainError(
            f"X has {_length(X)} samples and y has {len(y)}; there must be one target per sample. "
            "Give both of one length."
        )


def _is_fitted(estimator: Any) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def _samples(model: Any, X: Any, kernel: Kernel | None) -> Samples | None:
    if kernel is None:
        return None
    if X is not None:
        return kernel.pack(X)
    try:
        return samples_of(model)
    except ParameterError:
        return None


def _of_instances(model: Any, kernel: Kernel, X: Any) -> bool:
    """Return whether samples are bags, and the kernel of the model compares what is in them."""
    return getattr(model, "of_bags", False) and kernel.domain is not Sets and isinstance(X, list | tuple | Sets)


def _task(model: Any, y: Any) -> str:
    if is_classifier(model):
        return "classification"
    if is_regressor(model):
        return "regression"
    return "density" if hasattr(model, "score_samples") and y is None else "other"
