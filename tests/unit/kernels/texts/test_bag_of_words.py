"""Bag of words and tf-idf: against dicts and scikit-learn; nothing leaks between folds."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import cross_val_predict

from mercer import SVC, KernelRidge
from mercer.domains import Frames
from mercer.domains.texts import Texts
from mercer.errors import DomainError, ParameterError
from mercer.gram import Features
from mercer.kernels.strings.spectrum import Spectrum
from mercer.kernels.texts.bag_of_words import BagOfWords, Corpus, TfIdf
from mercer.kernels.texts.word_pairs import WordPairs
from mercer.language import parse
from mercer.testing import check_kernel
from tests.naive.texts import dot, idf, tf, weighed

DOCUMENTS = [
    "The cat sat on the mat, the old mat.",
    "A dog sat on the log",
    "Cats and dogs",
    "",
    "the cat ran after the dog",
    "Old dogs ran; old cats sat",
]
Y = np.array([0, 1, 0, 1, 0, 1])
WORDS = st.lists(st.sampled_from(["to", "be", "or", "not", 7]), max_size=12)
CORPORA = st.lists(WORDS, min_size=1, max_size=6)
FREQUENCY = st.sampled_from(["count", "binary", "log"])


def table(X, Z):
    return np.array([[dot(x, z) for z in Z] for x in X], dtype=float)


def learned(kernel, X, weight=None):
    return kernel.learn(kernel.pack(X), None, weight)


# bag of words -----------------------------------------------------------------------------------------


@given(X=CORPORA, Z=CORPORA, frequency=FREQUENCY)
def test_common_words_are_counted(X, Z, frequency):
    k = BagOfWords(frequency=frequency)
    ours, theirs = [tf(x, frequency) for x in X], [tf(z, frequency) for z in Z]
    np.testing.assert_allclose(k(X, Z), table(ours, theirs), rtol=1e-14)
    np.testing.assert_allclose(k(X), table(ours, ours), rtol=1e-14)
    np.testing.assert_allclose(k.diag(k.pack(X)), np.diag(table(ours, ours)), rtol=1e-14)


def test_the_matrix_is_that_of_the_vector_space_model():
    """[ST] "Kernels for text": K = D D'."""
    D = CountVectorizer(token_pattern=r"\w+").fit_transform(DOCUMENTS)
    np.testing.assert_array_equal(BagOfWords()(DOCUMENTS), (D @ D.T).toarray())


@given(X=CORPORA, Z=CORPORA)
def test_features_with_keys(X, Z):
    k = BagOfWords()
    F, keys = k.features(k.pack(X))
    G, same = k.features(k.pack(Z), keys)
    assert sp.issparse(F) and F.shape == (len(X), len(keys)) and same is keys and F.has_sorted_indices
    assert set(keys) == {word for x in X for word in x}
    np.testing.assert_array_equal((G @ F.T).toarray(), k(Z, X))
    for i, x in enumerate(X):
        assert {keys[j]: F[i, j] for j in F[[i]].indices} == tf(x)


def test_slices_carry_their_counts():
    k = BagOfWords()
    S = k.prepare(k.pack(DOCUMENTS))
    part = S[4:]
    assert k.prepare(part) is part and k.prepared(part).terms is k.prepared(S).terms
    np.testing.assert_array_equal(k.block(part, k.pack(DOCUMENTS[4:])), k(DOCUMENTS)[4:, 4:])


def test_laws():
    check_kernel(BagOfWords(), DOCUMENTS)
    check_kernel(BagOfWords(frequency="log", tokenizer=str.split).normalized(), DOCUMENTS)


def test_words_and_letters_of_the_same_documents():
    k = BagOfWords() + Spectrum(3)
    np.testing.assert_allclose(k(DOCUMENTS), BagOfWords()(DOCUMENTS) + Spectrum(3)(DOCUMENTS))
    split = BagOfWords() + 2.0 * BagOfWords(tokenizer=str.split)
    np.testing.assert_allclose(
        split(DOCUMENTS), BagOfWords()(DOCUMENTS) + 2.0 * BagOfWords(tokenizer=str.split)(DOCUMENTS)
    )
    check_kernel(k, DOCUMENTS)


def test_a_column_of_a_table():
    review, title = BagOfWords(frequency="log") + 1.0, TfIdf()
    k = review.normalized().on("review") + title.on("title")
    X = {"review": DOCUMENTS, "title": DOCUMENTS[::-1]}
    expected = review.normalized()(DOCUMENTS) + learned(title, DOCUMENTS)(DOCUMENTS)[::-1, ::-1]
    np.testing.assert_allclose(learned(k, X)(X), expected)


def test_kernels_that_read_words_alone_make_no_table():
    k = (TfIdf().normalized() + 2.0 * BagOfWords()).normalized()
    assert k.domain is Texts and type(k.pack(DOCUMENTS)) is Texts
    assert (k + WordPairs()).domain is Frames


@pytest.mark.parametrize(
    ("kernel", "part"),
    [
        (BagOfWords(frequency="often"), "frequency must be 'count', 'binary' or 'log'"),
        (BagOfWords(tokenizer="split"), "a function of one text"),  # pyright: ignore[reportArgumentType]
        (TfIdf(smooth=1), "smooth must be"),  # pyright: ignore[reportArgumentType]
        (TfIdf(corpus=Corpus(2, ("a",), np.array([3.0]))), "at most that of the documents"),
        (TfIdf(corpus=Corpus(2, ("a", "a"), np.ones(2))), "different words are needed"),
        (TfIdf(corpus={"a": 1.0}), "corpus must be"),  # pyright: ignore[reportArgumentType]
    ],
)
def test_refusals(kernel, part):
    with pytest.raises(ParameterError, match=part):
        kernel.check()


def test_a_single_text_is_refused():
    with pytest.raises(DomainError, match="wrap it in a list"):
        BagOfWords()("a text")


# tf-idf -----------------------------------------------------------------------------------------------


@given(X=CORPORA, Z=CORPORA, smooth=st.booleans(), frequency=FREQUENCY)
def test_rare_words_weigh_more(X, Z, smooth, frequency):
    k = learned(TfIdf(smooth=smooth, frequency=frequency), X)
    w = idf(X, smooth)
    assert k.weights == pytest.approx(w)
    ours, theirs = ([weighed(x, w, frequency) for x in side] for side in (X, Z))
    np.testing.assert_allclose(k(X), table(ours, ours), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(k(Z, X), table(theirs, ours), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(k(Z), table(theirs, theirs), rtol=1e-12, atol=1e-12)


def test_squared_weights():
    """[ST] "Semantics for text": the kernel has w(t)^2, the features have w(t)."""
    k = TfIdf(corpus=Corpus(8, ("a", "b"), np.array([2.0, 4.0])))
    np.testing.assert_allclose(k(["a a b"], ["a"]), [[2.0 * np.log(4.0) ** 2]])
    F, keys = k.features(k.pack(["a a b unseen"]))
    assert keys == ("a", "b")
    np.testing.assert_allclose(F.toarray(), [[2.0 * np.log(4.0), np.log(2.0)]])


@pytest.mark.parametrize("frequency", ["count", "log", "binary"])
def test_the_cosine_is_scikit_learns(frequency):
    theirs = TfidfVectorizer(token_pattern=r"\w+", sublinear_tf=frequency == "log", binary=frequency == "binary")
    D = theirs.fit_transform(DOCUMENTS[:4])
    E = theirs.transform(DOCUMENTS[4:])
    k = learned(TfIdf(smooth=True, frequency=frequency), DOCUMENTS[:4])
    K = k.normalized()(DOCUMENTS[4:], [d for d in DOCUMENTS[:4] if d])
    np.testing.assert_allclose(K, (E @ D[[0, 1, 2]].T).toarray(), rtol=1e-13)


def test_weights_are_copies():
    copies = learned(TfIdf(), [DOCUMENTS[i] for i in (0, 0, 0, 1, 2, 2)])
    weighted = learned(TfIdf(), DOCUMENTS, np.array([3.0, 1.0, 2.0, 0.0, 0.0, 0.0]))
    assert weighted.weights == pytest.approx(copies.weights)


def test_laws_of_tf_idf():
    check_kernel(TfIdf(), DOCUMENTS)
    check_kernel(learned(TfIdf(smooth=True), DOCUMENTS[:3]).normalized(), DOCUMENTS)


def test_what_is_not_learned_is_refused():
    with pytest.raises(ParameterError, match="is not fitted"):
        TfIdf()(DOCUMENTS)


def test_text():
    assert repr(TfIdf()) == "TfIdf()" and repr(BagOfWords(frequency="log")) == "BagOfWords(frequency='log')"
    names = {"TfIdf": TfIdf, "BagOfWords": BagOfWords}
    assert (
        parse("TfIdf(smooth=True).normalized() + BagOfWords()", names=names)
        == TfIdf(smooth=True).normalized() + BagOfWords()
    )


def test_corpora_are_told_apart():
    one, two = learned(TfIdf(), DOCUMENTS[:2]), learned(TfIdf(), DOCUMENTS[1:3])
    S = one.prepare(one.pack(DOCUMENTS))
    np.testing.assert_allclose(two.block(two.prepare(S), two.prepare(S)), two(DOCUMENTS))
    assert one.corpus.digest != two.corpus.digest


# in estimators ----------------------------------------------------------------------------------------


def test_nothing_leaks_between_folds():
    seen = []

    class Spy(TfIdf):
        def learn(self, S, y=None, weight=None):
            seen.append(len(S))
            return super().learn(S, y, weight)

    cross_val_predict(SVC(Spy()), DOCUMENTS * 2, np.tile(Y, 2), cv=3)
    assert seen and max(seen) == 8


@pytest.mark.filterwarnings("ignore::mercer.errors.DegenerateWarning")  # the empty document
def test_linear_time_learning_agrees():
    new = ["a cat on a log", "unseen words"]
    dense = KernelRidge(TfIdf().normalized(), alpha=0.1).fit(DOCUMENTS, Y)
    sparse = KernelRidge(TfIdf().normalized(), alpha=0.1, gram=Features()).fit(DOCUMENTS, Y)
    np.testing.assert_allclose(sparse.predict(new), dense.predict(new), rtol=1e-9)
