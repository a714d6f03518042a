"""Statistics as hyppo computes them: numbers of its version 0.5.2 on data that anybody can make again."""

import numpy as np
import pytest

from mercer.inference import hsic, hsic_test, mmd_test
from mercer.kernels import Gaussian

i = np.arange(40.0)
X = np.column_stack([np.sin(i), np.cos(1.7 * i)])
Y = (np.sin(i) ** 2 + 0.3 * np.cos(2.9 * i))[:, None]
Z = np.column_stack([np.sin(2.3 * i) + 0.4, np.cos(3.1 * i)])
KERNEL = Gaussian.from_gamma(0.5)
BOTH = (KERNEL, KERNEL)


def test_independence_criterion():
    """``Hsic(gamma=0.5)`` is the normalised criterion, and the root of it if it is biased."""
    assert hsic(X, Y, BOTH, normalized=True, estimator="unbiased") == pytest.approx(0.0848510803235786, rel=1e-12)
    assert np.sqrt(hsic(X, Y, BOTH, normalized=True)) == pytest.approx(0.36488221052118053, rel=1e-12)


def test_mean_discrepancy():
    """``MMD(gamma=0.5)`` is the criterion of the joined samples and their labels, which permutations order alike."""
    joined, labels = np.concatenate([X, Z]), np.repeat([0.0, 1.0], 40)
    factor = 2.0 * 40**4 / 80**4
    unbiased = factor * hsic(joined, labels, BOTH, normalized=True, estimator="unbiased")
    assert unbiased == pytest.approx(0.000718984939463281, rel=1e-10)
    biased = factor * np.sqrt(hsic(joined, labels, BOTH, normalized=True))
    assert biased == pytest.approx(0.021889826181697162, rel=1e-10)
    ours = mmd_test(X, Z, KERNEL, 999, 0, estimator="biased")
    theirs = hsic_test(joined, labels, BOTH, 999, 0, estimator="biased")
    assert ours.statistic / ours.null.mean == pytest.approx(theirs.statistic / theirs.null.mean, rel=0.05)


def test_p_values():
    """Of 2000 and 500 permutations by hyppo."""
    assert hsic_test(X, Y, BOTH, 2000, 0).p_value == pytest.approx(0.033, abs=0.012)
    assert mmd_test(X, Z, KERNEL, 2000, 0).p_value == pytest.approx(0.291, abs=0.06)
