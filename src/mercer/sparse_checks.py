"""Whether the parts of a sparse matrix fit together: compiled code trusts them, and would read or write beyond memory.

SciPy's own check passes over some of it: a CSR matrix whose last pointer is 0 counts as empty, whatever the others are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["compressed_fault", "sparse_fault", "used_columns", "without_unused"]

_FEW = 2**16  # columns, for each of which products keep a few bytes, whether it is used or not


def used_columns(X: Any, Z: Any) -> tuple[Any, Any, Any]:
    """Return two CSR matrices without the columns in which both have no entry, and which columns are left.

    A product of sparse matrices keeps a pointer for each column: of a file whose largest index is 2 10^9, eight
    gigabytes. Where few columns are without entries the matrices are returned as they are, and None.

    Examples
    --------
    >>> X = sp.csr_array(([1.0, 2.0], ([0, 1], [5, 10**9 - 1])), shape=(2, 10**9))
    >>> narrow, _, columns = used_columns(X, X)
    >>> narrow.toarray(), columns
    (array([[1., 0.],
           [0., 2.]]), array([        5, 999999999]))
    """
    width = X.shape[1]
    if width <= max(_FEW, 4 * (X.nnz + Z.nnz)):
        return X, Z, None
    used = np.unique(X.indices if Z is X else np.concatenate([X.indices, Z.indices]))

    def narrow(M: Any) -> Any:
        return sp.csr_array((M.data, np.searchsorted(used, M.indices), M.indptr), shape=(M.shape[0], len(used)))

    left = narrow(X)
    return left, left if Z is X else narrow(Z), used


def without_unused(X: Any) -> Any:
    """Return a matrix without the columns in which it has no entry, if it is sparse and most of them have none.

    Distances and lengths of rows are the same.

    Examples
    --------
    >>> without_unused(sp.csr_array(([2.0], ([0], [10**9 - 1])), shape=(1, 10**9))).toarray()
    array([[2.]])
    """
    return used_columns(X, X)[0] if sp.issparse(X) else X


def compressed_fault(pointers: Any, indices: Any, count: int, lines: int, width: int) -> str | None:
    """Return what is wrong with the parts of a CSR or CSC matrix, or None.

    Parameters
    ----------
    pointers : array
        Where each line (row of CSR, column of CSC) begins and ends among the entries.
    indices : array
        Place of each entry in its line.
    count : int
        Number of entries; more than the last pointer are not looked at by SciPy, and accepted.
    lines, width : int
        Number of lines, and of places in a line.

    Examples
    --------
    >>> compressed_fault(np.array([0, 2, 3, 0]), np.array([0, 1, 1]), 3, 3, 3)
    'the pointers go down from 3 to 0 at line 2'
    """
    for name, part in (("pointers", pointers), ("indices", indices)):
        if not isinstance(part, np.ndarray) or part.ndim != 1 or part.dtype.kind not in "iu":
            return f"the {name} are not a list of whole numbers"
    if lines < 0 or width < 0 or len(pointers) != lines + 1:
        return f"there are {len(pointers)} pointers for {lines} lines, not one more than lines"
    if pointers[0] != 0:
        return f"the first pointer is {pointers[0]}, not 0"
    down = np.flatnonzero(pointers[1:] < pointers[:-1])
    if len(down):
        i = int(down[0])
        return f"the pointers go down from {pointers[i]} to {pointers[i + 1]} at line {i}"
    last = int(pointers[-1])
    if last > min(len(indices), count):
        return f"the last pointer is {last}, and there are {len(indices)} indices and {count} entries"
    return _out_of_range(indices[:last], width)


def sparse_fault(matrix: Any) -> str | None:
    """Return what is wrong with the structure of a SciPy sparse matrix of any format, or None.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> A = sp.csr_array(np.eye(2))
    >>> sparse_fault(A)
    >>> A.indices[1] = 7
    >>> sparse_fault(A)
    'an index is 7, outside of 0 to 1'
    """
    rows, columns = matrix.shape if matrix.ndim == 2 else (1, matrix.shape[0])
    match matrix.format:
        case "csr" | "csc" | "bsr":
            if matrix.format == "bsr":
                if matrix.data.ndim != 3 or 0 in matrix.data.shape[1:]:
                    return "the entries are not blocks"
                high, wide = matrix.data.shape[1:]
                if rows % high or columns % wide:
                    return f"blocks of {high} x {wide} do not fill {rows} x {columns}"
                rows, columns = rows // high, columns // wide
            elif matrix.data.ndim != 1:
                return "the entries are not a list"
            lines, width = (columns, rows) if matrix.format == "csc" else (rows, columns)
            return compressed_fault(matrix.indptr, matrix.indices, len(matrix.data), lines, width)
        case "coo":
            for axis, side in zip(matrix.coords, matrix.shape, strict=True):
                if axis.shape != matrix.data.shape or axis.ndim != 1 or axis.dtype.kind not in "iu":
                    return "the coordinates are not a pair of whole numbers for each entry"
                if (found := _out_of_range(axis, side)) is not None:
                    return found
        case "lil":
            if len(matrix.rows) != rows or len(matrix.data) != rows:
                return f"there are {len(matrix.rows)} rows of indices and {len(matrix.data)} of entries for {rows} rows"
            for held, values in zip(matrix.rows, matrix.data, strict=True):
                if len(held) != len(values):
                    return f"a row has {len(held)} indices for {len(values)} entries"
                if (found := _out_of_range(np.asarray(held, dtype=np.int64), columns)) is not None:
                    return found
        case "dia":
            if matrix.data.ndim != 2 or matrix.offsets.shape != matrix.data.shape[:1]:
                return f"there are {len(matrix.offsets)} offsets for diagonals of shape {matrix.data.shape}"
    return None  # the keys of a dictionary are looked at where it is converted


def _out_of_range(places: Any, side: int) -> str | None:
    if not len(places):
        return None
    least, most = int(places.min()), int(places.max())
    if least < 0 or most >= side:
        return f"an index is {least if least < 0 else most}, outside of 0 to {side - 1}"
    return None
