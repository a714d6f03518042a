"""Left-out predictions on all pairs, against those of the matrix written out."""

import numpy as np
import pytest

from mercer.domains import Pairs, Vectors
from mercer.errors import CapabilityError, ParameterError
from mercer.gram import Dense, Kronecker
from mercer.kernels import Gaussian, PairSum
from mercer.selection import ridge_path
from mercer.selection.grid_path import grid_path

RNG = np.random.default_rng(0)
S, T = Vectors.pack(RNG.normal(size=(6, 2))), Vectors.pack(RNG.normal(size=(5, 1)))
PAIRS = Pairs.grid(S, T)[RNG.permutation(30)]
KERNEL = Gaussian(1.0).tensor(Gaussian(2.0))
ALPHAS = np.logspace(-3, 1, 5)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("shape", [(30,), (30, 2)])
def test_it_is_the_path_of_the_matrix(intercept, shape):
    y = RNG.normal(size=shape)
    gram = Kronecker().build(KERNEL, PAIRS)
    got = grid_path(gram, y, ALPHAS, intercept=intercept)
    np.testing.assert_allclose(got, ridge_path(gram.to_dense(), y, ALPHAS, intercept=intercept), rtol=1e-7, atol=1e-9)


def test_a_pair_is_left_out():
    y = RNG.normal(size=36)
    pairs, kernel = Pairs.grid(S), PairSum(Gaussian(1.0))
    K = kernel(pairs) + 0.5 * np.eye(36)
    got = grid_path(Kronecker().build(kernel, pairs), y, [0.5])[0]
    rest = np.arange(1, 36)
    np.testing.assert_allclose(got[0], K[0, rest] @ np.linalg.solve(K[np.ix_(rest, rest)], y[rest]), rtol=1e-10)


def test_refusals():
    with pytest.raises(CapabilityError, match="ridge_path"):
        grid_path(Dense().build(KERNEL, PAIRS), np.ones(30), ALPHAS)
    with pytest.raises(ParameterError, match="positive"):
        grid_path(Kronecker().build(KERNEL, PAIRS), np.ones(30), [0.0])
