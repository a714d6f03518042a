"""Canonical correlations: how much of what two views share holds for new pairs.

Symbols: rho_j the correlation of the scores of component j, on training pairs and on new ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Floats
from mercer.errors import CapabilityError, ParameterError
from mercer.plots.canvas import COLOURS, axes

__all__ = ["CorrelationDisplay"]
__public__ = __all__


@dataclass(eq=False, repr=False)
class CorrelationDisplay:
    """Correlations of the scores of two or more views by component, and a scatter plot of one component.

    Parameters
    ----------
    training : (m,) array
        Correlations of the training scores.
    held_out : (m,) array, optional
        Correlations of the scores of new pairs: where they fall off, the training pairs were overfitted.
    maxima : (m,) array, optional
        The maximised objective, smaller than the correlations where the norm is part of the constraint. `of` omits it
        where, because of the unit of the norm, it is not a correlation.
    scores : tuple of (n, m) arrays, optional
        What `plot_scores` draws: scores of the new pairs if there are any, otherwise of the training pairs.
    name : str
        What the estimator is called.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        After `plot` or `plot_scores`.

    Examples
    --------
    >>> from mercer import CCA
    >>> from mercer.plots import CorrelationDisplay
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0], [4.0, 5.0]])
    >>> display = CorrelationDisplay.of(CCA(1).fit(X, X[:, :1]))
    >>> display.training.round(6)
    array([1.])
    """

    training: Floats
    held_out: Floats | None = None
    maxima: Floats | None = None
    scores: tuple[Floats, ...] = ()
    name: str = ""

    ax_: Any = None
    figure_: Any = None

    @classmethod
    def of(cls, estimator: Any, X: Any = None, y: Any = None) -> CorrelationDisplay:
        """Return the display of a fitted estimator, not drawn: no matplotlib is needed.

        Parameters
        ----------
        estimator : fitted KernelCCA, CCA or LeastSquaresCCA
        X, y : optional
            New pairs, as for the estimator's `fit`.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "canonical_correlations_"):
            raise CapabilityError(
                f"{type(estimator).__name__} has no canonical correlations (attribute canonical_correlations_); an "
                "estimator that has them is needed. Use KernelCCA or CCA."
            )
        held_out, scores = None, estimator.scores_
        if X is not None:
            views = estimator._new_views(X, y)
            scores = tuple(estimator.project(one, view) for view, one in enumerate(views))
            held_out = estimator.correlations(X, y)
        training, maxima = estimator.canonical_correlations_, None
        if estimator.norm_scale == "variance":  # in other units of the norm the objective is not a correlation
            maxima = estimator.eigenvalues_[: len(training)]
        return cls(training, held_out, maxima, scores, type(estimator).__name__)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None) -> CorrelationDisplay:
        """Draw the correlations of a fitted estimator, and those of new pairs if they are given.

        Parameters
        ----------
        estimator, X, y : as for `of`
        ax : matplotlib axes, optional
        """
        return cls.of(estimator, X, y).plot(ax)

    def plot(self, ax: Any = None) -> CorrelationDisplay:
        """Draw the correlations against the number of the component."""
        self.ax_, self.figure_ = axes(ax)
        place = np.arange(1, len(self.training) + 1)
        kinds = (
            ("training pairs", self.training, {"marker": "o", "color": COLOURS[0]}),
            ("new pairs", self.held_out, {"marker": "s", "color": COLOURS[1]}),
            ("maximised", self.maxima, {"marker": ".", "color": COLOURS[7], "linestyle": ":"}),
        )
        for label, values, style in kinds:
            if values is not None:
                self.ax_.plot(place, values, label=label, linewidth=1, markersize=4, **style)
        self.ax_.axhline(0.0, color=COLOURS[7], linewidth=0.7)
        low = min(0.0, *(float(np.min(v, initial=0.0)) for _, v, _ in kinds if v is not None))
        high = max(1.0, *(float(np.max(v, initial=0.0)) for _, v, _ in kinds if v is not None))
        self.ax_.set(xlabel="component", ylabel="correlation", ylim=(1.05 * low - 0.02, 1.05 * high), title=self.name)
        self.ax_.set_xticks(place if len(place) <= 20 else place[:: -(-len(place) // 20)])
        self.ax_.legend()
        return self

    def plot_scores(self, component: int = 0, ax: Any = None, c: Any = None) -> CorrelationDisplay:
        """Draw the scores of the second view against those of the first, for one component.

        Parameters
        ----------
        component : int, default 0
        ax : matplotlib axes, optional
        c : colours, optional
            One for each pair.
        """
        if len(self.scores) < 2 or not 0 <= component < len(self.training):
            raise ParameterError(
                f"the scores of component {component} were asked for; there are {len(self.training)} components with "
                f"scores of {len(self.scores)} views. Make the display by CorrelationDisplay.from_estimator, and "
                "count components from 0."
            )
        self.ax_, self.figure_ = axes(ax, (3.8, 3.6))
        first, second = (one[:, component] for one in self.scores[:2])
        self.ax_.scatter(first, second, s=8, c=COLOURS[0] if c is None else c, alpha=0.7, linewidths=0)
        values = self.training if self.held_out is None else self.held_out
        what = "training pairs" if self.held_out is None else "new pairs"
        self.ax_.set(
            xlabel=f"score of the first view, component {component + 1}",
            ylabel="score of the second view",
            title=f"correlation {values[component]:.2f} ({what})",
        )
        return self

    def __repr__(self) -> str:
        first = f"{self.training[0]:.3g}" if len(self.training) else "none"
        new = f", {self.held_out[0]:.3g} on new pairs" if self.held_out is not None and len(self.held_out) else ""
        return f"<CorrelationDisplay: {len(self.training)} components, first correlation {first}{new}>"
