"""Sums over pairs within groups, against a list of all pairs."""

import numpy as np
import pytest

from mercer.estimators.structured.pair_sums import PairSquares, PairSums, _sum_groups, _sum_pairs

GROUPS = np.repeat([2, 0, 1, 4], 10)  # group 3 is empty


@pytest.mark.parametrize("gain", [None, np.exp2])
@pytest.mark.parametrize("apart", [False, True], ids=["equal", "apart"])
@pytest.mark.parametrize("levels", [2, 4, 12])
def test_sums_over_pairs(levels, gain, apart):
    rng = np.random.default_rng(levels)
    y, w, f = rng.integers(levels, size=40).astype(float), rng.integers(1, 4, 40).astype(float), rng.normal(size=40)
    f[3] = f[4] - 1.0  # a pair exactly at the margin
    share, target = rng.random(5), 0.7 * y
    pairs = PairSums(y, GROUPS, w, share, None if gain is None else gain(y), target if apart else None)
    value, slope = pairs.risk(f)
    wanted, gradient, counts = 0.0, np.zeros(40), np.zeros(5, dtype=int)
    for i, j in np.argwhere((GROUPS[:, None] == GROUPS) & (y[:, None] > y)):
        margin = target[i] - target[j] if apart else 1.0
        slack, cost = max(0.0, margin - f[i] + f[j]), share[GROUPS[i]] * w[i] * w[j]
        cost *= 1.0 if gain is None else gain(y[i]) - gain(y[j])
        wanted += cost * slack**2
        gradient[i] -= 2.0 * cost * slack
        gradient[j] += 2.0 * cost * slack
        counts[GROUPS[i]] += 1
    assert value == pytest.approx(wanted, rel=1e-12)
    np.testing.assert_allclose(slope, gradient, atol=1e-12 * np.abs(gradient).max() * 40)  # 40 terms each
    np.testing.assert_array_equal(pairs.counts(), counts)


def test_compiled_and_python_agree():
    rng = np.random.default_rng(0)
    f, levels, w, gain = rng.normal(size=9), rng.integers(0, 3, 9), np.ones(9), rng.random(9)
    for compiled, offsets in ((_sum_pairs, None), (_sum_groups, np.array([0, 4, 4, 9]))):
        found = []
        for function in (compiled, compiled.py_func):
            slope = np.zeros(9)
            if offsets is None:
                value = function(f, np.argsort(f), levels, (w, gain, 0.5, 0.3), slope)
            else:
                ranks = np.concatenate([np.argsort(f[:4]), np.argsort(f[4:])])
                value = function(f, ranks, offsets, levels, (w, gain, 0.5, 0.3), np.array([1.0, 2.0, 3.0]), slope)
            found.append((value, *slope))
        np.testing.assert_allclose(*found)


def test_squares_of_all_pairs():
    rng = np.random.default_rng(0)
    t, f, w, share = rng.normal(size=40), rng.normal(size=40), rng.integers(1, 4, 40).astype(float), rng.random(5)
    pairs = PairSquares(t, GROUPS, w, share)
    value, slope = pairs.risk(f)
    wanted, gradient, counts = 0.0, np.zeros(40), np.zeros(5, dtype=int)
    for i, j in np.argwhere((GROUPS[:, None] == GROUPS) & np.tri(40, k=-1, dtype=bool)):
        cost, left = share[GROUPS[i]] * w[i] * w[j], (t[i] - t[j]) - (f[i] - f[j])
        wanted += cost * left**2
        gradient[i] -= 2.0 * cost * left
        gradient[j] += 2.0 * cost * left
        counts[GROUPS[i]] += 1
    assert value == pytest.approx(wanted, rel=1e-12)
    np.testing.assert_allclose(slope, gradient, atol=1e-12 * np.abs(gradient).max() * 40)
    np.testing.assert_array_equal(pairs.counts(), counts)
