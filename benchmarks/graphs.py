"""Rows of the kernels between graphs that count patterns, beside GraKeL, which starts from the same Python tuples.

Molecules are those of the collection of TU Dortmund if the environment variable MERCER_DATA names a folder with
MUTAG.zip and NCI1.zip, and random graphs of the same number and size if not. Attributes are random numbers.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.row import Peer, Row, Timing, times_faster
from mercer.io.structures.graph_archives import read_tu
from mercer.kernels import Linear
from mercer.kernels.graphs.graph_histograms import VertexHistogram
from mercer.kernels.graphs.graphlets import Graphlet
from mercer.kernels.graphs.propagation import Propagation
from mercer.kernels.graphs.shortest_path import ShortestPath
from mercer.kernels.graphs.weisfeiler_lehman import WeisfeilerLehman

PACKAGE = "grakel"


@dataclass(frozen=True)
class Molecules:
    """Labelled graphs as tuples (set of edges in both directions, dict of labels, dict of edge labels)."""

    name: str
    count: int
    nodes: int

    def make(self) -> list[Any]:
        folder = os.environ.get("MERCER_DATA")
        return self._read(Path(folder) / f"{self.name}.zip") if folder else self._random()

    def _read(self, path: Path) -> list[Any]:
        S = read_tu(path).graphs[: self.count]
        return [_tuple(S.edges(i).tolist(), S.node_labels(i)) for i in range(len(S))]

    def _random(self) -> list[Any]:
        rng = np.random.default_rng(0)
        graphs = []
        for _ in range(self.count):
            n = int(rng.integers(self.nodes // 2, 3 * self.nodes // 2))
            edges = [(int(rng.integers(max(0, v - 4), v)), v) for v in range(1, n)]
            edges += [(v, v + 5) for v in range(0, n - 5, 9)]
            graphs.append(_tuple(edges, rng.choice(8, n, p=[0.6, 0.15, 0.1, 0.05, 0.04, 0.03, 0.02, 0.01]).tolist()))
        return graphs

    def __str__(self) -> str:
        return f"{self.name if 'MERCER_DATA' in os.environ else 'random graphs'}, {self.count} graphs"


def _tuple(edges: list[Any], labels: Any) -> Any:
    both = {(u, v) for u, v in edges} | {(v, u) for u, v in edges}
    return both, dict(enumerate(labels)), {}


@dataclass(frozen=True)
class Attributed:
    """Graphs as tuples (set of edges in both directions, dict of vectors, empty dict)."""

    graphs: Molecules

    def make(self) -> list[Any]:
        rng = np.random.default_rng(1)
        return [(edges, {v: rng.normal(size=3) for v in labels}, {}) for edges, labels, _ in self.graphs.make()]

    def __str__(self) -> str:
        return f"{self.graphs}, 3 attributes"


def by_attributes(graphs: list[Any]) -> Any:
    """Return the matrix of the shortest-path kernel with attributes, from tuples."""
    kernel = ShortestPath(labels=False, attributes=Linear())
    return kernel([{"nodes": list(x), "edges": list(edges), "attributes": x} for edges, x, _ in graphs])


def theirs(name: str, base: str | None = None, **options: Any) -> Any:
    """Return a call of a kernel of GraKeL."""

    def call(graphs: list[Any]) -> Any:
        import grakel.kernels as peer

        if base is not None:
            options["base_graph_kernel"] = getattr(peer, base)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(peer, name)(**options).fit_transform(graphs)

    return call


MUTAG, SOME = Molecules("MUTAG", 188, 18), Molecules("MUTAG", 60, 18)
NCI1, FEW = Molecules("NCI1", 4110, 30), Molecules("NCI1", 300, 30)


ATTRIBUTED, LITTLE = Attributed(Molecules("MUTAG", 6, 18)), Attributed(Molecules("MUTAG", 3, 18))


def _row(name: str, size: Molecules, quick: Molecules, kernel: Any, *peers: Peer) -> Timing:
    return Timing(name, f"{kernel!r}, all pairs, from tuples", size, quick, kernel, peers, fewest=2)


def _wl(name: str, size: Molecules, quick: Molecules) -> Timing:
    peer = Peer("GraKeL", theirs("WeisfeilerLehman", "VertexHistogram", n_iter=5), times_faster(3.0), package=PACKAGE)
    return _row(name, size, quick, WeisfeilerLehman(5), peer)


ROWS: tuple[Row, ...] = (
    _wl("weisfeiler-lehman-nci1", NCI1, FEW),
    _wl("weisfeiler-lehman-mutag", MUTAG, SOME),
    _row(
        "shortest-path-mutag",
        MUTAG,
        SOME,
        ShortestPath(),
        Peer("GraKeL", theirs("ShortestPath"), times_faster(10.0), package=PACKAGE),
    ),
    _row(
        "shortest-path-plain-mutag",
        MUTAG,
        SOME,
        ShortestPath(labels=False),
        Peer("GraKeL", theirs("ShortestPath", with_labels=False), times_faster(10.0), package=PACKAGE),
    ),
    Timing(
        "shortest-path-attributes",
        "ShortestPath(False, attributes=Linear()), all pairs, from tuples",
        ATTRIBUTED,
        LITTLE,
        by_attributes,
        (Peer("GraKeL", theirs("ShortestPathAttr"), times_faster(10.0), package=PACKAGE),),
        fewest=2,
    ),
    _row(
        "weisfeiler-lehman-paths-mutag",
        MUTAG,
        SOME,
        WeisfeilerLehman(2, base=ShortestPath()),
        Peer("GraKeL", theirs("WeisfeilerLehman", "ShortestPath", n_iter=2), package=PACKAGE),
    ),
    _row(
        "vertex-histogram-nci1",
        NCI1,
        FEW,
        VertexHistogram(),
        Peer("GraKeL", theirs("VertexHistogram"), package=PACKAGE),
    ),
    _row("graphlet-nci1", NCI1, FEW, Graphlet(4, connected=True)),
    _row("propagation-nci1", NCI1, FEW, Propagation(5)),
)
