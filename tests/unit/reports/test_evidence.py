"""Residuals, curves and leave-one-out behind the scores."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import average_precision_score

from mercer import SVC, KernelMeanClassifier, KernelRidge, ParzenDensity
from mercer.kernels import Gaussian
from mercer.reports import evidence
from mercer.reports.scores import cross_validated
from mercer.reports.subject import NotApplicable, Subject
from mercer.solvers import ConjugateGradient

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)
two = np.where(y > 0, "b", "a")
three = np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.5])]


def subject(model, target=None):
    return Subject.of(model.fit(X) if target is None else model.fit(X, target), X, target)


def by_hand(model, target, predict):
    out = []
    for i in range(len(X)):
        rest = np.delete(np.arange(len(X)), i)
        again = clone(model)
        again.fit(X[rest]) if target is None else again.fit(X[rest], target[rest])
        out.append(predict(again, X[[i]])[0])
    return np.array(out)


@pytest.mark.parametrize("target", [two, three], ids=["two", "three"])
def test_leave_one_out_of_support_vector_machines_is_that_of_n_fits(target):
    model = SVC(Gaussian(1.0), C=3.0)
    found = evidence.left_out(subject(model, target))
    expected = by_hand(model, target, lambda m, x: m.predict(x))
    assert found.scores["accuracy"] == pytest.approx(np.mean(expected == target))
    assert ("ROC area" in found.scores) == (target is two)


@pytest.mark.parametrize("options", [dict(loss="squared_hinge"), dict(class_weight="balanced"), dict(multi_class="ovr"),
                                     dict(multi_class=[[1, 1], [-1, 1], [1, -1]]), dict(C=float("inf"))])  # fmt: skip
def test_other_support_vector_machines_have_no_leave_one_out(options):
    model = SVC(Gaussian(0.2), **options)
    with pytest.raises(NotApplicable, match="hinge"):
        evidence.left_out(subject(model, three))


def test_leave_one_out_of_ridge_regression_is_that_of_n_fits():
    model = KernelRidge(Gaussian(1.0), alpha=0.1, fit_intercept=True)
    found = evidence.left_out(subject(model, y))
    expected = by_hand(model, y, lambda m, x: m.predict(x))
    assert found.scores["RMSE"] == pytest.approx(np.sqrt(np.mean((y - expected) ** 2)))


def test_leave_one_out_of_class_means_is_that_of_n_fits():
    for target in (two, three):
        model = KernelMeanClassifier(Gaussian(1.0))
        found = evidence.left_out(subject(model, target))
        expected = by_hand(model, target, lambda m, x: m.predict(x))
        assert found.scores["accuracy"] == pytest.approx(np.mean(expected == target))


def test_leave_one_out_of_a_density_is_that_of_n_fits():
    model = ParzenDensity(Gaussian(0.7))
    found = evidence.left_out(subject(model))
    assert found.scores["mean log-density"] == pytest.approx(
        np.mean(by_hand(model, None, lambda m, x: m.score_samples(x)))
    )


def test_leave_one_out_needs_a_factor_and_data():
    with pytest.raises(NotApplicable, match="keeps no factor"):
        evidence.left_out(subject(KernelRidge(Gaussian(1.0), solver=ConjugateGradient()), y))
    with pytest.raises(NotApplicable, match="needs the data"):
        evidence.left_out(Subject.of(KernelRidge(Gaussian(1.0)).fit(X, y)))


def test_residuals():
    scores = cross_validated(subject(KernelRidge(Gaussian(1.0), alpha=0.1), y))
    found = evidence.residuals(scores, np.arange(100, 160))
    error = y - scores.predicted
    assert np.allclose(found.residuals, error)
    assert found.worst[0][0] == 100 + np.argmax(np.abs(error))
    assert dict(found.quantiles)["median"] == pytest.approx(np.median(error))
    assert found.bias == pytest.approx(error.mean())


def test_residuals_of_several_outputs():
    scores = cross_validated(subject(KernelRidge(Gaussian(1.0)), np.c_[y, 10 * y]))
    found = evidence.residuals(scores, np.arange(60))
    assert found.outputs == 2
    assert len(found.observed) == 120
    assert np.allclose(found.observed[60:], 10 * y)


def test_roc_of_two_and_of_three_classes():
    scores = cross_validated(subject(KernelMeanClassifier(Gaussian(1.0)), two))
    (curve,) = evidence.roc(scores).curves
    assert curve.label == "b"
    values, positive = scores.values, two == "b"
    pairs = values[positive][:, None] - values[~positive]
    assert curve.area == pytest.approx(np.mean((pairs > 0) + 0.5 * (pairs == 0)))
    scores = cross_validated(subject(KernelMeanClassifier(Gaussian(1.0)), three))
    assert [curve.label for curve in evidence.roc(scores).curves] == ["a", "b", "c"]


def test_calibration_counts_every_sample_once():
    for target, share in ((two, np.mean(two == "b")), (three, None)):
        scores = cross_validated(subject(KernelMeanClassifier(Gaussian(1.0)), target))
        groups = evidence.calibration(scores).groups
        assert sum(count for _, _, count in groups) == 60
        assert np.all(np.diff([value for value, _, _ in groups]) >= 0)
        hits = sum(part * count for _, part, count in groups) / 60
        assert hits == pytest.approx(share if share is not None else np.mean(scores.predicted == target))


def test_confusion():
    scores = cross_validated(subject(KernelMeanClassifier(Gaussian(1.0)), three))
    found = evidence.confusion(scores)
    counts = np.array(found.counts)
    assert counts.sum() == 60
    assert counts.sum(axis=1).tolist() == [int(np.sum(three == label)) for label in "abc"]
    assert np.trace(counts) / 60 == pytest.approx(np.mean(scores.predicted == three))


def test_precision_of_the_rarer_class_is_that_of_scikit_learn():
    for rare, sign in (("b", 1.0), ("a", -1.0)):
        target = np.where(y > 0.4, "b", "a") if rare == "b" else np.where(y > -0.4, "b", "a")
        scores = cross_validated(subject(KernelMeanClassifier(Gaussian(1.0)), target))
        found = evidence.precision(scores)
        assert found.label == rare and found.share == np.mean(target == rare) < 0.5
        assert found.area == pytest.approx(average_precision_score(target == rare, sign * scores.values))
    three_classes = cross_validated(subject(KernelMeanClassifier(Gaussian(1.0)), three))
    with pytest.raises(NotApplicable, match="two classes"):
        evidence.precision(three_classes)


def test_the_surest_mistakes_come_first():
    for target in (two, three):
        scores = cross_validated(subject(KernelMeanClassifier(Gaussian(0.3)), target))
        found = evidence.mistakes(scores, np.arange(100, 160))
        assert found and all(target[row.sample - 100] == row.truth != row.predicted for row in found)
        sure = [row.value for row in found]
        assert sure == sorted(sure, reverse=True)


def test_each_belongs_to_its_task():
    regression = cross_validated(subject(KernelRidge(Gaussian(1.0)), y))
    classification = cross_validated(subject(KernelMeanClassifier(Gaussian(1.0)), two))
    with pytest.raises(NotApplicable):
        evidence.residuals(classification, np.arange(60))
    for function in (evidence.roc, evidence.calibration, evidence.confusion):
        with pytest.raises(NotApplicable):
            function(regression)
