"""SparseGreedy: landmarks of which each takes most of what is left, among a few that are drawn.

Symbols: E = K - L L^T what is left, (n, n), known by some of its rows and columns.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.budget import Plan, Resources
from mercer.constraints import Fixed, Integer, Interval, Optional
from mercer.domains import Samples
from mercer.gram.factor import block, require_definite, warn_left
from mercer.gram.gram import GramSpec
from mercer.gram.nystrom import NystromGram, on_landmarks
from mercer.kernels.kernel import Kernel
from mercer.numerics.pivoting import extend
from mercer.numerics.tiling import Stopped, blas_for

__all__ = ["SparseGreedy"]

_NOTHING = Resources()
_ROUNDS = 8  # landmarks that are taken from one draw, which is as many times larger
_LOOKS = 2048  # samples on which gains are compared
_POOL = 11  # samples per landmark that are looked at, at most


class SparseGreedy(GramSpec):
    r"""The Gram matrix of low rank by sparse greedy approximation: the landmark that lessens the error most is next.

    .. math:: p_j = \arg\max_{i \in \text{drawn}} \sum_l E_{li}^2 / E_{ii}, \qquad E = K - L L^\top

    The gain of a landmark is what it takes of tr E: it is large where many samples are alike, while incomplete Cholesky
    takes the sample that is most unlike. Of 59 samples that are drawn the best is among the best 5 % of all with a
    probability of 0.95.

    Seed: [STS] Section 6; [HSS] Section 2.3.2 (sparse greedy approximation). Ledger: A-SGMA.

    Parameters
    ----------
    rank : int, default 500
        Landmarks at most.
    tol : float, default 1e-3
        Take only as many as leave tr(K - F F^T) <= tol tr K, of the samples that are looked at.
    candidates : int, default 59
        Samples among which a landmark is chosen.
    random_state : int or None, default 0
        Of the draws; None is another one each time.

    Notes
    -----
    Offers products, rows and factors, as `Nystrom` does on the same landmarks. Looked at are 11 samples per landmark,
    at least 4096, and gains are those of 2048 of them, drawn anew. Eight landmarks are taken from a draw of eight times
    as many candidates. Cost O(n r d + n r^2) for the Gram and O(r) times (candidates + r) times 16 000 for the choice.

    References
    ----------
    A. J. Smola, B. Schoelkopf, Sparse greedy matrix approximation for machine learning (2000).

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Gaussian
    >>> S = Vectors.pack([[0.0], [0.1], [0.2], [5.0]])
    >>> SparseGreedy(1, tol=0.5).build(Gaussian(1.0), S).index
    array([1])
    """

    constraints = {
        "rank": Integer(1),
        "tol": Fixed(Interval(0.0, 1.0, closed="left")),
        "candidates": Integer(1),
        "random_state": Optional(Integer(0)),
    }

    def __init__(self, rank: int = 500, tol: float = 1e-3, candidates: int = 59, random_state: int | None = 0) -> None:
        self.rank = rank
        self.tol = tol
        self.candidates = candidates
        self.random_state = random_state

    def plan(self, kernel: Kernel, n: int, width: int = 1) -> Plan:
        """Return the factor of the samples that are looked at, and the matrix of the landmarks."""
        r = min(self.rank, n)
        buffers = {
            "factor of the candidates": 8 * r * min(n, max(_POOL * r, 2 * _LOOKS)),
            "columns that are compared": 24 * min(n, _LOOKS) * min(n, _ROUNDS * self.candidates),
            "landmarks": 32 * r * r,
        }
        return Plan(f"{self!r} of {kernel!r} on {n} samples", buffers, ("a smaller rank",))

    def build(self, kernel: Kernel, samples: Samples, resources: Resources = _NOTHING) -> NystromGram:
        """Choose the landmarks and decompose their matrix; hold the factor if it fits."""
        self.check()
        kernel.check()
        require_definite(self, kernel)
        self.plan(kernel, len(samples), getattr(samples, "width", 1)).require(resources.memory)
        samples = kernel.prepare(samples)
        index, left = self._choose(kernel, samples, resources)
        if len(index) == self.rank < len(samples):
            warn_left(self, left, self.tol)
        return on_landmarks(kernel, samples, np.sort(index), "double", resources)

    def _choose(self, kernel: Kernel, samples: Samples, resources: Resources) -> tuple[Indices, float]:
        """Return the places of the landmarks in their order, and what they leave of the trace of those looked at."""
        n = len(samples)
        rank = min(self.rank, n)
        rng = np.random.default_rng(self.random_state)
        pool = np.sort(rng.permutation(n)[: max(_POOL * rank, 2 * _LOOKS)])
        among = samples.take(pool)
        L, rest = np.empty((len(pool), rank)), kernel.diag(among)
        total = max(float(rest.sum()), np.finfo(float).tiny)
        least = 4.0 * np.finfo(float).eps * float(rest.max(initial=0.0))
        taken, left = np.zeros(0, dtype=np.intp), float(rest.sum())
        while len(taken) < rank and left > self.tol * total:
            done = len(taken)
            alive = np.flatnonzero(rest > least * (1 + done))
            if not len(alive):
                break
            some = rng.permutation(alive)[: _ROUNDS * self.candidates]
            look = rng.permutation(len(pool))[:_LOOKS]
            right = among.take(some)
            E = block(kernel, among.take(look), right) - L[look, :done] @ L[some, :done].T
            G = block(kernel, right, right) - L[some, :done] @ L[some, :done].T
            most = min(rank - done, max(len(some) // self.candidates, 1))
            with blas_for(len(some)):
                order, T = _best(E, G, least * (1 + done), most)
            if not len(order):
                break
            new = some[order]
            between = lambda a, b: block(kernel, among.take(a), among.take(b))  # noqa: E731
            falls = left - np.cumsum(extend(L, rest, between, (taken, new, T), resources.n_threads))
            last = int(np.argmax(falls <= self.tol * total)) + 1 if falls[-1] <= self.tol * total else len(new)
            taken, left = np.concatenate([taken, new[:last]]), max(float(falls[last - 1]), 0.0)
            if resources.monitor is not None and resources.monitor(len(taken) / rank):
                raise Stopped
        return pool[taken] if len(taken) else pool[:1], left / total


def _best(E: Floats, G: Floats, least: float, most: int) -> tuple[Indices, Floats]:
    """Return the candidates of largest gain one after the other, and the triangular factor of their matrix.

    E has what is left between some samples and the candidates, G between candidates.
    """
    order: list[int] = []
    columns = np.zeros((len(G), most))
    own = np.diagonal(G).copy()
    gains = np.einsum("ij,ij->j", E, E)
    while len(order) < most:
        done = len(order)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(own > least, gains / own, -1.0)
        i = int(np.argmax(ratio))
        if ratio[i] < 0.0:
            break
        column = (G[:, i] - columns[:, :done] @ columns[i, :done]) / np.sqrt(own[i])
        e = E[:, i] / np.sqrt(own[i])  # E is kept up to date, G is not
        E = E - np.outer(e, column)
        gains = np.einsum("ij,ij->j", E, E)
        columns[:, done] = column
        own = own - column**2
        own[i] = 0.0
        order.append(i)
    chosen = np.array(order, dtype=np.intp)
    return chosen, np.tril(columns[chosen, : len(order)])
