"""Kernel ridge regression that chooses its ridge and its kernel by the errors of left-out samples.

Symbols: K the Gram matrix, w_i sample weights, N their sum, alpha the ridge, theta the kernel's free parameters,
f_-i the function fitted without sample i.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import optimize
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Floats, real_numbers
from mercer.budget import Clock, Plan, budget
from mercer.constraints import AnyOf, Boolean, Each, Integer, OneOf, Optional, Positive, Satisfies
from mercer.domains import Samples
from mercer.errors import CapabilityError, warn_caller
from mercer.estimators.estimator import scattered
from mercer.estimators.fits import Run, fitting
from mercer.estimators.parameter_gradients import rank_of
from mercer.estimators.squares.factor_ridge import (
    Decomposed,
    FactorSpectrum,
    Folds,
    LandmarkCriterion,
    best_ridge,
    left_out_errors_of,
    mean_squares,
    table_of,
)
from mercer.estimators.squares.ridge import RidgeEstimator, Weighted, kernel_unit
from mercer.estimators.squares.ridge_criterion import RidgeCriterion
from mercer.gram import Dense, Gram, GramSpec, HasFactor
from mercer.gram.gram import has_array, has_landmarks, is_stored
from mercer.gram.low_rank.factor_rows import SHARE
from mercer.kernels import Kernel
from mercer.kernels.kernel import offers, overflow_error
from mercer.kernels.protocols import Differentiable
from mercer.problems import Status
from mercer.runtime.tiling import in_background
from mercer.selection.cross_validation import partition
from mercer.selection.hyperparameters import Search, Tuned, tune
from mercer.selection.path import RidgeSpectrum
from mercer.spec import free_names
from mercer.targets import Real

__all__ = ["KernelRidgeCV"]
__public__ = __all__

_GRID = np.logspace(-8.0, 4.0, 25)  # ridges where the search starts, in units of the mean of k(x, x)
_FEW = 500  # samples that decide where the search for a kernel starts
_ROWS = 4096  # of a factor at a time
_NOTHING = 64 * np.finfo(np.float64).eps  # nearer to one a leverage cannot be distinguished from one
_FLOOR = 1e-24  # of the mean square of y: below it errors are rounding
_FOLDS = Satisfies(
    "a splitter of scikit-learn, pairs (train, test) of indices",
    lambda cv: not isinstance(cv, (str, bytes)) and (hasattr(cv, "split") or not np.isscalar(cv)),
)


class KernelRidgeCV(RidgeEstimator):
    r"""Kernel ridge regression whose ridge and kernel make the errors of left-out samples small.

    .. math:: \min_{\alpha, \theta} \; \frac1N \sum_i w_i \left(y_i - f_{-i}(x_i)\right)^2, \qquad
        y_i - f_{-i}(x_i) = \frac{a_i}{(G^{-1})_{ii}}, \quad G = K_\theta + \alpha W^{-1}

    Without `alphas`, the ridge and all free parameters of the kernel are found by a gradient method: the error is in
    closed form, and so is its derivative in K, one matrix that the kernel pulls back to its parameters. With `alphas`,
    the best of these is taken for the kernel as given, all of them for one eigendecomposition.

    Seed: [KIKS] Section 4.1.1 (the errors in closed form), [SS] Section 5.1 (with an intercept, the LS-SVM).

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        Where the search starts. None is the Gaussian at the median distance between training samples; a name of
        scikit-learn means what it means there.
    alphas : array, optional
        Ridges to choose from, positive; the kernel is then held. None moves the ridge continuously.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held. None is `Dense`. A Gram of low rank, such as ``Nystrom(500)``, and `Features` need no n x n
        array: all is found in the r columns of the factor. Grams that offer products only, such as `Tiles`, are
        refused.
    cv : None, "gcv", int, splitter or iterable, default None
        Which samples are left out: None one at a time; an int that many folds of neighbouring samples; a splitter of
        scikit-learn, or pairs (train, test) of indices, the folds "test", which must be a partition; "gcv" is
        generalised cross-validation.
    fit_intercept : bool, default False
        Whether a constant that is not penalised is added to the function.
    fixed : tuple of str, or "all", default ()
        Free parameters of the kernel that are held, such as ``"length_scale"``; "all" moves the ridge alone.
    bounds : mapping of name to (low, high), optional
        Bounds of the kernel's free parameters and of ``"alpha"``; a factor of 1e5 from the start where not given.
    restarts : int, default 0
        Further searches from random places; the best is kept.
    max_iter : int, default 200
        Steps of each search.
    tol : float, default 1e-5
        Largest derivative of the logarithm of the error at which a search ends.
    random_state : int, RandomState or None
        Seed of the restarts.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`. When time is up, the best parameters so far are taken.

    Attributes
    ----------
    alpha_ : float
        The ridge.
    kernel_ : Kernel
        The kernel with its parameters.
    best_score_ : float
        Minus the mean squared error of the left-out samples, over all outputs; larger is better.
    cv_values_ : (n,), (n, k), (n, p) or (n, k, p) array
        Squared errors of the left-out samples; with `alphas` one column for each. NaN for samples of weight zero.
    tuned_ : Tuned or None
        The search; None if the kernel was held.
    n_iter_ : int
        Steps of the best search; 1 if the kernel was held.
    expansion_, dual_coef_, intercept_, gram_, solver_, solution_ : as for `KernelRidge`

    Notes
    -----
    A sample of weight w counts as w copies, also here: one of its copies is left out at a time, and a sample of weight
    below one is left out whole. Folds are left out whole. With several outputs errors are added up; they share the
    ridge and the kernel. Cost of a step 2 n^3 operations and two n x n arrays; of a grid one eigendecomposition and
    three.

    With a Gram of low rank the errors are those of the approximated matrix, as the fitted function is; its landmarks
    stay where they are, even if their own errors are looked at. Cost O(n r^2) once and O(n r) for a ridge, memory
    O(r^2) and, if it fits, n r. While the kernel is moved the landmarks are held, and a step costs O(n r^2) and a few
    arrays of n r numbers; the Gram of the kernel that was found is rebuilt. `Features` and `RandomFeatures` have no
    landmarks: with them the parameters must be held. A factor with as many columns as samples saves nothing, and the
    n x n matrix is decomposed.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidgeCV
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=50)
    >>> model = KernelRidgeCV().fit(X, y)
    >>> round(float(model.kernel_.length_scale), 1), bool(np.sqrt(-model.best_score_) < 0.12)
    (1.0, True)
    """

    products_suffice = False
    constraints = {
        "alphas": Optional(Each(Positive())),
        "cv": Optional(AnyOf(OneOf("gcv"), Integer(2), _FOLDS)),
        "fit_intercept": Boolean(),
        "restarts": Integer(0),
        "max_iter": Integer(1),
        "tol": Positive(),
    }

    def __init__(
        self,
        kernel: Any = None,
        alphas: Any = None,
        *,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        cv: Any = None,
        fit_intercept: bool = False,
        fixed: Sequence[str] | str = (),
        bounds: Mapping[str, tuple[float, float]] | None = None,
        restarts: int = 0,
        max_iter: int = 200,
        tol: float = 1e-5,
        random_state: Any = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.alphas = alphas
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.fixed = fixed
        self.bounds = bounds
        self.restarts = restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidgeCV:
        """Choose the ridge and the kernel, and fit the function to all training data.

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
            alphas, data = _ridges(self.alphas), Weighted(len(packed), S, values, w, used)
            kernel = kernel.learn(data.samples, data.values, data.weight)
            folds = self._folds(data)
            self.tuned_, self.n_iter_ = None, 1
            with run.stage("choice of the ridge", 0.7):
                if alphas is None and self._moves(kernel):
                    kernel, errors = self._search(kernel, data, folds, run)
                else:
                    errors = self._along(*self._spectrum(kernel, data, run), alphas, data, folds)
            self.best_score_ = -mean_squares(errors, data.weight).min()
            flat = data.values.ndim == 1
            squares = np.square(errors if self.alphas is not None else errors[0])  # (p, n, k) or (n, k)
            squares = np.moveaxis(squares, 0, -1) if self.alphas is not None else squares
            self.cv_values_ = _spread_nan(squares[:, 0] if flat else squares, data)
            self._fit_at(kernel, self.alpha_, data, run)
        return self

    def _folds(self, data: Weighted) -> Folds:
        """Return which samples of positive weight are left out together."""
        if self.cv is None:
            return "loo"
        if isinstance(self.cv, str):
            return "gcv"
        if isinstance(self.cv, (int, np.integer)) or hasattr(self.cv, "split"):
            return partition(self.cv, len(data.samples))
        place = np.full(data.total, -1)
        place[data.used] = np.arange(len(data.used))
        folds = [place[fold] for fold in partition(self.cv, data.total)]
        return [fold[fold >= 0] for fold in folds if np.any(fold >= 0)]

    def _moves(self, kernel: Kernel) -> bool:
        """Return whether a parameter of the kernel is to be found."""
        names = free_names(kernel)
        if not names or (isinstance(self.fixed, str) and self.fixed == "all"):
            return False
        if not offers(kernel, Differentiable):
            raise CapabilityError(
                f"KernelRidgeCV was given {kernel!r}, which has no derivative in its parameters {', '.join(names)}; to "
                "move them it needs one. Hold them by fixed='all', or compare kernels by GridSearchCV."
            )
        return True

    def _border(self, n: int) -> Floats | None:
        return np.ones((n, 1)) if self.fit_intercept else None

    def _gram_spec(self, kernel: Kernel, S: Samples) -> GramSpec:
        """Return how K is held; a matrix that is stored must fit with what decomposes it."""
        spec = Dense() if self.gram is None else super()._gram_spec(kernel, S)
        if is_stored(spec):
            self._require_with(spec, S)
        return spec

    def _planned_gram(self, n_samples: int) -> GramSpec:
        return Dense() if self.gram is None else super()._planned_gram(n_samples)

    def _can_use(self, spec: GramSpec) -> bool:
        if self.alphas is None and not (isinstance(self.fixed, str) and self.fixed == "all"):
            return spec.differentiable
        return not (spec.streamed or spec.structured)

    def _represent(self, kernel: Kernel, S: Samples, run: Run, until: float = 0.5) -> Gram:
        """Build the Gram, unless that of the choice can be used again: then landmarks are not drawn twice."""
        gram = vars(self).pop("_decomposed", None)
        return super()._represent(kernel, S, run, until) if gram is None else gram

    def _usable(self, kernel: Kernel, data: Weighted, run: Run) -> Gram:
        """Build the Gram for the choice, or refuse one that has neither entries nor a factor."""
        gram = self._represent(kernel, data.samples, run, until=0.3)
        if not (has_array(gram) or isinstance(gram, HasFactor)):
            raise CapabilityError(
                f"KernelRidgeCV was given gram={self.gram_!r}, which stores nothing that can be decomposed; errors of "
                "left-out samples need a factor or a dense matrix. Use gram=Nystrom(500), or KernelRidge with alpha."
            )
        if not np.isfinite(gram.diag()).all():
            raise overflow_error(kernel)
        return gram

    def _spectrum(self, kernel: Kernel, data: Weighted, run: Run) -> tuple[Decomposed, float]:
        """Decompose K, or its factor if that has fewer columns than there are samples; and the mean of k(x, x)."""
        gram, w = self._usable(kernel, data, run), data.weight
        unit = float(np.average(gram.diag(), weights=w))
        if isinstance(gram, HasFactor):
            self._decomposed = gram
            if gram.factor(slice(0, 1)).shape[1] < len(w):
                parts = gram, w, self.fit_intercept, SHARE * budget(self.memory)
                return in_background(FactorSpectrum.of, *parts, deadline=run.deadline), unit
        K = gram.release() if has_array(gram) else gram.to_dense()
        unit = kernel_unit(kernel, K, w)
        return in_background(RidgeSpectrum.of, K, w, self._border(len(w)), deadline=run.deadline), unit

    def _search(self, kernel: Kernel, data: Weighted, folds: Folds, run: Run) -> tuple[Kernel, Floats]:
        """Move the kernel's parameters and the ridge; the kernel, and errors (1, n, k)."""
        criterion = self._criterion(kernel, data, folds, run)
        low = isinstance(criterion, LandmarkCriterion)
        start = criterion.start(kernel) if low else _start(kernel, data, self._has_intercept)
        tuned = tune(
            criterion, kernel, {"alpha": start}, fixed=self.fixed, bounds=self.bounds,
            search=Search(self.restarts, self.random_state, self.max_iter, self.tol),
            monitor=run.solver_monitor(self.tol) if run.watched else None,
        )  # fmt: skip
        if tuned.status in (Status.TIME, Status.STOPPED):  # what was found is fitted all the same
            run.clock, run.asked_to_stop = Clock.start(None), False
        if tuned.status is not Status.CONVERGED:
            warn_caller(
                f"The search for the ridge and the kernel stopped at slope {tuned.slope:.3g}. {tuned.status.value}",
                ConvergenceWarning,
            )
        self.tuned_: Tuned | None = tuned
        self.n_iter_ = max(len(tuned.values) - 1, 1)
        self.alpha_ = float(tuned.beside["alpha"])
        if not low:
            return tuned.kernel, criterion.left_out(tuned.kernel, self.alpha_)[None]
        spectrum, _ = self._spectrum(tuned.kernel, data, run)
        return tuned.kernel, left_out_errors_of(spectrum, table_of(data), np.array([self.alpha_]), folds)

    def _criterion(self, kernel: Kernel, data: Weighted, folds: Folds, run: Run) -> RidgeCriterion | LandmarkCriterion:
        """Return the error as a function of the kernel: of the dense matrix, or of one on landmarks."""
        S, n = data.samples, len(data.samples)
        spec, policy = self._gram_spec(kernel, S), getattr(self.gram, "indefinite", None)
        if policy is not None:
            raise CapabilityError(
                f"KernelRidgeCV was given gram={self.gram!r} with {kernel!r}, whose parameters are to be found; a "
                "repaired matrix has no derivative in them. Hold them by fixed='all', or leave out indefinite."
            )
        if not is_stored(spec):
            gram = self._usable(kernel, data, run)
            if isinstance(gram, HasFactor) and not has_landmarks(gram):
                raise CapabilityError(
                    f"KernelRidgeCV was given gram={self.gram_!r} with {kernel!r}, whose parameters are to be found; "
                    "their derivative needs landmarks. Hold them by fixed='all' or alphas=, or use gram=Nystrom(500)."
                )
            if has_landmarks(gram) and gram.index is not None and len(gram.index) < n:
                self._require_with(self.gram_, S)
                return LandmarkCriterion(data, gram.index, self._has_intercept, folds, self._resources())
        return RidgeCriterion(S, table_of(data), data.weight, self._border(n), folds, self._resources())

    def _along(self, spectrum: Decomposed, unit: float, alphas: Floats | None, data: Weighted, folds: Folds) -> Floats:
        """Choose a ridge for the kernel as it is; errors (p, n, k) of the grid, or (1, n, k) of the best."""
        values = table_of(data)
        if alphas is not None:
            errors = left_out_errors_of(spectrum, values, alphas, folds)
            self.alpha_ = float(alphas[np.argmin(mean_squares(errors, data.weight))])
            return errors
        low, high = (self.bounds or {}).get("alpha", (np.finfo(np.float64).tiny, np.inf))
        grid = np.unique(np.clip(_GRID * (unit if unit > 0.0 else 1.0), low, high))
        means = mean_squares(left_out_errors_of(spectrum, values, grid, folds), data.weight)
        best = int(np.argmin(means))
        around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]

        def value(log: float) -> float:
            return float(mean_squares(left_out_errors_of(spectrum, values, np.exp([log]), folds), data.weight)[0])

        self.alpha_ = float(grid[best])
        if around[0] < around[1]:
            found: Any = optimize.minimize_scalar(
                value, bounds=tuple(np.log(around)), method="bounded", options={"xatol": 1e-8}
            )
            if found.fun < means[best]:
                self.alpha_ = float(np.exp(found.x))
        return left_out_errors_of(spectrum, values, np.array([self.alpha_]), folds)

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        plan = super().memory_plan(n_samples, n_features, n_targets)
        r = rank_of(self._planned_gram(n_samples), n_samples, n_features)
        if "Gram matrix" in plan.buffers or r >= n_samples:
            own = {"Gram matrix": 8 * n_samples**2, "factors": 16 * n_samples**2}
            options = ("gram=Nystrom(500)", "KernelRidge with alpha given, on gram=Tiles()")
            return Plan(plan.what, {**plan.buffers, **own}, options)
        own = {"normal equations": 32 * r * r, "rows of the factor at a time": 32 * min(_ROWS, n_samples) * r}
        own |= {"errors": 16 * n_samples * n_targets * (len(_GRID) if self.alphas is None else np.size(self.alphas))}
        if self.alphas is None and self.fixed != "all":
            own |= {"factor and its derivative": 64 * n_samples * r}
        return Plan(plan.what, {**plan.buffers, **own}, plan.options)


def _ridges(alphas: Any) -> Floats | None:
    """A grid of ridges (p,); None stays None."""
    if alphas is None:
        return None
    return np.atleast_1d(real_numbers(alphas, "alphas"))


def _start(kernel: Kernel, data: Weighted, intercept: bool) -> float:
    """The ridge of least error on a grid, for the kernel at the start, on some of the samples."""
    n = len(data.samples)
    rows = np.arange(n) if n <= _FEW else np.linspace(0, n - 1, _FEW).astype(np.intp)
    K = Dense().build(kernel, data.samples.take(rows) if n > _FEW else data.samples).release()
    w = data.weight[rows]
    unit = kernel_unit(kernel, K, w)
    spectrum = RidgeSpectrum.of(K, w, np.ones((len(rows), 1)) if intercept else None)
    return best_ridge(spectrum, table_of(data)[rows], w, unit)


def _spread_nan(values: Floats, data: Weighted) -> Floats:
    out = scattered(values, data.used, data.total)
    out[np.setdiff1d(np.arange(data.total), data.used)] = np.nan
    return out
