"""Scores by formula, against scikit-learn's scorers."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import check_scoring, get_scorer

from mercer.choosing.judges import Judge

Y = np.random.default_rng(0).integers(0, 3, 20)
PLACES = np.arange(3, 17)


class Known(BaseEstimator):
    """A model whose predictions are read by places."""

    def __init__(self, values):
        self.values = values
        self.classes_ = np.unique(Y)

    def predict(self, places):
        return self.values[np.asarray(places).reshape(-1)]


@pytest.mark.parametrize("name", ["accuracy", "r2", "neg_mean_squared_error", "neg_mean_absolute_error"])
def test_formulas_are_those_of_scikit_learn(name):
    values = np.random.default_rng(1).integers(0, 3, 20)
    scorer = get_scorer(name)
    found = Judge(scorer, Y)(Known(values), PLACES, {})
    assert found == pytest.approx(scorer._sign * scorer._score_func(Y[PLACES], values[PLACES]))


@pytest.mark.parametrize("model", [DummyClassifier(), DummyRegressor()])
def test_the_own_score_of_an_estimator(model):
    X = np.arange(20.0)[:, None]
    model.fit(X, Y)
    found = Judge(check_scoring(model), Y)(model, PLACES, {})
    assert found == pytest.approx(model.score(X[PLACES], Y[PLACES]))


def test_weights_are_given_to_the_scorer():
    weight = np.linspace(0.1, 1.0, len(PLACES))
    values = np.zeros(20, dtype=int)
    found = Judge(get_scorer("accuracy"), Y)(Known(values), PLACES, {"sample_weight": weight})
    assert found == pytest.approx(np.average(Y[PLACES] == 0, weights=weight))
