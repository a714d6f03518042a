"""Incomplete Cholesky as a Gram."""

import numpy as np
import pytest

from mercer import KernelGramSchmidt, KernelRidge, load, parse, save
from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.errors import CapabilityError, ConvergenceWarning, MemoryBudgetError, ParameterError
from mercer.gram import Dense, IncompleteCholesky, Nystrom, SparseGreedy
from mercer.kernels import Gaussian, NegativeDistance, Spectrum
from mercer.runtime.tiling import Stopped
from mercer.testing import check_gram

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
S = Vectors.pack(X)
KERNEL = Gaussian(1.5)
WORDS = ["abab", "ab", "bab", "bbb", "abba"]


@pytest.mark.parametrize("pivoting", ["large", "largest", "drawn"])
def test_with_all_samples_it_is_the_dense_matrix(pivoting):
    spec = IncompleteCholesky(1000, tol=0.0, pivoting=pivoting)
    check_gram(spec, Gaussian(0.7), X)
    check_gram(spec, Spectrum(2), WORDS)
    check_gram(IncompleteCholesky(20, tol=0.0, pivoting=pivoting), KERNEL, X, exact=False)


@pytest.mark.parametrize("pivoting", ["large", "largest", "drawn"])
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_it_grows_to_the_tolerance(pivoting, tol):
    K = KERNEL(X)
    gram = IncompleteCholesky(200, tol=tol, pivoting=pivoting).build(KERNEL, S)
    assert np.isclose(gram.residual_trace, 1.0 - np.trace(gram.to_dense()) / np.trace(K), atol=1e-10)
    assert gram.residual_trace <= tol and gram.residual.spread == 0.0
    one = gram._held[:, :-1]
    assert 1.0 - np.square(one).sum() / np.trace(K) > tol
    index = gram.index
    nystrom = K[:, index] @ np.linalg.solve(K[np.ix_(index, index)], K[index])
    assert np.allclose(gram.to_dense(), nystrom, atol=1e-6)
    assert np.allclose(gram.features(S.take(slice(0, 9))), gram.factor(slice(0, 9)), atol=1e-6)


def test_partial_gram_schmidt_is_its_twin():
    gram = IncompleteCholesky(15, tol=0.0, pivoting="largest").build(KERNEL, S)
    basis = KernelGramSchmidt(KERNEL, n_components=15, tol=0.0).fit(X)
    assert np.array_equal(gram.index, basis.support_)
    assert np.allclose(gram.factor(), basis.transform(X))


def test_a_ridge_regression():
    y = np.sin(X[:, 0])
    exact = KernelRidge(KERNEL, alpha=1e-2, gram=Dense()).fit(X, y)
    low = KernelRidge(KERNEL, alpha=1e-2, gram=IncompleteCholesky(200, tol=1e-9)).fit(X, y)
    assert np.allclose(low.predict(X), exact.predict(X), atol=1e-4)
    assert len(low.expansion_.samples) < 200


@pytest.mark.parametrize("gram", [IncompleteCholesky(20), SparseGreedy(20), Nystrom(20, "leverage", tol=0.1)], ids=repr)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_saved_model_comes_back_to_the_bit(gram, tmp_path):
    model = KernelRidge(KERNEL, alpha=1e-2, gram=gram).fit(X, X[:, 0])
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    assert np.array_equal(again.predict(X), model.predict(X)) and again.gram_ == gram
    assert again.residual_trace_ == model.residual_trace_


def test_a_factor_in_float32():
    double, mixed = (IncompleteCholesky(200, tol=1e-3, precision=p).build(KERNEL, S) for p in ("double", "mixed"))
    assert mixed._held.dtype == np.float32 and mixed.factor().dtype == np.float64
    assert np.isclose(mixed.residual_trace, 1.0 - np.square(mixed.factor()).sum() / 200, atol=1e-6)
    assert mixed.residual_trace <= 1e-3 and abs(mixed.rank - double.rank) < 5
    index = mixed.index
    K = KERNEL(X)
    assert np.abs(mixed.to_dense() - K[:, index] @ np.linalg.solve(K[np.ix_(index, index)], K[index])).max() < 1e-4
    check_gram(IncompleteCholesky(20, tol=0.0, precision="mixed"), KERNEL, X, exact=False, tol=1e-5)


def test_zero_matrix():
    gram = IncompleteCholesky(5).build(Spectrum(3), Spectrum(3).pack(["a", "b"]))
    assert gram.rank == 0 and np.array_equal(gram.to_dense(), np.zeros((2, 2)))
    assert gram.residual_trace == 0.0


def test_a_tolerance_that_was_not_reached_is_told():
    with pytest.warns(ConvergenceWarning, match="larger rank"):
        IncompleteCholesky(3, tol=1e-6).build(KERNEL, S)


def test_what_is_refused():
    with pytest.raises(CapabilityError, match="conditionally"):
        IncompleteCholesky(5).build(NegativeDistance(), S)
    with pytest.raises(MemoryBudgetError, match="rpcholesky"):
        IncompleteCholesky(100).build(KERNEL, S, Resources(memory=1000))
    for bad in (IncompleteCholesky(0), IncompleteCholesky(5, tol=1.0), IncompleteCholesky(5, pivoting="best")):
        with pytest.raises(ParameterError):
            bad.check()
    for pivoting in ("large", "largest", "drawn"):
        with pytest.raises(Stopped):
            IncompleteCholesky(200, 0.0, pivoting).build(Gaussian(0.1), S, Resources(monitor=lambda done: True))


def test_it_is_part_of_the_language():
    spec = IncompleteCholesky(500, tol=1e-4, pivoting="drawn", random_state=7)
    assert parse(repr(spec)) == spec
