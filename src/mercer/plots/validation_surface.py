"""Scores of a search over two parameters as a map, and of one as a curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import ParameterError
from mercer.plots.canvas import COLOURS, axes

__all__ = ["ValidationSurfaceDisplay"]
__public__ = __all__


@dataclass(eq=False, repr=False)
class ValidationSurfaceDisplay:
    """Mean scores of a grid of candidates: a curve for one parameter, shaded cells for two, the best marked.

    Parameters
    ----------
    names : tuple of str
        One or two parameters.
    values : tuple of lists
        Their values, ascending.
    scores : array, (p,) or (p, q)
        Mean scores; NaN where a candidate was not scored.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        After `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.choosing import KernelSearchCV
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plots import ValidationSurfaceDisplay
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> grid = {"alpha": [0.01, 1.0], "kernel__length_scale": [0.1, 1.0, 10.0]}
    >>> search = KernelSearchCV(KernelRidge(Gaussian(1.0)), grid, cv=3).fit(X, np.sin(X[:, 0]))
    >>> ValidationSurfaceDisplay.from_search(search).scores.shape
    (2, 3)
    """

    names: tuple[str, ...]
    values: tuple[list[Any], ...]
    scores: Floats

    ax_: Any = None
    figure_: Any = None

    @classmethod
    def from_search(cls, search: Any, names: Any = None, *, ax: Any = None) -> ValidationSurfaceDisplay:
        """Draw a fitted search: ``KernelSearchCV``, or one of scikit-learn.

        Parameters
        ----------
        search : fitted search
            With ``cv_results_``.
        names : tuple of str, optional
            The parameters to show; of others the best score is taken. None shows those that vary.
        ax : matplotlib axes, optional
        """
        results = search.cv_results_
        varying = sorted({name for params in results["params"] for name in params})
        varying = [name for name in varying if len({repr(p.get(name)) for p in results["params"]}) > 1]
        chosen = tuple(varying if names is None else [names] if isinstance(names, str) else names)
        if not 1 <= len(chosen) <= 2 or not set(chosen) <= set(varying):
            raise ParameterError(
                f"names={names!r} was given for a search over {', '.join(varying) or 'nothing'}; a map shows "
                "one or two of these. Name them, as names=('C', 'kernel__length_scale')."
            )
        values = tuple(_ordered([params.get(name) for params in results["params"]]) for name in chosen)
        scores = np.full([len(found) for found in values], np.nan)
        for params, score in zip(results["params"], results["mean_test_score"], strict=True):
            place = tuple(found.index(params.get(name)) for name, found in zip(chosen, values, strict=True))
            scores[place] = np.fmax(scores[place], score)
        return cls(chosen, values, scores).plot(ax)

    def plot(self, ax: Any = None) -> ValidationSurfaceDisplay:
        """Draw the curve or the cells; a cross marks the best."""
        self.ax_, self.figure_ = axes(ax)
        best = np.unravel_index(int(np.nanargmax(self.scores)), self.scores.shape)
        first = [f"{value:g}" if isinstance(value, float) else str(value) for value in self.values[0]]
        if len(self.names) == 1:
            self.ax_.plot(range(len(first)), self.scores, "o-", color=COLOURS[0])
            self.ax_.plot(best[0], self.scores[best], "x", color=COLOURS[1], markersize=10)
            self.ax_.set(xticks=range(len(first)), xticklabels=first, xlabel=self.names[0], ylabel="mean score")
            return self
        second = [f"{value:g}" if isinstance(value, float) else str(value) for value in self.values[1]]
        picture = self.ax_.imshow(self.scores, cmap="viridis", aspect="auto", origin="lower")
        self.ax_.plot(best[1], best[0], "x", color="white", markersize=10, markeredgewidth=2)
        self.ax_.set(xticks=range(len(second)), xticklabels=second, yticks=range(len(first)), yticklabels=first)
        self.ax_.set(xlabel=self.names[1], ylabel=self.names[0])
        self.figure_.colorbar(picture, ax=self.ax_, label="mean score")
        return self


def _ordered(values: list[Any]) -> list[Any]:
    """Return the different values, in their order if they have one, otherwise as they came."""
    different = list({repr(value): value for value in values}.values())
    try:
        return sorted(different)
    except TypeError:
        return different
