"""Linear systems through eigenvalues, against Cholesky."""

import dataclasses

import numpy as np
import pytest

from mercer.errors import CapabilityError, NotPositiveDefinite
from mercer.problems import LinearSystem, Status
from mercer.solvers import Cholesky, Spectral

RNG = np.random.default_rng(0)
F = RNG.normal(size=(8, 5))
K = F @ F.T


class Matrix:
    def to_dense(self):
        return K.copy()

    def __matmul__(self, V):
        return K @ V

    def eigh(self):
        return np.linalg.eigh(K)


@pytest.mark.parametrize("shape", [(8,), (8, 3)])
@pytest.mark.parametrize("border", [None, np.ones((8, 1)), np.column_stack([np.ones(8), np.arange(8.0)])])
def test_the_solution_is_that_of_cholesky(shape, border):
    y = RNG.normal(size=shape)
    problem = LinearSystem(Matrix(), 0.3, y, border)
    got, expected = Spectral().solve(problem), Cholesky().solve(problem)
    np.testing.assert_allclose(got.coef, expected.coef, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(got.multipliers, expected.multipliers, rtol=1e-10, atol=1e-12)
    assert got.status is Status.CONVERGED and got.residual < 1e-12
    np.testing.assert_allclose(got.state.inverse_diagonal(), expected.state.inverse_diagonal(), rtol=1e-9, atol=1e-13)
    if border is None:
        np.testing.assert_allclose(got.state.logdet(), expected.state.logdet(), rtol=1e-10)


def test_other_shifts_need_no_other_eigenvalues():
    y = RNG.normal(size=8)
    state = Spectral().solve(LinearSystem(Matrix(), 0.3, y)).state
    other = dataclasses.replace(state, shift=2.0)
    coef, _ = other.columns(y[:, None])
    np.testing.assert_allclose(coef[:, 0], np.linalg.solve(K + 2.0 * np.eye(8), y), rtol=1e-10)
    np.testing.assert_allclose(other.times(coef)[:, 0], y, rtol=1e-10)


def test_huge_and_tiny_targets():
    y = RNG.normal(size=8)
    unit = Spectral().solve(LinearSystem(Matrix(), 0.3, y)).coef
    for size in (1e-200, 1e200):
        np.testing.assert_allclose(
            Spectral().solve(LinearSystem(Matrix(), 0.3, size * y)).coef / size, unit, rtol=1e-12
        )


def test_what_fits():
    y = np.ones(8)
    assert Spectral.fits(LinearSystem(Matrix(), 0.3, y)) and Spectral.fits(LinearSystem(Matrix(), np.full(8, 0.3), y))
    uneven = LinearSystem(Matrix(), np.arange(1.0, 9.0), y)
    assert not Spectral.fits(uneven) and not Spectral.fits(LinearSystem(np.eye(8), 0.3, y)) and not Spectral.fits(3)
    with pytest.raises(CapabilityError, match=r"differ from sample to sample.*Use solver=ConjugateGradient"):
        Spectral().solve(uneven)
    with pytest.raises(CapabilityError, match=r"Gram\.eigh"):
        Spectral().solve(LinearSystem(np.eye(8), 0.3, y))
    with pytest.raises(NotPositiveDefinite, match="Raise the shift"):
        Spectral().solve(LinearSystem(Matrix(), -100.0, y))


def test_a_gram_without_products():
    class Known:
        def eigh(self):
            return np.linalg.eigh(K)

    y = RNG.normal(size=8)
    assert Spectral().solve(LinearSystem(Known(), 0.3, y)).residual < 1e-12
