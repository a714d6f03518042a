r"""Samples and their nearest centres, for several partitions of the same samples at once.

Symbols: n samples, R partitions, k clusters; ``U`` (n, R, k) with U_irt = sum over the members j of cluster t of s_j
K_ij; ``s`` how often a sample counts; ``ratio`` and ``mass``: the image of sample i has the weight ``mass_i`` and is
``ratio_i`` times that of K; ``sigma`` what is added to the squared length of every image.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Bools, Floats, Indices
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import run_tasks, spans

__all__ = ["assign", "totals"]

_ROWS = 8192  # samples at a time
_ROUNDING = 1e-13  # gain that is none, over the size of what is compared


def totals(U: Floats, s: Floats, mass: Floats, labels: Indices) -> tuple[Floats, Floats]:
    """Weights of the clusters, and sums of similarities within them.

    Parameters
    ----------
    U : (n, R, k) array
    s, mass : (n,) arrays
    labels : (n, R) array of int

    Returns
    -------
    masses : (R, k) array
        Sums of `mass` over members.
    links : (R, k) array
        Sums of s_i U_irt over the members i of cluster t.

    Examples
    --------
    >>> U = np.array([[[2.0, 1.0]], [[1.0, 2.0]]])
    >>> totals(U, np.ones(2), np.ones(2), np.array([[0], [1]]))
    (array([[1., 1.]]), array([[2., 2.]]))
    """
    masses, links = np.zeros(U.shape[1:]), np.zeros(U.shape[1:])
    _add_totals(U, s, mass, labels, masses, links)
    return masses, links


def assign(
    U: Floats, ratio: Floats, factor: Floats, norms: Floats, sigma: float, labels: Indices, n_threads: int | None = None
) -> tuple[Indices, Floats, Bools]:
    r"""Assign each sample to the cluster whose centre is nearest.

    .. math:: \arg\max_t \; 2 \langle \phi(x), \mu_t \rangle - \|\mu_t\|^2

    Parameters
    ----------
    U : (n, R, k) array
    ratio : (n,) array
    factor : (R, k) array
        One over the weight of a cluster; zero for an empty one.
    norms : (R, k) array
        Squared lengths of the centres; infinite for an empty cluster.
    sigma : float
    labels : (n, R) array of int
        Where the samples are; a sample stays unless another centre is nearer by more than rounding.
    n_threads : int, optional

    Returns
    -------
    found : (n, R) array of int
    scores : (n, R) array
        The maximum.
    moved : (n,) array of bool
        Whether the sample has another label than before in one of the partitions.

    Examples
    --------
    >>> U = np.array([[[2.0, 1.0]], [[1.0, 2.0]]])
    >>> assign(U, np.ones(2), np.ones((1, 2)), np.zeros((1, 2)), 0.0, np.array([[1], [1]]))[0]
    array([[0],
           [1]])
    """
    found, scores = labels.copy(), np.empty(labels.shape)
    moved = np.zeros(len(labels), dtype=np.bool_)

    def work(rows: slice) -> None:
        _assign(U[rows], ratio[rows], factor, norms, sigma, (found[rows], scores[rows], moved[rows]))

    run_tasks(spans(len(U), _ROWS), work, n_threads=n_threads)
    return found, scores, moved


@compiled
def _add_totals(U, s, mass, labels, masses, links):
    n, count, _ = U.shape
    for i in range(n):
        for r in range(count):
            t = labels[i, r]
            masses[r, t] += mass[i]
            links[r, t] += s[i] * U[i, r, t]


@compiled
def _assign(U, ratio, factor, norms, sigma, out):
    labels, scores, moved = out
    n, count, k = U.shape
    for i in range(n):
        for r in range(count):
            mine = labels[i, r]
            best = 2.0 * (U[i, r, mine] * ratio[i] + sigma) * factor[r, mine] - norms[r, mine]
            least = best + _ROUNDING * (abs(best) + abs(norms[r, mine]))
            where = mine
            for t in range(k):
                score = 2.0 * U[i, r, t] * ratio[i] * factor[r, t] - norms[r, t]
                if score > least:
                    best = least = score
                    where = t
            if where != mine:
                moved[i] = True
                labels[i, r] = where
            scores[i, r] = best
