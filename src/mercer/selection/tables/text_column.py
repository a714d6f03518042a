"""A column of texts some of which are missing."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import narwhals.stable.v2 as nw
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer.domains.frames import columns_of
from mercer.domains.missing_values import is_missing
from mercer.errors import DomainError

__all__ = ["TextColumn"]
__public__ = __all__

MISSING = "missing"


class TextColumn(TransformerMixin, BaseEstimator):
    """Read a column of texts from a table; a text that is missing becomes the word "missing".

    Kernels on texts refuse values that are missing. With this map before them, rows without a text are alike, and
    unlike most others.

    Seed: [STS] Theorem 7, the map phi of k(phi(x), phi(z)).

    Parameters
    ----------
    column : str or int
        The name of the column.

    Attributes
    ----------
    columns_ : tuple
        The column, which is all that is read of a table.
    key_ : str
        The same for maps that are the same.

    Examples
    --------
    >>> TextColumn("note").fit_transform({"note": ["a red door", None]})
    ['a red door', 'missing']
    """

    def __init__(self, column: Hashable) -> None:
        self.column = column

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn nothing but that the column is there.

        Parameters
        ----------
        X : table
        y, sample_weight : ignored
            Nothing is learned from them.

        Returns
        -------
        self
        """
        self._read(X)
        self.columns_ = (self.column,)
        self.key_ = f"texts of {self.column!r}"
        return self

    def transform(self, X: Any) -> list[str]:
        """Return the texts of a table, one for each row."""
        check_is_fitted(self)
        return [MISSING if is_missing(text) else str(text) for text in self._read(X)]

    def _read(self, X: Any) -> list[Any]:
        columns: dict[Any, Any] = dict(columns_of(X))
        if self.column not in columns:
            raise DomainError(
                f"The table has no column {self.column!r}; its columns are {', '.join(map(repr, list(columns)[:20]))}. "
                "Give the columns of the training table."
            )
        column = columns[self.column]
        if nw.dependencies.is_into_series(column):
            return nw.from_native(column, series_only=True).to_list()
        return list(column)
