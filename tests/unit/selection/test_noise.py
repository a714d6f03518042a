"""Estimates of a noise that is known, because it was drawn."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from mercer.errors import ParameterError, TargetError
from mercer.kernels import Gaussian, Linear, Spectrum
from mercer.selection.noise import noise_variance, residual_variance

CASES = {
    "a wave": (1, lambda X: np.sin(6 * X[:, 0])),
    "many waves": (1, lambda X: np.sin(40 * X[:, 0])),
    "a plane's product": (2, lambda X: np.sin(6 * X[:, 0]) * X[:, 1]),
    "five columns": (5, lambda X: np.sin(3 * X[:, 0]) + X[:, 1] ** 2),
}


def draw(columns, function, n=2000, sigma=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, columns))
    return X, function(X) + sigma * rng.normal(size=n)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("sigma", [0.1, 0.3])
def test_the_differogram_finds_the_variance(case, sigma):
    """Within four standard errors of 3 sigma^2 / sqrt(n), the scatter over many draws in five columns."""
    X, y = draw(*case, sigma=sigma)
    tolerance = 12 / np.sqrt(2000) * max(1.0, (0.1 / sigma) * (2.0 if X.shape[1] == 5 else 1.0))
    assert noise_variance(X, y) == pytest.approx(sigma**2, rel=tolerance)


def test_pairs_are_the_mean_over_nearest_ones():
    X, y = draw(2, CASES["a plane's product"][1], n=60)
    d = ((X[:, None] - X) ** 2).sum(-1)
    np.fill_diagonal(d, np.inf)
    near = d.argmin(axis=1)
    assert noise_variance(X, y, method="pairs") == pytest.approx(np.mean((y - y[near]) ** 2) / 2)
    assert noise_variance(X, y, Linear(), method="pairs") == pytest.approx(np.mean((y - y[near]) ** 2) / 2)


def test_distances_of_a_kernel():
    X, y = draw(1, CASES["a wave"][1])
    assert noise_variance(X, y, Gaussian(1.0)) == pytest.approx(0.09, rel=0.15)
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("ab"), 4)) for _ in range(400)]
    values = np.array([text.count("a") for text in texts]) + 0.5 * rng.normal(size=400)
    assert noise_variance(texts, values, Spectrum(1)) == pytest.approx(0.25, rel=0.3)


def test_no_noise_and_only_noise():
    X = np.random.default_rng(0).uniform(size=(500, 1))
    assert noise_variance(X, X[:, 0]) < 1e-7
    assert noise_variance(X, np.ones(500)) == 0.0
    repeated = np.zeros((500, 1))
    y = np.random.default_rng(1).normal(size=500)
    assert noise_variance(repeated, y) == pytest.approx(1.0, rel=0.4)


def test_several_targets_and_scales():
    X, y = draw(1, CASES["a wave"][1])
    both = noise_variance(X, np.stack([y, 10 * y], axis=1))
    assert both.shape == (2,) and both[1] == pytest.approx(100 * both[0])
    assert noise_variance(1000 * X, y) == pytest.approx(both[0])


def test_residuals_of_a_linear_model_have_no_bias():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        X = rng.normal(size=(20, 4))
        y = X @ np.ones(4) + 0.5 * rng.normal(size=20)
        found.append(residual_variance(y - LinearRegression().fit(X, y).predict(X), dof=5.0))
    assert np.mean(found) == pytest.approx(0.25, abs=4 * np.std(found) / np.sqrt(300))
    residuals, w = rng.normal(size=(6, 2)), np.array([1, 2, 3, 1, 1, 2])
    again = np.repeat(residuals, w, axis=0)
    np.testing.assert_allclose(residual_variance(residuals, 3.0, w), residual_variance(again, 3.0))


def test_bad_input():
    X, y = draw(1, CASES["a wave"][1], n=10)
    with pytest.raises(ParameterError, match="method"):
        noise_variance(X, y, method="variogram")
    with pytest.raises(ParameterError, match="neighbours"):
        noise_variance(X, y, neighbours=0)
    with pytest.raises(TargetError, match="10 samples and 9 targets"):
        noise_variance(X, y[:9])
    with pytest.raises(ParameterError, match="smaller"):
        residual_variance(y, 10.0)
