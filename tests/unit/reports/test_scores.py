"""Cross-validation and its scores."""

from collections import namedtuple

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import balanced_accuracy_score, r2_score, roc_auc_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelMeanClassifier, KernelRidge, ParzenDensity
from mercer.errors import ParameterError
from mercer.kernels import Gaussian, Precomputed, Sigmoid, Spectrum
from mercer.reports import scores
from mercer.reports.subject import NotApplicable, Subject

Held = namedtuple("Held", "rows predictions probabilities")
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)
labels = np.array(["low", "high"])[(y > 0).astype(int)]
three = np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.5])]


def of(model, data, target=None, cv=5):
    fitted = model.fit(data) if target is None else model.fit(data, target)
    return scores.cross_validated(Subject.of(fitted, data, target), cv)


def test_regression_agrees_with_scikit_learn():
    model = KernelRidge(Gaussian(1.0), alpha=0.1)
    found = of(model, X, y)
    folds = KFold(5, shuffle=True, random_state=0)
    predicted = cross_val_predict(model, X, y, cv=folds)
    assert np.allclose(found.predicted, predicted)
    by_fold = [r2_score(y[test], predicted[test]) for _, test in folds.split(X)]
    assert [fold.scores["R²"] for fold in found.folds] == pytest.approx(by_fold)
    assert found.mean["R²"] == pytest.approx(np.mean(by_fold))
    assert found.baseline["R²"] == pytest.approx(0.0)
    assert found.fitted["R²"] == pytest.approx(r2_score(y, model.predict(X)))


@pytest.mark.parametrize("target", [labels, three, (y > 0).astype(int)])
def test_classification(target):
    found = of(KernelMeanClassifier(Gaussian(1.0)), X, target)
    assert found.names == ("accuracy", "balanced accuracy", "ROC area")
    assert found.values.shape[0] == 60
    assert found.baseline["accuracy"] == np.mean(target == max(set(target), key=list(target).count))
    assert set(found.predicted) <= set(target)


def test_measures_agree_with_scikit_learn():
    guess = rng.permutation(three)
    values = rng.normal(size=(60, 3))
    assert scores.classification_scores(three, guess)["balanced accuracy"] == pytest.approx(
        balanced_accuracy_score(three, guess)
    )
    share = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
    assert scores.area_under_roc(three, share, np.unique(three)) == pytest.approx(
        roc_auc_score(three, share, multi_class="ovr")
    )
    tied = np.round(values[:, 0])  # ties count half
    assert scores.area_under_roc(labels, tied, np.array(["high", "low"])) == pytest.approx(
        roc_auc_score(labels == "low", tied)
    )
    assert scores.area_under_roc(["a", "a"], np.zeros(2), np.array(["a", "b"])) is None


def test_packed_and_raw_data_give_the_same():
    K = Gaussian(1.0)(X)
    direct = of(KernelRidge(Gaussian(1.0), alpha=0.1), X, y)
    given = of(KernelRidge(Precomputed(), alpha=0.1), K, y)
    assert np.allclose(direct.predicted, given.predicted)


def test_pipelines_are_refitted_as_a_whole():
    found = of(make_pipeline(StandardScaler(), KernelRidge(Gaussian(1.0))), X, y)
    assert np.isfinite(found.mean["R²"])


def test_strings_several_outputs_densities():
    texts = ["".join(rng.choice(list("ab"), 6)) for _ in range(30)]
    assert of(KernelRidge(Spectrum(2)), texts, rng.normal(size=30)).names[0] == "R²"
    assert of(KernelRidge(Gaussian(1.0)), X, np.c_[y, -y]).predicted.shape == (60, 2)
    assert of(ParzenDensity(), X).names == ("mean log-density",)


def test_folds_are_as_many_as_the_classes_allow():
    target = np.array(["a"] * 57 + ["b"] * 3)
    assert len(of(KernelMeanClassifier(Gaussian(1.0)), X, target).folds) == 3
    with pytest.raises(NotApplicable, match="single sample"):
        of(KernelMeanClassifier(Gaussian(1.0)), X, np.array(["a"] * 59 + ["b"]))
    with pytest.raises(NotApplicable, match="cannot be split"):
        of(KernelRidge(Gaussian(1.0)), X[:3], y[:3])
    with pytest.raises(ParameterError, match="at least 2 folds"):
        of(KernelRidge(Gaussian(1.0)), X, y, cv=1)


def test_a_splitter_of_the_user_is_used():
    found = of(KernelRidge(Gaussian(1.0)), X, y, cv=KFold(3))
    assert len(found.folds) == 3
    assert found.splitter == "KFold"
    half = [(np.arange(40), np.arange(40, 60))]
    assert len(of(KernelRidge(Gaussian(1.0)), X, y, cv=half).predicted) == 20


def test_warnings_are_kept_not_shown(recwarn):
    with pytest.warns(match="not positive definite"):
        model = KernelRidge(Sigmoid(0.1)).fit(X, y)
    found = scores.cross_validated(Subject.of(model, X, y))
    assert "not positive definite" in found.warned[0][0]
    assert found.warned[0][1] == 5
    assert not recwarn.list


def test_samples_held_out_are_scored_as_they_were_predicted():
    rows = np.arange(0, 60, 2)
    model = KernelRidge(Gaussian(1.0)).fit(X, y)
    held = Held(rows, y[rows] + 0.1, None)
    found = scores.held_out(Subject.of(model, X, y), held)
    assert found.folds == () and found.mean["RMSE"] == pytest.approx(0.1) and found.spread == "standard error"
    assert found.mean["R²"] == pytest.approx(r2_score(y[rows], y[rows] + 0.1))
    right = rng.random(30) < 0.8
    guess = np.where(right, three[rows], np.roll(np.unique(three), 1)[np.searchsorted(np.unique(three), three[rows])])
    share = rng.dirichlet(np.ones(3), size=30)
    subject = Subject.of(KernelMeanClassifier(Gaussian(1.0)).fit(X, three), X, three)
    found = scores.held_out(subject, Held(rows, guess, share))
    assert found.has_probabilities and found.values.shape == (30, 3) and found.mean["accuracy"] == right.mean()
    expected = np.sqrt(right.mean() * (1 - right.mean()) / 30)
    assert found.deviation["accuracy"] == pytest.approx(expected, rel=0.3)  # 200 draws: to a twentieth
    with pytest.raises(NotApplicable, match="not among"):
        scores.held_out(Subject.of(model, X[:20], y[:20]), held)


def test_what_cannot_be_scored_says_why():
    with pytest.raises(NotApplicable, match="no data"):
        scores.cross_validated(Subject.of(KernelRidge().fit(X, y)))
    with pytest.raises(NotApplicable, match="no targets"):
        scores.cross_validated(Subject.of(KernelRidge().fit(X, y), X))
    assert scores.cross_validated(Subject.of(KMeans(2, n_init=1).fit(X), X)).names == ("score",)


def test_columns_line_up():
    assert of(KernelRidge(Gaussian(1.0)), X, 1000 * y).decimals["RMSE"] <= 2
