"""Pictures of weights of kernels: the numbers in them."""

import numpy as np
import pytest
from matplotlib import pyplot

from mercer import SVC, MultipleKernelClassifier, weight_path
from mercer.errors import CapabilityError
from mercer.kernels import Gaussian, Linear
from mercer.plots import KernelAlignmentDisplay, KernelWeightsDisplay, WeightPathDisplay

X = np.random.default_rng(0).normal(size=(40, 3))
Y = X[:, 0] > 0
KERNELS = {"a": Gaussian(1.0).on(0), "b": Gaussian(1.0).on(1)}


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def test_bars_are_weights_and_shares():
    model = MultipleKernelClassifier(KERNELS).fit(X, Y)
    display = KernelWeightsDisplay.from_estimator(model)
    weights, shares = ([bar.get_width() for bar in bars] for bars in display.bars_)
    assert np.allclose(weights, model.weights_) and np.allclose(shares, model.contributions_)
    with pytest.raises(CapabilityError, match="several kernels"):
        KernelWeightsDisplay.from_estimator(SVC().fit(X, Y))


def test_curves_are_those_of_the_path():
    path = weight_path(MultipleKernelClassifier(KERNELS), X, Y, [0.1, 1.0, 10.0])
    for quantity in ("weights", "lengths"):
        display = WeightPathDisplay(path).plot(quantity=quantity)
        assert np.array_equal(display.lines_[0].get_ydata(), getattr(path, quantity)[:, 0])
    assert display.ax_.get_xscale() == "log"
    with pytest.raises(CapabilityError, match="'weights' and 'lengths'"):
        WeightPathDisplay(path).plot(quantity="gaps")


def test_alignments_are_cosines():
    display = KernelAlignmentDisplay.from_kernels({"line": Linear(), "near": Gaussian(1.0)}, X)
    P = np.eye(40) - 1.0 / 40
    K, L = P @ Linear()(X) @ P, P @ Gaussian(1.0)(X) @ P
    assert np.allclose(np.diagonal(display.alignments), 1.0)
    assert np.isclose(display.alignments[0, 1], np.sum(K * L) / np.linalg.norm(K) / np.linalg.norm(L))
    assert display.image_.get_array().shape == (2, 2)
    with pytest.raises(CapabilityError, match="Give a list of kernels"):
        KernelAlignmentDisplay.from_kernels(None, X)
