"""Kernels between graphs from their definitions, on plain dicts, and random graphs to try them on.

A graph is a dict with "labels" (a list), "edges" (pairs of positions), "edge_labels", "weights" (lists) and "directed".
"""

from collections import Counter
from itertools import combinations, permutations

import numpy as np

# three graphs, and their matrices by GraKeL 0.1.11
THREE = [
    {"edges": [(0, 2), (0, 5), (1, 2), (1, 5), (2, 3), (2, 4), (3, 4)], "labels": "OCCCOO"},
    {
        "edges": [(0, 1), (0, 3), (1, 2), (1, 3), (1, 4), (1, 6), (2, 3), (2, 4), (3, 5), (4, 5), (4, 6)],
        "labels": "NOOCOCC",
    },
    {"edges": [(0, 1), (0, 3), (0, 4), (1, 2), (1, 4), (2, 3), (2, 4), (3, 4)], "labels": "OCNOO"},
]


def random_graphs(seed, count=5, nodes=6, words=("C", "O", 7, None), directed=False):
    """Small graphs with labels, edge labels, whole weights; some are empty, some have loops."""
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(count):
        n = int(rng.integers(0, nodes + 1))
        is_directed = directed and bool(rng.integers(2))
        pairs = [(u, v) for u in range(n) for v in range(n) if (is_directed or u <= v)]
        edges = [pair for pair in pairs if rng.random() < (0.15 if pair[0] == pair[1] else 0.4)]
        graphs.append(
            {
                "labels": [words[int(i)] for i in rng.integers(0, len(words), n)],
                "edges": edges,
                "edge_labels": [("s", "d")[int(i)] for i in rng.integers(0, 2, len(edges))],
                "weights": [float(w) for w in rng.integers(1, 4, len(edges))],
                "directed": is_directed,
            }
        )
    return graphs


def with_attributes(graphs, seed, width=2):
    """The graphs with normal vectors at their nodes."""
    rng = np.random.default_rng(seed)
    return [graph | {"attributes": rng.normal(size=(len(graph["labels"]), width))} for graph in graphs]


def arcs(graph):
    """All (from, to, label, weight); an edge without direction twice, a loop once."""
    found = []
    for (u, v), label, weight in zip(graph["edges"], graph["edge_labels"], graph["weights"], strict=True):
        found.append((u, v, label, weight))
        if not graph["directed"] and u != v:
            found.append((v, u, label, weight))
    return found


def product(left, right):
    return sum(number * right.get(key, 0) for key, number in left.items())


def gram(count, X, Y, *options):
    """The matrix of products of counts."""
    return np.array([[float(product(count(g, *options), count(h, *options))) for h in Y] for g in X])


def vertices(graph, labels=None):
    return Counter(graph["labels"] if labels is None else labels)


def edges(graph, labels=None, ends=True):
    labels = graph["labels"] if labels is None else labels
    found = Counter()
    for (u, v), label in zip(graph["edges"], graph["edge_labels"], strict=True):
        pair = (labels[u], labels[v]) if ends else (None, None)
        if graph["directed"]:
            found["arc", pair, label] += 1
        else:
            found["edge", frozenset(Counter(pair).items()), label] += 1
    return found


def distances(graph, weighted=False):
    n = len(graph["labels"])
    d = np.full((n, n), np.inf)
    np.fill_diagonal(d, 0.0)
    for u, v, _, weight in arcs(graph):
        if u != v:
            d[u, v] = min(d[u, v], weight if weighted else 1.0)
    for w in range(n):
        d = np.minimum(d, d[:, [w]] + d[[w]])
    return d


def paths(graph, labels=None, use_labels=True, weighted=False):
    labels = graph["labels"] if labels is None else labels
    d = distances(graph, weighted)
    found = Counter()
    for u, v in permutations(range(len(labels)), 2):
        if d[u, v] < np.inf:
            found[(labels[u], labels[v], d[u, v]) if use_labels else d[u, v]] += 1
    return found


def attributed_paths(one, two, similarity, use_labels=True, weighted=False):
    """Sum over pairs of paths of equal length the similarities of where they begin and of where they end."""

    def nodes(u, v):
        if use_labels and one["labels"][u] != two["labels"][v]:
            return 0.0
        return similarity(one["attributes"][u], two["attributes"][v])

    d, e = distances(one, weighted), distances(two, weighted)
    return sum(
        nodes(u, s) * nodes(v, t)
        for u, v in permutations(range(len(d)), 2)
        for s, t in permutations(range(len(e)), 2)
        if d[u, v] == e[s, t] < np.inf
    )


def refined(graph, labels):
    near = {u: [] for u in range(len(labels))}
    for u, v, _, _ in arcs(graph):
        near[u].append(labels[v])
    return [(label, tuple(sorted(near[u], key=repr))) for u, label in enumerate(labels)]


def weisfeiler_lehman(graph, iterations, base):
    """Counts of the base on the labels of all levels; labels are nested tuples, so nothing is ever numbered."""
    found, labels = Counter(), list(graph["labels"])
    for level in range(iterations + 1):
        found.update({(level, key): number for key, number in base(graph, labels).items()})
        labels = refined(graph, labels)
    return found


def graphlets(graph, size, connected):
    """Shares of the isomorphism classes of sets of nodes; a class is the largest string of all its orders."""
    joined = {frozenset((u, v)) for u, v in graph["edges"] if u != v}
    found = Counter()
    for nodes in combinations(range(len(graph["labels"])), size):
        if connected and not _is_connected(nodes, joined):
            continue
        name = max(
            tuple(frozenset((order[i], order[j])) in joined for j in range(size) for i in range(j))
            for order in permutations(nodes)
        )
        found[name] += 1
    total = sum(found.values())
    return {name: number / total for name, number in found.items()}


def _is_connected(nodes, joined):
    reached = {nodes[0]}
    for _ in nodes:
        reached |= {v for v in nodes for u in reached if frozenset((u, v)) in joined}
    return len(reached) == len(nodes)
