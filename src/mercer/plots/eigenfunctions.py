"""Mercer's eigenfunctions as pictures: what a kernel sees first, second, third, ... of its domain.

Symbols: mu_i the eigenvalues, e_i the eigenfunctions, x places on a line or on a grid in the plane.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Integer
from mercer.domains import Vectors
from mercer.errors import CapabilityError, ParameterError
from mercer.hilbert.mercer_expansion import MercerExpansion
from mercer.plots.canvas import COLOURS, axes, logarithmic

__all__ = ["EigenfunctionsDisplay"]
__public__ = __all__

_HEAVY = 1e-6  # of the largest weight: lighter points do not stretch the picture


@dataclass(eq=False, repr=False)
class EigenfunctionsDisplay:
    """Eigenfunctions on a line as curves, in the plane as contours, one panel each; and how eigenvalues decay.

    Parameters
    ----------
    eigenvalues : (r,) array
        All those of the expansion.
    grid : tuple of one or two arrays
        Places along each column.
    values : (r', m) or (r', m, m') array
        The first eigenfunctions on the grid; in the plane, rows follow the second column.
    points : (n, 1) or (n, 2) array
        Points of the measure, shown where the expansion is that of a sample in the plane.
    name : str
        What the kernel is called.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        After `plot` or `plot_eigenvalues`; for the plane ``ax_`` is an array of axes.

    Examples
    --------
    >>> from mercer.hilbert import Uniform
    >>> from mercer.hilbert import mercer_expansion
    >>> from mercer.kernels import Brownian
    >>> expansion = mercer_expansion(Brownian(), Uniform(0.0, 1.0), rank=10)
    >>> display = EigenfunctionsDisplay.from_expansion(expansion, count=3, region=((0.0, 1.0),), resolution=101)
    >>> display
    <EigenfunctionsDisplay: 3 of 10 eigenfunctions of Brownian()>
    >>> display.values.shape
    (3, 101)
    """

    eigenvalues: Floats
    grid: tuple[Floats, ...]
    values: Floats
    points: Floats
    name: str = ""

    ax_: Any = None
    figure_: Any = None

    @classmethod
    def from_expansion(
        cls,
        expansion: MercerExpansion,
        *,
        count: int = 6,
        region: Any = None,
        resolution: int | None = None,
        ax: Any = None,
    ) -> EigenfunctionsDisplay:
        """Draw the first eigenfunctions of an expansion on one or two columns of numbers.

        Parameters
        ----------
        expansion : MercerExpansion
        count : int, default 6
            How many eigenfunctions, or all if there are fewer.
        region : ((low, high),) or ((low, high), (low, high)), optional
            What is shown; None is the range of the points of the measure.
        resolution : int, optional
            Places per column: 400 on a line, 80 in the plane.
        ax : matplotlib axes, optional
            In the plane an array of at least `count` axes.
        """
        S = expansion.samples
        if type(S) is not Vectors or S.width > 2:
            raise CapabilityError(
                f"The eigenfunctions of {expansion.kernel!r} live on {S!r}; pictures are drawn of functions of one or "
                "two columns of numbers. Use plot_eigenvalues, or look at expansion.eigenfunctions(X)."
            )
        Integer(1).check("count", count, cls)
        resolution = (400 if S.width == 1 else 80) if resolution is None else resolution
        Integer(2).check("resolution", resolution, cls)
        points = S.dense()
        heavy = expansion.weights > _HEAVY * expansion.weights.max()
        grid = tuple(
            np.linspace(low, high, resolution) for low, high in _region(region, np.asarray(points[heavy], float))
        )
        shown = expansion.truncated(min(count, expansion.rank))
        places = np.stack([g.ravel() for g in np.meshgrid(*grid)], axis=1)
        values = shown.eigenfunctions(places).T.reshape(shown.rank, *(len(g) for g in reversed(grid)))
        return cls(expansion.eigenvalues, grid, values, points, repr(expansion.kernel)).plot(ax)

    def plot(self, ax: Any = None) -> EigenfunctionsDisplay:
        """Draw the eigenfunctions: curves on one pair of axes, or a panel of contours for each."""
        if len(self.grid) == 1:
            self.ax_, self.figure_ = axes(ax)
            for i, values in enumerate(self.values):
                label = f"{i + 1}: {self.eigenvalues[i]:.3g}"
                self.ax_.plot(self.grid[0], values, color=COLOURS[i % len(COLOURS)], linewidth=1.2, label=label)
            self.ax_.axhline(0.0, color=COLOURS[7], linewidth=0.5)
            self.ax_.set(xlabel="x", ylabel="eigenfunction", title=self.name)
            if len(self.values):
                self.ax_.legend(title="eigenvalue")
            return self
        panels = _panels(ax, len(self.values))
        self.ax_, self.figure_ = panels, panels[0].figure
        for i, (panel, values) in enumerate(zip(panels, self.values, strict=False)):
            reach = max(float(np.abs(values).max()), np.finfo(float).tiny)
            levels = np.linspace(-reach, reach, 21)
            panel.contourf(*self.grid, values, levels=levels, cmap="RdBu_r")
            panel.contour(*self.grid, values, levels=[0.0], colors="black", linewidths=0.8)
            if len(self.points) <= 1000:
                panel.plot(*self.points.T, ".", color="black", markersize=1.5, alpha=0.4)
            panel.set(xlim=self.grid[0][[0, -1]], ylim=self.grid[1][[0, -1]])
            panel.set_title(f"{i + 1}: {self.eigenvalues[i]:.3g}")
        return self

    def plot_eigenvalues(self, ax: Any = None, exact: Callable[[Any], Any] | None = None) -> EigenfunctionsDisplay:
        """Draw the eigenvalues on a logarithmic scale.

        Parameters
        ----------
        ax : matplotlib axes, optional
        exact : callable, optional
            Eigenvalues in closed form, of the numbers 1, 2, ...; drawn as a line.
        """
        self.ax_, self.figure_ = axes(ax)
        number = np.arange(1, len(self.eigenvalues) + 1)
        self.ax_.plot(number, self.eigenvalues, "o", color=COLOURS[0], markersize=3, label=self.name)
        if exact is not None:
            self.ax_.plot(number, exact(number), color=COLOURS[1], linewidth=1, label="closed form")
        if len(number):
            logarithmic(self.ax_)
        self.ax_.set(xlabel="number", ylabel="eigenvalue")
        self.ax_.legend()
        return self

    def __repr__(self) -> str:
        return f"<EigenfunctionsDisplay: {len(self.values)} of {len(self.eigenvalues)} eigenfunctions of {self.name}>"


def _region(region: Any, points: Floats) -> list[tuple[float, float]]:
    """Return the ends of the picture along each column."""
    if region is None:
        low, high = points.min(axis=0), points.max(axis=0)
        high = np.where(high > low, high, low + 1.0)  # not beyond the points: some kernels are not defined everywhere
        return list(zip(low, high, strict=True))
    ends = np.asarray(region, dtype=float)
    if ends.shape != (points.shape[1], 2) or not (ends[:, 0] < ends[:, 1]).all():
        raise ParameterError(
            f"region={region!r} was given for {points.shape[1]} columns; a pair (low, high) with low < high for each "
            "column is accepted. Write for example region=((0.0, 1.0),)."
        )
    return [(float(a), float(b)) for a, b in ends]


def _panels(ax: Any, count: int) -> Any:
    """Return at least this many axes in a flat array: those given, or new ones side by side."""
    if ax is None:
        first, figure = axes(None, size=(2.6 * min(count, 3), 2.4 * math.ceil(count / 3)))
        first.remove()
        grid = figure.subplots(math.ceil(count / 3), min(count, 3), squeeze=False).ravel()
        for spare in grid[count:]:
            spare.remove()
        return grid[:count]
    given = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    if len(given) < count:
        raise ParameterError(
            f"{len(given)} axes were given for {count} eigenfunctions in the plane; each has its own. Give as many, or "
            f"count={len(given)}."
        )
    return given
