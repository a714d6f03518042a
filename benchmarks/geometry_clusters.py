"""Rows of clustering: spectral clustering beside scikit-learn, and what kernel k-means does besides products with K.

Partitions are compared by their normalised cut, which does not depend on the names of the clusters. The products of a
fit are recorded once, when the data are made, and repeated on a Gram of their own: the share of the fit that they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
from sklearn.cluster import SpectralClustering as TheirClustering
from sklearn.datasets import make_blobs

from benchmarks.row import Memory, Peer, Row, Table, Timing, times_faster, times_the_cost
from mercer import KernelKMeans, SpectralClustering, normalized_cut
from mercer.domains import Vectors
from mercer.estimators.clustering.lloyd import Cloud
from mercer.gram import Dense, GramSpec, Tiles
from mercer.kernels import Gaussian

LENGTH = 12.0  # about half the distance of two centres
CLUSTERS = 10


@dataclass(frozen=True)
class Groups:
    """Ten groups in twenty columns that touch."""

    n: int

    def make(self) -> Table:
        X, y = map(np.asarray, make_blobs(self.n, 20, centers=CLUSTERS, cluster_std=4.0, random_state=0)[:2])
        return Table(X, y, y)

    def __str__(self) -> str:
        return f"{CLUSTERS} groups, n = {self.n}, d = 20"


@dataclass(frozen=True, eq=False)
class Recorded:
    """Rows, and the products that kernel k-means takes on them."""

    X: np.ndarray
    products: list[tuple[str, tuple[Any, ...]]]


@dataclass(frozen=True)
class Products:
    """Groups with the products of a fit."""

    n: int
    gram: GramSpec

    def make(self) -> Recorded:
        X, products = Groups(self.n).make().X, []

        def recorded(name: str) -> Any:
            method = getattr(Cloud, name)

            def call(cloud: Cloud, *args: Any) -> Any:
                products.append((name, tuple(np.array(one) for one in args[:2][::-1])))
                return method(cloud, *args)

            return call

        with mock.patch.multiple(Cloud, products=recorded("products"), update=recorded("update")):
            self.fit(Recorded(X, []))
        return Recorded(X, products)

    def fit(self, data: Recorded) -> KernelKMeans:
        return KernelKMeans(Gaussian(LENGTH), CLUSTERS, gram=self.gram).fit(data.X)

    def repeat(self, data: Recorded) -> np.ndarray:
        """The products of the fit, on a Gram that has to be built."""
        gram, ones = self.gram.build(Gaussian(LENGTH), Vectors.pack(data.X)), np.ones(len(data.X))
        cloud, out = Cloud(gram, ones, gram @ ones), np.empty(0)
        for name, (V, *index) in data.products:
            if name == "products":
                out = cloud.products(V)
            else:
                cloud.update(index[0], V, np.zeros((len(out), *V.shape[1:])))
        return out

    def __str__(self) -> str:
        return f"{Groups(self.n)}, {self.gram!r}"


def spectral(data: Table) -> Any:
    return SpectralClustering(Gaussian(LENGTH), CLUSTERS).fit(data.X)


def their_spectral(data: Table) -> Any:
    return TheirClustering(CLUSTERS, gamma=0.5 / LENGTH**2, random_state=0).fit(data.X)


def cut(model: Any, data: Table) -> np.ndarray:
    return np.array([normalized_cut(Tiles().build(Gaussian(LENGTH), Vectors.pack(data.X)), model.labels_)])


def share_of_products(gram: GramSpec) -> Timing:
    """At least 70 % of a fit in products: the fit costs at most 1 / 0.7 times what they cost."""
    large, small = Products(10_000, gram), Products(1_000, gram)
    return Timing(
        f"kmeans-{type(gram).__name__.lower()}",
        "KernelKMeans.fit, 10 clusters, 10 restarts",
        large,
        small,
        ours=large.fit,
        peers=(Peer("its products with K alone", large.repeat, times_the_cost(1.0 / 0.7), same=False),),
        outcome=lambda model, data: np.array([model.inertia_]),
    )


ROWS: tuple[Row, ...] = (
    Timing(
        "spectral-clustering",
        "SpectralClustering.fit, Gaussian affinity",
        Groups(5_000),
        Groups(600),
        ours=spectral,
        peers=(Peer("sklearn", their_spectral, times_faster(5.0)),),
        outcome=cut,
    ),
    Memory(
        "spectral-clustering-memory",
        "SpectralClustering.fit, Gaussian affinity",
        Groups(5_000),
        Groups(1_000),
        ours=spectral,
        unit=lambda data: 8 * len(data.X) ** 2,
        unit_name="n x n matrices",
        bar=times_the_cost(1.3),
        besides_result=False,
        peers=(Peer("sklearn", their_spectral),),
    ),
    share_of_products(Dense()),
    share_of_products(Tiles()),
)
