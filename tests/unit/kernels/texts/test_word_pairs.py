"""Word pairs: against all pairs of places of a sentence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.errors import MemoryBudgetError, ParameterError
from mercer.kernels.texts.bag_of_words import BagOfWords
from mercer.kernels.texts.word_pairs import WordPairs
from mercer.testing import check_kernel
from tests.naive.texts import dot, pairs

DOCUMENTS = ["Dogs bark. Cats purr!", "Cats and dogs bark, bark", "", "One", "purr? cats purr cats."]
CORPORA = st.lists(st.lists(st.sampled_from(["a", "b", "c", ".", "!", "d"]), max_size=9), min_size=1, max_size=5)


@given(
    X=CORPORA,
    Z=CORPORA,
    window=st.one_of(st.none(), st.integers(1, 4)),
    ordered=st.booleans(),
    ends=st.sampled_from([".!?", ".", ""]),
)
def test_common_pairs_are_counted(X, Z, window, ordered, ends):
    k = WordPairs(window, ordered=ordered, ends=ends)
    ours, theirs = ([pairs(x, window, ordered, ends) for x in side] for side in (X, Z))
    np.testing.assert_array_equal(k(X, Z), [[dot(x, z) for z in theirs] for x in ours])
    np.testing.assert_array_equal(k(X), [[dot(x, z) for z in ours] for x in ours])
    F, keys = k.features(k.pack(X))
    G, _ = k.features(k.pack(Z), keys)
    np.testing.assert_array_equal((F @ G.T).toarray(), k(X, Z))


def test_sentences_of_raw_documents():
    np.testing.assert_array_equal(
        WordPairs()(DOCUMENTS[:2]), [[2.0, 2.0], [2.0, dot(*(pairs(["cats", "and", "dogs", "bark", "bark"]),) * 2)]]
    )
    assert WordPairs()(["pi is 3.14 or so"], ["so pi"])[0, 0] == 1.0  # no sentence ends within a number


def test_keys_are_pairs_of_words():
    k = WordPairs(1)
    F, keys = k.features(k.pack(["b a b"]))
    assert F.toarray().tolist() == [[2.0]] and keys.symbols(0) == ("b", "a")


def test_frequencies():
    X = [["a", "b", "a"]]  # twice {a, b}, once {a, a}
    assert WordPairs()(X)[0, 0] == 5.0 and WordPairs(frequency="binary")(X)[0, 0] == 2.0
    np.testing.assert_allclose(WordPairs(frequency="log")(X), (1.0 + np.log(2.0)) ** 2 + 1.0)


@pytest.mark.parametrize("kernel", [WordPairs(), WordPairs(2, ordered=True, ends=""), WordPairs(1).normalized()])
def test_laws(kernel):
    check_kernel(kernel, DOCUMENTS)


def test_beside_words():
    k = WordPairs() + BagOfWords()
    np.testing.assert_array_equal(k(DOCUMENTS), WordPairs()(DOCUMENTS) + BagOfWords()(DOCUMENTS))


def test_refusals():
    for kernel, part in ((WordPairs(0), "window must be"), (WordPairs(ends=None), "end a sentence")):  # pyright: ignore[reportArgumentType]
        with pytest.raises(ParameterError, match=part):
            kernel.check()


def test_a_sentence_with_too_many_pairs_is_refused():
    with pytest.raises(MemoryBudgetError):
        WordPairs()([["a"] * 300_000])
