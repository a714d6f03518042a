"""Novelty detection: the region in which most of the samples lie.

Symbols: alpha_i >= 0 the coefficients, w_i sample weights and W their sum, rho the multiplier of the sum, c the centre
of a ball in feature space and r its radius.
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.callback import with_callbacks

from mercer.arrays import Array, Floats, Indices
from mercer.constraints import AnyOf, Interval, OneOf, Optional, Positive
from mercer.errors import CapabilityError, ParameterError
from mercer.estimators.certificates.certified import Certified
from mercer.estimators.estimator import sample_weights
from mercer.estimators.fits import fitting
from mercer.estimators.svm.support import SupportVectorMachine
from mercer.gram import Expansion, Gram, GramSpec
from mercer.problems import BoxQP, Solution, Status
from mercer.solvers import SMO, Solver

__all__ = ["Ball", "OneClassSVM", "SVDD", "enclosing_ball"]
__public__ = ["OneClassSVM", "SVDD", "enclosing_ball"]

_ROUNDING = 1e-12  # of the size of the terms of a decision value: by less no sample is outside
_EXACT = 1e-9  # of the same: a smaller violation is all rounding


class NoveltyDetector(Certified, OutlierMixin, SupportVectorMachine):
    """Base of the novelty detectors; a subclass writes the program and reads the function off its solution."""

    offset_: Any

    # what a subclass writes ---------------------------------------------------------------------------

    @abstractmethod
    def _program(self, K: Gram, weight: Floats) -> BoxQP:
        """Return the dual."""

    @abstractmethod
    def _store_function(self, K: Gram, problem: BoxQP, solution: Solution) -> Floats:
        """Keep the expansion and the offset; return the decision values of the training samples."""

    @abstractmethod
    def _unit(self, gram: Gram) -> float:
        """Return the unit of the tolerance: a size that decision values have."""

    # fit ----------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Find the region.

        Parameters
        ----------
        X : raw data or packed samples
        y : ignored
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, None, sample_weight) as (run, kernel, _, S, _, w, used):
            self.kernel_ = self._learned_kernel(kernel, S, None, w)
            K = self._represent(self.kernel_, S, run, until=0.2)
            problem = self._program(K, w)
            solution = self._solve(problem, run, until=0.9)
            values = self._store_function(K, problem, solution)
            # a sample not at the upper end of its box is inside, whatever the tolerance left of its decision value
            inside = (values >= 0) | (solution.coef < problem.upper)
            self.coverage_ = float(w[inside].sum() / w.sum())
            self._store(solution, used, S)
        return self

    def _store(self, solution: Solution, used: Indices, S: Any) -> None:
        """Keep what scikit-learn's users look for."""
        self._store_support(solution.coef, used, S)
        self.dual_coef_ = solution.coef[self._chosen][None, :]
        self.n_support_ = np.array([len(self._chosen)], dtype=np.int32)
        self.n_iter_ = int(solution.details.get("pairs moved", len(solution.trace)))
        self.fit_status_ = int(solution.status is not Status.CONVERGED)
        del self._chosen

    def _default_solver(self, gram: Gram) -> Solver:
        solver = super()._default_solver(gram)
        unit = self._unit(gram)
        return solver.replace(tol=self.tol * unit) if isinstance(solver, SMO) and 0 < unit < math.inf else solver

    # use ----------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """Return decision values of new data, shape (m,): positive inside, negative outside, zero on the boundary."""
        return self.score_samples(X) - self.offset_

    def score_samples(self, X: Any) -> Floats:
        """Return `decision_function` plus `offset_`, shape (m,): the larger the more usual."""
        return self._evaluate(X) + self.offset_

    def predict(self, X: Any) -> Array:
        """Return 1 for new data inside the region or on its boundary, -1 outside, shape (m,)."""
        return np.where(self._quick_values(X) >= 0, 1, -1)

    def coverage(self, X: Any, sample_weight: Any = None) -> float:
        """Return the share of new data that lies inside: an estimate of the probability of the region.

        Parameters
        ----------
        X : raw data or packed samples
        sample_weight : (m,) array, optional
        """
        inside = self.predict(X) > 0
        w = sample_weights(sample_weight, len(inside))
        return float(w[inside].sum() / w.sum())


class OneClassSVM(NoveltyDetector):
    r"""One-class support vector machine: the half-space farthest from the origin that holds most of the samples.

    .. math:: \min_{f, \rho} \; \tfrac12 \|f\|^2 - \nu W \rho + \sum_i w_i \max(0, \rho - f(x_i)), \qquad W = \sum_i w_i

    Seed: [HSS] Eqs. (83), (84); the region f >= rho estimates the smallest set of probability mu = 1 - nu, Eq. (82).

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is ``Gaussian("columns")``, with a length scale for each column. A scikit-learn name ("rbf", "linear",
        "poly", "sigmoid", "precomputed") means what it means in its support vector machines. Must be positive definite.
    nu : float, default 0.5
        Upper bound on the share of training samples outside and lower bound on that of support vectors. In (0, 1].
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels, at its defaults for them (``gamma="scale"``, 3, 0).
    tol : float, default 1e-3
        Largest violation of the optimality conditions, in the unit of the largest k(x, x).
    max_iter : int, optional
        The most pairs of variables to move; None or -1 is the solver's own limit.
    shrinking, cache_size : default True and 512
        Options of the solver, as for `SVC`.
    gram : GramSpec, optional
        None holds K for up to 2048 samples and computes it in tiles beyond.
    solver : Solver, optional
        None is `SMO`.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    coverage_ : float
        Share of the training weight inside the region; at least 1 - nu.
    offset_ : float
        rho; ``decision_function`` is ``score_samples`` minus it.
    support_ : (q,) array of int
        Places of the support vectors in the training data.
    support_vectors_ : array or Samples
        The support vectors as rows, or as objects of their domain.
    n_support_ : (1,) array of int
    dual_coef_ : (1, q) array
        alpha of the support vectors; all together nu W.
    intercept_ : (1,) array
        Minus rho.
    expansion_ : Expansion
        The decision function.
    n_iter_ : int
        Pairs of variables moved.
    solution_ : Solution
        Violation, duality gap and status of the solver.

    Notes
    -----
    A sample of weight w counts as w copies. Samples on the boundary are inside: rho is lowered by what rounding may
    take from a decision value. With nu = 1 all coefficients are their weights and f is W times the Parzen windows
    estimate of the density. Nothing in the fit is random. Cost between O(n q) and O(n^2) kernel values.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = OneClassSVM(nu=0.1).fit(X)
    >>> model.predict([[0.0, 0.0], [4.0, 4.0]])
    array([ 1, -1])
    >>> 0.9 <= model.coverage_ < 0.95
    True
    """

    highest_order = 0
    constraints = {"nu": Interval(0.0, 1.0, closed="right")}

    def __init__(
        self,
        kernel: Any = None,
        nu: float = 0.5,
        *,
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

    def _unit(self, gram: Gram) -> float:
        return float(np.abs(gram.diag()).max())

    def _program(self, K: Gram, weight: Floats) -> BoxQP:
        total = min(self.nu * weight.sum(), weight.sum())
        return BoxQP(K, np.zeros(len(weight)), np.zeros(len(weight)), weight, total=np.array([total]))

    def _store_function(self, K: Gram, problem: BoxQP, solution: Solution) -> Floats:
        size = float(solution.coef.sum()) * self._unit(K)
        rho = float(solution.multipliers[0]) - _slack(solution, size)
        self.offset_ = rho
        self.intercept_ = np.array([-rho])
        self.expansion_ = K.expand(solution, -rho)
        return _product(K, solution) - rho


class SVDD(NoveltyDetector):
    r"""Support vector data description: the smallest ball in feature space around most of the samples.

    .. math:: \min_{c, r} \; r^2 + C \sum_i w_i \max(0, \|\Phi(x_i) - c\|^2 - r^2), \qquad
        f(x) = r^2 - \|\Phi(x) - c\|^2

    Seed: [ST] "Novelty detection", with the sign of f turned, so that it is positive inside, and its gamma zero.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        As in `OneClassSVM`; conditionally positive definite kernels of order 1 are accepted, since only distances in
        feature space matter.
    C : float, optional
        Cost of a squared distance beyond the radius; the largest coefficient of a sample of weight one. At least 1 / W,
        where W is the sum of the weights, the number of samples without. From 1 on, without weights, the ball holds all
        samples; ``inf`` does with any. None is 1 / (nu W).
    nu : float, default 0.5
        Upper bound on the share of training samples outside and lower bound on that of support vectors, where C is
        None. In (0, 1].
    gamma, degree, coef0 : optional
        As in `OneClassSVM`.
    tol : float, default 1e-3
        Largest violation of the optimality conditions, in the unit of the largest squared distance in feature space
        from the first sample.
    max_iter, shrinking, cache_size : optional
        As in `OneClassSVM`.
    gram, solver, memory, max_time, n_threads : optional
        As in `OneClassSVM`.

    Attributes
    ----------
    radius_ : float
        r.
    coverage_ : float
        Share of the training weight inside the ball.
    offset_ : float
        Minus r^2; ``score_samples`` is minus the squared distance from the centre.
    support_, support_vectors_, n_support_, n_iter_, solution_
        As in `OneClassSVM`.
    dual_coef_ : (1, q) array
        alpha of the support vectors: the centre is the sum of alpha_i Phi(x_i).
    intercept_ : (1,) array
        Constant of the decision function.
    expansion_ : Expansion
        The decision function, 2 sum_i alpha_i k(x_i, x) - k(x, x) + intercept.

    Notes
    -----
    A sample of weight w counts as w copies. With a kernel whose k(x, x) is constant the region is that of `OneClassSVM`
    at nu = 1 / (C W). A precomputed kernel needs k(x, x) of new samples: ``Similarities.pack(K, diagonal=...)``.

    Examples
    --------
    >>> from mercer import SVDD
    >>> from mercer.kernels import Linear
    >>> model = SVDD(Linear(), C=1.0).fit([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5]])
    >>> round(model.radius_, 6)
    1.0
    >>> model.decision_function([[1.0, 0.0], [4.0, 0.0]]).round(6)
    array([ 1., -8.])
    """

    policies = ("reject",)
    constraints = {
        "C": Optional(AnyOf(Positive(), OneOf(math.inf))),
        "nu": Interval(0.0, 1.0, closed="right"),
    }

    def __init__(
        self,
        kernel: Any = None,
        C: float | None = None,
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

    def _unit(self, gram: Any) -> float:
        diagonal = gram.diag()
        first = np.zeros(len(diagonal))
        gram.update(np.zeros(1, dtype=np.intp), np.ones(1), first)
        return float((diagonal + diagonal[0] - 2.0 * first).max())

    def _program(self, K: Gram, weight: Floats) -> BoxQP:
        mass = float(weight.sum())
        C = 1.0 / (self.nu * mass) if self.C is None else self.C
        if C * mass < 1.0 - 1e-12:
            raise ParameterError(
                f"C={C} was given with samples of total weight {mass:g}; their coefficients, of at most C times the "
                f"weight each, must be able to sum to one, that is C >= {1.0 / mass:.4g}. Give a larger C, or nu."
            )
        upper = C * weight
        return BoxQP(K, -0.5 * K.diag(), np.zeros(len(weight)), upper, total=np.array([min(1.0, upper.sum())]))

    def _store_function(self, K: Gram, problem: BoxQP, solution: Solution) -> Floats:
        product = _product(K, solution)
        size = 2.0 * float(np.abs(problem.linear).max()) + float(np.abs(product).max())
        twice = 2.0 * (float(solution.multipliers[0]) - _slack(solution, size))
        square = max(0.0, float(solution.coef @ product) - twice)
        self.radius_ = math.sqrt(square)
        self.offset_ = -square
        self.intercept_ = np.array([-twice])
        expansion = K.expand(solution, -twice)
        if not isinstance(expansion, Expansion):
            raise CapabilityError(
                f"SVDD was given gram={self.gram_!r}, whose functions are linear in features; distances need k(x, x) "
                "as well. Use gram=Dense() or gram=Tiles()."
            )
        self.expansion_ = dataclasses.replace(expansion, coef=2.0 * expansion.coef, diagonal=-1.0)
        return 2.0 * (product + problem.linear) - twice

    @property
    def coef_(self) -> Floats:
        """The centre as a vector, shape (1, d); only for the linear kernel."""
        return 0.5 * super().coef_


def _product(K: Gram, solution: Solution) -> Floats:
    """Return K alpha, which `SMO` leaves behind."""
    return solution.state if isinstance(solution.state, np.ndarray) else K @ solution.coef


def _slack(solution: Solution, size: float) -> float:
    """Return by how much rounding alone may change a decision value whose terms are of a size."""
    return _ROUNDING * size + (solution.residual if solution.residual <= _EXACT * size else 0.0)


@dataclasses.dataclass(frozen=True, eq=False)
class Ball:
    """A ball in feature space.

    Attributes
    ----------
    radius : float
    coef : (n,) array
        The centre is the sum of coef_i Phi(x_i); not negative, all together one.
    solution : Solution
        Solution of the quadratic program, with its duality gap.
    """

    radius: float
    coef: Floats
    solution: Solution


def enclosing_ball(kernel: Any, X: Any, *, tol: float = 1e-6, memory: int | str | None = None) -> Ball:
    r"""Return the smallest ball in feature space that holds all samples.

    .. math:: r^2 = \min_c \max_i \|\Phi(x_i) - c\|^2
        = \max_{\alpha \ge 0, \, \sum_i \alpha_i = 1} \; \sum_i \alpha_i k(x_i, x_i) - \alpha^\top K \alpha

    Seed: [SS] Section 3.1.5, the radius in the bound on the VC dimension, Eq. (49).

    Parameters
    ----------
    kernel : Kernel, str or None
        As in `SVDD`.
    X : raw data or packed samples
    tol : float, default 1e-6
        Largest violation of the optimality conditions, as in `SVDD`: the squared radius is exact to this share of the
        largest squared distance from the first sample.
    memory : int or str, optional
        Budget in bytes.

    Returns
    -------
    Ball

    Examples
    --------
    >>> from mercer.estimators.svm.novelty import enclosing_ball
    >>> from mercer.kernels import Linear
    >>> ball = enclosing_ball(Linear(), [[0.0], [1.0], [4.0]])
    >>> round(ball.radius, 6), ball.coef.round(6)
    (2.0, array([0.5, 0. , 0.5]))
    """
    model = SVDD(kernel, math.inf, tol=tol, memory=memory).fit(X)
    return Ball(model.radius_, model.solution_.coef, model.solution_)
