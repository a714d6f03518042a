"""Kernels on pairs as sums of products, and the functions that are evaluated through them."""

import numpy as np
import pytest

from mercer.domains import Pairs, Strings, Vectors
from mercer.errors import DomainError
from mercer.gram import Expansion
from mercer.kernels import Constant, Gaussian, Linear, Match, PairProduct, PairSum, Spectrum, pair_forms
from mercer.kernels.kernel import pair_terms
from mercer.kernels.pair_forms import Members, PairMatrix, gathered, learned, pair_function
from mercer.kernels.protocols import SAME, PairTerm

G, L = Gaussian(1.3), Linear()
RNG = np.random.default_rng(0)
OBJECTS = Vectors.pack(RNG.normal(size=(6, 2)))
SOME = Pairs(OBJECTS, OBJECTS, RNG.integers(0, 6, (20, 2)))
NEW = Pairs.grid(Vectors.pack(RNG.normal(size=(3, 2))), OBJECTS[:2])
KERNELS = (
    G.tensor(L),
    G.direct_sum(L),
    2.0 * G.tensor(L) + G.direct_sum(L) + 0.5,
    PairProduct(G),
    PairProduct(G, symmetric=True),
    PairSum(G),
    PairSum(G, symmetric=True) + 3.0 * PairProduct(L, symmetric=True),
)


def test_terms():
    assert pair_terms(G.tensor(L)) == (PairTerm(1.0, G, L),)
    assert pair_terms(0.5 * (G.direct_sum(L) + 2.0)) == (
        PairTerm(0.5, G, None),
        PairTerm(0.5, None, L),
        PairTerm(1.0, None, None),
    )
    assert pair_terms(PairSum(G, symmetric=True)) == (PairTerm(1.0, G, SAME, True), PairTerm(1.0, SAME, G, True))
    assert pair_terms(G) is None and pair_terms(G + L) is None and pair_terms(G.tensor(L) * G.tensor(L)) is None
    assert pair_terms(G.tensor(L) + G.tensor(L) ** 2) is None


def test_gathered_compares_distinct_objects_once():
    class Counted(Linear):
        sizes = []

        def block(self, A, B):
            self.sizes.append((len(A), len(B)))
            return super().block(A, B)

    kernel, i, j = Counted(), np.array([2, 0, 2, 2]), np.array([1, 1])
    X = np.asarray(OBJECTS.X)
    np.testing.assert_allclose(gathered(kernel, OBJECTS, i, OBJECTS, j), X[i] @ X[j].T)
    assert Counted.sizes == [(2, 1)]
    square = gathered(kernel, OBJECTS, i, OBJECTS, i)
    assert np.array_equal(square, square.T) and Counted.sizes[1:] == [(2, 2)]


def test_learning_from_objects_as_often_as_they_occur():
    X, index = np.array([[0.0], [1.0], [5.0], [9.0]]), np.array([0, 1, 1, 2, 0, 1])
    whole = Gaussian("median").learn(Vectors.pack(X[index]))
    assert learned(Gaussian("median"), Vectors.pack(X), index) == whole
    weight = np.array([1.0, 2.0, 0.0, 1.0, 1.0, 1.0])
    whole = Gaussian("median").learn(Vectors.pack(X[index]), None, weight)
    assert learned(Gaussian("median"), Vectors.pack(X), index, weight) == whole
    assert learned(G, Vectors.pack(X), index) is G


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_small_matrices_hold_the_whole(kernel):
    S, T = kernel.prepare(SOME), kernel.prepare(NEW)
    source, target = Members.of(S, kernel), Members.of(T, kernel)
    matrix = PairMatrix(kernel, target, source)
    K, v = kernel.block(T, S), RNG.normal(size=(20, 2))
    np.testing.assert_allclose(matrix.entries(target.index.index, source.index.index), K, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(matrix.times(v, source.index, target.index), K @ v, rtol=1e-11, atol=1e-12)
    own = PairMatrix(kernel, source, source)
    np.testing.assert_allclose(own.diag(source.index.index), kernel.diag(S), rtol=1e-12)
    with pytest.raises(ValueError, match="20 columns cannot be multiplied"):
        matrix.times(np.ones(3), source.index, target.index)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("shape", [(20,), (20, 2)])
def test_functions_are_those_of_the_whole_matrix(kernel, shape, monkeypatch):
    S, coef = kernel.prepare(SOME), RNG.normal(size=shape)
    expected = kernel.block(kernel.prepare(NEW), S) @ coef
    f = Expansion(kernel, S, coef, np.array(0.0))
    np.testing.assert_allclose(f(NEW), expected, rtol=1e-11, atol=1e-12)
    monkeypatch.setattr(pair_forms, "_SHARE", 0.0)  # pair by pair, as little memory as there is
    np.testing.assert_allclose(kernel.compile(S, coef)(NEW), expected, rtol=1e-11, atol=1e-12)
    assert kernel.compile(S, coef)(NEW[:0]).shape == (0, *shape[1:])


def test_other_kernels_have_no_such_function():
    assert pair_function(G, OBJECTS, np.ones(6)) is None and (G + L).compile(OBJECTS, np.ones(6)) is None
    assert (2.0 * G).compile(OBJECTS, np.ones(6)) is None


def test_members_are_the_objects_that_occur():
    S = Pairs.pack([("a", "b"), ("c", "a"), ("a", "b")], Strings.pack)
    kernel = PairProduct(Spectrum(1))
    found = Members.of(S[:1].concat(S[2:]), kernel)
    assert found.index.sizes == (1, 1) and found.index.index.tolist() == [[0, 0], [0, 0]]
    both = S.left.concat(S.left)  # a, c, a, c
    twice = Pairs(both, both, np.array([[0, 3], [2, 1]]))
    found = Members.of(twice, kernel)
    assert found.left is found.right and found.index.index.tolist() == [[0, 1], [0, 1]]


def test_all_pairs_stay_all_pairs_though_objects_are_equal():
    S = Pairs.grid(Strings.pack(["a", "b", "a"]))
    assert Members.of(S, PairProduct(Spectrum(1))).index.sizes == (3, 3)
    assert Members.of(S[:8], PairProduct(Spectrum(1))).index.sizes == (2, 2)
    assert Members.of(S, PairSum(Spectrum(1))).index.sizes == (2, 2)  # which has to know equal ones


def test_bytes_and_overflow():
    S = Members.of(SOME, PairProduct(G))
    assert PairMatrix(PairProduct(G), S, S).nbytes == 8 * 36
    assert sum(pair_forms.member_bytes(PairProduct(G) + PairSum(G), S, S).values()) == 8 * 36
    huge = Members.of(Pairs.grid(Vectors.pack([[1e100]])), PairProduct(L))
    with pytest.raises(DomainError, match="too large for floating-point"):
        PairMatrix(PairProduct(L), huge, huge)


def test_constants_and_categories():
    pairs = [("red", "blue"), ("blue", "blue"), ("red", "red")]
    kernel = PairProduct(Match()) + Constant(0.25)
    S = kernel.prepare(kernel.pack(pairs))
    np.testing.assert_allclose(kernel.compile(S, np.arange(3.0))(S), kernel(pairs) @ np.arange(3.0))
