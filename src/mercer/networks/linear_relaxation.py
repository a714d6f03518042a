r"""The linear relaxation of the best joint state: an upper bound on its score, and a joint state that may reach it.

Symbols: theta_i and theta_e the log-potentials of variables and edges, delta_ei messages from an edge to its ends,
b_i = theta_i + sum_e delta_ei; whatever the messages are, no joint state scores more than
sum_i max b_i + sum_e max(theta_e - delta_ei - delta_ej).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from mercer.arguments import checked
from mercer.arrays import Floats, Indices
from mercer.constraints import OneOf
from mercer.errors import CapabilityError
from mercer.networks.junction_tree import junction_tree
from mercer.networks.network import NETWORK, STEPS, TOLERANCE, MarkovNetwork
from mercer.runtime.compiled import compiled

__all__ = ["PairScores", "Relaxation", "Relaxed", "is_forest", "linear_relaxation", "relax"]
__public__ = ["Relaxation", "linear_relaxation"]

_LOOK = 5  # sweeps between attempts to decode a joint state


@dataclass(frozen=True, eq=False)
class Relaxation:
    """A joint state, and bounds on the score of the best one.

    Attributes
    ----------
    states : dict
        A joint state by the names of the variables.
    value : float
        Its score, which the best joint state reaches at least.
    bound : float
        No joint state scores more.
    exact : bool
        Whether value and bound agree, so that the joint state is the best one.
    n_iter : int
    """

    states: dict[Hashable, int]
    value: float
    bound: float
    exact: bool
    n_iter: int


class PairScores(NamedTuple):
    """A network of pairs as arrays: scores of states (n, S), sizes (n,), edges (E, 2), their scores (E, S, S).

    Entries beyond the size of a variable are ignored; all others are finite.
    """

    single: Floats
    sizes: Indices
    edges: Indices
    pairs: Floats


@checked(network=NETWORK, method=OneOf("messages", "simplex"), tol=TOLERANCE, max_iter=STEPS)
def linear_relaxation(
    network: MarkovNetwork, *, method: str = "messages", tol: float = 1e-6, max_iter: int = 1000
) -> Relaxation:
    r"""Bound the score of the best joint state from above, by marginals that are only locally consistent.

    .. math:: \max_x \sum_c \theta_c(x_c) \;\le\; \max_{\mu \in \mathcal{M}_+} \langle \theta, \mu \rangle
        \;\le\; \sum_i \max_{x_i} b_i(x_i) + \sum_e \max_{x_e} \bigl(\theta_e - \delta_{ei} - \delta_{ej}\bigr)(x_e)

    On trees all three are equal, and the joint state is the best one.

    Seed: [HSS] Section 4.2.5, Eq. (127): the local polytope. The messages are those of Globerson and Jaakkola (2007).

    Parameters
    ----------
    network : MarkovNetwork
        With factors of one or two variables.
    method : {"messages", "simplex"}, default "messages"
        "messages" lowers the bound edge by edge and may stop above the optimum of the relaxation, still with a valid
        bound; "simplex" solves the linear program with HiGHS, for edges with some ten thousand joint states in all.
    tol : float, default 1e-6
        Message passing stops when bound and value differ by at most this, relative to the bound, or when a sweep
        lowers the bound by less than a hundredth of it.
    max_iter : int, default 1000
        Largest number of sweeps over the edges.

    Raises
    ------
    CapabilityError
        Factors of three or more variables.

    Notes
    -----
    Cost O(E S^2) for a sweep over E edges with S states.

    Examples
    --------
    >>> agree = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> triangle = [(("a", "b"), agree), (("b", "c"), agree), (("a", "c"), agree), (("a",), [0.0, 0.5])]
    >>> found = linear_relaxation(MarkovNetwork.from_factors(triangle))
    >>> found.states, found.value, found.exact
    ({'a': 1, 'b': 1, 'c': 1}, 3.5, True)
    >>> odd = [(names, -agree) for names, _ in triangle[:3]]
    >>> found = linear_relaxation(MarkovNetwork.from_factors(odd), method="simplex")
    >>> found.value, abs(round(found.bound, 6))
    (-1.0, 0.0)
    """
    large = [f.scope for f in network.factors if len(f.scope) > 2]
    if large:
        raise CapabilityError(
            f"the network has a factor of {len(large[0])} variables; the linear relaxation takes those of one or two. "
            "Use junction_tree(network).best()."
        )
    if is_forest(len(network.sizes), [f.scope for f in network.factors if len(f.scope) == 2]):
        states, value = junction_tree(network).best()
        return Relaxation(states, value, value, True, 0)
    found = relax(_pair_scores(network), method, tol, max_iter)
    value = float(network.score(found.states))
    exact = found.bound - value <= tol * (1.0 + abs(found.bound))
    states = network.named([int(x) for x in found.states])
    return Relaxation(states, value, max(found.bound, value), bool(exact), found.n_iter)


class Relaxed(NamedTuple):
    """A `Relaxation` as arrays."""

    states: Indices
    value: float
    bound: float
    n_iter: int


def relax(scores: PairScores, method: str = "messages", tol: float = 1e-6, max_iter: int = 1000) -> Relaxed:
    """Return a joint state, its score, and a bound on all scores."""
    messages = np.zeros((len(scores.edges), 2, scores.single.shape[1]))
    ends = np.argsort(scores.edges.ravel(), kind="stable")  # the ends of edges, grouped by variable
    first = np.searchsorted(scores.edges.ravel()[ends], np.arange(len(scores.sizes) + 1))
    beliefs, states = scores.single.copy(), np.zeros(len(scores.sizes), dtype=np.intp)
    if method == "simplex":
        states = _solve(scores, messages)
        value = _improve(*scores, ends, first, states)
        return Relaxed(states, value, max(_bound(*scores, messages, beliefs), value), 0)
    bound, best, iteration = _bound(*scores, messages, beliefs), -np.inf, 0
    for iteration in range(1, max_iter + 1):
        _sweep(*scores, messages, beliefs)
        lower = min(bound, _bound(*scores, messages, beliefs))
        idle, bound = bound - lower <= 0.01 * tol * (1.0 + abs(lower)), lower
        if iteration % _LOOK == 0 or idle or iteration == max_iter:
            found = np.empty_like(states)
            _choose(*scores, messages, beliefs, ends, first, found)
            value = _improve(*scores, ends, first, found)
            states, best = (found, value) if value > best else (states, best)
            if idle or bound - best <= tol * (1.0 + abs(bound)):
                break
    return Relaxed(states, float(best), float(max(bound, best)), iteration)


def is_forest(count: int, edges: Iterable[Sequence[int]]) -> bool:
    """Return whether the edges form no cycle; parallel edges count as one."""
    root = list(range(count))

    def of(v: int) -> int:
        while root[v] != v:
            v = root[v] = root[root[v]]
        return v

    for a, b in {(min(e), max(e)) for e in edges}:
        if of(a) == of(b):
            return False
        root[of(a)] = of(b)
    return True


def _pair_scores(network: MarkovNetwork) -> PairScores:
    """Return the tables as arrays; forbidden states get finite scores below all others, which only raises the bound."""
    spans = [np.ptp(f.scores[np.isfinite(f.scores)]) for f in network.factors if np.isfinite(f.scores).any()]
    low = -2.0 * (float(np.sum(spans)) + 1.0)
    n, S = len(network.sizes), max(network.sizes)
    single, edges, pairs = np.zeros((n, S)), [], []
    for scope, table in network.factors:
        finite = table[np.isfinite(table)]
        filled = np.where(np.isfinite(table), table, low + (finite.min() if finite.size else 0.0))
        if len(scope) == 1:
            single[scope[0], : len(filled)] += filled
        else:
            whole = np.zeros((S, S))
            whole[: filled.shape[0], : filled.shape[1]] = filled
            edges.append(scope)
            pairs.append(whole)
    return PairScores(
        single,
        np.array(network.sizes, dtype=np.intp),
        np.array(edges, dtype=np.intp).reshape(-1, 2),
        np.array(pairs).reshape(-1, S, S),
    )


def _solve(scores: PairScores, messages: Floats) -> Indices:
    """Solve the linear program over local marginals: fill in its multipliers, return the likeliest states."""
    single, sizes, edges, pairs = scores
    first = np.concatenate([[0], np.cumsum(sizes)])
    objective: list[Any] = [single[i, :size] for i, size in enumerate(sizes)]
    rows, columns, values = [np.repeat(np.arange(len(sizes)), sizes)], [np.arange(first[-1])], [np.ones(first[-1])]
    row, column = len(sizes), int(first[-1])
    for (i, j), table in zip(edges, pairs, strict=True):
        a, b = int(sizes[i]), int(sizes[j])
        own = column + np.arange(a * b)
        objective.append(table[:a, :b].ravel())
        # sum_y mu(x, y) - mu_i(x) = 0 for all x, then sum_x mu(x, y) - mu_j(y) = 0 for all y
        rows += [row + np.repeat(np.arange(a), b), row + a + np.tile(np.arange(b), a), row + np.arange(a + b)]
        columns += [own, own, np.concatenate([first[i] + np.arange(a), first[j] + np.arange(b)])]
        values += [np.ones(a * b), np.ones(a * b), -np.ones(a + b)]
        row, column = row + a + b, column + a * b
    A = sp.csr_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(row, column))
    right = np.zeros(row)
    right[: len(sizes)] = 1.0
    found = linprog(-np.concatenate(objective), A_eq=A, b_eq=right, method="highs")
    if found.status != 0:
        raise CapabilityError(f"HiGHS did not solve the linear relaxation: {found.message} Use method='messages'.")
    multipliers, row = -np.asarray(found.eqlin.marginals), len(sizes)
    for e, edge in enumerate(edges):
        for side, size in enumerate(sizes[edge]):
            messages[e, side, :size] = multipliers[row : row + size]
            row += size
    return np.array([int(np.argmax(found.x[a:b])) for a, b in pairwise(first)], dtype=np.intp)


@compiled
def _top(values, count):
    """Return the position of the largest of the first values."""
    best = 0
    for x in range(1, count):
        if values[x] > values[best]:
            best = x
    return best


@compiled
def _sweep(single, sizes, edges, pairs, messages, beliefs):
    """Minimise the bound over the two messages of each edge in turn."""
    S = single.shape[1]
    own, other, up, down = np.empty(S), np.empty(S), np.empty(S), np.empty(S)
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        a, b = sizes[i], sizes[j]
        for x in range(a):
            own[x] = beliefs[i, x] - messages[e, 0, x]
            up[x] = -np.inf
        for y in range(b):
            other[y] = beliefs[j, y] - messages[e, 1, y]
            down[y] = -np.inf
        for x in range(a):
            for y in range(b):
                score = pairs[e, x, y]
                up[x] = max(up[x], score + other[y])
                down[y] = max(down[y], score + own[x])
        for x in range(a):
            messages[e, 0, x] = 0.5 * (up[x] - own[x])
            beliefs[i, x] = own[x] + messages[e, 0, x]
        for y in range(b):
            messages[e, 1, y] = 0.5 * (down[y] - other[y])
            beliefs[j, y] = other[y] + messages[e, 1, y]


@compiled
def _bound(single, sizes, edges, pairs, messages, beliefs):
    """Return the bound that messages give, and recompute the beliefs from them."""
    for i in range(len(sizes)):
        for x in range(sizes[i]):
            beliefs[i, x] = single[i, x]
    total = 0.0
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        best = -np.inf
        for x in range(sizes[i]):
            beliefs[i, x] += messages[e, 0, x]
            for y in range(sizes[j]):
                best = max(best, pairs[e, x, y] - messages[e, 0, x] - messages[e, 1, y])
        for y in range(sizes[j]):
            beliefs[j, y] += messages[e, 1, y]
        total += best
    for i in range(len(sizes)):
        total += beliefs[i, _top(beliefs[i], sizes[i])]
    return total


@compiled
def _choose(single, sizes, edges, pairs, messages, beliefs, ends, first, states):
    """Choose states one after another: earlier neighbours are fixed, later ones enter by their messages."""
    work = np.empty(single.shape[1])
    for i in range(len(sizes)):
        for x in range(sizes[i]):
            work[x] = beliefs[i, x]
        for p in range(first[i], first[i + 1]):
            e, side = ends[p] // 2, ends[p] % 2
            j = edges[e, 1 - side]
            if j < i:
                for x in range(sizes[i]):
                    work[x] += pairs[e, x, states[j]] if side == 0 else pairs[e, states[j], x]
                    work[x] -= messages[e, side, x]
        states[i] = _top(work, sizes[i])


@compiled
def _improve(single, sizes, edges, pairs, ends, first, states):
    """Change single states while that raises the score; return the score."""
    work = np.empty(single.shape[1])
    changed = True
    while changed:
        changed = False
        for i in range(len(sizes)):
            for x in range(sizes[i]):
                work[x] = single[i, x]
            for p in range(first[i], first[i + 1]):
                e, side = ends[p] // 2, ends[p] % 2
                j = edges[e, 1 - side]
                for x in range(sizes[i]):
                    work[x] += pairs[e, x, states[j]] if side == 0 else pairs[e, states[j], x]
            best = _top(work, sizes[i])
            if work[best] > work[states[i]] + 1e-12 * abs(work[best]):  # a gain beyond rounding
                states[i], changed = best, True
    total = 0.0
    for i in range(len(sizes)):
        total += single[i, states[i]]
    for e in range(len(edges)):
        total += pairs[e, states[edges[e, 0]], states[edges[e, 1]]]
    return total
