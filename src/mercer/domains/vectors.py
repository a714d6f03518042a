"""Samples that are rows of numbers: dense or sparse, with or without names."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Self, TypeAlias, cast

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from mercer.arrays import Floats, Indices
from mercer.budget import Memory, Plan
from mercer.domains.samples import Samples
from mercer.errors import DomainError, DomainTypeError
from mercer.numerics.operands import row_products
from mercer.sparse_checks import sparse_fault, used_columns

__all__ = ["Vectors", "require_sound"]
__public__ = ["Vectors"]

Matrix: TypeAlias = NDArray[Any] | sp.csr_array

_KEPT = (np.dtype(np.float64), np.dtype(np.float32))
_UNNOTICED = 1 << 26  # bytes that no budget is asked for
_CHUNK = 1 << 16  # numbers converted at a time when float32 is summed in float64
_ACCEPTED = "Vectors are a two-dimensional table of finite real numbers, one row per sample."
_ADVICE = {
    "NaN": "Fill the missing values (sklearn.impute.SimpleImputer) or drop those rows.",
    "NAType": "Fill the missing values or drop those rows.",
    "infinity": "Remove or clip the infinite values.",
    "Complex": "Give the real and imaginary parts as separate columns.",
    "sample(s)": "Give at least one sample.",
    "feature(s)": "Give at least one column.",
    "inhomogeneous": "Give every row the same number of values, or use a kernel on strings.",
    "must be a string or a real number": "Turn each value into a number first.",
    "could not convert": "Encode text as numbers, or compare it with a kernel on strings.",
    "too large": "Scale the columns.",
    "dim <= 2": "Flatten each sample into one row: X.reshape(len(X), -1).",
}
_KINDS = {"U": "text", "S": "bytes", "M": "dates", "m": "durations", "V": "records"}


@dataclass(frozen=True, eq=False, repr=False)
class Vectors(Samples):
    r"""Rows of real numbers, dense or sparse: the samples of every kernel on :math:`\mathbb{R}^d`.

    Parameters
    ----------
    X : (n, d) C-contiguous float64 or float32 array, or csr_array with sorted, distinct indices
        The numbers. The constructor trusts them; ``Vectors.pack`` accepts anything and checks.
    names : tuple of str, optional
        Names of the d columns.

    Notes
    -----
    ``pack`` copies nothing that is already C-contiguous float64 or float32 (read-only arrays and memory maps
    included): the collection is then a view of the array, and changes if the array is written to. Give ``X.copy()`` to
    avoid this. A fitted model keeps a copy, and does not change. Values whose squares overflow are accepted; kernels
    detect them by ``largest``.

    Examples
    --------
    >>> S = Vectors.pack([[3.0, 4.0], [0.0, 1.0]])
    >>> S
    <Vectors: 2 samples, 2 columns, float64>
    >>> S.dot(S[1:])
    array([[4.],
           [1.]])
    >>> S.squared_norms
    array([25.,  1.])
    """

    owns = False
    X: Matrix
    names: tuple[str, ...] | None = None

    @classmethod
    def pack(cls, X: Any) -> Self:
        """Turn arrays, lists, sparse matrices or data frames into Vectors.

        Parameters
        ----------
        X : (n, d) array-like, SciPy sparse matrix or array of any format, pandas / polars / pyarrow table
            Finite real numbers. float32 and float64 are kept, everything else becomes float64.

        Raises
        ------
        DomainError
            Not two-dimensional, empty, not finite, not real numbers, or with masked or missing values.
        """
        if cls._is_packed(X):
            return X
        if type(X) is np.ndarray:  # the usual case: it is nothing of what is asked for below
            return cls(_dense(X))._borrowing(X)
        if sp.issparse(X):
            return cls(_sparse(X))._borrowing(X)
        if nw.dependencies.is_into_dataframe(X):
            table, names = _table(X)
            return cls(_sparse(table) if sp.issparse(table) else _dense(table, names), names)._borrowing(())
        if nw.dependencies.is_polars_lazyframe(X):
            raise DomainError(f"A lazy frame was given. {_ACCEPTED} Call .collect() first.")
        return cls(_dense(X))._borrowing(X)

    def __len__(self) -> int:
        return cast("tuple[int, int]", self.X.shape)[0]

    @property
    def width(self) -> int:
        """Number of columns."""
        return cast("tuple[int, int]", self.X.shape)[1]

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are held as CSR."""
        return not isinstance(self.X, np.ndarray)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """``(X,)``, or ``(data, indices, indptr)`` of sparse rows."""
        return (self.X,) if isinstance(self.X, np.ndarray) else (self.X.data, self.X.indices, self.X.indptr)

    @cached_property
    def largest(self) -> float:
        """Largest absolute value (0 without any): kernels check it before they square."""
        values = self.X if isinstance(self.X, np.ndarray) else self.X.data
        return float(max(values.max(), -values.min())) if values.size else 0.0

    @cached_property
    def squared_norms(self) -> Floats:
        """``(n,)`` squared lengths of the rows, summed in float64, in the dtype of X."""
        with np.errstate(over="ignore"):
            if not isinstance(self.X, np.ndarray):
                values = np.square(self.X.data, dtype=np.float64)
                squares = sp.csr_array((values, self.X.indices, self.X.indptr), shape=self.X.shape)
                return np.asarray(squares.sum(axis=1)).astype(self.X.dtype)
            out = np.empty(len(self), dtype=self.X.dtype)
            step = max(1, _CHUNK // self.width)
            for start in range(0, len(self), step):
                rows = self.X[start : start + step].astype(np.float64, copy=False)
                out[start : start + step] = np.einsum("ij,ij->i", rows, rows)
            return out

    def dot(self, other: Vectors) -> Floats:
        """``(len self, len other)`` dense array of dot products."""
        if other.width != self.width:
            raise DomainError(
                f"X has {self.width} features, but {other.width} features are expected; samples are compared "
                "column by column. Give both collections the same columns."
            )
        if isinstance(self.X, np.ndarray) and not isinstance(other.X, np.ndarray):
            return np.ascontiguousarray((other.X @ self.X.T).T)
        if isinstance(self.X, np.ndarray) and isinstance(other.X, np.ndarray):
            return row_products(self.X, other.X, same=other is self)
        X, Z = self.X, other.X
        if not isinstance(X, np.ndarray) and not isinstance(Z, np.ndarray):
            X, Z, _ = used_columns(X, Z)
        product = X @ Z.T
        return product if isinstance(product, np.ndarray) else product.toarray()

    def columns(self, index: Sequence[int | str]) -> Vectors:
        """The same samples with only the columns at ``index``, positions or names, in that order."""
        positions = np.array([self._column(column) for column in index], dtype=np.intp)
        if not len(positions):
            raise DomainError(f"None of the {self.width} columns was selected; one is needed, as columns((0,)).")
        names = None if self.names is None else tuple(self.names[i] for i in positions)
        if isinstance(self.X, np.ndarray):
            return Vectors(np.take(self.X, positions, axis=1), names)
        chosen = self.X[:, positions]
        chosen.sort_indices()
        return Vectors(chosen, names)

    def dense(self) -> NDArray[Any]:
        """The numbers as a dense array; sparse rows that do not fit in memory so are refused."""
        if isinstance(self.X, np.ndarray):
            return self.X
        self.require_columns(len(self), "samples as a dense array")
        return self.X.toarray()

    def require_columns(self, count: int, what: str, *options: str, memory: Memory = None) -> None:
        """Refuse sparse rows of which so many arrays of a number for each column, used or not, do not fit in memory."""
        size = 8 * count * self.width
        if self.is_sparse and size > _UNNOTICED:
            options = ("fewer columns, numbered from 1 without gaps", *options)
            Plan(f"{len(self)} samples of {self.width} columns", {what: size}, options).require(memory)

    def with_dtype(self, dtype: DTypeLike) -> Vectors:
        """The same numbers as float32 or float64."""
        if self.X.dtype == dtype:
            return self
        return Vectors(cast("Matrix", self.X.astype(dtype)), self.names)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if not isinstance(self.X, np.ndarray):
            raise TypeError(
                "Sparse Vectors were given where NumPy needs a dense array; they are not made dense "
                "in silence. Use S.X.toarray() if they fit in memory."
            )
        return np.array(self.X, dtype=dtype, copy=copy)

    def _rows(self, index: slice | Indices) -> Self:
        part = type(self)(self.X[index], self.names)
        if "squared_norms" in vars(self):
            vars(part)["squared_norms"] = self.squared_norms[index]
        return part

    def _joined(self, other: Any) -> Self:
        if self.width != other.width or (self.names and other.names and self.names != other.names):
            raise DomainError(
                f"Vectors with columns {self.names or self.width} cannot be joined with columns "
                f"{other.names or other.width}; the columns must be the same. Select them with .columns()."
            )
        names = self.names or other.names
        if isinstance(self.X, np.ndarray) and isinstance(other.X, np.ndarray):
            return type(self)(np.concatenate((self.X, other.X)), names)
        stacked = sp.vstack((sp.csr_array(self.X), sp.csr_array(other.X)), format="csr")
        return type(self)(_canonical(sp.csr_array(stacked)), names)

    def _column(self, column: int | str) -> int:
        """Position of a column given by position or name."""
        if isinstance(column, str):
            if self.names is not None and column in self.names:
                return self.names.index(column)
            near = get_close_matches(column, self.names or (), n=1)
            hint = f" Did you mean {near[0]!r}?" if near else " Select by an existing name or by position."
            known = f"are {', '.join(self.names)}" if self.names else "have no names"
            raise DomainError(f"There is no column {column!r}; the {self.width} columns {known}.{hint}")
        if not -self.width <= column < self.width:
            raise DomainError(f"There is no column {column} among {self.width}. Use 0 to {self.width - 1}.")
        return int(column) % self.width

    def _summary(self) -> str:
        kind = f"{self.X.dtype}, sparse" if self.is_sparse else f"{self.X.dtype}"
        return f", {self.width} column{'' if self.width == 1 else 's'}, {kind}"


# ---------------------------------------------------------------------- the door: dense


def _dense(X: Any, names: tuple[str, ...] | None = None) -> NDArray[Any]:
    """C-contiguous float64 or float32 rows of a raw array-like."""
    if type(X) is np.ndarray and X.ndim == 2 and X.size and X.dtype in _KEPT and X.flags.c_contiguous and _is_finite(X):
        return X  # the usual case
    if np.ma.isMaskedArray(X):
        if np.ma.is_masked(X):
            raise DomainError(
                f"A masked array with {np.ma.count_masked(X)} masked values was given. {_ACCEPTED} "
                "Fill the masked values (X.filled(...)) or drop those rows."
            )
        X = np.ma.getdata(X)
    if isinstance(X, np.ndarray | list | tuple) and not isinstance(X, np.matrix):
        try:
            values = np.asarray(X)
        except ValueError:  # rows of different lengths; check_array says it below
            return _checked(X, names)
        if values.shape == (0,):
            raise DomainError(f"Nothing was given: an empty list. {_ACCEPTED} Give at least one sample.")
        _refuse_non_numbers(values)
        if values.ndim == 2 and values.size and values.dtype.kind in "fiub":
            native = values.dtype.newbyteorder("=")
            with np.errstate(over="ignore"):  # a long double out of range becomes infinite: refused below
                values = np.ascontiguousarray(values, dtype=native if native in _KEPT else np.float64)
            if _is_finite(values):
                return values
        X = values
    return _checked(X, names)


def _refuse_non_numbers(values: NDArray[Any]) -> None:
    """Text, dates and records are refused before NumPy turns some of them into numbers."""
    kind = _KINDS.get(values.dtype.kind)
    if kind is None and values.dtype == object and any(isinstance(v, str | bytes) for v in values.flat):
        kind = "text"
    if kind is not None:
        raise DomainError(
            f"An array of {kind} was given. {_ACCEPTED} Encode the values as numbers, "
            "or compare text with a kernel on strings, such as Spectrum(3)."
        )


def _is_finite(values: NDArray[Any]) -> bool:
    """Whether all are finite; the sum needs no temporary array and decides it unless it overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(values.sum()) or bool(np.isfinite(values).all())


def _checked(X: Any, names: tuple[str, ...] | None = None) -> Any:
    """scikit-learn's check_array, with its errors raised as DomainError with advice."""
    # scikit-learn takes a second to import; valid arrays never come here, so that kernels alone start quickly
    check_array = importlib.import_module("sklearn.utils.validation").check_array
    try:
        return check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", input_name="X")
    except (ValueError, TypeError, OverflowError) as error:
        refusal = DomainTypeError if isinstance(error, TypeError) else DomainError
        given = str(error).strip().rstrip(".")
        if given.startswith("setting an array element"):
            given = "Rows of different lengths, or nested ones, were given (an inhomogeneous shape)"
        advice = " ".join(text for word, text in _ADVICE.items() if word in given)
        raise refusal(f"{given}. {_where(X, names)}{_ACCEPTED} {advice}".rstrip()) from error


def _where(X: Any, names: tuple[str, ...] | None) -> str:
    """The named columns that hold missing or infinite values, as a sentence."""
    if names is None or not isinstance(X, np.ndarray) or X.dtype.kind != "f":
        return ""
    bad = [names[j] for j in np.flatnonzero(~np.isfinite(X).all(axis=0))]
    return f"Missing or infinite values are in {_listed(bad)}. " if bad else ""


# ---------------------------------------------------------------------- the door: sparse


def _sparse(X: Any) -> sp.csr_array:
    """csr_array of float64 or float32 with sorted indices and duplicates summed; the input is left alone."""
    if X.ndim != 2:
        raise DomainError(
            f"A sparse array of shape {X.shape} was given. {_ACCEPTED} Reshape your data to two dimensions."
        )
    require_sound(X)
    if X.dtype.kind in "iub":
        X = X.astype(np.float64)  # before duplicates are summed: small integers would wrap around
    return _canonical(sp.csr_array(_checked(X)))


def require_sound(X: Any, accepted: str = _ACCEPTED) -> None:
    """Raise DomainError for a sparse matrix whose parts do not fit: converting it would write out of bounds."""
    if (fault := sparse_fault(X)) is not None:
        raise DomainError(f"The sparse matrix is damaged: {fault}. {accepted} Build it again.")


def _canonical(X: sp.csr_array) -> sp.csr_array:
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    if not _is_finite(X.data):
        raise DomainError(f"Duplicate entries of a sparse matrix sum to infinity. {_ACCEPTED} Scale the columns.")
    return X


# ---------------------------------------------------------------------- the door: tables


def _table(X: Any) -> tuple[Any, tuple[str, ...] | None]:
    """Numbers of a pandas, polars or pyarrow table (sparse if all its columns are), and its names."""
    try:
        frame = nw.from_native(X, eager_only=True)
        labels = list(frame.columns)
    except nw.exceptions.DuplicateError as error:
        raise DomainError(
            f"The table has columns of the same name: {error}. Columns are distinguished by name. Rename them."
        ) from error
    names = tuple(labels) if labels and all(isinstance(label, str) for label in labels) else None
    if labels and frame.implementation.is_pandas() and hasattr(X, "sparse"):
        return X.sparse.to_coo(), names
    columns = dict(zip(labels, map(_numbers, frame.iter_columns()), strict=True))
    refused = [f"{label!r} ({values})" for label, values in columns.items() if isinstance(values, str)]
    if refused:
        raise DomainError(
            f"The columns {', '.join(refused)} are not numbers. {_ACCEPTED} Encode them "
            "(sklearn.preprocessing.OneHotEncoder), or compare the other columns alone by kernel.on(columns)."
        )
    numbers = [values for values in columns.values() if not isinstance(values, str)]
    narrow = bool(numbers) and all(values.dtype == np.float32 for values in numbers)
    table = np.empty((len(frame), len(labels)), dtype=np.float32 if narrow else np.float64)
    for j, values in enumerate(numbers):
        table[:, j] = values
    return table, names


def _numbers(column: nw.Series[Any]) -> NDArray[Any] | str:
    """A column as numbers with NaN for what is missing, or the name of its type if it holds none."""
    dtype = column.dtype
    unsettled = dtype in (nw.Object, nw.Unknown, nw.Boolean)
    if not (dtype.is_numeric() or unsettled):
        return str(dtype).partition("(")[0]
    values = column.to_numpy()
    if values.dtype.kind == "c":
        raise DomainError(f"Complex data not supported, column {column.name!r}. {_ACCEPTED} {_ADVICE['Complex']}")
    if values.dtype.kind in "fiub":
        return values
    if any(isinstance(v, str | bytes) for v in values):
        return "text"
    try:
        return np.where(column.is_null().to_numpy(), np.nan, values).astype(np.float64)
    except (TypeError, ValueError):
        return str(dtype).partition("(")[0]


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return f"{'column' if len(names) == 1 else 'columns'} {shown}{', ...' if len(names) > 5 else ''}"
