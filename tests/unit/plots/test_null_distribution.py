"""The picture of a null distribution."""

import numpy as np
import pytest
from matplotlib import pyplot
from scipy import stats

from mercer.inference import aggregated_test, hsic_test, mmd_test
from mercer.inference.result import Null
from mercer.plots.null_distribution import NullDistributionDisplay

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 1)), RNG.normal(1.2, size=(25, 1))


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def test_draws():
    result = mmd_test(X, Y, n_permutations=200, random_state=0)
    display = NullDistributionDisplay.from_result(result)
    assert display.rejected and display.critical < result.statistic
    lines = [line.get_xdata()[0] for line in display.ax_.lines]
    assert lines == [display.critical, result.statistic]
    heights = [bar.get_height() * bar.get_width() for bar in display.ax_.patches]
    assert sum(heights) == pytest.approx(1.0)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert any("permutation" in label for label in labels) and any("0.005" in label for label in labels)
    assert "p = 0.005" in repr(display)


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_several_kernels(shift):
    result = aggregated_test(X, X[:25] + shift, n_permutations=99, random_state=0)
    display = NullDistributionDisplay.from_result(result)
    assert display.rejected == (result.statistic > display.critical) == (shift > 0.0)
    assert display.null.p_value(display.statistic) == display.p_value


def test_too_few_draws_have_no_critical_value():
    display = NullDistributionDisplay.from_result(mmd_test(X, Y, n_permutations=9, random_state=0))
    assert not display.rejected and display.critical == np.inf and len(display.ax_.lines) == 1


def test_formulas():
    display = NullDistributionDisplay.from_result(hsic_test(X[:25], Y, null="gamma"), level=0.01)
    assert not display.rejected
    points, heights = display.density()
    null = display.null
    expected = stats.gamma(null.shape, scale=null.mean / null.shape).pdf(points)
    np.testing.assert_allclose(heights[5:], expected[5:], rtol=1e-2)
    assert display.ax_.collections


def test_a_null_of_one_point_and_given_axes():
    _, ax = pyplot.subplots()
    display = NullDistributionDisplay(1.0, 1.0, Null.gamma(1.0, 0.0)).plot(ax)
    assert display.ax_ is ax and len(ax.lines) == 2
