"""Pictures of Mercer's eigenfunctions hold the numbers they show."""

import numpy as np
import pytest
from matplotlib import pyplot

from mercer.errors import CapabilityError, ParameterError
from mercer.hilbert.measures import Normal, Sampled, Uniform
from mercer.hilbert.mercer_expansion import mercer_expansion
from mercer.kernels import Brownian, Gaussian, Linear, Spectrum
from mercer.plots.eigenfunctions import EigenfunctionsDisplay

rng = np.random.default_rng(0)
LINE = mercer_expansion(Gaussian(0.5), Normal(count=60), rank=9)
PLANE = mercer_expansion(Gaussian(0.8), Sampled(rng.normal(size=(40, 2))), rank=8)


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def test_curves_are_the_eigenfunctions():
    display = EigenfunctionsDisplay.from_expansion(LINE, count=4, region=((-1.0, 1.0),), resolution=11)
    expected = LINE.eigenfunctions(np.linspace(-1.0, 1.0, 11)[:, None])[:, :4].T
    assert np.allclose(display.values, expected)
    curves = display.ax_.get_lines()[:4]
    for curve, values in zip(curves, expected, strict=True):
        assert np.allclose(curve.get_ydata(), values)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels[0] == f"1: {LINE.eigenvalues[0]:.3g}"
    display.figure_.canvas.draw()


def test_light_points_do_not_stretch_the_picture():
    display = EigenfunctionsDisplay.from_expansion(LINE)
    assert -6.5 < display.grid[0][0] < -3.5
    assert abs(LINE.samples.X).max() > 10.0


def test_contours_are_the_eigenfunctions():
    region = ((-2.0, 1.0), (0.0, 3.0))
    display = EigenfunctionsDisplay.from_expansion(PLANE, count=5, region=region, resolution=7)
    assert display.values.shape == (5, 7, 7)
    x, y = display.grid
    assert display.values[2][1, 4] == pytest.approx(PLANE.eigenfunctions([[x[4], y[1]]])[0, 2])
    assert len(display.ax_) == 5
    assert len(display.figure_.axes) == 5
    assert display.ax_[0].get_xlim() == (-2.0, 1.0)
    display.figure_.canvas.draw()


def test_given_axes_are_drawn_on():
    _, ax = pyplot.subplots()
    assert EigenfunctionsDisplay.from_expansion(LINE, ax=ax).ax_ is ax
    figure, panels = pyplot.subplots(2, 2)
    display = EigenfunctionsDisplay.from_expansion(PLANE, count=4, resolution=5, ax=panels)
    assert display.figure_ is figure
    with pytest.raises(ParameterError, match="count=4"):
        EigenfunctionsDisplay.from_expansion(PLANE, count=5, resolution=5, ax=panels)


def test_eigenvalues_decay_beside_a_closed_form():
    expansion = mercer_expansion(Brownian(), Uniform(count=100), rank=12)
    display = EigenfunctionsDisplay.from_expansion(expansion, count=2)
    display.plot_eigenvalues(exact=lambda i: 1.0 / ((i - 0.5) * np.pi) ** 2)
    dots, line = display.ax_.get_lines()
    assert np.array_equal(dots.get_ydata(), expansion.eigenvalues)
    assert np.allclose(line.get_ydata(), expansion.eigenvalues, rtol=0.02)
    assert display.ax_.get_yscale() == "log"


def test_fewer_terms_than_asked_for_and_none_at_all():
    two = mercer_expansion(Linear(), Sampled(rng.normal(size=(9, 1))))
    assert repr(EigenfunctionsDisplay.from_expansion(two)) == (
        "<EigenfunctionsDisplay: 1 of 1 eigenfunctions of Linear()>"
    )
    none = mercer_expansion(Linear(), Sampled(np.zeros((3, 1))))
    display = EigenfunctionsDisplay.from_expansion(none)
    assert display.values.shape == (0, 400)
    display.plot_eigenvalues()


def test_what_cannot_be_drawn_is_told():
    words = mercer_expansion(Spectrum(1), Sampled(["a", "ab"]))
    with pytest.raises(CapabilityError, match="one or two columns"):
        EigenfunctionsDisplay.from_expansion(words)
    many = mercer_expansion(Gaussian(1.0), Sampled(rng.normal(size=(9, 3))))
    with pytest.raises(CapabilityError, match="one or two columns"):
        EigenfunctionsDisplay.from_expansion(many)


@pytest.mark.parametrize(
    "options",
    [{"count": 0}, {"resolution": 1}, {"region": ((0.0, 1.0), (0.0, 1.0))}, {"region": ((1.0, 0.0),)}],
)
def test_bad_arguments(options):
    with pytest.raises(ParameterError):
        EigenfunctionsDisplay.from_expansion(LINE, **options)
