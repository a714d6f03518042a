"""Pruning of least squares machines: a sparse model in a second stage.

Symbols: a the coefficients, a_i = C w_i times the error at sample i: small ones belong to samples that the machine
explains anyway; w sample weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices, real_numbers
from mercer.errors import ParameterError, TargetError
from mercer.runtime.tiling import blas_for
from mercer.selection.leave_one_out import leave_one_out
from mercer.solvers.linear.cholesky_solver import Factored

__all__ = ["Pruned", "prune"]
__public__ = __all__


@dataclass(frozen=True, eq=False)
class Pruned:
    """The smallest machine that is as good as the whole one, or nearly so.

    Attributes
    ----------
    support : (q,) array of int
        The samples that are left.
    coef : (q, k) array
        Their coefficients; columns sum to zero.
    intercept : (k,) array
    left_out : (n, k) array
        Value at each sample of a machine that does not know it: of the samples that are left by leaving one out.
    sizes : (t,) array of int
        Samples that were left after each round, the first being all.
    errors : (t,) array
        Mean loss of the left-out values in each round; the last is of the round that was not accepted, if any.
    """

    support: Indices
    coef: Floats
    intercept: Floats
    left_out: Floats
    sizes: Indices
    errors: Floats


def prune(
    K: Floats,
    y: Floats,
    C: float,
    weight: Floats | None = None,
    *,
    fraction: float = 0.05,
    tolerance: float | None = None,
    loss: str = "squared",
    monitor: Callable[[float], Any] | None = None,
) -> Pruned:
    """Drop the samples of the smallest coefficients, fit again, and go on while the left-out error does not grow.

    Seed: [SS] Section 3.4.3 (sparse representation in a second stage, [120], [119]).

    Parameters
    ----------
    K : (n, n) array
        Gram matrix; it is not changed.
    y : (n,) or (n, k) array
        Targets, or classes as -1 and 1.
    C : float
        Cost of the machine.
    weight : (n,) array, optional
        Positive.
    fraction : float, default 0.05
        Share of the samples that is dropped in a round, at least one. Between 0 and 1.
    tolerance : float, optional
        Share by which the mean loss may be larger than that of all samples. None is one standard error of that mean.
    loss : {"squared", "zero-one"}, default "squared"
        "zero-one" counts samples of which a sign is wrong.
    monitor : callable, optional
        Called with the share of samples that are gone; a true answer ends with what there is.

    Returns
    -------
    pruned : Pruned

    Notes
    -----
    A sample that was dropped is predicted, one that is left is left out in closed form, so that the error is always
    over all samples, and none is predicted by a machine that knows it. Cost O(n^3 / fraction) at most.

    Examples
    --------
    >>> x = np.linspace(-1.0, 1.0, 41)
    >>> K = np.exp(-((x[:, None] - x) ** 2))
    >>> pruned = prune(K, np.sin(3.0 * x) + 0.1 * np.cos(100.0 * x), C=100.0)
    >>> len(pruned.support) < 41
    True
    """
    if not 0.0 < fraction < 1.0:
        raise ParameterError(f"fraction={fraction} was given; a number between 0 and 1 is accepted. Use 0.05.")
    y = real_numbers(y, "y", TargetError)
    Y = y.reshape(len(y), -1)
    n = len(Y)
    w = np.ones(n) if weight is None else real_numbers(weight, "weight")
    kept, found = np.arange(n, dtype=np.intp), None
    sizes, errors, slack = [], [], 0.0
    while True:
        with blas_for(len(kept)):
            trial = _fitted(K, Y, w, C, kept)
        wrong = np.any(trial[2] * Y <= 0.0, axis=1) if loss == "zero-one" else np.sum((Y - trial[2]) ** 2, axis=1)
        wrong = np.where(np.isnan(trial[2]).any(axis=1), 0.0 if n == 1 else np.inf, wrong)
        sizes.append(len(kept))
        errors.append(float(w @ wrong / w.sum()))
        if found is None:
            slack = _standard_error(wrong, w) if tolerance is None else tolerance * errors[0]
        elif errors[-1] > errors[0] + slack:
            break
        found = kept, *trial
        gone = min(max(1, int(fraction * len(kept))), len(kept) - 2)
        if gone < 1 or (monitor is not None and monitor(1.0 - len(kept) / n)):
            break
        size = np.linalg.norm(trial[0], axis=1) / w[kept]
        kept = np.sort(kept[np.argsort(size, kind="stable")[gone:]])
    assert found is not None
    return Pruned(*found, sizes=np.array(sizes), errors=np.array(errors))


def _standard_error(loss: Floats, w: Floats) -> float:
    """Return the standard error of the weighted mean of losses."""
    total = float(w.sum())
    mean = float(w @ loss) / total
    return float(np.sqrt((w @ (loss - mean) ** 2) / total / max(total - 1.0, 1.0)))


def _fitted(K: Floats, Y: Floats, w: Floats, C: float, kept: Indices) -> tuple[Floats, Floats, Floats]:
    """Return coefficients, bias, and values at all samples by machines that do not know them."""
    part = np.array(K[np.ix_(kept, kept)], dtype=float, order="C")
    state = Factored.of(part, 1.0 / (C * w[kept]), np.ones((len(kept), 1)))
    coef, bias = state.solve(Y[kept])
    values = np.empty(Y.shape)
    values[kept] = leave_one_out(Y[kept], coef, state.inverse_diagonal())
    gone = np.setdiff1d(np.arange(len(Y)), kept, assume_unique=True)
    values[gone] = K[np.ix_(gone, kept)] @ coef + bias[0]
    return coef, bias[0], values
