r"""Probabilities from decision values: a sigmoid for two classes, coupling for more.

Symbols: ``f`` decision values, ``eta`` = slope f + offset, ``t`` targets, ``w`` weights, ``r_ij`` the probability of
class i where only i and j are possible, c classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from mercer.arrays import Array, Floats, real_numbers
from mercer.errors import ParameterError, TargetError
from mercer.runtime.tiling import spans

__all__ = ["Sigmoid", "couple", "fit_sigmoid", "normalize"]
__public__ = __all__

_TAIL = 1e-6  # probability below which the sigmoid falls more slowly than the logistic function
_FLAT = 1e-3  # change of eta over the decision values that counts as none
_STEPS = 100
_TOLERANCE = 1e-10  # length of the gradient per unit of weight
_BYTES = 2**23  # matrices that are solved at once


@dataclass(frozen=True)
class Sigmoid:
    r"""Probability of the positive class as an increasing function of the decision value.

    .. math:: p(f) = 1 / (1 + e^{-\eta}), \qquad \eta = \mathrm{slope} \cdot f + \mathrm{offset}

    Parameters
    ----------
    slope : float
        Positive.
    offset : float

    Notes
    -----
    The logistic function is one to working precision from eta = 37 on, so that different decision values would get
    the same probability and a ranking by probability would be worse than one by decision value. Below 1e-6 and above
    1 - 1e-6, where no calibration has the data to know better, the distance x to that point counts by its logarithm
    instead: :math:`1 - p = 10^{-6} / (1 + \log(1 + x))`, with a continuous derivative. Two decision values of up to
    100 in eta that differ by 1e-6 have different probabilities.

    Examples
    --------
    >>> Sigmoid(2.0, 0.0)(np.array([-1.0, 0.0, 1.0])).round(3)
    array([0.119, 0.5  , 0.881])
    """

    slope: float
    offset: float

    def __call__(self, f: Floats) -> Floats:
        """Return the probabilities of decision values, of the same shape."""
        eta = self.slope * np.asarray(f, dtype=np.float64) + self.offset
        turn = np.log1p(-_TAIL) - np.log(_TAIL)
        beyond = np.maximum(np.abs(eta) - turn, 0.0)
        # a little factor keeps the two pieces in order where they meet, whatever the rounding of expit
        tail = _TAIL * (1.0 - 1e-9) / (1.0 + np.log1p(beyond))
        tail = np.where(eta > 0.0, 1.0 - tail, tail)
        return np.where(np.abs(eta) < turn, expit(eta), tail)


def fit_sigmoid(values: Floats, y: Array, weight: Floats | None = None, prior: float = 1.0) -> Sigmoid:
    r"""Fit a sigmoid to decision values and classes by penalised maximum likelihood.

    .. math:: \min_{\mathrm{slope} > 0,\, \mathrm{offset}} \sum_i w_i
              \left(\log(1 + e^{\eta_i}) - t_i \eta_i\right)

    with Platt's targets t = (W+ + a) / (W+ + 2 a) for the positive and a / (W- + 2 a) for the negative samples, W+ and
    W- being the sums of their weights, so that a separable sample does not lead to certainty.

    Parameters
    ----------
    values : (n,) array
        Decision values of samples by machines that were not trained on them, as `leave_one_out_decisions` gives them.
    y : (n,) array
        Classes; those above zero are positive.
    weight : (n,) array, optional
        Non-negative; a weight of w is w samples.
    prior : float, default 1.0
        a, the weight of one imagined sample of either class on the wrong side. Positive. Where c classes are coupled,
        each takes part in c - 1 sigmoids; with 1 / (c - 1) they share the one sample.

    Returns
    -------
    sigmoid : Sigmoid
        Its slope is positive even if the values are useless or ranked against the classes: then eta changes by 0.001
        over the largest of the values, which is the proportion of the classes to three digits, in the order of the
        decision values. So the area under the curve of probabilities is always that of decision values.

    Notes
    -----
    Newton's method with backtracking, in values scaled by the largest; the objective is convex. Cost O(n) per step.

    References
    ----------
    Platt (2000), Probabilistic outputs for support vector machines. Lin, Lin and Weng (2007), A note on Platt's
    probabilistic outputs for support vector machines.

    Examples
    --------
    >>> f, y = np.array([-2.0, -1.0, 1.0, 2.0, -1.0, 1.0]), np.array([-1, -1, 1, 1, 1, -1])
    >>> sigmoid = fit_sigmoid(f, y)
    >>> sigmoid(np.array([-2.0, 0.0, 2.0])).round(3)
    array([0.303, 0.5  , 0.697])
    """
    values, positive = real_numbers(values, "values"), real_numbers(y, "y", TargetError) > 0
    w = np.ones(len(values)) if weight is None else real_numbers(weight, "weight")
    unit = float(np.max(np.abs(values), initial=0.0)) or 1.0
    up, down = float(w[positive].sum()), float(w[~positive].sum())
    t = np.where(positive, (up + prior) / (up + 2.0 * prior), prior / (down + 2.0 * prior))
    start = float(np.log(up + prior) - np.log(down + prior))
    slope, offset = _newton(values / unit, t, w, np.array([0.0, start]), fixed=False)
    if not slope > _FLAT:
        slope, offset = _newton(values / unit, t, w, np.array([_FLAT, start]), fixed=True)
    return Sigmoid(slope / unit, offset)


def _newton(x: Floats, t: Floats, w: Floats, point: Floats, fixed: bool) -> tuple[float, float]:
    """Slope and offset at the minimum, or the offset alone if the slope is fixed."""
    total = max(float(w.sum()), 1e-300)

    def risk(point: Floats) -> float:
        eta = point[0] * x + point[1]
        return float(w @ (np.logaddexp(0.0, eta) - t * eta)) / total

    value = risk(point)
    for _ in range(_STEPS):
        p = expit(point[0] * x + point[1])
        error, curve = w * (p - t) / total, w * p * (1.0 - p) / total
        gradient = np.array([0.0 if fixed else error @ x, error.sum()])
        if np.max(np.abs(gradient)) < _TOLERANCE:
            break
        mixed = 0.0 if fixed else curve @ x
        hessian = np.array([[1.0 if fixed else curve @ x**2, mixed], [mixed, curve.sum()]]) + 1e-12 * np.eye(2)
        step = np.linalg.solve(hessian, -gradient)
        size, slope = 1.0, float(gradient @ step)
        while size > 1e-10 and not risk(point + size * step) < value + 1e-4 * size * slope:
            size /= 2.0
        if size <= 1e-10:
            break  # rounding
        point = point + size * step
        value = risk(point)
    return float(point[0]), float(point[1])


def couple(P: Floats) -> Floats:
    r"""Probabilities of c classes from those of all pairs of classes.

    .. math:: \min_p \sum_i \sum_{j \ne i} (r_{ji} p_i - r_{ij} p_j)^2 \quad \text{s.t.} \quad \sum_i p_i = 1

    Parameters
    ----------
    P : (m, c (c - 1) / 2) array
        Probability r_ij of the first class of each pair, in the order (0, 1), (0, 2), ..., (1, 2), ...

    Returns
    -------
    p : (m, c) array
        Rows sum to one.

    Notes
    -----
    The minimum is proportional to :math:`(Q + 1 1^\top)^{-1} 1` with :math:`Q_{ii} = \sum_j r_{ji}^2`, :math:`Q_{ij} =
    -r_{ij} r_{ji}`; it is not negative, and exact where the pairs agree with some p. Cost O(m c^3), all samples at
    once. The class of the largest probability need not be that of the most votes.

    References
    ----------
    Wu, Lin and Weng (2004), Probability estimates for multi-class classification by pairwise coupling, second approach.

    Examples
    --------
    >>> p = np.array([0.5, 0.3, 0.2])
    >>> couple([[0.5 / 0.8, 0.5 / 0.7, 0.3 / 0.5]]).round(6)
    array([[0.5, 0.3, 0.2]])
    """
    P = np.asarray(P, dtype=np.float64)
    pairs = P.shape[1] if P.ndim == 2 else 0
    c = round((1.0 + np.sqrt(1.0 + 8.0 * pairs)) / 2.0)
    if not pairs or c * (c - 1) // 2 != pairs:
        raise ParameterError(
            f"Pairwise probabilities of shape {P.shape} were given; (m, c (c - 1) / 2) is accepted, that is 1, 3, 6, "
            "10, ... columns. Give one column per pair of classes."
        )
    i, j = np.triu_indices(c, 1)
    out = np.empty((len(P), c))
    for block in spans(len(P), max(_BYTES // (8 * c * c), 1)):
        r = P[block]
        Q = np.ones((len(r), c, c))
        Q[:, i, j] = Q[:, j, i] = 1.0 - r * (1.0 - r)
        losses = np.zeros((len(r), c, c))
        losses[:, i, j], losses[:, j, i] = (1.0 - r) ** 2, r**2  # r_ji^2 in row i
        np.einsum("kii->ki", Q)[:] += losses.sum(axis=2)
        out[block] = np.linalg.solve(Q, np.ones((len(r), c, 1)))[:, :, 0]
    return normalize(np.maximum(out, 0.0))


def normalize(P: Floats) -> Floats:
    """Scale the probabilities of c classes, each found against all others, so that rows sum to one.

    Parameters
    ----------
    P : (m, c) array
        Non-negative; a row of zeros is as likely one class as another.

    Returns
    -------
    p : (m, c) array

    Examples
    --------
    >>> normalize([[0.5, 0.25, 0.25], [0.2, 0.2, 0.0]])
    array([[0.5 , 0.25, 0.25],
           [0.5 , 0.5 , 0.  ]])
    """
    P = np.array(P, dtype=np.float64)
    total = P.sum(axis=1, keepdims=True)
    nothing = total[:, 0] <= 0.0
    P[nothing], total[nothing] = 1.0, P.shape[1]
    return P / total
