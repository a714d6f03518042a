"""Covariances of a chain, against all its paths and against differences of its sums."""

from itertools import pairwise, product

import numpy as np
import pytest

from mercer.networks import Chains
from mercer.networks.chain_covariance import chain_covariance

RNG = np.random.default_rng(0)


def counts(path, K):
    out = np.zeros(len(path) * K + K * K)
    for t, a in enumerate(path):
        out[t * K + a] += 1.0
    for a, b in pairwise(path):
        out[len(path) * K + a * K + b] += 1.0
    return out


@pytest.mark.parametrize(("T", "K"), [(1, 3), (2, 2), (4, 3), (5, 2), (3, 1)])
def test_against_all_paths(T, K):
    F, W = 2.0 * RNG.normal(size=(T, K)), RNG.normal(size=(K, K))
    paths = list(product(range(K), repeat=T))
    each = np.array([counts(path, K) for path in paths])
    logs = each @ np.concatenate([F.ravel(), W.ravel()])
    p = np.exp(logs - logs.max())
    p /= p.sum()
    wanted = (each * p[:, None]).T @ each - np.outer(p @ each, p @ each)
    np.testing.assert_allclose(chain_covariance(F, W), wanted, atol=1e-13)


def test_it_is_the_derivative_of_the_expected_counts():
    F, W = RNG.normal(size=(4, 3)), 3.0 * RNG.normal(size=(3, 3))
    point, found, h = np.concatenate([F.ravel(), W.ravel()]), chain_covariance(F, W), 1e-5

    def expected(z):
        sums = Chains.from_sequences([z[:12].reshape(4, 3)], z[12:].reshape(3, 3)).sums()
        return np.concatenate([sums.marginals.ravel(), sums.transitions.ravel()])

    for j in range(len(point)):
        step = h * (np.arange(len(point)) == j)
        np.testing.assert_allclose((expected(point + step) - expected(point - step)) / (2 * h), found[j], atol=1e-8)


def test_large_scores_stay_finite():
    found = chain_covariance(np.array([[800.0, 0.0], [0.0, 800.0]]), np.zeros((2, 2)))
    np.testing.assert_allclose(found, 0.0, atol=1e-300)
