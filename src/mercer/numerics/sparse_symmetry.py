"""Whether a sparse matrix is symmetric, without its transpose."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.runtime.compiled import compiled

__all__ = ["is_symmetric"]

_WORTH = 100_000  # entries from which the transpose takes longer than the check


def is_symmetric(W: Any) -> bool:
    """Return whether a csr_array equals its transpose.

    Entries above and below the diagonal are hashed and summed: a 64-bit number mixes the position, below the diagonal
    the mirrored one, with the bits of the value. Equal sums mean equal entries, except with probability 2^-64. Where
    the sums differ the transpose decides: zeros may have been stored on one side only.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> is_symmetric(sp.csr_array([[0.0, 2.0], [2.0, 1.0]])), is_symmetric(sp.csr_array([[0.0, 2.0], [1.0, 0.0]]))
    (True, False)
    """
    if W.shape[0] != W.shape[1]:
        return False
    if W.nnz >= _WORTH and W.data.dtype == np.float64:
        bits = np.ascontiguousarray(W.data).view(np.uint64)
        if _imbalance(bits, W.indices, W.indptr) == 0:
            return True
    return not (W != W.T).nnz


@compiled
def _imbalance(bits, indices, indptr):
    """Return the sum above the diagonal minus that below."""
    total = np.uint64(0)
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if i != j:
                low, high = np.uint64(min(i, j)), np.uint64(max(i, j))
                mixed = (low << np.uint64(32)) ^ high
                mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)  # steps of splitmix64
                mixed = mixed ^ (mixed >> np.uint64(27)) ^ bits[p]
                mixed = mixed * np.uint64(0x94D049BB133111EB)
                mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
                mixed = mixed ^ (mixed >> np.uint64(32))
                total = total + mixed if i < j else total - mixed
    return total
