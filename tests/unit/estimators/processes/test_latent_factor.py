"""Latent factor models: several outputs that share processes."""

import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import SemiparametricLatentFactor
from mercer.errors import CapabilityError, MemoryBudgetError, ParameterError, TargetError
from mercer.gram import Auto, Dense, Features, IncompleteCholesky, Nystrom, RandomFeatures, SparseGreedy, Tiles
from mercer.kernels import Gaussian, Matern, Polynomial

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(20, 1))
A = np.array([[1.0, 0.3], [-0.5, 1.0], [0.8, 0.8]])
Y = np.hstack([np.sin(2 * X), np.cos(X)]) @ A.T + 0.05 * rng.normal(size=(20, 3))
HOLES = Y.copy()
HOLES[3:9, 1] = np.nan
HOLES[12] = np.nan
T = np.linspace(-2.5, 2.5, 7)[:, None]
KERNELS = (Gaussian(0.7), Matern(2.5, length_scale=1.5))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def naive(kernels, mixing, noise, y):
    """Means and variances by the sum of Kronecker products."""
    outputs = len(mixing)
    C = sum(np.kron(np.outer(a, a), k(X)) for a, k in zip(mixing.T, kernels, strict=True))
    C = C + noise * np.eye(len(C))
    cross = sum(np.kron(np.outer(a, a), k(T, X)) for a, k in zip(mixing.T, kernels, strict=True))
    prior = sum(np.kron(np.outer(a, a), k(T)) for a, k in zip(mixing.T, kernels, strict=True))
    v = y.T.ravel()
    seen = ~np.isnan(v)
    C, cross, v = C[np.ix_(seen, seen)], cross[:, seen], v[seen]
    mean = cross @ np.linalg.solve(C, v)
    variance = np.diag(prior - cross @ np.linalg.solve(C, cross.T))
    value = -0.5 * (np.linalg.slogdet(2 * np.pi * C)[1] + v @ np.linalg.solve(C, v))
    return mean.reshape(outputs, -1).T, variance.reshape(outputs, -1).T, value


@pytest.mark.parametrize("factors", [1, 2])
@pytest.mark.parametrize("y", [Y, HOLES], ids=["complete", "holes"])
def test_predictions_are_those_of_the_sum_of_kronecker_products(factors, y):
    mixing = A[:, :factors]
    model = SemiparametricLatentFactor(KERNELS[:factors], 0.1, mixing=mixing, fixed="all").fit(X, y)
    mean, variance, value = naive(KERNELS[:factors], mixing, 0.1, y)
    found, std = model.predict(T, return_std=True)
    assert np.allclose(found, mean, atol=1e-9) and np.allclose(std**2, variance, atol=1e-9)
    assert np.isclose(model.log_marginal_likelihood_, value)
    assert np.allclose(model.predict_factors(T) @ mixing.T, found)


def test_a_diagonal_mixing_is_independent_processes():
    model = SemiparametricLatentFactor(KERNELS, 0.1, mixing=np.diag([2.0, 0.5]), fixed="all").fit(X, Y[:, :2])
    mean, std = model.predict(T, return_std=True)
    for j, scale in enumerate([4.0, 0.25]):
        C, K = scale * KERNELS[j](X) + 0.1 * np.eye(20), scale * KERNELS[j](T, X)
        assert np.allclose(mean[:, j], K @ np.linalg.solve(C, Y[:, j]))
        assert np.allclose(std[:, j] ** 2, scale - np.sum(K * np.linalg.solve(C, K.T).T, axis=1))


def test_the_search_raises_the_evidence_and_shares_what_is_known():
    options = {"noise": 0.1, "n_factors": 2, "random_state": 0}
    start = SemiparametricLatentFactor(Gaussian(1.0), fixed="all", **options).fit(X, HOLES)
    model = SemiparametricLatentFactor(Gaussian(1.0), max_iter=60, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, HOLES)
    assert model.log_marginal_likelihood_ > start.log_marginal_likelihood_ + 10
    assert np.isclose(model.log_marginal_likelihood_, -model.tuned_.value)
    hidden = np.array([3, 4, 5, 6, 7, 8])
    assert np.max(np.abs(model.predict(X[hidden])[:, 1] - Y[hidden, 1])) < 0.3  # from the other two outputs
    assert model.mixing_.shape == (3, 2) and model.noise_.shape == (3,) and len(model.kernels_) == 2


@pytest.mark.parametrize("factors", [1, 2])
def test_weights_are_copies(factors):
    w = rng.integers(0, 3, 20).astype(float)
    copies = np.repeat(np.arange(20), w.astype(int))
    options = {"mixing": A[:, :factors], "fixed": "all"}
    ours = SemiparametricLatentFactor(KERNELS[:factors], **options).fit(X, Y, sample_weight=w)
    theirs = SemiparametricLatentFactor(KERNELS[:factors], **options).fit(X[copies], Y[copies])
    assert np.isclose(ours.log_marginal_likelihood_, theirs.log_marginal_likelihood_)
    for one, other in zip(ours.predict(T, return_std=True), theirs.predict(T, return_std=True), strict=True):
        assert np.allclose(one, other)


def test_more_processes_than_outputs():
    model = SemiparametricLatentFactor(KERNELS, random_state=1, fixed="all").fit(X, Y[:, 0])
    assert model.mixing_.shape == (1, 2) and model.predict(T).shape == (7,)


@pytest.mark.parametrize(
    "params",
    [{"noise": -1.0}, {"n_factors": 0}, {"mixing": np.ones((2, 2))}, {"kernel": (1, 2)}, {"kernel": ()},
     {"fixed": ("length",)}],
    ids=str,
)  # fmt: skip
def test_bad_parameters(params):
    with pytest.raises(ParameterError):
        SemiparametricLatentFactor(**params).fit(X, Y)


def test_other_refusals():
    with pytest.raises(TargetError, match="output 1"):
        SemiparametricLatentFactor().fit(X, np.where([True, False, True], Y, np.nan))
    with pytest.raises(TargetError, match="infinity"):
        SemiparametricLatentFactor().fit(X, np.where([True, False, True], Y, np.inf))
    with pytest.raises(MemoryBudgetError, match=r"Gram matrices.*gram=Nystrom"):
        SemiparametricLatentFactor(memory="2GB").fit(np.ones((20_000, 2)), np.ones((20_000, 2)))


def test_out_of_time_the_best_so_far_is_kept():
    with pytest.warns(ConvergenceWarning, match="time ran out"):
        model = SemiparametricLatentFactor(max_time=1e-4).fit(X, Y)
    assert np.isfinite(model.predict(T)).all()


def test_saved_and_loaded(tmp_path):
    model = SemiparametricLatentFactor(KERNELS, mixing=A, fixed="all").fit(X, HOLES)
    mercer.save(model, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    for one, other in zip(model.predict(T, return_std=True), again.predict(T, return_std=True), strict=True):
        assert np.array_equal(one, other)


def close(model, other, new, atol):
    assert np.isclose(model.log_marginal_likelihood_, other.log_marginal_likelihood_, atol=atol)
    for one, two in zip(model.predict(new, return_std=True), other.predict(new, return_std=True), strict=True):
        np.testing.assert_allclose(one, two, atol=atol)


@pytest.mark.parametrize("factors", [1, 2])
@pytest.mark.parametrize("y", [Y, HOLES], ids=["complete", "holes"])
@pytest.mark.parametrize("gram", [Auto(), Dense(), Nystrom(20), IncompleteCholesky(20, tol=0.0)], ids=repr)
def test_a_factor_of_full_rank_changes_nothing(factors, y, gram):
    options = {"noise": 0.1, "mixing": A[:, :factors], "fixed": "all"}
    w = rng.integers(1, 3, 20).astype(float)
    plain = SemiparametricLatentFactor(KERNELS[:factors], **options).fit(X, y, sample_weight=w)
    model = SemiparametricLatentFactor(KERNELS[:factors], gram=gram, **options).fit(X, y, sample_weight=w)
    close(model, plain, T, 1e-8)
    np.testing.assert_allclose(np.column_stack([f(T) for f in model.expansions_]), model.predict_factors(T), atol=1e-6)


def test_the_search_with_a_factor_of_full_rank_finds_the_same():
    options = {"noise": 0.1, "n_factors": 1, "tol": 1e-7}
    plain = SemiparametricLatentFactor(Gaussian(1.0), **options).fit(X, HOLES)
    model = SemiparametricLatentFactor(Gaussian(1.0), gram=Nystrom(20), **options).fit(X, HOLES)
    close(model, plain, T, 1e-5)
    assert model.kernels_[0].length_scale == pytest.approx(plain.kernels_[0].length_scale, rel=1e-5)


@pytest.mark.parametrize("gram", [Nystrom(4), SparseGreedy(5, tol=0.0), RandomFeatures(30)], ids=repr)
@pytest.mark.parametrize("y", [Y, HOLES], ids=["complete", "holes"])
def test_fewer_coordinates_are_the_process_of_the_matrix_they_stand_for(gram, y):
    """Means by the sum of Kronecker products, with F F^T in the place of K everywhere."""
    model = SemiparametricLatentFactor(KERNELS[:1], 0.1, mixing=A[:, :1], fixed="all", gram=gram).fit(X, y)
    (F,) = (one(X) for one in model.posterior_.maps)
    (G,) = (one(T) for one in model.posterior_.maps)
    square = np.outer(A[:, 0], A[:, 0])
    v = y.T.ravel()
    seen = ~np.isnan(v)
    C = (np.kron(square, F @ F.T) + 0.1 * np.eye(60))[np.ix_(seen, seen)]
    cross, v = np.kron(square, G @ F.T)[:, seen], v[seen]
    mean, std = model.predict(T, return_std=True)
    np.testing.assert_allclose(mean, (cross @ np.linalg.solve(C, v)).reshape(3, -1).T, atol=1e-8)
    prior = np.tile(KERNELS[0](T).diagonal()[:, None], 3) * A[:, 0] ** 2
    explained = np.einsum("ij,ji->i", cross, np.linalg.solve(C, cross.T)).reshape(3, -1).T
    unknown = np.maximum(1.0 - np.sum(G**2, axis=1), 0.0) - (1.0 - np.sum(G**2, axis=1))  # where |F|^2 > k(x, x)
    np.testing.assert_allclose(std**2, prior - explained + unknown[:, None] * A[:, 0] ** 2, atol=1e-8)
    value = -0.5 * (np.linalg.slogdet(2 * np.pi * C)[1] + v @ np.linalg.solve(C, v))
    assert np.isclose(model.log_marginal_likelihood_, value)
    used = ~np.isnan(y).all(axis=1)
    assert model.residual_trace_ == pytest.approx(1.0 - np.sum(F[used] ** 2) / used.sum(), abs=1e-9)


def test_features_are_exact_and_are_searched():
    kernel = Polynomial(2, 1.0)
    options = {"noise": 0.1, "n_factors": 1, "tol": 1e-6}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain = SemiparametricLatentFactor(kernel, **options).fit(X, Y)
        model = SemiparametricLatentFactor(kernel, gram=Features(), **options).fit(X, Y)
    assert model.log_marginal_likelihood_ == pytest.approx(plain.log_marginal_likelihood_, abs=1e-3)
    np.testing.assert_allclose(model.predict(T), plain.predict(T), atol=1e-2)


def test_no_matrix_of_all_samples():
    n = 3000
    x = np.random.default_rng(1).uniform(-2, 2, size=(n, 1))
    y = np.hstack([np.sin(2 * x), np.cos(x)]) @ A.T + 0.05 * np.random.default_rng(2).normal(size=(n, 3))
    y[::7, 1] = np.nan
    model = SemiparametricLatentFactor(Gaussian(1.0), gram=Nystrom(30), max_iter=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(x[:100], y[:100])
        tracemalloc.start()
        try:
            model.fit(x, y).predict(x[:1000], return_std=True)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 0.3 * 8 * n**2
    assert peak < 1.2 * model.memory_plan(n, 1, 3).total < 0.3 * 8 * n**2
    assert np.mean((model.predict(x)[:, 0] - np.sin(2 * x[:, 0]) - 0.3 * np.cos(x[:, 0])) ** 2) < 0.01


def test_grams_that_cannot_be_used_are_named():
    with pytest.raises(CapabilityError, match=r"Tiles.*the determinant.*Nystrom"):
        SemiparametricLatentFactor(gram=Tiles()).fit(X, Y)
    with pytest.raises(CapabilityError, match="indefinite"):
        SemiparametricLatentFactor(gram=Dense(indefinite="clip")).fit(X, Y)
    model = SemiparametricLatentFactor(KERNELS, mixing=A, fixed="all", gram=Nystrom(4)).fit(X, Y)
    assert not hasattr(model.set_params(gram=None).fit(X, Y), "residual_trace_")


@pytest.mark.parametrize("gram", [Nystrom(8), RandomFeatures(10)], ids=repr)
def test_a_model_of_low_rank_is_saved_and_loaded(gram, tmp_path):
    model = SemiparametricLatentFactor(KERNELS, mixing=A, fixed="all", gram=gram).fit(X, HOLES)
    mercer.save(model, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    for one, other in zip(model.predict(T, return_std=True), again.predict(T, return_std=True), strict=True):
        assert np.array_equal(one, other)
