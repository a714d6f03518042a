"""Sums over common walks from their definition: walks are listed, or powers of the product graph added."""

import numpy as np

from tests.naive.graphs import arcs


def product_graph(left, right, labels=True, edge_labels=True, weights=lambda graph: arcs(graph)):
    """Return the pairs of nodes with equal labels, and the weights between them."""
    pairs = [
        (i, j) for i, a in enumerate(left["labels"]) for j, b in enumerate(right["labels"]) if not labels or a == b
    ]
    place = {pair: p for p, pair in enumerate(pairs)}
    W = np.zeros((len(pairs), len(pairs)))
    for u, v, label, weight in weights(left):
        for s, t, other, factor in weights(right):
            if (not edge_labels or label == other) and (u, s) in place and (v, t) in place:
                W[place[u, s], place[v, t]] += weight * factor
    return pairs, W


def random_walk(left, right, decay, kind="geometric", labels=True, edge_labels=True, weights=arcs):
    """The series itself."""
    _, W = product_graph(left, right, labels, edge_labels, weights)
    term, total = np.ones(len(W)), 0.0
    for t in range(1, 3000):
        total += term.sum()
        if not term.max(initial=0.0) > 1e-18 * total:
            break
        term = decay * (W @ term) / (t if kind == "exponential" else 1.0)
    return total


def normalized_arcs(graph):
    """Arcs with weights divided by the roots of the degrees at both ends."""
    n = len(graph["labels"])
    out, back = np.zeros(n), np.zeros(n)
    for u, v, _, weight in arcs(graph):
        out[u] += weight
        back[v] += weight
    return [(u, v, label, weight / np.sqrt(out[u] * back[v])) for u, v, label, weight in arcs(graph)]


def walks(graph, length):
    """All walks of a length: nodes, labels of edges, product of weights over sums of weights."""
    found = [((v,), (), 1.0) for v in range(len(graph["labels"]))]
    sums = np.zeros(len(graph["labels"]))
    for u, _, _, weight in arcs(graph):
        sums[u] += weight
    for _ in range(length):
        found = [
            ((*nodes, v), (*labels, label), chance * weight / sums[u])
            for nodes, labels, chance in found
            for u, v, label, weight in arcs(graph)
            if u == nodes[-1]
        ]
    return found


def marginalized(left, right, stop, longest, labels=True, edge_labels=True):
    """Walks of up to some length, listed, with the probabilities of starting, of going on and of stopping."""

    def chances(graph, length):
        sinks = set(range(len(graph["labels"]))) - {u for u, _, _, _ in arcs(graph)}
        totals = {}
        for nodes, kinds, chance in walks(graph, length):
            key = tuple(graph["labels"][v] for v in nodes) if labels else length, kinds if edge_labels else ()
            last = 1.0 if nodes[-1] in sinks else stop
            chance *= (1.0 - stop) ** length * last / len(graph["labels"])
            totals[key] = totals.get(key, 0.0) + chance
        return totals

    total = 0.0
    for length in range(longest + 1):
        one, two = chances(left, length), chances(right, length)
        total += sum(chance * two.get(key, 0.0) for key, chance in one.items())
    return total
