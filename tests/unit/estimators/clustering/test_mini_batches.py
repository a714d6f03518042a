"""Mini-batches against whole k-means."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from mercer.domains import Vectors
from mercer.estimators.clustering.mini_batches import _learn, mini_batches
from mercer.gram import Features, Nystrom
from mercer.kernels import Gaussian, Linear
from mercer.problems import Status

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(size=(200, 2)) + c for c in ([0, 0], [8, 0], [0, 8], [8, 8])])
S = rng.uniform(0.5, 2.0, size=800)


def test_a_centre_is_the_mean_of_what_it_has_seen():
    centres, seen = np.array([[0.0, 0.0], [50.0, 50.0]]), np.zeros(2)
    for rows in (slice(0, 50), slice(50, 120)):
        _learn(X[rows], S[rows], centres, seen)
    np.testing.assert_allclose(centres[0], np.average(X[:120], axis=0, weights=S[:120]), rtol=1e-12)
    assert seen[0] == pytest.approx(S[:120].sum()) and np.array_equal(centres[1], [50.0, 50.0])


@pytest.mark.parametrize("far", [True, False])
def test_in_features_it_comes_close_to_k_means(far):
    gram = Features().build(Linear(), Vectors.pack(X))
    found = mini_batches(gram, S, 4, 100, 10 if far else 80, 50, np.random.RandomState(0), far=far)
    theirs = KMeans(4, n_init=5, random_state=0).fit(X, sample_weight=S)
    assert found.status is Status.CONVERGED and found.inertia <= 1.05 * theirs.inertia_
    distances = ((X[:, None] - found.centres) ** 2).sum(axis=2)
    assert np.array_equal(found.labels, distances.argmin(axis=1))
    assert found.inertia == pytest.approx(S @ distances.min(axis=1), rel=1e-10)
    np.testing.assert_allclose(found.masses, np.bincount(found.labels, weights=S))


def test_landmarks_whose_factor_is_not_held():
    gram = Nystrom(40).build(Gaussian(3.0), Vectors.pack(X))
    held = mini_batches(gram, S, 4, 100, 3, 20, np.random.RandomState(0))
    gram._held = None
    other = mini_batches(gram, S, 4, 100, 3, 20, np.random.RandomState(0))
    assert np.array_equal(held.labels, other.labels)
    assert len(np.unique(held.labels + 10 * (np.arange(800) // 200))) == 4  # each blob is one cluster


def test_a_monitor_ends_it():
    gram = Features().build(Linear(), Vectors.pack(X))
    found = mini_batches(gram, S, 4, 100, 1, 50, np.random.RandomState(0), monitor=lambda epoch, left: True)
    assert found.status is Status.STOPPED and found.n_iter == 1
