"""Monomials of one degree: order, weights, dense and sparse alike."""

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.errors import CapabilityError
from mercer.kernels import monomials as module
from mercer.kernels.monomials import monomial_count, monomials, require_few

rng = np.random.default_rng(1)


def by_hand(y, p):
    """Every monomial as a sorted tuple of factors, with its multinomial coefficient."""
    found = []
    for factors in combinations_with_replacement(range(len(y)), p):
        weight = math.factorial(p)
        for i in set(factors):
            weight //= math.factorial(factors.count(i))
        found.append(math.sqrt(weight) * math.prod(y[i] for i in factors))
    return found


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("p", [0, 1, 2, 3, 5])
def test_agree_with_enumeration(d, p):
    Y = rng.normal(size=(6, d)) * (rng.random((6, d)) < 0.6)
    Y[0] = 0.0
    expected = np.array([by_hand(y, p) for y in Y])
    F = monomials(Y, p)
    assert F.shape == (6, monomial_count(d, p))
    np.testing.assert_allclose(F, expected, rtol=1e-13)
    G = monomials(sp.csr_array(Y), p)
    assert sp.issparse(G)
    assert G.has_sorted_indices
    np.testing.assert_allclose(G.toarray(), expected, rtol=1e-13)


def test_sparse_rows_cost_what_they_hold():
    wide = sp.csr_array(([2.0, 3.0], ([0, 0], [7, 3000])), shape=(2, 4000))
    F = monomials(wide, 2)
    assert F.shape == (2, monomial_count(4000, 2))
    assert F.nnz == 3
    assert (F @ F.T).toarray()[0, 0] == pytest.approx(13.0**2)


def test_interpreted_loops_agree():
    Y = sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
    compiled = monomials(Y, 3)
    data, indices = np.empty(compiled.nnz), np.empty(compiled.nnz, np.int64)
    starts = np.array([module._starts(3, p) for p in (1, 2, 3)])
    source, target = (Y.data, Y.indices, Y.indptr), (data, indices, compiled.indptr)
    module._expand_row.py_func(Y.data[:2], Y.indices[:2], starts, data[:4], indices[:4])
    np.testing.assert_array_equal(indices[:4], compiled.indices[:4])
    np.testing.assert_allclose(data[:4], compiled.data[:4], rtol=1e-15)
    module._expand_rows.py_func(source, starts, target)
    np.testing.assert_array_equal(indices, compiled.indices)


def test_few_are_required():
    require_few("k", module.MOST_FEATURES)
    with pytest.raises(CapabilityError, match=r"at most 1e\+07"):
        require_few("k", module.MOST_FEATURES + 1)
