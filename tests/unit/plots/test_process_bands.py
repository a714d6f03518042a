import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.gaussian_process import GaussianProcessRegressor as Reference

from mercer import GaussianProcessRegressor
from mercer.errors import MercerError
from mercer.kernels import Gaussian
from mercer.plots import ProcessBandsDisplay

X = np.linspace(0, 5, 12)[:, None]
y = np.sin(X[:, 0])


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def test_the_band_is_that_of_the_process():
    process = GaussianProcessRegressor(Gaussian(1.0), noise=0.04, fixed="all").fit(X, y)
    display = ProcessBandsDisplay.from_estimator(process, X, y)
    mean, std = process.predict(display.x[[0, 150], None], return_std=True)
    assert np.allclose(display.mean[[0, 150]], mean) and np.allclose(display.std[[0, 150]], std)
    noisy = ProcessBandsDisplay.from_estimator(process, X, y, include_noise=True)
    assert np.allclose(noisy.std**2 - display.std**2, 0.04)


def test_other_libraries_and_refusals():
    display = ProcessBandsDisplay.from_estimator(Reference(optimizer=None, alpha=0.1).fit(X, y), X, y)
    assert display.x[0] < 0.0 and display.x[-1] > 5.0
    with pytest.raises(MercerError, match="a curve has one"):
        ProcessBandsDisplay.from_estimator(Reference(), np.zeros((3, 2)), [0, 1, 1])
    with pytest.raises(MercerError, match="width"):
        ProcessBandsDisplay.from_estimator(Reference(), X, y, width=-1.0)
