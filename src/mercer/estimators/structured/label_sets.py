"""Outputs that are sets of labels, and rankings of labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Any, Self

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.constraints import Integer, OneOf, Optional
from mercer.errors import CapabilityError, TargetError
from mercer.estimators.structured.output_space import Constraint, OutputSpace, Sums

__all__ = ["LabelSets", "Rankings", "read_indicators"]
__public__ = ["LabelSets", "Rankings"]

_MOST = 2**16  # outputs that are listed


class LabelSets(OutputSpace):
    r"""Any subset of some labels: one function per label, and a label is in the set where its function is positive.

    .. math:: f(x, y) = \sum_{l} y_l f_l(x), \qquad \Delta(y, y') = |\{l : y_l \ne y'_l\}|

    Seed: [HSS] Section 3.1.4 (multilabel).

    Parameters
    ----------
    n_labels : int, optional
        Learned: the number of labels.

    Notes
    -----
    y is an array (n, labels) of zeros and ones. There is no bias; add a constant to the kernel for one.

    Examples
    --------
    >>> space = LabelSets().learn([[1, 0, 1], [0, 0, 1]])
    >>> space.best(np.array([[0.5, -1.0, 2.0]]), np.empty(0))
    array([1, 0, 1])
    """

    constraints = {"n_labels": Optional(Integer(1))}

    def __init__(self, n_labels: int | None = None) -> None:
        self.n_labels = n_labels

    @property
    def width(self) -> int:
        """Number of labels."""
        return int(self.n_labels or 0)

    def learn(self, y: Any) -> Self:
        return self.replace(n_labels=read_indicators(y).shape[1])

    def encode(self, y: Any) -> Array:
        table = read_indicators(y)
        if table.shape[1] != self.n_labels:
            raise TargetError(
                f"y has {table.shape[1]} columns; {self.n_labels} labels were learned. Give a column for each of them."
            )
        return table

    def decode(self, outputs: Sequence[Any]) -> Any:
        return np.array(list(outputs), dtype=np.intp).reshape(-1, self.width)

    def features(self, output: Any, sites: int) -> tuple[Floats, Floats]:
        return np.asarray(output, dtype=float)[None], np.empty(0)

    def loss(self, truth: Any, output: Any) -> float:
        return float(np.sum(np.asarray(truth) != np.asarray(output)))

    def augmented(self, F: Floats, w: Floats, truth: Any) -> Any:
        scores = F[0] if truth is None else F[0] + 1.0 - 2.0 * np.asarray(truth, dtype=float)
        return (scores > 0.0).astype(np.intp)

    def best_of_all(self, F: Floats, offsets: Indices, w: Floats) -> list[Any]:
        return list((F > 0.0).astype(np.intp))

    def two_best(self, F: Floats, w: Floats) -> list[Any]:
        first = self.best(F, w)
        second = first.copy()
        second[np.argmin(np.abs(F[0]))] ^= 1
        return [first, second]

    def sums(self, F: Floats, w: Floats) -> Sums:
        logs, psi, g = self.sums_of_all(F, np.array([0, 1]), w, np.ones(1))
        return Sums(float(logs[0]), psi, g)

    def sums_of_all(self, F: Floats, offsets: Indices, w: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
        logs = np.logaddexp(0.0, F).sum(axis=1)
        return logs, np.exp(-np.logaddexp(0.0, -F)), np.empty(0)

    def outputs(self, sites: int) -> Iterator[Array]:
        if 2**self.width > _MOST:
            return super().outputs(sites)
        return (np.array(y, dtype=np.intp) for y in product((0, 1), repeat=self.width))

    def agreement(self, truth: Any, output: Any) -> tuple[float, float]:
        return float(np.sum(np.asarray(truth) == np.asarray(output))), float(self.width)


class Rankings(OutputSpace):
    r"""An order of some labels for each sample, learned from preferences: which label is preferred to which.

    .. math:: \min_f \; \tfrac12 \|f\|^2 + C \sum_i \frac{1}{|\mathcal{A}(y_i)|} \sum_{G \in \mathcal{A}(y_i)}
        \max_{(u, v) \in G} \bigl(1 - f_u(x_i) + f_v(x_i)\bigr)_+

    The graph of preferences of a sample is decomposed into subgraphs, each with its own slack; the loss is the share
    of subgraphs that the predicted order does not satisfy.

    Seed: [HSS] Eq. (89).

    Parameters
    ----------
    decomposition : {"edges", "stars", "graph"}, default "edges"
        A(y): each preference on its own, a label with all that it is preferred to, or the graph as a whole.
    n_labels : int, optional
        Learned: the number of labels.

    Notes
    -----
    y is an array (n, labels) of relevances: u is preferred to v where its relevance is larger, and equal ones are not
    compared. Predictions are ranks, 0 for the label that is preferred to all others.

    Examples
    --------
    >>> space = Rankings().learn([[2.0, 0.0, 1.0]])
    >>> space.encode([[2.0, 0.0, 1.0]])[0]
    array([[0, 1],
           [0, 2],
           [2, 1]])
    >>> space.decode([space.best(np.array([[0.3, 0.1, 0.2]]), np.empty(0))])
    array([[0, 2, 1]])
    """

    constraints = {
        "decomposition": OneOf("edges", "stars", "graph"),
        "n_labels": Optional(Integer(1)),
    }

    def __init__(self, decomposition: str = "edges", n_labels: int | None = None) -> None:
        self.decomposition = decomposition
        self.n_labels = n_labels

    @property
    def width(self) -> int:
        """Number of labels."""
        return int(self.n_labels or 0)

    def learn(self, y: Any) -> Self:
        return self.replace(n_labels=_relevances(y).shape[1])

    def encode(self, y: Any) -> Array:
        table = _relevances(y)
        if table.shape[1] != self.n_labels:
            raise TargetError(
                f"y has {table.shape[1]} columns; {self.n_labels} labels were learned. Give a column for each of them."
            )
        out = np.empty(len(table), dtype=object)
        for i, row in enumerate(table):
            out[i] = np.argwhere(row[:, None] > row).astype(np.intp)
        return out

    def decode(self, outputs: Sequence[Any]) -> Any:
        return np.array([np.argsort(order) for order in outputs], dtype=np.intp).reshape(-1, self.width)

    def features(self, output: Any, sites: int) -> tuple[Floats, Floats]:
        """Return how much each label is above the others: its place, so that the best order sorts the scores."""
        psi = np.zeros((1, self.width))
        psi[0, np.asarray(output)] = np.arange(self.width - 1, -1, -1) - 0.5 * (self.width - 1)
        return psi, np.empty(0)

    def loss(self, truth: Any, output: Any) -> float:
        place = np.argsort(output)
        parts = self.truths(truth)
        return sum(w * float(np.any(place[G[:, 0]] > place[G[:, 1]])) for G, w in parts)

    def augmented(self, F: Floats, w: Floats, truth: Any) -> Any:
        if truth is not None:
            raise CapabilityError(
                "Rankings have no best order with a loss: each part of a preference graph has a constraint of its own. "
                "Use `violated`."
            )
        return np.argsort(-F[0], kind="stable")

    def truths(self, output: Any) -> list[tuple[Any, float]]:
        if not len(output):
            return []
        if self.decomposition == "graph":
            parts = [output]
        elif self.decomposition == "stars":
            parts = [output[output[:, 0] == u] for u in np.unique(output[:, 0])]
        else:
            parts = list(output[:, None])
        return [(part, 1.0 / len(parts)) for part in parts]

    def violated(self, F: Floats, w: Floats, truth: Any, rescaling: str = "margin") -> Constraint:
        u, v = truth[np.argmin(F[0, truth[:, 0]] - F[0, truth[:, 1]])]
        psi = np.zeros_like(F)
        psi[0, u], psi[0, v] = 1.0, -1.0
        return Constraint((int(u), int(v)), psi, np.empty(0), 1.0)

    def outputs(self, sites: int) -> Iterator[Array]:
        if self.width > 8:
            return super().outputs(sites)
        return (np.array(order, dtype=np.intp) for order in permutations(range(self.width)))

    def agreement(self, truth: Any, output: Any) -> tuple[float, float]:
        place = np.argsort(output)
        return float(np.sum(place[truth[:, 0]] < place[truth[:, 1]])), float(len(truth))


def read_indicators(y: Any) -> Array:
    """Return sets of labels as an array (n, labels) of zeros and ones; TargetError if they are something else."""
    if y is None:
        raise TargetError("This estimator requires y to be passed, but the target y is None. Call fit(X, y).")
    try:
        table = np.asarray(y.toarray() if hasattr(y, "toarray") else y)
        given = f"an array of shape {table.shape} and type {table.dtype}"
        good = table.ndim == 2 and table.size > 0 and table.dtype.kind in "biuf" and bool(np.isin(table, (0, 1)).all())
    except ValueError:
        table, given, good = np.empty((0, 0)), "rows of different lengths", False
    if not good:
        raise TargetError(
            f"y is {given}; sets of labels are an array (n, labels) of zeros and ones. Use "
            "sklearn.preprocessing.MultiLabelBinarizer for lists of labels."
        )
    return table.astype(np.intp)


def _relevances(y: Any) -> Floats:
    if y is None:
        raise TargetError("This estimator requires y to be passed, but the target y is None. Call fit(X, y).")
    try:
        table = np.asarray(y, dtype=float)
    except (TypeError, ValueError):
        table = np.empty(0)
    if table.ndim != 2 or not table.size or not np.isfinite(table).all():
        raise TargetError(
            f"y of shape {table.shape} was given; preferences are an array (n, labels) of finite relevances, larger "
            "for what is preferred. Give one column per label."
        )
    return table
