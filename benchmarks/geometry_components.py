"""Rows of kernel principal components beside scikit-learn.

Contenders find the same components of the same kernel. scikit-learn is taken as it comes, which means all eigenvectors
by LAPACK for ten components, and with each of the iterative solvers that it offers.

What limits few samples: of 2.3 ms at n = 300 the Lanczos process takes 0.6, kernel values 0.45; of 11.4 ms at n = 1 000
they take 5.2 and 3.4. Half of K is read from the cache some 75 times, at the pace of BLAS (0.06 ms each at n = 1 000).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.decomposition import KernelPCA as TheirPCA

from benchmarks.row import Memory, Peer, Row, Table, Timing, times_faster, times_the_cost
from mercer.estimators.geometry.kernel_pca import KernelPCA
from mercer.gram import Tiles
from mercer.kernels import Gaussian

LENGTH = 7.0


@dataclass(frozen=True)
class Clusters:
    """Four clusters in fifty columns, twenty of which carry them."""

    n: int

    def make(self) -> Table:
        X, y = make_classification(self.n, 50, n_informative=20, n_classes=4, n_clusters_per_class=1, random_state=0)
        return Table(X, y, y)

    def __str__(self) -> str:
        return f"make_classification, n = {self.n}, d = 50"


def ours(**options: Any) -> Any:
    return lambda data: KernelPCA(Gaussian(LENGTH), 10, **options).fit(data.X)


def theirs(solver: str) -> Any:
    return lambda data: TheirPCA(10, kernel="rbf", gamma=0.5 / LENGTH**2, eigen_solver=solver).fit(data.X)


def scores(model: Any, data: Table) -> np.ndarray:
    """Eigenvalues, and sizes of scores."""
    return np.concatenate([model.eigenvalues_, np.abs(model.transform(data.X[:200])).ravel()])


def few(n: int) -> Timing:
    """Ten components of few samples: the peer's own choice of solver, and its best for so few components."""
    return Timing(
        f"components-{n}",
        "KernelPCA.fit, Gaussian, 10 components, one thread",
        Clusters(n),
        Clusters(n),
        ours=ours(n_threads=1),
        peers=(
            Peer("sklearn", theirs("auto"), times_faster(1.2), agrees=1e-8),
            Peer("sklearn arpack", theirs("arpack"), times_faster(1.2), agrees=1e-8),
        ),
        outcome=scores,
    )


ROWS: tuple[Row, ...] = (
    few(300),
    few(1_000),
    Timing(
        "components",
        "KernelPCA.fit, Gaussian, 10 components",
        Clusters(5_000),
        Clusters(800),
        ours=ours(),
        peers=(
            Peer("sklearn", theirs("auto"), times_faster(4.0)),
            Peer("sklearn arpack", theirs("arpack")),
            Peer("sklearn randomized", theirs("randomized"), same=False),
        ),
        outcome=scores,
        fewest=1,
    ),
    Timing(
        "components-large",
        "KernelPCA.fit, Gaussian, 10 components, no n x n array",
        Clusters(50_000),
        Clusters(1_500),
        ours=ours(gram=Tiles()),
        outcome=scores,
        fewest=1,
    ),
    Memory(
        "components-large-memory",
        "KernelPCA.fit, Gaussian, 10 components, tiles",
        Clusters(20_000),
        Clusters(3_000),
        ours=ours(gram=Tiles()),
        unit=lambda data: 8 * len(data.y) ** 2,
        unit_name="n x n matrices",
        bar=times_the_cost(0.1),
        besides_result=False,
    ),
)
