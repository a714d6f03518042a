"""Kernels of the dot product: numbers, limits, features, derivatives, errors."""

import math
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.domains import Vectors
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.free_parameters import free_names
from mercer.kernels import ExponentialDot, Gaussian, Linear, Polynomial, PowerSeries, Sigmoid
from mercer.language import parse
from mercer.testing import check_kernel
from tests.naive import dot as naive

rng = np.random.default_rng(0)
X = rng.normal(size=(9, 5))
Z = rng.normal(size=(7, 5))
SPARSE = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))

CASES = {
    "Linear()": naive.dot,
    "Polynomial(2)": lambda x, z: naive.polynomial(x, z, 2, 1.0, 1.0),
    "Polynomial(1, offset=0.3)": lambda x, z: naive.polynomial(x, z, 1, 0.3, 1.0),
    "Polynomial(3, offset=0.0, scale=0.5)": lambda x, z: naive.polynomial(x, z, 3, 0.0, 0.5),
    "Polynomial(4, offset=2.0, scale=0.2)": lambda x, z: naive.polynomial(x, z, 4, 2.0, 0.2),
    "ExponentialDot(1.5)": lambda x, z: naive.exponential_dot(x, z, 1.5),
    "PowerSeries((1.0, 0.0, 0.5, 0.25))": lambda x, z: naive.power_series(x, z, (1.0, 0.0, 0.5, 0.25)),
    "PowerSeries((-1.0, 1.0, 0.5))": lambda x, z: naive.power_series(x, z, (-1.0, 1.0, 0.5)),
    "PowerSeries((0.5, 0.0, 0.0))": lambda x, z: naive.power_series(x, z, (0.5,)),
    "Sigmoid(0.5, offset=-0.1)": lambda x, z: naive.sigmoid(x, z, 0.5, -0.1),
}


@pytest.mark.parametrize("text", CASES)
def test_agrees_with_the_formula(text):
    k, twin = parse(text), CASES[text]
    assert repr(k) == text
    expected = naive.gram(twin, X, Z)
    np.testing.assert_allclose(k(X, Z), expected, rtol=1e-12, atol=1e-13)
    single = k(X.astype(np.float32), Z.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=2e-4, atol=2e-4)
    dense = SPARSE.toarray()
    np.testing.assert_allclose(k(SPARSE), naive.gram(twin, dense, dense), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(k(SPARSE, Z), naive.gram(twin, dense, Z), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("text", CASES)
@pytest.mark.parametrize("data", [X, SPARSE], ids=["dense", "sparse"])
def test_obeys_the_laws(text, data):
    check_kernel(parse(text), data)


@pytest.mark.parametrize("p", [1, 2, 3, 5])
@pytest.mark.parametrize("c", [0.0, 0.7])
def test_polynomial_features_are_exact(p, c):
    k = Polynomial(p, offset=c, scale=0.3)
    for data in (Vectors.pack(X), Vectors.pack(SPARSE)):
        F, _ = k.features(data)
        assert F.shape[1] == k.feature_count(data) == math.comb(5 + p - (c == 0), p)
        assert sp.issparse(F) == data.is_sparse
        K = k.block(data, data)
        G = (F @ F.T).toarray() if sp.issparse(F) else F @ F.T
        assert np.abs(G - K).max() <= 1e-12 * np.abs(K).max()


def test_features_keep_single_precision():
    F, _ = Polynomial(2).features(Vectors.pack(X.astype(np.float32)))
    assert F.dtype == np.float32


def test_too_many_features_are_counted_not_made():
    wide = Vectors.pack(sp.csr_array(([1.0], ([0], [5])), shape=(1, 10**6)))
    assert Polynomial(3).feature_count(wide) == math.comb(10**6 + 3, 3)
    for k in (Polynomial(3), PowerSeries((0.0, 0.0, 1.0))):
        with pytest.raises(CapabilityError, match=r"features on these samples.*Use the kernel itself"):
            k.features(wide)


def test_quadratic_is_the_dot_product_of_outer_products():
    """[STS] Eq. (16): <x, z>^2 = <vec(x x'), vec(z z')>."""
    outer = np.einsum("ni,nj->nij", X, X).reshape(len(X), -1)
    np.testing.assert_allclose(Polynomial(2, offset=0.0)(X), outer @ outer.T, rtol=1e-12)


def test_limits():
    np.testing.assert_array_equal(Polynomial(1, offset=0.0)(X, Z), Linear()(X, Z))
    np.testing.assert_allclose(ExponentialDot(1.3).normalized()(X), Gaussian(1.3)(X), rtol=1e-12)
    np.testing.assert_allclose(PowerSeries((0.25, 1.0, 1.0))(X), Polynomial(2, offset=0.5)(X), rtol=1e-12)
    series = PowerSeries(tuple(1.0 / math.factorial(n) for n in range(40)))
    np.testing.assert_allclose(series(X), ExponentialDot(1.0)(X), rtol=1e-12)
    sums = sum(math.comb(3, n) * 2.0 ** (3 - n) * Linear()(X) ** n for n in range(4))  # [STS] Eq. (19)
    np.testing.assert_allclose(Polynomial(3, offset=2.0)(X), sums, rtol=1e-10)


def test_negative_constant_is_conditionally_definite():
    k = PowerSeries((-50.0, 1.0, 0.5))
    assert k.order == 1
    assert k.feature_count(Vectors.pack(X)) is None
    assert "features" not in k.capabilities
    assert free_names(k) == ()
    assert k.pullback(Vectors.pack(X), Vectors.pack(X), np.ones((9, 9))).shape == (0,)
    assert np.linalg.eigvalsh(k(X))[0] < -1
    with pytest.raises(CapabilityError, match="finite feature map"):
        k.features(Vectors.pack(X))


def test_free_parameters_are_in_constructor_order():
    assert free_names(Polynomial(2)) == ("offset", "scale")
    assert free_names(Sigmoid(1.0)) == ("scale", "offset")
    assert free_names(PowerSeries((1.0, 2.0))) == ("coefficients[0]", "coefficients[1]")
    assert free_names(Linear()) == ()


def test_what_is_declared():
    assert (ExponentialDot().strict, ExponentialDot().universal, ExponentialDot().order) == (True, True, 0)
    assert (Sigmoid().order, Sigmoid().bounded) == (None, True)
    for k in (Linear(), Polynomial(2), PowerSeries((1.0, 1.0))):
        assert (k.order, k.strict, k.universal, k.bounded, k.stationary, k.normalised) == (0, *(False,) * 5)
    assert PowerSeries((1.0,)).normalised


@pytest.mark.parametrize(
    "k",
    [
        Polynomial(0),
        Polynomial(2.0),
        Polynomial(2, offset=-0.1),
        Polynomial(2, scale=0.0),
        ExponentialDot(0.0),
        PowerSeries((1.0, -1.0)),
        PowerSeries((0.0, 0.0)),
        PowerSeries((-1.0,)),
        PowerSeries(1.0),
        PowerSeries(()),
        PowerSeries((1.0, np.nan)),
        Sigmoid(-1.0),
        Sigmoid(1.0, offset=np.inf),
    ],
    ids=repr,
)
def test_bad_parameters_are_refused(k):
    with pytest.raises(ParameterError, match=rf"{type(k).__name__} was given .*(must be|accepted)"):
        k(X)


@pytest.mark.parametrize("k", [Linear(), Polynomial(3), ExponentialDot(1.0), PowerSeries((1.0, 0.0, 1.0))], ids=repr)
@pytest.mark.parametrize("scale", [1e180, 1e300])
def test_overflow_is_one_error_without_warnings(k, scale):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DomainError, match="too large for floating-point"):
            k(X * scale)


def test_sigmoid_saturates():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        K = Sigmoid(1.0)(np.array([[1e200], [-1e200]]))
    np.testing.assert_array_equal(K, [[1.0, -1.0], [-1.0, 1.0]])


@pytest.mark.parity
def test_agrees_with_scikit_learn():
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    expected = pairwise.polynomial_kernel(X, Z, degree=3, gamma=0.4, coef0=0.5)
    np.testing.assert_allclose(Polynomial(3, offset=0.5, scale=0.4)(X, Z), expected, rtol=1e-12)
    expected = pairwise.sigmoid_kernel(X, Z, gamma=0.4, coef0=-0.5)
    np.testing.assert_allclose(Sigmoid(0.4, offset=-0.5)(X, Z), expected, rtol=1e-12)
    np.testing.assert_allclose(Linear()(SPARSE), pairwise.linear_kernel(SPARSE), rtol=1e-12)
