"""Words read through patterns, beside a dictionary of tuples."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.domains import Strings
from mercer.errors import MemoryBudgetError
from mercer.kernels.strings import patterns as module
from mercer.kernels.strings.patterns import compared, count_words

PLACES = np.array([[0, 1, 2], [0, 2, 3], [0, 1, 4]], np.int32)
OPEN = np.array([[0, 1, 2], [0, -1, 2], [0, 1, -1], [-1, -1, -1]], np.int32)


def read(s, places, groups):
    """Counts of (word, group)."""
    found = Counter()
    for row, group in zip(places.tolist(), groups.tolist(), strict=True):
        for start in range(len(s) - max(*row, len(row) - 1)):
            found[tuple(None if place < 0 else s[start + place] for place in row), group] += 1
    return found


def by_name(counts):
    """What `count_words` found, as dictionaries."""
    rows = []
    for i in range(len(counts)):
        row = counts.matrix[[i]]
        columns = row.indices
        names = [(counts.words.symbols(counts.owners[j]), int(counts.groups[j])) for j in columns]
        rows.append(dict(zip(names, row.data.tolist(), strict=True)))
    return rows


@pytest.mark.parametrize("places", [PLACES, OPEN], ids=["gaps", "open"])
@given(X=st.lists(st.text("ab*", max_size=8), min_size=1, max_size=5))
def test_counts(places, X):
    groups = np.arange(len(places)) % 2
    counts = count_words(Strings.pack(X), places, groups)
    assert by_name(counts) == [dict(read(s, places, groups)) for s in X]
    assert (np.diff(counts.owners) >= 0).all() and counts.matrix.has_sorted_indices
    half = counts.take(slice(0, 1))
    assert half.words is counts.words and by_name(half) == by_name(counts)[:1]


def test_words_too_long_for_numbers_are_ranked():
    rng = np.random.default_rng(0)
    X = [rng.integers(0, 900, 60).tolist() for _ in range(4)]
    X.append(X[0][10:50] + X[1][:40])
    places = np.array([range(20), [*range(19), 20]], np.int32)
    assert 900**20 > 2**62
    counts = count_words(Strings.pack(X), places, np.array([0, 1]))
    assert by_name(counts) == [dict(read(s, places, np.array([0, 1]))) for s in X]


def test_weights_and_comparisons():
    X, Y = ["abcab", "bca", ""], ["cabd", "abab"]
    groups = np.array([0, 1, 2])
    weights = 0.5 ** np.arange(3)
    left, right = (count_words(Strings.pack(side), PLACES, groups) for side in (X, Y))
    out = np.empty((3, 2))
    compared(*(counts.weighted(lambda g: weights[g]) for counts in (left, right))).tile(slice(0, 3), slice(0, 2), out)

    def summed(s):
        found = Counter()
        for (word, group), number in read(s, PLACES, groups).items():
            found[word] += number * weights[group]
        return found

    expected = [[sum(summed(s)[u] * summed(t)[u] for u in summed(s)) for t in Y] for s in X]
    np.testing.assert_array_equal(out, expected)
    assert out.any()


def test_pieces():
    S = Strings.pack(["abcde", "xyzab"])
    pieces = np.array([0, 3, 5]), np.array([2, 5, 10]), np.array([0, 0, 1])
    counts = count_words(S, np.array([[0, 1]], np.int32), np.zeros(1, int), pieces)
    expected = [["ab", "de"], ["xy", "yz", "za", "ab"]]
    assert by_name(counts) == [{(tuple(word), 0): 1.0 for word in row} for row in expected]


def test_too_many_words_are_refused_beforehand():
    S = Strings.pack(["a" * 10**6])
    with pytest.raises(MemoryBudgetError, match="patterns"):
        count_words(S, np.tile(PLACES, (10**5, 1)), np.zeros(3 * 10**5, int))


def test_compiled_code_as_python(monkeypatch):
    X = ["abcab", "", "bca"]
    groups = np.array([0, 1, 1, 2])
    for name in ("_append", "_add_groups", "_decode"):
        monkeypatch.setattr(module, name, getattr(module, name).py_func)
    assert by_name(count_words(Strings.pack(X), OPEN, groups)) == [dict(read(s, OPEN, groups)) for s in X]
