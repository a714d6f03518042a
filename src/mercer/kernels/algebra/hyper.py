"""Kernels between kernels' arguments: hyperkernels, which make kernels themselves elements of a feature space.

Symbols: x = (u, u') a pair, k a kernel with values in [-1, 1], lambda the decay.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import InstanceOf, Interval
from mercer.domains import Pairs, Samples
from mercer.domains.samples import packed_pair
from mercer.errors import ParameterError
from mercer.kernels.kernel import Kernel
from mercer.kernels.protocols import Reason, alike

__all__ = ["Hyperkernel"]
__public__ = __all__

_PAIRS = 64  # compared at once: their block is small, and only its diagonal is used


class Hyperkernel(Kernel):
    r"""Harmonic hyperkernel: a kernel on pairs, whose functions of a pair are kernels again.

    .. math:: k\big((u, u'), (v, v')\big) = \frac{1 - \lambda}{1 - \lambda \, k_1(u, u') \, k_1(v, v')}

    Seed: [STS] Section 7 names hyperkernels (Ong, Smola and Williamson, 2005).

    Parameters
    ----------
    kernel : Kernel
        Positive definite with k(x, x) = 1, so that its values lie in [-1, 1].
    decay : float, default 0.5
        lambda, between 0 and 1: how much higher powers of the kernel count.

    Notes
    -----
    Domain Pairs of two objects of the kernel's domain. Positive definite: a power series with positive
    coefficients in k(u, u') k(v, v'). A function sum_i c_i k((u_i, u_i'), .) with c_i >= 0 is itself a positive
    definite kernel, since it is a power series of k with positive coefficients wherever k_1(u_i, u_i') >= 0;
    `mercer.hilbert.learned_kernel` learns one from labels. Not strict: (u, u') and (u', u) have the same image.
    Cost O(m + n) evaluations of the kernel and O(1) per pair of pairs.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> Hyperkernel(Gaussian(1.0))([([0.0], [0.0]), ([0.0], [9.0])]).round(3)
    array([[1. , 0.5],
           [0.5, 0.5]])
    """

    domain = Pairs
    formula = r"(1 - \lambda) / (1 - \lambda \, k_1(u, u') \, k_1(v, v'))"
    cost = "O(m + n) values of the kernel"
    bounded = True
    constraints = {"kernel": InstanceOf(Kernel), "decay": Interval(0.0, 1.0, closed="neither")}

    def __init__(self, kernel: Kernel, decay: float = 0.5) -> None:
        self.kernel = kernel
        self.decay = decay

    def check(self) -> Any:
        """Raise ParameterError unless the kernel is positive definite and normalised."""
        super().check()
        if self.kernel.order != 0 or not self.kernel.normalised:
            raise ParameterError(
                f"Hyperkernel was given {self.kernel!r}; a positive definite kernel with k(x, x) = 1 is needed, so "
                "that its values stay below one. Use kernel.normalized()."
            )
        return self

    def reasons(self, width: int | None) -> dict[str, Reason]:
        """Return why it is not strict."""
        return alike(Reason(False, "the pairs (u, v) and (v, u) have the same image", points=2))

    def pack(self, X: Any) -> Samples:
        """Pack pairs of objects of the kernel's domain."""
        return Pairs.pack(X, self.kernel.pack, self.kernel.pack)

    def _prepare(self, A: Samples) -> Samples:
        """Evaluate the kernel within every pair, once."""
        key = f"hyper:{self!r}"
        return A if key in A.derived else A.with_derived(key, self.within(A))

    def within(self, A: Samples) -> Floats:
        """Return k(u, u') for each pair."""
        key = f"hyper:{self!r}"
        if key in A.derived:
            return A.derived[key]
        assert isinstance(A, Pairs)
        left, right = self.kernel.prepare(A.left), self.kernel.prepare(A.right)
        values = [
            np.diagonal(self.kernel.block(left.take(index[:, 0]), right.take(index[:, 1])))
            for index in (A.index[start : start + _PAIRS] for start in range(0, len(A), _PAIRS))
        ]
        return np.concatenate(values).astype(float) if values else np.empty(0)

    def block(self, A: Samples, B: Samples) -> Floats:
        """Apply the series to products of values within pairs."""
        A, B = packed_pair(A, B, self._ready)
        return (1.0 - self.decay) / (1.0 - self.decay * np.outer(self.within(A), self.within(B)))

    def _diag(self, A: Samples) -> Floats:
        """Apply the series to squares of values within pairs."""
        return (1.0 - self.decay) / (1.0 - self.decay * self.within(A) ** 2)
