"""The Lanczos process: orthogonal in long runs, tridiagonal, its ends those of LAPACK."""

import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.kernels import Gaussian
from mercer.numerics.lanczos import extremal_eigenpairs, lanczos

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 2))
K = Gaussian(1.0)(X)
A = rng.normal(size=(60, 60))
A = A + A.T


def times(G):
    return lambda V: G @ V


@pytest.mark.parametrize("G", [K, A, np.diag(0.5 ** np.arange(200.0))], ids=["kernel", "indefinite", "decay"])
def test_a_long_run_stays_orthogonal_and_tridiagonal(G):
    n = len(G)
    found = lanczos(times(G), rng.normal(size=n), n)
    V = found.basis
    assert np.abs(V @ V.T - np.eye(len(found))).max() < 1e-13
    T = np.diag(found.alpha) + np.diag(found.beta[:-1], 1) + np.diag(found.beta[:-1], -1)
    assert np.abs(V @ G @ V.T - T).max() < 1e-12 * np.abs(found.alpha).max()


def test_the_recurrence_without_all_vectors_loses_its_orthogonality():
    """What the process guards against: the three-term recurrence alone, on the same matrix."""
    v, before, beta = np.ones(300) / np.sqrt(300), np.zeros(300), 0.0
    V = [v]
    for _ in range(60):
        w = K @ v - beta * before
        w -= (v @ w) * v
        beta = np.linalg.norm(w)
        before, v = v, w / beta
        V.append(v)
    assert np.abs(np.array(V) @ np.array(V).T - np.eye(61)).max() > 0.5


def test_all_steps_give_all_eigenvalues():
    found = lanczos(times(A), rng.normal(size=60), 100)
    assert len(found) == 60
    assert np.allclose(found.values(), np.linalg.eigvalsh(A), atol=1e-10)


def test_an_invariant_space_ends_it():
    G = np.diag([5.0, 5.0, 2.0, 1.0])
    found = lanczos(times(G), np.ones(4), 4)
    assert len(found) == 3 and found.beta[-1] == 0.0
    assert np.allclose(found.values(), [1.0, 2.0, 5.0])
    assert len(lanczos(times(np.zeros((4, 4))), np.ones(4), 4)) == 1


def test_eigenpairs_and_their_residuals():
    found = lanczos(times(K), rng.normal(size=300), 40)
    for which in ("largest", "smallest", "both"):
        pairs = found.eigenpairs(3, which)
        real = np.linalg.norm(K @ pairs.vectors - pairs.vectors * pairs.values, axis=0)
        assert np.allclose(real, pairs.residuals, atol=1e-12 * found.values()[-1])
    assert np.allclose(found.eigenpairs(3).values, np.linalg.eigvalsh(K)[::-1][:3])


def test_what_is_projected_away_is_never_seen():
    one = np.ones((300, 1)) / np.sqrt(300)
    found = lanczos(times(K), rng.normal(size=300), 30, against=one)
    assert np.abs(found.basis @ one).max() < 1e-13
    P = np.eye(300) - one @ one.T
    assert found.values()[-1] == pytest.approx(np.linalg.eigvalsh(P @ K @ P)[-1])


def test_quadrature():
    v = rng.normal(size=60)
    v /= np.linalg.norm(v)
    values, U = np.linalg.eigh(A)
    found = lanczos(times(A), v, 4)
    assert found.quadrature(lambda t: t**7) == pytest.approx((U.T @ v) ** 2 @ values**7)  # degree 2 m - 1: exact
    assert found.quadrature(lambda t: t**8) != pytest.approx((U.T @ v) ** 2 @ values**8)


def test_monitors_end_it_and_a_zero_start_is_refused():
    assert len(lanczos(times(K), X[:, 0], 50, monitor=lambda step, beta: step == 5)) == 5
    with pytest.raises(ParameterError, match="first vector"):
        lanczos(times(K), np.zeros(300), 5)


@pytest.mark.parametrize("which", ["largest", "smallest", "both"])
@pytest.mark.parametrize("count", [1, 4])
def test_extremal_eigenpairs(which, count):
    d = np.concatenate([np.linspace(-3.0, 5.0, 800), [-6.0, 9.0]])
    found = extremal_eigenpairs(lambda V: d[:, None] * V, len(d), count, which)
    e = np.sort(d)
    expected = {"largest": e[::-1][:count], "smallest": e[:count], "both": np.r_[e[::-1][:count], e[:count][::-1]]}
    assert found.converged
    assert np.allclose(found.values, expected[which], atol=1e-9)
    assert np.allclose(found.vectors.T @ found.vectors, np.eye(len(found.values)), atol=1e-12)
    real = np.linalg.norm(d[:, None] * found.vectors - found.vectors * found.values, axis=0)
    assert np.allclose(real, found.residuals)


def test_restarts_go_on_until_they_have_converged():
    d = 1.0 / (1.0 + 0.01 * np.arange(3000.0))
    seen = []
    found = extremal_eigenpairs(lambda V: d[:, None] * V, 3000, 3, monitor=lambda i, r: seen.append(r))
    assert found.converged and len(seen) > 3 and seen[-1] <= 1e-10
    assert np.allclose(found.values, d[:3], rtol=1e-9)
    short = extremal_eigenpairs(lambda V: d[:, None] * V, 3000, 3, max_iter=10)
    assert not short.converged and short.iterations == 11
    ended = extremal_eigenpairs(lambda V: d[:, None] * V, 3000, 3, monitor=lambda i, r: True)
    assert not ended.converged


def test_small_and_degenerate_matrices():
    assert np.allclose(extremal_eigenpairs(times(np.eye(5)), 5, 2).values, 1.0)
    assert np.allclose(extremal_eigenpairs(times(np.zeros((30, 30))), 30, 2, "both").values, 0.0)
    twice = np.diag([3.0, 3.0, 1.0, 0.5])  # of order 4: the process goes on from a random vector
    assert np.allclose(extremal_eigenpairs(times(twice), 4, 4).values, [3.0, 3.0, 1.0, 0.5])
    with pytest.raises(ParameterError, match="which"):
        extremal_eigenpairs(times(twice), 4, 1, "middle")


def test_same_seed_same_bits():
    one, two = (extremal_eigenpairs(times(K), 300, 3, random_state=5) for _ in range(2))
    assert np.array_equal(one.vectors, two.vectors)
