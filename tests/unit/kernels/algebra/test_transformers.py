"""Transformers inside kernels are fitted by the estimators, to the training samples alone."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import SVC, GaussianProcessRegressor, KernelPCA, KernelRidge
from mercer.errors import ParameterError
from mercer.gram import Nystrom, RandomFeatures
from mercer.kernels import Gaussian, Linear
from mercer.kernels.algebra.transformers import waits

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)) * [1.0, 10.0, 100.0]
Y = np.sin(X[:, 0]) + 0.01 * X[:, 1]
SIDE = np.where(Y > 0, 1, 0)

ESTIMATORS = [
    lambda kernel: KernelRidge(kernel, alpha=0.1),
    lambda kernel: KernelRidge(kernel, alpha=0.1, gram=Nystrom(20, random_state=0)),
    lambda kernel: KernelRidge(kernel, alpha=0.1, gram=RandomFeatures(40, random_state=0)),
    lambda kernel: SVC(kernel, C=3.0),
    lambda kernel: GaussianProcessRegressor(kernel, noise=0.1, fixed="all"),
]


@pytest.mark.parametrize("make", ESTIMATORS)
def test_every_fold_fits_its_own(make):
    inside = make(Gaussian("median").of(StandardScaler()))
    before = make_pipeline(StandardScaler(), make(Gaussian("median")))
    y = SIDE if isinstance(inside, SVC) else Y
    method = "decision_function" if isinstance(inside, SVC) else "predict"
    found, expected = (cross_val_predict(model, X, y, cv=3, method=method) for model in (inside, before))
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


def test_a_clone_is_not_fitted():
    model = KernelRidge(Gaussian(1.0).of(StandardScaler())).fit(X, Y)
    assert not waits(model.kernel_.fitted)
    assert waits(model.kernel.transform) and waits(clone(model).kernel.transform)
    again = clone(model).fit(X[:30], Y[:30])
    np.testing.assert_allclose(again.kernel_.fitted.mean_, X[:30].mean(axis=0))


def test_samples_of_weight_zero_are_not_seen():
    weight = (np.arange(60) < 30).astype(float)
    model = KernelRidge(Gaussian(1.0).of(StandardScaler())).fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(model.kernel_.fitted.mean_, X[:30].mean(axis=0))


def test_texts():
    texts = ["red apple", "green apple", "fast car", "slow car"]
    inside = SVC(Linear().of(TfidfVectorizer())).fit(texts, [0, 0, 1, 1])
    before = make_pipeline(TfidfVectorizer(), SVC(Linear())).fit(texts, [0, 0, 1, 1])
    new = ["red car", "apple"]
    np.testing.assert_allclose(inside.decision_function(new), before.decision_function(new), atol=1e-10)


def test_components():
    inside = KernelPCA(Gaussian(1.0).of(StandardScaler()), n_components=2).fit(X)
    before = KernelPCA(Gaussian(1.0), n_components=2).fit(StandardScaler().fit_transform(X))
    np.testing.assert_allclose(inside.eigenvalues_, before.eigenvalues_, rtol=1e-10)


def test_a_model_file_says_that_it_cannot_keep_the_transformer(tmp_path):
    model = KernelRidge(Gaussian(1.0).of(StandardScaler())).fit(X, Y)
    with pytest.raises(ParameterError, match=r"cannot be saved.*StandardScaler.*Pipeline"):
        mercer.save(model, tmp_path / "model.mercer")
