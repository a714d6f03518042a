r"""Lasso: least squares with a penalty on the absolute values of the coefficients.

Symbols: b the coefficients, b_0 the intercept, w_i the sample weights, alpha the penalty.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from mercer.arguments import checked, require_squares
from mercer.arrays import Floats, real_numbers
from mercer.budget import Plan
from mercer.constraints import Boolean, Integer, Interval, OneOf, Positive
from mercer.domains import Vectors
from mercer.errors import ParameterError, warn_caller
from mercer.estimators.estimator import KernelEstimator, sample_weights, weighted
from mercer.estimators.fits import Run, fitting
from mercer.gram import FeatureExpansion, Features
from mercer.kernels import Linear
from mercer.kernels.kernel import overflow_error
from mercer.problems import Solution, Status
from mercer.solvers.solver import Solver
from mercer.solvers.sparse.complementarity import ComplementaryPivoting
from mercer.solvers.sparse.coordinate_descent import CoordinateDescent
from mercer.solvers.sparse.design import Design, PenalisedLeastSquares, design_of, power_of_two
from mercer.solvers.sparse.lars import LeastAngle
from mercer.targets import Real

__all__ = ["Lasso", "LassoPath", "SparseRegressor", "lasso_path"]
__public__ = ["Lasso", "LassoPath", "lasso_path"]

SOLVERS = ("coordinate_descent", "lars", "linear_program")
_COLUMN_ARRAYS = 8  # of one number for each column, in a design of sparse columns and a fit


class SparseRegressor(MultiOutputMixin, RegressorMixin, KernelEstimator):
    """Base of estimators with a penalty on coefficients: one problem for each output, a solver by name."""

    alpha: float
    tol: float
    max_iter: int
    fit_intercept: bool
    constraints = {
        "alpha": Positive(),
        "solver": OneOf(*SOLVERS),
        "fit_intercept": Boolean(),
        "tol": Interval(0.0, 1.0, closed="neither"),
        "max_iter": Integer(1),
    }

    def _each(self, design: Design, values: Floats, run: Run, until: float = 0.95) -> tuple[Floats, Floats]:
        """Solve one problem for each output: coefficients (D,) or (D, k), and intercepts; keeps the solution."""
        columns = values.reshape(len(values), -1)
        found, intercepts = [], []
        began = run.done / 100
        for k in range(columns.shape[1]):
            z, mean = design.target(columns[:, k])
            unit = power_of_two(z)
            with run.stage("solver", began + (until - began) * (k + 1) / columns.shape[1]):
                one = self._solve_one(PenalisedLeastSquares(design, z / unit, self.alpha / unit), run)
            found.append(_rescaled(one, unit))
            intercepts.append(design.intercept(mean, found[-1].coef))
        worst = max(found, key=lambda one: (one.status is not Status.CONVERGED, one.residual))
        if worst.status is not Status.CONVERGED:
            warn_caller(
                f"{type(self.solver_).__name__} stopped at a duality gap of {worst.residual:.3g} of the objective at "
                f"zero. {worst.status.value}",
                ConvergenceWarning,
            )
        coef = np.stack([one.coef for one in found], axis=-1).reshape(-1, *values.shape[1:])
        self.dual_gap_ = float(sum(one.gap for one in found))
        self.n_iter_ = max(_iterations(one) for one in found)
        self.solution_ = dataclasses.replace(worst, coef=coef, gap=self.dual_gap_, state=None)
        return coef, np.array(intercepts).reshape(values.shape[1:])

    def _solve_one(self, problem: PenalisedLeastSquares, run: Run) -> Solution:
        """Solve the problem of one output by the solver of that name."""
        solver = self._named_solver()
        self.solver_ = solver
        return solver.solve(problem, monitor=run.solver_monitor(self.tol) if run.watched else None)

    def _named_solver(self) -> Solver:
        if self.solver == "lars":
            return LeastAngle(max(self.max_iter, 1))
        if self.solver == "linear_program":
            return ComplementaryPivoting(max(self.max_iter, 1))
        return CoordinateDescent(self.tol, self.max_iter)


def _rescaled(solution: Solution, unit: float) -> Solution:
    """Return a solution for targets that were divided by a power of two."""
    with np.errstate(over="ignore"):
        return dataclasses.replace(solution, coef=solution.coef * unit, gap=solution.gap * unit * unit)


def _iterations(solution: Solution) -> int:
    return solution.state if isinstance(solution.state, int) else len(solution.trace)


class Lasso(SparseRegressor):
    r"""Lasso: a linear function of few columns.

    .. math:: \min_{b, b_0} \; \tfrac12 \sum_i w_i \, (y_i - \langle x_i, b \rangle - b_0)^2 + \alpha \|b\|_1

    scikit-learn divides the first term by the number of samples: its alpha is the one here over the sum of the weights.

    Seed: [KIKS] Eqs. (13)-(15); [SS] Eqs. (27), (28).

    Parameters
    ----------
    alpha : float, default 1.0
        Weight of the penalty: a column joins where its covariance with what is left of y, summed over the samples,
        exceeds alpha. Positive.
    solver : {"coordinate_descent", "lars", "linear_program"}, default "coordinate_descent"
        `CoordinateDescent` on growing sets of columns; `LeastAngle`, along the path; `ComplementaryPivoting`, the
        simplex method in doubled variables. All three give the same coefficients.
    fit_intercept : bool, default True
        Whether f has an intercept, which is not penalised.
    tol : float, default 1e-10
        Duality gap over the objective at zero, for coordinate descent; the other two are exact.
    max_iter : int, default 10000
        Rounds of coordinate descent, knots of the path, or pivots.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    coef_ : (d,) or (k, d) array
    intercept_ : float or (k,) array
    sparse_coef_ : csr_array
        The same as ``coef_``, shape (1, d) or (k, d).
    dual_gap_ : float
        The objective is above its minimum by no more than this; summed over the outputs.
    n_iter_ : int
        Rounds, knots or pivots; the most of any output.
    expansion_ : FeatureExpansion
    solver_ : Solver
    solution_ : Solution
        Duality gap and status.

    Notes
    -----
    A sample of weight w counts as w copies. Sparse columns are never made dense; they are centred implicitly.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Lasso
    >>> X = np.array([[1.0, 1.0], [2.0, -1.0], [3.0, -1.0], [4.0, 1.0]])
    >>> model = Lasso(alpha=0.5).fit(X, [1.0, 2.0, 3.0, 4.0])
    >>> model.coef_, model.intercept_.round(3)
    (array([0.9, 0. ]), np.float64(0.25))
    """

    kernel = Linear()
    gram = Features()

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        solver: str = "coordinate_descent",
        fit_intercept: bool = True,
        tol: float = 1e-10,
        max_iter: int = 10_000,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Lasso:
        """Fit the coefficients to training data.

        Parameters
        ----------
        X : (n, d) array-like, sparse matrix, data frame or packed samples
        y : (n,) or (n, k) array
            Real targets.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, Real()) as (run, _, _, S, values, w, _):
            coef, self.intercept_ = self._each(columns_of(self, S, w), values, run)
            self._keep(coef)
        return self

    def _keep(self, coef: Floats) -> None:
        """Store coefficients (d,) or (d, k) as the fitted function."""
        self.kernel_, self.gram_ = self.kernel, self.gram
        self.expansion_ = FeatureExpansion(self.kernel, None, coef, np.asarray(self.intercept_))
        self.coef_ = np.ascontiguousarray(coef.T)

    @property
    def sparse_coef_(self) -> Any:
        """The coefficients as a sparse array, shape (1, d) or (k, d)."""
        return sparse_rows(self.coef_)

    def predict(self, X: Any) -> Floats:
        """Return f at new data, shape (m,) or (m, k)."""
        values = self._evaluate(X)
        return self.target_.decode(values)

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        return lasso_plan(f"{type(self).__name__} on {n_samples} samples", n_samples, n_features, self.solver)


def lasso_plan(what: str, n: int, d: int, solver: str | None) -> Plan:
    """Return the buffers of n samples and d columns: the columns, and the matrix of the working set or the tableau."""
    side = 2 * d if solver == "linear_program" else min(d, 2 * n)
    size = 8 * side * (2 * side + 2) if solver == "linear_program" else 16 * side * side
    buffers = {"packed samples": 8 * n * d, "weighted columns": 8 * n * d, "normal equations": size}
    return Plan(what, buffers, ("a larger alpha",))


def columns_of(estimator: Any, S: Any, w: Floats) -> Design:
    """Return the weighted, centred columns of vectors; their squares must be finite."""
    assert isinstance(S, Vectors)
    if S.is_sparse:
        S.require_columns(_COLUMN_ARRAYS, "weights of the columns", memory=estimator.memory)
    else:
        estimator.memory_plan(len(S), S.width).require(estimator.memory)
    with np.errstate(over="ignore", invalid="ignore"):
        design = design_of(S.X, w, estimator.fit_intercept)
        if not np.isfinite(design.squares()).all():
            raise overflow_error(Linear())
    return design


@dataclass(frozen=True, eq=False)
class LassoPath:
    """Lasso solutions for many alphas.

    Attributes
    ----------
    alphas : (t,) array
        Descending.
    coefs : (t, d) array
    intercepts : (t,) array
    gaps : (t,) array
        Duality gaps; those of the exact knots of ``method="lars"`` are NaN.
    exact : bool
        Whether the alphas are all knots of the path, between which the coefficients are linear.

    Examples
    --------
    >>> path = lasso_path([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0], method="lars")
    >>> path.alphas, path.at(1.0)
    (array([2., 0.]), (array([0.5]), 1.0))
    """

    alphas: Floats
    coefs: Floats
    intercepts: Floats
    gaps: Floats
    exact: bool

    def at(self, alpha: float) -> tuple[Floats, float]:
        """Coefficients and intercept at an alpha, by linear interpolation: exact between knots."""
        if not self.exact:
            raise ParameterError(
                "LassoPath.at was asked of a path on a grid; only the path of method='lars', which holds every knot, "
                "is linear in between. Call lasso_path(..., method='lars'), or give the alpha you need in alphas."
            )
        order = slice(None, None, -1)
        each = [np.interp(alpha, self.alphas[order], column[order]) for column in self.coefs.T]
        return np.array(each), float(np.interp(alpha, self.alphas[order], self.intercepts[order]))


@checked(method=OneOf("coordinate_descent", "lars"), fit_intercept=Boolean(), tol=Positive(), max_iter=Integer(1))
def lasso_path(
    X: Any,
    y: Any,
    alphas: Any = None,
    *,
    method: str = "coordinate_descent",
    sample_weight: Any = None,
    fit_intercept: bool = True,
    tol: float = 1e-10,
    max_iter: int = 10_000,
) -> LassoPath:
    r"""Lasso for many alphas: a grid with warm starts, or every knot of the path.

    Seed: [KIKS] Section 4.1.3.

    Parameters
    ----------
    X : (n, d) array-like, sparse matrix, data frame or packed samples
    y : (n,) array
    alphas : (t,) array, optional
        Positive, in any order. None: for coordinate descent a hundred from the largest at which a coefficient is not
        zero down to a thousandth of it, in geometric progression; for ``method="lars"`` all knots down to zero.
    method : {"coordinate_descent", "lars"}, default "coordinate_descent"
    sample_weight : (n,) array, optional
    fit_intercept : bool, default True
    tol, max_iter : as in `Lasso`

    Returns
    -------
    path : LassoPath

    Examples
    --------
    >>> lasso_path([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0], [1.0, 0.5]).coefs.round(3)
    array([[0.5 ],
           [0.75]])
    """
    S = Vectors.pack(X)
    values = Real(several=False).learn(y).encode(y)
    S, values, w, _ = weighted(S, values, sample_weights(sample_weight, len(S)))
    require_squares(values, "y")
    model = Lasso(fit_intercept=fit_intercept, tol=tol, max_iter=max_iter)
    model._check_parameters()
    design = columns_of(model, S, w)
    z, mean = design.target(values)
    unit = power_of_two(z)
    problem = PenalisedLeastSquares(design, z / unit, 0.0)
    if alphas is not None:
        grid = np.unique(real_numbers(alphas, "alphas"))[::-1] / unit
        if not (len(grid) and np.isfinite(grid).all() and grid[-1] > 0):
            raise ParameterError(
                f"alphas={alphas!r} was given; a sequence of positive numbers is accepted. Leave it out for a grid."
            )
    else:
        top = problem.largest_alpha or 1.0
        grid = np.geomspace(top, 1e-3 * top, 100)
    if method == "lars":
        end = 0.0 if alphas is None else float(grid[-1])
        knots = LeastAngle(max_iter).solve(dataclasses.replace(problem, alpha=end)).state
        points = knots.alphas if alphas is None else grid
        coefs = knots.coefs if alphas is None else np.array([knots.at(alpha) for alpha in grid])
        gaps = np.full(len(points), np.nan)
    else:
        found = list(CoordinateDescent(tol, max_iter).path(problem, grid.tolist()))
        points, coefs = grid, np.array([one.coef for one in found])
        gaps = np.array([one.gap for one in found]) * unit * unit
    coefs = coefs * unit
    intercepts = np.array([design.intercept(mean, b) for b in coefs])
    return LassoPath(points * unit, coefs, intercepts, gaps, method == "lars" and alphas is None)


def sparse_rows(coef: Floats) -> Any:
    """Return coefficients (d,) or (k, d) as a sparse array with a row for each output."""
    return sp.csr_array(np.atleast_2d(coef))
