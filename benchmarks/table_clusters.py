"""Clusters of tables with known classes: `python -m benchmarks.table_clusters`.

`SpectralClustering` as it comes, beside scikit-learn's as it comes (the Gaussian of width 1/sqrt 2) and on neighbours,
with as many clusters as there are classes. Printed: the normalised mutual information of clusters and classes, 1 for a
perfect match and 0 for none. Columns have unit variance, or are as they are with --raw. The folder of the data is named
by the variable MERCER_DATA; without it only tables that come with scikit-learn are looked at.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.cluster import SpectralClustering as TheirClustering
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler

from mercer import SpectralClustering

TABLES = ("segment", "vehicle", "ionosphere", "sonar", "banana", "pima", "heart", "twonorm", "letter", "phoneme")
Table = tuple[np.ndarray, np.ndarray]


def tables() -> dict[str, Table]:
    """Return samples and classes by name."""
    found: dict[str, Table] = {}
    for name in ("iris", "wine", "breast_cancer", "digits"):
        bunch = getattr(datasets, f"load_{name}")()
        found[name] = bunch.data, bunch.target
    if folder := os.environ.get("MERCER_DATA"):
        for name in TABLES:
            frame = pd.read_csv(Path(folder) / f"{name}.csv.gz")
            columns = frame.iloc[:, :-1].select_dtypes("number").to_numpy(float)
            found[name] = columns, pd.factorize(frame.iloc[:, -1])[0]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000, help="samples at most, drawn at random")
    parser.add_argument("--raw", action="store_true", help="columns as they are")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    methods = {
        "mercer": lambda k: SpectralClustering(n_clusters=k),
        "discretize": lambda k: SpectralClustering(n_clusters=k, assign_labels="discretize"),
        "cluster_qr": lambda k: SpectralClustering(n_clusters=k, assign_labels="cluster_qr"),
        "sklearn": lambda k: TheirClustering(k, random_state=0),
        "sklearn, neighbours": lambda k: TheirClustering(k, affinity="nearest_neighbors", random_state=0),
    }
    print(f"| table | n | classes | {' | '.join(methods)} |\n|{'---|' * (3 + len(methods))}")
    scores = []
    for name, (X, y) in tables().items():
        kept = np.flatnonzero(np.isfinite(X).all(axis=1))
        kept = np.random.default_rng(0).permutation(kept)[: given.rows]
        X, y = X[kept], y[kept]
        X = X if given.raw else StandardScaler().fit_transform(X)
        k = len(np.unique(y))
        row = [normalized_mutual_info_score(y, make(k).fit(X).labels_) for make in methods.values()]
        scores.append(row)
        print(f"| {name} | {len(X)} | {k} | {' | '.join(f'{value:.3f}' for value in row)} |", flush=True)
    print(f"| mean | | | {' | '.join(f'{value:.3f}' for value in np.mean(scores, axis=0))} |")


if __name__ == "__main__":
    main()
