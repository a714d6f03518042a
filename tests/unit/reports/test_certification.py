"""The certificate in a report."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelFisherDiscriminant, KernelPCA, KernelRidge
from mercer.kernels import Gaussian, NegativeDistance
from mercer.reports import report
from mercer.reports.certification import certified
from mercer.reports.subject import NotApplicable, Subject

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = X[:, 0] > 0


def test_the_page_shows_bounds_and_the_verdict():
    page = report(SVC(Gaussian(1.0)).fit(X, Y), X, Y, cv=None)
    assert '<section id="certificate">' in page.html
    assert "PAC-Bayes, prior at zero" in page.html
    assert "certificate: " in str(page)
    assert "certificate" in page.facts.figures


def test_numbers_are_those_of_the_model():
    model = KernelRidge(Gaussian(1.0)).fit(X, X[:, 0])
    assert certified(Subject.of(model, X, X[:, 0])).best == model.certificate(X, X[:, 0], cv=None).best


def test_pipelines_are_told_what_is_not_paid_for():
    model = make_pipeline(StandardScaler(), SVC(Gaussian(1.0))).fit(X, Y)
    assert any("pipeline" in note for note in certified(Subject.of(model, X, Y)).notes)


def test_models_without_bounds_have_no_section():
    with pytest.raises(NotApplicable, match="no bounds for KernelPCA"):
        certified(Subject.of(KernelPCA(Gaussian(1.0)).fit(X), X))
    with pytest.raises(NotApplicable, match="positive definite"):
        certified(Subject.of(SVC(NegativeDistance()).fit(X, Y), X, Y))
    with pytest.raises(NotApplicable, match="training samples"):
        certified(Subject.of(KernelFisherDiscriminant(Gaussian(1.0)).fit(X, Y)))
