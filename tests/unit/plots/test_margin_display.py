import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.neighbors import KNeighborsClassifier

from mercer import SVC, KernelRidge
from mercer.errors import CapabilityError, MercerError
from mercer.kernels import Gaussian
from mercer.plots import MarginDisplay

X = np.random.default_rng(0).normal(size=(40, 2))
TWO, THREE = X[:, 0] > 0.0, np.digitize(X[:, 0], [-0.5, 0.5])


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def test_values_are_those_of_the_machine():
    machine = SVC(Gaussian(1.0)).fit(X, TWO)
    display = MarginDisplay.from_estimator(machine, X, TWO, resolution=7)
    place = np.array([[display.x[2], display.y[5]]])
    assert display.values[5, 2] == pytest.approx(machine.decision_function(place)[0])
    assert np.array_equal(display.support, machine.support_)
    assert np.all((display.x[0] < X[:, 0]) & (X[:, 0] < display.x[-1]))


def test_several_classes_and_other_libraries():
    model = KNeighborsClassifier(3).fit(X, THREE)
    display = MarginDisplay.from_estimator(model, X, THREE, resolution=9)
    assert set(np.unique(display.values)) <= {0.0, 1.0, 2.0} and len(display.support) == 0
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["0", "1", "2"]


def test_what_cannot_be_drawn_is_refused():
    machine = SVC(Gaussian(1.0)).fit(X, TWO)
    with pytest.raises(MercerError, match="a plane has two"):
        MarginDisplay.from_estimator(machine, np.zeros((3, 3)), [0, 1, 1])
    with pytest.raises(CapabilityError, match="no fitted classifier"):
        MarginDisplay.from_estimator(KernelRidge().fit(X, X[:, 0]), X, TWO)
    with pytest.raises(MercerError, match="resolution"):
        MarginDisplay.from_estimator(machine, X, TWO, resolution=1)
