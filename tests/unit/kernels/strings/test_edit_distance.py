"""Edit-distance kernels: against the recursion, and honest about their negative eigenvalues."""

import functools
import itertools

import numpy as np
import pytest

from mercer import SVC
from mercer.gram import Dense
from mercer.kernels import EditDistance
from mercer.kernels.strings import edit_distance as module
from mercer.language import parse
from mercer.testing import check_kernel

WORDS = ["kitten", "sitting", "mitten", "", "kit", "tin"]
MEMBERS = {"EditDistance": [EditDistance(2.0), EditDistance(1.5, substitution=0.5, relative=True)]}


def edits(s, t, substitution=1.0, gap=1.0):
    """The definition, by recursion on the last letters."""

    @functools.cache
    def cost(i, j):
        if not i or not j:
            return gap * (i + j)
        changed = 0.0 if s[i - 1] == t[j - 1] else substitution
        return min(cost(i - 1, j - 1) + changed, cost(i - 1, j) + gap, cost(i, j - 1) + gap)

    return cost(len(s), len(t))


@pytest.mark.parametrize("costs", [(1.0, 1.0), (0.5, 1.25), (3.0, 0.75)])
def test_agrees_with_the_recursion(costs):
    k = EditDistance(2.0, substitution=costs[0], gap=costs[1])
    expected = np.array([[edits(s, t, *costs) for t in WORDS] for s in WORDS])
    np.testing.assert_allclose(k.edits(WORDS, WORDS), expected, rtol=1e-14)
    np.testing.assert_allclose(k(WORDS, WORDS[:2]), np.exp(-expected[:, :2] / 2.0), rtol=1e-14)
    assert parse(repr(k)) == k


def test_relative_to_the_longer_string():
    longest = np.maximum.outer([len(w) for w in WORDS], [len(w) for w in WORDS]).astype(float)
    expected = np.array([[edits(s, t) for t in WORDS] for s in WORDS]) / np.maximum(longest, 1.0)
    np.testing.assert_allclose(EditDistance(1.0, relative=True)(WORDS), np.exp(-expected), rtol=1e-14)


@pytest.mark.parametrize("k", MEMBERS["EditDistance"], ids=repr)
def test_obeys_the_laws(k):
    check_kernel(k, WORDS)


def test_is_indefinite_and_says_so():
    assert EditDistance().order is None
    words = ["".join(letters) for letters in itertools.product("ab", repeat=4)]
    assert np.linalg.eigvalsh(EditDistance(5.0)(words))[0] < -0.05
    assert np.linalg.eigvalsh(EditDistance(0.5)(words))[0] > 0.0  # nearly the identity


def test_learns_words():
    words = ["cat", "cats", "rat", "house", "houses", "mouse"]
    model = SVC(EditDistance(1.0), C=10.0, gram=Dense(indefinite="clip")).fit(words, [0, 0, 0, 1, 1, 1])
    assert model.predict(["bat", "blouse"]).tolist() == [0, 1]


def test_loops_run_uncompiled():
    s, t = np.array([0, 1, 2], np.int32), np.array([1, 2, 2, 0], np.int32)
    assert module._measure.py_func(s, t, (1.0, 1.0), np.empty(5)) == edits("abc", "bcca")
