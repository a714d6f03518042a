r"""Least squares support vector machines: one linear system in place of a quadratic program.

Symbols: w sample weights, e_i = y_i - f(x_i) - b the errors, a_i = C w_i e_i the coefficients, b the bias, s^2 the
scale of the prior: the function has the covariance s^2 K, the errors the variance s^2 / C.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Floats, Indices
from mercer.constraints import AnyOf, Boolean, OneOf, Optional
from mercer.domains import Samples
from mercer.errors import ParameterError, warn_caller
from mercer.estimators.certificates.certified import Certified
from mercer.estimators.estimator import scattered
from mercer.estimators.fits import Run, Units, fitting
from mercer.estimators.squares.least_squares_machine import Fitted, LeastSquaresMachine
from mercer.gram import Gram, GramSpec
from mercer.gram.exact import DenseGram
from mercer.gram.gram import has_array
from mercer.problems import LinearSystem, Status
from mercer.solvers import Solver
from mercer.targets import Real

__all__ = ["LSSVR"]
__public__ = __all__

_ROUNDS = 100  # of reweighting
_STEADY = 1e-3  # change of the weights at which they are final
_LEAST = 1e-4  # weight of an outlier: not zero, so that every sample keeps its place in the system


class LSSVR(Certified, MultiOutputMixin, RegressorMixin, LeastSquaresMachine):
    r"""Least squares support vector regression: squared errors, a bias that is not penalised, one linear system.

    .. math:: \min_{f, b} \; \tfrac12 \|f\|^2 + \frac{C}{2} \sum_i w_i e_i^2, \qquad
        \begin{pmatrix} K + \mathrm{diag}(1 / (C w)) & 1 \\ 1^\top & 0 \end{pmatrix}
        \begin{pmatrix} a \\ b \end{pmatrix} = \begin{pmatrix} y \\ 0 \end{pmatrix}

    Seed: [SS] Section 3.4.2, with C for the seed's gamma; Section 3.4.3 for the robust, pruned and fixed-size forms;
    Sections 5.1, 5.2 for the choice of C and of the kernel's parameters.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples. Conditionally positive definite kernels
        of order 1 are accepted.
    C : float or None, default 1.0
        What an error costs, the seed's gamma; kernel ridge regression has alpha = 1 / C. Positive. None takes the C of
        the smallest left-out error, all of them at the price of one eigendecomposition.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    selection : {"loo", "evidence"} or None, default None
        How C and the free parameters of the kernel are chosen, both starting at what is given: by the smallest
        left-out error, or by the largest evidence, by gradients. None takes them as they are given.
    fixed : tuple of str, "kernel" or "all", default ()
        Parameters that a selection leaves alone, by name, as ``("C",)`` or ``("length_scale",)``. "kernel" holds all
        of the kernel's; C is then chosen on the path.
    restarts : int, default 0
        Further random starts of a selection.
    guard : bool, default True
        Whether ``selection="loo"`` has a prior on the kernel's parameters, so that it does not fit the left-out errors
        by chance.
    robust : {"hampel", "huber", "logistic"} or bool, default False
        Whether outliers are given less weight: fit, weigh each sample by its error over a robust scale of all errors
        (1.483 times their median size), and fit again until the weights stay. True is "hampel", which weighs errors
        beyond three scales by 1e-4.
    prune : float or None, default None
        Share of the samples that is dropped in each round of pruning, those of the smallest coefficients, while the
        left-out error does not grow by more than its standard error. None keeps all samples.
    posterior : bool, default False
        Whether `predict` can also return standard deviations or covariances.
    leave_one_out : bool, default False
        Whether `fit` also stores ``loo_predictions_``.
    random_state : int or None, default None
        Seed of the restarts.
    gram : GramSpec, optional
        None chooses by `Auto`. ``Nystrom(500, sampler="entropy")`` is the fixed-size machine, which is fitted in the
        coordinates of its landmarks, for millions of samples.
    solver : Solver, optional
        None: Cholesky for a dense K, Woodbury for a factor, conjugate gradients for tiles.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    expansion_ : Expansion or FeatureExpansion
    dual_coef_ : (n,) or (n, k) array
        a.
    intercept_ : float or (k,) array
    C_ : float
        C as given or chosen.
    kernel_, gram_, solver_, solution_
        As in `KernelRidge`.
    log_evidence_ : float
        Log evidence of all outputs, at the most likely scale of the prior; NaN with a solver that keeps no factor.
    noise_variance_ : float or (k,) array
        s^2 / C, the variance of the errors in the Bayesian view.
    scale_ : (k,) array
        s^2 of each output, the scale of the prior, at its most likely value.
    support_ : (q,) array of int
        Samples with a coefficient.
    weights_ : (n,) array
        Only with ``robust``: the factors of the sample weights.
    loo_predictions_ : (n,) or (n, k) array
        Only with ``leave_one_out=True``: for each sample the prediction by all others, in closed form.
    path_costs_, path_values_ : (p,) arrays
        Where C was chosen on the path: what was tried, and the left-out error or minus the log evidence.
    tuned_ : Tuned
        Where parameters of the kernel were chosen.
    pruning_sizes_, pruning_errors_ : (t,) arrays
        Only with ``prune``: samples left and left-out error in each round.

    Notes
    -----
    A sample of weight w counts as w copies, in the evidence too; it is left out with its whole weight. Several
    targets share the factorisation, and the weights of ``robust``, which look at the mean squared standardised error;
    C and the kernel are chosen before samples are reweighted. In Bayesian notation mu = 1 / s^2 and
    zeta = C / s^2.
    Cost O(n^3) in the memory of K; O(n r^2) with r landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = LSSVR(Gaussian(1.0), C=1000.0).fit(X, np.sin(X[:, 0]) + 5.0)
    >>> model.predict([[1.5]]).round(2)
    array([6.])
    """

    robust: Any
    posterior: bool
    constraints = {
        "robust": AnyOf(Boolean(), OneOf("hampel", "huber", "logistic"), Optional(Boolean())),
        "posterior": Boolean(),
    }

    def __init__(
        self,
        kernel: Any = None,
        C: float | None = 1.0,
        *,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        selection: str | None = None,
        fixed: Any = (),
        restarts: int = 0,
        guard: bool = True,
        robust: Any = False,
        prune: float | None = None,
        posterior: bool = False,
        leave_one_out: bool = False,
        random_state: int | None = None,
        gram: GramSpec | None = None,
        solver: Solver | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.selection = selection
        self.fixed = fixed
        self.restarts = restarts
        self.guard = guard
        self.robust = robust
        self.prune = prune
        self.posterior = posterior
        self.leave_one_out = leave_one_out
        self.random_state = random_state
        self.gram = gram
        self.solver = solver
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _needs_posterior(self) -> bool:
        return self.posterior

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LSSVR:
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
            Y, every = values.reshape(len(values), -1), np.arange(len(values))
            units = Units.of(Y, w)  # the bias is free: nothing but rounding depends on the mean
            Y = Y - units.mean
            self.kernel_ = self._tune(kernel.learn(S, values, w), S, [(every, Y)], w, run, units.variance**0.5)
            K = self._represent(self.kernel_, S, run, until=0.5)
            groups = [(every, np.arange(Y.shape[1]))]
            self.C_ = self._choose_cost(K, groups, Y, w, run)
            if self.robust:
                factors = self._reweighted(K, Y, w, run)
                self.weights_ = scattered(factors, used, len(packed))
                w = w * factors
            if self.prune is None:
                fitted = self._solve_groups(K, groups, Y, w, run)
            else:
                fitted = self._prune(K, Y, w, "squared", run)
            self._store(packed, K, fitted.about(units.mean), used)
        return self

    def _store(self, packed: Samples, K: Gram, fitted: Fitted, used: Indices) -> None:
        flat = self.target_.columns is None
        self._expand(K, fitted, flat)
        self.dual_coef_ = scattered(fitted.coef[:, 0] if flat else fitted.coef, used, len(packed))
        self.support_ = used[np.any(fitted.coef != 0.0, axis=1)]
        noise = fitted.scale / self.C_
        self.noise_variance_ = float(noise[0]) if flat else noise
        if self.posterior:
            self.posterior_ = fitted.posteriors[0]
        if self.leave_one_out and fitted.left_out is not None:
            left = scattered(fitted.left_out[:, 0] if flat else fitted.left_out, used, len(packed))
            if len(used) < len(packed):
                rest = np.setdiff1d(np.arange(len(packed)), used)
                left[rest] = self.expansion_(packed.take(rest))
            self.loo_predictions_ = left

    def _reweighted(self, K: Gram, Y: Floats, w: Floats, run: Run) -> Floats:
        """Return the factors of the weights at which errors and weights agree."""
        kind = "hampel" if self.robust is True else self.robust
        factors, change = np.ones(len(w)), np.inf
        least = 1e-10 * np.abs(Y - Y.mean(axis=0)).max(axis=0) + np.finfo(np.float64).tiny  # rounding is no outlier
        for round_ in range(_ROUNDS):
            shift = 1.0 / (self.C_ * w * factors)
            part = DenseGram(K.kernel, K.samples, K.array.copy(), K.resources) if has_array(K) else K
            solution = self._solve(LinearSystem(part, shift, Y, np.ones((len(w), 1))), run, until=0.6)
            errors = solution.coef * shift[:, None]
            scale = np.array([1.483 * weighted_median(np.abs(column), w) for column in errors.T])
            sizes = np.abs(errors) / np.maximum(scale, least)
            new = robust_weights(np.sqrt(np.mean(sizes**2, axis=1)), kind)
            change, factors = float(np.max(np.abs(new - factors), initial=0.0)), new
            if change <= _STEADY:
                return factors
            if run.watched and run.monitor(round_ / _ROUNDS):
                status = Status.TIME if run.clock.expired else Status.STOPPED
                warn_caller(f"the weights of robust={kind!r} still changed by {change:.2g}. {status.value}",
                            ConvergenceWarning)  # fmt: skip
                return factors
        warn_caller(
            f"the weights of robust={kind!r} still changed by {change:.2g} after {_ROUNDS} rounds; the last ones were "
            "taken. Use robust='huber', which is convex, or a smaller C.",
            ConvergenceWarning,
        )
        return factors

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Return the fitted function at new data.

        Parameters
        ----------
        X : raw data or packed samples
        return_std : bool, default False
            Whether to return the standard deviation of the function as well; the errors of new observations, of
            variance ``noise_variance_``, come on top. Needs ``posterior=True``.
        return_cov : bool, default False
            Whether to return the joint covariance of the function at the new data as well.

        Returns
        -------
        f : (m,) or (m, k) array
        std : (m,) or (m, k) array
            With ``return_std``.
        cov : (m, m) or (m, m, k) array
            With ``return_cov``.
        """
        if return_std and return_cov:
            raise ParameterError(
                "return_std and return_cov were both given; one of them is accepted. The standard deviations are the "
                "roots of the diagonal of the covariance: ask for that."
            )
        values = self._evaluate(X)
        values = self.target_.decode(values)
        if not return_std and not return_cov:
            return values
        if not self.posterior or not hasattr(self, "posterior_"):
            raise ParameterError(
                "a standard deviation or covariance was asked of LSSVR(posterior=False); the factor that it needs was "
                "not kept. Fit with posterior=True."
            )
        T = self._pack_new(X)
        scale = self.scale_ if self.target_.columns is not None else self.scale_[0]
        if return_std:
            return values, np.sqrt(np.multiply.outer(self.posterior_.variance(T, self._resources()), scale))
        return values, np.multiply.outer(self.posterior_.covariance(T, self._resources()), scale)


def robust_weights(sizes: Floats, kind: str) -> Floats:
    r"""Weights of errors by their size over a robust scale.

    .. math:: v(r) = \begin{cases} 1 & r \le 2.5 \\ 2 (3 - r) & 2.5 < r \le 3 \\ 10^{-4} & r > 3 \end{cases}, \qquad
              v(r) = \min(1, 1.345 / r), \qquad v(r) = \tanh(r) / r

    Parameters
    ----------
    sizes : (n,) array
        r, not negative.
    kind : {"hampel", "huber", "logistic"}
        In this order.

    Examples
    --------
    >>> robust_weights(np.array([1.0, 2.75, 10.0]), "hampel")
    array([1.e+00, 5.e-01, 1.e-04])
    """
    if kind == "huber":
        return np.minimum(1.0, 1.345 / np.maximum(sizes, 1.345))
    if kind == "logistic":
        return np.where(sizes > 1e-8, np.tanh(sizes) / np.maximum(sizes, 1e-8), 1.0)
    return np.clip((3.0 - sizes) / 0.5, _LEAST, 1.0)


def weighted_median(values: Floats, w: Floats) -> float:
    """Return the median of values, each of which counts as w copies: the mean of the two in the middle.

    Examples
    --------
    >>> weighted_median(np.array([1.0, 2.0, 10.0]), np.array([1.0, 1.0, 2.0]))
    6.0
    """
    order = np.argsort(values, kind="stable")
    total = np.cumsum(w[order])
    half = 0.5 * total[-1]
    low = values[order[np.searchsorted(total, half, side="left")]]
    high = values[order[min(np.searchsorted(total, half, side="right"), len(order) - 1)]]
    return float(0.5 * (low + high))
