r"""Group lasso: columns that come and go together, or one after another along a hierarchy.

Symbols: b the coefficients, g groups of columns with weights omega_g, alpha the penalty.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks

from mercer.arrays import Floats, real_numbers
from mercer.budget import Plan
from mercer.constraints import Interval, Optional, Satisfies
from mercer.errors import ParameterError
from mercer.estimators.fits import Run, fitting
from mercer.estimators.sparse.lasso import SparseRegressor, columns_of, lasso_plan
from mercer.gram import FeatureExpansion, Features
from mercer.kernels import Linear
from mercer.problems import Solution
from mercer.solvers.sparse.design import PenalisedLeastSquares
from mercer.solvers.sparse.proximal import GroupedLeastSquares, Groups, ProximalGradient
from mercer.targets import Real

__all__ = ["GroupLasso"]
__public__ = __all__


def _is_listed(given: Any) -> bool:
    return isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str)


def _has_length(given: Any) -> bool:
    return isinstance(given, Sized) and not isinstance(given, str)


_LABELS = Satisfies("a label for each column, the columns of each group", _is_listed, "[0, 0, 1]")
_PARENTS = Satisfies("the number of the parent of each group, with -1 for none", _has_length, "[-1, 0, 0]")
_WEIGHTS = Satisfies("a positive number for each group", _has_length, "[1.0, 2.0]")


class GroupLasso(SparseRegressor):
    r"""Group lasso: a linear function of few groups of columns.

    .. math:: \min_{b, b_0} \; \tfrac12 \sum_i w_i \, (y_i - \langle x_i, b \rangle - b_0)^2
        + \alpha \Big( (1 - \rho) \sum_g \omega_g \|b_g\|_2 + \rho \|b\|_1 \Big)

    With a hierarchy, a group in the sum is a group and all its descendants: a group is used only if its parent is.

    Seed: [SS] Section 2.5.1, references [155], [62].

    Parameters
    ----------
    groups : (d,) array of labels, list of lists of columns, or None, default None
        The group of each column, or the columns of each group; columns in none are groups of their own. None: each
        column is a group. Labels are numbered in ascending order, lists as they come.
    alpha : float, default 1.0
        Weight of the penalty. Positive.
    l1_ratio : float, default 0.0
        rho: 0 is the group lasso, 1 the lasso, in between the sparse group lasso.
    hierarchy : (G,) array of int, optional
        The parent of each group, by number; -1 for none.
    group_weights : (G,) array, optional
        omega, positive; None is the square root of the number of columns, descendants included.
    fit_intercept : bool, default True
        Whether f has an intercept, which is not penalised.
    tol : float, default 1e-10
        Duality gap over the objective at zero.
    max_iter : int, default 10000
        Proximal steps.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    coef_ : (d,) or (k, d) array
    intercept_ : float or (k,) array
    groups_ : (d,) array
        Number of the group of each column.
    active_groups_ : (a,) array
        Groups with a coefficient that is not zero, for any output.
    dual_gap_, n_iter_, solver_, solution_ : as in `Lasso`
    expansion_ : FeatureExpansion

    Notes
    -----
    A sample of weight w counts as w copies. Several outputs are fitted one by one.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GroupLasso
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> model = GroupLasso([0, 0, 1, 1], alpha=5.0).fit(X, X[:, 0] - X[:, 1])
    >>> model.active_groups_, model.coef_[2:]
    (array([0]), array([0., 0.]))
    """

    kernel = Linear()
    gram = Features()
    constraints = {
        "groups": Optional(_LABELS),
        "l1_ratio": Interval(0.0, 1.0),
        "hierarchy": Optional(_PARENTS),
        "group_weights": Optional(_WEIGHTS),
    }

    def __init__(
        self,
        groups: Any = None,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.0,
        hierarchy: Any = None,
        group_weights: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-10,
        max_iter: int = 10_000,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.groups = groups
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.hierarchy = hierarchy
        self.group_weights = group_weights
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    solver = None

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GroupLasso:
        """Fit the coefficients to training data.

        Parameters
        ----------
        X : (n, d) array-like, sparse matrix, data frame or packed samples
        y : (n,) or (n, k) array of real targets
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, Real()) as (run, _, _, S, values, w, _):
            design = columns_of(self, S, w)
            own = _own_groups(self.groups, design.shape[1])
            self._groups = self._penalised(own, design.shape[1])
            coef, self.intercept_ = self._each(design, values, run)
            del self._groups
            self.kernel_, self.gram_ = self.kernel, self.gram
            self.expansion_ = FeatureExpansion(self.kernel, None, coef, np.asarray(self.intercept_))
            self.coef_ = np.ascontiguousarray(coef.T)
            self.groups_ = np.zeros(design.shape[1], dtype=np.intp)
            for number, columns in enumerate(own):
                self.groups_[columns] = number
            used = coef.reshape(design.shape[1], -1).any(axis=1)
            self.active_groups_ = np.unique(self.groups_[used])
        return self

    def _solve_one(self, problem: PenalisedLeastSquares, run: Run) -> Solution:
        self.solver_ = ProximalGradient(self.tol, self.max_iter)
        grouped = GroupedLeastSquares(problem.design, problem.target, problem.alpha, self._groups)
        return self.solver_.solve(grouped, monitor=run.solver_monitor(self.tol) if run.watched else None)

    def _penalised(self, own: list[list[int]], d: int) -> Groups:
        """Return the groups of the penalty: with their descendants, and single columns for the l1 part."""
        whole_groups = _with_descendants(own, self.hierarchy)
        weights = _group_weights(self.group_weights, whole_groups)
        groups, scales = [], []
        if self.l1_ratio < 1.0:
            groups += whole_groups
            scales += list((1.0 - self.l1_ratio) * weights)
        if self.l1_ratio > 0.0:
            groups += [[j] for j in range(d)]
            scales += [self.l1_ratio] * d
        return Groups.of(groups, scales, d)

    def predict(self, X: Any) -> Floats:
        """Return f at new data, shape (m,) or (m, k)."""
        values = self._evaluate(X)
        return self.target_.decode(values)

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        return lasso_plan(f"GroupLasso on {n_samples} samples", n_samples, n_features, None)


def _own_groups(given: Any, d: int) -> list[list[int]]:
    """Return the columns of each group; each column is in one."""
    if given is None:
        return [[j] for j in range(d)]
    nested = len(given) > 0 and all(map(_is_listed, given))
    if not nested:
        labels = np.asarray(given)
        if labels.shape != (d,):
            raise ParameterError(
                f"groups of shape {labels.shape} was given for {d} columns; a label for each column is accepted, or a "
                "list of lists of columns. Give one label per column."
            )
        _, codes = np.unique(labels, return_inverse=True)
        return [np.flatnonzero(codes == code).tolist() for code in range(int(codes.max()) + 1)]
    found = [[int(j) for j in one] for one in given]
    flat = [j for one in found for j in one]
    if not all(found) or len(set(flat)) != len(flat) or not all(0 <= j < d for j in flat):
        raise ParameterError(
            f"groups={given!r} was given for {d} columns; groups that are not empty, of columns 0 to {d - 1}, each in "
            "one group only, are accepted. For nested groups give hierarchy."
        )
    return found + [[j] for j in range(d) if j not in set(flat)]


def _with_descendants(own: list[list[int]], parents: Any) -> list[list[int]]:
    """Return the columns of each group and of all groups below it."""
    if parents is None:
        return own
    above = np.asarray(parents)
    count = len(own)
    if above.shape != (count,) or above.dtype.kind not in "iu" or above.min() < -1 or above.max() >= count:
        raise ParameterError(
            f"hierarchy={parents!r} was given for {count} groups; the number of the parent of each group, 0 to "
            f"{count - 1}, or -1 for none, is accepted. Give {count} integers."
        )
    collected = [list(columns) for columns in own]
    for g in range(count):
        above_it, seen = int(above[g]), {g}
        while above_it >= 0:
            if above_it in seen:
                raise ParameterError(
                    f"hierarchy={parents!r} was given, in which group {g} is its own ancestor; a tree is accepted. "
                    "Give -1 as the parent of its root."
                )
            seen.add(above_it)
            collected[above_it] += own[g]
            above_it = int(above[above_it])
    return collected


def _group_weights(given: Any, groups: list[list[int]]) -> Floats:
    """Return the weight of each group."""
    if given is None:
        return np.sqrt([len(columns) for columns in groups])
    weights = real_numbers(given, "group_weights")
    if weights.shape != (len(groups),) or not np.all(np.isfinite(weights) & (weights > 0.0)):
        raise ParameterError(
            f"group_weights={given!r} was given for {len(groups)} groups; a positive number for each is accepted. "
            "Leave it out for the square roots of the sizes."
        )
    return weights
