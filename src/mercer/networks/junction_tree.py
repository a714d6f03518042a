"""Exact inference: messages between the cliques of a junction tree, sums or maxima, in logarithms.

Symbols: theta_c the log-potential of clique c, s(c) what it shares with its parent, mu the messages, g the
log-partition function.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from math import prod
from typing import Any

import numpy as np

from mercer.arguments import checked
from mercer.arrays import Floats, Indices
from mercer.budget import Bytes, Memory, Plan
from mercer.constraints import OneOf, Optional
from mercer.errors import DomainError, ParameterError
from mercer.networks.log_tables import aligned, entropy_of, expectation, log_sum, normalised, reduced_axes, summed_to
from mercer.networks.network import NETWORK, MarkovNetwork
from mercer.networks.triangulation import CliqueTree, clique_tree, eliminate, has_running_intersection

__all__ = ["JunctionTree", "junction_tree"]
__public__ = __all__

HEURISTICS = ("min_fill", "min_width")


@checked(network=NETWORK, heuristic=OneOf(*HEURISTICS), memory=Optional(Bytes()))
def junction_tree(network: MarkovNetwork, heuristic: str = "min_fill", memory: Memory = None) -> JunctionTree:
    r"""Compile a network for exact inference.

    The graph is triangulated by eliminating its variables, and its cliques become a tree with the largest separators:
    a spanning tree of largest weight :math:`W(c, d) = |c \cap d|`, in which the cliques of each variable are connected.

    Seed: [HSS] Definition 25 and Section 4.2.4.

    Parameters
    ----------
    network : MarkovNetwork
    heuristic : {"min_fill", "min_width"}, default "min_fill"
        Which variable is eliminated next: the one that adds the fewest edges, or has the fewest neighbours.
    memory : int, str or None
        Budget in bytes, for example "2GB"; None is 70 % of what is free.

    Returns
    -------
    JunctionTree

    Raises
    ------
    MemoryBudgetError
        The tables of the cliques do not fit; the message has the treewidth.

    Notes
    -----
    Cost and memory are the sizes of the cliques' tables, which are exponential in the treewidth.

    Examples
    --------
    >>> square = [((a, b), np.eye(2)) for a, b in ("ab", "bc", "cd", "da")]
    >>> tree = junction_tree(MarkovNetwork.from_factors(square))
    >>> tree.treewidth, tree.named_cliques
    (2, [('a', 'b', 'd'), ('b', 'c', 'd')])
    >>> tree.marginals()["a"]
    array([0.5, 0.5])
    """
    cliques = eliminate(network.neighbours, network.sizes, heuristic)
    width = max(map(len, cliques)) - 1
    entries = [prod(network.sizes[v] for v in clique) for clique in cliques]
    Plan(
        f"the junction tree of {len(network.variables)} variables, of treewidth {width} ({heuristic}; largest clique "
        f"of {max(entries)} joint states),",
        {"tables of the cliques": 3 * 8 * sum(entries)},
        (
            "loopy_propagation or mean_field, which are approximate",
            "the other heuristic",
            "given(...) to fix variables",
        ),
    ).require(memory)
    tree = clique_tree(cliques)
    assert has_running_intersection(tree)
    return JunctionTree(network, tree)


@dataclass(frozen=True, eq=False)
class JunctionTree:
    r"""Exact answers about a network; made by `junction_tree`.

    .. math:: \mu_{c \to c'}(x_{s(c)}) = \sum_{x_{c \setminus s(c)}} e^{\theta_c(x_c)}
        \prod_{d: d' = c} \mu_{d \to c}(x_{s(d)})

    Seed: [HSS] Eqs. (119)-(120) and the maxima after them (Viterbi), which are taken in logarithms here.

    Parameters
    ----------
    network : MarkovNetwork
    tree : CliqueTree

    Notes
    -----
    Messages are computed when they are first asked for, and kept.

    Examples
    --------
    >>> pair = MarkovNetwork.from_factors([(("a", "b"), np.log([[1.0, 2.0], [3.0, 4.0]]))])
    >>> exact = junction_tree(pair)
    >>> float(np.exp(exact.log_partition).round(12)), exact.best()
    (10.0, ({'a': 1, 'b': 1}, 1.3862943611198906))
    """

    network: MarkovNetwork
    tree: CliqueTree

    def with_network(self, network: MarkovNetwork) -> JunctionTree:
        """Return the same tree for a network with the same scopes and sizes but other scores."""
        return replace(self, network=network)

    @property
    def treewidth(self) -> int:
        """Size of the largest clique minus one: the treewidth, or an upper bound on it."""
        return max(map(len, self.tree.cliques)) - 1

    @property
    def named_cliques(self) -> list[tuple[Hashable, ...]]:
        """The cliques by the names of their variables."""
        return [tuple(self.network.variables[v] for v in clique) for clique in self.tree.cliques]

    # messages -----------------------------------------------------------------------------------------

    @cached_property
    def _homes(self) -> list[int]:
        """The clique of each factor, the smallest that holds it, then that of each variable."""
        cliques = self.tree.cliques
        holders: dict[int, list[int]] = {}
        for place, clique in enumerate(cliques):
            for v in clique:
                holders.setdefault(v, []).append(place)
        sets = [frozenset(clique) for clique in cliques]
        scopes = [*(f.scope for f in self.network.factors), *((v,) for v in range(len(self.network.variables)))]
        return [
            min((c for c in holders[scope[0]] if sets[c].issuperset(scope)), key=lambda c: len(cliques[c]))
            for scope in scopes
        ]

    @cached_property
    def _children(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.tree.cliques]
        for c, parent in enumerate(self.tree.parents):
            if parent >= 0:
                found[parent].append(c)
        return found

    def _potentials(self, extra: Mapping[int, Floats] | None = None) -> list[Floats]:
        """Return the sum of the factors of each clique, and of scores of single variables."""
        cliques, sizes = self.tree.cliques, self.network.sizes
        found: list[Floats] = [np.zeros([sizes[v] for v in clique]) for clique in cliques]
        for (scope, scores), c in zip(self.network.factors, self._homes, strict=False):
            found[c] += aligned(scores, scope, cliques[c])
        for v, scores in (extra or {}).items():
            c = self._homes[len(self.network.factors) + v]
            found[c] += aligned(scores, (v,), cliques[c])
        return found

    def _inward(self, potentials: list[Floats], reduce: Any) -> list[Floats]:
        """Send messages to the roots; potentials become products with what was received. Return the messages."""
        cliques, _, separators, order = self.tree
        sent: list[Any] = [None] * len(cliques)
        for c in reversed(order):
            for child in self._children[c]:
                potentials[c] += aligned(sent[child], separators[child], cliques[c])
            sent[c] = reduce(potentials[c], reduced_axes(cliques[c], separators[c]))
        return sent

    @cached_property
    def _beliefs(self) -> list[Floats]:
        """Logarithms of the cliques' tables after messages both ways, up to a constant of each part."""
        cliques, _, separators, order = self.tree
        beliefs = self._potentials()
        own = [table.copy() for table in beliefs]
        sent = self._inward(beliefs, log_sum)
        for c in order:  # own[c] has what came from above; each child gets that and what its siblings sent
            children = self._children[c]
            received = [aligned(sent[child], separators[child], cliques[c]) for child in children]
            before = own[c]
            after: list[Any] = [0.0] * len(children)
            for k in range(len(children) - 2, -1, -1):
                after[k] = after[k + 1] + received[k + 1]
            for k, child in enumerate(children):
                message = log_sum(before + after[k], reduced_axes(cliques[c], separators[child]))
                spread = aligned(message, separators[child], cliques[child])
                own[child] = own[child] + spread
                beliefs[child] = beliefs[child] + spread
                before = before + received[k]
        return beliefs

    @cached_property
    def log_partition(self) -> float:
        """Logarithm of the sum over all joint states, g(theta); -inf if none is possible."""
        return float(sum(log_sum(self._beliefs[c]) for c in self.tree.order if self.tree.parents[c] < 0))

    # sums ---------------------------------------------------------------------------------------------

    @cached_property
    def _clique_marginals(self) -> list[Floats]:
        if self.log_partition == -np.inf:
            raise DomainError(
                "no joint state of this network is possible: every one has a score of -inf; at least one must have a "
                "finite score. Look for factors that contradict each other, or for impossible evidence."
            )
        return [normalised(belief) for belief in self._beliefs]

    def clique_marginals(self) -> list[Floats]:
        """Return p(x_c) of each clique, in the order of `named_cliques`."""
        return list(self._clique_marginals)

    def marginals(self) -> dict[Hashable, Floats]:
        """Return p(x_v) of each variable, by name."""
        offset = len(self.network.factors)
        return self.network.named([self._of((v,), offset + v) for v in range(len(self.network.variables))])

    def factor_marginals(self) -> list[Floats]:
        r"""Return p(x_c) of each factor, in their order: the expected statistics.

        They are the gradient of the log-partition function, :math:`\partial g / \partial \theta_c(x_c) = p(x_c)`.
        """
        return [self._of(factor.scope, place) for place, factor in enumerate(self.network.factors)]

    def expected_statistics(self) -> list[Floats]:
        """Return the expectations of the indicators of all states of all factors, as `factor_marginals`."""
        return self.factor_marginals()

    def _of(self, scope: tuple[int, ...], place: int) -> Floats:
        c = self._homes[place]
        return summed_to(self._clique_marginals[c], self.tree.cliques[c], scope)

    def entropy(self) -> float:
        """Return the entropy of the joint distribution, from those of cliques minus separators."""
        total = 0.0
        for p, clique, separator in zip(self._clique_marginals, self.tree.cliques, self.tree.separators, strict=True):
            total += entropy_of(p) - entropy_of(summed_to(p, clique, separator))
        return total

    def expected_score(self) -> float:
        """Return the expectation of the score: <theta, mu>, so that entropy is g minus this."""
        return sum(
            expectation(p, factor.scores)
            for p, factor in zip(self.factor_marginals(), self.network.factors, strict=True)
        )

    def sample(self, count: int = 1, random_state: Any = None) -> Indices:
        """Draw joint states, (count, n), in the order of the network's variables.

        Parameters
        ----------
        count : int
        random_state : int, Generator or None
        """
        rng = np.random.default_rng(random_state)
        sizes = self.network.sizes
        out = np.zeros((count, len(sizes)), dtype=np.intp)
        for c in self.tree.order:
            clique, separator = self.tree.cliques[c], self.tree.separators[c]
            rest = [v for v in clique if v not in separator]
            if not rest:
                continue
            table = self._clique_marginals[c].transpose([clique.index(v) for v in (*separator, *rest)])
            table = np.cumsum(table.reshape(prod(sizes[v] for v in separator), -1), axis=1)
            known = [sizes[v] for v in separator]
            row = np.ravel_multi_index([out[:, v] for v in separator], known) if known else np.zeros(count, np.intp)
            chosen = table[row]
            drawn = (chosen <= rng.random(count)[:, None] * chosen[:, -1:]).sum(axis=1)
            for v, states in zip(rest, np.unravel_index(drawn, [sizes[v] for v in rest]), strict=True):
                out[:, v] = states
        return out

    # maxima -------------------------------------------------------------------------------------------

    def best(self) -> tuple[dict[Hashable, int], float]:
        """Return the joint state of the highest score, by names, and its score."""
        states, value = self._best()
        return self.network.named([int(s) for s in states]), value

    def loss_augmented_best(
        self, truth: Any, losses: Mapping[Any, Any] | None = None
    ) -> tuple[dict[Hashable, int], float]:
        """Return the joint state with the highest sum of score and loss, and that sum.

        Parameters
        ----------
        truth : mapping or (n,) array
            The true joint state y.
        losses : mapping from names to (size, size) arrays, optional
            What it costs to give variable v the state b where a is true: ``losses[v][a, b]``. Variables that are left
            out cost nothing; None counts the variables that differ from the truth.
        """
        codes = self.network.codes(truth)
        if losses is None:
            extra = {v: (np.arange(size) != codes[v]).astype(float) for v, size in enumerate(self.network.sizes)}
        else:
            extra = {}
            for name, table in losses.items():
                v = self.network.place_of(name)
                cost = np.asarray(table, dtype=float)
                if cost.shape != (self.network.sizes[v],) * 2:
                    raise ParameterError(
                        f"losses[{name!r}] has shape {cost.shape}; it must be square with {self.network.sizes[v]} "
                        "rows. Give one row for each true state."
                    )
                extra[v] = cost[codes[v]]
        states, value = self._best(extra)
        return self.network.named([int(s) for s in states]), value

    def k_best(self, k: int) -> list[tuple[dict[Hashable, int], float]]:
        """Return the k best joint states and their scores, best first; fewer if there are fewer that are possible.

        What remains of a set of joint states without its best one is divided by the first variable that differs from
        it, and the best one of each part is found by messages (Lawler, 1972): n runs for each joint state.
        """
        if isinstance(k, bool) or k != int(k) or k < 1:
            raise ParameterError(f"k={k!r} was given; the number of joint states is at least 1. Give k=2 for two.")
        found: list[tuple[dict[Hashable, int], float]] = []
        for states, value in self._in_descending_order():
            found.append((self.network.named([int(s) for s in states]), value))
            if len(found) == k:
                break
        return found

    def _in_descending_order(self) -> Iterator[tuple[Indices, float]]:
        sizes, ties = self.network.sizes, count()
        heap: list[Any] = []

        def push(masks: dict[int, Floats], first: int) -> None:
            states, value = self._best(masks)
            if value > -np.inf:
                heapq.heappush(heap, (-value, next(ties), states, masks, first))

        push({}, 0)
        while heap:
            value, _, states, masks, first = heapq.heappop(heap)
            yield states, -value
            for v in range(first, len(sizes)):
                allowed = dict(masks)
                for u in range(first, v):
                    allowed[u] = np.where(np.arange(sizes[u]) == states[u], 0.0, -np.inf)
                without = allowed.get(v, np.zeros(sizes[v])).copy()
                without[states[v]] = -np.inf
                if np.isfinite(without).any():
                    push({**allowed, v: without}, v)

    def _best(self, extra: Mapping[int, Floats] | None = None) -> tuple[Indices, float]:
        potentials = self._potentials(extra)
        self._inward(potentials, lambda table, axes: table.max(axis=axes) if axes else table)
        states, value = np.zeros(len(self.network.sizes), dtype=np.intp), 0.0
        for c in self.tree.order:
            clique, separator = self.tree.cliques[c], self.tree.separators[c]
            table = potentials[c][tuple(states[v] if v in separator else slice(None) for v in clique)]
            place = int(np.argmax(table))
            if self.tree.parents[c] < 0:
                value += float(table.flat[place])
            rest = [v for v in clique if v not in separator]
            for v, state in zip(rest, np.unravel_index(place, table.shape), strict=True):
                states[v] = state
        return states, value
