"""Rows of pairs: kernels whose matrix is a part of a Kronecker product, beside that matrix written out.

Objects are points in five dimensions; a pair is two of them. All pairs of q objects are n = q^2 samples, and their
matrix has q^4 entries: what forms it ends at a few thousand samples, what does not goes to a million.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.kernel_ridge import KernelRidge as TheirRidge

from benchmarks.row import Memory, Peer, Row, Timing, times_faster, times_the_cost
from mercer import KernelRidge
from mercer.domains import Pairs, Vectors
from mercer.gram import Kronecker, Tiles
from mercer.kernels import Gaussian, PairProduct
from mercer.solvers import ConjugateGradient

KERNEL = Gaussian(2.0)


class Linked(NamedTuple):
    """Pairs of objects, with a target that both objects make."""

    objects: np.ndarray
    pairs: Pairs
    y: np.ndarray


@dataclass(frozen=True)
class Objects:
    """All pairs of some objects, or so many of them."""

    count: int
    some: int | None = None

    def make(self) -> Linked:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((self.count, 5))
        S = Vectors.pack(X)
        pairs = Pairs.grid(S)
        if self.some is not None:
            pairs = pairs[np.sort(rng.choice(len(pairs), self.some, replace=False))]
        i, j = pairs.index.T
        return Linked(X, pairs, np.sin(X[i, 0]) * X[j, 1] + 0.1 * rng.standard_normal(len(i)))

    def __str__(self) -> str:
        told = "all" if self.some is None else self.some
        return f"{told} pairs of {self.count} objects"


def ours(data: Linked, **options: Any) -> Any:
    return KernelRidge(PairProduct(KERNEL), alpha=0.1, gram=Kronecker(), **options).fit(data.pairs, data.y)


def some(data: Linked) -> Any:
    return ours(data, solver=ConjugateGradient(tol=1e-6))


def left_out(data: Linked) -> Any:
    return ours(data, leave_one_out=True)


def written_out(data: Linked) -> Any:
    K = KERNEL(data.objects)
    i, j = data.pairs.index.T
    return TheirRidge(alpha=0.1, kernel="precomputed").fit(K[np.ix_(i, i)] * K[np.ix_(j, j)], data.y)


def coefficients(model: Any, data: Linked) -> np.ndarray:
    return np.asarray(model.dual_coef_).ravel()


def fitted(model: Any, data: Linked) -> np.ndarray:
    return data.y - 0.1 * coefficients(model, data)


def product(spec: Any) -> Any:
    def run(data: Linked) -> np.ndarray:
        return spec.build(PairProduct(KERNEL), data.pairs) @ data.y

    return run


def tables(data: Linked) -> np.ndarray:
    """The two matrix products in NumPy, of the table of all pairs."""
    K = KERNEL(data.objects)
    M = np.zeros(K.shape)
    i, j = data.pairs.index.T
    M[i, j] = data.y
    return (K @ M @ K)[i, j]


ROWS: tuple[Row, ...] = (
    Timing(
        "pairs-all",
        "KernelRidge.fit on all pairs, by eigenvectors",
        Objects(70),
        Objects(30),
        ours=ours,
        peers=(Peer("sklearn KernelRidge, matrix of pairs", written_out, times_faster(50.0)),),
        outcome=coefficients,
        fewest=1,
    ),
    Timing(
        "pairs-left-out",
        "KernelRidge.fit on all pairs with leave-one-out",
        Objects(1000),
        Objects(60),
        ours=left_out,
        peers=(Peer("mercer without it", ours, times_the_cost(2.0), same=False),),
        outcome=coefficients,
        fewest=1,
    ),
    Timing(
        "pairs-some",
        "KernelRidge.fit on some pairs, conjugate gradients",
        Objects(200, 5_000),
        Objects(60, 800),
        ours=some,
        peers=(Peer("sklearn KernelRidge, matrix of pairs", written_out, times_faster(4.0)),),
        outcome=fitted,
        fewest=1,
    ),
    Timing(
        "pairs-product",
        "product with the matrix of pairs",
        Objects(1000, 20_000),
        Objects(200, 2_000),
        ours=product(Kronecker()),
        peers=(Peer("NumPy, K M K", tables, times_faster(1.2)),),
    ),
    Timing(
        "pairs-tiles",
        "product with the matrix of pairs",
        Objects(300, 4_000),
        Objects(100, 1_000),
        ours=product(Kronecker()),
        peers=(Peer("mercer Tiles", product(Tiles()), times_faster(10.0)),),
    ),
    Memory(
        "pairs-all-memory",
        "KernelRidge.fit on all pairs",
        Objects(500),
        Objects(60),
        ours=ours,
        unit=lambda data: 8 * len(data.y),
        unit_name="numbers a pair",
        bar=times_the_cost(30.0),
        besides_result=False,
    ),
)
