r"""Random sketches: many numbers folded into few, so that inner products stay right on average.

Symbols: ``x`` a vector of d numbers; h a random place among D and s a random sign for each of its numbers; the count
sketch of x has s_j x_j added at place h_j. The sketch of an outer product x (x) y is the circular convolution of
sketches of x and y, which is a product of their Fourier transforms. ``G`` a symmetric positive semi-definite matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy import fft

from mercer.arrays import Array, Floats
from mercer.errors import ParameterError
from mercer.runtime.compiled import compiled

__all__ = ["CountSketch", "nystrom_sketch", "sketched_product"]
__saved__ = ["CountSketch"]


@dataclass(frozen=True, eq=False)
class CountSketch:
    r"""Fold d numbers into D places, each with a random sign.

    .. math:: S(x)_i = \sum_{j : h(j) = i} s_j x_j, \qquad E \langle S(x), S(y) \rangle = \langle x, y \rangle

    Attributes
    ----------
    places : (d,) array of int32
        h, below D.
    signs : (d,) array of int8
        s, +1 or -1.
    count : int
        D.

    Examples
    --------
    >>> S = CountSketch(np.array([0, 1, 0], np.int32), np.array([1, -1, -1], np.int8), 2)
    >>> S(np.array([[1.0, 2.0, 3.0]]))
    array([[-2., -2.]])
    """

    places: Array
    signs: Array
    count: int

    @classmethod
    def draw(cls, rng: np.random.Generator, width: int, count: int) -> CountSketch:
        """Draw places and signs for vectors of `width` numbers."""
        places = rng.integers(count, size=width, dtype=np.int32)
        return cls(places, np.where(rng.random(width) < 0.5, -1, 1).astype(np.int8), count)

    def check(self) -> None:
        """Raise ParameterError unless places and signs are such, as those of a file need not be."""
        good = self.places.shape == self.signs.shape == (len(self.places),) and self.places.dtype.kind == "i"
        if not (good and np.all((self.places >= 0) & (self.places < self.count)) and np.all(np.abs(self.signs) == 1)):
            raise ParameterError(
                f"CountSketch was given {self.places.shape} places among {self.count} and {self.signs.shape} signs "
                "that do not fit together; a place below the count and a sign for each number are needed. Use draw."
            )

    def __call__(self, X: Any) -> Floats:
        """Return the sketches of rows (m, d), dense or sparse, as a dense (m, D) array in the precision of X."""
        if X.shape[1] != len(self.places):
            raise ParameterError(
                f"CountSketch was given rows of {X.shape[1]} numbers; it was drawn for {len(self.places)}. Give these."
            )
        if sp.issparse(X):
            d = len(self.places)
            fold = sp.csr_array((self.signs.astype(X.dtype), (np.arange(d), self.places)), shape=(d, self.count))
            return np.asarray((X @ fold).toarray())
        out = np.zeros((len(X), self.count), X.dtype)
        _fold(np.ascontiguousarray(X), self.places, self.signs, out)
        return out


@compiled
def _fold(X, places, signs, out):
    for i in range(len(X)):
        for j in range(len(places)):
            out[i, places[j]] += X[i, j] * signs[j]


def sketched_product(parts: list[Floats]) -> Floats:
    r"""Sketch outer products from the sketches of their factors, by fast Fourier transforms.

    .. math:: S(x \otimes y) = \mathcal{F}^{-1}\big(\mathcal{F} S_1(x) \cdot \mathcal{F} S_2(y)\big)

    Parameters
    ----------
    parts : list of (m, D) arrays
        Count sketches, drawn independently of each other.

    Returns
    -------
    (m, D) array
        E <S(x (x) y), S(x' (x) y')> = <x, x'> <y, y'>.

    Notes
    -----
    Pham and Pagh (2013). Cost O(D log D) a row and factor.

    Examples
    --------
    >>> sketched_product([np.array([[1.0, 2.0]]), np.array([[3.0, 0.0]])])
    array([[3., 6.]])
    """
    D = parts[0].shape[1]
    total: Any = fft.rfft(parts[0], axis=1)
    for part in parts[1:]:
        total *= fft.rfft(part, axis=1)
    return np.asarray(fft.irfft(total, n=D, axis=1, overwrite_x=True))


def nystrom_sketch(product: Callable[[Floats], Floats], n: int, rank: int, *, random_state: int | None = 0) -> Floats:
    r"""Factor of low rank of a positive semi-definite matrix, from one product with random columns.

    .. math:: G \approx (G \Omega) (\Omega^\top G \Omega)^{+} (G \Omega)^\top = L L^\top

    Seed: [KIKS] Eqs. (11)-(12), with random combinations of columns for the columns chosen.

    Parameters
    ----------
    product : callable
        V -> G V, for V (n, b).
    n, rank : int
        Order of G, and columns of Omega.
    random_state : int or None, default 0

    Returns
    -------
    L : (n, r) array
        r at most `rank`: directions that rounding made are left out.

    Notes
    -----
    Never above G: G - L L^T is positive semi-definite. With a shift it is a `Preconditioner` of conjugate gradients
    that needs no entry of G, for matrices that are known by their products alone. Cost a product with `rank` columns
    and O(n rank^2).

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 30)
    >>> G = np.exp(-(np.abs(x[:, None] - x) ** 2))
    >>> L = nystrom_sketch(lambda V: G @ V, 30, 8)
    >>> bool(np.abs(G - L @ L.T).max() < 1e-7)
    True
    """
    omega = np.linalg.qr(np.random.default_rng(random_state).normal(size=(n, min(rank, n))))[0]
    Y = np.asarray(product(omega), dtype=np.float64)
    inner = omega.T @ Y
    values, U = np.linalg.eigh(0.5 * (inner + inner.T))
    kept = values > max(n, 1) * np.finfo(np.float64).eps * max(float(values[-1]), 0.0)
    return Y @ (U[:, kept] / np.sqrt(values[kept]))
