"""The distribution of the generalisation error: train on random parts, test on the rest, again and again.

Symbols: epsilon(S, A, F) the error of what a learner A makes of a training set S, a random variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import _safe_indexing, get_tags, indexable

from mercer.arguments import SEED, checked
from mercer.arrays import Array, Floats, Indices
from mercer.constraints import Integer
from mercer.domains import Samples
from mercer.domains.vectors import require_sound
from mercer.errors import DomainError, ParameterError
from mercer.targets.target import labels as class_labels

__all__ = ["SEED_SIZES", "ErrorDistribution", "error_distribution"]
__public__ = ["ErrorDistribution", "error_distribution"]

SEED_SIZES = (342, 273, 205, 137, 68, 34, 27, 20, 14, 7)  # of the experiment on the slides
_TRIES = 1000  # random parts that are drawn until one has samples of two classes


@dataclass(frozen=True, eq=False)
class ErrorDistribution:
    """Errors of learners on the rest of the data, for random training sets of several sizes.

    Seed: [ST] "Example of Generalisation II", "Error distribution: dataset size: 342".

    Parameters
    ----------
    names : tuple of str
        Of the learners.
    sizes : tuple of int
        Of the training sets.
    errors : (learners, sizes, repeats) array
        Shares of errors on the samples that were not trained on.
    whole : (learners,) array
        Errors on all samples of learners trained on all of them.

    Notes
    -----
    `mercer.plots.ErrorDistributionDisplay` draws histograms, means and quantiles; `table` prints the numbers.

    Examples
    --------
    >>> found = ErrorDistribution(("means",), (10,), np.array([[[0.1, 0.2, 0.3]]]), np.array([0.1]))
    >>> found.mean().round(3), found.quantile(0.5).round(3)
    (array([[0.2]]), array([[0.2]]))
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    errors: Floats
    whole: Floats

    def mean(self) -> Floats:
        """Return the expected error, (learners, sizes)."""
        return self.errors.mean(axis=2)

    def quantile(self, level: float = 0.95) -> Floats:
        """Return the error that is exceeded with probability 1 - level only, (learners, sizes)."""
        return np.quantile(self.errors, level, axis=2)

    def table(self, delta: float = 0.05) -> str:
        """Return expected and confident errors as text: a line per size, mean and 1 - delta quantile per learner."""
        wide = max(18, *(len(name) + 2 for name in self.names))
        lines = [f"{'samples':>8}" + "".join(f"{name:>{wide}}" for name in self.names)]
        mean, high = self.mean(), self.quantile(1.0 - delta)
        for j, size in enumerate(self.sizes):
            cells = (f"{mean[i, j]:.3f} {high[i, j]:.3f}" for i in range(len(self.names)))
            lines.append(f"{size:>8}" + "".join(f"{cell:>{wide}}" for cell in cells))
        lines.append(f"{'all':>8}" + "".join(f"{value:.3f}".rjust(wide) for value in self.whole))
        lines.append(f"mean and {1.0 - delta:g} quantile of the test error; all: trained and tested on all samples")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"<ErrorDistribution of {', '.join(self.names)}: {len(self.sizes)} sizes, {self.errors.shape[2]} repeats>"
        )


@checked(repeats=Integer(1), random_state=SEED)
def error_distribution(
    estimator: Any,
    X: Any,
    y: Any,
    sizes: Sequence[int] | None = None,
    repeats: int = 100,
    *,
    random_state: Any = 0,
) -> ErrorDistribution:
    r"""Estimate the distribution of the generalisation error of learners, for training sets of several sizes.

    .. math:: \epsilon(S, A, F) = E_{(x, y)} [\ell(A_F(S), x, y)]

    by the error on the samples that were not drawn.

    Seed: [ST] "Generalisation of a learner", "Example of Generalisation II".

    Parameters
    ----------
    estimator : classifier, or dict of classifiers by name
        Any with scikit-learn's interface. All see the same training sets.
    X : data
    y : (n,) array
        Class labels.
    sizes : sequence of int, optional
        Of training sets, each below n. None is the ten sizes of the slides: 342, 273, 205, 137, 68, 34, 27, 20, 14, 7.
    repeats : int, default 100
        Training sets of each size. Those without samples of two classes are drawn again.
    random_state : int or generator, default 0

    Returns
    -------
    distribution : ErrorDistribution

    Notes
    -----
    The expected error is the mean over training sets; with one training set, one wants to know what error is not
    exceeded with high confidence, a quantile. Test sets overlap between repeats, so that the spread for sizes near n is
    too small. Cost: sizes x repeats x learners fits.

    Examples
    --------
    >>> from mercer import KernelMeanClassifier
    >>> from mercer.kernels import Linear
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2)) + np.repeat([[0.0], [2.0]], 100, axis=0)
    >>> found = error_distribution(KernelMeanClassifier(Linear()), X, np.repeat([0, 1], 100), (100, 10), 20)
    >>> found.errors.shape, bool(found.mean().max() < 0.5)
    ((1, 2, 20), True)
    """
    learners = dict(estimator) if isinstance(estimator, dict) else {type(estimator).__name__: estimator}
    for model in learners.values():
        if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "predict")):
            raise ParameterError(
                f"{model!r:.100} was given as a learner; classifiers with fit and predict are accepted. "
                "Give for example SVC(Gaussian(1.0))."
            )
    labels = class_labels(y)
    n = _count(X)
    if n != len(labels):
        raise DomainError(f"{n} samples and {len(labels)} labels were given; there must be one each. Give both.")
    X = indexable(X)[0]
    counts = _sizes_of(SEED_SIZES if sizes is None else sizes, n)
    if not learners or len(np.unique(labels)) < 2:
        raise DomainError("one class, or no learner, was given; two classes and a learner are needed. Give both.")
    rng = np.random.default_rng(random_state)
    errors = np.empty((len(learners), len(counts), repeats))
    for j, size in enumerate(counts):
        for k in range(repeats):
            train, test = _drawn(labels, size, rng)
            for i, model in enumerate(learners.values()):
                errors[i, j, k] = _error(model, X, labels, train, test)
    every = np.arange(n)
    whole = np.array([_error(model, X, labels, every, every) for model in learners.values()])
    return ErrorDistribution(tuple(learners), counts, errors, whole)


def _count(X: Any) -> int:
    """Return the number of samples."""
    shape = getattr(X, "shape", None)
    if X is None or shape == () or not (shape or hasattr(X, "__len__")) or isinstance(X, (str, bytes, dict, type)):
        kind = "None" if X is None else f"a {type(X).__name__}"
        raise DomainError(f"X is {kind}; a collection of samples is accepted. Give an array or a list.")
    if sp.issparse(X):
        require_sound(X)
    return shape[0] if shape else len(X)


def _sizes_of(sizes: Sequence[int], n: int) -> tuple[int, ...]:
    given = np.asarray(sizes)
    found = tuple(int(size) for size in given) if given.ndim == 1 and given.dtype.kind in "iu" else ()
    if not found or not all(2 <= size < n for size in found):
        raise ParameterError(
            f"sizes={sizes!r:.200} were given for {n} samples; training sets have at least 2 of them, and leave some "
            "to test on. Give sizes from 2 to n - 1."
        )
    return found


def _drawn(labels: Array, size: int, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Return a training set with samples of two classes, and the rest."""
    for _ in range(_TRIES):
        order = rng.permutation(len(labels))
        if len(np.unique(labels[order[:size]])) > 1:
            return order[:size], order[size:]
    raise DomainError(
        f"none of {_TRIES} random training sets of {size} samples had two classes; one class is too rare. Give larger "
        "sizes."
    )


def _error(model: Any, X: Any, labels: Array, train: Indices, test: Indices) -> float:
    fitted: Any = clone(model)
    if get_tags(fitted).input_tags.pairwise:  # similarities: training samples are columns as well
        fitted.fit(X[np.ix_(train, train)], labels[train])
        return float(np.mean(fitted.predict(X[np.ix_(test, train)]) != labels[test]))
    fitted.fit(_rows(X, train), labels[train])
    return float(np.mean(fitted.predict(_rows(X, test)) != labels[test]))


def _rows(X: Any, index: Indices) -> Any:
    if isinstance(X, Samples):
        return X.take(index)
    return _safe_indexing(X, index)
