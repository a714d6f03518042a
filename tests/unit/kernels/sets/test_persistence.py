"""Persistence diagrams and point clouds: against sums and integrals, and against matched points."""

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from mercer import SVC
from mercer.errors import DomainError
from mercer.kernels import PersistenceScaleSpace, SlicedWasserstein
from mercer.kernels.sets import persistence as module
from mercer.testing import check_kernel

rng = np.random.default_rng(0)


def diagram(size):
    birth = rng.uniform(0, 1, size)
    return np.column_stack([birth, birth + rng.exponential(0.5, size)])


DIAGRAMS = [diagram(size) for size in (1, 3, 5, 8, 2)] + [np.empty((0, 2))]
CLOUDS = [rng.normal(size=(size, 3)) for size in (2, 5, 5, 9)]
ABOVE = [np.sort(x, axis=1) for x in DIAGRAMS]


def test_diagrams_are_matched_with_the_diagonal():
    """Both diagrams get the projections of the other; on a line the best matching is that of sorted points."""
    k, R = SlicedWasserstein(0.7, directions=9), 9
    angles = np.pi * (np.arange(R) + 0.5) / R - np.pi / 2
    for X in DIAGRAMS:
        for Y in DIAGRAMS:
            a = np.vstack([X, np.repeat(Y.mean(axis=1)[:, None], 2, axis=1)])
            b = np.vstack([Y, np.repeat(X.mean(axis=1)[:, None], 2, axis=1)])
            lines = [np.array([np.cos(t), np.sin(t)]) for t in angles]
            cost = np.mean([np.abs(np.sort(a @ t) - np.sort(b @ t)).sum() for t in lines])
            assert k.distances([X, DIAGRAMS[0]], [Y, DIAGRAMS[0]])[0, 0] == pytest.approx(cost, abs=1e-12)


def test_clouds_are_moved_along_lines():
    k = SlicedWasserstein(1.0, directions=7, kind="points", random_state=3)
    lines = k._lines(3)
    expected = [[np.mean([wasserstein_distance(X @ t, Y @ t) for t in lines]) for Y in CLOUDS] for X in CLOUDS]
    np.testing.assert_allclose(k.distances(CLOUDS, CLOUDS), expected, atol=1e-12)
    np.testing.assert_allclose(k(CLOUDS), np.exp(-np.array(expected)), rtol=1e-12)


@pytest.mark.parametrize("scale", [0.1, 2.0])
def test_scale_space_is_the_sum_over_pairs(scale):
    def value(X, Y):
        return sum(
            np.exp(-((p - q) ** 2).sum() / (8 * scale)) - np.exp(-((p - q[::-1]) ** 2).sum() / (8 * scale))
            for p in X
            for q in Y
        ) / (8 * np.pi * scale)

    expected = [[value(X, Y) for Y in DIAGRAMS] for X in DIAGRAMS]
    np.testing.assert_allclose(PersistenceScaleSpace(scale)(DIAGRAMS), expected, rtol=1e-11, atol=1e-15)


def test_scale_space_is_an_inner_product_of_temperatures():
    """The temperature at time s, by Gaussians and their mirror images, on a grid of the half plane."""
    s, (X, Y) = 0.05, DIAGRAMS[1:3]
    grid = np.linspace(-3.0, 6.0, 451)
    b, d = np.meshgrid(grid, grid, indexing="ij")

    def heat(D):
        total = np.zeros(b.shape)
        for p, q in D:
            for sign, u, v in ((1, p, q), (-1, q, p)):
                total += sign * np.exp(-((b - u) ** 2 + (d - v) ** 2) / (4 * s)) / (4 * np.pi * s)
        return total

    inner = (heat(X) * heat(Y))[d > b].sum() * (grid[1] - grid[0]) ** 2
    assert PersistenceScaleSpace(s)([X], [Y])[0, 0] == pytest.approx(inner, rel=1e-6)


@pytest.mark.parametrize("k", [SlicedWasserstein(0.7), PersistenceScaleSpace(0.3)], ids=repr)
def test_obeys_the_laws_on_diagrams(k):
    check_kernel(k, DIAGRAMS)
    assert np.linalg.eigvalsh(k([diagram(4) for _ in range(30)]))[0] > -1e-10


def test_obeys_the_laws_on_clouds():
    k = SlicedWasserstein(0.9, directions=3, kind="points")
    check_kernel(k, CLOUDS)
    assert np.linalg.eigvalsh(k([rng.normal(size=(4, 3)) for _ in range(30)]))[0] > -1e-10


def test_points_near_the_diagonal_hardly_count():
    noisy = np.vstack([DIAGRAMS[1], [[0.5, 0.5001], [0.9, 0.9001]]])
    for k in (SlicedWasserstein(0.5), PersistenceScaleSpace(0.1).normalized()):
        assert k([noisy], [DIAGRAMS[1]])[0, 0] > 0.999


def test_tells_a_circle_from_a_line_by_its_cloud():
    draws = np.random.default_rng(2)

    def cloud(round_):
        t = draws.uniform(0, 2 * np.pi, 30)
        shape = np.column_stack([np.cos(t), np.sin(t) if round_ else 0 * t])
        return shape + 0.1 * draws.normal(size=(30, 2))

    X, y = [cloud(i % 2) for i in range(24)], np.arange(24) % 2
    model = SVC(SlicedWasserstein(0.2, kind="points")).fit(X[:12], y[:12])
    assert model.score(X[12:], y[12:]) == 1.0


def test_what_is_no_diagram_is_refused():
    for k in (SlicedWasserstein(), PersistenceScaleSpace()):
        with pytest.raises(DomainError, match="before its birth"):
            k([[[1.0, 0.5]]])
        with pytest.raises(DomainError, match="3 columns"):
            k([[[1.0, 2.0, 3.0]]])
    with pytest.raises(DomainError, match="Set 1 is empty"):
        SlicedWasserstein(kind="points")([[[1.0, 2.0]], []])


def test_loops_run_uncompiled():
    x, y = np.array([[0.0, 1.0]]), np.array([[1.0, 0.5], [3.0, 0.5]])
    assert module._integrate.py_func(x, y) == pytest.approx(2.0)
