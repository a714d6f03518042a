"""Samples that are time series: rows of real numbers in the order of time, as many rows as a series has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, Self

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Floats, Indices
from mercer.domains.samples import Samples, kind_of
from mercer.errors import DomainError, ModelError
from mercer.numerics.ragged import Ragged

__all__ = ["Sequences"]
__public__ = __all__

_ACCEPTED = (
    "Sequences are a list of series, each an array of shape (T,) or (T, d) of finite real numbers with time first; "
    "or an array of shape (n, T) or (n, T, d)."
)


@dataclass(frozen=True, eq=False, repr=False)
class Sequences(Samples):
    r"""Time series of different lengths, of one number of channels: the samples of every kernel on series.

    .. math:: x = (x_1, \dots, x_T), \qquad x_t \in \mathbb{R}^d

    Seed: [SS] Section 6.4, kernels for time series and multichannel signals.

    Parameters
    ----------
    ragged : Ragged
        ``(total, d)`` C-contiguous float64 values of all series, one after another, and ``(n + 1,)`` offsets.

    Notes
    -----
    A series has at least one point of time and one channel; all series of a collection have the same channels. Points
    of time are taken as they come: where they are not equally spaced, give the time as a channel. Missing values are
    refused, unless they are asked for by ``pack(X, missing=True)``; they are then held as NaN, and kernels that cannot
    compare them refuse such a collection.

    Examples
    --------
    >>> S = Sequences.pack([[0.0, 1.0, 0.5], [2.0, 1.0]])
    >>> S
    <Sequences: 2 samples, 1 channel, lengths 2 to 3>
    >>> S.series(1)
    array([[2.],
           [1.]])
    >>> Sequences.pack(np.zeros((5, 30, 3)))
    <Sequences: 5 samples, 3 channels, lengths 30 to 30>
    """

    owns = False
    ragged: Ragged

    @classmethod
    def pack(cls, X: Any, *, missing: bool = False) -> Self:
        """Turn arrays of numbers, equally long or not, into Sequences.

        Parameters
        ----------
        X : list of (T,) or (T, d) arrays, (n, T) or (n, T, d) array, a table with a series per row
            One entry per sample. A column of lists (pandas, polars, pyarrow) will do.
        missing : bool, default False
            Whether values may be missing: None, NaN and masked values become NaN.

        Raises
        ------
        DomainError
            No sample, a series without points, values other than finite real numbers, different numbers of channels.
        """
        if cls._is_packed(X):
            return X if missing else X.complete()
        S = cls(_packed(X))._borrowing(X)
        _require_numbers(S, missing)
        return S

    def __len__(self) -> int:
        return len(self.ragged)

    @property
    def values(self) -> Floats:
        """``(total, d)`` values of all series, one after another."""
        return self.ragged.codes

    @property
    def offsets(self) -> Indices:
        """``(n + 1,)`` where each series begins among the values."""
        return self.ragged.offsets

    @property
    def lengths(self) -> Indices:
        """``(n,)`` numbers of points of time."""
        return self.ragged.lengths

    @property
    def width(self) -> int:
        """Number of channels."""
        return self.values.shape[1]

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """``(values, offsets)``."""
        return self.values, self.offsets

    @cached_property
    def has_missing(self) -> bool:
        """Whether a value is missing (NaN)."""
        return bool(np.isnan(self.values).any())

    def series(self, i: int) -> Floats:
        """Values of sample i, (T, d), a view."""
        return self.ragged.row(i)

    def complete(self) -> Self:
        """Return the same samples; DomainError if a value is missing."""
        if self.has_missing:
            _require_numbers(self, False)
        return self

    def require_like(self, other: Sequences) -> None:
        """Raise DomainError unless other has the same number of channels."""
        if other.width != self.width:
            raise DomainError(
                f"Series of {self.width} channels are compared with series of {other.width}; channels are compared "
                "one by one. Give both collections the same channels."
            )

    def check(self) -> None:
        """Raise ModelError unless the parts fit together; those of a model file did not come through `pack`."""
        good = isinstance(self.ragged, Ragged) and self.ragged.codes.ndim == 2
        good = good and self.values.dtype == np.float64 and self.values.flags.c_contiguous and self.width >= 1
        if not good or bool((self.lengths < 1).any()) or bool(np.isinf(self.values).any()):
            raise ModelError("The model has time series whose parts do not fit together. Save the model again.")

    def _rows(self, index: slice | Indices) -> Self:
        return type(self)(self.ragged.take(index))

    def _joined(self, other: Any) -> Self:
        self.require_like(other)
        return type(self)(self.ragged.concat(other.ragged))

    def _summary(self) -> str:
        spread = f", lengths {self.lengths.min()} to {self.lengths.max()}" if len(self) else ""
        return f", {self.width} channel{'' if self.width == 1 else 's'}{spread}"


# ---------------------------------------------------------------------- the door


def _packed(X: Any) -> Ragged:
    """Return values and offsets of raw series; whether the values are finite is not checked."""
    if nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        X = next(iter(frame.iter_columns())).to_list() if frame.shape[1] == 1 else frame.to_numpy()
    elif nw.dependencies.is_into_series(X):
        X = nw.from_native(X, series_only=True).to_list()
    elif hasattr(X, "to_pylist"):  # a pyarrow array
        X = X.to_pylist()
    if isinstance(X, np.ndarray) and X.dtype != object:
        return _of_array(X)
    if isinstance(X, str | bytes | Mapping | Set) or not (isinstance(X, Iterable) and hasattr(X, "__len__")):
        raise DomainError(f"{kind_of(X)} was given. {_ACCEPTED} Make a list of series.")
    if isinstance(X, np.ndarray) and X.ndim == 0:
        raise DomainError(f"A single object was given. {_ACCEPTED} Make a list of series.")
    rows = [_series(sample, i) for i, sample in enumerate(X)]
    if not rows:
        _refuse_none()
    width = rows[0].shape[1]
    for i, row in enumerate(rows):
        if row.shape[1] != width:
            raise DomainError(
                f"Sample 0 has {width} channels, sample {i} has {row.shape[1]}. {_ACCEPTED} All have the same d: give "
                "every series the same channels, and transpose those that have channels first."
            )
    return Ragged.from_rows(rows)


def _of_array(X: NDArray[Any]) -> Ragged:
    if X.ndim not in (2, 3):
        advice = "Wrap a single series in a list: [x]." if X.ndim == 1 else "Reshape the array."
        raise DomainError(f"An array of shape {X.shape} was given. {_ACCEPTED} {advice}")
    if not len(X):
        _refuse_none()
    if 0 in X.shape:
        raise DomainError(f"An array of shape {X.shape} was given, whose series are empty. {_ACCEPTED} Give values.")
    n, steps = X.shape[:2]
    return Ragged.from_lengths(_numbers(X, "The array").reshape(n * steps, -1), np.full(n, steps))


def _series(sample: Any, i: int) -> Floats:
    """Return the values of one raw series, (T, d)."""
    if sample is None or isinstance(sample, str | bytes | Mapping | Set) or sp.issparse(sample):
        raise DomainError(
            f"Sample {i} is of type {kind_of(sample)}. {_ACCEPTED} Give its values as an array, or drop it."
        )
    try:
        values = sample if np.ma.isMaskedArray(sample) else np.asarray(sample)
        if values.dtype == object:  # points of a nested column are arrays of their own
            values = np.asarray(values.tolist())
    except ValueError:
        raise DomainError(
            f"Sample {i} has points with different numbers of channels. {_ACCEPTED} Give every point all channels."
        ) from None
    if values.ndim not in (1, 2):
        raise DomainError(f"Sample {i} has the shape {values.shape}. {_ACCEPTED} Reshape it to (T, d).")
    if 0 in values.shape:
        raise DomainError(f"Sample {i} has the shape {values.shape}: it is empty. {_ACCEPTED} Drop it or give values.")
    return _numbers(values if values.ndim == 2 else values[:, None], f"Sample {i}")


def _numbers(values: NDArray[Any], what: str) -> Floats:
    """Return C-contiguous float64; missing values become NaN."""
    if isinstance(values, np.ma.MaskedArray):
        mask, values = np.ma.getmaskarray(values), np.ma.getdata(values)
        values = np.where(mask, np.nan, values) if values.dtype.kind in "biuf" else values
    kind = values.dtype.kind
    if kind == "O" and not any(isinstance(value, str | bytes | complex) for value in values.flat):
        try:
            return np.ascontiguousarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            kind = "V"
    if kind not in "biuf":
        names = {"U": "text", "S": "bytes", "c": "complex numbers", "M": "dates", "m": "durations"}
        raise DomainError(
            f"{what} holds {names.get(kind, 'objects that are not numbers')}. {_ACCEPTED} Turn the values into real "
            "numbers; for sequences of symbols use a kernel on strings."
        )
    with np.errstate(over="ignore"):  # a long double out of range becomes infinite: refused later
        return np.ascontiguousarray(values, dtype=np.float64)


def _require_numbers(S: Sequences, missing: bool) -> None:
    """Raise DomainError, with the place, for a value that is infinite, or missing where that is not asked for."""
    values = S.values
    wrong = np.isinf(values) if missing else ~np.isfinite(values)
    if not wrong.any():
        return
    at = int(np.flatnonzero(wrong.any(axis=1))[0])
    channel = int(np.flatnonzero(wrong[at])[0])
    i = int(np.searchsorted(S.offsets, at, side="right")) - 1
    is_nan = bool(np.isnan(values[at, channel]))
    advice = (
        "Fill it, cut the series where the padding begins, or use a kernel that takes missing values "
        "(Sequences.pack(X, missing=True))."
        if is_nan
        else "Remove or clip it."
    )
    given = "a missing value (NaN)" if is_nan else "an infinite value"
    raise DomainError(
        f"Sample {i} has {given} at time {at - int(S.offsets[i])}, channel {channel}. {_ACCEPTED} {advice}"
    )


def _refuse_none() -> NoReturn:
    raise DomainError(f"Found array with 0 sample(s) while a minimum of 1 is required. {_ACCEPTED} Give at least one.")
