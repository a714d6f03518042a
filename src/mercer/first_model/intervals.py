"""Intervals for predictions of numbers, by the errors on rows that were held out.

Symbols: r_1, ..., r_m the absolute errors on the rows held out, in order; f the fitted function.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_regressor

from mercer.arguments import checked
from mercer.arrays import Floats
from mercer.constraints import Interval
from mercer.errors import CapabilityError, ParameterError

__all__ = ["predict_interval"]


@checked(level=Interval(0.0, 1.0, closed="neither"))
def predict_interval(model: Any, X: Any, *, level: float = 0.9) -> Floats:
    r"""Return intervals that hold the targets of new rows with a probability that was measured, not assumed.

    .. math:: f(x) \pm r_{(k)}, \qquad k = \lceil (m + 1) \, \mathrm{level} \rceil

    This is split conformal prediction.

    Parameters
    ----------
    model : estimator
        A regressor that `mercer.automatic` has found: its ``held_`` are rows that took no part in the choice.
    X : as the model's
    level : float, default 0.9
        Between 0 and 1.

    Returns
    -------
    (m, 2) array
        Lower and upper ends.

    Notes
    -----
    For rows exchangeable with those of training, an interval of the function that was fitted without the rows held out
    contains the target with a probability between level and level + 1 / (m + 1), whatever the distribution of the data.
    The model itself was fitted to these rows as well, so its errors tend to be smaller. All intervals have the same
    width; where the noise varies, they are too wide in some places and too narrow in others. With groups, or over time,
    this holds as far as new groups and later times are like those held out.

    Examples
    --------
    >>> import mercer
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = mercer.automatic(X[:60], y[:60])
    >>> ends = mercer.predict_interval(model, X[60:], level=0.8)
    >>> bool(0.7 < ((ends[:, 0] < y[60:]) & (y[60:] < ends[:, 1])).mean() < 0.9)
    True
    """
    held = getattr(model, "held_", None)
    if held is None or not is_regressor(model):
        given = "None" if model is None else type(model).__name__
        raise CapabilityError(
            f"predict_interval was given {given}, which is not a regressor with rows held out. Give one "
            "that mercer.automatic(X, y) has found; Gaussian processes have predict(X, return_std=True)."
        )
    errors = np.sort(np.abs(np.asarray(held.targets, dtype=float) - held.predictions))
    place = int(np.ceil((len(errors) + 1) * level))
    if place > len(errors):
        raise ParameterError(
            f"level={level:g} was given, and {len(errors)} rows were held out; they can promise "
            f"{len(errors) / (len(errors) + 1):.3g} at most. Give a smaller level, or more rows to learn from."
        )
    centre = np.asarray(model.predict(X), dtype=float)
    return np.column_stack([centre - errors[place - 1], centre + errors[place - 1]])
