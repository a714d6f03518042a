"""The pyramidal kernel on images: short-range products of pixels first, long-range ones among their sums.

Symbols: x, z images of h x w pixels, q a place of the patch, s_q = sum of x_r z_r over the pixels r of the
patch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Integer, Satisfies
from mercer.domains import Samples, Vectors
from mercer.domains.samples import packed_pair
from mercer.errors import DomainError, ParameterError
from mercer.kernels.abilities import Differentiated, DifferentiatedInInputs, Featured
from mercer.kernels.kernel import Kernel, mirror
from mercer.kernels.monomials import monomial_count, monomials, require_few
from mercer.runtime.compiled import compiled

__all__ = ["Pyramidal"]
__public__ = __all__


class Pyramidal(Kernel, Featured, Differentiated, DifferentiatedInInputs):
    r"""Pyramidal kernel on images: products of near pixels, then products of what patches have in common.

    .. math:: k(x, x') = \Bigl( \sum_q \Bigl( \sum_{r \in q} x_r x'_r \Bigr)^{p_1} \Bigr)^{p_2}

    Seed: [HSS] "Locality Improved Kernels": dot products of corresponding image patches, to the power p_1,
    summed, to the power p_2. The sum here is over all places of the patch that lie inside the image, one
    pixel apart.

    Parameters
    ----------
    shape : tuple of two int
        Height and width of the images; a sample is an image row after row, height * width columns.
    patch : int or tuple of two int, default 3
        Height and width of the patches.
    p1 : int, default 2
        Power of the dot product of a patch: how many pixels of one patch interact.
    p2 : int, default 1
        Power of the sum: how many patches interact.

    Notes
    -----
    Domain Vectors, dense or sparse (made dense tile by tile). Features: monomials of degree p_2 in the
    monomials of degree p_1 of each patch, when they are few. No free parameter; differentiable in the inputs.
    Positive definite by the closure of kernels under sums and products; not strictly so and not universal
    (finitely many features); unbounded. Cost O(d (a + b)) per pair for patches of a x b
    pixels: sums are taken along columns, then along rows.

    Examples
    --------
    >>> k = Pyramidal((2, 3), patch=2, p1=2)
    >>> k([[1.0, 0.0, 1.0, 0.0, 1.0, 0.0]])
    array([[8.]])
    """

    example = ((2, 2), 1)
    formula = r"(\sum_q (\sum_{r \in q} x_r x'_r)^{p_1})^{p_2}"
    cost = "O(mnd (a + b)) for patches of a x b pixels"
    domain = Vectors
    constraints = {
        "shape": Satisfies("two positive integers", lambda value: _has_two_sizes(value, alone=False), "(28, 28)"),
        "patch": Satisfies("one or two positive integers", lambda value: _has_two_sizes(value), "3"),
        "p1": Integer(1),
        "p2": Integer(1),
    }

    def __init__(self, shape: tuple[int, int], patch: Any = 3, p1: int = 2, p2: int = 1) -> None:
        self.shape = shape
        self.patch = patch
        self.p1 = p1
        self.p2 = p2

    def check(self) -> Any:
        """Raise ParameterError unless the patch fits into the image."""
        super().check()
        if np.any(np.greater(self._patch, self.shape)):
            raise ParameterError(
                f"Pyramidal was given shape={self.shape!r} and patch={self.patch!r}; shape must be two "
                "positive integers and patch one or two that are not larger. Write for example "
                "Pyramidal((28, 28), patch=5)."
            )
        return self

    @property
    def _patch(self) -> tuple[int, int]:
        patch = _two_sizes(self.patch)
        assert patch is not None
        return patch

    def _prepare(self, A: Samples) -> Samples:
        """Raise DomainError unless the columns are the pixels of an image."""
        assert isinstance(A, Vectors)
        pixels = int(np.prod(self.shape))
        if A.width != pixels:
            raise DomainError(
                f"X has {A.width} columns, but images of shape {tuple(self.shape)} have {pixels} pixels; "
                "they must be as many. Flatten each image into one row, or correct the shape."
            )
        return A

    def _images(self, A: Samples, dtype: Any = None) -> Floats:
        assert isinstance(A, Vectors)
        X = A.dense()
        return np.ascontiguousarray(X, dtype=dtype).reshape(len(A), *map(int, self.shape))

    def block(self, A: Samples, B: Samples) -> Floats:
        """Return the sums of patch products for all pairs."""
        A, B = packed_pair(A, B, self._ready)
        X, Z = self._images(A), self._images(B)
        out = np.empty((len(X), len(Z)), np.result_type(X, Z))
        _block(
            X.astype(out.dtype, copy=False),
            Z.astype(out.dtype, copy=False),
            self._patch,
            (self.p1, self.p2),
            out,
        )
        return mirror(out) if B is A else out

    def _diag(self, A: Samples) -> Floats:
        """Return k(x, x)."""
        X = self._images(A, float)
        out = np.empty((len(X), 1))
        for i in range(len(X)):
            _block(X[i : i + 1], X[i : i + 1], self._patch, (self.p1, self.p2), out[i : i + 1])
        return out[:, 0]

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return monomials of degree p_2 in the monomials of degree p_1 of each patch."""
        require_few(self, self.feature_count(A) or 0)
        images = self._images(A)
        windows = np.lib.stride_tricks.sliding_window_view(images, self._patch, axis=(1, 2))  # pyright: ignore
        n, rows, columns = windows.shape[:3]
        patches = windows.reshape(n, rows * columns, -1)
        inner = [monomials(patches[:, q], int(self.p1)) for q in range(rows * columns)]
        return monomials(np.hstack(inner), int(self.p2)), None

    def _feature_count(self, A: Samples) -> int | None:
        """Return the number of monomials of monomials."""
        (height, width), (a, b) = map(int, self.shape), self._patch
        inner = (height - a + 1) * (width - b + 1) * monomial_count(a * b, int(self.p1))
        return monomial_count(inner, int(self.p2))

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return nothing: there is no free parameter."""
        return np.empty(0)

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_j W_ij dk(a_i, b_j)/da_i."""
        X, Z = self._images(A, float), self._images(B, float)
        out = np.zeros_like(X)
        _pull_back(X, Z, self._patch, (self.p1, self.p2), np.ascontiguousarray(W, dtype=float), out)
        return out.reshape(len(X), -1)


def _has_two_sizes(value: Any, alone: bool = True) -> bool:
    return (alone or isinstance(value, (tuple, list, np.ndarray))) and _two_sizes(value) is not None


def _two_sizes(value: Any) -> tuple[int, int] | None:
    """Return one or two positive integers as two; None if it is something else."""
    sizes = tuple(value) if isinstance(value, (tuple, list, np.ndarray)) else (value, value)
    whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n > 0 for n in sizes)
    return (int(sizes[0]), int(sizes[1])) if len(sizes) == 2 and whole else None


@compiled
def _whole_power(value, exponent):
    result = value
    for _ in range(exponent - 1):
        result *= value
    return result


@compiled
def _patch_sums(x, z, patch, columns, sums):
    """Write s_q for all places of the patch into sums; columns is work space for one line of the image."""
    a, b = patch
    for top in range(sums.shape[0]):
        columns[:] = 0
        for r in range(top, top + a):
            for c in range(x.shape[1]):
                columns[c] += x[r, c] * z[r, c]
        line = sums[top]
        line[:] = 0
        for shift in range(b):
            for c in range(line.size):
                line[c] += columns[c + shift]


@compiled
def _block(X, Z, patch, powers, out):
    places = (X.shape[1] - patch[0] + 1, X.shape[2] - patch[1] + 1)
    columns, sums = np.empty(X.shape[2], X.dtype), np.empty(places, X.dtype)
    for i in range(X.shape[0]):
        for j in range(Z.shape[0]):
            _patch_sums(X[i], Z[j], patch, columns, sums)
            total = X.dtype.type(0)
            for value in sums.flat:
                total += _whole_power(value, powers[0])
            out[i, j] = _whole_power(total, powers[1])


@compiled
def _pull_back(X, Z, patch, powers, W, out):
    """Add W_ij p2 S^(p2-1) sum over places q around r of p1 s_q^(p1-1) z_r to out, S = sum_q s_q^p1."""
    p1, p2 = powers
    places = (X.shape[1] - patch[0] + 1, X.shape[2] - patch[1] + 1)
    columns, sums = np.empty(X.shape[2]), np.empty(places)
    for i in range(X.shape[0]):
        for j in range(Z.shape[0]):
            _patch_sums(X[i], Z[j], patch, columns, sums)
            total = 0.0
            for value in sums.flat:
                total += _whole_power(value, p1)
            factor = W[i, j] * p2 * p1 * (_whole_power(total, p2 - 1) if p2 > 1 else 1.0)
            for top in range(places[0]):
                for left in range(places[1]):
                    slope = factor * (_whole_power(sums[top, left], p1 - 1) if p1 > 1 else 1.0)
                    for r in range(top, top + patch[0]):
                        for c in range(left, left + patch[1]):
                            out[i, r, c] += slope * Z[j, r, c]
