"""The unit of y is the caller's affair: a y + b has the predictions a f + b.

Tolerance. y + b is rounded to eps (1 + |b| / s) of its standard deviation s. Predictions depend on y through the search
as well; runs that differ by rounding may take a different number of steps, and then end at points whose slopes are
below the tolerance of the search, the log evidence being curved by about n there: parameters differ by tol / n at most,
tol = 1e-4 or less, and predictions by that share of s. A thousand times the first, and the second, are allowed.
"""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import (
    LSSVR,
    BayesianLinearRegression,
    GaussianProcessMixture,
    GaussianProcessRegressor,
    KernelRidge,
    RelevanceVectorRegressor,
    SemiparametricLatentFactor,
    SmoothingSpline,
    SparseGaussianProcessRegressor,
)

rng = np.random.default_rng(0)
X = rng.uniform(-3.0, 3.0, size=(40, 2))
Y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=40)
BOTH = np.column_stack([Y, np.cos(X[:, 1]) - 2.0 * Y])
T = rng.uniform(-3.0, 3.0, size=(20, 2))
MACHINES = {
    "process": (GaussianProcessRegressor(), Y),
    "process, two outputs": (GaussianProcessRegressor(), BOTH),
    "sparse": (SparseGaussianProcessRegressor(), Y),
    "mixture": (GaussianProcessMixture(n_components=2), Y),
    "factors": (SemiparametricLatentFactor(), BOTH),
    "relevance": (RelevanceVectorRegressor(), Y),
    "evidence of squares": (LSSVR(selection="evidence"), Y),
    "left out squares": (LSSVR(C=None, selection="loo"), Y),
    "columns": (BayesianLinearRegression(), Y),
    "ridge": (KernelRidge(), Y),
    "spline": (SmoothingSpline(), Y),
}


def answers(name, a, b):
    """Mean and, if there are any, standard deviations of predictions for a y + b, in the unit of y."""
    machine, y = MACHINES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a bound is as active in one unit as in another
        model = machine.fit(X, a * y + b)
    spread = {} if isinstance(machine, (LSSVR, KernelRidge, SmoothingSpline)) else {"return_std": True}
    found = model.predict(T, **spread)
    mean, *std = found if spread else (found,)
    return [(mean - b) / a, *(part / a for part in std)], model.score(X, a * y + b)


KNOWN = {}


@settings(max_examples=8, deadline=None)
@given(
    exponent=st.floats(-12.0, 12.0),
    shift=st.one_of(st.just(0.0), st.floats(-1e6, 1e6)),
)
@pytest.mark.parametrize("name", MACHINES)
def test_the_unit_of_y_does_not_matter(name, exponent, shift):
    if name not in KNOWN:
        KNOWN[name] = answers(name, 1.0, 0.0)
    (expected, score), y = KNOWN[name], MACHINES[name][1]
    a, s = 10.0**exponent, float(y.std())
    found, again = answers(name, a, shift * a * s)
    rounding = np.finfo(np.float64).eps * (1.0 + abs(shift))
    for one, other in zip(found, expected, strict=True):
        assert np.allclose(one, other, rtol=0.0, atol=(1e3 * rounding + 1e-4 / len(X)) * s)
    assert score > 0.7 and abs(score - again) < 1e-3
