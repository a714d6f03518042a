"""Common to margin classifiers: two-class programs, several classes, probabilities, scikit-learn's attributes.

Symbols: y_i = +-1 the class of a sample in a two-class problem, beta_i = y_i alpha_i, w_i sample weights, b the bias.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.callback import with_callbacks

from mercer import selection, solvers  # whose names are imported when they are used
from mercer.arrays import Array, Floats, Indices
from mercer.constraints import AnyOf, Boolean, InstanceOf, OneOf, Optional
from mercer.errors import CapabilityError, NotPositiveDefinite, ParameterError
from mercer.estimators.certificates.certified import Certified
from mercer.estimators.estimator import require_fitted
from mercer.estimators.fits import Run, fitting
from mercer.estimators.offered import offered_if, require_fitted_with
from mercer.estimators.svm.support import SupportVectorMachine, in_one_thread
from mercer.gram import Gram
from mercer.problems import BoxQP, ConvexRisk, MulticlassQP, Solution, Status
from mercer.solvers import Solver
from mercer.targets import Multiclass
from mercer.targets.target import Reduction, class_weights

__all__ = ["Part", "SupportVectorClassifier"]

_FOLDS = 5  # of machines whose kernel is indefinite
_SCHEMES = ("ovo", "ovr", "crammer_singer", "dense", "sparse", "exhaustive")


@dataclasses.dataclass(frozen=True, eq=False)
class Part:
    """One two-class problem of a classifier and its solution."""

    index: Indices  # its samples among those that count
    sign: Floats  # +1 or -1
    weight: Floats  # with those of the classes
    count: Floats  # sample weights alone
    problem: Any  # BoxQP, or the risk of which that is the dual
    solution: Solution | None = None

    def product(self) -> Floats:
        """Return K beta; not every solver keeps it."""
        assert self.solution is not None
        found = self.solution.state
        return found if isinstance(found, np.ndarray) else self.problem.gram @ self.solution.coef


def _gives_probabilities(estimator: Any) -> bool:
    if estimator.probability:
        return True
    raise AttributeError(
        f"{type(estimator).__name__} has no predict_proba with probability={estimator.probability!r}; it exists with "
        f"probability=True. Make the estimator as {type(estimator).__name__}(..., probability=True), and fit it."
    )


class SupportVectorClassifier(Certified, ClassifierMixin, SupportVectorMachine):
    """Base of the kernel classifiers with a margin; a subclass writes the two-class program and reads its bias."""

    multi_class: Any
    class_weight: Any
    probability: bool
    decision_function_shape: str
    break_ties: bool
    unit_margin: ClassVar[bool] = False  # whether the margin is at decision values of 1 and -1
    constraints = {
        "multi_class": AnyOf(OneOf(*_SCHEMES), InstanceOf(np.ndarray, list, tuple)),
        "class_weight": Optional(AnyOf(OneOf("balanced"), InstanceOf(dict))),
        "probability": Boolean(),
        "decision_function_shape": OneOf("ovr", "ovo"),
        "break_ties": Boolean(),
    }

    # what a subclass writes ---------------------------------------------------------------------------

    @abstractmethod
    def _program(self, K: Gram, sign: Floats, weight: Floats) -> BoxQP | ConvexRisk:
        """Return the dual of a two-class problem, or the problem itself."""

    @abstractmethod
    def _function(self, part: Part) -> tuple[Floats, float]:
        """Return coefficients and bias of the decision function from a solved problem."""

    # fit ----------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ParameterError(
                "break_ties=True was given with decision_function_shape='ovo'; break_ties must be False there, since "
                "ties are broken by the values per class. Use decision_function_shape='ovr'."
            )

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the classifier.

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
        with fitting(self, X, y, sample_weight, Multiclass()) as (run, kernel, _, S, codes, w, used):
            count = len(self.classes_)
            self.class_weight_ = class_weights(self.class_weight, self.classes_, codes, w)
            self.kernel_ = self._learned_kernel(kernel, S, codes, w)  # what a class costs is no matter of similarity
            counts, w = w, w * self.class_weight_[codes]
            K = self._represent(self.kernel_, S, run, until=0.2)
            if self._is_together() and count > 2:
                coef, self.intercept_ = self._fit_together(K, codes, w, run)
            else:
                coef, self.intercept_ = self._fit_parts(K, codes, (w, counts), run)
            self._store(K, coef, codes, used, S)
        return self

    def _fit_parts(self, K: Gram, codes: Indices, weights: tuple[Floats, Floats], run: Run) -> tuple[Floats, Any]:
        """Solve one two-class problem for each column of the code of the classes."""
        w, counts = weights
        count = len(self.classes_)
        self.reduction_ = Reduction.of(self.multi_class, count)
        sets = self.reduction_.problems(codes)
        whole_set = len(sets) == 1
        parts = []
        for index, sign in sets:
            part = K if whole_set or len(index) == len(codes) else K.take(index)
            if not whole_set:
                part = in_one_thread(part, self.memory)
            parts.append(Part(index, sign, w[index], counts[index], self._program(part, sign, w[index])))
        solutions = self._solve_all([part.problem for part in parts], run)
        parts = [dataclasses.replace(part, solution=s) for part, s in zip(parts, solutions, strict=True)]
        coef = np.zeros((len(codes), len(parts)))
        intercept = np.zeros(len(parts))
        for column, part in enumerate(parts):
            coef[part.index, column], intercept[column] = self._function(part)
        found = [s.weights for s in solutions if s.weights is not None]  # of a factor: they have more correct digits
        self._weights = np.column_stack(found) if len(found) == len(solutions) else None
        self.n_iter_ = np.array([s.details.get("pairs moved", len(s.trace)) for s in solutions], dtype=np.int32)
        self._describe(parts)
        if self.probability:
            with run.stage("probabilities", 1.0):
                self.sigmoids_ = [self._calibrated(part) for part in parts]
        return (coef[:, 0], intercept[0]) if count == 2 else (coef, intercept)

    def _fit_together(self, K: Gram, codes: Indices, w: Floats, run: Run) -> tuple[Floats, Any]:
        """Solve for all classes at once, [HSS] Section 4.1.5; there is no bias."""
        if getattr(self, "loss", None) != "hinge" or self.probability:
            raise ParameterError(
                f"multi_class='crammer_singer' was given with {self!r}; it is for SVC with loss='hinge' and "
                "probability=False. Use multi_class='ovo'."
            )
        if self.kernel_.order != 0:
            raise CapabilityError(
                f"multi_class='crammer_singer' was given with {self.kernel_!r}, which is not positive definite; "
                "without a bias the kernel must be. Use multi_class='ovo'."
            )
        problem = MulticlassQP(K, codes, getattr(self, "C") * w, len(self.classes_))  # noqa: B009  (SVC has it)
        solution = self._solve(problem, run)
        self.reduction_ = Reduction.of("ovr", len(self.classes_))
        self.n_iter_ = np.array([len(solution.trace)], dtype=np.int32)
        return solution.coef, np.zeros(len(self.classes_))

    def _default_solver(self, gram: Gram) -> Solver:
        if self._is_together() and len(self.classes_) > 2:
            return solvers.SequentialDual(self.tol, None if self.max_iter in (None, -1) else self.max_iter)
        return super()._default_solver(gram)

    def _is_together(self) -> bool:
        return isinstance(self.multi_class, str) and self.multi_class == "crammer_singer"

    def _describe(self, parts: list[Part]) -> None:
        """Keep what a machine knows of its solution besides the function."""

    def _store(self, K: Gram, coef: Floats, codes: Indices, used: Indices, S: Any) -> None:
        """Keep the expansion and what scikit-learn's users look for."""
        weights = getattr(self, "_weights", None)
        self._weights = None
        if weights is not None and coef.ndim == 1:
            weights = weights[:, 0]
        self.expansion_ = K.expand(Solution(coef, Status.CONVERGED, 0.0, weights=weights), self.intercept_)
        self.intercept_ = np.atleast_1d(np.asarray(self.intercept_, dtype=float))
        self._store_support(coef, used, S, codes)
        chosen = self._chosen
        self.n_support_ = np.bincount(codes[chosen], minlength=len(self.classes_)).astype(np.int32)
        self.dual_coef_ = self.reduction_.dual_coef(coef[chosen], codes[chosen])
        self.fit_status_ = int(self.solution_.status is not Status.CONVERGED)
        del self._chosen

    def _calibrated(self, part: Part) -> Any:
        """Return the sigmoid on decision values of samples by machines that have not seen them."""
        try:
            # Without a sample an indefinite program may have its solution anywhere else: rounding would decide.
            values = self._in_turn(part) if self._is_indefinite() else self._left_out(part)
        except NotPositiveDefinite:  # similarities that were said to be definite
            values = self._in_turn(part)
        prior = 1.0 / (len(self.classes_) - 1) if self.reduction_.votes else 1.0
        return selection.fit_sigmoid(values, part.sign, part.weight, prior)

    def _is_indefinite(self) -> bool:
        return self.kernel_.order is None and getattr(self, "repair_", None) is None

    def _in_turn(self, part: Part) -> Floats:
        """Return the decision value of each sample by a machine that is refitted without its fold."""
        n, K = len(part.sign), part.problem.gram
        fold = np.empty(n, dtype=np.intp)
        for sign in (-1.0, 1.0):
            members = np.flatnonzero(part.sign == sign)
            fold[members] = np.arange(len(members)) % _FOLDS
        values = np.zeros(n)
        for one in range(int(fold.max()) + 1):
            held, rest = np.flatnonzero(fold == one), np.flatnonzero(fold != one)
            signs = np.unique(part.sign[rest])
            if len(signs) < 2:  # of one class nothing is known but its name
                values[held] = signs.sum()
                continue
            gram = in_one_thread(K.take(rest), self.memory)
            program: Any = self._program(gram, part.sign[rest], part.weight[rest])
            found = self.solver_.solve(program)
            coef, bias = self._function(
                Part(rest, part.sign[rest], part.weight[rest], part.count[rest], program, found)
            )
            values[held] = np.asarray(K.rows(held, rest), dtype=float) @ coef + bias
        return values

    def _left_out(self, part: Part) -> Floats:
        """Return the decision value of each sample by the machine without it, exactly, from the one with all."""
        assert part.solution is not None
        coef, bias = self._function(part)
        size = float(np.abs(part.solution.coef).max(initial=0.0))
        scale = float(np.abs(coef).max()) / size if size else 1.0  # nu-machines have their margin at 1 only after it
        problem = part.problem
        width = problem.upper - problem.lower
        return selection.leave_one_out_decisions(
            problem.gram,
            coef,
            scale * problem.lower,
            scale * problem.upper,
            scale * part.product() + bias,
            np.asarray(problem.ridge) / scale,
            left_out=scale * width / part.count if np.isfinite(width).all() else None,  # one copy of each
        )

    def _left_out_predictions(self, X: Any, y: Any) -> Array | None:
        """Return the class of each sample by the machine of two classes without it; None for more classes."""
        if len(self.classes_) != 2 or self._is_indefinite() or "probability" not in self.get_params(deep=False):
            return None
        parts: list[Part] = []
        other: Any = clone(self)
        other.set_params(probability=False)
        vars(other)["_describe"] = parts.extend  # fit does not keep its programs
        other.fit(X, y)
        if not isinstance(parts[0].problem, BoxQP):
            return None
        return self.classes_[(other._left_out(parts[0]) > 0).astype(np.intp)]

    # use ----------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """Return decision values.

        For two classes shape (m,), positive for the second. For more, one column per class, larger where the class is
        more likely; with ``decision_function_shape="ovo"`` one per pair of classes, positive for the first of it.
        """
        values = self._evaluate(X)
        if values.ndim == 1 or self.decision_function_shape == "ovo":
            return values
        return self.reduction_.confidences(values)

    def predict(self, X: Any) -> Array:
        """Return the class of new data, shape (m,)."""
        require_fitted(self)
        if len(self.classes_) == 2:
            return self.classes_[(self._quick_values(X) > 0).astype(np.intp)]
        if self.break_ties:
            return self.classes_[np.argmax(self.decision_function(X), axis=1)]
        values = self._quick_values(X) if self.reduction_.votes else self._evaluate(X)
        return self.classes_[self.reduction_.decode(values)]

    @offered_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, shape (m, c); only after fit with ``probability=True``."""
        require_fitted_with(self, "probability=True", "sigmoids_")
        return self._probabilities(self._evaluate(X))

    def _probabilities(self, values: Floats) -> Floats:
        """Return the probability of each class at decision values of all problems."""
        if values.ndim == 1:
            p = self.sigmoids_[0](values)
            return np.column_stack([1.0 - p, p])
        P = np.column_stack([sigmoid(column) for sigmoid, column in zip(self.sigmoids_, values.T, strict=True)])
        if self.reduction_.votes:
            return selection.couple(P)
        if self.reduction_.kind == "ovr":
            return selection.normalize(P)
        return selection.normalize(self.reduction_.likelihoods(P))

    @offered_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
