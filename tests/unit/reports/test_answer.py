"""The verdict, in words, and what else was tried."""

from collections import namedtuple

import numpy as np
import pytest

from mercer import KernelMeanClassifier, KernelRidge
from mercer.first_model.verdicts import Grown
from mercer.kernels import Gaussian
from mercer.reports.answer import answer
from mercer.reports.scores import cross_validated
from mercer.reports.subject import NotApplicable, Subject

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
Row = namedtuple("Row", "name score standard_error seconds size")


def found(model, y, **told):
    model = model.fit(X, y)
    for name, value in told.items():
        setattr(model, name, value)
    subject = Subject.of(model, X, y)
    return answer(subject, cross_validated(subject))


def test_a_model_that_knows_something_and_one_that_does_not():
    good = found(KernelRidge(Gaussian(1.0), alpha=0.1), np.sin(X[:, 0]))
    assert good.verdict.startswith("Of samples it has not seen, it explains 9") and not good.is_useless
    noise = found(KernelRidge(Gaussian(0.1), alpha=0.1), rng.normal(size=60))
    assert noise.is_useless and noise.verdict.startswith("No better than the mean of the targets")
    classes = found(KernelMeanClassifier(Gaussian(1.0)), np.where(X[:, 0] > 0, "a", "b"))
    assert classes.verdict.startswith("It names the class of 9") and "commonest class alone" in classes.verdict


def test_rare_classes_that_are_found_are_not_called_guesses():
    y = np.where(X[:, 0] > np.sort(X[:, 0])[-8], "rare", "common")
    said = found(KernelMeanClassifier(Gaussian(1.0)), y)
    assert not said.is_useless
    assert "within classes" in said.verdict or said.verdict.startswith("It names")


def test_what_a_model_tells_of_itself_comes_first():
    rows = [Row("b", 0.9, 0.01, 0.1, 60), Row("a", 0.8, None, None, 60), Row("b", 0.7, 0.1, 0.1, 30)]
    said = found(KernelRidge(Gaussian(1.0)), X[:, 0], verdict_="Good enough.", leaderboard_=rows)
    assert said.verdict == "Good enough." and [row.name for row in said.tried] == ["b", "a", "b"]
    assert said.curve == (("b", (30, 60), (0.7, 0.9)),) and said.more == 0


def test_the_learning_curve_is_that_of_the_model_first():
    points = [Grown(20, 0.5, 0.1), Grown(40, np.nan, 0.1), Grown(80, 0.75, 0.05)]
    rows = [Row("b", 0.9, 0.01, 0.1, 60), Row("b", 0.7, 0.1, 0.1, 30)]
    said = found(KernelRidge(Gaussian(1.0)), X[:, 0], verdict_="Good.", leaderboard_=rows, learning_curve_=points)
    assert said.curve == (("this model", (20, 80), (0.5, 0.75)), ("b", (30, 60), (0.7, 0.9)))
    alone = found(KernelRidge(Gaussian(1.0)), X[:, 0], verdict_="Good.", learning_curve_=points[:1])
    assert alone.curve == ()


def test_without_scores_there_is_nothing_to_say():
    with pytest.raises(NotApplicable, match="no scores"):
        answer(Subject.of(KernelRidge(Gaussian(1.0)).fit(X, X[:, 0]), X, X[:, 0]), None)
