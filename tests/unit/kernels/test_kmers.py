"""Tables of k-mers against a dictionary."""

from collections import Counter

import numpy as np
import pytest

from mercer.domains import Strings
from mercer.kernels.kmers import common_kmers, count_kmers

ONE = ["banana", "", "ban", "nabab", "été été"]
OTHER = ["ananas", "b", "taban"]


def naive(text, length):
    return Counter(text[i : i + length] for i in range(len(text) - length + 1))


@pytest.mark.parametrize("length", [1, 2, 3, 40])  # forty symbols of this vocabulary do not fit in 62 bits
def test_counts_are_those_of_a_dictionary(length):
    texts = [text * 9 for text in ONE]
    found = count_kmers(Strings.pack(texts), length)
    assert len(found) == len(texts)
    dense = found.matrix.toarray()
    words = ["".join(found.kmers.symbols(j)) for j in range(len(found.kmers))]
    assert len(set(words)) == len(words) == dense.shape[1]
    for row, text in zip(dense, texts, strict=True):
        assert {word: number for word, number in zip(words, row, strict=True) if number} == naive(text, length)


@pytest.mark.parametrize("length", [2, 40])
def test_two_collections_meet_in_what_both_have(length):
    one, other = [text * 9 for text in ONE], [text * 9 for text in OTHER]
    left, right = count_kmers(Strings.pack(one), length), count_kmers(Strings.pack(other), length)
    places = left.kmers.find(right.kmers)
    words = ["".join(left.kmers.symbols(j)) for j in range(len(left.kmers))]
    for j, place in enumerate(places):
        word = "".join(right.kmers.symbols(j))
        assert place == (words.index(word) if word in words else -1)
    expected = [[sum(naive(s, length)[u] * n for u, n in naive(t, length).items()) for t in other] for s in one]
    block = np.empty((len(one), len(other)))
    common_kmers(left, right).tile(slice(0, len(one)), slice(0, len(other)), block)
    assert np.array_equal(block, expected)


def test_parts_share_their_kmers():
    found = count_kmers(Strings.pack(ONE), 2)
    part = found.take(slice(1, 4))
    assert part.kmers is found.kmers
    assert np.array_equal(part.matrix.toarray(), found.matrix.toarray()[1:4])
    assert found.nbytes > 0
