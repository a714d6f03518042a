"""Which pictures a page has."""

import numpy as np

from mercer import KernelRidge
from mercer.kernels import Gaussian, Linear
from mercer.reports.evidence import residuals
from mercer.reports.facts import Facts
from mercer.reports.model_section import coefficient_facts
from mercer.reports.pictures import pictures
from mercer.reports.scores import cross_validated
from mercer.reports.subject import Subject
from mercer.solvers import ConjugateGradient

X = np.random.default_rng(0).normal(size=(30, 2))


def names(model, **found):
    subject = Subject.of(model.fit(X, X[:, 0]), X, X[:, 0])
    facts = Facts("t", "n", "t", subject.task, "now", 30, 30)
    for name, make in found.items():
        setattr(facts, name, make(subject))
    return [name for name, _ in pictures(facts, subject, None)]


def test_a_picture_for_each_fact_that_is_there():
    assert names(KernelRidge(Gaussian(1.0))) == []
    drawn = names(
        KernelRidge(Gaussian(1.0)),
        residuals=lambda subject: residuals(cross_validated(subject, 3), np.arange(30)),
        coefficients=coefficient_facts,
    )
    assert drawn == ["prediction", "residual", "coefficients"]


def test_sums_have_parts_and_iterations_converge():
    assert names(KernelRidge(Gaussian(1.0) + Linear())) == ["parts"]
    assert names(KernelRidge(Gaussian(1.0), solver=ConjugateGradient())) == ["convergence"]
