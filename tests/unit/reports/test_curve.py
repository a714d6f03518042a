"""The fitted function of one or two columns."""

import numpy as np
import pytest

from mercer import SVC, GaussianProcessRegressor, KernelRidge
from mercer.kernels import Gaussian
from mercer.reports.curve import curve, surface
from mercer.reports.scores import cross_validated
from mercer.reports.subject import NotApplicable, Subject

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0.0, 6.0, size=(50, 1)), axis=0)
Y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=50)
Z = rng.normal(size=(50, 2))


def test_a_curve_is_what_the_model_predicts_with_the_errors_around_it():
    subject = Subject.of(KernelRidge(Gaussian(1.0), alpha=0.1).fit(X, Y), X, Y)
    scores = cross_validated(subject)
    found = curve(subject, scores)
    np.testing.assert_allclose(found.curves[0][1], subject.model.predict(found.x[:, None]), rtol=1e-12)
    width = np.quantile(np.abs(Y - scores.predicted), 0.9)
    np.testing.assert_allclose(found.high - found.low, 2.0 * width, rtol=1e-9)
    assert curve(subject, None).low is None and found.values.tolist() == Y.tolist()


def test_a_process_has_a_band_of_its_own():
    model = GaussianProcessRegressor(Gaussian(1.0), 0.01, fixed="all").fit(X, Y)
    found = curve(Subject.of(model, X, Y), None)
    mean, deviation = model.predict(found.x[:, None], return_std=True)
    np.testing.assert_allclose(found.high, mean + 1.645 * deviation, rtol=1e-9)
    assert "process" in found.band


def test_classes_of_one_column_have_probabilities():
    y = np.where(Y > 0, "up", "down")
    found = curve(Subject.of(SVC(Gaussian(1.0), probability=True).fit(X, y), X, y), None)
    assert found.axis == "probability of up" and found.values is None
    assert np.all((found.curves[0][1] >= 0.0) & (found.curves[0][1] <= 1.0))


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_a_surface_is_what_the_model_predicts(classes):
    cuts = [-0.4, 0.4][: max(classes - 1, 0)]
    y = np.array(["a", "b", "c"])[np.digitize(Z[:, 0], cuts)] if classes else Z[:, 0] * Z[:, 1]
    model = (SVC(Gaussian(1.0)) if classes else KernelRidge(Gaussian(1.0))).fit(Z, y)
    found = surface(Subject.of(model, Z, y))
    predicted = model.predict([[found.x[7], found.y[11]]])[0]
    if classes == 3:
        assert found.classes[int(found.values[11, 7])] == predicted
    elif classes == 2:
        assert found.values[11, 7] == float(predicted == "b")
    else:
        assert found.values[11, 7] == pytest.approx(predicted)


def test_other_data_have_neither():
    subject = Subject.of(KernelRidge(Gaussian(1.0)).fit(Z, Z[:, 0]), Z, Z[:, 0])
    with pytest.raises(NotApplicable, match="one column"):
        curve(subject, None)
    with pytest.raises(NotApplicable, match="two columns"):
        surface(Subject.of(KernelRidge(Gaussian(1.0)).fit(X, Y), X, Y))
