"""Transductive least squares, against normal equations and all labellings."""

import itertools

import numpy as np
import pytest

from mercer import LSSVC, KernelRidge, TransductiveLSSVC, TransductiveRidge
from mercer.gram import Dense, Tiles
from mercer.kernels import Gaussian, Linear

RNG = np.random.default_rng(2)
X = RNG.normal(size=(14, 2))
T = RNG.normal(size=(5, 2))
Y = np.where(np.arange(14) % 3 == 0, np.sin(X[:, 0]), np.nan)
LABELS = np.where(np.isnan(Y), -1, np.arange(14) % 2)
K = Gaussian(1.0)


@pytest.mark.parametrize("spec", [Dense(), Tiles()], ids=repr)
def test_ridge_solves_its_normal_equations(spec):
    alpha, trust = 0.3, 0.4
    w = RNG.uniform(0.5, 2.0, size=14)
    model = TransductiveRidge(K, alpha, trust=trust, gram=spec).fit(X, Y, sample_weight=w)
    known = ~np.isnan(Y)
    share = K(X[~known], X[known]) * w[known]
    guesses = share @ Y[known] / share.sum(axis=1)
    target, weight = Y.copy(), w.copy()
    target[~known], weight[~known] = guesses, trust * w[~known]
    a = np.linalg.solve(K(X) + alpha * np.diag(1.0 / weight), target)
    assert np.allclose(model.guesses_, guesses)
    assert np.allclose(model.predict(T), K(T, X) @ a, atol=1e-6)
    plain = KernelRidge(K, alpha).fit(X[known], Y[known], sample_weight=w[known]).predict(T)
    assert not np.allclose(model.predict(T), plain, atol=1e-3)  # it differs from ridge regression
    none = TransductiveRidge(K, alpha, trust=0.0, gram=spec).fit(X, Y, sample_weight=w)
    assert np.allclose(none.predict(T), plain, atol=1e-6)


def test_guesses_of_several_outputs_and_far_away():
    both = np.column_stack([Y, 2.0 * Y])
    model = TransductiveRidge(K, local=Gaussian(0.5), fit_intercept=True).fit(X, both)
    assert np.allclose(model.guesses_[:, 1], 2.0 * model.guesses_[:, 0])
    far = TransductiveRidge(K).fit([[0.0], [1.0], [1e3]], [1.0, 3.0, np.nan])
    assert np.allclose(far.guesses_, 2.0)
    negative = TransductiveRidge(Linear()).fit([[1.0], [2.0], [-1.0]], [1.0, 3.0, np.nan])
    assert np.allclose(negative.guesses_, 2.0)


def test_labels_against_all_labellings():
    free = np.flatnonzero(LABELS < 0)
    wanted = round(np.mean(LABELS[LABELS >= 0] == 1) * len(free))
    G = np.block([[K(X) + 0.5 * np.eye(14), np.ones((14, 1))], [np.ones((1, 14)), np.zeros((1, 1))]])
    P = np.linalg.inv(G)[:14, :14]
    best = np.inf
    for chosen in itertools.combinations(free, wanted):
        y = np.where(LABELS == 1, 1.0, -1.0)
        y[list(chosen)] = 1.0
        best = min(best, 0.5 * y @ P @ y)
    model = TransductiveLSSVC(K, 2.0, n_init=10, random_state=0).fit(X, LABELS)
    assert np.isclose(model.objectives_.min(), best, rtol=1e-9)
    assert np.sum(model.transduction_[free] == 1) == wanted


def test_without_samples_to_label_it_is_the_machine():
    labels = np.arange(14) % 2
    model = TransductiveLSSVC(K, 2.0).fit(X, labels)
    expected = LSSVC(K, 2.0).fit(X, labels).decision_function(T)
    assert np.allclose(model.decision_function(T), expected, atol=1e-8)
    three = TransductiveLSSVC(K, 2.0, unlabelled=None).fit(X, [*("abc" * 4), None, None])
    assert three.decision_function(T).shape == (5, 3) and three.transduction_[0] == "a"
