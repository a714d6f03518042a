"""The product of a function's values, as a kernel.

Symbols: f a function of the user, x a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.domains import Frames, Samples, Vectors, Whole
from mercer.errors import ParameterError
from mercer.kernels.calls import rows_of
from mercer.kernels.comparison import View
from mercer.kernels.kernel import Tiled
from mercer.kernels.maps import _Same

__all__ = ["RankOne"]


class RankOne(Tiled):
    r"""The product of a function's values: a feature space of one dimension.

    .. math:: k(x, x') = f(x) \, f(x')

    Seed: [STS] Theorem 7; [ST] "Kernel constructions". Ledger: K-ALG-FF.

    Parameters
    ----------
    function : callable
        Takes all raw data at once and returns one real number per sample.

    Notes
    -----
    Any domain. ``RankOne(f) * k`` is f(x) k(x, x') f(x'), a conformal change of k.

    Examples
    --------
    >>> RankOne(lambda words: [len(word) for word in words])(["ab", "abc"])
    array([[4., 6.],
           [6., 9.]])
    """

    formula = r"f(x) \, f(x')"
    cost = "O(1) per pair, and the function once per sample"

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def check(self) -> Any:
        """Raise ParameterError unless there is a function."""
        if not callable(self.function):
            raise ParameterError(
                f"RankOne was given {self.function!r}; a function of all the data is accepted. "
                "Write for example RankOne(lambda X: X[:, 0])."
            )
        return super().check()

    @property
    def domain(self) -> type[Samples]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """A table with the function's values."""
        return Frames

    @property
    def part(self) -> Hashable:  # pyright: ignore[reportIncompatibleVariableOverride]
        """A key that is the same for the same function."""
        return Whole(_Same(self.function))

    def parts(self) -> Mapping[Hashable, Callable[[Any], Samples]]:
        """Return the function's values as a column."""
        return {self.part: lambda data: Vectors.pack(rows_of(self.function, data, self, single=True))}

    def pack(self, X: Any) -> Samples:
        """Evaluate the function once per sample."""
        return Frames.pack(X, self.parts())

    def _values(self, A: Samples) -> Floats:
        part = A.part(self.part) if isinstance(A, Frames) else A
        assert isinstance(part, Vectors)
        return np.asarray(part.X)[:, 0]

    def tile(self, view: View) -> Floats:
        """Multiply the values of both sides."""
        A, B = view.collections
        return np.multiply(self._values(A)[view.rows, None], self._values(B)[view.columns], out=view.empty())

    def diag(self, A: Samples) -> Floats:
        """Square the values."""
        return self._values(A) ** 2

    def features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the values as the one feature."""
        return self._values(A)[:, None], None

    def feature_count(self, A: Samples) -> int | None:
        """Return 1."""
        return 1

    def pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return nothing: there is no free parameter."""
        return np.empty(0)
