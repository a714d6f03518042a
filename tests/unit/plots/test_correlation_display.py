"""The display of canonical correlations shows the numbers of the estimator."""

import numpy as np
import pytest

from mercer.errors import CapabilityError, ParameterError
from mercer.estimators.geometry.correlation import CCA
from mercer.estimators.geometry.kernel_cca import KernelCCA
from mercer.estimators.squares.ridge import KernelRidge
from mercer.plots.correlation_display import CorrelationDisplay

pyplot = pytest.importorskip("matplotlib.pyplot")

rng = np.random.default_rng(0)
t = rng.normal(size=(60, 1))
X = np.c_[t, rng.normal(size=(60, 2))]
Y = np.c_[np.tanh(t), rng.normal(size=(60, 1))]
MODEL = KernelCCA(n_components=2, tau=0.1).fit(X[:40], Y[:40])


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def test_the_lines_are_the_correlations():
    display = CorrelationDisplay.from_estimator(MODEL, X[40:], Y[40:])
    lines = {line.get_label(): line.get_ydata() for line in display.ax_.get_lines()}
    assert np.array_equal(lines["training pairs"], MODEL.canonical_correlations_)
    assert np.array_equal(lines["new pairs"], MODEL.correlations(X[40:], Y[40:]))
    assert np.array_equal(lines["maximised"], MODEL.eigenvalues_[:2])
    assert "on new pairs" in repr(display)


def test_what_is_no_correlation_is_not_drawn_as_one():
    model = KernelCCA(n_components=2, tau=0.1, norm_scale="gram").fit(X, Y)
    assert CorrelationDisplay.of(model).maxima is None
    assert CorrelationDisplay.of(MODEL).maxima is not None


def test_the_points_are_the_scores():
    _, ax = pyplot.subplots()
    display = CorrelationDisplay.of(MODEL, X[40:], Y[40:]).plot_scores(1, ax)
    assert display.ax_ is ax
    points = np.asarray(display.ax_.collections[0].get_offsets())
    a, b = MODEL.transform(X[40:], Y[40:])
    assert np.allclose(points, np.c_[a[:, 1], b[:, 1]])
    assert "new pairs" in ax.get_title()
    alone = CorrelationDisplay.of(CCA(1).fit(X, Y)).plot_scores()
    assert "training pairs" in alone.ax_.get_title()
    assert "on new pairs" not in repr(alone)


def test_many_components_have_few_ticks():
    display = CorrelationDisplay(np.linspace(1, 0, 50)).plot()
    assert len(display.ax_.get_xticks()) <= 20


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ParameterError, match="component 2"):
        CorrelationDisplay.of(MODEL).plot_scores(2)
    with pytest.raises(CapabilityError, match="KernelCCA"):
        CorrelationDisplay.of(KernelRidge().fit(X, t[:, 0]))
