"""Shares of what two sets or two vectors of weights have in common."""

from collections import Counter

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp

from mercer import SVC
from mercer.errors import DomainError
from mercer.hilbert import find_violation
from mercer.kernels import Jaccard, OverlapCoefficient, Tanimoto
from mercer.testing import check_kernel

rng = np.random.default_rng(2)
X = rng.random((10, 6)) * (rng.random((10, 6)) < 0.6)
X[0] = 0.0
SETS = [{"a", "b"}, {"b", "c"}, {"a"}, {"a", "b", "c"}]


def jaccard(x, z):
    pairs = list(zip(x, z, strict=True))
    return mpmath.fsum(min(pair) for pair in pairs) / mpmath.fsum(max(pair) for pair in pairs)


def overlap(x, z):
    return mpmath.fsum(min(p) for p in zip(x, z, strict=True)) / min(mpmath.fsum(x), mpmath.fsum(z))


TWINS = {
    "Jaccard": {"formula": jaccard, "signed": False},
    "OverlapCoefficient": {"formula": overlap, "signed": False},
}


@pytest.mark.parametrize("k", [Jaccard(), OverlapCoefficient()], ids=repr)
def test_obeys_the_laws(k):
    for data in (X, sp.csr_array(X), SETS):
        check_kernel(k, data)


def test_sets_are_counted_by_hand():
    expected = [[len(a & b) / len(a | b) for b in SETS] for a in SETS]
    np.testing.assert_allclose(Jaccard()(SETS), expected, rtol=1e-15)
    np.testing.assert_allclose(Jaccard()(SETS), Tanimoto()(SETS), rtol=1e-14)
    expected = [[len(a & b) / min(len(a), len(b)) for b in SETS] for a in SETS]
    np.testing.assert_allclose(OverlapCoefficient()(SETS), expected, rtol=1e-15)


def test_counts_are_multisets():
    bags = [Counter("aab"), Counter("abb"), Counter()]
    expected = [[1.0, 2 / 4, 0.0], [2 / 4, 1.0, 0.0], [0.0, 0.0, 1.0]]
    np.testing.assert_allclose(Jaccard()(bags), expected, rtol=1e-15)
    np.testing.assert_allclose(Jaccard()(bags, [{"b": 2, "c": 1}])[:, 0], [1 / 5, 2 / 4, 0.0], rtol=1e-15)
    with pytest.raises(DomainError, match="whole numbers"):
        Jaccard()([{"a": 0.5}])


def test_the_overlap_coefficient_is_indefinite_and_says_so():
    assert OverlapCoefficient().order is None and Jaccard().order == 0
    K = OverlapCoefficient()([{"a"}, {"a", "b"}, {"b"}])
    assert np.linalg.eigvalsh(K)[0] == pytest.approx(1.0 - np.sqrt(2.0))
    assert find_violation(OverlapCoefficient(), [{"a"}, {"a", "b"}, {"b"}]) is not None


def test_learns_from_sets():
    baskets = [{"milk", "bread"}, {"milk", "eggs"}, {"nails", "hammer"}, {"nails", "saw"}]
    assert SVC(Jaccard()).fit(baskets, [0, 0, 1, 1]).predict([{"milk"}, {"saw"}]).tolist() == [0, 1]
