"""Several Grams as one: however they are held, the same numbers."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.gram import Dense, IncompleteCholesky, Tiles
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.solvers.mixtures.stack import Factor, Matrix, stack_of

rng = np.random.default_rng(0)
S = Vectors.pack(rng.normal(size=(30, 3)))
KERNELS = [Linear(), Polynomial(2), Gaussian(1.0)]
D = np.array([0.5, 0.0, 2.0])
ARRAYS = [kernel(S.X) for kernel in KERNELS]
HELD = {
    "dense": lambda: [Dense().build(kernel, S) for kernel in KERNELS],
    "single": lambda: [Matrix(K.astype(np.float32)) for K in ARRAYS],
    "tiles": lambda: [Tiles().build(kernel, S) for kernel in KERNELS],
    "factors": lambda: [IncompleteCholesky(30, tol=1e-14).build(kernel, S) for kernel in KERNELS],
}
BETA = {"one": rng.normal(size=30), "few": np.where(np.arange(30) < 5, 1.0, 0.0), "columns": rng.normal(size=(30, 2))}


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("beta", BETA)
@pytest.mark.filterwarnings("ignore:IncompleteCholesky")
def test_products_and_squares(held, beta):
    stack, b = stack_of(HELD[held]()), BETA[beta]
    close = {"rtol": 1e-5, "atol": 1e-4} if held == "single" else {"rtol": 1e-9, "atol": 1e-9}
    expected = np.array([K @ b for K in ARRAYS])
    assert np.allclose(stack.products(b), expected, **close)
    some = np.array([3, 1])
    assert np.allclose(stack.products(b, some, np.array([2, 0])), expected[[2, 0]][:, some], **close)
    assert np.allclose(stack.squares(b), [np.sum(b * row) for row in expected], **close)


@pytest.mark.parametrize("held", HELD)
@pytest.mark.filterwarnings("ignore:IncompleteCholesky")
def test_the_weighted_sum(held):
    stack = stack_of(HELD[held]())
    gram, K = stack.combined(D), 0.5 * ARRAYS[0] + 2.0 * ARRAYS[2]
    close = {"rtol": 1e-5, "atol": 1e-5} if held == "single" else {"rtol": 1e-9, "atol": 1e-9}
    v, index = np.arange(30.0), np.array([4, 2, 7])
    assert np.allclose(gram @ v, K @ v, rtol=1e-5 if held == "single" else 1e-9)
    assert np.allclose(gram.rows(index, index), K[np.ix_(index, index)], **close)
    assert np.allclose(gram.diag(), np.diagonal(K), **close)
    out = np.zeros(30)
    gram.update(index, np.ones(3), out)
    assert np.allclose(out, K[:, index].sum(axis=1), **close)
    assert gram.refined() is not None


@pytest.mark.parametrize("make", [lambda F: Matrix(F @ F.T), Factor], ids=["matrix", "factor"])
def test_arrays_as_grams(make):
    F = rng.normal(size=(8, 3))
    gram, K = make(F), F @ F.T
    index, out = np.array([1, 3]), np.zeros(2)
    gram.update(index, np.ones(2), out, rows=np.array([0, 5]))
    assert np.allclose(out, K[np.ix_([0, 5], index)].sum(axis=1))
    assert np.allclose(gram.rows(index, out=np.empty((2, 8))), K[index])
    assert np.allclose(gram.take(index) @ np.ones(2), K[np.ix_(index, index)].sum(axis=1))


@pytest.mark.parametrize("held", HELD)
@pytest.mark.filterwarnings("ignore:IncompleteCholesky")
def test_parts_can_be_taken_of_some_samples(held):
    some, close = np.array([4, 1, 7]), {"rtol": 1e-5, "atol": 1e-4} if held == "single" else {"atol": 1e-9}
    for part, K in zip(stack_of(HELD[held]()).parts(), ARRAYS, strict=True):
        assert np.allclose(part.take(some) @ np.eye(3), K[np.ix_(some, some)], **close)
