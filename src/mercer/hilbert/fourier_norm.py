r"""The norm of the Hilbert space in the Fourier domain: which frequencies a stationary kernel penalises.

Symbols: v the spectral density, F[f](omega) = (2 pi)^(-d/2) integral of f(x) exp(-i omega . x) dx the transform of
Eq. (66) of [HSS], c_i and x_i the coefficients and samples of an expansion, t_ij = x_i - x_j, D^n the n-th derivative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arguments import Callback, checked, real_array
from mercer.arrays import Floats
from mercer.constraints import AnyOf, InstanceOf, Integer, Optional
from mercer.domains import Vectors
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.gram.expansion import Expansion
from mercer.hilbert.bochner import SpectralMeasure, spectral_measure
from mercer.hilbert.spectral_pieces import Piece
from mercer.kernels.composite import Scaled
from mercer.kernels.kernel import Kernel
from mercer.kernels.vectors.pointwise import Gaussian, dense
from mercer.kernels.vectors.radial import Matern
from mercer.numerics.hankel import Panels, radial_transform, resolve

__all__ = ["FourierNorm", "derivative_penalties", "fourier_norm", "fourier_transform", "regularized"]
__public__ = __all__

_DRAWS = 100_000
_FAR = 4096.0  # scales of frequency up to which a density with a slow, wavy tail is summed
_FAR_NUMERIC = 256.0  # the same for densities that are found by quadrature themselves
_SEEN = 64.0  # scales of frequency up to which a transform is evaluated
_LOST = 1e-13  # of the largest value of a transform
_BLOCK = 4_000_000


@dataclass(frozen=True)
class FourierNorm:
    """A squared norm, how far it may be off, and how it was found.

    Attributes
    ----------
    squared : float
        The norm squared; infinite for a function that is not in the space.
    error : float
        Absolute: by halving steps and bounding tails, or one standard deviation of a mean over draws.
    method : str
        "quadrature", "atoms" or "sampling"; several are joined by a plus sign.
    """

    squared: float
    error: float
    method: str

    @property
    def norm(self) -> float:
        """The norm."""
        return math.sqrt(max(self.squared, 0.0))


@checked(
    f=AnyOf(InstanceOf(Expansion), Callback()),
    kernel=Optional(InstanceOf(Kernel)),
    draws=Integer(1),
    random_state=Integer(0),
)
def fourier_norm(
    f: Expansion | Callable[[Floats], Any], kernel: Kernel | None = None, *, draws: int = _DRAWS, random_state: int = 0
) -> FourierNorm:
    r"""Return the squared norm of a function, computed from frequencies instead of the Gram matrix.

    .. math:: \|f\|_k^2 = (2 \pi)^{-d} \int \frac{|F[f](\omega)|^2}{v(\omega)} \, d\omega
        = \int \Big|\sum_i c_i e^{-i \langle \omega, x_i \rangle}\Big|^2 d\mu(\omega)

    Seed: [HSS] Eqs. (61)-(72), and (33) for the second form, which holds for expansions.

    Parameters
    ----------
    f : Expansion, or callable
        A kernel expansion without intercept and of one output; or the Fourier transform of a function on the line,
        which takes frequencies (m,) and returns numbers, complex or real, (m,).
    kernel : Kernel, optional
        Stationary. Needed for a transform; an expansion brings its own.
    draws : int, default 100000
        Frequencies drawn where there is no quadrature.
    random_state : int, default 0

    Returns
    -------
    result : FourierNorm

    Notes
    -----
    For expansions: atoms exactly; a density on a line, or one of the distance in any number of columns, by quadrature;
    other densities by a mean over draws from the measure. The result equals c' K c.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Expansion
    >>> from mercer.hilbert import fourier_norm
    >>> from mercer.kernels import Gaussian
    >>> f = Expansion(Gaussian(1.0), Vectors.pack([[0.0], [1.0]]), np.array([1.0, -1.0]), np.array(0.0))
    >>> bool(np.isclose(fourier_norm(f).squared, 2.0 - 2.0 * np.exp(-0.5), rtol=1e-12))
    True
    >>> bell = lambda w: np.exp(-0.5 * w * w)  # of the function exp(-x^2 / 2), which is k(., 0)
    >>> round(fourier_norm(bell, Gaussian(1.0)).squared, 12)
    1.0
    """
    if isinstance(f, Expansion):
        return _of_expansion(f, draws, random_state)
    if not callable(f) or kernel is None:
        raise ParameterError(
            f"{type(f).__name__} was given, with kernel={kernel!r}; an Expansion, or a function of frequencies "
            "together with a kernel, is accepted. Give for example fourier_transform(x, values) and Gaussian(1.0)."
        )
    return _of_transform(f, spectral_measure(kernel, 1))


# --------------------------------------------------------------------------------------------------- expansions


def _of_expansion(f: Expansion, draws: int, random_state: int) -> FourierNorm:
    X, c = _points_of(f)
    measure = spectral_measure(f.kernel, X.shape[1])
    rng = np.random.default_rng(random_state)
    parts = [_of_piece(piece, X, c, rng, draws) for piece in measure.pieces]
    methods = dict.fromkeys(part.method for part in parts)
    return FourierNorm(
        math.fsum(part.squared for part in parts), math.fsum(part.error for part in parts), " + ".join(methods)
    )


def _points_of(f: Expansion) -> tuple[Floats, Floats]:
    if not isinstance(f.samples, Vectors) or np.ndim(f.coef) != 1 or f.diagonal or np.any(f.intercept):
        raise CapabilityError(
            "An expansion on other samples than vectors, of several outputs, or with an intercept or a multiple of "
            "k(x, x) was given; its norm in the Fourier domain is that of one function of the space. Use f.column(0) "
            "and f.without_intercept()."
        )
    return dense(f.samples), np.asarray(f.coef, dtype=float)


def _of_piece(piece: Piece, X: Floats, c: Floats, rng: np.random.Generator, draws: int) -> FourierNorm:
    """Integrate |sum_i c_i exp(-i omega . x_i)|^2 over one piece of the measure."""
    if not piece.columns:
        value = float(piece.masses @ _power(piece.points, X, c))
        return FourierNorm(value, 1e-14 * abs(value), "atoms")
    inside = X[:, list(piece.columns)]
    if piece.density is not None and len(piece.columns) == 1:
        if piece.error:  # a density by quadrature: one integral inside another would take long
            return _direct(piece, X, c)
        found = _pairwise(piece, X, c)
        return found if found.error <= 1e-10 * abs(found.squared) else min(found, _direct(piece, X, c), key=_doubt)
    if piece.density is not None and piece.lengths is not None and inside.shape[1] == len(piece.lengths):
        return _pairwise(piece, X, c)
    omega = piece.sample(rng, draws)
    values = piece.mass * _power(omega, X, c)
    return FourierNorm(float(values.mean()), float(values.std() / math.sqrt(draws)), "sampling")


def _doubt(found: FourierNorm) -> float:
    return found.error


def _power(omega: Floats, X: Floats, c: Floats) -> Floats:
    """Return |sum_i c_i exp(-i omega . x_i)|^2 at frequencies (m, d)."""
    step = max(1, _BLOCK // max(1, len(X)))
    parts = []
    for i in range(0, len(omega), step):
        turn = omega[i : i + step] @ X.T
        parts.append((np.cos(turn) @ c) ** 2 + (np.sin(turn) @ c) ** 2)
    return np.concatenate(parts) if parts else np.empty(0)


def _pairwise(piece: Piece, X: Floats, c: Floats) -> FourierNorm:
    """Sum over pairs of points, c_i c_j times the integral of v(omega) cos(omega . t_ij): tails are extrapolated."""
    assert piece.density is not None and piece.lengths is not None
    d, density, unit = len(piece.columns), piece.density, float(np.max(piece.scale * piece.lengths))
    i, j = np.triu_indices(len(X))
    t = X[i] - X[j]
    r = np.sqrt(np.sum((t[:, list(piece.columns)] / piece.lengths) ** 2, axis=1))
    distances, place = np.unique(r, return_inverse=True)

    def radial(w: Floats) -> Floats:
        along = np.zeros((len(w), d))
        along[:, 0] = w / piece.lengths[0]  # pyright: ignore[reportOptionalSubscript]
        return density(along) / np.prod(piece.lengths)  # pyright: ignore[reportCallIssue, reportArgumentType]

    found = radial_transform(radial, distances, d, scale=unit)
    factor = (2.0 * math.pi) ** d
    waves = np.cos(t @ piece.points.T) @ piece.masses
    weights = np.where(i == j, 1.0, 2.0) * c[i] * c[j] * waves
    error = factor * found.error * float(np.abs(weights).sum())
    return FourierNorm(float(factor * np.sum(weights * found.values[place])), error, "quadrature")


def _direct(piece: Piece, X: Floats, c: Floats) -> FourierNorm:
    """Integrate v(omega) times the power of the expansion on a line, as far as it matters."""
    assert piece.density is not None
    column, density, scale = piece.columns[0], piece.density, float(piece.scale[0])
    panels = resolve(lambda w: density(w[:, None]), scale)
    if not panels.vanishes:
        far = (_FAR_NUMERIC if piece.error else _FAR) * scale
        panels = Panels(np.append(panels.edges, np.arange(1, 65) * (far / 64.0) + panels.edges[-1]), False)
    # a factor of two in the power of waves: products of two of them turn twice as fast
    longest = 3.0 / max(float(np.ptp(X[:, column])), 1e-300)
    if not panels.vanishes:
        longest = min(longest, 3.0 * scale)
    w, weights = panels.nodes(longest)
    v = weights * density(w[:, None])
    total = 0.0
    for point, mass in zip(piece.points, piece.masses, strict=True):
        for sign in (-1.0, 1.0):
            omega = np.tile(point, (len(w), 1))
            omega[:, column] += sign * w
            total += mass * float(v @ _power(omega, X, c))
    rest = 0.0
    if not panels.vanishes:  # at most as much mass as is missing, times the largest power
        rest = abs(float(piece.transform(np.zeros((1, 1)))[0]) - 2.0 * float(v.sum())) * float(np.abs(c).sum()) ** 2
    return FourierNorm(total, rest + 1e-13 * abs(total), "quadrature")


# -------------------------------------------------------------------------------------------------- transforms


def _of_transform(transform: Callable[[Floats], Any], measure: SpectralMeasure) -> FourierNorm:
    """Integrate |F|^2 / (2 pi v) over the line; infinite where v vanishes and F does not, or if it does not end."""
    if not measure.is_absolutely_continuous:
        raise CapabilityError(
            f"{measure.kernel!r} has frequencies of positive mass, and its functions no transform; a kernel with a "
            "density is needed. Use one that fades, for example Gaussian."
        )
    scale = float(measure.scale[0])

    def power(w: Floats) -> Floats:
        return np.array([np.abs(np.asarray(transform(sign * w))) ** 2 for sign in (-1.0, 1.0)])

    grid = np.linspace(0.0, _SEEN * scale, 2049)
    known = power(grid).max(axis=0)
    floor = _LOST**2 * float(known.max())  # below, a transform is rounding, which 1 / v would amplify

    def integrand(w: Floats) -> Floats:
        found, v = power(w), np.array([measure.density(sign * w[:, None]) for sign in (-1.0, 1.0)])
        found[found <= floor] = 0.0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(found > 0.0, found / np.maximum(v, 0.0), 0.0).sum(axis=0) / (2.0 * math.pi)

    last = int(np.flatnonzero(known > floor)[-1]) if floor > 0.0 else 0
    ended = last < len(grid) - 1
    floor = floor if ended else 0.0  # what falls like a power counts to the end
    values = integrand(grid[: last + 1])
    if not np.isfinite(values).all() or (ended and values[-1] > 1e-3 * values.max()):
        return FourierNorm(math.inf, 0.0, "quadrature")  # it still grows where the transform is lost in rounding
    end = float(grid[last + 1]) if ended else math.inf
    panels = resolve(integrand, scale, end, 1e-12, 128)
    w, weights = panels.nodes()
    value = float(weights @ integrand(w))
    fine, halves = panels.nodes(float(np.diff(panels.edges).max()) / 2.0)
    error = abs(float(halves @ integrand(fine)) - value)
    if panels.vanishes:
        return FourierNorm(value, error, "quadrature")
    return _with_tail(integrand, panels, value, error)


def _with_tail(integrand: Callable[[Floats], Floats], panels: Panels, value: float, error: float) -> FourierNorm:
    """Continue by octaves until they are lost in rounding; a norm that keeps growing is infinite."""
    end, before = float(panels.edges[-1]), math.inf
    for _ in range(40):
        w, weights = Panels(np.linspace(end, 2.0 * end, 65), False).nodes()
        part = float(weights @ integrand(w))
        value, end = value + part, 2.0 * end
        if part <= 1e-15 * value:
            return FourierNorm(value, error + part, "quadrature")
        if part > 0.9 * before:
            return FourierNorm(math.inf, 0.0, "quadrature")
        before = part
    return FourierNorm(value, error + before, "quadrature")


def fourier_transform(x: Any, values: Any) -> Callable[[Floats], Any]:
    r"""Return the Fourier transform of a function that is known at equally spaced places.

    .. math:: F[f](\omega) = (2 \pi)^{-1/2} \int f(x) \, e^{-i \omega x} dx

    Seed: [HSS] Eq. (66).

    Parameters
    ----------
    x : (q,) array
        Equally spaced, ascending, wide enough for the function to vanish on both sides.
    values : (q,) array

    Returns
    -------
    transform : callable
        Frequencies (m,) -> complex numbers (m,); zero beyond pi over the step, which such places do not see.

    Notes
    -----
    The trapezium rule, which is exact to rounding for a smooth function that vanishes at both ends.

    Examples
    --------
    >>> from mercer.hilbert import fourier_transform
    >>> x = np.linspace(-10, 10, 401)
    >>> bool(np.allclose(fourier_transform(x, np.exp(-0.5 * x**2))(np.array([1.0])), np.exp(-0.5)))
    True
    """
    x, values = real_array(x, "x", 1), real_array(values, "values", 1)
    steps = np.diff(x)
    if x.ndim != 1 or x.shape != values.shape or len(x) < 2 or not np.allclose(steps, steps[0]) or steps[0] <= 0:
        raise ParameterError(
            f"x of shape {x.shape} and values of shape {values.shape} were given; equally spaced ascending places with "
            "one value each are accepted. Use numpy.linspace."
        )
    step = float(steps[0])
    weights = np.full(len(x), step / math.sqrt(2.0 * math.pi))
    weights[[0, -1]] *= 0.5

    def transform(omega: Floats) -> Any:
        omega = real_array(omega, "omega", 1)
        out = np.zeros(len(omega), dtype=complex)
        seen = np.abs(omega) < math.pi / step
        out[seen] = np.exp(-1j * np.outer(omega[seen], x)) @ (weights * values)
        return out

    return transform


# ---------------------------------------------------------------------------------- the regularisation operator


@checked(f=InstanceOf(Expansion))
def regularized(f: Expansion, omega: Any) -> Any:
    r"""Return the image of an expansion under the regularisation operator, in the Fourier domain.

    .. math:: (\Upsilon f)(\omega) = (2 \pi)^{-d/2} \, v(\omega)^{-1/2} \, F[f](\omega)
        = v(\omega)^{1/2} \sum_i c_i e^{-i \langle \omega, x_i \rangle}

    Seed: [HSS] Eqs. (69), (71), (72): the dot product of two images is that of the space, so that k(x, .) is a Green's
    function of the operator squared.

    Parameters
    ----------
    f : Expansion
        Without intercept, of one output, of a kernel that has a spectral density.
    omega : (m, d) array

    Returns
    -------
    image : (m,) complex array

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Expansion
    >>> from mercer.hilbert import regularized
    >>> from mercer.kernels import Gaussian
    >>> at = [Expansion(Gaussian(1.0), Vectors.pack([[x]]), np.ones(1), np.array(0.0)) for x in (0.0, 1.0)]
    >>> w = np.linspace(-10, 10, 400)[:, None]
    >>> product = np.trapezoid(regularized(at[0], w) * regularized(at[1], w).conj(), w[:, 0])
    >>> bool(np.isclose(product, np.exp(-0.5)))  # k(0, 1)
    True
    """
    X, c = _points_of(f)
    omega = real_array(omega, "omega", 2)
    if omega.shape[1] != X.shape[1]:
        raise DomainError(
            f"omega has {omega.shape[1]} columns and the samples have {X.shape[1]}; they must be as many. "
            "Give one column for each."
        )
    v = spectral_measure(f.kernel, X.shape[1]).density(omega)
    return np.sqrt(np.maximum(v, 0.0)) * (np.exp(-1j * (omega @ X.T)) @ c)


@checked(kernel=InstanceOf(Kernel), count=Integer(1))
def derivative_penalties(kernel: Kernel, count: int = 10) -> Floats:
    r"""Return how much a kernel on the line penalises each derivative.

    .. math:: \|f\|_k^2 = \sum_n a_n \int |D^n f(x)|^2 dx, \qquad
        \frac{1}{2 \pi \, v(\omega)} = \sum_n a_n \, \omega^{2n}

    Seed: [HSS] Eqs. (70)-(72) with F[D^n f](omega) = (i omega)^n F[f](omega).

    Parameters
    ----------
    kernel : Kernel
        Gaussian, or Matern with nu = p + 1/2, or a multiple of one, in one column.
    count : int, default 10
        Number of terms: a_0, ..., a_{count - 1}.

    Returns
    -------
    penalties : (count,) array
        For the Gaussian kernel l^(2n) / (n! 2^n) over l sqrt(2 pi): all derivatives count. For the Matern kernel zero
        from n = p + 2 on: its space is that of p + 1 square integrable derivatives, a Sobolev space.

    Examples
    --------
    >>> from mercer.hilbert import derivative_penalties
    >>> from mercer.kernels import Exponential
    >>> derivative_penalties(Exponential(1.0), 3)  # half of the integral of f^2 + f'^2
    array([0.5, 0.5, 0. ])
    """
    if isinstance(kernel, Scaled) and kernel.scale > 0:
        return derivative_penalties(kernel.kernel, count) / float(kernel.scale)
    n = np.arange(count)
    if isinstance(kernel, Gaussian) and np.size(kernel.length_scale) == 1:
        length = float(np.asarray(kernel.length_scale).item())
        logs = 2.0 * n * math.log(length) - n * math.log(2.0) - np.array([math.lgamma(i + 1.0) for i in n])
        return np.exp(logs) / (length * math.sqrt(2.0 * math.pi))
    if isinstance(kernel, Matern) and np.size(kernel.length_scale) == 1 and (float(kernel.nu) - 0.5).is_integer():
        length, nu = float(np.asarray(kernel.length_scale).item()), float(kernel.nu)
        power = round(nu + 0.5)
        start = 1.0 / (2.0 * math.pi * float(kernel.spectral_density(np.zeros((1, 1)))[0]))
        return start * np.array([math.comb(power, i) * (length**2 / (2.0 * nu)) ** i for i in n])
    raise CapabilityError(
        f"{kernel!r} was given; one over the spectral density of a Gaussian kernel, or of a Matern kernel with "
        "nu = 1/2, 3/2, ..., is a power series in the squared frequency. Use one of them, in one column."
    )
