"""Support vector classifiers with a reduced set, on real data: `python -m benchmarks.reduced`.

How many kernels, how far from the function of all of them in the space of the kernel, how often right, how much faster.
"kept" are reduced sets that keep the decisions on (at most 2 000 of) the training data. The folder of the data is named
by the environment variable MERCER_DATA.
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

from mercer import SVC
from mercer.hilbert import reduced_machine
from mercer.kernels import Gaussian

MAX_TIME = 120.0  # seconds for one reduction


class Task(NamedTuple):
    """Training and test rows, and the machine."""

    X: Any
    y: np.ndarray
    T: Any
    t: np.ndarray
    model: SVC
    sizes: tuple[int, ...]


def stored(name: str) -> Any:
    return np.load(Path(os.environ["MERCER_DATA"]) / f"{name}.npz")


def banana() -> Task:
    A = np.loadtxt(Path(os.environ["MERCER_DATA"]) / "banana.csv.gz", delimiter=",", skiprows=1)
    X, y = A[:, :-1], A[:, -1]
    return Task(X[:3000], y[:3000], X[3000:], y[3000:], SVC(Gaussian(0.5)), (5, 10, 20, 40))


def digits() -> Task:
    d = stored("optdigits")
    X, y = d["X"] / 16.0, d["y"]
    return Task(X[:3823], y[:3823], X[3823:], y[3823:], SVC(Gaussian(1.5), C=10.0), (10, 20, 40, 80))


def adult() -> Task:
    d = stored("a8a")

    def rows(part: str) -> Any:
        p, i = d[f"{part}_indptr"], d[f"{part}_indices"]
        return sp.csr_array((np.ones(len(i)), i, p), shape=(len(p) - 1, 123))

    return Task(rows("train"), d["train_y"], rows("test"), d["test_y"], SVC(Gaussian(3.0)), (10, 40, 160))


def fashion() -> Task:
    d, e = stored("fashion_mnist_train_a"), stored("fashion_mnist_test")
    model = SVC(Gaussian(7.0), C=10.0)
    return Task(d["X"][:10_000] / 255.0, d["y"][:10_000], e["X"] / 255.0, e["y"], model, (50, 100, 200))


TASKS: dict[str, Callable[[], Task]] = {"banana": banana, "digits": digits, "adult": adult, "fashion": fashion}


def seconds(work: Callable[[], Any]) -> float:
    """Return the shortest of three runs."""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def report(name: str, task: Task) -> None:
    model = task.model.fit(task.X, task.y)
    before = seconds(lambda: model.predict(task.T))
    f: Any = model.expansion_
    values = f(f.samples) - f.intercept
    norm = np.sqrt(np.vdot(f.coef, values))
    line = f"{name:9}{'all':>20}{len(f.samples):8}{0.0:10.3f}{1.0:10.4f}{model.score(task.T, task.t):10.4f}"
    print(f"{line}{1:9}x", flush=True)
    sample = task.X[:2000]
    for size in task.sizes:
        for method, kept in (
            ("selection", False),
            ("selection", True),
            ("construction", False),
            ("construction", True),
        ):
            began = time.perf_counter()
            small = reduced_machine(model, size, method=method, sample=sample if kept else None, max_time=MAX_TIME)
            taken = time.perf_counter() - began
            distance = small.reduced_error_ / norm
            same = np.mean(small.predict(task.T) == model.predict(task.T))
            times = before / seconds(lambda small=small: small.predict(task.T))
            how = method + (", kept" if kept else "")
            score = small.score(task.T, task.t)
            line = f"{name:9}{how:>20}{size:8}{distance:10.3f}{same:10.4f}{score:10.4f}{times:9.0f}x{taken:9.1f} s"
            print(line, flush=True)


def main() -> None:
    """Print a line per data set, size and way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(TASKS))
    head = (
        f"{'data':9}{'way':>20}{'kernels':>8}{'distance':>10}{'same':>10}{'right':>10}{'faster':>10}{'reduced in':>11}"
    )
    print(head)
    warnings.simplefilter("ignore")
    for name in parser.parse_args().names or list(TASKS):
        report(name, TASKS[name]())


if __name__ == "__main__":
    main()
