"""Alphabets: strings as numbers, whatever the symbols."""

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.domains import Strings
from mercer.errors import DomainError, ParameterError
from mercer.kernels import Fisher, Mismatch
from mercer.models import HiddenMarkovModel, MarkovChain
from mercer.models.alphabet import check_alphabet, coded, learned_alphabet, letters_of, packed_strings, strings_of


def test_symbols_become_their_places_and_unknown_ones_are_missing():
    S = Strings.pack(["abc", "", "ca?"])
    np.testing.assert_array_equal(coded(S, "cab"), [1, 2, 0, 0, 1, -1])
    assert coded(Strings.pack([""]), "ab").shape == (0,)


def test_an_alphabet_depends_on_the_symbols_alone():
    one, two = Strings.pack(["cab?", "zz"]), Strings.pack(["b", "?ac", "y"])
    assert learned_alphabet(one, np.array([1.0, 0.0]), "?") == ("a", "b", "c")
    assert learned_alphabet(two, np.array([1.0, 2.0, 0.0]), "?") == ("a", "b", "c")
    assert learned_alphabet(Strings.pack([[2, "a", (1,)]]), np.ones(1), None) == (2, "a", (1,))
    with pytest.raises(DomainError, match="without a symbol"):
        learned_alphabet(Strings.pack(["", "??"]), np.ones(2), "?")


@pytest.mark.parametrize(("alphabet", "missing"), [("", None), ("aa", None), (5, None), ("ab", "b"), (([],), None)])
def test_bad_alphabets_are_refused(alphabet, missing):
    with pytest.raises(ParameterError, match="different symbols"):
        check_alphabet(alphabet, missing, "a model")


def test_good_alphabets_are_counted():
    assert check_alphabet("abc", None, "a model") == check_alphabet((1, "x", (2,)), "?", "a model") == 3


def test_numbers_become_strings_again():
    S = strings_of(np.array([1, 0, 1]), [2, 0, 1], ("x", "y"))
    assert [S.symbols(i) for i in range(3)] == [("y", "x"), (), ("y",)]


def test_named_alphabets_are_their_letters():
    assert letters_of("dna") == (tuple("ACGT"), tuple("NRYSWKMBDHV-."))
    assert letters_of("dna")[0] == Mismatch(3, alphabet="dna").letters
    np.testing.assert_array_equal(coded(Strings.pack(["TANd"]), "dna"), [3, 0, -1, -1])
    assert check_alphabet("protein", None, "a model") == 20
    assert strings_of(np.array([1, 0]), [2], "rna").symbols(0) == ("C", "A")
    with pytest.raises(ParameterError, match="'dna', 'rna', 'protein'"):
        check_alphabet("dna", "A", "a model")


DNA = ["ACGTAC", "GGGTA", "ACNNGT", "TTA", "CAGT"]
MODELS = [
    (MarkovChain, {"order": 1}),
    (MarkovChain, {"order": 0, "transitions": ((0.1, 0.2, 0.3, 0.4),)}),
    (HiddenMarkovModel, {"states": 2}),
    (
        HiddenMarkovModel,
        {
            "states": 2,
            "start": (0.5, 0.5),
            "transitions": ((0.9, 0.1), (0.2, 0.8)),
            "emissions": ((0.1, 0.2, 0.3, 0.4), (0.4, 0.3, 0.2, 0.1)),
        },
    ),
]


@pytest.mark.parametrize(("model", "options"), MODELS)
def test_models_read_a_name_as_kernels_do(model, options):
    named, spelled = (model(alphabet=alphabet, **options).check() for alphabet in ("dna", "ACGT"))
    S = named.pack(DNA)
    one, two = named.learn(S), spelled.learn(S)
    assert one.size == two.size
    np.testing.assert_array_equal(one.log_likelihood(S), two.log_likelihood(S))
    np.testing.assert_array_equal(one.scores(S), two.scores(S))
    assert np.abs(one.scores(S)).max() > 0.1
    drawn = one.sample(np.random.default_rng(0), 3, S)
    assert set(drawn.vocabulary) <= set("ACGT")
    K, L = (Fisher(model).learn(S)(DNA) for model in (one, two))
    np.testing.assert_array_equal(K, L)
    assert K.max() > 0.1


@pytest.mark.parametrize(("model", "options"), MODELS)
def test_data_of_another_alphabet_are_refused(model, options):
    given = model(alphabet="dna", **options)
    lower = [text.lower() for text in DNA]
    for call in (given.pack, Fisher(given), lambda X: KernelRidge(Fisher(given)).fit(X, np.arange(5.0))):
        with pytest.raises(DomainError, match="alphabet='dna', which has none of them"):
            call(lower)
    if not given.fitted:
        with pytest.raises(DomainError, match="none of them"):
            given.learn(Strings.pack(lower))
    assert len(given.pack(["NNN", ""])) == 2  # symbols that are known to be missing
    assert len(given.pack(["AxC"])) == 1  # one that may have been mistyped


def test_bytes_are_letters_of_an_alphabet_of_letters():
    assert set(packed_strings([b"ab", b"ba"], "ab", None).vocabulary) == {"a", "b"}
