"""Two Gram matrices multiplied entry by entry: forms and sums of the product, which is not stored unless both are.

Symbols: H = K~ o L~, (n, n); F, G factors with K~ = F F^T, L~ = G G^T, so that H_ij = (f_i^T f_j)(g_i^T g_j); w weights
of the n samples.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mercer.arrays import Floats
from mercer.inference.forms import DenseForm, FactorForm, Form, inner, product
from mercer.runtime.tiling import run_tasks, spans

__all__ = ["Entrywise", "trace_of"]

_ROWS = 256  # of two Grams that are read side by side
_WORK = 100_000_000  # multiplications of a task: some 10 milliseconds


class Entrywise:
    """The product H of two matrices, entry by entry.

    Parameters
    ----------
    first, second : Form
        K~ and L~, held in any way that gives entries or factors.
    """

    def __init__(self, first: Form, second: Form) -> None:
        self.first, self.second, self.n, self.resources = first, second, first.n, first.resources

    @cached_property
    def _stored(self) -> DenseForm | None:
        if isinstance(self.first, DenseForm) and isinstance(self.second, DenseForm):
            return DenseForm(self.first.array * self.second.array, self.resources)
        return None

    def forms(self, W: Floats) -> Floats:
        """Return w^T H w for each row of W, (B,)."""
        if self._stored is not None:
            return self._stored.forms(W)
        first, second = self.first, self.second
        if isinstance(first, FactorForm) and isinstance(second, FactorForm):
            F, G = first.factor, second.factor
            if F.shape[1] * G.shape[1] <= self.n:  # otherwise rows of H are less work
                return self._factor_forms(np.ascontiguousarray(F.T), G, W)
        out = np.zeros(len(W))
        for part, H in self._rows():
            out += np.einsum("bi,bi->b", product(W, H.T), W[:, part])
        return out

    def _factor_forms(self, turned: Floats, G: Floats, W: Floats) -> Floats:
        """Return the squared lengths of sum_i w_i f_i (x) g_i."""
        out = np.empty(len(W))

        def work(group: slice) -> None:
            for b in range(group.start, group.stop):
                out[b] = np.sum(((turned * W[b]) @ G) ** 2)

        groups = spans(len(W), max(1, _WORK // max(1, turned.size * G.shape[1])))
        run_tasks(groups, work, n_threads=self.resources.n_threads)
        return out

    def sums(self) -> Floats:
        """Return the sums of the rows of H, (n,)."""
        first, second = self.first, self.second
        if isinstance(first, DenseForm) and isinstance(second, DenseForm):
            return np.einsum("ij,ij->i", first.array, second.array)
        if isinstance(first, FactorForm) and isinstance(second, FactorForm):
            return np.einsum("is,is->i", product(first.factor, product(first.factor.T, second.factor)), second.factor)
        return np.concatenate([H.sum(axis=1) for _, H in self._rows()])

    def squares(self) -> float:
        """Return the sum of squares of all entries of H."""
        return sum(float(np.vdot(H, H)) for _, H in self._rows())

    def _rows(self):
        """Yield rows of H, some at a time, and which they are."""
        for part in spans(self.n, _ROWS):
            yield part, self.first.rows(part) * self.second.rows(part)


def trace_of(first: Form, second: Form) -> float:
    """Return tr(K~ L~)."""
    if isinstance(first, DenseForm) and isinstance(second, DenseForm):
        return inner(first.array, second.array)
    if isinstance(first, FactorForm) and isinstance(second, FactorForm):
        return float(np.sum(product(first.factor.T, second.factor) ** 2))
    return sum(float(np.vdot(first.rows(part), second.rows(part))) for part in spans(first.n, _ROWS))
