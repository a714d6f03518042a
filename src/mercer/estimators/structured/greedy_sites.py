r"""A few sites that carry a function: those along which its objective falls fastest are taken first.

Symbols: as in `mercer.solvers.smooth.functional_descent`. The gradient of J at f is the function g = f + R_F, and along
k(x_s, .) / |k(x_s, .)| the objective of function d falls by g_d(x_s) / sqrt(k(x_s, x_s)) for a step of length one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.gram.low_rank.nystrom import on_landmarks
from mercer.problems import Status
from mercer.solvers.smooth.functional_descent import Descent, Risk

__all__ = ["Carried", "carried"]

_ROUNDS = 20  # of choosing some sites and minimising over them
_LOOSE = 1e-3  # tolerance of all rounds but the last
_SMALL = 1e-12  # of the largest: what is left of a gradient that deflation has taken away

Minimise = Callable[[Any, float], Descent]  # a Gram and a tolerance -> the minimum with that Gram


@dataclass(frozen=True, eq=False)
class Carried:
    """A function on a few sites.

    Attributes
    ----------
    sites : (m,) array of int
        In the order in which they were taken.
    gram : Gram
        Of all sites, on those.
    descent : Descent
        The minimum over functions on the sites.
    gap : float
        How far its objective is above the minimum over all functions, at most.
    """

    sites: Indices
    gram: Any
    descent: Descent
    gap: float


def carried(K: Any, risk: Risk, width: int, extras: int, count: int, minimise: Minimise, tol: float) -> Carried:
    """Choose at most `count` sites by the gradient of the objective, and minimise over the functions on them.

    Parameters
    ----------
    K : Gram
        Only multiplied, once for each round; rows of it are computed one by one.
    risk : callable
        R, as for `descend`.
    width, extras : int
        D, and the number of weights.
    count : int
    minimise : callable
    tol : float
        Of the last minimisation; no more sites are taken if the length of the whole gradient, relative to the one at
        zero, is below it.

    Returns
    -------
    Carried
    """
    n, norms = K.shape[0], np.maximum(K.diag(), np.finfo(float).tiny)
    F, w, B = np.zeros((n, width)), np.zeros(extras), np.zeros((n, width))
    sites, first, found, gram = np.empty(0, dtype=np.intp), None, None, None
    batch = max(1, -(-count // _ROUNDS))
    while True:
        slope, squared = _gradient(K, risk, F, w, B)
        first = squared if first is None else first
        if found is not None and (len(sites) >= count or squared <= tol**2 * first or found.status is not _ENDED):
            return Carried(sites, gram, found, 0.5 * squared)
        new = _steepest(K, slope, norms, sites, min(batch, count - len(sites)))
        if not len(new) and found is not None:
            return Carried(sites, gram, found, 0.5 * squared)
        sites = np.concatenate([sites, new if len(new) or len(sites) else [0]]).astype(np.intp)
        gram = on_landmarks(K.kernel, K.samples, sites, resources=K.resources)
        found = minimise(gram, tol if len(sites) >= count else max(tol, _LOOSE))
        F, w = found.function.F, found.function.w
        B = np.zeros((n, width))
        B[sites] = _coefficients(gram, found)


_ENDED = Status.CONVERGED


def _gradient(K: Any, risk: Risk, F: Floats, w: Floats, B: Floats) -> tuple[Floats, float]:
    """Return the values of the gradient at all sites, (n, D), and its squared length."""
    _, by_values, by_weights = risk(F, w)
    slope, beside = F + np.asarray(K @ by_values), w + by_weights
    return slope, max(float(np.vdot(B + by_values, slope) + beside @ beside), 0.0)


def _coefficients(gram: Any, found: Descent) -> Floats:
    """Return the coefficients of a function on the landmarks, in their order."""
    return gram.root @ found.function.B


def _steepest(K: Any, slope: Floats, norms: Floats, taken: Indices, count: int) -> Indices:
    """Return sites of largest gradient; after each, the gradient loses its part along the site."""
    left, chosen = slope.copy(), []
    free = np.ones(len(norms), dtype=bool)
    free[taken] = False
    top = float(np.max(np.sum(np.square(slope), axis=1) / norms, initial=0.0))
    for _ in range(count):
        size = np.where(free, np.sum(np.square(left), axis=1) / norms, -1.0)
        s = int(np.argmax(size))
        if size[s] <= _SMALL * top:
            break
        chosen.append(s)
        free[s] = False
        row = K.kernel.block(K.samples.take([s]), K.samples)[0]
        left -= np.outer(row / norms[s], left[s])
    return np.array(chosen, dtype=np.intp)
