"""What a function of the user answers is checked wherever one is taken: real numbers, finite, as many as asked for."""

import warnings

import numpy as np
import pytest

from mercer import GaussianProcessRegressor, KernelMachine, KernelRidge, SmoothingSpline, search
from mercer.choosing import CrossValidation
from mercer.errors import MercerError
from mercer.kernels import Custom, Fisher, Gaussian, RankOne
from mercer.models import ExponentialFamily
from mercer.models.given import GivenModel

X = np.random.default_rng(0).normal(size=(12, 2))
y = X[:, 0] ** 2


class Answering:
    """An object whose methods all answer the same."""

    def __init__(self, answer):
        self.answer = answer

    def scores(self, A):
        return self.answer(A)

    def log_likelihood(self, A):
        return self.answer(A)


PLACES = {  # what takes a function of all the data, and a number or a row for each sample
    "mean": lambda f: GaussianProcessRegressor(Gaussian(1.0), mean=f).fit(X, y),
    "basis": lambda f: SmoothingSpline(kernel=Gaussian(1.0), basis=f).fit(X, y),
    "unpenalized": lambda f: KernelMachine(Gaussian(1.0), unpenalized=(f,)).fit(X, y),
    "RankOne": lambda f: RankOne(f)(X),
    "of": lambda f: Gaussian(1.0).of(f)(X),
    "scores": lambda f: Fisher(GivenModel(Answering(f)))(X),
    "log_likelihood": lambda f: GivenModel(Answering(f)).log_likelihood(GivenModel(Answering(f)).pack(X)),
    "statistics": lambda f: ExponentialFamily(f).learn(ExponentialFamily(f).pack(X)),
}
ANSWERS = {
    "nothing": lambda A: None,
    "one number": lambda A: 1.0,
    "too few": lambda A: np.ones(len(A) - 1),
    "not a number": lambda A: np.full(len(A), np.nan),
    "complex": lambda A: np.ones(len(A)) + 1j,
    "words": lambda A: ["a"] * len(A),
    "dates": lambda A: np.full(len(A), "2020-01-01", dtype="datetime64[D]"),
    "masked": lambda A: np.ma.masked_array(np.ones(len(A)), np.ones(len(A))),
    "an error": lambda A: 1 / 0,
}


def refused(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # that numbers were lost is no answer
        with pytest.raises(MercerError) as caught:
            call()
    assert str(caught.value).count(". ") >= 1, "what was given, what is accepted, what to do"


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("place", PLACES)
def test_numbers_for_each_sample(place, answer):
    refused(lambda: PLACES[place](ANSWERS[answer]))


SCORES = {
    "nothing": lambda model, A, b: None,
    "several": lambda model, A, b: np.ones(3),
    "not a number": lambda model, A, b: float("nan"),
    "complex": lambda model, A, b: 1j,
    "words": lambda model, A, b: "a",
    "an error": lambda model, A, b: 1 / 0,
    "other arguments": lambda model: 1.0,
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # scikit-learn's, for each fold
@pytest.mark.parametrize("score", SCORES)
def test_scores_of_candidates(score):
    criterion = CrossValidation(2, scoring=SCORES[score])
    with pytest.raises(MercerError, match=r"^scoring "):
        search(KernelRidge(Gaussian(1.0)), X, y, {"alpha": [0.1, 1.0]}, criterion=criterion)


def test_a_score_may_be_an_array_without_axes():
    criterion = CrossValidation(2, scoring=lambda model, A, b: np.array(-model.alpha))
    assert search(KernelRidge(Gaussian(1.0)), X, y, {"alpha": [0.1, 1.0]}, criterion=criterion).best_value == -0.1


@pytest.mark.parametrize("answer", ["not a number", "complex", "words", "an error"])
def test_kernels_of_two_collections(answer):
    refused(lambda: Custom(lambda A, B: ANSWERS[answer](A))(X))
