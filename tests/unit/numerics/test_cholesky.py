import threading
import tracemalloc
import warnings

import numpy as np
import pytest

from mercer.errors import JitterWarning, NotPositiveDefinite, ParameterError
from mercer.numerics.cholesky import CholeskyFactor, lapack, require_finite, safe_cholesky

SIZES = [0, 1, 2, 3, 63, 64, 65, 129, 300]


def definite(n, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, n + 3))
    return X @ X.T / (n + 3) + 0.1 * np.eye(n)


@pytest.mark.parametrize("n", SIZES)
def test_factor_in_the_memory_of_the_matrix(n):
    G = definite(n)
    K = G.copy()
    factor = safe_cholesky(K)
    assert factor.array is K
    assert factor.jitter == 0.0
    np.testing.assert_allclose(np.triu(K).T, np.linalg.cholesky(G), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(np.tril(K, -1), np.tril(G, -1))
    np.testing.assert_array_equal(factor.diagonal, np.diagonal(G))


@pytest.mark.parametrize("n", SIZES)
def test_everything_that_is_computed_from_the_factor(n):
    G, rng = definite(n, 1), np.random.default_rng(2)
    factor = safe_cholesky(G.copy())
    inverse = np.linalg.inv(G)
    for shape in [(n,), (n, 1), (n, 4), (n, 0)]:
        X = rng.normal(size=shape)
        np.testing.assert_allclose(factor.solve(X), inverse @ X, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(factor.product(X), G @ X, rtol=1e-10, atol=1e-11)
        half = factor.half_solve(X)
        np.testing.assert_allclose(np.linalg.cholesky(G) @ half, X, rtol=1e-9, atol=1e-10)
        solved, left = factor.refined(X)
        np.testing.assert_allclose(solved, inverse @ X, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(left, X - G @ solved, atol=1e-12)
        for result in (factor.solve(X), half, solved, left, factor.product(X)):
            assert result.shape == shape
            assert result.flags.c_contiguous
    np.testing.assert_allclose(factor.inverse_diagonal(), np.diagonal(inverse), rtol=1e-9)
    assert factor.logdet() == pytest.approx(np.linalg.slogdet(G)[1] if n else 0.0, rel=1e-10)


def test_the_factor_is_not_changed_by_its_use():
    factor = safe_cholesky(definite(200))
    before, rhs = factor.array.copy(), np.ones((200, 2))
    factor.solve(rhs), factor.half_solve(rhs), factor.inverse_diagonal(), factor.product(rhs), factor.logdet()
    np.testing.assert_array_equal(factor.array, before)
    np.testing.assert_array_equal(rhs, 1.0)


@pytest.mark.parametrize("shift", [0.7, np.linspace(0.1, 3.0, 40)], ids=["scalar", "vector"])
def test_shift_is_added_to_the_diagonal(shift):
    K = definite(40)
    G = K + np.diag(np.broadcast_to(shift, 40))
    factor = safe_cholesky(K.copy(), shift)
    np.testing.assert_allclose(factor.product(np.eye(40)), G, rtol=1e-13)
    np.testing.assert_allclose(factor.solve(np.eye(40)), np.linalg.inv(G), rtol=1e-9, atol=1e-11)


def test_views_and_columns_by_columns_are_factored_in_place():
    G = definite(50)
    large = np.full((70, 80), 7.0)
    large[10:60, 20:70] = G
    factor = safe_cholesky(large[10:60, 20:70])
    assert np.shares_memory(factor.array, large)
    np.testing.assert_allclose(factor.inverse_diagonal(), np.diagonal(np.linalg.inv(G)), rtol=1e-9)
    np.testing.assert_allclose(factor.solve(np.ones(50)), np.linalg.solve(G, np.ones(50)), rtol=1e-9)
    large[10:60, 20:70] = 7.0
    assert np.all(large == 7.0)
    fortran = np.asfortranarray(G)
    factor = safe_cholesky(fortran)
    assert np.shares_memory(factor.array, fortran)
    np.testing.assert_allclose(factor.solve(np.ones(50)), np.linalg.solve(G, np.ones(50)), rtol=1e-9)


@pytest.mark.parametrize(
    "K",
    [
        np.eye(3, dtype=np.float32),
        np.eye(6)[::2, ::2],
        np.eye(3)[::-1],
        np.ones((2, 3)),
        np.ones(3),
        [[1.0]],
        np.broadcast_to(np.eye(3), (3, 3)),
    ],
    ids=["float32", "strided", "reversed", "oblong", "vector", "list", "read-only"],
)
def test_what_cannot_be_overwritten_is_refused(K):
    with pytest.raises(ParameterError, match=r"was given .* overwrites square.*overwrite=False"):
        safe_cholesky(K)


@pytest.mark.parametrize("K", [np.eye(3, dtype=np.float32), np.eye(6)[::2, ::2], [[2.0]]])
def test_a_copy_is_made_when_asked(K):
    before = np.array(K)
    factor = safe_cholesky(K, 1.0, overwrite=False)
    np.testing.assert_array_equal(np.array(K), before)
    assert factor.array.dtype == np.float64
    np.testing.assert_allclose(factor.product(np.ones(len(K))), before.sum(axis=1) + 1.0)


def nearly_definite(n, negative, size=1.0):
    """Eigenvalues 1 but for one, which is -negative; the mean diagonal is near `size`."""
    Q = np.linalg.qr(np.random.default_rng(3).normal(size=(n, n)))[0]
    eigenvalues = np.ones(n)
    eigenvalues[0] = -negative
    G = (Q * eigenvalues) @ Q.T
    return size * 0.5 * (G + G.T)


@pytest.mark.parametrize("negative, relative", [(5e-12, 1e-11), (5e-11, 1e-10), (5e-9, 1e-8), (5e-7, 1e-6)])
@pytest.mark.parametrize("size", [2.0**-600, 1.0, 2.0**600])
def test_jitter_is_the_smallest_power_of_ten_that_helps_and_relative(negative, relative, size):
    G = nearly_definite(300, negative, size)
    mean = np.mean(np.diagonal(G / size)) * size
    with pytest.warns(JitterWarning, match=f"{relative:.0e}".replace("+", r"\+")) as caught:
        factor = safe_cholesky(G.copy())
    assert len(caught) == 1
    assert factor.jitter == pytest.approx(relative * mean, rel=1e-12)
    assert f"{factor.jitter:.2g}" in str(caught[0].message)
    L = np.triu(factor.array).T / np.sqrt(size)
    expected = G / size + factor.jitter / size * np.eye(300)
    np.testing.assert_allclose(L @ L.T, expected, atol=1e-14)
    # product and what is left speak of the matrix as given
    np.testing.assert_allclose(factor.product(np.eye(300)) / size, G / size, atol=1e-15)


def test_jitter_does_not_depend_on_the_shift():
    K = nearly_definite(50, 1.0 + 5e-9)  # needs more than the shift of one
    with pytest.warns(JitterWarning):
        factor = safe_cholesky(K.copy(), 1.0)
    assert factor.jitter == pytest.approx(1e-8 * np.mean(np.diagonal(K)), rel=1e-10)


def test_no_jitter_where_none_is_needed():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert safe_cholesky(nearly_definite(300, -1e-10)).jitter == 0.0


@pytest.mark.parametrize("n", [1, 5, 300])
def test_too_much_is_refused_and_the_matrix_left_as_it_was(n):
    G = nearly_definite(n, 5e-6)
    K = G.copy()
    with pytest.raises(NotPositiveDefinite, match=r"leading minor of order \d+.*needed.*Raise the shift"):
        safe_cholesky(K, np.zeros(n))
    np.testing.assert_array_equal(K, G)


def test_zero_matrix():
    K = np.zeros((3, 3))
    with pytest.raises(NotPositiveDefinite, match="leading minor of order 1 "):
        safe_cholesky(K)
    assert safe_cholesky(K, 4.0).jitter == 0.0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (2, 290), (290, 2), (150, 149)])
def test_an_entry_that_is_not_finite_is_named(bad, place):
    G = definite(300)
    G[place] = bad
    K = G.copy()
    with pytest.raises(NotPositiveDefinite, match=f"row {place[0]}, column {place[1]}; finite"):
        safe_cholesky(K)
    np.testing.assert_array_equal(K, G)


def test_a_shift_that_is_not_finite():
    with pytest.raises(NotPositiveDefinite, match="shift of the diagonal is not finite"):
        safe_cholesky(np.eye(3), np.array([1.0, np.inf, 1.0]))
    with pytest.raises(NotPositiveDefinite, match="shift of the diagonal is not finite"):
        require_finite(np.eye(2), np.nan)


def test_sums_that_overflow_are_not_mistaken_for_infinite_entries():
    n = 100
    K = 1e307 * np.eye(n) + 4e306
    factor = safe_cholesky(K.copy())
    np.testing.assert_allclose(factor.solve(K[:, 0]), np.eye(n)[0], atol=1e-12)


def test_refinement_takes_back_what_jitter_did():
    G = definite(60)
    A = G + 1e-3 * np.eye(60)
    array = np.tril(G, -1) + np.triu(np.linalg.cholesky(A).T)
    factor = CholeskyFactor(array, np.diagonal(G).copy(), 1e-3)
    rhs = np.random.default_rng(0).normal(size=(60, 2))
    plain = np.linalg.norm(rhs - G @ factor.solve(rhs), axis=0)
    refined, left = factor.refined(rhs)
    np.testing.assert_allclose(left, rhs - G @ refined, atol=1e-12)
    assert np.all(np.linalg.norm(left, axis=0) < 0.1 * plain)


def test_refinement_is_kept_only_where_it_helps():
    # Against a negative eigenvalue, larger than half the jitter, a step leads away.
    eigenvalues = np.array([1.0, -0.6e-3])
    jitter = 1e-3
    factor = CholeskyFactor(np.diag(np.sqrt(eigenvalues + jitter)), eigenvalues, jitter)
    rhs = np.array([[1.0, 0.0], [0.0, 1.0]])
    X, left = factor.refined(rhs)
    np.testing.assert_allclose(X[:, 1], factor.solve(rhs)[:, 1])
    assert abs(left[0, 0]) < 1e-5 < abs(rhs[0, 0] - factor.solve(rhs)[0, 0])


def test_memory_of_factor_and_solution():
    n = 1000
    K, rhs = definite(n), np.ones((n, 3))
    safe_cholesky(definite(20)).refined(np.ones(20))  # what is allocated once
    tracemalloc.start()
    try:
        factor = safe_cholesky(K, 0.5)
        factor.refined(rhs)
        factor.logdet()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.05 * 8 * n**2


@pytest.mark.parametrize("n", SIZES)
def test_the_inverse_in_the_memory_of_the_factor(n):
    G = definite(n)
    K = G.copy()
    inverse = safe_cholesky(K).release_inverse()
    assert inverse is K
    np.testing.assert_allclose(inverse, np.linalg.inv(G), rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(inverse, inverse.T)


def test_lapack_releases_the_lock():
    n = 2500
    A = np.full((n, n), 0.5)
    np.fill_diagonal(A, 1.0)
    done = threading.Event()

    def factor():
        lapack("dpotrf")("L", n, A, n, np.zeros(1, np.intc))
        done.set()

    threading.Thread(target=factor).start()
    turns = 0
    while not done.wait(0.002):
        turns += 1
    assert turns > 3  # of the interpreter while the call ran; none if it held the lock


def test_lapack_computes_where_the_array_lies():
    rng = np.random.default_rng(0)
    large = np.zeros((7, 9))
    X = rng.normal(size=(4, 4))
    G = X @ X.T + np.eye(4)
    large[2:6, 3:7] = G
    info = np.zeros(1, np.intc)
    lapack("dpotrf")("L", 4, large[2:6, 3:7], 9, info)
    assert info[0] == 0
    np.testing.assert_allclose(np.triu(large[2:6, 3:7]), np.linalg.cholesky(G).T, rtol=1e-12)
    outside = np.ones((7, 9), dtype=bool)
    outside[2:6, 3:7] = False
    assert not large[outside].any()


def test_blas_is_found_too():
    T, X = np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([[2.0, 9.0]])
    lapack("dtrsm")("L", "L", "N", "N", 2, 1, 1.0, T, 2, X, 2)
    np.testing.assert_allclose(X, [[1.0, 2.0]])


def test_lapack_refuses_what_would_crash():
    info = np.zeros(1, np.intc)
    with pytest.raises(TypeError, match="5 arguments"):
        lapack("dpotrf")("L", 2, np.eye(2))
    with pytest.raises(TypeError, match="float32"):
        lapack("dpotrf")("L", 2, np.eye(2, dtype=np.float32), 2, info)
    with pytest.raises(TypeError, match="int64"):
        lapack("dpotrf")("L", 2, np.eye(2), 2, np.zeros(1, np.int64))
    with pytest.raises(TypeError, match="not among those"):
        lapack("zpotrf")
    with pytest.raises(KeyError):
        lapack("dnothing")


def test_routines_of_float32():
    A, info = np.array([[4.0, 2.0], [2.0, 5.0]], dtype=np.float32), np.zeros(1, np.intc)
    lapack("spotrf")("L", 2, A, 2, info)
    assert np.array_equal(np.triu(A), [[2.0, 1.0], [0.0, 2.0]]) and info[0] == 0
    with pytest.raises(TypeError, match="float32"):
        lapack("spotrf")("L", 2, A.astype(float), 2, info)
