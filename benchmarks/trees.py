"""Rows of the tree kernels: beside the table of all pairs of nodes that textbooks have, and beside a tenth of the data.

Trees are sentences of the Penn treebank if the environment variable MERCER_DATA names a folder with
treebank_sample.csv.gz, and sentences of a small grammar if not. Five hundred of them have 35 000 nodes, so 0.6 billion
pairs of nodes in the triangle of the matrix.
"""

from __future__ import annotations

import csv
import gzip
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.row import Peer, Row, Timing, times_faster, times_the_cost
from mercer.domains.structures.trees import Trees
from mercer.kernels.interning import intern_sequences
from mercer.kernels.trees.common_trees import CorootedSubtree, PartialTree, SubsetTree
from mercer.kernels.trees.postorder import subtree_sizes
from mercer.kernels.trees.tree_spectrum import Subtree, TreeSpectrum
from mercer.runtime.compiled import compiled

RULES = {
    "S": [["NP", "VP"], ["NP", "VP", "PP"]],
    "NP": [["DT", "NN"], ["DT", "JJ", "NN"], ["NP", "PP"], ["NNP"]],
    "VP": [["VBZ", "NP"], ["VBZ", "S"], ["VBZ", "NP", "PP"]],
    "PP": [["IN", "NP"]],
}


@dataclass(frozen=True)
class Sentences:
    """Parse trees as texts in brackets."""

    count: int

    def make(self) -> list[str]:
        folder = os.environ.get("MERCER_DATA")
        if not folder:
            rng = np.random.default_rng(0)
            return [_grown(rng, "S", 12) for _ in range(self.count)]
        path = Path(folder) / "treebank_sample.csv.gz"
        with gzip.open(path, "rt", encoding="utf-8", newline="") as handle:
            return [row["tree"] for row in csv.DictReader(handle)][: self.count]

    def __str__(self) -> str:
        return f"{self.count} {'sentences of the treebank' if 'MERCER_DATA' in os.environ else 'random sentences'}"


def _grown(rng: np.random.Generator, label: str, depth: int) -> str:
    if label not in RULES:
        return f"({label} {label.lower()}{int(rng.zipf(1.5)) % 2000})"
    rules = RULES[label]
    rule = rules[int(rng.integers(len(rules)))] if depth > 0 else rules[-1 if label == "NP" else 0]
    return f"({label} {' '.join(_grown(rng, child, depth - 1) for child in rule)})"


def by_table(texts: list[str]) -> Any:
    """Collins and Duffy with a table of all pairs of nodes, compiled."""
    S = Trees.pack(texts)
    degrees = np.ascontiguousarray(S.degrees)
    sizes = subtree_sizes(degrees)
    lengths = np.where(degrees > 0, degrees + 1, 0)
    members, starts = np.empty(int(lengths.sum()), np.int64), np.concatenate(([0], np.cumsum(lengths)))
    _productions(S.labels, degrees, sizes, starts, members)
    numbers = intern_sequences(members, starts)[0]
    K = np.empty((len(S), len(S)))
    _table(numbers, degrees, sizes, S.offsets, 0.4, K)
    return K


@compiled
def _productions(labels, degrees, sizes, starts, members):
    for v in range(labels.size):
        if degrees[v] > 0:
            members[starts[v]] = labels[v]
            child = v - 1
            for j in range(degrees[v]):
                members[starts[v] + 1 + j] = labels[child]
                child -= sizes[child]


@compiled
def _table(numbers, degrees, sizes, offsets, decay, K):
    n = offsets.size - 1
    most = 0
    for i in range(n):
        most = max(most, offsets[i + 1] - offsets[i])
    C = np.zeros((most, most))
    for i in range(n):
        for j in range(i, n):
            total = 0.0
            a, b = offsets[i], offsets[j]
            for v in range(a, offsets[i + 1]):
                for w in range(b, offsets[j + 1]):
                    value = 0.0
                    if degrees[v] > 0 and numbers[v] == numbers[w]:
                        value = decay
                        child, other = v - 1, w - 1
                        for _ in range(degrees[v]):
                            value *= 1.0 + C[child - a, other - b]
                            child -= sizes[child]
                            other -= sizes[other]
                    C[v - a, w - b] = value
                    total += value
            K[i, j] = total
            K[j, i] = total


def tenth(kernel: Any) -> Any:
    return lambda texts: kernel.features(Trees.pack(texts[: len(texts) // 10]))[0]


def _linear(name: str, kernel: Any) -> Timing:
    return Timing(
        name,
        f"features of {kernel!r}, from str",
        Sentences(3900),
        Sentences(500),
        ours=lambda texts: kernel.features(Trees.pack(texts))[0],
        peers=(Peer("mercer on a tenth", tenth(kernel), times_the_cost(20.0), same=False),),
        outcome=lambda result, texts: np.asarray(result.sum()),
    )


ROWS: tuple[Row, ...] = (
    Timing(
        "trees-subset",
        "SubsetTree(0.4), all pairs, from str",
        Sentences(500),
        Sentences(100),
        ours=lambda texts: SubsetTree(0.4)(texts),
        peers=(Peer("a table of all pairs of nodes, compiled", by_table, times_faster(2.0)),),
        fewest=2,
    ),
    Timing(
        "trees-partial",
        "PartialTree(0.4, 0.4), all pairs, from str",
        Sentences(500),
        Sentences(100),
        ours=lambda texts: PartialTree(0.4, 0.4)(texts),
        fewest=2,
    ),
    Timing(
        "trees-corooted",
        "CorootedSubtree(), all pairs, from str",
        Sentences(500),
        Sentences(100),
        ours=lambda texts: CorootedSubtree()(texts),
    ),
    _linear("trees-subtree-linear", Subtree()),
    _linear("trees-spectrum-linear", TreeSpectrum(3)),
)
