"""Support vector regression: functions that are short in feature space and cheap by a loss with corners.

Symbols: beta_i the coefficients, xi = y - f(x) - b residuals, w_i sample weights and W their sum, epsilon the
half-width of the tube, b the bias, rho the multipliers of the sums.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.callback import with_callbacks

from mercer.arrays import Floats, Indices
from mercer.constraints import AnyOf, Interval, OneOf, Optional, Positive
from mercer.errors import TargetError
from mercer.estimators.certificates.certified import Certified
from mercer.estimators.fits import Run, fitting
from mercer.estimators.svm.support import SupportVectorMachine, in_one_thread
from mercer.gram import Gram, GramSpec, Repeated
from mercer.losses import Absolute, EpsilonInsensitive, Huber
from mercer.losses.loss import BoxDual
from mercer.problems import BoxQP, Solution, Status
from mercer.solvers import Solver
from mercer.targets import Real

__all__ = ["COST", "HuberSVR", "NuSVR", "SVR", "SupportVectorRegressor", "program_of"]
__public__ = ["HuberSVR", "NuSVR", "SVR"]

COST = Optional(AnyOf(Positive(), OneOf("spread")))
_SAME = 1e-12  # targets that differ by less of their size are the same but for rounding
_LEAST = 1e-290  # spreads whose thousandths are in range


class SupportVectorRegressor(Certified, RegressorMixin, SupportVectorMachine):
    """Base of the regression machines; a subclass writes the program of one function and reads its bias."""

    several_outputs: ClassVar[bool] = True
    C_: Any  # a number, or one for each output, as all sizes are
    epsilon_: Any
    # what may be measured by y: the number it is where a kernel is given, and how many standard deviations "spread" is
    measured: ClassVar[Mapping[str, tuple[float, float]]] = {"C": (1.0, 3.0)}

    # what a subclass writes ---------------------------------------------------------------------------

    @abstractmethod
    def _program(self, K: Gram, y: Floats, weight: Floats, *sizes: float) -> BoxQP:
        """Return the dual of the fit of one function, whose sizes are those of `measured`, in the unit of its y."""

    def _programs(self, K: Gram, y: Floats, weight: Floats) -> list[BoxQP]:
        """Keep the sizes of each function, and return its program in its unit, for one column of y or several."""
        columns = list(y.reshape(len(y), -1).T)
        found = [self._sizes(column, weight) for column in columns]
        self._units = [unit for _, unit in found]
        self._keep_sizes([sizes for sizes, _ in found])
        return [
            self._program(K, column / unit, weight, *(size / unit for size in sizes))
            for column, (sizes, unit) in zip(columns, found, strict=True)
        ]

    def _settled(self) -> dict[str, Any]:
        given = {name: getattr(self, name) for name in self.measured}
        plain = self.kernel is not None
        return {n: g if g is not None else self.measured[n][0] if plain else "spread" for n, g in given.items()}

    def _sizes(self, y: Floats, weight: Floats) -> tuple[list[float], float]:
        """Return what `measured` lists for one output, and the unit in which its program is solved."""
        settled = self._settled()
        spread = _spread(y, weight) if "spread" in settled.values() else 1.0
        sizes = [self.measured[n][1] * spread if s == "spread" else float(s) for n, s in settled.items()]
        return sizes, spread if [*settled.values()][-1] == "spread" else 1.0

    def _keep_sizes(self, sizes: list[list[float]]) -> None:
        """Keep sizes in attributes, a number or an entry for each output."""
        for name, values in zip(self.measured, zip(*sizes, strict=True), strict=True):
            setattr(self, f"{name}_", values[0] if self.target_.columns is None else np.array(values))

    def _solve_all(self, problems: Sequence[Any], run: Run, until: float = 0.9) -> list[Solution]:
        """Solve the programs, and return their solutions in the unit of y."""
        found = super()._solve_all(problems, run, until)
        pairs = zip(found, self.__dict__.pop("_units"), strict=True)
        return [replace(s, coef=unit * s.coef, multipliers=unit * s.multipliers) for s, unit in pairs]

    def _bias(self, solution: Solution) -> float:
        return -float(solution.multipliers[0])

    def _describe(self, solutions: list[Solution]) -> None:
        """Keep what a machine knows of its solutions besides the functions."""

    def _is_one(self) -> bool:
        """Return whether the model is one function, whose values are a vector."""
        return self.target_.columns is None

    # fit ----------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the function.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) array, or (n, k) where several outputs are accepted
            Real targets.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, Real(several=self.several_outputs)) as (
            run,
            kernel,
            _,
            S,
            values,
            w,
            used,
        ):
            self.kernel_ = self._learned_kernel(kernel, S, values, w)
            K = self._represent(self.kernel_, S, run, until=0.2)
            problems = self._programs(K, values, w)
            if len(problems) > 1:
                in_one_thread(K, self.memory)
            solutions = self._solve_all(problems, run)
            pairs = zip(problems, solutions, strict=True)
            coef = np.column_stack([_per_sample(p, s.coef, len(S)) for p, s in pairs])
            self._describe(solutions)
            self._store(K, coef, solutions, used, S)
        return self

    def _store(self, K: Gram, coef: Floats, solutions: list[Solution], used: Indices, S: Any) -> None:
        """Keep the expansion and what scikit-learn's users look for."""
        self.intercept_ = np.array([self._bias(solution) for solution in solutions])
        pairs = np.array([s.details.get("pairs moved", len(s.trace)) for s in solutions], dtype=np.int32)
        self.n_iter_ = int(pairs[0]) if self._is_one() else pairs
        self._store_support(coef, used, S)
        self.dual_coef_ = coef[self._chosen].T.copy()
        self.n_support_ = np.array([len(self._chosen)], dtype=np.int32)
        self.fit_status_ = int(self.solution_.status is not Status.CONVERGED)
        del self._chosen
        one = self._is_one()
        whole_coef = Solution(coef[:, 0] if one else coef, Status.CONVERGED, 0.0)
        self.expansion_ = K.expand(whole_coef, self.intercept_[0] if one else self.intercept_)

    def predict(self, X: Any) -> Floats:
        """Return the fitted function at new data, shape (m,), or (m, k) for k outputs.

        Parameters
        ----------
        X : raw data or packed samples
        """
        values = self._evaluate(X)
        return values if self._is_one() else values.reshape(len(values), -1)


def program_of(K: Gram, dual: BoxDual) -> BoxQP:
    """Return the dual of a loss as a quadratic program."""
    gram = K if dual.index is None else Repeated(K, dual.index)
    return BoxQP(gram, dual.linear, dual.lower, dual.upper, ridge=dual.ridge)


def _per_sample(problem: BoxQP, beta: Floats, n: int) -> Floats:
    """Return the coefficient of each sample: the sum of its variables."""
    if (repeats := getattr(problem.gram, "repeats", None)) is not None:
        return np.bincount(repeats, weights=beta, minlength=n).astype(np.float64)
    return beta


def _spread(y: Floats, weight: Floats) -> float:
    """Return the standard deviation of targets, a sample of weight w counting as w; 1 if they are all the same."""
    largest = float(np.abs(y).max())
    if largest == 0.0:
        return 1.0
    share, z = weight / weight.sum(), y / largest
    z = z - share @ z
    found = math.sqrt(float(share @ (z * z)))
    return found * largest if found > _SAME and found * largest > _LEAST else 1.0


class SVR(MultiOutputMixin, SupportVectorRegressor):
    r"""Support vector regression: a function in a tube around the targets, where what sticks out costs C per unit.

    .. math:: \min_{f, b} \; C \sum_i w_i \max(0, |y_i - f(x_i) - b| - \epsilon) + \tfrac12 \|f\|^2

    Seed: [HSS] Eqs. (85)-(87); [SS] the pair SVR-P, SVR-D, where the term in epsilon of (53) needs the sum of alpha and
    alpha*; [STS] Eqs. (73)-(76); [KIKS] Eq. (17). ``epsilon=0`` is least absolute deviation.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is ``Gaussian("columns")``, with a length scale for each column. A scikit-learn name ("rbf", "linear",
        "poly", "sigmoid", "precomputed") means what it means in its support vector machines. Conditionally positive
        definite kernels of order 1 are accepted.
    C : float, "spread" or None, default None
        Cost of an error of size one outside the tube. Positive; ``inf`` allows no error: the shortest function in the
        tube, which must have one. "spread" is 3 standard deviations of y, for kernels with k(x, x) near 1, so that the
        unit of y does not matter. None is "spread" with the default kernel, and 1.0 if a kernel is given, as in
        scikit-learn.
    epsilon : float, "spread" or None, default None
        Half-width of the tube, in the unit of y. Non-negative; 0 estimates the conditional median. "spread" is 0.1
        standard deviations of y. None is "spread" with the default kernel, and 0.1 if a kernel is given.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels, at its defaults for them (``gamma="scale"``, 3, 0).
    tol : float, default 1e-3
        Largest violation of the optimality conditions, in the unit of y, or in standard deviations of y where epsilon
        is.
    max_iter : int, optional
        The most pairs of variables to move, per output; None or -1 is the solver's own limit.
    shrinking : bool, default True
        Whether variables that stay at an end of their box are set aside for a while.
    cache_size : float, default 512
        Memory for rows of K in MB, used where computing them again costs more.
    gram : GramSpec, optional
        None holds K for up to 2048 samples and computes it in tiles beyond.
    solver : Solver, optional
        None is `SMO`.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    support_ : (q,) array of int
        Places of the support vectors in the training data.
    support_vectors_ : array or Samples
        The support vectors as rows, or as objects of their domain.
    n_support_ : (1,) array of int
    dual_coef_ : (1, q) or (k, q) array
        beta of the support vectors, a row per output.
    intercept_ : (1,) or (k,) array
    C_, epsilon_ : float or (k,) array
        Cost and half-width of each output.
    expansion_ : Expansion
        The fitted function or functions.
    n_iter_ : int or (k,) array of int
        Pairs of variables moved.
    solution_ : Solution
        Violation, duality gap and status of the solver, in the unit of ``tol``; of several outputs the one that ended
        worst.

    Notes
    -----
    A sample of weight w counts as w copies. Several outputs are as many programs with one K, solved side by side. With
    ``epsilon=0`` a sample has one variable in the dual, else two. Nothing in the fit is random. Cost between O(n q) and
    O(n^2) kernel values. A cost of 3 standard deviations: Cherkassky and Ma (2004), Practical selection of SVM
    parameters and noise estimation for SVM regression.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = SVR(Gaussian(1.0), C=100.0, epsilon=0.05).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.051)
    True
    >>> len(model.support_) < 15
    True
    >>> model = SVR().fit(X, 1000.0 * np.sin(X[:, 0]))  # in the unit of y
    >>> round(model.C_), round(model.epsilon_)
    (2148, 72)
    """

    measured = {**SupportVectorRegressor.measured, "epsilon": (0.1, 0.1)}
    constraints = {
        "C": Optional(AnyOf(Positive(), OneOf(math.inf, "spread"))),
        "epsilon": Optional(AnyOf(Interval(0.0, np.inf, closed="left"), OneOf("spread"))),
    }

    def __init__(
        self,
        kernel: Any = None,
        C: float | str | None = None,
        *,
        epsilon: float | str | None = None,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        shrinking: bool = True,
        cache_size: float = 512,
        gram: GramSpec | None = None,
        solver: Solver | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.gram = gram
        self.solver = solver
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _program(self, K: Gram, y: Floats, weight: Floats, *sizes: float) -> BoxQP:
        C, epsilon = sizes
        loss = EpsilonInsensitive(epsilon) if epsilon > 0 else Absolute()
        return program_of(K, loss.box_dual(y, C * weight))

    def _is_bounded(self) -> bool:
        return not isinstance(self.C, float) or math.isfinite(self.C)

    def _explains(self, solution: Solution) -> bool:
        return solution.status is Status.UNBOUNDED and not self._is_bounded()  # _describe will say so

    def _describe(self, solutions: list[Solution]) -> None:
        """Refuse a tube without errors where there is none."""
        if not self._is_bounded() and any(s.status is Status.UNBOUNDED for s in solutions):
            epsilon = np.max(self.epsilon_)
            raise TargetError(
                f"C=inf was given, and no function of {self.kernel_!r} stays within epsilon={epsilon:g} of all "
                "targets, or none that is not too long for floating-point numbers. Give a finite C, a larger epsilon, "
                "or a kernel with more features, for example Gaussian()."
            )


class NuSVR(MultiOutputMixin, SupportVectorRegressor):
    r"""Support vector regression that finds its tube: nu bounds the share of samples outside and of support vectors.

    .. math:: \min_{f, b, \epsilon} \; C \nu W \epsilon + C \sum_i w_i \max(0, |y_i - f(x_i) - b| - \epsilon)
        + \tfrac12 \|f\|^2, \qquad W = \sum_i w_i

    Seed: [SS] Eq. (54), with C in place of its c / N; [HSS] Section 3.1.3.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        As in `SVR`.
    C : float, "spread" or None, default None
        Cost of an error of size one outside the tube, as in `SVR`. Positive and finite.
    nu : float, default 0.5
        Upper bound on the share of samples outside the tube and lower bound on that of support vectors. In (0, 1].
    gamma, degree, coef0 : optional
        As in `SVR`.
    tol, max_iter, shrinking, cache_size : optional
        As in `SVR`.
    gram, solver, memory, max_time, n_threads : optional
        As in `SVR`.

    Attributes
    ----------
    epsilon_ : float or (k,) array
        Half-width of the tube found, in the unit of y. `SVR` with this epsilon has the same optimum.
    C_ : float or (k,) array
    support_, support_vectors_, n_support_, dual_coef_, intercept_, expansion_, n_iter_, solution_
        As in `SVR`.

    Notes
    -----
    A sample of weight w counts as w copies. The dual has two sums, one for each wall of the tube.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NuSVR
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> y = np.sin(X[:, 0]) + np.where(np.arange(50) % 2, 0.1, -0.1)
    >>> round(NuSVR(Gaussian(1.0), C=10.0, nu=0.2).fit(X, y).epsilon_, 1)
    0.1
    """

    constraints = {"C": COST, "nu": Interval(0.0, 1.0, closed="right")}

    def __init__(
        self,
        kernel: Any = None,
        C: float | str | None = None,
        *,
        nu: float = 0.5,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        shrinking: bool = True,
        cache_size: float = 512,
        gram: GramSpec | None = None,
        solver: Solver | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.nu = nu
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.gram = gram
        self.solver = solver
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _program(self, K: Gram, y: Floats, weight: Floats, *sizes: float) -> BoxQP:
        (C,) = sizes
        dual = EpsilonInsensitive(0.0).box_dual(y, C * weight)
        assert dual.index is not None
        half = min(0.5 * self.nu * C * float(weight.sum()), float(dual.upper.sum()))
        group = np.repeat(np.arange(2), len(y))
        return BoxQP(
            Repeated(K, dual.index), dual.linear, dual.lower, dual.upper, group=group, total=np.array([half, -half])
        )

    def _bias(self, solution: Solution) -> float:
        return -0.5 * float(np.sum(solution.multipliers))

    def _describe(self, solutions: list[Solution]) -> None:
        widths = np.array([0.5 * (s.multipliers[1] - s.multipliers[0]) for s in solutions])
        widths = np.maximum(widths, 0.0)  # rounding may leave a tube without width a little below
        self.epsilon_ = float(widths[0]) if self._is_one() else widths


class HuberSVR(MultiOutputMixin, SupportVectorRegressor):
    r"""Regression with Huber's loss: small errors cost their square, large ones only their size.

    .. math:: \min_{f, b} \; C \sum_i w_i \psi(y_i - f(x_i) - b) + \tfrac12 \|f\|^2, \qquad
        \psi(\xi) = \begin{cases} \xi^2 / (2 \sigma) & |\xi| \le \sigma \\
        |\xi| - \sigma / 2 & |\xi| > \sigma \end{cases}

    Seed: [HSS] Section 3.1.3, with ``threshold`` = sigma; the term that it adds to the diagonal of the dual is
    sigma / C.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        As in `SVR`.
    C : float, "spread" or None, default None
        Cost of one unit more of a large error. Positive and finite; "spread" and None as in `SVR`.
    threshold : float, "spread" or None, default None
        Size of an error, in the unit of y, from which the cost grows linearly. Positive. Large thresholds are kernel
        ridge regression with a bias and alpha = sigma / C, small ones least absolute deviation. "spread" is 0.3
        standard deviations of y. None is "spread" with the default kernel, and 1.0 if a kernel is given.
    gamma, degree, coef0 : optional
        As in `SVR`.
    tol, max_iter, shrinking, cache_size : optional
        As in `SVR`.
    gram, solver, memory, max_time, n_threads : optional
        As in `SVR`.

    Attributes
    ----------
    C_, threshold_ : float or (k,) array
        Cost and threshold of each output.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, expansion_, n_iter_, solution_
        As in `SVR`; nearly all samples are support vectors.

    Notes
    -----
    A sample of weight w counts as w copies. One variable per sample. Nothing in the fit is random.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import HuberSVR
    >>> from mercer.kernels import Linear
    >>> X = np.arange(10.0)[:, None]
    >>> y = np.where(X[:, 0] == 7, 100.0, X[:, 0])  # a straight line and one outlier
    >>> HuberSVR(Linear(), C=10.0).fit(X, y).predict([[7.0]]).round(1)
    array([7.2])
    """

    measured = {**SupportVectorRegressor.measured, "threshold": (1.0, 0.3)}
    constraints = {"C": COST, "threshold": COST}

    def __init__(
        self,
        kernel: Any = None,
        C: float | str | None = None,
        *,
        threshold: float | str | None = None,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        shrinking: bool = True,
        cache_size: float = 512,
        gram: GramSpec | None = None,
        solver: Solver | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.threshold = threshold
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.gram = gram
        self.solver = solver
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _program(self, K: Gram, y: Floats, weight: Floats, *sizes: float) -> BoxQP:
        C, threshold = sizes
        return program_of(K, Huber(threshold).box_dual(y, C * weight))
