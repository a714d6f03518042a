"""The few numbers at the top of a page."""

import numpy as np

from mercer import SVC, KernelRidge
from mercer.kernels import Gaussian
from mercer.reports.facts import Facts
from mercer.reports.model_section import coefficient_facts
from mercer.reports.scores import cross_validated
from mercer.reports.subject import Subject

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))


def of(model, y):
    subject = Subject.of(model.fit(X, y), X, y)
    facts = Facts("t", "n", "t", subject.task, "now", 40, 40)
    facts.scores, facts.coefficients = cross_validated(subject, 4), coefficient_facts(subject)
    return facts, {label: (value, remark) for label, value, remark in facts.key_figures}


def test_scores_stand_beside_the_simplest_guess():
    facts, rows = of(KernelRidge(Gaussian(1.0), alpha=0.1), np.sin(X[:, 0]))
    assert list(rows) == ["R²", "RMSE", "dual coefficients"]
    value, remark = rows["R²"]
    assert float(value) == round(facts.scores.mean["R²"], 3) and remark.endswith("over 4 folds; simplest guess 0")


def test_support_vectors_are_a_share_of_the_samples():
    facts, rows = of(SVC(Gaussian(1.0)), np.where(X[:, 0] > 0, "a", "b"))
    count = facts.coefficients.n
    assert rows["support vectors"] == (str(count), f"{100 * count / 40:.3g} % of the samples")


def test_without_facts_there_is_nothing_at_the_top():
    assert Facts("t", "n", "t", "other", "now", None, None).key_figures == ()
