"""Similarity of the rows of a table, column by column: numbers, categories, ranks, and values that are missing.

Symbols: d columns, w_j their weights, s_j the similarity of two values of column j, r_j the range of a column of
numbers or ranks.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.constraints import Fixed, Interval, OneOf, Optional, Positive, Satisfies
from mercer.domains import Samples
from mercer.domains.mixed_tables import CATEGORY, NUMBER, Tables
from mercer.domains.samples import packed_pair
from mercer.errors import DomainError, ParameterError
from mercer.kernels.abilities import Featured
from mercer.kernels.kernel import Kernel, mirror
from mercer.spec import derived

__all__ = ["Gower", "Hamming"]
__public__ = __all__

_MISSING = OneOf("alike", "nothing", "skip")
_WEIGHTS = Optional(Fixed(Interval(0.0, np.inf, closed="left", vector=True)))


class _ByColumn(Kernel):
    """The weighted mean of a similarity of each column."""

    domain = Tables
    bounded = True
    missing: str
    weights: Any

    @derived
    def order(self) -> int | None:
        """0, unless columns with missing values are left out of the mean."""
        return None if self.missing == "skip" else 0

    @derived
    def normalised(self) -> bool:
        """Whether missing values are like themselves."""
        return self.missing == "alike"

    def _prepare(self, A: Samples) -> Samples:
        """Raise DomainError unless there are as many weights as columns, and not all zero."""
        assert isinstance(A, Tables)
        self._shares(A)
        return A

    def _shares(self, A: Tables) -> Floats:
        """Return the weights of the columns, with the sum 1."""
        w = np.ones(A.width) if self.weights is None else np.atleast_1d(np.asarray(self.weights, dtype=float))
        if w.shape != (A.width,) or not w.any():
            raise DomainError(
                f"The table has {A.width} columns, but {self!r} has {w.size} weights, {np.count_nonzero(w)} of them "
                "positive; one weight per column is needed, and a positive one. Give weights=None for equal ones."
            )
        return w / w.sum()

    def _similarity(self, x: Floats, z: Floats, A: Tables, j: int) -> Floats:
        """Return s_j of all pairs of values that are not missing."""
        return (x[:, None] == z).astype(float)

    def block(self, A: Samples, B: Samples) -> Floats:
        """Add the similarities of the columns."""
        A, B = packed_pair(A, B, self._ready)
        assert isinstance(A, Tables) and isinstance(B, Tables)
        w, X, Z = self._shares(A), A.values, A.values if B is A else A.align(B)
        total, known = np.zeros((len(A), len(B))), np.zeros((len(A), len(B)))
        for j in range(A.width):
            x, z = X[:, j], Z[:, j]
            here, there = ~np.isnan(x), ~np.isnan(z)
            both = here[:, None] & there
            with np.errstate(invalid="ignore"):
                similar = np.where(both, self._similarity(x, z, A, j), 0.0)
            if self.missing == "alike":
                similar[~here[:, None] & ~there] = 1.0
            total += w[j] * similar
            known += w[j] * both
        if self.missing == "skip":
            total = np.divide(total, known, out=np.zeros_like(total), where=known > 0.0)
        np.minimum(total, 1.0, out=total)  # rounding of the sum must not lead beyond one
        return mirror(total) if B is A else total

    def _diag(self, A: Samples) -> Floats:
        """Return the share of the weights of values that count with themselves."""
        assert isinstance(A, Tables)
        if self.missing == "alike":
            return np.ones(len(A))
        present = (~np.isnan(A.values)).astype(float) @ self._shares(A)
        return np.minimum(present, 1.0) if self.missing == "nothing" else (present > 0.0).astype(float)


class Gower(_ByColumn):
    r"""Gower's similarity: the mean over the columns of how alike two values are, whatever their kind.

    .. math:: k(x, x') = \frac{\sum_j w_j s_j(x_j, x'_j)}{\sum_j w_j}, \qquad
        s_j = \max(0, 1 - |x_j - x'_j| / r_j) \text{ or } [x_j = x'_j]

    for numbers and ranks, and for categories.

    Seed: none of the five gives it; Gower, A general coefficient of similarity (1971). A sum of kernels on columns is
    [STS] Theorem 7.

    Parameters
    ----------
    ranges : (d,) tuple or array, optional
        r_j > 0, in the units of each column of numbers; those of other columns are not read. By default learned in
        `fit`: the range of the training samples. The range of ranks is the number of levels less one.
    weights : (d,) tuple or array, optional
        w_j >= 0, equal unless given.
    missing : {"alike", "nothing", "skip"}, default "alike"
        What a missing value is: a value of its own, like other missing ones; like nothing, itself included; or a
        reason to leave the column out of both sums, as Gower does.
    categorical : tuple, default ()
        Columns that hold numbers but are categories.

    Notes
    -----
    Domain Tables: data frames, dicts of columns, arrays and lists of rows. No features, nothing to differentiate.
    Positive definite of order 0 with "alike" and "nothing": the tent of a difference is positive definite on the line
    (its Fourier transform is a squared sine over a square), equality is, and so is a sum. With "skip" the denominator
    depends on the pair, and the kernel is in general indefinite: `order` is None. Not strict, as rows of equal sums
    of tents exist. Numbers beyond the range of the training samples may have the value 0 with all of those. With
    "skip", two rows without a common column have the value 0. Cost O(mnd).

    Examples
    --------
    >>> table = {"age": [30.0, 40.0, None], "pet": ["cat", "cat", "dog"]}
    >>> Gower(ranges=(20.0, 1.0))(table)
    array([[1.  , 0.75, 0.  ],
           [0.75, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """

    formula = r"\sum_j w_j s_j(x_j, x'_j) / \sum_j w_j"
    cost = "O(mnd)"
    constraints = {
        "ranges": Optional(Fixed(Positive(vector=True))),
        "weights": _WEIGHTS,
        "missing": _MISSING,
        "categorical": Satisfies("a tuple of names or positions of columns", lambda given: isinstance(given, tuple)),
    }

    def __init__(
        self, ranges: Any = None, weights: Any = None, missing: str = "alike", categorical: tuple[Hashable, ...] = ()
    ) -> None:
        self.ranges = ranges
        self.weights = weights
        self.missing = missing
        self.categorical = categorical

    def check(self) -> Any:
        """Raise ParameterError unless the categorical columns are named in a tuple or list."""
        if not isinstance(self.categorical, tuple):
            raise ParameterError(
                f"Gower was given categorical={self.categorical!r}; a tuple of names or positions of columns is "
                "accepted. Write for example categorical=('zip',)."
            )
        return super().check()

    def pack(self, X: Any) -> Samples:
        """Turn a table into Tables."""
        return Tables.pack(X, tuple(self.categorical))

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Take the ranges of the training samples; 1 for columns of one value and for other kinds."""
        if self.ranges is not None:
            return self
        assert isinstance(S, Tables)
        used = S.values if weight is None else S.values[np.asarray(weight) > 0.0]
        found = []
        for j, kind in enumerate(S.kinds):
            numbers = used[~np.isnan(used[:, j]), j]
            with np.errstate(over="ignore"):
                span = float(numbers.max() - numbers.min()) if kind == NUMBER and len(numbers) else 0.0
            found.append(min(span, float(np.finfo(float).max)) or 1.0)
        return self.replace(ranges=tuple(found))

    def _prepare(self, A: Samples) -> Samples:
        """Raise an error unless weights and ranges fit the columns."""
        assert isinstance(A, Tables)
        if self.ranges is None:
            raise ParameterError(
                f"{self!r} is not fitted: the ranges of the columns are learned from training samples. Use it in an "
                "estimator, call learn(samples), or give ranges."
            )
        if np.size(self.ranges) != A.width:
            raise DomainError(
                f"The table has {A.width} columns, but {self!r} has {np.size(self.ranges)} ranges; one for each column "
                "is needed. Give new samples the columns of the training samples."
            )
        return super()._prepare(A)

    def _similarity(self, x: Floats, z: Floats, A: Tables, j: int) -> Floats:
        if A.kinds[j] == CATEGORY:
            return super()._similarity(x, z, A, j)
        if A.kinds[j] == NUMBER:
            span = float(np.atleast_1d(np.asarray(self.ranges, dtype=float))[j])
        else:
            span = max(len(A.levels[j]) - 1.0, 1.0)
        with np.errstate(over="ignore"):
            return np.maximum(0.0, 1.0 - np.abs(x[:, None] / span - z / span))


class Hamming(_ByColumn, Featured):
    r"""Hamming similarity: the share of the columns in which two rows are equal.

    .. math:: k(x, x') = \frac{\sum_j w_j [x_j = x'_j]}{\sum_j w_j}

    Seed: none of the five gives it; a sum of match kernels on columns, [STS] Theorem 7.

    Parameters
    ----------
    weights : (d,) tuple or array, optional
        w_j >= 0, equal unless given.
    missing : {"alike", "nothing", "skip"}, default "alike"
        What a missing value is: a value of its own, like other missing ones; like nothing, itself included; or a
        reason to leave the column out of both sums.

    Notes
    -----
    Domain Tables, every column taken as categories. Features an indicator for each category of each column, unless
    missing values are skipped; nothing to differentiate. Positive definite of order 0 by these, with "alike" and
    "nothing"; with "skip" the denominator depends on the pair, and `order` is None. Not strict, since the features are
    fewer than the rows they make. ``(c * Hamming()).exp()`` is the product over the columns of kernels that are larger
    for equal values, and strict. Cost O(mnd).

    Examples
    --------
    >>> Hamming()([["red", "round"], ["red", "square"], ["blue", "square"]])
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 1. ]])
    """

    formula = r"\sum_j w_j [x_j = x'_j] / \sum_j w_j"
    cost = "O(mnd)"
    constraints = {"weights": _WEIGHTS, "missing": _MISSING}

    def __init__(self, weights: Any = None, missing: str = "alike") -> None:
        self.weights = weights
        self.missing = missing

    def pack(self, X: Any) -> Samples:
        """Turn a table into Tables of categories."""
        return Tables.pack(X, "all")

    @property
    def capabilities(self) -> frozenset[str]:
        """Features, unless missing values are skipped."""
        return super().capabilities - ({"features"} if self.missing == "skip" else set())

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return indicators times roots of weights, (len A, D) CSR, and the columns with their categories."""
        if self.missing == "skip":
            raise self._lacks("a finite feature map")
        assert isinstance(A, Tables)
        known = A[:0] if keys is None else keys
        values, w = known.align(A), self._shares(A)
        sizes = np.array([len(words) for words in known.levels]) + (self.missing == "alike")
        starts, parts = np.cumsum(sizes) - sizes, []
        for j in range(A.width):
            codes = values[:, j]
            held = np.where(np.isnan(codes), sizes[j] - 1 if self.missing == "alike" else -1, codes)
            # a category that is not among the keys has a code behind theirs, and no feature
            rows = np.flatnonzero(np.isnan(codes) & (held >= 0) | (codes < len(known.levels[j])))
            parts.append((rows, starts[j] + held[rows].astype(np.intp), np.full(len(rows), np.sqrt(w[j]))))
        rows, columns, data = (np.concatenate(some) for some in zip(*parts, strict=True))
        matrix = sp.csr_array((data, (rows, columns)), shape=(len(A), int(sizes.sum())))
        matrix.sort_indices()
        return matrix, known

    def _feature_count(self, A: Samples) -> int | None:
        """Return the number of categories of all columns."""
        assert isinstance(A, Tables)
        if self.missing == "skip":
            return None
        return sum(len(words) for words in A.levels) + (A.width if self.missing == "alike" else 0)
