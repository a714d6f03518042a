"""Intervals by errors on rows that were held out."""

import numpy as np
import pytest

import mercer
from mercer import SVC, KernelRidge
from mercer.errors import CapabilityError, ParameterError
from mercer.first_model.verdicts import Held
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)


def model(m):
    """A line and m rows held out, with errors of any distribution."""
    X = rng.normal(size=(200, 1))
    fitted = KernelRidge(Gaussian(3.0), 0.1).fit(X, X[:, 0])
    new = rng.normal(size=(m, 1))
    said = fitted.predict(new)
    fitted.held_ = Held(np.arange(m), said + rng.standard_t(3, size=m), said, None)
    return fitted


def test_coverage():
    shares = []
    for _ in range(40):
        fitted = model(99)
        X = rng.normal(size=(300, 1))
        ends = mercer.predict_interval(fitted, X, level=0.8)
        y = fitted.predict(X) + rng.standard_t(3, size=300)
        shares.append(np.mean((ends[:, 0] <= y) & (y <= ends[:, 1])))
    # the mean of 40 shares, each off by 0.04 from the rows held out and 0.023 from the new ones: 5 errors
    assert abs(np.mean(shares) - 0.8) < 5.0 * np.hypot(0.04, 0.023) / np.sqrt(40)


def test_the_place_is_that_of_the_theory():
    fitted = model(9)
    errors = np.sort(np.abs(fitted.held_.targets - fitted.held_.predictions))
    ends = mercer.predict_interval(fitted, [[0.5]], level=0.7)
    assert ends[0, 1] - ends[0, 0] == pytest.approx(2.0 * errors[6])
    with pytest.raises(ParameterError, match=r"0\.9 at most"):
        mercer.predict_interval(fitted, [[0.5]], level=0.95)


def test_models_without_rows_held_out_are_refused():
    with pytest.raises(CapabilityError, match="given None, which"):
        mercer.predict_interval(None, [[0.5]])
    with pytest.raises(CapabilityError, match="automatic"):
        mercer.predict_interval(SVC(Gaussian(1.0)).fit([[0.0], [1.0]], [0, 1]), [[0.5]])
