"""The weighted degree kernel: substring by substring, with shifts, and positive definite."""

import numpy as np
import pytest

from mercer import SVC
from mercer.kernels import Spectrum, WeightedDegree
from mercer.kernels.strings import weighted_degree as module
from mercer.language import parse
from mercer.testing import check_kernel

WORDS = ["GATTACA", "GATTTCA", "AGATTAC", "", "GA", "ATTA", "GAGAGAGAGA"]
MEMBERS = {"WeightedDegree": [WeightedDegree(1), WeightedDegree(3), WeightedDegree(3, shift=2)]}


def weighted_degree(s, t, degree, shift):
    """The definition: every pair of positions and every length."""
    total = 0.0
    for p in range(1, degree + 1):
        beta = 2.0 * (degree - p + 1) / (degree * (degree + 1))
        for i in range(len(s) - p + 1):
            for j in range(len(t) - p + 1):
                if abs(i - j) <= shift and s[i : i + p] == t[j : j + p]:
                    total += beta * (1.0 if i == j else 1.0 / (2.0 * (abs(i - j) + 1)))
    return total


@pytest.mark.parametrize("shift", [0, 1, 3, 20])
@pytest.mark.parametrize("degree", [1, 2, 5])
def test_agrees_with_the_definition(degree, shift):
    k = WeightedDegree(degree, shift=shift)
    expected = [[weighted_degree(s, t, degree, shift) for t in WORDS] for s in WORDS]
    np.testing.assert_allclose(k(WORDS), expected, rtol=1e-13)
    np.testing.assert_allclose(k(WORDS[:3], WORDS[3:]), np.array(expected)[:3, 3:], rtol=1e-13)
    np.testing.assert_allclose(k.diag(WORDS), np.diagonal(expected), rtol=1e-13)
    assert parse(repr(k)) == k


@pytest.mark.parametrize("k", MEMBERS["WeightedDegree"], ids=repr)
def test_obeys_the_laws(k):
    check_kernel(k, WORDS)


def test_shifts_keep_it_positive_definite():
    """The weights of shifts are the Fourier coefficients of a positive function (Rogosinski and Szegoe)."""
    w = np.linspace(0.0, np.pi, 2001)
    for S in (1, 2, 5, 40):
        h = np.arange(1, S + 1)[:, None]
        assert (1.0 + (np.cos(h * w) / (h + 1.0)).sum(axis=0)).min() >= 0.5 - 1e-12
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("AC"), size=6)) for _ in range(40)]
    for shift in (1, 5):
        assert np.linalg.eigvalsh(WeightedDegree(2, shift=shift)(words))[0] > -1e-11


def test_all_shifts_of_one_letter_are_weighted_pairs_of_letters():
    """Without weights of shifts this would be the spectrum of single letters; they make it smaller."""
    inside = WeightedDegree(1, shift=20)(WORDS)
    assert (inside <= Spectrum(1)(WORDS) + 1e-12).all() and (inside >= WeightedDegree(1)(WORDS)).all()


def test_sees_positions_that_a_spectrum_does_not():
    words, labels = ["GGAAAA", "AAGGAA", "GGAAAA", "AAGGAA"], [0, 1, 0, 1]
    assert SVC(WeightedDegree(2)).fit(words, labels).predict(["GGTTTT", "TTGGTT"]).tolist() == [0, 1]


def test_loops_run_uncompiled():
    s, t = np.array([0, 1, 2, 2], np.int32), np.array([0, 1, 2], np.int32)
    expected = weighted_degree("abcc", "abc", 2, 1)
    assert module._compare.py_func(s, t, WeightedDegree(2)._rewards, 1) == pytest.approx(expected)
