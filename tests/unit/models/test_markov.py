"""Markov chains: against products over positions, sums over what is missing, finite differences."""

import numpy as np
import pytest

from mercer.domains import Strings
from mercer.errors import ParameterError
from mercer.models import markov
from mercer.models.markov import MarkovChain
from tests.naive.models import differences, softmax
from tests.naive.models import markov as naive

TEXTS = ["abcab", "", "c", "a?b", "??", "bb?ca?"]


def codes(text):
    return ["abc".find(letter) for letter in text]


def chain(order, **options):
    P = np.random.default_rng(order).dirichlet(np.ones(3), 4**order)
    return MarkovChain(order, alphabet="abc", transitions=P, missing="?", **options).check()


@pytest.mark.parametrize("order", [0, 1, 2])
def test_likelihoods_are_products_summed_over_what_is_missing(order):
    model = chain(order)
    expected = [naive(codes(text), model.transitions, 3, order) for text in TEXTS]
    np.testing.assert_allclose(np.exp(model.log_likelihood(model.pack(TEXTS))), expected, rtol=1e-13)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_scores_are_derivatives(order):
    model, S = chain(order), Strings.pack(TEXTS)
    P = np.asarray(model.transitions)

    def of_logits(logits):
        return model.replace(transitions=softmax(logits)).log_likelihood(S)

    def of_sums(theta):
        return model.replace(transitions=theta / theta.sum(axis=1, keepdims=True)).log_likelihood(S)

    found = model.scores(S)
    assert found.shape == (len(TEXTS), model.size)
    np.testing.assert_allclose(found, differences(of_logits, np.log(P)), atol=1e-8)
    probability = model.replace(parameters="probability")
    np.testing.assert_allclose(probability.scores(S), differences(of_sums, P, 1e-6), atol=1e-6)


def test_learning_counts():
    model = MarkovChain(pseudocount=0.5)
    learned = model.learn(model.pack(["ab", "aab"]))
    assert learned.alphabet == ("a", "b") and not model.fitted
    # after a: one a, two b; after b: nothing; at the beginning: two a
    np.testing.assert_allclose(learned.transitions, [[1.5 / 4, 2.5 / 4], [0.5, 0.5], [2.5 / 3, 0.5 / 3]])
    bare = MarkovChain(pseudocount=0.0)
    np.testing.assert_allclose(bare.learn(bare.pack(["ab"])).transitions[1], [0.5, 0.5])  # never seen


def test_at_maximum_likelihood_the_scores_sum_to_zero_also_with_missing_symbols():
    for texts in (["abcab", "cab", "bca"], ["ab?ab", "c?b", "b?a?cab", "bbca"]):
        model = MarkovChain(missing="?", pseudocount=0.0)
        model = model.learn(model.pack(texts))
        np.testing.assert_allclose(model.scores(model.pack(texts)).sum(axis=0), 0.0, atol=1e-7)


def test_weights_are_copies():
    texts, weight = ["abcab", "c?b", "zz", "bb"], np.array([2.0, 3.0, 0.0, 1.0])
    model = MarkovChain(missing="?")
    one = model.learn(model.pack(texts), weight)
    two = model.learn(model.pack(["abcab"] * 2 + ["c?b"] * 3 + ["bb"]))
    assert one.alphabet == two.alphabet == ("a", "b", "c")
    np.testing.assert_allclose(one.transitions, two.transitions, rtol=1e-8)
    np.testing.assert_allclose(
        one.whitening(model.pack(texts), weight), two.whitening(model.pack(["abcab"] * 2 + ["c?b"] * 3 + ["bb"]))
    )


@pytest.mark.parametrize("order", [0, 1, 2])
def test_the_closed_form_of_the_information_is_that_of_all_strings(order):
    model, lengths = chain(order), [3, 1]
    every = [[a, b, c] for a in "abc" for b in "abc" for c in "abc"], [[a] for a in "abc"]
    information = 0.0
    for strings in every:
        S = Strings.pack(["".join(string) for string in strings])
        G, p = model.scores(S), np.exp(model.log_likelihood(S))
        assert p.sum() == pytest.approx(1.0)
        information = information + 0.5 * (G * p[:, None]).T @ G
    W = model.whitening(Strings.pack(["a" * length for length in lengths]))
    G = model.scores(Strings.pack(["abc", "b", "cca"]))
    expected = G @ np.linalg.pinv(information, rcond=1e-10) @ G.T
    np.testing.assert_allclose((G * W) @ (G * W).T, expected, rtol=1e-7, atol=1e-9)
    assert model.whitening() is None
    other = model.replace(parameters="probability")
    H = other.scores(Strings.pack(["abc", "b", "cca"])) * other.whitening(Strings.pack(["a" * t for t in lengths]))
    np.testing.assert_allclose(H @ H.T, expected, rtol=1e-7, atol=1e-9)


def test_draws_follow_the_chain():
    model = chain(1)
    S = model.sample(np.random.default_rng(0), 4000, Strings.pack(["aaaa", "bb"]))
    assert set(S.lengths) == {2, 4}
    learned = MarkovChain(alphabet="abc", pseudocount=0.0).learn(S)
    np.testing.assert_allclose(learned.transitions, model.transitions, atol=0.03)
    assert model.sample(np.random.default_rng(0), 3).lengths.tolist() == [10] * 3


def test_impossible_strings_have_no_likelihood():
    model = MarkovChain(alphabet="ab", transitions=[[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]], missing="?")
    np.testing.assert_array_equal(
        model.log_likelihood(model.pack(["abab", "aa", "b?", "a?a"])), [0, -np.inf, -np.inf, 0]
    )


def test_bad_parameters_are_refused():
    for bad in (
        MarkovChain(-1),
        MarkovChain(transitions=[[1.0]]),
        MarkovChain(alphabet="ab", transitions=[[0.5, 0.5]]),
        MarkovChain(alphabet="ab", transitions=[[0.5, 0.6]] * 3),
        MarkovChain(parameters="other"),
    ):
        with pytest.raises(ParameterError):
            bad.check()
    with pytest.raises(ParameterError, match="not fitted"):
        MarkovChain().log_likelihood(Strings.pack(["a"]))


def test_compiled_and_python_agree():
    model, S = chain(1), Strings.pack(["ab?ca", "abc"])
    P, numbers = model._matrix, np.array(codes("ab?ca") + codes("abc"))
    counts, found, room = np.zeros((2, *P.shape)), np.empty(2), np.empty((6, 4))
    markov._count_each.py_func(numbers, S.offsets, np.ones(2), P, counts, found, room)
    np.testing.assert_allclose(found, model.log_likelihood(S))
    np.testing.assert_allclose(counts, model._counts(S), rtol=1e-13)
    again, value = np.zeros((2, *P.shape)), np.zeros(2)
    markov._find_each.py_func(numbers, S.offsets, P, value, room)
    np.testing.assert_allclose(value, found)
    for i, (first, stop) in enumerate(((0, 5), (5, 8))):
        got = markov._count_string.py_func(numbers, first, stop, P, again[i], 1.0, room)
        assert got == pytest.approx(found[i])
        assert markov._count_string.py_func(numbers, first, stop, P, again[i], 0.0, room) == pytest.approx(found[i])
    np.testing.assert_allclose(again, counts)
    new = np.zeros(4)
    markov._advance.py_func(np.array([0.0, 0.0, 0.0, 1.0]), P, new)
    np.testing.assert_allclose(new[:3], P[3])
    drawn = np.empty(2, np.int64)
    markov._draw.py_func(np.array([0.0, 1.0]), np.array([2]), np.cumsum(P, axis=1), drawn)
    assert drawn.tolist() == [0, 2]
