"""Runs whose workers are killed again and again: the numbers must be those of this process, to the bit.

``python -m tests.trust.dask_kills 60 300`` does 60 runs with 300 kills in all; the test suite does a few.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mercer import KernelRidge
from mercer.domains import Stream
from mercer.gram import Distributed, Nystrom, RandomFeatures
from mercer.kernels import Gaussian
from mercer.runtime.workers import Cluster
from mercer.solvers import ConjugateGradient

RNG = np.random.default_rng(0)
X = RNG.standard_normal((500, 3))
Y = np.sin(X[:, 0]) + 0.1 * RNG.standard_normal(500)


class Job(NamedTuple):
    """What is distributed and who solves; whether workers read the rows from Parquet files themselves."""

    gram: Any
    solver: Any = None
    filed: bool = False


JOBS = (
    Job(None, ConjugateGradient(1e-3)),
    Job(Nystrom(60)),
    Job(RandomFeatures(80)),
    *([Job(Nystrom(50), filed=True)] if importlib.util.find_spec("pyarrow") else []),
)


@functools.cache
def files() -> tempfile.TemporaryDirectory:
    """Write the rows to two Parquet files in groups of 50; they are removed when this process ends."""
    import pyarrow
    import pyarrow.parquet

    folder = tempfile.TemporaryDirectory(prefix="mercer-rows-")
    for i, rows in enumerate((slice(0, 300), slice(300, 500))):
        columns = {f"x{j}": X[rows, j] for j in range(X.shape[1])} | {"y": Y[rows]}
        pyarrow.parquet.write_table(pyarrow.table(columns), Path(folder.name) / f"{i}.parquet", row_group_size=50)
    return folder


@contextlib.contextmanager
def quick_start() -> Iterator[None]:
    """Let workers be forked from a clean process that has imported everything: they are there in a moment.

    That process must have no threads, those of BLAS included.
    """
    import dask
    import distributed.utils

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["distributed", "tests.trust.dask_warm"])
    distributed.utils._forkserver_preload_set = True
    os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})
    try:
        with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
            yield
    finally:
        from multiprocessing import forkserver

        forkserver._forkserver._stop()
        distributed.utils._forkserver_preload_set = False


def fitted(address: str | None, job: Job, **options: Any) -> np.ndarray:
    """Return the coefficients of a fit."""
    gram = Distributed(address, block=100, gram=job.gram)
    model = KernelRidge(Gaussian(1.0), alpha=1.0, gram=gram, solver=job.solver, **options)
    if not job.filed:
        return model.fit(X, Y).dual_coef_
    stream = Stream.of(files().name, target="y")
    return model.fit(stream, stream.y).dual_coef_


class Killer(threading.Thread):
    """Kills workers of a crew, each once, at random moments."""

    def __init__(self, crew: Cluster, kills: int, rng: random.Random) -> None:
        super().__init__(daemon=True)
        self.crew, self.kills, self.rng = crew, kills, rng
        self.killed: set[int] = set()

    def run(self) -> None:
        while len(self.killed) < self.kills:
            time.sleep(self.rng.uniform(0.02, 0.25))
            fresh = [pid for pid in self.crew.pids() if pid not in self.killed]
            if fresh:
                pid = self.rng.choice(fresh)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    self.killed.add(pid)


def kill_and_compare(runs: int, kills: int, seed: int = 0, tell: Any = None) -> tuple[int, int]:
    """Fit while workers are killed, until all are; return how many fits there were, and how many differed."""
    rng = random.Random(seed)
    expected = [fitted("here", job) for job in JOBS]
    fits = different = done = 0
    with Distributed(workers=2).open() as crew:
        assert isinstance(crew, Cluster)
        for i in range(runs):
            share = (kills - done) // (runs - i)
            killer = Killer(crew, share, rng)
            killer.start()
            place = i
            while True:
                job = place % len(JOBS)
                different += not np.array_equal(fitted(None, JOBS[job]), expected[job])
                fits, place = fits + 1, place + 1
                if not killer.is_alive():
                    break
            done += len(killer.killed)
            if tell is not None:
                tell(f"run {i + 1}: {done} kills, {fits} fits, {different} differ")
    return fits, different


if __name__ == "__main__":
    runs, kills = (int(text) for text in (sys.argv[1:] or ["60", "300"]))
    began = time.perf_counter()
    with quick_start():
        fits, different = kill_and_compare(runs, kills, seed=1, tell=lambda text: print(text, flush=True))
    print(f"{fits} fits, {kills} kills, {different} differ, {time.perf_counter() - began:.0f} s")
    sys.exit(different > 0)
