"""Rows of two-sample and independence tests by permutation, beside hyppo with the same kernels.

hyppo computes Gaussians of its own width unless told; it is given ours, and is timed over a tenth of the permutations,
since one costs it what mercer's thousand cost; its seconds count ten times. The statistics are the same
but for a factor that permutations do not change (`tests/parity/test_dependence.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.row import Peer, Row, Table, Timing, times_faster, times_the_cost
from mercer.inference import hsic_test, mmd_test
from mercer.kernels import Gaussian

GAMMA = 0.1
OURS, THEIRS = 1000, 100  # permutations


@dataclass(frozen=True)
class Two:
    """Two samples, or two variables, of five columns."""

    n: int

    def make(self) -> Table:
        rng = np.random.default_rng(0)
        X, Y = rng.normal(size=(2, self.n, 5))
        return Table(X, Y + 0.1 * X**2, X)

    def __str__(self) -> str:
        return f"two of n = {self.n}, d = 5"


def our_samples(data: Table) -> Any:
    return mmd_test(data.X, data.y, Gaussian.from_gamma(GAMMA), OURS, 0)


def our_variables(data: Table) -> Any:
    return hsic_test(data.X, data.y, (Gaussian.from_gamma(GAMMA),) * 2, OURS, 0)


def their_samples(data: Table) -> Any:
    from hyppo.ksample import MMD

    return MMD(gamma=GAMMA).test(data.X, data.y, reps=THEIRS, workers=1, auto=False, random_state=0)


def their_variables(data: Table) -> Any:
    from hyppo.independence import Hsic

    return Hsic(gamma=GAMMA).test(data.X, data.y, reps=THEIRS, workers=1, auto=False)


def hyppo(name: str, call: Any, bar: float) -> Peer:
    return Peer(name, call, times_faster(bar), same=False, package="hyppo", repeats=OURS // THEIRS)


def product(data: Table) -> np.ndarray:
    """One product of order 4000 with a thousand columns: what a thousand permutations cost at the least."""
    n = 2 * len(data.X)
    return np.ones((OURS, n)) @ np.ones((n, n))


def rejection(result: Any, data: Table) -> np.ndarray:
    return np.array([float(result[1] < 0.05)])


ROWS: tuple[Row, ...] = (
    Timing(
        "two-samples",
        f"mmd_test, {OURS} permutations (hyppo: {THEIRS})",
        Two(500),
        Two(60),
        ours=our_samples,
        peers=(hyppo("hyppo MMD", their_samples, 500.0),),
        outcome=rejection,
        fewest=2,
    ),
    Timing(
        "two-samples-large",
        f"mmd_test, {OURS} permutations",
        Two(2000),
        Two(100),
        ours=our_samples,
        peers=(Peer("one matrix product", product, times_the_cost(4.0), same=False),),
        outcome=rejection,
        fewest=2,
        seconds=1.0,
    ),
    Timing(
        "independence",
        f"hsic_test, {OURS} permutations (hyppo: {THEIRS})",
        Two(500),
        Two(60),
        ours=our_variables,
        peers=(hyppo("hyppo Hsic", their_variables, 50.0),),
        outcome=rejection,
        fewest=2,
    ),
    Timing(
        "independence-large",
        f"hsic_test, {OURS} permutations",
        Two(2000),
        Two(100),
        ours=our_variables,
        outcome=rejection,
        fewest=2,
        seconds=3.0,
    ),
)
