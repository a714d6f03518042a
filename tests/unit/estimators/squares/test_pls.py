"""Kernel partial least squares."""

import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, cross_val_predict

from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.estimators.squares.pls import KernelPLS
from mercer.gram import Dense, Tiles
from mercer.kernels import Gaussian, Linear, Polynomial, Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(70, 4)) @ rng.normal(size=(4, 4))
Y = np.column_stack([np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=70), X[:, 2] ** 2])
T = rng.normal(size=(9, 4))


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_linear_kernel_is_scikit_learn(count):
    ours = KernelPLS(Linear(), count).fit(X, Y)
    theirs = PLSRegression(count, scale=False, tol=1e-16, max_iter=100_000).fit(X, Y)
    assert np.allclose(ours.predict(T), theirs.predict(T), atol=1e-6)
    scores = theirs.transform(T)
    ratio = ours.transform(T) / scores  # ours have length one over the training samples
    assert np.allclose(np.abs(ratio), 1.0 / np.linalg.norm(theirs.x_scores_, axis=0), rtol=1e-4)


@pytest.mark.parametrize("count", [1, 3, 8])
def test_both_algorithms_agree(count):
    a = KernelPLS(Gaussian(2.0), count).fit(X, Y[:, 0])
    b = KernelPLS(Gaussian(2.0), count, algorithm="krylov").fit(X, Y[:, 0])
    tiles = KernelPLS(Gaussian(2.0), count, algorithm="krylov", gram=Tiles()).fit(X, Y[:, 0])
    assert np.abs(a.predict(T) - b.predict(T)).max() < 1e-10 and np.abs(a.dual_coef_ - b.dual_coef_).max() < 1e-10
    assert np.abs(a.predict(T) - tiles.predict(T)).max() < 1e-10


def test_all_components_are_least_squares():
    model = KernelPLS(Linear(), 20).fit(X, Y)
    A = np.column_stack([X, np.ones(70)])
    expected = np.column_stack([T, np.ones(9)]) @ np.linalg.lstsq(A, Y, rcond=None)[0]
    assert model.n_components_ == 4 and np.allclose(model.predict(T), expected, atol=1e-8)


def test_all_components_of_a_definite_kernel_interpolate():
    model = KernelPLS(Gaussian(0.4), 70).fit(X, Y[:, 0])
    assert np.allclose(model.predict(X), Y[:, 0], atol=1e-6) and model.solution_.residual < 1e-6


def test_scores_and_loadings():
    model = KernelPLS(Gaussian(2.0), 3).fit(X, Y)
    S = model.x_scores_
    assert np.allclose(S.T @ S, np.eye(3), atol=1e-10) and np.allclose(model.transform(X), S, atol=1e-10)
    assert np.allclose(model.predict(T), Y.mean(0) + model.transform(T) @ model.y_loadings_.T, atol=1e-10)
    assert model.get_feature_names_out().tolist() == ["kernelpls0", "kernelpls1", "kernelpls2"]
    assert np.allclose(model.dual_coef_.sum(axis=0), 0.0, atol=1e-10)
    held = KernelPLS(Linear(), 2, gram=Dense()).fit(X, Y)
    assert np.allclose(held.predict(T), KernelPLS(Linear(), 2).fit(X, Y).predict(T), atol=1e-9)


@pytest.mark.parametrize(
    "params",
    [{}, {"algorithm": "krylov"}, {"sparsity": "epsilon", "epsilon": 0.5}, {"sparsity": "threshold"},
     {"n_components": "dof"}, {"n_components": "dof", "criterion": "gcv"}],
    ids=str,
)  # fmt: skip
def test_weights_are_repetition(params):
    w = rng.integers(0, 4, 70)
    again = np.repeat(np.arange(70), w)
    params = {"n_components": 3, **params}
    one = KernelPLS(Gaussian(2.0), **params).fit(X, Y[:, 0], sample_weight=w)
    many = KernelPLS(Gaussian(2.0), **params).fit(X[again], Y[again, 0])
    assert one.n_components_ == many.n_components_ and np.allclose(one.predict(T), many.predict(T), atol=1e-9)
    assert not one.dual_coef_[w == 0].any() and np.isnan(one.x_scores_[w == 0]).all()
    assert np.allclose(one.transform(X)[w > 0], one.x_scores_[w > 0], atol=1e-10)


@pytest.mark.parametrize("criterion", ["gcv", "aic", "bic"])
def test_components_by_degrees_of_freedom(criterion):
    model = KernelPLS(Gaussian(2.0), "dof", criterion=criterion, max_components=8).fit(X, Y[:, 0])
    h, y = 1e-5, Y[:, 0]

    def fit(y):
        return KernelPLS(Gaussian(2.0), 3).fit(X, y).predict(X)

    trace = sum((fit(y + h * e) - fit(y - h * e))[i] / (2 * h) for i, e in enumerate(np.eye(70)))
    dof = model.degrees_of_freedom_
    assert np.isclose(dof[2], trace, rtol=1e-5)
    rest = np.array([np.sum((y - KernelPLS(Gaussian(2.0), m).fit(X, y).predict(X)) ** 2) for m in range(1, 9)])
    price = {"aic": 2.0, "bic": np.log(70)}.get(criterion)
    left = 70 - dof
    naive = 70 * rest / left**2 if price is None else rest / 70 + price * dof / 70 * rest / left
    assert np.allclose(model.criterion_values_, np.where(left > 0, naive, np.inf), rtol=1e-6)
    assert model.n_components_ == 1 + np.argmin(model.criterion_values_)


def test_components_by_cross_validation():
    folds = KFold(5, shuffle=True, random_state=1)
    model = KernelPLS(Gaussian(2.0), "cv", cv=folds, max_components=6).fit(X, Y)
    errors = []
    for m in range(1, 7):
        left = Y - cross_val_predict(KernelPLS(Gaussian(2.0), m), X, Y, cv=folds)
        errors.append(np.mean(left**2))
    assert np.allclose(model.criterion_values_, errors, rtol=1e-8) and model.n_components_ == 1 + np.argmin(errors)
    again = KernelPLS(Gaussian(2.0), "cv", random_state=3).fit(X, Y)
    assert np.array_equal(
        again.criterion_values_, KernelPLS(Gaussian(2.0), "cv", random_state=3).fit(X, Y).criterion_values_
    )


def test_residuals_within_epsilon_are_ignored():
    plain = KernelPLS(Gaussian(2.0), 3).fit(X, Y[:, 0])
    none = KernelPLS(Gaussian(2.0), 3, sparsity="epsilon", epsilon=0.0).fit(X, Y[:, 0])
    some = KernelPLS(Gaussian(2.0), 3, sparsity="epsilon", epsilon=1.5).fit(X, Y[:, 0])
    assert np.allclose(plain.predict(T), none.predict(T), atol=1e-9) and len(plain.support_) == 70
    assert len(some.support_) < 60 and len(some.expansion_.samples) == len(some.support_)
    inside = np.abs(Y[:, 0] - Y[:, 0].mean()) <= 1.5
    assert not KernelPLS(Gaussian(2.0), 1, sparsity="epsilon", epsilon=1.5).fit(X, Y[:, 0]).dual_coef_[inside].any()
    assert some.score(X, Y[:, 0]) > 0.8


def test_small_coefficients_are_set_to_zero():
    plain = KernelPLS(Gaussian(2.0), 2).fit(X, Y)
    none = KernelPLS(Gaussian(2.0), 2, sparsity="threshold", threshold=0.0).fit(X, Y)
    some = KernelPLS(Gaussian(2.0), 2, sparsity="threshold", threshold=0.5).fit(X, Y)
    assert np.allclose(plain.predict(T), none.predict(T), atol=1e-9)
    assert len(some.support_) < 50 and len(some.expansion_.samples) == len(some.support_)


def test_landmarks():
    plain = KernelPLS(Gaussian(2.0), 3).fit(X, Y)
    whole = KernelPLS(Gaussian(2.0), 3, sparsity="landmarks", n_landmarks=70).fit(X, Y)
    few = KernelPLS(Gaussian(2.0), 3, sparsity="landmarks", n_landmarks=12, random_state=0).fit(X, Y)
    assert np.allclose(plain.predict(T), whole.predict(T), atol=1e-5)
    assert len(few.expansion_.samples) == 12 and len(few.support_) == 12
    assert np.allclose(few.predict(T), Gaussian(2.0)(T, X) @ few.dual_coef_ + few.intercept_, atol=1e-9)
    again = KernelPLS(Gaussian(2.0), 3, sparsity="landmarks", n_landmarks=12, random_state=0).fit(X, Y)
    assert np.array_equal(few.predict(T), again.predict(T))
    other = KernelPLS(Gaussian(2.0), 3, sparsity="landmarks", n_landmarks=12, random_state=1).fit(X, Y)
    assert not np.array_equal(few.support_, other.support_)


def test_strings():
    words = ["abab", "abba", "bbbb", "aaaa", "abbb", "bbab"]
    counts = np.array([word.count("a") for word in words], dtype=float)
    assert np.allclose(KernelPLS(Spectrum(1), 2).fit(words, counts).predict(words), counts, atol=1e-6)


@pytest.mark.parametrize(
    "params",
    [{"n_components": 0}, {"n_components": "all"}, {"algorithm": "svd"}, {"cv": 1}, {"sparsity": "some"},
     {"epsilon": -1.0}, {"threshold": 1.0}, {"n_landmarks": 0}, {"criterion": "r2"},
     {"algorithm": "krylov", "sparsity": "epsilon"}],
    ids=str,
)  # fmt: skip
def test_bad_parameters(params):
    with pytest.raises(ParameterError):
        KernelPLS(**params).fit(X, Y[:, 0])


def test_options_for_one_target():
    with pytest.raises(CapabilityError, match="one target"):
        KernelPLS(algorithm="krylov").fit(X, Y)
    with pytest.raises(CapabilityError, match="cv"):
        KernelPLS(n_components="dof").fit(X, Y)


def test_a_constant_target_and_large_numbers():
    model = KernelPLS(Gaussian(1.0)).fit(X, np.full(70, 3.0))
    assert model.n_components_ == 0 and np.allclose(model.predict(T), 3.0) and model.transform(T).shape == (9, 0)
    large = KernelPLS(Gaussian(1.0)).fit(X, Y[:, 0] * 2.0**900)
    assert np.array_equal(large.predict(T), KernelPLS(Gaussian(1.0)).fit(X, Y[:, 0]).predict(T) * 2.0**900)


def test_out_of_time_the_components_so_far_are_used():
    big = rng.normal(size=(1500, 3))
    with pytest.warns(ConvergenceWarning, match=r"after \d+ of 1400 components"):
        model = KernelPLS(Gaussian(0.3), 1400, max_time=0.6).fit(big, np.sin(3 * big[:, 0]))
    assert 0 < model.n_components_ < 1400 and np.isfinite(model.predict(big[:3])).all()


def test_scores_that_overflow_are_refused():
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = KernelPLS(Polynomial(3)).fit(X, X[:, 0])
    for method in (model.predict, model.transform):
        with pytest.raises(DomainError, match="too large for floating-point numbers"):
            method([[0.0, 1.0], [1e308, 1.0]])
