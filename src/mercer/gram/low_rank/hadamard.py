r"""Fast Walsh-Hadamard transforms, and random projections that are made of them.

Symbols: ``H`` the Hadamard matrix of order D, a power of two, entries +1 and -1, H^T H = D I; ``B`` random signs,
``Pi`` a random permutation and ``g`` normal numbers on a diagonal, so that every row of H diag(g) Pi H diag(B) is
normal with covariance D I: its direction is uniform, and its length sqrt(D) |g| is known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array, Floats
from mercer.errors import ParameterError
from mercer.runtime.compiled import compiled

__all__ = ["StructuredProjection", "hadamard_transform", "padded_width"]
__saved__ = ["StructuredProjection"]


def padded_width(width: int) -> int:
    """Return the power of two that is not below a width.

    Examples
    --------
    >>> [padded_width(width) for width in (1, 2, 3, 8, 9)]
    [1, 2, 4, 8, 16]
    """
    return 1 << max(int(width) - 1, 0).bit_length()


def hadamard_transform(X: Floats) -> Floats:
    """Multiply the rows of an array by the Hadamard matrix in Sylvester's order, in O(D log D) each.

    Parameters
    ----------
    X : (m, D) array
        D a power of two.

    Returns
    -------
    (m, D) array
        X H, in the precision of X.

    Examples
    --------
    >>> hadamard_transform(np.array([[1.0, 0.0, 0.0, 2.0]]))
    array([[ 3., -1., -1.,  3.]])
    """
    X = np.array(X, dtype=np.float32 if np.asarray(X).dtype == np.float32 else np.float64, order="C")
    if X.ndim != 2 or X.shape[1] != padded_width(X.shape[1]):
        raise ParameterError(
            f"hadamard_transform was given an array of shape {X.shape}; a matrix whose number of columns is a power of "
            f"two is accepted. Pad the columns with zeros, to {padded_width(X.shape[-1]) if X.ndim else 1}."
        )
    _transform_rows(X)
    return X


@dataclass(frozen=True, eq=False)
class StructuredProjection:
    r"""Random projections of uniform direction and given length, in O(log D) operations each.

    .. math:: \langle \omega_i, x \rangle, \qquad \omega_i = \rho_i \, v_i / \|v_i\|, \quad
        v_i \text{ a row of } H \, \mathrm{diag}(g) \, \Pi \, H \, \mathrm{diag}(B)

    Attributes
    ----------
    signs : (b, D) array of int8
        B of each block of D projections.
    order : (b, D) array of int32
        Pi: the place that each number comes from.
    normal : (b, D) array
        g, divided by sqrt(D) |g|: the transform has rows of length one.
    lengths : (q,) array
        rho; q at most b D, the projections beyond are not made.

    Notes
    -----
    Each projection has exactly the law asked for; those of one block are not independent, and nearly orthogonal.

    Examples
    --------
    >>> P = StructuredProjection.draw(np.random.default_rng(0), np.full(6, 2.0), 3)
    >>> W = P(np.eye(3)).T
    >>> W.shape, bool(np.all(np.linalg.norm(W, axis=1) <= 2.0))
    ((6, 3), True)
    """

    signs: Array
    order: Array
    normal: Floats
    lengths: Floats

    @classmethod
    def draw(cls, rng: np.random.Generator, lengths: Floats, width: int) -> StructuredProjection:
        """Draw the directions of projections of `width` columns, one for each length."""
        D = padded_width(width)
        blocks = -(-len(lengths) // D)
        signs = np.where(rng.random((blocks, D)) < 0.5, -1, 1).astype(np.int8)
        order = np.stack([rng.permutation(D) for _ in range(blocks)]).astype(np.int32)
        g = rng.normal(size=(blocks, D))
        g /= np.sqrt(D) * np.linalg.norm(g, axis=1, keepdims=True)
        return cls(signs, order, g, np.asarray(lengths, dtype=np.float64))

    def __len__(self) -> int:
        return len(self.lengths)

    def check(self) -> None:
        """Raise ParameterError unless the arrays are valid, as those of a file need not be."""
        shape = self.signs.shape
        good = len(shape) == 2 and shape == self.order.shape == self.normal.shape and self.order.dtype.kind == "i"
        good = good and shape[1] == padded_width(shape[1]) and 0 < len(self.lengths) <= self.signs.size
        if not (good and np.all((self.order >= 0) & (self.order < shape[1]))):
            raise ParameterError(
                f"StructuredProjection was given arrays of shapes {shape}, {self.order.shape}, {self.normal.shape} for "
                f"{len(self.lengths)} lengths that do not fit together. Use draw."
            )

    def __call__(self, X: Floats, out: Floats | None = None) -> Floats:
        """Return the projections of rows (m, d), d at most D, shape (m, q), in the precision of X."""
        X = np.ascontiguousarray(X)
        if X.shape[1] > self.signs.shape[1]:
            raise ParameterError(
                f"StructuredProjection was given rows of {X.shape[1]} numbers; it was drawn for {self.signs.shape[1]} "
                "at most. Give these."
            )
        out = np.empty((len(X), len(self)), X.dtype) if out is None else out
        kind = X.dtype.type
        buffers = np.empty((2, self.signs.shape[1]), X.dtype)
        normal, lengths = self.normal.astype(kind, copy=False), self.lengths.astype(kind, copy=False)
        _project(X, self.signs, self.order, normal, lengths, buffers, out)
        return out


@compiled
def _transform(z):
    """Transform one row in place: butterflies of growing distance, two levels in one pass."""
    D = len(z)
    h = 1
    while 4 * h <= D:
        for start in range(0, D, 4 * h):
            for j in range(start, start + h):
                a, b, c, d = z[j], z[j + h], z[j + 2 * h], z[j + 3 * h]
                e, f, g, k = a + b, a - b, c + d, c - d
                z[j], z[j + h], z[j + 2 * h], z[j + 3 * h] = e + g, f + k, e - g, f - k
        h *= 4
    if h < D:  # one level is left
        for j in range(h):
            a, b = z[j], z[j + h]
            z[j], z[j + h] = a + b, a - b


@compiled
def _transform_rows(X):
    for i in range(len(X)):
        _transform(X[i])


@compiled
def _project(X, signs, order, normal, lengths, buffers, out):
    """Write the projections of every row: signs, transform, permutation and normals, transform, lengths."""
    m, d = X.shape
    blocks, D = signs.shape
    q = len(lengths)
    y, z = buffers[0], buffers[1]
    for i in range(m):
        for block in range(blocks):
            for j in range(d):
                y[j] = X[i, j] * signs[block, j]
            for j in range(d, D):
                y[j] = 0.0
            _transform(y)
            for j in range(D):
                z[j] = y[order[block, j]] * normal[block, j]
            _transform(z)
            first = block * D
            for j in range(min(D, q - first)):
                out[i, first + j] = z[j] * lengths[first + j]
