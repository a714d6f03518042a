import numpy as np
import pytest
from matplotlib import pyplot

from mercer import SVC, KernelRidge
from mercer.errors import CapabilityError
from mercer.kernels import Gaussian, Linear
from mercer.plots import KernelPartsDisplay

X = np.sort(np.random.default_rng(0).normal(size=(30, 1)), axis=0)


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def test_curves_over_one_column_add_up_to_the_function():
    model = KernelRidge(Linear() + Gaussian(0.5), alpha=0.1).fit(X, np.sin(3.0 * X[:, 0]))
    display = KernelPartsDisplay.from_estimator(model, X)
    drawn = sum(line.get_ydata() for line in display.marks_)
    np.testing.assert_allclose(drawn, model.predict(X), atol=1e-9)
    assert np.array_equal(display.marks_[0].get_xdata(), X[:, 0])
    assert sum(display.shares.values()) == pytest.approx(1.0)


def test_bars_are_shares_where_there_are_more_columns():
    wide = np.hstack([X, X**2])
    model = SVC(Linear().on(0) + Gaussian(1.0).on(1)).fit(wide, X[:, 0] > 0)
    display = KernelPartsDisplay.from_estimator(model)
    assert [bar.get_width() for bar in display.marks_] == pytest.approx(list(display.shares.values()))


def test_one_term_has_no_parts():
    with pytest.raises(CapabilityError, match="has no parts"):
        KernelPartsDisplay.from_estimator(SVC(Gaussian(1.0)).fit(X, X[:, 0] > 0))
