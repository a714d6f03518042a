"""What all Grams of low rank share: sums over rows of a factor that is never in memory."""

import threading
import tracemalloc

import numpy as np
import pytest

from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.gram import Expansion, IncompleteCholesky, Nystrom
from mercer.gram.low_rank.factor import FactorGram
from mercer.kernels import Gaussian, Spectrum
from mercer.testing import check_gram

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
S = Vectors.pack(X)
KERNEL = Gaussian(1.5)
SOME = np.array([5, 2, 290, 40])


class Columns(FactorGram):
    """The first columns of the data themselves: F = X[:, :2]."""

    @property
    def rank(self):
        return 2

    def _rows(self, T):
        return T.X[:, :2]

    def _function(self, weights, intercept):
        raise NotImplementedError


def streamed(monkeypatch, precision="double", rank=25):
    """A Gram that holds nothing and reads few rows at a time."""
    monkeypatch.setattr("mercer.gram.low_rank.factor_rows.SHARE", 0.0)
    for module in ("factor", "factor_rows"):
        monkeypatch.setattr(f"mercer.gram.low_rank.{module}.ROWS", 32)
    monkeypatch.setattr("mercer.gram.low_rank.factor.DEEP", 64)
    gram = Nystrom(rank, precision=precision).build(KERNEL, S)
    assert gram._held is None and gram._kept is None
    return gram


def kept(monkeypatch):
    """A Gram that keeps C and not F."""
    monkeypatch.setattr("mercer.gram.low_rank.factor_rows.CHEAP", 0.0)
    gram = Nystrom(25).build(KERNEL, S)
    assert gram._held is None and gram._kept is not None
    return gram


@pytest.mark.parametrize("make", [streamed, kept])
def test_all_ways_to_read_the_factor_give_one_matrix(make, monkeypatch):
    F = Nystrom(25).build(KERNEL, S).factor()
    gram = make(monkeypatch)
    w, Y = rng.uniform(0.5, 2.0, 300), rng.normal(size=(300, 2))
    assert np.allclose(gram.factor(), F, atol=1e-9)
    assert np.allclose(gram.factor(slice(7, 40)), F[7:40], atol=1e-9)
    square, moment = gram.normal(w, Y)
    assert np.allclose(square, (F.T * w) @ F, atol=1e-8) and np.array_equal(square, square.T)
    assert np.allclose(moment, (F.T * w) @ Y, atol=1e-8)
    assert np.allclose(gram.normal(w, Y[:, 0])[1], moment[:, 0])
    assert np.allclose(gram.moment(Y), F.T @ Y, atol=1e-8)
    assert np.allclose(gram.times(F[:2].T), F @ F[:2].T, atol=1e-8)
    assert np.allclose(gram @ Y, F @ (F.T @ Y), atol=1e-8)
    assert np.allclose(gram.rows(SOME), F[SOME] @ F.T, atol=1e-8)
    assert np.allclose(gram.rows(SOME, SOME), F[SOME] @ F[SOME].T, atol=1e-8)
    assert np.allclose(gram.take(SOME).to_dense(), F[SOME] @ F[SOME].T, atol=1e-8)
    assert np.allclose(gram.diag(), np.square(F).sum(axis=1), atol=1e-8)
    out = np.zeros(300)
    gram.update(SOME, np.ones(4), out)
    assert np.allclose(out, F @ F[SOME].sum(axis=0), atol=1e-8)
    T = Vectors.pack(X[:9] + 0.1)
    assert np.allclose(gram.cross(T).to_dense(), gram.features(T) @ F.T, atol=1e-8)
    assert np.allclose(gram.cross(T) @ Y, gram.features(T) @ (F.T @ Y), atol=1e-8)


@pytest.mark.parametrize("precision", ["double", "mixed"])
def test_a_sweep_is_two_products(precision, monkeypatch):
    gram = streamed(monkeypatch, precision)
    F, V = gram.factor(), rng.normal(size=(gram.rank, 1))
    values, moment = gram.sweep(V, lambda rows, f: np.hstack([f, X[rows, :1] - f]))
    tol = 1e-9 if precision == "double" else 1e-4
    assert np.allclose(values, F @ V, atol=tol)
    assert np.allclose(moment, F.T @ np.hstack([F @ V, X[:, :1] - F @ V]), atol=300 * tol)
    many = rng.normal(size=(gram.rank, 9))
    assert np.allclose(gram.sweep(many, lambda rows, f: f)[1], F.T @ (F @ many), atol=300 * tol)


def test_a_factor_without_a_root():
    gram, w = Columns(KERNEL, S), rng.uniform(size=300)
    for _ in range(2):
        assert np.allclose(gram.normal(w, X)[0], (X[:, :2].T * w) @ X[:, :2])
        assert np.allclose(gram.sweep(np.eye(2), lambda rows, f: f)[1], X[:, :2].T @ X[:, :2])
        assert np.allclose(gram.to_dense(), X[:, :2] @ X[:, :2].T)
        gram.hold()
        assert gram._held is not None


def test_weights_may_be_negative(monkeypatch):
    gram = streamed(monkeypatch)
    w = rng.normal(size=300)
    F = gram.factor()
    square, moment = gram.normal(w, X)
    assert np.allclose(square, (F.T * w) @ F, atol=1e-8) and np.allclose(moment, (F.T * w) @ X, atol=1e-8)


@pytest.mark.parametrize("precision", ["double", "mixed"])
def test_the_number_of_threads_changes_no_bit(precision, monkeypatch):
    monkeypatch.setattr("mercer.gram.low_rank.factor_rows.SHARE", 0.0)
    for module in ("factor", "factor_rows"):
        monkeypatch.setattr(f"mercer.gram.low_rank.{module}.ROWS", 32)
    w, found = rng.uniform(size=300), []
    for threads in (1, 2):
        gram = Nystrom(25, precision=precision).build(KERNEL, S, Resources(n_threads=threads))
        found.append((*gram.normal(w, X), gram @ X, *gram.sweep(np.eye(gram.rank)[:, :2], lambda rows, f: f)))
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))


def test_mixed_sums_are_near_those_in_double(monkeypatch):
    gram, rough = streamed(monkeypatch), streamed(monkeypatch, "mixed")
    assert rough._columns(S.take(slice(0, 3))).dtype == np.float32
    y = np.sin(X[:, 0])
    (A, b), (C, d) = gram.normal(1.0, y), rough.normal(1.0, y)
    f = gram.times(np.linalg.solve(A + 1e-3 * np.eye(len(A)), b))
    g = rough.times(np.linalg.solve(C + 1e-3 * np.eye(len(C)), d))
    assert np.abs(f - g).max() < 1e-3
    assert np.linalg.eigvalsh(C)[0] > -1e-3


def test_directions_lost_in_float32_are_left_out():
    wide = Gaussian(20.0)
    double, mixed = (Nystrom(100, precision=p).build(wide, S) for p in ("double", "mixed"))
    assert mixed.rank < double.rank and mixed.residual_trace < 1e-4
    far = Vectors.pack(1e20 * X)
    assert Nystrom(10, precision="mixed").build(Gaussian(1e20), far).tile_dtype == np.float64


def test_what_is_left_of_the_trace_is_stated(monkeypatch):
    K = KERNEL(X)
    gram = Nystrom(25).build(KERNEL, S)
    exact = (np.trace(K) - np.trace(gram.to_dense())) / np.trace(K)
    assert np.isclose(gram.residual_trace, exact) and gram.residual.spread == 0.0
    assert 0.0 < gram.residual.entries < 0.5
    assert np.isclose(Nystrom(300).build(KERNEL, S).residual_trace, 0.0, atol=1e-9)
    monkeypatch.setattr("mercer.gram.low_rank.factor.CHEAP", 0.0)
    monkeypatch.setattr("mercer.gram.low_rank.factor._PROBES", 100)
    guess = Nystrom(25).build(KERNEL, S).residual
    assert guess.spread > 0.0 and abs(guess.trace - exact) < 4.0 * guess.spread
    assert np.isclose(gram.take(np.arange(5)).residual_trace, 1.0 - gram.diag()[:5].mean())


def test_nothing_of_size_n_squared_and_no_factor_in_memory():
    many = Vectors.pack(rng.normal(size=(30_000, 2)))
    gram = Nystrom(200).build(Gaussian(1.0), many, Resources(memory=30_000_000))
    gram.normal(1.0, np.ones(30_000))
    tracemalloc.start()
    gram.normal(1.0, np.ones(30_000))
    gram.sweep(np.ones((gram.rank, 1)), lambda rows, f: f)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30_000 * 200 * 8 / 2


def test_a_run_that_is_stopped_ends(monkeypatch):
    gram = streamed(monkeypatch)
    before, calls = set(threading.enumerate()), []

    def respond(rows, f):
        calls.append(rows)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return f

    with pytest.raises(KeyboardInterrupt):
        gram.sweep(np.ones((gram.rank, 1)), respond)
    for thread in set(threading.enumerate()) - before:
        thread.join(10.0)
        assert not thread.is_alive()


def test_other_domains_keep_their_kernel_values(monkeypatch):
    monkeypatch.setattr("mercer.gram.low_rank.factor_rows.CHEAP", 0.0)
    monkeypatch.setattr("mercer.gram.low_rank.factor_rows._QUICKLY", 0)
    words = ["abab", "ab", "bab", "bbb", "abba"]
    assert Nystrom(3).build(Spectrum(2), Spectrum(2).pack(words))._kept is not None
    assert Nystrom(25).build(KERNEL, S)._kept is None
    check_gram(Nystrom(3), Spectrum(2), words, exact=False)


@pytest.mark.parametrize("spec", [Nystrom(25), IncompleteCholesky(25, tol=0.0)], ids=repr)
def test_the_function_of_given_weights(spec):
    gram = spec.build(KERNEL, S)
    f = gram.function(np.eye(gram.rank)[:, :3], 1.0)
    assert isinstance(f, Expansion)
    assert np.allclose(f(X[:5]), gram.factor(slice(0, 5))[:, :3] + 1.0)
