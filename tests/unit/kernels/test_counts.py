"""Counts and their products against dense arithmetic."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mercer.kernels import counts as module
from mercer.kernels.counts import count, overlap, renumbered, transposed


@pytest.fixture(autouse=True, scope="module", params=["passes of NumPy", "loops"])
def road(request):
    """Every test runs both ways: that of few entries, and the compiled one of many."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "loops":
            patch.setattr(module, "_SMALL", -1)
            patch.setattr(module, "_PRODUCTS", -1)
        yield


def naive(values, bounds):
    distinct = sorted(set(values))
    rows = [values[a:b] for a, b in pairwise(bounds)]
    return distinct, np.array([[row.count(v) for v in distinct] for row in rows], dtype=float).reshape(len(rows), -1)


ROWS = st.lists(st.lists(st.integers(0, 9), max_size=8), min_size=1, max_size=6)


@given(ROWS, st.sampled_from([1, 1000, 10**9, 2**40]))
def test_counts_are_exact(rows, unit):
    """Small values go by a table, large ones by a sort of one, three and four digits."""
    values = [v * unit for row in rows for v in row]
    bounds = np.cumsum([0, *map(len, rows)]).astype(np.intp)
    found, first = count(np.array(values, np.int64), bounds, 10 * unit)
    distinct, expected = naive(values, bounds.tolist())
    np.testing.assert_array_equal(found.toarray(), expected)
    assert [values[i] for i in first] == distinct and [values.index(v) for v in distinct] == first.tolist()
    assert found.has_sorted_indices and found.indices.dtype == np.int32


@given(ROWS)
def test_table_and_sort_agree(rows):
    values = np.array([v for row in rows for v in row], np.int64)
    bounds = np.cumsum([0, *map(len, rows)]).astype(np.intp)
    table, first = count(values, bounds, 10)
    by_sort, same = count(values, bounds, 2**33)
    np.testing.assert_array_equal(table.toarray(), by_sort.toarray())
    np.testing.assert_array_equal(first, same)


def sparse(rng, n, d, filled, whole=True):
    matrix = sp.random_array((n, d), density=filled, rng=rng, format="csr")
    matrix.data = np.ceil(matrix.data * 5) if whole else matrix.data
    return matrix


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("filled", [0.02, 0.3, 1.0])
@pytest.mark.parametrize("share", [-1.0, 0.03, np.inf])
def test_products(whole, filled, share, monkeypatch):
    monkeypatch.setattr(module, "_FILLED", share)
    monkeypatch.setattr(module, "_FEW", 20)  # of 30 columns
    rng = np.random.default_rng(0)
    A, B, w = sparse(rng, 25, 30, filled, whole), sparse(rng, 40, 30, filled, whole), np.arange(30.0)
    a, b = A.toarray(), B.toarray()
    cases = [
        (overlap(A), a @ a.T),
        (overlap(A, B), a @ b.T),
        (overlap(A, None, w), a * w @ a.T),
        (overlap(A, B, w), a * w @ b.T),
    ]
    for found, expected in cases:
        for rows, columns in ((slice(0, 25), slice(0, expected.shape[1])), (slice(3, 9), slice(5, 20))):
            out = np.full((rows.stop - rows.start, columns.stop - columns.start), np.nan)
            found.tile(rows, columns, out)
            np.testing.assert_allclose(out, expected[rows, columns], rtol=0 if whole else 1e-13)


def test_float32_only_where_it_is_exact():
    many = sp.csr_array(np.full((20, 3), 2000.0))
    assert overlap(many).dtype == np.float32  # 3 * 2000^2 < 2^24
    assert overlap(sp.csr_array(np.full((20, 3), 2400.0))).dtype == np.float64
    assert overlap(sp.csr_array(np.full((20, 3), 0.5))).dtype == np.float64
    out = np.empty((20, 20))
    overlap(sp.csr_array(np.full((20, 3), 2365.0))).tile(slice(0, 20), slice(0, 20), out)
    np.testing.assert_array_equal(out, 3 * 2365.0**2)


def test_few_pairs_have_no_dense_part():
    assert overlap(sp.csr_array(np.ones((3, 4)))).dense is None


def test_transposes_and_renumbers():
    matrix = sp.csr_array(np.array([[0.0, 2.0, 1.0], [3.0, 0.0, 4.0]]))
    indices, data, indptr = transposed((matrix.indices, matrix.data, matrix.indptr), 3)
    np.testing.assert_array_equal(sp.csr_array((data, indices, indptr), shape=(3, 2)).toarray(), matrix.toarray().T)
    moved = renumbered(matrix, np.array([-1, 3, 0]), 4)
    np.testing.assert_array_equal(moved.toarray(), [[1.0, 0.0, 0.0, 2.0], [4.0, 0.0, 0.0, 0.0]])


def test_compiled_loops_are_plain_python_too():
    names = ("_rank_by_table", "_count_by_table", "_sort_by_digit", "_group", "_transpose", "_split_entries", "_fill")
    names = (*names, "_largest_square", "_first", "_add_products")
    rng = np.random.default_rng(1)
    values, bounds = rng.integers(0, 5, 40), np.array([0, 15, 15, 40])
    A = sparse(rng, 20, 12, 0.2)
    A.data[:3] = 2.0
    a = A.toarray()
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setattr(module, name, getattr(module, name).py_func)
        _, expected = naive(values.tolist(), bounds.tolist())
        for span in (5, 2**20):
            np.testing.assert_array_equal(count(values, bounds, span)[0].toarray(), expected)
        out = np.empty((20, 20))
        overlap(A).tile(slice(0, 20), slice(0, 20), out)
    np.testing.assert_array_equal(out, a @ a.T)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("own", [True, False])
def test_both_ways_give_the_same_bits(seed, own, monkeypatch):
    rng = np.random.default_rng(seed)
    A, B = (sp.csr_array(rng.uniform(size=(k, 30)) * (rng.uniform(size=(k, 30)) < 0.2)) for k in (20, 9))
    found = []
    for few in (2**15, -1):
        monkeypatch.setattr(module, "_SMALL", few)
        monkeypatch.setattr(module, "_PRODUCTS", few)
        shared = overlap(A, None if own else B, 0.5 + np.arange(30.0) / 30.0)
        out, part = np.empty((20, 20 if own else 9)), np.empty((7, 5))
        shared.tile(slice(0, 20), slice(0, out.shape[1]), out)
        shared.tile(slice(3, 10), slice(2, 7), part)
        found.append((out, part))
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))
    np.testing.assert_allclose(found[0][0][3:10, 2:7], found[0][1], rtol=1e-13)  # a product of another shape
