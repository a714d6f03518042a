r"""Spectral clustering: the relaxed normalised cut, and k-means on what it embeds the samples in.

Symbols: A affinities, s_i sample weights, d_i = sum_j s_j A_ij, D = diag(d), L = D - A; S the matrix of sqrt(s_i s_j)
A_ij / sqrt(d_i d_j), u a unit vector that is projected out, P = I - u u^T; beta eigenvectors of P S P with eigenvalues
lambda, z = beta / sqrt(s d) the coordinates, b intercepts.
"""

from __future__ import annotations

import functools
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array, Floats, Indices
from mercer.budget import Plan
from mercer.constraints import AnyOf, Integer, Interval, OneOf, Optional, Positive
from mercer.domains import Samples, Similarities, Vectors
from mercer.errors import DomainError, warn_caller
from mercer.estimators.clustering.cuts import checked_degrees, checked_weights, first_met, normalized_cut, tied, times
from mercer.estimators.clustering.embedding_assignments import discretized, pivoted
from mercer.estimators.clustering.lloyd import Cloud, lloyd, seeded_labels
from mercer.estimators.estimator import KernelEstimator, scattered, unwatched
from mercer.estimators.fits import Run, fitting
from mercer.estimators.graph_modes import smooth_modes
from mercer.estimators.neighbours import (
    affinities,
    find_neighbours,
    held_gram,
    neighbours_of,
    pack_or_graph,
)
from mercer.gram import Expansion, Features, Gram, GramSpec
from mercer.kernels import Kernel, Linear, Precomputed
from mercer.kernels.vectors.pointwise import dense
from mercer.numerics.block_krylov import Eigenpairs, leading_eigenpairs
from mercer.numerics.eigen import eigh_in_place
from mercer.problems import Solution, Status
from mercer.runtime.tiling import serial_blas

__all__ = ["SpectralClustering"]
__public__ = __all__

_SMALL = 400  # samples up to which all eigenvectors are found at once
_NOTHING = 1e-10  # eigenvalues so small have no function of their own
_SAME = 1e-7  # of the length of an image: distance of a sample from itself, as it is rounded


class SpectralClustering(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, KernelEstimator):
    r"""Spectral clustering: samples are placed so that similar ones are near each other, then divided by k-means.

    .. math:: \min_Z \; \operatorname{tr}(Z^\top L Z) \quad \text{with} \quad Z^\top D Z = I, \qquad
        z(x) = \frac{1}{\lambda\, d(x)} \Big( \sum_j s_j z_j \, k(x, x_j) + b \Big), \quad d(x) = \sum_j s_j k(x, x_j)

    The first column of the optimal Z is constant and left out; k - 1 coordinates remain. Were the rows of Z allowed to
    take k different values alone, the minimum would be that of the normalised cut. The function z(x) is that of kernel
    principal components with weights 1 / d, so that new samples find their cluster.

    Seed: [KIKS] Section 5.2: the trace form, and the embedding in k - 1 dimensions followed by k-means; [SS] Section
    3.4.2, spectral clustering as weighted kernel PCA.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        The affinity, not negative; it need not be definite; narrow ones follow shapes more closely. None ties each
        sample to its Euclidean neighbours. "precomputed" takes a matrix of affinities, dense or sparse.
    n_clusters : int, default 8
        k.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    n_neighbors : int, None or "auto", default "auto"
        Tie samples by 1/2 if one is among this many nearest of the other under the kernel, and by 1 if each is, in a
        sparse graph without ties to themselves. None ties all pairs by k(x_i, x_j). "auto" is 10 without a kernel, and
        None with one or with a ``gram``.
    assign_labels : {"kmeans", "discretize", "cluster_qr"}, default "kmeans"
        How the embedded samples are divided: by k-means, by the rotation that brings them nearest to indicators, or by
        k samples that a pivoted QR decomposition picks.
    regularization : float, default 0.0
        tau; all affinities are raised by tau times their mean, so that samples which are hardly tied to any make no
        clusters of their own. 0.1 to 1 where there are such.
    form : {"eigenmap", "weighted_pca"}, default "eigenmap"
        What is left out. "eigenmap": the constant, so that b = 0 and (z, lambda) are eigenpairs of D^-1 A.
        "weighted_pca": the LS-SVM's form, with an intercept in the function, which leaves out u = D^-1/2 1; (z, lambda)
        are eigenpairs of D^-1 M A, where M subtracts the mean with weights 1 / d.
    n_init : int, default 10
        Restarts of k-means.
    tol : float, default 1e-6
        Tolerance of the residuals of eigenvectors, over the largest eigenvalue.
    max_iter : int, default 200
        Products with A at most, of blocks of columns.
    gram : GramSpec, optional
        How A is held. None chooses by `Auto`. A matrix given as "precomputed" is not copied.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.
    random_state : int, RandomState or None, default 0

    Attributes
    ----------
    labels_ : (n,) array of int
    embedding_ : (n, k - 1) array
        Z, with sum_i s_i d_i z_ij z_il = 1 if j = l and else 0.
    eigenvalues_ : (k - 1,) array
        lambda, descending. Close to one where clusters hardly touch.
    cut_ : float
        Normalised cut of the labels.
    relaxed_cut_ : float or None
        The minimum of the trace, k - 1 - sum lambda: no partition into k clusters cuts less. None with "weighted_pca".
    cluster_centers_ : (k, k - 1) array
        Means of the clusters in the embedding.
    inertia_ : float
        Inertia of k-means in the embedding.
    n_iter_ : int
        Products taken.
    expansion_ : Expansion or FeatureExpansion
        lambda^-1 (sum_j s_j z_j k(x, x_j) + b), one column each, and d(x); not with neighbours.
    neighbour_sums_ : Expansion
        Its coefficients with neighbours, where sums go over the nearest training samples of x alone, each with 1.
    n_neighbors_ : int or None
    kernel_, gram_ : the objects that None was resolved to

    Notes
    -----
    A sample of weight w counts as w copies, and the order of the samples does not matter; in a graph of neighbours
    equal vectors are one sample. A is held once and scaled as it is multiplied: memory 8 n^2 and some columns for a
    dense A, O(n k) for a graph. A matrix of all pairs counts what samples are tied to themselves, as `KernelKMeans`
    does; a kernel so narrow that this is most of it makes clusters of single samples. `transform` of a training sample
    is its row of the embedding, and a new sample that is similar to nothing is put at the origin. Cost some products of
    A with k + 7 columns. ``KernelKMeans(objective="cut", init=labels_)`` lowers the cut further.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SpectralClustering
    >>> from mercer.kernels import Gaussian
    >>> angle = np.linspace(0.0, 2 * np.pi, 60, endpoint=False)
    >>> ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    >>> model = SpectralClustering(Gaussian(0.3), 2).fit(np.concatenate([ring, 3.0 * ring]))
    >>> np.bincount(model.labels_), model.predict([[0.0, 1.1], [2.9, 0.0]])
    (array([60, 60]), array([1, 0]))
    """

    synonyms = ("normalised cut", "normalized cut")
    constraints = {
        "n_clusters": Integer(1),
        "n_neighbors": AnyOf(OneOf("auto"), Optional(Integer(1))),
        "assign_labels": OneOf("kmeans", "discretize", "cluster_qr"),
        "regularization": Interval(0.0, np.inf, closed="left"),
        "form": OneOf("eigenmap", "weighted_pca"),
        "n_init": Integer(1),
        "tol": Positive(),
        "max_iter": Integer(1),
    }

    def __init__(
        self,
        kernel: Any = None,
        n_clusters: int = 8,
        *,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        n_neighbors: int | str | None = "auto",
        assign_labels: str = "kmeans",
        regularization: float = 0.0,
        form: str = "eigenmap",
        n_init: int = 10,
        tol: float = 1e-6,
        max_iter: int = 200,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.n_clusters = n_clusters
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_neighbors = n_neighbors
        self.assign_labels = assign_labels
        self.regularization = regularization
        self.form = form
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads
        self.random_state = random_state

    def _check_order(self, kernel: Kernel) -> None:
        if kernel.order is not None:  # an affinity need not be definite
            super()._check_order(kernel)

    def _check_definite(self, S: Similarities) -> None:
        S.check_symmetric()

    # fit ---------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SpectralClustering:
        """Embed the samples and divide them.

        Parameters
        ----------
        X : raw data or packed samples
        y : ignored
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        pack = functools.partial(pack_or_graph, self)
        with fitting(self, X, None, sample_weight, pack=pack) as (run, (kernel, graph), packed, S, _, s, used):
            if len(S) < self.n_clusters:
                raise DomainError(
                    f"n_samples={len(S)} was given with n_clusters={self.n_clusters}; each cluster needs a sample. "
                    "Give more samples or ask for fewer clusters."
                )
            chance = check_random_state(self.random_state)
            self.kernel_ = kernel if graph is not None else kernel.learn(S, None, s)
            A, copies = self._tie(graph, S, used, run)
            if copies is not None:
                S = S.take(np.unique(copies, return_index=True)[1])
                s = np.asarray(np.bincount(copies, s), dtype=float)
            with run.stage("eigenvectors", 0.9):
                if isinstance(A, Gram):
                    A, s, degrees, used = tied(A, checked_weights(s), used, self.n_clusters)
                else:
                    degrees = checked_degrees(np.asarray(A @ checked_weights(s)))
                Z = self._embed(A, S, s, degrees, chance, run)
            with run.stage("k-means", 0.98), serial_blas():
                labels = self._divide(Z, s, np.sqrt(s * degrees), chance)
            self.cut_ = normalized_cut(A, labels, s)
            if copies is not None:
                Z, labels = Z[copies], labels[copies]
            self._place(Z, labels, packed if graph is None else graph, used)
        return self

    def _tie(self, graph: Any, S: Any, used: Any, run: Run) -> tuple[Any, Any]:
        """Return the affinities, a sparse graph or a Gram, and which samples are copies of which, if any are."""
        for name in ("expansion_", "neighbour_sums_"):  # of a fit before, with other parameters
            vars(self).pop(name, None)
        self.n_neighbors_ = self._neighbours()
        if graph is not None:
            self.n_neighbors_ = None
            return (graph if len(used) == graph.shape[0] else sp.csr_array(graph[used][:, used])), None
        if self.n_neighbors_ is None:
            A = held_gram(self, self.kernel_, S, run, 0.4)
            unwatched(A)
            return A, None
        copies = _copies(S)
        distinct = S if copies is None else S.take(np.unique(copies, return_index=True)[1])
        if len(distinct) < 2:
            return sp.csr_array(np.ones((1, 1))), copies
        with run.stage("neighbours", 0.4):
            near = find_neighbours(self.kernel_, distinct, int(self.n_neighbors_), run.resources())
        return affinities(near, "half"), copies

    def _embed(self, A: Any, S: Any, s: Floats, d: Floats, chance: Any, run: Run) -> Floats:
        """Return the coordinates of the samples; keep the function that gives them."""
        k, eigenmap = self.n_clusters, self.form == "eigenmap"
        self._raise = self.regularization * float(s @ d) / float(s.sum()) ** 2  # added to each affinity
        d += self._raise * float(s.sum())
        root = np.sqrt(s / d)
        u = np.sqrt(s * d) if eigenmap else root
        if sp.issparse(A) and eigenmap and len(s) > _SMALL and k > 1 and not self._raise:
            pairs = self._smooth_pairs(A, s, d, run)
        else:
            pairs = self._eigenpairs(A, root, u / np.linalg.norm(u), chance, run)
        values, vectors = np.zeros(k - 1), np.zeros((len(s), k - 1))
        values[: len(pairs.values)], vectors[:, : len(pairs.values)] = (
            pairs.values,
            pairs.vectors,
        )  # of few samples fewer
        own = np.abs(values) > _NOTHING
        Z = np.where(own, vectors / np.sqrt(s * d)[:, None], 0.0)
        Z *= _signs(Z, s * d)
        self.n_iter_, self.eigenvalues_ = pairs.iterations, values
        self.relaxed_cut_ = float(k - 1 - values.sum()) if eigenmap and not self._raise else None
        inverse = np.divide(1.0, values, out=np.zeros_like(values), where=own)
        coef = s[:, None] * Z
        share = s / d
        raised = self._raise * coef.sum(axis=0)
        b = np.zeros(k - 1) if eigenmap or k == 1 else -(share @ (np.asarray(A @ coef) + raised)) / share.sum()
        columns = np.column_stack([coef * inverse, s])
        intercept = np.append((b + raised) * inverse, self._raise * float(s.sum()))
        if isinstance(A, Gram):
            self.expansion_ = A.expand(Solution(columns, Status.CONVERGED, 0.0), intercept)
            return Z
        sums = Expansion(self.kernel_, self.kernel_.prepare(S).landmarks(), columns, intercept)
        if self.n_neighbors_ is None:
            self.expansion_ = sums
        else:
            self.neighbour_sums_ = sums
        return Z

    def _smooth_pairs(self, A: Any, s: Floats, d: Floats, run: Run) -> Eigenpairs:
        """Find the k - 1 smoothest functions on a large sparse graph."""
        monitor = run.solver_monitor(self.tol) if run.watched else None
        options: Any = {"tol": self.tol, "max_iter": self.max_iter, "monitor": monitor, "deadline": run.deadline}
        found = smooth_modes(sp.csr_array(A * s[:, None] * s), self.n_clusters - 1, **options)
        if not found.converged:
            warn_caller(
                f"The eigenvectors of SpectralClustering stopped at residual {found.residual:.3g}. "
                f"{Status.MAX_ITER.value}",
                ConvergenceWarning,
            )
        vectors = found.vectors * np.sqrt(s * d)[:, None]
        return Eigenpairs(1.0 - found.values, vectors, np.zeros(len(found.values)), found.iterations, True)

    def _eigenpairs(self, A: Any, root: Floats, u: Floats, chance: Any, run: Run) -> Eigenpairs:
        """Find the k - 1 largest eigenvalues of P S P, and their vectors."""
        n, rank = len(root), self.n_clusters - 1
        if rank == 0:
            return Eigenpairs(np.zeros(0), np.zeros((n, 0)), np.zeros(0), 0, True)

        def product(V: Floats) -> Floats:
            along = np.outer(u, u @ V)
            inner = root[:, None] * (V - along)
            scaled = root[:, None] * (np.asarray(times(A, inner, self.n_threads)) + self._raise * inner.sum(axis=0))
            return scaled - np.outer(u, u @ scaled) - along  # u itself gets the eigenvalue -1 and is never among them

        if n <= _SMALL:
            B = product(np.eye(n))
            B = 0.5 * (B + B.T)
            with serial_blas():
                values = eigh_in_place(B)
            return Eigenpairs(values[::-1][:rank].copy(), B[::-1][:rank].T.copy(), np.zeros(rank), 1, True)
        monitor = run.solver_monitor(self.tol) if run.watched else None
        seed = int(chance.randint(2**31 - 1))
        with serial_blas():  # products have threads of their own, and what is between them is small
            pairs = leading_eigenpairs(
                product, n, rank, tol=self.tol, max_iter=self.max_iter, random_state=seed, monitor=monitor
            )
        if not pairs.converged:
            worst = float(pairs.residuals.max() / max(abs(pairs.values[0]), np.finfo(float).tiny))
            status = Status.TIME if run.clock.expired else Status.STOPPED if run.asked_to_stop else Status.MAX_ITER
            warn_caller(
                f"The eigenvectors of SpectralClustering stopped at residual {worst:.3g}. {status.value}",
                ConvergenceWarning,
            )
        return pairs

    def _divide(self, Z: Floats, s: Floats, roots: Floats, chance: Any) -> Array:
        """Divide the embedded samples by k-means; keep the centres."""
        k = self.n_clusters
        if k == 1:
            self.cluster_centers_, self.inertia_ = np.zeros((1, 0)), 0.0
            return np.zeros(len(Z), dtype=np.intp)
        gram = Features().build(Linear(), Vectors.pack(Z))
        cloud = Cloud(gram, s, gram @ s)
        labels = self._assigned(Z, cloud, roots, chance)
        held = int(np.sum(np.bincount(labels, s, k) > 0.0))
        if held < k:
            warn_caller(
                f"SpectralClustering found {held} distinct clusters, fewer than "
                f"n_clusters={k}: there are not more different samples. Ask for fewer clusters.",
                ConvergenceWarning,
            )
        labels = first_met(labels, cloud.order, k)[labels]
        member = (labels[:, None] == np.arange(k)) * s[:, None]
        masses = member.sum(axis=0)
        self.cluster_centers_ = np.full((k, Z.shape[1]), np.inf)
        self.cluster_centers_[masses > 0.0] = (member.T @ Z)[masses > 0.0] / masses[masses > 0.0, None]
        self.inertia_ = float(s @ np.sum((Z - self.cluster_centers_[labels]) ** 2, axis=1))
        return labels

    def _assigned(self, Z: Floats, cloud: Cloud, roots: Floats, chance: Any) -> Array:
        """Return the clusters of embedded samples, numbered in any order."""
        k = self.n_clusters
        if self.assign_labels == "kmeans":
            starts = [seeded_labels(cloud, k, chance)[1] for _ in range(self.n_init)]
            return lloyd(cloud, starts, k, 300, threads=self.n_threads).labels
        if self.assign_labels == "cluster_qr":  # orthonormal vectors, in which samples that are hardly tied lie near 0
            return pivoted(np.column_stack([np.full(len(Z), 1.0 / np.linalg.norm(roots)), Z]) * roots[:, None])
        size = np.sqrt(np.mean(Z**2)) or 1.0
        V = np.column_stack([np.full(len(Z), size), Z])  # with the constant, which has the same length
        return discretized(V, chance, self.n_init)

    def _place(self, Z: Floats, labels: Array, packed: Any, used: Any) -> None:
        """Keep coordinates and labels of all samples; of those of weight zero they are predicted."""
        n = packed.shape[0] if sp.issparse(packed) else len(packed)
        self.embedding_, self.labels_ = scattered(Z, used, n), np.zeros(n, dtype=np.int64)
        self.labels_[used] = labels
        if len(used) < n:
            rest = np.setdiff1d(np.arange(n), used)
            self.embedding_[rest] = self._placed(packed[rest] if sp.issparse(packed) else packed.take(rest))
            self.labels_[rest] = self._nearest(self.embedding_[rest])

    # use ---------------------------------------------------------------------------------------------

    def _coordinates(self, values: Floats) -> Floats:
        degrees = values[:, -1:]
        return np.divide(values[:, :-1], degrees, out=np.zeros((len(values), values.shape[1] - 1)), where=degrees > 0.0)

    def _nearest(self, Z: Floats) -> Array:
        held = np.all(np.isfinite(self.cluster_centers_), axis=1)
        centres = np.where(held[:, None], self.cluster_centers_, 0.0)
        scores = 2.0 * Z @ centres.T - np.einsum("tj,tj->t", centres, centres)
        return np.argmax(np.where(held, scores, -np.inf), axis=1).astype(np.int64)

    def transform(self, X: Any) -> Floats:
        """Return the coordinates of new data, shape (m, k - 1).

        Parameters
        ----------
        X : raw data or packed samples
        """
        check_is_fitted(self)
        if sp.issparse(X) and isinstance(self.kernel_, Precomputed):
            return self._placed(sp.csr_array(X))
        return self._placed(self._pack_new(X))

    def _placed(self, T: Any) -> Floats:
        """Return the coordinates of packed samples, or of rows of sparse affinities with the training samples."""
        f: Any = self.expansion_ if self.n_neighbors_ is None else self.neighbour_sums_
        if sp.issparse(T):
            width = f.samples.width
            if T.shape[1] != width:
                raise DomainError(
                    f"affinities of shape {T.shape} were given; there are {width} training samples, one "
                    "column each is accepted. Give the affinities of new samples with all of them."
                )
            return self._coordinates(np.asarray(T[:, f.samples.position] @ f.coef) + f.intercept)
        if self.n_neighbors_ is None:
            return self._coordinates(f(T, self._resources()))
        near = neighbours_of(self.kernel_, T, f.samples, int(self.n_neighbors_), self._resources())
        found = self._coordinates(f.coef[near.index].sum(axis=1) + f.intercept)
        known = near.distances[:, 0] <= _SAME * np.sqrt(np.maximum(self.kernel_.diag(self.kernel_.prepare(T)), 1e-300))
        own = f.coef[near.index[known, 0]]
        found[known] = own[:, :-1] / own[:, -1:] * self.eigenvalues_
        return found

    def predict(self, X: Any) -> Array:
        """Return the cluster of new data, shape (m,): the one whose mean is nearest in the embedding.

        Parameters
        ----------
        X : raw data or packed samples
        """
        return self._nearest(self.transform(X))

    @property
    def _n_features_out(self) -> int:
        check_is_fitted(self)
        return self.n_clusters - 1

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        vectors = {"eigenvectors": 96 * n_samples * (self.n_clusters + 8)}
        count = self._neighbours()
        if count is not None:
            own = {"packed samples": 8 * n_samples * n_features, "graph and its factorisation": 288 * n_samples * count}
            return Plan(f"SpectralClustering on {n_samples} samples", {**own, **vectors}, ("fewer n_neighbors",))
        plan = super().memory_plan(n_samples, n_features, n_targets)
        return Plan(plan.what, {**plan.buffers, **vectors}, plan.options)

    def _neighbours(self) -> int | None:
        """Return the number of neighbours that is meant."""
        if self.n_neighbors == "auto":
            return 10 if self.kernel is None and self.gram is None else None
        return None if self.n_neighbors is None else int(self.n_neighbors)


def _copies(S: Samples) -> Indices | None:
    """Return for each vector which of the different ones it is, in an order of their own; None of other samples."""
    if not isinstance(S, Vectors):
        return None
    if not S.is_sparse:
        return np.unique(dense(S), axis=0, return_inverse=True)[1].ravel()
    X: Any = sp.csr_array(S.X, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    keys = [X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in pairwise(X.indptr)]
    place = {key: at for at, key in enumerate(sorted(set(keys)))}
    return np.array([place[key] for key in keys], dtype=np.intp)


def _signs(Z: Floats, weight: Floats) -> Floats:
    """Signs that make the third moment of each coordinate positive: they do not depend on the order of the samples."""
    skew = weight @ Z**3
    plain = Z[np.argmax(np.abs(Z), axis=0), np.arange(Z.shape[1])] if Z.shape[1] else np.zeros(0)
    size = weight @ np.abs(Z) ** 3
    return np.where(np.where(np.abs(skew) > 1e-8 * size, skew, plain) < 0.0, -1.0, 1.0)
