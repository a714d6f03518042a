"""Quantile regression: shares below, order and score."""

import numpy as np

from mercer.estimators.svm.quantile_svr import QuantileSVR
from mercer.estimators.svm.svr import SVR
from mercer.kernels import Gaussian
from mercer.losses import Pinball
from tests.unit.estimators.svm.test_svr import table


def test_the_half_quantile_is_least_absolute_deviation():
    X, y = table("random")
    for c in (0.01, 1.0, 50.0):
        median = QuantileSVR(Gaussian(1.0), C=2 * c).fit(X, y)
        absolute = SVR(Gaussian(1.0), C=c, epsilon=0.0).fit(X, y)
        np.testing.assert_allclose(median.predict(X), absolute.predict(X), atol=1e-8)


def test_quantiles_have_their_share_below():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 1))
    y = np.sin(6 * X[:, 0]) + (0.2 + X[:, 0]) * rng.normal(size=400)
    taus = (0.9, 0.1, 0.5)
    model = QuantileSVR(Gaussian(0.3), 10.0, quantiles=taus).fit(X, y)
    bands = model.predict(X)
    assert bands.shape == (400, 3)
    for tau, band in zip(taus, bands.T, strict=True):
        on = np.isclose(y, band, atol=1e-7)
        assert np.mean((y < band) & ~on) <= tau <= np.mean((y < band) | on)
    alone = [QuantileSVR(Gaussian(0.3), 10.0, quantiles=tau).fit(X, y).predict(X) for tau in taus]
    np.testing.assert_allclose(bands, np.column_stack(alone), atol=1e-9)
    assert QuantileSVR(Gaussian(0.3), quantiles=[0.2]).fit(X, y).predict(X).shape == (400, 1)


def test_quantiles_do_not_cross_on_request():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(30, 1))
    y = rng.normal(size=30)
    taus = [0.6, 0.3, 0.5, 0.4]
    grid = np.linspace(-0.5, 1.5, 200)[:, None]
    free = QuantileSVR(Gaussian(0.1), 10.0, quantiles=taus).fit(X, y)
    sorted_ = QuantileSVR(Gaussian(0.1), 10.0, quantiles=taus, crossing="forbid").fit(X, y)
    order = np.argsort(taus)
    assert (np.diff(free.predict(grid)[:, order], axis=1) < 0).any()
    assert (np.diff(sorted_.predict(grid)[:, order], axis=1) >= 0).all()
    some = rng.normal(size=200)
    losses = [
        sum(Pinball(tau).value(some, band) for tau, band in zip(taus, model.predict(grid).T, strict=True))
        for model in (free, sorted_)
    ]
    assert (losses[1] <= losses[0] + 1e-12).all()


def test_the_score_of_quantiles():
    X, y = table("random")
    model = QuantileSVR(Gaussian(1.0), 100.0, quantiles=(0.2, 0.8)).fit(X, y)
    assert 0.3 < model.score(X, y) < 1.0
    weight = np.arange(len(y)) % 3
    repeated = np.repeat(np.arange(len(y)), weight)
    assert np.isclose(model.score(X, y, sample_weight=weight), model.score(X[repeated], y[repeated]))
    constant = QuantileSVR(Gaussian(1.0)).fit(X, np.ones(len(y)))
    assert constant.score(X, np.ones(len(y))) == 1.0 and constant.score(X[:1], [0.0]) == 0.0
