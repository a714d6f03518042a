import numpy as np
import pytest

from mercer.errors import NotPositiveDefinite, ParameterError
from mercer.numerics.eigen import eigh_in_place


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
