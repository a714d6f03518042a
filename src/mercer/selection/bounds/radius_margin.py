r"""The radius-margin bound: how large the ball around the data is, over how wide the margin is.

Symbols: R the radius of the smallest ball around the images of the samples, with weights b (b >= 0, sum 1); beta the
signed coefficients of the machine, xi its slacks; K~ = K + I / C, in which the squared hinge loss is a hard margin.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mercer.arrays import Floats, real_numbers
from mercer.domains import Samples
from mercer.errors import ParameterError, TargetError
from mercer.gram import Dense
from mercer.kernels import Kernel
from mercer.kernels.kernel import pullback
from mercer.solvers.box.masked import settle

__all__ = ["RadiusMargin", "RadiusMarginCriterion", "radius_margin", "smallest_ball"]
__public__ = __all__

_TOL = 1e-9  # of the scale of K (for the ball), of the margin (for the machine)
_LOSSES = ("squared_hinge", "hinge")


class Ball(NamedTuple):
    """Squared radius and weights of the samples whose mean is the centre."""

    radius2: float
    weight: Floats


class RadiusMargin(NamedTuple):
    """The bound, its two factors, and its derivatives.

    Attributes
    ----------
    value : float
        On the number of errors of samples left out.
    radius2 : float
        R^2, with what the loss adds to it.
    norm2 : float
        1 / margin^2, with what the loss adds to it.
    slope : (n, n) array
        Derivative of the value in K.
    slope_C : float
        Derivative of the value in C.
    """

    value: float
    radius2: float
    norm2: float
    slope: Floats
    slope_C: float


def smallest_ball(K: Any) -> Ball:
    r"""Smallest ball that holds the images of all samples.

    .. math:: R^2 = \max_b \sum_i b_i K_{ii} - b^\top K b, \qquad b_i \ge 0, \; \sum_i b_i = 1

    Seed: [HSS] Section 3.2.4; [SS] Section 3.1.5.

    Parameters
    ----------
    K : (n, n) array
        Gram matrix.

    Returns
    -------
    Ball
        ``radius2`` and ``weight``.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [4.0]])
    >>> ball = smallest_ball(X @ X.T)
    >>> round(ball.radius2, 9), ball.weight.round(6)
    (4.0, array([0.5, 0. , 0.5]))
    """
    K = real_numbers(K, "K")
    n, d = len(K), np.diagonal(K).copy()
    scale = float(np.abs(K).max()) or 1.0
    A = 2.0 * K / scale
    b = np.full(n, 1.0 / n)
    settle(A, g := A @ b - d / scale, b, (np.zeros(n), np.ones(n)), _TOL)
    del g
    return Ball(max(0.0, float(b @ d - b @ K @ b)), b)


def radius_margin(K: Any, y: Any, C: float = 1.0, *, loss: str = "squared_hinge") -> RadiusMargin:
    r"""Radius-margin bound on the errors of a support vector machine on samples left out, with its gradient.

    .. math:: \#\{i : y_i f_{-i}(x_i) \le 0\} \le R^2 \|w\|^2

    for the hard margin, which the squared hinge loss is with K + I / C in the place of K. For the hinge loss it is no
    theorem but the *modified* form :math:`(R^2 + 1/C)(\|w\|^2 + 2 C \sum_i \xi_i)`, which has its minimum at similar
    places.

    Seed: [SS] Section 5; [HSS] Section 3.2.4.

    Parameters
    ----------
    K : (n, n) array
        Gram matrix.
    y : (n,) array
        +1 and -1.
    C : float
        Cost; ``inf`` is the hard margin.
    loss : {"squared_hinge", "hinge"}, default "squared_hinge"

    Returns
    -------
    RadiusMargin

    Notes
    -----
    Both factors are optima of quadratic programs, so their derivatives are those of the objectives where the solutions
    are: :math:`dR^2 = \sum_i b_i dK_{ii} - b^\top dK b` and :math:`d\|w\|^2 = -\beta^\top dK \beta`.

    References
    ----------
    Chapelle, Vapnik, Bousquet and Mukherjee (2002), Choosing multiple parameters for support vector machines. Chung,
    Kao, Sun, Wang and Lin (2003), Radius margin bounds for support vector machines with the RBF kernel.

    Examples
    --------
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> found = radius_margin(X @ X.T, y, np.inf)
    >>> round(found.radius2, 6), round(found.norm2, 6)  # a ball of radius 2, a margin of 1
    (4.0, 1.0)
    """
    if loss not in _LOSSES:
        raise ParameterError(f"loss={loss!r} was given; 'squared_hinge' and 'hinge' are accepted. Use one of these.")
    K = np.ascontiguousarray(real_numbers(K, "K"))
    sign = real_numbers(y, "y", TargetError)
    if not np.array_equal(np.unique(sign), [-1.0, 1.0]):
        raise TargetError(
            "The radius-margin bound was given targets other than +1 and -1, or one of them only; two classes with "
            "these numbers are accepted. Encode the classes as +1 and -1."
        )
    if loss == "hinge" and np.isfinite(C):
        return _modified(K, sign, float(C))
    squared = K.copy()
    squared[np.diag_indices_from(squared)] += 1.0 / C
    beta = _machine(squared, sign, np.inf)
    ball = smallest_ball(squared)
    norm2 = float(beta @ squared @ beta)
    slope = _product_slope(ball, beta, norm2, ball.radius2)
    slope_C = 0.0
    if np.isfinite(C):  # dK~ = -I / C^2 dC
        slope_C = -float(np.trace(slope)) / C**2
    return RadiusMargin(ball.radius2 * norm2, ball.radius2, norm2, slope, slope_C)


def _modified(K: Floats, sign: Floats, C: float) -> RadiusMargin:
    beta = _machine(K, sign, C)
    ball = smallest_ball(K)
    f = K @ beta
    up, down = beta < np.maximum(C * sign, 0.0), beta > np.minimum(C * sign, 0.0)
    free = up & down
    g = f - sign
    bias = -float(g[free].mean()) if free.any() else -0.5 * (float(g[up].min()) + float(g[down].max()))
    slack = float(np.maximum(0.0, 1.0 - sign * (f + bias)).sum())
    radius2, norm2 = ball.radius2 + 1.0 / C, float(beta @ f) + 2.0 * C * slack
    slope = _product_slope(ball, beta, norm2, radius2)
    return RadiusMargin(radius2 * norm2, radius2, norm2, slope, 2.0 * slack * radius2 - norm2 / C**2)


def _machine(K: Floats, sign: Floats, C: float) -> Floats:
    """Coefficients of the machine with the hinge loss, or of the hard margin."""
    end = np.where(sign > 0, C, -C)
    beta, g = np.zeros(len(sign)), -sign
    settle(K, g, beta, (np.minimum(end, 0.0), np.maximum(end, 0.0)), _TOL)
    return beta


def _product_slope(ball: Ball, beta: Floats, norm2: float, radius2: float) -> Floats:
    """Derivative of R^2 |w|^2 in K."""
    D = -norm2 * np.outer(ball.weight, ball.weight) - radius2 * np.outer(beta, beta)
    D[np.diag_indices_from(D)] += norm2 * ball.weight
    return D


class RadiusMarginCriterion:
    """Logarithm of the radius-margin bound as a function of the kernel and of C, for `tune`.

    Seed: [SS] Section 5; [HSS] Section 3.2.4.

    Parameters
    ----------
    S : Samples
    y : (n,) array
        +1 and -1.
    loss : {"squared_hinge", "hinge"}, default "squared_hinge"

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Gaussian
    >>> criterion = RadiusMarginCriterion(Vectors.pack([[0.0], [1.0], [4.0]]), np.array([1.0, 1.0, -1.0]))
    >>> value, slope, beside = criterion(Gaussian(1.0), {"C": np.array(10.0)})
    >>> round(value, 3)
    0.239
    """

    def __init__(self, S: Samples, y: Any, loss: str = "squared_hinge") -> None:
        self.S, self.y, self.loss = S, y, loss

    def __call__(self, kernel: Kernel, beside: Mapping[str, Floats]) -> tuple[float, Floats, dict[str, Floats]]:
        """Return the value, its derivatives in the free parameters of the kernel, and in C."""
        gram = Dense().build(kernel, self.S)
        found = radius_margin(gram.array, self.y, float(beside["C"]), loss=self.loss)
        slope = pullback(kernel, gram.samples, gram.samples, found.slope) / found.value
        return float(np.log(found.value)), slope, {"C": np.asarray(found.slope_C / found.value)}
