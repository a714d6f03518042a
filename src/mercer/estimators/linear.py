r"""Linear support vector machines: weights instead of support vectors, in time linear in the numbers of the samples.

Symbols: w the weights, b the bias, s the value of the constant column whose weight is v = b / s, c_i = C w_i.
"""

from __future__ import annotations

import dataclasses
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from mercer.arrays import Array, Floats, Indices
from mercer.budget import Plan
from mercer.constraints import AnyOf, Boolean, InstanceOf, Integer, Interval, OneOf, Optional, Positive
from mercer.domains import Vectors
from mercer.errors import ParameterError, TargetError
from mercer.estimators.estimator import KernelEstimator, spread, weighted
from mercer.estimators.running import Run, whole
from mercer.gram import FeatureExpansion, Features
from mercer.kernels import Linear
from mercer.kernels.kernel import overflow_error
from mercer.losses import EpsilonInsensitive, Hinge, Loss, SquaredHinge
from mercer.losses.tubes import SquaredEpsilonInsensitive
from mercer.numerics.tiling import run_tasks, thread_count
from mercer.problems import LinearRisk, MulticlassQP, Solution, Status
from mercer.solvers.block_descent import BlockDescent
from mercer.solvers.dual_descent import DualDescent
from mercer.solvers.rows import Rows
from mercer.solvers.solver import Monitor, Solver
from mercer.targets import Multiclass, Real

__all__ = ["LinearSVC", "LinearSVR"]

_TOL, _MAX_ITER = 1e-4, 1000
_TICK = 0.05  # seconds between two looks at the clock while threads work


class _LinearMachine(KernelEstimator):
    """What linear machines share: a kernel machine whose kernel is the dot product and whose Gram is the samples."""

    kernel: ClassVar[Linear] = Linear()
    gram: ClassVar[Features] = Features()
    C: float
    tol: float
    max_iter: int
    fit_intercept: bool
    intercept_scaling: float
    random_state: Any
    _linear_constraints: ClassVar[Mapping[str, Any]] = {
        "C": Positive(),
        "fit_intercept": Boolean(),
        "intercept_scaling": Positive(),
        "tol": Interval(0.0, 1.0, closed="neither"),
        "max_iter": Integer(1),
        "random_state": Optional(AnyOf(Integer(0), InstanceOf(np.random.RandomState))),
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        given = [name for name, usual in (("tol", _TOL), ("max_iter", _MAX_ITER)) if getattr(self, name) != usual]
        given += ["random_state"] if self.random_state is not None else []
        if self.solver is not None and given:
            raise ParameterError(
                f"{', '.join(given)} were given together with solver={self.solver!r}, which has options of its own; "
                f"one place is accepted. Write them into the solver, for example DualDescent(tol=1e-6)."
            )

    def _seed(self) -> int:
        """Number from which the default solver draws its order; the same for None as for 0."""
        if self.random_state is None or isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state or 0)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _rows(self, S: Any) -> Rows:
        """Return the samples as rows with their constant column; squared lengths must be finite."""
        assert isinstance(S, Vectors)
        rows = Rows.of(S.X, self.intercept_scaling if self.fit_intercept else 0.0)
        if not np.isfinite(rows.squares).all():
            raise overflow_error(self.kernel)
        return rows

    def _solve_each(self, problems: Sequence[Any], solver: Solver, run: Run) -> list[Solution]:
        """Solve independent problems, a few at a time; the answer does not depend on how many."""
        tol = getattr(solver, "tol", _TOL)
        if len(problems) == 1 or thread_count(self.n_threads) == 1:
            solutions = []
            for done, problem in enumerate(problems, 1):
                with run.stage("solver", 0.1 + 0.85 * done / len(problems)):
                    monitor = run.solver_monitor(tol) if run.watched else None
                    solutions.append(solver.solve(problem, monitor=monitor))
            return solutions
        return _solve_in_threads(problems, solver, run, self.n_threads)

    def _report(self, solutions: list[Solution], solver: Solver, used: Indices, n: int) -> Solution:
        """Warn if a tolerance was not reached; one Solution, with a column for each problem, is remembered."""
        worst = max(solutions, key=lambda s: (s.status is not Status.CONVERGED, s.residual))
        if worst.status is not Status.CONVERGED:
            warnings.warn(
                f"{type(solver).__name__} stopped at residual {worst.residual:.3g}. {worst.status.value}",
                ConvergenceWarning,
                stacklevel=3,
            )
        many = len(solutions) > 1
        solution = dataclasses.replace(
            worst,
            coef=np.column_stack([s.coef for s in solutions]) if many else worst.coef,
            weights=np.column_stack([s.weights for s in solutions]) if many else worst.weights,
            residual=max(s.residual for s in solutions),
            gap=sum(s.gap for s in solutions),
            state=None,
        )
        self.solver_, self.kernel_, self.gram_ = solver, self.kernel, self.gram
        self.solution_ = dataclasses.replace(solution, coef=spread(solution.coef, used, n))
        self.n_iter_ = max(int(s.state) for s in solutions)
        return solution

    def _keep_function(self, W: Floats) -> tuple[Floats, Floats]:
        """Remember the function of weights (d + 1,) or (d + 1, k); coefficients (k, d) or (d,) and the bias."""
        bias = W[-1] * (self.intercept_scaling if self.fit_intercept else 0.0)
        self.expansion_ = FeatureExpansion(self.kernel, None, np.ascontiguousarray(W[:-1]), np.asarray(bias))
        return np.ascontiguousarray(W[:-1].T), np.atleast_1d(bias)

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated.

        Parameters
        ----------
        n_samples, n_features, n_targets : int
            Of the training data; for sparse samples the mean number of entries in a row will do as n_features.
        """
        threads = min(thread_count(self.n_threads), max(n_targets, 1))
        side = n_features + 1 if n_features <= 1000 else 0
        buffers = {
            "packed samples": 8 * n_samples * n_features,
            "targets and coefficients": 8 * n_samples * (6 + 3 * n_targets),
            "dual variables and line search": 8 * n_samples * 24 * threads,
            "samples with a curved loss": 8 * n_samples * n_features * threads,
            "normal equations": 16 * side * side * threads,
        }
        options = ("n_threads=1", "solver=DualDescent(polish=False)")
        return Plan(f"{type(self).__name__} on {n_samples} samples", buffers, options)


class LinearSVC(ClassifierMixin, _LinearMachine):
    r"""Linear support vector classification: a hyperplane with a wide margin, for many samples and many columns.

    .. math:: \min_{w, v} \; C \sum_i w_i \, \psi(y_i f(x_i)) + \tfrac12 (\|w\|^2 + v^2), \qquad
        f(x) = \langle w, x \rangle + b, \quad b = s v

    with :math:`\psi(m) = \max(0, 1 - m)` for ``loss="hinge"`` and :math:`\psi(m) = \max(0, 1 - m)^2` for
    ``"squared_hinge"``. As in scikit-learn and LIBLINEAR, and other than elsewhere in mercer, the squared hinge has no
    1/2 here: the same C gives scikit-learn's numbers.

    Seed: [KIKS] Section 4.2, Eq. (18), with C w_i in place of C / l; [SS] Eq. (46). Ledger: C-BMRM, C-OCAS, C-DCDA,
    C-SVC-ERM, S-MC.

    Parameters
    ----------
    C : float, default 1.0
        Weight of the losses against the penalty. Positive.
    loss : {"squared_hinge", "hinge"}, default "squared_hinge"
        With ``multi_class="crammer_singer"`` it has no effect.
    solver : Solver, optional
        None is `DualDescent`, finished by Newton's method; `BundleMethod` and `CuttingPlane` solve the same problem.
        For Crammer and Singer's form None is `BlockDescent`.
    fit_intercept : bool, default True
        Whether f has a bias. It is the weight of a constant column and is penalised as all weights are.
    intercept_scaling : float, default 1.0
        s, the value of the constant column: the larger, the less the bias is penalised. Positive.
    tol : float, default 1e-4
        Of the default solver: largest violation of the optimality conditions. As a rule the result is better by
        orders of magnitude.
    max_iter : int, default 1000
        Of the default solver: passes over the samples.
    class_weight : dict, "balanced" or None, default None
        C of a class is multiplied by it, as in scikit-learn: with three classes or more, each problem of one class
        against the rest multiplies that one class only. "balanced" is the total weight over the number of classes
        times the weight of the class.
    multi_class : {"ovr", "crammer_singer"}, default "ovr"
        With three classes or more: each against the rest, or all together,
        :math:`\psi = \max_{m \ne y} \max(0, 1 + f_m - f_y)`.
    random_state : int, RandomState or None, default None
        Of the order in which samples are visited; None is 0.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`. The problems of one class against the rest are solved in several threads.

    Attributes
    ----------
    classes_ : (c,) array
    coef_ : (1, d) or (c, d) array
        w, one row for two classes.
    intercept_ : (1,) or (c,) array
        b.
    n_iter_ : int
        Most passes over the samples of any problem; tangents for cutting planes.
    expansion_ : FeatureExpansion
    solver_ : Solver
    solution_ : Solution
        Dual coefficients, duality gap (summed over the problems), largest residual, and status.

    Notes
    -----
    A sample of weight w counts as w copies. Sparse samples are never made dense; float32 samples are not copied.
    Cost of a pass O(number of entries). The same bits for any number of threads.

    Examples
    --------
    >>> from mercer.estimators.linear import LinearSVC
    >>> X, y = [[0.0, 1.0], [1.0, 1.0], [3.0, 0.0], [4.0, 1.0]], ["a", "a", "b", "b"]
    >>> model = LinearSVC(C=10.0).fit(X, y)
    >>> model.predict([[0.5, 0.5], [3.5, 0.5]])
    array(['a', 'b'], dtype='<U1')
    """

    own_constraints = {
        **_LinearMachine._linear_constraints,
        "loss": OneOf("squared_hinge", "hinge"),
        "class_weight": Optional(AnyOf(OneOf("balanced"), InstanceOf(dict))),
        "multi_class": OneOf("ovr", "crammer_singer"),
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "squared_hinge",
        solver: Solver | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        tol: float = _TOL,
        max_iter: int = _MAX_ITER,
        class_weight: dict[Any, float] | str | None = None,
        multi_class: str = "ovr",
        random_state: Any = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.random_state = random_state
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVC:
        """Fit the weights to training data.

        Parameters
        ----------
        X : (n, d) array-like, sparse matrix, data frame or packed samples
        y : (n,) array
            Class labels.
        sample_weight : (n,) array, optional
            Not negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with whole(self):
            self._check_parameters()
            run = Run(self)
            packed, _ = self._pack(X)
            target = Multiclass().learn(y)
            S, codes, w, used = weighted(packed, target.codes(y), sample_weight)
            scale = _class_weights(self.class_weight, target.classes, codes, w)
            rows = self._rows(S)
            run.begin(X, y)
            together = self.multi_class == "crammer_singer"
            if together:
                problems: list[Any] = [MulticlassQP(rows, codes, self.C * w * scale[codes], len(target.classes))]
            else:
                problems = self._against_the_rest(rows, codes, self.C * w, scale)
            solver = self.solver or (BlockDescent if together else DualDescent)(
                self.tol, self.max_iter, random_state=self._seed()
            )
            solution = self._report(self._solve_each(problems, solver, run), solver, used, len(packed))
            assert solution.weights is not None
            W = solution.weights
            if together and len(target.classes) == 2:
                W = W[:, 1] - W[:, 0]
            self.target_, self.classes_ = target, target.classes
            coef, self.intercept_ = self._keep_function(W)
            self.coef_ = np.atleast_2d(coef)
            run.end(X, y)
        return self

    def _against_the_rest(self, rows: Rows, codes: Indices, c: Floats, scale: Floats) -> list[Any]:
        """Return a problem for each class, or one for the second of two."""
        squared = self.loss == "squared_hinge"
        loss: Loss = SquaredHinge() if squared else Hinge()
        c = 2.0 * c if squared else c  # scikit-learn's squared hinge is without 1/2
        if len(scale) == 2:
            return [LinearRisk(rows, np.where(codes == 1, 1.0, -1.0), loss, c * scale[codes])]
        problems = []
        for code in range(len(scale)):
            own = codes == code
            problems.append(LinearRisk(rows, np.where(own, 1.0, -1.0), loss, np.where(own, c * scale[code], c)))
        return problems

    def decision_function(self, X: Any) -> Floats:
        """Return f, shape (m, c); for two classes shape (m,), positive for the second."""
        return self._evaluate(X)

    def predict(self, X: Any) -> Array:
        """Return the class of the largest value, shape (m,)."""
        values = self.decision_function(X)
        if values.ndim == 1:
            return self.classes_[(values > 0).astype(int)]
        return self.target_.decode(values)


class LinearSVR(MultiOutputMixin, RegressorMixin, _LinearMachine):
    r"""Linear support vector regression: a hyperplane that ignores errors inside a tube.

    .. math:: \min_{w, v} \; C \sum_i w_i \, \psi(y_i - f(x_i)) + \tfrac12 (\|w\|^2 + v^2), \qquad
        f(x) = \langle w, x \rangle + b, \quad b = s v

    with :math:`\psi(\xi) = \max(0, |\xi| - \epsilon)` for ``loss="epsilon_insensitive"`` and its square, without 1/2 as
    in scikit-learn, for ``"squared_epsilon_insensitive"``.

    Seed: [KIKS] Section 4.1.6, Eq. (17), with C w_i in place of C / l. Ledger: R-LINSVR.

    Parameters
    ----------
    C : float, default 1.0
        Weight of the losses against the penalty. Positive.
    epsilon : float, default 0.0
        Half-width of the tube, in the unit of y. Not negative.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default "epsilon_insensitive"
    solver : Solver, optional
        None is `DualDescent`, finished by Newton's method; `BundleMethod` and `CuttingPlane` solve the same problem.
    fit_intercept : bool, default True
        Whether f has a bias. It is the weight of a constant column and is penalised as all weights are.
    intercept_scaling : float, default 1.0
        s, the value of the constant column: the larger, the less the bias is penalised. Positive.
    tol : float, default 1e-4
        Of the default solver: largest violation of the optimality conditions, in units of half the range of y.
    max_iter : int, default 1000
        Of the default solver: passes over the samples.
    random_state : int, RandomState or None, default None
        Of the order in which samples are visited; None is 0.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`. Several outputs are fitted in several threads.

    Attributes
    ----------
    coef_ : (d,) or (k, d) array
        w, one row for each output.
    intercept_ : (1,) or (k,) array
        b.
    n_iter_ : int
        Most passes over the samples of any output; tangents for cutting planes.
    expansion_ : FeatureExpansion
    solver_ : Solver
    solution_ : Solution
        Dual coefficients, duality gap (summed over the outputs), largest residual, and status.

    Notes
    -----
    A sample of weight w counts as w copies. Sparse samples are never made dense; float32 samples are not copied.
    Cost of a pass O(number of entries). The same bits for any number of threads.

    Examples
    --------
    >>> from mercer.estimators.linear import LinearSVR
    >>> model = LinearSVR(C=100.0).fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.0, 70.0])
    >>> model.predict([[4.0]]).round(3)  # the last sample is far off and counts no more than another
    array([9.])
    """

    own_constraints = {
        **_LinearMachine._linear_constraints,
        "epsilon": Interval(0.0, np.inf, closed="left"),
        "loss": OneOf("epsilon_insensitive", "squared_epsilon_insensitive"),
    }

    def __init__(
        self,
        C: float = 1.0,
        epsilon: float = 0.0,
        *,
        loss: str = "epsilon_insensitive",
        solver: Solver | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        tol: float = _TOL,
        max_iter: int = _MAX_ITER,
        random_state: Any = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.loss = loss
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVR:
        """Fit the weights to training data.

        Parameters
        ----------
        X : (n, d) array-like, sparse matrix, data frame or packed samples
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
            packed, _ = self._pack(X)
            self.target_ = Real().learn(y)
            S, values, w, used = weighted(packed, self.target_.encode(y), sample_weight)
            rows = self._rows(S)
            run.begin(X, y)
            squared = self.loss == "squared_epsilon_insensitive"
            loss: Loss = SquaredEpsilonInsensitive(self.epsilon) if squared else EpsilonInsensitive(self.epsilon)
            c = (2.0 if squared else 1.0) * self.C * w  # scikit-learn's squared loss is without 1/2
            columns = values.reshape(len(values), -1).T
            problems = [LinearRisk(rows, np.ascontiguousarray(column), loss, c) for column in columns]
            solver = self.solver or DualDescent(self.tol, self.max_iter, random_state=self._seed())
            solution = self._report(self._solve_each(problems, solver, run), solver, used, len(packed))
            assert solution.weights is not None
            self.coef_, self.intercept_ = self._keep_function(solution.weights.reshape(-1, *values.shape[1:]))
            run.end(X, y)
        return self

    def predict(self, X: Any) -> Floats:
        """Return f at new data, shape (m,) or (m, k)."""
        values = self._evaluate(X)
        return self.target_.decode(values)


def _class_weights(given: Any, classes: Array, codes: Indices, w: Floats) -> Floats:
    """Return the weight of each class, (c,); each class must have a sample of positive weight."""
    mass = np.bincount(codes, weights=w, minlength=len(classes))
    if not mass.all():
        lost = classes[np.flatnonzero(mass == 0)[0]]
        raise TargetError(
            f"class {lost!r} has no sample of positive weight; each class needs at least one. "
            "Leave its samples out of X and y, or give one of them a weight."
        )
    if given is None:
        return np.ones(len(classes))
    if isinstance(given, str):
        return mass.sum() / (len(classes) * mass)
    known = {label: place for place, label in enumerate(classes.tolist())}
    out = np.ones(len(classes))
    for label, weight in given.items():
        if not isinstance(weight, (int, float, np.number)) or not 0.0 < float(weight) < np.inf:
            raise ParameterError(
                f"class_weight[{label!r}] = {weight!r} was given; weights of classes are positive, finite numbers. "
                "Leave the samples of a class out instead of giving it the weight zero."
            )
        if label in known:  # a fold of the data may lack a class
            out[known[label]] = float(weight)
    return out


def _solve_in_threads(problems: Sequence[Any], solver: Solver, run: Run, n_threads: int | None) -> list[Solution]:
    """Solve problems in threads while this one looks at the clock, tells callbacks, and answers Ctrl-C."""
    solutions: list[Solution | None] = [None] * len(problems)
    stop: list[Status] = []

    def monitor(iteration: int, residual: float) -> bool | Status:
        return stop[0] if stop else False

    def work(place: int) -> None:
        answered: Monitor = monitor
        solutions[place] = solver.solve(problems[place], monitor=answered)

    def watch() -> None:
        with_result = sum(solution is not None for solution in solutions)
        if run.monitor(with_result / len(problems)) and not stop:
            stop.append(Status.STOPPED if run.asked_to_stop else Status.TIME)

    with run.stage("solver", 0.95):
        try:
            _in_threads(len(problems), work, n_threads, watch)
        except BaseException:
            stop.append(Status.STOPPED)  # the threads end at their next look
            raise
    return [solution for solution in solutions if solution is not None]


def _in_threads(count: int, work: Callable[[int], None], n_threads: int | None, watch: Callable[[], None]) -> None:
    """Call work(0), ..., work(count - 1) in threads; meanwhile call `watch` here, some twenty times a second."""
    done, failures = threading.Event(), []

    def drive() -> None:
        try:
            run_tasks(range(count), work, n_threads=n_threads)
        except BaseException as failure:  # raised again below, in the thread that waits
            failures.append(failure)
        finally:
            done.set()

    threading.Thread(target=drive, daemon=True, name="mercer-linear").start()
    while not done.wait(_TICK):
        watch()
    if failures:
        raise failures[0]
