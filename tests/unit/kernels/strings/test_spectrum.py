"""The spectrum kernel: counts in Python integers, any alphabet, vocabularies that differ."""

import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.domains import Strings
from mercer.errors import DomainError, ParameterError
from mercer.kernels import counts
from mercer.kernels import kmers as module
from mercer.kernels.strings.spectrum import BlendedSpectrum, Match, Spectrum
from mercer.language import parse
from mercer.testing import check_kernel
from tests.clock import allowed
from tests.naive.strings import kmers, match, spectrum, substrings
from tests.strategies import strings


def table(X, Y, length):
    return [[spectrum(s, t, length) for t in Y] for s in X]


def test_the_printed_number():
    """[ST] "String kernels": the two strings have "tat" and "ati" in common."""
    K = Spectrum(3)(["statistics", "computation"])
    np.testing.assert_array_equal(K, [[8.0, 2.0], [2.0, 9.0]])


@given(X=strings(), length=st.integers(1, 5))
def test_counts_are_exact(X, length):
    K = Spectrum(length)(X)
    assert K.dtype == np.float64
    np.testing.assert_array_equal(K, table(X, X, length))
    np.testing.assert_array_equal(Spectrum(length).diag(Strings.pack(X)), np.diag(K))


@given(X=strings(), Y=strings(), length=st.integers(1, 40))
def test_vocabularies_may_differ(X, Y, length):
    if isinstance(X[0], str) == isinstance(Y[0], str):
        np.testing.assert_array_equal(Spectrum(length)(X, Y), table(X, Y, length))


@given(X=strings(min_samples=2), Y=strings(), length=st.integers(1, 4))
def test_features_give_the_kernel(X, Y, length):
    kernel = Spectrum(length)
    S = kernel.pack(X)
    F, keys = kernel.features(S)
    assert F.shape == (len(X), kernel.feature_count(S)) and F.has_sorted_indices
    np.testing.assert_array_equal((F @ F.T).toarray(), kernel(S))
    for i, s in enumerate(X):
        counts = kmers([v.item() if isinstance(v, np.generic) else v for v in s], length)
        assert {keys.symbols(j): F[i, j] for j in F[[i]].indices} == dict(counts)
    if isinstance(X[0], str) == isinstance(Y[0], str):
        G, same = kernel.features(kernel.pack(Y), keys)
        assert same is keys and G.shape == (len(Y), len(keys))
        np.testing.assert_array_equal((G @ F.T).toarray(), kernel(Y, X))


def test_long_substrings_are_ranked_not_hashed():
    rng = np.random.default_rng(0)
    stem = "".join(rng.choice(list("ACGT"), 300))
    X = [stem, stem[100:] + "ACGT", stem[::-1], "ACGT", stem[:150] + "T" + stem[150:]]
    Y = ["x" + stem[50:], stem[:-1]]
    for length in (30, 31, 32, 40, 63, 64, 65, 150, 290):
        assert module._numerable(4, length) == (length <= 30)
        np.testing.assert_array_equal(Spectrum(length)(X), table(X, X, length))
        np.testing.assert_array_equal(Spectrum(length)(X, Y), table(X, Y, length))
        np.testing.assert_array_equal(Spectrum(length)(Y, X), table(Y, X, length))


def test_large_alphabets():
    words = [[f"w{i * j % 997}" for i in range(200)] for j in range(1, 9)]
    for length in (1, 2, 6, 7, 13):
        np.testing.assert_array_equal(Spectrum(length)(words), table(words, words, length))


def test_short_and_empty_strings_have_no_features():
    X = ["", "a", "ab", "abc"]
    K = Spectrum(3)(X)
    np.testing.assert_array_equal(K, np.diag([0.0, 0.0, 0.0, 1.0]))
    np.testing.assert_array_equal(Spectrum(2)(["", ""]), 0.0)
    np.testing.assert_array_equal(Spectrum(2)(["", ""], ["ab"]), 0.0)
    np.testing.assert_array_equal(Spectrum(2)(["ab"], [""]), 0.0)
    np.testing.assert_array_equal(Spectrum(100)(["ab", "b"]), 0.0)


def test_unicode_and_surrogates():
    X = ["\ud800\udc00é", "e\u0301é\U0001f600", "\U0001f600\ud800\udc00", "\0\0\0"]
    for length in (1, 2, 3):
        np.testing.assert_array_equal(Spectrum(length)(X), table(X, X, length))


def test_tokens():
    X = [("to", "be", "or", "not", "to", "be"), ("to", "be"), (1, 2, b"x")]
    np.testing.assert_array_equal(Spectrum(2)(X), table(X, X, 2))


def test_counts_do_not_overflow():
    X = ["a" * 100_000]
    assert Spectrum(1)(X).item() == 1e10
    assert Spectrum(3)(X).item() == float(99_998**2)


def test_one_letter_and_very_long_substrings():
    X = ["a" * 100_000, "a" * 70_000, "b"]
    K = Spectrum(50_000)(X)
    np.testing.assert_array_equal(K[:2, :2], [[50_001.0**2, 50_001.0 * 20_001.0], [50_001.0 * 20_001.0, 20_001.0**2]])
    np.testing.assert_array_equal(Spectrum(50_000)(X[:1])[0], [50_001.0**2])


def test_pieces_of_a_prepared_collection():
    rng = np.random.default_rng(1)
    X = ["".join(rng.choice(list("ab"), rng.integers(0, 12))) for _ in range(30)]
    kernel = Spectrum(3)
    S = kernel.prepare(kernel.pack(X))
    assert kernel.prepare(S) is S and S.nbytes > kernel.pack(X).nbytes
    K = np.array(table(X, X, 3), dtype=float)
    np.testing.assert_array_equal(kernel(S), K)
    for index in (slice(3, 9), np.array([5, 2, 2]), np.arange(30) % 3 == 0):
        np.testing.assert_array_equal(kernel(S[index]), K[index][:, index])
        np.testing.assert_array_equal(kernel(S[index], S), K[index])
        np.testing.assert_array_equal(kernel.block(S[index], S[4:8]), K[index][:, 4:8])
        np.testing.assert_array_equal(kernel.diag(S[index]), np.diag(K)[index])
        np.testing.assert_array_equal((kernel.features(S[index])[0] @ kernel.features(S)[0].T).toarray(), K[index])


@pytest.mark.parametrize(("alphabet", "length"), [("ab", 2), ("ACGT", 4), ("abcdefghijklmnopqrst", 3), ("ab", 70)])
def test_many_tiles_by_lists_and_by_products(alphabet, length, monkeypatch):
    rng = np.random.default_rng(2)
    X = ["".join(rng.choice(list(alphabet), rng.integers(0, 90))) for _ in range(420)]
    kernel = Spectrum(length)
    F, keys = kernel.features(kernel.pack(X))
    G = kernel.features(kernel.pack(X[:400]), keys)[0]
    for filled in (-1.0, np.inf):  # always a matrix product, never one
        monkeypatch.setattr(counts, "_FILLED", filled)
        np.testing.assert_array_equal(kernel(X), (F @ F.T).toarray())
        np.testing.assert_array_equal(kernel(X, X[:400]), (F @ G.T).toarray())


def test_laws():
    rng = np.random.default_rng(3)
    X = ["".join(rng.choice(list("abc"), rng.integers(0, 20))) for _ in range(40)]
    K = Spectrum(2)(X)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-10
    kernel = Spectrum(2)
    assert kernel.order == 0
    assert not (kernel.strict or kernel.universal or kernel.stationary or kernel.normalised or kernel.bounded)
    assert kernel.capabilities == {"features"}


def test_sums_share_a_collection():
    X = ["statistics", "computation", "st"]
    kernel = Spectrum(2) + 0.5 * Spectrum(3)
    expected = np.array(table(X, X, 2)) + 0.5 * np.array(table(X, X, 3))
    np.testing.assert_array_equal(kernel(X), expected)
    F, _ = kernel.features(kernel.prepare(kernel.pack(X)))
    np.testing.assert_allclose((F @ F.T).toarray(), expected, rtol=1e-12)


@pytest.mark.parametrize("length", [0, -1, 2.5, True, "3", None])
def test_bad_lengths(length):
    with pytest.raises(ParameterError, match="length"):
        Spectrum(length)(["abc"])


def test_bad_data():
    with pytest.raises(DomainError, match="single string"):
        Spectrum(2)("abc")


def test_text():
    assert parse(repr(Spectrum(4)), names={"Spectrum": Spectrum}) == Spectrum(4)


def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(4)
    X = ["".join(rng.choice(list("abc"), 30)) for _ in range(500)]
    np.testing.assert_array_equal(Spectrum(3)(X, n_threads=1), Spectrum(3)(X, n_threads=2))


def test_compiled_loops_are_plain_python_too():
    X = ["abracadabra"]
    numbers = np.empty(len(list(kmers(X[0], 2).elements())), np.int64)
    S = Strings.pack(X[:1])
    module._number_windows.py_func(S.codes, S.offsets, 2, 5, numbers)
    np.testing.assert_array_equal(numbers, 5 * S.codes[:-1] + S.codes[1:])
    values = np.array([5, 3, 5, 2**61, 3])
    ids, first = np.empty(5, np.int64), np.empty(5, np.intp)
    with np.errstate(over="ignore"):
        assert module._number_values.py_func(values, np.full(16, -1), 60, ids, first) == 3
    np.testing.assert_array_equal(ids, [0, 1, 0, 2, 1])
    numbers = np.empty(2, np.int64)
    module._number_kmers.py_func(np.array([1, 0, -1]), np.array([0, 1]), 2, 3, numbers)
    np.testing.assert_array_equal(numbers, [3, -1])


# by a trie ----------------------------------------------------------------------------------------------


@given(X=strings(), Y=strings(), length=st.integers(1, 5))
def test_a_trie_gives_the_same_numbers(X, Y, length):
    kernel, trie = Spectrum(length), Spectrum(length, method="trie")
    np.testing.assert_array_equal(trie(X), kernel(X))
    np.testing.assert_array_equal(trie.diag(trie.pack(X)), kernel.diag(kernel.pack(X)))
    if isinstance(X[0], str) == isinstance(Y[0], str):
        np.testing.assert_array_equal(trie(X, Y), kernel(X, Y))


def test_a_trie_in_tiles_and_laws():
    rng = np.random.default_rng(6)
    X = ["".join(rng.choice(list("abcd"), rng.integers(0, 40))) for _ in range(400)]
    trie = Spectrum(3, method="trie")
    np.testing.assert_array_equal(trie(X), Spectrum(3)(X))
    S = trie.pack(X)
    assert trie.prepare(S) is S
    check_kernel(trie, ["abab", "", "ba", "bab", "ab"])
    assert parse(repr(trie), names={"Spectrum": Spectrum}) == trie != Spectrum(3)
    with pytest.raises(ParameterError, match="method"):
        Spectrum(3, method="hash")(X)


# all lengths up to one ----------------------------------------------------------------------------------


@given(X=strings(), Y=strings(), length=st.integers(1, 4), decay=st.sampled_from([0.25, 1.0, 1.5]))
def test_blended_by_definition(X, Y, length, decay):
    kernel = BlendedSpectrum(length, decay=decay)
    expected = [[substrings(s, t, lambda p: decay**p * (p <= length)) for t in X] for s in X]
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-13)
    np.testing.assert_allclose(kernel.diag(kernel.pack(X)), np.diag(expected), rtol=1e-13)
    F, keys = kernel.features(kernel.pack(X))
    assert F.shape == (len(X), kernel.feature_count(kernel.pack(X)))
    np.testing.assert_allclose((F @ F.T).toarray(), expected, rtol=1e-12)
    if isinstance(X[0], str) == isinstance(Y[0], str):
        G, _ = kernel.features(kernel.pack(Y), keys)
        np.testing.assert_allclose((G @ F.T).toarray(), kernel(Y, X), rtol=1e-12)


def test_blended_laws():
    for kernel in (BlendedSpectrum(3), BlendedSpectrum(2, decay=0.5)):
        check_kernel(kernel, ["abab", "", "ba", "bab", "ab"])
        assert parse(repr(kernel), names={"BlendedSpectrum": BlendedSpectrum}) == kernel
        assert kernel.capabilities >= {"features", "pullback"}


@pytest.mark.parametrize("options", [{"length": 0}, {"length": 2, "decay": 0.0}, {"length": 2, "decay": "no"}])
def test_bad_blends(options):
    with pytest.raises(ParameterError, match=list(options)[-1]):
        BlendedSpectrum(**options)(["abc"])


def test_blends_beyond_the_range_of_numbers():
    with pytest.raises(DomainError, match="too large"):
        BlendedSpectrum(2, decay=1e200)(["abc"])


# categories ---------------------------------------------------------------------------------------------

VALUES = st.one_of(st.text("ab", max_size=2), st.integers(-2, 2), st.booleans(), st.binary(max_size=1))


@given(X=st.lists(VALUES, min_size=1, max_size=8), Y=st.lists(VALUES, min_size=1, max_size=8))
def test_categories_match_or_not(X, Y):
    np.testing.assert_array_equal(Match()(X), [[match(x, z) for z in X] for x in X])
    np.testing.assert_array_equal(Match()(X, Y), [[match(x, z) for z in Y] for x in X])
    np.testing.assert_array_equal(Match().diag(Match().pack(X)), 1.0)


@pytest.mark.parametrize(
    "wrap", [list, np.array, pd.Series, pl.Series, lambda x: np.array(x, object), lambda x: pd.DataFrame({"a": x})]
)
@pytest.mark.parametrize("values", [["red", "", "red"], [1, 2, 1], [True, False, True]])
def test_categories_come_in_any_container(wrap, values):
    np.testing.assert_array_equal(Match()(wrap(values)), [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])


def test_a_category_is_one_symbol_however_long():
    kernel = Match()
    S = kernel.pack(["GATTACA", "TAG"])
    assert S.vocabulary == ("GATTACA", "TAG") and kernel.pack(S) is S
    F, keys = kernel.features(S)
    assert F.shape == (2, 2) and keys.symbols(0) == ("GATTACA",)
    assert kernel.strict and kernel.normalised and kernel.bounded and kernel.get_params() == {}
    assert parse(repr(kernel)) == kernel and repr(kernel) == "Match()"


def test_categories_beside_other_columns():
    table = {"city": ["Oslo", "Rome", "Oslo"], "name": ["ab", "bc", "abc"]}
    kernel = Match().on("city") * Spectrum(1).on("name") + Match().on("city")
    np.testing.assert_array_equal(kernel(table), [[3.0, 0.0, 3.0], [0.0, 3.0, 0.0], [3.0, 0.0, 4.0]])


def test_a_column_is_read_as_categories_or_as_texts():
    with pytest.raises(DomainError, match="Strings and Strings of one symbol at once"):
        (Match().on("name") + Spectrum(2).on("name"))({"name": ["ab", "bc"]})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", None], "Sample 1 is missing"),
        ([float("nan"), "a"], "Sample 0 is missing"),
        (pd.array(["a", pd.NA]), "Sample 1 is missing"),
        ([1.5, 2.5], "Sample 0 is a real number"),
        ([["a"], ["b"]], "Sample 0 is of type list"),
        ("abc", "single string"),
        ([], "minimum of 1 is required"),
        (Strings.pack(["a", "bc"]), "sample 1 has 2 symbols"),
    ],
)
def test_what_is_no_category(values, message):
    with pytest.raises(DomainError, match=message):
        Match()(values)


@pytest.mark.slow
@pytest.mark.timing
def test_a_thousand_strings_take_no_time():
    rng = np.random.default_rng(5)
    X = ["".join(rng.choice(list("ACGT"), 200)) for _ in range(1000)]
    Spectrum(5)(X[:50])
    S = Strings.pack(X)
    start = time.perf_counter()
    Spectrum(5)(S)
    assert time.perf_counter() - start < allowed(2.0)  # about 0.1 on an idle machine
