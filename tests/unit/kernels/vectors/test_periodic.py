"""The periodic kernel: its formula, derivatives, spectrum and laws."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import ive

from mercer.domains import Vectors
from mercer.errors import ParameterError
from mercer.free_parameters import free_names, free_values, with_free
from mercer.kernels import Gaussian
from mercer.kernels.vectors.periodic import Periodic
from mercer.language import parse
from tests.naive.periodic import periodic

KERNELS = [Periodic(), Periodic(0.7, 0.4), Periodic(3.0, length_scale=2.0)]


def points(seed, n, d=2):
    return np.random.default_rng(seed).normal(size=(n, d)) * 2.0


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("d", [1, 3, 7])
def test_the_formula(kernel, d):
    X, Z = points(0, 6, d), points(1, 5, d)
    expected = [[periodic(x, z, kernel.period, kernel.length_scale) for z in Z] for x in X]
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-11)
    np.testing.assert_array_equal(kernel.diag(Vectors.pack(X)), 1.0)


def test_it_repeats_after_a_period():
    X = points(2, 5)
    kernel = Periodic(0.25, 0.8)
    np.testing.assert_allclose(kernel(X + 0.5, X), kernel(X), atol=1e-12)


def test_laws():
    X = points(3, 30)
    K = Periodic(1.5, 0.7)(X)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-12
    kernel = Periodic()
    assert (kernel.order, kernel.strict, kernel.universal) == (0, False, False)
    assert kernel.stationary and kernel.normalised and kernel.bounded


def test_widths_and_sparse_data():
    X = points(4, 8)
    kernel = Periodic(1.3)
    single = kernel(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, kernel(X), atol=1e-5)
    np.testing.assert_allclose(kernel(sp.csr_array(X)), kernel(X), rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_derivative_in_the_parameters(kernel):
    A, B = Vectors.pack(points(5, 6)), Vectors.pack(points(6, 4))
    W = np.random.default_rng(7).normal(size=(6, 4))
    values = free_values(kernel)
    assert free_names(kernel) == ("period", "length_scale")
    expected = []
    for i, value in enumerate(values):
        step = 1e-6 * value * np.eye(2)[i]
        high, low = (with_free(kernel, values + s).block(A, B) for s in (step, -step))
        expected.append(np.vdot(W, high - low) / (2e-6 * value))
    np.testing.assert_allclose(kernel.pullback(A, B, W), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_derivative_in_the_inputs(kernel):
    X, B = points(8, 5), Vectors.pack(points(9, 4))
    W = np.random.default_rng(10).normal(size=(5, 4))
    expected = np.empty_like(X)
    for place in np.ndindex(X.shape):
        step = np.zeros_like(X)
        step[place] = 1e-6
        high, low = (kernel.block(Vectors.pack(Y), B)[place[0]] for Y in (X + step, X - step))
        expected[place] = W[place[0]] @ (high - low) / 2e-6
    np.testing.assert_allclose(kernel.pullback_inputs(Vectors.pack(X), B, W), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_frequencies_give_the_kernel(kernel):
    draws = kernel.frequencies(np.random.default_rng(11), 20000, 2)
    np.testing.assert_allclose(draws * kernel.period / (2 * np.pi), np.rint(draws * kernel.period / (2 * np.pi)))
    X = points(12, 8)
    for x in X:
        waves = np.cos(draws @ x)
        error = waves.std() / np.sqrt(len(waves))
        assert abs(waves.mean() - kernel(x[None], np.zeros((1, 2))).item()) < 4 * error + 1e-12


def test_frequencies_have_bessel_weights():
    draws = Periodic(2 * np.pi, 0.8).frequencies(np.random.default_rng(13), 50000, 1).ravel()
    for n in range(-3, 4):
        weight = ive(abs(n), 1 / 0.64)
        assert abs((np.rint(draws) == n).mean() - weight) < 4 * np.sqrt(weight / len(draws))


def test_frequencies_of_tiny_length_scales():
    draws = Periodic(1.0, 1e-9).frequencies(np.random.default_rng(14), 1000, 1)
    assert np.isfinite(draws).all() and 0.9 < draws.std() / (2 * np.pi * 1e9) < 1.1


def test_local_is_a_product():
    kernel = Periodic.local(1.0, 0.5, 10.0)
    assert kernel == Periodic(1.0, 0.5) * Gaussian(10.0)
    X = points(15, 4)
    np.testing.assert_allclose(kernel(X), Periodic(1.0, 0.5)(X) * Gaussian(10.0)(X))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_text(kernel):
    assert parse(repr(kernel), names={"Periodic": Periodic}) == kernel


@pytest.mark.parametrize("bad", [{"period": 0.0}, {"period": "median"}, {"length_scale": -1.0}])
def test_bad_parameters(bad):
    with pytest.raises(ParameterError, match=next(iter(bad))):
        Periodic(**bad).check()


def test_is_the_von_mises_kernel_of_cyclic_columns():
    hours = np.array([[0.0], [6.0], [23.0], [25.0]])
    kappa = 1.0 / 0.7**2
    expected = np.exp(kappa * (np.cos(2.0 * np.pi * (hours - hours.T) / 24.0) - 1.0))
    np.testing.assert_allclose(Periodic(24.0, length_scale=0.7)(hours), expected, rtol=1e-12)
