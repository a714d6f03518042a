"""Whether probabilities mean what they say: predicted against observed, in groups.

Symbols: of m samples in a group, k are of the class; its share is p = k / m.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from mercer.arrays import Floats, Indices
from mercer.constraints import Integer, Interval
from mercer.errors import ParameterError
from mercer.plots.canvas import COLOURS, axes
from mercer.plots.scored import classes_of, columns_of, probabilities_of

__all__ = ["CalibrationDisplay"]
__public__ = __all__


@dataclass(eq=False, repr=False)
class CalibrationDisplay:
    r"""Mean probability and observed share in groups of samples, with an interval for each share.

    Groups are of equal size, ordered by probability; samples of equal probability stay together. With two classes the
    event is the second class; with more, that the likeliest class is the true one. Intervals are Wilson's: the shares
    :math:`p` within :math:`z \sqrt{p (1 - p) / m}` of the observed one. Where the diagonal passes through them, the
    data do not contradict the probabilities.

    Parameters
    ----------
    predicted, observed, low, high : (g,) arrays
        Mean probabilities, shares, and the ends of their intervals.
    counts : (g,) array of int
        Samples of each group.
    error : float
        The mean absolute difference between predicted and observed, weighted by counts.
    event : str
        The event that the probabilities refer to.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        After `plot`.

    Examples
    --------
    >>> from mercer.plots import CalibrationDisplay
    >>> display = CalibrationDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.1, 0.8, 0.8], groups=2)
    >>> display.observed, display
    (array([0., 1.]), <CalibrationDisplay: 4 samples in 2 groups, mean difference 0.15>)
    """

    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats
    counts: Indices
    error: float
    event: str

    ax_: Any = None
    figure_: Any = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, groups: int = 10, level: float = 0.95, ax: Any = None
    ) -> CalibrationDisplay:
        """Draw the probabilities of a fitted classifier of mercer or any other library.

        Parameters
        ----------
        estimator : fitted classifier
            With `predict_proba`.
        X, y : samples and their classes
            Other than those it was fitted to.
        groups : int, default 10
        level : float, default 0.95
            Confidence level of the intervals.
        ax : matplotlib axes, optional
        """
        values = probabilities_of(estimator, X)
        return cls.from_predictions(y, values, classes=estimator.classes_, groups=groups, level=level, ax=ax)

    @classmethod
    def from_predictions(
        cls, y: Any, probabilities: Any, *, classes: Any = None, groups: int = 10, level: float = 0.95, ax: Any = None
    ) -> CalibrationDisplay:
        """Draw probabilities that have been computed.

        Parameters
        ----------
        y : (n,) array
            Classes.
        probabilities : (n,) array of the second class, or (n, c) for c classes
        classes : sequence, optional
            In the order of the columns; by default those in y, sorted.
        groups : int, default 10
        level : float, default 0.95
            Confidence level of the intervals.
        ax : matplotlib axes, optional
        """
        Integer(1, None).check("groups", groups, cls)
        Interval(0.0, 1.0, closed="neither").check("level", level, cls)
        matrix = columns_of(probabilities, "probabilities", len(np.atleast_1d(np.asarray(y))))
        if matrix.min() < 0.0 or matrix.max() > 1.0:
            raise ParameterError(
                f"probabilities from {matrix.min():.3g} to {matrix.max():.3g} were given; numbers from 0 to 1 are "
                "accepted. Decision values are no probabilities: use predict_proba."
            )
        labels, known = classes_of(y, classes, matrix.shape[1])
        if matrix.shape[1] == 1:
            chance, hit, event = matrix[:, 0], labels == known[1], f"the class {known[1]}"
        else:
            chance, hit, event = matrix.max(axis=1), labels == known[np.argmax(matrix, axis=1)], "being right"
        group = _groups(chance, groups)
        counts = np.bincount(group)
        predicted, observed = (np.bincount(group, weights=part) / counts for part in (chance, hit.astype(float)))
        low, high = _wilson(observed, counts, level)
        error = float(np.sum(counts * np.abs(predicted - observed)) / len(labels))
        return cls(predicted, observed, low, high, counts, error, event).plot(ax)

    def plot(self, ax: Any = None) -> CalibrationDisplay:
        """Draw the groups with their intervals; the dotted diagonal is perfect calibration."""
        self.ax_, self.figure_ = axes(ax, (4.2, 4.0))
        self.ax_.plot([0, 1], [0, 1], ":", color=COLOURS[-1], linewidth=1.0)
        bars = np.stack([self.observed - self.low, self.high - self.observed]).clip(0.0)
        style: Any = {"marker": "o", "markersize": 4, "linewidth": 1.2, "capsize": 2, "color": COLOURS[0]}
        self.ax_.errorbar(self.predicted, self.observed, yerr=bars, **style)
        self.ax_.set(xlabel=f"predicted probability of {self.event}", ylabel="observed share", aspect="equal")
        self.ax_.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        return self

    def __repr__(self) -> str:
        groups = f"{len(self.counts)} group{'' if len(self.counts) == 1 else 's'}"
        return f"<CalibrationDisplay: {self.counts.sum()} samples in {groups}, mean difference {self.error:.3g}>"


def _groups(chance: Floats, groups: int) -> Indices:
    """Return the group of each sample; groups are as equal in size as ties allow."""
    different, place, counts = np.unique(chance, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - 0.5 * counts
    number = np.floor(middle * groups / len(chance)).astype(np.intp)
    return np.unique(number, return_inverse=True)[1][place] if len(different) else place


def _wilson(share: Floats, counts: Indices, level: float) -> tuple[Floats, Floats]:
    """Return the ends of Wilson's intervals for shares among counts."""
    z = float(ndtri(0.5 + 0.5 * level))
    centre = (share + z**2 / (2 * counts)) / (1 + z**2 / counts)
    half = z * np.sqrt(share * (1 - share) / counts + (z / (2 * counts)) ** 2) / (1 + z**2 / counts)
    return centre - half, centre + half
