r"""Kernel lasso: few kernels, chosen by a penalty on their coefficients, and the path in a parameter of the kernel.

Symbols: K the Gram matrix, b the coefficients of the expansion, b_0 the intercept, alpha the penalty.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from mercer.arguments import checked, real_array, require_squares
from mercer.arrays import Array, Floats
from mercer.budget import Plan
from mercer.constraints import Boolean, InstanceOf, Positive
from mercer.domains import Similarities
from mercer.errors import CapabilityError, ParameterError, warn_caller
from mercer.estimators.estimator import scattered, weighted
from mercer.estimators.fits import fitting
from mercer.estimators.sparse.lasso import SparseRegressor
from mercer.gram import Dense, GramSpec, HasRows
from mercer.gram.gram import has_array, has_features
from mercer.kernels import Kernel
from mercer.kernels.kernel import overflow_error
from mercer.problems import Solution
from mercer.solvers.sparse.coordinate_descent import CoordinateDescent, polish
from mercer.solvers.sparse.design import PenalisedLeastSquares, design_of
from mercer.spec import free_names
from mercer.targets import Real

__all__ = ["KernelLasso", "KernelPath", "kernel_path"]
__public__ = __all__

_NARROW = 1e-6  # relative width of the interval in which an event is located
_SURE = 0.01  # of alpha: where optimality is violated by more, rounding decides on the active set


class KernelLasso(SparseRegressor):
    r"""Kernel lasso: a sum of few kernels centred at training samples.

    .. math:: \min_{b, b_0} \; \tfrac12 \sum_i w_i \, (y_i - f(x_i))^2 + \alpha \|b\|_1, \qquad
        f(x) = \sum_j b_j \, k(x, x_j) + b_0

    The penalty is on the coefficients, not on the norm of f: any similarity may be used, also one that is not positive
    definite (the generalised lasso).

    Seed: [KIKS] Section 4.1.3, references [38], [39].

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples.
    alpha : float, default 1.0
        Weight of the penalty. Positive.
    solver : {"coordinate_descent", "lars", "linear_program"}, default "coordinate_descent"
        As in `Lasso`; all three give the same coefficients.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held. None is dense if it fits, else tiles: then only the rows of the samples in use are kept.
    fit_intercept : bool, default True
        Whether f has an intercept, which is not penalised.
    tol : float, default 1e-10
        Duality gap over the objective at zero, for coordinate descent.
    max_iter : int, default 10000
        Rounds of coordinate descent, knots of the path, or pivots.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    expansion_ : Expansion
        The fitted function, with the samples in use only.
    dual_coef_ : (n,) or (n, k) array
        b.
    support_ : (s,) array
        Samples with a coefficient that is not zero, for any output.
    intercept_ : float or (k,) array
    dual_gap_, n_iter_, solver_, solution_ : as in `Lasso`
    kernel_, gram_ : the objects that None was resolved to

    Notes
    -----
    A sample of weight w counts as w copies, whose coefficients add up.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelLasso
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = KernelLasso(Gaussian(1.0), alpha=0.01).fit(X, np.sin(X[:, 0]))
    >>> len(model.support_) < 15, model.predict([[1.5]]).round(1)
    (True, array([1.]))
    """

    def __init__(
        self,
        kernel: Any = None,
        alpha: float = 1.0,
        *,
        solver: str = "coordinate_descent",
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-10,
        max_iter: int = 10_000,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.solver = solver
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelLasso:
        """Fit the coefficients to training data.

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
            self.kernel_ = kernel.learn(S, values, w)
            K = self._represent(self.kernel_, S, run)
            coef, self.intercept_ = self._each(_design(K, w, self.fit_intercept, self.memory), values, run)
            self.expansion_ = K.expand(Solution(coef, self.solution_.status, 0.0), self.intercept_)
            self.dual_coef_ = scattered(coef, used, len(packed))
            self.support_ = np.flatnonzero(self.dual_coef_.reshape(len(packed), -1).any(axis=1))
            self.solution_ = dataclasses.replace(self.solution_, coef=self.dual_coef_)
        return self

    def predict(self, X: Any) -> Floats:
        """Return the fitted function at new data, shape (m,) or (m, k)."""
        values = self._evaluate(X)
        return self.target_.decode(values)

    def _gram_spec(self, kernel: Kernel, S: Any) -> GramSpec:
        spec = super()._gram_spec(kernel, S)
        return Dense() if self.gram is None and has_features(spec) else spec

    def _check_order(self, kernel: Kernel) -> None:
        """Accept every kernel: a penalty on the coefficients needs no definiteness."""

    def _check_definite(self, S: Similarities) -> None:
        S.check_symmetric()

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        plan = super().memory_plan(n_samples, n_features, n_targets)
        if "Gram matrix" not in plan.buffers:
            return plan
        side = 8 * n_samples * n_samples
        extra = {"weighted columns": side, "normal equations": 4 * side if self.solver == "linear_program" else side}
        return Plan(plan.what, {**plan.buffers, **extra}, plan.options)


def _design(K: Any, w: Floats, fit_intercept: bool, memory: Any) -> Any:
    """Return the weighted, centred columns of K: held if K is, computed where they are needed if not."""
    if has_array(K):
        columns = K.to_dense()
        if not np.isfinite(columns).all():
            raise overflow_error(K.kernel)
        return design_of(columns, w, fit_intercept)
    if not isinstance(K, HasRows):
        raise CapabilityError(
            f"KernelLasso needs rows of the Gram matrix; {type(K).__name__} offers only products. "
            "Use gram=Dense() or gram=Tiles()."
        )
    return design_of(K, w, fit_intercept)


@dataclass(frozen=True, eq=False)
class KernelPath:
    """Kernel lasso solutions along a parameter of the kernel.

    Attributes
    ----------
    name : str
        The parameter.
    values : (t,) array
        Its values, in the order given.
    coefs : (t, n) array
        b at each value.
    intercepts : (t,) array
    objectives : (t,) array
        Value of what is minimised.
    violations : (t,) array
        Largest violation of the optimality conditions, over alpha.
    events : tuple of (float, str, int)
        Where a sample joins or leaves between two values, in the order of the walk: the value of the parameter, "join"
        or "leave", and the sample.
    kernels : tuple of Kernel

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> path = kernel_path([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0], Gaussian(1.0), "length_scale", [1.0, 2.0], alpha=0.1)
    >>> path.coefs.shape, path.best
    ((2, 3), 0)
    """

    name: str
    values: Floats
    coefs: Floats
    intercepts: Floats
    objectives: Floats
    violations: Floats
    events: tuple[tuple[float, str, int], ...]
    kernels: tuple[Any, ...]

    @property
    def best(self) -> int:
        """Place of the value with the smallest objective."""
        return int(np.argmin(self.objectives))


@checked(kernel=InstanceOf(Kernel), name=InstanceOf(str), alpha=Positive(), locate_events=Boolean())
def kernel_path(
    X: Any,
    y: Any,
    kernel: Kernel,
    name: str,
    values: Any,
    *,
    alpha: float = 1.0,
    sample_weight: Any = None,
    locate_events: bool = True,
) -> KernelPath:
    r"""Follow the kernel lasso along a parameter of its kernel.

    .. math:: b_S(\theta) = (A_S(\theta)^\top A_S(\theta))^{-1} (A_S(\theta)^\top z - \alpha s)

    While the active set S and its signs s stay the same, the solution is this smooth function of the parameter theta;
    it is not linear. Each value starts from the active set of the one before: one linear system makes the prediction,
    the optimality conditions say whether it is the solution, and where they fail the active set is corrected.

    Seed: [KIKS] Section 4.1.3, reference [40].

    Parameters
    ----------
    X : raw data or packed samples
    y : (n,) array
    kernel : Kernel
    name : str
        The parameter, by its name in ``kernel.get_params()``.
    values : (t,) array
        Values of the parameter, in the order of the walk.
    alpha : float, default 1.0
    sample_weight : (n,) array, optional
    locate_events : bool, default True
        Whether changes of the active set between two values are located, to six digits, by bisection; that takes
        some twenty Gram matrices for each event.

    Returns
    -------
    path : KernelPath
    """
    if name not in kernel.get_params():
        raise ParameterError(
            f"kernel_path was given name={name!r}; {kernel!r} has the parameters "
            f"{', '.join(free_names(kernel)) or 'none that can be moved'}. Give one of them."
        )
    model = KernelLasso(kernel, alpha)
    model._check_parameters()
    packed = kernel.pack(X)
    target = Real(several=False).learn(y)
    S, y_used, w, used = weighted(packed, target.encode(y), sample_weight)
    require_squares(y_used, "y")
    require_squares(w, "sample_weight")
    walk = _Walk(lambda value: _problem(kernel, name, value, S, y_used, w, alpha))
    points = [float(value) for value in real_array(values, "values", (0, 1)).ravel()]
    for value in points:
        walk.go(value, locate_events)
    if walk.lost:
        warn_caller(
            f"rounding decides on the active set at alpha={alpha:g}; not all of its changes were located. Raise "
            "alpha, or take locate_events=False.",
            ConvergenceWarning,
        )
    coefs = np.array([scattered(b, used, len(packed)) for b in walk.coefs])
    events = tuple((value, what, int(used[j])) for value, what, j in walk.events)
    kernels = tuple(kernel.replace(**{name: value}) for value in points)
    return KernelPath(
        name, np.array(points), coefs, np.array(walk.intercepts), np.array(walk.objectives),
        np.array(walk.violations), events, kernels,
    )  # fmt: skip


def _problem(
    kernel: Kernel, name: str, value: float, S: Any, y: Floats, w: Floats, alpha: float
) -> tuple[PenalisedLeastSquares, float]:
    """Return the problem at a value of the parameter, and the mean of the targets."""
    K = Dense().build(kernel.replace(**{name: value}).check(), S).to_dense()
    design = design_of(K, w)
    z, mean = design.target(y)
    return PenalisedLeastSquares(design, z, alpha), mean


class _Walk:
    """The active set carried along the parameter."""

    def __init__(self, problem_at: Callable[[float], tuple[PenalisedLeastSquares, float]]) -> None:
        self.problem_at = problem_at
        self.value, self.b = np.nan, np.zeros(0)
        self.coefs: list[Floats] = []
        self.intercepts: list[float] = []
        self.objectives: list[float] = []
        self.violations: list[float] = []
        self.events: list[tuple[float, str, int]] = []
        self.lost = False  # whether the active set was left to rounding somewhere

    def go(self, value: float, locate: bool) -> None:
        """Solve at the next value, and locate what changed on the way."""
        problem, mean = self.problem_at(value)
        start = self.b if len(self.coefs) else np.zeros(problem.design.shape[1])
        b = _corrected(problem, start)
        r = problem.left(b)
        violation = problem.violation(b, problem.design.correlations(r)) / problem.alpha
        if locate and len(self.coefs):
            if max(violation, self.violations[-1]) > _SURE:
                self.lost = True
            else:
                self._locate(self.value, np.sign(self.b), value, np.sign(b), b)
        self.coefs.append(b)
        self.intercepts.append(problem.design.intercept(mean, b))
        self.objectives.append(problem.objective(b, r))
        self.violations.append(violation)
        self.value, self.b = value, b

    def _locate(self, low: float, before: Floats, high: float, after: Floats, b: Floats) -> None:
        """Bisect between two values until one change of the active set is left in each interval."""
        changed = np.flatnonzero(before != after)
        if not len(changed):
            return
        if abs(high - low) <= _NARROW * max(abs(low), abs(high)):
            for j in changed:
                if before[j] != 0.0:
                    self.events.append((high, "leave", int(j)))
                if after[j] != 0.0:
                    self.events.append((high, "join", int(j)))
            return
        middle = 0.5 * (low + high)
        between = _corrected(self.problem_at(middle)[0], b)
        signs = np.sign(between)
        self._locate(low, before, middle, signs, between)
        self._locate(middle, signs, high, after, b)


def _corrected(problem: PenalisedLeastSquares, start: Floats) -> Floats:
    """Return the solution from that of a problem nearby: predict on its active set, accept it or correct the set."""
    S: Array = np.flatnonzero(start)
    if len(S):
        r = problem.left(start)
        q, b = problem.design.correlations(r)[S], start[S].copy()
        polish(problem.design.normal(S, S), q, b, problem.alpha, steps=2 * len(S))
        start = np.zeros_like(start)
        start[S] = b
    return CoordinateDescent(tol=1e-12).solve(problem, start=start).coef
