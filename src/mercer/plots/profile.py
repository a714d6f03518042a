"""How fast similarity fades: k(x, x + t u) along a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.domains import Vectors
from mercer.errors import CapabilityError, ParameterError
from mercer.kernels import Kernel
from mercer.plots.canvas import COLOURS, axes
from mercer.plots.sources import fitted_kernel, samples_of

__all__ = ["KernelProfileDisplay"]
__public__ = __all__

POINTS = 201
REACH = 3.0


@dataclass(eq=False, repr=False)
class KernelProfileDisplay:
    r"""Values of kernels between a point and the points of a line through it.

    .. math:: t \mapsto k(x, x + t u)

    Parameters
    ----------
    t : (q,) array
        Positions on the line, in multiples of the direction.
    values : (p, q) array
        One row per kernel.
    names : tuple of str
        What the kernels are called.
    origin, direction : (d,) arrays
        x and u.

    Attributes
    ----------
    ax_, figure_, lines_ : matplotlib objects
        After `plot`.

    Notes
    -----
    For kernels on vectors. A stationary kernel has the same profile from every origin.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Laplacian
    >>> from mercer.plots import KernelProfileDisplay
    >>> display = KernelProfileDisplay.from_kernel([Gaussian(1.0), Laplacian(1.0)], t=[0.0, 1.0])
    >>> display.values.round(3)
    array([[1.   , 0.607],
           [1.   , 0.368]])
    """

    t: Floats
    values: Floats
    names: tuple[str, ...]
    origin: Floats
    direction: Floats

    ax_: Any = None
    figure_: Any = None
    lines_: Any = None

    @classmethod
    def from_kernel(
        cls,
        kernel: Kernel | Sequence[Kernel] | Mapping[str, Kernel],
        *,
        origin: Any = None,
        direction: Any = None,
        t: Any = None,
        ax: Any = None,
    ) -> KernelProfileDisplay:
        """Draw the profiles of one or several kernels.

        Parameters
        ----------
        kernel : Kernel, sequence of kernels, or mapping from names to kernels
            On vectors.
        origin : (d,) array, optional
            None is zero; with neither origin nor direction, d = 1.
        direction : (d,) array, optional
            None is the first axis.
        t : (q,) array, optional
            None is 201 places from -3 to 3.
        ax : matplotlib axes, optional
        """
        named = _named(kernel)
        x, u = _line(origin, direction)
        places = np.linspace(-REACH, REACH, POINTS) if t is None else np.asarray(t, dtype=float)
        if places.ndim != 1 or not np.all(np.isfinite(places)):
            raise ParameterError(
                f"t of shape {places.shape} was given; finite places in one dimension are accepted. "
                "Give for example np.linspace(-3, 3, 100)."
            )
        points = x + places[:, None] * u
        values = np.array([_values(one, x, points) for one in named.values()]).reshape(len(named), len(places))
        return cls(places, values, tuple(named), x, u).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, *, t: Any = None, ax: Any = None) -> KernelProfileDisplay:
        """Draw the profile of a fitted kernel through the mean of the samples, along their main direction.

        Parameters
        ----------
        estimator : fitted estimator
            With a kernel on vectors.
        X : raw data or packed samples, optional
            None takes the samples that the fitted function is made of.
        t : (q,) array, optional
            Places in standard deviations of the samples along that direction; None is from -3 to 3.
        ax : matplotlib axes, optional
        """
        kernel = fitted_kernel(estimator)
        S = samples_of(estimator, X)
        if not isinstance(S, Vectors):
            raise _not_vectors(kernel)
        dense = np.asarray(S.dense(), dtype=float)
        mean = dense.mean(axis=0)
        _, sizes, axes_of_data = np.linalg.svd(dense - mean, full_matrices=False)
        deviation = sizes[0] / np.sqrt(len(dense)) if sizes[0] > 0 else 1.0
        return cls.from_kernel(kernel, origin=mean, direction=deviation * axes_of_data[0], t=t, ax=ax)

    def plot(self, ax: Any = None) -> KernelProfileDisplay:
        """Draw one curve per kernel on axes given or on new ones; return self."""
        self.ax_, self.figure_ = axes(ax)
        self.lines_ = []
        for place, (name, row) in enumerate(zip(self.names, self.values, strict=True)):
            (line,) = self.ax_.plot(self.t, row, color=COLOURS[place % len(COLOURS)], linewidth=1.6, label=name)
            self.lines_.append(line)
        self.ax_.set(xlabel="t", ylabel="k(x, x + t u)")
        for text in self.ax_.legend().get_texts():
            text.set_parse_math(False)
        return self

    def __repr__(self) -> str:
        return f"<KernelProfileDisplay: {', '.join(self.names)}>"


def _named(kernel: Any) -> dict[str, Kernel]:
    if isinstance(kernel, Kernel):
        kernel = [kernel]
    named = dict(kernel) if isinstance(kernel, Mapping) else {repr(one): one for one in kernel}
    strange = [one for one in named.values() if not isinstance(one, Kernel)]
    if strange or not named:
        what = f"{strange[0]!r} was" if strange else "No kernel was"
        raise ParameterError(
            f"{what} given; a kernel, a sequence of kernels or a mapping from names to kernels is accepted. "
            "Give for example [Gaussian(1.0), Laplacian(1.0)]."
        )
    return named


def _line(origin: Any, direction: Any) -> tuple[Floats, Floats]:
    x = None if origin is None else np.atleast_1d(np.asarray(origin, dtype=float))
    u = None if direction is None else np.atleast_1d(np.asarray(direction, dtype=float))
    if x is None:
        x = np.zeros(1 if u is None else u.shape)
    if u is None:
        u = np.eye(1, x.size)[0]
    if x.ndim != 1 or x.shape != u.shape or not np.any(u) or not np.all(np.isfinite([x, u])):
        raise ParameterError(
            f"origin of shape {x.shape} and direction of shape {u.shape} were given; both are vectors of the same "
            "length, finite, the direction not zero. Give one number per column of the data."
        )
    return x, u


def _values(kernel: Kernel, x: Floats, points: Floats) -> Floats:
    if not issubclass(kernel.domain, Vectors):
        raise _not_vectors(kernel)
    S = Vectors.pack(np.vstack([x, points]))
    kernel = kernel.check().learn(S)
    return np.asarray(kernel(S[:1], S[1:]), dtype=float)[0]


def _not_vectors(kernel: Kernel) -> CapabilityError:
    return CapabilityError(
        f"{kernel!r} does not compare vectors, so there is no line to walk along; kernels on vectors are accepted. "
        "Use GramDisplay for other data."
    )
