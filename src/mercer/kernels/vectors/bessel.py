r"""The Matern profile of any smoothness, M(s) = 2^(1 - nu) / Gamma(nu) s^nu K_nu(s), with K_nu the Bessel function.

Up to nu = 20 it is read from polynomials. exp(s) M(s) is analytic for s > 0, so on a sixteenth of an octave, where the
nearest singularity (s = 0) is 33 half widths from the middle, the polynomial through 11 Chebyshev nodes is right to
the last digit: the error falls by 66 with every degree. The values at the nodes are SciPy's. Knowing where s lies
takes its exponent and four leading bits.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy import special

from mercer.arrays import Floats
from mercer.numerics.bits import to_bits
from mercer.runtime.compiled import compiled

__all__ = ["matern", "profile", "slope"]

_LOWEST, _OCTAVES, _PARTS, _DEGREE = 2.0**-40, 51, 16, 10  # beyond 2^11, exp(-s) is 0
_TABLE_NU = 20.0  # above it exp(s) M(s) is too steep for this degree


def profile(nu: float, h: Floats, inv_l: float) -> Floats:
    """Return the kernel at h = -d^2 / 2."""
    return matern(nu, _argument(nu, h, inv_l))


def slope(nu: float, h: Floats, inv_l: float) -> Floats:
    """Return dk/dh = (nu / (nu - 1)) / l^2 times the profile of nu - 1 at the same s; 0 where it is unbounded."""
    s, square = _argument(nu, h, inv_l), min(inv_l * inv_l, 1e300)
    if nu > 1.0:
        return matern(nu - 1.0, s) * (nu / (nu - 1.0) * square)
    factor = 2.0 * nu * 2.0 ** (1.0 - nu) / math.gamma(nu)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        value = factor * s ** (nu - 1.0) * special.kve(nu - 1.0, s) * np.exp(-s)
    return np.where(np.isfinite(value), value, 0.0) * square


def _argument(nu: float, h: Floats, inv_l: float) -> Floats:
    """Return s = sqrt(2 nu) d / l."""
    return np.sqrt(2.0 * nu) * np.sqrt(-2.0 * h.astype(float)) * inv_l


def matern(nu: float, s: Floats) -> Floats:
    """Return 2^(1-nu) / Gamma(nu) s^nu K_nu(s) for any nu and an array of s >= 0, without overflow."""
    if nu > _LARGE_NU:
        return _matern_of_large_order(nu, s)
    nu = max(float(nu), 1e-300)  # a subnormal one makes the Bessel function infinite where the value is nearly 0
    if nu > _TABLE_NU:
        return _by_amos(nu, s)
    value = np.empty(s.shape)
    _by_polynomials(np.ravel(s), _table(nu), value.ravel())
    rest = ~(s >= _LOWEST)
    value[rest] = _by_amos(nu, s[rest])
    return value


@functools.lru_cache(maxsize=32)
def _table(nu: float) -> Floats:
    """Return the coefficients of each part of each octave, lowest power of -1 <= t <= 1 first."""
    t = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
    middle = 1.0 + (np.arange(_PARTS) + 0.5) / _PARTS
    s = _LOWEST * np.exp2(np.arange(_OCTAVES))[:, None, None] * (middle[:, None] + t * (0.5 / _PARTS))
    values = (2.0 * special.rgamma(nu)) * ((0.5 * s) ** nu * special.kve(nu, s))
    start = values[..., _DEGREE // 2, None]  # differences from it lose no digits to the sums below
    to_chebyshev = np.polynomial.chebyshev.chebvander(t, _DEGREE).T * (2.0 / (_DEGREE + 1))
    to_chebyshev[0] *= 0.5
    to_powers = np.zeros((_DEGREE + 1, _DEGREE + 1))
    for k, unit in enumerate(np.eye(_DEGREE + 1)):
        to_powers[: k + 1, k] = np.polynomial.chebyshev.cheb2poly(unit)[: k + 1]
    found = (values - start) @ to_chebyshev.T @ to_powers.T
    found[..., :1] += start
    return np.ascontiguousarray(found.reshape(_OCTAVES * _PARTS, _DEGREE + 1))


@compiled
def _by_polynomials(s, table, out):
    """Fill out with M(s); what lies below the table is left to the caller."""
    first = to_bits(_LOWEST) >> 48
    for i in range(len(s)):
        if s[i] >= 2000.0:
            out[i] = 0.0
        elif s[i] >= _LOWEST:
            bits = to_bits(s[i])
            part = table[(bits >> 48) - first]
            t = (bits & 0xFFFFFFFFFFFF) * 2.0**-47 - 1.0
            value = part[_DEGREE]
            for k in range(_DEGREE - 1, -1, -1):
                value = value * t + part[k]
            decay = math.exp(-0.5 * s[i])  # twice, since exp(-s) alone may vanish before the product does
            out[i] = min(value * decay * decay, 1.0)


_LARGE_NU = 80.0  # above it Bessel functions overflow, and their expansion in 1 / nu has 12 digits

# Debye's polynomials u_1 .. u_5, lowest power of p first: u_k(p) = p^k (c_0 + c_1 p^2 + ... + c_k p^(2k)) / divisor
_DEBYE = (
    (24.0, (3.0, -5.0)),
    (1152.0, (81.0, -462.0, 385.0)),
    (414720.0, (30375.0, -369603.0, 765765.0, -425425.0)),
    (39813120.0, (4465125.0, -94121676.0, 349922430.0, -446185740.0, 185910725.0)),
    (
        6688604160.0,
        (1519035525.0, -49286948607.0, 284499769554.0, -614135872350.0, 566098157625.0, -188699385875.0),
    ),
)


def _by_amos(nu: float, s: Floats) -> Floats:
    """Return the profile for nu below `_LARGE_NU` from SciPy's Bessel function, which takes a microsecond a value."""
    s = np.minimum(s, 2e3)  # beyond, the value is 0
    decay = np.exp(-0.5 * s)  # twice, since exp(-s) alone may vanish before the product does
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        value = (2.0 * special.rgamma(nu)) * ((0.5 * s) ** nu * special.kve(nu, s)) * decay * decay
        value = np.minimum(value, 1.0)
        if nu <= 1.0:  # SciPy's function gives up on the smallest numbers, where two terms of the series are exact
            gammas = special.gammaln(1.0 - nu) - special.gammaln(1.0 + nu) if nu < 1.0 else -np.inf
            return np.where(s < 1e-200, -np.expm1(gammas + 2.0 * nu * np.log(0.5 * s)), value)
    # near zero K_nu overflows or s^nu vanishes, and a few terms of the series are exact
    q = (0.5 * s) ** 2
    series = 1.0 - q / (nu - 1.0) * (1.0 - 0.5 * q / (nu - 2.0 if nu != 2.0 else 1.0))
    near = (s < 0.1) & ((nu > 20.0) | ~(np.isfinite(value) & (value > 0.0)))
    return np.where(near, series, value)


def _matern_of_large_order(nu: float, s: Floats) -> Floats:
    """Return the same by Debye's expansion of K_nu(nu z), with Stirling's of the gamma function taken out."""
    z = s / nu
    w = np.hypot(1.0, z)
    q = 0.5 * z * (z / (w + 1.0))  # (w - 1) / 2
    p = 1.0 / w
    total, start = np.ones_like(s), 1.0
    for k, (divisor, coefficients) in enumerate(_DEBYE, 1):
        term = np.polynomial.polynomial.polyval(p * p, coefficients) / divisor
        total += (-1.0 / nu) ** k * p**k * term
        start += (-1.0 / nu) ** k * sum(coefficients) / divisor
    with np.errstate(under="ignore"):
        return np.exp(nu * (np.log1p(q) - 2.0 * q)) / np.sqrt(w) * (total / start)
