"""What all models share: keys, roots of information, and what they say of bad parameters."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.models import HiddenMarkovModel, MarkovChain, Model, Normal
from mercer.models.model import digest, generalised_root, numbers, stochastic, weights_of


class Bare(Model):
    domain = Vectors
    fitted = False

    def learn(self, S, weight=None):
        return self

    def log_likelihood(self, S):
        return np.zeros(len(S))


def test_a_root_of_the_information_inverts_it_on_its_range():
    rng = np.random.default_rng(0)
    half = rng.normal(size=(5, 3)) * np.array([1.0, 1e-6, 1e5, 1.0, 1.0])[:, None]  # units that differ
    information = half @ half.T
    W = generalised_root(information)
    assert W.shape == (5, 3)
    np.testing.assert_allclose(half.T @ W @ W.T @ half, np.eye(3), atol=1e-6)
    assert generalised_root(np.zeros((2, 2))).shape == (2, 0)


def test_a_model_that_is_not_fitted_says_so():
    model = Bare()
    for call in (lambda: model.scores(None), lambda: model.size, lambda: model.sample(None, 3)):
        with pytest.raises(CapabilityError, match="Choose another model"):
            call()
    assert model.information() is None and model.whitening() is None
    with pytest.raises(ParameterError, match=r"not fitted.*learn"):
        model.require_fitted()


def test_keys_differ_with_every_parameter():
    models = [
        Normal(0.0, 1.0),
        Normal(0.0, 2.0),
        Normal(),
        MarkovChain(),
        MarkovChain(alphabet="ab", transitions=np.full((3, 2), 0.5)),
        MarkovChain(alphabet="ab", transitions=[[0.5, 0.5], [0.5, 0.5], [0.4, 0.6]]),
        HiddenMarkovModel(2),
        HiddenMarkovModel(2, missing="?"),
    ]
    keys = [model.key for model in models]
    assert len(set(keys)) == len(keys)
    assert Normal(np.array([1.0]), np.array([2.0])).key == Normal((1.0,), (2.0,)).key  # equal models, as `==` says
    assert digest({"a": ((1.0,), (1.0, 2.0))}) != digest({"a": ((1.0,), (1.0, 3.0))})


def test_bad_arrays_are_refused():
    with pytest.raises(ParameterError, match=r"shape \(3,\); 2 finite numbers"):
        numbers("mean", [1.0, 2.0, 3.0], (2,), Bare())
    with pytest.raises(ParameterError, match="finite"):
        numbers("mean", [1.0, np.nan], (-1,), Bare())
    with pytest.raises(ParameterError, match="finite"):
        numbers("mean", "text", (-1,), Bare())
    for bad in ([0.5, 0.6], [-0.5, 1.5]):
        with pytest.raises(ParameterError, match="not distributions"):
            stochastic("start", bad, (2,), Bare())
    with pytest.raises(DomainError, match="positive weight"):
        weights_of(np.zeros(3), 3)
