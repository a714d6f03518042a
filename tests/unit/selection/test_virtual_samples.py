"""Estimators trained on transformed copies."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import is_classifier, is_regressor
from sklearn.datasets import load_digits

from mercer import SVC, KernelRidge
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.kernels import Gaussian, Spectrum
from mercer.selection import VirtualSamples

rng = np.random.default_rng(0)
X = rng.normal(size=(20, 3))
y = (X[:, 0] ** 2 > 0.5).astype(int)


def test_is_the_estimator_on_all_copies():
    w = rng.uniform(0.5, 2.0, 20)
    model = VirtualSamples(SVC(Gaussian(1.0)), (np.negative, np.sin)).fit(X, y, w)
    other = SVC(Gaussian(1.0)).fit(np.vstack([X, -X, np.sin(X)]), np.tile(y, 3), np.tile(w, 3))
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), atol=1e-6)
    assert model.n_virtual_ == 60 and is_classifier(model) and model.score(X, y) == other.score(X, y)
    assert is_regressor(VirtualSamples(KernelRidge()))


def test_support_vectors_alone_are_transformed():
    first = SVC(Gaussian(2.0), C=10.0).fit(X, y)
    model = VirtualSamples(SVC(Gaussian(2.0), C=10.0), (np.negative,), support_only=True).fit(X, y)
    kept = np.sort(first.support_)
    np.testing.assert_array_equal(model.support_, kept)
    assert model.n_virtual_ == 2 * len(kept)
    other = SVC(Gaussian(2.0), C=10.0).fit(np.vstack([X[kept], -X[kept]]), np.tile(y[kept], 2))
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), atol=1e-3)


def test_takes_frames_sparse_matrices_and_lists():
    frame = pd.DataFrame(X, columns=list("abc"))
    expected = VirtualSamples(KernelRidge(Gaussian(1.0)), (np.negative,)).fit(X, X[:, 0]).predict(X)
    for data, flip in ((frame, lambda d: -d), (sp.csr_array(X), lambda d: -d)):
        model = VirtualSamples(KernelRidge(Gaussian(1.0)), (flip,)).fit(data, X[:, 0])
        np.testing.assert_allclose(model.predict(data), expected, rtol=1e-9)
    reverse = VirtualSamples(SVC(Spectrum(2)), (lambda words: [word[::-1] for word in words],))
    assert reverse.fit(["abc", "xyz"], [0, 1]).predict(["cba", "zyx"]).tolist() == [0, 1]


def test_moved_digits_are_recognised():
    images, digits = load_digits(n_class=3, return_X_y=True)
    images = images / 16.0

    def moved(step):
        return lambda X: np.roll(X.reshape(-1, 8, 8), step, axis=2).reshape(len(X), -1)

    train, test = slice(0, 60), slice(60, 260)
    shifted = moved(1)(images[test])
    plain = SVC(Gaussian(1.5), C=10.0).fit(images[train], digits[train])
    model = VirtualSamples(SVC(Gaussian(1.5), C=10.0), (moved(1), moved(-1))).fit(images[train], digits[train])
    assert model.score(shifted, digits[test]) > plain.score(shifted, digits[test])


def test_what_is_no_transformation_is_refused():
    with pytest.raises(ParameterError, match="transformations"):
        VirtualSamples(SVC(), np.negative).fit(X, y)
    with pytest.raises(ParameterError, match="support_only"):
        VirtualSamples(SVC(), support_only="yes").fit(X, y)
    with pytest.raises(DomainError, match="keep their number"):
        VirtualSamples(SVC(), (lambda X: X[:2],)).fit(X, y)
    with pytest.raises(CapabilityError, match="support_"):
        VirtualSamples(KernelRidge(), (np.negative,), support_only=True).fit(X, X[:, 0])
