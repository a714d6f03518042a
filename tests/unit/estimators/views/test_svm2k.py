"""SVM-2K: its limits are support vector machines of either view."""

import warnings

import numpy as np
import pytest

from mercer import SVC, SVM2K, load, save
from mercer.errors import ParameterError
from mercer.gram import Dense, Features
from mercer.kernels import Gaussian, Linear

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4))
Z = X[:, 0] + 0.5 * X[:, 2] + 0.5 * RNG.normal(size=40)
LABELS, THREE = (Z > 0).astype(int), np.digitize(Z, [-0.5, 0.5])
T = RNG.normal(size=(6, 4))
A, B = Gaussian(1.5).on([0, 1]), Linear().on([2, 3])


@pytest.mark.parametrize("labels", [LABELS, THREE], ids=["two", "three"])
def test_without_agreement_they_are_two_machines(labels):
    model = SVM2K((A, B), C=(2.0, 0.7), agreement=0.0, tol=1e-10).fit(X, labels)
    values = model.view_values(T)
    for v, (kernel, C) in enumerate(((A, 2.0), (B, 0.7))):
        alone = SVC(kernel, C, tol=1e-9, decision_function_shape="ovo").fit(X, labels).decision_function(T)
        assert np.allclose(values[..., v], alone, atol=1e-4)


def test_equal_views_are_one_machine():
    k = Gaussian(1.5)
    model = SVM2K((k, k), C=2.0, agreement=5.0, tol=1e-10).fit(X, LABELS)
    alone = SVC(k, 2.0, tol=1e-9).fit(X, LABELS).decision_function(T)
    assert np.allclose(model.view_values(T), alone[:, None], atol=1e-4)
    assert np.allclose(model.decision_function(T), alone, atol=1e-4)


def test_agreement_brings_the_views_together():
    apart = []
    for agreement in (0.0, 1.0, 100.0):
        model = SVM2K((A, B), agreement=agreement).fit(X, LABELS)
        apart.append(np.abs(np.diff(model.view_values(X), axis=1)).sum())
    assert apart[0] > apart[1] > apart[2]


def test_the_factor_and_the_matrix():
    k = Linear().on([0, 1]), Linear().on([2, 3])
    a, b = (SVM2K(k, gram=gram, tol=1e-9).fit(X, LABELS).decision_function(T) for gram in (Dense(), Features()))
    assert np.allclose(a, b, atol=1e-5)


def test_weights_and_the_model_file(tmp_path):
    w = RNG.integers(1, 4, size=40)
    index = np.repeat(np.arange(40), w)
    a = SVM2K((A, B), tol=1e-9).fit(X, LABELS, sample_weight=w)
    b = SVM2K((A, B), tol=1e-9).fit(X[index], LABELS[index])
    assert np.allclose(a.decision_function(T), b.decision_function(T), atol=1e-4)
    save(a, tmp_path / "m.mercer")
    assert np.array_equal(load(tmp_path / "m.mercer").decision_function(T), a.decision_function(T))
    with pytest.raises(ParameterError, match="two views"):
        SVM2K((A, B, A)).fit(X, LABELS)


def test_weights_that_underflow_are_no_error():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SVM2K((A, B)).fit(X, LABELS, sample_weight=np.full(40, 1e-320))
    assert np.isfinite(model.decision_function(T)).all()
