"""Virtual samples: an estimator that is trained on transformed copies of its samples as well."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.arguments import answer_of
from mercer.errors import CapabilityError, DomainError, ParameterError

__all__ = ["VirtualSamples"]
__public__ = __all__


def _has(name: str) -> Callable[[Any], bool]:
    return lambda self: hasattr(getattr(self, "estimator_", self.estimator), name)


class VirtualSamples(MetaEstimatorMixin, BaseEstimator):
    r"""Virtual samples: train on copies of the samples that were changed in ways that do not matter.

    .. math:: \{(g(x_i), y_i) : g \in G, \ i = 1, \dots, n\}

    where G are the identity and the given transformations.

    Seed: [HSS] Section 3.1.5, invariances; virtual support vectors are by Schoelkopf, Burges and Vapnik (1996).

    Parameters
    ----------
    estimator : estimator
        Any scikit-learn estimator with fit(X, y).
    transformations : tuple of callables, default ()
        Each takes all raw data at once and returns as many objects. The samples themselves are always kept.
    support_only : bool, default False
        Whether the estimator is trained twice: on the samples, and then on its support vectors and their transformed
        copies alone, which are fewer. The estimator must have ``support_``.

    Attributes
    ----------
    estimator_ : estimator
        The one that was trained last; its predictions are those of this object.
    support_ : (m,) array
        With `support_only`: which samples were kept.
    n_virtual_ : int
        The number of samples that it was trained on.

    Notes
    -----
    A copy has the label and the weight of its sample. Unlike `Invariant` this asks nothing of the kernel, and makes
    predictions no slower than more support vectors do; invariance is learned, not exact.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.kernels import Gaussian
    >>> model = VirtualSamples(SVC(Gaussian(0.5)), (np.negative,)).fit([[1.0], [3.0]], [0, 1])
    >>> model.predict([[-1.0], [-3.0]])
    array([0, 1])
    """

    def __init__(self, estimator: Any, transformations: Any = (), support_only: bool = False) -> None:
        self.estimator = estimator
        self.transformations = transformations
        self.support_only = support_only

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the samples and their transformed copies.

        Parameters
        ----------
        X : raw data
        y : (n,) array
        sample_weight : (n,) array, optional

        Returns
        -------
        self
        """
        given: Any = self.transformations
        if not isinstance(given, tuple | list) or not all(callable(one) for one in given):
            raise ParameterError(
                f"VirtualSamples was given transformations={given!r}; a tuple of functions of all the data is "
                "accepted. Write for example (np.fliplr,)."
            )
        if not isinstance(self.support_only, bool | np.bool_):
            raise ParameterError(
                f"VirtualSamples was given support_only={self.support_only!r}; True or False is accepted. Write "
                "support_only=True."
            )
        kept = None
        if self.support_only:
            first = _fitted(clone(self.estimator), X, y, sample_weight)
            if not hasattr(first, "support_"):
                raise CapabilityError(
                    f"VirtualSamples was given support_only=True and {self.estimator!r}, which has no `support_`; "
                    "support vector machines have it. Use support_only=False."
                )
            kept = np.sort(np.unique(first.support_))
            X, y = _rows(X, kept), _rows(np.asarray(y), kept)
            sample_weight = None if sample_weight is None else np.asarray(sample_weight)[kept]
        copies = [answer_of(one, X, who=self, takes="all the data at once") for one in given]
        for images in copies:
            if _count(images) != _count(X):
                raise DomainError(
                    f"A transformation of VirtualSamples made {_count(images)} objects of {_count(X)}; it must keep "
                    "their number. Give a function that takes all the data and returns one object per sample."
                )
        if copies:
            times = 1 + len(copies)
            X, y = _joined([X, *copies]), np.concatenate([np.asarray(y)] * times)
            sample_weight = None if sample_weight is None else np.tile(np.asarray(sample_weight), times)
        self.estimator_ = _fitted(clone(self.estimator), X, y, sample_weight)
        self.n_virtual_ = _count(X)
        if kept is not None:
            self.support_ = kept
        return self

    def predict(self, X: Any) -> Any:
        """Return what the trained estimator predicts."""
        return self._trained.predict(X)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """Return the decision values of the trained estimator."""
        return self._trained.decision_function(X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the trained estimator."""
        return self._trained.predict_proba(X)

    @available_if(_has("score"))
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score of the trained estimator."""
        return self._trained.score(X, y, **({} if sample_weight is None else {"sample_weight": sample_weight}))

    @property
    def _trained(self) -> Any:
        check_is_fitted(self, "estimator_")
        return self.estimator_

    @property
    def classes_(self) -> Any:
        """The classes of the trained estimator."""
        return self._trained.classes_

    @property
    def n_features_in_(self) -> int:
        """The number of columns that the trained estimator has seen."""
        return self._trained.n_features_in_

    @property
    def feature_names_in_(self) -> Any:
        """The names of the columns that the trained estimator has seen."""
        return self._trained.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator)


def _fitted(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    return estimator.fit(X, y, **({} if sample_weight is None else {"sample_weight": sample_weight}))


def _count(X: Any) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X) if hasattr(X, "__len__") else len(np.asarray(X))


def _rows(X: Any, kept: Any) -> Any:
    """Return some samples of raw data."""
    if hasattr(X, "iloc"):
        return X.iloc[kept]
    return X[kept] if hasattr(X, "shape") else [X[i] for i in kept]


def _joined(parts: Iterable[Any]) -> Any:
    """Return raw data of several collections one after another."""
    parts = list(parts)
    if any(sp.issparse(part) for part in parts):
        return sp.vstack([sp.csr_array(part) for part in parts], format="csr")
    if all(hasattr(part, "iloc") for part in parts):
        return type(parts[0])({name: np.concatenate([part[name] for part in parts]) for name in parts[0].columns})
    if all(hasattr(part, "shape") for part in parts):
        return np.concatenate([np.asarray(part) for part in parts])
    return [sample for part in parts for sample in part]
