"""A Gram matrix computed elsewhere, as a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.domains import Samples, Similarities
from mercer.domains.samples import packed_pair
from mercer.kernels.comparison import View
from mercer.kernels.kernel import Kernel

__all__ = ["Precomputed"]
__public__ = __all__


class Precomputed(Kernel):
    r"""Precomputed kernel: similarities are looked up in a matrix that you give instead of data.

    .. math:: k(x_i, x_j) = K_{ij}

    Seed: [HSS] Eq. (8), the Gram matrix; [STS] Definition 1, Eq. (9).

    Notes
    -----
    Domain Similarities: for training the square matrix of the samples among themselves, for new samples a
    matrix of shape (new, training). Features no; frequencies no; no parameters, so nothing to
    differentiate. `learn`, which fit calls, and the call on one matrix refuse a square matrix that is not
    symmetric. The kernel itself assumes that the matrix is positive semi-definite (order 0);
    estimators check the eigenvalues of up to 300 of the samples and warn of negative ones. Not assumed to be strict,
    universal, stationary, bounded or normalised. Similarities of new samples with themselves, where needed,
    are given by ``Similarities.pack(K, diagonal=...)``. Cost O(mn), one copy of the current tile.

    Examples
    --------
    >>> K = [[2.0, 1.0], [1.0, 2.0]]
    >>> Precomputed()(K)
    array([[2., 1.],
           [1., 2.]])
    >>> (0.5 * Precomputed())([[4.0, 6.0]], K)
    array([[2., 3.]])
    """

    synonyms = ("Gram matrix, given",)
    domain = Similarities
    formula = r"K_{ij}"
    cost = "O(mn)"

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Return self; refuse training similarities that are not symmetric."""
        assert isinstance(S, Similarities)
        S.check_symmetric()
        return self

    def __call__(self, X: Any, Y: Any = None, *, n_threads: int | None = None) -> Floats:
        """Return the matrix of similarities; without Y, X must be square and symmetric."""
        S = self.pack(X)
        if Y is None:
            self.learn(S)
        return super().__call__(S, Y, n_threads=n_threads)

    def block(self, A: Samples, B: Samples) -> Floats:
        """Return the entries of rows A and columns B, a copy."""
        A, B = packed_pair(A, B, self._ready)
        assert isinstance(A, Similarities) and isinstance(B, Similarities)
        return np.array(A.against(B))

    def tile(self, view: View) -> Floats:
        """Copy the tile out of the matrix."""
        A, B = view.sides
        assert isinstance(A, Similarities) and isinstance(B, Similarities)
        out = view.empty()
        np.copyto(out, A.against(B))
        return out

    def _diag(self, A: Samples) -> Floats:
        """Return the similarities of the samples with themselves."""
        assert isinstance(A, Similarities)
        return np.array(A.self_similarities(), dtype=float)
