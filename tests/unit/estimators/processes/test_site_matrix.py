"""The matrix I + S K S."""

import numpy as np
import pytest

from mercer.estimators.processes import site_matrix as balanced
from mercer.estimators.processes.site_matrix import (
    balanced_cholesky,
    balanced_inverse,
    sandwich,
    solved,
    times_inverse,
    weigh,
)


def problem(n):
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, n + 2))
    return A @ A.T / n, rng.uniform(0.1, 2.0, n), rng.normal(size=(3, n))


@pytest.mark.parametrize("n", [1, 5, 130])
def test_factor_inverse_and_products_are_those_of_the_matrix(n):
    K, s, (v, p, q) = problem(n)
    B = np.eye(n) + np.outer(s, s) * K
    memory = np.empty((n, n))
    factor = balanced_cholesky(K, s, memory)
    assert factor.array is memory
    assert np.isclose(factor.logdet(), np.linalg.slogdet(B)[1])
    assert np.allclose(solved(factor, v), np.linalg.solve(B, v))
    A = balanced_inverse(factor)
    inverse = np.linalg.inv(B)
    assert A is memory and np.allclose(np.triu(A), np.triu(inverse))
    assert np.allclose(times_inverse(A, v), inverse @ v)
    G = weigh(A.copy(), s, p, q)
    assert np.allclose(G, 0.5 * (np.outer(p, p) - np.outer(q, q) - np.outer(s, s) * inverse))
    assert np.array_equal(G, G.T)
    assert np.allclose(sandwich(A, s), np.outer(s, s) * inverse)


def test_compiled_loops_say_the_same_in_python():
    K, s, (_, p, q) = problem(7)
    B = np.empty((7, 7))
    balanced._balance.py_func(K, s, B, 0, 7)
    assert np.allclose(B, np.outer(s, s) * K)
    A, C = B.copy(), B.copy()
    balanced._weigh.py_func(A, s, p, q, -0.5, 0, 7)
    weigh(C, s, p, q)
    assert np.allclose(A, C)
