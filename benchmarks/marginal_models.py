"""Rows of the kernels that are probabilities under models: hidden paths, pairs with insertions, trees, finite classes.

There is no package to compare with; the peer is the textbook's recursion, filled pair by pair by compiled code on one
core, in logarithms where numbers would vanish. A cell is a step of one pair of strings (a pair of places, or a node)
with its product by the transition matrix: 300 strings of 200 letters have 9.0e6 of them, 30 strings of 200 letters
with insertions 1.9e7, 150 objects with 256 leaves (511 nodes) 5.8e6. Values are compared by their logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from benchmarks.row import Peer, Row, Timing, Words, times_faster
from mercer.domains import Strings
from mercer.kernels.models.hidden_markov_kernel import HiddenMarkov
from mercer.kernels.models.hidden_tree import HiddenTree
from mercer.kernels.models.marginalization import Marginalization
from mercer.kernels.models.pair_hidden_markov import PairHiddenMarkov
from mercer.models.markov import MarkovChain

LETTERS = "ACGT"
INSERTION, EXTENSION, STOP = 0.1, 0.5, 0.05


def rows(rng: np.random.Generator, *shape: int) -> np.ndarray:
    table = rng.gamma(1.0, size=shape)
    return table / table.sum(axis=-1, keepdims=True)


def chain(states: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rows(rng, states), rows(rng, states, states), rows(rng, states, len(LETTERS))


def coded(words: list[str]) -> tuple[np.ndarray, np.ndarray]:
    S = Strings.pack(words)
    place = np.array([LETTERS.index(str(letter)) for letter in S.vocabulary])
    return place[S.codes], S.offsets


# the recursions of the textbook ---------------------------------------------------------------------------


@numba.njit(cache=True)
def _add(logs):
    top = logs.max()
    if top == -np.inf:
        return top
    return top + np.log(np.exp(logs - top).sum())


@numba.njit(cache=True)
def _paths(codes, offsets, start, transition, emission, out):
    at, new = np.empty(start.size), np.empty(start.size)
    for i in range(out.shape[0]):
        for j in range(i, out.shape[0]):
            s, t = codes[offsets[i] : offsets[i + 1]], codes[offsets[j] : offsets[j + 1]]
            for place in range(s.size):
                for a in range(start.size):
                    new[a] = start[a] if place == 0 else _add(at + transition[:, a])
                    new[a] += emission[a, s[place]] + emission[a, t[place]]
                at[:] = new
            out[i, j] = out[j, i] = _add(at)


def paths_in_logs(words: list[str]) -> Any:
    codes, offsets = coded(words)
    out = np.empty((len(words), len(words)))
    start, transition, emission = map(np.log, chain(4))
    _paths(codes, offsets, start, transition, emission, out)
    own = np.diagonal(out)
    return np.exp(out - own / 2 - own[:, None] / 2)


@numba.njit(cache=True)
def _pairs(codes, offsets, start, transition, emission, chances, out):
    insertion, extension, stop = chances
    A = start.size
    background = np.zeros(emission.shape[1])
    for a in range(A):
        background += emission[a] / A
    longest = np.max(np.diff(offsets)) + 1
    tables = np.zeros((5, longest, longest, A + 1))
    M, X, U, Y, F = tables[0], tables[1], tables[2], tables[3], tables[4]
    for p in range(out.shape[0]):
        for r in range(p, out.shape[0]):
            s, t = codes[offsets[p] : offsets[p + 1]], codes[offsets[r] : offsets[r + 1]]
            for i in range(s.size + 1):
                for j in range(t.size + 1):
                    for a in range(A + 1):
                        m, x, y = 0.0, 0.0, 0.0
                        if i == 0 and j == 0 and a == A:
                            m = 1.0
                        if i > 0 and j > 0 and a < A:
                            m = F[i - 1, j - 1, A] * start[a]
                            for b in range(A):
                                m += F[i - 1, j - 1, b] * transition[b, a]
                            m *= (1.0 - stop) * emission[a, s[i - 1]] * emission[a, t[j - 1]]
                        if i > 0:
                            x = background[s[i - 1]] * (insertion * M[i - 1, j, a] + extension * X[i - 1, j, a])
                        u = (1.0 - insertion) * m + (1.0 - extension) * x
                        if j > 0:
                            y = background[t[j - 1]] * (insertion * U[i, j - 1, a] + extension * Y[i, j - 1, a])
                        M[i, j, a], X[i, j, a], U[i, j, a], Y[i, j, a] = m, x, u, y
                        F[i, j, a] = (1.0 - insertion) * u + (1.0 - extension) * y
            out[p, r] = out[r, p] = stop * F[s.size, t.size].sum()


def pairs_in_numbers(words: list[str]) -> Any:
    codes, offsets = coded(words)
    out = np.empty((len(words), len(words)))
    _pairs(codes, offsets, *chain(3), (INSERTION, EXTENSION, STOP), out)
    own = np.sqrt(np.diagonal(out))
    return out / own / own[:, None]


@numba.njit(cache=True)
def _trees(codes, parents, start, transition, emission, out):
    N, L, A = parents.size, codes.shape[1], start.size
    inside = np.empty((N, A))
    for i in range(out.shape[0]):
        for j in range(i, out.shape[0]):
            inside[:] = 0.0
            for v in range(N - 1, 0, -1):  # children have larger numbers
                if v >= N - L:
                    for a in range(A):
                        inside[v, a] = emission[a, codes[i, v - N + L]] + emission[a, codes[j, v - N + L]]
                for a in range(A):
                    inside[parents[v], a] += _add(transition[a] + inside[v])
            out[i, j] = out[j, i] = _add(start + inside[0])


# data and rows --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Profiles:
    """Random symbols at the leaves of a full binary tree."""

    count: int
    depth: int

    @property
    def parents(self) -> tuple[int, ...]:
        return (-1, *((v - 1) // 2 for v in range(1, 2 ** (self.depth + 1) - 1)))

    def make(self) -> tuple[tuple[int, ...], list[str]]:
        return self.parents, Words(self.count, 2**self.depth).make()

    def __str__(self) -> str:
        return f"{self.count} objects with {2**self.depth} leaves of {len(LETTERS)} symbols"


def trees_in_logs(data: Any) -> Any:
    parents, words = data
    codes, _ = coded(words)
    out = np.empty((len(words), len(words)))
    start, transition, emission = map(np.log, chain(3))
    _trees(codes.reshape(len(words), -1), np.array(parents), start, transition, emission, out)
    own = np.diagonal(out)
    return np.exp(out - own / 2 - own[:, None] / 2)


def tree(data: Any) -> Any:
    parents, words = data
    return HiddenTree(parents, *chain(3), alphabet=LETTERS, form="normalised")(words)


def models(count: int) -> tuple[MarkovChain, ...]:
    rng = np.random.default_rng(1)
    return tuple(MarkovChain(1, alphabet=LETTERS, transitions=rows(rng, 5, 4)) for _ in range(count))


def one_by_one(words: list[str]) -> Any:
    """The sum over models in logarithms, a matrix a model."""
    S = Strings.pack(words)
    logs = [model.log_likelihood(S) for model in models(20)]
    total = np.full((len(S), len(S)), -np.inf)
    for log in logs:
        np.logaddexp(total, log[:, None] + log, out=total)
    own = np.diagonal(total)
    return np.exp(total - own / 2 - own[:, None] / 2)


def logarithms(values: Any, data: Any) -> np.ndarray:
    return np.log(values)


def _paths_row(name: str, count: int, states: int, peers: tuple[Peer, ...] = ()) -> Timing:
    return Timing(
        name,
        f"HiddenMarkov of {states} states, normalised, all pairs, from str",
        Words(count, 200),
        Words(40, 200),
        ours=lambda words: HiddenMarkov(chain(states), LETTERS, form="normalised")(words),
        peers=peers,
        outcome=logarithms,
        fewest=2,
    )


def _pairs_row(name: str, count: int, length: int, peers: tuple[Peer, ...] = ()) -> Timing:
    return Timing(
        name,
        "PairHiddenMarkov of 3 states, normalised, all pairs, from str",
        Words(count, length),
        Words(4, length),
        ours=lambda words: PairHiddenMarkov(
            chain(3), LETTERS, insertion=INSERTION, extension=EXTENSION, stop=STOP, form="normalised"
        )(words),
        peers=peers,
        outcome=logarithms,
        fewest=2,
    )


ROWS: tuple[Row, ...] = (
    _paths_row("hidden-paths", 300, 4, (Peer("recursion in logarithms, compiled", paths_in_logs, times_faster(20.0)),)),
    _paths_row("hidden-paths-20", 100, 20),
    _pairs_row(
        "hidden-pairs", 30, 200, (Peer("tables in plain numbers, compiled", pairs_in_numbers, times_faster(1.2)),)
    ),
    _pairs_row("hidden-pairs-long", 6, 1000),
    Timing(
        "hidden-tree",
        "HiddenTree of 3 states, normalised, all pairs, from str",
        Profiles(150, 8),
        Profiles(20, 8),
        ours=tree,
        peers=(Peer("recursion in logarithms, compiled", trees_in_logs, times_faster(20.0)),),
        outcome=logarithms,
        fewest=2,
    ),
    Timing(
        "marginalization",
        "Marginalization over 20 Markov chains, normalised, all pairs, from str",
        Words(2000, 200),
        Words(200, 200),
        ours=lambda words: Marginalization(models(20), form="normalised")(words),
        peers=(Peer("sum in logarithms, a matrix a model", one_by_one, times_faster(3.0)),),
        outcome=logarithms,
        fewest=2,
    ),
)
