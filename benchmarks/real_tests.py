"""Levels and power of all tests by simulation: how often the hypothesis is rejected where it holds, and where not.

    python -m benchmarks.real_tests                 levels over 2000 runs and power curves, some minutes
    python -m benchmarks.real_tests --runs 200      a quick look
    python -m benchmarks.real_tests --draw power.svg    curves as a picture, too

A level is in order if the number of rejections at 5 % lies in the central 99.8 % of the binomial distribution, also
where the level is that of the limit of many samples. Exit code 1 if one does not.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import lfilter
from scipy.stats import binom

from mercer import change_point_test
from mercer.inference import (
    WildBootstrap,
    aggregated_test,
    conditional_independence_test,
    dhsic_test,
    held_out_test,
    hsic_test,
    mmd_test,
    relative_hsic_test,
    relative_mmd_test,
    stein_test,
)
from mercer.kernels import Gaussian, Spectrum

LEVEL, B = 0.05, 199
Test = Callable[[np.random.Generator], Any]


def samples(rng: np.random.Generator, n: int = 40) -> tuple[Any, Any]:
    return rng.normal(size=(n, 2)), rng.normal(size=(n + 10, 2))


def words(rng: np.random.Generator, n: int = 25) -> list[str]:
    return ["".join(row) for row in rng.choice(list("abc"), size=(n, 8))]


def series(rng: np.random.Generator, keep: float = 0.5, n: int = 300) -> np.ndarray:
    """A stationary process that forgets half of itself at each step."""
    noise = np.sqrt(1.0 - keep**2) * rng.normal(size=n)
    noise[0] /= np.sqrt(1.0 - keep**2)
    return lfilter([1.0], [1.0, -keep], noise)


def column(rng: np.random.Generator) -> np.ndarray:
    return series(rng)[:, None]


def two_series(rng: np.random.Generator, n: int, keep: float = 0.5) -> tuple[Any, Any]:
    return series(rng, keep, n), series(rng, keep, n)


def conditional(rng: np.random.Generator, strength: float = 0.0, n: int = 150) -> tuple[Any, Any, Any]:
    z, e, f = rng.normal(size=(3, n))
    return z + 0.5 * e, np.sin(z) + 0.5 * f + strength * e, z


def relative_samples(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    return rng.normal(size=(100, 1)), rng.normal(0.8, size=(100, 1)), rng.normal(-0.8, size=(100, 1))


def relative_variables(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    x, e, f = rng.normal(size=(3, 120))
    return x, x + 0.6 * e, x + 0.6 * f


def normal(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(size=(n, 1))


def normal_score(x: np.ndarray) -> np.ndarray:
    return -x


def seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


ONE = Gaussian(1.0)
TWO = (ONE, ONE)
# name, whether the level is exact at any size or in the limit of many samples, the test
LEVELS: tuple[tuple[str, bool, Test], ...] = (
    ("mmd permutation", True, lambda g: mmd_test(*samples(g), None, B, g)),
    ("mmd permutation, biased", True, lambda g: mmd_test(*samples(g), None, B, g, estimator="biased")),
    ("mmd permutation, strings", True, lambda g: mmd_test(words(g), words(g), Spectrum(2), B, g)),
    ("mmd permutation, rank 15", True, lambda g: mmd_test(*samples(g), None, B, g, gram=15)),
    ("mmd gamma", False, lambda g: mmd_test(*samples(g), null="gamma")),
    ("mmd spectral", False, lambda g: mmd_test(*samples(g), None, B, g, null="spectral")),
    ("mmd wild", False, lambda g: mmd_test(*samples(g, 100), ONE, B, g, null=WildBootstrap(0.01))),
    ("mmd wild, AR(0)", False, lambda g: mmd_test(*two_series(g, 200, 0.0), None, B, g, null="wild")),
    ("mmd wild, AR(0.5)", False, lambda g: mmd_test(*two_series(g, 200), None, B, g, null="wild")),
    ("mmd wild, AR(0.8)", False, lambda g: mmd_test(*two_series(g, 200, 0.8), None, B, g, null="wild")),
    ("mmd wild, blocks of 20", False, lambda g: mmd_test(*two_series(g, 300), ONE, B, g, null=WildBootstrap(20.0))),
    ("mmd block", False, lambda g: mmd_test(*g.normal(size=(2, 400, 1)), ONE, estimator="block")),
    ("mmd linear", False, lambda g: mmd_test(*g.normal(size=(2, 400, 1)), ONE, estimator="linear")),
    ("mmd held out", True, lambda g: held_out_test(*samples(g), None, B, g)),
    ("mmd aggregated", True, lambda g: aggregated_test(*samples(g), None, B, g)),
    ("hsic permutation", True, lambda g: hsic_test(*g.normal(size=(2, 40, 1)), None, B, g)),
    ("hsic permutation, rank 10", True, lambda g: hsic_test(*g.normal(size=(2, 40, 1)), None, B, g, gram=10)),
    ("hsic gamma", False, lambda g: hsic_test(*g.normal(size=(2, 60, 1)), null="gamma")),
    ("hsic spectral", False, lambda g: hsic_test(*g.normal(size=(2, 60, 1)), None, B, g, null="spectral")),
    ("hsic wild, AR(0)", False, lambda g: hsic_test(*two_series(g, 200, 0.0), None, B, g, null="wild")),
    ("hsic wild, AR(0.5)", False, lambda g: hsic_test(*two_series(g, 200), None, B, g, null="wild")),
    ("hsic wild, AR(0.8)", False, lambda g: hsic_test(*two_series(g, 200, 0.8), None, B, g, null="wild")),
    ("hsic wild, blocks of 20", False, lambda g: hsic_test(series(g), series(g), TWO, B, g, null=WildBootstrap(20.0))),
    ("hsic block", False, lambda g: hsic_test(*g.normal(size=(2, 400, 1)), TWO, estimator="block")),
    ("hsic linear", False, lambda g: hsic_test(*g.normal(size=(2, 400, 1)), TWO, estimator="linear")),
    ("hsic held out", True, lambda g: held_out_test(*g.normal(size=(2, 50, 1)), None, B, g, statistic="hsic")),
    ("hsic aggregated", True, lambda g: aggregated_test(*g.normal(size=(2, 30, 1)), None, B, g, statistic="hsic")),
    ("dhsic permutation", True, lambda g: dhsic_test(g.normal(size=(3, 30, 1)), None, B, g)),
    ("conditional spectral", False, lambda g: conditional_independence_test(*conditional(g), None, B, g)),
    ("conditional gamma", False, lambda g: conditional_independence_test(*conditional(g), null="gamma")),
    ("stein wild", False, lambda g: stein_test(g.normal(size=(100, 1)), normal_score, None, B, g)),
    ("stein simulated", True, lambda g: stein_test(g.normal(size=(30, 1)), normal_score, ONE, 99, g, sampler=normal)),
    ("stein wild, series", False, lambda g: stein_test(column(g), normal_score, ONE, B, g, block_length=10.0)),
    (
        "change point",
        True,
        lambda g: change_point_test(g.normal(size=(40, 1)), n_permutations=99, random_state=seed(g)),
    ),
    ("relative mmd", False, lambda g: relative_mmd_test(*relative_samples(g), ONE)),
    ("relative hsic", False, lambda g: relative_hsic_test(*relative_variables(g), (ONE, ONE, ONE))),
)


def rejected(test: Test, runs: int) -> int:
    return sum(test(np.random.default_rng([11, run])).p_value <= LEVEL for run in range(runs))


def band(runs: int) -> tuple[float, float]:
    """Numbers of rejections that are in order."""
    return binom.ppf(0.001, runs, LEVEL), binom.ppf(0.999, runs, LEVEL)


def levels(runs: int, only: str) -> bool:
    low, high = band(runs)
    print(f"rejections at {LEVEL:.0%} over {runs} runs where the hypothesis holds; band {low:.0f} to {high:.0f}")
    fine = True
    for name, exact, test in LEVELS:
        if only not in name:
            continue
        began = time.perf_counter()
        count = rejected(test, runs)
        good = low <= count <= high
        fine &= good
        rate = f"{count / runs:6.2%}"
        kind, verdict = "exact" if exact else "limit", "in order" if good else "OUT"
        print(f"{name:26} {kind} {rate}  {verdict:8}  {time.perf_counter() - began:6.1f} s", flush=True)
    return fine


def shifted(shift: float, g: np.random.Generator) -> tuple[Any, Any]:
    return g.normal(size=(50, 1)), shift + g.normal(size=(50, 1))


def on_a_circle(noise: float, g: np.random.Generator) -> tuple[Any, Any]:
    angle = g.uniform(0.0, 2.0 * np.pi, size=(80, 1))
    return np.cos(angle) + noise * g.normal(size=(80, 1)), np.sin(angle) + noise * g.normal(size=(80, 1))


CURVES: tuple[tuple[str, str, tuple[float, ...], Callable[..., Any], dict[str, Callable[..., Any]]], ...] = (
    (
        "50 + 50 normal numbers",
        "shift of the mean",
        (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
        shifted,
        {
            "permutation": lambda x, y, g: mmd_test(x, y, None, B, g),
            "gamma": lambda x, y, g: mmd_test(x, y, null="gamma"),
            "aggregated": lambda x, y, g: aggregated_test(x, y, None, B, g),
            "held out": lambda x, y, g: held_out_test(x, y, None, B, g),
            "block": lambda x, y, g: mmd_test(x, y, estimator="block"),
            "linear": lambda x, y, g: mmd_test(x, y, estimator="linear"),
        },
    ),
    (
        "80 points on a circle",
        "noise",
        (0.2, 0.3, 0.4, 0.5, 0.7, 1.0),
        on_a_circle,
        {
            "permutation": lambda x, y, g: hsic_test(x, y, None, B, g),
            "gamma": lambda x, y, g: hsic_test(x, y, null="gamma"),
            "aggregated": lambda x, y, g: aggregated_test(x, y, None, B, g, statistic="hsic"),
            "held out": lambda x, y, g: held_out_test(x, y, None, B, g, statistic="hsic"),
            "block": lambda x, y, g: hsic_test(x, y, estimator="block"),
            "linear": lambda x, y, g: hsic_test(x, y, estimator="linear"),
        },
    ),
)


def powers(runs: int) -> list[dict[str, list[float]]]:
    found = []
    for title, what, strengths, draw, tests in CURVES:
        print(f"\npower over {runs} runs: {title}\n{what:18}", *(f"{s:6.1f}" for s in strengths))
        curves = {}
        for name, test in tests.items():
            curves[name] = [
                rejected(lambda g, s=s, test=test, draw=draw: test(*draw(s, g), g), runs) / runs for s in strengths
            ]
            print(f"{name:18}", *(f"{rate:6.2f}" for rate in curves[name]), flush=True)
        found.append(curves)
    return found


def picture(found: list[dict[str, list[float]]], path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(CURVES), figsize=(10, 4), layout="constrained")
    for ax, (title, what, strengths, _, _), curves in zip(panels, CURVES, found, strict=True):
        for name, rates in curves.items():
            ax.plot(strengths, rates, "o-", label=name)
        ax.axhline(LEVEL, color="0.6", linestyle="--")
        ax.set(title=title, xlabel=what, ylabel="rejected at 5 %", ylim=(0.0, 1.02))
        ax.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    print(f"The curves are drawn in {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Levels and power by simulation.")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--only", default="", metavar="TEXT", help="Levels of tests whose name has this, no power.")
    parser.add_argument("--draw", type=Path, metavar="FILE", help="Draw power curves.")
    given = parser.parse_args()
    fine = levels(given.runs, given.only)
    if not given.only:
        found = powers(max(20, given.runs // 10))
        if given.draw is not None:
            picture(found, given.draw)
    sys.exit(not fine)


if __name__ == "__main__":
    main()
