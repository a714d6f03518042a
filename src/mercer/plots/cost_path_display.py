"""The regularisation path of a support vector machine, drawn: which samples are support vectors at which C."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.plots.canvas import COLOURS, axes

__all__ = ["CostPathDisplay"]
__public__ = __all__


@dataclass(eq=False, repr=False)
class CostPathDisplay:
    """How many samples are beyond the margin, on it and within it, as functions of the cost C.

    Parameters
    ----------
    C : (p,) array
        Breakpoints.
    left, elbow, right : (p,) arrays
        Samples with the largest multiplier (within the margin or wrong), on the margin, and with multiplier zero.
    bias : (p,) array

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        After `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Linear
    >>> from mercer.plots import CostPathDisplay
    >>> from mercer.selection import svm_path
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> path = svm_path(Dense().build(Linear(), Vectors.pack(X)), [-1, -1, 1, 1], C_min=0.1, C_max=10.0)
    >>> display = CostPathDisplay.from_path(path)
    >>> int(display.left[0] + display.elbow[0] + display.right[0])
    4
    """

    C: Floats
    left: Any
    elbow: Any
    right: Any
    bias: Floats

    ax_: Any = None
    figure_: Any = None

    @classmethod
    def from_path(cls, path: Any, *, ax: Any = None) -> CostPathDisplay:
        """Draw what `mercer.selection.svm_path` returned.

        Parameters
        ----------
        path : SVMPath
        ax : matplotlib axes, optional
        """
        return cls(path.C, path.left, path.elbow, path.right, path.bias).plot(ax)

    def plot(self, ax: Any = None) -> CostPathDisplay:
        """Draw the three counts as areas that add up to all samples."""
        self.ax_, self.figure_ = axes(ax, (5.4, 3.4))
        counts = [np.asarray(part, dtype=float) for part in (self.left, self.elbow, self.right)]
        labels = ("within the margin, or wrong", "on the margin", "beyond it: no support vector")
        self.ax_.stackplot(self.C, *counts, labels=labels, colors=COLOURS[:3], alpha=0.5, step="post")
        if len(self.C) > 1 and self.C[0] > 0.0:
            self.ax_.set_xscale("log")
        self.ax_.set(xlabel="C", ylabel="samples", xlim=(self.C[0], self.C[-1]))
        self.ax_.legend(fontsize="small", loc="lower left")
        return self
