"""Outputs that are labels of a whole collection: what counts is F1, precision or ROC area, not single errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any, Self

import numpy as np

from mercer.arrays import Array, Floats
from mercer.constraints import InstanceOf, Integer, OneOf, Optional
from mercer.errors import CapabilityError, ParameterError, TargetError
from mercer.estimators.structured.label_sequences import label_codes, label_rows
from mercer.estimators.structured.output_space import Constraint, OutputSpace

__all__ = ["JointLabels", "JointRanking"]
__public__ = __all__

_MOST = 2**16  # outputs that are listed


class _Collections(OutputSpace):
    """Collections of objects of two classes, with one function."""

    has_sites = True
    classes: Any

    def learn(self, y: Any) -> Self:
        rows = label_rows(y)
        classes = np.unique(np.concatenate(rows))
        if len(classes) != 2:
            raise TargetError(
                f"y has {len(classes)} classes; collections of objects of two classes are accepted. Give labels of two "
                "classes, the second in sorted order being the one that is looked for."
            )
        return self.replace(classes=classes)

    def encode(self, y: Any) -> Array:
        return label_codes(y, np.asarray(self.classes))


class JointLabels(_Collections):
    r"""Labels of all objects of a collection at once, with a loss that is a measure of the whole, such as F1.

    .. math:: f(x, y) = \sum_s y_s f(x_s), \quad y \in \{0, 1\}^m; \qquad
        \Delta(y, y') = 1 - \frac{2 a}{a + b + P}

    with P positive objects, a of which y' finds, and b others that it takes for positive. The most violated labels for
    each pair (a, b) are those with the a highest positive and the b highest negative objects, so all pairs are
    searched in O(m^2).

    Seed: [HSS] Section 3.1.4 (joint labelling, after Joachims).

    Parameters
    ----------
    measure : {"f1", "precision", "error"}, default "f1"
        1 - F1; 1 - a / min(k, P), of labels with exactly k positive objects; or the share of errors.
    k : int, optional
        How many objects are taken for positive; needed for "precision", and only there.
    classes : (2,) array, optional
        Learned: the labels; the second, in sorted order, is positive.

    Notes
    -----
    X is a list of collections, y a list of their labels; for one collection, ``fit([X], [y])``. Each collection has one
    slack, and C is the cost of a loss of 1 on the whole collection: larger than for a slack per object. There is no
    bias; add a constant to the kernel for one, but not for "precision".

    Examples
    --------
    >>> from mercer import JointLabels, StructuredSVC
    >>> from mercer.kernels import Constant, Linear
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [0, 0, 0, 1, 1]
    >>> model = StructuredSVC(Linear() + Constant(10.0), C=100.0, outputs=JointLabels("f1")).fit([X], [y])
    >>> model.predict([[[0.5], [3.5]]])[0]
    array([0, 1])
    """

    constraints = {
        "measure": OneOf("f1", "precision", "error"),
        "k": Optional(Integer(1)),
        "classes": Optional(InstanceOf(np.ndarray, list, tuple)),
    }

    def __init__(self, measure: str = "f1", k: int | None = None, classes: Any = None) -> None:
        self.measure = measure
        self.k = k
        self.classes = classes

    def learn(self, y: Any) -> Self:
        if (self.k is None) == (self.measure == "precision"):
            raise ParameterError(
                f"k={self.k} was given with measure={self.measure!r}; a number is accepted with 'precision', and None "
                "with the others. Use JointLabels('precision', k=10)."
            )
        return super().learn(y)

    def decode(self, outputs: Sequence[Any]) -> Any:
        return [np.asarray(self.classes)[np.asarray(output, dtype=np.intp)] for output in outputs]

    def features(self, output: Any, sites: int) -> tuple[Floats, Floats]:
        return np.asarray(output, dtype=float)[:, None], np.empty(0)

    def _losses(self, found: Any, wrong: Any, positive: int, sites: int) -> Any:
        """Return the loss for given numbers of true and false positives."""
        if self.measure == "error":
            return (positive - found + wrong) / sites
        if self.measure == "precision":
            most = min(int(self.k or 1), positive)
            return np.maximum(0.0, 1.0 - found / most) if most else np.zeros(np.shape(found + wrong))
        taken = found + wrong + positive  # 0 only where nothing is positive and nothing is taken for it: right
        return 1.0 - np.where(taken > 0, 2.0 * found, 1.0) / np.maximum(taken, 1)

    def loss(self, truth: Any, output: Any) -> float:
        y, taken = np.asarray(truth) == 1, np.asarray(output) == 1
        return float(self._losses(np.sum(taken & y), np.sum(taken & ~y), int(y.sum()), len(y)))

    def augmented(self, F: Floats, w: Floats, truth: Any) -> Any:
        f, m = F[:, 0], len(F)
        out = np.zeros(m, dtype=np.intp)
        if truth is None:
            out[np.argsort(-f, kind="stable")[: self.k] if self.measure == "precision" else f > 0.0] = 1
            return out
        places = np.arange(m)
        order = [side[np.argsort(-f[side], kind="stable")] for side in (places[truth == 1], places[truth == 0])]
        gains = [np.concatenate([[0.0], np.cumsum(f[side])]) for side in order]
        P, N = map(len, order)
        best = (-np.inf, 0, 0)
        for a in range(P + 1):
            b = np.arange(N + 1)
            if self.measure == "precision":
                b = b[b == min(int(self.k or 1), m) - a]
            if len(b):
                values = gains[0][a] + gains[1][b] + self._losses(a, b, P, m)
                place = int(np.argmax(values))
                best = max(best, (float(values[place]), a, int(b[place])))
        out[order[0][: best[1]]] = 1
        out[order[1][: best[2]]] = 1
        return out

    def outputs(self, sites: int) -> Iterator[Array]:
        if 2**sites > _MOST:
            return super().outputs(sites)
        if self.measure == "precision":
            taken = combinations(range(sites), min(int(self.k or 1), sites))
            return (np.isin(np.arange(sites), which).astype(np.intp) for which in taken)
        return (np.array(y, dtype=np.intp) for y in product((0, 1), repeat=sites))

    def agreement(self, truth: Any, output: Any) -> tuple[float, float]:
        """Return one minus the loss, of 1."""
        return 1.0 - self.loss(truth, output), 1.0


class JointRanking(_Collections):
    r"""An order of all objects of a collection of two classes, with the area above the ROC curve as the loss.

    .. math:: \Delta = \frac{1}{P N} \, |\{(i, j) : y_i = 1,\; y_j = 0,\; i \text{ after } j\}|, \qquad
        \xi = \frac{1}{P N} \sum_{y_i > y_j} \bigl(1 - f(x_i) + f(x_j)\bigr)_+

    Every pair of a positive and a negative object may be in the wrong order independently of the others, so that the
    slack is the mean hinge of all pairs; the sums of the most violated order are found by sorting.

    Seed: [HSS] Section 3.1.4 (ROC area, after Joachims).

    Parameters
    ----------
    classes : (2,) array, optional
        Learned: the labels; the second, in sorted order, is positive.

    Notes
    -----
    X is a list of collections, y a list of their labels; for one collection, ``fit([X], [y])``. Predictions are ranks,
    0 for the object that is most probably positive. `RankSVM` does the same with squared slacks, for any relevances.

    Examples
    --------
    >>> from mercer import JointRanking, StructuredSVC
    >>> from mercer.kernels import Linear
    >>> model = StructuredSVC(Linear(), outputs=JointRanking()).fit([[[0.0], [1.0], [3.0]]], [[0, 0, 1]])
    >>> model.predict([[[5.0], [2.0], [9.0]]])[0]
    array([1, 2, 0])
    """

    constraints = {"classes": Optional(InstanceOf(np.ndarray, list, tuple))}

    def __init__(self, classes: Any = None) -> None:
        self.classes = classes

    def decode(self, outputs: Sequence[Any]) -> Any:
        return [np.argsort(order) for order in outputs]

    def features(self, output: Any, sites: int) -> tuple[Floats, Floats]:
        """Return the place of each object, so that the best order sorts the values."""
        psi = np.zeros((sites, 1))
        psi[np.asarray(output), 0] = np.arange(sites - 1, -1, -1) - 0.5 * (sites - 1)
        return psi, np.empty(0)

    def loss(self, truth: Any, output: Any) -> float:
        right, of = self.agreement(truth, output)
        return 1.0 - right / of if of else 0.0

    def agreement(self, truth: Any, output: Any) -> tuple[float, float]:
        """Return how many pairs are in the right order, and how many there are."""
        y = np.asarray(truth)[np.asarray(output)]
        return float(np.sum((y == 0) * np.cumsum(y == 1))), float(np.sum(y == 1) * np.sum(y == 0))

    def truths(self, output: Any) -> list[tuple[Any, float]]:
        return [(output, 1.0)] if 0 < np.sum(output) < len(output) else []

    def augmented(self, F: Floats, w: Floats, truth: Any) -> Any:
        if truth is not None:
            raise CapabilityError(
                "JointRanking has no best order with a loss: each pair may be in the wrong order on its own. Use "
                "`violated`."
            )
        return np.argsort(-F[:, 0], kind="stable")

    def violated(self, F: Floats, w: Floats, truth: Any, rescaling: str = "margin") -> Constraint:
        if rescaling != "margin":
            raise CapabilityError(
                "JointRanking was asked for rescaled slacks; it finds the most violated order by rescaled margins. Use "
                "rescaling='margin'."
            )
        f, y = F[:, 0], np.asarray(truth) == 1
        above, below = np.sort(f[y]), np.sort(f[~y])
        psi = np.zeros((len(f), 1))
        psi[y, 0] = len(below) - np.searchsorted(below, f[y] - 1.0, side="right")  # negatives above f - 1
        psi[~y, 0] = -np.searchsorted(above, f[~y] + 1.0, side="left")  # positives below f + 1
        pairs = len(above) * len(below)
        return Constraint(psi.tobytes(), psi / pairs, np.empty(0), float(psi[y].sum() / pairs))
