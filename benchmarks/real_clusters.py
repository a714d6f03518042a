"""Clusters of real data: `python -m benchmarks.real_clusters`.

mfeat: 2000 handwritten digits seen by six sets of measurements. Without their labels they are divided into ten
clusters, by one view at a time and by all of them: by the mean of the views' kernels, and by the scores that canonical
correlations find common to the views. Printed: the adjusted Rand index between clusters and digits (1 is a perfect
match, 0 is chance), beside scikit-learn's k-means and spectral clustering. Columns have unit variance, kernels are
Gaussian at half the median distance. The folder of the data is named by the variable MERCER_DATA.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.cluster import SpectralClustering as TheirClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from mercer import KernelCCA, KernelKMeans, SpectralClustering
from mercer.gram import Nystrom
from mercer.kernels import Gaussian, Linear

CLUSTERS = 10


def affinities(X: np.ndarray) -> np.ndarray:
    """Return Gaussian similarities at half the median distance."""
    squares = np.sum(X**2, axis=1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2.0 * X @ X.T, 0.0))
    return np.asarray(Gaussian(0.5 * float(np.median(distances[np.triu_indices(len(X), 1)])))(X))


def methods(X: np.ndarray | None, K: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Return ways to divide samples that are given by columns and by similarities."""
    known: dict[str, Callable[[], Any]] = {
        "kernel k-means": lambda: KernelKMeans("precomputed", CLUSTERS).fit(K),
        "k. k-means, cut": lambda: KernelKMeans("precomputed", CLUSTERS, objective="cut").fit(K),
        "spectral": lambda: SpectralClustering("precomputed", CLUSTERS).fit(K),
        "sklearn spectral": lambda: TheirClustering(CLUSTERS, affinity="precomputed", random_state=0).fit(K),
    }
    if X is not None:
        known["k-means"] = lambda: KernelKMeans(Linear(), CLUSTERS).fit(X)
        known["sklearn k-means"] = lambda: KMeans(CLUSTERS, n_init=10, random_state=0).fit(X)
    return known


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--views", default="fou,kar,zer,pix,fac,mor")
    parser.add_argument("--without-peers", action="store_true", help="leave out scikit-learn")
    given = parser.parse_args()
    stored = np.load(Path(os.environ["MERCER_DATA"]) / "mfeat.npz")
    names, y = given.views.split(","), stored["y"]
    views = {name: StandardScaler().fit_transform(stored[name]) for name in names}
    kernels = {name: affinities(X) for name, X in views.items()}
    cca = KernelCCA(None, 20, tau=0.01, gram=Nystrom(500)).fit([views[name] for name in names])
    shared = np.mean([cca.project(views[name], v) for v, name in enumerate(names)], axis=0)
    tasks: dict[str, tuple[Any, np.ndarray]] = {name: (views[name], kernels[name]) for name in names}
    tasks["mean of kernels"] = None, np.mean(list(kernels.values()), axis=0)
    tasks["shared scores"] = shared, affinities(shared)
    print(f"{'views':18}{'method':20}{'Rand index':>12}{'cut':>9}{'seconds':>10}")
    for name, (X, K) in tasks.items():
        for method, fit in methods(X, K).items():
            if given.without_peers and method.startswith("sklearn"):
                continue
            began = time.perf_counter()
            model = fit()
            seconds = time.perf_counter() - began
            cut = f"{model.cut_:9.3f}" if hasattr(model, "cut_") else 9 * " "
            print(f"{name:18}{method:20}{adjusted_rand_score(y, model.labels_):12.3f}{cut}{seconds:10.2f}", flush=True)


if __name__ == "__main__":
    main()
