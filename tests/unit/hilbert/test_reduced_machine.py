"""Machines with a reduced set: they predict as before, nearly, and say what is gone."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import NotFittedError

import mercer
from mercer import (
    SVC,
    SVDD,
    SVR,
    GaussianProcessRegressor,
    KernelPerceptron,
    KernelRidge,
    LinearSVC,
    OneClassSVM,
    ParzenDensity,
    RelevanceVectorRegressor,
)
from mercer.errors import CapabilityError
from mercer.hilbert.reduced_machine import reduced_machine
from mercer.hilbert.reduced_set import reduced_set
from mercer.kernels import Gaussian, Spectrum

X, y = make_moons(400, noise=0.2, random_state=0)


@pytest.fixture(scope="module")
def classifier():
    return SVC(Gaussian(0.5), probability=True).fit(X, y)


def test_two_classes(classifier):
    small = reduced_machine(classifier, size=8, sample=X)
    assert len(small.expansion_.samples) == 8
    assert np.mean(small.predict(X) == classifier.predict(X)) > 0.98
    assert small.reduced_error_ > 0
    for gone in ("support_", "support_vectors_", "n_support_", "dual_coef_"):
        assert not hasattr(small, gone)
        assert hasattr(classifier, gone)
    np.testing.assert_array_equal(small.intercept_, np.atleast_1d(small.expansion_.intercept))
    assert np.abs(small.predict_proba(X) - classifier.predict_proba(X)).max() < 0.5
    assert clone(small).get_params()["C"] == 1.0
    np.testing.assert_allclose(small.decision_function(X), small.expansion_(small.kernel_.pack(X)))


def test_the_function_alone_is_that_of_reduced_set(classifier):
    small = reduced_machine(classifier, tol=0.3, method="selection")
    found = reduced_set(classifier.expansion_, tol=0.3, method="selection")
    np.testing.assert_array_equal(small.expansion_.coef, found.expansion.coef)
    np.testing.assert_array_equal(small.intercept_, classifier.intercept_)
    gap = np.abs(small.decision_function(X) - classifier.decision_function(X))
    assert gap.max() <= small.reduced_error_ * (1 + 1e-9)


@pytest.mark.parametrize("scheme", ["ovo", "ovr", "crammer_singer"])
def test_several_classes(scheme):
    D = load_digits()
    A, a = D.data[:600] / 16.0, D.target[:600]
    model = SVC(Gaussian(1.5), C=10.0, multi_class=scheme).fit(A, a)
    small = reduced_machine(model, size=25)
    T, t = D.data[600:1000] / 16.0, D.target[600:1000]
    assert len(model.expansion_.samples) > 8 * 25
    assert small.score(T, t) > model.score(T, t) - 0.08
    assert small.decision_function(T).shape == (400, 10)


def test_all_kernels_change_nothing():
    for model in (SVC(Gaussian(0.5)), KernelRidge(Gaussian(0.5)), SVR(Gaussian(0.5)), SVDD(Gaussian(0.5), nu=0.2)):
        model.fit(X[:60], y[:60])
        small = reduced_machine(model, size=60, method="selection")
        np.testing.assert_allclose(small._evaluate(X), model._evaluate(X), atol=1e-5)


def test_regression_keeps_values():
    rng = np.random.default_rng(0)
    A = rng.uniform(-3, 3, (300, 1))
    b = np.sin(A[:, 0]) + rng.normal(0, 0.1, 300)
    model = KernelRidge(Gaussian(1.0), alpha=0.1).fit(A, b)
    small = reduced_machine(model, size=8, sample=A)
    assert np.sqrt(np.mean((small.predict(A) - model.predict(A)) ** 2)) < 0.01


def test_scores_of_novelty_keep_their_meaning():
    model = OneClassSVM(Gaussian(0.5), nu=0.2).fit(X)
    small = reduced_machine(model, size=10, sample=X)
    np.testing.assert_allclose(small.decision_function(X), small.score_samples(X) - small.offset_)
    # what is scored is the sum of kernels, whatever the threshold
    f = small.expansion_
    np.testing.assert_allclose(small.score_samples(X), Gaussian(0.5)(X, f.samples) @ f.coef, rtol=1e-9)
    assert np.mean(small.predict(X) == model.predict(X)) > 0.9


def test_strings_by_selection():
    words = ["abab", "bbba", "aaab", "abba", "baab", "babb", "aabb", "abbb", "bab", "aba"]
    model = SVC(Spectrum(2), C=10.0).fit(words, [w.count("a") > w.count("b") for w in words])
    small = reduced_machine(model, size=4, method="selection", sample=words)
    assert small.predict(words).shape == (10,)


def test_a_model_file(classifier, tmp_path):
    small = reduced_machine(classifier, size=5)
    mercer.save(small, tmp_path / "small.mercer")
    again = mercer.load(tmp_path / "small.mercer")
    np.testing.assert_array_equal(again.decision_function(X), small.decision_function(X))
    assert again.reduced_error_ == small.reduced_error_


def test_refusals():
    with pytest.raises(NotFittedError):
        reduced_machine(SVC(), size=2)
    with pytest.raises(CapabilityError, match="features"):
        reduced_machine(LinearSVC().fit(X, y), size=2)
    few, t = X[:40], y[:40]
    machines = [
        GaussianProcessRegressor(Gaussian(1.0), fixed="all").fit(few, t),
        RelevanceVectorRegressor(Gaussian(0.5)).fit(few, t),
        ParzenDensity().fit(few),
        KernelPerceptron(Gaussian(0.5)).fit(few, t),
    ]
    for model in machines:
        with pytest.raises(CapabilityError, match="reduced_set"):
            reduced_machine(model, size=2)
