"""Kernels on persistence diagrams and point clouds: by transport along lines, and by heat that flows on a half plane.

Symbols: a diagram is a set of points p = (birth, death) above the diagonal; p' its mirror image (death, birth), q its
projection on the diagonal; theta_r directions, r = 1, ..., R.

On a line the cost of transport is the integral of the difference of two distribution functions, so that it is a
distance of functions, one for each set: nothing has to be matched.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Integer, OneOf, Positive
from mercer.domains import Samples
from mercer.domains.samples import packed_pair
from mercer.domains.sets import Sets
from mercer.errors import DomainError
from mercer.kernels.abilities import Differentiated
from mercer.kernels.comparison import Comparison
from mercer.kernels.distance_exponential import DistanceExponential
from mercer.kernels.kernel import Kernel, mirror, overflow_error
from mercer.kernels.sets.mean_map import require_vectors
from mercer.kernels.vectors.pointwise import dense
from mercer.numerics.ragged import Ragged
from mercer.runtime.compiled import compiled

__all__ = ["PersistenceScaleSpace", "SlicedWasserstein"]
__public__ = __all__

_STEPS = 5e6  # additions that take some 20 milliseconds


class SlicedWasserstein(DistanceExponential):
    r"""Sliced Wasserstein kernel: similarity fades with the cost of moving one set of points to another, line by line.

    .. math:: k(X, X') = e^{-W(X, X') / l}, \qquad
        W = \frac{1}{R} \sum_{r=1}^R \int |F_r(t) - F'_r(t)| \, dt

    where F_r is the distribution function of the points' shadows on the direction theta_r. A cloud of points has mass
    one. For a diagram every point has mass one, and the shadow of its projection on the diagonal is subtracted: points
    near the diagonal hardly count, and diagrams need not have the same number of points.

    Seed: [HSS] Section 2.2.5, "Kernels on Sets and Subspaces". Carriere, Cuturi and Oudot, Sliced Wasserstein kernel
    for persistence diagrams (2017), who write 2 sigma^2 for l.

    Parameters
    ----------
    length_scale : float, default 1.0
        l > 0, in the unit of the points.
    directions : int, default 16
        R >= 1. In the plane they divide the half circle evenly, in more dimensions they are drawn at random.
    kind : {"diagrams", "points"}, default "diagrams"
        Whether the sets are persistence diagrams, of columns birth and death, or clouds of points of any dimension.
    random_state : int, default 0
        Of the directions in three dimensions and more.

    Notes
    -----
    Domain Sets of vectors; weights of members are their masses. No features; differentiable in the length scale.
    Positive definite of order 0 for any directions: W is the distance in L1 of two functions, which is of negative
    type. Not strict, as the directions are finitely many. Normalised and bounded. The empty diagram is like points on
    the diagonal; an empty cloud has no mass, and is refused. Points that never die have no place: give them a latest
    time. Cost O(R m log m) a set, then O(R (m + m')) a pair.

    Examples
    --------
    >>> one_loop, noisy_loop, nothing = [[0.2, 1.5]], [[0.25, 1.5], [0.3, 0.35]], []
    >>> SlicedWasserstein(0.5)([one_loop, noisy_loop, nothing]).round(3)
    array([[1.   , 0.859, 0.31 ],
           [0.859, 1.   , 0.31 ],
           [0.31 , 0.31 , 1.   ]])
    """

    domain = Sets
    formula = r"\exp(-W(X, X') / l)"
    cost = "O(R m log m) a set, then O(R (m + m')) a pair"
    normalised = True
    bounded = True
    constraints = {
        "length_scale": Positive(),
        "directions": Integer(1),
        "kind": OneOf("diagrams", "points"),
        "random_state": Integer(0),
    }

    def __init__(
        self, length_scale: float = 1.0, directions: int = 16, kind: str = "diagrams", random_state: int = 0
    ) -> None:
        self.length_scale = length_scale
        self.directions = directions
        self.kind = kind
        self.random_state = random_state

    def pack(self, X: Any) -> Samples:
        """Turn arrays of points into Sets."""
        S = Sets.pack(X)
        require_vectors(self, S)
        return S

    @property
    def _key(self) -> str:
        return f"shadows:{self.directions}:{self.kind}:{self.random_state}"

    def _prepare(self, A: Samples) -> Samples:
        """Sort the shadows of all points in every direction, once per collection."""
        if self._key in A.derived:
            return A
        assert isinstance(A, Sets)
        return A.with_derived(self._key, self._shadows(A))

    def _lines(self, width: int) -> Floats:
        """Return the directions, (R, d)."""
        R = int(self.directions)
        if width == 2:
            angles = np.pi * (np.arange(R) + 0.5) / R - 0.5 * np.pi
            return np.column_stack([np.cos(angles), np.sin(angles)])
        drawn = np.random.default_rng(int(self.random_state)).normal(size=(R, width))
        return drawn / np.linalg.norm(drawn, axis=1)[:, None]

    def _shadows(self, A: Sets) -> Ragged:
        """Return for the points of each set, by place in every direction, that place and the mass: (total, R, 2)."""
        X, w, owners = dense(A.members), A.weights, A.owners
        if self.kind == "diagrams":
            require_diagrams(self, A, X)
            middle = X.mean(axis=1)[:, None] * np.ones(2)
            X, w, owners = np.vstack([X, middle]), np.concatenate([w, -w]), np.concatenate([owners, owners])
            offsets = 2 * A.offsets
        else:
            if not A.sizes.all():
                raise DomainError(
                    f"Set {int(np.flatnonzero(A.sizes == 0)[0])} is empty; a cloud of points has one or more. Drop it, "
                    "or use kind='diagrams'."
                )
            offsets = A.offsets
            w = w / np.bincount(owners, weights=w)[owners]
        out = np.empty((len(X), int(self.directions), 2))
        for r, line in enumerate(self._lines(X.shape[1])):
            place = X @ line
            order = np.lexsort((place, owners))
            out[:, r, 0], out[:, r, 1] = place[order], w[order]
        return Ragged(out, offsets - offsets[0])

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for small tiles where sets are large."""
        sizes = [float(S.sizes.mean()) for S in comparison.sides(()) if isinstance(S, Sets) and len(S)]
        return max(1, int(np.sqrt(_STEPS / (4.0 * max([1.0, *sizes]) * int(self.directions)))))

    def distances(self, X: Any, Y: Any) -> Floats:
        """Return W of all pairs, (len X, len Y)."""
        self.check()
        return self._distances(*packed_pair(X, Y, self._ready))

    def _distances(self, A: Samples, B: Samples) -> Floats:
        left, right = (self.prepare(S).derived[self._key] for S in (A, B))
        _require_same(A, B)
        out = np.zeros((len(A), len(B)))
        _integrate_all((left.codes, left.offsets), (right.codes, right.offsets), B is A, out)
        if not np.isfinite(out).all():
            raise overflow_error(self)
        return mirror(out) if B is A else out


class PersistenceScaleSpace(Kernel, Differentiated):
    r"""Persistence scale space kernel: heat that spreads from the points of a diagram, held at zero on the diagonal.

    .. math:: k(X, X') = \frac{1}{8 \pi s} \sum_{p \in X} \sum_{p' \in X'}
        \Big(e^{-\|p - p'\|^2 / (8 s)} - e^{-\|p - \bar{p}'\|^2 / (8 s)}\Big)

    where (b, d) has the mirror image (d, b).

    Seed: [HSS] Section 2.2.5, "Kernels on Sets and Subspaces": a sum over pairs of members. Reininghaus et al., A
    stable multi-scale kernel for topological machine learning (2015).

    Parameters
    ----------
    scale : float, default 1.0
        s > 0, the time for which heat spreads, in squared units of the points.

    Notes
    -----
    Domain Sets of vectors of two columns, birth and death; weights of members count. No features; differentiable in the
    scale. Positive definite of order 0, since it is the inner product in L2 of two temperatures. Not strict, as points
    on the diagonal are nothing; the empty diagram has k = 0. Not bounded (``.normalized()`` removes that). Cost O(m m')
    exponentials a pair.

    Examples
    --------
    >>> one_loop, noisy_loop = [[0.2, 1.5]], [[0.25, 1.5], [0.3, 0.35]]
    >>> PersistenceScaleSpace(0.1).normalized()([one_loop, noisy_loop]).round(3)
    array([[1.   , 0.995],
           [0.995, 1.   ]])
    """

    domain = Sets
    formula = r"\sum_{p, q} (\exp(-\|p - q\|^2 / (8 s)) - \exp(-\|p - q^*\|^2 / (8 s))) / (8 \pi s)"
    cost = "O(m m') exponentials a pair"
    constraints = {"scale": Positive()}

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def pack(self, X: Any) -> Samples:
        """Turn arrays of births and deaths into Sets."""
        S = Sets.pack(X)
        require_vectors(self, S)
        return S

    def _prepare(self, A: Samples) -> Samples:
        """Raise DomainError unless the sets are diagrams."""
        assert isinstance(A, Sets)
        require_diagrams(self, A, dense(A.members))
        return A

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for small tiles where diagrams are large."""
        sizes = [float(S.sizes.mean()) for S in comparison.sides(()) if isinstance(S, Sets) and len(S)]
        return max(1, int(np.sqrt(_STEPS) / (4.0 * max([1.0, *sizes]))))

    def _sums(self, A: Samples, B: Samples, slopes: bool) -> Floats:
        assert isinstance(A, Sets) and isinstance(B, Sets)
        _require_same(A, B)
        out = np.zeros((len(A), len(B)))
        sides = [(dense(S.members), S.weights, S.offsets) for S in (A, B)]
        _heat_all(*sides, float(self.scale), slopes, B is A, out)
        return mirror(out) if B is A else out

    def block(self, A: Samples, B: Samples) -> Floats:
        """Add over all pairs of points."""
        return self._sums(*packed_pair(A, B, self._ready), False)

    def _diag(self, A: Samples) -> Floats:
        """Compare every diagram with itself."""
        return np.array(
            [self._sums(one, one, False)[0, 0] for one in (A[i : i + 1] for i in range(len(A)))], dtype=float
        )

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the derivative in the scale."""
        return np.array([float(np.vdot(W, self._sums(A, B, True)))])


def require_diagrams(kernel: Kernel, A: Sets, X: Floats) -> None:
    """Raise DomainError unless the members are births and later deaths."""
    if X.shape[1] != 2:
        raise DomainError(
            f"Sets of vectors with {X.shape[1]} columns were given; {kernel!r} reads birth and death. Give two columns."
        )
    below = X[:, 1] < X[:, 0]
    if below.any():
        place = int(np.flatnonzero(below)[0])
        raise DomainError(
            f"Set {int(A.owners[place])} has a point that dies at {X[place, 1]:g}, before its birth at "
            f"{X[place, 0]:g}; the columns are birth, then death. Exchange them."
        )


def _require_same(A: Samples, B: Samples) -> None:
    widths = [dense(S.members).shape[1] for S in (A, B) if isinstance(S, Sets)]
    if widths[0] != widths[-1]:
        raise DomainError(
            f"Sets of vectors with {widths[0]} and with {widths[-1]} columns were compared; all vectors must have "
            "the same columns. Give new sets the columns of the training sets."
        )


@compiled
def _integrate(x, y):
    """Return the integral of the absolute difference of two distribution functions, from sorted (place, mass)."""
    total, height = 0.0, 0.0
    i, j = 0, 0
    last = 0.0
    while i < x.shape[0] or j < y.shape[0]:
        from_left = j >= y.shape[0] or (i < x.shape[0] and x[i, 0] <= y[j, 0])
        place = x[i, 0] if from_left else y[j, 0]
        if i + j > 0:
            total += abs(height) * (place - last)
        if from_left:
            height += x[i, 1]
            i += 1
        else:
            height -= y[j, 1]
            j += 1
        last = place
    return total


@compiled
def _integrate_all(left, right, symmetric, out):
    shadows, offsets = left
    others, places = right
    lines = shadows.shape[1]
    for i in range(offsets.size - 1):
        for j in range(i + 1 if symmetric else 0, places.size - 1):
            total = 0.0
            for r in range(lines):
                total += _integrate(shadows[offsets[i] : offsets[i + 1], r], others[places[j] : places[j + 1], r])
            out[i, j] = total / lines


@compiled
def _heat_all(left, right, scale, slopes, symmetric, out):
    points, weights, offsets = left
    others, masses, places = right
    for i in range(offsets.size - 1):
        for j in range(i if symmetric else 0, places.size - 1):
            total = 0.0
            for a in range(offsets[i], offsets[i + 1]):
                for b in range(places[j], places[j + 1]):
                    near = ((points[a, 0] - others[b, 0]) ** 2 + (points[a, 1] - others[b, 1]) ** 2) / (8.0 * scale)
                    far = ((points[a, 0] - others[b, 1]) ** 2 + (points[a, 1] - others[b, 0]) ** 2) / (8.0 * scale)
                    value = np.exp(-near) - np.exp(-far)
                    if slopes:
                        near, far = min(near, 1e300), min(far, 1e300)
                        value = (np.exp(-near) * (near - 1.0) - np.exp(-far) * (far - 1.0)) / scale
                    total += weights[a] * masses[b] * value
            out[i, j] = total / (8.0 * np.pi * scale)
