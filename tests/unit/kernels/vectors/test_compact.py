"""Compactly supported functions and radial functions of one's own."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.domains import Vectors
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.free_parameters import free_values, with_free
from mercer.kernels import Gaussian
from mercer.kernels.vectors.compact import Epanechnikov, RadialFunction, Wendland
from mercer.language import parse
from tests.naive.compact import epanechnikov, wendland

WENDLANDS = [Wendland(d, smoothness=s, length_scale=1.5) for d in (1, 3, 5) for s in (0, 1, 2, 3)]
GAUSSIAN = RadialFunction(
    lambda r: np.exp(-0.5 * r * r), length_scale=0.8, derivative=lambda r: -r * np.exp(-0.5 * r * r)
)
SMOOTH = [Wendland(2, 1, 2.0), Wendland(3, 2, (2.0, 3.0)), Wendland(2, 0, 2.5), Epanechnikov(2.0), GAUSSIAN]


def points(seed, n, d=2):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("kernel", WENDLANDS, ids=repr)
def test_wendland_is_an_iterated_integral(kernel):
    d = kernel.dimension
    X, Z = points(0, 6, d) / np.sqrt(d), points(1, 5, d) / np.sqrt(d)
    expected = [[wendland(x, z, d, kernel.smoothness, 1.5) for z in Z] for x in X]
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-7, atol=1e-12)
    np.testing.assert_array_equal(np.diag(kernel(X)), kernel.diag(Vectors.pack(X)))


@pytest.mark.parametrize("kernel", WENDLANDS, ids=repr)
def test_wendland_is_positive_definite_up_to_its_dimension(kernel):
    K = kernel(points(2, 40, kernel.dimension))
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-12


def test_wendland_needs_its_dimension():
    """[HSS] Proposition 10: on the corners of a large cube the one for the line is not positive definite."""
    corners = np.stack(np.meshgrid(*[[0.0, 1.0]] * 6), axis=-1).reshape(-1, 6)
    line = RadialFunction(lambda r: np.maximum(0.0, 1.0 - r), length_scale=1.3)
    assert np.linalg.eigvalsh(line(corners)).min() < -1e-3
    assert np.linalg.eigvalsh(Wendland(6, 0, 1.3)(corners)).min() > 0


@pytest.mark.parametrize("kernel", [Wendland(2), RadialFunction(np.cos, dimension=2)])
@pytest.mark.parametrize("door", ["call", "prepare", "sum"])
def test_too_many_columns(kernel, door):
    X = points(3, 4, 3)
    with pytest.raises(DomainError, match=r"3 columns.*at most 2.*dimension=3"):
        if door == "call":
            kernel(X)
        elif door == "prepare":
            kernel.prepare(Vectors.pack(X))
        else:
            (kernel + Gaussian(1.0))(X)


def test_epanechnikov():
    X, Z = points(4, 7), points(5, 5)
    expected = [[epanechnikov(x, z, 1.4) for z in Z] for x in X]
    np.testing.assert_allclose(Epanechnikov(1.4)(X, Z), expected, atol=1e-12)
    assert Epanechnikov().order is None
    grid = np.arange(0.0, 6.0, 0.5)[:, None]
    assert np.linalg.eigvalsh(Epanechnikov(1.0)(grid)).min() < -1e-3


@pytest.mark.parametrize(
    "kernel",
    [Wendland(3), Wendland(2, 2, (0.5, 1.5)), Epanechnikov(0.8), Wendland(2, 0, 1e-3), Wendland(2, 3, 50.0)],
)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.float32])
def test_sparse_block(kernel, form):
    X, Z = form(points(6, 60)), form(points(7, 40))
    block = kernel.sparse_block(X, Z)
    assert block.format == "csr" and block.has_sorted_indices and (block.data > 0).all()
    assert block.dtype == kernel(X, Z).dtype
    tolerance = 1e-5 if block.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(block.toarray(), kernel(X, Z), atol=tolerance)
    same = kernel.sparse_block(X, X)
    np.testing.assert_allclose(same.toarray(), kernel(X), atol=tolerance)
    assert (same - same.T).nnz == 0


def test_sparse_block_does_not_form_the_dense_one():
    X = np.arange(200_000.0)[:, None]
    block = Wendland(1, length_scale=1.5).sparse_block(X, X)
    assert block.shape == (200_000, 200_000) and block.nnz == 3 * 200_000 - 2


@pytest.mark.parametrize("kernel", SMOOTH, ids=lambda k: type(k).__name__)
def test_derivative_in_the_parameters(kernel):
    A, B = Vectors.pack(points(8, 6)), Vectors.pack(points(9, 4))
    W = np.random.default_rng(10).normal(size=(6, 4))
    values = free_values(kernel)
    expected = []
    for i in range(len(values)):
        step = 1e-6 * np.eye(len(values))[i]
        high, low = (with_free(kernel, values + s).block(A, B) for s in (step, -step))
        expected.append(np.vdot(W, high - low) / 2e-6)
    np.testing.assert_allclose(kernel.pullback(A, B, W), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kernel", SMOOTH, ids=lambda k: type(k).__name__)
def test_derivative_in_the_inputs(kernel):
    X, B = points(11, 5), Vectors.pack(points(12, 4))
    W = np.random.default_rng(13).normal(size=(5, 4))
    expected = np.empty_like(X)
    for place in np.ndindex(X.shape):
        step = np.zeros_like(X)
        step[place] = 1e-6
        high, low = (kernel.block(Vectors.pack(Y), B)[place[0]] for Y in (X + step, X - step))
        expected[place] = W[place[0]] @ (high - low) / 2e-6
    np.testing.assert_allclose(kernel.pullback_inputs(Vectors.pack(X), B, W), expected, rtol=1e-5, atol=1e-7)
    A = Vectors.pack(X)
    assert np.isfinite(kernel.pullback_inputs(A, A, np.ones((5, 5)))).all()


@pytest.mark.parametrize("kernel", [Wendland(2, 1, 1.5), Wendland(3, 3, (0.5, 1.5)), Wendland(2, 0), Epanechnikov()])
def test_integral(kernel):
    t = np.linspace(-1.6, 1.6, 161)
    plane = np.stack(np.meshgrid(t, t), axis=-1).reshape(-1, 2)
    sums = kernel(plane, [[0.0, 0.0]]).sum() * (t[1] - t[0]) ** 2
    assert np.exp(kernel.log_integral(2)) == pytest.approx(sums, rel=2e-3)
    line = kernel.replace(length_scale=1.5)
    t = np.linspace(-1.6, 1.6, 32001)
    assert np.exp(line.log_integral(1)) == pytest.approx(np.trapezoid(line(t[:, None], [[0.0]])[:, 0], t), rel=1e-6)


def test_sparse_block_of_different_columns():
    with pytest.raises(DomainError, match="columns"):
        Wendland(3).sparse_block(points(18, 3, 2), points(19, 3, 3))


def test_radial_function_is_the_function():
    X = points(14, 8)
    np.testing.assert_allclose(GAUSSIAN(X), Gaussian(0.8)(X), rtol=1e-12)
    np.testing.assert_array_equal(GAUSSIAN.diag(Vectors.pack(X)), 1.0)
    assert GAUSSIAN(X.astype(np.float32)).dtype == np.float32
    conditional = RadialFunction(lambda r: -r, order=1)
    assert (conditional.order, RadialFunction(np.cos, order=None).order, GAUSSIAN.order) == (1, None, 0)
    assert not (GAUSSIAN.strict or GAUSSIAN.universal or GAUSSIAN.normalised or GAUSSIAN.bounded)


def test_radial_function_without_a_derivative():
    kernel = RadialFunction(np.cos)
    A = Vectors.pack(points(15, 3))
    assert "pullback" in GAUSSIAN.capabilities and not kernel.capabilities
    with pytest.raises(CapabilityError, match="derivative"):
        kernel.pullback(A, A, np.ones((3, 3)))


def test_radial_function_must_be_vectorised():
    with pytest.raises(DomainError, match="one real number for each"):
        RadialFunction(lambda r: 1.0)(points(16, 3))
    with pytest.raises(DomainError, match="returned inf at 0; finite numbers are needed"):
        RadialFunction(lambda r: 1.0 / np.where(r > 0, r, 1.0) * np.where(r > 0, 1.0, np.inf))(points(16, 3))


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (Wendland(0), "dimension"),
        (Wendland(2.5), "dimension"),
        (Wendland(2, smoothness=4), "smoothness"),
        (Wendland(2, length_scale=0.0), "length_scale"),
        (Epanechnikov(-1.0), "length_scale"),
        (RadialFunction(3), "function"),
        (RadialFunction(np.cos, derivative=3), "derivative"),
        (RadialFunction(np.cos, order=-1), "order"),
    ],
)
def test_bad_parameters(kernel, name):
    with pytest.raises(ParameterError, match=name):
        kernel.check()


@pytest.mark.parametrize("kernel", [*WENDLANDS, Wendland(3), Wendland(2, 2, (0.5, 1.5)), Epanechnikov(2.0)], ids=repr)
def test_text(kernel):
    assert parse(repr(kernel), names={"Wendland": Wendland, "Epanechnikov": Epanechnikov}) == kernel


def test_sparse_data():
    X = points(17, 8)
    np.testing.assert_allclose(Wendland(2)(sp.csr_array(X)), Wendland(2)(X), atol=1e-12)
