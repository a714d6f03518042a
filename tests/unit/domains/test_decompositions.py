"""Objects taken apart: parts are packed once, and slices and joins keep the tuples."""

import numpy as np
import pytest

from mercer.domains import Strings, Vectors
from mercer.domains.decompositions import Decompositions
from mercer.errors import DomainError
from mercer.testing.domains import check_domain

PACKS = (Strings.pack, Strings.pack)
WORDS = ["ATG", "AT", "", "TTTT", "ATG"]


def halves(word):
    return [(word[:i], word[i:]) for i in range(1, len(word))]


def tuples(S):
    return [
        [tuple("".join(part.symbols(j)) for part, j in zip(S.parts, row, strict=True)) for row in rows]
        for rows in S.index
    ]


class _Halves(Decompositions):
    @classmethod
    def pack(cls, X, decompose=None, packs=()):
        return super().pack(X, halves, PACKS)


def test_parts_are_packed_once():
    S = Decompositions.pack(WORDS, halves, PACKS)
    assert tuples(S) == [halves(word) for word in WORDS]
    assert [len(part) for part in S.parts] == [5, 5] and S.index.lengths.tolist() == [2, 1, 0, 3, 2]
    assert Decompositions.pack(S) is S


def test_laws_of_domains():
    check_domain(_Halves, WORDS)


def test_slices_and_joins():
    S = Decompositions.pack(WORDS, halves, PACKS)
    T = Decompositions.pack(["GA"], halves, PACKS)
    assert tuples(S[3:].concat(T)) == [halves(word) for word in ["TTTT", "ATG", "GA"]]
    assert tuples(S[:2].concat(S[3:])) == [halves(word) for word in ["ATG", "AT", "TTTT", "ATG"]]
    assert S[:2].concat(S[3:]).parts[0] is S.parts[0]


def test_landmarks_keep_what_occurs():
    S = Decompositions.pack(WORDS, halves, PACKS)[3:4].landmarks()
    assert tuples(S) == [halves("TTTT")] and [len(part) for part in S.parts] == [3, 3]
    assert Decompositions.pack(WORDS, halves, PACKS)[2:3].landmarks().parts == ()


def test_nothing_to_take_apart():
    S = Decompositions.pack(["", "A"], halves, PACKS)
    assert S.parts == () and len(S) == 2 and "of nothing" in repr(S)
    assert tuples(S.concat(Decompositions.pack(["AT"], halves, PACKS))) == [[], [], [("A", "T")]]
    assert len(S.concat(S)) == 4


def test_parts_without_a_hash():
    S = Decompositions.pack(np.eye(3), lambda row: [(row[:1],), (row[1:2],)], (Vectors.pack,))
    assert S.index.codes.tolist() == [[0], [1], [2], [3], [4], [5]]
    np.testing.assert_array_equal(S.parts[0].X[:, 0], [1, 0, 0, 1, 0, 0])


@pytest.mark.parametrize(
    ("X", "decompose", "part"),
    [
        ([], halves, "0 sample"),
        ("ATG", halves, "wrap it in a list"),
        ({"ATG": 1}, halves, "no order"),
        (["ATG", 3], halves, "of sample 1 failed"),
        (["ATG"], lambda word: [(word,)], "where a tuple of 2"),
        (["ATG"], lambda word: word, "where a tuple of 2"),
        (["ATG"], lambda word: [word], "where a tuple of 2"),
        (["ATG"], lambda word: [(word, 3)], "Part 1 of the decompositions"),
    ],
)
def test_refusals(X, decompose, part):
    with pytest.raises(DomainError, match=part):
        Decompositions.pack(X, decompose, PACKS)


def test_a_way_to_take_apart_is_needed():
    with pytest.raises(DomainError, match="Use a Convolution kernel"):
        Decompositions.pack(WORDS)
