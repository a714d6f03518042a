"""Words of texts: against a regular expression, in any script, without a limit on their number."""

import itertools
import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mercer.domains.tokens import split

PATTERN = re.compile(r"\w+(?:['’]\w+)*")
# of the letters that an expression and Python's isalnum see alike
LETTERS = st.text("abcé ßжа中٣_0'’.-\n\U00010400\ud800", max_size=30)


def split_all(texts, ends=""):
    bounds = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.intp)
    codes, offsets, words = split("".join(texts), bounds, ends)
    assert codes.dtype == np.int32 and len(set(words)) == len(words)
    return [[words[code] for code in codes[a:b]] for a, b in itertools.pairwise(offsets)]


@given(st.lists(LETTERS, max_size=6))
def test_words_are_those_of_an_expression(texts):
    assert split_all(texts) == [PATTERN.findall(text) for text in texts]


@given(st.lists(st.text("ab '.!", max_size=20), min_size=1, max_size=6))
def test_ends_are_words_unless_a_word_goes_on(texts):
    pattern = re.compile(r"\w+(?:['’]\w+)*|[.!](?!\w)")
    assert split_all(texts, ".!") == [pattern.findall(text) for text in texts]


def test_words_are_numbered_as_they_are_seen():
    codes, offsets, words = split("b a b", np.array([0, 5], np.intp))
    assert codes.tolist() == [0, 1, 0] and offsets.tolist() == [0, 3] and words == ["b", "a"]


def test_no_text_and_no_word():
    assert split_all([]) == [] and split_all(["", " .", ""]) == [[], [], []]


def test_marks_do_not_break_words():
    assert split_all(["हिन्दी cafe\N{COMBINING ACUTE ACCENT}s"]) == [["हिन्दी", "cafe\N{COMBINING ACUTE ACCENT}s"]]


def test_many_words_are_told_apart():
    words = [f"w{i}" for i in range(5000)]
    assert split_all([" ".join(words), " ".join(words[::-1])]) == [words, words[::-1]]
