"""Dense: the whole Gram matrix in memory."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats, Index, Indices
from mercer.budget import Plan, Resources
from mercer.domains import Samples
from mercer.errors import CapabilityError
from mercer.gram.gram import Gram, GramSpec, gram_plan
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import Kernel, fill

__all__ = ["Dense"]

_NOTHING = Resources()


class Dense(GramSpec):
    """The Gram matrix as one array: fastest while 8 n^2 bytes fit.

    Seed: [STS] Definition 1, Eq. (9); [HSS] Definition 1, Eq. (8). Ledger: F-GRAM.

    Notes
    -----
    Offers products and rows; direct solvers factor the array in place. Half of it is computed.
    The plan is compared with the memory budget before anything is allocated.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Gaussian
    >>> K = Dense().build(Gaussian(1.0), Vectors.pack([[0.0], [1.0]]))
    >>> (K @ np.ones(2)).round(3)
    array([1.607, 1.607])
    """

    def plan(self, kernel: Kernel, n: int, width: int = 1) -> Plan:
        """Return the one large buffer."""
        return gram_plan(repr(kernel), n)

    def build(self, kernel: Kernel, samples: Samples, resources: Resources = _NOTHING) -> DenseGram:
        """Compute the matrix in float64."""
        kernel.check()
        self.plan(kernel, len(samples)).require(resources.memory)
        samples = kernel.prepare(samples)
        K = np.empty((len(samples), len(samples)))
        comparison = Comparison(kernel, samples, samples, np.float64)
        fill(kernel, comparison, K, n_threads=resources.n_threads, monitor=resources.monitor)
        return DenseGram(kernel, samples, K, resources)


class DenseGram(Gram):
    """A Gram matrix in memory, as an operator."""

    def __init__(self, kernel: Kernel, samples: Samples, array: Floats, resources: Resources = _NOTHING) -> None:
        self.kernel, self.samples, self.resources = kernel, samples, resources
        self._array: Floats | None = array

    @property
    def array(self) -> Floats:
        """The matrix; it must not be written to."""
        if self._array is None:
            raise CapabilityError(
                "the Gram matrix was handed to a solver that overwrote it, so no more products can be taken; "
                "a Gram gives its array away once. Build it again."
            )
        return self._array

    def release(self) -> Floats:
        """Hand the array over, to be overwritten; the Gram has no numbers afterwards."""
        array, self._array = self.array, None
        return array

    def __matmul__(self, V: Floats) -> Floats:
        """Return K @ V."""
        return self.array @ np.asarray(V, dtype=float)

    def diag(self) -> Floats:
        """Return the diagonal."""
        return np.diagonal(self.array).copy()

    def rows(self, index: Indices, columns: Index = slice(None), out: Floats | None = None) -> Floats:
        """Return K[index][:, columns]."""
        if isinstance(columns, slice):
            found = self.array[index][:, columns]
        else:
            found = self.array[np.asarray(index)[:, None], np.arange(self.shape[0])[columns]]
        if out is None:
            return found
        out[...] = found
        return out

    @property
    def entry_cost(self) -> float:
        """Nothing: the entries are stored."""
        return 0.0

    def update(self, index: Indices, V: Floats, out: Floats, rows: Indices | None = None) -> None:
        """Add K[:, index] @ V to `out`."""
        if rows is None:
            out += self.array[index].T @ V  # rows are contiguous, and K is symmetric
        else:
            out += self.array[np.ix_(rows, index)] @ V

    def take(self, index: Index) -> DenseGram:
        """Return the Gram of some samples, a copy."""
        return DenseGram(self.kernel, self.samples.take(index), self.array[index][:, index], self.resources)

    def to_dense(self) -> Floats:
        """Return a copy of the matrix."""
        self_plan = Plan(f"a copy of {self!r}", {"Gram matrix": self.array.nbytes})
        self_plan.require(self.resources.memory)
        return self.array.copy()
