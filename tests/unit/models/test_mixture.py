"""Mixtures of normals: against densities, finite differences and scikit-learn."""

import warnings

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture as Reference

from mercer.errors import ConvergenceWarning, ParameterError
from mercer.models import Normal
from mercer.models.mixture import GaussianMixture, _lower
from tests.naive.models import differences, normal, softmax


def model(covariance="full", **options):
    rng = np.random.default_rng(2)
    factors = np.tril(rng.normal(size=(3, 2, 2)), -1) + np.stack([np.diag(rng.uniform(0.5, 1.5, 2)) for _ in range(3)])
    if covariance == "diagonal":
        factors = np.diagonal(factors, axis1=1, axis2=2)
    given = {"weights": rng.dirichlet(np.ones(3)), "means": rng.normal(size=(3, 2)), "deviations": np.array(factors)}
    return GaussianMixture(3, covariance=covariance, **given, **options).check()


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(7, 2))


def matrices(m):
    return [np.diag(factor) if factor.ndim == 1 else factor for factor in np.asarray(m.deviations)]


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_likelihoods_are_weighted_sums_of_densities(covariance, X):
    m = model(covariance)
    parts = [[normal(x, mean, factor) for mean, factor in zip(m.means, matrices(m), strict=True)] for x in X]
    joint = np.asarray(parts) * m.weights
    np.testing.assert_allclose(np.exp(m.log_likelihood(m.pack(X))), joint.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(m.responsibilities(m.pack(X)), joint / joint.sum(axis=1, keepdims=True), rtol=1e-12)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_scores_are_derivatives(covariance, X):
    m = model(covariance)
    S, lower = m.pack(X), np.tril_indices(2)
    weights = differences(lambda logits: m.replace(weights=softmax(logits)).log_likelihood(S), np.log(m.weights))
    means = differences(lambda means: m.replace(means=means).log_likelihood(S), m.means)
    factors = differences(lambda factors: m.replace(deviations=factors).log_likelihood(S), m.deviations)
    means = means.reshape(7, 3, 2)
    if covariance == "full":
        factors = factors.reshape(7, 3, 2, 2)[:, :, lower[0], lower[1]]
    else:
        factors = factors.reshape(7, 3, 2)
    rest = np.concatenate([means, factors], axis=2).reshape(7, -1)
    np.testing.assert_allclose(m.scores(S), np.hstack([weights, rest]), atol=1e-7)
    probability = m.replace(parameters="probability").scores(S)
    np.testing.assert_allclose(probability[:, :3] * m.weights, weights, atol=1e-7)


def test_one_component_is_a_normal_density(X):
    one, alone = GaussianMixture(1, ridge=0.0), Normal()
    S = one.pack(X)
    one, alone = one.learn(S), alone.learn(S)
    np.testing.assert_allclose(one.log_likelihood(S), alone.log_likelihood(S), rtol=1e-9)
    np.testing.assert_allclose(one.scores(S)[:, 1:], alone.scores(S), atol=1e-8)


@pytest.mark.parametrize(("covariance", "word"), [("full", "full"), ("diagonal", "diag")])
def test_learning_is_as_good_as_scikit_learns(covariance, word):
    rng = np.random.default_rng(4)
    X = np.vstack([rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3)) + 4.0 * rng.normal(size=3) for _ in range(3)])
    learner = GaussianMixture(3, covariance=covariance, tol=1e-7, max_iter=500, restarts=5)
    m = learner.learn(learner.pack(X)).check()
    reference = Reference(3, covariance_type=word, n_init=5, tol=1e-7, max_iter=500, random_state=0).fit(X)
    assert m.log_likelihood(m.pack(X)).mean() > reference.score(X) - 1e-3
    np.testing.assert_allclose(m.scores(m.pack(X)).mean(axis=0), 0.0, atol=1e-3)


def test_mixtures_of_scikit_learn_are_taken(X):
    for word in ("full", "diag", "spherical", "tied"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reference = Reference(2, covariance_type=word, random_state=0, reg_covar=1e-2).fit(X)
        m = GaussianMixture.from_sklearn(reference).check()
        np.testing.assert_allclose(m.log_likelihood(m.pack(X)), reference.score_samples(X), rtol=1e-9)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_weights_are_copies(covariance):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(-2.0, 1.0, (15, 2)), rng.normal(2.0, 0.5, (15, 2))])
    weight = rng.integers(0, 4, 30).astype(float)
    learner = GaussianMixture(2, covariance=covariance, max_iter=10, tol=0.0, restarts=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one = learner.learn(learner.pack(X), weight)
        two = learner.learn(learner.pack(np.repeat(X, weight.astype(int), axis=0)))
    orders = [np.argsort(m.means[:, 0]) for m in (one, two)]  # two starts may end alike but for the order of components
    for name in ("weights", "means", "deviations"):
        a, b = (getattr(m, name)[order] for m, order in zip((one, two), orders, strict=True))
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)


def test_the_result_does_not_depend_on_blocks(monkeypatch, X):
    m = model()
    whole = m._expected(X, np.full(7, 1 / 7))
    monkeypatch.setattr("mercer.models.mixture._ROWS", 3)
    parts = m._expected(X, np.full(7, 1 / 7))
    assert parts[0] == pytest.approx(whole[0])
    for a, b in zip(parts[1], whole[1], strict=True):
        np.testing.assert_allclose(a, b)
    np.testing.assert_allclose(
        m.log_likelihood(m.pack(X)), [m.log_likelihood(m.pack(X[i : i + 1]))[0] for i in range(7)]
    )


def test_stopping_early_is_told_and_repeated_points_are_no_trouble(X):
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        GaussianMixture(2, max_iter=1, tol=0.0).learn(GaussianMixture().pack(X))
    learner = GaussianMixture(3)
    for points in (np.zeros((5, 2)), np.repeat([[0.0, 1.0], [5.0, 5.0]], 4, axis=0)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            m = learner.learn(learner.pack(points)).check()
        assert np.isfinite(m.log_likelihood(m.pack(points))).all()


def test_draws_have_the_moments_of_the_mixture():
    for covariance in ("full", "diagonal"):
        m = model(covariance)
        X = m.sample(np.random.default_rng(0), 100_000).X
        np.testing.assert_allclose(X.mean(axis=0), m.weights @ m.means, atol=0.03)
        spread = sum(
            w * (L @ L.T + np.outer(mean, mean)) for w, mean, L in zip(m.weights, m.means, matrices(m), strict=True)
        )
        np.testing.assert_allclose(X.T @ X / len(X), spread, atol=0.05)


def test_bad_parameters_are_refused():
    for bad in (
        {"weights": None},
        {"weights": (0.5, 0.5)},
        {"means": np.zeros((2, 2))},
        {"deviations": np.zeros((3, 2, 2))},
        {"components": 0},
        {"covariance": "tied"},
    ):
        with pytest.raises(ParameterError):
            model().replace(**bad).check()


def test_covariances_that_rounding_made_negative_have_factors():
    L = _lower(np.array([[1.0, 0.0], [0.0, -1e-3]]), np.array([1e-6, 1e-6]))
    assert (np.diagonal(L) > 0.0).all() and L[0, 1] == 0.0
