"""Novelty detection with several kernels, whose weights are learned with the machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.callback import with_callbacks

from mercer.arrays import Array, Floats
from mercer.constraints import Interval
from mercer.estimators.fits import fitting
from mercer.estimators.mixtures.kernel_family import Built
from mercer.estimators.mixtures.multiple_kernel import MultipleKernelMachine
from mercer.gram import GramSpec
from mercer.mixtures import Mixture
from mercer.problems import Status
from mercer.solvers import Solver
from mercer.solvers.mixtures.mixture_problem import MixtureQP, Program

__all__ = ["MultipleKernelDetector"]
__public__ = __all__

_ROUNDING = 1e-12  # of the size of the terms of a decision value: by less no sample is outside


class MultipleKernelDetector(OutlierMixin, MultipleKernelMachine):
    r"""One-class machine with several kernels: their weights are learned together with the region.

    .. math:: \min_{d \in D} \min_{f_t, \rho} \; \tfrac12 \sum_t \|f_t\|^2 / d_t - \nu W \rho
              + \sum_i w_i \max\Bigl(0, \rho - \sum_t f_t(x_i)\Bigr), \qquad W = \sum_i w_i

    Seed: [KIKS] Section 6.2, which names one-class problems; the machine is [HSS] Eqs. (83), (84).

    Parameters
    ----------
    kernels : list of Kernel, dict of str to Kernel, Kernel, or None, default None
        As in `MultipleKernelClassifier`.
    nu : float, default 0.5
        Upper bound on the share of training samples outside and lower bound on that of support vectors. In (0, 1].
    mixture : Mixture, optional
        As in `MultipleKernelClassifier`, but for those that need targets.
    normalization : {None, "trace", "variance", "cosine"}, default None
        As in `MultipleKernelClassifier`. The problem favours kernels in which the samples are far from the origin and
        near each other, so that scales decide.
    tol : float, default 1e-3
        Duality gap of the whole problem, relative to its minimum.
    gram, solver, memory, max_time, n_threads : optional
        As in `MultipleKernelClassifier`.

    Attributes
    ----------
    weights_, kernel_names_, support_kernels_, scales_, kernel_, contributions_, squares_, objective_
        As in `MultipleKernelClassifier`.
    offset_ : float
        rho; ``decision_function`` is ``score_samples`` minus it.
    coverage_ : float
        Share of the training weight inside the region.
    support_, support_vectors_, dual_coef_, intercept_, expansion_, solution_, n_iter_
        As in `OneClassSVM` and `MultipleKernelClassifier`.

    Notes
    -----
    A sample of weight w counts as w copies. Nothing in the fit is random.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MultipleKernelDetector
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = MultipleKernelDetector([Gaussian(1.0), Gaussian(2.0)], nu=0.1).fit(X)
    >>> model.predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    """

    constraints = {"nu": Interval(0.0, 1.0, closed="right")}

    def __init__(
        self,
        kernels: Any = None,
        nu: float = 0.5,
        *,
        mixture: Mixture | None = None,
        normalization: str | None = None,
        tol: float = 1e-3,
        gram: GramSpec | None = None,
        solver: Solver | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernels = kernels
        self.nu = nu
        self.mixture = mixture
        self.normalization = normalization
        self.tol = tol
        self.gram = gram
        self.solver = solver
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Find the region and the weights.

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
        with fitting(self, X, None, sample_weight) as (run, _, _, S, _, w, used):
            built = self._build(S, None, w, run)
            solution = self._search(built, None, w, run)
            found = solution.state
            size = float(np.max(np.abs(found.product)))
            rho = float(solution.multipliers[0]) - _ROUNDING * size
            self.offset_ = rho
            self._store(built, S, solution, -rho, w)
            inside = (found.product >= rho) | (solution.coef < w)
            self.coverage_ = float(w[inside].sum() / w.sum())
            chosen = self._store_support(solution.coef, used, S)
            self.intercept_, self.dual_coef_ = np.array([-rho]), solution.coef[chosen][None, :]
            self.fit_status_ = int(self.solution_.status is not Status.CONVERGED)
        return self

    def _problem(self, built: Built, values: Any, w: Floats) -> MixtureQP:
        """Return the problem of machine and weights."""
        total = min(self.nu * float(w.sum()), float(w.sum()))
        program = Program(np.zeros(len(w)), np.zeros(len(w)), w, total=np.array([total]))
        return MixtureQP(built.grams, self._weight_set(built, None, w), (program,))

    def decision_function(self, X: Any) -> Floats:
        """Return decision values of new data, shape (q,): positive inside, negative outside, zero on the boundary."""
        return self._evaluate(X)

    def score_samples(self, X: Any) -> Floats:
        """Return `decision_function` plus `offset_`, shape (q,): the larger the more usual."""
        return self._evaluate(X) + self.offset_

    def predict(self, X: Any) -> Array:
        """Return 1 for new data inside the region or on its boundary, -1 outside, shape (q,)."""
        return np.where(self.decision_function(X) >= 0, 1, -1)
