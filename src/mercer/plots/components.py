"""Components as pictures: samples in the plane of two scores, and how much of the variance each component explains.

Symbols: z scores, one column per component; lambda_j / N the variance of component j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Floats
from mercer.errors import CapabilityError, ParameterError, printable
from mercer.plots.canvas import COLOURS, axes

__all__ = ["ComponentsDisplay"]
__public__ = __all__

_MANY = 12  # distinct labels; more are drawn as numbers on a colour scale
_SHADES = "viridis"


@dataclass(eq=False, repr=False)
class ComponentsDisplay:
    """Scores of samples as points, and the share of the variance of each component as bars.

    Parameters
    ----------
    scores : (n, q) array
    shares : (q,) array, optional
        Of the total variance.
    errors : (q + 1,) array, optional
        Mean squared distances from the projections on 0, 1, ..., q components.
    labels : (n,) array, optional
        What points are coloured by: classes, or numbers.
    name : str
        What the estimator is called.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        After `plot` or `plot_variance`.

    Examples
    --------
    >>> from mercer import KernelPCA
    >>> from mercer.kernels import Linear
    >>> from mercer.plots import ComponentsDisplay
    >>> X = [[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    >>> display = ComponentsDisplay.from_estimator(KernelPCA(Linear()).fit(X), X)
    >>> display.shares, display
    (array([0.8, 0.2]), <ComponentsDisplay of KernelPCA: 4 samples, 2 components>)
    """

    scores: Floats
    shares: Floats | None = None
    errors: Floats | None = None
    labels: Any = None
    name: str = ""

    ax_: Any = None
    figure_: Any = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, components: tuple[int, int] = (0, 1), ax: Any = None
    ) -> ComponentsDisplay:
        """Draw the scores that a fitted transformer gives to samples.

        Parameters
        ----------
        estimator : fitted transformer
            Such as `KernelPCA`, or any other whose `transform` returns columns of numbers.
        X : raw data or packed samples
        y : (n,) array, optional
            Classes or numbers that points are coloured by.
        components : (int, int), default (0, 1)
            Which two are drawn.
        ax : matplotlib axes, optional
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "transform"):
            raise CapabilityError(
                f"ComponentsDisplay was given {type(estimator).__name__}, which has no transform; a fitted transformer "
                "is accepted. Give for example KernelPCA(kernel, 2).fit(X)."
            )
        scores = np.asarray(estimator.transform(X), dtype=float)
        display = cls(
            scores,
            getattr(estimator, "explained_variance_ratio_", None),
            getattr(estimator, "reconstruction_errors_", None),
            None if y is None else np.asarray(y),
            type(estimator).__name__,
        )
        return display.plot(ax, components=components)

    def plot(self, ax: Any = None, *, components: tuple[int, int] = (0, 1)) -> ComponentsDisplay:
        """Draw points in the plane of two components; a single component is drawn against the sample number."""
        i, j = self._two(components)
        self.ax_, self.figure_ = axes(ax)
        q = self.scores.shape[1]
        x = self.scores[:, i] if q else np.zeros(len(self.scores))
        y = self.scores[:, j] if q > 1 else np.arange(len(self.scores))
        labels = self.labels
        if labels is None:
            self.ax_.scatter(x, y, s=9, color=COLOURS[0])
        elif len(np.unique(labels)) <= _MANY:
            kinds = np.unique(labels)
            for place, kind in enumerate(kinds):
                chosen, few = labels == kind, len(kinds) <= len(COLOURS)
                style: Any = {"color": COLOURS[place]} if few else {"color": f"C{place}"}
                self.ax_.scatter(x[chosen], y[chosen], s=9, label=printable(str(kind)).replace("$", r"\$"), **style)
            self.ax_.legend(markerscale=1.5)
        else:
            drawn = self.ax_.scatter(x, y, s=9, c=np.asarray(labels, dtype=float), cmap=_SHADES)
            self.figure_.colorbar(drawn, ax=self.ax_)
        self.ax_.set(xlabel=self._caption(i), ylabel=self._caption(j) if q > 1 else "sample")
        return self

    def plot_variance(self, ax: Any = None) -> ComponentsDisplay:
        """Draw the share of the variance that each component explains, and the share left after it."""
        if self.shares is None:
            raise CapabilityError(
                f"{self.name or 'The scores'} came without shares of the variance; explained_variance_ratio_ of the "
                "estimator is needed. Use KernelPCA."
            )
        self.ax_, self.figure_ = axes(ax)
        place = np.arange(1, len(self.shares) + 1)
        self.ax_.bar(place, self.shares, color=COLOURS[0], label="of each component")
        if self.errors is not None and self.errors[0] > 0.0:
            left = np.asarray(self.errors) / self.errors[0]
            self.ax_.plot(np.arange(len(left)), left, "o-", markersize=3, color=COLOURS[1], label="left after it")
        self.ax_.set(xlabel="component", ylabel="share of the variance")
        self.ax_.legend()
        return self

    def _two(self, components: tuple[int, int]) -> tuple[int, int]:
        q = self.scores.shape[1]
        i, j = (int(place) for place in components)
        if q > 1 and not (0 <= i < q and 0 <= j < q):
            raise ParameterError(
                f"components={components} was given; there are {q} components, numbered from 0. Give two of them."
            )
        return (i, j) if q > 1 else (0, 0)

    def _caption(self, place: int) -> str:
        share = "" if self.shares is None or place >= len(self.shares) else f" ({100 * self.shares[place]:.3g} %)"
        return f"component {place + 1}{share}"

    def __repr__(self) -> str:
        n, q = self.scores.shape
        of = f" of {self.name}" if self.name else ""
        return f"<ComponentsDisplay{of}: {n} samples, {q} component{'' if q == 1 else 's'}>"
