"""The product of a function's values, as a kernel."""

import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.kernels import Gaussian, RankOne
from mercer.testing import check_kernel

X = np.random.default_rng(0).normal(size=(7, 3))
G = Gaussian(1.2)


def first(data):
    return np.asarray(data)[:, 0]


def test_rank_one():
    k = RankOne(first)
    np.testing.assert_allclose(k(X), np.outer(X[:, 0], X[:, 0]), rtol=1e-15)
    np.testing.assert_allclose((k * G)(X), np.outer(X[:, 0], X[:, 0]) * G(X), rtol=1e-13)
    check_kernel(k, X)
    check_kernel(k * G + 1.0, X)
    with pytest.raises(ParameterError, match="RankOne"):
        RankOne(3.0).check()
