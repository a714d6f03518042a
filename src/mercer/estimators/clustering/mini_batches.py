"""k-means by mini-batches, in the coordinates of a Gram's factor.

Symbols: F (n, r) with K = F F^T; c_t the centres; s_i sample weights; N_t the weight that centre t has seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.estimators.clustering.lloyd import Cloud, seeded_labels
from mercer.gram import Gram, HasFactor
from mercer.problems import Status
from mercer.runtime.tiling import spans

__all__ = ["Batched", "mini_batches"]

_LEAST = 1e-3  # share by which an epoch has to lower the mean squared distance
_SAMPLE = 3  # batches' worth of samples among which seeds are sought


@dataclass(frozen=True, eq=False)
class Batched:
    """Centres from mini-batches and the samples nearest to them.

    Attributes
    ----------
    labels : (n,) array of int
    centres : (k, r) array
    masses : (k,) array
        Weights of the clusters.
    inertia : float
    n_iter : int
        Epochs.
    status : Status
    """

    labels: Indices
    centres: Floats
    masses: Floats
    inertia: float
    n_iter: int
    status: Status


def mini_batches(
    gram: Gram,
    s: Floats,
    k: int,
    batch_size: int,
    seedings: int,
    epochs: int,
    chance: Any,
    *,
    far: bool = True,
    monitor: Callable[[int, float], bool | Status] | None = None,
) -> Batched:
    r"""Find centres from batches of samples, each moving its nearest centre by its share of all that the centre saw.

    .. math:: N_t \leftarrow N_t + s_i, \qquad c_t \leftarrow c_t + \frac{s_i}{N_t} (F_i - c_t)

    Seed: [KIKS] Section 5.2 (k-means), Section 3.4 (low rank).

    Parameters
    ----------
    gram : Gram with a factor
    s : (n,) array
        Positive weights.
    k, batch_size : int
    seedings, epochs : int
        How often seeds are drawn, of which the best are kept; how often all samples are seen.
    chance : RandomState
    far : bool, default True
        Whether seeds are those of k-means++; else they are drawn evenly.
    monitor : callable, optional
        ``monitor(epoch, share left)``; a true answer ends it.

    Returns
    -------
    Batched

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Features
    >>> from mercer.kernels import Linear
    >>> K = Features().build(Linear(), Vectors.pack([[0.0], [0.2], [5.0], [5.2]]))
    >>> found = mini_batches(K, np.ones(4), 2, 2, 3, 10, np.random.RandomState(0))
    >>> found.masses
    array([2., 2.])
    """
    n, some = len(s), _SAMPLE * max(batch_size, k)
    centres = _seeds(gram, s, k, seedings, some, chance, far)
    seen, before, status, epoch = np.zeros(k), np.inf, Status.MAX_ITER, 0
    for epoch in range(1, epochs + 1):
        total, order = 0.0, chance.permutation(n)
        for rows in spans(n, batch_size):
            total += _learn(_coordinates(gram, order[rows]), s[order[rows]], centres, seen)
        if total >= (1.0 - _LEAST) * before:
            status = Status.CONVERGED
            break
        before = total
        answer = False if monitor is None else monitor(epoch, 1.0 - epoch / epochs)
        if answer:
            status = answer if isinstance(answer, Status) else Status.STOPPED
            break
    labels, inertia = np.empty(n, dtype=np.intp), 0.0
    for rows in spans(n, max(batch_size, 1024)):
        labels[rows], distances = _nearest(_coordinates(gram, np.arange(n)[rows]), centres)
        inertia += float(s[rows] @ distances)
    masses = np.asarray(np.bincount(labels, weights=s, minlength=k), dtype=float)
    return Batched(labels, centres, masses, inertia, epoch, status)


def _coordinates(gram: Gram, index: Indices) -> Floats:
    part = gram.take(index)
    assert isinstance(part, HasFactor)
    return part.factor()


def _nearest(F: Floats, centres: Floats) -> tuple[Indices, Floats]:
    """Return the nearest centre of each row, and its squared distance."""
    scores = 2.0 * (F @ centres.T) - np.einsum("tj,tj->t", centres, centres)
    labels = np.argmax(scores, axis=1)
    return labels, np.maximum(np.einsum("ij,ij->i", F, F) - scores[np.arange(len(F)), labels], 0.0)


def _learn(F: Floats, s: Floats, centres: Floats, seen: Floats) -> float:
    """Move the centres by one batch; return its weighted squared distances before."""
    labels, distances = _nearest(F, centres)
    member = (labels[:, None] == np.arange(len(centres))) * s[:, None]
    weight = member.sum(axis=0)
    seen += weight
    met = weight > 0.0
    centres[met] += (member.T[met] @ F - weight[met, None] * centres[met]) / seen[met, None]
    return float(s @ distances)


def _seeds(gram: Gram, s: Floats, k: int, seedings: int, size: int, chance: Any, far: bool) -> Floats:
    """Return coordinates of seeds from some of the samples, the best of several seedings."""
    best, least = None, np.inf
    for _ in range(seedings):
        some = chance.permutation(len(s))[:size]
        part, weight = gram.take(some), s[some]
        F = _coordinates(gram, some)
        if far:
            seeds = seeded_labels(Cloud(part, weight, part @ weight), k, chance)[0]
        else:
            seeds = chance.permutation(len(some))[:k]
        distance = float(weight @ _nearest(F, F[seeds])[1]) / weight.sum()
        if distance < least:
            best, least = F[seeds].copy(), distance
    assert best is not None
    return best
