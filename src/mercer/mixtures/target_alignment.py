r"""Weights by alignment with the targets: no machine is needed.

Symbols: K_t^c the centred Gram matrices, <A, B> the sum of w_i w_j A_ij B_ij, M_st = <K_s^c, K_t^c>, a_t = <K_t^c, Y
Y^T> with Y the centred targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import nnls

from mercer.arrays import Floats
from mercer.mixtures.mixing import Mixture

__all__ = ["Alignment", "inner_products"]
__public__ = ["Alignment"]

_ENTRIES = 2**22  # of all matrices that are centred at once


class Alignment(Mixture):
    r"""Weights in two stages: those of the centred sum that is best aligned with the targets, then the machine.

    .. math:: \max_{d \ge 0} \; \frac{\langle K_d^c, Y Y^\top \rangle}{\|K_d^c\|_F}, \qquad
              d \propto \arg\min_{v \ge 0} \; v^\top M v - 2 v^\top a, \qquad \sum_t d_t = 1

    Seed: [STS] Section 7 learns kernels for a machine; the alignment of centred kernels (ALIGNF) is due to Cortes,
    Mohri and Rostamizadeh (2012), with weights that sum to one where theirs have length one.

    Notes
    -----
    Targets are +1 and -1, numbers, or, of more classes, a column for each. Cost O(m^2 n^2), no machine. Where no kernel
    is aligned with the targets at all the weights are equal.

    Examples
    --------
    >>> Alignment()
    Alignment()
    """

    def of(self, grams: Sequence[Any], Y: Floats, w: Floats) -> Floats:
        """Return the weights, (m,), from Grams with rows, targets (n, k) and sample weights."""
        M, a = inner_products(grams, w, Y)
        return self.weights(M, a)

    def weights(self, M: Floats, a: Floats) -> Floats:
        """Return the weights from the inner products of the centred matrices with each other and with the targets."""
        sizes = np.sqrt(np.maximum(np.diagonal(M), 0.0))
        sizes = np.where(sizes > 0.0, sizes, 1.0)
        A = M / np.outer(sizes, sizes)
        values, vectors = np.linalg.eigh(0.5 * (A + A.T))
        values = np.maximum(values, 1e-12 * max(float(values[-1]), 1.0))  # kernels that are alike share
        root = np.sqrt(values)
        right = (vectors.T @ (a / sizes)) / root
        v = nnls((vectors * root).T, right)[0] / sizes
        total = float(v.sum())
        return v / total if total > 0.0 else np.full(len(a), 1.0 / len(a))


def inner_products(grams: Sequence[Any], w: Floats, Y: Floats | None = None) -> tuple[Floats, Floats]:
    """Return the inner products of centred Gram matrices, (m, m), and those with the centred targets, (m,).

    Parameters
    ----------
    grams : sequence of Gram
        With rows.
    w : (n,) array
        Sample weights.
    Y : (n, k) array, optional
        Targets; without, zeros are returned.

    Examples
    --------
    >>> class Rows:
    ...     def __matmul__(self, v):
    ...         return v
    ...
    ...     def rows(self, index):
    ...         return np.eye(3)[index]
    >>> inner_products([Rows()], np.ones(3))[0].round(6)
    array([[2.]])
    """
    n, m, share = len(w), len(grams), w / w.sum()
    means = [np.asarray(gram @ share, dtype=float) for gram in grams]
    root = np.sqrt(w)
    M, a = np.zeros((m, m)), np.zeros(m)
    Yc = None if Y is None else (Y - share @ Y) * root[:, None]
    step = max(1, _ENTRIES // max(m * n, 1))
    for begin in range(0, n, step):
        rows = np.arange(begin, min(begin + step, n))
        blocks = np.empty((m, len(rows), n))
        for t, gram in enumerate(grams):
            block = np.asarray(gram.rows(rows), dtype=float)
            block = block - means[t] - means[t][rows, None] + float(share @ means[t])
            blocks[t] = block * root[rows, None] * root
        flat = blocks.reshape(m, -1)
        M += flat @ flat.T
        if Yc is not None:
            a += flat @ (Yc[rows] @ Yc.T).reshape(-1)
    return M, a
