r"""Kernel principal components: the directions of feature space in which samples vary most.

Symbols: K the Gram matrix, w_i sample weights, N their sum, mu the mean of the images Phi(x_i), lambda_j and v_j the
eigenvalues and unit eigenvectors of W^(1/2) P K P^T W^(1/2), u_j the unit directions, z_j = <u_j, Phi(x) - mu> the
scores, F the factor of a Gram of low rank, K = F F^T.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Floats, Indices
from mercer.budget import Plan
from mercer.constraints import AnyOf, Boolean, InstanceOf, Integer, Interval, OneOf, Optional
from mercer.domains import Samples, Vectors
from mercer.errors import CapabilityError, DegenerateWarning, DomainError, ParameterError, warn_caller
from mercer.estimators.directions import (
    FEW,
    MOST,
    Directions,
    all_directions,
    factor_directions,
    factor_rank,
    inverse_directions,
    krylov_bytes,
    principal_directions,
    stored_directions,
)
from mercer.estimators.estimator import KernelEstimator, scattered, unwatched
from mercer.estimators.fits import Run, fitting
from mercer.gram import Expansion, FeatureExpansion, Gram, GramSpec
from mercer.gram.gram import has_array
from mercer.kernels import Linear
from mercer.kernels.kernel import overflow_error
from mercer.kernels.vectors.pointwise import dense
from mercer.preimages.methods import Images, Preimage, RidgeMap, preimage_method
from mercer.problems import Solution, Status
from mercer.spec import derived

__all__ = ["KernelPCA"]
__public__ = __all__

_SHARE = 24  # beyond few samples all eigenvectors are found if more than this part of them is wanted
_PRODUCTS = 6  # of the randomised solver
_TRIAL, _PRICE = 12, 100  # products after which close eigenvalues are separated by an inverse: so many and a part of n
_SEPARATE = 1e-12  # residuals where all eigenvectors would be found instead
_EPS = float(np.finfo(float).eps)


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    r"""Kernel principal component analysis: orthogonal directions of largest variance in feature space.

    .. math:: \max_{\|u\| = 1} \frac1N \sum_i w_i \langle u, \Phi(x_i) - \mu \rangle^2, \qquad
        P K P \, v = \lambda v, \quad u = \lambda^{-1/2} \sum_i v_i \, (\Phi(x_i) - \mu)

    In the primal-dual form of least-squares machines the same scores z maximise gamma/2 sum z_i^2 - 1/2 \|u\|^2; its
    dual variables are the eigenvectors, with gamma = 1 / lambda and z = lambda v.

    Seed: [STS] Eqs. (33)-(38); [SS] (PCA-P), Eqs. (59)-(67), with the sign of (65) corrected; [KIKS] Section 3.3; [ST]
    "Kernel PCA", where the sum over j has k(x_j, x); [HSS] Section 3.3.1, with P_ij = delta_ij - 1/n.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples; a scikit-learn name means what it
        means there. Conditionally positive definite kernels of order 1 are accepted where features are centred.
    n_components : int, float or None, default None
        Number of directions; a number between 0 and 1 is the share of the variance that they must have together. None
        takes all in which the samples vary. Fewer are found where no more exist.
    centered : bool, default True
        Whether the mean of the images is the origin. Otherwise directions are those of largest second moment.
    eigen_solver : {"auto", "dense", "lanczos", "randomized"}, default "auto"
        "dense": all eigenvectors by LAPACK. "lanczos": some, by a block Lanczos process, to a residual of ``tol``.
        "randomized": the same process from a random start, stopped after ``max_iter`` products whatever they have
        reached. "auto": from the factor's own matrix for a Gram with at most n features; for at most n / 24 components
        of 100 to 2 000 samples whose Gram matrix is in memory, a Lanczos process of single vectors to a residual of
        1e-12, if it separates them; else "dense" for up to 500 samples or more than n / 24 components; else "lanczos",
        and where 12 + n / 100 products with a matrix in memory have not separated the eigenvalues, a Cholesky factor
        of sigma - K, whose inverse does.
    tol : float, default 1e-8
        Tolerance of residuals relative to the largest eigenvalue, for "lanczos".
    max_iter : int, optional
        Products with K, at most; None is 300 for "lanczos", and 6 for "randomized".
    preimage : Preimage, optional
        How points are found whose images are near to elements of feature space: `FixedPoint`, `DistanceScaling`,
        `Gradient` or `RidgeMap`. None is exact for the linear kernel, `FixedPoint` for a kernel of distances, and
        `Gradient` for others.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held; products are all that is needed, so ``Tiles()`` works for any n.
    random_state : int, RandomState or None, default None
        Seed of the start of the iterations; None is 0.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    n_components_ : int
        q, directions found.
    eigenvalues_ : (q,) array
        lambda, largest first: N times the variances.
    eigenvectors_ : (n, q) array
        z / sqrt(lambda) at the training samples: orthonormal if all weights are 1. Zero at weight zero.
    dual_coef_ : (n, q) array
        u_j = sum_i dual_coef_ij Phi(x_i), of length one.
    explained_variance_, explained_variance_ratio_ : (q,) arrays
        lambda / N, and its share of the total variance.
    reconstruction_errors_ : (q + 1,) array
        Mean squared distance in feature space between a sample and its projection on 0, 1, ..., q directions.
    expansion_ : Expansion or FeatureExpansion
        The scores as functions.
    mean_element_ : Expansion or FeatureExpansion
        mu as an element of the kernel's space; zero without centring.
    mean_square_ : float
        Its squared length.
    atoms_ : Expansion
        Mean and directions on the training samples, which pre-images are made of; only if ``expansion_`` has none.
    preimage_map_ : Expansion
        Only with ``preimage=RidgeMap()``.
    n_iter_, residual_ : int, float
        Products taken, and the largest residual relative to the largest eigenvalue.
    kernel_, gram_ : the objects that None was resolved to

    Notes
    -----
    A sample of weight w counts as w copies. Signs: of each eigenvector the entry of largest size is positive. Scores
    are uncorrelated over the training samples. With the linear kernel all is that of PCA, whose ``components_`` exist
    then. Cost: dense 5 n^3 operations and 24 n^2 bytes; lanczos some ten products of K with q + 8 columns.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.kernels import Gaussian
    >>> angle = np.linspace(0, 6, 60)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> model = KernelPCA(Gaussian(1.0), n_components=4).fit(X)
    >>> model.transform([[1.0, 0.0]]).shape, model.explained_variance_ratio_.sum().round(2)
    ((1, 4), np.float64(0.97))
    >>> near = model.denoise([[1.2, 0.1]])  # which brings it back to the circle
    >>> float(np.hypot(*near[0]).round(1))
    1.0
    """

    synonyms = ("kernel principal component analysis", "nonlinear component analysis")
    constraints = {
        "n_components": Optional(AnyOf(Integer(1), Interval(0.0, 1.0, closed="neither"))),
        "centered": Boolean(),
        "eigen_solver": OneOf("auto", "dense", "lanczos", "randomized"),
        "tol": Interval(0.0, 1.0, closed="left"),
        "max_iter": Optional(Integer(1)),
        "preimage": Optional(InstanceOf(Preimage)),
    }

    def __init__(
        self,
        kernel: Any = None,
        n_components: int | float | None = None,
        *,
        centered: bool = True,
        eigen_solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int | None = None,
        preimage: Preimage | None = None,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        random_state: Any = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.centered = centered
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.preimage = preimage
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.random_state = random_state
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @derived
    def highest_order(self) -> int:
        """Centring removes the constant that a conditionally definite kernel leaves open."""
        return int(bool(self.centered))

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelPCA:
        """Find the directions.

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
        with fitting(self, X, y, sample_weight) as (run, kernel, packed, S, _, w, used):
            if isinstance(self.preimage, Preimage):
                self.preimage.check()
            self.kernel_ = kernel.learn(S, None, w)
            K = self._represent(self.kernel_, S, run)
            found = self._decompose(K, w, run)
            self._keep(K, found, w, used, len(packed))
            if isinstance(self.preimage, RidgeMap):
                self.preimage_map_ = self._learn_map(S, w, used)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Floats:  # pyright: ignore
        """Find the directions and return the scores of the training samples, shape (n, q).

        Parameters
        ----------
        X : raw data or packed samples
        y : ignored
        sample_weight : (n,) array, optional
        """
        self.fit(X, y, sample_weight)
        scores = self.eigenvectors_ * np.sqrt(self.eigenvalues_)
        if sample_weight is not None and len(left := np.flatnonzero(np.asarray(sample_weight) == 0)):
            scores[left] = self._scores(self.kernel_.pack(X).take(left))
        return scores

    def transform(self, X: Any) -> Floats:
        """Return the scores of new data, shape (m, q).

        Parameters
        ----------
        X : raw data or packed samples
        """
        if getattr(self, "n_components_", 1) == 0:
            return np.empty((len(self._pack_new(X)), 0))
        return self._evaluate(X)

    def reconstruction_error(self, X: Any) -> Floats:
        r"""Return how far images are from their projections, squared, shape (m,).

        .. math:: \|\Phi(x) - \mu\|^2 - \sum_j z_j^2

        Parameters
        ----------
        X : raw data or packed samples
        """
        T = self._pack_new(X)
        scores = self._scores(T)
        mean = self.mean_element_(T, self._resources())
        T = self.kernel_.prepare(T)
        left = self.kernel_.diag(T) - 2.0 * mean + self.mean_square_ - np.einsum("ij,ij->i", scores, scores)
        return np.maximum(left, 0.0)

    def inverse_transform(self, Z: Any) -> Floats:
        """Return points whose images are near to the elements of given scores, shape (m, d).

        Parameters
        ----------
        Z : (m, q) array
            Scores, as `transform` returns them.
        """
        check_is_fitted(self)
        return self._preimages(Z, None)

    def denoise(self, X: Any) -> Floats:
        r"""Return points whose images are near to the projections of given ones, shape (m, d).

        .. math:: \min_{x'} \| \Phi(x') - \mu - \sum_j z_j(x) \, u_j \|

        Parameters
        ----------
        X : raw data or packed samples
            The searches start from these, or from the nearest training samples where those are nearer.
        """
        T = self._pack_new(X)
        if not isinstance(T, Vectors):
            raise _no_points(self.kernel_)
        return self._preimages(self._scores(T), dense(T))

    @property
    def components_(self) -> Floats:
        """The directions in the space of the columns, shape (q, d); only for the linear kernel."""
        if not isinstance(getattr(self, "kernel_", None), Linear):
            raise AttributeError("components_ exists only after fit with kernel=Linear()")
        samples, coef = self._atoms()
        return np.asarray(cast(Vectors, samples).X.T @ coef[:, 1:]).T

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        q = self.n_components if isinstance(self.n_components, (int, np.integer)) else n_samples
        plan = super().memory_plan(n_samples, n_features, 0)
        q = min(int(q), n_samples)
        if self._planned_gram(n_samples).low_rank:
            own = {"coefficients": 16 * n_samples * q}
        elif self._chosen(n_samples) == "dense":
            own = {"work space": 16 * n_samples**2, "coefficients": 8 * n_samples * q}
        else:
            own = {"bases": krylov_bytes(n_samples, q), "coefficients": 16 * n_samples * q}
        return Plan(plan.what, {**plan.buffers, **own}, (*plan.options, "fewer n_components with gram=Tiles()"))

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _scores(self, T: Samples) -> Floats:
        """Return the scores of packed samples."""
        return self.expansion_(T, self._resources()) if self.n_components_ else np.empty((len(T), 0))

    # steps --------------------------------------------------------------------------------------------

    def _chosen(self, n: int) -> str:
        """Return the solver for a Gram without a factor."""
        whole_number = isinstance(self.n_components, (int, np.integer))
        if self.eigen_solver != "auto":
            if self.eigen_solver != "dense" and not whole_number:
                raise ParameterError(
                    f"n_components={self.n_components!r} was given with eigen_solver={self.eigen_solver!r}, which "
                    "finds a number of components that is known before; an int is accepted. Give one, or use "
                    "eigen_solver='dense'."
                )
            return self.eigen_solver
        if not whole_number or n <= FEW or _SHARE * int(self.n_components or n) > n:
            return "dense"
        return "lanczos"

    def _decompose(self, K: Gram, w: Floats, run: Run) -> Directions:
        """Find the directions by the solver asked for, or chosen."""
        n = K.shape[0]
        if self.eigen_solver == "auto" and (rank := factor_rank(K)) is not None and rank <= n:
            solver = "factor"
        else:
            solver = self._chosen(n)
        count = int(self.n_components) if isinstance(self.n_components, (int, np.integer)) else n
        with run.stage("eigenvectors", 0.95):
            if solver == "factor":
                found = factor_directions(K, w, self.centered, run.deadline)
            elif (few := self._few_of_stored(K, w, count, run)) is not None:
                found = few
            elif solver == "dense":
                self._plan_dense(K).require(self.memory)
                found = all_directions(K, w, self.centered, run.deadline)
            else:
                found = self._by_products(K, w, min(count, n), solver, run)
        if not np.isfinite(found.values).all():
            raise overflow_error(self.kernel_)
        return found.first(self._count(found, count), np.sqrt(w))

    def _plan_dense(self, K: Gram) -> Plan:
        n = K.shape[0]
        held = {} if has_array(K) else {"Gram matrix": 8 * n * n}
        return Plan(f"all components of {n} samples", {**held, "work space": 16 * n * n}, ("fewer n_components",))

    def _count(self, found: Directions, count: int) -> int:
        """Return how many components are kept."""
        real = int(np.sum(found.values > found.floor))
        if isinstance(self.n_components, (float, np.floating)):
            share = np.cumsum(found.values[:real]) / found.trace
            count = int(np.searchsorted(share, float(self.n_components) - 1e-12)) + 1
        if real == 0:
            warn_caller(
                f"The {len(found.means)} samples do not vary in the feature space of {self.kernel_!r:.200}: there is "
                "no component, and transform returns no column. Give samples that differ.",
                DegenerateWarning,
            )
        return min(count, real)

    def _few_of_stored(self, K: Gram, w: Floats, count: int, run: Run) -> Directions | None:
        """Find few directions of a small matrix in memory, where the solver is not prescribed and they are separate."""
        if (
            self.eigen_solver != "auto"
            or self.max_iter is not None
            or not isinstance(self.n_components, (int, np.integer))
        ):
            return None
        monitor = run.solver_monitor(_SEPARATE) if run.watched else None
        return stored_directions(K, w, count, centered=self.centered, tol=_SEPARATE, seed=self._seed(), monitor=monitor)

    def _seed(self) -> int:
        rng = check_random_state(0 if self.random_state is None else self.random_state)
        return int(rng.randint(2**31))

    def _by_products(self, K: Gram, w: Floats, count: int, solver: str, run: Run) -> Directions:
        """Find the leading directions from products with K alone."""
        exact = solver == "lanczos"
        tol = max(self.tol, 10.0 * K.entry_error) if exact else 0.0
        most = self.max_iter or (MOST if exact else _PRODUCTS)
        invertible = self.eigen_solver == "auto" and self.max_iter is None and has_array(K)
        if invertible:  # products that cost about as much as an inverse
            most = min(most, _TRIAL + K.shape[0] // _PRICE)
        monitor = run.solver_monitor(max(tol, _EPS)) if run.watched else None
        unwatched(K)
        found = principal_directions(
            K, w, count, centered=self.centered, tol=tol, max_iter=most, seed=self._seed(), monitor=monitor
        )
        if invertible and not found.converged and found.iterations == most and not run.answer():
            found = inverse_directions(
                K, w, self.centered, found, seed=self._seed(), monitor=monitor, deadline=run.deadline
            )
        if exact and not found.converged:
            status = Status.TIME if run.clock.expired else Status.STOPPED if run.asked_to_stop else Status.MAX_ITER
            warn_caller(
                f"KernelPCA stopped after {found.iterations} products at residual {found.residual:.3g}, relative to "
                f"the largest eigenvalue; {tol:.1g} was wanted. {status.value}",
                ConvergenceWarning,
            )
        return found

    def _keep(self, K: Gram, found: Directions, w: Floats, used: Indices, n: int) -> None:
        """Store the directions as functions and as numbers."""
        total, values = float(w.sum()), found.values
        root, share = np.sqrt(w)[:, None], w / float(w.sum())
        coef = found.vectors * (root / np.sqrt(values))
        if self.centered:
            coef -= np.outer(share, coef.sum(axis=0))  # they sum to zero, but for rounding
        both = np.column_stack([share, coef])
        inner = None if found.weights is None else np.column_stack([found.origin, found.weights])
        whole_thing = K.expand(Solution(both, Status.CONVERGED, 0.0, weights=inner))
        shift = found.means @ coef if found.weights is None else found.origin @ found.weights
        constant = np.broadcast_to(whole_thing.intercept, (both.shape[1],))
        self.mean_element_ = _part(whole_thing, slice(0, 1), constant[:1]) * float(self.centered)
        self.mean_element_ = self.mean_element_.column(0)
        self.expansion_ = _part(whole_thing, slice(1, None), constant[1:] - (shift if self.centered else 0.0))
        self.mean_square_ = float(share @ found.means) if self.centered else 0.0
        self.n_components_, self.eigenvalues_ = len(values), values
        self.eigenvectors_ = scattered(found.vectors if np.all(w == 1.0) else found.vectors / root, used, n)
        self.dual_coef_ = scattered(coef, used, n)
        self.explained_variance_, self.explained_variance_ratio_ = values / total, values / (found.trace or 1.0)
        self.reconstruction_errors_ = np.maximum(found.trace - np.append(0.0, np.cumsum(values)), 0.0) / total
        self.n_iter_, self.residual_ = found.iterations, found.residual
        if isinstance(whole_thing, FeatureExpansion) and isinstance(K.samples, Vectors):
            both[:, 0] *= float(self.centered)
            self.atoms_ = Expansion(self.kernel_, K.samples.landmarks(), both, np.zeros(both.shape[1]))

    # pre-images ---------------------------------------------------------------------------------------

    def _atoms(self) -> tuple[Samples, Floats]:
        """Return samples, and the coefficients on them of the mean and of the directions, (s, 1 + q)."""
        if isinstance(self.expansion_, FeatureExpansion):
            if not hasattr(self, "atoms_"):
                raise _no_points(self.kernel_)
            return self.atoms_.samples, self.atoms_.coef
        mean = self.mean_element_
        assert isinstance(mean, Expansion)
        return self.expansion_.samples, np.column_stack([mean.coef, self.expansion_.coef])

    def _preimages(self, Z: Any, start: Floats | None) -> Floats:
        """Return points near to elements of given scores."""
        Z = check_array(Z, dtype="float64", ensure_min_features=0)
        if Z.shape[1] != self.n_components_:
            raise DomainError(
                f"scores of shape {Z.shape} were given; there are {self.n_components_} components, so shape (m, "
                f"{self.n_components_}) is accepted. Give what transform returns."
            )
        if isinstance(self.preimage, RidgeMap):
            return self.preimage_map_(_some_column(Z)).reshape(len(Z), -1)
        samples, coef = self._atoms()
        if not isinstance(samples, Vectors):
            raise _no_points(self.kernel_)
        images = Images(self.kernel_, self.kernel_.prepare(samples), coef, np.column_stack([np.ones(len(Z)), Z]))
        method = self.preimage or preimage_method(self.kernel_)
        found = method.solve(images, start, self._resources())
        if found.unfinished:
            warn_caller(
                f"{found.unfinished} of {len(Z)} pre-images had not settled after {found.iterations} steps of "
                f"{type(method).__name__}. Raise its max_iter, or its tol.",
                ConvergenceWarning,
            )
        return found.points

    def _learn_map(self, S: Samples, w: Floats, used: Indices) -> Any:
        """Learn the map from scores to samples."""
        if not isinstance(S, Vectors):
            raise _no_points(self.kernel_)
        assert isinstance(self.preimage, RidgeMap)
        scores = (self.eigenvectors_ * np.sqrt(self.eigenvalues_))[used]
        return self.preimage.learn(_some_column(scores), dense(S), w)


def _part(function: Any, columns: slice, intercept: Floats) -> Any:
    """Return some outputs of a function."""
    if isinstance(function, FeatureExpansion):
        return replace(function, weights=np.ascontiguousarray(function.weights[:, columns]), intercept=intercept)
    return replace(function, coef=np.ascontiguousarray(function.coef[:, columns]), intercept=intercept)


def _some_column(scores: Floats) -> Floats:
    """Return scores; where there is no component, a column that says nothing."""
    return scores if scores.shape[1] else np.zeros((len(scores), 1))


def _no_points(kernel: Any) -> CapabilityError:
    return CapabilityError(
        f"a pre-image was asked for with {kernel!r:.200}, whose samples are not vectors; a point can be moved only "
        "in a space of numbers. Use a kernel on vectors, or look for the training sample of the nearest scores."
    )
