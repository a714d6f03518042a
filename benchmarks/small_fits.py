"""Rows of small problems, where what is done once a call counts: checks, plans, and the hand-over to compiled loops.

What limits them: at n = 100 the loops themselves take a tenth of a millisecond or two. The rest is Python: some 1 800
calls in a fit of SVC, 0.9 ms, of which parameters and nested specs take 0.03 ms, the free memory 0.03 ms, the exact
finish of a machine 0.15 ms and a tile of kernel values 0.15 ms, half of which prepares what large tiles need.
scikit-learn's calls are one loop of LIBSVM after a check of X and y, 0.6 ms. At n = 1 000 regression is one working
set of 2 000 variables, a matrix of 32 MB that is gathered and looked through in 4 of its 14 ms. Predictions of few rows
find the model's points prepared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import gaussian_process, kernel_ridge, svm

from benchmarks.row import Peer, Points, Row, Table, Timing, times_faster
from mercer import SVC, SVR, GaussianProcessRegressor, KernelRidge, LinearSVC, OneClassSVM
from mercer.kernels import Gaussian

D, GAMMA = 5, 0.2
LENGTH = float(np.sqrt(0.5 / GAMMA))
KERNEL = Gaussian(LENGTH)
ROUNDS = 20  # fits of one call: a single one is too short for the clock
PREDICTIONS = 1000


def _classes(data: Table) -> np.ndarray:
    return (data.X[:, 0] * data.X[:, 1] + 0.3 * data.v > 0.0).astype(int)


def _process(data: Table) -> Any:
    return GaussianProcessRegressor(KERNEL, noise=0.1, fixed="all", normalize_y=False).fit(data.X, data.y)


def _their_process(data: Table) -> Any:
    kernel = gaussian_process.kernels.RBF(LENGTH)
    return gaussian_process.GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None).fit(data.X, data.y)


FITS: dict[str, tuple[Any, Any]] = {
    "svc": (
        lambda data: SVC(KERNEL).fit(data.X, _classes(data)),
        lambda data: svm.SVC(gamma=GAMMA).fit(data.X, _classes(data)),
    ),
    "svr": (
        lambda data: SVR(KERNEL).fit(data.X, data.y),
        lambda data: svm.SVR(gamma=GAMMA).fit(data.X, data.y),
    ),
    "one-class": (
        lambda data: OneClassSVM(KERNEL).fit(data.X),
        lambda data: svm.OneClassSVM(gamma=GAMMA).fit(data.X),
    ),
    "linear": (
        lambda data: LinearSVC().fit(data.X, _classes(data)),
        lambda data: svm.LinearSVC().fit(data.X, _classes(data)),
    ),
    "ridge": (
        lambda data: KernelRidge(KERNEL, alpha=1.0).fit(data.X, data.y),
        lambda data: kernel_ridge.KernelRidge(kernel="rbf", gamma=GAMMA, alpha=1.0).fit(data.X, data.y),
    ),
    "process": (_process, _their_process),
}


def repeated(fit: Any) -> Any:
    """Fit some twenty times; the last model."""
    return lambda data: [fit(data) for _ in range(ROUNDS)][-1]


def one_by_one(fit: Any) -> Any:
    """Predict a row, a thousand times, by a model that is fitted in the first call for these data."""
    known: dict[int, Any] = {}

    def call(data: Table) -> np.ndarray:
        if id(data) not in known:
            known[id(data)] = data, fit(data)
        model = known[id(data)][1]
        return np.concatenate([model.predict(data.X[i % len(data.X)][None]) for i in range(PREDICTIONS)])

    return call


def predicted(model: Any, data: Table) -> np.ndarray:
    return np.asarray(model.predict(data.X), dtype=float)


def _fit(name: str, n: int, bar: float) -> Timing:
    ours, theirs = FITS[name]
    title = f"{ROUNDS} fits of a small {name}"
    size, peer = Points(n, D), Peer("sklearn", repeated(theirs), times_faster(bar))
    return Timing(f"small-{name}-{n}", title, size, Points(50, D), repeated(ours), (peer,), outcome=predicted)


def _predict(name: str, n: int) -> Timing:
    ours, theirs = FITS[name]
    peer = Peer("sklearn", one_by_one(theirs), times_faster(1.0))
    title = f"{PREDICTIONS} predictions of one row, {name}"
    return Timing(f"one-row-{name}-{n}", title, Points(n, D), Points(50, D), one_by_one(ours), (peer,))


ROWS: tuple[Row, ...] = (
    *(_fit(name, n, bar) for n, bar in ((100, 1.0), (1000, 1.5)) for name in FITS),
    *(_predict(name, n) for n in (100, 1000) for name in ("svc", "process")),
)
