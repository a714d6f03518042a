import itertools

import numpy as np
import pytest
from matplotlib import pyplot

from mercer import KernelPCA, KernelRidge, LaplacianEigenmap
from mercer.errors import CapabilityError, MercerError
from mercer.kernels import Gaussian, Spectrum
from mercer.plots import EmbeddingDisplay

X = np.random.default_rng(0).normal(size=(60, 3))


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def boxes(display):
    display.figure_.canvas.draw()
    return [text.get_window_extent().extents for text in display.ax_.texts]


def test_names_cover_neither_names_nor_points_nor_the_legend():
    display = EmbeddingDisplay.from_points(X[:, :2], [f"sample {i}" for i in range(60)], X[:, 2] > 0)
    found = boxes(display)
    dots = display.ax_.transData.transform(X[:, :2])
    legend = display.ax_.get_legend().get_window_extent().extents
    frame = display.ax_.get_window_extent().extents
    assert len(found) == len(display.shown_) > 10
    for a, b in itertools.combinations([*found, legend], 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    for box in found:
        assert not np.any((dots > box[:2]).all(axis=1) & (dots < box[2:]).all(axis=1))
        assert np.all(frame[:2] <= box[:2]) and np.all(box[2:] <= frame[2:])


def test_who_stands_alone_is_named_and_who_has_no_room_is_not():
    points = np.vstack([np.zeros((40, 2)), [[1.0, 1.0]]])
    display = EmbeddingDisplay.from_points(points, ["in the crowd"] * 40 + ["alone"])
    assert 40 in display.shown_ and len(display.shown_) <= 9
    assert display.plot(max_labels=1).shown_.tolist() == [40]


def test_points_are_those_of_the_estimator():
    model = KernelPCA(Gaussian(2.0), 3).fit(X)
    display = EmbeddingDisplay.from_estimator(model, X)
    np.testing.assert_allclose(display.points, model.transform(X)[:, :2])
    assert display.labels[:3] == ["0", "1", "2"]
    flat = LaplacianEigenmap(n_neighbors=20).fit(X)
    np.testing.assert_allclose(EmbeddingDisplay.from_estimator(flat).points, flat.embedding_)
    one = EmbeddingDisplay.from_estimator(KernelPCA(Gaussian(2.0), 1).fit(X), X)
    assert one.points.shape == (60, 2) and not one.points[:, 1].any()


def test_strings_name_themselves():
    words = ["kernel", "kernels", "colonel", "$x$"]
    display = EmbeddingDisplay.from_kernel(Spectrum(1).normalized(), words)
    display.figure_.canvas.draw()
    assert {text.get_text() for text in display.ax_.texts} <= {*words[:3], r"\$x\$"}
    assert repr(display) == f"<EmbeddingDisplay: 4 points, {len(display.shown_)} of 4 names drawn>"


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(CapabilityError, match="no X"):
        EmbeddingDisplay.from_estimator(KernelPCA(Gaussian(1.0), 2).fit(X))
    with pytest.raises(CapabilityError, match="transform"):
        EmbeddingDisplay.from_estimator(KernelRidge().fit(X, X[:, 0]), X)
    with pytest.raises(MercerError, match="plane has two"):
        EmbeddingDisplay.from_points(X)
    with pytest.raises(MercerError, match="3 labels"):
        EmbeddingDisplay.from_points(X[:, :2], ["a", "b", "c"])
