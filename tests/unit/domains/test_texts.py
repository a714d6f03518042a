"""Documents become words: lower case, tokenizers, lists of words, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mercer.domains import Strings
from mercer.domains.texts import Texts
from mercer.errors import DomainError
from mercer.kernels.strings.spectrum import Spectrum
from mercer.testing.domains import check_domain

DOCUMENTS = ["The Cat", "", "the dog's cat; ÄRGER"]
WORDS = [("the", "cat"), (), ("the", "dog's", "cat", "ärger")]


def words(S):
    return [S.symbols(i) for i in range(len(S))]


@pytest.mark.parametrize(
    "kind", [list, tuple, np.array, lambda X: np.array(X, object)[:, None], pd.Series, pl.Series, pa.array]
)
def test_containers(kind):
    S = Texts.pack(kind(DOCUMENTS))
    assert type(S) is Texts and words(S) == WORDS
    assert S.vocabulary == ("the", "cat", "dog's", "ärger") and S.codes.dtype == np.int32


def test_laws_of_domains():
    check_domain(Texts, DOCUMENTS)
    S = Texts.pack(DOCUMENTS)
    assert type(S[1:]) is Texts and words(S[::2].concat(Texts.pack(["a cat"]))) == [WORDS[0], WORDS[2], ("a", "cat")]


def test_lists_of_words_are_taken_as_they_are():
    assert words(Texts.pack([["The", "cat"], []])) == [("The", "cat"), ()]
    assert words(Texts.pack([("The", 3)], tokenizer=str.split)) == [("The", 3)]


def test_tokenizers_see_the_document_itself():
    assert words(Texts.pack(["The Cat's"], tokenizer=str.split)) == [("The", "Cat's")]
    assert words(Texts.pack(["a b", ""], tokenizer=lambda text: (word for word in text.split()))) == [("a", "b"), ()]


def test_lower_case_of_a_document_does_not_depend_on_its_neighbours():
    assert words(Texts.pack(["ΟΔΟΣ", "Α"])) == [("οδος",), ("α",)]
    assert words(Texts.pack(["İ x", "y"])) == [("i\N{COMBINING DOT ABOVE}", "x"), ("y",)]


def test_string_kernels_read_words():
    np.testing.assert_array_equal(
        Spectrum(2)(Texts.pack(["to be or to be", "be or not to be"])), [[6.0, 3.0], [3.0, 4.0]]
    )


@pytest.mark.parametrize(
    ("X", "tokenizer", "part"),
    [
        ("a text", None, "wrap it in a list"),
        ([], None, "0 sample"),
        (["a", None], None, "Sample 1 is a missing value"),
        (["a", ["b"]], None, "sample 1 is of type list"),
        ([b"a"], None, "Document 0 is of type bytes"),
        ([3.0], None, "Sample 0 is of type float"),
        ([["a"], [0.5]], None, "Symbol 0 of sample 1"),
        (["a", "b"], str.upper, "returned str for document 0"),
        (["a", ""], lambda text: text[0].split(), "At document 1 the tokenizer .* failed"),
        (["a"], len, "returned int"),
        (["a"], lambda text: [[text]], "cannot be hashed"),
    ],
)
def test_refusals(X, tokenizer, part):
    with pytest.raises(DomainError, match=part):
        Texts.pack(X, tokenizer)


def test_letters_are_not_taken_for_words():
    with pytest.raises(DomainError, match="Strings were given where Texts are needed"):
        Texts.pack(Strings.pack(["a text"]))
