"""Gaussian process classification."""

import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import special
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier as Theirs
from sklearn.gaussian_process.kernels import RBF
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.constraints import Positive
from mercer.domains import Similarities, Vectors
from mercer.errors import (
    CapabilityError,
    MemoryBudgetError,
    ModelError,
    ParameterError,
    TargetError,
)
from mercer.estimators.processes.laplace import laplace
from mercer.estimators.processes.posterior import CoordinatePosterior
from mercer.estimators.processes.process_classifier import GaussianProcessClassifier, LatentPosterior, SoftmaxPosterior
from mercer.estimators.processes.softmax_laplace import softmax_laplace
from mercer.gram import (
    Auto,
    Dense,
    FastGauss,
    FeatureExpansion,
    Features,
    IncompleteCholesky,
    Nystrom,
    RandomFeatures,
    SparseGreedy,
    Tiles,
)
from mercer.io.model_file import load, save
from mercer.kernels import Gaussian, Kernel, Linear, Spectrum
from mercer.theory import process_divergence, process_pac_bayes

RNG = np.random.default_rng(1)
X = RNG.normal(size=(60, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * RNG.normal(size=60) > 0
C = (X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0.1)
T = RNG.normal(size=(300, 2))
START = 1.0 * Gaussian(1.0)
WAYS = [{}, {"link": "probit"}, {"method": "ep"}]


@pytest.mark.slow  # the default is looked at in tests/contract
@parametrize_with_checks([GaussianProcessClassifier(method="ep", fixed="all")])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_scikit_learn_finds_the_same_optimum():
    ours, theirs = GaussianProcessClassifier(START, tol=1e-8).fit(X, Y), Theirs(1.0 * RBF(1.0)).fit(X, Y)
    assert np.isclose(ours.log_marginal_likelihood_, theirs.log_marginal_likelihood_value_, rtol=1e-7)
    found = np.array([ours.kernel_.scale, ours.kernel_.kernel.length_scale])
    assert np.allclose(np.log(found), theirs.kernel_.theta, atol=2e-3)
    assert np.allclose(ours.predict_proba(T), theirs.predict_proba(T), atol=2e-3)
    assert np.array_equal(ours.predict(T), theirs.predict(T))
    assert (
        ours.tuned_.value == pytest.approx(-ours.log_marginal_likelihood_) and ours.n_iter_ == ours.tuned_.evaluations
    )


def test_latent_moments_and_probabilities_are_the_formulas():
    kernel = 5.0 * Gaussian(0.8)
    model = GaussianProcessClassifier(kernel, fixed="all").fit(X, Y)
    K, k, y = kernel(X), kernel(T, X), np.where(Y, 1.0, -1.0)
    found = laplace(K, y, np.ones(60))
    mean, variance = model.predict_latent(T)
    assert np.allclose(mean, k @ found.coef)
    inner = np.linalg.inv(K + np.diag(found.root**-2.0))
    assert np.allclose(variance, 5.0 - np.einsum("ij,jk,ik->i", k, inner, k), atol=1e-8)
    z, weight = np.polynomial.hermite_e.hermegauss(150)
    expected = special.expit(mean[:, None] + np.sqrt(variance)[:, None] * z) @ weight / np.sqrt(2 * np.pi)
    assert np.allclose(model.predict_proba(T)[:, 1], expected, atol=1e-6)
    assert np.allclose(model.predict_log_proba(T), np.log(model.predict_proba(T)))
    assert model.tuned_ is None and model.n_iter_ == 1 and model.kernel_ == kernel


def test_softmax_covariances_are_those_of_the_whole_system():
    kernel, c, n = 2.0 * Gaussian(0.8), 3, 60
    model = GaussianProcessClassifier(kernel, fixed="all").fit(X, C)
    found = softmax_laplace(kernel(X), C, np.ones(n), c)
    P, big = special.softmax(found.latent, axis=1), np.kron(np.eye(c), kernel(X))
    W = np.diag(P.T.ravel()) - np.vstack([np.diag(p) for p in P.T]) @ np.vstack([np.diag(p) for p in P.T]).T
    inner = W @ np.linalg.inv(np.eye(c * n) + big @ W)
    k = np.kron(np.eye(c), kernel(T[:1], X))
    covariance = 2.0 * np.eye(c) - k @ inner @ k.T
    mean, spread = model.posterior_.moments(model.expansion_, Vectors.pack(T[:1]), model._resources())
    assert np.allclose(spread[0], covariance, atol=1e-8)
    assert np.allclose(mean[0], kernel(T[:1], X)[0] @ found.coef)
    assert np.allclose(model.predict_latent(T[:1])[1][0], np.diag(covariance))
    draws = np.random.default_rng(0).multivariate_normal(mean[0], covariance, size=200_000)
    assert np.allclose(model.predict_proba(T[:1])[0], special.softmax(draws, axis=1).mean(axis=0), atol=3e-3)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_every_way_learns_two_classes_and_three(way):
    two = GaussianProcessClassifier(START, **way).fit(X, Y)
    assert two.score(X, Y) > 0.9 and two.predict_proba(T).shape == (300, 2)
    iris, labels = load_iris(return_X_y=True)
    three = GaussianProcessClassifier(START, max_iter=200, **way)
    three.fit(iris[::2], np.array(["a", "b", "c"])[labels[::2]])
    P = three.predict_proba(iris[1::2])
    assert np.allclose(P.sum(axis=1), 1.0) and P.min() >= 0
    assert three.score(iris[1::2], np.array(["a", "b", "c"])[labels[1::2]]) > 0.9
    assert np.array_equal(three.predict(iris), three.classes_[three.predict_proba(iris).argmax(axis=1)])
    assert three.predict_latent(iris)[0].shape == (150, 3)


def test_one_class_against_the_rest_adds_the_evidences():
    options = {"fixed": "all", "multi_class": "ovr"}
    together = GaussianProcessClassifier(START, **options).fit(X, C)
    parts = [GaussianProcessClassifier(START, fixed="all").fit(X, k == C) for k in range(3)]
    assert np.isclose(together.log_marginal_likelihood_, sum(part.log_marginal_likelihood_ for part in parts))
    P = np.stack([part.predict_proba(T)[:, 1] for part in parts], axis=1)
    assert np.allclose(together.predict_proba(T), P / P.sum(axis=1, keepdims=True))
    tuned = GaussianProcessClassifier(START, multi_class="ovr").fit(X, C)
    assert tuned.log_marginal_likelihood_ > together.log_marginal_likelihood_
    assert tuned.tuned_.slope <= 1e-4 * (1 + abs(tuned.log_marginal_likelihood_))


@pytest.mark.parametrize("way", [{}, {"method": "ep"}], ids=str)
@pytest.mark.parametrize("y", [Y, C], ids=["two", "three"])
def test_a_weight_is_a_number_of_copies_and_none_leaves_out(way, y):
    copies = np.arange(60) % 3
    index = np.repeat(np.arange(60), copies)
    kernel = 2.0 * Gaussian(0.8)
    one = GaussianProcessClassifier(kernel, fixed="all", **way).fit(X, y, sample_weight=copies)
    many = GaussianProcessClassifier(kernel, fixed="all", **way).fit(X[index], y[index])
    assert np.isclose(one.log_marginal_likelihood_, many.log_marginal_likelihood_, rtol=1e-7)
    assert np.allclose(one.predict_proba(T), many.predict_proba(T), atol=1e-6)


def test_weights_of_classes_are_weights_of_their_samples():
    kernel = 2.0 * Gaussian(0.8)
    one = GaussianProcessClassifier(kernel, fixed="all", class_weight={True: 3.0}).fit(X, Y)
    other = GaussianProcessClassifier(kernel, fixed="all").fit(X, Y, sample_weight=np.where(Y, 3.0, 1.0))
    assert np.allclose(one.predict_proba(T), other.predict_proba(T))


def test_far_away_nothing_is_known():
    for way in WAYS:
        model = GaussianProcessClassifier(START, **way).fit(X, Y)
        assert np.allclose(model.predict_proba([[1e3, 1e3]]), 0.5)
    assert np.allclose(GaussianProcessClassifier(START).fit(X, C).predict_proba([[1e3, 1e3]]), 1 / 3, atol=1e-3)


def test_probabilities_are_calibrated_where_the_model_is_right():
    rng = np.random.default_rng(4)
    Z = rng.uniform(-3, 3, size=(500, 1))
    truth = special.expit(3 * np.sin(Z[:, 0]))
    y = rng.uniform(size=500) < truth
    for way in ({}, {"method": "ep"}):
        P = GaussianProcessClassifier(START, **way).fit(Z[:150], y[:150]).predict_proba(Z[150:])[:, 1]
        assert np.sqrt(np.mean((P - truth[150:]) ** 2)) < 0.12
        assert abs(P.mean() - y[150:].mean()) < 0.08


def test_names_are_held_and_bounds_are_kept():
    held = GaussianProcessClassifier(START, fixed=("scale",)).fit(X, Y)
    assert held.kernel_.scale == 1.0 and held.tuned_.names == ("kernel__length_scale",)
    within = GaussianProcessClassifier(START, bounds={"scale": (0.5, 2.0)}).fit(X, Y)
    assert 0.5 <= within.kernel_.scale <= 2.0 and within.tuned_.at_bounds == ("scale",)


def test_restarts_are_the_same_every_time():
    models = [GaussianProcessClassifier(START, restarts=2, random_state=3).fit(X, Y) for _ in range(2)]
    assert models[0].kernel_ == models[1].kernel_ and len(models[0].tuned_.starts) == 3
    assert np.array_equal(models[0].predict_proba(T), models[1].predict_proba(T))


def test_strings_and_sparse_data_and_precomputed_similarities():
    words = ["aab", "abb", "aaab", "bba", "ccd", "cdd", "ddc", "dcc"]
    model = GaussianProcessClassifier(Spectrum(2)).fit(words, [0] * 4 + [1] * 4)
    assert model.predict(["aabb", "ccdd"]).tolist() == [0, 1]
    dense, sparse = (GaussianProcessClassifier(START).fit(Z, Y) for Z in (X, sp.csr_array(X)))
    assert np.allclose(dense.predict_proba(T), sparse.predict_proba(sp.csr_array(T)), atol=1e-6)
    given = GaussianProcessClassifier("precomputed").fit(START(X), Y)
    expected = GaussianProcessClassifier(START, fixed="all").fit(X, Y)
    new = Similarities.pack(START(T, X), diagonal=np.ones(300))
    assert np.allclose(given.predict_proba(new), expected.predict_proba(T))
    assert np.array_equal(given.predict(START(T, X)), expected.predict(T))


class Blunt(Kernel):
    """A kernel with a free parameter and no derivative."""

    domain = Vectors
    constraints = {"scale": Positive()}

    def __init__(self, scale=1.0):
        self.scale = scale

    def block(self, A, B):
        return self.scale * (A.X @ B.X.T)


def test_what_cannot_be_is_refused():
    with pytest.raises(TargetError, match="one class"):
        GaussianProcessClassifier().fit(X, np.zeros(60))
    with pytest.raises(TargetError, match="no sample of positive weight"):
        GaussianProcessClassifier().fit(X, Y, sample_weight=Y.astype(float))
    with pytest.raises(ParameterError, match="link='probit' only"):
        GaussianProcessClassifier(method="ep", link="logistic").fit(X, Y)
    with pytest.raises(ParameterError, match="Use multi_class='ovr'"):
        GaussianProcessClassifier(method="ep", multi_class="softmax").fit(X, C)
    with pytest.raises(ParameterError, match="fixed"):
        GaussianProcessClassifier(fixed="scale").fit(X, Y)
    with pytest.raises(ParameterError, match="method"):
        GaussianProcessClassifier(method="exact").fit(X, Y)
    with pytest.raises(CapabilityError, match="fixed='all'"):
        GaussianProcessClassifier(Blunt()).fit(X, Y)
    assert GaussianProcessClassifier(Blunt(), fixed="all").fit(X, Y).score(X, Y) > 0.6
    with pytest.raises(MemoryBudgetError, match="E of each class"):
        GaussianProcessClassifier(memory="70kB").fit(X, C)


def test_memory_is_planned_by_the_number_of_classes():
    plan = GaussianProcessClassifier().memory_plan(1000, 5, 4)
    assert 6 * 8e6 <= plan.total <= 6.2 * 8e6
    assert GaussianProcessClassifier().memory_plan(1000, 5).total < 2.1 * 8e6
    assert GaussianProcessClassifier(method="ep").memory_plan(1000, 5, 4).buffers["factors"] == 4 * 8_000_000


def test_out_of_time_the_best_so_far_is_kept():
    with pytest.warns(ConvergenceWarning, match="stopped after"):
        model = GaussianProcessClassifier(START, max_time=1e-9).fit(X, Y)
    assert model.score(X, Y) > 0.8


def test_a_model_file_gives_the_same_predictions(tmp_path):
    for place, y in enumerate((Y, C)):
        model = GaussianProcessClassifier(START, max_iter=100).fit(X, y)
        save(model, tmp_path / f"{place}.mercer")
        again = load(tmp_path / f"{place}.mercer")
        assert np.array_equal(again.predict_proba(T), model.predict_proba(T))
        assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(T), model.predict(T))
    with pytest.raises(ModelError, match="do not fit"):
        LatentPosterior(np.ones((1, 3)), np.ones((1, 2, 2))).check()
    with pytest.raises(ModelError, match="do not fit"):
        SoftmaxPosterior(np.ones((3, 4, 4)), np.ones((3, 3))).check()


# low rank -------------------------------------------------------------------------------------------

ALL_WAYS = [*WAYS, {"multi_class": "ovr"}]
KERNEL = 2.0 * Gaussian(0.8)


@pytest.mark.parametrize("way", ALL_WAYS, ids=str)
@pytest.mark.parametrize("y", [Y, C], ids=["two", "three"])
def test_a_factor_of_full_rank_is_the_whole_matrix(way, y):
    dense = GaussianProcessClassifier(KERNEL, fixed="all", **way).fit(X, y)
    for gram in (IncompleteCholesky(60, tol=0.0), Nystrom(60)):
        low = GaussianProcessClassifier(KERNEL, fixed="all", gram=gram, **way).fit(X, y)
        assert np.isclose(low.log_marginal_likelihood_, dense.log_marginal_likelihood_, rtol=1e-8)
        for ours, theirs in zip(low.predict_latent(T), dense.predict_latent(T), strict=True):
            assert np.allclose(ours, theirs, atol=1e-6)
        assert np.allclose(low.predict_proba(T), dense.predict_proba(T), atol=1e-7)
        assert low.gram_ == gram and low.tuned_ is None and low.residual_trace_ < 1e-9
        assert isinstance(low.posterior_, CoordinatePosterior)


@pytest.mark.parametrize("way", [{}, {"method": "ep"}], ids=str)
def test_a_factor_of_full_rank_finds_the_same_parameters(way):
    dense = GaussianProcessClassifier(START, tol=1e-7, **way).fit(X, Y)
    low = GaussianProcessClassifier(START, tol=1e-7, gram=Nystrom(60), **way).fit(X, Y)
    assert np.isclose(low.kernel_.scale, dense.kernel_.scale, rtol=1e-4)
    assert np.isclose(low.kernel_.kernel.length_scale, dense.kernel_.kernel.length_scale, rtol=1e-4)
    assert np.allclose(low.predict_proba(T), dense.predict_proba(T), atol=1e-5)
    assert low.tuned_.value == pytest.approx(-low.log_marginal_likelihood_)
    assert low.gram_.landmarks == tuple(range(60))


@pytest.mark.parametrize("y", [Y, C], ids=["two", "three"])
def test_the_prior_of_new_samples_is_not_cut(y):
    model = GaussianProcessClassifier(KERNEL, fixed="all", gram=Nystrom(5)).fit(X, y)
    mean, variance = model.predict_latent([[1e3, 1e3]])
    assert np.allclose(mean, 0.0) and np.allclose(variance, 2.0)
    assert np.all(model.predict_latent(X)[1] > 0.0)


def test_landmarks_stay_and_the_evidence_of_their_model_rises():
    start = GaussianProcessClassifier(START, fixed="all", gram=SparseGreedy(12, tol=0.0)).fit(X, Y)
    found = GaussianProcessClassifier(START, gram=SparseGreedy(12, tol=0.0)).fit(X, Y)
    assert found.log_marginal_likelihood_ > start.log_marginal_likelihood_
    assert isinstance(found.gram_, Nystrom) and len(found.gram_.landmarks) == 12
    again = GaussianProcessClassifier(found.kernel_, fixed="all", gram=found.gram_).fit(X, Y)
    assert np.isclose(again.log_marginal_likelihood_, found.log_marginal_likelihood_)
    assert np.isclose(again.residual_trace_, found.residual_trace_)
    assert found.tuned_.slope <= 1e-4 * (1 + abs(found.log_marginal_likelihood_))
    held = GaussianProcessClassifier(START, fixed=("scale",), gram=Nystrom(12)).fit(X, Y)
    assert held.kernel_.scale == 1.0 and held.tuned_.names == ("kernel__length_scale",)


def test_features_of_every_kind_are_coordinates():
    exact = GaussianProcessClassifier(2.0 * Linear(), fixed="all").fit(X, C)
    for gram in (Features(), RandomFeatures(10), Auto()):
        low = GaussianProcessClassifier(2.0 * Linear(), fixed="all", gram=gram).fit(X, C)
        assert np.isclose(low.log_marginal_likelihood_, exact.log_marginal_likelihood_)
        assert np.allclose(low.predict_proba(T), exact.predict_proba(T), atol=1e-7)
        assert isinstance(low.expansion_, FeatureExpansion)
    drawn = GaussianProcessClassifier(KERNEL, gram=RandomFeatures(400)).fit(X, Y)
    assert drawn.score(X, Y) > 0.9 and drawn.gram_ == RandomFeatures(400)
    words = ["aab", "abb", "aaab", "bba", "ccd", "cdd", "ddc", "dcc"]
    ours, theirs = (
        GaussianProcessClassifier(Spectrum(2), gram=gram).fit(words, [0] * 4 + [1] * 4).predict_latent(["aabb", "zzz"])
        for gram in (Features(), None)
    )
    assert np.allclose(ours, theirs, atol=1e-6)


def test_kernels_without_derivatives_are_searched_through_a_factor():
    model = GaussianProcessClassifier(Blunt(), gram=Nystrom(5)).fit(X, Y)
    assert model.tuned_.names == ("scale",) and model.score(X, Y) > 0.6


@pytest.mark.parametrize("gram", [Dense(), Tiles(), Auto()], ids=repr)
def test_exact_grams_are_the_whole_matrix(gram):
    usual, other = (GaussianProcessClassifier(KERNEL, fixed="all", gram=g).fit(X, Y) for g in (None, gram))
    assert np.array_equal(usual.predict_proba(T), other.predict_proba(T))
    assert usual.gram_ == Dense() and isinstance(other.gram_, (Dense, Tiles))


def test_an_error_that_is_allowed_may_lead_to_a_factor():
    rng, n = np.random.default_rng(0), 1500
    Z = rng.normal(size=(n, 2))
    model = GaussianProcessClassifier(Gaussian(2.0), fixed="all", gram=Auto(tol=1e-2), memory=6 * n * n)
    model.fit(Z, Z[:, 0] > 0)
    assert isinstance(model.posterior_, CoordinatePosterior) and model.gram_choice_["gram"] == model.gram_
    whole = GaussianProcessClassifier(KERNEL, fixed="all", gram=Auto(tol=1e-2)).fit(X, Y)
    assert isinstance(whole.posterior_, LatentPosterior) and whole.gram_ == Dense()


def test_grams_that_have_no_factor_are_refused():
    with pytest.raises(CapabilityError, match="needs a factor"):
        GaussianProcessClassifier(Gaussian(1.0), gram=FastGauss()).fit(X, Y)
    with pytest.raises(CapabilityError, match="indefinite='clip'"):
        GaussianProcessClassifier(gram=Dense(indefinite="clip")).fit(X, Y)
    with pytest.raises(CapabilityError, match="multi_class='ovr'"):
        rng = np.random.default_rng(0)
        Z = rng.normal(size=(2600, 2))
        GaussianProcessClassifier(Gaussian(0.01), fixed="all", gram=RandomFeatures(2600)).fit(
            Z, rng.permutation(2600) % 3
        )


@pytest.mark.parametrize("way", [{}, {"method": "ep"}], ids=str)
def test_no_matrix_of_all_samples_is_formed(way):
    rng, n = np.random.default_rng(0), 3000
    Z = rng.normal(size=(n, 2))
    y = np.sin(2 * Z[:, 0]) + Z[:, 1] + rng.normal(size=n) > 0
    model = GaussianProcessClassifier(1.0 * Gaussian(1.0), gram=Nystrom(40), tol=1e-2, memory=4 * n * n, **way)
    model.fit(Z[:200], y[:200])  # what is compiled is compiled before memory is counted
    tracemalloc.start()
    try:
        model.fit(Z, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.3 * 8 * n * n
    assert model.memory_plan(n, 2).total < 0.3 * 8 * n * n < GaussianProcessClassifier().memory_plan(n, 2).total
    assert model.score(Z, y) > 0.75


def test_memory_of_low_rank_grows_with_the_rank_and_the_classes():
    few, many = (GaussianProcessClassifier(gram=Nystrom(r)).memory_plan(10**6, 5, 4) for r in (10, 1000))
    assert many.buffers["posterior covariances"] == 10**4 * few.buffers["posterior covariances"] == 32 * 4000**2
    apart = GaussianProcessClassifier(gram=Nystrom(1000), multi_class="ovr").memory_plan(10**6, 5, 4)
    assert apart.buffers["posterior covariances"] == 7 * 8 * 1000**2
    with pytest.raises(MemoryBudgetError, match="smaller rank"):
        GaussianProcessClassifier(gram=Nystrom(50), memory="50kB").fit(X, C)


def test_weights_and_time_are_heeded_with_a_factor():
    copies = np.arange(60) % 3
    index = np.repeat(np.arange(60), copies)
    gram = Nystrom(60)
    one = GaussianProcessClassifier(KERNEL, fixed="all", gram=gram).fit(X, C, sample_weight=copies)
    many = GaussianProcessClassifier(KERNEL, fixed="all", gram=gram).fit(X[index], C[index])
    assert np.isclose(one.log_marginal_likelihood_, many.log_marginal_likelihood_, rtol=1e-7)
    assert np.allclose(one.predict_proba(T), many.predict_proba(T), atol=1e-6)
    with pytest.warns(ConvergenceWarning, match="stopped after"):
        assert GaussianProcessClassifier(START, gram=gram, max_time=1e-9).fit(X, Y).score(X, Y) > 0.8


@pytest.mark.parametrize("gram", [Nystrom(20), RandomFeatures(30), Features()], ids=repr)
def test_a_model_file_of_low_rank_gives_the_same_predictions(tmp_path, gram):
    kernel = Linear() if isinstance(gram, Features) else KERNEL
    for place, y in enumerate((Y, C)):
        model = GaussianProcessClassifier(kernel, gram=gram, fixed="all").fit(X, y)
        save(model, tmp_path / f"{place}.mercer")
        again = load(tmp_path / f"{place}.mercer")
        assert np.array_equal(again.predict_proba(T), model.predict_proba(T))
        assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(T), model.predict(T))
    with pytest.raises(ModelError, match="do not fit"):
        CoordinatePosterior(model.posterior_.basis, np.ones((3, 7, 7)), True).check()


@pytest.mark.parametrize("method", ["laplace", "ep"])
def test_certificate_has_the_bound_of_the_process_itself(method):
    """The divergence by its factor is that of the dense posterior, and the bound that of the latent moments."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=40) > 0).astype(int)
    model = GaussianProcessClassifier(2.0 * Gaussian(1.5), method=method, fixed="all").fit(X, y)
    K = np.asarray((2.0 * Gaussian(1.5))(X))
    root = model.posterior_.root[0]
    B = np.eye(40) + root[:, None] * K * root
    covariance = K - K @ (root[:, None] * np.linalg.solve(B, root[:, None] * K))
    jitter = 1e-9 * np.eye(40)  # K itself is nearly singular
    mean, variance = model.predict_latent(X)
    expected = process_divergence(mean, covariance + jitter, K + jitter)
    assert model.posterior_.divergence(model.expansion_) == pytest.approx(expected, rel=1e-3)
    certificate = model.certificate(X, y, cv=None)
    found = next(bound for bound in certificate.bounds if bound.name == "PAC-Bayes, Gaussian process")
    bound = process_pac_bayes(
        (2 * y - 1) * mean / np.sqrt(variance), model.posterior_.divergence(model.expansion_), 0.05 / 4
    )
    assert found == pytest.approx(float(bound), rel=1e-9)
    assert certificate.holds
    assert not GaussianProcessClassifier().fit(X, y).certificate(X, y, cv=None, prior=None).holds
