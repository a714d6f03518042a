"""Support vector classifiers: the widest margin in feature space, with slack.

Symbols: y_i = +-1 the class of a sample in a two-class problem, beta_i = y_i alpha_i, w_i sample weights,
xi_i slacks, b the bias, rho the multipliers of the sums.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer import solvers  # whose names are imported when they are used
from mercer.arrays import Floats
from mercer.constraints import AnyOf, Interval, OneOf, Optional, Positive
from mercer.errors import DegenerateWarning, ParameterError, TargetError, warn_caller
from mercer.estimators.classifier import Part, SupportVectorClassifier
from mercer.gram import Gram, GramSpec
from mercer.gram.gram import is_low_rank
from mercer.losses import Hinge, SquaredHinge
from mercer.problems import BoxQP, ConvexRisk, Solution, Status
from mercer.solvers import Solver

__all__ = ["MarginBoundSVC", "NuSVC", "SVC"]
__public__ = __all__

_LOSSES = {"hinge": Hinge(), "squared_hinge": SquaredHinge()}


class SVC(SupportVectorClassifier):
    r"""Support vector classifier: the widest margin in feature space, where errors cost C each.

    .. math:: \min_{f, b} \; C \sum_i w_i \max(0, 1 - y_i (f(x_i) + b)) + \tfrac12 \|f\|^2

    Seed: [HSS] Eqs. (76)-(79), where (78) is C - a - eta = 0; [STS] Eqs. (61)-(72); [SS] the pair SVC-P, SVC-D; as
    the minimum of a regularised risk [SS] Eq. (46) with lambda = 1 / (2 C). With ``C=inf`` the hard margin of [HSS]
    Eq. (75) and [SS] Eq. (34).

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is ``Gaussian("columns")``, with a length scale for each column. A scikit-learn name ("rbf", "linear",
        "poly", "sigmoid", "precomputed") means what it means in its support vector machines. Conditionally positive
        definite kernels of order 1 are accepted.
    C : float, default 1.0
        Cost of an error of size one. Positive; ``inf`` allows none and needs classes that can be separated.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels, at its defaults for them (``gamma="scale"``, 3, 0).
    loss : {"hinge", "squared_hinge"}, default "hinge"
        "squared_hinge" costs half the square of the slack.
    multi_class : {"ovo", "ovr", "crammer_singer", "dense", "sparse", "exhaustive"} or (c, L) array, default "ovo"
        How more than two classes are separated: all pairs, each class against the rest, all together, or by an output
        code (a kind of code, or its matrix of -1, 0 and 1).
    class_weight : dict or "balanced", optional
        Factors of the weights of classes.
    probability : bool, default False
        Whether `fit` also prepares `predict_proba`: a sigmoid on leave-one-out decision values, without a refit.
        With an indefinite kernel, for which there is no such formula, on those of machines fitted without a fifth of
        the samples. The program of an indefinite kernel may have several solutions, between which rounding decides:
        ``gram=Dense(indefinite="clip")`` makes it one.
    decision_function_shape : {"ovr", "ovo"}, default "ovr"
        For pairs of classes: a value per class or per pair.
    break_ties : bool, default False
        Whether `predict` breaks ties between votes by the decision values.
    tol : float, default 1e-3
        Largest violation of the optimality conditions; for solvers in passes over a Gram of low rank, what
        `PrimalNewton` takes.
    max_iter : int, optional
        The most pairs of variables to move, per problem; None or -1 is the solver's own limit.
    shrinking : bool, default True
        Whether variables that stay at an end of their box are set aside for a while.
    cache_size : float, default 512
        Memory for rows of K in MB, used where computing them again costs more.
    gram : GramSpec, optional
        None holds K for up to 2048 samples and computes it in tiles beyond.
    solver : Solver, optional
        None is `SMO`, or `SequentialDual` for all classes together; `PrimalNewton` for the squared hinge on a large
        Gram of low rank, where ``tol`` is the relative error of the function.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    classes_, class_weight_ : (c,) arrays
    support_ : (q,) array of int
        Places of the support vectors in the training data, class by class.
    support_vectors_ : array or Samples
        The support vectors as rows, or as objects of their domain.
    n_support_ : (c,) array of int
    dual_coef_ : (c - 1, q) array
        y_i alpha_i, in scikit-learn's layout.
    intercept_ : (1,) or (problems,) array
    expansion_ : Expansion
        The decision function or functions.
    n_iter_ : (problems,) array of int
        Pairs of variables moved.
    solution_ : Solution
        Violation, duality gap and status of the solver; of several problems the one that ended worst.
    sigmoids_ : list of Sigmoid
        Only with ``probability=True``.

    Notes
    -----
    A sample of weight w counts as w copies. The model is the network of [SS] Figure 6, with as many hidden units as
    support vectors. Nothing in the fit is random. Cost between O(n q) and O(n^2) kernel values.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> model = SVC(Gaussian(1.0)).fit(X, ["left", "left", "right", "right"])
    >>> model.predict([[-0.8, -1.0]])
    array(['left'], dtype='<U5')
    """

    constraints = {"C": AnyOf(Positive(), OneOf(math.inf)), "loss": OneOf(*_LOSSES)}
    unit_margin = True

    def __init__(
        self,
        kernel: Any = None,
        C: float = 1.0,
        *,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        loss: str = "hinge",
        multi_class: Any = "ovo",
        class_weight: Any = None,
        probability: bool = False,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
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
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.probability = probability
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.tol = tol
        self.max_iter = max_iter
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.gram = gram
        self.solver = solver
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _is_bounded(self) -> bool:
        return math.isfinite(self.C)

    def _explains(self, solution: Solution) -> bool:
        return solution.status is Status.UNBOUNDED and math.isinf(self.C)  # _function will say so

    def _is_primal(self, K: Gram) -> bool:
        """Return whether the risk itself is minimised, in the coordinates of a factor, and not its dual."""
        if self.solver is not None or self.probability or not self._is_bounded():
            return self.solver is not None and isinstance(self.solver, solvers.PrimalNewton)
        return is_low_rank(K) and solvers.PrimalNewton.suits(K, _LOSSES[self.loss])

    def _default_solver(self, gram: Gram) -> Solver:
        if self._is_primal(gram) and not (self._is_together() and len(self.classes_) > 2):
            return solvers.PrimalNewton(self.tol, max_iter=100 if self.max_iter in (None, -1) else self.max_iter)
        return super()._default_solver(gram)

    def _program(self, K: Gram, sign: Floats, weight: Floats) -> BoxQP | ConvexRisk:
        if self._is_primal(K):
            return ConvexRisk(K, _LOSSES[self.loss], sign, weight, 1.0 / self.C, np.ones((len(sign), 1)))
        dual = _LOSSES[self.loss].box_dual(sign, self.C * weight)
        return BoxQP(K, dual.linear, dual.lower, dual.upper, ridge=dual.ridge)

    def _function(self, part: Part) -> tuple[Floats, float]:
        assert part.solution is not None
        solution = part.solution
        if isinstance(part.problem, ConvexRisk):
            return solution.coef, float(solution.multipliers[0])
        if math.isinf(self.C):
            inside = part.sign * (part.product() - solution.multipliers[0])
            if solution.status is not Status.CONVERGED and not inside.min() > 0.5:
                raise TargetError(
                    f"C=inf was given, and the classes cannot be separated with {self.kernel_!r}: the smallest margin "
                    f"reached is {inside.min():.2g} where 1 is asked for. Give a finite C, or a kernel with more "
                    "features, for example Gaussian()."
                )
        return solution.coef, -float(solution.multipliers[0])


class _EqualShares(SupportVectorClassifier):
    """Machines in which both classes hold equal shares of the coefficients."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # the classes hold equal shares of the coefficients, so weights of classes move the boundary less than elsewhere
        tags.classifier_tags.poor_score = True
        return tags


class NuSVC(_EqualShares):
    r"""Support vector classifier with nu in place of C: nu bounds the share of errors and of support vectors.

    .. math:: \min_{f, b, \rho} \; \tfrac12 \|f\|^2 - \nu W \rho + \sum_i w_i \max(0, \rho - y_i (f(x_i) + b)),
        \qquad W = \sum_i w_i

    Seed: [HSS] Eqs. (80)-(81); [ST] "Dual form of the SVM problem", whose coefficients are those of [HSS] over nu W.
    The decision values are divided by rho, so that the margin is at one.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        As in `SVC`.
    nu : float, optional
        Upper bound on the share of margin errors and lower bound on that of support vectors. In (0, 1], and at most
        twice the share of the smaller class. None is 0.5, or the largest possible where that is smaller.
    gamma, degree, coef0 : optional
        As in `SVC`.
    multi_class : {"ovo", "ovr", "dense", "sparse", "exhaustive"} or (c, L) array, default "ovo"
        As in `SVC`.
    class_weight, probability, decision_function_shape, break_ties : optional
        As in `SVC`.
    tol, max_iter, shrinking, cache_size : optional
        As in `SVC`.
    gram, solver, memory, max_time, n_threads : optional
        As in `SVC`.

    Attributes
    ----------
    margin_ : (problems,) array
        rho.
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, expansion_, n_iter_, solution_
        As in `SVC`.

    Notes
    -----
    A sample of weight w counts as w copies. With nu = 1 and classes of equal size all coefficients are equal: the
    Parzen windows classifier, up to an affine map. ``tol`` is met before decision values are divided by rho, which is
    small where nu is: those of LIBSVM are off by up to tol / rho. Here up to 2000 free variables are solved for exactly
    at the end, and decision values with them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NuSVC
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> NuSVC(Gaussian(1.0)).fit(X, [0, 0, 1, 1]).predict([[-0.8, -1.0]])
    array([0])
    """

    constraints = {"nu": Optional(Interval(0.0, 1.0, closed="right"))}
    unit_margin = True

    def __init__(
        self,
        kernel: Any = None,
        nu: float | None = None,
        *,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        multi_class: Any = "ovo",
        class_weight: Any = None,
        probability: bool = False,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
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
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.probability = probability
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.tol = tol
        self.max_iter = max_iter
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.gram = gram
        self.solver = solver
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _program(self, K: Gram, sign: Floats, weight: Floats) -> BoxQP:
        masses = [float(weight[sign > 0].sum()), float(weight[sign < 0].sum())]
        half = 0.25 * sum(masses) if self.nu is None else 0.5 * self.nu * sum(masses)
        if self.nu is not None and half > min(masses) * (1.0 + 1e-12):
            raise ParameterError(
                f"specified nu is infeasible: nu={self.nu} was given with classes of weight {masses[0]:g} and "
                f"{masses[1]:g}; at most {2.0 * min(masses) / sum(masses):.4g} is possible. Give a smaller nu, or "
                "class_weight='balanced'."
            )
        half = min(half, *masses)
        unit = _unit(weight)  # only ratios of weights matter, and tol is meant for weights of about one
        return _by_class(K, sign, weight / unit, half / unit)

    def _function(self, part: Part) -> tuple[Floats, float]:
        assert part.solution is not None
        upper, lower = part.solution.multipliers
        margin = 0.5 * (upper - lower)
        size = float(np.abs(part.product()).max(initial=0.0))
        scale = 1.0 / margin if margin > 1e-12 * size else 1.0  # classes on top of each other have no margin
        return scale * part.solution.coef, -0.5 * scale * float(upper + lower)

    def _describe(self, parts: list[Part]) -> None:
        pairs = [(_unit(part.weight), *part.solution.multipliers) for part in parts if part.solution is not None]
        self.margin_ = np.array([0.5 * unit * (upper - lower) for unit, upper, lower in pairs])
        # what the margin could be at most: all coefficients at the largest k(x, x)
        most = [np.abs(p.solution.coef).sum() * p.problem.gram.diag().max() for p in parts if p.solution is not None]
        if (self.margin_ <= 1e-6 * np.array(most) * np.array([unit for unit, _, _ in pairs])).any():
            warn_caller(
                f"the margin rho of NuSVC is {self.margin_.min():.2g}, next to nothing: as few errors as nu allows are "
                "not possible with this kernel, and the decision values, which are divided by rho, mean little. "
                "Raise nu, or give a kernel that separates the classes better.",
                DegenerateWarning,
            )


class MarginBoundSVC(_EqualShares):
    r"""The support vector classifier that minimises a bound on the error: largest margin on the unit sphere.

    .. math:: \max_{\|f\| = 1,\, b,\, \gamma} \; \gamma - C \sum_i w_i \xi_i, \qquad
        y_i (f(x_i) + b) \ge \gamma - \xi_i

    Seed: [ST] "SVM optimisation" and "Dual form of the SVM problem": coefficients sum to one over the classes together,
    lambda* = sqrt(beta' K beta) / 2, and gamma* and the sum of slacks follow from it.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        As in `SVC`.
    C : float, optional
        Largest coefficient. Each class must be able to hold half: C times its weight is at least 1/2. C = 1 / (nu m)
        gives the nu-machine; this C is not that of `SVC`. None is
        nu = 1/2, or the smallest C possible where that is larger.
    gamma, degree, coef0 : optional
        As in `SVC`.
    multi_class, class_weight, probability, decision_function_shape, break_ties : optional
        As in `NuSVC`.
    tol, max_iter, shrinking, cache_size : optional
        As in `SVC`.
    gram, solver, memory, max_time, n_threads : optional
        As in `SVC`.

    Attributes
    ----------
    margin_ : (problems,) array
        gamma*.
    multiplier_ : (problems,) array
        lambda*.
    slack_ : (problems,) array
        Sum of the slacks, (gamma* - 2 lambda*) / C.
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, expansion_, n_iter_, solution_
        As in `SVC`; decision values are those of the function of norm one.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MarginBoundSVC
    >>> from mercer.kernels import Linear
    >>> model = MarginBoundSVC(Linear(), C=1.0).fit([[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1])
    >>> model.margin_, model.slack_
    (array([1.]), array([0.]))
    """

    constraints = {"C": Optional(Positive())}

    def __init__(
        self,
        kernel: Any = None,
        C: float | None = None,
        *,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        multi_class: Any = "ovo",
        class_weight: Any = None,
        probability: bool = False,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
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
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.probability = probability
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.tol = tol
        self.max_iter = max_iter
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.gram = gram
        self.solver = solver
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _program(self, K: Gram, sign: Floats, weight: Floats) -> BoxQP:
        masses = [float(weight[sign > 0].sum()), float(weight[sign < 0].sum())]
        C = max(2.0 / sum(masses), 0.5 / min(masses)) if self.C is None else self.C
        if self.C is not None and C * min(masses) < 0.5:
            raise ParameterError(
                f"C={self.C} was given with classes of weight {masses[0]:g} and {masses[1]:g}; C times each must be at "
                f"least 1/2, that is C >= {0.5 / min(masses):.4g}. Give a larger C."
            )
        return _by_class(K, sign, C * weight, min(0.5, C * min(masses)))  # less by rounding at the smallest C

    def _norm(self, part: Part) -> float:
        assert part.solution is not None
        return math.sqrt(max(0.0, float(part.solution.coef @ part.product())))

    def _function(self, part: Part) -> tuple[Floats, float]:
        assert part.solution is not None
        norm = self._norm(part)
        scale = 1.0 / norm if norm > 0 else 1.0
        return scale * part.solution.coef, -0.5 * scale * float(np.sum(part.solution.multipliers))

    def _describe(self, parts: list[Part]) -> None:
        solutions = [part.solution for part in parts if part.solution is not None]
        norms = np.array([self._norm(part) for part in parts])
        half = np.array([0.5 * (s.multipliers[0] - s.multipliers[1]) for s in solutions])
        self.multiplier_ = 0.5 * norms
        self.margin_ = half / np.where(norms > 0, norms, 1.0)
        # the largest coefficient of a sample of weight one, whatever C was taken
        C = np.array([np.max((p.problem.upper - p.problem.lower) / p.weight) for p in parts])
        self.slack_ = np.maximum(0.0, self.margin_ - 2.0 * self.multiplier_) / C


def _unit(weight: Floats) -> float:
    """Return the power of two at the mean of the weights: to divide by it changes no digit."""
    return math.ldexp(1.0, math.frexp(float(weight.mean()))[1] - 1)


def _by_class(K: Gram, sign: Floats, weight: Floats, half: float) -> BoxQP:
    """Return the program whose coefficients sum to `half` in the first class and to minus that in the second."""
    box = weight * sign
    group = (sign < 0).astype(np.intp)
    total = np.array([half, -half])
    return BoxQP(K, np.zeros(len(sign)), np.minimum(box, 0.0), np.maximum(box, 0.0), group, total)
