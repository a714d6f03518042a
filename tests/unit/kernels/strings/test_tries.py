"""The trie against counting by definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.kernels.strings import tries as module
from mercer.kernels.strings.tries import common_substrings
from tests.naive.strings import spectrum

TEXTS = st.lists(st.text("abcd", max_size=9), min_size=1, max_size=5)


def coded(texts):
    codes = np.array([ord(c) - ord("a") for text in texts for c in text], np.int32)
    return codes, np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.intp)


@given(TEXTS, TEXTS, st.integers(1, 5))
def test_counts_are_exact(X, Y, length):
    expected = [[spectrum(s, t, length) for t in Y] for s in X]
    np.testing.assert_array_equal(common_substrings(coded(X), coded(Y), length, 4), expected)


def test_arguments_are_not_changed():
    X = coded(["abracadabra", "bar"])
    X = (np.where(X[0] > 3, 3, X[0]).astype(np.int32), X[1])
    before = X[0].copy()
    K = common_substrings(X, X, 2, 4)
    np.testing.assert_array_equal(X[0], before)
    np.testing.assert_array_equal(K, K.T)


def test_branches_that_are_empty_on_one_side_are_left():
    """A text without a common symbol is read once, however long the substrings are."""
    calls = []
    part = module._part.py_func

    def counted(*args):
        calls.append(args[3])
        part(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_part", counted)
        patch.setattr(module, "_add_leaf", module._add_leaf.py_func)
        patch.setattr(module, "_walk", module._walk.py_func)
        K = common_substrings(coded(["aaaabb"]), coded(["ccccdd", "ab"]), 2, 4)
    np.testing.assert_array_equal(K, [[0.0, 1.0]])
    assert calls == [0, 0, 1, 1]  # both sides at the root and at "a"


def test_long_and_many():
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ab"), rng.integers(0, 80))) for _ in range(30)]
    for length in (1, 7, 40):
        expected = [[spectrum(s, t, length) for t in X] for s in X]
        np.testing.assert_array_equal(common_substrings(coded(X), coded(X), length, 2), expected)
