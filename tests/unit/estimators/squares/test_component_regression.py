"""Principal component regression against least squares and scikit-learn."""

import tracemalloc

import numpy as np
import pytest
from sklearn.decomposition import PCA, KernelPCA
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from mercer.domains import Vectors
from mercer.errors import CapabilityError, MemoryBudgetError, ParameterError
from mercer.estimators.squares.component_regression import KernelPCR
from mercer.gram import (
    Auto,
    Dense,
    FastGauss,
    Features,
    IncompleteCholesky,
    Nystrom,
    RandomFeatures,
    SparseGreedy,
    Tiles,
)
from mercer.kernels import Gaussian, Linear, NegativeDistance, Polynomial, Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 4)) * [3.0, 2.0, 1.0, 0.5] + 5.0
Y = np.stack([X @ [1.0, -1.0, 2.0, 0.0], np.sin(X[:, 0])], axis=1) + 0.1 * rng.normal(size=(50, 2))
T = rng.normal(size=(9, 4)) + 5.0


@pytest.mark.parametrize("r", [0, 1, 3, 4])
def test_the_linear_kernel_is_pca_and_least_squares(r):
    ours = KernelPCR(Linear(), r).fit(X, Y)
    theirs = make_pipeline(PCA(r), LinearRegression()).fit(X, Y).predict(T) if r else np.tile(Y.mean(axis=0), (9, 1))
    np.testing.assert_allclose(ours.predict(T), theirs, rtol=1e-8, atol=1e-9)
    assert ours.n_components_ == r and len(ours.eigenvalues_) == 4


def test_all_components_are_least_squares():
    theirs = LinearRegression().fit(X, Y)
    np.testing.assert_allclose(KernelPCR(Linear(), 4).fit(X, Y).predict(T), theirs.predict(T), rtol=1e-8)
    wiggly = KernelPCR(Gaussian(0.3), 49).fit(X, Y)
    np.testing.assert_allclose(wiggly.predict(X), Y, atol=1e-8)


@pytest.mark.parametrize("r", [2, 7])
def test_kernel_components_are_those_of_scikit_learn(r):
    kernel = Gaussian.from_gamma(0.05)
    theirs = make_pipeline(KernelPCA(r, kernel="rbf", gamma=0.05, eigen_solver="dense"), LinearRegression()).fit(X, Y)
    np.testing.assert_allclose(KernelPCR(kernel, r).fit(X, Y).predict(T), theirs.predict(T), rtol=1e-7, atol=1e-8)


def test_the_criteria_are_those_of_refits_on_held_components():
    scores = KernelPCA(5, kernel="rbf", gamma=0.05, eigen_solver="dense").fit_transform(X)
    loo = KernelPCR(Gaussian.from_gamma(0.05)).fit(X, Y)
    gcv = KernelPCR(Gaussian.from_gamma(0.05), criterion="gcv").fit(X, Y)
    for r in (1, 3, 5):
        errors = np.empty_like(Y)
        for i in range(50):
            rest = np.delete(np.arange(50), i)
            model = LinearRegression().fit(scores[rest, :r], Y[rest])
            errors[i] = Y[i] - model.predict(scores[i : i + 1, :r])[0]
        assert loo.cv_values_[r] == pytest.approx(np.mean(errors**2), rel=1e-8)
        residuals = Y - LinearRegression().fit(scores[:, :r], Y).predict(scores[:, :r])
        assert gcv.cv_values_[r] == pytest.approx(np.mean(residuals**2) / (1 - (r + 1) / 50) ** 2, rel=1e-8)
    assert loo.n_components_ == np.argmin(loo.cv_values_) and gcv.n_components_ == np.argmin(gcv.cv_values_)
    assert KernelPCR(Linear()).fit(X, Y[:, 0]).n_components_ >= 3


@pytest.mark.parametrize("criterion", ["loo", "gcv"])
@pytest.mark.parametrize("r", [None, 4])
def test_weights_are_repetitions(criterion, r):
    w = rng.integers(0, 4, size=50)
    again = np.repeat(np.arange(50), w)
    a = KernelPCR(Gaussian(3.0), r, criterion=criterion).fit(X, Y, sample_weight=w)
    b = KernelPCR(Gaussian(3.0), r, criterion=criterion).fit(X[again], Y[again])
    np.testing.assert_allclose(a.predict(T), b.predict(T), rtol=1e-6, atol=1e-7)
    count = min(10, len(a.cv_values_))
    np.testing.assert_allclose(a.cv_values_[:count], b.cv_values_[:count], rtol=1e-6)
    assert np.all(a.dual_coef_[w == 0] == 0.0)


def test_the_coefficients_do_not_see_constants():
    model = KernelPCR(NegativeDistance(), 6).fit(X, Y)
    np.testing.assert_allclose(model.dual_coef_.sum(axis=0), 0.0, atol=1e-8 * np.abs(model.dual_coef_).max())
    shifted = KernelPCR(NegativeDistance(), 6).fit(X, Y + 100.0)
    np.testing.assert_allclose(shifted.predict(T), model.predict(T) + 100.0, rtol=1e-9)


def test_strings_and_single_outputs():
    texts = ["".join(rng.choice(list("ab"), 6)) for _ in range(30)]
    values = np.array([text.count("ab") for text in texts], dtype=float)
    model = KernelPCR(Spectrum(2)).fit(texts, values)
    assert model.score(texts, values) > 0.99 and model.predict(texts).shape == (30,)


def test_constants_have_a_function_on_pairs_too():
    model = KernelPCR(Gaussian(1.0).tensor(Spectrum(1))).fit([((0.5,), "a")], [2.0])
    assert model.n_components_ == 0 and model.predict([((1.5,), "b")]) == pytest.approx([2.0])


def test_bad_parameters():
    for params in ({"n_components": -1}, {"n_components": 2.5}, {"criterion": "aic"}, {"kernel": "rfb"}):
        with pytest.raises(ParameterError):
            KernelPCR(**params).fit(X, Y)
    with pytest.raises(ParameterError, match="vary in 4 directions"):
        KernelPCR(Linear(), 5).fit(X, Y)


# Grams of low rank, and products: no n x n matrix

FACTORS = [
    (Gaussian(3.0), Nystrom(15)),
    (Gaussian(3.0), IncompleteCholesky(15, tol=0.0)),
    (Gaussian(3.0), SparseGreedy(15, tol=0.0)),
    (Gaussian(3.0), RandomFeatures(30)),
    (Gaussian(3.0), RandomFeatures(80)),  # more columns than samples
    (Polynomial(2), Features()),
]
WEIGHT = np.random.default_rng(1).uniform(0.2, 3.0, size=50)
WEIGHT[[3, 17]] = 0.0


@pytest.mark.parametrize("criterion", ["loo", "gcv"])
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize(("kernel", "gram"), FACTORS, ids=lambda value: repr(value))
def test_a_factor_is_the_dense_matrix_that_it_stands_for(kernel, gram, single, criterion):
    used, y = np.flatnonzero(WEIGHT), Y[:, 0] if single else Y
    K = gram.build(kernel, Vectors.pack(X[used])).to_dense()
    for r in (0, 5, None):
        ours = KernelPCR(kernel, r, gram=gram, criterion=criterion).fit(X, y, WEIGHT)
        dense = KernelPCR("precomputed", r, criterion=criterion).fit(K, y[used], WEIGHT[used])
        count = min(len(ours.cv_values_), 10)
        np.testing.assert_allclose(ours.cv_values_[:count], dense.cv_values_[:count], rtol=1e-6)
        np.testing.assert_allclose(ours.eigenvalues_[:count], dense.eigenvalues_[:count], rtol=1e-6)
        assert ours.n_components_ == dense.n_components_ and ours.gram_ == gram
        np.testing.assert_allclose(ours.predict(X[used]), dense.predict(K), rtol=1e-6, atol=1e-7)
        assert ours.dual_coef_.shape == y.shape and (ours.dual_coef_[WEIGHT == 0] == 0.0).all()


def test_the_function_of_a_factor_by_least_squares_on_its_principal_components():
    gram = Nystrom(12)
    built = gram.build(Gaussian(3.0), Vectors.pack(X))
    theirs = make_pipeline(PCA(6, svd_solver="full"), LinearRegression()).fit(built.factor(), Y)
    ours = KernelPCR(Gaussian(3.0), 6, gram=gram).fit(X, Y)
    np.testing.assert_allclose(ours.predict(T), theirs.predict(built.features(Vectors.pack(T))), rtol=1e-7)


@pytest.mark.parametrize("gram", [IncompleteCholesky(100, tol=0.0), Nystrom(100), Tiles()], ids=repr)
def test_factors_of_full_rank_and_products_are_exact(gram):
    doubled, y = np.vstack([X, X]), np.vstack([Y, Y + 0.1])
    for data, targets in ((X, Y), (doubled, y)):  # as many columns as samples, and half of them
        exact = KernelPCR(Gaussian(3.0), 8, gram=Dense()).fit(data, targets)
        other = KernelPCR(Gaussian(3.0), 8, gram=gram).fit(data, targets)
        np.testing.assert_allclose(other.predict(T), exact.predict(T), rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(other.cv_values_[:9], exact.cv_values_[:9], rtol=1e-7)
        np.testing.assert_allclose(other.eigenvalues_[:8], exact.eigenvalues_[:8], rtol=1e-7)
        np.testing.assert_allclose(other.dual_coef_, exact.dual_coef_, atol=1e-6 * np.abs(exact.dual_coef_).max())


def test_products_give_a_number_of_components():
    for kernel in (Gaussian(3.0), NegativeDistance()):
        tiles = KernelPCR(kernel, 4, gram=Tiles()).fit(X, Y, WEIGHT)
        dense = KernelPCR(kernel, 4).fit(X, Y, WEIGHT)
        np.testing.assert_allclose(tiles.predict(T), dense.predict(T), rtol=1e-6, atol=1e-7)
    nothing = KernelPCR(Gaussian(3.0), 0, gram=Tiles()).fit(X, Y)
    np.testing.assert_allclose(nothing.predict(T), np.tile(Y.mean(axis=0), (9, 1)), rtol=1e-12)
    fast = KernelPCR(Gaussian(3.0), 3, gram=FastGauss(1e-10)).fit(X[:, :2], Y)
    close = KernelPCR(Gaussian(3.0), 3).fit(X[:, :2], Y)
    np.testing.assert_allclose(fast.predict(T[:, :2]), close.predict(T[:, :2]), rtol=1e-4, atol=1e-4)
    with pytest.raises(CapabilityError, match=r"n_components=None.*Give n_components, or use gram=Nystrom\(500\)"):
        KernelPCR(Gaussian(3.0), gram=Tiles()).fit(X, Y)
    with pytest.raises(CapabilityError, match="conditionally positive definite"):
        KernelPCR(NegativeDistance(), gram=Nystrom(10)).fit(X, Y)
    with pytest.raises(ParameterError, match="vary in 4 directions"):
        KernelPCR(Linear(), 5, gram=Features()).fit(X, Y)


def test_repairs_and_the_rule_of_choice():
    K = Gaussian(3.0)(X)
    K[0, 1] = K[1, 0] = -1.0
    values, V = np.linalg.eigh(K)
    clipped = (V * np.maximum(values, 0.0)) @ V.T
    mended = KernelPCR("precomputed", 5, gram=Dense(indefinite="clip")).fit(K, Y)
    assert values[0] < -0.1 and mended.repair_ is not None
    np.testing.assert_allclose(mended.predict(K), KernelPCR("precomputed", 5).fit(clipped, Y).predict(clipped))
    model = KernelPCR(Linear(), 3, gram=Auto()).fit(X, Y)
    assert isinstance(model.gram_, Features) and model.gram_choice_["gram"] == Features()
    np.testing.assert_allclose(model.predict(T), KernelPCR(Linear(), 3).fit(X, Y).predict(T), rtol=1e-8)
    assert isinstance(KernelPCR(Linear(), 3).fit(X, Y).gram_, Dense)


@pytest.mark.parametrize(("r", "gram"), [(None, Nystrom(40)), (10, Nystrom(40)), (2, Tiles("4MB"))], ids=repr)
def test_no_matrix_of_all_samples_is_formed(r, gram):
    n = 3000
    many = np.random.default_rng(1).normal(size=(n, 2))
    y = np.sin(2.0 * many[:, 0])
    plan = KernelPCR(Gaussian(1.0), r, gram=gram).memory_plan(n, 2)
    assert plan.total < 0.5 * 8 * n * n and KernelPCR().memory_plan(n, 2).total == 24 * n * n
    model = KernelPCR(Gaussian(1.0), r, gram=gram, memory=6 * n * n)
    model.fit(many[:200], y[:200])  # what is compiled is compiled before memory is counted
    tracemalloc.start()
    try:
        model.fit(many, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.3 * 8 * n * n


def test_a_matrix_that_does_not_fit_names_the_ways_out():
    for gram in (None, Dense()):
        with pytest.raises(MemoryBudgetError, match=r"gram=Nystrom\(500\)"):
            KernelPCR(Gaussian(1.0), gram=gram, memory="1GB").fit(np.zeros((20_000, 2)), np.zeros(20_000))
