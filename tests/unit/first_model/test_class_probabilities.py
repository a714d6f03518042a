"""By what machines are compared."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from mercer.first_model.class_probabilities import LEAST, comparing, log_probability

rng = np.random.default_rng(0)


@pytest.mark.parametrize("names", [["no", "yes"], ["a", "b", "c"], [3, 7]])
def test_it_is_the_log_loss(names):
    X, w = rng.normal(size=(60, 2)), rng.uniform(0.5, 2.0, size=60)
    y = np.array(names)[np.digitize(X[:, 0], np.linspace(-0.5, 0.5, len(names) - 1))]
    model = LogisticRegression().fit(X, y)
    scorer = comparing("accuracy", y, "classification", [(np.arange(60), np.arange(0))])
    P = np.maximum(model.predict_proba(X), LEAST)
    expected = -np.log(P[np.arange(60), np.searchsorted(model.classes_, y)])
    assert scorer(model, X, y) == pytest.approx(-expected.mean())
    assert scorer(model, X, y) == pytest.approx(-log_loss(y, model.predict_proba(X)), abs=0.01)
    assert scorer(model, X, y, sample_weight=w) == pytest.approx(-np.average(expected, weights=w))


def test_rows_that_miss_a_class():
    y = np.array(["a", "b", "c"] * 4)
    scorer = comparing("accuracy", y, "classification", [(np.arange(9), np.arange(9, 12))])
    model = LogisticRegression().fit(np.arange(12.0)[:, None], y)
    assert np.isfinite(scorer(model, [[1.0], [2.0]], np.array(["a", "a"])))


def test_the_score_asked_for_where_there_are_no_probabilities_of_all_classes():
    y = np.array(["a", "b", "c", "a", "b"])
    assert comparing("accuracy", y, "classification", [(np.array([0, 1, 3]), np.array([2, 4]))]) is None
    assert (
        comparing("f1", y, "classification", []) is None and comparing("r2", np.arange(5.0), "regression", []) is None
    )


def test_what_is_certainly_wrong_does_not_decide():
    assert log_probability(np.array([0, 1]), np.array([0.0, 0.0]), np.array([0, 1])) == pytest.approx(np.log(LEAST) / 2)
