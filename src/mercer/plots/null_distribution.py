"""The null distribution of a test with the observed statistic: how rare it is, at a glance.

Symbols: t the statistic, B draws from the null distribution, alpha the level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.inference.result import Null
from mercer.plots.canvas import COLOURS, axes

__all__ = ["NullDistributionDisplay"]
__public__ = __all__

_CURVE = 200  # points of a density


@dataclass(eq=False, repr=False)
class NullDistributionDisplay:
    """Histogram or density of a null distribution, with the statistic and the critical value.

    Parameters
    ----------
    statistic : float
        What was observed.
    p_value : float
    null : Null
        The distribution it is compared with.
    level : float, default 0.05
        alpha; the critical value is exceeded with at most this probability.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        After `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference import mmd_test
    >>> rng = np.random.default_rng(0)
    >>> result = mmd_test(rng.normal(size=(40, 1)), rng.normal(1.0, size=(40, 1)), random_state=0)
    >>> display = NullDistributionDisplay.from_result(result)
    >>> display.rejected
    True
    """

    statistic: float
    p_value: float
    null: Null
    level: float = 0.05

    ax_: Any = None
    figure_: Any = None

    @classmethod
    def from_result(cls, result: Any, *, level: float = 0.05, ax: Any = None) -> NullDistributionDisplay:
        """Draw what a test found.

        Parameters
        ----------
        result : TestResult
            As `mmd_test`, `hsic_test` and their relatives return.
        level : float, default 0.05
        ax : matplotlib axes, optional
        """
        return cls(float(result.statistic), float(result.p_value), result.null, level).plot(ax)

    @property
    def critical(self) -> float:
        """The value beyond which the hypothesis is rejected; infinite if there are too few draws for the level."""
        return self.null.quantile(1.0 - self.level)

    @property
    def rejected(self) -> bool:
        """Whether the hypothesis is rejected at the level."""
        return self.p_value <= self.level

    def density(self) -> tuple[Floats, Floats]:
        """Return points and the density of a null given by a formula, by differences of its tail, (200,) each."""
        low, high = self.null.quantile(1e-4), self.null.quantile(1.0 - 1e-4)
        edges = np.linspace(low, max(high, low + 1e-12), _CURVE + 1)
        tail = np.array([self.null.p_value(edge) for edge in edges])
        return 0.5 * (edges[1:] + edges[:-1]), -np.diff(tail) / np.diff(edges)

    def plot(self, ax: Any = None) -> NullDistributionDisplay:
        """Draw the distribution, the critical value dashed, the statistic as a line with its p-value."""
        self.ax_, self.figure_ = axes(ax)
        label = f"null ({self.null.method})"
        if self.null.draws is not None:
            bins = min(60, max(10, len(self.null.draws) // 20))
            self.ax_.hist(self.null.draws, bins=bins, density=True, color=COLOURS[0], alpha=0.5, label=label)
        elif self.null.std > 0.0:
            points, heights = self.density()
            self.ax_.fill_between(points, heights, color=COLOURS[0], alpha=0.5, label=label)
        critical = f"critical at {self.level:g}"
        if np.isfinite(self.critical):
            self.ax_.axvline(self.critical, color=COLOURS[7], linewidth=1, linestyle="--", label=critical)
        shown = f"observed, p = {self.p_value:.2g}"
        self.ax_.axvline(self.statistic, color=COLOURS[1], linewidth=2, label=shown)
        self.ax_.set(xlabel="statistic", ylabel="density")
        self.ax_.legend()
        return self

    def __repr__(self) -> str:
        return f"<NullDistributionDisplay: statistic {self.statistic:.3g}, p = {self.p_value:.2g}, {self.null.method}>"
