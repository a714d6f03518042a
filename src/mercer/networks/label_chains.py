"""Chains: networks that are sequences, all with the same transitions, batched whatever their lengths.

Symbols: K states, T positions of all sequences one after another, sequence i is ``offsets[i]:offsets[i + 1]``,
F (T, K) the scores of states at positions, W (K, K) those of transitions, s (K,) those of first states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np

from mercer.arrays import Floats, Indices, real_numbers
from mercer.errors import DomainError, ParameterError
from mercer.numerics.chain_paths import best_scored_paths, several_best_paths
from mercer.numerics.chains import Chain, Observed, Posterior, posteriors
from mercer.runtime.compiled import compiled

__all__ = ["Chains", "PathSums"]
__public__ = ["Chains"]

_RANGE = 500.0  # of scores of transitions whose exponentials are still numbers


@dataclass(frozen=True, eq=False)
class PathSums:
    """Sums over all paths.

    Attributes
    ----------
    log_partition : (n,) array
        Of each sequence.
    marginals : (T, K) array
        Probability of each state at each position.
    transitions : (K, K) array
        Expected number of each transition in all sequences, each times its weight.
    """

    log_partition: Floats
    marginals: Floats
    transitions: Floats


@dataclass(frozen=True, eq=False)
class Chains:
    r"""Sequences of hidden labels: each position has scores of its labels, each step one score per pair of labels.

    .. math:: p(y) \propto \exp\Bigl(s_{y_1} + \sum_{t} F_{t y_t} + \sum_{t > 1} W_{y_{t-1} y_t}\Bigr)

    Seed: [HSS] Section 4.2.4: forward and backward, Viterbi, the best outputs (Schwartz and Chow).

    Parameters
    ----------
    scores : (T, K) array
        F, of all sequences one after another. -inf forbids a label.
    transitions : (K, K) array
        W, from row to column.
    offsets : (n + 1,) array of int
        Where each sequence begins.
    start : (K,) array
        s; made zero by `from_sequences` if not given.

    Notes
    -----
    Cost O(T K^2), compiled, several sequences at a time; the same loops as those of `mercer.models.HiddenMarkovModel`.
    An empty sequence has one path, of score zero.

    Examples
    --------
    >>> chains = Chains.from_sequences([[[2.0, 0.0], [0.0, 1.0]], [[0.0, 0.5]]], transitions=[[1.0, -1.0], [-1.0, 1.0]])
    >>> paths, values = chains.best()
    >>> paths, values
    (array([0, 0, 1]), array([3. , 0.5]))
    >>> chains.sums().marginals.round(2)
    array([[0.78, 0.22],
           [0.58, 0.42],
           [0.38, 0.62]])
    """

    scores: Floats
    transitions: Floats
    offsets: Indices
    start: Floats

    @classmethod
    def from_sequences(cls, sequences: Sequence[Any], transitions: Any, start: Any = None) -> Self:
        """Make chains from the scores of each sequence, (T_i, K)."""
        W = real_numbers(transitions, "transitions")
        if W.ndim != 2 or W.shape[0] != W.shape[1] or not W.size:
            raise ParameterError(
                f"transitions of shape {W.shape} were given; a square array is accepted, from row to column. Give one "
                "row per label."
            )
        parts = [real_numbers(one, f"sequence {i}").reshape(-1, len(W)) if np.size(one) == 0 else
                 real_numbers(one, f"sequence {i}") for i, one in enumerate(sequences)]  # fmt: skip
        for i, one in enumerate(parts):
            if one.ndim != 2 or one.shape[1] != len(W):
                raise ParameterError(
                    f"sequence {i} has scores of shape {one.shape}; (length, {len(W)}) is accepted, one column per "
                    "label. Give a score to every label."
                )
        s = np.zeros(len(W)) if start is None else real_numbers(start, "start")
        if s.shape != (len(W),):
            raise ParameterError(f"start of shape {s.shape} was given; ({len(W)},) is accepted. Give one per label.")
        scores = np.concatenate([np.empty((0, len(W))), *parts])
        for name, table in (("sequences", scores), ("transitions", W), ("start", s)):
            if np.isnan(table).any() or np.isposinf(table).any():
                raise ParameterError(
                    f"{name} have NaN or +inf among their scores; finite numbers and -inf are accepted. Correct them."
                )
        offsets = np.concatenate([[0], np.cumsum([len(one) for one in parts])]).astype(np.intp)
        return cls(scores, np.ascontiguousarray(W), offsets, s)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    # maxima -------------------------------------------------------------------------------------------

    def best(self) -> tuple[Indices, Floats]:
        """Return the best labels of all positions, (T,), and the score of each sequence's path, (n,) (Viterbi)."""
        scores = np.ascontiguousarray(self.scores)
        rows = np.arange(len(scores))
        return best_scored_paths(lambda at: (scores, rows[at]), self.offsets, self.start, self.transitions)

    def k_best(self, k: int) -> tuple[Indices, Floats]:
        """Return the k best paths of each sequence, (k, T), best first, and their scores, (n, k).

        Where there are fewer, scores are -inf and labels -1.
        """
        if isinstance(k, bool) or k != int(k) or k < 1:
            raise ParameterError(f"k={k!r} was given; the number of paths is at least 1. Give k=2 for the two best.")
        return several_best_paths(self.scores, self.offsets, self.start, self.transitions, int(k))

    def loss_augmented_best(self, truth: Any, loss: Any = None) -> tuple[Indices, Floats]:
        """Return the paths with the highest sum of score and loss, and these sums.

        Parameters
        ----------
        truth : (T,) array of int
            The true labels.
        loss : (K, K) array, optional
            ``loss[a, b]`` is what it costs to say b at a position where a is true; None counts the wrong labels.
        """
        labels = np.asarray(truth)
        count = len(self.transitions)
        if labels.shape != (len(self.scores),) or labels.dtype.kind not in "iu" or not _all_in(labels, count):
            raise ParameterError(
                f"truth of shape {labels.shape} and type {labels.dtype} was given; one integer from 0 to {count - 1} "
                f"for each of the {len(self.scores)} positions is accepted. Number the labels."
            )
        cost = 1.0 - np.eye(count) if loss is None else np.asarray(loss, dtype=float)
        return replace(self, scores=self.scores + cost[labels]).best()

    # sums ---------------------------------------------------------------------------------------------

    def sums(self, weight: Floats | None = None) -> PathSums:
        """Return log-partition functions, marginals and expected transitions (forward and backward).

        Parameters
        ----------
        weight : (n,) array, optional
            Of each sequence in the sum of expected transitions; ones by default.
        """
        finite = self.transitions[np.isfinite(self.transitions)]
        first = self.start[np.isfinite(self.start)]
        if max(np.ptp(finite) if finite.size else 0.0, np.ptp(first) if first.size else 0.0) > _RANGE:
            return self._sums_of_logs(weight)
        top, peak = (float(finite.max()) if finite.size else 0.0), (float(first.max()) if first.size else 0.0)
        chain = Chain(np.exp(self.start - peak), np.exp(self.transitions - top))
        logs, marginals = np.empty(len(self)), np.empty_like(self.scores)
        counts: dict[int, Floats] = {}

        def use(piece: int, found: Posterior) -> None:
            logs[found.sequences] = found.log_likelihood
            each = None if weight is None else np.repeat(weight[found.sequences], np.diff(found.offsets))
            counts[piece] = found.total_transitions(each)

        pieces = posteriors(self._observed, self.offsets, chain, use, marginals)
        _require_possible(logs)
        lengths = np.diff(self.offsets)
        logs += np.where(lengths > 0, peak + top * (lengths - 1), 0.0)
        total = np.zeros_like(self.transitions)
        for piece in range(pieces):  # in a fixed order, whichever thread was first
            total += counts[piece]
        return PathSums(logs, marginals, total)

    def _observed(self, at: slice) -> Observed:
        with np.errstate(invalid="ignore"):
            observed = Observed.of_logs(self.scores[at])
        hopeless = np.isneginf(observed.shift)
        observed.B[hopeless], observed.shift[hopeless] = 0.0, 0.0
        return observed

    def _sums_of_logs(self, weight: Floats | None = None) -> PathSums:
        """Return the same where exponentials of transitions leave the range of numbers: slower."""
        logs, marginals = np.empty(len(self)), np.empty_like(self.scores)
        total = np.zeros_like(self.transitions)
        for i, (a, b) in enumerate(pairwise(self.offsets)):
            counts = np.zeros_like(total)
            logs[i] = _sum_paths(self.scores[a:b], self.start, self.transitions, marginals[a:b], counts)
            total += counts if weight is None else weight[i] * counts
        _require_possible(logs)
        return PathSums(logs, marginals, total)

    def entropy(self) -> Floats:
        """Return the entropy of each sequence's distribution over paths, (n,)."""
        out = np.empty(len(self))
        for i, (a, b) in enumerate(pairwise(self.offsets)):
            found = replace(self, scores=self.scores[a:b], offsets=np.array([0, b - a])).sums()
            expected = _weighted(found.marginals, self.scores[a:b]) + _weighted(found.transitions, self.transitions)
            out[i] = found.log_partition[0] - expected - (_weighted(found.marginals[0], self.start) if b > a else 0.0)
        return out


def _all_in(labels: Any, count: int) -> bool:
    return bool(np.all((labels >= 0) & (labels < count)))


def _weighted(p: Floats, scores: Floats) -> float:
    with np.errstate(invalid="ignore"):
        return float(np.sum(np.where(p > 0.0, p * scores, 0.0)))


def _require_possible(logs: Floats) -> None:
    if np.isneginf(logs).any():
        raise DomainError(
            f"sequence {int(np.argmin(logs))} has no path with a finite score; every sequence needs one. Look for "
            "labels and transitions with scores of -inf that exclude each other."
        )


@compiled
def _sum_paths(scores, start, transitions, marginals, total):
    """Fill the marginals of one sequence, add its expected transitions, return its log-partition function."""
    length, states = scores.shape
    if length == 0:
        return 0.0
    forward = np.full((length, states), -np.inf)
    backward = np.zeros((length, states))
    work = np.empty(states)
    for j in range(states):
        forward[0, j] = start[j] + scores[0, j]
    for t in range(1, length):
        for j in range(states):
            for k in range(states):
                work[k] = forward[t - 1, k] + transitions[k, j]
            forward[t, j] = _log_sum(work) + scores[t, j]
    for t in range(length - 2, -1, -1):
        for k in range(states):
            for j in range(states):
                work[j] = transitions[k, j] + scores[t + 1, j] + backward[t + 1, j]
            backward[t, k] = _log_sum(work)
    g = _log_sum(forward[length - 1])
    for t in range(length):
        for j in range(states):
            marginals[t, j] = np.exp(forward[t, j] + backward[t, j] - g)
            if t > 0:
                for k in range(states):
                    total[k, j] += np.exp(forward[t - 1, k] + transitions[k, j] + scores[t, j] + backward[t, j] - g)
    return g


@compiled
def _log_sum(values):
    top = values.max()
    if not np.isfinite(top):
        return -np.inf
    return np.log(np.exp(values - top).sum()) + top
