"""SparseGreedy: landmarks each of which takes most of what is left, among a few that are drawn.

Symbols: E = K - L L^T what is left, (n, n), known by some of its rows and columns.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.budget import UNLIMITED, Memory, Plan, Resources
from mercer.constraints import Fixed, Integer, Interval, Optional
from mercer.domains import Samples
from mercer.domains.samples import packed
from mercer.gram.gram import GramSpec
from mercer.gram.low_rank.factor import block, require_definite
from mercer.gram.low_rank.factor_rows import factor_plan
from mercer.gram.low_rank.nystrom import NystromGram, on_landmarks, warn_measured
from mercer.gram.low_rank.samplers import ERRORS, PROBES, floor, shares
from mercer.kernels.kernel import Kernel
from mercer.numerics.pivoting import extend
from mercer.runtime.tiling import Stopped, blas_for

__all__ = ["SparseGreedy"]
__public__ = __all__

_ROUNDS = 8  # landmarks that are taken from one draw, which is as many times larger
_LOOKS = 2048  # samples on which gains are compared
_POOL = 11  # samples per landmark that are considered, at most


class SparseGreedy(GramSpec):
    r"""The Gram matrix of low rank by sparse greedy approximation: the landmark that lessens the error most is next.

    .. math:: p_j = \arg\max_{i \in \text{drawn}} \sum_l E_{li}^2 / E_{ii}, \qquad E = K - L L^\top

    The gain of a landmark is what it takes of tr E: it is large where many samples are alike, while incomplete Cholesky
    takes the sample that is most unlike. The best of 59 drawn samples is among the best 5 % of all with probability
    0.95.

    Seed: [STS] Section 6; [HSS] Section 2.3.2 (sparse greedy approximation).

    Parameters
    ----------
    rank : int, default 500
        Largest number of landmarks.
    tol : float, default 1e-3
        Take only as many as leave tr(K - F F^T) <= tol tr K. For many samples the trace is estimated on 4096 that are
        never candidates, and the estimate has to be two standard errors below; if it is measured to be more afterwards,
        because of `rank` or by chance, a warning is issued. 0 asks for the rank alone.
    candidates : int, default 59
        Samples among which a landmark is chosen.
    random_state : int or None, default 0
        Seed of the draws; None draws differently each time.

    Notes
    -----
    Offers products, rows and factors, as `Nystrom` does on the same landmarks. Candidates are 11 samples per landmark,
    at least 4096, and gains are those of 2048 of them, drawn each time. Eight landmarks are taken from a draw of eight
    times as many candidates. Cost O(n r d + n r^2) for the Gram and O(r) times (candidates + r) times 16 000 for the
    choice.

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

    low_rank = True

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

    def plan(self, kernel: Kernel, n: int, width: int = 1, memory: Memory = None) -> Plan:
        """Return the factor of the samples that are considered, and the matrix of the landmarks."""
        r = min(self.rank, n)
        build = {
            "factor of the candidates": 8 * r * min(n, max(_POOL * r, 2 * _LOOKS) + PROBES),
            "columns that are compared": 34 * min(n, _LOOKS) * min(n, _ROUNDS * self.candidates),
        }
        return factor_plan(self, kernel, n, r, memory, base={"landmarks": 32 * r * r}, build=build)

    def build(self, kernel: Kernel, samples: Samples, resources: Resources = UNLIMITED) -> NystromGram:
        """Choose the landmarks and decompose their matrix; hold the factor if it fits."""
        samples = packed(samples, kernel.pack)
        self.check()
        kernel.check()
        require_definite(self, kernel)
        self.plan(kernel, len(samples), getattr(samples, "width", 1), resources.memory).require(resources.memory)
        samples = kernel.prepare(samples)
        gram = on_landmarks(kernel, samples, np.sort(self._choose(kernel, samples, resources)), "double", resources)
        warn_measured(self, gram, self.tol)
        return gram

    def _choose(self, kernel: Kernel, samples: Samples, resources: Resources) -> Indices:
        """Return the places of the landmarks in their order."""
        n = len(samples)
        rank = min(self.rank, n)
        rng = np.random.default_rng(self.random_state)
        pool, offered = _looked_at(rng.permutation(n), max(_POOL * rank, 2 * _LOOKS))
        judges = slice(0 if offered == n else offered, None)
        among = samples.take(pool)
        L, rest = np.empty((len(pool), rank)), kernel.diag(among)
        own, largest = rest[judges].copy(), float(rest.max(initial=0.0))
        taken = np.zeros(0, dtype=np.intp)
        while len(taken) < rank:
            done = len(taken)
            least = floor(self.tol, done) * largest
            alive = np.flatnonzero(rest[:offered] > least)
            if not len(alive):
                break
            some = rng.permutation(alive)[: _ROUNDS * self.candidates]
            look = rng.permutation(offered)[:_LOOKS]
            right = among.take(some)
            E = block(kernel, among.take(look), right) - L[look, :done] @ L[some, :done].T
            G = block(kernel, right, right) - L[some, :done] @ L[some, :done].T
            most = min(rank - done, max(len(some) // self.candidates, 1))
            with blas_for(len(some)):
                order, T = _best(E, G, least, most)
            if not len(order):
                break
            new = some[order]
            between = lambda a, b: block(kernel, among.take(a), among.take(b))  # noqa: E731
            before = rest[judges].copy()
            extend(L, rest, between, (taken, new, T), resources.n_threads)
            left, error = shares(own, before, L[judges, done : done + len(new)], n)
            met = np.flatnonzero(left + ERRORS * error <= self.tol)
            taken = np.concatenate([taken, new[: met[0] + 1] if len(met) else new])
            if len(met):
                break
            if resources.monitor is not None and resources.monitor(len(taken) / rank):
                raise Stopped
        return pool[taken] if len(taken) else pool[:1]


def _looked_at(order: Indices, size: int) -> tuple[Indices, int]:
    """Return the places of candidates and, after them, of others that judge; and how many candidates there are.

    All samples are both, unless there are many.
    """
    if len(order) <= size + PROBES:
        return np.arange(len(order), dtype=np.intp), len(order)
    return np.concatenate([np.sort(order[:size]), np.sort(order[size : size + PROBES])]), size


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
