"""Rows of kernel principal components beside scikit-learn.

Contenders find the same components of the same kernel. scikit-learn is taken as it comes, which means all eigenvectors
by LAPACK for ten components, and with each of the iterative solvers that it offers.
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


ROWS: tuple[Row, ...] = (
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
