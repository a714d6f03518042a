"""Kernels between pairs of objects of one kind."""

import numpy as np
import pytest

from mercer import parse
from mercer.domains import Pairs, Trees
from mercer.errors import DomainError, ParameterError
from mercer.kernels import (
    Diffusion,
    Gaussian,
    Linear,
    Match,
    NegativeDistance,
    PairProduct,
    PairSum,
    Spectrum,
    SubsetTree,
)
from mercer.testing import check_kernel

G, L = Gaussian(1.3), Linear()
X = np.random.default_rng(0).normal(size=(4, 2))
GRID = [(tuple(a), tuple(b)) for a in X for b in X]
SWAP = np.arange(16).reshape(4, 4).T.ravel()  # pair (a, b) is at the place of (b, a)


def test_all_pairs_have_the_kronecker_product_and_the_kronecker_sum():
    K, I = G(X), np.eye(4)
    np.testing.assert_allclose(PairProduct(G)(GRID), np.kron(K, K), rtol=1e-13)
    np.testing.assert_allclose(PairSum(G)(GRID), np.kron(K, I) + np.kron(I, K), rtol=1e-13)


@pytest.mark.parametrize("make", [PairProduct, PairSum])
def test_symmetric_is_the_mean_over_both_orders(make):
    plain, K = make(G)(GRID), make(G, symmetric=True)(GRID)
    np.testing.assert_allclose(K, 0.5 * (plain + plain[:, SWAP]), rtol=1e-13)
    np.testing.assert_allclose(K, K[SWAP], rtol=1e-13)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("make", [PairProduct, PairSum])
def test_laws(make, symmetric):
    pairs = [((0.5,), (1.0,)), ((1.5,), (1.5,)), ((2.0,), (0.25,)), ((1.0,), (0.5,)), ((0.5,), (1.5,))]
    check_kernel(make(Gaussian("median") + 0.5 * L, symmetric=symmetric), pairs)


def test_laws_of_other_domains():
    words = [("ab", "b"), ("b", "ab"), ("a", "a"), ("", "ab")]
    check_kernel(PairSum(Spectrum(1), symmetric=True) + PairProduct(Spectrum(2)), words)
    path = [(0, 1), (1, 2), (2, 3)]
    check_kernel(PairProduct(Diffusion(path, 0.5), symmetric=True), [(0, 1), (2, 3), (1, 1)])


def test_the_seed_kernel_sum_is_sparse():
    K = PairSum(Match() + 1.0)([("a", "b"), ("c", "d"), ("a", "d")])
    assert K.tolist() == [[4.0, 0.0, 1.0], [0.0, 4.0, 1.0], [1.0, 1.0, 4.0]]


def test_pairs_are_packed_into_one_collection():
    S = PairProduct(Spectrum(1)).pack([("a", "b"), ("b", "a")])
    assert S.left is S.right and len(S.left) == 2
    prepared = PairSum(Spectrum(1)).prepare(S)
    assert prepared.left is prepared.right and "identity" in prepared.left.derived
    assert PairSum(Spectrum(1)).prepare(prepared).left.derived["identity"] is prepared.left.derived["identity"]
    apart = Pairs.pack([("a", "b"), ("b", "a")], Spectrum(1).pack)
    assert np.array_equal(PairProduct(Spectrum(1), symmetric=True)(apart), PairProduct(Spectrum(1), symmetric=True)(S))
    assert np.array_equal(PairSum(Spectrum(1), symmetric=True)(apart), PairSum(Spectrum(1), symmetric=True)(S))


def test_learns_from_all_objects():
    kernel = PairProduct(Gaussian("median"))
    pairs = [([0.0], [2.0]), ([3.0], [1.0])]
    learned = kernel.learn(kernel.pack(pairs), np.ones(2), np.ones(2))
    assert learned == PairProduct(Gaussian("median").learn(Gaussian(1.0).pack([[0.0], [3.0], [2.0], [1.0]])))
    assert learned.learn(learned.pack(pairs)) is learned
    apart = Pairs.pack([((0.0,), (2.0,)), ((3.0,), (1.0,))], Gaussian(1.0).pack)
    assert kernel.learn(apart) == learned


def test_what_is_declared():
    assert PairProduct(G).strict and PairProduct(G).universal and PairProduct(G).normalised and PairProduct(G).nonzero
    loose = PairProduct(G, symmetric=True)
    assert not (loose.strict or loose.universal or loose.normalised) and loose.nonzero and loose.bounded
    assert PairSum(G).strict and not PairSum(G).universal and not PairSum(G).normalised
    assert PairProduct(NegativeDistance()).order is None and PairSum(L).order == 0 and not PairSum(L).bounded
    assert PairSum(G).capabilities == {"pullback"}


def test_sums_with_other_kernels_on_pairs():
    kernel = PairProduct(G) + G.tensor(G)
    np.testing.assert_allclose(kernel(GRID), 2.0 * PairProduct(G)(GRID), rtol=1e-13)
    with pytest.raises(DomainError, match="at once"):
        (PairProduct(G) + PairProduct(Spectrum(1)))([("a", "b")])


def test_text():
    for kernel in (PairProduct(G), PairSum(G + L, symmetric=True), 2.0 * PairSum(L).normalized()):
        assert parse(repr(kernel)) == kernel


def test_what_is_refused():
    with pytest.raises(ParameterError, match="PairProduct was given kernel=3; kernel must be a Kernel"):
        PairProduct(3).check()
    with pytest.raises(ParameterError, match="symmetric"):
        PairSum(G, symmetric="yes").check()
    trees = [(("a", "b"), ("a",)), (("b",), ("a", "b"))]
    assert isinstance(PairProduct(SubsetTree()).pack(trees).left, Trees)
    with pytest.raises(DomainError, match="PairProduct"):
        PairSum(SubsetTree())(trees)
    huge = 1e200 * G
    with pytest.raises(DomainError, match="too large"):
        PairProduct(huge)(GRID)
