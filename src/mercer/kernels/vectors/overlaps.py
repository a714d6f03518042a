"""How much two sets, or two vectors of counts or weights, have in common, as a share of what they have.

Symbols: t = sum_i min(x_i, z_i), a and b the sums of x and z.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.domains import Samples, Strings, Vectors
from mercer.domains.samples import packed_pair
from mercer.errors import DomainError
from mercer.kernels.comparison import common_dtype
from mercer.kernels.kernel import Kernel, mirror
from mercer.kernels.vectors.histogram import Intersection

__all__ = ["Jaccard", "OverlapCoefficient"]
__public__ = __all__


class _Share(Kernel):
    """A function of the common part of two vectors that are not negative, and of their sums."""

    domain = Vectors
    other_domains = (Strings,)
    normalised = True
    bounded = True

    def pack(self, X: Any) -> Samples:
        """Pack a list of sets, or of dicts of counts, as the symbols in them, anything else as vectors."""
        if isinstance(X, Strings):
            return X
        one_axis = isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.ndim == 1)
        if one_axis and len(X) and all(isinstance(one, Set | Mapping) for one in X):
            return Strings.pack([_repeated(one, i) for i, one in enumerate(X)])
        return Vectors.pack(X)

    def _prepare(self, A: Samples) -> Samples:
        """Raise DomainError if an entry is negative."""
        return A if isinstance(A, Strings) else Intersection().prepare(A)

    def block(self, A: Samples, B: Samples) -> Floats:
        """Divide the common part."""
        A, B = packed_pair(A, B, self._ready)
        X, Z = _counts(A, B, self)
        unit = max(X.largest, Z.largest)
        if unit > 1e100 or 0.0 < unit < 1e-100:  # sums must neither overflow nor vanish
            left = Vectors(X.X / unit)
            X, Z = left, left if Z is X else Vectors(Z.X / unit)
        t = np.asarray(Intersection().block(X, Z), dtype=float)
        a, b = (np.asarray(S.X.sum(axis=1), dtype=float).ravel()[:] for S in (X, Z))
        least, most = np.minimum(a[:, None], b), np.maximum(a[:, None], b)
        np.minimum(t, least, out=t)  # rounding must not lead beyond one
        out = self._shared(t, least, most)
        out[most == 0.0] = 1.0  # nothing is like nothing
        out = out.astype(common_dtype(A, B), copy=False)
        return mirror(out) if B is A else out

    def _shared(self, t: Floats, least: Floats, most: Floats) -> Floats:
        raise NotImplementedError

    def _diag(self, A: Samples) -> Floats:
        """Return ones."""
        return np.ones(len(A))


class Jaccard(_Share):
    r"""Jaccard kernel: what two sets have in common, as a share of what either has; with weights or counts as well.

    .. math:: k(x, x') = \frac{\sum_i \min(x_i, x'_i)}{\sum_i \max(x_i, x'_i)}, \quad x, x' \ge 0

    Seed: none of the five gives it; Jaccard (1901), for weights Ruzicka (1958).

    Notes
    -----
    Domain Vectors without negative entries, dense or sparse, or a list of Python sets or of dicts of counts
    (`collections.Counter`). On sets it is the `Tanimoto` kernel; on weights that one takes products, and this one
    minima. Two empty sets have the value 1, an empty one and any other 0. Features no (random ones: `MinHash`), no
    parameters. Positive definite of order 0: it is the probability that a random ordering of what there is, drawn by
    the weights, has the same first element in both. Not known to be strict. Normalised and bounded. Cost O(mnd)
    comparisons.

    Examples
    --------
    >>> Jaccard()([{"red", "round"}, {"round", "sweet"}]).round(3)
    array([[1.   , 0.333],
           [0.333, 1.   ]])
    >>> Jaccard()([[2.0, 1.0], [1.0, 1.0]]).round(3)
    array([[1.   , 0.667],
           [0.667, 1.   ]])
    """

    formula = r"\sum_i \min(x_i, x'_i) / \sum_i \max(x_i, x'_i)"
    cost = "O(mnd) comparisons"

    def _shared(self, t: Floats, least: Floats, most: Floats) -> Floats:
        return np.divide(t, least + (most - t), out=np.zeros_like(t), where=most > 0.0)


class OverlapCoefficient(_Share):
    r"""Overlap coefficient: what two sets have in common, as a share of the smaller one.

    .. math:: k(x, x') = \frac{\sum_i \min(x_i, x'_i)}{\min(\sum_i x_i, \sum_i x'_i)}, \quad x, x' \ge 0

    Seed: none of the five gives it; Szymkiewicz (1934), Simpson (1943). It is 1 where one set contains the other, which
    no positive definite kernel can be without taking both for one.

    Notes
    -----
    Domain as for `Jaccard`. Indefinite, `order` is None: {a} and {b} are each like {a, b}, with the value 1, and with
    each other have 0. For a positive definite one use `Jaccard`, or `Intersection` with weights of the columns. Two
    empty sets have the value 1, an empty one and any other 0. Features no, no parameters. Normalised and bounded. Cost
    O(mnd) comparisons.

    Examples
    --------
    >>> OverlapCoefficient()([{"a"}, {"a", "b"}, {"b"}])
    array([[1., 1., 0.],
           [1., 1., 1.],
           [0., 1., 1.]])
    """

    formula = r"\sum_i \min(x_i, x'_i) / \min(\sum_i x_i, \sum_i x'_i)"
    cost = "O(mnd) comparisons"
    order = None

    def _shared(self, t: Floats, least: Floats, most: Floats) -> Floats:
        return np.divide(t, least, out=np.zeros_like(t), where=least > 0.0)


def _by_name(member: Any) -> tuple[str, str]:
    """Return what members of sets are sorted by: the order of a set differs from process to process."""
    return type(member).__name__, repr(member)


def _repeated(one: Any, i: int) -> list[Any]:
    """Return the members of a set, or of a dict of counts as often as it says."""
    members = sorted(one, key=_by_name)
    if isinstance(one, Set):
        return members
    for member in members:
        if isinstance(one[member], bool) or not isinstance(one[member], int | np.integer) or one[member] < 0:
            raise DomainError(
                f"Sample {i} has {one[member]!r} times {member!r}; counts are whole numbers from 0. Give weights as "
                "vectors, for example from scikit-learn's DictVectorizer."
            )
    return [member for member in members for _ in range(int(one[member]))]


def _counts(A: Samples, B: Samples, kernel: Kernel) -> tuple[Vectors, Vectors]:
    """Return both sides as vectors: sets become rows of counts over all their members together."""
    if isinstance(A, Vectors) and isinstance(B, Vectors):
        return A, B
    if not (isinstance(A, Strings) and isinstance(B, Strings)):
        raise DomainError(
            f"{type(A).__name__} and {type(B).__name__} were to be compared by {kernel!r}; both sides must be "
            "vectors, or both sets. Give data of one kind."
        )
    left, right = A.align(B)
    width = max(len(left.vocabulary), len(right.vocabulary), 1)
    rows = []
    for side in (left,) if B is A else (left, right):
        codes = side.codes[side.offsets[0] : side.offsets[-1]]
        X = sp.csr_array((np.ones(len(codes)), codes, side.offsets - side.offsets[0]), shape=(len(side), width))
        X.sum_duplicates()
        rows.append(Vectors(X))
    return rows[0], rows[-1]
