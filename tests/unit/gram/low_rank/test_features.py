"""The primal form: K = F F^T."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.budget import Resources
from mercer.domains import Strings, Vectors
from mercer.errors import CapabilityError, MemoryBudgetError
from mercer.gram import Dense, Features
from mercer.gram.low_rank.features import _add_rows
from mercer.kernels import Gaussian, Linear, Polynomial, Spectrum

X = np.random.default_rng(0).normal(size=(30, 3))


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), 2.0 * Linear() + Polynomial(3)], ids=repr)
def test_it_equals_the_dense_matrix(kernel):
    S = Vectors.pack(X)
    K, F = Dense().build(kernel, S).array, Features().build(kernel, S)
    V = np.random.default_rng(1).normal(size=(30, 2))
    assert np.allclose(F @ V, K @ V)
    assert np.allclose(F.diag(), np.diag(K))
    assert np.allclose(F.factor() @ F.factor().T, K)
    index = np.array([4, 1])
    assert np.allclose(F.rows(index), K[index])
    out = np.zeros(30)
    F.update(index, np.array([1.0, 2.0]), out)
    assert np.allclose(out, K[:, index] @ [1.0, 2.0])
    assert np.allclose(F.take(index).to_dense(), K[np.ix_(index, index)])


@pytest.mark.parametrize("sparse", [False, True])
def test_normal_equations(sparse):
    S = Vectors.pack(sp.csr_array(X) if sparse else X)
    gram = Features().build(Linear(), S)
    w, y = np.linspace(0.5, 2.0, 30), np.random.default_rng(1).normal(size=(30, 2))
    square, moment = gram.normal(w, y)
    assert np.allclose(square, X.T @ (w[:, None] * X))
    assert np.allclose(moment, X.T @ (w[:, None] * y))


def test_a_kernel_without_features_is_refused():
    with pytest.raises(CapabilityError, match="finite feature map"):
        Features().build(Gaussian(1.0), Vectors.pack(X))


def test_too_many_features_are_refused_before_they_are_made():
    with pytest.raises(MemoryBudgetError):
        Features().build(Polynomial(3), Vectors.pack(X), Resources(memory=500))


def test_sparse_features_of_strings():
    texts = ["abab", "ab", "ba"]
    gram = Features().build(Spectrum(2), Strings.pack(texts))
    assert sp.issparse(gram.matrix)
    assert np.array_equal(gram @ np.eye(3), Spectrum(2)(texts))


def test_moments_of_few_numbers_are_those_of_all():
    rng = np.random.default_rng(0)
    X, V = rng.normal(size=(40, 3)), np.zeros((40, 9))
    V[np.arange(40), rng.integers(0, 9, 40)] = rng.normal(size=40)
    gram = Features().build(Linear(), Vectors.pack(X))
    np.testing.assert_allclose(gram.moment(V), X.T @ V, atol=1e-13)
    out = np.zeros((9, 3))
    _add_rows.py_func(X, V, out)
    np.testing.assert_allclose(out.T, X.T @ V, atol=1e-13)
