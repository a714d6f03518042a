"""The factors of a mean-field posterior: each part of the bound against its definition."""

import numpy as np
import pytest
from scipy.stats import multivariate_t

from mercer.estimators.processes.mean_field import (
    NormalWishart,
    entropy,
    expert,
    stick_bound,
    stick_logs,
    stick_means,
)
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
X = rng.normal(size=(12, 1))
Y = rng.normal(size=(12, 2))
K = Gaussian(1.0)(X)
OMEGA = rng.uniform(0.0, 2.0, 12)
OMEGA[3] = 0.0
E = 1e-6


def derivative(function, at):
    return np.array([(function(at + E * unit) - function(at - E * unit)) / (2 * E) for unit in np.eye(len(at))])


def test_whole_weights_are_copies():
    copies = np.repeat(np.arange(12), np.arange(12) % 3)
    found = expert(K, Y, (np.arange(12) % 3).astype(float), 0.3)
    C = K[np.ix_(copies, copies)] + 0.3 * np.eye(len(copies))
    exact = sum(
        -0.5 * (np.linalg.slogdet(2 * np.pi * C)[1] + Y[copies, j] @ np.linalg.solve(C, Y[copies, j])) for j in range(2)
    )
    assert np.isclose(found.bound, exact)
    mean, variance = found.moments(K[:, found.rows], np.ones(12))
    assert np.allclose(mean, K[:, copies] @ np.linalg.solve(C, Y[copies]))
    assert np.allclose(variance, 1.0 - np.sum(K[:, copies] * np.linalg.solve(C, K[copies]).T, axis=1))


def test_slopes_of_an_expert():
    found = expert(K, Y, OMEGA, 0.3)
    W, noise = found.slope()
    assert np.isclose(noise, derivative(lambda s: expert(K, Y, OMEGA, s[0]).bound, np.array([0.3]))[0], rtol=1e-6)
    D = rng.normal(size=(12, 12))
    D = D + D.T
    change = derivative(lambda t: expert(K + t[0] * D, Y, OMEGA, 0.3).bound, np.zeros(1))[0]
    assert np.isclose(np.sum(W * D[np.ix_(found.rows, found.rows)]), change, rtol=1e-6)


def test_the_slope_of_the_bound_in_a_weight_is_the_expected_log_likelihood():
    found = expert(K, Y, OMEGA, 0.3)
    mean, variance = found.moments(K[:, found.rows], np.ones(12))
    expected = -0.5 * (np.sum((Y - mean) ** 2, axis=1) + 2 * variance) / 0.3 - np.log(2 * np.pi * 0.3)
    inside = np.flatnonzero(OMEGA > 1e-3)
    assert np.allclose(derivative(lambda w: expert(K, Y, np.abs(w), 0.3).bound, OMEGA)[inside], expected[inside])


@pytest.mark.parametrize("concentration", [0.3, 1.0, 4.0])
def test_sticks(concentration):
    counts = np.array([3.0, 2.0, 0.5, 0.1])
    assert np.isclose(stick_means(counts, concentration).sum(), 1.0)
    slopes = derivative(lambda c: stick_bound(c, concentration), counts)
    assert np.allclose(slopes, stick_logs(counts, concentration), rtol=1e-6)
    ordered, other = np.array([3.0, 2.0, 0.0]), np.array([2.0, 3.0, 0.0])
    assert stick_bound(ordered, concentration) > stick_bound(other, concentration)
    longer = stick_bound(np.append(counts, [0.0, 0.0, 0.0]), concentration)
    assert np.isclose(longer, stick_bound(np.append(counts, 0.0), concentration))  # empty sticks cost nothing


def test_entropy_counts_copies():
    R = np.array([[0.5, 0.5], [1.0, 0.0]])
    assert np.isclose(entropy(R, np.array([3.0, 2.0])), 3 * np.log(2))


def test_normal_wishart():
    V, w = rng.normal(size=(9, 2)), rng.uniform(0.2, 1.0, 9)
    prior = NormalWishart.prior(V, np.ones(9))
    slopes = derivative(lambda o: prior.learn(V, o).bound(prior), w)
    assert np.allclose(slopes, prior.learn(V, w).expected_log(V), rtol=1e-6)
    # evidence of samples one after another: the chain rule of predictive densities
    total, belief = 0.0, prior
    for v in V[:4]:
        total += belief.log_predictive(v[None])[0]
        belief = belief.learn(v[None], np.ones(1))
    assert np.isclose(total, prior.learn(V[:4], np.ones(4)).bound(prior))
    dof = prior.dof - 1.0
    shape = prior.scatter * (prior.beta + 1) / (prior.beta * dof)
    assert np.allclose(prior.log_predictive(V), multivariate_t(prior.mean, shape, dof).logpdf(V))
    assert prior.learn(V, np.zeros(9)) is prior
    flat = NormalWishart.prior(np.ones((5, 2)), np.ones(5))
    assert np.isfinite(flat.log_predictive(np.ones((1, 2)))).all()
