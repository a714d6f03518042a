r"""Invariant features: simultaneous diagonalisation of what data do and what noise does.

Symbols: C the covariance of the data and B that of noise, both in coordinates F of feature space; u a direction,
w_i sample weights, M the number of pairs of a sample and a variant of it.

By products alone: C = S S^T and B = D D^T, whose columns are sums of images of samples and variants. The ratios are the
eigenvalues of S^T (D D^T + l)^-1 S, and (D D^T + l)^-1 = (1 - D (D^T D + l)^-1 D^T) / l asks for linear systems that
are well conditioned, which conjugate gradients solve.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.callback import with_callbacks

from mercer.arrays import Floats, Indices
from mercer.budget import Plan
from mercer.constraints import Integer, Positive
from mercer.domains import Samples, Vectors
from mercer.domains.samples import kind_of
from mercer.errors import ConvergenceWarning, DomainError, warn_caller
from mercer.estimators.directions import FEW, decomposed, is_whole, krylov_bytes
from mercer.estimators.estimator import unwatched
from mercer.estimators.fits import Run, fitting
from mercer.estimators.geometry.contrasts import FeatureExtractor
from mercer.estimators.parameter_gradients import rank_of
from mercer.gram import Gram, GramSpec
from mercer.gram.gram import is_stored
from mercer.kernels.kernel import overflow_error
from mercer.numerics.block_conjugate import block_solve
from mercer.numerics.block_krylov import leading_eigenpairs
from mercer.numerics.eigen import eigh_in_place
from mercer.problems import Solution, Status
from mercer.runtime.tiling import blas_for, in_background, serial_blas

__all__ = ["InvariantComponents"]
__public__ = __all__

_EPS = float(np.finfo(float).eps)
_TOL = 1e-9  # of the ratios' residuals, relative to the largest; the systems inside are solved to a tenth of it
_MOST = 300  # products with S^T (B + l)^-1 S, and steps of conjugate gradients in each


class InvariantComponents(FeatureExtractor):
    r"""Invariant features: directions in which the data vary much and their disturbed copies stay together.

    .. math:: \max_u \frac{u^\top C u}{u^\top (B + \alpha I) u}, \qquad
        B = \frac1M \sum_j w_j \, (\Phi(\tilde x_j) - \Phi(x_j)) (\Phi(\tilde x_j) - \Phi(x_j))^\top

    The covariance of the data and that of the noise become diagonal together.

    Seed: [HSS] Section 3.3.1 (invariant feature extraction, Mika et al. 2003).

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples.
    n_components : int, default 2
    alpha : float, default 0.01
        The part of k(x, x)'s mean that is added to the noise in every direction. Positive.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K of samples and variants together is held. With ``Tiles()`` it is multiplied only, and never stored.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    ratios_ : (q,) array
        Variance of the data over that of the noise, ridge included, along each direction.
    n_components_ : int
    expansion_ : Expansion or FeatureExpansion
        The features as functions. Over the training samples they have mean zero and are uncorrelated; noise and ridge
        together have variance one in each.
    kernel_, gram_ : the objects that None was resolved to

    Notes
    -----
    Without variants the directions are those of kernel PCA. A sample of weight w counts as w copies, each with its
    variants. Cost one eigendecomposition of samples and variants together, N of them, with three N x N arrays; from a
    factor of rank r O(N r^2); with ``Tiles()`` and more than 500, some ten rounds of some ten products with K.

    Examples
    --------
    >>> from mercer import InvariantComponents
    >>> from mercer.kernels import Linear
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 2)) * [3.0, 1.0]
    >>> model = InvariantComponents(Linear(), 1).fit(X, variants=X + [2.0, 0.0])  # shifts along the first column
    >>> bool(abs(np.corrcoef(model.transform(X)[:, 0], X[:, 1])[0, 1]) > 0.99)
    True
    """

    constraints = {"n_components": Integer(1), "alpha": Positive()}

    def __init__(
        self,
        kernel: Any = None,
        n_components: int = 2,
        *,
        alpha: float = 0.01,
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
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, variants: Any = None) -> InvariantComponents:
        """Find the directions.

        Parameters
        ----------
        X : raw data or packed samples
        y : ignored
            Targets, as a pipeline gives them. What looks like samples is refused: variants are given by their name.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.
        variants : raw data or packed samples, optional
            n disturbed copies of the samples in their order, or a multiple of n: copies of all, one after another.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight) as (run, kernel, packed, S, _, w, used):
            _require_target(y, packed)
            self.kernel_ = kernel.learn(S, None, w)
            both, copies = self._joined(S, variants, used, len(packed))
            K = self._represent(self.kernel_, both, run)
            with run.stage("simultaneous diagonalisation", 0.95):
                if is_whole(K):
                    found = decomposed(K, np.ones(len(both)), False, run.deadline)
                    self._diagonalise(K, found, w, copies, run.deadline)
                else:
                    self._by_products(K, w, copies, run)
            self._warn_nothing(len(S))
        return self

    def _joined(self, S: Samples, variants: Any, used: Indices, n: int) -> tuple[Samples, int]:
        """Return samples with their variants behind them, and how many variants each has."""
        if variants is None:
            return S, 0
        V = self.kernel_.pack(variants)
        copies, rest = divmod(len(V), n)
        if rest or not copies:
            raise DomainError(
                f"{len(V)} variants were given for {n} samples; n of them, or a multiple of n, are accepted: variant "
                "j belongs to sample j modulo n. Give one variant of every sample, or several rounds of them."
            )
        places = np.concatenate([round_ * n + used for round_ in range(copies)])
        return S.concat(V.take(places)), copies

    def _diagonalise(self, K: Gram, found: Any, w: Floats, copies: int, deadline: float | None) -> None:
        """Find directions in the coordinates of all principal directions of samples and variants."""
        real = int(np.sum(found.values > found.floor))
        found = found.first(real, np.ones(len(found.means)))
        n, share = len(w), w / w.sum()
        F = found.vectors * np.sqrt(found.values)
        mean = share @ F[:n]
        own = (F[:n] - mean) * np.sqrt(share)[:, None]
        noise = np.zeros((real, real))
        for place in range(1, copies + 1):
            D = (F[place * n : (place + 1) * n] - F[:n]) * np.sqrt(share / copies)[:, None]
            noise += D.T @ D
        level = self.alpha * float(share @ np.einsum("ij,ij->i", F[:n], F[:n]))
        noise[np.diag_indices(real)] += level or 1.0
        with blas_for(real):
            values, U = in_background(_simultaneous, own, noise, work=10.0 * real**3, deadline=deadline)
        floor = len(F) * _EPS / self.alpha  # no ratio is above 1 / alpha
        q = min(self.n_components, int(np.sum(values > floor)))
        U = U[:, ::-1][:, :q]
        signs = F[:n] @ U - mean @ U
        U = U * np.where(signs[np.argmax(np.abs(signs), axis=0), np.arange(q)] < 0.0, -1.0, 1.0)
        self.ratios_, self.n_components_ = values[::-1][:q].copy(), q
        if q:
            coef = found.vectors / np.sqrt(found.values) @ U
            inner = None if found.weights is None else found.weights @ U
            self.expansion_ = K.expand(Solution(coef, Status.CONVERGED, 0.0, weights=inner), -mean @ U)

    def _by_products(self, K: Gram, w: Floats, copies: int, run: Run) -> None:
        """Find directions as sums of images, by products with K alone."""
        n, share = len(w), w / w.sum()
        monitor = run.solver_monitor(_TOL) if run.watched else None
        unwatched(K)
        level = self.alpha * float(share @ K.diag()[:n]) or 1.0
        problem = _Products(K, share, copies, level)
        with serial_blas():  # products have threads of their own
            pairs = leading_eigenpairs(
                problem.ratio, n, min(self.n_components, n), tol=_TOL, max_iter=_MOST, monitor=monitor
            )
        if not np.isfinite(pairs.values).all():
            raise overflow_error(self.kernel_)
        floor = len(share) * (copies + 1) * _EPS / self.alpha  # no ratio is above 1 / alpha
        q = int(np.sum(pairs.values > np.maximum(pairs.residuals, floor)))
        if q and not (pairs.converged and problem.settled):
            status = Status.TIME if run.clock.expired else Status.STOPPED if run.asked_to_stop else Status.MAX_ITER
            warn_caller(
                f"The directions stopped at residual {float(pairs.residuals.max()):.3g}. {status.value}",
                ConvergenceWarning,
            )
        self.ratios_, self.n_components_ = pairs.values[:q].copy(), q
        if q:
            coef = problem.coefficients(pairs.vectors[:, :q]) / np.sqrt(self.ratios_)
            scores = np.asarray(K @ coef)[:n]
            mean = share @ scores
            scores -= mean
            sign = np.where(scores[np.argmax(np.abs(scores), axis=0), np.arange(q)] < 0.0, -1.0, 1.0)
            self.expansion_ = K.expand(Solution(coef * sign, Status.CONVERGED, 0.0), -mean * sign)

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes; samples are those and their variants together."""
        plan, q = super().memory_plan(n_samples, n_features, self.n_components), min(self.n_components, n_samples)
        spec = self._planned_gram(n_samples)
        if spec.low_rank:
            own = {"work space": 24 * n_samples * rank_of(spec, n_samples, n_features)}
        elif is_stored(spec) or n_samples <= FEW:
            own = {"work space": 24 * n_samples**2}
        else:  # seven arrays of conjugate gradients, and their products
            own = {"bases": krylov_bytes(n_samples, q), "systems": 128 * n_samples * (5 * q // 4 + 8)}
        return Plan(plan.what, {**plan.buffers, **own}, (*plan.options, "gram=Tiles()"))


def _require_target(y: Any, S: Samples) -> None:
    """Raise DomainError if samples are given in the place of targets, which are ignored: they are meant as variants."""
    if y is None:
        return
    try:
        shape = np.asarray(y).shape
    except ValueError:  # lists of different lengths
        shape = ()
    if isinstance(S, Vectors):
        alike = S.width > 1 and shape[1:] == (S.width,)
    else:
        texts = isinstance(y, (list, tuple, np.ndarray)) and all(isinstance(one, str) for one in y)
        alike = texts and len(set(y)) == len(S)  # a class of its own for each sample is no target
    if alike or isinstance(y, Samples) or shape[:1] != (len(S),):
        raise DomainError(
            f"fit(X, y) was given y of type {kind_of(y)}, which is not a target of {len(S)} samples; "
            "InvariantComponents ignores targets, and variants are given by name. Call fit(X, variants=...)."
        )


class _Products:
    """S^T (D D^T + l)^-1 S, known by products with K of samples and, behind them, their variants in rounds."""

    def __init__(self, K: Gram, share: Floats, copies: int, level: float) -> None:
        self.K, self.share, self.copies, self.level = K, share, copies, level
        self.own, self.pair = np.sqrt(share)[:, None], np.sqrt(share / max(copies, 1))[:, None]
        self.settled = True

    def _spread(self, V: Floats) -> Floats:
        """Return S V as coefficients on all samples, (N, k): of centred images."""
        out = np.zeros(((self.copies + 1) * len(V), V.shape[1]))
        out[: len(V)] = self.own * V - np.outer(self.share, self.own[:, 0] @ V)
        return out

    def _gathered(self, F: Floats) -> Floats:
        """Return S^T of what has the values F at all samples."""
        own = F[: len(self.share)]
        return self.own * (own - self.share @ own)

    def _moved(self, V: Floats) -> Floats:
        """Return D V as coefficients on all samples; V has a row for each pair."""
        n = len(self.share)
        parts = self.pair * V.reshape(self.copies, n, -1)
        return np.concatenate([-parts.sum(axis=0), parts.reshape(self.copies * n, -1)])

    def _motions(self, F: Floats) -> Floats:
        """Return D^T of what has the values F at all samples."""
        n = len(self.share)
        rest = F[n:].reshape(self.copies, n, -1)
        return (self.pair * (rest - F[:n])).reshape(self.copies * n, -1)

    def coefficients(self, V: Floats) -> Floats:
        """Return (D D^T + l)^-1 S V as coefficients on all samples."""
        out = self._spread(V)
        if self.copies:

            def product(W: Floats) -> Floats:
                return self._motions(np.asarray(self.K @ self._moved(W))) + self.level * W

            right = self._motions(np.asarray(self.K @ out))
            found = block_solve(product, right, tol=0.1 * _TOL, max_iter=_MOST)
            self.settled &= found.converged
            out -= self._moved(found.solutions)
        return out / self.level

    def ratio(self, V: Floats) -> Floats:
        """Return S^T (D D^T + l)^-1 S V."""
        return self._gathered(np.asarray(self.K @ self.coefficients(V)))


def _simultaneous(own: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """Return ascending ratios of own^T own and noise, and the directions, in which noise is one."""
    L = np.linalg.cholesky(noise)
    M = np.linalg.solve(L, own.T)
    square = M @ M.T
    values = eigh_in_place(square)
    return values, np.linalg.solve(L.T, square.T)
