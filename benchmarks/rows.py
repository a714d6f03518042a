"""The table of benchmarks. A new one is a new entry here; nothing else changes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import gaussian_process, kernel_ridge
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import pairwise

from benchmarks import (
    boosting,
    geometry_cca,
    geometry_clusters,
    geometry_components,
    geometry_dependence,
    geometry_manifolds,
    geometry_tests,
    graphs,
    inexact_strings,
    linear_machines,
    marginal_models,
    models,
    scale_cluster,
    scale_features,
    scale_gauss,
    scale_pairs,
    scale_rank,
    scale_streams,
    series,
    small_fits,
    squares,
    strings,
    support,
    texts,
    trees,
    walks,
)
from benchmarks.row import Memory, Peer, Points, Row, Table, Timing, Words, times_faster, times_the_cost
from mercer import KernelRidge
from mercer.domains import Vectors
from mercer.gram import Tiles
from mercer.kernels import Gaussian, Laplacian, Matern, Polynomial, Spectrum

LENGTH = 5.0  # half the typical distance of two standard normal points in 50 dimensions
GAMMA = 1.0 / (2.0 * LENGTH**2)
NARROW = 2.0  # the same for 10 dimensions

BLOCK, BLOCK_QUICK = Points(10_000, 50), Points(2_000, 50)
THREE = Gaussian(LENGTH) + Matern(2.5, length_scale=LENGTH) + Polynomial(3, scale=1 / 50)
RIDGE = dict(alpha=1e-2)


# peers that are more than one call -------------------------------------------------------------------


def product_alone(data: Table) -> Any:
    """The matrix product under a kernel; the copy keeps NumPy from computing only half of it."""
    return data.X @ data.X.copy().T


def sklearn_gaussian(data: Table) -> Any:
    return pairwise.rbf_kernel(data.X, gamma=GAMMA)


def sklearn_blocks(data: Table, rows: int = 1000) -> Any:
    gamma = 1.0 / (2.0 * NARROW**2)
    parts = [data.X[i : i + rows] for i in range(0, len(data.X), rows)]
    return np.concatenate([pairwise.rbf_kernel(part, data.X, gamma=gamma) @ data.v for part in parts])


def torch_gaussian(data: Table) -> Any:
    import torch

    X = torch.from_numpy(data.X)
    norms = (X * X).sum(1)
    K = torch.addmm(norms[:, None] + norms, X, X.T, alpha=-2.0)
    return K.clamp_(min=0.0).mul_(-GAMMA).exp_().numpy()


def keops_product(data: Table) -> Any:
    from pykeops.numpy import LazyTensor

    rows, columns = LazyTensor(data.X[:, None, :]), LazyTensor(data.X[None, :, :])
    K = (((rows - columns) ** 2).sum(2) * (-0.5 / NARROW**2)).exp()
    return (K @ data.v[:, None])[:, 0]


def counted_spectrum(words: list[str]) -> Any:
    counts = CountVectorizer(analyzer="char", ngram_range=(5, 5), lowercase=False).fit_transform(words)
    return (counts @ counts.T).toarray()


def mixed_product(data: Table) -> Any:
    return Tiles(precision="mixed").build(Gaussian(NARROW), Vectors.pack(data.X)) @ data.v


def our_ridge(data: Table) -> Any:
    return KernelRidge(Gaussian(LENGTH), **RIDGE).fit(data.X, data.y)


def sklearn_ridge(data: Table) -> Any:
    return kernel_ridge.KernelRidge(kernel="rbf", gamma=GAMMA, **RIDGE).fit(data.X, data.y)


def matrix_bytes(data: Table) -> int:
    """One n x n matrix of the data's precision."""
    return data.X.itemsize * len(data.X) ** 2


ROWS: tuple[Row, ...] = (
    Timing(
        "gaussian",
        "Gaussian, all pairs",
        BLOCK,
        BLOCK_QUICK,
        ours=lambda data: Gaussian(LENGTH)(data.X),
        peers=(
            Peer("sklearn rbf_kernel", sklearn_gaussian, times_faster(4.0)),
            Peer("matrix product alone", product_alone, times_the_cost(1.35), same=False),
            Peer("torch", torch_gaussian, times_the_cost(1.0), package="torch"),
        ),
    ),
    Timing(
        "gaussian32",
        "Gaussian, all pairs",
        Points(10_000, 50, "float32"),
        Points(2_000, 50, "float32"),
        ours=lambda data: Gaussian(LENGTH)(data.X),
        peers=(
            Peer("sklearn rbf_kernel", sklearn_gaussian),
            Peer("matrix product alone", product_alone, same=False),
            Peer("torch", torch_gaussian, package="torch"),
        ),
    ),
    Timing(
        "matern",
        "Matern 5/2, all pairs",
        BLOCK,
        BLOCK_QUICK,
        ours=lambda data: Matern(2.5, length_scale=LENGTH)(data.X),
        peers=(
            Peer(
                "sklearn Matern",
                lambda data: gaussian_process.kernels.Matern(LENGTH, nu=2.5)(data.X),
                times_faster(6.0),
            ),
        ),
    ),
    Timing(
        "matern-bessel",
        "Matern of nu = 0.8, all pairs",
        Points(2_000, 10),
        Points(500, 10),
        ours=lambda data: Matern(0.8, length_scale=NARROW)(data.X),
        peers=(
            Peer(
                "sklearn Matern",
                lambda data: gaussian_process.kernels.Matern(NARROW, nu=0.8)(data.X),
                times_faster(1.2),
            ),
        ),
    ),
    Timing(
        "polynomial",
        "polynomial of degree 3, all pairs",
        BLOCK,
        BLOCK_QUICK,
        ours=lambda data: Polynomial(3, scale=1 / 50)(data.X),
        peers=(
            Peer(
                "sklearn polynomial_kernel",
                lambda data: pairwise.polynomial_kernel(data.X, degree=3, gamma=1 / 50, coef0=1.0),
                times_faster(2.5),
            ),
        ),
    ),
    Timing(
        "laplacian",
        "Laplacian, all pairs",
        BLOCK,
        BLOCK_QUICK,
        ours=lambda data: Laplacian(50.0)(data.X),
        peers=(Peer("sklearn laplacian_kernel", lambda data: pairwise.laplacian_kernel(data.X, gamma=1 / 50)),),
    ),
    Timing(
        "sum",
        "Gaussian + Matern 5/2 + polynomial",
        BLOCK,
        BLOCK_QUICK,
        ours=lambda data: THREE(data.X),
        peers=tuple(
            Peer(f"mercer {type(term).__name__}", lambda data, term=term: term(data.X), same=False)
            for term in THREE.kernels
        ),
        dearest=times_the_cost(1.6),
    ),
    Timing(
        "product",
        'Tiles(precision="mixed") @ v',
        Points(20_000, 10, "float32"),
        Points(4_000, 10, "float32"),
        ours=mixed_product,
        peers=(
            Peer("sklearn in blocks", sklearn_blocks, times_faster(8.0)),
            Peer("pykeops", keops_product, package="pykeops"),
        ),
    ),
    Timing(
        "spectrum",
        "Spectrum(5), all pairs",
        Words(1000, 200),
        Words(200, 200),
        ours=lambda words: Spectrum(5)(words),
        peers=(Peer("sklearn CountVectorizer", counted_spectrum),),
    ),
    Timing(
        "ridge",
        "KernelRidge.fit, Gaussian",
        Points(4_000, 50),
        Points(1_000, 50),
        ours=our_ridge,
        peers=(Peer("sklearn KernelRidge", sklearn_ridge),),
        outcome=lambda model, data: model.predict(data.X[:1000] + 0.1),
    ),
    Memory(
        "ridge-memory",
        "KernelRidge.fit, Gaussian",
        Points(4_000, 50),
        Points(1_000, 50),
        ours=our_ridge,
        unit=matrix_bytes,
        unit_name="n x n matrices",
        besides_result=False,
        peers=(Peer("sklearn KernelRidge", sklearn_ridge),),
    ),
    Memory(
        "gaussian-memory",
        "Gaussian, all pairs, besides the result",
        BLOCK,
        BLOCK_QUICK,
        ours=lambda data: Gaussian(LENGTH)(data.X),
        unit=matrix_bytes,
        unit_name="results",
        bar=times_the_cost(1.0),
        peers=(Peer("sklearn rbf_kernel", sklearn_gaussian),),
    ),
    *support.ROWS,
    *linear_machines.ROWS,
    *small_fits.ROWS,
    *boosting.ROWS,
    *squares.ROWS,
    *strings.ROWS,
    *inexact_strings.ROWS,
    *texts.ROWS,
    *trees.ROWS,
    *graphs.ROWS,
    *walks.ROWS,
    *marginal_models.ROWS,
    *models.ROWS,
    *series.ROWS,
    *geometry_components.ROWS,
    *geometry_cca.ROWS,
    *geometry_tests.ROWS,
    *geometry_clusters.ROWS,
    *geometry_dependence.ROWS,
    *geometry_manifolds.ROWS,
    *scale_rank.ROWS,
    *scale_gauss.ROWS,
    *scale_features.ROWS,
    *scale_pairs.ROWS,
    *scale_streams.ROWS,
    *scale_cluster.ROWS,
)
