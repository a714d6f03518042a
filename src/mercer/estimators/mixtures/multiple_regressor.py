"""Regression with several kernels, whose weights are learned with the machine."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.callback import with_callbacks

from mercer.arrays import Floats
from mercer.constraints import Interval, OneOf, Positive
from mercer.estimators.fits import fitting
from mercer.estimators.mixtures.kernel_family import Built
from mercer.estimators.mixtures.multiple_kernel import MultipleKernelMachine
from mercer.gram import GramSpec
from mercer.losses import Absolute, EpsilonInsensitive, Huber, Squared
from mercer.mixtures import Mixture
from mercer.problems import Status
from mercer.solvers import Solver
from mercer.solvers.mixtures.mixture_problem import MixtureQP, Program
from mercer.targets import Real

__all__ = ["MultipleKernelRegressor"]
__public__ = __all__


class MultipleKernelRegressor(MultiOutputMixin, RegressorMixin, MultipleKernelMachine):
    r"""Regression with several kernels: their weights are learned together with the machine.

    .. math:: \min_{d \in D} \min_{f_t, b} \; C \sum_i w_i \, \psi\Bigl(y_i - \sum_t f_t(x_i) - b\Bigr)
              + \tfrac12 \sum_t \|f_t\|^2 / d_t

    Seed: [KIKS] Section 6.2, where regression is one of the problems that the same weights are learned for.

    Parameters
    ----------
    kernels : list of Kernel, dict of str to Kernel, Kernel, or None, default None
        As in `MultipleKernelClassifier`.
    C : float, default 1.0
        Cost of an error of size one. Positive.
    mixture : Mixture, optional
        As in `MultipleKernelClassifier`.
    machine : {"epsilon_insensitive", "squared", "huber"}, default "epsilon_insensitive"
        What an error costs: nothing inside a tube and its distance from it outside, half its square, or half its square
        up to ``epsilon`` and linearly beyond.
    epsilon : float, default 0.1
        Half-width of the tube, or the error from which the cost is linear, in the unit of y. Not read by "squared".
    normalization : {None, "trace", "variance", "cosine"}, default None
        As in `MultipleKernelClassifier`.
    tol : float, default 1e-3
        Duality gap of the whole problem, relative to its minimum.
    gram, solver, memory, max_time, n_threads : optional
        As in `MultipleKernelClassifier`.

    Attributes
    ----------
    weights_, weights_std_, noise_, kernel_names_, support_kernels_, scales_, kernel_, contributions_, squares_
        As in `MultipleKernelClassifier`.
    support_, support_vectors_, dual_coef_, intercept_, expansion_, solution_, n_iter_
        As in `SVR` and `MultipleKernelClassifier`.

    Notes
    -----
    A sample of weight w counts as w copies. Several outputs have the same weights of the kernels. Nothing in the fit is
    random.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MultipleKernelRegressor
    >>> from mercer.kernels import Gaussian, Linear
    >>> X = np.linspace(0.0, 6.0, 40)[:, None]
    >>> kernels = {"line": Linear(), "wave": Gaussian(1.0)}
    >>> model = MultipleKernelRegressor(kernels, 100.0, normalization="variance").fit(X, np.sin(2.0 * X[:, 0]))
    >>> bool(model.weights_[1] > 0.9)
    True
    """

    target = Real()
    constraints = {
        "C": Positive(),
        "machine": OneOf("epsilon_insensitive", "squared", "huber"),
        "epsilon": Interval(0.0, np.inf, closed="left"),
    }

    def __init__(
        self,
        kernels: Any = None,
        C: float = 1.0,
        *,
        mixture: Mixture | None = None,
        machine: str = "epsilon_insensitive",
        epsilon: float = 0.1,
        normalization: str | None = None,
        tol: float = 1e-3,
        gram: GramSpec | None = None,
        solver: Solver | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernels = kernels
        self.C = C
        self.mixture = mixture
        self.machine = machine
        self.epsilon = epsilon
        self.normalization = normalization
        self.tol = tol
        self.gram = gram
        self.solver = solver
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit machine and weights.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) or (n, k) array
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, self.target) as (run, _, _, S, values, w, used):
            built = self._build(S, values, w, run)
            solution = self._search(built, values, w, run)
            several = values.ndim == 2
            coef = solution.coef.reshape(len(S), -1)
            intercept = -solution.multipliers
            if several and solution.coef.ndim == 1:  # one column, as it was given
                solution = dataclasses.replace(solution, coef=coef)
            self._store(built, S, solution, intercept if several else intercept[0], w)
            chosen = self._store_support(coef, used, S)
            self.intercept_, self.dual_coef_ = np.atleast_1d(intercept), coef[chosen].T
            self.fit_status_ = int(self.solution_.status is not Status.CONVERGED)
        return self

    def _problem(self, built: Built, values: Floats, w: Floats) -> MixtureQP:
        """Return the problem of machine and weights."""
        columns = values.reshape(len(values), -1)
        programs = tuple(self._program(column, self.C * w) for column in columns.T)
        return MixtureQP(built.grams, self._weight_set(built, columns, w), programs)

    def _observed(self, values: Floats) -> tuple[Floats, bool]:
        return (values, False) if values.ndim == 1 else super()._observed(values)

    def _of_the_machine(self) -> dict[str, Any]:
        usual = {"C": 1.0, "machine": "epsilon_insensitive", "epsilon": 0.1}
        return {**super()._of_the_machine(), **usual}

    def _program(self, y: Floats, costs: Floats) -> Program:
        if self.machine == "squared":
            loss: Any = Squared()
        elif self.epsilon == 0.0:
            loss = Absolute()
        else:
            loss = Huber(self.epsilon) if self.machine == "huber" else EpsilonInsensitive(self.epsilon)
        dual = loss.box_dual(y, costs)
        return Program(dual.linear, dual.lower, dual.upper, ridge=dual.ridge, index=dual.index)

    def predict(self, X: Any) -> Floats:
        """Return the function at new data, shape (q,) or (q, k)."""
        values = self._evaluate(X)
        return self.target_.decode(values)
