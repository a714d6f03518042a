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


@pytest.mark.parametrize("precision", ["double", "mixed"])
def test_repeated_updates_and_blocks(precision):
    """Each sample once, however often it stands there, in the places asked for."""
    tiles = Tiles(precision=precision).build(Gaussian(1.0), S)
    places = np.r_[np.arange(len(X)), np.arange(len(X)), 0, 0]
    K, gram = Gaussian(1.0)(X)[np.ix_(places, places)], Repeated(tiles, places)
    close = 1e-13 if precision == "double" else 5e-6
    index, V = np.array([0, len(X), 3, 2 * len(X)]), np.array([1.0, -3.0, 0.5, 2.0])
    for rows in (None, np.array([4, len(X) + 4, 1]), np.array([2 * len(X)]), np.zeros(0, np.intp)):
        chosen = np.arange(len(places)) if rows is None else rows
        for _ in range(2):
            out = np.ones(len(chosen))
            gram.update(index, V, out, rows=rows)
            np.testing.assert_allclose(out, 1.0 + K[np.ix_(chosen, index)] @ V, atol=close)
    np.testing.assert_allclose(gram.rows(index, index), K[np.ix_(index, index)], atol=close)
    np.testing.assert_allclose(gram.rows(index), K[index], atol=close)
    np.testing.assert_allclose(gram @ np.ones(len(places)), K.sum(axis=1), atol=100 * close)
    exact = gram.refined()
    assert exact.dtype == np.float64 and gram.dtype == tiles.dtype and gram.entry_cost == tiles.entry_cost
    np.testing.assert_allclose(exact.to_dense(), K, atol=1e-13)
    two = np.zeros((len(places), 2))
    gram.update(index, np.stack([V, -V], axis=1), two)
    np.testing.assert_allclose(two[:, 1], -K[:, index] @ V, atol=close)


OVER = {
    "Centered": Centered,
    "Shifted": lambda G: Shifted(G, 0.5),
    "Weighted": lambda G: Weighted([G, G], [1.0, 2.0]),
    "Repeated": lambda G: Repeated(G, np.r_[np.arange(len(X)), 0, 1]),
}
over = pytest.mark.parametrize("name", OVER)


@over
def test_updates_of_some_rows(name):
    gram = OVER[name](Dense().build(Gaussian(1.0), S))
    K, index, V, rows = gram.to_dense(), np.array([2, 0]), np.array([1.0, -1.0]), np.array([3, 2])
    out = np.ones(2)
    gram.update(index, V, out, rows=rows)
    np.testing.assert_allclose(out, 1.0 + K[np.ix_(rows, index)] @ V, atol=1e-13)


@over
def test_refined_grams_over_mixed_tiles(name):
    """What a solver believes at the end must be float64 all the way down."""
    mixed, exact = Tiles(precision="mixed").build(Gaussian(1.0), S), Dense().build(Gaussian(1.0), S)
    refined = OVER[name](mixed).refined()
    n = refined.shape[0]
    assert refined.dtype == np.float64
    out = np.zeros(n)
    refined.update(np.arange(n), np.arange(n) / n, out)
    np.testing.assert_allclose(out, OVER[name](exact) @ (np.arange(n) / n), atol=1e-12)


@pytest.mark.parametrize("width", [None, 2])
def test_repetitions_are_added_up_once(width):
    places = np.array([3, 0, 3, 1, 0, 3])
    gram = Repeated(Dense().build(Gaussian(1.0), Vectors.pack(X)), places)
    assert gram.refined() is gram  # and keeps what it knows of the places
    K, index = gram.to_dense(), np.array([0, 1, 2, 5])
    V = np.random.default_rng(8).normal(size=4 if width is None else (4, width))
    V[2] = -V[0]  # the sum of a sample may be zero
    for rows in (None, np.array([4, 1])):
        out = np.ones((6 if rows is None else 2, *V.shape[1:]))
        gram.update(index, V, out, rows)
        np.testing.assert_allclose(out, 1.0 + (K if rows is None else K[rows])[:, index] @ V, atol=1e-14)
