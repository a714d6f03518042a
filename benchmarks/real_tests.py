"""Levels and power of all tests by simulation: how often the hypothesis is rejected where it holds, and where not.

    python -m benchmarks.real_tests            levels over 2000 runs and power curves, some minutes
    python -m benchmarks.real_tests --runs 200 a quick look

A level is in order if the number of rejections at 5 % lies in the central 99.8 % of the binomial distribution.
Exit code 1 if one does not.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import binom

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


def series(rng: np.random.Generator, keep: float, n: int = 200) -> np.ndarray:
    x, noise = np.zeros(n), rng.normal(size=n)
    for t in range(1, n):
        x[t] = keep * x[t - 1] + np.sqrt(1.0 - keep**2) * noise[t]
    return x


def conditional(rng: np.random.Generator, strength: float = 0.0, n: int = 150) -> tuple[Any, Any, Any]:
    z, e, f = rng.normal(size=(3, n))
    return z + 0.5 * e, np.sin(z) + 0.5 * f + strength * e, z


def relative_samples(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    return rng.normal(size=(100, 1)), rng.normal(0.8, size=(100, 1)), rng.normal(-0.8, size=(100, 1))


def relative_variables(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    x, e, f = rng.normal(size=(3, 120))
    return x, x + 0.6 * e, x + 0.6 * f


ONE = Gaussian(1.0)
# name, whether the level is exact at any size (two-sided band) or in the limit (upper end only), the test
LEVELS: tuple[tuple[str, bool, Test], ...] = (
    ("mmd permutation", True, lambda g: mmd_test(*samples(g), None, B, g)),
    ("mmd permutation, strings", True, lambda g: mmd_test(words(g), words(g), Spectrum(2), B, g)),
    ("mmd gamma", False, lambda g: mmd_test(*samples(g), null="gamma")),
    ("mmd spectral", False, lambda g: mmd_test(*samples(g), None, B, g, null="spectral")),
    ("mmd block", False, lambda g: mmd_test(*g.normal(size=(2, 400, 1)), estimator="block")),
    ("mmd linear", False, lambda g: mmd_test(*g.normal(size=(2, 400, 1)), estimator="linear")),
    ("mmd held out", True, lambda g: held_out_test(*samples(g), None, B, g)),
    ("mmd aggregated", True, lambda g: aggregated_test(*samples(g), None, B, g)),
    ("hsic permutation", True, lambda g: hsic_test(*g.normal(size=(2, 40, 1)), None, B, g)),
    ("hsic gamma", False, lambda g: hsic_test(*g.normal(size=(2, 60, 1)), null="gamma")),
    ("hsic spectral", False, lambda g: hsic_test(*g.normal(size=(2, 60, 1)), None, B, g, null="spectral")),
    ("hsic block", False, lambda g: hsic_test(*g.normal(size=(2, 400, 1)), estimator="block")),
    ("hsic aggregated", True, lambda g: aggregated_test(*g.normal(size=(2, 30, 1)), None, B, g, statistic="hsic")),
    ("dhsic permutation", True, lambda g: dhsic_test(g.normal(size=(3, 30, 1)), None, B, g)),
    ("conditional spectral", False, lambda g: conditional_independence_test(*conditional(g), None, B, g)),
    ("conditional gamma", False, lambda g: conditional_independence_test(*conditional(g), null="gamma")),
    ("stein wild", False, lambda g: stein_test(g.normal(size=(100, 1)), lambda x: -x, None, B, g)),
    ("relative mmd", False, lambda g: relative_mmd_test(*relative_samples(g), ONE)),
    ("relative hsic", False, lambda g: relative_hsic_test(*relative_variables(g), (ONE, ONE, ONE))),
    (
        "hsic wild, series",
        False,
        lambda g: hsic_test(series(g, 0.7), series(g, 0.7), None, B, g, null=WildBootstrap(15.0)),
    ),
)


def rejected(test: Test, runs: int) -> int:
    return sum(test(np.random.default_rng([11, run])).p_value <= LEVEL for run in range(runs))


def levels(runs: int, only: str) -> bool:
    low, high = binom.ppf(0.001, runs, LEVEL), binom.ppf(0.999, runs, LEVEL)
    print(f"rejections at {LEVEL:.0%} over {runs} runs where the hypothesis holds; band {low:.0f} to {high:.0f}")
    fine = True
    for name, exact, test in LEVELS:
        if only not in name:
            continue
        began = time.perf_counter()
        count = rejected(test, runs)
        good = count <= high and (count >= low or not exact)
        fine &= good
        rate = f"{count / runs:6.2%}"
        kind = "exact" if exact else "limit"
        print(
            f"{name:26} {kind} {rate}  {'in order' if good else 'OUT'}  {time.perf_counter() - began:6.1f} s",
            flush=True,
        )
    return fine


def powers(runs: int) -> None:
    shifts = (0.0, 0.2, 0.4, 0.6, 0.8)
    print(
        f"\npower over {runs} runs: shift of the mean of 50 + 50 normal numbers\n{'':18}",
        *(f"{s:6.1f}" for s in shifts),
    )
    tests = {
        "permutation": lambda x, y, g: mmd_test(x, y, None, B, g),
        "gamma": lambda x, y, g: mmd_test(x, y, null="gamma"),
        "held out": lambda x, y, g: held_out_test(x, y, None, B, g),
        "aggregated": lambda x, y, g: aggregated_test(x, y, None, B, g),
    }
    for name, test in tests.items():
        rates = [
            rejected(lambda g, s=s, test=test: test(g.normal(size=(50, 1)), s + g.normal(size=(50, 1)), g), runs) / runs
            for s in shifts
        ]
        print(f"{name:18}", *(f"{rate:6.2f}" for rate in rates), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Levels and power by simulation.")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--only", default="", metavar="TEXT", help="Levels of tests whose name has this, no power.")
    given = parser.parse_args()
    fine = levels(given.runs, given.only)
    if not given.only:
        powers(max(20, given.runs // 10))
    sys.exit(not fine)


if __name__ == "__main__":
    main()
