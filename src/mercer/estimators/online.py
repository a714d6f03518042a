"""Learning as the samples come: the kernel perceptron, and what classifiers by scores share.

Symbols: B (n, c) the coefficients, one column per class, F = K B the scores, w_i sample weights, T the weight
visited so far, A = sum of the updates, each times the weight visited before it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from mercer.arrays import Array, Floats, Indices
from mercer.constraints import Boolean, Integer
from mercer.domains import Samples, Similarities, Vectors
from mercer.errors import CapabilityError, TargetError, warn_caller
from mercer.estimators.certificates.certified import Certified
from mercer.estimators.estimator import KernelEstimator, weighted
from mercer.estimators.fits import Run, fitting, whole
from mercer.gram import Auto, Expansion, Gram, GramSpec, HasRows
from mercer.gram.gram import is_undecided
from mercer.kernels import Kernel
from mercer.problems import Solution, Status
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import serial_blas
from mercer.targets import Multiclass

__all__ = ["KernelPerceptron", "Scoring"]
__public__ = ["KernelPerceptron"]

_CHUNK = 256  # visits between two updates of the scores of all samples


class Scoring(Certified, ClassifierMixin, KernelEstimator):
    """A classifier with one score per class, or one for two classes."""

    classes_: Array
    target_: Multiclass

    def decision_function(self, X: Any) -> Floats:
        """Return the scores, shape (m, c); for two classes one, shape (m,), positive for the second.

        Parameters
        ----------
        X : raw data or packed samples
        """
        return self._evaluate(X)

    def predict(self, X: Any) -> Array:
        """Return the class with the largest score, shape (m,).

        Parameters
        ----------
        X : raw data or packed samples
        """
        values = self.decision_function(X)
        if values.ndim == 1:
            return self.classes_[(values > 0).astype(int)]
        return self.target_.decode(values)


class KernelPerceptron(Scoring):
    r"""Kernel perceptron: visit the samples one by one, and add those that are misclassified.

    .. math:: r = \arg\max_{c \ne y_i} f_c(x_i), \qquad f_r(x_i) \ge f_{y_i}(x_i) \;\Rightarrow\;
        f_{y_i} \leftarrow f_{y_i} + k(x_i, \cdot), \quad f_r \leftarrow f_r - k(x_i, \cdot)

    Of two classes only :math:`f = f_1 = -f_0` is kept, and the rule is Rosenblatt's: where :math:`y f(x) \le 0`, add
    :math:`y\,k(x, \cdot)`. With a radial kernel these are the potential functions of Aizerman, Braverman and
    Rozonoer.

    Seed: [KIKS] Section 1; [STS] Section 3; [HSS] Section 2 (potential functions).

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples.
    averaged : bool, default False
        Whether predictions use the mean of the functions after each visit instead of the last one: it varies
        less with the order of the visits, and on classes that overlap is usually the better one.
    max_iter : int, default 10
        Passes over the samples at most; a pass without a mistake is the last.
    shuffle : bool, default True
        Whether `fit` visits the samples in a new random order at each pass. The order is drawn from what the samples
        and labels are, not from their positions, so that neither their order nor repetition instead of a weight
        changes the result. False visits them as they are given, as `partial_fit` always does.
    random_state : int, RandomState or None, default 0
        Seed of the orders; None draws new ones in each call.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held during `fit`; must offer rows. None: dense if it fits, else tiles.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`. When time runs out, the function so far is kept, with a warning.

    Attributes
    ----------
    classes_ : (c,) array
    expansion_ : Expansion
        The scores; a growing sum of kernels at the samples of `support_`.
    support_ : (s,) array of int
        Samples with a coefficient, numbered in the order in which they were given, over all calls.
    dual_coef_ : (s, c) array, or (s,) for two classes
        Coefficients of the scores, averaged if asked.
    last_coef_, late_coef_ : (s, c) arrays
        B and A: the function after the last visit, and what its average differs by, times the weight visited.
    n_iter_ : int
        Passes of `fit`, or calls of `partial_fit`.
    n_seen_, n_mistakes_ : int
        Samples given, and mistakes made, over all calls.
    visited_ : float
        Weight visited: T.

    Notes
    -----
    A sample of weight w is visited w times in a row (the rest after the whole number is one visit with a shorter
    step). If two classes can be separated through the origin with a margin gamma within radius R, the number of
    mistakes is at most (R / gamma)^2, however many samples there are.
    Scores are computed in blocks: cost O(n) kernel values for each mistake, in the memory of K or of tiles.

    Examples
    --------
    >>> from mercer.estimators.online import KernelPerceptron
    >>> from mercer.kernels import Polynomial
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ["even", "odd", "odd", "even"]
    >>> model = KernelPerceptron(Polynomial(degree=2, offset=1.0), max_iter=100).fit(X, y)
    >>> model.predict(X)
    array(['even', 'odd', 'odd', 'even'], dtype='<U4')
    """

    policies = ("reject",)
    constraints = {
        "averaged": Boolean(),
        "max_iter": Integer(1),
        "shuffle": Boolean(),
    }

    def __init__(
        self,
        kernel: Any = None,
        *,
        averaged: bool = False,
        max_iter: int = 10,
        shuffle: bool = True,
        random_state: Any = 0,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.averaged = averaged
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelPerceptron:
        """Visit the samples again and again, starting from nothing.

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
            self._forget(self.target_)
            self.kernel_ = kernel.learn(S, codes, w)
            K = self._represent(self.kernel_, S, run, until=0.3)
            visits = _Visits(K, codes, w, np.zeros((len(S), len(self.classes_))))
            with run.stage("visits", 1.0):
                self._visit_all(visits, S, run)
            self._keep(visits, K, used, len(packed))
        return self

    def _visit_all(self, visits: _Visits, S: Samples, run: Run) -> None:
        """Go over all samples until there is no mistake, the passes are over, or the time is."""
        orders = _orders(S, visits.codes, self.random_state) if self.shuffle else None
        for epoch in range(self.max_iter):
            self.n_iter_ = epoch + 1
            mistakes = visits.mistakes
            for share in visits.go(next(orders) if orders else np.arange(len(S))):
                if run.watched and run.monitor((epoch + share) / self.max_iter):
                    status = Status.STOPPED if run.asked_to_stop else Status.TIME
                    warn_caller(
                        f"KernelPerceptron stopped in pass {epoch + 1} of {self.max_iter}. {status.value}",
                        ConvergenceWarning,
                    )
                    return
            if visits.mistakes == mistakes:
                return

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> KernelPerceptron:
        """Visit some more samples once, in the order given, and let the expansion grow.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) array
            Class labels.
        classes : array, optional
            All labels that will ever occur; needed in the first call.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with whole(self):
            if not hasattr(self, "expansion_"):
                packed, kernel = self._begin(X, classes)
            else:
                self._check_classes(classes)
                packed, kernel = self._pack_new(X), None
            S, codes, w, used = weighted(packed, self.target_.codes(y), sample_weight)
            if kernel is not None:
                self.kernel_ = kernel.learn(S, codes, w)
            if isinstance(S, Similarities):
                raise CapabilityError(
                    "partial_fit was given precomputed similarities, in which a new sample has no similarity to those "
                    "of earlier calls; samples that a kernel can compare are accepted. Give the samples and a kernel."
                )
            K = Auto(features=False).build(self.kernel_, S, self._resources())
            visits = _Visits(K, codes, w, self._scores(S))
            visits.visited = self.visited_
            for _ in visits.go(np.arange(len(S))):
                pass
            self._keep(visits, K, used, len(packed))
            self.n_iter_ += 1
        return self

    def _begin(self, X: Any, classes: Any) -> tuple[Samples, Kernel]:
        """Begin with the first call of `partial_fit`."""
        self._check_parameters()
        if classes is None:
            raise TargetError(
                "classes must be passed on the first call to partial_fit: nothing is known yet of labels that come "
                "later. All labels in an array are accepted. Give classes=np.unique(y) of all data."
            )
        packed = self._pack(X)
        self._forget(Multiclass().learn(classes))
        return packed

    def _check_classes(self, classes: Any) -> None:
        if not isinstance(self.expansion_, Expansion):
            raise CapabilityError(
                f"partial_fit was called after a fit with gram={self.gram!r}, which keeps no samples; a sum of kernels "
                "can grow. Fit with gram=None, Dense() or Tiles()."
            )
        if classes is not None and not np.array_equal(Multiclass().learn(classes).classes, self.classes_):
            raise TargetError(
                f"classes={classes!r} is not the same as on last call to partial_fit, {self.classes_!r}; they must "
                "stay the same. Leave classes out, or begin anew with all of them."
            )

    def _forget(self, target: Multiclass) -> None:
        """Start from a function that is zero."""
        self.target_, self.classes_ = target, target.classes
        none = np.zeros((0, len(target.classes)))
        self.support_, self.last_coef_, self.late_coef_ = np.zeros(0, dtype=np.intp), none, none
        self.n_seen_, self.n_mistakes_, self.n_iter_, self.visited_ = 0, 0, 0, 0.0

    def _scores(self, S: Samples) -> Floats:
        """Return the scores after the last visit, averaged or not, at packed samples, (m, c)."""
        if not len(self.support_):
            return np.zeros((len(S), len(self.classes_)))
        return dataclasses.replace(self.expansion_, coef=self.last_coef_)(S, self._resources())

    def _keep(self, visits: _Visits, K: Gram, used: Indices, given: int) -> None:
        """Append the samples that were added to the function, and average it if asked."""
        added = np.flatnonzero(np.any(visits.B != 0.0, axis=1) | np.any(visits.A != 0.0, axis=1))
        samples = K.samples.take(added).landmarks()
        if len(self.support_):
            samples = self.kernel_.prepare(self.expansion_.samples.concat(samples))  # pyright: ignore
        self.support_ = np.concatenate([self.support_, self.n_seen_ + used[added]])
        self.last_coef_ = np.concatenate([self.last_coef_, visits.B[added]])
        self.late_coef_ = np.concatenate([self.late_coef_, visits.A[added]])
        self.visited_ = visits.visited
        self.n_seen_ += given
        self.n_mistakes_ += visits.mistakes
        coef = self.last_coef_
        if self.averaged:
            coef = coef - self.late_coef_ / self.visited_
        self.dual_coef_ = coef[:, 1].copy() if len(self.classes_) == 2 else coef
        zero = np.zeros(self.dual_coef_.shape[1:])
        if type(K).expand is Gram.expand:
            self.expansion_ = Expansion(self.kernel_, samples, self.dual_coef_, zero)
        else:  # of a factor: all samples were seen by this Gram
            whole_coef = np.zeros((K.shape[0], *zero.shape))
            whole_coef[added] = self.dual_coef_
            self.expansion_ = K.expand(Solution(whole_coef, Status.CONVERGED, 0.0), zero)

    def _gram_spec(self, kernel: Kernel, S: Samples) -> GramSpec:
        """Return how K is held; the primal form only if asked for, since `partial_fit` needs samples."""
        spec = self.gram or Auto(features=False)
        if is_undecided(spec) and spec.tol is None:
            return spec.choose(kernel, len(S), None, self.memory)
        return spec


class _Visits:
    """Scores and coefficients of samples while they are visited."""

    def __init__(self, gram: Gram, codes: Indices, weight: Floats, scores: Floats) -> None:
        if not isinstance(gram, HasRows):
            raise CapabilityError(
                f"KernelPerceptron needs Gram.rows; {type(gram).__name__} offers only products. "
                "Use gram=Tiles() or gram=Dense()."
            )
        self.gram, self.codes, self.weight = gram, codes, np.ascontiguousarray(weight, dtype=np.float64)
        self.F = scores
        self.B, self.A = np.zeros_like(scores), np.zeros_like(scores)
        self.visited, self.mistakes = 0.0, 0

    def go(self, order: Indices) -> Iterator[float]:
        """Visit samples in this order; yields the share that was visited, chunk by chunk."""
        for start in range(0, len(order), _CHUNK):
            self.chunk(order[start : start + _CHUNK])
            yield min(1.0, (start + _CHUNK) / len(order))

    def chunk(self, index: Indices) -> None:
        """Visit some samples one by one on their own block of K, and bring the changes to the scores of all."""
        with serial_blas():  # one order of summation, whatever the number of threads
            K = np.ascontiguousarray(self.gram.rows(index, index), dtype=np.float64)
            F, B, A = self.F[index], np.zeros_like(self.F[index]), np.zeros_like(self.F[index])
            weight = self.weight[index]
            self.mistakes += _visit(K, F, B, A, self.codes[index], weight, self.visited)
            self.visited += float(weight.sum())
            moved = np.flatnonzero(np.any(B != 0.0, axis=1))
            self.B[index] += B
            self.A[index] += A
            if len(moved):
                self.gram.update(index[moved], B[moved], self.F)


def _orders(S: Samples, codes: Indices, random_state: Any) -> Iterator[Indices]:
    """Yield random orders that depend on what samples and labels are; equal ones are adjacent."""
    keys = np.fromiter(_fingerprints(S), dtype=np.uint64, count=len(S)) ^ _mixed(codes.astype(np.uint64))
    chance = check_random_state(random_state)
    while True:
        seed = np.uint64(chance.randint(2**32)) << np.uint64(32) | np.uint64(chance.randint(2**32))
        yield np.argsort(_mixed(keys ^ seed), kind="stable")


def _mixed(x: Array) -> Array:
    """Return 64 bits thoroughly mixed: the finalizer of SplitMix64."""
    x = (x + np.uint64(0x9E3779B97F4A7C15)).astype(np.uint64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _fingerprints(S: Samples) -> Iterator[int]:
    """Yield 64 bits for each sample, the same for equal samples however they are stored."""
    if isinstance(S, Vectors) and S.is_sparse:
        data, columns, ends = S.arrays
        rows = (_entries(data[a:b], columns[a:b]) for a, b in itertools.pairwise(ends))
    elif isinstance(S, Vectors):
        rows = (_entries(row, np.arange(len(row))) for row in S.arrays[0])
    else:
        rows = (tuple(array.tobytes() for array in sample.arrays) for sample in S)
    for parts in rows:
        digest = hashlib.blake2b(digest_size=8)
        for part in parts:
            digest.update(part)
        yield int.from_bytes(digest.digest(), "little")


def _entries(values: Floats, columns: Indices) -> tuple[bytes, ...]:
    """Return the entries of a row that are not zero, in float64, and their positions."""
    there = np.flatnonzero(values)
    there = there[np.argsort(columns[there], kind="stable")]
    return values[there].astype(np.float64).tobytes(), columns[there].astype(np.int64).tobytes()


@compiled
def _visit(K, F, B, A, codes, weight, visited):  # type: ignore[no-untyped-def]
    """Visit samples in turn on their own block of K; returns the number of mistakes.

    A visit that is no mistake changes nothing, so neither would the further visits that a weight asks for.
    """
    q, count = F.shape
    mistakes = 0
    for i in range(q):
        y, left, now = codes[i], weight[i], visited
        while left > 0.0:
            r = 1 if y == 0 else 0
            for c in range(count):
                if c != y and F[i, c] > F[i, r]:
                    r = c
            if F[i, y] > F[i, r]:
                break
            step = min(left, 1.0)
            late = step * now
            times = 1.0
            if not K[i, i] > 0.0 and left > 1.0:  # its score cannot change: all visits at once
                times = math.floor(left)
                step = times
                late = times * now + 0.5 * times * (times - 1.0)
            B[i, y] += step
            B[i, r] -= step
            A[i, y] += late
            A[i, r] -= late
            for j in range(q):
                F[j, y] += step * K[i, j]
                F[j, r] -= step * K[i, j]
            mistakes += int(times)
            left -= step
            now += step
        visited += weight[i]
    return mistakes
