r"""Samples placed by the graph of their affinities: Laplacian eigenmaps and diffusion maps.

Symbols: A affinities, d_i = sum_j A_ij, D = diag(d), L = D - A, mu eigenvalues of L alpha = mu D alpha; w_i sample
weights, q_i = sum_j w_j k(x_i, x_j) a density, P transition probabilities with eigenvalues lambda and functions psi,
pi their stationary distribution.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Floats
from mercer.budget import Plan
from mercer.constraints import Integer, Interval, OneOf, Optional
from mercer.domains import Samples, Similarities
from mercer.errors import CapabilityError, DegenerateWarning, DomainError, warn_caller
from mercer.estimators.directions import krylov_bytes
from mercer.estimators.estimator import KernelEstimator, scattered, unwatched
from mercer.estimators.fits import Run, fitting
from mercer.estimators.graph_modes import largest_positive, smooth_modes
from mercer.estimators.neighbours import (
    affinities,
    find_neighbours,
    held_gram,
    neighbours_of,
    pack_or_graph,
)
from mercer.gram import Gram, GramSpec
from mercer.kernels import Kernel
from mercer.kernels.kernel import overflow_error
from mercer.numerics.block_krylov import Eigenpairs, leading_eigenpairs
from mercer.numerics.eigen import eigh_in_place
from mercer.problems import Solution, Status
from mercer.runtime.tiling import in_background

__all__ = ["AffinityEstimator", "DiffusionMap", "LaplacianEigenmap"]
__public__ = ["DiffusionMap", "LaplacianEigenmap"]

_FEW = 500  # samples up to which all eigenvectors are found at once
_NOTHING = 1e-12  # eigenvalues so small have no function of their own


class AffinityEstimator(KernelEstimator):
    """Base of estimators that see samples through a graph of affinities."""

    n_neighbors: int | None
    weights: str
    highest_order = 1  # distances are all that neighbours need

    def _check_order(self, kernel: Kernel) -> None:
        if kernel.order is not None:  # an affinity need not be definite
            super()._check_order(kernel)

    def _check_definite(self, S: Similarities) -> None:
        S.check_symmetric()

    def _tie(self, kernel: Kernel, S: Samples, run: Run, until: float) -> Any:
        """Return the affinities: a sparse graph of neighbours, or K itself as a Gram."""
        if len(S) < 2:
            raise DomainError(f"n_samples={len(S)} was given; a graph needs at least 2 samples. Give more samples.")
        if self.n_neighbors is None:
            A = held_gram(self, kernel, S, run, until)
            unwatched(A)
            return A
        with run.stage("neighbours", until):
            alone = self.weights != "kernel"
            near = find_neighbours(kernel, S, self.n_neighbors, run.resources(), index_alone=alone)
            return affinities(near, self.weights)

    def _warn(self, residual: float, run: Run) -> None:
        status = Status.TIME if run.clock.expired else Status.STOPPED if run.asked_to_stop else Status.MAX_ITER
        warn_caller(
            f"The eigenvectors of {type(self).__name__} stopped at residual {residual:.3g}. {status.value}",
            ConvergenceWarning,
        )

    def _warn_parts(self, parts: int) -> None:
        if parts > 1:
            warn_caller(
                f"The graph of {self.n_neighbors} neighbours falls into {parts} parts that nothing ties to each other; "
                f"the first {parts - 1} coordinates tell them apart. Raise n_neighbors to connect them.",
                DegenerateWarning,
            )

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        q = min(getattr(self, "n_components", 2), n_samples)
        if self.n_neighbors is None:
            plan = super().memory_plan(n_samples, n_features, 0)
            bases = 24 * n_samples**2 if _whole(n_samples, q) else krylov_bytes(n_samples, q)
            return Plan(plan.what, {**plan.buffers, "bases": bases}, plan.options)
        k = self.n_neighbors
        buffers = {
            "packed samples": 8 * n_samples * n_features,
            "graph": 16 * 6 * n_samples * k,
            "its factorisation": 16 * 12 * n_samples * k,  # of a curve or a surface; other graphs are not factorised
            "bases": 8 * 10 * n_samples * (q + 8),
        }
        return Plan(f"{type(self).__name__} on {n_samples} samples", buffers, ("fewer n_neighbors",))


def degrees_of(A: Any, w: Floats) -> Floats:
    """Return A w; raise DomainError unless all are finite and positive."""
    d = np.asarray(A @ w, dtype=float)
    if not np.isfinite(d).all():
        if isinstance(A, Gram):
            raise overflow_error(A.kernel)
        raise DomainError("Sums of affinities overflow; they must be finite. Scale the kernel down.")
    bad = np.flatnonzero(d <= 0.0)
    if len(bad) and d[bad[0]] == 0.0 and isinstance(A, Gram) and A.diag()[bad[0]] == 0.0:
        raise DomainError(
            f"sample {bad[0]} is similar to nothing under {A.kernel!r}, not even to itself, as an empty text is; "
            "each sample must be similar to something. Leave it out, or use another kernel."
        )
    if len(bad):
        raise DomainError(
            f"the affinities of sample {bad[0]} sum to {d[bad[0]]:.3g}; they are divided by these sums, which must be "
            "positive. Use a kernel without negative values, as Gaussian(), or leave the sample out."
        )
    return d


def chain_pairs(A: Any, root: Floats, u: Floats, count: int, **options: Any) -> Eigenpairs:
    """Return the leading eigenpairs of diag(root) A diag(root), but for its first eigenvector u.

    Parameters
    ----------
    A : Gram or sparse array
    root, u : (n,) arrays
        u of length one, its eigenvalue 1.
    count : int
    **options
        Of `leading_eigenpairs`.
    """
    n = len(root)

    def product(V: Floats) -> Floats:
        scaled = in_background(A.__matmul__, root[:, None] * V, work=2.0 * n * V.size)
        return root[:, None] * np.asarray(scaled) - 3.0 * np.outer(u, u @ V)  # u gets -2, and is never among them

    if _whole(n, count):
        B = product(np.eye(n))
        B = 0.5 * (B + B.T)
        values = in_background(eigh_in_place, B, work=5.0 * n**3)
        return Eigenpairs(values[::-1][:count].copy(), B[::-1][:count].T.copy(), np.zeros(count), 1, True)
    return leading_eigenpairs(product, n, count, **options)


def _whole(n: int, count: int) -> bool:
    """Return whether all eigenvectors of a chain are found at once."""
    return n <= _FEW or 8 * count > n


class LaplacianEigenmap(AffinityEstimator):
    r"""Laplacian eigenmap: samples are placed so that neighbours end up near each other.

    .. math:: \min_Z \; \tfrac12 \sum_{ij} A_{ij} \|z_i - z_j\|^2 = \operatorname{tr}(Z^\top L Z)
        \quad \text{with} \quad Z^\top D Z = I, \; Z^\top D 1 = 0, \qquad L \alpha = \mu D \alpha

    Coordinates are the eigenvectors of the smallest eigenvalues; the first, which is constant, is dropped.

    Seed: [KIKS] Section 5.1, the sparse eigenproblem after Eq. (20).

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        Its distances in feature space make neighbours, and its values weigh them if requested. None is the
        Gaussian at the median distance between training samples; its neighbours are the Euclidean ones.
    n_components : int, default 2
        At most n - 1 exist.
    n_neighbors : int or None, default 10
        Samples are tied if one is among this many nearest of the other, at most n - 1. None ties all pairs, with
        weight k(x_i, x_j); then products with K are all that is needed.
    weights : {"one", "kernel"}, default "one"
        Weight of an edge between neighbours: 1, or k(x_i, x_j), not negative.
    eigen_solver : {"auto", "dense", "factor", "filter"}, default "auto"
        For a graph of neighbours: all eigenvectors by LAPACK, a sparse factorisation, or polynomials of L. "auto"
        takes LAPACK for up to 500 samples, then polynomials until a factorisation promises to be cheaper, as it is on
        curves and surfaces.
    tol : float, default 1e-8
        Tolerance of the residuals of D^(-1/2) L D^(-1/2).
    max_iter : int, default 200
        Products with the inverse or K, or rounds of polynomials, at most.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held without ``n_neighbors``.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    embedding_ : (n, q) array
        Z, with Z^T D Z = I; of each column the first of the largest entries is positive.
    eigenvalues_ : (q,) array
        mu, ascending, in [0, 2].
    affinity_ : (n, n) sparse array or None
        A; None without ``n_neighbors``.
    residual_, n_iter_ : float, int
    solver_ : str
        The one that was used; "products" without ``n_neighbors``.
    kernel_ : Kernel

    Notes
    -----
    Only training samples are placed; `KernelLPP` gives a function of new ones. A graph in c parts has c - 1
    coordinates that are constant on each part, with mu = 0, and a warning says so. Cost that of the neighbours and
    some hundred sparse products; memory O(n (k + q)).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators.geometry.manifolds import LaplacianEigenmap
    >>> angle = 2 * np.pi * np.arange(40) / 40
    >>> model = LaplacianEigenmap(n_neighbors=2).fit(np.column_stack([np.cos(angle), np.sin(angle)]))
    >>> radius = np.hypot(*model.embedding_.T)  # a circle again
    >>> bool(np.ptp(radius) < 1e-9), model.eigenvalues_.round(4), round(1 - np.cos(angle[1]), 4)
    (True, array([0.0123, 0.0123]), np.float64(0.0123))
    """

    synonyms = ("graph Laplacian embedding", "spectral embedding")
    constraints = {
        "n_components": Integer(1),
        "n_neighbors": Optional(Integer(1)),
        "weights": OneOf("one", "kernel"),
        "eigen_solver": OneOf("auto", "dense", "factor", "filter"),
        "tol": Interval(0.0, 1.0, closed="neither"),
        "max_iter": Integer(1),
    }

    def __init__(
        self,
        kernel: Any = None,
        n_components: int = 2,
        *,
        n_neighbors: int | None = 10,
        weights: str = "one",
        eigen_solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 200,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> LaplacianEigenmap:
        """Place the samples.

        Parameters
        ----------
        X : raw data or packed samples
        y : ignored

        Returns
        -------
        self
        """
        pack = functools.partial(pack_or_graph, self)
        with fitting(self, X, y, pack=pack) as (run, (kernel, graph), _, S, *_):
            A: Any = graph
            if A is not None:
                self.kernel_ = kernel
                degrees_of(A, np.ones(len(S)))
            else:
                self._require_plan(kernel, S)
                self.kernel_ = kernel.learn(S, None, np.ones(len(S)))
                A = self._tie(self.kernel_, S, run, 0.4)
            with run.stage("eigenvectors", 0.99):
                self._place(A, min(self.n_components, len(S) - 1), run)
        return self

    def _place(self, A: Any, count: int, run: Run) -> None:
        monitor = run.solver_monitor(self.tol) if run.watched else None
        options: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter, "monitor": monitor}
        if sp.issparse(A):
            found = smooth_modes(A, count, solver=self.eigen_solver, deadline=run.deadline, **options)
            self.embedding_, self.eigenvalues_, self.affinity_ = found.vectors, found.values, A
            self.residual_, self.n_iter_, self.solver_ = found.residual, found.iterations, found.solver
            self._warn_parts(found.parts)
            if not found.converged:
                self._warn(found.residual, run)
            return
        d = degrees_of(A, np.ones(A.shape[0]))
        pairs = chain_pairs(A, 1.0 / np.sqrt(d), np.sqrt(d / d.sum()), count, **options)
        Z = pairs.vectors / np.sqrt(d)[:, None]
        self.embedding_, self.eigenvalues_, self.affinity_ = Z * largest_positive(Z), 1.0 - pairs.values, None
        self.residual_, self.n_iter_ = float(pairs.residuals.max(initial=0.0)), pairs.iterations
        self.solver_ = "products"
        if not pairs.converged:
            self._warn(self.residual_, run)

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Place the samples and return their coordinates, shape (n, q).

        Parameters
        ----------
        X : raw data or packed samples
        y : ignored
        """
        return self.fit(X, y).embedding_


class DiffusionMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, AffinityEstimator):
    r"""Diffusion map: samples are near each other if random walks from them arrive at the same places.

    .. math:: P_{ij} = \frac{k_{ij} \, q_j^{-a}}{\sum_l k_{il} \, q_l^{-a}}, \qquad P \psi = \lambda \psi, \qquad
        z(x) = (\lambda_1^t \psi_1(x), \ldots, \lambda_r^t \psi_r(x))

    With all coordinates, Euclidean distances are those between the distributions of two walks after t steps,
    \|z_i - z_j\|^2 = sum_l (P^t_il - P^t_jl)^2 / pi_l. A function at a new sample is the mean of its values at the
    training samples that a step leads to, over lambda.

    Seed: [KIKS] Section 5.1 (eigenvectors of L alpha = mu D alpha; P = D^-1 A has the same ones, with lambda = 1 -
    mu); [HSS] Section 2.2.5 (diffusion on graphs).

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        The affinity, not negative. None is the Gaussian at the median distance between training samples; narrower
        ones follow shapes more closely.
    n_components : int, default 2
        r; at most n - 1.
    alpha : float, default 0.5
        a in [0, 1], how far the density of the samples is divided out: at 0 walks go where samples are many, at 1
        (for narrow kernels) they know the shape alone.
    time : float, default 1
        t, steps of the walks; at 0 coordinates are psi.
    n_neighbors : int or None, default None
        Keep only affinities of this many nearest neighbours, in a sparse graph. None compares all pairs.
    tol : float, default 1e-8
        Tolerance of residuals of eigenvectors.
    max_iter : int, default 300
        Products at most; with ``n_neighbors`` those with an inverse, or rounds of polynomials.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held; products are all that is needed.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    embedding_ : (n, r) array
        z at the training samples.
    eigenvalues_ : (r,) array
        lambda, descending; the first of all, 1, is left out.
    stationary_ : (n,) array
        pi, which sums to one: sum_i pi_i psi_ij psi_il = 1 if j = l, else 0. Zero at weight zero.
    expansion_ : Expansion or FeatureExpansion
        Numerators of z, and their common denominator; only without ``n_neighbors``.
    residual_, n_iter_ : float, int
    kernel_, gram_ : the objects that None was resolved to

    Notes
    -----
    A sample of weight w counts as w copies (with ``n_neighbors``, as one that a walk visits w times as often), one of
    weight zero is placed as a new sample is: where a step leads to, with ``n_neighbors`` to the nearest samples that
    count. Of each psi the first of the largest entries is positive. `transform` of a training sample is its row of the
    embedding, and a new sample that is similar to nothing is put at the origin.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators.geometry.manifolds import DiffusionMap
    >>> from mercer.kernels import Gaussian
    >>> x = np.linspace(0.0, 1.0, 50)
    >>> curve = np.column_stack([np.cos(5 * x), np.sin(5 * x), x])
    >>> z = DiffusionMap(Gaussian(0.2), 1, alpha=1.0).fit_transform(curve)[:, 0]
    >>> bool(np.all(np.diff(z) > 0) or np.all(np.diff(z) < 0))  # the curve, straightened
    True
    """

    synonyms = ("commute-time embedding",)
    weights = "kernel"
    highest_order = 0
    constraints = {
        "n_components": Integer(1),
        "alpha": Interval(0.0, 1.0, closed="both"),
        "time": Interval(0.0, np.inf, closed="left"),
        "n_neighbors": Optional(Integer(1)),
        "tol": Interval(0.0, 1.0, closed="neither"),
        "max_iter": Integer(1),
    }

    def __init__(
        self,
        kernel: Any = None,
        n_components: int = 2,
        *,
        alpha: float = 0.5,
        time: float = 1,
        n_neighbors: int | None = None,
        tol: float = 1e-8,
        max_iter: int = 300,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.alpha = alpha
        self.time = time
        self.n_neighbors = n_neighbors
        self.tol = tol
        self.max_iter = max_iter
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> DiffusionMap:
        """Place the samples.

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
        with fitting(self, X, y, sample_weight, pack=pack) as (run, (kernel, graph), packed, S, _, w, used):
            if graph is None:
                self._require_plan(kernel, S)
            self.kernel_ = kernel.learn(S, None, w) if graph is None else kernel
            A: Any = self._tie(self.kernel_, S, run, 0.4) if graph is None else sp.csr_array(graph[used][:, used])
            if graph is None and self.n_neighbors is not None:  # a walk may stay where it is
                A = sp.csr_array(A + sp.diags_array(self.kernel_.diag(self.kernel_.prepare(S))))
            with run.stage("eigenvectors", 0.99):
                Z, columns = self._walk(A, w, min(self.n_components, len(S) - 1), run)
            self.embedding_ = scattered(Z, used, len(packed))
            self.stationary_ = scattered(self.stationary_, used, len(packed))
            rest = np.setdiff1d(np.arange(len(packed)), used)
            if graph is not None:
                if len(rest):
                    self.embedding_[rest] = _shares(np.asarray(graph[rest][:, used] @ columns))
            elif self.n_neighbors is None:
                self.expansion_ = A.expand(Solution(columns, Status.CONVERGED, 0.0))
                if len(rest):
                    self.embedding_[rest] = _shares(self.expansion_(packed.take(rest), self._resources()))
            elif len(rest):
                near = neighbours_of(self.kernel_, packed.take(rest), S, self.n_neighbors, self._resources())
                self.embedding_[rest] = _shares(np.einsum("ij,ijk->ik", near.values, columns[near.index]))
        return self

    def _walk(self, A: Any, w: Floats, count: int, run: Run) -> tuple[Floats, Floats]:
        """Return coordinates, (n, r), and the coefficients of their numerators and denominator, (n, r + 1)."""
        thin = degrees_of(A, w) ** -self.alpha
        d = thin * degrees_of(A, w * thin)
        total = float(w @ d)
        monitor = run.solver_monitor(self.tol) if run.watched else None
        options: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter, "monitor": monitor}
        c = w * thin
        if not sp.issparse(A):
            pairs = chain_pairs(A, np.sqrt(w / d) * thin, np.sqrt(w * d / total), count, **options)
            values, psi = pairs.values, pairs.vectors * np.sqrt(total / (w * d))[:, None]
            self.residual_ = float(pairs.residuals.max(initial=0.0))
        else:  # the walk on a graph with weights c_i A_ij c_j, whose degrees are w d
            pairs = smooth_modes(sp.csr_array(A * c[:, None] * c), count, deadline=run.deadline, **options)
            values, psi = 1.0 - pairs.values, pairs.vectors * np.sqrt(total)
            self.residual_ = pairs.residual
            self._warn_parts(pairs.parts)
        psi *= largest_positive(psi)
        powers = _powers(values, self.time)
        self.eigenvalues_, self.stationary_, self.n_iter_ = values, w * d / total, pairs.iterations
        if not pairs.converged:
            self._warn(self.residual_, run)
        ahead = np.divide(powers, values, out=np.zeros_like(values), where=np.abs(values) > _NOTHING)
        return psi * powers, np.column_stack([c[:, None] * psi * ahead, c])

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Floats:  # pyright: ignore
        """Place the samples and return their coordinates, shape (n, r).

        Parameters
        ----------
        X : raw data or packed samples
        y : ignored
        sample_weight : (n,) array, optional
        """
        return self.fit(X, y, sample_weight).embedding_

    def transform(self, X: Any) -> Floats:
        """Return the coordinates of new data, shape (m, r); only without ``n_neighbors``.

        Parameters
        ----------
        X : raw data or packed samples
        """
        check_is_fitted(self)
        if not hasattr(self, "expansion_"):
            raise CapabilityError(
                f"DiffusionMap(n_neighbors={self.n_neighbors}) was asked for new samples, which are not "
                "in its graph; it places training samples only. Use n_neighbors=None, which compares all "
                "pairs."
            )
        return _shares(self._evaluate(X))

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]


def _powers(values: Floats, time: float) -> Floats:
    """Return lambda^t; of a negative eigenvalue, as indefinite kernels may have, only for whole t."""
    if float(time).is_integer():
        return values ** int(time)
    return np.maximum(values, 0.0) ** float(time)


def _shares(values: Floats) -> Floats:
    below = values[:, -1:]
    return np.divide(values[:, :-1], below, out=np.zeros((len(values), values.shape[1] - 1)), where=below > 0.0)
