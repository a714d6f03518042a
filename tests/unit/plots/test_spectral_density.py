"""Pictures of spectral densities hold the numbers they show."""

import numpy as np
import pytest
from matplotlib import pyplot

from mercer.errors import CapabilityError, ParameterError
from mercer.kernels import Gaussian, Linear, Matern, Periodic
from mercer.plots.spectral_density import WHAT, SpectralDensityDisplay


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def test_numbers_follow_the_formulas():
    display = SpectralDensityDisplay.from_kernel({"bell": Gaussian(2.0), "rough": Matern(0.5), "clock": Periodic(2.0)})
    np.testing.assert_allclose(display.values[0], np.exp(-(display.t**2) / 8), atol=1e-15)
    np.testing.assert_allclose(display.densities[1], 1 / np.pi / (1 + display.omega**2))
    assert not display.densities[2].any() and display.atoms[2][1].sum() == pytest.approx(1.0)
    assert display.names == ("bell", "rough", "clock") and "rough" in repr(display)
    assert display.paths.shape == (3, len(display.t), 1)


@pytest.mark.parametrize("what", WHAT)
def test_each_picture_can_be_drawn(what):
    display = SpectralDensityDisplay.from_kernel([Gaussian(1.0), Periodic(2.0) + 0.5], what=what, n_paths=2)
    display.figure_.canvas.draw()
    lines = display.ax_.get_lines()
    assert lines
    if what == "penalty":
        drawn = np.asarray(lines[0].get_ydata())
        np.testing.assert_allclose(drawn * display.densities[0][: len(drawn)], 1.0)
    if what == "density":
        assert display.ax_.get_yscale() == "log"
    if what == "paths":
        assert len(lines) == 4


def test_places_may_be_given_and_axes_too():
    _, ax = pyplot.subplots()
    display = SpectralDensityDisplay.from_kernel(Gaussian(1.0), t=[0.0, 1.0], omega=[0.0, 2.0], what="kernel", ax=ax)
    assert display.ax_ is ax and display.values.shape == (1, 2) and display.densities.shape == (1, 2)
    np.testing.assert_allclose(np.asarray(ax.get_lines()[0].get_ydata()), [1.0, np.exp(-0.5)])


def test_what_is_refused():
    with pytest.raises(ParameterError, match="one of"):
        SpectralDensityDisplay.from_kernel(Gaussian(1.0), what="colours")
    with pytest.raises(ParameterError, match="one dimension"):
        SpectralDensityDisplay.from_kernel(Gaussian(1.0), t=[[0.0]])
    with pytest.raises(ParameterError, match="a kernel"):
        SpectralDensityDisplay.from_kernel([])
    with pytest.raises(CapabilityError, match="no spectral measure"):
        SpectralDensityDisplay.from_kernel(Linear())
