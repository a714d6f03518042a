"""Finding the partner of a sample among those of another view, by the angles between scores."""

from __future__ import annotations

import numpy as np

from mercer.arguments import real_array
from mercer.arrays import Floats, Indices
from mercer.errors import DomainError

__all__ = ["retrieval_ranks"]
__public__ = __all__

_ROWS = 2048  # queries that are ranked at once


def retrieval_ranks(A: Floats, B: Floats) -> Indices:
    """Return the rank of each row's partner among all rows of the other view, by the cosine; 1 is the most similar.

    Parameters
    ----------
    A, B : (n, m) arrays
        Scores of n pairs; rows of A are the queries.

    Returns
    -------
    ranks : (n,) array of int
        Rows that are as similar as the partner count before it: where all are alike, nothing has been found.

    Examples
    --------
    >>> retrieval_ranks(np.eye(2), np.eye(2)), retrieval_ranks(np.eye(2), np.eye(2)[::-1])
    (array([1, 1]), array([2, 2]))
    """
    A, B = real_array(A, "A", 2), real_array(B, "B", 2)
    if A.shape != B.shape:
        raise DomainError(
            f"scores of shapes {A.shape} and {B.shape} were given; two tables with the same rows and columns "
            "are accepted. Give what transform(X, Y) returns."
        )
    units = []
    for one in (A, B):
        largest = np.abs(one).max(axis=1, keepdims=True)  # first, since squares may overflow
        one = one / np.where(largest > 0.0, largest, 1.0)
        length = np.linalg.norm(one, axis=1, keepdims=True)
        units.append(one / np.where(length > 0.0, length, 1.0))
    ranks = np.empty(len(A), dtype=np.intp)
    for start in range(0, len(A), _ROWS):
        rows = slice(start, min(start + _ROWS, len(A)))
        similar = units[0][rows] @ units[1].T
        own = similar[np.arange(len(similar)), np.arange(rows.start, rows.stop)]
        ranks[rows] = np.sum(similar >= own[:, None], axis=1)
    return ranks
