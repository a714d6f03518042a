r"""Linear programming boosting: the weights of weak learners by column generation.

Symbols: h weak learners, a >= 0 their weights, f = sum_h a_h h; xi slacks, w_i sample weights, W their sum; rho the
margin, D = 1 / (nu W).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.callback import with_callbacks

from mercer.arrays import Floats
from mercer.constraints import Interval, OneOf, Optional, Positive
from mercer.errors import DomainError, ParameterError
from mercer.estimators.boosting.ensemble import Boosted, BoostedClassifier, Merged
from mercer.estimators.boosting.weak_learners import KernelStumps, Search, as_learner
from mercer.estimators.fits import Run, fitting, scattered
from mercer.kernels import Kernel
from mercer.problems import Solution, Status
from mercer.solvers.columns.generation import Form, Generated, Margin, Penalty, Tube, generate
from mercer.targets import Multiclass, Real
from mercer.targets.target import class_weights

__all__ = ["LPBoostClassifier", "LPBoostRegressor"]
__public__ = __all__

_NU, _EPSILON = 0.2, 0.1  # where neither form is asked for
_SOLVERS = OneOf("interior", "simplex")
_DEAREST = 1e100  # price of an error


class _Generating(Boosted):
    """Base of estimators whose votes solve a linear program."""

    constraints = {"solver": _SOLVERS}
    solver: str

    def _check_order(self, kernel: Kernel) -> None:
        if not isinstance(as_learner(self.learner), KernelStumps):  # which may be of any kernel
            super()._check_order(kernel)

    def _generate(self, form: Form, search: Search, run: Run, until: float) -> Generated:
        with run.stage("column generation", until):
            monitor = run.solver_monitor(self.tol) if run.watched else None
            options = {"tol": self.tol, "max_iter": self.max_iter, "solver": self.solver}
            return generate(form, search, **options, inward=search.inward, monitor=monitor)

    def _keep(self, search: Search, found: list[Generated], shifts: bool) -> None:
        """Store the votes, and how far they are from the optimum."""
        self.ensembles_ = tuple(
            self._ensemble(
                search,
                one.marks,
                one.weights,
                float(one.multipliers[0]) if shifts else 0.0,
                [(a, beside[0] if shifts else 0.0) for a, beside in one.stages],
            )
            for one in found
        )
        self.n_iter_ = max(len(one.stages) for one in found)
        self.dual_gap_ = float(sum(one.gap for one in found))
        worst = max(found, key=lambda one: (one.status is not Status.CONVERGED, one.gap))
        self.solution_ = Solution(
            coef=worst.weights,
            status=worst.status,
            residual=worst.gap,
            gap=self.dual_gap_,
            trace=worst.trace,
            details={"weak learners": int(sum(np.count_nonzero(one.weights) for one in found)), "rounds": self.n_iter_},
        )
        self._tell([one.status for one in found], worst.gap)


class LPBoostClassifier(BoostedClassifier, _Generating):
    r"""Linear programming boosting: the votes of weak learners with the largest soft margin.

    .. math:: \max_{\rho, a, \xi} \; \rho - D \sum_i w_i \xi_i \quad \text{s.t.} \quad y_i f(x_i) \ge \rho - \xi_i, \;
        \xi_i \ge 0, \; a \ge 0, \; \sum_h a_h = 1, \qquad f = \sum_h a_h h, \; D = \frac{1}{\nu W}

    over all weak learners h, or with C

    .. math:: \min_{a, \xi} \; \sum_h a_h + C \sum_i w_i \xi_i \quad \text{s.t.} \quad y_i f(x_i) \ge 1 - \xi_i, \;
        \xi_i \ge 0, \; a \ge 0

    Both are the same problem: with C = D / beta, beta the optimum of the first, the second gives a / rho. The first
    maximises the mean of the margins in the worst share nu (conditional value at risk). Weak learners are made one
    round after the other, those of the largest edges :math:`\sum_i u_i y_i h(x_i)` for the dual variables u; the
    largest edge bounds what all others can gain.

    Seed: [ST] "Linear programming boosting", "Alternative version", "Column generation", where beta starts at 0 in
    place of infinity, and "Linear Programming MKL" for ``learner=KernelBalls(kernels)``.

    Parameters
    ----------
    learner : Stumps, KernelStumps, KernelBalls or classifier, optional
        The weak learners; None is `Stumps`. Of a classifier of scikit-learn the gap is what it can find, no bound.
    nu : float, optional
        Margin form: at most this share of the weight lies inside the margin, and at least this share at it or inside.
        In (0, 1]; 0.2 if neither nu nor C is given. Noisy classes need many weak learners where it is small.
    C : float, optional
        Penalty form: price of a unit of margin error. Positive; an error together with nu.
    solver : {"interior", "simplex"}, default "interior"
        Of the restricted programs: an interior point method of mercer, whose points inside the optimal face need few
        rounds; or the simplex method of HiGHS, which ends at a vertex and so with few weak learners, by the package
        highspy (``pip install mercer[lp]``), which goes on from the last round, or else by SciPy, which starts anew.
    tol : float, default 1e-3
        Gap to stop at: of the margin, in units of the largest value of a weak learner (1 for stumps), or of the penalty
        form relative to its objective.
    max_iter : int, default 500
        Rounds.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`. What there is when time is up is a solution, with its gap.

    Attributes
    ----------
    classes_ : (c,) array
    ensembles_ : tuple of Ensemble
        Weak learners and votes; one for two classes, else one for each class against the rest.
    margin_ : (r,) array
        rho; 1 for the penalty form, whose f is not normalised.
    objective_ : (r,) array
        Of the program.
    dual_gap_ : float
        All weak learners together can improve the objectives by no more than this.
    dual_ : (r, n) array
        u_i y_i, the dual variables that show it.
    kernel_weights_ : (r, m) array
        Of `KernelBalls`: the share of each kernel.
    expansions_ : tuple of tuples of Expansion
        Of `KernelBalls`: the function of each kernel that has any share.
    n_iter_ : int
        Rounds.
    solution_ : Solution

    Notes
    -----
    A sample of weight w counts as w copies. More than two classes: one program for each against the rest. A round of
    k weak learners costs O(n d) to find the next and O(n k^2) for some ten steps of the restricted program.

    Examples
    --------
    >>> from mercer import LPBoostClassifier
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = LPBoostClassifier(nu=0.25).fit(X, [0, 1, 1, 0])
    >>> model.margin_.round(3), model.decision_function(X).round(3)
    (array([0.333]), array([-0.333,  0.333,  0.333, -0.333]))
    """

    constraints = {"C": Optional(Positive())}

    def __init__(
        self,
        learner: Any = None,
        nu: float | None = None,
        C: float | None = None,
        *,
        solver: str = "interior",
        tol: float = 1e-3,
        max_iter: int = 500,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.learner = learner
        self.nu = nu
        self.C = C
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.nu is not None and self.C is not None:
            raise ParameterError(
                f"nu={self.nu!r} and C={self.C!r} were given to LPBoostClassifier; it accepts one of them. Leave out C "
                "for the largest soft margin, or nu for the penalty form."
            )

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LPBoostClassifier:
        """Solve the program of each class.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) array
            Class labels.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, Multiclass()) as (run, _, packed, S, labels, w, used):
            class_weights(None, self.classes_, labels, w)  # every class has a sample
            merged = Merged.of(S, labels.astype(float), w)
            search = self._search(merged.samples, merged.weight, run)
            found, duals = [], []
            for signs, until in self._sides(merged.values):
                form = self._form(signs, merged.weight, search.reach)
                found.append(self._generate(form, search, run, until))
                duals.append(scattered(merged.spread(form.signed(found[-1].dual), w), used, len(packed)))
            sign = -1.0 if self.C is None else 1.0  # programs are minimised
            self.objective_ = np.array([sign * one.objective for one in found])
            self.margin_ = np.array([one.multipliers[0] for one in found])
            self.dual_ = np.array(duals)
            self._keep(search, found, False)
        return self

    def _form(self, y: Floats, w: Floats, reach: float) -> Form:
        if self.C is not None:
            _require_prices(self.C, w)
            return Penalty(y, w, self.C)
        return Margin(y, w, self.nu or _NU, reach)


class LPBoostRegressor(RegressorMixin, _Generating):
    r"""Linear programming boosting of numbers: a sparse sum of weak learners within a tube.

    .. math:: \min_{a, b, \xi} \; \sum_h a_h + C \sum_i w_i (|y_i - f(x_i)| - \epsilon)_+, \qquad
        f = \sum_h a_h h + b, \; a \ge 0

    over all weak learners h. With nu the width of the tube is found too: the objective has
    :math:`C \nu W \epsilon`, and at most the share nu of the weight lies outside.

    Seed: [ST] "Linear programming boosting", "Column generation", with the loss of [HSS] Eq. (86) in place of the
    hinge; nu as in [HSS] Section 3.1.3.

    Parameters
    ----------
    learner : Stumps, KernelStumps, KernelBalls or classifier, optional
        The weak learners; None is `Stumps`. A classifier is fitted to signs.
    C : float, default 1.0
        Price of a unit of error. Positive.
    epsilon : float, optional
        Half the width of the tube, not negative; 0.1 if neither epsilon nor nu is given.
    nu : float, optional
        Share of the weight outside a tube that is found, in (0, 1]; an error together with epsilon.
    solver : {"interior", "simplex"}, default "interior"
        See `LPBoostClassifier`.
    tol : float, default 1e-3
        Gap to stop at, relative to the objective.
    max_iter : int, default 500
        Rounds.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    ensembles_ : tuple of Ensemble
        Weak learners and votes.
    intercept_ : float
    epsilon_ : float
        Half the width of the tube.
    objective_, dual_gap_ : float
        All weak learners together can improve the objective by no more than the gap.
    dual_ : (n,) array
        The signed dual variables that show it.
    n_iter_ : int
        Rounds.
    solution_ : Solution

    Notes
    -----
    A sample of weight w counts as w copies. The intercept is not penalised.

    Examples
    --------
    >>> from mercer import LPBoostRegressor
    >>> model = LPBoostRegressor(epsilon=0.0).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 4.0, 4.0])
    >>> model.predict([[0.5], [2.5]]).round(2)
    array([0., 4.])
    """

    constraints = {"C": Positive(), "epsilon": Optional(Interval(0.0, np.inf, closed="left"))}

    def __init__(
        self,
        learner: Any = None,
        C: float = 1.0,
        epsilon: float | None = None,
        nu: float | None = None,
        *,
        solver: str = "interior",
        tol: float = 1e-3,
        max_iter: int = 500,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.learner = learner
        self.C = C
        self.epsilon = epsilon
        self.nu = nu
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.nu is not None and self.epsilon is not None:
            raise ParameterError(
                f"nu={self.nu!r} and epsilon={self.epsilon!r} were given to LPBoostRegressor; it accepts one of them. "
                "Leave out nu for a tube of this width, or epsilon for one that is found."
            )

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LPBoostRegressor:
        """Solve the program.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) array
            Real targets.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, Real(several=False)) as (run, _, packed, S, values, w, used):
            merged = Merged.of(S, values, w)
            search = self._search(merged.samples, merged.weight, run)
            tube = _EPSILON if self.epsilon is None and self.nu is None else self.epsilon
            _require_prices(self.C, merged.weight)
            form = Tube(merged.values, merged.weight, self.C, tube, self.nu)
            found = self._generate(form, search, run, 1.0)
            self.objective_ = found.objective
            self.intercept_, self.epsilon_ = (float(value) for value in found.multipliers)
            self.dual_ = scattered(merged.spread(form.signed(found.dual), w), used, len(packed))
            self._keep(search, [found], True)
        return self

    def predict(self, X: Any) -> Floats:
        """Return f at new data, shape (m,)."""
        return self._values(X)[:, 0]

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Iterate over f after each round."""
        return iter([values[:, 0] for values in self._staged(X)])


def _require_prices(C: float, w: Floats) -> None:
    """Raise DomainError for prices of errors beside which sums of votes, of the order of one, are rounding."""
    if float(w.max()) > _DEAREST / C:
        raise DomainError(
            f"C={C:g} and sample_weight up to {w.max():.3g} were given; prices of errors, C times the weight, are "
            f"accepted up to {_DEAREST:g}. Divide the weights by the largest."
        )
