"""Random convolutions: how often time series agree with random patterns of many widths, as features.

Symbols: C patterns of p = 7, 9 or 11 weights, spread by a dilation; T the usual length of a series.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Boolean, Integer, Optional, Satisfies
from mercer.domains import Samples
from mercer.domains.samples import packed_pair
from mercer.domains.sequences import Sequences
from mercer.errors import DomainError, ParameterError
from mercer.kernels.abilities import Featured
from mercer.kernels.kernel import Kernel, mirror
from mercer.runtime.compiled import compiled

__all__ = ["RandomConvolutions"]
__public__ = __all__

_WIDTHS = (7, 9, 11)


class RandomConvolutions(Kernel, Featured):
    r"""Random convolutions: time series are alike if random patterns fit them at the same share of places.

    .. math:: k(x, y) = \frac{1}{C} \sum_{c=1}^C \frac{(f_c(x) - m_c)(f_c(y) - m_c)}{s_c^2}, \quad
        f_c(x) = \frac{1}{|x|} \Big|\Big\{t : \sum_j w_{cj}\, x_{t + j \delta_c} + b_c > 0\Big\}\Big|

    where m_c and s_c are the mean and the standard deviation of f_c over the training series.

    Seed: [SS] Section 6.4, kernels for structured data. Dempster, Petitjean and Webb, ROCKET (2020), of whose two
    features per pattern the share is taken and the maximum is left out.

    Parameters
    ----------
    count : int, default 1000
        C >= 1 patterns.
    standardise : bool, default True
        Whether each channel of each series is given mean 0 and standard deviation 1 before.
    random_state : int, default 0
        Of the patterns.
    length : int, optional
        T >= 1, from which the dilations are drawn; by default the median length of the training series.
    moments : (2, C) array, optional
        m and s; learned in `fit` unless given.

    Notes
    -----
    Domain Sequences, of any lengths. Features one for each pattern, dense: ridge regression on them is what ROCKET
    does. Weights are normal less their mean, b is uniform between -1 and 1, dilations are powers of two with an
    exponent that is uniform up to a pattern as long as T, half of the patterns reach beyond the ends, where series are
    zero. Of several channels a pattern reads some. Nothing to differentiate. Positive definite of order 0 by its
    features; not strict, as they are finitely many; not bounded. A feature that is the same for all training series
    counts for nothing. Cost O(C T) a series, then O(C) a pair.

    Examples
    --------
    >>> t = np.linspace(0.0, 6.0, 60)
    >>> slow, slower, fast = np.sin(t), np.sin(0.9 * t), np.sin(6.0 * t)
    >>> k = RandomConvolutions(500).learn([slow, slower, fast]).normalized()
    >>> bool(k([slow], [slower])[0, 0] > k([slow], [fast])[0, 0])
    True
    """

    domain = Sequences
    formula = r"\sum_c (f_c(x) - m_c)(f_c(y) - m_c) / (C s_c^2)"
    cost = "O(C T) a series, then O(C) a pair"
    constraints = {
        "count": Integer(1),
        "standardise": Boolean(),
        "random_state": Integer(0),
        "length": Optional(Integer(1)),
        "moments": Optional(Satisfies("two rows of numbers", lambda rows: np.ndim(rows) == 2)),
    }

    def __init__(
        self,
        count: int = 1000,
        standardise: bool = True,
        random_state: int = 0,
        length: int | None = None,
        moments: Any = None,
    ) -> None:
        self.count = count
        self.standardise = standardise
        self.random_state = random_state
        self.length = length
        self.moments = moments

    def check(self) -> Any:
        """Raise ParameterError unless moments are two rows of C finite numbers, the second positive."""
        if self.moments is not None:
            m = np.asarray(self.moments)
            good = m.shape == (2, self.count) and m.dtype.kind in "fiu"
            if not good or not np.isfinite(m).all() or not (m[1] > 0.0).all():
                raise ParameterError(
                    f"RandomConvolutions was given moments of shape {m.shape}; two rows of {self.count} finite "
                    "numbers, the second positive, are accepted. Leave them out: `fit` and `learn` find them."
                )
        return super().check()

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Take the median length, and the mean and standard deviation of every feature."""
        assert isinstance(S, Sequences)
        used = S if weight is None else S.take(np.asarray(weight) > 0.0)
        kernel = self if self.length is not None else self.replace(length=int(np.median(used.lengths)))
        if kernel.moments is not None:
            return kernel
        w = np.ones(len(S)) if weight is None else np.asarray(weight, dtype=float)
        F = kernel._shares(S)
        mean = np.average(F, axis=0, weights=w)
        spread = np.sqrt(np.average((F - mean) ** 2, axis=0, weights=w))
        # of a constant feature the differences of new series are shown as they are, not magnified
        return kernel.replace(moments=np.stack([mean, np.where(spread > 1e-12, spread, 1.0)]))

    @property
    def _key(self) -> str:
        return f"convolutions:{self.count}:{self.standardise}:{self.random_state}:{self.length}"

    def _prepare(self, A: Samples) -> Samples:
        """Apply the patterns, once per collection."""
        if self.moments is None or self.length is None:
            raise ParameterError(
                f"{self!r} is not fitted: the usual length of a series and the moments of the features are learned "
                "from training samples. Use it in an estimator, or call learn(samples)."
            )
        return A if self._key in A.derived else A.with_derived(self._key, self._shares(A))

    def _shares(self, A: Samples) -> Floats:
        """Return f_c of all series, (len A, C)."""
        assert isinstance(A, Sequences)
        values = np.ascontiguousarray(A.values, dtype=float)
        if self.standardise:
            values = _standardised(A)
        out = np.empty((len(A), int(self.count)))
        _convolve_all(values, A.offsets, self._patterns(A.width), out)
        return out

    def _patterns(self, width: int) -> tuple[Any, ...]:
        """Draw the patterns for series of this many channels: widths, channels and weights one after another."""
        assert self.length is not None
        rng = np.random.default_rng([int(self.random_state), width])
        C = int(self.count)
        widths = rng.choice(_WIDTHS, C).astype(np.int64)
        most = np.log2(np.maximum((int(self.length) - 1.0) / (widths - 1.0), 1.0))
        dilations = np.floor(2.0 ** rng.uniform(0.0, most)).astype(np.int64)
        padding = np.where(rng.random(C) < 0.5, (widths - 1) * dilations // 2, 0)
        biases = rng.uniform(-1.0, 1.0, C)
        weights = np.zeros((C, width, max(_WIDTHS)))
        for c in range(C):
            read = min(width, int(2.0 ** rng.uniform(0.0, np.log2(min(width, widths[c]) + 1.0))))
            drawn = rng.normal(size=(read, widths[c]))
            weights[c, rng.choice(width, read, replace=False), : widths[c]] = drawn - drawn.mean(axis=1)[:, None]
        return widths, dilations, padding, biases, weights

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the centred and scaled features, over the root of C."""
        shares = self.prepare(A).derived[self._key]
        mean, spread = np.asarray(self.moments, dtype=float)
        return (shares - mean) / (spread * np.sqrt(float(self.count))), None

    def _feature_count(self, A: Samples) -> int | None:
        """Return C."""
        return int(self.count)

    def block(self, A: Samples, B: Samples) -> Floats:
        """Multiply the features."""
        A, B = packed_pair(A, B, self._ready)
        assert isinstance(A, Sequences) and isinstance(B, Sequences)
        A.require_like(B)
        F = self._features(A)[0]
        K = F @ (F if B is A else self._features(B)[0]).T
        return mirror(K) if B is A else K

    def _diag(self, A: Samples) -> Floats:
        """Return the squared lengths of the features."""
        F = self._features(A)[0]
        return np.einsum("ij,ij->i", F, F)


def _standardised(A: Sequences) -> Floats:
    """Return the points with mean 0 and standard deviation 1 in every channel of every series; constants become 0."""
    out = np.empty(A.values.shape)
    for i in range(len(A)):
        x = np.asarray(A.series(i), dtype=float)
        largest = float(np.abs(x).max())
        if not np.isfinite(largest):
            raise DomainError(f"Sample {i} has values that are not finite; numbers are needed. Clip them.")
        x = x / largest if largest > 0.0 else x
        x = x - x.mean(axis=0)
        spread = x.std(axis=0)
        out[A.offsets[i] - A.offsets[0] : A.offsets[i + 1] - A.offsets[0]] = np.where(
            spread > 1e-12, x / np.where(spread > 0.0, spread, 1.0), 0.0
        )
    return out


@compiled
def _convolve_all(values, offsets, patterns, out):
    """Write the share of places at which each pattern exceeds its bias; a series that is too short has one place."""
    widths, dilations, padding, biases, weights = patterns
    for i in range(offsets.size - 1):
        begin = offsets[i] - offsets[0]
        n = offsets[i + 1] - offsets[i]
        for c in range(widths.size):
            reach = (widths[c] - 1) * dilations[c]
            first, last = -padding[c], n + padding[c] - reach
            last = last if last > first else first + 1
            above = 0
            for t in range(first, last):
                total = biases[c]
                for k in range(weights.shape[1]):
                    for j in range(widths[c]):
                        place = t + j * dilations[c]
                        if 0 <= place < n:
                            total += weights[c, k, j] * values[begin + place, k]
                above += total > 0.0
            out[i, c] = above / (last - first)
