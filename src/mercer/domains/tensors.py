"""Samples that are tensors: arrays of numbers of one shape, with two axes or more."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats, Indices
from mercer.domains.samples import Samples, kind_of
from mercer.errors import DomainError, ModelError

__all__ = ["Tensors"]
__public__ = __all__

_ACCEPTED = (
    "Tensors are an array of shape (n, I_1, I_2, ...) of finite real numbers, or a list of arrays of one shape "
    "(I_1, I_2, ...), with two axes or more."
)


@dataclass(frozen=True, eq=False, repr=False)
class Tensors(Samples):
    r"""Arrays of numbers of one shape: matrices, images with colours, recordings by channel, frequency and trial.

    .. math:: \mathcal{X} \in \mathbb{R}^{I_1 \times I_2 \times \dots \times I_N}, \quad N \ge 2

    Seed: [SS] Section 6.4, "Tensors and Kernels".

    Parameters
    ----------
    array : (n, I_1, ..., I_N) C-contiguous float64 array
        The constructor trusts it; ``Tensors.pack`` accepts anything and checks.

    Notes
    -----
    ``pack`` copies nothing that is C-contiguous float64 already: the collection is then a view of the array, and
    changes if the array is written to. A fitted model keeps a copy, and does not change.

    Examples
    --------
    >>> S = Tensors.pack(np.arange(24.0).reshape(2, 2, 2, 3))
    >>> S
    <Tensors: 2 samples, 2 x 2 x 3>
    >>> S.unfolding(2)[0]  # columns of the third mode side by side
    array([[ 0.,  3.,  6.,  9.],
           [ 1.,  4.,  7., 10.],
           [ 2.,  5.,  8., 11.]])
    """

    owns = False
    array: Floats

    @classmethod
    def pack(cls, X: Any) -> Self:
        """Turn an array, or a list of arrays of one shape, into Tensors.

        Parameters
        ----------
        X : (n, I_1, I_2, ...) array-like, or list of n arrays (I_1, I_2, ...)

        Raises
        ------
        DomainError
            No sample, fewer than two axes a sample, samples of different shapes, values that are not finite numbers.
        """
        if cls._is_packed(X):
            return X
        array = _array(X)
        if array.ndim < 3:
            raise DomainError(
                f"An array of shape {array.shape} was given. {_ACCEPTED} For rows of numbers use a kernel on vectors; "
                "write [x] for a single tensor."
            )
        if not len(array):
            raise DomainError(
                f"Found array with 0 sample(s) while a minimum of 1 is required. {_ACCEPTED} Give at least one."
            )
        if 0 in array.shape:
            raise DomainError(
                f"Tensors of shape {array.shape[1:]} were given, which are empty. {_ACCEPTED} Give values."
            )
        wrong = ~np.isfinite(array)
        if wrong.any():
            i, *place = map(int, np.argwhere(wrong)[0])
            what = "a missing value (NaN)" if np.isnan(array[i, *place]) else "an infinite value"
            raise DomainError(
                f"Sample {i} has {what} at {tuple(place)}. {_ACCEPTED} Fill or clip it, or drop the sample."
            )
        return cls(array)._borrowing(X)

    def __len__(self) -> int:
        return len(self.array)

    @property
    def sides(self) -> tuple[int, ...]:
        """The shape of each tensor, (I_1, ..., I_N)."""
        return self.array.shape[1:]

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """``(array,)``."""
        return (self.array,)

    def unfolding(self, mode: int) -> Floats:
        """Return the tensors as matrices, (n, I_mode, product of the others), of rows along the axis `mode`, from 0."""
        return np.moveaxis(self.array, mode + 1, 1).reshape(len(self), self.sides[mode], -1)

    def require_like(self, other: Tensors) -> None:
        """Raise DomainError unless other has tensors of the same shape."""
        if other.sides != self.sides:
            raise DomainError(
                f"Tensors of shape {self.sides} are compared with tensors of shape {other.sides}; entries are compared "
                "one by one. Give both collections one shape."
            )

    def check(self) -> None:
        """Raise ModelError unless the array is one that `pack` makes; that of a model file did not come through it."""
        A = self.array
        good = isinstance(A, np.ndarray) and A.dtype == np.float64 and A.ndim >= 3 and 0 not in A.shape[1:]
        if not good or not A.flags.c_contiguous or not np.isfinite(A).all():
            raise ModelError("The model has tensors that are not arrays of finite numbers. Save the model again.")

    def _rows(self, index: slice | Indices) -> Self:
        return type(self)(self.array[index])

    def _joined(self, other: Any) -> Self:
        self.require_like(other)
        return type(self)(np.concatenate((self.array, other.array)))

    def _summary(self) -> str:
        return f", {' x '.join(map(str, self.sides))}"


def _array(X: Any) -> Floats:
    """Return raw tensors as one C-contiguous float64 array."""
    if isinstance(X, str | bytes | Mapping | Set) or not (isinstance(X, Iterable) and hasattr(X, "__len__")):
        raise DomainError(f"{kind_of(X)} was given. {_ACCEPTED} Make an array of it.")
    if np.ma.is_masked(X):
        raise DomainError(f"A masked array was given. {_ACCEPTED} Fill the masked values (X.filled(...)).")
    if not isinstance(X, np.ndarray) or X.dtype == object:
        samples = [np.asarray(sample) if _is_regular(sample) else None for sample in X]
        for i, sample in enumerate(samples):
            if sample is None or (samples[0] is not None and sample.shape != samples[0].shape):
                first = "" if samples[0] is None else f", sample 0 has the shape {samples[0].shape}"
                given = "is not an array of numbers" if sample is None else f"has the shape {sample.shape}"
                raise DomainError(f"Sample {i} {given}{first}. {_ACCEPTED} Give all one shape.")
        X = np.array(samples) if samples else np.empty((0, 1, 1))
    if X.dtype.kind == "O" and not any(isinstance(value, str | bytes | complex) for value in X.flat):
        with contextlib.suppress(TypeError, ValueError):
            X = X.astype(np.float64)
    if X.dtype.kind not in "biuf":
        names = {"U": "text", "S": "bytes", "c": "complex numbers", "M": "dates", "m": "durations"}
        given = names.get(X.dtype.kind, "objects that are not numbers")
        raise DomainError(f"An array of {given} was given. {_ACCEPTED} Turn the values into real numbers.")
    with np.errstate(over="ignore"):  # a long double out of range becomes infinite: refused later
        return np.ascontiguousarray(X, dtype=np.float64)


def _is_regular(sample: Any) -> bool:
    if sample is None or isinstance(sample, str | bytes | Mapping | Set):
        return False
    try:
        np.asarray(sample)
    except ValueError:
        return False
    return True
