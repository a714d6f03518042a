"""Which packed objects are equal: a number for every object, the same for equal objects in whatever collection."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer import domains  # whose names are imported when they are used
from mercer.arrays import Indices
from mercer.domains.frames import Frames
from mercer.domains.samples import Samples
from mercer.domains.similarities import Similarities
from mercer.domains.strings import Strings
from mercer.domains.vectors import Vectors
from mercer.errors import DomainError

__all__ = ["distinct", "identities", "matches"]

Digests = NDArray[np.uint64]  # (n, 2)


def identities(S: Samples) -> Digests | None:
    """Return 128 bits for every object, equal for equal objects; None where equality is not known for a domain.

    Parameters
    ----------
    S : Samples
        Vectors (dense or sparse, of whatever precision), strings, texts, nodes, tensors, rows of similarities, and
        tables of these.

    Returns
    -------
    (n, 2) array of uint64 or None

    Examples
    --------
    >>> a, b = Vectors.pack([[0.0, 1.0], [2.0, 0.0]]), Vectors.pack([[2.0, -0.0]])
    >>> (identities(a) == identities(b)).all(axis=1)
    array([False,  True])
    """
    if isinstance(S, domains.Nodes):
        return _numbered(S.index, 0)
    if isinstance(S, Similarities):
        return _numbered(S.rows, 1) if S.position is None else _numbered(S.position, 0)
    if isinstance(S, Vectors):
        return _hashed(_of_rows(S))
    if isinstance(S, Strings):
        return _hashed(repr(S.symbols(i)).encode() for i in range(len(S)))
    if isinstance(S, domains.Tensors):
        rows = np.asarray(S.arrays[0], dtype=np.float64) + 0.0
        return _hashed(repr(row.shape).encode() + row.tobytes() for row in rows)
    if isinstance(S, Frames):
        found = [identities(S.part(key)) for key in sorted(S.parts, key=repr)]
        parts = [part for part in found if part is not None]
        if len(parts) < len(found) or not parts:
            return None
        return _hashed(row.tobytes() for row in np.hstack(parts))
    return None


def distinct(S: Samples) -> tuple[Indices, Indices]:
    """Return the first place of each distinct object, ascending, and for every object its place among these.

    Examples
    --------
    >>> distinct(Strings.pack(["b", "a", "b"]))
    (array([0, 1]), array([0, 1, 0]))
    """
    digests = identities(S)
    if digests is None:
        every = np.arange(len(S), dtype=np.intp)
        return every, every
    _, first, group = np.unique(digests, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    return first[order].astype(np.intp), place[group.reshape(-1)]


def matches(A: Samples, B: Samples) -> Indices:
    """Return for every object of A the place of an equal one in B, the first there is; -1 if there is none.

    Raises
    ------
    DomainError
        Equality is not known for the domain.

    Examples
    --------
    >>> matches(Strings.pack(["b", "c"]), Strings.pack(["a", "b", "b"]))
    array([ 1, -1])
    """
    digests = [identities(S) for S in (A, B)]
    if digests[0] is None or digests[1] is None:
        raise DomainError(
            f"Objects of the domain {type(A).__name__} were compared for equality, which is known of vectors, "
            "strings, texts, nodes, tensors and tables of them. Use a kernel that need not know, as "
            "PairProduct(kernel)."
        )
    places = {key.tobytes(): len(B) - 1 - i for i, key in enumerate(digests[1][::-1])}
    return np.array([places.get(key.tobytes(), -1) for key in digests[0]], dtype=np.intp).reshape(len(A))


def _numbered(index: Indices, kind: int) -> Digests:
    return np.column_stack([index, np.full(len(index), kind)]).astype(np.uint64)


def _hashed(contents: Iterable[bytes]) -> Digests:
    found = b"".join(hashlib.blake2b(content, digest_size=16).digest() for content in contents)
    return np.frombuffer(found, dtype=np.uint64).reshape(-1, 2)


def _of_rows(S: Vectors) -> Iterable[bytes]:
    """Yield the entries that are not zero, and the width: dense and sparse rows of equal numbers are equal."""
    head = np.int64(S.width).tobytes()
    X = sp.csr_array(S.X)
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        values, columns = X.data[start:stop], X.indices[start:stop]
        used = np.flatnonzero(values)
        used = used[np.argsort(columns[used], kind="stable")]
        yield head + columns[used].astype(np.int64).tobytes() + values[used].astype(np.float64).tobytes()
