"""Exponential families: scores are centred statistics; closed forms of the words."""

import numpy as np
import pytest
from scipy import stats

from mercer.domains import Strings
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.models import Normal
from mercer.models.exponential import ExponentialFamily
from tests.naive.models import differences

X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])


def lengths(S):
    return np.column_stack([S.lengths, S.lengths**2]).astype(float)


@pytest.mark.parametrize(
    ("word", "logpdf"),
    [
        ("bernoulli", lambda x, m: stats.bernoulli(m).logpmf(x)),
        ("poisson", lambda x, m: stats.poisson(m).logpmf(x)),
        ("exponential", lambda x, m: stats.expon(scale=m).logpdf(x)),
    ],
)
def test_the_words_are_known_densities(word, logpdf):
    mean = np.array([0.3, 0.6])
    model = ExponentialFamily(word, mean=mean).check()
    S = model.pack(X)
    np.testing.assert_allclose(model.log_likelihood(S), logpdf(X, mean).sum(axis=1), rtol=1e-12)
    # derivatives in the natural parameter: that of the mean times the variance of the statistic
    slope = differences(lambda m: model.replace(mean=m).log_likelihood(S), mean)
    np.testing.assert_allclose(model.scores(S), slope * np.diagonal(model.information()), rtol=1e-7)
    np.testing.assert_allclose(model.scores(S), X - mean)


def test_learning_matches_moments_and_weights_are_copies():
    weight = np.array([1.0, 2.0, 0.0, 3.0])
    copies = np.repeat(X, weight.astype(int), axis=0)
    for statistics in ("bernoulli", "quadratic", lambda S: np.asarray(S.X, dtype=float)):
        learner = ExponentialFamily(statistics)
        one, two = learner.learn(learner.pack(X), weight), learner.learn(learner.pack(copies))
        np.testing.assert_allclose(one.mean, two.mean)
        np.testing.assert_allclose(one.information(), two.information())
        np.testing.assert_allclose(two.scores(two.pack(copies)).sum(axis=0), 0.0, atol=1e-12)
    assert two.learn(two.pack(X)) is two
    rare = ExponentialFamily("bernoulli").learn(ExponentialFamily("bernoulli").pack([[0.0], [0.0]]))
    assert 0.0 < np.asarray(rare.mean)[0] < 0.5


def test_quadratic_statistics_are_a_normal_density_up_to_its_parameters():
    # scores span the same functions: whitened by the same samples, the kernels are the same
    Z = np.random.default_rng(0).normal(size=(50, 2))
    family, normal = ExponentialFamily(), Normal()
    S = family.pack(Z)
    family, normal = family.learn(S), normal.learn(S)

    def empirical(G):
        return G @ np.linalg.inv(G.T @ G) @ G.T

    np.testing.assert_allclose(empirical(family.scores(S)), empirical(normal.scores(S)), atol=1e-9)


def test_any_samples_with_a_function():
    model = ExponentialFamily(lengths, samples=Strings).check()
    model = model.learn(model.pack(["ab", "abcd", ""]))
    np.testing.assert_allclose(model.mean, [2.0, 20.0 / 3.0])
    assert model.size == 2 and model.domain is Strings
    with pytest.raises(CapabilityError, match="normalisation"):
        model.log_likelihood(model.pack(["a"]))
    given = ExponentialFamily(lengths, mean=(1.0, 2.0), samples=Strings)
    assert given.information() is None
    np.testing.assert_allclose(given.learn(given.pack(["a", "aaa"])).mean, (1.0, 2.0))


def test_bad_parameters_and_samples_are_refused():
    for bad in (
        ExponentialFamily("gamma"),
        ExponentialFamily(samples=Strings),
        ExponentialFamily(samples=3),
        ExponentialFamily("bernoulli", mean=(0.0,)),
        ExponentialFamily("poisson", mean=(-1.0,)),
        ExponentialFamily(mean=(0.0, 1.0), covariance=np.eye(3)),
    ):
        with pytest.raises(ParameterError):
            bad.check()
    for word, row in (("bernoulli", [2.0]), ("poisson", [0.5]), ("exponential", [-1.0])):
        with pytest.raises(DomainError, match="are needed"):
            model = ExponentialFamily(word, mean=(0.5,))
            model.scores(model.pack([row]))
    model = ExponentialFamily("bernoulli", mean=(0.5,))
    with pytest.raises(DomainError, match="2 statistics"):
        model.scores(model.pack(X))
    with pytest.raises(DomainError, match="row for each sample"):
        ExponentialFamily(lambda S: np.zeros(3)).learn(model.pack(X))
