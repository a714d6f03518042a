"""The Gram matrix on landmarks."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import SVC, KernelRidge, parse
from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.errors import CapabilityError, MemoryBudgetError, ParameterError
from mercer.gram import Dense, IncompleteCholesky, Nystrom
from mercer.gram.low_rank.samplers import exchanged
from mercer.kernels import Gaussian, Linear, NegativeDistance, Spectrum, WeisfeilerLehman
from mercer.testing import check_gram

X = np.random.default_rng(0).normal(size=(60, 3))
Y = np.sin(X[:, 0]) + X[:, 1]


def naive(kernel, X, index, T=None):
    """The definition: C W^+ C^T."""
    Z = [X[i] for i in index] if isinstance(X, list) else X[index]
    C = kernel(X if T is None else T, Z)
    return C @ np.linalg.pinv(kernel(Z), rcond=1e-13, hermitian=True) @ kernel(Z, X)


@pytest.mark.parametrize("sampler", ["uniform", "entropy"])
@pytest.mark.parametrize("memory", [None, 400_000], ids=["held", "streamed"])
def test_everything_is_one_matrix(sampler, memory):
    spec = Nystrom(12, sampler)
    check_gram(spec, Gaussian(1.5), X, exact=False)
    gram = spec.build(Gaussian(1.5), Vectors.pack(X), Resources(memory=memory))
    assert np.allclose(gram.to_dense(), naive(Gaussian(1.5), X, gram.index), atol=1e-9)
    assert len(set(gram.index.tolist())) == 12


def test_streamed_and_held_are_the_same(monkeypatch):
    S = Vectors.pack(X)
    held = Nystrom(12).build(Gaussian(1.5), S)
    monkeypatch.setattr("mercer.gram.low_rank.factor.ROWS", 7)
    monkeypatch.setattr("mercer.gram.low_rank.factor_rows.SHARE", 0.0)
    streamed = Nystrom(12).build(Gaussian(1.5), S)
    assert held._held is not None and streamed._held is None
    check_gram(Nystrom(12), Gaussian(1.5), X, exact=False)
    w, y = np.linspace(1.0, 2.0, 60), np.stack([Y, Y**2], axis=1)
    for a, b in zip(held.normal(w, y), streamed.normal(w, y), strict=True):
        assert np.allclose(a, b, rtol=1e-10)
    some = np.array([5, 2, 40])
    assert np.allclose(held.take(some) @ np.eye(3), streamed.take(some) @ np.eye(3))


@pytest.mark.parametrize("rank", [60, 1000])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian(20.0), Linear()], ids=repr)
def test_with_all_samples_it_is_the_dense_matrix(rank, kernel):
    check_gram(Nystrom(rank), kernel, X)


def test_repeated_landmarks_need_no_jitter():
    twice = np.concatenate([X, X])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_gram(Nystrom(120), Gaussian(1.0), twice)


def test_other_domains_and_sparse_data():
    texts = ["abab", "ab", "bab", "bbb", "abba"]
    check_gram(Nystrom(5), Spectrum(2), texts)
    gram = Nystrom(3).build(Spectrum(2), Spectrum(2).pack(texts))
    assert np.allclose(gram.to_dense(), naive(Spectrum(2), texts, gram.index))
    check_gram(Nystrom(60), Gaussian(1.0), sp.csr_array(X))


@pytest.mark.parametrize("spec", [Nystrom(24), IncompleteCholesky(24, tol=0.0)], ids=repr)
def test_graphs(spec):
    """Rings and paths of labelled nodes: all of them as landmarks are the dense matrix, some of them learn."""
    rng = np.random.default_rng(2)
    graphs = []
    for i in range(24):
        size = int(rng.integers(4, 9))
        edges = [(j, j + 1) for j in range(size - 1)] + [(size - 1, 0)] * (i % 2)
        graphs.append({"edges": edges, "labels": [str(c) for c in rng.choice(["C", "N"], size)]})
    kernel = WeisfeilerLehman(2).normalized()
    check_gram(spec, kernel, graphs)
    y = np.arange(24) % 2
    exact, few = (SVC(kernel, C=10.0, gram=gram).fit(graphs[:20], y[:20]) for gram in (Dense(), spec.replace(rank=12)))
    assert exact.score(graphs, y) > 0.8 and few.score(graphs, y) > 0.8


def test_the_entropy_grows_by_exchanges():
    rng = np.random.default_rng(1)
    clustered = np.concatenate([0.05 * rng.normal(size=(300, 2)), rng.uniform(-3, 3, size=(60, 2))])
    kernel, S = Gaussian(0.5), Vectors.pack(clustered)
    mean = {}
    for sampler in ("uniform", "entropy"):
        index = Nystrom(20, sampler).build(kernel, S).index
        mean[sampler] = kernel(clustered[index]).mean()
    assert mean["entropy"] < 0.4 * mean["uniform"]


@pytest.mark.parametrize("width", [0.5, 1.0, 2.0])
def test_landmarks_of_large_entropy_leave_less_than_drawn_ones(width):
    """Under a wide kernel they are spread as well, and do not gather at the rim."""
    kernel, S = Gaussian(width), Vectors.pack(np.random.default_rng(0).uniform(-3, 3, size=(400, 2)))
    trace = len(S)
    for seed in range(3):
        left = [
            trace - np.sum(Nystrom(40, sampler, random_state=seed).build(kernel, S).factor() ** 2)
            for sampler in ("uniform", "entropy")
        ]
        assert left[1] < left[0]


def test_exchanges_are_those_of_a_naive_search():
    K = Gaussian(0.7)(X)
    start, offered = np.arange(8), np.arange(8, 40)
    chosen = start.copy()
    for j in offered:
        trials = []
        for i in range(8):
            trial = chosen.copy()
            trial[i] = j
            trials.append(K[np.ix_(trial, trial)].sum())
        if min(trials) < K[np.ix_(chosen, chosen)].sum():
            chosen[int(np.argmin(trials))] = j
    assert np.array_equal(exchanged(lambda a, b: K[np.ix_(a, b)], start, offered), chosen)


def test_the_draw_is_repeatable():
    S = Vectors.pack(X)
    a, b, c = (Nystrom(5, random_state=seed).build(Gaussian(1.0), S).index for seed in (3, 3, 4))
    assert np.array_equal(a, b) and not np.array_equal(a, c)


def test_a_ridge_regression_on_landmarks():
    kernel = Gaussian(1.0)
    full = KernelRidge(kernel, alpha=1e-3, gram=Dense()).fit(X, Y)
    assert np.allclose(KernelRidge(kernel, alpha=1e-3, gram=Nystrom(60)).fit(X, Y).predict(X), full.predict(X))
    few = KernelRidge(kernel, alpha=0.1, gram=Nystrom(10)).fit(X, Y)
    index = Nystrom(10).build(kernel, Vectors.pack(X)).index
    coef = np.linalg.solve(naive(kernel, X, index) + 0.1 * np.eye(60), Y)
    T = X[:7] + 0.1
    assert np.allclose(few.predict(T), naive(kernel, X, index, T) @ coef)
    assert len(few.expansion_.samples) == 10


def test_what_is_refused():
    S = Vectors.pack(X)
    with pytest.raises(CapabilityError, match="conditionally"):
        Nystrom(5).build(NegativeDistance(), S)
    with pytest.raises(MemoryBudgetError, match="smaller rank"):
        Nystrom(50).build(Gaussian(1.0), S, Resources(memory=1000))
    for bad in (Nystrom(0), Nystrom(2.5), Nystrom(3, "best"), Nystrom(3, random_state=-1)):
        with pytest.raises(ParameterError):
            bad.check()


def test_landmarks_that_are_given():
    S, kernel = Vectors.pack(X), Gaussian(1.5)
    gram = Nystrom(3, landmarks=(40, 7, 7, 12, 5)).build(kernel, S)  # the first three different ones
    assert gram.index.tolist() == [7, 12, 40]
    assert np.allclose(gram.to_dense(), naive(kernel, X, gram.index), atol=1e-9)
    for bad in ((60,), (-1, 2), (), (0.5, 1.0), ((1, 2), (3, 4))):
        with pytest.raises(ParameterError, match="was given with 60 samples; a tuple of places from 0 to 59"):
            Nystrom(3, landmarks=bad).build(kernel, S)
    with pytest.raises(ParameterError):
        Nystrom(3, landmarks=[1, 2]).check()


def test_it_is_part_of_the_language():
    spec = Nystrom(500, sampler="entropy", random_state=7)
    assert parse(repr(spec)) == spec


@pytest.mark.parametrize("sampler", ["uniform", "entropy", "k-means++", "leverage", "rpcholesky", "greedy"])
def test_similarities_that_are_given_have_landmarks_too(sampler):
    points = np.random.default_rng(5).normal(size=(60, 2))
    K, y, spec = Gaussian(1.0)(points), np.sin(points[:, 0]), Nystrom(20, sampler=sampler)
    given = KernelRidge("precomputed", alpha=0.1, gram=spec).fit(K, y)
    computed = KernelRidge(Gaussian(1.0), alpha=0.1, gram=spec).fit(points, y)
    assert np.allclose(given.predict(K[:9]), computed.predict(points[:9]), atol=1e-9)
