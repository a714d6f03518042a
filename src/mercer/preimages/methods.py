r"""Pre-images: points whose images in feature space are near to given elements of it.

Symbols: x_i samples; P = sum_i c_i Phi(x_i) an element; z the point looked for; f(z) = sum_i c_i k(x_i, z) the value
of the element there, so that |Phi(z) - P|^2 = k(z, z) - 2 f(z) + |P|^2; h = -|z - x|^2 / 2 in the kernel's scale.

Many elements that share their samples are given at once: element p has coefficients c = A b_p, with A (s, L).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from mercer.arguments import checked, real_array
from mercer.arrays import Floats
from mercer.budget import UNLIMITED, Resources
from mercer.constraints import InstanceOf, Integer, Optional, Positive
from mercer.domains import Samples, Vectors
from mercer.domains.samples import kind_of
from mercer.errors import CapabilityError, DomainError
from mercer.gram import Dense, Expansion
from mercer.gram.gram import Cross
from mercer.hilbert.reduced_points import Moving
from mercer.kernels import Gaussian, Kernel, Linear
from mercer.kernels.kernel import offers
from mercer.kernels.protocols import InputDifferentiable
from mercer.kernels.vectors.pointwise import OneBase, Radial, dense
from mercer.problems import LinearSystem
from mercer.runtime.tiling import spans
from mercer.solvers import Cholesky
from mercer.spec import Spec

__all__ = ["DistanceScaling", "FixedPoint", "Found", "Gradient", "Images", "Preimage", "RidgeMap", "preimage"]
__public__ = ["DistanceScaling", "FixedPoint", "Gradient", "RidgeMap", "preimage"]

_ENTRIES = 2**21  # kernel values at a time
_HALVINGS = 12  # of a step that does not come nearer
_POINTS = 32  # that are moved together by their derivatives
_BISECTIONS = 60


@dataclass(frozen=True, eq=False)
class Images:
    """Elements of feature space over the same samples.

    Attributes
    ----------
    kernel : Kernel
    samples : Samples
        Prepared.
    coef : (s, L) array
        A.
    weights : (m, L) array
        b_p in rows.
    known : (s, L) array, optional
        K A, where it is known already.
    """

    kernel: Kernel
    samples: Samples
    coef: Floats
    weights: Floats
    known: Floats | None = None

    def __len__(self) -> int:
        return len(self.weights)

    def take(self, rows: Any) -> Images:
        """Return some of the elements."""
        return replace(self, weights=self.weights[rows])

    def at_samples(self, resources: Resources = UNLIMITED) -> Floats:
        """Return K A, (s, L): with weights they give the values of all elements at all samples."""
        if self.known is not None:
            return self.known
        return np.asarray(Cross(self.kernel, self.samples, self.samples, resources) @ self.coef)


@dataclass(frozen=True, eq=False)
class Found:
    """Pre-images, as far as they were found.

    Attributes
    ----------
    points : (m, d) array
    iterations : int
        Steps that were taken at most.
    unfinished : int
        Points that were still moving.
    """

    points: Floats
    iterations: int = 1
    unfinished: int = 0


class Preimage(Spec, ABC):
    """How pre-images are found."""

    @abstractmethod
    def solve(self, images: Images, start: Floats | None = None, resources: Resources = UNLIMITED) -> Found:
        """Return points near to elements, from starting points (m, d) or from the nearest samples."""


class FixedPoint(Preimage):
    r"""Pre-images by the fixed-point iteration of kernels of the distance: a mean of samples with new weights.

    .. math:: z \leftarrow \frac{\sum_i c_i \, k'(h_i) \, x_i}{\sum_i c_i \, k'(h_i)}

    Seed: [HSS] Section 3.3.1 (denoising, Mika et al. 1999).

    Parameters
    ----------
    max_iter : int, default 200
    tol : float, default 1e-6
        Tolerance of steps, in length scales.

    Notes
    -----
    The step goes along the derivative of f. One that does not come nearer is halved, and where the denominator is
    negative, for which the iteration as published leaves the data, its sign is turned: the distance never grows.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> f = Expansion(Gaussian(1.0), Vectors.pack([[0.0], [1.0]]), np.array([0.5, 0.5]), np.array(0.0))
    >>> preimage(f, FixedPoint(), start=[[0.2]]).round(3)  # the middle of two that are near
    array([[0.5]])
    """

    constraints = {"max_iter": Integer(1), "tol": Positive()}

    def __init__(self, max_iter: int = 200, tol: float = 1e-6) -> None:
        self.max_iter = max_iter
        self.tol = tol

    def solve(self, images: Images, start: Floats | None = None, resources: Resources = UNLIMITED) -> Found:
        """Iterate all points side by side."""
        profile = _Profile.of(images, self)
        at = images.at_samples(resources)
        points, most, unfinished = np.empty((len(images), profile.width)), 0, 0
        for rows in spans(len(images), max(1, _ENTRIES // max(len(images.samples), 1))):
            part = images.take(rows)
            Z = profile.start(part, at, None if start is None else start[rows])
            C = part.weights @ part.coef.T
            steps, left = self._iterate(profile, C, Z)
            points[rows], most, unfinished = profile.back(Z), max(most, steps), unfinished + left
        return Found(points, most, unfinished)

    def _iterate(self, profile: _Profile, C: Floats, Z: Floats) -> tuple[int, int]:
        """Move scaled points in place; how many steps there were, and how many points have not settled."""
        active = np.arange(len(Z))
        value, step = profile.step(C, Z)
        for iteration in range(1, self.max_iter + 1):
            share = np.ones(len(active))
            new = Z[active] + step
            after, following = profile.step(C[active], new)
            for _ in range(_HALVINGS):
                worse = np.flatnonzero(~(after >= value))
                if not len(worse):
                    break
                share[worse] *= 0.5
                new[worse] = Z[active[worse]] + share[worse, None] * step[worse]
                after[worse], following[worse] = profile.step(C[active[worse]], new[worse])
            better = after >= value
            Z[active[better]] = new[better]
            moved = share * np.linalg.norm(step, axis=1) * profile.inverse
            going = better & (moved > self.tol)
            active, value, step = active[going], after[going], following[going]
            if not len(active):
                return iteration, 0
        return self.max_iter, len(active)


class _Profile:
    """A kernel of the distance between points and samples, in coordinates where it is one of their plain distance."""

    def __init__(self, kernel: Any, samples: Vectors) -> None:
        base, length = kernel.base()
        self.kernel, self.inverse = kernel, 1.0 / length
        self.scale = 1.0 if base.scale is None else np.asarray(base.scale)
        X = dense(samples)
        self.width, self.centre = X.shape[1], X.mean(axis=0)
        self.X = (X - self.centre) / self.scale
        self.half = 0.5 * np.einsum("ij,ij->i", self.X, self.X)

    @classmethod
    def of(cls, images: Images, method: Any) -> _Profile:
        """Return the profile, if the kernel is one."""
        if not is_profile(images.kernel) or not isinstance(images.samples, Vectors):
            raise CapabilityError(
                f"{type(method).__name__} was given {images.kernel!r:.200}; it needs a kernel that is a function of "
                "the distance, as Gaussian or Matern. Use preimage=Gradient() or RidgeMap()."
            )
        return cls(images.kernel, images.samples)

    def scaled(self, points: Floats) -> Floats:
        return (np.asarray(points, dtype=float) - self.centre) / self.scale

    def back(self, Z: Floats) -> Floats:
        return Z * self.scale + self.centre

    def _h(self, Z: Floats) -> Floats:
        h = Z @ self.X.T
        h -= 0.5 * np.einsum("ij,ij->i", Z, Z)[:, None]
        h -= self.half
        return np.minimum(h, 0.0, out=h)

    def value(self, C: Floats, Z: Floats) -> Floats:
        """Return f at one point for each element."""
        K = self._h(Z)
        self.kernel.profile(K, self.inverse)
        return np.einsum("ij,ij->i", C, K)

    def step(self, C: Floats, Z: Floats) -> tuple[Floats, Floats]:
        """Return f at one point for each element, and the step of the iteration."""
        h = self._h(Z)
        K = h.copy()
        self.kernel.profile(K, self.inverse)
        G = self.kernel.slope_at(h, K, self.inverse)
        G *= C
        G[~np.isfinite(G)] = 0.0  # at a sample itself, where the profile has a kink
        below = G.sum(axis=1)
        step = G @ self.X - below[:, None] * Z
        size = np.maximum(np.abs(below), 1e-9 * np.abs(G).sum(axis=1))[:, None]
        step = np.divide(step, size, out=np.zeros_like(step), where=size > 0.0)
        return np.einsum("ij,ij->i", C, K), step

    def start(self, images: Images, at: Floats, start: Floats | None) -> Floats:
        """Return scaled starting points: those given, or the samples of largest value where these are nearer."""
        values = images.weights @ at.T
        best = np.argmax(values, axis=1)
        Z = self.X[best].copy()
        if start is not None:
            given = self.scaled(start)
            nearer = self.value(images.weights @ images.coef.T, given) >= values[np.arange(len(best)), best]
            Z[nearer] = given[nearer]
        return Z


class DistanceScaling(Preimage):
    r"""Pre-images from distances: those in feature space give those to the neighbours, and these the point.

    .. math:: |z - x_i|^2 = \kappa^{-1}\!\left(1 - \tfrac12 \|P - \Phi(x_i)\|^2\right), \qquad
        z = \bar x + \tfrac12 U \Lambda^{-1} V^\top (d_0^2 - d^2)

    Seed: [HSS] Section 3.3.1 (pre-images); the form of Kwok and Tsang by multidimensional scaling.

    Parameters
    ----------
    n_neighbors : int, default 10

    Notes
    -----
    No iteration and no starting point. The point lies in the span of its neighbours. The kernel must be a decreasing
    function of the distance, which is inverted by bisection.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> f = Expansion(Gaussian(1.0), Vectors.pack([[0.0], [1.0], [3.0]]), np.array([0.0, 1.0, 0.0]), np.array(0.0))
    >>> preimage(f, DistanceScaling(2)).round(6)  # an image itself
    array([[1.]])
    """

    constraints = {"n_neighbors": Integer(1)}

    def __init__(self, n_neighbors: int = 10) -> None:
        self.n_neighbors = n_neighbors

    def solve(self, images: Images, start: Floats | None = None, resources: Resources = UNLIMITED) -> Found:
        """Place each point among its neighbours."""
        profile = _Profile.of(images, self)
        at = images.at_samples(resources)
        square = np.einsum("ij,ij->i", images.weights @ (images.coef.T @ at), images.weights)
        own = images.kernel.diag(images.samples)
        points = np.empty((len(images), profile.width))
        count = min(self.n_neighbors, len(own))
        for rows in spans(len(images), max(1, _ENTRIES // max(len(own), 1))):
            distance = own - 2.0 * images.weights[rows] @ at.T + square[rows, None]
            near = np.argpartition(distance, count - 1, axis=1)[:, :count]
            chosen = np.take_along_axis(distance, near, axis=1)
            far = _squared_distances(profile, own[near] - 0.5 * chosen)
            for place, (who, squared) in enumerate(zip(near, far, strict=True), rows.start):
                points[place] = _placed(profile.X[who], squared)
        return Found(profile.back(points))


def _squared_distances(profile: _Profile, values: Floats) -> Floats:
    """Return squared distances at which the profile has given values, by bisection in h."""
    top = np.zeros((1, 1))
    profile.kernel.profile(top, profile.inverse)
    target = np.clip(values, 1e-12 * top[0, 0], top[0, 0])
    low, high = np.full(values.shape, -1.0 / profile.inverse**2), np.zeros(values.shape)
    for _ in range(_BISECTIONS):  # until the profile is below the values there
        K = low.copy()
        profile.kernel.profile(K, profile.inverse)
        if np.all(target >= K):
            break
        low[target < K] *= 2.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        K = middle.copy()
        profile.kernel.profile(K, profile.inverse)
        above = target <= K
        high, low = np.where(above, middle, high), np.where(above, low, middle)
    return -(low + high)


def _placed(X: Floats, squared: Floats) -> Floats:
    """Return the point of given squared distances to some others, in their span, by least squares."""
    mean = X.mean(axis=0)
    U, size, V = np.linalg.svd((X - mean).T, full_matrices=False)
    kept = size > 1e-10 * size.max(initial=0.0)
    coordinates = size[kept, None] * V[kept]
    own = np.sum(coordinates**2, axis=0)
    return mean + U[:, kept] @ (0.5 / size[kept] * (V[kept] @ (own - squared)))


class Gradient(Preimage):
    r"""Pre-images by the derivative of the distance in feature space, for every kernel that has one in its inputs.

    .. math:: \min_z \; k(z, z) - 2 \sum_i c_i \, k(x_i, z)

    Seed: [HSS] Section 3.3.1.

    Parameters
    ----------
    max_iter : int, default 200
    tol : float, default 1e-6
        Tolerance of the derivative, relative to its size at the start.

    Examples
    --------
    >>> from mercer.kernels import Polynomial
    >>> f = Expansion(Polynomial(3), Vectors.pack([[0.5], [2.0]]), np.array([0.0, 1.0]), np.array(0.0))
    >>> preimage(f, Gradient(), start=[[1.0]]).round(3)
    array([[2.]])
    """

    constraints = {"max_iter": Integer(1), "tol": Positive()}

    def __init__(self, max_iter: int = 200, tol: float = 1e-6) -> None:
        self.max_iter = max_iter
        self.tol = tol

    def solve(self, images: Images, start: Floats | None = None, resources: Resources = UNLIMITED) -> Found:
        """Move some points together by L-BFGS."""
        kernel, samples = images.kernel, images.samples
        if not offers(kernel, InputDifferentiable) or not isinstance(samples, Vectors):
            raise CapabilityError(
                f"Gradient was given {kernel!r:.200}, which has no derivative in its samples; a kernel on vectors that "
                "lists 'pullback_inputs' is needed. Use preimage=RidgeMap(), which needs none."
            )
        moving, X = Moving(kernel, samples, resources), dense(samples)
        at, own = images.at_samples(resources), kernel.diag(samples)
        points, most, unfinished = np.empty((len(images), X.shape[1])), 0, 0
        for rows in spans(len(images), _POINTS):
            part = images.take(rows)
            distance = own - 2.0 * part.weights @ at.T
            Z = X[np.argmin(distance, axis=1)].copy()
            if start is not None:
                given = np.asarray(start[rows], dtype=float)
                nearer = _objective(moving, part, given)[0] <= distance.min(axis=1)
                Z[nearer] = given[nearer]
            found = self._minimise(moving, part, Z)
            points[rows], most = found.x.reshape(Z.shape), max(most, int(found.nit))
            unfinished += len(Z) if found.status == 1 else 0
        return Found(points, most, unfinished)

    def _minimise(self, moving: Moving, images: Images, Z: Floats) -> Any:
        size = float(np.abs(_objective(moving, images, Z)[1]).max(initial=0.0))

        def objective(z: Floats) -> tuple[float, Floats]:
            values, slope = _objective(moving, images, z.reshape(Z.shape))
            return float(values.sum()), slope.ravel()

        options = {"maxiter": self.max_iter, "gtol": self.tol * (size or 1.0), "ftol": 1e-15}
        return minimize(objective, Z.ravel(), jac=True, method="L-BFGS-B", options=options)


def _objective(moving: Moving, images: Images, Z: Floats) -> tuple[Floats, Floats]:
    """Return k(z, z) - 2 f(z), (m,), and its derivative, (m, d)."""
    kernel = images.kernel
    T = kernel.prepare(Vectors.pack(np.ascontiguousarray(Z)))
    near = moving.near(T)
    f = np.einsum("ij,ij->i", images.weights, near.product(images.coef))
    slope = 2.0 * kernel.pullback_inputs(T, T, np.eye(len(Z))) - 2.0 * near.pull(images.weights, images.coef)
    return kernel.diag(T) - 2.0 * f, slope


class RidgeMap(Preimage):
    r"""Pre-images by a map from scores to points that ridge regression learns from the training samples.

    .. math:: \min_g \tfrac12 \sum_i w_i \, |x_i - \bar x - g(z_i)|^2 + \tfrac{\alpha}{2} \|g\|^2

    Seed: [HSS] Sections 3.3.1, 3.3.4 (a pre-image map that is learned).

    Parameters
    ----------
    alpha : float, default 0.01
        The ridge.
    kernel : Kernel, optional
        Kernel on scores; None is the Gaussian at their median distance.

    Notes
    -----
    Learned by `fit`, in O(n^3) operations; a pre-image costs n kernel values then. It needs no derivative, and works
    with every kernel on vectors, precomputed ones excepted.
    """

    constraints = {"alpha": Positive(), "kernel": Optional(InstanceOf(Kernel))}

    def __init__(self, alpha: float = 0.01, kernel: Kernel | None = None) -> None:
        self.alpha = alpha
        self.kernel = kernel

    def learn(
        self, scores: Floats, points: Floats, weight: Floats | None = None, resources: Resources = UNLIMITED
    ) -> Any:
        """Return the map, an expansion, fitted to scores (n, q) and points (n, d); weights are positive."""
        kernel = Gaussian("median") if self.kernel is None else self.kernel
        if (kernel.order or 0) > 1:
            raise CapabilityError(
                f"RidgeMap was given {kernel!r}, which is conditionally positive definite of order {kernel.order}; "
                "beside a constant it would need polynomials. Use a kernel of order 0 or 1, for example Gaussian()."
            )
        w = np.ones(len(scores)) if weight is None else weight
        S = kernel.pack(scores)
        K = Dense().build(kernel.learn(S, None, w), S, resources)
        solution = Cholesky().solve(LinearSystem(K, self.alpha / w, points, np.ones((len(S), 1))))
        return K.expand(solution, solution.multipliers[0])

    def solve(self, images: Images, start: Floats | None = None, resources: Resources = UNLIMITED) -> Found:
        """Learn from the samples' own coordinates, which are the values at the elements' parts."""
        at = images.at_samples(resources)
        function = self.learn(at, dense(images.samples), resources=resources)
        inner = images.coef.T @ at
        return Found(function(images.weights @ inner).reshape(len(images), -1))


class _Exact(Preimage):
    """Pre-images of the linear kernel, whose images are the points themselves."""

    def solve(self, images: Images, start: Floats | None = None, resources: Resources = UNLIMITED) -> Found:
        samples = images.samples
        assert isinstance(samples, Vectors)
        return Found(images.weights @ np.asarray(samples.X.T @ images.coef).T)


def is_profile(kernel: Kernel) -> bool:
    """Return whether a kernel is a function of the Euclidean distance by the formulas of its base class."""
    if not (isinstance(kernel, Radial) and type(kernel).tile is OneBase.tile):
        return False
    return kernel.base()[0].kind == "distance" and type(kernel)._pullback_inputs is Radial._pullback_inputs


def preimage_method(kernel: Kernel) -> Preimage:
    """Return how pre-images are found by default."""
    if isinstance(kernel, Linear):
        return _Exact()
    return FixedPoint() if is_profile(kernel) else Gradient()


@checked(method=Optional(InstanceOf(Preimage)))
def preimage(function: Any, method: Preimage | None = None, start: Any = None) -> Floats:
    r"""Return points whose images are near to given elements of feature space.

    .. math:: z = \arg\min_z \| \Phi(z) - P \|

    Seed: [HSS] Section 3.3.1.

    Parameters
    ----------
    function : Expansion
        With one element, or k of them side by side; on vectors. Intercepts are left out.
    method : Preimage, optional
        None: exact for the linear kernel, `FixedPoint` for a kernel of distances, `Gradient` for others.
    start : (k, d) array, optional
        Where searches begin; None is the sample nearest to each.

    Returns
    -------
    points : (k, d) array

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> preimage(Expansion(Linear(), Vectors.pack([[1.0, 0.0], [0.0, 2.0]]), np.array([1.0, 1.0]), np.array(0.0)))
    array([[1., 2.]])
    """
    if not isinstance(function, Expansion) or not isinstance(function.samples, Vectors):
        raise DomainError(
            f"preimage was given {kind_of(function)}; an Expansion on vectors is accepted. Use the expansion_ of "
            "a machine fitted with gram=Dense() or Tiles()."
        )
    coef = function.coef.reshape(len(function.coef), -1)
    images = Images(function.kernel, function.kernel.prepare(function.samples), coef, np.eye(coef.shape[1]))
    chosen = (method or preimage_method(function.kernel)).check()
    given = None if start is None else _start_of(start, (coef.shape[1], function.samples.width))
    return chosen.solve(images, given).points


def _start_of(given: Any, shape: tuple[int, int]) -> Floats:
    start = real_array(given, "start")
    if start.size != shape[0] * shape[1]:
        raise DomainError(
            f"start has shape {start.shape}; {shape[0]} points of {shape[1]} columns, one for each element, are "
            "accepted. Leave it out to begin at the nearest samples."
        )
    return start.reshape(shape)
