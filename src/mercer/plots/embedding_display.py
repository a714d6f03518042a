"""Samples as points in the plane, with their names beside them where there is room."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from mercer.arguments import real_array
from mercer.arrays import Floats, Indices
from mercer.constraints import Integer
from mercer.errors import CapabilityError, DomainError, ParameterError, printable
from mercer.estimators import KernelPCA
from mercer.kernels import Kernel
from mercer.plots.canvas import COLOURS, axes

__all__ = ["EmbeddingDisplay"]
__public__ = __all__

_GAP = 4.0  # points between a dot and its name
# Where a name may stand, as (alignment, offset in units of the gap): to the right first, as on maps.
_PLACES = (
    ("left", "center", 1.0, 0.0),
    ("right", "center", -1.0, 0.0),
    ("center", "bottom", 0.0, 1.0),
    ("center", "top", 0.0, -1.0),
    ("left", "bottom", 0.7, 0.7),
    ("left", "top", 0.7, -0.7),
    ("right", "bottom", -0.7, 0.7),
    ("right", "top", -0.7, -0.7),
)


@dataclass(eq=False, repr=False)
class EmbeddingDisplay:
    """Points with names that overlap neither each other nor other points; a name without room is left out.

    No pointer is needed to read the names, so the picture can be printed. Isolated points are named first, so that
    outliers are identified.

    Parameters
    ----------
    points : (n, 2) array
    labels : sequence of n names, optional
    groups : (n,) array, optional
        Classes, which colour the points.
    name : str
        What the axes are called.

    Attributes
    ----------
    shown_ : array of int
        Points whose names were drawn, after `plot`.
    ax_, figure_ : matplotlib objects
        After `plot`.

    Examples
    --------
    >>> from mercer.kernels import Spectrum
    >>> from mercer.plots import EmbeddingDisplay
    >>> words = ["banana", "bandana", "ananas", "kernel", "kernels", "colonel"]
    >>> display = EmbeddingDisplay.from_kernel(Spectrum(2).normalized(), words)
    >>> display.points.shape, display.labels[0]
    ((6, 2), 'banana')
    """

    points: Floats
    labels: Any = None
    groups: Any = None
    name: str = "coordinate"

    shown_: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    ax_: Any = None
    figure_: Any = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, labels: Any = None, groups: Any = None, *, ax: Any = None
    ) -> EmbeddingDisplay:
        """Draw the first two coordinates that a fitted estimator gives to samples.

        Parameters
        ----------
        estimator : fitted estimator
            With `transform`, such as `KernelPCA`, or with `embedding_`, such as `LaplacianEigenmap`.
        X : raw data, optional
            None draws the samples that it was fitted to (`embedding_`).
        labels : sequence of n names, optional
            None names points by their numbers.
        groups : (n,) array, optional
        ax : matplotlib axes, optional
        """
        if X is None and hasattr(estimator, "embedding_"):
            scores = estimator.embedding_
        elif X is not None and hasattr(estimator, "transform"):
            scores = estimator.transform(X)
        else:
            raise CapabilityError(
                f"EmbeddingDisplay was given {type(estimator).__name__} and {'no X' if X is None else 'X'}; an "
                "estimator with embedding_, or X and one with transform, is accepted. Give for example "
                "KernelPCA(kernel, 2).fit(X) and X."
            )
        return cls.from_points(_two_columns(scores), labels, groups, name="component", ax=ax)

    @classmethod
    def from_kernel(
        cls, kernel: Kernel, X: Any, labels: Any = None, groups: Any = None, *, ax: Any = None
    ) -> EmbeddingDisplay:
        """Draw samples by the first two components of a kernel; strings name themselves.

        Parameters
        ----------
        kernel : Kernel
        X : raw data
        labels : sequence of n names, optional
        groups : (n,) array, optional
        ax : matplotlib axes, optional
        """
        scores = _two_columns(KernelPCA(kernel, 2).fit(X).transform(X))
        plain = isinstance(X, list | tuple) and all(isinstance(one, str) for one in X)
        return cls.from_points(scores, X if labels is None and plain else labels, groups, name="component", ax=ax)

    @classmethod
    def from_points(
        cls, points: Any, labels: Any = None, groups: Any = None, *, name: str = "coordinate", ax: Any = None
    ) -> EmbeddingDisplay:
        """Draw points that have been computed.

        Parameters
        ----------
        points : (n, 2) array
        labels : sequence of n names, optional
        groups : (n,) array, optional
        name : str, default "coordinate"
            What the axes are called.
        ax : matplotlib axes, optional
        """
        scores = real_array(points, "points", 2)
        if scores.shape[1] != 2:
            raise DomainError(
                f"points of {scores.shape[1]} columns were given; a plane has two. Choose two columns: points[:, :2]."
            )
        for what, given in (("labels", labels), ("groups", groups)):
            if given is not None and len(given) != len(scores):
                raise ParameterError(
                    f"{len(given)} {what} were given for {len(scores)} points; one for each is accepted. Give as many."
                )
        names = [str(one) for one in (range(len(scores)) if labels is None else labels)]
        return cls(scores, names, None if groups is None else np.asarray(groups), name).plot(ax)

    def plot(self, ax: Any = None, *, max_labels: int = 150) -> EmbeddingDisplay:
        """Draw the points, and then as many names as fit.

        Parameters
        ----------
        ax : matplotlib axes, optional
        max_labels : int, default 150
            Largest number of names to try.
        """
        Integer(0, None).check("max_labels", max_labels, type(self))
        self.ax_, self.figure_ = axes(ax, (5.6, 4.4))
        for place, (group, held) in enumerate(self._groups()):
            style: Any = {"color": COLOURS[place % len(COLOURS)], "label": group}
            self.ax_.scatter(*self.points[held].T, s=12, **style)
        self.ax_.set(xlabel=f"{self.name} 1", ylabel=f"{self.name} 2")
        self.ax_.margins(0.12)
        if self.groups is not None:
            self.ax_.legend(fontsize="small")
        self.shown_ = self._write(max_labels) if self.labels is not None and len(self.points) else self.shown_
        return self

    def _groups(self) -> Iterator[tuple[str | None, Any]]:
        if self.groups is None:
            yield None, np.arange(len(self.points))
            return
        for group in np.unique(self.groups):
            yield printable(str(group)).replace("$", r"\$"), np.flatnonzero(self.groups == group)

    def _write(self, most: int) -> Indices:
        """Place names one by one where there is room; return the points that were named."""
        self.figure_.draw_without_rendering()  # so that axes have their final size
        dots = self.ax_.transData.transform(self.points)
        frame, legend = self.ax_.get_window_extent(), self.ax_.get_legend()
        taken = [] if legend is None else [legend.get_window_extent().extents]
        shown = []
        for i in _loneliest_first(dots)[:most]:
            name = printable(str(self.labels[i])).replace("$", r"\$")
            for across, up, dx, dy in _PLACES:
                text = self.ax_.annotate(
                    name,
                    self.points[i],
                    (_GAP * dx, _GAP * dy),
                    textcoords="offset points",
                    ha=across,
                    va=up,
                    fontsize="small",
                )
                text.set_in_layout(False)
                box = text.get_window_extent().extents
                if _fits(box, frame.extents, dots, taken):
                    taken.append(box)
                    shown.append(i)
                    break
                text.remove()
        return np.sort(np.array(shown, dtype=np.intp))

    def __repr__(self) -> str:
        names = 0 if self.labels is None else len(self.labels)
        return f"<EmbeddingDisplay: {len(self.points)} points, {len(self.shown_)} of {names} names drawn>"


def _two_columns(scores: Any) -> Floats:
    """Return the first two columns; zeros where there is only one, as for samples on a line."""
    matrix = np.asarray(scores, dtype=float)
    missing = max(0, 2 - matrix.shape[1])
    return np.pad(matrix, ((0, 0), (0, missing)))[:, :2]


def _loneliest_first(dots: Floats) -> Indices:
    """Return the points in descending order of the distance from the nearest other one."""
    if len(dots) < 2:
        return np.arange(len(dots))
    nearest = KDTree(dots).query(dots, k=2)[0][:, 1]
    return np.argsort(-nearest, kind="stable")


def _fits(box: Floats, frame: Floats, dots: Floats, taken: list[Floats]) -> bool:
    """Whether a box lies in the frame and covers neither a point nor another box."""
    inside = frame[0] <= box[0] and frame[1] <= box[1] and box[2] <= frame[2] and box[3] <= frame[3]
    if not inside or np.any((dots > box[:2]).all(axis=1) & (dots < box[2:]).all(axis=1)):
        return False
    return not any(
        box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3] for other in taken
    )
