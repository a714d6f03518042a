"""Kernels on the nodes of citation graphs: `python -m benchmarks.real_nodes`.

Accuracy of a support vector machine (C = 10) that knows the topics of 20 papers each and predicts those of 1 000
others, from the citations alone: mean and standard deviation over ten draws, and the seconds of a draw. The kernels are
normalised. Beside them the majority, label spreading after Zhou et al. (2004, alpha = 0.99) on the same graph, and a
linear machine on the words of the papers, which knows no citation. The folder of the data is named by the environment
variable MERCER_DATA.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from mercer import SVC
from mercer.domains.structures.nodes import Network
from mercer.kernels import Linear
from mercer.kernels.graphs.laplacian_kernels import CommuteTime, Diffusion, PStepWalk, RegularizedLaplacian

DATA = ("cora", "citeseer")


def read(name: str) -> tuple[Network, np.ndarray, Any]:
    """Return the graph, the topics and the words."""
    with np.load(Path(os.environ["MERCER_DATA"]) / f"{name}.npz") as stored:
        y, edges = stored["y"], stored["edges"]
        words = sp.csr_array(
            (stored["x_data"], stored["x_indices"], stored["x_indptr"]), shape=(len(y), int(stored["n_features"][0]))
        )
    W = sp.csr_array((np.ones(len(edges)), edges.T), shape=(len(y), len(y)))
    return Network.of(sp.csr_array(((W + W.T) > 0).astype(float))), y, words


def draw(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return 20 papers of every topic, and 1 000 others."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(np.flatnonzero(y >= 0))
    known = np.concatenate([order[y[order] == topic][:20] for topic in np.unique(y[y >= 0])])
    return known, np.setdiff1d(order, known, assume_unique=True)[:1000]


def spread(network: Network, alpha: float = 0.99) -> Callable[..., np.ndarray]:
    """Return label spreading: F = (1 - alpha D^(-1/2) W D^(-1/2))^-1 Y."""
    degrees = np.maximum(network.adjacency.sum(axis=1), 1.0)
    scale = sp.diags_array(degrees**-0.5)
    solve = spla.factorized(sp.csc_array(sp.eye_array(len(network)) - alpha * scale @ network.adjacency @ scale))

    def predict(known: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
        topics = np.unique(y[known])
        Y = np.zeros((len(y), len(topics)))
        Y[known, np.searchsorted(topics, y[known])] = 1.0
        return topics[np.column_stack([solve(column) for column in Y.T]).argmax(axis=1)[new]]

    return predict


def machine(kernel: Any, X: Any) -> Callable[..., np.ndarray]:
    return lambda known, y, new: SVC(kernel, C=10.0).fit(X[known], y[known]).predict(X[new])


def majority(known: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    return np.full(len(new), np.bincount(y[y >= 0]).argmax())


def contenders(network: Network, words: Any) -> dict[str, Callable[..., np.ndarray]]:
    nodes = np.arange(len(network))
    found: dict[str, Callable[..., np.ndarray]] = {"majority": majority, "label spreading": spread(network)}
    found["words, linear"] = machine(Linear().normalized(), words)
    for kernel in (
        Diffusion(network, 1.0),
        Diffusion(network, 5.0, laplacian="normalized"),
        Diffusion(network, 20.0, laplacian="normalized"),
        RegularizedLaplacian(network, 0.1),
        RegularizedLaplacian(network, 0.05, laplacian="normalized"),
        PStepWalk(network, 10),
        CommuteTime(network),
    ):
        name = repr(kernel).replace(repr(network), "graph")
        found[name] = machine(kernel.normalized(), nodes)
    return found


def main() -> None:
    """Print a line per data set and contender."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(DATA))
    parser.add_argument("--draws", type=int, default=10)
    chosen = parser.parse_args()
    print(f"{'data':10}{'contender':>60}{'accuracy':>16}{'seconds':>10}")
    for name in chosen.names or DATA:
        network, y, words = read(name)
        for who, predict in contenders(network, words).items():
            scores, began = [], time.perf_counter()
            for seed in range(chosen.draws):
                known, new = draw(y, seed)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    scores.append(100.0 * np.mean(predict(known, y, new) == y[new]))
            taken = (time.perf_counter() - began) / chosen.draws
            print(f"{name:10}{who:>60}{np.mean(scores):9.1f} ({np.std(scores):.1f}){taken:10.2f}", flush=True)


if __name__ == "__main__":
    main()
