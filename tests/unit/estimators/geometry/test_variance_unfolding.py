"""Maximum variance unfolding: distances of neighbours are kept, the variance is the largest."""

import sys
import warnings

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from mercer.errors import CapabilityError, DegenerateWarning
from mercer.estimators.geometry import variance_unfolding
from mercer.estimators.geometry.variance_unfolding import unfolding_kernel
from mercer.kernels import Gaussian, Linear

rng = np.random.default_rng(0)
u, v = rng.uniform(size=(2, 150))
ROLL = np.column_stack([(1 + 3 * u) * np.cos(4 * u), 2 * v, (1 + 3 * u) * np.sin(4 * u)])


def leading(K, q):
    values, vectors = np.linalg.eigh(K)
    return values[::-1][:q], vectors[:, ::-1][:, :q]


def check_centred(K):
    np.testing.assert_array_equal(K, K.T)
    assert np.abs(K.sum(axis=0)).max() < 1e-7 * np.abs(K).max() * len(K)


def test_unfolding_keeps_distances_and_gains_variance():
    pytest.importorskip("clarabel")
    angle = np.linspace(0.0, 4.0, 16)
    arc = np.column_stack([np.cos(angle), np.sin(angle)])
    K = unfolding_kernel(arc, 2)
    check_centred(K)
    d = np.diag(K)
    squares = d[:, None] + d - 2 * K
    for step in (1, 2):  # neighbours, and neighbours of the same sample
        np.testing.assert_allclose(np.diag(squares, step), np.sum((arc[step:] - arc[:-step]) ** 2, axis=1), rtol=1e-4)
    plain = Linear()(arc - arc.mean(axis=0))
    assert np.trace(K) > 1.5 * np.trace(plain) and np.linalg.eigvalsh(K)[0] > -1e-8


def test_a_straight_line_is_unfolded_already():
    pytest.importorskip("clarabel")
    x = np.arange(10.0)
    np.testing.assert_allclose(unfolding_kernel(x[:, None], 2), np.outer(x - 4.5, x - 4.5), atol=1e-3)


def test_a_rank_comes_near_the_exact_solution():
    pytest.importorskip("clarabel")
    angle = np.linspace(0.0, 4.0, 120)
    arc = np.column_stack([np.cos(angle), np.sin(angle)])
    K = unfolding_kernel(arc, 4, rank=6)
    check_centred(K)
    values, vectors = leading(K, 2)
    assert values[0] > 0.98 * np.trace(K)
    assert abs(np.corrcoef(vectors[:, 0], angle)[0, 1]) > 0.999
    assert np.ptp(vectors[:, 0]) * np.sqrt(values[0]) == pytest.approx(4.0, rel=0.02)  # the length of the arc
    exact, near = unfolding_kernel(arc[::8], 2), unfolding_kernel(arc[::8], 2, rank=5)
    assert np.linalg.norm(near - exact) < 0.03 * np.linalg.norm(exact)


def test_without_clarabel_the_message_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(CapabilityError, match="mercer\\[qp\\]"):
        unfolding_kernel(np.arange(6.0)[:, None], 2, kernel=Gaussian(3.0))


@pytest.mark.parametrize("k", [4, 7])
@pytest.mark.parametrize("found", ["what clarabel finds", "nothing"])
def test_samples_that_neighbours_hold_firmly_unfold_to_themselves(k, found, monkeypatch):
    """The program has no interior there: an interior-point method may end at zero, and the samples keep all distances.

    Whether it does is a matter of rounding, so that zero is also put in its place.
    """
    pytest.importorskip("clarabel")
    points = np.random.default_rng(0).normal(size=(22, 2))
    if found == "nothing":
        monkeypatch.setattr(variance_unfolding, "_semidefinite", lambda forms, *_: np.zeros(forms.shape[1]))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        K = unfolding_kernel(points, k)
    assert all("no interior" in str(warning.message) for warning in told)
    assert told or found != "nothing"
    check_centred(K)
    near = NearestNeighbors(n_neighbors=k).fit(points).kneighbors(return_distance=False)
    B = np.eye(22)
    B[np.repeat(np.arange(22), k), near.ravel()] = 1.0
    i, j = np.nonzero(np.triu(B.T @ B, 1))  # neighbours, and neighbours of the same sample
    squares = np.sum((points[i] - points[j]) ** 2, axis=1)
    kept = np.diag(K)[i] + np.diag(K)[j] - 2.0 * K[i, j]
    assert np.abs(kept - squares).max() <= 2e-3 * squares.mean()
    assert np.trace(K) >= np.sum((points - points.mean(axis=0)) ** 2) * (1.0 - 1e-6)
    assert np.linalg.eigvalsh(K)[0] > -1e-9 * np.trace(K)


def test_more_samples_than_the_exact_program_is_for_are_told_of():
    pytest.importorskip("clarabel")
    t = np.linspace(0.0, 3.0, 90)
    arc = np.column_stack([np.cos(t), np.sin(t)])
    with pytest.warns(DegenerateWarning, match="12 smooth functions"):
        K = unfolding_kernel(arc, 4)
    near = unfolding_kernel(arc, 4, rank=12)  # from which it goes on, with distances that are kept better
    assert np.abs(K - near).max() < 0.1 * np.abs(near).max()


def test_distances_of_a_few_hundred_samples_are_kept():
    """Without a rank the penalty rises until distances hold: with the first alone they are off by a fifth and more."""
    pytest.importorskip("clarabel")
    rng = np.random.default_rng(0)
    angle, height = 1.5 * np.pi * (1.0 + 2.0 * rng.random(150)), 10.0 * rng.random(150)
    roll = np.column_stack([angle * np.cos(angle), height, angle * np.sin(angle)])
    with pytest.warns(DegenerateWarning, match="keeps distances"):
        K = unfolding_kernel(roll, 6)
    near = NearestNeighbors(n_neighbors=6).fit(roll).kneighbors(return_distance=False)
    rows = np.repeat(np.arange(150), 6)
    found = K[rows, rows] + K[near.ravel(), near.ravel()] - 2.0 * K[rows, near.ravel()]
    want = np.sum((roll[rows] - roll[near.ravel()]) ** 2, axis=1)
    assert np.abs(found - want).max() < 0.1 * want.mean()


def test_samples_that_are_all_the_same_stay_together():
    with pytest.warns(DegenerateWarning):
        K = unfolding_kernel(np.full((20, 3), 2.0**62), n_neighbors=4)
    assert np.array_equal(K, np.zeros((20, 20)))
