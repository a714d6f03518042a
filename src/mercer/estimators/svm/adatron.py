"""The kernel adatron: a support vector machine without a bias.

Symbols: alpha_i the coefficients, y_i = +-1 the classes, w_i sample weights.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from sklearn.callback import with_callbacks

from mercer.arrays import Array, Floats
from mercer.constraints import AnyOf, Integer, Interval, OneOf, Optional, Positive
from mercer.errors import DomainError, ParameterError
from mercer.estimators.estimator import scattered
from mercer.estimators.fits import fitting
from mercer.estimators.online import Scoring
from mercer.gram import Gram, GramSpec
from mercer.problems import BoxQP, Solution, Status
from mercer.solvers import Adatron, Solver
from mercer.targets import Multiclass

__all__ = ["KernelAdatron"]
__public__ = __all__


class KernelAdatron(Scoring):
    r"""Kernel adatron: a support vector machine without a bias, learned one coefficient at a time.

    .. math:: \max_\alpha \; \sum_i \alpha_i - \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k(x_i, x_j)
        \quad \text{s.t.} \quad 0 \le \alpha_i \le C w_i, \qquad f = \sum_i y_i \alpha_i k(x_i, \cdot)

    It minimises :math:`C \sum_i w_i \max(0, 1 - y_i f(x_i)) + \frac12 \|f\|^2`. Several classes are learned one
    against the rest.

    Seed: [ST] "Alternative form of the SVM problem": with b = 0 the sum constraint is gone.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples. Where the classes do not lie around
        the origin of the feature space, add a constant: ``kernel + 1.0 * Constant()`` acts like a bias.
    C : float, default 1.0
        Price of a unit of slack. Positive; infinite for the hard margin.
    tol : float, default 1e-3
        Largest violation of the optimality conditions, in the unit of f.
    max_iter : int, optional
        Working sets at most; None allows 60, or one for every 50 samples if that is more.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held; must offer rows. None chooses by `Auto`.
    solver : Solver, optional
        Solver of a BoxQP without sums; None is ``Adatron(tol, max_iter)``.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    classes_ : (c,) array
    expansion_ : Expansion or FeatureExpansion
        f, one column per class, or one function for two classes.
    dual_coef_ : (n, c) array, or (n,) for two classes
        y_i alpha_i; samples of weight zero have coefficient zero.
    support_ : (s,) array of int
        Samples with a coefficient.
    n_iter_ : int, or (c,) array
        Working sets that were solved, the last polish included.
    solution_ : Solution
        Largest violation and sum of the duality gaps over the classes.

    Examples
    --------
    >>> from mercer.estimators.svm.adatron import KernelAdatron
    >>> from mercer.kernels import Gaussian
    >>> model = KernelAdatron(Gaussian(1.0), C=10.0).fit([[0.0], [1.0], [4.0], [5.0]], ["a", "a", "b", "b"])
    >>> model.predict([[0.4], [4.4]]), model.decision_function([[0.0]]).round(3)
    (array(['a', 'b'], dtype='<U1'), array([-1.]))
    """

    constraints = {
        "C": AnyOf(Positive(), OneOf(math.inf)),
        "tol": Interval(0.0, 1.0, closed="neither"),
        "max_iter": Optional(Integer(1)),
    }
    _default_tol: ClassVar[float] = 1e-3

    def __init__(
        self,
        kernel: Any = None,
        C: float = 1.0,
        *,
        tol: float = 1e-3,
        max_iter: int | None = None,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        solver: Solver | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.solver = solver
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelAdatron:
        """Fit the function to training data.

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
        with fitting(self, X, y, sample_weight, Multiclass()) as (run, kernel, packed, S, codes, w, used):
            self.kernel_ = kernel.learn(S, codes, w)
            K = self._represent(self.kernel_, S, run, until=0.3)
            ahead = range(1, 2) if len(self.classes_) == 2 else range(len(self.classes_))
            found = [
                self._solve(self._against_the_rest(K, codes == c, w), run, until=0.3 + 0.7 * (done + 1) / len(ahead))
                for done, c in enumerate(ahead)
            ]
            solution = self.solution_ = _together(found)
            if math.isinf(self.C) and solution.status is Status.STALLED:
                raise DomainError(
                    f"C=inf was given for samples that {self.kernel_!r} does not separate through the origin; "
                    "separable samples are needed for a hard margin. Use a finite C, or a kernel with more features."
                )
            steps = [max(1, len(part.trace) - 1) for part in found]
            self.n_iter_ = steps[0] if len(steps) == 1 else np.array(steps)
            self.expansion_ = K.expand(solution, np.zeros(solution.coef.shape[1:]))
            self.dual_coef_ = scattered(solution.coef, used, len(packed))
            rows = self.dual_coef_.reshape(len(packed), -1)
            self.support_ = np.flatnonzero(np.any(rows != 0.0, axis=1))
        return self

    def _against_the_rest(self, K: Gram, own: Array, w: Floats) -> BoxQP:
        """Return the problem of one class, or of the second of two."""
        y, box = np.where(own, 1.0, -1.0), self.C * w
        return BoxQP(K, -y, np.where(own, 0.0, -box), np.where(own, box, 0.0), total=np.zeros(0))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.solver is not None and (self.tol != self._default_tol or self.max_iter is not None):
            raise ParameterError(
                f"tol={self.tol} and max_iter={self.max_iter} were given with solver={self.solver!r}; they are those "
                "of the default solver. Write them into the solver, for example Adatron(tol=1e-4)."
            )

    def _default_solver(self, gram: Gram) -> Solver:
        return Adatron(self.tol, self.max_iter)


def _together(solutions: list[Solution]) -> Solution:
    """Return the solutions of several columns as one: the worst status and violation, the sum of the gaps."""
    if len(solutions) == 1:
        return solutions[0]
    failed = [s for s in solutions if not s.status.converged]
    longest = max(solutions, key=lambda s: len(s.trace))
    return Solution(
        np.column_stack([s.coef for s in solutions]),
        failed[0].status if failed else Status.CONVERGED,
        max(s.residual for s in solutions),
        trace=longest.trace,
        gap=sum(s.gap for s in solutions),
    )
