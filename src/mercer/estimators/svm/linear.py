r"""Linear support vector machines: weights instead of support vectors, in time linear in the numbers of the samples.

Symbols: w the weights, b the bias, s the value of the constant column whose weight is v = b / s, c_i = C w_i.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array, Floats, Indices
from mercer.constraints import AnyOf, InstanceOf, Interval, OneOf, Optional
from mercer.errors import ParameterError
from mercer.estimators.fits import fitting
from mercer.estimators.svm.linear_machine import MAX_ITER, TOL, LinearMachine
from mercer.losses import EpsilonInsensitive, Hinge, Loss, SquaredHinge
from mercer.losses.insensitive import SquaredEpsilonInsensitive
from mercer.problems import LinearRisk, MulticlassQP, SparseRisk
from mercer.solvers.rows.block_descent import BlockDescent
from mercer.solvers.rows.column_descent import ColumnDescent
from mercer.solvers.rows.dual_descent import DualDescent
from mercer.solvers.rows.row_data import Rows
from mercer.solvers.solver import Solver
from mercer.targets import Multiclass, Real
from mercer.targets.target import class_weights

__all__ = ["LinearSVC", "LinearSVR"]
__public__ = __all__


class LinearSVC(ClassifierMixin, LinearMachine):
    r"""Linear support vector classification: a hyperplane with a wide margin, for many samples and many columns.

    .. math:: \min_{w, v} \; C \sum_i w_i \, \psi(y_i f(x_i)) + \tfrac12 (\|w\|^2 + v^2), \qquad
        f(x) = \langle w, x \rangle + b, \quad b = s v

    or, with ``penalty="l1"``, :math:`\|w\|_1 + |v|` in place of the last term,
    with :math:`\psi(m) = \max(0, 1 - m)` for ``loss="hinge"`` and :math:`\psi(m) = \max(0, 1 - m)^2` for
    ``"squared_hinge"``. As in scikit-learn and LIBLINEAR, and unlike elsewhere in mercer, the squared hinge has no
    1/2 here: the same C gives scikit-learn's numbers.

    Seed: [KIKS] Section 4.2, Eq. (18), with C w_i in place of C / l; [SS] Eq. (46).

    Parameters
    ----------
    C : float, default 1.0
        Weight of the losses against the penalty. Positive.
    loss : {"squared_hinge", "hinge"}, default "squared_hinge"
        With ``multi_class="crammer_singer"`` it has no effect.
    penalty : {"l2", "l1"}, default "l2"
        "l1" sets the weights of columns that do not help to zero; for the squared hinge, each class against the rest.
        The value is LIBLINEAR's (solver 5), with the bias penalised as all weights are.
    solver : Solver, optional
        With ``penalty="l1"`` None is `ColumnDescent`. Otherwise None is `DualDescent`, finished by Newton's method;
        `BundleMethod` and `CuttingPlane` solve the same problem. For Crammer and Singer's form None is `BlockDescent`.
    fit_intercept : bool, default True
        Whether f has a bias. It is the weight of a constant column and is penalised as all weights are.
    intercept_scaling : float, default 1.0
        s, the value of the constant column: the larger, the less the bias is penalised. Positive.
    tol : float, default 1e-4
        For the default solver: largest violation of the optimality conditions. As a rule the result is better by
        orders of magnitude.
    max_iter : int, default 1000
        For the default solver: passes over the samples.
    class_weight : dict, "balanced" or None, default None
        C of a class is multiplied by it, as in scikit-learn: with three classes or more, each problem of one class
        against the rest multiplies that one class only. "balanced" is the total weight over the number of classes
        times the weight of the class.
    multi_class : {"ovr", "crammer_singer"}, default "ovr"
        With three classes or more: each against the rest, or all together,
        :math:`\psi = \max_{m \ne y} \max(0, 1 + f_m - f_y)`.
    random_state : int, RandomState or None, default None
        Seed of the order in which samples are visited; None is 0.
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
    >>> from mercer import LinearSVC
    >>> X, y = [[0.0, 1.0], [1.0, 1.0], [3.0, 0.0], [4.0, 1.0]], ["a", "a", "b", "b"]
    >>> model = LinearSVC(C=10.0).fit(X, y)
    >>> model.predict([[0.5, 0.5], [3.5, 0.5]])
    array(['a', 'b'], dtype='<U1')
    """

    constraints = {
        "loss": OneOf("squared_hinge", "hinge"),
        "penalty": OneOf("l2", "l1"),
        "class_weight": Optional(AnyOf(OneOf("balanced"), InstanceOf(dict))),
        "multi_class": OneOf("ovr", "crammer_singer"),
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "squared_hinge",
        penalty: str = "l2",
        solver: Solver | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        tol: float = TOL,
        max_iter: int = MAX_ITER,
        class_weight: dict[Any, float] | str | None = None,
        multi_class: str = "ovr",
        random_state: Any = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.penalty = penalty
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
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, Multiclass()) as (run, _, packed, S, codes, w, used):
            scale = class_weights(self.class_weight, self.classes_, codes, w)
            rows = self._rows(S)
            together = self.multi_class == "crammer_singer"
            if together:
                problems: list[Any] = [MulticlassQP(rows, codes, self.C * w * scale[codes], len(self.classes_))]
            else:
                problems = self._against_the_rest(rows, codes, self.C * w, scale)
            usual: Any = BlockDescent if together else ColumnDescent if self.penalty == "l1" else DualDescent
            solver = self.solver or usual(self.tol, self.max_iter, random_state=self._seed())
            solution = self._report(self._solve_each(problems, solver, run), solver, used, len(packed))
            assert solution.weights is not None
            W = solution.weights
            if together and len(self.classes_) == 2:
                W = W[:, 1] - W[:, 0]
            coef, self.intercept_ = self._keep_function(W)
            self.coef_ = np.atleast_2d(coef)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.penalty == "l1" and (self.loss != "squared_hinge" or self.multi_class != "ovr"):
            raise ParameterError(
                f"penalty='l1' was given with loss={self.loss!r} and multi_class={self.multi_class!r}; it goes with "
                "the squared hinge, each class against the rest. Use loss='squared_hinge' and multi_class='ovr'."
            )

    def sparsify(self) -> LinearSVC:
        """Turn ``coef_`` into a sparse matrix, as scikit-learn does, for code that reads it.

        Predictions stay what they are. They are made by ``expansion_``, which keeps all weights: no memory is saved.
        """
        check_is_fitted(self)
        self.coef_ = sp.csr_array(self.coef_)
        return self

    def densify(self) -> LinearSVC:
        """Turn ``coef_`` back into an array."""
        check_is_fitted(self)
        coef: Any = self.coef_
        self.coef_ = coef.toarray() if sp.issparse(coef) else coef
        return self

    def _against_the_rest(self, rows: Rows, codes: Indices, c: Floats, scale: Floats) -> list[Any]:
        """Return a problem for each class, or one for the second of two."""
        squared = self.loss == "squared_hinge"
        loss: Loss = SquaredHinge() if squared else Hinge()

        def problem(own: Any, cost: Floats) -> Any:
            y = np.where(own, 1.0, -1.0)
            if self.penalty == "l1":
                return SparseRisk(rows, y, cost, rows.constant)
            return LinearRisk(rows, y, loss, 2.0 * cost if squared else cost)  # scikit-learn's is without 1/2

        if len(scale) == 2:
            return [problem(codes == 1, c * scale[codes])]
        return [problem(codes == code, np.where(codes == code, c * scale[code], c)) for code in range(len(scale))]

    def decision_function(self, X: Any) -> Floats:
        """Return f, shape (m, c); for two classes shape (m,), positive for the second."""
        return self._evaluate(X)

    def predict(self, X: Any) -> Array:
        """Return the class of the largest value, shape (m,)."""
        values = self.decision_function(X)
        if values.ndim == 1:
            return self.classes_[(values > 0).astype(int)]
        return self.target_.decode(values)


class LinearSVR(MultiOutputMixin, RegressorMixin, LinearMachine):
    r"""Linear support vector regression: a hyperplane that ignores errors inside a tube.

    .. math:: \min_{w, v} \; C \sum_i w_i \, \psi(y_i - f(x_i)) + \tfrac12 (\|w\|^2 + v^2), \qquad
        f(x) = \langle w, x \rangle + b, \quad b = s v

    with :math:`\psi(\xi) = \max(0, |\xi| - \epsilon)` for ``loss="epsilon_insensitive"`` and its square, without 1/2 as
    in scikit-learn, for ``"squared_epsilon_insensitive"``.

    Seed: [KIKS] Section 4.1.6, Eq. (17), with C w_i in place of C / l.

    Parameters
    ----------
    C : float, default 1.0
        Weight of the losses against the penalty. Positive.
    epsilon : float, default 0.0
        Half-width of the tube, in the unit of y. Non-negative.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default "epsilon_insensitive"
    solver : Solver, optional
        None is `DualDescent`, finished by Newton's method; `BundleMethod` and `CuttingPlane` solve the same problem.
    fit_intercept : bool, default True
        Whether f has a bias. It is the weight of a constant column and is penalised as all weights are.
    intercept_scaling : float, default 1.0
        s, the value of the constant column: the larger, the less the bias is penalised. Positive.
    tol : float, default 1e-4
        For the default solver: largest violation of the optimality conditions, in units of half the range of y.
    max_iter : int, default 1000
        For the default solver: passes over the samples.
    random_state : int, RandomState or None, default None
        Seed of the order in which samples are visited; None is 0.
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
    >>> from mercer import LinearSVR
    >>> model = LinearSVR(C=100.0).fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.0, 70.0])
    >>> model.predict([[4.0]]).round(3)  # the last sample is far off and counts no more than another
    array([9.])
    """

    constraints = {
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
        tol: float = TOL,
        max_iter: int = MAX_ITER,
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
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, Real()) as (run, _, packed, S, values, w, used):
            rows = self._rows(S)
            squared = self.loss == "squared_epsilon_insensitive"
            loss: Loss = SquaredEpsilonInsensitive(self.epsilon) if squared else EpsilonInsensitive(self.epsilon)
            c = (2.0 if squared else 1.0) * self.C * w  # scikit-learn's squared loss is without 1/2
            columns = values.reshape(len(values), -1).T
            problems = [LinearRisk(rows, np.ascontiguousarray(column), loss, c) for column in columns]
            solver = self.solver or DualDescent(self.tol, self.max_iter, random_state=self._seed())
            solution = self._report(self._solve_each(problems, solver, run), solver, used, len(packed))
            assert solution.weights is not None
            self.coef_, self.intercept_ = self._keep_function(solution.weights.reshape(-1, *values.shape[1:]))
        return self

    def predict(self, X: Any) -> Floats:
        """Return f at new data, shape (m,) or (m, k)."""
        values = self._evaluate(X)
        return self.target_.decode(values)
