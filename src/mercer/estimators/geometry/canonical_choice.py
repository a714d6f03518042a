r"""How much the norm should count in canonical correlations: correlations of left-out samples, or of shuffled views.

Symbols: as in `canonical`; z_i the coordinates of sample i in which the constraint's matrix is I, M the cross matrix of
two views in them; delta_i the weight that is left out, and c_i = N delta_i / (N - delta_i).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.estimators.geometry.canonical import Basis, canonical, correlations, cross_matrix, shrinkage

__all__ = ["left_out_correlation", "shuffled_gap"]

_STEPS = 200
_CLOSE = 1e-6  # scores of left-out samples that change less have been found
_ALONE = 1e-9  # of what a sample leaves behind when it is left out

Penalty = Callable[[int, Any], Any]


def left_out_correlation(
    bases: Sequence[Basis],
    w: Floats,
    taus: Sequence[float] | Floats,
    penalty: Penalty,
    stop: Callable[[], bool] = bool,
) -> tuple[float, float]:
    r"""Correlation of the first pair of scores when each sample is scored by directions found without it.

    .. math:: \mathrm{corr}_i\big(\langle w_x^{(-i)}, \phi(x_i) - m_x^{(-i)} \rangle,
        \langle w_u^{(-i)}, \phi(u_i) - m_u^{(-i)} \rangle\big)

    Leaving out sample i changes covariances by one product each, :math:`c_i z_i z_i^\top`, and inverses by the formula
    of Sherman and Morrison, so that all n problems are iterated side by side from the solution of the whole.

    Seed: [STS] Section 5.2 (tau is to be chosen, lest correlations be spurious).

    Parameters
    ----------
    bases : sequence of Basis
    w : (n,) array
        Weights: of a sample of weight above one, one copy is left out.
    taus : sequence of float
        One for each view.
    penalty : callable
        ``penalty(view, N)`` returns p of a view when the weights sum to N, an array like N.
    stop : callable, optional
        Called before each step; a true answer ends it.

    Returns
    -------
    correlation : float
        For more than two views, the mean over pairs; -1 where a sample alone determines a direction, so that nothing is
        left without it.
    change : float
        Change of the scores in the last step, relative: above 1e-6 if the iteration was given up after 200 steps.

    Notes
    -----
    Cost O(n r^2) for each step. The scale of the norm is that of all samples.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Linear
    >>> from mercer.estimators.geometry.canonical import basis_of
    >>> t = np.arange(8.0)[:, None]
    >>> bases = [basis_of(Dense().build(Linear(), Vectors.pack(X)), np.ones(8)) for X in (t, -t)]
    >>> round(left_out_correlation(bases, np.ones(8), [0.1, 0.1], lambda view, total: total)[0], 6)
    1.0
    """
    k, total = len(bases), np.float64(w.sum())
    delta = np.minimum(w, 1.0)
    if not np.all(total - delta > 0.0):
        return -1.0, 0.0
    c = total * delta / (total - delta)
    whole = [float(penalty(v, total)) for v in range(k)]
    heights = [shrinkage(b.values, tau, p) for b, tau, p in zip(bases, taus, whole, strict=True)]
    Z = [b.vectors * h / np.sqrt(w)[:, None] for b, h in zip(bases, heights, strict=True)]
    views = []
    for v, (basis, tau) in enumerate(zip(bases, taus, strict=True)):
        inside = (1.0 - tau) * basis.values + tau * whole[v]
        less = (penalty(v, total - delta) - whole[v]) * tau
        views.append(_Downdated(Z[v], 1.0 + less[:, None] / inside, (1.0 - tau) * c))
    if any(view.is_degenerate for view in views):
        return -1.0, 0.0
    M = {(a, b): cross_matrix(bases, heights, a, b) for a in range(k) for b in range(k) if a != b}
    start = canonical(bases, taus, whole, 1).directions
    P = [np.tile((d / h[:, None]).T, (len(w), 1)) for d, h in zip(start, heights, strict=True)]

    def pull(a: int) -> Floats:
        found = np.zeros_like(P[a])
        for b in range(k):
            if b != a:
                found += P[b] @ M[a, b].T - Z[a] * (c * _dots(Z[b], P[b]))[:, None]
        return found

    scores, change = [_dots(z, p) for z, p in zip(Z, P, strict=True)], np.inf
    for _ in range(_STEPS):
        _step(P, views, pull)
        before, scores = scores, [_dots(z, p) for z, p in zip(Z, P, strict=True)]
        change = max(_relative(one, other) for one, other in zip(scores, before, strict=True))
        if change <= _CLOSE or stop():
            break
    factor = total / (total - delta) * np.sqrt(total - delta)
    return float(correlations([(factor * s)[:, None] for s in scores], w)[0]), change


def _relative(one: Floats, other: Floats) -> float:
    return float(np.linalg.norm(one - other)) / (float(np.linalg.norm(one)) or 1.0)


def _step(P: list[Any], views: Sequence[_Downdated], pull: Callable[[int], Floats]) -> None:
    """One step of all problems, in place: two views take turns, more move together, shifted to be positive."""
    if len(P) == 2:
        for v in range(2):
            P[v][...] = views[v].solve(pull(v))
            P[v] /= np.sqrt(views[v].square(P[v]))[:, None]
        return
    moved = [p + view.solve(pull(v)) for v, (p, view) in enumerate(zip(P, views, strict=True))]
    square = sum(view.square(p) for view, p in zip(views, moved, strict=True)) / len(P)
    for p, new in zip(P, moved, strict=True):
        p[...] = new / np.sqrt(square)[:, None]


class _Downdated:
    """For every i the matrix diag(e_i) - b_i z_i z_i^T of one view's constraint without sample i."""

    def __init__(self, Z: Floats, e: Floats, b: Floats) -> None:
        self.Z, self.e, self.b = Z, e, b
        self.far = Z / e
        self.left = 1.0 - b * _dots(Z, self.far)
        self.is_degenerate = not np.all(self.left > _ALONE)

    def solve(self, Q: Floats) -> Floats:
        """Return for every i the solution for row i of Q."""
        return Q / self.e + self.far * (self.b * _dots(self.far, Q) / self.left)[:, None]

    def square(self, P: Floats) -> Floats:
        """Return for every i the quadratic form at row i of P, kept from zero."""
        return np.maximum(_dots(self.e * P, P) - self.b * _dots(self.Z, P) ** 2, np.finfo(float).tiny)


def _dots(A: Floats, B: Floats) -> Floats:
    return np.einsum("ij,ij->i", A, B)


def shuffled_gap(
    bases: Sequence[Basis],
    taus: Sequence[float] | Floats,
    penalties: Sequence[float],
    orders: Sequence[Sequence[np.ndarray]],
) -> float:
    r"""Distance between the correlations of views as they are paired, and their mean when the pairs are shuffled.

    .. math:: \Big\| \rho - \frac{1}{B} \sum_b \rho^{(b)} \Big\|

    Without a penalty shuffled views are as correlated as true ones, and under a very large one none are: between the
    two there is a tau that separates them best.

    Seed: [STS] Section 5.2, with the choice of Hardoon, Szedmak and Shawe-Taylor (2004).

    Parameters
    ----------
    bases : sequence of Basis
    taus, penalties : sequences of float
        tau and p of each view.
    orders : sequence of sequences of (n,) arrays of int
        For each shuffle, the order of the samples in all views but the first.

    Examples
    --------
    >>> x = Basis(np.array([[1.0], [-1.0], [0.0]]) / np.sqrt(2), np.array([1.0]), np.zeros(1))
    >>> round(shuffled_gap([x, x], [0.0, 0.0], [1.0, 1.0], [[np.array([0, 2, 1])]]), 3)
    0.5
    """
    heights = [shrinkage(b.values, tau, p) for b, tau, p in zip(bases, taus, penalties, strict=True)]
    true = _spectrum(bases, heights)
    null = np.zeros_like(true)
    for order in orders:
        moved = [bases[0], *(_shuffled(b, index) for b, index in zip(bases[1:], order, strict=True))]
        null += _spectrum(moved, heights)
    return float(np.linalg.norm(true - null / len(orders)))


def _shuffled(basis: Basis, order: np.ndarray) -> Basis:
    return Basis(basis.vectors[order], basis.values, basis.means)


def _spectrum(bases: Sequence[Basis], heights: Sequence[Floats]) -> Floats:
    """All correlations, the largest first."""
    if len(bases) == 2:
        M = cross_matrix(bases, heights, 0, 1)
        square = M @ M.T if M.shape[0] <= M.shape[1] else M.T @ M
        return np.sqrt(np.maximum(np.linalg.eigvalsh(square)[::-1], 0.0))
    k = len(bases)
    A = [[np.zeros((len(h), len(h))) if a == b else cross_matrix(bases, heights, a, b) for b in range(k)]
         for a, h in enumerate(heights)]  # fmt: skip
    return np.linalg.eigvalsh(np.block(A))[::-1] / (k - 1)
