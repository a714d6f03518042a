"""Kernels of one number per pair: the median distance, derivatives, profiles on tiles."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from mercer.domains import Vectors
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.kernels import Gaussian, Laplacian
from mercer.kernels.vectors.pointwise import MEDIAN_ROWS, DotProduct, column_lengths, dense, median_distance
from mercer.testing import check_kernel
from tests.naive import radial

X = np.random.default_rng(0).normal(size=(9, 2))


class Cubic(DotProduct):
    """t + t^3, without derivatives of its own."""

    def apply(self, tile):
        with np.errstate(over="ignore"):
            tile += tile**3


class Slanted(Cubic):
    def slope(self, tile, inv_l):
        return 1.0 + 3.0 * tile**2


def test_a_dot_product_kernel_is_one_method():
    G = X @ X.T
    np.testing.assert_allclose(Cubic()(X), G + G**3, rtol=1e-13)
    np.testing.assert_allclose(Cubic().diag(Vectors.pack(X)), np.diagonal(G + G**3), rtol=1e-13)
    check_kernel(Slanted(), X)


def test_a_missing_slope_is_told():
    S = Vectors.pack(X)
    with pytest.raises(CapabilityError, match="slope"):
        Cubic().pullback_inputs(S, S, np.ones((9, 9)))


def test_large_dot_products_are_refused_not_infinite():
    with pytest.raises(DomainError, match="too large"):
        Cubic()(X * 1e120)
    assert np.isfinite(Cubic()(X * 1e-200)).all()


def test_median_is_over_pairs_that_differ():
    S = Vectors.pack([[0.0], [1.0], [3.0]])  # distances 1, 2, 3
    assert median_distance(S) == 2.0
    doubled = Vectors.pack([[0.0], [0.0], [1.0], [3.0]])
    assert median_distance(doubled) == median_distance(S, np.array([2.0, 1.0, 1.0]))
    assert median_distance(Vectors.pack([[1.0], [1.0]])) == 1.0
    assert median_distance(Vectors.pack([[1.0]])) == 1.0


def test_lengths_of_columns_are_those_of_standardised_columns():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(40, 4)) * [1.0, 1e6, 1e-6, 0.0] + [0.0, 5.0, 1e-3, 0.1]
    A[:9, 1] = 0.0
    kernel = Gaussian("columns").learn(Vectors.pack(A))
    np.testing.assert_allclose(kernel(A), rbf_kernel(StandardScaler().fit_transform(A), gamma=1 / 3), rtol=1e-7)
    lengths = np.array(column_lengths(Vectors.pack(A)))
    np.testing.assert_allclose(column_lengths(Vectors.pack(sp.csr_array(A))), lengths, rtol=1e-8)
    np.testing.assert_allclose(column_lengths(Vectors.pack(A * 1e200))[:3], 1e200 * lengths[:3], rtol=1e-8)
    w = rng.integers(1, 4, len(A))
    repeated = column_lengths(Vectors.pack(np.repeat(A, w, axis=0)))
    np.testing.assert_allclose(column_lengths(Vectors.pack(A), w.astype(float)), repeated, rtol=1e-8)
    assert column_lengths(Vectors.pack([[0.0], [2.0]])) == pytest.approx(np.sqrt(0.5), rel=1e-8)
    assert column_lengths(Vectors.pack([[3.0, 3.0]])) == pytest.approx((np.sqrt(0.5),) * 2, rel=1e-8)


@pytest.mark.parametrize("n", [2, 3, 4, 31, 32])
def test_the_median_without_weights_is_the_lower_one_of_the_sorted_distances(n):
    A = np.round(2.0 * np.random.default_rng(n).normal(size=(n, 2)))
    distances = pdist(A)
    distances = np.sort(distances[distances > 0.0])
    expected = distances[(len(distances) - 1) // 2]
    assert median_distance(Vectors.pack(A)) == pytest.approx(expected, rel=1e-14)
    if len(distances) % 2:  # weights that almost are one take the other way
        almost = np.append(np.ones(n - 1), 1.0 - 1e-12)
        assert median_distance(Vectors.pack(A), almost) == pytest.approx(expected, rel=1e-14)


def test_weight_is_repetition_for_the_median():
    rng = np.random.default_rng(3)
    A, w = rng.normal(size=(12, 2)), rng.integers(1, 4, 12)
    repeated = median_distance(Vectors.pack(np.repeat(A, w, axis=0)))
    assert repeated == pytest.approx(median_distance(Vectors.pack(A), w.astype(float)))


def test_median_of_many_rows_is_that_of_some():
    A = np.random.default_rng(1).normal(size=(MEDIAN_ROWS + 500, 2))
    some = median_distance(Vectors.pack(A))
    assert some == pytest.approx(median_distance(Vectors.pack(A[:900])), rel=0.05)
    assert some == median_distance(Vectors.pack(A[::-1].copy()))


def test_median_of_sparse_rows():
    A = np.where(X > 0.3, X, 0.0)
    assert median_distance(Vectors.pack(sp.csr_array(A))) == pytest.approx(median_distance(Vectors.pack(A)))


def test_infinite_median_is_refused():
    with pytest.raises(DomainError, match="median"):
        median_distance(Vectors.pack([[1e308], [-1e308]]))


def test_median_is_learned_and_refused_before():
    kernel = Gaussian("median")
    with pytest.raises(ParameterError, match="not fitted"):
        kernel(X)
    learned = kernel.learn(Vectors.pack(X))
    assert learned == Gaussian(median_distance(Vectors.pack(X)))
    assert learned.learn(Vectors.pack(X)) is learned
    assert kernel == Gaussian("median")
    assert repr(Laplacian("median")) == "Laplacian('median')"


def test_dense_is_float64():
    assert dense(Vectors.pack(X.astype(np.float32))).dtype == np.float64
    assert isinstance(dense(Vectors.pack(sp.csr_array(X))), np.ndarray)


def test_gradients_sum_over_pairs():
    A, B, W = Vectors.pack(X[:4]), Vectors.pack(X[3:]), np.random.default_rng(5).normal(size=(4, 6))
    kernel = Gaussian(0.9)
    whole = kernel.pullback(A, B, W)
    parts = sum(kernel.pullback(A[i], B[j], W[i : i + 1, j : j + 1]) for i in range(4) for j in range(6))
    np.testing.assert_allclose(whole, parts, rtol=1e-12)


def test_from_gamma_is_scikit_learns_parameter():
    assert Gaussian.from_gamma(0.5) == Gaussian(1.0)
    np.testing.assert_allclose(Gaussian.from_gamma(3.0)([[0.0]], [[0.5]]), np.exp(-0.75), rtol=1e-14)


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.inf, np.nan, "scale", True])
def test_from_gamma_refuses_what_is_no_width(gamma):
    with pytest.raises(ParameterError, match="from_gamma"):
        Gaussian.from_gamma(gamma)


@pytest.mark.parametrize("length", [0.4, 3.0, (0.7, 1.3, 2.1)], ids=str)
def test_agrees_with_its_naive_twin(length):
    X, Z = (np.random.default_rng(seed).normal(size=(6, 3)) for seed in (0, 1))
    expected = radial.table(radial.gaussian, X, Z, length)
    np.testing.assert_allclose(Gaussian(length)(X, Z), expected, rtol=1e-12, atol=1e-15)
