"""Subsequence and GappySpectrum beside the definition: all index sequences, one by one."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import KernelRidge
from mercer.domains import Strings
from mercer.errors import DomainError, MemoryBudgetError, ParameterError
from mercer.free_parameters import with_free
from mercer.gram import Dense, Tiles
from mercer.kernels import Spectrum
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import grain_of
from mercer.kernels.strings import subsequence as module
from mercer.kernels.strings.subsequence import GappySpectrum, Subsequence
from mercer.testing import check_kernel

WORDS = st.lists(st.text("abc", max_size=9), min_size=1, max_size=6)


def features(s, p, decay, gaps=None):
    """Weights of all subsequences, from the definition."""
    found = Counter()
    for places in combinations(range(len(s)), p):
        spread = places[-1] - places[0] + 1
        if gaps is None or spread <= p + gaps:
            found[tuple(s[i] for i in places)] += decay ** (spread if gaps is None else spread - p)
    return found


def table(X, Y, *parameters):
    left, right = ([features(s, *parameters) for s in side] for side in (X, Y))
    return np.array([[sum(f[u] * g[u] for u in f) for g in right] for f in left])


def random_strings(count, low, high, letters="abc", seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(letters), rng.integers(low, high))) for _ in range(count)]


@given(X=WORDS, Y=WORDS, p=st.integers(1, 5), decay=st.sampled_from([0.1, 0.5, 0.9, 1.0]))
def test_subsequences_by_the_definition(X, Y, p, decay):
    kernel = Subsequence(p, decay)
    np.testing.assert_allclose(kernel(X, Y), table(X, Y, p, decay), rtol=1e-13, atol=0)
    K = kernel(X)
    np.testing.assert_allclose(K, table(X, X, p, decay), rtol=1e-13, atol=0)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(kernel.diag(Strings.pack(X)), np.diag(K))


@given(X=WORDS, Y=WORDS, p=st.integers(1, 4), gaps=st.integers(0, 4), decay=st.sampled_from([0.3, 1.0]))
def test_gaps_by_the_definition(X, Y, p, gaps, decay):
    kernel = GappySpectrum(p, gaps, decay)
    np.testing.assert_allclose(kernel(X, Y), table(X, Y, p, decay, gaps), rtol=1e-13, atol=0)
    np.testing.assert_allclose(kernel(X), table(X, X, p, decay, gaps), rtol=1e-13, atol=0)


def test_printed_table_of_four_words():
    words, lam = ["cat", "car", "bat", "bar"], 0.7
    K = Subsequence(2, lam)(words)
    own = 2 * lam**4 + lam**6
    expected = [
        [own, lam**4, lam**4, 0.0],
        [lam**4, own, 0.0, lam**4],
        [lam**4, 0.0, own, lam**4],
        [0.0, lam**4, lam**4, own],
    ]
    np.testing.assert_allclose(K, expected, rtol=1e-14)


def test_printed_features():
    for lam in (0.3, 1.0):
        K = Subsequence(3, lam)(["Nasdaq", "lass das"], ["asd"])
        np.testing.assert_allclose(K[:, 0] / lam**3, [lam**3, 2 * lam**5], rtol=1e-14)


def test_counts_are_those_of_whole_numbers():
    assert Subsequence(5, 1.0)(["a" * 60]).item() == comb(60, 5) ** 2
    assert GappySpectrum(3, 2)(["a" * 50], ["a" * 40]).item() == (48 + 2 * 47 + 3 * 46) * (38 + 2 * 37 + 3 * 36)


@pytest.mark.parametrize("p", [1, 2, 4, 20])
def test_strips_of_a_table_fit_together(p):
    """Strings longer than a strip, in a plain table of whole rows."""
    s, t = random_strings(2, 169, 170, "ab", seed=p)
    lam = 0.8
    below = np.ones((len(s) + 1, len(t) + 1))
    match = np.array([[a == b for b in t] for a in s])
    for _ in range(p - 1):
        level, running = np.zeros_like(below), np.zeros(len(s) + 1)
        for j in range(1, len(t) + 1):
            running[1:] = lam * running[1:] + np.where(match[:, j - 1], below[:-1, j - 1], 0.0)
            for i in range(1, len(s) + 1):
                level[i, j] = lam * level[i - 1, j] + running[i]
        below = level
    expected = lam ** (2 * p) * below[:-1, :-1][match].sum()
    np.testing.assert_allclose(Subsequence(p, lam)([s], [t]).item(), expected, rtol=1e-12)


def test_lengths_of_all_kinds_in_one_call():
    X = [*random_strings(9, 0, 30), "", "a", *random_strings(6, 200, 300)]
    kernel = Subsequence(3, 0.6)
    K = kernel(X)
    for i, j in ((0, 12), (9, 9), (11, 13), (2, 16), (10, 16)):
        assert kernel([X[i]], [X[j]]).item() == K[i, j]  # whatever else is in the call


def test_tiles_are_small_where_strings_are_long():
    kernel = Subsequence(4)
    sides = {}
    for length in (2, 50, 200, 2000):
        S = Strings.pack(["a" * length] * 3)
        sides[length] = kernel.grain(Comparison(kernel, S, S))
    assert sides[2] > 384 > sides[50] > sides[200] > sides[2000] == 4
    X = random_strings(30, 60, 80)
    composite = 0.5 * kernel.normalized() + Spectrum(2)
    S = composite.prepare(composite.pack(X))
    assert grain_of(composite, Comparison(composite, S, S)) == kernel.grain(Comparison(kernel, S, S))
    assert grain_of(Spectrum(2), Comparison(Spectrum(2), S, S)) is None
    whole = Comparison(kernel, S, S).at(slice(0, 30), slice(0, 30)).value(kernel)
    np.testing.assert_array_equal(kernel(S), whole)


def test_products_in_small_tiles():
    """What is predicted without the matrix is what is predicted with it."""
    X, Y = random_strings(40, 40, 60), random_strings(9, 40, 60, seed=1)
    y = np.arange(40.0)
    kernel = Subsequence(3, 0.6).normalized()
    stored, tiles = (KernelRidge(kernel, alpha=0.1, gram=gram).fit(X, y) for gram in (Dense(), Tiles()))
    np.testing.assert_allclose(tiles.predict(Y), stored.predict(Y), rtol=1e-6)
    np.testing.assert_allclose(stored.predict(Y), kernel(Y, X) @ stored.dual_coef_, rtol=1e-10)


def test_gaps_lie_between_spectrum_and_subsequences():
    X = random_strings(12, 0, 14)
    np.testing.assert_array_equal(GappySpectrum(3, 0)(X), Spectrum(3)(X))
    np.testing.assert_allclose(GappySpectrum(3, 14, 0.6)(X) * 0.6**6, Subsequence(3, 0.6)(X), rtol=1e-13)
    np.testing.assert_array_equal(GappySpectrum(1, 5)(X), Spectrum(1)(X))


def test_words_as_symbols():
    X = [("to", "be", "or", "not", "to", "be"), ("to", "do"), (1, 2, "to", 3, "be")]
    np.testing.assert_allclose(Subsequence(2, 0.5)(X), table(X, X, 2, 0.5), rtol=1e-14)
    np.testing.assert_allclose(GappySpectrum(2, 1, 0.5)(X), table(X, X, 2, 0.5, 1), rtol=1e-14)


@pytest.mark.parametrize("kernel", [Subsequence(2, 0.6), Subsequence(3, 1.0), GappySpectrum(2, 1, 0.7)], ids=repr)
def test_laws(kernel):
    check_kernel(kernel, ["", "a", *random_strings(9, 0, 9)])


@pytest.mark.parametrize("kernel", [Subsequence(1, 0.5), Subsequence(3, 0.8), GappySpectrum(2, 2, 0.8)], ids=repr)
def test_the_derivative_in_the_decay(kernel):
    X, Y = random_strings(5, 3, 12), random_strings(4, 3, 12, "bcd", seed=1)
    A, B = kernel.prepare(kernel.pack(X)), kernel.prepare(kernel.pack(Y))
    W, h = np.random.default_rng(0).normal(size=(5, 4)), 1e-5
    up, down = (with_free(kernel, [kernel.decay + step])(X, Y) for step in (h, -h))
    np.testing.assert_allclose(kernel.pullback(A, B, W), [np.vdot(W, up - down) / (2 * h)], rtol=1e-7)
    value, _ = kernel.value_and_pullback(Comparison(kernel, A, B).at(slice(0, 5), slice(0, 4)))
    np.testing.assert_allclose(value, kernel(X, Y), rtol=1e-14)


def test_what_is_refused():
    for kernel in (Subsequence(0), Subsequence(2, 0.0), Subsequence(2, 1.1), GappySpectrum(2, -1)):
        with pytest.raises(ParameterError):
            kernel(["ab"])
    with pytest.raises(MemoryBudgetError, match="patterns of 20 places"):
        GappySpectrum(20, 20)(["a" * 50])
    assert GappySpectrum(1, 10**9)(["ab"]).item() == 2.0
    with pytest.raises(DomainError, match="too large"):
        Subsequence(150, 1.0)(["a" * 700])


def test_compiled_code_as_python(monkeypatch):
    """The compiled functions, run as Python, give the same numbers."""
    X, Y = random_strings(3, 3, 7), random_strings(5, 3, 7, seed=1)
    expected = Subsequence(3, 0.5)(X, Y)
    for name in ("_load", "_advance", "_add", "_four", "_compare_all"):
        monkeypatch.setattr(module, name, getattr(module, name).py_func)
    np.testing.assert_array_equal(Subsequence(3, 0.5)(X, Y), expected)
