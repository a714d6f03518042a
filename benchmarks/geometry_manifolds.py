"""Rows of manifolds: a rolled-up sheet placed by the graph of its neighbours, beside scikit-learn's maps.

Laplacian eigenmaps are compared by their coordinates: both solve the same sparse problem, on the same graph. Isomap and
locally linear embedding are compared by the plane that the two coordinates span.

What limits 3 000 samples, in processor milliseconds of one thread: of Isomap's 850 Dijkstra's searches take 600, half
of SciPy's; of the 800 of local linear embedding as a dense kernel a Cholesky factor takes 200 and the products before
it 300; of the 31 of Laplacian eigenmaps the trees of neighbours take 6, a sparse factor 6, its solutions 4 and the
median distance that None stands for 4. scikit-learn's eigenmap, 30, is neighbours, a factor and solutions alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_swiss_roll
from sklearn.manifold import Isomap, LocallyLinearEmbedding, SpectralEmbedding
from sklearn.neighbors import kneighbors_graph

from benchmarks.row import Memory, Peer, Row, Table, Timing, times_faster, times_the_cost
from mercer.estimators.geometry.kernel_pca import KernelPCA
from mercer.estimators.geometry.locality import KernelLPP, LocalityPreservingProjection
from mercer.estimators.geometry.manifolds import DiffusionMap, LaplacianEigenmap
from mercer.estimators.geometry.unfolding import hessian_kernel, isomap_kernel, locally_linear_kernel
from mercer.gram import Nystrom
from mercer.kernels import Gaussian

NEIGHBOURS = 10


@dataclass(frozen=True)
class Roll:
    """Samples on a rolled-up sheet in three dimensions."""

    n: int

    def make(self) -> Table:
        X, along = make_swiss_roll(self.n, random_state=0)
        return Table(X, along, along)

    def __str__(self) -> str:
        return f"rolled sheet, n = {self.n}, d = 3, {NEIGHBOURS} neighbours"


def eigenmap(data: Table) -> np.ndarray:
    return LaplacianEigenmap(n_neighbors=NEIGHBOURS).fit_transform(data.X)


def their_eigenmap(data: Table) -> np.ndarray:
    graph = kneighbors_graph(data.X, NEIGHBOURS, n_jobs=-1)
    graph = sp.csr_matrix(graph.maximum(graph.T))
    return SpectralEmbedding(2, affinity="precomputed", random_state=0).fit_transform(graph)


def isomap(data: Table) -> np.ndarray:
    return KernelPCA("precomputed", 2).fit_transform(isomap_kernel(data.X, NEIGHBOURS))


def dense_locally_linear(data: Table) -> np.ndarray:
    return KernelPCA("precomputed", 2).fit_transform(locally_linear_kernel(data.X, NEIGHBOURS))


def their_dense_locally_linear(data: Table) -> np.ndarray:
    model = LocallyLinearEmbedding(n_neighbors=NEIGHBOURS, n_components=2, eigen_solver="dense", n_jobs=-1)
    return model.fit_transform(data.X)


def their_isomap(data: Table) -> np.ndarray:
    return Isomap(n_neighbors=NEIGHBOURS, n_components=2, n_jobs=-1).fit_transform(data.X)


def locally_linear(data: Table) -> np.ndarray:
    return locally_linear_kernel(data.X, NEIGHBOURS, factor=2)


def their_locally_linear(data: Table) -> np.ndarray:
    model = LocallyLinearEmbedding(n_neighbors=NEIGHBOURS, n_components=2, random_state=0, n_jobs=-1)
    return model.fit_transform(data.X)


def hessian(data: Table) -> np.ndarray:
    return hessian_kernel(data.X, NEIGHBOURS, factor=2)


def diffusion(data: Table) -> np.ndarray:
    return DiffusionMap(Gaussian(1.0), n_neighbors=NEIGHBOURS).fit_transform(data.X)


def projection(data: Table) -> np.ndarray:
    return LocalityPreservingProjection(n_neighbors=NEIGHBOURS).fit(data.X).transform(data.X)


def kernel_projection(data: Table) -> np.ndarray:
    return KernelLPP(Gaussian(5.0), n_neighbors=NEIGHBOURS, gram=Nystrom(200)).fit_transform(data.X)


def plane(Z: Any, data: Table) -> np.ndarray:
    """Where some samples come to lie under the projection onto the coordinates."""
    Q = np.linalg.qr(np.asarray(Z))[0]
    return Q @ Q[:20].T * len(Q)


MANY = (  # a hundred thousand samples, and no matrix of all pairs
    ("locally-linear", "locally_linear_kernel, a factor of 2 columns", locally_linear),
    ("hessian", "hessian_kernel, a factor of 2 columns", hessian),
    ("diffusion-map", "DiffusionMap.fit, 2 components", diffusion),
    ("locality", "LocalityPreservingProjection.fit, 2 components", projection),
    ("kernel-locality", "KernelLPP.fit, Nystrom(200), 2 components", kernel_projection),
)
BESIDE = (
    ("laplacian-eigenmap", "LaplacianEigenmap.fit, 2 components", eigenmap, their_eigenmap),
    ("isomap", "isomap_kernel and KernelPCA, 2 components", isomap, their_isomap),
    ("locally-linear", "locally_linear_kernel, a factor of 2 columns", locally_linear, their_locally_linear),
    ("locally-linear-dense", "locally_linear_kernel and KernelPCA", dense_locally_linear, their_dense_locally_linear),
)
ROWS: tuple[Row, ...] = (
    *(
        Timing(
            f"{name}-3000",
            what,
            Roll(3_000),
            Roll(600),
            ours=ours,
            peers=(Peer("sklearn", theirs, times_faster(1.2)),),
            outcome=plane,
        )
        for name, what, ours, theirs in BESIDE
    ),
    Timing(
        "laplacian-eigenmap",
        "LaplacianEigenmap.fit, 2 components",
        Roll(10_000),
        Roll(2_000),
        ours=eigenmap,
        peers=(Peer("sklearn", their_eigenmap),),
        outcome=plane,
    ),
    Timing(
        "laplacian-eigenmap-large",
        "LaplacianEigenmap.fit, 2 components",
        Roll(100_000),
        Roll(20_000),
        ours=eigenmap,
        outcome=plane,
        fewest=1,
    ),
    Memory(
        "laplacian-eigenmap-memory",
        "LaplacianEigenmap.fit, 2 components",
        Roll(100_000),
        Roll(20_000),
        ours=eigenmap,
        unit=lambda data: 8 * len(data.X) * NEIGHBOURS,
        unit_name="arrays of n x k",
        bar=times_the_cost(25.0),
    ),
    Timing(
        "isomap",
        "isomap_kernel and KernelPCA, 2 components",
        Roll(2_000),
        Roll(500),
        ours=isomap,
        peers=(Peer("sklearn", their_isomap),),
        outcome=plane,
    ),
    Timing(
        "locally-linear",
        "locally_linear_kernel, a factor of 2 columns",
        Roll(2_000),
        Roll(500),
        ours=locally_linear,
        peers=(Peer("sklearn", their_locally_linear),),
        outcome=plane,
    ),
    *(
        row
        for name, what, ours in MANY
        for row in (
            Timing(f"{name}-large", what, Roll(100_000), Roll(5_000), ours=ours, outcome=plane, fewest=1),
            Memory(
                f"{name}-memory",
                what,
                Roll(100_000),
                Roll(5_000),
                ours=ours,
                unit=lambda data: 8 * len(data.X) * NEIGHBOURS,
                unit_name="arrays of n x k",
                bar=times_the_cost(150.0),
            ),
        )
    ),
)
