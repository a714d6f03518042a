"""Rows of learners in passes over data: covertype by landmarks and a linear machine, a million rows from blocks.

Both sides of covertype have the same landmarks and the same objective but for the penalty of scikit-learn's bias.
`python -m benchmarks.scale_streams covertype` prints accuracies beside those of the exact machine on 50 000 rows;
`python -m benchmarks.scale_streams growth 10000 100000 1000000` prints how time and memory of ridge and logistic
regression grow, and writes the figures to benchmarks/results/scale_streams.json. The folder of the data is named by the
environment variable MERCER_DATA; without it rows of the same kind are generated.
"""

from __future__ import annotations

import json
import os
import sys
import time
import tracemalloc
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import balanced_accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from benchmarks.row import Memory, Peer, Row, Timing, times_faster, times_the_cost
from mercer import SVC, KernelLogisticRegression, KernelRidge
from mercer.domains import Stream
from mercer.gram import Nystrom
from mercer.kernels import Gaussian

NEW = 20_000
LENGTH, COST = 2.0, 10.0  # of covertype, standardised
ROUGH, FINE = 1e-1, 1e-2  # tolerances that give the accuracy, and the objective, of scikit-learn's solution
BLOCK = 50_000  # rows of a block
RESULTS = Path(__file__).parent / "results" / "scale_streams.json"


# covertype ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Task:
    """Rows of two classes, new ones, and places of landmarks among the first."""

    X: np.ndarray
    y: np.ndarray
    T: np.ndarray
    t: np.ndarray
    landmarks: np.ndarray


@dataclass(frozen=True)
class Covertype:
    """Lodgepole pine and cottonwood, 286 048 rows of ten numbers, standardised; 20 000 of them are new."""

    n: int
    rank: int

    def make(self) -> Task:
        rng = np.random.default_rng(0)
        folder = os.environ.get("MERCER_DATA")
        if folder:
            with np.load(Path(folder) / "covertype_2class.npz") as stored:
                X, y = stored["X"].astype(np.float32), np.where(stored["y"] == 1, 1, -1)
        else:
            X = rng.standard_normal((286_048, 10), dtype=np.float32)
            y = np.where(X[:, 0] + np.sin(2.0 * X[:, 1]) > 2.6, 1, -1)
        order = rng.permutation(len(y))
        X, y = X[order], y[order]
        X = (X - X[NEW:].mean(axis=0)) / X[NEW:].std(axis=0)
        train = slice(NEW, NEW + max(self.n, 2000))  # fewer may be of one class
        count = len(y[train])
        places = np.random.RandomState(0).permutation(count)[: self.rank]  # those that scikit-learn draws
        return Task(X[train], y[train], X[:NEW], y[:NEW], places)

    def __str__(self) -> str:
        return f"covertype, {self.n} rows, {self.rank} landmarks"


def our_machine(task: Task, tol: float = ROUGH) -> SVC:
    """To the same accuracy, or with the finer tolerance to the same objective."""
    spec = Nystrom(len(task.landmarks), landmarks=tuple(task.landmarks.tolist()), precision="mixed")
    return SVC(Gaussian(LENGTH), C=COST, loss="squared_hinge", gram=spec, tol=tol).fit(task.X, task.y)


def their_machine(task: Task) -> Any:
    features = Nystroem(gamma=0.5 / LENGTH**2, n_components=len(task.landmarks), random_state=0)
    return make_pipeline(features, LinearSVC(C=COST / 2.0)).fit(task.X, task.y)


def exact_machine(task: Task, rows: int = 50_000) -> SVC:
    return SVC(Gaussian(LENGTH), C=COST).fit(task.X[:rows], task.y[:rows])


def accuracy(model: Any, task: Task) -> np.ndarray:
    """Accuracy at new rows, in steps of a thousandth."""
    return np.round([np.mean(model.predict(task.T) == task.t)], 3)


def objective(model: Any, task: Task) -> np.ndarray:
    """Logarithm of C / 2 times the squared losses plus half the squared length, in steps of two hundredths."""
    loss = 0.5 * COST * np.sum(np.maximum(0.0, 1.0 - task.y * model.decision_function(task.X)) ** 2)
    if isinstance(model, SVC):
        function: Any = model.expansion_
        length = function.coef @ model.kernel_(function.samples, function.samples) @ function.coef
    else:
        length = np.sum(model[-1].coef_ ** 2)
    return np.round([50.0 * np.log(loss + 0.5 * length)]) / 50.0


# a million rows ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Waves:
    """Rows that a function makes block by block, and their targets."""

    n: int
    d: int
    rank: int

    def block(self, start: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(start)
        count = min(BLOCK, self.n - start) if start >= 0 else NEW
        X = rng.standard_normal((count, self.d), dtype=np.float32)
        f = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + np.cos(X[:, 3] + X[:, 4])
        return X, f + 0.3 * rng.standard_normal(count)

    def make(self) -> tuple[Stream, Waves]:
        return Stream.of(lambda: (self.block(start) for start in range(0, self.n, BLOCK))), self

    def new(self) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(10**9)
        X = rng.standard_normal((NEW, self.d), dtype=np.float32)
        return X, np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + np.cos(X[:, 3] + X[:, 4])

    def __str__(self) -> str:
        return f"n = {self.n}, d = {self.d} in blocks of {BLOCK}, {self.rank} landmarks"


def ridge(data: tuple[Stream, Waves]) -> KernelRidge:
    stream, waves = data
    spec = Nystrom(waves.rank, precision="mixed")
    return KernelRidge(Gaussian(np.sqrt(waves.d)), alpha=1e-6 * waves.n, gram=spec).fit(stream, stream.y)


def logistic(data: tuple[Stream, Waves]) -> KernelLogisticRegression:
    stream, waves = data
    spec = Nystrom(waves.rank, precision="mixed")
    model = KernelLogisticRegression(Gaussian(np.sqrt(waves.d)), C=1.0, gram=spec, tol=1e-4)
    return model.fit(stream, stream.y > 0.0)


LEARNERS = {"ridge": ridge, "logistic": logistic}


def memory_row(name: str) -> Memory:
    return Memory(
        f"stream-{name}-memory",
        f"{name} regression from blocks",
        Waves(1_000_000, 10, 1000),
        Waves(100_000, 10, 100),
        ours=LEARNERS[name],
        unit=lambda data: 500_000_000,
        unit_name="500 MB",
        bar=times_the_cost(1.0),
        besides_result=False,
    )


ROWS: tuple[Row, ...] = (
    Timing(
        "nystrom-svm-covertype",
        "SVC.fit with the squared hinge on landmarks, mixed precision",
        Covertype(266_048, 1000),
        Covertype(20_000, 50),
        ours=our_machine,
        peers=(
            Peer("sklearn Nystroem + LinearSVC", their_machine, times_faster(5.0), agrees=0.002),
            Peer("mercer exact SVC, 50 000 rows", exact_machine, agrees=0.01),
        ),
        outcome=accuracy,
        fewest=1,
    ),
    Timing(
        "nystrom-svm-covertype-objective",
        "the same, to the same objective",
        Covertype(266_048, 1000),
        Covertype(20_000, 50),
        ours=partial(our_machine, tol=FINE),
        peers=(Peer("sklearn Nystroem + LinearSVC", their_machine, times_faster(3.0)),),
        outcome=objective,
        fewest=1,
    ),
    *(
        Timing(
            f"stream-{name}",
            f"{name} regression from blocks",
            Waves(1_000_000, 10, 1000),
            Waves(100_000, 10, 100),
            ours=learner,
            fewest=1,
        )
        for name, learner in LEARNERS.items()
    ),
    memory_row("ridge"),
    memory_row("logistic"),
)


def timed(call: Any, *given: Any) -> tuple[Any, float, float]:
    began, cpu = time.perf_counter(), time.process_time()
    found = call(*given)
    return found, time.perf_counter() - began, time.process_time() - cpu


def covertype(rank: int = 1000) -> None:
    """Print accuracies, balanced ones too since one row in a hundred is cottonwood, and seconds."""
    task = Covertype(266_048, rank).make()
    our_machine(Covertype(20_000, 50).make())
    for name, call in (
        ("exact SVC, 50 000 rows", exact_machine),
        (f"mercer, {rank} landmarks", our_machine),
        ("scikit-learn, the same", their_machine),
    ):
        model, wall, cpu = timed(call, task)
        found = model.predict(task.T)
        balanced = balanced_accuracy_score(task.t, found)
        print(f"{name:28s} {wall:7.1f} s (CPU {cpu:7.1f} s)  accuracy {np.mean(found == task.t):.4f}  ", end="")
        print(f"balanced {balanced:.4f}", flush=True)


def growth(sizes: list[int], d: int = 10, rank: int = 1000) -> None:
    """Print seconds, errors and memory for each number of rows, and write them."""
    rows = []
    for learner in LEARNERS.values():
        learner(Waves(70_000, d, 100).make())
    for name, learner in LEARNERS.items():
        for n in sizes:
            data = Waves(n, d, rank).make()
            tracemalloc.start()
            model, wall, cpu = timed(learner, data)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            X, f = data[1].new()
            found = model.predict(X)
            error = np.sqrt(np.mean(np.square(found - f))) if name == "ridge" else np.mean(found != (f > 0.0))
            row = {"learner": name, "n": n, "d": d, "landmarks": rank, "seconds": wall, "cpu": cpu, "bytes": peak}
            row |= {"error": float(error), "solver": type(model.solver_).__name__, **model.solution_.details}
            rows.append(row)
            print(f"{name:9s} n = {n:8d}  {wall:6.1f} s (CPU {cpu:6.1f} s)  error {error:.4f}  ", end="")
            print(f"memory {peak / 1e6:.0f} MB  {row['solver']} {dict(model.solution_.details)}", flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["covertype"]:
        covertype(*map(int, sys.argv[2:]))
    else:
        growth([int(n) for n in sys.argv[2:]] or [10_000, 31_623, 100_000, 316_228, 1_000_000])
