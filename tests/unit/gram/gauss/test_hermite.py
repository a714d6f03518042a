"""Hermite and Taylor series on a grid of boxes."""

import itertools
import math

import numpy as np
import pytest

from mercer.gram.gauss.hermite import Boxed, HermiteTransform, axis_bound, grid_size, half_side


def exact(X, Y, V):
    """The definition."""
    return np.exp(-np.sum((X[:, None] - Y) ** 2, axis=2)) @ V


def series(w, u, D, p):
    """The double series along one axis, with Hermite polynomials of NumPy."""
    total = np.zeros(np.broadcast(w, u).shape)
    for m, n in itertools.product(range(p), repeat=2):
        h = np.polynomial.hermite.hermval(D, np.eye(m + n + 1)[m + n]) * math.exp(-D * D)
        total += (-w) ** m * u**n * h / math.factorial(m) / math.factorial(n)
    return total


@pytest.mark.parametrize(("p", "rho"), [(4, 0.2), (8, 0.4), (12, 0.6)])
def test_the_bound_of_an_axis_holds_and_is_not_far_off(p, rho):
    offsets = np.linspace(-rho, rho, 41)
    w, u = offsets[:, None], offsets
    worst = max(np.max(np.abs(series(w, u, D, p) - np.exp(-((D + w - u) ** 2)))) for D in np.arange(-4, 5) * 2.0 * rho)
    assert axis_bound(rho, p) / 10.0 < worst <= axis_bound(rho, p)


@pytest.mark.parametrize("tol", [1e-2, 1e-6, 1e-10])
def test_boxes_are_as_large_as_the_bound_allows(tol):
    for p in (4, 8, 12, 16, 20, 24):
        rho = half_side(p, tol)
        assert axis_bound(rho, p) <= tol < axis_bound(1.001 * rho, p)


def test_one_axis_is_the_series_itself():
    transform = HermiteTransform(np.array([[0.1], [2.3]]), 1e-4, 8)
    rho = transform.rho
    X = np.array([[0.7], [1.9], [-1.0]])
    found = transform.product(np.array([[1.0], [-2.0]]), transform.aim(X))[:, 0]

    def value(x, y):
        cx, cy = ((math.floor(z / (2 * rho)) + 0.5) * 2 * rho for z in (x, y))
        return series(np.array(x - cx), np.array(y - cy), cx - cy, 8)

    assert np.allclose(found, [value(x, 0.1) - 2.0 * value(x, 2.3) for x in X[:, 0]], rtol=0, atol=1e-13)


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_corners_of_boxes_with_one_source(d):
    """One source of weight one is as bad as it gets: the sum of the weights is the error of one pair."""
    p = {1: 12, 2: 8, 3: 8, 4: 4}[d]
    for tol in (1e-2, 1e-5):
        rho = half_side(p, math.expm1(math.log1p(0.9 * tol) / d))
        Y = np.full((1, d), 2.0 * rho * (1.0 - 1e-9))
        transform = HermiteTransform(Y, tol, p)
        lattice = np.array(list(itertools.product((-3, -1, 0, 1, 2), repeat=d))) * 2.0 * rho + 1e-9
        error = np.abs(transform.product(np.ones((1, 1)), transform.aim(lattice)) - exact(lattice, Y, np.ones((1, 1))))
        assert error.max() <= transform.bound <= tol
        assert error.max() > 1e-3 * transform.bound


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_matrix_is_symmetric(d):
    Y = 2.0 * np.random.default_rng(d).normal(size=(60, d))
    transform = HermiteTransform(Y, 1e-3, 4)
    K = transform.product(np.eye(60), transform.aim())
    assert np.abs(K - K.T).max() < 1e-13
    assert np.abs(K - exact(Y, Y, np.eye(60))).max() <= transform.bound


def test_targets_of_their_own_and_values_that_do_not_depend_on_company():
    rng = np.random.default_rng(0)
    Y, X, V = 3.0 * rng.normal(size=(300, 2)), 4.0 * rng.normal(size=(80, 2)), rng.normal(size=(300, 3))
    X[7], X[8] = [1e6, -1e6], [1e6, 0.0]  # far away of everything
    transform = HermiteTransform(Y, 1e-7, 12)
    whole = transform.product(V, transform.aim(X))
    assert np.max(np.abs(whole - exact(X, Y, V))) <= 1e-7 * np.abs(V).sum(axis=0).max()
    assert np.array_equal(whole[7:9], np.zeros((2, 3)))
    for some in (slice(0, 1), slice(7, 8), slice(5, 60)):
        assert np.array_equal(transform.product(V, transform.aim(X[some])), whole[some])


def test_threads_and_pieces_do_not_change_a_bit(monkeypatch):
    rng = np.random.default_rng(1)
    Y, V = 0.2 * rng.normal(size=(20000, 2)), rng.normal(size=(20000, 2))
    transform = HermiteTransform(Y, 1e-6, 8)
    monkeypatch.setattr("mercer.gram.gauss.hermite._WORK", 1e5)
    one, two = (transform.product(V, transform.aim(), n_threads=count) for count in (1, 2))
    assert np.array_equal(one, two)
    assert np.array_equal(transform.product(V[:, 1:], transform.aim()), one[:, 1:])
    assert len(transform.sources.pieces) > len(transform.sources.cells)  # sums of more than one piece


def test_points_in_boxes():
    X = np.array([[0.1, 0.1], [9.1, 9.1], [0.2, 0.3], [0.1, 9.0], [-5e8, 0.1]])
    boxed = Boxed.of(X, 0.5)
    assert [axis.tolist() for axis in boxed.axes] == [[-500000000, 0, 9], [0, 9]]
    assert boxed.order.tolist() == [4, 0, 2, 3, 1] and boxed.starts.tolist() == [0, 1, 3, 4, 5]
    assert np.allclose(boxed.inside[1:3], [[-0.8, -0.8], [-0.6, -0.4]]) and np.abs(boxed.inside).max() <= 1.0
    assert grid_size(X, 0.5) == 6


def test_targets_over_too_many_boxes_are_refused(monkeypatch):
    transform = HermiteTransform(np.random.default_rng(0).normal(size=(50, 2)), 1e-6, 8)
    monkeypatch.setattr("mercer.gram.gauss.hermite._LARGEST_GRID", 10)
    with pytest.raises(ValueError, match="too many boxes"):
        transform.aim(np.random.default_rng(1).normal(size=(50, 2)))
