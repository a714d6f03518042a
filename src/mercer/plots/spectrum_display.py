"""The eigenvalues of a Gram matrix: how many directions of feature space the data really use.

Symbols: lambda_i the eigenvalues in descending order, n samples, m of them shown, alpha the ridge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.domains import Samples, Similarities
from mercer.kernels import Kernel, Precomputed
from mercer.plots.canvas import COLOURS, axes, logarithmic
from mercer.plots.sources import fitted_kernel, gram_matrix, samples_of, some_of

__all__ = ["SpectrumDisplay", "degrees_of_freedom", "effective_rank", "numerical_rank", "ridge_of", "spectrum"]
__public__ = ["SpectrumDisplay"]

MOST = 1000


def effective_rank(eigenvalues: Floats) -> float:
    r"""Return the number of directions that would carry as much entropy, were they all alike.

    .. math:: \exp\Big(-\sum_i p_i \log p_i\Big), \qquad p_i = \max(\lambda_i, 0) \Big/ \sum_j \max(\lambda_j, 0)

    Examples
    --------
    >>> effective_rank(np.array([2.0, 2.0, 0.0])), effective_rank(np.array([1.0, 0.0]))
    (2.0, 1.0)
    """
    positive = np.maximum(np.asarray(eigenvalues, dtype=float), 0.0)
    total = positive.sum()
    if not total > 0:
        return 0.0
    p = positive[positive > 0] / total
    p = p[p > 0]
    return float(round(np.exp(-np.sum(p * np.log(p))), 12))


def numerical_rank(eigenvalues: Floats) -> int:
    """Return how many eigenvalues are above rounding: n times the unit roundoff, relative to the largest.

    Examples
    --------
    >>> numerical_rank(np.array([1.0, 1e-3, 1e-20]))
    2
    """
    sizes = np.abs(eigenvalues)
    return int(np.sum(sizes > sizes.max(initial=0.0) * len(sizes) * np.finfo(float).eps))


def degrees_of_freedom(eigenvalues: Floats, alpha: float) -> float:
    r"""Return the effective number of parameters of ridge regression.

    .. math:: \sum_i \lambda_i / (\lambda_i + \alpha)

    Examples
    --------
    >>> degrees_of_freedom(np.array([1.0, 1.0, 0.0]), 1.0)
    1.0
    """
    positive = np.maximum(np.asarray(eigenvalues, dtype=float), 0.0)
    return float(np.sum(positive / (positive + alpha)))


@dataclass(eq=False, repr=False)
class SpectrumDisplay:
    """Eigenvalues of a Gram matrix on a logarithmic scale.

    Parameters
    ----------
    eigenvalues : (m,) array
        In descending order. If only m of n samples were used, times n / m: then they estimate the largest
        eigenvalues of the whole matrix.
    n_samples : int
        Number of all samples.
    alpha : float, optional
        The ridge: directions with smaller eigenvalues hardly count.
    name : str
        What the kernel is called.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        After `plot`.

    Notes
    -----
    Beyond `max_samples` (1000) some samples are drawn at random and the picture says so. Cost O(m^3).

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> from mercer.plots import SpectrumDisplay
    >>> display = SpectrumDisplay.from_kernel(Linear(), [[3.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    >>> display.eigenvalues
    array([9., 4., 0.])
    >>> display.rank
    2
    """

    eigenvalues: Floats
    n_samples: int
    alpha: float | None = None
    name: str = ""

    ax_: Any = None
    figure_: Any = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, max_samples: int = MOST, ax: Any = None
    ) -> SpectrumDisplay:
        """Draw the spectrum of a fitted estimator's kernel, with its ridge if it has one.

        Parameters
        ----------
        estimator : fitted estimator
        X : raw data or packed samples, optional
            None takes the samples that the fitted function is made of.
        max_samples : int, default 1000
            Beyond it, some samples are drawn at random.
        ax : matplotlib axes, optional
        """
        display = spectrum(fitted_kernel(estimator), samples_of(estimator, X), ridge_of(estimator), max_samples)
        return display.plot(ax)

    @classmethod
    def from_kernel(
        cls, kernel: Kernel, X: Any, *, alpha: float | None = None, max_samples: int = MOST, ax: Any = None
    ) -> SpectrumDisplay:
        """Draw the spectrum of a kernel on data; what it learns from data, it learns from all of them."""
        S = kernel.check().pack(X)
        return spectrum(kernel.learn(S), S, alpha, max_samples).plot(ax)

    @classmethod
    def from_matrix(
        cls, K: Any, *, alpha: float | None = None, max_samples: int = MOST, ax: Any = None
    ) -> SpectrumDisplay:
        """Draw the spectrum of a symmetric matrix that was computed elsewhere."""
        S = Similarities.pack(K)
        S.check_symmetric()
        display = spectrum(Precomputed(), S, alpha, max_samples)
        display.name = ""
        return display.plot(ax)

    @property
    def effective_rank(self) -> float:
        """Number of directions that matter: exp of the entropy of the eigenvalues."""
        return effective_rank(self.eigenvalues)

    @property
    def rank(self) -> int:
        """Number of eigenvalues above rounding."""
        return numerical_rank(self.eigenvalues)

    @property
    def condition(self) -> float:
        """Largest over smallest size of an eigenvalue; infinite if one is lost in rounding."""
        sizes = np.abs(self.eigenvalues)
        return float(sizes.max() / sizes.min()) if self.rank == len(sizes) and len(sizes) else float("inf")

    @property
    def degrees_of_freedom(self) -> float | None:
        """Effective number of parameters under the ridge; None without one."""
        return None if self.alpha is None else degrees_of_freedom(self.eigenvalues, self.alpha)

    @property
    def note(self) -> str:
        """What a reader should know about the numbers, in a sentence."""
        m, n = len(self.eigenvalues), self.n_samples
        if m == n:
            return f"{n} samples"
        return f"estimated from {m} of {n} samples, drawn at random (eigenvalues times {n / m:.3g})"

    def plot(self, ax: Any = None) -> SpectrumDisplay:
        """Draw the eigenvalues; those below rounding are faint, negative ones are shown by their size, hollow."""
        self.ax_, self.figure_ = axes(ax)
        values = self.eigenvalues
        floor = np.abs(values).max(initial=0.0) * len(values) * np.finfo(float).eps
        place = np.arange(1, len(values) + 1)
        # below rounding the sign says nothing, so only what is above it counts as negative
        kinds = (
            ("eigenvalues", values > floor, {"color": COLOURS[0]}),
            ("negative", values < -floor, {"color": COLOURS[1], "markerfacecolor": "none"}),
            ("lost in rounding", np.abs(values) <= floor, {"color": COLOURS[7], "alpha": 0.6}),
        )
        for label, mask, style in kinds:
            if mask.any():
                sizes = np.maximum(np.abs(values[mask]), 1e-3 * floor or 1.0)
                self.ax_.plot(place[mask], sizes, "o", markersize=2.5, label=label, **style)
        if floor > 0:
            logarithmic(self.ax_)
        if self.alpha is not None:
            self.ax_.axhline(self.alpha, color=COLOURS[1], linewidth=1, linestyle="--", label=f"ridge {self.alpha:.3g}")
        self.ax_.axvline(
            max(self.effective_rank, 1),
            color=COLOURS[2],
            linewidth=1,
            label=f"effective rank {self.effective_rank:.3g}",
        )
        self.ax_.set(xlabel=f"number ({self.note})", ylabel="eigenvalue")
        self.ax_.legend()
        return self

    def __repr__(self) -> str:
        return f"<SpectrumDisplay: effective rank {self.effective_rank:.3g}, {self.note}>"


def spectrum(kernel: Kernel, S: Samples, alpha: float | None = None, max_samples: int = MOST) -> SpectrumDisplay:
    """Return the display of a kernel on packed samples, computed but not drawn: no matplotlib is needed."""
    K = gram_matrix(kernel, S.take(some_of(len(S), max_samples)))
    values = np.linalg.eigvalsh(K)[::-1] * (len(S) / len(K))
    return SpectrumDisplay(values, len(S), alpha, repr(kernel))


def ridge_of(estimator: Any) -> float | None:
    """Return what an estimator adds to the diagonal of K, or None if it has no such parameter."""
    alpha = getattr(estimator, "alpha", None)
    if isinstance(alpha, (int, float)) and not isinstance(alpha, bool) and alpha > 0:
        return float(alpha)
    return None
