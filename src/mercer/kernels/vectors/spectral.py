r"""Kernels made from a measure of frequencies: Bochner's theorem in reverse.

Symbols: t = x - z, w_q weights, mu_q mean frequencies and s_q their standard deviations (radians per unit of x),
omega_i frequencies, v a density of frequencies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Self

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Array, Fixed, Interval, Optional, Positive, Satisfies
from mercer.domains import Samples, Vectors
from mercer.domains.samples import packed_pair
from mercer.errors import DomainError, ParameterError
from mercer.kernels.abilities import Differentiated, DifferentiatedInInputs, Featured
from mercer.kernels.comparison import View, common_dtype, require_same_columns
from mercer.kernels.kernel import Kernel, Tiled, mirror, overflow_error
from mercer.kernels.user_calls import numbers_at
from mercer.kernels.vectors.pointwise import dense
from mercer.numerics.hankel import radial_transform, resolve
from mercer.spec import derived

__all__ = ["SpectralDensity", "SpectralMixture", "SpectralSamples"]
__public__ = __all__

_WEIGHTS = Interval(0.0, math.inf, closed="left", vector=True)
_FARTHEST = 1e4  # of distances, in one over the scale of a density


class SpectralMixture(Kernel, Differentiated, DifferentiatedInInputs):
    r"""Spectral mixture kernel: bells of frequencies, each of which is a wave that fades.

    .. math:: k(x, x') = \sum_q w_q \exp\!\Big(-\frac{1}{2} \sum_j s_{qj}^2 t_j^2\Big)
        \cos\Big(\sum_j \mu_{qj} t_j\Big), \qquad t = x - x'

    Seed: [HSS] Theorem 8, Eq. (32), with a mixture of normal distributions at plus and minus mu_q for the measure.
    Mixtures are dense among measures, so these kernels are among the stationary ones (Wilson and Adams, 2013, whose
    frequencies are divided by 2 pi).

    Parameters
    ----------
    weights : (Q,) tuple or array
        w_q >= 0, the variance that a bell contributes; not all zero.
    means : (Q, d) or (Q d,) array, or tuples
        mu_q in radians per unit, a row for each component: the period of a wave is 2 pi / mu. Without rows, one
        component after the other, d numbers each.
    scales : (Q, d) or (Q d,) array, or tuples
        s_q > 0, as long as the means: a wave fades over the distance 1 / s.

    Notes
    -----
    Domain Vectors of d columns, d the length of the means over that of the weights. Features no; frequencies and
    spectral density a mixture of normals; differentiable in all parameters and in the inputs. Strict and universal;
    stationary, bounded, k(x, x) the sum of the weights. The evidence has many local optima in the means: start them at
    the peaks of a periodogram. Cost O(Q m n d), an exponential and a cosine for each pair and component.

    Examples
    --------
    >>> k = SpectralMixture((1.0, 0.5), (0.0, np.pi), (1.0, 0.1))
    >>> k([[0.0], [1.0], [2.0]]).round(3)
    array([[1.5  , 0.109, 0.625],
           [0.109, 1.5  , 0.109],
           [0.625, 0.109, 1.5  ]])
    """

    synonyms = ("spectral mixture kernel",)
    domain = Vectors
    example = ((1.0,), (0.5, 0.5, 0.5, 0.5), (1.0, 1.0, 1.0, 1.0))
    formula = r"\sum_q w_q \exp(-\frac{1}{2} \sum_j s_{qj}^2 t_j^2) \cos(\sum_j \mu_{qj} t_j)"
    cost = "O(Qmnd), an exponential and a cosine per pair and component"
    stationary = True
    bounded = True
    spectral_support = "everything"
    constraints = {
        "weights": _WEIGHTS,
        "means": Interval(-math.inf, math.inf, closed="neither", vector=True, table=True),
        "scales": Positive(vector=True, table=True),
    }

    def __init__(self, weights: Any, means: Any, scales: Any) -> None:
        self.weights = weights
        self.means = means
        self.scales = scales

    def check(self) -> Self:
        """Raise ParameterError unless there are as many means and scales as components times columns."""
        super().check()
        q, means, scales = np.size(self.weights), np.size(self.means), np.size(self.scales)
        if means != scales or means % q:
            raise ParameterError(
                f"SpectralMixture was given {q} weights, {means} means and {scales} scales; means and scales are as "
                "many as weights times columns. Give d numbers for each weight, one component after the other."
            )
        for name in ("means", "scales"):
            shape = np.shape(getattr(self, name))
            if len(shape) == 2 and shape[0] != q:
                raise ParameterError(
                    f"SpectralMixture was given {name} of shape {shape} with {q} weights; there is a row for each "
                    "weight. Give them transposed, or one component after the other."
                )
        if not np.any(np.asarray(self.weights, dtype=float) > 0.0):
            raise ParameterError(
                f"SpectralMixture was given weights={self.weights!r}; at least one must be positive. Try ones."
            )
        return self

    @derived
    def strict(self) -> bool:
        """A bell with a positive weight is positive on all frequencies."""
        return bool(np.any(np.asarray(self.weights, dtype=float) > 0.0))

    @derived
    def universal(self) -> bool:
        """As for strictness."""
        return self.strict

    def _prepare(self, A: Samples) -> Samples:
        """Refuse samples whose number of columns differs from that of the means."""
        _require_width(self, A, np.size(self.means) // np.size(self.weights))
        return A

    def _components(self) -> Iterator[tuple[float, Floats, Floats]]:
        w = np.atleast_1d(np.asarray(self.weights, dtype=float))
        rows = [np.asarray(values, dtype=float).reshape(len(w), -1) for values in (self.means, self.scales)]
        return zip(w.tolist(), *rows, strict=True)

    def block(self, A: Samples, B: Samples) -> Floats:
        """Return k(a, b) for all pairs, shape (len A, len B)."""
        A, B = packed_pair(A, B, self._ready)
        require_same_columns(A, B)
        steps = _steps(A, B)
        out = np.zeros((len(A), len(B)))
        for w, mean, scale in self._components():
            fade, turn = _wave(steps, mean, scale)
            out += w * fade * np.cos(turn)
        return (mirror(out) if B is A else out).astype(common_dtype(A, B), copy=False)

    def _diag(self, A: Samples) -> Floats:
        """Return the sum of the weights."""
        return np.full(len(A), float(np.sum(np.asarray(self.weights, dtype=float))))

    def frequencies(self, rng: np.random.Generator, count: int, width: int) -> Floats:
        """Draw a component by its weight, then a normal frequency about plus or minus its mean."""
        w = np.atleast_1d(np.asarray(self.weights, dtype=float))
        means, scales = (np.asarray(v, dtype=float).reshape(len(w), -1) for v in (self.means, self.scales))
        picks = rng.choice(len(w), size=count, p=w / w.sum())
        signs = np.where(rng.random((count, 1)) < 0.5, -1.0, 1.0)
        return signs * means[picks] + scales[picks] * rng.normal(size=(count, width))

    def spectral_density(self, omega: Floats) -> Floats:
        """Return the mixture of normal densities at plus and minus the means."""
        total = np.zeros(len(omega))
        for w, mean, scale in self._components():
            size = 0.5 * w / (np.prod(scale) * (2.0 * math.pi) ** (0.5 * len(scale)))
            for sign in (-1.0, 1.0):
                total += size * np.exp(-0.5 * np.sum(((omega - sign * mean) / scale) ** 2, axis=1))
        return total

    def log_integral(self, width: int) -> float | None:
        """Return log of the spectral density at zero, times (2 pi)^d; None unless all means are zero.

        With another mean the kernel is a wave, which is negative somewhere.
        """
        if any(w > 0.0 and np.any(mean != 0.0) for w, mean, _ in self._components()):
            return None
        value = float(self.spectral_density(np.zeros((1, width)))[0])
        return width * math.log(2.0 * math.pi) + math.log(value) if value > 0.0 else None

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the derivatives in all weights, then in all means, then in all scales."""
        steps, W = _steps(A, B), np.asarray(W, dtype=float)
        weights, means, scales = [], [], []
        for w, mean, scale in self._components():
            fade, turn = _wave(steps, mean, scale)
            fade *= W
            even, odd = fade * np.cos(turn), fade * np.sin(turn)
            weights.append(even.sum())
            means += [-w * np.vdot(odd, t) for t in steps]
            scales += [-w * s * np.vdot(even, t * t) for t, s in zip(steps, scale, strict=True)]
        return np.array([*weights, *means, *scales], dtype=float)

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return -sum_j W_ij sum_q w_q exp(..) (s^2 t cos + mu sin)."""
        steps, W = _steps(A, B), np.asarray(W, dtype=float)
        out = np.zeros((len(A), len(steps)))
        for w, mean, scale in self._components():
            fade, turn = _wave(steps, mean, scale)
            fade *= W
            even, odd = fade * np.cos(turn), (fade * np.sin(turn)).sum(axis=1)
            for j, t in enumerate(steps):
                out[:, j] -= w * (scale[j] ** 2 * np.einsum("ij,ij->i", even, t) + mean[j] * odd)
        return out


class SpectralSamples(Tiled, Featured, Differentiated, DifferentiatedInInputs):
    r"""A kernel of finitely many frequencies: sums of waves that never fade.

    .. math:: k(x, x') = \sum_i w_i \cos\langle \omega_i, x - x' \rangle
        = \sum_i w_i \big(\cos\langle \omega_i, x \rangle \cos\langle \omega_i, x' \rangle
        + \sin\langle \omega_i, x \rangle \sin\langle \omega_i, x' \rangle\big)

    Seed: [HSS] Theorem 8, Eqs. (32)-(33), with points for the measure.

    Parameters
    ----------
    frequencies : (q, d) array or tuple of tuples
        omega_i in radians per unit.
    weights : (q,) tuple or array, optional
        w_i >= 0, not all zero; None gives each 1 / q.

    Notes
    -----
    Domain Vectors of d columns. Features: 2 q cosines and sines, exactly. Frequencies and spectral atoms are its
    parameters; differentiable in the weights, if they are given, and in the inputs. Not strict and not universal, since
    its space has dimension 2 q. Stationary, bounded, k(x, x) the sum of the weights. `draw` takes frequencies from
    another stationary kernel, which this one then approximates. Cost O(mnq) by one matrix product.

    Examples
    --------
    >>> SpectralSamples([[np.pi]])([[0.0], [1.0], [2.0]]).round(3)
    array([[ 1., -1.,  1.],
           [-1.,  1., -1.],
           [ 1., -1.,  1.]])
    """

    domain = Vectors
    formula = r"\sum_i w_i \cos\langle \omega_i, x - x' \rangle"
    cost = "O(mnq), one matrix product"
    stationary = True
    bounded = True
    spectral_support = "atoms"
    constraints = {"omega": Array(2), "weights": Optional(_WEIGHTS)}

    def __init__(self, omega: Any, weights: Any = None) -> None:
        self.omega = omega
        self.weights = weights

    @classmethod
    def draw(cls, kernel: Kernel, count: int, width: int, random_state: int = 0) -> SpectralSamples:
        """Return a kernel of frequencies drawn from another: E of it is that kernel, its deviation k(0) / sqrt(count).

        Parameters
        ----------
        kernel : Kernel
            Lists frequencies in its capabilities.
        count : int
            How many are drawn.
        width : int
            Number of columns.
        random_state : int, default 0

        Examples
        --------
        >>> from mercer.kernels import Gaussian
        >>> near = SpectralSamples.draw(Gaussian(1.0), 10_000, 1)
        >>> bool(abs(near([[0.0]], [[1.0]])[0, 0] - np.exp(-0.5)) < 0.02)
        True
        """
        omega = kernel.check().frequencies(np.random.default_rng(random_state), count, width)
        total = float(kernel.diag(Vectors.pack(np.zeros((1, width))))[0])
        return cls(omega, np.full(count, total / count))

    def check(self) -> Self:
        """Raise ParameterError unless the frequencies are a matrix, with one weight for each row."""
        super().check()
        count = len(self.omega)
        if self.weights is not None and np.shape(self.weights) != (count,):
            raise ParameterError(
                f"SpectralSamples was given {np.size(self.weights)} weights for {count} frequencies; as many are "
                "needed. Give one weight for each row, or none."
            )
        if not np.any(self._weights() > 0.0):
            raise ParameterError(
                f"SpectralSamples was given weights={self.weights!r}; at least one must be positive. Leave them out."
            )
        return self

    @derived
    def normalised(self) -> bool:
        """Whether the weights are left out, so that they add up to one."""
        return self.weights is None

    def _weights(self) -> Floats:
        q = len(np.asarray(self.omega, dtype=float))
        return np.full(q, 1.0 / q) if self.weights is None else np.asarray(self.weights, dtype=float)

    def _prepare(self, A: Samples) -> Samples:
        """Refuse samples whose number of columns differs from that of the frequencies."""
        _require_width(self, A, np.shape(self.omega)[1])
        return A

    def tile(self, view: View) -> Floats:
        """Multiply the features of both sides, measured from a point between them."""
        X, Z = (dense(side) for side in view.sides)
        center = Z[0]
        out = view.empty()
        with np.errstate(over="ignore"):
            F, G = self._waves(X - center), self._waves(Z - center)
        np.copyto(out, F @ G.T)
        return out

    def _diag(self, A: Samples) -> Floats:
        """Return the sum of the weights."""
        return np.full(len(A), float(self._weights().sum()))

    def _waves(self, X: Floats) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            turn = X @ np.asarray(self.omega, dtype=float).T
        if not np.isfinite(turn).all():  # such waves have no value
            raise overflow_error(self)
        root = np.sqrt(self._weights())
        return np.hstack([root * np.cos(turn), root * np.sin(turn)])

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the cosines, then the sines, times the roots of the weights."""
        assert isinstance(A, Vectors)
        return self._waves(dense(A)).astype(A.X.dtype, copy=False), None

    def _feature_count(self, A: Samples) -> int | None:
        """Return twice the number of frequencies."""
        return 2 * len(self._weights())

    def frequencies(self, rng: np.random.Generator, count: int, width: int) -> Floats:
        """Draw one of the frequencies by its weight, with a sign."""
        w = self._weights()
        signs = np.where(rng.random((count, 1)) < 0.5, -1.0, 1.0)
        return signs * np.asarray(self.omega, dtype=float)[rng.choice(len(w), size=count, p=w / w.sum())]

    def spectral_atoms(self, width: int) -> tuple[Floats, Floats]:
        """Return the frequencies and their negatives, with half of the weights each."""
        omega, w = np.asarray(self.omega, dtype=float), 0.5 * self._weights()
        return np.vstack([omega, -omega]), np.concatenate([w, w])

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_ij W_ij cos(omega . (a_i - b_j)) for each weight that was given."""
        if self.weights is None:
            return np.zeros(0)
        X, Z = dense(A), dense(B)
        omega = np.asarray(self.omega, dtype=float).T
        left, right = np.exp(1j * (X - Z[0]) @ omega), np.exp(-1j * (Z - Z[0]) @ omega)
        return np.einsum("iq,iq->q", left, np.asarray(W, dtype=float) @ right).real

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return -sum_j W_ij sum_q w_q sin(omega_q . (a_i - b_j)) omega_q."""
        X, Z = dense(A), dense(B)
        omega = np.asarray(self.omega, dtype=float)
        left, right = np.exp(1j * (X - Z[0]) @ omega.T), np.exp(-1j * (Z - Z[0]) @ omega.T)
        return -((left * (np.asarray(W, dtype=float) @ right)).imag * self._weights()) @ omega


class SpectralDensity(Kernel):
    r"""A kernel on the line from a density of frequencies that you give.

    .. math:: k(x, x') = 2 \int_0^\infty v(\omega) \cos(\omega (x - x')) \, d\omega

    Seed: [HSS] Theorem 8, Eqs. (32) and (65).

    Parameters
    ----------
    density : callable
        v: receives an array of frequencies omega >= 0 (radians per unit) and returns an array of the same shape, none
        negative. Frequencies of both signs count, so that k(0) is twice its integral.
    scale : float, default 1.0
        A frequency over which the density changes; a factor of a thousand is close enough. Not a free parameter.

    Notes
    -----
    Domain Vectors of one column; further columns by ``.on(column)`` and products. Integrals are taken by quadrature to
    1e-12 of k(0), once for every octave of distances, and interpolated by polynomials; distances of more than
    1e4 / scale are refused, unless the kernel has vanished before. Features no, frequencies no; no free parameters and
    no derivative. Positive definite because v is not negative; strict and universal, as trigonometric polynomials
    vanish on no set of positive measure. A model with user functions can be pickled if they can, but not saved.

    Examples
    --------
    >>> k = SpectralDensity(lambda w: np.where(w < np.pi, 1 / (2 * np.pi), 0.0))  # a band: k is sin(pi t) / (pi t)
    >>> k([[0.0], [0.5], [1.0]]).round(12)
    array([[1.        , 0.63661977, 0.        ],
           [0.63661977, 1.        , 0.63661977],
           [0.        , 0.63661977, 1.        ]])
    """

    domain = Vectors
    formula = r"2 \int_0^\infty v(\omega) \cos(\omega (x - x')) \, d\omega"
    cost = "O(mn), a polynomial per pair, after quadrature"
    stationary = True
    bounded = True
    strict = True
    universal = True
    spectral_support = "open"
    constraints = {
        "density": Satisfies(
            "a function of an array of frequencies that returns an array of the same shape",
            lambda value: callable(value) and not isinstance(value, Kernel),
            "scipy.stats.norm.pdf",
        ),
        "scale": Fixed(Positive()),
    }

    def __init__(self, density: Callable[[Floats], Any], scale: float = 1.0) -> None:
        self.density = density
        self.scale = scale

    def _prepare(self, A: Samples) -> Samples:
        """Refuse samples of more than one column."""
        _require_width(self, A, 1)
        return A

    def block(self, A: Samples, B: Samples) -> Floats:
        """Return k(a, b) for all pairs, shape (len A, len B)."""
        A, B = packed_pair(A, B, self._ready)
        require_same_columns(A, B)
        with np.errstate(over="ignore"):
            t = np.abs(_steps(A, B)[0])
        if not np.isfinite(t).all():
            raise overflow_error(self)
        out = np.empty(t.shape)
        unit = 1.0 / float(self.scale)
        place = np.maximum(np.frexp(t / unit)[1], 0)  # octave 0 is [0, unit), octave n [2^(n-1), 2^n) units
        for octave in np.unique(place):
            inside = place == octave
            out[inside] = _octave(self.density, float(self.scale), int(octave))(t[inside])
        return (mirror(out) if B is A else out).astype(common_dtype(A, B), copy=False)

    def _diag(self, A: Samples) -> Floats:
        """Return twice the integral of the density."""
        return np.full(len(A), _octave(self.density, float(self.scale), 0)(np.zeros(1))[0])

    def spectral_density(self, omega: Floats) -> Floats:
        """Return the density that was given, of both signs; there is one column."""
        return _not_negative(self.density, np.abs(omega[:, 0]))


def _require_width(kernel: Kernel, A: Samples, width: int) -> None:
    if isinstance(A, Vectors) and A.width != width:
        raise DomainError(
            f"X has {A.width} columns, but {type(kernel).__name__} has frequencies of {width}; they must be as many. "
            "Give frequencies of these columns, or select the columns by .on(columns)."
        )


def _steps(A: Samples, B: Samples) -> list[Floats]:
    """Return the differences of all pairs, one (len A, len B) array per column."""
    X, Z = dense(A), dense(B)
    with np.errstate(over="ignore"):
        return [X[:, [j]] - Z[:, j] for j in range(X.shape[1])]


def _wave(steps: list[Floats], mean: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Return exp(-sum s^2 t^2 / 2) and sum mu t for all pairs; a phase that overflows is 0, having faded."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        fade, turn = np.zeros_like(steps[0]), np.zeros_like(steps[0])
        for t, s, m in zip(steps, scale, mean, strict=True):
            fade += (s * t) ** 2
            turn += m * t
        np.copyto(turn, 0.0, where=~np.isfinite(turn))
        return np.exp(-0.5 * fade), turn


def _not_negative(density: Callable[[Floats], Any], omega: Floats) -> Floats:
    values = numbers_at(density, omega, "SpectralDensity")
    if not np.all(values >= 0.0):
        raise DomainError(
            f"The function given as density of SpectralDensity returned {values.min():.6g}, a negative number; a "
            "density is never negative. Give for example scipy.stats.norm.pdf."
        )
    return values.astype(float, copy=False)


@lru_cache(maxsize=512)
def _octave(density: Callable[[Floats], Any], scale: float, octave: int) -> Callable[[Floats], Floats]:
    """Return the kernel on one octave of distances as polynomials on panels."""
    if octave > 1 and octave >= _end(density, scale):
        return np.zeros_like
    low, high = (
        (0.0 if octave == 0 else math.ldexp(1.0, min(octave - 1, 1023)) / scale),
        2.0 ** min(octave, 1023) / scale,
    )
    if octave > math.log2(_FARTHEST):
        raise DomainError(
            f"A distance of {low:.3g} or more was compared by SpectralDensity, whose density changes over {scale:.3g}; "
            f"distances up to {_FARTHEST / scale:.3g} are accepted. Scale the data, or use a kernel with a formula."
        )

    def value(t: Floats) -> Floats:
        return 2.0 * math.pi * radial_transform(lambda w: _not_negative(density, w), t, scale=scale).values

    largest = float(value(np.zeros(1))[0])
    if not math.isfinite(largest):
        raise DomainError(
            "The density of SpectralDensity has no finite integral; a kernel needs one, since it is k(0). Give "
            "one that falls faster than 1 / omega."
        )
    panels = resolve(lambda t: value(low + t), high - low, high - low, 1e-12, 32 * 2**octave, largest)
    return panels.interpolant(lambda t: value(low + t), low)


@lru_cache(maxsize=64)
def _end(density: Callable[[Floats], Any], scale: float) -> float:
    """Return the octave from which on the kernel is lost in rounding; infinite if that is beyond what is accepted."""
    for octave in range(2, math.floor(math.log2(_FARTHEST)) + 2):
        places = np.append(2.0 ** np.array([octave - 2.0, octave - 1.5, octave - 1.0]) / scale, 0.0)
        values = np.abs(radial_transform(lambda w: _not_negative(density, w), places, scale=scale).values)
        if values[:3].max() <= 1e-15 * values[3]:
            return octave
    return math.inf
