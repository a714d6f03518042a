r"""Features of a kernel in few dimensions, for linear methods and for pipelines.

Symbols: F (n, r) with F F^T ~ K.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import with_callbacks

from mercer.arrays import Floats
from mercer.budget import Plan
from mercer.errors import CapabilityError
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.fits import fitting
from mercer.gram import GramSpec, Nystrom
from mercer.gram.gram import is_low_rank

__all__ = ["KernelFeatures"]
__public__ = __all__

_RANK = 500


class KernelFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    r"""Kernel features: coordinates in which plain inner products are (nearly) the kernel.

    .. math:: k(x, x') \approx \sum_{j = 1}^r F_j(x) F_j(x')

    The coordinates are those of a Gram of low rank: on landmarks, of an incomplete Cholesky factor, of random features.
    A linear method on them is the kernel method, in time linear in the samples; with strings, graphs and all other
    objects too.

    Seed: [SS] Section 3.4.3 (estimation in the coordinates of the Nystrom approximation); [STS] Section 6;
    [HSS] Eq. (60) (the kernel PCA map).

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples.
    gram : GramSpec, optional
        A Gram of low rank: `Nystrom`, `IncompleteCholesky`, `SparseGreedy`, ... None is ``Nystrom(500)``.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    expansion_ : Expansion or FeatureExpansion
        The coordinates as functions.
    n_components_ : int
        r, which may be less than was allowed.
    residual_trace_ : float
        tr(K - F F^T) / tr K of the training samples, or its estimate on some of them.
    gram_error_ : float
        Estimate of the relative error of the entries of K, in the Frobenius norm.
    kernel_, gram_ : the objects that None was resolved to

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from mercer.gram import IncompleteCholesky
    >>> from mercer.kernels import Spectrum
    >>> words = ["abab", "baba", "abba", "cccc", "ccac", "cacc"]
    >>> model = make_pipeline(KernelFeatures(Spectrum(2), gram=IncompleteCholesky(6)), RidgeClassifier())
    >>> model.fit(words, [0, 0, 0, 1, 1, 1]).predict(["baab", "cccb"])
    array([0, 1])
    """

    def __init__(
        self,
        kernel: Any = None,
        gram: GramSpec | None = None,
        *,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gram = gram
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> KernelFeatures:
        """Find the coordinates.

        Parameters
        ----------
        X : raw data or packed samples
        y : ignored

        Returns
        -------
        self
        """
        with fitting(self, X, y) as (run, kernel, _, S, *_):
            self.kernel_ = kernel.learn(S)
            K = self._represent(self.kernel_, S, run, until=0.9)
            if not is_low_rank(K):
                raise CapabilityError(
                    f"KernelFeatures was given gram={self.gram_!r}, which has no factor of few columns; a Gram of low "
                    "rank is needed. Use gram=Nystrom(500), IncompleteCholesky(500) or RandomFeatures(500)."
                )
            self.expansion_ = K.function(np.eye(K.rank))
            self.n_components_ = K.rank
        return self

    def _ways(self) -> tuple[Mapping[str, Any], ...]:
        return {"gram": Nystrom(500)}, {"gram": Nystrom(100)}  # what has a factor of few columns

    def _gram_spec(self, kernel: Any, S: Any) -> GramSpec:
        return Nystrom(_RANK) if self.gram is None else self.gram

    def transform(self, X: Any) -> Floats:
        """Return the coordinates of new data, shape (m, r).

        Parameters
        ----------
        X : raw data or packed samples
        """
        if getattr(self, "n_components_", 1) == 0:
            return np.empty((len(self._pack_new(X)), 0))
        return self._evaluate(X)

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        plan = super().memory_plan(n_samples, n_features, 0)
        if self.gram is not None:
            return plan
        kernel = self._known_kernel()
        own = {name: size for name, size in plan.buffers.items() if name != "Gram matrix"}
        low = Nystrom(_RANK).plan(kernel, n_samples, n_features, self.memory)
        return Plan(plan.what, {**own, **low.buffers}, low.options)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_
