"""What each term of a kernel that is a sum contributes to the fitted function, as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.domains import Frames, Samples, Vectors
from mercer.errors import CapabilityError
from mercer.gram import Expansion
from mercer.gram.summands import function_parts, part_shares, summands
from mercer.plots.canvas import COLOURS, axes
from mercer.plots.sources import fitted_kernel, samples_of

__all__ = ["KernelPartsDisplay"]
__public__ = __all__

_LONGEST = 44  # characters of a term


@dataclass
class KernelPartsDisplay:
    """The parts of a function whose kernel is a sum: curves over one column, or else their shares as bars.

    Parameters
    ----------
    parts : dict
        From terms to their values at the samples, (m,) or (m, k).
    column : (m,) array, optional
        The numbers that the samples consist of, if there is one column.

    Attributes
    ----------
    shares : dict
        Which share of the variation of the function each part explains.
    ax_, figure_, marks_ : matplotlib objects
        After `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Linear, Periodic
    >>> from mercer.plots import KernelPartsDisplay
    >>> t = np.linspace(0.0, 6.0, 40)[:, None]
    >>> model = KernelRidge(Linear() + Periodic(1.0), alpha=0.1).fit(t, t[:, 0] + np.sin(6.0 * t[:, 0]))
    >>> list(KernelPartsDisplay.from_estimator(model, t).parts)
    ['Linear()', 'Periodic(1.0)']
    """

    parts: dict[str, Floats]
    column: Floats | None = None

    ax_: Any = None
    figure_: Any = None
    marks_: Any = None

    @property
    def shares(self) -> dict[str, float]:
        """Which share of the variation of the function each part explains, the largest first."""
        return part_shares(self.parts)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, *, ax: Any = None) -> KernelPartsDisplay:
        """Draw the parts of a fitted estimator whose kernel is a sum.

        Parameters
        ----------
        estimator : fitted estimator
        X : raw data or packed samples, optional
            Where the parts are computed; None is the samples that the function is made of.
        ax : matplotlib axes, optional
        """
        return cls.of(estimator, X).plot(ax)

    @classmethod
    def of(cls, estimator: Any, X: Any = None) -> KernelPartsDisplay:
        """Compute the parts without drawing them; as `from_estimator`."""
        kernel, expansion = fitted_kernel(estimator), getattr(estimator, "expansion_", None)
        if not isinstance(expansion, Expansion) or len(set(map(repr, summands(expansion.kernel)))) < 2:
            raise CapabilityError(
                f"{type(estimator).__name__} with {kernel!r:.200} has no parts; a function on exact samples whose "
                "kernel is a sum of different terms is needed. Use for example Linear() + Gaussian(1.0)."
            )
        T = samples_of(estimator, X)
        return cls(function_parts(expansion, T), _one_column(T))

    def plot(self, ax: Any = None) -> KernelPartsDisplay:
        """Draw a curve for each part over the column, or a bar for the share of each."""
        names = list(self.shares)
        labels = [
            f"{self.shares[one]:.0%} {one if len(one) <= _LONGEST else one[: _LONGEST - 3] + '...'}" for one in names
        ]
        curves = self.column is not None and all(part.ndim == 1 for part in self.parts.values())
        self.ax_, self.figure_ = axes(ax, (5.0, 3.6) if curves else (5.0, 1.2 + 0.35 * len(names)))
        if curves:
            assert self.column is not None
            order = np.argsort(self.column, kind="stable")
            self.marks_ = [
                self.ax_.plot(self.column[order], self.parts[one][order], color=COLOURS[t % 7], label=label)[0]
                for t, (one, label) in enumerate(zip(names, labels, strict=True))
            ]
            self.ax_.set(xlabel="column", ylabel="part of the function")
            self.ax_.legend()
            return self
        self.marks_ = self.ax_.barh(labels, [self.shares[one] for one in names], color=COLOURS[0])
        self.ax_.invert_yaxis()
        self.ax_.set_xlabel("share of the function")
        return self


def _one_column(T: Samples) -> Floats | None:
    """Return the numbers that samples consist of, if there is one column."""
    if isinstance(T, Frames) and len(T.parts) == 1:
        T = next(iter(T.parts.values()))
    if not isinstance(T, Vectors) or T.width != 1 or T.is_streamed or not isinstance(T.X, np.ndarray):
        return None
    return np.asarray(T.X[:, 0], dtype=float)
