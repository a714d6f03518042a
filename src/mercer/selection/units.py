r"""The units of y: what a search for hyper-parameters must know of them to find the same in any.

Symbols: m the mean of y, v its variance about m, w the sample weights, W their sum, k the number of outputs, r the
noise as a share of the size of the kernel, lambda the eigenvalues of W^1/2 K W^1/2.

If y becomes a y + b, the process that describes it is a f + b: sizes of kernels and noises are multiplied by a^2, all
other parameters stay. A search finds that if its starts and bounds are multiplied by a^2 as well, and if it measures
the evidence from that of white noise: log p(y) alone falls by W log a, and what is small beside it depends on a.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Floats
from mercer.domains import Samples
from mercer.errors import warn_caller
from mercer.kernels import Kernel, Scaled
from mercer.selection.hyperparameters import Tuned
from mercer.spec import free_names, free_values, with_free

__all__ = [
    "NOISE",
    "WHITE",
    "Units",
    "better",
    "coarse_starts",
    "shifted",
    "sizes",
    "moved_parameters",
    "warn_of_search",
]

WHITE = 1e-2  # log evidence by which a process must be better than white noise, to be more than that
NOISE = 0.1  # where its search starts, as a share of v
_LEAST, _MOST = 1e-8, 10.0  # the noise, as a share of v
_FAR = 1e6  # how far the size of a kernel may be from v
_AROUND = 1e5  # how far a number that was given may go
_LENGTHS = 2.0 ** np.arange(-6, 5)  # times the length scale at hand
_SHARES = 10.0 ** np.arange(-4, 2)  # r
_FEW = 300  # samples on which the evidence is looked at coarsely


@dataclass(frozen=True, eq=False)
class Units:
    """Mean and variance of targets, in the unit of the caller.

    Attributes
    ----------
    mean : (k,) array
        m, or zeros where y is taken as it is.
    variances : (k,) array
        Mean squares about m; one where they are zero.
    """

    mean: Floats
    variances: Floats

    @classmethod
    def of(cls, y: Floats, weight: Floats, centred: bool = True) -> Units:
        """Units of targets (n, k), NaN where they were not observed.

        Where some are missing, the means are those of complete samples, if there are two: what relates the outputs then
        relates their means as well.

        Examples
        --------
        >>> Units.of(np.array([[101.0], [103.0]]), np.ones(2)).mean
        array([102.])
        """
        seen = ~np.isnan(y)
        w = np.where(seen, weight[:, None], 0.0)
        whole = seen.all(axis=1, keepdims=True)
        share = np.where(whole, w, 0.0) if np.count_nonzero(whole) > 1 else w
        total = w.sum(axis=0)
        mean = np.zeros(y.shape[1])
        left = np.where(seen, y, 0.0)
        for _ in range(2 if centred else 0):  # the second time takes away what rounding has left of a large mean
            step = np.einsum("ij,ij->j", share, left) / share.sum(axis=0)
            mean, left = mean + step, np.where(seen, y - (mean + step), 0.0)
        largest = np.abs(left).max(axis=0, initial=0.0)  # squares of small numbers vanish
        unit = np.where(largest > 0.0, largest, 1.0)
        square = np.einsum("ij,ij->j", w, (left / unit) ** 2) / total * unit * unit
        # equal targets differ from their mean by rounding alone
        equal = np.sqrt(square) <= 4.0 * np.finfo(np.float64).eps * np.abs(mean)
        return cls(mean, np.where(equal | ~((square > 0.0) & (square < np.inf)), 1.0, square))

    @property
    def variance(self) -> float:
        """Mean over the outputs."""
        return float(np.mean(self.variances))

    def noise(self, given: Any = None) -> float:
        """Where the search for a noise starts: as given, or a tenth of the variance."""
        return NOISE * self.variance if given is None else float(given)

    def noise_limits(self, start: float) -> tuple[float, float]:
        """How far a noise may go that starts here."""
        return _hull(start, _LEAST * self.variance, _MOST * self.variance)

    def limits(self, kernel: Kernel, noise: Any = None) -> dict[str, tuple[float, float]]:
        """How far the sizes of a kernel, and one noise beside it, may go from where they start.

        Examples
        --------
        >>> from mercer.kernels import Gaussian
        >>> Units.of(np.array([[-1e-6], [1e-6]]), np.ones(2)).limits(1.0 * Gaussian(1.0))["scale"]
        (1e-18, 100000.0)
        """
        v = self.variance
        found = {name: _hull(value, v / _FAR, v * _FAR) for name, value in sizes(kernel).items()}
        if noise is not None:
            found["noise"] = self.noise_limits(float(noise))
        return found

    def sized(self, kernel: Kernel, S: Samples, held: Sequence[str] = ()) -> Kernel | None:
        """The kernel with sizes so that its mean variance is that of y; None where it has none that moves."""
        names = [name for name in sizes(kernel) if name not in held]
        own = float(np.mean(kernel.diag(kernel.prepare(S))))
        if not names or not 0.0 < own < np.inf:
            return None
        ratio = self.variance / own
        raw = [
            ratio * value if name in names else value
            for name, value in zip(free_names(kernel), free_values(kernel), strict=True)
        ]
        changed = with_free(kernel, np.array(raw))
        now = float(np.mean(changed.diag(changed.prepare(S))))
        return changed if 0.1 < now / self.variance < 10.0 else None


def _hull(start: float, low: float, high: float) -> tuple[float, float]:
    """From low to high, and beyond where a number far from them was given."""
    return (low, high) if low <= start <= high else (min(low, start / _AROUND), max(high, start * _AROUND))


def sizes(kernel: Kernel) -> dict[str, float]:
    """Free parameters that multiply a kernel, by name: they have the unit of y squared.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> sizes(2.0 * Gaussian(1.0) + 3.0 * Linear())
    {'0__scale': 2.0, '1__scale': 3.0}
    """
    parts = {"": kernel, **{f"{name}__": part for name, part in kernel.get_params().items()}}
    found = {f"{name}scale": float(part.scale) for name, part in parts.items() if isinstance(part, Scaled)}
    return {name: found[name] for name in free_names(kernel) if name in found}


def shifted(tuned: Tuned, by: float) -> Tuned:
    """The same search with a number added to all values of its criterion."""
    return replace(tuned, value=tuned.value + by, values=tuned.values + by, starts=tuned.starts + by)


def better(one: Tuned, other: Tuned) -> Tuned:
    """The better of two searches, with the evaluations and ends of both."""
    best = other if other.value < one.value else one
    return replace(
        best, evaluations=one.evaluations + other.evaluations, starts=np.append(one.starts, other.starts)
    )  # fmt: skip


def coarse_starts(kernel: Scaled, S: Samples, y: Floats, weight: Floats, units: Units) -> list[tuple[Kernel, float]]:
    r"""Starts of a search, the best first: the hills of the evidence on a coarse grid.

    .. math:: \max_s \log p(y) = -\frac{kW}{2} \log s - \frac k2 \sum_i \log(\lambda_i + r) - \frac k2 (W - n) \log r,
        \qquad s = \frac1{kW} \sum_{ij} \frac{z_{ij}^2}{\lambda_i + r}

    with z the weighted targets in the basis of eigenvectors: one decomposition for each length scale gives the evidence
    for every r, and the best size s. Short and long length scales, the second with much noise, often are both hills.

    Parameters
    ----------
    kernel : Scaled
        A multiple of a kernel with a ``length_scale``, which is multiplied by powers of two.
    S : Samples
    y : (n, k) array
        Less its mean.
    weight : (n,) array
        Positive.
    units : Units
        Units of y.

    Returns
    -------
    starts : list of (kernel, noise)
        Three at most.

    Notes
    -----
    300 samples are looked at, chosen at random: with their number the best length scale changes slowly.
    """
    some = np.sort(np.random.default_rng(0).permutation(len(S))[:_FEW])
    S, y, w = S.take(some), y[some], weight[some]
    root, W, k = np.sqrt(w)[:, None], float(w.sum()), y.shape[1]
    inner: Any = kernel.kernel
    value = np.empty((len(_LENGTHS), len(_SHARES)))
    size = np.empty(value.shape)
    for row, length in enumerate(_LENGTHS):
        trial = inner.replace(length_scale=length * inner.length_scale)
        K = np.asarray(trial(S), dtype=np.float64)
        levels, vectors = np.linalg.eigh(root * K * root.T)
        z = np.sum((vectors.T @ (root * y)) ** 2, axis=1) / units.variance
        rest = np.maximum(levels, 0.0)[:, None] + _SHARES
        size[row] = np.maximum(np.sum(z[:, None] / rest, axis=0) / (k * W), 1e-300)
        value[row] = -0.5 * k * (W * np.log(size[row]) + np.log(rest).sum(axis=0) + (W - len(w)) * np.log(_SHARES))
    best = _hills(value)
    limits = units.limits(kernel, units.variance)
    return [
        (
            Scaled(
                float(np.clip(size[place] * units.variance, *limits["scale"])),
                inner.replace(length_scale=float(_LENGTHS[place[0]] * inner.length_scale)),
            ),
            float(np.clip(size[place] * _SHARES[place[1]] * units.variance, *limits["noise"])),
        )
        for place in best
    ]


def _hills(value: Floats) -> list[tuple[int, int]]:
    """Places larger than all their neighbours, three at most, the highest first."""
    wide = np.pad(value, 1, constant_values=-np.inf)
    rows, columns = value.shape
    around = [
        wide[i : i + rows, j : j + columns] for i in range(3) for j in range(3) if (i, j) != (1, 1)
    ]  # fmt: skip
    tops = np.argwhere(np.all(value >= np.array(around), axis=0))
    order = sorted(((int(i), int(j)) for i, j in tops), key=lambda place: -value[place])
    return order[:3]


def moved_parameters(tuned: Tuned) -> tuple[dict[str, float], dict[str, float]]:
    """The parameters that a search has moved to a bound, and all that it has moved, by name."""
    last = tuned.path[-1] if len(tuned.path) else np.zeros(0)
    moved = {name: float(value) for name, value in zip(tuned.names, last, strict=True)}
    return {name: moved[name] for name in tuned.at_bounds}, moved


def warn_of_search(held: Mapping[str, float], moved: Mapping[str, float], gain: float, kernel: Kernel) -> None:
    """Warn of parameters at their bounds, and of an evidence that is that of white noise.

    Parameters
    ----------
    held, moved : mapping of name to float
        Parameters at a bound, and all that were moved; see `moved_parameters`.
    gain : float
        Log evidence less that of white noise of the best variance; infinite where that is not known.
    kernel : Kernel
        What was found.
    """
    if held:
        warn_caller(
            f"The evidence is largest at a bound of {_words(held)}; it would still rise beyond. Give other "
            f"bounds={{...}}, hold the parameter by fixed={tuple(held)!r}, or write another kernel.",
            ConvergenceWarning,
        )
    own = {name: value for name, value in moved.items() if name in free_names(kernel)}
    if own and gain <= WHITE:
        size = "" if sizes(kernel) else f" {kernel!r} has no size of its own: write 1.0 * {kernel!r}."
        warn_caller(
            f"The evidence found is that of white noise: the kernel explains nothing of y at {_words(own)}.{size} "
            "Start elsewhere (kernel, restarts=5), or take it that X says nothing about y.",
            ConvergenceWarning,
        )


def _words(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:.3g}" for name, value in values.items())
