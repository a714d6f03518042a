"""Nearest centres against the definition."""

import numpy as np
import pytest

from mercer.estimators.clustering import assignments
from mercer.estimators.clustering.assignments import assign, totals

rng = np.random.default_rng(0)
F = rng.normal(size=(30, 3))
K = F @ F.T
S = rng.integers(1, 4, size=30).astype(float)
LABELS = rng.integers(0, 4, size=(30, 2))


def products(labels):
    return np.stack([K @ ((one[:, None] == np.arange(4)) * S[:, None]) for one in labels.T], axis=1)


def centres(labels):
    return np.array([np.average(F[labels == t], axis=0, weights=S[labels == t]) for t in range(4)])


def run(sigma=0.0, ratio=1.0, functions=(assign, totals)):
    U = products(LABELS)
    masses, links = functions[1](U, S, S, LABELS)
    norms = links / masses**2 + sigma / masses
    return masses, links, functions[0](U, np.full(30, ratio), 1.0 / masses, norms, sigma, LABELS)


def test_totals_are_weights_and_squared_lengths():
    masses, links, _ = run()
    for r in range(2):
        assert np.array_equal(masses[r], np.bincount(LABELS[:, r], weights=S))
        np.testing.assert_allclose(links[r] / masses[r] ** 2, (centres(LABELS[:, r]) ** 2).sum(axis=1), rtol=1e-10)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_nearest_centre_is_that_of_the_distances(threads, monkeypatch):
    monkeypatch.setattr(assignments, "_ROWS", 7)
    U = products(LABELS)
    masses, links = totals(U, S, S, LABELS)
    found, scores, moved = assign(U, np.ones(30), 1.0 / masses, links / masses**2, 0.0, LABELS, threads)
    for r in range(2):
        distances = ((F[:, None] - centres(LABELS[:, r])) ** 2).sum(axis=2)
        assert np.array_equal(found[:, r], distances.argmin(axis=1))
        np.testing.assert_allclose((F**2).sum(axis=1) - scores[:, r], distances.min(axis=1), atol=1e-10)
    assert np.array_equal(moved, (found != LABELS).any(axis=1)) and moved.any() and not moved.all()


def test_a_shift_adds_to_the_squared_length_of_each_image():
    sigma = 0.7
    *_, (found, scores, _) = run(sigma)
    for r in range(2):
        H = LABELS[:, r][:, None] == np.arange(4)
        mass = S @ H
        norms = np.array([S @ (H[:, t] * (K @ (S * H[:, t]))) / mass[t] ** 2 + sigma / mass[t] for t in range(4)])
        expected = 2.0 * (K @ (S[:, None] * H) + sigma * H) / mass - norms
        assert np.array_equal(found[:, r], expected.argmax(axis=1))
        np.testing.assert_allclose(scores[:, r], expected.max(axis=1), atol=1e-10)


def test_ties_stay_where_they_are_and_empty_clusters_get_nothing():
    U = np.ones((2, 1, 3))
    norms = np.array([[1.0, 1.0, np.inf]])
    found, *_ = assign(U, np.ones(2), np.array([[1.0, 1.0, 0.0]]), norms, 0.0, np.array([[0], [1]]))
    assert np.array_equal(found[:, 0], [0, 1])


def test_the_compiled_functions_are_their_python_originals(monkeypatch):
    compiled = run(0.3, 0.5)
    monkeypatch.setattr(assignments, "_assign", assignments._assign.py_func)
    monkeypatch.setattr(assignments, "_add_totals", assignments._add_totals.py_func)
    plain = run(0.3, 0.5)
    np.testing.assert_allclose(plain[1], compiled[1])
    for one, other in zip(plain[2], compiled[2], strict=True):
        np.testing.assert_allclose(one, other)
