r"""Gram-Schmidt in feature space: an orthonormal basis made of few samples, and coordinates in it.

Symbols: p_1, ..., p_r the samples chosen, K_pp their kernel matrix with Cholesky factor R (lower), K ~ L L^T.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import with_callbacks

from mercer.arrays import Floats
from mercer.budget import Plan
from mercer.constraints import Integer, Interval, Optional
from mercer.errors import CapabilityError, DegenerateWarning, warn_caller
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.fits import Run, fitting
from mercer.gram import Expansion, Gram, GramSpec, HasRows
from mercer.kernels.kernel import overflow_error
from mercer.numerics.pivoting import pivoted_cholesky

__all__ = ["KernelGramSchmidt"]
__public__ = __all__


class KernelGramSchmidt(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    r"""Kernel Gram-Schmidt: coordinates along samples, each made orthogonal to those before it.

    .. math:: q_j = \frac{\Phi(x_{p_j}) - \sum_{l < j} \langle q_l, \Phi(x_{p_j}) \rangle q_l}{\| \cdot \|}, \qquad
        p_j = \arg\max_i \Big\| \Phi(x_i) - \sum_{l < j} \langle q_l, \Phi(x_i) \rangle q_l \Big\|

    The sample that the basis describes worst is the next of it. The coordinates are the incomplete Cholesky factor of
    K, and at new samples those of the same basis.

    Seed: [ST] "Conclusions" (subspace methods: kernel Gram-Schmidt); [KIKS] Section 3.2 (incomplete Cholesky, with the
    indices of the printed recursion corrected).

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples.
    n_components : int, optional
        Samples in the basis at most; None goes on to ``tol``.
    tol : float, default 1e-8
        Ends when every squared distance from the basis is at most this share of the largest k(x, x); in float32 no less
        than 1e-6, which is rounding.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        Rows of K are all that is needed: as many as there are components.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    support_ : (r,) array of int
        p, in their order.
    n_components_ : int
    reconstruction_errors_ : (r + 1,) array
        Mean over the samples of the squared distance from the basis after 0, 1, ..., r steps.
    expansion_ : Expansion
        The coordinates as functions, of r samples.
    kernel_, gram_ : the objects that None was resolved to

    Notes
    -----
    Samples have no weights: the basis depends on which ones there are, not on how often. Among several that are equally
    far, as all are at the start if k(x, x) is constant, the first is taken. Cost r rows of K and O(n r^2); a new sample
    costs r kernel values.

    Examples
    --------
    >>> from mercer import KernelGramSchmidt
    >>> from mercer.kernels import Linear
    >>> model = KernelGramSchmidt(Linear()).fit([[3.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    >>> model.support_, model.transform([[6.0, 1.0]])
    (array([0, 1]), array([[6., 1.]]))
    """

    policies = ("reject",)  # functions are made of some samples, and a repair mixes all
    constraints = {"n_components": Optional(Integer(1)), "tol": Interval(0.0, 1.0, closed="left")}

    def __init__(
        self,
        kernel: Any = None,
        n_components: int | None = None,
        *,
        tol: float = 1e-8,
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
        self.tol = tol
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> KernelGramSchmidt:
        """Choose the basis.

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
            K = self._represent(self.kernel_, S, run)
            rank = len(S) if self.n_components is None else min(self.n_components, len(S))
            row = row_of(K, type(self).__name__)
            single = getattr(getattr(S, "X", None), "dtype", None) == np.float32
            rounding = 8.0 * float(np.finfo(np.float32).eps) if single else 1e-15
            with run.stage("basis", 0.95):
                factor = pivoted_cholesky(K.diag(), _watched(row, rank, run), rank, max(self.tol, rounding))
            if not np.isfinite(factor.array).all():
                raise overflow_error(self.kernel_)
            self.support_, self.n_components_ = factor.pivots, len(factor.pivots)
            left = np.cumsum(np.column_stack([K.diag(), -(factor.array**2)]), axis=1)
            self.reconstruction_errors_ = np.maximum(left.mean(axis=0), 0.0)
            self.expansion_ = triangular_expansion(K, factor.pivots, factor.array[factor.pivots])
            if not self.n_components_:
                warn_caller(
                    f"k(x, x) is zero at all {len(S)} samples for {self.kernel_!r:.200}: there is no basis, and "
                    "transform returns no column. Give other samples.",
                    DegenerateWarning,
                )
        return self

    def transform(self, X: Any) -> Floats:
        """Return coordinates of new data in the basis, shape (m, r).

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
        rank = n_samples if self.n_components is None else min(self.n_components, n_samples)
        return Plan(plan.what, {**plan.buffers, "factor": 16 * n_samples * rank}, (*plan.options, "gram=Tiles()"))

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


def row_of(K: Gram, name: str) -> Any:
    """Return a function that gives rows of K in float64."""
    if not isinstance(K, HasRows):
        raise CapabilityError(
            f"{name} was given {type(K).__name__}, which has no rows; a basis of samples needs them. Use gram=Dense(), "
            "Tiles(), Nystrom() or Features()."
        )
    return lambda i: np.asarray(K.rows(np.array([i]))[0], dtype=float)


def triangular_expansion(K: Gram, pivots: Any, R: Floats) -> Expansion:
    """Return the coordinates in the basis of some samples: R^-1 k(p, x), with R R^T = K_pp."""
    if not len(pivots):
        return Expansion(K.kernel, K.samples.take(np.arange(1)).landmarks(), np.zeros((1, 0)), np.zeros(0))
    coef = solve_triangular(np.tril(R), np.eye(len(R)), lower=True).T
    return Expansion(K.kernel, K.samples.take(pivots).landmarks(), np.ascontiguousarray(coef), np.zeros(len(R)))


def _watched(row: Any, rank: int, run: Run) -> Any:
    """Return rows that report how many have been taken."""
    done = [0]

    def take(i: int) -> Floats:
        done[0] += 1
        if run.watched and run.monitor(min(done[0] / max(rank, 1), 1.0)):
            raise TimeoutError
        return row(i)

    return take
