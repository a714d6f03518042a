"""Dense: the whole Gram matrix in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats, Index, Indices
from mercer.budget import UNLIMITED, Memory, Plan, Resources
from mercer.constraints import OneOf, Optional
from mercer.domains import Samples
from mercer.domains.samples import packed
from mercer.errors import CapabilityError
from mercer.gram.expansion import Expansion, FeatureExpansion
from mercer.gram.gram import Cross, Gram, GramSpec, gram_plan
from mercer.gram.repair import POLICIES, Mend, Repair, mended, repair_plan
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import Kernel, fill

__all__ = ["Dense"]
__public__ = __all__


class Dense(GramSpec):
    r"""The Gram matrix as one array: fastest while 8 n^2 bytes fit.

    Seed: [STS] Definition 1, Eq. (9); [HSS] Definition 1, Eq. (8); Section 2.2.4 on negative squares.

    Parameters
    ----------
    indefinite : {None, "reject", "clip", "flip", "shift"}, default None
        What is done about negative eigenvalues, K = U diag(lambda) U^T. None: nothing, the kernel is trusted.
        "reject": NotPositiveDefinite is raised, with the quotient that shows it. "clip": max(lambda, 0), the nearest
        positive definite matrix. "flip": abs(lambda), the form of the Krein space made a norm. "shift": minus the least
        eigenvalue is added to all, the smallest multiple of the identity that helps.

    Notes
    -----
    Offers products and rows; direct solvers factor the array in place. Half of it is computed.
    The plan is compared with the memory budget before anything is allocated.

    An indefinite k with finitely many negative squares is the difference of two positive definite kernels, an inner
    product of a Krein space: "clip" forgets the negative part, "flip" adds it instead. A policy belongs to the training
    samples. With N the eigenvectors of negative eigenvalues the fitted function at new ones is that of k itself with
    coefficients c - t N N^T c (t = 1 for "clip", 2 for "flip"), which gives the repaired values at the training
    samples; usually no coefficient is zero then. After "shift" the coefficients are used as they are: what was added
    to the diagonal says nothing about new samples, as the ridge does not. A part of a repaired matrix (``take``) is a
    part of it, not repaired again, so that functions found on parts are functions on the whole. Kernels that are
    conditionally positive definite of order 1 are judged and repaired on vectors of sum zero. Negative eigenvalues
    within rounding are left alone, and a definite matrix is not changed in a single bit. A policy costs a Cholesky
    factor if there is nothing to do, else eigenvectors: some 5 n^3 operations and three more matrices of memory.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Gaussian
    >>> K = Dense().build(Gaussian(1.0), Vectors.pack([[0.0], [1.0]]))
    >>> (K @ np.ones(2)).round(3)
    array([1.607, 1.607])
    >>> from mercer.kernels import Precomputed
    >>> similar = Precomputed().pack([[1.0, 2.0], [2.0, 1.0]])
    >>> K = Dense(indefinite="flip").build(Precomputed(), similar)
    >>> K.array.round(6)
    array([[2., 1.],
           [1., 2.]])
    >>> print(K.repair)
    flip: 1 of 2 eigenvalues was negative (the least -1, the largest 3); the matrix was changed by 63.2 %
    """

    exact = True
    differentiable = True
    stored = True

    constraints = {"indefinite": Optional(OneOf(*POLICIES))}

    def __init__(self, *, indefinite: str | None = None) -> None:
        self.indefinite = indefinite

    def plan(self, kernel: Kernel, n: int, width: int = 1, memory: Memory = None) -> Plan:
        """Return the one large buffer, and with a policy those of eigenvectors."""
        plan = gram_plan(repr(kernel), n)
        return plan if self.indefinite is None else repair_plan(plan, n)

    def build(
        self, kernel: Kernel, samples: Samples, resources: Resources = UNLIMITED, array: Floats | None = None
    ) -> DenseGram:
        """Compute the matrix in float64, in an (n, n) array that is given or allocated."""
        samples = packed(samples, kernel.pack)
        self.check()
        kernel.check()
        if array is None:
            self.plan(kernel, len(samples), memory=resources.memory).require(resources.memory)
        samples = kernel.prepare(samples)
        K = np.empty((len(samples), len(samples))) if array is None else array
        comparison = Comparison(kernel, samples, samples, np.float64)
        fill(kernel, comparison, K, n_threads=resources.n_threads, monitor=resources.monitor)
        if self.indefinite is not None:
            mend = mended(K, self.indefinite, kernel.order or 0)
            if mend is not None:
                return MendedGram(kernel, samples, K, resources, mend)
        return DenseGram(kernel, samples, K, resources)


class DenseGram(Gram):
    """A Gram matrix in memory, as an operator."""

    stored = True

    repair: Repair | None = None  # what a policy has changed

    def __init__(self, kernel: Kernel, samples: Samples, array: Floats, resources: Resources = UNLIMITED) -> None:
        self.kernel, self.samples, self.resources = kernel, samples, resources
        self._array: Floats | None = array

    @property
    def array(self) -> Floats:
        """The matrix; it must not be written to."""
        if self._array is None:
            raise CapabilityError(
                "the Gram matrix was given to a solver that overwrote it, so no more products can be taken; "
                "a Gram gives its array away once. Build it again."
            )
        return self._array

    def release(self) -> Floats:
        """Hand over the array, to be overwritten; the Gram has no numbers afterwards."""
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


class MendedGram(DenseGram):
    """A Gram matrix in memory that a policy has changed; its functions are made of the kernel as it is.

    Parameters
    ----------
    kernel, samples, array, resources : as in DenseGram
    mend : Mend
        Over the samples for which the matrix was repaired.
    source : Samples, optional
        Those samples; None if they are `samples`.
    index : (n,) array of int, optional
        Positions of `samples` among them.
    """

    def __init__(
        self,
        kernel: Kernel,
        samples: Samples,
        array: Floats,
        resources: Resources,
        mend: Mend,
        source: Samples | None = None,
        index: Indices | None = None,
    ) -> None:
        super().__init__(kernel, samples, array, resources)
        self.mend, self.repair = mend, mend.repair
        self.source = samples if source is None else source
        self.index = np.arange(len(samples)) if index is None else index

    def take(self, index: Index) -> MendedGram:
        """Return the part of some samples, a copy: it is as positive definite as the whole."""
        array, place = self.array[index][:, index], self.index[index]
        return MendedGram(
            self.kernel, self.samples.take(index), array, self.resources, self.mend, self.source, place
        )  # fmt: skip

    def cross(self, T: Samples) -> Cross:
        """Return the operator between new samples and these under the same repair."""
        T = packed(T, self.kernel.pack)
        if not self.mend.vectors.shape[1]:
            return super().cross(T)
        return MendedCross(Cross(self.kernel, T, self.source, self.resources), self.mend, self.index)

    def expand(self, solution: Any, intercept: Any = 0.0) -> Expansion | FeatureExpansion:
        """Return the fitted function: that of the kernel itself, with coefficients that make up for the repair."""
        if not self.mend.vectors.shape[1]:
            return super().expand(solution, intercept)
        coef, constant = self.mend.coefficients(_spread(solution.coef, self.index, len(self.source)))
        return Expansion(
            self.kernel, self.source.landmarks(), coef, np.asarray(intercept, dtype=float) + constant
        )  # fmt: skip


class MendedCross(Cross):
    """The matrix between new samples and training samples whose own matrix was repaired."""

    def __init__(self, cross: Cross, mend: Mend, index: Indices) -> None:
        self.inner, self.mend, self.index = cross, mend, index
        self.shape = cross.shape[0], len(index)

    def __matmul__(self, V: Floats) -> Floats:
        """Return the product with V of shape (n,) or (n, k)."""
        coef, constant = self.mend.coefficients(_spread(V, self.index, self.inner.shape[1]))
        return self.inner @ coef + constant

    def to_dense(self) -> Floats:
        """Return the matrix as a new array, if the memory budget allows it."""
        K, N = self.inner.to_dense(), self.mend.vectors
        K -= (K @ N - self.mend.means) @ (self.mend.factor * N.T)
        return np.ascontiguousarray(K[:, self.index])


def _spread(V: Any, index: Indices, n: int) -> Floats:
    """Return coefficients of some samples as coefficients of all n."""
    V = np.asarray(V, dtype=float)
    wide = np.zeros((n, *V.shape[1:]))
    wide[index] = V
    return wide
