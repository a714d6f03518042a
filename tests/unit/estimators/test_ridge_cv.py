"""Ridge regression that chooses its ridge and its kernel."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, cross_val_score

from mercer import KernelRidge
from mercer.constraints import Positive
from mercer.domains import Vectors
from mercer.errors import CapabilityError, ParameterError
from mercer.estimators.ridge_cv import KernelRidgeCV
from mercer.kernels import Gaussian, Kernel, Linear, Matern, Spectrum

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(60, 2))
Y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=60)
T = rng.uniform(-2, 2, size=(9, 2))
ALPHAS = np.logspace(-5, 1, 13)


class Bell(Kernel):
    """A kernel with a parameter and without its derivative."""

    domain = Vectors
    constraints = {"width": Positive()}

    def __init__(self, width=1.0):
        self.width = width

    def block(self, A, B):
        return Gaussian(self.width).block(A, B)


def brute(kernel, alpha, folds, intercept=False, w=None):
    errors = np.empty(60)
    for fold in folds:
        rest = np.setdiff1d(np.arange(60), fold)
        model = KernelRidge(kernel, alpha=alpha, fit_intercept=intercept)
        model.fit(X[rest], Y[rest], None if w is None else w[rest])
        errors[fold] = Y[fold] - model.predict(X[fold])
    return np.mean(errors**2) if w is None else np.average(errors**2, weights=w)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("cv", [None, 5, KFold(4, shuffle=True, random_state=0)], ids=["loo", "5", "KFold"])
def test_the_grid_is_that_of_refits(cv, intercept):
    model = KernelRidgeCV(Gaussian(1.0), ALPHAS, cv=cv, fit_intercept=intercept).fit(X, Y)
    folds = [[i] for i in range(60)] if cv is None else [t for _, t in (cv if cv != 5 else KFold(5)).split(X)]
    scores = [brute(Gaussian(1.0), alpha, folds, intercept) for alpha in ALPHAS[::3]]
    assert model.cv_values_.shape == (60, 13)
    np.testing.assert_allclose(model.cv_values_.mean(axis=0)[::3], scores, rtol=1e-7)
    best = int(np.argmin(model.cv_values_.mean(axis=0)))
    assert model.alpha_ == ALPHAS[best] and model.best_score_ == pytest.approx(-model.cv_values_.mean(axis=0)[best])
    single = KernelRidge(Gaussian(1.0), alpha=model.alpha_, fit_intercept=intercept).fit(X, Y)
    np.testing.assert_allclose(model.predict(T), single.predict(T), rtol=1e-9)
    assert model.tuned_ is None and model.kernel_ == Gaussian(1.0)


def test_generalised_cross_validation_of_the_linear_kernel_is_that_of_scikit_learn():
    A, y = X - X.mean(axis=0), Y - Y.mean()
    ours = KernelRidgeCV(Linear(), ALPHAS).fit(A, y)
    theirs = RidgeCV(ALPHAS, fit_intercept=False).fit(A, y)
    assert ours.alpha_ == theirs.alpha_ and ours.best_score_ == pytest.approx(theirs.best_score_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6)


@pytest.mark.parametrize("cv", [None, "gcv", 5])
def test_the_search_ends_at_a_minimum(cv):
    model = KernelRidgeCV(Gaussian((1.0, 1.0)), cv=cv, fit_intercept=True).fit(X, Y)
    assert model.tuned_.slope < 1e-4 and set(model.tuned_.names) == {"length_scale[0]", "length_scale[1]", "alpha"}
    best = -model.best_score_
    assert best == pytest.approx(np.exp(model.tuned_.value), rel=1e-6)
    assert best == pytest.approx(model.cv_values_.mean(), rel=1e-9) and model.cv_values_.shape == (60,)
    lengths = np.asarray(model.kernel_.length_scale)
    assert lengths[1] > lengths[0]  # the second column is not needed
    for factor in (0.9, 1.1):
        near = KernelRidgeCV(Gaussian(tuple(lengths)), [factor * model.alpha_], cv=cv, fit_intercept=True).fit(X, Y)
        assert -near.best_score_ >= best * (1 - 1e-9) or "alpha" in model.tuned_.at_bounds
        kernel = Gaussian((factor * lengths[0], lengths[1]))
        near = KernelRidgeCV(kernel, [model.alpha_], cv=cv, fit_intercept=True).fit(X, Y)
        assert -near.best_score_ >= best * (1 - 1e-9)


def test_the_ridge_alone_is_moved_continuously():
    model = KernelRidgeCV(Gaussian(1.0), fixed="all").fit(X, Y)
    grid = KernelRidgeCV(Gaussian(1.0), np.exp(np.linspace(-0.3, 0.3, 13)) * model.alpha_).fit(X, Y)
    assert grid.best_score_ <= model.best_score_ + 1e-12 and grid.alpha_ == pytest.approx(model.alpha_, rel=0.06)
    assert model.kernel_ == Gaussian(1.0) and model.tuned_ is None and model.n_iter_ == 1


def test_fixed_bounds_and_restarts():
    model = KernelRidgeCV(2.0 * Gaussian(1.0), fixed=("scale",), bounds={"alpha": (1e-3, 1e-2)}).fit(X, Y)
    assert model.kernel_.scale == 2.0 and 1e-3 <= model.alpha_ <= 1e-2 * (1 + 1e-9)
    start = KernelRidgeCV(Matern(1.5, 50.0), restarts=2, random_state=0)
    assert start.fit(X, Y).best_score_ >= clone(start).set_params(restarts=0).fit(X, Y).best_score_ - 1e-9
    assert len(start.tuned_.starts) == 3
    assert np.array_equal(start.predict(T), clone(start).fit(X, Y).predict(T))


def test_weights_are_repetitions_in_the_choice_too():
    w = rng.integers(0, 4, size=60)
    again = np.repeat(np.arange(60), w)
    for params in ({}, {"alphas": ALPHAS}, {"cv": "gcv"}, {"fixed": "all"}):
        a = KernelRidgeCV(Gaussian(1.0), **params).fit(X, Y, sample_weight=w)
        b = KernelRidgeCV(Gaussian(1.0), **params).fit(X[again], Y[again])
        assert a.alpha_ == pytest.approx(b.alpha_, rel=1e-3) and a.best_score_ == pytest.approx(b.best_score_, rel=1e-8)
        np.testing.assert_allclose(a.predict(T), b.predict(T), rtol=1e-3, atol=1e-4)
        assert np.array_equal(np.isnan(a.cv_values_).reshape(60, -1).any(axis=1), w == 0)


def test_several_outputs_share_the_choice():
    both = np.stack([Y, X[:, 1] ** 2], axis=1)
    model = KernelRidgeCV(Gaussian(1.0), ALPHAS).fit(X, both)
    assert model.cv_values_.shape == (60, 2, 13) and model.predict(T).shape == (9, 2)
    single = [KernelRidgeCV(Gaussian(1.0), ALPHAS).fit(X, each).cv_values_ for each in both.T]
    np.testing.assert_allclose(model.cv_values_, np.stack(single, axis=1), rtol=1e-8)
    assert KernelRidgeCV().fit(X, both).cv_values_.shape == (60, 2)


def test_strings_words_precomputed_and_sparse():
    texts = ["".join(rng.choice(list("ab"), 6)) for _ in range(30)]
    values = np.array([text.count("ab") for text in texts], dtype=float)
    assert KernelRidgeCV(Spectrum(2)).fit(texts, values).score(texts, values) > 0.9
    with pytest.raises(CapabilityError, match="fixed='all'"):
        KernelRidgeCV(Bell()).fit(X, Y)
    assert KernelRidgeCV(Bell(), fixed="all").fit(X, Y).score(X, Y) > 0.9
    assert KernelRidgeCV("rbf", fixed="all").fit(X, Y).kernel_ == KernelRidge("rbf").fit(X, Y).kernel_
    K = Gaussian(1.0)(X)
    matrix = KernelRidgeCV("precomputed", ALPHAS).fit(K, Y)
    np.testing.assert_allclose(matrix.predict(K), KernelRidgeCV(Gaussian(1.0), ALPHAS).fit(X, Y).predict(X), rtol=1e-7)
    sparse = KernelRidgeCV(Gaussian(1.0)).fit(sp.csr_array(X), Y)
    np.testing.assert_allclose(
        sparse.predict(sp.csr_array(T)), KernelRidgeCV(Gaussian(1.0)).fit(X, Y).predict(T), rtol=1e-4
    )
    assert cross_val_score(KernelRidgeCV(Gaussian(1.0)), X, Y).mean() > 0.8


def test_time_over_gives_the_best_so_far():
    big = rng.normal(size=(700, 3))
    with pytest.warns(ConvergenceWarning, match="time ran out"):
        model = KernelRidgeCV(Gaussian((1.0, 1.0, 1.0)), max_time=0.7).fit(big, np.sin(big[:, 0]))
    assert np.isfinite(model.predict(big[:3])).all()


@pytest.mark.parametrize(
    "params",
    [
        {"alphas": [0.0, 1.0]},
        {"alphas": "many"},
        {"alphas": []},
        {"cv": "loocv"},
        {"cv": 1},
        {"cv": 61},
        {"fixed": "length"},
        {"fixed": ("width",)},
        {"bounds": {"width": (1.0, 2.0)}},
        {"bounds": 3},
        {"restarts": -1},
        {"tol": 0.0},
    ],
    ids=str,
)
def test_bad_parameters(params):
    with pytest.raises(ParameterError):
        KernelRidgeCV(Gaussian(1.0), **params).fit(X, Y)
