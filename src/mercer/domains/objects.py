"""Samples of any kind, held as they are: for user functions, and for transformers that are not fitted yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Indices
from mercer.domains.samples import Samples, kind_of
from mercer.errors import DomainError

__all__ = ["Objects"]
__public__ = __all__

_ACCEPTED = "Objects are a list, an array, a sparse matrix or a data frame with one sample per entry or row."


@dataclass(frozen=True, eq=False, repr=False)
class Objects(Samples):
    """Samples of any kind, as they were given: only their number is known.

    Parameters
    ----------
    data : list, array, csr_array or data frame
        One entry, or row, per sample. The constructor trusts it; ``Objects.pack`` checks.

    Notes
    -----
    They are read by user functions (`mercer.kernels.Custom`) and by transformers that ``fit`` will fit
    (``kernel.of(transformer)``). Selected rows are of the kind of the data.

    Examples
    --------
    >>> S = Objects.pack([{"a"}, None, "b"])
    >>> S
    <Objects: 3 samples, list>
    >>> S[1:].data
    [None, 'b']
    """

    owns = False
    data: Any

    @classmethod
    def pack(cls, X: Any) -> Self:
        """Hold a list, an array, a sparse matrix or a data frame; a tuple and any other sequence become a list.

        Raises
        ------
        DomainError
            No sequence of samples, or an empty one.
        """
        if cls._is_packed(X):
            return X
        if sp.issparse(X):
            X = sp.csr_array(X)
        elif not (isinstance(X, (list, np.ndarray)) or nw.dependencies.is_into_dataframe(X)):
            if isinstance(X, (str, bytes, dict, set, frozenset)) or not hasattr(X, "__len__") or np.ndim(X) == 0:
                raise DomainError(f"{kind_of(X)} was given. {_ACCEPTED} Give a list of samples.")
            X = np.asarray(X) if hasattr(X, "__array__") else list(X)
        if isinstance(X, np.ndarray) and X.ndim == 0:
            raise DomainError(f"An array without axes was given. {_ACCEPTED} Give a list of samples.")
        made = cls(X)
        if not len(made):
            raise DomainError(f"No samples were given. {_ACCEPTED} Give at least one sample.")
        return made._borrowing(X)

    def __len__(self) -> int:
        return self.data.shape[0] if hasattr(self.data, "shape") else len(self.data)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The array, if the samples are an array of numbers."""
        if sp.issparse(self.data):
            return self.data.data, self.data.indices, self.data.indptr
        return (self.data,) if isinstance(self.data, np.ndarray) and self.data.dtype.kind != "O" else ()

    def _rows(self, index: slice | Indices) -> Self:
        if isinstance(self.data, np.ndarray) or sp.issparse(self.data):
            return type(self)(self.data[index])
        if isinstance(self.data, list):
            picked = self.data[index] if isinstance(index, slice) else [self.data[i] for i in index]
            return type(self)(picked)
        frame = nw.from_native(self.data, eager_only=True)
        return type(self)(frame[index if isinstance(index, slice) else np.asarray(index)].to_native())

    def _joined(self, other: Any) -> Self:
        mine, theirs = self.data, other.data
        if type(mine) is not type(theirs):
            raise DomainError(
                f"A {kind_of(mine)} cannot be joined with a {kind_of(theirs)}; both must be of one kind. Convert one."
            )
        if isinstance(mine, list):
            return type(self)(mine + theirs)
        if isinstance(mine, np.ndarray):
            return type(self)(np.concatenate([mine, theirs]))
        if sp.issparse(mine):
            return type(self)(sp.csr_array(sp.vstack([mine, theirs])))
        frames = [nw.from_native(side, eager_only=True) for side in (mine, theirs)]
        return type(self)(nw.concat(frames).to_native())

    def _summary(self) -> str:
        return f", {kind_of(self.data)}"
