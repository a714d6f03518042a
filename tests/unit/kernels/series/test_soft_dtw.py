"""Soft dynamic time warping: against a sum over all alignments, in its limit, and honest about definiteness."""

import numpy as np
import pytest

from mercer.errors import DomainError
from mercer.kernels import SoftDTW
from mercer.language import parse
from mercer.testing import check_kernel

rng = np.random.default_rng(0)
SERIES = [rng.normal(size=(n, 2)) for n in (1, 2, 3, 4, 4)]
MEMBERS = {"SoftDTW": [SoftDTW(0.5, length_scale=4.0), SoftDTW(0.0, length_scale=3.0)]}


def alignments(n, m):
    """All ways from the first pair of points to the last."""
    if (n, m) == (1, 1):
        return [[(0, 0)]]
    found = []
    for i, j in ((n - 1, m), (n, m - 1), (n - 1, m - 1)):
        if i > 0 and j > 0:
            found += [[*way, (n - 1, m - 1)] for way in alignments(i, j)]
    return found


def soft_cost(x, y, gamma):
    costs = np.array([sum(((x[i] - y[j]) ** 2).sum() for i, j in way) for way in alignments(len(x), len(y))])
    if gamma == 0.0:
        return costs.min()
    return costs.min() - gamma * np.log(np.exp((costs.min() - costs) / gamma).sum())


@pytest.mark.parametrize("gamma", [0.0, 0.3, 5.0])
def test_agrees_with_the_sum_over_alignments(gamma):
    S = np.array([[soft_cost(x, y, gamma) for y in SERIES] for x in SERIES])
    D = S - 0.5 * np.diag(S)[:, None] - 0.5 * np.diag(S)
    k = SoftDTW(gamma, length_scale=2.5)
    np.testing.assert_allclose(k.divergences(SERIES, SERIES[:3]), D[:, :3], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(k(SERIES), np.exp(-D / 2.5), rtol=1e-10)
    assert parse(repr(k)) == k


def test_is_dynamic_time_warping_in_the_limit():
    np.testing.assert_allclose(
        SoftDTW(1e-6).divergences(SERIES, SERIES), SoftDTW(0.0).divergences(SERIES, SERIES), atol=1e-4
    )


@pytest.mark.parametrize("k", MEMBERS["SoftDTW"], ids=repr)
def test_obeys_the_laws(k):
    check_kernel(k, SERIES)


def test_is_indefinite_and_says_so():
    """Warping makes [0, 0, 1] like [0, 1] and like [0, 1, 1] at no cost, so that the triangle of costs is broken."""
    assert SoftDTW().order is None
    series = [np.array(s, float) for s in np.ndindex(3, 3, 3)]
    assert np.linalg.eigvalsh(SoftDTW(0.0, length_scale=3.0)(series))[0] < -1e-3


def test_huge_values_are_refused():
    with pytest.raises(DomainError, match="too large"):
        SoftDTW()([[1e200, 2e200], [0.0, 1.0]])


def log_sums(x, y, gamma):
    """S by logarithms all the way."""
    costs = ((x[:, None] - y) ** 2).sum(-1) / gamma
    L = np.full((len(x) + 1, len(y) + 1), -np.inf)
    L[0, 0] = 0.0
    for i in range(len(x)):
        for j in range(len(y)):
            L[i + 1, j + 1] = np.logaddexp(np.logaddexp(L[i, j], L[i, j + 1]), L[i + 1, j]) - costs[i, j]
    return -gamma * L[-1, -1]


@pytest.mark.parametrize("gamma", [1e-320, 1e-200, 1e-15, 1e-9, 1e-3, 1.0, 1e3, 1e9])
def test_nothing_overflows_or_vanishes(gamma):
    """Where the softness is below rounding, costs are least costs."""
    one = [rng.normal(size=(n, 2)) * scale for n in (40, 57) for scale in (0.1, 10.0, 1000.0)]
    S = [[log_sums(x, y, gamma) for y in one] for x in one] if gamma > 1e-100 else None
    S = S or [[least_cost(x, y) for y in one] for x in one]
    D = np.array(S) - 0.5 * np.diag(S)[:, None] - 0.5 * np.diag(S)
    # rounding: 2^-53 of the cost and of the logarithm, for each step of an alignment
    slack = 200 * 2.0**-53 * (np.abs(S).max() + 200 * gamma)
    np.testing.assert_allclose(SoftDTW(gamma).divergences(one, one), D, rtol=0.0, atol=slack)


def least_cost(x, y):
    """The least cost, by its definition as a recursion."""
    R = np.full((len(x) + 1, len(y) + 1), np.inf)
    R[0, 0] = 0.0
    for i in range(len(x)):
        for j in range(len(y)):
            R[i + 1, j + 1] = ((x[i] - y[j]) ** 2).sum() + min(R[i, j], R[i, j + 1], R[i + 1, j])
    return R[-1, -1]


def test_hard_and_soft_pairs_stand_side_by_side():
    """A series beside its neighbour costs little; one that is far away costs 1e18 times the softness."""
    x = rng.normal(size=(20, 1))
    series = [x, x + 1e-3, x + 1e5]
    found = SoftDTW(1e-8).divergences(series, series)
    assert found[0, 1] == pytest.approx(
        log_sums(x, x + 1e-3, 1e-8) - 0.5 * log_sums(x, x, 1e-8) - 0.5 * log_sums(x + 1e-3, x + 1e-3, 1e-8), rel=1e-6
    )
    assert found[0, 2] == pytest.approx(least_cost(x, x + 1e5), rel=1e-14 * 40)
