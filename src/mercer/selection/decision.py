r"""Decisions: the point prediction that costs least, given how uncertain the prediction is and what errors cost.

Symbols: y ~ N(mu, s^2) the predictive distribution, f the prediction, u = (f - mu) / s, z = (y - mu) / s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import norm

from mercer.arrays import Floats, real_numbers
from mercer.errors import DomainError
from mercer.losses import Absolute, EpsilonInsensitive, Huber, Linex, Loss, Pinball, Squared

__all__ = ["decide", "expected_loss"]
__public__ = __all__

_REACH = 9.0  # standard deviations: beyond, the normal density is below 1e-18
_PANELS, _ORDER = 16, 8  # of each of the two sides of the prediction, where losses have their kinks
_CHUNK = 512  # predictions at a time
_WIDENINGS = 8
_STEPS = 45  # of the golden section: the interval shrinks to 4e-10 of itself
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


def decide(mean: Any, std: Any, loss: Loss | Callable[[Floats, Floats], Floats]) -> Floats:
    r"""Point predictions of least expected loss under normal predictive distributions.

    .. math:: \hat f(x) = \arg\min_f \int \psi(y, f) \, p(y \mid x, \text{data}) \, dy

    Seed: [SS] Section 4.3, Eqs. (89)-(90).

    Parameters
    ----------
    mean, std : arrays of one shape
        Mean and standard deviation of the predictive distributions of y, noise included.
    loss : Loss or callable
        ``loss(y, f)`` for arrays of one shape: the cost of predicting f where y comes true.

    Returns
    -------
    f : array of the same shape
        Where the standard deviation is zero, the mean.

    Notes
    -----
    In closed form for `Squared` (the mean), `Absolute` (the median, here the mean too), `Huber` and
    `EpsilonInsensitive` (symmetric), `Pinball` (the quantile) and `Linex` (mean + a variance / 2). For any other loss
    the expectation is a Gauss-Legendre sum over +-9 standard deviations, cut where f is, and is minimised by a scan,
    which is made wider until the minimum lies inside, and a golden section. The loss may have kinks; its least
    expectation should not hide in a valley narrower than a quarter of a standard deviation.

    Examples
    --------
    >>> decide([1.0, 1.0], [0.5, 2.0], Pinball(0.9)).round(3)
    array([1.641, 3.563])
    >>> decide([1.0], [2.0], lambda y, f: np.where(y > f, 9.0, 1.0) * abs(y - f)).round(3)
    array([3.563])
    """
    mu, s = np.broadcast_arrays(real_numbers(mean, "mean"), real_numbers(std, "std"))
    _require_normal(mu, s)
    if isinstance(loss, Loss):
        loss.check()
    if type(loss) in (Squared, Absolute, Huber, EpsilonInsensitive):
        return mu.copy()
    if isinstance(loss, Pinball):
        return mu + s * norm.ppf(loss.quantile)
    if isinstance(loss, Linex):
        return mu + 0.5 * loss.asymmetry * s * s
    out = mu.copy()
    flat, places = out.reshape(-1), np.flatnonzero(s.reshape(-1) > 0.0)
    for start in range(0, len(places), _CHUNK):
        at = places[start : start + _CHUNK]
        flat[at] = _minimise(mu.reshape(-1)[at], s.reshape(-1)[at], loss)
    return flat.reshape(mu.shape)


def expected_loss(mean: Any, std: Any, f: Any, loss: Loss | Callable[[Floats, Floats], Floats]) -> Floats:
    """Expected loss of point predictions under normal predictive distributions.

    Parameters
    ----------
    mean, std, f : arrays of one shape
    loss : Loss or callable

    Returns
    -------
    array of the same shape

    Examples
    --------
    >>> expected_loss([0.0], [1.0], [0.0], Absolute()).round(6)  # sqrt(2 / pi)
    array([0.797885])
    """
    mu, s, f = np.broadcast_arrays(real_numbers(mean, "mean"), real_numbers(std, "std"), real_numbers(f, "f"))
    _require_normal(mu, s)
    u = np.where(s > 0.0, (f - mu) / np.where(s > 0.0, s, 1.0), 0.0)
    out = _expectation(mu.reshape(-1), s.reshape(-1), u.reshape(-1), loss)
    certain = _cost(loss, mu, f)
    return np.where(s > 0.0, out.reshape(mu.shape), certain)


def _require_normal(mu: Floats, s: Floats) -> None:
    if not (np.isfinite(mu).all() and np.isfinite(s).all() and np.all(s >= 0.0)):
        raise DomainError(
            "decide was given a mean or a standard deviation that is not finite, or a negative standard deviation; "
            "finite numbers and standard deviations that are not negative are accepted. Look at the predictions."
        )


def _cost(loss: Any, y: Floats, f: Floats) -> Floats:
    return np.asarray(loss.value(y, f) if isinstance(loss, Loss) else loss(y, f), dtype=np.float64)


def _expectation(mu: Floats, s: Floats, u: Floats, loss: Any) -> Floats:
    """Expected losses of predictions mu + s u, (m,)."""
    nodes, weights = np.polynomial.legendre.leggauss(_ORDER)
    edges = np.arange(_PANELS)
    unit = ((edges[:, None] + 0.5 * (nodes + 1.0)) / _PANELS).ravel()  # in [0, 1]
    share = np.tile(0.5 * weights / _PANELS, _PANELS)
    cut = np.clip(u, -_REACH, _REACH)[:, None]
    z = np.hstack([-_REACH + (cut + _REACH) * unit, cut + (_REACH - cut) * unit])
    w = np.hstack([(cut + _REACH) * share, (_REACH - cut) * share]) * (np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi))
    y = mu[:, None] + s[:, None] * z
    f = np.broadcast_to((mu + s * u)[:, None], y.shape)
    return np.einsum("ij,ij->i", w, _cost(loss, y, f))


def _minimise(mu: Floats, s: Floats, loss: Any) -> Floats:
    """Predictions of least expected loss, (m,)."""
    center, reach = np.zeros(len(mu)), np.full(len(mu), 4.0)
    for _ in range(_WIDENINGS):
        center, inside = _scan(mu, s, center, reach, loss)
        if inside.all():
            break
        reach = np.where(inside, reach, 2.0 * reach)
    low, high = center - reach / 16.0, center + reach / 16.0
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = (_expectation(mu, s, u, loss) for u in (left, right))
    for _ in range(_STEPS):
        lower = at_left <= at_right
        low, high = np.where(lower, low, left), np.where(lower, right, high)
        new = np.where(lower, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        value = _expectation(mu, s, new, loss)
        left, right = np.where(lower, new, right), np.where(lower, left, new)
        at_left, at_right = np.where(lower, value, at_right), np.where(lower, at_left, value)
    return mu + s * 0.5 * (low + high)


def _scan(mu: Floats, s: Floats, center: Floats, reach: Floats, loss: Any) -> tuple[Floats, Any]:
    """Best of 33 points in center +- reach, and whether it is not an end of them."""
    grid = center + reach * np.linspace(-1.0, 1.0, 33)[:, None]
    values = np.array([_expectation(mu, s, u, loss) for u in grid])
    best = np.argmin(np.where(np.isfinite(values), values, np.inf), axis=0)
    return np.take_along_axis(grid, best[None], axis=0)[0], (best > 0) & (best < 32)
