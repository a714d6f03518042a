"""Kernel features for linear methods and pipelines."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelRidge
from mercer.errors import CapabilityError, MemoryBudgetError
from mercer.estimators.geometry.kernel_features import KernelFeatures
from mercer.gram import Dense, Features, IncompleteCholesky, Nystrom, RandomFeatures, SparseGreedy
from mercer.kernels import Gaussian, Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 3))
Y = np.sin(X[:, 0]) + X[:, 1]
KERNEL = Gaussian(1.5)
GRAMS = [Nystrom(20), Nystrom(20, "rpcholesky"), IncompleteCholesky(20, tol=0.0), SparseGreedy(20, tol=0.0)]


@pytest.mark.parametrize("gram", GRAMS, ids=repr)
def test_inner_products_of_features_are_the_gram(gram):
    model = KernelFeatures(KERNEL, gram).fit(X)
    built = gram.build(KERNEL, KERNEL.pack(X))
    F = model.transform(X)
    assert F.shape == (150, model.n_components_)
    assert np.allclose(F @ F.T, built.to_dense(), atol=1e-8)
    T = X[:5] + 0.2
    assert np.allclose(model.transform(T) @ F.T, built.cross(KERNEL.pack(T)).to_dense(), atol=1e-8)
    assert np.isclose(model.residual_trace_, 1.0 - np.square(F).sum() / 150) and 0.0 < model.gram_error_ < 1.0
    assert len(model.get_feature_names_out()) == model.n_components_


def test_a_linear_method_on_them_is_the_kernel_method():
    full = KernelRidge(KERNEL, alpha=0.1, gram=Dense()).fit(X, Y)
    pipe = make_pipeline(KernelFeatures(KERNEL, Nystrom(150)), Ridge(alpha=0.1, fit_intercept=False)).fit(X, Y)
    T = X[:9] + 0.1
    assert np.allclose(pipe.predict(T), full.predict(T), atol=1e-5)


def test_random_features_in_a_pipeline():
    spec, T = RandomFeatures(200, random_state=3), X[:9] + 0.1
    pipe = make_pipeline(StandardScaler(), KernelFeatures(KERNEL, spec), Ridge(alpha=0.1, fit_intercept=False))
    direct = make_pipeline(StandardScaler(), KernelRidge(KERNEL, alpha=0.1, gram=spec))
    assert np.allclose(pipe.fit(X, Y).predict(T), direct.fit(X, Y).predict(T), atol=1e-8)
    assert pipe[:-1].transform(T).shape == (9, 200) and pipe.score(X, Y) > 0.9
    assert len(clone(pipe).fit(X, Y)[:-1].get_feature_names_out()) == 200


def test_strings_in_a_pipeline():
    words = ["".join(word) for word in rng.choice(list("ab"), size=(40, 8))]
    y = [word.count("ab") > 1 for word in words]
    pipe = make_pipeline(KernelFeatures(Spectrum(2), IncompleteCholesky(10)), RidgeClassifier()).fit(words, y)
    assert pipe.score(words, y) > 0.9


def test_no_feature_is_left():
    model = KernelFeatures(Spectrum(3), IncompleteCholesky(5)).fit(["a", "b"])
    assert model.transform(["aaa"]).shape == (1, 0) and model.residual_trace_ == 0.0


def test_what_is_refused():
    for gram in (Dense(), Features()):
        with pytest.raises(CapabilityError, match="low"):
            KernelFeatures(Gaussian(1.0) if gram == Dense() else Spectrum(2), gram).fit(
                X if gram == Dense() else ["ab"]
            )
    with pytest.raises(MemoryBudgetError):
        KernelFeatures(KERNEL, memory=1000).fit(X)
    assert KernelFeatures(KERNEL).memory_plan(10**6, 10).total < 10**9
