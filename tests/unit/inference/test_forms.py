"""Centred Gram matrices: every way of holding one gives the same numbers."""

import numpy as np
import pytest

from mercer.domains import Similarities, Vectors
from mercer.errors import CapabilityError, DomainError, IndefiniteWarning, ParameterError
from mercer.gram import Dense, Features, Nystrom, Tiles
from mercer.gram.algebra import centred
from mercer.inference.forms import (
    DenseForm,
    eigenpairs,
    factor_of,
    inner,
    packed,
    paired,
    pooled,
    represent,
)
from mercer.kernels import Gaussian, Linear, NegativeDistance, Polynomial, Sigmoid, Spectrum, ThinPlate

X = np.random.default_rng(0).normal(size=(20, 3))
P = np.eye(20) - 1.0 / 20.0


@pytest.mark.parametrize("gram", [None, Dense(), Tiles(), Nystrom(20), 20])
def test_forms(gram):
    kernel = Gaussian(1.5)
    form = represent(kernel, Vectors.pack(X), gram)
    K = P @ kernel(X) @ P
    Z = np.random.default_rng(1).normal(size=(5, 20))
    np.testing.assert_allclose(form.forms(Z), np.einsum("bi,ij,bj->b", Z, K, Z), rtol=1e-8)
    np.testing.assert_allclose(form.diagonal(), np.diag(K), rtol=1e-8)
    if not isinstance(gram, Tiles):
        F = factor_of(form)
        np.testing.assert_allclose(F @ F.T, K, atol=1e-8)


def test_explicit_features():
    form = represent(Linear(), Vectors.pack(X), Features())
    np.testing.assert_allclose(form.factor @ form.factor.T, P @ X @ X.T @ P, atol=1e-12)


def test_distances_are_centred_to_inner_products():
    form = represent(NegativeDistance(), Vectors.pack(X))
    assert np.linalg.eigvalsh(form.array)[0] > -1e-12
    with pytest.raises(CapabilityError, match="Dense"):
        represent(NegativeDistance(), Vectors.pack(X), 5)


def test_doors():
    with pytest.raises(ParameterError, match="Gaussian"):
        packed(X, "gauss")
    with pytest.raises(CapabilityError, match="order 2"):
        packed(X, ThinPlate())
    with pytest.warns(IndefiniteWarning, match="permutation"):
        packed(X, Sigmoid())
    with pytest.raises(ParameterError, match="rank"):
        represent(Linear(), Vectors.pack(X), "low")
    with pytest.raises(ParameterError, match="rank"):
        represent(Linear(), Vectors.pack(X), 0)
    with pytest.raises(DomainError, match="Y has 1"):
        pooled(X, X[:1], None)
    with pytest.raises(DomainError, match="20, 19"):
        paired((X, X[:19]), None)
    with pytest.raises(ParameterError, match="2 variables"):
        paired((X, X), Gaussian(1.0))
    with pytest.raises(CapabilityError, match="Nystrom"):
        factor_of(represent(Linear(), Vectors.pack(X), Tiles()))


def test_large_forms_are_cut_into_blocks():
    A = np.random.default_rng(2).normal(size=(600, 600))
    form, Z = DenseForm(centred(A + A.T)), np.random.default_rng(3).normal(size=(40, 600))
    np.testing.assert_allclose(form.forms(Z), np.einsum("bi,bi->b", Z @ form.array, Z), rtol=1e-10)
    assert abs(form.array.sum(axis=0)).max() < 1e-10 and inner(A, A) == pytest.approx(np.sum(A * A))


def test_eigenpairs():
    dense, factor = represent(Gaussian(1.0), Vectors.pack(X)), represent(Gaussian(1.0), Vectors.pack(X), 20)
    for form in (dense, factor):
        values, vectors = eigenpairs(form)
        np.testing.assert_allclose(vectors @ vectors.T, np.eye(len(values)), atol=1e-7)
        np.testing.assert_allclose((vectors.T * values) @ vectors, dense.array, atol=1e-9)
        assert np.all(np.diff(values) <= 0.0)


def test_kernels_learn_from_both_samples():
    kernel, S, m = pooled(X[:5], X[5:], None)
    assert m == 5 and len(S) == 20
    assert kernel == Gaussian("median").learn(Vectors.pack(X))
    reverse, _, _ = pooled(X[5:], X[:5], None)
    assert reverse == kernel
    words, S, _ = pooled(["ab", "ba"], ["abc"], Spectrum(2), 1)
    np.testing.assert_array_equal(words(S), Spectrum(2)(["ab", "ba", "abc"]))


def test_precomputed():
    K = Polynomial(2)(X)
    S = Similarities.pack(K)
    kernel, both, m = pooled(S[:8], S[8:], "precomputed")
    np.testing.assert_allclose(represent(kernel, both).array, P @ K @ P, atol=1e-10)
    assert m == 8


def test_kernels_in_the_way_of_scikit_learn():
    from sklearn.gaussian_process.kernels import RBF

    meant = represent(Gaussian.from_gamma(1.0 / X.shape[1]), Vectors.pack(X)).array
    for given in ("rbf", RBF(np.sqrt(X.shape[1] / 2.0)), lambda A, B: Gaussian.from_gamma(1.0 / X.shape[1])(A, B)):
        for data in (X, X.tolist(), Vectors.pack(X)):
            kernel, S = packed(data, given)
            np.testing.assert_allclose(represent(kernel, S).array, meant, atol=1e-12)
    with pytest.raises(ParameterError, match="name of a kernel"):
        packed(X, "gauss")
    with pytest.raises(ParameterError, match=r"must be a Kernel.*an object, not its class"):
        packed(X, Gaussian)
