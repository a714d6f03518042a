"""What every loss must be: a cost with its own derivative."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.base import clone

from mercer.arrays import Floats
from mercer.language import parse
from mercer.losses import Loss

__all__ = ["check_loss"]
__public__ = __all__


def check_loss(loss: Loss, y: Sequence[float] = (-1.0, 1.0), *, convex: bool = True) -> None:
    """Check a loss: shapes, not negative, gradient = difference, convexity, curvature, Fenchel conjugate.

    Parameters
    ----------
    loss : Loss
    y : sequence of float, default (-1, 1)
        What may be observed.
    convex : bool, default True
        Whether the loss is convex in the prediction.

    Examples
    --------
    >>> from mercer.losses import Squared
    >>> check_loss(Squared())
    """
    loss.check()
    rng, step = np.random.default_rng(0), 1e-6
    targets = rng.choice(np.asarray(y, dtype=float), size=200)
    f = np.concatenate([rng.normal(size=150) * 3.0, targets[150:]])  # exact predictions are among them
    value, slope, curve = loss.value(targets, f), loss.gradient(targets, f), loss.curvature(targets, f)
    for what, numbers in (("value", value), ("gradient", slope), ("curvature", curve)):
        assert np.shape(numbers) == f.shape, f"{loss!r}: {what} has shape {np.shape(numbers)}"
        assert np.isfinite(numbers).all(), f"{loss!r}: {what} is not finite"
        pairs = getattr(loss, what)(targets.reshape(-1, 2), f.reshape(-1, 2))
        assert np.array_equal(pairs, numbers.reshape(-1, 2)), f"{loss!r}: {what} is not elementwise"
    assert (value >= 0).all(), f"{loss!r} is negative: {value.min()}"
    low = (value - loss.value(targets, f - step)) / step
    high = (loss.value(targets, f + step) - value) / step
    slack = 1e-5 * (1.0 + np.abs(slope))
    within = (slope >= np.minimum(low, high) - slack) & (slope <= np.maximum(low, high) + slack)
    assert within.all(), f"{loss!r}: the gradient is not the derivative at f = {f[~within][:1]}"
    assert (curve >= 0).all(), f"{loss!r}: a curvature is negative"
    other = f[::-1].copy()
    if convex:
        middle = loss.value(targets, 0.5 * (f + other))
        above = middle - 0.5 * (value + loss.value(targets, other))
        assert (above <= 1e-9 * (1.0 + np.abs(middle))).all(), f"{loss!r} is not convex"
        _check_conjugate(loss, targets, f)
    _check_curvature(loss, targets, f, other)
    assert parse(repr(loss), names={type(loss).__name__: type(loss)}) == loss, f"{loss!r} is not its text"
    assert clone(loss) == loss, f"a clone of {loss!r} is another loss"


def _check_curvature(loss: Loss, y: Floats, f: Floats, other: Floats) -> None:
    """Raise unless the curvature majorises or is the second derivative."""
    d = other - f
    quadratic = loss.value(y, f) + loss.gradient(y, f) * d + 0.5 * loss.curvature(y, f) * d * d
    majorises = (quadratic >= loss.value(y, other) - 1e-9 * (1.0 + np.abs(quadratic))).all()
    h = 1e-4
    second = (loss.value(y, f + h) - 2.0 * loss.value(y, f) + loss.value(y, f - h)) / h**2
    bends = np.abs(second - loss.curvature(y, f)) <= 1e-4 * (1.0 + np.abs(second))
    assert majorises or bends.all(), f"{loss!r}: the curvature neither majorises nor is the second derivative"


def _check_conjugate(loss: Loss, y: Floats, f: Floats) -> None:
    """Raise unless value and conjugate obey Fenchel and Young: u f at most, equal where u is the slope at f.

    Equality for every f says that the loss is the conjugate of its conjugate too.
    """
    value, slope = loss.value(y, f), loss.gradient(y, f)
    own = loss.conjugate(y, slope)
    assert np.shape(own) == f.shape, f"{loss!r}: conjugate has shape {np.shape(own)}"
    assert not np.isnan(own).any(), f"{loss!r}: a conjugate is not a number"
    size = 1.0 + np.abs(value) + np.abs(slope * f)
    off = np.abs(value + own - slope * f) > 1e-9 * size
    assert not off.any(), f"{loss!r}: value and conjugate do not meet at f = {f[off][:1]}, slope {slope[off][:1]}"
    rng = np.random.default_rng(1)
    for u in (slope[::-1].copy(), rng.normal(size=len(f)) * 0.5, np.zeros(len(f))):
        with np.errstate(over="ignore"):
            below = value + loss.conjugate(y, u) - u * f < -1e-9 * (size + np.abs(u * f))
        assert not below.any(), f"{loss!r}: the conjugate is too small at y = {y[below][:1]}, u = {u[below][:1]}"
