r"""Families of infinitely many kernels: Gaussians of any widths, polynomials of any degree, found one after the other.

Symbols: theta_c = 1 / (2 sigma_c^2) the rates, one for each column or one for all, q_ij the squared differences, beta
the coefficients of the machine at the kernels found so far, s(theta) = sum_ij beta_i beta_j exp(-theta^T q_ij); p the
degree of a polynomial, c_ij the cosine between (1, x_i) and (1, x_j), s(p) = sum_ij beta_i beta_j c_ij^p.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.base import clone

from mercer.arguments import checked, require_squares
from mercer.arrays import Floats
from mercer.budget import Plan
from mercer.constraints import Integer, Interval, OneOf, is_real
from mercer.domains import Vectors
from mercer.errors import CapabilityError, ParameterError
from mercer.estimators.mixtures.multiple_kernel import MultipleKernelMachine
from mercer.kernels import Gaussian, Kernel, Polynomial
from mercer.runtime.tiling import serial_blas

__all__ = ["InfiniteFamily", "infinite_family"]
__public__ = __all__

_STEPS = 4  # on a difference of convex functions, from one start
_FLAT = 1e-6  # relative change of the value that ends them
_LEAST = 1e-100  # length scale, whose square is still a number
_HIGHEST = 1000  # degree
_GRID = 64  # values of one rate that are looked at
_FINISHED = 2  # starts that are followed to the end


@dataclass(frozen=True, eq=False)
class InfiniteFamily:
    """Kernels found in an infinite family, and how much more it might hold.

    Attributes
    ----------
    model : MultipleKernelClassifier, MultipleKernelRegressor or MultipleKernelDetector
        Fitted, with the kernels that were found.
    kernels : list of Kernel
    gain : float
        Upper bound on how much a further kernel of the family can lower the objective, relative to it: the best one
        found by the search is taken as the best there is (all degrees are looked at, so that of polynomials it is).
    gains : (k,) array
        This bound before each kernel was added.
    """

    model: Any
    kernels: list[Kernel]
    gain: float
    gains: Floats


@checked(
    family=OneOf("gaussian", "ard", "polynomial"), max_kernels=Integer(1), restarts=Integer(1), random_state=Integer(0),
    tol=Interval(0.0, 1.0, closed="neither"),
)  # fmt: skip
def infinite_family(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    bounds: tuple[float, float],
    family: str = "gaussian",
    tol: float = 1e-3,
    max_kernels: int = 30,
    restarts: int = 5,
    random_state: int = 0,
) -> InfiniteFamily:
    r"""Learn with all Gaussian kernels of length scales in an interval, or all polynomials: the best are found.

    .. math:: \max_\theta \; s(\theta) = \sum_{ij} \beta_i \beta_j \, e^{-\theta^\top q_{ij}}
              = \sum_{\beta_i \beta_j > 0} - \sum_{\beta_i \beta_j < 0}, \qquad \theta_c = 1 / (2 \sigma_c^2)

    After each fit the kernel of the family with the largest :math:`\beta^\top K_\theta \beta` is added, as long as that
    is larger than those of the kernels there are. The value is a difference of two convex functions of theta: from each
    start the first is replaced by its tangent and the concave rest maximised, some times; the best of them are followed
    to the maximum by quasi-Newton steps. Of polynomials, :math:`k_p = \bigl( (1 + \langle x, x' \rangle) / \sqrt{(1 +
    \|x\|^2) (1 + \|x'\|^2)} \bigr)^p`, every degree is looked at.

    Seed: [STS] Section 7, infinitely many kernels by DC programming (Argyriou, Hauser, Micchelli and Pontil, 2006).

    Parameters
    ----------
    estimator : MultipleKernelClassifier, MultipleKernelRegressor or MultipleKernelDetector
        With ``mixture=Simplex()`` (None) and without normalisation. It is not changed, and its kernels are not read.
    X : (n, d) array
    y : array, optional
        Targets.
    bounds : (low, high)
        Interval of the length scales, positive, or of the degrees, from 1 on.
    family : {"gaussian", "ard", "polynomial"}, default "gaussian"
        Gaussian kernels with one length scale, or with one for each column, or normalised polynomials by their degree.
    tol : float, default 1e-3
        The search ends when no kernel found can lower the objective by more than this share of it.
    max_kernels : int, default 30
        The most kernels to add.
    restarts : int, default 5
        Starts of a search over several length scales: some of equal scales, the kernels there are, and as many random
        ones. One length scale is looked at on a grid.
    random_state : int, default 0

    Returns
    -------
    InfiniteFamily

    Notes
    -----
    The problem is not convex in theta; ``gain`` is a bound as far as the search found its maximum. Cost O(n^2 d) for a
    step, memory 8 n^2 bytes, or 8 n^2 d with ``family="ard"``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MultipleKernelClassifier, infinite_family
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> found = infinite_family(MultipleKernelClassifier(), X, np.sin(3.0 * X[:, 0]) > 0, bounds=(0.1, 10.0))
    >>> bool(found.gain <= 1e-3), len(found.kernels) >= 1
    (True, True)
    """
    _require(estimator, bounds, family)
    packed = Vectors.pack(X).with_dtype(np.float64).X
    X = packed if isinstance(packed, np.ndarray) else packed.toarray()
    require_squares(X, "X")
    search: Any = _Degrees(X, bounds, estimator.memory)
    if family != "polynomial":
        search = _Widths(X, bounds, family == "ard", restarts, np.random.default_rng(random_state), estimator.memory)
    kernels = [search.first()]
    gains: list[float] = []
    while True:
        model: Any = clone(estimator)
        model = model.set_params(kernels=list(kernels)).fit(X, y)
        found, best = search.best(_coefficients(model, len(X)), kernels)
        mean = float(model.weights_ @ model.squares_)
        gains.append(max(0.0, 0.5 * (best - mean)) / max(abs(model.objective_), np.finfo(float).tiny))
        if gains[-1] <= tol or len(kernels) > max_kernels or found in kernels:
            return InfiniteFamily(model, kernels, gains[-1], np.array(gains))
        # kernels that have lost their weight make room
        kernels = [k for k, d in zip(kernels, model.weights_, strict=True) if d > 0.0] + [found]


def _require(estimator: Any, bounds: Any, family: str) -> None:
    plain = isinstance(estimator, MultipleKernelMachine) and estimator.normalization is None
    if not plain or (estimator.mixture is not None and type(estimator.mixture).__name__ != "Simplex"):
        raise CapabilityError(
            f"infinite_family was given {estimator!r}; a MultipleKernelClassifier, Regressor or Detector with "
            "mixture=Simplex() and normalization=None is accepted. Give one of these."
        )
    pair = isinstance(bounds, (tuple, list)) and len(bounds) == 2 and all(map(is_real, bounds))
    if family == "polynomial":
        if not pair or not 1 <= bounds[0] <= bounds[1] <= _HIGHEST or any(end != int(end) for end in bounds):
            raise ParameterError(
                f"bounds={bounds!r} were given; a pair (low, high) of whole degrees from 1 to {_HIGHEST} is accepted. "
                "Give for example bounds=(1, 20)."
            )
    elif not pair or not _LEAST < bounds[0] < bounds[1] < 1.0 / _LEAST:
        raise ParameterError(
            f"bounds={bounds!r} were given; a pair (low, high) with 0 < low < high is accepted, each from {_LEAST:g} "
            f"to {1.0 / _LEAST:g}. Give length scales, for example bounds=(0.1, 10.0)."
        )


def _coefficients(model: Any, n: int) -> Floats:
    """Return the coefficients of all samples, a column for each function."""
    beta = np.zeros((n, model.dual_coef_.shape[0]))
    beta[model.support_] = model.dual_coef_.T
    return beta


class _Degrees:
    """The search for the degree with the largest value: all of them."""

    def __init__(self, X: Floats, bounds: tuple[float, float], memory: Any) -> None:
        self.X, self.bounds, self.memory = X, (int(bounds[0]), int(bounds[1])), memory

    def first(self) -> Kernel:
        """Return the kernel of the lowest degree."""
        return Polynomial(self.bounds[0]).normalized()

    def best(self, beta: Floats, kernels: list[Kernel]) -> tuple[Kernel, float]:
        """Return the kernel with the largest value, and the value."""
        used = np.flatnonzero(beta.any(axis=1))
        Plan(f"cosines of {len(used)} samples", {"cosines and their powers": 24 * len(used) ** 2}).require(self.memory)
        low, high = self.bounds
        A, products = self.X[used], beta[used] @ beta[used].T
        roots = np.sqrt(1.0 + np.einsum("ij,ij->i", A, A))
        with serial_blas():
            cosines = (1.0 + A @ A.T) / np.outer(roots, roots)
            powers = products * cosines**low
            values = [float(powers.sum())]
            for _ in range(low, high):
                powers *= cosines
                values.append(float(powers.sum()))
        place = int(np.argmax(values))
        return Polynomial(low + place).normalized(), values[place]


class _Widths:
    """The search for the length scales with the largest value."""

    def __init__(
        self, X: Floats, bounds: tuple[float, float], ard: bool, restarts: int, rng: np.random.Generator, memory: Any
    ) -> None:
        n, d = X.shape
        self.width = d if ard else 1
        Plan(f"squared differences of {n} samples", {"differences": 8 * self.width * n * n}).require(memory)
        each = [(X[:, [c]] - X[:, c]) ** 2 for c in range(d)]
        self.q = np.array(each) if ard else np.sum(each, axis=0)[None]
        self.box = 0.5 / bounds[1] ** 2, 0.5 / bounds[0] ** 2
        self.restarts, self.rng = restarts, rng

    def first(self) -> Kernel:
        """Return the kernel in the middle."""
        return self.kernel(np.full(self.width, np.sqrt(self.box[0] * self.box[1])))

    def kernel(self, theta: Floats) -> Gaussian:
        """Return the kernel with these rates."""
        scales = 1.0 / np.sqrt(2.0 * theta)
        return Gaussian(float(scales[0]) if self.width == 1 else tuple(scales.tolist()))

    def best(self, beta: Floats, kernels: list[Gaussian]) -> tuple[Gaussian, float]:
        """Return the kernel with the largest value that is found, and the value."""
        used = np.flatnonzero(beta.any(axis=1))
        q, products = self.q[:, used][:, :, used], beta[used] @ beta[used].T
        low, high = self.box
        known = [np.broadcast_to(0.5 / np.asarray(kernel.length_scale) ** 2, (self.width,)) for kernel in kernels]
        if self.width == 1:
            theta, value = self._scanned(q, products)
            return self.kernel(theta), value
        spread = np.geomspace(low, high, max(3, self.restarts))
        starts = [*known, *(np.full(self.width, rate) for rate in spread)]
        draws = self.rng.uniform(np.log(low), np.log(high), size=(self.restarts, self.width))
        starts += list(np.exp(draws))
        with serial_blas():
            climbed = [_climbed(np.clip(start, low, high), q, products, self.box) for start in starts]
            climbed.sort(key=lambda found: -found[1])
            ended = [_ended(theta, q, products, self.box) for theta, _ in climbed[:_FINISHED]]
        theta, value = max([*climbed, *ended], key=lambda found: found[1])
        return self.kernel(theta), value

    def _scanned(self, q: Floats, products: Floats) -> tuple[Floats, float]:
        """Return the best of one rate: all of its maxima on a grid are followed."""
        grid = np.geomspace(*self.box, _GRID)
        with serial_blas():
            values = np.array([float(np.sum(products * np.exp(-rate * q[0]))) for rate in grid])
            padded = np.concatenate([[-np.inf], values, [-np.inf]])
            peaks = np.flatnonzero((values >= padded[:-2]) & (values >= padded[2:]))
            found = [_climbed(grid[[peak]], q, products, self.box) for peak in peaks]
            found += [_ended(theta, q, products, self.box) for theta, _ in found]
        return max(found, key=lambda one: one[1])


def _parts(theta: Floats, q: Floats, products: Floats) -> tuple[float, Floats, float, Floats]:
    """Return the positive and the negative part of the value at theta, and their slopes."""
    E = np.exp(-np.tensordot(theta, q, axes=1))
    positive, negative = np.where(products > 0.0, products, 0.0) * E, np.where(products < 0.0, -products, 0.0) * E
    slopes = [-np.tensordot(q, part, axes=((1, 2), (0, 1))) for part in (positive, negative)]
    return float(positive.sum()), slopes[0], float(negative.sum()), slopes[1]


def _climbed(theta: Floats, q: Floats, products: Floats, box: tuple[float, float]) -> tuple[Floats, float]:
    """Return where some steps on a difference of convex functions lead, and the value there; it only grows."""
    P, slope, N, _ = _parts(theta, q, products)
    value = P - N
    for _ in range(_STEPS):
        tangent = slope

        def concave(log: Floats, tangent: Floats = tangent) -> tuple[float, Floats]:
            at = np.exp(log)
            _, _, rest, down = _parts(at, q, products)
            return rest - float(tangent @ at), (down - tangent) * at

        at = _minimized(concave, theta, box)
        P, slope, N, _ = _parts(at, q, products)
        if not value * (1.0 + _FLAT) < P - N:
            break
        theta, value = at, P - N
    return theta, value


def _ended(theta: Floats, q: Floats, products: Floats, box: tuple[float, float]) -> tuple[Floats, float]:
    """Return the maximum near a point, where the steps would be many."""

    def value(log: Floats) -> tuple[float, Floats]:
        at = np.exp(log)
        P, up, N, down = _parts(at, q, products)
        return N - P, (down - up) * at

    at = _minimized(value, theta, box)
    P, _, N, _ = _parts(at, q, products)
    return at, P - N


def _minimized(function: Any, theta: Floats, box: tuple[float, float]) -> Floats:
    """Return the minimum of a function of the logarithms of the rates."""
    ends = [(float(np.log(box[0])), float(np.log(box[1])))] * len(theta)
    found: Any = minimize(function, np.log(theta), jac=True, method="L-BFGS-B", bounds=ends, options={"maxiter": 30})
    return np.clip(np.exp(found.x), *box)
