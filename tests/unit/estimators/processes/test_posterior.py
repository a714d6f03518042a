"""Sample paths."""

import numpy as np
import pytest

from mercer.errors import TargetError
from mercer.estimators.processes.posterior import draw, sample_prior
from mercer.kernels import Brownian, Gaussian

X = np.random.default_rng(0).normal(size=(30, 2))


def test_draws_have_the_moments():
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    paths = draw(np.array([[1.0], [-1.0]]), covariance, 200_000, 0)[:, 0]
    assert np.allclose(paths.mean(axis=1), [1.0, -1.0], atol=0.02)
    assert np.allclose(np.cov(paths), covariance, atol=0.03)
    flat = draw(np.zeros((2, 1)), np.ones((2, 2)), 3, 0)[:, 0]
    assert np.allclose(flat[0], flat[1])  # a singular covariance needs no jitter


def test_prior_paths():
    line = np.linspace(0.0, 1.0, 30)[:, None]
    paths = sample_prior(Brownian(), line, 20_000, random_state=0)
    assert paths.shape == (30, 20_000) and np.all(np.abs(paths[0]) < 1e-7)
    assert np.allclose(paths.var(axis=1), line[:, 0], atol=0.03)
    steps = np.diff(paths, axis=0)
    assert abs(np.corrcoef(steps[3], steps[20])[0, 1]) < 0.03
    again = sample_prior(Brownian(), line, 20_000, random_state=0)
    assert np.array_equal(paths, again)
    shifted = sample_prior(Gaussian(1.0), line, 2, mean=lambda X: 5.0 + X[:, 0], random_state=0)
    assert np.allclose(shifted - sample_prior(Gaussian(1.0), line, 2, random_state=0), 5.0 + line)
    with pytest.raises(TargetError, match="one number per sample"):
        sample_prior(Gaussian(1.0), line, mean=lambda X: np.ones(2))
