"""Link prediction in citation graphs: `python -m benchmarks.real_links`.

A tenth of the citations is hidden, and as many pairs of papers that do not cite each other are drawn beside them. Every
contender gives each of these pairs a score, from the other citations and the words of the papers; the figure is the
area under the ROC curve in percent, mean and standard deviation over draws, beside the processor
seconds of one draw (the first that needs the graph's eigenvectors finds them).

Scores from the graph alone are the usual ones (common neighbours, the same weighed by 1 / log degree after Adamic and
Adar, the product of the degrees called preferential attachment), and a kernel between nodes as it is. The others are
ridge regression with kernels on pairs: on all N^2 pairs, those that are not known to be linked having the target 0, by
the eigenvectors of the matrix of the N nodes; or on the known links and five times as many others, by conjugate
gradients. Neither forms a matrix of pairs. `LinkPropagation` knows the same links and others, and makes pairs alike
whose papers cite each other, or are among the ten that are nearest by their words. "cold start" hides all citations of
a tenth of the papers, so that only words are left of these, and asks for the links between them and the others. The
folder of the data is named by the environment variable MERCER_DATA.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import normalize

from mercer import KernelRidge, LinkPropagation
from mercer.domains import Pairs, Vectors
from mercer.domains.structures.nodes import Network, Nodes
from mercer.gram import Kronecker
from mercer.kernels import Diffusion, Linear, PairProduct, PairSum
from mercer.solvers import ConjugateGradient

DATA = ("cora", "citeseer")


class Task(NamedTuple):
    """What is known, and the pairs to score with their truth."""

    known: Any  # adjacency (N, N) without the hidden links
    network: Network  # the same, which keeps its eigenvectors
    words: Any  # (N, vocabulary)
    pairs: np.ndarray  # (m, 2)
    truth: np.ndarray  # (m,)
    rng: np.random.Generator


def read(name: str) -> tuple[np.ndarray, Any]:
    """Return the links (m, 2), each once, and the words."""
    with np.load(Path(os.environ["MERCER_DATA"]) / f"{name}.npz") as stored:
        edges, N = stored["edges"], len(stored["y"])
        words = sp.csr_array(
            (stored["x_data"], stored["x_indices"], stored["x_indptr"]), shape=(N, int(stored["n_features"][0]))
        )
    edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
    return edges, words


def adjacency(edges: np.ndarray, N: int) -> Any:
    W = sp.csr_array((np.ones(len(edges)), edges.T), shape=(N, N))
    return sp.csr_array(W + W.T)


def strangers(edges: np.ndarray, N: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw different pairs that are not linked."""
    linked = set((edges[:, 0] * N + edges[:, 1]).tolist())
    drawn: dict[int, None] = {}
    while len(drawn) < count:
        a, b = np.sort(rng.integers(0, N, (2, count)), axis=0)
        for code in (a * N + b)[a != b].tolist():
            if code not in linked:
                drawn.setdefault(code)
    codes = np.array(list(drawn)[:count])
    return np.column_stack([codes // N, codes % N])


def draw(edges: np.ndarray, words: Any, seed: int, cold: bool) -> Task:
    """Hide a tenth of the links, or all links of a tenth of the papers."""
    rng, N = np.random.default_rng(seed), words.shape[0]
    if cold:
        new = np.zeros(N, dtype=bool)
        new[rng.permutation(N)[: N // 10]] = True
        hidden = new[edges].any(axis=1)
        others = strangers(edges, N, 40 * len(edges) // 10, rng)
        others = others[new[others].any(axis=1)][: int(hidden.sum())]
    else:
        hidden = rng.permutation(len(edges)) < len(edges) // 10
        others = strangers(edges, N, int(hidden.sum()), rng)
    pairs = np.concatenate([edges[hidden], others])
    truth = np.repeat([1, 0], [int(hidden.sum()), len(others)])
    known = adjacency(edges[~hidden], N)
    return Task(known, Network.of(known), words, pairs, truth, rng)


# scores of the graph ----------------------------------------------------------------------------------------


def common_neighbours(task: Task) -> np.ndarray:
    a, b = task.pairs.T
    return task.known[a].multiply(task.known[b]).sum(axis=1)


def adamic_adar(task: Task) -> np.ndarray:
    degrees = task.known.sum(axis=1)
    weight = np.where(degrees > 1, 1.0 / np.log(np.maximum(degrees, 2)), 0.0)
    a, b = task.pairs.T
    return (task.known[a].multiply(task.known[b]) @ sp.diags_array(weight)).sum(axis=1)


def preferential_attachment(task: Task) -> np.ndarray:
    degrees = task.known.sum(axis=1)
    return degrees[task.pairs[:, 0]] * degrees[task.pairs[:, 1]]


def similarity(make: Callable[[Task], tuple[Any, Any]]) -> Callable[[Task], np.ndarray]:
    """Return the kernel between the two papers as it is."""

    def score(task: Task) -> np.ndarray:
        kernel, S = make(task)
        a, b = task.pairs.T
        used, place = np.unique(np.concatenate([a, b]), return_inverse=True)
        K = kernel(S.take(used))
        return K[place[: len(a)], place[len(a) :]]

    return score


# kernels between papers ---------------------------------------------------------------------------------------


def diffusion(task: Task) -> tuple[Any, Any]:
    kernel = Diffusion(task.network, 2.0, laplacian="normalized", method="spectrum")
    return kernel.normalized(), Nodes.pack(np.arange(task.known.shape[0]))


def words(task: Task) -> tuple[Any, Any]:
    return Linear().normalized() + 0.01, Vectors.pack(task.words)


# ridge regression on pairs ------------------------------------------------------------------------------------


def all_pairs(make: Callable[[Task], tuple[Any, Any]], of: Any, alpha: float) -> Callable[[Task], np.ndarray]:
    """Fit to every pair of papers, by two eigendecompositions that are one here."""

    def score(task: Task) -> np.ndarray:
        kernel, S = make(task)
        pairs = Pairs.grid(S)
        model = KernelRidge(of(kernel), alpha=alpha, gram=Kronecker()).fit(pairs, task.known.toarray().ravel())
        return model.predict(Pairs(S, S, task.pairs))

    return score


def some_pairs(make: Callable[[Task], tuple[Any, Any]], of: Any, alpha: float) -> Callable[[Task], np.ndarray]:
    """Fit to the known links and five times as many other pairs, without order."""

    def score(task: Task) -> np.ndarray:
        kernel, S = make(task)
        links = np.column_stack(sp.triu(task.known).nonzero())
        others = strangers(links, task.known.shape[0], 5 * len(links), task.rng)
        train = Pairs(S, S, np.concatenate([links, others]).astype(np.intp))
        y = np.repeat([1.0, 0.0], [len(links), len(others)])
        solver = ConjugateGradient(tol=1e-4, max_iter=100)
        model = KernelRidge(of(kernel), alpha=alpha, gram=Kronecker(), solver=solver).fit(train, y)
        return model.predict(Pairs(S, S, task.pairs))

    return score


# propagation over pairs ----------------------------------------------------------------------------------------


def propagation(words_too: bool, citations: bool, negatives: int = 5) -> Callable[[Task], np.ndarray]:
    """Spread the known links and some other pairs along citations, and to the ten papers of the nearest words."""

    def score(task: Task) -> np.ndarray:
        N = task.known.shape[0]
        links = np.column_stack(sp.triu(task.known).nonzero())
        others = strangers(links, N, negatives * len(links), task.rng)
        Y = np.full((N, N), np.nan)
        for (a, b), value in ((links.T, 1.0), (others.T, 0.0)):
            Y[a, b] = Y[b, a] = value
        graph = sp.csr_array((N, N))
        X = normalize(task.words)
        if words_too:
            near = kneighbors_graph(X, 10, metric="cosine")
            graph = graph + sp.csr_array(near.maximum(near.T))
        if citations:
            graph = graph + task.known
        model = LinkPropagation(Linear(), columns="rows", graph=sp.csr_array(graph), tol=1e-4)
        return model.fit(X, Y).transduction_[tuple(task.pairs.T)]

    return score


def undirected(kernel: Any) -> Any:
    return PairProduct(kernel, symmetric=True)


def total(kernel: Any) -> Any:
    return PairSum(kernel, symmetric=True)


CONTENDERS: dict[str, Callable[[Task], np.ndarray]] = {
    "common neighbours": common_neighbours,
    "Adamic and Adar": adamic_adar,
    "preferential attachment": preferential_attachment,
    "diffusion kernel itself": similarity(diffusion),
    "words: kernel itself": similarity(words),
    "PairProduct of diffusion, all pairs": all_pairs(diffusion, PairProduct, 30.0),
    "PairProduct of words, all pairs": all_pairs(words, PairProduct, 30.0),
    "PairSum of diffusion, all pairs": all_pairs(diffusion, PairSum, 300.0),
    "PairProduct of diffusion, some pairs": some_pairs(diffusion, undirected, 1.0),
    "PairProduct of words, some pairs": some_pairs(words, undirected, 1.0),
    "PairSum of words, some pairs": some_pairs(words, total, 1.0),
    "LinkPropagation along citations": propagation(False, True),
    "LinkPropagation along words": propagation(True, False),
    "LinkPropagation along both": propagation(True, True),
}
COLD = ("preferential attachment", "words: kernel itself", "PairProduct of words, all pairs",
        "PairProduct of words, some pairs", "PairSum of words, some pairs", "LinkPropagation along words")  # fmt: skip


def main() -> None:
    """Print a line per data set, task and contender."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(DATA))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--who", nargs="*", choices=CONTENDERS, default=list(CONTENDERS))
    chosen = parser.parse_args()
    print(f"{'data':10}{'task':>12}{'contender':>42}{'AUC':>16}{'seconds':>10}")
    for name in chosen.names or DATA:
        edges, bags = read(name)
        for task, who in [("links", tuple(CONTENDERS)), ("cold start", COLD)]:
            who = tuple(one for one in who if one in chosen.who)
            scores: dict[str, list[float]] = {contender: [] for contender in who}
            seconds = dict.fromkeys(who, 0.0)
            for seed in range(chosen.draws):
                drawn = draw(edges, bags, seed, task == "cold start")
                for contender in who:
                    began = time.process_time()
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        scores[contender].append(100.0 * roc_auc_score(drawn.truth, CONTENDERS[contender](drawn)))
                    seconds[contender] += (time.process_time() - began) / chosen.draws
            for contender, found in scores.items():
                told = f"{np.mean(found):9.1f} ({np.std(found):.1f})"
                print(f"{name:10}{task:>12}{contender:>42}{told:>16}{seconds[contender]:10.2f}", flush=True)


if __name__ == "__main__":
    main()
