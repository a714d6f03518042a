r"""Invariant features: simultaneous diagonalisation of what data do and what noise does.

Symbols: C the covariance of the data and B that of noise, both in coordinates F of feature space; u a direction,
w_i sample weights, M the number of pairs of a sample and a variant of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.callback import with_callbacks

from mercer.arrays import Floats, Indices
from mercer.constraints import Integer, Positive
from mercer.domains import Samples
from mercer.errors import DomainError
from mercer.estimators.contrasts import FeatureExtractor
from mercer.estimators.directions import decomposed
from mercer.estimators.estimator import weighted
from mercer.estimators.running import Run, whole
from mercer.gram import Gram, GramSpec
from mercer.numerics.background import in_background
from mercer.numerics.eigen import eigh_in_place
from mercer.numerics.tiling import blas_for
from mercer.problems import Solution, Status

__all__ = ["InvariantComponents"]

_EPS = float(np.finfo(float).eps)


class InvariantComponents(FeatureExtractor):
    r"""Invariant features: directions in which the data vary much and their disturbed copies stay together.

    .. math:: \max_u \frac{u^\top C u}{u^\top (B + \alpha I) u}, \qquad
        B = \frac1M \sum_j w_j \, (\Phi(\tilde x_j) - \Phi(x_j)) (\Phi(\tilde x_j) - \Phi(x_j))^\top

    The covariance of the data and that of the noise become diagonal together.

    Seed: [HSS] Section 3.3.1 (invariant feature extraction, Mika et al. 2003). Ledger: U-INVFEAT.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples.
    n_components : int, default 2
    alpha : float, default 0.01
        The part of k(x, x)'s mean that is added to the noise in every direction. Positive.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's words.
    gram : GramSpec, optional
        How K of samples and variants together is held.
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
    variants. Cost one eigendecomposition of samples and variants together.

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

    own_constraints = {"n_components": Integer(1), "alpha": Positive()}

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
        sample_weight : (n,) array, optional
            Not negative; a sample of weight w counts as w copies.
        variants : raw data or packed samples, optional
            n disturbed copies of the samples in their order, or a multiple of n: copies of all, one after another.

        Returns
        -------
        self
        """
        with whole(self):
            self._check_parameters()
            run = Run(self)
            packed, kernel = self._pack(X)
            S, _, w, used = weighted(packed, np.zeros(len(packed)), sample_weight)
            run.begin(X, y)
            self.kernel_ = kernel.learn(S, None, w)
            both, copies = self._joined(S, variants, used, len(packed))
            K = self._represent(self.kernel_, both, run)
            with run.stage("simultaneous diagonalisation", 0.95):
                found = decomposed(K, np.ones(len(both)), False, run.deadline)
                self._diagonalise(K, found, w, copies, run.deadline)
            self._warn_nothing(len(S))
            run.end(X, y)
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


def _simultaneous(own: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """Return ascending ratios of own^T own and noise, and the directions, in which noise is one."""
    L = np.linalg.cholesky(noise)
    M = np.linalg.solve(L, own.T)
    square = M @ M.T
    values = eigh_in_place(square)
    return values, np.linalg.solve(L.T, square.T)
