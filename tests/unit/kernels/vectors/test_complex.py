"""Complex kernels in halves: the same numbers, the same spectrum, the same solutions."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import SVR, KernelRidge
from mercer.errors import DomainError, ParameterError
from mercer.kernels import ExponentialDot, Gaussian, Linear, Polynomial, PowerSeries
from mercer.kernels.vectors.complex import Hermitian, halves, joined
from mercer.testing import check_kernel

KERNELS = [
    (Linear(), lambda t: t),
    (Polynomial(3, offset=0.5), lambda t: (t + 0.5) ** 3),
    (ExponentialDot(1.5), lambda t: np.exp(t / 2.25)),
    (PowerSeries((1.0, 0.0, 2.0)), lambda t: 1 + 2 * t**2),
    ((0.5 * Linear()).exp() * (Linear() + 1.0), lambda t: np.exp(0.5 * t) * (t + 1)),
]


def complex_vectors(n, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, d)) + 1j * rng.normal(size=(n, d))) / 2


def real_form(H):
    return np.block([[H.real, -H.imag], [H.imag, H.real]])


@pytest.mark.parametrize(
    ("kernel", "function"), KERNELS, ids=lambda value: repr(value) if hasattr(value, "block") else ""
)
def test_the_matrix_is_the_real_form_of_the_hermitian_one(kernel, function):
    Z, W = complex_vectors(7), complex_vectors(4, seed=1)
    k = Hermitian(kernel)
    np.testing.assert_allclose(k(halves(Z)), real_form(function(Z @ Z.conj().T)), atol=1e-12)
    np.testing.assert_allclose(k(halves(Z), halves(W)), real_form(function(Z @ W.conj().T)), atol=1e-12)
    np.testing.assert_allclose(k.diag(k.pack(halves(Z))), np.tile(function((abs(Z) ** 2).sum(1)), 2))


@pytest.mark.parametrize("kernel", [kernel for kernel, _ in KERNELS], ids=repr)
def test_eigenvalues_are_those_of_the_hermitian_matrix_twice(kernel):
    Z = complex_vectors(6)
    H = kernel.series()(Z @ Z.conj().T)
    twice = np.repeat(np.linalg.eigvalsh(H), 2)
    np.testing.assert_allclose(np.linalg.eigvalsh(Hermitian(kernel)(halves(Z))), twice, atol=1e-12)
    assert twice[0] > -1e-12


def test_ridge_regression_is_that_of_complex_numbers():
    Z, new = complex_vectors(30), complex_vectors(5, seed=2)
    w = np.exp(Z[:, 0]) - 1j * Z[:, 1] ** 2
    a = np.linalg.solve(np.exp(Z @ Z.conj().T) + 0.1 * np.eye(30), w)
    model = KernelRidge(Hermitian(ExponentialDot(1.0)), alpha=0.1).fit(halves(Z), halves(w))
    np.testing.assert_allclose(joined(model.dual_coef_), a, atol=1e-9)
    np.testing.assert_allclose(joined(model.predict(halves(new))), np.exp(new @ Z.conj().T) @ a, atol=1e-9)


def test_analytic_functions_are_learned():
    Z, new = complex_vectors(80, 1), complex_vectors(40, 1, seed=3)
    w = np.sin(2 * Z[:, 0]) + 0.3j * Z[:, 0] ** 3
    model = SVR(Hermitian(ExponentialDot(1.0)), C=100.0, epsilon=0.01).fit(halves(Z), halves(w))
    truth = np.sin(2 * new[:, 0]) + 0.3j * new[:, 0] ** 3
    assert np.abs(joined(model.predict(halves(new))) - truth).mean() < 0.05
    conjugate = KernelRidge(Hermitian(ExponentialDot(1.0)), alpha=1e-3).fit(halves(Z), halves(Z[:, 0].conj()))
    assert np.abs(joined(conjugate.predict(halves(new))) - new[:, 0].conj()).mean() > 0.3  # it is not analytic


def test_normalised_it_is_a_complex_gaussian():
    Z = complex_vectors(6)
    K = Hermitian(ExponentialDot(1.5)).normalized()(halves(Z))
    h = K[:6, :6] + 1j * K[6:, :6]
    squared = (abs(Z[:, None] - Z) ** 2).sum(-1)
    np.testing.assert_allclose(np.abs(h), np.exp(-squared / (2 * 1.5**2)), rtol=1e-12)
    np.testing.assert_allclose(h, h.conj().T, atol=1e-15)


def test_on_real_vectors_it_is_the_kernel_itself():
    X = np.random.default_rng(0).normal(size=(5, 3))
    K = Hermitian(Polynomial(2))(halves(X))
    np.testing.assert_allclose(K, np.kron(np.eye(2), Polynomial(2)(X)), atol=1e-12)


def test_the_laws_hold():
    check_kernel(Hermitian(ExponentialDot(1.2)), halves(complex_vectors(4)))
    check_kernel(Hermitian(Linear()).normalized(), halves(complex_vectors(4)))


def test_sparse_and_single_precision():
    X = halves(complex_vectors(4))
    k = Hermitian(Polynomial(2))
    np.testing.assert_allclose(k(sp.csr_array(X)), k(X))
    assert k(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("kernel", [Gaussian(1.0), PowerSeries((-1.0, 1.0))], ids=repr)
def test_only_power_series_are_continued(kernel):
    with pytest.raises(ParameterError, match="power series in the dot product"):
        Hermitian(kernel).check()
    with pytest.raises(ParameterError, match="kernel must be a Kernel"):
        Hermitian("rbf").check()


def test_only_halves_are_accepted():
    k = Hermitian(Linear())
    for X in ([[1.0, 2.0]], [[1.0, 2.0, 0.5]], [[1.0]]):
        with pytest.raises(DomainError, match="halves"):
            k(X)
    with pytest.raises(DomainError, match="same columns"):
        k(halves([[1.0j]]), halves([[1.0j, 2.0]]))
    with pytest.raises(DomainError, match="finite complex"):
        halves([[np.nan]])
    with pytest.raises(DomainError, match="as many imaginary"):
        joined([1.0, 2.0, 3.0])


def test_strict_if_all_degrees_occur():
    turns = np.exp(2j * np.pi * np.arange(3) / 3)[:, None] * [0.5]
    third = (Linear() ** 3).exp()
    assert Hermitian(ExponentialDot(1.0)).strict and not Hermitian(third).strict
    assert third.strict  # of real vectors
    assert np.linalg.matrix_rank(Hermitian(third)(halves(turns))) == 2
    assert np.linalg.matrix_rank(Hermitian(ExponentialDot(1.0))(halves(turns))) == 6


def test_halves_and_joined_are_inverse():
    w = complex_vectors(5, 1)[:, 0]
    assert np.array_equal(joined(halves(w)), w)
