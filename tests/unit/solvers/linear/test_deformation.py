"""Kernels of a norm with a quadratic form of values at samples, against the formula with inverses."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.domains import Vectors
from mercer.errors import DomainError
from mercer.gram import Dense, Features, Tiles
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.solvers.linear.deformation import deform

RNG = np.random.default_rng(0)
N, ROWS = 12, np.array([0, 3, 7, 8])
X = [RNG.normal(size=(N, 2)) for _ in range(2)]


def form(size):
    B = RNG.normal(size=(size, size)) * (RNG.random((size, size)) < 0.3)
    return sp.csr_array(B @ B.T)


def expected(Ks, scales, Q):
    size = N * len(Ks)
    K = np.zeros((size, size))
    for v, (one, scale) in enumerate(zip(Ks, scales, strict=True)):
        K[v * N : (v + 1) * N, v * N : (v + 1) * N] = one / scale
    deformed = K - K @ np.linalg.solve(np.eye(size) + Q @ K, Q @ K)
    S = np.tile(np.eye(N), (len(Ks), 1))[:, ROWS]
    return S.T @ deformed @ S, deformed @ S


@pytest.mark.parametrize("views", [1, 2])
@pytest.mark.parametrize("spec", [Dense(), Tiles(), Features()], ids=repr)
def test_against_the_formula(spec, views):
    kernels = [Polynomial(2, offset=1.0), Linear()] if isinstance(spec, Features) else [Gaussian(1.0), Gaussian(2.0)]
    kernels, data, scales = kernels[:views], X[:views], np.array([0.7, 1.9])[:views]
    grams = [spec.build(k, Vectors.pack(x)) for k, x in zip(kernels, data, strict=True)]
    Q = form(N * views)
    found = deform(grams, scales, Q, ROWS)
    square, columns = expected([k(x) for k, x in zip(kernels, data, strict=True)], scales, Q.toarray())
    matrix = found.matrix if found.features is None else found.features @ found.features.T
    # conjugate gradients end at 1e-10, the others at rounding of a system of condition 1e4 at most
    assert np.allclose(matrix, square, atol=1e-8 * np.abs(square).max())
    beta = RNG.normal(size=len(ROWS))
    if found.features is None:
        parts = [gram @ coef for gram, coef in zip(grams, found.coefficients(beta), strict=True)]
    else:
        parts = [gram.factor() @ v for gram, v in zip(grams, found.weights(beta), strict=True)]
    assert np.allclose(np.concatenate(parts), columns @ beta, atol=1e-8 * np.abs(columns @ beta).max())


def test_nothing_added_changes_nothing():
    gram = Dense().build(Gaussian(1.0), Vectors.pack(X[0]))
    found = deform([gram], [1.0], sp.csr_array((N, N)), ROWS)
    assert np.array_equal(found.matrix, gram.array[np.ix_(ROWS, ROWS)])


def test_values_beside_which_one_is_nothing_are_refused():
    K = Dense().build(Linear(), Vectors.pack(1e30 * np.random.default_rng(3).normal(size=(N, 2))))
    with pytest.raises(DomainError, match="Scale the data"):
        deform([K], np.ones(1), sp.csr_array(np.ones((N, N))), ROWS)
