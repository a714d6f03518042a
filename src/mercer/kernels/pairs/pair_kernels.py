"""Kernels between pairs of objects of one kind, for links: who is connected with whom.

Symbols: k a kernel between objects; (a, b) and (c, d) pairs; [a = c] is one for equal objects and zero for others.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.constraints import Boolean, InstanceOf
from mercer.domains import Pairs, Samples
from mercer.domains.identity import identities, matches
from mercer.domains.pairs import occurring
from mercer.domains.samples import packed_pair
from mercer.kernels.abilities import Differentiated
from mercer.kernels.composite import offered
from mercer.kernels.kernel import Kernel, overflow_error, pullback
from mercer.kernels.pair_forms import gathered, learned, pair_function
from mercer.kernels.protocols import SAME, PairTerm
from mercer.runtime.tiling import all_finite
from mercer.spec import derived

__all__ = ["PairProduct", "PairSum"]
__public__ = __all__

_PAIRS = 64  # whose objects are compared in one block where only k(a, b) of each pair is asked for


class _BetweenPairs(Kernel, Differentiated):
    """A kernel on pairs of objects that one kernel compares."""

    domain = Pairs
    cost = "that of the kernel on the distinct objects, then O(1) a pair"
    constraints = {"kernel": InstanceOf(Kernel), "symmetric": Boolean()}
    kernel: Kernel
    symmetric: bool

    def __init__(self, kernel: Kernel, symmetric: bool = False) -> None:
        self.kernel = kernel
        self.symmetric = symmetric

    def pack(self, X: Any) -> Samples:
        """Pack the objects of both sides into one collection."""
        return Pairs.among(X, self.kernel.pack)

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Return the same kernel over one that has learned from the objects, as often as they occur."""
        assert isinstance(S, Pairs)
        objects, index = S.left, S.index.T.ravel()
        if S.right is not S.left:
            (used, i), (other, j) = occurring(S.index[:, 0], len(S.left)), occurring(S.index[:, 1], len(S.right))
            objects, index = S.left.take(used).concat(S.right.take(other)), np.concatenate([i, len(used) + j])
        found = learned(self.kernel, objects, index, None if weight is None else np.concatenate([weight, weight]))
        return self if found is self.kernel else self.replace(kernel=found)

    def _prepare(self, A: Samples) -> Samples:
        """Prepare the objects once, however many pairs they are in."""
        assert isinstance(A, Pairs)
        left = self.kernel.prepare(A.left)
        return A.with_members(left, left if A.right is A.left else self.kernel.prepare(A.right))

    @abstractmethod
    def pair_terms(self) -> tuple[PairTerm, ...]:
        """Return the products of a function of either object that this kernel is the sum of."""

    def compile(self, samples: Samples, coef: Floats) -> Callable[[Samples], Floats] | None:
        """Return f(x) = sum_i coef_i k(s_i, x) by matrices between the objects of each side."""
        return pair_function(self, samples, coef) if isinstance(samples, Pairs) else None

    # numbers ----------------------------------------------------------------------------------------

    def _factor(self, of: Any, A: Samples, i: Indices, B: Samples, j: Indices) -> Floats:
        """Return k, or [=], between the objects A[i] and B[j]."""
        return _equal(A, i, B, j) if of is SAME else gathered(of, A, i, B, j)

    def _products(self, A: Samples, B: Samples) -> list[tuple[float, Any, Any, Floats, Floats]]:
        """Return (weight, sides of the left factor, those of the right one, and both factors) of all products."""
        assert isinstance(A, Pairs) and isinstance(B, Pairs)
        (a, b), (c, d) = A.index.T, B.index.T
        left, right, found = (A.left, a), (A.right, b), []
        straight, crossed = ((B.left, c), (B.right, d)), ((B.right, d), (B.left, c))
        for term in self.pair_terms():
            for other in (straight, crossed) if term.symmetric else (straight,):
                weight = 0.5 if term.symmetric else 1.0
                sides = (term.left, *left, *other[0]), (term.right, *right, *other[1])
                found.append((weight, *sides, self._factor(*sides[0]), self._factor(*sides[1])))
        return found

    def block(self, A: Samples, B: Samples) -> Floats:
        """Return k for all pairs of pairs, shape (len A, len B)."""
        A, B = packed_pair(A, B, self._ready)
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.zeros((len(A), len(B)))
            for weight, _, _, left, right in self._products(A, B):
                total += weight * (left * right)
        if B is A and self.symmetric:  # sums of two products in another order above the diagonal than below it
            lower = np.tri(len(A), k=-1, dtype=bool)
            total[lower] = total.T[lower]
        if self.bounded and not self.normalised and not all_finite(total):
            raise overflow_error(self)
        return total

    def _diag(self, A: Samples) -> Floats:
        """Return k of every pair with itself."""
        assert isinstance(A, Pairs)
        own = []
        for S, index in zip((A.left, A.right), A.index.T, strict=True):
            used, place = np.unique(index, return_inverse=True)
            own.append(self.kernel.diag(S.take(used))[place])
        if not self.symmetric:
            return self._diagonal(*own)
        return 0.5 * (self._diagonal(*own) + self._crossed(A, *own))

    @abstractmethod
    def _diagonal(self, left: Floats, right: Floats) -> Floats:
        """Return k((a, b), (a, b)) from k(a, a) and k(b, b), not symmetric."""

    @abstractmethod
    def _crossed(self, A: Pairs, left: Floats, right: Floats) -> Floats:
        """Return k((a, b), (b, a)), not symmetric."""

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Apply the product rule."""
        total: Any = 0.0
        for weight, first, second, left, right in self._products(A, B):
            for (of, rows, i, columns, j), other in ((first, right), (second, left)):
                if of is not SAME:
                    total = total + weight * pullback(self.kernel, rows.take(i), columns.take(j), W * other)
        return total

    # what is known ----------------------------------------------------------------------------------

    @derived
    def order(self) -> int | None:
        """Positive definite if the kernel is."""
        return 0 if self.kernel.order == 0 else None

    @derived
    def bounded(self) -> bool:
        """Whether the kernel is."""
        return self.kernel.bounded

    @derived
    def strict(self) -> bool:
        """Whether the kernel is; of pairs without order two different ones may be the same."""
        return self.order == 0 and self.kernel.strict and not self.symmetric

    @derived
    def nonzero(self) -> bool:
        """Whether the kernel is."""
        return self.order == 0 and self.kernel.nonzero

    @property
    def capabilities(self) -> frozenset[str]:
        """Derivatives in the parameters if the kernel has them."""
        return offered(self.kernel) & {"pullback"}


class PairProduct(_BetweenPairs):
    r"""Pairwise product kernel: two pairs are alike if both objects of one are like both of the other.

    .. math:: K = \tilde K \otimes \tilde K, \qquad k((a, b), (c, d)) = k(a, c) \, k(b, d)

    and for pairs without an order, as links of a graph without directions, the mean over both orders,
    :math:`\tfrac12 (k(a, c)\, k(b, d) + k(a, d)\, k(b, c))`.

    Seed: [KIKS] Eq. (22), Section 6.1.1.

    Parameters
    ----------
    kernel : Kernel
        Between objects.
    symmetric : bool, default False
        Whether (a, b) and (b, a) are the same pair: fitted functions have f(a, b) = f(b, a). It is the kernel of the
        symmetric part of the tensor product of the feature space with itself.

    Notes
    -----
    Domain Pairs, of one collection. Derivatives in the parameters of the kernel. Positive definite of order 0 if the
    kernel is; strict and universal if it is and the pairs have an order. With ``gram=Kronecker()`` neither the matrix
    of n^2 pairs nor any part of it is formed. For pairs of two kinds of objects use ``k1.tensor(k2)``.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> pairs = [([1.0], [2.0]), ([3.0], [1.0])]
    >>> PairProduct(Linear())(pairs)
    array([[4., 6.],
           [6., 9.]])
    >>> from mercer.kernels import Match
    >>> PairProduct(Match(), symmetric=True)([("Ann", "Bob"), ("Bob", "Ann"), ("Bob", "Cid")])
    array([[0.5, 0.5, 0. ],
           [0.5, 0.5, 0. ],
           [0. , 0. , 0.5]])
    """

    synonyms = ("Kronecker product kernel", "pairwise kernel")
    formula = r"k(a, c) \, k(b, d)"

    def pair_terms(self) -> tuple[PairTerm, ...]:
        """Return the one product."""
        return (PairTerm(1.0, self.kernel, self.kernel, self.symmetric),)

    def _diagonal(self, left: Floats, right: Floats) -> Floats:
        return left * right

    def _crossed(self, A: Pairs, left: Floats, right: Floats) -> Floats:
        found = np.empty(len(A))
        order = np.lexsort(A.index.T[::-1])  # pairs of the same objects side by side
        for start in range(0, len(A), _PAIRS):
            rows = order[start : start + _PAIRS]
            i, j = A.index[rows].T
            found[rows] = np.diagonal(gathered(self.kernel, A.left, i, A.right, j))
        return found * found

    @derived
    def normalised(self) -> bool:
        """Whether the kernel is, and the pairs have an order."""
        return self.kernel.normalised and not self.symmetric

    @derived
    def universal(self) -> bool:
        """Whether the kernel is, and the pairs have an order."""
        return self.kernel.universal and not self.symmetric


class PairSum(_BetweenPairs):
    r"""Kronecker sum kernel: two pairs are alike if they share an object and their other objects are alike.

    .. math:: K = \tilde K \oplus \tilde K = \tilde K \otimes I + I \otimes \tilde K, \qquad
              k((a, b), (c, d)) = k(a, c) \, [b = d] + [a = c] \, k(b, d)

    and for pairs without an order the mean over both orders of one of them.

    Seed: [KIKS] Section 6.1.1, the Kronecker sum after Eq. (22).

    Parameters
    ----------
    kernel : Kernel
        Between objects.
    symmetric : bool, default False
        Whether (a, b) and (b, a) are the same pair.

    Notes
    -----
    Domain Pairs, of one collection; objects must be of a domain that knows which are equal: vectors, strings, texts,
    nodes, tensors, tables of these. Its matrix is sparse: pairs without a common object have k = 0, so that what is
    known of a link spreads only to others at its ends. Positive definite of order 0 if the kernel is, and strict if it
    is strict and the pairs have an order, as a sum of Kronecker products with the identity; not continuous. (The direct
    sum k(a, c) + k(b, d), which depends on the objects but not on their pairing, is ``k.direct_sum(k)``.)

    Examples
    --------
    >>> from mercer.kernels import Diffusion
    >>> path = [(0, 1), (1, 2), (2, 3)]
    >>> PairSum(Diffusion(path, 1.0))([(0, 1), (0, 2), (3, 1)]).round(3)
    array([[0.862, 0.229, 0.044],
           [0.229, 0.862, 0.   ],
           [0.044, 0.   , 0.862]])
    """

    formula = r"k(a, c) \, [b = d] + [a = c] \, k(b, d)"

    def pair_terms(self) -> tuple[PairTerm, ...]:
        """Return the kernel beside the identity, on both sides."""
        first = PairTerm(1.0, self.kernel, SAME, self.symmetric)
        return first, PairTerm(1.0, SAME, self.kernel, self.symmetric)

    def _prepare(self, A: Samples) -> Samples:
        """Prepare the objects, and find out which of them are equal."""
        prepared = super()._prepare(A)
        assert isinstance(prepared, Pairs)
        left = _identified(prepared.left)
        return prepared.with_members(left, left if prepared.right is prepared.left else _identified(prepared.right))

    def _diagonal(self, left: Floats, right: Floats) -> Floats:
        return left + right

    def _crossed(self, A: Pairs, left: Floats, right: Floats) -> Floats:
        mine, other = (_identified(S).derived["identity"] for S in (A.left, A.right))
        return np.where((mine[A.index[:, 0]] == other[A.index[:, 1]]).all(axis=1), left + right, 0.0)


def _identified(S: Samples) -> Samples:
    """Return samples that carry what identifies equal ones."""
    if "identity" in S.derived:
        return S
    if identities(S) is None:
        matches(S, S)  # raises, and says what is accepted
    return S.with_derived("identity", identities(S))


def _equal(A: Samples, i: Indices, B: Samples, j: Indices) -> Floats:
    """Return 1.0 where A[i] and B[j] are equal objects, else 0.0."""
    mine, other = (_identified(S).derived["identity"] for S in (A, B))
    mine, other = mine[i], other[j]
    return np.multiply(mine[:, None, 0] == other[:, 0], mine[:, None, 1] == other[:, 1], dtype=float)
