"""The picture of a distribution of errors."""

import numpy as np
import pytest
from matplotlib import pyplot

from mercer.plots import ErrorDistributionDisplay
from mercer.theory import ErrorDistribution

ERRORS = np.array([[[0.1, 0.2, 0.3], [0.2, 0.4, 0.6]], [[0.0, 0.0, 0.3], [0.3, 0.3, 0.3]]])
FOUND = ErrorDistribution(("means", "SVC"), (100, 10), ERRORS, np.array([0.1, 0.0]))


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def test_lines_are_means_and_quantiles():
    display = ErrorDistributionDisplay.from_distribution(FOUND, delta=0.5)
    assert list(display.ax_.lines[0].get_ydata()) == pytest.approx([0.2, 0.4])
    assert list(display.ax_.lines[3].get_ydata()) == pytest.approx([0.0, 0.3])
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["100", "10"]
    assert "50 % quantile" in [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_histograms_are_shares_with_their_mean():
    display = ErrorDistributionDisplay(FOUND).histogram(10)
    assert [line.get_xdata()[0] for line in display.ax_.lines] == pytest.approx([0.4, 0.3])
    assert display.ax_.get_title() == "10 training samples"
    with pytest.raises(ValueError, match="not in"):
        display.histogram(11)
