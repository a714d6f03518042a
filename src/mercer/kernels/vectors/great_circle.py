"""Similarity of places on a sphere, by the distance along the surface.

Symbols: phi the latitude, lambda the longitude, theta the angle between two places seen from the centre, R the radius.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Fixed, Interval, OneOf, Positive
from mercer.domains import Samples, Vectors
from mercer.domains.samples import packed_pair
from mercer.errors import DomainError
from mercer.kernels.abilities import Differentiated
from mercer.kernels.comparison import common_dtype
from mercer.kernels.kernel import Kernel, mirror
from mercer.kernels.vectors.pointwise import dense

__all__ = ["Haversine"]
__public__ = __all__


class Haversine(Kernel, Differentiated):
    r"""Great-circle kernel: similarity fades with the distance over the surface of a sphere, such as the Earth.

    .. math:: k(x, x') = e^{-(R \theta / l)^p}, \qquad
        \sin^2\frac{\theta}{2} = \sin^2\frac{\varphi - \varphi'}{2}
        + \cos\varphi \cos\varphi' \sin^2\frac{\lambda - \lambda'}{2}

    Seed: none of the five gives it; the exponential of a distance of negative type, as in [HSS] Section 2.2.2.

    Parameters
    ----------
    length_scale : float, default 1000.0
        l > 0, in the unit of the radius: the distance over which similarity falls to 1 / e.
    exponent : float, default 1.0
        p, above 0 and at most 1. Not a free parameter.
    radius : float, default 6371.0088
        R > 0; that of the Earth in kilometres unless given.
    unit : {"degrees", "radians"}, default "degrees"
        Of the two columns.

    Notes
    -----
    Domain Vectors of two columns: latitude, then longitude. Features no; differentiable in the length scale. Positive
    definite of order 0 on the whole sphere, since the angle is of negative type there, and so are its powers up to 1:
    for p > 1, the Gaussian of the great-circle distance included, the kernel is indefinite, and hence refused. Not
    strict on coordinates, since the poles and longitudes a turn apart are one place. For smooth functions use a Matern
    kernel of points in space instead. Normalised and bounded. Cost O(mn), some sines for each pair.

    Examples
    --------
    >>> berlin, paris, sydney = (52.52, 13.40), (48.86, 2.35), (-33.87, 151.21)
    >>> Haversine(1000.0)([berlin, paris, sydney]).round(3)
    array([[1.   , 0.416, 0.   ],
           [0.416, 1.   , 0.   ],
           [0.   , 0.   , 1.   ]])
    >>> Haversine.distance_of([berlin], [paris]).round(0)
    array([[877.]])
    """

    domain = Vectors
    formula = r"\exp(-(R \theta / l)^p)"
    cost = "O(mn), some sines for each pair"
    continuous = True
    normalised = True
    bounded = True
    constraints = {
        "length_scale": Positive(),
        "exponent": Fixed(Interval(0.0, 1.0, closed="right")),
        "radius": Fixed(Positive()),
        "unit": OneOf("degrees", "radians"),
    }

    def __init__(
        self, length_scale: float = 1000.0, exponent: float = 1.0, radius: float = 6371.0088, unit: str = "degrees"
    ) -> None:
        self.length_scale = length_scale
        self.exponent = exponent
        self.radius = radius
        self.unit = unit

    @classmethod
    def distance_of(cls, X: object, Y: object, radius: float = 6371.0088, unit: str = "degrees") -> Floats:
        """Return the distances over the surface, (len X, len Y), in the unit of the radius."""
        kernel = cls(radius=radius, unit=unit).check()
        return radius * kernel._angles(kernel.prepare(X), kernel.prepare(Y))

    def _prepare(self, A: Samples) -> Samples:
        """Raise DomainError unless the columns are latitudes and longitudes."""
        assert isinstance(A, Vectors)
        right = 90.0 if self.unit == "degrees" else np.pi / 2.0
        if A.width != 2:
            raise DomainError(
                f"X has {A.width} columns; {self!r} reads two, latitude and longitude. Select them by .on(columns)."
            )
        beyond = np.abs(dense(A)[:, 0]) > right * (1.0 + 1e-12)
        if beyond.any():
            i = int(np.flatnonzero(beyond)[0])
            raise DomainError(
                f"Input X has the latitude {dense(A)[i, 0]:g} in row {i}; latitudes in {self.unit} are between "
                f"{-right:.4g} and {right:.4g}. Give latitude first, then longitude, in {self.unit}, or change unit."
            )
        return A

    def _angles(self, A: Samples, B: Samples) -> Floats:
        """Return theta of all pairs, to the last digits for near places and for opposite ones alike."""
        turn = np.pi / 180.0 if self.unit == "degrees" else 1.0
        X, Z = dense(A), dense(B)
        # half angles, and longitudes without whole turns, which are exact in their unit
        whole = 360.0 if self.unit == "degrees" else 2.0 * np.pi
        half = 0.5 * turn
        across = np.fmod(X[:, [1]], whole) - np.fmod(Z[:, 1], whole)
        low, mean = half * (X[:, [0]] - Z[:, 0]), half * (X[:, [0]] + Z[:, 0])
        S, C = np.sin(half * across), np.cos(half * across)
        near = (np.sin(low) * C) ** 2 + (np.cos(mean) * S) ** 2  # sin^2(theta / 2): no difference is taken
        far = (np.cos(low) * C) ** 2 + (np.sin(mean) * S) ** 2
        return 2.0 * np.arctan2(np.sqrt(near), np.sqrt(far))

    def _powers(self, A: Samples, B: Samples) -> Floats:
        """Return (R theta / l)^p."""
        with np.errstate(over="ignore"):
            return (self._angles(A, B) / float(self.length_scale) * float(self.radius)) ** float(self.exponent)

    def block(self, A: Samples, B: Samples) -> Floats:
        """Return the exponential of the distances."""
        A, B = packed_pair(A, B, self._ready)
        K = np.exp(-self._powers(A, B)).astype(common_dtype(A, B), copy=False)
        return mirror(K) if B is A else K

    def _diag(self, A: Samples) -> Floats:
        """Return ones."""
        return np.ones(len(A))

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_ij W_ij k_ij p (R theta / l)^p / l."""
        t = np.minimum(self._powers(A, B), 1e300)
        slope = float(np.vdot(W, t * np.exp(-t)))
        return np.array([slope * float(self.exponent) / float(self.length_scale)])
