"""Uses of dependence, and how well mixtures are taken apart: `python -m benchmarks.geometry_dependence`.

The table is of the eighteen sources that kernel ICA was introduced with: heavy tails, a uniform and an exponential law,
and mixtures of two and four humps, even and uneven. Pairs of the same source, and random choices of more, are mixed by
random matrices of condition at most 10; the numbers are Amari errors in per cent, the mean and in brackets the median
and the worst, of KernelICA and FastICA as they come.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import FastICA

from benchmarks.row import Peer, Row, Table, Timing
from mercer.estimators.dependence.change_points import change_point_test, mmd_scan
from mercer.estimators.dependence.ica import KernelICA, amari_error
from mercer.estimators.dependence.mean_matching import mean_matching
from mercer.kernels import Gaussian

HUMPS = {  # shares, places and widths
    "f": ([1, 1], [-1, 1], [0.5, 0.5]),
    "g": ([1, 1], [-0.5, 0.5], [0.15, 0.15]),
    "h": ([1, 1], [-0.5, 0.5], [0.4, 0.4]),
    "i": ([1, 1], [-0.5, 0.5], [0.5, 0.5]),
    "j": ([1, 3], [-0.5, 0.5], [0.15, 0.15]),
    "k": ([1, 2], [-0.7, 0.5], [0.4, 0.4]),
    "l": ([1, 2], [-0.7, 0.5], [0.5, 0.5]),
    "m": ([1, 2, 2, 1], [-1, -0.33, 0.33, 1], [0.16] * 4),
    "n": ([1, 2, 2, 1], [-1, -0.2, 0.2, 1], [0.2, 0.3, 0.3, 0.2]),
    "o": ([1, 2, 2, 1], [-0.7, -0.2, 0.2, 0.7], [0.2, 0.3, 0.3, 0.2]),
    "p": ([1, 1, 2, 1], [-1, 0.3, -0.3, 1.1], [0.2] * 4),
    "q": ([1, 3, 2, 0.5], [-1, -0.2, 0.3, 1], [0.2, 0.3, 0.2, 0.2]),
    "r": ([1, 2, 2, 1], [-0.8, -0.2, 0.2, 0.5], [0.2, 0.3, 0.3, 0.2]),
}
SOURCES = "abcdefghijklmnopqr"


def source(name: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw one source, of mean zero and variance one; "f" has two humps of Laplace's law, those below normal ones."""
    if name in "abcde":
        drawn = {
            "a": lambda: rng.standard_t(3, n),
            "b": lambda: rng.laplace(size=n),
            "c": lambda: rng.uniform(-1.0, 1.0, n),
            "d": lambda: rng.standard_t(5, n),
            "e": lambda: rng.exponential(size=n),
        }[name]()
    else:
        shares, places, widths = (np.asarray(part, dtype=float) for part in HUMPS[name])
        which = rng.choice(len(shares), n, p=shares / shares.sum())
        noise = rng.laplace(size=n) if name == "f" else rng.normal(size=n)
        drawn = places[which] + widths[which] * noise
    return (drawn - drawn.mean()) / drawn.std()


@dataclass(frozen=True)
class Mixtures:
    """Sources and what they are mixed by."""

    n: int
    d: int
    seed: int = 0

    def make(self) -> Table:
        rng = np.random.default_rng(self.seed)
        same = SOURCES[self.seed % len(SOURCES)]
        names = [same] * 2 if self.d == 2 else list(rng.choice(list(SOURCES), self.d))
        S = np.column_stack([source(name, self.n, rng) for name in names])
        A = rng.normal(size=(self.d, self.d))
        while np.linalg.cond(A) > 10.0:
            A = rng.normal(size=(self.d, self.d))
        return Table(S @ A.T, A, S)

    def __str__(self) -> str:
        return f"{self.d} mixtures of {self.d} sources, n = {self.n}"


@dataclass(frozen=True)
class Series:
    """Values that change their law half-way."""

    n: int

    def make(self) -> Table:
        rng = np.random.default_rng(0)
        x = rng.normal(size=self.n) + np.repeat([0.0, 1.0], [self.n // 2, self.n - self.n // 2])
        return Table(x[:, None], x, x)

    def __str__(self) -> str:
        return f"series of {self.n} values, one change"


CONTENDERS: dict[str, Any] = {
    "FastICA": lambda: FastICA(whiten="unit-variance", random_state=0, max_iter=2000),
    "KernelICA": KernelICA,
    "kcc": lambda: KernelICA(contrast="kcc"),
    "hsic": lambda: KernelICA(contrast="hsic"),
}


def errors(n: int, d: int, count: int, first: int) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Amari errors of all contenders on some draws, and processor seconds of one fit."""
    found: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    seconds = dict.fromkeys(CONTENDERS, 0.0)
    for seed in range(first, first + count):
        data = Mixtures(n, d, seed).make()
        for name, make in CONTENDERS.items():
            began = time.process_time()
            model = make().fit(data.X)
            seconds[name] += (time.process_time() - began) / count
            found[name].append(amari_error(model.components_, data.y))
    return {name: np.array(values) for name, values in found.items()}, seconds


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=36)
    parser.add_argument("--first", type=int, default=1000, help="the first seed")
    parser.add_argument("sizes", nargs="*", default=["2:400", "2:1000", "5:400", "5:1000"], help="components:samples")
    given = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    print("| components | samples | " + " | ".join(CONTENDERS) + " | better than FastICA | seconds |")
    print("|---" * (len(CONTENDERS) + 4) + "|")
    for size in given.sizes:
        d, n = map(int, size.split(":"))
        found, seconds = errors(n, d, given.draws, given.first)
        means = " | ".join(
            f"{100 * values.mean():.1f} ({100 * np.median(values):.1f}, {100 * values.max():.1f})"
            for values in found.values()
        )
        better = int(np.sum(found["KernelICA"] < found["FastICA"]))
        print(f"| {d} | {n} | {means} | {better} of {given.draws} | {seconds['KernelICA']:.2f} |", flush=True)
    return 0


ROWS: tuple[Row, ...] = (
    Timing(
        "kernel-ica",
        "KernelICA.fit, one search",
        Mixtures(1_000, 4),
        Mixtures(250, 2),
        ours=lambda data: KernelICA(n_init=1).fit(data.X),
        outcome=lambda model, data: np.array([model.contrast_]),
    ),
    Timing(
        "mean-matching",
        "mean_matching, half of the samples to the other half",
        Series(4_000),
        Series(800),
        ours=lambda data: mean_matching(data.X[::2], data.X[1::2], Gaussian(1.0), upper=10.0),
        outcome=lambda found, data: np.array([found.after]),
    ),
    Timing(
        "mmd-scan",
        "mmd_scan, windows of 100",
        Series(20_000),
        Series(2_000),
        ours=lambda data: mmd_scan(data.X, min(100, len(data.X) // 4), Gaussian(1.0)),
        peers=(
            Peer(
                "its kernel values alone",
                lambda data: [
                    Gaussian(1.0)(data.X[a : a + 999]) for a in range(0, len(data.X), 800)
                ],  # in long stretches, where a kernel value costs least
                same=False,
            ),
        ),
        outcome=lambda found, data: found.scores,
    ),
    Timing(
        "change-point-test",
        "change_point_test, 200 orders",
        Series(500),
        Series(200),
        ours=lambda data: change_point_test(data.X, Gaussian(1.0), n_permutations=200),
        outcome=lambda found, data: np.array([found.statistic]),
    ),
)


if __name__ == "__main__":
    raise SystemExit(main())
