"""Rows of Grams of low rank: ridge on landmarks, incomplete Cholesky and prediction, beside scikit-learn and NumPy.

Both sides of ridge have the same landmarks, so that errors on new samples can be compared; `python -m
benchmarks.scale_rank` prints them with the memory that each fit takes above the data, and how time grows with n.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from benchmarks.measure import peak_bytes
from benchmarks.row import Memory, Peer, Row, Timing, times_faster, times_the_cost
from mercer import KernelRidge
from mercer.domains import Vectors
from mercer.gram import IncompleteCholesky, Nystrom
from mercer.kernels import Gaussian

RIDGE = 1e-6  # of the number of samples
NEW = 20_000


@dataclass(frozen=True, eq=False)
class Task:
    """Rows with targets, new ones to predict, and places of landmarks among the first."""

    X: np.ndarray
    y: np.ndarray
    T: np.ndarray
    t: np.ndarray
    landmarks: np.ndarray

    @property
    def length(self) -> float:
        return float(np.sqrt(self.X.shape[1]))


@dataclass(frozen=True)
class Waves:
    """Normal rows in float32, whose target is a smooth function of five columns with noise."""

    n: int
    d: int
    rank: int

    def make(self) -> Task:
        rng = np.random.default_rng(0)
        parts = []
        for count in (self.n, NEW):
            X = rng.standard_normal((count, self.d), dtype=np.float32)
            f = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + np.cos(X[:, 3] + X[:, 4])
            parts += [X, (f + 0.3 * rng.standard_normal(count)).astype(np.float32)]
        places = np.random.RandomState(0).permutation(self.n)[: self.rank]  # those that scikit-learn draws
        return Task(*parts, places)

    def __str__(self) -> str:
        return f"n = {self.n}, d = {self.d}, {self.rank} centres, float32"


def ours(task: Task) -> KernelRidge:
    spec = Nystrom(len(task.landmarks), landmarks=tuple(task.landmarks.tolist()), precision="mixed")
    return KernelRidge(Gaussian(task.length), alpha=RIDGE * len(task.y), gram=spec).fit(task.X, task.y)


def theirs(task: Task) -> Any:
    features = Nystroem(gamma=0.5 / task.length**2, n_components=len(task.landmarks), random_state=0)
    ridge = Ridge(alpha=RIDGE * len(task.y), fit_intercept=False)
    return make_pipeline(features, ridge).fit(task.X, task.y)


def error(model: Any, task: Task) -> np.ndarray:
    """Root of the mean squared error at new samples, in steps of a hundredth: both have the same landmarks."""
    return np.round([np.sqrt(np.mean(np.square(model.predict(task.T) - task.t)))], 2)


# incomplete Cholesky ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Traced:
    """Rows, and the share of the trace that as many columns leave which are taken one at a time."""

    n: int
    d: int
    rank: int

    def make(self) -> tuple[Task, float]:
        task = Waves(self.n, self.d, self.rank).make()
        return task, max(column_cholesky((task, 0.0)), 1e-9)  # of all columns rounding is left

    def __str__(self) -> str:
        return f"n = {self.n}, d = {self.d}, rank {self.rank}"


def our_cholesky(data: tuple[Task, float]) -> float:
    task, left = data
    spec = IncompleteCholesky(len(task.landmarks), tol=left, precision="mixed")
    return spec.build(Gaussian(task.length), Vectors.pack(task.X.astype(float))).residual_trace


def column_cholesky(data: tuple[Task, float]) -> float:
    """Pivoted Cholesky in NumPy, a column at a time."""
    task = data[0]
    X, rank = task.X.astype(float), len(task.landmarks)
    squares, rest = np.square(X).sum(axis=1), np.ones(len(X))
    L = np.zeros((rank, len(X)))
    for j in range(rank):
        i = int(np.argmax(rest))
        row = np.exp(-(squares + squares[i] - 2.0 * (X @ X[i])) / (2.0 * task.length**2))
        L[j] = (row - L[:j, i] @ L[:j]) / np.sqrt(rest[i])
        rest -= np.square(L[j])
        rest[i] = 0.0
    return float(rest.sum() / len(X))


# prediction -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fitted:
    """Both models, fitted, with new rows."""

    n: int
    d: int
    rank: int

    def make(self) -> Any:
        task = Waves(self.n, self.d, self.rank).make()
        return ours(task), theirs(task), np.concatenate([task.T] * 5)

    def __str__(self) -> str:
        return f"{5 * NEW} new rows, d = {self.d}, {self.rank} centres"


def ridge_row(d: int) -> Timing:
    return Timing(
        f"nystrom-ridge-{d}",
        "KernelRidge.fit on landmarks, mixed precision",
        Waves(500_000, d, 2000),
        Waves(20_000, d, 200),
        ours=ours,
        peers=(Peer("sklearn Nystroem + Ridge", theirs, times_faster(3.5)),),
        outcome=error,
        fewest=1,
    )


ROWS: tuple[Row, ...] = (
    ridge_row(10),
    ridge_row(90),
    Memory(
        "nystrom-ridge-memory",
        "KernelRidge.fit on landmarks, mixed precision",
        Waves(500_000, 90, 2000),
        Waves(20_000, 90, 200),
        ours=ours,
        unit=lambda task: 500_000_000,
        unit_name="500 MB",
        bar=times_the_cost(1.0),
        besides_result=False,
    ),
    Timing(
        "incomplete-cholesky",
        "IncompleteCholesky to the trace that 500 columns leave, mixed precision",
        Traced(100_000, 10, 500),
        Traced(5_000, 10, 100),
        ours=our_cholesky,
        peers=(Peer("NumPy, a column at a time", column_cholesky, times_faster(5.0), same=False),),
        fewest=2,
    ),
    Timing(
        "nystrom-predict",
        "predict with 2000 landmarks",
        Fitted(100_000, 10, 2000),
        Fitted(5_000, 10, 100),
        ours=lambda data: data[0].predict(data[2]),
        peers=(Peer("sklearn Nystroem + Ridge", lambda data: data[1].predict(data[2]), times_faster(3.0), same=False),),
        fewest=2,
    ),
)


def main(sizes: list[int], d: int = 10, rank: int = 2000) -> None:
    """Print seconds, errors and memory of one fit for each number of samples."""
    ours(Waves(70_000, d, 100).make())
    for n in sizes:
        task = Waves(n, d, rank).make()
        began, cpu = time.perf_counter(), time.process_time()
        model = ours(task)
        took = time.perf_counter() - began, time.process_time() - cpu
        rmse = float(np.sqrt(np.mean(np.square(model.predict(task.T) - task.t))))
        print(f"n = {n:8d}  d = {d}  {took[0]:6.1f} s (CPU {took[1]:6.1f} s)  error {rmse:.4f}  ", end="", flush=True)
        print(f"memory {peak_bytes(lambda task=task: ours(task))[0] / 1e6:.0f} MB", flush=True)


if __name__ == "__main__":
    main([int(n) for n in sys.argv[1:]] or [10_000, 30_000, 100_000, 300_000, 1_000_000])
