"""Kernels of alignments beside the definition: all alignments, one by one."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.domains import Strings
from mercer.errors import DomainError, ParameterError
from mercer.kernels.comparison import Comparison
from mercer.kernels.strings import alignment as module
from mercer.kernels.strings.alignment import GlobalAlignment, LocalAlignment, blosum62
from mercer.testing import check_kernel, violating_vector

BOTH = (LocalAlignment, GlobalAlignment)
WORDS = st.lists(st.text("ab", max_size=5), min_size=1, max_size=4)
COSTS = {"gap_open": 1.7, "gap_extend": 0.6, "beta": 0.8}


def score(s, t, pairs, scores, is_local):
    """The score of an alignment, from the definition."""
    total = sum(scores(s[i], t[j]) for i, j in pairs)
    for side, length in ((0, len(s)), (1, len(t))):
        places = [pair[side] for pair in pairs]
        if not is_local:
            places = [-1, *places, length]
        for before, after in pairwise(places):
            left_out = after - before - 1
            total -= (COSTS["gap_open"] + (left_out - 1) * COSTS["gap_extend"]) if left_out else 0.0
    return total


def all_scores(s, t, scores, is_local):
    for count in range(min(len(s), len(t)) + 1):
        for first in combinations(range(len(s)), count):
            for second in combinations(range(len(t)), count):
                yield score(s, t, list(zip(first, second, strict=True)), scores, is_local)


def simple(a, b):
    return 1.5 if a == b else -0.7


def made(cls, form):
    return cls((1.5, -0.7), form=form, **COSTS)


@pytest.mark.parametrize("cls", BOTH)
@given(X=WORDS, Y=WORDS)
def test_all_alignments(cls, X, Y):
    found = [[list(all_scores(s, t, simple, cls.is_local)) for t in Y] for s in X]
    own = [
        [np.exp(0.8 * np.array(list(all_scores(s, s, simple, cls.is_local)))).sum() for s in side] for side in (X, Y)
    ]
    K = np.array([[np.exp(0.8 * np.array(pair)).sum() for pair in row] for row in found])
    np.testing.assert_allclose(made(cls, "sum")(X, Y), K, rtol=1e-13)
    np.testing.assert_allclose(made(cls, "log")(X, Y), np.log(K) / 0.8, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(made(cls, "normalised")(X, Y), K / np.sqrt(np.outer(*own)), rtol=1e-12)
    best = np.array([[max(pair) for pair in row] for row in found])
    np.testing.assert_allclose(made(cls, "score")(X, Y), best, atol=1e-12)
    S = made(cls, "sum").pack(X)
    np.testing.assert_allclose(made(cls, "sum").diag(S), own[0], rtol=1e-13)
    for i, s in enumerate(X):
        for j, t in enumerate(Y):
            value, places = made(cls, "sum").best(s, t)
            assert value == pytest.approx(best[i, j], abs=1e-12)
            assert score(s, t, places.tolist(), simple, cls.is_local) == pytest.approx(value, abs=1e-12)


def test_scores_of_amino_acids():
    letters, scores = blosum62()
    np.testing.assert_array_equal(scores, scores.T)
    assert "".join(letters[:20]) == "ARNDCQEGHILKMFPSTWYV"
    np.testing.assert_array_equal(np.diag(scores)[:20], [4, 5, 6, 6, 9, 5, 5, 6, 8, 4, 4, 5, 5, 6, 7, 4, 5, 11, 7, 4])
    kernel = LocalAlignment("blosum62", 11.0, 1.0, form="score")
    assert kernel(["HEAGAWGHEE"], ["PAWHEAE"]).item() == 17.0  # HEA: 8 + 5 + 4, and AWGHE: 4 + 11 - 11 + 8 + 5
    assert LocalAlignment("blosum62", 8.0, 8.0, form="score")(["HEAGAWGHEE"], ["PAWHEAE"]).item() == 20.0  # AWGHE


def test_definiteness_is_told():
    for cls in BOTH:
        assert [made(cls, form).order for form in ("normalised", "sum", "log", "score")] == [0, 0, None, None]
        assert cls("blosum62", beta=0.5).order == 0
        assert cls("blosum62", beta=0.01).order is None
    letters = list(blosum62()[0])
    kernel = LocalAlignment("blosum62", 300.0, 300.0, beta=0.01, form="sum")
    assert violating_vector(kernel, letters) is not None  # single letters show it: K = 1 + exp(beta S)
    assert violating_vector(LocalAlignment("blosum62", form="sum"), letters) is None


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("form", ["normalised", "sum", "log", "score"])
def test_laws(cls, form):
    rng = np.random.default_rng(0)
    check_kernel(made(cls, form), ["", "a", *("".join(rng.choice(list("abc"), n)) for n in (1, 3, 4, 5, 8))])


def slow_log_sum(s, t, kernel):
    """Logarithms all the way: nothing overflows."""
    beta = kernel.beta
    d, e = beta * kernel.gap_open, beta * kernel.gap_extend
    n, m = len(s), len(t)
    M, X, Y = (np.full((n + 1, m + 1), -np.inf) for _ in range(3))
    if not kernel.is_local:
        M[0, 0] = 0.0
    add = np.logaddexp
    for i in range(n + 1):
        for j in range(m + 1):
            if i and j:
                before = add(add(M[i - 1, j - 1], X[i - 1, j - 1]), Y[i - 1, j - 1])
                weight = beta * kernel.scores[0 if s[i - 1] == t[j - 1] else 1]
                M[i, j] = weight + (add(0.0, before) if kernel.is_local else before)
            if i:
                X[i, j] = add(M[i - 1, j] - d, X[i - 1, j] - e)
            if j:
                Y[i, j] = add(add(M[i, j - 1], X[i, j - 1]) - d, Y[i, j - 1] - e)
    if kernel.is_local:
        return add(0.0, np.logaddexp.reduce(M.ravel()))
    return add(add(M[n, m], X[n, m]), Y[n, m])


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("scores", [(30.0, -20.0), (-20.0, -25.0)], ids=["large", "small"])
def test_values_beyond_the_range_of_numbers(cls, scores):
    """Paths that have no place in common differ by hundreds of orders of magnitude on their way, and end alike."""
    kernel = cls(scores, 25.0, 12.0, beta=1.5, form="log")
    X = ["a" * 20 + "b" * 20, "b" * 20 + "a" * 20, "ab" * 15, "a"]
    expected = np.array([[slow_log_sum(s, t, kernel) for t in X] for s in X]) / 1.5
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-12, atol=1e-10)
    if scores[0] > 0.0:
        assert np.abs(1.5 * expected).max() > 709.0  # its exponential is no number
        with pytest.raises(DomainError, match="too large"):
            kernel.replace(form="sum")(X)
    own = np.diag(expected)
    normalised = np.exp(1.5 * (expected - 0.5 * np.add.outer(own, own)))
    np.testing.assert_allclose(kernel.replace(form="normalised")(X), normalised, rtol=1e-9, atol=1e-300)


def test_soft_scores_tend_to_the_score():
    X = ["GATTACA", "TTACAG", "CCCC"]
    for cls in BOTH:
        soft = cls((2.0, -1.0), beta=100.0, form="log")(X)
        np.testing.assert_allclose(soft, cls((2.0, -1.0), form="score")(X), atol=0.05)


def test_values_do_not_depend_on_the_company():
    rng = np.random.default_rng(1)
    X = ["".join(rng.choice(list("ACGT"), n)) for n in rng.integers(0, 60, 12)]
    for cls in BOTH:
        K = cls()(X)
        np.testing.assert_array_equal(np.diag(K), 1.0)
        assert K[2, 7] == cls()([X[2]], [X[7]]).item()
    long = Strings.pack(["A" * 900] * 2)
    assert LocalAlignment().grain(Comparison(LocalAlignment(), long, long)) == 4


def test_what_is_refused():
    for wrong in ({"scores": (-1.0, 1.0)}, {"scores": "pam"}, {"gap_open": -1.0}, {"beta": 0.0}, {"form": "max"}):
        with pytest.raises(ParameterError):
            LocalAlignment(**wrong)(["ab"])
    with pytest.raises(ParameterError, match="form='score'"):
        LocalAlignment(beta=200.0)(["ab"])
    assert LocalAlignment(beta=200.0, form="score")(["ab"]).item() == 4.0
    with pytest.raises(DomainError, match=r"Symbol 0 of sample 1 is 'a'.*str\.upper"):
        LocalAlignment("blosum62")(["AR", "ar"])


def test_compiled_code_as_python(monkeypatch):
    X = ["abba", "", "bab"]
    expected = [made(cls, form)(X) for cls in BOTH for form in ("log", "score")]
    for name in ("_scale", "_settle", "_row", "_sum_pair", "_sum_all", "_score_pair", "_score_all"):
        monkeypatch.setattr(module, name, getattr(module, name).py_func)
    again = [made(cls, form)(X) for cls in BOTH for form in ("log", "score")]
    np.testing.assert_allclose(again, expected, rtol=1e-15)
