"""Where searches of kernel ICA begin."""

import numpy as np
import pytest

from mercer.estimators.dependence.ica import KernelICA, amari_error
from mercer.estimators.dependence.ica_starts import starts, turned_pairs

ANGLES = np.linspace(0.0, np.pi / 2, 10)[1:-1]


def dependence(S):
    """A contrast that is zero where the two columns are the axes: of the angle between them and these."""
    return float(np.sum(np.minimum(np.abs(S[:, 0]), np.abs(S[:, 1]))))


@pytest.mark.parametrize("pair", [(0, 1), (0, 2), (1, 2)])
def test_a_pair_that_is_mixed_is_turned_back(pair):
    """Samples on the axes: whatever angle of the grid two of them are turned by, one turn finds them again."""
    Z, i, j = np.repeat(np.eye(3), 4, axis=0) * 2.0, *pair
    for t in ANGLES:
        V = np.eye(3)
        V[[i, j]] = np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]]) @ V[[i, j]]
        turned = turned_pairs(V, Z, dependence)
        np.testing.assert_allclose(turned @ turned.T, np.eye(3), atol=1e-12)
        assert amari_error(turned, np.eye(3)) < 1e-12


def test_what_is_best_everywhere_is_left():
    Z = np.repeat(np.eye(3), 4, axis=0)
    assert turned_pairs(np.eye(3), Z, dependence) is None


def test_starts_are_rotations_and_as_many_as_were_asked_for():
    Z = np.random.default_rng(0).uniform(-1.0, 1.0, size=(100, 3)) * np.sqrt(3.0)
    found = list(starts(Z, np.ones(100), 5, np.random.RandomState(0)))
    assert len(found) == 5
    for V in found:
        np.testing.assert_allclose(V @ V.T, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("contrast", ["kgv", "hsic"])
def test_two_sources_in_one_minimum_are_taken_apart(contrast):
    """From any start that mixes a pair of uniform sources, one search and its turns end at the sources."""
    rng = np.random.default_rng(0)
    S = rng.uniform(-1.0, 1.0, size=(300, 3))
    A = rng.normal(size=(3, 3)) + 2.0 * np.eye(3)
    model = KernelICA(contrast=contrast, n_init=1).fit(S @ A.T)
    assert amari_error(model.components_, A) < 0.1
