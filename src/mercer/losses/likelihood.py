r"""Losses that are minus the logarithm of a likelihood, for responses on scales other than the real line.

Symbols: ``f`` the linear predictor, any real number; ``mu`` the mean of the response, a function of f; ``p`` a
probability; ``theta`` thresholds; ``sigma`` the logistic function 1 / (1 + exp(-f)).
Constants make each loss half a deviance: zero where the prediction could not be better.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy.special import expit, logit, xlogy

from mercer.arrays import Floats
from mercer.constraints import Array, Integer, Satisfies
from mercer.losses.loss import Loss, entropy, within

__all__ = ["Logistic", "Multinomial", "Poisson", "Binomial", "Gamma", "Ordinal", "HasMean"]
__public__ = __all__

_ONE = 1e-9  # by which probabilities may miss their sum
_HALF = 0.5  # of an observation: what is added so that a share of zero or one has a finite logit


@runtime_checkable
class HasMean(Protocol):
    """A loss with a link: the mean of the response is a function of the prediction."""

    def mean(self, f: Floats) -> Floats:
        """Mean of the response, of the shape of f."""
        ...

    def link(self, mu: Floats) -> Floats:
        """Prediction with this mean."""
        ...

    def guess(self, y: Floats) -> Floats:
        """Rough predictions from y alone, from which an iteration may start."""
        ...


def _both(y: Floats, f: Floats) -> tuple[Floats, Floats]:
    return np.asarray(y, dtype=np.float64), np.asarray(f, dtype=np.float64)


def _softplus(f: Floats) -> Floats:
    """log(1 + exp(f)), which neither overflows nor loses digits."""
    return np.logaddexp(0.0, f)


def _both_entropies(q: Floats, total: Floats | float = 1.0) -> Floats:
    """Return q log(q / t) + (t - q) log(1 - q / t) for 0 <= q <= t, infinite elsewhere."""
    inside = np.clip(q, 0.0, total)
    value = xlogy(inside, inside / total) + xlogy(total - inside, 1.0 - inside / total)
    return within(q, 0.0, total, value)


def _bell(f: Floats) -> Floats:
    """Derivative of the logistic function; from minus its absolute value, so that it does not round to zero early."""
    tail = expit(-np.abs(f))
    return tail * (1.0 - tail)


class Logistic(Loss):
    r"""Logistic loss: minus the logarithm of the probability of the class that was observed.

    .. math:: \psi(y, f) = \log(1 + e^{-y f}), \qquad P(y \mid f) = \frac{1}{1 + e^{-y f}}, \quad y \in \{-1, 1\}

    Seed: [HSS] Eq. (104), Section 3.2.3 (Eq. (93) for its calibration).

    Notes
    -----
    Convex, smooth; the curvature is the second derivative, at most 1/4. Strictly proper: estimates the logarithm of
    the odds.

    Examples
    --------
    >>> Logistic().value([1.0, -1.0, 1.0], [0.0, 800.0, 800.0]).round(3)
    array([6.93e-01, 8.00e+02, 0.00e+00])
    """

    smooth = True

    def value(self, y: Floats, f: Floats) -> Floats:
        y, f = _both(y, f)
        return _softplus(-y * f)

    def gradient(self, y: Floats, f: Floats) -> Floats:
        y, f = _both(y, f)
        return -y * expit(-y * f)

    def curvature(self, y: Floats, f: Floats) -> Floats:
        y, f = _both(y, f)
        return _bell(y * f)

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        r"""Return :math:`t \log t + (1 - t) \log(1 - t)` with :math:`t = -y u` in [0, 1], infinite elsewhere."""
        y, u = _both(y, u)
        return _both_entropies(-y * u)

    def mean(self, f: Floats) -> Floats:
        """Probability of the class +1."""
        return expit(np.asarray(f, dtype=np.float64))

    def link(self, mu: Floats) -> Floats:
        """Logarithm of the odds."""
        return logit(np.asarray(mu, dtype=np.float64))

    def guess(self, y: Floats) -> Floats:
        """Zero: both classes are equally likely."""
        return np.zeros_like(np.asarray(y, dtype=np.float64))


class Multinomial(Loss):
    r"""Softmax cross-entropy: minus the logarithm of the probability of the class that was observed, among several.

    .. math:: \psi(y, f) = -\sum_c y_c \log p_c, \qquad p_c = \frac{e^{f_c}}{\sum_d e^{f_d}}

    Seed: [HSS] Eq. (103) for classes; (104) with several outputs.

    Notes
    -----
    y and f have one column per class, and a row of y is 1 in the column of its class, 0 elsewhere. The loss of a
    sample is the sum of its row. Convex, smooth; the second derivative joins the classes of a sample,
    :math:`\mathrm{diag}(p) - p p^\top`: ``curvature`` is its diagonal, ``hessian_product`` all of it. A number added
    to all classes of a sample changes nothing.

    Examples
    --------
    >>> Multinomial().value([[0.0, 1.0]], [[5.0, 5.0]]).round(3)
    array([[0.   , 0.693]])
    """

    smooth = True

    def mean(self, f: Floats) -> Floats:
        """Probabilities of the classes, rows that sum to one."""
        f = np.asarray(f, dtype=np.float64)
        e = np.exp(f - f.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    def log_mean(self, f: Floats) -> Floats:
        """Logarithms of the probabilities, (n, c)."""
        f = np.asarray(f, dtype=np.float64)
        below = f - f.max(axis=-1, keepdims=True)
        return below - np.log(np.exp(below).sum(axis=-1, keepdims=True))

    def link(self, mu: Floats) -> Floats:
        """Logarithms of the probabilities: one of the predictions that have them."""
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(mu, dtype=np.float64))

    def value(self, y: Floats, f: Floats) -> Floats:
        y, f = _both(y, f)
        return -y * self.log_mean(f) + 0.0

    def gradient(self, y: Floats, f: Floats) -> Floats:
        y, f = _both(y, f)
        return self.mean(f) * y.sum(axis=-1, keepdims=True) - y

    def curvature(self, y: Floats, f: Floats) -> Floats:
        y, f = _both(y, f)
        p = self.mean(f)
        return p * (1.0 - p) * y.sum(axis=-1, keepdims=True)

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        r"""Return :math:`q_c \log q_c` with q = y + u, whose rows must be probabilities, infinite elsewhere.

        As for the value, that of a sample is the sum of its row. Rows of u must sum to zero within 1e-9, which allows
        for rounding.
        """
        y, u = _both(y, u)
        total, q = y.sum(axis=-1, keepdims=True), y + u
        off = np.abs(q.sum(axis=-1, keepdims=True) - total)
        inside = np.clip(q, 0.0, total)
        good = (off <= _ONE * total) & (q >= -_ONE * total) & (total > 0.0)
        return np.where(good, xlogy(inside, inside / np.where(total > 0.0, total, 1.0)), np.inf)

    def hessian_product(self, y: Floats, f: Floats, V: Floats) -> Floats:
        """Second derivative of each sample times its row of V, (n, c)."""
        y, f = _both(y, f)
        p = self.mean(f)
        return p * (V - np.sum(p * V, axis=-1, keepdims=True)) * y.sum(axis=-1, keepdims=True)

    def guess(self, y: Floats) -> Floats:
        """Zero: all classes are equally likely."""
        return np.zeros_like(np.asarray(y, dtype=np.float64))


class Poisson(Loss):
    r"""Poisson loss, for counts: half the deviance, with a logarithmic link.

    .. math:: \psi(y, f) = \mu - y f + y \log y - y, \qquad \mu = e^f, \quad y \ge 0

    Seed: [HSS] Eq. (104) for another response scale.

    Notes
    -----
    Convex, smooth; the curvature is the second derivative, mu, which grows without bound.

    Examples
    --------
    >>> Poisson().value([2.0, 0.0], [np.log(2.0), -800.0])
    array([0., 0.])
    """

    smooth = True

    def value(self, y: Floats, f: Floats) -> Floats:
        y, f = _both(y, f)
        with np.errstate(over="ignore", invalid="ignore"):
            # y (e^d - 1 - d) with d the distance from the best prediction, without cancellation near it
            d = f - np.log(np.where(y > 0.0, y, 1.0))
            return np.where(y > 0.0, y * np.maximum(_excess(d), 0.0), np.exp(f))

    def gradient(self, y: Floats, f: Floats) -> Floats:
        y, f = _both(y, f)
        with np.errstate(over="ignore"):
            return np.exp(f) - y

    def curvature(self, y: Floats, f: Floats) -> Floats:
        y, f = _both(y, f)
        with np.errstate(over="ignore"):
            return np.exp(f) * np.ones_like(y)

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        r"""Return :math:`q \log q - q - y \log y + y` with :math:`q = y + u \ge 0`, infinite elsewhere."""
        y, u = _both(y, u)
        at_zero = xlogy(np.maximum(u, 0.0), np.maximum(u, 0.0)) - u
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            other = y * entropy(u / np.where(y > 0.0, y, 1.0)) + u * np.log(np.where(y > 0.0, y, 1.0))
        return within(u, -y, np.inf, np.where(y > 0.0, other, at_zero))

    def mean(self, f: Floats) -> Floats:
        """Mean count."""
        with np.errstate(over="ignore"):
            return np.exp(np.asarray(f, dtype=np.float64))

    def link(self, mu: Floats) -> Floats:
        """Logarithm of the mean."""
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(mu, dtype=np.float64))

    def guess(self, y: Floats) -> Floats:
        """Logarithm of a count half-way to the mean of all."""
        return _log_half_way(y)


class Gamma(Loss):
    r"""Gamma loss, for positive responses with a constant ratio of spread to mean; logarithmic link.

    .. math:: \psi(y, f) = y / \mu - 1 - \log(y / \mu), \qquad \mu = e^f, \quad y > 0

    Seed: [HSS] Eq. (104) for another response scale, with a link that is not the canonical one.

    Notes
    -----
    Convex, smooth; the curvature is the second derivative, y / mu.

    Examples
    --------
    >>> Gamma().value([2.0, 1.0], [np.log(2.0), 800.0])
    array([  0., 799.])
    """

    smooth = True

    def value(self, y: Floats, f: Floats) -> Floats:
        y, f = _both(y, f)
        with np.errstate(over="ignore"):
            return np.maximum(_excess(np.log(y) - f), 0.0)

    def gradient(self, y: Floats, f: Floats) -> Floats:
        y, f = _both(y, f)
        with np.errstate(over="ignore"):
            return -np.expm1(np.log(y) - f)

    def curvature(self, y: Floats, f: Floats) -> Floats:
        y, f = _both(y, f)
        with np.errstate(over="ignore"):
            return np.exp(np.log(y) - f)

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        r"""Return :math:`(1 - u) \log(1 - u) + u + u \log y` for :math:`u \le 1`, infinite elsewhere."""
        y, u = _both(y, u)
        return within(u, -np.inf, 1.0, entropy(-u) + u * np.log(y))

    def mean(self, f: Floats) -> Floats:
        """Mean response."""
        with np.errstate(over="ignore"):
            return np.exp(np.asarray(f, dtype=np.float64))

    def link(self, mu: Floats) -> Floats:
        """Logarithm of the mean."""
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(mu, dtype=np.float64))

    def guess(self, y: Floats) -> Floats:
        """Logarithm of a response half-way to the mean of all."""
        return _log_half_way(y)


class Binomial(Loss):
    r"""Binomial loss, for counts of successes out of a number of trials: half the deviance, logistic link.

    .. math:: \psi(y, f) = t \log(1 + e^f) - y f + y \log \tfrac{y}{t} + (t - y) \log(1 - \tfrac{y}{t}),
              \qquad P = \frac{1}{1 + e^{-f}}

    Seed: [HSS] Eq. (104) for another response scale.

    Parameters
    ----------
    trials : int, default 1
        t. With 1, y may be any share of successes between 0 and 1; the numbers of trials are then the weights of the
        samples, which may differ.

    Notes
    -----
    Convex, smooth; the curvature is the second derivative, at most t / 4. y = 0 and 1 of one trial give the logistic
    loss.

    Examples
    --------
    >>> Binomial(4).value([2.0, 4.0], [0.0, 800.0])
    array([0., 0.])
    """

    smooth = True
    constraints = {"trials": Integer(1)}

    def __init__(self, trials: int = 1) -> None:
        self.trials = trials

    def value(self, y: Floats, f: Floats) -> Floats:
        y, f = _both(y, f)
        failures = self.trials - y
        best = xlogy(y, y / self.trials) + xlogy(failures, failures / self.trials)
        return np.maximum(y * _softplus(-f) + failures * _softplus(f) + best, 0.0)

    def gradient(self, y: Floats, f: Floats) -> Floats:
        y, f = _both(y, f)
        return (self.trials - y) * expit(f) - y * expit(-f)

    def curvature(self, y: Floats, f: Floats) -> Floats:
        y, f = _both(y, f)
        return self.trials * _bell(f) * np.ones_like(y)

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        r"""Return the entropies :math:`q \log \frac q t + (t - q) \log(1 - \frac q t)` of q = y + u less those of y."""
        y, u = _both(y, u)
        return _both_entropies(y + u, self.trials) - _both_entropies(y, self.trials)

    def mean(self, f: Floats) -> Floats:
        """Mean number of successes."""
        return self.trials * expit(np.asarray(f, dtype=np.float64))

    def link(self, mu: Floats) -> Floats:
        """Logarithm of the odds of success."""
        return logit(np.asarray(mu, dtype=np.float64) / self.trials)

    def guess(self, y: Floats) -> Floats:
        """Logit of the share of successes, one half of each added."""
        return logit((np.asarray(y, dtype=np.float64) + _HALF) / (self.trials + 2.0 * _HALF))


def _increase(value: Any) -> bool:
    return Array(1).accepts(value) and bool((np.diff(np.asarray(value, dtype=np.float64)) > 0.0).all())


class Ordinal(Loss):
    r"""Cumulative logit loss, for ordered classes: a latent number falls between two thresholds.

    .. math:: \psi(y, f) = -\log\bigl(\sigma(\theta_{y+1} - f) - \sigma(\theta_y - f)\bigr), \qquad
              y = 0, \dots, q, \quad -\infty = \theta_0 < \theta_1 < \dots < \theta_q < \theta_{q+1} = \infty

    Seed: [HSS] Section 4.1.3 (other response scales), Section 3.1.4 (ordinal regression); the proportional-odds model
    of McCullagh (1980).

    Parameters
    ----------
    thresholds : sequence of float, default (0.0,)
        theta_1 < ... < theta_q, one less than there are classes. A solver of `SmoothRisk` improves them together with
        the function.

    Notes
    -----
    Convex in f and the thresholds together, smooth; the curvature is the second derivative in f, at most 1/2. With
    one threshold at zero it is the logistic loss.

    Examples
    --------
    >>> Ordinal((-1.0, 1.0)).probabilities(np.array([0.0])).round(3)
    array([[0.269, 0.462, 0.269]])
    """

    smooth = True
    constraints = {"thresholds": Satisfies("finite numbers that increase", _increase, "(-1.0, 1.0)")}

    def __init__(self, thresholds: Any = (0.0,)) -> None:
        self.thresholds = thresholds

    @property
    def parameters(self) -> Floats:
        """The thresholds, (q,): what is estimated besides f."""
        return np.asarray(self.thresholds, dtype=np.float64)

    def with_parameters(self, parameters: Floats) -> Ordinal:
        """The same loss with other thresholds."""
        return Ordinal(tuple(float(theta) for theta in parameters))

    def _ends(self, y: Floats, f: Floats) -> tuple[Floats, Floats, Floats]:
        """Distances of f from the upper and the lower threshold of the class, and of these from each other."""
        y, f = _both(y, f)
        theta = np.concatenate([[-np.inf], self.parameters, [np.inf]])
        code = y.astype(np.intp)
        return theta[code + 1] - f, theta[code] - f, theta[code + 1] - theta[code]

    def value(self, y: Floats, f: Floats) -> Floats:
        upper, lower, gap = self._ends(y, f)
        # sigma(u) - sigma(l) = sigma(u) sigma(-l) (1 - exp(l - u)): no difference of numbers that are nearly equal
        with np.errstate(divide="ignore", invalid="ignore"):
            width = np.where(gap > 0.0, -np.log(-np.expm1(-gap)), np.inf)
        return _softplus(-upper) + _softplus(lower) + width

    def gradient(self, y: Floats, f: Floats) -> Floats:
        upper, lower, _ = self._ends(y, f)
        return expit(-upper) - expit(lower)

    def curvature(self, y: Floats, f: Floats) -> Floats:
        upper, lower, _ = self._ends(y, f)
        return _bell(upper) + _bell(lower)

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        r"""Return u f - psi(y, f) at the f with slope u, which solves a quadratic equation in exp(f); |u| <= 1.

        For the lowest class :math:`u \theta_1 + u \log u + (1 - u) \log(1 - u)` with u in [0, 1]; the highest is its
        mirror image.
        """
        y, u = _both(y, u)
        y, u = np.broadcast_arrays(y, u)
        theta = np.concatenate([[-np.inf], self.parameters, [np.inf]])
        code = y.astype(np.intp)
        lower, upper = theta[code], theta[code + 1]
        with np.errstate(invalid="ignore", divide="ignore"):
            inner = _ordinal_conjugate(lower, upper, u)
            lowest = u * upper + _both_entropies(u)
            highest = u * lower + _both_entropies(-u)
        return np.where(np.isinf(lower), lowest, np.where(np.isinf(upper), highest, inner))

    def parameter_terms(self, y: Floats, f: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
        """Derivatives in the thresholds of the weighted sum: first (q,), mixed with f (n, q), second (q, q)."""
        upper, lower, gap = self._ends(y, f)
        q, code, weight = len(self.parameters), np.asarray(y).astype(np.intp), np.asarray(weight, dtype=np.float64)
        with np.errstate(over="ignore"):
            odds = 1.0 / np.expm1(gap)  # how much the width of a class matters
        first, mixed, second = np.zeros(q + 2), np.zeros((len(code), q + 2)), np.zeros((q + 2, q + 2))
        np.add.at(first, code + 1, -weight * (expit(-upper) + odds))
        np.add.at(first, code, weight * (expit(lower) + odds))
        rows, bend = np.arange(len(code)), weight * odds * (1.0 + odds)
        mixed[rows, code + 1], mixed[rows, code] = -weight * _bell(upper), -weight * _bell(lower)
        np.add.at(second, (code + 1, code + 1), weight * _bell(upper) + bend)
        np.add.at(second, (code, code), weight * _bell(lower) + bend)
        np.add.at(second, (code + 1, code), -bend)
        np.add.at(second, (code, code + 1), -bend)
        return first[1:-1], mixed[:, 1:-1], second[1:-1, 1:-1]

    def probabilities(self, f: Floats) -> Floats:
        """Probability of each class, (n, q + 1), rows that sum to one."""
        f = np.asarray(f, dtype=np.float64)
        every = np.broadcast_to(np.arange(len(self.parameters) + 1.0), (len(f), len(self.parameters) + 1))
        return np.exp(-self.value(every, f[:, None]))


def _ordinal_conjugate(lower: Floats, upper: Floats, u: Floats) -> Floats:
    """Conjugate of softplus(f - upper) + softplus(lower - f) - log(1 - exp(lower - upper)).

    With f = middle + g and h half the distance, X = exp(g) solves (1 - u) X^2 - 2 u cosh(h) X - (1 + u) = 0.
    """
    h = 0.5 * (upper - lower)
    size = np.minimum(np.abs(u), 1.0)
    bend = 0.5 * size * (1.0 + np.exp(-2.0 * h))  # |u| cosh(h), times exp(-h) as all that follows
    root = bend + np.sqrt(bend * bend + (1.0 - size) * (1.0 + size) * np.exp(-2.0 * h))
    distance = h + np.log(root) - np.log1p(-size)  # of f from the middle; infinite at the ends of the domain
    near = np.where(np.isfinite(distance), distance, 0.0)
    softs = _softplus(near - h) + _softplus(-near - h)
    width = -np.log(-np.expm1(-2.0 * h))
    value = np.where(size < 1.0, size * near - softs, h)  # at the end s - softplus(s - h) goes to h
    return within(u, -1.0, 1.0, 0.5 * u * (upper + lower) + value - width)


def _excess(d: Floats) -> Floats:
    """exp(d) - 1 - d, by its series where the difference would lose all digits."""
    small = np.abs(d) < 1e-3
    near = np.where(small, d, 0.0)
    return np.where(small, near * near * (0.5 + near * (1.0 / 6.0 + near / 24.0)), np.expm1(d) - d)


def _log_half_way(y: Floats) -> Floats:
    y = np.asarray(y, dtype=np.float64)
    middle = y.mean(axis=0)
    return np.log(np.maximum(0.5 * (y + np.where(middle > 0.0, middle, 1.0)), np.finfo(float).tiny))
