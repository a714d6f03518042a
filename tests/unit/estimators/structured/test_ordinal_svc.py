"""Ordered classes: thresholds in order, and the optimum of the objective as it stands."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from mercer import OrdinalSVC
from mercer.errors import ConvergenceWarning, TargetError
from mercer.estimators.structured.ordinal_svc import _risk, best_thresholds
from mercer.gram import Nystrom, Tiles
from mercer.kernels import Gaussian, Linear

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = np.digitize(X[:, 0] + 0.4 * RNG.normal(size=40), [-0.7, 0.1, 0.9])


def test_thresholds_are_the_best_and_in_order():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        f, codes, C = 2.0 * rng.normal(size=15), rng.permutation(np.arange(15) % 4), rng.random(15) + 0.1
        b = best_thresholds(f, codes, C, 4)
        assert np.all(np.diff(b) >= 0.0)
        for k in range(3):

            def value(t, k=k, b=b, f=f, codes=codes, C=C):
                return _risk(f, codes, C, np.where(np.arange(3) == k, t, b))[0]

            found = minimize_scalar(value, bounds=(-8.0, 8.0), method="bounded", options={"xatol": 1e-10})
            assert value(b[k]) <= found.fun + 1e-9


def test_where_classes_are_apart_the_threshold_is_in_the_middle():
    b = best_thresholds(np.array([-3.0, -2.0, 4.0, 5.0]), np.array([0, 0, 1, 1]), np.ones(4), 2)
    assert b[0] == pytest.approx(1.0)


def test_the_optimum():
    model = OrdinalSVC(Linear(), C=0.5).fit(X, Y)
    w, b, C = model.expansion_(np.eye(2)), model.thresholds_, np.full(40, 0.5)

    def objective(w, b):
        return 0.5 * w @ w + _risk(X @ w, Y, C, b)[0]

    value = objective(w, b)
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    for step in 1e-3 * RNG.normal(size=(20, 5)):
        assert objective(w + step[:2], b + step[2:]) >= value - 1e-10
    assert np.all(np.diff(b) > 0.0)
    assert model.score(X, Y) > 0.6


def test_two_classes_have_a_bias_that_is_not_penalised():
    y = (X[:, 0] > 0).astype(int)
    near = OrdinalSVC(Linear(), C=2.0).fit(X, y)
    far = OrdinalSVC(Gaussian(1.0), C=2.0).fit(X + 100.0, y)  # a translation changes nothing for this kernel
    assert near.score(X, y) > 0.9 and far.score(X + 100.0, y) > 0.9
    slack = np.maximum(1.0 - (2 * y - 1) * (near.expansion_(X) - near.thresholds_[0]), 0.0)
    assert (slack * (2 * y - 1)).sum() == pytest.approx(0.0, abs=1e-6)


def test_an_order_that_is_given_and_however_the_gram_is_held():
    names = np.array(["low", "middle", "high", "top"])
    model = OrdinalSVC(Gaussian(1.0), order=names).fit(X, names[Y])
    np.testing.assert_array_equal(model.classes_, names)
    plain = OrdinalSVC(Gaussian(1.0)).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), names[plain.predict(X)])
    for gram in (Tiles(), Nystrom(40, random_state=0)):
        np.testing.assert_allclose(
            OrdinalSVC(Gaussian(1.0), gram=gram).fit(X, Y).thresholds_, plain.thresholds_, atol=1e-5
        )
    w = RNG.integers(0, 3, 40)
    again = np.repeat(np.arange(40), w)
    a, b = OrdinalSVC(Gaussian(1.0)).fit(X, Y, w), OrdinalSVC(Gaussian(1.0)).fit(X[again], Y[again])
    np.testing.assert_allclose(a.thresholds_, b.thresholds_, atol=1e-6)


def test_bad_orders_and_an_early_end():
    with pytest.raises(TargetError, match="order must name"):
        OrdinalSVC(order=(0, 1)).fit(X, Y)
    with pytest.warns(ConvergenceWarning, match="above its minimum"):
        OrdinalSVC(Gaussian(1.0), C=100.0, max_iter=1).fit(X, Y)
