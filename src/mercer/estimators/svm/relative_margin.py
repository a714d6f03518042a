"""Relative margin machine: a margin that is wide compared with the spread of the samples.

Symbols: y_i = +-1 the class of a sample in a two-class problem, B the bound on decision values, w_i sample weights,
b the bias, rho the multiplier of the sum.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import AnyOf, Interval, OneOf, Positive
from mercer.estimators.classifier import Part, SupportVectorClassifier
from mercer.gram import Gram, GramSpec, Repeated
from mercer.losses import Hinge
from mercer.problems import BoxQP
from mercer.solvers import Solver

__all__ = ["RelativeMarginMachine"]
__public__ = __all__


class RelativeMarginMachine(SupportVectorClassifier):
    r"""Classifier whose margin is wide relative to the spread of the samples: no decision value may exceed a bound.

    .. math:: \min_{f, b} \; C \sum_i w_i \max(0, 1 - y_i (f(x_i) + b)) + \tfrac12 \|f\|^2 \quad
        \text{s.t.} \quad |f(x_i) + b| \le B

    Seed: [SS] Section 3.1.6, after Shivaswamy and Jebara (2010), Maximum relative margin and data-dependent
    regularization.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        As in `SVC`.
    C : float, default 1.0
        Cost of an error of size one. Positive.
    bound : float, default 2.0
        B, in units of the margin. At least one; ``inf`` gives `SVC`.
    gamma, degree, coef0 : optional
        As in `SVC`.
    multi_class : {"ovo", "ovr", "dense", "sparse", "exhaustive"} or (c, L) array, default "ovo"
        As in `SVC`; the bound holds for the samples that take part in each two-class problem.
    class_weight, decision_function_shape : optional
        As in `SVC`.
    break_ties : bool, default True
        As in `SVC`, where it is False; bounded values tie more often.
    tol, max_iter, shrinking, cache_size : optional
        As in `SVC`.
    gram, solver, memory, max_time, n_threads : optional
        As in `SVC`.

    Attributes
    ----------
    classes_, class_weight_, support_, support_vectors_, n_support_, dual_coef_, intercept_
        As in `SVC`; a sample held by the bound has a coefficient of the sign of the other class.
    expansion_, n_iter_, solution_
        As in `SVC`.

    Notes
    -----
    A sample of weight w counts as w copies. The dual has three variables per sample, one for the margin and one for
    each side of the bound. There are no probabilities: they would need the machine without each sample, and thus
    without its bound.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import RelativeMarginMachine
    >>> from mercer.kernels import Linear
    >>> X = np.array([[-9.0, -2.0], [0.0, -1.0], [0.0, 1.0], [9.0, 2.0]])
    >>> model = RelativeMarginMachine(Linear(), C=100.0, bound=1.5).fit(X, [0, 0, 1, 1])
    >>> model.decision_function(X).round(6)
    array([-1.5, -1. ,  1. ,  1.5])
    """

    bound: float
    constraints = {"C": Positive(), "bound": AnyOf(Interval(1.0, math.inf, closed="left"), OneOf(math.inf))}
    probability = False

    def __init__(
        self,
        kernel: Any = None,
        C: float = 1.0,
        *,
        bound: float = 2.0,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        multi_class: Any = "ovo",
        class_weight: Any = None,
        decision_function_shape: str = "ovr",
        break_ties: bool = True,
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
        self.bound = bound
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.multi_class = multi_class
        self.class_weight = class_weight
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
        return math.isinf(self.bound)

    def _program(self, K: Gram, sign: Floats, weight: Floats) -> BoxQP:
        n = len(sign)
        dual = Hinge().box_dual(sign, self.C * weight)
        if math.isinf(self.bound):
            return BoxQP(K, dual.linear, dual.lower, dual.upper)
        # the second third of the variables lifts values off -B, the last one presses them below B
        far, zero, end = np.full(n, self.bound), np.zeros(n), np.full(n, math.inf)
        return BoxQP(
            Repeated(K, np.tile(np.arange(n), 3)),
            np.concatenate([dual.linear, far, -far]),
            np.concatenate([dual.lower, zero, -end]),
            np.concatenate([dual.upper, end, zero]),
        )

    def _function(self, part: Part) -> tuple[Floats, float]:
        assert part.solution is not None
        coef = part.solution.coef.reshape(-1, len(part.sign)).sum(axis=0)
        return coef, -float(part.solution.multipliers[0])
