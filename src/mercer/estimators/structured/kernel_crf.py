"""Conditional random fields with kernels: probabilities of outputs with structure."""

from __future__ import annotations

import functools
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Floats, Indices
from mercer.constraints import Integer, OneOf, Optional, Positive
from mercer.errors import CapabilityError, ParameterError, warn_caller
from mercer.estimators.estimator import unwatched
from mercer.estimators.fits import Run
from mercer.estimators.offered import offered_if
from mercer.estimators.structured.class_spaces import ClassLabels
from mercer.estimators.structured.conditional_risk import conditional_risk, observed
from mercer.estimators.structured.greedy_sites import carried
from mercer.estimators.structured.label_sequences import LabelSequences
from mercer.estimators.structured.output_space import FiniteSpace
from mercer.estimators.structured.structured_machine import Outputs, StructuredRisk
from mercer.gram import Gram, GramSpec, HasFactor
from mercer.gram.gram import has_features
from mercer.problems import Solution, Status
from mercer.runtime.tiling import serial_blas
from mercer.solvers.smooth.functional_descent import Descent, descend
from mercer.solvers.smooth.iterative_scaling import scale_iteratively

__all__ = ["KernelCRF"]
__public__ = __all__


def _places(sites: Indices, data: Outputs) -> Indices:
    """Return the sample, among all that were given, and the position of each site."""
    owner = np.searchsorted(data.offsets, sites, side="right") - 1
    return np.column_stack([data.used[owner], sites - data.offsets[owner]])


def _gives_probabilities(estimator: Any) -> bool:
    if isinstance(estimator._space(), FiniteSpace):
        return True
    raise AttributeError(
        f"KernelCRF has no predict_proba with outputs={estimator.outputs!r}, whose outputs are too many to list; it "
        "exists for ClassLabels and OrderedClasses. Use marginals, log_probability or k_best."
    )


class KernelCRF(StructuredRisk):
    r"""Conditional random field: the probability of each output given the sample, with functions of a kernel.

    .. math:: p(y \mid x) = e^{f(x, y) - g(x)}, \qquad
        \min_f \; \tfrac12 \|f\|^2 - C \sum_i \log p(y_i \mid x_i)

    or, with ``loss="exponential"``, :math:`C \sum_i \sum_{y \ne y_i} e^{f(x_i, y) - f(x_i, y_i)}` in place of the
    log-likelihood. With one site and `ClassLabels` it is kernel logistic regression of several classes without a
    bias; with `LabelSequences` a chain, whose sums are found by forward and backward recursions.

    Seed: [HSS] Eqs. (103)-(105), Section 4.1.4, and Corollary 24, Eq. (118): one coefficient for each position and
    function, not one for each output, and the remark after it on choosing few of them by the gradient. [HSS] Eq. (115)
    is this objective with its signs corrected, Eq. (109) the exponential risk, whose printed exponent has the other
    sign.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        On samples, or on the positions of sequences. None is the Gaussian at the median distance.
    C : float, default 1.0
        Of the log-likelihood; lambda = 1 / (n C).
    outputs : OutputSpace, optional
        What is predicted; None is `ClassLabels()`. It must have sums over all outputs.
    loss : {"log", "exponential"}, default "log"
        The exponential risk is 1 / p(y_i | x_i) - 1 of each sample: it gives more weight to those that are furthest
        off. For short sequences only, since it begins at the number of outputs.
    method : {"lbfgs", "conjugate_gradient", "iterative_scaling"}, default "lbfgs"
        The first two in the inner product of the Hilbert space, that is, preconditioned by K. Improved iterative
        scaling is for explicit features that are not negative, with `ClassLabels` or `LabelSequences` and the
        log-likelihood: each weight has an equation of its own, and many steps are needed. All reach the same optimum.
    max_sites : int, optional
        Largest number of samples, or positions of sequences, that carry the functions: those along which the objective
        falls fastest are added, some at a time, and the functions on them are fitted again. None keeps all.
    tol : float, default 1e-8
        The method stops when the norm of the gradient in the space, relative to that at zero, is below this.
    max_iter : int, default 1000
        Largest number of iterations.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held; only products with it are needed. None chooses by `Auto`.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`. When time runs out, the function so far is kept, with a warning.

    Attributes
    ----------
    target_ : OutputSpace
    classes_ : array
        The labels, where the space has them.
    expansion_ : Expansion or FeatureExpansion
        The functions, one column each.
    weights_ : (G,) array
        Weights of the output's own features, such as pairs of labels.
    objective_, gap_ : float
        The objective, and how far it is above the minimum over all functions at most, even with few sites.
    sites_ : (m, 2) array of int
        With `max_sites`, the sample and the position of each site, in the order in which they were taken.
    n_iter_ : int
    objectives_ : (n_iter_,) array
        The objective, iteration by iteration; with `max_sites`, of the last minimisation.

    Notes
    -----
    An iteration costs one product with K and a few sums over all outputs; with `max_sites` m, the product is with an
    (N, m) factor, and K itself is multiplied 21 times at most. A sample of weight w counts as w copies.

    Examples
    --------
    >>> from mercer import KernelCRF, LabelSequences
    >>> from mercer.kernels import Linear
    >>> X, y = [np.eye(2)[[0, 1, 0]], np.eye(2)[[1, 1]]], [["a", "b", "a"], ["b", "b"]]
    >>> model = KernelCRF(Linear(), C=10.0, outputs=LabelSequences()).fit(X, y)
    >>> model.marginals([np.eye(2)[[1, 0]]])[0].round(1)
    array([[0. , 1. ],
           [0.9, 0.1]])
    """

    products_suffice = True
    synonyms = ("CRF", "conditional random field", "kernel conditional random field")
    constraints = {
        "C": Positive(),
        "loss": OneOf("log", "exponential"),
        "method": OneOf("lbfgs", "conjugate_gradient", "iterative_scaling"),
        "tol": Positive(),
        "max_sites": Optional(Integer(1)),
        "max_iter": Integer(1),
    }

    def __init__(
        self,
        kernel: Any = None,
        C: float = 1.0,
        *,
        outputs: Any = None,
        loss: str = "log",
        method: str = "lbfgs",
        max_sites: int | None = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.outputs = outputs
        self.loss = loss
        self.method = method
        self.max_sites = max_sites
        self.tol = tol
        self.max_iter = max_iter
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _find(self, K: Gram, data: Outputs, run: Run) -> None:
        space = self.target_
        space.sums(np.zeros((1, space.width)), np.zeros(space.extras))  # or an error says that there are none
        risk = conditional_risk(data, float(self.C), exponential=self.loss == "exponential")
        unwatched(K)
        with run.stage("descent", 1.0), serial_blas():
            minimise = functools.partial(self._minimise, risk, run)
            count = K.shape[0] if self.max_sites is None else int(self.max_sites)
            if self.method == "iterative_scaling":
                found = self._scaled(K, data, risk, run)
                gap = found.gap
            elif count >= K.shape[0]:
                found = minimise(K, float(self.tol))
                gap = found.gap
            else:
                self._require_exact(K)
                few = carried(K, risk, space.width, space.extras, count, minimise, float(self.tol))
                K, found, gap = few.gram, few.descent, few.gap
                self.sites_ = _places(few.sites, data)
        if found.status is not Status.CONVERGED:
            warn_caller(
                f"KernelCRF stopped after {len(found.rows)} iterations with an objective that is at most {gap:.3g} "
                f"above its minimum. {found.status.value}",
                ConvergenceWarning,
            )
        B = found.function.B
        solution = Solution(B, Status.CONVERGED, 0.0, weights=B if isinstance(K, HasFactor) else None)
        self.expansion_, self.weights_ = K.expand(solution), found.function.w
        self.objective_, self.gap_, self.n_iter_ = float(found.objective), float(gap), len(found.rows)
        self.objectives_ = np.array([row[0] for row in found.rows])

    def _minimise(self, risk: Any, run: Run, K: Any, tol: float) -> Descent:
        monitor = run.solver_monitor(tol) if run.watched else None
        space, by_weights = self.target_, isinstance(K, HasFactor)
        return descend(K, risk, space.width, space.extras, self.method, tol, self.max_iter, monitor, weights=by_weights)

    def _scaled(self, K: Any, data: Outputs, risk: Any, run: Run) -> Descent:
        """Minimise by improved iterative scaling."""
        space, plain = self.target_, self.max_sites is None and self.loss == "log"
        spaced = isinstance(space, (ClassLabels, LabelSequences))
        if not (plain and spaced and has_features(self.gram_) and K.matrix.min() >= 0.0):
            raise CapabilityError(
                f"method='iterative_scaling' was given with kernel={self.kernel_!r:.100}, gram={self.gram_!r}, "
                f"outputs={self.outputs!r:.100}, loss={self.loss!r} and max_sites={self.max_sites}; it needs features "
                "that are not negative, held by gram=Features(), classes or sequences of labels, loss='log' and all "
                "sites. Use method='lbfgs'."
            )
        psi, g, owner = observed(data)
        cost = float(self.C) * data.weight
        sums = np.asarray(K.matrix.sum(axis=1)).ravel() * psi.sum(axis=1)  # whatever the labels are
        largest = float(np.max(np.bincount(owner, sums, len(cost)) + g.sum(axis=1)))
        seen = K.moment(cost[owner, None] * psi), cost @ g
        monitor = run.solver_monitor(float(self.tol)) if run.watched else None
        return scale_iteratively(K, risk, seen, max(largest, 1.0), float(self.tol), self.max_iter, monitor)

    def _require_exact(self, K: Gram) -> None:
        if not self.gram_.exact:
            raise CapabilityError(
                f"max_sites={self.max_sites} and gram={self.gram_!r} were given; either says how few samples carry the "
                "functions. Leave one out."
            )

    @offered_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, (m, c), in the order of ``classes_``."""
        F = self._values(X)[0]
        space: Any = self.target_
        return space.probabilities(F, self.weights_)[0]

    @offered_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def marginals(self, X: Any) -> list[Floats]:
        """Return the probability of each label at each position, one (T, K) array per sequence.

        Parameters
        ----------
        X : list of sequences
        """
        F, offsets, spaces = self._values(X)
        space: Any = self.target_
        if not hasattr(space, "marginals_of_all"):
            raise CapabilityError(
                f"{type(space).__name__} has no positions; marginals are those of LabelSequences. Use predict_proba."
            )
        return np.split(spaces.marginals_of_all(F, offsets, self.weights_), offsets[1:-1])

    def log_probability(self, X: Any, y: Any) -> Floats:
        """Return log p(y | x) of given outputs, (m,).

        Parameters
        ----------
        X : raw data or packed samples
        y : outputs
        """
        F, offsets, spaces = self._values(X)
        codes, w = self.target_.encode(y), self.weights_
        self._check_lengths(codes, offsets)
        logs, _, _ = spaces.sums_of_all(F, offsets, w, np.ones(len(offsets) - 1))
        own = [spaces[i].score(F[a:b], w, codes[i]) for i, (a, b) in enumerate(pairwise(offsets))]
        return np.array(own) - logs

    def k_best(self, X: Any, k: int) -> list[list[tuple[Any, float]]]:
        """Return the k most probable sequences of labels of each sample, with the logarithms of their probabilities.

        Parameters
        ----------
        X : list of sequences
        k : int
        """
        F, offsets, spaces = self._values(X)
        space: Any = self.target_
        if not hasattr(space, "k_best") or not isinstance(k, int) or k < 1:
            raise ParameterError(
                f"k_best was asked for k={k!r} of {type(space).__name__}; a positive integer and LabelSequences are "
                "accepted. Use predict_proba for classes."
            )
        found = []
        for i, (a, b) in enumerate(pairwise(offsets)):
            space = spaces[i]
            g = space.sums(F[a:b], self.weights_).log_partition
            outputs = space.k_best(F[a:b], self.weights_, k)
            found.append([(space.decode([y])[0], space.score(F[a:b], self.weights_, y) - g) for y in outputs])
        return found
