"""Rows of canonical correlations, beside cca-zoo.

What is compared is the correlation of new pairs, component by component: low rank against the exact form, which costs
the cube of n, and both against the exact form of the peer. The peer's covariances are over n - 1, ours over n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.row import Memory, Peer, Row, Timing, times_faster, times_the_cost
from mercer import KernelCCA
from mercer.gram import Nystrom
from mercer.kernels import Gaussian

LENGTH, TAU, COMPONENTS, RANK = 4.0, 0.01, 3, 500


@dataclass(frozen=True)
class Views:
    """Two tables of ten columns that share three hidden numbers, bent differently."""

    n: int

    def make(self) -> Pairs:
        return Pairs(*_draw(self.n, 0), *_draw(2_000, 1))

    def __str__(self) -> str:
        return f"n = {self.n}, two views of d = 10"


@dataclass(frozen=True, eq=False)
class Pairs:
    """Training pairs and new ones."""

    X: np.ndarray
    Y: np.ndarray
    X_new: np.ndarray
    Y_new: np.ndarray


def _draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    t = rng.normal(size=(n, 3))
    X = np.c_[np.sin(t[:, :1]), t[:, 1:2] ** 2, t[:, 2:], rng.normal(size=(n, 7))]
    Y = np.c_[t[:, :1], np.cos(t[:, 1:2]), np.tanh(t[:, 2:]), rng.normal(size=(n, 7))]
    return X + 0.3 * rng.normal(size=X.shape), Y + 0.3 * rng.normal(size=Y.shape)


def ours(**options: Any) -> Any:
    return lambda data: KernelCCA(Gaussian(LENGTH), COMPONENTS, tau=TAU, norm_scale="covariance", **options).fit(
        data.X, data.Y
    )


def theirs(data: Pairs) -> Any:
    from cca_zoo.nonparametric import KCCA  # pyright: ignore[reportMissingImports]

    return KCCA(COMPONENTS, kernel="rbf", gamma=1.0 / (2.0 * LENGTH**2), shrinkage=TAU).fit([data.X, data.Y])


def held_out(model: Any, data: Pairs) -> np.ndarray:
    """Return the correlations of new pairs."""
    if isinstance(model, KernelCCA):
        return model.correlations(data.X_new, data.Y_new)
    a, b = model.transform([data.X_new, data.Y_new])
    return np.array([np.corrcoef(a[:, j], b[:, j])[0, 1] for j in range(COMPONENTS)])


PEER = Peer("cca-zoo KCCA", theirs, times_faster(20.0), package="cca_zoo", agrees=0.02)

ROWS: tuple[Row, ...] = (
    Timing(
        "cca-nystrom",
        f"KernelCCA.fit, Nystrom({RANK})",
        Views(5_000),
        Views(1_000),
        ours=ours(gram=Nystrom(RANK)),
        peers=(Peer("mercer rank=500", ours(rank=RANK), agrees=0.02),),
        outcome=held_out,
        fewest=1,
        seconds=5.0,
    ),
    Timing(
        "cca-exact",
        "KernelCCA.fit, exact",
        Views(1_000),
        Views(300),
        ours=ours(),
        peers=(Peer("cca-zoo KCCA", theirs, times_faster(2.0), package="cca_zoo", agrees=0.02),),
        outcome=held_out,
        fewest=1,
    ),
    Timing(
        "cca-peer",
        f"KernelCCA.fit, Nystrom({RANK}), beside the exact peer",
        Views(5_000),
        Views(300),
        ours=ours(gram=Nystrom(RANK)),
        peers=(PEER,),
        outcome=held_out,
        fewest=1,
        seconds=5.0,
    ),
    Memory(
        "cca-memory",
        f"KernelCCA.fit, Nystrom({RANK})",
        Views(5_000),
        Views(1_000),
        ours=ours(gram=Nystrom(RANK)),
        unit=lambda data: 8 * len(data.X) * RANK,
        unit_name="n x r factors",
        bar=times_the_cost(8.0),
        besides_result=False,
    ),
)
