r"""Kernel k-means: clusters about centres in feature space.

Symbols: C_t the clusters, mu_t their centres, s_i sample weights, W_t the weight of a cluster; for normalised cuts A
affinities with degrees d_i = sum_j s_j A_ij.
"""

from __future__ import annotations

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
from mercer.constraints import AnyOf, InstanceOf, Integer, Interval, OneOf, Optional
from mercer.domains import Samples, Similarities
from mercer.domains.vectors import require_sound
from mercer.errors import CapabilityError, DomainError, ParameterError, warn_caller
from mercer.estimators.clustering.cuts import checked_degrees, checked_weights, first_met, tied
from mercer.estimators.clustering.lloyd import Cloud, Partition, lloyd, random_labels, restarts_at_once, seeded_labels
from mercer.estimators.clustering.mini_batches import mini_batches
from mercer.estimators.estimator import KernelEstimator, sample_weights, unwatched
from mercer.estimators.fits import Run, fitting
from mercer.estimators.neighbours import held_gram
from mercer.gram import Gram, GramSpec, HasFactor
from mercer.kernels import Kernel, Precomputed
from mercer.kernels.kernel import overflow_error
from mercer.problems import Solution, Status
from mercer.spec import derived

__all__ = ["KernelKMeans"]
__public__ = __all__

_ROUNDING = 64  # of the unit of rounding: squared distances below this, over the squares they are made of, are zero


class KernelKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, KernelEstimator):
    r"""Kernel k-means: each sample belongs to the cluster whose mean in feature space is nearest.

    .. math:: \min_{C_1, \dots, C_k} \sum_t \sum_{i \in C_t} s_i \|\phi(x_i) - \mu_t\|^2, \qquad
        \hat t(x) = \arg\max_t \; \frac{2}{W_t} \sum_{j \in C_t} s_j k(x, x_j)
        - \frac{1}{W_t^2} \sum_{j, l \in C_t} s_j s_l k(x_j, x_l)

    With ``objective="cut"`` the kernel's values are affinities A, and what is minimised is the normalised cut,
    which is the same sum for the images phi(x_i) / d_i with weights s_i d_i: ``inertia_`` + k - sum_i s_i A_ii / d_i.

    Seed: [KIKS] Section 5.2, whose printed rule lacks a factor: it reads sum k - (2 / |C|) sum sum k, where expanding
    the squared distance gives the rule above.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples; a scikit-learn name means what it
        means there. Conditionally positive definite kernels of order 1 are accepted for the variance: distances
        do not see the constant. For the cut the values should not be negative.
    n_clusters : int, default 8
        k.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    objective : {"variance", "cut"}, default "variance"
        The sum of squared distances, or the normalised cut.
    init : {"k-means++", "random"} or (n,) array of int, default "k-means++"
        The first partition: by seeds far from each other in feature space, at random, or labels from 0 to k - 1, as
        those of a `SpectralClustering` that is to be refined.
    n_init : int, default 10
        Restarts, of which the best is kept; they share their products with K. Labels that are given are one start.
    max_iter : int, default 300
        Assignments at most; epochs in mini-batches.
    shift : float, default 0.0
        Added to the diagonal of K (over d_i, for the cut). It changes the sum for all partitions alike, makes an
        indefinite K definite, so that every step leads downhill, and holds samples where they are.
    batch_size : int, optional
        Mini-batches of this many samples, in the coordinates of a Gram that has a factor, such as ``Nystrom(500)``.
    gram : GramSpec, optional
        How K is held. None chooses by `Auto`: by features where there are few (then it is the algorithm of Lloyd), else
        dense if it fits, else in tiles, which never form K. A matrix given as "precomputed" is not copied;
        a sparse one is made dense.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`. When time runs out, the best partition so far is kept.
    random_state : int, RandomState or None, default 0

    Attributes
    ----------
    labels_ : (n,) array of int
        Clusters of the training samples; those of weight zero are where `predict` puts them.
    inertia_ : float
        The minimum found: squared distances to the centres as the Gram has them, without the shift.
    cut_ : float
        The normalised cut of the labels, only with ``objective="cut"``.
    n_iter_ : int
        Assignments until nothing moved.
    expansion_ : Expansion or FeatureExpansion
        The centres as functions, sum over C_t of s_j k(x, x_j) / W_t, one column each.
    cluster_weights_, center_norms_ : (k,) arrays
        W_t (with degrees, for the cut), and squared lengths of the centres.
    kernel_, gram_ : the objects that None was resolved to

    Notes
    -----
    A sample of weight w counts as w copies, and the order of the samples does not matter: seeds are drawn in an order
    that depends on distances alone (not so in mini-batches). Clusters are numbered in that order. Every step of a
    positive definite K lowers the sum, until nothing moves; a cluster that becomes empty gets the sample that is
    farthest from its centre. A step costs one product of K with k columns per restart, and less once few samples move.
    `predict` evaluates k at all training samples (at the landmarks for Nystrom, in k d operations by features).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelKMeans
    >>> from mercer.kernels import Gaussian
    >>> angle = np.linspace(0.0, 2 * np.pi, 40, endpoint=False)
    >>> ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    >>> X = np.concatenate([0.1 * ring, 3.0 * ring])  # a spot in a ring
    >>> model = KernelKMeans(Gaussian(1.0), 2, objective="cut", init="random").fit(X)
    >>> np.bincount(model.labels_), model.predict([[0.0, 0.2], [3.1, 0.0]])
    (array([40, 40]), array([0, 1]))
    """

    synonyms = ("k-means in feature space", "vector quantisation")
    constraints = {
        "n_clusters": Integer(1),
        "objective": OneOf("variance", "cut"),
        "init": AnyOf(OneOf("k-means++", "random"), InstanceOf(np.ndarray, list, tuple)),
        "n_init": Integer(1),
        "max_iter": Integer(1),
        "shift": Interval(0.0, np.inf, "left"),
        "batch_size": Optional(Integer(1)),
    }

    def __init__(
        self,
        kernel: Any = None,
        n_clusters: int = 8,
        *,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        objective: str = "variance",
        init: Any = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        shift: float = 0.0,
        batch_size: int | None = None,
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
        self.objective = objective
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.shift = shift
        self.batch_size = batch_size
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads
        self.random_state = random_state

    # entry points ------------------------------------------------------------------------------------

    @derived
    def highest_order(self) -> int:
        """Distances do not see constants, affinities do."""
        return 0 if self.objective == "cut" else 1

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.batch_size is not None and (self.objective == "cut" or self.shift or not isinstance(self.init, str)):
            raise ParameterError(
                f"batch_size={self.batch_size} was given with objective={self.objective!r}, shift={self.shift!r}, "
                f"init={'labels' if not isinstance(self.init, str) else self.init!r}; mini-batches know the variance "
                "alone, without a shift, from seeds. Leave out one or the other."
            )

    def _pack(self, X: Any) -> tuple[Samples, Kernel]:
        return super()._pack(self._filled(X))

    def _pack_new(self, X: Any) -> Samples:
        return super()._pack_new(self._filled(X))

    def _filled(self, X: Any) -> Any:
        """Return sparse similarities as an array, if there is room: distances to means need all of them."""
        if not sp.issparse(X) or not (
            isinstance(self.kernel, Precomputed) or (isinstance(self.kernel, str) and self.kernel == "precomputed")
        ):
            return X
        require_sound(X)
        options = ("a sparse matrix with SpectralClustering", "fewer samples")
        what = f"KernelKMeans on sparse similarities of shape {X.shape}"
        Plan(what, {"similarities": 8 * X.shape[0] * X.shape[1]}, options).require(self.memory)
        return X.toarray()

    def _check_order(self, kernel: Kernel) -> None:
        if kernel.order is None and (self.objective == "cut" or self.shift):
            return  # adjacency matrices are not definite; a step uphill ends the run with a warning
        super()._check_order(kernel)

    def _check_definite(self, S: Similarities) -> None:
        if self.objective == "cut" or self.shift:
            S.check_symmetric()
        else:
            super()._check_definite(S)

    # fit ---------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelKMeans:
        """Find the clusters.

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
        with fitting(self, X, None, sample_weight) as (run, kernel, packed, S, _, s, used):
            start = self._start(len(packed))[used]
            if len(S) < self.n_clusters:
                raise DomainError(
                    f"n_samples={len(S)} was given with n_clusters={self.n_clusters}; each cluster needs a sample. "
                    "Give more samples or ask for fewer clusters."
                )
            self.kernel_ = kernel.learn(S, None, s)
            K = held_gram(self, self.kernel_, S, run, 0.3)
            unwatched(K)
            s, fit = checked_weights(s), self._fit_whole if self.batch_size is None else self._fit_batches
            if self.objective == "cut":
                before = used
                K, s, _, used = tied(K, s, used, self.n_clusters)
                start = start[np.isin(before, used)]
            with run.stage("clusters", 0.95):
                labels = fit(K, s, start, run)
            self._place(labels, packed, used)
        return self

    def _start(self, n: int) -> Indices:
        """Labels that are given as the start, or zeros."""
        if isinstance(self.init, str):
            return np.zeros(n, dtype=np.intp)
        given = np.asarray(self.init)
        if given.shape != (n,) or given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= self.n_clusters:
            raise ParameterError(
                f"init was given as an array of shape {given.shape} and type {given.dtype} for {n} samples; one label "
                f"from 0 to {self.n_clusters - 1} per sample is accepted. Give labels, not centres, or 'k-means++'."
            )
        return given.astype(np.intp)

    def _fit_whole(self, K: Gram, s: Floats, start: Indices, run: Run) -> Indices:
        """Run Lloyd's algorithm with all samples; keep what it found."""
        k, cut, chance = self.n_clusters, self.objective == "cut", check_random_state(self.random_state)
        sums = K @ s
        if not np.isfinite(sums).all():
            raise overflow_error(self.kernel_)
        cloud = Cloud(K, s, checked_degrees(sums) if cut else sums, cut, self.shift)
        if not isinstance(self.init, str):
            starts = [start]
        elif self.init == "random":
            starts = [random_labels(cloud, k, chance) for _ in range(self.n_init)]
        else:
            # images over their degrees are long where samples are few: seeds are sought among the plain ones
            plain = Cloud(K, s, sums) if cut else cloud
            starts = [seeded_labels(plain, k, chance)[1] for _ in range(self.n_init)]
        found = lloyd(cloud, starts, k, self.max_iter, _Monitor(run) if run.watched else None, self.n_threads)
        self._warn(found)
        if isinstance(self.init, str):
            found = _renumbered(found, first_met(found.labels, cloud.order, k))
        self.inertia_, self.n_iter_ = float(max(found.inertia, 0.0)), found.n_iter
        held = np.maximum(found.masses, np.finfo(float).tiny)
        self.cluster_weights_, self.center_norms_ = found.masses, found.links / held**2
        self.center_norms_[found.masses == 0.0] = np.inf
        if cut:
            self.cut_ = float(np.sum(found.masses > 0.0) - np.sum(found.links / held))
        coef = (found.labels[:, None] == np.arange(k)) * (s[:, None] / held)
        self.expansion_ = K.expand(Solution(coef, found.status, 0.0))
        return found.labels

    def _fit_batches(self, K: Gram, s: Floats, start: Indices, run: Run) -> Indices:
        """Run mini-batches in the coordinates of a factor; keep what they found."""
        if not isinstance(K, HasFactor):
            raise CapabilityError(
                f"batch_size={self.batch_size} was given with gram={self.gram_!r}, which has no factor; mini-batches "
                "need coordinates. Use gram=Nystrom(500), or batch_size=None."
            )
        assert self.batch_size is not None
        found = mini_batches(
            K, s, self.n_clusters, self.batch_size, self.n_init, self.max_iter, check_random_state(self.random_state),
            far=self.init == "k-means++", monitor=_Monitor(run) if run.watched else None,
        )  # fmt: skip
        self.inertia_, self.n_iter_, self.cluster_weights_ = found.inertia, found.n_iter, found.masses
        self.center_norms_ = np.einsum("tj,tj->t", found.centres, found.centres)
        coef = np.zeros((len(s), self.n_clusters))
        self.expansion_ = K.expand(Solution(coef, found.status, 0.0, weights=np.ascontiguousarray(found.centres.T)))
        if found.status in (Status.TIME, Status.STOPPED):
            warn_caller(f"KernelKMeans ended after {found.n_iter} epochs. {found.status.value}", ConvergenceWarning)
        return found.labels

    def _warn(self, found: Partition) -> None:
        empty = int(np.sum(found.masses == 0.0))
        if empty:
            warn_caller(
                f"KernelKMeans found {self.n_clusters - empty} distinct clusters, fewer than "
                f"n_clusters={self.n_clusters}: there are not more different samples. Ask for fewer clusters.",
                ConvergenceWarning,
            )
        if found.status is Status.STALLED:
            warn_caller(
                "KernelKMeans stopped where a step led uphill, which an indefinite K does; the partition before that "
                "step is kept. Use a positive definite kernel or a larger shift.",
                ConvergenceWarning,
            )
        elif found.status is not Status.CONVERGED:
            warn_caller(
                f"KernelKMeans stopped after {found.n_iter} assignments while samples still moved. "
                f"{found.status.value}",
                ConvergenceWarning,
            )

    def _place(self, labels: Indices, packed: Samples, used: Indices) -> None:
        """Keep labels of all samples; those of weight zero are predicted."""
        self.labels_ = np.zeros(len(packed), dtype=np.int64)
        self.labels_[used] = labels
        if len(used) < len(packed):
            rest = np.setdiff1d(np.arange(len(packed)), used)
            self.labels_[rest] = self._nearest(self.expansion_(packed.take(rest), self._resources()))

    # use ---------------------------------------------------------------------------------------------

    def _inner(self, values: Floats) -> Floats:
        """Inner products of images with the centres, from sums of similarities over clusters."""
        if self.objective == "variance":
            return values
        degrees = values @ self.cluster_weights_
        return np.divide(values, degrees[:, None], out=np.zeros_like(values), where=degrees[:, None] > 0.0)

    def _nearest(self, values: Floats) -> Array:
        return np.argmax(2.0 * self._inner(values) - self.center_norms_, axis=1).astype(np.int64)

    def predict(self, X: Any) -> Array:
        """Return the cluster of new data, shape (m,): the one with the nearest centre.

        Parameters
        ----------
        X : raw data or packed samples
        """
        return self._nearest(self._evaluate(X))

    def transform(self, X: Any) -> Floats:
        """Return the distances of new data from the centres in feature space, shape (m, k).

        Parameters
        ----------
        X : raw data or packed samples
            For similarities computed elsewhere, with their diagonal: ``Similarities.pack(K, diagonal=...)``.

        Notes
        -----
        A Gram that is an approximation moves the centres; the distances are those from where the samples are. For the
        cut images are divided by their degrees.
        """
        T = self._pack_new(X)
        values = self.expansion_(T, self._resources())
        if not np.isfinite(values).all():
            raise overflow_error(self.kernel_)
        squares = np.asarray(self.kernel_.diag(self.kernel_.prepare(T)), dtype=float)
        if self.objective == "cut":
            degrees = values @ self.cluster_weights_
            squares = np.divide(squares, degrees**2, out=np.zeros_like(squares), where=degrees > 0.0)
        norms = self.center_norms_
        found = squares[:, None] - 2.0 * self._inner(values) + norms
        single = getattr(getattr(T, "X", None), "dtype", None) == np.float32
        least = _ROUNDING * float(np.finfo(np.float32 if single else np.float64).eps)
        found[found <= least * (np.abs(squares)[:, None] + np.abs(norms))] = 0.0
        return np.sqrt(found)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the sum of squared distances of new data from their nearest centres."""
        nearest = np.min(self.transform(X), axis=1) ** 2
        return -float(sample_weights(sample_weight, len(nearest)) @ nearest)

    @property
    def cluster_centers_(self) -> Floats:
        """Centres, shape (k, d); only for the linear kernel and the variance."""
        if self.objective == "cut":
            raise AttributeError("cluster_centers_ exists only after fit with kernel=Linear() and the variance")
        return self._column_weights("cluster_centers_")

    @property
    def _n_features_out(self) -> int:
        check_is_fitted(self)
        return self.n_clusters

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        plan = super().memory_plan(n_samples, n_features, n_targets)
        columns = self.n_clusters * restarts_at_once(n_samples, self.n_clusters, self.n_init)
        return Plan(plan.what, {**plan.buffers, "products of the restarts": 32 * n_samples * columns}, plan.options)


class _Monitor:
    """The monitor of assignments, which reports the share that is left."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.keeping: Any = getattr(run.solver_monitor(1.0, reports=False), "keeping", None)

    def __call__(self, iteration: int, left: float) -> bool | Status:
        return self.run.answer() if self.run.monitor(1.0 - left) else False


def _renumbered(found: Partition, new: Indices) -> Partition:
    old = np.argsort(new)
    return Partition(
        new[found.labels], found.products[:, old], found.masses[old], found.links[old],
        found.inertia, found.n_iter, found.status,
    )  # fmt: skip
