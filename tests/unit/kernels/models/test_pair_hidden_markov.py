"""PairHiddenMarkov beside the definition: all hidden paths, all alignments, one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer import SVC
from mercer.domains import Strings
from mercer.errors import DegenerateWarning, DomainError, ParameterError
from mercer.kernels.comparison import Comparison
from mercer.kernels.models import pair_hidden_markov as module
from mercer.kernels.models.pair_hidden_markov import PairHiddenMarkov
from mercer.models.hidden_markov import HiddenMarkovModel
from mercer.testing import check_kernel
from tests.naive.hidden_states import chain, log_pairs, naive_pairs, normalised, paired, rows, strings, table

WORDS = st.lists(st.text("abc?", max_size=3), min_size=1, max_size=3)
CHANCES = st.sampled_from([(0.2, 0.4, 0.1), (0.0, 0.5, 0.3), (0.5, 0.0, 0.9)])


@settings(max_examples=30)
@given(X=WORDS, Y=WORDS, independent=st.booleans(), chances=CHANCES)
def test_pairs_by_the_definition(X, Y, independent, chances):
    model = chain(2) if independent else paired(2)
    insertion, extension, stop = chances
    kernel = PairHiddenMarkov(model, "abc", "?", insertion=insertion, extension=extension, stop=stop)
    np.testing.assert_allclose(kernel(X, Y), table(naive_pairs, X, Y, model, *chances), rtol=1e-12, atol=1e-300)
    K = kernel(X)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(kernel.diag(kernel.pack(X)), np.diag(K), rtol=1e-13, atol=0)


def test_lengths_of_all_kinds_in_one_call():
    X = ["abcab", "", "c", "ab", "bacca", "ca", "a", "cabc", "b"]
    kernel = PairHiddenMarkov(paired(2), "abc", insertion=0.3)
    np.testing.assert_allclose(kernel(X), table(naive_pairs, X, X, paired(2), 0.3, 0.5, 0.05), rtol=1e-12)


def test_a_background_of_its_own():
    background = (0.7, 0.2, 0.1)
    kernel = PairHiddenMarkov(paired(2), "abc", insertion=0.3, extension=0.2, stop=0.1, background=background)
    expected = naive_pairs("abca", "cb", paired(2), 0.3, 0.2, 0.1, background)
    np.testing.assert_allclose(kernel(["abca"], ["cb"]).item(), expected, rtol=1e-12)


def test_values_are_probabilities_of_pairs():
    X = ["".join(word) for n in range(8) for word in product("ab", repeat=n)]
    kernel = PairHiddenMarkov(paired(2, 2), "ab", insertion=0.1, extension=0.1, stop=0.9)
    np.testing.assert_allclose(kernel(X).sum(), 1.0, rtol=1e-5)


def test_a_missing_symbol_is_summed_over():
    K = PairHiddenMarkov(paired(2), "abc", "?")(["a?c", "aac", "abc", "acc"], ["abb", "c?b", ""])
    np.testing.assert_allclose(K[0], K[1:].sum(axis=0), rtol=1e-13)


def test_empty_strings():
    K = PairHiddenMarkov(chain(2), "abc", insertion=0.2, stop=0.1)(["", "a" * 40])
    np.testing.assert_allclose(K[0, 0], 0.1 * 0.8**2, rtol=1e-14)
    assert K[0, 1] > 0.0


@pytest.mark.parametrize("chances", [(1e-20, 1e-25, 0.01), (0.3, 1e-40, 1.0 - 1e-14), (0.5, 1e-30, 0.5)])
def test_tables_beyond_the_range_of_floats(chances):
    model = paired(2, seed=5)
    X = [*strings(30, 40, 2), ""]
    X.append(X[0][:20] + "ab" + X[0][20:])
    kernel = PairHiddenMarkov(model, "abc", insertion=chances[0], extension=chances[1], stop=chances[2])
    sides = kernel._sides(kernel.pack(X), kernel.pack(X))
    logs = np.empty((len(X), len(X)))
    kernel._log_tile(*sides, slice(0, len(X)), slice(0, len(X)), logs)
    np.testing.assert_allclose(logs, table(log_pairs, X, X, model, *chances), rtol=1e-11)
    assert logs.min() < -1000.0
    np.testing.assert_allclose(kernel.normalized()(X), normalised(log_pairs, X, X, model, *chances), rtol=1e-8)


def test_very_long_strings():
    s, t = strings(800, 800, seed=1)
    K = PairHiddenMarkov(paired(2), "abc").normalized()([s, s[:400] + "abcabc" + s[400:], t, s[:10]])
    assert 1e-6 < K[0, 1] < 1.0 and K[0, 2] < K[0, 1] and (K >= 0.0).all()


def test_compiled_code_is_the_python_code(monkeypatch):
    X = ["ab", "cab", "b", "ca", "aa", "", "abc"]
    kernel = PairHiddenMarkov(paired(2), "abc", insertion=1e-90)
    expected = kernel(X, n_threads=1)
    for name in ("_scale", "_settle", "_weigh", "_fill", "_begin", "_pairs", "_compare_pairs"):
        monkeypatch.setattr(module, name, getattr(module, name).py_func)
    np.testing.assert_allclose(kernel(X, n_threads=1), expected, rtol=1e-12)


@pytest.mark.parametrize("form", ["probability", "normalised"])
def test_laws(form):
    X = ["abca", "abcb", "ccba", "", "ab", "ba", "c", "abcab", "bbbb", "aaaa"]
    check_kernel(PairHiddenMarkov(paired(2), "abc", insertion=0.2, form=form), X)


def test_text():
    model = (0.5, 0.5), ((0.9, 0.1), (0.1, 0.9)), ((0.8, 0.2), (0.2, 0.8))
    kernel = PairHiddenMarkov(model, "ab", stop=0.2)
    assert mercer.parse(repr(kernel), names={"PairHiddenMarkov": PairHiddenMarkov}) == kernel


def test_order_tells_whether_pairs_are_positive_definite():
    mixed = np.array([[[0.1, 0.4], [0.4, 0.1]]])
    kernel = PairHiddenMarkov(((1.0,), ((1.0,),), mixed), "ab")
    assert kernel.order is None and not kernel.normalized().bounded
    assert np.linalg.eigvalsh(kernel(["a", "b"]))[0] < 0.0
    assert PairHiddenMarkov(paired(3), "abc").order == 0
    assert PairHiddenMarkov(chain(3), "abc").order == 0


def test_learned_and_saved(tmp_path):
    X = ["aabb", "aabc", "abb", "aaab", "ccba", "cca", "cbaa", "ccca"] * 2
    y = ([0] * 4 + [1] * 4) * 2
    fitted = SVC(PairHiddenMarkov(HiddenMarkovModel(2, max_iter=20, tol=1e-2), form="normalised")).fit(X, y)
    assert fitted.score(X, y) == 1.0
    mercer.save(fitted, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))


def test_tiles_are_small_where_strings_are_long():
    kernel = PairHiddenMarkov(chain(3), "abc")
    sides = [kernel.grain(Comparison(kernel, S, S)) or 0 for S in (Strings.pack(["a" * n] * 3) for n in (3, 30, 3000))]
    assert sides[0] > sides[1] > sides[2] >= 4


def test_what_is_refused():
    start, transition, _ = chain(2)
    with pytest.raises(DomainError, match=r"Symbol 2 of sample 1 is 'x'.*missing"):
        PairHiddenMarkov(chain(2), "abc")(["abc", "abx"])
    with pytest.raises(ParameterError, match="swapped"):
        PairHiddenMarkov((start, transition, rows(np.random.default_rng(0), 2, 9).reshape(2, 3, 3)), "abc")(["a"])
    for background in ((0.5, 0.5), (0.5, 0.5, 0.5), "abc"):
        with pytest.raises(ParameterError, match="background"):
            PairHiddenMarkov(chain(2), "abc", background=background)(["a"])
    with pytest.raises(ParameterError, match="stop"):
        PairHiddenMarkov(chain(2), "abc", stop=0.0)(["a"])


def test_impossible_strings():
    model = (1.0,), ((1.0,),), ((1.0, 0.0),)
    with pytest.warns(DegenerateWarning, match="zero probability"):
        K = PairHiddenMarkov(model, "ab").normalized()(["a", "b", "ab"])
    np.testing.assert_array_equal(K, [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
