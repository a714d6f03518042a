"""Outputs that are sequences of labels: chains with observation windows and pairs of labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Self

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.constraints import InstanceOf, Integer, Interval, Optional
from mercer.errors import TargetError
from mercer.estimators.structured.output_space import Constraint, OutputSpace, Sums, Violations, square_cost
from mercer.networks import Chains
from mercer.numerics.chain_paths import best_paths_of_losses

__all__ = ["LabelSequences", "label_codes", "label_rows"]
__public__ = ["LabelSequences"]

_MOST = 2**16  # outputs that are listed
_LOSSES, _ENTRIES = 2**16, 2**26  # of the table by position, loss and label that rescaled slacks search


class LabelSequences(OutputSpace):
    r"""One label for each position of a sequence; neighbouring labels depend on each other.

    .. math:: f(x, y) = \sum_t \sum_{|\delta| \le r} f^\delta_{y_t}(x_{t + \delta}) + \sum_{t > 1} W_{y_{t-1} y_t}

    so that the joint kernel adds k(x_{s + delta}, x'_{t + delta}) for equal labels, and `transition_scale` for equal
    pairs of labels. Positions before the first or after the last contribute nothing.

    Seed: [HSS] Eq. (117), Section 4.2: conditional Markov chains, hidden Markov support vector machines.

    Parameters
    ----------
    window : int, default 0
        r, how many positions to the left and to the right of a label count.
    transition_scale : float, default 1.0
        Of the kernel of pairs of labels; 0 for labels that do not depend on each other.
    cost : (K, K) array, optional
        The cost of predicting b where a is true, at each position, in the order of sorted labels; None is 1.
    classes : array, optional
        Learned: the labels.

    Notes
    -----
    X is a list of sequences of whatever the kernel compares, y a list of sequences of labels of the same lengths.

    Slacks are rescaled exactly where costs are multiples of the smallest one, by the best path of each loss: a search
    of a sequence of length T costs O(T^2 K^2) where wrong labels are counted.

    Examples
    --------
    >>> space = LabelSequences().learn([["N", "V"], ["N"]])
    >>> F, w = np.array([[1.0, 0.0], [0.1, 0.0]]), np.array([0.0, 2.0, 0.0, 0.0])
    >>> space.decode([space.best(F, w)])[0]
    array(['N', 'V'], dtype='<U1')
    """

    has_sites = True
    constraints = {
        "window": Integer(0),
        "transition_scale": Interval(0.0, np.inf, closed="left"),
        "cost": Optional(InstanceOf(np.ndarray, list, tuple)),
        "classes": Optional(InstanceOf(np.ndarray, list, tuple)),
    }

    def __init__(self, window: int = 0, transition_scale: float = 1.0, cost: Any = None, classes: Any = None) -> None:
        self.window = window
        self.transition_scale = transition_scale
        self.cost = cost
        self.classes = classes

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.classes)

    @property
    def width(self) -> int:
        """One function for each label and place in the window."""
        return self.n_labels * (2 * int(self.window) + 1)

    @property
    def extras(self) -> int:
        """One weight for each pair of labels."""
        return self.n_labels**2

    def learn(self, y: Any) -> Self:
        rows = label_rows(y)
        classes = np.unique(np.concatenate(rows)) if any(map(len, rows)) else np.empty(0)
        if not len(classes):
            raise TargetError("y has no label at all; sequences of labels are accepted, not all empty. Give labels.")
        if self.cost is not None:
            square_cost(self.cost, len(classes))
        return self.replace(classes=classes)

    def encode(self, y: Any) -> Array:
        return label_codes(y, np.asarray(self.classes))

    def decode(self, outputs: Sequence[Any]) -> Any:
        classes = np.asarray(self.classes)
        return [classes[np.asarray(output, dtype=np.intp)] for output in outputs]

    def features(self, output: Any, sites: int) -> tuple[Floats, Floats]:
        K, r = self.n_labels, int(self.window)
        psi, t = np.zeros((sites, self.width)), np.arange(sites)
        for place in range(2 * r + 1):
            at = t + place - r
            inside = (at >= 0) & (at < sites)
            psi[at[inside], place * K + output[inside]] += 1.0
        g = np.bincount(output[:-1] * K + output[1:], minlength=K * K) if sites > 1 else np.zeros(K * K)
        return psi, self._scale * g

    @property
    def _scale(self) -> float:
        return float(np.sqrt(self.transition_scale))

    @property
    def _costs(self) -> Floats:
        return 1.0 - np.eye(self.n_labels) if self.cost is None else np.asarray(self.cost, dtype=float)

    def loss(self, truth: Any, output: Any) -> float:
        return float(self._costs[truth, output].sum())

    def _chains(self, F: Floats, offsets: Indices, w: Floats) -> Chains:
        """Return the chains whose scores are sums over windows."""
        K, r = self.n_labels, int(self.window)
        scores = np.array(F[:, r * K : (r + 1) * K])
        owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        for place in range(2 * r + 1):
            if (shift := place - r) and abs(shift) < len(F):
                own, other = slice(max(0, -shift), len(F) - max(0, shift)), slice(max(0, shift), len(F) + min(0, shift))
                same = owner[own] == owner[other]
                scores[own][same] += F[other, place * K : (place + 1) * K][same]
        return Chains(scores, self._scale * w.reshape(K, K), np.asarray(offsets, dtype=np.intp), np.zeros(K))

    def augmented(self, F: Floats, w: Floats, truth: Any) -> Any:
        chains = self._chains(F, np.array([0, len(F)]), w)
        return chains.best()[0] if truth is None else chains.loss_augmented_best(truth, self._costs)[0]

    def violations(
        self, F: Floats, offsets: Indices, w: Floats, codes: Sequence[Any], cost: Floats, rescaling: str = "margin"
    ) -> Violations:
        if rescaling != "margin":
            return super().violations(F, offsets, w, codes, cost, rescaling)
        K, lengths = self.n_labels, np.diff(offsets)
        truth, each = np.concatenate([np.empty(0, dtype=np.intp), *codes]), np.repeat(cost, lengths)
        chains = self._chains(F, offsets, w)
        worst, values = chains.loss_augmented_best(truth, self._costs)
        marks, owner, rows = np.zeros((len(F), K)), np.repeat(np.arange(len(lengths)), lengths), np.arange(len(F))
        marks[rows, truth] += each
        marks[rows, worst] -= each
        inner = np.flatnonzero(owner[1:] == owner[:-1])  # positions with a next one
        pairs, others = truth[inner] * K + truth[inner + 1], worst[inner] * K + worst[inner + 1]
        g = np.bincount(pairs, each[inner], K * K) - np.bincount(others, each[inner], K * K)
        own = np.bincount(owner, chains.scores[rows, truth], len(lengths))
        own += np.bincount(owner[inner], chains.transitions.ravel()[pairs], len(lengths))
        loss = float(each @ self._costs[truth, worst])
        return Violations((values - own)[lengths > 0], self._spread(marks, offsets), self._scale * g, loss)

    def violated(self, F: Floats, w: Floats, truth: Any, rescaling: str = "margin") -> Constraint:
        unit, steps = self._steps(truth) if rescaling == "slack" else (0.0, None)
        if steps is None:  # margins are searched in one pass, losses without a unit by listing
            return super().violated(F, w, truth, rescaling)
        chains = self._chains(F, np.array([0, len(F)]), w)
        scores, path = best_paths_of_losses(chains.scores, chains.start, chains.transitions, steps)
        losses = unit * np.arange(len(scores))
        with np.errstate(invalid="ignore"):
            margins = losses * (1.0 + scores - self.score(F, w, truth))
        worst = int(np.argmax(np.where(scores > -np.inf, margins, -np.inf)))
        output = path(worst) if losses[worst] > 0.0 else truth
        found = self.constraint(truth, output, len(F))
        return found._replace(psi=found.loss * found.psi, g=found.loss * found.g)

    def _steps(self, truth: Any) -> tuple[float, Indices | None]:
        """Return the unit of the costs, and the costs of all labels in it; None if there is none, or too many steps."""
        costs = self._costs
        unit = float(np.min(costs[costs > 0.0], initial=np.inf))
        if not np.isfinite(unit):  # nothing costs anything
            return 0.0, np.zeros((len(truth), self.n_labels), dtype=np.intp)
        whole = np.rint(costs / unit)
        if (whole * unit != costs).any() or len(truth) * whole.max() > _LOSSES:
            return unit, None
        steps = whole[truth].astype(np.intp)
        entries = steps.size * (int(steps.max(axis=1).sum()) + 1)
        return unit, steps if entries <= _ENTRIES else None

    def best_of_all(self, F: Floats, offsets: Indices, w: Floats) -> list[Any]:
        return np.split(self._chains(F, offsets, w).best()[0], offsets[1:-1])

    def two_best(self, F: Floats, w: Floats) -> list[Any]:
        return self.k_best(F, w, 2)

    def k_best(self, F: Floats, w: Floats, k: int) -> list[Any]:
        """Return the k best outputs of a sample, or all if there are fewer."""
        paths, values = self._chains(F, np.array([0, len(F)]), w).k_best(k)
        return [path for path, value in zip(paths, values[0], strict=True) if value > -np.inf]

    def sums(self, F: Floats, w: Floats) -> Sums:
        logs, psi, g = self.sums_of_all(F, np.array([0, len(F)]), w, np.ones(1))
        return Sums(float(logs[0]), psi, g)

    def sums_of_all(self, F: Floats, offsets: Indices, w: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
        found = self._chains(F, offsets, w).sums(weight)
        return found.log_partition, self._spread(found.marginals, offsets), self._scale * found.transitions.ravel()

    def _spread(self, marginals: Floats, offsets: Indices) -> Floats:
        """Return the expected psi from the marginals of the labels."""
        K, r = self.n_labels, int(self.window)
        if r == 0:
            return marginals
        psi = np.zeros((len(marginals), self.width))
        owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        for place in range(2 * r + 1):
            shift = place - r
            if abs(shift) < max(len(marginals), 1):
                own = slice(max(0, -shift), len(marginals) - max(0, shift))
                other = slice(max(0, shift), len(marginals) + min(0, shift))
                same = (owner[own] == owner[other])[:, None]
                psi[other, place * K : (place + 1) * K] = marginals[own] * same
        return psi

    def marginals_of_all(self, F: Floats, offsets: Indices, w: Floats) -> Floats:
        """Return the probability of each label at each position, (N, K)."""
        return self._chains(F, offsets, w).sums().marginals

    def outputs(self, sites: int) -> Iterator[Array]:
        if self.n_labels**sites > _MOST:
            return super().outputs(sites)
        return (np.array(y, dtype=np.intp) for y in product(range(self.n_labels), repeat=sites))

    def agreement(self, truth: Any, output: Any) -> tuple[float, float]:
        return float(np.sum(truth == output)), float(len(truth))


def label_rows(y: Any) -> list[Array]:
    """Return sequences of labels as arrays; TargetError if y is something else."""
    if y is None:
        raise TargetError("This estimator requires y to be passed, but the target y is None. Call fit(X, y).")
    rows: list[Array] = []
    for i, row in enumerate(y):
        labels = np.asarray(row) if not isinstance(row, str) else np.empty(())
        if labels.ndim != 1 or (labels.size and labels.dtype.kind not in "iubUS"):
            raise TargetError(
                f"entry {i} of y is {row!r:.60}; sequences of labels are accepted, each a list of integers or texts. "
                "Give one label per position."
            )
        rows.append(labels)
    if not rows:
        raise TargetError("y is empty; a list of sequences of labels is accepted. Give at least one.")
    if len({row.dtype.kind for row in rows if row.size}) > 1:
        raise TargetError(
            "y mixes labels that are texts with labels that are numbers; one kind is accepted. Convert them."
        )
    return rows


def label_codes(y: Any, classes: Array) -> Array:
    """Return sequences of labels as places among sorted classes; TargetError for a label that is not among them."""
    rows = label_rows(y)
    out = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        codes = np.minimum(np.searchsorted(classes, row), len(classes) - 1)
        strange = np.flatnonzero(classes[codes] != row)
        if len(strange):
            raise TargetError(
                f"sequence {i} of y has the label {row[strange[0]]!r}, which was not among those learned: "
                f"{', '.join(map(repr, classes[:10].tolist()))}. Give labels that were there in fit."
            )
        out[i] = codes.astype(np.intp)
    return out
