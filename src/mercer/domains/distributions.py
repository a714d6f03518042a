"""Samples that are distributions: finite samples, Gaussians and mixtures of them, vectors with missing entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Bools, Floats, Indices
from mercer.domains.samples import Samples, kind_of
from mercer.errors import DomainError, ModelError
from mercer.numerics.ragged import Ragged

__all__ = ["Distributions"]
__public__ = __all__

_ACCEPTED = (
    "Distributions are a list of samples of shape (m, d), of vectors of d numbers whose missing entries are NaN, and "
    'of Gaussians (mean, covariance); or of dicts of "means", "covariances" and "weights".'
)
_NAMES = {"mean": "means", "cov": "covariances", "covariance": "covariances", "samples": "means"}


@dataclass(frozen=True, eq=False, repr=False)
class Distributions(Samples):
    r"""Distributions on vectors, each a mixture of Gaussians; a point is a Gaussian without extent.

    .. math:: p = \sum_j w_j \, N(m_j, S_j), \qquad \sum_j w_j = 1

    Seed: [HSS] Section 2.2.5, "Kernels on Sets and Subspaces": phi(p) = E phi(x), x from p, as for images with missing
    pixels.

    Parameters
    ----------
    means : (total, d) float64 array
        m_j of all distributions, one after another; 0 where an entry is missing.
    covariances : (total, 0), (total, d) or (total, d, d) float64 array
        S_j: none (points), variances of independent columns, or full matrices. 0 where an entry is missing.
    weights : (total,) float64 array
        w_j, which add to 1 in each distribution.
    offsets : (n + 1,) intp array
        Where the components of each distribution begin.
    missing : (total, 0) or (total, d) bool array
        Which entries of the means are missing, if any.

    Notes
    -----
    All components are held in the form that the widest of them needs. A kernel has to be given, or has to learn, what a
    missing entry may be: `filled` then makes a Gaussian of the vector.

    Examples
    --------
    >>> S = Distributions.pack([[[0.0, 1.0], [2.0, 1.0]], ([1.0, 1.0], [0.5, 0.0]), [3.0, float("nan")]])
    >>> S
    <Distributions: 3 samples, 4 components, 2 columns, variances, 1 missing entry>
    >>> S.filled(np.array([1.0, 2.0]), np.array([1.0, 4.0])).component(2)
    (array([[3., 2.]]), array([[0., 4.]]), array([1.]))
    """

    means: Floats
    covariances: Floats
    weights: Floats
    offsets: Indices
    missing: Bools

    @classmethod
    def pack(cls, X: Any) -> Self:
        """Turn samples, Gaussians, mixtures and vectors with missing entries into Distributions.

        Parameters
        ----------
        X : list of distributions, (n, d) array or table of vectors, (n, m, d) array of samples, or Distributions
            Each entry is one of the following.

            * (m, d) array: a sample, that is, the uniform distribution on its rows.
            * (d,) array: a point; NaN, None and masked entries are missing.
            * (mean, covariance): a Gaussian; the covariance is a (d, d) matrix, d variances or one variance. An object
              with the attributes ``mean`` and ``cov`` will do.
            * dict of ``"means"`` (m, d) and, where there are any, ``"covariances"`` (m, d, d), (m, d) or one for all,
              and ``"weights"`` (m,), positive: a mixture.

        Raises
        ------
        DomainError
            No distribution, one that is none of these, or different numbers of columns; the message names it.
        """
        if cls._is_packed(X):
            return X
        parts = [_components(one, i) for i, one in enumerate(_listed(X))]
        width = parts[0][0].shape[1]
        for i, (means, _, _) in enumerate(parts):
            if means.shape[1] != width:
                raise DomainError(
                    f"Sample 0 has {width} columns, sample {i} has {means.shape[1]}. {_ACCEPTED} Give all the same "
                    "columns."
                )
        extent = max(0 if S is None else S.ndim - 1 for _, S, _ in parts)
        covariances = np.concatenate([_widened(S, means.shape, extent) for means, S, _ in parts])
        offsets = Ragged.from_lengths(np.empty(0), [len(w) for _, _, w in parts]).offsets
        means, weights = np.concatenate([m for m, _, _ in parts]), np.concatenate([w for _, _, w in parts])
        missing = np.isnan(means)
        means[missing] = 0.0
        return cls(means, covariances, weights, offsets, missing if missing.any() else missing[:, :0])

    # ------------------------------------------------------------------ what is in it

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.means.shape[1]

    @property
    def extent(self) -> int:
        """0 if all components are points, 1 if they have variances, 2 if they have covariances."""
        return 0 if self.covariances.shape[1] == 0 else self.covariances.ndim - 1

    @property
    def sizes(self) -> Indices:
        """``(n,)`` numbers of components."""
        return np.diff(self.offsets)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """``(means, covariances, weights, offsets, missing)``."""
        return self.means, self.covariances, self.weights, self.offsets, self.missing

    @cached_property
    def has_missing(self) -> bool:
        """Whether an entry is missing."""
        return bool(self.missing.any())

    def component(self, i: int) -> tuple[Floats, Floats, Floats]:
        """Means, covariances and weights of distribution i."""
        part = slice(int(self.offsets[i]), int(self.offsets[i + 1]))
        return self.means[part], self.covariances[part], self.weights[part]

    def with_extent(self, extent: int) -> Self:
        """The same distributions with variances (1) or covariances (2), of which they have no more."""
        if extent <= self.extent:
            return self
        held = None if self.extent == 0 else self.covariances
        return replace(self, covariances=_widened(held, self.means.shape, extent))

    def filled(self, mean: Floats, covariance: Floats) -> Self:
        r"""The same distributions, with missing entries as a Gaussian population has them.

        With variances (d,), columns are independent and an entry gets the population's mean and variance. With
        covariances (d, d), it is conditioned on the entries o that are there:

        .. math:: m_u + C_{uo} C_{oo}^{-1} (x_o - m_o), \qquad C_{uu} - C_{uo} C_{oo}^{-1} C_{ou}
        """
        mean, covariance = np.asarray(mean, dtype=float), np.asarray(covariance, dtype=float)
        if not self.has_missing:
            return self
        missing, none = self.missing, self.missing[:, :0]
        means = np.where(missing, mean, self.means)
        if covariance.ndim == 1:
            S = self.with_extent(1)
            held = S.covariances.copy()
            places = held if held.ndim == 2 else np.einsum("nii->ni", held)  # a writable view of the diagonals
            places[missing] = np.broadcast_to(covariance, missing.shape)[missing]
            return replace(S, means=means, covariances=held, missing=none)
        held = self.with_extent(2).covariances.copy()
        some = np.flatnonzero(missing.any(axis=1))
        patterns, group = np.unique(missing[some], axis=0, return_inverse=True)
        for g, u in enumerate(patterns):
            rows, o = some[group.ravel() == g], ~u
            gain = np.zeros((int(u.sum()), int(o.sum())))
            if o.any():
                gain = np.linalg.lstsq(covariance[np.ix_(o, o)], covariance[np.ix_(o, u)], rcond=None)[0].T
            means[np.ix_(rows, u)] = mean[u] + (self.means[np.ix_(rows, o)] - mean[o]) @ gain.T
            spread = covariance[np.ix_(u, u)] - gain @ covariance[np.ix_(o, u)]
            held[np.ix_(rows, u, u)] = 0.5 * (spread + spread.T)
        return replace(self, means=means, covariances=held, missing=none)

    # ------------------------------------------------------------------ pieces

    def _rows(self, index: slice | Indices) -> Self:
        if isinstance(index, slice):
            offsets = self.offsets[index.start : index.stop + 1]
            part: Any = slice(int(offsets[0]), int(offsets[-1]))
            offsets = offsets - offsets[0]
        else:
            places = Ragged(np.arange(len(self.weights), dtype=np.intp), self.offsets).take(index)
            part, offsets = places.codes, places.offsets
        return type(self)(self.means[part], self.covariances[part], self.weights[part], offsets, self.missing[part])

    def _joined(self, other: Any) -> Self:
        self.require_like(other)
        extent = max(self.extent, other.extent)
        left, right = self.with_extent(extent), other.with_extent(extent)
        offsets = np.concatenate((left.offsets, right.offsets[1:] + left.offsets[-1]))
        means, covariances, weights = (
            np.concatenate(pair) for pair in zip(left.arrays[:3], right.arrays[:3], strict=True)
        )
        columns = self.width if self.has_missing or other.has_missing else 0
        missing = np.zeros((len(means), columns), dtype=bool)
        for side, start in ((left, 0), (right, len(left.means))):
            if side.has_missing:
                missing[start : start + len(side.means)] = side.missing
        return type(self)(means, covariances, weights, offsets, missing)

    def require_like(self, other: Distributions) -> None:
        """Raise DomainError unless other has the same number of columns."""
        if other.width != self.width:
            raise DomainError(
                f"Distributions on {self.width} columns are compared with distributions on {other.width}; columns are "
                "compared one by one. Give both collections the same columns."
            )

    def _summary(self) -> str:
        lost = int(self.missing.sum())
        kind = ("points", "variances", "covariances")[self.extent]
        missing = "" if not lost else f", {lost} missing entr{'y' if lost == 1 else 'ies'}"
        return f", {len(self.weights)} components, {self.width} columns, {kind}{missing}"

    def check(self) -> None:
        """Raise ModelError unless the parts fit together; those of a model file did not come through `pack`."""
        total = len(self.weights)
        good = all(a.dtype == np.float64 for a in self.arrays[:3]) and self.offsets.dtype == np.intp
        good = good and self.means.ndim == 2 and len(self.means) == len(self.covariances) == total
        good = good and self.covariances.shape[1:] in ((0,), (self.width,), (self.width, self.width))
        good = good and self.offsets.ndim == 1 and len(self.offsets) > 0 and self.offsets[0] == 0
        good = good and bool((np.diff(self.offsets) > 0).all()) and int(self.offsets[-1]) == total
        good = good and bool(np.isfinite(self.means).all()) and bool(np.isfinite(self.covariances).all())
        good = good and self.missing.dtype == np.bool_ and self.missing.shape in ((total, 0), (total, self.width))
        if not good or not bool((np.isfinite(self.weights) & (self.weights > 0.0)).all()):
            raise ModelError("The model has distributions whose parts do not fit together. Save the model again.")


def _widened(covariances: Floats | None, shape: tuple[int, ...], extent: int) -> Floats:
    """Return covariances in the form of an extent that is no less than theirs."""
    total, d = shape
    if extent == 0:
        return np.zeros((total, 0))
    if covariances is None:
        return np.zeros((total, d) if extent == 1 else (total, d, d))
    return covariances if covariances.ndim == extent + 1 else covariances[:, :, None] * np.eye(d)


# ---------------------------------------------------------------------- the door


def _listed(X: Any) -> list[Any]:
    if nw.dependencies.is_into_dataframe(X):
        X = nw.from_native(X, eager_only=True).to_numpy()
    elif nw.dependencies.is_into_series(X):
        X = nw.from_native(X, series_only=True).to_list()
    if isinstance(X, str | bytes | Mapping | Set) or not (isinstance(X, Iterable) and hasattr(X, "__len__")):
        raise DomainError(f"{kind_of(X)} was given. {_ACCEPTED} Make a list of distributions.")
    if isinstance(X, np.ndarray) and X.dtype != object and X.ndim not in (2, 3):
        raise DomainError(f"An array of shape {X.shape} was given. {_ACCEPTED} Wrap a single one in a list: [x].")
    raw = list(X)
    if not raw:
        raise DomainError(
            f"Found array with 0 sample(s) while a minimum of 1 is required. {_ACCEPTED} Give at least one."
        )
    return raw


def _components(one: Any, i: int) -> tuple[Floats, Floats | None, Floats]:
    """Return means (m, d), covariances (m, d), (m, d, d) or None, and weights (m,) of a raw distribution."""
    given: dict[str, Any]
    raw: Any = one
    if isinstance(one, Mapping):
        given = {_NAMES.get(str(name), str(name)): value for name, value in one.items()}
        if "means" not in given or not given.keys() <= {"means", "covariances", "weights"}:
            raise DomainError(f"Sample {i} is a dict with {sorted(map(str, one))[:6]}. {_ACCEPTED} Name its means.")
    elif isinstance(one, tuple) and len(one) == 2 and np.ndim(one[0]) == 1:
        given = {"means": one[0], "covariances": one[1]}
    elif hasattr(raw, "cov") and hasattr(raw, "mean") and not callable(raw.mean) and not callable(raw.cov):
        given = {"means": raw.mean, "covariances": raw.cov}
    elif one is None or isinstance(one, str | bytes | Set) or not hasattr(one, "__len__"):
        raise DomainError(f"Sample {i} is of type {kind_of(one)}. {_ACCEPTED} Give numbers, or leave it out.")
    else:
        given = {"means": one}
    means = _numbers(given["means"], i, "values")
    if means.ndim not in (1, 2) or 0 in means.shape:
        raise DomainError(f"Sample {i} has values of shape {means.shape}. {_ACCEPTED} Give at least one vector.")
    means = np.atleast_2d(means)
    missing = np.isnan(means)
    if np.isinf(means).any():
        raise DomainError(f"Sample {i} has an infinite value. {_ACCEPTED} Replace it, or leave it out.")
    covariances = None if given.get("covariances") is None else _covariances(given["covariances"], missing, i)
    return means, covariances, _weights(given.get("weights"), len(means), i)


def _numbers(values: Any, i: int, what: str) -> Floats:
    """Return float64; what is masked or None becomes NaN."""
    if np.ma.isMaskedArray(values):
        values = np.ma.filled(values.astype(float), np.nan)
    try:
        array = np.asarray(values)
        if array.dtype.kind in "biuf" or (array.dtype == object and not _has_text(array)):
            return np.asarray(array, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        pass
    raise DomainError(
        f"Sample {i} has {what} that are not a rectangle of real numbers. {_ACCEPTED} Turn them into numbers."
    )


def _has_text(array: NDArray[Any]) -> bool:
    return any(isinstance(value, str | bytes | complex) for value in array.flat)


def _weights(given: Any, m: int, i: int) -> Floats:
    if given is None:
        return np.full(m, 1.0 / m)
    weights = _numbers(given, i, "weights")
    if weights.shape != (m,) or not bool((np.isfinite(weights) & (weights > 0.0)).all()):
        raise DomainError(
            f"Sample {i} has {m} components and the weights {str(given)[:60]}; a positive finite number for each is "
            "accepted. Leave out components without weight."
        )
    return weights / weights.sum()


def _covariances(given: Any, missing: Bools, i: int) -> Floats:
    """Return (m, d) variances or (m, d, d) covariances, one for each mean."""
    m, d = missing.shape
    S = _numbers(given, i, "covariances")
    if S.ndim == 0:
        S = np.full((m, d), float(S))
    elif S.shape in ((d,), (d, d)) and S.shape != (m, d):
        S = np.broadcast_to(S, (m, *S.shape)).copy()
    elif S.shape == (d, d) and m == d > 1:
        raise DomainError(
            f"Sample {i} has {m} means and covariances of shape {S.shape}, which may be one matrix or variances of "
            "each mean. Give them with shape (m, d, d)."
        )
    if S.shape not in ((m, d), (m, d, d)) or not np.isfinite(S).all():
        raise DomainError(
            f"Sample {i} has {m} means of {d} columns and covariances of shape {np.shape(given)}; finite variances "
            "(d,) or covariances (d, d), or one for each mean, are accepted. Give such an array."
        )
    if missing.any():
        raise DomainError(
            f"Sample {i} has missing entries and covariances; a vector with missing entries is a point elsewhere. Give "
            "the mean of every entry, or leave out the covariances."
        )
    if S.ndim == 2:
        good = bool((S >= 0.0).all())
    else:
        size = np.abs(S).max(axis=(1, 2), initial=0.0)
        good = bool((np.abs(S - S.transpose(0, 2, 1)).max(axis=(1, 2)) <= 1e-8 * size).all())
        S = 0.5 * (S + S.transpose(0, 2, 1))
        good = good and bool((np.linalg.eigvalsh(S)[:, 0] >= -1e-10 * np.maximum(size, 1e-300)).all())
    if not good:
        raise DomainError(
            f"Sample {i} has covariances that are not symmetric and positive semi-definite; variances are not "
            "negative. Correct the matrix."
        )
    return S
