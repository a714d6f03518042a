"""Similarity of ordered categories: the further apart two levels are in their order, the less alike they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Satisfies
from mercer.domains import Samples, Strings
from mercer.domains.samples import packed_pair
from mercer.errors import DomainError, ParameterError
from mercer.kernels.kernel import Kernel
from mercer.kernels.strings.spectrum import Match

__all__ = ["OrdinalMatch"]
__public__ = __all__


class OrdinalMatch(Kernel):
    r"""Ordinal kernel: categories that have an order are less alike the more levels lie between them.

    .. math:: k(x, x') = 1 - \frac{|r(x) - r(x')|}{L - 1}

    where r(x) = 0, ..., L - 1 is the rank of x among L levels.

    Seed: none of the five gives it; with the thermometer code of a rank, a linear kernel on features.

    Parameters
    ----------
    levels : tuple
        The L >= 2 different categories (texts, whole numbers), from the lowest to the highest.

    Notes
    -----
    Domain Strings of one symbol each, as for `Match`; values that are not among the levels are refused. On a column of
    a table: ``OrdinalMatch(("S", "M", "L")).on("size")``. Nothing to differentiate. Positive definite, since the tent 1
    - |r| / (L - 1) is so on an interval of its width; not strict, since the first and the last level add up to what two
    levels between them may. Normalised and bounded. Cost O(1) a pair.

    Examples
    --------
    >>> OrdinalMatch(("low", "middle", "high"))(["low", "middle", "high"])
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 1. ]])
    """

    domain = Strings
    formula = r"1 - |r(x) - r(x')| / (L - 1)"
    cost = "O(1) a pair"
    normalised = True
    bounded = True
    reads = "Strings of one symbol"

    constraints = {
        "levels": Satisfies("a tuple of texts or whole numbers", lambda given: isinstance(given, tuple | list))
    }

    def __init__(self, levels: Any) -> None:
        self.levels = levels

    def check(self) -> Any:
        """Raise ParameterError unless there are two different levels or more."""
        good = isinstance(self.levels, tuple | list) and len(self.levels) >= 2
        if not good or any(not isinstance(level, str | int) for level in self.levels) or _repeats(self.levels):
            raise ParameterError(
                f"OrdinalMatch was given levels={self.levels!r}; a tuple of two or more different texts or whole "
                "numbers, in ascending order, is accepted. Write for example OrdinalMatch(('low', 'high'))."
            )
        return super().check()

    def pack(self, X: Any) -> Samples:
        """Turn values into strings of one symbol each."""
        return Match().pack(X)

    def _prepare(self, A: Samples) -> Samples:
        """Raise DomainError if a value is none of the levels."""
        self._ranks(A)
        return A

    def _ranks(self, A: Samples) -> Floats:
        assert isinstance(A, Strings)
        place = {level: rank for rank, level in enumerate(self.levels)}
        ranks = np.array([place.get(word, -1) for word in A.vocabulary], dtype=float)[A.codes]
        if (ranks < 0).any():
            i = int(np.flatnonzero(ranks < 0)[0])
            raise DomainError(
                f"Sample {i} is {A.symbols(i)[0]!r}; values of {self!r} are its levels. Add the level, or drop the "
                "sample."
            )
        return ranks

    def block(self, A: Samples, B: Samples) -> Floats:
        """Compare ranks."""
        A, B = packed_pair(A, B, self._ready)
        r, s = self._ranks(A), self._ranks(B)
        return 1.0 - np.abs(r[:, None] - s) / (len(self.levels) - 1.0)

    def _diag(self, A: Samples) -> Floats:
        """Return ones."""
        return np.ones(len(A))


def _repeats(levels: Any) -> bool:
    return len(set(levels)) < len(levels)
