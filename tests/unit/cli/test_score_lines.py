"""Scores and cross-validation against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, mean_absolute_error, r2_score, root_mean_squared_error
from sklearn.model_selection import KFold, cross_val_predict

from mercer import KernelFeatures, KernelMeanClassifier, KernelRidge, ParzenDensity
from mercer.cli.failures import UsageFault
from mercer.cli.inputs import Rows
from mercer.cli.score_lines import cross_validated, scores, splits, weighted, words
from mercer.kernels import Gaussian, Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))
Y = np.sin(X[:, 0])


def test_regression():
    guess = Y + 0.1 * rng.normal(size=40)
    found = scores("regression", Y, guess)
    assert found["r2"] == pytest.approx(r2_score(Y, guess))
    assert found["rmse"] == pytest.approx(root_mean_squared_error(Y, guess))
    assert found["mae"] == pytest.approx(mean_absolute_error(Y, guess))
    assert "R2" in words(found)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_numbers_of_any_size(size):
    found = scores("regression", size * Y, size * (Y + 0.1))
    assert 0.9 < found["r2"] < 1.0 and found["rmse"] == pytest.approx(0.1 * size)


def test_a_constant_target_has_no_share_explained():
    found = scores("regression", np.ones(5), np.ones(5))
    assert np.isnan(found["r2"]) and "undefined" in words(found)


def test_classification():
    y = np.array(["a", "b", "a", "a"], dtype=object)
    guess = np.array(["a", "b", "b", "a"], dtype=object)
    found = scores("classification", y, guess)
    assert found["accuracy"] == 0.75 and found["baseline_accuracy"] == 0.75
    assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(list(y), list(guess)))
    assert "accuracy" in words(found)


def test_other_scores_in_words():
    assert words({"score_per_sample": -1.5}) == "score per sample -1.5"


def test_folds_are_those_of_scikit_learn():
    model, told = KernelRidge(Gaussian(1.0), alpha=0.1), []
    pairs = splits(model, Y, 40, 4, Rows())
    guesses = cross_validated(model, Gaussian(1.0).pack(X), Y, pairs, told.append).predictions
    expected = cross_val_predict(model, X, Y, cv=KFold(4, shuffle=True, random_state=0))
    np.testing.assert_allclose(guesses, expected, rtol=1e-10)
    assert told == [0.25, 0.5, 0.75, 1.0]


def test_classes_are_kept_in_proportion():
    words = ["aab", "aba", "baa", "aaa"] * 5 + ["ccd", "dcc"] * 5
    y = np.array(["x"] * 20 + ["y"] * 10, dtype=object)
    model = KernelMeanClassifier(Spectrum(1))
    pairs = splits(model, y, 30, 5, Rows())
    checked = cross_validated(model, Spectrum(1).pack(words), y, pairs, lambda fraction: None, metric="accuracy")
    assert (checked.predictions == y).all() and checked.measured.tolist() == [1.0] * 5
    assert all(np.sum(y[test] == "y") == 2 for _, test in pairs)


def test_densities_are_scored_per_sample():
    model = ParzenDensity(Gaussian(1.0))
    checked = cross_validated(model, X, None, splits(model, None, 40, 4, Rows()), lambda fraction: None)
    assert checked.predictions is None and checked.scores.shape == (4,) and np.all(checked.scores < 0)


def test_weights_go_to_those_that_take_them():
    assert weighted(KernelRidge(), np.ones(3))["sample_weight"].tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(UsageFault, match="knows no weights"):
        weighted(KernelFeatures(), np.ones(3))
