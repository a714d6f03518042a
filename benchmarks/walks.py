"""Rows of random walks on graphs beside GraKeL, and of kernels on nodes beside SciPy and networkx.

GraKeL starts from the same Python tuples. For labelled graphs, its fast method leaves out a transposition, and its
numbers are off by some thousandths (its slow method agrees): there only the seconds are compared. Molecules are those
of MUTAG if the environment variable MERCER_DATA names a folder with MUTAG.zip, and random graphs like them if not.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import scipy.linalg

from benchmarks.graphs import Molecules
from benchmarks.row import Peer, Row, Timing, times_faster
from mercer.kernels.graphs.laplacian_kernels import Diffusion, RegularizedLaplacian, spectral_bisection
from mercer.kernels.graphs.marginalized import Marginalized
from mercer.kernels.graphs.random_walk import RandomWalk

PACKAGE = "grakel"


@dataclass(frozen=True)
class Scientists:
    """A graph like one of citations: each node is joined to two that are well connected."""

    nodes: int

    def make(self) -> Any:
        return nx.barabasi_albert_graph(self.nodes, 2, seed=0)

    def __str__(self) -> str:
        return f"preferential attachment, {self.nodes} nodes, {2 * self.nodes - 4} edges"


def bare(graphs: list[Any]) -> np.ndarray:
    return RandomWalk(0.1, labels=False, edge_labels=False)(graphs)


def labelled(graphs: list[Any]) -> np.ndarray:
    return RandomWalk(0.1)(graphs)


def their_bare(graphs: list[Any]) -> np.ndarray:
    from grakel.kernels import RandomWalk as Theirs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Theirs(lamda=0.1).fit_transform(graphs)


def their_labelled(graphs: list[Any]) -> np.ndarray:
    from grakel.kernels import RandomWalkLabeled

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RandomWalkLabeled(lamda=0.1).fit_transform([(_matrix(*graph[:2]), graph[1]) for graph in graphs])


def _matrix(edges: Any, labels: Any) -> np.ndarray:
    matrix = np.zeros((len(labels), len(labels)))
    for u, v in edges:
        matrix[u, v] = 1.0
    return matrix


def diffused(graph: Any) -> np.ndarray:
    return Diffusion(graph, 0.5)(np.arange(len(graph)))


def exponential(graph: Any) -> np.ndarray:
    return scipy.linalg.expm(-0.5 * nx.laplacian_matrix(graph).toarray())


def some_columns(graph: Any) -> np.ndarray:
    return RegularizedLaplacian(graph, 0.5)(np.arange(len(graph)), np.arange(0, len(graph), 50))


def dense_columns(graph: Any) -> np.ndarray:
    L = nx.laplacian_matrix(graph).toarray() + 0.5 * np.eye(len(graph))
    return scipy.linalg.solve(L, np.eye(len(graph))[:, ::50], assume_a="pos")


ROWS: tuple[Row, ...] = (
    Timing(
        "walk-bare",
        "RandomWalk without labels",
        Molecules("MUTAG", 188, 18),
        Molecules("MUTAG", 30, 18),
        ours=bare,
        peers=(Peer("grakel", their_bare, times_faster(20.0), package=PACKAGE),),
        fewest=1,
    ),
    Timing(
        "walk-labelled",
        "RandomWalk, labelled",
        Molecules("MUTAG", 188, 18),
        Molecules("MUTAG", 30, 18),
        ours=labelled,
        peers=(Peer("grakel", their_labelled, times_faster(20.0), same=False, package=PACKAGE),),
        fewest=1,
    ),
    Timing(
        "walk-marginalized",
        "Marginalized, labelled",
        Molecules("MUTAG", 188, 18),
        Molecules("MUTAG", 30, 18),
        ours=lambda graphs: Marginalized(0.1)(graphs),
        fewest=1,
    ),
    Timing(
        "diffusion",
        "Diffusion between all nodes",
        Scientists(1_500),
        Scientists(200),
        ours=diffused,
        peers=(Peer("scipy expm", exponential, times_faster(1.0)),),
    ),
    Timing(
        "laplacian-columns",
        "RegularizedLaplacian, every fiftieth column",
        Scientists(3_000),
        Scientists(300),
        ours=some_columns,
        peers=(Peer("scipy solve", dense_columns, times_faster(2.0)),),
    ),
    Timing(
        "bisection",
        "spectral_bisection",
        Scientists(3_000),
        Scientists(300),
        ours=lambda graph: spectral_bisection(graph).connectivity,
        peers=(
            Peer(
                "networkx", lambda graph: nx.algebraic_connectivity(graph, method="lanczos", seed=0), times_faster(1.0)
            ),
        ),
    ),
)
