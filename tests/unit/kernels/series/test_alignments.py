"""Sums and least costs over alignments, beside all alignments written out."""

import numpy as np
import pytest

from mercer.domains.sequences import Sequences
from mercer.kernels.series.alignments import FARTHEST, least_costs, sum_alignments

RNG = np.random.default_rng(0)
SERIES = [RNG.normal(size=(n, 2)) for n in (1, 2, 3, 5)]
PACKED = Sequences.pack(SERIES)


def alignments(n, m, i=0, j=0):
    """All ways from one pair of points to the last."""
    if (i, j) == (n - 1, m - 1):
        yield [(i, j)]
        return
    for a, b in ((i + 1, j), (i, j + 1), (i + 1, j + 1)):
        if a < n and b < m:
            for rest in alignments(n, m, a, b):
                yield [(i, j), *rest]


def costs(x, y):
    return ((x[:, None] - y) ** 2).sum(axis=2)


def over_alignments(x, y, local, inner, outer):
    """For instance the sum over alignments of products of local values."""
    return outer([inner([local[pair] for pair in way]) for way in alignments(len(x), len(y))])


@pytest.mark.parametrize("similarity", [(1.0, 2.0, 1.0), (0.3, 1.0, 0.0), (4.0, 3.0, 0.5)])
@pytest.mark.parametrize("width", [np.inf, 3.0])
def test_sums(similarity, width):
    unit, top, bottom = similarity
    out = np.zeros((4, 4, 2))
    sum_alignments(PACKED, PACKED, out, similarity=similarity, band=(width, False))
    for i, x in enumerate(SERIES):
        for j, y in enumerate(SERIES):
            apart = np.abs(np.subtract.outer(np.arange(len(x)), np.arange(len(y))))
            g = np.maximum(0.0, 1.0 - apart / width) * 2.0 ** (-unit * costs(x, y))
            expected = over_alignments(x, y, g / (top - bottom * g), np.prod, np.sum)
            assert np.exp(out[i, j, 0]) == pytest.approx(expected, rel=1e-13)


def test_least_costs():
    out = np.zeros((4, 4))
    least_costs(PACKED, PACKED, out)
    expected = [[over_alignments(x, y, costs(x, y), np.sum, np.min) for y in SERIES] for x in SERIES]
    np.testing.assert_allclose(out, expected, rtol=1e-14)


def test_half_of_a_symmetric_block():
    whole, half = np.zeros((4, 4)), np.full((4, 4), np.nan)
    least_costs(PACKED, PACKED, whole)
    least_costs(PACKED, PACKED, half, symmetric=True)
    assert np.array_equal(half[np.triu_indices(4)], whole[np.triu_indices(4)])
    assert np.isnan(half[np.tril_indices(4, -1)]).all()


def test_pairs_beyond_the_farthest_count_as_that_far():
    near, far = Sequences.pack([[0.0]]), Sequences.pack([[1e20]])
    out = np.zeros((1, 1, 2))
    sum_alignments(near, far, out, similarity=(1.0, 1.0, 0.0))
    assert out[0, 0, 0] == pytest.approx(-FARTHEST * np.log(2.0))
