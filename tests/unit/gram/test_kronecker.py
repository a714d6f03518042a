"""Kronecker: the matrix of pairs through those of their objects, against np.kron."""

import pickle
import tracemalloc

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import mercer
from mercer import SVC, KernelLogisticRegression, KernelRidge
from mercer.budget import Resources
from mercer.domains import Nodes, Pairs, Vectors
from mercer.errors import CapabilityError, MemoryBudgetError
from mercer.gram import Dense, HasEigen, Kronecker
from mercer.gram.kronecker import GridGram, KroneckerBasis, KroneckerGram
from mercer.kernels import Diffusion, Gaussian, Linear, PairProduct, PairSum, Spectrum
from mercer.solvers import ConjugateGradient, Spectral
from mercer.testing import check_gram

RNG = np.random.default_rng(0)
A, B = Vectors.pack(RNG.normal(size=(5, 2))), Vectors.pack(RNG.normal(size=(4, 3)))
G, L = Gaussian(1.3), Linear()
GRID, SQUARE = Pairs.grid(A, B), Pairs.grid(A)
SHUFFLED, SHUFFLED_SQUARE = GRID[RNG.permutation(20)], SQUARE[RNG.permutation(25)]


def both_orders(K, q):
    swap = np.arange(q * q).reshape(q, q).T.ravel()
    return 0.5 * (K + K[:, swap])


def test_all_pairs_give_the_matrices_of_the_seed():
    K1, K2, I = G(A), L(B), np.eye(5)
    close = np.testing.assert_allclose
    close(Kronecker().build(G.tensor(L), GRID).to_dense(), np.kron(K1, K2), rtol=1e-12, atol=1e-14)
    close(Kronecker().build(PairProduct(G), SQUARE).to_dense(), np.kron(K1, K1), rtol=1e-12)
    close(Kronecker().build(PairSum(G), SQUARE).to_dense(), np.kron(K1, I) + np.kron(I, K1), rtol=1e-12)
    product = Kronecker().build(PairProduct(G, symmetric=True), SQUARE)
    close(product.to_dense(), both_orders(np.kron(K1, K1), 5), rtol=1e-12)
    total = Kronecker().build(PairSum(G, symmetric=True), SQUARE)
    close(total.to_dense(), both_orders(np.kron(K1, I) + np.kron(I, K1), 5), rtol=1e-12)


@pytest.mark.parametrize("kernel", [G.tensor(L), 2.0 * G.tensor(L) + G.direct_sum(L) + 0.5], ids=repr)
@pytest.mark.parametrize("pairs", [GRID, SHUFFLED, SHUFFLED[:13]], ids=["grid", "shuffled", "some"])
def test_two_kinds_of_objects(kernel, pairs):
    check_gram(Kronecker(), kernel, pairs)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("pairs", [SQUARE, SHUFFLED_SQUARE, SHUFFLED_SQUARE[:13]], ids=["grid", "shuffled", "some"])
def test_objects_of_one_kind(symmetric, pairs):
    for kernel in (
        PairProduct(G, symmetric),
        PairSum(G, symmetric),
        PairProduct(G, symmetric) + 2.0 * PairSum(Gaussian(1.3), symmetric),
        PairProduct(L, symmetric) + 0.25,
    ):
        check_gram(Kronecker(), kernel, pairs)


def test_who_knows_eigenvalues():
    known = [G.tensor(L), 3.0 * G.tensor(L) + G.tensor(L)]
    assert all(isinstance(Kronecker().build(kernel, SHUFFLED), HasEigen) for kernel in known)
    square = [PairProduct(G) + PairSum(Gaussian(1.3)), PairSum(G, symmetric=True)]
    assert all(isinstance(Kronecker().build(kernel, SHUFFLED_SQUARE), GridGram) for kernel in square)
    unknown = [G.tensor(L) + G.tensor(Linear() + 1.0), G.direct_sum(L), G.tensor(L) + 1.0]
    assert not any(isinstance(Kronecker().build(kernel, GRID), HasEigen) for kernel in unknown)
    mixed = PairProduct(G) + PairProduct(G, symmetric=True)
    assert type(Kronecker().build(mixed, SQUARE)) is KroneckerGram
    assert type(Kronecker().build(G.tensor(L), GRID[:19])) is KroneckerGram


def test_eigenvalues_are_products_and_sums():
    first, second = np.linalg.eigvalsh(G(A)), np.linalg.eigvalsh(Gaussian(0.7)(B))
    values, Q = Kronecker().build(G.tensor(Gaussian(0.7)), SHUFFLED).eigh()
    np.testing.assert_allclose(values, np.sort(np.outer(first, second), axis=None), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(np.asarray(Q).T @ np.asarray(Q), np.eye(20), atol=1e-13)
    np.testing.assert_allclose(np.eye(20) @ Q, np.asarray(Q), atol=1e-15)
    values, _ = Kronecker().build(PairSum(G), SQUARE).eigh()
    np.testing.assert_allclose(values, np.sort(np.add.outer(first, first), axis=None), rtol=1e-12)
    weights = RNG.random(20)
    np.testing.assert_allclose(Q.squares(weights), np.asarray(Q) ** 2 @ weights, rtol=1e-12)


def test_symmetric_eigenvectors_have_no_short_squares():
    values, Q = Kronecker().build(PairProduct(G, symmetric=True), SQUARE).eigh()
    assert np.sum(values == 0.0) == 10  # functions that change their sign with the order
    np.testing.assert_allclose(np.asarray(Q).T @ np.asarray(Q), np.eye(25), atol=1e-13)
    with pytest.raises(CapabilityError, match="symmetric=False"):
        Q.squares(values)


def test_equal_objects():
    words = ["ab", "b", "ab", "ba"]
    pairs = [(a, b) for a in words for b in words]
    twins = Pairs.grid(Spectrum(1).pack(words))
    for kernel in (PairProduct(Spectrum(1)), PairSum(Spectrum(1)), PairSum(Spectrum(1), symmetric=True)):
        check_gram(Kronecker(), kernel, twins)
        np.testing.assert_allclose(Kronecker().build(kernel, twins).to_dense(), kernel(pairs), rtol=1e-13)
    assert isinstance(Kronecker().build(PairProduct(Spectrum(1)), twins), GridGram)


def test_objects_are_compared_once_and_equal_ones_found():
    X = np.asarray(A.X)
    repeated = Pairs.zip(Vectors.pack(np.repeat(X, 5, axis=0)), Vectors.pack(np.tile(X, (5, 1))))
    K = Kronecker().build(PairProduct(G), repeated)
    assert K.index.sizes == (5, 5) and isinstance(K, GridGram) and "5 x 5 objects" in repr(K)
    assert K.matrix.nbytes == 2 * 8 * 25 and Kronecker().build(PairProduct(G), SQUARE).matrix.nbytes == 8 * 25


def test_strings_nodes_and_threads():
    words = ["ab", "ba", "aab", "b"]
    check_gram(Kronecker(), PairProduct(Spectrum(1), symmetric=True), [(a, b) for a in words for b in words])
    check_gram(Kronecker(), PairSum(Diffusion([(0, 1), (1, 2), (2, 3)], 0.5)), [(0, 1), (2, 1), (3, 3), (0, 2)])
    pairs = Pairs(A, B, np.column_stack([RNG.integers(0, 5, 60), RNG.integers(0, 4, 60)]))
    v = RNG.normal(size=60)
    one, two = (Kronecker().build(G.tensor(L), pairs, Resources(n_threads=n)) @ v for n in (1, 2))
    assert np.array_equal(one, two)


def test_nothing_of_the_size_of_the_matrix_is_allocated():
    S = Vectors.pack(RNG.normal(size=(60, 3)))
    pairs = Pairs.grid(S)  # 3600 pairs, whose matrix has 104 MB
    y = RNG.normal(size=3600)
    fit = KernelRidge(PairProduct(G), gram=Kronecker()).fit
    fit(pairs, y)
    tracemalloc.start()
    model = fit(pairs, y)
    model.predict(pairs)
    some = KernelRidge(PairProduct(G), gram=Kronecker(), solver=ConjugateGradient(max_iter=10, tol=0.5))
    some.fit(pairs[:3000], y[:3000])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.05 * 8 * 3600**2


def test_ridge_on_all_pairs_is_that_of_the_dense_matrix():
    y = RNG.normal(size=(20, 2))
    for intercept in (False, True):
        options = dict(alpha=0.1, fit_intercept=intercept, leave_one_out=True)
        fast = KernelRidge(G.tensor(Gaussian(2.0)), gram=Kronecker(), **options).fit(SHUFFLED, y)
        slow = KernelRidge(G.tensor(Gaussian(2.0)), gram=Dense(), **options).fit(SHUFFLED, y)
        assert isinstance(fast.solver_, Spectral) and fast.solution_.residual < 1e-12
        for name in ("dual_coef_", "loo_predictions_", "intercept_"):
            np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(fast.predict(GRID), slow.predict(GRID), rtol=1e-10)


@pytest.mark.parametrize("kernel", [PairProduct(G, symmetric=True), PairSum(G), PairProduct(G) + 0.5], ids=repr)
def test_ridge_on_some_pairs_and_with_weights(kernel):
    y, weight = RNG.normal(size=25), RNG.integers(0, 3, 25)
    new = Pairs.grid(A, Vectors.pack(RNG.normal(size=(3, 2))))
    for pairs, targets, w in ((SHUFFLED_SQUARE[:14], y[:14], None), (SHUFFLED_SQUARE, y, weight)):
        fast = KernelRidge(kernel, alpha=0.1, gram=Kronecker()).fit(pairs, targets, w)
        slow = KernelRidge(kernel, alpha=0.1, gram=Dense()).fit(pairs, targets, w)
        assert isinstance(fast.solver_, ConjugateGradient)
        np.testing.assert_allclose(fast.predict(new), slow.predict(new), rtol=1e-6, atol=1e-7)


def test_symmetric_fit_is_symmetric_and_new_pairs_need_no_old_object():
    pairs = [("ab", "b"), ("b", "aab"), ("a", "ab")]
    model = KernelRidge(PairProduct(Spectrum(1), symmetric=True), alpha=0.1, gram=Kronecker()).fit(
        pairs, [1.0, 2.0, 0.0]
    )
    swapped = [(b, a) for a, b in pairs]
    np.testing.assert_allclose(model.predict(swapped), model.predict(pairs), rtol=1e-12)
    assert np.abs(model.predict([("bbb", "aa")])) > 0.0


def test_classifiers():
    labels = RNG.random(20) < 0.5
    for estimator in (SVC, KernelLogisticRegression):
        fast, slow = (
            estimator(G.tensor(Gaussian(2.0)), gram=gram).fit(GRID, labels) for gram in (Kronecker(), Dense())
        )
        np.testing.assert_allclose(fast.decision_function(GRID), slow.decision_function(GRID), rtol=1e-4, atol=1e-4)


def test_saved_models_come_back_to_the_bit(tmp_path):
    pairs = [("ab", "b"), ("b", "aab"), ("a", "ab"), ("b", "b")]
    kernel = PairProduct(Spectrum(1), symmetric=True) + PairSum(Spectrum(2), symmetric=True)
    model = KernelRidge(kernel, gram=Kronecker()).fit(pairs, [1.0, 2.0, 0.0, 1.0])
    grid = KernelRidge(G.tensor(L), gram=Kronecker()).fit(GRID, RNG.normal(size=20))
    for place, (fitted, new) in enumerate(((model, pairs[::-1]), (grid, GRID[:7]))):
        mercer.save(fitted, tmp_path / f"{place}.mercer")
        again = mercer.load(tmp_path / f"{place}.mercer")
        assert again.gram == Kronecker() and np.array_equal(again.predict(new), fitted.predict(new))
        assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict(new), fitted.predict(new))


def test_text_plan_and_refusals():
    assert mercer.parse(repr(Kronecker())) == Kronecker()
    assert Kronecker().plan(G.tensor(L), 100).total == 9600
    with pytest.raises(CapabilityError, match=r"Kronecker\(\) was given Gaussian.*or use gram=Dense"):
        Kronecker().build(G, A)
    with pytest.raises(MemoryBudgetError, match="pairs of 5 and 4 objects"):
        Kronecker().build(G.tensor(L), GRID, Resources(memory=200))
    with pytest.raises(MemoryBudgetError, match="new pairs"):
        Kronecker().build(G.tensor(L), GRID, Resources(memory=2000)).cross(
            Pairs.grid(Vectors.pack(np.ones((80, 2)) * np.arange(80)[:, None]), B)
        )
    gram = Kronecker().build(G.tensor(L), GRID, Resources(memory=2000))
    with pytest.raises(MemoryBudgetError, match="ConjugateGradient"):
        gram.to_dense()
    gram.resources = Resources(memory=1000)
    with pytest.raises(MemoryBudgetError, match="eigenvectors"):
        gram.eigh()
    assert KroneckerBasis(np.eye(2), np.eye(2), np.arange(4), np.arange(4)).shape == (4, 4)


def hidden_links(folds=10):
    """The karate club: a tenth of its links hidden in turn, what is then known, and pairs to score with their truth."""
    nx = pytest.importorskip("networkx")
    W = nx.to_numpy_array(nx.karate_club_graph(), weight=None)
    links, strangers = (np.column_stack(np.triu(part, 1).nonzero()) for part in (W, 1.0 - W))
    for hidden in np.array_split(np.random.default_rng(0).permutation(len(links)), folds):
        known = W.copy()
        for a, b in links[hidden]:
            known[a, b] = known[b, a] = 0.0
        pairs = np.concatenate([links[hidden], strangers]).astype(np.intp)
        yield known, pairs, np.repeat([1, 0], [len(hidden), len(strangers)])


@pytest.mark.parametrize("make", [PairProduct, PairSum])
def test_links_of_a_real_graph_are_predicted(make):
    """[KIKS] Section 6.1.1: better than chance, than common neighbours and than the degrees."""
    areas = {"ridge": [], "common neighbours": [], "degrees": []}
    for known, pairs, truth in hidden_links():
        nodes, degrees = Nodes.pack(np.arange(len(known))), known.sum(axis=0)
        kernel = make(Diffusion(known, 2.0, laplacian="normalized"), symmetric=True)
        model = KernelRidge(kernel, alpha=10.0, gram=Kronecker()).fit(Pairs.grid(nodes), known.ravel())
        areas["ridge"].append(roc_auc_score(truth, model.predict(Pairs(nodes, nodes, pairs))))
        a, b = pairs.T
        areas["common neighbours"].append(roc_auc_score(truth, (known @ known)[a, b]))
        areas["degrees"].append(roc_auc_score(truth, degrees[a] * degrees[b]))
    mean = {name: np.mean(found) for name, found in areas.items()}
    assert mean["ridge"] > 0.77
    assert mean["ridge"] > max(mean["common neighbours"], mean["degrees"]) + 0.05, mean
