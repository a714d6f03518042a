r"""Where the searches of kernel ICA begin: at what FastICA finds, and where pairs of components turn out of a minimum.

Symbols: Z whitened samples, (n, q); V a rotation, (q, q); w weights of the samples.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
from sklearn.decomposition import FastICA

from mercer.arrays import Floats
from mercer.solvers.smooth.rotations import random_frame

__all__ = ["FAST", "fast_rotation", "starts", "turned_pairs"]

FAST = ("logcosh", "exp", "cube")  # contrasts of FastICA
_ANGLES = np.linspace(0.0, np.pi / 2, 10)[1:-1]  # a quarter turn only changes order and sign


def starts(Z: Floats, w: Floats, count: int, rng: np.random.RandomState) -> Iterator[Floats]:
    """Yield starting rotations: those of FastICA, none, and random ones."""
    q = Z.shape[1]
    yield from (fast_rotation(Z, w, fun, rng) for fun in FAST[: count if q > 1 else 0])
    for place in range(len(FAST) if q > 1 else 0, count):
        yield np.eye(q) if place in (0, len(FAST)) else random_frame(rng, q, q)


def fast_rotation(Z: Floats, w: Floats, fun: str, rng: np.random.RandomState) -> Floats:
    """Return the rotation that FastICA finds; samples count by their weights, as copies where these are whole."""
    total, n = float(w.sum()), len(w)
    size = round(total) if 0.25 * n <= total <= 4.0 * n else n
    counts = np.diff(np.floor(np.cumsum(np.append(0.0, w)) * (size / total) + 0.5)).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a start need not have converged
        fast = FastICA(whiten=cast(Any, False), fun=fun, random_state=rng.randint(2**31))
        fast.fit(np.repeat(Z, counts, axis=0))
    left, _, right = np.linalg.svd(fast.components_)  # orthogonal but for rounding
    return left @ right


def turned_pairs(V: Floats, Z: Floats, contrast: Callable[[Floats], float]) -> Floats | None:
    """Return a rotation in which pairs of components are turned to angles where the two depend less on each other.

    Minima that are not the lowest are as a rule mixtures of two or three sources, which a search with small steps does
    not leave. One turn of a pair, over an angle that no such step reaches, does.

    Parameters
    ----------
    V : (q, q) array
    Z : (n, q) array
    contrast : callable
        Contrast of two components, (n, 2) -> float.

    Returns
    -------
    V : (q, q) array or None
        None if no pair is better anywhere else, on a grid of ten degrees.
    """
    V, moved = V.copy(), False
    for i in range(len(V)):
        for j in range(i):
            S = Z @ V[[i, j]].T
            turns = [np.array([[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]]) for t in _ANGLES]
            values = [contrast(S @ turn.T) for turn in turns]
            best = int(np.argmin(values))
            if values[best] < contrast(S):
                V[[i, j]] = turns[best] @ V[[i, j]]
                moved = True
    return V if moved else None
