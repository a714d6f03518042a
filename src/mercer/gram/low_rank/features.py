"""Features: K = F F^T for a kernel with a finite feature map."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats, Index, Indices
from mercer.budget import UNLIMITED, Memory, Plan, Resources
from mercer.domains import Samples
from mercer.domains.samples import packed
from mercer.errors import CapabilityError
from mercer.gram.expansion import Expansion, FeatureExpansion
from mercer.gram.gram import Gram, GramSpec
from mercer.kernels.kernel import Kernel, feature_count, offers, overflow_error
from mercer.kernels.protocols import HasFeatures
from mercer.runtime.compiled import compiled

__all__ = ["Features"]
__public__ = __all__

_ROWS = 4096  # rows of the factor that are in memory at once as a dense array
_FEW = 6  # if fewer than one in this many numbers is nonzero, a product reads only those


class Features(GramSpec):
    r"""The Gram matrix through a finite feature map, which is exact: K = F F^T.

    Seed: [STS] Eqs. (5)-(8), (15)-(16): primal and dual give the same function.

    Notes
    -----
    Offers products, rows and factors; cheaper than Dense when there are fewer features than samples.
    Features may be sparse. The kernel must list "features" in its capabilities.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Linear
    >>> K = Features().build(Linear(), Vectors.pack([[1.0], [2.0]]))
    >>> K @ np.ones(2)
    array([3., 6.])
    """

    exact = True
    low_rank = True

    def plan(self, kernel: Kernel, n: int, width: int = 1, memory: Memory = None) -> Plan:
        """Return the feature matrix and the normal equations of `width` features."""
        buffers = {"feature matrix": 8 * n * width, "normal equations": 8 * width * width}
        return Plan(f"the features of {kernel!r} on {n} samples", buffers, ("gram=Dense()", "gram=Tiles()"))

    def build(self, kernel: Kernel, samples: Samples, resources: Resources = UNLIMITED) -> FeatureGram:
        """Compute the features once."""
        samples = packed(samples, kernel.pack)
        kernel.check()
        if not offers(kernel, HasFeatures):
            raise CapabilityError(
                f"Features() needs a kernel with a finite feature map; {kernel!r} has none. "
                "Use gram=Dense() or gram=Tiles()."
            )
        samples = kernel.prepare(samples)
        count = feature_count(kernel, samples)
        if count is not None and not _is_sparse(samples):
            self.plan(kernel, len(samples), count, resources.memory).require(resources.memory)
        matrix, keys = kernel.features(samples)
        gram = FeatureGram(kernel, samples, matrix, keys, resources)
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(gram.diag()).all()
        if not finite:
            raise overflow_error(kernel)
        return gram


class FeatureGram(Gram):
    """A Gram matrix with a finite factor, as an operator."""

    def __init__(
        self, kernel: Kernel, samples: Samples, matrix: Any, keys: Any, resources: Resources = UNLIMITED
    ) -> None:
        self.kernel, self.samples, self.resources = kernel, samples, resources
        self.matrix, self.keys = matrix, keys

    def __matmul__(self, V: Floats) -> Floats:
        """Return F (F^T V)."""
        return np.asarray(self.matrix @ (self.matrix.T @ np.asarray(V, dtype=float)))

    def moment(self, V: Floats) -> Floats:
        """Return F^T V, (r,) or (r, k)."""
        V = np.asarray(V, dtype=float)
        if (
            V.ndim == 2
            and isinstance(self.matrix, np.ndarray)
            and self.matrix.dtype == V.dtype
            and _FEW * np.count_nonzero(V) < V.size
        ):
            out = np.zeros((V.shape[1], self.matrix.shape[1]))
            _add_rows(self.matrix, V, out)
            return out.T
        return np.asarray(self._turned @ V)

    def times(self, weights: Floats) -> Floats:
        """Return F @ weights, (n,) or (n, k)."""
        return np.asarray(self.matrix @ np.asarray(weights, dtype=float))

    @cached_property
    def _turned(self) -> Any:
        """F^T; of sparse features by rows, whose products read and write in order."""
        return self.matrix.T.tocsr() if sp.issparse(self.matrix) else self.matrix.T

    def diag(self) -> Floats:
        """Return the squared lengths of the features."""
        if sp.issparse(self.matrix):
            return np.asarray(self.matrix.multiply(self.matrix).sum(axis=1), dtype=float).ravel()
        return np.einsum("ij,ij->i", self.matrix, self.matrix, dtype=float)

    def factor(self, rows: slice = slice(None)) -> Floats:
        """Return rows of F as a dense float64 array."""
        part = self.matrix[rows]
        return np.asarray(part.toarray() if sp.issparse(part) else part, dtype=float)

    def normal(self, weight: Floats, rhs: Floats) -> tuple[Floats, Floats]:
        """Return F^T W F and F^T W rhs, streamed over blocks of rows in a fixed order."""
        n, D = self.matrix.shape
        weight = np.broadcast_to(np.asarray(weight, dtype=float), (n,))
        rhs = np.asarray(rhs, dtype=float)
        if sp.issparse(self.matrix):
            scaled = sp.diags_array(weight) @ self.matrix
            return np.asarray((self.matrix.T @ scaled).toarray(), dtype=float), np.asarray(scaled.T @ rhs)
        square, moment = np.zeros((D, D)), np.zeros((D, *rhs.shape[1:]))
        for start in range(0, n, _ROWS):
            F = self.factor(slice(start, start + _ROWS))
            WF = F * weight[start : start + _ROWS, None]
            square += F.T @ WF
            moment += WF.T @ rhs[start : start + _ROWS]
        return square, moment

    def rows(self, index: Indices, columns: Index = slice(None), out: Floats | None = None) -> Floats:
        """Return K[index][:, columns]."""
        found = self.matrix[index] @ self.matrix[columns].T
        found = np.asarray(found.toarray() if sp.issparse(found) else found, dtype=float)
        if out is None:
            return found
        out[...] = found
        return out

    @property
    def entry_cost(self) -> float:
        """Two operations a feature."""
        return 2.0 * self.matrix.shape[1]

    def update(self, index: Indices, V: Floats, out: Floats, rows: Indices | None = None) -> None:
        """Add K[:, index] @ V to `out`."""
        matrix = self.matrix if rows is None else self.matrix[rows]
        out += np.asarray(matrix @ (self.matrix[index].T @ V))

    def take(self, index: Index) -> FeatureGram:
        """Return the Gram of some samples; the features stay those of all."""
        return FeatureGram(self.kernel, self.samples.take(index), self.matrix[index], self.keys, self.resources)

    def expand(self, solution: Any, intercept: Any = 0.0) -> Expansion | FeatureExpansion:
        """Return the function in its weights; they come from the solver, or are F^T coef."""
        weights = solution.weights
        if weights is None:
            weights = np.asarray(self.matrix.T @ np.asarray(solution.coef, dtype=float))
        return FeatureExpansion(self.kernel, self.keys, weights, np.asarray(intercept, dtype=float))


def _is_sparse(samples: Samples) -> bool:
    return bool(getattr(samples, "is_sparse", True))


@compiled
def _add_rows(F, V, out):
    """Add V^T F to out, row by row of F, for the numbers of V that are not zero."""
    for i in range(V.shape[0]):
        for j in range(V.shape[1]):
            v = V[i, j]
            if v != 0.0:
                for r in range(F.shape[1]):
                    out[j, r] += v * F[i, r]
