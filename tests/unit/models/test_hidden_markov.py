"""Hidden Markov models of strings: against sums over hidden paths and finite differences; learning never falls."""

import warnings

import numpy as np
import pytest

from mercer.domains import Strings
from mercer.errors import ConvergenceWarning, DomainError, ParameterError
from mercer.models import hidden_markov
from mercer.models.hidden_markov import HiddenMarkovModel, normed
from tests.naive.models import differences, likelihood, softmax

TEXTS = ["abca", "", "c", "a?bz", "cc?ab"]


def model(**options):
    rng = np.random.default_rng(3)
    return HiddenMarkovModel(
        2,
        alphabet="abc",
        start=rng.dirichlet(np.ones(2)),
        transitions=rng.dirichlet(np.ones(2), 2),
        emissions=rng.dirichlet(np.ones(3), 2),
        **options,
    ).check()


def rows(m, text):
    """How likely each symbol is in each state; unknown ones are missing."""
    E = np.asarray(m.emissions)
    return [E[:, "abc".index(letter)] if letter in "abc" else np.ones(2) for letter in text]


def test_likelihoods_are_sums_over_hidden_paths():
    m = model()
    expected = [likelihood(rows(m, text), m.start, m.transitions) for text in TEXTS]
    np.testing.assert_allclose(np.exp(m.log_likelihood(m.pack(TEXTS))), expected, rtol=1e-13)
    coin = HiddenMarkovModel(
        2, alphabet="HT", start=(0.5, 0.5), transitions=((0.9, 0.1), (0.1, 0.9)), emissions=((0.9, 0.1), (0.5, 0.5))
    )
    table = {"H": (0.9, 0.5), "T": (0.1, 0.5)}
    sums = [likelihood([table[x] for x in text], coin.start, coin.transitions) for text in ("HHHHHHHH", "HTTHTHTT")]
    np.testing.assert_allclose(np.log(sums).round(3), [-1.947, -6.614])  # as the docstring says


@pytest.mark.parametrize("parameters", ["natural", "probability"])
def test_scores_are_derivatives(parameters):
    m = model(parameters=parameters)
    S = m.pack(TEXTS)
    blocks = []
    for name in ("start", "transitions", "emissions"):
        theta = np.asarray(getattr(m, name))

        def of_logits(logits, name=name):
            return m.replace(**{name: softmax(logits)}).log_likelihood(S)

        def of_sums(raw, name=name):
            return m.replace(**{name: raw / raw.sum(axis=-1, keepdims=True)}).log_likelihood(S)

        natural = parameters == "natural"
        blocks.append(differences(of_logits, np.log(theta)) if natural else differences(of_sums, theta, 1e-6))
    np.testing.assert_allclose(m.scores(S), np.hstack(blocks), atol=1e-7)
    assert m.size == 2 + 4 + 6
    np.testing.assert_array_equal(m.scores(S)[1], 0.0)  # the empty string


def test_learning_never_makes_the_likelihood_smaller():
    truth = model()
    S = truth.sample(np.random.default_rng(0), 60, Strings.pack(["a" * 9, "a" * 20]))
    learner = HiddenMarkovModel(2, pseudocount=0.0)
    step = learner._begin(S, np.ones(60), np.random.default_rng(0))
    values = []
    for _ in range(15):
        value, totals = step._expected(step._data(S), S.offsets, np.ones(60))
        values.append(value)
        step = step._maximised(totals)
    assert (np.diff(values) > 0.0).all()
    assert values[0] < step.log_likelihood(S).sum()


def test_learning_finds_a_model_as_good_as_the_true_one():
    truth = HiddenMarkovModel(
        2,
        alphabet="ab",
        start=(0.5, 0.5),
        transitions=((0.95, 0.05), (0.1, 0.9)),
        emissions=((0.9, 0.1), (0.1, 0.9)),
    )
    S = truth.sample(np.random.default_rng(1), 40, Strings.pack(["a" * 100]))
    learned = HiddenMarkovModel(2, pseudocount=0.0, tol=1e-8, max_iter=500).learn(S)
    assert learned.log_likelihood(S).sum() > truth.log_likelihood(S).sum()
    order = np.argsort(-np.asarray(learned.emissions)[:, 0])
    np.testing.assert_allclose(np.asarray(learned.emissions)[order], truth.emissions, atol=0.05)
    np.testing.assert_allclose(np.asarray(learned.transitions)[order][:, order], truth.transitions, atol=0.05)
    # at the maximum of the likelihood, scores sum to zero
    assert np.abs(learned.scores(S).mean(axis=0)).max() < 0.05


def test_weights_are_copies_and_missing_symbols_are_summed_over():
    texts, weight = ["abca", "cc?ab", "zz", "bba"], np.array([2.0, 3.0, 0.0, 1.0])
    learner = HiddenMarkovModel(2, missing="?", max_iter=5, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one = learner.learn(Strings.pack(texts), weight)
        two = learner.learn(Strings.pack(["abca"] * 2 + ["cc?ab"] * 3 + ["bba"]))
    assert one.alphabet == two.alphabet == ("a", "b", "c")
    for name in ("start", "transitions", "emissions"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-9)
    assert one.learn(Strings.pack(["c"])) is one


def test_stopping_early_is_told():
    S = model().sample(np.random.default_rng(0), 20)
    with pytest.warns(ConvergenceWarning, match="max_iter=2.*Raise max_iter"):
        HiddenMarkovModel(2, max_iter=2, tol=0.0).learn(S)


def test_best_paths_and_posteriors():
    m = HiddenMarkovModel(
        2, alphabet="ab", start=(0.5, 0.5), transitions=((0.9, 0.1), (0.1, 0.9)), emissions=((0.9, 0.1), (0.1, 0.9))
    )
    S = m.pack(["aaabbb", "b"])
    np.testing.assert_array_equal(m.decode(S)[0], [0, 0, 0, 1, 1, 1, 1])
    gamma = m.posterior(S)
    np.testing.assert_allclose(gamma.sum(axis=1), 1.0)
    np.testing.assert_allclose(gamma[-1], [0.1, 0.9])


def test_impossible_strings_have_no_scores():
    m = HiddenMarkovModel(1, alphabet="ab", start=(1.0,), transitions=((1.0,),), emissions=((1.0, 0.0),)).check()
    S = m.pack(["aa", "ab"])
    np.testing.assert_array_equal(m.log_likelihood(S), [0.0, -np.inf])
    with pytest.raises(DomainError, match=r"Sample 1 has probability 0.*pseudocount"):
        m.scores(S)


def test_fitted_models_of_hmmlearn_are_taken_by_their_attributes():
    class Fitted:
        startprob_ = np.array([0.3, 0.7])
        transmat_ = np.array([[0.9, 0.1], [0.2, 0.8]])
        emissionprob_ = np.array([[0.5, 0.5], [0.1, 0.9]])

    m = HiddenMarkovModel.from_hmmlearn(Fitted()).check()
    assert m.alphabet == (0, 1) and m.states == 2
    expected = likelihood([Fitted.emissionprob_[:, x] for x in (0, 1, 1)], m.start, m.transitions)
    assert np.exp(m.log_likelihood(m.pack([[0, 1, 1]])))[0] == pytest.approx(expected)
    assert HiddenMarkovModel.from_hmmlearn(Fitted(), "xy").alphabet == "xy"


def test_draws_follow_the_model():
    m = model()
    S = m.sample(np.random.default_rng(0), 20000, Strings.pack(["aaa"]))
    _, counts = np.unique(["".join(map(str, S.symbols(i))) for i in range(len(S))], return_counts=True)
    texts = [a + b + c for a in "abc" for b in "abc" for c in "abc"]
    expected = [likelihood(rows(m, text), m.start, m.transitions) for text in texts]
    np.testing.assert_allclose(counts / len(S), expected, atol=0.01)


@pytest.mark.parametrize(
    "bad",
    [
        {"states": 0},
        {"start": (0.5, 0.6)},
        {"transitions": ((1.0, 0.0),)},
        {"emissions": ((0.5, 0.5), (0.5, 0.5))},
        {"alphabet": None},
        {"start": None},
        {"tol": -1.0},
    ],
)
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ParameterError):
        model().replace(**bad).check()


def test_counts_become_distributions():
    np.testing.assert_allclose(normed(np.array([[1.0, 3.0], [0.0, 0.0]])), [[0.25, 0.75], [0.5, 0.5]])
    out = np.empty(3, np.intp)
    walk = hidden_markov._walk.py_func
    walk(np.array([0.1, 0.9, 0.9]), np.array([2, 1]), np.array([0.5, 1.0]), np.array([[0.5, 1.0], [0.5, 1.0]]), out)
    assert out.tolist() == [0, 1, 1]
