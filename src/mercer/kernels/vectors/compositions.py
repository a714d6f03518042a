"""Kernels on compositions: vectors of shares, of which only the ratios count.

Symbols: d parts, c(x) = log x - mean(log x) the centred logarithms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Fixed, Interval, Optional, Positive
from mercer.domains import Samples, Vectors
from mercer.domains.samples import packed_pair
from mercer.errors import DomainError
from mercer.kernels.abilities import Differentiated, DifferentiatedInInputs, Featured
from mercer.kernels.kernel import Kernel
from mercer.kernels.vectors.dot import Linear
from mercer.kernels.vectors.pointwise import Gaussian, dense
from mercer.spec import derived

__all__ = ["Aitchison"]
__public__ = __all__


class Aitchison(Kernel, Featured, Differentiated, DifferentiatedInInputs):
    r"""Aitchison kernel: compositions, such as shares of minerals, are compared by the ratios of their parts.

    .. math:: k(x, x') = \langle c(x), c(x') \rangle \text{ or } e^{-\|c(x) - c(x')\|^2 / (2 l^2)}, \qquad
        c(x)_j = \log x_j - \frac{1}{d} \sum_i \log x_i

    Seed: none of the five gives it; Aitchison, The statistical analysis of compositional data (1982). A kernel of
    images is [STS] Theorem 7.

    Parameters
    ----------
    length_scale : float, optional
        l > 0 of the Gaussian kernel of Aitchison's distance. None, the default, is the inner product.
    offset : float, default 0.0
        Added to every part, where some are zero; at least 0. Not a free parameter.

    Notes
    -----
    Domain Vectors of positive numbers; x and 2 x are the same composition. The inner product has
    the features c(x); the Gaussian none, but a derivative in its length scale. Both are differentiable in the inputs.
    Positive definite of order 0 as a kernel of images; not strict on vectors, since multiples are alike. The Gaussian
    is normalised and bounded. Cost O(mnd), one matrix product.

    Examples
    --------
    >>> shares = [[0.2, 0.8], [0.5, 0.5], [2.0, 8.0]]
    >>> Aitchison(1.0)(shares).round(3)
    array([[1.   , 0.619, 1.   ],
           [0.619, 1.   , 0.619],
           [1.   , 0.619, 1.   ]])
    """

    domain = Vectors
    formula = r"\langle c(x), c(x') \rangle \text{ or } \exp(-\|c(x) - c(x')\|^2 / (2 l^2))"
    cost = "O(mnd), one matrix product"
    continuous = True
    constraints = {
        "length_scale": Optional(Positive()),
        "offset": Fixed(Interval(0.0, np.inf, closed="left")),
    }

    def __init__(self, length_scale: float | None = None, offset: float = 0.0) -> None:
        self.length_scale = length_scale
        self.offset = offset

    @derived
    def normalised(self) -> bool:
        """Whether it is the Gaussian."""
        return self.length_scale is not None

    @derived
    def bounded(self) -> bool:
        """Whether it is the Gaussian."""
        return self.length_scale is not None

    @property
    def capabilities(self) -> frozenset[str]:
        """Features of the inner product only."""
        return super().capabilities - (set() if self.length_scale is None else {"features"})

    @property
    def _inner(self) -> Any:
        return Linear() if self.length_scale is None else Gaussian(float(self.length_scale))

    def _prepare(self, A: Samples) -> Samples:
        """Take the centred logarithms, once per collection."""
        if self._key in A.derived:
            return A
        return A.with_derived(self._key, self._centred(A))

    @property
    def _key(self) -> str:
        return f"centred logarithms:{float(self.offset)!r}"

    def _centred(self, A: Samples) -> Floats:
        X = dense(A) + float(self.offset)
        if not (X > 0.0).all():
            i, j = map(int, np.argwhere(X <= 0.0)[0])
            raise DomainError(
                f"Input X has {X[i, j] - float(self.offset):g} in row {i}, column {j}; the parts of a composition are "
                "positive. Replace zeros, or add an offset to all parts."
            )
        logs = np.log(X)
        return logs - logs.mean(axis=1)[:, None]

    def _images(self, A: Samples) -> Vectors:
        assert isinstance(A, Vectors)
        return Vectors(self.prepare(A).derived[self._key].astype(A.X.dtype, copy=False))

    def _sides(self, A: Samples, B: Samples) -> tuple[Vectors, Vectors]:
        left = self._images(A)
        return left, left if B is A else self._images(B)

    def block(self, A: Samples, B: Samples) -> Floats:
        """Return the kernel of the centred logarithms."""
        A, B = packed_pair(A, B, self._ready)
        return self._inner.block(*self._sides(A, B))

    def _diag(self, A: Samples) -> Floats:
        """Return the diagonal of the kernel of the centred logarithms."""
        return self._inner.diag(self._images(A))

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the centred logarithms."""
        if self.length_scale is not None:
            raise self._lacks("a finite feature map")
        return self._images(A).X, None

    def _feature_count(self, A: Samples) -> int | None:
        """Return the number of parts."""
        return self._images(A).width if self.length_scale is None else None

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the derivative in the length scale, if there is one."""
        return np.empty(0) if self.length_scale is None else self._inner.pullback(*self._sides(A, B), W)

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the derivative in the centred logarithms, less its mean, over the parts."""
        G = self._inner.pullback_inputs(*self._sides(A, B), W)
        return (G - G.mean(axis=1)[:, None]) / (dense(A) + float(self.offset))
