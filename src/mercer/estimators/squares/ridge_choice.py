"""The ridge of a regression that was given none: the best one for some of the samples, by leaving one out."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.gram import Dense
from mercer.kernels import Kernel
from mercer.kernels.vectors.pointwise import spaced_rows
from mercer.selection.path import RidgeSpectrum

__all__ = ["chosen_ridge"]

_FEWEST, _MOST, _SHARE = 100, 1000, 8  # an eighth of the samples: their spectrum costs a twentieth of the fit
_ROUNDING = 1e-24  # of the largest square of y: smaller errors are alike
_RIDGES = np.logspace(2.0, -6.0, 33)  # the largest of those that are as good is taken


def chosen_ridge(kernel: Kernel, S: Vectors, y: Floats, weight: Floats, intercept: bool, resources: Resources) -> float:
    r"""Return the ridge with the smallest squared error of samples left out, in closed form.

    .. math:: \min_\alpha \sum_i w_i (y_i - f_{-i}(x_i))^2

    An eighth of the samples decide, at least 100 and at most 1000, chosen along a fixed direction so that neither their
    order nor repeating a sample instead of weighting it matters. The ridge that is best hardly depends on how many
    samples there are: it is the ratio of the variance of noise to that of the function.

    Parameters
    ----------
    kernel : Kernel
        With numbers for all of its parameters.
    S : Vectors
    y : (n,) or (n, k) array
    weight : (n,) array
        Positive; a sample of weight w counts as w copies.
    intercept : bool
        Whether a constant is not penalised.
    resources : Resources

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-3.0, 3.0, size=(300, 1))
    >>> y = np.sin(x[:, 0]) + 0.3 * rng.normal(size=300)
    >>> ridge = chosen_ridge(Gaussian(1.0), Vectors.pack(x), y, np.ones(300), True, Resources())
    >>> 0.01 < ridge < 3.0
    True
    """
    total = float(weight.sum())
    wanted = int(min(max(_FEWEST, total / _SHARE), _MOST))
    if total > wanted:
        rows = spaced_rows(S, weight, wanted)
        S, y, weight = S.take(rows), y[rows], np.ones(wanted)
    K = Dense().build(kernel, S, resources).release()
    border = np.ones((len(S), 1)) if intercept else None
    values = y.reshape(len(S), -1)
    size = float(np.max(np.abs(values))) or 1.0  # squares must not overflow
    errors = RidgeSpectrum.of(K, weight, border).left_out_errors(values / size, _RIDGES, copies=True)
    totals = np.sum(weight * np.sum(errors**2, axis=2), axis=1)
    return float(_RIDGES[int(np.argmin(np.maximum(totals, _ROUNDING * weight.sum())))])
