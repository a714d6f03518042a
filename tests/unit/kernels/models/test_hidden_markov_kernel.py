"""HiddenMarkov beside the definition: all hidden paths, one by one."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer import SVC
from mercer.domains import Strings
from mercer.errors import DegenerateWarning, DomainError, ParameterError
from mercer.kernels import Spectrum
from mercer.kernels.comparison import Comparison
from mercer.kernels.models import hidden_markov_kernel as module
from mercer.kernels.models.hidden_markov_kernel import HiddenMarkov
from mercer.models.hidden_markov import HiddenMarkovModel
from mercer.testing import check_kernel
from tests.naive.hidden_states import chain, log_paths, naive_paths, normalised, paired, strings, table

WORDS = st.lists(st.text("abc?", max_size=3), min_size=1, max_size=4)


@settings(max_examples=50)
@given(X=WORDS, Y=WORDS, states=st.integers(1, 3))
def test_paths_by_the_definition(X, Y, states):
    kernel = HiddenMarkov(chain(states), "abc", "?")
    np.testing.assert_allclose(kernel(X, Y), table(naive_paths, X, Y, chain(states)), rtol=1e-12, atol=0)
    K = kernel(X)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(kernel.diag(kernel.pack(X)), np.diag(K), rtol=1e-13, atol=0)


def test_many_states_fill_many_lanes():
    model = chain(7, seed=3)
    X = [*("".join(word) for word in product("abc", repeat=2)), "abc", "cba"]
    np.testing.assert_allclose(HiddenMarkov(model, "abc")(X), table(naive_paths, X, X, model), rtol=1e-12)


def test_values_are_probabilities_of_pairs():
    X = ["".join(word) for word in product("ab", repeat=4)]
    np.testing.assert_allclose(HiddenMarkov(chain(3, 2), "ab")(X).sum(), 1.0, rtol=1e-13)


def test_a_missing_symbol_is_summed_over():
    K = HiddenMarkov(chain(3), "abc", "?")(["a?c", "aac", "abc", "acc"], ["abb", "c?b"])
    np.testing.assert_allclose(K[0], K[1:].sum(axis=0), rtol=1e-13)
    np.testing.assert_allclose(HiddenMarkov(chain(2, 4), "dna")(["NN"], ["NN", "N"]), [[1.0, 0.0]], rtol=1e-13)


def test_empty_strings_and_other_lengths():
    np.testing.assert_array_equal(HiddenMarkov(chain(2), "abc")(["", "a", "ab"])[0], [1.0, 0.0, 0.0])


def test_long_strings_do_not_underflow():
    X = strings(1500, 1500, 1500)
    X.append(X[0][:-5] + X[1][-5:])
    kernel = HiddenMarkov(chain(3), "abc")
    K = kernel.normalized()(X)
    np.testing.assert_allclose(K, normalised(log_paths, X, X, chain(3)), rtol=1e-9)
    assert 1e-6 < K[0, 3] < 1.0
    with pytest.warns(DegenerateWarning, match="normalized"):
        assert not kernel(X).any()


def test_compiled_code_is_the_python_code(monkeypatch):
    X = ["ab", "cab", "b", "ca", "aa", "", "abc"]
    kernel = HiddenMarkov(chain(3), "abc")
    expected = kernel(X, n_threads=1)
    for name in ("_load", "_walk", "_raise", "_compare_paths"):
        monkeypatch.setattr(module, name, getattr(module, name).py_func)
    np.testing.assert_allclose(kernel(X, n_threads=1), expected, rtol=1e-12)


@pytest.mark.parametrize("form", ["probability", "normalised"])
def test_laws(form):
    X = ["abca", "abcb", "ccba", "", "ab", "ba", "c", "abcab", "bbbb", "aaaa"]
    check_kernel(HiddenMarkov(chain(3), "abc", form=form), X)


def test_text():
    model = (0.5, 0.5), ((0.9, 0.1), (0.1, 0.9)), ((0.8, 0.2), (0.2, 0.8))
    assert mercer.parse(repr(HiddenMarkov(model, "ab")), names={"HiddenMarkov": HiddenMarkov}) == HiddenMarkov(
        model, "ab"
    )


def test_models_of_all_kinds():
    start, transition, emission = chain(2)
    ours = HiddenMarkovModel(2, alphabet="abc", start=start, transitions=transition, emissions=emission, missing="?")
    theirs = SimpleNamespace(startprob_=start, transmat_=transition, emissionprob_=emission)  # as hmmlearn's
    X = ["abc", "a?c", "cab"]
    expected = HiddenMarkov(chain(2), "abc", "?")(X)
    np.testing.assert_array_equal(HiddenMarkov(ours)(X), expected)
    np.testing.assert_array_equal(HiddenMarkov(theirs, "abc", "?")(X), expected)
    np.testing.assert_array_equal(HiddenMarkov(theirs)([[0, 1, 2]]), expected[:1, :1])


def test_a_likelihood_is_the_kernel_with_a_missing_string():
    """Summed over all strings of its length, t leaves P(s)."""
    start, transition, emission = chain(3)
    model = HiddenMarkovModel(3, alphabet="abc", start=start, transitions=transition, emissions=emission)
    s = strings(30)
    K = HiddenMarkov(model, missing="?")(s, ["?" * 30])
    np.testing.assert_allclose(np.log(K[0]), model.log_likelihood(Strings.pack(s)), rtol=1e-12)


def test_learned_and_saved(tmp_path):
    X = ["aabb", "aabc", "abbb", "aaab", "ccba", "ccaa", "cbaa", "ccca"] * 2
    y = ([0] * 4 + [1] * 4) * 2
    to_learn = HiddenMarkov(HiddenMarkovModel(2, max_iter=20, tol=1e-2), form="normalised")
    for name, kernel in (("learned", to_learn), ("given", HiddenMarkov(chain(2), "abc"))):
        fitted = SVC(kernel).fit(X, y)
        mercer.save(fitted, tmp_path / name)
        again = mercer.load(tmp_path / name)
        np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))
    assert SVC(to_learn).fit(X, y).score(X, y) == 1.0


def test_beside_other_kernels_on_strings():
    kernel, X = HiddenMarkov(chain(2), "abc"), ["abc", "cab", "a"]
    np.testing.assert_allclose((kernel + Spectrum(1))(X), kernel(X) + Spectrum(1)(X), rtol=1e-13)
    with pytest.raises(DomainError, match="'x'"):
        (Spectrum(1) + kernel)(["abx"])


def test_tiles_are_small_where_strings_are_long():
    kernel = HiddenMarkov(chain(3), "abc")
    sides = [kernel.grain(Comparison(kernel, S, S)) or 0 for S in (Strings.pack(["a" * n] * 3) for n in (3, 30, 3000))]
    assert sides[0] > sides[1] > sides[2] >= 4


def test_what_is_refused():
    start, transition, emission = chain(2)
    with pytest.raises(DomainError, match=r"Symbol 2 of sample 1 is 'x'.*missing"):
        HiddenMarkov(chain(2), "abc")(["abc", "abx"])
    for model, match in [
        ((start, transition), "tuple"),
        ((start, transition[:1], emission), "shapes"),
        ((start, transition, emission[:1]), "shapes"),
        ((start, transition * 2.0, emission), "transition probabilities"),
        ((start, transition, -emission), "emission probabilities"),
        (("x", transition, emission), "tuple"),
        (paired(2), "shapes"),
    ]:
        with pytest.raises(ParameterError, match=match):
            HiddenMarkov(model, "abc")(["abc"])
    with pytest.raises(ParameterError, match="alphabet of 2 symbols for emissions of 3"):
        HiddenMarkov(chain(2), "ab")(["ab"])
    for symbols in ("aab", ["a", "b", "c"], 3, ([1], [2], [3])):
        with pytest.raises(ParameterError, match="alphabet"):
            HiddenMarkov(chain(2), symbols)(["ab"])
    with pytest.raises(ParameterError, match="learn"):
        HiddenMarkov(HiddenMarkovModel(2))(["ab"])


def test_impossible_strings():
    kernel = HiddenMarkov(((1.0,), ((1.0,),), ((1.0, 0.0),)), "ab")
    np.testing.assert_array_equal(kernel(["a", "b"]), [[1.0, 0.0], [0.0, 0.0]])
    with pytest.warns(DegenerateWarning, match="zero probability"):
        np.testing.assert_array_equal(kernel.normalized()(["a", "b"]), np.eye(2))
