r"""The normal density, of one number or of vectors.

Symbols: mu the mean, L the lower factor of the covariance, L L' = Sigma (in one dimension the deviation sigma),
z = L^{-1} (x - mu), standard normal under the model.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular

from mercer import budget
from mercer.arrays import Floats
from mercer.constraints import Array, OneOf, Optional
from mercer.domains import Samples, Vectors
from mercer.domains.samples import packed
from mercer.errors import DomainError, ParameterError
from mercer.models.model import Model, numbers, weights_of

__all__ = ["Normal"]
__public__ = __all__

FLOOR = 1e-6  # variance of a column that is constant, relative to the largest of the others: else there is no density


class Normal(Model):
    r"""Normal density with a mean and a covariance.

    .. math:: \log p(x) = -\tfrac12 (x - \mu)^\top \Sigma^{-1} (x - \mu) - \tfrac12 \log \det (2 \pi \Sigma)

    Scores are derivatives in mu and in the lower factor L of Sigma, row by row; in one dimension

    .. math:: g(x) = \left( \frac{x - \mu}{\sigma^2},\ \frac{(x - \mu)^2}{\sigma^3} - \frac{1}{\sigma} \right)

    Seed: [ST] "Fisher kernels", the one-dimensional example. The slide prints -log(2 pi sigma) / 2 in the logarithm and
    so -1 / (2 sigma) in the second score; the density has -log(2 pi sigma^2) / 2, and -1 / sigma.

    Parameters
    ----------
    mean : float or (d,) array, optional
        Learned by default.
    deviation : float, (d,) or (d, d) array, optional
        sigma; with covariance="full" and d > 1 the lower factor L. Learned by default.
    covariance : {"full", "diagonal"}, default "full"
        Whether L has entries below the diagonal.

    Notes
    -----
    Domain Vectors. Learned in closed form; a constant column is given a small deviation, so that there is a density.
    The information is known in closed form: its root maps scores to z_i, z_i z_j (i > j) and (z_i^2 - 1) / sqrt(2).
    Cost O(n d^2), and O(d^6) for the information with a full covariance.

    Examples
    --------
    >>> standard = Normal(0.0, 1.0)
    >>> standard.scores(standard.pack([[-2.0], [0.0], [1.0]]))
    array([[-2.,  3.],
           [ 0., -1.],
           [ 1.,  0.]])
    >>> standard.information()
    array([[1., 0.],
           [0., 2.]])
    """

    domain = Vectors
    constraints = {
        "mean": Optional(Array(0, 1)),
        "deviation": Optional(Array(0, 1, 2)),
        "covariance": OneOf("full", "diagonal"),
    }

    def __init__(self, mean: Any = None, deviation: Any = None, *, covariance: str = "full") -> None:
        self.mean = mean
        self.deviation = deviation
        self.covariance = covariance

    def check(self) -> Self:
        """Raise ParameterError unless mean and deviation fit together."""
        super().check()
        if (self.mean is None) != (self.deviation is None):
            raise ParameterError(
                "Normal was given one of mean and deviation; both or none are accepted. Give both, or leave both out "
                "to learn them."
            )
        if self.fitted:
            mean = numbers("mean", np.atleast_1d(np.asarray(self.mean)), (-1,), self)
            factor = self._given_factor()
            check_factor(factor, len(mean), self)
        return self

    def _given_factor(self) -> Any:
        """Return the deviation as (d,) or (d, d); a number applies to all columns."""
        given = np.asarray(self.deviation)
        return np.broadcast_to(given, np.atleast_1d(np.asarray(self.mean)).shape) if given.ndim == 0 else given

    @property
    def fitted(self) -> bool:
        """Whether mean and deviation are known."""
        return self.mean is not None

    @property
    def _mean(self) -> Floats:
        return np.atleast_1d(np.asarray(self.require_fitted().mean, dtype=float))

    @property
    def _factor(self) -> Floats:
        """Deviations (d,), or L (d, d)."""
        given = np.asarray(self._given_factor(), dtype=float)
        return np.diag(given) if given.ndim == 1 and self.covariance == "full" else given

    @property
    def size(self) -> int:
        """The numbers of columns and of entries of L."""
        return len(self._mean) + factor_size(self._factor)

    def learn(self, S: Samples, weight: Floats | None = None) -> Self:
        """Take the mean and the covariance of the samples."""
        S = packed(S, self.pack)
        if self.fitted:
            return self
        w = weights_of(weight, len(S))
        X = dense(S)
        share = w / w.sum()
        mean = share @ X
        Y = X - mean
        if self.covariance == "diagonal":
            return self.replace(mean=mean, deviation=np.sqrt(floored(share @ (Y * Y), mean)))
        return self.replace(mean=mean, deviation=factor_of((Y * share[:, None]).T @ Y, mean))

    def log_likelihood(self, S: Samples) -> Floats:
        """Return log p(x) of each vector, (n,)."""
        S = packed(S, self.pack)
        z = standardised(rows_for(S, len(self._mean)), self._mean, self._factor)
        return -0.5 * np.einsum("ij,ij->i", z, z) + log_constant(self._factor)

    def scores(self, S: Samples) -> Floats:
        """Return the derivatives in mu and in the entries of L, (n, p)."""
        S = packed(S, self.pack)
        z = standardised(rows_for(S, len(self._mean)), self._mean, self._factor)
        return gaussian_scores(z, self._factor)

    def information(self, S: Samples | None = None, weight: Floats | None = None) -> Floats:
        """Return the Fisher information, (p, p)."""
        factor, d = self._factor, len(self._mean)
        if factor.ndim == 1:
            return np.diag(np.concatenate([factor**-2.0, 2.0 * factor**-2.0]))
        # scores are linear in z and in the z_a z_b - [a = b], which have covariances of 0, 1 and 2
        budget.Plan(f"the information of {self!r}", {"moments": 16 * d**4}).require(None)
        inverse = solve_triangular(factor, np.eye(d), lower=True).T  # L^{-T}
        rows, columns = np.tril_indices(d)
        out = np.zeros((self.size, self.size))
        out[:d, :d] = inverse @ inverse.T
        # entry (r, c) of L^{-T} (z z' - I) has the covariance (L^{-T} L^{-1})_{r r'} [c = c'] + inv_{r c'} inv_{r' c}
        same = (columns[:, None] == columns[None]) * (inverse @ inverse.T)[rows[:, None], rows[None]]
        out[d:, d:] = same + inverse[rows[:, None], columns[None]] * inverse[rows[None], columns[:, None]]
        return out

    def sample(self, rng: np.random.Generator, count: int, like: Samples | None = None) -> Samples:
        """Draw vectors."""
        z = rng.normal(size=(count, len(self._mean)))
        factor = self._factor
        return Vectors.pack(self._mean + (z * factor if factor.ndim == 1 else z @ factor.T))


def check_factor(factor: Any, d: int, owner: Any) -> None:
    """Raise ParameterError unless a factor is positive deviations, or lower triangular with a positive diagonal."""
    full = np.ndim(factor) == 2 and owner.covariance == "full"
    given = numbers("deviation", factor, (d, d) if full else (d,), owner)
    diagonal = np.diagonal(given) if full else given
    if (diagonal <= 0.0).any() or (full and np.triu(given, 1).any()):
        raise ParameterError(
            f"{type(owner).__name__} was given a deviation that is not positive, or not lower triangular; positive "
            "numbers, or a lower factor of the covariance with a positive diagonal, are accepted. Use "
            "numpy.linalg.cholesky of the covariance."
        )


def dense(S: Samples) -> Floats:
    """Return vectors as a float64 array."""
    assert isinstance(S, Vectors)
    X: Any = S.X
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float)


def rows_for(S: Samples, d: int) -> Floats:
    """Return vectors as an array; DomainError unless they have d columns."""
    assert isinstance(S, Vectors)
    if S.width != d:
        raise DomainError(
            f"Vectors with {S.width} columns were given to a model of {d}; it knows the columns it was learned from. "
            "Give the same columns."
        )
    return dense(S)


def floored(variance: Floats, mean: Floats) -> Floats:
    """Return variances above zero."""
    typical = float(variance.max(initial=0.0))
    least = FLOOR * np.where(variance > 0.0, 0.0, typical if typical > 0.0 else 1.0)
    return np.maximum(np.maximum(variance, least), 1e-28 * mean * mean)


def factor_of(covariance: Floats, mean: Floats) -> Floats:
    """Return the lower factor of a covariance; directions without variance are given a little."""
    scale = np.sqrt(floored(np.diagonal(covariance), mean))
    correlation = covariance / np.multiply.outer(scale, scale)
    np.fill_diagonal(correlation, 1.0)
    try:
        L = np.linalg.cholesky(correlation)
        weak = bool(np.diagonal(L).min(initial=1.0) < 1e-5)
    except np.linalg.LinAlgError:
        L, weak = correlation, True
    if weak:
        L = np.linalg.cholesky(correlation + 1e-8 * np.eye(len(scale)))
    return scale[:, None] * L


def standardised(X: Floats, mean: Floats, factor: Floats) -> Floats:
    """Return z = L^{-1} (x - mu), (n, d)."""
    Y = X - mean
    if factor.ndim == 1:
        return Y / factor
    return np.ascontiguousarray(solve_triangular(factor, Y.T, lower=True, check_finite=False).T)


def log_constant(factor: Floats) -> float:
    """Return -log det(2 pi Sigma) / 2."""
    diagonal = factor if factor.ndim == 1 else np.diagonal(factor)
    return float(-np.log(diagonal).sum() - 0.5 * len(factor) * np.log(2.0 * np.pi))


def factor_size(factor: Floats) -> int:
    """Return the number of entries of L that are parameters."""
    d = len(factor)
    return d if factor.ndim == 1 else d * (d + 1) // 2


def gaussian_scores(z: Floats, factor: Floats) -> Floats:
    """Return derivatives in mu and in L, (n, p): L^{-T} z and the lower part of L^{-T} (z z' - I)."""
    d = len(factor)
    if factor.ndim == 1:
        return np.hstack([z / factor, (z * z - 1.0) / factor])
    inverse = solve_triangular(factor, np.eye(d), lower=True).T
    pull = z @ inverse.T
    rows, columns = np.tril_indices(d)
    return np.hstack([pull, pull[:, rows] * z[:, columns] - inverse[rows, columns]])
