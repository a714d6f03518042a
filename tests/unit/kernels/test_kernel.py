"""The base class: calls, defaults, threads, budgets, distances, errors."""

import numpy as np
import pytest

from mercer import budget
from mercer.constraints import Positive
from mercer.domains import Vectors
from mercer.errors import CapabilityError, DomainError, MemoryBudgetError, ParameterError
from mercer.kernels import Constant, Gaussian, Kernel, Linear, Matern, Polynomial
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import feature_count, fill, mirror, offers, pull
from mercer.kernels.protocols import CAPABILITIES
from mercer.runtime import tiling
from mercer.runtime.tiling import Stopped

X = np.random.default_rng(0).normal(size=(11, 3))


class Shared(Kernel):
    """The smallest kernel of one's own: a block and a domain."""

    domain = Vectors

    def block(self, A, B):
        return np.minimum(np.abs(A.X)[:, None], np.abs(B.X)).sum(axis=2)


class Wrong(Shared):
    def block(self, A, B):
        return np.ones(3)


def test_a_kernel_needs_a_block_only():
    k = Shared()
    expected = np.array([[np.minimum(abs(x), abs(z)).sum() for z in X] for x in X])
    np.testing.assert_allclose(k(X), expected)
    np.testing.assert_allclose(k.diag(k.pack(X)), np.diagonal(expected))
    np.testing.assert_allclose((2.0 * k + Gaussian(1.0))(X), 2.0 * expected + Gaussian(1.0)(X))
    assert k.capabilities == frozenset() and k.order == 0
    assert not any(offers(k, protocol) for protocol, _ in CAPABILITIES.values())
    assert k.learn(k.pack(X)) is k


def test_a_block_of_the_wrong_shape_is_told():
    with pytest.raises(DomainError, match=r"Wrong.block returned shape \(3,\) for 11 and 11 samples"):
        Wrong()(X)


class Widened(Shared):
    """Shared, times a free parameter of which nobody wrote the derivative."""

    constraints = {"width": Positive()}

    def __init__(self, width=1.0):
        self.width = width


@pytest.mark.parametrize("method", ["features", "pullback", "pullback_inputs"])
def test_what_a_kernel_lacks_it_says(method):
    S = Vectors.pack(X)
    k = Widened() if method == "pullback" else Shared()
    with pytest.raises(CapabilityError, match=type(k).__name__):
        getattr(k, method)(*((S,) if method == "features" else (S, S, np.ones((11, 11)))))
    with pytest.raises(CapabilityError, match="spectral"):
        Shared().frequencies(np.random.default_rng(0), 1, 1)
    assert feature_count(Shared(), S) is None


def test_calls_check_parameters_and_data():
    with pytest.raises(ParameterError, match="length_scale"):
        Gaussian(-1.0)(X)
    with pytest.raises(DomainError, match="NaN"):
        Gaussian(1.0)([[np.nan]])
    with pytest.raises(ParameterError, match="length_scale"):
        (Gaussian(1.0) + Gaussian(1.0)).set_params(**{"1__length_scale": 0.0})(X)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Polynomial(3), Gaussian(1.0) * Linear() + Matern(0.7)], ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_threads_do_not_change_a_bit(kernel, dtype, monkeypatch):
    monkeypatch.setattr(tiling, "tile_side", lambda itemsize: 4)
    A = X.astype(dtype)
    assert np.array_equal(kernel(A, n_threads=1), kernel(A, n_threads=2))
    assert np.array_equal(kernel(A, A[:5], n_threads=1), kernel(A, A[:5], n_threads=2))


@pytest.mark.parametrize("side", [1, 3, 4, 11, 100])
def test_any_tiles_give_the_matrix(side, monkeypatch):
    kernel = Gaussian(1.0) + Linear()
    expected = kernel(X)
    monkeypatch.setattr(tiling, "tile_side", lambda itemsize: side)
    K = kernel(X)
    assert np.array_equal(K, K.T)
    np.testing.assert_allclose(K, expected, rtol=1e-14)
    np.testing.assert_allclose(kernel(X, X[:4]), expected[:, :4], rtol=1e-13)


def test_a_monitor_sees_progress_and_stops(monkeypatch):
    monkeypatch.setattr(tiling, "tile_side", lambda itemsize: 2)
    kernel, S = Gaussian(1.0), Vectors.pack(X)
    seen = []
    fill(kernel, Comparison(kernel, S, S), np.empty((11, 11)), n_threads=1, monitor=lambda p: seen.append(p))
    assert seen == sorted(seen) and seen[-1] == 1.0
    with pytest.raises(Stopped):
        fill(kernel, Comparison(kernel, S, S), np.empty((11, 11)), n_threads=1, monitor=lambda p: p > 0.3)


def test_overflow_is_an_error_in_one_and_in_two_threads(monkeypatch):
    monkeypatch.setattr(tiling, "tile_side", lambda itemsize: 4)
    for threads in (1, 2):
        with pytest.raises(DomainError, match="too large for floating-point"):
            Polynomial(3)(X * 1e150, n_threads=threads)


@pytest.mark.parametrize(
    "kernel",
    [
        (1000.0 * Gaussian(1.0)).exp(),
        (1e200 * Gaussian(1.0)) ** 2,
        1.7e308 * Gaussian(1.0) + 1.7e308 * Gaussian(1.0),
        (1e200 * Gaussian(1.0)) * (1e200 * Gaussian(1.0)),
        1e300 * (1e300 * Gaussian(1.0)),
        (1e200 * Gaussian(1.0)).polynomial((0.0, 0.0, 1.0)),
        Linear().normalized(),
    ],
    ids=repr,
)
def test_no_infinity_and_no_nan_leaves_a_kernel(kernel):
    with pytest.raises(DomainError, match="too large"):
        kernel(X * 1e200 if kernel == Linear().normalized() else X)


def test_memory_is_asked_for_before_it_is_taken(monkeypatch):
    monkeypatch.setattr(budget, "free_memory", lambda: 100)
    with pytest.raises(MemoryBudgetError, match="matrix"):
        Gaussian(1.0)(X)


def test_distances_in_feature_space():
    D = Linear().distance(X)
    np.testing.assert_allclose(D, np.linalg.norm(X[:, None] - X, axis=2), atol=1e-7)
    np.testing.assert_allclose(Linear().distance(X, X[:4]), D[:, :4], atol=1e-7)
    assert (np.diagonal(D) == 0).all()
    assert (Gaussian(1.0).distance(X) <= np.sqrt(2)).all()
    assert (Constant(2.0).distance(X) == 0).all()


def test_packed_samples_are_taken_as_they_are():
    S = Vectors.pack(X)
    assert Gaussian(1.0).pack(S) is S
    assert np.array_equal(Gaussian(1.0)(S), Gaussian(1.0)(X))


def test_one_sample():
    assert Gaussian(1.0)([[3.0]]).tolist() == [[1.0]]
    assert (Gaussian(1.0) + Linear())([[3.0]]).tolist() == [[10.0]]


def test_mirror_copies_the_upper_half():
    K = mirror(np.array([[1.0, 2.0], [9.0, 3.0]]))
    assert K.tolist() == [[1.0, 2.0], [2.0, 3.0]]


def test_arrays_do_not_multiply_kernels():
    with pytest.raises(TypeError):
        np.array([1.0, 2.0]) * Gaussian(1.0)
    assert np.float64(2.0) * Gaussian(1.0) == 2.0 * Gaussian(1.0) == Gaussian(1.0) * np.float64(2.0)


def test_pull_is_pullback_whatever_the_threads():
    rng = np.random.default_rng(0)
    S = Vectors.pack(rng.normal(size=(900, 2)))
    kernel = 0.7 * Gaussian((1.0, 2.0)) + Linear() * Gaussian(0.5)
    W = rng.normal(size=(900, 900))
    W += W.T

    def weights(rows, columns):
        return W[rows, columns] if rows == columns else 2.0 * W[rows, columns]

    one, two = (pull(kernel, S, S, weights, n_threads=count) for count in (1, 2))
    assert one.tolist() == two.tolist()
    assert np.allclose(one, kernel.pullback(S, S, W), rtol=1e-9)
    halves = [kernel.pullback(S[:450], S, W[:450]), kernel.pullback(S[450:], S, W[450:])]
    assert np.allclose(one, np.sum(halves, axis=0), rtol=1e-9)
    assert pull(Linear(), S, S, weights).shape == (0,)


def test_a_pullback_of_ones_own_is_obeyed():
    class Twice(Gaussian):
        def pullback(self, A, B, W):
            return 2.0 * super().pullback(A, B, W)

    S = Vectors.pack(np.random.default_rng(0).normal(size=(20, 2)))
    W = np.ones((20, 20))
    plain = Gaussian(1.3).pullback(S, S, W)
    assert np.allclose(Twice(1.3).pullback(S, S, W), 2.0 * plain)
    scaled = (3.0 * Twice(1.3)).pullback(S, S, W)
    assert np.allclose(scaled[1:], 6.0 * plain)


def test_what_a_kernel_lacks_is_told_in_english():
    with pytest.raises(CapabilityError, match="has no finite feature map; kernels that have one"):
        Gaussian(1.0).features(Vectors.pack(X))
