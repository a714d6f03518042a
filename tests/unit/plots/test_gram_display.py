"""The heat map: its numbers, its order, its borders."""

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

from mercer import KernelMeanClassifier
from mercer.errors import DomainError, ParameterError
from mercer.kernels import Gaussian, Linear, Spectrum
from mercer.plots import GramDisplay
from mercer.plots.gram_display import Group, arranged, by_similarity

rng = np.random.default_rng(0)
X = np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(15, 2)) + 5.0])
y = np.array(["a"] * 20 + ["b"] * 15)
mixed = rng.permutation(35)
X, y = X[mixed], y[mixed]


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def test_numbers_are_those_of_the_kernel_in_the_order_of_the_index():
    display = GramDisplay.from_kernel(Gaussian(1.0), X, y)
    K = Gaussian(1.0)(X)
    assert np.array_equal(display.gram, K[np.ix_(display.index, display.index)])
    assert sorted(display.index) == list(range(35))
    assert np.array_equal(display.image_.get_array(), display.gram)


def test_classes_stand_together():
    display = GramDisplay.from_kernel(Gaussian(1.0), X, y)
    assert display.groups == (Group("a", 0, 20), Group("b", 20, 35))
    assert list(y[display.index]) == ["a"] * 20 + ["b"] * 15
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["a", "b"]


def test_numbers_as_targets_are_sorted():
    target = rng.normal(size=35)
    display = GramDisplay.from_kernel(Gaussian(1.0), X, target)
    assert np.array_equal(display.index, np.argsort(target))
    assert display.groups == ()


def test_without_targets_clusters_stand_together():
    display = GramDisplay.from_kernel(Gaussian(1.0), X)
    labels = y[display.index]
    assert display.order == "cluster"
    assert np.sum(labels[1:] != labels[:-1]) == 1


def test_order_given_is_kept():
    display = GramDisplay.from_kernel(Gaussian(1.0), X, y, order="given")
    assert np.array_equal(display.index, np.arange(35))


def test_many_samples_are_thinned_and_it_is_said():
    display = GramDisplay.from_kernel(Linear(), rng.normal(size=(90, 2)), max_samples=40)
    assert display.gram.shape == (40, 40)
    assert display.n_samples == 90
    assert "40 of 90 samples" in display.note
    assert "40 of 90 samples" in display.ax_.get_xlabel()


def test_from_estimator_reads_the_fitted_kernel():
    model = KernelMeanClassifier().fit(X, y)
    figure = Figure()
    ax = figure.add_subplot()
    display = GramDisplay.from_estimator(model, X, y, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.name == repr(model.kernel_)
    kept = GramDisplay.from_estimator(model)
    assert kept.gram.shape == (35, 35)


def test_from_matrix_takes_any_symmetric_matrix():
    K = np.array([[1.0, -0.5], [-0.5, 1.0]])
    display = GramDisplay.from_matrix(K)
    assert np.array_equal(np.sort(display.gram), np.sort(K))
    assert display.image_.get_clim() == (-1.0, 1.0)  # white at zero
    with pytest.raises(DomainError, match="not symmetric"):
        GramDisplay.from_matrix([[1.0, 0.0], [1.0, 1.0]])


def test_strings_work_as_vectors_do():
    display = GramDisplay.from_kernel(Spectrum(1), ["ab", "ba", "cc"], ["x", "x", "y"])
    assert display.gram.max() == 4.0


def test_hostile_labels_are_only_text():
    labels = np.array(["$\\frac{$", "<script>" * 50])[(y == "a").astype(int)]
    display = GramDisplay.from_kernel(Gaussian(1.0), X, labels)
    display.figure_.canvas.draw()
    assert all(len(text.get_text()) < 25 for text in display.ax_.get_yticklabels())


def test_bad_orders_and_lengths_are_refused():
    with pytest.raises(ParameterError, match="order='x'"):
        GramDisplay.from_kernel(Gaussian(1.0), X, order="x")
    with pytest.raises(ParameterError, match="without y"):
        GramDisplay.from_kernel(Gaussian(1.0), X, order="target")
    with pytest.raises(ParameterError, match="one per sample"):
        GramDisplay.from_kernel(Gaussian(1.0), X, y[:3])


def test_nothing_is_drawn_before_it_is_asked_for():
    display = arranged(Gaussian(1.0), Gaussian(1.0).pack(X), y)
    assert display.ax_ is None
    assert not pyplot.get_fignums()
    assert "35 samples, ordered by target" in repr(display)


def test_order_by_similarity_is_a_permutation_of_any_matrix():
    for n in (1, 2, 3, 10):
        K = rng.normal(size=(n, n))
        assert sorted(by_similarity(K @ K.T)) == list(range(n))
