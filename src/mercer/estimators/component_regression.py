"""Principal component regression in the feature space of a kernel.

Symbols: K the Gram matrix, w_i sample weights, N their sum, C the matrix W^(1/2) K W^(1/2) after centring with
eigenvalues lambda_j and eigenvectors v_j, r the number of components kept, mu_i the mean of k(x_i, .) over the samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.callback import with_callbacks

from mercer.arrays import Floats
from mercer.budget import Plan
from mercer.constraints import Integer, OneOf, Optional
from mercer.errors import ParameterError
from mercer.estimators.estimator import KernelEstimator, spread, weighted
from mercer.estimators.running import Run, whole
from mercer.gram import Dense, Expansion
from mercer.numerics.background import in_background
from mercer.numerics.eigen import eigh_in_place
from mercer.targets import Real

__all__ = ["KernelPCR"]

_NOTHING = 1e-9  # a share so small is rounding: the sample alone determines its fitted value


class KernelPCR(MultiOutputMixin, RegressorMixin, KernelEstimator):
    r"""Kernel principal component regression: least squares on the directions in which the samples vary most.

    .. math:: f(x) = \bar y + \sum_{j \le r} \frac{\langle v_j, W^{1/2} (y - \bar y) \rangle}{\lambda_j}
        \sum_i \sqrt{w_i}\, v_{ij}\, (k(x, x_i) - \mu_i)

    Where ridge regression shrinks every direction a little, this one keeps some whole and drops the others.

    Seed: [HSS] Section 3.3.1 (kernel principal components, for the purpose of regression on them). Ledger: R-PCR.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples; a word of scikit-learn means what it
        means there. Conditionally positive definite kernels of order 1 are accepted: centring removes the constant.
    n_components : int, optional
        r; at most as many as there are directions in which the samples vary. None chooses it by `criterion`.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's words.
    criterion : {"loo", "gcv"}, default "loo"
        What a chosen number of components minimises: the mean squared error of left-out samples, or generalised
        cross-validation. The components are held; only the regression on them is done without the sample.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    n_components_ : int
        Components kept.
    eigenvalues_ : (q,) array
        Variances times N of all components that there are, largest first.
    cv_values_ : (q + 1,) array
        The criterion with 0, 1, ..., q components, the mean over the outputs; infinite where it is not defined.
    expansion_, dual_coef_, intercept_, kernel_ : as for `KernelRidge`

    Notes
    -----
    A sample of weight w counts as w copies, also in the criteria: of the copies one is left out, of a weight below one
    all. With all components the function is that of least squares, and with a linear kernel that of
    ``make_pipeline(PCA(r), LinearRegression())``. Cost one eigendecomposition, three n x n arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCR
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = KernelPCR(Gaussian(1.0), n_components=12).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.5]]).round(2)
    array([1.])
    """

    highest_order = 1
    target_: Real
    own_constraints = {"n_components": Optional(Integer(0)), "criterion": OneOf("loo", "gcv")}

    def __init__(
        self,
        kernel: Any = None,
        n_components: int | None = None,
        *,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        criterion: str = "loo",
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.criterion = criterion
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelPCR:
        """Fit the function to training data.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) or (n, k) array
            Real targets.
        sample_weight : (n,) array, optional
            Not negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with whole(self):
            self._check_parameters()
            run = Run(self)
            packed, kernel = self._pack(X)
            self.target_ = Real().learn(y)
            S, values, w, used = weighted(packed, self.target_.encode(y), sample_weight)
            self.memory_plan(len(S)).require(self.memory)
            run.begin(X, y)
            self.kernel_ = kernel.learn(S, values, w)
            with run.stage("Gram matrix", 0.3):
                gram = Dense().build(self.kernel_, S, run.resources())
                K, samples = gram.release(), gram.samples
            with run.stage("eigenvectors", 0.9):
                means = _centre(K, w)
                eigenvalues = in_background(eigh_in_place, K, deadline=run.deadline)
            Z = _directions(eigenvalues, K, len(S))
            self.eigenvalues_ = eigenvalues[::-1][: len(Z)].copy()
            coef = self._regress(Z, values.reshape(len(S), -1), w).reshape(values.shape)
            self.dual_coef_ = spread(coef, used, len(packed))
            self.intercept_ = np.average(values, axis=0, weights=w) - means @ coef
            self.expansion_ = Expansion(self.kernel_, samples.landmarks(), coef, np.asarray(self.intercept_))
            run.end(X, y)
        return self

    def _regress(self, Z: Floats, y: Floats, w: Floats) -> Floats:
        """Coefficients (n, k) from eigenvectors in rows, the first that of the largest eigenvalue."""
        root = np.sqrt(w)[:, None]
        targets = root * (y - np.average(y, axis=0, weights=w))
        inner = Z @ targets
        self.cv_values_ = _criteria(Z, targets, inner, w, self.criterion)
        limit = len(Z)
        if self.n_components is not None and self.n_components > limit:
            raise ParameterError(
                f"n_components={self.n_components} was given; the {len(y)} samples vary in {limit} directions in the "
                f"feature space of {self.kernel_!r}. Use at most {limit}, or None to have the number chosen."
            )
        r = int(np.argmin(self.cv_values_)) if self.n_components is None else int(self.n_components)
        self.n_components_ = r
        coef = root * (Z[:r].T @ (inner[:r] / self.eigenvalues_[:r, None]))
        return coef - np.outer(w / w.sum(), coef.sum(axis=0))  # they sum to zero, but for rounding of small eigenvalues

    def predict(self, X: Any) -> Floats:
        """Return the fitted function at new data, shape (m,) or (m, k).

        Parameters
        ----------
        X : raw data or packed samples
        """
        values = self._evaluate(X)
        return self.target_.decode(values)

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        buffers = {"Gram matrix": 8 * n_samples**2, "work space": 16 * n_samples**2}
        return Plan(f"KernelPCR on {n_samples} samples", buffers, ("KernelRidge, which needs one n x n array",))


def _centre(K: Floats, w: Floats) -> Floats:
    """Centre K in place and multiply it by the roots of the weights; the means mu of its rows before, (n,)."""
    share = w / w.sum()
    means = K @ share
    K -= means
    K -= (means - float(share @ means))[:, None]
    root = np.sqrt(w)
    K *= root
    K *= root[:, None]
    return means


def _directions(eigenvalues: Floats, vectors: Floats, n: int) -> Floats:
    """Eigenvectors in rows, those of eigenvalues above rounding, the largest first."""
    floor = n * np.finfo(np.float64).eps * float(np.max(np.abs(eigenvalues), initial=0.0))
    count = min(int(np.sum(eigenvalues > floor)), max(n - 1, 0))
    return vectors[::-1][:count]


def _criteria(Z: Floats, targets: Floats, inner: Floats, w: Floats, which: str) -> Floats:
    """The criterion with 0, 1, ... components, (q + 1,)."""
    errors, leverage, total = targets.copy(), w / w.sum(), float(w.sum())
    out = np.full(len(Z) + 1, np.inf)
    for r in range(len(Z) + 1):
        if r:
            errors -= Z[r - 1][:, None] * inner[r - 1]
            leverage = leverage + Z[r - 1] ** 2
        share = np.full(len(w), 1.0 - (r + 1) / total) if which == "gcv" else 1.0 - leverage / np.maximum(w, 1.0)
        if np.all(share > _NOTHING):
            out[r] = float(np.sum(np.square(errors.T / share)) / (total * errors.shape[1]))
    return out if np.isfinite(out).any() else np.append(0.0, out[1:])
