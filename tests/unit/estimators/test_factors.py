"""Factors of K."""

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.domains import Vectors
from mercer.errors import CapabilityError
from mercer.estimators.factors import factor_of, function_of
from mercer.gram import Dense, Features, Tiles
from mercer.kernels import Linear
from mercer.problems import Status

S = Vectors.pack(np.random.default_rng(0).normal(size=(8, 3)))


@pytest.mark.parametrize("spec", [Dense(), Features()], ids=repr)
def test_the_factor_and_its_functions(spec):
    K = spec.build(Linear(), S)
    F, back = factor_of(KernelRidge(), K)
    assert F.shape == (8, 3) and np.allclose(F @ F.T, Linear()(S))
    w = np.arange(3.0)
    assert np.allclose(function_of(K, w, back, 2.0, Status.CONVERGED)(S), F @ w + 2.0)


def test_tiles_have_none():
    with pytest.raises(CapabilityError, match="KernelRidge needs a factor"):
        factor_of(KernelRidge(), Tiles().build(Linear(), S))
