"""Comparisons: shared bases, units, tiles, threads."""

import gc
import threading
import weakref

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.domains import Frames, Strings, Vectors
from mercer.errors import DomainError
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial, Spectrum
from mercer.kernels.comparison import Base, Comparison, common_dtype, wound
from mercer.kernels.kernel import quick_tiles
from mercer.numerics import operands

X = np.random.default_rng(0).normal(size=(8, 3))
S = Vectors.pack(X)


def test_a_base_that_terms_share_is_computed_once(monkeypatch):
    calls = []
    real = operands.half_distance_tile
    monkeypatch.setattr(operands, "half_distance_tile", lambda *a: calls.append(1) or real(*a))
    kernel = Gaussian(1.0) + 2.0 * Matern(1.5) * Gaussian(0.5)
    expected = Gaussian(1.0)(X) + 2.0 * Matern(1.5)(X) * Gaussian(0.5)(X)
    calls.clear()
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-14)
    assert len(calls) == 1


def test_a_base_knows_its_uses_and_its_reach():
    comparison = Comparison(Gaussian(2.0) + Gaussian(0.5) * Linear(), S, S)
    use = comparison.use((), Base("distance"))
    assert (use.count, use.reach) == (3, 0.25)  # the third makes the dot products of the distances
    assert comparison.use((), Base("dot")).count == 1
    assert comparison.use((), Base("manhattan")).count == 1  # one that nobody declared


def test_a_base_may_be_asked_for_more_often_than_declared():
    view = Comparison(Gaussian(1.0), S, S).at(slice(0, 3), slice(0, 3))
    first, second = (view.base(Base("distance"))[0].copy() for _ in range(2))
    assert np.array_equal(first, second)


def test_bases_on_different_columns_are_different():
    kernel = Gaussian(1.0).on([0]) * Gaussian(1.0).on([1])
    np.testing.assert_allclose(kernel(X), Gaussian(1.0)(X[:, :2]), rtol=1e-14)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(), Laplacian(1.0), Gaussian(1.0) + Linear()], ids=repr)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_both_sides_have_the_same_columns(kernel, storage):
    with pytest.raises(DomainError, match=r"3 and with 2 columns|3 columns|2 columns"):
        kernel(storage(X), storage(X[:, :2]))
    with pytest.raises(DomainError):
        kernel(storage(X[:, :2]), storage(X))


def test_dense_meets_sparse():
    np.testing.assert_allclose(Gaussian(1.0)(X, sp.csr_array(X)), Gaussian(1.0)(X), rtol=1e-10)


def test_types():
    narrow = Vectors.pack(X.astype(np.float32))
    assert common_dtype(S, S) == np.float64
    assert common_dtype(narrow, narrow) == np.float32
    assert common_dtype(S, narrow) == np.float64
    assert common_dtype(Strings.pack(["a"])) == np.float64
    assert common_dtype(Frames({0: narrow})) == np.float32
    assert Gaussian(1.0)(X.astype(np.float32)).dtype == np.float32
    assert Comparison(Linear(), narrow, narrow, np.float64).at(slice(2), slice(2)).dtype == np.float64


def test_views_are_tiles():
    comparison = Comparison(Linear(), S, S)
    view = comparison.at(slice(2, 5), slice(5, 100))
    assert view.shape == (3, 3)
    assert (view.full(2.0) == 2.0).all()
    left, right = view.sides
    assert len(left) == len(right) == 3 and left is not right
    diagonal = comparison.at(slice(2, 5), slice(2, 5))
    assert diagonal.sides[0] is diagonal.sides[1]


def test_keep_makes_once_from_many_threads():
    comparison, made = Comparison(Linear(), S, S), []
    threads = [threading.Thread(target=comparison.keep, args=("key", lambda: made.append(1) or 5)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1] and comparison.keep("key", lambda: 6) == 5


def test_winding_is_around_a_circle():
    W = wound(np.array([[0.0], [0.25], [1.0]]), 1.0)
    np.testing.assert_allclose(W, [[1, 0], [0, 1], [1, 0]], atol=1e-15)
    assert np.array_equal(wound(sp.csr_array(np.eye(2)), 3.0), wound(np.eye(2), 3.0))


@pytest.mark.parametrize("offset", [0.0, 1.0, 50.0])
def test_dot_products_come_from_distances_that_another_term_needs(offset, monkeypatch):
    """One matrix product for both bases while the norms are comparable; the same numbers as apart."""
    rng = np.random.default_rng(0)
    X, Z = (rng.normal(size=(n, 20)) + offset for n in (40, 30))
    kernel = Polynomial(3) + Gaussian(3.0) + Linear() * Gaussian(5.0)
    apart = Polynomial(3)(X, Z) + Gaussian(3.0)(X, Z) + Linear()(X, Z) * Gaussian(5.0)(X, Z)
    calls = []
    real = operands._multiply
    monkeypatch.setattr(operands, "_multiply", lambda *args: (calls.append(1), real(*args))[1])
    assert np.allclose(kernel(X, Z), apart, rtol=1e-12, atol=1e-13 * np.abs(apart).max())
    assert len(calls) == 1
    calls.clear()
    Z[0] *= 1e-6  # a norm far below the others: the dot products would lose digits, so they are computed themselves
    apart = Polynomial(3)(X, Z) + Gaussian(3.0)(X, Z) + Linear()(X, Z) * Gaussian(5.0)(X, Z)
    calls.clear()
    assert np.allclose(kernel(X, Z), apart, rtol=1e-12, atol=0) and len(calls) == 2


MIXED = {
    "double": lambda X: X,
    "single": lambda X: X.astype(np.float32),
    "sparse": sp.csr_array,
    "sparse single": lambda X: sp.csr_array(X.astype(np.float32)),
}


@pytest.mark.parametrize("left", MIXED)
@pytest.mark.parametrize("right", MIXED)
@pytest.mark.parametrize(
    "kernel", [Gaussian(2.0), Laplacian(2.0), Matern(1.5), Linear(), Gaussian(2.0) + Linear()], ids=repr
)
def test_both_sides_are_centred_or_none(left, right, kernel):
    """Whatever the two sides are held in, narrow tiles are those of float64 but for rounding."""
    own = np.random.default_rng(1)
    A, B = own.normal(size=(9, 3)) + 3.0, own.normal(size=(7, 3)) + 4.0
    samples = Vectors.pack(MIXED[left](A)), Vectors.pack(MIXED[right](B))
    view = Comparison(kernel, *samples, np.float32).at(slice(0, 9), slice(0, 7))
    expected = kernel(A, B)
    np.testing.assert_allclose(view.value(kernel), expected, atol=2e-5 * np.abs(expected).max())
    if (quick := quick_tiles(kernel, Comparison(kernel, *samples, np.float32))) is not None:
        np.testing.assert_allclose(quick(slice(0, 9), slice(0, 7)), expected, atol=2e-5)


def test_narrow_tiles_keep_what_distinguishes_samples_far_from_the_origin():
    own = np.random.default_rng(2)
    A = own.normal(size=(20, 4)) + 1e6
    S = Vectors.pack(A)
    for kernel in (Gaussian(1.0), Laplacian(1.0), Matern(0.5)):
        tile = Comparison(kernel, S, S, np.float32).at(slice(0, 20), slice(0, 20)).value(kernel)
        np.testing.assert_allclose(tile, kernel(A), atol=2e-6)


@pytest.mark.parametrize(
    "kernel", [Gaussian(1.0), Linear(), Laplacian(1.0), Polynomial(2), Gaussian(1.0) + Linear()], ids=repr
)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_narrowed_comparisons_are_parts_of_the_whole(kernel, storage):
    """Some rows, some columns, both, the same ones twice, and parts of parts."""
    samples = Vectors.pack(storage(X))
    whole = Comparison(kernel, samples, samples)
    K = kernel(X)

    def tile(comparison):
        return comparison.at(slice(0, None), slice(0, None)).value(kernel).copy()

    rows, columns = np.array([5, 0, 3]), np.array([7, 7, 1, 2])
    np.testing.assert_allclose(tile(whole.narrow(rows)), K[rows], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(tile(whole.narrow(None, columns)), K[:, columns], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(tile(whole.narrow(rows, columns)), K[np.ix_(rows, columns)], rtol=1e-12, atol=1e-14)
    same = whole.narrow(rows, rows)
    assert same.symmetric and same.A is same.B
    np.testing.assert_allclose(tile(same), K[np.ix_(rows, rows)], rtol=1e-12, atol=1e-14)
    part = whole.narrow(rows).narrow(None, columns)
    np.testing.assert_allclose(tile(part), K[np.ix_(rows, columns)], rtol=1e-12, atol=1e-14)
    part = whole.narrow(None, columns).narrow(rows)
    np.testing.assert_allclose(tile(part), K[np.ix_(rows, columns)], rtol=1e-12, atol=1e-14)
    again = np.array([2, 0])
    part = whole.narrow(rows, rows).narrow(again, again)
    assert part.symmetric and len(part.A) == 2
    np.testing.assert_allclose(tile(part), K[np.ix_([3, 5], [3, 5])], rtol=1e-12, atol=1e-14)
    assert len(whole.narrow(rows).A) == 3 and whole.narrow(rows).B is whole.B
    assert not whole.narrow(rows).symmetric and whole.narrow().symmetric


def test_narrowed_comparisons_of_strings_and_tables():
    texts = Spectrum(2).prepare(Strings.pack(["abab", "ab", "ba", "bbb"]))
    kernel, rows, columns = Spectrum(2), np.array([2, 0]), np.array([3, 3, 1])
    K = kernel(["abab", "ab", "ba", "bbb"])
    part = Comparison(kernel, texts, texts).narrow(rows).narrow(None, columns)
    assert np.array_equal(part.at(slice(0, 2), slice(0, 3)).value(kernel), K[np.ix_(rows, columns)])
    assert len(part.A) == 2 and len(part.B) == 3
    table = Gaussian(1.0).on([0]) * Linear().on([1, 2])
    whole = table.prepare(table.pack(X))
    part = Comparison(table, whole, whole).narrow(rows, columns).at(slice(0, 2), slice(0, 3))
    np.testing.assert_allclose(part.value(table), table(X)[np.ix_(rows, columns)], rtol=1e-12)


def test_the_points_of_a_model_are_prepared_once_and_forgotten_with_it(monkeypatch):
    calls = []
    real = operands.right_side
    monkeypatch.setattr(operands, "right_side", lambda *a: calls.append(1) or real(*a))
    own, new = Vectors.pack(X).owned(), Vectors.pack(X[:1] + 0.1)
    base = Base("distance")
    first, again = (Comparison(Gaussian(1.0), new, own).recipe((), base) for _ in range(2))
    assert len(calls) == 1 and first.right is again.right and first.left is not again.left
    gone = weakref.ref(first.right.points)
    del first, again, own
    gc.collect()
    assert gone() is None


def test_points_that_others_can_write_to_are_prepared_each_time():
    data = X.copy()
    borrowed, new = Vectors.pack(data), Vectors.pack(X[:1] + 0.1)
    before = Gaussian(1.0)(new, borrowed)
    data += 1.0
    np.testing.assert_allclose(Gaussian(1.0)(new, borrowed), Gaussian(1.0)(X[:1] - 0.9, X), rtol=1e-13)
    assert not np.allclose(before, Gaussian(1.0)(new, borrowed))
