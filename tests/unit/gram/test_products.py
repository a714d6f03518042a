"""Products with matrices that are never stored."""

import numpy as np
import pytest

from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.gram import products
from mercer.gram.products import product
from mercer.kernels import Gaussian, Laplacian, Linear
from mercer.kernels.comparison import Comparison


def naive(kernel, X, Z, V):
    return np.array([sum(kernel([x], [z])[0, 0] * v for z, v in zip(Z, V, strict=True)) for x in X])


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(23, 3)), rng.normal(size=(17, 3)), rng.normal(size=17)


def test_it_is_the_sum_over_pairs(data):
    X, Z, v = data
    comparison = Comparison(Gaussian(1.5), Vectors.pack(X), Vectors.pack(Z))
    assert np.allclose(product(Gaussian(1.5), comparison, v), naive(Gaussian(1.5), X, Z, v), rtol=1e-13)


def test_many_right_hand_sides_are_columns(data):
    X, Z, v = data
    comparison = Comparison(Gaussian(1.5), Vectors.pack(X), Vectors.pack(Z))
    V = np.stack([v, 2 * v, v**2], axis=1)
    columns = [product(Gaussian(1.5), comparison, column) for column in V.T]
    assert np.allclose(product(Gaussian(1.5), comparison, V), np.stack(columns, axis=1), rtol=1e-14)


def test_small_tiles_and_threads_change_nothing_but_rounding(data, monkeypatch):
    X, Z, v = data
    comparison = Comparison(Gaussian(1.5), Vectors.pack(X), Vectors.pack(Z))
    whole = product(Gaussian(1.5), comparison, v)
    monkeypatch.setattr(products, "tile_side", lambda itemsize: 4)
    one = product(Gaussian(1.5), comparison, v, Resources(n_threads=1))
    two = product(Gaussian(1.5), comparison, v, Resources(n_threads=2))
    assert np.array_equal(one, two)  # the same bits whatever the number of threads
    assert np.allclose(one, whole, rtol=1e-13)


def test_float32_tiles_keep_the_digits_of_float64_coefficients():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4))
    v = rng.normal(size=300) + 1e6  # a float32 copy of these loses what distinguishes them
    S = Vectors.pack(X)
    exact = product(Gaussian(2.0), Comparison(Gaussian(2.0), S, S), v)
    mixed = product(Gaussian(2.0), Comparison(Gaussian(2.0), S, S, np.float32), v)
    assert np.max(np.abs(mixed - exact) / np.abs(exact)) < 2e-6


def test_a_wrong_length_is_refused(data):
    X, Z, v = data
    comparison = Comparison(Gaussian(1.5), Vectors.pack(X), Vectors.pack(Z))
    with pytest.raises(ValueError, match="17 columns"):
        product(Gaussian(1.5), comparison, v[:-1])


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Laplacian(1.5), Gaussian(1.0) * Linear()], ids=repr)
@pytest.mark.parametrize("threads", [1, 2])
def test_quick_blocks_are_the_blocks(kernel, threads, monkeypatch):
    monkeypatch.setattr(products, "SMALL", 0)
    rng = np.random.default_rng(3)
    X, Z = rng.normal(size=(600, 4)), rng.normal(size=(2300, 4))  # more than one piece each way
    comparison = Comparison(kernel, Vectors.pack(X), Vectors.pack(Z), np.float32)
    out = np.empty((600, 2300), np.float32)
    products.quick_fill(kernel, comparison, out, Resources(n_threads=threads))
    expected = kernel(X, Z)
    assert np.abs(out - expected).max() <= 4e-6 * np.abs(expected).max()


def test_quick_blocks_of_nothing():
    S = Vectors.pack(np.ones((4, 2)))
    none = S.take(np.zeros(0, np.intp))
    for A, B in ((S, none), (none, S), (none, none)):
        out = np.empty((len(A), len(B)), np.float32)
        products.quick_fill(Gaussian(1.0), Comparison(Gaussian(1.0), A, B, np.float32), out)


def test_a_product_in_float32_is_as_exact_as_its_entries():
    """Also by the quick way, which sums in float32 inside a tile."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(700, 5))
    S = Vectors.pack(X)
    for v in (rng.normal(size=700), rng.normal(size=(700, 3)), 1e5 + rng.normal(size=700)):
        exact = Gaussian(1.5)(X) @ v
        mixed = product(Gaussian(1.5), Comparison(Gaussian(1.5), S, S, np.float32), v)
        assert np.abs(mixed - exact).max() <= 4e-6 * np.abs(v).sum(axis=0).max()
