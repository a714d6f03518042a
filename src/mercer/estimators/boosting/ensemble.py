"""What boosted classifiers and regressors share: samples, weak learners, votes and stages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from mercer import theory  # whose names are imported when they are used
from mercer.arrays import Array, Floats, Indices
from mercer.budget import Plan
from mercer.constraints import Integer, Interval, Optional
from mercer.domains import Samples, Vectors
from mercer.errors import warn_caller
from mercer.estimators.boosting.weak_learners import (
    AnyLearner,
    Fitted,
    FittedBalls,
    KernelBalls,
    Search,
    Stumps,
    WeakLearner,
    as_learner,
    narrowed_to,
    numbers_of,
)
from mercer.estimators.certificates.certified_sums import CertifiedSum, Summands, refused
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.fits import Run
from mercer.gram import Features
from mercer.kernels import Kernel
from mercer.problems import Status

__all__ = ["Boosted", "BoostedClassifier", "Ensemble", "Merged"]
__saved__ = ["Ensemble"]


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Weak learners and their votes.

    Attributes
    ----------
    members : Fitted
        k weak learners.
    weights : (k,) array
        Their votes.
    intercept : float
    stages : (k, q) array
        Their votes after each round.
    intercepts : (q,) array
    """

    members: Fitted
    weights: Floats
    intercept: float
    stages: Floats
    intercepts: Floats


@dataclass(frozen=True, eq=False)
class Merged:
    """Training samples of which no two are equal and have equal targets, in an order of their own."""

    samples: Samples
    values: Floats
    weight: Floats
    group: Indices  # of each sample that was given

    @classmethod
    def of(cls, S: Samples, values: Floats, w: Floats) -> Merged:
        """Merge vectors, so that a weight is the same as repetition; samples of other domains are left alone."""
        if not isinstance(S, Vectors):
            return cls(S, values, w, np.arange(len(S)))
        X = numbers_of(S)
        _, first, group = np.unique(
            np.column_stack([X, values]), axis=0, return_index=True, return_inverse=True
        )  # fmt: skip
        group = np.asarray(group).reshape(-1)
        merged = Vectors(np.ascontiguousarray(X[first]), S.names)
        return cls(merged, values[first], np.asarray(np.bincount(group, weights=w), dtype=float), group)

    def spread(self, r: Floats, w: Floats) -> Floats:
        """Return numbers of merged samples divided among those that were given, by their weights."""
        return (r / self.weight)[self.group] * w


class Boosted(CertifiedSum, KernelEstimator):
    """Base of boosted estimators; a subclass states the programs of its outputs."""

    learner: Any
    ensembles_: tuple[Ensemble, ...]
    tol: float
    max_iter: int
    # No Gram matrix is held here; weak learners may hold some.
    gram: ClassVar[Features] = Features()  # pyright: ignore[reportIncompatibleVariableOverride]
    constraints = {
        "learner": AnyLearner(),
        "tol": Interval(0.0, 1.0, closed="neither"),
        "max_iter": Integer(1),
        "nu": Optional(Interval(0.0, 1.0, closed="right")),
    }

    @property
    def kernel(self) -> Kernel:  # pyright: ignore[reportIncompatibleVariableOverride, reportIncompatibleUnannotatedOverride]
        """What packs the samples: the kernel of the weak learners, or a linear one for numbers."""
        return as_learner(self.learner).reads

    def _check_parameters(self) -> None:
        super()._check_parameters()
        as_learner(self.learner).check()

    def _search(self, S: Samples, w: Floats, run: Run) -> Search:
        """Prepare the weak learners, and remember how they read samples."""
        self.kernel_: Any = self.kernel
        with run.stage("weak learners", 0.2):
            return as_learner(self.learner).search(S, w, run.resources())

    def _ensemble(
        self, search: Search, marks: list[Any], weights: Floats, beside: float, stages: list[Any]
    ) -> Ensemble:
        """Return weak learners with their votes, without those that never have one."""
        table = np.zeros((len(marks), len(stages)))
        for q, (a, _) in enumerate(stages):
            table[: len(a), q] = a
        used = np.flatnonzero((weights != 0.0) | table.any(axis=1))
        intercepts = np.array([float(shift) for _, shift in stages])
        members = search.keep([marks[j] for j in used])
        return Ensemble(members, weights[used], float(beside), table[used], intercepts)

    def _values(self, X: Any) -> Floats:
        """Return the sums of votes at new data, (m, r)."""
        T, resources = self._pack_new(X), self._resources()
        return np.column_stack(
            [e.members.votes(T, e.weights[:, None], resources)[:, 0] + e.intercept for e in self.ensembles_]
        )

    def _staged(self, X: Any) -> list[Floats]:
        """Return the sums of votes after each round, (m, r) each; outputs that have ended stay as they are."""
        T, resources = self._pack_new(X), self._resources()
        found = [e.members.votes(T, e.stages, resources) + e.intercepts for e in self.ensembles_]
        rounds = max(values.shape[1] for values in found)
        return [np.column_stack([v[:, min(q, v.shape[1] - 1)] for v in found]) for q in range(rounds)]

    @property
    def expansions_(self) -> tuple[Any, ...]:
        """The function of each kernel of `KernelBalls`, one output or one per class; their sum and constants decide."""
        members: list[Any] = [e.members for e in self.ensembles_]
        if not all(isinstance(one, FittedBalls) for one in members):
            raise AttributeError(f"{type(self).__name__} has expansions_ with learner=KernelBalls(...) alone.")
        return tuple(tuple(one.combined(e.weights[:, None])) for one, e in zip(members, self.ensembles_, strict=True))

    @property
    def kernel_weights_(self) -> Floats:
        """The norm of the part of each kernel of `KernelBalls` over the sum of all, (r, m): what each contributes."""
        kernels = as_learner(self.learner).members  # pyright: ignore[reportAttributeAccessIssue]
        found = np.zeros((len(self.ensembles_), len(kernels)))
        for row, parts, e in zip(found, self.expansions_, self.ensembles_, strict=True):
            for f, places in zip(parts, e.members.places, strict=True):  # pyright: ignore
                row[e.members.owner[places[0]]] = float(np.asarray(f.norm()).reshape(-1)[0])  # pyright: ignore
        total = found.sum(axis=1, keepdims=True)
        return np.divide(found, total, out=np.zeros_like(found), where=total > 0.0)

    # certificates -------------------------------------------------------------------------------------

    def _summands(self, T: Samples) -> Summands:
        learner = as_learner(self.learner)
        values, b = self._values(T), np.array([e.intercept for e in self.ensembles_])
        offsets, scale = b if hasattr(self, "intercept_") else None, float(getattr(self, "margin_", (1.0,))[0])
        scale = scale if scale > 0.0 else 1.0
        if isinstance(learner, Stumps):
            sizes = np.array([[np.abs(e.weights).sum()] for e in self.ensembles_])
            return Summands(values, sizes, offsets, None, theory.stump_correlation(numbers_of(T)), scale)
        if not isinstance(learner, KernelBalls):
            raise refused(self, f"its weak learners, {learner!r:.100}, are no class that is fixed before the samples")
        kernels, m = learner.members, len(T)
        sizes = np.zeros((len(self.ensembles_), len(kernels) + 1))  # constants are the ball of k = 1
        for row, parts, e in zip(sizes, self.expansions_, self.ensembles_, strict=True):
            members: Any = e.members
            row[-1] = np.abs(members.constants * e.weights).sum()
            for f, places in zip(parts, members.places, strict=True):
                row[members.owner[places[0]]] = float(f.column(0).norm())
        read = [(k, narrowed_to(k, T)) for k in kernels]
        diagonals = [k.learn(part).diag(part) for k, part in read]
        return Summands(values, sizes, offsets, np.array([*diagonals, np.ones(m)], dtype=float), None, scale)

    def _class_assumption(self, candidates: int, T: Samples) -> theory.Assumption:
        text = "the class of weak learners was fixed before the sample was seen"
        learner = as_learner(self.learner)
        if isinstance(learner, KernelBalls):
            if any(kernel.learn(narrowed_to(kernel, T)) != kernel for kernel in learner.members):
                return theory.Assumption(text, False, "fit has learned parameters of kernels from it; give them")
            return theory.Assumption(text, None, "fit has learned nothing in the kernels")
        return theory.Assumption(text, True, "all stumps of all columns")

    def _tell(self, statuses: list[Status], gap: float) -> None:
        """Warn if the tolerance was not reached."""
        worst = next((status for status in statuses if status is not Status.CONVERGED), None)
        if worst is not None:
            warn_caller(
                f"Column generation stopped at a gap of {gap:.3g}: further weak learners can improve the objective by "
                f"that much at most. {worst.value}",
                ConvergenceWarning,
            )

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        learner: WeakLearner = as_learner(self.learner)
        buffers = {"packed samples": 16 * n_samples * n_features, **learner.plan(n_samples, n_features)}
        return Plan(f"{type(self).__name__} on {n_samples} samples", {**buffers, "restricted program": 800 * n_samples})


class BoostedClassifier(ClassifierMixin, Boosted):
    """Base of boosted classifiers: two classes by the sign, more by one sum of votes for each against the rest."""

    def _sides(self, codes: Floats) -> Iterator[tuple[Floats, float]]:
        """Yield the sides -1 and 1 of each two-class problem, and the progress at its end."""
        positive = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        for step, code in enumerate(positive, 1):
            yield np.where(codes == code, 1.0, -1.0), 0.2 + 0.8 * step / len(positive)

    def decision_function(self, X: Any) -> Floats:
        """Return f_c(x), shape (m, c); for two classes one column, shape (m,), positive for the second."""
        values = self._values(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> Array:
        """Return the class with the largest sum of votes, shape (m,)."""
        values = self._values(X)
        return self.classes_[decided(values)]

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Iterate over the decision values after each round."""
        return iter([values[:, 0] if values.shape[1] == 1 else values for values in self._staged(X)])

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Iterate over the predictions after each round."""
        return iter([self.classes_[decided(values)] for values in self._staged(X)])


def decided(values: Floats) -> Indices:
    """Return the numbers of the classes: by the sign of one column, or the largest of several."""
    return (values[:, 0] > 0.0).astype(np.intp) if values.shape[1] == 1 else np.argmax(values, axis=1)
