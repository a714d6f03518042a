"""The picture of a certificate."""

import pytest
from matplotlib import pyplot

from mercer.plots import CertificateDisplay
from mercer.theory import Bound, Certificate, Estimate, Term

TERMS = (Term("ramp loss", "mean", 0.1), Term("complexity", "R^", 0.2))
BOUNDS = (
    Bound.of_terms("margin", "P(error)", TERMS, 0.05),
    Bound(0.4, "PAC-Bayes", "P(error)", TERMS, 0.05, formula="an inverse"),
    Bound(7.0, "printed", "P(error)", (), 0.05),
)
HELD = Estimate("hold-out", 0.1, 0.05, 0.2, 100, True)
CERTIFICATE = Certificate("SVC()", "P(error)", 500, 0.05, BOUNDS, (HELD,), (), (), frozenset({"printed"}))


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def test_terms_are_stacked_and_other_bounds_are_one_bar():
    display = CertificateDisplay.from_certificate(CERTIFICATE)
    bars = [(bar.get_x(), bar.get_width()) for bar in display.ax_.patches if bar.get_height() == pytest.approx(0.6)]
    assert bars[:3] == [pytest.approx((0.0, 0.1)), pytest.approx((0.1, 0.2)), pytest.approx((0.0, 0.4))]


def test_rows_are_named_from_top_to_bottom():
    display = CertificateDisplay.from_certificate(CERTIFICATE)
    assert display.labels == ["margin", "PAC-Bayes", "printed (unpaid)", "hold-out"]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == display.labels
    assert display.ax_.get_ylim()[0] > display.ax_.get_ylim()[1]


def test_a_bound_far_beyond_does_not_stretch_the_axis():
    assert CertificateDisplay.from_certificate(CERTIFICATE).ax_.get_xlim()[1] == pytest.approx(2.5)


def test_axes_may_be_given_and_intervals_are_lines():
    _, ax = pyplot.subplots()
    display = CertificateDisplay(CERTIFICATE).plot(ax)
    assert display.ax_ is ax
    assert list(ax.lines[0].get_xdata()) == [0.05, 0.2]
    assert repr(display) == "<CertificateDisplay: 3 bounds, 1 estimates>"
