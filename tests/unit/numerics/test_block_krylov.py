"""Leading eigenpairs by products against LAPACK."""

import numpy as np
import pytest

from mercer.kernels import Exponential, Gaussian
from mercer.numerics.block_krylov import _orthonormal, inverse_eigenpairs, leading_eigenpairs
from tests.resuming import Memory, resumed

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 2))


def check(G, rank, tol=1e-8, **options):
    found = leading_eigenpairs(lambda V: G @ V, len(G), rank, **options)
    values, vectors = np.linalg.eigh(G)
    values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
    assert found.converged
    assert np.allclose(found.values, values, rtol=0, atol=tol * abs(values[0]))
    assert np.allclose(found.vectors.T @ found.vectors, np.eye(rank), atol=1e-10)
    real = np.linalg.norm(G @ found.vectors - found.vectors * found.values, axis=0)
    assert np.allclose(real, found.residuals, rtol=0.1, atol=1e-12 * abs(values[0]))
    return found, vectors


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian(0.2), Exponential(1.0)])
@pytest.mark.parametrize("rank", [1, 5, 40])
def test_eigenpairs_of_kernels(kernel, rank):
    found, vectors = check(kernel(X), rank)
    assert np.allclose(np.abs(np.sum(found.vectors[:, :1] * vectors[:, :1], axis=0)), 1.0)


def test_all_of_them():
    check(Gaussian(0.5)(X[:30]), 30)


def test_finite_rank_ends_early():
    G = X @ X.T
    found, _ = check(G, 5)
    assert np.allclose(found.values[2:], 0.0, atol=1e-10)
    assert found.iterations <= 3


def test_zero_matrix_and_repeated_eigenvalues():
    check(np.zeros((20, 20)), 3)
    check(np.eye(50), 4)


def test_largest_not_largest_in_size():
    found, _ = check(np.diag(np.r_[-100.0, np.arange(60.0)]), 2)
    assert found.values == pytest.approx([59.0, 58.0])


def test_a_slow_decay_needs_restarts_and_the_end_is_told():
    d = 1.0 / (1.0 + 0.1 * np.arange(1500.0))
    seen = []
    found = leading_eigenpairs(lambda V: d[:, None] * V, 1500, 3, monitor=lambda i, r: seen.append(r))
    assert found.converged
    assert found.iterations > 4
    assert len(seen) == found.iterations
    assert found.values == pytest.approx(d[:3], rel=1e-12)
    short = leading_eigenpairs(lambda V: d[:, None] * V, 1500, 3, max_iter=3)
    assert not short.converged
    assert short.iterations == 3
    assert short.residuals.max() > 1e-8
    ended = leading_eigenpairs(lambda V: d[:, None] * V, 1500, 3, monitor=lambda i, r: i == 2)
    assert ended.iterations == 2
    assert not ended.converged


def test_same_seed_same_bits():
    G = Gaussian(0.3)(X)
    one, two = (leading_eigenpairs(lambda V: G @ V, 300, 7, random_state=3) for _ in range(2))
    assert np.array_equal(one.vectors, two.vectors)


@pytest.mark.parametrize("scale", [1.0, 0.05])
def test_it_goes_on_after_an_interruption_to_the_same_bits(scale):
    """The narrow kernel needs a basis that is replaced several times."""
    G = Gaussian(scale)(X)
    run = lambda monitor: leading_eigenpairs(lambda V: G @ V, 300, 4, monitor=monitor)  # noqa: E731
    plain = run(None)
    assert plain.iterations > (3 if scale == 1.0 else 12)
    for interrupt, times in ((1, 1), (2, 3), (11, 2)):
        again = resumed(run, interrupt, times)
        assert np.array_equal(plain.values, again.values) and np.array_equal(plain.vectors, again.vectors)
        assert plain.iterations == again.iterations
    calls = []
    former = Memory(interrupt=3)
    with pytest.raises(KeyboardInterrupt):
        run(former)
    leading_eigenpairs(lambda V: calls.append(1) or G @ V, 300, 4, monitor=Memory(None, former.store.entries()))
    assert len(calls) == plain.iterations - 2  # the third product was not kept yet


@pytest.mark.parametrize("sizes", [np.ones(6), np.logspace(0, -3, 6), np.logspace(0, -11, 6), [1, 1, 1, 1, 1e-16, 0]])
def test_a_block_becomes_orthonormal_whatever_its_condition(sizes):
    rng = np.random.default_rng(3)
    Q = np.linalg.qr(rng.normal(size=(80, 20)))[0]
    R = rng.normal(size=(80, 6))
    R = np.linalg.qr(R - Q @ (Q.T @ R))[0] * sizes @ np.linalg.qr(rng.normal(size=(6, 6)))[0]
    U = _orthonormal(R, Q, 1e-14)
    assert U.shape[1] == np.sum(np.asarray(sizes) > 1e-14)
    np.testing.assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-14)
    np.testing.assert_allclose(Q.T @ U, 0.0, atol=1e-14)
    np.testing.assert_allclose(U @ (U.T @ R), R, atol=1e-13)


def test_a_block_that_is_rounding_of_what_is_known_has_no_direction_of_its_own():
    rng = np.random.default_rng(4)
    Q = np.linalg.qr(rng.normal(size=(60, 20)))[0]
    U = _orthonormal(Q[:, :4] @ rng.normal(size=(4, 4)), Q, 0.0)
    np.testing.assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-12)


Q = np.linalg.qr(np.random.default_rng(0).normal(size=(120, 120)))[0]
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
