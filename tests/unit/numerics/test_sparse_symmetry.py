"""Symmetry of sparse matrices against their transpose."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.numerics import sparse_symmetry
from mercer.numerics.sparse_symmetry import is_symmetric


def random_matrix(n=40, seed=0):
    W = sp.random_array((n, n), density=0.2, rng=np.random.default_rng(seed), format="csr")
    return sp.csr_array(W + W.T)


@pytest.fixture(autouse=True)
def check_few_entries_too(monkeypatch):
    monkeypatch.setattr(sparse_symmetry, "_WORTH", 0)


def test_symmetric_matrices_need_no_transpose(monkeypatch):
    W = random_matrix()
    monkeypatch.setattr(sp.csr_array, "transpose", None)
    assert is_symmetric(W)


@pytest.mark.parametrize("change", ["value", "place", "swap", "sign"])
def test_a_single_change_is_found(change):
    W = random_matrix()
    i, j = W.nonzero()
    above = np.flatnonzero(i < j)
    if change == "value":
        W.data[above[3]] = np.nextafter(W.data[above[3]], 1.0)
    elif change == "swap":  # the same values at other places
        W.data[above[[2, 5]]] = W.data[above[[5, 2]]]
    elif change == "sign":
        W.data[above[0]] *= -1.0
    else:
        W = W.tolil()
        W[0, 5], W[0, 6] = W[0, 6] + 1.0, W[0, 5]
        W = sp.csr_array(W)
    assert is_symmetric(W) is (not (W != W.T).nnz) is False


def test_other_forms():
    assert not is_symmetric(sp.csr_array(np.ones((2, 3))))
    assert is_symmetric(sp.csr_array((3, 3)))
    lone = sp.csr_array((np.array([0.0, 1.0, 1.0]), np.array([1, 2, 1]), np.array([0, 1, 2, 3])))  # a zero on one side
    assert is_symmetric(lone)
    assert is_symmetric(sp.csr_array(np.array([[1, 2], [2, 1]])))
    W = random_matrix()
    with np.errstate(over="ignore"):  # sums of 64-bit numbers wrap
        assert sparse_symmetry._imbalance.py_func(W.data.view(np.uint64), W.indices, W.indptr) == 0
