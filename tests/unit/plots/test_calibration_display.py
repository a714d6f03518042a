import numpy as np
import pytest
from matplotlib import pyplot
from scipy.optimize import brentq
from scipy.stats import norm

from mercer import KernelLogisticRegression
from mercer.errors import MercerError
from mercer.kernels import Linear
from mercer.plots import CalibrationDisplay


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def test_groups_are_ordered_equal_and_part_no_ties():
    rng = np.random.default_rng(0)
    chance, y = rng.random(100), rng.random(100) < 0.5
    display = CalibrationDisplay.from_predictions(y, chance, groups=5)
    order = np.argsort(chance).reshape(5, 20)
    assert list(display.counts) == [20] * 5
    assert display.predicted == pytest.approx(chance[order].mean(axis=1))
    assert display.observed == pytest.approx(y[order].mean(axis=1))
    assert display.error == pytest.approx(np.abs(display.predicted - display.observed).mean())
    tied = CalibrationDisplay.from_predictions([0, 1, 0, 1, 1], [0.3, 0.3, 0.3, 0.3, 0.9], groups=5)
    assert list(tied.counts) == [4, 1] and tied.predicted == pytest.approx([0.3, 0.9])


def test_intervals_hold_the_shares_that_a_test_would_not_reject():
    y = np.arange(40) < 13
    display = CalibrationDisplay.from_predictions(y, np.full(40, 0.5), groups=1, level=0.9)
    z, share = norm.ppf(0.95), 13 / 40
    rejected = lambda p: (share - p) ** 2 - z**2 * p * (1 - p) / 40  # noqa: E731
    ends = [brentq(rejected, 0.0, share), brentq(rejected, share, 1.0)]
    assert [display.low[0], display.high[0]] == pytest.approx(ends, abs=1e-9)
    none = CalibrationDisplay.from_predictions([0, 0, 1], [0.1, 0.1, 0.9], groups=2)
    assert none.observed[0] == 0.0 and none.low[0] == pytest.approx(0.0, abs=1e-15) and none.high[0] > 0.5


def test_of_several_classes_the_likeliest_counts():
    P = [[0.7, 0.2, 0.1], [0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.4, 0.5, 0.1]]
    display = CalibrationDisplay.from_predictions(["a", "b", "c", "b"], P, groups=3)
    assert display.predicted == pytest.approx([0.5, 0.7, 0.8]) and display.observed == pytest.approx([1.0, 0.5, 1.0])
    assert display.event == "being right"


def test_probabilities_of_a_machine():
    X = np.linspace(-2, 2, 50)[:, None]
    y = np.where(np.sin(7 * X[:, 0]) + X[:, 0] > 0, "yes", "no")
    model = KernelLogisticRegression(Linear()).fit(X, y)
    display = CalibrationDisplay.from_estimator(model, X, y, groups=4)
    assert np.sum(display.counts * display.predicted) == pytest.approx(model.predict_proba(X)[:, 1].sum())
    assert display.ax_.get_xlabel() == "predicted probability of the class yes"


@pytest.mark.parametrize(
    ("chance", "more", "words"),
    [
        ([0.5, 1.5], {}, "use predict_proba"),
        ([0.5, 0.5], {"groups": 0}, "groups"),
        ([0.5, 0.5], {"level": 1.0}, "level"),
    ],
)
def test_what_is_no_probability_is_refused(chance, more, words):
    with pytest.raises(MercerError, match=words):
        CalibrationDisplay.from_predictions([0, 1], chance, **more)
