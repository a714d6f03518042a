"""What only some kernels can do, each as a small protocol.

A user's kernel satisfies a protocol by implementing its methods; those of this package derive from the classes in
`mercer.kernels.abilities`, which open the methods to raw data. Callers ask ``offers(kernel, HasFeatures)``, of
`mercer.kernels.kernel`: a sum has the method, but offers it only if all of its terms do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from mercer.arrays import Floats
from mercer.domains import Samples
from mercer.kernels.comparison import Base, Comparison, Path, View
from mercer.kernels.power_series import Series

__all__ = [
    "CAPABILITIES",
    "SAME",
    "Compiles",
    "Differentiable",
    "HasAtoms",
    "HasBases",
    "HasFeatures",
    "HasFrequencies",
    "HasGrain",
    "HasQuickTiles",
    "HasReasons",
    "HasSeries",
    "HasSpectralDensity",
    "InputDifferentiable",
    "IsWindow",
    "Keys",
    "PairTerm",
    "Reason",
    "TileDifferentiable",
    "WritesFormula",
    "alike",
]

Pullback = Callable[[Floats], Floats]  # weights of a tile -> derivatives in the free parameters


# what users of kernels ask for ------------------------------------------------------------------------


@runtime_checkable
class HasFeatures(Protocol):
    """A kernel with a finite feature map; most of them also give its size, see `feature_count`."""

    def features(self, A: Samples, keys: Any = ...) -> tuple[Any, Any]:
        """Return (matrix, keys): a finite feature map, shape (len A, D), dense or sparse."""
        ...


@runtime_checkable
class HasFrequencies(Protocol):
    """A stationary kernel whose spectral measure can be drawn from."""

    def frequencies(self, rng: np.random.Generator, count: int, width: int) -> Floats:
        """Draw from the spectral measure, shape (count, width): k(x, z) = E cos(w . (x - z))."""
        ...


@runtime_checkable
class HasSeries(Protocol):
    """A kernel that is a power series in the dot product."""

    def series(self) -> Series:
        """Return the kernel as a power series in the dot product, k(x, z) = sum_n a_n <x, z>^n."""
        ...


@runtime_checkable
class HasSpectralDensity(Protocol):
    """A stationary kernel whose spectral measure has a density."""

    def spectral_density(self, omega: Floats) -> Floats:
        """Return v at frequencies (m, d), shape (m,): k(x, z) = integral of v(w) cos(w . (x - z)) dw.

        It integrates to k(0), over all frequencies of both signs. `mercer.hilbert.spectral_measure` finds it for sums
        and products too.
        """
        ...


@runtime_checkable
class HasAtoms(Protocol):
    """A stationary kernel whose spectral measure consists of points."""

    def spectral_atoms(self, width: int) -> tuple[Floats, Floats]:
        """Return (frequencies w (q, width), masses m (q,)): k(x, z) = sum_i m_i cos(w_i . (x - z)), up to rounding."""
        ...


@runtime_checkable
class Differentiable(Protocol):
    """A kernel with a derivative in its free parameters."""

    def pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_ij W_ij dk(a_i, b_j)/dtheta for the free parameters theta, shape (p,)."""
        ...


@runtime_checkable
class InputDifferentiable(Protocol):
    """A kernel with a derivative in its inputs."""

    def pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_j W_ij dk(a_i, b_j)/da_i (first argument only), shape (len A, d)."""
        ...


@runtime_checkable
class IsWindow(Protocol):
    """A kernel that may be the density of a distribution around its second argument, up to a factor."""

    def log_integral(self, width: int) -> float | None:
        """Return log of the integral of k(., z) over `width` dimensions, or None if k is no window.

        A window is nowhere negative, and its integral is finite and the same for every z: divided by it, k(., z) is
        the density of a distribution around z.
        """
        ...


class Reason(NamedTuple):
    """Why a property of a kernel holds, or does not.

    Attributes
    ----------
    holds : bool or None
        None where it is not known.
    reason : str
    seed : str
        Where the theorem is found.
    points : int, optional
        If the kernel is not strict: this many objects, well chosen, have a singular Gram matrix.
    """

    holds: bool | None
    reason: str
    seed: str = ""
    points: int | None = None


def alike(reason: Reason) -> dict[str, Reason]:
    """Return the same reason for strictness, universality, and being characteristic.

    Examples
    --------
    >>> alike(Reason(False, "it is zero", points=1))["universal"].points is None
    True
    """
    return {"strict": reason, **dict.fromkeys(("universal", "characteristic"), reason._replace(points=None))}


@runtime_checkable
class WritesFormula(Protocol):
    """A kernel whose formula is made of those of its terms."""

    def latex(self, of: Callable[[Any], str]) -> str:
        """Return the formula as LaTeX; ``of`` gives that of a term."""
        ...


@runtime_checkable
class HasReasons(Protocol):
    """A kernel that knows why it is strict or universal; for others, `mercer.hilbert.properties` derives it."""

    def reasons(self, width: int | None) -> Mapping[str, Reason]:
        """Return what is known of "strict", "universal", "characteristic" and "definite" on this many columns."""
        ...


# what drivers of tiles ask for ------------------------------------------------------------------------


@runtime_checkable
class TileDifferentiable(Protocol):
    """A kernel that is differentiated tile by tile, together with its value."""

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Return the kernel's values on one tile, which must not be overwritten, and the pullback to parameters.

        The second is a function of weights W of the tile's shape that returns sum_ij W_ij dk(a_i, b_j)/dtheta, (p,).
        """
        ...


@runtime_checkable
class HasQuickTiles(Protocol):
    """A kernel whose tiles can be made in one pass."""

    def quick(self, comparison: Comparison) -> Callable[..., Floats] | None:
        """Return a function that makes tiles of a comparison in one pass, or None where there is no such way.

        It is called with rows, columns (two slices) and perhaps V, and returns the tile or, without writing it, the
        tile times V, which has the tile's dtype and a column per output. Entries are off by the rounding of the tile's
        dtype, as in `tile`, but are no more exact for near points. A tile is valid until the thread's next one.
        """
        ...


@runtime_checkable
class Compiles(Protocol):
    """A kernel whose expansions can be put into one function."""

    def compile(self, samples: Samples, coef: Floats) -> Callable[[Samples], Floats] | None:
        """Return f(x) = sum_i coef_i k(s_i, x) as one function, or None where pair by pair is the only way.

        Parameters
        ----------
        samples : Samples
            The s_i, as the kernel packs them.
        coef : (n,) or (n, k) array

        Returns
        -------
        callable or None
            It takes packed samples and returns an array of shape (m,) or (m, k).
        """
        ...


@runtime_checkable
class HasGrain(Protocol):
    """A kernel whose pairs take long, so that its tiles should be small."""

    def grain(self, comparison: Comparison) -> int | None:
        """Return how many rows and columns a tile should have at most, or None for as many as stay in cache.

        A kernel whose pairs take long asks for tiles of some 20 milliseconds, so that threads get equal shares and
        Ctrl-C is answered. A term of a composite is asked with the whole comparison, whose samples need not be of the
        term's domain.
        """
        ...


@runtime_checkable
class HasBases(Protocol):
    """A kernel that is a function of dot products or distances, which a view computes once for all terms."""

    def bases(self) -> Iterable[tuple[Path, Base, float | None]]:
        """Yield (path, base, squared length scale) for every base that `tile` asks of a view."""
        ...


@runtime_checkable
class Keys(Protocol):
    """Keys of features that can be found among others, as k-mers can, so that functions of several are combined."""

    def __len__(self) -> int: ...

    def find(self, other: Any) -> Any:
        """Return for each key of `other` its place here, or -1."""
        ...

    def merged(self, other: Any) -> Any:
        """Return the keys of both, each once."""
        ...


# kernels on pairs -------------------------------------------------------------------------------------

SAME: Literal["same"] = "same"
"""The factor that is one for equal objects and zero for others."""


class PairTerm(NamedTuple):
    """One of the products that a kernel on pairs is the sum of.

    Attributes
    ----------
    weight : float
    left, right : Kernel, SAME or None
        The factors; None is one.
    symmetric : bool
        Whether it is averaged over both orders of one of the pairs.
    """

    weight: float
    left: Any
    right: Any
    symmetric: bool = False


# the method by which a capability is known, its protocol, and what a kernel without it has not
CAPABILITIES: dict[str, tuple[type, str]] = {
    "features": (HasFeatures, "finite feature map"),
    "frequencies": (HasFrequencies, "sampler of its spectral measure"),
    "pullback": (Differentiable, "derivative in its parameters"),
    "pullback_inputs": (InputDifferentiable, "derivative in its inputs"),
    "series": (HasSeries, "power series in the dot product"),
    "spectral_density": (HasSpectralDensity, "spectral density of its own"),
    "spectral_atoms": (HasAtoms, "spectral measure of points"),
}
