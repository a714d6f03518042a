"""Classification with several kernels, whose weights are learned with the machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array, Floats, Indices
from mercer.constraints import AnyOf, InstanceOf, OneOf, Optional, Positive
from mercer.errors import CapabilityError, ParameterError
from mercer.estimators.fits import fitting
from mercer.estimators.mixtures.kernel_family import Built
from mercer.estimators.mixtures.multiple_kernel import MultipleKernelMachine
from mercer.gram import GramSpec
from mercer.losses import Hinge, Squared, SquaredHinge
from mercer.mixtures import Mixture
from mercer.problems import Status
from mercer.solvers import Solver
from mercer.solvers.mixtures.mixture_problem import MixtureMulticlass, MixtureQP, Program
from mercer.targets import Multiclass
from mercer.targets.target import class_weights

__all__ = ["MultipleKernelClassifier"]
__public__ = __all__

_MACHINES = {"hinge": Hinge(), "squared_hinge": SquaredHinge(), "squared": Squared()}


class MultipleKernelClassifier(ClassifierMixin, MultipleKernelMachine):
    r"""Classifier with several kernels: their weights are learned together with the machine.

    .. math:: \min_{d \in D} \min_{f_t, b} \; C \sum_i w_i \, \psi\Bigl(y_i, \sum_t f_t(x_i) + b\Bigr)
              + \tfrac12 \sum_t \|f_t\|^2 / d_t

    Seed: [STS] Section 7, Eq. (89); [KIKS] Section 6.2, Problems 2 and 3; several classes together after Zien and Ong
    (2007), which both name.

    Parameters
    ----------
    kernels : list of Kernel, dict of str to Kernel, Kernel, or None, default None
        k_1, ..., k_m, of any domains; kernels of columns of a table by ``.on(columns)``; of a sum its terms. None is
        five Gaussian kernels around the median distance between training samples.
    C : float, default 1.0
        Cost of an error of size one. Positive.
    mixture : Mixture, optional
        What the weights may be: `Simplex()` (None), `LpBall(p)`, `ElasticNet(theta)`, `Average()`, `Alignment()`,
        `Given(weights)`; or `HierarchicalBayes()`, a model of two classes without a machine and C.
    machine : {"hinge", "squared_hinge", "squared"}, default "hinge"
        What an error costs: a support vector machine, one with squared slacks, or least squares.
    normalization : {None, "trace", "variance", "cosine"}, default None
        What makes kernels comparable, learned from training samples and part of the model: a mean of k(x, x) of one, a
        variance of one in feature space, or k(x, x) = 1 for each sample. Very unequal scales without it are warned
        of.
    multi_class : {"ovr", "together"}, default "ovr"
        More than two classes: each against the rest, with the same weights of the kernels, or all in one program
        without a bias, for ``machine="hinge"``.
    class_weight : dict or "balanced", optional
        Factors of the weights of classes.
    tol : float, default 1e-3
        Duality gap of the whole problem, relative to its minimum.
    gram : GramSpec, optional
        How each K_t is held. None holds all as arrays where they fit into half of the memory, in float32 where they
        fit then, else in tiles. A Gram of low rank holds factors.
    solver : Solver, optional
        None is `MixtureNewton`, or `MixtureTurns` for sets other than the simplex. Others that find the same optimum:
        `ConeProgram`, `SemiInfinite`, `ReducedGradient`, `SmoothedSMO`.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    weights_ : (m,) array
        d, in the order of ``kernel_names_``.
    kernel_names_, support_kernels_ : tuples of str
        All kernels, and those with a weight.
    weights_std_ : (m,) array
        Standard deviations of the weights, and the noise's variance ``noise_``; only of `HierarchicalBayes`.
    scales_ : (m,) array
        What normalisation multiplied each kernel by.
    kernel_ : Kernel
        The weighted sum, an ordinary kernel for any other learner.
    contributions_ : (m,) array
        Each kernel's share of the variance of the decision function over the training samples; they sum to one.
    squares_ : (m,) array
        N_t^2 = beta^T K_t beta: for `Simplex` equal on the support, and nowhere larger.
    objective_ : float
    classes_, class_weight_ : (c,) arrays
    support_, support_vectors_, n_support_, dual_coef_, intercept_
        As in `SVC`; a row of ``dual_coef_`` for each function.
    expansion_ : Expansion
        The decision function or functions.
    solution_ : Solution
        Status, relative duality gap (``residual``) and absolute one (``gap``) of the whole problem.
    n_iter_ : int
        Changes of the weights.

    Notes
    -----
    A sample of weight w counts as w copies. Nothing in the fit is random. The average of well chosen kernels is often
    as good; ``mixture=Average()`` tells.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MultipleKernelClassifier
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> kernels = {"first": Gaussian(1.0).on(0), "second": Gaussian(1.0).on(1)}
    >>> model = MultipleKernelClassifier(kernels).fit(X, X[:, 0] > 0)
    >>> model.support_kernels_
    ('first',)
    """

    target = Multiclass()
    constraints = {
        "C": Positive(),
        "machine": OneOf(*_MACHINES),
        "multi_class": OneOf("ovr", "together"),
        "class_weight": Optional(AnyOf(OneOf("balanced"), InstanceOf(dict))),
    }

    def __init__(
        self,
        kernels: Any = None,
        C: float = 1.0,
        *,
        mixture: Mixture | None = None,
        machine: str = "hinge",
        normalization: str | None = None,
        multi_class: str = "ovr",
        class_weight: Any = None,
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
        self.normalization = normalization
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.tol = tol
        self.gram = gram
        self.solver = solver
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.multi_class == "together" and self.machine != "hinge":
            raise ParameterError(
                f"multi_class='together' was given with machine={self.machine!r}; it is for machine='hinge'. Use "
                "multi_class='ovr'."
            )

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit machine and weights.

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
        with fitting(self, X, y, sample_weight, self.target) as (run, _, _, S, codes, w, used):
            count = len(self.classes_)
            self.class_weight_ = class_weights(self.class_weight, self.classes_, codes, w)
            built = self._build(S, codes, w, run)
            solution = self._search(built, codes, w, run)
            rho = solution.multipliers if len(solution.multipliers) else np.zeros(count)
            intercept = -rho
            self._store(built, S, solution, intercept[0] if count == 2 else intercept, w)
            self._store_classes(solution.coef, intercept, used, S, codes)
        return self

    def _problem(self, built: Built, values: Indices, w: Floats) -> MixtureQP | MixtureMulticlass:
        """Return the problem of machine and weights."""
        count, codes = len(self.classes_), values
        costs = self.C * w * class_weights(self.class_weight, self.classes_, codes, w)[codes]
        signs = _signs(codes, count)
        weights = self._weight_set(built, signs, w)
        if self.multi_class == "together" and count > 2:
            return MixtureMulticlass(built.grams, weights, codes, costs, count)
        return MixtureQP(built.grams, weights, tuple(self._program(sign, costs) for sign in signs.T))

    def _observed(self, values: Indices) -> tuple[Floats, bool]:
        if len(self.classes_) > 2:
            raise CapabilityError(
                f"{len(self.classes_)} classes were given with mixture={self.mixture!r}, which is a model of two. Use "
                "scikit-learn's OneVsRestClassifier around it, or mixture=Simplex()."
            )
        return np.where(values == 1, 1.0, -1.0), True

    def _of_the_machine(self) -> dict[str, Any]:
        return {**super()._of_the_machine(), "C": 1.0, "machine": "hinge", "class_weight": None}

    def _program(self, sign: Floats, costs: Floats) -> Program:
        dual = _MACHINES[self.machine].box_dual(sign, costs)
        return Program(dual.linear, dual.lower, dual.upper, ridge=dual.ridge, index=dual.index)

    def _store_classes(self, coef: Floats, intercept: Floats, used: Indices, S: Any, codes: Indices) -> None:
        chosen = self._store_support(coef, used, S, codes)
        self.intercept_ = np.atleast_1d(np.asarray(intercept, dtype=float))
        self.n_support_ = np.bincount(codes[chosen], minlength=len(self.classes_)).astype(np.int32)
        self.dual_coef_ = np.atleast_2d(coef[chosen].T)
        self.fit_status_ = int(self.solution_.status is not Status.CONVERGED)

    def decision_function(self, X: Any) -> Floats:
        """Return decision values: for two classes shape (q,), positive for the second; else a column per class."""
        return self._evaluate(X)

    def predict(self, X: Any) -> Array:
        """Return the class of new data, shape (q,)."""
        check_is_fitted(self)
        values = self.decision_function(X)
        best = (values > 0).astype(np.intp) if values.ndim == 1 else np.argmax(values, axis=1)
        return self.classes_[best]


def _signs(codes: Indices, count: int) -> Floats:
    """Return +1 and -1 for each sample, a column for each problem: one for two classes, else one for each class."""
    if count == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    return np.where(codes[:, None] == np.arange(count), 1.0, -1.0)
