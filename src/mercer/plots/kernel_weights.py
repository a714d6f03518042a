"""The weights of several kernels: as they were learned, along a path of costs, and how alike the kernels are.

Symbols: d_t the weights, A_st the alignment of centred Gram matrices, the cosine between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Floats
from mercer.errors import CapabilityError
from mercer.estimators.mixtures.kernel_family import family_of
from mercer.gram import Tiles
from mercer.kernels.kernel import narrowed
from mercer.mixtures.target_alignment import inner_products
from mercer.plots.canvas import COLOURS, axes
from mercer.plots.sources import some_of

__all__ = ["KernelAlignmentDisplay", "KernelWeightsDisplay", "WeightPathDisplay"]
__public__ = __all__

_NAMED = 12  # curves with a name in the legend
MOST = 1000


@dataclass
class KernelWeightsDisplay:
    """The weight of each kernel, and its share of the decision function.

    Parameters
    ----------
    names : tuple of str
    weights : (m,) array
    shares : (m,) array
        Shares of the variance of the decision function.

    Attributes
    ----------
    ax_, figure_, bars_ : matplotlib objects
        After `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MultipleKernelClassifier
    >>> from mercer.plots import KernelWeightsDisplay
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> display = KernelWeightsDisplay.from_estimator(MultipleKernelClassifier().fit(X, X[:, 0] > 0))
    >>> round(float(display.shares.sum()), 6)
    1.0
    """

    names: tuple[str, ...]
    weights: Floats
    shares: Floats

    ax_: Any = None
    figure_: Any = None
    bars_: Any = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> KernelWeightsDisplay:
        """Draw the weights of a fitted learner with several kernels.

        Parameters
        ----------
        estimator : fitted MultipleKernelClassifier, MultipleKernelRegressor or MultipleKernelDetector
        ax : matplotlib axes, optional
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "kernel_names_"):
            raise CapabilityError(
                f"{type(estimator).__name__} has one kernel, and no weights; a learner with several kernels is needed. "
                "Use for example MultipleKernelClassifier."
            )
        return cls(estimator.kernel_names_, estimator.weights_, estimator.contributions_).plot(ax)

    def plot(self, ax: Any = None) -> KernelWeightsDisplay:
        """Draw two bars for each kernel on axes given or on new ones."""
        self.ax_, self.figure_ = axes(ax, (5.0, 1.2 + 0.35 * len(self.names)))
        places = np.arange(len(self.names))
        total = float(np.sum(self.weights)) or 1.0
        self.bars_ = [
            self.ax_.barh(places - 0.2, self.weights / total, 0.38, color=COLOURS[0], label="weight"),
            self.ax_.barh(places + 0.2, self.shares, 0.38, color=COLOURS[1], label="share of the decision"),
        ]
        self.ax_.set_yticks(places, [name if len(name) <= 40 else f"{name[:37]}..." for name in self.names])
        self.ax_.invert_yaxis()
        self.ax_.set_xlabel("of all")
        self.ax_.legend()
        return self


@dataclass
class WeightPathDisplay:
    """The weights of kernels along a path of costs.

    Parameters
    ----------
    path : WeightPath

    Attributes
    ----------
    ax_, figure_, lines_ : matplotlib objects
        After `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MultipleKernelClassifier, weight_path
    >>> from mercer.plots import WeightPathDisplay
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> path = weight_path(MultipleKernelClassifier(), X, X[:, 0] > 0, [0.1, 1.0])
    >>> len(WeightPathDisplay(path).plot().lines_)
    5
    """

    path: Any

    ax_: Any = None
    figure_: Any = None
    lines_: Any = None

    def plot(self, ax: Any = None, *, quantity: str = "weights") -> WeightPathDisplay:
        """Draw a curve for each kernel.

        Parameters
        ----------
        ax : matplotlib axes, optional
        quantity : {"weights", "lengths"}
            The weights, or the lengths of the parts of the function.
        """
        if quantity not in ("weights", "lengths"):
            raise CapabilityError(f"quantity={quantity!r} was given; 'weights' and 'lengths' are accepted. Use one.")
        self.ax_, self.figure_ = axes(ax)
        values = getattr(self.path, quantity)
        largest = np.argsort(-values.max(axis=0))[:_NAMED]
        self.lines_ = []
        for t, name in enumerate(self.path.names):
            label = (name if len(name) <= 40 else f"{name[:37]}...") if t in largest else None
            self.lines_ += self.ax_.plot(self.path.costs, values[:, t], color=COLOURS[t % len(COLOURS)], label=label)
        self.ax_.set_xscale("log")
        self.ax_.set(xlabel="cost of an error, C", ylabel=quantity)
        self.ax_.legend()
        return self


@dataclass
class KernelAlignmentDisplay:
    """How alike several kernels are on some data: the cosines between their centred Gram matrices.

    Parameters
    ----------
    names : tuple of str
    alignments : (m, m) array
        Between 0 and 1; 1 for kernels that differ by a factor and a constant.

    Attributes
    ----------
    ax_, figure_, image_ : matplotlib objects
        After `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian, Linear
    >>> from mercer.plots import KernelAlignmentDisplay
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> KernelAlignmentDisplay.from_kernels([Linear(), 2.0 * Linear(), Gaussian(1.0)], X).alignments[0, 1].round(6)
    np.float64(1.0)
    """

    names: tuple[str, ...]
    alignments: Floats

    ax_: Any = None
    figure_: Any = None
    image_: Any = None

    @classmethod
    def from_kernels(
        cls, kernels: Any, X: Any, *, max_samples: int = MOST, random_state: int = 0, ax: Any = None
    ) -> KernelAlignmentDisplay:
        """Draw the alignments of kernels on data.

        Parameters
        ----------
        kernels : list or dict of Kernel
        X : raw data or packed samples
        max_samples : int, default 1000
            Beyond it, this many samples are drawn at random.
        random_state : int, default 0
        ax : matplotlib axes, optional
        """
        family = family_of(kernels)
        if family is None:
            raise CapabilityError("kernels=None was given; kernels to compare are needed. Give a list of kernels.")
        S = family.kernel.pack(X)
        S = S.take(some_of(len(S), max_samples, random_state))
        learned = family.learned(S, None, np.ones(len(S)))
        grams = [Tiles().build(k, k.prepare(narrowed(k, S))) for k in learned.kernels]
        M, _ = inner_products(grams, np.ones(len(S)))
        sizes = np.sqrt(np.maximum(np.diagonal(M), np.finfo(float).tiny))
        return cls(family.names, M / np.outer(sizes, sizes)).plot(ax)

    def plot(self, ax: Any = None) -> KernelAlignmentDisplay:
        """Draw the matrix on axes given or on new ones."""
        self.ax_, self.figure_ = axes(ax, (5.0, 4.2))
        self.image_ = self.ax_.imshow(self.alignments, vmin=0.0, vmax=1.0, cmap="magma_r")
        places = np.arange(len(self.names))
        short = [name if len(name) <= 25 else f"{name[:22]}..." for name in self.names]
        self.ax_.set_xticks(places, short, rotation=60, ha="right")
        self.ax_.set_yticks(places, short)
        self.figure_.colorbar(self.image_, ax=self.ax_, fraction=0.045)
        return self
