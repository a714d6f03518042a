"""The choice among three transforms, and the bound that all of them keep."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mercer.gram.gauss import choice as fast_gauss
from mercer.gram.gauss.choice import METHODS, Choice, GaussTransform, choose_method
from mercer.gram.gauss.taylor import farthest_points


def exact(X, Y, V):
    """The definition."""
    return np.exp(-cdist(X, Y, "sqeuclidean")) @ V


def case(rng, method):
    """Sources, targets, weights, a tolerance, and a transform, all of them drawn."""
    d = int(rng.integers(1, 4 if method == "hermite" else 7))
    n, m = rng.integers(1, 600 if method == "tree" else 90, size=2)  # leaves have 64 points: a tree of several levels
    # as wide as a series can hold in that many dimensions; a tree holds everything
    width = 10.0 ** rng.uniform(-2.0, 2.0 if method == "tree" else 0.5 if d < 3 else -0.3)
    draw = [rng.normal, rng.standard_cauchy, rng.uniform][int(rng.integers(3))]
    Y, X = width * draw(size=(n, d)), width * draw(size=(m, d))
    if rng.random() < 0.3:
        Y = np.round(Y / width) * width  # many equal points, on the edges of boxes
    V = rng.random((n, 2)) if rng.random() < 0.5 else rng.normal(size=(n, 2))
    tol = 10.0 ** rng.uniform(-9.0, -1.0)
    order = int(rng.choice([4, 8, 12])) if d < 3 else 4 if d == 4 else int(rng.choice([4, 8]))
    count = int(rng.integers(1, 6))
    chosen, radii = farthest_points(Y, count)
    radius = min(float(radii[-1]), 1.0 if d < 4 else 0.2)
    return Y, X, V, tol, Choice(method, {}, order, Y[chosen], radius)


@pytest.mark.parametrize("count", [80, pytest.param(334, marks=pytest.mark.slow)])
@pytest.mark.parametrize("method", METHODS)
def test_the_error_is_below_the_bound_on_random_cases(method, count):
    rng = np.random.default_rng(METHODS.index(method))
    closest = 0.0
    for _ in range(count):
        Y, X, V, tol, choice = case(rng, method)
        transform = GaussTransform(Y, tol, choice)
        allowed = transform.bound * np.abs(V).sum(axis=0)
        assert transform.bound <= tol * (1.0 + 1e-12)
        error = np.abs(transform.product(V, transform.aim(X)) - exact(X, Y, V))
        here = np.abs(transform.product(V) - exact(Y, Y, V))
        assert np.all(error <= allowed) and np.all(here <= allowed), (len(Y), Y.shape[1], tol, choice)
        closest = max(closest, float(np.max(error / allowed)))
    assert closest > 0.01  # the cases are hard enough to tell


def test_the_choice_follows_dimension_and_width():
    rng = np.random.default_rng(0)
    methods = {}
    for d, width in ((2, 1.0), (2, 300.0), (6, 0.1), (6, 1.0)):
        choice = choose_method(width * rng.normal(size=(20000, d)), 1e-6)
        methods[d, width] = choice.method
        assert choice.costs[choice.method] == min(choice.costs.values())
    assert methods == {(2, 1.0): "hermite", (2, 300.0): "tree", (6, 0.1): "taylor", (6, 1.0): "direct"}
    assert choose_method(rng.normal(size=(100, 2)), 1e-6).method == "direct"
    assert choose_method(rng.normal(size=(100, 2)), 1e-6, "taylor").method == "taylor"


@pytest.mark.parametrize(("d", "width"), [(100, 1.0), (100, 1e-3), (2, 0.0)])
def test_many_columns_and_equal_points(d, width):
    """A wide kernel is almost linear in its columns, whatever their number; all points may be equal."""
    rng = np.random.default_rng(3)
    Y, v = width * rng.normal(size=(1600, d)), rng.random((1600, 1))
    choice = choose_method(Y, 1e-6)
    assert choice.method == ("direct" if width == 1.0 else "taylor")
    for method in {choice.method, "tree"} - {"direct"}:
        transform = GaussTransform(Y, 1e-6, choice if method == choice.method else Choice(method, {}))
        assert np.abs(transform.product(v)[:5] - exact(Y[:5], Y, v)).max() <= 1e-6 * v.sum()


def test_the_choice_is_the_same_every_time():
    Y = np.random.default_rng(1).normal(size=(5000, 3))
    one, two = choose_method(Y, 1e-4), choose_method(Y, 1e-4)
    assert one.method == two.method and one.costs == two.costs and one.order == two.order


def test_outliers_do_not_make_many_clusters():
    Y = 0.05 * np.random.default_rng(4).normal(size=(20000, 6))
    Y[7] = 0.5
    choice = choose_method(Y, 1e-6, "taylor")
    transform = GaussTransform(Y, 1e-6, choice)
    assert len(choice.centres) <= len(transform.way.clusters.centres) <= len(choice.centres) + 1


def test_many_right_hand_sides_a_few_at_a_time(monkeypatch):
    rng = np.random.default_rng(2)
    Y, V = rng.normal(size=(500, 2)), rng.normal(size=(500, 7))
    for method in METHODS:
        transform = GaussTransform(Y, 1e-6, choose_method(Y, 1e-6, method))
        whole = transform.product(V)
        monkeypatch.setattr(fast_gauss, "_NUMBERS", 2 * transform.held)
        assert len(transform.columns(7)) == 4
        assert np.array_equal(transform.product(V), whole)
        monkeypatch.undo()
        assert transform.product(V[:, :0]).shape == (500, 0)
