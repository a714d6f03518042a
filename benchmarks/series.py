"""Rows of kernels on time series and tensors: alignments beside tslearn, signatures, cumulants, unfoldings.

tslearn aligns with the same local similarity and divides by the same self-similarities, in plain floating-point
numbers, which overflow for long series: the row is as long as it can take. No package with a signature kernel is at
hand; the finite differences are the scheme such packages use, and their error is some tenths of a per cent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.row import Peer, Row, Timing, times_faster
from mercer.kernels.series.global_alignment import GlobalAlignmentSeries
from mercer.kernels.series.signature import Signature
from mercer.kernels.sets.tensor_subspaces import Cumulant, Grassmann

PACKAGE = "tslearn"
LENGTH = 5.0


@dataclass(frozen=True)
class Series:
    """Smooth series of different lengths, up to `length` and not below two thirds of it."""

    count: int
    length: int
    channels: int

    def make(self) -> list[np.ndarray]:
        rng = np.random.default_rng(0)
        lengths = rng.integers(2 * self.length // 3, self.length + 1, size=self.count)
        steps = [rng.normal(size=(n, self.channels)) for n in lengths]
        return [np.cumsum(step, axis=0) / np.sqrt(self.length) for step in steps]

    def __str__(self) -> str:
        return f"{self.count} series of up to {self.length} points, {self.channels} channels"


@dataclass(frozen=True)
class Boxes:
    """Random tensors with three axes."""

    count: int
    side: int

    def make(self) -> np.ndarray:
        return np.random.default_rng(0).normal(size=(self.count, self.side, self.side, self.side))

    def __str__(self) -> str:
        return f"{self.count} tensors of {self.side} x {self.side} x {self.side}"


def aligned(series: list[np.ndarray]) -> np.ndarray:
    return GlobalAlignmentSeries(LENGTH)(series)


def their_aligned(series: list[np.ndarray]) -> np.ndarray:
    from tslearn.metrics import cdist_gak
    from tslearn.utils import to_time_series_dataset

    return cdist_gak(to_time_series_dataset(series), sigma=LENGTH, n_jobs=2)


def banded(series: list[np.ndarray]) -> np.ndarray:
    return GlobalAlignmentSeries(LENGTH, band=50)(series)


def all_orders(series: list[np.ndarray]) -> np.ndarray:
    return Signature()(series)


def finite_differences(series: list[np.ndarray]) -> Any:
    """The usual second-order scheme for the Goursat problem on cells halved once, pair by pair in NumPy."""
    K = np.empty((len(series), len(series)))
    halves = [np.repeat(np.diff(x, axis=0) / 2.0, 2, axis=0) for x in series]
    for i, dx in enumerate(halves):
        for j, dy in enumerate(halves[: i + 1]):
            K[i, j] = K[j, i] = _goursat(dx @ dy.T)
    return K


def _goursat(D: np.ndarray) -> float:
    if len(D) > D.shape[1]:
        D = D.T
    n, m = D.shape
    gain, loss = 1.0 + D / 2.0 + D**2 / 12.0, 1.0 - D**2 / 12.0
    older, old = np.ones(n + 1), np.ones(n + 1)  # along antidiagonals, by rows
    for d in range(2, n + m + 1):
        low, high = max(1, d - m), min(n, d - 1)
        rows = np.arange(low, high + 1)
        cells = rows - 1, d - rows - 1
        new = np.ones(n + 1)
        new[rows] = (old[rows] + old[rows - 1]) * gain[cells] - older[rows - 1] * loss[cells]
        older, old = old, new
    return float(old[n])


ROWS: tuple[Row, ...] = (
    Timing(
        "series-alignment",
        "GlobalAlignmentSeries",
        Series(100, 120, 3),
        Series(10, 40, 3),
        ours=aligned,
        peers=(Peer("tslearn", their_aligned, times_faster(3.0), package=PACKAGE),),
        fewest=1,
    ),
    Timing(
        "series-alignment-band",
        "GlobalAlignmentSeries, band 50",
        Series(40, 600, 3),
        Series(10, 120, 3),
        ours=banded,
        fewest=1,
    ),
    Timing(
        "series-signature",
        "Signature, all orders",
        Series(30, 80, 3),
        Series(6, 30, 3),
        ours=all_orders,
        peers=(Peer("finite differences", finite_differences, times_faster(1.0), same=False),),
        fewest=1,
    ),
    Timing(
        "series-signature-long",
        "Signature, all orders, long series",
        Series(60, 275, 3),
        Series(6, 60, 3),
        ours=all_orders,
        fewest=1,
    ),
    Timing(
        "series-signature-4",
        "Signature up to order 4",
        Series(1_000, 120, 3),
        Series(50, 40, 3),
        ours=lambda series: Signature(4)(series),
    ),
    Timing(
        "series-cumulant",
        "Cumulant",
        Series(200, 600, 8),
        Series(20, 100, 4),
        ours=lambda series: Cumulant()(series),
    ),
    Timing(
        "tensors-grassmann",
        "Grassmann, rank 3",
        Boxes(300, 12),
        Boxes(30, 6),
        ours=lambda boxes: Grassmann(2.0, rank=3)(boxes),
    ),
)
