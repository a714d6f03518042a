"""Which samples become landmarks: they are drawn, spread, or chosen for what the others cannot express.

Symbols: n samples, r landmarks, d the diagonal of K less its approximation. Only kernel values between samples and the
diagonal are asked for, so every sampler works on every domain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.budget import UNLIMITED, Resources
from mercer.domains import Samples
from mercer.gram.low_rank.factor import block
from mercer.kernels.kernel import Kernel
from mercer.numerics.pivoting import PartialFactor, block_pivoted_cholesky, extend, pick
from mercer.runtime.tiling import Monitor, Stopped, in_background, run_tasks, spans

__all__ = ["SAMPLERS", "exchanged", "grown", "landmarks"]

_CANDIDATES = 256  # samples that are offered for an exchange at once
OFFERS = 10  # candidates per landmark, at most
_ROWS = 2048  # samples that a thread compares at once
PROBES = 4096  # samples on which the trace that is left is estimated
ERRORS = 2.0  # standard errors that an estimate of the trace has to be below a tolerance
_STEP = 128  # landmarks that are added at once until enough is expressed
_LOST = 1e-10  # of k(x, x): a landmark that adds less is lost in the pseudo-inverse of W, with what it seems to explain
_WINDOW = 1.0 / 3.0  # of the median distance of drawn landmarks from the nearest other: the width of a density
_PROBED = 4096, 1  # seed of the samples of the estimate: not that of any draw of landmarks


def landmarks(
    kernel: Kernel,
    samples: Samples,
    rank: int,
    sampler: str,
    rng: np.random.Generator,
    resources: Resources = UNLIMITED,
) -> Indices:
    """Return the places of landmarks among prepared samples, in the order in which they were found.

    Parameters
    ----------
    kernel : Kernel
    samples : Samples
        Prepared.
    rank : int
        How many; all samples if there are fewer. Samplers that find nothing left to express return fewer.
    sampler : str
        A name of `SAMPLERS`.
    rng : Generator
    resources : Resources, optional

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Gaussian
    >>> S = Vectors.pack([[0.0], [0.1], [9.0], [9.1]])
    >>> found = landmarks(Gaussian(1.0), S, 2, "greedy", np.random.default_rng(0))
    >>> np.sort(found // 2)
    array([0, 1])
    """
    n = len(samples)
    if rank >= n:
        return np.arange(n, dtype=np.intp)
    order = rng.permutation(n)
    if sampler == "uniform":
        return order[:rank]
    if sampler == "leverage":
        return order[_leverage(kernel, samples.take(order), rank, rng, resources)]
    pool = order[: min(n, rank * (1 + OFFERS))]
    among = samples.take(pool)
    return pool[SAMPLERS[sampler](kernel, among, rank, rng, resources)]


def _entropy(kernel: Kernel, samples: Samples, rank: int, rng: np.random.Generator, resources: Resources) -> Indices:
    """Return samples of large entropy, of the density that windows around them in feature space add up to.

    The kernel itself is not such a window: for a wide one the sum is least with all landmarks side by side at the rim
    of the samples. A window must be narrow compared with the distance between landmarks.
    """
    chosen, rest = np.arange(rank, dtype=np.intp), np.arange(rank, len(samples), dtype=np.intp)
    own = kernel.diag(samples)

    def apart(a: Indices, b: Indices) -> Floats:
        return np.maximum(own[a][:, None] + own[b] - 2.0 * block(kernel, samples.take(a), samples.take(b)), 0.0)

    first = apart(chosen, chosen)
    first[np.diag_indices_from(first)] = np.inf
    nearest = first.min(axis=1)
    nearest = nearest[np.isfinite(nearest) & (nearest > 0.0)]
    square = (_WINDOW**2 * float(np.median(nearest)) if len(nearest) else 0.0) or 1.0
    return exchanged(lambda a, b: np.exp(-0.5 * apart(a, b) / square), chosen, rest, resources.monitor)


def pivots(
    kernel: Kernel,
    samples: Samples,
    rank: int,
    tol: float,
    rng: np.random.Generator | None,
    resources: Resources = UNLIMITED,
    dtype: Any = np.float64,
) -> PartialFactor:
    """Return the pivoted Cholesky factor of prepared samples; drawn pivots if there is a generator."""

    def between(rows: Any, index: Indices) -> Floats:
        # among candidates in float64: pivots are found there
        single = isinstance(rows, slice) and dtype == np.float32
        return block(kernel, samples.take(rows), samples.take(index), np.float32 if single else np.float64)

    return block_pivoted_cholesky(
        kernel.diag(samples),
        between,
        rank,
        tol,
        rng=rng,
        dtype=dtype,
        n_threads=resources.n_threads,
        monitor=resources.monitor,
    )


def _rpcholesky(kernel: Kernel, samples: Samples, rank: int, rng: np.random.Generator, resources: Resources) -> Indices:
    return pivots(kernel, samples, rank, 0.0, rng, resources).pivots


def _greedy(kernel: Kernel, samples: Samples, rank: int, rng: np.random.Generator, resources: Resources) -> Indices:
    return pivots(kernel, samples, rank, 0.0, None, resources).pivots


def _kmeans(kernel: Kernel, samples: Samples, rank: int, rng: np.random.Generator, resources: Resources) -> Indices:
    """Return seeds of k-means in feature space, each drawn with its squared distance from those before (k-means++).

    Candidates are drawn some at a time from the distances as they are, and accepted with the share of the distance that
    is left when their turn comes: the law is that of drawing one by one.
    """
    n, own = len(samples), kernel.diag(samples)
    first = int(rng.integers(n))
    chosen = [first]
    least = _distances(kernel, samples, np.array([first]), own, resources)
    while len(chosen) < rank and (total := float(least.sum())) > 1e-12 * float(own.sum()):
        some = rng.choice(n, min(_CANDIDATES, 2 * (rank - len(chosen)) + 8), p=least / total)
        chance = rng.random(len(some)) * least[some]
        part = samples.take(some)
        apart = own[some][:, None] + own[some] - 2.0 * block(kernel, part, part)
        now, new = least[some], []
        for place in range(len(some)):
            if now[place] > chance[place] and len(chosen) + len(new) < rank:
                new.append(place)
                now = np.minimum(now, apart[place])
                now[place] = 0.0
        taken = some[new]
        chosen.extend(taken.tolist())
        least = np.minimum(least, _distances(kernel, samples, taken, own, resources))
        least[taken] = 0.0
    return np.array(chosen, dtype=np.intp)


def _distances(kernel: Kernel, samples: Samples, chosen: Indices, own: Floats, resources: Resources) -> Floats:
    """Return squared distances in feature space from the nearest of some samples, (n,)."""
    out, right = np.empty(len(samples)), samples.take(chosen)

    def work(rows: slice) -> None:
        apart = own[chosen] - 2.0 * block(kernel, samples.take(rows), right)
        out[rows] = np.maximum(own[rows] + apart.min(axis=1), 0.0)

    run_tasks(spans(len(out), _ROWS), work, n_threads=resources.n_threads, monitor=resources.quiet().monitor)
    return out


def _leverage(kernel: Kernel, samples: Samples, rank: int, rng: np.random.Generator, resources: Resources) -> Indices:
    r"""Return samples drawn by their ridge leverage, which is estimated on half of the samples, and so on down.

    .. math:: l_i = \tfrac{1}{\lambda} \left(k_{ii} - k_i^\top (W + \lambda D)^{-1} k_i\right)

    The samples are in random order: the first half of them is a uniform half.
    """
    n, own = len(samples), kernel.diag(samples)
    over = np.log(max(rank, 3))
    target = max(int(np.ceil(rank / (4.0 * over))), 1)
    sizes = [n]
    while sizes[-1] > 2 * rank:
        sizes.append(-(-sizes[-1] // 2))
    chosen, weight = np.arange(min(rank, sizes[-1]), dtype=np.intp), np.ones(min(rank, sizes[-1]))
    for level, size in reversed(list(enumerate(sizes))):
        part = samples.take(chosen)
        W = block(kernel, part, part) * weight[:, None] * weight
        values, U = in_background(np.linalg.eigh, W, work=9.0 * len(W) ** 3)
        rest = max(float(values.sum() - values[-target:].sum()), 0.0)
        ridge = max(rest / target, 1e-12 * max(float(values[-1]), np.finfo(float).tiny))
        R = (weight[:, None] * U) / np.sqrt(np.maximum(values, 0.0) + ridge)
        left = np.maximum(own[:size] - _squares(kernel, samples.take(slice(0, size)), part, R, resources), 0.0)
        scores = np.minimum(over / ridge * left, 1.0)
        if not scores.any():  # nothing is left to express
            scores[:] = 1.0
        if level == 0:
            p = scores / scores.sum()
            count = min(rank, int(np.count_nonzero(p)))
            found = rng.choice(n, count, replace=False, p=p)
            spare = np.setdiff1d(np.arange(n), found)[: rank - count]
            return np.concatenate([found, spare]).astype(np.intp)
        taken = rng.random(size) < scores
        if not taken.any():
            taken[rng.integers(size)] = True
        chosen = np.flatnonzero(taken)
        weight = 1.0 / np.sqrt(scores[chosen])
    raise AssertionError("unreachable")


def _squares(kernel: Kernel, samples: Samples, part: Samples, R: Floats, resources: Resources) -> Floats:
    """Return squared lengths of the rows of k(samples, part) R."""
    out = np.empty(len(samples))

    def work(rows: slice) -> None:
        B = block(kernel, samples.take(rows), part) @ R
        out[rows] = np.einsum("ij,ij->i", B, B)

    run_tasks(spans(len(out), _ROWS), work, n_threads=resources.n_threads, monitor=resources.quiet().monitor)
    return out


def exchanged(
    block: Callable[[Indices, Indices], Floats], chosen: Indices, offered: Indices, monitor: Monitor | None = None
) -> Indices:
    r"""Exchange members of a subset for others while its quadratic Renyi entropy grows.

    .. math:: H = -\log \frac{1}{r^2} \sum_{i, j} k(z_i, z_j)

    Each sample offered takes the place of the member whose loss lowers the sum most, if it becomes lower.

    Seed: [SS] Section 3.4.3 (fixed-size LS-SVM, [120], [36]).

    Parameters
    ----------
    block : callable
        ``block(a, b)`` returns kernel values between samples at two lists of places.
    chosen : (r,) array of int
        The subset at the start.
    offered : (q,) array of int
        Samples outside of it, in the order in which they are tried.
    monitor : callable, optional
        Called with the fraction that has been tried; a true answer stops.

    Returns
    -------
    chosen : (r,) array of int

    Notes
    -----
    Cost O(q r) kernel values, and as many operations.

    Examples
    --------
    >>> x = np.array([0.0, 0.1, 5.0])
    >>> exchanged(lambda a, b: np.exp(-((x[a][:, None] - x[b]) ** 2)), np.array([0, 1]), np.array([2]))
    array([0, 2])
    """
    chosen = np.array(chosen)
    W = np.array(block(chosen, chosen), dtype=float)
    sums, own = W.sum(axis=1), np.diagonal(W).copy()
    for rows in spans(len(offered), _CANDIDATES):
        if monitor is not None and monitor(rows.start / len(offered)):
            raise Stopped
        some = offered[rows]
        against, among = np.array(block(some, chosen), dtype=float), np.asarray(block(some, some), dtype=float)
        for place, sample in enumerate(some):
            k, kk = against[place], float(among[place, place])
            # the sum without i and with the sample, less the sum now: 2 (k.1 - k_i) + k(s, s) - 2 sums_i + k(i, i)
            change = 2.0 * (k.sum() - k) + kk - 2.0 * sums + own
            worst = int(np.argmin(change))
            if change[worst] >= 0.0:
                continue
            column, new = W[worst].copy(), k.copy()
            new[worst] = kk
            W[worst], W[:, worst] = new, new
            sums += new - column
            sums[worst], own[worst], chosen[worst] = new.sum(), kk, sample
            against[:, worst] = among[:, place]
    return chosen


def grown(
    kernel: Kernel, samples: Samples, most: int, sampler: str, seed: Any, tol: float, resources: Resources = UNLIMITED
) -> Indices:
    """Return the places of landmarks whose number is doubled until they leave tr(K - F F^T) <= tol tr K.

    Parameters
    ----------
    kernel : Kernel
    samples : Samples
        Prepared.
    most : int
        How many there may be.
    sampler : str
        A name of `SAMPLERS`; each number of landmarks is a draw of its own.
    seed : int, SeedSequence or None
        Of the draws.
    tol : float
        0 asks for `most` of them.
    resources : Resources, optional

    Notes
    -----
    The trace is that of all samples up to 4096; of more, it is estimated on 4096 of them, and the estimate has to be
    two standard errors below the tolerance. Draws before the last add at most about as much work as the last.
    """
    most = min(most, len(samples))
    root = np.random.SeedSequence(seed) if not isinstance(seed, np.random.SeedSequence) else seed
    count = min(most, _STEP) if tol > 0.0 else most
    while True:
        order = landmarks(kernel, samples, count, sampler, np.random.default_rng(root), resources)
        index, left, spread = enough(kernel, samples, order, tol, resources)
        if left + ERRORS * spread <= tol or count >= most:
            return index
        count = min(2 * count, most)


def enough(
    kernel: Kernel, samples: Samples, order: Indices, tol: float, resources: Resources = UNLIMITED
) -> tuple[Indices, float, float]:
    """Return the first landmarks of a list that leave tr(K - F F^T) <= tol tr K, or all of them.

    Also returned are the share of the trace they leave and its standard error: the trace is that of all
    samples if they are few, and estimated on 4096 of them otherwise. Landmarks come in the order in which they are
    needed: those that earlier ones express are left out.
    """
    n, r = len(samples), len(order)
    some = np.arange(n) if n <= PROBES else np.sort(np.random.default_rng(_PROBED).choice(n, PROBES, replace=False))
    m = len(some)
    both = samples.take(np.concatenate([some, order]))
    L, rest = np.empty((len(both), r)), kernel.diag(both)
    own, largest = rest[:m].copy(), float(rest.max(initial=0.0))
    pivots = np.zeros(0, dtype=np.intp)
    monitor = resources.quiet().monitor
    for piece in spans(r, _STEP):
        if monitor is not None and monitor(0.0):
            raise Stopped
        new = m + np.arange(piece.start, piece.stop)
        part, done = both.take(new), len(pivots)
        G = block(kernel, part, part) - L[new, :done] @ L[new, :done].T
        taken, T = pick(G, np.zeros(0), floor(tol, done) * largest, len(new))
        new = new[taken]
        before = rest[:m].copy()
        extend(L, rest, lambda a, b: block(kernel, both.take(a), both.take(b)), (pivots, new, T), resources.n_threads)
        pivots = np.concatenate([pivots, new])
        share, spread = shares(own, before, L[:m, done : len(pivots)], n)
        met = np.flatnonzero(share + ERRORS * spread <= tol)
        if len(met):
            last = int(met[0])
            return order[pivots[: done + last + 1] - m], float(share[last]), float(spread[last])
    share, spread = shares(own, rest[:m], np.zeros((m, 1)), n)
    return order[pivots - m] if len(pivots) else order[:1], float(share[0]), float(spread[0])


def floor(tol: float, done: int) -> float:
    """Return what a landmark after this many others has to add, as a share of k(x, x)."""
    return max(4.0 * np.finfo(float).eps * (1 + done), min(_LOST * (1 + done), 0.1 * tol))


def shares(own: Floats, before: Floats, columns: Floats, n: int) -> tuple[Floats, Floats]:
    """Return which share of the trace is left after each new column of a factor, and its standard error.

    Parameters
    ----------
    own : (m,) array
        The diagonal of K at some samples.
    before : (m,) array
        What is left of it without the columns.
    columns : (m, c) array
        Rows of the factor of these samples.
    n : int
        Number of samples these were drawn from; if they are all, there is no error.

    Examples
    --------
    >>> shares(np.ones(2), np.ones(2), np.array([[1.0, 0.0], [0.5, 0.5]]), 2)[0]
    array([0.375, 0.25 ])
    """
    m, total = len(own), max(float(own.sum()), np.finfo(float).tiny)
    after = before[:, None] - np.cumsum(np.square(columns), axis=1)
    share = np.maximum(after.sum(axis=0) / total, 0.0)
    if m >= n:
        return share, np.zeros(len(share))
    return share, np.std(after - share * own[:, None], axis=0) * np.sqrt(m * (1.0 - m / n)) / total


SAMPLERS: dict[str, Callable[..., Indices]] = {
    "uniform": lambda *_: np.zeros(0, dtype=np.intp),
    "entropy": _entropy,
    "k-means++": _kmeans,
    "leverage": _leverage,
    "rpcholesky": _rpcholesky,
    "greedy": _greedy,
}
