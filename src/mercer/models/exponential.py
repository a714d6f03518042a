"""Exponential families: densities given by their sufficient statistics."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import gammaln

from mercer.arguments import answer_of
from mercer.arrays import Floats
from mercer.constraints import AnyOf, Array, OneOf, Optional, Satisfies
from mercer.domains import Samples, Vectors
from mercer.domains.samples import packed
from mercer.errors import DomainError, ParameterError
from mercer.models.model import Model, numbers, weights_of
from mercer.models.normal import dense
from mercer.spec import derived

__all__ = ["ExponentialFamily"]
__public__ = __all__

_RANGES = {"bernoulli": (0.0, 1.0), "poisson": (0.0, np.inf), "exponential": (0.0, np.inf)}
_WORDS = (*_RANGES, "quadratic")


class ExponentialFamily(Model):
    r"""Exponential family: a density that depends on an object only through some statistics.

    .. math:: p(x \mid \theta) = \exp(\langle \phi(x), \theta \rangle - g(\theta)) \, h(x), \qquad
              \partial_\theta \log p(x \mid \theta) = \phi(x) - \partial_\theta g(\theta) = \phi(x) - E \phi

    Seed: [HSS] Section 2.2.5, Eq. (48) (with h = 1): the practical Fisher kernel is that of centred sufficient
    statistics.

    Parameters
    ----------
    statistics : {"bernoulli", "poisson", "exponential", "quadratic"} or callable, default "quadratic"
        What phi is. Of the names, the first three have the columns x as statistics, of independent zeros and ones,
        counts or positive numbers; "quadratic" has the columns and their products (a normal density). A function takes
        packed samples and returns a (n, p) array; it makes a kernel that cannot be stored in a model file.
    mean : (p,) array, optional
        E phi. By default that of the training samples: maximum likelihood matches moments.
    covariance : (p, p) array, optional
        The covariance of phi, which is the Fisher information. For the first three names it is known; otherwise it is
        that of the training samples if it is not given.
    samples : type, optional
        The domain whose packed samples a function reads. Vectors by default.

    Notes
    -----
    Domain Vectors, or the one of `samples`. Scores are in the natural parameters theta. The likelihood is known only
    for the first three names. Cost that of phi.

    Examples
    --------
    >>> bits = ExponentialFamily("bernoulli", mean=(0.5, 0.25))
    >>> S = bits.pack([[1.0, 0.0], [0.0, 1.0]])
    >>> bits.scores(S)
    array([[ 0.5 , -0.25],
           [-0.5 ,  0.75]])
    >>> np.exp(bits.log_likelihood(S))
    array([0.375, 0.125])
    """

    constraints = {
        "statistics": AnyOf(OneOf(*_WORDS), Satisfies("a function of samples", callable)),
        "mean": Optional(Array(1)),
        "covariance": Optional(Array(2)),
        "samples": Satisfies(
            "None or a class of samples",
            lambda value: value is None or (isinstance(value, type) and issubclass(value, Samples)),
        ),
    }

    def __init__(
        self, statistics: Any = "quadratic", *, mean: Any = None, covariance: Any = None, samples: Any = None
    ) -> None:
        self.statistics = statistics
        self.mean = mean
        self.covariance = covariance
        self.samples = samples

    @derived
    def domain(self) -> type[Samples]:
        """The domain of the statistics."""
        return Vectors if self.samples is None else self.samples

    def check(self) -> Self:
        """Raise ParameterError unless the statistics are known and the moments fit together."""
        super().check()
        if self.samples not in (None, Vectors) and not callable(self.statistics):
            raise ParameterError(
                f"ExponentialFamily was given samples={self.samples!r} with statistics={self.statistics!r}; other "
                "samples than Vectors are accepted only with a function of them. Leave it out for vectors."
            )
        if self.mean is not None:
            self._check_mean(np.asarray(self.mean, dtype=float))
        if self.covariance is not None:
            p = -1 if self.mean is None else len(np.asarray(self.mean))
            numbers("covariance", self.covariance, (p, p), self)
        return self

    def _check_mean(self, mean: Floats) -> None:
        low, high = _RANGES.get(self.statistics if isinstance(self.statistics, str) else "", (-np.inf, np.inf))
        if not ((mean > low) & (mean < high)).all():
            raise ParameterError(
                f"ExponentialFamily was given a mean from {mean.min():g} to {mean.max():g}; with statistics="
                f"{self.statistics!r} it is between {low:g} and {high:g}. Give such a mean, or leave it out."
            )

    @property
    def fitted(self) -> bool:
        """Whether E phi is known."""
        return self.mean is not None

    @property
    def size(self) -> int:
        """The number of statistics."""
        return len(self._mean)

    @property
    def _mean(self) -> Floats:
        return np.asarray(self.require_fitted().mean, dtype=float)

    def _phi(self, S: Samples) -> Floats:
        """Return the statistics, (n, p)."""
        if callable(self.statistics):
            takes = "packed samples, and returns a row of numbers for each"
            found = np.asarray(answer_of(self.statistics, S, who="The function of statistics", takes=takes))
            if (
                found.dtype.kind not in "fiub"
                or found.ndim != 2
                or len(found) != len(S)
                or not np.isfinite(found).all()
            ):
                raise DomainError(
                    f"The statistics of {len(S)} samples have the shape {found.shape}; finite numbers with a row for "
                    "each sample are needed. Correct the function."
                )
            return found.astype(float, copy=False)
        X = dense(S)
        if self.statistics == "quadratic":
            rows, columns = np.tril_indices(X.shape[1])
            return np.hstack([X, X[:, rows] * X[:, columns]])
        good = {"bernoulli": (X == 0.0) | (X == 1.0), "poisson": (X >= 0.0) & (np.floor(X) == X)}
        if not good.get(self.statistics, X >= 0.0).all():
            wanted = {"bernoulli": "zeros and ones", "poisson": "counts", "exponential": "numbers >= 0"}
            raise DomainError(
                f"Vectors with entries from {X.min():g} to {X.max():g} were given to statistics={self.statistics!r}; "
                f"{wanted[self.statistics]} are needed. Use other statistics."
            )
        return X

    def learn(self, S: Samples, weight: Floats | None = None) -> Self:
        """Match the expected statistics to those of the samples."""
        S = packed(S, self.pack)
        w = weights_of(weight, len(S))
        share = w / w.sum()
        needs = self.covariance is None and self.statistics not in _RANGES
        if self.fitted and not needs:
            return self
        phi = self._phi(S)
        if not self.fitted:
            low, high = _RANGES.get(self.statistics if isinstance(self.statistics, str) else "", (-np.inf, np.inf))
            mean = share @ phi
            # a column without any one (or event) still might have one: half an observation is kept of each
            mean = np.clip(mean, low + 0.5 / (w.sum() + 1.0), high - 0.5 / (w.sum() + 1.0))
        else:
            mean = self._mean
        covariance = self.covariance
        if needs:
            Y = phi - mean
            covariance = (Y * share[:, None]).T @ Y
        return self.replace(mean=mean, covariance=covariance)

    def scores(self, S: Samples) -> Floats:
        """Return phi(x) - E phi, (n, p)."""
        S = packed(S, self.pack)
        phi, mean = self._phi(S), self._mean
        if phi.shape[1] != len(mean):
            raise DomainError(
                f"Samples with {phi.shape[1]} statistics were given to a model of {len(mean)}; it knows those it was "
                "learned from. Give the same columns."
            )
        return phi - mean

    def information(self, S: Samples | None = None, weight: Floats | None = None) -> Floats | None:
        """Return the covariance of the statistics, (p, p)."""
        if self.covariance is not None:
            return np.asarray(self.covariance, dtype=float)
        mean = self._mean
        spread = {"bernoulli": mean * (1.0 - mean), "poisson": mean, "exponential": mean**2}
        return np.diag(spread[self.statistics]) if self.statistics in _RANGES else None

    def log_likelihood(self, S: Samples) -> Floats:
        """Return log p(x) of each sample, (n,), for the statistics whose density is known."""
        S = packed(S, self.pack)
        X, m = self.scores(S) + self._mean, self._mean
        if self.statistics == "bernoulli":
            return X @ np.log(m) + (1.0 - X) @ np.log1p(-m)
        if self.statistics == "poisson":
            return X @ np.log(m) - m.sum() - gammaln(X + 1.0).sum(axis=1)
        if self.statistics == "exponential":
            return -X @ (1.0 / m) - np.log(m).sum()
        raise self._lacks("no known normalisation g(theta)")
