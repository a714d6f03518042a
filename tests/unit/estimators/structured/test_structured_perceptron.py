"""The structured perceptron: updates by hand, and its bound on the number of mistakes."""

import numpy as np
import pytest

from mercer import LabelSequences, Rankings, StructuredPerceptron
from mercer.kernels import Gaussian, Linear

RNG = np.random.default_rng(0)
X = [RNG.normal(size=(t, 2)) for t in (3, 1, 4, 0, 2)]
Y = [(x[:, 0] + x[:, 1] > 0).astype(int) for x in X]


def test_visits_by_hand():
    space = LabelSequences().learn(Y)
    V, w, total, total_w, visits = np.zeros((2, 2)), np.zeros(4), np.zeros((2, 2)), np.zeros(4), 0
    for _ in range(3):
        for x, y in zip(X, Y, strict=True):
            if len(x):
                found = space.best(x @ V, w)
                psi, g = space.features(y, len(x))
                other, turn = space.features(found, len(x))
                if (found != y).any():
                    V, w = V + x.T @ (psi - other), w + g - turn
            total, total_w, visits = total + V, total_w + w, visits + 1
    last = StructuredPerceptron(Linear(), outputs=LabelSequences(), averaged=False, max_iter=3).fit(X, Y)
    mean = StructuredPerceptron(Linear(), outputs=LabelSequences(), max_iter=3).fit(X, Y)
    assert last.n_iter_ == 3  # it was not over before
    np.testing.assert_allclose(last.expansion_(np.eye(2)), V, atol=1e-12)
    np.testing.assert_allclose(last.weights_, w)
    # the mean of the functions before each visit differs from that after it by the last one
    np.testing.assert_allclose(mean.expansion_(np.eye(2)), total / visits, atol=1e-9)
    np.testing.assert_allclose(mean.weights_, total_w / visits, atol=1e-9)


def test_what_can_be_separated_is_separated_within_the_bound():
    model = StructuredPerceptron(Gaussian(0.3), outputs=LabelSequences(), averaged=False, max_iter=1000).fit(X, Y)
    assert model.score(X, Y) == 1.0
    assert model.n_iter_ < 1000


@pytest.mark.parametrize("decomposition", ["edges", "graph"])
def test_rankings_learn_from_their_pairs(decomposition):
    Z = RNG.normal(size=(20, 2))
    y = np.column_stack([Z[:, 0], Z[:, 1], np.zeros(20)])
    model = StructuredPerceptron(Gaussian(1.0), outputs=Rankings(decomposition), max_iter=100).fit(Z, y)
    assert model.score(Z, y) > 0.95
