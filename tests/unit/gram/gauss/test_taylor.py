"""Clusters with a Taylor series of total degree."""

import itertools
import math

import numpy as np
import pytest

from mercer.gram.gauss.taylor import (
    TaylorTransform,
    covering,
    degrees_needed,
    farthest_points,
    graded_factors,
    graded_size,
    largest_radii,
)


def exact(X, Y, V):
    """The definition."""
    return np.exp(-np.sum((X[:, None] - Y) ** 2, axis=2)) @ V


@pytest.mark.parametrize(("r", "tol"), [(0.05, 1e-3), (0.3, 1e-6), (1.0, 1e-6), (2.0, 1e-10)])
def test_the_degrees_are_enough_and_one_less_is_not_by_much(r, tol):
    p = degrees_needed(r, tol)
    a, b = np.linspace(0.0, r, 200)[:, None], np.linspace(0.0, 12.0, 2000)
    for sign in (1.0, -1.0):  # on a line, where |z| = 2 a b
        z = 2.0 * a * b * sign
        terms = sum(z**n / math.factorial(n) for n in range(p))
        error = np.abs(np.exp(-((b - sign * a) ** 2)) - np.exp(-a * a - b * b) * terms)
        assert error.max() <= tol
    bound = max((2 * r * x) ** (p - 1) / math.factorial(p - 1) * math.exp(-((r - x) ** 2)) for x in b)
    assert bound > tol
    assert largest_radii(tol, p)[-1] >= r > (largest_radii(tol, p - 1)[-1] if p > 1 else -1.0)


def test_fewer_degrees_for_targets_that_are_near():
    assert degrees_needed(0.0, 1e-6) == degrees_needed(0.5, 1e-6, 0.0) == 1
    found = [degrees_needed(0.5, 1e-6, far) for far in (0.1, 0.5, 1.0, 2.0, 100.0)]
    assert found == sorted(found) and found[0] < found[-1] == degrees_needed(0.5, 1e-6)


def test_monomials_in_graded_order():
    for p, d in ((1, 3), (4, 1), (4, 2), (3, 4)):
        expected = sorted(
            2.0 ** sum(alpha) / math.prod(map(math.factorial, alpha))
            for alpha in itertools.product(range(p), repeat=d)
            if sum(alpha) < p
        )
        assert np.allclose(np.sort(graded_factors(p, d)), expected, rtol=1e-13)
        assert len(expected) == graded_size(p, d)


def test_the_farthest_points_are_those_of_a_naive_search():
    X = np.random.default_rng(0).normal(size=(80, 3))
    chosen, radii = farthest_points(X, 12)
    distances = np.sqrt(np.sum((X[:, None] - X) ** 2, axis=2))
    for q in range(1, 12):
        nearest = distances[chosen[:q]].min(axis=0)
        assert np.isclose(radii[q - 1], nearest.max()) and chosen[q] == np.argmax(nearest)
    twice = np.repeat(X[:5], 3, axis=0)
    chosen, radii = farthest_points(twice, 15)
    assert len(chosen) == 5 and radii[-1] == 0.0


def test_outliers_get_centres_of_their_own():
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[3], X[70] = [30.0, 0.0], [30.2, 0.0]
    centres = covering(X, X[:1], 4.0)
    assert np.min(np.sum((X[:, None] - centres) ** 2, axis=2), axis=1).max() <= 16.0
    assert len(centres) < 10
    with pytest.raises(ValueError, match="clusters"):
        covering(X, X[:1], 0.01, most=5)


@pytest.mark.parametrize(("d", "q"), [(1, 1), (2, 5), (3, 20), (6, 1)])
def test_sums_at_targets_near_and_far(d, q):
    rng = np.random.default_rng(d)
    width = 0.7 if d < 4 else 0.15
    Y, X, V = width * rng.normal(size=(150, d)), 2.0 * rng.normal(size=(70, d)), rng.random((150, 2))
    X[0] = 1e5
    transform = TaylorTransform(Y, 1e-4, Y[farthest_points(Y, q)[0]])
    assert len(transform.degrees) == q
    whole = transform.product(V, transform.aim(X))
    assert np.all(np.abs(whole - exact(X, Y, V)) <= transform.bound * V.sum(axis=0))
    assert np.all(np.abs(transform.product(V, transform.aim()) - exact(Y, Y, V)) <= transform.bound * V.sum(axis=0))
    assert np.array_equal(transform.product(V, transform.aim(X[4:5])), whole[4:5])
    one, two = (transform.product(V, transform.aim(X), n_threads=count) for count in (1, 2))
    assert np.array_equal(one, two)


def test_a_source_and_a_target_at_the_worst_distance():
    for r, tol in ((0.4, 1e-3), (1.0, 1e-6)):
        p = degrees_needed(r, 0.9 * tol)
        b = 0.5 * (r + math.sqrt(r * r + 2 * p))
        Y = np.array([[r, 0.0], [-r, 0.0]])
        X = np.array([[x, 0.0] for x in np.linspace(b - 1.0, b + 1.0, 81)])
        sources = np.concatenate([Y, X])
        V = np.zeros((len(sources), 1))
        V[0] = 1.0
        transform = TaylorTransform(sources, tol, np.concatenate([np.zeros((1, 2)), X[40:41]]))
        error = np.abs(transform.product(V, transform.aim(X)) - exact(X, sources, V)).max()
        assert 1e-3 * tol < error <= tol


def test_too_many_terms_are_refused():
    Y = 50.0 * np.random.default_rng(0).normal(size=(50, 3))
    with pytest.raises(ValueError, match="too many terms"):
        TaylorTransform(Y, 1e-6, Y[:1])
