"""A long mixture of fits, predictions, model files and commands: nothing may pile up.

Every round fits some estimators, saves, loads and predicts, and now and then runs commands in this process. After a
warm-up of a fifth of the time, memory, open files, threads and temporary files are counted after each round.
``python -m tests.trust.soak 300`` takes so many seconds and prints one line of JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import itertools
import json
import os
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

# isort: off
import tests.conftest  # noqa: F401  (threads and the cache of compiled code, before anything else is imported)

# isort: on
import numpy as np

import mercer
from mercer.io.model_file import load, save
from mercer.kernels import Gaussian, Matern, Spectrum
from tests.unit.cli.commandline import run

__all__ = ["counted", "main", "soak"]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=120)
WORDS = ["".join(RNG.choice(list("acgt"), size=12)) for _ in range(40)]
WARM = 0.2  # of the time
COMMANDS = 20  # rounds between two of them
SLOPE = 1.0  # MB in an hour
NOISE = 1.0  # MB by which memory moves anyway, which is all that can be seen in minutes


def _round(number: int, folder: Path) -> None:
    models: list[tuple[Any, Any, Any]] = [
        (mercer.KernelRidge(Gaussian(1.0 + number % 3)), X, Y),
        (mercer.SVC(Matern(1.5), probability=True), X, Y > 0.0),
        (mercer.GaussianProcessRegressor(Gaussian(1.0), 0.1), X[:40], Y[:40]),
        (mercer.KernelPCA(Gaussian(1.0), n_components=2), X, None),
        (mercer.SVC(Spectrum(3)), WORDS, np.arange(40) % 2),
    ]
    model, A, y = models[number % len(models)]
    model.fit(A, y)
    save(model, folder / "m.mercer", force=True)
    again = load(folder / "m.mercer")
    method = "predict" if hasattr(again, "predict") else "transform"
    assert np.array_equal(getattr(again, method)(A), getattr(model, method)(A))
    with contextlib.suppress(mercer.errors.MercerError):
        model.fit(A[:0], None if y is None else y[:0])  # which is refused
    if number % COMMANDS == 0:
        table, out = folder / "t.csv", folder / "c.mercer"
        rows = [f"{a:.3f},{b:.3f},{c:.3f}" for (a, b, _), c in zip(X[:40], Y[:40], strict=True)]
        table.write_text("\n".join(["a,b,y", *rows, ""]))
        estimator = "KernelRidge(Gaussian(1.0).on(['a', 'b']))"
        fit = ["fit", table, "-t", "y", "-e", estimator, "--folds", "0", "--no-report", "-f", "-o", out]
        run(*fit)
        run("predict", out, table)


def counted() -> dict[str, float]:
    """Return megabytes, open files, threads and temporary files of this process, now, as Linux tells them."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return {
        "megabytes": pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
        "files": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
        "temporary": sum(1 for path in Path(tempfile.gettempdir()).iterdir() if path.name.startswith("mercer")),
    }


def soak(seconds: float) -> dict[str, Any]:
    """Return how much piled up within some seconds."""
    began, seen = time.monotonic(), []
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in itertools.count():
            _round(number, Path(name))
            now = time.monotonic() - began
            if now > WARM * seconds and number % COMMANDS == COMMANDS - 1:
                seen.append((now, counted()))
            if now > seconds and len(seen) > 1:
                break
    hours = np.array([now for now, _ in seen]) / 3600.0
    memory = np.array([one["megabytes"] for _, one in seen])
    grown = {key: int(seen[-1][1][key] - seen[0][1][key]) for key in ("files", "threads", "temporary")}
    third = max(1, len(memory) // 3)
    told: dict[str, Any] = {"rounds": number + 1, "seconds": round(seen[-1][0])}
    told |= {"megabytes": round(float(memory[-third:].mean() - memory[:third].mean()), 2)}
    told |= {"megabytes an hour": round(float(np.polyfit(hours, memory, 1)[0]), 1), **grown}
    return told


def main(arguments: list[str]) -> int:
    """Soak and print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", type=float, nargs="?", default=300.0)
    told = soak(parser.parse_args(arguments).seconds)
    print(json.dumps(told))
    piled = told["files"] > 0 or told["threads"] > 0 or told["temporary"] > 0
    return int(piled or (told["megabytes"] > NOISE and told["megabytes an hour"] > SLOPE))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
