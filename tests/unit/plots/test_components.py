"""The display of components: what is drawn are the scores and shares of the estimator."""

import matplotlib
import numpy as np
import pytest
from sklearn.decomposition import PCA

from mercer.errors import CapabilityError, ParameterError
from mercer.estimators.geometry.gram_schmidt import KernelGramSchmidt
from mercer.estimators.geometry.kernel_pca import KernelPCA
from mercer.estimators.squares.ridge import KernelRidge
from mercer.kernels import Gaussian
from mercer.plots.components import ComponentsDisplay

matplotlib.use("Agg")
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
MODEL = KernelPCA(Gaussian(2.0), 4).fit(X)


def test_points_are_the_scores():
    display = ComponentsDisplay.from_estimator(MODEL, X, components=(2, 0))
    points = display.ax_.collections[0].get_offsets()
    np.testing.assert_allclose(points, MODEL.transform(X)[:, [2, 0]])
    share = 100 * MODEL.explained_variance_ratio_[2]
    assert display.ax_.get_xlabel() == f"component 3 ({share:.3g} %)"
    assert repr(display) == "<ComponentsDisplay of KernelPCA: 40 samples, 4 components>"


def test_classes_have_a_legend_and_numbers_a_scale():
    display = ComponentsDisplay.from_estimator(MODEL, X, np.arange(40) % 3)
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["0", "1", "2"]
    assert sum(len(one.get_offsets()) for one in display.ax_.collections) == 40
    many = ComponentsDisplay.from_estimator(MODEL, X, np.arange(40) % 10)
    assert len(many.ax_.collections) == 10
    number = ComponentsDisplay.from_estimator(MODEL, X, X[:, 0])
    np.testing.assert_allclose(number.ax_.collections[0].get_array(), X[:, 0])
    number.figure_.canvas.draw()


def test_shares_of_the_variance():
    display = ComponentsDisplay.from_estimator(MODEL, X).plot_variance()
    assert [bar.get_height() for bar in display.ax_.patches] == pytest.approx(MODEL.explained_variance_ratio_)
    left = display.ax_.lines[0].get_ydata()
    assert left[0] == 1.0 and 1.0 - left[-1] == pytest.approx(MODEL.explained_variance_ratio_.sum())
    with pytest.raises(CapabilityError, match="shares"):
        ComponentsDisplay.from_estimator(KernelGramSchmidt(n_components=2).fit(X), X).plot_variance()


def test_other_transformers_and_one_component():
    display = ComponentsDisplay.from_estimator(PCA(1).fit(X), X)
    assert display.ax_.get_ylabel() == "sample"
    with pytest.raises(ParameterError, match="4 components"):
        ComponentsDisplay.from_estimator(MODEL, X, components=(0, 4))
    with pytest.raises(CapabilityError, match="no transform"):
        ComponentsDisplay.from_estimator(KernelRidge().fit(X, X[:, 0]), X)
