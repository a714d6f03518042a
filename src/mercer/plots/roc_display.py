"""What a classifier gains and what that costs, for every threshold: its ROC curves.

Symbols: v decision values, t a threshold; the true rate is P(v >= t | the class), the false rate P(v >= t | another).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import roc_curve

from mercer.arrays import Floats
from mercer.errors import TargetError, printable
from mercer.plots.canvas import COLOURS, axes
from mercer.plots.scored import classes_of, columns_of, values_of

__all__ = ["RocDisplay"]
__public__ = __all__


@dataclass(eq=False, repr=False)
class RocDisplay:
    r"""Share of a class that is found against share of the others that is taken for it, over all thresholds.

    The area under the curve is the probability that a sample of the class has a larger value than another,
    :math:`P(v > v') + P(v = v') / 2`. Two classes have one curve, the second's; more have one each, against the rest.

    Parameters
    ----------
    false_rates, true_rates : lists of arrays
        One pair for each curve, ascending.
    areas : (c,) array
    names : sequence
        The class of each curve.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        After `plot`.

    Examples
    --------
    Of the four pairs of a 0 and a 1, three are in the right order:

    >>> from mercer.plots import RocDisplay
    >>> display = RocDisplay.from_predictions([0, 1, 0, 1], [-2.0, -1.0, 0.5, 3.0])
    >>> display.areas, display
    (array([0.75]), <RocDisplay of 1 curve: area 0.75>)
    """

    false_rates: list[Floats]
    true_rates: list[Floats]
    areas: Floats
    names: Any

    ax_: Any = None
    figure_: Any = None

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None) -> RocDisplay:
        """Draw the curves of a fitted classifier of mercer or any other library.

        Parameters
        ----------
        estimator : fitted classifier
            With `decision_function` or `predict_proba`.
        X, y : samples and their classes
            Other than those it was fitted to, for which the curve would be too good.
        ax : matplotlib axes, optional
        """
        return cls.from_predictions(y, values_of(estimator, X), classes=estimator.classes_, ax=ax)

    @classmethod
    def from_predictions(cls, y: Any, values: Any, *, classes: Any = None, ax: Any = None) -> RocDisplay:
        """Draw the curves of values that have been computed.

        Parameters
        ----------
        y : (n,) array
            Classes.
        values : (n,) array, or (n, c) for c classes
            Large where the class is likely; for two classes, where the second is.
        classes : sequence, optional
            In the order of the columns; by default those in y, sorted.
        ax : matplotlib axes, optional
        """
        matrix = columns_of(values, "values", len(np.atleast_1d(np.asarray(y))))
        labels, known = classes_of(y, classes, matrix.shape[1])
        names = known[1:] if matrix.shape[1] == 1 else known
        found = [(name, column) for name, column in zip(names, matrix.T, strict=True) if np.any(labels == name)]
        if len(np.unique(labels)) < 2:
            raise TargetError(
                f"y holds the class {labels[0]!r} alone; a curve compares two. Give samples of another class as well."
            )
        rates = [roc_curve(labels == name, column, drop_intermediate=False)[:2] for name, column in found]
        areas = np.array([np.trapezoid(true, false) for false, true in rates])
        names = [name for name, _ in found]
        return cls([false for false, _ in rates], [true for _, true in rates], areas, names).plot(ax)

    def plot(self, ax: Any = None) -> RocDisplay:
        """Draw the curves, each with its area; the dotted diagonal is random guessing."""
        self.ax_, self.figure_ = axes(ax, (4.2, 4.0))
        self.ax_.plot([0, 1], [0, 1], ":", color=COLOURS[-1], linewidth=1.0)
        for place, (false, true) in enumerate(zip(self.false_rates, self.true_rates, strict=True)):
            name = printable(str(self.names[place])).replace("$", r"\$")
            label = f"{name}: area {self.areas[place]:.3f}"
            self.ax_.plot(false, true, color=COLOURS[place % len(COLOURS)], label=label)
        self.ax_.set(xlabel="false positive rate", ylabel="true positive rate", aspect="equal")
        self.ax_.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        self.ax_.legend(loc="lower right", fontsize="small")
        return self

    def __repr__(self) -> str:
        count = len(self.names)
        areas = ", ".join(f"{area:.3g}" for area in self.areas[:6]) + (", ..." if count > 6 else "")
        return f"<RocDisplay of {count} curve{'' if count == 1 else 's'}: area {areas}>"
