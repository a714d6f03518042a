"""Rows of linear machines on binary columns, beside LIBLINEAR as scikit-learn calls it by itself (dual="auto").

What limits them: the packed samples are read some fifteen times, five of these by products of all pairs of entries in a
row, which is what a step of Newton's method costs; a Cholesky factor of 300 columns is a millisecond. LIBLINEAR reads
them two times in each of its conjugate gradient steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import svm

from benchmarks.row import Peer, Row, Table, Timing, times_faster
from mercer import LinearSVC

COSTS = (0.01, 1.0, 100.0, 1000.0)


@dataclass(frozen=True)
class Flags:
    """Sparse rows of ones, one in twenty, and the sign of a linear function with noise."""

    n: int
    d: int

    def make(self) -> Table:
        rng = np.random.default_rng(0)
        X: Any = sp.random(self.n, self.d, density=0.05, format="csr", random_state=0)
        X.data[:] = 1.0
        f = X @ rng.standard_normal(self.d)
        y = (f + 0.5 * f.std() * rng.standard_normal(self.n) > np.median(f)).astype(int)
        return Table(X, y, y)

    def __str__(self) -> str:
        return f"n = {self.n}, d = {self.d}, sparse and binary"


def risk(C: float) -> Any:
    """Logarithm of the primal objective: a difference of 1e-5 is one of 1e-5 of it."""

    def of(model: Any, data: Table) -> np.ndarray:
        w, b = model.coef_[0], model.intercept_[0]
        short = np.maximum(0.0, 1.0 - np.where(data.y == 1, 1.0, -1.0) * (data.X @ w + b))
        return np.log([0.5 * (w @ w + b * b) + C * (short @ short)])

    return of


def _row(C: float) -> Timing:
    return Timing(
        f"linear-binary-{C:g}",
        f"LinearSVC.fit, C = {C:g}",
        Flags(50_000, 300),
        Flags(5_000, 300),
        ours=lambda data: LinearSVC(C=C).fit(data.X, data.y),
        peers=(
            Peer(
                "sklearn LinearSVC",
                lambda data: svm.LinearSVC(C=C, dual="auto").fit(data.X, data.y),
                times_faster(1.5),
                agrees=1e-4,
            ),
        ),
        outcome=risk(C),
    )


ROWS: tuple[Row, ...] = tuple(_row(C) for C in COSTS)
