r"""The kernel of several views whose functions agree on a cloud of points.

Symbols: V kernels k_v, each of its view; u_1, ..., u_m the points; d the weight of disagreement; H (V, V - 1) an
orthonormal basis of the contrasts between views, so that sum_{v < w} (f_v - f_w)^2 = V |H'f|^2; c(x) the contrasts of
k_1(., x), ..., k_V(., x) at all points, and S the matrix of the inner products of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from mercer.arrays import Floats
from mercer.budget import Plan
from mercer.constraints import Data, Positive
from mercer.domains import WHOLE, Frames, Samples
from mercer.errors import ParameterError
from mercer.kernels.comparison import Comparison, View
from mercer.kernels.composite import Terms
from mercer.kernels.kernel import Kernel, fill, narrowed
from mercer.numerics.operands import row_products
from mercer.runtime.tiling import in_background, spans
from mercer.spec import derived

__all__ = ["CoRegularized"]
__public__ = __all__

_ROWS = 1024  # samples whose contrasts are computed at once


@dataclass(frozen=True, eq=False)
class _Cloud:
    """The points, packed, with the factor of the matrix of their contrasts."""

    terms: tuple[Kernel, ...]  # copies: what the factor was computed of
    agreement: float
    given: Any
    points: Samples
    basis: Floats  # (V, V - 1), H
    factor: Floats  # (m (V - 1), m (V - 1)), lower: L L' = 1 / (d V) + S


class CoRegularized(Terms):
    r"""Several views that agree on points without labels: what the views tell differently there counts less.

    .. math:: k(x, x') = \frac{1}{V^2} \Bigl( \sum_v k_v(x, x') - c(x)^\top
        \bigl( \tfrac{1}{d V} + S \bigr)^{-1} c(x') \Bigr)

    It is the kernel of functions f that are means of functions of the views, with the norm

    .. math:: \|f\|^2 = \min_{f = \frac1V \sum_v f_v} \; \sum_v \|f_v\|^2 +
        d \sum_{v < w} \sum_i \bigl( f_v(u_i) - f_w(u_i) \bigr)^2

    For two views c(x) has the entries :math:`(k_1(u_i, x) - k_2(u_i, x)) / \sqrt 2`.

    Seed: [STS] Section 3, multi-view point cloud kernels; after Sindhwani and Rosenberg.

    Parameters
    ----------
    terms : tuple of Kernel
        Two or more, positive definite, one for each view: on the columns it names by ``.on``, or all on the same data.
    points : raw data or packed samples
        u_1, ..., u_m, for example samples without labels.
    agreement : float, default 1.0
        d, the weight of disagreement. Positive; near 0 it is the sum of the kernels over V^2.

    Notes
    -----
    Any machine becomes one of several views that agree: ``KernelRidge(CoRegularized((k1, k2), unlabelled))`` on the
    samples with labels is `CoRegularizedRidge` on all of them. Domain that of the terms, or Frames. Features,
    frequencies and derivatives no. Positive definite; bounded if all kernels are. Cost O(m^3 (V - 1)^3) once per
    kernel, O((n + n') m^2 (V - 1)^2) once for two collections of n and n' samples, then O(n n' m (V - 1)).

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> views = Linear().on([0]), Linear().on([1])
    >>> k = CoRegularized(views, [[1.0, 1.0], [1.0, -1.0]], agreement=1e6)
    >>> k([[1.0, 1.0]], [[1.0, 1.0], [1.0, -1.0]]).round(3)  # where the views cannot agree, nothing is known
    array([[0., 0.]])
    >>> CoRegularized(views, [[1.0, 1.0]], agreement=1e6)([[1.0, 1.0]], [[1.0, 1.0], [1.0, -1.0]]).round(3)
    array([[0.5, 0. ]])
    """

    synonyms = ("co-regularisation", "multi-view point cloud kernel", "point cloud kernel")
    anchored = True
    order = 0
    constraints = {"points": Data(), "agreement": Positive()}
    formula = r"V^{-2} (\sum_v k_v(x, x') - c(x)^\top ((d V)^{-1} + S)^{-1} c(x'))"
    cost = "O((m + n) p^2 + mnp) for p points and two views, and that of the kernels"

    def __init__(self, terms: tuple[Kernel, ...], points: Any, agreement: float = 1.0) -> None:
        self.terms = terms
        self.points = points
        self.agreement = agreement

    def check(self) -> Any:
        """Raise ParameterError unless there are two positive definite kernels or more."""
        super().check()
        if len(self.terms) < 2 or any(kernel.order != 0 for kernel in self.terms):
            raise ParameterError(
                f"CoRegularized was given terms={self.terms!r}; two positive definite kernels or more are accepted, "
                "one for each view. Write for example (Linear().on([0, 1]), Gaussian(1.0).on([2]))."
            )
        return self

    def rebuild(self, kernels: tuple[Kernel, ...]) -> Kernel:
        """Return the same node over other kernels."""
        return self.replace(terms=kernels)

    @derived
    def bounded(self) -> bool:
        """Whether all kernels are: agreement only takes away."""
        return all(kernel.bounded for kernel in self.kernels)

    def _cloud(self) -> _Cloud:
        """Return the points and the factor, computed once for as long as all of them are the same."""
        held = vars(self).get("_held")
        same = held is not None and held.given is self.points and held.agreement == self.agreement
        if held is None or not same or held.terms != tuple(self.terms):
            held = self._factored()
            vars(self)["_held"] = held
        return held

    def _factored(self) -> _Cloud:
        terms = tuple(kernel.replace() for kernel in self.terms)
        points = self.prepare(self.pack(self.points))
        m, V = len(points), len(terms)
        size = m * (V - 1)
        Plan(f"CoRegularized of {m} points", {"matrix and factor": 24 * size * size}, ("fewer points",)).require(None)
        basis = scipy.linalg.helmert(V).T
        S = np.zeros((V - 1, m, V - 1, m))
        for row, kernel in zip(basis, terms, strict=True):
            K = _values(kernel, points, points)
            for j in range(V - 1):
                for l in range(V - 1):
                    S[j, :, l] += row[j] * row[l] * K
        matrix = S.reshape(size, size)
        # relative to S, so that rounding of S cannot make the matrix indefinite however large d is
        least = 8.0 * size * float(np.finfo(float).eps) * float(np.trace(matrix))
        matrix[np.diag_indices(size)] += max(1.0 / (self.agreement * V), least)
        factor = in_background(_cholesky, matrix, work=size**3 / 3.0)
        return _Cloud(terms, self.agreement, self.points, points, basis, factor)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_held"}

    def _map(self, A: Samples) -> Floats:
        """Return L^-1 c(x) of prepared samples, (len A, m (V - 1))."""
        cloud = self._cloud()
        if isinstance(A, Frames) and not isinstance(cloud.points, Frames):
            A = A.part(WHOLE)
        m, (V, contrasts) = len(cloud.points), cloud.basis.shape
        what = f"CoRegularized of {m} points on {len(A)} samples"
        Plan(what, {"contrasts": 8 * len(A) * m * contrasts}, ("fewer points",)).require(None)
        out = np.zeros((len(A), contrasts, m))
        for rows in spans(len(A), _ROWS):
            some = A.take(rows)
            for v in range(V):
                out[rows] += cloud.basis[v][:, None] * _values(self.terms[v], some, cloud.points)[:, None]
        flat = out.reshape(len(A), contrasts * m)
        return scipy.linalg.solve_triangular(cloud.factor, flat.T, lower=True, check_finite=False).T

    def tile(self, view: View) -> Floats:
        """Subtract the product of the contrasts from the sum of the kernels' tiles."""

        def make() -> tuple[Floats, Floats]:
            A, B = view.collections
            left = self._map(A)
            return left, left if B is A else self._map(B)

        left, right = view.comparison.keep(("contrasts", id(self), view.path), make)
        first, *rest = self.terms
        total = view.value(first)
        with np.errstate(over="ignore", invalid="ignore"):
            for term in rest:
                total += view.value(term)
            total -= row_products(left[view.rows], right[view.columns], same=view.on_diagonal)
        total /= len(self.terms) ** 2
        return self.guarded(total)

    def _diag(self, A: Samples) -> Floats:
        """Subtract the squared lengths of the contrasts; what is left is not negative but for rounding."""
        C = self._map(A)
        return np.maximum(np.sum(self._diags(A), axis=0) - np.einsum("ij,ij->i", C, C), 0.0) / len(self.terms) ** 2


def _values(kernel: Kernel, A: Samples, Z: Samples) -> Floats:
    """Return values of one view's kernel in float64, without further threads: this runs inside of tiles."""
    A, Z = narrowed(kernel, A), narrowed(kernel, Z)
    out = np.empty((len(A), len(Z)))
    fill(kernel, Comparison(kernel, A, Z, np.float64), out, n_threads=1)
    return out


def _cholesky(matrix: Floats) -> Floats:
    return scipy.linalg.cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
