"""Spectral clustering against generalised eigenproblems, scikit-learn, and the LS-SVM's dual problem."""

import tracemalloc

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from sklearn.cluster import SpectralClustering as Theirs
from sklearn.datasets import load_digits, load_iris, make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer.errors import CapabilityError, DegenerateWarning, DomainError, ParameterError
from mercer.estimators.clustering import spectral_clustering as module
from mercer.estimators.clustering.cuts import normalized_cut
from mercer.estimators.clustering.kmeans import KernelKMeans
from mercer.estimators.clustering.spectral_clustering import SpectralClustering
from mercer.gram import Dense, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear, NegativeDistance, Spectrum

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(size=(30, 2)) + c for c in ([0, 0], [4, 0], [0, 4])])
T = rng.uniform(-2, 6, size=(20, 2))
MOONS, SIDES = make_moons(300, noise=0.05, random_state=0)
FORMS = ["eigenmap", "weighted_pca"]


def test_the_embedding_solves_the_relaxed_problem():
    A = Gaussian(1.0)(X)
    d = A.sum(axis=1)
    values, vectors = scipy.linalg.eigh(np.diag(d) - A, np.diag(d))
    model = SpectralClustering(Gaussian(1.0), 4).fit(X)
    Z = model.embedding_
    assert Z.shape == (90, 3)
    np.testing.assert_allclose(1.0 - model.eigenvalues_, values[1:4], atol=1e-10)
    np.testing.assert_allclose(Z.T @ (d[:, None] * Z), np.eye(3), atol=1e-9)
    np.testing.assert_allclose(np.abs(Z), np.abs(vectors[:, 1:4]), atol=1e-8)
    # the trace form: the constant adds nothing, and no partition is below the minimum
    assert np.trace(Z.T @ (np.diag(d) - A) @ Z) == pytest.approx(model.relaxed_cut_, abs=1e-9)
    assert model.relaxed_cut_ == pytest.approx(values[:4].sum(), abs=1e-9)
    assert model.relaxed_cut_ <= model.cut_ == pytest.approx(normalized_cut(A, model.labels_))
    assert all(model.relaxed_cut_ <= normalized_cut(A, rng.integers(0, 4, size=90)) for _ in range(20))


@pytest.mark.parametrize("weights", [False, True])
def test_the_form_of_the_ls_svm_solves_its_dual_problem(weights):
    s = rng.integers(1, 4, size=90).astype(float) if weights else np.ones(90)
    again = np.repeat(np.arange(90), s.astype(int))
    omega = Gaussian(1.0)(X[again])
    d = omega.sum(axis=1)
    centring = np.eye(len(d)) - np.outer(np.ones(len(d)), 1.0 / d) / np.sum(1.0 / d)
    model = SpectralClustering(Gaussian(1.0), 4, form="weighted_pca").fit(X, sample_weight=s)
    alpha = model.embedding_[again]
    np.testing.assert_allclose((centring @ omega @ alpha) / d[:, None], alpha * model.eigenvalues_, atol=1e-10)
    largest = np.sort(np.linalg.eigvals((centring @ omega) / d[:, None]).real)[::-1]
    np.testing.assert_allclose(model.eigenvalues_, largest[:3], atol=1e-9)
    # scores e(x) = sum alpha k(x, .) + b, with weighted mean zero over the samples
    b = -(1.0 / d) @ omega @ alpha / np.sum(1.0 / d)
    scores = Gaussian(1.0)(T, X[again]) @ alpha + b
    degrees = Gaussian(1.0)(T, X[again]).sum(axis=1)
    np.testing.assert_allclose(model.transform(T), scores / degrees[:, None] / model.eigenvalues_, rtol=1e-8, atol=1e-9)
    assert model.relaxed_cut_ is None


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("small", [400, 0])
def test_new_samples_are_placed_as_training_samples_are(form, small, monkeypatch):
    monkeypatch.setattr(module, "_SMALL", small)
    model = SpectralClustering(Gaussian(0.15), 2, form=form, tol=1e-9).fit(MOONS)
    np.testing.assert_allclose(model.transform(MOONS), model.embedding_, rtol=1e-5, atol=1e-8)
    assert np.array_equal(model.predict(MOONS), model.labels_)
    assert adjusted_rand_score(SIDES, model.labels_) == 1.0
    new, sides = make_moons(200, noise=0.05, random_state=1)
    assert adjusted_rand_score(sides, model.predict(new)) > 0.97
    assert np.array_equal(model.transform([[1e3, 1e3]]), [[0.0]]) and model.predict([[1e3, 1e3]]).shape == (1,)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian(3.0)])
def test_it_agrees_with_scikit_learn(kernel):
    Z, _ = make_blobs(600, 5, centers=5, cluster_std=1.5, random_state=3)
    ours = SpectralClustering(kernel, 5).fit(Z)
    theirs = Theirs(5, gamma=0.5 / kernel.length_scale**2, random_state=0).fit(Z)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) > 0.98
    assert ours.cut_ <= normalized_cut(kernel(Z), theirs.labels_) * 1.02


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", [Gaussian(1.0), None])
def test_weights_are_repetitions_in_any_order(form, kernel):
    w = rng.integers(0, 4, size=90)
    again = rng.permutation(np.repeat(np.arange(90), w))
    a = SpectralClustering(kernel, 4, form=form).fit(X, sample_weight=w)
    b = SpectralClustering(kernel, 4, form=form).fit(X[again])
    np.testing.assert_allclose(a.transform(T), b.transform(T), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(a.embedding_[again], b.embedding_, rtol=1e-6, atol=1e-9)
    assert np.array_equal(a.labels_[again], b.labels_) and a.cut_ == pytest.approx(b.cut_)
    assert np.array_equal(a.predict(X), a.labels_)


@pytest.mark.parametrize("gram", [Tiles(), Nystrom(90), Tiles(precision="mixed")])
def test_grams_agree(gram, monkeypatch):
    monkeypatch.setattr(module, "_SMALL", 0)
    expected = SpectralClustering(Gaussian(1.5), 3, gram=Dense(), tol=1e-9).fit(X)
    tol = 1e-5 if getattr(gram, "precision", "") == "mixed" else 1e-9
    model = SpectralClustering(Gaussian(1.5), 3, gram=gram, tol=tol).fit(X)
    np.testing.assert_allclose(model.embedding_, expected.embedding_, rtol=1e-3, atol=1e-4)
    assert np.array_equal(model.labels_, expected.labels_) and np.array_equal(model.predict(T), expected.predict(T))


def test_kernel_k_means_refines_it():
    Z, _ = make_blobs(300, 2, centers=5, cluster_std=1.5, random_state=3)
    model = SpectralClustering(Gaussian(1.0), 5).fit(Z)
    refined = KernelKMeans(Gaussian(1.0), 5, objective="cut", init=model.labels_).fit(Z)
    assert model.relaxed_cut_ <= refined.cut_ <= model.cut_ + 1e-12


def test_a_dense_affinity_is_held_once():
    n = 2000
    Z = rng.normal(size=(n, 3))
    SpectralClustering(Gaussian(0.5), 4).fit(Z[:500])
    peaks = []
    for kernel, data in ((Gaussian(0.5), Z), ("precomputed", Gaussian(0.5)(Z))):
        tracemalloc.start()
        SpectralClustering(kernel, 4, tol=1e-3).fit(data)
        peaks.append(tracemalloc.get_traced_memory()[1] / (8 * n * n))
        tracemalloc.stop()
    assert peaks[0] < 1.3 and peaks[1] < 0.7  # beside the matrix that is given


def test_strings_and_similarities_from_elsewhere():
    texts = ["".join(rng.choice(list("ab"), 12)) for _ in range(15)]
    texts += ["".join(rng.choice(list("bc"), 12)) for _ in range(15)]
    model = SpectralClustering(Spectrum(2).normalized(), 2).fit(texts)
    assert adjusted_rand_score(np.repeat([0, 1], 15), model.labels_) > 0.8
    K = Spectrum(2).normalized()(texts)
    same = SpectralClustering("precomputed", 2).fit(K)
    assert np.array_equal(same.labels_, model.labels_) and np.array_equal(same.predict(K[:3]), model.labels_[:3])


def graph_of(Z, k=10):
    G = kneighbors_graph(Z, k)
    return sp.csr_array(G.maximum(G.T))


def test_without_a_kernel_digits_are_found():
    """By the graph of neighbours; the Gaussian at the median distance comes to less."""
    digits = load_digits()
    Z, y = StandardScaler().fit_transform(digits.data[:300]), digits.target[:300]
    model = SpectralClustering(n_clusters=10).fit(Z)
    theirs = Theirs(10, affinity="nearest_neighbors", random_state=0).fit(Z)
    assert normalized_mutual_info_score(y, model.labels_) > normalized_mutual_info_score(y, theirs.labels_) - 0.05
    assert np.bincount(model.labels_).min() > 3
    assert np.array_equal(model.predict(Z), model.labels_)
    np.testing.assert_allclose(model.transform(Z), model.embedding_, atol=1e-12)
    rest = StandardScaler().fit(digits.data[:300]).transform(digits.data[300:600])
    assert normalized_mutual_info_score(digits.target[300:600], model.predict(rest)) > 0.6


@pytest.mark.parametrize("n", [150, 500])
@pytest.mark.parametrize("form", FORMS)
def test_a_sparse_graph_is_its_dense_matrix(form, n):
    Z, _ = make_blobs(n, 2, centers=3, random_state=0)
    w = rng.uniform(0.5, 2.0, size=n)
    w[:3] = 0.0
    A = graph_of(Z, 8) + 0.1 * sp.eye_array(n)
    one, other = (
        SpectralClustering("precomputed", 3, form=form, tol=1e-9).fit(M, sample_weight=w) for M in (A, A.toarray())
    )
    np.testing.assert_allclose(one.embedding_, other.embedding_, rtol=1e-5, atol=1e-8)
    assert np.array_equal(one.labels_, other.labels_) and one.cut_ == pytest.approx(other.cut_)
    np.testing.assert_allclose(one.transform(A[:5]), other.transform(A.toarray()[:5]), rtol=1e-5, atol=1e-8)
    with pytest.raises(DomainError, match="training samples"):
        one.transform(A[:5, :7])
    for wrong in (A[:5], -A, sp.csr_array(sp.triu(A))):
        with pytest.raises(DomainError, match="affinities"):
            SpectralClustering("precomputed", 3).fit(wrong)


def test_equal_vectors_are_one_sample_of_a_graph():
    w = rng.integers(1, 4, size=90)
    one = SpectralClustering(n_clusters=3).fit(X, sample_weight=w)
    other = SpectralClustering(n_clusters=3).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(one.embedding_, other.embedding_[np.cumsum(w) - 1], atol=1e-9)


@pytest.mark.parametrize("assign", ["discretize", "cluster_qr"])
def test_other_assignments_find_what_is_there(assign):
    Z, y = make_blobs(200, 2, centers=4, cluster_std=0.5, random_state=1)
    model = SpectralClustering(n_clusters=4, assign_labels=assign).fit(Z)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    labels = SpectralClustering(Gaussian(1.0), 4, assign_labels=assign).fit(Z).labels_
    assert adjusted_rand_score(y, labels) == 1.0


def test_a_raised_graph_is_that_of_raised_affinities():
    A = Gaussian(0.7)(X)
    raised = SpectralClustering("precomputed", 3, regularization=0.5).fit(A)
    by_hand = SpectralClustering("precomputed", 3).fit(A + 0.5 * A.mean())
    np.testing.assert_allclose(raised.embedding_, by_hand.embedding_, atol=1e-9)
    np.testing.assert_allclose(raised.transform(A[:4]), raised.embedding_[:4], atol=1e-9)
    assert raised.relaxed_cut_ is None


def test_a_graph_may_be_indefinite():
    A = np.kron(np.eye(3), np.ones((6, 6))) - np.eye(18)
    A[5, 6] = A[6, 5] = A[11, 12] = A[12, 11] = 1.0
    model = SpectralClustering("precomputed", 3).fit(A)
    assert adjusted_rand_score(np.repeat([0, 1, 2], 6), model.labels_) == 1.0
    two_sides = np.kron([[0.0, 1.0], [1.0, 0.0]], np.ones((4, 4)))  # of its eigenvalues one is -1, the others are zero
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        assert np.all(np.isfinite(SpectralClustering("precomputed", 3).fit(two_sides).embedding_))


def test_corners():
    one = SpectralClustering(Gaussian(1.0), 1).fit(X)
    assert np.all(one.labels_ == 0) and one.embedding_.shape == (90, 0) and one.cut_ == pytest.approx(0.0, abs=1e-12)
    assert np.array_equal(one.predict(T), np.zeros(20)) and one.relaxed_cut_ == 0.0
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        same = SpectralClustering(Gaussian(1.0), 2).fit(np.ones((5, 2)))
    assert np.array_equal(same.predict(np.ones((2, 2))), same.labels_[:2])
    assert list(SpectralClustering(Gaussian(1.0), 3).fit(X).get_feature_names_out()) == [
        "spectralclustering0",
        "spectralclustering1",
    ]


@pytest.mark.parametrize("make", [SpectralClustering, lambda k, n: KernelKMeans(k, n, objective="cut")])
def test_a_sample_that_is_similar_to_nothing_is_like_a_new_one(make):
    words = ["abab", "bababa", "ababab", "", "cdcd", "dcdcdc", "cdcdcd"]
    with pytest.warns(DegenerateWarning, match="sample 3"):
        model = make(Spectrum(2), 2).fit(words)
    other = make(Spectrum(2), 2).fit([word for word in words if word])
    assert np.array_equal(np.delete(model.labels_, 3), other.labels_)
    assert np.array_equal(model.predict(words), model.labels_)
    assert np.allclose(model.transform(words), other.transform(words))


def test_what_is_refused_and_warned_of(monkeypatch):
    with pytest.raises(DomainError, match="not negative"):
        SpectralClustering(Linear(), 2).fit(X - X.mean(axis=0))
    with pytest.raises(DomainError, match="n_samples=3"):
        SpectralClustering(Gaussian(1.0), 4).fit(X[:3])
    with pytest.raises(CapabilityError, match="order"):
        SpectralClustering(NegativeDistance(), 2).fit(X)
    for wrong in ({"n_clusters": 0}, {"form": "ratio"}, {"tol": 0.0}, {"n_init": 0}, {"max_iter": 0}):
        with pytest.raises(ParameterError):
            SpectralClustering(**wrong).fit(X)
    monkeypatch.setattr(module, "_SMALL", 0)
    with pytest.warns(ConvergenceWarning, match="iterations ran out"):
        SpectralClustering(Gaussian(0.2), 4, max_iter=1, tol=1e-12).fit(X)


def test_the_plan_names_the_eigenvectors():
    plan = SpectralClustering(Gaussian(1.0), 4, gram=Dense()).memory_plan(1000, 2)
    assert {"Gram matrix", "eigenvectors"} <= set(plan.buffers) and plan.total < 1.3 * 8 * 1000**2 + 2**24


def test_saved_and_loaded(tmp_path):
    for form in FORMS:
        model = SpectralClustering(Gaussian(1.0), 3, form=form).fit(X)
        mercer.save(model, tmp_path / "model.mercer", force=True)
        assert np.array_equal(mercer.load(tmp_path / "model.mercer").transform(T), model.transform(T))


@pytest.mark.slow  # the default is looked at in tests/contract
@parametrize_with_checks([SpectralClustering(form="weighted_pca", gram=Tiles())])
def test_scikit_learn(estimator, check):
    check(estimator)


def test_without_a_kernel_iris_is_found_as_well_as_by_the_peer():
    """Ties that both samples find count twice as much; counted once, the two touching kinds are cut elsewhere."""
    data, kinds = load_iris(return_X_y=True)
    data = (data - data.mean(axis=0)) / data.std(axis=0)
    theirs = Theirs(3, affinity="nearest_neighbors", random_state=0).fit(data).labels_
    ours = SpectralClustering(n_clusters=3).fit(data).labels_
    assert normalized_mutual_info_score(kinds, ours) > normalized_mutual_info_score(kinds, theirs) - 0.02
