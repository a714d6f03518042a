r"""Kernel dimension reduction: the projection that keeps all that samples say about their targets.

Symbols: X the samples, (n, d), each column scaled to variance 1; V orthonormal rows, (m, d); U = X V^T; K~ and L~
centred Gram matrices of U and of the targets, E and H their factors; w_i weights, N their sum, c = N epsilon.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from mercer.arrays import Floats
from mercer.budget import Plan
from mercer.constraints import Integer, Interval, Positive
from mercer.domains import Samples, Vectors
from mercer.errors import DomainError, ParameterError, warn_caller
from mercer.estimators.dependence.dependence_selection import target_samples
from mercer.estimators.dependence.factor_gradients import MovingFactor, check_movable
from mercer.estimators.estimator import KernelEstimator, pack_vectors, remember_columns
from mercer.estimators.fits import Run, fitting
from mercer.kernels import Gaussian, Kernel
from mercer.kernels.foreign import any_kernel
from mercer.kernels.kernel import AnyKernel
from mercer.kernels.vectors.pointwise import dense
from mercer.numerics.pivoting import pivoted_cholesky
from mercer.problems import Status
from mercer.runtime.tiling import serial_blas
from mercer.solvers.smooth.rotations import FrameMinimum, minimize_frame, projected, random_frame, require_squares

__all__ = ["KernelDimensionReduction"]
__public__ = __all__

_FACTOR_TOL = 1e-7
_HUGE = 1e100  # its square is finite
_SETTLED = 1e-3


class KernelDimensionReduction(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    r"""Kernel dimension reduction: few directions, given which the targets do not depend on the rest of the samples.

    .. math:: \min_{V V^\top = I} \; \operatorname{tr}\big( \tilde L \, (\tilde K_V + n \epsilon I)^{-1} \big),
        \qquad (K_V)_{ij} = k(V x_i, V x_j)

    What is minimised is the conditional covariance of the targets' images given the projection. Nothing is assumed of
    the law of the samples, nor of how targets depend on them.

    Seed: [KIKS] Section 7, reference [91] (Fukumizu, Bach and Jordan).

    Parameters
    ----------
    n_components : int, default 1
        m, directions.
    kernel : Kernel, str, function or None, default None
        Compares projections; with a derivative in its inputs. None is the Gaussian of length scale sqrt(m): columns
        are scaled to variance 1.
    target_kernel : Kernel, str, function or None, default None
        Compares targets. None: labels are equal or not; numbers by the Gaussian at their median distance.
    epsilon : float, default 1e-3
        Ridge, relative to n. Positive.
    n_init : int, default 3
        Searches: the first from the directions of sliced inverse regression's relative, the linear dependence, the
        others from random frames. The best is kept.
    max_iter : int, default 200
    tol : float, default 1e-4
        Tolerance of the gradient over the frames, per radian, relative to the value.
    rank : int, default 200
        Columns of the incomplete factors at most.
    random_state : int, RandomState or None, default None
        None is 0.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    components_ : (m, d) array
        Rows take centred samples to projections; orthonormal for columns scaled to variance 1.
    frame_ : (m, d) array
        V.
    mean_, scale_ : (d,) arrays
    value_, residual_ : float
        Value of what is minimised, and residual of its gradient.
    values_ : (t,) array
        At the end of each search.
    n_iter_ : int
        Steps of the best search, at least 1.
    kernel_, target_kernel_ : Kernel

    Notes
    -----
    A sample of weight w counts as w copies. Only the span of the directions is determined by a radial kernel. Cost
    O(n r^2 + n d m) a step.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(150, 4))
    >>> model = KernelDimensionReduction(1).fit(X, np.abs(X[:, 2]))
    >>> np.abs(model.frame_).round(1) + 0.0
    array([[0., 0., 1., 0.]])
    """

    synonyms = ("KDR", "sufficient dimension reduction")
    constraints = {
        "n_components": Integer(1),
        "kernel": AnyKernel(),
        "target_kernel": AnyKernel(),
        "epsilon": Positive(),
        "n_init": Integer(1),
        "max_iter": Integer(1),
        "tol": Interval(0.0, 1.0, closed="left"),
        "rank": Integer(1),
    }

    def __init__(
        self,
        n_components: int = 1,
        kernel: Any = None,
        *,
        target_kernel: Any = None,
        epsilon: float = 1e-3,
        n_init: int = 3,
        max_iter: int = 200,
        tol: float = 1e-4,
        rank: int = 200,
        random_state: Any = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.target_kernel = target_kernel
        self.epsilon = epsilon
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.rank = rank
        self.random_state = random_state
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelDimensionReduction:
        """Find the directions.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or packed vectors
        y : (n,) or (n, k) array, or data that ``target_kernel`` compares
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, pack=self._vectors) as (run, _, packed, S, _, w, used):
            target_kernel, targets = target_samples(y, self.target_kernel, len(packed))
            targets = targets.take(used) if len(used) < len(packed) else targets
            self.memory_plan(len(S), packed.width).require(self.memory)
            Z = self._standardise(dense(S), w)
            self.kernel_ = self._resolved(Z, w)
            self.target_kernel_ = target_kernel.learn(targets, None, w)
            H = self._target_factor(targets, w)
            best = self._minimise(Z, H, w, run)
            self.frame_ = best.frame
            self.components_ = best.frame / self.scale_
            self.value_, self.residual_, self.n_iter_ = best.value, best.residual, max(best.iterations, 1)
        return self

    def transform(self, X: Any) -> Floats:
        """Return the projections of new data, shape (m, q).

        Parameters
        ----------
        X : (m, d) array, sparse matrix or packed vectors
        """
        return projected(dense(self._pack_new(X)), self.mean_, self.components_)

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        r = min(self.rank, n_samples)
        own = {"samples": 24 * n_samples * n_features, "factors": 64 * n_samples * r}
        return Plan(f"KernelDimensionReduction on {n_samples} samples", own, ("a lower rank",))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    # steps --------------------------------------------------------------------------------------------

    def _vectors(self, X: Any) -> tuple[Vectors, Any]:
        """Pack the samples, and remember their columns; the kernel compares projections, whatever the samples are."""
        packed = pack_vectors(X, self.kernel)
        remember_columns(self, X, packed, reset=True)
        if self.n_components > packed.width:
            raise ParameterError(
                f"n_components={self.n_components} was given for samples of {packed.width} columns. Use at most "
                f"{packed.width}."
            )
        return packed, self.kernel

    def _standardise(self, X: Floats, w: Floats) -> Floats:
        self.mean_ = np.average(X, axis=0, weights=w)
        centred = X - self.mean_
        require_squares(centred)
        scale = np.sqrt(np.average(centred**2, axis=0, weights=w))
        if not scale.any():
            raise DomainError(f"The {len(X)} samples do not vary. Give samples that differ.")
        self.scale_ = np.where(scale > 1e-12 * scale.max(), scale, 1.0)
        return centred / self.scale_

    def _resolved(self, Z: Floats, w: Floats) -> Kernel:
        if self.kernel is None:
            return Gaussian(float(np.sqrt(self.n_components)))
        kernel = any_kernel(self.kernel, self.n_components)
        check_movable(kernel, type(self).__name__)
        return kernel.learn(Vectors.pack(np.ascontiguousarray(Z[:, : self.n_components])), None, w)

    def _target_factor(self, targets: Samples, w: Floats) -> Floats:
        """Return the centred factor of the targets, (n, r)."""
        kernel = self.target_kernel_
        S = kernel.prepare(targets)
        F = pivoted_cholesky(kernel.diag(S), lambda i: kernel.block(S[i : i + 1], S)[0], self.rank, 1e-9).array
        return np.sqrt(w)[:, None] * (F - np.average(F, axis=0, weights=w))

    def _objective(self, Z: Floats, H: Floats, w: Floats) -> Callable[[Floats], tuple[float, Floats]]:
        """Return tr(L~ (K~ + c I)^-1) / N as a function of the frame."""
        total = float(w.sum())
        c, kernel, rank = total * self.epsilon, self.kernel_, self.rank

        def function(V: Floats) -> tuple[float, Floats]:
            factor = MovingFactor(kernel, Z @ V.T, w, rank, _FACTOR_TOL)
            E = factor.array
            solved = cho_factor(E.T @ E + c * np.eye(E.shape[1]))
            with np.errstate(over="ignore"):
                A = (H - E @ cho_solve(solved, E.T @ H)) / c  # (K~ + c I)^-1 H
                value = float(np.vdot(H, A))
            slope = factor.pullback(-A @ (A.T @ E)) if np.isfinite(value) and value < _HUGE else None
            if slope is None:
                raise ParameterError(
                    f"epsilon={self.epsilon!r} was given; the inverse of K + n epsilon I is too large for "
                    "floating-point numbers. Use a larger one, as 1e-3."
                )
            return value, slope.T @ Z

        return function

    def _minimise(self, Z: Floats, H: Floats, w: Floats, run: Run) -> FrameMinimum:
        m, d = self.n_components, Z.shape[1]
        function = self._objective(Z, H, w)
        rng = check_random_state(0 if self.random_state is None else self.random_state)
        found: list[FrameMinimum] = []
        for start in range(self.n_init):
            if start == 0:  # linear dependence: leading directions of the covariance with the targets' images
                V = np.linalg.svd(H.T @ (np.sqrt(w)[:, None] * Z), full_matrices=True)[2][:m]
            else:
                V = random_frame(rng, m, d)
            with serial_blas(), run.stage("directions", 0.02 + 0.96 * (start + 1) / self.n_init):
                monitor = run.solver_monitor(max(self.tol, 1e-12)) if run.watched else None
                found.append(minimize_frame(function, V, tol=self.tol, max_iter=self.max_iter, monitor=monitor))
            if found[-1].status in (Status.TIME, Status.STOPPED):
                break
        self.values_ = np.array([f.value for f in found])
        best = min(found, key=lambda f: f.value)
        cut = found[-1].status if found[-1].status in (Status.TIME, Status.STOPPED) else best.status
        if cut is not Status.CONVERGED and not (cut is Status.STALLED and best.residual <= _SETTLED):
            warn_caller(
                f"KernelDimensionReduction stopped after {len(found)} of {self.n_init} searches at residual "
                f"{best.residual:.3g}; {self.tol:.1g} was wanted. {cut.value}",
                ConvergenceWarning,
            )
        return best
