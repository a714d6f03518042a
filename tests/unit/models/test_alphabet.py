"""Alphabets: strings as numbers, whatever the symbols."""

import numpy as np
import pytest

from mercer.domains import Strings
from mercer.errors import DomainError, ParameterError
from mercer.models.alphabet import check_alphabet, coded, learned_alphabet, strings_of


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
