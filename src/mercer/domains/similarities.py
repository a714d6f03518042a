"""Samples of which only similarities are known: rows of a matrix computed elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mercer.arrays import Floats, Indices
from mercer.budget import budget, format_bytes
from mercer.domains.samples import Samples
from mercer.domains.vectors import Vectors
from mercer.errors import DomainError, MemoryBudgetError

__all__ = ["Similarities"]
__public__ = __all__

_TOLERANCE = 1e-8  # asymmetry allowed, relative to the largest entry
_PART = 300  # samples whose matrix is checked for negative eigenvalues
_TILE = 256  # rows compared with columns at a time
_ACCEPTED = "Similarities are a matrix of finite numbers, entry (i, j) comparing sample i with training sample j."


@dataclass(frozen=True, eq=False, repr=False)
class Similarities(Samples):
    r"""Rows of a matrix computed elsewhere: samples known by how they compare with the training samples.

    .. math:: K_{ij} = k(x_i, s_j)

    Seed: [HSS] Eq. (8), the Gram matrix; rectangular for new samples.

    Parameters
    ----------
    matrix : (rows, width) array or None
        The whole matrix, shared by all pieces of a collection. Landmarks have none.
    rows : (n,) intp array
        The row of each sample.
    position : (n,) intp array or None
        The column of each sample, if it has one.
    width : int
        Number of columns: training samples the matrix compares with.
    diagonal : (n,) array, optional
        Similarity of each sample with itself.

    Notes
    -----
    A square matrix is that of the samples among themselves: sample i is row i and column i. The rows of a
    rectangular one are new samples. Taking samples copies no part of the matrix; what a model keeps of them
    (``landmarks``) are their columns alone.

    Examples
    --------
    >>> K = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    >>> S = Similarities.pack(K)
    >>> S[[0, 2]].against(S[[1, 2]])
    array([[1., 0.],
           [1., 2.]])
    >>> new = Similarities.pack([[0.5, 0.25, 0.125]], diagonal=[1.0])
    >>> new.against(S[1:].landmarks())
    array([[0.25 , 0.125]])
    """

    owns = False
    matrix: NDArray[Any] | None
    rows: Indices
    position: Indices | None
    width: int
    diagonal: Floats | None = None

    @classmethod
    def pack(cls, X: Any, diagonal: ArrayLike | None = None) -> Self:
        """Turn a matrix of similarities into samples.

        Parameters
        ----------
        X : (n, n) or (n_new, n_train) array-like or SciPy sparse matrix
            Finite numbers; symmetric if square and meant for training (``check_symmetric``). A sparse matrix is held
            with its zeros.
        diagonal : (n,) array-like, optional
            Similarities of the samples with themselves; needed of new samples by normalised kernels.
        """
        if not cls._is_packed(X):
            matrix = _checked(X)
            rows = np.arange(matrix.shape[0], dtype=np.intp)
            square = matrix.shape[0] == matrix.shape[1]
            X = cls(matrix, rows, rows if square else None, matrix.shape[1])._borrowing(X)
        if diagonal is None:
            return X
        found = replace(X, diagonal=_checked_diagonal(diagonal, len(X)))
        vars(found)["owns"] = X.owns
        return found

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """``(n, n)`` of samples with columns, else ``(n, width)``: scikit-learn asks if it is square."""
        return (len(self), self.width if self.position is None else len(self))

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The matrix, the rows and the columns, as far as they exist."""
        return tuple(a for a in (self.matrix, self.rows, self.position, self.diagonal) if a is not None)

    @property
    def nbytes(self) -> int:
        """Bytes of the rows of these samples; the matrix itself is shared."""
        if self.matrix is None:
            return super().nbytes
        return super().nbytes - self.matrix.nbytes + len(self) * self.matrix.itemsize * self.width

    def __getitem__(self, key: Any) -> Self:
        # scikit-learn splits a square matrix by K[np.ix_(fold, train)]; here position finds the columns
        if isinstance(key, tuple) and [getattr(k, "ndim", 0) for k in key] == [2, 2]:
            key = key[0].ravel()
        return super().__getitem__(key)

    def against(self, other: Similarities) -> Floats:
        """``(len self, len other)`` similarities, a read-only view of the matrix where it can be one."""
        if other.position is None:
            raise DomainError(
                "New samples (rows of a rectangular matrix) were given on the right; they have no column to "
                f"compare with. {_ACCEPTED} Give a square matrix for the samples on the right."
            )
        if self.matrix is None:
            raise DomainError(
                "Samples kept by a model were given on the left; their rows were not kept. "
                f"{_ACCEPTED} Give the matrix again."
            )
        if self.width != other.width:
            raise DomainError(
                f"A matrix with {self.width} columns was given, {other.width} are expected: one per training "
                f"sample, in their order. Give a matrix of shape ({len(self)}, {other.width})."
            )
        block = self._block(self.matrix, other.position)
        if np.may_share_memory(block, self.matrix):
            block.flags.writeable = False
        return block

    def _block(self, matrix: NDArray[Any], columns: Indices) -> NDArray[Any]:
        """C-contiguous entries at own rows and given columns; a view if both are runs over whole rows."""
        run = _as_run(columns)
        if isinstance(run, slice):
            return np.ascontiguousarray(matrix[_as_run(self.rows), run])
        return matrix[self.rows[:, None], columns]

    def self_similarities(self) -> Floats:
        """``(n,)`` similarity of each sample with itself."""
        if self.diagonal is not None:
            return self.diagonal
        if self.matrix is None or self.position is None:
            raise DomainError(
                "Similarities of new samples with themselves are needed; a rectangular matrix does not hold "
                "them. Give them: Similarities.pack(K, diagonal=...)."
            )
        return self.matrix[self.rows, self.position]

    def landmarks(self) -> Self:
        """The columns of the samples and their self-similarities, without the matrix."""
        if self.position is None:
            raise DomainError(
                f"A matrix of shape ({len(self)}, {self.width}) was given for training. {_ACCEPTED} "
                "Training needs the square matrix of the training samples among themselves."
            )
        return replace(self, matrix=None, diagonal=self.self_similarities())._deriving(self)

    def extreme_eigenvalues(self, centred: bool = False) -> tuple[float, float]:
        """Smallest and largest eigenvalue of the matrix, up to 300 samples; beyond, of 300 of them.

        What 300 samples show holds for all: a matrix is positive semi-definite only if all its principal parts are.
        Centred, the eigenvalues are those for vectors of sum zero: not negative for conditionally definite ones.
        """
        some = self.take(np.linspace(0, len(self) - 1, min(len(self), _PART)).astype(np.intp))
        K = np.array(some.against(some), dtype=np.float64)
        size = float(np.abs(K).max(initial=0.0))
        if size == 0.0:
            return 0.0, 0.0
        K = 0.5 * (K / size) + 0.5 * (K / size).T
        if centred:
            K -= K.mean(axis=0)
            K -= K.mean(axis=1)[:, None]
        values = np.linalg.eigvalsh(K)
        return float(values[0] * size), float(values[-1] * size)

    def check_symmetric(self) -> None:
        """Refuse samples whose similarities depend on the order of the two, and name the worst pair."""
        scale, gap, i, j = 0.0, -1.0, 0, 0
        for start in range(0, len(self), _TILE):
            tile = self.take(slice(start, start + _TILE))
            forth, back = tile.against(self), self.against(tile).T
            with np.errstate(over="ignore"):
                gaps = np.abs(forth - back)
            worst = int(gaps.argmax())
            scale = max(scale, float(np.abs(forth).max()))
            if gaps.flat[worst] > gap:
                gap, i, j = float(gaps.flat[worst]), start + worst // len(self), worst % len(self)
        if gap > _TOLERANCE * scale:
            forth, back = self[i].against(self[j]).item(), self[j].against(self[i]).item()
            raise DomainError(
                f"The matrix of similarities is not symmetric: entry ({i}, {j}) is {forth:.6g}, entry "
                f"({j}, {i}) is {back:.6g}. A kernel does not depend on the order of its arguments. "
                "Use (K + K.T) / 2 if the difference is noise."
            )

    def _rows(self, index: slice | Indices) -> Self:
        position = None if self.position is None else self.position[index]
        diagonal = None if self.diagonal is None else self.diagonal[index]
        return replace(self, rows=self.rows[index], position=position, diagonal=diagonal)

    def _joined(self, other: Any) -> Self:
        if self.width != other.width or (self.matrix is None) != (other.matrix is None):
            raise DomainError(
                f"Similarities to {self.width} and to {other.width} training samples cannot be joined; the "
                "columns must be the same samples. Take both from one matrix."
            )
        position = diagonal = None
        if self.position is not None and other.position is not None:
            position = _join(self.position, other.position)
        if all(s.diagonal is not None or s.position is not None for s in (self, other)):
            diagonal = _join(self.self_similarities(), other.self_similarities())
        if self.matrix is other.matrix:
            return type(self)(self.matrix, _join(self.rows, other.rows), position, self.width, diagonal)
        matrix = np.concatenate([s.matrix[s.rows] for s in (self, other) if s.matrix is not None])
        return type(self)(matrix, np.arange(len(matrix), dtype=np.intp), position, self.width, diagonal)

    def _summary(self) -> str:
        return f", {'landmarks' if self.matrix is None else 'rows'} among {self.width} columns"


def _checked(K: Any) -> NDArray[Any]:
    """A matrix of finite floats; the errors are those of Vectors, with what a matrix of similarities is."""
    try:
        packed = Vectors.pack(K)
    except DomainError as error:
        raise type(error)(f"{error} {_ACCEPTED}") from error
    X, n, width = packed.X, len(packed), packed.width
    if isinstance(X, np.ndarray):
        return X
    size, allowed = n * width * X.dtype.itemsize, budget(None)
    if size > allowed:
        raise MemoryBudgetError(
            f"A sparse matrix of {n} x {width} similarities needs {format_bytes(size)} with its zeros, "
            f"budget {format_bytes(allowed)}. Use fewer samples, or a kernel that compares the samples themselves."
        )
    return X.toarray()


def _checked_diagonal(diagonal: ArrayLike, n: int) -> Floats:
    values = np.array(diagonal, dtype=np.float64)  # a copy, since models keep it
    if values.shape != (n,) or not np.isfinite(values).all():
        raise DomainError(
            f"A diagonal of shape {values.shape} was given for {n} samples; {n} finite numbers are accepted. "
            "Give the similarity of each sample with itself."
        )
    return values


def _as_run(index: Indices) -> slice | Indices:
    """A slice if the positions are consecutive, else the positions."""
    if len(index) and np.array_equal(index, np.arange(index[0], index[0] + len(index))):
        return slice(int(index[0]), int(index[0]) + len(index))
    return index


def _join(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate((left, right))
