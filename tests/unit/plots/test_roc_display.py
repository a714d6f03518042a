import numpy as np
import pytest
from matplotlib import pyplot

from mercer import SVC
from mercer.errors import MercerError
from mercer.kernels import Gaussian
from mercer.plots import RocDisplay

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
THREE = np.digitize(X[:, 0] + rng.normal(size=60), [-0.5, 0.5])


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def in_order(y, v):
    """The share of pairs in the right order, from the definition; ties are worth a half."""
    pairs = [(a > b) + 0.5 * (a == b) for a in v[y] for b in v[~y]]
    return np.mean(pairs)


def test_the_area_is_the_share_of_pairs_in_the_right_order():
    values = np.round(X[:, 0] + 0.5 * X[:, 1], 1)  # with ties
    y = THREE > 1
    display = RocDisplay.from_predictions(y, values)
    assert len(np.unique(values)) < len(values)
    assert display.areas[0] == pytest.approx(in_order(y, values), abs=1e-13)
    for t in (-1.0, 0.0, 0.7):
        point = (np.mean(values[~y] >= t), np.mean(values[y] >= t))
        near = [np.allclose(point, one) for one in zip(display.false_rates[0], display.true_rates[0], strict=True)]
        assert any(near)


def test_each_class_has_a_curve_against_the_rest():
    machine = SVC(Gaussian(1.0), multi_class="ovr").fit(X, THREE)
    display = RocDisplay.from_estimator(machine, X, THREE)
    values = machine.decision_function(X)
    assert display.areas == pytest.approx([in_order(c == THREE, values[:, c]) for c in range(3)], abs=1e-13)
    assert [text.get_text().split(":")[0] for text in display.ax_.get_legend().get_texts()] == ["0", "1", "2"]
    absent = RocDisplay.from_estimator(machine, X[THREE > 0], THREE[THREE > 0])
    assert list(absent.names) == [1, 2]


def test_one_class_has_no_curve():
    with pytest.raises(MercerError, match="compares two"):
        RocDisplay.from_predictions([1, 1], [0.0, 1.0], classes=[0, 1])
    with pytest.raises(MercerError, match="one class for each sample"):
        RocDisplay.from_predictions([[0], [1]], [0.0, 0.5])
