"""ANOVA and all-subsets kernels against brute force, and their limits."""

import math
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.domains import Vectors
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.free_parameters import free_names
from mercer.kernels import (
    AllSubsets,
    Anova,
    Gaussian,
    Intersection,
    Linear,
    NegativeDistance,
    Polynomial,
    Spectrum,
)
from mercer.kernels.vectors import subsets as module
from mercer.language import parse
from mercer.testing import check_kernel
from tests.naive import subsets as naive
from tests.naive.dot import gram

rng = np.random.default_rng(8)
X, Z = rng.normal(size=(9, 6)), rng.normal(size=(7, 6))
SPARSE = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))


@pytest.mark.parametrize("degree", [1, 2, 3, 6, 7])
def test_anova_equals_brute_force(degree):
    k = Anova(degree)
    expected = gram(lambda x, z: naive.anova(x, z, degree), X, Z)
    np.testing.assert_allclose(k(X, Z), expected, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(k(X.astype(np.float32), Z.astype(np.float32)), expected, rtol=1e-3, atol=1e-4)
    dense = SPARSE.toarray()
    expected = gram(lambda x, z: naive.anova(x, z, degree), dense, Z)
    np.testing.assert_allclose(k(SPARSE, Z), expected, rtol=1e-11, atol=1e-13)
    assert parse(repr(k)) == k


@pytest.mark.parametrize("degree", [1, 3, 6])
def test_anova_of_another_base_equals_brute_force(degree):
    k = Anova(degree, base=Gaussian(0.9))
    expected = gram(lambda x, z: naive.anova(x, z, degree, lambda a, b: math.exp(-((a - b) ** 2) / (2 * 0.9**2))), X, Z)
    np.testing.assert_allclose(k(X, Z), expected, rtol=1e-11)
    np.testing.assert_allclose(k(SPARSE, Z), k(SPARSE.toarray(), Z), rtol=1e-11)
    assert k(X.astype(np.float32)).dtype == np.float32
    assert parse(repr(k)) == k
    assert free_names(k) == ("base__length_scale",)


@pytest.mark.parametrize(
    "k",
    [
        Anova(1),
        Anova(2),
        Anova(7),
        Anova(2, base=Gaussian(0.9)),
        Anova(3, base=Polynomial(2)),
        Anova(1, base=NegativeDistance()),
        Anova(2, base=0.5 * Gaussian(1.0) + Linear()),
        AllSubsets(),
    ],
    ids=repr,
)
@pytest.mark.parametrize("data", [X, SPARSE], ids=["dense", "sparse"])
def test_obey_the_laws(k, data):
    check_kernel(k, data)


def test_all_subsets_equals_brute_force():
    expected = gram(naive.all_subsets, X, Z)
    np.testing.assert_allclose(AllSubsets()(X, Z), expected, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(AllSubsets()(SPARSE, Z), gram(naive.all_subsets, SPARSE.toarray(), Z), rtol=1e-11)
    assert parse("AllSubsets()") == AllSubsets()


def test_all_subsets_is_the_sum_of_all_degrees():
    total = 1.0 + sum(Anova(degree)(X) for degree in range(1, 7))
    np.testing.assert_allclose(AllSubsets()(X), total, rtol=1e-11, atol=1e-12)


def test_anova_limits():
    """[HSS] after Eq. (38): a direct sum for P = 1, a tensor product for P = d."""
    np.testing.assert_allclose(Anova(1)(X), Linear()(X), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(Anova(6, base=Gaussian(1.3))(X), Gaussian(1.3)(X), rtol=1e-11)
    assert not Anova(7)(X).any()
    assert Anova(7).features(Vectors.pack(X))[0].shape == (9, 0)


@pytest.mark.parametrize("degree", [1, 2, 4, 6])
def test_anova_features(degree):
    F, _ = Anova(degree).features(Vectors.pack(X))
    assert F.shape == (9, math.comb(6, degree))
    np.testing.assert_allclose(F @ F.T, Anova(degree)(X), rtol=1e-11, atol=1e-12)
    G, _ = Anova(degree).features(Vectors.pack(SPARSE))
    np.testing.assert_allclose(G @ G.T, Anova(degree)(SPARSE), rtol=1e-11, atol=1e-12)


def test_features_too_many_to_write_out():
    wide = Vectors.pack(np.ones((1, 60)))
    with pytest.raises(CapabilityError, match="written out up to 20"):
        AllSubsets().features(wide)
    assert AllSubsets().feature_count(wide) == 2**60
    with pytest.raises(CapabilityError, match="features on these samples"):
        Anova(8).features(wide)
    with pytest.raises(CapabilityError, match="finite feature map"):
        Anova(2, base=Gaussian(1.0)).features(wide)
    assert "features" not in Anova(2, base=Polynomial(2)).capabilities


def test_derivatives_do_not_divide():
    """Where 1 + x_i z_i = 0 the derivative is finite and right."""
    A, B = Vectors.pack([[1.0, 2.0, -1.0]]), Vectors.pack([[-1.0, 3.0, 1.0]])
    gradient = AllSubsets().pullback_inputs(A, B, np.ones((1, 1)))
    np.testing.assert_array_equal(gradient, [[0.0, 0.0, 0.0]])
    C = Vectors.pack([[-1.0, 3.0, 2.0]])
    np.testing.assert_array_equal(AllSubsets().pullback_inputs(A, C, np.ones((1, 1))), [[7.0, 0.0, 0.0]])


def test_derivatives_in_pieces(monkeypatch):
    A, B, W = Vectors.pack(X), Vectors.pack(Z), rng.normal(size=(9, 7))
    k = Anova(3, base=Gaussian(0.9))
    whole = k.pullback(A, B, W), k.pullback_inputs(A, B, W)
    monkeypatch.setattr(module, "_CHUNK", 300)
    np.testing.assert_allclose(k.pullback(A, B, W), whole[0], rtol=1e-12)
    np.testing.assert_allclose(k.pullback_inputs(A, B, W), whole[1], rtol=1e-12, atol=1e-14)


def test_what_is_declared():
    assert (Anova(2).order, Anova(2).bounded, Anova(2).stationary) == (0, False, False)
    k = Anova(2, base=Gaussian(1.0))
    assert (k.order, k.bounded, k.stationary, k.normalised, k.strict) == (0, True, True, False, False)
    assert Anova(1, base=NegativeDistance()).order == 1
    assert Anova(2, base=NegativeDistance()).order is None


def test_refusals():
    with pytest.raises(ParameterError, match="degree must be"):
        Anova(0)(X)
    with pytest.raises(ParameterError, match="base must be"):
        Anova(2, base=3)(X)
    with pytest.raises(ParameterError, match="kernel on Strings"):
        Anova(2, base=Spectrum(2))(X)
    with pytest.raises(ParameterError, match="learned from data"):
        Anova(2, base=Gaussian("median")).learn(Vectors.pack(X))
    with pytest.raises(DomainError, match="negative entry"):
        Anova(2, base=Intersection())(X)
    assert Anova(2, base=Gaussian(1.0)).learn(Vectors.pack(X)) == Anova(2, base=Gaussian(1.0))


@pytest.mark.parametrize("k", [Anova(3), AllSubsets(), Anova(2, base=Linear())], ids=repr)
def test_overflow_is_one_error_without_warnings(k):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DomainError, match="too large for floating-point"):
            k(X * 1e120)


def test_interpreted_loops_agree():
    left, right = (module._parts(sp.csr_array(M)) for M in (X, Z))
    for degree in (1, 3):
        dense, sparse = np.empty((9, 7)), np.empty((9, 7))
        module._anova_dense.py_func(X, Z, degree, dense)
        module._anova_sparse.py_func(left, right, 6, degree, sparse)
        np.testing.assert_allclose(dense, Anova(degree)(X, Z), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(sparse, dense, rtol=1e-12, atol=1e-13)
    dense, sparse = np.ones((9, 7)), np.ones((9, 7))
    module._subsets_dense.py_func(X, Z, dense)
    module._subsets_sparse.py_func(left, right, 6, sparse)
    np.testing.assert_allclose(dense, AllSubsets()(X, Z), rtol=1e-12)
    np.testing.assert_allclose(sparse, dense, rtol=1e-12)
