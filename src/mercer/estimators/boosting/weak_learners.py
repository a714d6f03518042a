r"""Weak learners: the functions that boosting combines, and how the best of them is found.

Symbols: r_i signed weights of the samples, h a weak learner, sum_i r_i h(x_i) its edge. Every family is closed under
negation, so the largest edge is not negative.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from mercer.arrays import Floats, Indices
from mercer.budget import Plan, Resources, budget
from mercer.constraints import Boolean, Constraint, Each, InstanceOf, Integer, Optional
from mercer.domains import Samples, Vectors
from mercer.errors import ParameterError
from mercer.gram import Auto, GramSpec
from mercer.gram.gram import Cross
from mercer.kernels import Gaussian, Kernel, Linear, Selected
from mercer.kernels.kernel import narrowed, overflow_error
from mercer.problems import Solution, Status
from mercer.solvers.columns.generation import Candidates
from mercer.solvers.columns.stump_search import SortedColumns, best_cuts, sort_columns
from mercer.spec import Spec

__all__ = ["AnyLearner", "Fitted", "KernelBalls", "KernelStumps", "Search", "Stumps", "WeakLearner", "as_learner"]
__public__ = ["KernelBalls", "KernelStumps", "Stumps"]
__saved__ = ["FittedBalls", "FittedCuts", "FittedKernelCuts", "FittedOthers"]

_MOST = 8  # weak learners that a round adds; more of them make the restricted programs larger, not the rounds fewer


class Fitted(ABC):
    """Weak learners that were found; they can be evaluated anywhere."""

    @abstractmethod
    def votes(self, T: Samples, A: Floats, resources: Resources) -> Floats:
        """Return the sums sum_j A_jq h_j(x) at new samples, (m, q)."""


class Search(ABC):
    """Looks for weak learners on training samples.

    Attributes
    ----------
    reach : float
        The largest absolute value that one takes on them.
    inward : float
        Where the next are looked for, see `generate`.
    """

    reach: float = 1.0
    inward: ClassVar[float] = 0.0

    @abstractmethod
    def __call__(self, r: Floats) -> Candidates:
        """Return the weak learners of the largest edges; their marks are what `keep` reads."""

    @abstractmethod
    def keep(self, marks: Sequence[Any]) -> Fitted:
        """Return the functions that have these marks."""


class WeakLearner(Spec, ABC):
    """A family of functions for boosting, closed under negation."""

    exact: ClassVar[bool] = True  # whether the best of all is found, so that its edge bounds all others

    @property
    @abstractmethod
    def reads(self) -> Kernel:
        """The kernel that packs the samples."""

    @abstractmethod
    def search(self, S: Samples, w: Floats, resources: Resources) -> Search:
        """Prepare for training samples; equal ones are one, with the sum of their weights."""

    def plan(self, n: int, d: int) -> dict[str, int]:
        """Return the large buffers of a search by name, in bytes."""
        return {}


# thresholds -----------------------------------------------------------------------------------------------------------


class Stumps(WeakLearner):
    r"""Decision stumps: one column, one threshold.

    .. math:: h(x) = \pm \, \mathrm{sign}(x_j - \theta)

    over all columns j and thresholds between different values, and the constant functions. The best one is found in
    one pass over columns that are sorted once.

    Seed: [ST] "Linear programming boosting".

    Notes
    -----
    Cost O(n d log n) once and O(n d) per round; memory 12 n d bytes. Sparse columns are made dense.

    Examples
    --------
    >>> from mercer import LPBoostClassifier, Stumps
    >>> X = [[0.0, 1.0], [1.0, -1.0], [4.0, 1.0], [5.0, -1.0]]
    >>> LPBoostClassifier(Stumps(), nu=0.5).fit(X, ["a", "a", "b", "b"]).predict([[2.0, 0.0], [3.0, 0.0]])
    array(['a', 'b'], dtype='<U1')
    """

    @property
    def reads(self) -> Kernel:
        return Linear()

    def search(self, S: Samples, w: Floats, resources: Resources) -> Search:
        X = numbers_of(S)
        Plan(f"stumps on {len(S)} samples", self.plan(*X.shape)).require(resources.memory)
        return _CutSearch(sort_columns(X), None, None)

    def plan(self, n: int, d: int) -> dict[str, int]:
        return {"sorted columns": 20 * n * d}


class KernelStumps(WeakLearner):
    r"""Kernel stumps: a threshold on the similarity to one training sample, on any domain.

    .. math:: h(x) = \pm \, \mathrm{sign}(k(x, x_j) - \theta)

    over training samples :math:`x_j` and thresholds between different values, and the constant functions.

    Seed: [ST] "Linear programming boosting", with the columns of K as features.

    Parameters
    ----------
    kernel : Kernel, optional
        None is the Gaussian at the median distance, whose stumps are balls and their complements. It need not be
        definite.
    landmarks : int, optional
        How many training samples are compared with, evenly spread over the order in which they are held; None is all.

    Notes
    -----
    Cost O(n l log n) once and O(n l) per round for l landmarks; memory 20 n l bytes.

    Examples
    --------
    >>> from mercer import KernelStumps, LPBoostClassifier
    >>> from mercer.kernels import Spectrum
    >>> words = ["abab", "baba", "ccdc", "dcdc"]
    >>> LPBoostClassifier(KernelStumps(Spectrum(2)), nu=0.5).fit(words, [0, 0, 1, 1]).predict(["abba", "cdcd"])
    array([0, 1])
    """

    constraints = {"kernel": Optional(InstanceOf(Kernel)), "landmarks": Optional(Integer(1))}

    def __init__(self, kernel: Kernel | None = None, landmarks: int | None = None) -> None:
        self.kernel = kernel
        self.landmarks = landmarks

    @property
    def reads(self) -> Kernel:
        return Gaussian("median") if self.kernel is None else self.kernel

    def search(self, S: Samples, w: Floats, resources: Resources) -> Search:
        kernel = self.reads.learn(S, None, w)
        count = min(self.landmarks or len(S), len(S))
        Plan(f"kernel stumps on {len(S)} samples", self.plan(len(S), 1)).require(resources.memory)
        S = kernel.prepare(S)
        near = S.take(np.linspace(0, len(S) - 1, count).astype(np.intp)) if count < len(S) else S
        values = Cross(kernel, S, near, resources.quiet()).to_dense()
        if not np.isfinite(values).all():
            raise overflow_error(kernel)
        return _CutSearch(sort_columns(values), kernel, near)

    def plan(self, n: int, d: int) -> dict[str, int]:
        return {"sorted columns of K": 28 * n * min(self.landmarks or n, n)}


class _CutSearch(Search):
    """Thresholds on columns: numbers of samples, or similarities to some of them."""

    def __init__(self, columns: SortedColumns, kernel: Kernel | None, near: Samples | None) -> None:
        self.columns, self.kernel, self.near = columns, kernel, near

    def __call__(self, r: Floats) -> Candidates:
        cuts = best_cuts(self.columns, r)
        best = np.argsort(-cuts.edges, kind="stable")[:_MOST]
        constant = np.flatnonzero(cuts.places[best] == 0)
        best = np.delete(best, constant[1:])  # which is the same in all columns
        marks = [(int(j), int(cuts.places[j]), float(cuts.signs[j])) for j in best]
        H = np.empty((len(best), self.columns.order.shape[1]))
        for row, (j, place, sign) in zip(H, marks, strict=True):
            row[:] = sign
            row[self.columns.order[j, :place]] = -sign
        return Candidates(cuts.edges[best], H, marks)

    def keep(self, marks: Sequence[Any]) -> Fitted:
        columns = np.array([j for j, _, _ in marks], dtype=np.intp)
        thresholds = np.array([self._threshold(j, place) for j, place, _ in marks])
        signs = np.array([sign for _, _, sign in marks])
        if self.kernel is None or self.near is None:
            return FittedCuts(columns, thresholds, signs)
        used, columns = np.unique(columns, return_inverse=True)
        return FittedKernelCuts(FittedCuts(columns, thresholds, signs), self.kernel, self.near.take(used).landmarks())

    def _threshold(self, j: int, place: int) -> float:
        """Return the middle between two neighbours in a column, never the upper one; -inf below all."""
        if place == 0:
            return -np.inf
        low, high = self.columns.values[j, place - 1 : place + 1]
        middle = 0.5 * low + 0.5 * high
        return float(middle if low <= middle < high else low)


@dataclass(frozen=True, eq=False)
class FittedCuts(Fitted):
    """Stumps: the column of each, its threshold, and its value above."""

    columns: Indices
    thresholds: Floats
    signs: Floats

    def votes(self, T: Samples, A: Floats, resources: Resources) -> Floats:
        return self.on_numbers(numbers_of(T), A)

    def on_numbers(self, X: Floats, A: Floats) -> Floats:
        """Return the sums of the votes for columns that are given."""
        total = np.zeros((len(X), A.shape[1]))
        for j in np.flatnonzero(A.any(axis=1)):
            above = X[:, self.columns[j]] > self.thresholds[j]
            total += np.where(above, self.signs[j], -self.signs[j])[:, None] * A[j]
        return total


@dataclass(frozen=True, eq=False)
class FittedKernelCuts(Fitted):
    """Kernel stumps: stumps on the similarities to some samples."""

    cuts: FittedCuts
    kernel: Kernel
    samples: Samples

    def votes(self, T: Samples, A: Floats, resources: Resources) -> Floats:
        values = Cross(self.kernel, self.kernel.prepare(T), self.samples, resources).to_dense()
        return self.cuts.on_numbers(values, A)


# balls ----------------------------------------------------------------------------------------------------------------


class KernelBalls(WeakLearner):
    r"""Unit balls of feature spaces: the functions of norm at most one of each of several kernels.

    .. math:: F_t = \{x \mapsto \langle w, \phi_t(x) \rangle : \|w\| \le 1\}, \qquad
        \sup_{f \in F_t} \sum_i r_i f(x_i) = \sqrt{r^\top K_t r} = N_t

    attained by :math:`f = \sum_i r_i k_t(x_i, \cdot) / N_t`. Boosting them is multiple kernel learning by linear
    programs: the limit has the 1-norm of :math:`(\|w_1\|, \dots, \|w_m\|)` in place of the sum of weights.

    Seed: [ST] "Linear Programming MKL".

    Parameters
    ----------
    kernels : Kernel or tuple of Kernel, optional
        On any domains; those of tables by ``.on(columns)``. None is the Gaussian at the median distance.
    constant : bool, default True
        Whether the constant functions 1 and -1 are among the weak learners, [ST] "Linear programming boosting".
    gram : GramSpec, optional
        How each K_t is held; products are enough. None chooses by `Auto`.

    Notes
    -----
    A round costs one product with each K_t. ``KernelBalls(k)`` of one kernel and ``constant=False`` is a support vector
    machine whose norm is not squared.

    Examples
    --------
    >>> from mercer import KernelBalls, LPBoostClassifier
    >>> from mercer.kernels import Gaussian
    >>> learner = KernelBalls((Gaussian(0.5), Gaussian(2.0)))
    >>> model = LPBoostClassifier(learner, nu=0.5).fit([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1])
    >>> model.predict([[1.5], [3.5]])
    array([0, 1])
    """

    constraints = {
        "kernels": Optional(Each(InstanceOf(Kernel))),
        "constant": Boolean(),
        "gram": Optional(InstanceOf(GramSpec)),
    }

    def __init__(self, kernels: Any = None, *, constant: bool = True, gram: GramSpec | None = None) -> None:
        self.kernels = kernels
        self.constant = constant
        self.gram = gram

    @property
    def members(self) -> tuple[Kernel, ...]:
        """The kernels, at least one."""
        if self.kernels is None:
            return (Gaussian("median"),)
        return (self.kernels,) if isinstance(self.kernels, Kernel) else tuple(self.kernels)

    @property
    def reads(self) -> Kernel:
        return functools.reduce(operator.add, self.members)

    def search(self, S: Samples, w: Floats, resources: Resources) -> Search:
        spec, members = self.gram or Auto(), self.members
        each = dataclasses.replace(resources.quiet(), memory=budget(resources.memory) // len(members))
        grams = []
        for kernel in members:
            part = narrowed_to(kernel, S)
            grams.append(spec.build(kernel.learn(part, None, w), part, each))
        return _BallSearch(grams, self.constant)


class _BallSearch(Search):
    inward = 0.9

    def __init__(self, grams: list[Any], constant: bool) -> None:
        self.grams, self.constant = grams, constant
        diagonals = np.array([np.max(gram.diag(), initial=0.0) for gram in grams])
        for gram, value in zip(grams, diagonals, strict=True):
            if not np.isfinite(value):
                raise overflow_error(gram.kernel)
        self.reach = float(max(np.sqrt(np.maximum(diagonals, 0.0)).max(), 1.0 if constant else 0.0)) or 1.0

    def __call__(self, r: Floats) -> Candidates:
        edges, values, marks = [], [], []
        for t, gram in enumerate(self.grams):
            image = np.asarray(gram @ r, dtype=float)
            if not np.isfinite(image).all():
                raise overflow_error(gram.kernel)
            length = float(np.sqrt(max(r @ image, 0.0)))
            if length > 0.0:
                edges.append(length)
                values.append(image / length)
                marks.append((t, r / length))
        if self.constant or not edges:
            total = float(r.sum())
            edges.append(abs(total))
            values.append(np.full(len(r), 1.0 if total >= 0.0 else -1.0))
            marks.append((-1, 1.0 if total >= 0.0 else -1.0))
        order = np.argsort(-np.array(edges), kind="stable")
        return Candidates(np.array(edges)[order], np.array(values)[order], [marks[k] for k in order])

    def keep(self, marks: Sequence[Any]) -> Fitted:
        owner = np.array([t for t, _ in marks], dtype=np.intp)
        constants = np.array([what if t < 0 else 0.0 for t, what in marks])
        functions, places = [], []
        for t, gram in enumerate(self.grams):
            members = np.flatnonzero(owner == t)
            if len(members):
                coef = np.column_stack([marks[int(j)][1] for j in members])
                functions.append(gram.expand(Solution(coef, Status.CONVERGED, 0.0)))
                places.append(members)
        return FittedBalls(tuple(functions), tuple(places), owner, constants)


@dataclass(frozen=True, eq=False)
class FittedBalls(Fitted):
    """Functions of the unit balls of several kernels, and constants.

    Attributes
    ----------
    functions : tuple of Expansion or FeatureExpansion
        One for each kernel that has any, with one output per function.
    places : tuple of arrays
        Which of all functions these are.
    owner : (k,) array of int
        The kernel of each; -1 is a constant.
    constants : (k,) array
    """

    functions: tuple[Any, ...]
    places: tuple[Indices, ...]
    owner: Indices
    constants: Floats

    def combined(self, A: Floats) -> list[Any]:
        """Return the function of each kernel, one output per column of A."""
        found = []
        for f, places in zip(self.functions, self.places, strict=True):
            name = "weights" if hasattr(f, "weights") and not hasattr(f, "coef") else "coef"
            inner = getattr(f, name) @ A[places]
            zeros = np.zeros(A.shape[1])
            found.append(dataclasses.replace(f, **{name: inner, "intercept": zeros}))
        return found

    def votes(self, T: Samples, A: Floats, resources: Resources) -> Floats:
        total = np.tile(self.constants @ A, (len(T), 1))
        for f in self.combined(A):
            total += f(narrowed_to(f.kernel, T), resources)
        return total


def narrowed_to(kernel: Kernel, S: Samples) -> Samples:
    """Return what one of several kernels reads of samples that were packed for all of them."""
    return S if isinstance(kernel, Selected) else narrowed(kernel, S)


# others ---------------------------------------------------------------------------------------------------------------


class _Others(WeakLearner):
    """A classifier of scikit-learn's kind: fitted to the signs of r with the weights of its absolute values."""

    exact = False

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @property
    def reads(self) -> Kernel:
        return Linear()

    def search(self, S: Samples, w: Floats, resources: Resources) -> Search:
        return _OtherSearch(self.estimator, numbers_of(S))


class _OtherSearch(Search):
    def __init__(self, estimator: Any, X: Floats) -> None:
        self.estimator, self.X = estimator, X

    def __call__(self, r: Floats) -> Candidates:
        used = np.flatnonzero(r)
        sides = np.where(r[used] > 0.0, 1, -1)
        total = float(r.sum())
        constant = 1.0 if total >= 0.0 else -1.0
        best: tuple[float, Floats, Any] = (abs(total), np.full(len(r), constant), constant)
        if len(used) and np.any(sides != sides[0]):
            weight = np.abs(r[used]) * (len(used) / np.abs(r[used]).sum())
            model: Any = clone(self.estimator)
            model.fit(self.X[used], sides, sample_weight=weight)
            values = np.asarray(model.predict(self.X), dtype=float)
            edge = float(r @ values)
            if abs(edge) > best[0]:
                turn = 1.0 if edge >= 0.0 else -1.0
                best = (abs(edge), turn * values, (model, turn))
        return Candidates(np.array([best[0]]), best[1][None, :], [best[2]])

    def keep(self, marks: Sequence[Any]) -> Fitted:
        models = tuple(None if isinstance(mark, float) else mark[0] for mark in marks)
        return FittedOthers(models, np.array([mark if isinstance(mark, float) else mark[1] for mark in marks]))


@dataclass(frozen=True, eq=False)
class FittedOthers(Fitted):
    """Classifiers of the sides -1 and 1, each with a sign; None is a constant."""

    models: tuple[Any, ...]
    signs: Floats

    def votes(self, T: Samples, A: Floats, resources: Resources) -> Floats:
        X = numbers_of(T)
        total = np.zeros((len(X), A.shape[1]))
        for j in np.flatnonzero(A.any(axis=1)):
            model = self.models[j]
            values = np.ones(len(X)) if model is None else np.asarray(model.predict(X), dtype=float)
            total += self.signs[j] * values[:, None] * A[j]
        return total


class AnyLearner(Constraint):
    """Weak learners, a classifier that can be one, or None. Not free."""

    @property
    def accepted(self) -> str:
        return "Stumps(), KernelStumps(), KernelBalls(), a classifier whose fit takes sample_weight, or None"

    def accepts(self, value: Any) -> bool:
        return value is None or isinstance(value, WeakLearner) or _is_classifier(value)

    def advice(self, name: str, value: Any) -> str:
        return f"Leave {name} out for decision stumps."


def _is_classifier(given: Any) -> bool:
    ready = hasattr(given, "fit") and hasattr(given, "predict") and not isinstance(given, type)
    return ready and is_classifier(given) and has_fit_parameter(given, "sample_weight")


def as_learner(given: Any) -> WeakLearner:
    """Return the weak learners that were given: None is `Stumps`, a classifier of scikit-learn is wrapped."""
    if given is None:
        return Stumps()
    if isinstance(given, WeakLearner):
        return given
    if _is_classifier(given):
        return _Others(given)
    raise ParameterError(f"learner={given!r} was given; it accepts {AnyLearner().accepted}. Leave it out for stumps.")


def numbers_of(S: Samples) -> Floats:
    """Return the numbers of vectors as a dense array."""
    assert isinstance(S, Vectors)
    return np.asarray(S.dense())
