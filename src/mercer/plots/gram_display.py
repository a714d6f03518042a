"""The Gram matrix as a picture: which samples are alike.

Samples of one class are adjacent; within a class, or without classes, so are similar samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform
from sklearn.utils.multiclass import type_of_target

from mercer.arrays import Floats, Indices
from mercer.domains import Samples, Similarities
from mercer.errors import ParameterError, printable
from mercer.kernels import Kernel, Precomputed
from mercer.plots.canvas import axes
from mercer.plots.sources import fitted_kernel, gram_matrix, samples_of, some_of

__all__ = ["Group", "GramDisplay", "arranged"]
__public__ = ["GramDisplay"]

MOST = 500
ORDERS = ("auto", "target", "cluster", "given")


class Group(NamedTuple):
    """A run of samples of one class in the order of the picture."""

    label: str
    start: int
    stop: int


@dataclass(eq=False, repr=False)
class GramDisplay:
    """Heat map of a Gram matrix.

    Parameters
    ----------
    gram : (m, m) array
        Values of the kernel, in the order of the picture.
    index : (m,) array
        Position among all samples of each sample shown.
    n_samples : int
        Number of all samples; more than m if only some are shown.
    groups : tuple of Group
        Classes, in the order of the picture; empty without classes.
    order : str
        How the samples were ordered: "target", "cluster" or "given".
    name : str
        What the kernel is called.

    Attributes
    ----------
    ax_, figure_, image_ : matplotlib objects
        After `plot`.

    Notes
    -----
    Beyond `max_samples` (500) some samples are drawn at random and the picture says so. Cost O(m^2) kernel
    values, and a hierarchical clustering of m samples.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plots import GramDisplay
    >>> display = GramDisplay.from_kernel(Gaussian(1.0), [[0.0], [5.0], [0.1]], ["a", "b", "a"])
    >>> display.groups
    (Group(label='a', start=0, stop=2), Group(label='b', start=2, stop=3))
    >>> display.gram.round(2)
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """

    gram: Floats
    index: Indices
    n_samples: int
    groups: tuple[Group, ...] = ()
    order: str = "given"
    name: str = ""

    ax_: Any = None
    figure_: Any = None
    image_: Any = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        order: str = "auto",
        max_samples: int = MOST,
        ax: Any = None,
    ) -> GramDisplay:
        """Draw the Gram matrix of a fitted estimator's kernel.

        Parameters
        ----------
        estimator : fitted estimator
        X : raw data or packed samples, optional
            None takes the samples that the fitted function is made of.
        y : (n,) array, optional
            Targets to order the samples by.
        order : {"auto", "target", "cluster", "given"}
            "auto" is by target if there is one, else by clustering.
        max_samples : int, default 500
            Beyond it, some samples are drawn at random.
        ax : matplotlib axes, optional
        """
        S = samples_of(estimator, X)
        return arranged(fitted_kernel(estimator), S, y, order=order, max_samples=max_samples).plot(ax)

    @classmethod
    def from_kernel(
        cls,
        kernel: Kernel,
        X: Any,
        y: Any = None,
        *,
        order: str = "auto",
        max_samples: int = MOST,
        ax: Any = None,
    ) -> GramDisplay:
        """Draw the Gram matrix of a kernel on data; what it learns from data, it learns from all of them."""
        S = kernel.check().pack(X)
        return arranged(kernel.learn(S), S, y, order=order, max_samples=max_samples).plot(ax)

    @classmethod
    def from_matrix(
        cls, K: Any, y: Any = None, *, order: str = "auto", max_samples: int = MOST, ax: Any = None
    ) -> GramDisplay:
        """Draw a symmetric matrix that was computed elsewhere."""
        S = Similarities.pack(K)
        S.check_symmetric()
        display = arranged(Precomputed(), S, y, order=order, max_samples=max_samples)
        display.name = ""
        return display.plot(ax)

    @property
    def note(self) -> str:
        """What a reader should know about the picture, in a sentence or two."""
        by = {"target": "ordered by target", "cluster": "ordered by similarity", "given": "in the order given"}
        shown, n = len(self.gram), self.n_samples
        count = f"{n} samples" if shown == n else f"{shown} of {n} samples, drawn at random"
        return f"{count}, {by[self.order]}"

    def plot(self, ax: Any = None, *, cmap: str | None = None, colorbar: bool = True) -> GramDisplay:
        """Draw the picture on axes given or on new ones.

        Parameters
        ----------
        ax : matplotlib axes, optional
        cmap : str, optional
            None is "viridis", or "RdBu_r" with white at zero if there are negative values.
        colorbar : bool, default True

        Returns
        -------
        self
        """
        self.ax_, self.figure_ = axes(ax, (5.2, 4.4))
        low, high = float(self.gram.min()), float(self.gram.max())
        signed = low < -1e-3 * max(high, -low)
        if signed:
            low, high = -max(high, -low), max(high, -low)
        cmap = cmap or ("RdBu_r" if signed else "viridis")
        options: dict[str, Any] = {"cmap": cmap, "vmin": low, "vmax": high, "interpolation": "none"}
        self.image_ = self.ax_.imshow(self.gram, **options)
        if colorbar:
            self.figure_.colorbar(self.image_, ax=self.ax_, fraction=0.046, pad=0.03, label="k(x, x')")
        self._mark_groups()
        self.ax_.set_xlabel(self.note)
        return self

    def _mark_groups(self) -> None:
        """Label the classes at the sides and draw their borders; without classes, no ticks: numbers mean nothing."""
        self.ax_.set_xticks([])
        if not 1 < len(self.groups) <= 30:
            self.ax_.set_yticks([])
            return
        for group in self.groups[1:]:
            for line in (self.ax_.axhline, self.ax_.axvline):
                line(group.start - 0.5, color="white", linewidth=0.8)
        middles = [(group.start + group.stop - 1) / 2 for group in self.groups]
        labels = [f"{group.label[:18]}…" if len(group.label) > 19 else group.label for group in self.groups]
        self.ax_.set_yticks(middles, labels, parse_math=False)
        self.ax_.tick_params(axis="y", length=0)

    def __repr__(self) -> str:
        return f"<GramDisplay: {self.note}>"


def arranged(kernel: Kernel, S: Samples, y: Any = None, *, order: str = "auto", max_samples: int = MOST) -> GramDisplay:
    """Return the display of a kernel on packed samples, computed but not drawn: no matplotlib is needed."""
    n = len(S)
    if order not in ORDERS or (order == "target" and y is None):
        raise ParameterError(
            f"order={order!r} was given{' without y' if y is None else ''}; {', '.join(map(repr, ORDERS))} are "
            "accepted, 'target' with y. Use order='auto'."
        )
    if y is not None and len(y) != n:
        raise ParameterError(f"y has {len(y)} entries for {n} samples; one per sample is needed. Give y for X.")
    if order == "auto":
        order = "cluster" if y is None else "target"
    index = some_of(n, max_samples)
    K = gram_matrix(kernel, S.take(index))
    if order == "given":
        return GramDisplay(K, index, n, (), order, repr(kernel))
    places, groups = arrange(K, None if order == "cluster" else np.asarray(y)[index])
    return GramDisplay(K[np.ix_(places, places)], index[places], n, groups, order, repr(kernel))


def arrange(K: Floats, y: Any = None) -> tuple[Indices, tuple[Group, ...]]:
    """Return an order in which like samples are neighbours, by class first; and the classes as runs."""
    if y is None:
        return by_similarity(K), ()
    if type_of_target(y).startswith("continuous"):
        return np.argsort(y if y.ndim == 1 else y[:, 0], kind="stable"), ()
    if y.ndim > 1:
        y = y[:, 0]
    classes, codes = np.unique(y, return_inverse=True)
    places, groups, start = [], [], 0
    for code, label in enumerate(classes):
        members = np.flatnonzero(codes == code)
        places.append(members[by_similarity(K[np.ix_(members, members)])])
        groups.append(Group(printable(str(label)), start, start + len(members)))
        start += len(members)
    return np.concatenate(places), tuple(groups)


def by_similarity(K: Floats) -> Indices:
    """Return the order of the leaves of a tree that joins samples near in feature space."""
    if len(K) < 3:
        return np.arange(len(K))
    own = np.diagonal(K)
    squared = np.maximum(own[:, None] + own - 2.0 * K, 0.0)
    np.fill_diagonal(squared, 0.0)
    return leaves_list(linkage(squareform(np.sqrt(squared), checks=False), "average")).astype(np.intp)
