"""The distribution of the generalisation error as pictures: means and quantiles by size, and histograms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.plots.canvas import COLOURS, axes
from mercer.theory.error_distribution import ErrorDistribution

__all__ = ["ErrorDistributionDisplay"]
__public__ = __all__


@dataclass(eq=False, repr=False)
class ErrorDistributionDisplay:
    """Expected and confident errors of learners against the size of the training set, or histograms of one size.

    Parameters
    ----------
    distribution : ErrorDistribution
        As `mercer.theory.error_distribution` returns.
    delta : float, default 0.05
        The confident error is exceeded with this probability.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        After `plot` or `histogram`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.theory import ErrorDistribution
    >>> found = ErrorDistribution(("means",), (100, 10), np.full((1, 2, 5), 0.1), np.array([0.1]))
    >>> ErrorDistributionDisplay.from_distribution(found)
    <ErrorDistributionDisplay of means: 2 sizes, 5 repeats>
    """

    distribution: ErrorDistribution
    delta: float = 0.05

    ax_: Any = None
    figure_: Any = None

    @classmethod
    def from_distribution(
        cls, distribution: ErrorDistribution, *, delta: float = 0.05, ax: Any = None
    ) -> ErrorDistributionDisplay:
        """Draw means and quantiles against the sizes.

        Parameters
        ----------
        distribution : ErrorDistribution
        delta : float, default 0.05
        ax : matplotlib axes, optional
        """
        return cls(distribution, delta).plot(ax)

    def plot(self, ax: Any = None) -> ErrorDistributionDisplay:
        """Draw the mean of each learner as a line, its confident error dotted."""
        self.ax_, self.figure_ = axes(ax)
        found = self.distribution
        mean, high = found.mean(), found.quantile(1.0 - self.delta)
        for i, name in enumerate(found.names):
            colour = COLOURS[i % len(COLOURS)]
            self.ax_.plot(found.sizes, mean[i], "o-", color=colour, label=name)
            self.ax_.plot(found.sizes, high[i], "^:", color=colour)
        self.ax_.plot([], [], "o-", color=COLOURS[7], label="mean")
        self.ax_.plot([], [], "^:", color=COLOURS[7], label=f"{100 * (1 - self.delta):g} % quantile")
        self.ax_.set_xscale("log")
        self.ax_.set_xticks(found.sizes, [str(size) for size in found.sizes])
        self.ax_.minorticks_off()
        self.ax_.set(xlabel="training samples", ylabel="test error", ylim=(0.0, None))
        self.ax_.legend()
        return self

    def histogram(self, size: int, ax: Any = None) -> ErrorDistributionDisplay:
        """Draw the errors of one size as histograms, with their means dashed."""
        self.ax_, self.figure_ = axes(ax)
        found = self.distribution
        place = found.sizes.index(size)
        highest = float(found.errors.max(initial=0.1))
        bins = np.linspace(0.0, max(highest, 0.1), 41)
        for i, name in enumerate(found.names):
            colour, values = COLOURS[i % len(COLOURS)], found.errors[i, place]
            share = np.full(len(values), 1.0 / len(values))
            self.ax_.hist(values, bins, weights=share, histtype="stepfilled", color=colour, alpha=0.35, label=name)
            self.ax_.axvline(values.mean(), color=colour, linestyle="--")
        self.ax_.set(xlabel="test error; dashed: its mean", ylabel="share", title=f"{size} training samples")
        self.ax_.legend()
        return self

    def __repr__(self) -> str:
        found = self.distribution
        names = ", ".join(found.names)
        return f"<ErrorDistributionDisplay of {names}: {len(found.sizes)} sizes, {found.errors.shape[2]} repeats>"
