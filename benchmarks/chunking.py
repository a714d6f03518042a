"""Chunks of sentences (CoNLL-2000) beside sklearn-crfsuite.

`python -m benchmarks.chunking [SENTENCES [OBJECTIVE SECONDS]]`. Both have the same attributes of words, a weight for
every pair of attribute and label and every pair of labels, and the same quadratic penalty. sklearn-crfsuite runs until
it stops by its own rule; printed are the CPU seconds of both until the objective that it has reached, those of the
packing of the data apart, and F1 of the chunks of the test part. Both run in one thread. Objective and seconds of an
earlier run of sklearn-crfsuite may be given instead. The folder of the data is named by the variable MERCER_DATA.
Needs sklearn-crfsuite.
"""

from __future__ import annotations

import csv
import gzip
import os
import sys
import time
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn_crfsuite

from mercer import KernelCRF, LabelSequences
from mercer.gram import Features
from mercer.kernels import Linear

C = 1.0  # of the log-likelihood; the penalty of crfsuite is 1 / (2 C)


def sentences() -> tuple[list[Any], list[Any]]:
    """Words, tags and labels of the training part and of the test part."""
    path = Path(os.environ["MERCER_DATA"]) / "conll2000_chunking.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    parts: dict[str, list[Any]] = {}
    for row in rows:
        parts.setdefault(row["part"], []).append([row[name].split() for name in ("tokens", "pos", "chunk")])
    return parts["train"], parts["test"]


def attributes(words: list[str], tags: list[str]) -> list[list[str]]:
    """Words and tags around each position."""
    n, found = len(words), []
    at = lambda row, t: row[t] if 0 <= t < n else "-"  # noqa: E731
    for t in range(n):
        one = [f"w{d}={at(words, t + d)}" for d in (-1, 0, 1)]
        one += [f"t{d}={at(tags, t + d)}" for d in (-2, -1, 0, 1, 2)]
        one += [f"t{d},{d + 1}={at(tags, t + d)},{at(tags, t + d + 1)}" for d in (-1, 0)]
        found.append([*one, "bias"])
    return found


def matrices(data: list[Any], places: dict[str, int], grow: bool) -> list[Any]:
    """Sparse matrices of zeros and ones, one for each sentence; attributes that are not known are left out."""
    indices: list[int] = []
    offsets, lengths = [0], []
    for sentence in data:
        lengths.append(len(sentence))
        for position in sentence:
            for name in position:
                place = places.setdefault(name, len(places)) if grow else places.get(name, -1)
                if place >= 0:
                    indices.append(place)
            offsets.append(len(indices))
    whole = sp.csr_array((np.ones(len(indices)), indices, offsets), shape=(len(offsets) - 1, len(places)))
    cut = np.concatenate([[0], np.cumsum(lengths)])
    return [whole[a:b] for a, b in pairwise(cut)]


def chunks(labels: Any) -> Iterator[tuple[int, int, str]]:
    """Begin, end and kind of the chunks of a sentence."""
    begin, kind = 0, ""
    for t, label in enumerate([*labels, "O"]):
        if kind and (label[0] != "I" or label[2:] != kind):
            yield begin, t, kind
            kind = ""
        if label != "O" and not kind:
            begin, kind = t, label[2:]


def f1(truth: Any, guesses: Any) -> float:
    """F1 of the chunks that are wholly right."""
    a = {(i, *chunk) for i, labels in enumerate(truth) for chunk in chunks(labels)}
    b = {(i, *chunk) for i, labels in enumerate(guesses) for chunk in chunks(labels)}
    return 2.0 * len(a & b) / (len(a) + len(b))


def beside(A: Any, y: Any, B: Any, z: Any) -> tuple[float, float]:
    """Objective and seconds of sklearn-crfsuite."""
    other = sklearn_crfsuite.CRF(
        algorithm="lbfgs", c1=0.0, c2=0.5 / C, all_possible_states=True, all_possible_transitions=True, verbose=False
    )
    began = time.process_time()
    other.fit(A, y)
    log = other.training_log_
    seconds, goal = time.process_time() - began, log.last_iteration["loss"]
    spent = sum(float(row["time"]) for row in log.iterations)
    print(
        f"sklearn-crfsuite  objective {goal:.2f}  {seconds:.1f} s, of which {spent:.1f} s are {len(log.iterations)} "
        f"iterations  F1 {f1(z, other.predict(B)):.4f}",
        flush=True,
    )
    return goal, seconds


def main(count: int | None, known: tuple[float, float] | None) -> None:
    """Fit both, and print."""
    train, test = sentences()
    train = train[:count]
    A, B = ([attributes(words, tags) for words, tags, _ in part] for part in (train, test))
    y, z = ([labels for _, _, labels in part] for part in (train, test))
    goal, seconds = beside(A, y, B, z) if known is None else known
    began = time.process_time()
    places: dict[str, int] = {}
    X, T = matrices(A, places, True), matrices(B, places, False)
    packing = time.process_time() - began
    KernelCRF(Linear(), C, outputs=LabelSequences(), gram=Features(), max_iter=2).fit(X[:20], y[:20])  # compiled before
    model = KernelCRF(Linear(), C, outputs=LabelSequences(), gram=Features(), tol=1e-5, max_iter=400)
    began = time.process_time()
    model.fit(X, y)
    whole = time.process_time() - began
    reached = np.flatnonzero(C * goal >= model.objectives_)
    line = f"mercer            objective {model.objective_ / C:.2f}  {whole:.1f} s, {model.n_iter_} iterations"
    if len(reached):
        taken = whole * (reached[0] + 1) / model.n_iter_
        line += f"; {taken:.1f} s to that of crfsuite, {reached[0]} iterations, {taken / seconds:.2f} of its time"
    print(f"{line}; packing {packing:.1f} s  F1 {f1(z, model.predict(T)):.4f}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of fits that are ended early
    given = sys.argv[1:]
    main(int(given[0]) if given else None, (float(given[1]), float(given[2])) if len(given) > 2 else None)
