"""Fits that are killed (SIGKILL) at random moments and started again, until they come to their end.

A forked process fits with a checkpoint; the parent kills it after a random time and forks another, which goes on from
the file. The coefficients at the end have to be those of a fit that was left alone, to the bit. Processes count their
iterations in a file, so that it is told how many were done again.
``python -m tests.trust.kills 300`` goes on until so many processes were killed.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mercer.domains import Stream
from mercer.estimators import SVC, GaussianProcessRegressor, KernelLogisticRegression, KernelRidge
from mercer.estimators import fits as running
from mercer.gram import Dense, Nystrom, Tiles
from mercer.io.checkpoint import Checkpoint
from mercer.kernels import Gaussian
from mercer.solvers import SMO, ConjugateGradient

__all__ = ["JOBS", "Outcome", "counted", "killed_and_resumed", "main"]

INTERVAL = 0.02  # seconds between two writes

_RNG = np.random.default_rng(0)
_X = _RNG.normal(size=(900, 3))
_Y = np.sin(_X[:, 0]) * _X[:, 1] + 0.1 * _RNG.normal(size=900)


def _stream(n: int) -> Stream:
    return Stream.of(lambda: (_X[start : min(start + 100, n)] for start in range(0, n, 100)))


def _fitted(model: Any, n: int, y: Any, streamed: bool = False) -> Callable[[Any], Any]:
    def fit(saved: Any) -> Any:
        if saved is not None:
            model.set_callbacks(saved)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = model.fit(_stream(n) if streamed else _X[:n], y[:n])
        model.set_callbacks()
        return np.asarray(found.dual_coef_)

    return fit


JOBS: dict[str, Callable[[Any], Any]] = {
    "conjugate gradients": _fitted(
        KernelRidge(Gaussian(1.0), alpha=1e-2, gram=Tiles(), solver=ConjugateGradient(1e-9), n_threads=1), 300, _Y
    ),
    "newton": _fitted(KernelLogisticRegression(Gaussian(1.0), C=1e3, gram=Tiles(), n_threads=1), 200, np.sign(_Y)),
    "smo": _fitted(SVC(Gaussian(1.0), gram=Dense(), solver=SMO(1e-9), C=1e4, n_threads=1), 900, np.sign(_Y)),
    "streamed": _fitted(
        KernelLogisticRegression(Gaussian(0.5), C=1e3, gram=Nystrom(60), tol=1e-10, n_threads=1),
        900,
        np.sign(_Y),
        streamed=True,
    ),
    "evidence": _fitted(GaussianProcessRegressor(Gaussian(1.0), restarts=3, random_state=0, n_threads=1), 150, _Y),
}


class Outcome(NamedTuple):
    """What a job gave, how many processes were killed, and how many iterations all of them did."""

    found: Any
    killed: int
    iterations: int


def counted(job: Callable[[Any], Any], saved: Any, path: Path) -> Any:
    """Do a job; every iteration adds a byte to a file."""
    real = running._Watch.__call__
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def call(self: Any, iteration: int, residual: float) -> Any:
        os.write(descriptor, b".")
        return real(self, iteration, residual)

    running._Watch.__call__ = call
    try:
        return job(saved)
    finally:
        running._Watch.__call__ = real
        os.close(descriptor)


def killed_and_resumed(
    job: Callable[[Any], Any], kills: int, seconds: float, chance: random.Random, folder: Path, every: float = INTERVAL
) -> Outcome:
    """Return what came of a job after so many kills at most, each within some seconds."""
    path, result, count = folder / "fit.checkpoint", folder / "result.npy", folder / "count"
    killed = 0
    while not result.exists():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            _work(job, Checkpoint(path, every=every), result, count)
        if killed < kills:
            time.sleep(chance.uniform(0.1, 0.6) * seconds)
            os.kill(child, signal.SIGKILL)
        killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
    outcome = Outcome(np.load(result), killed, count.stat().st_size)
    result.unlink()
    count.unlink()
    return outcome


def _work(job: Callable[[Any], Any], saved: Checkpoint, result: Path, count: Path) -> None:
    """Be the process that is killed: never returns."""
    status = 1
    try:
        found = counted(job, saved, count)
        partial = result.with_suffix(".part.npy")
        np.save(partial, found)
        os.replace(partial, result)
        status = 0
    finally:
        os._exit(status)


def main(kills: int) -> int:
    """Kill so many processes over all jobs, print what came of it, and return the number of differences."""
    chance, total, wrong = random.Random(0), 0, 0
    while total < kills:
        for name, job in JOBS.items():
            began = time.monotonic()
            plain = job(None)
            seconds = time.monotonic() - began
            with tempfile.TemporaryDirectory() as folder:
                outcome = killed_and_resumed(job, 10, seconds, chance, Path(folder))
            total, same = total + outcome.killed, np.array_equal(plain, outcome.found)
            wrong += not same
            told = f"{outcome.killed} kills, {outcome.iterations} iterations"
            print(f"{name}: {seconds:.2f} s alone, {told}, {'same bits' if same else 'DIFFERENT'}", flush=True)
    print(f"{total} kills, {wrong} results that differ")
    return wrong


if __name__ == "__main__":
    sys.exit(1 if main(int(sys.argv[1]) if len(sys.argv) > 1 else 300) else 0)
