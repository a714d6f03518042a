r"""How far samples are on the right side: the distribution of the margins of a classifier.

Symbols: m_i the margin of a sample, y_i f(x_i) of two classes, and of more f_y(x_i) less the largest of the others;
w_i sample weights; nu a share of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arguments import real_array
from mercer.arrays import Floats
from mercer.constraints import Interval
from mercer.errors import CapabilityError
from mercer.plots.canvas import COLOURS, axes
from mercer.targets.target import class_codes, sample_weights

__all__ = ["MarginDistributionDisplay", "margins_of"]
__public__ = ["MarginDistributionDisplay"]


def margins_of(estimator: Any, X: Any, y: Any) -> Floats:
    """Return the margins of samples under a fitted classifier, (n,): positive where it is right.

    Parameters
    ----------
    estimator : fitted classifier
        With ``decision_function`` or ``predict_proba``.
    X : raw data or packed samples
    y : (n,) array
        True classes.
    """
    codes = class_codes(np.asarray(estimator.classes_), y)
    ask = getattr(estimator, "decision_function", None) or getattr(estimator, "predict_proba", None)
    if ask is None:
        raise CapabilityError(
            f"{type(estimator).__name__} has neither decision_function nor predict_proba; margins are read from one of "
            "them. Use a classifier that tells how sure it is."
        )
    values = np.asarray(ask(X), dtype=float)
    if values.ndim == 1:
        return np.where(codes == 1, values, -values)
    if values.shape[1] != len(estimator.classes_):
        raise CapabilityError(
            f"decision values of shape {values.shape} were returned for {len(estimator.classes_)} classes; one column "
            "per class is needed. Use decision_function_shape='ovr'."
        )
    own = values[np.arange(len(values)), codes]
    rest = values.copy()
    rest[np.arange(len(values)), codes] = -np.inf
    return own - rest.max(axis=1)


@dataclass(eq=False, repr=False)
class MarginDistributionDisplay:
    r"""The share of samples whose margin is at most theta, for all theta.

    .. math:: \theta \mapsto \sum_i w_i [m_i \le \theta] \Big/ \sum_i w_i

    At zero it is the training error. Boosting and support vector machines push the whole curve to the right, each by
    its own function of the margins: `AdaBoostClassifier` by the sum of :math:`e^{-m}`, `LPBoostClassifier` and `NuSVC`
    by the mean of the worst share nu, the conditional value at risk (`tail_mean`).

    Seed: [KIKS] Section 7; [ST] "Application to Boosting".

    Parameters
    ----------
    margins : (n,) array
    weight : (n,) array
    nu : float, optional
        The share of the worst margins whose mean is marked.
    name : str

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        After `plot`.

    Examples
    --------
    >>> from mercer import LPBoostClassifier
    >>> from mercer.plots import MarginDistributionDisplay
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = LPBoostClassifier(nu=0.25).fit(X, [0, 1, 1, 0])
    >>> display = MarginDistributionDisplay.from_estimator(model, X, [0, 1, 1, 0], normalized=False)
    >>> display.margins.round(3), round(display.tail_mean(0.25), 3)
    (array([0.333, 0.333, 0.333, 0.333]), 0.333)
    """

    margins: Floats
    weight: Floats
    nu: float | None = None
    name: str = ""

    ax_: Any = None
    figure_: Any = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        nu: float | None = None,
        normalized: bool = True,
        name: str | None = None,
        ax: Any = None,
    ) -> MarginDistributionDisplay:
        """Draw the margins of a fitted classifier, of mercer or any other library.

        Parameters
        ----------
        estimator : fitted classifier
        X : raw data or packed samples
        y : (n,) array
            True classes.
        sample_weight : (n,) array, optional
        nu : float, optional
            Share of the worst margins to mark; None takes that of the estimator, if it has one.
        normalized : bool, default True
            Whether margins are divided by the largest in absolute value, so that classifiers can be compared.
        name : str, optional
            None is the name of the class.
        ax : matplotlib axes, optional
        """
        margins = margins_of(estimator, X, y)
        nu = getattr(estimator, "nu", None) if nu is None else nu
        name = type(estimator).__name__ if name is None else name
        return cls.from_margins(margins, sample_weight, nu=nu, normalized=normalized, name=name, ax=ax)

    @classmethod
    def from_margins(
        cls,
        margins: Any,
        sample_weight: Any = None,
        *,
        nu: float | None = None,
        normalized: bool = False,
        name: str = "",
        ax: Any = None,
    ) -> MarginDistributionDisplay:
        """Draw margins that were computed elsewhere."""
        values = real_array(margins, "margins", 1)
        if nu is not None:
            Interval(0.0, 1.0, closed="right").check("nu", nu, cls)
        size = float(np.abs(values).max(initial=0.0))
        if normalized and size > 0.0:
            values = values / size
        return cls(values, sample_weights(sample_weight, len(values)), nu, name).plot(ax)

    def share_below(self, theta: float) -> float:
        """Return the share of the weight whose margin is at most theta."""
        return float(self.weight[self.margins <= theta].sum() / self.weight.sum())

    def tail_mean(self, nu: float) -> float:
        """Return the mean of the margins in the worst share nu of the weight: minus their conditional value at risk."""
        order = np.argsort(self.margins, kind="stable")
        share = self.weight[order] / self.weight.sum()
        before = np.cumsum(share) - share
        part = np.clip(nu - before, 0.0, share)
        return float(part @ self.margins[order] / part.sum())

    def plot(self, ax: Any = None) -> MarginDistributionDisplay:
        """Draw the steps; a dotted line marks the mean of the worst share."""
        self.ax_, self.figure_ = axes(ax)
        order = np.argsort(self.margins, kind="stable")
        x = self.margins[order]
        share = np.cumsum(self.weight[order]) / self.weight.sum()
        (line,) = self.ax_.step(np.append(x[0], x), np.append(0.0, share), where="post", label=self.name or None)
        if self.nu is not None:
            mean = self.tail_mean(self.nu)
            self.ax_.axvline(mean, color=line.get_color(), linestyle=":", linewidth=1.2)
            self.ax_.annotate(
                f"mean of the worst {self.nu:g}: {mean:.3g}",
                (mean, 0.98),
                xycoords=("data", "axes fraction"),
                rotation=90,
                ha="right",
                va="top",
                fontsize="small",
                color=line.get_color(),
            )
        self.ax_.axvline(0.0, color=COLOURS[7], linewidth=0.8)
        self.ax_.set(xlabel="margin", ylabel="share of the samples below", ylim=(0.0, 1.02))
        if self.name:
            self.ax_.legend(loc="upper left")
        return self
