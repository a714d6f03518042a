"""Grams over Grams, each against its matrix formula."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.errors import CapabilityError, ParameterError
from mercer.gram import Centered, Dense, Features, Repeated, Shifted, Tiles, Weighted
from mercer.kernels import Gaussian, Linear

rng = np.random.default_rng(0)
X, T = rng.normal(size=(15, 3)), rng.normal(size=(4, 3))
S = Vectors.pack(X)
K = Linear()(X)
P = np.eye(15) - 1 / 15
s = np.linspace(0.1, 1.0, 15)
index = np.array([0, 0, 3, 14, 3])

CASES = {
    "centered": (lambda gram: Centered(gram), P @ K @ P),
    "shifted": (lambda gram: Shifted(gram, s), K + np.diag(s)),
    "weighted": (lambda gram: Weighted([gram, gram], [0.5, 2.0]), 2.5 * K),
    "repeated": (lambda gram: Repeated(gram, index), K[np.ix_(index, index)]),
}


@pytest.mark.parametrize("spec", [Dense(), Tiles(), Features()], ids=repr)
@pytest.mark.parametrize("name", CASES)
def test_every_operation_agrees_with_the_matrix(name, spec):
    make, matrix = CASES[name]
    gram = make(spec.build(Linear(), S))
    n = len(matrix)
    V = np.random.default_rng(1).normal(size=(n, 2))
    assert gram.shape == (n, n)
    assert np.allclose(gram @ V, matrix @ V)
    assert np.allclose(gram @ V[:, 0], matrix @ V[:, 0])
    assert np.allclose(gram.diag(), np.diag(matrix))
    assert np.allclose(gram.to_dense(), matrix)
    rows = np.array([1, 0, 1])
    assert np.allclose(gram.rows(rows), matrix[rows])
    assert np.allclose(gram.rows(rows, np.array([2, 1])), matrix[np.ix_(rows, [2, 1])])
    out = np.zeros((3, n))
    gram.rows(rows, out=out)
    assert np.allclose(out, matrix[rows])
    total = np.ones(n)
    gram.update(np.array([2, 1]), np.array([1.0, -3.0]), total)
    assert np.allclose(total, 1 + matrix[:, [2, 1]] @ [1.0, -3.0])


def test_take():
    some = np.array([2, 5, 7])
    dense = Dense().build(Linear(), S)
    inner = K[np.ix_(some, some)]
    Q = np.eye(3) - 1 / 3
    assert np.allclose(Centered(dense).take(some).to_dense(), Q @ inner @ Q)  # by their own mean
    assert np.allclose(Shifted(dense, s).take(some).to_dense(), inner + np.diag(s[some]))
    assert np.allclose(Weighted([dense, dense], [1.0, 1.0]).take(some).to_dense(), 2 * inner)
    assert np.allclose(Repeated(dense, index).take(np.array([1, 2])).to_dense(), K[np.ix_([0, 3], [0, 3])])


@pytest.mark.parametrize("spec", [Dense(), Tiles(), Features()], ids=repr)
def test_new_samples_are_centred_by_the_training_mean(spec):
    gram = Centered(spec.build(Linear(), S))
    mean = X.mean(axis=0)
    expected = (T - mean) @ (X - mean).T  # centring in feature space is centring the vectors, for the linear kernel
    cross = gram.cross(Vectors.pack(T))
    assert np.allclose(cross.to_dense(), expected)
    V = np.random.default_rng(1).normal(size=(15, 2))
    assert np.allclose(cross @ V, expected @ V)
    assert np.allclose(cross @ V[:, 0], expected @ V[:, 0])


def test_the_centred_factor():
    gram = Centered(Features().build(Linear(), S))
    F = X - X.mean(axis=0)
    assert np.allclose(gram.factor(), F)
    w, y = np.linspace(1.0, 2.0, 15), np.random.default_rng(1).normal(size=(15, 2))
    square, moment = gram.normal(w, y)
    assert np.allclose(square, F.T @ (w[:, None] * F)) and np.allclose(moment, F.T @ (w[:, None] * y))
    assert np.allclose(gram.normal(w, y[:, 0])[1], F.T @ (w * y[:, 0]))
    with pytest.raises(CapabilityError, match="factor"):
        Centered(Dense().build(Linear(), S)).factor()


def test_repeated_cross():
    cross = Repeated(Dense().build(Linear(), S), index).cross(Vectors.pack(T))
    assert np.allclose(cross.to_dense(), T @ X[index].T)


def test_weighted_refuses_what_does_not_fit():
    dense = Dense().build(Gaussian(1.0), S)
    for grams, weights in [([dense], [1.0, 2.0]), ([dense], [-1.0]), ([], [])]:
        with pytest.raises(ParameterError):
            Weighted(grams, weights)
    with pytest.raises(ParameterError, match="shapes"):
        Weighted([dense, dense.take(np.arange(3))], [1.0, 1.0])
    with pytest.raises(CapabilityError):
        Weighted([dense], [1.0]).cross(Vectors.pack(T))


class _OnlyProducts(type(Dense().build(Linear(), S)).__mro__[1]):  # a Gram without rows
    def __init__(self, gram):
        self.gram, self.kernel, self.samples, self.resources = gram, gram.kernel, gram.samples, gram.resources

    def __matmul__(self, V):
        return self.gram @ V

    def take(self, index):
        raise NotImplementedError


def test_rows_need_rows_below():
    with pytest.raises(CapabilityError, match="offers only products"):
        Shifted(_OnlyProducts(Dense().build(Linear(), S)), 1.0).rows(np.array([0]))
