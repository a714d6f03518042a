"""Kernel ridge regression: least squares with a penalty on the norm.

Symbols: K the Gram matrix, a the dual coefficients, F features with K = F F^T, w_i sample weights,
alpha the ridge.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.callback import with_callbacks

from mercer import solvers  # whose names are imported when they are used
from mercer.arrays import Floats, Indices
from mercer.budget import Plan
from mercer.constraints import Boolean, Optional, Positive
from mercer.domains import Samples, Vectors
from mercer.errors import CapabilityError
from mercer.estimators.certificates.certified import Certified
from mercer.estimators.estimator import KernelEstimator, scattered
from mercer.estimators.fits import STEPS, Run, fitting
from mercer.estimators.squares.ridge_choice import chosen_ridge
from mercer.gram import Gram, GramSpec
from mercer.gram.gram import is_low_rank, is_streamed, is_transform
from mercer.kernels import Kernel
from mercer.problems import LinearSystem, Solution
from mercer.selection import leave_one_out
from mercer.solvers import Cholesky, Solver
from mercer.spec import derived
from mercer.targets import Real

__all__ = ["KernelRidge"]
__public__ = __all__

_PASSES = 64  # samples per column of a factor from which on passes over the data are faster than its normal equations
_LONG = 2e11  # operations of the normal equations from which on it matters
_LARGE = 2000  # samples from which on a factor in float32 and its refinement are faster than one in float64


class Weighted(NamedTuple):
    """Training data without the samples of weight zero.

    Attributes
    ----------
    count : int
        Number of samples including them.
    samples, values, weight, used : what `mercer.estimators.estimator.weighted` returns
    """

    total: int
    samples: Samples
    values: Floats
    weight: Floats
    used: Indices


class RidgeEstimator(Certified, MultiOutputMixin, RegressorMixin, KernelEstimator):
    """Kernel ridge regression once its ridge and its kernel are known."""

    gram: GramSpec | None = None
    solver: Solver | None = None
    fit_intercept: bool | None
    target_: Real
    products_suffice = True
    _keeps_factor = False  # whether something needs the factor after the fit, in float64

    @derived
    def highest_order(self) -> int:
        """With an intercept the coefficients sum to zero, which is all that kernels of order 1 need."""
        return 1 if self._has_intercept else 0

    @property
    def _has_intercept(self) -> bool:
        return bool(self.fit_intercept)

    def _fit_at(self, kernel: Kernel, alpha: float, data: Weighted, run: Run) -> tuple[Gram, Solution]:
        """Solve for one kernel and ridge, and keep the fitted function."""
        S, values, w, used = data.samples, data.values, data.weight, data.used
        self.kernel_ = kernel
        K = self._represent(kernel, S, run, until=0.5 * (1.0 + run.done / STEPS))
        border = np.ones((len(S), 1)) if self._has_intercept else None
        solution = self._solve(LinearSystem(K, alpha / w, values, border), run, until=0.95)
        self.intercept_ = solution.multipliers[0] if self._has_intercept else np.zeros(values.shape[1:])[()]
        self.expansion_ = K.expand(solution, self.intercept_)
        self.dual_coef_ = scattered(solution.coef, used, data.total)
        return K, solution

    def _default_solver(self, gram: Gram) -> Solver:
        """Float32 with refinement, or passes over data, where it pays; closed forms of leaving out need a factor."""
        chosen = super()._default_solver(gram)
        if is_low_rank(gram) and not self._keeps_factor:
            n, r = len(gram.samples), gram.rank
            return solvers.PrimalGradient() if n >= _PASSES * r and float(n) * r * r >= _LONG else chosen
        large = isinstance(chosen, Cholesky) and gram.shape[0] >= _LARGE and not self._keeps_factor
        return Cholesky("mixed") if large else chosen

    def predict(self, X: Any) -> Floats:
        """Return the fitted function at new data, shape (m,) or (m, k).

        Parameters
        ----------
        X : raw data or packed samples
        """
        values = self._evaluate(X)
        return self.target_.decode(values)

    @property
    def coef_(self) -> Floats:
        """Weights of the columns, shape (d,) or (k, d); only for the linear kernel."""
        return self._column_weights("coef_")


class KernelRidge(RidgeEstimator):
    r"""Kernel ridge regression: a function that is close to the targets and short in feature space.

    .. math:: \min_f \; \tfrac12 \sum_i w_i (y_i - f(x_i))^2 + \tfrac{\alpha}{2} \|f\|^2,
        \qquad (K + \alpha W^{-1}) a = y

    Seed: [STS] Eqs. (5)-(8); [KIKS] Eqs. (4), (7) with the samples of (4) as rows; [HSS] Section 3.1.3
    (squared loss).

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian with a length scale per column, its standard deviation times sqrt(d / 2). A scikit-learn
        name ("rbf", "linear", "poly", "precomputed", ...) means what it means there.
    alpha : float or None, default None
        The ridge. Positive; in the unit of k(x, x). None is 1.0 if a kernel is given, as in scikit-learn; with the
        default kernel it is chosen by leaving out each of an eighth of the samples (100 to 1000), in closed form.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held. None chooses by `Auto`: the primal form where the kernel has fewer features than
        there are samples, else dense if it fits, else tiles.
    solver : Solver, optional
        None: Cholesky for a dense K (from 2000 samples on with ``precision="mixed"``: a factor in float32, and a
        solution with the residual of float64; not with ``leave_one_out``), Woodbury for the primal form (PrimalGradient
        where its normal equations would take long), conjugate gradients for tiles.
    fit_intercept : bool or None, default None
        Whether a constant that is not penalised is added to the function (the form of the LS-SVM). With it,
        conditionally positive definite kernels of order 1 (`NegativeDistance`, `Multiquadric`, ...) are accepted. None:
        with the default kernel there is one, with a kernel that is given there is none, as in scikit-learn.
    leave_one_out : bool, default False
        Whether `fit` also stores ``loo_predictions_``: for each sample the prediction of the model fitted
        to all others, in closed form. A sample is left out with its whole weight.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    expansion_ : Expansion or FeatureExpansion
        The fitted function.
    dual_coef_ : (n,) or (n, k) array
        a; samples of weight zero have coefficient zero.
    intercept_ : float or (k,) array
        Zero without ``fit_intercept``.
    kernel_, gram_, solver_, alpha_ : what None was resolved to
    solution_ : Solution
        Residual, jitter and status of the solver; ``solution_.details["factor"]`` is the precision of the factor.
    loo_predictions_ : (n,) or (n, k) array
        Only with ``leave_one_out=True``.

    Notes
    -----
    A sample of weight w counts as w copies.
    Cost O(n^3) for Cholesky in the memory of K, O(n D^2) in the primal form with D features.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = KernelRidge(Gaussian(1.0), alpha=1e-3).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.5]]).round(2)
    array([1.])
    """

    _default_length = "columns"

    synonyms = ("least squares support vector machine, for numbers",)

    @derived
    def _keeps_factor(self) -> bool:
        return self.leave_one_out

    constraints = {
        "alpha": Optional(Positive()),
        "fit_intercept": Optional(Boolean()),
        "leave_one_out": Boolean(),
    }

    def __init__(
        self,
        kernel: Any = None,
        alpha: float | None = None,
        *,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        solver: Solver | None = None,
        fit_intercept: bool | None = None,
        leave_one_out: bool = False,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.leave_one_out = leave_one_out
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the function to training data.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) or (n, k) array
            Real targets.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, Real()) as (run, kernel, packed, S, values, w, used):
            data = Weighted(len(packed), S, values, w, used)
            kernel = kernel.learn(data.samples, data.values, data.weight)
            self.alpha_ = self._ridge(kernel, data)
            _, solution = self._fit_at(kernel, self.alpha_, data, run)
            if self.leave_one_out:
                self._store_left_out(packed, data.values, data.used, solution)
        return self

    @property
    def _has_intercept(self) -> bool:
        return self.kernel is None if self.fit_intercept is None else self.fit_intercept

    def _settled(self) -> dict[str, Any]:
        return {"fit_intercept": self._has_intercept}

    def _ridge(self, kernel: Kernel, data: Weighted) -> float:
        """Return the ridge that was given, scikit-learn's, or the one that is best for some of the samples."""
        if self.alpha is not None or self.kernel is not None:
            return 1.0 if self.alpha is None else float(self.alpha)
        assert isinstance(data.samples, Vectors)
        return chosen_ridge(kernel, data.samples, data.values, data.weight, self._has_intercept, self._resources())

    def _store_left_out(self, packed: Samples, values: Floats, used: Indices, solution: Solution) -> None:
        """Keep the closed-form predictions; samples of weight zero were left out from the start."""
        if not hasattr(solution.state, "inverse_diagonal"):
            raise CapabilityError(
                f"leave_one_out=True was given with {type(self.solver_).__name__}, which keeps no factor; the closed "
                "form needs one. Use gram=Dense() with solver=Cholesky()."
            )
        left_out = leave_one_out(values, solution.coef, solution.state.inverse_diagonal())
        self.loo_predictions_ = scattered(left_out, used, len(packed))
        if len(used) < len(packed):
            rest = np.setdiff1d(np.arange(len(packed)), used)
            self.loo_predictions_[rest] = self.expansion_(packed.take(rest))

    def _can_use(self, spec: GramSpec) -> bool:
        keeps = not (self.leave_one_out and (is_streamed(spec) or is_transform(spec)))  # the closed form needs a factor
        return keeps and super()._can_use(spec)

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        plan = super().memory_plan(n_samples, n_features, n_targets)
        if not self.leave_one_out or "Gram matrix" not in plan.buffers:
            return plan
        return Plan(plan.what, {**plan.buffers, "columns of the inverse": 8 * n_samples * 128}, plan.options)


def kernel_unit(kernel: Kernel, K: Floats, w: Floats) -> float:
    """Return the mean of k(x, x); of kernels of order 1, whose images have no length of their own, about their mean.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> kernel_unit(Linear(), np.array([[4.0, 0.0], [0.0, 2.0]]), np.ones(2))
    3.0
    """
    share = w / w.sum()
    return float(share @ np.diagonal(K)) - (float(share @ (K @ share)) if kernel.order else 0.0)
