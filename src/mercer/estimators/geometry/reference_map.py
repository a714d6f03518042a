r"""Kernel maps with a reference point: coordinates from linear systems, one sample being put where the user says.

Symbols: z (n,) one coordinate of all samples, S = D^-1 A the means over neighbours, s a scale, r the reference sample
and t its place; f(x) = sum_i beta_i k(x, x_i) / nu + b the function of new samples, e_i = z_i - f(x_i).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import with_callbacks

from mercer.arrays import Floats, real_numbers
from mercer.budget import Plan
from mercer.constraints import InstanceOf, Integer, Interval, OneOf, Optional, Positive
from mercer.domains import Similarities
from mercer.errors import ConvergenceWarning, NotPositiveDefinite, ParameterError, warn_caller
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.fits import Run, fitting
from mercer.estimators.geometry.manifolds import AffinityEstimator, degrees_of
from mercer.gram import Gram, GramSpec, IncompleteCholesky, Nystrom, RandomFeatures, SparseGreedy
from mercer.gram.gram import is_low_rank
from mercer.gram.low_rank.factor import FactorGram
from mercer.kernels import Kernel
from mercer.kernels.kernel import overflow_error
from mercer.numerics.block_conjugate import block_solve
from mercer.numerics.cholesky import safe_cholesky
from mercer.problems import Solution, Status
from mercer.runtime.tiling import in_background

__all__ = ["ReferencePointMap"]
__public__ = __all__

_Found = tuple[Floats, Floats, Floats]  # z, beta and b of all coordinates
_OPTIONS = ("gram=Nystrom(500)",)
_LOW = Nystrom, IncompleteCholesky, SparseGreedy, RandomFeatures
_ARRAYS = 56  # bytes for each pair of samples: seven arrays at a time
_TOL = 1e-11  # residual of conjugate gradients
_LIMIT = 20_000  # of their iterations


class ReferencePointMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, AffinityEstimator):
    r"""Kernel map with a reference point: a picture of samples by linear systems instead of eigenvectors.

    For each coordinate, with a scale s and the place t of the reference sample r,

    .. math:: \min_{z, f, b} \; \tfrac12 \|z - s S z\|^2 - \tfrac{\gamma}{2} \|z\|^2 + \tfrac{\nu}{2} \|f\|^2
        + \tfrac{\eta}{2} \sum_{i \ne r} (z_i - f(x_i) - b)^2 + \tfrac{\eta}{2} (z_r - t)^2

    A sample should be at s times the mean of its neighbours, near the value of a least-squares support vector machine
    that extends the map to new samples. Different scales give different coordinates: a scale near 1 varies once
    along the data, a larger one sooner. Eliminating f and b leaves one symmetric linear system in z, whose right-hand
    side is the reference point alone.

    Seed: [SS] Section 3.4.2 [117], which names the method. Here S holds means, each row summing to one, so that scales
    do not depend on how many neighbours there are.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        Kernel of f, and of the neighbours. None is the Gaussian at the median distance between training samples.
    reference : tuple of float, default (1.0, -1.0)
        Where the reference sample is put: one number, not zero, for each coordinate.
    scales : tuple of float, default (1.02, 1.1)
        s of each coordinate, positive.
    reference_index : int, default 0
        r.
    eta, nu : float, default 1.0, 0.01
        Weights of the errors e, and of the length of f. Positive.
    repulsion : float, default 0.0
        gamma, not negative; it pushes samples away from the origin. Too large a one leaves no minimum, and is refused.
    n_neighbors : int or None, default 10
        Over which means are taken. None takes all samples, weighted by the kernel.
    weights : {"one", "kernel"}, default "one"
        Weight of a neighbour in a mean.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held while it is built. At low rank, `Nystrom` for example, the systems are solved by conjugate
        gradients, and no n x n array is formed; of any other kind, ``Tiles()`` too, the whole of K is.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    embedding_ : (n, q) array
        z. `transform` of a training sample is f, which differs from it by e.
    errors_ : (n, q) array
        e; at the reference sample z_r - t.
    dual_coef_ : (n, q) array
        beta / nu = eta e / nu; zero at the reference sample.
    expansion_ : Expansion or FeatureExpansion
        f + b.
    kernel_, gram_ : the objects that None was resolved to

    Notes
    -----
    Cost one inverse of order n and a factorisation for each coordinate; seven n x n arrays. With a Gram of rank r some
    hundred products of O(n r) for each coordinate instead.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators.geometry.reference_map import ReferencePointMap
    >>> from mercer.kernels import Gaussian
    >>> x = np.linspace(0.0, 1.0, 60)
    >>> curve = np.column_stack([np.cos(4 * x), np.sin(4 * x), 0.3 * x])
    >>> model = ReferencePointMap(Gaussian(1.0), reference=(1.0,), scales=(1.02,)).fit(curve)
    >>> bool(np.corrcoef(model.embedding_[:, 0], x)[0, 1] < -0.9)  # away from the reference sample, along the curve
    True
    """

    highest_order = 0
    constraints = {
        "reference": InstanceOf(tuple, list, np.ndarray),
        "scales": InstanceOf(tuple, list, np.ndarray),
        "reference_index": Integer(0),
        "eta": Positive(),
        "nu": Positive(),
        "repulsion": Interval(0.0, np.inf, closed="left"),
        "n_neighbors": Optional(Integer(1)),
        "weights": OneOf("one", "kernel"),
    }

    def __init__(
        self,
        kernel: Any = None,
        reference: Any = (1.0, -1.0),
        *,
        scales: Any = (1.02, 1.1),
        reference_index: int = 0,
        eta: float = 1.0,
        nu: float = 0.01,
        repulsion: float = 0.0,
        n_neighbors: int | None = 10,
        weights: str = "one",
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.reference = reference
        self.scales = scales
        self.reference_index = reference_index
        self.eta = eta
        self.nu = nu
        self.repulsion = repulsion
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _check_order(self, kernel: Kernel) -> None:
        KernelEstimator._check_order(self, kernel)  # f lives in the kernel's space

    def _check_definite(self, S: Similarities) -> None:
        KernelEstimator._check_definite(self, S)

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> ReferencePointMap:
        """Find the map.

        Parameters
        ----------
        X : raw data or packed samples
        y : ignored

        Returns
        -------
        self
        """
        with fitting(self, X, y) as (run, kernel, _, S, *_):
            places, scales = self._places()
            self._require_plan(kernel, S)
            if self.reference_index >= len(S):
                raise ParameterError(
                    f"reference_index={self.reference_index} was given for {len(S)} samples; it must be the number of "
                    "one of them, the first being 0. Give a smaller one."
                )
            self.kernel_ = kernel.learn(S, None, np.ones(len(S)))
            A = self._tie(self.kernel_, S, run, 0.3)
            means = self._means(A, len(S))
            K = self._represent(self.kernel_, S, run, 0.5)
            with run.stage("linear systems", 0.99):
                self._map(K, means, places, scales, run)
        return self

    def _places(self) -> tuple[Floats, Floats]:
        """Return the places of the reference sample, and the scales, checked."""
        try:
            places, scales = real_numbers(self.reference, "reference"), real_numbers(self.scales, "scales")
        except (TypeError, ValueError):
            places = scales = np.zeros(0)
        fine = places.ndim == 1 and len(places) > 0 and places.shape == scales.shape
        if not fine or not np.isfinite([places, scales]).all() or np.any(places == 0.0) or np.any(scales <= 0.0):
            raise ParameterError(
                f"reference={self.reference!r} and scales={self.scales!r} were given; there must be one number that is "
                "not zero and one positive scale for each coordinate. Use for example (1.0, -1.0) and (1.02, 1.1)."
            )
        return places, scales

    def _means(self, A: Any, n: int) -> Any:
        """Return S, dense or sparse; a sample is not its own neighbour."""
        if not isinstance(A, Gram):
            return (A / degrees_of(A, np.ones(n))[:, None]).tocsr()
        if is_low_rank(A):
            return _OtherMeans(A)
        table = np.array(A.to_dense())
        np.fill_diagonal(table, 0.0)
        return table / degrees_of(table, np.ones(n))[:, None]

    def _map(self, K: Gram, means: Any, places: Floats, scales: Floats, run: Run) -> None:
        r = self.reference_index
        if is_low_rank(K):
            Z, beta, b = self._by_products(K, means, places, scales, run)
        else:
            Z, beta, b = self._directly(K, means, places, scales, run)
        coef = beta / self.nu
        f = np.asarray(K @ coef) + b
        self.embedding_, self.dual_coef_ = Z, coef
        self.errors_ = Z - f
        self.errors_[r] = Z[r] - places
        self.expansion_ = K.expand(Solution(coef, Status.CONVERGED, 0.0), b)

    def _by_products(self, K: FactorGram, means: Any, places: Floats, scales: Floats, run: Run) -> _Found:
        """Solve the systems of a Gram of low rank by conjugate gradients; nothing of n x n numbers is formed."""
        n, r = K.shape[0], self.reference_index
        left = _LeftOver(K, r, self.nu / self.eta)
        Z = np.empty((n, len(places)))
        for column, (t, s) in enumerate(zip(places, scales, strict=True)):
            rhs = np.zeros((n, 1))
            rhs[r] = self.eta * t

            def product(V: Floats, s: float = s) -> Floats:
                D = V - s * (means @ V)
                out = D - s * (means.T @ D) - self.repulsion * V + self.eta * left(V)
                out[r] += self.eta * V[r]
                return out

            try:
                found = block_solve(product, rhs, tol=_TOL, max_iter=_LIMIT, monitor=run.solver_monitor(_TOL))
            except NotPositiveDefinite as error:
                raise self._endless() from error
            if not found.converged:
                self._warn(float(found.residuals.max()), run)
            Z[:, column] = found.solutions[:, 0]
        return Z, self.eta * left(Z), left.level(Z)

    def _directly(self, K: Gram, means: Any, places: Floats, scales: Floats, run: Run) -> _Found:
        """Solve the systems as dense ones."""
        n, r = K.shape[0], self.reference_index
        what = f"{type(self).__name__} on {n} samples"
        Plan(what, {"linear systems": _ARRAYS * n * n}, _OPTIONS).require(self.memory)
        others = np.delete(np.arange(n), r)
        table = K.to_dense()[np.ix_(others, others)] / self.nu
        table[np.diag_indices(n - 1)] += 1.0 / self.eta
        try:
            inverse = in_background(np.linalg.inv, table, work=2.0 * n**3, deadline=run.deadline)
        except np.linalg.LinAlgError:
            raise overflow_error(self.kernel_) from None  # beside so large a K the ridge is rounding
        del table
        sums = inverse.sum(axis=1)
        # e = R z / eta: what least squares with an intercept leaves of z
        R = np.zeros((n, n))
        inverse -= np.outer(sums, sums / sums.sum())
        R[np.ix_(others, others)] = inverse
        del inverse
        R = 0.5 * (R + R.T)
        square = np.asarray((means.T @ means).toarray() if hasattr(means, "toarray") else means.T @ means)
        both = np.asarray((means + means.T).toarray() if hasattr(means, "toarray") else means + means.T)
        Z = np.empty((n, len(places)))
        for column, (t, s) in enumerate(zip(places, scales, strict=True)):
            H = R + s * s * square - s * both
            H[np.diag_indices(n)] += 1.0 - self.repulsion
            H[r, r] += self.eta
            Z[:, column] = self._minimum(H, self.eta * t, run)
        return Z, R @ Z, sums @ Z[others] / sums.sum()

    def _minimum(self, H: Floats, pull: float, run: Run) -> Floats:
        """Return the z that minimises z^T H z / 2 - pull z_r; H must be positive definite."""
        try:
            in_background(np.linalg.cholesky, H, work=float(len(H)) ** 3 / 3.0, deadline=run.deadline)
        except np.linalg.LinAlgError as error:
            raise self._endless() from error
        right = np.zeros(len(H))
        right[self.reference_index] = pull
        return in_background(np.linalg.solve, H, right, work=float(len(H)) ** 3, deadline=run.deadline)

    def _endless(self) -> ParameterError:
        return ParameterError(
            f"repulsion={self.repulsion!r} was given; so large a one leaves the problem without a minimum: samples "
            "are pushed away without end. Use a smaller one, or 0."
        )

    def _warn(self, residual: float, run: Run) -> None:
        status = Status.TIME if run.clock.expired else Status.STOPPED if run.asked_to_stop else Status.MAX_ITER
        warn_caller(f"The map stopped at residual {residual:.3g}. {status.value}", ConvergenceWarning)

    def transform(self, X: Any) -> Floats:
        """Return f + b at new data, shape (m, q).

        Parameters
        ----------
        X : raw data or packed samples
        """
        return self._evaluate(X)

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        plan = KernelEstimator.memory_plan(self, n_samples, n_features, len(self.scales))
        if isinstance(self._planned_gram(n_samples), _LOW):
            return Plan(plan.what, {**plan.buffers, "linear systems": 96 * n_samples}, plan.options)
        return Plan(plan.what, {**plan.buffers, "linear systems": _ARRAYS * n_samples**2}, _OPTIONS)

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]


class _OtherMeans:
    """Means over all other samples, weighted by a kernel of low rank: S = D^-1 (K - diag K), or its transpose."""

    def __init__(self, K: Any) -> None:
        self.K, self.own = K, K.diag()
        self.degrees = degrees_of(_Products(self._weights), np.ones(len(self.own)))
        self.transposed = False

    def _weights(self, V: Floats) -> Floats:
        return np.asarray(self.K @ V) - (self.own * V.T).T

    @property
    def T(self) -> _OtherMeans:
        """The transpose."""
        other = copy.copy(self)
        other.transposed = not self.transposed
        return other

    def __matmul__(self, V: Floats) -> Floats:
        if self.transposed:
            return self._weights((V.T / self.degrees).T)
        return (self._weights(V).T / self.degrees).T


class _Products:
    """A matrix known by its products."""

    def __init__(self, product: Callable[[Floats], Floats]) -> None:
        self.product = product

    def __matmul__(self, V: Floats) -> Floats:
        return self.product(V)


class _LeftOver:
    """What is left of given values after ridge regression with an intercept on all samples but one; zero at that one.

    The inverse of F F^T / c + 1 is 1 - F (F^T F + c)^-1 F^T; ``c`` is nu / eta.
    """

    def __init__(self, K: FactorGram, apart: int, c: float) -> None:
        self.K, self.apart = K, apart
        w = np.ones(K.shape[0])
        w[apart] = 0.0
        self.factor = safe_cholesky(K.normal(w, w)[0], c)
        self.sums = self._inverse(w[:, None])[:, 0]

    def _inverse(self, V: Floats) -> Floats:
        V = V.copy()
        V[self.apart] = 0.0
        found = V - self.K.times(self.factor.solve(self.K.moment(V)))
        found[self.apart] = 0.0
        return found

    def level(self, V: Floats) -> Floats:
        """The intercepts, (k,)."""
        return self.sums @ V / self.sums.sum()

    def __call__(self, V: Floats) -> Floats:
        return self._inverse(V) - np.multiply.outer(self.sums, self.level(V))
