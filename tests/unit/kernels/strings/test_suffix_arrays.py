"""Suffix arrays against sorting by definition."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.kernels.strings.suffix_arrays import common_prefixes, suffix_array

TEXTS = st.lists(st.text("abc", max_size=9), min_size=1, max_size=5)


def coded(texts):
    codes = np.array([ord(c) - ord("a") for text in texts for c in text], np.int32)
    return codes, np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.intp)


def prefix(a, b):
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


@given(st.lists(st.integers(0, 3), max_size=40))
def test_suffixes_are_sorted(text):
    found = suffix_array(np.array(text, dtype=np.int64), 4)
    assert found.tolist() == sorted(range(len(text)), key=lambda i: text[i:])


@pytest.mark.parametrize("symbols", [1, 2, 4, 300])
@pytest.mark.parametrize("seed", range(3))
def test_long_texts_are_sorted(symbols, seed):
    rng = np.random.default_rng(seed)
    text = rng.integers(0, symbols, 3000)
    text[1000:2000] = text[:1000]  # long repeats: several levels of names
    found = suffix_array(text, symbols)
    data = text.astype(">u2").tobytes()
    assert found.tolist() == sorted(range(len(text)), key=lambda i: data[2 * i :])


def test_fibonacci_and_periodic_words():
    a, b = [0], [0, 1]
    while len(b) < 2000:
        a, b = b, b + a
    for text in (b, [0, 1] * 500, [1, 0, 0] * 400 + [0]):
        data = bytes(text)
        assert suffix_array(np.array(text), 2).tolist() == sorted(range(len(text)), key=lambda i: data[i:])


@given(st.lists(st.integers(0, 2), max_size=30))
def test_common_prefixes_stop_at_zeros(text):
    order = suffix_array(np.array(text, dtype=np.int64), 3)
    found = common_prefixes(np.array(text, dtype=np.int64), order)
    whole = ["".join(map(str, text[i:])) for i in order]
    cut = [s.split("0")[0] for s in whole]
    assert found.tolist() == [0] * (len(text) > 0) + [prefix(a, b) for a, b in pairwise(cut)]
