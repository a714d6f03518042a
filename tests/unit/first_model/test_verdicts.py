"""Scores of rows held out, their errors, and what is said of them."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, mean_absolute_error, r2_score, roc_auc_score

from mercer.errors import ParameterError
from mercer.first_model.verdicts import (
    LEAST,
    Held,
    comparing,
    judged,
    log_probability,
    needs_probabilities,
    require_scoring,
    standard_error,
)

rng = np.random.default_rng(0)
Y = rng.normal(size=400)
CLASSES = np.where(rng.random(400) < 0.3, "yes", "no")
ROWS, KNOWN = np.arange(100, 400), np.arange(400) < 100


def test_numbers():
    said = Y[ROWS] + 0.5 * rng.normal(size=300)
    found = judged(Held(ROWS, Y[ROWS], said, None), KNOWN, Y, "regression", "r2", None)
    assert found.score == pytest.approx(r2_score(Y[ROWS], said))
    assert found.baseline == pytest.approx(r2_score(Y[ROWS], np.full(300, Y[KNOWN].mean())))
    # of 300 squares about a quarter of the variance each: sqrt(2 / 300) / 4, and as much again from the variance
    assert 0.01 < found.error < 0.05 and "of the variance" in found.verdict and "beyond doubt" in found.verdict
    weight = rng.random(400)
    other = judged(Held(ROWS, Y[ROWS], said, None), KNOWN, Y, "regression", "neg_mean_absolute_error", weight)
    assert other.score == pytest.approx(-mean_absolute_error(Y[ROWS], said, sample_weight=weight[ROWS]))


def test_classes():
    p = np.where(CLASSES[ROWS] == "yes", 0.8, 0.3) + rng.uniform(-0.2, 0.2, size=300)
    P = np.column_stack([1.0 - p, p])
    held = Held(ROWS, CLASSES[ROWS], np.where(p > 0.5, "yes", "no"), P)
    area = judged(held, KNOWN, CLASSES, "classification", "roc_auc", None)
    assert area.score == pytest.approx(roc_auc_score(CLASSES[ROWS] == "yes", p)) and area.baseline == 0.5
    loss = judged(held, KNOWN, CLASSES, "classification", "neg_log_loss", None)
    share = np.mean(CLASSES[KNOWN] == "yes")
    assert loss.baseline == pytest.approx(-log_loss(CLASSES[ROWS], np.tile([1.0 - share, share], (300, 1))))
    hits = judged(held, KNOWN, CLASSES, "classification", "accuracy", None)
    right = np.mean(held.predictions == CLASSES[ROWS])
    # the jackknife of a mean over 40 blocks estimates its error to about a ninth; four times that
    assert hits.score == right and hits.error == pytest.approx(np.sqrt(right * (1 - right) / 300), rel=0.45)


def test_guessing_is_called_guessing():
    held = Held(ROWS, CLASSES[ROWS], rng.permutation(CLASSES[ROWS]), None)
    assert "no better than guessing" in judged(held, KNOWN, CLASSES, "classification", "accuracy", None).verdict
    nothing = judged(Held(ROWS[:0], Y[:0], Y[:0], None), KNOWN, Y, "regression", "r2", None)
    assert np.isnan(nothing.score) and "not known" in nothing.verdict


def test_scores_beyond_squares():
    values = np.array([0.2, 0.5, 0.9, -0.3])
    assert standard_error(values) == np.std(values, ddof=1) / 2.0
    assert standard_error(2.0**1000 * values) == 2.0**1000 * standard_error(values)
    assert standard_error(np.zeros(3)) == 0.0
    weight = np.ones(400)
    weight[200] = 1e160  # all of the variance is that of one row
    said = judged(Held(ROWS, Y[ROWS], np.zeros(300), None), KNOWN, Y, "regression", "r2", weight)
    assert said.score < -1e150 and len(said.verdict) < 150 and "no better than guessing" in said.verdict


def test_scores_are_checked_beforehand():
    assert (
        require_scoring(None, Y, "regression") == "r2"
        and require_scoring(None, CLASSES, "classification") == "accuracy"
    )
    assert require_scoring("neg_log_loss", CLASSES, "classification") == "neg_log_loss"
    assert needs_probabilities("roc_auc", CLASSES, "classification")
    assert not needs_probabilities("f1_macro", CLASSES, "classification")
    with pytest.raises(ParameterError, match="names of scikit-learn's scorers"):
        require_scoring("best", Y, "regression")
    with pytest.raises(ParameterError, match="cannot score this target"):
        require_scoring("accuracy", Y, "regression")


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
