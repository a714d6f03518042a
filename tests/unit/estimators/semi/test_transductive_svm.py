"""Transductive support vector machines, against all labellings of a few samples."""

import itertools

import numpy as np
import pytest

from mercer import SVC, TransductiveLSSVC, TransductiveSVC
from mercer.errors import ParameterError, TargetError
from mercer.estimators.semi.transductive_svm import counts_of
from mercer.kernels import Gaussian

RNG = np.random.default_rng(1)
X = np.vstack([RNG.normal(size=(5, 2)), RNG.normal(size=(5, 2)) + 1.5])
TRUTH = np.repeat([0, 1], 5)
Y = np.full(10, -1)
Y[[0, 5]] = 0, 1
K = Gaussian(1.0)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_against_all_labellings(loss):
    free = np.flatnonzero(Y < 0)
    best = np.inf
    for chosen in itertools.combinations(free, 4):
        labels = np.where(Y < 0, 0, Y)
        labels[list(chosen)] = 1
        machine = SVC(K, 1.0, loss=loss, tol=1e-4).fit(X, labels)
        slack = np.maximum(0.0, 1.0 - (2 * labels - 1) * machine.decision_function(X))
        cost = slack if loss == "hinge" else 0.5 * slack**2
        best = min(best, cost.sum() + 0.5 * machine.expansion_.norm() ** 2)
    model = TransductiveSVC(K, 1.0, loss=loss, n_init=10, random_state=0, tol=1e-4).fit(X, Y)
    assert model.objectives_.shape == (10,)
    assert np.isclose(model.objectives_.min(), best, atol=1e-3)  # tol of both solvers
    assert np.sum(model.transduction_[free] == 1) == 4
    assert np.all(model.transduction_[[0, 5]] == [0, 1])


def test_without_samples_to_label_it_is_the_machine():
    model = TransductiveSVC(K, 2.0, tol=1e-8).fit(X, TRUTH)
    expected = SVC(K, 2.0, tol=1e-8).fit(X, TRUTH).decision_function(X)
    assert np.allclose(model.decision_function(X), expected, atol=1e-6)
    assert np.array_equal(model.transduction_, TRUTH)


def test_balance_trust_and_three_classes():
    model = TransductiveSVC(K, balance=0.2).fit(X, Y)
    assert np.sum(model.transduction_[Y < 0] == 1) == 2
    options = {"tol": 1e-8, "loss": "squared_hinge"}  # whose intercept is always determined
    little = TransductiveSVC(K, trust=1e-6, annealed=False, **options).fit(X, Y)
    expected = SVC(K, **options).fit(X[[0, 5]], [0, 1]).decision_function(X)
    assert np.allclose(little.decision_function(X), expected, atol=1e-3)
    three = Y.copy()
    three[3] = 2
    model = TransductiveSVC(K).fit(X, three)
    assert model.decision_function(X).shape == (10, 3) and model.transduction_[3] == 2
    for wrong in (0.5, (0.5, 0.5), (0.5, 0.3, 0.3)):
        with pytest.raises(ParameterError, match="two classes"):
            TransductiveSVC(K, balance=wrong).fit(X, three)
    with pytest.raises(TargetError, match="All 10 samples"):
        TransductiveSVC(K).fit(X, np.full(10, -1))


def test_shares_of_all_classes_may_be_given():
    """With the right shares three groups are found that the shares of the labels would cut through."""
    groups = np.repeat([0, 1, 2], [4, 8, 12])
    points = 10.0 * groups[:, None] + 0.3 * (np.arange(24) % 4)[:, None]
    y = np.full(len(groups), -1)
    y[[0, 4, 12]] = [0, 1, 2]
    shares = np.array([3.0, 7.0, 11.0]) / 21.0
    for Machine in (TransductiveSVC, TransductiveLSSVC):
        assert np.array_equal(Machine(Gaussian(3.0), balance=shares).fit(points, y).transduction_, groups)
    two = TransductiveSVC(K, balance=(0.8, 0.2)).fit(X, Y)
    assert np.array_equal(two.transduction_, TransductiveSVC(K, balance=0.2).fit(X, Y).transduction_)


def test_equal_shares_of_the_labels_cut_through_groups_of_other_sizes():
    groups = np.repeat([0, 1, 2], [4, 8, 12])
    codes = np.full(24, -1)
    codes[[0, 4, 12]] = [0, 1, 2]
    assert counts_of(None, codes, 3) == [7, 7, 7]
    assert counts_of((3 / 21, 7 / 21, 11 / 21), codes, 3) == np.bincount(groups[codes < 0]).tolist() == [3, 7, 11]
    assert counts_of(0.25, np.array([0, 1, -1, -1, -1, -1]), 2) == [1]
