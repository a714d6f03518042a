"""A classifier of points in the plane, drawn: its decision regions, its margin and its support vectors.

Symbols: f the decision function; the boundary is f = 0, the margins are f = -1 and f = 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arguments import real_array
from mercer.arrays import Floats
from mercer.constraints import Integer
from mercer.errors import CapabilityError, DomainError
from mercer.plots.canvas import COLOURS, axes

__all__ = ["MarginDisplay"]
__public__ = __all__


@dataclass(eq=False, repr=False)
class MarginDisplay:
    r"""Decision regions of a classifier in two columns; for two classes also the margins :math:`f(x) = \pm 1`.

    scikit-learn's ``DecisionBoundaryDisplay`` fills regions only; this one draws margins and support vectors as well.

    Parameters
    ----------
    x, y : (r,) arrays
        The grid.
    values : (r, r) array
        Decision values for two classes, otherwise the number of the class that is predicted.
    points : (n, 2) array
    codes : (n,) array
        Class numbers of the points.
    classes : sequence
    support : array of int
        Rows of points that are circled.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        After `plot`.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.plots import MarginDisplay
    >>> X, y = [[0.0, 0.0], [2.0, 0.0]], [0, 1]
    >>> display = MarginDisplay.from_estimator(SVC("linear", C=10.0).fit(X, y), X, y, resolution=3)
    >>> display.values[1].round(2)
    array([-1.2,  0. ,  1.2])
    """

    x: Floats
    y: Floats
    values: Floats
    points: Floats
    codes: Any
    classes: Any
    support: Any = ()

    ax_: Any = None
    figure_: Any = None

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, resolution: int = 120, ax: Any = None) -> MarginDisplay:
        """Draw a fitted classifier of mercer or any other library.

        Parameters
        ----------
        estimator : fitted classifier
        X : (n, 2) array
            Samples; the grid reaches a tenth of their range beyond them.
        y : (n,) array
            Their classes.
        resolution : int, default 120
            Points of the grid along each axis.
        ax : matplotlib axes, optional
        """
        Integer(2, None).check("resolution", resolution, cls)
        points = real_array(X, "X", 2)
        if points.shape[1] != 2:
            raise DomainError(
                f"X of {points.shape[1]} columns was given; a plane has two. Choose two columns, or draw the first two "
                "components with ComponentsDisplay."
            )
        if not hasattr(estimator, "predict") or not hasattr(estimator, "classes_"):
            raise CapabilityError(
                f"{type(estimator).__name__} is no fitted classifier: it has no classes_. Fit a classifier, as SVC."
            )
        low, high = points.min(axis=0), points.max(axis=0)
        reach = 0.1 * np.where(high > low, high - low, 1.0)
        lines = [np.linspace(a - r, b + r, resolution) for a, b, r in zip(low, high, reach, strict=True)]
        grid = np.stack(np.meshgrid(*lines), axis=-1).reshape(-1, 2)
        classes = np.asarray(estimator.classes_)
        if len(classes) == 2 and hasattr(estimator, "decision_function"):
            values = np.asarray(estimator.decision_function(grid), dtype=float)
        else:
            values = np.searchsorted(classes, estimator.predict(grid)).astype(float)
        shape = (resolution, resolution)
        codes = np.searchsorted(classes, np.asarray(y))
        support = np.asarray(getattr(estimator, "support_", ()), dtype=np.intp)
        support = support if support.size == 0 or support.max() < len(points) else support[:0]
        return cls(lines[0], lines[1], values.reshape(shape), points, codes, classes, support).plot(ax)

    def plot(self, ax: Any = None) -> MarginDisplay:
        """Draw regions, boundary, margins and samples; support vectors are circled."""
        self.ax_, self.figure_ = axes(ax, (4.6, 3.8))
        colours = [COLOURS[code % len(COLOURS)] for code in range(len(self.classes))]
        if len(self.classes) == 2 and np.any(self.values % 1.0):
            bounds = [-np.inf, 0.0, np.inf]
            shades = np.clip(bounds, self.values.min() - 1.0, self.values.max() + 1.0)
            self.ax_.contourf(self.x, self.y, self.values, levels=shades, colors=colours, alpha=0.18)
            styles = ["--", "-", "--"]
            self.ax_.contour(
                self.x,
                self.y,
                self.values,
                levels=[-1, 0, 1],
                colors="k",
                linestyles=styles,
                linewidths=[0.7, 1.3, 0.7],
            )
        else:
            levels = np.arange(len(self.classes) + 1) - 0.5
            self.ax_.contourf(self.x, self.y, self.values, levels=levels, colors=colours, alpha=0.18)
        for code, name in enumerate(self.classes):
            held = self.points[self.codes == code]
            self.ax_.scatter(*held.T, s=16, color=colours[code], label=str(name))
        if len(self.support):
            self.ax_.scatter(*self.points[self.support].T, s=46, facecolor="none", edgecolor="k", linewidth=0.7)
        self.ax_.legend(fontsize="small")
        return self
