r"""AdaBoost: weak learners one after the other, each with the step that lowers the exponential loss most.

Symbols: h weak learners, f = sum_h a_h h, y_i = +-1, w_i sample weights, u_i = w_i exp(-y_i f(x_i)) over their sum.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks

from mercer.arrays import Floats
from mercer.constraints import Integer, Interval
from mercer.estimators.boosting.ensemble import BoostedClassifier, Merged
from mercer.estimators.boosting.weak_learners import KernelStumps, Search, as_learner
from mercer.estimators.fits import Run, fitting
from mercer.kernels import Kernel
from mercer.problems import Solution, Status, Trace
from mercer.targets import Multiclass
from mercer.targets.target import class_weights

__all__ = ["AdaBoostClassifier"]
__public__ = __all__

_SURE = 1.0 - 1e-10  # an edge above it is one: no sample is on the wrong side, and no step is the best
_CHANCE = 1e-12  # an edge below it helps nobody


class AdaBoostClassifier(BoostedClassifier):
    r"""AdaBoost: the exponential loss of the votes, descended one weak learner at a time.

    .. math:: \min_a \sum_i w_i \exp\Bigl(-y_i \sum_h a_h h(x_i)\Bigr)

    Each round takes the weak learner of the largest edge :math:`\sum_i u_i y_i h(x_i)` for the weights
    :math:`u_i \propto w_i e^{-y_i f(x_i)}`, and moves its vote to the minimum; where h is -1 or 1 that is
    :math:`\tfrac12 \log \frac{1 + e}{1 - e}` for an edge e. The training error is at most the product of
    :math:`\sqrt{1 - e^2}`.

    Seed: [ST] "Application to Boosting"; [HSS] Sections 3.2.3 and 4.1.4; [KIKS] Section 7.

    Parameters
    ----------
    learner : Stumps, KernelStumps, KernelBalls or classifier, optional
        The weak learners, as in `LPBoostClassifier`; None is `Stumps`.
    n_estimators : int, default 50
        Rounds. It ends earlier where no weak learner is better than chance, or one makes no error.
    learning_rate : float, default 1.0
        Each step is this part of the best one. In (0, 1].
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`. What there is when time is up is a model of fewer rounds.

    Attributes
    ----------
    classes_ : (c,) array
    ensembles_ : tuple of Ensemble
        Weak learners and votes; one for two classes, else one for each class against the rest.
    edges_ : tuple of arrays
        The edge of each round.
    n_iter_ : int
        The most rounds.
    solution_ : Solution
        Its trace has the loss and the edge after each round.

    Notes
    -----
    A sample of weight w counts as w copies. Cost O(n d) per round with stumps.

    Examples
    --------
    >>> from mercer import AdaBoostClassifier
    >>> model = AdaBoostClassifier(n_estimators=3).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 0])
    >>> model.predict([[0.0], [1.5], [3.0]])
    array([0, 1, 0])
    """

    constraints = {"n_estimators": Integer(1), "learning_rate": Interval(0.0, 1.0, closed="right")}

    def __init__(
        self,
        learner: Any = None,
        n_estimators: int = 50,
        *,
        learning_rate: float = 1.0,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.learner = learner
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _check_order(self, kernel: Kernel) -> None:
        if not isinstance(as_learner(self.learner), KernelStumps):  # which may be of any kernel
            super()._check_order(kernel)

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AdaBoostClassifier:
        """Take the rounds of each class.

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
        with fitting(self, X, y, sample_weight, Multiclass()) as (run, _, _, S, labels, w, _):
            class_weights(None, self.classes_, labels, w)  # every class has a sample
            merged = Merged.of(S, labels.astype(float), w)
            search = self._search(merged.samples, merged.weight, run)
            ensembles, edges, lines = [], [], []
            for signs, until in self._sides(merged.values):
                with run.stage("boosting", until):
                    marks, steps, own = self._rounds(search, signs, merged.weight, run)
                stages = [(np.array(steps[: k + 1]), 0.0) for k in range(len(steps))]
                ensembles.append(self._ensemble(search, marks, np.array(steps), 0.0, stages))
                edges.append(np.array([edge for _, edge, _ in own]))
                lines.append(own)
            self.ensembles_, self.edges_ = tuple(ensembles), tuple(edges)
            self.n_iter_ = max(map(len, edges))
            longest = max(lines, key=len)
            status = Status.TIME if run.clock.expired else Status.CONVERGED
            self.solution_ = Solution(ensembles[0].weights, status, longest[-1][1], trace=Trace.of(longest))
        return self

    def _rounds(self, search: Search, y: Floats, w: Floats, run: Run) -> tuple[list[Any], list[float], list[Any]]:
        """Return the marks, votes and (loss, edge, seconds) of the rounds of one two-class problem."""
        f, marks, steps, lines = np.zeros(len(y)), [], [], []
        began = time.perf_counter()
        for turn in range(self.n_estimators):
            u = _weights(w, y * f)
            found = search(u * y)
            h, edge = found.values[0] / search.reach, float(found.edges[0]) / search.reach
            if edge <= _CHANCE and marks:
                break
            step = self.learning_rate * _best_step(u, y * h, edge)
            f += step * h
            marks.append(found.marks[0])
            steps.append(step / search.reach)
            with np.errstate(over="ignore"):
                lines.append((float(w @ np.exp(-y * f)), edge, time.perf_counter() - began))
            if edge >= _SURE or run.monitor((turn + 1) / self.n_estimators):
                break
        return marks, steps, lines


def _weights(w: Floats, margins: Floats) -> Floats:
    """Return w_i exp(-m_i) over their sum, whatever the size of the margins."""
    u = w * np.exp(margins.min(initial=0.0) - margins)
    return u / u.sum()


def _best_step(u: Floats, g: Floats, edge: float) -> float:
    """Return the minimum of sum_i u_i exp(-a g_i) for values g in [-1, 1], where g = y h.

    Newton's steps from that of values -1 and 1, which is the minimum for these and a lower bound for others.
    """
    e = min(edge, _SURE)
    a = 0.5 * np.log((1.0 + e) / (1.0 - e))
    if np.all(np.abs(g) == 1.0) or g.min() >= 0.0:
        return float(a)
    for _ in range(50):
        terms = u * np.exp(-a * g)
        slope, curve = float(terms @ g), float(terms @ (g * g))
        move = slope / curve if curve > 0.0 else 0.0
        a += float(np.clip(move, -0.5 * a, 1.0))
        if abs(move) <= 1e-12 * max(1.0, abs(a)):
            break
    return float(a)
