"""Principal component regression in the feature space of a kernel.

Symbols: K the Gram matrix, w_i sample weights, N their sum, C the matrix W^(1/2) K W^(1/2) after centring with
eigenvalues lambda_j and eigenvectors v_j, r the number of components kept, mu_i the mean of k(x_i, .) over the samples.
Of a Gram of low rank, K = F F^T: u_j the components in the coordinates of F, m the mean of its rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Floats
from mercer.budget import Plan
from mercer.constraints import Integer, OneOf, Optional
from mercer.domains import Samples
from mercer.errors import CapabilityError, ParameterError, warn_caller
from mercer.estimators.directions import (
    Directions,
    all_directions,
    factor_directions,
    factor_rank,
    principal_directions,
)
from mercer.estimators.estimator import KernelEstimator, scattered, unwatched
from mercer.estimators.fits import Run, fitting
from mercer.gram import Dense, Expansion, Gram, GramSpec, HasFactor
from mercer.gram.gram import has_array, has_features, is_stored
from mercer.kernels import Kernel
from mercer.kernels.kernel import overflow_error
from mercer.problems import Solution, Status
from mercer.targets import Real

__all__ = ["KernelPCR"]
__public__ = __all__

_TOL = 1e-10  # of residuals of components that come from products
_NOTHING = 1e-9  # a share so small is rounding: the sample alone determines its fitted value


class KernelPCR(MultiOutputMixin, RegressorMixin, KernelEstimator):
    r"""Kernel principal component regression: least squares on the directions in which the samples vary most.

    .. math:: f(x) = \bar y + \sum_{j \le r} \frac{\langle v_j, W^{1/2} (y - \bar y) \rangle}{\lambda_j}
        \sum_i \sqrt{w_i}\, v_{ij}\, (k(x, x_i) - \mu_i)

    Where ridge regression shrinks every direction a little, this one keeps some whole and drops the others.

    Seed: [HSS] Section 3.3.1 (kernel principal components, for the purpose of regression on them).

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples; a scikit-learn name means what it
        means there. Conditionally positive definite kernels of order 1 are accepted: centring removes the constant.
    n_components : int, optional
        r; at most as many as there are directions in which the samples vary. None chooses it by `criterion`.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held. None is `Dense`. A Gram of low rank, such as ``Nystrom(500)``, and `Features` need no n x n
        array: the components are found in the columns of the factor. From products alone, as with `Tiles`, the first
        components are found, so that `n_components` must be given.
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
        Variances times N of all components that there are, largest first; of a Gram of products, of those kept.
    cv_values_ : (q + 1,) array
        The criterion with 0, 1, ..., q components, the mean over the outputs; infinite where it is not defined.
    expansion_, dual_coef_, intercept_, kernel_, gram_ : as for `KernelRidge`

    Notes
    -----
    A sample of weight w counts as w copies, in the criteria too: of the copies one is left out, of a weight below one
    all. With all components the function is that of least squares, and with a linear kernel that of
    ``make_pipeline(PCA(r), LinearRegression())``. Cost one eigendecomposition, three n x n arrays. With a Gram of low
    rank c the function is that of the approximated matrix; cost O(n c^2), memory n c.

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
    constraints = {"n_components": Optional(Integer(0)), "criterion": OneOf("loo", "gcv")}

    def __init__(
        self,
        kernel: Any = None,
        n_components: int | None = None,
        *,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
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
        self.gram = gram
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
        y : (n,) or (n, k) array of real targets
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, Real()) as (run, kernel, packed, S, values, w, used):
            self.kernel_ = kernel.learn(S, values, w)
            gram = self._represent(self.kernel_, S, run, until=0.3)
            with run.stage("eigenvectors", 0.9):
                found = self._decompose(gram, w, run)
            coef, inner = self._regress(found, values.reshape(len(S), -1), w)
            weights, shift = None, found.means @ coef
            if found.weights is not None:  # the function in the coordinates of the factor, which keeps the digits
                weights = found.weights[:, : len(inner)] @ (inner * np.sqrt(self.eigenvalues_[: len(inner), None]))
                shift = found.origin @ weights
                weights = weights.reshape(-1, *values.shape[1:])
            coef = coef.reshape(values.shape)
            self.dual_coef_ = scattered(coef, used, len(packed))
            self.intercept_ = np.average(values, axis=0, weights=w) - shift.reshape(values.shape[1:])[()]
            if coef.any() or isinstance(gram, HasFactor):
                self.expansion_ = gram.expand(Solution(coef, Status.CONVERGED, 0.0, weights=weights), self.intercept_)
            else:  # a constant: an expansion drops what has no coefficient, and needs a sample
                self.expansion_ = Expansion(self.kernel_, gram.samples.landmarks(), coef, np.asarray(self.intercept_))
        return self

    def _gram_spec(self, kernel: Kernel, S: Samples) -> GramSpec:
        """Return how K is held; a matrix that is stored must fit with what decomposes it."""
        spec = Dense() if self.gram is None else super()._gram_spec(kernel, S)
        if is_stored(spec):
            self._require_with(spec, S)
        return spec

    def _planned_gram(self, n_samples: int) -> GramSpec:
        return Dense() if self.gram is None else super()._planned_gram(n_samples)

    def _can_use(self, spec: GramSpec) -> bool:
        """Return whether a Gram gives what is needed: all components, unless their number is known."""
        return self.n_components is not None or is_stored(spec) or _has_factor(spec)

    def _decompose(self, gram: Gram, w: Floats, run: Run) -> Directions:
        """Find the components: from a factor of fewer columns than samples, from the matrix, or from products."""
        if not np.isfinite(gram.diag()).all():
            raise overflow_error(self.kernel_)
        rank = factor_rank(gram)
        if rank is not None and rank < len(w):
            return factor_directions(gram, w, True, run.deadline)
        if has_array(gram) or isinstance(gram, HasFactor):
            return all_directions(gram, w, True, run.deadline)
        if self.n_components is None:
            raise CapabilityError(
                f"KernelPCR was given gram={self.gram_!r} and n_components=None; to choose their number all components "
                "are needed, and products give the first ones. Give n_components, or use gram=Nystrom(500), which "
                "stores no n x n matrix either, or gram=Dense()."
            )
        tol = max(_TOL, 10.0 * gram.entry_error)
        monitor = run.solver_monitor(tol) if run.watched else None
        unwatched(gram)
        count = min(max(int(self.n_components), 1), len(w))
        found = principal_directions(gram, w, count, tol=tol, monitor=monitor)
        if not found.converged:
            warn_caller(
                f"The components of KernelPCR stopped at residual {found.residual:.3g} of the largest eigenvalue after "
                f"{found.iterations} products; fewer n_components need fewer. Use gram=Nystrom(500) or gram=Dense().",
                ConvergenceWarning,
            )
        return found

    def _regress(self, found: Directions, y: Floats, w: Floats) -> tuple[Floats, Floats]:
        """Coefficients (n, k) of the samples, and (r, k) of the components, both over the eigenvalues."""
        limit = min(int(np.sum(found.values > found.floor)), max(len(y) - 1, 0))
        Z = found.vectors.T[:limit]
        self.eigenvalues_ = found.values[:limit].copy()
        root = np.sqrt(w)[:, None]
        targets = root * (y - np.average(y, axis=0, weights=w))
        inner = Z @ targets
        self.cv_values_ = _criteria(Z, targets, inner, w, self.criterion)
        if self.n_components is not None and self.n_components > limit:
            raise ParameterError(
                f"n_components={self.n_components} was given; the {len(y)} samples vary in {limit} directions in the "
                f"feature space of {self.kernel_!r}. Use at most {limit}, or None to have the number chosen."
            )
        r = int(np.argmin(self.cv_values_)) if self.n_components is None else int(self.n_components)
        self.n_components_ = r
        inner = inner[:r] / self.eigenvalues_[:r, None]
        coef = root * (Z[:r].T @ inner)
        coef -= np.outer(w / w.sum(), coef.sum(axis=0))  # they sum to zero, but for rounding of small eigenvalues
        return coef, inner

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
        spec = self._planned_gram(n_samples)
        r = int(getattr(spec, "rank", getattr(spec, "count", n_features)))
        plan = super().memory_plan(n_samples, n_features, n_targets)
        factor = _has_factor(spec)
        if "Gram matrix" in plan.buffers or (factor and r >= n_samples):
            buffers = {"Gram matrix": 8 * n_samples**2, "work space": 16 * n_samples**2}
            ways = ("gram=Nystrom(500)", "gram=Tiles() with n_components", "KernelRidge, which needs one n x n array")
            return Plan(plan.what, buffers, ways)
        if factor:
            own = {"normal equations": 32 * r * r, "components": 24 * n_samples * r}
        else:
            own = {"bases": 80 * n_samples * (5 * (self.n_components or 0) // 4 + 8)}
        return Plan(plan.what, {**plan.buffers, **own}, plan.options)


def _has_factor(spec: GramSpec | None) -> bool:
    """Return whether a Gram is held by a factor, of a rank or a count of features."""
    return has_features(spec) or hasattr(spec, "rank") or hasattr(spec, "count")


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
