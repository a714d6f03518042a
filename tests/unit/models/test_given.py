"""Models of others: by their attributes, or by their scores."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture as Reference

from mercer.domains import Strings
from mercer.domains.sequences import Sequences
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.models import GaussianHiddenMarkovModel, GaussianMixture, HiddenMarkovModel, Normal
from mercer.models.given import GivenModel, as_model


class Rate:
    """An exponential density, written down by a user."""

    def __init__(self, rate=2.0):
        self.rate = rate

    def scores(self, X):
        return 1.0 / self.rate - X

    def information(self):
        return [[self.rate**-2.0]]

    def log_likelihood(self, X):
        return (np.log(self.rate) - self.rate * X)[:, 0]

    def learn(self, X, weight=None):
        return Rate(1.0 / np.average(X[:, 0], weights=weight))


class Lengths:
    domain = Strings

    def score(self, x):
        assert isinstance(x, tuple)
        return len(x), 1.0


def test_objects_with_scores_are_models():
    model = as_model(Rate()).check()
    S = model.pack([[0.5], [1.0]])
    np.testing.assert_allclose(model.scores(S), [[0.0], [-0.5]])
    np.testing.assert_allclose(model.log_likelihood(S), np.log(2.0) - [1.0, 2.0])
    np.testing.assert_allclose(model.information(), [[0.25]])
    assert model.learn(S, np.array([1.0, 3.0])).given.rate == pytest.approx(1.0 / 0.875)
    assert model.key is None and model.fitted
    model = as_model(Lengths()).check()
    np.testing.assert_allclose(model.scores(model.pack(["ab", ""])), [[2.0, 1.0], [0.0, 1.0]])
    assert model.information() is None and model.learn(model.pack(["a"])) is model
    with pytest.raises(CapabilityError, match="no log_likelihood"):
        model.log_likelihood(model.pack(["a"]))


def test_series_and_other_samples_are_given_as_a_user_writes_them():
    class Means:
        domain = Sequences

        def scores(self, X):
            return [x.mean(axis=0) for x in X]

    model = as_model(Means())
    np.testing.assert_allclose(model.scores(model.pack([[1.0, 2.0], [3.0]])), [[1.5], [3.0]])


def test_models_of_known_libraries_are_converted():
    class Discrete:
        startprob_, transmat_, emissionprob_ = np.ones(1), np.ones((1, 1)), np.full((1, 2), 0.5)

    class Gaussian:
        startprob_, transmat_, means_, covars_ = np.ones(1), np.ones((1, 1)), np.zeros((1, 2)), np.ones((1, 2))

    assert isinstance(as_model(Discrete()), HiddenMarkovModel)
    assert isinstance(as_model(Gaussian()), GaussianHiddenMarkovModel)
    fitted = Reference(1).fit([[0.0], [1.0]])
    assert isinstance(as_model(fitted), GaussianMixture)
    own = Normal()
    assert as_model(own) is own


@pytest.mark.parametrize("bad", [None, 3, Normal, Reference(2), LogisticRegression(), object()])
def test_other_things_are_refused(bad):
    with pytest.raises(ParameterError, match="was given as a model"):
        as_model(bad)


def test_bad_scores_and_domains_are_refused():
    class Wrong(Rate):
        def scores(self, X):
            return X[:, 0]

    model = as_model(Wrong())
    with pytest.raises(DomainError, match="Correct scores"):
        model.scores(model.pack([[1.0]]))
    strange = Rate()
    strange.domain = 3
    with pytest.raises(ParameterError):
        GivenModel(strange).check()
