import numpy as np
import pytest

from mercer.errors import NotPositiveDefinite, ParameterError
from mercer.numerics.eigen import eigh_in_place, inverse_eigenpairs


def symmetric(n, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A + A.T


@pytest.mark.parametrize("n", [0, 1, 2, 5, 40, 130])
def test_rows_become_eigenvectors(n):
    K = symmetric(n)
    V = K.copy()
    values = eigh_in_place(V)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(K) if n else [], atol=1e-12 * max(n, 1))
    np.testing.assert_allclose(V @ V.T, np.eye(n), atol=1e-12)
    np.testing.assert_allclose((V.T * values) @ V, K, atol=1e-11)


def test_a_view_into_a_larger_array():
    K = symmetric(20)
    whole = np.full((25, 25), 3.0)
    whole[5:, 5:] = K
    values = eigh_in_place(whole[5:, 5:])
    np.testing.assert_allclose((whole[5:, 5:].T * values) @ whole[5:, 5:], K, atol=1e-12)
    assert np.all(whole[:5] == 3.0) and np.all(whole[:, :5] == 3.0)


def test_what_cannot_be_overwritten_is_refused():
    with pytest.raises(ParameterError, match="transpose"):
        eigh_in_place(symmetric(4).T.copy(order="F"))
    with pytest.raises(NotPositiveDefinite, match="finite"):
        eigh_in_place(np.full((3, 3), np.nan))


rng = np.random.default_rng(0)
Q = np.linalg.qr(rng.normal(size=(120, 120)))[0]
VALUES = np.append(2.0 - 1e-7 * np.array([0.0, 1.0, 1.0, 3.0]), np.linspace(1.99, -1.0, 116))


def close_together():
    G = (Q * VALUES) @ Q.T
    return 0.5 * (G + G.T)


@pytest.mark.parametrize("error", [0.0, 1e-9, 1e-6, 1.0])
def test_close_and_double_eigenvalues_are_separated_from_any_guess(error):
    G = close_together()
    found = inverse_eigenpairs(close_together(), 4, 2.0 - 0.3 * error, error)
    assert found.converged
    np.testing.assert_allclose(found.values, VALUES[:4], atol=1e-14 * 120)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(G @ found.vectors - found.vectors * found.values, axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(np.abs(Q[:, 0] @ found.vectors[:, 0]), 1.0, atol=1e-5)
    assert np.all(found.residuals < 1e-9)


def test_a_shift_that_is_too_low_is_raised():
    found = inverse_eigenpairs(close_together(), 2, 1.9, 1e-3)  # 1e-3 / 8, times 4 six times
    np.testing.assert_allclose(found.values, VALUES[:2], atol=1e-12)


def test_what_no_shift_makes_definite_has_no_pairs():
    assert inverse_eigenpairs(close_together(), 2, 0.0, 1e-12) is None
    assert inverse_eigenpairs(np.full((5, 5), np.nan), 2, 1.0, 1.0) is None
    assert inverse_eigenpairs(close_together(), 2, np.nan, 1.0) is None
