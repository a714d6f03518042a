"""Soft dynamic time warping: against a sum over all alignments, in its limit, and honest about definiteness."""

import numpy as np
import pytest

from mercer.errors import DomainError
from mercer.kernels import SoftDTW
from mercer.kernels.series import soft_dtw as module
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


def test_loops_run_uncompiled():
    x, y = SERIES[2], SERIES[3]
    assert module._align.py_func(x, y, 0.0, np.empty(5)) == pytest.approx(soft_cost(x, y, 0.0))
    assert module._soft_least.py_func(1.0, 2.0, np.inf, 1.0) == pytest.approx(1.0 - np.log(1 + np.exp(-1.0)))
