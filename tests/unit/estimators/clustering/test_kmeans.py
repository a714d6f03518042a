"""Kernel k-means against k-means, against its definition, and against normalised cuts."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer.domains import Similarities
from mercer.errors import CapabilityError, DomainError, IndefiniteWarning, MemoryBudgetError, ParameterError
from mercer.estimators.clustering.cuts import normalized_cut
from mercer.estimators.clustering.kmeans import KernelKMeans
from mercer.gram import Dense, Features, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear, NegativeDistance, Polynomial, Spectrum

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(size=(30, 2)) + c for c in ([0, 0], [5, 0], [0, 5])])
T = rng.uniform(-2, 7, size=(20, 2))
START = ((X[:, None] - X[[0, 10, 40, 70]]) ** 2).sum(axis=2).argmin(axis=1)


def naive(K, labels, k, s):
    """Lloyd's algorithm as the distances say, one sample at a time."""
    for _ in range(100):
        scores = np.full((len(K), k), -np.inf)
        for i in range(len(K)):
            for t in range(k):
                member = labels == t
                W = s[member].sum()
                within = s[member] @ K[np.ix_(member, member)] @ s[member]
                scores[i, t] = 2.0 / W * (K[i, member] @ s[member]) - within / W**2
        new = scores.argmax(axis=1)
        if np.array_equal(new, labels):
            return labels, float(s @ (np.diagonal(K) - scores.max(axis=1)))
        labels = new
    raise AssertionError("no rest")


# laws -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gram", [None, Dense(), Tiles(), Features()])
def test_the_linear_kernel_is_k_means(gram):
    centres = np.array([X[t == START].mean(axis=0) for t in range(4)])
    theirs = KMeans(4, init=centres, n_init=1, tol=0.0, max_iter=500).fit(X)
    ours = KernelKMeans(Linear(), 4, init=START, gram=gram).fit(X)
    assert np.array_equal(ours.labels_, theirs.labels_) and np.array_equal(ours.predict(T), theirs.predict(T))
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-10)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.transform(T), theirs.transform(T), rtol=1e-9)
    assert ours.score(T) == pytest.approx(theirs.score(T), rel=1e-9)


def test_restarts_find_what_k_means_finds():
    theirs = KMeans(6, n_init=20, random_state=0).fit(X)
    assert KernelKMeans(Linear(), 6, n_init=20).fit(X).inertia_ <= theirs.inertia_ * (1 + 1e-3)


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Polynomial(2), NegativeDistance()])
@pytest.mark.parametrize("gram", [Dense(), Tiles()])
def test_it_is_the_rule_of_the_distances(kernel, gram):
    w = rng.integers(1, 4, size=90)
    labels, inertia = naive(kernel(X), START, 4, w.astype(float))
    model = KernelKMeans(kernel, 4, init=START, gram=gram).fit(X, sample_weight=w)
    assert np.array_equal(model.labels_, labels) and model.inertia_ == pytest.approx(inertia, rel=1e-9)
    assert np.array_equal(model.predict(X), labels)


def test_the_printed_rule_is_not_that_of_the_distances():
    """The seed prints sum k - (2 / |C|) sum sum k, which for clusters of different sizes is another partition."""
    few = X[22:]  # 8, 30 and 30 samples
    model = KernelKMeans(Gaussian(1.5), 3).fit(few)
    H = (model.labels_[:, None] == np.arange(3)).astype(float)
    K = Gaussian(1.5)(few)
    within, size = np.einsum("it,ij,jt->t", H, K, H), H.sum(axis=0)
    assert np.array_equal((2 * K @ H / size - within / size**2).argmax(axis=1), model.labels_)
    assert not np.array_equal((K @ H - 2 * within / size).argmax(axis=1), model.labels_)


@pytest.mark.parametrize("weights", [False, True])
def test_weighted_kernel_k_means_is_the_normalised_cut(weights):
    s = rng.integers(1, 4, size=90).astype(float) if weights else np.ones(90)
    A = Gaussian(1.0)(X)
    d = A @ s
    cut = KernelKMeans(Gaussian(1.0), 4, objective="cut", init=START).fit(X, sample_weight=s)
    K = A / np.outer(d, d)
    # the same sums, by kernel k-means with weights on D^-1 A D^-1
    twin = KernelKMeans("precomputed", 4, init=START).fit(K, sample_weight=s * d)
    assert np.array_equal(cut.labels_, twin.labels_) and cut.inertia_ == pytest.approx(twin.inertia_, rel=1e-9)
    assert cut.cut_ == pytest.approx(normalized_cut(A, cut.labels_, s), rel=1e-9)
    assert cut.cut_ == pytest.approx(cut.inertia_ + 4 - s @ (np.diagonal(A) / d), rel=1e-9)
    # over all partitions the two objectives differ by a constant
    for _ in range(5):
        labels = rng.integers(0, 4, size=90)
        m = [s * d * (labels == t) for t in range(4)]
        variance = (s * d) @ np.diagonal(K) - sum(one @ K @ one / one.sum() for one in m)
        assert normalized_cut(A, labels, s) == pytest.approx(variance + 4 - s @ (np.diagonal(A) / d), rel=1e-9)


def test_the_cut_of_new_samples_is_that_of_their_images():
    model = KernelKMeans(Gaussian(1.0), 3, objective="cut").fit(X)
    A, B = Gaussian(1.0)(X), Gaussian(1.0)(T, X)
    d, e = A.sum(axis=1), B.sum(axis=1)
    H = (model.labels_[:, None] == np.arange(3)) * d[:, None]
    P = H / H.sum(axis=0)  # shares of the images in their centres
    K = A / np.outer(d, d)
    squared = 1.0 / e[:, None] ** 2 - 2 * (B / np.outer(e, d)) @ P + np.einsum("it,ij,jt->t", P, K, P)
    np.testing.assert_allclose(model.transform(T) ** 2, squared, rtol=1e-8, atol=1e-12)
    assert np.array_equal(model.predict(T), squared.argmin(axis=1))
    far = model.predict([[1e6, 1e6]])
    assert far.shape == (1,) and np.isfinite(model.transform([[1e6, 1e6]])).all()


@pytest.mark.parametrize("options", [{}, {"objective": "cut"}, {"kernel": Linear()}, {"gram": Nystrom(40)}])
def test_weights_are_repetitions_in_any_order(options):
    w = rng.integers(0, 4, size=90)
    again = rng.permutation(np.repeat(np.arange(90), w))
    options = {"kernel": Gaussian(1.5), **options}
    if "gram" in options:  # the landmarks are drawn among samples in their order
        again = np.flatnonzero(w)
        w = np.minimum(w, 1)
    a = KernelKMeans(n_clusters=5, **options).fit(X, sample_weight=w)
    b = KernelKMeans(n_clusters=5, **options).fit(X[again])
    assert a.inertia_ == pytest.approx(b.inertia_, rel=1e-9)
    np.testing.assert_allclose(a.transform(T), b.transform(T), rtol=1e-7, atol=1e-8)
    assert np.array_equal(a.labels_, a.predict(X)) and np.array_equal(a.labels_[again], b.labels_)


@pytest.mark.parametrize("gram", [Tiles(), Tiles(precision="mixed"), Nystrom(90), Dense()])
def test_grams_agree(gram):
    expected = KernelKMeans(Gaussian(1.5), 3, gram=Dense()).fit(X)
    model = KernelKMeans(Gaussian(1.5), 3, gram=gram).fit(X)
    assert np.array_equal(model.labels_, expected.labels_) and np.array_equal(model.predict(T), expected.predict(T))
    assert model.inertia_ == pytest.approx(expected.inertia_, rel=1e-5)


def test_tiles_never_form_the_matrix():
    Z = rng.normal(size=(6000, 2))
    KernelKMeans(Gaussian(1.0), 3, gram=Tiles(), n_init=1, max_iter=1000).fit(Z[:500])
    tracemalloc.start()
    KernelKMeans(Gaussian(1.0), 3, gram=Tiles(), n_init=2, max_iter=1000).fit(Z)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * 8 * 6000**2


def test_distances_and_scores():
    model = KernelKMeans(Gaussian(1.5), 3).fit(X)
    assert model.score(X) == pytest.approx(-model.inertia_, rel=1e-9)
    assert np.array_equal(model.transform(X).argmin(axis=1), model.labels_)
    K = Gaussian(1.5)(X)
    P = (model.labels_[:, None] == np.arange(3)) / np.bincount(model.labels_)
    np.testing.assert_allclose(model.center_norms_, np.einsum("it,ij,jt->t", P, K, P), rtol=1e-10)
    assert list(model.get_feature_names_out()) == ["kernelkmeans0", "kernelkmeans1", "kernelkmeans2"]
    assert model.score(X, sample_weight=np.full(90, 2.0)) == pytest.approx(2 * model.score(X))


# domains --------------------------------------------------------------------------------------------------


def test_strings():
    texts = ["".join(rng.choice(list("ab"), 12)) for _ in range(15)]
    texts += ["".join(rng.choice(list("cd"), 12)) for _ in range(15)]
    for gram in (None, Dense(), Tiles(), Features(), Nystrom(20)):
        model = KernelKMeans(Spectrum(2), 2, gram=gram).fit(texts)
        assert len(set(model.labels_[:15])) == len(set(model.labels_[15:])) == 1
        assert model.predict(["abab"])[0] == model.labels_[0] != model.predict(["cdcd"])[0]


@pytest.mark.parametrize("objective", ["variance", "cut"])
def test_precomputed_similarities_are_not_copied(objective):
    K = Gaussian(1.5)(X)
    before = K.copy()
    model = KernelKMeans("precomputed", 3, objective=objective).fit(K)
    expected = KernelKMeans(Gaussian(1.5), 3, objective=objective).fit(X)
    assert np.array_equal(model.labels_, expected.labels_) and np.array_equal(K, before)
    new = Gaussian(1.5)(T, X)
    assert np.array_equal(model.predict(new), expected.predict(T))
    distances = model.transform(Similarities.pack(new, diagonal=np.ones(20)))
    np.testing.assert_allclose(distances, expected.transform(T), rtol=1e-8)
    big = np.eye(1500) + 0.5
    tracemalloc.start()
    KernelKMeans("precomputed", 3, objective=objective, n_init=1).fit(big)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.7 * big.nbytes


def test_adjacency_matrices_may_be_indefinite():
    A = np.kron(np.eye(3), np.ones((6, 6))) - np.eye(18)
    A[5, 6] = A[6, 5] = A[11, 12] = A[12, 11] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", IndefiniteWarning)
        model = KernelKMeans("precomputed", 3, objective="cut", shift=0.25, init="random", n_init=30).fit(A)
    assert sorted(np.bincount(model.labels_)) == [6, 6, 6] and len(set(model.labels_[:6])) == 1
    assert model.cut_ == pytest.approx(normalized_cut(A, np.repeat([0, 1, 2], 6)), rel=1e-9)


def test_mini_batches_on_landmarks():
    Z = np.concatenate([rng.normal(size=(400, 2)) + c for c in ([0, 0], [7, 0], [0, 7])])
    model = KernelKMeans(Gaussian(2.0), 3, gram=Nystrom(60), batch_size=100).fit(Z)
    whole = KernelKMeans(Gaussian(2.0), 3, gram=Nystrom(60)).fit(Z)
    assert model.inertia_ <= 1.02 * whole.inertia_ and np.array_equal(model.predict(Z), model.labels_)
    assert sorted(np.bincount(model.labels_)) == sorted(np.bincount(whole.labels_))
    linear = KernelKMeans(Linear(), 3, batch_size=100).fit(Z)
    np.testing.assert_allclose(np.sort(linear.cluster_centers_.sum(axis=1)), [0, 7, 7], atol=0.5)
    with pytest.raises(CapabilityError, match="Nystrom"):
        KernelKMeans(Gaussian(2.0), 3, gram=Tiles(), batch_size=100).fit(Z)
    with pytest.raises(ParameterError, match="mini-batches"):
        KernelKMeans(Gaussian(2.0), 3, objective="cut", batch_size=100).fit(Z)


# corners --------------------------------------------------------------------------------------------------


def test_fewer_different_samples_than_clusters():
    with pytest.warns(ConvergenceWarning, match="2 distinct clusters"):
        model = KernelKMeans(Linear(), 3).fit([[0.0], [0.0], [1.0], [1.0]])
    assert model.inertia_ == 0.0 and set(model.predict([[0.1], [0.9]])) == set(model.labels_)
    with pytest.raises(DomainError, match="n_samples=2"):
        KernelKMeans(n_clusters=3).fit([[0.0], [1.0], [2.0]], sample_weight=[1, 0, 1])
    one = KernelKMeans(Gaussian(1.0), 1).fit(X)
    assert np.all(one.labels_ == 0) and one.n_iter_ == 1


@pytest.mark.parametrize("init", [START[:-1], START.astype(float), START + 5, [[0.0, 0.0]]])
def test_a_start_is_labels(init):
    with pytest.raises(ParameterError, match="labels, not centres"):
        KernelKMeans(Gaussian(1.0), 4, init=init).fit(X)


def test_what_is_refused_and_warned_of():
    with pytest.raises(DomainError, match="not negative"):
        KernelKMeans(Linear(), 3, objective="cut").fit(X - X.mean(axis=0))
    with pytest.raises(DomainError, match="Divide them by the largest"):
        KernelKMeans(Linear(), 3).fit(X, sample_weight=np.full(len(X), 1e300))
    with pytest.raises(CapabilityError, match="order"):
        KernelKMeans(NegativeDistance(), 3, objective="cut").fit(X)
    for wrong in ({"n_clusters": 0}, {"objective": "ratio"}, {"init": "far"}, {"shift": -1.0}, {"n_init": 0}):
        with pytest.raises(ParameterError):
            KernelKMeans(**wrong).fit(X)
    with pytest.warns(ConvergenceWarning, match="still moved"):
        KernelKMeans(Gaussian(1.0), 4, init=START, max_iter=1).fit(X)
    with pytest.raises(AttributeError, match="Linear"):
        _ = KernelKMeans(Gaussian(1.0), 4).fit(X).cluster_centers_


@pytest.mark.parametrize("asked", [0, 1])  # when it is over some restarts may have converged, others have not
def test_out_of_time_the_best_so_far_is_kept(monkeypatch, asked):
    from mercer.budget import Clock

    seconds = iter(range(10_000))
    monkeypatch.setattr(Clock, "expired", property(lambda self: next(seconds) > asked))
    with pytest.warns(ConvergenceWarning, match="time ran out"):
        model = KernelKMeans(Gaussian(0.3), 6, init="random", max_time=100.0, gram=Tiles()).fit(X)
    assert model.labels_.shape == (90,) and model.n_iter_ >= 1


def test_the_plan_names_the_products():
    plan = KernelKMeans(Gaussian(1.0), 10, gram=Tiles()).memory_plan(1_000_000, 10)
    assert plan.buffers["products of the restarts"] == 32 * 1_000_000 * 10
    assert KernelKMeans(Gaussian(1.0), 10).memory_plan(1000).buffers["products of the restarts"] == 32 * 1000 * 100


def test_saved_and_loaded(tmp_path):
    for options in ({}, {"objective": "cut"}, {"gram": Nystrom(20)}, {"kernel": Linear()}):
        model = KernelKMeans(**{"kernel": Gaussian(1.5), "n_clusters": 3, **options}).fit(X)
        mercer.save(model, tmp_path / "model.mercer", force=True)
        again = mercer.load(tmp_path / "model.mercer")
        assert np.array_equal(again.transform(T), model.transform(T))


@pytest.mark.slow  # the default is looked at in tests/contract
@parametrize_with_checks([KernelKMeans(objective="cut", n_init=2)])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("objective", ["variance", "cut"])
@pytest.mark.parametrize("storage", [sp.csr_array, sp.csr_matrix, sp.coo_array])
def test_sparse_similarities_are_what_dense_ones_are(objective, storage):
    K = np.asarray(Gaussian(1.0)(X))
    K[K < 1e-6] = 0.0
    model = KernelKMeans("precomputed", 3, objective=objective)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndefiniteWarning)
        want = model.fit(K).labels_
        np.testing.assert_array_equal(model.fit(storage(K)).labels_, want)
    np.testing.assert_array_equal(model.predict(storage(K[:5])), want[:5])


def test_sparse_similarities_beyond_memory_are_refused():
    with pytest.raises(MemoryBudgetError, match="SpectralClustering"):
        KernelKMeans("precomputed", 2, memory="1MB").fit(sp.eye_array(100_000, format="csr"))
