"""Rows of boosting and of label propagation: column generation on linear programs solved anew, and LabelSpreading.

The peer of linear programming boosting is the algorithm of the text books on `scipy.optimize.linprog`: one stump per
round, found by the same compiled pass, the restricted dual solved from scratch each time, to the same gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

from benchmarks.row import Peer, Row, Timing, times_faster
from mercer import LabelPropagation, LPBoostClassifier
from mercer.numerics.laplacians import laplacian
from mercer.solvers.columns.stump_search import best_cuts, sort_columns

NU, GAP = 0.5, 1e-3


@dataclass(frozen=True)
class Sides:
    """Standard normal rows in two classes, by a noisy sum of functions of three columns."""

    n: int
    d: int

    def make(self) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(self.n, self.d))
        f = X[:, 0] + 0.5 * X[:, 1] + np.sin(2.0 * X[:, 2]) + 0.5 * rng.normal(size=self.n)
        return X, np.where(f > 0.0, 1.0, -1.0)

    def __str__(self) -> str:
        return f"n = {self.n}, d = {self.d}, stumps, nu = {NU}, gap {GAP:g}"


def boosted(data: Any) -> Any:
    return LPBoostClassifier(nu=NU, tol=GAP, max_iter=10_000).fit(*data).objective_


def anew(data: Any) -> Any:
    """Column generation with `linprog`: the dual of the stumps so far, from scratch in each round."""
    X, y = data
    n, columns = len(y), sort_columns(X)
    u, beta, bound, rows = np.full(n, 1.0 / n), -np.inf, np.inf, []
    while True:
        cuts = best_cuts(columns, u * y)
        j = int(np.argmax(cuts.edges))
        bound = min(bound, float(cuts.edges[j]))
        if bound - beta <= GAP:
            return np.array([beta])
        h = np.full(n, cuts.signs[j])
        h[columns.order[j, : cuts.places[j]]] *= -1.0
        rows.append(np.append(y * h, -1.0))
        found = linprog(
            np.append(np.zeros(n), 1.0),
            A_ub=np.array(rows),
            b_ub=np.zeros(len(rows)),
            A_eq=np.append(np.ones(n), 0.0)[None],
            b_eq=[1.0],
            bounds=[(0.0, 1.0 / (NU * n))] * n + [(None, None)],
        )
        u, beta = np.maximum(found.x[:n], 0.0), float(found.x[n])
        u /= u.sum()


@dataclass(frozen=True)
class Spread:
    """A random graph, a twentieth of its nodes with a label: in communities, four of five edges inside, or on a ring.

    The ring is kind to products with a dense table row by row, as SciPy's are: three neighbours follow one another.
    """

    nodes: int
    edges: int
    ring: bool = False
    classes: int = 10

    def make(self) -> tuple[Any, np.ndarray, np.ndarray]:
        rng = np.random.default_rng(0)
        every, group = np.arange(self.nodes), rng.integers(0, self.classes, size=self.nodes)
        i, j = rng.integers(0, self.nodes, size=(2, self.edges))
        if self.ring:
            i, j = np.append(i, every), np.append(j, (every + 1) % self.nodes)
        else:
            order = np.argsort(group, kind="stable")
            first = np.searchsorted(group[order], np.arange(self.classes + 1))
            size = np.diff(first)[group[i]]
            inside = order[first[group[i]] + (rng.random(self.edges) * size).astype(int)]
            j = np.where(rng.random(self.edges) < 0.8, inside, j)
        apart = i != j
        W = sp.csr_array((np.ones(apart.sum()), (i[apart], j[apart])), shape=(self.nodes, self.nodes))
        W = sp.csr_array(W + W.T)
        W.data[:] = 1.0
        y = np.full(self.nodes, -1)
        known = rng.permutation(self.nodes)[: self.nodes // 20]
        y[known] = group[known]
        return W, every, y

    def __str__(self) -> str:
        kind = "ring" if self.ring else "communities"
        return f"{self.nodes} nodes, {self.edges} edges, {self.classes} classes, {kind}"


def spread(alpha: float) -> Any:
    return lambda data: LabelPropagation(graph=data[0], alpha=alpha, tol=1e-6).fit(*data[1:]).label_distributions_


def theirs(alpha: float) -> Any:
    def call(data: Any) -> Any:
        W, nodes, y = data
        model = LabelSpreading(kernel=lambda a, b=None: sp.csr_matrix(W), alpha=alpha, tol=1e-6, max_iter=10_000)
        return model.fit(nodes[:, None], y).label_distributions_

    return call


@dataclass(frozen=True)
class SeveralNetworks:
    """Random networks on the same nodes in two groups, most of them without any relation to these."""

    nodes: int
    networks: int

    def make(self) -> tuple[list[Any], np.ndarray, np.ndarray]:
        rng = np.random.default_rng(0)
        side = rng.integers(0, 2, size=self.nodes)
        graphs = []
        for k in range(self.networks):
            i, j = rng.integers(0, self.nodes, size=(2, 10 * self.nodes))
            keep = (i != j) & ((side[i] == side[j]) | (rng.random(len(i)) < (0.2 if k < 2 else 1.0)))
            W = sp.csr_array((np.ones(keep.sum()), (i[keep], j[keep])), shape=(self.nodes, self.nodes))
            graphs.append(sp.csr_array(W + W.T))
        return graphs, np.where(rng.random(self.nodes) < 0.5, side, -1), side

    def __str__(self) -> str:
        return f"{self.networks} networks of {self.nodes} nodes, half of them labelled"


def several(data: Any) -> Any:
    graphs, y, _ = data
    return LabelPropagation(graph=graphs, alpha=0.9).fit(np.arange(len(y)), y).transduction_


def by_kernels(data: Any) -> Any:
    """Multiple kernel learning by semi-infinite linear programs on dense kernels of the graphs, to a gap of 1e-3."""
    graphs, y, _ = data
    known = np.flatnonzero(y >= 0)
    kernels = [np.linalg.inv(np.eye(len(y)) + laplacian(W, normalized=True).toarray()) for W in graphs]
    kernels = [K / np.sqrt(np.outer(np.diag(K), np.diag(K))) for K in kernels]
    beta, theta, rows = np.full(len(kernels), 1.0 / len(kernels)), -np.inf, []
    while True:
        K = sum(b * K for b, K in zip(beta, kernels, strict=True))
        machine = SVC(kernel="precomputed", C=1.0).fit(K[np.ix_(known, known)], y[known])
        a, who = machine.dual_coef_[0], known[machine.support_]
        values = np.array([0.5 * a @ K[np.ix_(who, who)] @ a - np.abs(a).sum() for K in kernels])
        if abs(1.0 - (beta @ values) / theta) <= 1e-3:
            return machine.predict(K[:, known])
        rows.append(np.append(-values, 1.0))
        cost = np.append(np.zeros(len(kernels)), -1.0)
        found = linprog(
            cost,
            A_ub=np.array(rows),
            b_ub=np.zeros(len(rows)),
            A_eq=np.append(np.ones(len(kernels)), 0.0)[None],
            b_eq=[1.0],
            bounds=[(0.0, 1.0)] * len(kernels) + [(None, None)],
        )
        beta, theta = np.maximum(found.x[:-1], 0.0), float(found.x[-1])


ROWS: tuple[Row, ...] = (
    Timing(
        "networks",
        "several networks",
        SeveralNetworks(2000, 5),
        SeveralNetworks(200, 5),
        ours=several,
        peers=(Peer("SILP on dense kernels, SVC", by_kernels, times_faster(20.0), same=False),),
        fewest=1,
    ),
    Timing(
        "lpboost",
        "LP boosting of stumps",
        Sides(10_000, 50),
        Sides(300, 10),
        ours=boosted,
        peers=(Peer("column generation on linprog", anew, times_faster(5.0), agrees=2 * GAP),),
        fewest=1,
    ),
    *(
        Timing(
            f"propagation_{alpha}{'_ring' if ring else ''}",
            f"label propagation, alpha = {alpha}",
            Spread(100_000, 1_000_000, ring),
            Spread(2_000, 20_000, ring),
            ours=spread(alpha),
            peers=(Peer("sklearn LabelSpreading", theirs(alpha), times_faster(2.0), agrees=1e-6),),
            seconds=3.0,
        )
        for alpha in (0.2, 0.99)
        for ring in (False, True)
    ),
)
