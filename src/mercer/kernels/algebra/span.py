r"""The kernel of a subspace that finitely many points span in feature space, and that of its complement.

Symbols: z_1, ..., z_m the points, K = U diag(lambda) U' their matrix, without the eigenvalues that are rounding;
k(x) = (k(x, z_1), ..., k(x, z_m)); F(x) = lambda^-1/2 U' k(x) coordinates in the subspace, so that k_m(x, x') = F(x)'
F(x') and the kernel PCA map is U F(x); a(x) = U lambda^-1/2 F(x) the coefficients of the projection.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.budget import Plan
from mercer.constraints import Data
from mercer.domains import WHOLE, Frames, Samples
from mercer.errors import ParameterError
from mercer.kernels.abilities import Differentiated, DifferentiatedInInputs, Featured
from mercer.kernels.comparison import Base, Comparison, Path, View
from mercer.kernels.composite import Wrapped, offered
from mercer.kernels.kernel import Kernel, fill, pullback
from mercer.numerics.operands import row_products
from mercer.runtime.tiling import in_background, spans
from mercer.spec import derived

__all__ = ["Complement", "Subspace"]
__public__ = __all__

_ROWS = 1024  # samples whose map is computed at once
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class _Span:
    """The points, packed, with the eigenvectors of their matrix."""

    kernel: Kernel  # a copy: what the eigenvectors were computed of
    given: Any
    points: Samples
    U: Floats  # (m, r)
    scale: Floats  # (r,) lambda^-1/2
    top: float  # largest eigenvalue of the matrix
    lost: float  # largest size of those that were left out

    @property
    def rounding(self) -> float:
        """Relative rounding of sums over the points."""
        return (8.0 + len(self.U)) * _EPS


class _OnPoints(Wrapped):
    """A kernel made of another and of some points."""

    anchored = True
    order = 0
    constraints = {"points": Data()}

    def __init__(self, kernel: Kernel, points: Any) -> None:
        self.kernel = kernel
        self.points = points

    def check(self) -> Any:
        """Raise ParameterError unless the kernel inside is positive definite."""
        super().check()
        if self.kernel.order != 0:
            raise ParameterError(
                f"{type(self).__name__} was given {self.kernel!r}, which is not positive definite; points span a "
                "subspace of a Hilbert space only under a positive definite kernel. Use one, such as Gaussian(1.0)."
            )
        return self

    @derived
    def stationary(self) -> bool:
        """Never: the points stay where they are."""
        return False

    @property
    def rank(self) -> int:
        """Dimension of the subspace."""
        return len(self._span().scale)

    def _span(self) -> _Span:
        """Return the points and the eigenvectors, computed once for as long as kernel and points are the same."""
        held = vars(self).get("_held")
        if held is None or held.given is not self.points or held.kernel != self.kernel:
            kernel = self.kernel.replace()
            points = kernel.prepare(kernel.pack(self.points))
            m = len(points)
            Plan(
                f"{type(self).__name__} of {m} points", {"matrix and eigenvectors": 32 * m * m}, ("fewer points",)
            ).require(None)
            held = _Span(kernel, self.points, points, *_eigenvectors(_values(kernel, points, points)))
            vars(self)["_held"] = held
        return held

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_held"}

    def _map(self, A: Samples) -> Floats:
        """Return the coordinates F of prepared samples, (len A, r)."""
        span = self._span()
        A = _beside(A, span.points)
        m, r = span.U.shape
        what = f"{type(self).__name__} of {m} points on {len(A)} samples"
        Plan(what, {"coordinates": 8 * len(A) * r}, ("fewer points",)).require(None)
        out = np.empty((len(A), r))
        for rows in spans(len(A), _ROWS):
            np.matmul(_values(self.kernel, A.take(rows), span.points), span.U, out=out[rows])
        out *= span.scale  # at the end: a root multiplied out would lose the digits of small eigenvalues
        return out

    def _both_maps(self, view: View) -> tuple[Floats, Floats]:
        """Return the coordinates of the two collections of a view, computed once."""

        def make() -> tuple[Floats, Floats]:
            A, B = view.collections
            left = self._map(A)
            return left, left if B is A else self._map(B)

        return view.comparison.keep(("map", id(self), view.path), make)

    def _pull_span(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_ij W_ij dk_m(a_i, b_j)/dtheta: k(a) and k(b) vary, and so does K between a(a) and a(b)."""
        Z = self._span().points
        A, B = _beside(A, Z), _beside(B, Z)
        left, right = self._weights(A), self._weights(B)
        W = np.asarray(W, dtype=float)
        total = pullback(self.kernel, A, Z, W @ right) + pullback(self.kernel, B, Z, W.T @ left)
        return total - pullback(self.kernel, Z, Z, left.T @ W @ right)

    def _pull_span_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_j W_ij dk_m(a_i, b_j)/da_i = sum_p (W a(b))_ip dk(a_i, z_p)/da_i."""
        Z = self._span().points
        return self.kernel.pullback_inputs(_beside(A, Z), Z, np.asarray(W, dtype=float) @ self._weights(B))

    def _weights(self, A: Samples) -> Floats:
        """Return the coefficients a(x) of the projections, (len A, m)."""
        span = self._span()
        return (self._map(A) * span.scale) @ span.U.T


class Subspace(_OnPoints, Featured, Differentiated, DifferentiatedInInputs):
    r"""The kernel of the subspace that some points span: similarity as far as these points can tell.

    .. math:: k_m(x, x') = k(x)^\top K^{+} \, k(x'), \qquad k(x) = (k(x, z_1), \dots, k(x, z_m))^\top

    Its feature map is the kernel PCA map, the coordinates in an orthonormal basis of the subspace:

    .. math:: \Phi_m(x) = K^{-1/2} \, k(x)

    Seed: [HSS] Eqs. (57)-(60), with the pseudo-inverse in place of K^-1, so that the points need not be linearly
    independent in feature space.

    Parameters
    ----------
    kernel : Kernel
        Positive definite, on any domain.
    points : raw data or packed samples
        z_1, ..., z_m.

    Notes
    -----
    The domain is that of the kernel. The projection of f on the subspace is (P f)(x) = <f, k_m(x, .)>. On the points
    themselves it is the kernel: k_m(z_i, x) = k(z_i, x) for all x. Eigenvalues of K below m eps times the largest are
    left out, which is the pseudo-inverse; `rank` is how many remain. Features: the kernel PCA map, m of them with
    the symmetric root, so that every Gram and every linear method can work with it (``gram=Features()``); frequencies
    no; derivatives in parameters and inputs where the kernel has them, the points being fixed. Positive definite, not
    strictly so and not universal; bounded if the kernel is. Cost O((n + n') m r) once for two collections of n and n'
    samples, then O(n n' r) for rank r; O(m^3) once per kernel.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> k = Subspace(Gaussian(1.0), [[0.0], [1.0]])
    >>> k([[0.0], [1.0], [5.0]]).round(3)
    array([[1.   , 0.607, 0.   ],
           [0.607, 1.   , 0.   ],
           [0.   , 0.   , 0.   ]])
    """

    synonyms = ("kernel PCA map",)
    formula = r"k(x)^\top K^{+} \, k(x'),\ k(x) = (k(x, z_1), \dots, k(x, z_m))^\top"
    cost = "O((m + n) p^2 + mnp) for p points, and that of the kernel"

    def bases(self) -> Iterable[tuple[Path, Base, float | None]]:
        """Yield nothing: tiles are made of coordinates."""
        return ()

    def tile(self, view: View) -> Floats:
        """Multiply the coordinates of both sides."""
        left, right = self._both_maps(view)
        out = view.empty()
        out[...] = row_products(left[view.rows], right[view.columns], same=view.on_diagonal)
        return out

    def _diag(self, A: Samples) -> Floats:
        """Return the squared lengths of the coordinates."""
        F = self._map(A)
        return np.einsum("ij,ij->i", F, F)

    @property
    def capabilities(self) -> frozenset[str]:
        """Features always; derivatives where the kernel has them."""
        return frozenset({"features"}) | (offered(self.kernel) & {"pullback", "pullback_inputs"})

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the kernel PCA map, (len A, m)."""
        return self._map(A) @ self._span().U.T, None

    def _feature_count(self, A: Samples) -> int | None:
        """Return the number of points."""
        return len(self._span().U)

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the derivatives of k(x)' K^+ k(x') in the kernel's parameters, by three pullbacks of the kernel."""
        return self._pull_span(A, B, W)

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the derivative in the first argument, by one of the kernel at the points."""
        return self._pull_span_inputs(A, B, W)


class Complement(_OnPoints, Differentiated, DifferentiatedInInputs):
    r"""The kernel of the orthogonal complement: similarity in what some points cannot tell.

    .. math:: k_\perp(x, x') = k(x, x') - k(x)^\top K^{+} \, k(x')

    Seed: [HSS] after Eq. (58), with the pseudo-inverse in place of K^-1.

    Parameters
    ----------
    kernel : Kernel
        Positive definite, on any domain.
    points : raw data or packed samples
        z_1, ..., z_m.

    Notes
    -----
    The functions of its space are those of the kernel's space that vanish at all points. It is the covariance of a
    Gaussian process after observations at the points without noise. k_perp(x, x) is the squared distance between the
    image of x and the subspace. A sample whose distance is lost in the rounding of the difference counts as one of the
    subspace: its values are exactly 0, none on the diagonal is negative. Close to the points values keep the absolute
    precision of k, not their own. Features and frequencies no; derivatives where the kernel has them. Positive
    definite; bounded if the kernel is. Cost that of the kernel and of `Subspace`.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> k = Complement(Gaussian(1.0), [[0.0], [1.0]])
    >>> k([[0.0], [1.0], [5.0]]).round(3)
    array([[0., 0., 0.],
           [0., 0., 0.],
           [0., 0., 1.]])
    """

    formula = r"k(x, x') - k(x)^\top K^{+} \, k(x')"
    cost = "O((m + n) p^2 + mnp) for p points, and that of the kernel"

    def tile(self, view: View) -> Floats:
        """Subtract the product of the coordinates from the kernel's tile."""
        left, right = self._both_maps(view)
        outside = view.comparison.keep(("outside", id(self), view.path), lambda: self._both_outside(view))
        tile = view.value(self.kernel)
        tile -= row_products(left[view.rows], right[view.columns], same=view.on_diagonal)
        tile *= outside[0][view.rows, None]
        tile *= outside[1][view.columns]
        return tile

    def _both_outside(self, view: View) -> tuple[Any, Any]:
        A, B = view.collections
        maps = self._both_maps(view)
        left = self._distances(A, maps[0]) > 0.0
        return left, left if B is A else self._distances(B, maps[1]) > 0.0

    def _rounding(self, own: Floats, F: Floats) -> Floats:
        """Return by how much squared distances may be wrong, from k(x, x) and the coordinates in the subspace."""
        span = self._span()
        length = np.linalg.norm(F * span.scale, axis=1)
        # k(x)' K^+ k(x) moves by 2 a'dk + a' dK a if kernel values move by their rounding; and the points themselves
        # are not nearer to the subspace than the directions that were left out
        return span.rounding * (own + 2.0 * length * np.sqrt(own * span.top) + span.top * length**2) + span.lost

    def _distances(self, A: Samples, F: Floats) -> Floats:
        """Return squared distances from the subspace; those within their rounding are 0."""
        own = self._diags(A)[0]
        error = self._rounding(own, F)
        squares = own - np.einsum("ij,ij->i", F, F)
        return np.where(squares > error, squares, 0.0)

    def _diag(self, A: Samples) -> Floats:
        """Return squared distances from the subspace."""
        return self._distances(A, self._map(A))

    @property
    def capabilities(self) -> frozenset[str]:
        """Derivatives where the kernel has them."""
        return offered(self.kernel) & {"pullback", "pullback_inputs"}

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the kernel's derivatives less those of the subspace."""
        return self._pull_term(self.kernel, A, B, W) - self._pull_span(A, B, W)

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the kernel's derivative less that of the subspace."""
        Z = self._span().points
        whole = self.kernel.pullback_inputs(_beside(A, Z), _beside(B, Z), W)
        return whole - self._pull_span_inputs(A, B, W)


def _beside(A: Samples, Z: Samples) -> Samples:
    """Return samples in the form of the points: of a table that others read too, the part that is all of the data."""
    return A.part(WHOLE) if isinstance(A, Frames) and not isinstance(Z, Frames) else A


def _values(kernel: Kernel, A: Samples, Z: Samples) -> Floats:
    """Return kernel values of prepared samples in float64, without further threads: this runs inside of tiles."""
    out = np.empty((len(A), len(Z)))
    fill(kernel, Comparison(kernel, A, Z, np.float64), out, n_threads=1)
    return out


def _eigenvectors(K: Floats) -> tuple[Floats, Floats, float, float]:
    """Return U and lambda^-1/2 without what is rounding, the largest eigenvalue, and the size of those left out."""
    m = len(K)
    values, U = in_background(np.linalg.eigh, K, work=9.0 * m**3)
    top = max(float(values[-1]), 0.0)
    kept = values > m * _EPS * top
    lost = float(np.abs(values[~kept]).max(initial=0.0))
    return np.ascontiguousarray(U[:, kept]), 1.0 / np.sqrt(values[kept]), top, lost
