"""The spectrum and the ranks read from it."""

import numpy as np
import pytest
from matplotlib import pyplot

from mercer import KernelMeanClassifier, KernelRidge
from mercer.kernels import Gaussian, Linear, NegativeDistance
from mercer.plots import SpectrumDisplay
from mercer.plots.spectrum_display import degrees_of_freedom, effective_rank, numerical_rank, ridge_of

rng = np.random.default_rng(1)
X = rng.normal(size=(40, 3))


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def test_eigenvalues_are_those_of_the_matrix():
    display = SpectrumDisplay.from_kernel(Gaussian(1.0), X)
    expected = np.linalg.eigvalsh(Gaussian(1.0)(X))[::-1]
    assert np.allclose(display.eigenvalues, expected, atol=1e-12)
    assert display.condition == pytest.approx(expected[0] / expected[-1], rel=1e-6)


def test_the_linear_kernel_has_the_rank_of_the_data():
    display = SpectrumDisplay.from_kernel(Linear(), X)
    assert display.rank == 3
    assert display.condition == np.inf
    assert 1 < display.effective_rank <= 3


def test_effective_rank_of_equal_directions_is_their_number():
    assert effective_rank(np.full(7, 0.3)) == pytest.approx(7)
    assert effective_rank(np.array([5.0, 0.0, -1.0])) == 1.0
    assert effective_rank(np.zeros(3)) == 0.0


def test_numerical_rank_ignores_rounding():
    assert numerical_rank(np.array([1.0, 1e-8, 1e-17, -1e-17])) == 2
    assert numerical_rank(np.zeros(0)) == 0


def test_degrees_of_freedom_are_the_trace_of_the_hat_matrix():
    K, alpha = Gaussian(1.0)(X), 0.3
    hat = np.trace(K @ np.linalg.inv(K + alpha * np.eye(40)))
    display = SpectrumDisplay.from_matrix(K, alpha=alpha)
    assert display.degrees_of_freedom == pytest.approx(hat)
    assert degrees_of_freedom(np.array([0.0]), 1.0) == 0.0


def test_from_estimator_knows_the_ridge():
    model = KernelRidge(Gaussian(1.0), alpha=0.25).fit(X, X[:, 0])
    display = SpectrumDisplay.from_estimator(model, X)
    assert display.alpha == 0.25
    assert any("ridge 0.25" in text.get_text() for text in display.ax_.get_legend().get_texts())
    assert ridge_of(KernelMeanClassifier()) is None


def test_part_of_the_samples_estimates_the_whole():
    many = rng.normal(size=(600, 2))
    whole = SpectrumDisplay.from_kernel(Gaussian(2.0), many).eigenvalues
    display = SpectrumDisplay.from_kernel(Gaussian(2.0), many, max_samples=300)
    assert len(display.eigenvalues) == 300
    assert display.eigenvalues[:3] == pytest.approx(whole[:3], rel=0.2)
    assert "estimated from 300 of 600 samples" in display.note


def test_negative_eigenvalues_are_shown_as_such():
    display = SpectrumDisplay.from_kernel(NegativeDistance(), X)
    assert np.sum(display.eigenvalues < 0) > 0
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "negative" in labels


def test_a_zero_matrix_is_drawn():
    display = SpectrumDisplay.from_matrix(np.zeros((3, 3)))
    assert display.rank == 0
    assert "effective rank 0" in repr(display)
    display.figure_.canvas.draw()
