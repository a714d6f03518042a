"""Eigenvectors of weighted, centred Gram matrices, by all three ways."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.estimators.directions import (
    all_directions,
    decomposed,
    factor_directions,
    factor_rank,
    is_whole,
    krylov_bytes,
    leading_directions,
    principal_directions,
    stored_directions,
    work_bytes,
)
from mercer.gram import Dense, Features, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear

rng = np.random.default_rng(1)
S = Vectors.pack(rng.normal(size=(50, 3)) * [2.0, 1.0, 0.5] + 1.0)
W = rng.uniform(0.5, 3.0, 50)


def matrix(K, centered):
    """W^(1/2) P K P^T W^(1/2), from its definition."""
    P = np.eye(50) - np.outer(np.ones(50), W / W.sum()) if centered else np.eye(50)
    root = np.sqrt(W)
    return root[:, None] * (P @ K @ P.T) * root


@pytest.mark.parametrize("centered", [True, False])
def test_all_ways_find_the_eigenvectors(centered):
    kernel = Gaussian(2.0)
    G = matrix(kernel(S.X), centered)
    expected = np.linalg.eigvalsh(G)[::-1][:4]
    ways = (
        all_directions(Dense().build(kernel, S), W, centered, None),
        all_directions(Tiles().build(kernel, S), W, centered, None),
        factor_directions(Nystrom(50).build(kernel, S), W, centered, None),
        principal_directions(Tiles().build(kernel, S), W, 4, centered=centered, tol=1e-12),
    )
    for found in ways:
        V = found.first(4, np.sqrt(W))
        assert V.values == pytest.approx(expected, rel=1e-9)
        np.testing.assert_allclose(G @ V.vectors, V.vectors * V.values, atol=1e-8)
        np.testing.assert_allclose(V.vectors.T @ V.vectors, np.eye(4), atol=1e-8)
        np.testing.assert_allclose(V.vectors, ways[0].first(4, np.sqrt(W)).vectors, atol=1e-7)
        assert found.trace == pytest.approx(np.trace(G), rel=1e-8)
        if centered:
            np.testing.assert_allclose(found.means, kernel(S.X) @ W / W.sum(), atol=1e-8)


@pytest.mark.parametrize("centered", [True, False])
def test_few_directions_of_a_stored_matrix_are_those_of_lapack(centered):
    many = Vectors.pack(rng.normal(size=(130, 3)))
    w, kernel = rng.uniform(0.5, 3.0, 130), Gaussian(2.0)
    found = stored_directions(Dense().build(kernel, many), w, 5, centered=centered).first(5, np.sqrt(w))
    whole = all_directions(Dense().build(kernel, many), w, centered, None)
    best = whole.first(5, np.sqrt(w))
    np.testing.assert_allclose(found.values, best.values, rtol=1e-12)
    np.testing.assert_allclose(found.vectors, best.vectors, atol=1e-9)
    np.testing.assert_allclose(found.means, best.means, atol=1e-12)
    assert found.trace == pytest.approx(whole.trace, rel=1e-10) and found.iterations > 1


def test_few_directions_of_a_stored_matrix_have_limits():
    kernel, many = Gaussian(2.0), Vectors.pack(rng.normal(size=(130, 3)))
    K = Dense().build(kernel, many)
    assert stored_directions(K, np.ones(130), 6) is None  # too many directions
    assert stored_directions(Dense().build(kernel, S), W, 2) is None  # too few samples
    assert stored_directions(Tiles().build(kernel, many), np.ones(130), 5) is None


def test_the_factor_far_from_the_origin_keeps_its_digits():
    far = Vectors.pack(S.X + 1e6)
    near, moved = (decomposed(Features().build(Linear(), part), W) for part in (S, far))
    assert moved.values[:3] == pytest.approx(near.values[:3], rel=1e-6)


def test_what_has_a_factor():
    assert factor_rank(Dense().build(Linear(), S)) is None
    assert factor_rank(Features().build(Linear(), S)) == 3
    assert decomposed(Features().build(Linear(), S), W).weights is not None
    assert decomposed(Dense().build(Linear(), S), W).weights is None


def test_iterations_end_when_told():
    K = Gaussian(0.5)(S.X)
    found = principal_directions(K, W, 3, tol=1e-13, monitor=lambda iteration, residual: iteration >= 2)
    assert found.iterations == 2 and found.residual > 0.0
    assert principal_directions(K, W, 3, max_iter=1).iterations == 1


def test_some_directions_are_found_as_the_gram_allows():
    many = Vectors.pack(rng.normal(size=(520, 3)))
    w, kernel = rng.uniform(0.5, 3.0, 520), Gaussian(2.0)
    whole = all_directions(Dense().build(kernel, many), w, True, None).first(4, np.sqrt(w))
    for gram, stored in ((Dense(), True), (Tiles(), False), (Nystrom(520), True)):
        K = gram.build(kernel, many)
        assert is_whole(K) is stored
        found = leading_directions(K, w, 4)
        assert found.vectors.shape[1] < 520 or isinstance(gram, Nystrom)
        found = found.first(4, np.sqrt(w))
        assert found.values == pytest.approx(whole.values, rel=1e-8)
        np.testing.assert_allclose(found.vectors, whole.vectors, atol=1e-6)
    assert leading_directions(Dense().build(kernel, many), w, 50).vectors.shape == (520, 520)
    assert is_whole(Tiles().build(kernel, S)) and not is_whole(Tiles().build(kernel, many))
    assert work_bytes(520, 50) == 24 * 520**2 and work_bytes(520, 50, stored=False) == krylov_bytes(520, 50)
