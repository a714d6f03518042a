"""Kernels on pairs made of a kernel on each side: their product, and their sum."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import InstanceOf
from mercer.domains import Pairs, Samples
from mercer.domains.samples import packed_pair
from mercer.kernels.abilities import Differentiated
from mercer.kernels.composite import ATOM, Inheriting, enclosed, offered
from mercer.kernels.kernel import Kernel, pullback
from mercer.kernels.pair_forms import gathered, learned, pair_function
from mercer.kernels.protocols import PairTerm
from mercer.spec import derived

__all__ = ["DirectSum", "Tensor"]
__public__ = __all__


class _OnPairs(Kernel):
    """A kernel on pairs, made of a kernel on each side."""

    domain = Pairs
    constraints = {"left": InstanceOf(Kernel), "right": InstanceOf(Kernel)}

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right

    def pack(self, X: Any) -> Samples:
        """Pack the left and the right members of the pairs."""
        return Pairs.pack(X, self.left.pack, self.right.pack)

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Return the same node over kernels that have learned from the members, as often as they occur."""
        assert isinstance(S, Pairs)
        i, j = S.index.T
        found = learned(self.left, S.left, i, weight), learned(self.right, S.right, j, weight)
        return self if found == (self.left, self.right) else type(self)(*found)

    def _prepare(self, A: Samples) -> Samples:
        """Prepare the members once, however many pairs they are in."""
        assert isinstance(A, Pairs)
        return A.with_members(self.left.prepare(A.left), self.right.prepare(A.right))

    @staticmethod
    def _sides(A: Samples) -> tuple[Samples, Samples]:
        assert isinstance(A, Pairs)
        return A.left.take(A.index[:, 0]), A.right.take(A.index[:, 1])

    def _blocks(self, A: Samples, B: Samples) -> tuple[Floats, Floats]:
        assert isinstance(A, Pairs) and isinstance(B, Pairs)
        (i, j), (other_i, other_j) = A.index.T, B.index.T
        left = gathered(self.left, A.left, i, B.left, other_i)
        return left, gathered(self.right, A.right, j, B.right, other_j)

    @abstractmethod
    def pair_terms(self) -> tuple[PairTerm, ...]:
        """Return the products of a function of either member that this kernel is the sum of."""

    def compile(self, samples: Samples, coef: Floats) -> Callable[[Samples], Floats] | None:
        """Return f(x) = sum_i coef_i k(s_i, x) by matrices between the members of each side."""
        return pair_function(self, samples, coef) if isinstance(samples, Pairs) else None

    def _diags(self, A: Samples) -> tuple[Floats, Floats]:
        left, right = self._sides(A)
        return self.left.diag(left), self.right.diag(right)

    @derived
    def order(self) -> int | None:
        """Positive definite if both kernels are."""
        return 0 if self.left.order == 0 and self.right.order == 0 else None

    @derived
    def bounded(self) -> bool:
        """Whether both kernels are."""
        return self.left.bounded and self.right.bounded

    @property
    def capabilities(self) -> frozenset[str]:
        """Derivatives in the parameters if both kernels have them."""
        return offered(self.left) & offered(self.right) & {"pullback"}


class Tensor(Inheriting, _OnPairs, Differentiated):
    r"""Tensor product: pairs are similar if both members are.

    .. math:: k((x_1, x_2), (x'_1, x'_2)) = k_1(x_1, x'_1) \, k_2(x_2, x'_2)

    Seed: [HSS] Proposition 5 (iii); [KIKS] Section 6.1.1, K_1 (x) K_2 for links between two sets.

    Parameters
    ----------
    left, right : Kernel
        On the first and the second members. Written ``left.tensor(right)``.

    Notes
    -----
    Domain Pairs. Derivatives in the parameters of both. The matrix of n pairs of q_1 and q_2 objects is a part of the
    Kronecker product of two small ones; ``gram=Kronecker()`` works with these alone, and so does every fitted function.
    Cost q_1^2 + q_2^2 evaluations, then two operations an entry.

    Examples
    --------
    >>> from mercer.kernels import Linear, Spectrum
    >>> k = Linear().tensor(Spectrum(1))
    >>> k([([2.0], "a"), ([3.0], "aa")])
    array([[ 4., 12.],
           [12., 36.]])
    """

    synonyms = ("pairwise product kernel", "tensor product")
    formula = r"k_1(x_1, x'_1) \, k_2(x_2, x'_2)"
    cost = "sum of both"

    @derived
    def normalised(self) -> bool:
        """Whether both kernels are."""
        return self.left.normalised and self.right.normalised

    def source(self, name: str, of: Callable[[Kernel], Any]) -> Kernel | None:
        """Both kernels: Gram matrices are parts of Kronecker products, sums of products of functions are dense."""
        return self.left if of(self.left) and of(self.right) else None

    @derived
    def nonzero(self) -> bool:
        """Whether both kernels are."""
        return self.order == 0 and self.left.nonzero and self.right.nonzero

    def pair_terms(self) -> tuple[PairTerm, ...]:
        """Return the one product."""
        return (PairTerm(1.0, self.left, self.right),)

    def block(self, A: Samples, B: Samples) -> Floats:
        """Multiply the blocks of both sides."""
        A, B = packed_pair(A, B, self._ready)
        left, right = self._blocks(A, B)
        return left * right

    def _diag(self, A: Samples) -> Floats:
        """Multiply the diagonals of both sides."""
        left, right = self._diags(A)
        return left * right

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Apply the product rule."""
        left, right = self._blocks(A, B)
        a, b = self._sides(A), self._sides(B)
        return np.concatenate([pullback(self.left, a[0], b[0], W * right), pullback(self.right, a[1], b[1], W * left)])

    def __repr__(self) -> str:
        return f"{enclosed(self.left, ATOM)}.tensor({self.right!r})"


class DirectSum(_OnPairs, Differentiated):
    r"""Direct sum: pairs are similar as far as their members are.

    .. math:: k((x_1, x_2), (x'_1, x'_2)) = k_1(x_1, x'_1) + k_2(x_2, x'_2)

    Seed: [HSS] Proposition 5 (iii).

    Parameters
    ----------
    left, right : Kernel
        On the first and the second members. Written ``left.direct_sum(right)``.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().direct_sum(Linear())([([2.0], [1.0]), ([3.0], [1.0])])
    array([[ 5.,  7.],
           [ 7., 10.]])
    """

    formula = r"k_1(x_1, x'_1) + k_2(x_2, x'_2)"
    cost = "sum of both"

    @derived
    def nonzero(self) -> bool:
        """Whether one kernel is."""
        return self.order == 0 and (self.left.nonzero or self.right.nonzero)

    @derived
    def injective(self) -> bool:
        """Whether both kernels are."""
        return self.order == 0 and self.left.injective and self.right.injective

    def pair_terms(self) -> tuple[PairTerm, ...]:
        """Return each kernel beside a factor of one."""
        return PairTerm(1.0, self.left, None), PairTerm(1.0, None, self.right)

    def block(self, A: Samples, B: Samples) -> Floats:
        """Add the blocks of both sides."""
        A, B = packed_pair(A, B, self._ready)
        left, right = self._blocks(A, B)
        return left + right

    def _diag(self, A: Samples) -> Floats:
        """Add the diagonals of both sides."""
        left, right = self._diags(A)
        return left + right

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the derivatives of both sides one after another."""
        a, b = self._sides(A), self._sides(B)
        return np.concatenate([pullback(self.left, a[0], b[0], W), pullback(self.right, a[1], b[1], W)])

    def __repr__(self) -> str:
        return f"{enclosed(self.left, ATOM)}.direct_sum({self.right!r})"
