"""Dense: the whole matrix in memory."""

import tracemalloc

import numpy as np
import pytest

from mercer.budget import Resources
from mercer.domains import Strings, Vectors
from mercer.errors import CapabilityError, MemoryBudgetError, ParameterError
from mercer.gram import Dense, Tiles
from mercer.gram.algebra import Shifted
from mercer.kernels import Gaussian, Laplacian, Linear, Spectrum
from mercer.solvers.solver import largest_order

X = np.random.default_rng(0).normal(size=(40, 3))


def test_it_holds_the_kernel_matrix():
    K = Dense().build(Gaussian(1.0), Vectors.pack(X))
    assert np.array_equal(K.array, Gaussian(1.0)(X))
    assert K.shape == (40, 40)
    v = np.arange(40.0)
    assert np.array_equal(K @ v, K.array @ v)
    assert np.array_equal(K.diag(), np.ones(40))


def test_rows_update_and_take():
    K = Dense().build(Gaussian(1.0), Vectors.pack(X))
    index = np.array([3, 7, 3])
    assert np.array_equal(K.rows(index), K.array[index])
    assert np.array_equal(K.rows(index, np.array([1, 2])), K.array[np.ix_(index, [1, 2])])
    out = np.ones((3, 40))
    assert K.rows(index, out=out) is out and np.array_equal(out, K.array[index])
    total = np.ones(40)
    K.update(np.array([3, 7]), np.array([2.0, -1.0]), total)
    assert np.allclose(total, 1 + 2 * K.array[:, 3] - K.array[:, 7])
    part = K.take(np.array([5, 1]))
    assert np.array_equal(part.array, K.array[np.ix_([5, 1], [5, 1])]) and len(part.samples) == 2


@pytest.mark.parametrize(("rows", "columns"), [(3, 2), (3, 150), (150, 2), (150, 150), (64, 30)])
def test_entries_are_those_of_the_matrix_however_many_are_asked_for(rows, columns):
    many = np.random.default_rng(6).normal(size=(200, 3))
    gram = Dense().build(Gaussian(1.0), Vectors.pack(many))
    order = np.random.default_rng(7)
    index, other = order.integers(0, 200, rows), order.permutation(200)[:columns]
    np.testing.assert_array_equal(gram.rows(index, other), gram.array[np.ix_(index, other)])
    part = gram.take(index)
    np.testing.assert_array_equal(part.array, gram.array[np.ix_(index, index)])
    assert part.array.flags.owndata and part.array.flags.c_contiguous


def test_float32_samples_give_a_float64_matrix():
    K = Dense().build(Gaussian(1.0), Vectors.pack(X.astype(np.float32)))
    assert K.array.dtype == np.float64
    assert np.allclose(K.array, Gaussian(1.0)(X.astype(np.float32).astype(float)), atol=1e-15)


def test_the_array_is_given_away_once():
    K = Dense().build(Gaussian(1.0), Vectors.pack(X))
    array = K.release()
    array[:] = 0.0
    with pytest.raises(CapabilityError, match="Build it again"):
        K @ np.ones(40)


def test_it_refuses_before_it_allocates():
    S = Vectors.pack(X)
    tracemalloc.start()
    with pytest.raises(MemoryBudgetError, match=r"Gram matrix, budget .*Tiles"):
        Dense().build(Gaussian(1.0), S, Resources(memory=1000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * 40 * 8
    K = Dense().build(Gaussian(1.0), S, Resources(memory=40 * 40 * 8))
    assert K.to_dense() is not K.array


def test_other_domains():
    K = Dense().build(Spectrum(2), Strings.pack(["abab", "ab", "ba"]))
    assert np.array_equal(K.array, [[5, 2, 1], [2, 1, 0], [1, 0, 1]])


def test_the_upper_triangle_is_mirrored_to_the_bit():
    K = Dense().build(Gaussian(0.3), Vectors.pack(np.random.default_rng(1).normal(size=(900, 7)))).array
    assert np.array_equal(K, K.T)


def test_update_of_some_rows():
    K = Dense().build(Gaussian(1.0), Vectors.pack(X))
    index, V = np.array([3, 0, 3]), np.array([1.0, -2.0, 0.5])
    for rows in (None, np.array([5, 1]), np.zeros(0, np.intp)):
        chosen = np.arange(40) if rows is None else rows
        out = np.ones(len(chosen))
        K.update(index, V, out, rows=rows)
        np.testing.assert_allclose(out, 1.0 + K.array[np.ix_(chosen, index)] @ V)
    assert K.refined() is K and K.dtype == np.float64 and K.entry_cost == 0.0


POINTS = np.random.default_rng(0).normal(size=(60, 3))


def test_products_equal_those_of_the_stored_matrix():
    S = Vectors.pack(POINTS)
    V = np.random.default_rng(1).normal(size=(60, 2))
    dense, tiles = Dense().build(Gaussian(1.0), S), Tiles().build(Gaussian(1.0), S)
    assert np.allclose(tiles @ V, dense @ V, rtol=1e-13)
    assert np.allclose(tiles @ V[:, 0], (dense @ V)[:, 0], rtol=1e-13)
    assert np.array_equal(tiles.diag(), dense.diag())


def test_rows_update_take_and_dense():
    S = Vectors.pack(POINTS)
    dense, tiles = Dense().build(Gaussian(1.0), S), Tiles().build(Gaussian(1.0), S)
    index = np.array([3, 7])
    assert np.allclose(tiles.rows(index), dense.rows(index), rtol=1e-14)
    assert np.allclose(tiles.rows(index, np.array([0, 5])), dense.rows(index, np.array([0, 5])), rtol=1e-14)
    out, expected = np.zeros(60), np.zeros(60)
    tiles.update(index, np.array([1.0, 2.0]), out)
    dense.update(index, np.array([1.0, 2.0]), expected)
    assert np.allclose(out, expected, rtol=1e-13)
    assert np.allclose(tiles.take(index).to_dense(), dense.take(index).array, rtol=1e-14)
    assert np.array_equal(tiles.to_dense(), dense.array)


def test_nothing_of_the_size_of_the_matrix_is_allocated():
    n = 3000
    S = Vectors.pack(np.random.default_rng(0).normal(size=(n, 5)))
    K = Tiles().build(Gaussian(1.0), S, Resources(n_threads=2))
    K @ np.ones(n)  # compile first
    tracemalloc.start()
    K @ np.ones(n)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.15 * 8 * n * n


def test_mixed_precision_is_close_and_stated():
    S = Vectors.pack(POINTS)
    v = np.random.default_rng(2).normal(size=60)
    exact = Dense().build(Gaussian(1.0), S) @ v
    mixed = Tiles(precision="mixed").build(Gaussian(1.0), S) @ v
    assert mixed.dtype == np.float64
    assert 0 < np.max(np.abs(mixed - exact)) < 1e-5 * np.sum(np.abs(v))


def test_rows_that_are_asked_for_are_given_whatever_a_solver_may_work_on():
    K = Tiles(memory=1000).build(Gaussian(1.0), Vectors.pack(POINTS))
    np.testing.assert_allclose(K.rows(np.arange(10)), K.to_dense()[:10])
    assert largest_order(K, 3000) == 11  # 11 * 11 numbers are 968 bytes
    assert largest_order(Shifted(K, 1.0), 3000) == 11
    assert largest_order(Dense().build(Gaussian(1.0), Vectors.pack(POINTS)), 3000) == 3000


@pytest.mark.parametrize("bad", [{"memory": "much"}, {"memory": 0}, {"precision": "half"}])
def test_bad_parameters(bad):
    with pytest.raises(ParameterError):
        Tiles(**bad).build(Gaussian(1.0), Vectors.pack(POINTS))


def test_strings_in_tiles():
    texts = ["abab", "ab", "ba"]
    K = Tiles().build(Spectrum(2), Strings.pack(texts))
    assert np.array_equal(K @ np.eye(3), Spectrum(2)(texts))


def test_overflow_is_reported_with_its_remedy():
    K = Tiles().build(Linear() ** 40, Vectors.pack(1e10 * POINTS))
    with pytest.raises(ValueError, match="Scale the data"):
        K @ np.ones(60)


PRECISIONS = pytest.mark.parametrize(("precision", "close"), [("double", 1e-13), ("mixed", 2e-6)])


@PRECISIONS
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(), Laplacian(1.0), Gaussian(1.0) + Linear()], ids=repr)
def test_update_of_some_rows_of_tiles(precision, close, kernel):
    """`rows` tells where to look; the same array again is the same rows, another one is not."""
    S = Vectors.pack(POINTS)
    K, tiles = kernel(POINTS), Tiles(precision=precision).build(kernel, S)
    index, V = np.array([3, 50, 7]), np.array([1.0, -2.0, 0.5])
    size = np.abs(K).max()
    for rows in (np.array([5, 1, 59]), np.array([0, 2]), np.zeros(0, np.intp), np.arange(60)):
        for _ in range(2):
            out = np.full(len(rows), 2.0)
            tiles.update(index, V, out, rows=rows)
            np.testing.assert_allclose(out, 2.0 + K[np.ix_(rows, index)] @ V, atol=4 * close * size)
    out = np.zeros((60, 2))
    tiles.update(index, np.stack([V, 2 * V], axis=1), out)
    np.testing.assert_allclose(out[:, 1], 2.0 * K[:, index] @ V, atol=8 * close * size)
    out = np.zeros(60)
    tiles.update(np.zeros(0, np.intp), np.zeros(0), out)
    assert not out.any()


def test_rows_changed_in_place_are_other_rows():
    """The caller may use one array of rows again with other numbers in it."""
    tiles, K = Tiles().build(Gaussian(1.0), Vectors.pack(POINTS)), Gaussian(1.0)(POINTS)
    rows, index = np.array([1, 2, 3]), np.array([0])
    first, second = np.zeros(3), np.zeros(3)
    tiles.update(index, np.ones(1), first, rows=rows)
    rows[:] = [7, 8, 9]
    tiles.update(index, np.ones(1), second, rows=rows)
    np.testing.assert_allclose(first, K[[1, 2, 3], 0], atol=1e-14)
    np.testing.assert_allclose(second, K[[7, 8, 9], 0], atol=1e-14)


@PRECISIONS
def test_blocks_and_parts_of_parts(precision, close):
    S = Vectors.pack(POINTS)
    K, tiles = Gaussian(1.0)(POINTS), Tiles(precision=precision).build(Gaussian(1.0), S)
    index = np.array([9, 9, 0, 31])
    block = tiles.rows(index, index)
    assert block.dtype == tiles.dtype
    np.testing.assert_allclose(block, K[np.ix_(index, index)], atol=close)
    np.testing.assert_allclose(tiles.rows(index, slice(4, 9)), K[index, 4:9], atol=close)
    out = np.empty((4, 60), tiles.dtype)
    assert tiles.rows(index, out=out) is out
    np.testing.assert_allclose(out, K[index], atol=close)
    part = tiles.take(np.arange(0, 60, 2)).take(np.array([3, 1]))
    np.testing.assert_allclose(part.to_dense(), K[np.ix_([6, 2], [6, 2])], atol=close)
    out = np.zeros(2)
    part.update(np.array([0]), np.ones(1), out)
    np.testing.assert_allclose(out, K[[6, 2], 6], atol=close)
    np.testing.assert_allclose(part.rows(np.array([1]))[0], K[2, [6, 2]], atol=close)


def test_refined_tiles_are_exact_and_of_the_same_samples():
    S = Vectors.pack(POINTS)
    mixed = Tiles(precision="mixed").build(Gaussian(1.0), S)
    exact = mixed.refined()
    assert mixed.dtype == np.float32 and exact.dtype == np.float64 and exact.refined() is exact
    np.testing.assert_allclose(exact.to_dense(), Gaussian(1.0)(POINTS), atol=1e-14)
    index = np.array([5, 2, 40])
    np.testing.assert_allclose(mixed.take(index).refined().to_dense(), Gaussian(1.0)(POINTS[index]), atol=1e-14)


def test_the_cost_of_an_entry():
    """What SMO decides by whether to keep rows."""
    narrow, wide = (Tiles().build(Gaussian(1.0), Vectors.pack(np.ones((3, d)))) for d in (2, 300))
    assert 0 < narrow.entry_cost < 400 <= wide.entry_cost < np.inf
    assert Tiles().build(Spectrum(2), Strings.pack(["ab", "b"])).entry_cost == np.inf
    assert Dense().build(Gaussian(1.0), Vectors.pack(POINTS)).entry_cost == 0.0


@PRECISIONS
def test_updates_have_the_same_bits_for_any_number_of_threads(precision, close):
    A = np.random.default_rng(3).normal(size=(2500, 4))
    found = []
    for threads in (1, 2):
        tiles = Tiles(precision=precision).build(Gaussian(1.0), Vectors.pack(A), Resources(n_threads=threads))
        out = np.zeros(2500)
        tiles.update(np.arange(0, 2500, 3), np.random.default_rng(4).normal(size=834), out)
        found.append((out, tiles.rows(np.arange(900))))
    assert np.array_equal(found[0][0], found[1][0]) and np.array_equal(found[0][1], found[1][1])
