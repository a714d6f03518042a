"""How the time of SVC grows with the number of samples and with C: `python -m benchmarks.growth`.

Synthetic data always; Fashion-MNIST (ten classes, up to 60 000 samples) if MERCER_DATA names the folder of the data.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks.support import FOLDER, Clouds, Fashion
from mercer import SVC


def report(title: str, sizes: tuple[object, ...], seconds: list[float], supports: list[int]) -> None:
    """Print a line per size with the exponent of the growth since the line before."""
    print(title)
    for place, (size, taken, support) in enumerate(zip(sizes, seconds, supports, strict=True)):
        line = f"  {size!s:>8}  {taken:8.3f} s  {support:6} support vectors"
        if place:
            ratio = float(size) / float(sizes[place - 1])  # type: ignore[arg-type]
            line += f"  exponent {np.log(taken / seconds[place - 1]) / np.log(ratio):5.2f}"
        print(line, flush=True)


def timed(model: SVC, X: np.ndarray, y: np.ndarray, rounds: int) -> tuple[float, int]:
    """Return the fastest fit in seconds, and the number of support vectors."""
    best = np.inf
    for _ in range(rounds):
        began = time.perf_counter()
        model.fit(X, y)
        best = min(best, time.perf_counter() - began)
    return best, len(model.support_)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    rounds = parser.parse_args().rounds
    data = Clouds(60_000).make()
    SVC("rbf").fit(data.X[:500], data.y[:500])  # compiled code is loaded
    sizes = (5_000, 10_000, 20_000, 40_000, 60_000)
    found = [timed(SVC("rbf"), data.X[:n], data.y[:n], rounds) for n in sizes]
    report("samples, C = 1, 20 columns, two classes", sizes, [t for t, _ in found], [s for _, s in found])
    costs = (0.1, 1.0, 10.0, 100.0, 1000.0)
    found = [timed(SVC("rbf", C=c), data.X[:10_000], data.y[:10_000], rounds) for c in costs]
    report("C, 10 000 samples", costs, [t for t, _ in found], [s for _, s in found])
    if FOLDER:
        data = Fashion(60_000).make()
        sizes = (5_000, 20_000, 60_000)
        found = [timed(SVC("rbf"), data.X[:n], data.y[:n], 1) for n in sizes]
        report("samples, Fashion-MNIST, ten classes", sizes, [t for t, _ in found], [s for _, s in found])


if __name__ == "__main__":
    main()
