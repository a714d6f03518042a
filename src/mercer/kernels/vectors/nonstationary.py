"""Kernels whose behaviour changes from place to place: a length scale that depends on the point, a change at a point.

Symbols: l(x) the length scale at x, s(x) the weight of what is after a change, d columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import expit

from mercer.arrays import Floats
from mercer.constraints import InstanceOf, Integer, Interval, Positive, Satisfies
from mercer.domains import Samples, Vectors
from mercer.domains.samples import packed_pair
from mercer.errors import DomainError, ParameterError
from mercer.kernels.abilities import Differentiated
from mercer.kernels.comparison import common_dtype
from mercer.kernels.composite import offered
from mercer.kernels.kernel import Kernel, mirror, pullback
from mercer.kernels.user_calls import rows_of
from mercer.kernels.vectors.pointwise import dense
from mercer.spec import derived

__all__ = ["ChangePoint", "Gibbs"]
__public__ = __all__


class Gibbs(Kernel):
    r"""Gibbs kernel: a Gaussian kernel whose length scale is a function of the place.

    .. math:: k(x, x') = \Big(\frac{2\, l(x)\, l(x')}{l(x)^2 + l(x')^2}\Big)^{d/2}
        \exp\!\Big(-\frac{\|x - x'\|^2}{l(x)^2 + l(x')^2}\Big)

    Seed: none of the five gives it; Gibbs (1997). With constant l it is [HSS] Eq. (30).

    Parameters
    ----------
    length_scale : callable
        l: takes the (n, d) array of points and returns n positive numbers.

    Notes
    -----
    Domain Vectors. Features no; the function is the user's, and nothing is differentiated. Positive definite of order 0
    for any positive function: k is, up to a factor, the integral over u of N(u; x, l(x)^2 / 2) N(u; x', l(x')^2 / 2),
    an inner product of normal densities. Strict where the densities of different points are linearly independent, as
    normal densities with different means or variances are. Normalised and bounded. Cost O(mnd), an exponential for each
    pair.

    Examples
    --------
    >>> k = Gibbs(lambda X: 0.5 + X[:, 0])
    >>> k([[0.0], [1.0], [2.0]]).round(3)
    array([[1.   , 0.519, 0.335],
           [0.519, 1.   , 0.835],
           [0.335, 0.835, 1.   ]])
    """

    domain = Vectors
    formula = r"(2 l(x) l(x') / (l(x)^2 + l(x')^2))^{d/2} \exp(-\|x - x'\|^2 / (l(x)^2 + l(x')^2))"
    cost = "O(mnd), an exponential for each pair"
    strict = True
    normalised = True
    bounded = True

    constraints = {"length_scale": Satisfies("a function of all points", callable)}

    def __init__(self, length_scale: Callable[[Floats], Any]) -> None:
        self.length_scale = length_scale

    def check(self) -> Any:
        """Raise ParameterError unless there is a function."""
        if not callable(self.length_scale):
            raise ParameterError(
                f"Gibbs was given length_scale={self.length_scale!r}; a function of all points is accepted. For one "
                "number use Gaussian, or write for example Gibbs(lambda X: 1.0 + X[:, 0] ** 2)."
            )
        return super().check()

    def _scales(self, A: Samples) -> Floats:
        """Return l of all points."""
        values = rows_of(self.length_scale, dense(A), self, single=True)[:, 0]
        if not (values > 0.0).all():
            i = int(np.flatnonzero(~(values > 0.0))[0])
            raise DomainError(
                f"The function of {self!r} returned {values[i]:g} for sample {i}; a length scale is positive. Take for "
                "example the exponential of a function."
            )
        return values

    def block(self, A: Samples, B: Samples) -> Floats:
        """Return the kernel of all pairs."""
        A, B = packed_pair(A, B, self._ready)
        X, Z = dense(A), dense(B)
        l, m = self._scales(A), self._scales(B)
        larger = np.maximum(l[:, None], m)  # by which lengths are divided: squares must neither overflow nor vanish
        ratio = np.minimum(l[:, None], m) / larger
        rest = 1.0 + ratio**2
        with np.errstate(over="ignore"):
            K = (2.0 * ratio / rest) ** (0.5 * X.shape[1]) * np.exp(-((cdist(X, Z) / larger) ** 2) / rest)
        np.minimum(K, 1.0, out=K)
        K = K.astype(common_dtype(A, B), copy=False)
        return mirror(K) if B is A else K

    def _diag(self, A: Samples) -> Floats:
        """Return ones."""
        return np.ones(len(A))


class ChangePoint(Kernel, Differentiated):
    r"""Change point: one kernel before a value of a column, another one after it, and a soft passage between them.

    .. math:: k(x, x') = (1 - s(x)) (1 - s(x')) k_1(x, x') + s(x) s(x') k_2(x, x'), \qquad
        s(x) = \frac{1}{1 + e^{-(x_j - c) / w}}

    Seed: [STS] Theorem 7, f(x) k(x, x') f(x'), and sums of kernels.

    Parameters
    ----------
    before, after : Kernel
        k_1 and k_2, on vectors.
    location : float, default 0.0
        c, where the change is, in the unit of the column.
    width : float, default 1.0
        w > 0, how long it takes.
    column : int, default 0
        j, the column that tells before from after, such as time.

    Notes
    -----
    Domain Vectors. Features no; differentiable in all parameters if both kernels are. Positive definite of order 0 if
    both kernels are, as a sum of conformal changes of them. Functions before and after are independent. Cost that of
    both kernels.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> k = ChangePoint(Gaussian(10.0), Gaussian(0.1), location=0.0, width=0.5)
    >>> k([[-3.0], [-2.0], [2.0], [3.0]]).round(3)
    array([[0.995, 0.975, 0.016, 0.002],
           [0.975, 0.965, 0.016, 0.002],
           [0.016, 0.016, 0.965, 0.   ],
           [0.002, 0.002, 0.   , 0.995]])
    """

    domain = Vectors
    formula = r"(1 - s(x)) (1 - s(x')) k_1(x, x') + s(x) s(x') k_2(x, x')"
    cost = "that of both kernels"
    constraints = {
        "before": InstanceOf(Kernel),
        "after": InstanceOf(Kernel),
        "location": Interval(-np.inf, np.inf, closed="neither"),
        "width": Positive(),
        "column": Integer(0),
    }

    def __init__(
        self, before: Kernel, after: Kernel, location: float = 0.0, width: float = 1.0, column: int = 0
    ) -> None:
        self.before = before
        self.after = after
        self.location = location
        self.width = width
        self.column = column

    def check(self) -> Any:
        """Raise ParameterError unless both kernels are on vectors."""
        super().check()
        for kernel in (self.before, self.after):
            if kernel.domain is not Vectors:
                raise ParameterError(
                    f"ChangePoint was given {kernel!r}, a kernel on {kernel.domain.__name__}; both kernels must be on "
                    "vectors. Use for example Gaussian(1.0)."
                )
        return self

    @derived
    def order(self) -> int | None:
        """0 if both kernels are positive definite, else None."""
        return 0 if self.before.order == 0 and self.after.order == 0 else None

    @derived
    def bounded(self) -> bool:
        """Whether both kernels are."""
        return self.before.bounded and self.after.bounded

    @derived
    def continuous(self) -> bool:
        """Whether both kernels are."""
        return self.before.continuous and self.after.continuous

    @property
    def capabilities(self) -> frozenset[str]:
        """Derivatives in the parameters, if both kernels have them."""
        return super().capabilities & offered(self.before) & offered(self.after)

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Let both kernels learn."""
        before, after = (kernel.learn(S, y, weight) for kernel in (self.before, self.after))
        return self if before is self.before and after is self.after else self.replace(before=before, after=after)

    def _prepare(self, A: Samples) -> Samples:
        """Let both kernels add what they compute once per collection."""
        assert isinstance(A, Vectors)
        if self.column >= A.width:
            raise DomainError(
                f"X has {A.width} columns, but {self!r} reads column {self.column}; columns are counted from 0. Give "
                "the column that tells before from after."
            )
        return self.after.prepare(self.before.prepare(A))

    def _place(self, A: Samples) -> Floats:
        """Return (x_j - c) / w."""
        with np.errstate(over="ignore"):
            return (dense(A)[:, int(self.column)] - float(self.location)) / float(self.width)

    def block(self, A: Samples, B: Samples) -> Floats:
        """Return the sum of both kernels, each with its weights."""
        A, B = packed_pair(A, B, self._ready)
        u, v = self._place(A), self._place(B)
        before = np.asarray(self.before.block(A, B)) * np.multiply.outer(expit(-u), expit(-v))
        after = np.asarray(self.after.block(A, B)) * np.multiply.outer(expit(u), expit(v))
        K = (before + after).astype(common_dtype(A, B), copy=False)
        return mirror(K) if B is A else K

    def _diag(self, A: Samples) -> Floats:
        """Return the sum of both diagonals, each with its weights."""
        u = self._place(A)
        return expit(-u) ** 2 * self.before.diag(A) + expit(u) ** 2 * self.after.diag(A)

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the derivatives in the parameters of both kernels, then in location and width."""
        u, v = self._place(A), self._place(B)
        early, late = np.multiply.outer(expit(-u), expit(-v)), np.multiply.outer(expit(u), expit(v))
        inner = [pullback(self.before, A, B, W * early), pullback(self.after, A, B, W * late)]
        left = W * np.asarray(self.before.block(A, B)) * early
        right = W * np.asarray(self.after.block(A, B)) * late
        # d log s / du = 1 - s, d log (1 - s) / du = -s
        gradient = (right - (left + right) * expit(u)[:, None]).sum(axis=1)
        other = (right - (left + right) * expit(v)).sum(axis=0)
        moved = -(gradient.sum() + other.sum()) / float(self.width)
        finite = [np.where(np.isfinite(p), p, 0.0) for p in (u, v)]
        widened = -(gradient @ finite[0] + other @ finite[1]) / float(self.width)
        return np.concatenate([*inner, [moved, widened]])
