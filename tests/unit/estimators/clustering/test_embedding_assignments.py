"""Clusters of an embedding without k-means: rotated indicators are found, as scikit-learn's own functions find them."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from mercer.estimators.clustering.embedding_assignments import discretized, pivoted

rng = np.random.default_rng(0)
LABELS = rng.integers(0, 4, size=80)
INDICATORS = (LABELS[:, None] == np.arange(4)) / np.sqrt(np.bincount(LABELS))
TURN = np.linalg.qr(rng.normal(size=(4, 4)))[0]


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_rotated_indicators_are_found(noise):
    V = INDICATORS @ TURN + noise * rng.normal(size=(80, 4))
    assert adjusted_rand_score(LABELS, pivoted(V)) == 1.0
    assert adjusted_rand_score(LABELS, discretized(V, np.random.RandomState(0))) == 1.0
