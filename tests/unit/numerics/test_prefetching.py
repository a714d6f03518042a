"""The hint is compiled, and changes nothing."""

import numba
import numpy as np

from mercer.numerics.prefetching import fetch_row
from mercer.runtime.compiled import compiled


@compiled
def gather(X, index):
    total = 0.0
    for i in index:
        fetch_row(X, i)
        total += X[i, 0]
    return total


def test_sums_are_the_same_with_the_hint():
    X = np.arange(60.0).reshape(30, 2)
    index = np.array([29, 0, 7, 7], dtype=np.uint32)
    before = X.copy()
    assert gather(X, index) == gather.py_func(X, index) == X[index, 0].sum()
    assert gather(X[::2], index // 2) == X[::2][index // 2, 0].sum()  # rows that do not follow one another
    assert np.array_equal(X, before)


def test_the_hint_is_there():
    fresh = numba.njit(gather.py_func)  # compiled now, not read from the cache
    fresh(np.ones((1, 1)), np.zeros(1, dtype=np.uint32))
    assert "llvm.prefetch" in next(iter(fresh.inspect_llvm().values()))
