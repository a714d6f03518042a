"""A regression of one column, drawn with its uncertainty.

Symbols: m(x) the mean, s(x) the standard deviation; the band is m ± z s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arguments import real_array
from mercer.arrays import Floats
from mercer.constraints import Positive
from mercer.errors import DomainError
from mercer.plots.canvas import COLOURS, axes

__all__ = ["ProcessBandsDisplay"]
__public__ = __all__


@dataclass(eq=False, repr=False)
class ProcessBandsDisplay:
    r"""The mean of a process along one column, the band :math:`m(x) \pm z s(x)`, and the observations.

    Parameters
    ----------
    x, mean, std : (r,) arrays
    points, targets : (n,) arrays
    width : float
        z.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        After `plot`.

    Examples
    --------
    >>> from mercer import GaussianProcessRegressor
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plots import ProcessBandsDisplay
    >>> process = GaussianProcessRegressor(Gaussian(1.0), noise=0.1, fixed="all").fit([[0.0], [1.0]], [0.0, 1.0])
    >>> display = ProcessBandsDisplay.from_estimator(process, [[0.0], [1.0]], [0.0, 1.0])
    >>> bool(display.std[0] > display.std[len(display.std) // 4])  # surer near the observations
    True
    """

    x: Floats
    mean: Floats
    std: Floats
    points: Floats
    targets: Floats
    width: float = 2.0

    ax_: Any = None
    figure_: Any = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, width: float = 2.0, include_noise: bool = False, ax: Any = None
    ) -> ProcessBandsDisplay:
        """Draw a fitted estimator whose ``predict`` takes ``return_std``.

        Parameters
        ----------
        estimator : fitted estimator
        X : (n, 1) array
            Observed inputs; the curve extends a fifth of their range beyond them.
        y : (n,) array
        width : float, default 2
            Standard deviations on each side.
        include_noise : bool, default False
            Whether the band is for new observations; for mercer's processes, whose ``predict`` takes this argument.
        ax : matplotlib axes, optional
        """
        Positive().check("width", width, cls)
        points = real_array(X, "X", 2)
        if points.shape[1] != 1:
            raise DomainError(
                f"X of {points.shape[1]} columns was given; a curve has one. Draw one column, with the "
                "others held fixed: give predictions for such rows to matplotlib."
            )
        low, high = float(points.min()), float(points.max())
        reach = 0.2 * (high - low or 1.0)
        x = np.linspace(low - reach, high + reach, 300)
        more = {"include_noise": True} if include_noise else {}
        mean, std = estimator.predict(x[:, None], return_std=True, **more)
        return cls(x, np.asarray(mean), np.asarray(std), points[:, 0], real_array(y, "y", 1), width).plot(ax)

    def plot(self, ax: Any = None) -> ProcessBandsDisplay:
        """Draw band, mean and observations."""
        self.ax_, self.figure_ = axes(ax, (5.6, 3.4))
        low, high = self.mean - self.width * self.std, self.mean + self.width * self.std
        self.ax_.fill_between(self.x, low, high, color=COLOURS[0], alpha=0.2, linewidth=0)
        self.ax_.plot(self.x, self.mean, color=COLOURS[0], label=f"mean, ± {self.width:g} standard deviations")
        self.ax_.plot(self.points, self.targets, "k.", markersize=4, label="observations")
        self.ax_.legend(fontsize="small")
        return self
