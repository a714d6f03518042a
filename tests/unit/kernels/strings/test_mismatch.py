"""Mismatch and Wildcard beside the definition: every word of the alphabet, one by one."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.domains import Strings
from mercer.errors import CapabilityError, DomainError, MemoryBudgetError, ParameterError
from mercer.free_parameters import with_free
from mercer.kernels import Spectrum
from mercer.kernels.strings import mismatch as module
from mercer.kernels.strings.mismatch import Mismatch, Wildcard, common_neighbours
from mercer.testing import check_kernel

DNA = st.lists(st.text("ACGTN", max_size=9), min_size=1, max_size=5)
SIZES = [(1, 0), (1, 1), (2, 1), (3, 0), (3, 1), (3, 2), (3, 3)]


def near(s, k, m, alphabet="ACGT"):
    """Numbers of k-mers near each word of the alphabet, from the definition."""
    found = Counter()
    for kmer in (s[i : i + k] for i in range(len(s) - k + 1)):
        if set(kmer) <= set(alphabet):
            for word in product(alphabet, repeat=k):
                found[word] += sum(a != b for a, b in zip(word, kmer, strict=True)) <= m
    return +found


def wild(s, k, m, decay):
    found = Counter()
    for i in range(len(s) - k + 1):
        for count in range(min(m, k) + 1):
            for places in combinations(range(k), count):
                found[tuple(None if j in places else s[i + j] for j in range(k))] += decay**count
    return found


def table(features, X, Y):
    left, right = ([features(s) for s in side] for side in (X, Y))
    return np.array([[sum(f[u] * g[u] for u in f) for g in right] for f in left], dtype=float)


def random_strings(count, low, high, letters="ACGT", seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(letters), rng.integers(low, high))) for _ in range(count)]


@pytest.mark.parametrize("small", [4096, -1], ids=["features", "agreements"])
@given(X=DNA, Y=DNA, size=st.sampled_from(SIZES))
def test_mismatches_by_the_definition(small, X, Y, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_SMALL", small)
        kernel = Mismatch(*size)
        K = kernel(X)
        np.testing.assert_array_equal(K, table(lambda s: near(s, *size), X, X))
        np.testing.assert_array_equal(kernel(X, Y), table(lambda s: near(s, *size), X, Y))
        np.testing.assert_array_equal(kernel.diag(Strings.pack(X)), np.diag(K))


@given(X=DNA, Y=DNA, size=st.sampled_from(SIZES), decay=st.sampled_from([0.5, 1.0]))
def test_wildcards_by_the_definition(X, Y, size, decay):
    kernel = Wildcard(*size, decay)
    np.testing.assert_array_equal(kernel(X), table(lambda s: wild(s, *size, decay), X, X))
    np.testing.assert_array_equal(kernel(X, Y), table(lambda s: wild(s, *size, decay), X, Y))


def test_features_are_numbered_words():
    X, Y = ["GATTACA", "CAT", "NNN"], ["TTT", "GATNACA"]
    for kernel, one in ((Mismatch(3, 1), lambda s: near(s, 3, 1)), (Wildcard(3, 2, 0.5), lambda s: wild(s, 3, 2, 0.5))):
        S = kernel.prepare(kernel.pack(X))
        F, keys = kernel.features(S)
        assert F.shape == (3, kernel.feature_count(S)) == (3, len(keys))
        for i, s in enumerate(X):
            assert {keys.symbols(j): F[i, j] for j in F[[i]].indices} == dict(one(s))
        G, same = kernel.features(kernel.pack(Y), keys)
        assert same is keys
        np.testing.assert_array_equal((G @ F.T).toarray(), kernel(Y, X))


def test_features_where_the_kernel_does_not_use_them():
    kernel = Mismatch(3, 1, "protein")
    assert not kernel._by_features
    X = random_strings(6, 3, 20, "ACDEFGHIKLMNPQRSTVWY")
    F, keys = kernel.features(kernel.prepare(kernel.pack(X)))
    np.testing.assert_array_equal((F @ F.T).toarray(), kernel(X))
    assert len(keys.symbols(0)) == 3


@pytest.mark.parametrize("size", [(4, 1), (5, 2), (5, 3), (6, 3)])
def test_both_ways_agree_where_they_are_used(size, monkeypatch):
    X = random_strings(20, 10, 60)
    kernels = Mismatch(*size)(X)
    monkeypatch.setattr(module, "_SMALL", -1)
    monkeypatch.setattr(Mismatch, "_choices", 0)
    assert not Mismatch(*size)._by_features
    np.testing.assert_array_equal(Mismatch(*size)(X), kernels)


def test_common_neighbours_by_listing():
    for letters, k, m in ((2, 4, 1), (3, 3, 2), (4, 3, 1), (3, 4, 3)):
        words = list(product(range(letters), repeat=k))
        origin = words[0]
        for d in range(k + 1):
            other = (*[1] * d, *[0] * (k - d))
            listed = sum(
                max(sum(a != b for a, b in zip(w, v, strict=True)) for v in (origin, other)) <= m for w in words
            )
            assert common_neighbours(k, m, d, letters) == listed


def test_without_mismatches_it_is_the_spectrum():
    X = random_strings(10, 0, 20)
    np.testing.assert_array_equal(Mismatch(3, 0)(X), Spectrum(3)(X))
    np.testing.assert_array_equal(Wildcard(3, 0)(X), Spectrum(3)(X))
    proteins = random_strings(10, 0, 40, "ACDEFGHIKLMNPQRSTVWY")
    np.testing.assert_array_equal(Mismatch(4, 0, "protein")(proteins), Spectrum(4)(proteins))


def test_all_mismatches_make_all_words_alike():
    X = ["ACGT", "AC", ""]
    np.testing.assert_array_equal(Mismatch(2, 2)(X), 16 * np.outer([3, 1, 0], [3, 1, 0]))
    np.testing.assert_array_equal(Wildcard(2, 9)(["ab", "cd"]), [[4, 1], [1, 4]])


def test_the_value_depends_on_the_alphabet():
    X = ["ab", "ba"]
    np.testing.assert_array_equal(Mismatch(2, 1, "ab")(X), [[3, 2], [2, 3]])
    np.testing.assert_array_equal(Mismatch(2, 1, "abc")(X), [[5, 2], [2, 5]])
    words = [("to", "be"), ("be", "to")]
    np.testing.assert_array_equal(Mismatch(2, 1, ("to", "be", "or"))(words), [[5, 2], [2, 5]])


def test_long_words():
    """More words than can be numbered, near enough to have some in common."""
    rng = np.random.default_rng(0)
    stem = "".join(rng.choice(list("ACGT"), 60))
    X = [stem, stem[:30] + "A" + stem[31:], stem[::-1]]
    kernel = Mismatch(40, 1)
    expected = np.zeros((3, 3))
    for i, s in enumerate(X):
        for j, t in enumerate(X):
            for a in range(21):
                for b in range(21):
                    d = sum(x != y for x, y in zip(s[a : a + 40], t[b : b + 40], strict=True))
                    expected[i, j] += common_neighbours(40, 1, d, 4) if d <= 2 else 0
    np.testing.assert_array_equal(kernel(X), expected)
    with pytest.raises(CapabilityError, match="2\\*\\*62"):
        kernel.features(kernel.pack(X))


@pytest.mark.parametrize("kernel", [Mismatch(2, 1), Mismatch(3, 1, "ACGTUV"), Wildcard(2, 1, 0.7)], ids=repr)
def test_laws(kernel):
    check_kernel(kernel, ["", "A", *random_strings(9, 0, 9)])


def test_the_derivative_in_the_decay():
    X, kernel = random_strings(5, 3, 12), Wildcard(3, 2, 0.8)
    S, W, h = kernel.prepare(kernel.pack(X)), np.random.default_rng(0).normal(size=(5, 5)), 1e-5
    up, down = (with_free(kernel, [0.8 + step])(X) for step in (h, -h))
    np.testing.assert_allclose(kernel.pullback(S, S, W), [np.vdot(W, up - down) / (2 * h)], rtol=1e-7)


def test_letters_that_are_not_known():
    np.testing.assert_array_equal(Mismatch(2, 1)(["ACNGT"]), Mismatch(2, 1)(["AC"]) + 2 * Mismatch(2, 1)(["AC"], ["GT"])
                                  + Mismatch(2, 1)(["GT"]))  # fmt: skip
    with pytest.raises(DomainError, match=r"Symbol 1 of sample 1 is 'c'.*str\.upper"):
        Mismatch(2, 1)(["AC", "Ac"])
    with pytest.raises(DomainError, match="'N'"):
        Mismatch(2, 1, "ACGT")(["ACN"])
    S = Strings.pack(["AC", "xy"])
    assert Mismatch(2, 1)(S[:1]).item() == 7  # the strange letters are in other samples


def test_what_is_refused():
    for kernel in (Mismatch(0), Mismatch(2, -1), Mismatch(2, 1, "a"), Mismatch(2, 1, "aa"), Wildcard(2, 1, 0.0)):
        with pytest.raises(ParameterError):
            kernel(["ab"])
    with pytest.raises(ParameterError, match="mismatches <= 2"):
        Mismatch(2, 3)(["AC"])
    with pytest.raises(MemoryBudgetError, match="patterns of 60 places"):
        Mismatch(60, 20)(["A" * 80])
    with pytest.raises(ParameterError, match="Name every symbol"):
        Mismatch(2, 1, ["A", "C"])(["AC"])  # pyright: ignore[reportArgumentType]


def test_compiled_code_as_python(monkeypatch):
    expected = Mismatch(3, 1)(["GATTACA", "CAT"])
    monkeypatch.setattr(module, "_number_near", module._number_near.py_func)
    np.testing.assert_array_equal(Mismatch(3, 1)(["GATTACA", "CAT"]), expected)
