"""Kernels that depend on the dot product of two vectors.

Symbols: t = <x, z> (what a tile holds before the kernel's function is applied), p the degree, c the offset,
s the scale, a_n coefficients of a power series.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.constraints import AnyOf, Fixed, Integer, Interval, Positive
from mercer.domains import Samples, Vectors
from mercer.errors import ParameterError
from mercer.kernels.abilities import Featured
from mercer.kernels.monomials import monomial_count, monomials, require_few
from mercer.kernels.power_series import Series
from mercer.kernels.vectors import profiles
from mercer.kernels.vectors.pointwise import DotProduct
from mercer.runtime.tiling import scalar
from mercer.spec import derived, free_values

__all__ = ["ExponentialDot", "Linear", "Polynomial", "PowerSeries", "Sigmoid"]
__public__ = __all__

_NOT_NEGATIVE = Interval(0.0, np.inf, closed="left")
_REAL = Interval(-np.inf, np.inf)


class Linear(DotProduct, Featured):
    r"""Linear kernel: the dot product itself.

    .. math:: k(x, x') = \langle x, x' \rangle

    Seed: [STS] Section 4.3; [SS] table of kernels.

    Notes
    -----
    Domain Vectors, dense or sparse. Features: the columns themselves. No parameters; differentiable in the
    inputs. Positive definite since c' X X' c = \|X' c\|^2; not strictly so, since its rank is at most d;
    unbounded. Cost O(mnd) by one matrix product.

    Examples
    --------
    >>> Linear()([[1.0, 2.0], [3.0, 4.0]])
    array([[ 5., 11.],
           [11., 25.]])
    """

    synonyms = ("dot product",)
    formula = r"\langle x, x' \rangle"
    cost = "O(mnd), one matrix product"

    def apply(self, tile: Floats) -> None:
        """Keep the dot products."""

    def slope(self, tile: Floats, inv_l: float) -> Floats:
        """Return ones."""
        return np.ones_like(tile)

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the vectors."""
        assert isinstance(A, Vectors)
        return A.X, None

    def _feature_count(self, A: Samples) -> int | None:
        """Return d."""
        assert isinstance(A, Vectors)
        return A.width

    injective = True

    def series(self) -> Series:
        """Return t."""
        return Series.of((0.0, 1.0))

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return nothing: there is no free parameter."""
        return np.empty(0)

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_j W_ij b_j."""
        assert isinstance(B, Vectors)
        return np.asarray(W @ B.X, dtype=float)


class Polynomial(DotProduct, Featured):
    r"""Polynomial kernel: all products of up to p coordinates.

    .. math:: k(x, x') = (s \langle x, x' \rangle + c)^p
        = \sum_n \binom{p}{n} c^{p-n} s^n \langle x, x' \rangle^n

    Seed: [STS] Eqs. (15)-(17), (19), (20); [HSS] Eqs. (34), (35); [SS] table of kernels, with
    ``offset`` = R = c = tau.

    Parameters
    ----------
    degree : int, default 2
        p >= 1. Not a free parameter.
    offset : float, default 1.0
        c >= 0: the weight of lower degrees. 0 gives the homogeneous kernel, of degree p alone. A negative
        offset gives a kernel that is not positive definite and is refused.
    scale : float, default 1.0
        s > 0, called gamma in scikit-learn.

    Notes
    -----
    Domain Vectors, dense or sparse. Features: monomials, weighted by the roots of their multinomial
    coefficients, D = C(d + p, p), or C(d + p - 1, p) if the offset is 0 (the seeds list ordered products;
    equal ones are merged here). Differentiable in offset, scale and inputs. Positive definite by the
    expansion above: sums and products of kernels with weights that are not negative. Not strictly so, nor
    universal, since D is finite; unbounded. Cost O(mnd) by one matrix product.

    Examples
    --------
    >>> Polynomial(2)([[1.0, 2.0], [3.0, 4.0]])
    array([[ 36., 144.],
           [144., 676.]])
    >>> k, x = Polynomial(2, offset=0.0), Vectors.pack([[1.0, 2.0]])
    >>> k.features(x)[0].round(3)
    array([[1.   , 2.828, 4.   ]])
    """

    formula = r"(s \langle x, x' \rangle + c)^p"
    cost = "O(mnd), one matrix product"
    constraints = {"degree": Integer(1), "offset": _NOT_NEGATIVE, "scale": Positive()}

    def __init__(self, degree: int = 2, offset: float = 1.0, scale: float = 1.0) -> None:
        self.degree = degree
        self.offset = offset
        self.scale = scale

    def apply(self, tile: Floats) -> None:
        """Replace t by (s t + c)^p."""
        profiles.power(tile, int(self.degree), float(self.scale), float(self.offset))

    @derived
    def injective(self) -> bool:
        """Whether an odd degree occurs; even ones alone do not distinguish x from -x."""
        return bool(self.degree % 2 or self.offset > 0)

    @derived
    def nonzero(self) -> bool:
        """Whether there is an offset."""
        return bool(self.offset > 0)

    def series(self) -> Series:
        """Return (s t + c)^p by the binomial theorem."""
        return Series.of((float(self.offset), float(self.scale))) ** int(self.degree)

    def _lower(self, t: Floats) -> Floats:
        """Return p (s t + c)^(p - 1)."""
        lower = np.ascontiguousarray(t, dtype=float).copy()
        profiles.power(lower, int(self.degree) - 1, float(self.scale), float(self.offset))
        return self.degree * lower

    def slope(self, tile: Floats, inv_l: float) -> Floats:
        """Return s p (s t + c)^(p - 1)."""
        return self.scale * self._lower(tile)

    def parameter_slopes(self, t: Floats) -> list[Floats]:
        """Return the derivatives in offset and scale."""
        lower = self._lower(t)
        return [lower, t * lower]

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the weighted monomials of degree p in (sqrt(s) x, sqrt(c))."""
        assert isinstance(A, Vectors)
        require_few(self, self.feature_count(A) or 0)
        Y: Any = A.X * A.X.dtype.type(np.sqrt(self.scale))
        if self.offset > 0:
            column = np.full((len(A), 1), np.sqrt(self.offset), A.X.dtype)
            Y = sp.hstack([Y, sp.csr_array(column)], format="csr") if A.is_sparse else np.hstack([Y, column])
        return monomials(Y, int(self.degree)), None

    def _feature_count(self, A: Samples) -> int | None:
        """Return the number of monomials."""
        assert isinstance(A, Vectors)
        return monomial_count(A.width + (self.offset > 0), int(self.degree))


class ExponentialDot(DotProduct):
    r"""Exponential of the dot product: monomials of all degrees, the higher ones with less weight.

    .. math:: k(x, x') = \exp\!\left(\langle x, x' \rangle / l^2\right)

    Seed: [STS] Eq. (21); [HSS] Eq. (29), with ``length_scale`` = sigma.

    Parameters
    ----------
    length_scale : float, default 1.0
        l > 0.

    Notes
    -----
    Domain Vectors, dense or sparse. Features no (infinitely many); differentiable in the length scale and the
    inputs. Its normalisation is the Gaussian kernel of the same length scale. Positive definite since its
    power series has the coefficients 1 / (n! l^2n) > 0; as all are positive it is strictly positive definite
    and universal on compact sets (Pinkus; Steinwart; [HSS] Section 2.2.3). Unbounded. Cost O(mnd) by one
    matrix product.

    Examples
    --------
    >>> ExponentialDot(1.0)([[0.0], [1.0]]).round(3)
    array([[1.   , 1.   ],
           [1.   , 2.718]])
    """

    formula = r"\exp(\langle x, x' \rangle / l^2)"
    cost = "O(mnd), one matrix product"
    strict = True
    universal = True
    constraints = {"length_scale": Positive()}

    def __init__(self, length_scale: float = 1.0) -> None:
        self.length_scale = length_scale

    def apply(self, tile: Floats) -> None:
        """Replace t by exp(t / l^2)."""
        profiles.exp_scaled(tile, self._inverse * self._inverse)

    def series(self) -> Series:
        """Return exp(t / l^2): a_n = 1 / (n! l^(2 n))."""
        return Series.of((0.0, self._inverse * self._inverse)).exp()

    @property
    def _inverse(self) -> float:
        return 1.0 / float(self.length_scale)

    def slope(self, tile: Floats, inv_l: float) -> Floats:
        """Return exp(t / l^2) / l^2."""
        return profiles.exp_scaled_slope(np.ascontiguousarray(tile), self._inverse * self._inverse)

    def parameter_slopes(self, t: Floats) -> list[Floats]:
        """Return the derivative in the length scale."""
        return [self.slope(t, 1.0) * t * (-2.0 * self._inverse)]


class PowerSeries(DotProduct, Featured):
    r"""A power series in the dot product with given coefficients.

    .. math:: k(x, x') = \sum_{n=0}^{N} a_n \langle x, x' \rangle^n, \qquad a_n \ge 0 \text{ for } n \ge 1

    Seed: [HSS] Proposition 7, Eqs. (27), (28).

    Parameters
    ----------
    coefficients : tuple of float
        a_0, a_1, ..., a_N, at least one of them positive. Only a_0 may be negative. Free parameters, one
        each, unless a_0 is negative.

    Notes
    -----
    Domain Vectors, dense or sparse. Positive definite if no coefficient is negative. A negative a_0 leaves it
    conditionally positive definite of order 1 (``order`` is 1), since a constant vanishes on coefficients that sum
    to zero. Features: the monomials of every degree that occurs (if a_0 >= 0). Differentiable in coefficients and
    inputs. Strictly positive definite kernels need a_0 > 0 and infinitely many positive coefficients of even and of
    odd degrees, universal ones so many that the sums of 1 / n over both diverge (Pinkus); all of them suffice
    (Steinwart). A finite series is neither; `ExponentialDot` is both. Unbounded. Cost O(mnd) by one matrix product.

    Examples
    --------
    >>> PowerSeries((1.0, 2.0, 1.0))([[2.0]])
    array([[25.]])
    >>> PowerSeries((-1.0, 1.0)).order
    1
    """

    example = ((1.0, 1.0),)
    formula = r"\sum_n a_n \langle x, x' \rangle^n"
    cost = "O(mnd), one matrix product"
    constraints = {
        "coefficients": AnyOf(
            Interval(0.0, np.inf, closed="left", vector=True), Fixed(Interval(-np.inf, np.inf, vector=True))
        )
    }

    def __init__(self, coefficients: Any) -> None:
        self.coefficients = coefficients

    def check(self) -> Any:
        """Raise ParameterError unless a_1, a_2, ... are not negative and some coefficient is positive."""
        super().check()
        a = self._a
        if np.ndim(self.coefficients) != 1 or np.any(a[1:] < 0) or not np.any(a > 0):
            raise ParameterError(
                f"PowerSeries was given coefficients={self.coefficients!r}; a tuple a_0, a_1, ... is "
                "accepted in which only a_0 may be negative and at least one number is positive. Write for "
                "example (1.0, 1.0, 0.5)."
            )
        return self

    @property
    def _a(self) -> Floats:
        return np.atleast_1d(np.asarray(self.coefficients, dtype=float))

    @derived
    def order(self) -> int | None:
        """1 if a_0 is negative, else 0."""
        return 1 if self._a[0] < 0 else 0

    @derived
    def injective(self) -> bool:
        """Whether an odd degree occurs; even ones alone do not distinguish x from -x."""
        return bool(np.any(self._a[1::2] > 0))

    @derived
    def nonzero(self) -> bool:
        """Whether a_0 is positive."""
        return bool(self._a[0] > 0)

    def series(self) -> Series:
        """Return the coefficients."""
        return Series.of(self._a)

    @derived
    def normalised(self) -> bool:
        """Whether it is the constant 1."""
        return bool(self._a[0] == 1 and not self._a[1:].any())

    @property
    def capabilities(self) -> frozenset[str]:
        """Everything, but no features if a_0 is negative."""
        found = super().capabilities
        return found if self.order == 0 else found - {"features"}

    def apply(self, tile: Floats) -> None:
        """Replace t by the series, by Horner's rule."""
        _horner(tile, self._a)

    def slope(self, tile: Floats, inv_l: float) -> Floats:
        """Return sum_n n a_n t^(n-1)."""
        a = self._a
        out = np.array(tile, dtype=float)
        _horner(out, a[1:] * np.arange(1, len(a)) if len(a) > 1 else np.zeros(1))
        return out

    def parameter_slopes(self, t: Floats) -> list[Floats]:
        """Return the powers of t, unless a_0 is negative and the coefficients are held."""
        if not len(free_values(self)):
            return []
        with np.errstate(over="ignore"):
            return [t**n for n in range(len(self._a))]

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the weighted monomials of each degree times sqrt(a_n)."""
        assert isinstance(A, Vectors)
        if self.order != 0:
            raise self._lacks("a finite feature map")
        require_few(self, self.feature_count(A) or 0)
        root = np.sqrt(self._a).astype(A.X.dtype)
        levels = [monomials(A.X, int(n)) * root[n] for n in np.flatnonzero(self._a)]
        return (sp.hstack(levels, format="csr") if A.is_sparse else np.hstack(levels)), None

    def _feature_count(self, A: Samples) -> int | None:
        """Return the number of monomials that occur; None if a_0 is negative."""
        assert isinstance(A, Vectors)
        if self.order != 0:
            return None
        return sum(monomial_count(A.width, int(n)) for n in np.flatnonzero(self._a))


def _horner(tile: Floats, a: Floats) -> None:
    """Replace t by sum_n a_n t^n."""
    top = int(np.max(np.flatnonzero(a), initial=0))  # 0 times infinity must not come first
    t = tile.copy()
    tile.fill(a[top])
    with np.errstate(over="ignore", invalid="ignore"):
        for n in range(top - 1, -1, -1):
            tile *= t
            tile += tile.dtype.type(a[n])


class Sigmoid(DotProduct):
    r"""Sigmoid kernel: the unit of a neural network; not positive definite.

    .. math:: k(x, x') = \tanh(s \langle x, x' \rangle + c)

    Seed: none of the five gives it; it is here for models that were made with it. [HSS] Section 2.2.4 on
    functions with negative squares.

    Parameters
    ----------
    scale : float, default 1.0
        s > 0, called gamma in scikit-learn.
    offset : float, default 0.0
        c, any number; called coef0 in scikit-learn.

    Notes
    -----
    Domain Vectors, dense or sparse. Features no; differentiable in scale, offset and inputs. Declared
    indefinite (``order`` is None): the power series of tanh has negative coefficients, so by [HSS]
    Proposition 7 no choice of s and c makes it positive definite in all dimensions. Bounded by 1. Cost O(mnd)
    by one matrix product.

    Examples
    --------
    >>> Sigmoid(1.0)([[0.0], [1.0]]).round(3)
    array([[0.   , 0.   ],
           [0.   , 0.762]])
    """

    synonyms = ("MLP kernel", "tanh kernel")
    formula = r"\tanh(s \langle x, x' \rangle + c)"
    cost = "O(mnd), one matrix product"
    order = None
    bounded = True
    constraints = {"scale": Positive(), "offset": _REAL}

    def __init__(self, scale: float = 1.0, offset: float = 0.0) -> None:
        self.scale = scale
        self.offset = offset

    def apply(self, tile: Floats) -> None:
        """Replace t by tanh(s t + c)."""
        with np.errstate(over="ignore"):
            tile *= scalar(tile, float(self.scale))
            tile += scalar(tile, float(self.offset))
            np.tanh(tile, out=tile)

    def slope(self, tile: Floats, inv_l: float) -> Floats:
        """Return s (1 - k^2)."""
        return self.scale * self._flatness(tile)

    def _flatness(self, t: Floats) -> Floats:
        """Return 1 - tanh^2(s t + c) as 1 / cosh^2, which keeps its digits where it is small."""
        with np.errstate(over="ignore"):
            return np.cosh(np.clip(self.scale * t + self.offset, -350.0, 350.0)) ** -2.0

    def parameter_slopes(self, t: Floats) -> list[Floats]:
        """Return the derivatives in scale and offset."""
        flatness = self._flatness(t)
        return [t * flatness, flatness]
