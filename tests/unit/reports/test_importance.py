"""Importance by permutation, lengths of columns, partial dependence."""

import numpy as np
import pytest
from sklearn.inspection import partial_dependence

from mercer import SVC, KernelMeanClassifier, KernelRidge
from mercer.kernels import Gaussian, Linear, Match
from mercer.reports.importance import dependence, importance, outputs
from mercer.reports.subject import NotApplicable, Subject

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = 2.0 * X[:, 0] - X[:, 1]
RIDGE = Subject.of(KernelRidge(Linear(), alpha=1e-6).fit(X, Y), X, Y)


def test_a_linear_function_loses_twice_the_variance_of_its_terms():
    """Of independent columns: E (f(x) - f(x with x_j from another row))^2 = 2 w_j^2 Var x_j."""
    found = importance(RIDGE)
    assert [row.name for row in found.rows] == ["column 0", "column 1", "column 2"]
    assert found.measure == "R²" and found.n == 60 and not found.has_lengths
    for row, w in zip(found.rows, (2.0, 1.0, 0.0), strict=True):
        expected = 2.0 * w**2 * np.var(X[:, row.place]) / np.var(Y)
        # four permutations of 60 rows: their mean is within a quarter of what is expected
        assert row.loss == pytest.approx(expected, rel=0.25, abs=1e-6)


@pytest.mark.parametrize("model", [SVC(Gaussian(1.0), probability=True), KernelMeanClassifier(Gaussian(1.0))])
def test_classes(model):
    y = np.where(X[:, 2] > 0, "p", "n")
    found = importance(Subject.of(model.fit(X, y), X, y))
    assert found.rows[0].name == "column 2"
    probable = hasattr(model, "predict_proba")
    assert found.measure == ("mean probability of the true class" if probable else "accuracy")


def test_lengths_are_those_of_the_kernel():
    model = KernelRidge(Gaussian((1.0, 3.0, 50.0)) + Gaussian((2.0, 4.0, 60.0))).fit(X, Y)
    lengths = {row.name: row.lengths for row in importance(Subject.of(model, X, Y)).rows}
    assert lengths == {"column 0": "1, 2", "column 1": "3, 4", "column 2": "50, 60"}
    table = {"u": X[:, 0].tolist(), "v": X[:, 1].tolist()}
    named = KernelRidge(Gaussian((1.5, 2.5)).on(["v", "u"])).fit(table, Y)
    lengths = {row.name: row.lengths for row in importance(Subject.of(named, table, Y)).rows}
    assert lengths == {"u": "2.5", "v": "1.5"}


def test_it_needs_columns_and_one_target():
    with pytest.raises(NotApplicable, match="one column"):
        importance(Subject.of(KernelRidge().fit(X[:, :1], Y), X[:, :1], Y))
    with pytest.raises(NotApplicable, match="one target"):
        importance(Subject.of(KernelRidge().fit(X, np.c_[Y, Y]), X, np.c_[Y, Y]))


def test_dependence_is_that_of_scikit_learn():
    (found,) = dependence(RIDGE, (0,))
    values = np.array(found.points)
    expected = partial_dependence(RIDGE.estimator, X, [0], custom_values={0: values}, kind="average")["average"][0]
    np.testing.assert_allclose(found.curves[0][1], expected, rtol=1e-9, atol=1e-9)
    assert np.all(found.low <= found.curves[0][1]) and np.all(found.curves[0][1] <= found.high)


def test_categories_have_a_point_each_and_texts_none():
    table = {"city": ["a", "b", "a", "c"] * 15, "note": [f"note {i}" for i in range(60)], "u": X[:, 0].tolist()}
    model = KernelRidge(Match().on("city") + Gaussian(1.0).on(["u"])).fit(table, Y)
    found = dependence(Subject.of(model, table, Y), (0, 1))
    assert [one.name for one in found] == ["city"] and found[0].points == ("a", "b", "c")


def test_several_classes_have_a_curve_each():
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    subject = Subject.of(KernelMeanClassifier(Gaussian(1.0)).fit(X, y), X, y)
    values, what, labels = outputs(subject, X)
    assert what == "share" and sorted(labels) == ["a", "b", "c"]
    assert np.all(values.sum(axis=1) == 1.0)
    assert len(dependence(subject, (0,))[0].curves) == 3
