r"""Kernels on pairs as sums of products of a function of the left and one of the right objects.

Symbols: pairs (a, b) and (c, d); k((a, b), (c, d)) = sum_t w_t l_t(a, c) r_t(b, d), where a factor is a kernel, the
identity [a = c], or one. The matrix of many pairs of few objects then consists of parts of Kronecker products of small
matrices, and products with it need these alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.budget import UNLIMITED, Plan, Resources, budget
from mercer.domains import Pairs, Samples
from mercer.domains.identity import distinct, matches
from mercer.domains.pairs import occurring
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import Kernel, fill, overflow_error, pair_terms
from mercer.kernels.protocols import SAME
from mercer.numerics.kronecker_products import Factor, PairIndex, pair_products

__all__ = ["Members", "PairMatrix", "gathered", "learned", "pair_function"]

_SHARE = 0.25  # of the memory budget, that the matrices of one product with new pairs may take


def gathered(kernel: Kernel, A: Samples, i: Indices, B: Samples, j: Indices) -> Floats:
    """Return k(A[i], B[j]), every distinct pair of objects being compared once."""
    used, rows = np.unique(i, return_inverse=True)
    left = A.take(used)
    if B is A and (j is i or np.array_equal(i, j)):
        right, columns = left, rows
    else:
        other, columns = np.unique(j, return_inverse=True)
        right = B.take(other)
    block = np.asarray(kernel.block(left, right))
    if len(block) == len(rows) and block.shape[1] == len(columns) and _in_order(rows) and _in_order(columns):
        return block
    return block[rows[:, None], columns]


def learned(kernel: Kernel, S: Samples, index: Indices, weight: Floats | None = None) -> Kernel:
    """Return a kernel that has learned from objects S[index], each given once and weighted by how often it occurs."""
    used, place = occurring(index, len(S))
    return kernel.learn(S.take(used), None, np.bincount(place, weights=weight, minlength=len(used)).astype(float))


def _in_order(index: Indices) -> bool:
    return bool((index == np.arange(len(index))).all())


@dataclass(frozen=True, eq=False)
class Members:
    """The distinct objects of pairs, and the pairs as places among them.

    Attributes
    ----------
    left, right : Samples
        The same object twice if the pairs are of one collection.
    index : PairIndex
    """

    left: Samples
    right: Samples
    index: PairIndex

    @classmethod
    def of(cls, S: Pairs, kernel: Kernel) -> Members:
        """Find the objects that occur in pairs.

        Equal ones are merged, unless all pairs of the objects are present, for which there are eigenvectors, and the
        kernel does not depend on which objects are equal.
        """
        if S.right is S.left:
            used, index = occurring(S.index, len(S.left))
            left = S.left.take(used)
            found = cls(left, left, PairIndex(index, (len(left), len(left))))
        else:
            (first, i), (second, j) = occurring(S.index[:, 0], len(S.left)), occurring(S.index[:, 1], len(S.right))
            sizes = len(first), len(second)
            found = cls(S.left.take(first), S.right.take(second), PairIndex(np.column_stack([i, j]), sizes))
        asks = any(SAME in (term.left, term.right) for term in pair_terms(kernel) or ())
        return found if found.index.is_grid and not asks else found.merged()

    def merged(self) -> Members:
        """Merge equal objects."""
        left, i = _distinct(self.left)
        right, j = (left, i) if self.right is self.left else _distinct(self.right)
        if left is self.left and right is self.right:
            return self
        index = np.column_stack([i[self.index.index[:, 0]], j[self.index.index[:, 1]]])
        return Members(left, right, PairIndex(index, (len(left), len(right))))


def _distinct(S: Samples) -> tuple[Samples, Indices]:
    """Return the objects, equal ones once, and the place of each among these."""
    first, group = distinct(S)
    return (S, group) if len(first) == len(S) else (S.take(first), group)


class PairPart(NamedTuple):
    """One product of factors as matrices; `swapped` compares left objects with right ones."""

    weight: float
    left: Factor
    right: Factor
    swapped: bool


class PairMatrix:
    """The matrix of a kernel between two sets of pairs, held as matrices between their objects.

    Parameters
    ----------
    kernel : Kernel
        With `pair_terms`.
    target, source : Members
        Of rows and of columns; prepared. The same object twice for a symmetric matrix.
    resources : Resources
    """

    def __init__(self, kernel: Kernel, target: Members, source: Members, resources: Resources = UNLIMITED) -> None:
        terms = pair_terms(kernel)
        assert terms is not None
        self.kernel, self.target, self.source = kernel, target, source
        made: list[tuple[Any, Samples, Samples, Factor]] = []

        def factor(of: Any, rows: Samples, columns: Samples) -> Factor:
            if of is None:
                return None
            for other, A, B, found in made:
                if A is rows and B is columns and (other is of or (type(other) is type(of) and other == of)):
                    return found
            found = matches(rows, columns) if of is SAME else _block(of, rows, columns, resources)
            made.append((of, rows, columns, found))
            return found

        parts, T, S = [], target, source
        for term in terms:
            weight = 0.5 * term.weight if term.symmetric else term.weight
            parts.append(
                PairPart(weight, factor(term.left, T.left, S.left), factor(term.right, T.right, S.right), False)
            )
            if term.symmetric:
                parts.append(
                    PairPart(weight, factor(term.left, T.left, S.right), factor(term.right, T.right, S.left), True)
                )
        self.parts: tuple[PairPart, ...] = tuple(parts)
        self._require_finite()

    def _require_finite(self) -> None:
        """Raise DomainError if an entry may be beyond the range of numbers."""
        with np.errstate(over="ignore"):
            sizes = [abs(part.weight) * _largest(part.left) * _largest(part.right) for part in self.parts]
            if not np.isfinite(sum(sizes)):
                raise overflow_error(self.kernel)

    @property
    def nbytes(self) -> int:
        """Bytes of all matrices."""
        held = {id(f): f.nbytes for part in self.parts for f in (part.left, part.right) if f is not None}
        return sum(held.values())

    def times(self, V: Floats, source: PairIndex, target: PairIndex, resources: Resources = UNLIMITED) -> Floats:
        """Return the product with V, (n,) or (n, k), for some pairs of either set."""
        V = np.asarray(V, dtype=float)
        if len(V) != len(source):
            raise ValueError(f"a matrix with {len(source)} columns cannot be multiplied with {len(V)} rows")
        columns = V[:, None] if V.ndim == 1 else V
        total = np.zeros((len(target), columns.shape[1]))
        for part in self.parts:
            pairs = source.swapped if part.swapped else source
            found = pair_products(
                part.left, part.right, pairs, target, columns, n_threads=resources.n_threads, monitor=resources.monitor
            )
            total += part.weight * found
        return total.reshape(len(target), *V.shape[1:])

    def entries(self, target: Indices, source: Indices, out: Floats | None = None) -> Floats:
        """Return the matrix between pairs (q, 2) and (p, 2), shape (q, p)."""
        total = np.empty((len(target), len(source))) if out is None else out
        total[...] = 0.0
        for part in self.parts:
            pairs = source[:, ::-1] if part.swapped else source
            value = np.full(total.shape, part.weight)
            for side, factor in enumerate((part.left, part.right)):
                if factor is not None and factor.ndim == 1:
                    value *= factor[target[:, side], None] == pairs[:, side]
                elif factor is not None:
                    value *= factor[target[:, side]][:, pairs[:, side]]
            total += value
        return total

    def diag(self, index: Indices) -> Floats:
        """Return the entries of pairs (n, 2) with themselves; of a symmetric matrix."""
        total = np.zeros(len(index))
        for part in self.parts:
            pairs = index[:, ::-1] if part.swapped else index
            value = np.full(len(index), part.weight)
            for side, factor in enumerate((part.left, part.right)):
                if factor is not None and factor.ndim == 1:
                    value *= factor[index[:, side]] == pairs[:, side]
                elif factor is not None:
                    value *= factor[index[:, side], pairs[:, side]]
            total += value
        return total


def member_bytes(kernel: Kernel, target: Members, source: Members) -> dict[str, int]:
    """Return the sizes of the matrices that a `PairMatrix` holds."""
    sides = {(id(T), id(S), repr(of)): 8 * len(T) * len(S) for of, T, S in _compared(kernel, target, source)}
    return {"matrices of the objects": sum(sides.values())}


def _compared(kernel: Kernel, T: Members, S: Members) -> list[tuple[Kernel, Samples, Samples]]:
    found = []
    for term in pair_terms(kernel) or ():
        straight = ((term.left, T.left, S.left), (term.right, T.right, S.right))
        crossed = ((term.left, T.left, S.right), (term.right, T.right, S.left)) if term.symmetric else ()
        found += [entry for entry in (*straight, *crossed) if isinstance(entry[0], Kernel)]
    return found


def _block(kernel: Kernel, A: Samples, B: Samples, resources: Resources) -> Floats:
    out = np.empty((len(A), len(B)))
    fill(kernel, Comparison(kernel, A, B, np.float64), out, n_threads=resources.n_threads, monitor=resources.monitor)
    return out


def _largest(factor: Factor) -> float:
    if factor is None or factor.ndim == 1:
        return 1.0
    return float(max(factor.max(initial=0.0), -factor.min(initial=0.0)))


def pair_function(kernel: Kernel, samples: Pairs, coef: Floats) -> Callable[[Samples], Floats] | None:
    """Return f(x) = sum_i coef_i k(s_i, x) on pairs as one function, or None if the kernel is no sum of products.

    Instead of n m evaluations pair by pair it takes a matrix between the objects of each side, and a sparse product.
    """
    if pair_terms(kernel) is None:
        return None
    source = Members.of(samples, kernel)

    def function(T: Samples) -> Floats:
        assert isinstance(T, Pairs)
        T = kernel.prepare(T)
        assert isinstance(T, Pairs)
        if not len(T):
            return np.zeros((0, *np.shape(coef)[1:]))
        target = Members.of(T, kernel)
        size = Plan("", member_bytes(kernel, target, source)).total
        if size > _SHARE * budget(None) and len(T) > 1:
            half = len(T) // 2
            return np.concatenate([function(T[:half]), function(T[half:])])
        matrix = PairMatrix(kernel, target, source)
        return matrix.times(coef, source.index, target.index)

    return function
