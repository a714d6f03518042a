"""From a graph to a tree of cliques: elimination orders, maximal cliques, a spanning tree of largest separators."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod
from typing import NamedTuple

__all__ = ["CliqueTree", "clique_tree", "eliminate", "has_running_intersection"]


class CliqueTree(NamedTuple):
    """Cliques of a triangulated graph and a tree (a forest, if the graph has several parts) over them.

    Attributes
    ----------
    cliques : list of tuples of int
        Variables in ascending order.
    parents : list of int
        -1 for a root. A clique comes after its parent in `order`.
    separators : list of tuples of int
        What a clique shares with its parent.
    order : list of int
    """

    cliques: list[tuple[int, ...]]
    parents: list[int]
    separators: list[tuple[int, ...]]
    order: list[int]


def eliminate(neighbours: Sequence[frozenset[int]], sizes: Sequence[int], heuristic: str) -> list[tuple[int, ...]]:
    """Eliminate the variables one by one, and return the maximal cliques that arise.

    Parameters
    ----------
    neighbours : sequence of sets of int
        The graph.
    sizes : sequence of int
        Numbers of states; ties are broken by the smaller table.
    heuristic : {"min_fill", "min_width"}
        The next variable is one that needs the fewest new edges, or has the fewest neighbours.
    """
    graph = [set(others) for others in neighbours]
    fill = heuristic == "min_fill"

    def cost(v: int) -> tuple[int, int, int]:
        around = graph[v]
        if fill:
            missing = sum(b not in graph[a] for a, b in combinations(around, 2))
            return missing, prod(sizes[u] for u in around) * sizes[v], v
        return len(around), prod(sizes[u] for u in around) * sizes[v], v

    costs = {v: cost(v) for v in range(len(graph))}
    kept: list[frozenset[int]] = []
    holders: list[list[frozenset[int]]] = [[] for _ in graph]
    while costs:
        v = min(costs, key=costs.__getitem__)
        around = graph[v]
        clique = frozenset(around | {v})
        if not any(clique <= other for other in holders[v]):
            kept.append(clique)
            for u in clique:
                holders[u].append(clique)
        for u in around:
            graph[u] |= around
            graph[u] -= {u, v}
        del costs[v]
        changed = set(around)
        if fill:
            changed.update(*(graph[u] for u in around))
        for u in changed:
            costs[u] = cost(u)
    return [tuple(sorted(clique)) for clique in kept]


def clique_tree(cliques: Sequence[tuple[int, ...]]) -> CliqueTree:
    """Return a spanning tree of the cliques with the largest separators in total (Kruskal)."""
    members = [frozenset(clique) for clique in cliques]
    holders: dict[int, list[int]] = {}
    for place, clique in enumerate(cliques):
        for v in clique:
            holders.setdefault(v, []).append(place)
    pairs = {pair for places in holders.values() for pair in combinations(places, 2)}
    weighted = sorted((-len(members[a] & members[b]), a, b) for a, b in pairs)
    root = list(range(len(cliques)))

    def find(a: int) -> int:
        while root[a] != a:
            root[a] = root[root[a]]
            a = root[a]
        return a

    edges: list[list[int]] = [[] for _ in cliques]
    for _, a, b in weighted:
        if find(a) != find(b):
            root[find(a)] = find(b)
            edges[a].append(b)
            edges[b].append(a)
    parents, order, seen = [-1] * len(cliques), [], [False] * len(cliques)
    for start in range(len(cliques)):
        stack = [] if seen[start] else [start]
        while stack:
            a = stack.pop()
            seen[a] = True
            order.append(a)
            for b in edges[a]:
                if not seen[b]:
                    parents[b] = a
                    stack.append(b)
    separators = [tuple(sorted(members[a] & members[p])) if p >= 0 else () for a, p in enumerate(parents)]
    return CliqueTree(list(cliques), parents, separators, order)


def has_running_intersection(tree: CliqueTree) -> bool:
    """Return whether the cliques of each variable are connected in the tree.

    In a forest, nodes minus edges is the number of parts: of the cliques of a variable it must be one.
    """
    parts: dict[int, int] = {}
    for clique, separator in zip(tree.cliques, tree.separators, strict=True):
        for v in clique:
            parts[v] = parts.get(v, 0) + 1
        for v in separator:
            parts[v] -= 1
    return all(count == 1 for count in parts.values())
