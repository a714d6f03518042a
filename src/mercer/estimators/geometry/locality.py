r"""Projections that keep neighbours together: linear, and in the feature space of a kernel.

Symbols: A affinities, d_i = sum_j A_ij, D = diag(d), L = D - A; X (n, d) samples in rows; F a factor of the Gram
matrix, K = F F^T; f = F b the values of a function of squared length b^T b, mu its eigenvalue.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import with_callbacks

from mercer.arrays import Floats
from mercer.budget import Plan
from mercer.constraints import Boolean, Integer, Interval, OneOf, Optional
from mercer.domains import Similarities, Vectors
from mercer.errors import DegenerateWarning, DomainError, warn_caller
from mercer.estimators.directions import factor_rank
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.fits import Run, fitting
from mercer.estimators.geometry.manifolds import AffinityEstimator, degrees_of
from mercer.estimators.graph_modes import largest_positive
from mercer.estimators.parameter_gradients import rank_of
from mercer.gram import Gram, GramSpec
from mercer.gram.gram import has_array
from mercer.kernels import Kernel
from mercer.kernels.kernel import overflow_error
from mercer.numerics.eigen import eigh_in_place
from mercer.problems import Solution, Status
from mercer.runtime.tiling import in_background
from mercer.solvers.smooth.rotations import projected, require_squares

__all__ = ["KernelLPP", "LocalityPreservingProjection"]
__public__ = __all__

_EPS = float(np.finfo(float).eps)
_RANK = 1e-12  # of the largest eigenvalue of K: a direction below it cannot be distinguished from rounding
_CONSTRAINTS = {
    "n_components": Integer(1),
    "n_neighbors": Optional(Integer(1)),
    "weights": OneOf("one", "kernel"),
    "centered": Boolean(),
}


class LocalityPreservingProjection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, AffinityEstimator):
    r"""Locality preserving projection: the linear map under which neighbours stay near each other.

    .. math:: \min_T \operatorname{tr}\!\big(T X^\top L X T^\top (T X^\top D X T^\top)^{-1}\big), \qquad
        X^\top L X \varphi = \mu \, X^\top D X \varphi, \quad \varphi^\top X^\top D X \varphi = 1

    Seed: [KIKS] Section 5.1 (LPP), where samples are columns. There they are not centred; ``centered=False`` is that
    form.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        Kernel of the affinities: its distances make neighbours, its values weigh them if requested. None is the
        Gaussian at the median distance between training samples; its neighbours are the Euclidean ones.
    n_components : int, default 2
        At most as many as there are directions in which the samples vary.
    n_neighbors : int or None, default 10
        Samples are tied if one is among this many nearest of the other, at most n - 1. None ties all pairs, with
        weight k(x_i, x_j).
    weights : {"one", "kernel"}, default "one"
        Weight of an edge between neighbours: 1, or k(x_i, x_j), not negative.
    centered : bool, default True
        Whether the mean of the samples, weighted by d, is the origin: then nothing depends on where the data lie, and
        no projection is nearly constant.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    components_ : (q, d) array
        phi in rows; of each, the first of the largest entries is positive.
    eigenvalues_ : (q,) array
        mu, ascending.
    mean_ : (d,) array
        The origin.
    kernel_ : Kernel

    Notes
    -----
    Directions in which the samples do not vary are left out. Cost that of the neighbours, O(n k d + n d^2) and O(d^3);
    with more columns than samples use ``KernelLPP(Linear())``, which gives the same projections.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators.geometry.locality import LocalityPreservingProjection
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + [9.0, 0.0]]) * [1.0, 5.0]
    >>> model = LocalityPreservingProjection(n_components=1, n_neighbors=5).fit(X)
    >>> model.components_.round(2).shape, bool(abs(model.components_[0, 0]) > 5 * abs(model.components_[0, 1]))
    ((1, 2), True)
    """

    constraints = _CONSTRAINTS

    def __init__(
        self,
        kernel: Any = None,
        n_components: int = 2,
        *,
        n_neighbors: int | None = 10,
        weights: str = "one",
        centered: bool = True,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.centered = centered
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> LocalityPreservingProjection:
        """Find the projection.

        Parameters
        ----------
        X : (n, d) array, sparse array, table or packed samples
        y : ignored

        Returns
        -------
        self
        """
        with fitting(self, X, y) as (run, kernel, _, S, *_):
            if not isinstance(S, Vectors):
                raise DomainError(
                    f"{type(S).__name__} were given with kernel={self.kernel!r:.200}; a linear projection is one of "
                    "vectors. Use KernelLPP, which takes any kernel."
                )
            self._require_plan(kernel, S)
            self.kernel_ = kernel.learn(S, None, np.ones(len(S)))
            A = self._tie(self.kernel_, S, run, 0.6)
            with run.stage("eigenvectors", 0.99):
                self._project(S, A, run)
        return self

    def _project(self, S: Vectors, A: Any, run: Run) -> None:
        d = degrees_of(A, np.ones(len(S)))
        rows = S.X.astype(float)
        mean = np.asarray(rows.T @ d, dtype=float).ravel() / d.sum()
        origin = np.zeros(S.width)
        if not S.is_sparse:  # L knows no constant; without the mean its form keeps more digits
            rows = rows - mean
            origin = mean
        small, large = _forms(rows, A, d)
        if self.centered:
            shift = mean - origin
            large -= d.sum() * np.outer(shift, shift)
        elif not S.is_sparse:
            large += d.sum() * np.outer(mean, mean)
        require_squares(small, large)
        values, T = in_background(_smallest, small, large, work=20.0 * S.width**3, deadline=run.deadline)
        T, self.eigenvalues_ = T[:, : self.n_components], values[: self.n_components]
        if T.shape[1] < self.n_components:
            _warn_fewer(self, T.shape[1])
        self.components_ = (T * largest_positive(T)).T.copy()
        self.mean_ = mean if self.centered else np.zeros(S.width)

    def transform(self, X: Any) -> Floats:
        """Return the projections of new data, shape (m, q).

        Parameters
        ----------
        X : raw data or packed samples
        """
        T: Any = self._pack_new(X)
        if T.is_sparse:
            return np.asarray(T.X @ self.components_.T, dtype=float) - self.components_ @ self.mean_
        return projected(np.asarray(T.X, dtype=float), self.mean_, self.components_)

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        plan = super().memory_plan(n_samples, n_features)
        own = {"forms": 32 * n_features**2, "products": 16 * n_samples * n_features}
        return Plan(plan.what, {**plan.buffers, **own}, (*plan.options, "KernelLPP(Linear()) for many columns"))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


class KernelLPP(ClassNamePrefixFeaturesOutMixin, TransformerMixin, AffinityEstimator):
    r"""Kernel locality preserving projection: functions that keep neighbours together, for new samples too.

    .. math:: K L K \alpha = \mu \, K D K \alpha, \qquad z(x) = \sum_i \alpha_i k(x, x_i) + b, \quad
        \sum_i d_i z_j(x_i) z_l(x_i) = \delta_{jl}

    With a factor K = F F^T the problem is F^T L F b = mu F^T D F b. A K of full rank leaves every function of the
    training samples open, which are then placed as by `LaplacianEigenmap`; a small multiple of \|f\|^2 keeps functions
    smooth between them.

    Seed: [KIKS] Section 5.1, the kernelised LPP; ``regularization=0`` and ``centered=False`` are its equation.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples.
    n_components : int, default 2
        At most as many as there are directions in which the samples vary.
    n_neighbors : int or None, default 10
        Samples are tied if one is among this many nearest of the other in feature space, at most n - 1. None ties all
        pairs, with weight k(x_i, x_j).
    weights : {"one", "kernel"}, default "one"
        Weight of an edge between neighbours: 1, or k(x_i, x_j), not negative.
    centered : bool, default True
        Whether functions have mean zero over the samples, weighted by d: the constant, with mu = 0, is dropped.
    regularization : float, default 1e-6
        rho, not negative: rho (sum_i d_i k(x_i, x_i)) \|f\|^2 is added to f^T L f.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held. For a Gram with a factor of rank r, such as ``Nystrom(500)``, only n x r and r x r matrices are
        made; for any other kind, ``Tiles()`` too, all eigenvectors of K are found, with three n x n arrays.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    embedding_ : (n, q) array
        z at the training samples; of each column the first of the largest entries is positive.
    eigenvalues_ : (q,) array
        mu, ascending, with the regularisation.
    expansion_ : Expansion or FeatureExpansion
        z as functions.
    kernel_, gram_ : the objects that None was resolved to

    Notes
    -----
    Eigenvalues of K below 1e-12 of the largest are taken as zero. Cost O(n^3) and three n x n arrays for a K without a
    factor, O(n r^2) with one.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators.geometry.locality import KernelLPP
    >>> from mercer.kernels import Gaussian
    >>> angle = 2 * np.pi * np.arange(60) / 60
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> model = KernelLPP(Gaussian(0.5), n_neighbors=2).fit(X)
    >>> radius = np.hypot(*model.transform([[np.cos(0.05), np.sin(0.05)]])[0])  # between two samples
    >>> bool(abs(radius / np.hypot(*model.embedding_[0]) - 1) < 1e-2)
    True
    """

    highest_order = 0
    constraints = {**_CONSTRAINTS, "regularization": Interval(0.0, np.inf, closed="left")}

    def __init__(
        self,
        kernel: Any = None,
        n_components: int = 2,
        *,
        n_neighbors: int | None = 10,
        weights: str = "one",
        centered: bool = True,
        regularization: float = 1e-6,
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
        self.centered = centered
        self.regularization = regularization
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _check_order(self, kernel: Kernel) -> None:
        KernelEstimator._check_order(self, kernel)  # a factor of K must exist

    def _check_definite(self, S: Similarities) -> None:
        KernelEstimator._check_definite(self, S)

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> KernelLPP:
        """Find the functions.

        Parameters
        ----------
        X : raw data or packed samples
        y : ignored

        Returns
        -------
        self
        """
        with fitting(self, X, y) as (run, kernel, _, S, *_):
            self._require_plan(kernel, S)
            self.kernel_ = kernel.learn(S, None, np.ones(len(S)))
            A = self._tie(self.kernel_, S, run, 0.3)
            d = degrees_of(A, np.ones(len(S)))
            K = self._represent(self.kernel_, S, run, 0.5)
            with run.stage("eigenvectors", 0.99):
                self._solve_forms(K, A, d, run)
        return self

    def _solve_forms(self, K: Gram, A: Any, d: Floats, run: Run) -> None:
        """Solve the small problem, and keep the functions."""
        F, back = self._factor(K, run)
        mean = (d @ F) / d.sum() if self.centered else np.zeros(F.shape[1])
        centred = F - (d @ F) / d.sum()
        small, large = _forms(centred, A, d)
        if not self.centered:
            m = (d @ F) / d.sum()
            large += d.sum() * np.outer(m, m)
        if not (np.isfinite(small).all() and np.isfinite(large).all()):
            raise overflow_error(self.kernel_)
        scale = self.regularization * float(d @ np.einsum("ij,ij->i", F, F))
        small[np.diag_indices_from(small)] += scale
        values, B = in_background(_smallest, small, large, work=20.0 * len(small) ** 3, deadline=run.deadline)
        B, self.eigenvalues_ = B[:, : self.n_components], values[: self.n_components]
        if B.shape[1] < self.n_components:
            _warn_fewer(self, B.shape[1])
        Z = (F - mean) @ B
        sign = largest_positive(Z)
        B, self.embedding_ = B * sign, Z * sign
        if back is None:
            solution = Solution(np.zeros((len(F), B.shape[1])), Status.CONVERGED, 0.0, weights=B)
        else:
            solution = Solution(back @ B, Status.CONVERGED, 0.0)
        self.expansion_ = K.expand(solution, -mean @ B)

    def _factor(self, K: Gram, run: Run) -> tuple[Floats, Floats | None]:
        """Return F, and the matrix from b to coefficients; None for a Gram that has its own factor."""
        rank = factor_rank(K)
        if rank is not None and rank <= K.shape[0]:
            F: Any = K.factor(slice(None))  # pyright: ignore[reportAttributeAccessIssue]
            return np.asarray(F.toarray() if hasattr(F, "toarray") else F, dtype=float), None
        U = K.release() if has_array(K) else K.to_dense()
        values = in_background(eigh_in_place, U, work=5.0 * len(U) ** 3, deadline=run.deadline)
        kept = values > _RANK * float(values.max(initial=0.0))
        roots = np.sqrt(values[kept])
        U = U[kept].T
        return U * roots, U / roots

    def fit_transform(self, X: Any, y: Any = None) -> Floats:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Find the functions and return their values at the training samples, shape (n, q).

        Parameters
        ----------
        X : raw data or packed samples
        y : ignored
        """
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> Floats:
        """Return the values of the functions at new data, shape (m, q).

        Parameters
        ----------
        X : raw data or packed samples
        """
        return self._evaluate(X)

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        graph = AffinityEstimator.memory_plan(self, n_samples, n_features)
        plan = KernelEstimator.memory_plan(self, n_samples, n_features, self.n_components)
        buffers = {**graph.buffers, **plan.buffers}
        spec = self._planned_gram(n_samples)
        rank = rank_of(spec, n_samples, n_features) if spec.low_rank else n_samples
        buffers["factors"] = 24 * n_samples * min(rank, n_samples)
        return Plan(plan.what, buffers, ("gram=Nystrom(500)",))

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]


def _forms(rows: Any, A: Any, d: Floats) -> tuple[Floats, Floats]:
    """Return X^T L X and X^T D X of samples in rows."""
    turned = rows.T
    weighted = rows.multiply(d[:, None]) if hasattr(rows, "multiply") else rows * d[:, None]
    large = turned @ weighted
    tied = A @ (rows.toarray() if isinstance(A, Gram) and hasattr(rows, "toarray") else rows)
    small = large - turned @ tied
    small, large = (np.array(M.toarray() if hasattr(M, "toarray") else M, dtype=float) for M in (small, large))
    return 0.5 * (small + small.T), 0.5 * (large + large.T)


def _smallest(small: Floats, large: Floats) -> tuple[Floats, Floats]:
    """Return eigenvalues of small v = mu large v, ascending, and v with v^T large v = 1, where large is not zero."""
    masses, U = np.linalg.eigh(large)
    kept = masses > max(len(large) * _EPS * float(masses.max(initial=0.0)), float(np.finfo(float).tiny) / _EPS)
    root = U[:, kept] / np.sqrt(masses[kept])
    values, V = np.linalg.eigh(root.T @ small @ root)
    return values, root @ V


def _warn_fewer(estimator: Any, count: int) -> None:
    warn_caller(
        f"{type(estimator).__name__}(n_components={estimator.n_components}) was fitted to samples that vary in {count} "
        "directions only; there are no more components. Ask for fewer.",
        DegenerateWarning,
    )
