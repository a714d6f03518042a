r"""Cosines and sines of the same numbers, in one pass.

Symbols: ``z`` an angle; n the whole number nearest to z / (pi/2); r = z - n pi/2 in [-pi/4, pi/4], found with pi/2 in
three parts so that nothing is lost; polynomials give cos r and sin r, and n determines which is which, and their signs.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.runtime.compiled import compiled

__all__ = ["cosines_and_sines"]

_SINE = (-1 / 6, 1 / 120, -1 / 5040, 1 / 362880, -1 / 39916800, 1 / 6227020800, -1 / 1307674368000)
_COSINE = (-1 / 2, 1 / 24, -1 / 720, 1 / 40320, -1 / 3628800, 1 / 479001600, -1 / 87178291200)
_SMALL = (0.25, 1.0, 2.0, 3.0, 4.0)
_DOUBLE = (1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21)  # 33 bits, 33 bits, the rest
_SINGLE = (1.5703125, 4.837512969970703125e-4, 7.5497899548918821e-8)  # 11 bits, 13 bits, the rest
_NUMBERS = {
    np.dtype(np.float64): np.array([2 / np.pi, *_DOUBLE, *_SMALL, *_SINE, *_COSINE]),
    np.dtype(np.float32): np.array([2 / np.pi, *_SINGLE, *_SMALL, *_SINE, *_COSINE], dtype=np.float32),
}
_FARTHEST = {np.dtype(np.float64): 1e6, np.dtype(np.float32): 8e3}  # beyond, the three parts are not enough


def cosines_and_sines(Z: Floats, scale: float, out: Floats) -> None:
    """Write ``scale`` times the cosines of Z into the left half of an array, and the sines into the right half.

    Parameters
    ----------
    Z : (m, q) array
        float64 or float32.
    scale : float
    out : (m, 2 q) array
        In the precision of Z; its rows contiguous.

    Notes
    -----
    Errors are below 2e-15 (float32: 3e-7) times the scale, whatever the size of z; 2 ns a pair, NumPy's functions take
    ten times as long. Angles beyond a million (float32: 8000) are left to NumPy.

    Examples
    --------
    >>> out = np.empty((1, 4))
    >>> cosines_and_sines(np.array([[0.0, np.pi / 2]]), 2.0, out)
    >>> out.round(12)
    array([[2., 0., 0., 2.]])
    """
    q = Z.shape[1]
    if Z.size and not float(np.max(np.abs(Z))) <= _FARTHEST[Z.dtype]:
        with np.errstate(invalid="ignore"):
            out[:, :q], out[:, q:] = scale * np.cos(Z), scale * np.sin(Z)
        return
    _write_waves(Z, _NUMBERS[Z.dtype], Z.dtype.type(scale), out)


@compiled(fastmath=("contract",))  # fused products round once instead of twice; no sum changes its order
def _write_waves(Z, numbers, scale, out):
    m, q = Z.shape
    turns, p1, p2, p3, quarter, one, two, three, four = numbers[:9]
    s1, s2, s3, s4, s5, s6, s7 = numbers[9:16]
    c1, c2, c3, c4, c5, c6, c7 = numbers[16:23]
    for i in range(m):
        z, left, right = Z[i], out[i, :q], out[i, q:]
        for j in range(q):
            n = np.rint(z[j] * turns)
            r = ((z[j] - n * p1) - n * p2) - n * p3
            x = r * r
            sine = r + r * x * (s1 + x * (s2 + x * (s3 + x * (s4 + x * (s5 + x * (s6 + x * s7))))))
            cosine = one + x * (c1 + x * (c2 + x * (c3 + x * (c4 + x * (c5 + x * (c6 + x * c7))))))
            quadrant = n - four * np.floor(n * quarter)
            odd = (quadrant == one) | (quadrant == three)
            u = sine if odd else cosine
            v = cosine if odd else sine
            left[j] = scale * (-u if (quadrant == one) | (quadrant == two) else u)
            right[j] = scale * (-v if quadrant >= two else v)
