"""Independent components: contrasts against measures from the definition, rotations against a grid and FastICA."""

import warnings

import numpy as np
import pytest
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF

from benchmarks.geometry_dependence import Mixtures
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.estimators.dependence.ica import CONTRASTS, KernelICA, amari_error
from mercer.inference.dependence_measures import hsic, kcc
from mercer.kernels import Gaussian, NegativeDistance

rng = np.random.default_rng(0)
A = np.array([[2.0, 1.0], [1.0, 1.0]])
UNIFORM = rng.uniform(-1.0, 1.0, size=(300, 2))
Z = rng.laplace(size=(50, 3))
Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)


def contrast_of(name, Z, V, w=None):
    model = KernelICA(contrast=name)
    model.kernel_, model.kappa_ = Gaussian(0.8), 0.02
    return model._objective(Z, np.ones(len(Z)) if w is None else w)(V)


def columns(S, i, j):
    return S[:, [i]], S[:, [j]], (Gaussian(0.8), Gaussian(0.8))


def test_the_contrasts_are_the_measures():
    pairs = [hsic(*columns(Z, i, j)) for i, j in [(0, 1), (0, 2), (1, 2)]]
    assert contrast_of("hsic", Z, np.eye(3))[0] == pytest.approx(sum(pairs), rel=1e-5)
    two = kcc(*columns(Z, 0, 1), kappa=0.02)
    assert contrast_of("kcc", Z[:, :2], np.eye(2))[0] == pytest.approx(-0.5 * np.log(1.0 - two), rel=1e-4)


def test_the_generalised_variance_is_the_determinant_from_the_definition():
    c, blocks = 50 * 0.02 / 2, []
    P = np.eye(50) - 1.0 / 50
    for i in range(3):
        K = P @ Gaussian(0.8)(Z[:, [i]]) @ P
        blocks.append(K @ np.linalg.inv(K + c * np.eye(50)))
    R = np.block([[np.eye(50) if i == j else blocks[i] @ blocks[j] for j in range(3)] for i in range(3)])
    assert contrast_of("kgv", Z, np.eye(3))[0] == pytest.approx(-0.5 * np.linalg.slogdet(R)[1], rel=1e-4)
    least = np.linalg.eigvalsh(0.5 * (R + R.T))[0]
    assert contrast_of("kcc", Z, np.eye(3))[0] == pytest.approx(-0.5 * np.log(least), rel=1e-4)


@pytest.mark.parametrize("name", CONTRASTS)
def test_gradients_are_finite_differences(name):
    V = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    w = rng.uniform(0.5, 2.0, size=50)
    slope = contrast_of(name, Z, V, w)[1]
    for i, j in np.ndindex(3, 3):
        step = np.zeros((3, 3))
        step[i, j] = 1e-5
        change = contrast_of(name, Z, V + step, w)[0] - contrast_of(name, Z, V - step, w)[0]
        assert slope[i, j] == pytest.approx(change / 2e-5, rel=1e-4, abs=1e-4 * np.abs(slope).max())


@pytest.mark.parametrize("name", CONTRASTS)
def test_two_components_are_the_best_of_all_angles(name):
    X = UNIFORM[:120] @ A.T
    model = KernelICA(contrast=name, n_init=3).fit(X)
    whitened = (X - model.mean_) @ model.whitening_.T
    function = model._objective(whitened, np.ones(120))
    angles = np.linspace(0.0, np.pi / 2, 40)
    grid = [function(np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]]))[0] for a in angles]
    assert model.contrast_ <= min(grid) * (1.0 + 1e-6)
    assert model.contrast_ >= min(grid) * 0.95  # the grid is fine
    assert model.contrast_ <= min(model.contrasts_) * (1.0 + 1e-9)
    assert len(model.contrasts_) == (1 if name == "kcc" else 3)


def test_better_than_fast_ica_where_its_contrast_is_blind():
    ours, theirs = [], []
    for seed in range(4):
        r = np.random.default_rng(seed)
        bumps = r.choice([-1.0, 1.0], 400, p=[0.21, 0.79]) * 1.0 + 0.25 * r.normal(size=400)  # kurtosis about zero
        S = np.column_stack([bumps, r.exponential(size=400)])
        S = (S - S.mean(axis=0)) / S.std(axis=0)
        M = r.normal(size=(2, 2))
        ours.append(amari_error(KernelICA(n_init=2).fit(S @ M.T).components_, M))
        fast = FastICA(whiten="unit-variance", random_state=0, max_iter=1000).fit(S @ M.T)
        theirs.append(amari_error(fast.components_, M))
    assert np.mean(ours) < np.mean(theirs) and np.mean(ours) < 0.04


def five_sources(seed, n=400):
    r = np.random.default_rng(seed)
    humps = r.choice([-1.0, 1.0], n) + 0.4 * r.normal(size=n)
    S = [r.uniform(-1, 1, n), r.laplace(size=n), r.exponential(size=n), humps, r.standard_t(3, n)]
    S = np.column_stack(S)
    M = (
        np.linalg.qr(r.normal(size=(5, 5)))[0]
        @ np.diag([1.0, 2.0, 3.0, 4.0, 5.0])
        @ np.linalg.qr(r.normal(size=(5, 5)))[0]
    )
    return (S - S.mean(axis=0)) / S.std(axis=0) @ M.T, M


@pytest.mark.parametrize("name", CONTRASTS)
def test_no_contrast_is_above_that_of_fast_ica(name):
    X, _ = five_sources(0, 150)
    model = KernelICA(contrast=name, n_init=1, max_iter=15)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    Z = (X - model.mean_) @ model.whitening_.T
    theirs = FastICA(whiten=False, random_state=np.random.RandomState(0).randint(2**31)).fit(Z).components_
    left, _, right = np.linalg.svd(theirs)
    assert model.contrast_ <= model._objective(Z, np.ones(150))(left @ right)[0] * (1.0 + 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_five_sources_are_no_local_minimum(seed):
    X, M = five_sources(seed)
    theirs = amari_error(FastICA(whiten="unit-variance", random_state=0, max_iter=2000).fit(X).components_, M)
    assert amari_error(KernelICA(n_init=1).fit(X).components_, M) <= max(1.5 * theirs, 0.1)


@pytest.mark.slow
def test_the_usual_sources_are_found_better_than_by_fast_ica():
    """Pairs of each of the eighteen sources that kernel ICA was introduced with, mixed at random."""
    ours, theirs = [], []
    for seed in range(18):  # one of each
        data = Mixtures(1000, 2, seed).make()
        ours.append(amari_error(KernelICA().fit(data.X).components_, data.y))
        fast = FastICA(whiten="unit-variance", random_state=0, max_iter=2000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            theirs.append(amari_error(fast.fit(data.X).components_, data.y))
    assert np.mean(ours) < 0.5 * np.mean(theirs) and np.median(ours) <= np.median(theirs)


def test_amari_error_is_from_zero_to_one_and_blind_to_order_and_scale():
    W = np.linalg.inv(A)
    assert amari_error(W, A) == 0.0 and amari_error(-3.0 * W[::-1], A) == pytest.approx(0.0, abs=1e-15)
    assert amari_error(np.ones((3, 3)) + 1e-12 * np.eye(3), np.eye(3)) == pytest.approx(1.0)
    P = np.abs(rng.normal(size=(3, 3)))
    by_hand = sum(P[i].sum() / P[i].max() - 1 + P[:, i].sum() / P[:, i].max() - 1 for i in range(3)) / 12
    assert amari_error(P, np.eye(3)) == pytest.approx(by_hand)
    assert amari_error([[2.0]], [[1.0]]) == 0.0
    with pytest.raises(DomainError, match="square"):
        amari_error(np.ones((2, 3)), np.eye(3))
    with pytest.raises(DomainError, match="zeros"):
        amari_error(np.zeros((2, 2)), np.eye(2))


def test_what_is_stored_fits_together():
    X = np.column_stack([UNIFORM @ A.T, UNIFORM @ [1.0, 2.0]]) + np.array([1.0, 2.0, 3.0])
    model = KernelICA(n_init=1).fit(X)
    S = model.transform(X)
    assert S.shape == (300, 2) and model.rotation_.shape == (2, 2)
    np.testing.assert_allclose(S.T @ S / 300, np.eye(2), atol=1e-9)
    np.testing.assert_allclose(model.inverse_transform(S), X, atol=1e-9)
    np.testing.assert_allclose(model.components_, model.rotation_ @ model.whitening_, atol=1e-12)
    assert list(model.get_feature_names_out()) == ["kernelica0", "kernelica1"]
    with pytest.raises(ParameterError, match="2 directions"):
        KernelICA(3).fit(X)
    with pytest.raises(DomainError, match="components of shape"):
        model.inverse_transform(np.ones((2, 3)))


@pytest.mark.parametrize("seed", range(4))
def test_the_rotation_is_one(seed):
    r = np.random.default_rng(seed)
    model = KernelICA(n_init=1, contrast="hsic").fit(
        r.laplace(size=(60, 2 + seed % 2)) @ r.normal(size=(2 + seed % 2, 3))
    )
    V = model.rotation_
    np.testing.assert_allclose(V @ V.T, np.eye(len(V)), atol=1e-9)
    assert np.linalg.det(V) == pytest.approx(1.0)
    np.testing.assert_allclose(model.components_, V @ model.whitening_, atol=1e-12)
    assert np.all(model.components_[np.arange(len(V)), np.argmax(np.abs(model.components_), axis=1)] > 0.0)


def test_weights_are_repetitions():
    X = UNIFORM[:80] @ A.T
    w = np.random.default_rng(1).integers(0, 3, size=80)
    a = KernelICA(n_init=1, tol=1e-6).fit(X, sample_weight=w)
    b = KernelICA(n_init=1, tol=1e-6).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(a.components_, b.components_, atol=1e-3)
    assert a.contrast_ == pytest.approx(b.contrast_, rel=1e-5)


def test_the_same_seed_gives_the_same_bits_and_short_runs_tell():
    X = np.random.default_rng(2).laplace(size=(60, 3))
    a, b = (KernelICA(n_init=2, random_state=3).fit(X) for _ in range(2))
    np.testing.assert_array_equal(a.components_, b.components_)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        KernelICA(n_init=1, max_iter=1, tol=0.0).fit(X)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        KernelICA(n_init=50, max_time=1e-3).fit(X)


def test_kernels_must_have_derivatives():
    with pytest.raises(CapabilityError, match="derivative"):
        KernelICA(kernel=NegativeDistance()).fit(Z)
    with pytest.raises(DomainError, match="do not vary"):
        KernelICA().fit(np.ones((5, 2)))


@pytest.mark.parametrize("given", ["rbf", RBF(np.sqrt(0.5))], ids=str)
def test_kernels_are_taken_as_words_and_as_objects_of_scikit_learn(given):
    X = UNIFORM[:60] @ A.T
    want = KernelICA(kernel=Gaussian(np.sqrt(0.5)), n_init=1).fit(X)
    np.testing.assert_allclose(KernelICA(kernel=given, n_init=1).fit(X).components_, want.components_, rtol=1e-6)


def test_functions_have_no_derivatives():
    with pytest.raises(CapabilityError):
        KernelICA(kernel=lambda a, b: np.exp(-((a - b.T) ** 2))).fit(UNIFORM[:40] @ A.T)


def test_weights_that_nearly_vanish_are_refused():
    with pytest.raises(DomainError, match="their inverses overflow"):
        KernelICA().fit(np.random.default_rng(0).laplace(size=(20, 2)), sample_weight=np.full(20, 1e-320))
