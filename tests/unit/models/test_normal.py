"""The normal density: the slide's example with its misprint corrected, finite differences, closed forms."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal

from mercer.errors import DomainError, ParameterError
from mercer.models.normal import Normal, factor_of, floored
from tests.naive.models import differences, normal

FACTOR = np.array([[1.5, 0.0, 0.0], [0.3, 0.8, 0.0], [-0.5, 0.2, 1.1]])
MEAN = np.array([0.5, -1.0, 2.0])


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(6, 3)) * 2.0


def test_the_one_dimensional_example_with_the_right_second_score():
    # the slide prints -1 / (2 sigma) for the last term; the derivative of -log(sigma) is -1 / sigma
    mu, sigma, x = 0.3, 1.7, np.array([[-2.0], [0.0], [1.0]])
    model = Normal(mu, sigma)
    expected = np.hstack([(x - mu) / sigma**2, (x - mu) ** 2 / sigma**3 - 1.0 / sigma])
    np.testing.assert_allclose(model.scores(model.pack(x)), expected, rtol=1e-14)

    def at(theta):
        return np.log([normal(row, theta[:1], theta[1:, None]) for row in x])

    np.testing.assert_allclose(differences(at, np.array([mu, sigma])), expected, rtol=1e-7)
    # scores have mean zero under the model, which those of the misprint have not
    draws = model.sample(np.random.default_rng(0), 200_000)
    np.testing.assert_allclose(model.scores(draws).mean(axis=0), 0.0, atol=0.01)


def test_likelihoods_are_those_of_scipy(X):
    model = Normal(MEAN, FACTOR).check()
    expected = multivariate_normal(MEAN, FACTOR @ FACTOR.T).logpdf(X)
    np.testing.assert_allclose(model.log_likelihood(model.pack(X)), expected, rtol=1e-12)
    np.testing.assert_allclose(model.log_likelihood(model.pack(sp.csr_array(X))), expected, rtol=1e-12)
    diagonal = Normal(MEAN, np.diag(FACTOR), covariance="diagonal").check()
    expected = multivariate_normal(MEAN, np.diag(np.diag(FACTOR) ** 2)).logpdf(X)
    np.testing.assert_allclose(diagonal.log_likelihood(diagonal.pack(X)), expected, rtol=1e-12)


def test_scores_are_derivatives(X):
    model = Normal(MEAN, FACTOR)
    S, lower = model.pack(X), np.tril_indices(3)

    def of_factor(entries):
        L = np.zeros((3, 3))
        L[lower] = entries
        return model.replace(deviation=L).log_likelihood(S)

    blocks = [differences(lambda mean: model.replace(mean=mean).log_likelihood(S), MEAN)]
    blocks.append(differences(of_factor, FACTOR[lower]))
    np.testing.assert_allclose(model.scores(S), np.hstack(blocks), atol=1e-7)
    diagonal = Normal(MEAN, np.diag(FACTOR), covariance="diagonal")
    second = differences(lambda s: diagonal.replace(deviation=s).log_likelihood(S), np.diag(FACTOR))
    np.testing.assert_allclose(diagonal.scores(S)[:, 3:], second, atol=1e-7)
    assert model.size == 9 and diagonal.size == 6


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_the_information_is_the_covariance_of_the_scores(covariance, X):
    deviation = FACTOR if covariance == "full" else np.diag(FACTOR)
    model = Normal(MEAN, deviation, covariance=covariance)
    G = model.scores(model.sample(np.random.default_rng(0), 400_000))
    np.testing.assert_allclose(G.T @ G / len(G), model.information(), atol=0.04)
    # in closed form the invariant kernel is <z, z'> + (<z, z'>^2 - |z|^2 - |z'|^2 + d) / 2
    S = model.pack(X)
    F = model.scores(S) @ model.whitening()
    L = FACTOR if covariance == "full" else np.diag(np.diag(FACTOR))
    z = np.linalg.solve(L, (X - MEAN).T).T
    dot, square = z @ z.T, np.square(z).sum(axis=1)
    if covariance == "full":
        expected = dot + 0.5 * (dot**2 - square[:, None] - square + 3.0)
    else:
        expected = dot + 0.5 * (z**2 - 1.0) @ (z**2 - 1.0).T
    np.testing.assert_allclose(F @ F.T, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_learning_takes_moments_and_weights_are_copies(covariance, X):
    weight = np.array([1.0, 2.0, 0.0, 1.0, 3.0, 1.0])
    copies = np.repeat(X, weight.astype(int), axis=0)
    learner = Normal(covariance=covariance)
    one, two = learner.learn(learner.pack(X), weight), learner.learn(learner.pack(copies))
    np.testing.assert_allclose(one.mean, copies.mean(axis=0))
    np.testing.assert_allclose(one.deviation, two.deviation)
    expected = np.cov(copies.T, bias=True)
    found = one.deviation @ one.deviation.T if covariance == "full" else np.diag(one.deviation**2)
    np.testing.assert_allclose(found, expected if covariance == "full" else np.diag(np.diag(expected)), rtol=1e-9)
    np.testing.assert_allclose(two.scores(two.pack(copies)).sum(axis=0), 0.0, atol=1e-9)  # maximum likelihood
    assert one.learn(one.pack(X)) is one


def test_columns_without_variance_have_a_density_too():
    learner = Normal()
    for X in (np.ones((4, 2)), np.column_stack([np.arange(4.0), np.arange(4.0)]), np.zeros((1, 3))):
        model = learner.learn(learner.pack(X)).check()
        assert np.isfinite(model.log_likelihood(model.pack(X))).all()
    assert (floored(np.zeros(2), np.ones(2)) > 0.0).all()
    assert (np.diagonal(factor_of(np.ones((3, 3)), np.zeros(3))) > 0.0).all()


@pytest.mark.parametrize(
    ("mean", "deviation"),
    [(0.0, None), (0.0, 0.0), (0.0, -1.0), ((0.0, 1.0), (1.0, np.inf)), ((0.0, 1.0), np.ones((2, 2))), ("a", 1.0)],
)
def test_bad_parameters_are_refused(mean, deviation):
    with pytest.raises(ParameterError):
        Normal(mean, deviation).check()


def test_other_columns_are_refused(X):
    with pytest.raises(DomainError, match=r"3 columns.*model of 1"):
        Normal(0.0, 1.0).scores(Normal().pack(X))
