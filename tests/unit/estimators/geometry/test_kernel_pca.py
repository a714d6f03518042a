"""Kernel principal components against PCA, scikit-learn, their definition, and themselves in other forms."""

import numpy as np
import pytest
import sklearn.decomposition as theirs
from scipy.ndimage import zoom
from sklearn.datasets import load_digits, make_swiss_roll
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.errors import CapabilityError, DegenerateWarning, DomainError, IndefiniteWarning, ParameterError
from mercer.estimators.geometry.kernel_pca import KernelPCA
from mercer.estimators.geometry.unfolding import locally_linear_kernel
from mercer.gram import Dense, Features, Nystrom, Tiles
from mercer.hilbert import projection_moments
from mercer.kernels import Gaussian, Linear, NegativeDistance, Polynomial, Spectrum
from mercer.preimages.methods import DistanceScaling, Gradient, RidgeMap

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4)) * [3.0, 2.0, 1.0, 0.5] + 5.0
T = rng.normal(size=(9, 4)) + 5.0
KERNEL = Gaussian.from_gamma(0.05)


@pytest.mark.parametrize("gram", [Dense(), Tiles(), Features()])
def test_the_linear_kernel_is_pca(gram):
    ours, pca = KernelPCA(Linear(), 3, gram=gram).fit(X), theirs.PCA(3).fit(X)
    sign = np.sign(np.sum(ours.components_ * pca.components_, axis=1))
    np.testing.assert_allclose(ours.components_, pca.components_ * sign[:, None], atol=1e-12)
    np.testing.assert_allclose(ours.transform(T), pca.transform(T) * sign, atol=1e-11)
    np.testing.assert_allclose(ours.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=1e-10)
    np.testing.assert_allclose(ours.explained_variance_ * 60 / 59, pca.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(T)), pca.inverse_transform(pca.transform(T)))
    errors = [np.mean(np.sum((X - p.inverse_transform(p.transform(X))) ** 2, axis=1))
              for p in (theirs.PCA(r).fit(X) for r in range(1, 4))]  # fmt: skip
    np.testing.assert_allclose(ours.reconstruction_errors_[1:], errors, rtol=1e-9)
    left = np.sum((T - pca.inverse_transform(pca.transform(T))) ** 2, axis=1)
    np.testing.assert_allclose(ours.reconstruction_error(T), left, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("solver", ["dense", "lanczos", "randomized"])
@pytest.mark.parametrize("gram", [Dense(), Tiles(), Nystrom(60)])
def test_scikit_learn_has_the_same_scores(solver, gram):
    ours = KernelPCA(KERNEL, 5, eigen_solver=solver, gram=gram, tol=1e-11)
    other = theirs.KernelPCA(5, kernel="rbf", gamma=0.05, eigen_solver="dense")
    np.testing.assert_allclose(ours.fit_transform(X), other.fit_transform(X), atol=1e-9)
    np.testing.assert_allclose(ours.transform(T), other.transform(T), atol=1e-9)
    np.testing.assert_allclose(ours.eigenvalues_, other.eigenvalues_, rtol=1e-10)


@pytest.mark.parametrize("n", [100, 301])
def test_the_default_finds_few_components_as_lapack_does(n):
    many, w = load_digits().data[:n], rng.integers(0, 3, n)
    for params in ({}, {"centered": False}):
        whole = KernelPCA(Gaussian(30.0), 4, eigen_solver="dense", **params).fit(many, sample_weight=w)
        some = KernelPCA(Gaussian(30.0), 4, **params).fit(many, sample_weight=w)
        assert some.n_iter_ > 1 or n == 100  # whose samples of weight zero leave too few
        np.testing.assert_allclose(some.eigenvalues_, whole.eigenvalues_, rtol=1e-11)
        np.testing.assert_allclose(some.transform(many[:50]), whole.transform(many[:50]), atol=1e-9)
        np.testing.assert_allclose(some.reconstruction_errors_, whole.reconstruction_errors_, atol=1e-11)
        np.testing.assert_allclose(some.dual_coef_, whole.dual_coef_, atol=1e-9)


def test_multiple_eigenvalues_are_all_found():
    """On the corners of a cube each degree has one eigenvalue: eight times that of degree one, then others."""
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * 8)).reshape(8, -1).T
    found = KernelPCA(Gaussian(2.0), 10).fit(corners)
    whole = KernelPCA(Gaussian(2.0), 10, eigen_solver="dense").fit(corners)
    np.testing.assert_allclose(found.eigenvalues_, whole.eigenvalues_, rtol=1e-10)
    assert np.ptp(found.eigenvalues_[:8]) < 1e-10 < found.eigenvalues_[7] - found.eigenvalues_[8]


def test_eigenvalues_that_lie_close_together_are_separated():
    """Those of local linear embedding: 600 products do not tell them apart."""
    roll = make_swiss_roll(600, random_state=0)[0]
    K = locally_linear_kernel(roll, 10)
    whole = KernelPCA("precomputed", 2, eigen_solver="dense").fit(K)
    found = KernelPCA("precomputed", 2).fit(K)
    assert found.residual_ < 1e-11 and 1 < found.n_iter_ < 60
    np.testing.assert_allclose(found.eigenvalues_, whole.eigenvalues_, rtol=1e-12)
    np.testing.assert_allclose(found.eigenvectors_, whole.eigenvectors_, atol=1e-6)
    np.testing.assert_allclose(found.explained_variance_ratio_, whole.explained_variance_ratio_, rtol=1e-10)
    with pytest.warns(ConvergenceWarning, match="stopped after 30 products"):
        KernelPCA("precomputed", 2, max_iter=30, eigen_solver="lanczos").fit(K)


def test_lanczos_is_dense_on_more_samples():
    many = load_digits().data[:600]
    whole = KernelPCA(Gaussian(30.0), 12, eigen_solver="dense").fit(many)
    some = KernelPCA(Gaussian(30.0), 12, tol=1e-11, eigen_solver="lanczos").fit(many)
    assert some.n_iter_ > 1 and some.residual_ <= 1e-11 and whole.n_iter_ == 1
    np.testing.assert_allclose(some.eigenvalues_, whole.eigenvalues_, rtol=1e-11)
    np.testing.assert_allclose(some.transform(many[:50]), whole.transform(many[:50]), atol=1e-7)
    np.testing.assert_allclose(some.reconstruction_errors_, whole.reconstruction_errors_, atol=1e-10)
    mixed = KernelPCA(Gaussian(30.0), 12, gram=Tiles(precision="mixed"), eigen_solver="lanczos").fit(many)
    np.testing.assert_allclose(mixed.transform(many[:50]), whole.transform(many[:50]), atol=1e-3)


def test_projections_are_uncorrelated_and_directions_have_unit_length():
    model = KernelPCA(KERNEL, 8).fit(X)
    scores, K = model.transform(X), KERNEL(X)
    np.testing.assert_allclose(scores.T @ scores, np.diag(model.eigenvalues_), atol=1e-10)
    np.testing.assert_allclose(scores.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(model.dual_coef_.T @ K @ model.dual_coef_, np.eye(8), atol=1e-10)
    assert projection_moments(K, model.dual_coef_).variance == pytest.approx(model.explained_variance_)


def test_the_primal_dual_form_has_the_same_scores():
    """[SS] (61)-(67): alpha = gamma z with gamma = 1 / lambda, and u is the primal optimum."""
    model = KernelPCA(KERNEL, 4).fit(X)
    P = np.eye(60) - 1.0 / 60.0
    omega = P @ KERNEL(X) @ P
    alpha, lam = model.eigenvectors_, model.eigenvalues_
    np.testing.assert_allclose(omega @ alpha, lam * alpha, atol=1e-10)
    np.testing.assert_allclose(model.transform(X) / np.sqrt(lam), alpha, atol=1e-10)
    features = X - X.mean(axis=0)
    linear = KernelPCA(Linear(), 2).fit(X)
    for u, value in zip(linear.components_, linear.eigenvalues_, strict=True):
        z = features @ u  # stationary for gamma / 2 sum z^2 - 1 / 2 |u|^2
        np.testing.assert_allclose(features.T @ z / value, u, atol=1e-12)


def test_uncentred_components_are_those_of_second_moments():
    ours = KernelPCA(Linear(), 2, centered=False).fit(X)
    svd = theirs.TruncatedSVD(2, algorithm="arpack").fit(X)
    np.testing.assert_allclose(np.abs(ours.transform(T)), np.abs(svd.transform(T)), rtol=1e-9)
    dual = KernelPCA(Linear(), 2, centered=False, gram=Dense()).fit(X)
    lanczos = KernelPCA(Linear(), 2, centered=False, gram=Tiles(), eigen_solver="lanczos").fit(X)
    np.testing.assert_allclose(dual.transform(T), ours.transform(T), rtol=1e-9)
    np.testing.assert_allclose(lanczos.transform(T), ours.transform(T), rtol=1e-7)
    np.testing.assert_allclose(dual.reconstruction_error(T), ours.reconstruction_error(T), atol=1e-9)
    np.testing.assert_allclose(dual.inverse_transform(dual.transform(T)), svd.inverse_transform(svd.transform(T)))


def test_a_gram_of_low_rank_is_pca_of_its_factor():
    model = KernelPCA(KERNEL, 4, gram=Nystrom(20)).fit(X)
    F = Nystrom(20).build(KERNEL, KERNEL.pack(X))
    pca = theirs.PCA(4).fit(F.factor())
    np.testing.assert_allclose(np.abs(model.transform(T)), np.abs(pca.transform(F.features(KERNEL.pack(T)))), atol=1e-9)
    assert len(model.expansion_.samples) == 20
    assert model.denoise(T).shape == (9, 4)


@pytest.mark.parametrize("params", [{}, {"eigen_solver": "lanczos"}, {"gram": Nystrom(200)}, {"centered": False}])
def test_weights_are_repetitions(params):
    w = rng.integers(0, 4, size=60)
    again = np.repeat(np.arange(60), w)
    a, b = KernelPCA(KERNEL, 4, **params), KernelPCA(KERNEL, 4, **params)
    scores = a.fit_transform(X, sample_weight=w)
    b.fit(X[again])
    np.testing.assert_allclose(a.transform(T), b.transform(T), atol=1e-6)
    np.testing.assert_allclose(scores, a.transform(X), atol=1e-6)
    np.testing.assert_allclose(a.reconstruction_errors_, b.reconstruction_errors_, atol=1e-10)
    np.testing.assert_allclose(a.explained_variance_, b.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(a.denoise(T), b.denoise(T), atol=1e-4)
    assert np.all(a.dual_coef_[w == 0] == 0.0)


def test_a_share_of_the_variance_chooses_the_number():
    everything = KernelPCA(KERNEL).fit(X)
    assert everything.n_components_ == 59 and everything.reconstruction_errors_[-1] == pytest.approx(0.0, abs=1e-12)
    model = KernelPCA(KERNEL, 0.9).fit(X)
    total = np.cumsum(everything.explained_variance_ratio_)
    assert model.n_components_ == np.flatnonzero(total >= 0.9)[0] + 1
    assert list(model.get_feature_names_out()[:2]) == ["kernelpca0", "kernelpca1"]


def test_no_more_directions_than_there_are():
    for params in ({}, {"eigen_solver": "lanczos"}, {"eigen_solver": "dense"}):
        assert KernelPCA(Linear(), 9, **params).fit(X).n_components_ == 4
    with pytest.warns(DegenerateWarning):
        model = KernelPCA(KERNEL, 2).fit(np.ones((5, 3)))
    assert model.transform(np.ones((2, 3))).shape == (2, 0)
    np.testing.assert_allclose(model.denoise(np.zeros((2, 3))), 1.0)


def test_conditionally_definite_kernels():
    """-|x - z| centred is a Gram matrix: that of the doubly centred distances, as in classical scaling."""
    D = np.linalg.norm(X[:, None] - X, axis=2)
    P = np.eye(60) - 1.0 / 60.0
    model = KernelPCA(NegativeDistance(), 6).fit(X)
    assert model.eigenvalues_ == pytest.approx(np.linalg.eigvalsh(-P @ D @ P)[::-1][:6])
    np.testing.assert_allclose(model.dual_coef_.sum(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(model.transform(X).T @ model.transform(X), np.diag(model.eigenvalues_), atol=1e-9)
    assert np.mean(model.reconstruction_error(X)) == pytest.approx(model.reconstruction_errors_[-1])
    with pytest.raises(CapabilityError, match="conditionally"):
        KernelPCA(NegativeDistance(), 2, centered=False).fit(X)


def test_precomputed_indefinite_and_strings():
    K, C = KERNEL(X), KERNEL(T, X)
    model = KernelPCA("precomputed", 3).fit(K)
    np.testing.assert_allclose(model.transform(C), KernelPCA(KERNEL, 3).fit(X).transform(T), atol=1e-10)
    with pytest.raises(CapabilityError, match="not vectors"):
        model.inverse_transform(np.zeros((1, 3)))
    with pytest.warns(IndefiniteWarning):
        KernelPCA("precomputed", 3).fit(K - 0.1 * np.eye(60))
    mended = KernelPCA("precomputed", 3, gram=Dense(indefinite="clip"))
    np.testing.assert_allclose(
        mended.fit_transform(K - 0.1 * np.eye(60)), mended.transform(K - 0.1 * np.eye(60)), atol=1e-8
    )
    words = ["abab", "aabb", "bbab", "ccab", "acca", "abba"]
    ours, dual = KernelPCA(Spectrum(2), 3).fit(words), KernelPCA(Spectrum(2), 3, gram=Dense()).fit(words)
    np.testing.assert_allclose(np.abs(ours.transform(words)), np.abs(dual.transform(words)), atol=1e-9)
    with pytest.raises(CapabilityError, match="not vectors"):
        ours.denoise(words)


def test_preimages_of_what_was_learned():
    digits = load_digits().data[:300] / 16.0
    noisy = digits[:40] + 0.3 * rng.normal(size=(40, 64))
    before = np.mean((noisy - digits[:40]) ** 2)
    for preimage in (None, RidgeMap(0.01), DistanceScaling(10), Gradient()):
        model = KernelPCA(Gaussian(3.0), 40, preimage=preimage).fit(digits)
        clean = model.denoise(noisy)
        assert np.mean((clean - digits[:40]) ** 2) < 0.5 * before
    poly = KernelPCA(Polynomial(3), 8).fit(X / 5.0)
    assert np.mean((poly.denoise(X / 5.0) - X / 5.0) ** 2) < 0.05 * np.var(X / 5.0)


def test_a_coarse_image_comes_out_sharper():
    """Projected on the components of sharp images and brought back, it has details that interpolation cannot give."""
    images = load_digits().data / 16.0
    train, test = images[:900], images[900:1100]
    coarse = test.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4))
    blurred = np.clip(zoom(coarse, (1, 2, 2), order=1, mode="nearest", grid_mode=True), 0.0, 1.0).reshape(-1, 64)
    sharp = KernelPCA(Gaussian(2.0), 100, preimage=DistanceScaling(5)).fit(train).denoise(blurred)
    assert np.mean((sharp - test) ** 2) < 0.8 * np.mean((blurred - test) ** 2)


def test_few_random_products_come_near_the_dense_answer():
    many = load_digits().data[:800]
    whole = KernelPCA(Gaussian(30.0), 10, eigen_solver="dense").fit(many)
    some = KernelPCA(Gaussian(30.0), 10, eigen_solver="randomized").fit(many)
    assert some.n_iter_ <= 6
    np.testing.assert_allclose(some.eigenvalues_, whole.eigenvalues_, rtol=1e-5)
    overlap = np.linalg.svd(some.eigenvectors_.T @ whole.eigenvectors_)[1]
    assert overlap.min() > 0.999
    rough = KernelPCA(Gaussian(30.0), 10, eigen_solver="randomized", max_iter=2).fit(many)
    assert rough.n_iter_ == 2 and np.all(rough.eigenvalues_ <= whole.eigenvalues_ * (1.0 + 1e-12))


def test_conditionally_definite_kernels_by_products():
    many = rng.normal(size=(560, 3))
    whole = KernelPCA(NegativeDistance(), 4, gram=Dense(), eigen_solver="dense").fit(many)
    some = KernelPCA(NegativeDistance(), 4, gram=Tiles(), eigen_solver="lanczos", tol=1e-11).fit(many)
    np.testing.assert_allclose(some.eigenvalues_, whole.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(some.transform(many[:20]), whole.transform(many[:20]), atol=1e-6)


def test_the_score_of_a_new_sample_sums_over_the_samples_that_the_coefficients_belong_to():
    """z_l(x) = lambda_l^-1/2 sum_j v_jl k(x_j, x), where the slides print k(x_i, x)."""
    P = np.eye(60) - 1.0 / 60.0
    values, vectors = np.linalg.eigh(P @ KERNEL(X) @ P)
    values, vectors = values[::-1][:3], vectors[:, ::-1][:, :3]
    K = KERNEL(X, T)
    right = np.array([[sum(vectors[j, c] * K[j, t] for j in range(60)) for c in range(3)] for t in range(9)])
    right = (right - (KERNEL(X).mean(axis=0) @ vectors)) / np.sqrt(values)
    model = KernelPCA(KERNEL, 3).fit(X)
    np.testing.assert_allclose(np.abs(model.transform(T)), np.abs(right), atol=1e-9)
    printed = vectors.sum(axis=0) * K[:1].T / np.sqrt(values)  # k(x_i, x) leaves the sum, which is zero
    assert np.abs(printed).max() < 1e-9 < 1e-3 < np.abs(right).max()


def test_iterations_that_end_early_say_so(monkeypatch):
    many = rng.normal(size=(600, 20))
    with pytest.warns(ConvergenceWarning, match="2 products"):
        model = KernelPCA(Gaussian(4.0), 5, max_iter=2, eigen_solver="lanczos").fit(many)
    assert model.residual_ > 1e-8 and model.transform(many[:3]).shape == (3, 5)
    monkeypatch.setattr("mercer.budget.Clock.expired", property(lambda self: True))
    with pytest.warns(ConvergenceWarning, match="1 products.*time"):
        KernelPCA(Gaussian(4.0), 5, gram=Tiles(), max_time=100.0, eigen_solver="lanczos").fit(many)


def test_bad_input():
    for params in ({"n_components": 0}, {"n_components": 1.5}, {"eigen_solver": "arpack"}, {"tol": -1.0}):
        with pytest.raises(ParameterError):
            KernelPCA(**params).fit(X)
    with pytest.raises(ParameterError, match="int is accepted"):
        KernelPCA(eigen_solver="lanczos").fit(X)
    model = KernelPCA(KERNEL, 3).fit(X)
    with pytest.raises(DomainError, match="3 components"):
        model.inverse_transform(np.zeros((2, 4)))
    assert not hasattr(model, "components_")
    assert KernelPCA(KERNEL, 3).memory_plan(5000, 10).total > 8 * 5000**2


@pytest.mark.slow  # the default is looked at in tests/contract
@parametrize_with_checks([KernelPCA(n_components=2, eigen_solver="lanczos", gram=Tiles(), preimage=RidgeMap())])
def test_scikit_learn(estimator, check):
    check(estimator)
