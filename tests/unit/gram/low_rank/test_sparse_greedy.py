"""Sparse greedy approximation."""

import warnings

import numpy as np
import pytest

from mercer import KernelRidge, parse
from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.errors import CapabilityError, ConvergenceWarning, MemoryBudgetError, ParameterError
from mercer.gram import Nystrom, SparseGreedy
from mercer.gram.low_rank.sparse_greedy import _best, _looked_at
from mercer.kernels import Gaussian, NegativeDistance, Spectrum
from mercer.runtime.tiling import Stopped
from mercer.testing import check_gram

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 2))
S = Vectors.pack(X)
KERNEL = Gaussian(1.0)


def test_it_is_one_matrix_on_every_domain():
    check_gram(SparseGreedy(12, tol=0.5), KERNEL, X, exact=False)
    check_gram(SparseGreedy(5, tol=0.0), Spectrum(2), ["abab", "ab", "bab", "bbb", "abba"])
    check_gram(SparseGreedy(300, tol=0.0), Gaussian(0.1), X[:60])


def test_each_landmark_is_the_best_of_all():
    K = Gaussian(0.7)(X)
    order, T = _best(K, K, 1e-12, 10)
    E, chosen = K.copy(), []
    for _ in range(10):
        with np.errstate(invalid="ignore", divide="ignore"):
            gains = np.where(np.diag(E) > 1e-9, np.square(E).sum(axis=0) / np.diag(E), -1.0)
        i = int(np.argmax(gains))
        E -= np.outer(E[:, i], E[i]) / E[i, i]
        chosen.append(i)
    assert order.tolist() == chosen
    assert np.allclose(T @ T.T, K[np.ix_(order, order)])


def test_it_leaves_less_than_a_uniform_draw():
    greedy = SparseGreedy(15, tol=0.0).build(KERNEL, S).residual_trace
    uniform = np.mean([Nystrom(15, random_state=s).build(KERNEL, S).residual_trace for s in range(5)])
    assert greedy < 0.7 * uniform


def test_it_grows_to_the_tolerance():
    for tol in (1e-1, 1e-2):
        gram = SparseGreedy(100, tol=tol).build(KERNEL, S)
        assert gram.residual_trace <= tol * (1.0 + 1e-6) and len(gram.landmarks) < 60
    with pytest.warns(ConvergenceWarning, match="larger rank"):
        SparseGreedy(3, tol=1e-6).build(KERNEL, S)


def test_of_many_samples_others_than_the_candidates_judge(monkeypatch):
    monkeypatch.setattr("mercer.gram.low_rank.sparse_greedy._LOOKS", 100)
    monkeypatch.setattr("mercer.gram.low_rank.sparse_greedy.PROBES", 300)
    many = Vectors.pack(np.random.default_rng(1).normal(size=(3000, 2)))
    order = np.random.default_rng(0).permutation(3000)
    pool, offered = _looked_at(order, 200)
    assert offered == 200 and len(pool) == 500 and len(np.unique(pool)) == 500
    assert [len(part) for part in _looked_at(order[:400], 200)[:1]] == [400]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gram = SparseGreedy(60, tol=0.05).build(KERNEL, many)
    assert gram.residual_trace <= 0.05 and len(gram.index) < 40
    with pytest.warns(ConvergenceWarning, match="larger rank"):
        SparseGreedy(60, tol=1e-4).build(Gaussian(0.2), many)


def test_a_ridge_regression():
    y = np.sin(X[:, 0])
    model = KernelRidge(KERNEL, alpha=1e-2, gram=SparseGreedy(100)).fit(X, y)
    assert np.mean(np.square(model.predict(X) - y)) < 1e-3


def test_nothing_is_left():
    gram = SparseGreedy(5).build(KERNEL, Vectors.pack(np.zeros((50, 2))))
    assert len(gram.landmarks) == 1 and np.allclose(gram.to_dense(), 1.0)
    none = SparseGreedy(5).build(Spectrum(3), Spectrum(3).pack(["a", "b"]))
    assert none.rank == 0


def test_what_is_refused():
    with pytest.raises(CapabilityError, match="conditionally"):
        SparseGreedy(5).build(NegativeDistance(), S)
    with pytest.raises(MemoryBudgetError, match="smaller rank"):
        SparseGreedy(100).build(KERNEL, S, Resources(memory=1000))
    with pytest.raises(Stopped):
        SparseGreedy(100, tol=0.0).build(KERNEL, S, Resources(monitor=lambda done: True))
    for bad in (SparseGreedy(0), SparseGreedy(5, tol=1.0), SparseGreedy(5, candidates=0)):
        with pytest.raises(ParameterError):
            bad.check()


def test_it_is_part_of_the_language():
    spec = SparseGreedy(500, tol=1e-4, candidates=30, random_state=7)
    assert parse(repr(spec)) == spec
