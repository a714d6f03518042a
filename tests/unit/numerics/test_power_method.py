"""The power method and its block form against LAPACK."""

import numpy as np
import pytest

from mercer.kernels import Exponential, Gaussian
from mercer.numerics.block_krylov import leading_eigenpairs
from mercer.numerics.power_method import power_method, subspace_iteration

X = np.random.default_rng(0).normal(size=(200, 2))
K = Gaussian(1.0)(X)
ROUGH = Exponential(0.5)(X)


def test_the_largest_eigenvalue():
    found = power_method(lambda V: K @ V, 200)
    values, vectors = np.linalg.eigh(K)
    assert found.converged and found.values[0] == pytest.approx(values[-1], rel=1e-12)
    assert abs(found.vectors[:, 0] @ vectors[:, -1]) == pytest.approx(1.0)
    assert np.linalg.norm(K @ found.vectors[:, 0] - found.values[0] * found.vectors[:, 0]) <= 1e-8 * values[-1]


def test_largest_in_size():
    assert power_method(lambda V: np.diag([1.0, -5.0, 2.0]) @ V, 3).values == pytest.approx([-5.0])


def test_the_error_falls_by_the_ratio_of_eigenvalues():
    d = np.r_[1.0, 0.5, np.full(48, 0.1)]
    seen = []
    power_method(lambda V: d[:, None] * V, 50, tol=1e-9, monitor=lambda i, r: seen.append(r))
    assert np.allclose(np.array(seen[12:20]) / np.array(seen[11:19]), 0.5, atol=0.01)


def test_no_gap_no_convergence():
    found = power_method(lambda V: np.diag([1.0, -1.0]) @ V, 2, max_iter=30)
    assert not found.converged and found.iterations == 30
    assert power_method(lambda V: 0.0 * V, 5).values == pytest.approx([0.0])


@pytest.mark.parametrize("G", [K, ROUGH], ids=["smooth", "rough"])
def test_truncated_eigenvalues(G):
    found = subspace_iteration(lambda V: G @ V, 200, 8, max_iter=8)
    values = np.linalg.eigvalsh(G)[::-1]
    left = np.linalg.norm(G - (found.vectors * found.values) @ found.vectors.T, 2)
    assert left <= 1.1 * values[8]  # the best possible is values[8]
    assert np.allclose(found.vectors.T @ found.vectors, np.eye(8), atol=1e-12)
    assert np.all(np.abs(found.values - values[:8]) <= found.residuals + 1e-12 * values[0])
    real = np.linalg.norm(G @ found.vectors - found.vectors * found.values, axis=0)
    assert np.allclose(real, found.residuals, atol=1e-11)
    assert found.iterations == 8


def test_more_powers_are_better_and_a_krylov_space_is_best():
    errors = [subspace_iteration(lambda V: ROUGH @ V, 200, 8, max_iter=q).residuals.max() for q in (1, 2, 4, 8)]
    assert errors == sorted(errors, reverse=True)
    assert leading_eigenpairs(lambda V: ROUGH @ V, 200, 8, max_iter=8).residuals.max() < errors[-1]


def test_tolerance_monitors_and_seeds():
    found = subspace_iteration(lambda V: K @ V, 200, 3, tol=1e-6, max_iter=50)
    assert found.converged and found.iterations < 10
    assert subspace_iteration(lambda V: K @ V, 200, 3, max_iter=50, monitor=lambda i, r: i == 2).iterations == 2
    one, two = (subspace_iteration(lambda V: K @ V, 200, 3, random_state=4) for _ in range(2))
    assert np.array_equal(one.vectors, two.vectors)
