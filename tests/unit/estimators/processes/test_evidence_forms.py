"""Posteriors from a dense matrix, from features and from products; mean functions."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer.domains import Vectors
from mercer.errors import ParameterError
from mercer.estimators.processes.evidence_forms import FeatureEvidence, IterativeEvidence, IterativePosterior
from mercer.estimators.processes.process_evidence import DenseEvidence, MeanFunctions, Observations
from mercer.gram import Expansion, FeatureExpansion
from mercer.kernels import Gaussian, Polynomial

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 2))
T = rng.normal(size=(300, 2))  # more than one piece
S, U = Vectors.pack(X), Vectors.pack(T)
Y = rng.normal(size=30)
B, C = (np.hstack([np.ones((len(Z), 1)), Z]) for Z in (X, T))
NONE = np.zeros((30, 0)), np.zeros((300, 0))
SHIFT = np.full(30, 0.1)


def naive(kernel, border, new):
    """Covariance of the process with a wide prior on the mean functions' coefficients."""
    G = kernel(X) + 0.1 * np.eye(30)
    k = kernel(X, T)
    out = kernel(T) - k.T @ np.linalg.solve(G, k)
    if border.shape[1]:
        excess = new.T - border.T @ np.linalg.solve(G, k)
        out += excess.T @ np.linalg.solve(border.T @ np.linalg.solve(G, border), excess)
    return out


def fitted(way, kernel, border, **options):
    observed = Observations.of(S, Y, None, border)
    if way is IterativeEvidence:
        options = {"solve_tol": 1e-10, "max_iter": 500, **options}
    evidence = way(observed, **options)
    found = evidence.condition(kernel, np.array(0.1))
    if found.weights is None:
        function = Expansion(kernel, S, found.coef[:, 0], np.array(0.0))
    else:
        function = FeatureExpansion(kernel, found.keys, found.weights[0][:, 0], np.array(0.0))
    return evidence.posterior(found, np.array(0.1)), function


@pytest.mark.parametrize(("border", "new"), [NONE, (B, C)], ids=["zero mean", "linear mean"])
@pytest.mark.parametrize(
    ("way", "kernel"),
    [
        (DenseEvidence, 1.3 * Gaussian(0.9)),
        (IterativeEvidence, 1.3 * Gaussian(0.9)),
        (FeatureEvidence, 0.4 * Polynomial(3)),
        (DenseEvidence, 0.4 * Polynomial(3)),
    ],
)
def test_covariances(way, kernel, border, new):
    posterior, function = fitted(way, kernel, border)
    covariance = posterior.covariance(function, U, new)
    variance = posterior.variance(function, U, new)
    exact = naive(kernel, border, new)
    assert np.allclose(covariance, exact, atol=1e-8 * np.abs(exact).max())
    assert np.array_equal(np.diag(covariance), variance) and np.all(variance >= 0.0)
    assert np.array_equal(covariance, covariance.T)


def test_a_loose_solve_gives_an_upper_bound_and_says_so():
    posterior, function = fitted(IterativeEvidence, 1.3 * Gaussian(0.9), NONE[0], rank=2)
    assert isinstance(posterior, IterativePosterior)
    exact = posterior.variance(function, U, NONE[1])
    loose = IterativePosterior(posterior.R, posterior.partial, SHIFT, posterior.inverse_border, 1e-10, 3)
    with pytest.warns(ConvergenceWarning, match="upper bounds"):
        rough = loose.variance(function, U, NONE[1])
    assert np.all(rough >= exact - 1e-9) and np.max(rough - exact) > 1e-6


def test_no_new_samples():
    posterior, function = fitted(DenseEvidence, 1.3 * Gaussian(0.9), NONE[0])
    assert posterior.variance(function, U[:0], NONE[1][:0]).shape == (0,)


def test_mean_functions():
    for mean, columns in (
        (None, 0),
        ("constant", 1),
        ("linear", 3),
        (Polynomial(2), 6),
        (lambda X: np.sin(X[:, 0]), 1),
    ):
        learned, values = MeanFunctions(mean).learn(X, S)
        assert values.shape == (30, columns)
        assert np.array_equal(learned(X[:5], S[:5]), values[:5])
    assert np.allclose(MeanFunctions("linear").learn(X, S)[1][:, 1:].mean(axis=0), 0.0)
    with pytest.raises(ParameterError, match="row per sample"):
        MeanFunctions(lambda X: np.ones(3)).learn(X, S)
