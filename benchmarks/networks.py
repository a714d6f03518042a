"""Inference on networks: chains against hmmlearn, junction trees against pgmpy. A script that prints two tables.

    python -m benchmarks.networks [--quick]

Neither package is needed by mercer; the half whose package is missing is skipped. Seconds are those of the wall and of
all threads together: the first depends on how busy the machine is, the second hardly.
"""

from __future__ import annotations

import importlib.util
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np

from mercer.models import HiddenMarkovModel
from mercer.networks import MarkovNetwork, junction_tree

STATES, LETTERS = 50, 200


def clocked(call: Callable[[], Any], rounds: int = 3) -> tuple[Any, float, float]:
    """Result of a call, and the least seconds of the wall and of the processor in some rounds."""
    walls, processors, result = [], [], None
    for _ in range(rounds):
        wall, processor = time.perf_counter(), time.process_time()
        result = call()
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
    return result, min(walls), min(processors)


def chains(sequences: int) -> None:
    """Forward-backward and Viterbi of a hidden Markov model with 50 states, sequences of 50 to 150 positions."""
    from hmmlearn.hmm import CategoricalHMM

    rng = np.random.default_rng(0)
    lengths = rng.integers(50, 151, sequences)
    start, A = rng.dirichlet(np.ones(STATES)), rng.dirichlet(np.ones(STATES), STATES)
    E = rng.dirichlet(np.ones(LETTERS), STATES)
    x = rng.integers(0, LETTERS, lengths.sum())
    ours = HiddenMarkovModel(STATES, alphabet=tuple(range(LETTERS)), start=start, transitions=A, emissions=E)
    theirs = CategoricalHMM(STATES, implementation="scaling")
    theirs.startprob_, theirs.transmat_, theirs.emissionprob_, theirs.n_features = start, A, E, LETTERS
    S = ours.pack(np.split(x, np.cumsum(lengths)[:-1]))
    column = x[:, None]
    print(f"chains: {lengths.sum()} positions in {sequences} sequences, {STATES} states")
    for name, mine, peer in [
        ("forward-backward", lambda: ours.posterior(S), lambda: theirs.predict_proba(column, lengths)),
        # paths of equal scores may differ, so scores are compared
        ("Viterbi", lambda: ours.decode(S)[1].sum(), lambda: theirs.decode(column, lengths)[0]),
    ]:
        mine()  # compiled before
        a, wall, processor = clocked(mine)
        b, other, others = clocked(peer, 1)
        print(
            f"  {name:16s} mercer {wall:6.2f} s ({processor:6.2f} of processors), hmmlearn {other:6.2f} s "
            f"({others:6.2f}); {other / wall:5.1f} x; largest difference {np.abs(a - b).max() / np.abs(b).max():.1e}"
        )


def random_networks(count: int) -> list[MarkovNetwork]:
    """Sparse random graphs of 20 to 40 variables with two to four states, normal log-potentials."""
    found = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(20, 41))
        graph = nx.gnm_random_graph(n, int(1.3 * n), seed=seed)
        sizes = rng.integers(2, 5, n)
        factors = [((f"v{i}",), rng.normal(size=sizes[i])) for i in range(n)]
        factors += [((f"v{i}", f"v{j}"), rng.normal(size=(sizes[i], sizes[j]))) for i, j in graph.edges]
        found.append(MarkovNetwork.from_factors(factors))
    return found


def by_pgmpy(network: MarkovNetwork) -> dict[str, np.ndarray]:
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.inference import BeliefPropagation
    from pgmpy.models import DiscreteMarkovNetwork

    found = {}
    graph = nx.Graph()
    graph.add_nodes_from(network.variables)
    graph.add_edges_from(tuple(network.variables[v] for v in f.scope) for f in network.factors if len(f.scope) == 2)
    for part in nx.connected_components(graph):  # pgmpy wants connected graphs
        if len(part) == 1:
            (name,) = part
            scores = sum(f.scores for f in network.factors if f.scope == (network.places[name],))
            found[name] = np.exp(scores) / np.exp(scores).sum()
            continue
        model = DiscreteMarkovNetwork(graph.subgraph(part).edges)
        for f in network.factors:
            names = [network.variables[v] for v in f.scope]
            if names[0] in part:
                model.add_factors(DiscreteFactor(names, f.scores.shape, np.exp(f.scores).ravel()))
        inference = BeliefPropagation(model)
        inference.calibrate()
        beliefs = inference.get_clique_beliefs()
        for name in part:
            clique = min((c for c in beliefs if name in c), key=len)
            one = beliefs[clique].marginalize([v for v in clique if v != name], inplace=False)
            found[name] = one.values / one.values.sum()
    return found


def junction_trees(count: int) -> None:
    """All marginals of random networks."""
    print(f"junction trees: {count} random networks of 20 to 40 variables")
    mine = theirs = worst = 0.0
    widths = []
    for network in random_networks(count):
        ours, wall, _ = clocked(lambda network=network: junction_tree(network).marginals())
        peer, other, _ = clocked(lambda network=network: by_pgmpy(network), 1)
        mine, theirs = mine + wall, theirs + other
        widths.append(junction_tree(network).treewidth)
        worst = max(worst, *(float(np.abs(ours[name] - peer[name]).max()) for name in network.variables))
    print(
        f"  mercer {mine:.3f} s, pgmpy {theirs:.3f} s: {theirs / mine:.0f} x; largest difference {worst:.1e}"
        f"; treewidths {min(widths)} to {max(widths)}"
    )


if __name__ == "__main__":
    quick = "--quick" in sys.argv
    warnings.simplefilter("ignore")
    for package, run, size in (("hmmlearn", chains, 1000 if quick else 10_000), ("pgmpy", junction_trees, 20)):
        if importlib.util.find_spec(package):
            run(size)
        else:
            print(f"{package} is not installed: skipped")
