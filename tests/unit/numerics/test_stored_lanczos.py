"""The Lanczos process of a matrix in memory: LAPACK's pairs from half of the matrix, or nothing at all."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.numerics.stored_lanczos import stored_eigenpairs

rng = np.random.default_rng(2)


def weighted(K, root, share):
    """R P K P^T R, from its definition."""
    P = np.eye(len(K)) - np.outer(np.ones(len(K)), share)
    return root[:, None] * (P @ K @ P.T) * root


@pytest.mark.parametrize("n", [100, 129, 150, 151])
@pytest.mark.parametrize("centered", [True, False])
def test_the_pairs_are_those_of_lapack(n, centered):
    K = Gaussian(2.0)(rng.normal(size=(n, 3)))
    w = rng.uniform(0.5, 3.0, n)
    root, share = np.sqrt(w), w / w.sum() if centered else np.zeros(n)
    G = weighted(K, root, share)
    found = stored_eigenpairs(np.triu(K), root, share, 5, tol=1e-12)  # what is below the diagonal is not read
    theta = np.linalg.eigvalsh(G)[::-1][:5]
    assert found.converged and found.iterations < n
    np.testing.assert_allclose(found.values, theta, rtol=1e-12)
    np.testing.assert_allclose(G @ found.vectors, found.vectors * found.values, atol=1e-11 * theta[0])
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(5), atol=1e-12)
    assert np.all(found.residuals <= 1e-12 * theta[0])


@pytest.mark.parametrize("copies", [2, 3, 8])
def test_no_copy_of_a_multiple_eigenvalue_is_left_out(copies):
    """The process of one vector finds 20 once, or twice by rounding, and goes on with 9.5."""
    values = np.append(np.full(copies, 20.0), 0.95 ** np.arange(200.0) * 9.5)
    ones, nothing = np.ones(len(values)), np.zeros(len(values))
    found = stored_eigenpairs(np.diag(values), ones, nothing, 3)
    assert found is None if copies == 8 else found is None or np.allclose(found.values, values[:3], rtol=1e-10)
    alone = stored_eigenpairs(np.diag(values[copies - 1 :]), ones[copies - 1 :], nothing[copies - 1 :], 3)
    np.testing.assert_allclose(alone.values, values[copies - 1 : copies + 2], rtol=1e-10)


@pytest.mark.parametrize(
    "values",
    [np.append([3.0, 2.0], np.zeros(98)), np.zeros(100), np.full(100, np.nan), 1.0 + 1e-9 * np.arange(300.0)],
    ids=["rank two", "zero", "not a number", "all alike"],
)
def test_what_one_vector_cannot_see_is_left_to_others(values):
    assert stored_eigenpairs(np.diag(values), np.ones(len(values)), np.zeros(len(values)), 4) is None


def test_the_monitor_sees_the_residuals_and_ends_it():
    K, ones, seen = np.diag(0.95 ** np.arange(300.0)), np.ones(300), []
    assert stored_eigenpairs(K, ones, 0.0 * ones, 5, tol=1e-13, monitor=lambda *state: seen.append(state)) is not None
    assert len(seen) > 1 and [step for step, _ in seen] == sorted({step for step, _ in seen})
    assert seen[-1][1] <= 1e-13 < seen[0][1]
    assert stored_eigenpairs(K, ones, 0.0 * ones, 5, monitor=lambda *state: True) is None
