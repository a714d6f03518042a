"""Statistics by blocks of samples, in time linear in n: the mean over blocks of unbiased estimates.

Symbols: b samples in a block, c blocks. Estimates of different blocks are independent, so that their mean is normal
for large c, with a variance and a skew estimated from their scatter.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.budget import UNLIMITED, Resources
from mercer.domains import Samples
from mercer.errors import ParameterError
from mercer.inference.options import tell
from mercer.inference.result import Null, finite
from mercer.kernels import Kernel

__all__ = ["BLOCKS", "block_null", "block_size_of", "check_blocks", "hsic_blocks", "mmd_blocks"]

BLOCKS = ("block", "linear")  # estimators by blocks
_CHUNK = 256  # samples compared at once, so that calls of a kernel pay off


def check_blocks(estimator: str, block_size: Any, gram: Any) -> None:
    """Raise ParameterError where an option was given that the estimator does not use.

    Examples
    --------
    >>> check_blocks("block", 30, None)
    """
    if block_size is not None and estimator != "block":
        raise ParameterError(
            f"block_size={block_size!r} was given with estimator={estimator!r}; it is accepted with estimator='block', "
            "whose blocks have that many samples. Leave it out, or use estimator='block'."
        )
    if gram is not None and estimator in BLOCKS:
        raise ParameterError(
            f"gram={gram!r} was given with estimator={estimator!r}, which compares samples of a block alone and holds "
            "no Gram matrix; it is accepted with estimator='biased' or 'unbiased'. Leave it out, or use one of these."
        )


def block_size_of(estimator: str, block_size: int | None, n: int, least: int) -> int:
    """Return b: the least for "linear", as given or about sqrt(n) for "block"."""
    if estimator == "linear":
        block_size = least
    elif block_size is None:
        block_size = max(least, min(math.isqrt(n), n // 2))
    if isinstance(block_size, bool) or not isinstance(block_size, (int, np.integer)) or not least <= block_size:
        raise ParameterError(
            f"block_size={block_size!r} was given; a whole number of at least {least} is accepted. Leave it out for "
            "the square root of the number of samples."
        )
    if n < 2 * block_size:
        raise ParameterError(
            f"Blocks of {block_size} were asked for and there are {n} samples; at least two blocks are needed. Give a "
            "smaller block_size, or estimator='unbiased'."
        )
    return int(block_size)


def mmd_blocks(kernel: Kernel, A: Samples, B: Samples, b: int, resources: Resources = UNLIMITED) -> Floats:
    """Return the unbiased squared mean discrepancy of each block of b samples of A and b of B, (c,)."""
    found = []
    for xx, yy, xy in _chunks(kernel, (A, A), (B, B), (A, B), b=b, resources=resources):
        pairs = b * (b - 1)
        with np.errstate(over="ignore", invalid="ignore"):
            within = (_off(xx) + _off(yy)) / pairs
            # pairs observed together are left out, so that the expression is a U-statistic of (x_i, y_i)
            found.append(within - 2.0 * _off(xy) / pairs)
    return np.concatenate(found)


def hsic_blocks(
    kernels: tuple[Kernel, Kernel], A: Samples, B: Samples, b: int, resources: Resources = UNLIMITED
) -> Floats:
    """Return the unbiased HSIC of each block of b pairs, (c,)."""
    found = []
    left = _chunks(kernels[0], (A, A), b=b, resources=resources)
    right = _chunks(kernels[1], (B, B), b=b)
    for (K,), (L,) in zip(left, right, strict=True):
        for M in (K, L):
            M[:, np.arange(b), np.arange(b)] = 0.0
        rows_k, rows_l = K.sum(axis=2), L.sum(axis=2)
        total = np.einsum("cij,cij->c", K, L)
        total += rows_k.sum(axis=1) * rows_l.sum(axis=1) / ((b - 1) * (b - 2))
        total -= 2.0 / (b - 2) * np.einsum("ci,ci->c", rows_k, rows_l)
        found.append(total / (b * (b - 3)))
    return np.concatenate(found)


def block_null(estimates: Floats) -> tuple[float, Null]:
    """Return the mean over blocks and its distribution if the true value is zero: normal, apart from its skew.

    Blocks are weighted sums of squares where there is nothing to see: skewed, and few if they are large.
    """
    scale = finite(float(np.max(np.abs(estimates)))) or 1.0
    units = estimates / scale  # whose squares neither overflow nor vanish
    c, mean, std = len(units), float(np.mean(units)), float(np.std(units))
    if std <= 1e-12:  # all alike, but for rounding
        return scale * mean, Null("normal", 0.0, 0.0)
    skewness = float(np.mean(((units - mean) / std) ** 3))
    return scale * mean, Null("normal", 0.0, scale * std / math.sqrt(c - 1), skew=skewness / (3.0 * math.sqrt(c)))


def _chunks(kernel: Kernel, *sides: tuple[Samples, Samples], b: int, resources: Resources = UNLIMITED):
    """Yield for each chunk the blocks (c', b, b) on the diagonal of the matrix of each pair of sides."""
    prepared = {id(S): kernel.prepare(S) for pair in sides for S in pair}
    n = min(len(S) for pair in sides for S in pair) // b * b
    step = max(b, _CHUNK // b * b)
    for start in range(0, n, step):
        stop = min(start + step, n)
        count = (stop - start) // b
        parts = {key: S[start:stop] for key, S in prepared.items()}
        yield tuple(
            np.stack([M[i * b : (i + 1) * b, i * b : (i + 1) * b] for i in range(count)])
            for M in (np.asarray(kernel.block(parts[id(P)], parts[id(Q)]), dtype=float) for P, Q in sides)
        )
        tell(resources, stop / n)


def _off(M: Floats) -> Floats:
    """Sum of each block without its diagonal."""
    return M.sum(axis=(1, 2)) - np.trace(M, axis1=1, axis2=2)
