"""The global alignment kernel of time series: a sum over all ways to pair the points of two series in order.

Symbols: x of n points, y of m points; g_ij = exp(-|x_i - y_j|^2 / (2 l^2)); w_ij the weight of the band; kappa_ij the
local similarity; M_ij the sum over the alignments of the first i and j points; K = M_nm.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import AnyOf, Fixed, Integer, Interval, OneOf, Optional, Positive
from mercer.domains import Samples, Vectors
from mercer.domains.sequences import Sequences
from mercer.errors import DomainError, ParameterError
from mercer.kernels.abilities import DifferentiatedByTiles
from mercer.kernels.comparison import Comparison, View, side_of_tiles
from mercer.kernels.kernel import Kernel, Tiled, mirror, overflow_error
from mercer.kernels.protocols import Pullback
from mercer.kernels.series.alignments import FARTHEST, sum_alignments
from mercer.kernels.vectors.pointwise import median_distance
from mercer.runtime.compiled import compiled
from mercer.spec import derived

__all__ = ["GlobalAlignmentSeries"]
__public__ = __all__

_CELLS = 3e6  # pairs of points that take some 20 milliseconds
_PLACES = 16  # at which series are compared for their median distance
_LOG2E, _LN2 = 1.4426950408889634, 0.6931471805599453


class GlobalAlignmentSeries(Tiled, DifferentiatedByTiles):
    r"""Global alignment kernel: a sum over all ways to pair the points of two time series in order.

    .. math:: K(x, y) = \sum_\pi \prod_{(i, j) \in \pi} \kappa_{ij}, \quad
        \kappa_{ij} = \frac{w_{ij} g_{ij}}{2 - w_{ij} g_{ij}}, \quad
        g_{ij} = e^{-\|x_i - y_j\|^2 / (2 l^2)}, \quad k(x, y) = \frac{K(x, y)}{\sqrt{K(x, x) K(y, y)}}

    An alignment pi leads from the first points of both series to the last ones by steps (1, 0), (0, 1) and (1, 1).
    Dynamic time warping takes the best alignment, here all of them count. The band is a triangle,
    :math:`w_{ij} = \max(0, 1 - |i - j| / b)`.

    Seed: [SS] Section 6.4, kernels for structured data; [KIKS] Section 6.1.2, a convolution kernel whose parts are
    pairs of points. Cuturi, Fast global alignment kernels (2011).

    Parameters
    ----------
    length_scale : float or "median", default 1.0
        l, the distance within which two points are alike. Long series need a larger one than single points: "median"
        takes half the median distance between training series (the root mean square of the distances of points at 16
        places from begin to end) times the root of their median length.
    band : int or float, optional
        A whole number b >= 1: points are paired only if their numbers differ by less than b. A share b < 1, at least
        1e-6: only if their places, from 0 at the begin of a series to 1 at its end, differ by less than b; then |i - j|
        above is the difference of (i - 1/2) / n and (j - 1/2) / m. None pairs any, as an infinite band would.
    form : {"normalised", "sum", "log"}, default "normalised"
        k as above; K itself, which grows exponentially with the series; or log K, a soft score.

    Notes
    -----
    Domain Sequences, of any lengths. No features. Derivatives in the length scale. "normalised" and "sum" are positive
    definite of order 0, with any band: w g is a kernel on numbered (or placed) points, and kappa / (1 + kappa) = w g /
    2 then is one as well, which makes the sum over alignments one. "log" is symmetric, in general indefinite: `order`
    is None. Not known to be strict. With a band of b points, series whose lengths differ by b or more have K = 0.
    Values have a relative error of a few rounding units times n + m. Cost O(n m d) a pair, O(b (n + m) d) with a band.

    Points that are more than some 10^7 length scales apart count as that far apart, which is seen in "log" only.

    Where every series is like itself alone (k near 0 off the diagonal), the length scale is too small.

    Examples
    --------
    >>> x, y, z = [0.0, 1.0, 2.0], [0.0, 0.0, 1.0, 2.0], [2.0, 1.0, 0.0]
    >>> GlobalAlignmentSeries(1.0)([x, y, z]).round(3)
    array([[1.   , 0.711, 0.006],
           [0.711, 1.   , 0.002],
           [0.006, 0.002, 1.   ]])
    >>> GlobalAlignmentSeries(1.0).alignment(x, y).round(2)
    array([[1.  , 0.73, 0.19, 0.  ],
           [0.09, 0.46, 0.87, 0.24],
           [0.  , 0.01, 0.3 , 1.  ]])
    """

    domain = Sequences
    formula = r"\sum_\pi \prod_{(i, j) \in \pi} \kappa_{ij} / \sqrt{K(x, x) K(y, y)}"
    cost = "O(n m d) a pair of series of n and m points"
    constraints = {
        "length_scale": Positive(words=("median",)),
        "band": Optional(AnyOf(Integer(1), Fixed(Interval(1e-6, 1.0, closed="left")))),
        "form": OneOf("normalised", "sum", "log"),
    }

    def __init__(self, length_scale: float | str = 1.0, band: float | None = None, form: str = "normalised") -> None:
        self.length_scale = length_scale
        self.band = band
        self.form = form

    @derived
    def order(self) -> int | None:
        """0 if the sum over alignments is taken, None for its logarithm."""
        return None if self.form == "log" else 0

    @derived
    def normalised(self) -> bool:
        """Whether k(x, x) = 1."""
        return self.form == "normalised"

    @derived
    def bounded(self) -> bool:
        """Whether values are at most one."""
        return self.form == "normalised"

    @property
    def _key(self) -> str:
        return f"alignment:series:{self.length_scale!r}:{self.band!r}"

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Replace "median" by half the median distance of series times the root of the median length."""
        if not isinstance(self.length_scale, str):
            return self
        assert isinstance(S, Sequences)
        weight = np.ones(len(S)) if weight is None else np.asarray(weight, dtype=float)
        shapes = _shapes(S)
        if np.ptp(shapes[weight > 0.0], axis=0).any():
            distance = median_distance(Vectors(shapes), weight)
        else:  # one series, or copies of it: how far its points are apart is all there is
            distance = median_distance(Vectors(np.ascontiguousarray(S.values)), np.repeat(weight, S.lengths))
        return self.replace(length_scale=0.5 * distance * float(np.sqrt(_median(S.lengths, weight))))

    def _prepare(self, A: Samples) -> Samples:
        """Compare every series with itself, once per collection, where values are normalised."""
        if self.form != "normalised" or self._key in A.derived:
            return A
        return A.with_derived(self._key, self._own(A)[:, 0].copy())

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for small tiles where series are long."""
        return side_of_tiles(comparison, _CELLS)

    def tile(self, view: View) -> Floats:
        """Fill the tables of all pairs."""
        logs = self._logs(view, False)[:, :, 0]
        out = view.empty()
        if self.form == "normalised":
            A, B = view.collections
            own = [self.prepare(S).derived[self._key] for S in ((A,) if B is A else (A, B))]
            logs -= 0.5 * own[0][view.rows, None] + 0.5 * own[-1][view.columns]
            if B is A and view.rows == view.columns:
                np.fill_diagonal(logs, 0.0)
            np.minimum(logs, 0.0, out=logs)  # rounding must not lead beyond one
        out[:] = self._formed(logs)
        return out

    def _diag(self, A: Samples) -> Floats:
        """Compare every series with itself."""
        if self.form == "normalised":
            return np.ones(len(A))
        return self._formed(self._own(A)[:, 0].copy())

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Return the values of a tile and the pullback to the length scale, by tables of derivatives."""
        value, slopes = self.tile(view), self._logs(view, True)[:, :, 1]
        if self.form == "normalised":
            rows, columns = (self._own(S, slopes=True)[:, 1] for S in view.sides)
            slopes -= 0.5 * rows[:, None] + 0.5 * columns
        if self.form != "log":
            slopes *= value
        slopes[~np.isfinite(slopes)] = 0.0  # of pairs without any alignment
        return value, lambda W: np.array([np.vdot(W, slopes) / float(self.length_scale)])

    def alignment(self, x: Any, y: Any) -> Floats:
        """Return how likely two points of two series are paired, (n, m): the soft alignment.

        Alignments are drawn with probabilities proportional to their terms in the sum.

        Parameters
        ----------
        x, y : (n,) or (n, d), and (m,) or (m, d) arrays
        """
        self.check()
        sides = [self._scaled(Sequences.pack([one])) for one in (x, y)]
        sides[0].require_like(sides[1])
        local = self._local(*(S.series(0) for S in sides))
        table, rest = _log_sums(local), _log_sums(local[::-1, ::-1].copy())[::-1, ::-1]
        if table[-1, -1] == -np.inf:
            raise DomainError(_too_far(self))
        with np.errstate(invalid="ignore"):
            chance = np.exp(table + rest - local - table[-1, -1])
        return np.nan_to_num(chance, nan=0.0)

    # ------------------------------------------------------------------ in the form of logarithms

    @property
    def _band(self) -> tuple[float, bool]:
        """The width of the band, and whether it is a share of the lengths."""
        return (np.inf, False) if self.band is None else (float(self.band), float(self.band) < 1.0)

    def _local(self, x: Floats, y: Floats) -> Floats:
        """Return log kappa for all pairs of points of two scaled series."""
        with np.errstate(over="ignore"):
            cost = sum(
                (np.subtract.outer(u, v) ** 2 for u, v in zip(x.T, y.T, strict=True)), np.zeros((len(x), len(y)))
            )
        band, share = self._band
        places = [(np.arange(len(s)) + 0.5) / (len(s) if share else 1.0) for s in (x, y)]
        apart = np.abs(np.subtract.outer(*places))
        with np.errstate(divide="ignore"):
            log_g = np.log(np.maximum(1.0 - apart / band, 0.0)) - _LN2 * np.minimum(cost, FARTHEST)
        return log_g - np.log(2.0 - np.exp(log_g))

    def _scaled(self, S: Sequences) -> Sequences:
        """Return the series in a unit in which squared distances are bits that a pair of points costs."""
        if isinstance(self.length_scale, str):
            raise ParameterError(
                f"{self!r} is not fitted: its length scale is learned from training samples. "
                "Use it in an estimator, call learn(samples), or give a number."
            )
        with np.errstate(over="ignore"):
            values = S.values * (np.sqrt(0.5 * _LOG2E) / float(self.length_scale))
        if not np.isfinite(values).all():
            raise overflow_error(self)
        return Sequences(type(S.ragged)(values, S.offsets))

    def _logs(self, view: View, slopes: bool) -> Floats:
        """Return log K of all pairs of a tile and, if asked for, its derivative in log l, (rows, columns, 2)."""
        A, B = view.collections
        assert isinstance(A, Sequences) and isinstance(B, Sequences)
        A.require_like(B)
        key = view.path, "scaled", self.length_scale
        left, right = view.comparison.keep(key, lambda: self._sides(A, B))
        symmetric = B is A and view.rows == view.columns
        out = np.zeros((*view.shape, 2))
        sum_alignments(left[view.rows], right[view.columns], out, band=self._band, symmetric=symmetric, slopes=slopes)
        if symmetric:
            mirror(out[:, :, 0])
            mirror(out[:, :, 1])
        return out

    def _sides(self, A: Sequences, B: Sequences) -> tuple[Sequences, Sequences]:
        left = self._scaled(A)
        return left, left if B is A else self._scaled(B)

    def _own(self, A: Samples, slopes: bool = False) -> Floats:
        """Return log K(x, x) and, if asked for, its derivative in log l, (len A, 2)."""
        assert isinstance(A, Sequences)
        scaled, out = self._scaled(A), np.zeros((len(A), 2))
        for i in range(len(A)):
            one = scaled[i : i + 1]
            sum_alignments(one, one, out[i].reshape(1, 1, 2), band=self._band, slopes=slopes)
        return out

    def _formed(self, logs: Floats) -> Floats:
        """Return log K in the form that was asked for, in place."""
        if self.form != "log":
            with np.errstate(over="ignore"):  # values that are not finite are refused with advice
                return np.exp(logs, out=logs)
        if (logs == -np.inf).any():
            raise DomainError(_too_far(self))
        return logs


def _too_far(kernel: Kernel) -> str:
    return (
        f"Two series have no alignment under {kernel!r}, and zero has no logarithm; lengths must differ by less than a "
        "band of points, and a share must leave a way from the beginning to the end. Use a wider band, or "
        "form='normalised', where such pairs have the value 0."
    )


def _shapes(S: Sequences) -> Floats:
    """Return every series at a few places, divided by the root of their number, so that distances are means."""
    places = (np.arange(_PLACES) + 0.5) / _PLACES
    shapes = np.empty((len(S), _PLACES * S.width))
    for i in range(len(S)):
        x = S.series(i)
        at = places * len(x) - 0.5
        shapes[i] = np.concatenate([np.interp(at, np.arange(len(x)), channel) for channel in x.T])
    return shapes / np.sqrt(_PLACES)


def _median(values: Any, weight: Floats) -> float:
    """Return the median of values that count as often as their weights say."""
    order = np.argsort(values, kind="stable")
    values, total = np.asarray(values, dtype=float)[order], np.cumsum(weight[order])
    half = 0.5 * total[-1]
    low = min(int(np.searchsorted(total, half, side="left")), len(values) - 1)
    high = min(int(np.searchsorted(total, half, side="right")), len(values) - 1)
    return 0.5 * float(values[low] + values[high])


@compiled
def _log_sums(local):
    """Return the logarithms of the sums over alignments up to each pair of points, from those of local similarities."""
    table = np.full(local.shape, -np.inf)
    for i in range(local.shape[0]):
        for j in range(local.shape[1]):
            cross = table[i - 1, j - 1] if i > 0 and j > 0 else -np.inf
            up = table[i - 1, j] if i > 0 else -np.inf
            left = table[i, j - 1] if j > 0 else -np.inf
            top = 0.0 if i == 0 and j == 0 else max(max(cross, up), left)
            if top == -np.inf:
                continue
            rest = np.exp(cross - top) + np.exp(up - top) + np.exp(left - top) if i > 0 or j > 0 else 1.0
            table[i, j] = local[i, j] + top + np.log(rest)
    return table
